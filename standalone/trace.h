/* Tracing: what wrappers around processes of jobs tell of them, for those that
 * run where no exporter does, or more often than anybody scrapes.
 *
 * A wrapper POSTs one object of JSON, of one job on one host: job_id (a number
 * above 0, needed), pid, cpus (percent), threads, mem, read_bytes, write_bytes
 * (numbers), username, hostname (strings); other keys are passed over.  It is
 * shown for a while, as metrics and as a page for people.  Protocol and names
 * of metrics: prometheus-slurm-exporter 1.7, exporter/trace.go.
 *
 * Whoever can reach the port can tell anything of any job, unless there is a
 * token: it is off by default, and counts for nothing else. */
#ifndef BJ_STANDALONE_TRACE_H
#define BJ_STANDALONE_TRACE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"
#include "core/model/record.h"
#include "standalone/page.h"

struct bj_trace_conf {
    bool enabled;
    char *path;
    uint64_t keep_usec; /* what is older is not shown */
    uint64_t entries;   /* jobs and hosts at a time */
    uint64_t rate;      /* posts a second */
    char *token_file;
};

extern const struct bj_opt bj_trace_opts[];

struct bj_trace;

/* -ENOMEM; errors of the token's file, -EINVAL when it is empty or too long. */
int bj_trace_new(const struct bj_trace_conf *conf, struct bj_trace **ret,
                 struct bj_err *err);
void bj_trace_free(struct bj_trace *t); /* NULL is fine */

/* Take what was posted at the boot clock now; authorization is the header of
 * that name.  Returns the status of the answer, 200, 400, 401, 429 or 500, and
 * appends a sentence to why when it is not 200. */
unsigned bj_trace_post(struct bj_trace *t, struct bj_slice body,
                       struct bj_slice authorization, uint64_t now_usec,
                       struct bj_buf *why);

/* Append a page for people. */
void bj_trace_html(struct bj_trace *t, uint64_t now_usec, struct bj_buf *out);

/* The page that they go to. */
struct bj_trace_page {
    enum bj_page_format format;
    struct bj_slice cluster; /* a label of all samples; empty: none */
    /* What the scheduler tells of jobs, BJ_CL_EACH_JOB (core/model/cluster.h);
     * NULL: nothing. */
    const struct bj_list *jobs;
    bool strict; /* Slurm's M is 10^6 bytes, as the original errs */
};

/* Append the metrics to a page, before the end mark that OpenMetrics has. */
void bj_trace_metrics(struct bj_trace *t, uint64_t now_usec,
                      const struct bj_trace_page *page, struct bj_buf *out);

#endif

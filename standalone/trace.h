/* Tracing: reports of wrappers around the processes of jobs, for hosts without
 * exporter and for values between scrapes.
 *
 * A wrapper POSTs a JSON object for one job on one host: job_id (a number above
 * 0, required), pid, cpus (percent), threads, mem, read_bytes, write_bytes
 * (numbers), username, hostname (strings); other keys are ignored. Reports are
 * shown for a time, as metrics and as an HTML page. Protocol and metric names:
 * prometheus-slurm-exporter 1.7, exporter/trace.go.
 *
 * Without a token any client can report any values for any job. It is off by
 * default, and its values are used for nothing else. */
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
    uint64_t keep_usec; /* how long a report is shown */
    uint64_t entries;   /* maximum number of reports */
    uint64_t rate;      /* maximum number of posts a second */
    char *token_file;
};

extern const struct bj_opt bj_trace_opts[];

struct bj_trace;

/* -ENOMEM; errors of the token file, -EINVAL when it is empty or too long. */
int bj_trace_new(const struct bj_trace_conf *conf, struct bj_trace **ret,
                 struct bj_err *err);
void bj_trace_free(struct bj_trace *t); /* NULL is fine */

/* Handle a post at time now (boot clock); authorization is that header's value.
 * Returns the status of the reply, 200, 400, 401, 429 or 500, and appends a
 * sentence to why unless it is 200. */
unsigned bj_trace_post(struct bj_trace *t, struct bj_slice body,
                       struct bj_slice authorization, uint64_t now_usec,
                       struct bj_buf *why);

/* Append the HTML page. */
void bj_trace_html(struct bj_trace *t, uint64_t now_usec, struct bj_buf *out);

/* The metrics page that the reports are appended to. */
struct bj_trace_page {
    enum bj_page_format format;
    struct bj_slice cluster; /* a label of all samples; empty: none */
    /* Data of the scheduler on jobs, BJ_CL_EACH_JOB (core/model/cluster.h);
     * NULL: none. */
    const struct bj_list *jobs;
    bool strict; /* as the original: takes Slurm's M for 10^6 bytes */
};

/* Append the metrics to a page, before the end mark of OpenMetrics. */
void bj_trace_metrics(struct bj_trace *t, uint64_t now_usec,
                      const struct bj_trace_page *page, struct bj_buf *out);

#endif

/* Metrics of the program itself, as a page in Prometheus' text format. */
#ifndef BJ_STATSDB_METRICS_METRICS_H
#define BJ_STATSDB_METRICS_METRICS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bj_metrics_fault {
    BJ_FAULT_COMMAND, /* the scheduler's command: exit code, or missing */
    BJ_FAULT_TIMEOUT, /* timeout */
    BJ_FAULT_STORE,   /* the store: full, damaged, locked */
    BJ_FAULT_OTHER,
    BJ_FAULTS
};

/* Metrics of one cluster; counters since the start of the program, times in
 * seconds since 1970 (0: not yet). */
struct bj_metrics_cluster {
    const char *name;
    uint64_t requests, lines, bad_lines, bad_fields;
    uint64_t fault[BJ_FAULTS];
    int64_t success_sec;      /* of the last successful request */
    int64_t from_sec, to_sec; /* imported period */
    uint64_t records, bad_records;
    /* about its Prometheus server */
    uint64_t prom_queries, prom_errors;
    uint64_t prom_jobs, prom_no_data, prom_ambiguous;
};

struct bj_metrics_values {
    const struct bj_metrics_cluster *cluster;
    size_t clusters;
    uint64_t jobs_new, jobs_changed, jobs_same;
    uint64_t steps_new, steps_changed, steps_same;
    uint64_t removed_jobs;
    uint64_t derived_jobs, derived_changed;
    uint64_t store_bytes, wal_bytes;
    /* of the receiver of records; expiry 0: no TLS */
    uint64_t received_stored, received_malformed, received_denied;
    uint64_t received_requests, received_busy;
    uint64_t received_commits, received_failures;
    uint64_t received_tls_expires_sec;
    struct bj_slice
        refused; /* lines about refused records: statsdb/derive/derive.h */
    struct bj_slice
        running; /* lines about running jobs: statsdb/running/running.h */
};

enum bj_metrics_fault bj_metrics_fault(int code);

/* Append the page. */
void bj_metrics_page(const struct bj_metrics_values *r, struct bj_buf *out);

/* Write it to a file atomically. */
int bj_metrics_save(const struct bj_metrics_values *r, const char *path,
                    struct bj_err *err);

/* --- metrics http ---*/

/* Serves the page of statsdb/metrics/metrics.h over HTTP, at /metrics.
 *
 * A separate thread serves the newest page, so that clients never wait for a
 * request to a scheduler, and imports never wait for clients. */

struct bj_metrics_http;

/* Listen on all addresses (base/listen.h) and serve: 503 until there is a page.
 * web_file: base/web_conf.h; NULL or empty: no TLS and no passwords. Both must
 * outlive *ret. -EADDRINUSE and other errors with a message, which contains the
 * file if it is the cause. */
int bj_metrics_http_new(const struct bj_strv *addresses, const char *web_file,
                        struct bj_metrics_http **ret, struct bj_err *err);

/* Stop serving; NULL is fine. */
void bj_metrics_http_free(struct bj_metrics_http *w);

/* Set the page. The server takes ownership of the buffer; *page is then empty.
 */
void bj_metrics_http_put(struct bj_metrics_http *w, struct bj_buf *page);

#endif

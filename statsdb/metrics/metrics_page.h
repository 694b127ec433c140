/* Metrics of the program itself, as a page in Prometheus' text format. */
#ifndef BJ_STATSDB_METRICS_METRICS_PAGE_H
#define BJ_STATSDB_METRICS_METRICS_PAGE_H

#include "base/buf.h"
#include "base/err.h"

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
    /* of records that slurmctld sends */
    uint64_t jobcomp_stored, jobcomp_malformed, jobcomp_denied;
    uint64_t jobcomp_failures;
    struct bj_slice
        refused; /* lines about refused records: statsdb/derive/derive.h */
    struct bj_slice
        running; /* lines about running jobs: statsdb/running/running.h */
    struct bj_slice notify; /* about notifications: notify/notify.h */
};

enum bj_metrics_fault bj_metrics_fault(int code);

/* Append the page. */
void bj_metrics_page(const struct bj_metrics_values *r, struct bj_buf *out);

/* Write it to a file atomically. */
int bj_metrics_save(const struct bj_metrics_values *r, const char *path,
                    struct bj_err *err);

#endif

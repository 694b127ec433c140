#include "statsdb/metrics/metrics_page.h"

#include "base/save.h"
#include "base/text.h"

#include <string.h>

#define AT(member) offsetof(struct bj_metrics_cluster, member)
#define OF(member) offsetof(struct bj_metrics_values, member)

/* Times and counts of a cluster. Times that are 0 ("not yet") are omitted. */
static const struct {
    const char *name, *type, *help;
    size_t off;
    bool optional;
} of_cluster[] = {
    {"batchjob_stats_requests_total", "counter",
     "Successful requests to the scheduler.", AT(requests), false},
    {"batchjob_stats_lines_total", "counter", "Lines read from sources.",
     AT(lines), false},
    {"batchjob_stats_bad_lines_total", "counter",
     "Lines that were not understood and skipped.", AT(bad_lines), false},
    {"batchjob_stats_bad_fields_total", "counter",
     "Fields that were not understood, in imported lines.", AT(bad_fields),
     false},
    {"batchjob_stats_records_total", "counter", "Imported final records.",
     AT(records), false},
    {"batchjob_stats_bad_records_total", "counter",
     "Files in a spool that are not valid records.", AT(bad_records), false},
    {"batchjob_stats_prometheus_queries_total", "counter",
     "Queries to the cluster's Prometheus server.", AT(prom_queries), false},
    {"batchjob_stats_prometheus_errors_total", "counter",
     "Failed queries to the Prometheus server.", AT(prom_errors), false},
    {"batchjob_stats_prometheus_jobs_total", "counter",
     "Jobs with values from the Prometheus server.", AT(prom_jobs), false},
    {"batchjob_stats_prometheus_unknown_jobs_total", "counter",
     "Jobs for which the Prometheus server had no data.", AT(prom_no_data),
     false},
    {"batchjob_stats_prometheus_doubtful_jobs_total", "counter",
     "Jobs whose series could not be separated from another run's.",
     AT(prom_ambiguous), false},
    {"batchjob_stats_last_success_timestamp_seconds", "gauge",
     "Time of the last successful request.", AT(success_sec), true},
    {"batchjob_stats_covered_from_timestamp_seconds", "gauge",
     "Start of the imported accounting period.", AT(from_sec), true},
    {"batchjob_stats_covered_to_timestamp_seconds", "gauge",
     "End of the imported accounting period; the lag is time() minus this.",
     AT(to_sec), true},
};

static const struct {
    const char *name, *type, *help, *label;
    size_t off;
    bool optional;
} of_store[] = {
    {"batchjob_stats_jobs_total", "counter",
     "Imported runs of jobs, by result.", "result=\"new\"", OF(jobs_new),
     false},
    {"batchjob_stats_jobs_total", NULL, NULL, "result=\"changed\"",
     OF(jobs_changed), false},
    {"batchjob_stats_jobs_total", NULL, NULL, "result=\"same\"", OF(jobs_same),
     false},
    {"batchjob_stats_steps_total", "counter", "Imported steps, by result.",
     "result=\"new\"", OF(steps_new), false},
    {"batchjob_stats_steps_total", NULL, NULL, "result=\"changed\"",
     OF(steps_changed), false},
    {"batchjob_stats_steps_total", NULL, NULL, "result=\"same\"",
     OF(steps_same), false},
    {"batchjob_stats_removed_jobs_total", "counter",
     "Jobs removed by store.retention.", "", OF(removed_jobs), false},
    {"batchjob_stats_derived_jobs_total", "counter",
     "Jobs whose values were derived.", "", OF(derived_jobs), false},
    {"batchjob_stats_derived_changes_total", "counter",
     "Jobs whose derived values changed.", "", OF(derived_changed), false},
    {"batchjob_stats_store_bytes", "gauge", "Size of the store.", "",
     OF(store_bytes), false},
    {"batchjob_stats_wal_bytes", "gauge",
     "Size of the write-ahead log; it grows while a reader keeps a transaction "
     "open.",
     "", OF(wal_bytes), false},
    {"batchjob_stats_received_records_total", "counter",
     "Final records that nodes sent: stored, malformed, or denied as the "
     "client "
     "may not write them.",
     "result=\"stored\"", OF(received_stored), false},
    {"batchjob_stats_received_records_total", NULL, NULL,
     "result=\"malformed\"", OF(received_malformed), false},
    {"batchjob_stats_received_records_total", NULL, NULL, "result=\"denied\"",
     OF(received_denied), false},
    {"batchjob_stats_received_requests_total", "counter",
     "Requests of nodes that send final records.", "", OF(received_requests),
     false},
    {"batchjob_stats_received_busy_total", "counter",
     "Requests with final records that were refused as too many were in "
     "progress.",
     "", OF(received_busy), false},
    {"batchjob_stats_received_commits_total", "counter",
     "Transactions with records that nodes sent.", "", OF(received_commits),
     false},
    {"batchjob_stats_received_failures_total", "counter",
     "Transactions with records that nodes sent and that failed.", "",
     OF(received_failures), false},
    {"batchjob_stats_received_tls_certificate_expiry_timestamp_seconds",
     "gauge", "Expiry time of the certificate of record.config.file.", "",
     OF(received_tls_expires_sec), true},
    {"batchjob_stats_jobcomp_records_total", "counter",
     "Records of jobs from slurmctld: stored, malformed, or denied as the "
     "client may not send them or the cluster is unknown.",
     "result=\"stored\"", OF(jobcomp_stored), false},
    {"batchjob_stats_jobcomp_records_total", NULL, NULL, "result=\"malformed\"",
     OF(jobcomp_malformed), false},
    {"batchjob_stats_jobcomp_records_total", NULL, NULL, "result=\"denied\"",
     OF(jobcomp_denied), false},
    {"batchjob_stats_jobcomp_failures_total", "counter",
     "Transactions with records from slurmctld that failed.", "",
     OF(jobcomp_failures), false},
};

enum bj_metrics_fault bj_metrics_fault(int code)
{
    switch (code) {
    case -ETIMEDOUT:
        return BJ_FAULT_TIMEOUT;
    case -EREMOTEIO:
    case -ENOENT:
    case -EACCES:
    case -ENOEXEC:
    case -ECONNREFUSED:
        return BJ_FAULT_COMMAND;
    case -ENOSPC:
    case -EIO:
    case -ENOLINK:
    case -EBADMSG:
    case -EBUSY:
    case -EROFS:
        return BJ_FAULT_STORE;
    default:
        return BJ_FAULT_OTHER;
    }
}

static void head(struct bj_buf *out, const char *name, const char *type,
                 const char *help)
{
    bj_buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void page_put_name(struct bj_buf *out, const char *name,
                          const char *cluster)
{
    char clean[BJ_LABEL_MAX + 1];
    size_t n = bj_text_clean(bj_slice_str(cluster), clean, sizeof(clean));
    bj_buf_printf(out, "%s{cluster=\"", name);
    bj_buf_label(out, (struct bj_slice){clean, n});
    bj_buf_str(out, "\"");
}

static uint64_t page_number(const void *base, size_t off)
{
    uint64_t v;
    memcpy(&v, (const char *)base + off, sizeof(v));
    return v;
}

static void put_faults(const struct bj_metrics_values *r, struct bj_buf *out)
{
    static const char name[] = "batchjob_stats_errors_total";
    static const char *const kinds[BJ_FAULTS] = {"command", "timeout", "store",
                                                 "other"};
    head(out, name, "counter", "Failed requests, by kind of error.");
    for (size_t c = 0; c < r->clusters; c++)
        for (int k = 0; k < BJ_FAULTS; k++) {
            page_put_name(out, name, r->cluster[c].name);
            bj_buf_printf(out, ",kind=\"%s\"} ", kinds[k]);
            bj_buf_u64(out, r->cluster[c].fault[k]);
            bj_buf_str(out, "\n");
        }
}

void bj_metrics_page(const struct bj_metrics_values *r, struct bj_buf *out)
{
    for (size_t i = 0; i < sizeof(of_cluster) / sizeof(of_cluster[0]); i++) {
        head(out, of_cluster[i].name, of_cluster[i].type, of_cluster[i].help);
        for (size_t c = 0; c < r->clusters; c++) {
            uint64_t v = page_number(&r->cluster[c], of_cluster[i].off);
            if (of_cluster[i].optional && v == 0)
                continue;
            page_put_name(out, of_cluster[i].name, r->cluster[c].name);
            bj_buf_str(out, "} ");
            bj_buf_u64(out, v);
            bj_buf_str(out, "\n");
        }
    }
    put_faults(r, out);
    for (size_t i = 0; i < sizeof(of_store) / sizeof(of_store[0]); i++) {
        if (of_store[i].optional && page_number(r, of_store[i].off) == 0)
            continue;
        if (of_store[i].type)
            head(out, of_store[i].name, of_store[i].type, of_store[i].help);
        bool label = of_store[i].label[0] != '\0';
        bj_buf_printf(out, "%s%s%s%s ", of_store[i].name, label ? "{" : "",
                      of_store[i].label, label ? "}" : "");
        bj_buf_u64(out, page_number(r, of_store[i].off));
        bj_buf_str(out, "\n");
    }
    bj_buf_slice(out, r->refused);
    bj_buf_slice(out, r->running);
    bj_buf_slice(out, r->notify);
}

int bj_metrics_save(const struct bj_metrics_values *r, const char *path,
                    struct bj_err *err)
{
    struct bj_buf out = {0};
    bj_metrics_page(r, &out);
    int e = out.failed ? bj_err_set(err, -ENOMEM, "%s", path)
                       : bj_save(path, (struct bj_slice){out.p, out.len}, 0644,
                                 0, err);
    bj_buf_free(&out);
    return e;
}

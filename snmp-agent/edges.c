#include "snmp-agent/edges.h"

#include <inttypes.h>
#include <stdio.h>

enum { MINUTE_USEC = 60 * 1000000, FAULT_BYTES = 200 };

const struct bj_snmp_notification bj_snmp_notifications[BJ_EDGES] = {
    [BJ_EDGE_JOB_OOM] =
        {"bjJobOomKilled",
         "The kernel has killed processes of a job for lack of memory: the "
         "number of kills has grown since the pass before.",
         {{BJ_SNMP_JOB, "Id"}, {BJ_SNMP_JOB, "batchjob_job_oom_kills_total"}},
         "job-oom"},
    [BJ_EDGE_METER_LOST] =
        {"bjMeterLost",
         "The last read of a power meter failed; the one of the pass before "
         "did not.",
         {{BJ_SNMP_METER, "Name"}, {BJ_SNMP_METER, "batchjob_meter_success"}},
         "meter"},
    [BJ_EDGE_METER_BACK] = {"bjMeterBack",
                            "A power meter answers again.",
                            {{BJ_SNMP_METER, "Name"},
                             {BJ_SNMP_METER, "batchjob_meter_success"}},
                            "meter"},
    [BJ_EDGE_GPU] =
        {"bjGpuUnhealthy",
         "A GPU does not answer any more, or has new Xid errors, new "
         "uncorrected memory errors or rows that could not be remapped; "
         "bjFault says which.",
         {{BJ_SNMP_GPU, "Id"}, {BJ_SNMP_SCALARS, "Fault"}},
         "gpu"},
    [BJ_EDGE_RECORDS] =
        {"bjRecordsWaiting",
         "The oldest final record of a job that waits to be written or sent "
         "is now older than snmp.records-age.",
         {{BJ_SNMP_SCALARS, "batchjob_sampler_records_waiting"},
          {BJ_SNMP_SCALARS, "batchjob_sampler_records_age_seconds"}},
         "records"},
};

/* snmpTrapOID.0 (SNMPv2-MIB) */
static const struct bj_oid trap_oid = {11, {1, 3, 6, 1, 6, 3, 1, 1, 4, 1, 0}};

/* Two passes, and a row that both have. */
struct pass_pair {
    struct bj_edges *edges;
    const struct bj_snmp_rows *before, *rows;
    const struct bj_snmp_row *old, *row; /* old: NULL, the row is new */
    uint64_t now;
};

static bool edge_wanted(const struct bj_edges *e, enum bj_snmp_edge edge)
{
    const struct bj_strv *notify = &e->conf->notify;
    for (size_t i = 0; i < notify->n; i++)
        if (strcmp(notify->v[i], bj_snmp_notifications[edge].option) == 0)
            return true;
    return false;
}

static bool edge_within_rate(struct bj_edges *e, uint64_t now)
{
    if (e->minute_usec == 0 || now - e->minute_usec >= MINUTE_USEC) {
        e->minute_usec = now;
        e->sent = 0;
    }
    return e->sent++ < e->conf->rate;
}

/* Append an object of a notification, unless its value is unknown. */
static void put_object(const struct pass_pair *p,
                       const struct bj_snmp_column *c, const char *fault,
                       struct bj_buf *out)
{
    const struct bj_snmp_row *row = c->number->table == BJ_SNMP_SCALARS
                                        ? p->rows->v[BJ_SNMP_SCALARS]
                                        : p->row;
    struct bj_oid name;
    struct bj_value v = {.type = BJ_VALUE_TEXT, .text = bj_slice_str(fault)};
    if (c->number->source != BJ_SNMP_FAULT &&
        !bj_snmp_rows_value(p->rows, c, row, &v))
        return;
    bj_snmp_view_name(p->edges->view, c, row, &name);
    bj_pdu_put_value(out, &name, &v);
}

static void edge_send(const struct pass_pair *p, enum bj_snmp_edge edge,
                      const char *fault)
{
    const struct bj_snmp_notification *n = &bj_snmp_notifications[edge];
    const uint32_t tail[] = {BJ_SNMP_NOTIFICATIONS, edge};
    struct bj_edges *e = p->edges;
    struct bj_buf out = {0};
    struct bj_oid name;
    bj_snmp_view_base(e->view, &name);
    bj_oid_add(&name, tail, 2);
    const struct bj_value trap = {.type = BJ_VALUE_OID, .oid = &name};
    bj_pdu_put_value(&out, &trap_oid, &trap);
    for (size_t i = 0; i < sizeof(n->object) / sizeof(n->object[0]); i++)
        put_object(p, bj_snmp_column(n->object[i].table, n->object[i].name),
                   fault, &out);
    const bool within = edge_within_rate(e, p->now);
    if (!within)
        bj_buf_free(&out);
    if (!within || !e->send(e->ctx, out))
        bj_snmp_view_unsent(e->view);
}

/* A metric in the newer pass and in the one before; false: unknown. */
static bool edge_new(const struct pass_pair *p, enum bj_snmp_table_id table,
                     const char *name, uint64_t *ret)
{
    struct bj_value v;
    bool known =
        bj_snmp_rows_value(p->rows, bj_snmp_column(table, name), p->row, &v);
    *ret = v.number;
    return known;
}

static bool edge_old(const struct pass_pair *p, enum bj_snmp_table_id table,
                     const char *name, uint64_t *ret)
{
    struct bj_value v;
    if (!p->old ||
        !bj_snmp_rows_value(p->before, bj_snmp_column(table, name), p->old, &v))
        return false;
    *ret = v.number;
    return true;
}

/* By how much a counter has grown; 0: it has not, or a value is unknown. */
static uint64_t edge_growth(const struct pass_pair *p,
                            enum bj_snmp_table_id table, const char *name)
{
    uint64_t before, now;
    return edge_old(p, table, name, &before) &&
                   edge_new(p, table, name, &now) && now > before
               ? now - before
               : 0;
}

/* Another run of a job with the same id. */
static bool is_other_run(const struct pass_pair *p)
{
    return p->row->job->start_sec != p->old->job->start_sec &&
           p->row->job->start_sec != BJ_ABSENT &&
           p->old->job->start_sec != BJ_ABSENT;
}

static void compare_job(struct pass_pair *p)
{
    static const char kills[] = "batchjob_job_oom_kills_total";
    uint64_t now;
    if (p->old && is_other_run(p))
        p->old = NULL;
    if (p->old ? edge_growth(p, BJ_SNMP_JOB, kills) > 0
               : edge_new(p, BJ_SNMP_JOB, kills, &now) && now > 0)
        edge_send(p, BJ_EDGE_JOB_OOM, NULL);
}

/* Whether a source that answered in the pass before, or was not known yet, does
 * not answer now. */
static bool edge_lost(const struct pass_pair *p, enum bj_snmp_table_id table,
                      const char *name)
{
    uint64_t before, now;
    return edge_new(p, table, name, &now) && now != 1 &&
           !(edge_old(p, table, name, &before) && before != 1);
}

static void compare_meter(struct pass_pair *p)
{
    static const char success[] = "batchjob_meter_success";
    uint64_t before, now;
    if (edge_lost(p, BJ_SNMP_METER, success))
        edge_send(p, BJ_EDGE_METER_LOST, NULL);
    else if (edge_old(p, BJ_SNMP_METER, success, &before) && before != 1 &&
             edge_new(p, BJ_SNMP_METER, success, &now) && now == 1)
        edge_send(p, BJ_EDGE_METER_BACK, NULL);
}

static void compare_gpu(struct pass_pair *p)
{
    static const char failed[] = "batchjob_gpu_remapping_failed";
    char text[FAULT_BYTES];
    uint64_t last = 0, before, now;
    int n = 0;
    const uint64_t xids =
        edge_growth(p, BJ_SNMP_GPU, "batchjob_gpu_xid_errors_total");
    const uint64_t errors =
        edge_growth(p, BJ_SNMP_GPU, "batchjob_gpu_ecc_uncorrected_total");
    if (edge_lost(p, BJ_SNMP_GPU, "batchjob_gpu_success"))
        n += snprintf(text + n, sizeof(text) - (size_t)n,
                      "; the driver does not answer");
    if (xids > 0)
        n += snprintf(text + n, sizeof(text) - (size_t)n,
                      "; %" PRIu64 " new Xid errors", xids);
    if (xids > 0 && edge_new(p, BJ_SNMP_GPU, "batchjob_gpu_last_xid", &last))
        n += snprintf(text + n, sizeof(text) - (size_t)n,
                      ", the last one %" PRIu64, last);
    if (errors > 0)
        n += snprintf(text + n, sizeof(text) - (size_t)n,
                      "; %" PRIu64 " new uncorrected memory errors", errors);
    if (edge_new(p, BJ_SNMP_GPU, failed, &now) && now == 1 &&
        edge_old(p, BJ_SNMP_GPU, failed, &before) && before != 1)
        n += snprintf(text + n, sizeof(text) - (size_t)n,
                      "; the remapping of a row has failed");
    if (n > 0)
        edge_send(p, BJ_EDGE_GPU, text + strlen("; "));
}

static void compare_records(struct pass_pair *p)
{
    static const char age[] = "batchjob_sampler_records_age_seconds";
    const uint64_t limit = p->edges->conf->records_usec;
    uint64_t before, now;
    if (edge_new(p, BJ_SNMP_SCALARS, age, &now) && now >= limit &&
        !(edge_old(p, BJ_SNMP_SCALARS, age, &before) && before >= limit))
        edge_send(p, BJ_EDGE_RECORDS, NULL);
}

void bj_edges_compare(struct bj_edges *e, const struct bj_snmp_rows *before,
                      const struct bj_snmp_rows *rows, uint64_t now)
{
    static const struct {
        enum bj_snmp_table_id table;
        enum bj_snmp_edge edge;
        void (*compare)(struct pass_pair *p);
    } parts[] = {
        {BJ_SNMP_JOB, BJ_EDGE_JOB_OOM, compare_job},
        {BJ_SNMP_METER, BJ_EDGE_METER_LOST, compare_meter},
        {BJ_SNMP_GPU, BJ_EDGE_GPU, compare_gpu},
        {BJ_SNMP_SCALARS, BJ_EDGE_RECORDS, compare_records},
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        const enum bj_snmp_table_id t = parts[i].table;
        struct pass_pair p = {
            .edges = e, .before = before, .rows = rows, .now = now};
        for (size_t k = 0; edge_wanted(e, parts[i].edge) && k < rows->n[t];
             k++) {
            p.row = &rows->v[t][k];
            size_t at = bj_snmp_find(before->v[t], before->n[t], p.row->index,
                                     p.row->n);
            bool same = at < before->n[t] &&
                        bj_snmp_index_compare(before->v[t][at].index,
                                              before->v[t][at].n, p.row->index,
                                              p.row->n) == 0;
            p.old = same ? &before->v[t][at] : NULL;
            parts[i].compare(&p);
        }
    }
}

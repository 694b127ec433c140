/* A store with jobs, final records and derived values. */
#ifndef BJ_TESTS_UNIT_STATSDB_TEST_STATSDB_DERIVE_H
#define BJ_TESTS_UNIT_STATSDB_TEST_STATSDB_DERIVE_H

#include "tests/unit/statsdb/test_statsdb.h"

#include "statsdb/derive/derive.h"
#include "statsdb/derive/factors.h"
#include "statsdb/record/record.h"
#include "statsdb/tables/application.h"

#include <string.h>

enum { T0 = 1763596800 }; /* 2025-11-20 00:00:00 UTC */

struct derive_rig {
    struct fixture f;
    struct bj_store *s;
    struct bj_upsert *u;
    struct bj_records *r;
    struct bj_factors *h;
    struct bj_rules *rules;
    struct bj_applications *applications; /* NULL: none is named */
    struct bj_derive *d;
};

static struct bj_err err;

#define OK(call)                                                               \
    do {                                                                       \
        if ((call) < 0)                                                        \
            fail_msg("%s", err.msg);                                           \
    } while (0)

static inline void derive_open(struct derive_rig *w)
{
    static const char *const clusters[] = {"alpha"};
    static const int64_t history[] = {86400};
    struct bj_derive_options opt = {.rules = w->rules,
                                    .applications = w->applications,
                                    .prom_cluster = clusters,
                                    .prom_history_sec = history,
                                    .prom_clusters = 1};
    OK(bj_derive_new(w->s, &opt, &w->d, &err));
}

static inline void derive_rig_open(struct derive_rig *w)
{
    memset(w, 0, sizeof(*w));
    fixture_open(&w->f);
    w->s = store_open(&w->f);
    w->u = upsert_open(w->s);
    OK(bj_records_new(w->s, &w->r, &err));
    OK(bj_factors_new(w->s, &w->h, &err));
    OK(bj_rules_text("", BJ_SLICE(""), &w->rules, &err));
    derive_open(w);
}

static inline void derive_rig_close(struct derive_rig *w)
{
    assert_int_equal(bj_db_check(bj_store_db(w->s), NULL), 0);
    bj_derive_free(w->d);
    bj_rules_free(w->rules);
    bj_applications_free(w->applications);
    bj_factors_free(w->h);
    bj_records_free(w->r);
    bj_upsert_free(w->u);
    bj_store_close(w->s);
    fixture_close(&w->f);
}

/* Derive until nothing is left; returns how many steps did something. */
static inline unsigned derive_all(struct derive_rig *w)
{
    unsigned n = 0;
    int r;
    while ((r = bj_derive_step(w->d, T0 + 86400, 7, &err)) > 0)
        n++;
    OK(r);
    return n;
}

/* A task of an array is shown as Slurm shows it. */
static inline void put_job(struct derive_rig *w, const struct bj_sched_job *of)
{
    struct bj_sched_job j = *of;
    char shown[48];
    if (j.display_id.n == 0 && j.array_task != BJ_ABSENT) {
        snprintf(shown, sizeof(shown), "%llu_%llu",
                 (unsigned long long)j.array_job,
                 (unsigned long long)j.array_task);
        j.display_id = bj_slice_str(shown);
    }
    OK(bj_upsert_begin(w->u, &err));
    OK(bj_upsert_job(w->u, BJ_SLICE("alpha"), &j, &err));
    OK(bj_upsert_commit(w->u, &err));
}

/* A job on two nodes with 4 CPUs and 8 GiB in all, from T0 + at on. */
static inline void make_job(struct bj_sched_job *j, const char *id, int64_t at,
                            uint64_t seconds)
{
    bj_sched_job_init(j);
    j->jobid = bj_slice_str(id);
    j->batch_system = BJ_SLICE("slurm");
    j->user = BJ_SLICE("anna");
    j->account = BJ_SLICE("phys");
    j->partition = BJ_SLICE("long");
    j->state = BJ_STATE_COMPLETED;
    j->submit_sec = (uint64_t)(T0 + at - 10);
    j->start_sec = (uint64_t)(T0 + at);
    j->end_sec = j->start_sec + seconds;
    j->elapsed_sec = seconds;
    j->cpus = j->cpus_requested = 4;
    j->nodes = 2;
    j->time_limit_sec = 7200;
    j->mem_allocated_bytes = UINT64_C(8) << 30;
    j->use.cpu_usec = UINT64_C(1000) * 1000000;
}

static inline void put_record(struct derive_rig *w, const char *id,
                              const char *host, int64_t end, const char *rest)
{
    char text[1000];
    snprintf(text, sizeof(text),
             "{\"format\":1,\"cluster\":\"alpha\",\"jobid\":\"%s\",\"host\":"
             "\"%s\",\"end\":%lld%s}",
             id, host, (long long)end, rest);
    OK(bj_records_begin(w->r, &err));
    OK(bj_record_put(w->r, BJ_SLICE("alpha"), "x", bj_slice_str(text), &err));
    OK(bj_records_commit(w->r, &err));
}

/* Values of the final records of a job's two nodes. */
static const char node1[] =
    ",\"cpu_usec\":5000000000,\"memory_held_peak_bytes\":3221225472,"
    "\"memory_charged_peak_bytes\":4294967296,"
    "\"io_read_bytes\":1000,\"io_write_bytes\":500,\"oom_kills\":0,"
    "\"energy_policy\":\"hybrid\",\"energy_uj\":{\"hybrid\":{\"cpu\":"
    "1800000000,\"dram\":100000000},\"usage\":{\"cpu\":1500000000},"
    "\"reservation\":{\"cpu\":2500000000}},\"devices\":{\"sda\":"
    "{\"read_bytes\":7,\"write_bytes\":9},\"sdb\":{\"read_bytes\":1}}";
static const char node2[] =
    ",\"cpu_usec\":7960000000,\"memory_held_peak_bytes\":1073741824,"
    "\"memory_held_peak_charged\":true,"
    "\"memory_charged_peak_bytes\":4294967296,"
    "\"io_read_bytes\":24,\"energy_policy\":\"hybrid\",\"energy_uj\":"
    "{\"hybrid\":{\"cpu\":1600000000,\"gpu\":100000000},\"usage\":"
    "{\"cpu\":1500000000},\"reservation\":{\"cpu\":2500000000}}";

#endif

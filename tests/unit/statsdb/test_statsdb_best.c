/* The best values that batchjob_acct and the API show for a job equal those of
 * its findings, whichever values are known. */
#include "tests/unit/statsdb/test_statsdb_derive.h"

#include "acct/store.h"

#include <math.h>

/* Rules that give a finding whenever their fact is known. */
static const char rules_yaml[] =
    "rules:\n"
    "- {name: a, when: [cpu_efficiency >= 0], text: t}\n"
    "- {name: b, when: [mem_efficiency >= 0], text: t}\n"
    "- {name: c, when: [mem_peak >= 0], text: t}\n"
    "- {name: d, when: [cpus_busy >= 0], text: t}\n"
    "- {name: e, when: [time_efficiency >= 0], text: t}\n";

enum { CPU, MEMORY, PEAK, BUSY, TIME, VALUES };

struct shown {
    struct derive_rig *w;
    unsigned known; /* number of values that were known */
};

static double finding(struct derive_rig *w, const char *jobid, char name)
{
    char sql[200];
    struct bj_st *st;
    double v = (double)NAN;
    snprintf(sql, sizeof(sql),
             "SELECT f.value FROM job_finding_v AS f JOIN job AS j ON j.id ="
             " f.job WHERE j.jobid = %s AND f.name = '%c'",
             jobid, name);
    OK(bj_db_prepare(bj_store_db(w->s), sql, &st, &err));
    if (bj_st_row(st, &err) > 0)
        v = bj_st_get_f64(st, 0);
    bj_st_finalize(st);
    return v;
}

/* Check that a column and its finding have the same value, or that neither has
 * one. */
static void same(struct shown *s, const char *jobid, unsigned which,
                 double value)
{
    double found = finding(s->w, jobid, (char)('a' + which));
    if (isnan(value) != isnan(found) ||
        fabs(value - found) > 1e-3 * (1 + fabs(found)))
        fail_msg("job %s: %c is %g, its finding %g", jobid, 'a' + (int)which,
                 value, found);
    s->known += isnan(value) ? 0 : 1;
}

static double get(const struct bj_acct_row *row, unsigned i, double by)
{
    struct bj_job_value v;
    OK(row->value(row->ctx, i, &v, &err));
    return v.known ? (double)v.number / by : (double)NAN;
}

static int on_job(void *ctx, const struct bj_acct_row *row, struct bj_err *e)
{
    struct bj_job_value id;
    char jobid[16];
    (void)e;
    OK(row->value(row->ctx, 6, &id, &err));
    snprintf(jobid, sizeof(jobid), "%.*s", (int)id.text.n, id.text.p);
    same(ctx, jobid, CPU, get(row, 0, 1e4));
    same(ctx, jobid, MEMORY, get(row, 1, 1e4));
    same(ctx, jobid, PEAK, get(row, 2, 1));
    same(ctx, jobid, BUSY, get(row, 3, 1e6) / get(row, 4, 1));
    same(ctx, jobid, TIME, get(row, 5, 1e4));
    return 0;
}

/* Store a job; each bit adds or removes a value of accounting or of a node. */
static void put_known(struct derive_rig *w, unsigned bits)
{
    struct bj_sched_job j;
    char id[16];
    snprintf(id, sizeof(id), "%u", 1000 + bits);
    make_job(&j, id, 3600, 3600);
    if (bits & 1)
        j.use.cpu_usec = BJ_ABSENT;
    if (bits & 2)
        j.use.mem_peak_bytes = UINT64_C(1) << 30;
    if (bits & 4)
        j.mem_allocated_bytes = BJ_ABSENT;
    if (bits & 8)
        j.cpus = BJ_ABSENT;
    if (bits & 16)
        put_record(w, id, "n1", T0 + 7201, node1);
    if (bits & 32)
        put_record(w, id, "n2", T0 + 7205,
                   bits & 64 ? ",\"cpu_usec\":1000000" : node2);
    if (bits & 128)
        j.use.cpu_usec = UINT64_C(14000) * 1000000;
    put_job(w, &j);
}

static void test_same(void **state)
{
    static const char *const names[] = {"cpu_efficiency_percent",
                                        "memory_efficiency_percent",
                                        "memory_peak_bytes",
                                        "cpu_used_seconds",
                                        "elapsed_seconds",
                                        "time_efficiency_percent",
                                        "jobid"};
    enum { COLUMNS = sizeof(names) / sizeof(names[0]) };
    const struct bj_column *column[COLUMNS];
    struct derive_rig w;
    struct shown s = {.w = &w};
    (void)state;
    derive_rig_open(&w);
    bj_derive_free(w.d);
    bj_rules_free(w.rules);
    OK(bj_rules_text("x", bj_slice_str(rules_yaml), &w.rules, &err));
    derive_open(&w);
    for (unsigned bits = 0; bits < 256; bits++)
        put_known(&w, bits);
    derive_all(&w);
    for (unsigned i = 0; i < COLUMNS; i++)
        assert_non_null(column[i] = bj_job_column(bj_slice_str(names[i])));
    struct bj_acct_source from;
    struct bj_acct_query q = {
        {.since_sec = INT64_MIN, .until_sec = INT64_MAX}, column, COLUMNS};
    OK(bj_acct_store_open(w.f.path, false, &from, &err));
    OK(from.jobs(from.source, &q, on_job, &s, &err));
    from.close(from.source);
    assert_true(s.known > 700);
    derive_rig_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same)};
    return cmocka_run_group_tests_name("best", tests, NULL, NULL);
}

/* A node writes records of jobs that did not run on it: they are not used, and
 * counted by host.  Both engines. */
#include "tests/unit/statsdb/test_statsdb_derive.h"

#include "tests/unit/statsdb/test_server.h"

static void open_rig(struct derive_rig *w, bool server_store)
{
    memset(w, 0, sizeof(*w));
    fixture_open(&w->f);
    const struct bj_store_options opt = {.path = server_store ? empty_server()
                                                              : w->f.path};
    OK(bj_store_open(&opt, &w->s, &err));
    w->u = upsert_open(w->s);
    OK(bj_records_new(w->s, &w->r, &err));
    OK(bj_factors_new(w->s, &w->h, &err));
    OK(bj_rules_text("", BJ_SLICE(""), &w->rules, &err));
    derive_open(w);
}

static void put_on(struct derive_rig *w, const char *id, const char *nodelist)
{
    struct bj_sched_job j;
    make_job(&j, id, 0, 3600);
    j.nodelist = bj_slice_str(nodelist);
    put_job(w, &j);
}

/* The CPU time that counts for each job: its records' powers of ten. */
static const char sums[] =
    "SELECT j.jobid, sum(n.cpu_usec) FROM node_record AS n JOIN node_record_job"
    " AS l ON l.record = n.id JOIN job AS j ON j.id = l.job GROUP BY j.jobid"
    " ORDER BY 1";

static const char *page(const struct derive_rig *w)
{
    static char text[2000];
    struct bj_buf out = {0};
    bj_derive_refused_page(w->d, &out);
    snprintf(text, sizeof(text), "%.*s", (int)out.len, out.p);
    bj_buf_free(&out);
    return strstr(text, "counter\n") + 8;
}

static void check_hosts(bool server_store)
{
    enum { END = T0 + 3600 };
    struct derive_rig w;
    open_rig(&w, server_store);
    /* Records that arrive before accounting wait. */
    put_record(&w, "1", "n1", END, ",\"cpu_usec\":1");
    put_record(&w, "1", "n3", END, ",\"cpu_usec\":10");
    derive_all(&w);
    assert_string_equal(page(&w), "");
    put_on(&w, "1", "n[1-2]");
    put_on(&w, "2", "n3");
    put_on(&w, "3", "a.site,s1");
    put_on(&w, "4", "");
    derive_all(&w);
    expect(w.s, sums, "1|1\n");
    assert_string_equal(
        page(&w), "batchjob_stats_refused_records_total{host=\"n3\"} 1\n");
    /* Records that arrive later; the whole name of a host, and its short one.
     */
    put_record(&w, "1", "n2.site.example", END, ",\"cpu_usec\":100");
    put_record(&w, "1", "n20", END, ",\"cpu_usec\":1000");
    put_record(&w, "2", "n1", END, ",\"cpu_usec\":10000");
    put_record(&w, "3", "a", END, ",\"cpu_usec\":1");
    put_record(&w, "3", "a.other", END, ",\"cpu_usec\":10");
    /* A host of several slurmd; n1 is none, as accounting knows it. */
    put_record(&w, "3", "big", END, ",\"slurm_node\":\"s1\",\"cpu_usec\":100");
    put_record(&w, "3", "n1", END, ",\"slurm_node\":\"s1\",\"cpu_usec\":1000");
    /* Accounting does not say where it ran. */
    put_record(&w, "4", "n1", END, ",\"cpu_usec\":1");
    derive_all(&w);
    expect(w.s, sums, "1|101\n3|101\n4|1\n");
    assert_string_equal(
        page(&w), "batchjob_stats_refused_records_total{host=\"n3\"} 1\n"
                  "batchjob_stats_refused_records_total{host=\"n20\"} 1\n"
                  "batchjob_stats_refused_records_total{host=\"n1\"} 2\n"
                  "batchjob_stats_refused_records_total{host=\"a.other\"} 1\n");
    assert_int_equal(number(w.s, "SELECT max(measured_nodes) FROM job_use"), 2);
    /* Deriving again counts nothing twice. */
    put_record(&w, "2", "n1", END, ",\"cpu_usec\":10000,\"cpus\":1");
    put_on(&w, "2", "n[3-4]");
    derive_all(&w);
    assert_non_null(strstr(page(&w), "{host=\"n1\"} 2\n"));
    /* A resized job ran on more hosts before. */
    OK(bj_db_exec(bj_store_db(w.s),
                  "INSERT INTO job_size(job, number, hosts) SELECT j.id, 0,"
                  " t.hosts FROM job AS j, job AS t WHERE j.nodes = 2 AND"
                  " (SELECT text FROM hosts WHERE id = j.hosts) = 'n[1-2]' AND"
                  " (SELECT text FROM hosts WHERE id = t.hosts) = 'n[3-4]'",
                  &err));
    expect(w.s, sums, "1|111\n3|101\n4|1\n");
    /* record.check-hosts off */
    OK(bj_db_exec(bj_store_db(w.s), "INSERT INTO record_any_host(id) VALUES(1)",
                  &err));
    expect(w.s, sums, "1|1111\n2|10000\n3|1111\n4|1\n");
    bj_derive_free(w.d);
    bj_rules_free(w.rules);
    bj_factors_free(w.h);
    bj_records_free(w.r);
    bj_upsert_free(w.u);
    bj_store_close(w.s);
    fixture_close(&w.f);
}

static void test_sqlite(void **state)
{
    (void)state;
    check_hosts(false);
}

static void test_postgresql(void **state)
{
    (void)state;
    NEED_SERVER;
    check_hosts(true);
}

/* --- bounds ---------------------------------------------------------------*/

static int put_text(struct bj_records *r, const char *fields)
{
    struct bj_buf text = {0};
    bj_buf_printf(&text, "{\"format\":1,\"host\":\"n1\",%s}", fields);
    err = (struct bj_err){0};
    OK(bj_records_begin(r, &err));
    int e = bj_record_put(r, BJ_SLICE("alpha"), "x",
                          (struct bj_slice){text.p, text.len}, &err);
    bj_records_rollback(r);
    bj_buf_free(&text);
    return e;
}

static void test_bounds(void **state)
{
    static const struct {
        const char *fields, *why;
    } cases[] = {
        {"\"jobid\":\"1\",\"end\":1763600400", NULL},
        {"\"jobid\":\"1\",\"start\":5,\"end\":9", NULL},
        {"\"jobid\":\"1\",\"end\":4102444800", "x: end: more than a day in"},
        {"\"jobid\":\"1\",\"start\":1763700000,\"end\":1763600400",
         "x: start: more than a day after the end"},
        {"\"jobid\":\"1\",\"start\":1000000000,\"end\":1763600400",
         "x: start: more than five years ago"},
        {"\"jobid\":\"@\",\"end\":9", "x: jobid: longer than 128 bytes"},
        {"\"jobid\":\"1\",\"end\":9,\"user\":\"@\"", "x: user: longer"},
        {"\"jobid\":\"1\",\"end\":9,\"slurm_node\":\"@\"", "x: slurm_node: lo"},
        {"\"jobid\":\"1\",\"end\":9,\"devices\":{\"@\":{}}",
         "x: devices: a na"},
        {"\"jobid\":\"1\",\"end\":9,\"gpus\":{\"@\":{}}", "x: gpus: a name"},
        {"\"jobid\":\"1\",\"end\":9,\"gpus\":{\"g\":{\"model\":\"@\"}}",
         "x: gpus: longer"},
        {"\"jobid\":\"1\",\"end\":9,\"energy_uj\":{\"@\":{}}",
         "x: energy_uj: a name"},
        {"\"jobid\":\"1\",\"end\":9,\"energy_uj\":{\"usage\":{\"@\":1}}",
         "x: energy_uj: a name"},
    };
    (void)state;
    struct derive_rig w;
    derive_rig_open(&w);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[600], *at;
        snprintf(text, sizeof(text), "%s", cases[i].fields);
        if ((at = strchr(text, '@'))) {
            const char *rest = strchr(cases[i].fields, '@') + 1;
            memset(at, 'n', 129);
            snprintf(at + 129, 200, "%s", rest);
        }
        int r = put_text(w.r, text);
        if (r != (cases[i].why ? -EINVAL : 0) ||
            (cases[i].why &&
             strncmp(err.msg, cases[i].why, strlen(cases[i].why)) != 0))
            fail_msg("%s: %d %s", cases[i].fields, r, err.msg);
    }
    derive_rig_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sqlite),
        cmocka_unit_test(test_postgresql),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, start, stop);
}

/* Parts of batchjob_stats_db: export, retention, cluster files, the cache,
 * progress, metrics. */
#include "tests/unit/statsdb/test_statsdb.h"

#include "base/cache.h"
#include "statsdb/conf/conf.h"
#include "statsdb/daemon/progress.h"
#include "statsdb/import/covered.h"
#include "statsdb/metrics/metrics_page.h"
#include "statsdb/tables/export.h"
#include "statsdb/tables/retention.h"

static void put_job(struct bj_upsert *u, unsigned id, uint64_t end,
                    const char *name)
{
    char raw[16];
    struct bj_err err = {0};
    struct bj_sched_job j;
    struct bj_job_step step;
    bj_sched_job_init(&j);
    bj_job_step_init(&step);
    snprintf(raw, sizeof(raw), "%u", id);
    j.jobid = bj_slice_str(raw);
    j.name = bj_slice_str(name);
    j.submit_sec = j.start_sec = end - 100;
    j.end_sec = end;
    j.elapsed_sec = 100;
    j.cpus = 2;
    j.comment = BJ_SLICE("c");
    j.state = BJ_STATE_COMPLETED;
    step.step_id = BJ_SLICE("batch");
    j.step = &step;
    j.steps = 1;
    if (bj_upsert_begin(u, &err) < 0 ||
        bj_upsert_job(u, BJ_SLICE("x"), &j, &err) < 0 ||
        bj_upsert_commit(u, &err) < 0)
        fail_msg("%s", err.msg);
}

/* All jobs in that format. */
static char *exported(struct bj_store *s, enum bj_export_format format)
{
    char *text = NULL;
    size_t n = 0;
    struct bj_err err = {0};
    struct bj_export what = {format, 0, INT64_MAX};
    FILE *f = open_memstream(&text, &n);
    if (bj_export_jobs(s, &what, f, &err) < 0)
        fail_msg("%s", err.msg);
    fclose(f);
    return text;
}

static void test_export(void **state)
{
    static const struct {
        const char *name, *csv, *json;
    } cases[] = {
        {"plain", ",plain,", "\"name\":\"plain\""},
        {"a,b", ",\"a,b\",", "\"name\":\"a,b\""},
        {"say \"x\"", ",\"say \"\"x\"\"\",", "\"name\":\"say \\\"x\\\"\""},
        {"=1+1", ",\"'=1+1\",", "\"name\":\"=1+1\""},
        {"-x", ",\"'-x\",", "\"name\":\"-x\""},
        {"bad\xff", ",bad\xef\xbf\xbd,", "\"name\":\"bad\xef\xbf\xbd\""},
        {"new\nline", ",\"new?line\",", "\"name\":\"new\\nline\""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        fixture_open(&f);
        struct bj_store *s = store_open(&f);
        struct bj_upsert *u = upsert_open(s);
        put_job(u, 1, 2000, cases[i].name);
        char *csv = exported(s, BJ_EXPORT_CSV);
        char *json = exported(s, BJ_EXPORT_JSONL);
        if (!strstr(csv, cases[i].csv))
            fail_msg("%s", csv);
        if (!strstr(json, cases[i].json))
            fail_msg("%s", json);
        assert_int_equal(strncmp(csv, "cluster,", 8), 0);
        assert_non_null(strstr(json, "\"elapsed_seconds\":100,"));
        assert_non_null(strstr(json, "\"energy_scheduler_joules\":null,"));
        free(csv);
        free(json);
        bj_upsert_free(u);
        bj_store_close(s);
        fixture_close(&f);
    }
}

/* Old jobs are removed, their sums stay, and they are not imported again. */
static void test_retention(void **state)
{
    (void)state;
    struct fixture f;
    struct bj_err err = {0};
    fixture_open(&f);
    struct bj_store *s;
    struct bj_store_options opt = {.path = f.path, .shrink = true};
    assert_int_equal(bj_store_open(&opt, &s, &err), 0);
    struct bj_upsert *u = upsert_open(s);
    for (unsigned i = 1; i <= 50; i++)
        put_job(u, i, 1000 * i, "n");
    bool more;
    assert_int_equal(bj_retention_step(s, 20500, 15, &more, &err), 15);
    assert_true(more);
    assert_int_equal(bj_retention_step(s, 20500, 15, &more, &err), 5);
    assert_false(more);
    assert_int_equal(bj_retention_step(s, 20500, 15, &more, &err), 0);
    assert_false(more);
    expect(s,
           "SELECT (SELECT count(*) FROM job), (SELECT count(*) FROM step),"
           " (SELECT count(*) FROM job_more), (SELECT min(\"end\") FROM job),"
           " (SELECT sum(jobs_ended) FROM rollup_day)",
           "30|30|30|21000|50\n");
    put_job(u, 3, 3000, "n");
    put_job(u, 21, 21000, "n");
    assert_int_equal(bj_upsert_counts(u)->jobs_removed, 1);
    expect(s,
           "SELECT (SELECT count(*) FROM job),"
           " (SELECT sum(jobs_ended) FROM rollup_day)",
           "30|50\n");
    assert_int_equal(bj_retention_shrink(s, 100, &err), 0);
    assert_int_equal(number(s, "PRAGMA freelist_count"), 0);
    assert_int_equal(bj_db_check(bj_store_db(s), NULL), 0);
    bj_upsert_free(u);
    bj_store_close(s);
    fixture_close(&f);
}

/* A job of many nodes has many records: their removal continues after the last
 * old job is removed. */
static void test_retention_records(void **state)
{
    (void)state;
    struct fixture f;
    struct bj_err err = {0};
    bool more;
    fixture_open(&f);
    struct bj_store *s = store_open(&f);
    struct bj_upsert *u = upsert_open(s);
    put_job(u, 1, 1000, "n");
    assert_int_equal(
        bj_db_exec(bj_store_db(s),
                   "INSERT INTO host(name) VALUES('n');"
                   "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1"
                   " FROM c WHERE i < 40) INSERT INTO node_record(cluster,"
                   " jobid, host, slurm_node, start, \"end\")"
                   " SELECT 1, 1, 1, 'n' || i, 900, 1000 FROM c",
                   &err),
        0);
    assert_int_equal(bj_retention_step(s, 2000, 15, &more, &err), 1);
    assert_true(more);
    assert_int_equal(bj_retention_step(s, 2000, 15, &more, &err), 0);
    assert_true(more);
    assert_int_equal(bj_retention_step(s, 2000, 15, &more, &err), 0);
    assert_false(more);
    assert_int_equal(number(s, "SELECT count(*) FROM node_record"), 0);
    bj_upsert_free(u);
    bj_store_close(s);
    fixture_close(&f);
}

static void test_covered(void **state)
{
    (void)state;
    struct fixture f;
    struct bj_err err = {0};
    struct bj_covered c;
    fixture_open(&f);
    struct bj_store *s = store_open(&f);
    assert_int_equal(bj_covered_read(s, "a", "sacct", &c, &err), 0);
    assert_true(c.from_sec == 0 && c.to_sec == 0);
    assert_int_equal(
        bj_covered_write(s, "a", "sacct", &(struct bj_covered){5, 9}, &err), 0);
    assert_int_equal(
        bj_covered_write(s, "a", "sacct", &(struct bj_covered){3, 9}, &err), 0);
    assert_int_equal(bj_covered_read(s, "b", "sacct", &c, &err), 0);
    assert_true(c.from_sec == 0 && c.to_sec == 0);
    assert_int_equal(bj_covered_read(s, "a", "sacct", &c, &err), 0);
    assert_true(c.from_sec == 3 && c.to_sec == 9);
    bj_store_close(s);
    fixture_close(&f);
}

static void test_conf(void **state)
{
    static const struct {
        const char *yaml;
        const char *want; /* part of the error message; NULL: valid */
    } cases[] = {
        {"name: a\n", NULL},
        {"name: a\nsacct:\n  interval: 1m\nrecords:\n  dir: [/x, /y]\n", NULL},
        {"", "name: required"},
        {"name: a\nsacct:\n  intervall: 1m\n", "c.yml:3:3: "},
        {"name: a\nsacct:\n  interval: soon\n", "c.yml:3:"},
        {"name: a\n\nsacct: [\n", "c.yml:"},
        {"name: a\npbs:\n  accounting: /x\nlsf:\n  acct: /y/lsb.acct\n", NULL},
        {"name: a\nslurmrestd:\n  url: http://x\n", NULL},
        {"name: a\nsacct:\n  command: sacct\nslurmrestd:\n  url: http://x\n",
         "only one of sacct, slurmrestd and mariadb"},
        {"name: a\nmariadb:\n  database: batchjob_a\n", NULL},
        {"name: a\nmariadb:\n  database: b\nslurmrestd:\n  url: http://x\n",
         "only one of sacct, slurmrestd and mariadb"},
        {"name: a\nmariadb:\n  port: 0\n", "c.yml:3:"},
        {"name: a\nslurmrestd:\n  version: 100\n", "c.yml:3:"},
    };
    (void)state;
    char dir[] = "/tmp/bj-conf-XXXXXX", path[64], option[96];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/c.yml", dir);
    snprintf(option, sizeof(option), "--cluster.file=%s", path);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bj_statsdb_conf c = {0};
        struct bj_err err = {0};
        char program[] = "x";
        char *argv[] = {program, option, NULL};
        FILE *file = fopen(path, "w");
        fputs(cases[i].yaml, file);
        fclose(file);
        int r = bj_statsdb_conf_load(&c, 2, argv, &err);
        assert_int_equal(r == 0, cases[i].want == NULL);
        if (cases[i].want && !strstr(err.msg, cases[i].want))
            fail_msg("%s", err.msg);
        if (r == 0)
            assert_string_equal(c.cluster[0].name, "a");
        bj_statsdb_conf_free(&c);
    }
    unlink(path);
    rmdir(dir);
}

/* A full cache is emptied; the entries that it contains are right. */
static void test_cache(void **state)
{
    (void)state;
    struct bj_cache c = {.max_entries = 100, .max_bytes = 4000};
    uint64_t seed = bj_cache_seed();
    unsigned found = 0;
    for (unsigned i = 0; i < 100000; i++) {
        char text[64];
        unsigned k = (i * 2654435761u >> 7) % 150;
        int n = snprintf(text, sizeof(text), "%0*u", (int)(k % 40), k);
        struct bj_slice key = {text, (size_t)n};
        uint64_t hash = bj_cache_hash(seed, key);
        int64_t v;
        if (bj_cache_find(&c, hash, key, &v)) {
            found++;
            assert_int_equal(v, k);
        } else {
            bj_cache_add(&c, hash, key, k);
        }
        assert_true(c.cap <= 256 && c.room <= 4096);
    }
    assert_true(found > 100);
    bj_cache_free(&c);
}

static void test_progress(void **state)
{
    (void)state;
    char text[160];
    struct bj_progress p = {.name = "alpha",
                            .terminal = true,
                            .begin_usec = 1000000,
                            .lines = 600000,
                            .first = 100,
                            .done = 400};
    assert_string_equal(
        bj_progress_text(&p, 61000000, text, sizeof(text)),
        "[============>                 ]  40 %  10000 lines/s  2m left  "
        "alpha");
    p.done = 1000;
    assert_string_equal(bj_progress_text(&p, 61000000, text, sizeof(text)),
                        "[==============================] 100 %  10000 lines/s"
                        "  alpha");
    p.done = 400;
    p.terminal = false; /* no bar in a file */
    assert_string_equal(bj_progress_text(&p, 61000000, text, sizeof(text)),
                        "alpha: 40 % imported, 10000 lines/s, 2m left");
}

static void test_progress_ends(void **state)
{
    (void)state;
    struct bj_progress p = {.name = "alpha"};
    bj_progress_add(&p, 10, 500, 1000000);
    bj_progress_add(&p, 10, 1000, 2000000);
    assert_int_equal(p.logged_usec, 2000000); /* logged at the end, */
    bj_progress_add(&p, 1, 1000, 90000000);
    assert_int_equal(p.logged_usec, 2000000); /* and only once */
    bj_progress_add(&p, 5, 300, 100000000);
    bj_progress_add(&p, 5, 400, 131000000);
    assert_int_equal(p.logged_usec, 131000000);
    assert_int_equal(p.lines, 10); /* of this import */
}

static void test_metrics(void **state)
{
    static const char *const lines[] = {
        "# TYPE batchjob_stats_requests_total counter\n",
        "\nbatchjob_stats_requests_total{cluster=\"a\\\"b\"} 3\n",
        "\nbatchjob_stats_requests_total{cluster=\"c\"} 0\n",
        "\nbatchjob_stats_covered_to_timestamp_seconds{cluster=\"c\"} 99\n",
        "\nbatchjob_stats_errors_total{cluster=\"c\",kind=\"timeout\"} 2\n",
        "\nbatchjob_stats_jobs_total{result=\"same\"} 7\n",
        "\nbatchjob_stats_wal_bytes 4096\n",
    };
    (void)state;
    struct bj_metrics_cluster c[2] = {{.name = "a\"b", .requests = 3},
                                      {.name = "c", .to_sec = 99}};
    c[1].fault[bj_metrics_fault(-ETIMEDOUT)] = 2;
    struct bj_metrics_values r = {
        .cluster = c, .clusters = 2, .jobs_same = 7, .wal_bytes = 4096};
    struct bj_buf out = {0};
    bj_metrics_page(&r, &out);
    bj_buf_put(&out, "", 1);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        if (!strstr(out.p, lines[i]))
            fail_msg("no '%s' in %s", lines[i], out.p);
    /* An unknown time is left out. */
    assert_null(strstr(out.p, "covered_to_timestamp_seconds{cluster=\"a"));
    bj_buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_export),
        cmocka_unit_test(test_retention),
        cmocka_unit_test(test_retention_records),
        cmocka_unit_test(test_covered),
        cmocka_unit_test(test_conf),
        cmocka_unit_test(test_cache),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_progress_ends),
        cmocka_unit_test(test_metrics),
    };
    return cmocka_run_group_tests_name("statsdb_parts", tests, NULL, NULL);
}

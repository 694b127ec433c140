/* The API's reader of the store, if the store is missing, replaced, damaged or
 * slow. */
#include "tests/unit/statsdb/test_statsdb.h"

#include "apiserver/frame/reader.h"
#include "tests/unit/lib/testclock.h"

#include <fcntl.h>

static struct bj_reader *reader_open(const struct fixture *f, uint64_t usec)
{
    struct bj_reader_options opt = {
        .path = f->path, .cache_bytes = 1 << 20, .query_usec = usec};
    struct bj_reader *r = NULL;
    assert_int_equal(bj_reader_new(&opt, &r, NULL), 0);
    return r;
}

static int count_jobs(struct bj_reader *r, int64_t *ret)
{
    struct bj_err err = {0};
    struct bj_st *st;
    int rc = bj_reader_begin(r, &err);
    if (rc < 0)
        return rc;
    rc = bj_reader_prepare(r, "SELECT count(*) FROM job", &st, &err);
    if (rc == 0 && (rc = bj_st_row(st, &err)) > 0) {
        *ret = bj_st_get_i64(st, 0);
        rc = 0;
    }
    bj_reader_end(r);
    return rc;
}

static void fill(const struct fixture *f, unsigned jobs)
{
    struct bj_store *s = store_open(f);
    struct bj_upsert *u = upsert_open(s);
    assert_int_equal(bj_upsert_begin(u, NULL), 0);
    for (unsigned i = 1; i <= jobs; i++) {
        char id[16];
        struct bj_sched_job j;
        bj_sched_job_init(&j);
        snprintf(id, sizeof(id), "%u", i);
        j.batch_system = BJ_SLICE("slurm");
        j.jobid = bj_slice_str(id);
        j.user = BJ_SLICE("ada");
        j.submit_sec = 1700000000 + i;
        assert_int_equal(bj_upsert_job(u, BJ_SLICE("hal"), &j, NULL), 0);
    }
    assert_int_equal(bj_upsert_commit(u, NULL), 0);
    bj_upsert_free(u);
    bj_store_close(s);
}

static void unlink_wal(const struct fixture *f)
{
    static const char *const tails[] = {"-wal", "-shm"};
    for (int i = 0; i < 2; i++) {
        char name[128];
        snprintf(name, sizeof(name), "%s%s", f->path, tails[i]);
        assert_int_equal(unlink(name), 0);
    }
}

static void test_store_is_replaced(void **state)
{
    (void)state;
    struct fixture f, other;
    int64_t n = -1;
    fixture_open(&f);
    fixture_open(&other);
    struct bj_reader *r = reader_open(&f, 600000000);
    assert_int_equal(count_jobs(r, &n), -ENOENT);
    fill(&f, 3);
    assert_int_equal(count_jobs(r, &n), 0);
    assert_int_equal(n, 3);
    uint64_t version = bj_reader_version(r);
    assert_int_equal(count_jobs(r, &n), 0);
    assert_int_equal(bj_reader_version(r), version);

    /* the writer adds jobs */
    fill(&f, 5);
    assert_int_equal(count_jobs(r, &n), 0);
    assert_int_equal(n, 5);
    assert_true(bj_reader_version(r) > version);

    /* replaced by another file */
    fill(&other, 7);
    assert_int_equal(rename(other.path, f.path), 0);
    assert_int_equal(count_jobs(r, &n), 0);
    assert_int_equal(n, 5); /* the WAL of the first one is still there */
    unlink_wal(&f);
    assert_int_equal(count_jobs(r, &n), 0);
    assert_int_equal(n, 7);

    /* removed: the open store stays in use */
    assert_int_equal(unlink(f.path), 0);
    assert_int_equal(count_jobs(r, &n), 0);
    assert_int_equal(n, 7);

    /* replaced by an invalid file: the open store stays in use */
    int fd = open(f.path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(write(fd, "rubbish", 7) == 7);
    close(fd);
    assert_int_equal(count_jobs(r, &n), 0);
    assert_int_equal(n, 7);
    bj_reader_free(r);
    fixture_close(&f);
    fixture_close(&other);
}

static void test_only_reads(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "DELETE FROM job",
        "CREATE TEMP TABLE t(a)",
        "ATTACH '/tmp/x' AS x",
        "PRAGMA query_only = OFF",
        "PRAGMA journal_mode",
        "SELECT load_extension('x')",
        "VACUUM",
    };
    struct fixture f;
    struct bj_st *st;
    int64_t n;
    fixture_open(&f);
    fill(&f, 1);
    struct bj_reader *r = reader_open(&f, 600000000);
    assert_int_equal(bj_reader_begin(r, NULL), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_true(bj_reader_prepare(r, bad[i], &st, NULL) < 0 ||
                    bj_st_row(st, NULL) < 0);
    bj_reader_end(r);
    assert_int_equal(count_jobs(r, &n), 0);
    assert_int_equal(n, 1);
    bj_reader_free(r);
    fixture_close(&f);
}

static void test_deadline(void **state)
{
    (void)state;
    struct fixture f;
    struct bj_st *st;
    struct bj_reader_stat stat;
    int64_t n;
    fixture_open(&f);
    fill(&f, 1);
    struct bj_reader *r = reader_open(&f, 20000);
    testclock_stop();
    assert_int_equal(bj_reader_begin(r, NULL), 0);
    testclock_advance(20000);
    assert_int_equal(
        bj_reader_prepare(r,
                          "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT "
                          "i + 1 FROM c) SELECT max(i) FROM c",
                          &st, NULL),
        0);
    assert_int_equal(bj_st_row(st, NULL), -EINTR);
    bj_reader_end(r);
    bj_reader_stat(r, &stat);
    assert_int_equal(stat.timeouts, 1);
    assert_int_equal(count_jobs(r, &n), 0);
    testclock_run();
    bj_reader_free(r);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_is_replaced),
        cmocka_unit_test(test_only_reads),
        cmocka_unit_test(test_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Derivation that is killed at any moment: derived jobs stay, the others are
 * derived later, and nothing counts twice. */
#include "tests/unit/statsdb/test_statsdb.h"

#include "statsdb/derive/derive.h"
#include "statsdb/derive/factors.h"
#include "tests/unit/lib/await.h"

#include <signal.h>
#include <sys/wait.h>

enum { T0 = 1763596800, JOBS = 600 };

static struct bj_err err;

static void fill(struct bj_store *s)
{
    struct bj_upsert *u = upsert_open(s);
    struct bj_factors *h;
    const struct bj_factor f = {.provider = "constant",
                                .kind = BJ_FACTOR_LIFECYCLE,
                                .from = BJ_FACTOR_CONSTANT,
                                .mg_per_kwh = 56039};
    assert_int_equal(bj_factors_new(s, &h, &err), 0);
    assert_int_equal(bj_upsert_begin(u, &err), 0);
    for (unsigned i = 0; i < JOBS; i++) {
        struct bj_sched_job j;
        char id[16], account[16];
        bj_sched_job_init(&j);
        snprintf(id, sizeof(id), "%u", 1000 + i);
        snprintf(account, sizeof(account), "a%u", i % 7);
        j.jobid = bj_slice_str(id);
        j.account = bj_slice_str(account);
        j.state = BJ_STATE_COMPLETED;
        j.submit_sec = j.start_sec = (uint64_t)(T0 + i * 977);
        j.elapsed_sec = 1 + i * 300;
        j.end_sec = j.start_sec + j.elapsed_sec;
        j.cpus = 1 + i % 8;
        j.nodes = 1;
        j.time_limit_sec = 864000;
        j.use.cpu_usec = UINT64_C(1000000) * i * 200;
        j.use.energy_joules = 1 + i * i;
        assert_int_equal(bj_upsert_job(u, BJ_SLICE("c"), &j, &err), 0);
    }
    assert_int_equal(bj_factors_put(h, BJ_SQL_NULL, 0, &f, &err), 0);
    assert_int_equal(bj_upsert_commit(u, &err), 0);
    bj_factors_free(h);
    bj_upsert_free(u);
}

/* Derive until nothing is left. */
static int work(const struct fixture *f, unsigned at_once)
{
    struct bj_store *s = NULL;
    struct bj_rules *rules = NULL;
    struct bj_derive *d = NULL;
    int r =
        bj_store_open(&(struct bj_store_options){.path = f->path}, &s, &err);
    if (r == 0)
        r = bj_rules_text("", BJ_SLICE(""), &rules, &err);
    const struct bj_derive_options opt = {.rules = rules};
    if (r == 0)
        r = bj_derive_new(s, &opt, &d, &err);
    while (r == 0 && (r = bj_derive_step(d, T0 + 86400, at_once, &err)) > 0)
        r = 0;
    bj_derive_free(d);
    bj_rules_free(rules);
    bj_store_close(s);
    return r;
}

/* Derive in a child process, which is killed after some microseconds; returns
 * true if it had finished. */
static bool child(const struct fixture *f, unsigned usec)
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(work(f, 3) == 0 ? 0 : 1);
    await_random(usec);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFEXITED(status);
}

static const char *const tables[] = {
    "SELECT * FROM job_use ORDER BY 1",
    "SELECT * FROM job_grams ORDER BY 1, 2",
    "SELECT job, name, value FROM job_finding_v ORDER BY 1, 2",
    "SELECT e.*, a.account FROM rollup_energy AS e JOIN assoc AS a ON a.id"
    " = e.assoc ORDER BY 1",
    "SELECT * FROM rollup_grams ORDER BY 1, 2",
    "SELECT count(*), (SELECT job_upto FROM derive_state) FROM derive_todo",
};

static void test_killed(void **state)
{
    (void)state;
    struct fixture a, b;
    unsigned killed = 0;
    fixture_open(&a);
    fixture_open(&b);
    struct bj_store *s = store_open(&a), *t;
    fill(s);
    bj_store_close(s);
    s = store_open(&b);
    fill(s);
    bj_store_close(s);
    assert_int_equal(work(&a, 5000), 0);
    /* Each child gets more time, so that one finishes on any machine. */
    for (unsigned usec = 500; !child(&b, usec); usec += usec / 8)
        killed++;
    print_message("# killed %u times\n", killed);
    assert_true(killed > 2);
    s = store_open(&a);
    t = store_open(&b);
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        char *want = query(s, tables[i]);
        assert_true(strlen(want) > 2);
        expect(t, tables[i], want);
        free(want);
    }
    assert_int_equal(bj_db_check(bj_store_db(t), NULL), 0);
    bj_store_close(s);
    bj_store_close(t);
    fixture_close(&a);
    fixture_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_killed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

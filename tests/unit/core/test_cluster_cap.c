/* The limit of series (max_series): which keys keep their series, and that the
 * others are summed as "(other)". */
#include "tests/unit/core/test_cluster_parts.h"
#include "tests/unit/lib/fail.h"

/* A simulated job of a queue: its user, state and CPUs. */
struct queued_job {
    const char *user, *state;
    unsigned cpus;
};

static void queue_of(const struct queued_job *v, size_t n, char *text,
                     size_t cap)
{
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(
            text + at, cap - at,
            "%zu" SEP "N/A" SEP "%s" SEP "p" SEP "a" SEP "%s" SEP "q" SEP
            "h" SEP SEP "%d" SEP SEP SEP "1" SEP "cpu=%u" SEP "None\n",
            i + 1, v[i].state, v[i].user, NOW - 60 - (int)i, v[i].cpus);
}

/* Of too many users the largest keep their series; the others are summed as
 * "(other)". */
static void test_cap(void **state)
{
    (void)state;
    enum { USERS = 300 };
    struct queued_job v[USERS];
    char name[USERS][16], *text = malloc(USERS * 100);
    for (unsigned i = 0; i < USERS; i++) {
        snprintf(name[i], sizeof(name[i]), "user%u", i);
        v[i] =
            (struct queued_job){name[i], i % 2 ? "RUNNING" : "PENDING", 1 + i};
    }
    queue_of(v, USERS, text, USERS * 100);
    struct bj_scheduler_conf small = {.max_series = 100};
    struct bj_cluster_work w = {.conf = &small, .by = ALL, .wall_sec = NOW};
    assert_int_equal(read_text(&w, BJ_CLUSTER_QUEUE, text), 0);
    assert_int_equal(w.part->list[BJ_CL_USER_JOBS].n, 102);
    assert_int_equal(w.group[BJ_CL_USER_JOBS].refused, 200);
    /* 1, 3, ... 199 CPUs wait, 2, 4, ... 200 are in use */
    check_jobs(&w, BJ_CL_USER_JOBS, "(other)", "PENDING", 100, 100 * 100, 0);
    check_jobs(&w, BJ_CL_USER_JOBS, "(other)", "RUNNING", 100, 100 * 101, 0);
    check_jobs(&w, BJ_CL_USER_JOBS, "user299", "RUNNING", 1, 300, 0);
    check_jobs(&w, BJ_CL_USER_JOBS, "user200", "PENDING", 1, 201, 0);
    assert_null(find(&w, BJ_CL_USER_JOBS, "user199", NULL, NULL));
    check_jobs(&w, BJ_CL_JOBS, "RUNNING", NULL, 150, 150 * 151, 0);
    /* pending jobs of "(other)" wait for 60, 62, ... 258 seconds */
    const struct bj_jobs_stat *s =
        find(&w, BJ_CL_USER_JOBS, "(other)", "PENDING", NULL);
    assert_int_equal(s->wait_max_sec, 258);
    assert_int_equal(s->wait_sec, 100 * 159);
    s = find(&w, BJ_CL_USER_JOBS, "(other)", "RUNNING", NULL);
    assert_int_equal(s->wait_sec, BJ_ABSENT);
    assert_int_equal(s->wait_max_sec, BJ_ABSENT);
    bj_cluster_work_free(&w);
    free(text);
}

/* A user keeps all series or none. */
static void test_cap_whole(void **state)
{
    (void)state;
    struct queued_job v[24];
    char name[24][16], text[4000];
    for (unsigned i = 0; i < 24; i++) {
        /* user0 has 24 CPUs in three states, the others have 2 in one */
        snprintf(name[i], sizeof(name[i]), "user%u", i < 3 ? 0 : i);
        v[i] = (struct queued_job){name[i],
                                   i == 0   ? "FAILED"
                                   : i == 1 ? "PENDING"
                                            : "RUNNING",
                                   i < 3 ? 8 : 2};
    }
    v[23].cpus = 1;
    queue_of(v, 24, text, sizeof(text));
    struct bj_scheduler_conf small = {.max_series = 16};
    struct bj_cluster_work w = {.conf = &small, .by = ALL, .wall_sec = NOW};
    assert_int_equal(read_text(&w, BJ_CLUSTER_QUEUE, text), 0);
    check_jobs(&w, BJ_CL_USER_JOBS, "user0", "FAILED", 1, 8, 0);
    check_jobs(&w, BJ_CL_USER_JOBS, "user0", "PENDING", 1, 8, 0);
    check_jobs(&w, BJ_CL_USER_JOBS, "user0", "RUNNING", 1, 8, 0);
    check_jobs(&w, BJ_CL_USER_JOBS, "(other)", "RUNNING", 8, 15, 0);
    assert_int_equal(w.part->list[BJ_CL_USER_JOBS].n, 17);
    bj_cluster_work_free(&w);
}

/* A user keeps a series until another user is twice as large. */
static void test_cap_steady(void **state)
{
    (void)state;
    enum { USERS = 18 };
    struct queued_job v[USERS];
    char name[USERS][16], text[4000];
    struct bj_scheduler_conf small = {.max_series = 16};
    struct bj_cluster_work old = {0};
    static const struct {
        unsigned cpus[3]; /* of users 15, 16, 17 */
        unsigned kept;    /* of them, has a series */
    } passes[] = {{{11, 10, 9}, 15},  {{10, 11, 12}, 15}, {{10, 20, 18}, 15},
                  {{10, 20, 21}, 17}, {{40, 30, 21}, 17}, {{40, 43, 21}, 16},
                  {{0, 0, 0}, 16},    {{1, 0, 0}, 15}};
    for (size_t k = 0; k < COUNT(passes); k++) {
        for (unsigned i = 0; i < USERS; i++) {
            snprintf(name[i], sizeof(name[i]), "user%u", i);
            v[i] = (struct queued_job){name[i], "RUNNING",
                                       i < 15 ? 100 : passes[k].cpus[i - 15]};
        }
        queue_of(v, USERS, text, sizeof(text));
        struct bj_cluster_work w = {
            .conf = &small, .by = ALL, .wall_sec = NOW, .previous = old.part};
        assert_int_equal(read_text(&w, BJ_CLUSTER_QUEUE, text), 0);
        for (unsigned i = 15; i < USERS; i++)
            assert_true((find(&w, BJ_CL_USER_JOBS, name[i], NULL, NULL) !=
                         NULL) == (i == passes[k].kept));
        bj_cluster_work_free(&old);
        old = w;
    }
    bj_cluster_work_free(&old);
}

/* With so few keys qsort allocates no memory: it would hide a failure by doing
 * without. */
static int read_capped(void *text)
{
    struct bj_scheduler_conf small = {.max_series = 4};
    struct bj_cluster_work w = {.conf = &small, .by = ALL, .wall_sec = NOW};
    int r = read_text(&w, BJ_CLUSTER_QUEUE, text);
    bj_cluster_work_free(&w);
    return r;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    enum { USERS = 8 };
    struct queued_job v[USERS];
    char name[USERS][16], text[USERS * 100];
    if (!bj_fail_works())
        skip();
    for (unsigned i = 0; i < USERS; i++) {
        snprintf(name[i], sizeof(name[i]), "user%u", i);
        v[i] = (struct queued_job){name[i], "RUNNING", i};
    }
    queue_of(v, USERS, text, sizeof(text));
    assert_true(bj_fail_each(read_capped, text) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cap),
        cmocka_unit_test(test_cap_whole),
        cmocka_unit_test(test_cap_steady),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

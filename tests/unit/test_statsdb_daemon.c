/* The rounds of the daemon: what it does while there is nothing to do. */
#include "tests/unit/test_statsdb.h"

#include "statsdb/daemon.h"

#include <sys/eventfd.h>
#include <time.h>

#define SEC(n) ((uint64_t)(n)*1000000)

/* A cluster whose sacct knows of no jobs, with so many slices of history. */
static struct bj_cluster_conf cluster(char *name, unsigned slices,
                                      uint64_t interval_usec)
{
    static char command[] = "/bin/true";
    return (struct bj_cluster_conf){.name = name,
                                    .sacct = command,
                                    .interval_usec = interval_usec,
                                    .slice_usec = SEC(3600),
                                    .pause_usec = SEC(2),
                                    .deadline_usec = SEC(60),
                                    .history_usec = SEC(3600 * slices),
                                    .max_steps = 10};
}

/* A cluster that is through with --once, and would be due again by now, does
 * not keep the processor busy while another one rests. */
static void test_rest(void **state)
{
    static char fast[] = "fast", slow[] = "slow";
    struct bj_cluster_conf clusters[] = {cluster(fast, 1, SEC(1)),
                                         cluster(slow, 3, SEC(300))};
    (void)state;
    struct fixture f;
    struct bj_err err = {0};
    fixture_open(&f);
    struct bj_statsdb_conf conf = {.path = f.path,
                                   .batch_lines = 100,
                                   .once = true,
                                   .cluster = clusters,
                                   .clusters = 2};
    struct bj_daemon_stop stop = {.wake_fd = eventfd(0, EFD_CLOEXEC)};
    struct bj_store *s = store_open(&f);
    clock_t before = clock();
    time_t began = time(NULL);
    if (bj_daemon_run(&conf, s, 0, &stop, &err) < 0)
        fail_msg("%s", err.msg);
    assert_true(time(NULL) - began >= 3); /* two rests */
    assert_true(clock() - before < CLOCKS_PER_SEC);
    assert_int_equal(number(s, "SELECT count(*) FROM covered"), 2);
    close(stop.wake_fd);
    bj_store_close(s);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

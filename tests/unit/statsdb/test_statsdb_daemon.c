/* The daemon while no source is due, and its check of cluster names. */
#include "tests/unit/statsdb/test_statsdb.h"

#include "statsdb/daemon/daemon.h"
#include "tests/unit/lib/await.h"
#include "tests/unit/lib/testclock.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>

#define SEC(n) ((uint64_t)(n)*1000000)

/* A cluster whose sacct reports no jobs, with this many slices of history. */
static struct bj_cluster_conf cluster(char *name, unsigned slices,
                                      uint64_t interval_usec)
{
    static char command[] = "/bin/true";
    return (struct bj_cluster_conf){.name = name,
                                    .sacct = command,
                                    .interval_usec = interval_usec,
                                    .slice_usec = SEC(3600),
                                    .pause_usec = SEC(2),
                                    .timeout_usec = SEC(60),
                                    .history_usec = SEC(3600 * slices)};
}

/* With --once, a finished cluster does not use the processor while another one
 * pauses. */
static void test_pause(void **state)
{
    static char fast[] = "fast", slow[] = "slow";
    struct bj_cluster_conf clusters[] = {cluster(fast, 1, SEC(1)),
                                         cluster(slow, 3, SEC(300))};
    (void)state;
    struct fixture f;
    struct bj_err err = {0};
    fixture_open(&f);
    struct bj_statsdb_conf conf = {
        .path = f.path, .once = true, .cluster = clusters, .clusters = 2};
    struct bj_daemon_stop stop = {.wake_fd = eventfd(0, EFD_CLOEXEC)};
    struct bj_store *s = store_open(&f);
    clock_t before = clock();
    time_t began = time(NULL);
    if (bj_daemon_run(&conf, s, 0, &stop, &err) < 0)
        fail_msg("%s", err.msg);
    assert_true(time(NULL) - began >= 3); /* two pauses */
    assert_true(clock() - before < CLOCKS_PER_SEC);
    assert_int_equal(number(s, "SELECT count(*) FROM covered"), 2);
    close(stop.wake_fd);
    bj_store_close(s);
    fixture_close(&f);
}

/* With --once, an error of the store ends the program. */
static void test_store_error(void **state)
{
    static char name[] = "fast";
    struct bj_cluster_conf c = cluster(name, 1, SEC(1));
    (void)state;
    struct fixture f;
    struct bj_err err = {0};
    fixture_open(&f);
    struct bj_statsdb_conf conf = {
        .path = f.path, .once = true, .cluster = &c, .clusters = 1};
    struct bj_daemon_stop stop = {.wake_fd = eventfd(0, EFD_CLOEXEC)};
    struct bj_store *s = store_open(&f);
    assert_int_equal(bj_db_exec(bj_store_db(s), "DROP TABLE price", &err), 0);
    assert_int_equal(bj_daemon_run(&conf, s, 0, &stop, &err), -EPROTO);
    assert_non_null(strstr(err.msg, "price"));
    close(stop.wake_fd);
    bj_store_close(s);
    fixture_close(&f);
}

/* A sacct that reports one job of a cluster beta. */
static const char sacct[] =
    "#!/bin/sh\n"
    "for a; do case $a in --delimiter=*) d=${a#*=};; esac; done\n"
    "case $1 in --helpformat) echo JobIDRaw Cluster State Submit JobID; exit;;"
    " esac\n"
    "echo \"JobIDRaw${d}Cluster${d}State${d}Submit${d}JobID\"\n"
    "echo \"1${d}beta${d}PENDING${d}1700000000${d}1\"\n";

/* Import a cluster of that name once, with a sacct whose jobs are of beta;
 * returns the log of the daemon in logged. */
static void import_once(char *name, struct bj_strv pue, char *logged,
                        size_t cap)
{
    struct fixture f;
    struct bj_err err = {0};
    char command[128], log[128];
    fixture_open(&f);
    snprintf(command, sizeof(command), "%s/sacct", f.dir);
    snprintf(log, sizeof(log), "%s/log", f.dir);
    FILE *file = fopen(command, "w");
    assert_non_null(file);
    fputs(sacct, file);
    fclose(file);
    assert_int_equal(chmod(command, 0700), 0);
    struct bj_cluster_conf c = cluster(name, 1, SEC(300));
    c.sacct = command;
    c.pue = pue;
    struct bj_statsdb_conf conf = {
        .path = f.path, .once = true, .cluster = &c, .clusters = 1};
    struct bj_daemon_stop stop = {.wake_fd = eventfd(0, EFD_CLOEXEC)};
    struct bj_store *s = store_open(&f);
    int was = dup(2), to = open(log, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(was >= 0 && to >= 0);
    dup2(to, 2);
    int r = bj_daemon_run(&conf, s, 0, &stop, &err);
    dup2(was, 2);
    ssize_t n = pread(to, logged, cap - 1, 0);
    logged[n > 0 ? n : 0] = '\0';
    if (r < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(number(s, "SELECT count(*) FROM job"), 1);
    close(was);
    close(to);
    close(stop.wake_fd);
    bj_store_close(s);
    unlink(command);
    unlink(log);
    fixture_close(&f);
}

static void test_name(void **state)
{
    static char alpha[] = "alpha", beta[] = "beta", factor[] = "1.5";
    char *list[] = {factor}, logged[4096];
    const struct bj_strv none = {NULL, 0}, pue = {list, 1};
    (void)state;
    import_once(alpha, pue, logged, sizeof(logged));
    assert_non_null(
        strstr(logged, "alpha: the scheduler's name of the cluster is 'beta'"));
    import_once(alpha, none, logged, sizeof(logged)); /* needs no name */
    assert_null(strstr(logged, "scheduler's name"));
    import_once(beta, pue, logged, sizeof(logged));
    assert_null(strstr(logged, "scheduler's name"));
}

/* --- a clock that jumps ----------------------------------------------------
 */

enum { NOON = 1700049600, DAY = 86400 }; /* 2023-11-15 12:00 UTC */

/* A sacct that reports three jobs, the third one when DIR/late is there. */
static const char jobs_sacct[] =
    "#!/bin/sh\n"
    "dir=${0%/*}\n"
    "for a; do case $a in --delimiter=*) d=${a#*=};; esac; done\n"
    "f='JobIDRaw Cluster State Submit JobID Start End ElapsedRaw AllocCPUS'\n"
    "case $1 in --helpformat) echo $f; exit;; esac\n"
    "put() { p=; for w; do printf %s \"$p$w\"; p=$d; done; echo; }\n"
    "put $f\n"
    "job() { put $1 here COMPLETED $(($2-7200)) $1 $(($2-3600)) $2 3600 4; }\n"
    "job 1 $((1700049600-9*86400))\n"
    "job 2 $((1700049600-1800))\n"
    "test ! -e $dir/late || job 3 $((1700049600+7200))\n";

/* Static, and ended by end_jump: a check that fails leaves test_jump while the
 * daemon runs. */
static struct jump {
    struct bj_statsdb_conf conf;
    struct bj_cluster_conf cluster;
    struct bj_store *store;
    struct bj_daemon_stop stop;
    struct fixture f;
    char command[128], late[128];
    pthread_t thread;
    bool running;
    int rc;
} jump;

static void *run_daemon(void *arg)
{
    struct jump *j = arg;
    struct bj_err err = {0};
    j->rc = bj_daemon_run(&j->conf, j->store, 0, &j->stop, &err);
    return NULL;
}

/* The number that another connection reads. */
static int64_t read_number(const struct jump *j, const char *sql)
{
    struct bj_err err = {0};
    struct bj_store *s = NULL;
    if (bj_store_open(
            &(struct bj_store_options){.path = j->f.path, .read_only = true},
            &s, &err) < 0)
        fail_msg("%s", err.msg);
    int64_t n = number(s, sql);
    bj_store_close(s);
    return n;
}

/* After some checks, the daemon's pause after a failure passes. */
static void pass_pause(unsigned *checks, int64_t wall_sec)
{
    enum { CHECKS = 300, PAUSE_SEC = 300 };
    if (++*checks % CHECKS != 0)
        return;
    testclock_advance(SEC(PAUSE_SEC));
    testclock_set_wall(SEC(wall_sec));
}

/* Time passes, the wall clock then has that time, and an import ends there.
 * The clock may have jumped over the deadline of a command that was still
 * running: then the daemon's pause before it tries again passes, too. */
static void next_round(const struct jump *j, int64_t passed_sec,
                       int64_t wall_sec)
{
    unsigned checks = 0;
    testclock_set_wall(SEC(wall_sec - passed_sec));
    testclock_advance(SEC(passed_sec));
    AWAIT_STEP(pass_pause(&checks, wall_sec),
               read_number(j, "SELECT coalesce(max(to_sec), 0) FROM covered") ==
                   wall_sec);
}

/* The wall clock jumps forwards by a month and back: no job is removed before
 * its time, jobs that end later are imported, and sums are of the jobs' days.
 */
static void test_jump(void **state)
{
    static char here[] = "here";
    struct jump *j = &jump;
    (void)state;
    j->rc = 1;
    fixture_open(&j->f);
    snprintf(j->command, sizeof(j->command), "%.100s/sacct", j->f.dir);
    snprintf(j->late, sizeof(j->late), "%.100s/late", j->f.dir);
    FILE *file = fopen(j->command, "w");
    assert_non_null(file);
    fputs(jobs_sacct, file);
    fclose(file);
    assert_int_equal(chmod(j->command, 0700), 0);
    j->cluster = cluster(here, 1, SEC(300));
    j->cluster.sacct = j->command;
    j->cluster.slice_usec = SEC(100 * DAY);
    j->cluster.overlap_usec = SEC(3600);
    j->conf = (struct bj_statsdb_conf){.path = j->f.path,
                                       .retention_usec = SEC(10 * DAY),
                                       .cluster = &j->cluster,
                                       .clusters = 1};
    /* Always readable: the daemon does not sleep by the real clock. */
    j->stop.wake_fd = eventfd(1, EFD_CLOEXEC);
    j->store = store_open(&j->f);
    testclock_set(SEC(100 * DAY), SEC(NOON));
    assert_int_equal(pthread_create(&j->thread, NULL, run_daemon, j), 0);
    j->running = true;
    AWAIT(read_number(j, "SELECT coalesce(max(to_sec), 0) FROM covered") ==
          NOON);
    assert_int_equal(read_number(j, "SELECT count(*) FROM job"), 2);
    next_round(j, 3700, NOON + 30 * DAY);
    file = fopen(j->late, "w");
    assert_non_null(file);
    fclose(file);
    next_round(j, 3700, NOON + 7400);
    assert_int_equal(read_number(j, "SELECT count(*) FROM job"), 3);
    next_round(j, 2 * DAY, NOON + 7400 + 2 * DAY);
    AWAIT(read_number(j, "SELECT count(*) FROM job") == 2);
    AWAIT(read_number(j, "SELECT total(jobs_ended) FROM rollup_day WHERE"
                         " id >> 37 = 2023 * 12 + 10 AND id & 31 = 15") == 2);
    assert_int_equal(read_number(j, "SELECT sum(jobs_ended) FROM rollup_day"),
                     3);
}

static int end_jump(void **state)
{
    struct jump *j = &jump;
    (void)state;
    atomic_store(&j->stop.now, true);
    const bool ended =
        j->running && pthread_join(j->thread, NULL) == 0 && j->rc == 0;
    testclock_run();
    close(j->stop.wake_fd);
    bj_store_close(j->store);
    unlink(j->command);
    unlink(j->late);
    fixture_close(&j->f);
    return ended ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pause), cmocka_unit_test(test_store_error),
        cmocka_unit_test(test_name),
        cmocka_unit_test_teardown(test_jump, end_jump)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

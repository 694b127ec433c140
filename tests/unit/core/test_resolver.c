/* The resolver: faults, threads, and a user database that does not respond. */
#include "tests/unit/lib/await.h"
#include "tests/unit/lib/fakejob.h"
#include "tests/unit/lib/testclock.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SEC ((uint64_t)1000000)

/* Each fault is reported once, on one line. */
static void test_faults(void **state)
{
    (void)state;
    struct bj_resolver *r = fake_resolver(&fake_users);
    fake_append("jobs/7", "jobid=a\x1b[31m\taccount=x\n");
    fake_append("jobs/8", "nonsense\n");
    struct bj_err err = {0};
    struct ident_query q7 = {.system = "slurm", .jobid = "7"};
    struct ident_query q8 = {.system = "slurm", .jobid = "8"};
    assert_false(bj_resolver_fault(r, &err));
    bj_ident_unref(fake_wait(r, fake_request(r, q7)));
    assert_true(bj_resolver_fault(r, &err));
    assert_int_equal(err.code, -EINVAL);
    assert_non_null(strstr(err.msg, "/jobs/7: "));
    assert_null(strpbrk(err.msg, "\x1b\t\n"));
    assert_false(bj_resolver_fault(r, &err));
    bj_ident_unref(fake_wait(r, fake_request(r, q8)));
    assert_true(bj_resolver_fault(r, &err));
    assert_non_null(strstr(err.msg, "/jobs/8: "));
    bj_ident_unref(fake_wait(r, fake_request(r, q7)));
    bj_ident_unref(fake_wait(r, fake_request(r, q8)));
    assert_false(bj_resolver_fault(r, &err));
    struct bj_resolver_stat st;
    bj_resolver_stat(r, &st);
    assert_int_equal(st.faults, 4);
    bj_resolver_free(r);
}

/* A user database that does not respond until it is released. */
struct slow {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int inside;
    bool open;
};

static int slow_name(void *ctx, uid_t uid, char *buf, size_t cap)
{
    struct slow *s = ctx;
    pthread_mutex_lock(&s->lock);
    s->inside++;
    pthread_cond_broadcast(&s->changed);
    while (!s->open)
        pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
    return fake_user_name(NULL, uid, buf, cap);
}

/* Wait until that many calls have begun. */
static void slow_reached(struct slow *s, int calls)
{
    pthread_mutex_lock(&s->lock);
    while (s->inside < calls)
        pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

static void slow_release(struct slow *s)
{
    pthread_mutex_lock(&s->lock);
    s->open = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

#define SLOW                                                                   \
    {                                                                          \
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER \
    }

static void test_slow_users(void **state)
{
    (void)state;
    struct slow slow = SLOW;
    const struct bj_userdb db = {&slow, slow_name};
    struct bj_resolver *r = fake_resolver(&db);
    struct ident_query q = {.system = "slurm", .jobid = "7", .uid = "5"};
    struct bj_ident_request *a = fake_request(r, q), *b = fake_request(r, q);
    slow_reached(&slow, 1);
    uint64_t begun = bj_clock_boot_usec();
    bj_resolver_wait(r, begun + SEC / 20);
    uint64_t took = bj_clock_boot_usec() - begun;
    assert_true(took >= SEC / 20);
    assert_null(bj_ident_request_result(a));
    struct bj_resolver_stat st;
    bj_resolver_stat(r, &st);
    assert_int_equal(st.waiting, 2);
    bj_ident_request_drop(b); /* while it is queued */
    slow_release(&slow);
    struct bj_ident *id = fake_wait(r, a);
    fake_check_field(id, BJ_ID_USER, "u5");
    bj_ident_unref(id);
    bj_resolver_stat(r, &st);
    assert_int_equal(st.answered, 1);
    bj_resolver_wait(r, 0); /* a deadline in the past: returns at once */
    bj_resolver_free(r);
    assert_int_equal(atomic_load(&fake_threads.running), 0);
}

/* A stuck thread is abandoned, and keeps the memory that it needs. */
static void test_free_while_stuck(void **state)
{
    (void)state;
    struct slow slow = SLOW;
    const struct bj_userdb db = {&slow, slow_name};
    struct bj_resolver *r = fake_resolver(&db);
    struct ident_query q = {.system = "slurm", .jobid = "7", .uid = "5"};
    struct bj_ident_request *a = fake_request(r, q), *b = fake_request(r, q);
    slow_reached(&slow, 1);
    uint64_t begun = bj_clock_boot_usec();
    bj_resolver_free(r);
    uint64_t took = bj_clock_boot_usec() - begun;
    assert_true(took >= 2 * SEC && took < 60 * SEC);
    fake_conf = (struct bj_conf){0}; /* the resolver has a copy */
    assert_null(bj_ident_request_result(a));
    assert_int_equal(atomic_load(&fake_threads.running), 1);
    slow_release(&slow);
    fake_threads_wait();
    struct bj_ident *id = bj_ident_request_result(a); /* late, but not lost */
    assert_non_null(id);
    bj_ident_unref(id);
    assert_null(bj_ident_request_result(b));
    bj_ident_request_drop(a);
    bj_ident_request_drop(b);
}

enum { STUCK_USEC = 300000, JOBS = 67, LEFT_MAX = 64 };

static struct bj_resolver *
resolver_with_short_deadline(const char *procfs, const struct bj_userdb *db)
{
    const struct bj_host host = {.ctx = &fake_threads,
                                 .thread = fake_thread_start};
    char path[PATH_CAP];
    struct bj_conf conf = {.label_user = true, .label_account = true};
    conf.procfs = (char *)fake_path(procfs, path);
    struct bj_resolver *r = NULL;
    struct bj_err err = {0};
    assert_int_equal(
        bj_resolver_new_with(&conf, &host, db, STUCK_USEC, &r, &err), 0);
    return r;
}

static struct bj_ident_request *request_job(struct bj_resolver *r, unsigned job)
{
    char id[16], uid[16], dir[32];
    snprintf(id, sizeof(id), "%u", job);
    snprintf(uid, sizeof(uid), "%u", 5 + job);
    snprintf(dir, sizeof(dir), "cg/job_%u", job);
    struct ident_query q = {"slurm", id, NULL, uid, dir, NULL};
    return fake_request(r, q);
}

static struct bj_ident *await_result(struct bj_ident_request *a)
{
    struct bj_ident *id;
    AWAIT((id = bj_ident_request_result(a)) != NULL);
    return id;
}

/* Let the deadline of the read in progress pass; returns the faults so far. */
static unsigned pass_deadline(struct bj_resolver *r)
{
    struct bj_resolver_stat st;
    testclock_advance(STUCK_USEC);
    bj_resolver_stat(r, &st);
    return (unsigned)st.faults;
}

static size_t job_environ(unsigned job, char buf[64])
{
    return (size_t)snprintf(
        buf, 64, "SLURM_JOB_ID=%u%cSLURM_JOB_ACCOUNT=physics", job, 0);
}

/* Make a process of a job. If it is stuck, a read of its environment blocks
 * until there is a writer. */
static void job_process(unsigned job, bool stuck)
{
    char name[32], text[96], path[PATH_CAP];
    snprintf(name, sizeof(name), "cg/job_%u", job);
    fake_join(name, (pid_t)(1000 + job));
    snprintf(name, sizeof(name), "proc/%u", 1000 + job);
    fake_dir(name);
    snprintf(name, sizeof(name), "proc/%u/status", 1000 + job);
    snprintf(text, sizeof(text), "Name:\tsleep\nUid:\t%u\t0\t0\t0\n", 5 + job);
    fake_append(name, text);
    snprintf(name, sizeof(name), "proc/%u/stat", 1000 + job);
    fake_append(name,
                "1 (sleep) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0\n");
    snprintf(name, sizeof(name), "proc/%u/environ", 1000 + job);
    if (stuck) {
        assert_int_equal(mkfifo(fake_path(name, path), 0600), 0);
        return;
    }
    FILE *f = fopen(fake_path(name, path), "w");
    assert_non_null(f);
    fwrite(text, 1, job_environ(job, text), f);
    fclose(f);
}

/* Wait until the resolver reads the environment of a stuck job; returns the
 * other end of the pipe. */
static int await_read(unsigned job)
{
    char name[32], path[PATH_CAP];
    int fd;
    snprintf(name, sizeof(name), "proc/%u/environ", 1000 + job);
    AWAIT((fd = open(fake_path(name, path), O_WRONLY | O_NONBLOCK)) >= 0);
    return fd;
}

/* End the read of a stuck job. */
static void release_job(unsigned job, int fd)
{
    char text[64];
    size_t n = job_environ(job, text);
    assert_int_equal(write(fd, text, n), n);
    close(fd);
}

/* Reads of jobs 1 and 3 block. The other jobs get their names, and these two
 * when they are released; by then the request for job 3 was dropped. */
static void test_stuck_process(void **state)
{
    (void)state;
    testclock_stop();
    fake_dir("proc");
    struct bj_resolver *r = resolver_with_short_deadline("proc", &fake_users);
    struct bj_ident_request *a[JOBS];
    for (unsigned i = 0; i < JOBS; i++) {
        job_process(i, i == 1 || i == 3);
        a[i] = request_job(r, i);
    }
    struct bj_err err;
    int fd[JOBS];
    for (unsigned i = 1; i <= 3; i += 2) {
        char want[16];
        snprintf(want, sizeof(want), "job %u: ", i);
        fd[i] = await_read(i);
        assert_int_equal(pass_deadline(r), (i + 1) / 2);
        assert_true(bj_resolver_fault(r, &err));
        assert_non_null(strstr(err.msg, want));
    }
    struct bj_ident *id;
    for (unsigned i = 0; i < JOBS; i++) {
        if (i == 1 || i == 3)
            continue;
        id = await_result(a[i]);
        fake_check_field(id, BJ_ID_ACCOUNT, "physics");
        bj_ident_unref(id);
        bj_ident_request_drop(a[i]);
    }
    struct bj_resolver_stat st;
    bj_resolver_stat(r, &st);
    assert_int_equal(st.waiting, 0);
    assert_int_equal(st.faults, 2);
    assert_null(bj_ident_request_result(a[1]));
    release_job(1, fd[1]);
    id = await_result(a[1]);
    fake_check_field(id, BJ_ID_ACCOUNT, "physics");
    bj_ident_unref(id);
    bj_ident_request_drop(a[1]);
    bj_ident_request_drop(a[3]);
    testclock_run();
    bj_resolver_free(r);
    release_job(3, fd[3]);
    fake_threads_wait();
}

/* If all reads hang, only so many threads are abandoned, and no request is
 * lost. */
static void test_stuck_users(void **state)
{
    (void)state;
    testclock_stop();
    struct slow slow = SLOW;
    const struct bj_userdb db = {&slow, slow_name};
    struct bj_resolver *r = resolver_with_short_deadline("none", &db);
    struct bj_ident_request *a[JOBS];
    struct bj_resolver_stat st = {0};
    struct bj_err err = {0};
    for (unsigned i = 0; i < JOBS; i++)
        a[i] = request_job(r, i);
    for (int i = 1; i <= LEFT_MAX; i++) {
        slow_reached(&slow, i);
        assert_int_equal(pass_deadline(r), i);
    }
    slow_reached(&slow, LEFT_MAX + 1);
    pass_deadline(r);
    bj_resolver_stat(r, &st);
    assert_int_equal(st.faults, LEFT_MAX);
    assert_int_equal(st.waiting, JOBS - LEFT_MAX);
    assert_int_equal(atomic_load(&fake_threads.running), LEFT_MAX + 1);
    assert_true(bj_resolver_fault(r, &err));
    assert_int_equal(err.code, -ETIMEDOUT);
    slow_release(&slow);
    for (unsigned i = 0; i < JOBS; i++) {
        char want[16];
        snprintf(want, sizeof(want), "u%u", 5 + i);
        struct bj_ident *id = await_result(a[i]);
        fake_check_field(id, BJ_ID_USER, want);
        bj_ident_unref(id);
        bj_ident_request_drop(a[i]);
    }
    testclock_run();
    bj_resolver_free(r);
    fake_threads_wait();
}

/* Requests outlive the resolver; those that it did not process have no
 * result. */
static void test_free_with_queue(void **state)
{
    (void)state;
    struct bj_ident_request *requests[500];
    struct bj_resolver *r = fake_resolver(&fake_users);
    struct ident_query q = {.system = "slurm", .jobid = "7", .uid = "5"};
    for (size_t i = 0; i < COUNT(requests); i++)
        requests[i] = fake_request(r, q);
    bj_resolver_free(r);
    for (size_t i = 0; i < COUNT(requests); i++) {
        bj_ident_unref(bj_ident_request_result(requests[i]));
        bj_ident_request_drop(requests[i]);
    }
    bj_resolver_free(NULL);
    bj_ident_request_drop(NULL);
}

enum { THREADS = 4, ROUNDS = 500 };

static void *request_often(void *arg)
{
    struct bj_resolver *r = arg;
    struct ident_query q = {.system = "slurm", .jobid = "7", .uid = "5"};
    for (int i = 0; i < ROUNDS; i++) {
        struct bj_ident_request *a = fake_request(r, q);
        if (i % 3 == 0)
            bj_resolver_wait(r, bj_clock_boot_usec() + SEC);
        struct bj_ident *id = bj_ident_request_result(a);
        if (id)
            fake_check_field(id, BJ_ID_USER, "u5");
        struct bj_resolver_stat st;
        struct bj_err err;
        bj_resolver_stat(r, &st);
        (void)bj_resolver_fault(r, &err);
        bj_ident_request_drop(a);
        bj_ident_unref(id);
    }
    return NULL;
}

static void test_many_threads(void **state)
{
    (void)state;
    struct bj_resolver *r = fake_resolver(&fake_users);
    fake_append("jobs/7", "damaged\n"); /* so that faults occur as well */
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, request_often, r), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    bj_resolver_wait(r, bj_clock_boot_usec() + 20 * SEC);
    struct bj_resolver_stat st;
    bj_resolver_stat(r, &st);
    assert_int_equal(st.waiting, 0);
    assert_true(st.answered <= THREADS * ROUNDS);
    bj_resolver_free(r);
}

static int failing_name(void *ctx, uid_t uid, char *buf, size_t cap)
{
    (void)uid;
    (void)buf;
    (void)cap;
    return *(int *)ctx;
}

static void test_users_fail(void **state)
{
    (void)state;
    int result = -EIO;
    const struct bj_userdb db = {&result, failing_name};
    fake_join("cg/job_7/b",
              fake_start("/bin/sleep", "sleep", fake_uid, fake_env_7));
    struct ident_query q = {"slurm",       "7",        NULL,
                            fake_uid_text, "cg/job_7", NULL};
    struct bj_resolver *r = fake_resolver(&db);
    struct bj_ident *id = fake_wait(r, fake_request(r, q));
    assert_string_equal(id->labels.p, "jobid=\"7\",account=\"physics\"");
    assert_false(id->complete); /* the name may be found later */
    struct bj_err err;
    assert_true(bj_resolver_fault(r, &err));
    assert_non_null(strstr(err.msg, fake_uid_text));
    bj_ident_unref(id);
    bj_resolver_free(r);
    /* no such user: the name is absent, and that is final */
    result = -ENOENT;
    r = fake_resolver(&db);
    id = fake_wait(r, fake_request(r, q));
    fake_check_field(id, BJ_ID_USER, "");
    fake_check_field(id, BJ_ID_UID, fake_uid_text);
    assert_true(id->complete);
    assert_false(bj_resolver_fault(r, &err));
    bj_ident_unref(id);
    bj_resolver_free(r);
}

static void test_no_thread(void **state)
{
    (void)state;
    struct fake_threads none = {.fail = -EAGAIN};
    const struct bj_host host = {.ctx = &none, .thread = fake_thread_start};
    struct bj_resolver *r = NULL;
    struct bj_err err = {0};
    struct bj_conf empty = {0};
    assert_int_equal(bj_resolver_new(&empty, &host, &r, &err), -EAGAIN);
    assert_null(r);
    assert_non_null(strstr(err.msg, "resolver"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fake_setup, fake_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_faults),           TEST(test_slow_users),
        TEST(test_free_while_stuck), TEST(test_stuck_process),
        TEST(test_stuck_users),      TEST(test_free_with_queue),
        TEST(test_many_threads),     TEST(test_users_fail),
        TEST(test_no_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

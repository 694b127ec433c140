/* Helpers of the process collector's tests: a job that is a directory with
 * simulated cgroup.procs files, and processes to put into it. */
#ifndef BJ_TESTS_UNIT_CORE_TEST_PROCESS_H
#define BJ_TESTS_UNIT_CORE_TEST_PROCESS_H

#include "core/collect/process_impl.h"
#include "tests/unit/lib/await.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND ((uint64_t)1000000)

/* Fields of stat, see proc(5). */
enum { STATE = 3, UTIME = 14, STIME = 15, THREADS = 20, START = 22 };

/* A collector with one job. */
struct rig {
    char dir[32];
    char procfs[64];
    struct bj_conf conf;
    const struct bj_host *host; /* NULL: reads in the thread of the test */
    struct bj_fdpool pool;
    struct bj_proctab *t;
    struct bj_jobproc *p;
    uint64_t now_usec;
    uint64_t cgroup_cpu_usec;
    struct bj_arena arena;
    struct bj_job job; /* as the last pass published it */
    struct bj_err err;
};

/* Skip a test unless it runs as root: only root can read, for example, the I/O
 * of a process that has ended and was not waited for. */
static inline void need_root(const char *test)
{
    if (geteuid() == 0)
        return;
    print_message("[  SKIPPED ] %s: not root\n", test);
    skip();
}

static inline void rig_init(struct rig *r)
{
    *r = (struct rig){.procfs = "/proc",
                      .pool.max = 4096,
                      .now_usec = 1000 * SECOND,
                      .cgroup_cpu_usec = BJ_ABSENT};
    /* In memory if possible: there are many small files. */
    snprintf(r->dir, sizeof(r->dir), "%s/bjproc.XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(r->dir));
    r->conf.procfs = r->procfs;
    r->conf.collect[BJ_COLLECT_PROCESS] = true;
    r->conf.max_processes = 100000;
    r->conf.exe_top = 4;
    r->conf.open_fds = true;
}

static inline void rig_start(struct rig *r, const char *path, bool v2)
{
    assert_int_equal(
        bj_proctab_new(&r->conf, r->host, &r->pool, &r->t, &r->err), 0);
    r->p = bj_jobproc_new(r->t, path, v2);
    assert_non_null(r->p);
}

static inline int rig_rm(const char *path, const struct stat *st, int type,
                         struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline void rig_stop(struct rig *r)
{
    bj_jobproc_free(r->t, r->p);
    bj_proctab_free(r->t);
    bj_arena_free(&r->arena);
    assert_int_equal(r->pool.used, 0);
    nftw(r->dir, rig_rm, 16, FTW_DEPTH | FTW_PHYS);
}

static inline int rig_update(struct rig *r)
{
    const struct bj_procjob job = {r->p, r->cgroup_cpu_usec};
    return bj_proctab_update(r->t, &job, 1, &r->err);
}

/* Run a pass, so many seconds after the last one. */
static inline int rig_pass(struct rig *r, uint64_t seconds)
{
    bj_arena_reset(&r->arena);
    r->job = (struct bj_job){.start_sec = BJ_ABSENT};
    r->now_usec += seconds * SECOND;
    bj_proctab_begin(r->t, r->now_usec, UINT64_MAX);
    int ret = rig_update(r);
    bj_jobproc_publish(r->t, r->p, &r->arena, &r->job);
    return ret;
}

/* Make the directory rel of the job with these processes in its list (0: an
 * empty list; n < 0: the list is not changed). */
static inline void rig_procs(const struct rig *r, const char *rel,
                             const pid_t *pids, int n)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", r->dir, rel);
    mkdir(path, 0755);
    snprintf(path, sizeof(path), "%s/%s/cgroup.procs", r->dir, rel);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < n; i++)
        fprintf(f, "%d\n", (int)pids[i]);
    assert_int_equal(fclose(f), 0);
}

/* Field number n (3 or more) of a stat line, read independently of the code
 * under test. A letter counts as its code; 0: the file does not exist. */
static inline long rig_field_of(const char *path, int n)
{
    char buf[1024];
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    buf[fread(buf, 1, sizeof(buf) - 1, f)] = 0;
    fclose(f);
    char *at = strrchr(buf, ')');
    if (!at)
        return 0; /* the process ended between open and read */
    at++;
    for (int i = 3; i < n; i++)
        at = strchr(at + 1, ' ');
    return n == 3 ? at[1] : strtol(at, NULL, 10);
}

static inline long rig_field(pid_t pid, int n)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    return rig_field_of(path, n);
}

/* Wait until the field has that value. */
static inline void rig_await(pid_t pid, int field, long value)
{
    AWAIT(rig_field(pid, field) == value);
}

/* The number of threads of the process that are in another state. */
static inline int rig_other_threads(pid_t pid, char state)
{
    char path[300];
    int others = 0;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *d = opendir(path);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", (int)pid,
                 e->d_name);
        others += e->d_name[0] != '.' && rig_field_of(path, STATE) != state;
    }
    closedir(d);
    return others;
}

/* Wait until all threads of the process are in that state. */
static inline void rig_await_all(pid_t pid, char state)
{
    AWAIT(rig_other_threads(pid, state) == 0);
}

/* The first line or argument in a file; "" when it cannot be read. */
static inline void first_line(const char *path, char *buf, size_t cap)
{
    FILE *f = fopen(path, "r");
    buf[f ? fread(buf, 1, cap - 1, f) : 0] = '\0';
    buf[strcspn(buf, "\n")] = '\0';
    if (f)
        fclose(f);
}

/* Start a process that runs fn(arg) and then waits to be killed. Returns when
 * all of its threads sleep. */
static inline pid_t rig_spawn(void (*fn)(void *), void *arg)
{
    int ready[2];
    char c = 0;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (fn)
            fn(arg);
        if (write(ready[1], &c, 1) != 1)
            _exit(1);
        close(ready[0]);
        close(ready[1]);
        for (;;)
            pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    close(ready[0]);
    rig_await_all(pid, 'S');
    return pid;
}

static inline void rig_kill(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static inline void *rig_sleep_long(void *arg)
{
    (void)arg;
    for (;;)
        pause();
    return NULL;
}

/* Starts three threads that sleep. */
static inline void rig_three_sleepers(void *arg)
{
    (void)arg;
    for (int i = 0; i < 3; i++) {
        pthread_t t;
        if (pthread_create(&t, NULL, rig_sleep_long, NULL) != 0)
            _exit(1);
    }
}

/* Threads in that state; BJ_ABSENT when it is not published. */
static inline uint64_t rig_state(const struct rig *r, const char *name)
{
    const struct bj_state_use *v = r->job.states.v;
    for (size_t i = 0; i < r->job.states.n; i++)
        if (bj_slice_eq(v[i].sub.key[0], bj_slice_str(name)))
            return v[i].threads;
    return BJ_ABSENT;
}

/* CPU time of an executable; BJ_ABSENT when it is not published. */
static inline uint64_t rig_exe(const struct rig *r, const char *name)
{
    const struct bj_exe_use *v = r->job.exes.v;
    for (size_t i = 0; i < r->job.exes.n; i++)
        if (bj_slice_eq(v[i].sub.key[0], bj_slice_str(name)))
            return v[i].cpu_usec;
    return BJ_ABSENT;
}

static inline int rig_open_fds(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

#endif

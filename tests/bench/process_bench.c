/* process_bench: what the process collector costs a job.
 *
 * process_bench DIR JOBS PASSES [STEP_MS [NAP_MS [v2]]]
 *
 * Makes JOBS job directories below DIR (a cgroup directory, or any other one),
 * each with the steps "extern" (one process) and "batch" (a script and an
 * application of four threads), runs PASSES passes over them and prints the
 * cost of a job.  The collector's clock advances by STEP_MS (15000) from pass
 * to pass.  With NAP_MS the threads run briefly every NAP_MS milliseconds, so
 * that their values change; otherwise they sleep.  Removes the directories. */
#include "core/collect/process.h"
#include "tests/bench/num.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROCS = 3, APP_THREADS = 4, DIRS = 5, PATH_BYTES = 512, WARM = 3 };

static const char *const dirs[DIRS] = {"", "/step_extern",
                                       "/step_extern/task_0", "/step_batch",
                                       "/step_batch/task_0"};

struct job {
    char path[PATH_BYTES];
    pid_t pid[PROCS];
    struct bj_jobproc *proc;
};

static void *nap(void *arg)
{
    const unsigned *ms = arg;
    for (;;) {
        if (*ms == 0)
            pause();
        usleep(*ms * 1000);
        for (volatile int i = 0; i < 1000; i++)
            ;
    }
    return NULL;
}

static pid_t spawn(unsigned threads, unsigned nap_ms)
{
    int ready[2];
    char c = 0;
    if (pipe(ready) < 0)
        exit(1);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (unsigned i = 1; i < threads; i++) {
            pthread_t t;
            if (pthread_create(&t, NULL, nap, &nap_ms) != 0)
                _exit(1);
        }
        if (write(ready[1], &c, 1) != 1)
            _exit(1);
        nap(&nap_ms);
    }
    close(ready[1]);
    if (pid < 0 || read(ready[0], &c, 1) != 1)
        exit(1);
    close(ready[0]);
    return pid;
}

static void put_pid(const struct job *j, const char *dir, pid_t pid)
{
    char path[PATH_BYTES + 64], text[16];
    snprintf(path, sizeof(path), "%s%s/cgroup.procs", j->path, dir);
    int n = snprintf(text, sizeof(text), "%d\n", (int)pid);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0 || (pid && write(fd, text, (size_t)n) != n)) {
        perror(path);
        exit(1);
    }
    close(fd);
}

static void job_make(struct job *j, const char *top, unsigned n,
                     unsigned nap_ms)
{
    char path[PATH_BYTES + 64];
    snprintf(j->path, sizeof(j->path), "%s/job_%u", top, n);
    for (int i = 0; i < DIRS; i++) {
        snprintf(path, sizeof(path), "%s%s", j->path, dirs[i]);
        if (mkdir(path, 0755) < 0) {
            perror(path);
            exit(1);
        }
        put_pid(j, dirs[i], 0);
    }
    for (int i = 0; i < PROCS; i++) {
        j->pid[i] = spawn(i == 2 ? APP_THREADS : 1, nap_ms);
        put_pid(j, i == 0 ? dirs[2] : dirs[4], j->pid[i]);
    }
}

static void job_remove(struct job *j)
{
    char path[PATH_BYTES + 64];
    for (int i = 0; i < PROCS; i++) {
        kill(j->pid[i], SIGKILL);
        waitpid(j->pid[i], NULL, 0);
    }
    for (int i = DIRS - 1; i >= 0; i--) {
        snprintf(path, sizeof(path), "%s%s/cgroup.procs", j->path, dirs[i]);
        unlink(path);
        snprintf(path, sizeof(path), "%s%s", j->path, dirs[i]);
        if (rmdir(path) < 0)
            perror(path);
    }
}

static uint64_t cpu_ns(void)
{
    struct timespec t = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t pass(struct bj_proctab *t, struct job *jobs, unsigned n,
                     uint64_t now_usec, struct bj_arena *arena)
{
    uint64_t threads = 0;
    struct bj_err err = {0};
    bj_arena_reset(arena);
    bj_proctab_begin(t, now_usec, UINT64_MAX);
    struct bj_procjob *v = calloc(n, sizeof(*v));
    for (unsigned i = 0; v && i < n; i++)
        v[i] = (struct bj_procjob){jobs[i].proc, BJ_ABSENT};
    if (v)
        bj_proctab_update(t, v, n, &err);
    free(v);
    for (unsigned i = 0; i < n; i++) {
        struct bj_job job = {.start_sec = BJ_ABSENT};
        bj_jobproc_publish(t, jobs[i].proc, arena, &job);
        threads += job.proc.threads;
    }
    return threads;
}

static int start_thread(void *ctx, pthread_t *ret, void *(*fn)(void *),
                        void *arg, const char *name)
{
    (void)ctx;
    (void)name;
    return -pthread_create(ret, NULL, fn, arg);
}

static void measure(struct job *jobs, unsigned n, uint64_t passes,
                    uint64_t step_usec, unsigned nap_ms, bool v2)
{
    static const struct bj_host host = {.thread = start_thread};
    char procfs[] = "/proc";
    struct bj_conf conf = {.procfs = procfs,
                           .collect[BJ_COLLECT_PROCESS] = true,
                           .max_processes = 100000,
                           .exe_top = 10,
                           .open_fds = true};
    struct bj_fdpool pool = {.max = 60000};
    struct bj_proctab *t;
    struct bj_arena arena = {0};
    struct bj_err err = {0};
    uint64_t now = 1000000000, threads = 0, best = UINT64_MAX;
    if (bj_proctab_new(&conf, &host, &pool, &t, &err) < 0)
        exit(1);
    for (unsigned i = 0; i < n; i++)
        jobs[i].proc = bj_jobproc_new(t, jobs[i].path, v2);
    for (int i = 0; i < WARM; i++)
        pass(t, jobs, n, now += step_usec, &arena);
    uint64_t all = 0;
    for (uint64_t i = 0; i < passes; i++) {
        usleep(3000 * nap_ms);
        uint64_t one = cpu_ns();
        threads = pass(t, jobs, n, now += step_usec, &arena);
        one = cpu_ns() - one;
        all += one;
        best = one < best ? one : best;
    }
    printf("jobs=%u passes=%" PRIu64 " threads=%" PRIu64
           " fds=%u faults=%" PRIu64
           " cpu_us/job=%.2f best_us/job=%.2f ms/pass=%.3f\n",
           n, passes, threads, pool.used, bj_proctab_faults(t),
           (double)all / (double)passes / n / 1e3, (double)best / n / 1e3,
           (double)all / (double)passes / 1e6);
    for (unsigned i = 0; i < n; i++)
        bj_jobproc_free(t, jobs[i].proc);
    bj_proctab_free(t);
    bj_arena_free(&arena);
}

static uint64_t argument(int argc, char **argv, int i, uint64_t preset)
{
    return i < argc ? bench_u64(argv[i]) : preset;
}

int main(int argc, char **argv)
{
    struct rlimit lim;
    if (argc < 4) {
        fprintf(stderr, "usage: process_bench DIR JOBS PASSES [STEP_MS "
                        "[NAP_MS [v2]]]\n");
        return 2;
    }
    if (getrlimit(RLIMIT_NOFILE, &lim) == 0) {
        lim.rlim_cur = lim.rlim_max;
        setrlimit(RLIMIT_NOFILE, &lim);
    }
    char top[PATH_BYTES / 2];
    snprintf(top, sizeof(top), "%s/bjbench.%d", argv[1], (int)getpid());
    unsigned n = (unsigned)bench_u64(argv[2]);
    unsigned nap_ms = (unsigned)argument(argc, argv, 5, 0);
    struct job *jobs = calloc(n, sizeof(*jobs));
    if (!jobs || mkdir(top, 0755) < 0) {
        perror(top);
        return 1;
    }
    for (unsigned i = 0; i < n; i++)
        job_make(&jobs[i], top, i + 1, nap_ms);
    measure(jobs, n, bench_u64(argv[3]), argument(argc, argv, 4, 15000) * 1000,
            nap_ms, argc > 6);
    for (unsigned i = 0; i < n; i++)
        job_remove(&jobs[i]);
    rmdir(top);
    free(jobs);
    return 0;
}

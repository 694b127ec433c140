/* sleepers: the processes of JOBS simulated Slurm jobs.
 *
 * sleepers JOBS STEPS THREADS USERS WAKE
 *
 * A job has the step "extern" with one process of root, the step "batch" with a
 * script and an application of THREADS threads, and STEPS-1 numbered steps with
 * one application each.  If sleepers runs as root, all processes except the
 * extern one get the uid of the job's user.  They have SLURM_JOB_* variables
 * and sleep; single-threaded ones wake up every WAKE milliseconds (0: never),
 * so that the CPU time of their job rises.
 *
 * Prints a line "job uid step pid tid,tid,..." for each process and then
 * "ready".  When standard input ends, it ends with all its processes. */
#include "tests/bench/num.h"

#include <dirent.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { FIRST_JOB = 1000001, FIRST_UID = 60001, READY_FD = 3 };

struct job {
    unsigned id, uid, wake_msec;
};

static void *nap(void *arg)
{
    (void)arg;
    for (;;)
        pause();
    return NULL;
}

/* The program that a job runs: sleeping threads. */
static int run_application(unsigned threads, unsigned wake_msec)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 64 * 1024);
    for (unsigned i = 1; i < threads; i++) {
        pthread_t t;
        if (pthread_create(&t, &attr, nap, NULL) != 0)
            return 1;
    }
    /* The parent lists the threads when all have started. */
    if (write(READY_FD, "x", 1) != 1)
        return 1;
    close(READY_FD);
    while (wake_msec > 0)
        usleep(wake_msec * 1000);
    nap(NULL);
    return 0;
}

static int become(unsigned uid)
{
    if (geteuid() != 0 || uid == 0)
        return 0;
    return setgroups(0, NULL) || setgid(uid) || setuid(uid);
}

/* Split lines of text in place into a NULL-terminated vector. */
static void split(char *text, char **v, size_t max)
{
    size_t n = 0;
    while (n + 1 < max && *text) {
        v[n++] = text;
        text += strcspn(text, "\n");
        if (*text)
            *text++ = '\0';
    }
    v[n] = NULL;
}

static void exec_application(const struct job *j, const char *step,
                             unsigned threads)
{
    char vars[1024], args[128], *env[16], *argv[8];
    snprintf(vars, sizeof(vars),
             "SLURM_JOB_ID=%u\nSLURM_JOBID=%u\nSLURM_JOB_NAME=run_%u\n"
             "SLURM_JOB_UID=%u\nSLURM_JOB_USER=u%u\nSLURM_JOB_ACCOUNT=lab%u\n"
             "SLURM_JOB_PARTITION=bench\nSLURM_STEP_ID=%s\nHOME=/home/u%u\n"
             "PATH=/usr/local/bin:/usr/bin:/bin",
             j->id, j->id, j->id, j->uid, j->uid, j->uid % 40, step, j->uid);
    snprintf(args, sizeof(args), "./app.x\n--application\n%u\n%u", threads,
             threads == 1 ? j->wake_msec : 0);
    split(vars, env, sizeof(env) / sizeof(env[0]));
    split(args, argv, sizeof(argv) / sizeof(argv[0]));
    execve("/proc/self/exe", argv, env);
}

static void print_threads(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *d = opendir(path);
    const char *sep = " ";
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        printf("%s%s", sep, e->d_name);
        sep = ",";
    }
    if (d)
        closedir(d);
    putchar('\n');
}

/* Start one process of a job and print its line; 0 or -1. */
static int spawn(const struct job *j, unsigned uid, const char *step,
                 unsigned threads)
{
    int ready[2];
    char c;
    if (pipe(ready) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        if (ready[1] != READY_FD) {
            dup2(ready[1], READY_FD);
            close(ready[1]);
        }
        if (ready[0] != READY_FD)
            close(ready[0]);
        /* A change of uid clears the death signal, so the uid comes first. */
        if (become(uid) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
            exec_application(j, step, threads);
        _exit(127);
    }
    close(ready[1]);
    ssize_t n = pid < 0 ? -1 : read(ready[0], &c, 1);
    close(ready[0]);
    if (n != 1)
        return -1;
    printf("%u %u %s %d", j->id, j->uid, step, (int)pid);
    print_threads(pid);
    return 0;
}

static int start_job(const struct job *j, unsigned steps, unsigned threads)
{
    char step[16];
    int r = spawn(j, 0, "extern", 1) || spawn(j, j->uid, "batch", 1) ||
            spawn(j, j->uid, "batch", threads);
    for (unsigned s = 0; r == 0 && s + 1 < steps; s++) {
        snprintf(step, sizeof(step), "%u", s);
        r = spawn(j, j->uid, step, threads);
    }
    return r;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--application") == 0)
        return run_application((unsigned)bench_u64(argv[2]),
                               (unsigned)bench_u64(argv[3]));
    if (argc != 6) {
        fprintf(stderr, "usage: sleepers JOBS STEPS THREADS USERS WAKE\n");
        return 2;
    }
    unsigned n[5];
    for (int i = 0; i < 5; i++)
        n[i] = (unsigned)bench_u64(argv[i + 1]);
    for (unsigned i = 0; i < n[0]; i++) {
        struct job j = {FIRST_JOB + i, FIRST_UID + i % (n[3] ? n[3] : 1), n[4]};
        if (start_job(&j, n[1], n[2]) != 0) {
            fprintf(stderr, "sleepers: job %u did not start\n", j.id);
            return 1;
        }
    }
    printf("ready\n");
    fflush(stdout);
    char c[64];
    while (read(STDIN_FILENO, c, sizeof(c)) > 0)
        ;
    return 0;
}

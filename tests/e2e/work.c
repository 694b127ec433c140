/* work: a program with a known load, to run inside a job.
 *
 *   work [-t seconds] [-m MiB] [-w MiB] [-p processes] [-n threads]
 *        [-i idle%] [-d dir] [-x code] [-D]
 *   work -c seconds [-t seconds] [-m MiB] [-b MiB] [-p processes] [-d dir]
 *        [-r file] [-x code]
 *   work -s sleepers [-t seconds]
 *
 * Every process allocates and touches -m MiB, spins on each of its threads
 * (asleep for idle% of the time; 100: all of it), and writes and rereads a file
 * of -w MiB in -d.  All end after -t seconds, the first one with status -x.  -D
 * leaves one more process behind in its own session, as a careless job would.
 * -c makes an exact load: each process computes until it has used so many
 * seconds of CPU time, and writes -b MiB to a file and reads them without the
 * page cache; then it waits until -t seconds have passed (0 unless given).  The
 * first one appends to -r the CPU time in microseconds, as the kernel counts it
 * for all processes: user, system.
 * -s starts that many small processes that only sleep, prints their number, and
 * ends them when it ends. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 64, CHUNK = 1 << 20 };

struct load {
    double seconds, idle, cpu; /* cpu < 0: no exact load */
    long mib, file_mib, direct_mib, processes, threads, code, sleepers;
    int leave_one;
    const char *dir, *report;
};

struct thread {
    const struct load *load;
    double start;
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void rest(double seconds)
{
    struct timespec t = {(time_t)seconds, 0};

    t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
    while (nanosleep(&t, &t) != 0 && errno == EINTR)
        ;
}

static void *spin(void *arg)
{
    const struct thread *t = arg;
    const struct load *l = t->load;
    volatile unsigned long n = 0;

    while (now() - t->start < l->seconds) {
        double a = now();

        while (now() - a < 0.01 * (1 - l->idle))
            n = n + 1;
        if (l->idle > 0)
            rest(0.01 * l->idle);
    }
    return NULL;
}

static void run_threads(const struct load *l, double start)
{
    struct thread t = {l, start};
    pthread_t id[MAX_THREADS];
    long n = 1;

    while (n < l->threads && n < MAX_THREADS &&
           pthread_create(&id[n], NULL, spin, &t) == 0)
        n++;
    spin(&t);
    while (--n > 0)
        pthread_join(id[n], NULL);
}

/* Allocate and touch memory that is never freed. */
static int take_memory(long mib)
{
    for (long i = 0; i < mib; i++) {
        char *p = malloc(CHUNK);

        if (p == NULL)
            return -1;
        memset(p, (int)(i % 255) + 1, CHUNK);
        /* Keep the compiler from removing the unread memory. */
        __asm__ volatile("" : : "r"(p) : "memory");
    }
    return 0;
}

static int use_file(const char *dir, long mib)
{
    static char buf[CHUNK];
    char path[4096];
    int fd;

    snprintf(path, sizeof(path), "%s/work.%ld.dat", dir, (long)getpid());
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    unlink(path);
    for (long i = 0; i < mib; i++)
        if (write(fd, buf, sizeof(buf)) != (ssize_t)sizeof(buf))
            return -1;
    fsync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    if (lseek(fd, 0, SEEK_SET) != 0)
        return -1;
    while (read(fd, buf, sizeof(buf)) > 0)
        ;
    close(fd);
    return 0;
}

/* Write a file without the page cache, and read it. */
static int use_direct(const char *dir, long mib)
{
    char path[4096], *buf;
    int fd;

    snprintf(path, sizeof(path), "%s/direct.%ld.dat", dir, (long)getpid());
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_DIRECT | O_CLOEXEC, 0600);
    if (fd < 0 || (buf = aligned_alloc(4096, CHUNK)) == NULL)
        return -1;
    unlink(path);
    memset(buf, 1, CHUNK);
    for (long i = 0; i < mib; i++)
        if (pwrite(fd, buf, CHUNK, i * CHUNK) != CHUNK)
            return -1;
    for (long i = 0; i < mib; i++)
        if (pread(fd, buf, CHUNK, i * CHUNK) != CHUNK)
            return -1;
    free(buf);
    close(fd);
    return 0;
}

/* Compute until this process has used so many seconds of CPU time. */
static void burn(double seconds)
{
    struct timespec t = {0, 0};

    while ((double)t.tv_sec + (double)t.tv_nsec / 1e9 < seconds)
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
}

static int report(const char *path)
{
    struct rusage own, children;
    FILE *f = fopen(path, "a");

    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &children);
    return f != NULL &&
                   fprintf(f, "%ld %ld\n",
                           1000000 * (own.ru_utime.tv_sec +
                                      children.ru_utime.tv_sec) +
                               own.ru_utime.tv_usec + children.ru_utime.tv_usec,
                           1000000 * (own.ru_stime.tv_sec +
                                      children.ru_stime.tv_sec) +
                               own.ru_stime.tv_usec +
                               children.ru_stime.tv_usec) > 0 &&
                   fclose(f) == 0
               ? 0
               : -1;
}

static void leave_one_behind(void)
{
    if (fork() != 0)
        return;
    setsid();
    if (fork() != 0)
        _exit(0);
    execlp("sleep", "left-behind", "600", (char *)NULL);
    _exit(127);
}

static int sleepers(const struct load *l)
{
    pid_t parent = getpid();
    long n;

    for (n = 0; n < l->sleepers; n++) {
        pid_t pid = fork();

        if (pid < 0)
            break;
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            while (getppid() == parent)
                pause();
            _exit(0);
        }
    }
    printf("%ld\n", n);
    fflush(stdout);
    rest(l->seconds);
    signal(SIGTERM, SIG_IGN);
    return n == l->sleepers ? 0 : 5;
}

static int work(const struct load *l)
{
    double start = now();
    int code = (int)l->code, first = 1;

    if (l->leave_one)
        leave_one_behind();
    for (long i = 1; i < l->processes; i++)
        if (fork() == 0) {
            code = first = 0;
            break;
        }
    if (take_memory(l->mib) != 0)
        return 3;
    if (l->file_mib > 0 && use_file(l->dir, l->file_mib) != 0) {
        perror(l->dir);
        return 4;
    }
    if (l->direct_mib > 0 && use_direct(l->dir, l->direct_mib) != 0) {
        perror(l->dir);
        return 4;
    }
    if (l->cpu < 0) {
        run_threads(l, start);
    } else {
        burn(l->cpu);
        if (now() - start < l->seconds)
            rest(l->seconds - (now() - start));
    }
    while (wait(NULL) > 0)
        ;
    if (first && l->report != NULL && report(l->report) != 0)
        return 5;
    return code;
}

int main(int argc, char **argv)
{
    struct load l = {
        .seconds = -1, .cpu = -1, .processes = 1, .threads = 1, .dir = "."};
    int c;

    while ((c = getopt(argc, argv, "t:m:w:p:n:i:d:x:s:c:b:r:D")) != -1) {
        double v = optarg != NULL ? strtod(optarg, NULL) : 0;

        switch (c) {
        case 't':
            l.seconds = v;
            break;
        case 'm':
            l.mib = (long)v;
            break;
        case 'w':
            l.file_mib = (long)v;
            break;
        case 'p':
            l.processes = (long)v;
            break;
        case 'n':
            l.threads = (long)v;
            break;
        case 'i':
            l.idle = v / 100;
            break;
        case 'd':
            l.dir = optarg;
            break;
        case 'x':
            l.code = (long)v;
            break;
        case 's':
            l.sleepers = (long)v;
            break;
        case 'c':
            l.cpu = v;
            break;
        case 'b':
            l.direct_mib = (long)v;
            break;
        case 'r':
            l.report = optarg;
            break;
        case 'D':
            l.leave_one = 1;
            break;
        default:
            return 2;
        }
    }
    if (l.seconds < 0)
        l.seconds = l.cpu < 0 ? 5 : 0;
    return l.sleepers > 0 ? sleepers(&l) : work(&l);
}

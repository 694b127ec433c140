/* sampler: read the control groups of Slurm's jobs at a high rate,
 * independently of the programs under test, for comparisons with their values.
 *
 *   sampler PERIOD-MSEC OUTPUT ROOT...
 *
 * Each ROOT is a directory of cgroup v1's memory controller or of cgroup v2
 * that has, at any depth, directories job_N.  On SIGTERM the program ends. Each
 * line of OUTPUT is one reading of one job:
 *
 *   TIME NODE JOB CPU CHARGED PEAK HELD STEPD OOM
 *
 * TIME in seconds since 1970; NODE from slurm_NODE or NODE_slurmstepd.scope;
 * CPU in microseconds; memory in bytes: charged now, the kernel's peak of it,
 * anonymous and shared now; STEPD: the part of CPU that slurmstepd used (v2);
 * OOM: kills counted in the job's directory (v2).  -1: not known. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t stopped;
static FILE *out;

static void stop(int number)
{
    (void)number;
    stopped = 1;
}

static int read_text(const char *dir, const char *file, char *text, size_t size)
{
    char path[4096];
    FILE *f;
    size_t n;

    snprintf(path, sizeof(path), "%s/%s", dir, file);
    f = fopen(path, "re");
    if (f == NULL)
        return -1;
    n = fread(text, 1, size - 1, f);
    fclose(f);
    text[n] = '\0';
    return n > 0 ? 0 : -1;
}

static long long number(const char *dir, const char *file)
{
    char text[64];

    return read_text(dir, file, text, sizeof(text)) == 0
               ? strtoll(text, NULL, 10)
               : -1;
}

/* The number after a key at the beginning of a line; -1 without it. */
static long long key(const char *text, const char *name)
{
    const size_t n = strlen(name);

    for (const char *p = text; p != NULL; p = strchr(p, '\n')) {
        p += *p == '\n';
        if (strncmp(p, name, n) == 0 && p[n] == ' ')
            return strtoll(p + n + 1, NULL, 10);
    }
    return -1;
}

static long long keyed(const char *dir, const char *file, const char *name)
{
    char text[16384];

    return read_text(dir, file, text, sizeof(text)) == 0 ? key(text, name) : -1;
}

static long long sum(long long a, long long b)
{
    return a < 0 || b < 0 ? -1 : a + b;
}

/* What slurmstepd used in all steps of a job of v2. */
static long long stepd(const char *dir)
{
    char path[4400];
    long long all = 0;
    struct dirent *e;
    DIR *d = opendir(dir);

    while (d != NULL && (e = readdir(d)) != NULL)
        if (strncmp(e->d_name, "step_", 5) == 0) {
            long long v;

            snprintf(path, sizeof(path), "%s/%s/slurm", dir, e->d_name);
            v = keyed(path, "cpu.stat", "usage_usec");
            all += v > 0 ? v : 0;
        }
    if (d != NULL)
        closedir(d);
    return all;
}

static void sample(const char *dir, const char *node, const char *job)
{
    char text[16384], other[4096];
    const char *v1 = strstr(dir, "/memory/");
    struct timespec t;
    long long cpu, charged, peak, held = -1, daemon = -1, oom = -1;

    clock_gettime(CLOCK_REALTIME, &t);
    if (v1 != NULL) {
        snprintf(other, sizeof(other), "%.*s/cpuacct/%s", (int)(v1 - dir), dir,
                 v1 + strlen("/memory/"));
        cpu = number(other, "cpuacct.usage");
        if (cpu >= 0)
            cpu /= 1000;
        charged = number(dir, "memory.usage_in_bytes");
        peak = number(dir, "memory.max_usage_in_bytes");
        if (read_text(dir, "memory.stat", text, sizeof(text)) == 0)
            held = sum(key(text, "total_rss"), key(text, "total_shmem"));
    } else {
        cpu = keyed(dir, "cpu.stat", "usage_usec");
        charged = number(dir, "memory.current");
        peak = number(dir, "memory.peak");
        if (read_text(dir, "memory.stat", text, sizeof(text)) == 0)
            held = sum(key(text, "anon"), key(text, "shmem"));
        daemon = stepd(dir);
        oom = keyed(dir, "memory.events", "oom_kill");
    }
    if (cpu >= 0 || charged >= 0)
        fprintf(out, "%lld.%06ld %s %s %lld %lld %lld %lld %lld %lld\n",
                (long long)t.tv_sec, t.tv_nsec / 1000, node, job, cpu, charged,
                peak, held, daemon, oom);
}

static void walk(const char *dir, const char *node)
{
    char path[4096], name[256];
    struct dirent *e;
    DIR *d = opendir(dir);

    while (d != NULL && !stopped && (e = readdir(d)) != NULL) {
        const char *end = strstr(e->d_name, "_slurmstepd.scope");

        if (e->d_name[0] == '.' || e->d_type != DT_DIR)
            continue;
        if (snprintf(path, sizeof(path), "%s/%s", dir, e->d_name) >=
            (int)sizeof(path))
            continue;
        if (strncmp(e->d_name, "job_", 4) == 0) {
            sample(path, node, e->d_name + 4);
            continue;
        }
        snprintf(name, sizeof(name), "%s", node);
        if (strncmp(e->d_name, "slurm_", 6) == 0)
            snprintf(name, sizeof(name), "%s", e->d_name + 6);
        else if (end != NULL)
            snprintf(name, sizeof(name), "%.*s", (int)(end - e->d_name),
                     e->d_name);
        walk(path, name);
    }
    if (d != NULL)
        closedir(d);
}

int main(int argc, char **argv)
{
    struct sigaction act = {.sa_handler = stop};

    if (argc < 4 || (out = fopen(argv[2], "we")) == NULL) {
        fputs("usage: sampler PERIOD-MSEC OUTPUT ROOT...\n", stderr);
        return 2;
    }
    sigaction(SIGTERM, &act, NULL);
    while (!stopped) {
        const long msec = strtol(argv[1], NULL, 10);
        const struct timespec t = {msec / 1000, msec % 1000 * 1000000};

        for (int i = 3; i < argc; i++)
            walk(argv[i], "-");
        nanosleep(&t, NULL);
    }
    return fclose(out) != 0;
}

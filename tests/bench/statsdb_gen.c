/* Output of sacct -P for an invented cluster, for measuring imports.
 *
 * statsdb_gen LINES [SEED]
 *
 * The same seed gives the same lines.  Two years of jobs, most of them of a few
 * users; a quarter of the jobs in arrays, four in five with the steps batch and
 * extern, every sixth of those with two more; each job has its own
 * directory. */
#include "base/slice.h"
#include "base/stamp.h"

#include <stdio.h>
#include <string.h>

enum { USERS = 2000, ACCOUNTS = 400, NODES = 1200, DAYS = 730, DAY = 86400 };
static const uint64_t last_sec = 1767225600; /* 2026-01-01 */

/* Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators"
 * (2014). */
static uint64_t next(uint64_t *state, uint64_t below)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (z ^ z >> 31) % below;
}

struct job {
    uint64_t id, array, user, account, submit, start, took, cpus, nodes, node;
    uint64_t mem_mib;
    const char *partition, *state;
};

static const char *when(uint64_t sec, char buf[static BJ_STAMP_MAX])
{
    bj_stamp_text((int64_t)sec * 1000000, 0, 0, buf);
    buf[strlen(buf) - 1] = '\0'; /* without its Z */
    return buf;
}

static const char *span(uint64_t sec, char buf[static 32])
{
    int n = 0;
    if (sec >= DAY)
        n = snprintf(buf, 32, "%u-", (unsigned)(sec / DAY));
    snprintf(buf + n, 32 - (size_t)n, "%02u:%02u:%02u",
             (unsigned)(sec / 3600 % 24), (unsigned)(sec / 60 % 60),
             (unsigned)(sec % 60));
    return buf;
}

static void draw(uint64_t *rnd, uint64_t n, double part, struct job *j)
{
    static const char *const partitions[] = {"short", "medium", "long", "gpu",
                                             "bigmem"};
    static const char *const states[] = {
        "COMPLETED",     "COMPLETED",     "COMPLETED", "COMPLETED",
        "COMPLETED",     "COMPLETED",     "FAILED",    "TIMEOUT",
        "OUT_OF_MEMORY", "CANCELLED by 0"};
    uint64_t a = next(rnd, USERS), b = next(rnd, USERS);
    j->id = 10000000 + n;
    j->array = next(rnd, 4) == 0 ? j->id - j->id % 64 : 0;
    j->user = a * b / USERS;
    j->account = j->user % ACCOUNTS;
    j->submit = last_sec - (uint64_t)((1 - part) * (double)DAYS * (double)DAY);
    j->start = j->submit + next(rnd, DAY);
    j->took = 30 + next(rnd, next(rnd, 5) ? 7200 : 2 * DAY);
    j->cpus = 1ull << next(rnd, 7);
    j->nodes = j->cpus > 48 ? 2 : 1;
    j->node = 1 + next(rnd, NODES);
    j->mem_mib = j->cpus * 4000;
    j->partition = partitions[next(rnd, 5)];
    j->state = states[next(rnd, 10)];
}

static void print_times(const struct job *j, bool step)
{
    char t[4][BJ_STAMP_MAX], total[32], user[32], sys[32];
    uint64_t used = j->took * j->cpus * 7 / 8;
    printf("%s|%s|%s|%s|%llu|%s|", when(step ? j->start : j->submit, t[0]),
           when(step ? j->start : j->submit, t[1]), when(j->start, t[2]),
           when(j->start + j->took, t[3]), (unsigned long long)j->took,
           step ? "" : "2880");
    printf("%llu|%llu|", (unsigned long long)j->nodes,
           (unsigned long long)j->cpus);
    if (!step)
        printf("%lluM|billing=%llu,cpu=%llu,mem=%lluM,node=%llu",
               (unsigned long long)j->mem_mib, (unsigned long long)j->cpus,
               (unsigned long long)j->cpus, (unsigned long long)j->mem_mib,
               (unsigned long long)j->nodes);
    else
        printf("|");
    printf("|%scpu=%llu,mem=%lluM,node=%llu|c[%04llu]|",
           step ? "" : "billing=1,", (unsigned long long)j->cpus,
           (unsigned long long)j->mem_mib, (unsigned long long)j->nodes,
           (unsigned long long)j->node);
    if (!step)
        printf("/data/u%04llu/p%02llu/r%llu", (unsigned long long)j->user,
               (unsigned long long)(j->id % 31), (unsigned long long)j->id);
    printf("|%s|%s|%s|", span(used, total), span(used - used / 25, user),
           span(used / 25, sys));
}

static void print_step(uint64_t *rnd, const struct job *j, const char *shown,
                       const char *step)
{
    char mean[32], total[32];
    printf("%s.%s|%llu.%s|%s|||u%04llu|a%03llu|||%s|0:0|", shown, step,
           (unsigned long long)j->id, step, step, (unsigned long long)j->user,
           (unsigned long long)j->account,
           j->state[0] == 'C' && j->state[1] == 'A' ? "CANCELLED" : j->state);
    print_times(j, true);
    printf("%lluK|%s|cpu=%s,energy=0,fs/disk=%llu,mem=%lluK,pages=%llu,"
           "vmem=%lluK\n",
           (unsigned long long)next(rnd, 16000000), span(j->took * 7 / 8, mean),
           span(j->took * j->cpus * 7 / 8, total),
           (unsigned long long)next(rnd, 1000000000),
           (unsigned long long)next(rnd, 16000000),
           (unsigned long long)next(rnd, 1000),
           (unsigned long long)next(rnd, 16000000));
}

/* One job with its steps; returns the number of lines. */
static uint64_t print_job(uint64_t *rnd, const struct job *j)
{
    static const char *const steps[] = {"batch", "extern", "0", "1"};
    char shown[48];
    if (j->array)
        snprintf(shown, sizeof(shown), "%llu_%llu",
                 (unsigned long long)j->array,
                 (unsigned long long)(j->id - j->array));
    else
        snprintf(shown, sizeof(shown), "%llu", (unsigned long long)j->id);
    printf("%s|%llu|job_%llu|u%04llu|%llu|g%llu|a%03llu|%s|normal|%s|%d:0|",
           shown, (unsigned long long)j->id, (unsigned long long)(j->id % 97),
           (unsigned long long)j->user, (unsigned long long)j->user + 3000,
           (unsigned long long)j->account, (unsigned long long)j->account,
           j->partition, j->state, j->state[0] == 'F');
    print_times(j, false);
    printf("||\n");
    if (next(rnd, 5) == 0)
        return 1;
    unsigned n = next(rnd, 6) == 0 ? 4 : 2;
    for (unsigned i = 0; i < n; i++)
        print_step(rnd, j, shown, steps[i]);
    return 1 + n;
}

int main(int argc, char **argv)
{
    uint64_t lines, rnd = 1, n = 0;
    if (argc < 2 || bj_slice_u64(bj_slice_str(argv[1]), &lines) < 0 ||
        (argc > 2 && bj_slice_u64(bj_slice_str(argv[2]), &rnd) < 0)) {
        fprintf(stderr, "usage: statsdb_gen LINES [SEED]\n");
        return 2;
    }
    puts("JobID|JobIDRaw|JobName|User|UID|Group|Account|Partition|QOS|State|"
         "ExitCode|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|NNodes|"
         "NCPUS|ReqMem|ReqTRES|AllocTRES|NodeList|WorkDir|TotalCPU|UserCPU|"
         "SystemCPU|MaxRSS|AveCPU|TRESUsageInTot");
    for (uint64_t id = 0; n < lines; id++) {
        struct job j;
        draw(&rnd, id, (double)n / (double)lines, &j);
        n += print_job(&rnd, &j);
    }
    return 0;
}

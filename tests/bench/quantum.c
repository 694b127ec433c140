/* quantum: a computation in pieces of fixed work, as a parallel job is between
 * two of its barriers.
 *
 * quantum CPU SECONDS
 *
 * Runs on that CPU alone.  Finds out how much work takes one millisecond when
 * nothing disturbs it (the least of many trials), repeats that work for the
 * given time, and prints one JSON object: number of pieces, and their mean,
 * median, 99th and 99.9th percentile and maximum in milliseconds. */
#include "tests/bench/num.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TRIALS = 300, TRIAL_WORK = 100000, MAX_PIECES = 600000 };

static volatile uint64_t result; /* keeps the compiler from removing the work */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Milliseconds that an amount of work takes. */
static double piece(uint64_t work)
{
    double from = now();
    uint64_t x = 88172645463325252u;
    for (uint64_t i = 0; i < work; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    result = x;
    return now() - from;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static double took[MAX_PIECES];
    cpu_set_t set;
    if (argc != 3) {
        fprintf(stderr, "usage: quantum CPU SECONDS\n");
        return 2;
    }
    CPU_ZERO(&set);
    CPU_SET((size_t)bench_u64(argv[1]), &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0) {
        perror("sched_setaffinity");
        return 1;
    }
    double least = 1e9;
    for (int i = 0; i < TRIALS; i++) {
        double t = piece(TRIAL_WORK);
        least = t < least ? t : least;
    }
    uint64_t work = (uint64_t)((double)TRIAL_WORK / least);
    double end = now() + (double)bench_u64(argv[2]) * 1e3, sum = 0;
    size_t n = 0;
    while (n < MAX_PIECES && now() < end) {
        took[n] = piece(work);
        sum += took[n++];
    }
    if (n == 0)
        return 1;
    qsort(took, n, sizeof(took[0]), by_size);
    printf("{\"pieces\":%zu,\"mean\":%.4f,\"median\":%.4f,\"p99\":%.4f,"
           "\"p999\":%.4f,\"most\":%.4f}\n",
           n, sum / (double)n, took[n / 2], took[n * 99 / 100],
           took[n * 999 / 1000], took[n - 1]);
    return 0;
}

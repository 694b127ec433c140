/* pass_bench: what one pass of the core costs, without HTTP.
 *
 *   pass_bench CGROUP_ROOT MILLISECONDS [--OPTION=VALUE...]
 *
 * Options are those of the core (core/conf.h).  Makes passes for a first while
 * to warm up, then for MILLISECONDS, and prints one line.  On a virtual machine
 * that counts one nanosecond an instruction, "ns" is instructions. */
#include "core/core.h"
#include "core/model/metric.h"
#include "tests/bench/num.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WARM_PASSES = 5, MIN_PASSES = 5 };

static uint64_t now_ns(clockid_t clock)
{
    struct timespec t = {0};
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int start_thread(void *ctx, pthread_t *ret, void *(*fn)(void *),
                        void *arg, const char *name)
{
    (void)ctx;
    (void)name;
    return -pthread_create(ret, NULL, fn, arg);
}

static void write_log(void *ctx, enum bj_log_level level, const char *msg)
{
    (void)ctx;
    if (level <= BJ_LOG_WARN)
        fprintf(stderr, "pass_bench: %s\n", msg);
}

static void die(const struct bj_err *err)
{
    char text[300];
    fprintf(stderr, "pass_bench: %s\n", bj_err_text(err, text, sizeof(text)));
    exit(1);
}

/* One pass; the number of jobs that it saw. */
static uint64_t pass(struct bj_core *core)
{
    struct bj_snap *snap;
    struct bj_err err = {0};
    if (bj_core_pass(core, &snap, &err) < 0)
        die(&err);
    uint64_t jobs = snap->jobs.n;
    bj_snap_unref(snap);
    return jobs;
}

static void measure(struct bj_core *core, uint64_t least_ns)
{
    uint64_t passes = 0, jobs = 0;
    for (int i = 0; i < WARM_PASSES; i++)
        pass(core);
    uint64_t cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t start = now_ns(CLOCK_MONOTONIC), wall = 0;
    while (passes < MIN_PASSES || wall < least_ns) {
        jobs = pass(core);
        passes++;
        wall = now_ns(CLOCK_MONOTONIC) - start;
    }
    cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    uint64_t n = passes * (jobs ? jobs : 1);
    printf("jobs=%" PRIu64 " passes=%" PRIu64 " cpu_ns/job=%" PRIu64
           " ns/job=%" PRIu64 " ns/pass=%" PRIu64 "\n",
           jobs, passes, cpu / n, wall / n, wall / passes);
}

int main(int argc, char **argv)
{
    struct bj_conf conf = {0};
    struct bj_optset set = {bj_conf_opts, &conf};
    struct bj_host host = {.thread = start_thread, .log = write_log};
    struct bj_core *core;
    struct bj_err err = {0};
    if (argc < 3) {
        fprintf(stderr, "usage: pass_bench CGROUP_ROOT MILLISECONDS "
                        "[--OPTION=VALUE...]\n");
        return 2;
    }
    uint64_t least_ns = bench_u64(argv[2]) * 1000000;
    if (bj_opt_presets(&set, &err) < 0 ||
        bj_opt_set(&set, 1, BJ_SLICE("path.cgroupfs"), bj_slice_str(argv[1]),
                   &err) < 0 ||
        bj_opt_argv(&set, 1, argc - 2, argv + 2, &err) < 0 ||
        bj_core_new(&conf, &host, &core, &err) < 0)
        die(&err);
    measure(core, least_ns);
    bj_core_free(core);
    bj_opt_free(&set);
    return 0;
}

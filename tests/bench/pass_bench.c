/* pass_bench: what one pass of the core and its page cost, without HTTP.
 *
 * pass_bench CGROUP_ROOT MILLISECONDS PAUSE [--OPTION=VALUE...]
 *
 * Options are those of the core (core/conf.h).  Warms up, then runs passes for
 * at least MILLISECONDS, PAUSE milliseconds apart, and prints one line.  On a
 * virtual machine whose clock advances one nanosecond an instruction, "ns" is
 * instructions. */
#include "core/core.h"
#include "core/model/metric.h"
#include "standalone/page.h"
#include "tests/bench/num.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

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

_Noreturn static void die(const struct bj_err *err)
{
    char text[300];
    fprintf(stderr, "pass_bench: %s\n", bj_err_text(err, text, sizeof(text)));
    exit(1);
}

/* Sums over passes, without pauses. */
struct cost {
    uint64_t passes, jobs, cpu_ns, wall_ns;
};

/* One pass and its page. */
static void pass(struct bj_core *core, struct bj_page_heads *heads,
                 struct bj_buf *page, struct cost *c)
{
    uint64_t cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t wall = now_ns(CLOCK_MONOTONIC);
    struct bj_snap *snap;
    struct bj_err err = {0};
    if (bj_core_pass(core, &snap, &err) < 0)
        die(&err);
    page->len = 0;
    if (bj_page_write(snap, BJ_PAGE_TEXT, heads, page) < 0)
        die(&err);
    c->jobs = snap->jobs.n ? snap->jobs.n : 1;
    bj_snap_unref(snap);
    c->passes++;
    c->cpu_ns += now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    c->wall_ns += now_ns(CLOCK_MONOTONIC) - wall;
}

static void measure(struct bj_core *core, uint64_t least_ns,
                    unsigned pause_usec)
{
    struct bj_buf page = {0};
    struct bj_page_heads heads = {0};
    struct cost c = {0};
    for (int i = 0; i < WARM_PASSES; i++)
        pass(core, &heads, &page, &c);
    c = (struct cost){0};
    while (c.passes < MIN_PASSES || c.wall_ns < least_ns) {
        if (pause_usec > 0)
            usleep(pause_usec);
        pass(core, &heads, &page, &c);
    }
    bj_buf_free(&page);
    bj_page_heads_free(&heads);
    uint64_t n = c.passes * c.jobs;
    printf("jobs=%" PRIu64 " passes=%" PRIu64 " cpu_ns/job=%" PRIu64
           " ns/job=%" PRIu64 " ns/pass=%" PRIu64 "\n",
           c.jobs, c.passes, c.cpu_ns / n, c.wall_ns / n, c.wall_ns / c.passes);
}

int main(int argc, char **argv)
{
    struct bj_conf conf = {0};
    struct bj_optset set = {bj_conf_opts, &conf};
    struct bj_host host = {.thread = start_thread, .log = write_log};
    struct bj_core *core;
    struct bj_err err = {0};
    if (argc < 4) {
        fprintf(stderr, "usage: pass_bench CGROUP_ROOT MILLISECONDS PAUSE "
                        "[--OPTION=VALUE...]\n");
        return 2;
    }
    if (bj_opt_presets(&set, &err) < 0 ||
        bj_opt_set(&set, 1, BJ_SLICE("path.cgroupfs"), bj_slice_str(argv[1]),
                   &err) < 0 ||
        bj_opt_argv(&set, 1, argc - 3, argv + 3, &err) < 0 ||
        bj_core_new(&conf, &host, &core, &err) < 0)
        die(&err);
    measure(core, bench_u64(argv[2]) * 1000000,
            (unsigned)bench_u64(argv[3]) * 1000);
    bj_core_free(core);
    bj_opt_free(&set);
    return 0;
}

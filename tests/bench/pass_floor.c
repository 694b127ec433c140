/* pass_floor: what one pass of the floor costs, without HTTP.
 *
 *   pass_floor 1|2 CGROUP_ROOT MILLISECONDS [keep] [processes] [page]
 *
 * Prints the same line as pass_bench.  With page, the page is written too. */
#include "tests/bench/floor.h"

#include "tests/bench/num.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { WARM_PASSES = 5, MIN_PASSES = 5 };

static uint64_t now_ns(clockid_t clock)
{
    struct timespec t = {0};
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void pass(struct floor *f, bool page)
{
    f->pass++;
    floor_find(f);
    for (size_t i = 0; i < f->njobs; i++)
        if (f->jobs[i]->seen == f->pass)
            floor_collect(f, f->jobs[i]);
    if (page)
        floor_write(f);
}

int main(int argc, char **argv)
{
    static struct floor f;
    bool page = false;
    if (argc < 4) {
        fprintf(stderr, "usage: pass_floor 1|2 CGROUP_ROOT MILLISECONDS "
                        "[keep] [processes] [page]\n");
        return 2;
    }
    f.version = argv[1][0] == '1' ? 1 : 2;
    f.root = argv[2];
    for (int i = 4; i < argc; i++) {
        f.keep |= strcmp(argv[i], "keep") == 0;
        f.processes |= strcmp(argv[i], "processes") == 0;
        page |= strcmp(argv[i], "page") == 0;
    }
    struct rlimit many = {1 << 19, 1 << 19};
    setrlimit(RLIMIT_NOFILE, &many);
    for (int i = 0; i < WARM_PASSES; i++)
        pass(&f, page);
    uint64_t passes = 0, least = bench_u64(argv[3]) * 1000000, wall = 0;
    uint64_t cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t start = now_ns(CLOCK_MONOTONIC);
    while (passes < MIN_PASSES || wall < least) {
        pass(&f, page);
        passes++;
        wall = now_ns(CLOCK_MONOTONIC) - start;
    }
    cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    uint64_t n = passes * (f.njobs ? f.njobs : 1);
    printf("jobs=%zu passes=%" PRIu64 " cpu_ns/job=%" PRIu64 " ns/job=%" PRIu64
           " ns/pass=%" PRIu64 "\n",
           f.njobs, passes, cpu / n, wall / n, wall / passes);
    return 0;
}

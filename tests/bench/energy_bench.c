/* energy_bench: what metering and attributing energy costs, compared with the
 * pass that reads the jobs.
 *
 * energy_bench CGROUP_ROOT SYSFS MILLISECONDS [--OPTION=VALUE...]
 *
 * SYSFS has the meters (tests/e2e/energy.py creates one); options are those of
 * the core.  Prints one line: passes, jobs, and the CPU time of a pass, of the
 * tick (meters, node, ledger, text of the state) and of saving it, in
 * microseconds. */
#include "core/energy/energy.h"
#include "core/energy_gpus.h"
#include "core/internal.h"
#include "tests/bench/num.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WARM_PASSES = 20 };

static uint64_t cpu_ns(void)
{
    struct timespec t = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Meters get no threads: the work of the sampler is measured. */
static int no_thread(void *ctx, pthread_t *ret, void *(*fn)(void *), void *arg,
                     const char *name)
{
    (void)ctx;
    if (strcmp(name, "bj-resolver") == 0)
        return -pthread_create(ret, NULL, fn, arg);
    return -EAGAIN;
}

static void write_log(void *ctx, enum bj_log_level level, const char *msg)
{
    (void)ctx;
    (void)level;
    (void)msg;
}

_Noreturn static void die(const struct bj_err *err)
{
    char text[300];
    fprintf(stderr, "energy_bench: %s\n", bj_err_text(err, text, sizeof(text)));
    exit(1);
}

struct cost {
    uint64_t passes, pass_ns, tick_ns, save_ns;
};

static void pass(struct bj_core *core, struct cost *c)
{
    struct bj_err err = {0};
    uint64_t begun = cpu_ns();
    bj_core_read(core, false);
    uint64_t read = cpu_ns();
    bj_energy_gpus_tick(core);
    uint64_t ticked = cpu_ns();
    if (bj_energy_save(core->energy, &err) < 0)
        die(&err);
    bj_copies_show(&core->copies);
    c->passes++;
    c->pass_ns += read - begun;
    c->tick_ns += ticked - read;
    c->save_ns += cpu_ns() - ticked;
}

static void set_options(struct bj_conf *conf, int argc, char **argv)
{
    struct bj_optset sets[BJ_CONF_SETS];
    struct bj_err err = {0};
    bj_conf_sets(conf, sets);
    for (int i = 0; i < BJ_CONF_SETS; i++)
        if (bj_opt_presets(&sets[i], &err) < 0)
            die(&err);
    if (bj_opt_set(sets, BJ_CONF_SETS, BJ_SLICE("path.cgroupfs"),
                   bj_slice_str(argv[1]), &err) < 0 ||
        bj_opt_set(sets, BJ_CONF_SETS, BJ_SLICE("path.sysfs"),
                   bj_slice_str(argv[2]), &err) < 0 ||
        bj_opt_argv(sets, BJ_CONF_SETS, argc - 3, argv + 3, &err) < 0)
        die(&err);
    for (int i = 0; i < BJ_CONF_SETS; i++)
        bj_opt_finish(&sets[i], &err);
}

int main(int argc, char **argv)
{
    struct bj_conf conf = {0};
    struct bj_host host = {.thread = no_thread, .log = write_log};
    struct bj_core *core;
    struct bj_err err = {0};
    struct cost c = {0};
    if (argc < 4) {
        fprintf(stderr, "usage: energy_bench CGROUP_ROOT SYSFS MILLISECONDS "
                        "[--OPTION=VALUE...]\n");
        return 2;
    }
    uint64_t least_ns = bench_u64(argv[3]) * 1000000u;
    set_options(&conf, argc, argv);
    if (bj_core_new(&conf, &host, &core, &err) < 0)
        die(&err);
    bj_energy_search(core->energy, core->now_usec);
    for (int i = 0; i < WARM_PASSES; i++)
        pass(core, &c);
    c = (struct cost){0};
    while (c.pass_ns + c.tick_ns + c.save_ns < least_ns)
        pass(core, &c);
    printf("passes %" PRIu64 " jobs %zu pass_us %.1f tick_us %.1f save_us "
           "%.1f\n",
           c.passes, core->tracks.n, (double)c.pass_ns / 1e3 / (double)c.passes,
           (double)c.tick_ns / 1e3 / (double)c.passes,
           (double)c.save_ns / 1e3 / (double)c.passes);
    bj_core_free(core);
    return 0;
}

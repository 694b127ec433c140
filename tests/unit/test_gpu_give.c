/* Attribution of a device's energy when its job changes between two readings.
 * Expected values were computed by hand. */
#include "core/gpu/gpus_impl.h"
#include "core/track.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { SECOND = 1000000, FROM = 100 * SECOND, TO = 110 * SECOND, NOW = -1 };

/* A job on the device: when it got the device, and when it ended (seconds). */
struct life {
    int since, end; /* NOW: it still holds the device */
    uint64_t share_ppm;
    bool recorded;
    uint64_t want_uj;
};

static const struct {
    uint64_t uj;
    bool first; /* the first reading */
    struct life v[3];
} cases[] = {
    /* one job, two that share, three */
    {1000, false, {{50, NOW, 1000000, false, 1000}}},
    {1000,
     false,
     {{50, NOW, 750000, false, 750}, {60, NOW, 250000, false, 250}}},
    {1000,
     false,
     {{50, NOW, 333334, false, 334},
      {60, NOW, 333333, false, 333},
      {60, NOW, 333333, false, 333}}},
    /* The job ended, and no job holds the device now. */
    {1000, false, {{50, 104, 1000000, false, 1000}}},
    /* A successor gets the device at once, or later, or had started before. */
    {1000,
     false,
     {{50, 104, 1000000, false, 400}, {104, NOW, 1000000, false, 600}}},
    {700,
     false,
     {{50, 104, 1000000, false, 400}, {107, NOW, 1000000, false, 300}}},
    {1000,
     false,
     {{50, 104, 1000000, false, 400}, {101, NOW, 1000000, false, 600}}},
    /* One of two sharing jobs ended; the other held the device all the time. */
    {1000,
     false,
     {{50, 105, 500000, false, 200}, {50, NOW, 1000000, false, 800}}},
    /* The record of the ended job is written: later energy belongs to another
     * job, or to none. */
    {1000,
     false,
     {{50, 104, 1000000, true, 0}, {104, NOW, 1000000, false, 1000}}},
    {1000, false, {{50, 104, 1000000, true, 0}}},
    /* Before the first sample holders cannot be distinguished. */
    {1000, true, {{50, NOW, 1000000, false, 1000}}},
    {1000, false, {{0}}},
};

static void set_up(struct bj_gpu_hold *h, struct bj_track *t,
                   const struct life *l)
{
    *t = (struct bj_track){.life = {.first_usec = (uint64_t)l->since * SECOND,
                                    .recorded = l->recorded}};
    if (l->end != NOW)
        t->life.end_usec = (uint64_t)l->end * SECOND;
    *h = (struct bj_gpu_hold){.track = t,
                              .now = l->end == NOW,
                              .pending = l->end != NOW,
                              .since_usec = t->life.first_usec,
                              .share_ppm = l->share_ppm};
}

static void test_give(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bj_gpu_hold hold[3];
        struct bj_track track[3];
        struct bj_gpu_dev dev = {
            .parent = -1,
            .present = true,
            .stamp_usec = TO,
            .given_usec = cases[i].first ? 0 : FROM,
            .given_uj = 5,
            .energy = {.total_uj = 5 + cases[i].uj, .counter_stamp_usec = TO}};
        struct bj_gpus g = {.dev = &dev, .n = 1, .hold = hold};
        dev.now.use.power_uw = BJ_ABSENT;
        for (; g.nholds < 3 && cases[i].v[g.nholds].share_ppm; g.nholds++)
            set_up(&hold[g.nholds], &track[g.nholds], &cases[i].v[g.nholds]);
        bj_gpus_meter(&g, 0);
        assert_int_equal(g.total_uj, cases[i].uj);
        assert_int_equal(dev.given_usec, TO);
        for (size_t k = 0; k < g.nholds; k++)
            if (hold[k].sums.energy_uj != cases[i].v[k].want_uj ||
                hold[k].pending_uj != cases[i].v[k].want_uj)
                fail_msg("case %zu, job %zu: %llu", i, k,
                         (unsigned long long)hold[k].sums.energy_uj);
    }
}

/* Two compute instances of one GPU instance share its 3 of 7 slices. Another
 * GPU instance has 3, and one slice is free. */
static void test_compute_instances(void **state)
{
    static const uint64_t want[] = {300, 300, 600};
    static const uint32_t gi[] = {1, 1, 2};
    struct bj_gpu_hold hold[3];
    struct bj_track track[3];
    struct bj_gpu_dev dev[4] = {{.parent = -1,
                                 .present = true,
                                 .stamp_usec = TO,
                                 .given_usec = FROM,
                                 .idle_uw = BJ_ABSENT,
                                 .now.split = true,
                                 .energy = {.total_uj = 1400}}};
    struct bj_gpus g = {.dev = dev, .n = 4, .hold = hold, .nholds = 3};
    (void)state;
    dev[0].now.use.power_uw = BJ_ABSENT;
    for (size_t i = 0; i < 3; i++) {
        const struct life l = {50, NOW, 1000000, false, 0};
        set_up(&hold[i], &track[i], &l);
        hold[i].dev = i + 1;
        dev[i + 1] = (struct bj_gpu_dev){
            .parent = 0, .present = true, .stamp_usec = TO, .now.gi = gi[i]};
        dev[i + 1].now.use.slices = 3;
        dev[i + 1].now.use.sm_ppm = BJ_ABSENT;
        dev[i + 1].now.use.multiprocessors = BJ_ABSENT;
    }
    bj_gpus_meter(&g, 0);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(hold[i].sums.energy_uj, want[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_give), cmocka_unit_test(test_compute_instances)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

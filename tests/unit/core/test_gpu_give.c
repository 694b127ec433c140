/* Attribution of a device's energy when its job changes between two readings.
 * Expected values were computed by hand. */
#include "core/gpu/gpus_impl.h"
#include "core/internal.h"
#include "core/track.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

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

static const struct bj_conf every_5_sec = {.gpu_usec = 5000000};

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
        struct bj_gpus g = {
            .conf = &every_5_sec, .dev = &dev, .n = 1, .hold = hold};
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

/* Energy that is held back is given with the next reading, by the time since
 * the last one that counts. */
static void test_held_back(void **state)
{
    struct bj_gpu_hold hold;
    struct bj_track track;
    const struct life l = {50, NOW, 1000000, false, 0};
    struct bj_gpu_dev dev = {
        .parent = -1,
        .present = true,
        .stamp_usec = TO,
        .given_usec = FROM,
        .energy = {.counter_stamp_usec = FROM, .held_usec = TO}};
    struct bj_gpus g = {
        .conf = &every_5_sec, .dev = &dev, .n = 1, .hold = &hold, .nholds = 1};
    (void)state;
    dev.now.use.power_uw = BJ_ABSENT;
    set_up(&hold, &track, &l);
    bj_gpus_meter(&g, 0);
    assert_true(bj_gpus_held(&g));
    assert_int_equal(dev.given_usec, FROM);
    dev.energy = (struct bj_accum){.counter_stamp_usec = TO, .total_uj = 9};
    bj_gpus_meter(&g, 0);
    assert_false(bj_gpus_held(&g));
    assert_int_equal(dev.given_usec, TO);
    assert_int_equal(hold.sums.energy_uj, 9);
}

/* Which of AMD's and Intel's GPUs a new job has is known when its processes
 * were read (fdinfo): energy since the last reading, which may be much after a
 * restart, waits for that, but not for ever. */
static void test_first_trace(void **state)
{
    enum { AMD = 1, FDINFO = BJ_GPU_OVER };
    static struct bj_gpu_set cards, traced;
    struct bj_gpu_hold hold;
    struct bj_track track;
    const struct life l = {50, NOW, 1000000, false, 0};
    struct bj_gpu_dev dev = {
        .kind = AMD,
        .parent = -1,
        .present = true,
        .stamp_usec = TO,
        .given_usec = FROM,
        .energy = {.counter_stamp_usec = TO, .total_uj = 9}};
    struct bj_gpu_job job = {.id = 1, .track = &track, .listed = 2};
    struct bj_gpu_job *jobs[] = {&job};
    struct bj_gpus g = {.conf = &every_5_sec,
                        .dev = &dev,
                        .n = 1,
                        .hold = &hold,
                        .job = jobs,
                        .njobs = 1,
                        .set = {[AMD] = &cards, [FDINFO] = &traced},
                        .stat = {[FDINFO] = {.ran = true}}};
    (void)state;
    cards.n = 1;
    dev.now.use.power_uw = BJ_ABSENT;
    set_up(&hold, &track, &l);
    traced.traced_list = 1; /* read before the job was in the list */
    bj_gpus_meter(&g, AMD);
    assert_int_equal(dev.given_usec, FROM);
    traced.traced_list = 2;
    g.nholds = 1;
    bj_gpus_meter(&g, AMD);
    assert_int_equal(dev.given_usec, TO);
    assert_int_equal(hold.sums.energy_uj, 9);
    /* The next job never gets a result; or its GPUs are known. */
    job.listed = 3;
    dev.energy.total_uj = 20;
    bj_gpus_meter(&g, AMD);
    assert_int_equal(hold.sums.energy_uj, 9);
    dev.stamp_usec += 3 * every_5_sec.gpu_usec;
    bj_gpus_meter(&g, AMD);
    assert_int_equal(hold.sums.energy_uj, 20);
    g.waits_usec = 0;
    job.noted = true;
    dev.energy.total_uj = 21;
    bj_gpus_meter(&g, AMD);
    assert_int_equal(hold.sums.energy_uj, 21);
}

/* The idle power is that of two readings in a row: one that is too low does not
 * change it. */
static void test_idle_power(void **state)
{
    static const uint64_t watts[] = {50, 60, 1, 55, 52, BJ_ABSENT, 2, 54};
    static const uint64_t want[] = {BJ_ABSENT, 60, 60, 55, 55, 55, 55, 54};
    struct bj_gpu_dev dev = {.parent = -1,
                             .present = true,
                             .idle_uw = BJ_ABSENT,
                             .level_uw = BJ_ABSENT};
    struct bj_gpus g = {.conf = &every_5_sec, .dev = &dev, .n = 1};
    (void)state;
    for (size_t i = 0; i < sizeof(watts) / sizeof(watts[0]); i++) {
        dev.now.use.power_uw = watts[i];
        bj_gpus_meter(&g, 0);
        assert_int_equal(dev.idle_uw, want[i]);
    }
}

/* The counter of another source, whose start is another one, neither adds its
 * difference nor falls; it counts when the first has been silent. */
static void test_two_counters(void **state)
{
    /* joules; the source; the total then */
    static const uint64_t read[][3] = {
        {1000, 0, 0},   {1100, 0, 100}, {1900, 6, 100},
        {1300, 0, 300}, {2100, 6, 300}, {2200, 6, 300},
        {2300, 6, 300}, {2400, 6, 300}, {2500, 6, 400}};
    struct bj_gpu_dev dev = {.parent = -1, .present = true};
    struct bj_gpus g = {.conf = &every_5_sec, .dev = &dev, .n = 1};
    (void)state;
    dev.now.use.power_uw = dev.now.use.power_limit_uw = BJ_ABSENT;
    for (size_t i = 0; i < sizeof(read) / sizeof(read[0]); i++) {
        dev.now.energy_raw_uj = read[i][0] * SECOND;
        dev.now.counter = (unsigned)read[i][1];
        dev.stamp_usec = (i + 1) * 5 * SECOND;
        bj_gpus_count(&g, &dev, &dev.energy);
        if (dev.energy.counter_stamp_usec == dev.stamp_usec)
            dev.counter = dev.now.counter;
        assert_int_equal(dev.energy.total_uj, read[i][2] * SECOND);
    }
    assert_int_equal(dev.energy.resets, 1);
    assert_int_equal(dev.energy.implausible, 0);
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
    struct bj_gpus g = {
        .conf = &every_5_sec, .dev = dev, .n = 4, .hold = hold, .nholds = 3};
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

/* A claim that is read 20 s after the job began, of a device that passes take
 * every 5 s although it is read every second: what the job has held since its
 * begin counts, as idle only if nothing ran on the device since then. */
static void test_late_claim(void **state)
{
    static const struct {
        int first, since, used;
        uint64_t held, idle; /* seconds */
    } late[] = {{90, 50, 0, 20, 20},  {90, 50, 89, 20, 20}, {90, 50, 91, 20, 5},
                {90, 100, 0, 10, 10}, {90, 107, 0, 5, 5},   {107, 50, 0, 3, 3}};
    (void)state;
    for (size_t i = 0; i < sizeof(late) / sizeof(late[0]); i++) {
        const struct bj_conf conf = {.gpu_usec = SECOND,
                                     .energy.period_usec = 5 * SECOND};
        struct bj_gpu_set *set = calloc(1, sizeof(*set));
        struct bj_track track = {
            .life = {.first_usec = (uint64_t)late[i].first * SECOND}};
        struct bj_gpu_job job = {.track = &track}, *jobs = &job;
        struct bj_gpu_dev dev = {.parent = -1,
                                 .present = true,
                                 .since_usec = (uint64_t)late[i].since * SECOND,
                                 .used_usec = (uint64_t)late[i].used * SECOND,
                                 .before_usec = TO - 5 * SECOND,
                                 .stamp_usec = TO};
        struct bj_gpus g = {.conf = &conf,
                            .dev = &dev,
                            .n = 1,
                            .job = &jobs,
                            .njobs = 1,
                            .set = {set}};
        const struct bj_core core = {.conf = &conf};
        assert_non_null(set);
        set->n = 1;
        memcpy(set->v[0].uuid, "GPU-a", 6);
        set->v[0].use.busy_ppm = 0;
        dev.now = set->v[0];
        job.claim.environ = job.claim.by_uuid = true;
        memcpy(job.claim.text, "GPU-a", 6);
        bj_gpus_update_holds(&g, &core, 0);
        assert_int_equal(g.nholds, 1);
        assert_int_equal(g.hold[0].sums.held_usec, late[i].held * SECOND);
        assert_int_equal(g.hold[0].sums.idle_usec, late[i].idle * SECOND);
        /* The job ends 2 s after that reading. */
        dev.before_usec = TO;
        dev.stamp_usec = TO + 5 * SECOND;
        track.life.end_usec = TO + 2 * SECOND;
        for (int again = 0; again < 2; again++) {
            bj_gpus_update_holds(&g, &core, 0);
            assert_int_equal(g.hold[0].sums.held_usec,
                             (late[i].held + 2) * SECOND);
            assert_int_equal(g.hold[0].sums.idle_usec,
                             (late[i].idle + 2) * SECOND);
        }
        free(g.hold);
        free(set);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_give),
                                       cmocka_unit_test(test_held_back),
                                       cmocka_unit_test(test_first_trace),
                                       cmocka_unit_test(test_idle_power),
                                       cmocka_unit_test(test_two_counters),
                                       cmocka_unit_test(test_compute_instances),
                                       cmocka_unit_test(test_late_claim)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

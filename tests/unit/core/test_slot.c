/* Slots of meters, with simulated meters. */
#include "core/energy/meters.h"

#include "base/clock.h"
#include "tests/unit/lib/testclock.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND 1000000u
#define PERIOD 20000u /* of slow meters */

/* What the simulated meters do next, and counts of their calls. */
static struct {
    bool present[2];
    int open_code[2], code; /* results of open and read */
    size_t zones;
    uint64_t energy_uj;
    atomic_uint opened[2], closed, reads;
    atomic_bool hang, waiting; /* read waits until hang is false */
    bool obeys_stop;
    char log[2048];
} fake;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t slow_usec;

static int open_fake(int which, const struct bj_meter_env *env, void **ret,
                     struct bj_err *err)
{
    if (fake.open_code[which] < 0)
        return bj_err_set(err, fake.open_code[which], "open of %d", which);
    fake.opened[which]++;
    *ret = (void *)env;
    return 0;
}

static int open_first(const struct bj_meter_env *env, void **ret,
                      struct bj_err *err)
{
    return open_fake(0, env, ret, err);
}

static int open_second(const struct bj_meter_env *env, void **ret,
                       struct bj_err *err)
{
    return open_fake(1, env, ret, err);
}

static int read_fake(void *m, struct bj_meter_sample *out, struct bj_err *err)
{
    const struct bj_meter_env *env = m;
    fake.reads++;
    while (atomic_load(&fake.hang)) {
        atomic_store(&fake.waiting, true);
        if (fake.obeys_stop && atomic_load(env->stop))
            return -ECANCELED;
        sched_yield();
    }
    for (size_t i = 0; i < fake.zones; i++) {
        struct bj_zone_sample *z = &out->zone[out->n++];
        *z = (struct bj_zone_sample){.role = BJ_ZONE_CPU,
                                     .energy_uj = fake.energy_uj,
                                     .range_uj = BJ_ABSENT,
                                     .power_uw = BJ_ABSENT,
                                     .limit_uw = BJ_ABSENT,
                                     .max_uw = BJ_ABSENT,
                                     .stamp_usec = BJ_ABSENT};
        snprintf(z->name, sizeof(z->name), "zone-%zu", i);
    }
    return fake.code < 0 ? bj_err_set(err, fake.code, "what went wrong") : 0;
}

static void close_fake(void *m)
{
    (void)m;
    fake.closed++;
}

static bool first_present(const struct bj_meter_env *env)
{
    (void)env;
    return fake.present[0];
}

static bool second_present(const struct bj_meter_env *env)
{
    (void)env;
    return fake.present[1];
}

#define KIND(text, is_slow, is_present, opens)                                 \
    {                                                                          \
        .name = text, .slow = is_slow, .present = is_present, .open = opens,   \
        .read = read_fake, .close = close_fake                                 \
    }

static const struct bj_meter_kind fast[2] = {
    KIND("one", false, first_present, open_first),
    KIND("two", false, second_present, open_second)};
static const struct bj_meter_kind slow =
    KIND("slow", true, first_present, open_first);

static int host_thread(void *ctx, pthread_t *ret, void *(*fn)(void *),
                       void *arg, const char *name)
{
    (void)ctx;
    (void)name;
    return -pthread_create(ret, NULL, fn, arg);
}

static void host_log(void *ctx, enum bj_log_level level, const char *msg)
{
    (void)ctx;
    pthread_mutex_lock(&log_lock);
    size_t n = strlen(fake.log);
    snprintf(fake.log + n, sizeof(fake.log) - n, "%d %s\n", (int)level, msg);
    pthread_mutex_unlock(&log_lock);
}

static struct bj_slot *make_as(const struct bj_meter_kind *a,
                               const struct bj_meter_kind *b, bool forced)
{
    static struct bj_energy_conf conf = {.period_usec = 5 * SECOND};
    conf.slow_usec = slow_usec;
    const struct bj_meter_env env = {.conf = &conf, .forced = forced};
    const struct bj_host host = {NULL, host_thread, host_log, false};
    const struct bj_meter_kind *const kinds[] = {a, b};
    struct bj_slot *s;
    assert_int_equal(bj_slot_new(kinds, b ? 2 : 1, &env, &host, &s), 0);
    return s;
}

static struct bj_slot *make(const struct bj_meter_kind *a,
                            const struct bj_meter_kind *b)
{
    return make_as(a, b, false);
}

static int reset(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof(fake));
    fake.present[0] = fake.present[1] = true;
    fake.zones = 1;
    slow_usec = PERIOD;
    testclock_stop();
    return 0;
}

static int run_clock(void **state)
{
    (void)state;
    testclock_run();
    return 0;
}

static struct bj_slot_view view(struct bj_slot *s)
{
    static struct bj_slot_view v;
    bj_slot_view(s, 0, &v);
    return v;
}

/* Wait until the slot's thread makes condition true; main() sets an alarm. */
#define WAIT_FOR(condition)                                                    \
    while (!(condition))                                                       \
    sched_yield()

static void test_first_present_meter(void **state)
{
    (void)state;
    struct bj_slot *s = make(&fast[0], &fast[1]);
    fake.present[0] = false;
    uint64_t now = bj_clock_boot_usec();
    assert_true(bj_slot_search(s, now));
    assert_int_equal(fake.opened[0], 0);
    assert_int_equal(fake.opened[1], 1);
    assert_ptr_equal(view(s).kind, &fast[1]);
    assert_string_equal(fake.log, "2 power meter two: works\n");
    fake.energy_uj = 1500;
    testclock_advance(10);
    bj_slot_tick(s, now);
    assert_int_equal(view(s).zone[0].accum.total_uj, 1500);
    bj_slot_free(s);
    assert_int_equal(fake.closed, 1);
}

/* If a meter cannot be opened, the next one is tried. */
static void test_next_after_a_fault(void **state)
{
    (void)state;
    struct bj_slot *s = make(&fast[0], &fast[1]);
    fake.open_code[0] = -EACCES;
    assert_true(bj_slot_search(s, bj_clock_boot_usec()));
    assert_int_equal(fake.opened[1], 1);
    assert_true(view(s).running);
    bj_slot_free(s);
}

static void test_none(void **state)
{
    (void)state;
    struct bj_slot *s = make(&fast[0], &fast[1]);
    uint64_t now = bj_clock_boot_usec();
    fake.present[0] = fake.present[1] = false;
    assert_false(bj_slot_search(s, now));
    fake.present[0] = true;
    assert_false(bj_slot_search(s, now + SECOND)); /* too early */
    fake.open_code[0] = -ENODEV;
    assert_false(bj_slot_search(s, now + 61 * SECOND));
    assert_false(bj_slot_has_values(s));
    fake.open_code[0] = 0;
    assert_true(bj_slot_search(s, now + 122 * SECOND));
    assert_string_equal(fake.log, "2 power meter one: works\n");
    bj_slot_free(s);
}

/* A meter named by an option but missing is logged once. */
static void test_named_and_missing(void **state)
{
    static const char logged[] =
        "1 power meter one: named by energy.meter, and "
        "not there: No such device\n";
    (void)state;
    uint64_t now = bj_clock_boot_usec();
    for (int late = 0; late < 2; late++) {
        struct bj_slot *s = make_as(&fast[0], NULL, true);
        fake.log[0] = '\0';
        fake.present[0] = late;
        fake.open_code[0] = -ENODEV;
        assert_false(bj_slot_search(s, now));
        assert_string_equal(fake.log, logged);
        assert_false(bj_slot_search(s, now + 61 * SECOND));
        fake.present[0] = true;
        assert_false(bj_slot_search(s, now + 122 * SECOND));
        assert_string_equal(fake.log, logged);
        bj_slot_free(s);
    }
}

/* If a read returns zones and an error, the zones count. */
static void test_zones_and_an_error(void **state)
{
    (void)state;
    struct bj_slot *s = make(&fast[0], NULL);
    uint64_t now = bj_clock_boot_usec();
    bj_slot_search(s, now);
    fake.energy_uj = 700;
    fake.code = -EIO;
    testclock_advance(10);
    bj_slot_tick(s, now);
    bj_slot_tick(s, now);
    struct bj_slot_view v = view(s);
    assert_true(v.running && v.failing);
    assert_int_equal(v.faults[1], 2); /* io */
    assert_int_equal(v.zone[0].accum.total_uj, 700);
    fake.code = 0;
    bj_slot_tick(s, now);
    /* logged when the fault begins and when it ends */
    assert_string_equal(fake.log, "2 power meter one: works\n"
                                  "1 power meter one: what went wrong: "
                                  "Input/output error\n"
                                  "2 power meter one: works\n");
    bj_slot_free(s);
}

static void test_kinds_of_fault(void **state)
{
    static const struct {
        int code;
        const char *name;
    } cases[] = {{-ETIMEDOUT, "timeout"}, {-EIO, "io"},
                 {-ENOTTY, "io"},         {-EACCES, "denied"},
                 {-EPERM, "denied"},      {-EBADMSG, "protocol"},
                 {-ERANGE, "implausible"}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        reset(NULL);
        struct bj_slot *s = make(&fast[0], NULL);
        fake.code = cases[i].code;
        bj_slot_search(s, bj_clock_boot_usec());
        struct bj_slot_view v = view(s);
        for (int k = 0; k < BJ_METER_FAULTS; k++)
            assert_int_equal(v.faults[k], strcmp(bj_meter_fault_names[k],
                                                 cases[i].name) == 0);
        bj_slot_free(s);
    }
}

/* A meter that disappears is closed and searched again. It is not a fault, and
 * its total stays. */
static void test_gone_and_back(void **state)
{
    (void)state;
    struct bj_slot *s = make(&fast[0], NULL);
    uint64_t now = bj_clock_boot_usec();
    bj_slot_search(s, now);
    fake.energy_uj = 40;
    testclock_advance(10);
    bj_slot_tick(s, now);
    fake.code = -ENODEV;
    bj_slot_tick(s, now);
    assert_int_equal(fake.closed, 1);
    assert_false(view(s).running || view(s).failing);
    fake.code = 0;
    bj_slot_tick(s, now);
    assert_int_equal(fake.opened[0], 1);
    assert_true(bj_slot_search(s, now + 61 * SECOND));
    bj_slot_tick(s, now + 61 * SECOND);
    assert_int_equal(fake.opened[0], 2);
    assert_int_equal(view(s).nzones, 1);
    assert_int_equal(view(s).zone[0].accum.total_uj, 40);
    bj_slot_free(s);
}

static void test_restored(void **state)
{
    (void)state;
    struct bj_slot *s = make(&fast[0], NULL);
    uint64_t now = bj_clock_boot_usec();
    struct bj_meter_zone z = {.name = "zone-0",
                              .role = BJ_ZONE_CPU,
                              .accum = {.total_uj = 1000,
                                        .raw_uj = 50,
                                        .stamp_usec = now - SECOND,
                                        .counter_stamp_usec = now - SECOND}};
    assert_int_equal(bj_slot_restore(s, BJ_SLICE("other"), &z), -ENOENT);
    assert_int_equal(bj_slot_restore(s, BJ_SLICE("one"), &z), 0);
    assert_true(bj_slot_has_values(s));
    fake.energy_uj = 80;
    bj_slot_search(s, now);
    assert_int_equal(view(s).nzones, 1);
    assert_int_equal(view(s).zone[0].accum.total_uj, 1030);
    bj_slot_free(s);
}

/* The counter of a meter is not compared with that of another kind of meter. */
static void test_another_kind(void **state)
{
    (void)state;
    struct bj_slot *s = make(&fast[0], &fast[1]);
    uint64_t now = bj_clock_boot_usec();
    bj_slot_search(s, now);
    fake.energy_uj = 100;
    testclock_advance(10); /* samples of the same microsecond count as one */
    bj_slot_tick(s, now);
    fake.code = -ENODEV;
    bj_slot_tick(s, now);
    fake.code = 0;
    fake.present[0] = false;
    fake.energy_uj = 1000000;
    bj_slot_search(s, now + 61 * SECOND);
    testclock_advance(10);
    bj_slot_tick(s, now + 61 * SECOND);
    assert_ptr_equal(view(s).kind, &fast[1]);
    assert_int_equal(view(s).zone[0].accum.total_uj, 100);
    fake.energy_uj += 5;
    testclock_advance(10);
    bj_slot_tick(s, now + 62 * SECOND);
    assert_int_equal(view(s).zone[0].accum.total_uj, 105);
    bj_slot_free(s);
}

static void test_thread(void **state)
{
    (void)state;
    struct bj_slot *s = make(&slow, NULL);
    assert_true(bj_slot_search(s, bj_clock_boot_usec()));
    WAIT_FOR(fake.reads == 1);
    for (unsigned n = 2; n < 5; n++) {
        testclock_await(1);
        testclock_advance(PERIOD);
        WAIT_FOR(fake.reads == n);
    }
    assert_true(view(s).running);
    bj_slot_free(s);
    assert_int_equal(fake.closed, 1);
    testclock_advance(3 * PERIOD);
    assert_int_equal(fake.reads, 4);
}

/* A meter with a thread is read again for a page, and before the next one. */
static void test_pages(void **state)
{
    (void)state;
    enum { LONG = 20 * SECOND };
    slow_usec = LONG;
    struct bj_slot *s = make(&slow, NULL);
    const uint64_t gap = 100 * LONG;
    assert_true(bj_slot_search(s, bj_clock_boot_usec()));
    for (unsigned n = 1; n < 100; n++) {
        WAIT_FOR(fake.reads == n);
        testclock_await(1);
        if (n == 40) { /* a period ago */
            testclock_advance(LONG - 1);
            assert_false(bj_slot_hurry(s, bj_clock_boot_usec(), gap));
            bj_slot_page(s, bj_clock_boot_usec(), gap);
            testclock_advance(1);
        } else if (n == 50) { /* a tenth of this gap is 1.5 periods */
            fake.energy_uj = 77;
            testclock_advance(LONG - 1);
            assert_true(bj_slot_hurry(s, bj_clock_boot_usec(), 9 * LONG));
            bj_slot_await(s, bj_clock_boot_usec() + SECOND);
            assert_int_equal(fake.reads, n + 1);
            assert_int_equal(view(s).good_usec, bj_clock_boot_usec());
        } else {
            testclock_advance(LONG);
        }
    }
    /* The next page is expected in two and a half periods. */
    WAIT_FOR(fake.reads == 100);
    testclock_await(1);
    bj_slot_page(s, bj_clock_boot_usec(), 5 * LONG / 2);
    testclock_advance(LONG);
    WAIT_FOR(fake.reads == 101);
    testclock_await(1);
    assert_int_equal(testclock_deadline(),
                     bj_clock_boot_usec() + LONG + LONG / 2 - LONG / 8);
    fake.code = -EIO; /* a failing meter is not read more often */
    testclock_advance(LONG + LONG / 2 - LONG / 8);
    WAIT_FOR(fake.reads == 102);
    testclock_await(1);
    testclock_advance(LONG / 2);
    assert_false(bj_slot_hurry(s, bj_clock_boot_usec(), LONG));
    bj_slot_page(s, bj_clock_boot_usec(), LONG);
    assert_int_equal(testclock_deadline(), bj_clock_boot_usec() + LONG / 2);
    bj_slot_free(s);
}

static void *free_slot(void *slot)
{
    bj_slot_free(slot);
    return NULL;
}

/* A meter that hangs delays neither a tick nor a view. bj_slot_free() waits two
 * seconds for it, or less if the meter obeys the stop flag. */
static void test_hanging(void **state)
{
    (void)state;
    for (int obeys = 0; obeys < 2; obeys++) {
        pthread_t t;
        reset(NULL);
        fake.obeys_stop = obeys;
        fake.hang = true;
        struct bj_slot *s = make(&slow, NULL);
        uint64_t begun = bj_clock_boot_usec();
        bj_slot_search(s, begun);
        WAIT_FOR(atomic_load(&fake.waiting));
        bj_slot_tick(s, begun);
        assert_false(view(s).ran);
        assert_int_equal(pthread_create(&t, NULL, free_slot, s), 0);
        if (!obeys) {
            testclock_await(1);
            assert_int_equal(testclock_deadline(), begun + 2 * SECOND);
            testclock_advance(2 * SECOND);
        }
        pthread_join(t, NULL);
        atomic_store(&fake.hang, false);
        /* An abandoned thread closes the meter when it returns. */
        WAIT_FOR(fake.closed == 1);
    }
}

static void test_back_off(void **state)
{
    (void)state;
    struct bj_slot *s = make(&slow, NULL);
    fake.code = -ETIMEDOUT;
    bj_slot_search(s, bj_clock_boot_usec());
    for (unsigned n = 1; n < 6; n++) {
        WAIT_FOR(fake.reads == n);
        testclock_await(1);
        assert_int_equal(testclock_deadline(),
                         bj_clock_boot_usec() + (PERIOD << (n - 1)));
        testclock_advance(PERIOD << (n - 1));
    }
    bj_slot_free(s);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, reset, run_clock)
    alarm(60);
    const struct CMUnitTest tests[] = {
        T(test_first_present_meter),
        T(test_next_after_a_fault),
        T(test_none),
        T(test_named_and_missing),
        T(test_zones_and_an_error),
        T(test_kinds_of_fault),
        T(test_gone_and_back),
        T(test_restored),
        T(test_another_kind),
        T(test_thread),
        T(test_pages),
        T(test_hanging),
        T(test_back_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

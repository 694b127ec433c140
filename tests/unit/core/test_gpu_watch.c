/* The thread that reads a driver, and drivers that hang. */
#include "tests/unit/core/test_gpu.h"

#include "base/clock.h"
#include "core/gpu/watch.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { MSEC = 1000, PERIOD = 20 * MSEC, HANG = 200 * MSEC };

#define HOUR UINT64_C(3600000000)

static struct gpu_rig rig;
static struct bj_gpu_watch *watch;
static char lines[2048];
static pthread_mutex_t lines_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int threads, ended;

/* The function that the thread of a source runs. */
static struct {
    void *(*fn)(void *);
    void *arg;
} thread;

static void *run_thread(void *unused)
{
    (void)unused;
    thread.fn(thread.arg);
    atomic_fetch_add(&ended, 1);
    return NULL;
}

static int start_thread(void *ctx, pthread_t *ret, void *(*fn)(void *),
                        void *arg, const char *name)
{
    (void)ctx;
    (void)name;
    thread.fn = fn;
    thread.arg = arg;
    atomic_fetch_add(&threads, 1);
    return -pthread_create(ret, NULL, run_thread, NULL);
}

static void keep(void *ctx, enum bj_log_level level, const char *msg)
{
    (void)ctx;
    (void)level;
    pthread_mutex_lock(&lines_lock);
    size_t n = strlen(lines);
    snprintf(lines + n, sizeof(lines) - n, "%s\n", msg);
    pthread_mutex_unlock(&lines_lock);
}

static bool logged(const char *what)
{
    pthread_mutex_lock(&lines_lock);
    bool found = strstr(lines, what) != NULL;
    pthread_mutex_unlock(&lines_lock);
    return found;
}

static void begin(const char *script)
{
    const struct bj_host host = {NULL, start_thread, keep, false};
    gpu_begin(&rig, script);
    pthread_mutex_lock(&lines_lock);
    lines[0] = '\0';
    pthread_mutex_unlock(&lines_lock);
    atomic_store(&threads, 0);
    atomic_store(&ended, 0);
    assert_int_equal(
        bj_gpu_watch_new(&bj_gpu_nvml, &rig.env, &host, PERIOD, HANG, &watch),
        0);
}

static int teardown(void **state)
{
    (void)state;
    bj_gpu_watch_free(watch);
    watch = NULL;
    gpu_end(&rig);
    return 0;
}

static struct bj_gpu_watch_stat stat_now(void)
{
    struct bj_gpu_watch_stat s;
    bj_gpu_watch_stat(watch, bj_clock_boot_usec(), &s);
    return s;
}

/* Wait until a reading has this power on device 0. */
static bool wait_power(uint64_t uw)
{
    while (!bj_gpu_watch_take(watch, &rig.set) || rig.set.n == 0 ||
           rig.set.v[0].use.power_uw != uw)
        sched_yield();
    return true;
}

static void test_reads(void **state)
{
    (void)state;
    begin(GPU_A "gpu 0 power 1000\n");
    assert_true(bj_gpu_watch_search(watch, bj_clock_boot_usec()));
    assert_true(wait_power(1000000));
    fake_script(rig.dir, GPU_A "gpu 0 power 2000\n");
    assert_true(wait_power(2000000));
    struct bj_gpu_watch_stat s = stat_now();
    assert_true(s.ran && s.running && !s.failing && !s.hung);
    assert_true(s.good_usec > 0);
    assert_true(logged("GPU source nvml: works"));
}

/* A reading contains the time at which it began; later use may be missing. */
static void test_times(void **state)
{
    (void)state;
    uint64_t before = bj_clock_boot_usec();
    begin(GPU_A "gpu 0 power 1000\nhang nvmlDeviceGetCount_v2 50\n");
    assert_true(bj_gpu_watch_search(watch, before));
    for (int i = 0; i < 3; i++) {
        assert_true(wait_power(1000000));
        assert_true(rig.set.begun_usec >= before);
        assert_true(rig.set.stamp_usec >= rig.set.begun_usec + 50 * MSEC);
        before = rig.set.stamp_usec;
    }
}

/* A page that comes a second after a reading gets a new one, unless it is a
 * tenth of the time since the page before. */
static void test_page(void **state)
{
    (void)state;
    const struct bj_host host = {NULL, start_thread, keep, false};
    bool hurries = false;
    begin(GPU_A);
    /* Again where the machine was slow: no page waits for a long reading, or
     * for one that has not ended since the page before. */
    for (int i = 0; i < 100 && !hurries; i++) {
        bj_gpu_watch_free(watch);
        fake_script(rig.dir, GPU_A "gpu 0 power 1000\n");
        assert_int_equal(bj_gpu_watch_new(&bj_gpu_nvml, &rig.env, &host, HOUR,
                                          60 * 1000 * MSEC, &watch),
                         0);
        assert_true(bj_gpu_watch_search(watch, bj_clock_boot_usec()));
        memset(&rig.set, 0, sizeof(rig.set));
        assert_true(wait_power(1000000));
        fake_script(rig.dir, GPU_A "gpu 0 power 2000\n");
        const uint64_t later = bj_clock_boot_usec() + HOUR;
        assert_false(bj_gpu_watch_hurry(watch, later, 11 * HOUR));
        hurries = bj_gpu_watch_hurry(watch, later, 2 * HOUR);
    }
    assert_true(hurries);
    bj_gpu_watch_await(watch, UINT64_MAX);
    assert_true(bj_gpu_watch_take(watch, &rig.set));
    assert_int_equal(rig.set.v[0].use.power_uw, 2000000);
}

/* No library: no thread, no message. */
static void test_no_library(void **state)
{
    (void)state;
    begin(GPU_A);
    bj_gpu_watch_free(watch);
    rig.env.nvml = "/nonexistent/lib.so";
    const struct bj_host host = {NULL, start_thread, keep, false};
    assert_int_equal(
        bj_gpu_watch_new(&bj_gpu_nvml, &rig.env, &host, PERIOD, HANG, &watch),
        0);
    assert_false(bj_gpu_watch_search(watch, bj_clock_boot_usec()));
    assert_int_equal(atomic_load(&threads), 0);
    assert_false(stat_now().ran);
    assert_string_equal(lines, "");
}

/* A driver without a GPU logs nothing, too. */
static void test_no_gpu(void **state)
{
    (void)state;
    begin("");
    uint64_t now = bj_clock_boot_usec();
    assert_true(bj_gpu_watch_search(watch, now));
    while (bj_gpu_watch_search(watch, now))
        sched_yield();
    assert_false(stat_now().ran);
    assert_string_equal(lines, "");
    /* The next search is a minute later. */
    fake_script(rig.dir, GPU_A "gpu 0 power 1000\n");
    assert_true(bj_gpu_watch_search(watch, now + 61000 * MSEC));
    assert_true(wait_power(1000000));
}

/* While the driver hangs, no caller waits and one message is logged; then
 * readings continue. */
static void test_hang(void **state)
{
    (void)state;
    begin(GPU_A "gpu 0 power 1000\n");
    assert_true(bj_gpu_watch_search(watch, bj_clock_boot_usec()));
    assert_true(wait_power(1000000));
    fake_script(rig.dir,
                GPU_A "gpu 0 power 3000\nhang nvmlDeviceGetPowerUsage 4000\n");
    while (!stat_now().hung)
        sched_yield();
    assert_true(stat_now().failing);
    assert_true(logged("the driver does not answer"));
    uint64_t faults = stat_now().faults;
    assert_int_equal(stat_now().faults, faults);
    fake_script(rig.dir, GPU_A "gpu 0 power 4000\n");
    assert_true(wait_power(4000000));
    assert_false(stat_now().hung);
    assert_false(stat_now().failing);
}

/* A thread that hangs is abandoned after two seconds.  When it returns, its
 * memory is still there; the host may be gone and gets no message. */
static void test_abandoned(void **state)
{
    (void)state;
    begin(GPU_A "hang nvmlInit_v2 4000\n");
    assert_true(bj_gpu_watch_search(watch, bj_clock_boot_usec()));
    while (!stat_now().hung)
        sched_yield();
    bj_gpu_watch_free(watch);
    watch = NULL;
    assert_int_equal(atomic_load(&ended), 0);
    while (atomic_load(&ended) == 0)
        sched_yield();
    assert_false(logged("works"));
}

/* The number of devices changes: the library is opened again at once. */
static void test_more_devices(void **state)
{
    (void)state;
    begin(GPU_A "gpu 0 power 1000\n");
    assert_true(bj_gpu_watch_search(watch, bj_clock_boot_usec()));
    assert_true(wait_power(1000000));
    fake_script(rig.dir, GPU_A GPU_B "gpu 0 power 5000\n");
    assert_true(wait_power(5000000));
    assert_int_equal(rig.set.n, 2);
    assert_false(stat_now().failing);
}

#define TEST(f) cmocka_unit_test_teardown(f, teardown)

int main(void)
{
    alarm(120); /* for the loops that wait for the thread */
    const struct CMUnitTest tests[] = {
        TEST(test_reads),        TEST(test_times), TEST(test_no_library),
        TEST(test_no_gpu),       TEST(test_hang),  TEST(test_abandoned),
        TEST(test_more_devices), TEST(test_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

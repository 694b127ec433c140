/* The plugin's callbacks in the order of collectd, which is simulated, with a
 * real core over a tree without jobs. */
#include "collectd-plugin/config.h"
#include "tests/unit/lib/fakecollectd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

void module_register(void);

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* --- configuration items ------------------------------------------------- */

static oconfig_value_t str(const char *s)
{
    return (oconfig_value_t){.value.string = (char *)(uintptr_t)s,
                             .type = OCONFIG_TYPE_STRING};
}

static oconfig_value_t num(double d)
{
    return (oconfig_value_t){.value.number = d, .type = OCONFIG_TYPE_NUMBER};
}

static oconfig_value_t boolean(int b)
{
    return (oconfig_value_t){.value.boolean = b, .type = OCONFIG_TYPE_BOOLEAN};
}

/* <Plugin batchjob> with one option. */
static int configure(const char *key, oconfig_value_t *values, int n)
{
    oconfig_item_t option = {
        .key = (char *)(uintptr_t)key, .values = values, .values_num = n};
    oconfig_item_t block = {.children = &option, .children_num = 1};
    return bj_double.config(&block);
}

static int configure_one(const char *key, oconfig_value_t value)
{
    return configure(key, &value, 1);
}

static const char root[] = "/nonexistent/batchjob-test";

static int setup(void **state)
{
    (void)state;
    bj_double_reset();
    module_register();
    assert_int_equal(configure_one("PathCgroupfs", str(root)), 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(bj_double.shutdown(), 0);
    assert_int_equal(bj_double.shutdown(), 0); /* nothing left to free */
    assert_int_equal(bj_double.metas, 0);
    bj_double_reset();
    return 0;
}

/* --- cases --------------------------------------------------------------- */

static void test_register(void **state)
{
    (void)state;
    bj_double_reset();
    module_register();
    assert_string_equal(bj_double.config_name, "batchjob");
    assert_string_equal(bj_double.init_name, "batchjob");
    assert_string_equal(bj_double.shutdown_name, "batchjob");
    assert_int_equal(bj_double.readers, 0);
    assert_int_equal(bj_double.nsets, 0);
    assert_int_equal(bj_double.threads, 0);
    assert_string_equal(bj_double.log, "");
}

static void test_config_good(void **state)
{
    (void)state;
    assert_int_equal(configure_one("PathProcfs", str("/proc")), 0);
    assert_int_equal(configure_one("pathprocfs", str("/proc")), 0);
    assert_int_equal(configure_one("CollectorProcess", boolean(1)), 0);
    assert_int_equal(configure_one("CollectorProcess", boolean(0)), 0);
    assert_int_equal(configure_one("CollectorProcess", str("on")), 0);
    assert_int_equal(configure_one("LimitJobs", num(100)), 0);
    assert_int_equal(configure_one("limit-jobs", str("100")), 0);
    assert_int_equal(configure_one("JobGrace", num(0.5)), 0);
    assert_string_equal(bj_double.log, "");
    /* the options are stored, nothing is started */
    assert_int_equal(bj_double.threads + bj_double.readers, 0);
}

static void test_config_list(void **state)
{
    (void)state;
    struct bj_conf conf = {0};
    const struct bj_optset set = {bj_conf_opts, &conf};
    struct bj_err err = {0};
    oconfig_value_t v[] = {str("a=/a"), str("b=/b")};
    oconfig_item_t options[] = {
        {.key = (char[]){"CollectorProcessPlace"},
         .values = v,
         .values_num = 2},
        {.key = (char[]){"CollectorProcessPlace"},
         .values = v,
         .values_num = 1},
    };
    oconfig_item_t block = {.children = options, .children_num = 2};
    assert_int_equal(bj_opt_presets(&set, &err), 0);
    size_t before = conf.places.n;
    assert_int_equal(bj_config_block(&conf, &block, &err), 0);
    assert_int_equal(conf.places.n, before + 3);
    assert_string_equal(conf.places.v[before + 1], "b=/b");
    bj_opt_free(&set);
}

static const struct {
    const char *key;
    oconfig_value_t value;
    int n;
    const char *message; /* the log contains it */
} bad[] = {
    {"NoSuchOption",
     {{.string = (char[]){"x"}}, OCONFIG_TYPE_STRING},
     1,
     "NoSuchOption"},
    {"Path", {{.string = (char[]){"x"}}, OCONFIG_TYPE_STRING}, 1, "Path"},
    {"", {{.string = (char[]){"x"}}, OCONFIG_TYPE_STRING}, 1, "unknown"},
    {"LimitJobs",
     {{.string = (char[]){"many"}}, OCONFIG_TYPE_STRING},
     1,
     "limit.jobs"},
    {"LimitJobs", {{.number = -1}, OCONFIG_TYPE_NUMBER}, 1, "limit.jobs"},
    {"LimitJobs", {{.number = 1.5}, OCONFIG_TYPE_NUMBER}, 1, "limit.jobs"},
    {"LimitJobs", {{.number = 1e30}, OCONFIG_TYPE_NUMBER}, 1, "limit.jobs"},
    {"LimitJobs", {{.boolean = 1}, OCONFIG_TYPE_BOOLEAN}, 1, "limit.jobs"},
    {"LimitJobs", {{.number = 1}, OCONFIG_TYPE_NUMBER}, 0, "needs a value"},
    {"LimitJobs", {{.number = 1}, OCONFIG_TYPE_NUMBER}, 2, "takes one value"},
    {"CollectorProcess",
     {{.number = 7}, OCONFIG_TYPE_NUMBER},
     1,
     "collector.process"},
};

static void test_config_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        oconfig_value_t v[2] = {bad[i].value, bad[i].value};
        bj_double_clear();
        assert_int_not_equal(configure(bad[i].key, v, bad[i].n), 0);
        assert_ptr_equal(strstr(bj_double.log, "error batchjob plugin: "),
                         bj_double.log);
        if (!strstr(bj_double.log, bad[i].message))
            fail_msg("'%s' not in '%s'", bad[i].message, bj_double.log);
    }
}

static void test_config_block_inside(void **state)
{
    (void)state;
    oconfig_item_t inner = {.key = (char[]){"LimitJobs"}};
    oconfig_value_t v = num(5);
    oconfig_item_t option = {.key = (char[]){"LimitJobs"},
                             .values = &v,
                             .values_num = 1,
                             .children = &inner,
                             .children_num = 1};
    oconfig_item_t block = {.children = &option, .children_num = 1};
    assert_int_not_equal(bj_double.config(&block), 0);
    assert_non_null(strstr(bj_double.log, "LimitJobs"));
}

static void test_start_and_read(void **state)
{
    (void)state;
    assert_int_equal(bj_double.init(), 0);
    assert_int_equal(bj_double.readers, 1);
    assert_string_equal(bj_double.read_name, "batchjob");
    assert_string_equal(bj_double.read_group, "batchjob");
    assert_int_equal(bj_double.read_interval, 0);
    assert_true(bj_double.sets_registered > 100);
    assert_null(strstr(bj_double.log, "error"));
    for (int i = 0; i < 3; i++) {
        bj_double.now += TIME_T_TO_CDTIME_T(10);
        assert_int_equal(bj_double.read(NULL), 0);
    }
    assert_true(bj_double.nlines > 10);
    assert_int_equal(bj_double.unknown, 0);
    assert_int_equal(bj_double.duplicates, 0);
    assert_non_null(bj_double_find("batchjob/node_cpu_usec-user derive "));
    assert_non_null(bj_double_find("batchjob/sampler_passes derive 3"));
    assert_non_null(bj_double_find("batchjob/process_cpu_usec derive "));
    /* all values of a pass have the same time */
    for (size_t i = 1; i < bj_double.nlines; i++)
        assert_true(bj_double.times[i] == bj_double.times[i - 1] ||
                    bj_double.times[i] ==
                        bj_double.times[i - 1] + TIME_T_TO_CDTIME_T(10));
}

/* Types that the site has defined already are not registered. */
static void test_site_types(void **state)
{
    (void)state;
    bj_double_site_type("cpu", DS_TYPE_DERIVE, 1);
    bj_double_site_type("job_cpu_usec", DS_TYPE_DERIVE, 1);
    bj_double_site_type("job_user", DS_TYPE_GAUGE, 1);
    assert_int_equal(bj_double.init(), 0);
    assert_int_equal(bj_double.sets_registered, bj_double.nsets - 3);
    assert_non_null(strstr(bj_double.log, " 2 types from the TypesDB"));
}

static const struct {
    const char *name;
    int type;
    size_t ds_num;
} wrong[] = {
    {"job_cpu_usec", DS_TYPE_GAUGE, 1},
    {"job_cpu_usec", DS_TYPE_COUNTER, 1},
    {"job_cpu_usec", DS_TYPE_DERIVE, 2},
    {"job_user", DS_TYPE_DERIVE, 1},
    {"build_version", DS_TYPE_ABSOLUTE, 1},
};

static void test_wrong_types(void **state)
{
    for (size_t i = 0; i < COUNT(wrong); i++) {
        setup(state);
        bj_double_site_type(wrong[i].name, wrong[i].type, wrong[i].ds_num);
        assert_int_not_equal(bj_double.init(), 0);
        assert_int_equal(bj_double.readers, 0);
        assert_int_equal(bj_double.threads, 0);
        assert_ptr_equal(strstr(bj_double.log, "error batchjob plugin: "),
                         bj_double.log);
        assert_non_null(strstr(bj_double.log, wrong[i].name));
        teardown(state);
    }
    setup(state);
}

/* A failed start leaves no reader and can be repeated. */
static void test_start_fails(void **state)
{
    (void)state;
    bj_double.fail_thread = EAGAIN;
    assert_int_not_equal(bj_double.init(), 0);
    assert_int_equal(bj_double.readers, 0);
    assert_non_null(strstr(bj_double.log, "error batchjob plugin: "));
    bj_double.fail_thread = 0;
    bj_double.fail_read = EINVAL;
    assert_int_not_equal(bj_double.init(), 0);
    assert_int_equal(bj_double.readers, 0);
    bj_double.fail_read = 0;
    assert_int_equal(bj_double.init(), 0);
    assert_int_equal(bj_double.read(NULL), 0);
}

static const struct {
    uint64_t limit, max_files, kept, base;
} bounds[] = {
    {1024, 4096, 256, 0}, /* the usual limit of a daemon */
    {1024, 100, 100, 0},
    {512, 4096, 0, 0},
    {256, 4096, 0, 0},
    {0, 4096, 0, 0},
    {1535, 4096, 511, 1024},
    {1536, 4096, 512, 1024},
    {4096, 4096, 1792, 1024},
    {65536, 4096, 4096, 1024},
    {UINT64_MAX, 4096, 4096, 1024},
};

static void test_bounds(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bounds); i++) {
        struct bj_conf conf = {.max_files = bounds[i].max_files};
        bj_config_bound_files(&conf, bounds[i].limit);
        assert_int_equal(conf.max_files, bounds[i].kept);
        assert_int_equal(conf.fd_base, bounds[i].base);
        if (conf.fd_base > 0)
            assert_true(conf.fd_base + conf.max_files <= bounds[i].limit);
    }
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_register),   T(test_config_good),         T(test_config_list),
        T(test_config_bad), T(test_config_block_inside), T(test_start_and_read),
        T(test_site_types), T(test_wrong_types),         T(test_start_fails),
        T(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

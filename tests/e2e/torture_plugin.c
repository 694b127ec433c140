/* A pass of the collectd plugin in a simulated collectd: torture_plugin
 * CGROUPFS prints the values that it dispatches, and its log on standard
 * error.  The status is 0 if the pass succeeded. */
#include "tests/unit/lib/fakecollectd.h"

#include "tests/unit/lib/fail.h"

#include <stdint.h>
#include <stdio.h>

void module_register(void);

/* Functions of the simulated collectd, whose own memory does not fail. */
int __real_plugin_dispatch_values(value_list_t const *vl);
int __wrap_plugin_dispatch_values(value_list_t const *vl);
meta_data_t *__real_meta_data_create(void);
meta_data_t *__wrap_meta_data_create(void);
int __real_meta_data_add_string(meta_data_t *md, const char *key,
                                const char *value);
int __wrap_meta_data_add_string(meta_data_t *md, const char *key,
                                const char *value);
int __real_plugin_register_data_set(const data_set_t *ds);
int __wrap_plugin_register_data_set(const data_set_t *ds);

int __wrap_plugin_dispatch_values(value_list_t const *vl)
{
    bj_fail_pause(true);
    int r = __real_plugin_dispatch_values(vl);
    bj_fail_pause(false);
    return r;
}

meta_data_t *__wrap_meta_data_create(void)
{
    bj_fail_pause(true);
    meta_data_t *md = __real_meta_data_create();
    bj_fail_pause(false);
    return md;
}

int __wrap_meta_data_add_string(meta_data_t *md, const char *key,
                                const char *value)
{
    bj_fail_pause(true);
    int r = __real_meta_data_add_string(md, key, value);
    bj_fail_pause(false);
    return r;
}

int __wrap_plugin_register_data_set(const data_set_t *ds)
{
    bj_fail_pause(true);
    int r = __real_plugin_register_data_set(ds);
    bj_fail_pause(false);
    return r;
}

static int configure(const char *key, const char *text)
{
    oconfig_value_t value = {.value.string = (char *)(uintptr_t)text,
                             .type = OCONFIG_TYPE_STRING};
    oconfig_item_t option = {
        .key = (char *)(uintptr_t)key, .values = &value, .values_num = 1};
    oconfig_item_t block = {.children = &option, .children_num = 1};
    return bj_double.config(&block);
}

int main(int argc, char **argv)
{
    int r = argc == 2 ? 0 : -1;
    bj_double_reset();
    module_register();
    if (r == 0)
        r = configure("PathCgroupfs", argv[1]);
    if (r == 0)
        r = configure("CollectorEnergy", "false");
    if (r == 0)
        r = bj_double.init();
    if (r == 0 && bj_double.read)
        r = bj_double.read(NULL);
    for (size_t i = 0; i < bj_double.nlines; i++)
        puts(bj_double.lines[i]);
    bj_double.shutdown();
    fputs(bj_double.log, stderr);
    bj_double_reset();
    return r == 0 ? 0 : 1;
}

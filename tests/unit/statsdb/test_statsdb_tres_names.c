/* statsdb/tables/tres_names.h: lists of Slurm's database, compared with the
 * output of sacct 22.05 for the same jobs. */
#include "statsdb/tables/tres_names.h"

#include "tests/unit/statsdb/test_statsdb.h"

static void test_lists(void **state)
{
    (void)state;
    static const struct {
        uint64_t id;
        const char *type, *name;
    } names[] = {
        {1, "cpu", ""},
        {2, "mem", ""},
        {3, "energy", ""},
        {4, "node", ""},
        {5, "billing", ""},
        {6, "fs", "disk"},
        {7, "vmem", ""},
        {8, "pages", ""},
        {1001, "gres", "gpu"},
        {1, "twice", ""},
        {1002, "gres", "gpu:a100"},
    };
    static const struct {
        const char *list, *requested, *used;
    } cases[] = {
        {"1=1,2=20,4=1,5=1", "billing=1,cpu=1,mem=20M,node=1",
         "billing=1,cpu=0.001,mem=20,node=1"},
        {"1=1,2=20,3=18446744073709551614,4=1,5=1",
         "billing=1,cpu=1,mem=20M,node=1", "billing=1,cpu=0.001,mem=20,node=1"},
        {"1=0,2=102400,3=0,6=3980,7=32768,8=2",
         "cpu=0,energy=0,fs/disk=3980,mem=102400M,pages=2,vmem=32768",
         "cpu=0.000,energy=0,fs/disk=3980,mem=102400,pages=2,vmem=32768"},
        {"1=64,1001=4,1002=4", "cpu=64,gres/gpu=4,gres/gpu:a100=4",
         "cpu=0.064,gres/gpu=4,gres/gpu:a100=4"},
        {"", "", ""},
        {"999=1,cpu=4,1=,=3,1,,4=2x,4=-1,4=18446744073709551616", "", ""},
        /* Slurm stores CPU time in milliseconds. */
        {",1=14100002,", "cpu=14100002", "cpu=14100.002"},
    };
    struct bj_tres_names t = {NULL, 0, 0};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_int_equal(bj_tres_names_add(&t, names[i].id,
                                           bj_slice_str(names[i].type),
                                           bj_slice_str(names[i].name)),
                         0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int requested = 0; requested < 2; requested++) {
            struct bj_buf out = {0};
            bj_tres_names_put(&t, bj_slice_str(cases[i].list), requested, &out);
            bj_buf_put(&out, "", 1);
            assert_string_equal(out.p,
                                requested ? cases[i].requested : cases[i].used);
            bj_buf_free(&out);
        }
    bj_tres_names_free(&t);
}

/* Names and lists that are too long. */
static void test_long(void **state)
{
    (void)state;
    struct bj_tres_names t = {NULL, 0, 0};
    struct bj_buf list = {0}, out = {0};
    char name[300];
    memset(name, 'x', sizeof(name));
    for (unsigned i = 0; i < 200; i++) {
        assert_int_equal(bj_tres_names_add(&t, i, BJ_SLICE("gres"),
                                           (struct bj_slice){name, i}),
                         0);
        bj_buf_printf(&list, "%s%u=%u", i ? "," : "", i, i);
    }
    bj_tres_names_put(&t, (struct bj_slice){list.p, list.len}, true, &out);
    assert_true(out.len > 64 && out.len < 64 * 140);
    bj_buf_free(&list);
    bj_buf_free(&out);
    bj_tres_names_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Job mapping files for dcgm-exporter: their content, and files that are left
 * alone. */
#include "core/gpu/lookup.h"
#include "tests/unit/lib/core.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char *top;
static char dir[256];

static int setup(void **state)
{
    (void)state;
    top = tmp_make();
    snprintf(dir, sizeof(dir), "%s/map", top);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tmp_gone();
    return 0;
}

/* The content of a file, or "gone". */
static const char *content(const char *name)
{
    static char text[256];
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *f = fopen(path, "r");
    if (!f)
        return "gone";
    text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
    fclose(f);
    return text;
}

static ino_t inode(const char *name)
{
    char path[512];
    struct stat st = {0};
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0644);
    return st.st_ino;
}

static int sync_to(struct bj_buf *map)
{
    struct bj_err err = {0};
    int r = bj_gpu_jobmap_sync(dir, (struct bj_slice){map->p, map->len}, &err);
    assert_int_equal(r, err.code);
    bj_buf_free(map);
    return r;
}

static void put(struct bj_buf *map, const char *name, const char *job)
{
    bj_gpu_jobmap_put(map, name, bj_slice_str(job));
}

static void test_files(void **state)
{
    (void)state;
    struct bj_buf map = {0};
    put(&map, "0", "4711");
    put(&map, "0", "4712");
    put(&map, "0", "4711"); /* written once */
    put(&map, "1", "4711");
    put(&map, "2.9", "4713");
    assert_int_equal(sync_to(&map), 0);
    assert_string_equal(content("0"), "4711\n4712\n");
    assert_string_equal(content("1"), "4711\n");
    assert_string_equal(content("2.9"), "4713\n");
    ino_t same = inode("1"), other = inode("0");
    /* Files with other names are left alone. */
    tmp_file("map/2.9.1", "x\n");
    tmp_file("map/README", "x\n");
    tmp_file("map/.3", "x\n");
    tmp_file("map/7", "of a process that was killed\n");
    put(&map, "0", "4712");
    put(&map, "1", "4711");
    assert_int_equal(sync_to(&map), 0);
    assert_string_equal(content("0"), "4712\n");
    assert_string_equal(content("2.9"), "gone");
    assert_string_equal(content("7"), "gone");
    assert_string_equal(content("2.9.1"), "x\n");
    assert_string_equal(content("README"), "x\n");
    assert_string_equal(content(".3"), "x\n");
    /* A file whose content stays the same is not touched, others are
     * replaced. */
    assert_int_equal(inode("1"), same);
    assert_int_not_equal(inode("0"), other);
    assert_int_equal(sync_to(&map), 0);
    assert_string_equal(content("0"), "gone");
    assert_string_equal(content("1"), "gone");
}

/* A missing directory is no fault if there is nothing to write; one that cannot
 * be created is. */
static void test_directory(void **state)
{
    (void)state;
    struct bj_buf map = {0};
    assert_int_equal(sync_to(&map), 0);
    assert_int_not_equal(access(dir, F_OK), 0);
    put(&map, "0", "1");
    snprintf(dir, sizeof(dir), "%s/no/such", top);
    assert_int_equal(sync_to(&map), -ENOENT);
    tmp_file("file", "");
    snprintf(dir, sizeof(dir), "%s/file", top);
    put(&map, "0", "1");
    assert_int_equal(sync_to(&map), -ENOTDIR);
}

static void test_ids(void **state)
{
    (void)state;
    static const struct {
        const char *id;
        bool fits;
    } ids[] = {{"4711", true},        {"4711[3].pbs01", true}, {"", false},
               {"a b", false},        {"a\nb", false},         {"a\t", false},
               {"caf\xc3\xa9", true}, {"\x7f", false}};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        assert_int_equal(bj_gpu_jobmap_fits(bj_slice_str(ids[i].id)),
                         ids[i].fits);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_files), TEST(test_directory),
                                       TEST(test_ids)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

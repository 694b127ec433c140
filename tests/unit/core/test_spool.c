/* The spool of final records. */
#include "core/spool.h"
#include "tests/unit/lib/core.h"

#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[160];

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "%s/spool", tmp_make());
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tmp_gone();
    return 0;
}

static struct bj_spool *start(uint64_t files, uint64_t bytes)
{
    struct bj_spool *s;
    struct bj_err err = {0};
    if (bj_spool_new(dir, files, bytes, &s, &err) < 0)
        fail_msg("%s", err.msg);
    return s;
}

static int put(struct bj_spool *s, const char *id, const char *line)
{
    return bj_spool_put(s, 1700000000, bj_slice_str(id), bj_slice_str(line),
                        NULL);
}

/* The number of files in the spool, hidden ones too; the last name goes to
 * name. */
static int count(char name[256])
{
    DIR *d = opendir(dir);
    int n = 0;
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            n++;
            if (name)
                snprintf(name, 256, "%s", e->d_name);
        }
    closedir(d);
    return n;
}

static void test_a_record(void **state)
{
    (void)state;
    char name[256], path[512], host[65] = "", buf[64];
    struct stat st;
    struct bj_slice text;
    struct bj_spool *s = start(10, 1000);
    assert_int_equal(put(s, "4711_[3]", "{\"a\":1}\n"), 0);
    assert_int_equal(count(name), 1);
    gethostname(host, sizeof(host) - 1);
    assert_int_equal(strncmp(name, host, strlen(host)), 0);
    assert_non_null(strstr(name, ".1700000000.4711_[3]."));
    assert_string_equal(name + strlen(name) - 5, ".json");
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(
        bj_file_read(AT_FDCWD, path, buf, sizeof(buf), &text, NULL), 0);
    assert_true(bj_slice_eq(text, BJ_SLICE("{\"a\":1}\n")));
    bj_spool_free(s);
}

/* A record with any job id becomes a file in the spool, not elsewhere. */
static void test_hostile_ids(void **state)
{
    static const char *const ids[] = {"../../etc/passwd", "",   ".", "a\nb",
                                      "\xff\xfe",         "x/y"};
    (void)state;
    struct bj_spool *s = start(10, 1000);
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        assert_int_equal(put(s, ids[i], "{}\n"), 0);
    char longest[600];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_int_equal(put(s, longest, "{}\n"), 0);
    assert_int_equal(count(NULL), 7);
    bj_spool_free(s);
}

static void test_bounds(void **state)
{
    (void)state;
    struct bj_err err = {0};
    char name[256], path[512];
    struct bj_spool *s = start(2, 1000);
    assert_int_equal(put(s, "1", "{}\n"), 0);
    assert_int_equal(put(s, "2", "{}\n"), 0);
    assert_int_equal(bj_spool_put(s, 1, BJ_SLICE("3"), BJ_SLICE("{}\n"), &err),
                     -EDQUOT);
    assert_non_null(strstr(err.msg, "is full: 2 records, 6 bytes"));
    assert_int_equal(count(name), 2);
    bj_spool_free(s);
    /* Records that were in the spool before count, removed ones do not. */
    s = start(2, 1000);
    assert_int_equal(put(s, "3", "{}\n"), -EDQUOT);
    bj_spool_free(s);
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    assert_int_equal(unlink(path), 0);
    s = start(2, 1000);
    assert_int_equal(put(s, "3", "{}\n"), 0);
    bj_spool_free(s);
    s = start(10, 12);
    assert_int_equal(put(s, "4", "{\"too\":\"long\"}\n"), -EDQUOT);
    assert_int_equal(put(s, "4", "{}\n"), 0);
    bj_spool_free(s);
}

/* If no file can be created, the error names the directory. */
static void test_unwritable_directory(void **state)
{
    (void)state;
    struct bj_err err = {0};
    struct bj_spool *s = start(10, 1 << 20);
    /* No file can be created in /proc. */
    bj_spool_free(s);
    assert_int_equal(rmdir(dir), 0);
    assert_int_equal(symlink("/proc/self", dir), 0);
    s = start(10000, 1 << 30);
    assert_true(bj_spool_try(s, &err) < 0);
    assert_non_null(strstr(err.msg, dir));
    assert_true(bj_spool_put(s, 1, BJ_SLICE("1"), BJ_SLICE("{}\n"), &err) < 0);
    assert_int_equal(strncmp(err.msg, dir, strlen(dir)), 0);
    bj_spool_free(s);
    assert_int_equal(unlink(dir), 0);
}

static void test_no_directory(void **state)
{
    (void)state;
    struct bj_spool *s;
    struct bj_err err = {0};
    assert_int_equal(bj_spool_new("/nowhere/at/all", 1, 1, &s, &err), -ENOENT);
    assert_string_equal(err.msg, "record.dir: make /nowhere/at/all");
    assert_int_equal(bj_spool_new("/dev/null", 1, 1, &s, &err), -ENOTDIR);
}

/* The directory is removed while the program runs. */
static void test_removed(void **state)
{
    (void)state;
    struct bj_err err = {0};
    struct bj_spool *s = start(10, 1000);
    assert_int_equal(bj_spool_try(s, &err), 0);
    assert_int_equal(rmdir(dir), 0); /* no file stays */
    assert_int_equal(bj_spool_try(s, &err), 0);
    assert_int_equal(rmdir(dir), 0);
    assert_int_equal(put(s, "1", "{}\n"), 0);
    assert_int_equal(put(s, "2", "{}\n"), 0);
    assert_int_equal(count(NULL), 2);
    tmp_remove("spool");
    tmp_file("spool", "");
    assert_int_equal(bj_spool_put(s, 1, BJ_SLICE("3"), BJ_SLICE("{}\n"), &err),
                     -ENOTDIR);
    tmp_remove("spool");
    assert_int_equal(put(s, "4", "{}\n"), 0);
    assert_int_equal(count(NULL), 1);
    bj_spool_free(s);
}

/* Temporary files of a killed writer are removed after an hour, not before;
 * other hidden files stay. */
static void test_left_over(void **state)
{
    static const char *const names[] = {".left.0~", ".left.1~", ".keep"};
    (void)state;
    char path[512];
    bj_spool_free(start(1, 1));
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        struct timespec old = {.tv_sec = 1700000000};
        struct timespec times[2] = {old, old};
        if (i != 1)
            assert_int_equal(futimens(fd, times), 0);
        close(fd);
    }
    bj_spool_free(start(1, 1));
    assert_int_equal(count(NULL), 2);
    snprintf(path, sizeof(path), "%s/%s", dir, names[0]);
    assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_a_record),     T(test_hostile_ids),
        T(test_bounds),       T(test_unwritable_directory),
        T(test_no_directory), T(test_left_over),
        T(test_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

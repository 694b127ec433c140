/* Files that are replaced as a whole, also when a system call fails. */
#include "base/save.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* --- system calls that fail on demand ------------------------------------ */

/* The n-th of the calls below (from 1) fails with code; 0: none. Calls within
 * the C library are not affected. */
static struct {
    unsigned at, count;
    int code;
} injected;

static const char *failed; /* name of the call */

static bool must_fail(const char *what)
{
    if (injected.at == 0 || ++injected.count != injected.at)
        return false;
    failed = what;
    errno = injected.code;
    return true;
}

ssize_t write(int fd, const void *p, size_t n)
{
    return must_fail("write") ? -1 : syscall(SYS_write, fd, p, n);
}

int fsync(int fd)
{
    return must_fail("fsync") ? -1 : (int)syscall(SYS_fsync, fd);
}

int fchmod(int fd, mode_t mode)
{
    return must_fail("fchmod") ? -1 : (int)syscall(SYS_fchmod, fd, mode);
}

/* As in the kernel, a failed close has closed the file. */
int close(int fd)
{
    int r = (int)syscall(SYS_close, fd);
    return must_fail("close") ? -1 : r;
}

ssize_t getrandom(void *p, size_t n, unsigned flags)
{
    return must_fail("getrandom") ? -1 : syscall(SYS_getrandom, p, n, flags);
}

int renameat(int from, const char *a, int to, const char *b)
{
    return must_fail("rename") ? -1
                               : (int)syscall(SYS_renameat2, from, a, to, b, 0);
}

int renameat2(int from, const char *a, int to, const char *b, unsigned flags)
{
    return must_fail("renameat2")
               ? -1
               : (int)syscall(SYS_renameat2, from, a, to, b, flags);
}

/* --- a working directory -------------------------------------------------- */

static char dir[] = "/tmp/bj-save-XXXXXX";

static int enter(void **state)
{
    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    return mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    return chdir("/") == 0 && rmdir(dir) == 0 ? 0 : -1;
}

static unsigned entries(void)
{
    DIR *d = opendir(".");
    unsigned n = 0;
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static void assert_file(const char *path, const char *want, mode_t mode)
{
    char buf[256];
    struct stat st;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t n = read(fd, buf, sizeof(buf) - 1);
    assert_true(n >= 0);
    buf[n] = '\0';
    assert_string_equal(buf, want);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_mode & 07777, mode);
    close(fd);
}

/* --- tests ---------------------------------------------------------------- */

static void create_and_replace(void **state)
{
    struct bj_err err = {0};
    (void)state;
    mode_t mask = umask(077);
    assert_int_equal(bj_save("a", BJ_SLICE("one\n"), 0644, 0, &err), 0);
    assert_file("a", "one\n", 0644);
    assert_int_equal(
        bj_save("./a", BJ_SLICE("two\n"), 0600, BJ_SAVE_SYNC, &err), 0);
    assert_file("a", "two\n", 0600);
    char path[64];
    snprintf(path, sizeof(path), "%s/a", dir);
    assert_int_equal(bj_save(path, BJ_SLICE(""), 0640, 0, NULL), 0);
    assert_file("a", "", 0640);
    assert_int_equal(err.code, 0);
    assert_int_equal(entries(), 1);
    umask(mask);
    unlink("a");
}

static void must_be_new(void **state)
{
    struct bj_err err = {0};
    (void)state;
    assert_int_equal(bj_save("a", BJ_SLICE("1"), 0600, BJ_SAVE_NEW, &err), 0);
    assert_int_equal(bj_save("a", BJ_SLICE("2"), 0600, BJ_SAVE_NEW, &err),
                     -EEXIST);
    assert_string_equal(err.msg, "rename to a");
    assert_file("a", "1", 0600);
    assert_int_equal(entries(), 1);
    unlink("a");
    /* A link counts as an existing file. */
    assert_int_equal(symlink("nowhere", "a"), 0);
    assert_int_equal(bj_save("a", BJ_SLICE("2"), 0600, BJ_SAVE_NEW, &err),
                     -EEXIST);
    assert_int_equal(entries(), 1);
    /* A file system that cannot rename without replacing. */
    unlink("a");
    injected.code = EINVAL;
    for (int i = 0; i < 2; i++) {
        injected.at = 5; /* getrandom write fchmod close renameat2 */
        injected.count = 0;
        assert_int_equal(bj_save("a", BJ_SLICE("3"), 0600, BJ_SAVE_NEW, &err),
                         i == 0 ? 0 : -EEXIST);
        injected.at = 0;
        assert_string_equal(failed, "renameat2");
        assert_file("a", "3", 0600);
        assert_int_equal(entries(), 1);
    }
    unlink("a");
}

static void links_are_replaced(void **state)
{
    (void)state;
    assert_int_equal(bj_save("target", BJ_SLICE("t"), 0600, 0, NULL), 0);
    assert_int_equal(symlink("target", "a"), 0);
    assert_int_equal(bj_save("a", BJ_SLICE("x"), 0600, 0, NULL), 0);
    assert_file("a", "x", 0600);
    assert_file("target", "t", 0600);
    unlink("a");
    unlink("target");
}

static void below_a_directory(void **state)
{
    struct bj_err err = {0};
    (void)state;
    assert_int_equal(mkdir("sub", 0700), 0);
    int fd = open("sub", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(bj_save_at(fd, "b", BJ_SLICE("b"), 0600, 0, &err), 0);
    assert_file("sub/b", "b", 0600);
    assert_int_equal(bj_save_at(fd, "none/b", BJ_SLICE("b"), 0600, 0, &err),
                     -ENOENT);
    assert_string_equal(err.msg, "open the directory of none/b");
    close(fd);
    unlink("sub/b");
    rmdir("sub");
}

static void bad_names(void **state)
{
    char longest[NAME_MAX + 2], path[PATH_MAX + 10];
    (void)state;
    memset(longest, 'n', sizeof(longest));
    longest[NAME_MAX + 1] = '\0';
    memset(path, '/', sizeof(path));
    path[PATH_MAX + 8] = 'x';
    path[PATH_MAX + 9] = '\0';
    const struct {
        const char *path;
        int want;
    } cases[] = {
        {"", -EISDIR},
        {".", -EISDIR},
        {"..", -EISDIR},
        {"/", -EISDIR},
        {"a/", -EISDIR},
        {"/tmp/..", -EISDIR},
        {"/none/a", -ENOENT},
        {"/dev/null/a", -ENOTDIR},
        {longest, -ENAMETOOLONG},
        {path, -ENAMETOOLONG},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bj_err err = {0};
        assert_int_equal(bj_save(cases[i].path, BJ_SLICE("x"), 0600, 0, &err),
                         cases[i].want);
        assert_int_equal(err.code, cases[i].want);
    }
    longest[NAME_MAX] = '\0';
    assert_int_equal(bj_save(longest, BJ_SLICE("x"), 0600, 0, NULL), 0);
    assert_file(longest, "x", 0600);
    unlink(longest);
    /* A directory is not replaced, and no temporary file remains. */
    struct bj_err err = {0};
    mkdir("d", 0700);
    assert_int_equal(bj_save("d", BJ_SLICE("x"), 0600, 0, &err), -EISDIR);
    assert_string_equal(err.msg, "rename to d");
    assert_int_equal(entries(), 1);
    rmdir("d");
}

static void every_call_fails(void **state)
{
    (void)state;
    for (unsigned flags = 0; flags < 4; flags++) {
        unsigned at = 1;
        for (;; at++) {
            struct bj_err err = {0};
            const char *name = flags & BJ_SAVE_NEW ? "new" : "a";
            bj_save("a", BJ_SLICE("old"), 0600, 0, NULL);
            injected.at = at;
            injected.count = 0;
            injected.code = at % 2 ? EIO : ENOSPC;
            failed = NULL;
            int r = bj_save(name, BJ_SLICE("young"), 0644, flags, &err);
            injected.at = 0;
            if (!failed) {
                assert_int_equal(r, 0);
                unlink("new");
                break;
            }
            /* After the rename, the directory is synced and closed; a failure
             * of that close is no failure of the call. */
            bool named =
                access("new", F_OK) == 0 || (!(flags & BJ_SAVE_NEW) && at > 4);
            assert_int_equal(entries(), access("new", F_OK) == 0 ? 2 : 1);
            if (r == 0) {
                assert_string_equal(failed, "close");
                unlink("new");
                continue;
            }
            assert_int_equal(r, -injected.code);
            assert_int_equal(err.code, r);
            assert_non_null(strstr(err.msg, name));
            if (strncmp(err.msg, "sync the directory", 18) == 0) {
                assert_true(named && (flags & BJ_SAVE_SYNC));
                unlink("new");
            } else {
                assert_file("a", "old", 0600);
                assert_int_not_equal(access("new", F_OK), 0);
            }
        }
        assert_true(at > 5);
    }
    unlink("a");
}

/* A real failure: the file must not grow beyond a limit. */
static void disk_full(void **state)
{
    struct rlimit old, small = {1000, RLIM_INFINITY};
    struct bj_err err = {0};
    static char big[5000];
    (void)state;
    assert_int_equal(bj_save("a", BJ_SLICE("old"), 0600, 0, NULL), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int r = bj_save("a", (struct bj_slice){big, sizeof(big)}, 0600, 0, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(r, -EFBIG);
    assert_string_equal(err.msg, "write a");
    assert_file("a", "old", 0600);
    assert_int_equal(entries(), 1);
    unlink("a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(create_and_replace),
        cmocka_unit_test(must_be_new),
        cmocka_unit_test(links_are_replaced),
        cmocka_unit_test(below_a_directory),
        cmocka_unit_test(bad_names),
        cmocka_unit_test(every_call_fails),
        cmocka_unit_test(disk_full),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}

/* Reading files: those of /proc, and files created in a temporary directory. */
#include "base/file.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* A temporary directory for a test. */
struct dir {
    char path[64];
    int fd;
};

static int open_dir(void **state)
{
    struct dir *r = calloc(1, sizeof(*r));
    assert_non_null(r);
    snprintf(r->path, sizeof(r->path), "/tmp/bj-test-file-XXXXXX");
    assert_non_null(mkdtemp(r->path));
    r->fd = bj_dir_open(AT_FDCWD, r->path);
    assert_true(r->fd >= 0);
    *state = r;
    return 0;
}

static int close_dir(void **state)
{
    struct dir *r = *state;
    static const char *const names[] = {"f", "link", "fifo"};
    for (size_t i = 0; i < COUNT(names); i++)
        unlinkat(r->fd, names[i], 0);
    unlinkat(r->fd, "dir", AT_REMOVEDIR);
    close(r->fd);
    assert_int_equal(rmdir(r->path), 0);
    free(r);
    return 0;
}

static void write_file(const struct dir *r, size_t bytes)
{
    int fd = openat(r->fd, "f", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    for (size_t i = 0; i < bytes; i++) {
        char c = (char)('a' + i % 26);
        assert_int_equal(write(fd, &c, 1), 1);
    }
    close(fd);
}

static void assert_alphabet(struct bj_slice s, size_t bytes)
{
    assert_int_equal(s.n, bytes);
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(s.p[i], 'a' + i % 26);
}

/* All sizes around the limits, with all three ways to read. */
static void sizes(void **state)
{
    const struct dir *dir = *state;
    static const size_t bytes[] = {0,    1,    2047, 2048, 2049,
                                   4095, 4096, 4097, 8192, 20000};
    static const size_t caps[] = {0, 1, 2048, 2049, 4096, 8192, 20000, 20001};
    for (size_t i = 0; i < COUNT(bytes); i++) {
        write_file(dir, bytes[i]);
        int fd = openat(dir->fd, "f", O_RDONLY);
        for (size_t k = 0; k < COUNT(caps); k++) {
            char *buf = malloc(caps[k] ? caps[k] : 1);
            assert_non_null(buf);
            int want = bytes[i] < caps[k] ? 0 : -EFBIG;
            struct bj_slice s[3] = {0};
            struct bj_err err = {0};
            assert_int_equal(
                bj_file_read(dir->fd, "f", buf, caps[k], &s[0], &err), want);
            if (want == 0)
                assert_alphabet(s[0], bytes[i]);
            else
                assert_non_null(strstr(err.msg, "f has "));
            assert_int_equal(
                bj_file_read_all(dir->fd, "f", buf, caps[k], &s[1], NULL),
                want);
            if (want == 0)
                assert_alphabet(s[1], bytes[i]);
            /* bj_file_pread() always reads from the start. */
            for (int again = 0; again < 2; again++)
                assert_int_equal(bj_file_pread(fd, buf, caps[k], &s[2]), want);
            if (want == 0)
                assert_alphabet(s[2], bytes[i]);
            else
                assert_true(!s[0].p && !s[1].p && !s[2].p);
            free(buf);
        }
        close(fd);
    }
}

/* Files that the kernel generates record by record are read as completely as by
 * many small reads. */
static void kernel_records(void **state)
{
    (void)state;
    static const char *const names[] = {
        "/proc/filesystems", "/proc/devices",     "/proc/misc",
        "/proc/ioports",     "/proc/kallsyms",    "/proc/self/mountinfo",
        "/proc/cpuinfo",     "/proc/self/cgroup", "/proc/crypto"};
    enum { CAP = 32 << 20 };
    char *want = malloc(CAP), *got = malloc(CAP);
    assert_non_null(want);
    assert_non_null(got);
    for (size_t i = 0; i < COUNT(names); i++) {
        int fd = open(names[i], O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        size_t len = 0;
        ssize_t n;
        while ((n = read(fd, want + len, 997)) > 0)
            len += (size_t)n;
        struct bj_slice s;
        assert_int_equal(
            bj_file_read_all(AT_FDCWD, names[i], got, CAP, &s, NULL), 0);
        assert_int_equal(s.n, len);
        assert_memory_equal(s.p, want, len);
        assert_int_equal(bj_file_read(AT_FDCWD, names[i], got, CAP, &s, NULL),
                         0);
        assert_int_equal(s.n, len);
        for (int again = 0; again < 2; again++) {
            assert_int_equal(bj_file_pread(fd, got, CAP, &s), 0);
            assert_int_equal(s.n, len);
            assert_memory_equal(s.p, want, len);
        }
        close(fd);
    }
    free(want);
    free(got);
}

static void failing(void **state)
{
    const struct dir *dir = *state;
    char buf[64];
    struct bj_slice s = {NULL, 0};
    struct bj_err err = {0};
    assert_int_equal(bj_file_read(dir->fd, "f", buf, 64, &s, &err), -ENOENT);
    assert_string_equal(err.msg, "open f");
    assert_int_equal(err.code, -ENOENT);
    mkdirat(dir->fd, "dir", 0700);
    assert_int_equal(bj_file_read(dir->fd, "dir", buf, 64, &s, &err), -EISDIR);
    assert_string_equal(err.msg, "read dir");
    assert_int_equal(bj_file_pread(-1, buf, 64, &s), -EBADF);
    assert_int_equal(bj_dir_open(dir->fd, "none"), -ENOENT);
    write_file(dir, 1);
    assert_int_equal(bj_dir_open(dir->fd, "f"), -ENOTDIR);
    assert_null(s.p);
}

/* If a process ends between opening and reading, its file is gone, which is not
 * a fault. */
static void process_that_ends(void **state)
{
    (void)state;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        pause();
        _exit(0);
    }
    char name[32], buf[4096];
    struct bj_slice s = {NULL, 0};
    snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(bj_file_pread(fd, buf, sizeof(buf), &s), 0);
    assert_true(s.n > 50);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_true(bj_err_gone(bj_file_pread(fd, buf, sizeof(buf), &s)));
    assert_true(
        bj_err_gone(bj_file_read(AT_FDCWD, name, buf, sizeof(buf), &s, NULL)));
    close(fd);
}

static void closing(void **state)
{
    (void)state;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), copy = fd;
    errno = 4711;
    bj_close_fd(&fd);
    assert_int_equal(fcntl(copy, F_GETFD), -1);
    errno = 4711;
    fd = -1;
    bj_close_fd(&fd);
    assert_int_equal(errno, 4711);
    {
        bj_autoclose int scoped = open("/dev/null", O_RDONLY | O_CLOEXEC);
        copy = scoped;
        assert_true(fcntl(copy, F_GETFD) >= 0);
    }
    assert_int_equal(fcntl(copy, F_GETFD), -1);
}

/* Each rule for trusted files refuses a file by itself, and the message names
 * it. */
static void trusting(void **state)
{
    const struct dir *dir = *state;
    char buf[64];
    struct bj_slice s;
    struct bj_err err = {0};
    write_file(dir, 5);
    static const struct {
        mode_t mode;
        const char *why; /* NULL: trusted */
    } modes[] = {
        {0600, NULL},
        {0644, NULL},
        {0755, NULL},
        {0664, "group or all users can write"},
        {0602, "group or all users can write"},
        {0666, "group or all users can write"},
    };
    for (size_t i = 0; i < COUNT(modes); i++) {
        assert_int_equal(fchmodat(dir->fd, "f", modes[i].mode, 0), 0);
        int r = bj_file_read_trusted(dir->fd, "f", buf, 64, &s, &err);
        assert_int_equal(r, modes[i].why ? -EPERM : 0);
        if (modes[i].why)
            assert_non_null(strstr(err.msg, modes[i].why));
        else
            assert_alphabet(s, 5);
    }
    assert_int_equal(fchmodat(dir->fd, "f", 0644, 0), 0);
    assert_int_equal(bj_file_read_private(dir->fd, "f", buf, 64, &s, &err),
                     -EPERM);
    assert_non_null(strstr(err.msg, "all users can read"));
    assert_int_equal(fchmodat(dir->fd, "f", 0640, 0), 0);
    assert_int_equal(bj_file_read_private(dir->fd, "f", buf, 64, &s, &err), 0);
    assert_int_equal(bj_file_read_trusted(dir->fd, "f", buf, 5, &s, &err),
                     -EFBIG);
    assert_int_equal(bj_file_read_trusted(dir->fd, "no", buf, 5, &s, &err),
                     -ENOENT);
    assert_int_equal(symlinkat("f", dir->fd, "link"), 0);
    assert_int_equal(bj_file_read_trusted(dir->fd, "link", buf, 64, &s, &err),
                     -EPERM);
    assert_non_null(strstr(err.msg, "a symbolic link"));
    /* The FIFO has no writer: opening it must not block. */
    assert_int_equal(mkfifoat(dir->fd, "fifo", 0600), 0);
    assert_int_equal(bj_file_read_trusted(dir->fd, "fifo", buf, 64, &s, &err),
                     -EPERM);
    assert_non_null(strstr(err.msg, "not a regular file"));
    mkdirat(dir->fd, "dir", 0700);
    assert_int_equal(bj_file_read_trusted(dir->fd, "dir", buf, 64, &s, &err),
                     -EPERM);
    if (geteuid() != 0)
        return;
    assert_int_equal(fchownat(dir->fd, "f", 65534, 65534, 0), 0);
    assert_int_equal(bj_file_read_trusted(dir->fd, "f", buf, 64, &s, &err),
                     -EPERM);
    assert_non_null(strstr(err.msg, "neither root nor this user"));
}

/* In a spool that only some users can write, any of them may be the owner. */
static void spooled(void **state)
{
    struct dir *dir = *state;
    char buf[64];
    struct bj_slice s;
    struct bj_err err = {0};
    write_file(dir, 5);
    assert_int_equal(symlinkat("f", dir->fd, "link"), 0);
    if (geteuid() == 0)
        assert_int_equal(fchownat(dir->fd, "f", 65534, 65534, 0), 0);
    assert_int_equal(fchmod(dir->fd, 02770), 0);
    assert_int_equal(fchmodat(dir->fd, "f", 0660, 0), 0);
    assert_int_equal(bj_file_read_spooled(dir->fd, "f", buf, 64, &s, &err), 0);
    assert_int_equal(bj_file_read_spooled(dir->fd, "link", buf, 64, &s, &err),
                     -EPERM);
    assert_int_equal(fchmod(dir->fd, 01777), 0);
    assert_int_equal(bj_file_read_spooled(dir->fd, "f", buf, 64, &s, &err),
                     -EPERM);
    assert_int_equal(fchmod(dir->fd, 0700), 0);
    assert_int_equal(fchmodat(dir->fd, "f", 0666, 0), 0);
    assert_int_equal(bj_file_read_spooled(dir->fd, "f", buf, 64, &s, &err),
                     -EPERM);
    assert_non_null(strstr(err.msg, "all users can write"));
}

static void pool(void **state)
{
    const struct dir *dir = *state;
    struct bj_fdpool pool = {.max = 2};
    write_file(dir, 3);
    int a = bj_fdpool_open(&pool, dir->fd, "f", O_RDONLY);
    assert_true(a >= 0);
    assert_true(fcntl(a, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(bj_fdpool_open(&pool, dir->fd, "none", O_RDONLY), -ENOENT);
    assert_int_equal(pool.used, 1);
    int b = bj_fdpool_open(&pool, dir->fd, "f", O_RDONLY);
    assert_int_equal(pool.used, 2);
    assert_int_equal(pool.refused, 0);
    assert_int_equal(bj_fdpool_open(&pool, dir->fd, "f", O_RDONLY), -EMFILE);
    assert_int_equal(pool.refused, 1);
    int was = a;
    bj_fdpool_close(&pool, &a);
    assert_int_equal(a, -1);
    assert_int_equal(fcntl(was, F_GETFD), -1);
    assert_int_equal(pool.used, 1);
    bj_fdpool_close(&pool, &a); /* closing it again does nothing */
    assert_int_equal(pool.used, 1);
    bj_fdpool_close(&pool, &b);
    assert_int_equal(pool.used, 0);
}

/* Kept descriptors are moved to BASE and above, out of the way of select(2). If
 * that fails, they stay where they are. */
static void pool_with_a_base(void **state)
{
    const struct dir *dir = *state;
    write_file(dir, 3);
    static const unsigned bases[] = {1, 200, 1u << 30};
    for (size_t i = 0; i < COUNT(bases); i++) {
        struct bj_fdpool pool = {.max = 9, .base = bases[i]};
        int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
        close(next);
        int fd = bj_fdpool_open(&pool, dir->fd, "f", O_RDONLY);
        assert_true(fd >= 0);
        assert_int_equal(fd, bases[i] == 200 ? 200 : next);
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        if (fd != next)
            assert_int_equal(fcntl(next, F_GETFD), -1);
        char buf[16];
        struct bj_slice s;
        assert_int_equal(bj_file_pread(fd, buf, sizeof(buf), &s), 0);
        assert_alphabet(s, 3);
        bj_fdpool_close(&pool, &fd);
    }
}

/* Which user lacks which right on which file or directory.  Only root can
 * become a user without rights. */
static void denied(void **state)
{
    const struct dir *dir = *state;
    static const struct {
        const char *name;
        mode_t dir, file;
        int need;
        const char *message; /* after "read NAME: ", %s: the directory */
    } cases[] = {
        {"d/f", 0755, 0600, R_OK,
         "must be able to read it (mode 0600, user id 0, group id 0)"},
        {"d/f", 0755, 0644, R_OK | W_OK,
         "must be able to write it (mode 0644, user id 0, group id 0)"},
        {"d/f", 0755, 0600, R_OK | W_OK, "must be able to read and write it"},
        {"d/f", 0700, 0644, R_OK,
         "must be able to search directory d (mode 0700, user id 0, group"},
        {"d/new", 0755, 0644, W_OK,
         "must be able to write directory d (mode 0755, user id 0, group"},
        {"d", 0711, 0644, R_OK | X_OK, "must be able to list it (mode 0711"},
        {"d/f", 0755, 0644, R_OK,
         "although its mode allows it (SELinux, AppArmor?)"},
    };
    if (geteuid() != 0)
        skip();
    assert_int_equal(fchmod(dir->fd, 0755), 0);
    assert_int_equal(mkdirat(dir->fd, "d", 0755), 0);
    int fd = openat(dir->fd, "d/f", O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    close(fd);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bj_err err = {0};
        char text[400];
        assert_int_equal(fchmodat(dir->fd, "d/f", cases[i].file, 0), 0);
        assert_int_equal(fchmodat(dir->fd, "d", cases[i].dir, 0), 0);
        assert_int_equal(seteuid(65534), 0);
        int r = bj_file_fail(&err, -EACCES, "read", dir->fd, cases[i].name,
                             cases[i].need);
        assert_int_equal(seteuid(0), 0);
        assert_int_equal(r, -EACCES);
        bj_err_text(&err, text, sizeof(text));
        if (!strstr(text, cases[i].message))
            fail_msg("case %zu: %s", i, text);
        assert_ptr_equal(strstr(text, "read d"), text);
        assert_non_null(strstr(text, "user id 65534 (nobody)"));
    }
    struct bj_err err = {0};
    char text[400];
    bj_file_fail(&err, -ENOENT, "open", AT_FDCWD, "/x/y", R_OK);
    assert_string_equal(bj_err_text(&err, text, sizeof(text)),
                        "open /x/y: No such file or directory");
    assert_int_equal(unlinkat(dir->fd, "d/f", 0), 0);
    assert_int_equal(unlinkat(dir->fd, "d", AT_REMOVEDIR), 0);
}

/* What options name, before a start: a file that exists, one to be made. */
static void usable(void **state)
{
    const struct dir *dir = *state;
    struct bj_err err = {0};
    char path[96], long_path[PATH_MAX + 64], text[400];
    snprintf(path, sizeof(path), "%s/f", dir->path);
    assert_int_equal(bj_file_usable("a.file", NULL, R_OK, &err), 0);
    assert_int_equal(bj_file_makeable("a.file", NULL, &err), 0);
    assert_int_equal(bj_file_makeable("a.file", "", &err), 0);
    assert_int_equal(bj_file_makeable("a.file", path, &err), 0);
    assert_int_equal(bj_file_usable("a.file", path, R_OK, &err), -ENOENT);
    bj_err_text(&err, text, sizeof(text));
    assert_ptr_equal(strstr(text, "a.file: /tmp/bj-test-file-"), text);
    write_file(dir, 1);
    assert_int_equal(bj_file_usable("a.file", path, R_OK | W_OK, &err), 0);
    snprintf(path, sizeof(path), "%s/none/f", dir->path);
    assert_int_equal(bj_file_makeable("a.file", path, &err), -ENOENT);
    bj_err_text(&err, text, sizeof(text));
    assert_non_null(strstr(text, "/none: No such file or directory"));
    assert_int_equal(bj_file_makeable("a.file", "/f", &err),
                     access("/", W_OK) == 0 ? 0 : -EACCES);
    memset(long_path, 'x', sizeof(long_path));
    long_path[0] = long_path[sizeof(long_path) - 2] = '/';
    long_path[sizeof(long_path) - 1] = '\0';
    assert_int_equal(bj_file_makeable("a.file", long_path, &err),
                     -ENAMETOOLONG);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, open_dir, close_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(sizes),
        cmocka_unit_test(kernel_records),
        IN_DIR(failing),
        IN_DIR(denied),
        IN_DIR(usable),
        cmocka_unit_test(process_that_ends),
        cmocka_unit_test(closing),
        IN_DIR(trusting),
        IN_DIR(spooled),
        IN_DIR(pool),
        IN_DIR(pool_with_a_base),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "base/file.h"

#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A read that returned less than this was the last one.  Kernel files that list
 * records (cgroup.procs) end a read where the next record does not fit into
 * their page of 4 KiB or more, so only a longer result can have a continuation.
 * (kernel fs/seq_file.c, seq_read_iter) */
enum { WHOLE_BYTES = 2048 };

void bj_close_fd(int *fd)
{
    if (*fd >= 0) {
        int saved = errno;
        close(*fd);
        errno = saved;
    }
}

/* --- why access is denied --------------------------------------------------
 */

/* A file, or a directory above it, and the rights that it lacks. */
struct denied {
    char path[PATH_MAX];
    int lacks; /* of R_OK, W_OK, X_OK; 0: its mode allows the access */
    bool is_dir;
    struct stat st;
};

static int lacking(int dirfd, const char *path, int need)
{
    int lacks = 0;
    for (int bit = 1; bit <= R_OK; bit <<= 1)
        if (need & bit && faccessat(dirfd, path, bit, AT_EACCESS) < 0 &&
            errno == EACCES)
            lacks |= bit;
    return lacks;
}

/* Look for the first directory of name that this process cannot search, else at
 * the file, else at the directory in which it would be made.  False: nothing is
 * found. */
static bool find_denied(int dirfd, const char *name, int need,
                        struct denied *ret)
{
    size_t n = strlen(name);
    if (n == 0 || n >= sizeof(ret->path))
        return false;
    snprintf(ret->path, sizeof(ret->path), ".");
    for (size_t i = 0; i < n; i++) {
        if (name[i] != '/')
            continue;
        memcpy(ret->path, name, i + 1);
        ret->path[i > 0 ? i : 1] = '\0';
        ret->lacks = lacking(dirfd, ret->path, X_OK);
        if (ret->lacks)
            break;
    }
    if (!ret->lacks && (!(need & W_OK) || faccessat(dirfd, name, F_OK, 0) == 0))
        memcpy(ret->path, name, n + 1);
    else if (!ret->lacks)
        need = W_OK | X_OK;
    if (fstatat(dirfd, ret->path, &ret->st, 0) < 0)
        return false;
    if (!ret->lacks)
        ret->lacks = lacking(dirfd, ret->path, need);
    ret->is_dir = S_ISDIR(ret->st.st_mode);
    return true;
}

/* The name of a user in /etc/passwd, " (name)"; "" if it is elsewhere: other
 * user databases may block. */
static const char *file_name_of(uid_t uid, char *buf, size_t cap)
{
    char line[1024];
    struct passwd entry, *found = NULL;
    FILE *f = fopen("/etc/passwd", "re");
    *buf = '\0';
    while (f && fgetpwent_r(f, &entry, line, sizeof(line), &found) == 0)
        if (found->pw_uid == uid) {
            snprintf(buf, cap, " (%.32s)", found->pw_name);
            break;
        }
    if (f)
        fclose(f);
    return buf;
}

int bj_file_fail(struct bj_err *err, int code, const char *what, int dirfd,
                 const char *name, int need)
{
    struct denied d = {.lacks = 0};
    char user[40], right[40] = "";
    static const struct {
        int bit;
        const char *file, *dir;
    } rights[] = {{R_OK, "read", "list"},
                  {W_OK, "write", "write"},
                  {X_OK, "execute", "search"}};
    if (!err)
        return code;
    if (code != -EACCES || !find_denied(dirfd, name, need, &d))
        return bj_err_set(err, code, "%s%s%s", what, *what ? " " : "", name);
    for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++)
        if (d.lacks & rights[i].bit)
            snprintf(right + strlen(right), sizeof(right) - strlen(right),
                     "%s%s", *right ? " and " : "",
                     d.is_dir ? rights[i].dir : rights[i].file);
    file_name_of(geteuid(), user, sizeof(user));
    const bool itself = strcmp(d.path, name) == 0;
    if (!d.lacks)
        return bj_err_set(err, -EACCES,
                          "%s%s%.100s: Permission denied for user id %u%s, "
                          "although its mode allows it (SELinux, AppArmor?)",
                          what, *what ? " " : "", name, (unsigned)geteuid(),
                          user);
    return bj_err_set(
        err, -EACCES,
        "%s%s%.80s: Permission denied: user id %u%s must be able to %s %s%.60s"
        " (mode %04o, user id %u, group id %u)",
        what, *what ? " " : "", name, (unsigned)geteuid(), user, right,
        !itself && d.is_dir ? "directory " : "", itself ? "it" : d.path,
        (unsigned)d.st.st_mode & 07777, (unsigned)d.st.st_uid,
        (unsigned)d.st.st_gid);
}

int bj_file_usable(const char *option, const char *path, int mode,
                   struct bj_err *err)
{
    char what[128];
    if (!path || !path[0] || faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0)
        return 0;
    const int code = -errno;
    snprintf(what, sizeof(what), "%s:", option);
    return bj_file_fail(err, code, what, AT_FDCWD, path, mode);
}

int bj_file_makeable(const char *option, const char *path, struct bj_err *err)
{
    char dir[PATH_MAX] = ".";
    if (!path || !path[0])
        return 0;
    const char *slash = strrchr(path, '/');
    const size_t n = slash == path ? 1 : slash ? (size_t)(slash - path) : 0;
    if (n >= sizeof(dir))
        return bj_err_set(err, -ENAMETOOLONG, "%s: %s", option, path);
    if (n > 0)
        snprintf(dir, sizeof(dir), "%.*s", (int)n, path);
    return bj_file_usable(option, dir, W_OK | X_OK, err);
}

/* --- reading ---------------------------------------------------------------
 */

/* One read at off; off -1 continues the last read. */
static ssize_t read_some(int fd, char *buf, size_t cap, off_t off)
{
    ssize_t n;
    do
        n = off < 0 ? read(fd, buf, cap) : pread(fd, buf, cap, off);
    while (n < 0 && errno == EINTR);
    return n;
}

static int read_whole(int fd, char *buf, size_t cap, bool at, size_t whole,
                      struct bj_slice *ret)
{
    size_t len = 0;
    while (len < cap) {
        ssize_t n =
            read_some(fd, buf + len, cap - len, at ? (off_t)len : (off_t)-1);
        if (n < 0)
            return -errno;
        len += (size_t)n;
        if (len == cap)
            break;
        if (n == 0 || (size_t)n < whole) {
            *ret = (struct bj_slice){buf, len};
            return 0;
        }
    }
    return -EFBIG;
}

static int read_message(int r, const char *name, size_t cap, struct bj_err *err)
{
    if (r == -EFBIG)
        return bj_err_set(err, -EFBIG, "%s has %zu bytes or more", name, cap);
    if (r < 0)
        return bj_err_set(err, r, "read %s", name);
    return 0;
}

int bj_file_read(int dirfd, const char *name, char *buf, size_t cap,
                 struct bj_slice *ret, struct bj_err *err)
{
    bj_autoclose int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return bj_file_fail(err, -errno, "open", dirfd, name, R_OK);
    int r = read_whole(fd, buf, cap, false, WHOLE_BYTES, ret);
    return read_message(r, name, cap, err);
}

int bj_file_read_all(int dirfd, const char *name, char *buf, size_t cap,
                     struct bj_slice *ret, struct bj_err *err)
{
    bj_autoclose int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return bj_file_fail(err, -errno, "open", dirfd, name, R_OK);
    int r = read_whole(fd, buf, cap, false, 0, ret);
    return read_message(r, name, cap, err);
}

int bj_file_read_head(int dirfd, const char *name, char *buf, size_t cap,
                      struct bj_slice *ret)
{
    bj_autoclose int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = read_whole(fd, buf, cap, false, 0, ret);
    if (r != -EFBIG)
        return r;
    *ret = (struct bj_slice){buf, cap};
    return 0;
}

int bj_file_pread(int fd, char *buf, size_t cap, struct bj_slice *ret)
{
    return read_whole(fd, buf, cap, true, WHOLE_BYTES, ret);
}

int bj_dir_open(int dirfd, const char *name)
{
    int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

enum trust { TRUSTED, SECRET, SPOOLED };

/* Why a file is not trusted; NULL when it is. */
static const char *distrust(const struct stat *st, enum trust trust)
{
    if (!S_ISREG(st->st_mode))
        return "it is not a regular file";
    if (trust == SPOOLED)
        return st->st_mode & S_IWOTH ? "all users can write to it" : NULL;
    if (st->st_uid != 0 && st->st_uid != geteuid())
        return "its owner is neither root nor this user";
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return "its group or all users can write to it";
    if (trust == SECRET && (st->st_mode & S_IROTH))
        return "all users can read it";
    return NULL;
}

static int read_if(enum trust trust, int dirfd, const char *name, char *buf,
                   size_t cap, struct bj_slice *ret, struct bj_err *err)
{
    /* Nonblocking, so that a FIFO in place of the file does not block. */
    bj_autoclose int fd = openat(
        dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ELOOP)
        return bj_err_set(err, -EPERM,
                          "%s is not trusted: it is a symbolic link", name);
    if (fd < 0)
        return bj_file_fail(err, -errno, "open", dirfd, name, R_OK);
    struct stat st;
    if (fstat(fd, &st) < 0)
        return bj_err_set(err, -errno, "stat %s", name);
    const char *why = distrust(&st, trust);
    if (why)
        return bj_err_set(err, -EPERM, "%s is not trusted: %s", name, why);
    int r = read_whole(fd, buf, cap, false, 0, ret);
    return read_message(r, name, cap, err);
}

int bj_file_read_trusted(int dirfd, const char *name, char *buf, size_t cap,
                         struct bj_slice *ret, struct bj_err *err)
{
    return read_if(TRUSTED, dirfd, name, buf, cap, ret, err);
}

int bj_file_read_spooled(int dirfd, const char *name, char *buf, size_t cap,
                         struct bj_slice *ret, struct bj_err *err)
{
    struct stat st;
    bool closed = fstat(dirfd, &st) == 0 && !(st.st_mode & S_IWOTH);
    return read_if(closed ? SPOOLED : TRUSTED, dirfd, name, buf, cap, ret, err);
}

int bj_file_read_private(int dirfd, const char *name, char *buf, size_t cap,
                         struct bj_slice *ret, struct bj_err *err)
{
    return read_if(SECRET, dirfd, name, buf, cap, ret, err);
}

/* Move fd to a number of at least base; on failure it stays. */
static int move_up(int fd, unsigned base)
{
    if (base == 0 || (unsigned)fd >= base)
        return fd;
    int up = fcntl(fd, F_DUPFD_CLOEXEC, (int)base);
    if (up < 0)
        return fd;
    close(fd);
    return up;
}

int bj_fdpool_take(struct bj_fdpool *pool, int fd)
{
    if (pool->used >= pool->max) {
        pool->refused++;
        close(fd);
        return -EMFILE;
    }
    pool->used++;
    return move_up(fd, pool->base);
}

int bj_fdpool_open(struct bj_fdpool *pool, int dirfd, const char *name,
                   int flags)
{
    if (pool->used >= pool->max) {
        pool->refused++;
        return -EMFILE;
    }
    int fd = openat(dirfd, name, flags | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    pool->used++;
    return move_up(fd, pool->base);
}

void bj_fdpool_close(struct bj_fdpool *pool, int *fd)
{
    if (*fd < 0)
        return;
    close(*fd);
    *fd = -1;
    pool->used--;
}

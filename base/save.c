#include "base/save.h"
#include "base/file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES = 16, NAME_KEEP = 200 };

/* A temporary file beside its target. */
struct draft {
    int dir;
    const char *name; /* final name in dir */
    char temp[NAME_MAX + 1];
    bool exists; /* temp must be removed */
};

/* The directory of path, opened; *ret_name is the rest. */
static int open_parent(int dirfd, const char *path, const char **ret_name)
{
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');
    *ret_name = slash ? slash + 1 : path;
    size_t n = slash ? (size_t)(slash - path) : 0;
    if (**ret_name == '\0' || strcmp(*ret_name, ".") == 0 ||
        strcmp(*ret_name, "..") == 0)
        return -EISDIR;
    if (n >= sizeof(dir) || strlen(*ret_name) > NAME_MAX)
        return -ENAMETOOLONG;
    memcpy(dir, path, n);
    memcpy(dir + n, "", 1);
    int fd = openat(dirfd,
                    !slash   ? "."
                    : n == 0 ? "/"
                             : dir,
                    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* No other program uses such a name, but an earlier process that was killed may
 * have left one; a long name is cut to leave room. */
static int open_temp(struct draft *d)
{
    for (int i = 0; i < TRIES; i++) {
        uint64_t chance = 0;
        if (getrandom(&chance, sizeof(chance), 0) < 0)
            return -errno;
        snprintf(d->temp, sizeof(d->temp), ".%.*s.%016llx~", NAME_KEEP, d->name,
                 (unsigned long long)chance);
        int fd =
            openat(d->dir, d->temp,
                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd < 0 ? -errno : fd;
    }
    return -EEXIST;
}

static int save_write_all(int fd, struct bj_slice data)
{
    while (data.n > 0) {
        ssize_t n = write(fd, data.p, data.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return -EIO;
        data.p += n;
        data.n -= (size_t)n;
    }
    return 0;
}

/* Some file systems report a failed write only at close(2); the descriptor is
 * invalid in any case. */
static int save_fill(int fd, struct bj_slice data, mode_t mode, unsigned flags)
{
    int r = save_write_all(fd, data);
    if (r == 0 && fchmod(fd, mode) < 0)
        r = -errno;
    if (r == 0 && (flags & BJ_SAVE_SYNC) && fsync(fd) < 0)
        r = -errno;
    if (close(fd) < 0 && errno != EINTR && r == 0)
        r = -errno;
    return r;
}

/* Rename it.  Where the file system cannot rename without replacing (NFS), make
 * a second link and remove the first one. */
static int publish(struct draft *d, unsigned flags)
{
    if (!(flags & BJ_SAVE_NEW)) {
        if (renameat(d->dir, d->temp, d->dir, d->name) < 0)
            return -errno;
        d->exists = false;
        return 0;
    }
    if (renameat2(d->dir, d->temp, d->dir, d->name, RENAME_NOREPLACE) == 0) {
        d->exists = false;
        return 0;
    }
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    return linkat(d->dir, d->temp, d->dir, d->name, 0) < 0 ? -errno : 0;
}

static int save(struct draft *d, struct bj_slice data, mode_t mode,
                unsigned flags, const char **ret_step)
{
    *ret_step = "create a file beside";
    int fd = open_temp(d);
    if (fd < 0)
        return fd;
    d->exists = true;
    *ret_step = "write";
    int r = save_fill(fd, data, mode, flags);
    if (r < 0)
        return r;
    *ret_step = "rename to";
    return publish(d, flags);
}

int bj_save_at(int dirfd, const char *path, struct bj_slice data, mode_t mode,
               unsigned flags, struct bj_err *err)
{
    struct draft d = {0};
    const char *step;
    bj_autoclose int dir = open_parent(dirfd, path, &d.name);
    if (dir < 0)
        return bj_file_fail(err, dir, "open the directory of", dirfd, path,
                            W_OK);
    d.dir = dir;
    int r = save(&d, data, mode, flags, &step);
    if (d.exists)
        unlinkat(dir, d.temp, 0);
    if (r < 0)
        return bj_file_fail(err, r, step, dirfd, path, W_OK);
    if ((flags & BJ_SAVE_SYNC) && fsync(dir) < 0)
        return bj_err_set(err, -errno, "sync the directory of %s", path);
    return 0;
}

int bj_save(const char *path, struct bj_slice data, mode_t mode, unsigned flags,
            struct bj_err *err)
{
    return bj_save_at(AT_FDCWD, path, data, mode, flags, err);
}

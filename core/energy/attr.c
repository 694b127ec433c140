#include "core/energy/attr.h"

#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* O_NONBLOCK has no effect on sysfs; with it, another kind of file at this path
 * cannot block us. */
int bj_attr_open(int dirfd, const char *name)
{
    int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd < 0 ? -errno : fd;
}

int bj_attr_fd_text(int fd, const char *name, char buf[BJ_ATTR_CAP],
                    struct bj_slice *ret, struct bj_err *err)
{
    int r = bj_file_pread(fd, buf, BJ_ATTR_CAP, ret);
    if (r == -EFBIG)
        return bj_err_set(err, -EBADMSG, "%s is too long", name);
    if (r < 0)
        return bj_err_set(err, r, "read %s", name);
    *ret = bj_slice_trim(*ret);
    return 0;
}

int bj_attr_text(int dirfd, const char *name, char buf[BJ_ATTR_CAP],
                 struct bj_slice *ret, struct bj_err *err)
{
    bj_autoclose int fd = bj_attr_open(dirfd, name);
    if (fd < 0)
        return bj_err_set(err, fd, "open %s", name);
    return bj_attr_fd_text(fd, name, buf, ret, err);
}

int bj_attr_number(struct bj_slice text, const char *name, uint64_t *ret,
                   struct bj_err *err)
{
    uint64_t v;
    int r = bj_slice_u64(text, &v);
    if (r == 0 && v == BJ_ABSENT)
        r = -ERANGE;
    bool minus = text.n > 1 && text.p[0] == '-';
    if (minus &&
        bj_slice_u64((struct bj_slice){text.p + 1, text.n - 1}, &v) != -EINVAL)
        r = -ERANGE;
    if (r < 0)
        return bj_err_set(
            err, r == -EINVAL ? -EBADMSG : r, "%s: bad number '%.*s'", name,
            (int)(text.n < 32 ? text.n : 32), text.n ? text.p : "");
    *ret = v;
    return 0;
}

int bj_attr_fd_u64(int fd, const char *name, uint64_t *ret, struct bj_err *err)
{
    char buf[BJ_ATTR_CAP];
    struct bj_slice text;
    int r = bj_attr_fd_text(fd, name, buf, &text, err);
    return r < 0 ? r : bj_attr_number(text, name, ret, err);
}

int bj_attr_u64(int dirfd, const char *name, uint64_t *ret, struct bj_err *err)
{
    char buf[BJ_ATTR_CAP];
    struct bj_slice text;
    int r = bj_attr_text(dirfd, name, buf, &text, err);
    return r < 0 ? r : bj_attr_number(text, name, ret, err);
}

uint64_t bj_attr_maybe(int dirfd, const char *name)
{
    uint64_t v;
    return bj_attr_u64(dirfd, name, &v, NULL) < 0 ? BJ_ABSENT : v;
}

/* Digits as the kernel prints them: no sign, no leading zeros, lower case. */
static bool digits(struct bj_slice s, unsigned base, unsigned *ret)
{
    static const char set[] = "0123456789abcdef";
    unsigned v = 0;
    if (s.n == 0 || s.n > 7 || (s.n > 1 && s.p[0] == '0'))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        const char *at = memchr(set, s.p[i], base);
        if (!at)
            return false;
        v = v * base + (unsigned)(at - set);
    }
    *ret = v;
    return true;
}

static bool matches(struct bj_slice name, struct bj_slice prefix,
                    struct bj_slice suffix, unsigned base, unsigned *ret)
{
    if (!bj_slice_starts(name, prefix))
        return false;
    name.p += prefix.n;
    name.n -= prefix.n;
    if (name.n < suffix.n)
        return false;
    name.n -= suffix.n;
    return (suffix.n == 0 ||
            memcmp(name.p + name.n, suffix.p, suffix.n) == 0) &&
           digits(name, base, ret);
}

/* Insert v into the sorted list of n, unless it is in it; returns the new
 * length. */
static size_t insert(unsigned *list, size_t n, size_t max, unsigned v)
{
    size_t at = n;
    while (at > 0 && list[at - 1] > v)
        at--;
    if (n == max || (at > 0 && list[at - 1] == v))
        return n;
    memmove(list + at + 1, list + at, (n - at) * sizeof(*list));
    list[at] = v;
    return n + 1;
}

int bj_attr_numbers(int dirfd, const char *prefix, const char *suffix,
                    unsigned base, unsigned *ret, size_t max)
{
    int fd = bj_dir_open(dirfd, ".");
    if (fd < 0)
        return fd;
    DIR *dir = fdopendir(fd);
    if (!dir) {
        int code = -errno;
        close(fd);
        return code;
    }
    size_t n = 0;
    struct dirent *e;
    unsigned v;
    while ((e = readdir(dir)))
        if (matches(bj_slice_str(e->d_name), bj_slice_str(prefix),
                    bj_slice_str(suffix), base, &v))
            n = insert(ret, n, max, v);
    closedir(dir);
    return (int)n;
}

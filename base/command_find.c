#include "base/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 0, -ENOENT, or -EACCES for a file that is not executable. */
static int try_program(const char *file)
{
    struct stat st;
    if (stat(file, &st) < 0)
        return errno == EACCES ? -EACCES : -ENOENT;
    if (!S_ISREG(st.st_mode) || faccessat(AT_FDCWD, file, X_OK, AT_EACCESS) < 0)
        return -EACCES;
    return 0;
}

/* "dir/name" in buf; -ENAMETOOLONG. */
static int join(struct bj_slice dir, const char *name, char *buf, size_t cap)
{
    int n = snprintf(buf, cap, "%.*s/%s", (int)dir.n, dir.p, name);
    return n < 0 || (size_t)n >= cap ? -ENAMETOOLONG : 0;
}

/* A name with a slash; relative to the current directory, not to the command's.
 */
static int find_file(const char *name, char *buf, size_t cap,
                     struct bj_err *err)
{
    int r = 0;
    if (name[0] == '/')
        r = join(BJ_SLICE(""), name + 1, buf, cap);
    else if (!getcwd(buf, cap))
        r = errno == ERANGE ? -ENAMETOOLONG : -errno;
    else if (strlen(buf) + strlen(name) + 2 > cap)
        r = -ENAMETOOLONG;
    else {
        size_t n = strlen(buf);
        buf[n] = '/';
        memcpy(buf + n + 1, name, strlen(name) + 1);
    }
    if (r == 0)
        r = try_program(buf);
    if (r == -EACCES)
        return bj_err_set(err, r, "%s cannot be executed", name);
    return r == 0 ? 0 : bj_err_set(err, r, "%s not found", name);
}

int bj_command_find(const char *name, const char *path, char *buf, size_t cap,
                    struct bj_err *err)
{
    struct bj_slice rest = bj_slice_str(path), dir;
    bool found = false;
    if (strchr(name, '/'))
        return find_file(name, buf, cap, err);
    while (bj_slice_field(&rest, ':', &dir)) {
        int r =
            dir.n > 0 && dir.p[0] == '/' ? join(dir, name, buf, cap) : -ENOENT;
        if (r == 0)
            r = try_program(buf);
        if (r == 0)
            return 0;
        found = found || r == -EACCES;
    }
    if (found)
        return bj_err_set(err, -EACCES,
                          "%s in %s: user id %u must be able to execute it",
                          name, path, (unsigned)geteuid());
    return bj_err_set(err, -ENOENT, "%s not found in %s", name, path);
}

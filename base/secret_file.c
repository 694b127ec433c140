#include "base/secret_file.h"

#include "base/file.h"

#include <fcntl.h>

/* Move s, a part of buf, to its start, as a string. */
static int secret_file_cut(const char *path, struct bj_slice s, char *buf,
                           struct bj_err *err)
{
    if (s.n == 0)
        return bj_err_set(err, -EINVAL, "%s is empty", path);
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
            return bj_err_set(err, -EINVAL, "%s: expected one line", path);
    memmove(buf, s.p, s.n);
    buf[s.n] = '\0'; /* a file that fills it is refused before */
    return 0;
}

int bj_secret_read(const char *path, char *buf, size_t cap, struct bj_err *err)
{
    struct bj_slice s;
    buf[0] = '\0';
    if (!path || !path[0])
        return 0;
    int r = bj_file_read_private(AT_FDCWD, path, buf, cap, &s, err);
    if (r == 0)
        r = secret_file_cut(path, bj_slice_trim(s), buf, err);
    if (r == 0)
        return 0;
    explicit_bzero(buf, cap);
    return bj_err_recode(err, -EACCES);
}

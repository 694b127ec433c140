#include "core/gpu/jobmap.h"

#include "base/file.h"
#include "base/save.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CONTENT = 8192 };

bool bj_gpu_jobmap_fits(struct bj_slice jobid)
{
    for (size_t i = 0; i < jobid.n; i++)
        if ((unsigned char)jobid.p[i] <= ' ' || jobid.p[i] == 0x7f)
            return false;
    return jobid.n > 0;
}

/* Cut the next entry of a map. */
static bool next(struct bj_slice *map, const char **name,
                 struct bj_slice *content)
{
    size_t n = strnlen(map->p ? map->p : "", map->n);
    if (n == map->n)
        return false;
    *name = map->p;
    map->p += n + 1;
    map->n -= n + 1;
    n = strnlen(map->p, map->n);
    if (n == map->n)
        return false;
    *content = (struct bj_slice){map->p, n};
    map->p += n + 1;
    map->n -= n + 1;
    return true;
}

/* Adds a line to the last entry, or the first line of a new one.  Lines of an
 * entry must be added one after the other. */
void bj_gpu_jobmap_put(struct bj_buf *map, const char *name,
                       struct bj_slice jobid)
{
    struct bj_slice rest = {map->p, map->len}, content = {0}, line;
    const char *last = NULL;
    while (next(&rest, &last, &content))
        ;
    if (last && strcmp(last, name) == 0) {
        while (bj_slice_line(&content, &line))
            if (bj_slice_eq(line, jobid))
                return;
        map->len--;
    } else {
        bj_buf_put(map, name, strlen(name) + 1);
    }
    bj_buf_slice(map, jobid);
    bj_buf_put(map, "\n", 2);
}

/* ^\d+(\.\d+)?$ */
static bool is_ours(const char *name)
{
    static const char digits[] = "0123456789";
    size_t n = strspn(name, digits);
    if (n == 0 || (name[n] != '.' && name[n] != '\0'))
        return false;
    if (name[n] == '\0')
        return true;
    size_t more = strspn(name + n + 1, digits);
    return more > 0 && name[n + 1 + more] == '\0';
}

static bool wanted(struct bj_slice map, const char *file)
{
    const char *name;
    struct bj_slice content;
    while (next(&map, &name, &content))
        if (strcmp(name, file) == 0)
            return true;
    return false;
}

static int keep_first(int r, int now)
{
    return r < 0 ? r : now;
}

static int remove_others(int fd, struct bj_slice map, struct bj_err *err)
{
    int copy = dup(fd), r = 0;
    DIR *d = copy < 0 ? NULL : fdopendir(copy);
    if (!d) {
        r = bj_err_set(err, -errno, "job mapping files");
        if (copy >= 0)
            close(copy);
        return r;
    }
    struct dirent *e;
    rewinddir(d);
    while ((e = readdir(d)))
        if (is_ours(e->d_name) && !wanted(map, e->d_name) &&
            unlinkat(fd, e->d_name, 0) < 0 && errno != ENOENT)
            r = keep_first(r, bj_err_set(err, -errno, "remove %s", e->d_name));
    closedir(d);
    return r;
}

static int put_file(int fd, const char *name, struct bj_slice content,
                    struct bj_err *err)
{
    char buf[CONTENT];
    struct bj_slice old;
    if (bj_file_read(fd, name, buf, sizeof(buf), &old, NULL) == 0 &&
        bj_slice_eq(old, content))
        return 0;
    return bj_save_at(fd, name, content, 0644, 0, err);
}

int bj_gpu_jobmap_sync(const char *dir, struct bj_slice map, struct bj_err *err)
{
    const char *name;
    struct bj_slice content;
    bj_autoclose int fd = bj_dir_open(AT_FDCWD, dir);
    if (fd == -ENOENT && map.n == 0)
        return 0;
    if (fd == -ENOENT && mkdir(dir, 0755) == 0)
        fd = bj_dir_open(AT_FDCWD, dir);
    if (fd < 0)
        return bj_file_fail(err, fd, "job mapping files:", AT_FDCWD, dir,
                            R_OK | W_OK | X_OK);
    int r = remove_others(fd, map, err);
    while (next(&map, &name, &content))
        r = keep_first(r, put_file(fd, name, content, r < 0 ? NULL : err));
    return r < 0 ? bj_err_wrap(err, r, "job mapping files: %s", dir) : 0;
}

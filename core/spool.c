#include "core/spool.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/save.h"
#include "base/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COUNT_USEC = 10 * 1000000, LEFT_OVER_SEC = 3600 };

struct bj_spool {
    char *path;
    int dir;
    char host[65];
    uint64_t max_files, max_bytes;
    uint64_t files, bytes; /* at the last count, plus the records that we added
                              since */
    uint64_t count_usec;   /* when it may be counted again */
    uint64_t number;       /* of the next record */
};

/* Remove the unfinished file of a killed writer, which has a temporary name of
 * bj_save. */
static void sweep(struct bj_spool *s, const char *name, const struct stat *st)
{
    uint64_t now = bj_clock_wall_usec() / 1000000;
    if (name[strlen(name) - 1] == '~' && st->st_mtime >= 0 &&
        (uint64_t)st->st_mtime + LEFT_OVER_SEC < now)
        unlinkat(s->dir, name, 0);
}

static void count_one(struct bj_spool *s, const char *name)
{
    struct stat st;
    if (fstatat(s->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        !S_ISREG(st.st_mode))
        return;
    if (name[0] == '.') {
        sweep(s, name, &st);
        return;
    }
    s->files++;
    s->bytes += (uint64_t)st.st_size;
}

/* Other programs remove records, so the waiting ones are counted again at
 * intervals while the limit is reached. */
static void spool_count(struct bj_spool *s)
{
    int fd = openat(s->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        if (fd >= 0)
            close(fd);
        return;
    }
    s->files = s->bytes = 0;
    for (const struct dirent *e; (e = readdir(d));)
        count_one(s, e->d_name);
    closedir(d);
}

static bool is_full(struct bj_spool *s, size_t more)
{
    bool full = s->files >= s->max_files || s->bytes + more > s->max_bytes;
    uint64_t now = bj_clock_boot_usec();
    if (!full || now < s->count_usec)
        return full;
    s->count_usec = now + COUNT_USEC;
    spool_count(s);
    return s->files >= s->max_files || s->bytes + more > s->max_bytes;
}

/* Open the directory; create it if only its last part is missing. */
static int open_dir(struct bj_spool *s, struct bj_err *err)
{
    int made = mkdir(s->path, 0750) < 0 ? -errno : 0;
    int fd = bj_dir_open(AT_FDCWD, s->path);
    if (fd == -ENOENT && made < 0)
        return bj_file_fail(err, made, "record.dir: make", AT_FDCWD, s->path,
                            W_OK);
    if (fd < 0)
        return bj_file_fail(err, fd, "record.dir: open", AT_FDCWD, s->path,
                            R_OK | W_OK | X_OK);
    if (s->dir >= 0)
        close(s->dir);
    s->dir = fd;
    return 0;
}

int bj_spool_new(const char *dir, uint64_t max_files, uint64_t max_bytes,
                 struct bj_spool **ret, struct bj_err *err)
{
    char name[256] = "";
    struct bj_spool *s = calloc(1, sizeof(*s));
    if (!s || !(s->path = strdup(dir))) {
        free(s);
        return bj_err_set(err, -ENOMEM, "record.dir");
    }
    s->max_files = max_files;
    s->max_bytes = max_bytes;
    s->dir = -1;
    int r = open_dir(s, err);
    if (r < 0) {
        bj_spool_free(s);
        return r;
    }
    gethostname(name, sizeof(name) - 1);
    bj_text_ident(bj_slice_str(name), s->host, sizeof(s->host));
    s->number = bj_clock_wall_usec();
    spool_count(s);
    *ret = s;
    return 0;
}

void bj_spool_free(struct bj_spool *s)
{
    if (!s)
        return;
    if (s->dir >= 0)
        close(s->dir);
    free(s->path);
    free(s);
}

int bj_spool_try(struct bj_spool *s, struct bj_err *err)
{
    char name[96];
    snprintf(name, sizeof(name), ".try.%s.%" PRIx64 "~", s->host, s->number++);
    int fd =
        openat(s->dir, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd == -1 && errno == ENOENT) { /* the directory was removed */
        int r = open_dir(s, err);
        if (r < 0)
            return r;
        fd =
            openat(s->dir, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    }
    int r = fd < 0 || write(fd, "\n", 1) < 1 ? -errno : 0;
    if (fd >= 0) {
        close(fd);
        unlinkat(s->dir, name, 0);
    }
    return r < 0 ? bj_err_set(err, r, "record.dir: write into %s", s->path) : 0;
}

int bj_spool_put(struct bj_spool *s, uint64_t end_sec, struct bj_slice id,
                 struct bj_slice line, struct bj_err *err)
{
    char name[224], safe[65];
    if (is_full(s, line.n))
        return bj_err_set(err, -EDQUOT,
                          "%s is full: %" PRIu64 " records, %" PRIu64 " bytes",
                          s->path, s->files, s->bytes);
    bj_text_ident(id, safe, sizeof(safe));
    snprintf(name, sizeof(name), "%s.%" PRIu64 ".%s.%" PRIx64 ".json", s->host,
             end_sec, safe, s->number++);
    const unsigned how = BJ_SAVE_SYNC | BJ_SAVE_NEW;
    int r = bj_save_at(s->dir, name, line, 0640, how, err);
    /* The directory was removed, or replaced. */
    if (r == -ENOENT) {
        r = open_dir(s, err);
        if (r < 0)
            return r;
        r = bj_save_at(s->dir, name, line, 0640, how, err);
    }
    if (r < 0)
        return bj_err_wrap(err, r, "%s", s->path);
    s->files++;
    s->bytes += line.n;
    return 0;
}

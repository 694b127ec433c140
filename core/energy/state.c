#include "core/energy/state.h"

#include "base/file.h"
#include "base/save.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STATE_CAP = 16 * 1024 * 1024 };

struct bj_state {
    char *path;
    char boot_id[64];
    size_t boot_id_len;
    uint64_t saved_sec; /* of the file that was read; 0: none */
    int lock;
    char *text;
};

static void make_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dir =
        slash && slash > path ? strndup(path, (size_t)(slash - path)) : NULL;
    if (dir)
        mkdir(dir, 0755);
    free(dir);
}

static int take_lock(struct bj_state *s, struct bj_err *err)
{
    char name[4096];
    int n = snprintf(name, sizeof(name), "%s.lock", s->path);
    if (n < 0 || (size_t)n >= sizeof(name))
        return bj_err_set(err, -ENAMETOOLONG, "energy.state-file: %s", s->path);
    s->lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (s->lock < 0)
        return bj_file_fail(err, -errno, "open", AT_FDCWD, name, R_OK | W_OK);
    if (flock(s->lock, LOCK_EX | LOCK_NB) < 0)
        return bj_err_set(err, errno == EWOULDBLOCK ? -EBUSY : -errno,
                          "another process has locked %s", name);
    return 0;
}

static int read_text(struct bj_state *s, struct bj_slice *ret,
                     struct bj_err *err)
{
    struct stat st;
    int fd bj_autoclose = open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    *ret = (struct bj_slice){0};
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 || fstat(fd, &st) < 0)
        return bj_file_fail(err, -errno, "open", AT_FDCWD, s->path, R_OK);
    if (!S_ISREG(st.st_mode) || st.st_size > STATE_CAP)
        return bj_err_set(err, -EFBIG, "%s: expected a file of at most 16 MiB",
                          s->path);
    size_t cap = (size_t)st.st_size + 2;
    if (!(s->text = malloc(cap)))
        return bj_err_set(err, -ENOMEM, "%s", s->path);
    s->saved_sec = st.st_mtime > 0 ? (uint64_t)st.st_mtime : 0;
    int r = bj_file_pread(fd, s->text, cap, ret);
    return r < 0 ? bj_err_set(err, r, "read %s", s->path) : 0;
}

static void read_boot_id(struct bj_state *s)
{
    struct bj_slice text, word;
    if (bj_file_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", s->boot_id,
                     sizeof(s->boot_id), &text, NULL) == 0 &&
        bj_slice_word(&text, &word) && word.p == s->boot_id)
        s->boot_id_len = word.n;
}

int bj_state_open(const char *path, struct bj_state **ret,
                  struct bj_slice *ret_text, struct bj_err *err)
{
    struct bj_state *s = calloc(1, sizeof(*s));
    if (!s || !(s->path = strdup(path))) {
        free(s);
        return bj_err_set(err, -ENOMEM, "energy.state-file");
    }
    s->lock = -1;
    read_boot_id(s);
    make_parent(path);
    int r = take_lock(s, err);
    if (r == 0)
        r = read_text(s, ret_text, err);
    if (r < 0) {
        bj_state_free(s);
        return r;
    }
    *ret = s;
    return 0;
}

void bj_state_free(struct bj_state *s)
{
    if (!s)
        return;
    if (s->lock >= 0)
        close(s->lock);
    free(s->text);
    free(s->path);
    free(s);
}

struct bj_slice bj_state_boot_id(const struct bj_state *s)
{
    return (struct bj_slice){s->boot_id, s->boot_id_len};
}

uint64_t bj_state_saved_sec(const struct bj_state *s)
{
    return s->saved_sec;
}

int bj_state_save(struct bj_state *s, struct bj_slice text, bool sync,
                  struct bj_err *err)
{
    return bj_save(s->path, text, 0600, sync ? BJ_SAVE_SYNC : 0, err);
}

void bj_state_keep_aside(struct bj_state *s, struct bj_err *err)
{
    char to[4096];
    snprintf(to, sizeof(to), "%.4000s.bad", s->path);
    bool moved = rename(s->path, to) == 0;
    bj_err_wrap(err, err->code, "%s%s%s", s->path, moved ? ", now " : "",
                moved ? to : "");
}

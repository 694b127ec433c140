/* The open files of processes: their number, and those of named places. */
#include "base/text.h"
#include "core/collect/process_impl.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* --- the number -----------------------------------------------------------*/

/* The number of descriptors that a process has open.
 *
 * Since Linux 6.2 the st_size of /proc/PID/fd is their number; before, it is 0
 * and the entries must be counted.  (kernel f1f1f2569901, "proc: report open
 * files as size in stat() for /proc/pid/fd") */

bool bj_proc_fd_probe(int proc)
{
    struct statfs fs;
    struct stat st;
    if (fstatfs(proc, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC)
        return false;
    /* "self" is missing where the mount shows another pid namespace. */
    return (fstatat(proc, "self/fd", &st, 0) == 0 ||
            fstatat(proc, "1/fd", &st, 0) == 0) &&
           st.st_size > 0;
}

/* Open files by st_size; -errno. */
static int64_t count_size(struct bj_proctab *t, struct bj_proc *e)
{
    struct stat st;
    int r, dir = -1;
    if (e->fd_dir < 0) {
        dir = bj_proc_dir(t, e);
        if (dir < 0)
            return dir;
        e->fd_dir = bj_proc_keep(t, dir, "fd", O_PATH | O_DIRECTORY, 7,
                                 e->open_fds >= 0);
    }
    const int fd = e->fd_dir;
    struct bj_procguard *g = bj_procguard_enter(t->guard, e);
    r = fd >= 0 ? fstat(fd, &st) : fstatat(dir, "fd", &st, 0);
    bj_procguard_leave(g, -1);
    return r < 0 ? -errno : st.st_size;
}

static int64_t count_entries(struct bj_proctab *t, struct bj_proc *e)
{
    int dir = bj_proc_dir(t, e);
    if (dir < 0)
        return dir;
    bj_autoclose int fd = openat(dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    struct bj_dents d;
    int64_t n = 0;
    bj_dents_init(&d, fd);
    struct bj_procguard *g = bj_procguard_enter(t->guard, e);
    while (bj_dents_next(&d))
        n++;
    bj_procguard_leave(g, fd);
    return d.error ? d.error : n;
}

void bj_proc_fds(struct bj_proctab *t, struct bj_proc *e)
{
    if (e->fds_denied)
        return;
    int64_t n = t->fd_size ? count_size(t, e) : count_entries(t, e);
    if (n >= 0) {
        e->open_fds = n < INT32_MAX ? (int32_t)n : INT32_MAX;
        return;
    }
    if (bj_err_gone((int)n))
        return;
    e->fds_denied = n == -EACCES || n == -EPERM;
    bj_proc_fault_once(t, e, (int)n, "fd");
}

/* Open files by named place.
 *
 * Only the text of the links in /proc/PID/fd is read; the files are never
 * accessed, as they may be on a file server that does not respond. */

enum {
    PLACES_USEC = 30 * 1000 * 1000,
    PLACES_CHANGED_USEC = 5 * 1000 * 1000,
    FIRST_LINKS = 256,
};

/* --- the option --- */

static int place_parse(struct bj_place *pl, const char *entry,
                       struct bj_err *err)
{
    struct bj_slice path = bj_slice_str(entry), name;
    char clean[BJ_LABEL_MAX + 1];
    if (!bj_slice_field(&path, '=', &name) || name.n == 0 || path.n == 0 ||
        path.p[0] != '/')
        return bj_err_set(err, -EINVAL,
                          "place '%s': expected NAME=/ABSOLUTE/PATH", entry);
    size_t n = bj_text_clean(name, clean, sizeof(clean));
    if (!bj_slice_eq(name, (struct bj_slice){clean, n}))
        return bj_err_set(err, -EINVAL,
                          "place '%s': its name must be UTF-8 text of at most "
                          "%d bytes",
                          entry, BJ_LABEL_MAX);
    while (path.n > 0 && path.p[path.n - 1] == '/')
        path.n--;
    pl->name = strndup(name.p, name.n);
    pl->text = strndup(path.p, path.n);
    if (!pl->name || !pl->text)
        return bj_err_set(err, -ENOMEM, "place '%s'", entry);
    pl->path = (struct bj_slice){pl->text, path.n};
    return 0;
}

int bj_places_parse(struct bj_proctab *t, struct bj_err *err)
{
    const struct bj_strv *v = &t->conf->places;
    if (v->n == 0)
        return 0;
    t->places = calloc(v->n, sizeof(*t->places));
    if (!t->places)
        return bj_err_set(err, -ENOMEM, "places");
    for (size_t i = 0; i < v->n; i++) {
        t->nplaces = i + 1;
        int r = place_parse(&t->places[i], v->v[i], err);
        if (r < 0)
            return r;
        size_t k = 0;
        while (strcmp(t->places[k].name, t->places[i].name) != 0)
            k++;
        t->places[i].label = k;
    }
    return 0;
}

void bj_places_free(struct bj_proctab *t)
{
    for (size_t i = 0; i < t->nplaces; i++) {
        free(t->places[i].name);
        free(t->places[i].text);
    }
    free(t->places);
}

/* --- links seen so far --- */

static bool links_grow(struct bj_proctab *t)
{
    size_t cap = t->links_cap ? 2 * t->links_cap : FIRST_LINKS;
    uint64_t *v = calloc(cap, sizeof(*v));
    if (!v)
        return false;
    for (size_t i = 0; i < t->links_cap; i++) {
        size_t k = (size_t)t->links[i] & (cap - 1);
        while (t->links[i] && v[k])
            k = (k + 1) & (cap - 1);
        if (t->links[i])
            v[k] = t->links[i];
    }
    free(t->links);
    t->links = v;
    t->links_cap = cap;
    return true;
}

/* Record a key; true if it is new in this read. */
static bool link_new(struct bj_proctab *t, uint64_t key)
{
    if (2 * t->nlinks >= t->links_cap && !links_grow(t))
        return false;
    key |= 1; /* 0 marks an empty slot */
    size_t i = (size_t)key & (t->links_cap - 1);
    for (; t->links[i]; i = (i + 1) & (t->links_cap - 1))
        if (t->links[i] == key)
            return false;
    t->links[i] = key;
    t->nlinks++;
    return true;
}

static bool below(struct bj_slice file, struct bj_slice path)
{
    return bj_slice_starts(file, path) &&
           (file.n == path.n || file.p[path.n] == '/');
}

static void take_file(struct bj_proctab *t, struct bj_jobproc *p,
                      struct bj_slice file)
{
    uint64_t hash = bj_proc_hash(file);
    for (size_t i = 0; i < t->nplaces; i++) {
        size_t label = t->places[i].label;
        if (below(file, t->places[i].path) &&
            link_new(t, (hash + label) * 0x9e3779b97f4a7c15u))
            p->places[label]++;
    }
}

/* --- reading --- */

/* The files of one process; false when the budget is used up. */
static bool read_links(struct bj_proctab *t, struct bj_jobproc *p,
                       struct bj_proc *e)
{
    char text[PATH_MAX];
    int dir = bj_proc_dir(t, e);
    if (dir < 0)
        return true;
    bj_autoclose int fd = openat(dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        if (!bj_err_gone(-errno))
            bj_proc_fault_once(t, e, -errno, "fd");
        return true;
    }
    struct bj_dents d;
    const struct bj_dent *de;
    p->places_known = true;
    bj_dents_init(&d, fd);
    for (;;) {
        const bool more = t->links_left > 0;
        struct bj_procguard *g = bj_procguard_enter(t->guard, e);
        de = bj_dents_next(&d);
        ssize_t n =
            de && more ? readlinkat(fd, de->name, text, sizeof(text)) : 0;
        bj_procguard_leave(g, fd);
        if (!de)
            return true;
        if (!more)
            return false;
        t->links_left--;
        if (n > 0 && text[0] == '/')
            take_file(t, p, (struct bj_slice){text, (size_t)n});
    }
}

/* A hash of the set of the job's processes. */
static uint64_t process_set(const struct bj_jobproc *p)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < p->n; i++)
        if (bj_proc_in_job(&p->v[i]))
            sum += ((uint64_t)p->v[i].pid ^ (p->v[i].start_ticks << 22)) *
                   0x9e3779b97f4a7c15u;
    return sum;
}

void bj_proc_places(struct bj_proctab *t, struct bj_jobproc *p)
{
    uint64_t age = t->now_usec - p->places_usec, set = process_set(p);
    if (p->places_usec && (age < PLACES_CHANGED_USEC ||
                           (age < PLACES_USEC && set == p->places_set)))
        return;
    if (t->links_left == 0) {
        t->refused++;
        return;
    }
    if (!p->places)
        p->places = calloc(t->nplaces, sizeof(*p->places));
    if (!p->places)
        return;
    p->places_usec = 0;
    memset(p->places, 0, t->nplaces * sizeof(*p->places));
    t->nlinks = 0;
    if (t->links)
        memset(t->links, 0, t->links_cap * sizeof(*t->links));
    for (size_t i = 0; i < p->n; i++)
        if (bj_proc_in_job(&p->v[i]) && !p->v[i].held &&
            !read_links(t, p, &p->v[i])) {
            t->refused++;
            break;
        }
    p->places_usec = t->now_usec;
    p->places_set = set;
}

/* CPU time by executable.
 *
 * The CPU time of a process since the last read is counted for the executable
 * that it runs now.  An executable gets a permanent slot once it has used a
 * tenth of a second, while slots are free.  All other time is "(other)". */
#include "base/text.h"
#include "core/collect/process_impl.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
    CANDIDATES = 64, /* executables without a slot that a job remembers */
    MAX_EXES = 60000,
    HASH_TEXT = 10 /* "~", eight digits, NUL */
};

size_t bj_exe_label(struct bj_slice path, char dst[])
{
    size_t n = bj_text_clean(path, dst, BJ_LABEL_MAX + 1);
    if (bj_slice_eq((struct bj_slice){dst, n}, path))
        return n;
    /* Cut or changed: another path could give the same label. */
    n = bj_text_clean(path, dst, BJ_LABEL_MAX + 2 - HASH_TEXT);
    snprintf(dst + n, HASH_TEXT, "~%08x", (unsigned)bj_proc_hash(path));
    return n + HASH_TEXT - 1;
}

/* --- the executable of a process --- */

/* The path of the executable of e; "[comm]" if it has none, or if the path may
 * not be read. */
static struct bj_slice exe_path(struct bj_proctab *t, struct bj_proc *e,
                                struct bj_slice comm, char *buf, size_t cap)
{
    static const struct bj_slice deleted = {" (deleted)", 10};
    int dir = bj_proc_dir(t, e);
    struct bj_procguard *g = bj_procguard_enter(t->guard, e);
    ssize_t n = dir < 0 ? -1 : readlinkat(dir, "exe", buf, cap);
    bj_procguard_leave(g, -1);
    if (n <= 0) {
        if (n < 0 && (errno == EACCES || errno == EPERM) && dir >= 0)
            bj_proc_fault_once(t, e, -errno, "exe");
        int len = snprintf(buf, cap, "[%.*s]", (int)comm.n, comm.p);
        return (struct bj_slice){buf, (size_t)len};
    }
    struct bj_slice s = {buf, (size_t)n};
    if (s.n > deleted.n &&
        memcmp(s.p + s.n - deleted.n, deleted.p, deleted.n) == 0)
        s.n -= deleted.n;
    return s;
}

/* --- the table of a job --- */

static uint16_t exe_find(const struct bj_jobproc *p, const char *label,
                         uint32_t hash)
{
    for (uint16_t i = 0; i < p->nexes; i++)
        if (p->exes[i].hash == hash && strcmp(p->exes[i].label, label) == 0)
            return i;
    return BJ_PROC_NO_EXE;
}

/* A place for another executable: a new one, or that of the candidate with the
 * least CPU time that no process runs now. */
static uint16_t exe_place(const struct bj_proctab *t, struct bj_jobproc *p)
{
    uint64_t top = t->conf->exe_top;
    size_t max =
        (top < MAX_EXES - CANDIDATES ? (size_t)top : MAX_EXES) + CANDIDATES;
    uint16_t least = BJ_PROC_NO_EXE;
    if (p->nexes < max) {
        /* The array doubles when its length is a power of two. */
        if ((p->nexes & (p->nexes - 1)) == 0) {
            size_t cap = p->nexes ? 2u * p->nexes : 1;
            struct bj_exe *v = realloc(p->exes, cap * sizeof(*v));
            if (!v)
                return BJ_PROC_NO_EXE;
            p->exes = v;
        }
        p->exes[p->nexes] = (struct bj_exe){0};
        return p->nexes++;
    }
    for (uint16_t i = 0; i < p->nexes; i++) {
        const struct bj_exe *x = &p->exes[i];
        if (!x->slot && x->refs == 0 && x->pass_ticks == 0 &&
            (least == BJ_PROC_NO_EXE || x->ticks < p->exes[least].ticks))
            least = i;
    }
    return least;
}

static uint16_t exe_get(const struct bj_proctab *t, struct bj_jobproc *p,
                        const char *label)
{
    uint32_t hash = (uint32_t)bj_proc_hash(bj_slice_str(label));
    uint16_t i = exe_find(p, label, hash);
    if (i != BJ_PROC_NO_EXE)
        return i;
    char *copy = strdup(label);
    i = copy ? exe_place(t, p) : BJ_PROC_NO_EXE;
    if (i == BJ_PROC_NO_EXE) {
        free(copy);
        return i;
    }
    free(p->exes[i].label);
    p->exes[i] = (struct bj_exe){.label = copy, .hash = hash};
    return i;
}

void bj_proc_exe_drop(struct bj_jobproc *p, struct bj_proc *e)
{
    if (e->exe != BJ_PROC_NO_EXE)
        p->exes[e->exe].refs--;
    e->exe = BJ_PROC_NO_EXE;
}

void bj_proc_exe(struct bj_proctab *t, struct bj_jobproc *p, struct bj_proc *e,
                 struct bj_slice comm)
{
    char path[PATH_MAX], label[BJ_LABEL_MAX + 1];
    /* An ended process runs no executable; the time counted so far stays. */
    if (e->state == 'Z' && e->exe != BJ_PROC_NO_EXE)
        return;
    bj_exe_label(exe_path(t, e, comm, path, sizeof(path)), label);
    bj_proc_exe_drop(p, e);
    e->exe = exe_get(t, p, label);
    if (e->exe != BJ_PROC_NO_EXE)
        p->exes[e->exe].refs++;
}

void bj_proc_exe_used(struct bj_jobproc *p, const struct bj_proc *e,
                      uint64_t ticks)
{
    if (e->exe == BJ_PROC_NO_EXE)
        p->unslotted_ticks += ticks;
    else
        p->exes[e->exe].pass_ticks += ticks;
}

/* --- slots --- */

/* The candidate with the most CPU time, if it should get a slot; else NULL. */
static struct bj_exe *best_candidate(const struct bj_proctab *t,
                                     struct bj_jobproc *p)
{
    struct bj_exe *best = NULL;
    uint64_t most = 0;
    for (uint16_t i = 0; i < p->nexes; i++) {
        struct bj_exe *x = &p->exes[i];
        uint64_t used = x->ticks + x->pass_ticks;
        if (!x->slot && x->pass_ticks > 0 && used * 10 >= t->hz &&
            used > most) {
            best = x;
            most = used;
        }
    }
    return best;
}

/* Earlier CPU time of x stays in "(other)", where it was published. */
static bool give_slot(struct bj_jobproc *p, struct bj_exe *x)
{
    uint16_t *order = realloc(p->order, (p->norder + 1u) * sizeof(*order));
    if (!order)
        return false;
    p->order = order;
    uint16_t i = p->norder++;
    while (i > 0 && strcmp(p->exes[order[i - 1]].label, x->label) > 0) {
        order[i] = order[i - 1];
        i--;
    }
    order[i] = (uint16_t)(x - p->exes);
    x->ticks = 0;
    x->slot = true;
    return true;
}

void bj_proc_exe_settle(const struct bj_proctab *t, struct bj_jobproc *p,
                        uint64_t cgroup_cpu_usec)
{
    uint64_t tick_usec = 1000000 / t->hz, named = 0;
    struct bj_exe *x;
    while (p->norder < t->conf->exe_top && (x = best_candidate(t, p)) != NULL)
        if (!give_slot(p, x))
            break;
    for (uint16_t i = 0; i < p->nexes; i++) {
        x = &p->exes[i];
        x->ticks += x->pass_ticks;
        if (x->slot)
            named += x->ticks;
        else
            p->unslotted_ticks += x->pass_ticks;
        x->pass_ticks = 0;
    }
    uint64_t other = p->unslotted_ticks * tick_usec;
    if (cgroup_cpu_usec != BJ_ABSENT)
        other = cgroup_cpu_usec > named * tick_usec
                    ? cgroup_cpu_usec - named * tick_usec
                    : 0;
    if (other > p->other_usec)
        p->other_usec = other;
}

void bj_proc_exe_free(struct bj_jobproc *p)
{
    for (uint16_t i = 0; i < p->nexes; i++)
        free(p->exes[i].label);
    free(p->exes);
    free(p->order);
    p->exes = NULL;
    p->order = NULL;
    p->nexes = p->norder = 0;
}

/* --- open files -----------------------------------------------------------*/

/* The open files of processes: their number, and those of named places. */

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

static void process_detail_take_file(struct bj_proctab *t, struct bj_jobproc *p,
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
            process_detail_take_file(t, p, (struct bj_slice){text, (size_t)n});
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

/* --- values that only dialects report -------------------------------------*/

/* Extra values that only dialects report: numbers of processes by executable
 * and by name, processes of users, and sums over live processes. */

enum {
    NAMES = 64,    /* names published for a job; the rest is "(other)" */
    COMM_CUT = 15, /* bytes of a name that the kernel keeps */
    COMMAND_BYTES = 4096
};

static struct bj_proc_extra *extra_of(struct bj_proc *e)
{
    if (!e->extra)
        e->extra = calloc(1, sizeof(*e->extra));
    return e->extra;
}

static bool is_alive(const struct bj_proc *e)
{
    return bj_proc_in_job(e) && e->state != 'Z';
}

/* The arguments of e, each terminated by NUL; empty if they cannot be read. */
static struct bj_slice arguments(struct bj_proctab *t, struct bj_proc *e,
                                 char buf[COMMAND_BYTES])
{
    int dir = bj_proc_dir(t, e);
    bj_autoclose int fd =
        dir < 0 ? -1 : openat(dir, "cmdline", O_RDONLY | O_CLOEXEC);
    struct bj_procguard *g = bj_procguard_enter(t->guard, e);
    ssize_t n = fd < 0 ? -1 : read(fd, buf, COMMAND_BYTES);
    bj_procguard_leave(g, fd);
    return (struct bj_slice){buf, n > 0 ? (size_t)n : 0};
}

/* --- names ---------------------------------------------------------------- */

/* The last part of the path in argv[0]; empty if it cannot be read. */
static struct bj_slice started_as(struct bj_proctab *t, struct bj_proc *e,
                                  char buf[COMMAND_BYTES])
{
    struct bj_slice all = arguments(t, e, buf), s = {0};
    bj_slice_field(&all, '\0', &s);
    const char *slash = s.n > 0 ? memrchr(s.p, '/', s.n) : NULL;
    return slash ? (struct bj_slice){slash + 1, (size_t)(s.p + s.n - slash - 1)}
                 : s;
}

/* The name in the kernel, which a program can set.  A name that was cut is
 * completed from the command line, if that begins with it, as ps and psutil
 * do. */
void bj_proc_extra_name(struct bj_proctab *t, struct bj_proc *e,
                        struct bj_slice comm)
{
    char buf[COMMAND_BYTES];
    struct bj_proc_extra *extra = extra_of(e);
    if (!extra)
        return;
    if (comm.n >= COMM_CUT) {
        struct bj_slice full = started_as(t, e, buf);
        if (bj_slice_starts(full, comm))
            comm = full;
    }
    bj_exe_label(comm, extra->name);
}

static int compare_names(const void *a, const void *b)
{
    const struct bj_name_use *x = a, *y = b;
    return strcmp(x->sub.key[0].p, y->sub.key[0].p);
}

static int by_threads(const void *a, const void *b)
{
    const struct bj_name_use *x = a, *y = b;
    if (x->threads != y->threads)
        return x->threads > y->threads ? -1 : 1;
    return compare_names(a, b);
}

static size_t merge_names(struct bj_name_use *v, size_t n)
{
    size_t last = 0;
    if (n == 0)
        return 0;
    qsort(v, n, sizeof(*v), compare_names);
    for (size_t i = 1; i < n; i++)
        if (compare_names(&v[last], &v[i]) == 0)
            v[last].threads += v[i].threads;
        else
            v[++last] = v[i];
    return last + 1;
}

/* The names with the most threads are kept. */
static size_t few_names(struct bj_name_use *v, size_t n)
{
    if (n <= NAMES)
        return n;
    qsort(v, n, sizeof(*v), by_threads);
    for (size_t i = NAMES; i < n; i++)
        v[i].sub.key[0] = BJ_SLICE("(other)");
    return merge_names(v, n);
}

static struct bj_list list_names(const struct bj_jobproc *p,
                                 struct bj_arena *arena)
{
    struct bj_name_use *v = bj_arena_alloc(arena, p->n * sizeof(*v));
    size_t n = 0;
    for (size_t i = 0; v && i < p->n; i++) {
        const struct bj_proc *e = &p->v[i];
        if (!is_alive(e))
            continue;
        v[n].threads = e->nr_threads;
        v[n++].sub.key[0] =
            e->extra ? bj_slice_str(e->extra->name) : BJ_SLICE("(other)");
    }
    n = few_names(v, merge_names(v, n));
    for (size_t i = 0; i < n; i++)
        v[i].sub.key[0] = bj_arena_copy(arena, v[i].sub.key[0]);
    return (struct bj_list){v, n};
}

/* --- executables ---------------------------------------------------------- */

static struct bj_list count_exes(const struct bj_proctab *t,
                                 const struct bj_jobproc *p,
                                 struct bj_arena *arena)
{
    const size_t other = p->nexes;
    const uint64_t tick_usec = 1000000 / t->hz;
    struct bj_exe_count *v = bj_arena_alloc(arena, (other + 1) * sizeof(*v));
    if (!v)
        return (struct bj_list){0};
    memset(v, 0, (other + 1) * sizeof(*v));
    for (size_t i = 0; i < p->n; i++) {
        const struct bj_proc *e = &p->v[i];
        if (!is_alive(e))
            continue;
        struct bj_exe_count *x = &v[e->exe == BJ_PROC_NO_EXE ? other : e->exe];
        x->processes++;
        if (!e->extra || !e->extra->of_root)
            x->cpu_usec +=
                (e->ticks + (e->extra ? e->extra->child_ticks : 0)) * tick_usec;
    }
    size_t n = 0;
    for (size_t i = 0; i <= other; i++) {
        if (v[i].processes == 0)
            continue;
        v[n] = v[i];
        v[n++].sub.key[0] =
            i == other ? BJ_SLICE("(other)")
                       : bj_arena_copy(arena, bj_slice_str(p->exes[i].label));
    }
    return (struct bj_list){v, n};
}

/* --- processes of users --------------------------------------------------- */

static bool holds(struct bj_slice s, const char *word)
{
    return s.n > 0 && memmem(s.p, s.n, word, strlen(word)) != NULL;
}

/* The shell that runs the batch script, by the command line that
 * slurm-job-exporter expects. */
static bool is_batch_shell(struct bj_slice all)
{
    struct bj_slice shell = {0}, script = {0};
    bj_slice_field(&all, '\0', &shell);
    bj_slice_field(&all, '\0', &script);
    return bj_slice_eq(shell, BJ_SLICE("/bin/bash")) &&
           holds(script, "/var/spool") && holds(script, "slurm_script");
}

void bj_proc_extra_user(struct bj_proctab *t, struct bj_proc *e, bool root)
{
    char buf[COMMAND_BYTES];
    struct bj_proc_extra *extra = extra_of(e);
    if (!extra)
        return;
    extra->of_root = extra->no_user = root;
    if (!root)
        extra->no_user = is_batch_shell(arguments(t, e, buf));
}

static bool is_users(const struct bj_proc *e)
{
    return is_alive(e) && e->extra && !e->extra->no_user;
}

static struct bj_list user_states(const struct bj_jobproc *p,
                                  struct bj_arena *arena)
{
    uint32_t states[BJ_PROC_STATES] = {0};
    struct bj_state_use *v = bj_arena_alloc(arena, BJ_PROC_STATES * sizeof(*v));
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++)
        if (is_users(&p->v[i]))
            bj_proc_add_states(&p->v[i], states);
    for (unsigned s = 0; v && s < BJ_PROC_STATES; s++)
        if (states[s] > 0)
            v[n++] = (struct bj_state_use){.sub.key[0] = bj_proc_state_name[s],
                                           .threads = states[s]};
    return (struct bj_list){v, n};
}

void bj_proc_extra_publish(const struct bj_proctab *t,
                           const struct bj_jobproc *p, struct bj_arena *arena,
                           struct bj_job *job)
{
    const unsigned extras = t->conf->extras;
    if (extras & BJ_EXTRA_NAMES)
        job->names = list_names(p, arena);
    if (extras & (BJ_EXTRA_EXES | BJ_EXTRA_ALIVE) && t->conf->exe_top > 0)
        job->exe_counts = count_exes(t, p, arena);
    if (extras & BJ_EXTRA_USERS)
        job->user_states = user_states(p, arena);
}

/* --- sums over live processes --------------------------------------------- */

/* The resident pages in statm, its second number, as psutil reads them.  Newer
 * kernels sum them exactly there, while the number in stat lacks changes that
 * the CPUs have not added yet.  (kernel fs/proc/task_mmu.c, task_statm;
 * fs/proc/array.c, do_task_stat) */
static uint64_t resident_pages(struct bj_proctab *t, struct bj_proc *e)
{
    char buf[256];
    struct bj_slice text, word;
    uint64_t pages;
    int dir = bj_proc_dir(t, e);
    if (dir < 0 ||
        bj_file_read(dir, "statm", buf, sizeof(buf), &text, NULL) < 0 ||
        !bj_slice_word(&text, &word) || !bj_slice_word(&text, &word) ||
        bj_slice_u64(word, &pages) < 0)
        return 0;
    return pages;
}

void bj_proc_extra_line(struct bj_proctab *t, struct bj_proc *e,
                        struct bj_slice line)
{
    struct bj_proc_extra *extra = extra_of(e);
    if (!extra)
        return;
    bj_procstat_children(line, &extra->child_ticks);
    if (t->conf->extras & BJ_EXTRA_STATM)
        extra->rss_pages = resident_pages(t, e);
}

void bj_jobproc_living(const struct bj_jobproc *p, struct bj_extra_use *ret)
{
    uint64_t pages = 0, users = 0, io[BJ_PROCIO_FIELDS] = {0};
    if (!p->has_values)
        return;
    for (size_t i = 0; i < p->n; i++) {
        const struct bj_proc *e = &p->v[i];
        if (!is_alive(e))
            continue;
        pages += e->extra ? e->extra->rss_pages : 0;
        users += is_users(e);
        for (unsigned f = 0; f < BJ_PROCIO_FIELDS; f++)
            io[f] += e->io[f];
    }
    ret->alive_rss_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    ret->user_processes = users;
    if (!p->io_known || p->io_denied)
        return;
    ret->alive_read_ops = io[BJ_PROCIO_SYSCR];
    ret->alive_write_ops = io[BJ_PROCIO_SYSCW];
    ret->alive_storage_read_bytes = io[BJ_PROCIO_READ_BYTES];
    ret->alive_storage_write_bytes = io[BJ_PROCIO_WRITE_BYTES];
}

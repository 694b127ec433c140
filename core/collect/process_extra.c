/* Extra values of processes, which only dialects report: how many there are by
 * executable and by name, and sums over those alive. */
#include "core/collect/process_impl.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    NAMES = 64,    /* of a job that are published; the rest is "(other)" */
    COMM_CUT = 15, /* the kernel keeps so many bytes of a name */
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
    return bj_proc_counts(e) && e->state != 'Z';
}

/* --- names ---------------------------------------------------------------- */

/* The last part of what the process was started as; empty when that is not to
 * be had. */
static struct bj_slice started_as(struct bj_proctab *t, struct bj_proc *e,
                                  char buf[COMMAND_BYTES])
{
    int dir = bj_proc_dir(t, e);
    bj_autoclose int fd =
        dir < 0 ? -1 : openat(dir, "cmdline", O_RDONLY | O_CLOEXEC);
    struct bj_procguard *g = bj_procguard_enter(t->guard, e);
    ssize_t n = fd < 0 ? -1 : read(fd, buf, COMMAND_BYTES);
    bj_procguard_leave(g, fd);
    if (n <= 0)
        return (struct bj_slice){0};
    const char *end = memchr(buf, '\0', (size_t)n);
    struct bj_slice s = {buf, end ? (size_t)(end - buf) : (size_t)n};
    const char *slash = s.n > 0 ? memrchr(s.p, '/', s.n) : NULL;
    return slash ? (struct bj_slice){slash + 1, (size_t)(s.p + s.n - slash - 1)}
                 : s;
}

/* The name that the kernel has, which a program may have chosen; one that was
 * cut is completed from the command line, if that begins with it.  So do ps and
 * psutil. */
void bj_proc_extra_name(struct bj_proctab *t, struct bj_proc *e,
                        struct bj_slice comm)
{
    char buf[COMMAND_BYTES];
    struct bj_proc_extra *extra = extra_of(e);
    if (!extra)
        return;
    if (comm.n >= COMM_CUT) {
        struct bj_slice whole = started_as(t, e, buf);
        if (bj_slice_starts(whole, comm))
            comm = whole;
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

/* Those with the most threads keep their name. */
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

void bj_proc_extra_publish(const struct bj_proctab *t,
                           const struct bj_jobproc *p, struct bj_arena *arena,
                           struct bj_job *job)
{
    const unsigned extras = t->conf->extras;
    if (extras & BJ_EXTRA_NAMES)
        job->names = list_names(p, arena);
    if (extras & (BJ_EXTRA_EXES | BJ_EXTRA_ALIVE) && t->conf->exe_top > 0)
        job->exe_counts = count_exes(t, p, arena);
}

/* --- sums over those alive ------------------------------------------------ */

void bj_proc_extra_line(struct bj_proc *e, struct bj_slice line)
{
    struct bj_proc_extra *extra = extra_of(e);
    if (extra)
        bj_procstat_more(line, &extra->child_ticks, &extra->rss_pages);
}

void bj_jobproc_living(const struct bj_jobproc *p, struct bj_extra_use *ret)
{
    uint64_t pages = 0, io[BJ_PROCIO_FIELDS] = {0};
    if (!p->has_values)
        return;
    for (size_t i = 0; i < p->n; i++) {
        const struct bj_proc *e = &p->v[i];
        if (!is_alive(e))
            continue;
        pages += e->extra ? e->extra->rss_pages : 0;
        for (unsigned f = 0; f < BJ_PROCIO_FIELDS; f++)
            io[f] += e->io[f];
    }
    ret->alive_rss_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    if (!p->io_known || p->io_denied)
        return;
    ret->alive_read_ops = io[BJ_PROCIO_SYSCR];
    ret->alive_write_ops = io[BJ_PROCIO_SYSCW];
    ret->alive_storage_read_bytes = io[BJ_PROCIO_READ_BYTES];
    ret->alive_storage_write_bytes = io[BJ_PROCIO_WRITE_BYTES];
}

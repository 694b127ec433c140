/* Extra values that only dialects report: numbers of processes by executable
 * and by name, processes of users, and sums over live processes. */
#include "core/collect/process_impl.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

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

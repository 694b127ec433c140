/* The processes of a job by pid: an array and a hash table of indices. */
#include "base/grow.h"
#include "core/collect/process_impl.h"

#include <stdlib.h>

enum { FIRST_PROCS = 4 };

static uint32_t hash_pid(int32_t pid)
{
    return (uint32_t)pid * 0x9e3779b1u;
}

static void slot_put(struct bj_jobproc *p, int32_t pid, uint32_t index)
{
    size_t mask = p->nslots - 1;
    size_t i = hash_pid(pid) & mask;
    while (p->slots[i])
        i = (i + 1) & mask;
    p->slots[i] = index + 1;
}

/* Fill the hash table again; it has room for p->cap processes. */
static void slots_fill(struct bj_jobproc *p)
{
    memset(p->slots, 0, p->nslots * sizeof(*p->slots));
    for (size_t i = 0; i < p->n; i++)
        if (p->v[i].pid)
            slot_put(p, p->v[i].pid, (uint32_t)i);
}

/* Room for cap processes, a power of two not below p->n. */
static int resize(struct bj_jobproc *p, size_t cap)
{
    if (cap > UINT32_MAX / 2)
        return -ENOMEM;
    uint32_t *slots = malloc(2 * cap * sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    struct bj_proc *v = realloc(p->v, cap * sizeof(*v));
    if (!v) {
        free(slots);
        return -ENOMEM;
    }
    free(p->slots);
    p->v = v;
    p->cap = cap;
    p->slots = slots;
    p->nslots = 2 * cap;
    slots_fill(p);
    return 0;
}

struct bj_proc *bj_proc_find(const struct bj_jobproc *p, int32_t pid)
{
    if (p->nslots == 0 || pid <= 0)
        return NULL;
    size_t mask = p->nslots - 1;
    for (size_t i = hash_pid(pid) & mask; p->slots[i]; i = (i + 1) & mask)
        if (p->v[p->slots[i] - 1].pid == pid)
            return &p->v[p->slots[i] - 1];
    return NULL;
}

static void init(struct bj_proc *e, int32_t pid)
{
    *e = (struct bj_proc){.pid = pid,
                          .dir = -1,
                          .stat = -1,
                          .io_fd = -1,
                          .fd_dir = -1,
                          .exe = BJ_PROC_NO_EXE,
                          .cpu = BJ_PROC_NO_CPU,
                          .open_fds = BJ_PROC_FDS_UNKNOWN};
    bj_quiet_init(&e->quiet);
}

struct bj_proc *bj_proc_add(struct bj_jobproc *p, int32_t pid)
{
    if (p->n == p->cap && resize(p, p->cap ? 2 * p->cap : FIRST_PROCS) < 0)
        return NULL;
    struct bj_proc *e = &p->v[p->n];
    init(e, pid);
    slot_put(p, pid, (uint32_t)p->n);
    p->n++;
    return e;
}

void bj_proc_released(struct bj_jobproc *p, struct bj_proc *e)
{
    if (!e->held)
        return;
    bj_procguard_free(e->held);
    e->held = NULL;
    p->held--;
}

/* Close the descriptors of a process and free its memory. */
static void drop(struct bj_proctab *t, struct bj_jobproc *p, struct bj_proc *e)
{
    if (t->tmp_pid == e->pid)
        bj_proc_dir_done(t);
    bj_proc_exe_drop(p, e);
    bj_proc_threads_drop(t, e);
    free(e->extra);
    e->extra = NULL;
    bj_quiet_drop(t, &e->quiet);
    bj_proc_released(p, e);
    bj_fdpool_close(t->pool, &e->dir);
    bj_fdpool_close(t->pool, &e->stat);
    bj_fdpool_close(t->pool, &e->io_fd);
    bj_fdpool_close(t->pool, &e->fd_dir);
    e->pid = 0;
    p->removed++;
}

void bj_proc_remove(struct bj_proctab *t, struct bj_jobproc *p,
                    struct bj_proc *e)
{
    if (e->start_ticks && !e->batch &&
        BJ_GROW(p->ended, p->nended + 1, p->ended_cap)) {
        struct bj_ended *d = &p->ended[p->nended++];
        d->pid = e->pid;
        d->ppid = e->ppid;
        d->start_ticks = e->start_ticks;
        memcpy(d->io, e->io, sizeof(d->io));
        p->orphans = true;
    }
    drop(t, p, e);
}

void bj_proc_sweep(struct bj_jobproc *p)
{
    if (p->removed == 0)
        return;
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++)
        if (p->v[i].pid) {
            if (n != i)
                p->v[n] = p->v[i];
            n++;
        }
    p->n = n;
    p->removed = 0;
    /* Return memory, but late enough that it is not needed again at once. */
    size_t cap = p->cap;
    while (cap > FIRST_PROCS && n <= cap / 4)
        cap /= 2;
    if (cap == p->cap || resize(p, cap) < 0)
        slots_fill(p);
}

void bj_proc_clear(struct bj_proctab *t, struct bj_jobproc *p)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->v[i].pid)
            drop(t, p, &p->v[i]);
    p->n = 0;
    p->removed = 0;
    free(p->v);
    free(p->slots);
    p->v = NULL;
    p->slots = NULL;
    p->cap = p->nslots = 0;
}

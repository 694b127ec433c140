/* Processes on a device, and their use of it. */
#include "core/gpu/nvml_read.h"

#include "base/clock.h"

#include <stdlib.h>

enum {
    LIST_MAX = 8192,
    ROOM = 32,
    PPM_PERCENT = 10000,
    SAMPLE_USEC = 1000000 /* the longest time between two samples */
};

/* Make room for n elements; false: no memory. */
static bool grow(void **v, unsigned *have, unsigned n, size_t size)
{
    if (*have >= n)
        return true;
    if (n > LIST_MAX)
        return false;
    void *more = realloc(*v, n * size);
    if (!more)
        return false;
    *v = more;
    *have = n;
    return true;
}

static bool grow_procs(struct bj_nvml_reader *r, unsigned n)
{
    void *v = r->procs;
    bool grown = grow(&v, &r->nprocs, n, sizeof(*r->procs));
    r->procs = v;
    return grown;
}

static bool grow_uses(struct bj_nvml_reader *r, unsigned n)
{
    void *v = r->uses;
    bool grown = grow(&v, &r->nuses, n, sizeof(*r->uses));
    r->uses = v;
    return grown;
}

/* The place of the instance that a process runs on, or of the device.  An
 * unknown number matches any instance. */
static uint32_t place_of(const struct bj_nvml_visit *v, uint32_t gi,
                         uint32_t ci)
{
    uint32_t parent = (uint32_t)(v->gpu - v->set->v);
    for (uint32_t i = parent + 1; v->gpu->split && i < v->set->n; i++) {
        const struct bj_gpu *g = &v->set->v[i];
        if (g->parent == (int)parent && g->gi == gi &&
            (g->ci == ci || ci == UINT32_MAX || g->ci == UINT32_MAX))
            return i;
    }
    return parent;
}

/* Add a process, which may be in two lists. */
static void add(struct bj_nvml_visit *v, const struct bj_nvml_process *p,
                bool mps)
{
    uint32_t at = place_of(v, p->gpu_instance, p->compute_instance);
    for (size_t i = 0; i < v->set->nprocs; i++)
        if (v->set->proc[i].gpu == at && v->set->proc[i].pid == p->pid) {
            v->set->proc[i].mps |= mps;
            return;
        }
    struct bj_gpu_proc *n = bj_gpu_add_proc(v->set, at, p->pid);
    if (!n)
        return;
    n->memory_bytes = p->used_memory; /* -1, unknown, equals BJ_ABSENT */
    n->mps = mps;
    v->set->v[at].use.processes++;
}

/* Read a list of processes, again up to two times, since it may grow between
 * two calls. */
static bool list(struct bj_nvml_visit *v,
                 int (*call)(struct bj_nvml_device *, unsigned *,
                             struct bj_nvml_process *),
                 const char *what)
{
    struct bj_nvml_reader *r = v->r;
    int code = BJ_NVML_TOO_SMALL;
    unsigned n = 0, want = ROOM;
    for (int i = 0; code == BJ_NVML_TOO_SMALL && i < 3; i++) {
        if (!grow_procs(r, want))
            break;
        n = r->nprocs;
        code = call(v->dev->handle, &n, r->procs);
        want = n < LIST_MAX - ROOM ? n + ROOM : LIST_MAX;
    }
    if (!bj_nvml_succeeded(v, code, what))
        return false;
    for (unsigned i = 0; i < n && i < r->nprocs; i++)
        add(v, &r->procs[i], call == r->nv.mps);
    return true;
}

/* The device reports processes: set those of its instances to 0 first. */
static void begin(struct bj_nvml_visit *v, uint64_t n)
{
    int parent = (int)(v->gpu - v->set->v);
    v->gpu->use.processes = n;
    for (size_t i = 0; i < v->set->n; i++)
        if (v->set->v[i].parent == parent)
            v->set->v[i].use.processes = n;
}

/* The samples after this one count.  A process without samples was idle, unless
 * the time is too short for one: then those of the time before count again. */
static unsigned long long seen_until(const struct bj_nvml_dev *d)
{
    return bj_clock_boot_usec() < d->seen_at_usec + SAMPLE_USEC
               ? d->seen_before_usec
               : d->seen_usec;
}

/* Set the use of each process to the mean of its samples after that one.  Use
 * by clients of an MPS server is in the samples of the server. */
static void take_uses(struct bj_nvml_visit *v, unsigned n,
                      unsigned long long seen)
{
    struct bj_nvml_process_use *use = v->r->uses;
    unsigned long long newest = seen;
    uint32_t at = (uint32_t)(v->gpu - v->set->v);
    for (unsigned k = 0; k < n; k++)
        if (use[k].stamp_usec > newest)
            newest = use[k].stamp_usec;
    bool idle = newest == seen;
    for (size_t i = 0; i < v->set->nprocs; i++) {
        struct bj_gpu_proc *p = &v->set->proc[i];
        uint64_t sum = 0, count = 0;
        for (unsigned k = 0; p->gpu == at && k < n; k++)
            if (use[k].pid == p->pid && use[k].sm <= 100 &&
                use[k].stamp_usec > seen) {
                sum += use[k].sm;
                count++;
            }
        if (p->gpu == at && count > 0)
            p->sm_ppm = sum * PPM_PERCENT / count;
        else if (p->gpu == at && (!p->mps || idle))
            p->sm_ppm = 0;
    }
    if (seen != v->dev->seen_usec)
        return;
    v->dev->seen_before_usec = seen;
    v->dev->seen_usec = newest;
    v->dev->seen_at_usec = bj_clock_boot_usec();
}

static void uses(struct bj_nvml_visit *v)
{
    struct bj_nvml_reader *r = v->r;
    int code = BJ_NVML_TOO_SMALL;
    unsigned n = 0, want = 4 * ROOM;
    const unsigned long long seen = seen_until(v->dev);
    for (int i = 0; code == BJ_NVML_TOO_SMALL && i < 3; i++) {
        if (!grow_uses(r, want))
            return;
        n = r->nuses;
        code = r->nv.process_use(v->dev->handle, r->uses, &n, seen);
        want = n < LIST_MAX - ROOM ? n + ROOM : LIST_MAX;
    }
    /* It returns "not found" when no process was active. */
    if (code == BJ_NVML_NOT_FOUND)
        take_uses(v, 0, seen);
    else if (bj_nvml_succeeded(v, code, "process utilization"))
        take_uses(v, n < r->nuses ? n : r->nuses, seen);
}

void bj_nvml_processes(struct bj_nvml_visit *v)
{
    const struct bj_nvml *nv = &v->r->nv;
    if (v->lost || !nv->compute)
        return;
    begin(v, 0);
    if (!list(v, nv->compute, "compute processes")) {
        begin(v, BJ_ABSENT);
        return;
    }
    if (nv->mps && !v->lost)
        list(v, nv->mps, "MPS processes");
    if (nv->graphics && !v->lost)
        list(v, nv->graphics, "graphics processes");
    if (nv->process_use && !v->gpu->split && !v->lost)
        uses(v);
}

/* CPU time by executable.
 *
 * The CPU time of a process since the last read is counted for the executable
 * that it runs now.  An executable gets a permanent slot once it has used a
 * tenth of a second, while slots are free.  All other time is "(other)". */
#include "core/collect/process_impl.h"

#include "base/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
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

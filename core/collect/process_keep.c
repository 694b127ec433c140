/* Faults, and kept descriptors. */
#include "core/collect/process_impl.h"

#include <stdarg.h>
#include <stdio.h>

int bj_proc_fault(struct bj_proctab *t, int code, const char *fmt, ...)
{
    char msg[200];
    va_list ap;
    t->faults++;
    if (t->fault == 0) {
        va_start(ap, fmt);
        vsnprintf(msg, sizeof(msg), fmt, ap);
        va_end(ap);
        t->fault = bj_err_set(t->err, code, "%s", msg);
    }
    return code;
}

int bj_proc_fault_once(struct bj_proctab *t, struct bj_proc *e, int code,
                       const char *what)
{
    if (!e->denied)
        bj_proc_fault(t, code, "process %d: %s", e->pid, what);
    e->denied = true;
    return code;
}

bool bj_proc_room(const struct bj_proctab *t, unsigned eighths)
{
    return (uint64_t)t->pool->used * 8 < (uint64_t)t->pool->max * eighths;
}

int bj_proc_keep(struct bj_proctab *t, int dirfd, const char *name, int flags,
                 unsigned eighths, bool retry)
{
    if (bj_proc_room(t, eighths))
        return bj_fdpool_open(t->pool, dirfd, name, flags);
    if (!retry)
        t->pool->refused++;
    return -EMFILE;
}

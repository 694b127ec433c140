/* Decides which job holds an accelerator, by all evidence, and divides shared
 * ones.  Arithmetic only. */
#ifndef BJ_CORE_GPU_DECIDE_H
#define BJ_CORE_GPU_DECIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Evidence for a job. */
enum {
    BJ_GPU_ENVIRON = 1,  /* its environment */
    BJ_GPU_NOTED = 2,    /* a file of the prolog */
    BJ_GPU_OPENS = 4,    /* the device cgroup lists it, among single devices */
    BJ_GPU_RUNS = 8,     /* a process of it is on the device */
    BJ_GPU_ALLOTTED = 16 /* the scheduler reports that it allocated it */
};

enum bj_gpu_conflict {
    BJ_GPU_AGREED,
    BJ_GPU_DENIED, /* it claims a device that another job verifiably holds */
    BJ_GPU_STRAY,  /* it runs on a device that it was not given */
    BJ_GPU_DOUBLE, /* several jobs, none of which requested sharing */
    BJ_GPU_UNRESOLVED, /* it has a device that no driver lists; not decided
                          here */
    BJ_GPU_CONFLICTS
};
extern const char *const bj_gpu_conflict_names[BJ_GPU_CONFLICTS];

/* A job with evidence. */
struct bj_gpu_candidate {
    size_t job; /* the caller's index */
    unsigned evidence;
    bool shared;       /* it requested a part of a device */
    bool not_allotted; /* its allocation is known, without this device */
    bool barred;       /* the device cgroup excludes it, or the scheduler
                          allocated others */
    /* the result */
    bool holds;
    enum bj_gpu_conflict conflict;
};

/* Decide about one device.  A job whose only evidence is its environment does
 * not get the device if another job verifiably holds it, by the kernel, the
 * prolog or the scheduler.  A job that uses a device that was not allocated to
 * it gets it, and the conflict is counted. */
void bj_gpu_decide(struct bj_gpu_candidate *c, size_t n);

/* Divide total in proportion to n weights; if all are 0, into equal parts.  The
 * parts add up to total; each differs by less than 1 from the exact value.
 * Ties go to the first. */
void bj_gpu_divide(uint64_t total, const uint64_t *weight, size_t n,
                   uint64_t *ret);

#endif

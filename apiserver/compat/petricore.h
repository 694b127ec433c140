/* Shared by petricore's endpoints. */
#ifndef BJ_APISERVER_COMPAT_PETRICORE_H
#define BJ_APISERVER_COMPAT_PETRICORE_H

#include "apiserver/job/visible_job.h"
#include "report/model/report.h"

/* Values for petricore that are not in the report; BJ_SQL_NULL: unknown. */
enum bj_petricore_number {
    BJ_PETRICORE_THREADS, /* maximum number of threads */
    BJ_PETRICORE_OPEN,    /* files, most */
    BJ_PETRICORE_SCRATCH, /* files, most */
    BJ_PETRICORE_SYSTEM_USEC,
    BJ_PETRICORE_READS, /* system calls */
    BJ_PETRICORE_WRITES,
    BJ_PETRICORE_NUMBERS
};

struct bj_petricore {
    int64_t number[BJ_PETRICORE_NUMBERS];
    struct bj_slice tres; /* allocated, as the scheduler writes it */
};

/* Find the job in the path, which must have ended, and read its report. Texts
 * are in the arena.  0, a refusal or an error.  Free the report in any case. */
int bj_petricore_read(struct bj_call *c, const struct bj_params *p,
                      struct bj_visible_job *f, struct bj_arena *arena,
                      struct bj_report *r, struct bj_petricore *ret);

/* The endpoints /api/v1/jobs/JOB/usage and /api/v1/users/USER. */
int bj_petricore_usage(struct bj_call *c);
int bj_petricore_user(struct bj_call *c);

#endif

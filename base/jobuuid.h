/* The id of a Slurm job in the first batch job monitoring stack, which its
 * dashboards still use. */
#ifndef BJ_BASE_JOBUUID_H
#define BJ_BASE_JOBUUID_H

#include "base/slice.h"

enum { BJ_JOB_UUID_BYTES = 37 };

/* XXH3-128 (seed 0) of "jobid,uid,account,nodelist", account and nodelist in
 * lower case and all trimmed, as 8-4-4-4-12 hexadecimal digits, terminated.
 * nodelist is Slurm's, "n[1-4,7]".  False, and an empty text, in a build
 * without xxHash. */
bool bj_job_uuid(struct bj_slice jobid, struct bj_slice uid,
                 struct bj_slice account, struct bj_slice nodelist,
                 char ret[BJ_JOB_UUID_BYTES]);

#endif

/* The reasons for which jobs wait, in words. */
#ifndef BJ_REPORT_REASON_H
#define BJ_REPORT_REASON_H

#include "base/slice.h"

/* The sentence for a reason as Slurm reports it; NULL: unknown. */
const char *bj_reason_text(struct bj_slice reason);

#endif

/* The reasons why jobs wait, in words. */
#ifndef BJ_REPORT_MODEL_REASON_H
#define BJ_REPORT_MODEL_REASON_H

#include "base/slice.h"

/* The sentence for a reason reported by Slurm; NULL: unknown. */
const char *bj_reason_text(struct bj_slice reason);

#endif

/* The reasons why jobs wait, in words. */
#ifndef BJ_REPORT_MODEL_REASON_H
#define BJ_REPORT_MODEL_REASON_H

#include "base/slice.h"

#include <stdbool.h>

/* The sentence for a reason reported by Slurm; NULL: unknown. */
const char *bj_reason_text(struct bj_slice reason);

/* Will a job with this reason never start unless it is changed?  false also
 * for unknown reasons. */
bool bj_reason_is_final(struct bj_slice reason);

#endif

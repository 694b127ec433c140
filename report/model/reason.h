/* The reasons why jobs wait, in words. */
#ifndef BJ_REPORT_MODEL_REASON_H
#define BJ_REPORT_MODEL_REASON_H

#include "base/slice.h"

#include <stdbool.h>

/* The sentence for a reason reported by Slurm; NULL: unknown. */
const char *bj_reason_text(struct bj_slice reason);

/* Does a job with this reason never start as it is? */
bool bj_reason_is_final(struct bj_slice reason);

/* For what a job waits. */
enum bj_reason_kind {
    BJ_REASON_OTHER,     /* not known */
    BJ_REASON_NEVER,     /* it never starts as it is */
    BJ_REASON_OWN,       /* limits, jobs and holds of its owner */
    BJ_REASON_GROUP,     /* limits of its account or QOS as a whole */
    BJ_REASON_RESOURCES, /* free resources, and jobs ahead of it */
    BJ_REASON_OPERATORS, /* operators */
    BJ_REASON_KINDS
};
enum bj_reason_kind bj_reason_kind_of(struct bj_slice reason);

/* The kind in a few words, in those of the site. */
const char *bj_reason_kind_title(enum bj_reason_kind kind);

#endif

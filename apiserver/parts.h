/* The parts of a job that are not in its row. */
#ifndef BJ_APISERVER_PARTS_H
#define BJ_APISERVER_PARTS_H

#include "apiserver/call.h"

enum bj_part {
    BJ_PART_STEPS,
    BJ_PART_ENERGY,
    BJ_PART_EMISSIONS,
    BJ_PART_FINDINGS
};

/* The rows of one part of a job, by its number in the store; the caller has
 * checked that the user may see it.  0 or an error of the store. */
int bj_parts_rows(struct bj_call *c, enum bj_part which, int64_t job,
                  const struct bj_output *out);

#endif

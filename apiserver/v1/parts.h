/* Parts of a job that are not columns of its row. */
#ifndef BJ_APISERVER_V1_PARTS_H
#define BJ_APISERVER_V1_PARTS_H

#include "apiserver/frame/call.h"

enum bj_part {
    BJ_PART_STEPS,
    BJ_PART_ENERGY,
    BJ_PART_EMISSIONS,
    BJ_PART_FINDINGS
};

/* The columns of steps; ends with name NULL. */
extern const struct bj_column bj_step_columns[];

/* Write the rows of one part of a job, by the job's number in the store. The
 * caller must have checked that the user may see the job. 0 or an error of the
 * store. */
int bj_parts_rows(struct bj_call *c, enum bj_part which, int64_t job,
                  const struct bj_output *out);

#endif

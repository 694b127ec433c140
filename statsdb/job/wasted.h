/* The cost of what a finding says was wasted: the one definition by which
 * reports and lists sort findings of the same severity. */
#ifndef BJ_STATSDB_JOB_WASTED_H
#define BJ_STATSDB_JOB_WASTED_H

#include "base/slice.h"
#include "statsdb/derive/price.h"

#include <stdint.h>

/* The columns of a job (job_column.h) that this needs. */
enum bj_wasted_column {
    BJ_WASTED_ELAPSED,
    BJ_WASTED_CPU_ALLOCATED,
    BJ_WASTED_CPU_USED,
    BJ_WASTED_GPU_ALLOCATED,
    BJ_WASTED_GPU_EFFICIENCY,
    BJ_WASTED_MEMORY_ALLOCATED,
    BJ_WASTED_MEMORY_EFFICIENCY,
    BJ_WASTED_COST,
    BJ_WASTED_COLUMNS
};
extern const char *const bj_wasted_columns[BJ_WASTED_COLUMNS];

/* What a finding says was wasted: the unused CPUs, GPUs or memory that it is
 * about, all of them during the time without use, or all that a job held that
 * lost its result.  number: the numbers of the columns; condition and value:
 * those of the finding, value in seconds if it is a time.  An amount is
 * BJ_SQL_NULL if it is not known or not wasted; energy always is. */
void bj_wasted(const int64_t number[BJ_WASTED_COLUMNS],
               struct bj_slice condition, int64_t value, struct bj_paid *ret);

/* Its cost in millionths of the currency, of the unused CPUs, GPUs or memory
 * that the finding is about, of the time without use, or of all that a job held
 * that lost its result.  BJ_SQL_NULL:
 * the finding is about nothing that has a price, or the cost is unknown. */
int64_t bj_wasted_cost(const struct bj_prices *prices,
                       const int64_t number[BJ_WASTED_COLUMNS],
                       struct bj_slice condition, int64_t value);

#endif

/* What a run of PBS had over its time, from accounting records about nodes that
 * it released: u and e end a size, c begins the next one, e is the last.  Each
 * record has one size, so they are joined with those of the store: records may
 * be read in several calls, and again. */
#ifndef BJ_STATSDB_IMPORT_PBS_SIZE_H
#define BJ_STATSDB_IMPORT_PBS_SIZE_H

#include "sched/job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Columns of job_size, in the order of the table; seconds, bytes, numbers of
 * dictionaries; BJ_SQL_NULL: unknown. */
enum {
    BJ_SIZE_START,
    BJ_SIZE_END,
    BJ_SIZE_ELAPSED,
    BJ_SIZE_CPUS,
    BJ_SIZE_NODES,
    BJ_SIZE_GPUS,
    BJ_SIZE_MEMORY,
    BJ_SIZE_HOSTS,
    BJ_SIZE_TRES,
    BJ_SIZE_COLS
};

struct bj_size_row {
    int64_t v[BJ_SIZE_COLS];
};

/* The sizes of a run, in the order of time.  Zero-initialise. */
struct bj_pbs_sizes {
    struct bj_size_row *size;
    size_t n, cap;
};

void bj_pbs_sizes_free(struct bj_pbs_sizes *s);

/* What a record says about the run; BJ_SQL_NULL: unknown. */
struct bj_pbs_size_record {
    enum bj_sizes_kind kind; /* not BJ_SIZES_ALL */
    struct bj_size_row size; /* start, or end, and amounts */
    int64_t run_start;
    int64_t suspended; /* since run_start */
    int64_t elapsed;   /* run time, of the last record */
};

/* Join the size of a record to the others: 1 if they change, 0 if not;
 * -ENOMEM. */
int bj_pbs_sizes_join(struct bj_pbs_sizes *s,
                      const struct bj_pbs_size_record *record);

/* Amounts times run time; BJ_SQL_NULL: unknown. */
struct bj_size_sums {
    int64_t cpu_sec, node_sec, gpu_sec, memory_mib_sec;
};

/* The sums over all sizes.  They are unknown if the sizes do not cover the time
 * from run_start to the end of the last one. */
struct bj_size_sums bj_pbs_sizes_sums(const struct bj_pbs_sizes *s,
                                      int64_t run_start);

#endif

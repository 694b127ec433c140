/* The best value of a job: the measured one where all its nodes were measured,
 * else the one from accounting. All programs compute it with these functions.
 *
 * Any argument and any result may be BJ_SQL_NULL: unknown. */
#ifndef BJ_STATSDB_TABLES_BEST_H
#define BJ_STATSDB_TABLES_BEST_H

#include <stdbool.h>
#include <stdint.h>

/* Source of a value, as stored. */
enum bj_source {
    BJ_FROM_NODES = 1,    /* final records */
    BJ_FROM_PROM = 2,     /* a Prometheus server */
    BJ_FROM_SCHEDULER = 3 /* accounting */
};

/* "nodes", "prometheus", "scheduler"; NULL: not a source. */
const char *bj_source_name(int64_t source);

struct bj_best {
    int64_t value, source;
};

/* Returns the measured value unless its source is the scheduler, else the value
 * from accounting. */
struct bj_best bj_best(int64_t measured, int64_t source, int64_t accounting);

/* Returns the larger CPU time, because a node may have missed the end of a job
 * (docs/records.md).  A time of 0 is unknown: no process runs without CPU
 * time. */
struct bj_best bj_best_cpu(int64_t measured, int64_t source,
                           int64_t accounting);

/* Whether the measured memory held is only the largest sample: a kernel that
 * keeps no peak of memory (cgroup v2 before Linux 5.19) gives no peak of the
 * memory charged either. */
bool bj_best_is_sampled(int64_t held, int64_t charged);

/* Returns the peak of memory: the best of the measured memory held and the peak
 * from accounting, or the larger of both if held is only a sample; if neither
 * is known, the measured memory charged, page cache included. */
struct bj_best bj_best_peak(int64_t held, int64_t charged, int64_t source,
                            int64_t accounting);

/* What a job had over its run time: the sum, which a resized job has, else
 * amount x run time. */
int64_t bj_best_held(int64_t sum, int64_t amount, int64_t elapsed_sec);

/* Used divided by allocated, in millionths. */
int64_t bj_best_cpu_ppm(int64_t used_usec, int64_t cpus, int64_t elapsed_sec);
int64_t bj_best_memory_ppm(int64_t peak_bytes, int64_t of_bytes);

/* Values from accounting: the peak of the whole job, which is at least that of
 * its largest task, and unknown if it is 0; and its energy, which is unknown if
 * it is 0 J, since the scheduler then has no meters. */
int64_t bj_accounting_peak(int64_t peak_bytes, int64_t task_peak_bytes);
int64_t bj_accounting_uj(int64_t joules);

/* a * b / c; BJ_SQL_NULL where one is unknown or negative, or c is 0. */
int64_t bj_best_ratio(int64_t a, int64_t b, int64_t c);

/* More than any machine uses; it keeps products within 64 bits. */
#define BJ_MOST_UJ (INT64_C(1) << 60)

#endif

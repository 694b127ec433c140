/* The best value of a job: the measured one where all its nodes were measured,
 * else the accounting's. Every program takes it from here.
 *
 * Any argument and any result may be BJ_SQL_NULL: unknown. */
#ifndef BJ_STATSDB_BEST_H
#define BJ_STATSDB_BEST_H

#include <stdint.h>

/* Source of a value, as the store keeps it. */
enum bj_source {
    BJ_FROM_NODES = 1,    /* final records */
    BJ_FROM_PROM = 2,     /* a Prometheus server */
    BJ_FROM_SCHEDULER = 3 /* accounting */
};

/* "nodes", "prometheus", "scheduler"; NULL: none of them. */
const char *bj_source_name(int64_t source);

struct bj_best {
    int64_t value, source;
};

/* Returns the measured value unless its source is the scheduler, else the
 * accounting's. */
struct bj_best bj_best(int64_t measured, int64_t source, int64_t accounting);

/* The same for CPU time: the larger one, since a node may have missed the end
 * of a job (docs/records.md). */
struct bj_best bj_best_cpu(int64_t measured, int64_t source,
                           int64_t accounting);

/* The same for memory: the measured peak of what the job held; where neither
 * that nor the accounting's is known, the peak of what was charged to it, page
 * cache included. */
struct bj_best bj_best_peak(int64_t held, int64_t charged, int64_t source,
                            int64_t accounting);

/* Used divided by allocated, in millionths. */
int64_t bj_best_cpu_ppm(int64_t used_usec, int64_t cpus, int64_t elapsed_sec);
int64_t bj_best_memory_ppm(int64_t peak_bytes, int64_t of_bytes);

/* Values of the accounting: the peak of the whole job, at least that of its
 * largest task; its energy, where 0 J means that the scheduler has no meters.
 */
int64_t bj_accounting_peak(int64_t peak_bytes, int64_t task_peak_bytes);
int64_t bj_accounting_uj(int64_t joules);

/* a * b / c; BJ_SQL_NULL where one is unknown or negative, or c is 0. */
int64_t bj_best_ratio(int64_t a, int64_t b, int64_t c);

/* More than any machine uses; it keeps products within 64 bits. */
#define BJ_MOST_UJ (INT64_C(1) << 60)

#endif

/* The nodes and GPUs of a job: what each used, facts about their differences,
 * and their names as findings show them. */
#ifndef BJ_STATSDB_DERIVE_PARTS_H
#define BJ_STATSDB_DERIVE_PARTS_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "statsdb/derive/fact.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of larger jobs nothing is compared or named. */
enum { BJ_PARTS_MAX = 4096 };

/* A node (gpu.n is 0) or a GPU.  Numbers may be BJ_SQL_NULL. */
struct bj_part {
    struct bj_slice node, gpu, index; /* index: of the GPU on its node */
    int64_t cpus;                     /* on which the job could run */
    int64_t cpus_milli;               /* busy CPUs on average, x 1000 */
    int64_t memory, memory_limit;     /* bytes */
    int64_t busy_ppm;                 /* of a GPU */
    int64_t samples;                  /* in the window; of running jobs */
    int64_t idle_since;               /* seconds since 1970 */
    bool unused;                      /* all the time */
    bool failed;                      /* a GPU, by an error of its hardware */
};

/* Zero-initialise; free with bj_parts_free. */
struct bj_parts {
    struct bj_arena arena; /* texts */
    struct bj_part *v;
    size_t n, cap;
    bool too_many;
};

/* Remove all parts, but keep the memory. */
void bj_parts_clear(struct bj_parts *p);
void bj_parts_free(struct bj_parts *p);

/* Find a part, or add it with unknown values; its texts are copied.  NULL:
 * there are too many, or no memory. */
struct bj_part *bj_parts_at(struct bj_parts *p, struct bj_slice node,
                            struct bj_slice gpu, struct bj_slice index);

/* The same for the labels of a series: the node is the label slurm_node, else
 * the host of instance. */
struct bj_part *bj_parts_of_series(struct bj_parts *p,
                                   const struct bj_json *metric);

/* Sort by node and GPU. */
void bj_parts_sort(struct bj_parts *p);

/* Append "n101 and n102", or for GPUs "g2: GPU 2 and 3; g3: GPU 0": the chosen
 * ones, in their order.  A GPU without index has its id. */
void bj_parts_names(const struct bj_parts *p, const bool *chosen,
                    struct bj_buf *out);

/* For each fact the names of nodes or GPUs that it is about; NULL: none. */
struct bj_fact_names {
    struct bj_arena arena;
    const char *of[BJ_FACT_COUNT];
};

/* Set the facts about differences of the nodes and GPUs, NAN if not all of them
 * are known, and all names.  nodes, gpus: how many the job has.  The parts are
 * sorted. */
void bj_parts_facts(struct bj_parts *p, int64_t nodes, int64_t gpus,
                    double fact[BJ_FACT_COUNT], struct bj_fact_names *names);

#endif

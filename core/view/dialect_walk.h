/* A walk in a dialect, shared by the files that implement it. Private to the
 * dialects. */
#ifndef BJ_CORE_VIEW_DIALECT_WALK_H
#define BJ_CORE_VIEW_DIALECT_WALK_H

#include "core/view/dialect.h"

/* An exported job, and where its labels begin in the room's text. */
struct bj_dialect_job {
    const struct bj_job *job;
    size_t begin[BJ_DIALECT_SETS + 1];
};

struct bj_dialect_walk {
    const struct bj_dialect *dialect;
    const struct bj_snap *snap;
    const struct bj_dialect_env *env;
    struct bj_dialect_room *room;
    const struct bj_dialect_sink *sink;
    struct bj_slice bare[BJ_DIALECT_SETS]; /* labels of samples without job */
    /* The current family. */
    const struct bj_dialect_row *row;
    const char *key[BJ_INFO_MAX + 1];
    bool begun;
    enum bj_dialect_digits digits;
    bool simple; /* the value is the plain field */
};

/* The labels of a job in one of the label sets. */
static inline struct bj_slice bj_dialect_labels(const struct bj_dialect_walk *w,
                                                const struct bj_dialect_job *j,
                                                unsigned set)
{
    return (struct bj_slice){w->room->text.p + j->begin[set],
                             j->begin[set + 1] - j->begin[set]};
}

/* Whether a row has samples of jobs, not of the snapshot. */
static inline bool bj_dialect_of_jobs(const struct bj_dialect_row *row)
{
    return row->of != BJ_ROW_SNAP && row->of != BJ_ROW_SNAPS &&
           row->of != BJ_ROW_INFO && row->of != BJ_ROW_COUNT &&
           row->of != BJ_ROW_SUMS &&
           !(row->of >= BJ_ROW_GPU_JOB && row->of <= BJ_ROW_GPU_COUNT);
}

static inline bool bj_dialect_runs(const struct bj_job *job)
{
    return job->end_sec == BJ_ABSENT;
}

/* A field of a record. */
static inline uint64_t bj_dialect_field(const char *record, size_t off)
{
    return *(const uint64_t *)(const void *)(record + off);
}

/* key[word] in the original's words. */
struct bj_slice bj_dialect_map_word(const struct bj_dialect_row *row,
                                    const struct bj_slice key[BJ_SUB_KEYS]);

/* A sample; the first one begins the family. */
int bj_dialect_put(struct bj_dialect_walk *w, struct bj_slice labels,
                   const struct bj_slice *key, uint64_t value);

/* The record of a GPU; NULL when its driver reports nothing. dialect_gpu.c */
const struct bj_gpu_use *bj_dialect_gpu(const struct bj_snap *snap,
                                        struct bj_slice uuid);

/* Label values of a job's share of a GPU, for the names in the row's info or
 * key; use may be NULL, text holds some of the values. */
enum { BJ_DIALECT_GPU_TEXT = 400 };
void bj_dialect_gpu_keys(const struct bj_dialect_walk *w,
                         const struct bj_sub *part,
                         const struct bj_gpu_use *use,
                         char text[BJ_DIALECT_GPU_TEXT],
                         struct bj_slice key[BJ_INFO_MAX]);

/* Rows from BJ_ROW_GPU_JOB to BJ_ROW_GPU_COUNT. */
int bj_dialect_put_gpus(struct bj_dialect_walk *w, struct bj_slice labels);

/* Write the labels of all exported jobs, and of samples without job. 0 or
 * -ENOMEM. */
int bj_dialect_take_jobs(struct bj_dialect_walk *w);

/* Length of the empty step labels at the end of a job's labels, in the sets of
 * BJ_ROW_USAGE, which other rows do not use. */
size_t bj_dialect_no_step(const struct bj_dialect *d);

/* Whether a record with these keys is exported. */
bool bj_dialect_wanted(const struct bj_dialect_row *row,
                       const struct bj_slice key[BJ_SUB_KEYS]);

/* Copy the exported keys to ret; returns their number. */
size_t bj_dialect_keys(const struct bj_dialect_row *row,
                       const struct bj_slice key[BJ_SUB_KEYS],
                       struct bj_slice ret[BJ_SUB_KEYS]);

/* Begin the family of the row. */
int bj_dialect_begin(struct bj_dialect_walk *w);

/* A row of BJ_ROW_SUMS. */
int bj_dialect_put_sums(struct bj_dialect_walk *w, struct bj_slice labels);

#endif

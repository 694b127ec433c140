/* Of report/request*.c only: the models of the schedulers. */
#ifndef BJ_REPORT_REQUEST_REQUEST_IMPL_H
#define BJ_REPORT_REQUEST_REQUEST_IMPL_H

#include "base/buf.h"
#include "report/request/request.h"

/* Options as text while they are put together. */
struct bj_request_out {
    const struct bj_request_job *job;
    const struct bj_request_need *need;
    struct bj_request *ret;
    struct bj_arena *arena;
    const char *directive; /* "#SBATCH " */
    struct bj_buf option[BJ_REQUEST_PARTS], replaces[BJ_REQUEST_PARTS];
    struct bj_buf places[BJ_REQUEST_PARTS]; /* lines of the script */
    bool on_submit_line[BJ_REQUEST_PARTS];  /* a replaced option is there */
    /* The part whose option contains the change of a part, plus 1; 0: none. */
    unsigned char in[BJ_REQUEST_PARTS];
};

/* Append an option to a part; replaces: as the user wrote it, or nothing. */
void bj_request_put(struct bj_request_out *o, enum bj_request_part part,
                    struct bj_slice option, struct bj_slice replaces);

/* Memory in the syntax of a scheduler: whole units[0] (GiB) or units[1]
 * (MiB); bytes are rounded up to MiB. */
void bj_request_put_memory(struct bj_buf *b, const char *const units[2],
                           int64_t bytes);

/* Is another amount wanted, which is known? */
static inline bool bj_request_wants(int64_t v)
{
    return v != INT64_MIN;
}

/* a / b, rounded up; both are positive. */
static inline int64_t bj_request_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

/* Memory for one CPU or GPU: a number that people would write, but finer than
 * that of a node, as it is multiplied. */
int64_t bj_request_round_unit(int64_t bytes);

/* Does the amount save at least a tenth? */
static inline bool bj_request_saves(int64_t now, int64_t had)
{
    return now <= had / 10 * 9;
}

/* A decimal number; -1: not a number, or above a million. */
int64_t bj_request_number(struct bj_slice s);

/* Bytes, from a number with a unit: K, M, G, T and what may follow them ("b",
 * "B"); plain: the factor of a number without unit.  -1: not memory. */
int64_t bj_request_bytes(struct bj_slice s, int64_t plain);

void bj_request_slurm(struct bj_request_out *o);
void bj_request_pbs(struct bj_request_out *o);

#endif

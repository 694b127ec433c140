/* Lists of trackable resources as Slurm writes them. */
#ifndef BJ_SCHED_TRES_H
#define BJ_SCHED_TRES_H

#include "base/slice.h"
#include "sched/job.h"

#include <stdbool.h>
#include <stdint.h>

/* The kind of a list, which determines its units. */
enum bj_tres_kind {
    BJ_TRES_REQUESTED, /* ReqTRES, AllocTRES: memory without a letter is MiB */
    BJ_TRES_USED,      /* TRESUsage*: memory is bytes, "cpu" is time */
};

/* Split "cpu=4,mem=250.5G,node=1,billing=4,gres/gpu:a100=2,gres/gpu=2", and the
 * form in Slurm's database, "1=4,2=256512,4=1", where numbers below 1000 are
 * fixed and others become BJ_TRES_OTHER.  Slices of the list point into s.
 *
 * Returns the number of entries that could not be read (a bad number, no '='),
 * which are left out.  An empty text is an empty list.  Entries beyond
 * BJ_TRES_MAX are left out without a count. Source: Slurm,
 * src/common/slurmdb_defs.c, slurmdb_make_tres_string(). */
unsigned bj_tres_parse(struct bj_slice s, enum bj_tres_kind kind,
                       struct bj_tres_list *ret);

/* The amount of a type, of any name and model; BJ_ABSENT: not in the list.  For
 * types with names use bj_tres_sum. */
uint64_t bj_tres_get(const struct bj_tres_list *list, enum bj_tres_type type);

/* The amount of a generic resource ("gpu"): Slurm repeats the typed ones in an
 * untyped total, but does not always print that, so the total counts if
 * present, else the sum of the typed; 0: neither.  *ret_model (may be NULL)
 * gets the model of the first typed entry, and is unchanged without one. */
uint64_t bj_tres_sum(const struct bj_tres_list *list, enum bj_tres_type type,
                     struct bj_slice name, struct bj_slice *ret_model);

/* The values that every line of sacct needs from a list of usage
 * (TRESUsageInTot and others); BJ_ABSENT: missing or unreadable. */
struct bj_tres_used {
    uint64_t mem_bytes, vmem_bytes, disk_bytes;
    uint64_t cpu_usec;
};
void bj_tres_used(struct bj_slice s, struct bj_tres_used *ret);

/* --- gres ---*/

/* Generic resources of nodes as sinfo writes them. */

struct bj_gres {
    struct bj_slice name, type; /* "gpu", "a100"; type may be empty */
    uint64_t count;
};

/* Cut the next entry off *rest, a list such as "gpu:a100:4(S:0-1),gpu:2,tpu:0"
 * or "gpu:tesla:3(IDX:0,2-3)"; "(null)" means no type, or an empty list.  False
 * at the end.  Entries without a number are skipped and counted in *bad (may be
 * NULL). Source: Slurm, src/common/gres.c, gres_get_node_used() and related
 * functions. */
bool bj_gres_next(struct bj_slice *rest, struct bj_gres *ret, unsigned *bad);

#endif

/* Lists of trackable resources as Slurm writes them. */
#ifndef BJ_SCHED_TRES_H
#define BJ_SCHED_TRES_H

#include "base/slice.h"
#include "sched/job.h"

#include <stdint.h>

/* What a list is about: units depend on it. */
enum bj_tres_kind {
    BJ_TRES_ASKED, /* ReqTRES, AllocTRES: memory without a letter is MiB */
    BJ_TRES_USED,  /* TRESUsage*: memory is bytes, "cpu" is time */
};

/* Take apart "cpu=4,mem=250.5G,node=1,billing=4,gres/gpu:a100=2,gres/gpu=2",
 * and the form in Slurm's database, "1=4,2=256512,4=1", of whose numbers those
 * below 1000 are fixed and the others come back as BJ_TRES_OTHER.  Slices of
 * the list point into s.
 *
 * Returns how many entries could not be read (a number that is none, no '='),
 * which are left out; 0 when all is well.  The empty text is an empty list.
 * Entries beyond BJ_TRES_MAX are left out silently.
 * Source: Slurm, src/common/slurmdb_defs.c, slurmdb_make_tres_string(). */
unsigned bj_tres_parse(struct bj_slice s, enum bj_tres_kind kind,
                       struct bj_tres_list *ret);

/* What the list says of a type, whatever its name and model; BJ_ABSENT when
 * nothing.  For types that have names use bj_tres_sum. */
uint64_t bj_tres_get(const struct bj_tres_list *list, enum bj_tres_type type);

/* How many pieces of a generic resource ("gpu") there are: Slurm repeats the
 * typed ones in an untyped total, but does not always print that, so the total
 * counts where there is one, else the sum of the typed; 0 where there is
 * neither.  *ret_model (may be NULL) gets the model of the first typed entry,
 * untouched when there is none. */
uint64_t bj_tres_sum(const struct bj_tres_list *list, enum bj_tres_type type,
                     struct bj_slice name, struct bj_slice *ret_model);

/* What is wanted of a list of usage (TRESUsageInTot and the like) in every line
 * of sacct; BJ_ABSENT what is not there or cannot be read. */
struct bj_tres_used {
    uint64_t mem_bytes, vmem_bytes, disk_bytes;
};
void bj_tres_used(struct bj_slice s, struct bj_tres_used *ret);

#endif

/* Sizes as schedulers write them. */
#ifndef BJ_SCHED_MEMORY_H
#define BJ_SCHED_MEMORY_H

#include "base/slice.h"

#include <stdint.h>

/* Bytes out of "4000M", "250.5G", "123456kb" or "1024": digits, perhaps a
 * fraction, perhaps one of K M G T P E (of 1024, in either case), perhaps "b".
 * unit is what a number without a letter counts in: 1 << 20 for Slurm's
 * requests, 1 for what it measured.  Slurm prints '?' behind a number that has
 * outgrown P: it is taken for E.  PBS counts words of 8 bytes with "w" ("2mw").
 * A fraction of a byte is dropped.
 *
 * Returns 0, -EINVAL (no such text) or -ERANGE (2^64 bytes or more); *ret is
 * untouched on failure.  Sources: Slurm, src/common/slurm_protocol_defs.c,
 * convert_num_unit2(); PBS, pbs_resources(7), "size". */
int bj_memory_parse(struct bj_slice s, uint64_t unit, uint64_t *ret);

/* The same for letters that stand for powers of base, 1024 or 1000 (Slurm's
 * ConsumedEnergy is the one that has 1000). */
int bj_memory_scaled(struct bj_slice s, uint64_t unit, uint64_t base,
                     uint64_t *ret);

/* For what memory of a Slurm request is meant. */
enum bj_memory_per {
    BJ_MEMORY_JOB,  /* no letter: Slurm 21.08 and later */
    BJ_MEMORY_NODE, /* "4Gn" */
    BJ_MEMORY_CPU,  /* "4Gc" */
};

/* Slurm's ReqMem: a size in MiB, with the letter n or c before Slurm 21.08.
 * "0" is all of a node's memory and comes back as 0.  Errors as above. */
int bj_memory_request(struct bj_slice s, uint64_t *ret,
                      enum bj_memory_per *ret_per);

#endif

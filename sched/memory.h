/* Sizes as schedulers write them. */
#ifndef BJ_SCHED_MEMORY_H
#define BJ_SCHED_MEMORY_H

#include "base/slice.h"

#include <stdint.h>

/* Parse bytes from "4000M", "250.5G", "123456kb" or "1024": digits, an optional
 * fraction, an optional letter of K M G T P E (powers of 1024, in either case),
 * an optional "b".  unit is that of a number without a letter: 1 << 20 for
 * Slurm's requests, 1 for its measurements.  Slurm prints '?' after a number
 * beyond P: it is read as E.  PBS counts words of 8 bytes with "w" ("2mw").  A
 * fraction of a byte is dropped.
 *
 * Returns 0, -EINVAL (another text) or -ERANGE (2^64 bytes or more); *ret is
 * unchanged on failure.  Sources: Slurm, src/common/slurm_protocol_defs.c,
 * convert_num_unit2(); PBS, pbs_resources(7), "size". */
int bj_memory_parse(struct bj_slice s, uint64_t unit, uint64_t *ret);

/* The same with letters for powers of base, 1024 or 1000 (only Slurm's
 * ConsumedEnergy has 1000). */
int bj_memory_scaled(struct bj_slice s, uint64_t unit, uint64_t base,
                     uint64_t *ret);

/* What the memory in a Slurm request refers to. */
enum bj_memory_per {
    BJ_MEMORY_JOB,  /* no letter: Slurm 21.08 and later */
    BJ_MEMORY_NODE, /* "4Gn" */
    BJ_MEMORY_CPU,  /* "4Gc" */
};

/* Slurm's ReqMem: a size in MiB, followed by n or c before Slurm 21.08.  "0"
 * means all memory of a node and is returned as 0.  Errors as above. */
int bj_memory_request(struct bj_slice s, uint64_t *ret,
                      enum bj_memory_per *ret_per);

#endif

#include "statsdb/tables/record_number.h"

#include "base/hash.h"
#include "statsdb/tables/job_number.h"

enum { SEPARATOR = 256 }; /* not the value of a byte */

static uint64_t add_number(uint64_t h, int64_t v)
{
    for (int bit = 0; bit < 64; bit += 8)
        h = bj_hash_unit(h, (unsigned)((uint64_t)v >> bit) & 0xff);
    return h;
}

/* The hash is stored, so it must not change. */
int64_t bj_record_number_of(const struct bj_record_key *k)
{
    uint64_t h = add_number(add_number(BJ_HASH, k->cluster), k->host);
    h = bj_hash_unit(bj_hash(h, k->jobid), SEPARATOR);
    h = bj_hash(h, k->slurm_node);
    return bj_job_number_first(k->start_sec) |
           (int64_t)((h ^ h >> 32) & 0xffffffff);
}

#include "statsdb/tables/job_number.h"

#include "base/hash.h"
#include "store/db.h"

enum { SECOND_BITS = 31, CLUSTER_BITS = 6, JOBID_BITS = 26 };
enum { BELOW_SECOND = CLUSTER_BITS + JOBID_BITS };

#define SECONDS_AT_2000 INT64_C(946684800)
#define MASK(bits) ((INT64_C(1) << (bits)) - 1)

bool bj_job_numbers_follow(const struct bj_db *db)
{
    return bj_db_dialect(db) == BJ_DIALECT_POSTGRESQL;
}

static int64_t second_of(int64_t sec)
{
    int64_t second = sec - SECONDS_AT_2000;
    if (sec < SECONDS_AT_2000)
        return 0;
    return second > MASK(SECOND_BITS) ? MASK(SECOND_BITS) : second;
}

/* The hash is stored, so it must not change. */
static int64_t low_bits(struct bj_slice jobid)
{
    int64_t n;
    if (bj_jobid_number(jobid, &n) && n <= MASK(JOBID_BITS))
        return n;
    uint64_t h = bj_hash(BJ_HASH, jobid);
    return (int64_t)(h ^ h >> JOBID_BITS) & MASK(JOBID_BITS);
}

int64_t bj_job_number_time(int64_t number)
{
    int64_t second = number >> BELOW_SECOND;
    return second > 0 ? second + SECONDS_AT_2000 : 0;
}

int64_t bj_job_number_first(int64_t sec)
{
    return second_of(sec) << BELOW_SECOND;
}

int64_t bj_job_number_last(int64_t sec)
{
    return bj_job_number_first(sec) | MASK(BELOW_SECOND);
}

int64_t bj_job_number_of(int64_t cluster, struct bj_slice jobid,
                         int64_t submit_sec)
{
    return bj_job_number_first(submit_sec) |
           (cluster & MASK(CLUSTER_BITS)) << JOBID_BITS | low_bits(jobid);
}

int64_t bj_job_number_at(int64_t number, int64_t submit_sec)
{
    return bj_job_number_first(submit_sec) | (number & MASK(BELOW_SECOND));
}

int64_t bj_job_number_next(int64_t number)
{
    const int64_t low = MASK(BELOW_SECOND);
    return (number & ~low) | ((number + 1) & low);
}

int bj_job_number_upto(struct bj_db *db, int64_t *ret, struct bj_err *err)
{
    *ret = INT64_MAX;
    if (bj_job_numbers_follow(db))
        return 0;
    return bj_db_int(db, "SELECT coalesce(max(id), 0) FROM job", ret, err);
}

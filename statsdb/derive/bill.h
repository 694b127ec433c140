/* What a period cost: what jobs used within it, running jobs included.  The
 * one definition of daily sums, /api/v1/usage, pages, and the reports of a
 * period in all their forms (docs/derived.md, "What a period cost"). */
#ifndef BJ_STATSDB_DERIVE_BILL_H
#define BJ_STATSDB_DERIVE_BILL_H

#include "statsdb/derive/price.h"

#include <stdbool.h>
#include <stdint.h>

/* Sums over jobs; never unknown.  The known parts belong to jobs that have
 * ended, except for CPU time. */
struct bj_bill {
    int64_t cpu_sec, gpu_sec, mem_mib_sec; /* allocated */
    int64_t cpu_known_sec, cpu_used_msec;  /* of jobs with known use */
    int64_t gpu_known_sec, gpu_used_msec;  /* the same */
    int64_t energy_cpu_sec, energy_mj;     /* of jobs with known energy */
    int64_t emissions_mj;                  /* energy with a known factor */
    int64_t emissions_ug;
    /* Parts of the above, of jobs that hardware ended: the last two
     * of their energy_cpu_sec and energy_mj. */
    int64_t failed_cpu_sec, failed_gpu_sec, failed_mem_mib_sec;
    int64_t failed_energy_cpu_sec, failed_energy_mj;
};

/* A job; any number may be BJ_SQL_NULL. */
struct bj_bill_job {
    int64_t start, end; /* end unknown: it runs */
    int64_t elapsed, suspended;
    int64_t cpu_sec, gpu_sec, mem_mib_sec; /* allocated, times run time */
    int64_t cpu_usec;                      /* used, the best value */
    int64_t gpu_ppm;                       /* mean use of its GPUs */
    int64_t energy_uj, emissions_ug;
    int64_t emissions_covered_ppm; /* part of energy_uj with a factor */
    bool hardware_failed;          /* bj_bill_hardware_failed */
};

/* Did hardware end a job: did a node fail or not boot, or did it end early and
 * a GPU had failed?  state: enum bj_job_state; gpu_fault: BJ_GPU_FAULTS of
 * statsdb/tables/fragment.h, or BJ_SQL_NULL. */
bool bj_bill_hardware_failed(int64_t state, int64_t gpu_fault);

/* A value of a scheduler for sums: 0 if it is unknown, negative or above 2^53,
 * so that sums cannot overflow (2^53 ms of CPU time are 100 days of a machine
 * with a million CPUs); the product of two; is it a time of a year before
 * 10000? */
int64_t bj_bill_sane(int64_t v);
int64_t bj_bill_times(int64_t a, int64_t b);
bool bj_bill_dated(int64_t sec);

/* The time over which totals of a job are spread evenly: *start to *stop.
 * false: the job has not started. */
bool bj_bill_time(const struct bj_bill_job *j, int64_t *start, int64_t *stop);

/* The part of total, which is spread evenly from start to stop, that belongs to
 * [from, to): the whole units until its end minus those until its start, so
 * that nothing is lost or counted twice.  Of a run without duration, or one
 * longer than BJ_BILL_DAYS, all belongs to the second of its end. */
int64_t bj_bill_part(int64_t total, int64_t start, int64_t stop, int64_t from,
                     int64_t to);

enum { BJ_BILL_DAYS = 1000 };

/* The part of a job within [from, to); false: it did not run then. */
bool bj_bill_of_job(const struct bj_bill_job *j, int64_t from, int64_t to,
                    struct bj_bill *ret);

/* Add b to *sum; sums that would overflow stay. */
void bj_bill_add(struct bj_bill *sum, const struct bj_bill *b);

/* The cost in millionths: the sums at the site's prices, rounded once, and
 * what is not charged of them, as a node failed.  BJ_SQL_NULL: the site has no
 * prices. */
int64_t bj_bill_cost(const struct bj_bill *b, const struct bj_prices *p);
int64_t bj_bill_not_charged(const struct bj_bill *b, const struct bj_prices *p);

/* v * times / by, rounded half up; BJ_SQL_NULL if by is not positive, or if it
 * overflows. */
int64_t bj_bill_ratio(int64_t v, int64_t times, int64_t by);

/* Known parts in millionths of the CPU (GPU) time; BJ_SQL_NULL: of nothing.
 * That of the emissions is that of the energy, times the part of the known
 * energy that has a factor.  The cost is known as far as the energy of what is
 * charged is, or wholly if energy has no price. */
int64_t bj_bill_cpu_known(const struct bj_bill *b);
int64_t bj_bill_gpu_known(const struct bj_bill *b);
int64_t bj_bill_energy_known(const struct bj_bill *b);
int64_t bj_bill_emissions_known(const struct bj_bill *b);
int64_t bj_bill_cost_known(const struct bj_bill *b, const struct bj_prices *p);

#endif

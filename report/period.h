/* The report of a user, an account or a month: sums over jobs, in order, how
 * much of that is known, and the jobs that wasted most. */
#ifndef BJ_REPORT_PERIOD_H
#define BJ_REPORT_PERIOD_H

#include "base/arena.h"
#include "base/buf.h"
#include "store/db.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A job as it is added; any number may be BJ_SQL_NULL.  Texts are copied. */
struct bj_period_job {
    struct bj_slice id, user, account, name, state, currency;
    struct bj_slice findings; /* "a,b" */
    int64_t elapsed_sec, cpus, cpu_usec, gpus, gpu_ppm;
    int64_t memory_bytes, memory_peak_bytes, energy_uj, emissions_ug;
    int64_t cost, cost_is_minimum;
    int64_t end_sec;
    int64_t at_sec; /* when it began */
};

/* CPU time of the jobs that began on a day, microseconds. */
struct bj_period_day {
    int64_t cpu, cpu_used; /* used: where known */
};

enum { BJ_PERIOD_DAYS = 92 }; /* at most; longer periods have no days */

struct bj_period_sums {
    struct bj_slice name; /* of the group */
    int64_t jobs, completed, failed, timeout, oom, cancelled, open;
    /* Microseconds; known: of cpu and gpu, those of jobs whose use is known. */
    int64_t cpu, cpu_known, cpu_used, gpu, gpu_known, gpu_used;
    int64_t energy_uj, energy_cpu; /* energy_cpu: of cpu, with known energy */
    int64_t emissions_ug, emissions_cpu;
    int64_t cost, cost_jobs; /* millionths; of jobs with a cost */
    int64_t cost_cpu;        /* of cpu, of jobs whose whole cost is known */
};

enum bj_waste {
    BJ_WASTE_GPU,    /* GPU time idle, microseconds */
    BJ_WASTE_CPU,    /* CPU time not used, of jobs without GPUs, microseconds */
    BJ_WASTE_MEMORY, /* memory not used, MiB times seconds */
    BJ_WASTES
};

enum { BJ_WASTERS = 10 };

struct bj_waster {
    struct bj_slice id, user, name, findings;
    int64_t amount, ppm; /* ppm: used */
};

struct bj_period_count {
    struct bj_slice name;
    int64_t jobs;
};

struct bj_period {
    struct bj_arena arena;
    bool by_user;             /* else the groups are accounts */
    int64_t last_sec;         /* when the last job ended; 0: none did */
    struct bj_slice currency; /* of costs */
    struct bj_period_sums all;
    struct bj_period_sums *group; /* the most CPU time first, after settle */
    size_t groups, groups_cap;
    uint32_t *slot; /* numbers of groups + 1, by hash */
    struct bj_waster waster[BJ_WASTES][BJ_WASTERS];
    unsigned wasters[BJ_WASTES];
    struct bj_period_count finding[64];
    unsigned findings;
    bool utc;          /* days of UTC, else of the local time */
    int64_t first_day; /* since 1970-01-01 */
    unsigned days;     /* 0: not by day */
    struct bj_period_day day[BJ_PERIOD_DAYS];
};

/* Zero-initialise, and set by_user. */
void bj_period_free(struct bj_period *p);

/* Sum by day, too, of jobs that began in [since, until), if these are 2 to
 * BJ_PERIOD_DAYS days.  Before the first job. */
void bj_period_by_day(struct bj_period *p, int64_t since_sec, int64_t until_sec,
                      bool utc);
void bj_period_add(struct bj_period *p, const struct bj_period_job *job);

/* Order groups and findings, when all jobs have been added. */
void bj_period_settle(struct bj_period *p);

/* Append it as text of 80 columns; title is its first line. */
struct bj_report_style;
void bj_period_print(const struct bj_period *p, const char *title,
                     const struct bj_report_style *style, struct bj_buf *out);

/* Its chart: CPU hours by day; none without days. */
struct bj_charts;
void bj_period_charts(const struct bj_period *p, struct bj_charts *ret);

/* Append it as JSON. */
void bj_period_json(const struct bj_period *p, struct bj_buf *out);

#endif

/* The report of a user, an account or a month: sorted sums over jobs, how much
 * of the sums is known, and the jobs that wasted most. */
#ifndef BJ_REPORT_PERIOD_H
#define BJ_REPORT_PERIOD_H

#include "base/arena.h"
#include "base/buf.h"
#include "store/db.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A job to add; any number may be BJ_SQL_NULL.  Texts are copied. */
struct bj_period_job {
    struct bj_slice id, user, account, name, state, currency;
    struct bj_slice findings; /* "a,b" */
    int64_t elapsed_sec, cpus, cpu_usec, gpus, gpu_ppm;
    int64_t memory_bytes, memory_peak_bytes, energy_uj, emissions_ug;
    int64_t cost, cost_is_minimum;
    int64_t end_sec;
    int64_t at_sec; /* time at which the job began */
};

/* CPU time of the jobs that began on a day, in microseconds. */
struct bj_period_day {
    int64_t cpu, cpu_used; /* cpu_used: of jobs with known use */
};

enum { BJ_PERIOD_DAYS = 92 }; /* maximum; longer periods have no sums by day */

struct bj_period_sums {
    struct bj_slice name; /* name of the group */
    int64_t jobs, completed, failed, timeout, oom, cancelled, open;
    /* In microseconds.  ..._known: the part of cpu or gpu of jobs with known
     * use. */
    int64_t cpu, cpu_known, cpu_used, gpu, gpu_known, gpu_used;
    /* energy_cpu: the part of cpu of jobs with known energy */
    int64_t energy_uj, energy_cpu;
    int64_t emissions_ug, emissions_cpu;
    /* cost in millionths; number of jobs with a cost */
    int64_t cost, cost_jobs;
    int64_t cost_cpu; /* the part of cpu of jobs whose whole cost is known */
};

enum bj_waste {
    BJ_WASTE_GPU,    /* unused GPU time, microseconds */
    BJ_WASTE_CPU,    /* unused CPU time of jobs without GPUs, microseconds */
    BJ_WASTE_MEMORY, /* unused memory, MiB times seconds */
    BJ_WASTES
};

enum { BJ_WASTERS = 10 };

struct bj_waster {
    struct bj_slice id, user, name, findings;
    int64_t amount, ppm; /* ppm: used part */
};

struct bj_period_count {
    struct bj_slice name;
    int64_t jobs;
};

struct bj_period {
    struct bj_arena arena;
    bool by_user;             /* else the groups are accounts */
    int64_t last_sec;         /* when the last job ended; 0: no job has ended */
    struct bj_slice currency; /* of costs */
    struct bj_period_sums all;
    /* after settle sorted by CPU time, largest first */
    struct bj_period_sums *group;
    size_t groups, groups_cap;
    uint32_t *slot; /* hash table of numbers of groups + 1 */
    struct bj_waster waster[BJ_WASTES][BJ_WASTERS];
    unsigned wasters[BJ_WASTES];
    struct bj_period_count finding[64];
    unsigned findings;
    bool utc;          /* days of UTC, else of local time */
    int64_t first_day; /* since 1970-01-01 */
    unsigned days;     /* 0: no sums by day */
    struct bj_period_day day[BJ_PERIOD_DAYS];
};

/* Zero-initialise a period and set by_user before use. */
void bj_period_free(struct bj_period *p);

/* Also sum by day, for jobs that began in [since, until), if that is 2 to
 * BJ_PERIOD_DAYS days.  Call it before the first job is added. */
void bj_period_by_day(struct bj_period *p, int64_t since_sec, int64_t until_sec,
                      bool utc);
void bj_period_add(struct bj_period *p, const struct bj_period_job *job);

/* Sort groups and findings, after all jobs were added. */
void bj_period_settle(struct bj_period *p);

/* Append "1595.6 of the 4085.0 h that were measured; 12889.8 h were not": hours
 * used, of jobs with known use, and held by all jobs (microseconds). */
void bj_period_hours(struct bj_buf *out, int64_t used, int64_t known,
                     int64_t all);

/* Is the use of at least half of what was held known?  If not, forms show the
 * percentage without a bar: it says little about the rest. */
bool bj_period_is_known(int64_t known, int64_t all);

/* Append the report as text of 80 columns; title is its first line. */
struct bj_report_style;
void bj_period_print(const struct bj_period *p, const char *title,
                     const struct bj_report_style *style, struct bj_buf *out);

/* Make the chart of the report: CPU hours by day; none without sums by day. */
struct bj_charts;
void bj_period_charts(const struct bj_period *p, struct bj_charts *ret);

/* Append the report as JSON. */
void bj_period_json(const struct bj_period *p, struct bj_buf *out);

#endif

/* The report of a user, an account or a month: what jobs used within a time
 * (statsdb/derive/bill.h), sums over their groups, how much of the sums is
 * known, and the jobs that wasted most of it. */
#ifndef BJ_REPORT_PERIOD_PERIOD_H
#define BJ_REPORT_PERIOD_PERIOD_H

#include "base/arena.h"
#include "base/buf.h"
#include "report/model/document.h"
#include "statsdb/derive/bill.h"
#include "statsdb/job/job_read.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A job to add; any number may be BJ_SQL_NULL.  Texts are copied. */
struct bj_period_job {
    struct bj_slice id, user, account, application, name, state;
    struct bj_slice findings; /* "a,b" */
    struct bj_bill_job use;
    int64_t memory_bytes, memory_peak_bytes; /* allocated, used */
};

/* CPU time used on a day, in microseconds. */
struct bj_period_day {
    int64_t cpu, cpu_used; /* cpu_used: of jobs with known use */
};

enum { BJ_PERIOD_DAYS = 92 }; /* maximum; longer periods have no sums by day */

struct bj_period_sums {
    struct bj_slice name; /* name of the group */
    int64_t jobs, completed, failed, timeout, oom, cancelled, open;
    struct bj_bill bill;
    /* After settle, from the bill.  In microseconds; ..._known: the part of cpu
     * or gpu of jobs with known use. */
    int64_t cpu, cpu_known, cpu_used, gpu, gpu_known, gpu_used;
    /* BJ_SQL_NULL: of no job; known parts in millionths of the CPU time */
    int64_t energy_uj, energy_known;
    int64_t emissions_ug, emissions_known;
    int64_t cost, cost_known, not_charged; /* costs in millionths */
};

enum bj_period_by {
    BJ_PERIOD_BY_ACCOUNT,
    BJ_PERIOD_BY_USER,
    BJ_PERIOD_BY_APPLICATION,
    BJ_PERIOD_BYS
};

/* Names of groups: of one, of all, and their title; of a group without name. */
struct bj_period_group {
    const char *one, *many, *title, *none;
};
extern const struct bj_period_group bj_period_groups[BJ_PERIOD_BYS];

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

/* What the owner of the jobs should change: the most expensive finding of jobs
 * with the same name (statsdb/job/change.h). */
struct bj_period_change {
    struct bj_slice name, text,
        line;     /* of the jobs; advice; to paste, or {0} */
    int64_t runs; /* jobs with the finding */
    struct bj_paid wasted;
    int64_t cost;
};
enum { BJ_PERIOD_CHANGES = 3 };

struct bj_period_count {
    struct bj_slice name;
    int64_t jobs;
};

struct bj_period {
    struct bj_arena arena;
    enum bj_period_by by;         /* the groups */
    int64_t since_sec, until_sec; /* what jobs used in [since, until) */
    struct bj_prices prices;
    int64_t last_sec; /* when the last job ended; 0: no job has ended */
    struct bj_period_sums all;
    /* after settle sorted by CPU time, largest first */
    struct bj_period_sums *group;
    size_t groups, groups_cap;
    uint32_t *slot; /* hash table of numbers of groups + 1 */
    struct bj_waster waster[BJ_WASTES][BJ_WASTERS];
    unsigned wasters[BJ_WASTES];
    struct bj_period_count *finding; /* after settle the most jobs first */
    size_t findings, findings_cap;
    struct bj_period_change
        change[BJ_PERIOD_CHANGES]; /* the caller adds them */
    unsigned changes;
    int64_t first_day; /* since 1970-01-01 */
    unsigned days;     /* 0: no sums by day */
    struct bj_period_day day[BJ_PERIOD_DAYS];
};

/* What totals of a period mean; the value is the name of the time zone. */
#define BJ_USED_IN_PERIOD                                                      \
    "{What jobs used within this time, running jobs included; days of %s.}"

/* Zero-initialise a period and set by, the time and the prices before use.
 */
void bj_period_free(struct bj_period *p);

/* Also sum by day, in the thread's time zone, if the time until now_sec is 2 to
 * BJ_PERIOD_DAYS days.  Call it before the first job is added. */
void bj_period_by_day(struct bj_period *p, int64_t now_sec);
/* Add what a job used within the time; jobs that did not run then do not count.
 */
void bj_period_add(struct bj_period *p, const struct bj_period_job *job);

/* Sort groups and findings, after all jobs were added. */
void bj_period_settle(struct bj_period *p);

/* Append "1595.6 of the 4085.0 h that were measured; 12889.8 h were not": hours
 * used, of jobs with known use, and held by all jobs (microseconds). */
void bj_period_hours(struct bj_buf *out, int64_t used, int64_t known,
                     int64_t all);

/* Make the document of the report; title is its first line, such as "Report of
 * account phys".  It refers to p, which must stay. */
void bj_period_document(const struct bj_period *p, const char *title,
                        struct bj_doc *ret);

/* Make the chart of the report: CPU hours by day; none without sums by day. */
struct bj_charts;
void bj_period_charts(const struct bj_period *p, struct bj_charts *ret);

/* Append the report as JSON, or its sums as CSV: the total and each group, with
 * the names and digits of /api/v1/usage. */
void bj_period_json(const struct bj_period *p, struct bj_buf *out);
void bj_period_csv(const struct bj_period *p, struct bj_buf *out);

/* Append what the totals mean (BJ_USED_IN_PERIOD). */
void bj_period_meaning(struct bj_buf *out);

/* Adds jobs to the report of a period, from columns of the jobs. */

enum { BJ_PERIOD_COLUMNS = 22 };

/* The columns of a job that bj_period_take needs. */
const struct bj_column *const *bj_period_columns(void);

/* Add a job.  value() returns its columns; texts need to be valid only until
 * the next call of value().  texts is scratch memory. */
int bj_period_take(struct bj_period *p, struct bj_buf *texts,
                   int (*value)(void *ctx, unsigned i, struct bj_job_value *ret,
                                struct bj_err *err),
                   void *ctx, struct bj_err *err);

#endif

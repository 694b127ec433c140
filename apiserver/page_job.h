/* The page of a job between its two parts. */
#ifndef BJ_APISERVER_PAGE_JOB_H
#define BJ_APISERVER_PAGE_JOB_H

#include "apiserver/curves.h"
#include "apiserver/page.h"

/* Numbers of the job; NaN: unknown. */
enum bj_job_fact {
    BJ_JOB_CPUS,
    BJ_JOB_CPU_USED, /* seconds */
    BJ_JOB_CPU_EFFICIENCY,
    BJ_JOB_MEMORY_REQUESTED,
    BJ_JOB_MEMORY_ALLOCATED,
    BJ_JOB_MEMORY_PEAK,
    BJ_JOB_MEMORY_EFFICIENCY,
    BJ_JOB_GPUS,
    BJ_JOB_GPU_EFFICIENCY,
    BJ_JOB_GPUS_UNUSED,
    BJ_JOB_GPU_MEMORY_PEAK,
    BJ_JOB_LIMIT,
    BJ_JOB_ELAPSED,
    BJ_JOB_TIME_EFFICIENCY,
    BJ_JOB_ENERGY,
    BJ_JOB_GRAMS,
    BJ_JOB_IO_READ,
    BJ_JOB_IO_WRITE,
    BJ_JOB_READ,
    BJ_JOB_WRITE,
    BJ_JOB_START,
    BJ_JOB_FACTS
};

/* Names of the sources in words. */
enum bj_job_source {
    BJ_JOB_FROM_CPU,
    BJ_JOB_FROM_MEMORY,
    BJ_JOB_FROM_ENERGY,
    BJ_JOB_SOURCES
};
struct bj_job_page {
    struct bj_visible_job f;
    struct bj_arena arena;
    struct bj_curves curves;
    struct bj_buf details; /* the end of the page */
    double fact[BJ_JOB_FACTS];
    const char *source[BJ_JOB_SOURCES]; /* "": unknown */
    char state[24];
    struct bj_buf reason;  /* of a waiting job */
    bool live;             /* reload the page at intervals */
    const char *no_curves; /* why there are no charts; NULL: there are */
};

static inline bool bj_job_has_ended(const struct bj_job_page *g)
{
    return g->f.end != BJ_SQL_NULL;
}

/* Append the verdict, findings, advice and the array of the job's report.  0, a
 * refusal, or an error of the store. */
int bj_job_verdict(struct bj_call *c, const struct bj_job_page *g);

/* Append the table of what the job requested and used; while it runs, of what
 * it uses now. */
void bj_job_uses(struct bj_buf *b, const struct bj_job_page *g);

#endif

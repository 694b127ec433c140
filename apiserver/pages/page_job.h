/* The page of a job, between the two parts of its endpoint. */
#ifndef BJ_APISERVER_PAGES_PAGE_JOB_H
#define BJ_APISERVER_PAGES_PAGE_JOB_H

#include "apiserver/frame/page.h"
#include "apiserver/job/curves.h"
#include "report/form/html.h"

/* Numbers of the job; NaN: unknown. */
enum bj_job_fact {
    BJ_JOB_CPUS,
    BJ_JOB_MEMORY_REQUESTED,
    BJ_JOB_MEMORY_ALLOCATED,
    BJ_JOB_GPUS,
    BJ_JOB_LIMIT,
    BJ_JOB_ELAPSED,
    BJ_JOB_START,
    BJ_JOB_NOW_CPUS,
    BJ_JOB_NOW_MEMORY,
    BJ_JOB_NOW_GPUS, /* percent */
    BJ_JOB_FACTS
};

struct bj_job_page {
    struct bj_visible_job f;
    struct bj_arena arena;
    struct bj_curves curves;
    struct bj_buf figures; /* rows of the report of an ended job */
    struct bj_buf parts;   /* its tables of nodes and GPUs */
    struct bj_buf details; /* HTML of the end of the page */
    double fact[BJ_JOB_FACTS];
    char state[24];
    bool is_array_task;    /* the job is a task of an array */
    bool live;             /* reload the page at intervals */
    const char *no_curves; /* the reason if there are no charts; NULL: there are
                              charts */
};

static inline bool bj_job_has_ended(const struct bj_job_page *g)
{
    return g->f.end != BJ_SQL_NULL;
}

/* How the page shows the sections of the report. */
extern const struct bj_html_page bj_job_html;

/* Append the table of resources requested and used: the figures of the report,
 * or for a running job its current use. */
void bj_job_uses(struct bj_buf *b, const struct bj_job_page *g);

#endif

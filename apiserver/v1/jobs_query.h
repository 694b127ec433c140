/* The query of a list of jobs: reads the request and makes the conditions. */
#ifndef BJ_APISERVER_V1_JOBS_QUERY_H
#define BJ_APISERVER_V1_JOBS_QUERY_H

#include "apiserver/job/job_name.h"
#include "apiserver/v1/jobs.h"

enum {
    BJ_JOBS_NAMES = 8, /* maximum number of matching job names that are searched
                          by number */
    /* When to end the count and the list, in thousandths of query.timeout. */
    BJ_JOBS_UNTIL_COUNTED = 450,
    BJ_JOBS_UNTIL_LISTED = 800
};

struct bj_jobs_query {
    struct bj_params p;
    struct bj_picked k;
    struct bj_query q;
    int64_t from, to, limit;
    struct bj_filter_time time;
    struct bj_job_ranges months;
    bool exact; /* omit jobs that began before from */
    bool ascending;
    int64_t cursor_at, cursor_id;
    struct bj_filter_nodes nodes; /* of the parameter node */
    struct bj_buf pattern;        /* pattern of names; empty: all */
    bool named;                   /* name contains all matching names */
    int64_t name[BJ_JOBS_NAMES];
    unsigned names;
    /* jobs of the parameter job, if that is a UUID */
    struct bj_job_found found;
    struct bj_jobs_end end;
};

/* Zero-initialised by calloc. */
void bj_jobs_query_free(struct bj_jobs_query *l);

/* Read the parameters p.  0 or a refusal. */
int bj_jobs_query_read(struct bj_call *c, struct bj_jobs_query *l);

/* Do the searches before the queries of the list: for a UUID, and for the
 * matching job names if many jobs would be read, because there are often few
 * names or none.  There may be more than BJ_JOBS_NAMES. */
int bj_jobs_query_search(struct bj_call *c, struct bj_jobs_query *l);

/* Append all conditions except the cursor.  A query that walks along an index
 * in the order of the list ends after its part of the time; parts 0: not such a
 * query. */
int bj_jobs_query_where(struct bj_call *c, struct bj_jobs_query *l,
                        unsigned part, unsigned parts);

/* Append the condition of the cursor, the order, and the limit. */
void bj_jobs_query_page(struct bj_jobs_query *l);

/* Find the months with jobs of the requested time; call it before the columns
 * are selected. */
int bj_jobs_query_months(struct bj_call *c, struct bj_jobs_query *l);

/* Make the query of a page of the list, and open it. */
int bj_jobs_query_open(struct bj_call *c, struct bj_jobs_query *l,
                       struct bj_st **ret);

#endif

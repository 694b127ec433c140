/* The query of a list of jobs: read the request, make the conditions. */
#ifndef BJ_APISERVER_JOBS_QUERY_H
#define BJ_APISERVER_JOBS_QUERY_H

#include "apiserver/job_name.h"
#include "apiserver/jobs.h"

enum {
    BJ_JOBS_NAMES = 8, /* most names with a text that are searched by number */
    /* In thousandths of query.timeout: the end of the count, of the list. */
    BJ_JOBS_UNTIL_COUNTED = 450,
    BJ_JOBS_UNTIL_LISTED = 800
};

struct bj_jobs_query {
    struct bj_params p;
    struct bj_picked k;
    struct bj_query q;
    int64_t from, to, limit;
    struct bj_query_time began;
    struct bj_job_ranges months;
    bool exact; /* jobs that began before from are not listed */
    bool ascending;
    int64_t cursor_at, cursor_id;
    struct bj_buf pattern; /* of names; empty: all */
    bool named;            /* all matching names are here: */
    int64_t name[BJ_JOBS_NAMES];
    unsigned names;
    struct bj_job_found found; /* by the parameter job, if it is a UUID */
    struct bj_jobs_end end;
};

/* Zero-initialised by calloc. */
void bj_jobs_query_free(struct bj_jobs_query *l);

/* Read p.  0 or a refusal. */
int bj_jobs_query_read(struct bj_call *c, struct bj_jobs_query *l);

/* Search what all queries of the list need.  Many jobs share a name.  With many
 * jobs to read, search the matching names first: often there are few or none.
 * There may be too many to read all. */
int bj_jobs_query_search(struct bj_call *c, struct bj_jobs_query *l);

/* Append all conditions but the cursor's.  A walk along an index in the order
 * of the list ends when its part of the time is over; parts 0: it is not such a
 * walk. */
int bj_jobs_query_where(struct bj_call *c, struct bj_jobs_query *l,
                        unsigned part, unsigned parts);

/* Append the cursor, the order, and the limit. */
void bj_jobs_query_page(struct bj_jobs_query *l);

/* Read which months have jobs of the time, before their columns are selected.
 */
int bj_jobs_query_months(struct bj_call *c, struct bj_jobs_query *l);

/* Make the query of a page of the list, and open it. */
int bj_jobs_query_open(struct bj_call *c, struct bj_jobs_query *l,
                       struct bj_st **ret);

#endif

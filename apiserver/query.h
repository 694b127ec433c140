/* Builds a query from fixed SQL text and bound values; values never become part
 * of the SQL. */
#ifndef BJ_APISERVER_QUERY_H
#define BJ_APISERVER_QUERY_H

#include "apiserver/call.h"
#include "apiserver/params.h"
#include "statsdb/job_month.h"
#include "store/sql_build.h"

struct bj_query {
    struct bj_sql_build b;
    bool named; /* the rows are found by id, not by an index of users or
                   accounts; set before bj_query_scope */
    /* Of the rows that bj_query_lead leads to only those of one branch, of
     * which there are bj_query_branches; set before.  NULL: all of them. */
    const unsigned *branch;
    /* Where several of them are queried at once, each is narrowed to jobs that
     * started in this time; set before.  NULL: unknown. */
    const struct bj_query_time {
        int64_t from, to;
    } * time;
    /* The numbers of the jobs with these times; set before.  NULL: read when
     * they are needed. */
    const struct bj_job_ranges *months;
};

/* Zero-initialise. */
void bj_query_free(struct bj_query *q);

/* Append SQL text of the program. */
void bj_query_sql(struct bj_query *q, const char *sql);

/* Append a parameter and its value. Texts must stay valid until the query has
 * ended. */
void bj_query_int(struct bj_query *q, int64_t v);
void bj_query_text(struct bj_query *q, struct bj_slice s);

/* Append " AND AT BETWEEN ..." for column at of jobs j, and limit their numbers
 * to months that have such jobs, if it ended at end_from or later.  0 or an
 * error of the store. */
int bj_query_between(struct bj_query *q, struct bj_call *c, const char *at,
                     const struct bj_query_time *time, int64_t end_from);

/* Append " IN (?,...)" for all texts of a list parameter. */
void bj_query_in(struct bj_query *q, const struct bj_params *p,
                 enum bj_param which);

/* Compile and bind it, ready to step.  -E2BIG: there are more values than there
 * is room for. */
int bj_query_open(struct bj_query *q, struct bj_reader *r, struct bj_st **ret,
                  struct bj_err *err);

/* Append " AND ..." for what the user may see, and for the filters by user,
 * account, partition and cluster; alias is that of a table with these columns.
 * 0 or an error of the store. */
int bj_query_scope(struct bj_query *q, struct bj_call *c,
                   const struct bj_params *p, const char *alias);

/* The same in two parts: the condition of an index, which includes the access
 * rules, and the filters that only narrow that. */
int bj_query_lead(struct bj_query *q, struct bj_call *c,
                  const struct bj_params *p, const char *alias);
int bj_query_rest(struct bj_query *q, struct bj_call *c,
                  const struct bj_params *p, const char *alias);

/* The number of users and accounts that the query reads: the user and each
 * coordinated account, or the named ones. 0: all. */
unsigned bj_query_branches(const struct bj_call *c, const struct bj_params *p);

/* Does the query read the jobs of all users (an admin's query without user and
 * account)? */
bool bj_query_wide(const struct bj_call *c, const struct bj_params *p);

/* Append the access rules of the user; mine: only jobs of the user. */
int bj_query_visible(struct bj_query *q, struct bj_call *c, bool mine,
                     const char *alias);

#endif

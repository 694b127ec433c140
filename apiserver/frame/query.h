/* Builds a query from fixed SQL text and bound values; values are never part of
 * the SQL text. */
#ifndef BJ_APISERVER_FRAME_QUERY_H
#define BJ_APISERVER_FRAME_QUERY_H

#include "apiserver/frame/call.h"
#include "apiserver/frame/params.h"
#include "statsdb/job/job_filter.h"
#include "store/sql_build.h"

struct bj_query {
    struct bj_sql_build b;
    bool named; /* rows are found by id, not by an index of users or accounts;
                   set it before bj_query_scope */
    /* Restricts bj_query_lead to one of the bj_query_branches branches; set it
     * before.  NULL: all branches. */
    const unsigned *branch;
    /* When several branches are queried at once, each is limited to jobs that
     * started in this period; set it before.  NULL: no limit. */
    const struct bj_filter_time *time;
    /* The ranges of numbers of jobs in the queried period; set it before. NULL:
     * read when needed. */
    const struct bj_job_ranges *months;
};

/* Zero-initialise. */
void bj_query_free(struct bj_query *q);

/* Append constant SQL text. */
void bj_query_sql(struct bj_query *q, const char *sql);

/* Append a parameter and its value. Texts must stay valid until the query has
 * ended. */
void bj_query_int(struct bj_query *q, int64_t v);
void bj_query_text(struct bj_query *q, struct bj_slice s);

/* Append " AND AT BETWEEN ..." for column at of jobs j, and limit their numbers
 * to months with jobs of this time.  0 or an error of the store. */
int bj_query_between(struct bj_query *q, struct bj_call *c, const char *at,
                     const struct bj_filter_time *time);

/* The values of a list parameter; v is their memory. */
struct bj_filter_texts
bj_query_texts(const struct bj_params *p, enum bj_param which,
               struct bj_slice v[static BJ_PARAM_VALUES]);

/* Append " IN (?,...)" for all texts of a list parameter. */
void bj_query_in(struct bj_query *q, const struct bj_params *p,
                 enum bj_param which);

/* Append " IN (...)" for the rules that the parameter finding names, with
 * blanks or underscores.  0, an error of the store, or a refusal that lists the
 * rules. */
int bj_query_rules(struct bj_query *q, struct bj_call *c,
                   const struct bj_params *p);

/* Compile the query and bind its values, ready to step.  -E2BIG: too many
 * values. */
int bj_query_open(struct bj_query *q, struct bj_reader *r, struct bj_st **ret,
                  struct bj_err *err);

/* Append " AND ..." for the access rules of the user, and for the filters by
 * user, account, partition and cluster; alias: alias of a table with these
 * columns. 0 or an error of the store. */
int bj_query_scope(struct bj_query *q, struct bj_call *c,
                   const struct bj_params *p, const char *alias);

/* Append the conditions of bj_query_scope in two parts: the condition for an
 * index, which includes the access rules, and the remaining filters. */
int bj_query_lead(struct bj_query *q, struct bj_call *c,
                  const struct bj_params *p, const char *alias);
int bj_query_rest(struct bj_query *q, struct bj_call *c,
                  const struct bj_params *p, const char *alias);

/* Number of users and accounts whose jobs the query reads: the user and the
 * coordinated accounts, or the users and accounts in the request. 0: all. */
unsigned bj_query_branches(const struct bj_call *c, const struct bj_params *p);

/* Does the query read the jobs of all users (an admin's query without user and
 * account)? */
bool bj_query_wide(const struct bj_call *c, const struct bj_params *p);

/* Append the access rules of the user; mine: only jobs of the user. */
int bj_query_visible(struct bj_query *q, struct bj_call *c, bool mine,
                     const char *alias);

#endif

/* A query being put together: fixed pieces of SQL, and values that are bound,
 * never written into it. */
#ifndef BJ_APISERVER_QUERY_H
#define BJ_APISERVER_QUERY_H

#include "apiserver/call.h"
#include "apiserver/params.h"
#include "base/buf.h"

enum { BJ_QUERY_VALUES = 3000 };

struct bj_query {
    struct bj_buf sql;
    struct {
        struct bj_slice text; /* p NULL: the number */
        int64_t number;
    } value[BJ_QUERY_VALUES];
    unsigned values;
    bool full;  /* more values than there is room for */
    bool named; /* an id leads to the rows: not an index by who may see them;
                   set before bj_query_scope */
    /* Of the things that make a row visible only this one: 0 is being one's
     * own, n is being of the n-th account that one coordinates; set before
     * bj_query_scope.  NULL: all of them. */
    const unsigned *branch;
};

void bj_query_free(struct bj_query *q);

/* Append SQL that the program has made itself. */
void bj_query_sql(struct bj_query *q, const char *sql);

/* Append a parameter and note its value.  Texts must stay. */
void bj_query_int(struct bj_query *q, int64_t v);
void bj_query_text(struct bj_query *q, struct bj_slice s);

/* Compile and bind it, ready to step.  -E2BIG: there are more values than there
 * is room for. */
int bj_query_open(struct bj_query *q, struct bj_reader *r,
                  struct sqlite3_stmt **ret, struct bj_err *err);

/* Append " AND ..." for what the asker may see, and for the filters by user,
 * account, partition and cluster; alias is that of a table with these columns.
 * 0 or an error of the store. */
int bj_query_scope(struct bj_query *q, struct bj_call *c,
                   const struct bj_params *p, const char *alias);

/* Is it about everybody: does an admin ask, and name neither user nor account?
 */
bool bj_query_wide(const struct bj_call *c, const struct bj_params *p);

/* Append only what the asker may see; mine: only his own. */
int bj_query_visible(struct bj_query *q, struct bj_call *c, bool mine,
                     const char *alias);

#endif

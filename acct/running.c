#include "acct/running.h"

#include "acct/out.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_AGE_SEC = 600 }; /* of an import, as running.max-age */

/* What is read of each job in addition to the columns that are shown. */
enum hidden {
    STATE,
    CLUSTER,
    START,
    END,
    ELAPSED,
    SUSPENDED,
    CPUS,
    GPUS,
    MEMORY,
    HIDDEN,
    ONE = HIDDEN, /* an amount of 1 */
    NOT
};
static const char *const hidden_names[HIDDEN] = {"state",
                                                 "cluster",
                                                 "start",
                                                 "end",
                                                 "elapsed_seconds",
                                                 "suspended_seconds",
                                                 "cpus",
                                                 "gpus",
                                                 "memory_allocated_bytes"};

/* Columns that are an amount times elapsed_seconds. */
static const struct {
    const char *name;
    enum hidden amount;
} followers[] = {{"elapsed_seconds", ONE},
                 {"cpu_allocated_seconds", CPUS},
                 {"gpu_allocated_seconds", GPUS},
                 {"memory_allocated_mib_seconds", MEMORY}};

_Static_assert(BJ_ACCT_COLUMNS_MAX + HIDDEN <= (int)BJ_ROW_KEYS,
               "columns to read");

struct bj_acct_running {
    const struct bj_column *column[BJ_ROW_KEYS];
    unsigned char amount[BJ_ROW_KEYS]; /* enum hidden of each column; NOT */
    unsigned shown, columns;
    struct bj_acct_clusters clusters;
    /* the current row */
    struct bj_acct_row row;
    int64_t elapsed, more; /* until now, and since the import; or BJ_SQL_NULL */
    int64_t number[HIDDEN];
};

static enum hidden running_amount(const struct bj_column *c)
{
    for (size_t i = 0; i < sizeof(followers) / sizeof(followers[0]); i++)
        if (strcmp(followers[i].name, c->name) == 0)
            return followers[i].amount;
    return NOT;
}

int bj_acct_running_new(const struct bj_acct_source *from,
                        const struct bj_column *const *column, unsigned columns,
                        struct bj_acct_running **ret, struct bj_err *err)
{
    struct bj_acct_running *r = calloc(1, sizeof(*r));
    bool any = false;
    if (!r)
        return bj_err_set(err, -ENOMEM, "jobs");
    r->shown = columns;
    for (; r->columns < columns; r->columns++) {
        r->column[r->columns] = column[r->columns];
        r->amount[r->columns] =
            (unsigned char)running_amount(column[r->columns]);
        any = any || r->amount[r->columns] != NOT;
    }
    for (unsigned i = 0; any && i < HIDDEN; i++)
        r->column[r->columns++] = bj_job_column(bj_slice_str(hidden_names[i]));
    int code = any ? from->clusters(from->source, &r->clusters, err) : 0;
    if (code < 0) {
        bj_acct_running_free(r);
        return code;
    }
    *ret = r;
    return 0;
}

void bj_acct_running_free(struct bj_acct_running *r)
{
    if (!r)
        return;
    free(r->clusters.v);
    free(r);
}

unsigned bj_acct_running_columns(const struct bj_acct_running *r,
                                 const struct bj_column *const **ret)
{
    *ret = r->column;
    return r->columns;
}

/* How long ago the cluster was imported; BJ_SQL_NULL: unknown, or too long. */
static int64_t running_age(const struct bj_acct_running *r,
                           struct bj_slice cluster, int64_t now_sec)
{
    for (size_t i = 0; i < r->clusters.n; i++) {
        const struct bj_acct_cluster *c = &r->clusters.v[i];
        const int64_t complete = c->complete_sec;
        if (bj_slice_eq(bj_slice_str(c->name), cluster))
            return complete <= now_sec && complete >= now_sec - MOST_AGE_SEC
                       ? now_sec - complete
                       : BJ_SQL_NULL;
    }
    return BJ_SQL_NULL;
}

/* The run time until now; BJ_SQL_NULL: what was imported counts. */
static int64_t running_time(const int64_t number[HIDDEN], int64_t age,
                            int64_t now_sec)
{
    if (age == BJ_SQL_NULL || number[START] == BJ_SQL_NULL ||
        number[END] != BJ_SQL_NULL)
        return BJ_SQL_NULL;
    const int64_t elapsed = number[SUSPENDED] != BJ_SQL_NULL
                                ? now_sec - number[START] - number[SUSPENDED]
                            : number[ELAPSED] != BJ_SQL_NULL
                                ? number[ELAPSED] + age
                                : BJ_SQL_NULL;
    return elapsed < 0 || elapsed < number[ELAPSED] ? BJ_SQL_NULL : elapsed;
}

/* Read the hidden columns of the row. */
static int running_read(struct bj_acct_running *r, int64_t now_sec,
                        struct bj_err *err)
{
    struct bj_job_value v;
    bool runs = false;
    int64_t age = BJ_SQL_NULL;
    for (unsigned i = 0; i < HIDDEN; i++) {
        int code = r->row.value(r->row.ctx, r->shown + i, &v, err);
        if (code < 0)
            return code;
        if (i == STATE)
            runs = v.known && bj_slice_eq(v.text, BJ_SLICE("running"));
        else if (i == CLUSTER)
            age = v.known ? running_age(r, v.text, now_sec) : BJ_SQL_NULL;
        else
            r->number[i] = v.known ? v.number : BJ_SQL_NULL;
    }
    if (r->number[MEMORY] != BJ_SQL_NULL)
        r->number[MEMORY] >>= 20;
    r->elapsed = runs ? running_time(r->number, age, now_sec) : BJ_SQL_NULL;
    r->more = r->elapsed == BJ_SQL_NULL || r->number[ELAPSED] == BJ_SQL_NULL
                  ? BJ_SQL_NULL
                  : r->elapsed - r->number[ELAPSED];
    return 0;
}

static int running_value(void *ctx, unsigned i, struct bj_job_value *ret,
                         struct bj_err *err)
{
    const struct bj_acct_running *r = ctx;
    const enum hidden amount = r->amount[i];
    int64_t more;
    int code = r->row.value(r->row.ctx, i, ret, err);
    if (code < 0 || amount == NOT || r->elapsed == BJ_SQL_NULL)
        return code;
    if (amount == ONE) {
        ret->known = true;
        ret->number = r->elapsed;
    } else if (ret->known && r->more != BJ_SQL_NULL &&
               r->number[amount] != BJ_SQL_NULL &&
               !__builtin_mul_overflow(r->number[amount], r->more, &more) &&
               !__builtin_add_overflow(ret->number, more, &more)) {
        ret->number = more;
    }
    return code;
}

int bj_acct_running_row(struct bj_acct_running *r,
                        const struct bj_acct_row *row, int64_t now_sec,
                        struct bj_acct_row *ret, struct bj_err *err)
{
    r->row = *row;
    *ret =
        r->columns > r->shown ? (struct bj_acct_row){running_value, r} : *row;
    return r->columns > r->shown ? running_read(r, now_sec, err) : 0;
}

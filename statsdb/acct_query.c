#include "statsdb/acct_query.h"

#include "base/buf.h"
#include "sched/jobid.h"
#include "sched/state.h"
#include "statsdb/sql.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    VALUES = 1000, /* in all lists of a question */
    HET_MAX = 128  /* components of a het job follow each other */
};

/* A statement that is being put together. */
struct question {
    struct bj_buf sql;
    struct value {
        struct bj_slice text; /* p NULL: a number */
        int64_t number;
    } v[VALUES];
    unsigned n;
    struct bj_err err;
};

/* Number of the parameter that will hold a value. */
static unsigned bind(struct question *q, struct bj_slice text, int64_t number)
{
    if (q->n == VALUES) {
        bj_err_set(&q->err, -EINVAL, "more than %d values are asked for",
                   VALUES);
        return 1;
    }
    q->v[q->n] = (struct value){text, number};
    return ++q->n;
}

static unsigned bind_number(struct question *q, int64_t v)
{
    return bind(q, (struct bj_slice){NULL, 0}, v);
}

/* --- lists -----------------------------------------------------------------
 */

/* The next value of a list; *at and *rest begin zeroed. */
static bool next(const struct bj_strv *list, size_t *at, struct bj_slice *rest,
                 struct bj_slice *ret)
{
    for (;;) {
        while (rest->n > 0 && bj_slice_field(rest, ',', ret)) {
            *ret = bj_slice_trim(*ret);
            if (ret->n > 0)
                return true;
        }
        if (*at == list->n)
            return false;
        *rest = bj_slice_str(list->v[(*at)++]);
    }
}

static unsigned count(const struct bj_strv *list)
{
    struct bj_slice rest = {NULL, 0}, v;
    size_t at = 0;
    unsigned n = 0;
    while (next(list, &at, &rest, &v))
        n++;
    return n;
}

/* "AND j.user = (...)": one value, so that an index gives the order; a plus
 * keeps SQLite from taking another index than it should. */
static void by_name(struct question *q, const struct bj_strv *list,
                    const char *table, bool drives)
{
    struct bj_slice rest = {NULL, 0}, v;
    size_t at = 0;
    unsigned n = count(list);
    if (n == 0)
        return;
    bj_buf_printf(&q->sql,
                  " AND %sj.\"%s\" %s (SELECT id FROM \"%s\" WHERE name IN (",
                  drives ? "" : "+", table, n == 1 ? "=" : "IN", table);
    for (n = 0; next(list, &at, &rest, &v); n++)
        bj_buf_printf(&q->sql, "%s?%u", n ? ", " : "", bind(q, v, 0));
    bj_buf_str(&q->sql, "))");
}

bool bj_acct_only_open(const struct bj_strv *states)
{
    struct bj_slice rest = {NULL, 0}, v;
    size_t at = 0;
    bool any = false;
    while (next(states, &at, &rest, &v)) {
        enum bj_job_state s = bj_state_from_people(v);
        if (s < BJ_STATE_PENDING || s > BJ_STATE_SUSPENDED)
            return false;
        any = true;
    }
    return any;
}

static void by_state(struct question *q, const struct bj_strv *list,
                     bool drives)
{
    struct bj_slice rest = {NULL, 0}, v;
    size_t at = 0;
    unsigned n = 0;
    while (next(list, &at, &rest, &v)) {
        enum bj_job_state s = bj_state_from_people(v);
        if (s == BJ_STATES)
            bj_err_set(&q->err, -EINVAL,
                       "state: '%.*s' is no state; see --help",
                       (int)(v.n < 40 ? v.n : 40), v.p);
        if (n == 0)
            bj_buf_printf(&q->sql, " AND %sj.state IN (", drives ? "" : "+");
        bj_buf_printf(&q->sql, "%s%d", n++ ? ", " : "", (int)s);
    }
    bj_buf_str(&q->sql, n ? ")" : "");
}

/* --- ids -------------------------------------------------------------------
 */

#define OF_KEY                                                                 \
    "SELECT id FROM job WHERE cluster IN (SELECT id FROM cluster) AND "

/* A job, an array with all its tasks, a het job with its components; and what
 * PBS and LSF put behind the number. */
static void by_number(struct question *q, const struct bj_jobid *id)
{
    unsigned n = bind_number(q, (int64_t)id->number);
    bj_buf_printf(
        &q->sql,
        OF_KEY
        "jobid = ?%u UNION ALL " OF_KEY
        "jobid >= ?%u || '.' AND jobid < ?%u || '/'"
        " UNION ALL " OF_KEY "jobid >= ?%u || '[' AND jobid < ?%u || '\\'"
        " UNION ALL SELECT id FROM job WHERE array_job_id = ?%u"
        " UNION ALL " OF_KEY "jobid > ?%u AND jobid < ?%u + %d AND (SELECT"
        " het_job_id FROM job_more WHERE job = job.id) = ?%u",
        n, n, n, n, n, n, n, n, HET_MAX, n);
}

/* A step of Slurm's, and not a server of PBS? */
static bool is_step(struct bj_slice s)
{
    static const char *const names[] = {"batch", "extern", "interactive"};
    uint64_t number;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (bj_slice_eq(s, bj_slice_str(names[i])))
            return true;
    return bj_slice_u64(s, &number) == 0;
}

static void by_id(struct question *q, struct bj_slice text)
{
    struct bj_jobid id;
    bool slurm = bj_jobid_slurm(text, &id) == 0;
    if (slurm && is_step(id.step)) { /* its job */
        text = id.whole;
        id.step.n = 0;
    }
    if (slurm && id.step.n == 0 && id.task != BJ_ABSENT) {
        unsigned n = bind_number(q, (int64_t)id.number);
        bj_buf_printf(&q->sql,
                      "SELECT id FROM job WHERE array_job_id = ?%u AND"
                      " array_task = ?%u",
                      n, bind_number(q, (int64_t)id.task));
        bj_buf_printf(&q->sql, " UNION ALL " OF_KEY "jobid = ?%u",
                      bind(q, text, 0));
    } else if (slurm && id.step.n == 0 && id.offset != BJ_ABSENT) {
        unsigned n = bind_number(q, (int64_t)id.number);
        bj_buf_printf(&q->sql,
                      OF_KEY "jobid = ?%u + ?%u AND (SELECT het_job_id FROM"
                             " job_more WHERE job = job.id) = ?%u",
                      n, bind_number(q, (int64_t)id.offset), n);
    } else if (slurm && id.step.n == 0 && !id.array &&
               id.number <= INT64_MAX - HET_MAX) {
        by_number(q, &id);
    } else if (text.p[0] >= '0' && text.p[0] <= '9') {
        /* with a server, as PBS writes it, and perhaps without */
        unsigned n = bind(q, text, 0);
        bj_buf_printf(&q->sql,
                      OF_KEY "jobid = ?%u UNION ALL " OF_KEY
                             "jobid >= ?%u || '.' AND jobid < ?%u || '/'",
                      n, n, n);
    } else {
        bj_buf_printf(&q->sql, "SELECT id FROM job WHERE sluid = ?%u",
                      bind(q, text, 0));
    }
}

static void by_ids(struct question *q, const struct bj_strv *list)
{
    struct bj_slice rest = {NULL, 0}, v;
    size_t at = 0;
    unsigned n = 0;
    while (next(list, &at, &rest, &v)) {
        bj_buf_str(&q->sql, n++ ? " UNION ALL " : " AND j.id IN (");
        by_id(q, v);
    }
    bj_buf_str(&q->sql, n ? ")" : "");
}

/* --- the question ----------------------------------------------------------
 */

static void by_time(struct question *q, const struct bj_acct_filter *f,
                    bool drives)
{
    const char *plus = drives ? "" : "+";
    if (f->since_sec > INT64_MIN)
        bj_buf_printf(&q->sql, " AND %sj.at >= ?%u", plus,
                      bind_number(q, f->since_sec));
    if (f->until_sec < INT64_MAX)
        bj_buf_printf(&q->sql, " AND %sj.at < ?%u", plus,
                      bind_number(q, f->until_sec));
}

static void ask(struct question *q, const struct bj_acct_filter *f)
{
    bool ids = count(&f->job) > 0;
    bool open = !ids && bj_acct_only_open(&f->state);
    bool user = !ids && !open && count(&f->user) > 0;
    bool account = !ids && !open && !user && count(&f->account) > 0;
    bj_buf_str(&q->sql, "SELECT j.id FROM job AS j WHERE true");
    by_ids(q, &f->job);
    if (open)
        bj_buf_str(&q->sql, " AND j.\"end\" IS NULL");
    by_name(q, &f->user, "user", user);
    by_name(q, &f->account, "account", account);
    by_name(q, &f->partition, "partition", false);
    if (open && count(&f->cluster) == 0)
        bj_buf_str(&q->sql, " AND j.cluster IN (SELECT id FROM cluster)");
    by_name(q, &f->cluster, "cluster", open);
    by_state(q, &f->state, open);
    by_time(q, f, !ids && !open);
    bj_buf_printf(&q->sql, " ORDER BY j.at DESC, j.id DESC LIMIT ?%u",
                  bind_number(q, f->limit ? (int64_t)f->limit : -1));
    bj_buf_put(&q->sql, "", 1);
}

static int add(struct bj_acct_ids *ids, int64_t id)
{
    if (ids->n == ids->cap) {
        size_t cap = ids->cap ? 2 * ids->cap : 256;
        int64_t *v = reallocarray(ids->v, cap, sizeof(*v));
        if (!v)
            return -ENOMEM;
        ids->v = v;
        ids->cap = cap;
    }
    ids->v[ids->n++] = id;
    return 0;
}

static int take(struct bj_store *s, const struct question *q,
                struct bj_acct_ids *ret, struct bj_err *err)
{
    struct sqlite3_stmt *st;
    int r = bj_sql_prepare(bj_store_db(s), q->sql.p, &st, err);
    if (r < 0)
        return r;
    for (unsigned i = 0; i < q->n; i++)
        if (q->v[i].text.p)
            bj_sql_bind_text(st, (int)i + 1, q->v[i].text);
        else
            sqlite3_bind_int64(st, (int)i + 1, q->v[i].number);
    while ((r = bj_sql_row(st, err)) > 0 &&
           (r = add(ret, sqlite3_column_int64(st, 0))) == 0) {
    }
    sqlite3_finalize(st);
    return r == -ENOMEM ? bj_err_set(err, r, "jobs") : r;
}

int bj_acct_find(struct bj_store *s, const struct bj_acct_filter *f,
                 struct bj_acct_ids *ret, struct bj_err *err)
{
    *ret = (struct bj_acct_ids){NULL, 0, 0};
    struct question *q = calloc(1, sizeof(*q));
    if (!q)
        return bj_err_set(err, -ENOMEM, "question");
    ask(q, f);
    int r = q->err.code;
    if (r < 0)
        bj_err_set(err, r, "%s", q->err.msg);
    else if (q->sql.failed)
        r = bj_err_set(err, -ENOMEM, "question");
    else
        r = take(s, q, ret, err);
    bj_buf_free(&q->sql);
    free(q);
    if (r < 0) {
        free(ret->v);
        *ret = (struct bj_acct_ids){NULL, 0, 0};
    }
    return r;
}

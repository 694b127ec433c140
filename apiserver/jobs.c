#include "apiserver/jobs.h"

#include "apiserver/server.h"

#include <stdio.h>

static const struct bj_api_column *find_key(struct bj_slice key, unsigned *at)
{
    for (*at = 0; bj_api_columns[*at].key; ++*at)
        if (bj_slice_eq(bj_slice_str(bj_api_columns[*at].key), key))
            return &bj_api_columns[*at];
    return NULL;
}

int bj_jobs_pick(struct bj_call *c, const struct bj_params *p,
                 struct bj_picked *ret)
{
    bool want[BJ_API_COLUMNS] = {false};
    unsigned at;
    for (unsigned i = 0; p->given[BJ_PARAM_FIELDS] && i < p->values; i++) {
        struct bj_slice s = p->value[i].text;
        if (p->value[i].which != BJ_PARAM_FIELDS)
            continue;
        if (!find_key(s, &at))
            return bj_call_refuse(c, 400, "There is no field '%.*s'.",
                                  s.n < 60 ? (int)s.n : 60, s.p);
        want[at] = true;
    }
    ret->n = 0;
    for (unsigned i = 0; bj_api_columns[i].key; i++)
        if (want[i] || !p->given[BJ_PARAM_FIELDS]) {
            ret->at[ret->n] = (unsigned char)i;
            ret->key[ret->n++] = bj_api_columns[i].key;
        }
    return 0;
}

void bj_jobs_select(struct bj_query *q, const struct bj_picked *k)
{
    bj_query_sql(q, "SELECT j.at, j.id");
    for (unsigned i = 0; i < k->n; i++) {
        bj_query_sql(q, ", ");
        bj_query_sql(q, bj_api_columns[k->at[i]].sql);
    }
    bj_query_sql(q, " FROM job AS j LEFT JOIN job_more AS m ON m.job = j.id"
                    " LEFT JOIN owner AS o ON o.id = j.owner WHERE 1");
}

static void put_link_end(struct bj_rows *rows, int64_t sec)
{
    char text[32];
    if (sec == BJ_SQL_NULL)
        snprintf(text, sizeof(text), "now");
    else
        snprintf(text, sizeof(text), "%lld",
                 sec > INT64_MAX / 1000 || sec < INT64_MIN / 1000
                     ? 0
                     : (long long)sec * 1000);
    bj_put_text(rows, bj_slice_str(text));
}

static void put_number(const struct bj_api_column *k, struct bj_rows *rows,
                       int64_t v)
{
    if (k->kind == BJ_AS_LINK_END)
        put_link_end(rows, v);
    else if (v == BJ_SQL_NULL)
        bj_put_null(rows);
    else if (k->kind == BJ_AS_TENTHS || k->kind == BJ_AS_MICRO)
        bj_put_fixed(rows, v, k->kind == BJ_AS_TENTHS ? 1 : 6);
    else if (k->kind == BJ_AS_TIME)
        bj_put_time(rows, v);
    else if (k->kind == BJ_AS_TIME_MS)
        bj_put_time_ms(rows, v);
    else
        bj_put_int(rows, v);
}

int bj_jobs_row(struct bj_call *c, const struct bj_picked *k,
                struct sqlite3_stmt *st, struct bj_rows *rows)
{
    struct bj_slice text;
    int r = 0;
    bj_row_begin(rows);
    for (unsigned i = 0; i < k->n && r == 0; i++) {
        const struct bj_api_column *col = &bj_api_columns[k->at[i]];
        int at = (int)i + 2;
        if (col->kind == BJ_AS_TEXT) {
            bj_put_text(rows, bj_sql_text(st, at));
        } else if (col->kind == BJ_AS_WORD) {
            r = bj_words_text(c->api->words, c->reader, col->word,
                              bj_sql_get(st, at), &text, &c->err);
            bj_put_text(rows, text);
        } else {
            put_number(col, rows, bj_sql_get(st, at));
        }
    }
    bj_row_end(rows);
    return r;
}

/* --- one job ---------------------------------------------------------------
 */

static void raw_id(struct bj_query *q, struct bj_slice id)
{
    uint64_t n;
    /* An id that is all digits is kept as a number; "007" is none. */
    if (bj_slice_u64(id, &n) == 0 && n <= INT64_MAX &&
        (id.p[0] != '0' || id.n == 1))
        bj_query_int(q, (int64_t)n);
    else
        bj_query_text(q, id);
}

static bool split_key(struct bj_slice s, struct bj_slice *cluster,
                      struct bj_slice *id, uint64_t *submit)
{
    size_t last = s.n;
    while (last > 0 && s.p[last - 1] != ':')
        last--;
    if (last == 0 || !bj_slice_field(&s, ':', cluster))
        return false;
    size_t gone = cluster->n + 1;
    if (last <= gone)
        return false;
    *id = (struct bj_slice){s.p, last - gone - 1};
    struct bj_slice digits = {s.p + (last - gone), s.n - (last - gone)};
    return cluster->n > 0 && id->n > 0 && bj_slice_u64(digits, submit) == 0 &&
           *submit <= INT64_MAX;
}

static bool split_task(struct bj_slice s, uint64_t *job, uint64_t *task)
{
    return bj_slice_number(&s, job) && s.n > 1 && s.p[0] == '_' &&
           bj_slice_u64((struct bj_slice){s.p + 1, s.n - 1}, task) == 0 &&
           *job <= INT64_MAX && *task <= INT64_MAX;
}

static bool is_sluid(struct bj_slice s)
{
    if (s.n != 14 || s.p[0] != 's')
        return false;
    for (size_t i = 1; i < s.n; i++)
        if (!strchr("0123456789ABCDEFGHJKMNPQRSTVWXYZ", s.p[i]) || !s.p[i])
            return false;
    return true;
}

int bj_jobs_named(struct bj_query *q, struct bj_call *c, struct bj_slice name)
{
    struct bj_slice cluster, id;
    uint64_t a, b;
    int64_t number;
    int r = 0;
    if (split_key(name, &cluster, &id, &a)) {
        r = bj_words_find(c->reader, BJ_WORD_CLUSTER, cluster, &number,
                          &c->err);
        bj_query_sql(q, " AND j.cluster = ");
        bj_query_int(q, number);
        bj_query_sql(q, " AND j.raw_id = ");
        raw_id(q, id);
        bj_query_sql(q, " AND j.submit = ");
        bj_query_int(q, (int64_t)a);
    } else if (is_sluid(name)) {
        bj_query_sql(q, " AND j.sluid = ");
        bj_query_text(q, name);
    } else if (split_task(name, &a, &b)) {
        bj_query_sql(q, " AND j.array_job = ");
        bj_query_int(q, (int64_t)a);
        bj_query_sql(q, " AND j.array_task = ");
        bj_query_int(q, (int64_t)b);
    } else {
        bj_query_sql(q, " AND j.cluster IN (SELECT id FROM cluster)"
                        " AND j.raw_id = ");
        raw_id(q, name);
    }
    return r;
}

#include "statsdb/acct_store.h"

#include "base/buf.h"
#include "statsdb/acct_query.h"
#include "statsdb/job_value.h"
#include "statsdb/sql.h"
#include "statsdb/store.h"

#include <stdlib.h>

/* Reads jobs by their number in the store. */
struct reader {
    struct sqlite3 *db;
    const struct bj_job_column *const *column;
    unsigned columns;
    int *first; /* of each column: its first value in the statement */
    struct sqlite3_stmt *st, *word[BJ_WORDS];
    struct bj_job_raw raw; /* of the last column that was read */
    struct bj_buf joined;
};

static int add_column(struct bj_buf *sql, const struct bj_job_column *c,
                      int value)
{
    for (unsigned i = 0; i < BJ_JOB_VALUES && c->sql[i]; i++, value++)
        bj_buf_printf(sql, "%s%s", value ? ", " : "SELECT ", c->sql[i]);
    return value;
}

static int prepare(struct reader *r, struct bj_err *err)
{
    struct bj_buf sql = {0};
    int values = 0;
    for (unsigned i = 0; i < r->columns; i++) {
        r->first[i] = values;
        values = add_column(&sql, r->column[i], values);
    }
    bj_buf_str(&sql, " FROM " BJ_JOB_FROM BJ_JOB_FROM_USE " WHERE j.id = ?1");
    bj_buf_put(&sql, "", 1);
    int code = sql.failed ? bj_err_set(err, -ENOMEM, "columns")
                          : bj_sql_prepare(r->db, sql.p, &r->st, err);
    bj_buf_free(&sql);
    return code;
}

static void close_reader(struct reader *r)
{
    sqlite3_finalize(r->st);
    for (unsigned i = 0; i < BJ_WORDS; i++)
        sqlite3_finalize(r->word[i]);
    bj_buf_free(&r->joined);
    free(r->first);
}

static int open_reader(struct reader *r, struct bj_err *err)
{
    r->first = calloc(r->columns, sizeof(*r->first));
    return r->first ? prepare(r, err) : bj_err_set(err, -ENOMEM, "columns");
}

/* 1, or 0 when the job has been removed. */
static int read_job(struct reader *r, int64_t id, struct bj_err *err)
{
    sqlite3_reset(r->st);
    sqlite3_bind_int64(r->st, 1, id);
    return bj_sql_row(r->st, err);
}

/* The statement stays on its row, which holds the text. */
static int word(void *ctx, enum bj_word which, int64_t id, struct bj_slice *ret,
                struct bj_err *err)
{
    struct reader *r = ctx;
    struct sqlite3_stmt **st = &r->word[which];
    int code =
        *st ? 0 : bj_sql_prepare(r->db, bj_word_sql[which].text, st, err);
    *ret = (struct bj_slice){0};
    if (code < 0)
        return code;
    sqlite3_reset(*st);
    sqlite3_bind_int64(*st, 1, id);
    code = bj_sql_row(*st, err);
    if (code > 0)
        *ret = bj_sql_text(*st, 0);
    return code < 0 ? code : 0;
}

static void take(struct sqlite3_stmt *st, int at, struct bj_job_raw *raw,
                 unsigned i)
{
    bool text = sqlite3_column_type(st, at) == SQLITE_TEXT;
    raw->number[i] = text ? BJ_SQL_TEXT : bj_sql_get(st, at);
    if (raw->number[i] == BJ_SQL_TEXT) {
        raw->text[i] = bj_sql_text(st, at);
    }
}

static int value(void *ctx, unsigned i, struct bj_acct_value *ret,
                 struct bj_err *err)
{
    struct reader *r = ctx;
    const struct bj_job_column *c = r->column[i];
    struct bj_job_raw *raw = &r->raw;
    raw->word = word;
    raw->ctx = r;
    raw->scratch = &r->joined;
    for (unsigned n = 0; n < BJ_JOB_VALUES && c->sql[n]; n++)
        take(r->st, r->first[i] + (int)n, raw, n);
    *ret = (struct bj_acct_value){.known = false};
    if (!bj_job_is_text(c->kind)) {
        ret->number = bj_job_number(c, raw);
        ret->known = ret->number != BJ_SQL_NULL;
        return 0;
    }
    int code = bj_job_text(c, raw, &ret->text, err);
    ret->known = ret->text.p != NULL;
    return r->joined.failed ? bj_err_set(err, -ENOMEM, "columns") : code;
}

/* --- the source -------------------------------------------------------------
 */

static int clusters(void *source, uint64_t *ret, struct bj_err *err)
{
    int64_t n = 0;
    int r = bj_sql_int(bj_store_db(source), "SELECT count(*) FROM cluster", &n,
                       err);
    *ret = (uint64_t)n;
    return r;
}

static int jobs(void *source, const struct bj_acct_query *q, bj_acct_row_fn *fn,
                void *ctx, struct bj_err *err)
{
    struct reader reader = {
        .db = bj_store_db(source), .column = q->column, .columns = q->columns};
    const struct bj_acct_row row = {value, &reader};
    struct bj_acct_ids ids;
    int r = bj_acct_find(source, &q->filter, &ids, err);
    if (r == 0)
        r = open_reader(&reader, err);
    for (size_t i = 0; r >= 0 && i < ids.n; i++) {
        r = read_job(&reader, ids.v[i], err);
        if (r > 0)
            r = fn(ctx, &row, err);
    }
    close_reader(&reader);
    free(ids.v);
    return r < 0 ? r : 0;
}

static void close_store(void *source)
{
    bj_store_close(source);
}

int bj_acct_store_open(const char *path, bool any_filesystem,
                       struct bj_acct_source *ret, struct bj_err *err)
{
    struct bj_store *s = NULL;
    int r = bj_store_open(
        &(struct bj_store_options){
            .path = path, .read_only = true, .any_filesystem = any_filesystem},
        &s, err);
    *ret = (struct bj_acct_source){clusters, jobs, close_store, s};
    return r;
}

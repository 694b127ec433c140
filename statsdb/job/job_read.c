#include "statsdb/job/job_read.h"

#include "base/buf.h"
#include "statsdb/job/job_value.h"
#include "store/db.h"

#include <stdlib.h>

struct bj_job_read {
    struct bj_db *db;
    const struct bj_job_column *const *column;
    unsigned columns;
    int *first; /* index of each column's first value, then the number of values
                 */
    struct bj_st *st, *word[BJ_WORDS];
    struct bj_job_raw raw; /* values of the column that was read last */
    struct bj_buf joined;
};

static int add_column(struct bj_buf *sql, const struct bj_job_column *c,
                      int value)
{
    for (unsigned i = 0; i < BJ_JOB_VALUES && c->sql[i]; i++, value++)
        bj_buf_printf(sql, "%s%s", value ? ", " : "SELECT ", c->sql[i]);
    return value;
}

static int prepare(struct bj_job_read *r, struct bj_err *err)
{
    struct bj_buf sql = {0};
    int values = 0;
    for (unsigned i = 0; i < r->columns; i++) {
        r->first[i] = values;
        values = add_column(&sql, r->column[i], values);
    }
    r->first[r->columns] = values;
    bj_buf_str(&sql, " FROM " BJ_JOB_FROM BJ_JOB_FROM_USE " WHERE j.id = ?1");
    bj_buf_put(&sql, "", 1);
    int code = sql.failed ? bj_err_set(err, -ENOMEM, "columns")
                          : bj_db_prepare(r->db, sql.p, &r->st, err);
    bj_buf_free(&sql);
    return code;
}

void bj_job_read_free(struct bj_job_read *r)
{
    if (!r)
        return;
    bj_st_finalize(r->st);
    for (unsigned i = 0; i < BJ_WORDS; i++)
        bj_st_finalize(r->word[i]);
    bj_buf_free(&r->joined);
    free(r->first);
    free(r);
}

int bj_job_read_new(struct bj_db *db, const struct bj_job_column *const *column,
                    unsigned columns, struct bj_job_read **ret,
                    struct bj_err *err)
{
    struct bj_job_read *r = calloc(1, sizeof(*r));
    if (!r)
        return bj_err_set(err, -ENOMEM, "columns");
    r->db = db;
    r->column = column;
    r->columns = columns;
    r->first = calloc(columns + 1, sizeof(*r->first));
    int code = r->first ? prepare(r, err) : bj_err_set(err, -ENOMEM, "columns");
    if (code < 0) {
        bj_job_read_free(r);
        return code;
    }
    *ret = r;
    return 0;
}

int bj_job_read_row(struct bj_job_read *r, int64_t job, struct bj_err *err)
{
    bj_st_reset(r->st);
    bj_st_bind_i64(r->st, 1, job);
    return bj_st_row(r->st, err);
}

/* The statement stays on its row, which holds the text. */
static int word(void *ctx, enum bj_word which, int64_t id, struct bj_slice *ret,
                struct bj_err *err)
{
    struct bj_job_read *r = ctx;
    struct bj_st **st = &r->word[which];
    int code = *st ? 0 : bj_db_prepare(r->db, bj_word_sql[which].text, st, err);
    *ret = (struct bj_slice){0};
    if (code < 0)
        return code;
    bj_st_reset(*st);
    bj_st_bind_i64(*st, 1, id);
    code = bj_st_row(*st, err);
    if (code > 0)
        *ret = bj_st_get_text(*st, 0);
    return code < 0 ? code : 0;
}

int bj_job_read_value(struct bj_job_read *r, unsigned i,
                      struct bj_job_value *ret, struct bj_err *err)
{
    static const unsigned char in_order[] = {0, 1,  2,  3,  4,  5,  6,  7, 8,
                                             9, 10, 11, 12, 13, 14, 15, 16};
    _Static_assert(sizeof(in_order) == BJ_JOB_VALUES, "one for each value");
    const struct bj_job_column *c = r->column[i];
    struct bj_job_raw *raw = &r->raw;
    struct bj_value values[BJ_JOB_VALUES];
    raw->word = word;
    raw->ctx = r;
    raw->scratch = &r->joined;
    bj_st_get(r->st, r->first[i], (unsigned)(r->first[i + 1] - r->first[i]),
              values);
    raw->row = values;
    raw->at = in_order;
    *ret = (struct bj_job_value){.known = false};
    if (!bj_job_is_text(c->kind)) {
        ret->number = bj_job_number(c, raw);
        ret->known = ret->number != BJ_SQL_NULL;
        return 0;
    }
    int code = bj_job_text(c, raw, &ret->text, err);
    ret->known = ret->text.p != NULL;
    return r->joined.failed ? bj_err_set(err, -ENOMEM, "columns") : code;
}

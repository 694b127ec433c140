#include "statsdb/job/job_read.h"

#include "base/buf.h"
#include "store/db.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(BJ_JOB_COLUMNS <= (int)BJ_ROW_KEYS, "a row has all columns");
_Static_assert(BJ_PICKED_VALUES <= 256, "values have numbers of a byte");

/* --- selected columns ------------------------------------------------------
 */

/* The index of a value in the statement, which contains each value once. */
static unsigned char picked_place(struct bj_picked *k, const char *sql)
{
    unsigned i = 0;
    while (i < k->values && strcmp(k->sql[i], sql) != 0)
        i++;
    if (i == k->values)
        k->sql[k->values++] = sql;
    return (unsigned char)i;
}

void bj_picked_add(struct bj_picked *k, const struct bj_column *c)
{
    for (unsigned i = 0; i < BJ_JOB_VALUES && c->sql[i]; i++)
        k->value[k->n][i] = picked_place(k, c->sql[i]);
    k->column[k->n] = c;
    k->key[k->n++] = c->name;
    k->derived = k->derived || bj_job_column_is_derived(c);
}

void bj_picked_table(struct bj_picked *k, const struct bj_column *columns)
{
    k->n = k->values = 0;
    k->derived = false;
    for (; columns->name; columns++)
        bj_picked_add(k, columns);
}

void bj_picked_sql(const struct bj_picked *k, struct bj_buf *sql)
{
    for (unsigned i = 0; i < k->values; i++) {
        bj_buf_str(sql, i ? ", " : "");
        bj_buf_str(sql, k->sql[i]);
    }
}

int bj_picked_row(const struct bj_picked *k, struct bj_st *st, int first,
                  struct bj_job_raw *raw, struct bj_rows *rows,
                  struct bj_err *err)
{
    struct bj_value values[BJ_PICKED_VALUES];
    struct bj_job_value v;
    int r = 0;
    bj_st_get(st, first, k->values, values);
    raw->row = values;
    bj_row_begin(rows);
    for (unsigned i = 0; i < k->n && r == 0; i++) {
        const struct bj_column *c = k->column[i];
        raw->at = k->value[i];
        if (bj_job_is_text(c->kind) || c->kind == BJ_AS_REAL) {
            r = bj_job_value(c, raw, &v, err);
            bj_put_value(rows, c->kind, &v);
        } else {
            bj_put_kind(rows, c->kind, bj_job_number(c, raw)); /* most */
        }
    }
    bj_row_end(rows);
    return r;
}

void bj_picked_numbers(const struct bj_picked *k, struct bj_st *st, int first,
                       int64_t ret[BJ_ROW_KEYS])
{
    struct bj_value values[BJ_PICKED_VALUES];
    bj_st_get(st, first, k->values, values);
    for (unsigned i = 0; i < k->n; i++)
        ret[i] = bj_job_number(
            k->column[i],
            &(struct bj_job_raw){.row = values, .at = k->value[i]});
}

/* --- jobs by number --------------------------------------------------------
 */

struct bj_job_read {
    struct bj_db *db;
    struct bj_picked k;
    struct bj_value
        values[BJ_PICKED_VALUES]; /* of the job that was read last */
    struct bj_st *st, *word[BJ_WORDS];
    struct bj_job_raw raw;
    struct bj_buf joined;
};

static int job_read_prepare(struct bj_job_read *r, struct bj_err *err)
{
    struct bj_buf sql = {0};
    bj_buf_str(&sql, "SELECT ");
    bj_picked_sql(&r->k, &sql);
    bj_buf_str(&sql, " FROM " BJ_JOB_FROM);
    bj_buf_str(&sql, r->k.derived ? BJ_JOB_FROM_USE : "");
    bj_buf_str(&sql, " WHERE j.id = ?1");
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
    free(r);
}

/* The statement stays on its row, which holds the text. */
static int job_read_word(void *ctx, enum bj_word which, int64_t id,
                         struct bj_slice *ret, struct bj_err *err)
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

int bj_job_read_new(struct bj_db *db, const struct bj_column *const *column,
                    unsigned columns, struct bj_job_read **ret,
                    struct bj_err *err)
{
    struct bj_job_read *r = calloc(1, sizeof(*r));
    if (!r)
        return bj_err_set(err, -ENOMEM, "columns");
    r->db = db;
    for (unsigned i = 0; i < columns && i < BJ_ROW_KEYS; i++)
        bj_picked_add(&r->k, column[i]);
    r->raw = (struct bj_job_raw){.row = r->values,
                                 .word = job_read_word,
                                 .ctx = r,
                                 .scratch = &r->joined};
    int code = job_read_prepare(r, err);
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
    int code = bj_st_row(r->st, err);
    if (code > 0)
        bj_st_get(r->st, 0, r->k.values, r->values);
    return code;
}

int bj_job_read_value(struct bj_job_read *r, unsigned i,
                      struct bj_job_value *ret, struct bj_err *err)
{
    *ret = (struct bj_job_value){.known = false};
    r->raw.at = r->k.value[i];
    return bj_job_value(r->k.column[i], &r->raw, ret, err);
}

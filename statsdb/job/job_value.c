#include "statsdb/job/job_value.h"

#include "base/stamp.h"
#include "statsdb/tables/best.h"

#include <errno.h>
#include <stdio.h>

static int64_t value_number_of(const struct bj_job_raw *raw, unsigned i)
{
    const struct bj_value *v = &raw->row[raw->at[i]];
    return v->type == BJ_TYPE_INTEGER ? v->i64 : BJ_SQL_NULL;
}

int64_t bj_job_number(const struct bj_column *c, const struct bj_job_raw *raw)
{
    int64_t number[BJ_JOB_VALUES];
    if (!c->make)
        return value_number_of(raw, 0);
    for (unsigned i = 0; i < BJ_JOB_VALUES && c->sql[i]; i++)
        number[i] = value_number_of(raw, i);
    return c->make(number);
}

/* A value as text; digits is a buffer for numbers. */
static struct bj_slice value_text_of(const struct bj_job_raw *raw, unsigned i,
                                     char digits[static BJ_DIGITS_ROOM])
{
    const struct bj_value *v = &raw->row[raw->at[i]];
    if (v->type == BJ_TYPE_TEXT)
        return v->text;
    if (v->type != BJ_TYPE_INTEGER)
        return (struct bj_slice){0};
    return (struct bj_slice){digits,
                             (size_t)(bj_digits_i64(digits, v->i64) - digits)};
}

static struct bj_slice value_join(struct bj_job_raw *raw,
                                  const struct bj_slice *part, unsigned parts)
{
    struct bj_buf *to = raw->scratch;
    to->len = 0;
    for (unsigned i = 0; i < parts; i++)
        bj_buf_slice(to, part[i]);
    return (struct bj_slice){to->failed ? NULL : to->p, to->len};
}

/* cluster, jobid, submit */
static int key_text(struct bj_job_raw *raw, struct bj_slice *ret,
                    struct bj_err *err)
{
    char submit[BJ_DIGITS_ROOM];
    struct bj_slice cluster;
    int r = raw->word(raw->ctx, BJ_WORD_CLUSTER, value_number_of(raw, 0),
                      &cluster, err);
    if (r == 0 && cluster.p)
        *ret = value_join(
            raw,
            (struct bj_slice[]){cluster, BJ_SLICE(":"),
                                value_text_of(raw, 1, raw->digits),
                                BJ_SLICE(":"), value_text_of(raw, 2, submit)},
            5);
    return r;
}

/* month, and its day; neither is always known */
static struct bj_slice date(struct bj_job_raw *raw, bool with_day)
{
    const int64_t month = value_number_of(raw, 0);
    const int64_t day = with_day ? value_number_of(raw, 1) : 0;
    if (month == BJ_SQL_NULL || day == BJ_SQL_NULL)
        return (struct bj_slice){0};
    int n = snprintf(raw->digits, sizeof(raw->digits), "%04d-%02d",
                     (int)(month / 12 % 10000), (int)(month % 12) + 1);
    if (with_day)
        n += snprintf(raw->digits + n, sizeof(raw->digits) - (size_t)n, "-%02d",
                      (int)(day % 32));
    return (struct bj_slice){raw->digits, (size_t)n};
}

/* The text of a column, {NULL, 0} for unknown. */
static int job_text(const struct bj_column *c, struct bj_job_raw *raw,
                    struct bj_slice *ret, struct bj_err *err)
{
    const char *name;
    *ret = (struct bj_slice){0};
    switch (c->kind) {
    case BJ_AS_WORD:
    case BJ_AS_WORD_INT:
        return value_number_of(raw, 0) == BJ_SQL_NULL
                   ? 0
                   : raw->word(raw->ctx, c->word, value_number_of(raw, 0), ret,
                               err);
    case BJ_AS_KEY:
        return key_text(raw, ret, err);
    case BJ_AS_MONTH:
    case BJ_AS_DAY:
        *ret = date(raw, c->kind == BJ_AS_DAY);
        return 0;
    case BJ_AS_SOURCE:
        name = bj_source_name(bj_job_number(c, raw));
        if (name)
            *ret = bj_slice_str(name);
        return 0;
    default:
        *ret = value_text_of(raw, 0, raw->digits);
        return 0;
    }
}

static double job_real(const struct bj_value *v)
{
    return v->type == BJ_TYPE_REAL ? v->f64 : (double)v->i64;
}

int bj_job_value(const struct bj_column *c, struct bj_job_raw *raw,
                 struct bj_job_value *ret, struct bj_err *err)
{
    int r = 0;
    if (c->kind == BJ_AS_REAL) {
        const struct bj_value *v = &raw->row[raw->at[0]];
        ret->known = v->type == BJ_TYPE_INTEGER || v->type == BJ_TYPE_REAL;
        ret->real = ret->known ? job_real(v) : 0;
    } else if (bj_job_is_text(c->kind)) {
        r = job_text(c, raw, &ret->text, err);
        /* A part of a text is another job's id or path. */
        if (r == 0 && raw->scratch && raw->scratch->failed)
            r = bj_err_set(err, -ENOMEM, "columns");
        ret->known = r == 0 && ret->text.p != NULL;
    } else {
        ret->number = bj_job_number(c, raw);
        ret->known = ret->number != BJ_SQL_NULL;
    }
    return r;
}

/* --- from JSON -------------------------------------------------------------
 */

static int json_number(enum bj_value_kind kind, const struct bj_json *v,
                       int64_t *ret)
{
    bool yes;
    int r;
    switch (kind) {
    case BJ_AS_TIME:
        return bj_stamp_sec(bj_json_text(v), BJ_STAMP_BARE_UTC, ret);
    case BJ_AS_TIME_MS:
    case BJ_AS_LINK_END:
        r = bj_json_i64(v, ret);
        *ret /= 1000;
        return r;
    case BJ_AS_BOOL:
        r = bj_json_bool(v, &yes);
        *ret = r == 0 && yes;
        return r;
    default:
        return bj_json_fixed(v, bj_value_digits(kind), ret);
    }
}

int bj_job_value_json(enum bj_value_kind kind, const struct bj_json *v,
                      struct bj_job_value *ret)
{
    *ret = (struct bj_job_value){.known = v && !bj_json_is_null(v)};
    if (kind == BJ_AS_LINK_END && bj_slice_eq(bj_json_text(v), BJ_SLICE("now")))
        ret->known = false;
    if (!ret->known)
        return 0;
    if (bj_job_is_text(kind)) {
        ret->text = bj_json_text(v);
        return 0;
    }
    return json_number(kind, v, &ret->number) < 0 ? -EBADMSG : 0;
}

/* Values of columns: from a row of a query, or from JSON that the API wrote. */
#ifndef BJ_STATSDB_JOB_JOB_VALUE_H
#define BJ_STATSDB_JOB_JOB_VALUE_H

#include "base/buf.h"
#include "base/digits.h"
#include "base/err.h"
#include "base/json.h"
#include "statsdb/job/job_column.h"
#include "store/db.h"

/* A row of SQL values, and how to convert them to the value of a column. */
struct bj_job_raw {
    const struct bj_value *row;
    /* positions in row, for each SQL value of the column */
    const unsigned char *at;
    /* Looks up the text for a number of a dictionary, valid until the next
     * call; {NULL, 0}: none. Returns 0 or an error of the store. */
    int (*word)(void *ctx, enum bj_word which, int64_t id, struct bj_slice *ret,
                struct bj_err *err);
    void *ctx;
    struct bj_buf *scratch; /* for composed texts */
    char digits[BJ_DIGITS_ROOM];
};

/* Does this kind of value need bj_job_text (true) or bj_job_number? */
static inline bool bj_job_is_text(enum bj_value_kind kind)
{
    return kind >= BJ_AS_TEXT;
}

struct bj_job_value {
    bool known;
    int64_t number;       /* if the column is not text; times in seconds */
    struct bj_slice text; /* valid until the next value is computed */
    double real;          /* BJ_AS_REAL */
};

/* The number of a column in the unit of its kind, or BJ_SQL_NULL. */
int64_t bj_job_number(const struct bj_column *c, const struct bj_job_raw *raw);

/* The value of a column.  Its text is valid until raw, its scratch or its
 * dictionary is used again; that of BJ_AS_WORD_INT is a number in digits.
 * Returns 0 or an error of the store. */
int bj_job_value(const struct bj_column *c, struct bj_job_raw *raw,
                 struct bj_job_value *ret, struct bj_err *err);

/* Read a value of that kind; v NULL, and null in JSON, is unknown.  Text points
 * into the document.  -EBADMSG: the value has another type. */
int bj_job_value_json(enum bj_value_kind kind, const struct bj_json *v,
                      struct bj_job_value *ret);

#endif

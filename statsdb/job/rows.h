/* Writes rows as JSON, as CSV, or as cells, which web pages show. */
#ifndef BJ_STATSDB_JOB_ROWS_H
#define BJ_STATSDB_JOB_ROWS_H

#include "base/buf.h"
#include "base/slice.h"
#include "statsdb/job/job_value.h"

#include <stdbool.h>
#include <stdint.h>

/* --- cells -----------------------------------------------------------------
 */

enum { BJ_ROW_KEYS = 144 }; /* maximum number in a row */

enum bj_cell_kind {
    BJ_CELL_NULL,
    BJ_CELL_TEXT,
    BJ_CELL_NUMBER, /* number / 10^digits */
    BJ_CELL_TIME,   /* number: seconds since 1970 */
    BJ_CELL_BOOL    /* number: 0 or 1 */
};

struct bj_cell {
    enum bj_cell_kind kind;
    unsigned digits;
    int64_t number;
    struct bj_slice text; /* valid during the call of row */
};

/* Zero-initialise, then set row and ctx. */
struct bj_cells {
    /* Called with each complete row. */
    void (*row)(void *ctx, const struct bj_cells *row);
    void *ctx;
    const char *const *key;
    unsigned keys, n;
    struct bj_cell cell[BJ_ROW_KEYS];
    struct bj_buf text; /* if failed: out of memory for a text */
};
void bj_cells_free(struct bj_cells *c);

/* For bj_rows: set the keys, put one value, end the row. */
void bj_cells_begin(struct bj_cells *c, const char *const *key, unsigned keys);
void bj_cells_put(struct bj_cells *c, struct bj_cell v);
void bj_cells_row(struct bj_cells *c);

/* Find the cell of a key; NULL: unknown key. */
const struct bj_cell *bj_cells_get(const struct bj_cells *c, const char *key);

/* Is there nothing to show: null, an unknown key, or an empty text? */
bool bj_cell_is_empty(const struct bj_cell *v);

/* Append a cell as text; numbers are exact. */
void bj_cell_text(struct bj_buf *b, const struct bj_cell *v);

/* --- rows ------------------------------------------------------------------
 */

/* The form of a table. */
enum bj_shape {
    BJ_SHAPE_OBJECTS, /* JSON: [{"key":value},...] */
    BJ_SHAPE_CSV,     /* a line of names, then one line per row */
    BJ_SHAPE_ARRAYS   /* JSON: [[value,...],...] */
};

/* The destination of rows: a buffer, in a shape, or a receiver of cells. */
struct bj_output {
    struct bj_buf *to;
    enum bj_shape shape;
    struct bj_cells *cells; /* NULL: write to the buffer */
    bool no_names;          /* CSV without its line of names */
    bool lines;             /* JSON: each row is a line */
};

/* Maximum bytes of a key with its quotes and separators. */
enum { BJ_HEAD_BYTES = BJ_COLUMN_NAME + 4 };

/* The text before a value: a comma, and the key in JSON objects. */
struct bj_head {
    char text[BJ_HEAD_BYTES];
    unsigned char n;
};

/* A table that is being written.  Each row has all keys, in the same order:
 * write exactly one value per key between row_begin and row_end. */
struct bj_rows {
    struct bj_buf *to;
    enum bj_shape shape;
    struct bj_cells *cells;
    bool lines;
    unsigned keys, at; /* index of the next value */
    uint64_t n;        /* rows so far */
    struct bj_head head[BJ_ROW_KEYS];
    int64_t days;  /* days since 1970 of the last date ... */
    char date[16]; /* ... and that date, "2026-11-20T"; empty: none yet */
};

/* Keys are names of columns, and must stay valid until the last row. */
void bj_rows_begin(struct bj_rows *r, const struct bj_output *out,
                   const char *const *key, unsigned keys);
void bj_rows_end(struct bj_rows *r);

void bj_row_begin(struct bj_rows *r);
void bj_row_end(struct bj_rows *r);

/* Write a text; {NULL, 0} is null, which is empty in CSV. */
void bj_put_text(struct bj_rows *r, struct bj_slice s);
void bj_put_null(struct bj_rows *r);
void bj_put_int(struct bj_rows *r, int64_t v);
/* Write a number that is JSON text; {NULL, 0} is null. */
void bj_put_number(struct bj_rows *r, struct bj_slice s);
void bj_put_bool(struct bj_rows *r, bool v);

/* Write v / 10^digits, exactly. */
void bj_put_fixed(struct bj_rows *r, int64_t v, unsigned digits);

/* Write seconds since 1970 as "2026-11-20T15:04:05Z", and as milliseconds. */
void bj_put_time(struct bj_rows *r, int64_t sec);
void bj_put_time_ms(struct bj_rows *r, int64_t sec);

/* Write a number, which may be BJ_SQL_NULL, in the form of this kind of column.
 */
void bj_put_kind(struct bj_rows *r, enum bj_value_kind kind, int64_t v);

/* Write a value of this kind of column. */
void bj_put_value(struct bj_rows *r, enum bj_value_kind kind,
                  const struct bj_job_value *v);

/* Append a single value as JSON. */
void bj_value_json(struct bj_buf *to, enum bj_value_kind kind,
                   const struct bj_job_value *v);

#endif

/* Writes the rows of a response as JSON, CSV or cells. */
#ifndef BJ_APISERVER_FRAME_OUT_H
#define BJ_APISERVER_FRAME_OUT_H

#include "apiserver/frame/cells.h"
#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

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
};

/* Maximum bytes of a key, and of a key with its quotes and separators. */
enum { BJ_KEY_MAX = 43, BJ_HEAD_BYTES = 47 };

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
    unsigned keys, at; /* index of the next value */
    uint64_t n;        /* rows so far */
    struct bj_head head[BJ_ROW_KEYS];
    int64_t days;  /* days since 1970 of the last date ... */
    char date[16]; /* ... and that date, "2026-11-20T"; empty: none yet */
};

/* Keys are plain ASCII without quotes, at most BJ_KEY_MAX bytes, and must stay
 * valid until the last row. */
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

#endif

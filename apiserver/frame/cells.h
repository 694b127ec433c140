/* Passes rows as values, for output other than tables in JSON or CSV: web
 * pages, series of pairs, annotations. */
#ifndef BJ_APISERVER_FRAME_CELLS_H
#define BJ_APISERVER_FRAME_CELLS_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

enum { BJ_ROW_KEYS = 120 }; /* maximum number in a row */

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

#endif

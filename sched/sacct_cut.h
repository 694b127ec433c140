/* Splitting delimited text into records and fields.  Private to sched/sacct.
 *
 * A record ends at the newline after its last column; newlines before that are
 * part of their field.  Text without such an end is reported as bad and
 * skipped, up to a line that is a record of its own. */
#ifndef BJ_SCHED_SACCT_CUT_H
#define BJ_SCHED_SACCT_CUT_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BJ_CUT_COLUMNS_MAX = 256,
    BJ_CUT_DELIMITER_MAX = 32,
};

struct bj_cut_field {
    uint32_t at, n; /* bytes in the record */
};

/* Zero-initialise, set the first part; free with bj_cut_free. */
struct bj_cut {
    char delimiter[BJ_CUT_DELIMITER_MAX];
    size_t delimiter_n; /* at least 1 */
    size_t max_record;  /* bytes; below 2^31 */
    unsigned columns; /* of each record; 0: the next line is the header and sets
                         the number */
    bool id_first;    /* the first column is an id: it begins with a number and
                         has no blanks; it identifies lines */

    /* The last record or bad text; valid until the next call. */
    struct bj_slice record; /* without its newline */
    const char *expected;   /* instead of bad text */
    unsigned fields;        /* of a header also beyond the maximum */
    struct bj_cut_field field[BJ_CUT_COLUMNS_MAX];
    uint64_t line;  /* number of the first line of record, from 1 */
    uint64_t lines; /* returned so far */

    /* private */
    struct bj_buf buf;
    size_t at;         /* start of the current record in buf */
    size_t searched;   /* offsets from at: no newline before this; */
    size_t done;       /* split up to here, where a line begins; */
    size_t open;       /* start of the current field */
    size_t next;       /* start of the next record */
    uint64_t newlines; /* between at and next */
    bool skipping;     /* in the rest of a line that was too long */
};

/* The result of bj_cut_next. */
enum bj_cut_found {
    BJ_CUT_MORE,   /* no complete record: put more */
    BJ_CUT_RECORD, /* see record, field */
    BJ_CUT_BAD,    /* see record (its start), expected */
};

/* Append a piece of the text.  False: no memory. */
bool bj_cut_put(struct bj_cut *c, struct bj_slice piece);

enum bj_cut_found bj_cut_next(struct bj_cut *c);

/* The rest at the end of the text: a line without its newline; empty when the
 * text ended with one. */
struct bj_slice bj_cut_rest(const struct bj_cut *c);

static inline struct bj_slice bj_cut_field(const struct bj_cut *c,
                                           const char *record, unsigned i)
{
    return (struct bj_slice){record + c->field[i].at, c->field[i].n};
}

void bj_cut_free(struct bj_cut *c);

#endif

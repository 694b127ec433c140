/* Cutting delimited text into records and fields: inside of sched/sacct.
 *
 * A record ends at the newline behind its last column; newlines before that
 * belong to their field.  What has no such end is handed out as bad and passed
 * over, up to a line that is a record of its own. */
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
    unsigned columns;   /* of each record; 0: the next line is the header, and
                           has as many as it has */
    bool id_first;      /* the first column is a number and what belongs to it,
                           without blanks: by which lines can be told apart */

    /* What was found last; good until the next call. */
    struct bj_slice record; /* without its newline */
    const char *expected;   /* of what is bad */
    unsigned fields;        /* of a header that is more than fits, too */
    struct bj_cut_field field[BJ_CUT_COLUMNS_MAX];
    uint64_t line;  /* where record begins, from 1 */
    uint64_t lines; /* handed out so far */

    /* inside */
    struct bj_buf buf;
    size_t at;         /* where the record at hand begins in buf */
    size_t searched;   /* all from at: no newline before this; */
    size_t done;       /* cut up to here, where a line begins; */
    size_t open;       /* where the field at hand begins */
    size_t next;       /* where the next record begins */
    uint64_t newlines; /* between at and next */
    bool skipping;     /* the rest of a line that was too long */
};

/* What bj_cut_next has found. */
enum bj_cut_found {
    BJ_CUT_MORE,   /* nothing whole: put in more */
    BJ_CUT_RECORD, /* record, field */
    BJ_CUT_BAD,    /* record (its beginning), expected */
};

/* Put a piece of the text in.  False when memory is out. */
bool bj_cut_put(struct bj_cut *c, struct bj_slice piece);

enum bj_cut_found bj_cut_next(struct bj_cut *c);

/* What is left when there is no more: a line without its newline; empty when
 * the text ended well. */
struct bj_slice bj_cut_rest(const struct bj_cut *c);

static inline struct bj_slice bj_cut_field(const struct bj_cut *c,
                                           const char *record, unsigned i)
{
    return (struct bj_slice){record + c->field[i].at, c->field[i].n};
}

void bj_cut_free(struct bj_cut *c);

#endif

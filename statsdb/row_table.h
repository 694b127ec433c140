/* How row.c and row_value.c see a table.  Only they need it. */
#ifndef BJ_STATSDB_ROW_TABLE_H
#define BJ_STATSDB_ROW_TABLE_H

#include "statsdb/row.h"

#include <stddef.h>

/* What a column holds.  U64 to TEXT come straight from a field of a record. */
enum bj_row_kind {
    BJ_KIND_U64,
    BJ_KIND_ENUM, /* a state */
    BJ_KIND_DICT, /* a text's number in a dictionary, NULL when empty */
    BJ_KIND_TEXT, /* a text of its own */
    BJ_KIND_OWN,  /* a number that code sets */
    BJ_KIND_ID    /* a number, or a text; code sets it */
};

struct bj_row_column {
    const char *name;
    enum bj_row_kind kind;
    unsigned short off;  /* in the record */
    unsigned char which; /* dictionary, or place of a text in the row */
    unsigned char key;   /* an index has it */
};

struct bj_row_table {
    const char *name, *where; /* where: which row an update is for */
    const struct bj_row_column *col;
    unsigned n;
    bool rank; /* has states, which say how far a run has got */
};

#endif

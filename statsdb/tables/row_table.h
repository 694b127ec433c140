/* Shared by row*.c only. */
#ifndef BJ_STATSDB_TABLES_ROW_TABLE_H
#define BJ_STATSDB_TABLES_ROW_TABLE_H

#include "statsdb/tables/row.h"

#include <stddef.h>

/* Content of a column. U64 to TEXT are copied from a field of a record. */
enum bj_row_kind {
    BJ_KIND_U64,
    BJ_KIND_ENUM, /* a state */
    BJ_KIND_DICT, /* the number of a text in a dictionary; NULL: empty */
    BJ_KIND_TEXT, /* a text, stored as it is */
    BJ_KIND_OWN,  /* a number set by code */
    BJ_KIND_ID    /* a number or a text, set by code */
};

struct bj_row_column {
    const char *name;
    enum bj_row_kind kind;
    unsigned short off;  /* offset in the record */
    unsigned char which; /* dictionary, or index of the text in the row */
    unsigned char key;   /* part of an index */
};

enum { BJ_KEY_COLUMNS = 2 };

struct bj_row_table {
    const char *name;
    const char *key[BJ_KEY_COLUMNS]; /* the columns that identify a row */
    const struct bj_row_column *col;
    unsigned n;
    bool rank; /* has states */
};

/* Is the value a text, with its index in the row?  An id may be a number. */
static inline bool bj_row_textual(const struct bj_row_column *c)
{
    return c->kind == BJ_KIND_TEXT || c->kind == BJ_KIND_ID;
}

/* Remove the user time if it is the difference of total and system time. */
void bj_row_drop_user(struct bj_row *row);

#endif

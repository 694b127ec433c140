/* The keys of a job in API v1: one row of a table for each. */
#ifndef BJ_APISERVER_COLUMN_H
#define BJ_APISERVER_COLUMN_H

#include "apiserver/words.h"

/* How the SQL value of a column becomes JSON. */
enum bj_column_kind {
    BJ_AS_INT,
    BJ_AS_TENTHS,  /* of it */
    BJ_AS_MICRO,   /* millionths of it */
    BJ_AS_TEXT,    /* text as it is */
    BJ_AS_WORD,    /* the text that a dictionary has for a number */
    BJ_AS_TIME,    /* seconds as ISO 8601 */
    BJ_AS_TIME_MS, /* seconds as milliseconds */
    BJ_AS_LINK_END /* seconds as milliseconds in text, "now" for NULL */
};

struct bj_api_column {
    const char *key;
    enum bj_column_kind kind;
    enum bj_word word;
    const char *sql; /* over j (job), m (job_more) and o (owner) */
    const char *help;
};

enum { BJ_API_COLUMNS = 72 }; /* at most */

/* Ends with key NULL. */
extern const struct bj_api_column bj_api_columns[];

/* The JSON type of its values: "string", "integer", "number". */
const char *bj_column_type(const struct bj_api_column *k);

#endif

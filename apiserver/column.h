/* The keys of API v1: one row of a table for each. */
#ifndef BJ_APISERVER_COLUMN_H
#define BJ_APISERVER_COLUMN_H

#include "apiserver/words.h"

#include <stdbool.h>

/* How the SQL value of a column becomes JSON. */
enum bj_column_kind {
    BJ_AS_INT,
    BJ_AS_TENTHS,   /* of it */
    BJ_AS_MILLI,    /* thousandths of it */
    BJ_AS_PPM,      /* millionths, in percent */
    BJ_AS_MICRO,    /* millionths of it */
    BJ_AS_REAL,     /* a real number of SQL */
    BJ_AS_BOOL,     /* 0 is false */
    BJ_AS_TEXT,     /* text as it is */
    BJ_AS_WORD,     /* the text that a dictionary has for a number */
    BJ_AS_WORD_INT, /* the same, which is a number again */
    BJ_AS_TIME,     /* seconds as ISO 8601 */
    BJ_AS_TIME_MS,  /* seconds as milliseconds */
    BJ_AS_LINK_END, /* seconds as milliseconds in text, "now" for NULL */
    /* of jobs only, texts that are made of several values */
    BJ_AS_KEY,
    BJ_AS_SHOWN_ID,
    BJ_AS_PATH,
};

struct bj_api_column {
    const char *key;
    enum bj_column_kind kind;
    enum bj_word word;
    const char *sql;
    const char *help;
};

enum { BJ_API_COLUMNS = 96, BJ_JOB_VALUES = 6 }; /* at most */

/* A key of a job.  What is made of several values is made here and not by
 * SQLite, which takes several times as long for it. */
struct bj_job_key {
    const char *key;
    enum bj_column_kind kind;
    enum bj_word word;
    /* NULL: the first value is it.  Else makes it of all of them; each of them,
     * and what is returned, may be BJ_SQL_NULL. */
    int64_t (*make)(const int64_t *value);
    /* Values in SQL, over j (job), m (job_more) and, where derived,
     * u (job_use). */
    const char *sql[BJ_JOB_VALUES];
    const char *help;
};

/* The first of those that are worked out of others: it and what follows it is
 * in lists only where it is asked for. */
#define BJ_COLUMN_DERIVED "best_cpu_efficiency"

/* Ends with key NULL. */
extern const struct bj_job_key bj_job_keys[];

/* The JSON type of values: "string", "integer", "number". */
const char *bj_column_type(enum bj_column_kind kind);

#endif

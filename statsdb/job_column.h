/* The columns of a job: the one table that batchjob_acct, the API, its CSV and
 * OpenAPI, and the pages read.  docs/glossary.md explains the names. */
#ifndef BJ_STATSDB_JOB_COLUMN_H
#define BJ_STATSDB_JOB_COLUMN_H

#include "base/slice.h"
#include "statsdb/word.h"

#include <stdbool.h>
#include <stdint.h>

/* How a number or a text of SQL becomes a value.  NULL is unknown. */
enum bj_value_kind {
    BJ_AS_INT,
    BJ_AS_TENTHS,   /* of it */
    BJ_AS_MILLI,    /* thousandths of it */
    BJ_AS_PPM,      /* millionths, in percent */
    BJ_AS_MICRO,    /* millionths of it */
    BJ_AS_REAL,     /* a real number of SQL */
    BJ_AS_BOOL,     /* 0 is false */
    BJ_AS_LIMIT,    /* 2^63-1 is unlimited: null */
    BJ_AS_TIME,     /* seconds as ISO 8601 */
    BJ_AS_TIME_MS,  /* seconds as milliseconds */
    BJ_AS_LINK_END, /* seconds as milliseconds in text, "now" for NULL */
    /* from here on shown as texts: bj_job_is_text */
    BJ_AS_TEXT,     /* text as it is */
    BJ_AS_WORD,     /* the text that a dictionary has for a number */
    BJ_AS_WORD_INT, /* the same, which is a number again */
    BJ_AS_SOURCE,   /* the name of an enum bj_source */
    /* of jobs only: texts that are made of several values */
    BJ_AS_KEY,
    BJ_AS_DISPLAY_ID,
    BJ_AS_PATH,
};

/* What people read: "13.8G" instead of a number of bytes. */
enum bj_value_unit {
    BJ_UNIT_NONE,
    BJ_UNIT_FREE, /* text that a table may cut */
    BJ_UNIT_SECONDS,
    BJ_UNIT_BYTES,
    BJ_UNIT_JOULES,
    BJ_UNIT_GRAMS,
    BJ_UNIT_PERCENT,
};

enum {
    BJ_JOB_COLUMNS = 112, /* at most */
    BJ_JOB_VALUES = 12    /* that a column is made of, at most */
};

/* When a list of jobs has it. */
enum bj_column_in {
    BJ_IN_LISTS,  /* unless a request names others */
    BJ_ON_REQUEST /* only where it is named, and of a single job */
};

struct bj_job_column {
    const char *name;
    const char *title; /* sacct's name where sacct has it, or one like it */
    enum bj_value_kind kind;
    enum bj_word word;
    enum bj_value_unit unit;
    enum bj_column_in in;
    /* NULL: the first value is it.  Else makes it of all of them; each of them,
     * and what is returned, may be BJ_SQL_NULL. */
    int64_t (*make)(const int64_t *value);
    /* Values in SQL over BJ_JOB_FROM, NULL after the last.  Equal texts are
     * one text, so that a query can have each of them once. */
    const char *sql[BJ_JOB_VALUES];
    const char *help;
};

/* The tables of those values: j, m and u; a query of no column that is derived
 * can do without BJ_JOB_FROM_USE. */
#define BJ_JOB_FROM "job AS j LEFT JOIN job_more AS m ON m.job = j.id"
#define BJ_JOB_FROM_USE " LEFT JOIN job_use AS u ON u.job = j.id"

/* Ends with name NULL. */
extern const struct bj_job_column bj_job_columns[];

/* The column with a name of the table; NULL: there is none. */
const struct bj_job_column *bj_job_column(struct bj_slice name);

/* The same for people: a name, else, in any case, a title, another name of
 * sacct's, or a name.  So "jobid" is the raw id, and "JobID" the display_id. */
const struct bj_job_column *bj_job_column_of_people(struct bj_slice name);

/* Is a value of it in the table of derived values? */
bool bj_job_column_is_derived(const struct bj_job_column *c);

/* Digits after the point of a number. */
unsigned bj_value_digits(enum bj_value_kind kind);

/* The JSON type of values: "string", "integer", "number", "boolean". */
const char *bj_value_type(enum bj_value_kind kind);

#endif

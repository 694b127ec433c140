/* Columns of rows that programs show: how SQL values become a value, its name
 * and its description.  The columns of a job are one table that batchjob_acct,
 * the API, its CSV and OpenAPI, and the pages read; docs/glossary.md explains
 * the names.  Other endpoints of the API have tables of their own. */
#ifndef BJ_STATSDB_JOB_JOB_COLUMN_H
#define BJ_STATSDB_JOB_JOB_COLUMN_H

#include "base/slice.h"
#include "statsdb/tables/word.h"

#include <stdbool.h>
#include <stdint.h>

/* How a number or text from SQL is converted to a value.  NULL is unknown. */
enum bj_value_kind {
    BJ_AS_INT,
    BJ_AS_TENTHS,   /* tenths of the unit */
    BJ_AS_MILLI,    /* thousandths of the unit */
    BJ_AS_PPM,      /* millionths, shown in percent */
    BJ_AS_MICRO,    /* millionths of the unit */
    BJ_AS_REAL,     /* a real number of SQL */
    BJ_AS_BOOL,     /* 0 is false */
    BJ_AS_LIMIT,    /* 2^63-1 is unlimited: null */
    BJ_AS_TIME,     /* seconds as ISO 8601 */
    BJ_AS_TIME_MS,  /* seconds as milliseconds */
    BJ_AS_LINK_END, /* seconds as milliseconds in text, "now" for NULL */
    /* from here on shown as texts: bj_job_is_text */
    BJ_AS_TEXT,     /* text as it is */
    BJ_AS_WORD,     /* the text in a dictionary for a number */
    BJ_AS_WORD_INT, /* the text in a dictionary, which is a number */
    BJ_AS_SOURCE,   /* the name of an enum bj_source */
    BJ_AS_MONTH,    /* months since the year 0, as 2026-11 */
    BJ_AS_DAY,      /* such a month, and its day: 2026-11-20 */
    BJ_AS_KEY,      /* cluster, jobid, submit: the key of a job */
};

/* The unit in output for people: "13.8 GiB" instead of a number of bytes. */
enum bj_value_unit {
    BJ_UNIT_NONE,
    BJ_UNIT_FREE, /* free text, which a table may truncate */
    BJ_UNIT_COUNT,
    BJ_UNIT_MONEY,
    BJ_UNIT_SECONDS,
    BJ_UNIT_BYTES,
    BJ_UNIT_JOULES,
    BJ_UNIT_GRAMS,
    BJ_UNIT_PERCENT,
};

/* The form in which web pages show a value. */
enum bj_form {
    BJ_SHOW_BY_KIND, /* the form of its kind and unit */
    BJ_SHOW_TEXT,
    BJ_SHOW_SENTENCE,    /* in full, over several lines */
    BJ_SHOW_STATE,       /* state of a job, or a severity */
    BJ_SHOW_GROUP,       /* a group of usage, as a link to its parts */
    BJ_SHOW_FACULTY,     /* faculty of an account; "others" if it has none */
    BJ_SHOW_APPLICATION, /* of jobs; "not recognised" if it is unknown */
    /* A link to the page of the job in the column "key"; with the job's name,
     * if the row has "name" and does not show it in a column of its own. */
    BJ_SHOW_JOB,
    BJ_SHOW_USER, /* links to lists of jobs */
    BJ_SHOW_ACCOUNT,
    BJ_SHOW_PARTITION,
    BJ_SHOW_CLUSTER,
    BJ_SHOW_NODES,    /* a list of nodes, with links to a few */
    BJ_SHOW_FINDINGS, /* names, as links to jobs with the same finding */
    BJ_SHOW_REASON,   /* reason for waiting, in words */
    BJ_SHOW_TIME,
    BJ_SHOW_NUMBER,    /* exact; the forms below are rounded (base/amount.h) */
    BJ_SHOW_SECONDS,   /* 1-02:03:04 */
    BJ_SHOW_BYTES,     /* 1.5 GiB */
    BJ_SHOW_PERCENT,   /* efficiency, with a meter: poor, fair, good */
    BJ_SHOW_MEMORY,    /* efficiency of memory, which may be almost full */
    BJ_SHOW_GPU,       /* efficiency of GPUs */
    BJ_SHOW_TIME_USED, /* part of the time limit, with a meter */
    BJ_SHOW_PART,      /* percent that is neither good nor poor */
    BJ_SHOW_KWH,       /* kWh as BJ_SHOW_JOULES, with the known part, from
                          "energy_coverage" */
    BJ_SHOW_JOULES,    /* in Wh or kWh */
    BJ_SHOW_GRAMS,     /* in g or kg */
    BJ_SHOW_MONEY,     /* with the currency, from "currency" */
    BJ_SHOW_ROUND      /* no unit */
};

enum {
    BJ_JOB_COLUMNS = 128, /* at most */
    BJ_JOB_VALUES = 18,   /* SQL values of a column, at most */
    BJ_COLUMN_NAME = 43
};

/* When a list of jobs contains a column. */
enum bj_column_in {
    BJ_IN_LISTS,  /* unless the request names other columns */
    BJ_ON_REQUEST /* only if the request names it, or for a single job */
};

struct bj_column {
    const char *name; /* plain ASCII, at most BJ_COLUMN_NAME bytes */
    /* the name in sacct, or a similar one if sacct lacks it */
    const char *title;
    enum bj_value_kind kind;
    enum bj_word word;
    enum bj_value_unit unit;
    enum bj_column_in in;
    /* Computes the column from its SQL values; NULL: the column is the first
     * value.  Values and result may be BJ_SQL_NULL. */
    int64_t (*make)(const int64_t *value);
    /* SQL expressions, of jobs over BJ_JOB_FROM; NULL after the last.  Columns
     * share expressions; a query contains each once.  None: the program makes
     * the value. */
    const char *sql[BJ_JOB_VALUES];
    const char *help;
    /* On web pages: its title, and how it is shown; NULL: no page has it. */
    const char *label;
    enum bj_form form;
};

/* The SQL values of a column, as one argument of a macro. */
#define BJ_VALUES(...)                                                         \
    {                                                                          \
        __VA_ARGS__                                                            \
    }

/* A row of a table of columns, which ends with name NULL: its SQL value, or
 * NULL; then the help, after which label, form and unit may follow. */
#define BJ_COLUMN(key, type, value, ...)                                       \
    {                                                                          \
        .name = key, .kind = BJ_AS_##type, .sql = {value}, .help = __VA_ARGS__ \
    }

/* Set ret to the names of a table; returns their number. */
unsigned bj_column_names(const struct bj_column *columns,
                         const char *ret[static BJ_JOB_COLUMNS]);

/* The tables of the expressions of jobs: j, m and u; only derived columns need
 * BJ_JOB_FROM_USE. */
#define BJ_JOB_FROM "job AS j LEFT JOIN job_more AS m ON m.job = j.id"
#define BJ_JOB_FROM_USE " LEFT JOIN job_use AS u ON u.job = j.id"

/* The table of columns, which ends with name NULL. */
extern const struct bj_column bj_job_columns[];

/* Find a column of a table by its name; NULL: there is none. */
const struct bj_column *bj_column_find(const struct bj_column *columns,
                                       struct bj_slice name);

/* Find a column of jobs by its name; NULL: there is none. */
const struct bj_column *bj_job_column(struct bj_slice name);

/* Find a column by a name that a user wrote: first its exact name; then,
 * ignoring case, its title, another name in sacct, or its name.  So "jobid" is
 * the jobid, and "JobID" the display_id. */
const struct bj_column *bj_job_column_of_people(struct bj_slice name);

/* Does the column use a value of the table of derived values? */
bool bj_job_column_is_derived(const struct bj_column *c);

/* The form in which web pages show a column: its own, or that of its kind and
 * unit. */
enum bj_form bj_column_form(const struct bj_column *c);

/* Digits after the decimal point of a number. */
unsigned bj_value_digits(enum bj_value_kind kind);

/* The JSON type of values: "string", "integer", "number", "boolean". */
const char *bj_value_type(enum bj_value_kind kind);

#endif

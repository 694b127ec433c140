/* Columns of the tables of steps, findings and factors. Those of jobs are in
 * statsdb/job/job_column.h. */
#ifndef BJ_APISERVER_FRAME_COLUMN_H
#define BJ_APISERVER_FRAME_COLUMN_H

#include "statsdb/job/job_column.h"

struct bj_api_column {
    const char *key;
    enum bj_value_kind kind;
    enum bj_word word;
    const char *sql;
    const char *help;
};

enum { BJ_API_COLUMNS = 96 }; /* maximum number */

#endif

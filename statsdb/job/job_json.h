/* Reads values of a job's columns from JSON that the API wrote. */
#ifndef BJ_STATSDB_JOB_JOB_JSON_H
#define BJ_STATSDB_JOB_JOB_JSON_H

#include "base/json.h"
#include "statsdb/job/job_read.h"

/* Read a value of that kind; v NULL, and null in JSON, is unknown.  Text points
 * into the document.  -EBADMSG: the value has another type. */
int bj_job_value_json(enum bj_value_kind kind, const struct bj_json *v,
                      struct bj_job_value *ret);

#endif

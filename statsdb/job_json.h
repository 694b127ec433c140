/* Values of a job's columns in JSON, as the API writes them. */
#ifndef BJ_STATSDB_JOB_JSON_H
#define BJ_STATSDB_JOB_JSON_H

#include "base/json.h"
#include "statsdb/job_read.h"

/* Read a value of that kind; NULL and null are unknown.  Text points into the
 * document.  -EBADMSG: it has another type. */
int bj_job_value_json(enum bj_value_kind kind, const struct bj_json *v,
                      struct bj_job_value *ret);

#endif

/* What every final record of a job on a node has (docs/records.md): the program
 * that writes records and the one that stores them agree on it. */
#ifndef BJ_SCHED_FINAL_RECORD_H
#define BJ_SCHED_FINAL_RECORD_H

#include "base/err.h"

struct bj_json;

enum { BJ_FINAL_FORMAT = 1 }; /* the field "format" */

/* Check a record: its format, and the fields without which no job can be found
 * for it: jobid, host, and end, a time in seconds.  name: of the record, for
 * messages.  -EINVAL. */
int bj_final_record_check(const struct bj_json *record, const char *name,
                          struct bj_err *err);

#endif

/* What every final record of a job on a node has (docs/records.md): the program
 * that writes records and the one that stores them agree on it. */
#ifndef BJ_SCHED_FINAL_RECORD_H
#define BJ_SCHED_FINAL_RECORD_H

#include "base/err.h"

#include <stdint.h>

struct bj_json;

enum { BJ_FINAL_FORMAT = 1 }; /* the field "format" */

/* Check a record: its format, and the fields without which no job can be found
 * for it: jobid, host, and end, a time in seconds.  name: of the record, for
 * messages.  -EINVAL. */
int bj_final_record_check(const struct bj_json *record, const char *name,
                          struct bj_err *err);

/* Limits of a record: its texts, and the names of its devices, GPUs and energy,
 * have at most 128 bytes (host: 255), each list at most 4096 entries; it ended
 * at most a day after now_sec, started at most a day after its end, and, if it
 * has a start after 1999, at most five years before now_sec.  -EINVAL with the
 * field. */
int bj_final_record_bounds(const struct bj_json *record, const char *name,
                           int64_t now_sec, struct bj_err *err);

#endif

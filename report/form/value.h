/* Values of batchjob_acct as text. */
#ifndef BJ_REPORT_FORM_VALUE_H
#define BJ_REPORT_FORM_VALUE_H

#include "base/buf.h"
#include "statsdb/job/job_column.h"
#include "statsdb/job/job_value.h"

/* Append a value for people: "1-02:03:04", "13.8G", "2.5kJ"; nothing if it is
 * unknown.  Text is cleaned.  Times are
 * in the reader's zone, which bj_acct_title() names. */
void bj_value_for_people(struct bj_buf *out, const struct bj_column *c,
                         const struct bj_job_value *v);

/* Parse a time as people write it: a date or a time stamp (in the
 * reader's zone unless it has one); an age: "7d", "12h"; "today" or "yesterday"
 * (midnight); or as in sacct: "now", "now-2hours".  -EINVAL: not a time. */
int bj_value_time(const char *text, int64_t now_sec, int64_t *ret_sec);

#endif

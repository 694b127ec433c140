/* Times as people write them in options. */
#ifndef BJ_REPORT_FORM_WHEN_H
#define BJ_REPORT_FORM_WHEN_H

#include <stdint.h>

/* Parse a date or a time stamp (in the reader's zone unless it has one); an
 * age: "7d", "12h"; "today" or "yesterday" (midnight); or as in sacct: "now",
 * "now-2hours".  -EINVAL: not a time. */
int bj_when_parse(const char *text, int64_t now_sec, int64_t *ret_sec);

#endif

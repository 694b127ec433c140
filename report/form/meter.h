/* A bar for a percentage. */
#ifndef BJ_REPORT_FORM_METER_H
#define BJ_REPORT_FORM_METER_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* Append a bar of 24 cells and a blank; for BJ_SQL_NULL as many blanks. */
void bj_meter(struct bj_buf *out, int64_t ppm, bool ascii);

#endif

/* Formats values for people; batchjob_acct and the pages show the same text.
 * Numbers are rounded half up. */
#ifndef BJ_REPORT_SHOW_H
#define BJ_REPORT_SHOW_H

#include "base/buf.h"

#include <stdint.h>

/* All print "-" for BJ_SQL_NULL. */
void bj_show_seconds(struct bj_buf *b, int64_t sec); /* 1-02:03:04 */
void bj_show_bytes(struct bj_buf *b, int64_t bytes); /* 1.5 GiB */
void bj_show_percent(struct bj_buf *b, int64_t ppm); /* 34.4 % */
void bj_show_energy(struct bj_buf *b, int64_t uj);   /* 1.5 kWh, 0.3 Wh */
void bj_show_grams(struct bj_buf *b, int64_t ug);    /* 12.0 g, 1.2 kg */
void bj_show_hours(struct bj_buf *b, int64_t usec);  /* 12.3: seconds / 3600 */
void bj_show_number(struct bj_buf *b, int64_t v);
void bj_show_time(struct bj_buf *b, int64_t sec, int offset_minutes);

/* Append money: 12.34 EUR; below 0.01 with up to six digits.  currency may be
 * empty. */
struct bj_slice;
void bj_show_money(struct bj_buf *b, int64_t micro, struct bj_slice currency);

/* Append a value of a figure, by its unit: "seconds", "bytes", "joules",
 * "grams", or a currency. */
void bj_show_unit(struct bj_buf *b, struct bj_slice unit, int64_t v);

/* Append such a value, escaped for HTML. */
void bj_show_unit_html(struct bj_buf *b, struct bj_slice unit, int64_t v);

#endif

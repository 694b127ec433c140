/* Formats stored values for people, in all forms; base/amount.h has the format
 * of numbers. */
#ifndef BJ_REPORT_MODEL_SHOW_H
#define BJ_REPORT_MODEL_SHOW_H

#include "base/buf.h"
#include "statsdb/derive/price.h"
#include "statsdb/job/job_column.h"
#include "statsdb/job/job_value.h"

#include <stdint.h>

/* Append a value with its unit; it has this many digits after the point, money
 * always six. */
void bj_show_value(struct bj_buf *b, enum bj_value_unit unit, int64_t v,
                   unsigned digits);

/* Append a value of a column as in tables: text cleaned, times with a T, in the
 * reader's zone; nothing if it is unknown. */
void bj_show_column(struct bj_buf *b, const struct bj_column *c,
                    const struct bj_job_value *v);

/* All others print "-" for BJ_SQL_NULL, and so does bj_show_value(). */
void bj_show_seconds(struct bj_buf *b, int64_t sec); /* 1-02:03:04 */
void bj_show_bytes(struct bj_buf *b, int64_t bytes); /* 1.5 GiB */
void bj_show_percent(struct bj_buf *b, int64_t ppm); /* 34.4 % */
void bj_show_energy(struct bj_buf *b, int64_t uj);   /* 1.5 kWh, 0.3 Wh */
void bj_show_grams(struct bj_buf *b, int64_t ug);    /* 12 g, 1.2 kg */
void bj_show_hours(struct bj_buf *b, int64_t usec);  /* 12.3: seconds / 3600 */
void bj_show_millionths(struct bj_buf *b, int64_t micro);  /* 1.5 */
void bj_show_gib_hours(struct bj_buf *b, int64_t mib_sec); /* 12.3 */
void bj_show_number(struct bj_buf *b, int64_t v);          /* exact: 12,890 */

/* Append a time in the reader's time zone, bj_tz_used(): 2026-11-20 15:04:05.
 * A form that shows times also appends the zone, once: "Times are those of the
 * time zone Europe/Paris." */
void bj_show_time(struct bj_buf *b, int64_t sec);
void bj_show_zone(struct bj_buf *b);

/* Append money: 1,012.34 EUR; below 0.01 with up to six digits.  currency may
 * be empty. */
void bj_show_money(struct bj_buf *b, int64_t micro, struct bj_slice currency);

/* Append the name of a GPU, as findings have it: "g002: GPU 3"; "GPU 3" if node
 * is empty.  index is the number on the node; if it is empty, gpu is the
 * number, or the whole id takes the place of "GPU 3". */
void bj_show_gpu(struct bj_buf *b, struct bj_slice node, struct bj_slice index,
                 struct bj_slice gpu);

/* Append a value of a figure, by its unit: "seconds", "bytes", "joules",
 * "grams", or a currency. */
void bj_show_unit(struct bj_buf *b, struct bj_slice unit, int64_t v);

/* Append such a value, escaped for HTML. */
void bj_show_unit_html(struct bj_buf *b, struct bj_slice unit, int64_t v);

/* Append the name of a finding: "Few CPUs busy" for cpu_very_low; that of a
 * rule of the site with blanks for underscores. */
void bj_show_finding(struct bj_buf *b, struct bj_slice name);
/* Append what was held and not used, of the known amounts: "61 GPU hours, 230
 * CPU hours, 37 EUR"; memory only where nothing else is.  cost: BJ_SQL_NULL,
 * not known. */
void bj_show_wasted(struct bj_buf *b, const struct bj_paid *wasted,
                    int64_t cost, struct bj_slice currency);

/* Append a sentence for HTML; options, such as --mem-per-cpu=3G, are of class
 * "option", so that no line ends within them. */
void bj_show_advice_html(struct bj_buf *b, struct bj_slice text);

#endif

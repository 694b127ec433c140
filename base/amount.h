/* Numbers for people; all forms use these, so that a value looks the same in
 * each: three significant digits without trailing zeros ("6.25", "37.5", "25"),
 * from 100 on whole numbers with separators of thousands ("12,890").  Numbers
 * for programs (JSON, CSV, metrics) are not formatted here.
 *
 * SQL has the same format for numbers in sentences: BJ_SQL_NUMBER
 * (statsdb/tables/fragment.h). */
#ifndef BJ_BASE_AMOUNT_H
#define BJ_BASE_AMOUNT_H

#include "base/buf.h"

enum bj_amount_unit {
    BJ_AMOUNT_PLAIN,         /* "12.5", "12,890" */
    BJ_AMOUNT_BYTES,         /* "512 B", "1.5 GiB" */
    BJ_AMOUNT_BYTES_PER_SEC, /* "1.5 MiB/s" */
    BJ_AMOUNT_PERCENT,       /* "37.5 %" */
    BJ_AMOUNT_WATTS,         /* "1.2 kW" */
    BJ_AMOUNT_PER_SEC,       /* "1.2 k/s" */
    BJ_AMOUNT_HOURS,         /* "12,890 h" */
    BJ_AMOUNT_JOULES,        /* as "0.3 Wh", "1,500 kWh" */
    BJ_AMOUNT_GRAMS,         /* "12 g", "1.5 kg" */
    BJ_AMOUNT_UNITS
};

/* Append v, which is finite, with its unit. */
void bj_amount(struct bj_buf *b, enum bj_amount_unit unit, double v);

/* Append a whole number, exact: "1,234,567". */
void bj_amount_whole(struct bj_buf *b, int64_t v);

/* The same in text, which is returned. */
enum { BJ_AMOUNT_COUNT = 32 };
const char *bj_amount_count(char text[BJ_AMOUNT_COUNT], int64_t v);

/* Append money, given in millionths, rounded to hundredths: "1,234.50"; less
 * than half of one exactly: "0.000012". */
void bj_amount_money(struct bj_buf *b, int64_t v);

/* Append a duration: "00:10:00", "1-02:03:04"; sec is not negative. */
void bj_amount_seconds(struct bj_buf *b, uint64_t sec);

#endif

#include "report/model/show.h"

#include "base/amount.h"
#include "base/html.h"
#include "base/local.h"
#include "base/stamp.h"
#include "base/tz.h"
#include "store/db.h"

#include <string.h>

/* Is the value known?  Appends a dash if not. */
static bool known(struct bj_buf *b, int64_t v)
{
    bj_buf_str(b, v == BJ_SQL_NULL ? "-" : "");
    return v != BJ_SQL_NULL;
}

/* Append a value, in parts of its unit. */
static void put(struct bj_buf *b, enum bj_amount_unit unit, int64_t v,
                double parts)
{
    if (known(b, v))
        bj_amount(b, unit, (double)v / parts);
}

void bj_show_seconds(struct bj_buf *b, int64_t sec)
{
    if (!known(b, sec))
        return;
    bj_buf_str(b, sec < 0 ? "-" : "");
    bj_amount_seconds(b, (uint64_t)(sec < 0 ? -sec : sec));
}

void bj_show_bytes(struct bj_buf *b, int64_t bytes)
{
    put(b, BJ_AMOUNT_BYTES, bytes, 1);
}

void bj_show_percent(struct bj_buf *b, int64_t ppm)
{
    put(b, BJ_AMOUNT_PERCENT, ppm, 1e4);
}

void bj_show_energy(struct bj_buf *b, int64_t uj)
{
    put(b, BJ_AMOUNT_JOULES, uj, 1e6);
}

void bj_show_grams(struct bj_buf *b, int64_t ug)
{
    put(b, BJ_AMOUNT_GRAMS, ug, 1e6);
}

void bj_show_hours(struct bj_buf *b, int64_t usec)
{
    put(b, BJ_AMOUNT_PLAIN, usec, 3.6e9);
}

void bj_show_millionths(struct bj_buf *b, int64_t micro)
{
    put(b, BJ_AMOUNT_PLAIN, micro, 1e6);
}

void bj_show_gib_hours(struct bj_buf *b, int64_t mib_sec)
{
    put(b, BJ_AMOUNT_PLAIN, mib_sec, 1024 * 3600.0);
}

void bj_show_number(struct bj_buf *b, int64_t v)
{
    if (known(b, v))
        bj_amount_whole(b, v);
}

void bj_show_time(struct bj_buf *b, int64_t sec)
{
    char stamp[BJ_STAMP_MAX];
    if (sec == BJ_SQL_NULL || sec > INT64_C(253402300799)) {
        bj_buf_str(b, "-");
        return;
    }
    bj_stamp_text(sec * 1000000, 0, bj_tz_offset(bj_tz_used(), sec) / 60,
                  stamp);
    bj_buf_printf(b, "%.10s %.8s", stamp, stamp + 11);
}

void bj_show_zone(struct bj_buf *b)
{
    const char *name = bj_tz_name(bj_tz_used());
    if (strcmp(name, "UTC") == 0)
        bj_local_str(b, "{Times are UTC.}");
    else
        bj_local_put(b, "{Times are those of the time zone %s.}", name);
}

void bj_show_money(struct bj_buf *b, int64_t micro, struct bj_slice currency)
{
    if (!known(b, micro))
        return;
    bj_amount_money(b, micro);
    bj_buf_str(b, currency.n > 0 ? " " : "");
    bj_buf_clean(b, currency);
}

void bj_show_gpu(struct bj_buf *b, struct bj_slice node, struct bj_slice index,
                 struct bj_slice gpu)
{
    bj_buf_clean(b, node);
    bj_buf_str(b, node.n > 0 ? ": " : "");
    uint64_t number;
    if (index.n > 0 || bj_slice_u64(gpu, &number) == 0)
        bj_local_str(b, "{GPU} ");
    bj_buf_clean(b, index.n > 0 ? index : gpu);
}

void bj_show_unit(struct bj_buf *b, struct bj_slice unit, int64_t v)
{
    if (bj_slice_eq(unit, BJ_SLICE("bytes")))
        bj_show_bytes(b, v);
    else if (bj_slice_eq(unit, BJ_SLICE("joules")))
        bj_show_energy(b, v);
    else if (bj_slice_eq(unit, BJ_SLICE("grams")))
        bj_show_grams(b, v);
    else if (!bj_slice_eq(unit, BJ_SLICE("seconds")))
        bj_show_money(b, v, unit);
    else
        bj_show_seconds(b, v == BJ_SQL_NULL || v < 0
                               ? v
                               : v / 1000000 + (v % 1000000 >= 500000));
}

void bj_show_unit_html(struct bj_buf *b, struct bj_slice unit, int64_t v)
{
    struct bj_buf text = {0};
    bj_show_unit(&text, unit, v);
    bj_html_text(b, (struct bj_slice){text.p, text.len});
    b->failed |= text.failed;
    bj_buf_free(&text);
}

void bj_show_advice_html(struct bj_buf *b, struct bj_slice text)
{
    while (text.n > 0) {
        size_t n = 0, end;
        while (n < text.n && text.p[n] != ' ')
            n++;
        for (end = n; end > 0 && strchr(".,:;)", text.p[end - 1]);)
            end--;
        const bool option = end > 1 && text.p[0] == '-';
        bj_buf_str(b, option ? "<span class=\"option\">" : "");
        bj_html_text(b, (struct bj_slice){text.p, end});
        bj_buf_str(b, option ? "</span>" : "");
        n += n < text.n;
        bj_html_text(b, (struct bj_slice){text.p + end, n - end});
        text = (struct bj_slice){text.p + n, text.n - n};
    }
}

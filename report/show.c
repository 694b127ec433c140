#include "report/show.h"

#include "base/html.h"
#include "base/stamp.h"
#include "store/db.h"

/* v / by, rounded half up. */
static uint64_t rounded(uint64_t v, uint64_t by)
{
    return v / by + (v % by >= by - by / 2);
}

/* Is the value known?  Appends a dash if not; for a negative value, appends the
 * sign and negates it. */
static bool known(struct bj_buf *b, int64_t *v)
{
    bj_buf_str(b, *v == BJ_SQL_NULL || *v < 0 ? "-" : "");
    if (*v < 0 && *v != BJ_SQL_NULL)
        *v = -*v;
    return *v != BJ_SQL_NULL;
}

static void put_tenths(struct bj_buf *b, uint64_t tenths, const char *unit)
{
    bj_buf_printf(b, "%llu.%u%s", (unsigned long long)(tenths / 10),
                  (unsigned)(tenths % 10), unit);
}

void bj_show_seconds(struct bj_buf *b, int64_t sec)
{
    if (!known(b, &sec))
        return;
    if (sec >= 86400)
        bj_buf_printf(b, "%lld-", (long long)(sec / 86400));
    bj_buf_printf(b, "%02d:%02d:%02d", (int)(sec / 3600 % 24),
                  (int)(sec / 60 % 60), (int)(sec % 60));
}

void bj_show_bytes(struct bj_buf *b, int64_t bytes)
{
    static const char *const units[] = {" KiB", " MiB", " GiB", " TiB", " PiB"};
    enum { UNITS = sizeof(units) / sizeof(units[0]) };
    unsigned u = 0;
    uint64_t scale = 1024;
    if (!known(b, &bytes))
        return;
    uint64_t v = (uint64_t)bytes;
    if (v < scale) {
        bj_buf_printf(b, "%u B", (unsigned)v);
        return;
    }
    while (u + 1 < UNITS && v / scale >= 1024) {
        scale *= 1024;
        u++;
    }
    put_tenths(b, v / scale * 10 + rounded(v % scale * 10, scale), units[u]);
}

void bj_show_percent(struct bj_buf *b, int64_t ppm)
{
    if (known(b, &ppm))
        put_tenths(b, rounded((uint64_t)ppm, 1000), " %");
}

/* Append a value in units of by millionths, or in thousands of such units. */
static void put_scaled(struct bj_buf *b, int64_t micro, uint64_t by,
                       const char *small, const char *large)
{
    if (!known(b, &micro))
        return;
    if ((uint64_t)micro / by >= 1000)
        put_tenths(b, rounded((uint64_t)micro, by * 100), large);
    else
        put_tenths(b, rounded((uint64_t)micro, by / 10), small);
}

void bj_show_energy(struct bj_buf *b, int64_t uj)
{
    put_scaled(b, uj, UINT64_C(3600000000), " Wh", " kWh");
}

void bj_show_grams(struct bj_buf *b, int64_t ug)
{
    put_scaled(b, ug, 1000000, " g", " kg");
}

void bj_show_hours(struct bj_buf *b, int64_t usec)
{
    if (known(b, &usec))
        put_tenths(b, rounded((uint64_t)usec, 360000000), "");
}

void bj_show_number(struct bj_buf *b, int64_t v)
{
    if (known(b, &v))
        bj_buf_u64(b, (uint64_t)v);
}

void bj_show_time(struct bj_buf *b, int64_t sec, int offset_minutes)
{
    char stamp[BJ_STAMP_MAX];
    if (sec == BJ_SQL_NULL || sec > INT64_C(253402300799)) {
        bj_buf_str(b, "-");
        return;
    }
    bj_stamp_text(sec * 1000000, 0, offset_minutes, stamp);
    bj_buf_printf(b, "%.10s %.8s", stamp, stamp + 11);
}

void bj_show_money(struct bj_buf *b, int64_t micro, struct bj_slice currency)
{
    if (!known(b, &micro))
        return;
    const uint64_t cents = rounded((uint64_t)micro, 10000);
    if (micro > 0 && cents == 0)
        bj_buf_fixed(b, (uint64_t)micro, 6);
    else
        bj_buf_printf(b, "%llu.%02u", (unsigned long long)(cents / 100),
                      (unsigned)(cents % 100));
    bj_buf_str(b, currency.n > 0 ? " " : "");
    bj_buf_clean(b, currency);
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
                               : (int64_t)rounded((uint64_t)v, 1000000));
}

void bj_show_unit_html(struct bj_buf *b, struct bj_slice unit, int64_t v)
{
    struct bj_buf text = {0};
    bj_show_unit(&text, unit, v);
    bj_html_text(b, (struct bj_slice){text.p, text.len});
    b->failed |= text.failed;
    bj_buf_free(&text);
}

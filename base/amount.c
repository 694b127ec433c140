#include "base/amount.h"

#include <stdio.h>
#include <string.h>

/* Append digits with a comma before each three of them. */
static void put_grouped(struct bj_buf *b, const char *digits)
{
    const size_t n = strlen(digits);
    for (size_t i = 0; i < n; i++) {
        bj_buf_str(b, i > 0 && (n - i) % 3 == 0 ? "," : "");
        bj_buf_put(b, digits + i, 1);
    }
}

const char *bj_amount_count(char text[BJ_AMOUNT_COUNT], int64_t v)
{
    char digits[24], *to = text;
    const int n =
        snprintf(digits, sizeof(digits), "%llu",
                 (unsigned long long)(v < 0 ? ~(uint64_t)v + 1 : (uint64_t)v));
    if (v < 0)
        *to++ = '-';
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return text;
}

void bj_amount_whole(struct bj_buf *b, int64_t v)
{
    char text[BJ_AMOUNT_COUNT];
    bj_buf_str(b, bj_amount_count(text, v));
}

void bj_amount_money(struct bj_buf *b, int64_t v)
{
    const uint64_t micro = v < 0 ? ~(uint64_t)v + 1 : (uint64_t)v;
    const uint64_t cents = micro / 10000 + (micro % 10000 >= 5000);
    bj_buf_str(b, v < 0 ? "-" : "");
    if (micro > 0 && cents == 0) {
        bj_buf_fixed(b, micro, 6);
        return;
    }
    bj_amount_whole(b, (int64_t)(cents / 100));
    bj_buf_printf(b, ".%02u", (unsigned)(cents % 100));
}

void bj_amount_seconds(struct bj_buf *b, uint64_t sec)
{
    if (sec >= 86400)
        bj_buf_printf(b, "%llu-", (unsigned long long)(sec / 86400));
    bj_buf_printf(b, "%02u:%02u:%02u", (unsigned)(sec / 3600 % 24),
                  (unsigned)(sec / 60 % 60), (unsigned)(sec % 60));
}

/* Append a number that is not negative. */
static void amount_put_number(struct bj_buf *b, double v)
{
    char text[32];
    int digits = 2; /* after the point */
    if (v >= 1e18) {
        bj_buf_printf(b, "%.3g", v);
        return;
    }
    if (v >= 99.95) {
        snprintf(text, sizeof(text), "%.0f", v);
        put_grouped(b, text);
        return;
    }
    for (double limit = 9.995; limit < v && digits > 1; limit *= 10)
        digits--;
    for (double limit = 0.9995; limit > v && digits < 9; limit /= 10)
        digits++;
    snprintf(text, sizeof(text), "%.*f", digits, v);
    size_t n = strlen(text);
    while (text[n - 1] == '0')
        n--;
    bj_buf_put(b, text, text[n - 1] == '.' ? n - 1 : n);
}

static const struct {
    const char *const *name; /* the smallest first */
    double by;               /* from one to the next */
    double first;            /* the smallest, in units of the value */
} units[BJ_AMOUNT_UNITS] = {
    [BJ_AMOUNT_PLAIN] = {(const char *const[]){"", NULL}, 1, 1},
    [BJ_AMOUNT_BYTES] = {(const char *const[]){" B", " KiB", " MiB", " GiB",
                                               " TiB", " PiB", NULL},
                         1024, 1},
    [BJ_AMOUNT_BYTES_PER_SEC] = {(const char *const[]){
                                     " B/s", " KiB/s", " MiB/s", " GiB/s",
                                     " TiB/s", " PiB/s", NULL},
                                 1024, 1},
    [BJ_AMOUNT_PERCENT] = {(const char *const[]){" %", NULL}, 1, 1},
    [BJ_AMOUNT_WATTS] = {(const char *const[]){" W", " kW", " MW", NULL}, 1000,
                         1},
    [BJ_AMOUNT_PER_SEC] = {(const char *const[]){"/s", "k/s", "M/s", NULL},
                           1000, 1},
    [BJ_AMOUNT_HOURS] = {(const char *const[]){" h", NULL}, 1, 1},
    [BJ_AMOUNT_JOULES] = {(const char *const[]){" Wh", " kWh", NULL}, 1000,
                          3600},
    [BJ_AMOUNT_GRAMS] = {(const char *const[]){" g", " kg", NULL}, 1000, 1}};

void bj_amount(struct bj_buf *b, enum bj_amount_unit unit, double v)
{
    const char *const *name = units[unit].name;
    const double by = units[unit].by;
    bj_buf_str(b, v < 0 ? "-" : "");
    v = (v < 0 ? -v : v) / units[unit].first;
    for (; name[1] && v >= by - 0.5; name++)
        v /= by;
    amount_put_number(b, v);
    bj_buf_str(b, *name);
}

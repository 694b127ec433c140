#include "base/log.h"

#include "base/clock.h"
#include "base/digits.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES = 3584, TEXT_BYTES = 1024, FRAME_BYTES = 512 };

static const char *const level_names[] = {
    [BJ_LOG_ERROR] = "error",
    [BJ_LOG_WARN] = "warn",
    [BJ_LOG_INFO] = "info",
    [BJ_LOG_DEBUG] = "debug",
};

/* A format: the text around the values. */
static const struct style {
    const char *name, *ts, *level, *msg, *err;
    const char *before, *behind; /* around a field's key */
    const char *end;
} styles[] = {
    [BJ_LOG_LOGFMT] = {"logfmt", "ts=", " level=", " msg=\"", "\" err=\"", " ",
                       "=", "\n"},
    [BJ_LOG_JSON] = {"json", "{\"ts\":\"", "\",\"level\":\"", "\",\"msg\":\"",
                     "\",\"err\":\"", ",\"", "\":", "}\n"},
};

/* Set by main; atomic. */
static struct {
    enum bj_log_level level;
    enum bj_log_format format;
} setup = {BJ_LOG_INFO, BJ_LOG_LOGFMT};

/* A line being made; long values are cut, the end always fits. */
struct line {
    size_t n;
    char p[LINE_BYTES];
};

static bool put_within(struct line *l, const char *p, size_t n, size_t max)
{
    if (l->n > max || n > max - l->n)
        return false;
    memcpy(l->p + l->n, p, n);
    l->n += n;
    return true;
}

/* A part of a value; leaves room for the text after it. */
static bool log_put(struct line *l, const char *p, size_t n)
{
    return put_within(l, p, n, sizeof(l->p) - FRAME_BYTES);
}

/* Text between values. */
static void put_str(struct line *l, const char *s)
{
    put_within(l, s, strlen(s), sizeof(l->p) - 8);
}

/* A quoted value.  Both formats have these escapes. */
static void log_put_value(struct line *l, const char *s)
{
    char clean[TEXT_BYTES];
    bool room = true;
    struct bj_slice rest = bj_slice_str(s);
    while (rest.n > 0 && room) {
        unsigned char c = (unsigned char)rest.p[0];
        char esc[8] = {'\\', (char)c};
        size_t n = 0;
        while (n < rest.n && (unsigned char)rest.p[n] >= 0x20 &&
               rest.p[n] != '"' && rest.p[n] != '\\' && rest.p[n] != 0x7f)
            n++;
        if (n > 0) {
            struct bj_slice run = {rest.p, n};
            room = log_put(l, clean, bj_text_clean(run, clean, sizeof(clean)));
        } else {
            n = 1;
            if (c == '\n' || c == '\t')
                esc[1] = c == '\n' ? 'n' : 't';
            else if (c != '"' && c != '\\')
                snprintf(esc, sizeof(esc), "\\u%04x", c);
            room = log_put(l, esc, strlen(esc));
        }
        rest.p += n;
        rest.n -= n;
    }
}

/* A number of n digits, at most 8, and the text after it. */
static void put_digits(struct line *l, size_t n, int v, const char *behind)
{
    char text[8];
    for (size_t i = n; i-- > 0; v /= 10)
        text[i] = (char)('0' + v % 10);
    log_put(l, text, n);
    put_str(l, behind);
}

/* RFC 3339 in UTC with milliseconds. */
static void log_put_time(struct line *l)
{
    uint64_t now = bj_clock_wall_usec();
    time_t sec = (time_t)(now / 1000000);
    struct tm tm;
    if (!gmtime_r(&sec, &tm))
        return;
    put_digits(l, 4, tm.tm_year + 1900, "-");
    put_digits(l, 2, tm.tm_mon + 1, "-");
    put_digits(l, 2, tm.tm_mday, "T");
    put_digits(l, 2, tm.tm_hour, ":");
    put_digits(l, 2, tm.tm_min, ":");
    put_digits(l, 2, tm.tm_sec, ".");
    put_digits(l, 3, (int)(now / 1000 % 1000), "Z");
}

bool bj_log_wants(enum bj_log_level level)
{
    return level <= __atomic_load_n(&setup.level, __ATOMIC_RELAXED);
}

static const struct style *style_now(void)
{
    return &styles[__atomic_load_n(&setup.format, __ATOMIC_RELAXED)];
}

void bj_log_setup(enum bj_log_level level, enum bj_log_format format)
{
    __atomic_store_n(&setup.level, level, __ATOMIC_RELAXED);
    __atomic_store_n(&setup.format, format, __ATOMIC_RELAXED);
}

/* Up to the message; its quote is still open. */
static void log_begin(struct line *l, const struct style *style,
                      enum bj_log_level level, const char *text)
{
    put_str(l, style->ts);
    log_put_time(l);
    put_str(l, style->level);
    put_str(l, level_names[level]);
    put_str(l, style->msg);
    log_put_value(l, text);
}

/* One write keeps lines of several threads apart; a failure can't be reported.
 */
static void log_end(struct line *l, const struct style *style)
{
    const char *text = style->end;
    size_t n = strlen(text);
    memcpy(l->p + l->n, text, n);
    if (write(STDERR_FILENO, l->p, l->n + n) < 0)
        return;
}

void bj_log(enum bj_log_level level, const struct bj_err *err, const char *fmt,
            ...)
{
    if (!bj_log_wants(level))
        return;
    char text[TEXT_BYTES];
    const struct style *style = style_now();
    struct line l;
    va_list ap;
    l.n = 0;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    log_begin(&l, style, level, text);
    if (err) {
        put_str(&l, style->err);
        log_put_value(&l, bj_err_text(err, text, sizeof(text)));
    }
    put_str(&l, "\"");
    log_end(&l, style);
}

void bj_log_event(enum bj_log_level level, const char *msg,
                  const struct bj_log_field *fields)
{
    if (!bj_log_wants(level))
        return;
    const struct style *style = style_now();
    struct line l;
    char number[BJ_DIGITS_ROOM];
    l.n = 0;
    log_begin(&l, style, level, msg);
    put_str(&l, "\"");
    for (const struct bj_log_field *f = fields; f->key; f++) {
        put_str(&l, style->before);
        put_str(&l, f->key);
        put_str(&l, style->behind);
        if (!f->text) {
            char *behind = bj_digits_u64(number, f->number);
            log_put(&l, number, (size_t)(behind - number));
            continue;
        }
        put_str(&l, "\"");
        log_put_value(&l, f->text);
        put_str(&l, "\"");
    }
    log_end(&l, style);
}

int bj_log_level_parse(const char *s, enum bj_log_level *ret)
{
    for (size_t i = 0; i < sizeof(level_names) / sizeof(level_names[0]); i++)
        if (strcasecmp(s, level_names[i]) == 0) {
            *ret = (enum bj_log_level)i;
            return 0;
        }
    if (strcasecmp(s, "warning") != 0)
        return -EINVAL;
    *ret = BJ_LOG_WARN;
    return 0;
}

int bj_log_format_parse(const char *s, enum bj_log_format *ret)
{
    for (size_t i = 0; i < sizeof(styles) / sizeof(styles[0]); i++)
        if (strcasecmp(s, styles[i].name) == 0) {
            *ret = (enum bj_log_format)i;
            return 0;
        }
    return -EINVAL;
}

#include "base/tz.h"

#include "base/file.h"
#include "base/stamp.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    DAY = 86400,
    FIRST_YEAR = 1970,
    LAST_YEAR = 2199,
    FILE_BYTES = 256 << 10,
    TIMES = 2048, /* most changes of the offset in a file */
    SHORT = 10,   /* longest abbreviation and its terminator */
    MOST = 26 * 3600,
};

/* The local time from start until the start of the next one. */
struct span {
    int64_t start;
    int offset; /* seconds east of UTC */
    char abbreviation[SHORT];
};

struct bj_tz {
    char name[BJ_TZ_NAME];
    size_t n; /* at least 1; the first span also holds before its start */
    const struct span *span;
};

static const struct span utc_span = {INT64_MIN, 0, "UTC"};
static const struct bj_tz utc = {"UTC", 1, &utc_span};

const struct bj_tz *const bj_tz_utc = &utc;

static _Thread_local const struct bj_tz *used;

void bj_tz_use(const struct bj_tz *z)
{
    used = z;
}

const struct bj_tz *bj_tz_used(void)
{
    return used ? used : bj_tz_utc;
}

/* --- local time ------------------------------------------------------------
 */

const char *bj_tz_name(const struct bj_tz *z)
{
    return z->name;
}

/* The index of the span that contains a time. */
static size_t tz_find(const struct bj_tz *z, int64_t sec)
{
    size_t from = 0, to = z->n;
    while (to - from > 1) {
        const size_t at = from + (to - from) / 2;
        if (z->span[at].start <= sec)
            from = at;
        else
            to = at;
    }
    return from;
}

int bj_tz_offset(const struct bj_tz *z, int64_t sec)
{
    return z->span[tz_find(z, sec)].offset;
}

const char *bj_tz_short(const struct bj_tz *z, int64_t sec)
{
    return z->span[tz_find(z, sec)].abbreviation;
}

int64_t bj_tz_sec(const struct bj_tz *z, int64_t local_sec)
{
    size_t i = tz_find(z, local_sec - MOST);
    for (; i + 1 < z->n; i++) {
        const int64_t at = local_sec - z->span[i].offset;
        if (at < z->span[i + 1].start)
            return i > 0 && at < z->span[i].start ? z->span[i].start : at;
    }
    const int64_t at = local_sec - z->span[i].offset;
    return i > 0 && at < z->span[i].start ? z->span[i].start : at;
}

int64_t bj_tz_midnight(const struct bj_tz *z, int64_t day)
{
    return bj_tz_sec(z, day * DAY);
}

int64_t bj_tz_day(const struct bj_tz *z, int64_t sec)
{
    const int64_t local = sec + bj_tz_offset(z, sec);
    int64_t day = local / DAY - (local % DAY < 0);
    /* Clocks that are set back to before midnight show the former day again. */
    while (bj_tz_midnight(z, day + 1) <= sec)
        day++;
    return day;
}

/* --- rules of POSIX --------------------------------------------------------
 */

/* A day of the year, and the local time at which the offset changes. */
struct when {
    char kind; /* 'M': month, week, weekday; 'J': 1 to 365; 'D': 0 to 365 */
    int month, week, day;
    int sec;
};

struct rule {
    struct span time[2]; /* standard and daylight-saving time */
    bool changes;
    struct when from, until; /* of daylight-saving time */
};

static bool tz_take(struct bj_slice *s, char c)
{
    if (s->n == 0 || s->p[0] != c)
        return false;
    *s = (struct bj_slice){s->p + 1, s->n - 1};
    return true;
}

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool tz_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "CET" or "<+0330>". */
static bool read_short(struct bj_slice *s, char ret[SHORT])
{
    const bool quoted = tz_take(s, '<');
    size_t n = 0;
    while (n < s->n && (is_letter(s->p[n]) ||
                        (quoted && (tz_is_digit(s->p[n]) || s->p[n] == '+' ||
                                    s->p[n] == '-'))))
        n++;
    if (n < 3 || n >= SHORT)
        return false;
    memcpy(ret, s->p, n);
    ret[n] = '\0';
    *s = (struct bj_slice){s->p + n, s->n - n};
    return !quoted || tz_take(s, '>');
}

static bool read_int(struct bj_slice *s, unsigned most, int *ret)
{
    uint64_t v;
    if (s->n == 0 || !tz_is_digit(s->p[0]) || !bj_slice_number(s, &v) ||
        v > most)
        return false;
    *ret = (int)v;
    return true;
}

/* "-1", "5:30", "+167:59:59", in seconds. */
static bool read_clock(struct bj_slice *s, int *ret)
{
    int part[3] = {0, 0, 0};
    const bool minus = tz_take(s, '-');
    if (!minus)
        tz_take(s, '+');
    if (!read_int(s, 167, &part[0]))
        return false;
    for (int i = 1; i < 3 && tz_take(s, ':'); i++)
        if (!read_int(s, 59, &part[i]))
            return false;
    *ret = part[0] * 3600 + part[1] * 60 + part[2];
    *ret = minus ? -*ret : *ret;
    return true;
}

/* ",M3.5.0/2", ",J60" or ",59/0". */
static bool read_when(struct bj_slice *s, struct when *w)
{
    *w = (struct when){.kind = 'D', .sec = 2 * 3600};
    if (!tz_take(s, ','))
        return false;
    bool ok;
    if (tz_take(s, 'M')) {
        w->kind = 'M';
        ok = read_int(s, 12, &w->month) && w->month > 0 && tz_take(s, '.') &&
             read_int(s, 5, &w->week) && w->week > 0 && tz_take(s, '.') &&
             read_int(s, 6, &w->day);
    } else if (tz_take(s, 'J')) {
        w->kind = 'J';
        ok = read_int(s, 365, &w->day) && w->day > 0;
    } else {
        ok = read_int(s, 365, &w->day);
    }
    return ok && (!tz_take(s, '/') || read_clock(s, &w->sec));
}

static bool read_rule(struct bj_slice s, struct rule *r)
{
    int west;
    *r = (struct rule){.changes = false};
    if (!read_short(&s, r->time[0].abbreviation) || !read_clock(&s, &west) ||
        west < -MOST || west > MOST)
        return false;
    r->time[0].offset = -west;
    if (s.n == 0)
        return true;
    r->changes = true;
    if (!read_short(&s, r->time[1].abbreviation))
        return false;
    west -= 3600;
    if (s.n > 0 && s.p[0] != ',' && !read_clock(&s, &west))
        return false;
    r->time[1].offset = -west;
    return west >= -MOST && west <= MOST && read_when(&s, &r->from) &&
           read_when(&s, &r->until) && s.n == 0;
}

/* The local time of a change in a year, in seconds as if it were UTC. */
static int64_t local_of(const struct when *w, int year)
{
    const int64_t first = bj_days_from_civil(year, 1, 1);
    if (w->kind == 'D')
        return (first + w->day) * DAY + w->sec;
    if (w->kind == 'J') /* does not count February 29 */
        return (first + w->day - 1 +
                (w->day > 59 && bj_days_of_month(year, 2) == 29)) *
                   DAY +
               w->sec;
    const unsigned month = (unsigned)w->month;
    const int64_t of_month = bj_days_from_civil(year, month, 1);
    const int weekday = (int)((of_month + 4 + 7000000) % 7); /* 0: Sunday */
    int day = (w->day - weekday + 7) % 7 + (w->week - 1) * 7;
    while (day >= (int)bj_days_of_month(year, month))
        day -= 7;
    return (of_month + day) * DAY + w->sec;
}

/* --- building a zone -------------------------------------------------------
 */

enum { SPANS = TIMES + 1 + 2 * (LAST_YEAR - FIRST_YEAR + 1) };

/* The spans of a zone that is being built follow it in memory. */
static struct span *room_of(struct bj_tz *z)
{
    return (struct span *)(void *)(z + 1);
}

static void tz_add(struct bj_tz *z, int64_t start, const struct span *time)
{
    if (z->n == SPANS || (z->n > 0 && start < z->span[z->n - 1].start))
        return;
    struct span *one = room_of(z) + z->n++;
    *one = *time;
    one->start = start;
}

/* Add the changes by a rule after a time. */
static void add_rule(struct bj_tz *z, const struct rule *r, int64_t after)
{
    if (z->n == 0)
        tz_add(z, INT64_MIN, &r->time[0]);
    for (int year = FIRST_YEAR; r->changes && year <= LAST_YEAR; year++) {
        const int64_t on = local_of(&r->from, year) - r->time[0].offset;
        const int64_t off = local_of(&r->until, year) - r->time[1].offset;
        const int first = off < on; /* southern summers contain new year */
        for (int i = 0; i < 2; i++) {
            const int64_t at = i == first ? on : off;
            if (at > after)
                tz_add(z, at, &r->time[i == first]);
        }
    }
}

/* --- TZif ------------------------------------------------------------------
 */

static uint32_t be32(const char *p)
{
    const unsigned char *b = (const unsigned char *)p;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 |
           b[3];
}

static int64_t be64(const char *p)
{
    return (int64_t)((uint64_t)be32(p) << 32 | be32(p + 4));
}

enum { HEADER = 44, UTS = 0, STDS, LEAPS, COUNT_TIMES, TYPES, CHARS, COUNTS };

/* Read a header: the counts, and the bytes of the data after it. */
static bool read_header(struct bj_slice s, unsigned time_bytes,
                        uint32_t count[COUNTS], size_t *ret_bytes)
{
    if (s.n < HEADER || memcmp(s.p, "TZif", 4) != 0)
        return false;
    for (int i = 0; i < COUNTS; i++) {
        count[i] = be32(s.p + 20 + (size_t)i * 4);
        if (count[i] > TIMES)
            return false;
    }
    *ret_bytes = (size_t)count[COUNT_TIMES] * (time_bytes + 1) +
                 (size_t)count[TYPES] * 6 + count[CHARS] +
                 (size_t)count[LEAPS] * (time_bytes + 4) + count[STDS] +
                 count[UTS];
    return s.n - HEADER >= *ret_bytes;
}

/* Read a type: offset and abbreviation. */
static bool read_type(const char *types, const uint32_t count[COUNTS],
                      unsigned which, struct span *ret)
{
    if (which >= count[TYPES])
        return false;
    const char *chars = types + (size_t)count[TYPES] * 6;
    const unsigned at = (unsigned char)types[which * 6 + 5];
    *ret = (struct span){.offset = (int)be32(types + (size_t)which * 6)};
    if (ret->offset < -MOST || ret->offset > MOST || at >= count[CHARS])
        return false;
    const size_t n = strnlen(chars + at, count[CHARS] - at);
    for (size_t i = 0; i < n; i++)
        if (chars[at + i] <= ' ' || chars[at + i] > '~')
            return false;
    if (n == 0 || n >= SHORT)
        return false;
    memcpy(ret->abbreviation, chars + at, n);
    return true;
}

/* Read the second part of a file, which has times of 64 bits. */
static bool read_data(struct bj_slice s, struct bj_tz *z)
{
    uint32_t count[COUNTS];
    size_t bytes;
    struct span one;
    struct rule rule;
    if (!read_header(s, 8, count, &bytes) || count[LEAPS] > 0)
        return false;
    const char *times = s.p + HEADER;
    const char *which = times + (size_t)count[COUNT_TIMES] * 8;
    const char *types = which + count[COUNT_TIMES];
    if (!read_type(types, count, 0, &one))
        return false;
    tz_add(z, INT64_MIN, &one);
    for (uint32_t i = 0; i < count[COUNT_TIMES]; i++) {
        if (!read_type(types, count, (unsigned char)which[i], &one))
            return false;
        tz_add(z, be64(times + (size_t)i * 8), &one);
    }
    struct bj_slice rest = {s.p + HEADER + bytes, s.n - HEADER - bytes}, line;
    if (!tz_take(&rest, '\n') || rest.n == 0 || rest.p[rest.n - 1] != '\n' ||
        !bj_slice_line(&rest, &line))
        return false;
    if (line.n == 0)
        return true;
    if (!read_rule(line, &rule))
        return false;
    add_rule(z, &rule, z->span[z->n - 1].start);
    return true;
}

/* -EBADMSG: damaged; -EINVAL: it counts leap seconds, or has no times of 64
 * bits. */
static int tz_read_file(struct bj_slice s, struct bj_tz *z)
{
    uint32_t count[COUNTS];
    size_t bytes;
    if (!read_header(s, 4, count, &bytes))
        return -EBADMSG;
    if (s.p[4] < '2' || count[LEAPS] > 0)
        return -EINVAL;
    return read_data(
               (struct bj_slice){s.p + HEADER + bytes, s.n - HEADER - bytes}, z)
               ? 0
               : -EBADMSG;
}

/* --- names -----------------------------------------------------------------
 */

/* Can the name be that of a file of the database? */
static bool tz_is_name(struct bj_slice s)
{
    if (s.n == 0 || s.n >= BJ_TZ_NAME || s.p[0] == '/' || s.p[0] == '.')
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (!is_letter(s.p[i]) && !tz_is_digit(s.p[i]) &&
            !strchr("+-_/", s.p[i]))
            return false;
    return true;
}

static int load_file(const char *name, struct bj_tz *z, struct bj_err *err)
{
    const char *dir = getenv("TZDIR");
    char path[PATH_MAX];
    struct bj_slice text;
    snprintf(path, sizeof(path), "%s/%s",
             dir && dir[0] ? dir : "/usr/share/zoneinfo", name);
    char *buf = malloc(FILE_BYTES);
    if (!buf)
        return bj_err_set(err, -ENOMEM, "time zone");
    int r = bj_file_read_all(AT_FDCWD, path, buf, FILE_BYTES, &text, NULL);
    if (r < 0)
        r = bj_err_set(err, r == -EISDIR || r == -ENOTDIR ? -ENOENT : r,
                       "'%s' is not a time zone of this machine, such as "
                       "Europe/Paris (%s)",
                       name, path);
    else if ((r = tz_read_file(text, z)) < 0)
        r = bj_err_set(err, r,
                       r == -EINVAL
                           ? "%s: counts leap seconds, or is too old a format"
                           : "%s: not a file of a time zone",
                       path);
    free(buf);
    return r;
}

int bj_tz_load(const char *name, struct bj_tz **ret, struct bj_err *err)
{
    const struct bj_slice s = bj_slice_str(name);
    struct rule rule;
    *ret = NULL;
    struct bj_tz *z = calloc(1, sizeof(*z) + SPANS * sizeof(z->span[0]));
    if (!z)
        return bj_err_set(err, -ENOMEM, "time zone");
    z->span = room_of(z);
    snprintf(z->name, sizeof(z->name), "%s", name ? name : "");
    int r = 0;
    if (bj_slice_eq(s, BJ_SLICE("UTC")))
        tz_add(z, INT64_MIN, &utc_span);
    else if (s.n < BJ_TZ_NAME && read_rule(s, &rule))
        add_rule(z, &rule, INT64_MIN);
    else if (tz_is_name(s))
        r = load_file(name, z, err);
    else
        r = bj_err_set(err, -EINVAL,
                       "'%.60s' is not a time zone, such as Europe/Paris",
                       name ? name : "");
    if (r < 0) {
        free(z);
        return r;
    }
    /* most of the room is not needed */
    struct bj_tz *less = realloc(z, sizeof(*z) + z->n * sizeof(z->span[0]));
    *ret = less ? less : z;
    (*ret)->span = room_of(*ret);
    return 0;
}

void bj_tz_free(struct bj_tz *z)
{
    if (z && z == used)
        used = NULL;
    free(z);
}

void bj_tz_of_machine(char ret[static BJ_TZ_NAME])
{
    static const char database[] = "zoneinfo/";
    char link[PATH_MAX] = "";
    const char *name = getenv("TZ");
    if (name && name[0] == ':')
        name++;
    if (!name) {
        ssize_t n = readlink("/etc/localtime", link, sizeof(link) - 1);
        link[n > 0 ? n : 0] = '\0';
        name = strstr(link, database);
        name = name ? name + sizeof(database) - 1 : "";
    }
    struct bj_tz *z = NULL;
    const bool known = bj_tz_load(name, &z, NULL) == 0;
    const bool utc_only = known && z->n == 1 && z->span[0].offset == 0 &&
                          strcmp(z->span[0].abbreviation, "UTC") == 0;
    snprintf(ret, BJ_TZ_NAME, "%s", known && !utc_only ? z->name : "UTC");
    bj_tz_free(z);
}

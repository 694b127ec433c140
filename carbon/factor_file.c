#include "carbon/factor_file.h"

#include "base/stamp.h"
#include "base/text.h"
#include "carbon/table.h"

/* The fields of a row, in both formats. */
enum { ZONE, KIND, GRAMS, START, END, YEAR, ESTIMATED, FIELDS };

static const struct bj_slice names[FIELDS] = {
    [ZONE] = {"zone", 4},
    [KIND] = {"kind", 4},
    [GRAMS] = {"g_per_kwh", 9},
    [START] = {"start", 5},
    [END] = {"end", 3},
    [YEAR] = {"year", 4},
    [ESTIMATED] = {"estimated", 9},
};

enum { YEAR_SEC_MAX = 366 * 86400, NONE = -1 };

/* A file being read. */
struct reader {
    const char *name;
    size_t line; /* for messages */
    const struct bj_factor_rows *want;
    const struct bj_country *country; /* that want->zone names; or NULL */
    struct bj_points points;
    struct bj_err *err;
};

static int factor_file_bad(const struct reader *d, int code, const char *what,
                           struct bj_slice got, const char *expected)
{
    char text[64];
    bj_text_clean(got, text, sizeof(text));
    return bj_err_say(d->err, code, "%s:%zu: %s%s'%s': %s", d->name, d->line,
                      what, *what ? ": " : "", text, expected);
}

static int find_field(struct bj_slice name)
{
    for (int i = 0; i < FIELDS; i++)
        if (bj_slice_eq(name, names[i]))
            return i;
    return NONE;
}

/* --- one row --------------------------------------------------------------*/

static bool is_ours(const struct reader *d, struct bj_slice zone)
{
    if (bj_slice_eq(zone, bj_slice_str(d->want->zone)))
        return true;
    return d->country && bj_carbon_country(zone) == d->country;
}

static int read_stamp(const struct reader *d, struct bj_slice s,
                      const char *what, uint64_t *ret)
{
    int64_t sec;
    if (bj_stamp_sec(s, BJ_STAMP_ZONED, &sec) < 0 || sec < 0)
        return factor_file_bad(d, -EINVAL, what, s,
                               "expected a time such as 2026-11-20T15:00:00Z");
    *ret = (uint64_t)sec;
    return 0;
}

static int read_year(const struct reader *d, struct bj_slice s, uint64_t *start,
                     uint64_t *end)
{
    uint64_t y;
    if (bj_slice_u64(s, &y) < 0 || y < 1970 || y > 2500)
        return factor_file_bad(d, -EINVAL, "year", s,
                               "expected a year such as 2026");
    *start = (uint64_t)bj_days_from_civil((int)y, 1, 1) * 86400;
    *end = (uint64_t)bj_days_from_civil((int)y + 1, 1, 1) * 86400;
    return 0;
}

static int read_period(const struct reader *d, const struct bj_slice *f,
                       struct bj_carbon_point *ret)
{
    uint64_t end = 0;
    bool year = f[YEAR].n > 0, stamps = f[START].n > 0 && f[END].n > 0;
    if (year == stamps || (year && (f[START].n > 0 || f[END].n > 0)))
        return factor_file_bad(d, -EINVAL, "", f[START],
                               "expected start and end, or year instead");
    int r = year ? read_year(d, f[YEAR], &ret->start_sec, &end)
                 : read_stamp(d, f[START], "start", &ret->start_sec);
    if (r == 0 && stamps)
        r = read_stamp(d, f[END], "end", &end);
    if (r < 0)
        return r;
    if (end <= ret->start_sec || end - ret->start_sec > YEAR_SEC_MAX)
        return factor_file_bad(
            d, -EINVAL, "end", f[END],
            "expected a time after start, at most a year later");
    ret->len_sec = (uint32_t)(end - ret->start_sec);
    return 0;
}

static int read_estimated(const struct reader *d, struct bj_slice s, bool *ret)
{
    *ret = bj_slice_eq(s, BJ_SLICE("true"));
    if (*ret || s.n == 0 || bj_slice_eq(s, BJ_SLICE("false")))
        return 0;
    return factor_file_bad(d, -EINVAL, "estimated", s,
                           "expected true or false");
}

static int factor_file_read_row(struct reader *d, const struct bj_slice *f)
{
    struct bj_carbon_point p = {.fetched_sec = d->want->fetched_sec};
    enum bj_factor_kind kind;
    if (f[ZONE].n == 0 || f[ZONE].n >= BJ_ZONE_MAX)
        return factor_file_bad(d, -EINVAL, "zone", f[ZONE], "expected a name");
    if (bj_factor_kind_parse(f[KIND], &kind) < 0)
        return factor_file_bad(
            d, -EINVAL, "kind", f[KIND],
            "expected average_lifecycle, average_direct or marginal");
    if (bj_factor_grams(f[GRAMS], &p.mg_per_kwh) < 0)
        return factor_file_bad(d, -EINVAL, "g_per_kwh", f[GRAMS],
                               "expected a number above 0, at most 5000");
    if (read_period(d, f, &p) < 0 ||
        read_estimated(d, f[ESTIMATED], &p.estimated) < 0)
        return -EINVAL;
    if (!is_ours(d, f[ZONE]))
        return 0;
    p.kind = (uint8_t)kind;
    int r = bj_points_add(&d->points, p);
    if (r == -E2BIG)
        return factor_file_bad(d, -EFBIG, "", f[ZONE],
                               "too many rows of this zone");
    return r < 0 ? bj_err_set(d->err, r, "%s", d->name) : 0;
}

static void factor_file_begin(struct reader *d, const char *name,
                              const struct bj_factor_rows *want,
                              struct bj_err *err)
{
    *d = (struct reader){.name = name,
                         .want = want,
                         .country = bj_carbon_country(bj_slice_str(want->zone)),
                         .err = err};
}

static int factor_file_finish(struct reader *d, int r, struct bj_points *ret)
{
    if (r < 0) {
        bj_points_free(&d->points);
        return r;
    }
    bj_points_free(ret);
    *ret = d->points;
    return 0;
}

/* --- CSV ------------------------------------------------------------------*/

enum { COLUMNS_MAX = FIELDS };

/* Which field each column holds. */
struct columns {
    int field[COLUMNS_MAX];
    size_t n;
};

static bool has(const struct columns *c, int field)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->field[i] == field)
            return true;
    return false;
}

static int read_head(const struct reader *d, struct bj_slice line,
                     struct columns *c)
{
    struct bj_slice word, rest = line;
    while (bj_slice_field(&rest, ',', &word)) {
        word = bj_slice_trim(word);
        int field = find_field(word);
        if (field == NONE || has(c, field))
            return factor_file_bad(
                d, -EINVAL, "column", word,
                "expected zone, kind, g_per_kwh, start, end, year or "
                "estimated, each once");
        c->field[c->n++] = field;
    }
    if (!has(c, ZONE) || !has(c, KIND) || !has(c, GRAMS))
        return factor_file_bad(d, -EINVAL, "columns", line,
                               "expected zone, kind and g_per_kwh among them");
    return 0;
}

static int factor_file_read_line(struct reader *d, struct bj_slice line,
                                 const struct columns *c)
{
    struct bj_slice f[FIELDS] = {0}, rest = line, word;
    size_t n = 0;
    /* An empty last field counts. */
    bool more = true;
    while (more) {
        if (n == c->n)
            return factor_file_bad(d, -EINVAL, "", line,
                                   "more fields than columns");
        const char *comma = rest.n ? memchr(rest.p, ',', rest.n) : NULL;
        more = comma != NULL;
        if (!bj_slice_field(&rest, ',', &word))
            word = (struct bj_slice){NULL, 0};
        f[c->field[n++]] = bj_slice_trim(word);
    }
    if (n < c->n)
        return factor_file_bad(d, -EINVAL, "", line,
                               "fewer fields than columns");
    return factor_file_read_row(d, f);
}

int bj_factor_file_csv(struct bj_slice text, const char *name,
                       const struct bj_factor_rows *want, struct bj_points *ret,
                       struct bj_err *err)
{
    struct reader d;
    factor_file_begin(&d, name, want, err);
    struct columns c = {.n = 0};
    struct bj_slice line;
    int r = 0;
    while (r == 0 && bj_slice_line(&text, &line)) {
        d.line++;
        line = bj_slice_trim(line);
        if (line.n == 0 || *line.p == '#')
            continue;
        r = c.n == 0 ? read_head(&d, line, &c)
                     : factor_file_read_line(&d, line, &c);
    }
    if (r == 0 && c.n == 0)
        r = factor_file_bad(&d, -EINVAL, "", (struct bj_slice){NULL, 0},
                            "expected a line that names the columns");
    return factor_file_finish(&d, r, ret);
}

/* --- JSON -----------------------------------------------------------------*/

/* Finds the lines of the elements of the only array, for messages: a tree of
 * values has no lines.  Reads the text once, from element to element. */
struct lines {
    struct bj_slice rest;
    size_t line;
    int depth;
};

static void skip_string(struct bj_slice *s)
{
    while (s->n > 0) {
        char c = *s->p;
        size_t step = c == '\\' && s->n > 1 ? 2 : 1;
        s->p += step;
        s->n -= step;
        if (c == '"')
            return;
    }
}

/* The line of the next object in the array. */
static size_t next_line(struct lines *l)
{
    while (l->rest.n > 0) {
        char c = *l->rest.p;
        l->rest.p++;
        l->rest.n--;
        l->line += c == '\n';
        if (c == '"')
            skip_string(&l->rest);
        if (c == '}' || c == ']')
            l->depth--;
        if ((c == '{' || c == '[') && l->depth++ == 2)
            break;
    }
    return l->line;
}

static int read_object(struct reader *d, const struct bj_json *row)
{
    struct bj_slice f[FIELDS] = {0};
    if (bj_json_kind(row) != BJ_JSON_OBJECT)
        return factor_file_bad(d, -EINVAL, "", bj_json_text(row),
                               "expected an object");
    BJ_JSON_EACH(v, row)
    {
        struct bj_slice key = bj_json_key(v);
        int field = find_field(key);
        bool flag;
        if (field == NONE || f[field].n > 0)
            return factor_file_bad(
                d, -EINVAL, "member", key,
                "expected zone, kind, g_per_kwh, start, end, year or "
                "estimated, each once");
        if (bj_json_kind(v) == BJ_JSON_ARRAY ||
            bj_json_kind(v) == BJ_JSON_OBJECT)
            return factor_file_bad(d, -EINVAL, "member", key,
                                   "expected a text, a number, true or false");
        if (bj_json_kind(v) == BJ_JSON_BOOL && bj_json_bool(v, &flag) == 0)
            f[field] = flag ? BJ_SLICE("true") : BJ_SLICE("false");
        else
            f[field] = bj_json_text(v);
    }
    return factor_file_read_row(d, f);
}

static int read_array(struct reader *d, const struct bj_json *doc,
                      struct bj_slice text)
{
    const struct bj_json *array = bj_json_get(doc, "factors");
    d->line = 1;
    if (bj_json_len(doc) != 1 || bj_json_kind(array) != BJ_JSON_ARRAY)
        return factor_file_bad(
            d, -EINVAL, "", bj_json_key(bj_json_first(doc)),
            "expected {\"factors\": [...]} and nothing else");
    struct lines l = {.rest = text, .line = 1};
    BJ_JSON_EACH(row, array)
    {
        if (bj_json_kind(row) == BJ_JSON_OBJECT)
            d->line = next_line(&l);
        int r = read_object(d, row);
        if (r < 0)
            return r;
    }
    return 0;
}

int bj_factor_file_json(struct bj_slice text, const char *name,
                        const struct bj_factor_rows *want,
                        struct bj_points *ret, struct bj_err *err)
{
    static const struct bj_json_limits limits = {
        .bytes = 4 << 20, .values = 400000, .depth = 8};
    struct reader d;
    factor_file_begin(&d, name, want, err);
    struct bj_arena a = {0};
    const struct bj_json *doc;
    int r = bj_json_parse(&a, text, name, &limits, &doc, err);
    if (r == 0)
        r = read_array(&d, doc, text);
    bj_arena_free(&a);
    return factor_file_finish(&d, r, ret);
}

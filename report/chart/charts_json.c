#include "report/chart/charts_json.h"

#include "base/json.h"

enum { POINTS_MAX = BJ_SAMPLES_CELLS, DAY_SEC = 86400 };

static const char *const kinds[BJ_CHART_KINDS] = {[BJ_CHART_CURVES] = "curves",
                                                  [BJ_CHART_ROWS] = "rows",
                                                  [BJ_CHART_DAYS] = "days",
                                                  [BJ_CHART_PIE] = "pie"};
static const char *const units[BJ_CHART_UNITS] = {
    [BJ_CHART_PLAIN] = "count",     [BJ_CHART_BYTES] = "bytes",
    [BJ_CHART_PERCENT] = "percent", [BJ_CHART_BYTES_PER_SEC] = "bytes/s",
    [BJ_CHART_WATTS] = "watts",     [BJ_CHART_PER_SEC] = "1/s",
    [BJ_CHART_HOURS] = "hours"};

/* --- writing ---------------------------------------------------------------
 */

static void put_line(const struct bj_chart *k, unsigned line,
                     struct bj_buf *out)
{
    const struct bj_chart_line *l = &k->line[line];
    bj_buf_str(out, line > 0 ? ",{\"name\":" : "{\"name\":");
    bj_json_string(out, bj_slice_str(l->name));
    bj_buf_printf(out, ",\"limit\":%s,\"values\":[",
                  l->limit ? "true" : "false");
    for (unsigned i = 0; i < k->points; i++) {
        bj_buf_str(out, i > 0 ? "," : "");
        if (bj_chart_known(l->value[i]))
            bj_buf_printf(out, "%.9g", l->value[i]);
        else
            bj_buf_str(out, "null");
    }
    bj_buf_str(out, "]}");
}

static void put_chart(const struct bj_chart *k, struct bj_buf *out)
{
    bj_buf_str(out, "{\"title\":");
    bj_json_string(out, bj_slice_str(k->title));
    bj_buf_str(out, ",\"of\":");
    if (k->of.n > 0)
        bj_json_string(out, k->of);
    else
        bj_buf_str(out, "null");
    bj_buf_printf(out,
                  ",\"kind\":\"%s\",\"unit\":\"%s\",\"start_ms\":%lld,"
                  "\"from_ms\":%lld,\"step_sec\":%lld,\"chosen_from\":",
                  kinds[k->kind], units[k->unit], (long long)k->start * 1000,
                  (long long)k->from * 1000, (long long)k->step);
    if (k->all > 0)
        bj_buf_u64(out, k->all);
    else
        bj_buf_str(out, "null");
    bj_buf_str(out, ",\"lines\":[");
    for (unsigned i = 0; i < k->lines; i++)
        put_line(k, i, out);
    bj_buf_str(out, "]}");
}

void bj_charts_write(const struct bj_charts *c, struct bj_buf *out)
{
    bj_buf_str(out, "{\"charts\":[");
    for (unsigned i = 0; i < c->charts; i++) {
        bj_buf_str(out, i > 0 ? ",\n" : "");
        put_chart(&c->chart[i], out);
    }
    bj_buf_str(out, "],\"reason\":");
    if (c->why)
        bj_json_string(out, bj_slice_str(c->why));
    else
        bj_buf_str(out, "null");
    bj_buf_str(out, "}");
}

/* --- reading ---------------------------------------------------------------
 */

static int refuse(struct bj_err *err, const char *what)
{
    return bj_err_set(err, -EBADMSG, "charts: %s", what);
}

static int name_in(const struct bj_json *object, const char *key,
                   const char *const *names, unsigned n)
{
    struct bj_slice s = bj_json_text(bj_json_get(object, key));
    for (unsigned i = 0; i < n; i++)
        if (bj_slice_eq(s, bj_slice_str(names[i])))
            return (int)i;
    return -1;
}

/* Clean text; "" where there is none. */
static const char *copy_text(const struct bj_json *v, struct bj_arena *a)
{
    struct bj_buf b = {0};
    bj_buf_clean(&b, bj_json_text(v));
    struct bj_slice s = bj_arena_copy(a, (struct bj_slice){b.p, b.len});
    a->failed |= b.failed;
    bj_buf_free(&b);
    return s.p ? s.p : "";
}

static int read_line(const struct bj_json *v, struct bj_arena *a,
                     struct bj_chart *k, struct bj_err *err)
{
    const struct bj_json *values = bj_json_get(v, "values");
    const size_t n = bj_json_len(values);
    bool limit = false;
    unsigned i = 0;
    if (k->lines == BJ_CHART_LINES)
        return refuse(err, "too many lines");
    if (bj_json_kind(values) != BJ_JSON_ARRAY || n > POINTS_MAX ||
        (k->lines > 0 && n != k->points))
        return refuse(err, "the values of a line do not fit");
    bj_json_bool(bj_json_get(v, "limit"), &limit);
    double *value = bj_arena_alloc(a, (n + 1) * sizeof(*value));
    if (!value)
        return bj_err_set(err, -ENOMEM, "charts");
    BJ_JSON_EACH(one, values)
    {
        struct bj_slice s = bj_json_kind(one) == BJ_JSON_NUMBER
                                ? bj_json_text(one)
                                : (struct bj_slice){0};
        if (!bj_chart_number(s, &value[i]))
            value[i] = __builtin_nan("");
        if (value[i] > 1e18 || value[i] < 1e-6)
            value[i] = value[i] > 1 ? 1e18 : 0;
        i++;
    }
    k->points = i;
    k->line[k->lines++] = (struct bj_chart_line){
        copy_text(bj_json_get(v, "name"), a), value, limit};
    return 0;
}

static int read_chart(const struct bj_json *v, struct bj_arena *a,
                      struct bj_chart *k, struct bj_err *err)
{
    const int kind = name_in(v, "kind", kinds, BJ_CHART_KINDS);
    const int unit = name_in(v, "unit", units, BJ_CHART_UNITS);
    const int64_t most = INT64_C(253402300800000); /* the year 10000 */
    int64_t start, from, step;
    if (kind < 0 || unit < 0 ||
        bj_json_i64(bj_json_get(v, "start_ms"), &start) < 0 ||
        bj_json_i64(bj_json_get(v, "from_ms"), &from) < 0 ||
        bj_json_i64(bj_json_get(v, "step_sec"), &step) < 0 || start < 0 ||
        start > most || from < 0 || from > most || step < 1 ||
        step > 1000 * DAY_SEC)
        return refuse(err, "unknown kind or unit, or no times");
    *k = (struct bj_chart){
        .kind = (enum bj_chart_kind)kind,
        .unit = (enum bj_chart_unit)unit,
        .title = copy_text(bj_json_get(v, "title"), a),
        .of = bj_slice_str(copy_text(bj_json_get(v, "of"), a)),
        .start = start / 1000,
        .from = from / 1000,
        .step = step,
        .all = (unsigned)bj_json_u64_or(bj_json_get(v, "chosen_from"), 0)};
    int r = 0;
    BJ_JSON_EACH(line, bj_json_get(v, "lines"))
    {
        if (r == 0)
            r = read_line(line, a, k, err);
    }
    return r;
}

int bj_charts_parse(const struct bj_json *object, struct bj_charts *ret,
                    struct bj_err *err)
{
    const struct bj_json *list = bj_json_get(object, "charts");
    const struct bj_json *why = bj_json_get(object, "reason");
    int r = bj_json_kind(list) == BJ_JSON_ARRAY ? 0 : refuse(err, "no list");
    BJ_JSON_EACH(v, list)
    {
        if (r == 0 && ret->charts == BJ_CHARTS)
            r = refuse(err, "too many");
        if (r == 0)
            r = read_chart(v, &ret->arena, &ret->chart[ret->charts], err);
        ret->charts += r == 0;
    }
    if (bj_json_kind(why) == BJ_JSON_STRING)
        ret->why = copy_text(why, &ret->arena);
    return r == 0 && ret->arena.failed ? bj_err_set(err, -ENOMEM, "charts") : r;
}

#include "carbon/cache.h"

#include "base/file.h"
#include "base/save.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES_MAX = 8 << 20, DAY_SEC = 86400, LEN_MAX_SEC = 366 * DAY_SEC };

static const char format[] = "batchjob emissions 1";

/* --- reading --------------------------------------------------------------*/

/* A point is an array: start, length, mg, kind, estimated, fetched. */
enum { START, LEN, MG, KIND, ESTIMATED, FETCHED, NUMBERS };

static int read_point(const struct bj_json *row, uint64_t now_sec,
                      struct bj_carbon_point *ret)
{
    uint64_t v[NUMBERS];
    size_t i = 0;
    BJ_JSON_EACH(number, row)
    if (i == NUMBERS || bj_json_kind(number) != BJ_JSON_NUMBER ||
        bj_json_u64(number, &v[i++]) < 0)
        return -EINVAL;
    if (i != NUMBERS || v[START] == 0 || v[START] > INT64_MAX / 2 ||
        v[LEN] == 0 || v[LEN] > LEN_MAX_SEC || v[MG] == 0 ||
        v[MG] > BJ_FACTOR_MG_MAX || v[KIND] >= BJ_FACTOR_KINDS ||
        v[ESTIMATED] > 1)
        return -EINVAL;
    *ret = (struct bj_carbon_point){
        .start_sec = v[START],
        .len_sec = (uint32_t)v[LEN],
        .mg_per_kwh = (uint32_t)v[MG],
        .kind = (uint8_t)v[KIND],
        .estimated = v[ESTIMATED] == 1,
        .fetched_sec = v[FETCHED] < now_sec ? v[FETCHED] : now_sec};
    return 0;
}

static int read_points(const struct bj_json *array, uint64_t now_sec,
                       struct bj_points *ret, struct bj_err *err)
{
    size_t n = 0;
    if (bj_json_kind(array) != BJ_JSON_ARRAY)
        return bj_err_set(err, -EINVAL, "points: expected an array, got %s",
                          bj_json_kind_name(array));
    BJ_JSON_EACH(row, array)
    {
        struct bj_carbon_point p;
        n++;
        if (read_point(row, now_sec, &p) < 0)
            return bj_err_set(err, -EINVAL,
                              "point %zu: expected [start, length, mg, kind, "
                              "estimated, fetched], whole numbers in range",
                              n);
        int r = bj_points_add(ret, p);
        if (r == -E2BIG)
            return bj_err_set(err, -EINVAL, "more than %d points",
                              BJ_POINTS_MAX);
        if (r < 0)
            return bj_err_set(err, r, "point %zu", n);
    }
    return 0;
}

/* The slot of a series; plan->n: none. */
static size_t slot_of(const struct bj_json *series,
                      const struct bj_carbon_plan *plan)
{
    struct bj_slice provider = bj_json_text(bj_json_get(series, "provider"));
    struct bj_slice zone = bj_json_text(bj_json_get(series, "zone"));
    size_t i = 0;
    while (i < plan->n &&
           (plan->v[i].provider->source != BJ_CARBON_HTTP ||
            !bj_slice_eq(provider, bj_slice_str(plan->v[i].provider->name)) ||
            !bj_slice_eq(zone, bj_slice_str(plan->v[i].zone))))
        i++;
    return i;
}

/* A stamp of the future, from a wrong clock, must not delay requests for long.
 */
static uint64_t past(uint64_t t, uint64_t now_sec)
{
    return t <= now_sec ? t : 0;
}

static int read_series(const struct bj_json *series,
                       const struct bj_carbon_plan *plan, uint64_t now_sec,
                       struct bj_carbon_cached *slots, struct bj_err *err)
{
    if (bj_json_kind(series) != BJ_JSON_OBJECT)
        return bj_err_set(err, -EINVAL, "series: expected an object, got %s",
                          bj_json_kind_name(series));
    size_t i = slot_of(series, plan);
    if (i == plan->n)
        return 0;
    struct bj_carbon_cached *s = &slots[i];
    int r =
        read_points(bj_json_get(series, "points"), now_sec, &s->points, err);
    if (r < 0)
        return bj_err_wrap(err, r, "series of %s, zone '%s'",
                           plan->v[i].provider->name, plan->v[i].zone);
    uint64_t keep =
        now_sec > BJ_POINTS_KEEP_SEC ? now_sec - BJ_POINTS_KEEP_SEC : 0;
    bj_points_trim(&s->points, keep, now_sec);
    s->queried_sec =
        past(bj_json_u64_or(bj_json_get(series, "queried"), 0), now_sec);
    uint64_t wait = bj_json_u64_or(bj_json_get(series, "not_before"), 0);
    s->not_before = wait > now_sec && wait - now_sec <= DAY_SEC ? wait : 0;
    return 0;
}

static int read_doc(const struct bj_json *doc,
                    const struct bj_carbon_plan *plan, uint64_t now_sec,
                    struct bj_carbon_cached *slots, struct bj_err *err)
{
    struct bj_slice head = bj_json_text(bj_json_get(doc, "format"));
    if (!bj_slice_eq(head, bj_slice_str(format)))
        return bj_err_set(err, -EINVAL, "not of the format '%s'", format);
    const struct bj_json *all = bj_json_get(doc, "series");
    if (bj_json_kind(all) != BJ_JSON_ARRAY)
        return bj_err_set(err, -EINVAL, "series: expected an array, got %s",
                          bj_json_kind_name(all));
    BJ_JSON_EACH(series, all)
    {
        int r = read_series(series, plan, now_sec, slots, err);
        if (r < 0)
            return r;
    }
    return 0;
}

int bj_cache_parse(struct bj_slice text, const struct bj_carbon_plan *plan,
                   uint64_t now_sec, struct bj_carbon_cached *slots,
                   struct bj_err *err)
{
    static const struct bj_json_limits limits = {
        .bytes = BYTES_MAX, .values = 1000000, .depth = 8};
    struct bj_arena a = {0};
    const struct bj_json *doc;
    int r = bj_json_parse(&a, text, "cache", &limits, &doc, err);
    if (r == 0)
        r = read_doc(doc, plan, now_sec, slots, err);
    bj_arena_free(&a);
    return r;
}

/* Keep the file for the administrator, under another name. */
static int put_aside(const char *path, struct bj_err *err)
{
    char *to;
    if (asprintf(&to, "%s.bad", path) < 0)
        return bj_err_set(err, -ENOMEM, "%s", path);
    if (rename(path, to) < 0)
        bj_err_wrap(err, -EINVAL, "%s is damaged and can't be renamed", path);
    else
        bj_err_wrap(err, -EINVAL, "%s is damaged, kept as %s", path, to);
    free(to);
    return -EINVAL;
}

int bj_cache_load(const char *path, const struct bj_carbon_plan *plan,
                  uint64_t now_sec, struct bj_carbon_cached *slots,
                  struct bj_err *err)
{
    char *buf = malloc(BYTES_MAX);
    if (!buf)
        return bj_err_set(err, -ENOMEM, "%s", path);
    struct bj_slice text;
    int r = bj_file_read_trusted(AT_FDCWD, path, buf, BYTES_MAX, &text, err);
    if (r == 0)
        r = bj_cache_parse(text, plan, now_sec, slots, err);
    if (r == -ENOENT) { /* none was written yet */
        r = 0;
        if (err)
            *err = (struct bj_err){0};
    }
    if (r == -EINVAL || r == -EFBIG)
        r = put_aside(path, err);
    for (size_t i = 0; r < 0 && i < plan->n; i++) {
        bj_points_free(&slots[i].points);
        slots[i] = (struct bj_carbon_cached){0};
    }
    free(buf);
    return r;
}

/* --- writing --------------------------------------------------------------*/

static void put_point(struct bj_json_out *o, const struct bj_carbon_point *p)
{
    bj_json_put_array(o, NULL);
    bj_json_put_u64(o, NULL, p->start_sec);
    bj_json_put_u64(o, NULL, p->len_sec);
    bj_json_put_u64(o, NULL, p->mg_per_kwh);
    bj_json_put_u64(o, NULL, p->kind);
    bj_json_put_u64(o, NULL, p->estimated);
    bj_json_put_u64(o, NULL, p->fetched_sec);
    bj_json_put_end(o);
}

static void put_series(struct bj_json_out *o, const struct bj_carbon_slot *slot,
                       const struct bj_carbon_cached *s)
{
    bj_json_put_object(o, NULL);
    bj_json_put_str(o, "provider", bj_slice_str(slot->provider->name));
    bj_json_put_str(o, "zone", bj_slice_str(slot->zone));
    bj_json_put_u64(o, "queried", s->queried_sec);
    bj_json_put_u64(o, "not_before", s->not_before);
    bj_json_put_array(o, "points");
    for (size_t i = 0; i < s->points.n; i++)
        put_point(o, &s->points.v[i]);
    bj_json_put_end(o);
    bj_json_put_end(o);
}

int bj_cache_save(const char *path, const struct bj_carbon_plan *plan,
                  const struct bj_carbon_cached *slots, struct bj_err *err)
{
    struct bj_buf text = {0};
    struct bj_json_out o = {.to = &text};
    bj_json_put_object(&o, NULL);
    bj_json_put_str(&o, "format", bj_slice_str(format));
    bj_json_put_array(&o, "series");
    for (size_t i = 0; i < plan->n; i++)
        if (plan->v[i].provider->source == BJ_CARBON_HTTP)
            put_series(&o, &plan->v[i], &slots[i]);
    bj_json_put_end(&o);
    bj_json_put_end(&o);
    int r = bj_json_out_end(&o);
    if (r < 0)
        bj_err_set(err, r, "%s", path);
    else /* not synced: a query restores what a crash loses */
        r = bj_save(path, (struct bj_slice){text.p, text.len}, 0644, 0, err);
    bj_buf_free(&text);
    return r;
}

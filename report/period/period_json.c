/* The report of a period as JSON, and its sums as CSV. */
#include "base/csv.h"
#include "base/json.h"
#include "base/stamp.h"
#include "base/tz.h"
#include "report/period/period.h"

#include <inttypes.h>
#include <string.h>

/* A sum with the name and digits of /api/v1/usage; BJ_SQL_NULL: unknown. */
struct figure {
    const char *name;
    unsigned digits;
    int64_t v;
};

enum { FIGURES = 23 };

static void figures_of(const struct bj_period_sums *s,
                       struct figure ret[FIGURES])
{
    const struct bj_bill *b = &s->bill;
    const int64_t cpu_left = b->cpu_known_sec * 1000 - b->cpu_used_msec;
    const int64_t gpu_left = b->gpu_known_sec * 1000 - b->gpu_used_msec;
    const int64_t cpu = b->cpu_known_sec > 0 ? 3600 : 0;
    const int64_t gpu = b->gpu_known_sec > 0 ? 3600 : 0;
    const struct figure all[FIGURES] = {
        {"jobs", 0, s->jobs},
        {"completed", 0, s->completed},
        {"failed", 0, s->failed},
        {"timeout", 0, s->timeout},
        {"oom", 0, s->oom},
        {"cancelled", 0, s->cancelled},
        {"open", 0, s->open},
        {"core_hours", 3, bj_bill_ratio(b->cpu_sec, 1000, 3600)},
        {"cpu_used_hours", 3, bj_bill_ratio(b->cpu_used_msec, 1, cpu)},
        {"cpu_efficiency_percent", 1,
         bj_bill_ratio(b->cpu_used_msec, 1, b->cpu_known_sec)},
        {"cpu_coverage", 1, bj_bill_ratio(bj_bill_cpu_known(b), 1, 1000)},
        {"cpu_unused_hours", 3,
         bj_bill_ratio(cpu_left > 0 ? cpu_left : 0, 1, cpu)},
        {"gpu_hours", 3, bj_bill_ratio(b->gpu_sec, 1000, 3600)},
        {"gpu_efficiency_percent", 1,
         bj_bill_ratio(b->gpu_used_msec, 1, b->gpu_known_sec)},
        {"gpu_coverage", 1, bj_bill_ratio(bj_bill_gpu_known(b), 1, 1000)},
        {"gpu_unused_hours", 3,
         bj_bill_ratio(gpu_left > 0 ? gpu_left : 0, 1, gpu)},
        {"energy_kwh", 6,
         bj_bill_ratio(b->energy_mj, 1, b->energy_cpu_sec > 0 ? 3600 : 0)},
        {"energy_coverage", 1, bj_bill_ratio(s->energy_known, 1, 1000)},
        {"emissions_grams", 6, s->emissions_ug},
        {"emissions_coverage", 1, bj_bill_ratio(s->emissions_known, 1, 1000)},
        {"cost", 6, s->cost},
        {"cost_coverage", 1, bj_bill_ratio(s->cost_known, 1, 1000)},
        {"cost_not_charged", 6, s->not_charged}};
    memcpy(ret, all, sizeof(all));
}

static void put_sums(struct bj_buf *out, const struct bj_period_sums *s)
{
    struct figure f[FIGURES];
    figures_of(s, f);
    for (unsigned i = 0; i < FIGURES; i++) {
        bj_buf_printf(out, "%s\"%s\":", i ? "," : "", f[i].name);
        if (f[i].v == BJ_SQL_NULL)
            bj_buf_str(out, "null");
        else
            bj_buf_fixed(out, (uint64_t)f[i].v, f[i].digits);
    }
}

/* Append millionths, as seconds or percent. */
static void put_micro(struct bj_buf *out, const char *name, int64_t v,
                      unsigned digits)
{
    bj_buf_printf(out, ",\"%s\":", name);
    bj_buf_fixed(out, (uint64_t)v, digits);
}

static void json_put_text(struct bj_buf *out, const char *name,
                          struct bj_slice s)
{
    bj_buf_printf(out, "\"%s\":", name);
    bj_json_string(out, s);
}

static void put_wasters(const struct bj_period *p, enum bj_waste which,
                        struct bj_buf *out)
{
    static const char *const names[BJ_WASTES] = {"gpu_unused", "cpu_unused",
                                                 "memory_unused"};
    bj_buf_printf(out, "%s\"%s\":[", which ? "," : "", names[which]);
    for (unsigned i = 0; i < p->wasters[which]; i++) {
        const struct bj_waster *w = &p->waster[which][i];
        bj_buf_str(out, i ? ",\n{" : "\n{");
        json_put_text(out, "display_id", w->id);
        bj_buf_str(out, ",");
        json_put_text(out, "user", w->user);
        bj_buf_str(out, ",");
        json_put_text(out, "name", w->name);
        bj_buf_str(out, ",");
        json_put_text(out, "finding_names", w->findings);
        if (which == BJ_WASTE_MEMORY)
            bj_buf_printf(out, ",\"mib_seconds\":%" PRId64, w->amount);
        else
            put_micro(out, "seconds", w->amount, 6);
        put_micro(out, "used_percent", w->ppm, 4);
        bj_buf_str(out, "}");
    }
    bj_buf_str(out, "]");
}

/* Append a time in UTC; null: no limit. */
static void json_put_time(struct bj_buf *out, const char *name, int64_t sec)
{
    char stamp[BJ_STAMP_MAX];
    if (sec < 0 || sec > INT64_C(253402300799))
        bj_buf_printf(out, ",\"%s\":null", name);
    else
        bj_buf_printf(out, ",\"%s\":\"%s\"", name,
                      bj_stamp_text(sec * 1000000, 0, 0, stamp));
}

void bj_period_json(const struct bj_period *p, struct bj_buf *out)
{
    struct bj_buf meaning = {0};
    bj_period_meaning(&meaning);
    out->failed |= meaning.failed;
    bj_buf_str(out, "{");
    json_put_text(out, "meaning", (struct bj_slice){meaning.p, meaning.len});
    bj_buf_free(&meaning);
    bj_buf_str(out, ",");
    json_put_text(out, "time_zone", bj_slice_str(bj_tz_name(bj_tz_used())));
    json_put_time(out, "since", p->since_sec);
    json_put_time(out, "until", p->until_sec);
    bj_buf_str(out, ",");
    if (p->prices.currency[0])
        json_put_text(out, "currency", bj_slice_str(p->prices.currency));
    else
        bj_buf_str(out, "\"currency\":null");
    bj_buf_str(out, ",\n\"total\":{");
    put_sums(out, &p->all);
    bj_buf_printf(out, "},\n\"%s\":[", bj_period_groups[p->by].many);
    for (size_t i = 0; i < p->groups; i++) {
        bj_buf_str(out, i ? ",\n{" : "\n{");
        json_put_text(out, bj_period_groups[p->by].one, p->group[i].name);
        bj_buf_str(out, ",");
        put_sums(out, &p->group[i]);
        bj_buf_str(out, "}");
    }
    bj_buf_str(out, "],\n\"waste\":{");
    for (int i = 0; i < BJ_WASTES; i++)
        put_wasters(p, (enum bj_waste)i, out);
    bj_buf_str(out, "},\n\"findings\":[");
    for (size_t i = 0; i < p->findings; i++) {
        bj_buf_str(out, i ? "," : "");
        bj_buf_str(out, "{");
        json_put_text(out, "finding", p->finding[i].name);
        bj_buf_printf(out, ",\"jobs\":%" PRId64 "}", p->finding[i].jobs);
    }
    bj_buf_str(out, "]}\n");
}

/* --- CSV -------------------------------------------------------------------
 */

static void json_put_line(const struct bj_period *p, const char *of,
                          const struct bj_period_sums *s, struct bj_buf *out)
{
    struct figure f[FIGURES];
    figures_of(s, f);
    bj_buf_printf(out, "%s,", of);
    bj_csv_text(out, s->name);
    for (unsigned i = 0; i < FIGURES; i++) {
        bj_buf_str(out, ",");
        if (f[i].v != BJ_SQL_NULL)
            bj_buf_fixed(out, (uint64_t)f[i].v, f[i].digits);
    }
    bj_buf_str(out, ",");
    bj_csv_text(out, bj_slice_str(p->prices.currency));
    bj_buf_str(out, ",");
    bj_csv_text(out, bj_slice_str(bj_tz_name(bj_tz_used())));
    bj_buf_str(out, "\n");
}

void bj_period_csv(const struct bj_period *p, struct bj_buf *out)
{
    struct figure f[FIGURES];
    figures_of(&p->all, f);
    bj_buf_str(out, "of,name");
    for (unsigned i = 0; i < FIGURES; i++)
        bj_buf_printf(out, ",%s", f[i].name);
    bj_buf_str(out, ",currency,time_zone\n");
    json_put_line(p, "total", &p->all, out);
    for (size_t i = 0; i < p->groups; i++)
        json_put_line(p, bj_period_groups[p->by].one, &p->group[i], out);
}

/* The report of a period as JSON. */
#include "base/json.h"
#include "report/period.h"
#include "statsdb/best.h"

#include <inttypes.h>

enum { MICRO = 1000000 };

/* Append millionths as a number; null if all is 0. */
static void put_micro(struct bj_buf *out, const char *name, int64_t v,
                      int64_t all)
{
    bj_buf_printf(out, ",\"%s\":", name);
    if (all > 0)
        bj_buf_fixed(out, (uint64_t)v, 6);
    else
        bj_buf_str(out, "null");
}

static void put_percent(struct bj_buf *out, const char *name, int64_t part,
                        int64_t whole)
{
    bj_buf_printf(out, ",\"%s\":", name);
    if (whole > 0)
        bj_buf_fixed(out, (uint64_t)bj_best_ratio(part, MICRO, whole), 4);
    else
        bj_buf_str(out, "null");
}

static void put_sums(struct bj_buf *out, const struct bj_period_sums *s)
{
    bj_buf_printf(out,
                  "\"jobs\":%" PRId64 ",\"completed\":%" PRId64
                  ",\"failed\":%" PRId64 ",\"timeout\":%" PRId64
                  ",\"oom\":%" PRId64 ",\"cancelled\":%" PRId64
                  ",\"open\":%" PRId64,
                  s->jobs, s->completed, s->failed, s->timeout, s->oom,
                  s->cancelled, s->open);
    put_micro(out, "cpu_allocated_seconds", s->cpu, 1);
    put_micro(out, "cpu_used_seconds", s->cpu_used, s->cpu_known);
    put_percent(out, "cpu_efficiency_percent", s->cpu_used, s->cpu_known);
    put_percent(out, "cpu_known_percent", s->cpu_known, s->cpu);
    put_micro(out, "gpu_allocated_seconds", s->gpu, 1);
    put_micro(out, "gpu_used_seconds", s->gpu_used, s->gpu_known);
    put_percent(out, "gpu_efficiency_percent", s->gpu_used, s->gpu_known);
    put_percent(out, "gpu_known_percent", s->gpu_known, s->gpu);
    put_micro(out, "energy_joules", s->energy_uj, s->energy_cpu);
    put_percent(out, "energy_known_percent", s->energy_cpu, s->cpu);
    put_micro(out, "emissions_grams", s->emissions_ug, s->emissions_cpu);
    put_percent(out, "emissions_known_percent", s->emissions_cpu, s->cpu);
    put_micro(out, "cost", s->cost, s->cost_jobs);
    put_percent(out, "cost_known_percent", s->cost_cpu,
                s->cost_jobs > 0 ? s->cpu : 0);
}

static void put_text(struct bj_buf *out, const char *name, struct bj_slice s)
{
    bj_buf_printf(out, "\"%s\":", name);
    bj_json_string(out, s);
}

static void put_wasters(const struct bj_period *p, enum bj_waste which,
                        struct bj_buf *out)
{
    static const char *const names[BJ_WASTES] = {"gpu_idle", "cpu_unused",
                                                 "memory_unused"};
    bj_buf_printf(out, "%s\"%s\":[", which ? "," : "", names[which]);
    for (unsigned i = 0; i < p->wasters[which]; i++) {
        const struct bj_waster *w = &p->waster[which][i];
        bj_buf_str(out, i ? ",\n{" : "\n{");
        put_text(out, "display_id", w->id);
        bj_buf_str(out, ",");
        put_text(out, "user", w->user);
        bj_buf_str(out, ",");
        put_text(out, "name", w->name);
        bj_buf_str(out, ",");
        put_text(out, "finding_names", w->findings);
        if (which == BJ_WASTE_MEMORY)
            bj_buf_printf(out, ",\"mib_seconds\":%" PRId64, w->amount);
        else
            put_micro(out, "seconds", w->amount, 1);
        put_percent(out, "used_percent", w->ppm, MICRO);
        bj_buf_str(out, "}");
    }
    bj_buf_str(out, "]");
}

void bj_period_json(const struct bj_period *p, struct bj_buf *out)
{
    bj_buf_str(out, "{");
    if (p->currency.n > 0)
        put_text(out, "currency", p->currency);
    else
        bj_buf_str(out, "\"currency\":null");
    bj_buf_str(out, ",\n\"total\":{");
    put_sums(out, &p->all);
    bj_buf_printf(out, "},\n\"%s\":[", p->by_user ? "users" : "accounts");
    for (size_t i = 0; i < p->groups; i++) {
        bj_buf_str(out, i ? ",\n{" : "\n{");
        put_text(out, p->by_user ? "user" : "account", p->group[i].name);
        bj_buf_str(out, ",");
        put_sums(out, &p->group[i]);
        bj_buf_str(out, "}");
    }
    bj_buf_str(out, "],\n\"waste\":{");
    for (int i = 0; i < BJ_WASTES; i++)
        put_wasters(p, (enum bj_waste)i, out);
    bj_buf_str(out, "},\n\"findings\":[");
    for (unsigned i = 0; i < p->findings; i++) {
        bj_buf_str(out, i ? "," : "");
        bj_buf_str(out, "{");
        put_text(out, "finding", p->finding[i].name);
        bj_buf_printf(out, ",\"jobs\":%" PRId64 "}", p->finding[i].jobs);
    }
    bj_buf_str(out, "]}\n");
}

#include "report/form/json.h"

#include "base/json.h"
#include "report/model/report.h"
#include "statsdb/job/job_column.h"
#include "statsdb/job/job_value.h"

#include <string.h>

/* The fields of the parts of a report: one table to write, read and describe
 * its JSON. */

struct bj_report_field {
    const char *name;
    enum bj_value_kind kind; /* kind of an int64_t; BJ_AS_TEXT: a slice */
    size_t off;
};

/* The tables of fields, which end with name NULL. */
extern const struct bj_report_field bj_verdict_fields[], bj_figure_fields[],
    bj_finding_fields[], bj_warning_fields[], bj_advice_fields[],
    bj_next_fields[], bj_node_fields[], bj_gpu_fields[], bj_array_fields[],
    bj_spread_fields[];

#define FIELD(name, kind, type, member)                                        \
    {                                                                          \
        name, BJ_AS_##kind, offsetof(struct bj_report_##type, member)          \
    }
#define END                                                                    \
    {                                                                          \
        .name = NULL                                                           \
    }

const struct bj_report_field bj_verdict_fields[] = {
    FIELD("level", TEXT, verdict, level),
    FIELD("wrong", TEXT, verdict, wrong),
    FIELD("cost", TEXT, verdict, cost),
    FIELD("todo", TEXT, verdict, todo),
    END,
};

/* The kind of numbers depends on the unit of the figure. */
const struct bj_report_field bj_figure_fields[] = {
    FIELD("figure", TEXT, figure, figure),
    FIELD("label", TEXT, figure, label),
    FIELD("unit", TEXT, figure, unit),
    FIELD("requested", MICRO, figure, requested),
    FIELD("allocated", MICRO, figure, allocated),
    FIELD("used", MICRO, figure, used),
    FIELD("percent", PPM, figure, ppm),
    FIELD("source", TEXT, figure, source),
    FIELD("quality", TEXT, figure, quality),
    END,
};

const struct bj_report_field bj_finding_fields[] = {
    FIELD("finding", TEXT, finding, finding),
    FIELD("severity", TEXT, finding, severity),
    FIELD("text", TEXT, finding, text),
    FIELD("condition", TEXT, finding, condition),
    FIELD("advice", TEXT, finding, advice),
    FIELD("url", TEXT, finding, url),
    FIELD("tasks", INT, finding, tasks),
    END,
};

const struct bj_report_field bj_warning_fields[] = {
    FIELD("at", INT, warning, at),
    FIELD("finding", TEXT, warning, finding),
    FIELD("action", TEXT, warning, action),
    FIELD("state", TEXT, warning, state),
    FIELD("detail", TEXT, warning, detail),
    FIELD("text", TEXT, warning, text),
    END,
};

const struct bj_report_field bj_advice_fields[] = {
    FIELD("advice", TEXT, advice, advice),
    FIELD("text", TEXT, advice, text),
    FIELD("option", TEXT, advice, option),
    FIELD("line", TEXT, advice, line),
    FIELD("replaces", TEXT, advice, replaces),
    FIELD("script_lines", TEXT, advice, script_lines),
    FIELD("finding", TEXT, advice, finding),
    FIELD("url", TEXT, advice, url),
    FIELD("runs", INT, advice, runs),
    END,
};

const struct bj_report_field bj_next_fields[] = {
    FIELD("options", TEXT, next, options),
    FIELD("basis", TEXT, next, basis),
    FIELD("note", TEXT, next, note),
    FIELD("memory_margin_percent", INT, next, memory_margin),
    FIELD("time_margin_percent", INT, next, time_margin),
    END,
};

const struct bj_report_field bj_node_fields[] = {
    FIELD("node", TEXT, node, node),
    FIELD("cpus", INT, node, cpus),
    FIELD("cpu_used_seconds", MICRO, node, cpu_usec),
    FIELD("cpu_efficiency_percent", PPM, node, cpu_ppm),
    FIELD("memory_peak_bytes", INT, node, memory_peak),
    FIELD("memory_charged_peak_bytes", INT, node, memory_charged),
    FIELD("memory_limit_bytes", INT, node, memory_limit),
    FIELD("gpus", INT, node, gpus),
    FIELD("cpus_busy", MICRO, node, cpus_busy),
    FIELD("at", INT, node, at),
    FIELD("idle_since", INT, node, idle_since),
    FIELD("source", TEXT, node, source),
    END,
};

const struct bj_report_field bj_gpu_fields[] = {
    FIELD("node", TEXT, gpu, node),
    FIELD("gpu", TEXT, gpu, gpu),
    FIELD("index", TEXT, gpu, index),
    FIELD("model", TEXT, gpu, model),
    FIELD("held_seconds", MICRO, gpu, held_usec),
    FIELD("idle_seconds", MICRO, gpu, idle_usec),
    FIELD("busy_percent", PPM, gpu, busy_ppm),
    FIELD("memory_peak_bytes", INT, gpu, memory_peak),
    FIELD("idle_since", INT, gpu, idle_since),
    FIELD("fault", TEXT, gpu, fault),
    FIELD("fault_xid", INT, gpu, fault_xid),
    FIELD("fault_at", INT, gpu, fault_at),
    FIELD("fault_evidence", TEXT, gpu, fault_evidence),
    FIELD("source", TEXT, gpu, source),
    END,
};

const struct bj_report_field bj_array_fields[] = {
    FIELD("tasks", INT, array, tasks),
    FIELD("completed", INT, array, completed),
    FIELD("failed", INT, array, failed),
    FIELD("timeout", INT, array, timeout),
    FIELD("oom", INT, array, oom),
    FIELD("cancelled", INT, array, cancelled),
    FIELD("open", INT, array, open),
    FIELD("failed_tasks", TEXT, array, failed_tasks),
    FIELD("failed_tasks_more", INT, array, failed_more),
    FIELD("judged", INT, array, judged),
    FIELD("cpu_allocated_seconds", MICRO, array, cpu_allocated_usec),
    FIELD("cpu_used_seconds", MICRO, array, cpu_used_usec),
    FIELD("ran", INT, array, ran),
    FIELD("energy_joules", MICRO, array, energy_uj),
    FIELD("energy_tasks", INT, array, energy_tasks),
    FIELD("emissions_grams", MICRO, array, emissions_ug),
    FIELD("emissions_tasks", INT, array, emissions_tasks),
    FIELD("cost", MICRO, array, cost),
    FIELD("cost_not_charged", MICRO, array, not_charged),
    FIELD("cost_tasks", INT, array, cost_tasks),
    FIELD("node_failed", INT, array, node_failed),
    FIELD("hardware_failed", INT, array, hardware_failed),
    END,
};

/* busy_cpus are millionths; the other values are whole. */
const struct bj_report_field bj_spread_fields[] = {
    FIELD("value", TEXT, spread, value),
    FIELD("tasks", INT, spread, tasks),
    FIELD("min", MICRO, spread, min),
    FIELD("median", MICRO, spread, median),
    FIELD("p95", MICRO, spread, p95),
    FIELD("max", MICRO, spread, max),
    FIELD("largest", TEXT, spread, largest),
    END,
};

/* The kind of the numbers of a figure with that unit: seconds, joules, grams
 * and money are millionths, bytes are bytes. */
static enum bj_value_kind figure_kind(struct bj_slice unit)
{
    return bj_slice_eq(unit, BJ_SLICE("bytes")) ||
                   bj_slice_eq(unit, BJ_SLICE("memory_peak_bytes")) ||
                   bj_slice_eq(unit, BJ_SLICE("elapsed_seconds"))
               ? BJ_AS_INT
               : BJ_AS_MICRO;
}

static const void *field_at(const void *base, const struct bj_report_field *f)
{
    return (const char *)base + f->off;
}

/* The kind of numbers in figures and spreads depends on the unit. */
static enum bj_value_kind json_kind_of(const struct bj_report_field *f,
                                       struct bj_slice unit)
{
    return f->kind == BJ_AS_MICRO && unit.n > 0 ? figure_kind(unit) : f->kind;
}

/* --- writing ---------------------------------------------------------------
 */

static void put_object(struct bj_buf *out, const struct bj_report_field *fields,
                       const void *base, struct bj_slice unit)
{
    for (const struct bj_report_field *f = fields; f->name; f++) {
        struct bj_job_value v = {.known = true};
        if (f->kind == BJ_AS_TEXT) {
            memcpy(&v.text, field_at(base, f), sizeof(v.text));
            v.known = v.text.p != NULL;
        } else {
            memcpy(&v.number, field_at(base, f), sizeof(v.number));
            v.known = v.number != BJ_SQL_NULL;
        }
        bj_buf_printf(out, "%c\"%s\":", f == fields ? '{' : ',', f->name);
        bj_value_json(out, json_kind_of(f, unit), &v);
    }
    bj_buf_str(out, "}");
}

static void put_array(struct bj_buf *out, const char *name,
                      const struct bj_report_field *fields, const void *rows,
                      size_t n, size_t size)
{
    bj_buf_printf(out, ",\"%s\":[", name);
    for (size_t i = 0; i < n; i++) {
        bj_buf_str(out, i ? ",\n" : "\n");
        put_object(out, fields, (const char *)rows + i * size,
                   (struct bj_slice){0});
    }
    bj_buf_str(out, "]");
}

static void json_put_job(const struct bj_report *r, struct bj_buf *out)
{
    const struct bj_column *const *column = bj_report_columns();
    for (unsigned i = 0; i < BJ_REPORT_COLUMN_COUNT; i++) {
        bj_buf_printf(out, "%s\"%s\":", i ? "," : "", column[i]->name);
        bj_value_json(out, column[i]->kind, &r->job[i]);
    }
    bool unlimited = bj_report_number(r, BJ_REPORT_LIMIT) == INT64_MAX;
    bj_buf_printf(out, ",\"time_limit_unlimited\":%s,\"interactive\":%s",
                  unlimited ? "true" : "false",
                  r->interactive ? "true" : "false");
}

static void put_figures(const struct bj_report *r, struct bj_buf *out)
{
    for (unsigned i = 0; i < BJ_FIGURES; i++) {
        bj_buf_str(out, i ? ",\n" : "\n");
        put_object(out, bj_figure_fields, &r->figure[i], r->figure[i].unit);
    }
}

static void put_spreads(const struct bj_report *r, struct bj_buf *out)
{
    const struct bj_report_array *a = &r->array;
    if (a->tasks == 0) {
        bj_buf_str(out, "null");
        return;
    }
    put_object(out, bj_array_fields, a, (struct bj_slice){0});
    out->len -= out->len > 0; /* remove the closing brace, to add a member */
    bj_buf_str(out, ",\"spread\":[");
    for (unsigned i = 0; i < BJ_SPREADS; i++) {
        bj_buf_str(out, i ? "," : "");
        put_object(out, bj_spread_fields, &a->spread[i], a->spread[i].value);
    }
    bj_buf_str(out, "]}");
}

void bj_report_write(const struct bj_report *r, struct bj_buf *out)
{
    bj_buf_str(out, "{\"verdict\":");
    put_object(out, bj_verdict_fields, &r->verdict, (struct bj_slice){0});
    bj_buf_str(out, ",\n\"job\":{");
    json_put_job(r, out);
    bj_buf_str(out, "},\n\"figures\":[");
    put_figures(r, out);
    bj_buf_str(out, "]");
    put_array(out, "findings", bj_finding_fields, r->finding, r->findings,
              sizeof(*r->finding));
    put_array(out, "warnings", bj_warning_fields, r->warning, r->warnings,
              sizeof(*r->warning));
    put_array(out, "advice", bj_advice_fields, r->advice, r->advices,
              sizeof(*r->advice));
    bj_buf_str(out, ",\n\"next\":");
    if (r->next.options.n > 0)
        put_object(out, bj_next_fields, &r->next, (struct bj_slice){0});
    else
        bj_buf_str(out, "null");
    put_array(out, "nodes", bj_node_fields, r->node, r->nodes,
              sizeof(*r->node));
    put_array(out, "gpus", bj_gpu_fields, r->gpu, r->gpus, sizeof(*r->gpu));
    bj_buf_str(out, ",\n\"array\":");
    put_spreads(r, out);
    bj_buf_str(out, "}");
}

/* --- reading ---------------------------------------------------------------
 */

struct parser {
    struct bj_report *r;
    struct bj_err *err;
};

static int json_wrong(struct parser *p, const char *name)
{
    return bj_err_set(p->err, -EBADMSG, "report: %s has another type", name);
}

static int get_object(struct parser *p, const struct bj_json *v,
                      const struct bj_report_field *fields, void *base,
                      struct bj_slice unit)
{
    for (const struct bj_report_field *f = fields; f->name; f++) {
        struct bj_job_value got;
        enum bj_value_kind kind = json_kind_of(f, unit);
        if (bj_job_value_json(kind, bj_json_get(v, f->name), &got) < 0)
            return json_wrong(p, f->name);
        int64_t number = got.known ? got.number : BJ_SQL_NULL;
        if (got.known && f->kind == BJ_AS_TEXT)
            got.text = bj_arena_copy(&p->r->arena, got.text);
        if (f->kind == BJ_AS_TEXT)
            memcpy((char *)base + f->off, &got.text, sizeof(got.text));
        else
            memcpy((char *)base + f->off, &number, sizeof(number));
    }
    return 0;
}

static int get_array(struct parser *p, const struct bj_json *v,
                     const struct bj_report_field *fields, void **ret,
                     size_t *ret_n, size_t size)
{
    size_t n = bj_json_len(v);
    char *rows = bj_arena_alloc(&p->r->arena, n * size);
    int r = rows ? 0 : bj_err_set(p->err, -ENOMEM, "report");
    BJ_JSON_EACH(row, v)
    if (r == 0)
        r = get_object(p, row, fields, rows + size * (*ret_n)++,
                       (struct bj_slice){0});
    *ret = rows;
    return r;
}

static int get_job(struct parser *p, const struct bj_json *v)
{
    const struct bj_column *const *column = bj_report_columns();
    bool yes = false;
    for (unsigned i = 0; i < BJ_REPORT_COLUMN_COUNT; i++) {
        struct bj_job_value *to = &p->r->job[i];
        if (bj_job_value_json(column[i]->kind, bj_json_get(v, column[i]->name),
                              to) < 0)
            return json_wrong(p, column[i]->name);
        if (to->known && to->text.p)
            to->text = bj_arena_copy(&p->r->arena, to->text);
    }
    if (bj_json_bool(bj_json_get(v, "time_limit_unlimited"), &yes) == 0 && yes)
        p->r->job[BJ_REPORT_LIMIT] =
            (struct bj_job_value){.known = true, .number = INT64_MAX};
    yes = false;
    p->r->interactive =
        bj_json_bool(bj_json_get(v, "interactive"), &yes) == 0 && yes;
    return 0;
}

static int get_figures(struct parser *p, const struct bj_json *v)
{
    int r = 0;
    for (unsigned i = 0; r == 0 && i < BJ_FIGURES; i++) {
        const struct bj_json *row = bj_json_at(v, i);
        r = get_object(p, row, bj_figure_fields, &p->r->figure[i],
                       bj_json_text(bj_json_get(row, "unit")));
    }
    return r;
}

static int get_spreads(struct parser *p, const struct bj_json *v)
{
    struct bj_report_array *a = &p->r->array;
    if (!v || bj_json_is_null(v))
        return 0;
    int r = get_object(p, v, bj_array_fields, a, (struct bj_slice){0});
    for (unsigned i = 0; r == 0 && i < BJ_SPREADS; i++) {
        const struct bj_json *row = bj_json_at(bj_json_get(v, "spread"), i);
        r = get_object(p, row, bj_spread_fields, &a->spread[i],
                       bj_json_text(bj_json_get(row, "value")));
    }
    return r;
}

int bj_report_parse(const struct bj_json *v, struct bj_report *ret,
                    struct bj_err *err)
{
    *ret = (struct bj_report){.interactive = false};
    struct parser p = {ret, err};
    if (bj_json_kind(bj_json_get(v, "job")) != BJ_JSON_OBJECT)
        return bj_err_set(err, -EBADMSG, "report: it has no job");
    int r = get_object(&p, bj_json_get(v, "verdict"), bj_verdict_fields,
                       &ret->verdict, (struct bj_slice){0});
    if (r == 0)
        r = get_job(&p, bj_json_get(v, "job"));
    if (r == 0)
        r = get_figures(&p, bj_json_get(v, "figures"));
    if (r == 0)
        r = get_array(&p, bj_json_get(v, "findings"), bj_finding_fields,
                      (void **)&ret->finding, &ret->findings,
                      sizeof(*ret->finding));
    if (r == 0)
        r = get_array(&p, bj_json_get(v, "warnings"), bj_warning_fields,
                      (void **)&ret->warning, &ret->warnings,
                      sizeof(*ret->warning));
    if (r == 0)
        r = get_array(&p, bj_json_get(v, "advice"), bj_advice_fields,
                      (void **)&ret->advice, &ret->advices,
                      sizeof(*ret->advice));
    const struct bj_json *next = bj_json_get(v, "next");
    if (r == 0 && next && !bj_json_is_null(next))
        r = get_object(&p, next, bj_next_fields, &ret->next,
                       (struct bj_slice){0});
    if (r == 0)
        r = get_array(&p, bj_json_get(v, "nodes"), bj_node_fields,
                      (void **)&ret->node, &ret->nodes, sizeof(*ret->node));
    if (r == 0)
        r = get_array(&p, bj_json_get(v, "gpus"), bj_gpu_fields,
                      (void **)&ret->gpu, &ret->gpus, sizeof(*ret->gpu));
    if (r == 0)
        r = get_spreads(&p, bj_json_get(v, "array"));
    return r == 0 && ret->arena.failed ? bj_err_set(err, -ENOMEM, "report") : r;
}

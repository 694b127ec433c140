#include "report/model/fields.h"

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

enum bj_value_kind bj_figure_kind(struct bj_slice unit)
{
    return bj_slice_eq(unit, BJ_SLICE("bytes")) ||
                   bj_slice_eq(unit, BJ_SLICE("memory_peak_bytes")) ||
                   bj_slice_eq(unit, BJ_SLICE("elapsed_seconds"))
               ? BJ_AS_INT
               : BJ_AS_MICRO;
}

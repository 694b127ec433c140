#include "core/model/metric.h"

const struct bj_unit_name bj_units[] = {
    [BJ_NUMBER] = {"", "", 0},
    [BJ_MICRO] = {"", "_micro", 6},
    [BJ_USEC] = {"_seconds", "_usec", 6},
    [BJ_SEC] = {"_seconds", "_seconds", 0},
    [BJ_BYTES] = {"_bytes", "_bytes", 0},
    [BJ_UJ] = {"_joules", "_uj", 6},
    [BJ_UW] = {"_watts", "_uw", 6},
    [BJ_UG_PER_KWH] = {"_grams_per_kwh", "_ug_per_kwh", 6},
    [BJ_PPM] = {"_ratio", "_ppm", 6},
    [BJ_UCELSIUS] = {"_celsius", "_ucelsius", 6},
    [BJ_HERTZ] = {"_hertz", "_hertz", 0},
    [BJ_BYTES_PER_SEC] = {"_bytes_per_second", "_bytes_per_second", 0},
};

static void metric_put_name(const struct bj_metric_table *t,
                            const struct bj_metric *m, struct bj_buf *out)
{
    bj_buf_str(out, t->name);
    bj_buf_str(out, *m->name ? "_" : "");
    bj_buf_str(out, m->name);
}

void bj_metric_prom_name(const struct bj_metric_table *t,
                         const struct bj_metric *m, struct bj_buf *out)
{
    bj_buf_str(out, t->bare ? "" : "batchjob_");
    metric_put_name(t, m, out);
    bj_buf_str(out, bj_units[m->unit].prom);
    bj_buf_str(out, m->kind == BJ_COUNTER ? "_total" : "");
}

void bj_metric_collectd_type(const struct bj_metric_table *t,
                             const struct bj_metric *m, struct bj_buf *out)
{
    metric_put_name(t, m, out);
    bj_buf_str(out, bj_units[m->unit].collectd);
}

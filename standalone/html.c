#include "standalone/html.h"

#include "base/html.h"
#include "core/model/metric.h"

#include <string.h>

/* --- cost -----------------------------------------------------------------*/

static const struct {
    const char *table, *heading;
} sections[] = {
    {"process", "Process"},
    {"sampler", "Passes"},
    {"collector", "Collectors"},
    {"cluster_source", "Queries to the scheduler"},
    {"meter", "Power meters"},
    {"gpu_source", "GPU libraries"},
    {"emission_provider", "Providers of emission factors"},
};

/* A cell with a number; empty where it is absent. */
static void html_put_cell(struct bj_buf *b, const struct bj_metric *m,
                          const char *record)
{
    uint64_t v;
    memcpy(&v, record + m->off, sizeof(v));
    bj_buf_str(b, "<td align=\"right\">");
    if (v != BJ_ABSENT)
        bj_buf_fixed(b, v, bj_units[m->unit].digits);
    bj_buf_str(b, "</td>");
}

/* "duration (seconds)", with the help as tooltip. */
static void put_metric(struct bj_buf *b, const struct bj_metric *m)
{
    const char *unit = bj_units[m->unit].prom;
    bj_buf_str(b, "<th align=\"left\" title=\"");
    bj_html_text(b, bj_slice_str(m->help));
    bj_buf_printf(b, "\">%s", *m->name ? m->name : "number");
    if (*unit)
        bj_buf_printf(b, " (%s)", unit + 1);
    bj_buf_str(b, "</th>");
}

/* A single record: a line for each number, with its help. */
static void put_one(struct bj_buf *b, const struct bj_metric_table *t,
                    const char *record)
{
    for (size_t i = 0; i < t->nrows; i++) {
        bj_buf_str(b, "<tr>");
        put_metric(b, &t->rows[i]);
        html_put_cell(b, &t->rows[i], record);
        bj_buf_str(b, "<td>");
        bj_html_text(b, bj_slice_str(t->rows[i].help));
        bj_buf_str(b, "</td></tr>\n");
    }
}

static void html_put_list(struct bj_buf *b, const struct bj_metric_table *t,
                          const struct bj_list *list)
{
    const char *record = list->v;
    bj_buf_printf(b, "<tr><th align=\"left\">%s</th>", t->label[0]);
    for (size_t i = 0; i < t->nrows; i++)
        put_metric(b, &t->rows[i]);
    bj_buf_str(b, "</tr>\n");
    for (size_t k = 0; k < list->n; k++, record += t->size) {
        bj_buf_str(b, "<tr><td>");
        bj_html_text(b, ((const struct bj_sub *)(const void *)record)->key[0]);
        bj_buf_str(b, "</td>");
        for (size_t i = 0; i < t->nrows; i++)
            html_put_cell(b, &t->rows[i], record);
        bj_buf_str(b, "</tr>\n");
    }
}

static void html_put_table(struct bj_buf *b, const struct bj_snap *snap,
                           const struct bj_metric_table *t, const char *heading)
{
    const char *at = (const char *)snap + t->off;
    const struct bj_list *list = (const void *)at;
    if (t->list && list->n == 0)
        return;
    bj_buf_printf(b, "<h2>%s</h2>\n<table border=\"1\">\n", heading);
    if (t->list)
        html_put_list(b, t, list);
    else
        put_one(b, t, at);
    bj_buf_str(b, "</table>\n");
}

void bj_html_cost(const struct bj_snap *snap, struct bj_buf *out)
{
    bj_buf_str(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta "
                    "charset=\"utf-8\"><title>Cost of "
                    "batchjob_exporter</title></head>\n<body><h1>Cost of "
                    "batchjob_exporter</h1>\n<p>Durations are those of the "
                    "last run; counters began at the start.</p>\n");
    for (size_t s = 0; s < sizeof(sections) / sizeof(sections[0]); s++)
        for (size_t i = 0; i < bj_metric_ntables; i++)
            if (strcmp(bj_metric_tables[i].name, sections[s].table) == 0 &&
                bj_metric_tables[i].owner == BJ_OF_SNAP)
                html_put_table(out, snap, &bj_metric_tables[i],
                               sections[s].heading);
    bj_buf_str(out, "</body></html>\n");
}

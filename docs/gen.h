/* Generators of docs/gen.c in other files. Each appends its output to out; 0 or
 * -errno. */
#ifndef BJ_DOCS_GEN_H
#define BJ_DOCS_GEN_H

#include "base/buf.h"
#include "core/model/metric.h"

/* The scrape configuration for a collectd with the plugin; it changes the
 * labels of its series to those of the exporter. */
int bj_gen_scrape(struct bj_buf *out);

/* Recording rules that convert collectd's names and units to the exporter's. */
int bj_gen_rules(struct bj_buf *out);

/* The manuals of the collectd plugin and of the exporter. */
int bj_gen_man_plugin(struct bj_buf *out);
int bj_gen_man_exporter(struct bj_buf *out);

/* When the metric is absent, for docs/metrics.md; NULL: docs/gen_absent.c does
 * not say it, which ends the build. */
const char *bj_gen_absent(const struct bj_metric_table *t,
                          const struct bj_metric *m);

#endif

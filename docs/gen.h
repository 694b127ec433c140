/* Generators of docs/gen.c in other files. Each appends its output to out; 0 or
 * -errno. */
#ifndef BJ_DOCS_GEN_H
#define BJ_DOCS_GEN_H

#include "base/buf.h"
#include "base/opt.h"
#include "core/model/metric.h"

/* The scrape configuration for a collectd with the plugin; it changes the
 * labels of its series to those of the exporter. */
int bj_gen_scrape(struct bj_buf *out);

/* Recording rules that convert collectd's names and units to the exporter's. */
int bj_gen_rules(struct bj_buf *out);

/* BATCHJOB-MIB; and whether it still has each object of the file path, with its
 * number, type and unit: 0, or -EINVAL with a line on standard error. */
int bj_gen_mib(struct bj_buf *out);
int bj_gen_mib_check(const char *path, const struct bj_buf *now);

/* How the name and the value of an option are written. */
enum bj_gen_style {
    BJ_GEN_COMMAND_LINE,
    BJ_GEN_COLLECTD, /* PathProcfs value */
    BJ_GEN_YAML      /* path.procfs: value */
};

/* Options in roff, with a heading for each group, or below one heading. */
void bj_gen_options(struct bj_buf *out, const struct bj_optset *sets, size_t n,
                    enum bj_gen_style style);
void bj_gen_options_below(struct bj_buf *out, const char *heading,
                          const struct bj_optset *set);

/* The options of each program in roff, with a heading for each group. */
int bj_gen_plugin_options(struct bj_buf *out);
int bj_gen_exporter_options(struct bj_buf *out);
int bj_gen_snmp_options(struct bj_buf *out);
int bj_gen_acct_options(struct bj_buf *out);
int bj_gen_server_options(struct bj_buf *out);
int bj_gen_db_options(struct bj_buf *out);
int bj_gen_db_command_line(struct bj_buf *out); /* only there */
int bj_gen_db_cluster(struct bj_buf *out);      /* in the file of a cluster */
int bj_gen_db_target(struct bj_buf *out);       /* in that of a target */

/* The columns of jobs in roff. */
int bj_gen_columns(struct bj_buf *out);

/* Tables in Markdown: built-in rules for ended and for running jobs, meters of
 * BMCs and local ones. */
int bj_gen_rules_ended(struct bj_buf *out);
int bj_gen_rules_running(struct bj_buf *out);
int bj_gen_meters_bmc(struct bj_buf *out);
int bj_gen_meters_local(struct bj_buf *out);

/* Append text with the characters that roff interprets escaped; and as lines of
 * a paragraph. */
void bj_gen_roff(struct bj_buf *out, const char *text);
void bj_gen_roff_lines(struct bj_buf *out, const char *text);

/* When the metric is absent, for docs/metrics.md; NULL: docs/gen_absent.c does
 * not say it, which ends the build. */
const char *bj_gen_absent(const struct bj_metric_table *t,
                          const struct bj_metric *m);

#endif

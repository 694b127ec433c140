/* Generators of docs/gen.c that have files of their own.  Each appends its
 * product to out; 0 or -errno. */
#ifndef BJ_DOCS_GEN_H
#define BJ_DOCS_GEN_H

#include "base/buf.h"

/* How Prometheus scrapes a collectd with the plugin: labels that say what the
 * exporter's say. */
int bj_gen_scrape(struct bj_buf *out);

/* Recording rules that turn collectd's names and units into the exporter's. */
int bj_gen_rules(struct bj_buf *out);

/* The manual of the collectd plugin. */
int bj_gen_man(struct bj_buf *out);

#endif

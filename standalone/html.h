/* Pages for people, without scripts. */
#ifndef BJ_STANDALONE_HTML_H
#define BJ_STANDALONE_HTML_H

#include "base/buf.h"
#include "core/core.h"

/* A page about what the exporter itself costs: its process, its looks, and what
 * each collector, source and meter took the last time and got wrong so far;
 * from the records that the metrics of the same names are made of. */
void bj_html_cost(const struct bj_snap *snap, struct bj_buf *out);

#endif

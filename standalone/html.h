/* HTML pages, without scripts. */
#ifndef BJ_STANDALONE_HTML_H
#define BJ_STANDALONE_HTML_H

#include "base/buf.h"
#include "core/core.h"

/* The page /cost: CPU time and memory of the exporter, and durations and errors
 * of passes, collectors, sources and meters; from the records of the metrics
 * with the same names. */
void bj_html_cost(const struct bj_snap *snap, struct bj_buf *out);

#endif

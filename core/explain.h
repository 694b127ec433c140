/* Log lines for administrators: the sources in use on this node, and why a
 * cgroup counts as a job or not.  Internal to the core, which calls all
 * functions with its lock held. */
#ifndef BJ_CORE_EXPLAIN_H
#define BJ_CORE_EXPLAIN_H

#include "core/find/layout.h"

struct bj_core;
struct bj_track;

/* Log the sources in use, after the first pass. */
void bj_explain_start(const struct bj_core *core);

/* Debug: log the kind of a directory of a hierarchy (mask of enum
 * bj_path_kind), and for a hit its match m.  Each directory is logged once. */
void bj_explain_path(struct bj_core *core, unsigned hier, const char *rel,
                     unsigned kind, const struct bj_path_match *m);
/* Debug: log an event of a job. */
void bj_explain_job(const struct bj_track *t, const char *what);

void bj_explain_free(struct bj_core *core);

#endif

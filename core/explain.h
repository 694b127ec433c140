/* Log lines for administrators: what this node is measured with, and why a
 * cgroup was taken for a job or not.  Internal to the core, which calls all but
 * bj_core_introduce with its lock held. */
#ifndef BJ_CORE_EXPLAIN_H
#define BJ_CORE_EXPLAIN_H

#include "core/find/layout.h"

struct bj_core;
struct bj_track;

/* Debug: what a directory of a hierarchy is (mask of enum bj_path_kind); m of a
 * hit.  Each directory is explained once. */
void bj_explain_path(struct bj_core *core, unsigned hier, const char *rel,
                     unsigned kind, const struct bj_path_match *m);
/* Debug: what has happened to a job. */
void bj_explain_job(const struct bj_track *t, const char *what);

void bj_explain_free(struct bj_core *core);

#endif

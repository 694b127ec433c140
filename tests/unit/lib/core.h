/* A core over a tree of plain files, for tests. */
#ifndef BJ_TESTS_UNIT_LIB_CORE_H
#define BJ_TESTS_UNIT_LIB_CORE_H

#include "core/core.h"

#include <stdbool.h>

/* Options and the core made from them.  One at a time. */
struct rig {
    struct bj_conf conf;
    struct bj_core *core;
    struct bj_snap *snap; /* of the last pass; dropped by the next */
    atomic_uint threads;  /* that the core has started */
    char log[4096];       /* what the core has logged, a line each */
};

/* Options from "name=value" strings, up to NULL; then the core. */
void rig_start(struct rig *r, ...);
void rig_stop(struct rig *r);

/* One pass; r->snap holds what it found. */
void rig_pass(struct rig *r);

/* The job of that id, or NULL. */
const struct bj_job *rig_job(const struct rig *r, const char *jobid);

/* A directory of its own for the test; removed with all in it by tmp_gone. */
const char *tmp_make(void);
void tmp_gone(void);

/* Below that directory: make a directory with its parents; write a file;
 * remove a directory with all in it. */
void tmp_dir(const char *rel);
void tmp_file(const char *rel, const char *text);
void tmp_remove(const char *rel);

/* A v2 job directory as the kernel makes it: files with the given CPU time,
 * memory and process ids. */
void tmp_v2_job(const char *rel, unsigned long cpu_usec, unsigned long bytes,
                const char *pids);

#endif

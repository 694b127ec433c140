/* A core that reads a tree of plain files, for tests. */
#ifndef BJ_TESTS_UNIT_LIB_CORE_H
#define BJ_TESTS_UNIT_LIB_CORE_H

#include "core/core.h"

#include <stdbool.h>

/* Options and the core made from them.  Only one may exist at a time. */
struct rig {
    struct bj_conf conf;
    struct bj_core *core;
    struct bj_snap *snap; /* of the last pass; freed by the next */
    atomic_uint threads;  /* started by the core */
    char start[1024];     /* message of the first pass */
    char log[4096];       /* other messages of the core, one per line */
};

/* Set options from "name=value" strings, up to NULL, then create the core. */
void rig_start(struct rig *r, ...);
void rig_stop(struct rig *r);

/* Run one pass; r->snap is its snapshot. */
void rig_pass(struct rig *r);

/* The job in the snapshot with this id, or NULL. */
const struct bj_job *rig_job(const struct rig *r, const char *jobid);

/* Parse a final record, which batchjob_stats_db must accept: 0 or negative. */
struct bj_arena;
struct bj_json;
int rig_record(struct bj_arena *a, struct bj_slice text,
               const struct bj_json **ret, struct bj_err *err);

/* Make a temporary directory; tmp_gone removes it with its contents. */
const char *tmp_make(void);
void tmp_gone(void);

/* Below that directory: make a directory with its parents; write a file; remove
 * a directory with its contents. */
void tmp_dir(const char *rel);
void tmp_file(const char *rel, const char *text);
void tmp_remove(const char *rel);

/* Write a cgroup v2 directory of a job, with the given CPU time, memory and
 * process ids. */
void tmp_v2_job(const char *rel, unsigned long cpu_usec, unsigned long bytes,
                const char *pids);

#endif

/* Steps and tasks of a job: published if enabled, and on cgroup v1 needed for
 * the job's memory events (core/events.h).  Internal to the core. */
#ifndef BJ_CORE_STEP_H
#define BJ_CORE_STEP_H

#include "core/events.h"
#include "core/find/tree.h"

struct bj_conf;
struct bj_track;
struct bj_unit;

/* A step, or a task of one. */
struct bj_step {
    struct bj_step *next;
    struct bj_track *job;
    struct bj_unit *unit;          /* NULL: steps are not published */
    const char *rel;               /* path below the directories of the job */
    const char *step, *task;       /* task: "" for the step itself */
    uint64_t first_usec;           /* when it was first seen */
    struct bj_event_counts events; /* v1 */
    bool events_read;              /* at least once */
    char text[];                   /* memory of rel, step and task */
};

/* The steps of a job. */
struct bj_steps {
    struct bj_step *first;
    struct bj_tree *tree; /* NULL: not searched yet */
    unsigned hier;        /* hierarchy of the tree */
};

/* Whether steps are published. */
bool bj_steps_published(const struct bj_conf *conf);

/* Scan for the steps of t. */
void bj_steps_scan(struct bj_track *t);
void bj_steps_free(struct bj_track *t);

#endif

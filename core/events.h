/* Memory events of v1 jobs: limit hits and OOM kills.  The kernel counts them
 * in the cgroup where they happen, not in its parents, so the value of a job is
 * the sum over its steps and tasks.  A cgroup that hits the limit of memory
 * plus swap is also near its memory limit, which is never higher.  Internal to
 * the core. */
#ifndef BJ_CORE_EVENTS_H
#define BJ_CORE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

struct bj_track;
struct bj_step;

enum { BJ_EV_HITS, BJ_EV_KILLS, BJ_EV_SWAP_HITS, BJ_EVENTS };

/* Events of a cgroup, and of removed cgroups below it. */
struct bj_event_counts {
    uint64_t own[BJ_EVENTS], gone[BJ_EVENTS];
};

struct bj_job_events; /* kept for each job; core/events.c */

/* Whether the events of the job are summed over its cgroups. */
bool bj_events_summed(const struct bj_track *t);

/* Whether new events are possible, so that the steps of the job must be known.
 * slow: the slow files are due. */
bool bj_events_due(const struct bj_track *t, bool slow);

/* Read the events, unless peak, limits and the kernel's count of OOM kills show
 * that there are no new ones. */
void bj_events_read(struct bj_track *t, bool slow);

/* A step or task has appeared.  A step or task has gone: its events are kept in
 * the cgroup above it. */
void bj_events_step_added(struct bj_track *t);
void bj_events_step_lost(struct bj_track *t, const struct bj_step *s,
                         struct bj_step *parent);
void bj_events_free(struct bj_track *t);

#endif

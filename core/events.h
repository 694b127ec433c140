/* Memory events of v1 jobs, limit hits and OOM kills: the kernel counts them in
 * the cgroup where they happen and does not add them up, so that a job has the
 * sum over its steps and tasks.  A cgroup that hits the limit of memory plus
 * swap is near its limit of memory, which is never above it.  Internal to the
 * core. */
#ifndef BJ_CORE_EVENTS_H
#define BJ_CORE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

struct bj_track;
struct bj_step;

enum { BJ_EV_HITS, BJ_EV_KILLS, BJ_EV_SWAP_HITS, BJ_EVENTS };

/* Events of one cgroup, and of those below it that have gone. */
struct bj_event_counts {
    uint64_t own[BJ_EVENTS], gone[BJ_EVENTS];
};

struct bj_job_events; /* what is kept for a job; core/events.c */

/* Whether the events of the job are summed over its cgroups. */
bool bj_events_summed(const struct bj_track *t);

/* Whether there can be new ones, so that the steps of the job must be known.
 * slow: it is time for the files that are read at the slow interval. */
bool bj_events_due(const struct bj_track *t, bool slow);

/* Read them, unless peak, limits and the kernel's count of OOM kills show that
 * there are none. */
void bj_events_read(struct bj_track *t, bool slow);

/* A step or task has appeared; one has gone, whose events stay with the cgroup
 * above it. */
void bj_events_step_added(struct bj_track *t);
void bj_events_step_lost(struct bj_track *t, const struct bj_step *s,
                         struct bj_step *parent);
void bj_events_free(struct bj_track *t);

#endif

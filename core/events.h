/* Memory events of jobs: limit hits and OOM kills.
 *
 * v1: the kernel counts them in the cgroup where they happen, not in its
 * parents, so the value of a job is the sum over its steps and tasks.  A cgroup
 * that hits the limit of memory plus swap is also near its memory limit, which
 * is never higher.
 *
 * v1 and v2: a cgroup may be removed before its last OOM kill was read.  The
 * kernel also counts the kills of the whole machine.  Those that were read in
 * no job are unexplained.  If their number has risen between the last read of a
 * job and the removal of a cgroup of it, the job may have missed one: its kills
 * are unknown unless some are known, until a later read of another job explains
 * them.  Internal to the core. */
#ifndef BJ_CORE_EVENTS_H
#define BJ_CORE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

struct bj_core;
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

/* Has the machine had an OOM kill since the events of the job were read? */
bool bj_events_killed(const struct bj_track *t);

/* Read the events, unless peak, limits and the kernel's count of OOM kills show
 * that there are no new ones. slow: the latter is read, too. */
void bj_events_read(struct bj_track *t, bool slow);

/* A step or task has appeared.  A step or task has gone: its events are kept in
 * the cgroup above it. */
void bj_events_step_added(struct bj_track *t);
void bj_events_step_lost(struct bj_track *t, const struct bj_step *s,
                         struct bj_step *parent);
/* The job has ended: its cgroups have gone. */
void bj_events_end(struct bj_track *t);
void bj_events_free(struct bj_track *t);

/* v2: the job's memory events were read, by its collector.  slow: as above. */
void bj_events_note(struct bj_track *t, bool slow);

/* After the memory of all jobs was read: set their OOM kills. */
void bj_events_settle(struct bj_core *core);

#endif

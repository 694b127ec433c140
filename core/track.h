/* Tracks: the data of jobs that is kept between passes.  Internal to the
 * core. */
#ifndef BJ_CORE_TRACK_H
#define BJ_CORE_TRACK_H

#include "core/collect/process.h"
#include "core/collect/unit.h"
#include "core/identity.h"
#include "core/life.h"
#include "core/rate.h"
#include "core/step.h"
#include "core/watches.h"

struct bj_job_energy; /* core/energy/energy.h */

/* A job: its cgroups, and the data that the files of the core keep for it. */
struct bj_track {
    struct bj_core *core;
    struct bj_unit unit;
    const struct bj_layout *layout;
    char *key;      /* system, node, id: identifies the job */
    const char *id; /* job id, or its substitute until it is known; the end of
                       key */
    struct bj_life life;
    struct bj_ident *ident; /* its identity, as far as known; never NULL */
    struct bj_identity *identity;
    struct bj_steps steps;
    struct bj_job_events *events; /* NULL: none read */
    struct bj_rate rate;          /* of its CPU time, if needed */
    struct bj_jobproc *proc;      /* its processes; NULL: not followed */
    struct bj_job_energy *energy; /* NULL: none */
    struct bj_watched watched;
};

/* The tracks of a core, sorted by id, then by key. */
struct bj_tracks {
    struct bj_track **v;
    size_t n, cap;
    size_t live;  /* number of running jobs; counted when a scan begins, updated
                     during it */
    size_t steps; /* of all jobs */
};

struct bj_track *bj_track_new(struct bj_core *core,
                              const struct bj_path_match *m, const char *rel);
void bj_track_free(struct bj_track *t);

/* Insert a track in order; -ENOMEM.  Find a track by the key of m, and by owner
 * if the path has one; or NULL.  Remove a track without freeing it. */
int bj_tracks_insert(struct bj_tracks *ts, struct bj_track *t);
struct bj_track *bj_tracks_find(const struct bj_tracks *ts,
                                const struct bj_path_match *m, const char *key);
void bj_tracks_remove(struct bj_tracks *ts, struct bj_track *t);

/* t begins: an earlier job with the same id is replaced. */
void bj_tracks_replace(struct bj_tracks *ts, const struct bj_track *t);

/* The key of a match, in buf. */
const char *bj_track_key(const struct bj_path_match *m, const char *rel,
                         char *buf, size_t cap);

/* True while its cgroup exists and has, or may get, processes. */
static inline bool bj_track_live(const struct bj_track *t)
{
    return t->life.end_usec == 0;
}

/* True if the job cannot continue: a cgroup that is only empty may get
 * processes again during the grace period. */
bool bj_track_over(const struct bj_track *t);

/* End the job at this time. */
void bj_track_end(struct bj_track *t, uint64_t boot_usec, uint64_t wall_usec);

/* Search the hierarchies where it has no directory yet. */
void bj_track_place(struct bj_track *t, uint64_t now_usec);

/* Start of the oldest process in it, boot clock, or BJ_ABSENT. */
uint64_t bj_track_oldest(const struct bj_track *t, uint64_t now_usec);

/* The wall clock now shows wall_usec: it may have been set since the job began,
 * whose start then has another time. */
void bj_track_clock(struct bj_track *t, uint64_t boot_usec, uint64_t wall_usec);

/* Start of the job, seconds since 1970: that of the scheduler, unless it is
 * later than that of the oldest process by more than a minute, because a clock
 * was wrong at the start.  BJ_ABSENT: unknown. */
uint64_t bj_track_start(const struct bj_track *t);

/* Absolute path in the hierarchy with the most complete cgroup.procs: cpuacct
 * of v1 has the tasks without slurmstepd.  false when there is none. */
bool bj_track_procs_path(const struct bj_track *t, char *buf, size_t cap,
                         bool *ret_v2);

#endif

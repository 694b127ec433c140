/* Tracks: what outlives a pass of a job.  Internal to the core. */
#ifndef BJ_CORE_TRACK_H
#define BJ_CORE_TRACK_H

#include "core/collect/process.h"
#include "core/collect/unit.h"
#include "core/energy/ledger.h"
#include "core/find/ident.h"
#include "core/find/layout.h"
#include "core/find/told.h"
#include "core/find/tree.h"
#include "core/rate.h"

enum { BJ_EV_HITS, BJ_EV_KILLS, BJ_EV_SWAP_HITS, BJ_EVENTS };

/* A step, or a task of one. */
struct bj_step {
    struct bj_step *next;
    struct bj_track *job;
    struct bj_unit *unit;    /* NULL when steps are not told */
    const char *rel;         /* path below the directories of the job */
    const char *step, *task; /* task: "" for the step itself */
    uint64_t first_usec;     /* when it was seen first */
    /* v1: events of this very cgroup, and of those below that have gone. */
    uint64_t local[BJ_EVENTS], retired[BJ_EVENTS];
    char text[]; /* what rel, step and task point to */
};

/* A job. */
struct bj_track {
    struct bj_core *core;
    struct bj_unit unit;
    const struct bj_layout *layout;
    char *key;        /* system, node, id: what makes it this job */
    const char *id;   /* job id, or what stands for it until it is known: the
                         end of key */
    unsigned cookies; /* hierarchies in which a tree knows it */
    bool born;        /* processes were seen in it */
    bool dying;       /* a hierarchy has lost it: it is over */
    bool former;      /* over, and directories of its name are there again:
                         what is left of it, or the same id once more */
    bool replaced;    /* ... which it is, once there are processes in them */
    bool shell;       /* no processes any more, but its cgroup is still there */
    unsigned empty;   /* checks in a row that found no process */
    /* Boot clock: when it was seen first, and born; end 0 while it runs. */
    uint64_t first_usec, born_usec, end_usec;
    uint64_t start_sec, end_sec; /* wall clock, BJ_ABSENT */
    uint64_t place_usec;         /* when missing directories are looked for */
    unsigned place_tries;
    uint64_t checked_cpu_usec; /* CPU time at the last check for processes */
    /* v1's memory events (core/events.c): when they are read at the latest;
     * peak and OOM kills of the machine when they were read last; the lowest
     * limit of a step. */
    uint64_t events_usec, seen_peak_bytes, seen_oom_kills, step_limit_bytes;
    struct bj_rate rate;    /* of its CPU time, where that is asked for */
    uint64_t read_pass;     /* number of the pass that read it last */
    uint16_t seen_there;    /* unit.there after the last pass */
    bool hidden;            /* its grace time is over */
    struct bj_told *told;   /* by its path */
    struct bj_ident *ident; /* the core's nobody, until it was asked for */
    bool found;             /* it holds more than the path told */
    struct bj_ident_ask *ask;
    unsigned asked, answered;
    uint64_t ask_usec;
    struct bj_jobproc *proc;
    struct bj_tree *step_tree;
    struct bj_step *steps;
    unsigned step_hier;
    uint64_t local[BJ_EVENTS], retired[BJ_EVENTS]; /* as of a step */
    struct bj_account *account; /* its energy; NULL: none, or settled */
    bool closed;                /* the account knows of its end */
    bool recorded;     /* its final record is written, or none is due */
    bool energy_shown; /* energy_uj holds something */
    uint64_t energy_uj[BJ_COMPONENTS]; /* as shown */
};

/* The tracks of a core, sorted by id, then by key. */
struct bj_tracks {
    struct bj_track **v;
    size_t n, cap;
    size_t live;  /* that run; counted when a look begins, and kept during it */
    size_t steps; /* of all jobs */
};

struct bj_track *bj_track_new(struct bj_core *core,
                              const struct bj_path_match *m, const char *rel);
void bj_track_free(struct bj_track *t);

/* Another of its directories was found, whose path may tell more. */
void bj_track_learn(struct bj_track *t, const struct bj_path_match *m);

/* Insert at its place; -ENOMEM.  Find by key, which is that of m, and by owner
 * where the path tells one; NULL.  Remove without freeing. */
int bj_tracks_insert(struct bj_tracks *ts, struct bj_track *t);
struct bj_track *bj_tracks_find(const struct bj_tracks *ts,
                                const struct bj_path_match *m, const char *key);
void bj_tracks_remove(struct bj_tracks *ts, struct bj_track *t);

/* t is born: a former job of the same id makes way. */
void bj_tracks_replace(struct bj_tracks *ts, const struct bj_track *t);

/* Its identity is made of these fields from now on.  false, and it stays as it
 * is, when memory is out. */
bool bj_track_name(struct bj_track *t, const struct bj_slice f[BJ_ID_FIELDS]);

/* The key of a match, in buf. */
const char *bj_track_key(const struct bj_path_match *m, const char *rel,
                         char *buf, size_t cap);

/* True while its cgroup is there and has, or may get, processes. */
static inline bool bj_track_live(const struct bj_track *t)
{
    return t->end_usec == 0;
}

/* True once it will not come back: a cgroup that has only lost its processes
 * may get others, for the grace time. */
bool bj_track_over(const struct bj_track *t);

/* Its end was noticed now. */
void bj_track_end(struct bj_track *t, uint64_t boot_usec, uint64_t wall_usec);

/* Look for its directories in the hierarchies where it has none yet. */
void bj_track_place(struct bj_track *t, uint64_t now_usec);

/* Start of the oldest process in it, seconds since 1970, or BJ_ABSENT. */
uint64_t bj_track_oldest(const struct bj_track *t, uint64_t now_boot_usec,
                         uint64_t now_wall_usec);

/* Absolute path in the hierarchy whose cgroup.procs tells most: cpuacct of v1
 * has the tasks without slurmstepd.  false when there is none. */
bool bj_track_procs_path(const struct bj_track *t, char *buf, size_t cap,
                         bool *ret_v2);

/* Steps (core/step.c): whether they are told; a look for them, which v1's
 * events need too. */
bool bj_tells_steps(const struct bj_conf *conf);
void bj_track_steps(struct bj_track *t);
void bj_track_steps_free(struct bj_track *t);

/* Memory events that v1 keeps for each cgroup on its own (core/events.c):
 * whether the job has such, and reading them. */
bool bj_track_sums_events(const struct bj_track *t);
void bj_track_events(struct bj_track *t, bool slow);

#endif

/* Energy in the core: meters, ledger, the accounts of the jobs, and the state
 * that survives a restart.
 *
 * Only the sampler ticks.  What it splits is shown once it has been saved, so
 * that a crash never makes a counter fall. */
#ifndef BJ_CORE_ENERGY_ENERGY_H
#define BJ_CORE_ENERGY_ENERGY_H

#include "base/json.h"
#include "core/core.h"
#include "core/energy/ledger.h"

struct bj_energy;
struct bj_track;

/* Energy of a job, bj_track.energy. */
struct bj_job_energy {
    struct bj_account *account; /* NULL: none, or settled */
    bool closed;                /* the account knows that the job has ended */
    bool shown;                 /* shown_uj holds something */
    uint64_t shown_uj[BJ_COMPONENTS];
};

/* Start with what the state file holds.  What is wrong with it is logged, not
 * returned: a damaged or foreign one is renamed to FILE.bad. */
int bj_energy_new(const struct bj_conf *conf, const struct bj_host *host,
                  struct bj_energy **ret, struct bj_err *err);
void bj_energy_free(struct bj_energy *e); /* NULL is fine */

/* Look for meters now and then; true while there is one. */
bool bj_energy_look(struct bj_energy *e, uint64_t now_usec);

/* Meter and split.  The tracks are those of core, read in this pass.  -ENOMEM
 * at the first time; faults of meters are told by themselves. */
int bj_energy_tick(struct bj_energy *e, struct bj_core *core);

/* Save the state, without the core's lock; and then, with it, show what was
 * split. */
int bj_energy_save(struct bj_energy *e, struct bj_err *err);
void bj_energy_show(struct bj_energy *e, struct bj_core *core);

/* A job's energy has settled (or it has none): its final record may go. */
bool bj_energy_settled(const struct bj_track *t);
/* The track goes: forget its account and free t->energy. */
void bj_energy_drop(struct bj_energy *e, struct bj_track *t);

/* Into a snapshot: a job, the node and its meters. */
void bj_energy_publish_job(const struct bj_energy *e, const struct bj_track *t,
                           struct bj_arena *a, struct bj_job *job);
void bj_energy_publish(const struct bj_energy *e, struct bj_snap *snap);

/* Into a final record: the joules by policy and component, and how they were
 * found. */
void bj_energy_final(const struct bj_energy *e, const struct bj_account *a,
                     struct bj_json_out *o);

/* The account of a job that ended while we did not run, and its key (a track's
 * key, '#', an inode); NULL: none.  Forget it when its record is made. */
struct bj_account *bj_energy_orphan(struct bj_energy *e, uint64_t now_usec,
                                    struct bj_slice *ret_key);
void bj_energy_forget(struct bj_energy *e, struct bj_account *a);

#endif

/* Energy in the core: meters, ledger, accounts of jobs, and the state that is
 * kept over a restart.
 *
 * Only the sampler calls bj_energy_tick. */
#ifndef BJ_CORE_ENERGY_ENERGY_H
#define BJ_CORE_ENERGY_ENERGY_H

#include "base/json.h"
#include "core/copies.h"
#include "core/core.h"
#include "core/energy/ledger.h"

struct bj_energy;
struct bj_track;

/* Energy of a job, bj_track.energy. */
struct bj_job_energy {
    struct bj_account *account; /* NULL: none, or settled */
    bool opened;                /* by the last bj_energy_accounts */
    bool closed;                /* bj_account_close was called: the job has
                                   ended */
    uint64_t uj[BJ_COPIES][BJ_COMPONENTS]; /* BJ_ABSENT: had no account */
};

/* Start from the state file.  Errors of the file are logged, not returned: a
 * damaged or foreign file is renamed to FILE.bad. */
int bj_energy_new(const struct bj_conf *conf, const struct bj_host *host,
                  const struct bj_copies *copies, struct bj_energy **ret,
                  struct bj_err *err);
void bj_energy_free(struct bj_energy *e); /* NULL is fine */

/* Search for meters periodically; true while a meter exists. */
bool bj_energy_search(struct bj_energy *e, uint64_t now_usec);

/* For pages: the functions of core/energy/meters.h. */
bool bj_energy_hurry(struct bj_energy *e, uint64_t now_usec, uint64_t gap_usec);
void bj_energy_await(struct bj_energy *e, uint64_t end_usec);
void bj_energy_page(struct bj_energy *e, uint64_t now_usec, uint64_t gap_usec);

/* bj_meters_names; e may be NULL. */
bool bj_energy_meters(const struct bj_energy *e, struct bj_buf *out);

/* In a tick call accounts, then tick, then write.  The tracks are those of
 * core, read in this pass.
 *
 * Open, use and close the accounts of the tracks.  *ret_extra: at the first
 * call the lines of the state file that were passed to bj_energy_write, else
 * empty; valid until bj_energy_free.  -ENOMEM at the first call. */
int bj_energy_accounts(struct bj_energy *e, struct bj_core *core,
                       struct bj_slice *ret_extra);

/* Was there a tick? */
bool bj_energy_ticked(const struct bj_energy *e);

/* Whether earlier ticks used the GPUs' own energy, instead of a meter's. */
bool bj_energy_gpus_counted(const struct bj_energy *e);

/* Read the meters, attribute the energy, and copy the values to show after
 * saving.  gpu_uj: total energy that the GPUs report themselves, of which jobs
 * got their part by bj_account_gpu; BJ_ABSENT: none.  gpu_held: some of it is
 * held back.  Errors of meters are in their own metrics. */
void bj_energy_tick(struct bj_energy *e, const struct bj_core *core,
                    uint64_t gpu_uj, bool gpu_held);

/* Format the state to be saved.  lines: further lines for it; the lines of
 * energy are appended to them. */
void bj_energy_write(struct bj_energy *e, struct bj_buf *lines);

/* Save the state, without the core's lock. */
int bj_energy_save(struct bj_energy *e, struct bj_err *err);

/* Whether the job's energy is final (or it has none), so that its final record
 * can be written. */
bool bj_energy_settled(const struct bj_track *t);
/* The track is removed: drop its account and free t->energy. */
void bj_energy_drop(struct bj_energy *e, struct bj_track *t);

/* Fill a snapshot: a job; the node and its meters. */
void bj_energy_publish_job(const struct bj_energy *e, const struct bj_track *t,
                           struct bj_arena *a, struct bj_job *job);
void bj_energy_publish(const struct bj_energy *e, struct bj_snap *snap);

/* Write the joules by policy and component, their source and quality into a
 * final record. */
void bj_energy_final(const struct bj_energy *e, const struct bj_account *a,
                     struct bj_json_out *o);

/* The account of a job that ended while the program did not run, and its key (a
 * track's key, '#', an inode); NULL: none.  *ret_seen_sec: when the job was
 * last known to exist, in seconds since 1970; 0: unknown.  Call forget after
 * its record was made. */
struct bj_account *bj_energy_orphan(struct bj_energy *e, uint64_t now_usec,
                                    struct bj_slice *ret_key,
                                    uint64_t *ret_seen_sec);
void bj_energy_forget(struct bj_energy *e, struct bj_account *a);

#endif

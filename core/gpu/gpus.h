/* The accelerators of this machine: values of all sources, kept over the
 * readings, and in snapshots. */
#ifndef BJ_CORE_GPU_GPUS_H
#define BJ_CORE_GPU_GPUS_H

#include "base/buf.h"
#include "core/core.h"

struct bj_gpus;

/* conf must outlive it.  Without a driver there is no thread and no
 * value.  Where energy is collected, what counts up is shown once bj_gpus_show
 * says so. */
int bj_gpus_new(const struct bj_conf *conf, const struct bj_host *host,
                struct bj_gpus **ret, struct bj_err *err);
void bj_gpus_free(struct bj_gpus *g); /* NULL is fine */

struct bj_track;

/* In a pass: take what drivers have told.  Never waits for one. */
void bj_gpus_read(struct bj_gpus *g, struct bj_core *core);

/* The track goes: forget what it held.  g NULL is fine. */
void bj_gpus_drop(struct bj_gpus *g, const struct bj_track *t);

/* Search for drivers periodically; cheap.  True while one is read. */
bool bj_gpus_look(struct bj_gpus *g, uint64_t now_usec);

/* The energy of all devices since the start (BJ_ABSENT: no device reports it).
 * Energy given to jobs since the last call is added to their accounts, unless
 * add is false. */
uint64_t bj_gpus_account(struct bj_gpus *g, bool add);

/* The positions of the energy counters and what jobs have counted, as lines of
 * text, and back, not long after the first reading.  Lines that are not
 * understood are skipped.  Jobs are identified by the keys of their accounts.
 */
void bj_gpus_save(struct bj_gpus *g, struct bj_buf *out);
void bj_gpus_load(struct bj_gpus *g, struct bj_slice text);

/* Mark what is being saved; show it when it is on the disk.  Counters are not
 * shown before, so that none ever falls. */
void bj_gpus_mark(struct bj_gpus *g);
void bj_gpus_show(struct bj_gpus *g);

/* A job has got its account: what a process before us knew of it goes on.  The
 * account of a job that ended meanwhile is forgotten. */
void bj_gpus_resume(struct bj_gpus *g, struct bj_track *t, struct bj_slice key);
void bj_gpus_forget(struct bj_gpus *g, struct bj_slice key);

/* The job has ended, but what its GPUs took until then was not read yet. */
bool bj_gpus_owe(const struct bj_gpus *g, const struct bj_track *t,
                 uint64_t now_usec);

struct bj_json_out;

/* Into a final record: what the job had; of a job that was never seen, by the
 * key of its account. */
void bj_gpus_final(const struct bj_gpus *g, const struct bj_track *t,
                   struct bj_json_out *o);
void bj_gpus_final_orphan(const struct bj_gpus *g, struct bj_slice key,
                          struct bj_json_out *o);

/* Into a snapshot: the devices; what a job holds. */
void bj_gpus_publish(const struct bj_gpus *g, struct bj_snap *snap);
void bj_gpus_publish_job(const struct bj_gpus *g, const struct bj_track *t,
                         struct bj_arena *a, struct bj_job *job);
void bj_gpus_publish_engines(const struct bj_gpus *g, const struct bj_track *t,
                             struct bj_arena *a, struct bj_job *job);

#endif

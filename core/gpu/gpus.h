/* The accelerators of this machine: values of all sources, kept over the
 * readings, and in snapshots. */
#ifndef BJ_CORE_GPU_GPUS_H
#define BJ_CORE_GPU_GPUS_H

#include "base/buf.h"
#include "core/copies.h"
#include "core/core.h"

struct bj_gpus;

/* conf and copies must outlive it.  Without a driver there is no thread and no
 * value. */
int bj_gpus_new(const struct bj_conf *conf, const struct bj_host *host,
                const struct bj_copies *copies, struct bj_gpus **ret,
                struct bj_err *err);
void bj_gpus_free(struct bj_gpus *g); /* NULL is fine */

struct bj_track;

/* In a pass: take the last values of all drivers.  Never waits for one. */
void bj_gpus_read(struct bj_gpus *g, struct bj_core *core);

/* The track is removed: free what it held.  g NULL is fine. */
void bj_gpus_drop(struct bj_gpus *g, const struct bj_track *t);

/* Search for drivers periodically; cheap.  True while one is read. */
bool bj_gpus_search(struct bj_gpus *g, uint64_t now_usec);

/* The energy of all devices since the start; BJ_ABSENT: no device reports it.
 */
uint64_t bj_gpus_energy(const struct bj_gpus *g);

/* The energy given to a job since the last call.  Discard: of all jobs, which
 * do not get it after all. */
uint64_t bj_gpus_take(struct bj_gpus *g, const struct bj_track *t);
void bj_gpus_discard(struct bj_gpus *g);

/* The key under which a job's counts are saved; empty: they are not. */
typedef struct bj_slice bj_gpus_key(const struct bj_track *t);

/* The positions of the energy counters and what jobs have counted, as lines of
 * text, and back, not long after the first reading.  Lines that are not
 * understood are skipped. */
void bj_gpus_save(struct bj_gpus *g, bj_gpus_key *key, struct bj_buf *out);
void bj_gpus_load(struct bj_gpus *g, struct bj_slice text);

/* In a tick: copy what will be shown when it is saved. */
void bj_gpus_copy(struct bj_gpus *g);

/* Continue the counts of a job that were loaded under this key.  Forget those
 * of a job that ended while the program did not run. */
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

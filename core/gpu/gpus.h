/* The accelerators of this machine: values of all sources, kept between
 * readings and put into snapshots. */
#ifndef BJ_CORE_GPU_GPUS_H
#define BJ_CORE_GPU_GPUS_H

#include "base/buf.h"
#include "core/copies.h"
#include "core/core.h"

struct bj_gpus;

/* conf and copies must outlive it.  Without a driver no thread is started and
 * there are no values. */
int bj_gpus_new(const struct bj_conf *conf, const struct bj_host *host,
                const struct bj_copies *copies, struct bj_gpus **ret,
                struct bj_err *err);
void bj_gpus_free(struct bj_gpus *g); /* NULL is fine */

struct bj_track;

/* In a pass: take the last values of all drivers.  Never waits for a driver. */
void bj_gpus_read(struct bj_gpus *g, struct bj_core *core);

/* The track is removed: free its data.  g NULL is fine. */
void bj_gpus_drop(struct bj_gpus *g, const struct bj_track *t);

/* For pages, as in core/poller.h: all sources.  hurry: true if any is worth
 * waiting for.  await may be called without the core's lock. */
bool bj_gpus_hurry(struct bj_gpus *g, uint64_t now_usec, uint64_t gap_usec);
void bj_gpus_await(struct bj_gpus *g, uint64_t end_usec);
void bj_gpus_page(struct bj_gpus *g, uint64_t now_usec, uint64_t gap_usec);

/* Search for drivers periodically; cheap.  True while a driver is read. */
bool bj_gpus_search(struct bj_gpus *g, uint64_t now_usec);

/* The energy of all devices since the start; BJ_ABSENT: no device reports it.
 */
uint64_t bj_gpus_energy(const struct bj_gpus *g);

/* Whether some energy of a device is held back (accum.h): the total does not
 * include it. */
bool bj_gpus_held(const struct bj_gpus *g);

/* Take the energy attributed to a job since the last call.  Discard that energy
 * of all jobs. */
uint64_t bj_gpus_take(struct bj_gpus *g, const struct bj_track *t);
void bj_gpus_discard(struct bj_gpus *g);

/* The key under which a job's counts are saved; empty: not saved. */
typedef struct bj_slice bj_gpus_key(const struct bj_track *t);

/* Save the positions of the energy counters and the counts of jobs as lines of
 * text, and load them, soon after the first reading.  Unknown lines are
 * skipped. */
void bj_gpus_save(struct bj_gpus *g, bj_gpus_key *key, struct bj_buf *out);
void bj_gpus_load(struct bj_gpus *g, struct bj_slice text);

/* In a tick: copy the values that are shown after saving. */
void bj_gpus_copy(struct bj_gpus *g);

/* Continue the counts of a job that were loaded with this key.  Drop those of a
 * job that ended while the program did not run. */
void bj_gpus_resume(struct bj_gpus *g, struct bj_track *t, struct bj_slice key);
void bj_gpus_forget(struct bj_gpus *g, struct bj_slice key);

/* Whether the job has ended, but the energy of its GPUs until then was not read
 * yet. */
bool bj_gpus_energy_due(const struct bj_gpus *g, const struct bj_track *t,
                        uint64_t now_usec);

struct bj_json_out;

/* Write the GPUs of a job into its final record; if the job was never seen, by
 * the key of its account. */
void bj_gpus_final(const struct bj_gpus *g, const struct bj_track *t,
                   struct bj_json_out *o);
void bj_gpus_final_orphan(const struct bj_gpus *g, struct bj_slice key,
                          struct bj_json_out *o);

/* Fill a snapshot: the devices; the GPUs that a job holds; its time on
 * engines. */
void bj_gpus_publish(const struct bj_gpus *g, struct bj_snap *snap);
void bj_gpus_publish_job(const struct bj_gpus *g, const struct bj_track *t,
                         struct bj_arena *a, struct bj_job *job);
void bj_gpus_publish_engines(const struct bj_gpus *g, const struct bj_track *t,
                             struct bj_arena *a, struct bj_job *job);

#endif

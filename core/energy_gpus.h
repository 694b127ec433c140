/* Passes the energy of GPUs to the ledger, and keeps the state of both and of
 * the peaks of memory: the only file that includes both. Called with the core's
 * lock held. */
#ifndef BJ_CORE_ENERGY_GPUS_H
#define BJ_CORE_ENERGY_GPUS_H

#include "core/core.h"

/* A tick of energy (core/energy/energy.h): accounts, meters and GPUs, and the
 * state to be saved.  -ENOMEM at the first call. */
int bj_energy_gpus_tick(struct bj_core *core);

/* Prepare the state to be saved after the last tick: without the jobs that have
 * a final record. */
void bj_energy_gpus_finish(struct bj_core *core);

/* The next account of a job that ended while the program did not run, and its
 * key; NULL: none.  Call forget when its record was made. */
struct bj_account;
struct bj_account *bj_energy_gpus_orphan(struct bj_core *core,
                                         struct bj_slice *ret_key,
                                         uint64_t *ret_seen_sec);
void bj_energy_gpus_forget(struct bj_core *core, struct bj_account *a,
                           struct bj_slice key);

#endif

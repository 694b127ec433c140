/* The accelerators of this machine: what all sources tell of them, kept over
 * the readings, and in snapshots. */
#ifndef BJ_CORE_GPU_GPUS_H
#define BJ_CORE_GPU_GPUS_H

#include "core/core.h"

struct bj_gpus;

/* conf must outlive it.  Without a driver there is no thread and nothing to
 * tell. */
int bj_gpus_new(const struct bj_conf *conf, const struct bj_host *host,
                struct bj_gpus **ret, struct bj_err *err);
void bj_gpus_free(struct bj_gpus *g); /* NULL is fine */

/* In a pass: take what drivers have told.  Never waits for one. */
void bj_gpus_read(struct bj_gpus *g, struct bj_core *core);

/* Into a snapshot. */
void bj_gpus_publish(const struct bj_gpus *g, struct bj_snap *snap);

#endif

/* The watcher: a thread that samples a job as soon as its processes begin or
 * end, so that its final record includes its use between two passes, and short
 * jobs get a record.  Internal to the core. */
#ifndef BJ_CORE_WATCHER_H
#define BJ_CORE_WATCHER_H

struct bj_core;

/* Start it if final records or energy need it (the sampler runs); with the
 * lock held. */
void bj_watcher_ensure(struct bj_core *core);
/* Stop it, without the lock, before the sampler. */
void bj_watcher_free(struct bj_core *core);

#endif

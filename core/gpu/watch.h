/* A source of accelerators, read by a thread of its own at its own pace, and
 * watched: a driver that hangs costs its own figures and nobody's time. */
#ifndef BJ_CORE_GPU_WATCH_H
#define BJ_CORE_GPU_WATCH_H

#include "core/gpu/gpu.h"
#include "core/host.h"

struct bj_gpu_watch;

/* State of a source. */
struct bj_gpu_watch_stat {
    bool ran;     /* it was found at some time, so it has a state */
    bool running; /* it is open */
    bool failing; /* its last reading had a fault, or it hangs */
    bool hung;    /* the reading under way takes too long */
    uint64_t good_usec, duration_usec, faults;
};

/* period_usec: pace; hang_usec: how long a reading may take before the driver
 * counts as hung.  The environment's strings are copied.  Starts nothing. */
int bj_gpu_watch_new(const struct bj_gpu_kind *kind,
                     const struct bj_gpu_env *env, const struct bj_host *host,
                     uint64_t period_usec, uint64_t hang_usec,
                     struct bj_gpu_watch **ret);

/* Stop.  A thread that is stuck in the driver is left behind after two seconds
 * with what it owns.  NULL is fine. */
void bj_gpu_watch_free(struct bj_gpu_watch *w);

/* While there is nothing: look, at most once a minute, whether there may be
 * something now, and start to read it.  Cheap, never blocks for long.  True
 * when it is being read. */
bool bj_gpu_watch_look(struct bj_gpu_watch *w, uint64_t now_usec);

/* Take what was read last, when it is newer than *set: true and *set is filled.
 * Never waits for the driver. */
bool bj_gpu_watch_take(struct bj_gpu_watch *w, struct bj_gpu_set *set);

void bj_gpu_watch_stat(struct bj_gpu_watch *w, uint64_t now_usec,
                       struct bj_gpu_watch_stat *ret);

#endif

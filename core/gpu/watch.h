/* A source of accelerators, read by a thread at its own interval, so that a
 * hanging driver delays nothing else. */
#ifndef BJ_CORE_GPU_WATCH_H
#define BJ_CORE_GPU_WATCH_H

#include "core/gpu/gpu.h"
#include "core/host.h"

struct bj_gpu_watch;

/* State of a source. */
struct bj_gpu_watch_stat {
    bool ran;     /* it was found at least once, so it has a state */
    bool running; /* it is open */
    bool failing; /* its last reading had a fault, or it hangs */
    bool hung;    /* the current reading takes too long */
    uint64_t good_usec, duration_usec, faults;
};

/* hang_usec: time of a reading after which the driver counts as hung.  The
 * environment's strings are copied.  Starts no thread. */
int bj_gpu_watch_new(const struct bj_gpu_kind *kind,
                     const struct bj_gpu_env *env, const struct bj_host *host,
                     uint64_t period_usec, uint64_t hang_usec,
                     struct bj_gpu_watch **ret);

/* Stop the thread.  If it is stuck in the driver, it is abandoned after two
 * seconds.  NULL is fine. */
void bj_gpu_watch_free(struct bj_gpu_watch *w);

/* While the source is missing, search for it, at most once a minute, and start
 * to read it.  Cheap.  True while the source is read. */
bool bj_gpu_watch_search(struct bj_gpu_watch *w, uint64_t now_usec);

/* Copy the last reading to *set if it is newer; true if it was copied.  Never
 * waits for the driver. */
bool bj_gpu_watch_take(struct bj_gpu_watch *w, struct bj_gpu_set *set);

/* For pages: the functions of core/poller.h. */
bool bj_gpu_watch_hurry(struct bj_gpu_watch *w, uint64_t now_usec,
                        uint64_t gap_usec);
void bj_gpu_watch_await(struct bj_gpu_watch *w, uint64_t end_usec);
void bj_gpu_watch_page(struct bj_gpu_watch *w, uint64_t now_usec,
                       uint64_t gap_usec);

void bj_gpu_watch_stat(struct bj_gpu_watch *w, uint64_t now_usec,
                       struct bj_gpu_watch_stat *ret);

#endif

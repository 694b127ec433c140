/* The peaks of memory held (core/collect/memory.c) of jobs, steps and tasks are
 * kept over a restart, in a file beside energy.state-file.  A thread writes it,
 * so no pass waits for a disk.  An old state is as good as an old sample: it
 * never makes a peak too small.
 *
 * Called with the core's lock, unless it says otherwise. */
#ifndef BJ_CORE_PEAKS_H
#define BJ_CORE_PEAKS_H

#include "core/conf.h"
#include "core/host.h"

struct bj_cgroup_reader;
struct bj_core;
struct bj_peaks;
struct bj_unit;

/* Without the lock: open and read the state, and start the thread.  NULL if no
 * state is kept (energy.state-file is empty, the collector memory is off) or
 * can be kept, which is logged. */
struct bj_peaks *bj_peaks_new(const struct bj_conf *conf,
                              const struct bj_host *host);
/* Stop the thread; waits two seconds at most.  NULL is fine. */
void bj_peaks_free(struct bj_peaks *p);

/* Before memory is read: continue the peak of a unit that is read for the first
 * time.  p may be NULL. */
void bj_peaks_resume(const struct bj_peaks *p,
                     const struct bj_cgroup_reader *rd, struct bj_unit *u);

/* At the end of a pass: save the peaks if one has risen, or at the slow
 * interval. */
void bj_peaks_note(struct bj_core *core);

/* At the end, without the lock: save them, and free core->peaks. */
void bj_peaks_finish(struct bj_core *core);

#endif

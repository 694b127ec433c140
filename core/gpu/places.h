/* The directories of the jobs, passed to a source that reads their processes in
 * its own thread. */
#ifndef BJ_CORE_GPU_PLACES_H
#define BJ_CORE_GPU_PLACES_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct bj_gpu_places;

/* NULL: no memory.  The last one that unrefs frees it; NULL is fine there. */
struct bj_gpu_places *bj_gpu_places_new(void);
struct bj_gpu_places *bj_gpu_places_ref(struct bj_gpu_places *p);
void bj_gpu_places_unref(struct bj_gpu_places *p);

/* Replace the list: for each job its number and its directories, each ended by
 * a NUL, and an empty one:  "17" NUL "/sys/fs/cgroup/..." NUL NUL.  The text
 * becomes p's, *list is empty afterwards. */
void bj_gpu_places_set(struct bj_gpu_places *p, struct bj_buf *list);

/* Copy the list after what is in *ret.  False: no memory. */
bool bj_gpu_places_get(struct bj_gpu_places *p, struct bj_buf *ret);

/* A job of a list, which moves after it; false when none is left.  At most max
 * directories; those left out are NULL. */
bool bj_gpu_places_next(struct bj_slice *list, uint64_t *ret_job,
                        const char **ret_dirs, unsigned max);

#endif

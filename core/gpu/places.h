/* The directories of the jobs, passed to a source that reads their processes in
 * its own thread. */
#ifndef BJ_CORE_GPU_PLACES_H
#define BJ_CORE_GPU_PLACES_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct bj_gpu_places;

/* NULL: no memory.  The last bj_gpu_places_unref frees it; NULL is fine. */
struct bj_gpu_places *bj_gpu_places_new(void);
struct bj_gpu_places *bj_gpu_places_ref(struct bj_gpu_places *p);
void bj_gpu_places_unref(struct bj_gpu_places *p);

/* Replace the list: for each job its number and its directories, each
 * terminated by NUL, and an empty one:  "17" NUL "/sys/fs/cgroup/..." NUL NUL.
 * p takes over the text; *list is empty afterwards.  Returns the number of the
 * list: 1 for the first one, 2 for the next. */
uint64_t bj_gpu_places_set(struct bj_gpu_places *p, struct bj_buf *list);

/* Append a copy of the list to *ret, and store its number; 0: there is none
 * yet.  False: no memory. */
bool bj_gpu_places_get(struct bj_gpu_places *p, struct bj_buf *ret,
                       uint64_t *ret_number);

/* Cut the next job off a list; false: none is left.  At most max directories
 * are returned; unused entries are NULL. */
bool bj_gpu_places_next(struct bj_slice *list, uint64_t *ret_job,
                        const char **ret_dirs, unsigned max);

#endif

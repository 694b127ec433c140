/* A vendor's library, loaded when there is a device for it. */
#ifndef BJ_CORE_GPU_LIB_H
#define BJ_CORE_GPU_LIB_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* A function of the library, and where to store its address; NULL if an
 * optional one is missing. */
struct bj_gpu_symbol {
    const char *name;
    size_t off;
    bool must;
};

/* Load the file, or with "" the first existing one of names (up to NULL), and
 * find n functions.  -ENODEV, which is not a fault: no library, or not wanted
 * ("none"); -ELIBBAD: a required function is missing. */
int bj_gpu_lib_open(const char *file, const char *const *names,
                    const struct bj_gpu_symbol *symbols, size_t n, void *calls,
                    void **ret, struct bj_err *err);

#endif

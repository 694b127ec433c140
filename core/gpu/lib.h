/* A vendor's library, loaded when there is a device for it. */
#ifndef BJ_CORE_GPU_LIB_H
#define BJ_CORE_GPU_LIB_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* A function of it, and where its address goes.  One that may be missing is
 * NULL then. */
struct bj_gpu_symbol {
    const char *name;
    size_t off;
    bool must;
};

/* Load the file, or with "" the first of the names (up to NULL) that there is,
 * and find n functions.  -ENODEV, without a fault: there is none, or it is not
 * wanted ("none"); -ELIBBAD: one is missing that must be there. */
int bj_gpu_lib_open(const char *file, const char *const *names,
                    const struct bj_gpu_symbol *symbols, size_t n, void *calls,
                    void **ret, struct bj_err *err);

#endif

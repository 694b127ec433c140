/* Projects and quotas of users, from a file of the site (storage.file) with one
 * line for each:
 *
 *   # USER KIND NAME BYTES BYTES_LIMIT FILES FILES_LIMIT [PATH]
 *   anna project smith 1.5T 10T 45210 5000000 /project/smith/anna
 *   anna quota home 12G 50G 41000 500000 /home/anna
 *
 * KIND is "project" or "quota". Sizes are whole numbers with K, M, G, T (powers
 * of 1024); "-": unknown, or no limit. The path is the rest of the line. */
#ifndef BJ_APISERVER_V1_STORAGE_H
#define BJ_APISERVER_V1_STORAGE_H

#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>

enum { BJ_STORAGE_BYTES, BJ_STORAGE_FILES, BJ_STORAGE_AMOUNTS };

struct bj_storage {
    struct bj_slice user, kind, name;
    struct bj_slice path;              /* {NULL, 0}: unknown */
    int64_t used[BJ_STORAGE_AMOUNTS];  /* BJ_SQL_NULL: unknown */
    int64_t limit[BJ_STORAGE_AMOUNTS]; /* BJ_SQL_NULL: none, or unknown */
};

/* Parse the next line with values and remove it from *rest; slices point into
 * the text. *line counts lines from 1; set it to 0 before the first call. 1; 0
 * at the end; or -EINVAL with the line in the message: the next call continues
 * after that line. */
int bj_storage_next(struct bj_slice *rest, uint64_t *line,
                    struct bj_storage *ret, struct bj_err *err);

/* Read the whole file; the caller frees *ret_text, also after an error. */
int bj_storage_read(const char *path, char **ret_text, struct bj_slice *ret,
                    struct bj_err *err);

#endif

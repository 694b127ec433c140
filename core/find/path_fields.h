/* The fields of a cgroup path, packed.  They are kept as long as the job,
 * beside its resolved identity. */
#ifndef BJ_CORE_FIND_PATH_FIELDS_H
#define BJ_CORE_FIND_PATH_FIELDS_H

#include "core/find/ident.h"

struct bj_path_fields;

/* f: fields of an identity, whose text is clean and so without NUL; absent ones
 * are empty.  NULL: out of memory.  Free with free(). */
struct bj_path_fields *
bj_path_fields_new(const struct bj_slice f[BJ_ID_FIELDS]);

/* All fields; the slices point into p.  Absent ones are empty. */
void bj_path_fields_get(const struct bj_path_fields *p,
                        struct bj_slice f[BJ_ID_FIELDS]);

#endif

/* What the path of a cgroup tells of its job, packed: it is kept as long as the
 * job, beside the identity that was found out from it. */
#ifndef BJ_CORE_FIND_TOLD_H
#define BJ_CORE_FIND_TOLD_H

#include "core/find/ident.h"

struct bj_told;

/* f: fields of an identity, whose text is clean and so without NUL; absent ones
 * are empty.  NULL when memory is out; freed by free(). */
struct bj_told *bj_told_new(const struct bj_slice f[BJ_ID_FIELDS]);

/* All fields; the slices point into t.  Absent ones are empty. */
void bj_told_fields(const struct bj_told *t, struct bj_slice f[BJ_ID_FIELDS]);

#endif

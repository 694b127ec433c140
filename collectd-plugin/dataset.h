/* Data sets: collectd drops values of unknown types. */
#ifndef BJ_COLLECTD_DATASET_H
#define BJ_COLLECTD_DATASET_H

#include "base/err.h"

/* Result of the registration. */
struct bj_dataset_count {
    unsigned known, registered;
};

/* Register the types that the site's TypesDB lacks. Only from an init callback:
 * before it none are loaded, later it is not safe. -EINVAL when the site
 * defines one of them differently (err names it). */
int bj_dataset_ensure(struct bj_dataset_count *ret, struct bj_err *err);

#endif

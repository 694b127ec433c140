/* Request rate of each user: a token bucket for every user, in a table of fixed
 * size.  When the table is full, a new user replaces one whose bucket is full
 * again, so no information is lost. */
#ifndef BJ_APISERVER_ACCESS_LIMIT_H
#define BJ_APISERVER_ACCESS_LIMIT_H

#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>

struct bj_limit;

int bj_limit_new(struct bj_limit **ret, struct bj_err *err);
void bj_limit_free(struct bj_limit *l); /* NULL is fine */

/* Count one request of a user, who may send one request per interval_usec, and
 * burst requests at once.  0, or the microseconds to wait.  Thread-safe. */
uint64_t bj_limit_take(struct bj_limit *l, struct bj_slice user,
                       uint64_t interval_usec, uint64_t burst,
                       uint64_t now_usec);

#endif

/* How much each user may ask: a token bucket for every user, in a table that
 * does not grow.  When it is full, those who have asked for nothing lately make
 * room, which costs nothing: their buckets were full anyway. */
#ifndef BJ_APISERVER_LIMIT_H
#define BJ_APISERVER_LIMIT_H

#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>

struct bj_limit;

int bj_limit_new(struct bj_limit **ret, struct bj_err *err);
void bj_limit_free(struct bj_limit *l); /* NULL is fine */

/* Take one request of a user, who has one each interval_usec and burst at once.
 * 0, or for how many microseconds to wait.  From any thread. */
uint64_t bj_limit_take(struct bj_limit *l, struct bj_slice user,
                       uint64_t interval_usec, uint64_t burst,
                       uint64_t now_usec);

#endif

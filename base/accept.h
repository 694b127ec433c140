/* Content negotiation, RFC 9110 section 12.5. */
#ifndef BJ_BASE_ACCEPT_H
#define BJ_BASE_ACCEPT_H

#include "base/slice.h"

/* An element of Accept or Accept-Encoding. */
struct bj_accept_item {
    struct bj_slice name, version;
    unsigned weight; /* 0 to 1000 */
};

/* The weight of the most specific element that matches. */
struct bj_accept_best {
    unsigned closeness, weight;
};

/* Remove the next element from the list; false: the list is empty. */
bool bj_accept_next(struct bj_slice *rest, struct bj_accept_item *ret);

/* Whether a name is word, in any case. */
bool bj_accept_is(struct bj_slice name, const char *word);

/* An element with that weight matches; closeness: how specific it is. */
void bj_accept_consider(struct bj_accept_best *b, unsigned closeness,
                        unsigned weight);

/* Whether an Accept-Encoding header (p NULL: none) prefers gzip. */
bool bj_accept_gzip(struct bj_slice accept_encoding);

#endif

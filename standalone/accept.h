/* Content negotiation, RFC 9110 section 12.5. */
#ifndef BJ_STANDALONE_ACCEPT_H
#define BJ_STANDALONE_ACCEPT_H

#include "base/slice.h"
#include "standalone/page.h"

/* The format for an Accept header (p NULL: none). OpenMetrics only when it is
 * named, in a version we write, with at least the weight of plain text; a
 * wildcard means plain text, which suits browsers and curl. */
enum bj_page_format bj_accept_format(struct bj_slice accept);

#endif

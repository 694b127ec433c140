/* What a client accepts: content negotiation, RFC 9110 section 12.5. */
#ifndef BJ_STANDALONE_ACCEPT_H
#define BJ_STANDALONE_ACCEPT_H

#include "base/slice.h"
#include "standalone/page.h"

/* The format for an Accept header (p NULL: there was none).  OpenMetrics when
 * it is named, in a version that we write, and not wanted less than plain text;
 * a wildcard means text, so that people with a browser or curl get that. */
enum bj_page_format bj_accept_format(struct bj_slice accept);

/* Whether an Accept-Encoding header (p NULL: there was none) wants gzip. */
bool bj_accept_gzip(struct bj_slice accept_encoding);

#endif

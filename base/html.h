/* Text in HTML and in URLs. */
#ifndef BJ_BASE_HTML_H
#define BJ_BASE_HTML_H

#include "base/buf.h"

/* Append text with & < > " ' escaped, so that it is safe in elements and in
 * quoted attributes.  Control characters of ASCII become blanks, bytes that are
 * not UTF-8 U+FFFD. */
void bj_html_text(struct bj_buf *b, struct bj_slice s);

/* Append text as part of a path or query string: every byte that is not
 * unreserved (RFC 3986, 2.3) as %XX.  The result needs no escape in HTML. */
void bj_url_text(struct bj_buf *b, struct bj_slice s);

#endif

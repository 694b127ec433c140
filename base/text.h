/* Cleaning text from outside for labels, identifiers and logs. */
#ifndef BJ_BASE_TEXT_H
#define BJ_BASE_TEXT_H

#include "base/slice.h"

enum { BJ_LABEL_MAX = 128 }; /* most bytes of a label value */

/* Clean s into dst (cap bytes, cap >= 1; not in place), terminated: bytes that
 * are not UTF-8 become U+FFFD (one for each piece that could have begun a
 * character), control characters (C0, DEL, C1) '?', and the result is cut to
 * cap-1 bytes on a character boundary.  Returns the number of bytes written,
 * without NUL. Never fails.  Source: Unicode 15, table 3-7, well-formed UTF-8.
 */
size_t bj_text_clean(struct bj_slice s, char *dst, size_t cap);

/* Append s to dst (room for 3 * s.n bytes): bytes that are not UTF-8 become
 * U+FFFD as above, NUL '?'; other control characters stay.  Returns the number
 * of bytes; appends no NUL. */
size_t bj_text_utf8(struct bj_slice s, char *dst);

/* Would bj_text_utf8 leave s unchanged? */
bool bj_text_is_utf8(struct bj_slice s);

/* Clean s into a collectd identifier: bj_text_clean, then every character other
 * than ASCII letters, digits and _ . : @ + - [ ] becomes one '_'.  Returns the
 * number of bytes written, without NUL. */
size_t bj_text_ident(struct bj_slice s, char *dst, size_t cap);

/* Decode systemd's escapes in unit names: \xNN becomes that byte.  In place or
 * into dst (cap bytes, terminated); all else is copied.  Source:
 * systemd.unit(5), "String escaping for inclusion in unit names". */
size_t bj_text_unescape_unit(struct bj_slice s, char *dst, size_t cap);

#endif

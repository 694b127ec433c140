/* The faculties of accounts, from a file of the site (faculty.file) with lines
 *
 *   # ACCOUNT FACULTY
 *   phys Faculty of Science
 *
 * The name of the faculty is the rest of the line. */
#ifndef BJ_APISERVER_FRAME_FACULTY_H
#define BJ_APISERVER_FRAME_FACULTY_H

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

/* Find the faculty of an account in such a text; the result points into the
 * text; {NULL, 0}: none.  The first line with the account counts. */
struct bj_slice bj_faculty_of(struct bj_slice text, struct bj_slice account);

/* Append the text of a file; nothing for an empty path.  -errno with a message;
 * -EINVAL for a line that cannot be used, with its number. */
int bj_faculty_read(const char *path, struct bj_buf *out, struct bj_err *err);

#endif

/* Passwords and tokens that programs of ours show to others. */
#ifndef BJ_BASE_SECRET_FILE_H
#define BJ_BASE_SECRET_FILE_H

#include "base/err.h"

#include <stddef.h>

/* The one line of a file, without blanks around it, into buf (cap bytes),
 * terminated; "" when path is NULL or "".  A file that others may read, or
 * could replace (bj_file_read_trusted), is as none.
 *   -EACCES  there is no secret to be had, for a reason that err says in
 *            full; buf is "".  Never -ENOENT: no job has gone. */
int bj_secret_read(const char *path, char *buf, size_t cap, struct bj_err *err);

#endif

/* Passwords and tokens that the programs send to servers. */
#ifndef BJ_BASE_SECRET_FILE_H
#define BJ_BASE_SECRET_FILE_H

#include "base/err.h"

#include <stddef.h>

/* Read the one line of a file, without blanks around it, into buf (cap bytes),
 * terminated; "" when path is NULL or "".  Refuses a file that other users can
 * read or replace (bj_file_read_private).
 *   -EACCES  no secret, for the reason in err; buf is "".  Never -ENOENT, which
 *            means that a job has gone. */
int bj_secret_read(const char *path, char *buf, size_t cap, struct bj_err *err);

#endif

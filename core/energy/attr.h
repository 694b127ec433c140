/* Attribute files of sysfs: one value in a file.  For the meters that read
 * them. */
#ifndef BJ_CORE_ENERGY_ATTR_H
#define BJ_CORE_ENERGY_ATTR_H

#include "base/absent.h"
#include "base/err.h"
#include "base/slice.h"

enum { BJ_ATTR_CAP = 128 }; /* more than any attribute that we read */

/* Open an attribute to keep it open.  Returns a descriptor or -errno.  Never
 * blocks. */
int bj_attr_open(int dirfd, const char *name);

/* Read the text of an attribute, by name or from an open descriptor, into buf,
 * without blanks around it.
 *   -ENOENT, -ENODEV  it has gone          -EBADMSG  it is too long
 * or another error of the system.  With a descriptor, name is only for
 * messages.  err may be NULL, here and below. */
int bj_attr_text(int dirfd, const char *name, char buf[BJ_ATTR_CAP],
                 struct bj_slice *ret, struct bj_err *err);
int bj_attr_fd_text(int fd, const char *name, char buf[BJ_ATTR_CAP],
                    struct bj_slice *ret, struct bj_err *err);

/* Read the number in an attribute.  Errors as above and
 *   -EBADMSG  it is empty or not a number
 *   -ERANGE   it is negative or above 2^64-2 */
int bj_attr_u64(int dirfd, const char *name, uint64_t *ret, struct bj_err *err);
int bj_attr_fd_u64(int fd, const char *name, uint64_t *ret, struct bj_err *err);
/* Parse such a number from text. */
int bj_attr_number(struct bj_slice text, const char *name, uint64_t *ret,
                   struct bj_err *err);

/* Read a number that may be missing; BJ_ABSENT on any error. */
uint64_t bj_attr_maybe(int dirfd, const char *name);

/* List the numbers N of all entries "prefixNsuffix" of a directory, sorted,
 * without duplicates, at most max.  base is 10 or 16 (lower case).  Returns
 * their number, or -errno. */
int bj_attr_numbers(int dirfd, const char *prefix, const char *suffix,
                    unsigned base, unsigned *ret, size_t max);

#endif

/* Attribute files of sysfs: one value in a file.  For the meters that read
 * them. */
#ifndef BJ_CORE_ENERGY_ATTR_H
#define BJ_CORE_ENERGY_ATTR_H

#include "base/absent.h"
#include "base/err.h"
#include "base/slice.h"

enum { BJ_ATTR_CAP = 128 }; /* an attribute that we read is shorter */

/* Open an attribute to keep it.  A descriptor, or -errno.  It never waits. */
int bj_attr_open(int dirfd, const char *name);

/* The text of an attribute, or of one that is kept open, without blanks around
 * it; it lies in buf.
 *   -ENOENT, -ENODEV  it has gone          -EBADMSG  it is too long
 * or what the system says.  name is for the message where there is a
 * descriptor.  err may be NULL, here and below. */
int bj_attr_text(int dirfd, const char *name, char buf[BJ_ATTR_CAP],
                 struct bj_slice *ret, struct bj_err *err);
int bj_attr_fd_text(int fd, const char *name, char buf[BJ_ATTR_CAP],
                    struct bj_slice *ret, struct bj_err *err);

/* The number that an attribute holds.  As above and
 *   -EBADMSG  it is empty or no number
 *   -ERANGE   it is negative or above 2^64-2 */
int bj_attr_u64(int dirfd, const char *name, uint64_t *ret, struct bj_err *err);
int bj_attr_fd_u64(int fd, const char *name, uint64_t *ret, struct bj_err *err);
/* The same of a text. */
int bj_attr_number(struct bj_slice text, const char *name, uint64_t *ret,
                   struct bj_err *err);

/* The same for a number that may as well not be there: BJ_ABSENT then. */
uint64_t bj_attr_maybe(int dirfd, const char *name);

/* The numbers N of all entries "prefixNsuffix" of a directory, in order and
 * each once, at most max.  base is 10 or 16 (lower case).  Returns how many, or
 * -errno. */
int bj_attr_numbers(int dirfd, const char *prefix, const char *suffix,
                    unsigned base, unsigned *ret, size_t max);

#endif

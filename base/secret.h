/* Passwords and tokens against what crypt(3) has made of them. */
#ifndef BJ_BASE_SECRET_H
#define BJ_BASE_SECRET_H

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* Remembers what was right, so that one bcrypt is not paid for every request,
 * and lets only so many others be tried: bcrypt is made to take long, and it
 * must not be strangers who decide for how long.  Threads may share it. */
struct bj_secrets;

int bj_secrets_new(struct bj_secrets **ret, struct bj_err *err);
void bj_secrets_free(struct bj_secrets *s); /* NULL is fine */

/* Is secret what hash was made of?  hash is any that crypt(3) knows; NULL
 * stands for "no such user": as much is computed as for like (NULL: for some
 * bcrypt), so that the time does not tell who there is, and it is wrong.
 * 1, 0, or -EAGAIN: too many wrong ones were tried just now. */
int bj_secret_check(struct bj_secrets *s, const char *hash, const char *like,
                    struct bj_slice secret, uint64_t now_usec);

/* Is it a hash that crypt(3) can check, and not one of the broken ones? */
bool bj_secret_usable(const char *hash);

/* Undo base64 (RFC 4648, section 4) into dst (cap bytes); -EINVAL or -EFBIG,
 * else the number of bytes. */
int bj_base64(struct bj_slice s, char *dst, size_t cap);

/* Take what follows "Basic" in an Authorization header apart, in buf, which
 * holds a secret afterwards.  False when it is not readable.  RFC 7617. */
bool bj_secret_basic(struct bj_slice coded, char *buf, size_t cap,
                     struct bj_slice *ret_name, struct bj_slice *ret_secret);

/* Bytes of a hash, NUL included. */
enum { BJ_HASH_BYTES = 256 };

#endif

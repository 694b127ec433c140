/* Checks passwords and tokens against hashes of crypt(3). */
#ifndef BJ_BASE_SECRET_H
#define BJ_BASE_SECRET_H

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* A cache of correct secrets, so that not every request computes a bcrypt hash,
 * and a limit on wrong ones: bcrypt is slow by design, and clients without a
 * password must not keep the server busy.  Threads may share it. */
struct bj_secrets;

int bj_secrets_new(struct bj_secrets **ret, struct bj_err *err);
void bj_secrets_free(struct bj_secrets *s); /* NULL is fine */

/* Compare secret with hash, which crypt(3) must support: 1: equal; 0: not;
 * -EAGAIN: too many wrong secrets were tried recently. hash NULL means an
 * unknown user: returns 0 after the same work as for the hash like (NULL: a
 * bcrypt hash), so that the time does not reveal which users exist. */
int bj_secret_check(struct bj_secrets *s, const char *hash, const char *like,
                    struct bj_slice secret, uint64_t now_usec);

/* Would bj_secret_check() return 1 from its cache, without computing a hash? */
bool bj_secret_known(struct bj_secrets *s, const char *hash,
                     struct bj_slice secret);

/* Is it a hash that crypt(3) can check, and not one of the broken methods? */
bool bj_secret_usable(const char *hash);

/* Decode base64 (RFC 4648, section 4) into dst (cap bytes); -EINVAL or -EFBIG,
 * else the number of bytes. */
int bj_base64(struct bj_slice s, char *dst, size_t cap);

/* Split what follows "Basic" in an Authorization header, in buf, which contains
 * a secret afterwards.  False when it is malformed.  RFC 7617. */
bool bj_secret_basic(struct bj_slice coded, char *buf, size_t cap,
                     struct bj_slice *ret_name, struct bj_slice *ret_secret);

/* Bytes of a hash, with NUL. */
enum { BJ_HASH_BYTES = 256 };

#endif

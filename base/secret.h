/* Checks passwords and tokens against hashes of crypt(3). */
#ifndef BJ_BASE_SECRET_H
#define BJ_BASE_SECRET_H

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* A cache of correct secrets, so that not every request computes a bcrypt hash,
 * and limits on wrong ones: bcrypt is slow by design, and clients without a
 * password must not keep the server busy.  Wrong secrets count for the address
 * of the client, its network (IPv4 /24, IPv6 /64) and the user name, so that
 * clients elsewhere are not refused because of them.  Threads may share it. */
struct bj_secrets;

/* Who tries a secret. */
struct bj_secret_client {
    const struct sockaddr *address; /* NULL or a unix socket: as one address */
    struct bj_slice name;           /* of the user or the token, as sent */
};

/* Wrong secrets in a row that are checked, and the time after which one more
 * is: from an address, from a network, and for a name.  The limit of a name
 * applies only to addresses that sent a wrong secret recently: others cannot
 * keep a user from signing in. */
enum {
    BJ_SECRET_ADDRESS_BURST = 10,
    BJ_SECRET_ADDRESS_USEC = 500 * 1000,
    BJ_SECRET_NETWORK_BURST = 40,
    BJ_SECRET_NETWORK_USEC = 125 * 1000,
    BJ_SECRET_NAME_BURST = 40,
    BJ_SECRET_NAME_USEC = 500 * 1000,
};

int bj_secrets_new(struct bj_secrets **ret, struct bj_err *err);
void bj_secrets_free(struct bj_secrets *s); /* NULL is fine */

/* Compare the secret of a client with hash, which crypt(3) must support: 1:
 * equal; 0: not; -EAGAIN: the client has reached a limit of wrong secrets. hash
 * NULL means an unknown user: returns 0 after the same work as for the hash
 * like (NULL: a bcrypt hash), so that the time does not reveal which users
 * exist. now_usec is the boot clock. */
int bj_secret_check(struct bj_secrets *s, const char *hash, const char *like,
                    const struct bj_secret_client *client,
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

/* TLS for the HTTP server: credentials from a web configuration, and who is at
 * the other end.  Source: the manual of GnuTLS 3.6 and later. */
#ifndef BJ_BASE_TLS_H
#define BJ_BASE_TLS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/web_conf.h"

#include <gnutls/gnutls.h>
#include <stdint.h>

/* Credentials: they never change, and live until nobody refers to them. */
struct bj_tls;

/* Read the certificate, its key and what clients are verified with.  -EINVAL
 * with the name of the file; conf is not needed afterwards. */
int bj_tls_new(const struct bj_tls_conf *conf, struct bj_tls **ret,
               struct bj_err *err);
struct bj_tls *bj_tls_ref(struct bj_tls *t); /* NULL is fine */
void bj_tls_unref(struct bj_tls *t);         /* NULL is fine */

/* When the first certificate of our chain ends, in seconds since 1970; 0: not
 * known. */
int64_t bj_tls_expires(const struct bj_tls *t);

/* Let these credentials decide about a session that has not begun its
 * handshake.  t must outlive it.  0 or -EIO. */
int bj_tls_attach(struct bj_tls *t, gnutls_session_t session);

/* Is the certificate of a session's client still good, also by other
 * credentials than it began with?  Those of t count from now on. */
bool bj_tls_recheck(struct bj_tls *t, gnutls_session_t session);

/* The names in the certificate of a session's client, if it was verified: one
 * after the other, each ending with a NUL, as KIND:TEXT, KIND being subject
 * (RFC 4514), cn, dns, email or uri.  Those with control characters are left
 * out.  *ret_until is when it ends.  -ENOENT when there is none. */
int bj_tls_names(struct bj_tls *t, gnutls_session_t session, struct bj_buf *ret,
                 int64_t *ret_until);

#endif

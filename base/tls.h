/* TLS for the HTTP server: credentials from a web configuration, and the
 * client's names.  Source: the manual of GnuTLS 3.6 and later. */
#ifndef BJ_BASE_TLS_H
#define BJ_BASE_TLS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/web_conf.h"

#include <gnutls/gnutls.h>
#include <stdint.h>

/* Credentials: immutable, with counted references. */
struct bj_tls;

/* Read the certificate, its key and the CAs for clients.  -EINVAL with the name
 * of the file; conf is not needed afterwards. */
int bj_tls_new(const struct bj_tls_conf *conf, struct bj_tls **ret,
               struct bj_err *err);
struct bj_tls *bj_tls_ref(struct bj_tls *t); /* NULL is fine */
void bj_tls_unref(struct bj_tls *t);         /* NULL is fine */

/* Can a client use these files: CAs that it trusts, its certificate and its key
 * (also in cert_file)?  NULL and "": none.  -EINVAL with the name of the file,
 * also when the certificate has expired. */
int bj_tls_check_files(const char *ca_file, const char *cert_file,
                       const char *key_file, struct bj_err *err);

/* When the first certificate of the server's chain expires, in seconds since
 * 1970; 0: unknown. */
int64_t bj_tls_expires(const struct bj_tls *t);

/* Use these credentials for a session before its handshake.  t must outlive it.
 * 0 or -EIO. */
int bj_tls_attach(struct bj_tls *t, gnutls_session_t session);

/* Verify the certificate of a session's client again, with the credentials t,
 * which may differ from those of its handshake.  The session uses t from now
 * on. */
bool bj_tls_recheck(struct bj_tls *t, gnutls_session_t session);

/* The names in the verified certificate of a session's client: one after the
 * other, each ending with NUL, as KIND:TEXT, KIND being subject (RFC 4514), cn,
 * dns, email or uri.  Names with control characters are left out.  *ret_until
 * is its expiry time.  -ENOENT: none. */
int bj_tls_names(struct bj_tls *t, gnutls_session_t session, struct bj_buf *ret,
                 int64_t *ret_until);

#endif

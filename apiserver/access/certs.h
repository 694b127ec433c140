/* Maps client certificates to users by the rules of access.certificates:
 *     KIND:PATTERN USER
 * KIND is cn, subject, dns, email or uri, PATTERN the text of such a
 * name, with at most one '*' for any text, and USER a user, one of
 * access.proxies, or '*' for the text that the '*' of PATTERN matches. */
#ifndef BJ_APISERVER_ACCESS_CERTS_H
#define BJ_APISERVER_ACCESS_CERTS_H

#include "apiserver/access/access.h"
#include "base/err.h"
#include "base/opt.h"

enum { BJ_USER_BYTES = 64 };

struct bj_certs;

/* lines must outlive *ret.  -EINVAL with the line in the message. */
int bj_certs_new(const struct bj_strv *lines, struct bj_certs **ret,
                 struct bj_err *err);
void bj_certs_free(struct bj_certs *c); /* NULL is fine */

/* Find the user for a certificate with these names (bj_tls_names in base/tls.h)
 * by the first line that matches one of them.  0; -ENOENT: no line matches;
 * -EINVAL: the line matches several names with different users, or the user's
 * name is too long. */
int bj_certs_match(const struct bj_certs *c, struct bj_slice names,
                   char ret[static BJ_USER_BYTES]);

#endif

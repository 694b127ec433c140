/* Authentication: the credentials of a request, and the user that they belong
 * to.
 *
 * Credentials are one of
 *   a name and password of the web configuration file (basic authentication),
 *   a token (Authorization: Bearer),
 *   a client certificate that access.certificates maps to a user (mutual TLS),
 *   the user of the process at the other end of a unix socket,
 *   the loopback interface, with access.trust-loopback.
 * Credentials of a proxy (Grafana) do not determine the user; the request must
 * have exactly one header access.proxy-header (X-Grafana-User).  Other
 * credentials belong to a user; the header, if present, must contain the same
 * user.  A request without credentials is refused. */
#ifndef BJ_APISERVER_ACCESS_AUTH_H
#define BJ_APISERVER_ACCESS_AUTH_H

#include "apiserver/access/access.h"
#include "apiserver/access/certs.h"
#include "apiserver/conf/conf.h"
#include "base/httpd.h"
#include "base/web.h"

/* Maximum number of accounts of a coordinator; a query has up to three values
 * for each. */
enum { BJ_COORDINATED = 500 };

struct bj_identity {
    char user[BJ_USER_BYTES];
    bool admin;
    /* coordinated accounts; bj_auth owns them */
    const struct bj_slice *account;
    unsigned accounts; /* at most BJ_COORDINATED */
};

struct bj_auth;
struct bj_secrets;

/* Read the files that conf names: web configuration, tokens, access lists. conf
 * and secrets, the cache of checked passwords and tokens, must outlive *ret.
 * Threads may share *ret. */
int bj_auth_new(const struct bj_api_conf *conf, struct bj_secrets *secrets,
                struct bj_auth **ret, struct bj_err *err);
void bj_auth_free(struct bj_auth *g); /* NULL is fine */

/* The current web configuration; bj_auth keeps the reference. */
struct bj_web *bj_auth_web(const struct bj_auth *g);

/* The time of authentication, and whether it may take long, to compute the hash
 * of a password or to query the user database. */
struct bj_auth_time {
    uint64_t boot_usec;
    int64_t wall_sec;
    bool may_wait;
};

/* Returned instead of a status: authentication would take long. */
enum { BJ_AUTH_LATER = 1 };

/* Authenticate a request.  0, BJ_AUTH_LATER, or the status of the refusal (400,
 * 403, 429, 500, 503) with a sentence in err. */
unsigned bj_auth_identify(struct bj_auth *g, const struct bj_http_request *req,
                          const struct bj_auth_time *at,
                          struct bj_identity *ret, struct bj_err *err);

#endif

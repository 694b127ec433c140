/* Authentication: the credentials of a request, and the user that they belong
 * to.
 *
 * Credentials are one of
 *   a name and password of the web configuration file (basic authentication),
 *   a token (Authorization: Bearer),
 *   a client certificate that access.certificates maps to a user (mutual TLS),
 *   the user of the process at the other end of a unix socket,
 *   the loopback interface, with access.trust-loopback.
 * Those of a proxy (Grafana) do not name the user: exactly one header
 * X-Grafana-User has to.  Others belong to a user, and the header, if there is
 * one, must name the same.  A request without credentials is refused. */
#ifndef BJ_APISERVER_AUTH_H
#define BJ_APISERVER_AUTH_H

#include "apiserver/access.h"
#include "apiserver/certs.h"
#include "apiserver/conf.h"
#include "base/httpd.h"
#include "base/web.h"

/* Maximum of one coordinator; a query holds up to three values for each. */
enum { BJ_COORDINATED = 500 };

struct bj_identity {
    char user[BJ_USER_BYTES];
    bool admin;
    const struct bj_slice *account; /* coordinated; bj_auth owns them */
    unsigned accounts;              /* at most BJ_COORDINATED */
};

struct bj_auth;

/* Read the files that conf names: web configuration, tokens, access lists. conf
 * must outlive it.  Threads may share it. */
int bj_auth_new(const struct bj_api_conf *conf, struct bj_auth **ret,
                struct bj_err *err);
void bj_auth_free(struct bj_auth *g); /* NULL is fine */

/* The web configuration in force; bj_auth keeps the reference. */
struct bj_web *bj_auth_web(const struct bj_auth *g);

/* When a request is authenticated, and whether this may take time: to
 * compute the hash of a password, or to ask the user database. */
struct bj_auth_time {
    uint64_t boot_usec;
    int64_t wall_sec;
    bool may_wait;
};

/* Not a status: it would take time. */
enum { BJ_AUTH_LATER = 1 };

/* Authenticate a request.  0, BJ_AUTH_LATER, or the status to refuse it with
 * (400, 403, 429, 500) and a sentence in err. */
unsigned bj_auth_identify(struct bj_auth *g, const struct bj_http_request *req,
                          const struct bj_auth_time *at,
                          struct bj_identity *ret, struct bj_err *err);

#endif

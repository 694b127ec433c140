/* Who is asking: the proof that a request carries, and the user it stands for.
 *
 * A proof is one of
 *   a name and password of the web configuration file (basic auth),
 *   a token (Authorization: Bearer),
 *   a client's certificate that access.certificates knows (mutual TLS),
 *   the process at the other end of a unix socket,
 *   nothing at all from the loopback interface, when that was asked for.
 * A proof of a proxy (Grafana) says nothing about the user: that is told by
 * exactly one header X-Grafana-User.  Any other proof is of a user, and the
 * header can then only say the same.  No proof, no answer. */
#ifndef BJ_APISERVER_GATE_H
#define BJ_APISERVER_GATE_H

#include "apiserver/access.h"
#include "apiserver/certs.h"
#include "apiserver/conf.h"
#include "base/httpd.h"
#include "base/web.h"

/* Accounts of one coordinator; a query holds up to three values for each. */
enum { BJ_COORDINATED = 500 };

struct bj_identity {
    char user[BJ_USER_BYTES];
    bool admin;
    const struct bj_slice *account; /* coordinated, owned by the gate */
    unsigned accounts;              /* at most BJ_COORDINATED */
};

struct bj_gate;

/* Read what conf names: web configuration, tokens, lists.  conf must outlive
 * it.  Threads may share it. */
int bj_gate_new(const struct bj_api_conf *conf, struct bj_gate **ret,
                struct bj_err *err);
void bj_gate_free(struct bj_gate *g); /* NULL is fine */

/* The web configuration in force; the gate's own reference. */
struct bj_web *bj_gate_web(const struct bj_gate *g);

/* Who asks?  0, or the status to refuse with (400, 403, 429, 500) and a
 * sentence in err. */
unsigned bj_gate_identify(struct bj_gate *g, const struct bj_http_request *req,
                          uint64_t now_usec, int64_t now_sec,
                          struct bj_identity *ret, struct bj_err *err);

#endif

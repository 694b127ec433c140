#include "apiserver/gate.h"

#include "apiserver/certs.h"
#include "apiserver/tokens.h"
#include "base/secret.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>

enum { PEERS = 64, PEER_USEC = 60 * 1000000, CREDENTIAL_BYTES = 512 };

/* Names of users behind unix sockets, asked for once a minute. */
struct peer {
    uid_t uid;
    uint64_t until_usec;
    char name[BJ_USER_BYTES];
};

struct bj_gate {
    const struct bj_api_conf *conf;
    struct bj_web *web;
    struct bj_tokens *tokens;
    struct bj_certs *certs;
    struct bj_access *access;
    struct bj_secrets *secrets;
    pthread_mutex_t lock; /* of peer */
    struct peer peer[PEERS];
};

/* Of what kind a proof is. */
enum proof { PROOF_NONE, PROOF_PROXY, PROOF_USER };

int bj_gate_new(const struct bj_api_conf *conf, struct bj_gate **ret,
                struct bj_err *err)
{
    struct bj_gate *g = calloc(1, sizeof(*g));
    if (!g)
        return bj_err_set(err, -ENOMEM, "access");
    g->conf = conf;
    pthread_mutex_init(&g->lock, NULL);
    int r = bj_secrets_new(&g->secrets, err);
    if (r == 0)
        r = bj_web_new(conf->web_file, &g->web, err);
    if (r == 0 && conf->token_file && conf->token_file[0])
        r = bj_tokens_read(conf->token_file, &g->tokens, err);
    if (r == 0)
        r = bj_certs_new(&conf->certificates, &g->certs, err);
    if (r == 0)
        r = bj_access_new(&conf->admins, &conf->coordinators, conf->access_file,
                          &g->access, err);
    if (r < 0)
        bj_gate_free(g);
    else
        *ret = g;
    return r;
}

void bj_gate_free(struct bj_gate *g)
{
    if (!g)
        return;
    bj_web_unref(g->web);
    bj_tokens_free(g->tokens);
    bj_certs_free(g->certs);
    bj_access_free(g->access);
    bj_secrets_free(g->secrets);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

struct bj_web *bj_gate_web(const struct bj_gate *g)
{
    return g->web;
}

static bool in_list(const struct bj_strv *list, struct bj_slice s)
{
    for (size_t i = 0; i < list->n; i++)
        if (bj_slice_eq(bj_slice_str(list->v[i]), s))
            return true;
    return false;
}

static unsigned refuse(struct bj_err *err, unsigned status, const char *text)
{
    bj_err_set(err, -EACCES, "%s", text);
    return status;
}

static unsigned take_name(struct bj_slice name, struct bj_identity *ret,
                          struct bj_err *err)
{
    if (!bj_access_is_name(name))
        return refuse(err, 400, "That can't be the name of a user.");
    memcpy(ret->user, name.p, name.n);
    ret->user[name.n] = '\0';
    return 0;
}

/* --- proofs ----------------------------------------------------------------
 */

static unsigned outcome(int right, struct bj_err *err)
{
    if (right == -EAGAIN)
        return refuse(err, 429,
                      "There were too many wrong passwords; try again in a "
                      "moment.");
    /* 401 would be hidden by Grafana behind a text of its own. */
    return right ? 0 : refuse(err, 403, "The credentials are not right.");
}

static unsigned by_password(struct bj_gate *g, struct bj_slice coded,
                            uint64_t now_usec, struct bj_identity *ret,
                            enum proof *proof, struct bj_err *err)
{
    char plain[CREDENTIAL_BYTES];
    struct bj_slice name, secret;
    if (!bj_secret_basic(coded, plain, sizeof(plain), &name, &secret))
        return refuse(err, 403, "The credentials are not readable.");
    const struct bj_web_conf *conf = &g->web->conf;
    unsigned bad =
        outcome(bj_secret_check(g->secrets, bj_web_conf_hash(conf, name),
                                bj_web_conf_like(conf), secret, now_usec),
                err);
    explicit_bzero(plain + (secret.p - plain), secret.n);
    if (bad)
        return bad;
    *proof = in_list(&g->conf->proxies, name) ? PROOF_PROXY : PROOF_USER;
    return *proof == PROOF_PROXY ? 0 : take_name(name, ret, err);
}

static unsigned by_token(struct bj_gate *g, struct bj_slice text,
                         uint64_t now_usec, int64_t now_sec,
                         struct bj_identity *ret, enum proof *proof,
                         struct bj_err *err)
{
    struct bj_slice id, secret;
    if (!bj_token_split(text, &id, &secret))
        return refuse(err, 403, "The credentials are not readable.");
    const struct bj_token *t = bj_tokens_find(g->tokens, id);
    unsigned bad =
        outcome(bj_secret_check(g->secrets, t ? t->hash : NULL,
                                bj_tokens_like(g->tokens), secret, now_usec),
                err);
    if (bad)
        return bad;
    if (t->expires_sec <= now_sec)
        return refuse(err, 403, "The token has expired.");
    *proof = PROOF_USER;
    return take_name(bj_slice_str(t->user), ret, err);
}

static unsigned by_header(struct bj_gate *g, struct bj_slice value,
                          uint64_t now_usec, int64_t now_sec,
                          struct bj_identity *ret, enum proof *proof,
                          struct bj_err *err)
{
    struct bj_slice word;
    if (!bj_slice_word(&value, &word))
        return refuse(err, 403, "The credentials are not readable.");
    struct bj_slice rest = bj_slice_trim(value);
    if (word.n == 5 && strncasecmp(word.p, "basic", 5) == 0)
        return by_password(g, rest, now_usec, ret, proof, err);
    if (word.n == 6 && strncasecmp(word.p, "bearer", 6) == 0)
        return by_token(g, rest, now_usec, now_sec, ret, proof, err);
    return refuse(err, 403, "Only Basic and Bearer credentials are known.");
}

static bool name_known(struct bj_gate *g, uid_t uid, uint64_t now,
                       char ret[static BJ_USER_BYTES])
{
    pthread_mutex_lock(&g->lock);
    const struct peer *p = &g->peer[uid % PEERS];
    bool known = p->uid == uid && now < p->until_usec;
    if (known)
        memcpy(ret, p->name, BJ_USER_BYTES);
    pthread_mutex_unlock(&g->lock);
    return known;
}

static bool name_of(struct bj_gate *g, uid_t uid, uint64_t now,
                    char ret[static BJ_USER_BYTES])
{
    char buf[4096];
    struct passwd entry, *found = NULL;
    if (name_known(g, uid, now, ret))
        return true;
    if (getpwuid_r(uid, &entry, buf, sizeof(buf), &found) != 0 || !found ||
        strlen(found->pw_name) >= BJ_USER_BYTES)
        return false;
    struct peer p = {.uid = uid, .until_usec = now + PEER_USEC};
    snprintf(p.name, sizeof(p.name), "%s", found->pw_name);
    memcpy(ret, p.name, BJ_USER_BYTES);
    pthread_mutex_lock(&g->lock);
    g->peer[uid % PEERS] = p;
    pthread_mutex_unlock(&g->lock);
    return true;
}

static unsigned by_peer(struct bj_gate *g, int fd, uint64_t now,
                        struct bj_identity *ret, enum proof *proof,
                        struct bj_err *err)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        return refuse(err, 403, "The process that asks is not known.");
    char name[BJ_USER_BYTES];
    if (!name_of(g, peer.uid, now, name))
        return refuse(err, 403, "The user that asks is not known here.");
    *proof = in_list(&g->conf->proxy_users, bj_slice_str(name)) ? PROOF_PROXY
                                                                : PROOF_USER;
    return *proof == PROOF_PROXY ? 0 : take_name(bj_slice_str(name), ret, err);
}

static bool is_loopback(const struct sockaddr_storage *a)
{
    if (a->ss_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, a, sizeof(in));
        return ntohl(in.sin_addr.s_addr) >> 24 == 127;
    }
    struct sockaddr_in6 in6;
    memcpy(&in6, a, sizeof(in6));
    return IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr) ||
           (IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr) &&
            in6.sin6_addr.s6_addr[12] == 127);
}

/* A certificate stands for a name of access.certificates, if for any. */
static unsigned by_certificate(struct bj_gate *g, struct bj_slice names,
                               struct bj_identity *ret, enum proof *proof,
                               struct bj_err *err)
{
    char user[BJ_USER_BYTES];
    int r = bj_certs_match(g->certs, names, user);
    if (r == -ENOENT)
        return 0;
    struct bj_slice name = bj_slice_str(user);
    if (r < 0 || !bj_access_is_name(name))
        return refuse(err, 403, "The certificate does not stand for one user.");
    *proof = in_list(&g->conf->proxies, name) ? PROOF_PROXY : PROOF_USER;
    return *proof == PROOF_PROXY ? 0 : take_name(name, ret, err);
}

static unsigned by_connection(struct bj_gate *g,
                              const struct bj_http_request *req, uint64_t now,
                              struct bj_identity *ret, enum proof *proof,
                              struct bj_err *err)
{
    struct sockaddr_storage a = {0};
    int fd = req->fd;
    socklen_t len = sizeof(a);
    if (req->peer.n > 0) {
        unsigned bad = by_certificate(g, req->peer, ret, proof, err);
        if (bad || *proof != PROOF_NONE)
            return bad;
    }
    if (getpeername(fd, (struct sockaddr *)&a, &len) < 0)
        return refuse(err, 403, "Nobody is at the other end.");
    if (a.ss_family == AF_UNIX)
        return by_peer(g, fd, now, ret, proof, err);
    if (g->conf->trust_loopback &&
        (a.ss_family == AF_INET || a.ss_family == AF_INET6) && is_loopback(&a))
        *proof = PROOF_PROXY;
    return 0;
}

/* --- all together ----------------------------------------------------------
 */

static unsigned prove(struct bj_gate *g, const struct bj_http_request *req,
                      uint64_t now_usec, int64_t now_sec,
                      struct bj_identity *ret, enum proof *proof,
                      struct bj_err *err)
{
    struct bj_slice auth;
    unsigned n = bj_http_header_all(req, "Authorization", &auth, 1);
    if (n > 1)
        return refuse(err, 400, "There is more than one Authorization header.");
    if (n == 1)
        return by_header(g, auth, now_usec, now_sec, ret, proof, err);
    return by_connection(g, req, now_usec, ret, proof, err);
}

/* What X-Grafana-User says.  From a proxy it is the user; beside any other
 * proof it can only agree. */
static unsigned told(const struct bj_http_request *req, enum proof proof,
                     struct bj_identity *ret, struct bj_err *err)
{
    struct bj_slice name = {0};
    unsigned n = bj_http_header_all(req, "X-Grafana-User", &name, 1);
    if (n > 1)
        return refuse(err, 400,
                      "There is more than one X-Grafana-User header.");
    if (n == 1 && !bj_access_is_name(name))
        return refuse(err, 400,
                      "X-Grafana-User does not hold the name of a user.");
    if (proof == PROOF_PROXY)
        return n == 1 ? take_name(name, ret, err)
                      : refuse(err, 403,
                               "X-Grafana-User is missing; switch on "
                               "send_user_header in Grafana.");
    if (n == 1 && !bj_slice_eq(name, bj_slice_str(ret->user)))
        return refuse(err, 403,
                      "X-Grafana-User names another user than the "
                      "credentials, which are not those of a proxy.");
    return 0;
}

unsigned bj_gate_identify(struct bj_gate *g, const struct bj_http_request *req,
                          uint64_t now_usec, int64_t now_sec,
                          struct bj_identity *ret, struct bj_err *err)
{
    enum proof proof = PROOF_NONE;
    *ret = (struct bj_identity){0};
    unsigned bad = prove(g, req, now_usec, now_sec, ret, &proof, err);
    if (!bad && proof == PROOF_NONE)
        bad = refuse(err, 403,
                     "Credentials are needed: a token, a name and password, "
                     "a certificate, or the server's unix socket.");
    if (!bad)
        bad = told(req, proof, ret, err);
    if (bad) {
        *ret = (struct bj_identity){0};
        return bad;
    }
    struct bj_slice user = bj_slice_str(ret->user);
    ret->admin = bj_access_is_admin(g->access, user);
    ret->accounts = bj_access_accounts(g->access, user, &ret->account);
    if (ret->accounts > BJ_COORDINATED)
        return refuse(err, 500,
                      "You coordinate more accounts than this "
                      "server can handle.");
    return 0;
}

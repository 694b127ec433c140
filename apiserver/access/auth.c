#include "apiserver/access/auth.h"

#include "apiserver/access/certs.h"
#include "apiserver/access/peer.h"
#include "apiserver/access/tokens.h"
#include "base/secret.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>

enum { CREDENTIAL_BYTES = 512 };

struct bj_auth {
    const struct bj_api_conf *conf;
    struct bj_web *web;
    struct bj_tokens *tokens;
    struct bj_certs *certs;
    struct bj_access *access;
    struct bj_secrets *secrets;  /* shared with earlier settings */
    struct bj_peer_names *names; /* of users on unix sockets */
};

/* The owner of the credentials of a request. */
enum credentials { CREDENTIALS_NONE, CREDENTIALS_PROXY, CREDENTIALS_USER };

int bj_auth_new(const struct bj_api_conf *conf, struct bj_secrets *secrets,
                struct bj_auth **ret, struct bj_err *err)
{
    struct bj_auth *auth = calloc(1, sizeof(*auth));
    if (!auth)
        return bj_err_set(err, -ENOMEM, "access");
    auth->conf = conf;
    auth->secrets = secrets;
    auth->names = bj_peer_names_new();
    int r = auth->names
                ? bj_web_new("web.config.file", conf->web_file, &auth->web, err)
                : bj_err_set(err, -ENOMEM, "access");
    if (r == 0 && conf->token_file && conf->token_file[0])
        r = bj_tokens_read(conf->token_file, &auth->tokens, err);
    if (r == 0)
        r = bj_certs_new(&conf->certificates, &auth->certs, err);
    if (r == 0)
        r = bj_access_new(&conf->admins, &conf->coordinators, conf->access_file,
                          &auth->access, err);
    if (r < 0)
        bj_auth_free(auth);
    else
        *ret = auth;
    return r;
}

void bj_auth_free(struct bj_auth *auth)
{
    if (!auth)
        return;
    bj_web_unref(auth->web);
    bj_tokens_free(auth->tokens);
    bj_certs_free(auth->certs);
    bj_access_free(auth->access);
    bj_peer_names_free(auth->names);
    free(auth);
}

struct bj_web *bj_auth_web(const struct bj_auth *auth)
{
    return auth->web;
}

static bool in_list(const struct bj_strv *list, struct bj_slice s)
{
    for (size_t i = 0; i < list->n; i++)
        if (bj_slice_eq(bj_slice_str(list->v[i]), s))
            return true;
    return false;
}

static unsigned auth_refuse(struct bj_err *err, unsigned status,
                            const char *text)
{
    bj_err_set(err, -EACCES, "%s", text);
    return status;
}

static unsigned take_name(struct bj_slice name, struct bj_identity *ret,
                          struct bj_err *err)
{
    if (!bj_access_is_name(name))
        return auth_refuse(err, 400, "This is not a valid user name.");
    memcpy(ret->user, name.p, name.n);
    ret->user[name.n] = '\0';
    return 0;
}

/* --- credentials -----------------------------------------------------------
 */

/* Check that hash is the hash of secret: 0 or a status. */
static unsigned check_secret(struct bj_auth *auth, const char *hash,
                             const char *like,
                             const struct bj_secret_client *client,
                             struct bj_slice secret,
                             const struct bj_auth_time *at, struct bj_err *err)
{
    if (!at->may_wait)
        return bj_secret_known(auth->secrets, hash, secret) ? 0 : BJ_AUTH_LATER;
    int right = bj_secret_check(auth->secrets, hash, like, client, secret,
                                at->boot_usec);
    if (right == -EAGAIN)
        return auth_refuse(err, 429,
                           "Too many wrong passwords; try again in a moment.");
    /* Grafana would replace the text of status 401. */
    return right ? 0 : auth_refuse(err, 403, "The credentials are wrong.");
}

static unsigned
by_password(struct bj_auth *auth, const struct sockaddr *address,
            struct bj_slice coded, const struct bj_auth_time *at,
            struct bj_identity *ret, enum credentials *kind, struct bj_err *err)
{
    char plain[CREDENTIAL_BYTES];
    struct bj_slice name, secret;
    if (!bj_secret_basic(coded, plain, sizeof(plain), &name, &secret))
        return auth_refuse(err, 403, "The credentials are malformed.");
    const struct bj_web_conf *conf = &auth->web->conf;
    unsigned bad = check_secret(
        auth, bj_web_conf_hash(conf, name), bj_web_conf_any_hash(conf),
        &(struct bj_secret_client){address, name}, secret, at, err);
    explicit_bzero(plain + (secret.p - plain), secret.n);
    if (bad)
        return bad;
    *kind = in_list(&auth->conf->proxies, name) ? CREDENTIALS_PROXY
                                                : CREDENTIALS_USER;
    return *kind == CREDENTIALS_PROXY ? 0 : take_name(name, ret, err);
}

static unsigned by_token(struct bj_auth *auth, const struct sockaddr *address,
                         struct bj_slice text, const struct bj_auth_time *at,
                         struct bj_identity *ret, enum credentials *kind,
                         struct bj_err *err)
{
    struct bj_slice id, secret;
    if (!bj_token_split(text, &id, &secret))
        return auth_refuse(err, 403, "The credentials are malformed.");
    const struct bj_token *t = bj_tokens_find(auth->tokens, id);
    unsigned bad =
        check_secret(auth, t ? t->hash : NULL, bj_tokens_like(auth->tokens),
                     &(struct bj_secret_client){address, id}, secret, at, err);
    if (bad)
        return bad;
    if (t->expires_sec <= at->wall_sec)
        return auth_refuse(err, 403, "The token has expired.");
    *kind = CREDENTIALS_USER;
    return take_name(bj_slice_str(t->user), ret, err);
}

static unsigned by_header(struct bj_auth *auth, const struct sockaddr *address,
                          struct bj_slice value, const struct bj_auth_time *at,
                          struct bj_identity *ret, enum credentials *kind,
                          struct bj_err *err)
{
    struct bj_slice word;
    if (!bj_slice_word(&value, &word))
        return auth_refuse(err, 403, "The credentials are malformed.");
    struct bj_slice rest = bj_slice_trim(value);
    if (word.n == 5 && strncasecmp(word.p, "basic", 5) == 0)
        return by_password(auth, address, rest, at, ret, kind, err);
    if (word.n == 6 && strncasecmp(word.p, "bearer", 6) == 0)
        return by_token(auth, address, rest, at, ret, kind, err);
    return auth_refuse(err, 403,
                       "Only Basic and Bearer credentials are supported.");
}

static unsigned by_peer(struct bj_auth *auth, int fd,
                        const struct bj_auth_time *at, struct bj_identity *ret,
                        enum credentials *kind, struct bj_err *err)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        return auth_refuse(err, 403, "The process of the client is unknown.");
    char name[BJ_USER_BYTES];
    int r = bj_peer_names_find(auth->names, peer.uid, at->may_wait, name);
    if (r == -EAGAIN)
        return BJ_AUTH_LATER;
    if (r < 0)
        return r == -ENOENT
                   ? auth_refuse(err, 403,
                                 "The user of the client is unknown on this "
                                 "machine.")
                   : auth_refuse(
                         err, 503,
                         "The user database of the server does not answer; "
                         "try again later.");
    *kind = in_list(&auth->conf->proxy_users, bj_slice_str(name))
                ? CREDENTIALS_PROXY
                : CREDENTIALS_USER;
    return *kind == CREDENTIALS_PROXY ? 0
                                      : take_name(bj_slice_str(name), ret, err);
}

/* Find the user of a certificate by the rules of access.certificates. */
static unsigned by_certificate(struct bj_auth *auth, struct bj_slice names,
                               struct bj_identity *ret, enum credentials *kind,
                               struct bj_err *err)
{
    char user[BJ_USER_BYTES];
    int r = bj_certs_match(auth->certs, names, user);
    if (r == -ENOENT)
        return 0;
    struct bj_slice name = bj_slice_str(user);
    if (r < 0 || !bj_access_is_name(name))
        return auth_refuse(err, 403,
                           "The certificate does not map to exactly one user.");
    *kind = in_list(&auth->conf->proxies, name) ? CREDENTIALS_PROXY
                                                : CREDENTIALS_USER;
    return *kind == CREDENTIALS_PROXY ? 0 : take_name(name, ret, err);
}

static unsigned by_connection(struct bj_auth *auth,
                              const struct bj_http_request *req,
                              const struct bj_auth_time *at,
                              struct bj_identity *ret, enum credentials *kind,
                              struct bj_err *err)
{
    const struct sockaddr *a = req->address;
    if (req->peer.n > 0) {
        unsigned bad = by_certificate(auth, req->peer, ret, kind, err);
        if (bad || *kind != CREDENTIALS_NONE)
            return bad;
    }
    if (a->sa_family == AF_UNIX)
        return by_peer(auth, req->fd, at, ret, kind, err);
    if (auth->conf->trust_loopback && bj_peer_is_loopback(a))
        *kind = CREDENTIALS_PROXY;
    return 0;
}

/* --- authentication --------------------------------------------------------
 */

static unsigned authenticate(struct bj_auth *auth,
                             const struct bj_http_request *req,
                             const struct bj_auth_time *at,
                             struct bj_identity *ret, enum credentials *kind,
                             struct bj_err *err)
{
    struct bj_slice value;
    unsigned n = bj_http_header_all(req, "Authorization", &value, 1);
    if (n > 1)
        return auth_refuse(
            err, 400, "The request has more than one Authorization header.");
    if (n == 1)
        return by_header(auth, req->address, value, at, ret, kind, err);
    return by_connection(auth, req, at, ret, kind, err);
}

/* access.proxy-header contains the user of a proxy's request; with other
 * credentials it must contain their user. */
static unsigned check_header(const struct bj_auth *auth,
                             const struct bj_http_request *req,
                             enum credentials kind, struct bj_identity *ret,
                             struct bj_err *err)
{
    struct bj_slice name = {0};
    const char *header = auth->conf->proxy_header;
    unsigned n = bj_http_header_all(req, header, &name, 1);
    if (n > 1) {
        bj_err_set(err, -EACCES, "The request has more than one %s header.",
                   header);
        return 400;
    }
    if (n == 1 && !bj_access_is_name(name)) {
        bj_err_set(err, -EACCES, "%s is not a valid user name.", header);
        return 400;
    }
    if (kind == CREDENTIALS_PROXY && n == 1)
        return take_name(name, ret, err);
    if (kind == CREDENTIALS_PROXY) {
        bj_err_set(err, -EACCES, "%s is missing%s.", header,
                   strcasecmp(header, "X-Grafana-User") == 0
                       ? "; enable send_user_header in Grafana"
                       : "");
        return 403;
    }
    if (n == 0 || bj_slice_eq(name, bj_slice_str(ret->user)))
        return 0;
    bj_err_set(err, -EACCES,
               "%s names another user than the credentials, which do not "
               "belong to a proxy.",
               header);
    return 403;
}

unsigned bj_auth_identify(struct bj_auth *auth,
                          const struct bj_http_request *req,
                          const struct bj_auth_time *at,
                          struct bj_identity *ret, struct bj_err *err)
{
    enum credentials kind = CREDENTIALS_NONE;
    *ret = (struct bj_identity){0};
    unsigned bad = authenticate(auth, req, at, ret, &kind, err);
    if (!bad && kind == CREDENTIALS_NONE)
        bad = auth_refuse(
            err, 403,
            "Credentials are required: a token, a name and password, "
            "a client certificate, or the unix socket of the server.");
    if (!bad)
        bad = check_header(auth, req, kind, ret, err);
    if (bad) {
        *ret = (struct bj_identity){0};
        return bad;
    }
    struct bj_slice user = bj_slice_str(ret->user);
    ret->admin = bj_access_is_admin(auth->access, user);
    ret->accounts = bj_access_accounts(auth->access, user, &ret->account);
    if (ret->accounts > BJ_COORDINATED)
        return auth_refuse(
            err, 500,
            "You coordinate more accounts than this server supports.");
    return 0;
}

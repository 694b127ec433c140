#include "base/tls.h"

#include "base/clock.h"
#include "base/file.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gnutls/x509.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PEM_BYTES = 1 << 20, NAME_BYTES = 512, NAMES_MAX = 32 };

struct bj_tls {
    gnutls_certificate_credentials_t cred;
    gnutls_priority_t priority;
    unsigned client_auth;
    struct bj_strv sans;
    int64_t expires;
    atomic_uint refs;
};

/* --- creation --------------------------------------------------------------*/

/* PEM text, from a file or inline. */
struct pem {
    const char *name;
    char *buf;
    gnutls_datum_t data;
};

static int read_pem(const struct bj_pem *p, const char *key, struct pem *ret,
                    struct bj_err *err)
{
    struct bj_slice text = bj_slice_str(p->text);
    *ret = (struct pem){.name = p->file ? p->file : key};
    if (p->file) {
        ret->buf = malloc(PEM_BYTES);
        if (!ret->buf)
            return bj_err_set(err, -ENOMEM, "%s", p->file);
        struct bj_err why = {0};
        char reason[240];
        if (bj_file_read_all(AT_FDCWD, p->file, ret->buf, PEM_BYTES, &text,
                             &why) < 0)
            return bj_err_set(err, -EINVAL, "%s",
                              bj_err_text(&why, reason, sizeof(reason)));
    }
    ret->data.data = (unsigned char *)(uintptr_t)text.p;
    ret->data.size = (unsigned)text.n;
    return 0;
}

static void free_pem(struct pem *p)
{
    if (p->buf)
        explicit_bzero(p->buf, PEM_BYTES);
    free(p->buf);
}

static int tls_bad(struct bj_err *err, const char *what, int code)
{
    return bj_err_say(err, code == GNUTLS_E_MEMORY_ERROR ? -ENOMEM : -EINVAL,
                      "%s: %s", what, gnutls_strerror(code));
}

/* When the first of these certificates expires; 0: unknown. */
static int64_t end_of(const gnutls_datum_t *pem)
{
    gnutls_x509_crt_t *crt;
    unsigned n = 0;
    int64_t end = 0;
    if (gnutls_x509_crt_list_import2(&crt, &n, pem, GNUTLS_X509_FMT_PEM, 0) < 0)
        return 0;
    for (unsigned i = 0; i < n; i++) {
        int64_t at = gnutls_x509_crt_get_expiration_time(crt[i]);
        if (at > 0 && (end == 0 || at < end))
            end = at;
        gnutls_x509_crt_deinit(crt[i]);
    }
    gnutls_free(crt);
    return end;
}

static int load_own(struct bj_tls *t, const struct bj_tls_conf *conf,
                    struct bj_err *err)
{
    struct pem cert, key = {0};
    char both[200];
    int r = read_pem(&conf->cert, "cert", &cert, err);
    if (r == 0)
        r = read_pem(&conf->key, "key", &key, err);
    if (r == 0) {
        snprintf(both, sizeof(both), "%s and %s", cert.name, key.name);
        int code = gnutls_certificate_set_x509_key_mem2(
            t->cred, &cert.data, &key.data, GNUTLS_X509_FMT_PEM, NULL, 0);
        r = code < 0 ? tls_bad(err, both, code) : 0;
        t->expires = end_of(&cert.data);
    }
    free_pem(&cert);
    free_pem(&key);
    return r;
}

static int load_clients(struct bj_tls *t, const struct bj_tls_conf *conf,
                        struct bj_err *err)
{
    struct pem ca = {0};
    if (!conf->client_ca.file && !conf->client_ca.text)
        return 0;
    int r = read_pem(&conf->client_ca, "client_ca", &ca, err);
    if (r == 0) {
        int code = gnutls_certificate_set_x509_trust_mem(t->cred, &ca.data,
                                                         GNUTLS_X509_FMT_PEM);
        if (code <= 0)
            r = tls_bad(err, ca.name,
                        code ? code : GNUTLS_E_NO_CERTIFICATE_FOUND);
    }
    free_pem(&ca);
    return r;
}

/* From TLS 1.2 on only ciphers that authenticate what they encrypt, with a key
 * exchange independent of the certificate's key.  Older versions have none of
 * these, so a configuration that allows them gets all their ciphers. */
static int load_priority(struct bj_tls *t, const struct bj_tls_conf *conf,
                         struct bj_err *err)
{
    struct bj_buf s = {0};
    const char *at = NULL;
    bj_buf_str(&s, conf->lowest >= 2 ? "NORMAL:-RSA:-DHE-RSA:-MAC-ALL:+AEAD"
                                     : "NORMAL:-RSA");
    bj_buf_str(&s, ":-VERS-ALL");
    for (unsigned v = conf->upper + 1; v-- > conf->lowest;)
        bj_buf_printf(&s, ":+VERS-TLS1.%u", v);
    if (conf->curves.n > 0)
        bj_buf_str(&s, ":-GROUP-ALL");
    for (size_t i = 0; i < conf->curves.n; i++)
        bj_buf_printf(&s, ":+GROUP-%s", conf->curves.v[i]);
    bj_buf_put(&s, conf->server_order ? ":%SERVER_PRECEDENCE" : "",
               conf->server_order ? sizeof(":%SERVER_PRECEDENCE") - 1 : 0);
    bj_buf_put(&s, "", 1);
    int code = s.failed ? GNUTLS_E_MEMORY_ERROR
                        : gnutls_priority_init(&t->priority, s.p, &at);
    bj_buf_free(&s);
    return code < 0
               ? tls_bad(err, "tls_server_config: versions and curves", code)
               : 0;
}

static int copy_list(struct bj_strv *to, const struct bj_strv *from)
{
    to->v = calloc(from->n + 1, sizeof(*to->v));
    if (!to->v)
        return -ENOMEM;
    for (; to->n < from->n; to->n++)
        if (!(to->v[to->n] = strdup(from->v[to->n])))
            return -ENOMEM;
    return 0;
}

int bj_tls_new(const struct bj_tls_conf *conf, struct bj_tls **ret,
               struct bj_err *err)
{
    if (gnutls_global_init() < 0)
        return bj_err_set(err, -EIO, "cannot start GnuTLS");
    struct bj_tls *t = calloc(1, sizeof(*t));
    if (!t || copy_list(&t->sans, &conf->sans) < 0 ||
        gnutls_certificate_allocate_credentials(&t->cred) < 0) {
        bj_tls_unref(t);
        return bj_err_set(err, -ENOMEM, "TLS");
    }
    t->client_auth = conf->client_auth;
    int r = load_own(t, conf, err);
    if (r == 0)
        r = load_clients(t, conf, err);
    if (r == 0)
        r = load_priority(t, conf, err);
    if (r < 0)
        bj_tls_unref(t);
    else
        *ret = t;
    return r;
}

static char *file_or_null(const char *file)
{
    return file && file[0] ? (char *)(uintptr_t)file : NULL;
}

int bj_tls_check_files(const char *ca_file, const char *cert_file,
                       const char *key_file, struct bj_err *err)
{
    char *const cert = file_or_null(cert_file), *key = file_or_null(key_file);
    const struct bj_tls_conf conf = {.cert.file = cert,
                                     .key.file = key ? key : cert,
                                     .client_ca.file = file_or_null(ca_file)};
    struct bj_tls t = {0};
    if (gnutls_global_init() < 0 ||
        gnutls_certificate_allocate_credentials(&t.cred) < 0)
        return bj_err_set(err, -ENOMEM, "GnuTLS");
    int r = cert ? load_own(&t, &conf, err) : 0;
    if (r == 0)
        r = load_clients(&t, &conf, err);
    if (r == 0 && t.expires > 0 &&
        (uint64_t)t.expires < bj_clock_wall_usec() / 1000000)
        r = bj_err_set(err, -EINVAL, "%s: the certificate has expired", cert);
    gnutls_certificate_free_credentials(t.cred);
    return r;
}

struct bj_tls *bj_tls_ref(struct bj_tls *t)
{
    if (t)
        atomic_fetch_add(&t->refs, 1);
    return t;
}

void bj_tls_unref(struct bj_tls *t)
{
    if (!t || atomic_fetch_sub(&t->refs, 1) > 0)
        return;
    if (t->priority)
        gnutls_priority_deinit(t->priority);
    if (t->cred)
        gnutls_certificate_free_credentials(t->cred);
    for (size_t i = 0; i < t->sans.n; i++)
        free(t->sans.v[i]);
    free(t->sans.v);
    free(t);
}

int64_t bj_tls_expires(const struct bj_tls *t)
{
    return t->expires;
}

/* --- clients' certificates -------------------------------------------------
 */

/* The first certificate of a session's client.  The caller frees it. */
static int peer_crt(gnutls_session_t session, gnutls_x509_crt_t *ret)
{
    unsigned n = 0;
    const gnutls_datum_t *list = gnutls_certificate_get_peers(session, &n);
    if (!list || n == 0 ||
        gnutls_certificate_type_get(session) != GNUTLS_CRT_X509)
        return -ENOENT;
    if (gnutls_x509_crt_init(ret) < 0)
        return -ENOMEM;
    if (gnutls_x509_crt_import(*ret, &list[0], GNUTLS_X509_FMT_DER) < 0) {
        gnutls_x509_crt_deinit(*ret);
        return -EINVAL;
    }
    return 0;
}

/* Alternative name i of a certificate, and its kind; false after the last. */
static bool san(gnutls_x509_crt_t crt, unsigned i, char text[NAME_BYTES],
                size_t *n, int *kind)
{
    *n = NAME_BYTES;
    *kind = gnutls_x509_crt_get_subject_alt_name(crt, i, text, n, NULL);
    return *kind != GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE && i < NAMES_MAX;
}

/* A name of a certificate as the configuration writes it; addresses are bytes.
 */
static struct bj_slice san_text(int kind, const char *text, size_t n,
                                char address[INET6_ADDRSTRLEN])
{
    if (kind != GNUTLS_SAN_IPADDRESS)
        return (struct bj_slice){text, n};
    if ((n != 4 && n != 16) || !inet_ntop(n == 4 ? AF_INET : AF_INET6, text,
                                          address, INET6_ADDRSTRLEN))
        return (struct bj_slice){0};
    return bj_slice_str(address);
}

static bool is_allowed(const struct bj_tls *t, gnutls_x509_crt_t crt)
{
    char text[NAME_BYTES], address[INET6_ADDRSTRLEN];
    size_t n;
    int kind;
    for (unsigned i = 0; san(crt, i, text, &n, &kind); i++)
        for (size_t j = 0; kind >= 0 && j < t->sans.n; j++)
            if (bj_slice_eq(bj_slice_str(t->sans.v[j]),
                            san_text(kind, text, n, address)))
                return true;
    return t->sans.n == 0;
}

static bool is_good(const struct bj_tls *t, gnutls_session_t session)
{
    unsigned status = 0;
    gnutls_x509_crt_t crt;
    gnutls_typed_vdata_st purpose = {
        .type = GNUTLS_DT_KEY_PURPOSE_OID,
        .data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT};
    if (gnutls_certificate_verify_peers(session, &purpose, 1, &status) < 0 ||
        status != 0 || peer_crt(session, &crt) < 0)
        return false;
    bool allowed = is_allowed(t, crt);
    gnutls_x509_crt_deinit(crt);
    return allowed;
}

/* Called during the handshake; every value but 0 ends it. */
static int on_peer(gnutls_session_t session)
{
    const struct bj_tls *t = gnutls_db_get_ptr(session);
    unsigned n = 0;
    bool given = gnutls_certificate_get_peers(session, &n) && n > 0;
    switch (t->client_auth) {
    case BJ_CLIENT_IF_GIVEN:
        return !given || is_good(t, session) ? 0 : -1;
    case BJ_CLIENT_REQUIRED:
        return given && is_good(t, session) ? 0 : -1;
    default:
        return 0;
    }
}

int bj_tls_attach(struct bj_tls *t, gnutls_session_t session)
{
    static const gnutls_certificate_request_t request[] = {
        [BJ_CLIENT_NONE] = GNUTLS_CERT_IGNORE,
        [BJ_CLIENT_REQUEST] = GNUTLS_CERT_REQUEST,
        [BJ_CLIENT_ANY] = GNUTLS_CERT_REQUIRE,
        [BJ_CLIENT_IF_GIVEN] = GNUTLS_CERT_REQUEST,
        [BJ_CLIENT_REQUIRED] = GNUTLS_CERT_REQUIRE,
    };
    /* The session's own pointer is libmicrohttpd's.  Sessions are not stored,
     * so the pointer of their store is free. */
    gnutls_db_set_ptr(session, t);
    gnutls_certificate_server_set_request(session, request[t->client_auth]);
    gnutls_session_set_verify_function(session, on_peer);
    return gnutls_priority_set(session, t->priority) < 0 ||
                   gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE,
                                          t->cred) < 0
               ? -EIO
               : 0;
}

bool bj_tls_recheck(struct bj_tls *t, gnutls_session_t session)
{
    gnutls_db_set_ptr(session, t);
    return gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, t->cred) >=
               0 &&
           t->client_auth >= BJ_CLIENT_IF_GIVEN && is_good(t, session);
}

static void tls_put_name(struct bj_buf *b, const char *kind, struct bj_slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
            return;
    bj_buf_str(b, kind);
    bj_buf_slice(b, s);
    bj_buf_put(b, "", 1);
}

static void tls_put_names(gnutls_x509_crt_t crt, struct bj_buf *b)
{
    static const char *const kinds[] = {[GNUTLS_SAN_DNSNAME] = "dns:",
                                        [GNUTLS_SAN_RFC822NAME] = "email:",
                                        [GNUTLS_SAN_URI] = "uri:"};
    char text[NAME_BYTES];
    size_t n = sizeof(text);
    int kind;
    if (gnutls_x509_crt_get_dn(crt, text, &n) == 0)
        tls_put_name(b, "subject:", (struct bj_slice){text, n});
    n = sizeof(text);
    /* Only one name counts: with two, there is none. */
    size_t more = sizeof(text);
    char second[NAME_BYTES];
    if (gnutls_x509_crt_get_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 1, 0,
                                      second, &more) ==
            GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE &&
        gnutls_x509_crt_get_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, 0,
                                      text, &n) == 0)
        tls_put_name(b, "cn:", (struct bj_slice){text, n});
    for (unsigned i = 0; san(crt, i, text, &n, &kind); i++)
        if (kind >= 0 && (size_t)kind < sizeof(kinds) / sizeof(kinds[0]) &&
            kinds[kind])
            tls_put_name(b, kinds[kind], (struct bj_slice){text, n});
}

int bj_tls_names(struct bj_tls *t, gnutls_session_t session, struct bj_buf *ret,
                 int64_t *ret_until)
{
    gnutls_x509_crt_t crt;
    if (t->client_auth < BJ_CLIENT_IF_GIVEN || peer_crt(session, &crt) < 0)
        return -ENOENT;
    tls_put_names(crt, ret);
    *ret_until = gnutls_x509_crt_get_expiration_time(crt);
    gnutls_x509_crt_deinit(crt);
    return ret->failed ? -ENOMEM : 0;
}

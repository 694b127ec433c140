#include "base/httpd_conn.h"

#include "base/clock.h"

/* The library asks for a certificate when it has none of its own; it never
 * comes to that, since every session gets credentials of ours. */
int bj_httpd_no_cert(gnutls_session_t session, const gnutls_datum_t *issuers,
                     int n, const gnutls_pk_algorithm_t *algorithms,
                     int algorithms_n, gnutls_pcert_st **ret, unsigned *ret_n,
                     gnutls_privkey_t *ret_key)
{
    (void)session;
    (void)issuers;
    (void)n;
    (void)algorithms;
    (void)algorithms_n;
    (void)ret;
    (void)ret_n;
    (void)ret_key;
    return -1;
}

static gnutls_session_t session_of(struct bj_httpd_conn *c)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    return info ? info->tls_session : NULL;
}

int bj_httpd_tls_begin(struct bj_httpd_conn *c)
{
    gnutls_session_t session = session_of(c);
    if (!session)
        return 0;
    if (!c->h->web || !c->h->web->tls)
        return -EIO;
    c->tls = bj_tls_ref(c->h->web->tls);
    return bj_tls_attach(c->tls, session);
}

void bj_httpd_tls_end(struct bj_httpd_conn *c)
{
    bj_tls_unref(c->tls);
    bj_buf_free(&c->names);
}

/* The certificate was verified in the handshake.  When it has ended since, or
 * there are other rules, it is verified once more. */
void bj_httpd_tls_peer(struct bj_httpd_conn *c)
{
    struct bj_tls *now = c->h->web ? c->h->web->tls : NULL;
    if (!c->tls)
        return;
    gnutls_session_t session = session_of(c);
    if (!c->names_read) {
        c->names_read = true;
        if (bj_tls_names(c->tls, session, &c->names, &c->names_until) < 0)
            c->names.len = 0;
    }
    if (c->names.len > 0 &&
        (now != c->tls ||
         (int64_t)(bj_clock_wall_usec() / 1000000) > c->names_until)) {
        if (!now || !bj_tls_recheck(now, session)) {
            c->names.len = 0;
        } else if (now != c->tls) {
            bj_tls_unref(c->tls);
            c->tls = bj_tls_ref(now);
        }
    }
    c->req.peer = (struct bj_slice){c->names.p, c->names.len};
}

int bj_httpd_configure(struct bj_httpd *h, struct bj_web *web,
                       struct bj_err *err)
{
    if (web->tls && !h->mhd[BJ_HTTPD_TLS]) {
        if (MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES ||
            MHD_is_feature_supported(MHD_FEATURE_HTTPS_CERT_CALLBACK) !=
                MHD_YES)
            return bj_err_set(err, -ENOSYS, "libmicrohttpd has no TLS");
        h->mhd[BJ_HTTPD_TLS] = bj_httpd_start(h, BJ_HTTPD_TLS);
        if (!h->mhd[BJ_HTTPD_TLS])
            return bj_err_set(err, -ENOMEM, "TLS does not start");
    }
    bj_web_ref(web);
    bj_web_unref(h->web);
    h->web = web;
    return 0;
}

#include "base/httpd_conn.h"

#include "base/clock.h"

/* Never called: bj_httpd_tls_begin() sets the credentials of every session. */
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

/* The handshake verified the certificate.  It is verified again when it has
 * expired since or the configuration has changed. */
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

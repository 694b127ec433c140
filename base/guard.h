/* Who may ask a program that shows metrics: its web configuration, and the
 * names and passwords in it. */
#ifndef BJ_BASE_GUARD_H
#define BJ_BASE_GUARD_H

#include "base/httpd.h"
#include "base/web.h"

struct bj_secrets;

struct bj_guard {
    const char *path; /* of web.config.file; NULL or empty: none */
    struct bj_web *web;
    struct bj_web_watch watch;
    struct bj_secrets *secrets; /* NULL: nobody has a password yet */
    struct bj_bucket bucket;
    /* Posts bring a proof of their own, which whoever takes them checks: they
     * need no password.  Set after bj_guard_init. */
    bool posts_prove;
};

/* Read the file of path, which must outlive it, for httpd.  Free it whatever
 * came of it. */
int bj_guard_init(struct bj_guard *g, const char *path, struct bj_httpd *httpd,
                  struct bj_err *err);
void bj_guard_free(struct bj_guard *g);

/* Take over what has changed in the files, at once or when it is time to look;
 * what is wrong is told in the log, and the old one stays. */
void bj_guard_follow(struct bj_guard *g, struct bj_httpd *httpd, bool at_once,
                     uint64_t now_usec);

/* Append when the certificate in use ends, as the gauge of that name in the
 * text format of Prometheus; nothing without TLS. */
void bj_guard_metric(const struct bj_guard *g, const char *name,
                     struct bj_buf *out);

/* May this request be answered?  Else ret says why not. */
bool bj_guard_check(struct bj_guard *g, const struct bj_http_request *req,
                    struct bj_http_reply *ret);

#endif

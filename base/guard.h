/* Access control of a program that shows metrics: its web configuration, with
 * users and passwords. */
#ifndef BJ_BASE_GUARD_H
#define BJ_BASE_GUARD_H

#include "base/httpd.h"
#include "base/web.h"

struct bj_secrets;

struct bj_guard {
    const char *option; /* that names the file */
    const char *path;   /* of it; NULL or empty: none */
    struct bj_web *web;
    struct bj_web_watch watch;
    struct bj_secrets *secrets; /* NULL: no password configured yet */
    struct bj_bucket bucket;
    /* POST requests carry a token that their handler checks: they need no
     * password. Set it after bj_guard_init. */
    bool posts_have_token;
};

/* Read the file of path for httpd.  option, for messages, and path must outlive
 * it.  Free it also after a failure. */
int bj_guard_init(struct bj_guard *g, const char *option, const char *path,
                  struct bj_httpd *httpd, struct bj_err *err);
void bj_guard_free(struct bj_guard *g);

/* Apply changes of the files, at once or at the next check; on errors, which go
 * to the log, the old configuration stays. */
void bj_guard_follow(struct bj_guard *g, struct bj_httpd *httpd, bool at_once,
                     uint64_t now_usec);

/* Append the expiry time of the certificate in use as a gauge in the text
 * format of Prometheus; nothing without TLS. */
void bj_guard_metric(const struct bj_guard *g, const char *name,
                     struct bj_buf *out);

/* Is the request allowed?  If not, *ret is the response that refuses it. */
bool bj_guard_check(struct bj_guard *g, const struct bj_http_request *req,
                    struct bj_http_reply *ret);

#endif

#include "base/guard.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/tls.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

enum { CREDENTIAL_BYTES = 512 };

static int guard_load(struct bj_guard *g, struct bj_httpd *httpd,
                      struct bj_err *err)
{
    struct bj_web *web;
    int r = bj_web_new(g->option, g->path, &web, err);
    if (r == 0 && web->conf.users > 0 && !g->secrets)
        r = bj_secrets_new(&g->secrets, err);
    if (r < 0)
        return r;
    r = bj_httpd_configure(httpd, web, err);
    if (r < 0) {
        bj_web_unref(web);
        return r;
    }
    bj_web_unref(g->web);
    g->web = web;
    return 0;
}

int bj_guard_init(struct bj_guard *g, const char *option, const char *path,
                  struct bj_httpd *httpd, struct bj_err *err)
{
    *g = (struct bj_guard){.option = option, .path = path};
    return guard_load(g, httpd, err);
}

void bj_guard_free(struct bj_guard *g)
{
    bj_web_unref(g->web);
    bj_secrets_free(g->secrets);
    *g = (struct bj_guard){0};
}

void bj_guard_follow(struct bj_guard *g, struct bj_httpd *httpd, bool at_once,
                     uint64_t now_usec)
{
    struct bj_err err = {0};
    if (!bj_web_changed(g->web, &g->watch, now_usec) && !at_once)
        return;
    if (guard_load(g, httpd, &err) < 0)
        bj_log(BJ_LOG_ERROR, NULL, "%s; the old configuration stays", err.msg);
    else
        bj_log(BJ_LOG_INFO, NULL, "%s reloaded", g->path);
}

void bj_guard_metric(const struct bj_guard *g, const char *name,
                     struct bj_buf *out)
{
    int64_t end = g->web->tls ? bj_tls_expires(g->web->tls) : 0;
    if (end > 0)
        bj_buf_printf(
            out,
            "# HELP %s Expiry time of the first certificate of the TLS "
            "configuration, in seconds since 1970.\n"
            "# TYPE %s gauge\n%s %" PRId64 "\n",
            name, name, name, end);
}

/* Does the request carry a user and password of the file? */
static int guard_is_known(struct bj_guard *g, const struct bj_http_request *req)
{
    struct bj_slice auth, word, name, secret;
    char plain[CREDENTIAL_BYTES];
    if (bj_http_header_all(req, "Authorization", &auth, 1) != 1 ||
        !bj_slice_word(&auth, &word) || word.n != 5 ||
        strncasecmp(word.p, "basic", 5) != 0 ||
        !bj_secret_basic(bj_slice_trim(auth), plain, sizeof(plain), &name,
                         &secret))
        return 0;
    const struct bj_web_conf *conf = &g->web->conf;
    int r = bj_secret_check(g->secrets, bj_web_conf_hash(conf, name),
                            bj_web_conf_any_hash(conf),
                            &(struct bj_secret_client){req->address, name},
                            secret, bj_clock_boot_usec());
    explicit_bzero(plain, sizeof(plain));
    return r;
}

static bool guard_refuse(struct bj_http_reply *ret, unsigned status,
                         const char *text, const char *name, const char *value)
{
    ret->status = status;
    bj_buf_str(&ret->body, text);
    ret->header[0].name = name;
    ret->header[0].value = value;
    return false;
}

bool bj_guard_check(struct bj_guard *g, const struct bj_http_request *req,
                    struct bj_http_reply *ret)
{
    const struct bj_web_conf *c = &g->web->conf;
    if (c->rate_usec > 0 && bj_bucket_take(&g->bucket, c->rate_usec, c->burst,
                                           bj_clock_boot_usec()) > 0)
        return guard_refuse(ret, 429, "Too many requests.\n", "Retry-After",
                            "1");
    if (c->users == 0 || (g->posts_have_token && req->method == BJ_HTTP_POST))
        return true;
    int r = guard_is_known(g, req);
    if (r < 0)
        return guard_refuse(ret, 429, "Too many wrong passwords.\n",
                            "Retry-After", "1");
    return r > 0 || guard_refuse(ret, 401, "Unauthorized\n", "WWW-Authenticate",
                                 "Basic");
}

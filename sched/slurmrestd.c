#include "sched/slurmrestd.h"

#include "base/fetch.h"
#include "base/json.h"
#include "base/secret_file.h"
#include "base/text.h"
#include "sched/slurmrest_value.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    TOKEN_MAX = 16384,
    SPEC_MAX = 64 << 20,
    OLDEST = 37,
    NEWEST = 99,
    URL_MAX = 8192
};

struct bj_slurmrestd {
    struct bj_slurmrestd_conf conf;
    struct bj_fetch *fetch;
    unsigned version[BJ_SLURMRESTD_FAMILIES]; /* 0: not known yet */
    bool known;
    char token[TOKEN_MAX + 32], user[300]; /* headers */
};

int bj_slurmrestd_new(const struct bj_slurmrestd_conf *conf,
                      struct bj_slurmrestd **ret, struct bj_err *err)
{
    struct bj_slurmrestd *s = calloc(1, sizeof(*s));
    if (!s)
        return bj_err_set(err, -ENOMEM, "slurmrestd");
    s->conf = *conf;
    int r = bj_fetch_new(&s->fetch, err);
    if (r < 0) {
        free(s);
        return r;
    }
    *ret = s;
    return 0;
}

void bj_slurmrestd_free(struct bj_slurmrestd *s)
{
    if (!s)
        return;
    bj_fetch_free(s->fetch);
    explicit_bzero(s->token, sizeof(s->token));
    free(s);
}

/* --- requests -------------------------------------------------------------*/

/* Tokens expire: the site replaces the file with a new one. */
static int read_token(struct bj_slurmrestd *s, struct bj_err *err)
{
    static const char prefix[] = "SLURM_JWT="; /* output of "scontrol token" */
    char text[TOKEN_MAX];
    const char *token = text;
    int r = bj_secret_read(s->conf.token_file, text, sizeof(text), err);
    if (r < 0)
        return bj_err_wrap(err, r, "slurmrestd.token-file");
    if (strncmp(text, prefix, sizeof(prefix) - 1) == 0)
        token += sizeof(prefix) - 1;
    s->token[0] = '\0';
    if (*token)
        snprintf(s->token, sizeof(s->token), "X-SLURM-USER-TOKEN: %s", token);
    explicit_bzero(text, sizeof(text));
    return 0;
}

static int slurmrestd_get(struct bj_slurmrestd *s, const char *path,
                          struct bj_fetch_request *req,
                          struct bj_fetch_reply *reply, struct bj_err *err)
{
    const struct bj_slurmrestd_conf *c = &s->conf;
    const char *headers[4] = {NULL};
    unsigned n = 0;
    char url[URL_MAX];
    int len = snprintf(url, sizeof(url), "%s%s",
                       bj_is_set(c->url) ? c->url : "http://localhost", path);
    if (len >= (int)sizeof(url))
        return bj_err_set(err, -EINVAL, "slurmrestd.url is too long");
    int r = read_token(s, err);
    if (r < 0)
        return r;
    if (s->token[0])
        headers[n++] = s->token;
    if (bj_is_set(c->user)) {
        snprintf(s->user, sizeof(s->user), "X-SLURM-USER-NAME: %s", c->user);
        headers[n++] = s->user;
    }
    req->url = url;
    req->headers = headers;
    req->ca_file = bj_is_set(c->ca_file) ? c->ca_file : NULL;
    req->unix_socket = bj_is_set(c->unix_socket) ? c->unix_socket : NULL;
    req->no_proxy = bj_is_set(c->unix_socket);
    req->total_usec = c->deadline_usec;
    return bj_fetch(s->fetch, req, reply, err);
}

/* HTML and JSON, such as that of a proxy, is not for people. */
static void slurmrestd_take_line(struct bj_slice body,
                                 char text[static BJ_REST_ERROR])
{
    struct bj_slice line = {0};
    if (bj_slice_line(&body, &line) && line.n > 0 && line.p[0] != '<' &&
        line.p[0] != '{')
        snprintf(text, BJ_REST_ERROR, "%.*s", (int)line.n, line.p);
}

/* Take the reason of an error from the reply's "errors", or from its first line
 * if it is plain text, as from the HTTP server in slurmrestd. */
static void slurmrestd_explain(const struct bj_fetch_reply *reply,
                               struct bj_err *err)
{
    char text[BJ_REST_ERROR] = "", clean[BJ_REST_ERROR];
    struct bj_arena arena = {0};
    const struct bj_json *doc = NULL;
    if (reply->status < 400 || !err)
        return;
    if (bj_json_parse(&arena, (struct bj_slice){reply->body.p, reply->body.len},
                      "slurmrestd", NULL, &doc, NULL) == 0)
        bj_rest_error(bj_json_at(bj_json_get(doc, "errors"), 0), text);
    else
        slurmrestd_take_line((struct bj_slice){reply->body.p, reply->body.len},
                             text);
    bj_arena_free(&arena);
    if (!text[0])
        return;
    bj_text_clean(bj_slice_str(text), clean, sizeof(clean));
    bj_err_say(err, err->code, "slurmrestd: status %u: %s", reply->status,
               clean);
}

int bj_slurmrestd_get(struct bj_slurmrestd *s, const char *path,
                      const atomic_bool *abort,
                      int (*sink)(void *, struct bj_slice, struct bj_err *),
                      void *ctx, struct bj_err *err)
{
    struct bj_fetch_reply reply = {.fault = BJ_FETCH_OK};
    struct bj_fetch_request req = {
        .sink = sink, .ctx = ctx, .max_bytes = SIZE_MAX / 4, .abort = abort};
    int r = slurmrestd_get(s, path, &req, &reply, err);
    if (r < 0 && reply.status == 404)
        s->known = false; /* it may be another slurmrestd now */
    if (r < 0)
        slurmrestd_explain(&reply, err);
    bj_fetch_reply_free(&reply);
    return r;
}

/* --- versions -------------------------------------------------------------*/

/* Cut a text off the front; its slashes may be escaped, as JSON allows. */
static bool slurmrestd_cut(struct bj_slice *s, const char *text)
{
    struct bj_slice rest = *s;
    for (; *text; text++) {
        if (*text == '/' && rest.n > 0 && rest.p[0] == '\\') {
            rest.p++;
            rest.n--;
        }
        if (rest.n == 0 || rest.p[0] != *text)
            return false;
        rest.p++;
        rest.n--;
    }
    *s = rest;
    return true;
}

unsigned bj_slurmrestd_newest(struct bj_slice openapi,
                              enum bj_slurmrestd_family family)
{
    const struct bj_slice word =
        family == BJ_SLURMRESTD_DB ? BJ_SLICE("slurmdb") : BJ_SLICE("slurm");
    struct bj_slice text = openapi;
    unsigned best = 0;
    while (text.n > 0) {
        const char *p = memmem(text.p, text.n, word.p, word.n);
        if (!p)
            break;
        p += word.n;
        text = (struct bj_slice){p, text.n - (size_t)(p - text.p)};
        uint64_t v;
        if (slurmrestd_cut(&text, "/v0.0.") && bj_slice_number(&text, &v) &&
            slurmrestd_cut(&text, "/jobs") && v > best && v >= OLDEST &&
            v <= NEWEST)
            best = (unsigned)v;
    }
    return best;
}

/* Request the list of plugins. */
static int request_versions(struct bj_slurmrestd *s, const atomic_bool *abort,
                            struct bj_err *err)
{
    struct bj_fetch_reply reply = {.fault = BJ_FETCH_OK};
    struct bj_fetch_request req = {.max_bytes = SPEC_MAX, .abort = abort};
    int r = slurmrestd_get(s, "/openapi/v3", &req, &reply, err);
    const struct bj_slice text = {reply.body.p, reply.body.len};
    for (int f = 0; r == 0 && f < BJ_SLURMRESTD_FAMILIES; f++)
        s->version[f] =
            bj_slurmrestd_newest(text, (enum bj_slurmrestd_family)f);
    s->known = r == 0;
    bj_fetch_reply_free(&reply);
    return r;
}

int bj_slurmrestd_version(struct bj_slurmrestd *s,
                          enum bj_slurmrestd_family family,
                          const atomic_bool *abort, unsigned *ret,
                          struct bj_err *err)
{
    if (s->conf.version > 0) {
        *ret = (unsigned)s->conf.version;
        return 0;
    }
    int r = s->known ? 0 : request_versions(s, abort, err);
    if (r < 0)
        return r;
    if (s->version[family] == 0) {
        s->known = false;
        return bj_err_set(err, -ENOTSUP,
                          "slurmrestd offers no supported version of %s "
                          "(its openapi plugins %s0.0.37 and later)",
                          family == BJ_SLURMRESTD_DB ? "accounting" : "queue",
                          family == BJ_SLURMRESTD_DB ? "dbv" : "v");
    }
    *ret = s->version[family];
    return 0;
}

#include "core/energy/redfish_session.h"

#include "base/fetch.h"
#include "base/secret_file.h"
#include "core/energy/redfish.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    URL_BYTES = 512,
    SECRET_BYTES = 512,
    DOCUMENT_BYTES = 1 << 20,
    GOODBYE_USEC = 1000000,
};

struct bj_redfish {
    const struct bj_energy_conf *conf;
    const atomic_bool *stop;
    struct bj_fetch *fetch;
    struct bj_fetch_reply reply;
    struct bj_arena arena;
    char origin[URL_BYTES / 2];   /* without a final '/' */
    char password[SECRET_BYTES];  /* "": none */
    char header[SECRET_BYTES];    /* "X-Auth-Token: ..." ; "": no session */
    char session[BJ_REDFISH_URI]; /* the session to delete at the end */
    bool basic;                   /* the service has no sessions */
};

/* --- credentials ----------------------------------------------------------*/

static bool is_set(const char *s)
{
    return s && s[0];
}

static int load_password(struct bj_redfish *s, struct bj_err *err)
{
    int r = bj_secret_read(s->conf->redfish_password_file, s->password,
                           sizeof(s->password), err);
    return r < 0 ? bj_err_wrap(err, r, "energy.redfish-password-file") : 0;
}

static int set_origin(struct bj_redfish *s, struct bj_err *err)
{
    struct bj_slice url = bj_slice_str(s->conf->redfish_url);
    while (url.n > 0 && url.p[url.n - 1] == '/')
        url.n--;
    if (url.n == 0)
        return bj_err_set(err, -ENODEV,
                          "the URL of the Redfish service is missing");
    if (url.n >= sizeof(s->origin))
        return bj_err_set(err, -EINVAL, "the URL of Redfish is too long");
    memcpy(s->origin, url.p, url.n);
    s->origin[url.n] = '\0';
    return 0;
}

int bj_redfish_new(const struct bj_meter_env *env, struct bj_redfish **ret,
                   struct bj_err *err)
{
    struct bj_redfish *s = calloc(1, sizeof(*s));
    if (!s)
        return bj_err_set(err, -ENOMEM, "Redfish");
    s->conf = env->conf;
    s->stop = env->stop;
    int r = set_origin(s, err);
    if (r == 0)
        r = load_password(s, err);
    if (r == 0)
        r = bj_fetch_new(&s->fetch, err);
    if (r < 0) {
        bj_redfish_free(s);
        return r;
    }
    *ret = s;
    return 0;
}

/* --- requests -------------------------------------------------------------*/

/* The parts of a request that differ between requests. */
struct request {
    const char *method, *uri;
    struct bj_slice body;
    const char *header;
    bool credentials;
    uint64_t usec;
    const atomic_bool *abort;
};

static int request(struct bj_redfish *s, const struct request *a,
                   struct bj_err *err)
{
    char url[URL_BYTES];
    snprintf(url, sizeof(url), "%s%s", s->origin, a->uri);
    const char *headers[] = {
        "Accept: application/json",
        "OData-Version: 4.0",
        a->body.n > 0       ? "Content-Type: application/json"
        : is_set(a->header) ? a->header
                            : NULL,
        NULL,
    };
    const struct bj_fetch_request req = {
        .method = a->method,
        .url = url,
        .headers = headers,
        .body = a->body,
        .user = a->credentials ? s->conf->redfish_user : NULL,
        .password = a->credentials ? s->password : NULL,
        .ca_file =
            is_set(s->conf->redfish_ca_file) ? s->conf->redfish_ca_file : NULL,
        .insecure = s->conf->redfish_insecure,
        .no_proxy = true,
        .connect_usec = a->usec,
        .total_usec = a->usec,
        .max_bytes = DOCUMENT_BYTES,
        .abort = a->abort,
    };
    return bj_fetch(s->fetch, &req, &s->reply, err);
}

/* --- sessions -------------------------------------------------------------*/

/* Keep the Location of a session, which is a path or a whole URL of the
 * service. */
static void keep_session(struct bj_redfish *s)
{
    struct bj_slice at = bj_fetch_header(&s->reply, "Location");
    struct bj_slice origin = bj_slice_str(s->origin);
    if (bj_slice_starts(at, origin)) {
        at.p += origin.n;
        at.n -= origin.n;
    }
    bj_redfish_uri(at, s->session);
}

static int keep_token(struct bj_redfish *s, struct bj_err *err)
{
    struct bj_slice token = bj_fetch_header(&s->reply, "X-Auth-Token");
    if (token.n == 0)
        return bj_err_set(err, -EBADMSG, "the Redfish session has no token");
    int n = snprintf(s->header, sizeof(s->header), "X-Auth-Token: %.*s",
                     (int)token.n, token.p);
    if (n < 0 || (size_t)n >= sizeof(s->header)) {
        s->header[0] = '\0';
        return bj_err_set(err, -EBADMSG, "a Redfish token of %zu bytes",
                          token.n);
    }
    keep_session(s);
    return 0;
}

static int credentials_body(struct bj_redfish *s, struct bj_buf *b)
{
    struct bj_json_out o = {.to = b};
    bj_json_put_object(&o, NULL);
    bj_json_put_str(&o, "UserName", bj_slice_str(s->conf->redfish_user));
    bj_json_put_str(&o, "Password", bj_slice_str(s->password));
    bj_json_put_end(&o);
    return bj_json_out_end(&o);
}

/* Whether the status means that the service has no sessions. */
static bool has_no_sessions(unsigned status)
{
    return status == 400 || status == 404 || status == 405 || status == 501;
}

static int log_in(struct bj_redfish *s, struct bj_err *err)
{
    struct bj_buf body = {0};
    s->header[0] = s->session[0] = '\0';
    if (credentials_body(s, &body) < 0) {
        bj_buf_free(&body);
        return bj_err_set(err, -ENOMEM, "Redfish session");
    }
    const struct request a = {
        .uri = "/redfish/v1/SessionService/Sessions",
        .body = {body.p, body.len},
        .usec = s->conf->timeout_usec,
        .abort = s->stop,
    };
    int r = request(s, &a, err);
    explicit_bzero(body.p, body.len);
    bj_buf_free(&body);
    if (r == 0)
        return keep_token(s, err);
    s->basic = has_no_sessions(s->reply.status);
    return s->basic ? 0 : bj_err_wrap(err, r, "log in");
}

static void log_out(struct bj_redfish *s)
{
    const struct request a = {
        .method = "DELETE",
        .uri = s->session,
        .header = s->header,
        .usec = GOODBYE_USEC,
    };
    if (is_set(s->session) && is_set(s->header))
        request(s, &a, NULL);
}

void bj_redfish_free(struct bj_redfish *s)
{
    if (!s)
        return;
    if (s->fetch)
        log_out(s);
    bj_fetch_free(s->fetch);
    bj_fetch_reply_free(&s->reply);
    bj_arena_free(&s->arena);
    explicit_bzero(s->password, sizeof(s->password));
    explicit_bzero(s->header, sizeof(s->header));
    free(s);
}

/* --- documents ------------------------------------------------------------*/

static int get(struct bj_redfish *s, const char *uri, struct bj_err *err)
{
    bool anonymous = !is_set(s->conf->redfish_user);
    if (!anonymous && !s->basic && !is_set(s->header)) {
        int r = log_in(s, err);
        if (r < 0)
            return r;
    }
    const struct request a = {
        .uri = uri,
        .header = s->header,
        .credentials = s->basic,
        .usec = s->conf->timeout_usec,
        .abort = s->stop,
    };
    return request(s, &a, err);
}

/* Errors of base/fetch.h as errors of meters. */
static int fault(const struct bj_redfish *s, int r)
{
    if (r == -EREMOTEIO)
        return s->reply.status == 404 ? -ENODEV : -EIO;
    return r == -EPROTO || r == -EFBIG || r == -EINVAL ? -EBADMSG : r;
}

int bj_redfish_get(struct bj_redfish *s, const char *uri,
                   const struct bj_json **ret, struct bj_err *err)
{
    int r = get(s, uri, err);
    if (r == -EACCES && s->reply.status == 401 && is_set(s->header)) {
        s->header[0] = '\0'; /* it has expired, or the BMC was reset */
        r = get(s, uri, err);
    }
    if (r < 0)
        return bj_err_wrap(err, fault(s, r), "Redfish");
    bj_arena_reset(&s->arena);
    struct bj_slice text = {s->reply.body.p, s->reply.body.len};
    r = bj_json_parse(&s->arena, text, uri, NULL, ret, err);
    if (r == 0 && bj_json_kind(*ret) != BJ_JSON_OBJECT)
        r = bj_err_set(err, -EINVAL, "%s: expected a JSON object", uri);
    if (r < 0)
        return bj_err_wrap(err, r == -ENOMEM ? r : -EBADMSG, "Redfish");
    return 0;
}

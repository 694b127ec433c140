/* Requests to targets. */
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/secret_file.h"
#include "base/stamp.h"
#include "base/text.h"
#include "notify/notify_impl.h"

#include <fcntl.h>
#include <gnutls/crypto.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    REQUEST_USEC = 10 * 1000000,
    REPLY_BYTES = 65536,
    SECRET_BYTES = 8192,
    ALERTS_MAX = 200, /* in a request */
    ENDS_AFTER = 3,   /* rounds without a repetition */
};

/* --- what a target gets ----------------------------------------------------
 */

static unsigned severity_of(struct bj_slice name)
{
    static const char *const names[] = {"info", "warning", "critical"};
    unsigned i = 0;
    while (i < 2 && !bj_slice_eq(name, bj_slice_str(names[i])))
        i++;
    return i;
}

static bool is_listed(const struct bj_strv *list, struct bj_slice name)
{
    for (size_t i = 0; i < list->n; i++)
        if (bj_slice_eq(bj_slice_str(list->v[i]), name))
            return true;
    return list->n == 0;
}

void bj_target_init(struct bj_target *t, const struct bj_target_conf *conf)
{
    *t = (struct bj_target){.conf = conf,
                            .severity =
                                severity_of(bj_slice_str(conf->severity)),
                            .form = bj_form_of(conf->kind)};
    for (int i = 0; i < BJ_ALERT_KINDS; i++)
        t->wants[i] = conf->event.n > 0 &&
                      is_listed(&conf->event, bj_slice_str(bj_alert_kinds[i]));
}

bool bj_target_wants(const struct bj_target *t, const struct bj_alert *v)
{
    return t->wants[v->kind] &&
           severity_of(v->field[BJ_AF_SEVERITY]) >= t->severity &&
           is_listed(&t->conf->cluster, v->field[BJ_AF_CLUSTER]) &&
           (v->kind != BJ_ALERT_FINDING ||
            is_listed(&t->conf->account, v->field[BJ_AF_ACCOUNT]));
}

/* --- checks and texts ------------------------------------------------------
 */

const char *bj_target_show(const char *url, bool secret,
                           char buf[static BJ_TARGET_SHOWN])
{
    bj_fetch_show(url, buf);
    char *host = strstr(buf, "://");
    char *path = host ? strchr(host + 3, '/') : NULL;
    size_t n = strlen(url);
    if (!secret || !path)
        return buf;
    const size_t left = BJ_TARGET_SHOWN - (size_t)(path - buf);
    if (n >= 12)
        snprintf(path, left, "/...%s", url + n - 4);
    else
        snprintf(path, left, "/...");
    return buf;
}

static int check_secret(const char *option, const char *path,
                        struct bj_err *err)
{
    char secret[SECRET_BYTES];
    int r = bj_secret_read(path, secret, sizeof(secret), err);
    explicit_bzero(secret, sizeof(secret));
    return r < 0 ? bj_err_wrap(err, r, "%s", option) : 0;
}

int bj_target_check(const struct bj_target_conf *c, struct bj_err *err)
{
    char url[BJ_TARGET_URL_MAX];
    int r = check_secret("password-file", c->password_file, err);
    if (r == 0)
        r = check_secret("secret-file", c->secret_file, err);
    if (r == 0)
        r = bj_target_url(c, url, sizeof(url), err);
    if (r == 0)
        r = check_secret("token-file", c->token_file, err);
    if (r == 0)
        r = bj_file_usable("ca-file", c->ca_file, R_OK, err);
    if (r == 0)
        r = bj_file_usable("cert-file", c->cert_file, R_OK, err);
    if (r == 0)
        r = bj_file_usable("key-file", c->key_file, R_OK, err);
    return r < 0 ? bj_err_wrap(err, r, "target '%s'", c->name) : 0;
}

/* --- requests --------------------------------------------------------------
 */

/* Has the text a part of the path of the URL, which may be a secret? */
static bool repeats_path(const char *url, const char *text)
{
    enum { SHORTEST = 6 };
    const char *host = strstr(url, "://");
    struct bj_slice rest = bj_slice_str(host ? strchr(host + 3, '/') : NULL),
                    part;
    char word[512];
    while (bj_slice_field(&rest, '/', &part)) {
        if (part.n < SHORTEST || part.n >= sizeof(word))
            continue;
        memcpy(word, part.p, part.n);
        word[part.n] = '\0';
        if (strstr(text, word))
            return true;
    }
    return false;
}

/* The reason of a failed request: its message without the URL, and the begin of
 * the reply, unless that has secrets. */
static int target_reason(const struct bj_target_post *p, const char *token,
                         const struct bj_fetch_reply *reply, int code,
                         const struct bj_err *why, struct bj_err *err)
{
    char url[BJ_FETCH_SHOWN], shown[BJ_TARGET_SHOWN], start[BJ_FETCH_SHOWN + 8];
    char body[101];
    bj_fetch_show(p->url, url);
    snprintf(start, sizeof(start), "%s %s: ", p->method, url);
    const size_t n = strlen(start);
    const char *text = strncmp(why->msg, start, n) == 0
                           ? why->msg + n
                           : bj_fetch_fault_name(reply->fault);
    bj_text_clean((struct bj_slice){reply->body.p, reply->body.len}, body,
                  sizeof(body));
    if (repeats_path(p->url, body) || (token[0] && strstr(body, token)))
        body[0] = '\0';
    return bj_err_say(err, code, "target '%s', %s: %s%s%s", p->conf->name,
                      bj_target_show(p->url, true, shown), text,
                      body[0] ? ": " : "", body);
}

/* The headers of Standard Webhooks: the HMAC of "ID.TIME.BODY". */
static int target_sign(const struct bj_target_post *p, int64_t now_sec,
                       char *ret, size_t cap, struct bj_err *err)
{
    char secret[SECRET_BYTES], stamp[32];
    unsigned char key[SECRET_BYTES], mac[32];
    struct bj_buf text = {0}, coded = {0};
    struct bj_slice key_text;
    ret[0] = '\0';
    int r = bj_secret_read(p->conf->secret_file, secret, sizeof(secret), err);
    if (r < 0 || !secret[0])
        return r;
    key_text = bj_slice_str(secret);
    int n = bj_slice_starts(key_text, BJ_SLICE("whsec_"))
                ? bj_base64((struct bj_slice){secret + 6, key_text.n - 6},
                            (char *)key, sizeof(key))
                : -EINVAL;
    const void *bytes = n > 0 ? (const void *)key : secret;
    const size_t size = n > 0 ? (size_t)n : key_text.n;
    snprintf(stamp, sizeof(stamp), ".%lld.", (long long)now_sec);
    bj_buf_str(&text, p->id);
    bj_buf_str(&text, stamp);
    bj_buf_slice(&text, p->body);
    /* It may not have started: base/gnutls_late.c. */
    if (text.failed || gnutls_global_init() < 0 ||
        gnutls_hmac_fast(GNUTLS_MAC_SHA256, bytes, size, text.p, text.len,
                         mac) < 0)
        r = bj_err_set(err, -EREMOTEIO, "signature: GnuTLS does not make it");
    bj_base64_put(&coded, (struct bj_slice){(const char *)mac, sizeof(mac)});
    if (r == 0 && !coded.failed)
        snprintf(ret, cap, "webhook-signature: v1,%.*s", (int)coded.len,
                 coded.p);
    explicit_bzero(secret, sizeof(secret));
    explicit_bzero(key, sizeof(key));
    bj_buf_free(&text);
    bj_buf_free(&coded);
    return r;
}

int bj_target_send(struct bj_fetch *f, const struct bj_target_post *p,
                   struct bj_fetch_reply *reply, struct bj_err *err)
{
    char type[100], id[2][100], stamp[60], signature[100];
    char password[SECRET_BYTES], token[SECRET_BYTES];
    const struct bj_target_conf *c = p->conf;
    const char *headers[6] = {type};
    const int64_t now_sec = (int64_t)(bj_clock_wall_usec() / 1000000);
    unsigned n = 1;
    struct bj_err why = {0};
    int r = bj_secret_read(c->password_file, password, sizeof(password), err);
    if (r == 0)
        r = bj_secret_read(c->token_file, token, sizeof(token), err);
    if (r == 0 && p->id)
        r = target_sign(p, now_sec, signature, sizeof(signature), err);
    if (r < 0)
        return bj_err_wrap(err, r, "target '%s'", c->name);
    snprintf(type, sizeof(type), "Content-Type: %s", p->type);
    if (p->id) {
        snprintf(id[0], sizeof(id[0]), "Idempotency-Key: %s", p->id);
        snprintf(id[1], sizeof(id[1]), "webhook-id: %s", p->id);
        snprintf(stamp, sizeof(stamp), "webhook-timestamp: %lld",
                 (long long)now_sec);
        headers[n++] = id[0];
        headers[n++] = id[1];
        headers[n++] = stamp;
        if (signature[0])
            headers[n++] = signature;
    }
    const struct bj_fetch_request q = {
        .method = p->method,
        .url = p->url,
        .headers = headers,
        .body = p->body,
        .user = bj_is_set(c->user) ? c->user : NULL,
        .password = password,
        .bearer = token[0] ? token : NULL,
        .ca_file = bj_is_set(c->ca_file) ? c->ca_file : NULL,
        .cert_file = bj_is_set(c->cert_file) ? c->cert_file : NULL,
        .key_file = bj_is_set(c->key_file) ? c->key_file : NULL,
        .connect_usec = REQUEST_USEC / 2,
        .total_usec = REQUEST_USEC,
        .max_bytes = REPLY_BYTES,
        .abort = p->stop};
    r = bj_fetch(f, &q, reply, &why);
    if (r < 0)
        target_reason(p, token, reply, r, &why, err);
    explicit_bzero(password, sizeof(password));
    explicit_bzero(token, sizeof(token));
    return r;
}

int bj_target_url(const struct bj_target_conf *c, char *ret, size_t cap,
                  struct bj_err *err)
{
    if (c->url.n > 0) {
        snprintf(ret, cap, "%s", c->url.v[0]);
        return 0;
    }
    int r = bj_secret_read(c->url_file, ret, cap, err);
    if (r < 0)
        return bj_err_wrap(err, r, "url-file");
    if (bj_fetch_check(ret, err) < 0)
        r = bj_err_wrap(err, -EINVAL, "url-file: %s", c->url_file);
    else if (bj_fetch_is_clear(ret) && !c->allow_http)
        r = bj_err_set(err, -EINVAL,
                       "url-file: http to another host needs allow-http: "
                       "true");
    return r;
}

/* --- Alertmanager ----------------------------------------------------------
 * Format: /api/v2/alerts.  An alert is its set of labels. */

/* Does the target add a label with this name? */
static bool adds_label(const struct bj_target_conf *c, const char *name)
{
    const size_t n = strlen(name);
    for (size_t i = 0; i < c->label.n; i++)
        if (strncmp(c->label.v[i], name, n) == 0 && c->label.v[i][n] == '=')
            return true;
    return false;
}

static void put_labels(struct bj_json_out *o, const struct bj_target_conf *c,
                       const struct bj_alert *v)
{
    bj_json_put_object(o, "labels");
    for (int i = 0; i < BJ_AF_LABELS; i++)
        if (v->field[i].n > 0 && (c->users || !bj_alert_fields[i].personal) &&
            !adds_label(c, bj_alert_fields[i].name))
            bj_json_put_str(o, bj_alert_fields[i].name, v->field[i]);
    for (size_t i = 0; i < c->label.n; i++) {
        struct bj_slice rest = bj_slice_str(c->label.v[i]), name;
        bj_slice_field(&rest, '=', &name);
        bj_json_put_key(o, name);
        bj_json_put_str(o, NULL, rest);
    }
    bj_json_put_end(o);
}

static void put_annotations(struct bj_json_out *o,
                            const struct bj_target_conf *c,
                            const struct bj_alert *v, struct bj_buf *text)
{
    static const struct {
        enum bj_alert_field field;
        const char *name;
    } rows[] = {{BJ_AF_ADVICE, "description"},
                {BJ_AF_RUNBOOK, "runbook_url"},
                {BJ_AF_TASKS, "tasks"},
                {BJ_AF_JOBNAME, "job_name"}};
    bj_json_put_object(o, "annotations");
    bj_buf_reset(text);
    bj_alert_summary(v, text);
    bj_json_put_str(o, "summary", (struct bj_slice){text->p, text->len});
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (v->field[rows[i].field].n > 0 &&
            (c->users || !bj_alert_fields[rows[i].field].personal))
            bj_json_put_str(o, rows[i].name, v->field[rows[i].field]);
    bj_json_put_end(o);
}

static void put_time(struct bj_json_out *o, const char *key, int64_t sec)
{
    char text[BJ_STAMP_MAX];
    bj_json_put_str(o, key,
                    bj_slice_str(bj_stamp_text(sec * 1000000, 0, 0, text)));
}

static void put_page(struct bj_json_out *o, const char *pages,
                     const struct bj_alert *v, struct bj_buf *text)
{
    bj_buf_reset(text);
    if (bj_alert_page(v, pages, text))
        bj_json_put_str(o, "generatorURL",
                        (struct bj_slice){text->p, text->len});
}

static void put_alert(struct bj_json_out *o, const struct bj_target_conf *c,
                      const struct bj_notify_conf *conf, const char *pages,
                      const struct bj_alert *v, int64_t now_sec,
                      struct bj_buf *text)
{
    const int64_t lasts =
        ENDS_AFTER * (int64_t)((conf->interval_usec + 999999) / 1000000);
    bj_json_put_object(o, NULL);
    put_labels(o, c, v);
    put_annotations(o, c, v, text);
    put_time(o, "startsAt", v->since_sec);
    put_time(o, "endsAt", v->ended_sec > 0 ? v->ended_sec : now_sec + lasts);
    put_page(o, pages, v, text);
    bj_json_put_end(o);
}

/* Append up to ALERTS_MAX alerts from *at on; false: there are no more. */
static bool put_alerts(const struct bj_target *t,
                       const struct bj_notify_conf *conf, const char *pages,
                       const struct bj_alerts *alerts, size_t *at,
                       int64_t now_sec, struct bj_buf *out)
{
    struct bj_json_out o = {.to = out};
    struct bj_buf text = {0};
    unsigned n = 0;
    bj_buf_reset(out);
    bj_json_put_array(&o, NULL);
    for (; *at < alerts->n && n < ALERTS_MAX; ++*at)
        if (bj_target_wants(t, &alerts->v[*at])) {
            put_alert(&o, t->conf, conf, pages, &alerts->v[*at], now_sec,
                      &text);
            n++;
        }
    bj_json_put_end(&o);
    out->failed = out->failed || text.failed || bj_json_out_end(&o) < 0;
    bj_buf_free(&text);
    return n > 0;
}

int bj_alertmanager_send(struct bj_target *t, struct bj_fetch *f,
                         struct bj_slice body, const atomic_bool *stop,
                         struct bj_err *err)
{
    struct bj_fetch_reply reply = {0};
    struct bj_buf url = {0};
    int last = 0;
    for (size_t i = 0; i < t->conf->url.n && !atomic_load(stop); i++) {
        const char *base = t->conf->url.v[i];
        const size_t n = strlen(base);
        struct bj_err why = {0};
        bj_buf_reset(&url);
        bj_buf_put(&url, base, base[n - 1] == '/' ? n - 1 : n);
        bj_buf_str(&url, "/api/v2/alerts");
        bj_buf_put(&url, "", 1);
        const struct bj_target_post p = {.conf = t->conf,
                                         .method = "POST",
                                         .url = url.p,
                                         .type = "application/json",
                                         .body = body,
                                         .stop = stop};
        t->requests++;
        int r = url.failed ? bj_err_set(&why, -ENOMEM, "alerts")
                           : bj_target_send(f, &p, &reply, &why);
        t->errors += r < 0;
        if (r < 0)
            last = bj_err_copy(err, r, &why);
    }
    bj_fetch_reply_free(&reply);
    bj_buf_free(&url);
    return last;
}

void bj_alertmanager_post(struct bj_target *t, struct bj_fetch *f,
                          const struct bj_notify_conf *conf, const char *pages,
                          const struct bj_alerts *alerts, int64_t now_sec,
                          const atomic_bool *stop)
{
    struct bj_buf body = {0};
    struct bj_err why = {0};
    size_t at = 0;
    int r = 0;
    while (r != -ENOMEM &&
           put_alerts(t, conf, pages, alerts, &at, now_sec, &body)) {
        int e = body.failed
                    ? bj_err_set(&why, -ENOMEM, "alerts")
                    : bj_alertmanager_send(t, f,
                                           (struct bj_slice){body.p, body.len},
                                           stop, &why);
        r = e < 0 ? e : r;
    }
    bj_buf_free(&body);
    if (r < 0 && !t->failed && !atomic_load(stop))
        bj_log(BJ_LOG_ERROR, &why, "notify");
    else if (r == 0 && t->failed)
        bj_log(BJ_LOG_INFO, NULL, "notify: target '%s' answers again",
               t->conf->name);
    t->failed = r < 0;
}

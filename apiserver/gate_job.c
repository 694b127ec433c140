#include "apiserver/gate_job.h"

#include "apiserver/settings.h"
#include "apiserver/state.h"
#include "base/accept.h"
#include "base/secret_file.h"

#include <stdlib.h>

enum {
    HEADERS_MAX = 16,         /* of prometheus.header */
    CONVERT_BYTES = 16 << 20, /* of a response that is kept until its end */
};

/* --- admission --------------------------------------------------------------
 */

/* How many requests may be admitted: other requests keep half of the responses
 * that the server makes at a time. */
static unsigned most(const struct bj_call *c)
{
    unsigned n = (unsigned)c->worker->conf->max_requests / 2;
    return n > 0 ? n : 1;
}

static struct bj_gate_job *job_new(struct bj_gate_list *l, struct bj_call *c)
{
    struct bj_gate_job *j = calloc(1, sizeof(*j));
    if (!j)
        return NULL;
    j->call = c;
    j->list = l;
    j->settings = bj_settings_ref(c->worker->settings);
    j->start_usec = bj_request_of(c)->start_usec;
    j->end_usec = j->start_usec + c->worker->conf->gate.timeout_usec;
    memcpy(j->user, c->who.user, sizeof(j->user));
    return j;
}

int bj_gate_admit(struct bj_gate_list *l, struct bj_call *c,
                  struct bj_gate_job **ret)
{
    struct bj_gate_job *j = job_new(l, c);
    unsigned own = 0;
    if (!j)
        return -ENOMEM;
    pthread_mutex_lock(&l->lock);
    for (const struct bj_gate_job *k = l->first; k; k = k->more)
        own += strcmp(k->user, j->user) == 0;
    bool many = own >= (most(c) + 1) / 2, full = l->n >= most(c);
    if (!many && !full) {
        j->more = l->first;
        l->first = j;
        l->n++;
    }
    pthread_mutex_unlock(&l->lock);
    if (!many && !full) {
        *ret = j;
        return 0;
    }
    bj_settings_unref(j->settings);
    free(j);
    bj_call_header(c, "Retry-After", "1");
    return bj_call_refuse(c, many ? 429 : 503,
                          many ? "You have too many queries under way; try "
                                 "again."
                               : "Too many queries are under way; try again.");
}

static void leave_list(struct bj_gate_job *j)
{
    struct bj_gate_list *l = j->list;
    pthread_mutex_lock(&l->lock);
    struct bj_gate_job **at = &l->first;
    while (*at && *at != j)
        at = &(*at)->more;
    if (*at) {
        *at = j->more;
        l->n--;
    }
    pthread_mutex_unlock(&l->lock);
}

void bj_gate_job_free(struct bj_gate_job *j)
{
    if (!j)
        return;
    leave_list(j);
    bj_settings_unref(j->settings);
    bj_buf_free(&j->path);
    bj_buf_free(&j->form);
    bj_buf_free(&j->url);
    bj_buf_free(&j->whole);
    explicit_bzero(j->token, sizeof(j->token));
    explicit_bzero(j->password, sizeof(j->password));
    free(j);
}

/* --- the request ------------------------------------------------------------
 */

static int read_secrets(struct bj_gate_job *j, const struct bj_prom_conf *c,
                        struct bj_err *err)
{
    int r = bj_secret_read(c->token_file, j->token, sizeof(j->token), err);
    if (r < 0)
        return bj_err_wrap(err, r, "prometheus.token-file");
    r = bj_secret_read(c->password_file, j->password, sizeof(j->password), err);
    return r < 0 ? bj_err_wrap(err, r, "prometheus.password-file") : 0;
}

static const char *given(const char *s)
{
    return s && s[0] ? s : NULL;
}

static void make_headers(struct bj_gate_job *j, const struct bj_prom_conf *c)
{
    unsigned n = 0;
    j->header[n++] = "Accept: application/json";
    if (j->gzip)
        j->header[n++] = "Accept-Encoding: gzip";
    if (j->post)
        j->header[n++] = "Content-Type: application/x-www-form-urlencoded";
    for (size_t i = 0; i < c->headers.n && i < HEADERS_MAX; i++)
        j->header[n++] = c->headers.v[i];
}

static int make_url(struct bj_gate_job *j, const struct bj_prom_conf *c)
{
    size_t n = strlen(c->url);
    while (n > 0 && c->url[n - 1] == '/')
        n--;
    bj_buf_put(&j->url, c->url, n);
    bj_buf_str(&j->url, j->path.p);
    if (!j->post && j->form.len > 0) {
        bj_buf_str(&j->url, "?");
        bj_buf_put(&j->url, j->form.p, j->form.len);
    }
    bj_buf_put(&j->url, "", 1);
    return j->url.failed || j->form.failed ? -ENOMEM : 0;
}

int bj_gate_job_prepare(struct bj_gate_job *j, uint64_t now_usec,
                        struct bj_err *err)
{
    const struct bj_api_conf *conf = j->settings->conf;
    const struct bj_prom_conf *c = &conf->prom.server;
    j->gzip = !j->convert &&
              bj_accept_gzip(bj_http_header(j->call->req, "Accept-Encoding"));
    make_headers(j, c);
    int r = make_url(j, c);
    if (r < 0)
        bj_err_set(err, r, "no memory");
    else
        r = read_secrets(j, c, err);
    if (r < 0)
        return r;
    j->req = (struct bj_fetch_request){
        .method = j->post ? "POST" : "GET",
        .url = j->url.p,
        .headers = j->header,
        .body = {j->post ? j->form.p : NULL, j->post ? j->form.len : 0},
        .bearer = given(j->token),
        .user = given(c->user),
        .password = given(c->user) ? j->password : NULL,
        .ca_file = given(c->ca_file),
        .cert_file = given(c->cert_file),
        .key_file = given(c->key_file),
        .total_usec = j->end_usec - now_usec,
        .max_bytes = j->convert ? CONVERT_BYTES : (size_t)conf->gate.bytes};
    return 0;
}

#include "apiserver/gate/gate_job.h"

#include "apiserver/frame/settings.h"
#include "apiserver/frame/state.h"
#include "base/accept.h"
#include "base/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    KEPT_BYTES = 16 << 20, /* maximum size of a response kept until its end */
    FEW = 4,               /* number of requests up to which pieces are large */
    LARGE_BYTES = 96 << 10,
    SMALL_BYTES = 16 << 10,
};

/* --- admission --------------------------------------------------------------
 */

struct bj_gate_job *bj_gate_job_new(struct bj_gate_list *l, struct bj_call *c)
{
    struct bj_gate_job *j = calloc(1, sizeof(*j));
    if (!j)
        return NULL;
    j->call = c;
    j->list = l;
    j->settings = bj_settings_ref(c->worker->settings);
    j->span = BJ_PROMQL_NO_SPAN;
    j->start_usec = bj_request_of(c)->start_usec;
    j->end_usec = j->start_usec + c->worker->conf->gate.timeout_usec;
    memcpy(j->user, c->identity.user, sizeof(j->user));
    return j;
}

/* Maximum number of admitted requests: half of the responses that the server
 * makes at a time are left for other requests. */
static unsigned max_admitted(const struct bj_api_conf *conf)
{
    unsigned n = (unsigned)conf->max_requests / 2;
    return n > 0 ? n : 1;
}

/* Add j to its list if there is room: 0, or the status of the refusal.  If
 * servers have different retentions, requests for one of them get at most half
 * of the places, so that a slow server does not fill the list. */
static unsigned enter_list(struct bj_gate_job *j, unsigned all, unsigned part)
{
    struct bj_gate_list *l = j->list;
    unsigned shared = 0, own = 0;
    pthread_mutex_lock(&l->lock);
    for (const struct bj_gate_job *k = l->first; k; k = k->next_all) {
        shared += k->retention == j->retention;
        own += k->retention == j->retention && strcmp(k->user, j->user) == 0;
    }
    bool many = own >= (part + 1) / 2;
    bool full = shared >= part || l->n >= all;
    if (!many && !full) {
        j->next_all = l->first;
        l->first = j;
        l->n++;
    }
    pthread_mutex_unlock(&l->lock);
    return many ? 429 : full ? 503 : 0;
}

int bj_gate_admit(struct bj_gate_job *j, struct bj_call *c)
{
    const struct bj_api_conf *conf = j->settings->conf;
    const struct bj_gate_servers *servers = &conf->gate.servers;
    unsigned all = max_admitted(conf);
    j->retention = bj_gate_servers_for(servers, j->span, c->now_sec * 1000);
    unsigned status = enter_list(
        j, all, bj_gate_servers_differ(servers) ? (all + 1) / 2 : all);
    if (status == 0)
        return 0;
    bj_call_header(c, "Retry-After", "1");
    return bj_call_refuse(c, status,
                          status == 429
                              ? "You have too many queries under way; try "
                                "again."
                              : "Too many queries are under way; try again.");
}

static void leave_list(struct bj_gate_job *j)
{
    struct bj_gate_list *l = j->list;
    pthread_mutex_lock(&l->lock);
    struct bj_gate_job **at = &l->first;
    while (*at && *at != j)
        at = &(*at)->next_all;
    if (*at) {
        *at = j->next_all;
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
    bj_settings_unref(j->used_settings);
    bj_prom_request_clear(&j->request);
    bj_buf_free(&j->path);
    bj_buf_free(&j->form);
    bj_buf_free(&j->reply_body);
    free(j);
}

struct bj_gate_kept *bj_gate_kept_new(struct bj_gate_job *j)
{
    struct bj_gate_kept *k = calloc(1, sizeof(*k));
    if (!k)
        return NULL;
    k->settings = bj_settings_ref(j->settings);
    k->body = j->reply_body;
    j->reply_body = (struct bj_buf){0};
    return k;
}

void bj_gate_kept_free(struct bj_gate_kept *k)
{
    bj_settings_unref(k->settings);
    bj_buf_free(&k->body);
    free(k);
}

/* --- the request ------------------------------------------------------------
 */

int bj_gate_job_prepare(struct bj_gate_job *j,
                        const struct bj_gate_server *server,
                        struct bj_settings *settings, uint64_t running,
                        uint64_t now_usec, struct bj_err *err)
{
    j->used_settings = bj_settings_ref(settings);
    j->gzip = !j->keep &&
              bj_accept_gzip(bj_http_header(j->call->req, "Accept-Encoding"));
    const struct bj_slice form = {j->form.p, j->form.len};
    int r = bj_prom_request_make(&j->request, &server->client, j->path.p,
                                 j->post ? BJ_SLICE("") : form,
                                 j->gzip ? "Accept-Encoding: gzip" : NULL, err);
    struct bj_fetch_request *f = &j->request.fetch;
    f->method = j->post ? "POST" : "GET";
    f->form = true;
    if (j->post)
        f->body = form;
    f->total_usec = j->end_usec - now_usec;
    f->max_bytes = j->keep ? KEPT_BYTES : (size_t)j->settings->conf->gate.bytes;
    /* with few requests, large pieces cost less */
    f->piece_bytes = running <= FEW ? LARGE_BYTES : SMALL_BYTES;
    return r;
}

void bj_gate_job_reset(struct bj_gate_job *j)
{
    bj_prom_request_clear(&j->request);
    bj_settings_unref(j->used_settings);
    j->used_settings = NULL;
    bj_buf_reset(&j->reply_body);
    bj_buf_reset(&j->call->reply->body);
    j->discard = j->retry = j->blocked = j->has_head = false;
    j->flow = NULL;
}

/* --- errors ----------------------------------------------------------------*/

/* Source: prometheus, web/api/v1/api.go, errorType. */
static const char *type_of(unsigned status)
{
    switch (status) {
    case 400:
    case 405:
    case 413:
        return "bad_data";
    case 403:
        return "forbidden";
    case 404:
        return "not_found";
    case 422:
        return "execution";
    case 499:
        return "canceled";
    case 429:
    case 502:
    case 503:
        return "unavailable";
    default:
        return "internal";
    }
}

static void job_put(struct bj_call *c, const char *type)
{
    struct bj_buf *b = &c->reply->body;
    c->reply->type = "application/json";
    bj_buf_reset(b);
    bj_buf_printf(
        b, "{\"status\":\"error\",\"errorType\":\"%s\",\"error\":", type);
    bj_json_string(b, bj_slice_str(c->refusal));
    bj_buf_str(b, "}\n");
}

void bj_gate_refused(struct bj_call *c)
{
    job_put(c, type_of(c->reply->status));
}

int bj_gate_refuse(struct bj_call *c, unsigned status, const char *type,
                   const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(c->refusal, sizeof(c->refusal), fmt, ap);
    va_end(ap);
    c->reply->status = status;
    job_put(c, type);
    return (int)status;
}

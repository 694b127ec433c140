#include "apiserver/frame/request_log.h"

#include "apiserver/frame/state.h"
#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>

static const char *method_name(unsigned method)
{
    return method == BJ_HTTP_POST   ? "POST"
           : method == BJ_HTTP_HEAD ? "HEAD"
           : method == BJ_HTTP_GET  ? "GET"
                                    : "?";
}

static void copy(char *to, size_t n, const char *text, const char *without)
{
    snprintf(to, n, "%s", text[0] ? text : without);
}

void bj_request_log_begin(struct bj_request_log *l, const struct bj_call *c,
                          struct bj_api_count *count, uint64_t start_usec)
{
    char peer[BJ_PEER_BYTES];
    copy(l->id, sizeof(l->id), c->request_id, "-");
    copy(l->client, sizeof(l->client), bj_peer_name(c->req, peer), "?");
    copy(l->user, sizeof(l->user), c->identity.user, "-");
    copy(l->about, sizeof(l->about), c->about, "everybody");
    l->method = method_name(c->req->method);
    l->endpoint = c->endpoint ? c->endpoint->path : "?";
    l->admin = c->identity.admin;
    l->status = c->reply->status;
    l->start_usec = start_usec;
    l->count = count;
}

void bj_request_log_end(const struct bj_request_log *l, uint64_t bytes)
{
    unsigned class = l->status / 100;
    uint64_t usec =
        l->start_usec > 0 ? bj_clock_boot_usec() - l->start_usec : 0;
    __atomic_fetch_add(&l->count->n[class < BJ_API_CLASSES ? class : 0], 1,
                       __ATOMIC_RELAXED);
    __atomic_fetch_add(&l->count->usec, usec, __ATOMIC_RELAXED);
    const struct bj_log_field fields[] = {
        {"id", l->id, 0},
        {"client", l->client, 0},
        {"method", l->method, 0},
        {"endpoint", l->endpoint, 0},
        {"user", l->user, 0},
        {"status", NULL, l->status},
        {"bytes", NULL, bytes},
        {"usec", NULL, usec},
        {l->admin ? "admin_about" : NULL, l->about, 0},
        {NULL, NULL, 0}};
    bj_log_event(BJ_LOG_INFO, "request", fields);
}

#include "statsdb/metrics/metrics_http.h"

#include "base/clock.h"
#include "base/guard.h"
#include "base/thread.h"

#include <pthread.h>
#include <stdlib.h>

struct bj_metrics_http {
    struct bj_httpd *httpd;
    struct bj_guard guard;
    struct bj_thread thread;
    pthread_mutex_t lock; /* of page */
    struct bj_buf page;
};

static void reply(void *ctx, const struct bj_http_request *req,
                  struct bj_http_reply *ret)
{
    struct bj_metrics_http *w = ctx;
    (void)req;
    pthread_mutex_lock(&w->lock);
    bj_buf_put(&ret->body, w->page.p, w->page.len);
    pthread_mutex_unlock(&w->lock);
    if (ret->body.len == 0 || ret->body.failed)
        ret->status = 503;
    else
        ret->type = "text/plain; version=0.0.4; charset=utf-8";
    if (ret->status == 200)
        bj_guard_metric(
            &w->guard,
            "batchjob_stats_tls_certificate_expiry_timestamp_seconds",
            &ret->body);
}

static bool is_allowed(void *ctx, const struct bj_http_request *req,
                       struct bj_http_reply *ret)
{
    struct bj_metrics_http *w = ctx;
    return bj_guard_check(&w->guard, req, ret);
}

static const struct bj_http_route routes[] = {
    {"/metrics", BJ_HTTP_GET | BJ_HTTP_HEAD, false, reply},
    {.path = NULL},
};

static void *http_serve(void *ctx)
{
    struct bj_metrics_http *w = ctx;
    nfds_t n;
    for (;;) {
        struct pollfd fds[1 + BJ_HTTPD_FDS] = {
            {.fd = w->thread.wake_fd, .events = POLLIN}};
        bj_httpd_wait(w->httpd, fds, 1, -1, &n);
        if (fds[0].revents)
            return NULL;
        uint64_t now = bj_clock_boot_usec();
        bj_guard_follow(&w->guard, w->httpd, false, now);
        bj_httpd_run(w->httpd, fds + 1, n, now);
    }
}

int bj_metrics_http_new(const struct bj_strv *addresses, const char *web_file,
                        struct bj_metrics_http **ret, struct bj_err *err)
{
    struct bj_metrics_http *w = calloc(1, sizeof(*w));
    if (!w)
        return bj_err_set(err, -ENOMEM, "HTTP");
    pthread_mutex_init(&w->lock, NULL);
    const struct bj_http_limits limits = {.connections = 32, .responses = 8};
    int r = bj_httpd_new(routes, w, &limits, &w->httpd, err);
    if (r == 0) {
        bj_httpd_guard(w->httpd, is_allowed);
        r = bj_guard_init(&w->guard, "web.config.file", web_file, w->httpd,
                          err);
    }
    if (r == 0)
        r = bj_httpd_listen_all(w->httpd, "web.listen-address", addresses,
                                "listening on", "", err);
    if (r == 0)
        r = bj_thread_start(&w->thread, "metrics", http_serve, w, err);
    if (r < 0) {
        bj_metrics_http_free(w);
        return r;
    }
    *ret = w;
    return 0;
}

void bj_metrics_http_free(struct bj_metrics_http *w)
{
    if (!w)
        return;
    bj_thread_free(&w->thread);
    bj_httpd_free(w->httpd);
    bj_guard_free(&w->guard);
    pthread_mutex_destroy(&w->lock);
    bj_buf_free(&w->page);
    free(w);
}

void bj_metrics_http_put(struct bj_metrics_http *w, struct bj_buf *page)
{
    pthread_mutex_lock(&w->lock);
    struct bj_buf was = w->page;
    w->page = *page;
    pthread_mutex_unlock(&w->lock);
    bj_buf_free(&was);
    *page = (struct bj_buf){0};
}

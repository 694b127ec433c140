#include "statsdb/metrics/metrics_http.h"

#include "base/clock.h"
#include "base/guard.h"
#include "base/listen.h"
#include "base/log.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct bj_metrics_http {
    struct bj_httpd *httpd;
    struct bj_guard guard;
    pthread_t thread;
    bool runs;
    int stop_fd;
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

static void *serve(void *ctx)
{
    struct bj_metrics_http *w = ctx;
    struct pollfd fds[BJ_HTTPD_FDS + 1];
    for (;;) {
        nfds_t n = bj_httpd_poll(w->httpd, fds);
        fds[n] = (struct pollfd){.fd = w->stop_fd, .events = POLLIN};
        poll(fds, n + 1, bj_httpd_timeout(w->httpd, bj_clock_boot_usec()));
        if (fds[n].revents)
            return NULL;
        uint64_t now = bj_clock_boot_usec();
        bj_guard_follow(&w->guard, w->httpd, false, now);
        bj_httpd_run(w->httpd, fds, n, now);
    }
}

static int listen_all(struct bj_metrics_http *w,
                      const struct bj_strv *addresses, struct bj_err *err)
{
    char name[BJ_ADDRESS_MAX];
    for (size_t i = 0; i < addresses->n; i++) {
        int fd = bj_httpd_listen(w->httpd, addresses->v[i], err);
        if (fd < 0)
            return bj_err_wrap(err, fd, "web.listen-address");
        bj_log(BJ_LOG_INFO, NULL, "listening on %s", bj_listen_name(fd, name));
    }
    return 0;
}

/* The main thread handles signals. */
static int start(struct bj_metrics_http *w, struct bj_err *err)
{
    sigset_t all, was;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was);
    int r = -pthread_create(&w->thread, NULL, serve, w);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    w->runs = r == 0;
    return r < 0 ? bj_err_set(err, r, "cannot start the HTTP thread") : 0;
}

int bj_metrics_http_new(const struct bj_strv *addresses, const char *web_file,
                        struct bj_metrics_http **ret, struct bj_err *err)
{
    struct bj_metrics_http *w = calloc(1, sizeof(*w));
    if (!w)
        return bj_err_set(err, -ENOMEM, "HTTP");
    pthread_mutex_init(&w->lock, NULL);
    w->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int r = w->stop_fd < 0 ? bj_err_set(err, -errno, "eventfd") : 0;
    const struct bj_http_limits limits = {.connections = 32, .responses = 8};
    if (r == 0)
        r = bj_httpd_new(routes, w, &limits, &w->httpd, err);
    if (r == 0) {
        bj_httpd_guard(w->httpd, is_allowed);
        r = bj_guard_init(&w->guard, "web.config.file", web_file, w->httpd,
                          err);
    }
    if (r == 0)
        r = listen_all(w, addresses, err);
    if (r == 0)
        r = start(w, err);
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
    if (w->runs && eventfd_write(w->stop_fd, 1) == 0)
        pthread_join(w->thread, NULL);
    bj_httpd_free(w->httpd);
    bj_guard_free(&w->guard);
    if (w->stop_fd >= 0)
        close(w->stop_fd);
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

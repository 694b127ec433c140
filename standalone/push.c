#include "standalone/push.h"

#include "base/clock.h"
#include "base/fetch.h"
#include "core/poller.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define AT(member) offsetof(struct bj_push_conf, member)

enum {
    SECOND = 1000000,
    URL_BYTES = 512,
    REPLY_BYTES = 64 * 1024,
    LAST_DELETE_USEC = 2 * SECOND
};

static int check_job(const char *job, struct bj_err *err)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    if (job[strspn(job, plain)] != '\0')
        return bj_err_set(err, -EINVAL,
                          "'%.80s' is not a name of letters, digits and -._",
                          job);
    return 0;
}

const struct bj_opt bj_push_opts[] = {
    {.name = "push.url",
     .kind = BJ_OPT_STR,
     .off = AT(url),
     .preset = "",
     .arg = "URL",
     .check = bj_fetch_check,
     .help =
         "Pushgateway to push the metrics to, such as http://localhost:9091. "
         "Deletes the pushed metrics before the next push and at the end.",
     .more = "Set it where Prometheus cannot reach the node."},
    {.name = "push.job",
     .kind = BJ_OPT_STR,
     .off = AT(job),
     .preset = "jobs_exporter",
     .arg = "NAME",
     .check = check_job,
     .help = "Label job of the pushed group.",
     .more = "Change it when the dashboards expect another job label.",
     .rare = true},
    {.name = "push.interval",
     .kind = BJ_OPT_DURATION,
     .off = AT(interval_usec),
     .lo = SECOND,
     .hi = 3600ull * SECOND,
     .preset = "15s",
     .help = "How often to push.",
     .more = "Raise it to reduce the load on the Pushgateway.",
     .rare = true},
    {.name = NULL},
};

struct bj_push {
    struct bj_poller poller; /* has its own lock */
    struct bj_fetch *fetch;
    char url[URL_BYTES];
    uint64_t timeout_usec;
    struct bj_buf page; /* under the lock: of the next push */
    /* Used by the thread only. */
    bool pushed, failing;
};

int bj_push_check(const struct bj_push_conf *conf, struct bj_err *err)
{
    const char *url = conf->url ? conf->url : "";
    const char *job = conf->job ? conf->job : "";
    if (*url == '\0')
        return 0;
    if (*job == '\0')
        return bj_err_set(err, -EINVAL, "push.job: must not be empty");
    if (strlen(url) + strlen(job) + sizeof("/metrics/job/") > URL_BYTES)
        return bj_err_set(err, -EINVAL, "push.url is too long");
    return 0;
}

/* Logs the first error, and the first success after it. */
static void push_note(struct bj_push *p, int r, const struct bj_err *err)
{
    const bool failing = r < 0;
    if (failing != p->failing && r != -ECANCELED) {
        bj_host_log(&p->poller.host, failing ? BJ_LOG_WARN : BJ_LOG_INFO,
                    failing ? err : NULL,
                    failing ? "push" : "push: works again");
        p->failing = failing;
    }
}

static int push_request(struct bj_push *p, const char *method,
                        struct bj_slice body, uint64_t total_usec,
                        const atomic_bool *abort)
{
    static const char *const headers[] = {
        "Content-Type: text/plain; version=0.0.4; charset=utf-8", NULL};
    struct bj_fetch_reply reply = {0};
    struct bj_err err = {0};
    const struct bj_fetch_request req = {.method = method,
                                         .url = p->url,
                                         .headers = body.n ? headers : NULL,
                                         .body = body,
                                         .total_usec = total_usec,
                                         .connect_usec = total_usec,
                                         .max_bytes = REPLY_BYTES,
                                         .abort = abort};
    int r = bj_fetch(p->fetch, &req, &reply, &err);
    bj_fetch_reply_free(&reply);
    push_note(p, r, &err);
    return r;
}

static void push(struct bj_push *p, const struct bj_buf *page)
{
    const struct bj_slice none = {0}, body = {page->p, page->len};
    if (p->pushed &&
        push_request(p, "DELETE", none, p->timeout_usec, &p->poller.stop) == 0)
        p->pushed = false;
    /* A failed push may still have reached the gateway. */
    if (body.n > 0 && push_request(p, "PUT", body, p->timeout_usec,
                                   &p->poller.stop) != -ECONNREFUSED)
        p->pushed = true;
}

static bool push_step(struct bj_worker *w)
{
    struct bj_push *p = (struct bj_push *)w->poller;
    struct bj_buf page = p->page;
    p->page = (struct bj_buf){0};
    p->poller.due_usec = UINT64_MAX;
    bj_worker_unlock(w);
    push(p, &page);
    bj_buf_free(&page);
    return bj_worker_lock(w);
}

static bool push_finish(struct bj_worker *w)
{
    struct bj_push *p = (struct bj_push *)w->poller;
    bj_worker_unlock(w);
    if (p->pushed)
        push_request(p, "DELETE", (struct bj_slice){0}, LAST_DELETE_USEC, NULL);
    return bj_worker_lock(w);
}

static void push_gone(struct bj_poller *poller)
{
    struct bj_push *p = (struct bj_push *)poller;
    bj_fetch_free(p->fetch);
    bj_buf_free(&p->page);
    free(p);
}

static void make_url(struct bj_push *p, const struct bj_push_conf *conf)
{
    size_t n = strlen(conf->url);
    while (n > 0 && conf->url[n - 1] == '/')
        n--;
    snprintf(p->url, sizeof(p->url), "%.*s/metrics/job/%s", (int)n, conf->url,
             conf->job);
}

int bj_push_new(const struct bj_push_conf *conf, const struct bj_host *host,
                struct bj_push **ret, struct bj_err *err)
{
    static const struct bj_poller_work work = {.step = push_step,
                                               .finish = push_finish,
                                               .gone = push_gone,
                                               .stop_usec = UINT64_MAX};
    struct bj_push *p = calloc(1, sizeof(*p));
    if (!p || bj_poller_init(&p->poller, &work, "bj-push", host, NULL) < 0) {
        free(p);
        return bj_err_set(err, -ENOMEM, "push");
    }
    p->timeout_usec = conf->interval_usec;
    make_url(p, conf);
    int r = bj_fetch_new(&p->fetch, err);
    if (r == 0 && (r = bj_poller_start(&p->poller)) < 0)
        bj_err_set(err, r, "push: cannot start the thread");
    if (r < 0)
        bj_push_free(p);
    else
        *ret = p;
    return r;
}

void bj_push_page(struct bj_push *p, struct bj_buf *page)
{
    pthread_mutex_lock(p->poller.lock);
    bj_buf_free(&p->page);
    p->page = *page;
    *page = (struct bj_buf){0};
    bj_poller_wake(&p->poller);
    pthread_mutex_unlock(p->poller.lock);
}

void bj_push_free(struct bj_push *p)
{
    if (p)
        bj_poller_free(&p->poller);
}

#include "notify/notify.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "notify/notify_impl.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bj_notify {
    const struct bj_statsdb_conf *conf;
    struct bj_store *store;
    const atomic_bool *stop;
    struct bj_fetch *fetch;
    struct bj_notify_cluster *cluster;
    struct bj_notify_known *known;
    struct bj_target *target;
    size_t clusters, targets;
    int64_t start_sec;
    struct bj_thread thread;
    pthread_mutex_t lock; /* of page */
    struct bj_buf page;
};

bool bj_notify_is_on(const struct bj_statsdb_conf *conf)
{
    return conf->notify.targets > 0 && !conf->dry_run;
}

int bj_notify_check(const struct bj_statsdb_conf *conf, struct bj_err *err)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < conf->notify.targets; i++)
        r = bj_target_check(&conf->notify.target[i], err);
    return r;
}

void bj_notify_print(const struct bj_statsdb_conf *conf)
{
    char shown[BJ_TARGET_SHOWN];
    for (size_t i = 0; i < conf->notify.targets; i++) {
        const struct bj_target_conf *t = &conf->notify.target[i];
        char url[BJ_TARGET_URL_MAX];
        struct bj_err err = {0};
        for (size_t k = 0; k < t->url.n; k++)
            printf("target %s: %s, %s\n", t->name, t->kind,
                   bj_target_show(t->url.v[k], false, shown));
        if (t->url.n == 0 && bj_target_url(t, url, sizeof(url), &err) == 0)
            printf("target %s: %s, %s\n", t->name, t->kind,
                   bj_target_show(url, true, shown));
        explicit_bzero(url, sizeof(url));
    }
}

int bj_notify_greet(const struct bj_statsdb_conf *conf, const atomic_bool *stop,
                    struct bj_err *err)
{
    struct bj_fetch *f = NULL;
    int r = conf->notify.targets > 0 ? bj_fetch_new(&f, err) : 0;
    for (size_t i = 0; r == 0 && i < conf->notify.targets; i++) {
        struct bj_target t;
        bj_target_init(&t, &conf->notify.target[i]);
        if (!t.form)
            r = bj_alertmanager_send(&t, f, BJ_SLICE("[]"), stop, err);
    }
    bj_fetch_free(f);
    return r;
}

static int64_t notify_now(void)
{
    return (int64_t)(bj_clock_wall_usec() / 1000000);
}

/* --- metrics ---------------------------------------------------------------
 */

static void put_targets(const struct bj_notify *n, struct bj_buf *out)
{
    static const struct {
        const char *name, *type, *help;
        size_t off;
        bool queue; /* only of targets with messages */
    } rows[] = {
#define OF(member) offsetof(struct bj_target, member)
        {"batchjob_stats_notify_requests_total", "counter",
         "Requests to targets of notifications.", OF(requests), false},
        {"batchjob_stats_notify_errors_total", "counter",
         "Requests to targets of notifications that failed.", OF(errors),
         false},
        {"batchjob_stats_notify_waiting", "gauge",
         "Events and messages that wait for a target.", OF(waiting), true},
        {"batchjob_stats_notify_lost_total", "counter",
         "Messages that a target refused, or that waited for a day.", OF(lost),
         true},
#undef OF
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bj_buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", rows[i].name,
                      rows[i].help, rows[i].name, rows[i].type);
        for (size_t k = 0; k < n->targets; k++) {
            const struct bj_target *t = &n->target[k];
            uint64_t v;
            memcpy(&v, (const char *)t + rows[i].off, sizeof(v));
            if (t->form || !rows[i].queue)
                bj_buf_printf(out, "%s{target=\"%s\"} %" PRIu64 "\n",
                              rows[i].name, t->conf->name, v);
        }
    }
}

static void make_page(struct bj_notify *n, const struct bj_alerts *alerts)
{
    static const char name[] = "batchjob_stats_notify_alerts";
    uint64_t lasting[BJ_ALERT_KINDS] = {0};
    struct bj_buf page = {0};
    for (size_t i = 0; i < alerts->n; i++)
        lasting[alerts->v[i].kind] += alerts->v[i].ended_sec == 0;
    bj_buf_printf(&page, "# HELP %s Alerts that last.\n# TYPE %s gauge\n", name,
                  name);
    for (int i = 0; i < BJ_ALERT_KINDS; i++)
        bj_buf_printf(&page, "%s{kind=\"%s\"} %" PRIu64 "\n", name,
                      bj_alert_kinds[i], lasting[i]);
    put_targets(n, &page);
    pthread_mutex_lock(&n->lock);
    struct bj_buf was = n->page;
    n->page = page;
    pthread_mutex_unlock(&n->lock);
    bj_buf_free(&was);
}

void bj_notify_page(struct bj_notify *n, struct bj_buf *out)
{
    pthread_mutex_lock(&n->lock);
    bj_buf_put(out, n->page.p ? n->page.p : "", n->page.len);
    pthread_mutex_unlock(&n->lock);
}

/* --- rounds ----------------------------------------------------------------
 */

/* Links of notifications begin with it; NULL or "": none. */
static const char *pages_of(const struct bj_statsdb_conf *c)
{
    return c->notify.url && c->notify.url[0] ? c->notify.url : c->mail.url;
}

int bj_notify_round(struct bj_notify *n, struct bj_err *err)
{
    const int64_t now = notify_now();
    struct bj_alerts found = {.n = 0}, all = {.n = 0};
    int r = bj_notify_find(n->store, n->conf, n->cluster, n->start_sec, now,
                           &found, n->known, err);
    if (r == 0)
        r = bj_alerts_write(n->store, &found, n->known, n->clusters, now, err);
    if (r == 0)
        r = bj_alerts_read(n->store, now, &all, err);
    const struct bj_queue q = {n->store, n->fetch, pages_of(n->conf), n->stop,
                               now};
    if (r == 0)
        r = bj_queue_fill(&q, n->target, n->targets, err);
    for (size_t i = 0; r == 0 && i < n->targets && !atomic_load(n->stop); i++)
        if (n->target[i].form)
            r = bj_queue_send(&q, &n->target[i], err);
        else
            bj_alertmanager_post(&n->target[i], n->fetch, &n->conf->notify,
                                 q.pages, &all, now, n->stop);
    if (r == 0)
        r = bj_queue_forget(&q, err);
    if (r == 0)
        make_page(n, &all);
    bj_alerts_free(&found);
    bj_alerts_free(&all);
    return r;
}

static void *notify_serve(void *ctx)
{
    struct bj_notify *n = ctx;
    struct pollfd fd = {.fd = n->thread.wake_fd, .events = POLLIN};
    const int wait = (int)(n->conf->notify.interval_usec / 1000);
    int last = 0;
    do {
        struct bj_err err = {0};
        int r = bj_notify_round(n, &err);
        if (r < 0 && r != last && !atomic_load(n->stop))
            bj_log(BJ_LOG_ERROR, &err, "notify");
        last = r;
    } while (poll(&fd, 1, wait) <= 0);
    return NULL;
}

/* --- start -----------------------------------------------------------------
 */

static int notify_add_cluster(struct bj_notify *n,
                              const struct bj_cluster_conf *conf,
                              struct bj_err *err)
{
    struct bj_notify_cluster *c = &n->cluster[n->clusters++];
    c->conf = conf;
    if (!conf->prom.url || !conf->prom.url[0])
        return 0;
    int r = bj_prom_matchers(&conf->prom.match, conf->name, &c->match, err);
    return r < 0 ? r : bj_prom_new(&conf->prom, n->stop, &c->prom, err);
}

static int notify_start(struct bj_notify *n, struct bj_store *store,
                        bool thread, struct bj_err *err)
{
    const struct bj_statsdb_conf *conf = n->conf;
    int r = bj_notify_check(conf, err);
    for (size_t i = 0; r == 0 && i < conf->clusters; i++)
        r = notify_add_cluster(n, &conf->cluster[i], err);
    for (; n->targets < conf->notify.targets; n->targets++)
        bj_target_init(&n->target[n->targets],
                       &conf->notify.target[n->targets]);
    if (r == 0)
        r = bj_fetch_new(&n->fetch, err);
    if (r == 0)
        r = bj_store_open(&(struct bj_store_options){.shared_with = store},
                          &n->store, err);
    return r == 0 && thread ? bj_thread_start(&n->thread, "notifications",
                                              notify_serve, n, err)
                            : r;
}

int bj_notify_new(const struct bj_statsdb_conf *conf, struct bj_store *store,
                  const atomic_bool *stop, bool thread, struct bj_notify **ret,
                  struct bj_err *err)
{
    *ret = NULL;
    if (!bj_notify_is_on(conf))
        return 0;
    struct bj_notify *n = calloc(1, sizeof(*n));
    if (!n)
        return bj_err_set(err, -ENOMEM, "notify");
    *n = (struct bj_notify){
        .conf = conf, .stop = stop, .start_sec = thread ? notify_now() : 0};
    pthread_mutex_init(&n->lock, NULL);
    n->cluster = calloc(conf->clusters + 1, sizeof(*n->cluster));
    n->known = calloc(conf->clusters + 1, sizeof(*n->known));
    n->target = calloc(conf->notify.targets, sizeof(*n->target));
    int r = n->cluster && n->known && n->target
                ? notify_start(n, store, thread, err)
                : bj_err_set(err, -ENOMEM, "notify");
    if (r < 0)
        bj_notify_free(n);
    else
        *ret = n;
    return r;
}

void bj_notify_free(struct bj_notify *n)
{
    if (!n)
        return;
    bj_thread_free(&n->thread);
    for (size_t i = 0; i < n->clusters; i++) {
        bj_prom_free(n->cluster[i].prom);
        bj_buf_free(&n->cluster[i].match);
    }
    bj_fetch_free(n->fetch);
    bj_store_close(n->store);
    pthread_mutex_destroy(&n->lock);
    bj_buf_free(&n->page);
    free(n->cluster);
    free(n->known);
    free(n->target);
    free(n);
}

#include "apiserver/gate_send.h"

#include "apiserver/gate_priv.h"
#include "apiserver/settings.h"
#include "base/clock.h"

#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    STACK_BYTES = 512 << 10,
    CHECK_MS = 200, /* how often clients are checked for a disconnect */
    KEEP_BYTES = 1 << 20,
};

struct bj_gate_list *bj_gate_admitted(struct bj_gate *g)
{
    return &g->admitted;
}

void bj_gate_submit(struct bj_gate *g, struct bj_gate_job *j)
{
    j->gate = g;
    pthread_mutex_lock(&g->lock);
    bj_gate_push(&g->submitted, j);
    pthread_mutex_unlock(&g->lock);
    bj_gate_wake(g);
}

/* --- the thread -------------------------------------------------------------
 */

static bool take_submitted(struct bj_gate *g)
{
    pthread_mutex_lock(&g->lock);
    struct bj_gate_job *j = g->submitted.first;
    struct bj_settings *settings = g->settings;
    bool stop = g->stop;
    g->submitted = (struct bj_gate_queue){NULL, &g->submitted.first};
    g->settings = NULL;
    pthread_mutex_unlock(&g->lock);
    if (settings)
        bj_gate_pool_use(g->pool, g->fetches, settings);
    for (struct bj_gate_job *next; j; j = next) {
        next = j->next;
        bj_gate_push(&g->waiting, j);
    }
    return !stop;
}

static void *run(void *arg)
{
    struct bj_gate *g = arg;
    sigset_t pipe_only;
    uint64_t checked = 0, n;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_only, NULL);
    while (take_submitted(g)) {
        uint64_t now = bj_clock_boot_usec();
        bool check = now - checked >= CHECK_MS * 1000;
        checked = check ? now : checked;
        bj_gate_serve(g, now, check);
        int ms = bj_gate_pool_check(g->pool, g->fetches, now);
        if (bj_gate_is_busy(g) && ms > CHECK_MS)
            ms = CHECK_MS;
        bool woken = bj_fetches_run(g->fetches, g->wake, ms);
        if (woken && read(g->wake, &n, sizeof(n)) < 0)
            continue; /* nothing new */
    }
    bj_gate_refuse_all(g);
    bj_gate_pool_stop(g->pool, g->fetches);
    return NULL;
}

/* --- its life ---------------------------------------------------------------
 */

int bj_gate_new(const struct bj_gate_events *events, void *ctx,
                struct bj_gate **ret, struct bj_err *err)
{
    struct bj_gate *g = calloc(1, sizeof(*g));
    if (!g)
        return bj_err_set(err, -ENOMEM, "gate");
    g->events = *events;
    g->ctx = ctx;
    g->submitted.last = &g->submitted.first;
    g->waiting.last = &g->waiting.first;
    g->running.last = &g->running.first;
    pthread_mutex_init(&g->lock, NULL);
    pthread_mutex_init(&g->admitted.lock, NULL);
    g->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int r = g->wake < 0 ? bj_err_set(err, -errno, "eventfd")
                        : bj_gate_pool_new(&g->pool, err);
    if (r < 0) {
        bj_gate_free(g);
        return r;
    }
    *ret = g;
    return 0;
}

int bj_gate_start(struct bj_gate *g, struct bj_err *err)
{
    pthread_attr_t attr;
    if (g->started)
        return 0;
    int r = g->fetches ? 0 : bj_fetches_new(&g->fetches, err);
    if (r < 0)
        return r;
    /* The next response needs the buffers of the last one: fresh pages would
     * cost a fifth of the CPU time of forwarding. */
    mallopt(M_TRIM_THRESHOLD, KEEP_BYTES);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    r = pthread_create(&g->thread, &attr, run, g);
    pthread_attr_destroy(&attr);
    g->started = r == 0;
    return r ? bj_err_set(err, -r, "threads cannot be started") : 0;
}

void bj_gate_use(struct bj_gate *g, struct bj_settings *settings)
{
    pthread_mutex_lock(&g->lock);
    struct bj_settings *old = g->settings;
    g->settings = bj_settings_ref(settings);
    pthread_mutex_unlock(&g->lock);
    bj_settings_unref(old);
    bj_gate_wake(g);
}

bool bj_gate_stop(struct bj_gate *g, const struct timespec *until)
{
    if (!g || !g->started)
        return true;
    pthread_mutex_lock(&g->lock);
    g->stop = true;
    pthread_mutex_unlock(&g->lock);
    bj_gate_wake(g);
    if (pthread_timedjoin_np(g->thread, NULL, until))
        return false;
    g->started = false;
    return true;
}

void bj_gate_free(struct bj_gate *g)
{
    if (!g)
        return;
    bj_fetches_free(g->fetches);
    bj_gate_pool_free(g->pool);
    bj_settings_unref(g->settings);
    if (g->wake >= 0)
        close(g->wake);
    pthread_mutex_destroy(&g->lock);
    pthread_mutex_destroy(&g->admitted.lock);
    free(g);
}

/* --- metrics ----------------------------------------------------------------
 */

static void put_metric(struct bj_buf *b, const char *name, const char *type,
                       const char *help, const uint64_t *n)
{
    bj_buf_printf(b,
                  "# HELP batchjob_api_gate_%s %s\n"
                  "# TYPE batchjob_api_gate_%s %s\nbatchjob_api_gate_%s %llu\n",
                  name, help, name, type, name,
                  (unsigned long long)__atomic_load_n(n, __ATOMIC_RELAXED));
}

void bj_gate_metrics(struct bj_gate *g, struct bj_buf *b)
{
    put_metric(b, "running", "gauge", "Queries of the gate at Prometheus.",
               &g->running_now);
    put_metric(b, "waiting", "gauge", "Queries of the gate that wait.",
               &g->waiting_now);
    put_metric(b, "bytes_total", "counter",
               "Bytes of responses that the gate passed on.", &g->bytes);
    put_metric(b, "failures_total", "counter",
               "Queries of the gate that Prometheus did not answer.",
               &g->failures);
    put_metric(b, "timeouts_total", "counter",
               "Queries of the gate that exceeded gate.timeout.", &g->timeouts);
    put_metric(b, "canceled_total", "counter",
               "Queries of the gate whose clients disconnected.", &g->canceled);
    put_metric(b, "retries_total", "counter",
               "Queries that another server got after the first one failed.",
               &g->retries);
    bj_gate_pool_metrics(g->pool, b);
}

#include "apiserver/gate/gate_send.h"

#include "apiserver/frame/settings.h"
#include "apiserver/gate/gate_priv.h"

#include <malloc.h>
#include <stdlib.h>

enum {
    CHECK_USEC = 200 * 1000, /* interval of checks for disconnected clients */
    KEEP_BYTES = 1 << 20,
};

struct bj_gate_list *bj_gate_admitted(struct bj_gate *g)
{
    return &g->admitted;
}

void bj_gate_submit(struct bj_gate *g, struct bj_gate_job *j)
{
    j->gate = g;
    bj_gate_push(&g->waiting, j);
    g->changed = true;
}

/* --- the loop --------------------------------------------------------------
 */

const struct pollfd *bj_gate_poll(const struct bj_gate *g, nfds_t *ret_n)
{
    *ret_n = 0;
    return g->fetches ? bj_fetches_poll(g->fetches, ret_n) : NULL;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

int bj_gate_timeout(const struct bj_gate *g, uint64_t now_usec)
{
    if (!g->fetches)
        return -1;
    if (g->changed)
        return 0;
    uint64_t due = earlier(g->pool_usec, bj_fetches_due(g->fetches));
    if (bj_gate_is_busy(g))
        due = earlier(due, g->checked_usec + CHECK_USEC);
    if (due == UINT64_MAX)
        return -1;
    return due > now_usec ? (int)((due - now_usec + 999) / 1000) : 0;
}

void bj_gate_run(struct bj_gate *g, const struct pollfd *fds, nfds_t n,
                 uint64_t now_usec)
{
    if (!g->fetches)
        return;
    bj_fetches_run(g->fetches, fds, n, now_usec);
    bool check = now_usec >= g->checked_usec + CHECK_USEC;
    if (g->changed || check) {
        g->changed = false;
        g->checked_usec = check ? now_usec : g->checked_usec;
        bj_gate_serve(g, now_usec, check);
    }
    g->pool_usec = bj_gate_pool_check(g->pool, g->fetches, now_usec);
    /* run requests that have just begun */
    bj_fetches_run(g->fetches, NULL, 0, now_usec);
}

/* --- start and end ----------------------------------------------------------
 */

int bj_gate_new(const struct bj_gate_events *events, void *ctx,
                struct bj_gate **ret, struct bj_err *err)
{
    struct bj_gate *g = calloc(1, sizeof(*g));
    if (!g)
        return bj_err_set(err, -ENOMEM, "gate");
    g->events = *events;
    g->ctx = ctx;
    g->waiting.last = &g->waiting.first;
    g->running.last = &g->running.first;
    pthread_mutex_init(&g->admitted.lock, NULL);
    int r = bj_gate_pool_new(&g->pool, err);
    if (r < 0) {
        bj_gate_free(g);
        return r;
    }
    *ret = g;
    return 0;
}

int bj_gate_start(struct bj_gate *g, struct bj_err *err)
{
    if (g->fetches)
        return 0;
    /* Keep freed buffers for the next response: new pages would cost a fifth of
     * the CPU time of forwarding. */
    mallopt(M_TRIM_THRESHOLD, KEEP_BYTES);
    return bj_fetches_new(&g->fetches, err);
}

void bj_gate_use(struct bj_gate *g, struct bj_settings *settings)
{
    bj_gate_pool_use(g->pool, g->fetches, bj_settings_ref(settings));
    g->changed = true;
}

void bj_gate_stop(struct bj_gate *g)
{
    if (!g || !g->fetches)
        return;
    bj_gate_refuse_all(g);
    bj_gate_pool_stop(g->pool, g->fetches);
}

void bj_gate_free(struct bj_gate *g)
{
    if (!g)
        return;
    bj_fetches_free(g->fetches);
    bj_gate_pool_free(g->pool);
    pthread_mutex_destroy(&g->admitted.lock);
    free(g);
}

/* --- metrics ----------------------------------------------------------------
 */

static void put_metric(struct bj_buf *b, const char *name, const char *type,
                       const char *help, uint64_t n)
{
    bj_buf_printf(b,
                  "# HELP batchjob_api_gate_%s %s\n"
                  "# TYPE batchjob_api_gate_%s %s\nbatchjob_api_gate_%s %llu\n",
                  name, help, name, type, name, (unsigned long long)n);
}

void bj_gate_metrics(struct bj_gate *g, struct bj_buf *b)
{
    put_metric(b, "running", "gauge", "Queries of the gate at Prometheus.",
               g->running_now);
    put_metric(b, "waiting", "gauge", "Queries of the gate that wait.",
               g->waiting_now);
    put_metric(b, "bytes_total", "counter",
               "Bytes of responses that the gate passed on.", g->bytes);
    put_metric(b, "failures_total", "counter",
               "Queries of the gate that Prometheus did not answer.",
               g->failures);
    put_metric(b, "timeouts_total", "counter",
               "Queries of the gate that exceeded gate.timeout.", g->timeouts);
    put_metric(b, "canceled_total", "counter",
               "Queries of the gate whose clients disconnected.", g->canceled);
    put_metric(b, "retries_total", "counter",
               "Queries that another server got after the first one failed.",
               g->retries);
    bj_gate_pool_metrics(g->pool, b);
}

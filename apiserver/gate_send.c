#include "apiserver/gate_send.h"

#include "apiserver/gate_error.h"
#include "apiserver/gate_reply.h"
#include "apiserver/state.h"
#include "base/clock.h"
#include "base/log.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    STACK_BYTES = 512 << 10,
    CHECK_MS = 200,    /* how often clients are checked for a disconnect */
    IDLE_MS = 3600000, /* an event ends the wait */
    HUNG_UP = 499,     /* status in the log after a disconnect */
};

struct queue {
    struct bj_gate_job *first, **last;
};

struct bj_gate {
    struct bj_gate_events events;
    void *ctx;
    int wake; /* eventfd */
    bool started;
    pthread_t thread;
    struct bj_gate_list admitted;
    /* under the lock */
    pthread_mutex_t lock;
    struct queue submitted;
    bool stop;
    /* of the thread */
    struct bj_fetches *fetches;
    struct queue waiting, running;
    /* atomic */
    uint64_t running_now, waiting_now, bytes, failures, canceled, timeouts;
};

static void count(uint64_t *n, uint64_t more)
{
    __atomic_fetch_add(n, more, __ATOMIC_RELAXED);
}

static void push(struct queue *q, struct bj_gate_job *j)
{
    j->next = NULL;
    *q->last = j;
    q->last = &j->next;
}

/* Unlink the job that *at points to. */
static void unlink_at(struct queue *q, struct bj_gate_job **at)
{
    struct bj_gate_job *j = *at;
    *at = j->next;
    if (!*at)
        q->last = at;
}

static void wake(void *ctx)
{
    const struct bj_gate *g = ctx;
    const uint64_t one = 1;
    if (write(g->wake, &one, sizeof(one)) < 0)
        return; /* the counter is at its limit: it will be read */
}

struct bj_gate_list *bj_gate_admitted(struct bj_gate *g)
{
    return &g->admitted;
}

void bj_gate_submit(struct bj_gate *g, struct bj_gate_job *j)
{
    j->gate = g;
    pthread_mutex_lock(&g->lock);
    push(&g->submitted, j);
    pthread_mutex_unlock(&g->lock);
    wake(g);
}

/* --- responses --------------------------------------------------------------
 */

/* The response of the call is complete, or its body is a stream. */
static void answer(struct bj_gate *g, struct bj_gate_job *j)
{
    struct bj_call *c = j->call;
    j->call = NULL;
    g->events.answered(g->ctx, c);
}

static void fail(struct bj_gate *g, struct bj_gate_job *j, int code,
                 const struct bj_err *err)
{
    char text[320];
    bool late = code == -ETIMEDOUT;
    count(late ? &g->timeouts : &g->failures, 1);
    if (!late)
        bj_log(BJ_LOG_ERROR, NULL, "gate: %s",
               bj_err_reason(err, text, sizeof(text)));
    if (!j->call)
        return;
    if (late)
        bj_gate_refuse(j->call, 503, "timeout",
                       "The Prometheus server took too long; use a shorter "
                       "range or a longer step.");
    else if (code == -EFBIG)
        bj_gate_refuse(j->call, 422, "execution",
                       "The response is larger than gate.max-bytes; use a "
                       "longer step or fewer series.");
    else
        bj_gate_refuse(j->call, 502, "unavailable",
                       "The Prometheus server did not answer.");
    answer(g, j);
}

static void on_head(void *ctx, const struct bj_fetch_reply *reply)
{
    struct bj_gate_job *j = ctx;
    struct bj_gate *g = j->gate;
    int r = bj_gate_reply_begin(j, reply, wake, g);
    if (r > 0)
        count(&g->failures, 1);
    j->discard = r > 0;
    if (r > 0 || j->stream)
        answer(g, j);
}

static bool on_piece(void *ctx, struct bj_slice piece)
{
    struct bj_gate_job *j = ctx;
    struct bj_gate *g = j->gate;
    if (j->discard)
        return true;
    if (!j->stream) {
        bj_buf_slice(&j->whole, piece);
        return true;
    }
    int r = bj_stream_put(j->stream, piece);
    j->blocked = r == -EAGAIN;
    if (j->blocked)
        return false;
    j->discard = r < 0;
    j->bytes += piece.n;
    count(&g->bytes, piece.n);
    if (r > 0)
        g->events.readable(g->ctx);
    return true;
}

static void end_stream(struct bj_gate_job *j, bool complete)
{
    struct bj_gate *g = j->gate;
    if (!j->stream)
        return;
    bj_stream_end(j->stream, complete);
    j->stream = NULL;
    g->events.readable(g->ctx);
}

static void log_end(const struct bj_gate_job *j, const char *end)
{
    const struct bj_log_field fields[] = {
        {"user", j->user, 0},
        {"path", j->path.p, 0},
        {"end", end, 0},
        {"bytes", NULL, j->bytes},
        {"usec", NULL, bj_clock_boot_usec() - j->start_usec},
        {NULL, NULL, 0}};
    bj_log_event(BJ_LOG_DEBUG, "gate", fields);
}

/* Remove a job whose flow has ended. */
static void drop(struct bj_gate *g, struct bj_gate_job *j, const char *end)
{
    struct bj_gate_job **at = &g->running.first;
    while (*at && *at != j)
        at = &(*at)->next;
    if (*at) {
        unlink_at(&g->running, at);
        __atomic_fetch_sub(&g->running_now, 1, __ATOMIC_RELAXED);
    }
    log_end(j, end);
    bj_gate_job_free(j);
}

static void on_end(void *ctx, const struct bj_fetch_reply *reply, int code,
                   const struct bj_err *err)
{
    struct bj_gate_job *j = ctx;
    struct bj_gate *g = j->gate;
    if (code < 0 && !j->discard) {
        fail(g, j, code, err);
    } else if (j->call) {
        bj_gate_reply_whole(j, reply);
        answer(g, j);
    }
    end_stream(j, code == 0);
    drop(g, j, code == 0 ? "complete" : "failed");
}

/* --- requests ---------------------------------------------------------------
 */

static const struct bj_flow_events flow_events = {on_head, on_piece, on_end};

static bool has_hung_up(const struct bj_gate_job *j)
{
    return j->call && bj_http_given_up(j->call->req);
}

static void hang_up(struct bj_gate *g, struct bj_gate_job *j)
{
    count(&g->canceled, 1);
    if (!j->call)
        return;
    bj_gate_refuse(j->call, HUNG_UP, "canceled",
                   "The client hung up while it waited.");
    answer(g, j);
}

static bool may_start(const struct bj_gate *g, const struct bj_gate_job *j)
{
    const struct bj_gate_conf *conf = &j->settings->conf->gate;
    uint64_t all = 0, own = 0;
    for (const struct bj_gate_job *k = g->running.first; k; k = k->next) {
        all++;
        own += strcmp(k->user, j->user) == 0;
    }
    return all < conf->queries && own < conf->user_queries;
}

/* Start a job, or refuse it. */
static void begin(struct bj_gate *g, struct bj_gate_job *j, uint64_t now)
{
    struct bj_err err = {0};
    int r = now < j->end_usec ? bj_gate_job_prepare(j, now, &err)
                              : bj_err_set(&err, -ETIMEDOUT, "late");
    if (r == 0)
        r = bj_fetches_start(g->fetches, &j->req, &flow_events, j, &j->flow,
                             &err);
    if (r < 0) {
        fail(g, j, r, &err);
        log_end(j, "failed");
        bj_gate_job_free(j);
        return;
    }
    push(&g->running, j);
    __atomic_fetch_add(&g->running_now, 1, __ATOMIC_RELAXED);
}

static void start_waiting(struct bj_gate *g, uint64_t now, bool check)
{
    uint64_t left = 0;
    for (struct bj_gate_job **at = &g->waiting.first; *at;) {
        struct bj_gate_job *j = *at;
        bool gone = check && has_hung_up(j);
        if (!gone && now < j->end_usec && !may_start(g, j)) {
            at = &j->next;
            left++;
            continue;
        }
        unlink_at(&g->waiting, at);
        if (gone) {
            hang_up(g, j);
            bj_gate_job_free(j);
        } else {
            begin(g, j, now);
        }
    }
    __atomic_store_n(&g->waiting_now, left, __ATOMIC_RELAXED);
}

/* Cancel what no client waits for, and go on where there is room again. */
static void serve_running(struct bj_gate *g, bool check)
{
    for (struct bj_gate_job *j = g->running.first, *next; j; j = next) {
        bool gone = (j->stream && bj_stream_is_closed(j->stream)) ||
                    (check && has_hung_up(j));
        next = j->next;
        if (!gone && !j->discard) {
            if (j->blocked)
                bj_flow_go_on(j->flow);
            continue;
        }
        bj_fetches_cancel(g->fetches, j->flow);
        if (gone)
            hang_up(g, j);
        end_stream(j, false);
        drop(g, j, "canceled");
    }
}

/* --- the thread -------------------------------------------------------------
 */

static bool take_submitted(struct bj_gate *g)
{
    pthread_mutex_lock(&g->lock);
    struct bj_gate_job *j = g->submitted.first;
    bool stop = g->stop;
    g->submitted = (struct queue){NULL, &g->submitted.first};
    pthread_mutex_unlock(&g->lock);
    for (struct bj_gate_job *next; j; j = next) {
        next = j->next;
        push(&g->waiting, j);
    }
    return !stop;
}

static bool any_unanswered(const struct bj_gate *g)
{
    if (g->waiting.first)
        return true;
    for (const struct bj_gate_job *j = g->running.first; j; j = j->next)
        if (j->call)
            return true;
    return false;
}

static void refuse_all(struct bj_gate *g)
{
    struct bj_gate_job *j;
    const struct bj_err err = {.code = -ECANCELED, .msg = "the server stops"};
    while ((j = g->waiting.first)) {
        unlink_at(&g->waiting, &g->waiting.first);
        fail(g, j, err.code, &err);
        bj_gate_job_free(j);
    }
    while ((j = g->running.first)) {
        bj_fetches_cancel(g->fetches, j->flow);
        fail(g, j, err.code, &err);
        end_stream(j, false);
        drop(g, j, "stopped");
    }
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
        serve_running(g, check);
        start_waiting(g, now, check);
        bool woken = bj_fetches_run(g->fetches, g->wake,
                                    any_unanswered(g) ? CHECK_MS : IDLE_MS);
        if (woken && read(g->wake, &n, sizeof(n)) < 0)
            continue; /* nothing new */
    }
    refuse_all(g);
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
    if (g->wake < 0) {
        int code = -errno;
        bj_gate_free(g);
        return bj_err_set(err, code, "eventfd");
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
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    r = pthread_create(&g->thread, &attr, run, g);
    pthread_attr_destroy(&attr);
    g->started = r == 0;
    return r ? bj_err_set(err, -r, "threads cannot be started") : 0;
}

bool bj_gate_stop(struct bj_gate *g, const struct timespec *until)
{
    if (!g || !g->started)
        return true;
    pthread_mutex_lock(&g->lock);
    g->stop = true;
    pthread_mutex_unlock(&g->lock);
    wake(g);
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
}

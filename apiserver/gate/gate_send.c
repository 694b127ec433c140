#include "apiserver/gate/gate_send.h"

#include "apiserver/frame/settings.h"
#include "apiserver/frame/state.h"
#include "apiserver/gate/gate_job.h"
#include "apiserver/gate/gate_pool.h"
#include "base/clock.h"
#include "base/log.h"

#include <malloc.h>
#include <stdlib.h>
#include <strings.h>

/* Converts a reply of the Prometheus server to the response of the gate. */

static bool equals(struct bj_slice s, const char *word)
{
    return s.n == strlen(word) && strncasecmp(s.p, word, s.n) == 0;
}

/* Is the reply from Prometheus itself? */
static bool is_json(const struct bj_fetch_reply *reply)
{
    static const char json[] = "application/json";
    struct bj_slice type = bj_fetch_header(reply, "Content-Type");
    return type.n >= sizeof(json) - 1 &&
           strncasecmp(type.p, json, sizeof(json) - 1) == 0;
}

/* Is it a reply of Prometheus to the request?  0, or the refusal of j->call. */
static int gate_reply_check(struct bj_gate_job *j,
                            const struct bj_fetch_reply *reply)
{
    unsigned s = reply->status;
    struct bj_slice coding = bj_fetch_header(reply, "Content-Encoding");
    bool plain = coding.n == 0 || equals(coding, "identity");
    if (s == 401 || s == 403 || s == 407)
        return bj_gate_refuse(j->call, 502, "unavailable",
                              "The Prometheus server refuses the credentials "
                              "of this server (status %u).",
                              s);
    if (s == 204) /* no exemplars are kept; it has no body */
        return 0;
    if (s < 200 || s / 100 == 3 || !is_json(reply))
        return bj_gate_refuse(j->call, s == 503 ? 503 : 502, "unavailable",
                              "The reply is not one of Prometheus (status %u).",
                              s);
    if (!plain && !(j->gzip && equals(coding, "gzip")))
        return bj_gate_refuse(j->call, 502, "unavailable",
                              "The Prometheus server compressed its reply in "
                              "an unknown way.");
    return 0;
}

static int too_large(const struct bj_gate_job *j)
{
    return bj_gate_refuse(j->call, 422, "execution",
                          "The response is larger than gate.max-bytes; use a "
                          "longer step or fewer series.");
}

/* Store the headers of such a reply that the response needs.  0 or a refusal.
 */
static int gate_reply_begin(struct bj_gate_job *j,
                            const struct bj_fetch_reply *reply)
{
    j->length = 0;
    if (bj_slice_u64(bj_fetch_header(reply, "Content-Length"), &j->length) ==
            0 &&
        j->length > j->request.fetch.max_bytes)
        return too_large(j);
    j->status = reply->status;
    j->packed = equals(bj_fetch_header(reply, "Content-Encoding"), "gzip");
    return 0;
}

static void set_head(struct bj_gate_job *j)
{
    struct bj_call *c = j->call;
    c->reply->status = j->status;
    c->reply->type = "application/json";
    if (j->packed)
        bj_call_header(c, "Content-Encoding", "gzip");
    bj_call_header(c, "Vary", "Accept-Encoding");
}

static int send_no_memory(struct bj_gate_job *j)
{
    return bj_gate_refuse(j->call, 500, "internal",
                          "The server is out of memory.");
}

/* Make the response as a stream that begins with j->reply_body; wake and ctx
 * are for the stream.  0 or a refusal. */
static int gate_reply_stream(struct bj_gate_job *j, void (*wake)(void *ctx),
                             void *ctx)
{
    size_t cap = 2 * j->request.fetch.piece_bytes;
    struct bj_stream *s = NULL;
    if (!j->reply_body.failed)
        s = bj_stream_new(cap > j->reply_body.len ? cap : j->reply_body.len,
                          wake, ctx);
    if (!s)
        return send_no_memory(j);
    bj_stream_put(s, (struct bj_slice){j->reply_body.p, j->reply_body.len});
    bj_buf_free(&j->reply_body);
    set_head(j);
    j->call->reply->stream = j->stream = s;
    j->call->reply->stream_bytes = j->length;
    return 0;
}

/* Make the response, or the work of the endpoint's second part, from the
 * complete reply in j->reply_body. */
static void gate_reply_body(struct bj_gate_job *j)
{
    struct bj_call *c = j->call;
    const struct bj_buf spare = c->reply->body;
    if (j->reply_body.failed) {
        send_no_memory(j);
        return;
    }
    set_head(j);
    if (!j->keep || j->status / 100 != 2) {
        c->reply->body = j->reply_body;
        j->reply_body = spare;
    } else if (!(c->work = bj_gate_kept_new(j))) {
        send_no_memory(j);
    }
}

struct bj_gate_queue {
    struct bj_gate_job *first, **last;
};

struct bj_gate {
    struct bj_gate_events events;
    void *ctx;
    struct bj_gate_list admitted;
    struct bj_fetches *fetches; /* NULL: the gate was never on */
    struct bj_gate_pool *pool;
    struct bj_gate_queue waiting, running;
    bool changed; /* a job arrived or ended, or its client has read data */
    uint64_t checked_usec; /* when clients were checked for a disconnect */
    uint64_t pool_usec;    /* when the next check of a server is due */
    /* metrics */
    uint64_t running_now, waiting_now, bytes, failures, canceled, timeouts;
    uint64_t retries;
};

static void gate_push(struct bj_gate_queue *q, struct bj_gate_job *j)
{
    j->next = NULL;
    *q->last = j;
    q->last = &j->next;
}

enum {
    /* tolerance for a deadline that libcurl may reach earlier */
    CLOSE_USEC = 10000,
    HUNG_UP = 499, /* status in the log after a disconnect */
};

/* Unlink the job that *at points to. */
static void unlink_at(struct bj_gate_queue *q, struct bj_gate_job **at)
{
    struct bj_gate_job *j = *at;
    *at = j->next;
    if (!*at)
        q->last = at;
}

/* The reader of a stream has read data or closed the stream. */
static void on_stream(void *gate)
{
    struct bj_gate *g = gate;
    g->changed = true;
}

/* --- responses --------------------------------------------------------------
 */

/* The response of the call is complete, or its body is a stream. */
static void respond(struct bj_gate *g, struct bj_gate_job *j)
{
    struct bj_call *c = j->call;
    const struct bj_request *t = bj_request_of(c);
    j->call = NULL;
    if (j->stream)
        bj_request_log_begin(&j->log, c, &c->worker->server->count[t->at],
                             t->start_usec);
    g->events.answered(g->ctx, c);
}

static bool is_late(const struct bj_gate_job *j)
{
    return bj_clock_boot_usec() + CLOSE_USEC >= j->end_usec;
}

static void send_fail(struct bj_gate *g, struct bj_gate_job *j, int code,
                      const char *text)
{
    bool late = code == -ETIMEDOUT && is_late(j);
    *(late ? &g->timeouts : &g->failures) += 1;
    if (!late)
        bj_log(BJ_LOG_ERROR, NULL, "gate: %s", text);
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
    respond(g, j);
}

/* --- servers ----------------------------------------------------------------
 */

/* Choose the server for a job; errors are those of bj_gate_route(). */
static int send_choose(struct bj_gate *g, const struct bj_gate_job *j,
                       struct bj_gate_upstream **ret)
{
    unsigned n;
    struct bj_gate_upstream *const *v = bj_gate_pool_all(g->pool, &n);
    if (n == 0)
        return -ENOENT;
    const struct bj_gate_need need = {
        .span = j->span,
        .now_ms = (int64_t)(bj_clock_wall_usec() / 1000),
        .own_max = bj_gate_pool_settings(g->pool)->conf->gate.user_queries,
        .failed = j->failed};
    for (unsigned i = 0; i < n; i++)
        v[i]->user_running = 0;
    for (const struct bj_gate_job *k = g->running.first; k; k = k->next)
        k->upstream->user_running += strcmp(k->user, j->user) == 0;
    int r = bj_gate_route(v, n, &need);
    *ret = r >= 0 ? v[r] : NULL;
    return r;
}

/* The server of a job has failed, for the reason in text.  True: send the job
 * to another server. */
static bool can_retry(struct bj_gate *g, struct bj_gate_job *j,
                      const char *text)
{
    struct bj_gate_upstream *other;
    bj_gate_pool_failed(j->upstream, text);
    if (!j->call || j->failed || is_late(j))
        return false;
    j->failed = j->upstream;
    return send_choose(g, j, &other) != -ENOENT;
}

/* Did the server fail, rather than the request? */
static bool is_fault(const struct bj_gate_job *j, int code)
{
    return code == -ECONNREFUSED || code == -EHOSTUNREACH ||
           code == -EKEYREJECTED || code == -EPROTO || code == -EACCES ||
           (code == -ETIMEDOUT && !is_late(j));
}

/* --- replies ----------------------------------------------------------------
 */

static void on_head(void *ctx, const struct bj_fetch_reply *reply)
{
    struct bj_gate_job *j = ctx;
    struct bj_gate *g = j->gate;
    int r = gate_reply_check(j, reply);
    g->changed = true;
    if (r > 0) {
        j->retry = can_retry(g, j, j->call->refusal);
        if (!j->retry)
            bj_log(BJ_LOG_ERROR, NULL, "request %s: gate: %s",
                   j->call->request_id, j->call->refusal);
    } else {
        bj_gate_pool_worked(j->upstream);
        r = gate_reply_begin(j, reply);
    }
    j->discard = r > 0;
    j->has_head = r == 0;
    if (r > 0 && !j->retry) {
        g->failures++;
        respond(g, j);
    }
}

/* A response that is not complete yet becomes a stream. */
static void begin_stream(struct bj_gate *g, struct bj_gate_job *j)
{
    j->bytes = j->reply_body.len;
    g->bytes += j->bytes;
    j->discard = gate_reply_stream(j, on_stream, g) > 0;
    respond(g, j);
}

static bool is_complete(const struct bj_gate_job *j)
{
    return j->length > 0 && j->bytes == j->length;
}

static enum bj_flow_next pass_on(struct bj_gate_job *j, struct bj_slice piece)
{
    struct bj_gate *g = j->gate;
    int r = bj_stream_put(j->stream, piece);
    if (r == -EAGAIN) {
        j->blocked = true;
        return BJ_FLOW_REFUSED;
    }
    j->discard = r < 0;
    g->changed = g->changed || j->discard;
    j->bytes += piece.n;
    g->bytes += piece.n;
    if (r > 0 && (r & BJ_STREAM_WAITED))
        g->events.readable(g->ctx);
    if (r < 0 || !(r & BJ_STREAM_FULL) || is_complete(j))
        return BJ_FLOW_MORE;
    j->blocked = true; /* also if other pieces of this pass have room */
    return BJ_FLOW_PAUSE;
}

static enum bj_flow_next on_piece(void *ctx, struct bj_slice piece)
{
    struct bj_gate_job *j = ctx;
    struct bj_gate *g = j->gate;
    if (j->discard)
        return BJ_FLOW_MORE;
    if (j->stream)
        return pass_on(j, piece);
    bj_buf_slice(&j->reply_body, piece);
    if (!j->keep && j->reply_body.len > j->request.fetch.piece_bytes)
        begin_stream(g, j);
    g->changed = g->changed || j->discard;
    return BJ_FLOW_MORE;
}

static void end_stream(struct bj_gate_job *j, bool complete)
{
    struct bj_gate *g = j->gate;
    if (!j->stream)
        return;
    bj_request_log_end(&j->log, j->bytes);
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

/* Remove a job from its server's running jobs. */
static void leave_server(struct bj_gate *g, struct bj_gate_job *j)
{
    struct bj_gate_job **at = &g->running.first;
    while (*at && *at != j)
        at = &(*at)->next;
    unlink_at(&g->running, at);
    g->running_now--;
    g->changed = true; /* there is room for another job */
    bj_gate_pool_end(g->pool, j->upstream);
    j->upstream = NULL;
}

/* Remove a job whose flow has ended. */
static void send_drop(struct bj_gate *g, struct bj_gate_job *j, const char *end)
{
    leave_server(g, j);
    log_end(j, end);
    bj_gate_job_free(j);
}

/* End the job at its server, and send it to another one. */
static void requeue(struct bj_gate *g, struct bj_gate_job *j)
{
    leave_server(g, j);
    bj_gate_job_reset(j);
    g->retries++;
    gate_push(&g->waiting, j);
}

static void on_end(void *ctx, const struct bj_fetch_reply *reply, int code,
                   const struct bj_err *err)
{
    struct bj_gate_job *j = ctx;
    struct bj_gate *g = j->gate;
    char text[320];
    (void)reply;
    bj_err_reason(err, text, sizeof(text));
    bool retry =
        j->retry || (!j->discard && is_fault(j, code) && can_retry(g, j, text));
    if (retry) {
        requeue(g, j);
        return;
    }
    if (code < 0 && !j->discard) {
        send_fail(g, j, code, text);
    } else if (j->call) {
        j->bytes = j->reply_body.len;
        g->bytes += j->bytes;
        gate_reply_body(j);
        respond(g, j);
    }
    end_stream(j, code == 0);
    send_drop(g, j, code == 0 ? "complete" : "failed");
}

/* --- requests ---------------------------------------------------------------
 */

static const struct bj_flow_events flow_events = {on_head, on_piece, on_end};

static bool has_hung_up(const struct bj_gate_job *j)
{
    return j->call && bj_http_client_gone(j->call->req);
}

static void hang_up(struct bj_gate *g, struct bj_gate_job *j)
{
    g->canceled++;
    if (!j->call)
        return;
    bj_gate_refuse(j->call, HUNG_UP, "canceled",
                   "The client disconnected while it waited.");
    respond(g, j);
}

/* Send a job to a server, or refuse it. */
static void send_begin(struct bj_gate *g, struct bj_gate_job *j,
                       struct bj_gate_upstream *u, uint64_t now)
{
    struct bj_err err = {0};
    char text[320];
    j->upstream = u;
    bj_gate_pool_begin(g->pool, u);
    gate_push(&g->running, j);
    g->running_now++;
    int r = bj_gate_job_prepare(j, u->conf, bj_gate_pool_settings(g->pool),
                                g->running_now, now, &err);
    if (r == 0)
        r = bj_fetches_start(g->fetches, &j->request.fetch, &flow_events, j,
                             &j->flow, &err);
    if (r == 0)
        return;
    bj_err_reason(&err, text, sizeof(text));
    if (is_fault(j, r) && can_retry(g, j, text)) {
        requeue(g, j);
        return;
    }
    send_fail(g, j, r, text);
    send_drop(g, j, "failed");
}

/* Refuse a job for which there is no server. */
static void give_up(struct bj_gate *g, struct bj_gate_job *j, int code,
                    const char *text)
{
    send_fail(g, j, code, text);
    log_end(j, "failed");
    bj_gate_job_free(j);
}

/* Start or refuse a waiting job, or remove it from the queue if its client has
 * disconnected.  False: it continues to wait. */
static bool serve_waiting(struct bj_gate *g, struct bj_gate_job **at,
                          uint64_t now, bool check)
{
    struct bj_gate_job *j = *at;
    struct bj_gate_upstream *u = NULL;
    bool gone = check && has_hung_up(j);
    bool late = now >= j->end_usec;
    int r = gone || late ? 0 : send_choose(g, j, &u);
    if (r == -EAGAIN)
        return false;
    unlink_at(&g->waiting, at);
    if (gone) {
        hang_up(g, j);
        bj_gate_job_free(j);
    } else if (late) {
        give_up(g, j, -ETIMEDOUT, "no server had room in time");
    } else if (r < 0) {
        give_up(g, j, r, "no server is left for the query");
    } else {
        send_begin(g, j, u, now);
    }
    return true;
}

static void start_waiting(struct bj_gate *g, uint64_t now, bool check)
{
    uint64_t left = 0;
    for (struct bj_gate_job **at = &g->waiting.first; *at;) {
        if (serve_waiting(g, at, now, check))
            continue;
        at = &(*at)->next;
        left++;
    }
    g->waiting_now = left;
}

/* Continue to read the reply after the client has read data. */
static void resume(struct bj_gate_job *j)
{
    if (!j->blocked || (!is_complete(j) && bj_stream_is_full(j->stream)))
        return;
    j->blocked = false;
    bj_flow_resume(j->flow);
}

/* Cancel jobs without a client, and continue those whose streams have room
 * again. */
static void serve_running(struct bj_gate *g, bool check)
{
    for (struct bj_gate_job *j = g->running.first, *next; j; j = next) {
        bool gone =
            (j->stream && !is_complete(j) && bj_stream_is_closed(j->stream)) ||
            (check && has_hung_up(j));
        next = j->next;
        if (!gone && !j->discard && j->has_head && j->call && !j->keep)
            begin_stream(g, j);
        if (!gone && !j->discard) {
            resume(j);
            continue;
        }
        bj_fetches_cancel(g->fetches, j->flow);
        if (j->retry && !gone) {
            requeue(g, j);
            continue;
        }
        if (gone)
            hang_up(g, j);
        end_stream(j, false);
        send_drop(g, j, "canceled");
    }
}

/* Serve the jobs: continue those whose streams have room again, cancel those
 * without a client, and start waiting ones.  check: also find clients that have
 * disconnected. */
static void gate_serve(struct bj_gate *g, uint64_t now_usec, bool check)
{
    serve_running(g, check);
    start_waiting(g, now_usec, check);
}

/* Does any job wait for its response? */
static bool gate_is_busy(const struct bj_gate *g)
{
    if (g->waiting.first)
        return true;
    for (const struct bj_gate_job *j = g->running.first; j; j = j->next)
        if (j->call)
            return true;
    return false;
}

/* Refuse all jobs, because the server stops. */
static void gate_refuse_all(struct bj_gate *g)
{
    struct bj_gate_job *j;
    const char *text = "the server stops";
    while ((j = g->waiting.first)) {
        unlink_at(&g->waiting, &g->waiting.first);
        give_up(g, j, -ECANCELED, text);
    }
    while ((j = g->running.first)) {
        bj_fetches_cancel(g->fetches, j->flow);
        send_fail(g, j, -ECANCELED, text);
        end_stream(j, false);
        send_drop(g, j, "stopped");
    }
}

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
    gate_push(&g->waiting, j);
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
    if (gate_is_busy(g))
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
        gate_serve(g, now_usec, check);
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
    gate_refuse_all(g);
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

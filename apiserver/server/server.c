#include "apiserver/server/server.h"

#include "apiserver/frame/answer.h"
#include "apiserver/frame/room.h"
#include "apiserver/frame/settings.h"
#include "apiserver/gate/gate_send.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/thread.h"
#include "base/wait.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum {
    OWN = 2, /* the descriptor of the caller, and "wake" */
    /* time until descriptors without room are tried again */
    LOW_MEMORY_MS = 50,
};

/* --- responses -------------------------------------------------------------
 */

void bj_server_finish(struct bj_server *s, struct bj_request *t)
{
    bj_httpd_finish(s->httpd, t->call.req, &t->reply);
    bj_settings_unref(t->settings);
    free(t);
}

static void server_collect(struct bj_server *s)
{
    uint64_t n;
    struct bj_request *t;
    if (read(s->wake, &n, sizeof(n)) < 0)
        return;
    pthread_mutex_lock(&s->lock);
    struct bj_queue done = s->done;
    if (!done.first)
        done.last = &done.first;
    s->done = (struct bj_queue){NULL, &s->done.first};
    pthread_mutex_unlock(&s->lock);
    while ((t = bj_queue_pop(&done))) {
        __atomic_sub_fetch(&s->made_bytes, t->reply.body.cap, __ATOMIC_RELAXED);
        if (t->call.forward)
            bj_gate_submit(s->gate, t->call.forward);
        else
            bj_server_finish(s, t);
    }
}

/* The gate has a response, the head of a response, or the work of a second
 * part. */
static void on_forwarded(void *ctx, struct bj_call *c)
{
    struct bj_server *s = ctx;
    c->forward = NULL;
    if (c->work) {
        pthread_mutex_lock(&s->lock);
        bj_queue_push(&s->waiting, bj_request_of(c));
        pthread_mutex_unlock(&s->lock);
        pthread_cond_signal(&s->wait_cond);
        return;
    }
    bj_buf_trim(&c->reply->body);
    if (!c->reply->stream) /* else the gate logs it at its end */
        bj_answer_end(c);
    bj_server_finish(s, bj_request_of(c));
}

/* The gate has more data of a response. */
static void on_readable(void *ctx)
{
    struct bj_server *s = ctx;
    s->readable = true;
}

/* Sent responses have made room: wake threads that wait for it. */
static void wake_waiters(struct bj_server *s)
{
    pthread_mutex_lock(&s->lock);
    bj_room_changed(s);
    pthread_mutex_unlock(&s->lock);
}

const struct bj_gate_events bj_server_events = {on_forwarded, on_readable};

/* --- a turn ----------------------------------------------------------------
 */

/* The descriptors that a turn polls for itself and for the gate. */
static struct pollfd *collect_fds(struct bj_server *s, int fd,
                                  struct pollfd *few, nfds_t *ret_gate)
{
    const struct pollfd *gate = bj_gate_poll(s->gate, ret_gate);
    const size_t most = OWN + BJ_HTTPD_FDS + *ret_gate;
    struct pollfd *fds = BJ_GROW(s->poll, most, s->polls) ? s->poll : few;
    if (fds == few)
        *ret_gate = 0; /* found no room */
    fds[0] = (struct pollfd){.fd = fd, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = s->wake, .events = POLLIN};
    if (*ret_gate > 0)
        memcpy(fds + OWN, gate, *ret_gate * sizeof(*gate));
    return fds;
}

/* -1 is forever. */
static int min_timeout(int a, int b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

static void run_gate(struct bj_server *s, const struct pollfd *fds, nfds_t n,
                     uint64_t now)
{
    bj_gate_run(s->gate, fds, n, now);
    if (s->readable)
        bj_httpd_resume(s->httpd);
    s->readable = false;
}

int bj_server_turn(struct bj_server *s, int fd, int max_ms)
{
    struct pollfd few[OWN + BJ_HTTPD_FDS];
    nfds_t gate, httpd;
    struct pollfd *fds = collect_fds(s, fd, few, &gate);
    const int ms = min_timeout(fds == few ? LOW_MEMORY_MS : max_ms,
                               bj_gate_timeout(s->gate, bj_clock_boot_usec()));
    int r = bj_httpd_wait(s->httpd, fds, OWN + gate, ms, &httpd);
    if (r < 0)
        return r;
    const uint64_t now = bj_clock_boot_usec();
    if (fds[1].revents)
        server_collect(s);
    run_gate(s, fds + OWN, gate, now);
    bj_httpd_run(s->httpd, fds + OWN + gate, httpd, now);
    run_gate(s, NULL, 0, now); /* requests that have just arrived */
    wake_waiters(s);
    return fds[0].revents != 0;
}

enum {
    CONNECTIONS_PER_REQUEST = 2,
    STACK_BYTES = 512 << 10,
    PATIENT_USEC = 100 * 1000, /* wait of a request until its client is checked
                                  for a disconnect */
    HUNG_UP = 499,             /* status in the log after a disconnect */
    LONGEST_SEC = 660,         /* maximum duration of a query of the gate */
    KEEP_BYTES = 256 << 10,    /* enough for a list of a hundred jobs */
    QUICK_BYTES = 4 << 10,     /* parameters that the HTTP thread reads */
};

/* --- queues ----------------------------------------------------------------
 */

static void push_first(struct bj_queue *q, struct bj_request *t)
{
    t->next = q->first;
    q->first = t;
    if (!t->next)
        q->last = &t->next;
}

/* --- work threads ----------------------------------------------------------
 */

/* Pass a response to the thread of the HTTP server. The lock is held. True: the
 * caller must call wake_http(), if possible without the lock, which that thread
 * needs. */
static bool server_hand_over(struct bj_server *s, struct bj_request *t)
{
    bool first = !s->done.first;
    __atomic_add_fetch(&s->made_bytes, t->reply.body.cap, __ATOMIC_RELAXED);
    bj_queue_push(&s->done, t);
    return first;
}

static void wake_http(const struct bj_server *s)
{
    const uint64_t one = 1;
    if (write(s->wake, &one, sizeof(one)) < 0)
        return; /* the counter is at its limit, so the thread is woken anyway */
}

/* The query of an admin has ended: resume the next parked one. The lock is
 * held. */
static void end_admin_query(struct bj_server *s)
{
    struct bj_request *t = bj_queue_pop(&s->parked);
    if (!t) {
        s->admin_queries--;
        return;
    }
    t->counted = true;
    push_first(&s->todo, t);
    pthread_cond_signal(&s->work_cond);
}

/* Park a request. The lock is held. */
static void park(struct bj_server *s, struct bj_request *t)
{
    t->parked = false;
    bj_queue_push(&s->parked, t);
    /* The query that it waits for may have ended. */
    if (s->admin_queries < s->admin_queries_max) {
        s->admin_queries++;
        end_admin_query(s);
    }
}

/* Pass a request to its next stage after a work thread. */
static void pass_on(struct bj_server *s, struct bj_request *t)
{
    bool counted = t->counted, wake = false;
    pthread_mutex_lock(&s->lock);
    if (t->parked) {
        park(s, t);
    } else if (t->call.work) {
        bj_queue_push(&s->waiting, t);
        pthread_cond_signal(&s->wait_cond);
    } else {
        wake = server_hand_over(s, t);
    }
    if (counted)
        end_admin_query(s);
    pthread_mutex_unlock(&s->lock);
    if (wake)
        wake_http(s);
}

static void server_serve(struct bj_api_worker *a, struct bj_request *t)
{
    struct bj_call *c = &t->call;
    c->worker = a;
    t->reply.body = bj_httpd_buf(a->httpd, 0);
    bj_answer(c);
    bj_worker_report(a);
    if (t->parked || t->checked) {
        bj_httpd_buf_return(a->httpd, &t->reply.body);
        return;
    }
    bj_buf_trim(&t->reply.body);
    if (!c->work && !c->forward)
        bj_answer_end(c);
}

/* Has the client disconnected while its request waited? Browsers do that when a
 * user reloads a dashboard. */
static bool has_hung_up(const struct bj_request *t)
{
    return bj_clock_boot_usec() - t->start_usec > PATIENT_USEC &&
           bj_http_client_gone(t->call.req);
}

static void server_refuse(struct bj_request *t, unsigned status,
                          const char *text)
{
    bj_call_header(&t->call, "Cache-Control", "no-store");
    bj_call_header(&t->call, "X-Request-Id", t->call.request_id);
    if (status == 503)
        bj_call_header(&t->call, "Retry-After", "1");
    bj_call_refuse(&t->call, status, "%s", text);
    bj_answer_end(&t->call);
}

/* Process one request. settings: new ones for the thread; NULL: unchanged. */
static void process(struct bj_api_worker *a, struct bj_request *t,
                    struct bj_settings *settings, bool room)
{
    t->call.worker = a;
    if (settings && bj_worker_use(a, settings, &t->call.err) < 0) {
        bj_call_log(&t->call, "new options");
        server_refuse(t, 500, "The server cannot apply its new options.");
    } else if (has_hung_up(t)) {
        server_refuse(t, HUNG_UP, "The client disconnected while it waited.");
    } else if (!room) {
        server_refuse(t, 503, "Too many responses are being sent; try again.");
    } else {
        server_serve(a, t);
    }
}

/* Wait for the next request, with room for its response; *room is false if the
 * request has waited too long for room. NULL: the server stops. The lock is
 * held. */
static struct bj_request *next_request(struct bj_server *s, bool *room)
{
    *room = false;
    while (!s->stop) {
        struct bj_request *first = s->todo.first;
        *room = first && bj_room_take(s);
        if (*room || (first && bj_room_late(first->start_usec)))
            return bj_queue_pop(&s->todo);
        if (first)
            bj_room_wait(s, &s->work_cond, first->start_usec);
        else
            pthread_cond_wait(&s->work_cond, &s->lock);
    }
    return NULL;
}

static void *run_worker(void *arg)
{
    struct bj_api_worker *a = arg;
    struct bj_server *s = a->server;
    struct bj_request *t;
    bool room;
    pthread_mutex_lock(&s->lock);
    while ((t = next_request(s, &room))) {
        struct bj_settings *settings =
            a->settings == s->settings ? NULL : bj_settings_ref(s->settings);
        pthread_mutex_unlock(&s->lock);
        process(a, t, settings, room);
        pass_on(s, t);
        pthread_mutex_lock(&s->lock);
        if (room)
            bj_room_give(s);
    }
    pthread_mutex_unlock(&s->lock);
    bj_worker_release(a);
    return NULL;
}

/* Thread for the second parts of endpoints, which wait for other servers or
 * take long. */
static void *run_waiter(void *arg)
{
    struct bj_server *s = arg;
    struct bj_request *t;
    pthread_mutex_lock(&s->lock);
    for (;;) {
        while (!s->waiting.first && !s->stop)
            pthread_cond_wait(&s->wait_cond, &s->lock);
        if (s->stop)
            break;
        t = bj_queue_pop(&s->waiting);
        s->waiters_busy++;
        pthread_mutex_unlock(&s->lock);
        bj_answer_rest(&t->call);
        bj_buf_trim(&t->reply.body);
        bj_answer_end(&t->call);
        pthread_mutex_lock(&s->lock);
        s->waiters_busy--;
        if (server_hand_over(s, t))
            wake_http(s);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* --- the HTTP server's thread ----------------------------------------------
 */

static int add_length(void *ctx, struct bj_slice key, struct bj_slice value)
{
    size_t *n = ctx;
    *n += key.n + value.n;
    return 0;
}

/* May the thread of the HTTP server process the request?  Not with long
 * parameters, which can take milliseconds, and not without room for responses,
 * for which all requests wait. */
static bool is_quick(const struct bj_server *s, const struct bj_request *t)
{
    size_t n = t->call.req->body.n;
    if (!t->call.endpoint || !t->call.endpoint->quick || !bj_room_is_free(s))
        return false;
    bj_http_each_arg(t->call.req, add_length, &n);
    return n <= QUICK_BYTES;
}

/* Process a request in this thread.  False: it would take long. */
static bool serve_now(struct bj_server *s, struct bj_request *t)
{
    const struct bj_endpoint *e = t->call.endpoint;
    t->quick = is_quick(s, t);
    if (e && e->needs != 0 && !t->quick)
        return false;
    server_serve(&s->http_worker, t);
    t->quick = false;
    return !t->checked;
}

static void take_request(struct bj_server *s, const struct bj_http_request *req,
                         struct bj_http_reply *reply, struct bj_slice path)
{
    struct bj_request *t = calloc(1, sizeof(*t));
    if (!t) {
        reply->status = 500;
        return;
    }
    t->start_usec = bj_clock_boot_usec();
    t->reply = *reply;
    t->call =
        (struct bj_call){.worker = &s->http_worker,
                         .req = req,
                         .reply = &t->reply,
                         .now_sec = (int64_t)(bj_clock_wall_usec() / 1000000)};
    snprintf(t->call.request_id, sizeof(t->call.request_id), "%llx-%llx",
             (unsigned long long)s->started_sec,
             (unsigned long long)++s->requests);
    t->at = bj_answer_find(&t->call, path);
    reply->later = true;
    if (!serve_now(s, t)) {
        pthread_mutex_lock(&s->lock);
        bj_queue_push(&s->todo, t);
        pthread_mutex_unlock(&s->lock);
        pthread_cond_signal(&s->work_cond);
        return;
    }
    if (t->call.forward) {
        bj_gate_submit(s->gate, t->call.forward);
        return;
    }
    *reply = t->reply;
    /* The HTTP server still reads the headers of the request. */
    free(s->last);
    s->last = t;
}

static void on_request(void *ctx, const struct bj_http_request *req,
                       struct bj_http_reply *reply)
{
    take_request(ctx, req, reply, req->tail);
}

/* Answered even when the server is busy. */
static void server_on_health(void *ctx, const struct bj_http_request *req,
                             struct bj_http_reply *reply)
{
    take_request(ctx, req, reply, BJ_SLICE("health"));
}

/* Convert a refusal of the HTTP server to our error document. */
static void on_refusal(void *ctx, const struct bj_http_request *req,
                       struct bj_http_reply *reply)
{
    struct bj_server *s = ctx;
    struct bj_call c = {.req = req, .reply = reply};
    char text[200];
    size_t n =
        reply->body.len < sizeof(text) ? reply->body.len : sizeof(text) - 1;
    while (n > 0 && reply->body.p[n - 1] == '\n')
        n--;
    if (n > 0)
        memcpy(text, reply->body.p, n);
    text[n] = '\0';
    bj_call_refuse(&c, reply->status, "%s", text);
    bj_call_header(&c, "Cache-Control", "no-store");
    bj_answer_refused(s, &c);
}

/* Endpoints have their own methods (apiserver/frame/answer.c). */
enum { ANY = BJ_HTTP_GET | BJ_HTTP_HEAD | BJ_HTTP_POST | BJ_HTTP_OTHER };

static const struct bj_http_route routes[] = {
    {"/health", BJ_HTTP_GET | BJ_HTTP_HEAD, true, server_on_health},
    {"/", ANY, false, on_request},
    {"/*", ANY, false, on_request},
    {NULL, 0, false, on_refusal}};

/* --- start and end ----------------------------------------------------------
 */

/* Start the threads that the settings need and that do not run yet. */
static int start_threads(struct bj_server *s,
                         const struct bj_settings *settings, struct bj_err *err)
{
    unsigned waiters = /* at least one, for drawings */
        settings->prom ? (unsigned)settings->conf->prom.queries : 1;
    int r = 0;
    for (; r == 0 && s->workers < settings->conf->threads;
         s->workers += r == 0) {
        struct bj_api_worker *a = &s->worker[s->workers];
        *a = s->http_worker;
        a->settings = NULL;
        a->reader = NULL;
        a->words = NULL;
        a->scratch = (struct bj_buf){0};
        r = bj_thread_create(&a->thread, STACK_BYTES, run_worker, a);
    }
    for (; r == 0 && s->waiters < waiters; s->waiters += r == 0)
        r = bj_thread_create(&s->waiter[s->waiters], STACK_BYTES, run_waiter,
                             s);
    if (r == 0 && settings->conf->gate.enabled)
        return bj_gate_start(s->gate, err);
    return r ? bj_err_set(err, r, "threads cannot be started") : 0;
}

#define SERVER_TABLE(name) bj_endpoints_##name,
const struct bj_endpoint *const bj_endpoint_tables[] = {
    BJ_ENDPOINT_TABLES(SERVER_TABLE) NULL};
#undef SERVER_TABLE

static void add_endpoints(struct bj_server *s,
                          const struct bj_endpoint *const *tables)
{
    unsigned n = 0;
    for (; *tables; tables++)
        for (const struct bj_endpoint *e = *tables; e->path; e++)
            if (n < BJ_API_ENDPOINTS - 1)
                s->endpoint[n++] = e;
}

static void server_prepare(struct bj_server *s,
                           const struct bj_endpoint *const *tables)
{
    struct bj_queue *const queues[] = {&s->todo, &s->parked, &s->waiting,
                                       &s->done};
    *s = (struct bj_server){.started_sec = bj_clock_wall_usec() / 1000000,
                            .replica = {.lag_msec = BJ_REPLICA_NONE},
                            .wake = -1};
    for (size_t i = 0; i < sizeof(queues) / sizeof(queues[0]); i++)
        queues[i]->last = &queues[i]->first;
    pthread_mutex_init(&s->lock, NULL);
    bj_wait_cond_init(&s->work_cond);
    bj_wait_cond_init(&s->room_cond);
    pthread_cond_init(&s->wait_cond, NULL);
    add_endpoints(s, tables);
    s->http_worker.server = s;
    s->http_worker.endpoint = s->endpoint;
}

static int open_httpd(struct bj_server *s, struct bj_err *err)
{
    const struct bj_api_conf *conf = s->settings->conf;
    struct bj_http_limits limits = {
        .connections = CONNECTIONS_PER_REQUEST * (unsigned)conf->max_requests,
        .responses = (unsigned)conf->max_requests,
        .request_usec = conf->request_usec,
        .work_usec = LONGEST_SEC * 1000000ull,
        .idle_usec =
            100 * 1000000ull, /* Grafana keeps its connections for 90 s */
        .body_bytes = 64 * 1024,
        .flight_bytes = conf->flight_bytes,
        .room_bytes = bj_room_bytes(s),
        .keep_bytes = KEEP_BYTES,
        .later = true,
    };
    int r = bj_httpd_new(routes, s, &limits, &s->httpd, err);
    s->http_worker.httpd = s->httpd;
    return r < 0 ? r
                 : bj_httpd_configure(s->httpd, bj_auth_web(s->settings->auth),
                                      err);
}

int bj_server_init(struct bj_server *s, struct bj_api_conf *conf,
                   const struct bj_endpoint *const *tables, struct bj_err *err)
{
    server_prepare(s, tables);
    int r = bj_secrets_new(&s->secrets, err);
    if (r == 0) {
        r = bj_settings_new(conf, s->secrets, &s->settings, err);
    } else {
        bj_api_conf_free(conf);
        free(conf);
    }
    if (r == 0)
        r = bj_limit_new(&s->limit, err);
    if (r == 0)
        r = bj_gate_new(&bj_server_events, s, &s->gate, err);
    if (r == 0)
        r = bj_worker_use(&s->http_worker, bj_settings_ref(s->settings), err);
    if (r == 0)
        r = open_httpd(s, err);
    s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (r == 0 && s->wake < 0)
        r = bj_err_set(err, -errno, "eventfd");
    if (r < 0)
        return r;
    s->admin_queries_max = s->settings->conf->threads > 1
                               ? (unsigned)s->settings->conf->threads - 1
                               : 1;
    bj_gate_use(s->gate, s->settings);
    return start_threads(s, s->settings, err);
}

static bool join_all(struct bj_server *s, unsigned patience_sec)
{
    uint64_t end = bj_clock_wall_usec() + patience_sec * 1000000ull;
    struct timespec until = {(time_t)(end / 1000000),
                             (long)(end % 1000000) * 1000};
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    pthread_cond_broadcast(&s->work_cond);
    pthread_cond_broadcast(&s->room_cond);
    pthread_cond_broadcast(&s->wait_cond);
    pthread_mutex_unlock(&s->lock);
    for (; s->workers > 0; s->workers--)
        if (pthread_timedjoin_np(s->worker[s->workers - 1].thread, NULL,
                                 &until))
            return false;
    for (; s->waiters > 0; s->waiters--)
        if (pthread_timedjoin_np(s->waiter[s->waiters - 1], NULL, &until))
            return false;
    return true;
}

/* The threads have ended: release the requests without a response. (The memory
 * of second parts is not freed, because the process ends.) */
static void drop_queue(struct bj_server *s, struct bj_queue *q)
{
    for (struct bj_request *t; (t = bj_queue_pop(q));) {
        bj_gate_job_free(t->call.forward);
        bj_server_finish(s, t);
    }
}

bool bj_server_free(struct bj_server *s, unsigned patience_sec)
{
    if (!join_all(s, patience_sec))
        return false;
    bj_gate_stop(s->gate);
    drop_queue(s, &s->todo);
    drop_queue(s, &s->parked);
    drop_queue(s, &s->waiting);
    drop_queue(s, &s->done);
    bj_httpd_free(s->httpd);
    bj_gate_free(s->gate);
    bj_worker_release(&s->http_worker);
    bj_settings_unref(s->settings);
    bj_secrets_free(s->secrets);
    bj_limit_free(s->limit);
    free(s->last);
    free(s->poll);
    if (s->wake >= 0)
        close(s->wake);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->work_cond);
    pthread_cond_destroy(&s->room_cond);
    pthread_cond_destroy(&s->wait_cond);
    return true;
}

const struct bj_api_conf *bj_server_conf(const struct bj_server *s)
{
    return s->settings->conf;
}

static int take_settings(struct bj_server *s, struct bj_settings *settings,
                         struct bj_err *err)
{
    struct bj_settings *old = s->settings;
    int r = start_threads(s, settings, err);
    if (r == 0)
        r = bj_httpd_configure(s->httpd, bj_auth_web(settings->auth), err);
    /* Switching back to the old settings allocates nothing, so it cannot fail.
     */
    if (r == 0 && (r = bj_worker_use(&s->http_worker, bj_settings_ref(settings),
                                     err)) < 0)
        bj_httpd_configure(s->httpd, bj_auth_web(old->auth), NULL);
    if (r < 0) {
        bj_settings_unref(settings);
        return r;
    }
    bj_gate_use(s->gate, settings);
    pthread_mutex_lock(&s->lock);
    s->settings = settings;
    pthread_mutex_unlock(&s->lock);
    bj_settings_unref(old);
    return 0;
}

int bj_server_reload(struct bj_server *s, struct bj_api_conf *conf,
                     struct bj_err *err)
{
    struct bj_settings *settings;
    int r = bj_settings_new(conf, s->secrets, &settings, err);
    return r < 0 ? r : take_settings(s, settings, err);
}

void bj_server_follow(struct bj_server *s, uint64_t now_usec)
{
    struct bj_err err = {0};
    struct bj_settings *settings;
    if (!bj_web_changed(bj_auth_web(s->settings->auth), &s->watch, now_usec))
        return;
    int r = bj_settings_renew(s->settings, &settings, &err);
    if (r == 0)
        r = take_settings(s, settings, &err);
    __atomic_store_n(&s->reload_failed, r < 0, __ATOMIC_RELAXED);
    if (r < 0)
        bj_log(BJ_LOG_ERROR, NULL, "%s; the old configuration stays", err.msg);
    else
        bj_log(BJ_LOG_INFO, NULL, "%s reloaded", s->settings->conf->web_file);
}

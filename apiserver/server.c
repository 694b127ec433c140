#include "apiserver/server.h"

#include "apiserver/answer.h"
#include "apiserver/room.h"
#include "apiserver/site.h"
#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum {
    STACK_BYTES = 512 << 10,
    PATIENT_USEC = 100 * 1000, /* whom this is too long may hang up */
    HUNG_UP = 499,          /* status of what nobody waits for: for the log */
    KEEP_BYTES = 256 << 10, /* what a list of a hundred jobs fits in */
};

/* --- queues ----------------------------------------------------------------
 */

static void push(struct bj_queue *q, struct bj_ticket *t)
{
    t->next = NULL;
    *q->last = t;
    q->last = &t->next;
}

static void push_first(struct bj_queue *q, struct bj_ticket *t)
{
    t->next = q->first;
    q->first = t;
    if (!t->next)
        q->last = &t->next;
}

static struct bj_ticket *pop(struct bj_queue *q)
{
    struct bj_ticket *t = q->first;
    if (t) {
        q->first = t->next;
        if (!q->first)
            q->last = &q->first;
    }
    return t;
}

/* --- work threads ----------------------------------------------------------
 */

/* Values of headers may be the thread's, which goes on to other requests. */
static void keep_headers(struct bj_ticket *t)
{
    size_t at = strlen(t->keep) + 1, n;
    for (size_t i = 0; i < sizeof(t->reply.header) / sizeof(t->reply.header[0]);
         i++) {
        const char *v = t->reply.header[i].value;
        if (!t->reply.header[i].name || v != t->call.api->next)
            continue;
        n = strlen(v) + 1;
        if (n > sizeof(t->keep) - at)
            continue;
        memcpy(t->keep + at, v, n);
        t->reply.header[i].value = t->keep + at;
        at += n;
    }
}

/* To the HTTP server's thread.  The lock is held. */
static void hand_in(struct bj_server *s, struct bj_ticket *t)
{
    const uint64_t one = 1;
    bool first = !s->done.first;
    __atomic_add_fetch(&s->made_bytes, t->reply.body.cap, __ATOMIC_RELAXED);
    push(&s->done, t);
    if (first && write(s->wake, &one, sizeof(one)) < 0)
        return; /* it is full of ones: it will be read */
}

/* The next of the admins' questions gets the place of one that is over. */
static void make_way(struct bj_server *s)
{
    struct bj_ticket *t = pop(&s->wide);
    if (!t) {
        s->wide_running--;
        return;
    }
    t->wide = true;
    push_first(&s->todo, t);
    pthread_cond_signal(&s->work_cond);
}

/* What has become of a request whose turn at a desk is over. */
static void put_on(struct bj_server *s, struct bj_ticket *t)
{
    bool was_wide = t->wide;
    pthread_mutex_lock(&s->lock);
    if (t->parked) {
        t->parked = false;
        t->admitted = true;
        push(&s->wide, t);
        /* The one that it waits for may be over by now. */
        if (s->wide_running < s->wide_max) {
            s->wide_running++;
            make_way(s);
        }
    } else if (t->call.work) {
        push(&s->waits, t);
        pthread_cond_signal(&s->wait_cond);
    } else {
        hand_in(s, t);
    }
    if (was_wide)
        make_way(s);
    pthread_mutex_unlock(&s->lock);
}

/* Answer at a desk. */
static void serve(struct bj_api *a, struct bj_ticket *t)
{
    struct bj_call *c = &t->call;
    char id[sizeof(c->request_id)];
    c->api = a;
    c->reader = NULL;
    memcpy(id, c->request_id, sizeof(id));
    t->reply.body = bj_httpd_buf(a->httpd, 0);
    bj_answer(c);
    bj_desk_tell(a);
    if (t->parked) {
        /* From the start when its turn comes. */
        bj_httpd_buf_return(a->httpd, &t->reply.body);
        t->reply = (struct bj_http_reply){.status = 200, .type = t->reply.type};
        *c = (struct bj_call){.endpoint = c->endpoint,
                              .req = c->req,
                              .reply = c->reply,
                              .tail = c->tail,
                              .now_sec = c->now_sec};
        snprintf(c->request_id, sizeof(c->request_id), "%s", id);
        return;
    }
    keep_headers(t);
    bj_buf_trim(&t->reply.body);
    if (!c->work)
        bj_answer_end(c);
}

/* Is there something to do?  The lock is held. */
static struct bj_ticket *wait_for(struct bj_server *s, struct bj_queue *q,
                                  pthread_cond_t *cond)
{
    while (!q->first && !s->stop)
        pthread_cond_wait(cond, &s->lock);
    return s->stop ? NULL : pop(q);
}

/* Answers are gone in a moment, unless their readers stand still. */
static bool is_young(const struct bj_ticket *t)
{
    return bj_clock_boot_usec() - t->start_usec < BJ_ROOM_USEC;
}

/* Nobody waits any more, as when a dashboard is asked for anew. */
static bool is_forlorn(const struct bj_ticket *t)
{
    return bj_clock_boot_usec() - t->start_usec > PATIENT_USEC &&
           bj_http_given_up(t->call.req);
}

static void refuse(struct bj_ticket *t, unsigned status, const char *text)
{
    bj_call_header(&t->call, "Cache-Control", "no-store");
    bj_call_header(&t->call, "X-Request-Id", t->call.request_id);
    if (status == 503)
        bj_call_header(&t->call, "Retry-After", "1");
    bj_call_refuse(&t->call, status, "%s", text);
    bj_answer_end(&t->call);
}

/* One turn at a desk, with what options and files say now (NULL: as before). */
static void take_turn(struct bj_api *a, struct bj_ticket *t,
                      struct bj_site *site, bool room)
{
    t->call.api = a;
    if (site && bj_desk_sit(a, site, &t->call.err) < 0) {
        bj_call_log(&t->call, "new options");
        refuse(t, 500, "The server can't take over its options.");
    } else if (is_forlorn(t)) {
        refuse(t, HUNG_UP, "The client hung up while it waited.");
    } else if (!room) {
        refuse(t, 503, "Too many answers are in flight; try again.");
    } else {
        serve(a, t);
    }
}

static void *on_desk(void *arg)
{
    struct bj_api *a = arg;
    struct bj_server *s = a->server;
    struct bj_ticket *t;
    pthread_mutex_lock(&s->lock);
    while ((t = wait_for(s, &s->todo, &s->work_cond))) {
        bool room = bj_room_take(s);
        if (!room && is_young(t)) {
            push_first(&s->todo, t);
            bj_room_pause(s);
            continue;
        }
        struct bj_site *site = a->site == s->site ? NULL : bj_site_ref(s->site);
        pthread_mutex_unlock(&s->lock);
        take_turn(a, t, site, room);
        put_on(s, t);
        pthread_mutex_lock(&s->lock);
        if (room)
            bj_room_give(s);
    }
    pthread_mutex_unlock(&s->lock);
    bj_desk_leave(a);
    return NULL;
}

/* Second halves, which wait for others. */
static void *on_waiter(void *arg)
{
    struct bj_server *s = arg;
    struct bj_ticket *t;
    pthread_mutex_lock(&s->lock);
    while ((t = wait_for(s, &s->waits, &s->wait_cond))) {
        pthread_mutex_unlock(&s->lock);
        bj_answer_rest(&t->call);
        bj_buf_trim(&t->reply.body);
        bj_answer_end(&t->call);
        pthread_mutex_lock(&s->lock);
        hand_in(s, t);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* --- the HTTP server's thread ----------------------------------------------
 */

/* What needs neither user nor store is said at once, here. */
static void take(struct bj_server *s, const struct bj_http_request *req,
                 struct bj_http_reply *reply, struct bj_slice path)
{
    struct bj_ticket *t = calloc(1, sizeof(*t));
    if (!t) {
        reply->status = 500;
        return;
    }
    t->start_usec = bj_clock_boot_usec();
    t->reply = *reply;
    t->call =
        (struct bj_call){.api = &s->own,
                         .req = req,
                         .reply = &t->reply,
                         .now_sec = (int64_t)(bj_clock_wall_usec() / 1000000)};
    snprintf(t->call.request_id, sizeof(t->call.request_id), "%llx-%llx",
             (unsigned long long)s->started_sec,
             (unsigned long long)++s->requests);
    t->at = bj_answer_find(&t->call, path);
    if (t->call.endpoint && t->call.endpoint->needs != 0) {
        reply->later = true;
        pthread_mutex_lock(&s->lock);
        push(&s->todo, t);
        pthread_cond_signal(&s->work_cond);
        pthread_mutex_unlock(&s->lock);
        return;
    }
    serve(&s->own, t);
    *reply = t->reply;
    /* The texts of its headers are read once more. */
    free(s->last);
    s->last = t;
}

static void on_request(void *ctx, const struct bj_http_request *req,
                       struct bj_http_reply *reply)
{
    take(ctx, req, reply, req->tail);
}

/* The same, but however busy the server is. */
static void on_health(void *ctx, const struct bj_http_request *req,
                      struct bj_http_reply *reply)
{
    take(ctx, req, reply, BJ_SLICE("health"));
}

void bj_server_collect(struct bj_server *s)
{
    uint64_t n;
    struct bj_ticket *t;
    if (read(s->wake, &n, sizeof(n)) < 0)
        return;
    pthread_mutex_lock(&s->lock);
    struct bj_queue done = s->done;
    s->done = (struct bj_queue){NULL, &s->done.first};
    pthread_mutex_unlock(&s->lock);
    for (t = done.first; t; t = done.first) {
        done.first = t->next;
        __atomic_sub_fetch(&s->made_bytes, t->reply.body.cap, __ATOMIC_RELAXED);
        bj_httpd_finish(s->httpd, t->call.req, &t->reply);
        free(t);
    }
}

/* What the HTTP server refuses by itself: its sentence in our form. */
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

static const struct bj_http_route routes[] = {
    {"/health", BJ_HTTP_GET | BJ_HTTP_HEAD, true, on_health},
    {"/", BJ_HTTP_GET | BJ_HTTP_HEAD | BJ_HTTP_POST, false, on_request},
    {"/*", BJ_HTTP_GET | BJ_HTTP_HEAD | BJ_HTTP_POST, false, on_request},
    {NULL, 0, false, on_refusal}};

/* --- its life --------------------------------------------------------------
 */

/* Threads that a site needs and that are still to be made. */
static int start_threads(struct bj_server *s, const struct bj_site *site,
                         struct bj_err *err)
{
    pthread_attr_t attr;
    unsigned waiters = site->prom ? (unsigned)site->conf->prom.queries : 0;
    int r = 0;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    for (; r == 0 && s->desks < site->conf->threads; s->desks += r == 0) {
        struct bj_api *a = &s->desk[s->desks];
        *a = s->own;
        a->site = NULL;
        a->reader = NULL;
        a->words = NULL;
        a->scratch = (struct bj_buf){0};
        r = pthread_create(&a->thread, &attr, on_desk, a);
    }
    for (; r == 0 && s->waiters < waiters; s->waiters += r == 0)
        r = pthread_create(&s->waiter[s->waiters], &attr, on_waiter, s);
    pthread_attr_destroy(&attr);
    return r ? bj_err_set(err, -r, "threads can't be started") : 0;
}

static void add_endpoints(struct bj_server *s,
                          const struct bj_endpoint *const *tables)
{
    unsigned n = 0;
    for (; *tables; tables++)
        for (const struct bj_endpoint *e = *tables; e->path; e++)
            if (n < BJ_API_ENDPOINTS - 1)
                s->endpoint[n++] = e;
}

static void prepare(struct bj_server *s,
                    const struct bj_endpoint *const *tables)
{
    struct bj_queue *const queues[] = {&s->todo, &s->wide, &s->waits, &s->done};
    *s = (struct bj_server){.started_sec = bj_clock_wall_usec() / 1000000,
                            .wake = -1};
    for (size_t i = 0; i < sizeof(queues) / sizeof(queues[0]); i++)
        queues[i]->last = &queues[i]->first;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->work_cond, NULL);
    pthread_cond_init(&s->wait_cond, NULL);
    add_endpoints(s, tables);
    s->own.server = s;
    s->own.endpoint = s->endpoint;
}

static int open_httpd(struct bj_server *s, struct bj_err *err)
{
    const struct bj_api_conf *conf = s->site->conf;
    struct bj_http_limits limits = {
        .connections = (unsigned)conf->max_connections,
        .responses = (unsigned)conf->max_requests,
        .request_usec = conf->request_usec,
        .idle_usec = 100 * 1000000ull, /* Grafana keeps its own for 90 s */
        .body_bytes = 64 * 1024,
        .flight_bytes = conf->flight_bytes,
        .room_bytes = bj_room_bytes(s),
        .keep_bytes = KEEP_BYTES,
        .later = true,
    };
    int r = bj_httpd_new(routes, s, &limits, &s->httpd, err);
    s->own.httpd = s->httpd;
    return r < 0
               ? r
               : bj_httpd_configure(s->httpd, bj_gate_web(s->site->gate), err);
}

int bj_server_init(struct bj_server *s, struct bj_api_conf *conf,
                   const struct bj_endpoint *const *tables, struct bj_err *err)
{
    prepare(s, tables);
    int r = bj_site_new(conf, &s->site, err);
    if (r == 0)
        r = bj_limit_new(&s->limit, err);
    if (r == 0)
        r = bj_desk_sit(&s->own, bj_site_ref(s->site), err);
    if (r == 0)
        r = open_httpd(s, err);
    s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (r == 0 && s->wake < 0)
        r = bj_err_set(err, -errno, "eventfd");
    if (r < 0)
        return r;
    s->wide_max =
        s->site->conf->threads > 1 ? (unsigned)s->site->conf->threads - 1 : 1;
    return start_threads(s, s->site, err);
}

static bool join_all(struct bj_server *s, unsigned patience_sec)
{
    uint64_t end = bj_clock_wall_usec() + patience_sec * 1000000ull;
    struct timespec until = {(time_t)(end / 1000000),
                             (long)(end % 1000000) * 1000};
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    pthread_cond_broadcast(&s->work_cond);
    pthread_cond_broadcast(&s->wait_cond);
    pthread_mutex_unlock(&s->lock);
    for (; s->desks > 0; s->desks--)
        if (pthread_timedjoin_np(s->desk[s->desks - 1].thread, NULL, &until))
            return false;
    for (; s->waiters > 0; s->waiters--)
        if (pthread_timedjoin_np(s->waiter[s->waiters - 1], NULL, &until))
            return false;
    return true;
}

/* Nobody answers any more: what is left is given back as it is.  (Second halves
 * would still wait for others; what they hold goes with the process.) */
static void drop(struct bj_server *s, struct bj_queue *q)
{
    for (struct bj_ticket *t; (t = pop(q));) {
        bj_httpd_finish(s->httpd, t->call.req, &t->reply);
        free(t);
    }
}

bool bj_server_free(struct bj_server *s, unsigned patience_sec)
{
    if (!join_all(s, patience_sec))
        return false;
    drop(s, &s->todo);
    drop(s, &s->wide);
    drop(s, &s->waits);
    drop(s, &s->done);
    bj_httpd_free(s->httpd);
    bj_desk_leave(&s->own);
    bj_site_unref(s->site);
    bj_limit_free(s->limit);
    free(s->last);
    if (s->wake >= 0)
        close(s->wake);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->work_cond);
    pthread_cond_destroy(&s->wait_cond);
    return true;
}

const struct bj_api_conf *bj_server_conf(const struct bj_server *s)
{
    return s->site->conf;
}

static int take_site(struct bj_server *s, struct bj_site *site,
                     struct bj_err *err)
{
    struct bj_site *old = s->site;
    int r = start_threads(s, site, err);
    if (r == 0)
        r = bj_httpd_configure(s->httpd, bj_gate_web(site->gate), err);
    /* Back to what it had, for which there is all that it takes. */
    if (r == 0 && (r = bj_desk_sit(&s->own, bj_site_ref(site), err)) < 0)
        bj_httpd_configure(s->httpd, bj_gate_web(old->gate), NULL);
    if (r < 0) {
        bj_site_unref(site);
        return r;
    }
    pthread_mutex_lock(&s->lock);
    s->site = site;
    pthread_mutex_unlock(&s->lock);
    bj_site_unref(old);
    return 0;
}

int bj_server_reload(struct bj_server *s, struct bj_api_conf *conf,
                     struct bj_err *err)
{
    struct bj_site *site;
    int r = bj_site_new(conf, &site, err);
    return r < 0 ? r : take_site(s, site, err);
}

void bj_server_follow(struct bj_server *s, uint64_t now_usec)
{
    struct bj_err err = {0};
    struct bj_site *site;
    if (!bj_web_changed(bj_gate_web(s->site->gate), &s->watch, now_usec))
        return;
    int r = bj_site_renew(s->site, &site, &err);
    if (r == 0)
        r = take_site(s, site, &err);
    __atomic_store_n(&s->reload_failed, r < 0, __ATOMIC_RELAXED);
    if (r < 0)
        bj_log(BJ_LOG_ERROR, NULL, "%s; the old configuration stays", err.msg);
    else
        bj_log(BJ_LOG_INFO, NULL, "%s was read again", s->site->conf->web_file);
}

#include "base/httpd.h"

#include "base/httpd_conn.h"

#include "base/listen.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BACKLOG = 128,
    ACCEPT_ROUND = 32, /* connections taken between two looks at the others */
    ACCEPT_PAUSE_USEC = 100 * 1000, /* after running out of descriptors */
    HUGE_BYTES = 2 * 1024 * 1024,   /* a huge page, on most machines */
    SPARE_ROOM = 6,                 /* buffers of the largest size kept */
};

/* Connections and their phases */

static void unlink_conn(struct bj_httpd_conn *c)
{
    c->link.prev->next = c->link.next;
    c->link.next->prev = c->link.prev;
    c->h->count[c->phase]--;
}

static void link_conn(struct bj_httpd_conn *c, enum bj_httpd_phase to)
{
    static const size_t spans[BJ_HTTPD_PHASES] = {
        [BJ_HTTPD_WAIT] = offsetof(struct bj_http_limits, request_usec),
        [BJ_HTTPD_IDLE] = offsetof(struct bj_http_limits, idle_usec),
        [BJ_HTTPD_WORK] = offsetof(struct bj_http_limits, send_usec),
        [BJ_HTTPD_SEND] = offsetof(struct bj_http_limits, send_usec),
    };
    struct bj_httpd *h = c->h;
    struct bj_httpd_link *end = &h->list[to];
    if (to != BJ_HTTPD_DEAD) {
        uint64_t span;
        memcpy(&span, (const char *)&h->lim + spans[to], sizeof(span));
        c->deadline = h->now + span;
    }
    c->since = h->now;
    c->phase = to;
    c->link = (struct bj_httpd_link){end->prev, end};
    end->prev->next = &c->link;
    end->prev = &c->link;
    h->count[to]++;
}

void bj_httpd_conn_move(struct bj_httpd_conn *c, enum bj_httpd_phase to)
{
    unlink_conn(c);
    link_conn(c, to);
}

/* The connection that has been in a phase for longest, or NULL. */
static struct bj_httpd_conn *oldest(const struct bj_httpd *h,
                                    enum bj_httpd_phase phase)
{
    struct bj_httpd_link *first = h->list[phase].next;
    return first == &h->list[phase] ? NULL : (struct bj_httpd_conn *)first;
}

static unsigned alive(const struct bj_httpd *h)
{
    return h->count[BJ_HTTPD_WAIT] + h->count[BJ_HTTPD_IDLE] +
           bj_httpd_in_flight(h);
}

/* End a connection.  The library sees the hang-up in its next run and lets go
 * of everything.  A response that nobody takes is reset, or the kernel would
 * hold on to what is left of it for minutes. */
void bj_httpd_conn_hang_up(struct bj_httpd_conn *c)
{
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    if (c->phase == BJ_HTTPD_SEND)
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    shutdown(c->fd, SHUT_RDWR);
    /* What it holds is as good as gone. */
    __atomic_sub_fetch(&c->h->flight_bytes, c->counted, __ATOMIC_RELAXED);
    c->counted = 0;
    __atomic_store_n(&c->given_up, true, __ATOMIC_RELAXED);
    bj_httpd_conn_move(c, BJ_HTTPD_DEAD);
}

/* Close the connection that has owed us a request for longest.  One that has
 * been idle between two requests for as long is no better: its client connects
 * again.  False when all have a response in flight. */
static bool make_room(struct bj_httpd *h)
{
    struct bj_httpd_conn *c = oldest(h, BJ_HTTPD_WAIT);
    struct bj_httpd_conn *idle = oldest(h, BJ_HTTPD_IDLE);
    if (!c || (idle && idle->since < c->since))
        c = idle;
    if (!c)
        return false;
    bj_httpd_count(&h->stat.evicted, 1);
    bj_httpd_conn_hang_up(c);
    return true;
}

bool bj_httpd_give_up_one(struct bj_httpd *h)
{
    struct bj_httpd_conn *c = oldest(h, BJ_HTTPD_SEND);
    if (!c || h->now - c->since < h->lim.stall_usec)
        return false;
    bj_httpd_count(&h->stat.evicted, 1);
    bj_httpd_conn_hang_up(c);
    return true;
}

/* Do requests wait for the room that responses take up? */
static bool is_crowded(const struct bj_httpd *h)
{
    return h->count[BJ_HTTPD_WORK] > 0 && !bj_httpd_room(h, h->lim.room_bytes);
}

static unsigned expire(struct bj_httpd *h)
{
    unsigned n = 0;
    while (is_crowded(h) && bj_httpd_give_up_one(h))
        ;
    for (enum bj_httpd_phase p = BJ_HTTPD_WAIT; p < BJ_HTTPD_DEAD; p++)
        for (struct bj_httpd_conn *c;
             (c = oldest(h, p)) && c->deadline <= h->now; n++)
            bj_httpd_conn_hang_up(c);
    bj_httpd_count(&h->stat.expired, n);
    return n;
}

static void forget(struct bj_httpd_conn *c)
{
    if (!c)
        return;
    if (c->response)
        MHD_destroy_response(c->response);
    unlink_conn(c);
    bj_buf_free(&c->upload);
    bj_httpd_tls_end(c);
    free(c);
}

static void on_connection(void *ctx, struct MHD_Connection *mhd, void **slot,
                          enum MHD_ConnectionNotificationCode code)
{
    struct bj_httpd *h = ctx;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        forget(*slot);
        return;
    }
    int fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)
                 ->connect_fd;
    struct bj_httpd_conn *c = calloc(1, sizeof(*c));
    *slot = c;
    if (!c) {
        shutdown(fd, SHUT_RDWR);
        return;
    }
    c->h = h;
    c->mhd = mhd;
    c->fd = fd;
    link_conn(c, BJ_HTTPD_WAIT);
    if (bj_httpd_tls_begin(c) < 0)
        bj_httpd_conn_hang_up(c);
}

/* The server */

static void preset(uint64_t *v, uint64_t value)
{
    if (*v == 0)
        *v = value;
}

static void fill_limits(struct bj_http_limits *l)
{
    preset(&l->request_usec, 10 * 1000000);
    preset(&l->idle_usec, 75 * 1000000);
    preset(&l->send_usec, 30 * 1000000);
    preset(&l->stall_usec, 2 * 1000000);
    l->connections = l->connections ? l->connections : 256;
    l->responses = l->responses ? l->responses : 40;
    l->body_bytes = l->body_bytes ? l->body_bytes : 4096;
    l->memory_bytes = l->memory_bytes ? l->memory_bytes : 16 * 1024;
    l->keep_bytes = l->keep_bytes ? l->keep_bytes : 512 * 1024;
}

/* Connections are accepted here and handed to the library, not accepted by
 * it: it knows no other limit than to stop accepting, and spins when the
 * process is out of descriptors. */
struct MHD_Daemon *bj_httpd_start(struct bj_httpd *h, unsigned kind)
{
    unsigned flags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET |
                     (kind == BJ_HTTPD_TLS ? MHD_USE_TLS : 0u) |
                     (h->lim.later ? MHD_ALLOW_SUSPEND_RESUME : 0u);
    return MHD_start_daemon(
        flags, 0, NULL, NULL, bj_httpd_on_request, h,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, h->lim.memory_bytes,
        MHD_OPTION_CONNECTION_LIMIT, h->lim.connections + 2 * ACCEPT_ROUND,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK,
        bj_httpd_on_uri, h, MHD_OPTION_NOTIFY_CONNECTION, on_connection, h,
        MHD_OPTION_NOTIFY_COMPLETED, bj_httpd_on_completed, h,
        /* without TLS the list ends here */
        kind == BJ_HTTPD_TLS ? MHD_OPTION_HTTPS_CERT_CALLBACK : MHD_OPTION_END,
        bj_httpd_no_cert, MHD_OPTION_END);
}

int bj_httpd_new(const struct bj_http_route *routes, void *ctx,
                 const struct bj_http_limits *limits, struct bj_httpd **ret,
                 struct bj_err *err)
{
    struct bj_httpd *h = calloc(1, sizeof(*h));
    if (!h)
        return bj_err_set(err, -ENOMEM, "HTTP server");
    h->routes = routes;
    h->ctx = ctx;
    h->lim = *limits;
    fill_limits(&h->lim);
    for (enum bj_httpd_phase p = BJ_HTTPD_WAIT; p < BJ_HTTPD_PHASES; p++)
        h->list[p] = (struct bj_httpd_link){&h->list[p], &h->list[p]};
    if (h->lim.connections <= h->lim.responses) {
        free(h);
        return bj_err_set(err, -EINVAL,
                          "an HTTP server needs more connections than "
                          "responses in flight");
    }
    h->mhd[BJ_HTTPD_PLAIN] = bj_httpd_start(h, BJ_HTTPD_PLAIN);
    if (!h->mhd[BJ_HTTPD_PLAIN]) {
        free(h);
        return bj_err_set(err, -ENOMEM, "libmicrohttpd does not start");
    }
    pthread_mutex_init(&h->spare_lock, NULL);
    *ret = h;
    return 0;
}

static void close_listeners(struct bj_httpd *h)
{
    while (h->listeners > 0)
        close(h->listener[--h->listeners]);
}

void bj_httpd_free(struct bj_httpd *h)
{
    if (!h)
        return;
    close_listeners(h);
    for (int k = 0; k < BJ_HTTPD_KINDS; k++)
        if (h->mhd[k])
            MHD_stop_daemon(h->mhd[k]);
    for (int i = 0; i < BJ_HTTPD_SPARES; i++)
        bj_buf_free(&h->spare[i]);
    pthread_mutex_destroy(&h->spare_lock);
    bj_web_unref(h->web);
    free(h);
}

int bj_httpd_listen(struct bj_httpd *h, const char *address, struct bj_err *err)
{
    if (h->listeners == BJ_HTTPD_LISTENERS)
        return bj_err_set(err, -ENOSPC, "more than %d addresses to listen on",
                          BJ_HTTPD_LISTENERS);
    int fd = bj_listen_open(address, BACKLOG, err);
    if (fd >= 0) {
        h->adopted[h->listeners] = false;
        h->listener[h->listeners++] = fd;
    }
    return fd;
}

int bj_httpd_adopt(struct bj_httpd *h, int fd, struct bj_err *err)
{
    if (h->listeners == BJ_HTTPD_LISTENERS) {
        close(fd);
        return bj_err_set(err, -ENOSPC, "more than %d addresses to listen on",
                          BJ_HTTPD_LISTENERS);
    }
    h->adopted[h->listeners] = true;
    h->listener[h->listeners++] = fd;
    return 0;
}

void bj_httpd_guard(struct bj_httpd *h,
                    bool (*guard)(void *ctx, const struct bj_http_request *req,
                                  struct bj_http_reply *ret))
{
    h->guard = guard;
}

nfds_t bj_httpd_poll(struct bj_httpd *h, struct pollfd *fds)
{
    nfds_t n = 0;
    for (int k = 0; k < BJ_HTTPD_KINDS; k++) {
        int fd = -1;
        if (h->mhd[k])
            fd = MHD_get_daemon_info(h->mhd[k], MHD_DAEMON_INFO_EPOLL_FD)
                     ->epoll_fd;
        fds[n++] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
    /* With every connection busy, newcomers wait in the backlog. */
    bool full = bj_httpd_in_flight(h) >= h->lim.connections;
    for (unsigned i = 0; i < h->listeners; i++)
        fds[n++] =
            (struct pollfd){.fd = full || h->accept_after ? -1 : h->listener[i],
                            .events = POLLIN};
    return n;
}

/* Has the library something to do that no descriptor tells of? */
static bool is_due(const struct bj_httpd *h, unsigned kind)
{
    MHD_UNSIGNED_LONG_LONG ms;
    struct MHD_Daemon *mhd = h->mhd[kind];
    return mhd && (h->resumed[kind] ||
                   (MHD_get_timeout(mhd, &ms) == MHD_YES && ms == 0));
}

static void run_all(struct bj_httpd *h)
{
    for (int k = 0; k < BJ_HTTPD_KINDS; k++)
        if (h->mhd[k])
            MHD_run(h->mhd[k]);
}

int bj_httpd_timeout(const struct bj_httpd *h, uint64_t now_usec)
{
    uint64_t next = h->accept_after ? h->accept_after : UINT64_MAX;
    if (is_due(h, BJ_HTTPD_PLAIN) || is_due(h, BJ_HTTPD_TLS))
        return 0;
    for (enum bj_httpd_phase p = BJ_HTTPD_WAIT; p < BJ_HTTPD_DEAD; p++) {
        const struct bj_httpd_conn *c = oldest(h, p);
        if (c && c->deadline < next)
            next = c->deadline;
    }
    if (is_crowded(h) && h->count[BJ_HTTPD_SEND] > 0) {
        uint64_t stands = oldest(h, BJ_HTTPD_SEND)->since + h->lim.stall_usec;
        next = stands < next ? stands : next;
    }
    if (next == UINT64_MAX)
        return -1;
    uint64_t left = next > now_usec ? (next - now_usec + 999) / 1000 : 0;
    return left > INT_MAX ? INT_MAX : (int)left;
}

/* The process or the machine is out of descriptors or memory: turn out a number
 * of connections, so that it is not one by one that newcomers come in.  With
 * none to turn out, newcomers wait for a while. */
static void scarce(struct bj_httpd *h)
{
    unsigned n = alive(h) / 4 + 1;
    if (n > ACCEPT_ROUND)
        n = ACCEPT_ROUND;
    if (!make_room(h))
        h->accept_after = h->now + ACCEPT_PAUSE_USEC;
    while (--n > 0 && make_room(h))
        ;
}

/* Take one connection.  False when there is none, or no room for it. */
static bool take(struct bj_httpd *h, unsigned i)
{
    int listener = h->listener[i];
    struct sockaddr_storage addr;
    socklen_t len = sizeof(addr);
    bool full = alive(h) >= h->lim.connections;
    if (full && bj_httpd_in_flight(h) >= h->lim.connections)
        return false;
    int fd = accept4(listener, (struct sockaddr *)&addr, &len,
                     SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS &&
            errno != ENOMEM)
            return errno == ECONNABORTED || errno == EINTR;
        scarce(h);
        return false;
    }
    if (full)
        make_room(h);
    bj_httpd_count(&h->stat.connections, 1);
    bool secure = h->web && h->web->tls && !h->adopted[i];
    MHD_add_connection(h->mhd[secure ? BJ_HTTPD_TLS : BJ_HTTPD_PLAIN], fd,
                       (struct sockaddr *)&addr, len);
    return true;
}

static unsigned take_all(struct bj_httpd *h, const struct pollfd *fds, nfds_t n)
{
    unsigned taken = 0;
    for (unsigned i = 0; i + BJ_HTTPD_KINDS < n && i < h->listeners; i++)
        while (fds[i + BJ_HTTPD_KINDS].revents && taken < ACCEPT_ROUND &&
               take(h, i))
            taken++;
    return taken;
}

void bj_httpd_run(struct bj_httpd *h, const struct pollfd *fds, nfds_t n,
                  uint64_t now_usec)
{
    h->now = now_usec;
    if (h->accept_after && h->accept_after <= now_usec)
        h->accept_after = 0;
    /* What has been asked for is served before anybody is turned out. */
    for (unsigned k = 0; k < BJ_HTTPD_KINDS; k++)
        if (h->mhd[k] && ((k < n && fds[k].revents) || is_due(h, k))) {
            h->resumed[k] = false;
            MHD_run(h->mhd[k]);
        }
    unsigned changed = take_all(h, fds, n);
    changed += expire(h);
    if (changed > 0 || h->count[BJ_HTTPD_DEAD] > 0)
        run_all(h);
}

void bj_httpd_drain(struct bj_httpd *h)
{
    struct bj_httpd_conn *c;
    h->draining = true;
    close_listeners(h);
    while ((c = oldest(h, BJ_HTTPD_WAIT)) || (c = oldest(h, BJ_HTTPD_IDLE)))
        bj_httpd_conn_hang_up(c);
    run_all(h);
}

unsigned bj_httpd_busy(const struct bj_httpd *h)
{
    return bj_httpd_in_flight(h);
}

/* The spare buffer with the most room, and the one with the least. */
static struct bj_buf *spare(struct bj_httpd *h, bool most)
{
    struct bj_buf *found = &h->spare[0];
    for (int i = 1; i < BJ_HTTPD_SPARES; i++)
        if (most ? h->spare[i].cap > found->cap : h->spare[i].cap < found->cap)
            found = &h->spare[i];
    return found;
}

struct bj_buf bj_httpd_buf(struct bj_httpd *h, size_t bytes)
{
    struct bj_buf b = {0};
    if (bytes <= h->lim.keep_bytes || bytes > SIZE_MAX / 2) {
        pthread_mutex_lock(&h->spare_lock);
        struct bj_buf *s = spare(h, true);
        b = *s;
        *s = (struct bj_buf){0};
        h->spare_bytes -= b.cap;
        pthread_mutex_unlock(&h->spare_lock);
        return b;
    }
    size_t cap = (bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
    b.p = aligned_alloc(HUGE_BYTES, cap);
    if (b.p) {
        b.cap = cap;
        madvise(b.p, cap, MADV_HUGEPAGE);
    }
    return b;
}

void bj_httpd_buf_return(struct bj_httpd *h, struct bj_buf *b)
{
    if (b->cap <= h->lim.keep_bytes && !b->failed) {
        pthread_mutex_lock(&h->spare_lock);
        struct bj_buf *s = spare(h, false), old = *s;
        if (b->cap > old.cap && h->spare_bytes - old.cap + b->cap <=
                                    SPARE_ROOM * h->lim.keep_bytes) {
            h->spare_bytes += b->cap - old.cap;
            *s = (struct bj_buf){.p = b->p, .cap = b->cap};
            *b = old;
        }
        pthread_mutex_unlock(&h->spare_lock);
    }
    bj_buf_free(b);
}

void bj_httpd_stat(const struct bj_httpd *h, struct bj_httpd_stat *ret)
{
    const struct bj_httpd_stat *s = &h->stat;
    ret->connections = __atomic_load_n(&s->connections, __ATOMIC_RELAXED);
    ret->requests = __atomic_load_n(&s->requests, __ATOMIC_RELAXED);
    ret->refused = __atomic_load_n(&s->refused, __ATOMIC_RELAXED);
    ret->expired = __atomic_load_n(&s->expired, __ATOMIC_RELAXED);
    ret->evicted = __atomic_load_n(&s->evicted, __ATOMIC_RELAXED);
}

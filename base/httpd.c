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

struct bj_httpd_conn *bj_httpd_conn_oldest(struct bj_httpd *h,
                                           enum bj_httpd_phase phase)
{
    struct bj_httpd_link *first = h->list[phase].next;
    return first == &h->list[phase] ? NULL : (struct bj_httpd_conn *)first;
}

static unsigned alive(const struct bj_httpd *h)
{
    return h->count[BJ_HTTPD_WAIT] + h->count[BJ_HTTPD_IDLE] +
           h->count[BJ_HTTPD_SEND];
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
    bj_httpd_conn_move(c, BJ_HTTPD_DEAD);
}

/* Close the connection that has owed us a request for longest.  One that has
 * been idle between two requests for as long is no better: its client connects
 * again.  False when all have a response in flight. */
static bool make_room(struct bj_httpd *h)
{
    struct bj_httpd_conn *c = bj_httpd_conn_oldest(h, BJ_HTTPD_WAIT);
    struct bj_httpd_conn *idle = bj_httpd_conn_oldest(h, BJ_HTTPD_IDLE);
    if (!c || (idle && idle->since < c->since))
        c = idle;
    if (!c)
        return false;
    h->stat.evicted++;
    bj_httpd_conn_hang_up(c);
    return true;
}

static unsigned expire(struct bj_httpd *h)
{
    unsigned n = 0;
    for (enum bj_httpd_phase p = BJ_HTTPD_WAIT; p < BJ_HTTPD_DEAD; p++)
        for (struct bj_httpd_conn *c;
             (c = bj_httpd_conn_oldest(h, p)) && c->deadline <= h->now; n++)
            bj_httpd_conn_hang_up(c);
    h->stat.expired += n;
    return n;
}

static void on_connection(void *ctx, struct MHD_Connection *mhd, void **slot,
                          enum MHD_ConnectionNotificationCode code)
{
    struct bj_httpd *h = ctx;
    struct bj_httpd_conn *c = *slot;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (c) {
            unlink_conn(c);
            bj_buf_free(&c->upload);
        }
        free(c);
        return;
    }
    int fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)
                 ->connect_fd;
    c = calloc(1, sizeof(*c));
    *slot = c;
    if (!c) {
        shutdown(fd, SHUT_RDWR);
        return;
    }
    c->h = h;
    c->fd = fd;
    link_conn(c, BJ_HTTPD_WAIT);
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
static struct MHD_Daemon *start(struct bj_httpd *h)
{
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL,
        bj_httpd_on_request, h, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        h->lim.memory_bytes, MHD_OPTION_CONNECTION_LIMIT,
        h->lim.connections + 2 * ACCEPT_ROUND, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_URI_LOG_CALLBACK, bj_httpd_on_uri, h,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, h,
        MHD_OPTION_NOTIFY_COMPLETED, bj_httpd_on_completed, h, MHD_OPTION_END);
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
    h->mhd = start(h);
    if (!h->mhd) {
        free(h);
        return bj_err_set(err, -ENOMEM, "libmicrohttpd does not start");
    }
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
    MHD_stop_daemon(h->mhd);
    bj_buf_free(&h->spare);
    free(h);
}

int bj_httpd_listen(struct bj_httpd *h, const char *address, struct bj_err *err)
{
    if (h->listeners == BJ_HTTPD_LISTENERS)
        return bj_err_set(err, -ENOSPC, "more than %d addresses to listen on",
                          BJ_HTTPD_LISTENERS);
    int fd = bj_listen_open(address, BACKLOG, err);
    if (fd >= 0)
        h->listener[h->listeners++] = fd;
    return fd;
}

int bj_httpd_adopt(struct bj_httpd *h, int fd, struct bj_err *err)
{
    if (h->listeners == BJ_HTTPD_LISTENERS) {
        close(fd);
        return bj_err_set(err, -ENOSPC, "more than %d addresses to listen on",
                          BJ_HTTPD_LISTENERS);
    }
    h->listener[h->listeners++] = fd;
    return 0;
}

nfds_t bj_httpd_poll(struct bj_httpd *h, struct pollfd *fds)
{
    nfds_t n = 0;
    int epoll = MHD_get_daemon_info(h->mhd, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    fds[n++] = (struct pollfd){.fd = epoll, .events = POLLIN};
    /* With every connection busy, newcomers wait in the backlog. */
    bool full = h->count[BJ_HTTPD_SEND] >= h->lim.connections;
    for (unsigned i = 0; i < h->listeners; i++)
        fds[n++] =
            (struct pollfd){.fd = full || h->accept_after ? -1 : h->listener[i],
                            .events = POLLIN};
    return n;
}

int bj_httpd_timeout(const struct bj_httpd *h, uint64_t now_usec)
{
    MHD_UNSIGNED_LONG_LONG ms;
    uint64_t next = h->accept_after ? h->accept_after : UINT64_MAX;
    if (MHD_get_timeout(h->mhd, &ms) == MHD_YES && ms == 0)
        return 0;
    for (enum bj_httpd_phase p = BJ_HTTPD_WAIT; p < BJ_HTTPD_DEAD; p++) {
        const struct bj_httpd_conn *c =
            (const struct bj_httpd_conn *)h->list[p].next;
        if (h->count[p] > 0 && c->deadline < next)
            next = c->deadline;
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
static bool take(struct bj_httpd *h, int listener)
{
    struct sockaddr_storage addr;
    socklen_t len = sizeof(addr);
    bool full = alive(h) >= h->lim.connections;
    if (full && h->count[BJ_HTTPD_SEND] >= h->lim.connections)
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
    h->stat.connections++;
    MHD_add_connection(h->mhd, fd, (struct sockaddr *)&addr, len);
    return true;
}

static unsigned take_all(struct bj_httpd *h, const struct pollfd *fds, nfds_t n)
{
    unsigned taken = 0;
    for (nfds_t i = 1; i < n && i <= h->listeners; i++)
        while (fds[i].revents && taken < ACCEPT_ROUND &&
               take(h, h->listener[i - 1]))
            taken++;
    return taken;
}

void bj_httpd_run(struct bj_httpd *h, const struct pollfd *fds, nfds_t n,
                  uint64_t now_usec)
{
    MHD_UNSIGNED_LONG_LONG ms;
    h->now = now_usec;
    if (h->accept_after && h->accept_after <= now_usec)
        h->accept_after = 0;
    /* What has been asked for is served before anybody is turned out. */
    if ((n > 0 && fds[0].revents) ||
        (MHD_get_timeout(h->mhd, &ms) == MHD_YES && ms == 0))
        MHD_run(h->mhd);
    unsigned changed = take_all(h, fds, n);
    changed += expire(h);
    if (changed > 0 || h->count[BJ_HTTPD_DEAD] > 0)
        MHD_run(h->mhd);
}

void bj_httpd_drain(struct bj_httpd *h)
{
    struct bj_httpd_conn *c;
    h->draining = true;
    close_listeners(h);
    while ((c = bj_httpd_conn_oldest(h, BJ_HTTPD_WAIT)) ||
           (c = bj_httpd_conn_oldest(h, BJ_HTTPD_IDLE)))
        bj_httpd_conn_hang_up(c);
    MHD_run(h->mhd);
}

unsigned bj_httpd_busy(const struct bj_httpd *h)
{
    return h->count[BJ_HTTPD_SEND];
}

struct bj_buf bj_httpd_buf(struct bj_httpd *h, size_t bytes)
{
    struct bj_buf b = {0};
    if (bytes <= h->lim.keep_bytes || bytes > SIZE_MAX / 2) {
        b = h->spare;
        h->spare = (struct bj_buf){0};
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
    if (b->cap > h->spare.cap && b->cap <= h->lim.keep_bytes && !b->failed) {
        bj_buf_free(&h->spare);
        h->spare = (struct bj_buf){.p = b->p, .cap = b->cap};
        *b = (struct bj_buf){0};
    }
    bj_buf_free(b);
}

void bj_httpd_stat(const struct bj_httpd *h, struct bj_httpd_stat *ret)
{
    *ret = h->stat;
}

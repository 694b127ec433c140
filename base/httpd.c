#include "base/httpd.h"

#include "base/clock.h"
#include "base/httpd_conn.h"

#include "base/listen.h"
#include "base/log.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    ACCEPT_ROUND = 32, /* connections accepted before others are served */
    ROUNDS = 3,        /* of the library, before others are served */
    ACCEPT_PAUSE_USEC = 100 * 1000, /* after lack of descriptors */
};

/* --- connections ----------------------------------------------------------*/

/* Do requests wait for memory that responses occupy? */
static bool is_crowded(const struct bj_httpd *h)
{
    return h->count[BJ_HTTPD_WORK] > 0 && !bj_httpd_room(h, h->lim.room_bytes);
}

static unsigned expire(struct bj_httpd *h)
{
    unsigned n = 0;
    while (is_crowded(h) && bj_httpd_evict_stalled(h))
        ;
    for (enum bj_httpd_phase p = BJ_HTTPD_WAIT; p < BJ_HTTPD_CLOSED; p++)
        for (struct bj_httpd_conn *c;
             (c = bj_httpd_oldest(h, p)) && c->deadline <= h->now; n++)
            bj_httpd_conn_hang_up(c);
    bj_httpd_count(&h->stat.expired, n);
    return n;
}

static void on_connection(void *ctx, struct MHD_Connection *mhd, void **slot,
                          enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        bj_httpd_conn_free(*slot);
        return;
    }
    int fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)
                 ->connect_fd;
    struct bj_httpd_conn *c = NULL;
    const struct sockaddr *address =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS)
            ->client_addr;
    if (bj_httpd_conn_new(ctx, mhd, fd, address, &c) < 0)
        shutdown(fd, SHUT_RDWR);
    else if (bj_httpd_tls_begin(c) < 0)
        bj_httpd_conn_hang_up(c);
    *slot = c;
}

/* --- the server -----------------------------------------------------------*/

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
    preset(&l->work_usec, l->send_usec);
    preset(&l->stream_usec, 660 * 1000000);
    preset(&l->stall_usec, 2 * 1000000);
    l->connections = l->connections ? l->connections : 256;
    l->backlog = l->backlog ? l->backlog : 128;
    l->responses = l->responses ? l->responses : 40;
    l->body_bytes = l->body_bytes ? l->body_bytes : 4096;
    l->memory_bytes = l->memory_bytes ? l->memory_bytes : 16 * 1024;
    l->keep_bytes = l->keep_bytes ? l->keep_bytes : 512 * 1024;
}

/* This file accepts connections and passes them to the library: the library
 * itself can only stop accepting at a limit, and spins when the process is out
 * of descriptors. */
static struct MHD_Daemon *httpd_start(struct bj_httpd *h, unsigned kind)
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
        /* Without TLS the list ends here. */
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
    if (getrandom(&h->place_seed, sizeof(h->place_seed), 0) < 0)
        h->place_seed = (uint64_t)(uintptr_t)h;
    for (enum bj_httpd_phase p = BJ_HTTPD_WAIT; p < BJ_HTTPD_PHASES; p++)
        h->list[p] = (struct bj_httpd_link){&h->list[p], &h->list[p]};
    if (h->lim.connections <= h->lim.responses) {
        free(h);
        return bj_err_set(err, -EINVAL,
                          "an HTTP server needs more connections than "
                          "responses in flight");
    }
    h->mhd[BJ_HTTPD_PLAIN] = httpd_start(h, BJ_HTTPD_PLAIN);
    if (!h->mhd[BJ_HTTPD_PLAIN]) {
        free(h);
        return bj_err_set(err, -ENOMEM, "cannot start libmicrohttpd");
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
    int fd = bj_listen_open(address, (int)h->lim.backlog, err);
    if (fd >= 0) {
        h->adopted[h->listeners] = false;
        h->listener[h->listeners++] = fd;
    }
    return fd;
}

int bj_httpd_listen_all(struct bj_httpd *h, const char *option,
                        const struct bj_strv *addresses, const char *before,
                        const char *after, struct bj_err *err)
{
    char name[BJ_ADDRESS_MAX];
    for (size_t i = 0; i < addresses->n; i++) {
        int fd = bj_httpd_listen(h, addresses->v[i], err);
        if (fd < 0)
            return bj_err_wrap(err, fd, "%s", option);
        bj_log(BJ_LOG_INFO, NULL, "%s %s%s", before, bj_listen_name(fd, name),
               after);
    }
    return 0;
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

void bj_httpd_admit(struct bj_httpd *h,
                    unsigned (*admit)(void *ctx,
                                      const struct bj_http_request *req))
{
    h->admit = admit;
}

int bj_httpd_configure(struct bj_httpd *h, struct bj_web *web,
                       struct bj_err *err)
{
    if (web->tls && !h->mhd[BJ_HTTPD_TLS]) {
        if (MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES ||
            MHD_is_feature_supported(MHD_FEATURE_HTTPS_CERT_CALLBACK) !=
                MHD_YES)
            return bj_err_set(err, -ENOSYS, "libmicrohttpd has no TLS");
        h->mhd[BJ_HTTPD_TLS] = httpd_start(h, BJ_HTTPD_TLS);
        if (!h->mhd[BJ_HTTPD_TLS])
            return bj_err_set(err, -ENOMEM, "cannot start TLS");
    }
    bj_web_ref(web);
    bj_web_unref(h->web);
    h->web = web;
    return 0;
}

static unsigned alive(const struct bj_httpd *h)
{
    return h->count[BJ_HTTPD_WAIT] + h->count[BJ_HTTPD_IDLE] +
           bj_httpd_in_flight(h);
}

/* Is no connection left for a new client?  Then it waits in the backlog. */
static bool is_occupied(const struct bj_httpd *h)
{
    return alive(h) >= h->lim.connections && !bj_httpd_evictable(h);
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
    bool full = is_occupied(h);
    for (unsigned i = 0; i < h->listeners; i++)
        fds[n++] =
            (struct pollfd){.fd = full || h->accept_after ? -1 : h->listener[i],
                            .events = POLLIN};
    return n;
}

/* Does the library have work that no descriptor reports? */
static bool has_work(const struct bj_httpd *h, unsigned kind)
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
    if (has_work(h, BJ_HTTPD_PLAIN) || has_work(h, BJ_HTTPD_TLS))
        return 0;
    for (enum bj_httpd_phase p = BJ_HTTPD_WAIT; p < BJ_HTTPD_CLOSED; p++) {
        const struct bj_httpd_conn *c = bj_httpd_oldest(h, p);
        if (c && c->deadline < next)
            next = c->deadline;
    }
    if (is_crowded(h) && h->count[BJ_HTTPD_SEND] > 0) {
        uint64_t stalled =
            bj_httpd_oldest(h, BJ_HTTPD_SEND)->since + h->lim.stall_usec;
        next = stalled < next ? stalled : next;
    }
    const struct bj_httpd_conn *held = bj_httpd_oldest(h, BJ_HTTPD_WAIT);
    if (held && is_occupied(h) && held->since + h->lim.hold_usec < next)
        next = held->since + h->lim.hold_usec;
    if (next == UINT64_MAX)
        return -1;
    uint64_t left = next > now_usec ? (next - now_usec + 999) / 1000 : 0;
    return left > INT_MAX ? INT_MAX : (int)left;
}

/* The process or the machine is out of descriptors or memory: close a quarter
 * of the connections at once, so that new ones need not wait for one slot each.
 * When none can be closed, accepting pauses. */
static void relieve(struct bj_httpd *h)
{
    unsigned n = alive(h) / 4 + 1;
    if (n > ACCEPT_ROUND)
        n = ACCEPT_ROUND;
    if (!bj_httpd_evict_waiting(h))
        h->accept_after = h->now + ACCEPT_PAUSE_USEC;
    while (--n > 0 && bj_httpd_evict_waiting(h))
        ;
}

/* Accept one connection.  False when there is none, or no room for it. */
static bool accept_one(struct bj_httpd *h, unsigned i)
{
    int listener = h->listener[i];
    struct sockaddr_storage addr;
    socklen_t len = sizeof(addr);
    bool full = alive(h) >= h->lim.connections;
    if (is_occupied(h))
        return false;
    int fd = accept4(listener, (struct sockaddr *)&addr, &len,
                     SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS &&
            errno != ENOMEM)
            return errno == ECONNABORTED || errno == EINTR;
        relieve(h);
        return false;
    }
    bj_httpd_count(&h->stat.connections, 1);
    if (full && !bj_httpd_evict_for(h, (const struct sockaddr *)&addr)) {
        bj_httpd_count(&h->stat.evicted, 1);
        close(fd);
        return true;
    }
    bool secure = h->web && h->web->tls && !h->adopted[i];
    MHD_add_connection(h->mhd[secure ? BJ_HTTPD_TLS : BJ_HTTPD_PLAIN], fd,
                       (struct sockaddr *)&addr, len);
    return true;
}

static unsigned accept_all(struct bj_httpd *h, const struct pollfd *fds,
                           nfds_t n)
{
    unsigned done = 0;
    for (unsigned i = 0; i + BJ_HTTPD_KINDS < n && i < h->listeners; i++)
        while (fds[i + BJ_HTTPD_KINDS].revents && done < ACCEPT_ROUND &&
               accept_one(h, i))
            done++;
    return done;
}

int bj_httpd_wait(struct bj_httpd *h, struct pollfd *fds, nfds_t own, int ms,
                  nfds_t *ret_n)
{
    const nfds_t n = own + (*ret_n = bj_httpd_poll(h, fds + own));
    const int until = bj_httpd_timeout(h, bj_clock_boot_usec());
    if (ms < 0 || (until >= 0 && until < ms))
        ms = until;
    return poll(fds, n, ms) < 0 && errno != EINTR ? -errno : 0;
}

void bj_httpd_run(struct bj_httpd *h, const struct pollfd *fds, nfds_t n,
                  uint64_t now_usec)
{
    h->now = now_usec;
    if (h->accept_after && h->accept_after <= now_usec)
        h->accept_after = 0;
    /* Requests that have arrived are served before connections are closed. */
    for (unsigned k = 0; k < BJ_HTTPD_KINDS; k++) {
        bool due = h->mhd[k] && k < n && fds[k].revents;
        for (int i = 0; i < ROUNDS && (due || has_work(h, k)); i++) {
            h->resumed[k] = due = false;
            MHD_run(h->mhd[k]);
        }
    }
    unsigned changed = accept_all(h, fds, n);
    changed += expire(h);
    if (changed > 0 || h->count[BJ_HTTPD_CLOSED] > 0)
        run_all(h);
}

void bj_httpd_drain(struct bj_httpd *h)
{
    struct bj_httpd_conn *c;
    h->draining = true;
    close_listeners(h);
    while ((c = bj_httpd_oldest(h, BJ_HTTPD_WAIT)) ||
           (c = bj_httpd_oldest(h, BJ_HTTPD_IDLE)))
        bj_httpd_conn_hang_up(c);
    run_all(h);
}

unsigned bj_httpd_busy(const struct bj_httpd *h)
{
    return bj_httpd_in_flight(h);
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

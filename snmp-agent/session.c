#include "snmp-agent/session.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/version.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    WAITING = 64, /* notifications */
    READ_BYTES = 16 * 1024,
    OUT_BYTES = 1 << 23, /* more that the master does not read is a fault */
    KEEP_BYTES = 64 * 1024,
    RETRY_USEC = 1000000, /* after the first failure; it grows by as much ... */
    RETRY_MAX = 3,        /* ... up to three times as much */
    PRIORITY = 127,       /* of the registration: RFC 2741's default */
    SHUTDOWN = 5          /* reason of Close */
};

enum session_state {
    SESSION_CLOSED, /* until retry_usec */
    SESSION_CONNECTING,
    SESSION_OPENING,
    SESSION_REGISTERING,
    SESSION_READY
};

struct bj_session {
    const struct bj_session_conf *conf;
    const struct bj_oid *base;
    struct bj_snmp_view *view;
    bool only_open; /* bj_session_try: no registration */
    struct bj_thread thread;
    atomic_bool stop;
    enum session_state state;
    int fd;
    uint32_t id, packet;   /* of the session; of the last request sent */
    uint64_t retry_usec;   /* boot clock */
    uint64_t reply_usec;   /* when a reply is overdue; 0: none is expected */
    uint64_t stall_usec;   /* when unfinished bytes are overdue; 0: none */
    uint64_t heard_usec;   /* when the last PDU came */
    unsigned failures;     /* since the session was ready */
    bool refused;          /* a refused notification was logged */
    struct bj_buf in, out; /* out: from sent on */
    size_t sent;
    pthread_mutex_t lock; /* for the rest */
    struct bj_buf queue[WAITING];
    size_t waiting;
};

/* --- addresses -------------------------------------------------------------*/

union session_address {
    struct sockaddr sa;
    struct sockaddr_un local;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* "127.0.0.1:705", "[::1]:705" or "localhost:705". */
static bool loopback(struct bj_slice text, union session_address *a,
                     socklen_t *ret_n)
{
    char host[INET6_ADDRSTRLEN];
    const char *colon = text.n > 0 ? memrchr(text.p, ':', text.n) : NULL;
    uint64_t port;
    if (!colon)
        return false;
    struct bj_slice name = {text.p, (size_t)(colon - text.p)};
    const struct bj_slice number = {colon + 1, text.n - name.n - 1};
    const bool v6 = name.n > 2 && name.p[0] == '[' && name.p[name.n - 1] == ']';
    if (v6)
        name = (struct bj_slice){name.p + 1, name.n - 2};
    if (bj_slice_eq(name, BJ_SLICE("localhost")))
        name = BJ_SLICE("127.0.0.1");
    if (bj_slice_u64(number, &port) < 0 || port == 0 || port > 65535 ||
        name.n >= sizeof(host))
        return false;
    snprintf(host, sizeof(host), "%.*s", (int)name.n, name.p);
    if (v6) {
        a->v6.sin6_family = AF_INET6;
        a->v6.sin6_port = htons((uint16_t)port);
        *ret_n = sizeof(a->v6);
        return inet_pton(AF_INET6, host, &a->v6.sin6_addr) == 1 &&
               IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
    }
    a->v4.sin_family = AF_INET;
    a->v4.sin_port = htons((uint16_t)port);
    *ret_n = sizeof(a->v4);
    return inet_pton(AF_INET, host, &a->v4.sin_addr) == 1 &&
           ntohl(a->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

/* Parse the option agentx.socket. */
static int address_of(const char *text, union session_address *a,
                      socklen_t *ret_n, struct bj_err *err)
{
    const struct bj_slice s = bj_slice_str(text);
    memset(a, 0, sizeof(*a));
    if (s.n > 0 && s.p[0] == '/' && s.n < sizeof(a->local.sun_path)) {
        a->local.sun_family = AF_UNIX;
        memcpy(a->local.sun_path, s.p, s.n);
        *ret_n = sizeof(a->local);
        return 0;
    }
    if (bj_slice_starts(s, BJ_SLICE("tcp:")) &&
        loopback((struct bj_slice){s.p + 4, s.n - 4}, a, ret_n))
        return 0;
    return bj_err_set(err, -EINVAL,
                      "'%.80s' is neither the path of a socket (up to %zu "
                      "bytes) nor tcp:HOST:PORT with a loopback address, such "
                      "as tcp:127.0.0.1:705",
                      text, sizeof(a->local.sun_path) - 1);
}

int bj_session_check(const char *socket, struct bj_err *err)
{
    union session_address a;
    socklen_t n;
    return address_of(socket, &a, &n, err);
}

/* --- states ----------------------------------------------------------------*/

static void hang_up(struct bj_session *s)
{
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
    s->state = SESSION_CLOSED;
    bj_buf_reset(&s->in);
    bj_buf_reset(&s->out);
    s->sent = 0;
    s->reply_usec = s->stall_usec = 0;
}

/* End the connection, and connect again later.  Logs the first failure. */
static void session_fail(struct bj_session *s, const struct bj_err *err,
                         uint64_t now)
{
    hang_up(s);
    if (s->failures++ == 0)
        bj_log(BJ_LOG_WARN, err,
               "no session with the master agent at %s; trying again",
               s->conf->socket);
    s->retry_usec =
        now + RETRY_USEC *
                  (uint64_t)(s->failures < RETRY_MAX ? s->failures : RETRY_MAX);
}

/* A request is sent: its reply is expected. */
static size_t session_ask(struct bj_session *s, enum bj_pdu_type type,
                          uint64_t now)
{
    s->reply_usec = now + s->conf->timeout_usec;
    return bj_pdu_begin(&s->out, type, s->id, 0, ++s->packet);
}

static void session_open(struct bj_session *s, uint64_t now)
{
    static const struct bj_oid null;
    char text[80];
    s->state = SESSION_OPENING;
    s->id = 0;
    size_t at = session_ask(s, BJ_PDU_OPEN, now);
    bj_pdu_put_u32(&s->out, 0); /* the master's own time limit */
    bj_pdu_put_oid(&s->out, &null);
    snprintf(text, sizeof(text), "batchjob_snmp %s", bj_version);
    bj_pdu_put_text(&s->out, bj_slice_str(text));
    bj_pdu_end(&s->out, at);
}

static void session_register(struct bj_session *s, uint64_t now)
{
    s->state = SESSION_REGISTERING;
    size_t at = session_ask(s, BJ_PDU_REGISTER, now);
    bj_pdu_put_u32(&s->out, PRIORITY << 16);
    bj_pdu_put_oid(&s->out, s->base);
    bj_pdu_end(&s->out, at);
}

static void session_ping(struct bj_session *s, uint64_t now)
{
    bj_pdu_end(&s->out, session_ask(s, BJ_PDU_PING, now));
}

static void session_ready(struct bj_session *s)
{
    s->state = SESSION_READY;
    s->failures = 0;
    s->refused = false;
    bj_log(BJ_LOG_INFO, NULL, "connected to the master agent at %s",
           s->conf->socket);
}

static int session_connect(struct bj_session *s, uint64_t now,
                           struct bj_err *err)
{
    union session_address a;
    socklen_t n;
    int r = address_of(s->conf->socket, &a, &n, err);
    if (r < 0)
        return r;
    s->fd =
        socket(a.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->fd < 0)
        return bj_err_set(err, -errno, "socket");
    if (connect(s->fd, &a.sa, n) == 0) {
        session_open(s, now);
        return 0;
    }
    if (errno != EINPROGRESS)
        return bj_err_set(err, -errno, "connect");
    s->state = SESSION_CONNECTING;
    s->reply_usec = now + s->conf->timeout_usec;
    return 0;
}

static int session_connected(struct bj_session *s, uint64_t now,
                             struct bj_err *err)
{
    int why = 0;
    socklen_t n = sizeof(why);
    if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &why, &n) < 0)
        why = errno;
    if (why)
        return bj_err_set(err, -why, "connect");
    session_open(s, now);
    return 0;
}

/* --- replies of the master -------------------------------------------------*/

static const char *master_error(uint16_t error)
{
    static const struct {
        uint16_t error;
        const char *text;
    } known[] = {
        {256, "openFailed: the master opens no session"},
        {257, "notOpen: the master has forgotten the session"},
        {263, "duplicateRegistration: another agent has this MIB"},
        {266, "parseError"},
        {267, "requestDenied"},
        {268, "processingError"},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].error == error)
            return known[i].text;
    return "an error of AgentX";
}

/* The reply to the newest request, or to a notification. */
static int take_response(struct bj_session *s, const struct bj_pdu *pdu,
                         const unsigned char *payload, uint64_t now,
                         struct bj_err *err)
{
    enum { NOT_OPEN = 257 };
    uint16_t error;
    if (bj_pdu_response(pdu, payload, &error) < 0)
        return bj_err_set(err, -EPROTO, "a Response that is too short");
    if (s->state == SESSION_READY && error && error != NOT_OPEN) {
        if (!s->refused)
            bj_log(BJ_LOG_WARN, NULL, "the master refused a notification: %s",
                   master_error(error));
        s->refused = true;
        return 0;
    }
    if (error)
        return bj_err_set(err, -EPROTO, "%s (%u)", master_error(error), error);
    if (pdu->packet != s->packet)
        return 0;
    s->reply_usec = 0;
    if (s->state == SESSION_OPENING) {
        s->id = pdu->session;
        if (s->only_open)
            s->state = SESSION_READY;
        else
            session_register(s, now);
    } else if (s->state == SESSION_REGISTERING) {
        session_ready(s);
    }
    return 0;
}

static int take_pdu(struct bj_session *s, const struct bj_pdu *pdu,
                    const unsigned char *payload, uint64_t now,
                    struct bj_err *err)
{
    s->heard_usec = now;
    if (pdu->type == BJ_PDU_RESPONSE)
        return take_response(s, pdu, payload, now, err);
    if (pdu->type == BJ_PDU_CLOSE)
        return bj_err_set(err, -ECONNRESET, "the master closed the session");
    if (!s->view)
        return bj_err_set(err, -EPROTO, "a request before the registration");
    const struct bj_objects objects = bj_snmp_view_begin(s->view);
    int r = bj_pdu_answer(pdu, payload, s->id, &objects, &s->out, err);
    bj_snmp_view_end(s->view);
    return r;
}

/* Take all complete PDUs of the input. */
static int take_input(struct bj_session *s, uint64_t now, struct bj_err *err)
{
    struct bj_pdu pdu;
    size_t at = 0;
    int r = 0;
    while (r == 0 && s->in.len - at >= BJ_PDU_HEADER) {
        const unsigned char *head = (const unsigned char *)s->in.p + at;
        r = bj_pdu_read(head, &pdu, err);
        if (r < 0 || s->in.len - at - BJ_PDU_HEADER < pdu.length)
            break;
        r = take_pdu(s, &pdu, head + BJ_PDU_HEADER, now, err);
        at += BJ_PDU_HEADER + pdu.length;
    }
    if (at > 0) {
        s->in.len -= at;
        memmove(s->in.p, s->in.p + at, s->in.len);
        s->stall_usec = 0;
    }
    return r;
}

/* --- bytes -----------------------------------------------------------------*/

static int session_receive(struct bj_session *s, uint64_t now,
                           struct bj_err *err)
{
    if (!bj_buf_room(&s->in, READ_BYTES))
        return bj_err_set(err, -ENOMEM, "input");
    ssize_t n = recv(s->fd, s->in.p + s->in.len, READ_BYTES, 0);
    if (n == 0)
        return bj_err_set(err, -ECONNRESET, "the master closed the connection");
    if (n < 0)
        return errno == EAGAIN || errno == EINTR
                   ? 0
                   : bj_err_set(err, -errno, "receive");
    s->in.len += (size_t)n;
    return take_input(s, now, err);
}

static int session_send(struct bj_session *s, struct bj_err *err)
{
    if (s->out.failed)
        return bj_err_set(err, -ENOMEM, "output");
    while (s->sent < s->out.len) {
        ssize_t n =
            send(s->fd, s->out.p + s->sent, s->out.len - s->sent, MSG_NOSIGNAL);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (n < 0)
            return bj_err_set(err, -errno, "send");
        s->sent += (size_t)n;
        s->stall_usec = 0;
    }
    if (s->sent == s->out.len)
        s->sent = s->out.len = 0;
    if (s->out.len - s->sent > OUT_BYTES)
        return bj_err_set(err, -EPROTO, "the master does not read responses");
    return 0;
}

/* Append the notifications that wait. */
static void put_notifications(struct bj_session *s, uint64_t now)
{
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->waiting; i++) {
        size_t at = session_ask(s, BJ_PDU_NOTIFY, now);
        bj_buf_put(&s->out, s->queue[i].p, s->queue[i].len);
        bj_pdu_end(&s->out, at);
        bj_buf_free(&s->queue[i]);
    }
    s->waiting = 0;
    pthread_mutex_unlock(&s->lock);
}

bool bj_session_notify(struct bj_session *s, struct bj_buf variables)
{
    pthread_mutex_lock(&s->lock);
    bool taken = !variables.failed && s->waiting < WAITING;
    if (taken)
        s->queue[s->waiting++] = variables;
    pthread_mutex_unlock(&s->lock);
    if (taken)
        bj_thread_wake(&s->thread);
    else
        bj_buf_free(&variables);
    return taken;
}

/* --- the thread ------------------------------------------------------------*/

/* What is due by the clock. */
static int session_due(struct bj_session *s, uint64_t now, struct bj_err *err)
{
    if (s->state == SESSION_CLOSED)
        return s->retry_usec <= now ? session_connect(s, now, err) : 0;
    if (s->state == SESSION_READY)
        put_notifications(s, now);
    if (s->reply_usec && s->reply_usec <= now)
        return bj_err_set(err, -ETIMEDOUT, "the master does not answer");
    if (s->stall_usec && s->stall_usec <= now)
        return bj_err_set(err, -ETIMEDOUT,
                          "the master sends or reads only part of a PDU");
    if (s->state == SESSION_READY && !s->reply_usec &&
        s->heard_usec + s->conf->ping_usec <= now)
        session_ping(s, now);
    return 0;
}

/* When something is due. */
static uint64_t session_next(const struct bj_session *s)
{
    uint64_t next = s->retry_usec;
    if (s->state == SESSION_CLOSED)
        return next;
    next = s->state == SESSION_READY && !s->reply_usec
               ? s->heard_usec + s->conf->ping_usec
               : UINT64_MAX;
    if (s->reply_usec && s->reply_usec < next)
        next = s->reply_usec;
    return s->stall_usec && s->stall_usec < next ? s->stall_usec : next;
}

/* Wait for the socket, the clock or a wake-up, and do what is due. */
static int session_round(struct bj_session *s, struct bj_err *err)
{
    uint64_t now = bj_clock_boot_usec(), count;
    int r = session_due(s, now, err);
    if (r == 0 && s->state > SESSION_CONNECTING)
        r = session_send(s, err);
    if (r < 0)
        return r;
    const bool sending = s->state == SESSION_CONNECTING || s->sent < s->out.len;
    if (!s->stall_usec && (s->in.len > 0 || s->sent < s->out.len))
        s->stall_usec = now + s->conf->timeout_usec;
    const uint64_t next = session_next(s);
    const uint64_t ms = next > now ? (next - now + 999) / 1000 : 0;
    struct pollfd fds[] = {
        {.fd = s->thread.opened ? s->thread.wake_fd : -1, .events = POLLIN},
        {.fd = s->fd, .events = sending ? POLLIN | POLLOUT : POLLIN}};
    if (poll(fds, 2, ms > 3600000 ? 3600000 : (int)ms) < 0 && errno != EINTR)
        return bj_err_set(err, -errno, "poll");
    now = bj_clock_boot_usec();
    if (fds[0].revents && read(fds[0].fd, &count, sizeof(count)) < 0)
        return 0;
    if (s->fd < 0 || !fds[1].revents)
        return 0;
    if (s->state == SESSION_CONNECTING)
        return session_connected(s, now, err);
    return fds[1].revents & ~POLLOUT ? session_receive(s, now, err) : 0;
}

/* Large buffers are for large responses only. */
static void session_trim(struct bj_session *s)
{
    if (s->out.len == 0 && s->out.cap > KEEP_BYTES)
        bj_buf_free(&s->out);
    if (s->in.len == 0 && s->in.cap > KEEP_BYTES)
        bj_buf_free(&s->in);
}

static void *session_thread(void *arg)
{
    struct bj_session *s = arg;
    while (!atomic_load(&s->stop)) {
        struct bj_err err = {0};
        if (session_round(s, &err) < 0)
            session_fail(s, &err, bj_clock_boot_usec());
        session_trim(s);
    }
    return NULL;
}

/* Say good-bye, without waiting. */
static void session_close(struct bj_session *s)
{
    struct bj_err err;
    if (s->state == SESSION_READY) {
        size_t at = session_ask(s, BJ_PDU_CLOSE, 0);
        bj_pdu_put_u32(&s->out, (uint32_t)SHUTDOWN << 24);
        bj_pdu_end(&s->out, at);
        session_send(s, &err);
    }
    hang_up(s);
    bj_buf_free(&s->in);
    bj_buf_free(&s->out);
}

int bj_session_start(const struct bj_session_conf *conf,
                     const struct bj_oid *base, struct bj_snmp_view *view,
                     struct bj_session **ret, struct bj_err *err)
{
    struct bj_session *s = calloc(1, sizeof(*s));
    if (!s)
        return bj_err_set(err, -ENOMEM, "session");
    *s =
        (struct bj_session){.conf = conf, .base = base, .view = view, .fd = -1};
    pthread_mutex_init(&s->lock, NULL);
    int r = bj_thread_start(&s->thread, "AgentX", session_thread, s, err);
    if (r < 0) {
        bj_session_free(s);
        return r;
    }
    *ret = s;
    return 0;
}

void bj_session_free(struct bj_session *s)
{
    if (!s)
        return;
    atomic_store(&s->stop, true);
    bj_thread_free(&s->thread);
    session_close(s);
    for (size_t i = 0; i < s->waiting; i++)
        bj_buf_free(&s->queue[i]);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

int bj_session_try(const struct bj_session_conf *conf, struct bj_err *err)
{
    struct bj_session s = {.conf = conf, .fd = -1, .only_open = true};
    int r = 0;
    pthread_mutex_init(&s.lock, NULL);
    while (r == 0 && s.state != SESSION_READY)
        r = session_round(&s, err);
    session_close(&s);
    pthread_mutex_destroy(&s.lock);
    return r;
}

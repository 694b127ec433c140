/* Connections of the HTTP server: their phases, which one is closed to make
 * room, and the buffers of responses. */
#include "base/httpd_conn.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/listen.h"
#include "base/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>

enum {
    HUGE_BYTES = 2 * 1024 * 1024, /* a huge page on most machines */
    SPARE_ROOM = 6,               /* kept buffers of the largest size */
};

/* --- phases ---------------------------------------------------------------*/

/* The place of an address; addresses rarely share one, and clients cannot know
 * which do. */
static unsigned httpd_conn_place_of(const struct bj_httpd *h,
                                    const struct sockaddr *a)
{
    size_t network;
    struct bj_slice s = bj_listen_client(a, &network);
    s.n = s.n > network && s.n > 4 ? network : s.n;
    return (unsigned)(bj_hash(h->place_seed, s) >> 40) % BJ_HTTPD_PLACES;
}

static bool is_beyond(const struct bj_httpd *h, unsigned place)
{
    return h->lim.waiting > 0 && h->waiting[place] > h->lim.waiting;
}

static void count_waiting(struct bj_httpd_conn *c, bool more)
{
    struct bj_httpd *h = c->h;
    const bool was = is_beyond(h, c->place);
    if (c->phase != BJ_HTTPD_WAIT)
        return;
    if (more)
        h->waiting[c->place]++;
    else
        h->waiting[c->place]--;
    const bool is = is_beyond(h, c->place);
    if (is && !was)
        h->crowds++;
    else if (was && !is)
        h->crowds--;
}

static void leave_phase(struct bj_httpd_conn *c)
{
    count_waiting(c, false);
    c->link.prev->next = c->link.next;
    c->link.next->prev = c->link.prev;
    c->h->count[c->phase]--;
}

static void enter_phase(struct bj_httpd_conn *c, enum bj_httpd_phase to)
{
    static const size_t spans[BJ_HTTPD_PHASES] = {
        [BJ_HTTPD_WAIT] = offsetof(struct bj_http_limits, request_usec),
        [BJ_HTTPD_IDLE] = offsetof(struct bj_http_limits, idle_usec),
        [BJ_HTTPD_WORK] = offsetof(struct bj_http_limits, work_usec),
        [BJ_HTTPD_STREAM] = offsetof(struct bj_http_limits, stream_usec),
        [BJ_HTTPD_SEND] = offsetof(struct bj_http_limits, send_usec),
    };
    struct bj_httpd *h = c->h;
    struct bj_httpd_link *end = &h->list[to];
    if (to != BJ_HTTPD_CLOSED) {
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
    count_waiting(c, true);
}

void bj_httpd_conn_move(struct bj_httpd_conn *c, enum bj_httpd_phase to)
{
    leave_phase(c);
    enter_phase(c, to);
}

int bj_httpd_conn_new(struct bj_httpd *h, struct MHD_Connection *mhd, int fd,
                      const struct sockaddr *address,
                      struct bj_httpd_conn **ret)
{
    struct bj_httpd_conn *c = calloc(1, sizeof(*c));
    if (!c)
        return -ENOMEM;
    c->h = h;
    c->mhd = mhd;
    c->fd = fd;
    c->address = address;
    c->place = httpd_conn_place_of(h, address);
    enter_phase(c, BJ_HTTPD_WAIT);
    *ret = c;
    return 0;
}

void bj_httpd_conn_resume(struct bj_httpd_conn *c)
{
    c->suspended = false;
    c->h->resumed[c->tls ? BJ_HTTPD_TLS : BJ_HTTPD_PLAIN] = true;
    MHD_resume_connection(c->mhd);
}

void bj_httpd_conn_free(struct bj_httpd_conn *c)
{
    if (!c)
        return;
    if (c->response)
        MHD_destroy_response(c->response);
    leave_phase(c);
    bj_httpd_forget_body(c);
    bj_httpd_tls_end(c);
    free(c);
}

void bj_httpd_forget_body(struct bj_httpd_conn *c)
{
    bj_buf_free(&c->upload);
    c->h->bodies_bytes -= c->announced;
    c->announced = 0;
}

struct bj_httpd_conn *bj_httpd_oldest(const struct bj_httpd *h,
                                      enum bj_httpd_phase phase)
{
    struct bj_httpd_link *first = h->list[phase].next;
    return first == &h->list[phase] ? NULL : (struct bj_httpd_conn *)first;
}

/* --- closing --------------------------------------------------------------*/

/* The library notices the shutdown in its next run and frees everything.  A
 * response that the client does not read is reset, or the kernel would keep the
 * rest of it for minutes. */
void bj_httpd_conn_hang_up(struct bj_httpd_conn *c)
{
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    if (c->phase == BJ_HTTPD_SEND || c->phase == BJ_HTTPD_STREAM)
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    shutdown(c->fd, SHUT_RDWR);
    /* Its memory is freed soon. */
    __atomic_sub_fetch(&c->h->flight_bytes, c->counted, __ATOMIC_RELAXED);
    c->counted = 0;
    __atomic_store_n(&c->client_gone, true, __ATOMIC_RELAXED);
    bj_httpd_conn_move(c, BJ_HTTPD_CLOSED);
    /* The library does not see the shutdown of a suspended connection. */
    if (c->stream && c->suspended)
        bj_httpd_conn_resume(c);
}

static bool evict(struct bj_httpd_conn *c)
{
    bj_httpd_count(&c->h->stat.evicted, 1);
    bj_httpd_conn_hang_up(c);
    return true;
}

/* The oldest connection without a complete request of an address that has too
 * many of them. */
static struct bj_httpd_conn *of_crowd(const struct bj_httpd *h)
{
    const struct bj_httpd_link *end = &h->list[BJ_HTTPD_WAIT];
    for (struct bj_httpd_link *l = end->next; h->crowds > 0 && l != end;
         l = l->next)
        if (is_beyond(h, ((struct bj_httpd_conn *)l)->place))
            return (struct bj_httpd_conn *)l;
    return NULL;
}

/* An idle connection is as good a choice as one without a complete request: its
 * client connects again. */
struct bj_httpd_conn *bj_httpd_evictable(const struct bj_httpd *h)
{
    struct bj_httpd_conn *c = of_crowd(h);
    if (c)
        return c;
    c = bj_httpd_oldest(h, BJ_HTTPD_WAIT);
    struct bj_httpd_conn *idle = bj_httpd_oldest(h, BJ_HTTPD_IDLE);
    if (c && h->now - c->since < h->lim.hold_usec)
        c = NULL;
    return c && (!idle || c->since <= idle->since) ? c : idle;
}

bool bj_httpd_evict_waiting(struct bj_httpd *h)
{
    struct bj_httpd_conn *c = bj_httpd_evictable(h);
    return c && evict(c);
}

bool bj_httpd_evict_for(struct bj_httpd *h, const struct sockaddr *address)
{
    struct bj_httpd_conn *c = bj_httpd_evictable(h);
    const bool crowd =
        h->lim.waiting > 0 &&
        h->waiting[httpd_conn_place_of(h, address)] >= h->lim.waiting;
    if (crowd && (!c || h->now - c->since < h->lim.hold_usec))
        return false;
    if (c)
        evict(c);
    return true;
}

bool bj_httpd_evict_stalled(struct bj_httpd *h)
{
    struct bj_httpd_conn *c = bj_httpd_oldest(h, BJ_HTTPD_SEND);
    return c && h->now - c->since >= h->lim.stall_usec && evict(c);
}

bool bj_httpd_room(const struct bj_httpd *h, size_t planned)
{
    size_t now = __atomic_load_n(&h->flight_bytes, __ATOMIC_RELAXED);
    return !h->lim.flight_bytes || now + planned < h->lim.flight_bytes;
}

/* --- buffers --------------------------------------------------------------*/

/* The largest or the smallest kept buffer. */
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

/* --- responses in pieces ---------------------------------------------------
 *
 * Responses that arrive in pieces from another thread. While there is no piece,
 * the connection is suspended. */

static ssize_t read_stream(void *cls, uint64_t pos, char *buf, size_t max)
{
    struct bj_httpd_conn *c = cls;
    (void)pos;
    if (c->phase == BJ_HTTPD_CLOSED)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    long n = bj_stream_take(c->stream, buf, max);
    if (n == BJ_STREAM_END)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (n < 0)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (n == 0) {
        c->suspended = true;
        MHD_suspend_connection(c->mhd);
    }
    return n;
}

/* The library is done with the response. */
static void release_stream(void *cls)
{
    struct bj_httpd_conn *c = cls;
    struct bj_stream *s = c->stream;
    c->stream = NULL;
    bj_stream_close(s);
}

struct MHD_Response *bj_httpd_stream_build(struct bj_httpd_conn *c,
                                           const struct bj_http_reply *r)
{
    c->stream = r->stream;
    struct MHD_Response *m = MHD_create_response_from_callback(
        r->stream_bytes ? r->stream_bytes : MHD_SIZE_UNKNOWN,
        bj_stream_block(r->stream), read_stream, c, release_stream);
    if (!m)
        release_stream(c);
    return m;
}

void bj_httpd_resume(struct bj_httpd *h)
{
    struct bj_httpd_link *end = &h->list[BJ_HTTPD_STREAM], *l = end->next,
                         *next;
    for (; l != end; l = next) {
        struct bj_httpd_conn *c = (struct bj_httpd_conn *)l;
        next = l->next;
        if (!c->stream)
            continue;
        bool ended = bj_stream_has_ended(c->stream);
        if (c->suspended && bj_stream_is_ready(c->stream))
            bj_httpd_conn_resume(c);
        /* The client gets as long for the rest as for any response. */
        if (ended)
            bj_httpd_conn_move(c, BJ_HTTPD_SEND);
    }
}

/* --- TLS -------------------------------------------------------------------*/

/* Never called: bj_httpd_tls_begin() sets the credentials of every session. */
int bj_httpd_no_cert(gnutls_session_t session, const gnutls_datum_t *issuers,
                     int n, const gnutls_pk_algorithm_t *algorithms,
                     int algorithms_n, gnutls_pcert_st **ret, unsigned *ret_n,
                     gnutls_privkey_t *ret_key)
{
    (void)session;
    (void)issuers;
    (void)n;
    (void)algorithms;
    (void)algorithms_n;
    (void)ret;
    (void)ret_n;
    (void)ret_key;
    return -1;
}

static gnutls_session_t session_of(struct bj_httpd_conn *c)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    return info ? info->tls_session : NULL;
}

int bj_httpd_tls_begin(struct bj_httpd_conn *c)
{
    gnutls_session_t session = session_of(c);
    if (!session)
        return 0;
    if (!c->h->web || !c->h->web->tls)
        return -EIO;
    c->tls = bj_tls_ref(c->h->web->tls);
    return bj_tls_attach(c->tls, session);
}

void bj_httpd_tls_end(struct bj_httpd_conn *c)
{
    bj_tls_unref(c->tls);
    bj_buf_free(&c->names);
}

/* The handshake verified the certificate.  It is verified again when it has
 * expired since or the configuration has changed. */
void bj_httpd_tls_peer(struct bj_httpd_conn *c)
{
    struct bj_tls *now = c->h->web ? c->h->web->tls : NULL;
    if (!c->tls)
        return;
    gnutls_session_t session = session_of(c);
    if (!c->names_read) {
        c->names_read = true;
        if (bj_tls_names(c->tls, session, &c->names, &c->names_until) < 0)
            c->names.len = 0;
    }
    if (c->names.len > 0 &&
        (now != c->tls ||
         (int64_t)(bj_clock_wall_usec() / 1000000) > c->names_until)) {
        if (!now || !bj_tls_recheck(now, session)) {
            c->names.len = 0;
        } else if (now != c->tls) {
            bj_tls_unref(c->tls);
            c->tls = bj_tls_ref(now);
        }
    }
    c->req.peer = (struct bj_slice){c->names.p, c->names.len};
}

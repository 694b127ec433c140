/* A small HTTP server for answers made in memory, run from the poll loop of
 * its program: one thread, no timer, asleep while nobody asks.
 *
 * It is built to be left open to a hostile network.  Every connection has an
 * absolute deadline, which no trickle of bytes moves.  When connections run
 * out, the oldest one without a complete request is closed to make room; when
 * responses in flight run out, one that its reader has left standing is given
 * up, else the newcomer gets a 503.
 *
 * A handler answers at once, or later: then its request waits, out of the way
 * of the others, until the program hands in the answer.
 *
 * Protocol: libmicrohttpd (HTTP/1.0 and 1.1, with TLS by GnuTLS).  RFC 9110,
 * RFC 9112. */
#ifndef BJ_BASE_HTTPD_H
#define BJ_BASE_HTTPD_H

#include "base/buf.h"
#include "base/err.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Methods, for masks. */
enum { BJ_HTTP_GET = 1, BJ_HTTP_HEAD = 2, BJ_HTTP_POST = 4 };

/* At most so many listening sockets, and descriptors to poll. */
enum { BJ_HTTPD_LISTENERS = 16, BJ_HTTPD_FDS = BJ_HTTPD_LISTENERS + 2 };

struct bj_tls;
struct bj_web;

/* A complete request, valid while its handler runs, or until bj_httpd_finish
 * when it is answered later; by one thread at a time. */
struct bj_http_request {
    unsigned method;      /* one of BJ_HTTP_... */
    void *handle;         /* the server's own */
    int fd;               /* its connection, to ask who is at the other end */
    struct bj_slice tail; /* what '*' of the route stands for; terminated */
    struct bj_slice body; /* of a POST */
    struct bj_slice peer; /* names in the client's certificate, which is
                             verified and valid, as bj_tls_names has them; empty
                             when there is none */
    bool secure;          /* it came by TLS */
};

/* The value of a request header, the first when there are several; p is NULL
 * when there is none.  name is matched without case. */
struct bj_slice bj_http_header(const struct bj_http_request *req,
                               const char *name);

/* How many request headers of that name there are; the values of the first max
 * of them go to ret. */
unsigned bj_http_header_all(const struct bj_http_request *req, const char *name,
                            struct bj_slice *ret, unsigned max);

/* Call each with the parameters of the query string in their order, decoded
 * ('+' is a blank); a value may be {NULL, 0} and may hold NULs.  Ends when each
 * returns something else than 0, and returns that. */
int bj_http_each_arg(const struct bj_http_request *req,
                     int (*each)(void *ctx, struct bj_slice key,
                                 struct bj_slice value),
                     void *ctx);

/* The answer, filled in by the handler.  It arrives as status 200 with type
 * "text/plain; charset=utf-8" and an empty body. */
struct bj_http_reply {
    unsigned status;
    const char *type;   /* of the body; not copied: static text */
    struct bj_buf body; /* taken over by the server */
    struct {
        const char *name, *value;
    } header[8];  /* more headers, ending with name NULL; copied */
    bool unsized; /* HEAD: what GET would send is of unknown length */
    bool later;   /* the answer comes with bj_httpd_finish */
};

/* One path; the first that fits is taken.  One that ends with a slash and '*'
 * fits everything longer that begins with what is before the '*'.  The table
 * ends with path NULL; when that entry has a handle, it is called for what the
 * server refuses by itself, with the status and a sentence as body, to give the
 * answer another form. */
struct bj_http_route {
    const char *path; /* compared byte by byte after decoding once */
    unsigned methods; /* mask of BJ_HTTP_...; others get 405 */
    bool always;      /* answered however many responses are in flight */
    void (*handle)(void *ctx, const struct bj_http_request *req,
                   struct bj_http_reply *ret);
};

/* Limits; 0 stands for the value in brackets. */
struct bj_http_limits {
    unsigned connections;  /* open at a time, all addresses together [256] */
    unsigned responses;    /* in flight at a time [40] */
    uint64_t request_usec; /* from connecting, or from the request line of a
                              later request, to its end [10 s] */
    uint64_t idle_usec;    /* from a response to the next request line [75 s] */
    uint64_t send_usec;    /* from a request to its response's end [30 s] */
    uint64_t stall_usec;   /* a response in flight for longer gives way to a
                              new one at the limit [2 s] */
    size_t body_bytes;     /* of a request, ignored unless it is a POST to a
                              route that takes it; more get 413 [4 K] */
    size_t memory_bytes;   /* a connection: its request's headers and those of
                              the response have to fit [16 K] */
    size_t keep_bytes;     /* buffers up to this size are kept [512 K] */
    size_t flight_bytes; /* of bodies in flight: from here on it is as if there
                            were too many responses; those that are answered
                            later have to wait for bj_httpd_room [no limit] */
    size_t room_bytes;   /* with less room than this below flight_bytes, what
                            stands gives way already [0] */
    bool later;          /* handlers may answer later */
};

/* What has happened since the start. */
struct bj_httpd_stat {
    uint64_t connections; /* accepted */
    uint64_t requests;    /* complete, refused ones included */
    uint64_t refused;     /* answered with 503 */
    uint64_t expired;     /* connections closed at their deadline */
    uint64_t evicted;     /* connections closed to make room */
};

struct bj_httpd;

/* Make a server without addresses.  routes and ctx must outlive it.  Raises
 * no signal and starts no thread. -ENOMEM or -EINVAL (limits). */
int bj_httpd_new(const struct bj_http_route *routes, void *ctx,
                 const struct bj_http_limits *limits, struct bj_httpd **ret,
                 struct bj_err *err);

/* Close everything at once; NULL is fine. */
void bj_httpd_free(struct bj_httpd *h);

/* Listen on one more address (as in base/listen.h).  Returns the descriptor,
 * for bj_listen_name, or what bj_listen_open does; -ENOSPC when there are
 * BJ_HTTPD_LISTENERS. */
int bj_httpd_listen(struct bj_httpd *h, const char *address,
                    struct bj_err *err);

/* Take connections from a descriptor that listens already (a unix socket).  It
 * is the server's from now on, closed also on failure.  -ENOSPC as above. */
int bj_httpd_adopt(struct bj_httpd *h, int fd, struct bj_err *err);

/* A web configuration for connections that come from now on, to addresses that
 * bj_httpd_listen has opened: with TLS or without, and what headers every
 * response gets.  Connections that are open go on as they began, but for
 * certificates of clients, which have to be good by the new one.  The server
 * keeps a reference.  -ENOSYS when libmicrohttpd has no TLS. */
int bj_httpd_configure(struct bj_httpd *h, struct bj_web *web,
                       struct bj_err *err);

/* Called before every handler; when it returns false, what it has filled in is
 * the answer.  NULL: nothing is asked. */
void bj_httpd_guard(struct bj_httpd *h,
                    bool (*guard)(void *ctx, const struct bj_http_request *req,
                                  struct bj_http_reply *ret));

/* Answer a request whose handler has set "later"; req is gone afterwards.  The
 * answer goes out with the next bj_httpd_run.  All must be answered before
 * bj_httpd_free. */
void bj_httpd_finish(struct bj_httpd *h, const struct bj_http_request *req,
                     struct bj_http_reply *reply);

/* Is there room for one more body, beside others of so many bytes that are on
 * their way to bj_httpd_finish?  From any thread; for handlers that answer
 * later, since bodies are counted when they are there. */
bool bj_httpd_room(const struct bj_httpd *h, size_t others);

/* Has such a request lost its client, so that no answer is needed?  One that
 * has shut down its own side may still be waiting, as few do.  From any thread,
 * before bj_httpd_finish. */
bool bj_http_given_up(const struct bj_http_request *req);

/* What to poll: fills fds (BJ_HTTPD_FDS of them) and returns how many. */
nfds_t bj_httpd_poll(struct bj_httpd *h, struct pollfd *fds);

/* For how long to poll, in milliseconds as poll(2) has it: -1 when there is
 * nothing to wait for but descriptors. */
int bj_httpd_timeout(const struct bj_httpd *h, uint64_t now_usec);

/* Serve what can be served without blocking: call after poll(2), with what
 * bj_httpd_poll had filled in, at the boot clock now.  Handlers run here. */
void bj_httpd_run(struct bj_httpd *h, const struct pollfd *fds, nfds_t n,
                  uint64_t now_usec);

/* Take no more connections or requests, close those that have none in
 * flight.  bj_httpd_busy tells how many responses are still on their way. */
void bj_httpd_drain(struct bj_httpd *h);
unsigned bj_httpd_busy(const struct bj_httpd *h);

/* A buffer to build a body of about so many bytes in: one that an earlier
 * response has left, or a new one.  One too big to be kept is made of huge
 * pages where the kernel gives them: they are ten times cheaper to come by, and
 * such a buffer comes anew with every response.  Owned by the caller, who puts
 * it into a reply or gives it back; its room is a hint, it may have none.  This
 * and bj_httpd_buf_return may be called from any thread, and so may
 * bj_httpd_stat. */
struct bj_buf bj_httpd_buf(struct bj_httpd *h, size_t bytes);

/* Give a buffer back that is in no reply.  *b is then empty. */
void bj_httpd_buf_return(struct bj_httpd *h, struct bj_buf *b);

void bj_httpd_stat(const struct bj_httpd *h, struct bj_httpd_stat *ret);

#endif

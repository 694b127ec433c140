/* A small HTTP server for responses made in memory, run from the poll loop of
 * its program: one thread, no timer, asleep between requests.
 *
 * It may face a hostile network.  Every connection has an absolute deadline,
 * which single bytes do not extend.  At the limit of connections, the oldest
 * one without a complete request is closed to make room.  At the limit of
 * responses in flight, one whose client has stopped reading is closed, else the
 * new request gets a 503.
 *
 * A handler fills in the response at once, or later: the request then waits for
 * bj_httpd_finish(), without blocking others.
 *
 * Protocol: libmicrohttpd (HTTP/1.0 and 1.1, with TLS by GnuTLS).  RFC 9110,
 * RFC 9112. */
#ifndef BJ_BASE_HTTPD_H
#define BJ_BASE_HTTPD_H

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Methods, for masks. */
/* BJ_HTTP_OTHER: any other method, for routes that refuse it themselves. */
enum { BJ_HTTP_GET = 1, BJ_HTTP_HEAD = 2, BJ_HTTP_POST = 4, BJ_HTTP_OTHER = 8 };

/* Most listening sockets, and descriptors to poll. */
enum { BJ_HTTPD_LISTENERS = 16, BJ_HTTPD_FDS = BJ_HTTPD_LISTENERS + 2 };

struct bj_stream;
struct bj_tls;
struct bj_web;

/* A complete request, valid while its handler runs, or until bj_httpd_finish()
 * if the response is made later.  For one thread at a time. */
struct bj_http_request {
    unsigned method;                /* one of BJ_HTTP_... */
    void *handle;                   /* private */
    int fd;                         /* its connection, for SO_PEERCRED */
    const struct sockaddr *address; /* of the client; of a unix socket only the
                                       family */
    struct bj_slice tail; /* what '*' of the route matched; terminated */
    struct bj_slice body; /* of a POST */
    struct bj_slice peer; /* names in the client's valid certificate, as from
                             bj_tls_names(); empty: no certificate */
    bool secure;          /* received over TLS */
};

/* The value of a request header, the first of several; p is NULL: none.  The
 * case of name does not matter. */
struct bj_slice bj_http_header(const struct bj_http_request *req,
                               const char *name);

/* Return the number of request headers of that name, and store the values of
 * the first max of them in ret. */
unsigned bj_http_header_all(const struct bj_http_request *req, const char *name,
                            struct bj_slice *ret, unsigned max);

/* Call each with the parameters of the query string in order, decoded ('+' is a
 * blank); a value may be {NULL, 0} and may contain NUL.  Stops when each
 * returns other than 0, and returns that. */
int bj_http_each_arg(const struct bj_http_request *req,
                     int (*each)(void *ctx, struct bj_slice key,
                                 struct bj_slice value),
                     void *ctx);

/* The response, which the handler fills in.  Preset to status 200, type
 * "text/plain; charset=utf-8" and an empty body. */
struct bj_http_reply {
    unsigned status;
    const char *type;   /* of the body; static text, not copied */
    struct bj_buf body; /* the server takes ownership */
    struct {
        const char *name, *value;
    } header[12];             /* more headers, ending with name NULL; copied */
    bool unsized;             /* HEAD: the length of a GET is unknown */
    struct bj_stream *stream; /* the body, instead of body; owned by the server
                                 as its reader.  Only with
                                 bj_httpd_finish() */
    uint64_t stream_bytes;    /* of it in all; 0: unknown */
    bool later;               /* bj_httpd_finish() will pass the response */
};

/* One path; the first match counts.  A path that ends with "/" and "*" matches
 * all longer paths that begin with the text before the "*".  The table ends
 * with path NULL; the handle of that entry, if any, may format responses with
 * which the server refuses a request: it gets the status and a sentence as
 * body. */
struct bj_http_route {
    const char *path; /* compared byte by byte after decoding once */
    unsigned methods; /* mask of BJ_HTTP_...; 405 for the rest */
    bool always;      /* not subject to the limit of responses */
    void (*handle)(void *ctx, const struct bj_http_request *req,
                   struct bj_http_reply *ret);
};

/* Limits; 0 means the default in brackets. */
struct bj_http_limits {
    unsigned connections;  /* open at a time, over all addresses [256] */
    unsigned backlog;      /* that wait to be accepted, at an address [128] */
    unsigned responses;    /* in flight at a time [40] */
    uint64_t request_usec; /* from connecting, or from the request line of a
                              later request, to its end [10 s] */
    uint64_t idle_usec;    /* from a response to the next request line [75 s] */
    uint64_t send_usec;    /* from a request to its response's end [30 s] */
    uint64_t work_usec;    /* until bj_httpd_finish(), instead of send_usec
                              [send_usec] */
    uint64_t stream_usec;  /* from a streamed response's first byte to its
                              writer's end [11 min] */
    uint64_t stall_usec; /* at the limit, a response in flight may be closed for
                            a new one after this time of sending [2 s] */
    uint64_t hold_usec;  /* time for which a connection without a complete
                            request is not closed to make room; new ones wait to
                            be accepted [0] */
    unsigned waiting;    /* connections without a complete request from one
                            address (IPv6: from a network of 64 bits).  At the
                            limit of connections, those beyond make room for
                            other addresses in spite of hold_usec, and further
                            ones of it are closed unless one is older than that
                            [no limit] */
    size_t body_bytes;   /* of a request; 413 beyond.  Only read for a POST
                            to a route with POST [4 K] */
    size_t bodies_bytes; /* of all requests with a body, from their headers
                            to their response; 503 beyond [no limit] */
    size_t memory_bytes; /* per connection, for the headers of request and
                            response [16 K] */
    size_t keep_bytes;   /* buffers up to this size are reused [512 K] */
    size_t flight_bytes; /* of bodies in flight; beyond, as with too many
                            responses.  Handlers that respond later wait for
                            bj_httpd_room() [no limit] */
    size_t room_bytes;   /* close stalled responses as soon as less than this is
                            left of flight_bytes [0] */
    bool later;          /* handlers may respond later */
};

/* Counters since the start. */
struct bj_httpd_stat {
    uint64_t connections; /* accepted */
    uint64_t requests;    /* complete, refused ones included */
    uint64_t refused;     /* 503 */
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
 * for bj_listen_name(), or the error of bj_listen_open(); -ENOSPC beyond
 * BJ_HTTPD_LISTENERS addresses. */
int bj_httpd_listen(struct bj_httpd *h, const char *address,
                    struct bj_err *err);

/* Listen on all addresses and log each, between before and after:
 * "listening on", "".  Errors begin with the name of the option. */
int bj_httpd_listen_all(struct bj_httpd *h, const char *option,
                        const struct bj_strv *addresses, const char *before,
                        const char *after, struct bj_err *err);

/* Accept connections from a descriptor that listens already (a unix socket).
 * The server owns it from now on, and closes it also on failure.  -ENOSPC as
 * above. */
int bj_httpd_adopt(struct bj_httpd *h, int fd, struct bj_err *err);

/* Set the web configuration (TLS or not, headers of every response) for new
 * connections to addresses of bj_httpd_listen().  Open connections continue as
 * they began, but client certificates must satisfy the new configuration.  The
 * server keeps a reference.  -ENOSYS: libmicrohttpd has no TLS. */
int bj_httpd_configure(struct bj_httpd *h, struct bj_web *web,
                       struct bj_err *err);

/* Call guard before every handler.  If it returns false, it has filled in the
 * response, and the handler is not called.  NULL: no guard. */
void bj_httpd_guard(struct bj_httpd *h,
                    bool (*guard)(void *ctx, const struct bj_http_request *req,
                                  struct bj_http_reply *ret));

/* Call admit when the headers of a POST with a route have arrived, before its
 * body is read: 0, or the status with which to refuse it. */
void bj_httpd_admit(struct bj_httpd *h,
                    unsigned (*admit)(void *ctx,
                                      const struct bj_http_request *req));

/* Pass the response to a request whose handler has set "later"; req is invalid
 * afterwards.  The next bj_httpd_run() sends it.  All such requests need their
 * response before bj_httpd_free(). */
void bj_httpd_finish(struct bj_httpd *h, const struct bj_http_request *req,
                     struct bj_http_reply *reply);

/* Continue with streamed responses whose writers have added pieces or ended.
 * Call it in the thread of the server, before bj_httpd_run(). */
void bj_httpd_resume(struct bj_httpd *h);

/* Is there room for one more body, if the responses that are being made need
 * planned bytes?  For handlers that respond later, since a body counts only
 * after bj_httpd_finish().  From any thread. */
bool bj_httpd_room(const struct bj_httpd *h, size_t planned);

/* Has the client of such a request closed its connection, so that no response
 * is needed?  (A client that only shut down its sending side counts as gone;
 * few do that.)  From any thread, before bj_httpd_finish(). */
bool bj_http_client_gone(const struct bj_http_request *req);

/* Fill in what to poll (room for BJ_HTTPD_FDS) and return the number. */
nfds_t bj_httpd_poll(struct bj_httpd *h, struct pollfd *fds);

/* The timeout for poll(2) in milliseconds; -1: none. */
int bj_httpd_timeout(const struct bj_httpd *h, uint64_t now_usec);

/* Poll the own descriptors at the start of fds and, behind them, those of
 * bj_httpd_poll(), whose number is *ret_n.  ms: the longest time, -1: none.  0,
 * also after a signal, or -errno. */
int bj_httpd_wait(struct bj_httpd *h, struct pollfd *fds, nfds_t own, int ms,
                  nfds_t *ret_n);

/* Process all connections that are ready, without blocking.  Call it after
 * poll(2), with the descriptors of bj_httpd_poll(); now_usec is the boot clock.
 * Handlers run here. */
void bj_httpd_run(struct bj_httpd *h, const struct pollfd *fds, nfds_t n,
                  uint64_t now_usec);

/* Accept no more connections or requests and close connections without a
 * response in flight.  bj_httpd_busy() returns the number of responses still in
 * flight. */
void bj_httpd_drain(struct bj_httpd *h);
unsigned bj_httpd_busy(const struct bj_httpd *h);

/* A buffer for a body of about that size: that of an earlier response, or a new
 * one.  A buffer too large to be kept uses huge pages if possible, which cost a
 * tenth to allocate.  The caller owns it, and moves it into a reply or returns
 * it.  Its capacity is a hint and may be 0.  This function,
 * bj_httpd_buf_return() and bj_httpd_stat() may be called from any thread. */
struct bj_buf bj_httpd_buf(struct bj_httpd *h, size_t bytes);

/* Return a buffer that is in no reply; *b is empty afterwards. */
void bj_httpd_buf_return(struct bj_httpd *h, struct bj_buf *b);

void bj_httpd_stat(const struct bj_httpd *h, struct bj_httpd_stat *ret);

#endif

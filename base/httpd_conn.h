/* Shared by the files of the HTTP server; private to them. */
#ifndef BJ_BASE_HTTPD_CONN_H
#define BJ_BASE_HTTPD_CONN_H

#include "base/httpd.h"
#include "base/tls.h"
#include "base/web.h"

#include <gnutls/abstract.h>
#include <microhttpd.h>
#include <pthread.h>

/* What a connection waits for.  All connections of a phase have the same time
 * limit, so the order of arrival is the order of deadlines. */
enum bj_httpd_phase {
    BJ_HTTPD_WAIT,   /* for a complete request */
    BJ_HTTPD_IDLE,   /* for the next request line */
    BJ_HTTPD_WORK,   /* for bj_httpd_finish() */
    BJ_HTTPD_STREAM, /* for the writer of a streamed response */
    BJ_HTTPD_SEND,   /* for the client to read the response */
    BJ_HTTPD_CLOSED, /* for the library to free it */
    BJ_HTTPD_PHASES
};

enum { BJ_HTTPD_TAIL = 192, BJ_HTTPD_SPARES = 16, BJ_HTTPD_PLACES = 4096 };

/* The library has an instance for each kind of connection. */
enum { BJ_HTTPD_PLAIN, BJ_HTTPD_TLS, BJ_HTTPD_KINDS };

struct bj_httpd_link {
    struct bj_httpd_link *prev, *next;
};

struct bj_httpd_conn {
    struct bj_httpd_link link; /* first member: a link is a connection */
    struct bj_httpd *h;
    struct MHD_Connection *mhd;
    int fd;
    const struct sockaddr *address; /* the library owns it */
    unsigned place;                 /* of the address in waiting */
    enum bj_httpd_phase phase;
    uint64_t deadline, since; /* boot clock; since: start of the phase */
    const struct bj_http_route *route; /* for the request line; NULL: none */
    unsigned status;                   /* for a bad request line; 0: no error */
    bool seen;                         /* the headers were checked */
    struct bj_buf body;                /* of the response */
    size_t counted;                    /* bytes of it in flight_bytes */
    struct bj_buf upload;              /* body of the request */
    size_t announced;                  /* bytes of it in bodies_bytes */
    char tail[BJ_HTTPD_TAIL];          /* what '*' of the route matched */
    struct bj_http_request req;
    struct bj_stream *stream;      /* body of the response; NULL: body */
    bool suspended;                /* MHD_suspend_connection() */
    bool client_gone;              /* atomic; the client is gone */
    struct MHD_Response *response; /* from bj_httpd_finish() */
    unsigned response_status;
    struct bj_tls *tls;  /* NULL: none */
    struct bj_buf names; /* in the client's certificate */
    int64_t names_until; /* seconds since 1970 */
    bool names_read;     /* the certificate was read */
};

struct bj_httpd {
    struct MHD_Daemon *mhd[BJ_HTTPD_KINDS]; /* NULL: not started */
    bool resumed[BJ_HTTPD_KINDS];           /* the library does not report it */
    struct bj_web *web;                     /* NULL: none */
    bool (*guard)(void *ctx, const struct bj_http_request *req,
                  struct bj_http_reply *ret);
    unsigned (*admit)(void *ctx, const struct bj_http_request *req);
    const struct bj_http_route *routes;
    void *ctx;
    struct bj_http_limits lim;
    struct bj_httpd_link list[BJ_HTTPD_PHASES];
    unsigned count[BJ_HTTPD_PHASES];
    unsigned waiting[BJ_HTTPD_PLACES]; /* connections in BJ_HTTPD_WAIT, by
                                          address */
    unsigned crowds;                   /* places with more than lim.waiting */
    uint64_t place_seed;
    int listener[BJ_HTTPD_LISTENERS];
    bool adopted[BJ_HTTPD_LISTENERS]; /* never TLS */
    unsigned listeners;
    bool draining;
    uint64_t now, accept_after;
    pthread_mutex_t spare_lock;
    struct bj_buf spare[BJ_HTTPD_SPARES];
    size_t spare_bytes;  /* of all of them */
    size_t flight_bytes; /* of response bodies */
    size_t bodies_bytes; /* of request bodies, as announced */
    struct bj_httpd_stat stat;
};

/* Add to a counter that other threads read. */
static inline void bj_httpd_count(uint64_t *n, uint64_t more)
{
    __atomic_store_n(n, *n + more, __ATOMIC_RELAXED);
}

/* Responses in flight: being made or being sent. */
static inline unsigned bj_httpd_in_flight(const struct bj_httpd *h)
{
    return h->count[BJ_HTTPD_WORK] + h->count[BJ_HTTPD_STREAM] +
           h->count[BJ_HTTPD_SEND];
}

/* --- base/httpd_tls.c -----------------------------------------------------*/

/* Begin TLS on a new connection; -EIO. */
int bj_httpd_tls_begin(struct bj_httpd_conn *c);
/* Fill in req.peer from the client certificate. */
void bj_httpd_tls_peer(struct bj_httpd_conn *c);
void bj_httpd_tls_end(struct bj_httpd_conn *c);

/* Callback of the library for a certificate; always fails. */
int bj_httpd_no_cert(gnutls_session_t session, const gnutls_datum_t *issuers,
                     int n, const gnutls_pk_algorithm_t *algorithms,
                     int algorithms_n, gnutls_pcert_st **ret, unsigned *ret_n,
                     gnutls_privkey_t *ret_key);

/* --- base/httpd_conn.c ----------------------------------------------------*/

/* A new connection in the phase BJ_HTTPD_WAIT; -ENOMEM. */
int bj_httpd_conn_new(struct bj_httpd *h, struct MHD_Connection *mhd, int fd,
                      const struct sockaddr *address,
                      struct bj_httpd_conn **ret);
void bj_httpd_conn_free(struct bj_httpd_conn *c); /* NULL is fine */

/* Let the library serve a suspended connection again. */
void bj_httpd_conn_resume(struct bj_httpd_conn *c);

/* Put a connection into another phase and set its deadline. */
void bj_httpd_conn_move(struct bj_httpd_conn *c, enum bj_httpd_phase to);

/* Close a connection; the library frees it in its next run. */
void bj_httpd_conn_hang_up(struct bj_httpd_conn *c);

/* The connection that entered a phase first, or NULL. */
struct bj_httpd_conn *bj_httpd_oldest(const struct bj_httpd *h,
                                      enum bj_httpd_phase phase);

/* The connection that has been waiting or idle for longest and may be closed to
 * make room, or NULL. */
struct bj_httpd_conn *bj_httpd_evictable(const struct bj_httpd *h);

/* Close it.  False: there is none. */
bool bj_httpd_evict_waiting(struct bj_httpd *h);

/* Close it for a new connection.  False: the address has its share already. */
bool bj_httpd_evict_for(struct bj_httpd *h, const struct sockaddr *address);

/* The body of a request is not needed any more. */
void bj_httpd_forget_body(struct bj_httpd_conn *c);

/* Close the connection whose client has not read its response for longest.
 * False: none has been sending for stall_usec. */
bool bj_httpd_evict_stalled(struct bj_httpd *h);

/* --- base/httpd_stream.c --------------------------------------------------*/

/* A response whose body is r->stream; NULL without memory.  The stream is
 * closed in any case, now or with the response. */
struct MHD_Response *bj_httpd_stream_build(struct bj_httpd_conn *c,
                                           const struct bj_http_reply *r);

/* --- base/httpd_request.c -------------------------------------------------*/

/* Callbacks of libmicrohttpd about requests; ctx is the server. */
void *bj_httpd_on_uri(void *ctx, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result bj_httpd_on_request(void *ctx, struct MHD_Connection *mhd,
                                    const char *url, const char *method,
                                    const char *version, const char *upload,
                                    size_t *upload_size, void **slot);
void bj_httpd_on_completed(void *ctx, struct MHD_Connection *mhd, void **slot,
                           enum MHD_RequestTerminationCode why);

#endif

/* What the files of the HTTP server share; for nobody else. */
#ifndef BJ_BASE_HTTPD_CONN_H
#define BJ_BASE_HTTPD_CONN_H

#include "base/httpd.h"
#include "base/tls.h"
#include "base/web.h"

#include <gnutls/abstract.h>
#include <microhttpd.h>
#include <pthread.h>

/* What a connection is waiting for.  All connections of a phase got the same
 * time, so a list in the order of arrival is one in the order of deadlines. */
enum bj_httpd_phase {
    BJ_HTTPD_WAIT,
    BJ_HTTPD_IDLE,
    BJ_HTTPD_WORK, /* for an answer that comes later */
    BJ_HTTPD_SEND,
    BJ_HTTPD_DEAD,
    BJ_HTTPD_PHASES
};

enum { BJ_HTTPD_TAIL = 192, BJ_HTTPD_SPARES = 16 };

/* Connections of both kinds have an instance of the library each. */
enum { BJ_HTTPD_PLAIN, BJ_HTTPD_TLS, BJ_HTTPD_KINDS };

struct bj_httpd_link {
    struct bj_httpd_link *prev, *next;
};

struct bj_httpd_conn {
    struct bj_httpd_link link; /* first: a link is a connection */
    struct bj_httpd *h;
    struct MHD_Connection *mhd;
    int fd;
    enum bj_httpd_phase phase;
    uint64_t deadline, since;          /* boot clock; since: the phase */
    const struct bj_http_route *route; /* of the request line; NULL: none */
    unsigned status;          /* of a bad request line; 0: it is good */
    bool seen;                /* the headers have been looked at */
    struct bj_buf body;       /* of the response */
    size_t counted;           /* of it, among those in flight */
    struct bj_buf upload;     /* body of the request */
    char tail[BJ_HTTPD_TAIL]; /* what '*' of the route stands for */
    struct bj_http_request req;
    bool suspended;                /* the library leaves it alone */
    bool given_up;                 /* atomic; nobody waits for the answer */
    struct MHD_Response *response; /* of a request answered later */
    unsigned response_status;
    struct bj_tls *tls;  /* NULL: none */
    struct bj_buf names; /* in the client's certificate */
    int64_t names_until; /* seconds since 1970 */
    bool names_read;     /* the certificate has been looked at */
};

struct bj_httpd {
    struct MHD_Daemon *mhd[BJ_HTTPD_KINDS]; /* NULL: not started */
    bool resumed[BJ_HTTPD_KINDS]; /* which the library does not tell of */
    struct bj_web *web;           /* NULL: none */
    bool (*guard)(void *ctx, const struct bj_http_request *req,
                  struct bj_http_reply *ret);
    const struct bj_http_route *routes;
    void *ctx;
    struct bj_http_limits lim;
    struct bj_httpd_link list[BJ_HTTPD_PHASES];
    unsigned count[BJ_HTTPD_PHASES];
    int listener[BJ_HTTPD_LISTENERS];
    bool adopted[BJ_HTTPD_LISTENERS]; /* never TLS */
    unsigned listeners;
    bool draining;
    uint64_t now, accept_after;
    pthread_mutex_t spare_lock;
    struct bj_buf spare[BJ_HTTPD_SPARES];
    size_t spare_bytes;  /* of all of them */
    size_t flight_bytes; /* of bodies in flight */
    struct bj_httpd_stat stat;
};

/* One more of something that other threads read. */
static inline void bj_httpd_count(uint64_t *n, uint64_t more)
{
    __atomic_store_n(n, *n + more, __ATOMIC_RELAXED);
}

/* Responses under way: made, or still to be made. */
static inline unsigned bj_httpd_in_flight(const struct bj_httpd *h)
{
    return h->count[BJ_HTTPD_WORK] + h->count[BJ_HTTPD_SEND];
}

/* base/httpd_tls.c: begin TLS on a new connection; -EIO. */
int bj_httpd_tls_begin(struct bj_httpd_conn *c);
/* Fill in who the client of a request is. */
void bj_httpd_tls_peer(struct bj_httpd_conn *c);
void bj_httpd_tls_end(struct bj_httpd_conn *c);

/* What the library calls for a certificate, in vain. */
int bj_httpd_no_cert(gnutls_session_t session, const gnutls_datum_t *issuers,
                     int n, const gnutls_pk_algorithm_t *algorithms,
                     int algorithms_n, gnutls_pcert_st **ret, unsigned *ret_n,
                     gnutls_privkey_t *ret_key);

/* Start the library for connections of a kind. */
struct MHD_Daemon *bj_httpd_start(struct bj_httpd *h, unsigned kind);

/* Put a connection into another phase and set its deadline. */
void bj_httpd_conn_move(struct bj_httpd_conn *c, enum bj_httpd_phase to);

/* End a connection; the library lets go of it in its next run. */
void bj_httpd_conn_hang_up(struct bj_httpd_conn *c);

/* Give up the response that its reader has left standing for longest.  False:
 * none has stood for as long as stall_usec. */
bool bj_httpd_give_up_one(struct bj_httpd *h);

/* Callbacks of libmicrohttpd about requests; ctx is the server. */
void *bj_httpd_on_uri(void *ctx, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result bj_httpd_on_request(void *ctx, struct MHD_Connection *mhd,
                                    const char *url, const char *method,
                                    const char *version, const char *upload,
                                    size_t *upload_size, void **slot);
void bj_httpd_on_completed(void *ctx, struct MHD_Connection *mhd, void **slot,
                           enum MHD_RequestTerminationCode why);

#endif

/* What the files of the HTTP server share; for nobody else. */
#ifndef BJ_BASE_HTTPD_CONN_H
#define BJ_BASE_HTTPD_CONN_H

#include "base/httpd.h"

#include <microhttpd.h>

/* What a connection is waiting for.  All connections of a phase got the same
 * time, so a list in the order of arrival is one in the order of deadlines. */
enum bj_httpd_phase {
    BJ_HTTPD_WAIT,
    BJ_HTTPD_IDLE,
    BJ_HTTPD_SEND,
    BJ_HTTPD_DEAD,
    BJ_HTTPD_PHASES
};

enum { BJ_HTTPD_TAIL = 192 };

struct bj_httpd_link {
    struct bj_httpd_link *prev, *next;
};

struct bj_httpd_conn {
    struct bj_httpd_link link; /* first: a link is a connection */
    struct bj_httpd *h;
    int fd;
    enum bj_httpd_phase phase;
    uint64_t deadline, since;          /* boot clock; since: the phase */
    const struct bj_http_route *route; /* of the request line; NULL: none */
    unsigned status;          /* of a bad request line; 0: it is good */
    bool seen;                /* the headers have been looked at */
    struct bj_buf body;       /* of the response */
    struct bj_buf upload;     /* body of the request */
    char tail[BJ_HTTPD_TAIL]; /* what '*' of the route stands for */
};

struct bj_httpd {
    struct MHD_Daemon *mhd;
    const struct bj_http_route *routes;
    void *ctx;
    struct bj_http_limits lim;
    struct bj_httpd_link list[BJ_HTTPD_PHASES];
    unsigned count[BJ_HTTPD_PHASES];
    int listener[BJ_HTTPD_LISTENERS];
    unsigned listeners;
    bool draining;
    uint64_t now, accept_after;
    struct bj_buf spare;
    size_t flight_bytes; /* of bodies in flight */
    struct bj_httpd_stat stat;
};

/* Put a connection into another phase and set its deadline. */
void bj_httpd_conn_move(struct bj_httpd_conn *c, enum bj_httpd_phase to);

/* The connection that has been in a phase for longest, or NULL. */
struct bj_httpd_conn *bj_httpd_conn_oldest(struct bj_httpd *h,
                                           enum bj_httpd_phase phase);

/* End a connection; the library lets go of it in its next run. */
void bj_httpd_conn_hang_up(struct bj_httpd_conn *c);

/* Callbacks of libmicrohttpd about requests; ctx is the server. */
void *bj_httpd_on_uri(void *ctx, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result bj_httpd_on_request(void *ctx, struct MHD_Connection *mhd,
                                    const char *url, const char *method,
                                    const char *version, const char *upload,
                                    size_t *upload_size, void **slot);
void bj_httpd_on_completed(void *ctx, struct MHD_Connection *mhd, void **slot,
                           enum MHD_RequestTerminationCode why);

#endif

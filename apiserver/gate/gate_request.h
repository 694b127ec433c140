/* A request to a Prometheus server, with the credentials and headers that its
 * options name. */
#ifndef BJ_APISERVER_GATE_GATE_REQUEST_H
#define BJ_APISERVER_GATE_GATE_REQUEST_H

#include "apiserver/conf/gate_servers.h"
#include "base/fetches.h"

/* Zero-initialise; the texts of the server must outlive it. */
struct bj_gate_request {
    struct bj_fetch_request fetch;
    struct bj_buf url;
    const char *header[24];
    char token[2048], password[512];
};

/* The target of a request. */
struct bj_gate_target {
    const char *path;     /* below the URL of the server */
    struct bj_slice form; /* NAME=VALUE&..., must outlive the request */
    bool post;            /* else form is a part of the URL */
    bool gzip;            /* the response may be compressed */
    uint64_t usec;        /* maximum duration */
    size_t max_bytes;     /* maximum size of the response */
    size_t piece_bytes;   /* maximum size of its pieces */
};

/* Fill in a request; -ENOMEM, or an error of a file with a message. */
int bj_gate_request_make(struct bj_gate_request *q,
                         const struct bj_gate_server *server,
                         const struct bj_gate_target *t, struct bj_err *err);

/* Free the memory of a request and erase its secrets.  It is zero afterwards.
 */
void bj_gate_request_clear(struct bj_gate_request *q);

#endif

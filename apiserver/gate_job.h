/* A request of the gate on its way to the Prometheus server and back. */
#ifndef BJ_APISERVER_GATE_JOB_H
#define BJ_APISERVER_GATE_JOB_H

#include "apiserver/call.h"
#include "apiserver/gate_request.h"
#include "apiserver/request_log.h"
#include "base/stream.h"

#include <pthread.h>

struct bj_gate;
struct bj_gate_list;
struct bj_gate_upstream;
struct bj_settings;

/* What a request becomes on its way. */
struct bj_gate_job {
    struct bj_gate_job *next; /* in the queue of its stage */
    struct bj_gate_job *more; /* in the list of all */
    struct bj_gate_list *list;
    struct bj_gate *gate;
    struct bj_call *call;         /* until it is answered */
    struct bj_settings *settings; /* a reference */
    char user[BJ_USER_BYTES];
    bool post;
    struct bj_buf path;            /* after the URL of the server, terminated */
    struct bj_buf form;            /* for a GET part of the path */
    struct bj_promql_span span;    /* times of the series that it reads */
    uint64_t reach;                /* retention of the servers for it */
    uint64_t start_usec, end_usec; /* boot clock */
    bool keep; /* the whole body of a success is for the second part of the
                  endpoint; else long bodies are passed on as they come */
    /* the rest belongs to bj_gate_run() */
    bool gzip, discard, blocked;
    bool again; /* another server gets it after discard */
    struct bj_gate_upstream *upstream, *failed; /* failed: not dereferenced */
    struct bj_settings *using;                  /* those of request */
    struct bj_gate_request request;
    bool headed;         /* the next three are known */
    bool packed;         /* by gzip */
    unsigned status;     /* of the reply */
    uint64_t length;     /* of its body; 0: unknown */
    struct bj_buf whole; /* its body, as long as the response has not begun */
    struct bj_flow *flow;
    struct bj_stream *stream;
    struct bj_request_log log; /* of the stream */
    uint64_t bytes;
};

/* The work of the second part (bj_endpoint.after): the body of a success. */
struct bj_gate_kept {
    struct bj_settings *settings; /* a reference */
    struct bj_buf body;
};

/* NULL without memory; takes the body over. */
struct bj_gate_kept *bj_gate_kept_new(struct bj_gate_job *j);
void bj_gate_kept_free(struct bj_gate_kept *k);

/* All requests that are admitted. */
struct bj_gate_list {
    pthread_mutex_t lock;
    struct bj_gate_job *first;
    unsigned n;
};

/* The job of a call, not yet in the list; NULL without memory. */
struct bj_gate_job *bj_gate_job_new(struct bj_gate_list *l, struct bj_call *c);
void bj_gate_job_free(struct bj_gate_job *j); /* NULL is fine */

/* Count one more request of the user of the call, for the servers that its span
 * needs.  0, or a refusal. */
int bj_gate_admit(struct bj_gate_job *j, struct bj_call *c);

/* Fill in the request to a server of these settings, one of so many that run,
 * at the time now_usec. */
int bj_gate_job_prepare(struct bj_gate_job *j,
                        const struct bj_gate_server *server,
                        struct bj_settings *settings, uint64_t running,
                        uint64_t now_usec, struct bj_err *err);

/* Forget the request and its reply, of which the client has seen nothing. */
void bj_gate_job_reset(struct bj_gate_job *j);

#endif

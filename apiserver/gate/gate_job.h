/* A request of the gate on its way to the Prometheus server and back. */
#ifndef BJ_APISERVER_GATE_GATE_JOB_H
#define BJ_APISERVER_GATE_GATE_JOB_H

#include "apiserver/conf/gate_servers.h"
#include "apiserver/frame/answer.h"
#include "apiserver/frame/call.h"
#include "base/fetches.h"
#include "base/stream.h"

#include <pthread.h>

struct bj_gate;
struct bj_gate_list;
struct bj_gate_upstream;
struct bj_settings;

/* A request while it is processed. */
struct bj_gate_job {
    struct bj_gate_job *next;     /* in the queue of its stage */
    struct bj_gate_job *next_all; /* in the list of all */
    struct bj_gate_list *list;
    struct bj_gate *gate;
    struct bj_call *call;         /* valid until it is answered */
    struct bj_settings *settings; /* a reference */
    char user[BJ_USER_BYTES];
    bool post;
    /* to be appended to the URL of the server; terminated */
    struct bj_buf path;
    struct bj_buf form;         /* parameters; for a GET a part of the path */
    struct bj_promql_span span; /* times of the series that it reads */
    uint64_t retention; /* retention of the servers that can answer it */
    uint64_t start_usec, end_usec; /* boot clock */
    bool keep; /* keep the whole body of a success for the second part of the
                  endpoint; else long bodies are forwarded as they arrive */
    /* only bj_gate_run() uses the rest */
    bool gzip, discard, blocked;
    bool retry; /* after discard, send it to another server */
    struct bj_gate_upstream *upstream, *failed; /* failed: not dereferenced */
    struct bj_settings
        *used_settings; /* settings that request uses; a reference */
    struct bj_prom_request request;
    bool has_head;            /* the next three are known */
    bool packed;              /* the body is compressed by gzip */
    unsigned status;          /* status of the reply */
    uint64_t length;          /* length of the reply's body; 0: unknown */
    struct bj_buf reply_body; /* the reply's body, until the response begins */
    struct bj_flow *flow;
    struct bj_stream *stream;
    struct bj_request_log log; /* log line of the stream */
    uint64_t bytes;
};

/* The work of the second part (bj_endpoint.after): the body of a success. */
struct bj_gate_kept {
    struct bj_settings *settings; /* a reference */
    struct bj_buf body;
};

/* Make the work of a second part, which takes ownership of the job's body.
 * NULL: out of memory. */
struct bj_gate_kept *bj_gate_kept_new(struct bj_gate_job *j);
void bj_gate_kept_free(struct bj_gate_kept *k);

/* All admitted requests. */
struct bj_gate_list {
    pthread_mutex_t lock;
    struct bj_gate_job *first;
    unsigned n;
};

/* Make the job of a call, which is not in the list yet; NULL: out of memory. */
struct bj_gate_job *bj_gate_job_new(struct bj_gate_list *l, struct bj_call *c);
void bj_gate_job_free(struct bj_gate_job *j); /* NULL is fine */

/* Add the job to the list, if the call's user may have another request at the
 * servers that its span needs.  0, or a refusal. */
int bj_gate_admit(struct bj_gate_job *j, struct bj_call *c);

/* Fill in the request to a server of these settings at the time now_usec;
 * running: the number of running requests. */
int bj_gate_job_prepare(struct bj_gate_job *j,
                        const struct bj_gate_server *server,
                        struct bj_settings *settings, uint64_t running,
                        uint64_t now_usec, struct bj_err *err);

/* Drop the request and its reply, of which nothing was sent to the client. */
void bj_gate_job_reset(struct bj_gate_job *j);

/* Rewrite the response to a refused call in that format. */
void bj_gate_refused(struct bj_call *c);

/* Refuse a call with an errorType of Prometheus.  Returns status. */
int bj_gate_refuse(struct bj_call *c, unsigned status, const char *type,
                   const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif

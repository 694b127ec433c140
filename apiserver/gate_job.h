/* A request of the gate on its way to the Prometheus server and back. */
#ifndef BJ_APISERVER_GATE_JOB_H
#define BJ_APISERVER_GATE_JOB_H

#include "apiserver/call.h"
#include "base/arena.h"
#include "base/fetches.h"
#include "base/stream.h"

#include <pthread.h>

struct bj_gate;
struct bj_gate_list;
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
    struct bj_buf path; /* behind the URL of the server, terminated */
    struct bj_buf form; /* for a GET part of the path */
    uint64_t start_usec, end_usec; /* boot clock */
    /* NULL, or writes the response from the whole body of a success; without
     * it, bodies are passed on as they come.  A refusal, or 0. */
    int (*convert)(struct bj_call *c, struct bj_slice body);
    /* the rest belongs to the thread */
    bool gzip, discard, blocked;
    struct bj_fetch_request req;
    struct bj_buf url, whole;
    const char *header[24];
    char token[2048], password[512];
    struct bj_flow *flow;
    struct bj_stream *stream;
    uint64_t bytes;
};

/* All requests that are admitted. */
struct bj_gate_list {
    pthread_mutex_t lock;
    struct bj_gate_job *first;
    unsigned n;
};

/* Count one more request of the user of the call and make its job.  0, or a
 * refusal. */
int bj_gate_admit(struct bj_gate_list *l, struct bj_call *c,
                  struct bj_gate_job **ret);
void bj_gate_job_free(struct bj_gate_job *j); /* NULL is fine */

/* Fill in the request to the Prometheus server, at the time now_usec. */
int bj_gate_job_prepare(struct bj_gate_job *j, uint64_t now_usec,
                        struct bj_err *err);

#endif

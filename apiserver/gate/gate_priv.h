/* Shared by gate_send.c and gate_run.c; private to them. */
#ifndef BJ_APISERVER_GATE_GATE_PRIV_H
#define BJ_APISERVER_GATE_GATE_PRIV_H

#include "apiserver/gate/gate_pool.h"
#include "apiserver/gate/gate_send.h"

struct bj_gate_queue {
    struct bj_gate_job *first, **last;
};

struct bj_gate {
    struct bj_gate_events events;
    void *ctx;
    struct bj_gate_list admitted;
    struct bj_fetches *fetches; /* NULL: the gate was never on */
    struct bj_gate_pool *pool;
    struct bj_gate_queue waiting, running;
    bool changed; /* a job arrived or ended, or its client has read data */
    uint64_t checked_usec; /* when clients were checked for a disconnect */
    uint64_t pool_usec;    /* when the next check of a server is due */
    /* metrics */
    uint64_t running_now, waiting_now, bytes, failures, canceled, timeouts;
    uint64_t retries;
};

static inline void bj_gate_push(struct bj_gate_queue *q, struct bj_gate_job *j)
{
    j->next = NULL;
    *q->last = j;
    q->last = &j->next;
}

/* Serve the jobs: continue those whose streams have room again, cancel those
 * without a client, and start waiting ones.  check: also find clients that have
 * disconnected. */
void bj_gate_serve(struct bj_gate *g, uint64_t now_usec, bool check);
/* Does any job wait for its response? */
bool bj_gate_is_busy(const struct bj_gate *g);
/* Refuse all jobs, because the server stops. */
void bj_gate_refuse_all(struct bj_gate *g);

#endif

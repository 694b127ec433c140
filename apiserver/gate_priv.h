/* Shared by gate_send.c and gate_run.c; private to them. */
#ifndef BJ_APISERVER_GATE_PRIV_H
#define BJ_APISERVER_GATE_PRIV_H

#include "apiserver/gate_pool.h"
#include "apiserver/gate_send.h"

struct bj_gate_queue {
    struct bj_gate_job *first, **last;
};

struct bj_gate {
    struct bj_gate_events events;
    void *ctx;
    int wake; /* eventfd */
    bool started;
    pthread_t thread;
    struct bj_gate_list admitted;
    /* under the lock */
    pthread_mutex_t lock;
    struct bj_gate_queue submitted;
    struct bj_settings *settings; /* new ones; NULL: none */
    bool stop;
    /* of the thread */
    struct bj_fetches *fetches;
    struct bj_gate_pool *pool;
    struct bj_gate_queue waiting, running;
    /* atomic */
    uint64_t running_now, waiting_now, bytes, failures, canceled, timeouts;
    uint64_t retries;
};

static inline void bj_gate_push(struct bj_gate_queue *q, struct bj_gate_job *j)
{
    j->next = NULL;
    *q->last = j;
    q->last = &j->next;
}

/* Wake the thread: there is something new.  From any thread. */
void bj_gate_wake(void *gate);

/* Serve the jobs of the thread: continue where there is room again, cancel what
 * no client waits for, start what waits.  check: also find clients that have
 * disconnected. */
void bj_gate_serve(struct bj_gate *g, uint64_t now_usec, bool check);
/* Does a job wait for its response? */
bool bj_gate_is_busy(const struct bj_gate *g);
/* Refuse all jobs: the server stops. */
void bj_gate_refuse_all(struct bj_gate *g);

#endif

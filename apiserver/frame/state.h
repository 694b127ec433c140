/* The state of the server: endpoints, threads, requests and counters.
 *
 * The thread of the HTTP server receives requests, sends responses, and
 * forwards requests of the gate.  Other requests wait in a queue for a work
 * thread. Each work thread has its own connection to the store, so that a long
 * query delays only itself.  Queries of admins, which may read the jobs of all
 * users, never use all work threads.  The second parts of endpoints, which wait
 * for other servers or take long, run in separate threads. */
#ifndef BJ_APISERVER_FRAME_STATE_H
#define BJ_APISERVER_FRAME_STATE_H

#include "apiserver/access/limit.h"
#include "apiserver/conf/conf.h"
#include "apiserver/conf/prompool.h"
#include "apiserver/frame/call.h"
#include "apiserver/frame/reader.h"
#include "apiserver/frame/texts.h"

#include <pthread.h>
#include <stddef.h>

enum { BJ_API_ENDPOINTS = 112, BJ_API_CLASSES = 6 };
enum { BJ_API_THREADS = 64 };

struct bj_gate;
struct bj_server;

/* Options and the content of their files. Immutable; freed after the last
 * request that uses them. */
struct bj_settings {
    struct bj_api_conf *conf; /* counts its references */
    struct bj_auth *auth;
    struct bj_secrets *secrets; /* of the server */
    struct bj_prompool *prom;   /* NULL: none is configured */
    unsigned refs;              /* atomic */
};

/* The data of a thread that answers requests. */
struct bj_api_worker {
    struct bj_server *server;
    struct bj_settings *settings;
    /* from settings, like the next two members */
    const struct bj_api_conf *conf;
    struct bj_auth *auth;
    struct bj_prompool *prom;
    struct bj_httpd *httpd;
    struct bj_reader *reader; /* its own */
    struct bj_words *words;   /* its own */
    struct bj_texts *texts;   /* its own; NULL: not read yet */
    const struct bj_endpoint *const *endpoint;
    struct bj_buf scratch; /* for composed texts */
    struct bj_reader_stat seen;
    pthread_t thread;
};

/* A request, from its arrival to its response. */
struct bj_request {
    struct bj_request *next;
    struct bj_call call;
    struct bj_http_reply reply;
    unsigned at; /* index of its endpoint */
    uint64_t start_usec;
    bool quick; /* runs in the thread of the HTTP server, which must not wait */
    /* checked, except for the user, whose look-up may take long */
    bool checked;
    bool parked;  /* it waits, because too many queries of admins are running */
    bool counted; /* it is a query of an admin */
    struct bj_settings *settings; /* while it is parked: the settings that
                                     authenticated call.who; a reference */
};

static inline struct bj_request *bj_request_of(struct bj_call *c)
{
    return (struct bj_request *)((char *)c - offsetof(struct bj_request, call));
}

struct bj_queue {
    struct bj_request *first, **last;
};

static inline void bj_queue_push(struct bj_queue *q, struct bj_request *t)
{
    t->next = NULL;
    *q->last = t;
    q->last = &t->next;
}

/* Remove and return the first request, or NULL. */
static inline struct bj_request *bj_queue_pop(struct bj_queue *q)
{
    struct bj_request *t = q->first;
    if (t) {
        q->first = t->next;
        if (!q->first)
            q->last = &q->first;
    }
    return t;
}

/* Number of requests of one endpoint by the first digit of their status;
 * atomic. */
struct bj_api_count {
    uint64_t n[BJ_API_CLASSES];
    uint64_t usec;
};

enum { BJ_REPLICA_NONE = -1 };

/* The lag of the server's store; all members are atomic. */
struct bj_replica {
    uint64_t due_usec;  /* when to query the lag again; boot clock */
    uint64_t last_usec; /* when it last had no lag; boot clock; 0: never */
    int64_t lag_msec; /* BJ_REPLICA_NONE: not a replica; BJ_SQL_NULL: unknown */
};

struct bj_server {
    struct bj_httpd *httpd;
    const char *program; /* the program that draws PDF; NULL: none */
    const struct bj_endpoint *endpoint[BJ_API_ENDPOINTS]; /* NULL at the end */
    struct bj_api_count count[BJ_API_ENDPOINTS]; /* the last one counts requests
                                                    without an endpoint */
    struct bj_secrets *secrets; /* that were right; kept over reloads */
    struct bj_limit *limit;
    struct bj_gate *gate;
    struct bj_bucket bucket; /* rate of all requests */
    struct bj_web_watch watch;
    uint64_t started_sec, requests;        /* for request ids */
    uint64_t store_opened, store_timeouts; /* atomic */
    size_t made_bytes; /* bytes of finished and unfinished responses; atomic */
    bool store_open, reload_failed; /* atomic */
    struct bj_replica replica;
    struct bj_request *last; /* the last request that was answered at once */
    bool readable;           /* streams of the gate have more data */
    struct pollfd *poll;     /* descriptors that the loop polls */
    size_t polls;            /* allocated elements of poll */
    struct bj_api_worker http_worker; /* worker of the HTTP server's thread */
    int wake;                         /* eventfd: responses are finished */
    /* under the lock */
    pthread_mutex_t lock;
    pthread_cond_t work_cond, wait_cond;
    struct bj_settings *settings;
    struct bj_queue todo, parked, waiting, done;
    unsigned admin_queries, admin_queries_max;
    pthread_cond_t room_cond; /* there may be room for a second part */
    /* threads that wait for room on room_cond or work_cond */
    unsigned room_waiters;
    bool writing; /* a second part writes its response */
    bool stop;
    struct bj_api_worker worker[BJ_API_THREADS];
    unsigned workers, waiters, waiters_busy;
    pthread_t waiter[BJ_PROM_QUERIES];
};

#endif

/* The state of the server: endpoints, the threads that answer, and its own
 * counters.
 *
 * The thread of the HTTP server takes requests and sends answers, and forwards
 * those of the gate.  Other requests wait in between in a queue for a work
 * thread; each of these has its own connection to the store, so that a long
 * query delays only itself.  Queries of admins, which may read the jobs of all
 * users, never take all work threads.  The second parts of endpoints, which
 * wait for other servers or take long, run in threads of their own. */
#ifndef BJ_APISERVER_STATE_H
#define BJ_APISERVER_STATE_H

#include "apiserver/call.h"
#include "apiserver/conf.h"
#include "apiserver/limit.h"
#include "apiserver/prompool.h"
#include "apiserver/texts.h"
#include "apiserver/words.h"

#include <pthread.h>
#include <stddef.h>

enum { BJ_API_ENDPOINTS = 80, BJ_API_CLASSES = 6 };
enum { BJ_API_THREADS = 64 };

struct bj_gate;
struct bj_server;

/* Options and the content of their files. Immutable; freed after the last
 * request that uses them. */
struct bj_settings {
    struct bj_api_conf *conf; /* counts its references */
    struct bj_auth *auth;
    struct bj_prompool *prom; /* NULL: none is configured */
    unsigned refs;            /* atomic */
};

/* What a thread needs to answer requests. */
struct bj_api_worker {
    struct bj_server *server;
    struct bj_settings *settings;
    const struct bj_api_conf *conf; /* of settings, like the next two */
    struct bj_auth *auth;
    struct bj_prompool *prom;
    struct bj_httpd *httpd;
    struct bj_reader *reader; /* its own */
    struct bj_words *words;   /* its own */
    struct bj_texts *texts;   /* its own; NULL: not read */
    const struct bj_endpoint *const *endpoint;
    struct bj_buf scratch; /* for texts that are joined */
    struct bj_reader_stat seen;
    pthread_t thread;
};

/* A request from its arrival to its answer. */
struct bj_request {
    struct bj_request *next;
    struct bj_call call;
    struct bj_http_reply reply;
    unsigned at; /* which endpoint */
    uint64_t start_usec;
    bool quick;   /* in the thread of the HTTP server, which must not wait */
    bool checked; /* all but its user, whose look-up takes time */
    bool parked;  /* parked: too many queries of admins are running */
    bool counted; /* it is a query of an admin */
    struct bj_settings *settings; /* settings that authenticated call.who, while
                                     it is parked; a reference */
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

/* The first, or NULL. */
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

/* Requests of one endpoint by the first digit of their status; atomic. */
struct bj_api_count {
    uint64_t n[BJ_API_CLASSES];
    uint64_t usec;
};

enum { BJ_REPLICA_NONE = -1 };

/* How far the store of a server is behind; all atomic. */
struct bj_replica {
    uint64_t due_usec;  /* when to look again, of the boot clock */
    uint64_t last_usec; /* when it was last not behind; 0: never */
    int64_t lag_msec;   /* BJ_REPLICA_NONE, BJ_SQL_NULL: unknown */
};

struct bj_server {
    struct bj_httpd *httpd;
    const char *program; /* that draws PDF; NULL: none */
    const struct bj_endpoint *endpoint[BJ_API_ENDPOINTS]; /* NULL at the end */
    struct bj_api_count count[BJ_API_ENDPOINTS]; /* the last one counts requests
                                                    without an endpoint */
    struct bj_limit *limit;
    struct bj_gate *gate;
    struct bj_bucket bucket; /* of all requests together */
    struct bj_web_watch watch;
    uint64_t started_sec, requests;        /* for request ids */
    uint64_t store_opened, store_timeouts; /* atomic */
    size_t made_bytes; /* bytes of responses made and being made; atomic */
    bool store_open, reload_failed; /* atomic */
    struct bj_replica replica;
    struct bj_request *last;  /* answered at once */
    bool readable;            /* streams of the gate have more */
    struct pollfd *poll;      /* what the loop polls */
    size_t polls;             /* room in it */
    struct bj_api_worker own; /* of the HTTP server's thread */
    int wake;                 /* eventfd: there are answers */
    /* under the lock */
    pthread_mutex_t lock;
    pthread_cond_t work_cond, wait_cond;
    struct bj_settings *settings;
    struct bj_queue todo, parked, waits, done;
    unsigned admin_queries, admin_queries_max;
    pthread_cond_t room_cond; /* there may be room for a second part */
    unsigned room_waiters;    /* on it or work_cond */
    bool writing;             /* a second part, its response */
    bool stop;
    struct bj_api_worker worker[BJ_API_THREADS];
    unsigned workers, waiters, waiters_busy;
    pthread_t waiter[BJ_PROM_QUERIES];
};

#endif

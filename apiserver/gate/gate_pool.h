/* The Prometheus servers of the gate: which are up, how many queries run there,
 * and their health checks.
 *
 * Every server is checked at intervals.  A server that does not respond to a
 * check or a query is down until it responds again; it is then checked after a
 * second, and later less often. */
#ifndef BJ_APISERVER_GATE_GATE_POOL_H
#define BJ_APISERVER_GATE_GATE_POOL_H

#include "apiserver/conf/gate_servers.h"
#include "base/fetches.h"

struct bj_gate_pool;
struct bj_settings;

/* -ENOMEM.  All functions are for one thread. */
int bj_gate_pool_new(struct bj_gate_pool **ret, struct bj_err *err);
void bj_gate_pool_free(struct bj_gate_pool *p); /* NULL is fine */

/* Use the servers of these settings; takes ownership of the reference.  Servers
 * with an unchanged URL keep their state.  If memory is exhausted, the old
 * servers stay. */
void bj_gate_pool_use(struct bj_gate_pool *p, struct bj_fetches *fetches,
                      struct bj_settings *settings);
struct bj_settings *bj_gate_pool_settings(const struct bj_gate_pool *p);

/* Return pointers to the *n servers, valid until the next bj_gate_pool_use().
 */
struct bj_gate_upstream *const *bj_gate_pool_all(const struct bj_gate_pool *p,
                                                 unsigned *ret_n);

/* Report that a query begins and ends at a server.  Between these calls, u
 * stays valid. */
void bj_gate_pool_begin(struct bj_gate_pool *p, struct bj_gate_upstream *u);
void bj_gate_pool_end(struct bj_gate_pool *p, struct bj_gate_upstream *u);
/* Report that a query failed, for the reason in text, or that the server sent a
 * reply of Prometheus. */
void bj_gate_pool_failed(struct bj_gate_upstream *u, const char *text);
void bj_gate_pool_worked(struct bj_gate_upstream *u);

/* Begin the checks that are due.  Returns when the next one is due, by the boot
 * clock; UINT64_MAX: never. */
uint64_t bj_gate_pool_check(struct bj_gate_pool *p, struct bj_fetches *fetches,
                            uint64_t now_usec);
/* End all checks. */
void bj_gate_pool_stop(struct bj_gate_pool *p, struct bj_fetches *fetches);

/* Append the metrics of the servers. */
void bj_gate_pool_metrics(struct bj_gate_pool *p, struct bj_buf *b);

/* A server as the gate sees it now. */
struct bj_gate_upstream {
    const struct bj_gate_server *conf; /* NULL: no longer in the options */
    bool up;                           /* its last response was valid */
    unsigned running;                  /* queries of the gate */
    unsigned user_running;             /* of these: queries of the user */
    uint64_t last_use; /* larger for servers that were used later */
};

/* Requirements of a query. */
struct bj_gate_need {
    struct bj_promql_span span;
    int64_t now_ms;
    uint64_t own_max; /* maximum number of queries of one user at a server */
    /* the server that failed: only other servers that are up are chosen; NULL:
     * none */
    const struct bj_gate_upstream *failed;
};

/* Choose the server for a query; returns its index in v.  Candidates are the
 * servers that cover the query's time and are up; of those with the shortest
 * retention, the one with the fewest queries is chosen.  If all servers that
 * cover the time are down, one of them; if none covers it, one with the longest
 * retention.
 * -EAGAIN: the servers for it have no room now; -ENOENT: there is none. */
int bj_gate_route(struct bj_gate_upstream *const *v, unsigned n,
                  const struct bj_gate_need *need);

#endif

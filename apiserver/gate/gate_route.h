/* Chooses the server for a query of the gate. */
#ifndef BJ_APISERVER_GATE_GATE_ROUTE_H
#define BJ_APISERVER_GATE_GATE_ROUTE_H

#include "apiserver/conf/gate_servers.h"

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

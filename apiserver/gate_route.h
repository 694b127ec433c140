/* Which server gets a query of the gate. */
#ifndef BJ_APISERVER_GATE_ROUTE_H
#define BJ_APISERVER_GATE_ROUTE_H

#include "apiserver/gate_servers.h"

/* A server as the gate sees it now. */
struct bj_gate_upstream {
    const struct bj_gate_server *conf; /* NULL: no longer in the options */
    bool up;                           /* its last response was one */
    unsigned running;                  /* queries of the gate */
    unsigned own;                      /* of them, those of the user */
    uint64_t turn; /* grows from the server that was used first to the last */
};

/* What a query needs. */
struct bj_gate_need {
    struct bj_promql_span span;
    int64_t now_ms;
    uint64_t own_max;                      /* queries of one user at a server */
    const struct bj_gate_upstream *failed; /* NULL, or the server that failed:
                                              only others that are up */
};

/* The server for a query, an index of v.  Of the servers that cover its time
 * and are up, those with the shortest retention; of these the one with the
 * fewest queries.  When all that cover it are down, one of these; when none
 * covers it, the one with the longest retention.
 * -EAGAIN: the servers for it have no room now; -ENOENT: there is none. */
int bj_gate_route(struct bj_gate_upstream *const *v, unsigned n,
                  const struct bj_gate_need *need);

#endif

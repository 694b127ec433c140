/* The Prometheus servers behind the gate: option gate.servers, and which of
 * them have the series of a time. */
#ifndef BJ_APISERVER_GATE_SERVERS_H
#define BJ_APISERVER_GATE_SERVERS_H

#include "promql/reach.h"
#include "statsdb/prom.h"

enum { BJ_GATE_SERVERS = 16, BJ_GATE_SERVER_HEADERS = 4 };

struct bj_gate_server {
    struct bj_prom_conf client; /* url, credentials, certificates, headers */
    uint64_t retention_usec;    /* its oldest series; 0: unlimited */
    uint64_t delay_usec;        /* its newest series */
    uint64_t queries;           /* concurrent ones at most */
    char *text, *header[BJ_GATE_SERVER_HEADERS + 1]; /* client points there */
};

/* All servers. */
struct bj_gate_servers {
    struct bj_gate_server *v;
    size_t n;
};

/* One entry of gate.servers: 0, or -EINVAL with what was expected. */
int bj_gate_server_check(const char *text, struct bj_err *err);

/* Read all entries; without any, prom is the only server.  queries: for servers
 * that do not limit theirs.  prom and its texts must outlive ret. */
int bj_gate_servers_read(const struct bj_strv *entries,
                         const struct bj_prom_conf *prom, uint64_t queries,
                         struct bj_gate_servers *ret, struct bj_err *err);
void bj_gate_servers_free(struct bj_gate_servers *s);

/* Has it all series of that time? */
bool bj_gate_server_covers(const struct bj_gate_server *s,
                           struct bj_promql_span span, int64_t now_ms);

/* Its retention in microseconds, UINT64_MAX for an unlimited one. */
uint64_t bj_gate_server_reach(const struct bj_gate_server *s);

/* The retention of the servers that answer a query of that time while all
 * work: the shortest that covers it, or the longest of all. */
uint64_t bj_gate_servers_for(const struct bj_gate_servers *s,
                             struct bj_promql_span span, int64_t now_ms);

/* Have the servers different retentions? */
bool bj_gate_servers_differ(const struct bj_gate_servers *s);

#endif

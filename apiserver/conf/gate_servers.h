/* The Prometheus servers behind the gate: reads the option gate.servers, and
 * finds the servers that have the samples of a period. */
#ifndef BJ_APISERVER_CONF_GATE_SERVERS_H
#define BJ_APISERVER_CONF_GATE_SERVERS_H

#include "promql/reach.h"
#include "statsdb/prom/prom.h"

enum { BJ_GATE_SERVERS = 16, BJ_GATE_SERVER_HEADERS = 4 };

struct bj_gate_server {
    struct bj_prom_conf client; /* url, credentials, certificates, headers */
    uint64_t retention_usec;    /* age of its oldest samples; 0: unlimited */
    uint64_t delay_usec;        /* age of its newest samples */
    uint64_t queries;           /* maximum number of concurrent queries */
    /* texts to which client points */
    char *text, *header[BJ_GATE_SERVER_HEADERS + 1];
};

/* All servers. */
struct bj_gate_servers {
    struct bj_gate_server *v;
    size_t n;
};

/* Check one entry of gate.servers: 0, or -EINVAL with the expected format in
 * the message. */
int bj_gate_server_check(const char *text, struct bj_err *err);

/* Read all entries; without entries, prom is the only server.  queries: limit
 * for servers whose entry has none.  prom and its texts must outlive ret. */
int bj_gate_servers_read(const struct bj_strv *entries,
                         const struct bj_prom_conf *prom, uint64_t queries,
                         struct bj_gate_servers *ret, struct bj_err *err);
void bj_gate_servers_free(struct bj_gate_servers *s);

/* Does the server have all samples of that period? */
bool bj_gate_server_covers(const struct bj_gate_server *s,
                           struct bj_promql_span span, int64_t now_ms);

/* The retention of a server in microseconds; UINT64_MAX: unlimited. */
uint64_t bj_gate_server_retention(const struct bj_gate_server *s);

/* The retention of the servers that get a query for that period if all servers
 * are up: the shortest one that covers it, or the longest of all. */
uint64_t bj_gate_servers_for(const struct bj_gate_servers *s,
                             struct bj_promql_span span, int64_t now_ms);

/* Do the retentions of the servers differ? */
bool bj_gate_servers_differ(const struct bj_gate_servers *s);

#endif

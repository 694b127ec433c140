/* Options of the PromQL gate: rules for series, servers, and limits. */
#ifndef BJ_APISERVER_CONF_GATE_CONF_H
#define BJ_APISERVER_CONF_GATE_CONF_H

#include "apiserver/conf/gate_servers.h"
#include "promql/rules.h"

struct bj_gate_conf {
    bool enabled;
    struct bj_strv metrics; /* rules of the site */
    struct bj_strv entries; /* servers */
    uint64_t timeout_usec, range_usec, steps, bytes;
    uint64_t queries, user_queries;
    struct bj_promql_rule *rule; /* the site's rules, then the built-in ones */
    size_t rules;
    struct bj_gate_servers servers;
};
extern const struct bj_opt bj_gate_opts[];

/* Read the rules and the servers; prom, which must outlive conf, is the server
 * if gate.servers is empty.  -EINVAL with the option in the message. */
int bj_gate_conf_check(struct bj_gate_conf *conf,
                       const struct bj_prom_conf *prom, struct bj_err *err);
void bj_gate_conf_free(struct bj_gate_conf *conf);

#endif

/* Options of the PromQL gate: who may read which series, and limits. */
#ifndef BJ_APISERVER_GATE_CONF_H
#define BJ_APISERVER_GATE_CONF_H

#include "base/opt.h"
#include "promql/rules.h"

struct bj_gate_conf {
    bool enabled;
    struct bj_strv metrics; /* rules of the site */
    uint64_t timeout_usec, range_usec, steps, bytes;
    uint64_t queries, user_queries;
    struct bj_promql_rule *rule; /* those of the site, then the presets */
    size_t rules;
};
extern const struct bj_opt bj_gate_opts[];

/* Read the rules; url: that of the Prometheus server.  -EINVAL with a message
 * that names the option. */
int bj_gate_conf_check(struct bj_gate_conf *conf, const char *url,
                       struct bj_err *err);
void bj_gate_conf_free(struct bj_gate_conf *conf);

#endif

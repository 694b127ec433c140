/* Options of findings on running jobs (docs/derived.md). */
#ifndef BJ_STATSDB_CONF_RUNNING_CONF_H
#define BJ_STATSDB_CONF_RUNNING_CONF_H

#include "base/opt.h"

#include <stdbool.h>

struct bj_running_conf {
    bool findings;
    uint64_t interval_usec;
    uint64_t max_age_usec; /* of data on which findings are based */
    bool dry_run; /* record actions of "escalate", but do not perform them */
    struct bj_strv cancel_allow;   /* user:NAME, account:NAME, ... */
    struct bj_strv cancel_command; /* and its arguments */
};

extern const struct bj_opt bj_running_opts[];

/* Does cancel_allow contain this kind and value ("user", "alice")? */
bool bj_running_allows(const struct bj_running_conf *c, const char *kind,
                       struct bj_slice name);

#endif

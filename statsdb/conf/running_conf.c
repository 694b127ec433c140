#include "statsdb/conf/running_conf.h"

#include "base/text.h"

#include <stddef.h>
#include <string.h>

#define OF(member) offsetof(struct bj_running_conf, member)
#define SEC(n) ((uint64_t)(n)*1000000)

static const char *const kinds[] = {"user", "account", "partition", "qos"};

static bool is_kind(const char *item)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        size_t n = strlen(kinds[i]);
        if (strncmp(item, kinds[i], n) == 0 && item[n] == ':' && item[n + 1])
            return true;
    }
    return false;
}

static int check_allow(const char *text, struct bj_err *err)
{
    return is_kind(text) ? 0
                         : bj_err_set(err, -EINVAL,
                                      "'%.80s' is not user:NAME, account:NAME, "
                                      "partition:NAME or qos:NAME",
                                      text);
}

const struct bj_opt bj_running_opts[] = {
    {.name = "running.findings",
     .kind = BJ_OPT_BOOL,
     .off = OF(findings),
     .preset = "true",
     .help = "Evaluate rules for running jobs, with values of the cluster's "
             "Prometheus server (prometheus.url)."},
    {.name = "running.interval",
     .kind = BJ_OPT_DURATION,
     .off = OF(interval_usec),
     .lo = SEC(30),
     .hi = SEC(86400),
     .preset = "5m",
     .help = "Time between two evaluations of the running jobs.",
     .more = "Set it higher when the Prometheus server is busy."},
    {.name = "running.max-age",
     .kind = BJ_OPT_DURATION,
     .off = OF(max_age_usec),
     .lo = SEC(30),
     .hi = SEC(86400),
     .preset = "10m",
     .help = "Highest age of samples, and of the last import of accounting, "
             "on which findings on running jobs are based.",
     .more = "Set it higher than sacct.interval of the clusters."},
    {.name = "running.dry-run",
     .kind = BJ_OPT_BOOL,
     .off = OF(dry_run),
     .preset = "true",
     .help = "Only record what \"escalate\" in rules would do: send no "
             "warnings, cancel no jobs.",
     .more = "Set it to false when the record shows what you expect."},
    {.name = "running.cancel-allow",
     .kind = BJ_OPT_LIST,
     .off = OF(cancel_allow),
     .arg = "KIND:NAME",
     .check = check_allow,
     .help = "Jobs that rules may cancel: user:NAME, account:NAME, "
             "partition:NAME or qos:NAME; by default none."},
    {.name = "running.cancel-command",
     .kind = BJ_OPT_LIST,
     .off = OF(cancel_command),
     .arg = "WORD",
     .help = "Command that cancels a job, one word per item; {jobid} and "
             "{cluster} are replaced. It is run without a shell.",
     .more = "Set it to scancel and {jobid} where rules cancel jobs."},
    {.name = NULL},
};

bool bj_running_allows(const struct bj_running_conf *c, const char *kind,
                       struct bj_slice name)
{
    size_t n = strlen(kind);
    for (size_t i = 0; i < c->cancel_allow.n; i++) {
        const char *item = c->cancel_allow.v[i];
        if (strncmp(item, kind, n) == 0 && item[n] == ':' &&
            bj_slice_eq(bj_slice_str(item + n + 1), name))
            return true;
    }
    return false;
}

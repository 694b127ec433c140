#include "snmp-agent/conf.h"

#include <string.h>

#define AT(member) offsetof(struct bj_snmp_conf, member)

static int check_base(const char *text, struct bj_err *err)
{
    struct bj_oid oid;
    return bj_oid_parse(text, BJ_SNMP_BASE_MAX, &oid, err);
}

static const struct bj_opt options[] = {
    {.name = "agentx.socket",
     .kind = BJ_OPT_STR,
     .off = AT(session.socket),
     .preset = "/var/agentx/master",
     .arg = "ADDRESS",
     .check = bj_session_check,
     .help = "Socket of the SNMP agent (AgentX master): a path, or "
             "tcp:127.0.0.1:PORT.",
     .more = "It is agentXSocket of snmpd.conf. AgentX knows no passwords: who "
             "reaches the socket may show any values under any object. So TCP "
             "is accepted for loopback addresses only, and a path with a group "
             "of its own is better."},
    {.name = "agentx.timeout",
     .kind = BJ_OPT_DURATION,
     .off = AT(session.timeout_usec),
     .lo = 100 * 1000,
     .hi = (uint64_t)60 * 1000000,
     .preset = "5s",
     .help = "Time for a reply of the SNMP agent; then the session is opened "
             "again.",
     .more = "Raise it for an snmpd that is often busy for longer.",
     .rare = true},
    {.name = "agentx.ping-interval",
     .kind = BJ_OPT_DURATION,
     .off = AT(session.ping_usec),
     .lo = 100 * 1000,
     .hi = (uint64_t)3600 * 1000000,
     .preset = "15s",
     .help = "Silence after which the session is tested.",
     .more = "A shorter one finds an snmpd sooner that hangs.",
     .rare = true},
    {.name = "snmp.base-oid",
     .kind = BJ_OPT_STR,
     .off = AT(base_oid),
     .preset = BJ_SNMP_BASE,
     .arg = "OID",
     .check = check_base,
     .help = "Root of the MIB, with at most 10 numbers.",
     .more = "Set it to a part of the site's own enterprise number, and the "
             "same numbers in the MODULE-IDENTITY of BATCHJOB-MIB.txt. The "
             "preset is in a part of net-snmp's numbers that is free for "
             "private use."},
    {.name = "snmp.notify",
     .kind = BJ_OPT_LIST,
     .off = AT(edges.notify),
     .preset = "job-oom,meter,gpu,records",
     .choices = BJ_EDGE_CHOICES,
     .help = "Notifications to send. Repeat for more; an empty value sends "
             "none.",
     .more = "job-oom: the kernel has killed processes of a job for lack of "
             "memory. meter: a power meter is lost, or back. gpu: a GPU does "
             "not answer or has new errors. records: final records have "
             "waited for longer than snmp.records-age. A notification is sent "
             "when this begins. snmpd sends it on to the receivers of its "
             "configuration."},
    {.name = "snmp.notify-rate",
     .kind = BJ_OPT_U64,
     .off = AT(edges.rate),
     .lo = 1,
     .hi = 6000,
     .preset = "10",
     .help = "Most notifications in a minute.",
     .more = "bjNotificationsRefused counts those above. Raise it for a node "
             "with many jobs.",
     .rare = true},
    {.name = "snmp.records-age",
     .kind = BJ_OPT_DURATION,
     .off = AT(edges.records_usec),
     .lo = 1000000,
     .hi = (uint64_t)30 * 86400 * 1000000,
     .preset = "15m",
     .help = "Age of the oldest waiting final record that is notified.",
     .more = "Raise it if batchjob_stats_db is often stopped for longer.",
     .rare = true},
    {.name = "snmp.max-rows",
     .kind = BJ_OPT_U64,
     .off = AT(max_rows),
     .lo = 1,
     .hi = 100000,
     .preset = "10000",
     .help = "Most rows of a table; bjRowsRefused counts those above.",
     .more = "A walk of a column takes some 70 microseconds for each row.",
     .rare = true},
    {.name = "sample.interval",
     .kind = BJ_OPT_DURATION,
     .off = AT(interval_usec),
     .lo = 100 * 1000,
     .hi = (uint64_t)3600 * 1000000,
     .preset = "15s",
     .help = "Run a pass at this interval. Requests read the newest one.",
     .more = "Set it to that of the manager's requests, if these are rarer. "
             "After four intervals without a pass that succeeds, and at least "
             "a minute, only the objects of the program itself are left."},
    {.name = NULL},
};

void bj_snmp_conf_sets(struct bj_snmp_conf *c,
                       struct bj_optset sets[BJ_SNMP_SETS])
{
    sets[0] = (struct bj_optset){options, c};
    bj_conf_sets(&c->core, sets + 1);
    sets[1 + BJ_CONF_SETS] = (struct bj_optset){bj_program_opts, &c->program};
}

void bj_snmp_conf_free(struct bj_snmp_conf *c)
{
    struct bj_optset sets[BJ_SNMP_SETS];
    bj_snmp_conf_sets(c, sets);
    for (int i = 0; i < BJ_SNMP_SETS; i++)
        bj_opt_free(&sets[i]);
}

int bj_snmp_conf_load(struct bj_snmp_conf *c, int argc, char **argv,
                      struct bj_err *err)
{
    struct bj_optset sets[BJ_SNMP_SETS];
    bj_snmp_conf_sets(c, sets);
    int r = bj_program_load(&c->program, sets, BJ_SNMP_SETS, argc, argv, err);
    if (r < 0 || c->program.help || c->program.version)
        return r;
    if (!*c->session.socket)
        return bj_err_set(err, -EINVAL, "agentx.socket: it is empty");
    if (!*c->base_oid)
        return bj_err_set(err, -EINVAL, "snmp.base-oid: it is empty");
    return 0;
}

void bj_snmp_conf_help(bool all, struct bj_buf *out)
{
    struct bj_snmp_conf c;
    struct bj_optset sets[BJ_SNMP_SETS];
    bj_snmp_conf_sets(&c, sets);
    bj_buf_str(out, "Usage: batchjob_snmp [OPTION]...\n"
                    "       batchjob_snmp check-config [--online] [OPTION]...\n"
                    "Shows the batch jobs on this node to SNMP managers, as a "
                    "sub-agent of snmpd.\n");
    bj_opt_help_groups(sets, BJ_SNMP_SETS, all, out);
    if (!all)
        bj_buf_str(out, "\n--help=all shows all options.\n");
}

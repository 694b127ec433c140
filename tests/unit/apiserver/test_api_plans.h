/* The requests of test_api_plans.c, and their plans. */
#ifndef BJ_TESTS_UNIT_APISERVER_TEST_API_PLANS_H
#define BJ_TESTS_UNIT_APISERVER_TEST_API_PLANS_H

#include <stddef.h>

/* --- requests --------------------------------------------------------------
 */

struct plan_request {
    const char *user, *path;
    const char *want_line; /* must be in a line of its plans */
    const char *allowed;   /* a scan or sort that is allowed, and ... */
    const char *why;       /* ... why its cost is limited */
    const char *body;      /* of a POST */
    unsigned status;       /* of the response; 0: 200 */
};

#define YEAR "from=1700000000&to=now"
#define UUID "01234567-89ab-cdef-0123-456789abcdef"
#define RANGE                                                                  \
    "\"range\":{\"from\":\"2024-01-01T00:00:00Z\","                            \
    "\"to\":\"2100-01-01T00:00:00Z\"}}"
#define TARGET(name) "{\"targets\":[{\"target\":\"" name "\"}]," RANGE

#define BY_USER "j USING INDEX job_user (user=? AND at>? AND at<?)"
#define BY_ACCOUNT "j USING INDEX job_account (account=? AND at>? AND at<?)"
#define BY_TIME "j USING INDEX job_at (at>? AND at<?)"
#define BY_ID "job USING COVERING INDEX job_key (cluster=? AND jobid=?"
#define BY_HET                                                                 \
    "job USING COVERING INDEX job_key (cluster=? AND jobid>? AND jobid<?)"

#define BY_ACCOUNT_NAME "assoc_account (account=?)|(ANY(cluster) AND account=?)"

#define SORTS "USE TEMP B-TREE FOR ORDER BY"
#define FEW SORTS, "few runs have one name"
#define BRANCHES SORTS, "one page of the user's jobs and one of each account"
#define PARTS SORTS, "parts of one job"
#define GROUPS                                                                 \
    "USE TEMP B-TREE FOR GROUP BY|USE TEMP B-TREE FOR ORDER BY",               \
        "the requested groups"
#define LISTS                                                                  \
    "SCAN n USING COVERING INDEX|SCAN a|USE TEMP B-TREE FOR DISTINCT|" SORTS,  \
        "a page of rows; 200 names of users, accounts, partitions, findings"
#define FINDINGS                                                               \
    "USE TEMP B-TREE FOR GROUP BY|SCAN n USING COVERING INDEX|SCAN a|USE "     \
    "TEMP B-TREE FOR DISTINCT|" SORTS,                                         \
        "the rules with findings; 200 names of users, accounts, partitions, "  \
        "findings"
#define HOME                                                                   \
    "USE TEMP B-TREE FOR GROUP BY|USE TEMP B-TREE FOR count|SCAN j USING "     \
    "INDEX job_open|SCAN a USING "                                             \
    "COVERING INDEX assoc_|SCAN record_refused|" SORTS,                        \
        "jobs of the days that are shown, jobs that have not ended, names"
#define WAITING                                                                \
    "USE TEMP B-TREE FOR GROUP BY|USE TEMP B-TREE FOR ORDER BY",               \
        "jobs that wait"
#define ASSOCS SORTS, "names, not jobs"

static const struct plan_request plan_requests[] = {

    {"ada", "/api/v1/jobs?" YEAR, BY_USER, NULL, NULL, NULL, 0},
    {"ada", "/api/v1/jobs?order=asc&" YEAR, BY_USER, NULL, NULL, NULL, 0},
    {"ada", "/api/v1/jobs?cursor=1800000000.9&" YEAR, BY_USER, NULL, NULL, NULL,
     0},
    {"ada", "/api/v1/jobs?order=asc&cursor=1700000000.9&" YEAR, BY_USER, NULL,
     NULL, NULL, 0},
    {"ada", "/api/v1/jobs?running=1", BY_USER, NULL, NULL, NULL, 0},
    {"ada", "/api/v1/jobs?running=0&state=ended,failed&total=1", BY_USER, NULL,
     NULL, NULL, 0},
    {"ada", "/api/v1/jobs?name=on&node=n1&gpu=1&total=1&" YEAR, BY_USER, NULL,
     NULL, NULL, 0},
    {"ada", "/api/v1/jobs?account=phys&partition=long&cluster=hal", BY_USER,
     NULL, NULL, NULL, 0},
    {"ada",
     "/api/v1/"
     "jobs?fields=energy_joules,emissions_grams,finding_names,findings",
     BY_USER, NULL, NULL, NULL, 0},
    {"ada", "/api/v1/jobs?job=hal:2:1800000000", BY_ID, FEW, NULL, 0},
    {"ada", "/api/v1/jobs?job=2", BY_ID, FEW, NULL, 0},
    {"ada", "/api/v1/jobs?job=7%2b1", BY_HET, FEW, NULL, 0},
    {"ada", "/api/v1/jobs?job=s0123456789ABC", "job_sluid (sluid=?)", FEW, NULL,
     0},
    {"ada", "/api/v1/jobs?job=7_1", "job_array (array_job_id=?)", FEW, NULL, 0},
    {"ada", "/api/v1/jobs?job=" UUID, "j USING INDEX job_user (user=?", FEW,
     NULL, 0},
    {"lead", "/api/v1/jobs?" YEAR, BY_ACCOUNT, BRANCHES, NULL, 0},
    {"lead", "/api/v1/jobs?" YEAR, BY_USER, BRANCHES, NULL, 0},
    {"lead", "/api/v1/jobs?cursor=1800000000.9&" YEAR, BY_ACCOUNT, BRANCHES,
     NULL, 0},
    {"lead", "/api/v1/jobs?running=1&name=on", BY_ACCOUNT, BRANCHES, NULL, 0},
    {"lead", "/api/v1/jobs?total=1", BY_ACCOUNT, BRANCHES, NULL, 0},
    {"lead", "/api/v1/jobs?mine=1", BY_USER, NULL, NULL, NULL, 0},
    {"lead", "/api/v1/jobs?job=2", BY_ID, FEW, NULL, 0},
    {"boss", "/api/v1/jobs?" YEAR, BY_TIME, NULL, NULL, NULL, 0},
    {"boss", "/api/v1/jobs?order=asc&" YEAR, BY_TIME, NULL, NULL, NULL, 0},
    {"boss", "/api/v1/jobs?cursor=1800000000.9&" YEAR, BY_TIME, NULL, NULL,
     NULL, 0},
    {"boss", "/api/v1/jobs?name=on&total=1&" YEAR, BY_TIME, NULL, NULL, NULL,
     0},
    {"boss",
     "/api/v1/jobs?node=n1&state=failed&gpu=0&partition=long&cluster=hal",
     BY_TIME, NULL, NULL, NULL, 0},
    {"boss", "/api/v1/jobs?running=1", "j USING INDEX job_open (cluster=?",
     SORTS, "few jobs run at a time", NULL, 0},
    {"boss", "/api/v1/jobs?state=pending,running&began=1",
     "j USING INDEX job_open (cluster=?", SORTS,
     "few jobs wait or run at a time", NULL, 0},
    {"boss", "/api/v1/jobs?began=1&" YEAR, BY_TIME, NULL, NULL, NULL, 0},
    {"boss", "/api/v1/jobs?job=2,3&began=1&" YEAR, BY_ID, FEW, NULL, 0},
    {"boss", "/api/v1/jobs?user=ada", BY_USER, NULL, NULL, NULL, 0},
    {"boss", "/api/v1/jobs?user=ada,bob", BY_USER, SORTS,
     "the jobs of the named users", NULL, 0},
    {"boss", "/api/v1/jobs?account=phys", BY_ACCOUNT, NULL, NULL, NULL, 0},
    {"boss", "/api/v1/jobs?user=ada&account=phys", BY_USER, NULL, NULL, NULL,
     0},
    {"boss", "/api/v1/jobs?user=ada&job=" UUID,
     "j USING INDEX job_user (user=?", FEW, NULL, 0},
    {"boss", "/api/v1/jobs?job=2", BY_ID, FEW, NULL, 0},
    {"ada", "/api/v1/jobs/2", BY_ID, FEW, NULL, 0},
    {"ada", "/api/v1/jobs/hal:2:1800000000", BY_ID, FEW, NULL, 404},
    {"ada", "/api/v1/jobs/7%2b1", BY_HET, FEW, NULL, 404},
    {"ada", "/api/v1/jobs/s0123456789ABC", "job_sluid (sluid=?)", FEW, NULL,
     404},
    {"ada", "/api/v1/jobs/7_1", "job_array (array_job_id=?)", FEW, NULL, 404},
    {"ada", "/api/v1/jobs/" UUID, "j USING INDEX job_user (user=?", FEW, NULL,
     404},
    {"lead", "/api/v1/jobs/2", BY_ID, FEW, NULL, 0},
    {"boss", "/api/v1/jobs/2", BY_ID, FEW, NULL, 0},
    {"ada", "/api/v1/jobs/2/steps", "s USING PRIMARY KEY (job=?)", NULL, NULL,
     NULL, 0},
    {"lead", "/api/v1/jobs/2/steps", "s USING PRIMARY KEY (job=?)", NULL, NULL,
     NULL, 0},
    {"boss", "/api/v1/jobs/2/steps", "s USING PRIMARY KEY (job=?)", NULL, NULL,
     NULL, 0},
    {"ada", "/api/v1/jobs/2/energy",
     "job_use USING INTEGER PRIMARY KEY (rowid=?)", PARTS, NULL, 0},
    {"ada", "/api/v1/jobs/2/emissions", "g USING PRIMARY KEY (job=?)", PARTS,
     NULL, 0},
    {"ada", "/api/v1/jobs/2/findings", "f USING PRIMARY KEY (job=?)", PARTS,
     NULL, 0},
    {"ada", "/api/v1/jobs/2/report", BY_ID, PARTS, NULL, 0},
    {"ada", "/api/v1/jobs/2/report.pdf", BY_ID, PARTS, NULL, 501},
    {"ada", "/api/v1/jobs/2/script", BY_ID, NULL, NULL, NULL, 404},
    {"ada", "/api/v1/jobs/2/series", BY_ID, NULL, NULL, NULL, 503},
    {"ada", "/api/v1/jobs/2/plot.png?metric=cpus_used", BY_ID, NULL, NULL, NULL,
     503},
    {"ada", "/api/v1/jobs/2/charts", BY_ID, PARTS, NULL, 0},
    {"ada", "/plot/2/rss", BY_ID, NULL, NULL, NULL, 503},
    {"ada", "/pie/2/", BY_ID, PARTS, NULL, 404},
    {"ada", "/pdf/2", BY_ID, PARTS, NULL, 501},
    {"ada", "/mail/2", BY_ID, PARTS, NULL, 0},
    {"ada", "/api/v1/jobs/2/usage", BY_ID, PARTS, NULL, 0},
    {"ada", "/api/v1/users/ada", "j USING INDEX job_user (user=?)", NULL, NULL,
     NULL, 0},
    {"ada", "/api/v1/usage?group_by=day&" YEAR, "assoc_user (user=?)",
     "USE TEMP B-TREE FOR GROUP BY", "the requested groups", NULL, 0},
    {"ada", "/api/v1/usage?group_by=month&" YEAR,
     "r USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
     "USE TEMP B-TREE FOR GROUP BY", "the requested groups", NULL, 0},
    {"lead", "/api/v1/usage?group_by=account&" YEAR, BY_ACCOUNT_NAME, GROUPS,
     NULL, 0},
    {"boss", "/api/v1/usage?group_by=day,user&user=ada&" YEAR,
     "assoc_user (user=?)",
     "USE TEMP B-TREE FOR GROUP BY|USE TEMP B-TREE FOR ORDER BY",
     "the requested groups", NULL, 0},
    {"boss", "/api/v1/usage?group_by=day&account=phys&" YEAR, BY_ACCOUNT_NAME,
     "USE TEMP B-TREE FOR GROUP BY", "the requested groups", NULL, 0},
    {"boss", "/api/v1/usage?group_by=day&" YEAR,
     "r USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
     "USE TEMP B-TREE FOR GROUP BY|SCAN a USING COVERING INDEX",
     "days of all combinations with jobs", NULL, 0},
    {"ada", "/api/v1/findings?" YEAR, BY_USER, NULL, NULL, NULL, 0},
    {"ada", "/api/v1/findings?finding=x&gpu=1&" YEAR, BY_USER, NULL, NULL, NULL,
     0},
    {"boss", "/api/v1/findings?" YEAR, BY_TIME, NULL, NULL, NULL, 0},
    {"boss", "/api/v1/findings?finding=many&partition=long&" YEAR, BY_TIME,
     NULL, NULL, NULL, 0},
    {"boss", "/api/v1/findings?finding=x&" YEAR,
     "j USING INTEGER PRIMARY KEY (rowid=?)", SORTS, "few findings", NULL, 0},
    {"boss", "/api/v1/findings?user=ada&" YEAR, BY_USER, NULL, NULL, NULL, 0},
    {"ada", "/api/v1/findings?sort=cost&limit=3&" YEAR, BY_USER,
     "USE TEMP B-TREE FOR ORDER BY", "the rows of a page", NULL, 0},
    {"boss", "/api/v1/findings?sort=cost&limit=3&" YEAR, BY_TIME,
     "USE TEMP B-TREE FOR ORDER BY", "the rows of a page", NULL, 0},
    {"boss", "/api/v1/findings?account=phys&" YEAR, BY_ACCOUNT, NULL, NULL,
     NULL, 0},
    {"ada", "/api/v1/emission-factors?" YEAR,
     "s USING INTEGER PRIMARY KEY (rowid=?)|SCAN s",
     "SCAN f|USE TEMP B-TREE FOR ORDER BY", "hours, not jobs", NULL, 0},
    {"ada", "/api/v1/site", NULL, "SCAN one", "one row", NULL, 0},
    {"ada", "/api/v1/accounts", "assoc_user (user=?)",
     "USE TEMP B-TREE FOR DISTINCT", "names, not jobs", NULL, 0},
    {"ada", "/api/v1/users", "assoc_user (user=?)", ASSOCS, NULL, 0},
    {"lead", "/api/v1/users", BY_ACCOUNT_NAME, ASSOCS, NULL, 0},
    {"boss", "/api/v1/accounts", BY_ACCOUNT_NAME, "SCAN n USING COVERING INDEX",
     "names, not jobs", NULL, 0},
    {"boss", "/api/v1/users", "assoc_user (user=?)",
     "SCAN n USING COVERING INDEX", "names, not jobs", NULL, 0},
    {"ada", "/api/v1/clusters", "v USING PRIMARY KEY (cluster=?)",
     "USE TEMP B-TREE FOR ORDER BY", "clusters", NULL, 0},
    {"ada", "/api/accounts", "assoc_user (user=?)",
     "USE TEMP B-TREE FOR DISTINCT", "names, not jobs", NULL, 0},
    {"ada", "/api/jobs?from=1700000000", BY_USER, NULL, NULL, NULL, 0},
    {"ada", "/api/jobs?account=phys", BY_USER, NULL, NULL, NULL, 0},
    {"boss", "/api/jobs", BY_USER, NULL, NULL, NULL, 0},
    {"ada", "/jobs", BY_USER, LISTS, NULL, 0},
    {"ada", "/jobs?sort=cpus&finding=x", BY_USER, LISTS, NULL, 0},
    {"boss", "/jobs?sort=energy_joules&" YEAR, BY_TIME, LISTS, NULL, 0},
    {"lead", "/jobs", BY_ACCOUNT, LISTS, NULL, 0},
    {"boss", "/jobs?name=on", BY_TIME, LISTS, NULL, 0},
    {"ada", "/find?q=nothing", "assoc_user (user=?)", NULL, NULL, NULL, 303},
    {"boss", "/find?q=nothing", "sqlite_autoindex_partition_1", "SCAN a",
     "combinations of names, not jobs", NULL, 303},
    {"ada", "/home", BY_USER, HOME, NULL, 0},
    {"lead", "/home", BY_USER, HOME, NULL, 0},
    {"boss", "/home", "job_open", HOME, NULL, 0},
    {"ada", "/nodes", BY_USER, HOME, NULL, 0},
    {"boss", "/nodes", BY_TIME, HOME, NULL, 0},
    {"ada", "/nodes/n1", BY_USER, HOME, NULL, 0},
    {"boss", "/nodes/n1", BY_TIME, HOME, NULL, 0},
    {"ada", "/jobs/2", BY_ID, FEW, NULL, 0},
    {"ada", "/jobs/2/curve.svg", BY_ID, NULL, NULL, NULL, 503},
    {"ada", "/findings", BY_USER, FINDINGS, NULL, 0},
    {"boss", "/findings?" YEAR, BY_TIME, FINDINGS, NULL, 0},
    {"ada", "/api/v1/findings?cursor=1800000000.9.1&" YEAR, BY_USER, NULL, NULL,
     NULL, 0},
    {"ada", "/queue", BY_USER, WAITING, NULL, 0},
    {"lead", "/queue", BY_ACCOUNT, WAITING, NULL, 0},
    {"boss", "/queue", "j USING INDEX job_open (cluster=?", WAITING, NULL, 0},
    {"ada", "/compare?job=2", BY_ID, FEW, NULL, 0},
    {"ada", "/usage", "assoc_user (user=?)", GROUPS, NULL, 0},
    {"ada", "/api/v1/usage?group_by=faculty&" YEAR, "assoc_user (user=?)",
     GROUPS, NULL, 0},
    {"ada", "/management", "assoc_user (user=?)", GROUPS, NULL, 0},
    {"ada", "/api/v1/applications?" YEAR, "assoc_user (user=?)", GROUPS, NULL,
     0},
    {"lead", "/api/v1/applications?" YEAR, "MULTI-INDEX OR", GROUPS, NULL, 0},
    {"ada", "/support", "assoc_user (user=?)", HOME, NULL, 0},
    {"boss", "/support", BY_TIME, HOME, NULL, 0},
    {"ada", "/api/v1/findings?running=1&" YEAR,
     "j USING INTEGER PRIMARY KEY (rowid=?)", SORTS, "few jobs", NULL, 0},
    {"ada", "/users/ada", BY_USER, GROUPS, NULL, 0},
    {"lead", "/accounts/phys", BY_ACCOUNT, GROUPS, NULL, 0},
    {"boss", "/users/ada", BY_USER, GROUPS, NULL, 0},
    {"ada", "/api/simpod/query", BY_USER, NULL, NULL, TARGET("jobs"), 0},
    {"boss", "/api/simpod/query", BY_TIME, NULL, NULL, TARGET("jobs"), 0},
    {"ada", "/api/simpod/query", "assoc_user (user=?)", GROUPS, TARGET("usage"),
     0},
    {"ada", "/api/simpod/query", "assoc_user (user=?)", GROUPS,
     TARGET("core_hours"), 0},
    {"ada", "/api/simpod/search", "assoc_user (user=?)",
     "USE TEMP B-TREE FOR DISTINCT", "names, not jobs",
     "{\"target\":\"users\"}", 0},
    {"ada", "/api/simpod/variable", "assoc_user (user=?)",
     "USE TEMP B-TREE FOR DISTINCT", "names, not jobs",
     "{\"payload\":{\"target\":\"partitions\"}}", 0},
    {"ada", "/api/simpod/metric-payload-options", "assoc_user (user=?)",
     "USE TEMP B-TREE FOR DISTINCT", "names, not jobs",
     "{\"name\":\"account\"}", 0},
    {"ada", "/api/simpod/options", "assoc_user (user=?)",
     "USE TEMP B-TREE FOR DISTINCT|SCAN n", "names, not jobs",
     "{\"name\":\"clusters\"}", 0},
    {"ada", "/api/simpod/annotations", BY_USER, NULL, NULL, "{" RANGE, 0},
    {"ada", "/api/simpod/tag-values", "assoc_user (user=?)",
     "USE TEMP B-TREE FOR DISTINCT", "names, not jobs",
     "{\"key\":\"partition\"}", 0},
};

/* Lines that every plan may have. */
static const struct {
    const char *line, *why;
} allowed_lines[] = {
    {"SCAN CONSTANT ROW", "one row"},
    {"SCAN sqlite_master|SCAN sqlite_schema", "the schema"},
    {"SCAN (subquery|SCAN below", "as many rows as its subquery has"},
    {"SCAN one", "one row"},
    {"SCAN p", "one row for each component of one job"},
    {"SCAN mo|SCAN each_mo", "months"},
    {"SCAN s", "one row"},
    {"SCAN price|SCAN record_any_host", "one row"},
    {"SCAN finding_rule", "names of rules"},
    {"SCAN running_finding|SCAN o", "findings on running jobs"},
    {"SCAN account|SEARCH fac ", "accounts, once"},
    {"SCAN c", "clusters"},
    {"SCAN f", "a limited number of findings, and factors"},
    {"SCAN jobname", "names, for a part of the time limit"},
    {"SCAN rollup_usage", "its first row, for the first month"},
    {"SCAN named|SCAN named_sum|SCAN every_sum",
     "a row of each application, and sums"},
    {"SCAN derive_state", "one row"},
    {"SCAN factor_source", "a row for each provider of factors"},
    {"BLOOM FILTER ON a|BLOOM FILTER ON r|BLOOM FILTER ON fac",
     "of names, of rules and of accounts"},
    {"UNION USING TEMP B-TREE", "pages, which have a limit"},
};

/* Indexes that no request needs, and their users. */
static const struct {
    const char *name, *why;
} indexes_used_elsewhere[] = {
    {"owner_key", "the writer, for each new job"},
    {"node_record_end", "records that were imported before their job"},
    {"job_use_end", "jobs whose emissions have to be recomputed"},
    {"factor_source_key", "the writer, for factors"},
    {"mail_sent_at", "mails of the last day"},
    {"running_action_open", "warnings that are not yet sent"},
};

/* The result of ANALYZE for a store with ten million jobs of a thousand users,
 * a hundred of which have jobs that have not ended. */
static const char statistics[] =
    "ANALYZE; DELETE FROM sqlite_stat1; INSERT INTO sqlite_stat1 VALUES"
    "('job', 'job_at', '10000000 1 1'),"
    "('job', 'job_account', '10000000 200000 1'),"
    "('job', 'job_user', '10000000 10000 1'),"
    "('job', 'job_key', '10000000 10000000 1 1'),"
    "('job', 'job_open', '3000 3000 1500'),"
    "('job', 'job_array', '2000000 50'),"
    "('job', 'job_sluid', '1000000 1'),"
    "('job_more', NULL, '300000'),"
    "('job_use', NULL, '9000000'),"
    "('job_grams', 'job_grams', '18000000 2 1'),"
    "('job_finding', 'job_finding', '1500000 2 1'),"
    "('finding_rule', 'sqlite_autoindex_finding_rule_1', '20 1 1 1 1'),"
    "('step', NULL, '20000000'),"
    "('factor_source', 'factor_source_key', '4 4 2 1 1'),"
    "('factor', 'factor', '60000 15000 15000 1'),"
    "('rollup_usage', NULL, '376000'),"
    "('rollup_energy', NULL, '310000'),"
    "('rollup_grams', 'rollup_grams', '620000 2 1'),"
    "('rollup_application', 'rollup_application', '900000 3 1'),"
    "('assoc', 'assoc_account', '1000 20'),"
    "('assoc', 'assoc_user', '1000 1'),"
    "('assoc', 'sqlite_autoindex_assoc_1', '1000 1000 20 1 1'),"
    "('owner', 'owner_key', '1000 1 1 1'),"
    "('host', 'sqlite_autoindex_host_1', '1000 1'),"
    "('hosts', 'sqlite_autoindex_hosts_1', '1000 1'),"
    "('hosts_host', 'hosts_host', '1000 1 1'),"
    "('jobname', 'sqlite_autoindex_jobname_1', '5000 1'),"
    "('user', 'sqlite_autoindex_user_1', '1000 1'),"
    "('account', 'sqlite_autoindex_account_1', '50 1'),"
    "('partition', 'sqlite_autoindex_partition_1', '2 1'),"
    "('cluster', 'sqlite_autoindex_cluster_1', '1 1'),"
    "('state', 'sqlite_autoindex_state_1', '15 1');"
    "ANALYZE sqlite_schema";

#endif

/* Views for people who read a store in PostgreSQL by SQL (docs/scale.md): the
 * schema "people" has the store's views, each restricted to the rows that the
 * API shows to the same user.  The schema exists if the administrator has made
 * it.
 *
 * Row-level security is not used: names and directories of jobs are in
 * dictionaries that jobs share, so for each of their rows a policy would have
 * to search for a job with that name.  Here people cannot read tables; views
 * read them with the rights of their owner, and as security barriers they keep
 * conditions of a query from seeing other rows. */
#include "statsdb/tables/fragment.h"
#include "statsdb/tables/schema_sql.h"

#include <stddef.h>

const char *const bj_schema_access[] = {
    /* Rights of users in addition to their own jobs; account '': all jobs.
       "batchjob_stats_server write-access" writes them. */
    "CREATE TABLE access_rule("
    "user TEXT NOT NULL,"
    "account TEXT NOT NULL,"
    "PRIMARY KEY(user, account)) STRICT, WITHOUT ROWID",
    NULL};

#define ME "CAST(current_user AS TEXT)"
#define MY_NUMBER "(SELECT u.id FROM user AS u WHERE u.name = " ME ")"
#define RULES "SELECT 1 FROM access_rule AS x WHERE x.user = " ME
#define IS_ADMIN "EXISTS (" RULES " AND x.account = '')"

/* A union of three queries: for the user's own jobs, for those of coordinated
 * accounts, and for admins.  Each has its own plan, which uses the index of
 * users, the index of accounts, or no rule; the server skips those that the
 * user does not need.  t is the table with user and account. */
#define OWN " WHERE t.user = " MY_NUMBER " AND NOT " IS_ADMIN
#define COORDINATED                                                            \
    " JOIN account AS ac ON ac.id = t.account JOIN access_rule AS ru ON"       \
    " ru.account = ac.name WHERE ru.user = " ME " AND NOT coalesce(t.user ="   \
    " " MY_NUMBER ", false) AND NOT " IS_ADMIN " AND EXISTS (" RULES ")"

#define VIEW(name) "CREATE VIEW people." name " WITH (security_barrier) AS "
#define THREE(name, select, behind)                                            \
    VIEW(name)                                                                 \
    "SELECT w.* FROM (" select OWN behind                                      \
    " UNION ALL " select COORDINATED behind " UNION ALL " select               \
    " WHERE " IS_ADMIN behind ") AS w"

#define OF_JOB(view, job)                                                      \
    THREE(view,                                                                \
          "SELECT v.* FROM " view " AS v JOIN job AS t ON t.id = v." job, "")
/* Sums, with the names of cluster, account, user and partition. */
#define OF_ASSOC(view)                                                         \
    THREE(view,                                                                \
          "SELECT c.name AS cluster, n.name AS account, u.name AS user,"       \
          " p.name AS partition, v.* FROM " view " AS v JOIN assoc AS t ON"    \
          " t.id = v.assoc JOIN cluster AS c ON c.id = t.cluster JOIN account" \
          " AS n ON n.id = t.account JOIN user AS u ON u.id = t.user JOIN"     \
          " partition AS p ON p.id = t.partition",                             \
          "")

const char *const bj_schema_people[] = {
    OF_JOB("job_v", "id"), OF_JOB("step_v", "job"), OF_JOB("job_size_v", "job"),
    OF_JOB("job_use_v", "job"), OF_JOB("job_grams_v", "job"),
    OF_JOB("job_finding_v", "job"),
    /* This view begins with the job; the store's view reads the records of all
       jobs. */
    THREE("job_energy_v",
          "SELECT t.id AS job, p.text AS policy, c.text AS component,"
          " sum(e.microjoules) AS microjoules, count(*) AS nodes FROM job AS t"
          " JOIN node_record AS r ON " BJ_SQL_RECORD_OF(
              "r", "t") " JOIN"
                        " node_energy AS e ON e.record = r.id JOIN word AS p ON"
                        " p.id = e.policy JOIN word AS c ON c.id = e.component",
          " GROUP BY t.id, p.text, c.text"),
    VIEW("factor_v") "SELECT * FROM factor_v", OF_ASSOC("rollup_month"),
    OF_ASSOC("rollup_energy_month"), OF_ASSOC("rollup_grams_month"), NULL};

/* What people see who read a store in PostgreSQL by SQL (docs/scale.md): in the
 * schema "people" there are the store's views once more, each with the rows that
 * the API shows to the same user.  The schema exists if the administrator has
 * made it.
 *
 * Not policies of row-level security: names and directories of jobs are in
 * dictionaries that jobs share, so a policy would have to look for a job with
 * that name for each row.  Here nobody reads a table; views do so as their
 * owner, and as security barriers they keep conditions of a query from seeing
 * other rows. */
#include "statsdb/schema_sql.h"

#include <stddef.h>

const char *const bj_schema_access[] = {
    /* The rights beyond that to the own jobs; account '': all jobs.  Written by
     * batchjob_stats_server write-access. */
    "CREATE TABLE access_rule("
    "user TEXT NOT NULL,"
    "account TEXT NOT NULL,"
    "PRIMARY KEY(user, account)) STRICT, WITHOUT ROWID",
    NULL};

#define ME "CAST(current_user AS TEXT)"
#define IS_ADMIN                                                               \
    "EXISTS (SELECT 1 FROM access_rule AS x WHERE x.user = " ME                \
    " AND x.account = '')"

/* The numbers of the visible rows of job or assoc.  Each condition can use an
 * index; an OR with the right of an admin could not. (ANY is a type of columns
 * in store/postgres_sql.c, any is not.) */
#define VISIBLE(table)                                                         \
    "(SELECT t.id FROM " table " AS t WHERE (t.user = (SELECT u.id FROM user"  \
    " AS u WHERE u.name = " ME ") OR t.account = any(ARRAY(SELECT n.id FROM"   \
    " account AS n JOIN access_rule AS x ON x.account = n.name WHERE"          \
    " x.user = " ME "))) AND NOT " IS_ADMIN                                    \
    " UNION ALL SELECT t.id FROM " table " AS t WHERE " IS_ADMIN ")"

#define VIEW(name) "CREATE VIEW people." name " WITH (security_barrier) AS "
#define OF_JOB(view, job)                                                      \
    VIEW(view)                                                                 \
    "SELECT v.* FROM " VISIBLE("job") " AS i JOIN " view                       \
                                      " AS v ON v." job " = i.id"
/* Sums, with the names of what they are of. */
#define OF_ASSOC(view)                                                         \
    VIEW(view)                                                                 \
    "SELECT c.name AS cluster, n.name AS account, u.name AS user, p.name AS"   \
    " partition, v.* FROM " VISIBLE("assoc") " AS i JOIN assoc AS a ON a.id"   \
    " = i.id JOIN cluster AS c ON c.id = a.cluster JOIN account AS n ON"       \
    " n.id = a.account JOIN user AS u ON u.id = a.user JOIN partition AS p"    \
    " ON p.id = a.partition JOIN " view " AS v ON v.assoc = i.id"

const char *const bj_schema_people[] = {
    OF_JOB("job_v", "id"),
    OF_JOB("step_v", "job"),
    OF_JOB("job_use_v", "job"),
    OF_JOB("job_grams_v", "job"),
    OF_JOB("job_finding_v", "job"),
    /* Begins with the job: the other view reads the records of all. */
    VIEW("job_energy_v")
    "SELECT i.id AS job, p.text AS policy, c.text AS component,"
    " sum(e.microjoules) AS microjoules, count(*) AS nodes FROM "
    VISIBLE("job")
    " AS i JOIN job AS j ON j.id = i.id JOIN node_record AS r ON r.cluster ="
    " j.cluster AND r.jobid = j.jobid JOIN node_record_job AS l ON l.record ="
    " r.id AND l.job = j.id JOIN node_energy AS e ON e.record = r.id"
    " JOIN word AS p ON p.id = e.policy JOIN word AS c ON c.id = e.component"
    " GROUP BY i.id, p.text, c.text",
    VIEW("factor_v") "SELECT * FROM factor_v",
    OF_ASSOC("rollup_month"),
    OF_ASSOC("rollup_energy_month"),
    OF_ASSOC("rollup_grams_month"),
    NULL};

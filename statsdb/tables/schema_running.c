/* The tables of findings on running jobs; the findings themselves are rows of
 * job_finding. */
#include "statsdb/tables/schema_sql.h"

#include <stddef.h>

const char *const bj_schema_running[] = {
    "CREATE TABLE running_finding("
    "job INT NOT NULL REFERENCES job ON DELETE CASCADE,"
    "rule TEXT NOT NULL,"
    "since INT NOT NULL," /* the finding exists in each evaluation since then */
    "seen INT NOT NULL,"  /* time of the last evaluation with the finding */
    "PRIMARY KEY(job, rule)) STRICT, WITHOUT ROWID",

    /* Actions because of findings; kept as long as the job. */
    "CREATE TABLE running_action("
    "id INTEGER PRIMARY KEY,"
    "job INT NOT NULL REFERENCES job ON DELETE CASCADE,"
    "rule TEXT NOT NULL,"
    "since INT NOT NULL," /* begin of the finding */
    "step INT NOT NULL,"  /* index in \"escalate\" of the rule */
    "action TEXT NOT NULL CHECK(action IN ('warn', 'cancel')),"
    "at INT NOT NULL," /* time of the last change */
    "state TEXT NOT NULL CHECK(state IN ('dry run', 'waiting', 'doing',"
    " 'done', 'failed')),"
    "detail TEXT) STRICT",
    "CREATE UNIQUE INDEX running_action_key ON running_action(job, rule, since,"
    " step)",
    "CREATE INDEX running_action_open ON running_action(state) WHERE state IN"
    " ('waiting', 'doing')",
    NULL};

/* Tables for mails about jobs, findings on running jobs, and options of the
 * site. */
#include "statsdb/tables/schema_sql.h"

#include <stddef.h>

/* --- mails ---------------------------------------------------------------- */

const char *const bj_schema_mail[] = {
    /* The choice of a user, and its time: no mail is sent for jobs that ended
       before. */
    "CREATE TABLE mail_choice("
    "user TEXT PRIMARY KEY,"
    "choice TEXT CHECK(choice IN ('off', 'advice', 'all', 'daily', 'weekly')),"
    "since INT NOT NULL) STRICT, WITHOUT ROWID",

    /* Has a row while mails are on: the time since then, the last job that was
       read (as in derive_state), the times of the last digests, and the site's
       default. */
    "CREATE TABLE mail_state("
    "id INTEGER PRIMARY KEY CHECK(id = 1),"
    "since INT NOT NULL,"
    "job_upto INT NOT NULL,"
    "daily INT NOT NULL,"
    "weekly INT NOT NULL,"
    "choice TEXT NOT NULL) STRICT",

    /* Ended jobs whose mail has not been decided yet. */
    "CREATE TABLE mail_todo(job INTEGER PRIMARY KEY NOT NULL) STRICT",

    /* Mails that were sent, and decisions to send none, so that no mail is sent
       twice. */
    "CREATE TABLE mail_sent("
    "key TEXT PRIMARY KEY,"
    "user TEXT NOT NULL,"
    "at INT NOT NULL," /* time of the last change */
    "state TEXT NOT NULL CHECK(state IN ('sending', 'sent', 'waiting',"
    " 'failed')),"
    "tries INT NOT NULL,"
    "error TEXT) STRICT, WITHOUT ROWID",
    "CREATE INDEX mail_sent_at ON mail_sent(at)",
    BJ_ONLY_SQLITE
    "CREATE TRIGGER job_ended AFTER UPDATE OF \"end\" ON job WHEN"
    " old.\"end\" IS NULL AND new.\"end\" IS NOT NULL AND EXISTS"
    " (SELECT 1 FROM mail_state WHERE job_upto >= new.id AND since <="
    " new.\"end\") AND NOT EXISTS (SELECT 1 FROM mail_todo WHERE job = new.id)"
    " BEGIN INSERT INTO mail_todo(job) VALUES(new.id); END",
    BJ_POSTGRESQL_TRIGGER(
        "job_new_mail", "INSERT", "job", "new.\"end\" IS NOT NULL",
        "INSERT INTO mail_todo(job) SELECT new.id FROM mail_state WHERE"
        " since <= new.\"end\" ON CONFLICT DO NOTHING"),
    BJ_POSTGRESQL_TRIGGER(
        "job_ended", "UPDATE OF \"end\"", "job",
        "old.\"end\" IS NULL AND new.\"end\" IS NOT NULL",
        "INSERT INTO mail_todo(job) SELECT new.id FROM mail_state WHERE"
        " job_upto >= new.id AND since <= new.\"end\" ON CONFLICT DO NOTHING"),
    NULL};

/* --- running jobs ----------------------------------------------------------
 * The findings themselves are rows of job_finding. */

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

/* --- options of the site ---------------------------------------------------
 * So that all programs use the same values: prices (statsdb/derive/price.h),
 * the time zone (statsdb/tables/site_zone.h), texts of reports and numbers for
 * advice (report/model/catalogue.h). */

const char *const bj_schema_site[] = {
    "CREATE TABLE price("
    "id INTEGER PRIMARY KEY CHECK(id = 1),"
    "currency TEXT NOT NULL,"
    "cpu_hour INT," /* millionths of the currency; NULL: free */
    "gpu_hour INT,"
    "gib_hour INT,"
    "kwh INT) STRICT",

    "CREATE TABLE sentence("
    "name TEXT PRIMARY KEY,"
    "text TEXT NOT NULL) STRICT, WITHOUT ROWID",
    NULL};

const char *const bj_schema_zone[] = {
    /* No row: the days of sums are those of UTC. */
    "CREATE TABLE site("
    "id INTEGER PRIMARY KEY CHECK(id = 1),"
    "time_zone TEXT NOT NULL) STRICT",

    /* Jobs whose node failed are not charged. */
    "ALTER TABLE price ADD COLUMN failed_nodes_free INT NOT NULL DEFAULT 0",
    NULL};

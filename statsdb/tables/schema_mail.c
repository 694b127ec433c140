/* The tables of mails about jobs. */
#include "statsdb/tables/schema_sql.h"

#include <stddef.h>

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

#include "mail/sent.h"

#include "statsdb/tables/job_number.h"
#include "store/db.h"

#include <stdio.h>
#include <string.h>

enum { COLLECTED = 5000, FIRST_WAIT_SEC = 60, LONGEST_WAIT_SEC = 3600 };

/* A value of a statement, for the parameter ":name": the text if set, else the
 * number. */
struct value {
    const char *name;
    struct bj_slice text;
    int64_t number;
};

#define TEXT(parameter, s)                                                     \
    {                                                                          \
        .name = parameter, .text = (s)                                         \
    }
#define NUMBER(parameter, n)                                                   \
    {                                                                          \
        .name = parameter, .number = (n)                                       \
    }

static int sent_prepare(struct bj_store *s, const char *sql,
                        const struct value *v, int n, struct bj_st **ret,
                        struct bj_err *err)
{
    int r = bj_db_prepare(bj_store_db(s), sql, ret, err);
    for (int i = 0; r == 0 && i < n; i++)
        if (v[i].text.p)
            bj_st_set_filled(*ret, v[i].name, v[i].text);
        else
            bj_st_set_i64(*ret, v[i].name, v[i].number);
    return r;
}

static int sent_run(struct bj_store *s, const char *sql, const struct value *v,
                    int n, struct bj_err *err)
{
    struct bj_st *st = NULL;
    int r = sent_prepare(s, sql, v, n, &st, err);
    if (r == 0)
        r = bj_st_run(st, err);
    bj_st_finalize(st);
    return r;
}

/* Read numbers of the first row, by the names of their columns; 0: no row. */
static int sent_read_row(struct bj_store *s, const char *sql,
                         const struct value *v, int n, const char *const *names,
                         int64_t *ret, int columns, struct bj_err *err)
{
    struct bj_st *st = NULL;
    int r = sent_prepare(s, sql, v, n, &st, err);
    if (r == 0)
        r = bj_st_row(st, err);
    for (int i = 0; r > 0 && i < columns; i++)
        ret[i] = bj_st_i64(st, names[i]);
    bj_st_finalize(st);
    return r;
}

/* Run one statement as a transaction. */
static int write_one(struct bj_store *s, const char *sql, const struct value *v,
                     int n, struct bj_err *err)
{
    int r = bj_store_begin(s, err);
    if (r < 0)
        return r;
    r = sent_run(s, sql, v, n, err);
    if (r == 0)
        r = bj_store_commit(s, err);
    if (r < 0)
        bj_store_rollback(s);
    return r;
}

/* --- on and off ------------------------------------------------------------
 */

int bj_mail_turn_on(struct bj_store *s, const char *choice, int64_t now_sec,
                    int64_t *ret_lost, struct bj_err *err)
{
    static const char lost[] =
        "UPDATE mail_sent SET state = 'failed', error = 'the program ended "
        "while it was sent', at = :now WHERE state = 'sending'";
    static const char on[] =
        "INSERT INTO mail_state(id, since, job_upto, daily, weekly, choice)"
        " VALUES(1, :now, :upto, :now, :now, :choice)"
        " ON CONFLICT(id) DO UPDATE SET choice = :choice, job_upto = CASE WHEN"
        " mail_state.job_upto < excluded.job_upto THEN mail_state.job_upto"
        " ELSE excluded.job_upto END";
    struct value now[] = {NUMBER("now", now_sec),
                          TEXT("choice", bj_slice_str(choice)),
                          NUMBER("upto", 0)};
    int r = bj_store_begin(s, err);
    if (r < 0)
        return r;
    r = bj_job_number_upto(bj_store_db(s), &now[2].number, err);
    if (r == 0)
        r = sent_run(s, lost, now, 1, err);
    *ret_lost = r == 0 ? bj_db_changes(bj_store_db(s)) : 0;
    if (r == 0)
        r = sent_run(s, on, now, 3, err);
    if (r == 0)
        r = bj_store_commit(s, err);
    if (r < 0)
        bj_store_rollback(s);
    return r;
}

int bj_mail_turn_off(struct bj_store *s, struct bj_err *err)
{
    int64_t n = 0;
    int r =
        bj_db_int(bj_store_db(s), "SELECT count(*) FROM mail_state", &n, err);
    if (r < 0 || n == 0)
        return r;
    r = write_one(s, "DELETE FROM mail_state", NULL, 0, err);
    return r < 0 ? r : write_one(s, "DELETE FROM mail_todo", NULL, 0, err);
}

int bj_mail_state_read(struct bj_store *s, struct bj_mail_state *ret,
                       struct bj_err *err)
{
    static const char *const names[] = {"since", "daily", "weekly"};
    int64_t v[3] = {0};
    int r = sent_read_row(s, "SELECT since, daily, weekly FROM mail_state",
                          NULL, 0, names, v, 3, err);
    *ret = (struct bj_mail_state){v[0], v[1], v[2]};
    return r < 0 ? r : 0;
}

int bj_mail_digested(struct bj_store *s, bool weekly, int64_t due_sec,
                     struct bj_err *err)
{
    const struct value v[] = {NUMBER("due", due_sec)};
    return write_one(s,
                     weekly ? "UPDATE mail_state SET weekly = :due"
                            : "UPDATE mail_state SET daily = :due",
                     v, 1, err);
}

/* --- jobs ------------------------------------------------------------------
 */

/* With SQLite, new jobs are found by their increasing numbers; the trigger
 * job_ended lists jobs that were stored before they ended.  With PostgreSQL,
 * triggers list all jobs. */
int bj_mail_collect(struct bj_store *s, struct bj_err *err)
{
    static const char last[] =
        "SELECT max(id) AS last FROM (SELECT id FROM job WHERE id > :upto ORDER"
        " BY id LIMIT :most) AS n";
    static const char *const names[] = {"last"};
    static const char list[] =
        "INSERT INTO mail_todo(job) SELECT id FROM job WHERE id > :upto AND id"
        " <= :to AND \"end\" >= (SELECT since FROM mail_state) AND id NOT IN"
        " (SELECT job FROM mail_todo)";
    int64_t upto = 0, to = BJ_SQL_NULL;
    int r = bj_db_int(bj_store_db(s), "SELECT job_upto FROM mail_state", &upto,
                      err);
    const struct value first[] = {NUMBER("upto", upto),
                                  NUMBER("most", COLLECTED)};
    if (r == 0)
        r = sent_read_row(s, last, first, 2, names, &to, 1, err);
    if (r < 0 || to == BJ_SQL_NULL)
        return r < 0 ? r : 0;
    r = bj_store_begin(s, err);
    if (r < 0)
        return r;
    const struct value v[] = {NUMBER("to", to), NUMBER("upto", upto)};
    r = sent_run(s, list, v, 2, err);
    if (r == 0)
        r = sent_run(s, "UPDATE mail_state SET job_upto = :to", v, 1, err);
    if (r == 0)
        r = bj_store_commit(s, err);
    if (r < 0)
        bj_store_rollback(s);
    return r < 0 ? r : 1;
}

#define SAME_ARRAY                                                             \
    "t.array_job_id = j.array_job_id AND t.cluster = j.cluster AND t.user ="   \
    " j.user"

/* Selects the last task of an array, of those that ended in the same second the
 * one with the highest number.  Requeued tasks have another submit time. */
static const char jobs_sql[] =
    "WITH last AS (SELECT id FROM (SELECT j.id AS id, row_number() OVER"
    " (PARTITION BY j.cluster, j.user, coalesce(j.array_job_id, -j.id)"
    " ORDER BY j.\"end\" DESC, coalesce(j.array_task, -1) DESC, j.at DESC,"
    " j.id DESC) AS nr FROM mail_todo AS m JOIN job AS j ON j.id = m.job WHERE "
    "j.\"end\" <= :until) AS n WHERE nr = 1) SELECT "
    "j.id, j.\"end\", u.name AS user, CASE WHEN j.array_job_id IS NULL THEN"
    " 'job:' || c.name || ':' || j.jobid || ':' || j.submit ELSE 'array:' ||"
    " c.name || ':' || j.array_job_id || ':' || u.name || ':' || (SELECT"
    " min(t.submit) FROM job AS t WHERE " SAME_ARRAY ") END AS key,"
    " j.id <= d.job_upto AND NOT EXISTS (SELECT 1 FROM derive_todo WHERE job ="
    " j.id) AS derived, EXISTS (SELECT 1 FROM job AS t WHERE " SAME_ARRAY
    " AND t.\"end\" IS NULL) AS open"
    " FROM last JOIN job AS j ON j.id = last.id JOIN cluster AS c ON c.id ="
    " j.cluster JOIN user AS u ON u.id = j.user CROSS JOIN"
    " derive_state AS d"
    " ORDER BY j.\"end\", j.id LIMIT :most";

int bj_mail_jobs(struct bj_store *s, int64_t since_sec, int64_t until_sec,
                 struct bj_arena *arena, struct bj_mail_job **ret,
                 struct bj_err *err)
{
    static const char past[] =
        "FROM mail_todo WHERE NOT EXISTS (SELECT 1 FROM job WHERE id = job AND"
        " \"end\" >= :since AND user IS NOT NULL)";
    static const char *const names[] = {"job"};
    struct bj_st *st = NULL;
    const struct value since[] = {NUMBER("since", since_sec)};
    const struct value v[] = {NUMBER("until", until_sec),
                              NUMBER("most", BJ_MAIL_JOBS)};
    char sql[200];
    int n = 0;
    int64_t first;
    snprintf(sql, sizeof(sql), "SELECT job %s LIMIT 1", past);
    int r = sent_read_row(s, sql, since, 1, names, &first, 1, err);
    snprintf(sql, sizeof(sql), "DELETE %s", past);
    if (r > 0)
        r = write_one(s, sql, since, 1, err);
    struct bj_mail_job *job =
        bj_arena_alloc(arena, BJ_MAIL_JOBS * sizeof(*job));
    if (r == 0)
        r = job ? sent_prepare(s, jobs_sql, v, 2, &st, err)
                : bj_err_set(err, -ENOMEM, "mails");
    while (r == 0 && n < BJ_MAIL_JOBS && (r = bj_st_row(st, err)) > 0) {
        job[n++] = (struct bj_mail_job){
            .job = bj_st_i64(st, "id"),
            .end_sec = bj_st_i64(st, "end"),
            .user = bj_arena_copy(arena, bj_st_text(st, "user")),
            .key = bj_arena_copy(arena, bj_st_text(st, "key")),
            .derived = bj_st_i64(st, "derived") > 0,
            .open = bj_st_i64(st, "open") > 0};
        r = 0;
    }
    bj_st_finalize(st);
    *ret = job;
    return r < 0 ? r : n;
}

int bj_mail_drop(struct bj_store *s, int64_t job, struct bj_err *err)
{
    const struct value v[] = {NUMBER("job", job)};
    return write_one(s,
                     "DELETE FROM mail_todo WHERE job = :job OR job IN"
                     " (SELECT t.id FROM job AS j JOIN job AS t ON " SAME_ARRAY
                     " WHERE j.id = :job)",
                     v, 1, err);
}

/* --- mails -----------------------------------------------------------------
 */

static int64_t wait_of(int64_t tries)
{
    int64_t wait = FIRST_WAIT_SEC;
    while (--tries > 0 && wait < LONGEST_WAIT_SEC)
        wait *= 2;
    return wait < LONGEST_WAIT_SEC ? wait : LONGEST_WAIT_SEC;
}

/* Within a transaction. */
static int decide(struct bj_store *s, struct bj_slice key, struct bj_slice user,
                  const struct bj_mail_caps *caps, int64_t now_sec,
                  struct bj_err *err)
{
    static const char known[] =
        "SELECT state = 'waiting' AS waiting, tries, at FROM mail_sent WHERE"
        " key = :key";
    static const char counts[] =
        "SELECT count(*) AS all_users, coalesce(sum(user = :user), 0) AS"
        " this_user FROM mail_sent WHERE at > :since AND state IN ('sent',"
        " 'sending')";
    static const char *const of_mail[] = {"waiting", "tries", "at"};
    static const char *const of_day[] = {"all_users", "this_user"};
    const struct value by_key[] = {TEXT("key", key)};
    const struct value day[] = {TEXT("user", user),
                                NUMBER("since", now_sec - 86400)};
    int64_t v[3] = {0}, n[2] = {0};
    int r = sent_read_row(s, known, by_key, 1, of_mail, v, 3, err);
    if (r < 0)
        return r;
    if (r > 0 && (!v[0] || now_sec < v[2] + wait_of(v[1])))
        return v[0] ? BJ_MAIL_WAITS : BJ_MAIL_DONE;
    r = sent_read_row(s, counts, day, 2, of_day, n, 2, err);
    if (r < 0)
        return r;
    return (uint64_t)n[1] >= caps->per_user  ? BJ_MAIL_CAPPED
           : (uint64_t)n[0] >= caps->per_day ? BJ_MAIL_WAITS
                                             : BJ_MAIL_CLAIMED;
}

int bj_mail_claim(struct bj_store *s, struct bj_slice key, struct bj_slice user,
                  const struct bj_mail_caps *caps, int64_t now_sec,
                  struct bj_err *err)
{
    const struct value v[] = {TEXT("key", key), TEXT("user", user),
                              NUMBER("now", now_sec)};
    int r = bj_store_begin(s, err);
    if (r < 0)
        return r;
    int how = decide(s, key, user, caps, now_sec, err);
    if (how == BJ_MAIL_CLAIMED)
        r = sent_run(
            s,
            "INSERT INTO mail_sent(key, user, at, state, tries)"
            " VALUES(:key, :user, :now, 'sending', 1) ON CONFLICT(key) DO"
            " UPDATE SET at = :now, state = 'sending', tries = mail_sent.tries "
            "+ 1",
            v, 3, err);
    if (r == 0 && how == BJ_MAIL_CLAIMED)
        r = bj_store_commit(s, err);
    bj_store_rollback(s);
    return r < 0 ? r : how;
}

int bj_mail_note(struct bj_store *s, struct bj_slice key, bool again,
                 const char *error, int64_t now_sec, struct bj_err *err)
{
    const struct value v[] = {TEXT("key", key), NUMBER("now", now_sec),
                              TEXT("state", bj_slice_str(!error  ? "sent"
                                                         : again ? "waiting"
                                                                 : "failed")),
                              TEXT("error", bj_slice_str(error ? error : ""))};
    return write_one(s,
                     "UPDATE mail_sent SET at = :now, state = :state, error ="
                     " :error WHERE key = :key",
                     v, 4, err);
}

int bj_mail_forget(struct bj_store *s, int64_t before_sec, struct bj_err *err)
{
    const struct value v[] = {NUMBER("before", before_sec)};
    return write_one(s, "DELETE FROM mail_sent WHERE at < :before", v, 1, err);
}

/* --- warnings -----------------------------------------------------------
 */

static const char list_sql[] =
    "SELECT a.id, a.job, (SELECT name FROM user WHERE id = j.user) AS user, "
    "'warning:'"
    " || c.name || ':' || j.jobid || ':' || j.submit || ':' || a.rule || ':' ||"
    " a.since || ':' || a.step AS key, a.detail FROM running_action AS a JOIN "
    "job AS"
    " j ON j.id = a.job JOIN cluster AS c ON c.id = j.cluster WHERE a.state ="
    " 'waiting' AND j.\"end\" IS NULL ORDER BY a.id LIMIT ?1";

int bj_mail_warnings(struct bj_store *s, struct bj_arena *arena,
                     struct bj_mail_warning **ret, struct bj_err *err)
{
    struct bj_st *st = NULL;
    int n = 0;
    int r = bj_db_prepare(bj_store_db(s), list_sql, &st, err);
    if (r < 0)
        return r;
    struct bj_mail_warning *w =
        bj_arena_alloc(arena, BJ_MAIL_WARNINGS * sizeof(*w));
    bj_st_bind_i64(st, 1, BJ_MAIL_WARNINGS);
    while (w && n < BJ_MAIL_WARNINGS && (r = bj_st_row(st, err)) > 0)
        w[n++] = (struct bj_mail_warning){
            .id = bj_st_i64(st, "id"),
            .job = bj_st_i64(st, "job"),
            .user = bj_arena_copy(arena, bj_st_text(st, "user")),
            .key = bj_arena_copy(arena, bj_st_text(st, "key")),
            .next = bj_arena_copy(arena, bj_st_text(st, "detail"))};
    bj_st_finalize(st);
    *ret = w;
    return r < 0 ? r : arena->failed ? bj_err_set(err, -ENOMEM, "mails") : n;
}

int bj_mail_warned(struct bj_store *s, int64_t id, const char *failure,
                   int64_t now_sec, struct bj_err *err)
{
    const struct value v[] = {
        NUMBER("id", id), NUMBER("now", now_sec),
        TEXT("failure", bj_slice_str(failure ? failure : ""))};
    return write_one(
        s,
        "UPDATE running_action SET state = CASE WHEN CAST(:failure AS TEXT) IS"
        " NULL THEN 'done' ELSE 'failed' END, detail = coalesce(:failure,"
        " detail), at = :now WHERE id = :id AND state = 'waiting'",
        v, 3, err);
}

int bj_mail_was_sent(struct bj_store *s, struct bj_slice key,
                     struct bj_err *err)
{
    struct bj_st *st = NULL;
    int r = bj_db_prepare(bj_store_db(s),
                          "SELECT 1 FROM mail_sent WHERE key = ?1 AND state ="
                          " 'sent'",
                          &st, err);
    if (r < 0)
        return r;
    bj_st_bind_filled(st, 1, key);
    r = bj_st_row(st, err);
    bj_st_finalize(st);
    return r;
}

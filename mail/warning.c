#include "mail/warning.h"

#include "store/db.h"

static const char list_sql[] =
    "SELECT a.id, a.job, (SELECT name FROM user WHERE id = j.user), 'warning:'"
    " || c.name || ':' || j.jobid || ':' || j.submit || ':' || a.rule || ':' ||"
    " a.since || ':' || a.step, a.detail FROM running_action AS a JOIN job AS"
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
            .id = bj_st_get_i64(st, 0),
            .job = bj_st_get_i64(st, 1),
            .user = bj_arena_copy(arena, bj_st_get_text(st, 2)),
            .key = bj_arena_copy(arena, bj_st_get_text(st, 3)),
            .next = bj_arena_copy(arena, bj_st_get_text(st, 4))};
    bj_st_finalize(st);
    *ret = w;
    return r < 0 ? r : arena->failed ? bj_err_set(err, -ENOMEM, "mails") : n;
}

int bj_mail_warned(struct bj_store *s, int64_t id, const char *failure,
                   int64_t now_sec, struct bj_err *err)
{
    struct bj_st *st = NULL;
    int r = bj_store_begin(s, err);
    if (r < 0)
        return r;
    r = bj_db_prepare(
        bj_store_db(s),
        "UPDATE running_action SET state = CASE WHEN CAST(?3 AS TEXT) IS NULL"
        " THEN 'done' ELSE 'failed' END, detail = coalesce(?3, detail), at ="
        " ?2 WHERE id = ?1 AND state = 'waiting'",
        &st, err);
    if (r == 0) {
        bj_st_bind_i64(st, 1, id);
        bj_st_bind_i64(st, 2, now_sec);
        bj_st_bind_filled(st, 3, bj_slice_str(failure ? failure : ""));
        r = bj_st_run(st, err);
    }
    bj_st_finalize(st);
    if (r == 0)
        r = bj_store_commit(s, err);
    if (r < 0)
        bj_store_rollback(s);
    return r;
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

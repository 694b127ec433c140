#include "statsdb/tables/mail_choice.h"

#include "statsdb/tables/store.h"
#include "store/db.h"

#include <stdio.h>

static void mail_choice_copy(struct bj_st *st, const char *column,
                             char ret[BJ_MAIL_CHOICE_MAX])
{
    struct bj_slice s = bj_st_text(st, column);
    snprintf(ret, BJ_MAIL_CHOICE_MAX, "%.*s", (int)s.n, s.p ? s.p : "");
}

int bj_mail_choice_read(struct bj_db *db, struct bj_slice user,
                        struct bj_mail_choice *ret, struct bj_err *err)
{
    static const char sql[] =
        "SELECT (SELECT choice FROM mail_choice WHERE user = ?1) AS choice,"
        " coalesce((SELECT since FROM mail_choice WHERE user = ?1), 0) AS"
        " since, (SELECT choice FROM mail_state) AS by_default";
    struct bj_st *st = NULL;
    *ret = (struct bj_mail_choice){.since = 0};
    int r = bj_db_prepare(db, sql, &st, err);
    if (r < 0)
        return r;
    bj_st_bind_filled(st, 1, user);
    r = bj_st_row(st, err);
    if (r > 0) {
        mail_choice_copy(st, "choice", ret->choice);
        ret->since = bj_st_i64(st, "since");
        mail_choice_copy(st, "by_default", ret->by_default);
    }
    bj_st_finalize(st);
    return r < 0 ? r : 0;
}

bool bj_mail_choice_is(struct bj_slice choice)
{
    static const char *const choices[] = {"",    "off",   "advice",
                                          "all", "daily", "weekly"};
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
        if (bj_slice_eq(choice, bj_slice_str(choices[i])))
            return true;
    return false;
}

int bj_mail_choice_write(struct bj_store *s, struct bj_slice user,
                         struct bj_slice choice, int64_t now_sec,
                         struct bj_err *err)
{
    static const char sql[] =
        "INSERT INTO mail_choice(user, choice, since) VALUES(:user, :choice,"
        " :now) ON CONFLICT(user) DO UPDATE SET choice = :choice, since ="
        " :now";
    struct bj_st *st = NULL;
    if (!bj_mail_choice_is(choice))
        return bj_err_set(err, -EINVAL,
                          "'%.*s' is not a choice: off, advice, all, daily "
                          "or weekly",
                          (int)(choice.n < 20 ? choice.n : 20), choice.p);
    if (user.n == 0 || user.n >= BJ_MAIL_USER_MAX)
        return bj_err_set(err, -EINVAL, "a user is required");
    int r = bj_store_begin(s, err);
    if (r < 0)
        return r;
    r = bj_db_prepare(bj_store_db(s), sql, &st, err);
    if (r == 0) {
        bj_st_set_filled(st, "user", user);
        bj_st_set_filled(st, "choice", choice);
        bj_st_set_i64(st, "now", now_sec);
        r = bj_st_run(st, err);
    }
    bj_st_finalize(st);
    if (r == 0)
        r = bj_store_commit(s, err);
    if (r < 0)
        bj_store_rollback(s);
    return r;
}

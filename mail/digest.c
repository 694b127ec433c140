#include "mail/digest.h"

#include "base/array.h"
#include "base/local.h"
#include "base/slice.h"
#include "base/stamp.h"
#include "base/tz.h"
#include "report/job/job.h"
#include "report/period/period.h"
#include "statsdb/job/change.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void digest_day_of(int64_t sec, char ret[11])
{
    char stamp[BJ_STAMP_MAX];
    bj_stamp_text((sec + bj_tz_offset(bj_tz_used(), sec)) * 1000000, 0, 0,
                  stamp);
    snprintf(ret, 11, "%.10s", stamp);
}

void bj_mail_digest_of(const struct bj_mail_schedule *s, bool weekly,
                       int64_t now_sec, struct bj_mail_digest *d)
{
    char last[11];
    *d = (struct bj_mail_digest){.weekly = weekly};
    d->due_sec =
        bj_mail_digest_due(s, weekly, now_sec, &d->since_sec, &d->until_sec);
    digest_day_of(d->since_sec, d->day);
    digest_day_of(d->until_sec - 1, last);
    struct bj_buf title = {0};
    if (weekly)
        bj_local_put(&title, "{Your jobs from %s to %s}", d->day, last);
    else
        bj_local_put(&title, "{Your jobs of %s}", d->day);
    snprintf(d->title, sizeof(d->title), "%.*s", (int)title.len,
             title.p ? title.p : "");
    bj_buf_free(&title);
}

int bj_mail_digest_users(struct bj_store *s, const char *choice,
                         const char *by_default, int64_t since_sec,
                         int64_t until_sec, struct bj_arena *arena,
                         struct bj_slice **ret, struct bj_err *err)
{
    static const char sql[] =
        "SELECT u.name FROM user AS u LEFT JOIN mail_choice AS m ON m.user ="
        " u.name WHERE coalesce(m.choice, :default) = :choice AND EXISTS"
        " (SELECT 1 FROM job WHERE user = u.id AND at < :until AND start IS NOT"
        " NULL AND (\"end\" IS NULL OR \"end\" >= :since)) ORDER BY u.name";
    struct bj_st *st = NULL;
    struct bj_slice *users = NULL;
    size_t n = 0, cap = 0;
    int r = bj_db_prepare(bj_store_db(s), sql, &st, err);
    if (r < 0)
        return r;
    bj_st_set_filled(st, "choice", bj_slice_str(choice));
    bj_st_set_filled(st, "default", bj_slice_str(by_default));
    bj_st_set_i64(st, "since", since_sec);
    bj_st_set_i64(st, "until", until_sec);
    while ((r = bj_st_row(st, err)) > 0 && BJ_GROW(users, n + 1, cap))
        users[n++] = bj_arena_copy(arena, bj_st_get_text(st, 0));
    bj_st_finalize(st);
    *ret = bj_arena_alloc(arena, (n + 1) * sizeof(*users));
    if (*ret && n > 0)
        memcpy(*ret, users, n * sizeof(*users));
    free(users);
    if (r > 0 || arena->failed)
        return bj_err_set(err, -ENOMEM, "digest");
    return r < 0 ? r : (int)n;
}

static int digest_value(void *ctx, unsigned i, struct bj_job_value *ret,
                        struct bj_err *err)
{
    return bj_job_read_value(ctx, i, ret, err);
}

static int digest_add(struct bj_job_read *read, int64_t job,
                      struct bj_buf *texts, struct bj_period *p,
                      struct bj_err *err)
{
    int r = bj_job_read_row(read, job, err);
    return r > 0 ? bj_period_take(p, texts, digest_value, read, err) : r;
}

/* Add the advice for the newest of the jobs that should change. */
static int digest_add_change(struct bj_db *db, const struct bj_change *v,
                             struct bj_period *p, struct bj_err *err)
{
    struct bj_report report = {.interactive = false};
    int r = bj_report_read(db, v->newest, &report, err);
    const struct bj_report_advice *a =
        r > 0 ? bj_report_advice_of(&report, v->finding) : NULL;
    if (a)
        p->change[p->changes++] = (struct bj_period_change){
            .name = bj_arena_copy(&p->arena, v->job_name),
            .text = bj_arena_copy(&p->arena, a->text),
            .line = bj_arena_copy(&p->arena, a->line),
            .runs = v->runs,
            .wasted = v->wasted,
            .cost = v->cost};
    bj_report_free(&report);
    return r < 0 ? r : 0;
}

/* Add what the user should change, as on the start page: the most expensive
 * first. */
static int digest_read_changes(struct bj_db *db, struct bj_slice user,
                               int64_t since_sec, int64_t until_sec,
                               struct bj_period *p, struct bj_err *err)
{
    struct bj_changes all = {.n = 0};
    struct bj_buf sql = {0};
    struct bj_st *st = NULL;
    int r = bj_changes_select(&all, db, &sql, err);
    bj_buf_str(&sql, " AND j.user = (SELECT id FROM user WHERE name = ?1) AND"
                     " j.at BETWEEN ?2 AND ?3" BJ_CHANGES_NEWEST);
    bj_buf_put(&sql, "", 1);
    if (r == 0 && sql.failed)
        r = bj_err_set(err, -ENOMEM, "digest");
    if (r == 0)
        r = bj_db_prepare(db, sql.p, &st, err);
    if (r == 0) {
        bj_st_bind_filled(st, 1, user);
        bj_st_bind_i64(st, 2, since_sec);
        bj_st_bind_i64(st, 3, until_sec - 1);
        r = bj_changes_read(&all, st, err);
    }
    bj_st_finalize(st);
    for (size_t i = 0; i < all.n && p->changes < BJ_PERIOD_CHANGES && r == 0;
         i++)
        r = digest_add_change(db, &all.v[i], p, err);
    bj_buf_free(&sql);
    bj_changes_free(&all);
    return r;
}

int bj_mail_digest_read(struct bj_store *s, struct bj_slice user,
                        int64_t since_sec, int64_t until_sec,
                        struct bj_period *p, struct bj_err *err)
{
    static const char sql[] =
        "SELECT id FROM job WHERE user = (SELECT id FROM user WHERE name ="
        " :user) AND at < :until AND start IS NOT NULL AND (\"end\" IS NULL OR"
        " \"end\" >= :since) ORDER BY at DESC, id DESC";
    struct bj_st *st = NULL;
    struct bj_job_read *read = NULL;
    struct bj_buf texts = {0};
    int r = bj_db_prepare(bj_store_db(s), sql, &st, err);
    if (r < 0)
        return r;
    bj_st_set_filled(st, "user", user);
    bj_st_set_i64(st, "since", since_sec);
    bj_st_set_i64(st, "until", until_sec);
    p->since_sec = since_sec;
    p->until_sec = until_sec;
    bj_period_by_day(p, until_sec);
    r = bj_prices_read(bj_store_db(s), &p->prices, err);
    if (r == 0)
        r = bj_job_read_new(bj_store_db(s), bj_period_columns(),
                            BJ_PERIOD_COLUMNS, &read, err);
    while (r == 0 && (r = bj_st_row(st, err)) > 0)
        r = digest_add(read, bj_st_get_i64(st, 0), &texts, p, err);
    bj_period_settle(p);
    if (r == 0)
        r = digest_read_changes(bj_store_db(s), user, since_sec, until_sec, p,
                                err);
    bj_job_read_free(read);
    bj_buf_free(&texts);
    bj_st_finalize(st);
    return r;
}

/* --- quiet hours and times of digests -----------------------------------
 */

enum { DAY = 86400, WEEK = 7 };

/* "HH:MM" in minutes. */
static bool parse_time(struct bj_slice s, unsigned *ret)
{
    uint64_t hour, minute;
    s = bj_slice_trim(s);
    if (!bj_slice_number(&s, &hour) || s.n != 3 || s.p[0] != ':')
        return false;
    s.p++;
    s.n--;
    if (bj_slice_u64(s, &minute) < 0 || hour > 23 || minute > 59)
        return false;
    *ret = (unsigned)(hour * 60 + minute);
    return true;
}

int bj_mail_schedule(const struct bj_mail_conf *c, struct bj_mail_schedule *ret,
                     struct bj_err *err)
{
    struct bj_slice rest = bj_slice_str(c->quiet_hours), from;
    *ret = (struct bj_mail_schedule){.quiet = rest.n > 0};
    if (ret->quiet &&
        (!bj_slice_field(&rest, '-', &from) || !parse_time(from, &ret->from) ||
         !parse_time(rest, &ret->to) || ret->from == ret->to))
        return bj_err_set(err, -EINVAL,
                          "mail.quiet-hours: '%.40s' is not a time like "
                          "22:00-06:00",
                          c->quiet_hours);
    if (!parse_time(bj_slice_str(c->digest_time), &ret->digest))
        return bj_err_set(err, -EINVAL,
                          "mail.digest-time: '%.40s' is not a time like 08:00",
                          c->digest_time ? c->digest_time : "");
    return 0;
}

bool bj_mail_is_quiet(const struct bj_mail_schedule *s, int64_t now_sec)
{
    const int64_t local = now_sec + bj_tz_offset(bj_tz_used(), now_sec);
    const unsigned now = (unsigned)(local % DAY / 60);
    if (!s->quiet)
        return false;
    return s->from < s->to ? now >= s->from && now < s->to
                           : now >= s->from || now < s->to;
}

/* The time of a minute of a day. */
static int64_t at_minute(int64_t day, unsigned minute)
{
    return bj_tz_sec(bj_tz_used(), day * DAY + (int64_t)minute * 60);
}

int64_t bj_mail_digest_due(const struct bj_mail_schedule *s, bool weekly,
                           int64_t now_sec, int64_t *ret_since,
                           int64_t *ret_until)
{
    const int step = weekly ? WEEK : 1;
    int64_t day = bj_tz_day(bj_tz_used(), now_sec);
    if (weekly) /* 1970-01-01 was a Thursday: back to Monday */
        day -= (day + 3) % WEEK;
    if (at_minute(day, s->digest) > now_sec)
        day -= step;
    *ret_since = at_minute(day - step, 0);
    *ret_until = at_minute(day, 0);
    return at_minute(day, s->digest);
}

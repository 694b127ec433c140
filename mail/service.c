#include "mail/service.h"

#include "base/clock.h"
#include "base/local.h"
#include "base/log.h"
#include "base/thread.h"
#include "mail/address.h"
#include "mail/digest.h"
#include "mail/message.h"
#include "mail/send.h"
#include "mail/sent.h"
#include "report/job/job.h"
#include "report/model/catalogue.h"
#include "statsdb/tables/mail_choice.h"
#include "statsdb/tables/site_zone.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SECOND = 1000000,
    ROUND_MSEC = 5000,
    DIGEST_STALE_SEC = 12 * 3600, /* after an outage, skip older digests */
    KEPT_SEC = 90 * 86400,
    FORGET_SEC = 6 * 3600
};

struct bj_mail_service {
    const struct bj_mail_conf *conf;
    struct bj_store *store;
    const atomic_bool *stop;
    struct bj_mail_plots_from *plots;
    struct bj_mail_templates *templates;
    struct bj_mail_addresses *addresses;
    struct bj_mail_schedule schedule;
    struct bj_mail_state state;
    int64_t now_sec, forget_sec;
    /* no attempt before this time, because the server was down */
    int64_t down_sec;
    unsigned failures; /* number of consecutive failures */
    char problem[240]; /* the last problem that was logged */
    struct bj_thread thread;
    struct bj_tz *tz;       /* of the site */
    struct bj_locals texts; /* texts of the site */
};

/* --- one mail --------------------------------------------------------------
 */

/* Log a problem once, not in each round. */
static void complain(struct bj_mail_service *m, const struct bj_err *err)
{
    if (strcmp(m->problem, err->msg) == 0)
        return;
    snprintf(m->problem, sizeof(m->problem), "%s", err->msg);
    bj_log(BJ_LOG_ERROR, err, "mail");
}

/* While the server is down, only one mail is tried, after 1 min, 2 min, up to
 * 16 min. */
static void follow_server(struct bj_mail_service *m, enum bj_mail_outcome o)
{
    m->failures = o != BJ_MAIL_DOWN ? 0 : m->failures + (m->failures < 5);
    m->down_sec =
        m->failures > 0 ? m->now_sec + (INT64_C(30) << m->failures) : 0;
}

static bool is_down(const struct bj_mail_service *m)
{
    return atomic_load(m->stop) || m->now_sec < m->down_sec;
}

/* Send a claimed mail and record its result.  1: the result is final, 0: it is
 * not; or an error of the store. */
static int deliver(struct bj_mail_service *m, struct bj_slice key,
                   const char *to, const struct bj_buf *bytes,
                   struct bj_err *err)
{
    char name[BJ_MAIL_NAME_MAX], text[320];
    struct bj_err why = {0};
    bj_mail_name(key, name);
    const struct bj_mail_letter letter = {
        to, name, {bytes->p, bytes->len}, m->stop};
    enum bj_mail_outcome o = bj_mail_send(m->conf, &letter, &why);
    const struct bj_log_field fields[] = {{"key", key.p, 0},
                                          {"to", to, 0},
                                          {"error", why.msg, 0},
                                          {NULL, NULL, 0}};
    if (o == BJ_MAIL_SENT)
        bj_log(BJ_LOG_DEBUG, NULL, "mail %s to %s", key.p, to);
    else if (o == BJ_MAIL_LATER || o == BJ_MAIL_DOWN)
        complain(m, &why);
    else
        bj_log_event(BJ_LOG_ERROR, "mail not sent", fields);
    if (o == BJ_MAIL_SENT)
        m->problem[0] = '\0';
    follow_server(m, o);
    bool later = o == BJ_MAIL_LATER || o == BJ_MAIL_DOWN;
    int r = bj_mail_note(
        m->store, key, later,
        o == BJ_MAIL_SENT ? NULL : bj_err_reason(&why, text, sizeof(text)),
        m->now_sec, err);
    return r < 0 ? r : !later;
}

static int claim(struct bj_mail_service *m, struct bj_slice key,
                 struct bj_slice user, struct bj_err *err)
{
    const struct bj_mail_caps caps = {m->conf->per_user, m->conf->per_day};
    int how = bj_mail_claim(m->store, key, user, &caps, m->now_sec, err);
    if (how == BJ_MAIL_CAPPED)
        bj_log(
            BJ_LOG_INFO, NULL,
            "mail %s not sent: the user already got mail.per-user mails today",
            key.p);
    return how;
}

/* --- jobs ------------------------------------------------------------------
 */

static bool is_worth(const struct bj_report *r, const char *choice)
{
    return strcmp(choice, "all") == 0 || r->advices > 0 || r->findings > 0;
}

/* A claimed mail could not be made: try again. */
static int retry_mail(struct bj_mail_service *m, struct bj_slice key, int code,
                      struct bj_err *err)
{
    char text[320];
    struct bj_err ignored = {0};
    bj_mail_note(m->store, key, true, bj_err_reason(err, text, sizeof(text)),
                 m->now_sec, &ignored);
    return code;
}

/* The mail is made after it was claimed, because its plots take time. 1: the
 * job is done, 0: it is not; or an error. */
static int mail_report(struct bj_mail_service *m, const struct bj_mail_job *job,
                       const char *choice, const char *to, struct bj_err *err)
{
    struct bj_report report;
    struct bj_buf bytes = {0};
    const struct bj_mail_writer w = {m->conf, m->templates, m->plots};
    const struct bj_mail_for who = {job->user, to, job->key, m->now_sec};
    int r = bj_report_read(bj_store_db(m->store), job->job, &report, err);
    const bool worth = r > 0 && is_worth(&report, choice);
    if (worth)
        r = claim(m, job->key, job->user, err);
    if (worth && r == BJ_MAIL_CLAIMED) {
        r = bj_mail_of_job(&w, &who, &report, &bytes, err);
        r = r < 0 ? retry_mail(m, job->key, r, err)
                  : deliver(m, job->key, to, &bytes, err);
    } else if (r >= 0) {
        r = !worth || r != BJ_MAIL_WAITS;
    }
    bj_report_free(&report);
    bj_buf_free(&bytes);
    return r;
}

static int decide(struct bj_mail_service *m, const struct bj_mail_job *job,
                  struct bj_err *err)
{
    struct bj_mail_choice own;
    char to[BJ_MAIL_ADDRESS_MAX];
    int r = bj_mail_choice_read(bj_store_db(m->store), job->user, &own, err);
    const char *choice = own.choice[0] ? own.choice : m->conf->choice;
    if (r < 0)
        return r;
    if ((strcmp(choice, "all") != 0 && strcmp(choice, "advice") != 0) ||
        job->end_sec < own.since || job->end_sec < m->state.since || job->open)
        return 1;
    if (!job->derived)
        return 0;
    r = bj_mail_address(m->addresses, job->user, m->stop, to, err);
    if (r < 0) {
        complain(m, err);
        return 0;
    }
    return to[0] ? mail_report(m, job, choice, to, err) : 1;
}

static int mail_jobs(struct bj_mail_service *m, struct bj_err *err)
{
    const struct bj_mail_conf *c = m->conf;
    struct bj_arena arena = {0};
    struct bj_mail_job *job = NULL;
    int n = bj_mail_jobs(
        m->store, m->now_sec - (int64_t)(c->max_age_usec / SECOND),
        m->now_sec - (int64_t)(c->delay_usec / SECOND), &arena, &job, err);
    int r = n;
    for (int i = 0; r >= 0 && i < n && !is_down(m); i++) {
        r = decide(m, &job[i], err);
        if (r > 0)
            r = bj_mail_drop(m->store, job[i].job, err);
    }
    bj_arena_free(&arena);
    return r < 0 ? r : 0;
}

/* --- warnings about running jobs -------------------------------------------
 */

/* Record the result of a mail that was claimed or refused. */
static int finish_warning(struct bj_mail_service *m,
                          const struct bj_mail_warning *w, int how,
                          struct bj_err *err)
{
    if (how == BJ_MAIL_CAPPED)
        return bj_mail_warned(m->store, w->id,
                              "the user already got mail.per-user mails today",
                              m->now_sec, err);
    int sent = bj_mail_was_sent(m->store, w->key, err);
    return sent < 0 ? sent
                    : bj_mail_warned(m->store, w->id,
                                     sent ? NULL : "the mail was not sent",
                                     m->now_sec, err);
}

static int send_warning(struct bj_mail_service *m,
                        const struct bj_mail_warning *w, const char *to,
                        struct bj_err *err)
{
    struct bj_report report;
    struct bj_buf bytes = {0};
    const struct bj_mail_writer writer = {m->conf, m->templates, NULL};
    const struct bj_mail_for who = {w->user, to, w->key, m->now_sec};
    int r = bj_report_read(bj_store_db(m->store), w->job, &report, err);
    if (r > 0)
        r = bj_mail_of_warning(&writer, &who, &report, w->next, &bytes, err);
    bj_report_free(&report);
    int how = r < 0 ? r : claim(m, w->key, w->user, err);
    if (how == BJ_MAIL_CLAIMED) {
        how = deliver(m, w->key, to, &bytes, err);
        how = how < 0 ? how : how > 0 ? BJ_MAIL_DONE : BJ_MAIL_WAITS;
    }
    bj_buf_free(&bytes);
    return how < 0                ? how
           : how == BJ_MAIL_WAITS ? 0
                                  : finish_warning(m, w, how, err);
}

/* Send warnings; neither the user's choice nor quiet hours delay them. */
static int mail_warnings(struct bj_mail_service *m, struct bj_err *err)
{
    struct bj_arena arena = {0};
    struct bj_mail_warning *w = NULL;
    char to[BJ_MAIL_ADDRESS_MAX];
    int n = bj_mail_warnings(m->store, &arena, &w, err), r = n;
    for (int i = 0; r >= 0 && i < n && !is_down(m); i++) {
        to[0] = '\0';
        r = w[i].user.n > 0
                ? bj_mail_address(m->addresses, w[i].user, m->stop, to, err)
                : 0;
        if (r < 0) {
            complain(m, err);
            r = 0;
        } else if (!to[0]) {
            r = bj_mail_warned(m->store, w[i].id, "the user has no address",
                               m->now_sec, err);
        } else {
            r = send_warning(m, &w[i], to, err);
        }
    }
    bj_arena_free(&arena);
    return r < 0 ? r : 0;
}

/* --- digests ---------------------------------------------------------------
 */

/* 1: the digest is done, 0: it is not; or an error. */
static int mail_digest(struct bj_mail_service *m,
                       const struct bj_mail_digest *d, struct bj_slice user,
                       struct bj_err *err)
{
    char to[BJ_MAIL_ADDRESS_MAX];
    struct bj_buf key = {0}, bytes = {0};
    struct bj_period period = {.groups = 0};
    const struct bj_mail_writer w = {m->conf, m->templates, m->plots};
    int r = bj_mail_address(m->addresses, user, m->stop, to, err);
    if (r < 0 || !to[0]) {
        if (r < 0)
            complain(m, err);
        return r == 0;
    }
    bj_buf_printf(&key, "%s:%s:%.*s", d->weekly ? "week" : "day", d->day,
                  (int)user.n, user.p);
    bj_buf_put(&key, "", 1);
    struct bj_slice text = {key.p, key.len - 1};
    const struct bj_mail_for who = {user, to, text, m->now_sec};
    if (key.failed)
        r = bj_err_set(err, -ENOMEM, "digest");
    if (r == 0)
        r = bj_mail_digest_read(m->store, user, d->since_sec, d->until_sec,
                                &period, err);
    if (r == 0)
        r = claim(m, text, user, err);
    if (r == BJ_MAIL_CLAIMED) {
        r = bj_mail_of_period(&w, &who, &period, d->title, &bytes, err);
        r = r < 0 ? retry_mail(m, text, r, err)
                  : deliver(m, text, to, &bytes, err);
    } else if (r > 0) {
        r = r != BJ_MAIL_WAITS;
    }
    bj_period_free(&period);
    bj_buf_free(&bytes);
    bj_buf_free(&key);
    return r;
}

static int mail_digests(struct bj_mail_service *m, bool weekly,
                        struct bj_err *err)
{
    struct bj_mail_digest d;
    struct bj_arena arena = {0};
    struct bj_slice *user = NULL;
    bool all = true;
    bj_mail_digest_of(&m->schedule, weekly, m->now_sec, &d);
    if (d.due_sec <= (weekly ? m->state.weekly : m->state.daily))
        return 0;
    int n = m->now_sec - d.due_sec > DIGEST_STALE_SEC
                ? 0
                : bj_mail_digest_users(m->store, weekly ? "weekly" : "daily",
                                       m->conf->choice, d.since_sec,
                                       d.until_sec, &arena, &user, err);
    int r = n;
    for (int i = 0; r >= 0 && i < n && !is_down(m); i++) {
        r = mail_digest(m, &d, user[i], err);
        all = all && r > 0;
    }
    bj_arena_free(&arena);
    return r < 0 || !all || is_down(m)
               ? r
               : bj_mail_digested(m->store, weekly, d.due_sec, err);
}

/* --- rounds ----------------------------------------------------------------
 */

int bj_mail_service_round(struct bj_mail_service *m, struct bj_err *err)
{
    m->now_sec = (int64_t)(bj_clock_wall_usec() / SECOND);
    int r = 1;
    bj_locals_use(&m->texts);
    bj_tz_use(m->tz);
    while (r > 0 && !atomic_load(m->stop))
        r = bj_mail_collect(m->store, err);
    if (r == 0)
        r = bj_mail_state_read(m->store, &m->state, err);
    if (r == 0 && !is_down(m))
        r = mail_warnings(m, err);
    if (r < 0 || is_down(m) || bj_mail_is_quiet(&m->schedule, m->now_sec))
        return r;
    r = mail_jobs(m, err);
    for (int weekly = 0; r >= 0 && weekly <= 1; weekly++)
        r = mail_digests(m, weekly == 1, err);
    if (r >= 0 && m->now_sec >= m->forget_sec) {
        m->forget_sec = m->now_sec + FORGET_SEC;
        r = bj_mail_forget(m->store, m->now_sec - KEPT_SEC, err);
    }
    return r < 0 ? r : 0;
}

static void *service_serve(void *ctx)
{
    struct bj_mail_service *m = ctx;
    struct pollfd fd = {.fd = m->thread.wake_fd, .events = POLLIN};
    do {
        struct bj_err err = {0};
        if (bj_mail_service_round(m, &err) < 0)
            complain(m, &err);
    } while (poll(&fd, 1, ROUND_MSEC) <= 0);
    return NULL;
}

static int turn_on(struct bj_mail_service *m, struct bj_err *err)
{
    int64_t lost = 0;
    int r =
        bj_mail_turn_on(m->store, m->conf->choice,
                        (int64_t)(bj_clock_wall_usec() / SECOND), &lost, err);
    if (lost > 0)
        bj_log(BJ_LOG_WARN, NULL,
               "%lld mails were being sent when the program ended; they are "
               "not sent again",
               (long long)lost);
    return r;
}

int bj_mail_check(const struct bj_mail_conf *c, struct bj_err *err)
{
    struct bj_mail_templates *t = NULL;
    struct bj_mail_schedule schedule;
    if (!bj_mail_is_on(c))
        return 0;
    int r = bj_mail_send_check(c, err);
    if (r == 0 && !bj_is_set(c->reply_to))
        r = bj_err_set(
            err, -EINVAL,
            "mail.reply-to: required, because users stop mails there");
    if (r == 0 && bj_is_set(c->url) && strncmp(c->url, "https://", 8) &&
        strncmp(c->url, "http://", 7))
        r = bj_err_set(err, -EINVAL,
                       "mail.url: '%.80s' does not begin with https://",
                       c->url);
    if (r == 0)
        r = bj_mail_addresses_check_conf(c, err);
    if (r == 0)
        r = bj_mail_schedule(c, &schedule, err);
    if (r == 0)
        r = bj_mail_templates_new(c->template_dir, &t, err);
    bj_mail_templates_free(t);
    return r;
}

int bj_mail_service_new(const struct bj_mail_conf *conf, struct bj_store *store,
                        const atomic_bool *stop,
                        struct bj_mail_plots_from *plots, bool thread,
                        struct bj_mail_service **ret, struct bj_err *err)
{
    *ret = NULL;
    if (!bj_mail_is_on(conf))
        return bj_mail_turn_off(store, err);
    struct bj_mail_service *m = calloc(1, sizeof(*m));
    if (!m)
        return bj_err_set(err, -ENOMEM, "mails");
    m->conf = conf;
    m->stop = stop;
    m->plots = plots;
    int r = bj_mail_check(conf, err);
    if (r == 0)
        r = bj_mail_schedule(conf, &m->schedule, err);
    if (r == 0)
        r = bj_mail_templates_new(conf->template_dir, &m->templates, err);
    if (r == 0)
        r = bj_mail_addresses_new(conf, &m->addresses, err);
    if (r == 0)
        r = bj_store_open(&(struct bj_store_options){.shared_with = store},
                          &m->store, err);
    if (r == 0)
        r = bj_catalogue_locals(bj_store_db(m->store), &m->texts, err);
    if (r == 0)
        r = bj_site_zone_read(bj_store_db(m->store), &m->tz, err);
    if (r == 0)
        r = turn_on(m, err);
    if (r == 0 && thread)
        r = bj_thread_start(&m->thread, "mails", service_serve, m, err);
    if (r < 0) {
        bj_mail_service_free(m);
        return r;
    }
    *ret = m;
    return 0;
}

void bj_mail_service_free(struct bj_mail_service *m)
{
    if (!m)
        return;
    bj_thread_free(&m->thread);
    bj_store_close(m->store);
    bj_locals_free(&m->texts);
    bj_tz_free(m->tz);
    bj_mail_addresses_free(m->addresses);
    bj_mail_templates_free(m->templates);
    free(m);
}

/* When mails are sent: quiet hours and digests; who gets a digest, and of which
 * jobs. */
#ifndef BJ_MAIL_DIGEST_H
#define BJ_MAIL_DIGEST_H

#include "base/arena.h"
#include "base/err.h"
#include "report/period/period.h"
#include "statsdb/conf/mail_conf.h"
#include "statsdb/tables/store.h"

#include <stdbool.h>
#include <stdint.h>

/* When mails are sent, in local time. */
struct bj_mail_schedule {
    bool quiet;        /* quiet hours are configured */
    unsigned from, to; /* minutes of the day */
    unsigned digest;   /* minute of the day */
};

/* Read mail.quiet-hours and mail.digest-time.  -EINVAL with the option in the
 * message. */
int bj_mail_schedule(const struct bj_mail_conf *conf,
                     struct bj_mail_schedule *ret, struct bj_err *err);

/* Is it in quiet hours, in which mails wait? */
bool bj_mail_is_quiet(const struct bj_mail_schedule *s, int64_t now_sec);

/* Return the last time at or before now_sec at which digests were due, daily or
 * on Mondays; *ret_since and *ret_until: the period of the digest before that
 * time. */
int64_t bj_mail_digest_due(const struct bj_mail_schedule *s, bool weekly,
                           int64_t now_sec, int64_t *ret_since,
                           int64_t *ret_until);

/* The digest that was due last. */
struct bj_mail_digest {
    bool weekly;
    int64_t due_sec;
    int64_t since_sec, until_sec; /* period in which the jobs began */
    char title[200];              /* "Your jobs of 2026-11-23" */
    char day[11];                 /* the first day */
};
void bj_mail_digest_of(const struct bj_mail_schedule *s, bool weekly,
                       int64_t now_sec, struct bj_mail_digest *ret);

/* List the users with jobs that began in that period and who chose this digest,
 * or did not choose while it is the default; in the arena.  choice: "daily",
 * "weekly". Returns their number. */
int bj_mail_digest_users(struct bj_store *s, const char *choice,
                         const char *by_default, int64_t since_sec,
                         int64_t until_sec, struct bj_arena *arena,
                         struct bj_slice **ret, struct bj_err *err);

/* Read the jobs of a user that began in that period.  Free p in any case. */
int bj_mail_digest_read(struct bj_store *s, struct bj_slice user,
                        int64_t since_sec, int64_t until_sec,
                        struct bj_period *p, struct bj_err *err);

#endif

/* When mails are sent: quiet hours and digests, in local time. */
#ifndef BJ_MAIL_SCHEDULE_H
#define BJ_MAIL_SCHEDULE_H

#include "base/err.h"
#include "statsdb/conf/mail_conf.h"

#include <stdbool.h>
#include <stdint.h>

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

#endif

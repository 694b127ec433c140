/* When mails are sent: quiet hours and digests, in local time. */
#ifndef BJ_MAIL_SCHEDULE_H
#define BJ_MAIL_SCHEDULE_H

#include "base/err.h"
#include "statsdb/mail_conf.h"

#include <stdbool.h>
#include <stdint.h>

struct bj_mail_schedule {
    bool quiet;        /* there are quiet hours */
    unsigned from, to; /* minutes of the day */
    unsigned digest;   /* minute of the day */
};

/* Read mail.quiet-hours and mail.digest-time.  -EINVAL with the option. */
int bj_mail_schedule(const struct bj_mail_conf *conf,
                     struct bj_mail_schedule *ret, struct bj_err *err);

/* Do mails wait now? */
bool bj_mail_is_quiet(const struct bj_mail_schedule *s, int64_t now_sec);

/* The last time at or before now at which digests are due, daily or on
 * Mondays; *ret_since and *ret_until: the days before that they are about. */
int64_t bj_mail_digest_due(const struct bj_mail_schedule *s, bool weekly,
                           int64_t now_sec, int64_t *ret_since,
                           int64_t *ret_until);

#endif

/* Digests: which users get one, and their jobs. */
#ifndef BJ_MAIL_DIGEST_H
#define BJ_MAIL_DIGEST_H

#include "base/arena.h"
#include "mail/schedule.h"
#include "report/period.h"
#include "statsdb/store.h"

/* The digest that was due last. */
struct bj_mail_digest {
    bool weekly;
    int64_t due_sec;
    int64_t since_sec, until_sec; /* of the jobs' begin */
    char title[200];              /* "Your jobs of 2026-11-23" */
    char day[11];                 /* the first */
};
void bj_mail_digest_of(const struct bj_mail_schedule *s, bool weekly,
                       int64_t now_sec, struct bj_mail_digest *ret);

/* Users with jobs that began in that time, who chose a digest, or have not
 * chosen and it is the default; in the arena.  choice: "daily", "weekly".
 * Returns their number. */
int bj_mail_digest_users(struct bj_store *s, const char *choice,
                         const char *by_default, int64_t since_sec,
                         int64_t until_sec, struct bj_arena *arena,
                         struct bj_slice **ret, struct bj_err *err);

/* The jobs of a user that began in that time.  Free p in any case. */
int bj_mail_digest_read(struct bj_store *s, struct bj_slice user,
                        int64_t since_sec, int64_t until_sec,
                        struct bj_period *p, struct bj_err *err);

#endif

/* Digests: selects the users who get one, and reads their jobs. */
#ifndef BJ_MAIL_DIGEST_H
#define BJ_MAIL_DIGEST_H

#include "base/arena.h"
#include "mail/schedule.h"
#include "report/period/period.h"
#include "statsdb/tables/store.h"

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

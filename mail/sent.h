/* The tables of mails in the store: which jobs wait, what was
 * sent.  Nothing is sent twice: a mail is claimed in a transaction of its own
 * before it is sent, and what becomes of it is written after. */
#ifndef BJ_MAIL_SENT_H
#define BJ_MAIL_SENT_H

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "statsdb/store.h"

#include <stdbool.h>
#include <stdint.h>

/* --- on and off ------------------------------------------------------------
 */

struct bj_mail_state {
    int64_t since;         /* mails are on */
    int64_t daily, weekly; /* the last digests that were made */
};

/* Mails are on from now on, unless they were; choice is the default of the
 * site.  Mails that were being sent when
 * the program ended become "failed": *ret_lost of them. */
int bj_mail_turn_on(struct bj_store *s, const char *choice, int64_t now_sec,
                    int64_t *ret_lost, struct bj_err *err);

/* Mails are off: jobs that end from now on are not listed. */
int bj_mail_turn_off(struct bj_store *s, struct bj_err *err);

int bj_mail_state_read(struct bj_store *s, struct bj_mail_state *ret,
                       struct bj_err *err);
int bj_mail_digested(struct bj_store *s, bool weekly, int64_t due_sec,
                     struct bj_err *err);

/* --- jobs ------------------------------------------------------------------
 */

/* List jobs that were stored since the last call and have ended. */
int bj_mail_collect(struct bj_store *s, struct bj_err *err);

struct bj_mail_job {
    int64_t job, end_sec;
    struct bj_slice user;
    struct bj_slice key; /* of the mail; of an array one for all tasks */
    bool derived, open;  /* open: other tasks of the array have not ended */
};

/* Listed jobs that ended at or before until_sec, the oldest first, in the
 * arena; of an array one task; jobs that ended before since_sec are taken off
 * the list.  Returns their number, at most BJ_MAIL_JOBS. */
enum { BJ_MAIL_JOBS = 1000 };
int bj_mail_jobs(struct bj_store *s, int64_t since_sec, int64_t until_sec,
                 struct bj_arena *arena, struct bj_mail_job **ret,
                 struct bj_err *err);

/* Take a job off the list, or all tasks of its array. */
int bj_mail_drop(struct bj_store *s, int64_t job, struct bj_err *err);

/* --- mails -----------------------------------------------------------------
 */

enum bj_mail_claim {
    BJ_MAIL_CLAIMED, /* send it, then call bj_mail_note */
    BJ_MAIL_DONE,    /* was sent, or must not be */
    BJ_MAIL_WAITS,   /* failed a moment ago, or a limit per day is reached */
    BJ_MAIL_CAPPED,  /* the user has got enough today: it will not be sent */
};

struct bj_mail_caps {
    uint64_t per_user, per_day;
};

/* Claim the mail with this key.  Returns an enum bj_mail_claim or an error. */
int bj_mail_claim(struct bj_store *s, struct bj_slice key, struct bj_slice user,
                  const struct bj_mail_caps *caps, int64_t now_sec,
                  struct bj_err *err);

/* Its result; error is NULL when it was sent. */
int bj_mail_note(struct bj_store *s, struct bj_slice key, bool again,
                 const char *error, int64_t now_sec, struct bj_err *err);

/* Forget mails older than that. */
int bj_mail_forget(struct bj_store *s, int64_t before_sec, struct bj_err *err);

#endif

/* The tables of mails in the store: jobs that wait for a mail, and mails that
 * were sent.  No mail is sent twice: it is claimed in a separate transaction
 * before it is sent, and its result is written afterwards. */
#ifndef BJ_MAIL_SENT_H
#define BJ_MAIL_SENT_H

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "statsdb/tables/store.h"

#include <stdbool.h>
#include <stdint.h>

/* --- on and off ------------------------------------------------------------
 */

struct bj_mail_state {
    int64_t since;         /* time since which mails are on */
    int64_t daily, weekly; /* the last digests that were sent */
};

/* Turn mails on, unless they are on; choice is the default of the site.  Mails
 * that were being sent when the program ended become "failed"; *ret_lost is
 * their number. */
int bj_mail_turn_on(struct bj_store *s, const char *choice, int64_t now_sec,
                    int64_t *ret_lost, struct bj_err *err);

/* Turn mails off: jobs that end from now on are not listed. */
int bj_mail_turn_off(struct bj_store *s, struct bj_err *err);

int bj_mail_state_read(struct bj_store *s, struct bj_mail_state *ret,
                       struct bj_err *err);
int bj_mail_digested(struct bj_store *s, bool weekly, int64_t due_sec,
                     struct bj_err *err);

/* --- jobs ------------------------------------------------------------------
 */

/* Add jobs to the list that were stored since the last call and have ended. */
int bj_mail_collect(struct bj_store *s, struct bj_err *err);

struct bj_mail_job {
    int64_t job, end_sec;
    struct bj_slice user;
    /* key of the mail; all tasks of an array have one key */
    struct bj_slice key;
    bool derived, open; /* open: other tasks of the array have not ended */
};

/* Return the listed jobs that ended at or before until_sec, the oldest first,
 * in the arena; only one task of an array.  Jobs that ended before since_sec
 * are removed from the list.  Returns their number, at most BJ_MAIL_JOBS. */
enum { BJ_MAIL_JOBS = 1000 };
int bj_mail_jobs(struct bj_store *s, int64_t since_sec, int64_t until_sec,
                 struct bj_arena *arena, struct bj_mail_job **ret,
                 struct bj_err *err);

/* Remove a job, or all tasks of its array, from the list. */
int bj_mail_drop(struct bj_store *s, int64_t job, struct bj_err *err);

/* --- mails -----------------------------------------------------------------
 */

enum bj_mail_claim {
    BJ_MAIL_CLAIMED, /* send it, then call bj_mail_note */
    BJ_MAIL_DONE,    /* it was sent, or must not be sent */
    BJ_MAIL_WAITS,   /* it failed recently, or a limit per day is reached */
    BJ_MAIL_CAPPED,  /* the user's limit per day is reached: it will not be sent
                      */
};

struct bj_mail_caps {
    uint64_t per_user, per_day;
};

/* Claim the mail with this key before sending it.  Returns an enum
 * bj_mail_claim or an error. */
int bj_mail_claim(struct bj_store *s, struct bj_slice key, struct bj_slice user,
                  const struct bj_mail_caps *caps, int64_t now_sec,
                  struct bj_err *err);

/* Store the result of a claimed mail; error NULL: it was sent. */
int bj_mail_note(struct bj_store *s, struct bj_slice key, bool again,
                 const char *error, int64_t now_sec, struct bj_err *err);

/* Delete the rows of mails older than before_sec. */
int bj_mail_forget(struct bj_store *s, int64_t before_sec, struct bj_err *err);

/* Warnings about running jobs that wait to be sent: rows of running_action
 * (statsdb/running/running.h writes them). */

struct bj_mail_warning {
    int64_t id, job;
    struct bj_slice user; /* may be empty */
    struct bj_slice key;  /* key of the mail: mail/sent.h */
    struct bj_slice next; /* a sentence about what happens next; may be empty */
};

/* Return the oldest waiting warnings, in the arena, without those about ended
 * jobs.  Returns their number, at most BJ_MAIL_WARNINGS. */
enum { BJ_MAIL_WARNINGS = 100 };
int bj_mail_warnings(struct bj_store *s, struct bj_arena *arena,
                     struct bj_mail_warning **ret, struct bj_err *err);

/* Record that a warning was sent (failure NULL), or the reason why it will
 * never be sent. */
int bj_mail_warned(struct bj_store *s, int64_t id, const char *failure,
                   int64_t now_sec, struct bj_err *err);

/* Was the mail with this key sent?  1, 0 or an error. */
int bj_mail_was_sent(struct bj_store *s, struct bj_slice key,
                     struct bj_err *err);

#endif

/* Warnings about running jobs that wait to be sent: rows of running_action
 * (statsdb/running/running.h writes them). */
#ifndef BJ_MAIL_WARNING_H
#define BJ_MAIL_WARNING_H

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "statsdb/tables/store.h"

#include <stdint.h>

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

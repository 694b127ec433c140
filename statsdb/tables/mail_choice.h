/* The mails that users chose to receive (docs/mail.md). The daemon
 * batchjob_stats_db reads the choices; its command and the API write them. */
#ifndef BJ_STATSDB_TABLES_MAIL_CHOICE_H
#define BJ_STATSDB_TABLES_MAIL_CHOICE_H

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct bj_store;
struct bj_db;

enum { BJ_MAIL_CHOICE_MAX = 8, BJ_MAIL_USER_MAX = 256 };

struct bj_mail_choice {
    char choice[BJ_MAIL_CHOICE_MAX];     /* "": the user has not chosen */
    int64_t since;                       /* 0: not chosen */
    char by_default[BJ_MAIL_CHOICE_MAX]; /* default of the site; "": mails are
                                            off */
};

int bj_mail_choice_read(struct bj_db *db, struct bj_slice user,
                        struct bj_mail_choice *ret, struct bj_err *err);

/* Is it a valid choice?  "" is valid: the default of the site. */
bool bj_mail_choice_is(struct bj_slice choice);

/* Store the choice of a user from now on, in its own transaction.  -EINVAL: the
 * choice or the user is not valid. */
int bj_mail_choice_write(struct bj_store *s, struct bj_slice user,
                         struct bj_slice choice, int64_t now_sec,
                         struct bj_err *err);

#endif

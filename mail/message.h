/* Writes mails: the report of an ended job, the warning about a running job,
 * and the digest of a user's jobs. */
#ifndef BJ_MAIL_MESSAGE_H
#define BJ_MAIL_MESSAGE_H

#include "base/buf.h"
#include "base/err.h"
#include "mail/template.h"
#include "report/model/report.h"
#include "report/period/period.h"
#include "statsdb/conf/mail_conf.h"

struct bj_mail_plots_from;

struct bj_mail_writer {
    const struct bj_mail_conf *conf;
    const struct bj_mail_templates *templates;
    struct bj_mail_plots_from *plots; /* NULL: none */
};

/* Recipient and time of a mail. */
struct bj_mail_for {
    struct bj_slice user;
    const char *to;      /* address: mail/address.h */
    struct bj_slice key; /* key of the mail: mail/sent.h */
    int64_t date_sec;
};

enum { BJ_MAIL_NAME_MAX = 33 }; /* with NUL */

/* Compute the name of a mail, for Message-ID and its file, from its key, so
 * that it is the same in each attempt. */
void bj_mail_name(struct bj_slice key, char ret[static BJ_MAIL_NAME_MAX]);

/* Append the whole message about an ended job; -ENOMEM. */
int bj_mail_of_job(const struct bj_mail_writer *w, const struct bj_mail_for *to,
                   const struct bj_report *r, struct bj_buf *out,
                   struct bj_err *err);

/* Append a warning about a running job, without plots; next: a sentence about
 * what happens next. */
int bj_mail_of_warning(const struct bj_mail_writer *w,
                       const struct bj_mail_for *to, const struct bj_report *r,
                       struct bj_slice next, struct bj_buf *out,
                       struct bj_err *err);

/* Append a digest; title: "Your jobs from 2026-11-16 to 2026-11-22". */
int bj_mail_of_period(const struct bj_mail_writer *w,
                      const struct bj_mail_for *to, const struct bj_period *p,
                      const char *title, struct bj_buf *out,
                      struct bj_err *err);

#endif

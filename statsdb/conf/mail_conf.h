/* Options of mails about jobs (docs/mail.md), which room mail reads. */
#ifndef BJ_STATSDB_CONF_MAIL_CONF_H
#define BJ_STATSDB_CONF_MAIL_CONF_H

#include "base/opt.h"

#include <stdbool.h>

/* A text may be NULL or empty: not set. */
struct bj_mail_conf {
    char *send;   /* "off", "directory", "sendmail" or "smtp" */
    char *choice; /* of users who have not chosen */
    char *from, *from_name, *envelope_sender, *reply_to;
    char *url; /* of the web pages */
    char *address, *address_file;
    struct bj_strv address_command;
    char *template_dir, *directory;
    struct bj_strv sendmail;
    char *smtp_url, *smtp_user, *smtp_password_file, *smtp_ca_file;
    bool smtp_tls;
    uint64_t delay_usec, max_age_usec;
    uint64_t per_user, per_day; /* mails per day */
    char *quiet_hours, *digest_time;
    bool plots;
};

/* The choices of users: docs/mail.md. */
#define BJ_MAIL_CHOICES "off|advice|all|daily|weekly"

extern const struct bj_opt bj_mail_opts[];

/* Are mails sent? */
static inline bool bj_mail_is_on(const struct bj_mail_conf *c)
{
    return bj_is_set(c->send) && c->send[1] != 'f'; /* "off" */
}

#endif

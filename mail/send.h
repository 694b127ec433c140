/* Sends a message to a mail server or to sendmail, or writes it into a
 * directory. */
#ifndef BJ_MAIL_SEND_H
#define BJ_MAIL_SEND_H

#include "base/err.h"
#include "base/slice.h"
#include "statsdb/conf/mail_conf.h"

#include <stdatomic.h>

/* A message to one address. */
struct bj_mail_letter {
    const char *to;          /* valid: mail/address.h */
    const char *name;        /* of the file in a directory, without ".eml" */
    struct bj_slice bytes;   /* lines end in \n */
    const atomic_bool *stop; /* set: ends the attempt */
};

enum bj_mail_outcome {
    BJ_MAIL_SENT,
    BJ_MAIL_LATER,   /* not accepted, try again */
    BJ_MAIL_DOWN,    /* not accepted, and no other mail can be sent now */
    BJ_MAIL_REFUSED, /* not accepted, never try again */
    BJ_MAIL_UNKNOWN, /* perhaps accepted: the server's response is missing */
};

/* Send a message by the method conf->send.  err is set unless it was sent. */
enum bj_mail_outcome bj_mail_send(const struct bj_mail_conf *conf,
                                  const struct bj_mail_letter *letter,
                                  struct bj_err *err);

/* Check the options, files and programs that sending needs. */
int bj_mail_send_check(const struct bj_mail_conf *conf, struct bj_err *err);

/* Connect to the mail server, with TLS and a password as configured, without
 * sending anything; 0 if mails are sent in another way. */
int bj_mail_greet(const struct bj_mail_conf *conf, struct bj_err *err);

#endif

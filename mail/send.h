/* Handing a message to a mail server, to sendmail, or to a directory. */
#ifndef BJ_MAIL_SEND_H
#define BJ_MAIL_SEND_H

#include "base/err.h"
#include "base/slice.h"
#include "statsdb/mail_conf.h"

#include <stdatomic.h>

/* A message to one address. */
struct bj_mail_letter {
    const char *to;          /* valid: mail/address.h */
    const char *name;        /* of the file in a directory, without ".eml" */
    struct bj_slice bytes;   /* lines end in \n */
    const atomic_bool *stop; /* ends the attempt when it becomes true */
};

enum bj_mail_outcome {
    BJ_MAIL_SENT,
    BJ_MAIL_LATER,   /* not accepted, try again */
    BJ_MAIL_DOWN,    /* the same, and no other mail can be sent now */
    BJ_MAIL_REFUSED, /* not accepted, never try again */
    BJ_MAIL_UNKNOWN, /* may have been accepted: the answer is missing */
};

/* Send it by the method conf->send.  err is set unless it was sent. */
enum bj_mail_outcome bj_mail_send(const struct bj_mail_conf *conf,
                                  const struct bj_mail_letter *letter,
                                  struct bj_err *err);

/* Check the options, files and programs that this needs. */
int bj_mail_send_check(const struct bj_mail_conf *conf, struct bj_err *err);

#endif

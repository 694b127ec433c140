/* Addresses of users, from the rules of the site. */
#ifndef BJ_MAIL_ADDRESS_H
#define BJ_MAIL_ADDRESS_H

#include "base/err.h"
#include "base/slice.h"
#include "statsdb/conf/mail_conf.h"

#include <stdatomic.h>

enum { BJ_MAIL_ADDRESS_MAX = 255 }; /* with NUL */

/* Is it LOCAL@DOMAIN with characters that need no quotes (RFC 5321), which a
 * command cannot mistake for an option? */
bool bj_mail_address_is(struct bj_slice s);

struct bj_mail_addresses;

/* conf must outlive *ret.  The file is read at first use, and again after it
 * has changed. */
int bj_mail_addresses_new(const struct bj_mail_conf *conf,
                          struct bj_mail_addresses **ret, struct bj_err *err);
void bj_mail_addresses_free(struct bj_mail_addresses *a); /* NULL is fine */

/* Return the address of a user in ret (BJ_MAIL_ADDRESS_MAX bytes); "": the user
 * gets no mail.  Setting *stop ends the command.  0, or an error that may be
 * temporary: the file cannot be read, or the command fails. */
int bj_mail_address(struct bj_mail_addresses *a, struct bj_slice user,
                    const atomic_bool *stop, char *ret, struct bj_err *err);

/* Check the text of a file: lines "USER ADDRESS", "USER -", "# comment".
 * -EINVAL with the line in the message. */
int bj_mail_addresses_check(const char *name, struct bj_slice text,
                            struct bj_err *err);

/* Check the options, the file and the command. */
int bj_mail_addresses_check_conf(const struct bj_mail_conf *conf,
                                 struct bj_err *err);

#endif

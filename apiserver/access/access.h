/* Access rules: users see their own jobs, coordinators those of their accounts,
 * admins all. */
#ifndef BJ_APISERVER_ACCESS_ACCESS_H
#define BJ_APISERVER_ACCESS_ACCESS_H

#include "apiserver/conf/conf.h"
#include "base/err.h"
#include "base/opt.h"
#include "base/slice.h"

#include <stdbool.h>

struct bj_access;

/* Read the rules.  admins: words; coordinators: "ACCOUNT: WORD WORD ..."; file
 * (NULL or empty: none): lines "admin WORD ..." and "coordinator ACCOUNT WORD
 * ...", '#' begins a comment.  A WORD is the name of a user, or "@GROUP" for
 * the members of a Unix group in the user database. -EINVAL with file and line,
 * or the option, in the message. */
int bj_access_new(const struct bj_strv *admins,
                  const struct bj_strv *coordinators, const char *file,
                  struct bj_access **ret, struct bj_err *err);
void bj_access_free(struct bj_access *a); /* NULL is fine */

bool bj_access_is_admin(const struct bj_access *a, struct bj_slice user);

/* Return the accounts that a user coordinates, which a owns; returns their
 * number. */
unsigned bj_access_accounts(const struct bj_access *a, struct bj_slice user,
                            const struct bj_slice **ret);

/* Return right number i, in the order of users; an empty account means that the
 * user is an admin.  false: there are fewer rights. */
bool bj_access_right(const struct bj_access *a, size_t i,
                     struct bj_slice *ret_user, struct bj_slice *ret_account);

/* Is this a valid name of a user?  Letters, digits and . _ - @ +, beginning
 * with a letter, a digit or '_', at most 63 bytes. */
bool bj_access_is_name(struct bj_slice s);

/* Replace the access rules in a store in PostgreSQL by those of the options and
 * their file, in one transaction; *ret is the number of rules.
 * -ENOTSUP: the store is a file, or its schema "people" is missing
 * (docs/scale.md); other errors are those of bj_access_new and
 * bj_store_open. */
int bj_access_write(const struct bj_api_conf *conf, size_t *ret,
                    struct bj_err *err);

#endif

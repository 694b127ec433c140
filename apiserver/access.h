/* Access rules: users see their own jobs, coordinators those of their accounts,
 * admins all. */
#ifndef BJ_APISERVER_ACCESS_H
#define BJ_APISERVER_ACCESS_H

#include "base/err.h"
#include "base/opt.h"
#include "base/slice.h"

#include <stdbool.h>

struct bj_access;

/* Make the lists.  admins: words; coordinators: "ACCOUNT: WORD WORD ..."; file
 * (NULL or empty: none): lines "admin WORD ..." and "coordinator ACCOUNT WORD
 * ...", '#' begins a comment.  A WORD is a user's name, or "@GROUP" for the
 * members of a Unix group in the user database. -EINVAL with a message that
 * names file and line, or the option. */
int bj_access_new(const struct bj_strv *admins,
                  const struct bj_strv *coordinators, const char *file,
                  struct bj_access **ret, struct bj_err *err);
void bj_access_free(struct bj_access *a); /* NULL is fine */

bool bj_access_is_admin(const struct bj_access *a, struct bj_slice user);

/* The accounts that user coordinates, which a owns; returns how many. */
unsigned bj_access_accounts(const struct bj_access *a, struct bj_slice user,
                            const struct bj_slice **ret);

/* The right at position i, in the order of users; an empty account is that of
 * an admin.  false: there are fewer. */
bool bj_access_right(const struct bj_access *a, size_t i,
                     struct bj_slice *ret_user, struct bj_slice *ret_account);

/* Is this a valid name of a user?  Letters, digits and . _ - @ +, beginning
 * with a letter, a digit or '_', at most 63 bytes. */
bool bj_access_is_name(struct bj_slice s);

#endif

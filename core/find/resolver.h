/* The resolver, for its tests; other files use core/find/ident.h. */
#ifndef BJ_CORE_FIND_RESOLVER_H
#define BJ_CORE_FIND_RESOLVER_H

#include "core/find/ident.h"
#include "core/find/users.h"

/* bj_resolver_new with another user database.  users is copied; its function
 * name is called by threads of the resolver, by several at a time if it hangs
 * for longer than stuck_usec (0: 10 s). */
int bj_resolver_new_with(const struct bj_conf *conf, const struct bj_host *host,
                         const struct bj_userdb *users, uint64_t stuck_usec,
                         struct bj_resolver **ret, struct bj_err *err);

#endif

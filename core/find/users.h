/* A cache of the names of users.
 *
 * A lookup may use the network and take arbitrarily long, so only threads of
 * the resolver do it.  Thread-safe: a lookup that hangs does not delay
 * others. */
#ifndef BJ_CORE_FIND_USERS_H
#define BJ_CORE_FIND_USERS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    BJ_USERS_MAX = 65536,      /* names kept at a time */
    BJ_USERS_KEEP_SEC = 3600,  /* a name */
    BJ_USERS_RETRY_SEC = 60,   /* the result that no user exists, or that the
                                  lookup failed */
    BJ_USER_NAME_CAP = 256 + 1 /* size of the longest name (LOGIN_NAME_MAX) */
};

/* The user database.  name writes the terminated name of uid to buf (cap
 * bytes): 0; -ENOENT when the user does not exist; another -errno when the
 * lookup failed. */
struct bj_userdb {
    void *ctx;
    int (*name)(void *ctx, uid_t uid, char *buf, size_t cap);
};

/* The user database of the system, by getpwuid_r(3). */
extern const struct bj_userdb bj_userdb_system;

struct bj_users;

/* db is copied.  NULL: out of memory. */
struct bj_users *bj_users_new(const struct bj_userdb *db);
void bj_users_free(struct bj_users *u);

/* Write the name of uid to buf (BJ_USER_NAME_CAP bytes): 0, -ENOENT (no such
 * user) or another -errno (the lookup failed and no earlier name is known).
 * now_usec is the boot clock. */
int bj_users_name(struct bj_users *u, uid_t uid, uint64_t now_usec, char *buf);

/* The number of cached users, for tests. */
size_t bj_users_count(const struct bj_users *u);

#endif

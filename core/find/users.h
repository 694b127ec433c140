/* Names of users, kept for a while.
 *
 * A lookup may go over the network and take as long as it likes: only threads
 * of the resolver do it.  Thread-safe, and one that hangs holds up no other. */
#ifndef BJ_CORE_FIND_USERS_H
#define BJ_CORE_FIND_USERS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    BJ_USERS_MAX = 65536,      /* names kept at a time */
    BJ_USERS_KEEP_SEC = 3600,  /* a name */
    BJ_USERS_RETRY_SEC = 60,   /* that there is none, or that it failed */
    BJ_USER_NAME_CAP = 256 + 1 /* room for the longest name (LOGIN_NAME_MAX) */
};

/* The user database.  name writes the terminated name of uid to buf (cap
 * bytes): 0; -ENOENT when the user does not exist; another -errno when the
 * lookup failed. */
struct bj_userdb {
    void *ctx;
    int (*name)(void *ctx, uid_t uid, char *buf, size_t cap);
};

/* The one of the system, by getpwuid_r(3). */
extern const struct bj_userdb bj_userdb_system;

struct bj_users;

/* db is copied.  NULL when memory is out. */
struct bj_users *bj_users_new(const struct bj_userdb *db);
void bj_users_free(struct bj_users *u);

/* The name of uid at boot time now_usec, into buf of BJ_USER_NAME_CAP bytes: 0,
 * -ENOENT (there is none) or another -errno (the lookup failed; a name that was
 * found before stays in use instead). */
int bj_users_name(struct bj_users *u, uid_t uid, uint64_t now_usec, char *buf);

/* Users known, for tests. */
size_t bj_users_count(const struct bj_users *u);

#endif

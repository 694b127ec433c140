#include "core/find/users.h"

#include <errno.h>
#include <pthread.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS_MIN = 64, PASSWD_CAP = 1024, PASSWD_MAX = 1024 * 1024 };

struct user {
    uid_t uid;
    bool used;
    int result;          /* of the lookup */
    uint64_t until_usec; /* when it is looked up again */
    char *name;          /* NULL: never known */
};

/* A hash table with open addressing: nslots is a power of two, at most half of
 * the slots are used, and single entries are never removed. */
struct bj_users {
    struct bj_userdb db;
    pthread_mutex_t lock; /* not held during a lookup in the database */
    struct user *slots;
    size_t nslots, n;
};

static bool is_no_user(int e)
{
    /* The errors for "not found" in getpwuid_r(3). */
    return e == 0 || e == ENOENT || e == ESRCH || e == EBADF || e == EPERM;
}

static int system_name(void *ctx, uid_t uid, char *buf, size_t cap)
{
    (void)ctx;
    for (size_t size = PASSWD_CAP; size <= PASSWD_MAX; size *= 4) {
        char *room = malloc(size);
        if (!room)
            return -ENOMEM;
        struct passwd pw, *found = NULL;
        int e = getpwuid_r(uid, &pw, room, size, &found);
        int r = found           ? 0
                : e == ERANGE   ? -ERANGE
                : is_no_user(e) ? -ENOENT
                                : -e;
        size_t n = found ? strlen(pw.pw_name) : 0;
        if (r == 0 && (n == 0 || n >= cap))
            r = -ENOENT;
        if (r == 0)
            memcpy(buf, pw.pw_name, n + 1);
        free(room);
        if (r != -ERANGE)
            return r;
    }
    return -ERANGE;
}

const struct bj_userdb bj_userdb_system = {NULL, system_name};

static struct user *find_slot(struct user *slots, size_t nslots, uid_t uid)
{
    /* Knuth's multiplicative hash, since uids are often consecutive. */
    size_t i = (size_t)(uid * 2654435761u) & (nslots - 1);
    while (slots[i].used && slots[i].uid != uid)
        i = (i + 1) & (nslots - 1);
    return &slots[i];
}

static void forget_all(struct bj_users *u)
{
    for (size_t i = 0; i < u->nslots; i++)
        free(u->slots[i].name);
    memset(u->slots, 0, u->nslots * sizeof(*u->slots));
    u->n = 0;
}

static int users_grow(struct bj_users *u)
{
    size_t nslots = u->nslots ? u->nslots * 2 : SLOTS_MIN;
    struct user *slots = calloc(nslots, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    for (size_t i = 0; i < u->nslots; i++)
        if (u->slots[i].used)
            *find_slot(slots, nslots, u->slots[i].uid) = u->slots[i];
    free(u->slots);
    u->slots = slots;
    u->nslots = nslots;
    return 0;
}

struct bj_users *bj_users_new(const struct bj_userdb *db)
{
    struct bj_users *u = calloc(1, sizeof(*u));
    if (!u || users_grow(u) < 0 || pthread_mutex_init(&u->lock, NULL) != 0) {
        if (u)
            free(u->slots);
        free(u);
        return NULL;
    }
    u->db = *db;
    return u;
}

void bj_users_free(struct bj_users *u)
{
    if (!u)
        return;
    forget_all(u);
    pthread_mutex_destroy(&u->lock);
    free(u->slots);
    free(u);
}

size_t bj_users_count(const struct bj_users *u)
{
    return u->n;
}

/* The entry of uid, created if missing; NULL: out of memory. */
static struct user *entry(struct bj_users *u, uid_t uid)
{
    struct user *e = find_slot(u->slots, u->nslots, uid);
    if (e->used)
        return e;
    if (u->n >= BJ_USERS_MAX)
        forget_all(u);
    else if (u->n >= u->nslots / 2 && users_grow(u) < 0)
        return NULL;
    e = find_slot(u->slots, u->nslots, uid);
    *e = (struct user){.uid = uid, .used = true};
    u->n++;
    return e;
}

/* Cache the result of the user database. */
static void users_keep(struct user *e, int r, const char *name,
                       uint64_t now_usec)
{
    char *copy = r == 0 ? strdup(name) : NULL;
    if (r == 0 && !copy)
        r = -ENOMEM;
    if (r == 0 || r == -ENOENT) {
        free(e->name);
        e->name = copy;
    }
    uint64_t sec = r == 0 ? BJ_USERS_KEEP_SEC : BJ_USERS_RETRY_SEC;
    e->until_usec = now_usec + sec * 1000000;
    e->result = e->name ? 0 : r;
}

int bj_users_name(struct bj_users *u, uid_t uid, uint64_t now_usec, char *buf)
{
    pthread_mutex_lock(&u->lock);
    struct user *e = find_slot(u->slots, u->nslots, uid);
    int r = 0;
    if (!e->used || now_usec >= e->until_usec) {
        pthread_mutex_unlock(&u->lock);
        r = u->db.name(u->db.ctx, uid, buf, BJ_USER_NAME_CAP);
        pthread_mutex_lock(&u->lock);
        e = entry(u, uid); /* it may have moved */
        if (e)
            users_keep(e, r, buf, now_usec);
    }
    if (e)
        r = e->result;
    if (e && r == 0)
        memcpy(buf, e->name, strlen(e->name) + 1);
    pthread_mutex_unlock(&u->lock);
    return r;
}

#include "apiserver/access/limit.h"

#include "base/hash.h"
#include "base/web.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>

enum { SETS = 1024, WAYS = 4 };

struct slot {
    uint64_t user; /* hash of the user; 0: unused */
    struct bj_bucket bucket;
};

struct bj_limit {
    pthread_mutex_t lock;
    uint64_t seed; /* random, so that no user can choose a name that shares the
                      slot of another user */
    struct slot slot[SETS][WAYS];
};

int bj_limit_new(struct bj_limit **ret, struct bj_err *err)
{
    struct bj_limit *l = calloc(1, sizeof(*l));
    if (!l)
        return bj_err_set(err, -ENOMEM, "limits of users");
    if (getrandom(&l->seed, sizeof(l->seed), 0) != sizeof(l->seed)) {
        free(l);
        return bj_err_set(err, -EIO, "no random numbers");
    }
    pthread_mutex_init(&l->lock, NULL);
    *ret = l;
    return 0;
}

void bj_limit_free(struct bj_limit *l)
{
    if (!l)
        return;
    pthread_mutex_destroy(&l->lock);
    free(l);
}

/* Hash with mixed bits (finalizer of MurmurHash3). */
static uint64_t limit_hash(uint64_t seed, struct bj_slice s)
{
    uint64_t h = bj_hash(BJ_HASH ^ seed, s);
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdu;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53u;
    return (h ^ (h >> 33)) | 1;
}

/* Find the slot of a user, or else the slot with the fullest bucket. */
static struct slot *limit_place(struct bj_limit *l, uint64_t user)
{
    struct slot *set = l->slot[(user >> 1) % SETS], *found = &set[0];
    for (int i = 0; i < WAYS; i++) {
        if (set[i].user == user)
            return &set[i];
        if (set[i].bucket.full_usec < found->bucket.full_usec)
            found = &set[i];
    }
    *found = (struct slot){.user = user};
    return found;
}

uint64_t bj_limit_take(struct bj_limit *l, struct bj_slice user,
                       uint64_t interval_usec, uint64_t burst,
                       uint64_t now_usec)
{
    pthread_mutex_lock(&l->lock);
    struct slot *s = limit_place(l, limit_hash(l->seed, user));
    uint64_t wait = bj_bucket_take(&s->bucket, interval_usec, burst, now_usec);
    pthread_mutex_unlock(&l->lock);
    return wait;
}

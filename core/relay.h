/* A thread for what may block for ever: files of a process that the kernel
 * holds, a user database or a driver that hangs.  A thread that is held for too
 * long is left behind, and another goes on in its place. */
#ifndef BJ_CORE_RELAY_H
#define BJ_CORE_RELAY_H

#include "core/host.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bj_relay;

/* A thread.  One that comes back when another has its place touches nothing
 * that is not its own. */
struct bj_worker {
    struct bj_relay *relay;
    unsigned turn;
};

/* What is to be done.  All is called under the lock. */
struct bj_relay_work {
    size_t worker_size; /* of a struct that begins with a struct bj_worker */
    bool (*hire)(struct bj_worker *w);    /* false: no memory; NULL: nothing */
    void (*dismiss)(struct bj_worker *w); /* frees its own; NULL: nothing */
    /* Do one thing, or wait.  False when bj_worker_back said so. */
    bool (*serve)(struct bj_worker *w);
    bool (*finish)(struct bj_worker *w); /* at the end; likewise; or NULL */
    /* The last reference is gone: frees the struct that it is in.  No lock. */
    void (*gone)(struct bj_relay *r);
};

/* The first member of its owner's struct.  What is above the line stays as it
 * is; the rest is under lock, and of core/relay.c. */
struct bj_relay {
    const struct bj_relay_work *work;
    const char *name; /* of the thread; static */
    struct bj_host host;
    pthread_mutex_t lock;
    pthread_cond_t change; /* signalled for whatever may be waited for */
    uint64_t stuck_usec;
    /* -- */
    pthread_t thread;
    unsigned refs; /* the owner's, and of each thread */
    bool threaded, ended, stop;
    unsigned turn, left; /* of the present thread; others left behind */
    uint64_t busy_usec;  /* since when it is away; 0: it is not */
};

/* A thread may be away for stuck_usec (0: 10 s).  host is copied; its ctx must
 * live until bj_relay_free.  -ENOMEM. */
int bj_relay_init(struct bj_relay *r, const struct bj_relay_work *work,
                  const char *name, const struct bj_host *host,
                  uint64_t stuck_usec);
/* Without the lock: stop, and give up the owner's reference.  Waits two seconds
 * at most; a thread that is held longer is left behind with what it needs. */
void bj_relay_free(struct bj_relay *r);

/* Under lock: have a thread; 0 or -errno. */
int bj_relay_start(struct bj_relay *r);
/* Under lock, and now and then: if the thread is stuck, leave it behind and
 * start another, unless too many are left behind.  True if it was; what it was
 * at is the owner's to settle. */
bool bj_relay_relieve(struct bj_relay *r);

/* For serve: leave the lock to do something that may block, ... */
void bj_worker_away(struct bj_worker *w);
/* ... and take it again.  False when another thread has its place. */
bool bj_worker_back(struct bj_worker *w);

#endif

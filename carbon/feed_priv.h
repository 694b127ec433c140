/* The inside of a feed.  Private to the room. */
#ifndef BJ_CARBON_FEED_PRIV_H
#define BJ_CARBON_FEED_PRIV_H

#include "carbon/cache.h"
#include "carbon/feed.h"

#include <pthread.h>
#include <sys/stat.h>

/* What the feed knows of a slot of its plan besides the points. */
struct feed_slot {
    struct bj_carbon_session session;
    uint64_t due_usec;
    unsigned fails; /* in a row */
    struct bj_carbon_feed_status status;
    struct stat file;     /* of the file that was read; st_ino 0: none */
    uint64_t written_sec; /* of the file whose points we have; 0: none */
};

struct bj_carbon_feed {
    const struct bj_carbon_conf *conf;
    struct bj_carbon_plan plan;
    struct bj_carbon_net net;
    struct bj_fetch *fetch; /* our own net; NULL */
    atomic_bool abort;
    uint64_t random; /* state of the generator, never 0 */
    bool loaded;     /* the cache was looked at */
    bool unsaved;    /* the cache could not be written the last time */
    struct bj_carbon_reply reply; /* of the thread that steps */
    /* Guards what is below.  Only the stepping thread writes it, and so reads
     * it without the lock. */
    pthread_mutex_t lock;
    struct bj_carbon_cached data[BJ_CARBON_SLOTS];
    struct feed_slot slot[BJ_CARBON_SLOTS];
};

/* Look at the dropped file of slot i; reads it when it has changed.  Returns
 * the fault that the slot now has, with a message when *ret_news: when it was
 * read, can't be, or does otherwise than before. */
enum bj_carbon_fault bj_carbon_feed_look(struct bj_carbon_feed *feed, size_t i,
                                         struct bj_carbon_now now,
                                         bool *ret_news, struct bj_err *err);

/* Some value of slot i holds at a time, of whatever kind. */
bool bj_carbon_feed_holds(const struct bj_carbon_feed *feed, size_t i,
                          uint64_t wall_sec);

/* The file of slot i is too old to count. */
bool bj_carbon_feed_file_expired(const struct bj_carbon_feed *feed, size_t i,
                                 uint64_t wall_sec);

#endif

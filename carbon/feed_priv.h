/* The data of a feed.  Private to the room. */
#ifndef BJ_CARBON_FEED_PRIV_H
#define BJ_CARBON_FEED_PRIV_H

#include "carbon/feed.h"
#include "carbon/points.h"

#include <pthread.h>
#include <sys/stat.h>

/* State of a slot in addition to its points. */
struct feed_slot {
    struct bj_carbon_session session;
    uint64_t due_usec;
    unsigned fails; /* in a row */
    struct bj_carbon_feed_status status;
    struct stat file; /* of the last file read; st_ino 0: none */
};

struct bj_carbon_feed {
    const struct bj_carbon_conf *conf;
    struct bj_carbon_plan plan;
    struct bj_carbon_net net;
    struct bj_fetch *fetch; /* for net; NULL: the caller's */
    atomic_bool abort;
    uint64_t random;              /* state of the generator, never 0 */
    bool started;                 /* the first requests are due */
    struct bj_carbon_reply reply; /* used by the stepping thread only */
    /* Guards the fields below.  Only the stepping thread writes them, so it
     * reads them without the lock. */
    pthread_mutex_t lock;
    struct bj_points points[BJ_CARBON_SLOTS];
    struct feed_slot slot[BJ_CARBON_SLOTS];
};

/* Check the file of slot i and read it when it has changed.  Returns the fault
 * of the slot, with a message when *ret_news: it was read, cannot be read, or
 * the fault is new. */
enum bj_carbon_fault bj_carbon_feed_check_file(struct bj_carbon_feed *feed,
                                               size_t i,
                                               struct bj_carbon_now now,
                                               bool *ret_news,
                                               struct bj_err *err);

/* Whether slot i has a value of any kind that is current at a time. */
bool bj_carbon_feed_holds(const struct bj_carbon_feed *feed, size_t i,
                          uint64_t wall_sec);

#endif

/* The feed of emission factors: asks the providers of a plan at their paces,
 * remembers, and says which factor holds now.
 *
 * It makes no threads and writes no logs.  One thread calls
 * bj_carbon_feed_step, which may wait for the network; all other calls but
 * bj_carbon_feed_free are for any thread and never wait for it.
 *
 * What holds, of each provider and kind: the value that began less than two
 * hours ago, or that its file states for now; else what the same hour was like
 * some days ago; else nothing.  The yearly table and the operator's constant
 * always hold.  A factor is never 0, and one kind never stands in for another.
 * Which provider is believed is up to whoever asks. */
#ifndef BJ_CARBON_FEED_H
#define BJ_CARBON_FEED_H

#include "carbon/ask.h"
#include "carbon/factor.h"

/* What time it is. */
struct bj_carbon_now {
    uint64_t boot_usec; /* base/clock.h; for paces and deadlines */
    uint64_t wall_sec;  /* since 1970; which values are of now */
};

struct bj_carbon_feed;

/* Make a feed.  conf must outlive it.  net carries the questions; NULL for
 * bj_fetch.  seed makes the paces of many machines differ; any number.  Opens
 * nothing and asks nobody.  -EINVAL when the options do not fit each other
 * (bj_carbon_plan), -ENOMEM. */
int bj_carbon_feed_new(const struct bj_carbon_conf *conf,
                       const struct bj_carbon_net *net, uint64_t seed,
                       struct bj_carbon_feed **ret, struct bj_err *err);

/* Free it; no other call may be under way.  NULL is fine. */
void bj_carbon_feed_free(struct bj_carbon_feed *feed);

/* Do what is due, one question at most, and return when it wants to be called
 * again, on the clock of boot: maybe at once.  Takes as long as bj_carbon_ask
 * may.  As long as the wall clock is not set (years before 2023) nobody is
 * asked.  UINT64_MAX: there is nothing to be done, ever.  err has a
 * code and a message ("rte: GET https://...: HTTP 500") when something went
 * wrong that had not gone wrong the same way before: worth a line in the log.
 * err may be NULL. */
uint64_t bj_carbon_feed_step(struct bj_carbon_feed *feed,
                             struct bj_carbon_now now, struct bj_err *err);

/* End a question that is under way within a second, and let all that follow
 * fail at once: for shutting down. */
void bj_carbon_feed_abort(struct bj_carbon_feed *feed);

enum { BJ_CARBON_FEED_FACTORS = BJ_CARBON_SLOTS * BJ_FACTOR_KINDS };

/* Copy out what holds at a time: one factor for each provider and kind that
 * has one, in the order of the providers.  Returns how many, at most max;
 * BJ_CARBON_FEED_FACTORS is always enough. */
size_t bj_carbon_feed_factors(struct bj_carbon_feed *feed, uint64_t wall_sec,
                              struct bj_factor *out, size_t max);

/* Copy out all values that providers and the file have stated for periods that
 * began in from_sec <= t < to_sec, in the order of providers and time: for
 * whoever keeps a history.  Later calls may return better values for the same
 * provider, zone, kind and start.  Returns how many there are; at most max were
 * copied. */
size_t bj_carbon_feed_history(struct bj_carbon_feed *feed, uint64_t from_sec,
                              uint64_t to_sec, struct bj_factor *out,
                              size_t max);

/* How a provider does. */
struct bj_carbon_feed_status {
    const char *provider; /* static */
    char zone[BJ_ZONE_MAX];
    char country[3];
    bool remote;  /* is asked over the network */
    bool success; /* the last look or question; table and constant:
                     always */
    enum bj_carbon_fault fault;        /* of the last one */
    uint64_t asked;                    /* questions, and readings of the file */
    uint64_t errors[BJ_CARBON_FAULTS]; /* by fault; [BJ_CARBON_OK] is 0 */
    uint64_t success_sec; /* when the last one succeeded; 0: never */
    uint64_t age_sec; /* of the newest value, from its start; BJ_ABSENT: none */
};

/* Copy out how the providers do, in their order.  Returns how many;
 * BJ_CARBON_SLOTS is always enough. */
size_t bj_carbon_feed_status(struct bj_carbon_feed *feed, uint64_t wall_sec,
                             struct bj_carbon_feed_status *out, size_t max);

#endif

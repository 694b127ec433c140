/* The feed of emission factors: queries the providers of a plan at their
 * intervals, keeps the values, and returns the current factors.
 *
 * It makes no threads and writes no logs.  One thread calls
 * bj_carbon_feed_step, which may wait for the network; all other calls but
 * bj_carbon_feed_free are for any thread and do not wait for it.
 *
 * The current value of each provider and kind: the one that began less than two
 * hours ago, or that the site's file states for now; else that of the same hour
 * some days ago; else none.  The yearly table and the configured constant are
 * always current.  A factor is never 0, and a kind never replaces another.  The
 * caller selects the provider. */
#ifndef BJ_CARBON_FEED_H
#define BJ_CARBON_FEED_H

#include "carbon/factor.h"
#include "carbon/query.h"

/* The current time. */
struct bj_carbon_now {
    uint64_t boot_usec; /* base/clock.h; for intervals and deadlines */
    uint64_t wall_sec;  /* since 1970; decides which values are current */
};

struct bj_carbon_feed;

/* Make a feed.  conf must outlive it.  net sends the requests; NULL for
 * bj_fetch. seed, any number, makes the times of many machines differ.  Opens
 * no file and sends no request.  -EINVAL when the options contradict each other
 * (bj_carbon_plan), -ENOMEM. */
int bj_carbon_feed_new(const struct bj_carbon_conf *conf,
                       const struct bj_carbon_net *net, uint64_t seed,
                       struct bj_carbon_feed **ret, struct bj_err *err);

/* Free it; no other call may be running.  NULL is fine. */
void bj_carbon_feed_free(struct bj_carbon_feed *feed);

/* Do what is due, one query at most, and return the time of the next call on
 * the boot clock, which may be now.  Takes as long as bj_carbon_send_query may.
 * Sends no request while the wall clock is not set (years before 2023).
 * UINT64_MAX: never call again.  err has a code and a message ("rte: GET
 * https://...: HTTP 500") for the log when a new fault occurred.  err may be
 * NULL. */
uint64_t bj_carbon_feed_step(struct bj_carbon_feed *feed,
                             struct bj_carbon_now now, struct bj_err *err);

/* End the current query within a second, and let all later ones fail at once:
 * for shutting down. */
void bj_carbon_feed_abort(struct bj_carbon_feed *feed);

enum { BJ_CARBON_FEED_FACTORS = BJ_CARBON_SLOTS * BJ_FACTOR_KINDS };

/* Copy the current factors: one for each provider and kind that has one, in the
 * order of the providers.  Returns the number, at most max;
 * BJ_CARBON_FEED_FACTORS is always enough. */
size_t bj_carbon_feed_factors(struct bj_carbon_feed *feed, uint64_t wall_sec,
                              struct bj_factor *out, size_t max);

/* Copy all values of providers and the file for periods that began in from_sec
 * <= t < to_sec, in the order of providers and time, for a history.  Later
 * calls may return better values for the same provider, zone, kind and start.
 * Returns the total number; at most max were copied. */
size_t bj_carbon_feed_history(struct bj_carbon_feed *feed, uint64_t from_sec,
                              uint64_t to_sec, struct bj_factor *out,
                              size_t max);

/* The state of a provider. */
struct bj_carbon_feed_status {
    const char *provider; /* static */
    char zone[BJ_ZONE_MAX];
    char country[3];
    bool remote;  /* queried over the network */
    bool success; /* of the last query or check; table and constant: always */
    enum bj_carbon_fault fault;        /* of the last one */
    uint64_t queries;                  /* queries, or reads of the file */
    uint64_t errors[BJ_CARBON_FAULTS]; /* by fault; [BJ_CARBON_OK] is 0 */
    uint64_t success_sec;              /* of the last success; 0: never */
    uint64_t age_sec; /* of the newest value, from its start; BJ_ABSENT: none */
};

/* Copy the states of the providers, in their order.  Returns the number;
 * BJ_CARBON_SLOTS is always enough. */
size_t bj_carbon_feed_status(struct bj_carbon_feed *feed, uint64_t wall_sec,
                             struct bj_carbon_feed_status *out, size_t max);

#endif

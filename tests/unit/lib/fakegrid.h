/* Providers of emission factors that answer as a test wants, at a time that a
 * test sets.  Plugs into a feed in the place of the network. */
#ifndef BJ_TESTS_UNIT_LIB_FAKEGRID_H
#define BJ_TESTS_UNIT_LIB_FAKEGRID_H

#include "carbon/feed.h"

enum grid_provider { GRID_RTE, GRID_EMAPS, GRID_NESO, GRID_WATTTIME, GRIDS };

/* How a provider answers. */
enum grid_mode {
    GRID_GOOD,   /* up to now, with rows of the time to come */
    GRID_LATE,   /* the same, but nothing of the last three hours */
    GRID_EMPTY,  /* no rows */
    GRID_NULL,   /* rows with null */
    GRID_ZERO,   /* rows with 0 */
    GRID_HTML,   /* a page, with status 200 */
    GRID_CUT,    /* half an answer */
    GRID_DOWN,   /* nobody answers */
    GRID_TLS,    /* a certificate of somebody else */
    GRID_HANG,   /* nothing until the deadline */
    GRID_BROKEN, /* 500 */
    GRID_BUSY,   /* 429, with Retry-After when grid.retry_after is set */
    GRID_DENY,   /* 401 */
    GRID_BIG,    /* more than is read */
    GRID_ABORT,  /* the flag was set */
    GRID_MODES
};

struct grid {
    uint64_t boot_usec, wall_sec;
    enum grid_mode mode[GRIDS];
    unsigned asked[GRIDS]; /* requests for values */
    unsigned logins;
    bool forget; /* WattTime refuses tokens given so far */
    uint64_t retry_after_usec;
    char url[1024], header[256], user[64], password[64]; /* of the last one */
    char token[64];                                      /* valid now */
};

/* What a provider says of a period that begins then; 0 is never said. */
uint32_t grid_mg(enum grid_provider p, uint64_t start_sec);

/* How long its periods are. */
uint32_t grid_step(enum grid_provider p);

struct bj_carbon_net grid_net(struct grid *g);

/* The first factor that holds now, of averages or of marginal ones; false: none
 * does.  And what its from is called. */
bool grid_first(const struct grid *g, struct bj_carbon_feed *feed,
                bool marginal, struct bj_factor *ret);
const char *grid_from_name(enum bj_factor_from from);

/* Let time pass on both clocks. */
void grid_sleep(struct grid *g, uint64_t sec);

/* Step until nothing is due; returns the seconds until it is again, rounded up.
 * err gets the last message, and is emptied before. */
uint64_t grid_settle(struct grid *g, struct bj_carbon_feed *feed,
                     struct bj_err *err);

/* Step whenever the feed is due, during that time. */
void grid_run(struct grid *g, struct bj_carbon_feed *feed, uint64_t sec);

/* Options from "name=value" strings (without "emissions."), up to NULL, on
 * zeroed or freed options; URLs, zones and token files are added for those
 * providers that are named ("token" is their file). */
struct bj_carbon_conf grid_conf(const char *token, ...);
void grid_conf_free(struct bj_carbon_conf *conf);

#endif

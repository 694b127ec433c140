/* Simulated providers of emission factors, with responses and clocks that the
 * test sets.  They replace the network of a feed. */
#ifndef BJ_TESTS_UNIT_LIB_FAKEGRID_H
#define BJ_TESTS_UNIT_LIB_FAKEGRID_H

#include "carbon/feed.h"

enum grid_provider { GRID_RTE, GRID_EMAPS, GRID_NESO, GRID_WATTTIME, GRIDS };

/* How a provider responds. */
enum grid_mode {
    GRID_GOOD,   /* values up to now, and rows of the future */
    GRID_LATE,   /* the same without the last three hours */
    GRID_EMPTY,  /* no rows */
    GRID_NULL,   /* rows with null */
    GRID_ZERO,   /* rows with 0 */
    GRID_HTML,   /* an HTML page with status 200 */
    GRID_CUT,    /* half a response */
    GRID_DOWN,   /* the connection is refused */
    GRID_TLS,    /* a wrong certificate */
    GRID_HANG,   /* no response until the deadline */
    GRID_BROKEN, /* 500 */
    GRID_BUSY,   /* 429, with Retry-After from retry_after_usec */
    GRID_DENY,   /* 401 */
    GRID_BIG,    /* larger than the limit */
    GRID_ABORT,  /* the request was aborted */
    GRID_MODES
};

struct grid {
    uint64_t boot_usec, wall_sec;
    enum grid_mode mode[GRIDS];
    unsigned value_requests[GRIDS];
    unsigned logins;
    bool tokens_expired; /* WattTime refuses all previous tokens */
    uint64_t retry_after_usec;
    /* of the last request */
    char url[1024], header[256], user[64], password[64];
    char token[64]; /* valid now */
};

/* The factor of a provider for the period that begins at start_sec; never 0. */
uint32_t grid_mg(enum grid_provider p, uint64_t start_sec);

/* The length of a provider's periods in seconds. */
uint32_t grid_step(enum grid_provider p);

struct bj_carbon_net grid_net(struct grid *g);

/* The first average or marginal factor that is valid now; false: none is.  And
 * the name of its origin. */
bool grid_first(const struct grid *g, struct bj_carbon_feed *feed,
                bool marginal, struct bj_factor *ret);
const char *grid_from_name(enum bj_factor_from from);

/* Advance both clocks. */
void grid_advance(struct grid *g, uint64_t sec);

/* Step the feed until nothing is due; returns the seconds until its next step,
 * rounded up.  err is cleared and then gets the last message. */
uint64_t grid_settle(struct grid *g, struct bj_carbon_feed *feed,
                     struct bj_err *err);

/* Advance the clocks by sec seconds and step the feed whenever it is due. */
void grid_run(struct grid *g, struct bj_carbon_feed *feed, uint64_t sec);

/* Options from "name=value" strings (without "emissions."), up to NULL.  Adds
 * the URL, zone and token file of each provider that they name; token is the
 * path of that file. */
struct bj_carbon_conf grid_conf(const char *token, ...);
void grid_conf_free(struct bj_carbon_conf *conf);

#endif

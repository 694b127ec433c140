/* Values of one provider over time: all values, the current one, and that of
 * the same hour some days ago. */
#ifndef BJ_CARBON_POINTS_H
#define BJ_CARBON_POINTS_H

#include "carbon/provider.h"

enum {
    BJ_POINTS_KEEP_SEC = 8 * 86400, /* a week and a day */
    BJ_POINTS_MAX = 20000,          /* most points */
    BJ_POINTS_AHEAD_SEC = 300       /* allowed difference of clocks */
};

/* Points ordered by start and kind, without duplicates; zero-initialise, free
 * with bj_points_free. */
struct bj_points {
    struct bj_carbon_point *v;
    size_t n, cap;
};

void bj_points_free(struct bj_points *p);

/* Add a point, or replace the one with its start and kind; an estimate does not
 * replace a value that is not one.  -ENOMEM; -E2BIG at BJ_POINTS_MAX. */
int bj_points_add(struct bj_points *p, struct bj_carbon_point point);

/* Delete points that began before a time, or begin after another. */
void bj_points_trim(struct bj_points *p, uint64_t from_sec, uint64_t to_sec);

/* The point of a kind that is current at a time: the last of those that have
 * begun, and have not ended or began less than BJ_FACTOR_LIVE_SEC ago.  NULL:
 * none. *ret_from is LIVE or, after that time, STATED. */
const struct bj_carbon_point *bj_points_at(const struct bj_points *p,
                                           enum bj_factor_kind kind,
                                           uint64_t now_sec,
                                           enum bj_factor_from *ret_from);

/* The profile: the same hour of the day a week ago, else on the last of the
 * past eight days with values.  The mean of the points that began in it (only
 * those of at most BJ_FACTOR_LIVE_SEC each).  ret is then a point of the
 * requested hour, estimated.  False: no values. */
bool bj_points_profile(const struct bj_points *p, enum bj_factor_kind kind,
                       uint64_t now_sec, struct bj_carbon_point *ret);

#endif

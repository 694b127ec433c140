/* Values of one provider over time: what is known, what holds now, and what
 * the same hour was like some days ago. */
#ifndef BJ_CARBON_POINTS_H
#define BJ_CARBON_POINTS_H

#include "carbon/provider.h"

enum {
    BJ_POINTS_KEEP_SEC = 8 * 86400, /* a week and a day are kept */
    BJ_POINTS_MAX = 20000,          /* points, at most */
    BJ_POINTS_AHEAD_SEC = 300       /* clocks may differ so much */
};

/* Points in the order of start and kind, no two with the same; zero-initialise,
 * free with bj_points_free. */
struct bj_points {
    struct bj_carbon_point *v;
    size_t n, cap;
};

void bj_points_free(struct bj_points *p);

/* Add a point, or put it in the place of the one with its start and kind; an
 * estimate does not take the place of what is none.  -ENOMEM; -E2BIG when
 * BJ_POINTS_MAX is reached. */
int bj_points_add(struct bj_points *p, struct bj_carbon_point point);

/* Forget what began before a time, and what begins after another. */
void bj_points_trim(struct bj_points *p, uint64_t from_sec, uint64_t to_sec);

/* The point of a kind that holds at a time: of those that have begun, and have
 * not ended yet or began less than BJ_FACTOR_LIVE_SEC ago, the last one.  NULL:
 * none.  *ret_from is LIVE or, behind that time, STATED. */
const struct bj_carbon_point *bj_points_at(const struct bj_points *p,
                                           enum bj_factor_kind kind,
                                           uint64_t now_sec,
                                           enum bj_factor_from *ret_from);

/* The profile: what that hour of the day was like a week ago, else on the last
 * of the past eight days that is known.  The mean of the points that began in
 * it (only such of at most BJ_FACTOR_LIVE_SEC each).  ret is then a point of
 * that hour, estimated.  False: nothing is known. */
bool bj_points_profile(const struct bj_points *p, enum bj_factor_kind kind,
                       uint64_t now_sec, struct bj_carbon_point *ret);

#endif

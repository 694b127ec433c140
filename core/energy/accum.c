/* Accumulators: from raw samples of a zone to energy that only grows. */
#include "core/energy/accum.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#define USEC_PER_SEC 1000000u

__extension__ typedef unsigned __int128 bj_u128;

/* The highest power of a zone whose limit is unknown. */
static const uint64_t default_max_uw[BJ_ZONE_ROLES] = {
    [BJ_ZONE_CPU] = 500000000,       [BJ_ZONE_DRAM] = 500000000,
    [BJ_ZONE_GPU] = 1000000000,      [BJ_ZONE_NODE] = 16000000000,
    [BJ_ZONE_PLATFORM] = 4000000000, [BJ_ZONE_PART] = 16000000000,
};

enum {
    MARGIN = 2,                  /* times the highest power */
    REFRESH_USEC = USEC_PER_SEC, /* a counter may be updated this late */
    RETURN_PERIODS = 10, /* within which a fall can turn out to be false */
    ALIKE = 4,           /* factor between two rates that confirm each other */
    NODE_RISE =
        10, /* factor by which a node's power may exceed what was seen */
    WAIT_PERIODS = 3 /* a sample that is held back delays values this long */
};

static void accum_add(struct bj_accum *a, uint64_t uj)
{
    uint64_t less = uj < a->excess_uj ? uj : a->excess_uj;
    uint64_t room = BJ_ABSENT - 1 - a->total_uj;
    a->since_uj += uj;
    a->excess_uj -= less;
    uj -= less;
    a->total_uj += uj < room ? uj : room;
}

static bool max_known(const struct bj_zone_sample *s)
{
    return s->max_uw != BJ_ABSENT && s->max_uw != 0;
}

/* The energy that is possible in that time; twice the highest power, since
 * limits are exceeded for short times. */
static bj_u128 possible_uj(const struct bj_accum *a,
                           const struct bj_zone_sample *s, uint64_t dt_usec)
{
    uint64_t max = max_known(s) ? s->max_uw : default_max_uw[s->role];
    bj_u128 uw = MARGIN * (bj_u128)(max > a->seen_uw ? max : a->seen_uw);
    /* Above 2^64 uW, any value above all counters will do. */
    if (uw > UINT64_MAX)
        uw = UINT64_MAX;
    return uw * dt_usec / USEC_PER_SEC;
}

/* The energy between the position from_uj of a counter at from_usec and a
 * sample at stamp; BJ_ABSENT: no possible power explains it.  wraps: a counter
 * that fell may have wrapped. */
static uint64_t accum_step(const struct bj_accum *a,
                           const struct bj_zone_sample *s, uint64_t stamp,
                           uint64_t from_uj, uint64_t from_usec, bool wraps)
{
    uint64_t uj = s->energy_uj - from_uj;
    if (s->energy_uj < from_uj) {
        if (!wraps || s->range_uj == BJ_ABSENT || from_uj > s->range_uj)
            return BJ_ABSENT;
        uj = s->range_uj - from_uj + s->energy_uj;
    }
    uint64_t dt = stamp - from_usec;
    dt = dt < UINT64_MAX - REFRESH_USEC ? dt + REFRESH_USEC : dt;
    return uj <= possible_uj(a, s, dt) ? uj : BJ_ABSENT;
}

static uint64_t mean_power(uint64_t uj, uint64_t dt_usec)
{
    bj_u128 uw = (bj_u128)uj * USEC_PER_SEC / dt_usec;
    return uw < BJ_ABSENT ? (uint64_t)uw : BJ_ABSENT;
}

/* Remember the position, in case that the fall from it was a false reading. */
static void keep_old(struct bj_accum *a)
{
    a->old_uj = a->raw_uj;
    a->old_usec = a->counter_stamp_usec;
    a->since_uj = 0;
}

/* Continue from a sample that is uj above the position. */
static void accum_advance(struct bj_accum *a, const struct bj_zone_sample *s,
                          uint64_t stamp, uint64_t uj)
{
    uint64_t dt = stamp - a->counter_stamp_usec;
    if (s->energy_uj < a->raw_uj)
        keep_old(a);
    accum_add(a, uj);
    a->power_uw = mean_power(uj, dt);
    if (s->range_uj != BJ_ABSENT &&
        possible_uj(a, s, dt) >= (bj_u128)uj + s->range_uj)
        a->doubts++;
    if (s->energy_uj != a->raw_uj)
        a->moved_usec = stamp;
    a->steps += uj > 0;
    a->raw_uj = s->energy_uj;
    a->counter_stamp_usec = stamp;
    a->held_usec = 0;
    a->slept = false;
}

/* The counter is where it was before it fell: the fall was a false reading.
 * What was added since is part of the energy since then. */
static bool returned(struct bj_accum *a, const struct bj_zone_sample *s,
                     uint64_t stamp, uint64_t period_usec)
{
    if (a->old_usec == 0 || s->energy_uj < a->old_uj ||
        s->energy_uj < a->raw_uj ||
        stamp - a->old_usec > RETURN_PERIODS * (bj_u128)period_usec)
        return false;
    uint64_t uj = accum_step(a, s, stamp, a->old_uj, a->old_usec, false);
    if (uj == BJ_ABSENT)
        return false;
    uint64_t since = a->since_uj;
    a->old_usec = 0;
    accum_advance(a, s, stamp, uj > since ? uj - since : 0);
    if (since > uj)
        a->excess_uj += since - uj;
    return true;
}

static void hold(struct bj_accum *a, const struct bj_zone_sample *s,
                 uint64_t stamp)
{
    a->held_uj = s->energy_uj;
    a->held_usec = stamp;
    a->false_uw = 0;
    a->implausible++;
}

/* The counter continues from the reading that was held back.  If it jumped
 * there from its first position, which may be the false one, the time in
 * between is not known. */
static void confirm(struct bj_accum *a)
{
    if (a->held_uj < a->raw_uj) {
        a->resets++;
        keep_old(a);
    } else if (a->steps > 0) {
        accum_add(a, a->held_uj - a->raw_uj);
    }
    a->raw_uj = a->held_uj;
    a->moved_usec = a->counter_stamp_usec = a->held_usec;
}

/* Two steps that are too large, at a similar rate: that is the power of the
 * zone. */
static bool learned(struct bj_accum *a, const struct bj_zone_sample *s,
                    uint64_t stamp)
{
    if (a->held_uj < a->raw_uj || s->energy_uj < a->held_uj)
        return false;
    uint64_t before = mean_power(a->held_uj - a->raw_uj,
                                 a->held_usec - a->counter_stamp_usec);
    uint64_t now = mean_power(s->energy_uj - a->held_uj, stamp - a->held_usec);
    if (before == BJ_ABSENT || now == BJ_ABSENT || before / ALIKE > now ||
        now / ALIKE > before)
        return false;
    a->seen_uw = before > now ? before : now;
    return true;
}

/* A step that no possible power explains is held back until a later sample
 * decides: at the old position it was false; further on from the new one it was
 * right.  A counter that stays where it is decides nothing. */
static void take_counter(struct bj_accum *a, const struct bj_zone_sample *s,
                         uint64_t stamp, uint64_t period_usec)
{
    a->power_uw = BJ_ABSENT;
    bool again = s->restarted && a->counter_stamp_usec != 0;
    if (again || a->counter_stamp_usec == 0) {
        a->resets += again;
        bj_accum_forget(a);
        a->raw_uj = s->energy_uj;
        a->counter_stamp_usec = a->moved_usec = stamp;
        a->slept = false;
        return;
    }
    if (a->held_usec != 0 && s->energy_uj == a->held_uj)
        return;
    uint64_t since =
        s->energy_uj < a->raw_uj ? a->counter_stamp_usec : a->moved_usec;
    uint64_t uj = accum_step(a, s, stamp, a->raw_uj, since, !a->slept);
    if (uj != BJ_ABSENT) {
        accum_advance(a, s, stamp, uj);
        return;
    }
    if (returned(a, s, stamp, period_usec))
        return;
    if (a->held_usec == 0) {
        hold(a, s, stamp);
        return;
    }
    uj = accum_step(a, s, stamp, a->held_uj, a->held_usec, true);
    if (uj != BJ_ABSENT) {
        confirm(a);
        accum_advance(a, s, stamp, uj);
    } else if (learned(a, s, stamp)) {
        accum_advance(a, s, stamp, s->energy_uj - a->raw_uj);
    } else {
        hold(a, s, stamp);
    }
}

bool bj_accum_waits(const struct bj_accum *a, uint64_t now_usec,
                    uint64_t period_usec)
{
    bool counter = a->counter_stamp_usec != 0;
    uint64_t last = counter ? a->counter_stamp_usec : a->power_stamp_usec;
    uint64_t held = counter ? a->held_usec : a->held_power_usec;
    return held != 0 && last != 0 &&
           now_usec < last + WAIT_PERIODS * period_usec;
}

void bj_accum_held_text(const struct bj_accum *a, char *ret, size_t cap)
{
    uint64_t dt = a->held_usec - a->counter_stamp_usec;
    if (a->false_uw != 0)
        snprintf(ret, cap,
                 "a power of %" PRIu64
                 " W is not possible and was not confirmed; left out (logged "
                 "once)",
                 a->false_uw / 1000000);
    else
        snprintf(ret, cap,
                 "energy counter went from %" PRIu64 " to %" PRIu64
                 " uJ in %" PRIu64
                 " ms, which is not possible; counted from the next reading "
                 "that confirms it (logged once)",
                 a->raw_uj, a->held_uj, dt / 1000);
}

void bj_accum_forget(struct bj_accum *a)
{
    a->counter_stamp_usec = a->power_stamp_usec = a->moved_usec = 0;
    a->held_usec = a->old_usec = a->steps = 0;
    a->held_uw = a->held_power_usec = 0;
}

/* Add the trapezoid below two levels; the remaining fraction of a microjoule is
 * carried over. */
static void take_power(struct bj_accum *a, uint64_t uw, uint64_t stamp,
                       uint64_t period_usec)
{
    const uint32_t whole = 2 * USEC_PER_SEC;
    const uint64_t dt_max = UINT64_C(1) << 62;
    uint64_t dt = stamp - a->power_stamp_usec;
    if (a->power_stamp_usec == 0 || a->counter_stamp_usec != 0)
        return;
    if (a->slept || dt > 3 * (bj_u128)period_usec) {
        a->gaps++;
        return;
    }
    bj_u128 sum = (bj_u128)a->raw_power_uw + uw;
    bj_u128 area = sum * (dt < dt_max ? dt : dt_max) + a->part;
    a->part = (uint32_t)(area % whole);
    area /= whole;
    accum_add(a, area < BJ_ABSENT ? (uint64_t)area : BJ_ABSENT);
}

static void move_level(struct bj_accum *a, uint64_t uw, uint64_t stamp,
                       uint64_t period_usec)
{
    take_power(a, uw, stamp, period_usec);
    a->raw_power_uw = uw;
    a->power_stamp_usec = stamp;
}

static bool possible_level(const struct bj_accum *a,
                           const struct bj_zone_sample *s, uint64_t uw)
{
    bool node = s->role == BJ_ZONE_NODE || s->role == BJ_ZONE_PLATFORM;
    if (max_known(s))
        return uw / MARGIN <= s->max_uw || uw <= a->seen_uw;
    if (node && a->seen_uw != 0)
        return uw / NODE_RISE <= a->seen_uw;
    return uw / MARGIN <= default_max_uw[s->role] || uw <= a->seen_uw;
}

/* A source that always reports 65535 W confirms itself: there is a limit. */
static bool can_learn(const struct bj_zone_sample *s, uint64_t uw)
{
    uint64_t max = max_known(s) ? s->max_uw : default_max_uw[s->role];
    return uw / MARGIN / ALIKE <= max;
}

static void deny(struct bj_accum *a, uint64_t uw)
{
    a->false_uw = uw;
    a->implausible++;
}

/* The highest of two levels in a row is seen. */
static void see(struct bj_accum *a, uint64_t before_uw, uint64_t uw)
{
    uint64_t both = before_uw < uw ? before_uw : uw;
    a->seen_uw = both > a->seen_uw ? both : a->seen_uw;
}

/* Take a level; false: it is held back. */
static bool take_level(struct bj_accum *a, const struct bj_zone_sample *s,
                       uint64_t stamp, uint64_t period_usec)
{
    const uint64_t uw = s->power_uw;
    if (a->power_stamp_usec != 0 && a->seen_uw == 0) {
        see(a, a->raw_power_uw, uw);
        if (!possible_level(a, s, a->raw_power_uw)) { /* the first one */
            deny(a, a->raw_power_uw);
            a->power_stamp_usec = 0;
        }
    }
    bool possible = possible_level(a, s, uw);
    bool confirms = a->held_uw != 0 && uw / MARGIN <= a->held_uw &&
                    a->held_uw / MARGIN <= uw && can_learn(s, uw);
    if (!possible && !confirms) {
        if (a->held_uw != 0)
            deny(a, a->held_uw);
        a->held_uw = uw;
        a->held_power_usec = stamp;
        return false;
    }
    if (confirms) {
        see(a, a->held_uw, uw);
        move_level(a, a->held_uw, a->held_power_usec, period_usec);
    } else if (a->held_uw != 0) {
        deny(a, a->held_uw);
    }
    a->held_uw = a->held_power_usec = 0;
    if (a->power_stamp_usec != 0)
        see(a, a->raw_power_uw, uw);
    move_level(a, uw, stamp, period_usec);
    return true;
}

void bj_accum_take(struct bj_accum *a, const struct bj_zone_sample *s,
                   uint64_t now_usec, uint64_t period_usec)
{
    uint64_t stamp = s->stamp_usec != BJ_ABSENT ? s->stamp_usec : now_usec;
    bool counter = s->energy_uj != BJ_ABSENT, power = s->power_uw != BJ_ABSENT;
    if (stamp <= a->stamp_usec)
        return;
    a->limit_uw = s->limit_uw;
    if (counter)
        take_counter(a, s, stamp, period_usec);
    bool taken = power && take_level(a, s, stamp, period_usec);
    if (taken)
        a->power_uw = s->power_uw;
    else if (power || !counter)
        a->power_uw = BJ_ABSENT;
    /* With a counter, slept stays set until the counter's next sample. */
    if (taken && a->counter_stamp_usec == 0)
        a->slept = false;
    a->stamp_usec = stamp;
}

#define AT(member) offsetof(struct bj_accum, member)
/* The numbers from FIRST on are missing in files of older versions. */
static const size_t saved[] = {AT(total_uj),         AT(raw_uj),
                               AT(raw_power_uw),     AT(counter_stamp_usec),
                               AT(power_stamp_usec), AT(stamp_usec),
                               AT(resets),           AT(gaps),
                               AT(doubts),           AT(moved_usec),
                               AT(seen_uw),          AT(steps),
                               AT(excess_uj)};
enum { SAVED = sizeof(saved) / sizeof(saved[0]), FIRST = 9 };

void bj_accum_save(const struct bj_accum *a, struct bj_buf *out)
{
    for (size_t i = 0; i < SAVED; i++) {
        bj_buf_put(out, " ", 1);
        bj_buf_u64(
            out, *(const uint64_t *)(const void *)((const char *)a + saved[i]));
    }
}

bool bj_accum_load(struct bj_accum *a, struct bj_slice *line)
{
    struct bj_slice word;
    *a = (struct bj_accum){.power_uw = BJ_ABSENT, .limit_uw = BJ_ABSENT};
    for (size_t i = 0; i < SAVED; i++) {
        if (!bj_slice_word(line, &word)) {
            a->moved_usec = a->counter_stamp_usec;
            a->steps = 1;
            return i == FIRST;
        }
        if (bj_slice_u64(word, (uint64_t *)(void *)((char *)a + saved[i])) < 0)
            return false;
    }
    return true;
}

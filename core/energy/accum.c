/* Accumulators: from raw samples of a zone to energy that only grows. */
#include "core/energy/accum.h"

#include <stddef.h>

#define USEC_PER_SEC 1000000u

__extension__ typedef unsigned __int128 bj_u128;

/* The maximum power of a zone without a known limit; doubled like other
 * limits. */
static const uint64_t default_max_uw = 500000000;

static void add(struct bj_accum *a, uint64_t uj)
{
    uint64_t room = BJ_ABSENT - 1 - a->total_uj;
    a->total_uj += uj < room ? uj : room;
}

static bj_u128 possible_uj(const struct bj_zone_sample *s, uint64_t dt_usec)
{
    bool known = s->max_uw != BJ_ABSENT && s->max_uw != 0;
    bj_u128 uw = 2 * (bj_u128)(known ? s->max_uw : default_max_uw);
    /* Above 2^64 uW, any value above all counters will do. */
    if (uw > UINT64_MAX)
        uw = UINT64_MAX;
    return uw * dt_usec / USEC_PER_SEC;
}

/* The energy between two readings of a counter; BJ_ABSENT: it was reset. */
static uint64_t counted(const struct bj_accum *a,
                        const struct bj_zone_sample *s, uint64_t dt_usec)
{
    if (s->energy_uj >= a->raw_uj)
        return s->energy_uj - a->raw_uj;
    if (s->range_uj == BJ_ABSENT || a->raw_uj > s->range_uj || a->slept)
        return BJ_ABSENT;
    uint64_t uj = s->range_uj - a->raw_uj + s->energy_uj;
    return uj <= possible_uj(s, dt_usec) ? uj : BJ_ABSENT;
}

static uint64_t mean_power(uint64_t uj, uint64_t dt_usec)
{
    bj_u128 uw = (bj_u128)uj * USEC_PER_SEC / dt_usec;
    return uw < BJ_ABSENT ? (uint64_t)uw : BJ_ABSENT;
}

static void take_counter(struct bj_accum *a, const struct bj_zone_sample *s,
                         uint64_t stamp)
{
    bool first = a->counter_stamp_usec == 0;
    uint64_t dt = stamp - a->counter_stamp_usec;
    uint64_t uj = first ? BJ_ABSENT : counted(a, s, dt);
    a->power_uw = BJ_ABSENT;
    if (uj != BJ_ABSENT) {
        add(a, uj);
        a->power_uw = mean_power(uj, dt);
        if (s->range_uj != BJ_ABSENT &&
            possible_uj(s, dt) >= (bj_u128)uj + s->range_uj)
            a->doubts++;
    } else if (!first) {
        a->resets++;
    }
    a->raw_uj = s->energy_uj;
    a->counter_stamp_usec = stamp;
    a->slept = false;
}

/* Add the trapezoid below two levels; the remaining fraction of a microjoule is
 * carried over. */
static void take_power(struct bj_accum *a, const struct bj_zone_sample *s,
                       uint64_t stamp, uint64_t period_usec)
{
    const uint32_t whole = 2 * USEC_PER_SEC;
    const uint64_t dt_max = UINT64_C(1) << 62;
    uint64_t dt = stamp - a->power_stamp_usec;
    if (a->power_stamp_usec == 0)
        return;
    if (a->slept || dt > 3 * (bj_u128)period_usec) {
        a->gaps++;
        return;
    }
    bj_u128 sum = (bj_u128)a->raw_power_uw + s->power_uw;
    bj_u128 area = sum * (dt < dt_max ? dt : dt_max) + a->part;
    a->part = (uint32_t)(area % whole);
    area /= whole;
    add(a, area < BJ_ABSENT ? (uint64_t)area : BJ_ABSENT);
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
        take_counter(a, s, stamp);
    else if (power && a->counter_stamp_usec == 0)
        take_power(a, s, stamp, period_usec);
    if (power) {
        a->raw_power_uw = a->power_uw = s->power_uw;
        a->power_stamp_usec = stamp;
    } else if (!counter) {
        a->power_uw = BJ_ABSENT;
    }
    /* With a counter, slept stays set until the counter's next sample. */
    if (power && a->counter_stamp_usec == 0)
        a->slept = false;
    a->stamp_usec = stamp;
}

#define AT(member) offsetof(struct bj_accum, member)
static const size_t saved[] = {AT(total_uj),
                               AT(raw_uj),
                               AT(raw_power_uw),
                               AT(counter_stamp_usec),
                               AT(power_stamp_usec),
                               AT(stamp_usec),
                               AT(resets),
                               AT(gaps),
                               AT(doubts)};
enum { SAVED = sizeof(saved) / sizeof(saved[0]) };

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
    for (size_t i = 0; i < SAVED; i++)
        if (!bj_slice_word(line, &word) ||
            bj_slice_u64(word, (uint64_t *)(void *)((char *)a + saved[i])) < 0)
            return false;
    return true;
}

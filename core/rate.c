#include "core/rate.h"

#include "base/absent.h"

static uint64_t quotient(uint64_t usec, uint64_t over_usec)
{
    uint64_t ppm;
    return __builtin_mul_overflow(usec, 1000000, &ppm)
               ? usec / over_usec * 1000000
               : ppm / over_usec;
}

void bj_rate_note(struct bj_rate *r, uint64_t now_usec, uint64_t counter)
{
    if (counter == BJ_ABSENT || now_usec < r->now_usec ||
        (r->now_usec > 0 && counter < r->counter))
        *r = (struct bj_rate){0};
    if (counter == BJ_ABSENT)
        return;
    if (r->now_usec > 0) {
        if (now_usec - r->now_usec < BJ_RATE_USEC)
            return;
        r->ppm = quotient(counter - r->counter, now_usec - r->now_usec);
        r->known = true;
    }
    r->now_usec = now_usec;
    r->counter = counter;
}

uint64_t bj_rate_ppm(const struct bj_rate *r)
{
    return r->known ? r->ppm : BJ_ABSENT;
}

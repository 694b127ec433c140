#include "apiserver/frame/replica.h"

#include "apiserver/frame/state.h"
#include "base/clock.h"

#include <stdio.h>

enum { EVERY_USEC = 5 * 1000000 };

/* If the last change that a replica has received is hours old, it may still be
 * only a moment late with the next one.  The lag is at most the time since
 * there was no lag. */
static int64_t limit_lag(struct bj_replica *p, uint64_t now_usec, int64_t msec)
{
    uint64_t last = __atomic_load_n(&p->last_usec, __ATOMIC_RELAXED);
    if (msec == 0)
        __atomic_store_n(&p->last_usec, now_usec, __ATOMIC_RELAXED);
    if (last == 0 || last > now_usec)
        return msec;
    int64_t since = (int64_t)((now_usec - last) / 1000);
    return msec == BJ_SQL_NULL || msec > since ? since : msec;
}

static int replica_query(struct bj_replica *p, struct bj_call *c,
                         uint64_t now_usec)
{
    int64_t msec = BJ_REPLICA_NONE;
    int r = bj_db_replica(bj_reader_db(c->worker->reader), &msec, &c->err);
    if (r < 0)
        return r;
    msec = r > 0 ? limit_lag(p, now_usec, msec) : BJ_REPLICA_NONE;
    __atomic_store_n(&p->lag_msec, msec, __ATOMIC_RELAXED);
    return 0;
}

/* Is a query of the lag due?  True for only one thread. */
static bool is_due(struct bj_replica *p, uint64_t now_usec)
{
    uint64_t due = __atomic_load_n(&p->due_usec, __ATOMIC_RELAXED);
    return now_usec >= due && __atomic_compare_exchange_n(
                                  &p->due_usec, &due, now_usec + EVERY_USEC,
                                  false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

int bj_replica_read_lag(struct bj_call *c)
{
    struct bj_replica *p = &c->worker->server->replica;
    uint64_t now_usec = bj_clock_boot_usec();
    int r = is_due(p, now_usec) ? replica_query(p, c, now_usec) : 0;
    int64_t msec = __atomic_load_n(&p->lag_msec, __ATOMIC_RELAXED);
    if (msec == BJ_SQL_NULL)
        snprintf(c->lag, sizeof(c->lag), "null");
    else if (msec != BJ_REPLICA_NONE)
        snprintf(c->lag, sizeof(c->lag), "%lld", (long long)(msec / 1000));
    return r;
}

#include "core/emissions.h"

#include "base/clock.h"
#include "carbon/feed.h"
#include "core/internal.h"
#include "core/poller.h"

#include <stdlib.h>
#include <unistd.h>

enum { SECOND = 1000000 };

struct bj_emissions {
    struct bj_poller poller;
    struct bj_carbon_feed *feed;
};

static struct bj_carbon_now now(void)
{
    return (struct bj_carbon_now){.boot_usec = bj_clock_boot_usec(),
                                  .wall_sec = bj_clock_wall_usec() / SECOND};
}

static bool emissions_step(struct bj_worker *w)
{
    struct bj_emissions *e = (struct bj_emissions *)w->poller;
    struct bj_err err = {0};
    bj_worker_unlock(w);
    uint64_t due = bj_carbon_feed_step(e->feed, now(), &err);
    if (err.code)
        bj_host_log(&e->poller.host, BJ_LOG_WARN, &err, "emissions");
    bool ours = bj_worker_lock(w);
    e->poller.due_usec = due;
    return ours;
}

static void emissions_gone(struct bj_poller *poller)
{
    struct bj_emissions *e = (struct bj_emissions *)poller;
    bj_carbon_feed_free(e->feed);
    free(e);
}

int bj_emissions_new(const struct bj_conf *conf, const struct bj_host *host,
                     struct bj_emissions **ret, struct bj_err *err)
{
    /* The feed uses the options: its thread is never abandoned. */
    static const struct bj_poller_work work = {.step = emissions_step,
                                               .gone = emissions_gone,
                                               .stop_usec = UINT64_MAX};
    struct bj_emissions *e = calloc(1, sizeof(*e));
    if (!e ||
        bj_poller_init(&e->poller, &work, "bj-emissions", host, NULL) < 0) {
        free(e);
        return bj_err_set(err, -ENOMEM, "emissions");
    }
    bj_poller_wake(&e->poller);
    uint64_t seed = bj_clock_wall_usec() ^ (uint64_t)getpid() << 32;
    int r = bj_carbon_feed_new(&conf->carbon, NULL, seed, &e->feed, err);
    if (r == 0) {
        r = bj_poller_start(&e->poller);
        if (r < 0)
            bj_err_set(err, r, "emissions: cannot start the thread");
    }
    if (r < 0) {
        bj_emissions_free(e);
        return r;
    }
    *ret = e;
    return 0;
}

void bj_emissions_free(struct bj_emissions *e)
{
    if (!e)
        return;
    if (e->feed)
        bj_carbon_feed_abort(e->feed);
    bj_poller_free(&e->poller);
}

/* --- publishing ----------------------------------------------------------- */

static void publish_factors(const struct bj_emissions *e, uint64_t wall_sec,
                            struct bj_snap *snap)
{
    struct bj_factor f[BJ_CARBON_FEED_FACTORS];
    size_t n =
        bj_carbon_feed_factors(e->feed, wall_sec, f, BJ_CARBON_FEED_FACTORS);
    struct bj_factor_stat *v = bj_arena_alloc(&snap->arena, n * sizeof(*v));
    if (!v)
        return;
    for (size_t i = 0; i < n; i++) {
        v[i].sub.key[0] = bj_slice_str(f[i].provider);
        v[i].sub.key[1] = bj_slice_str(bj_factor_kind_name(f[i].kind));
        v[i].sub.key[2] = bj_core_label(
            &snap->arena, *f[i].country ? f[i].country : f[i].zone);
        v[i].ug_per_kwh = (uint64_t)f[i].mg_per_kwh * 1000;
        v[i].estimated = f[i].estimated;
        v[i].start_sec = f[i].start_sec ? f[i].start_sec : BJ_ABSENT;
    }
    snap->factors = (struct bj_list){v, n};
}

static void publish_errors(const struct bj_carbon_feed_status *st, size_t n,
                           struct bj_snap *snap)
{
    size_t all = n * BJ_CARBON_FAULTS, used = 0;
    struct bj_provider_errors *v =
        bj_arena_alloc(&snap->arena, all * sizeof(*v));
    if (!v)
        return;
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < BJ_CARBON_FAULTS; k++) {
            if (k == BJ_CARBON_OK || !st[i].remote)
                continue;
            v[used].sub.key[0] = bj_slice_str(st[i].provider);
            v[used].sub.key[1] =
                bj_slice_str(bj_carbon_fault_name((enum bj_carbon_fault)k));
            v[used++].errors = st[i].errors[k];
        }
    snap->provider_errors = (struct bj_list){v, used};
}

static void publish_providers(const struct bj_emissions *e, uint64_t wall_sec,
                              struct bj_snap *snap)
{
    struct bj_carbon_feed_status st[BJ_CARBON_SLOTS];
    size_t n = bj_carbon_feed_status(e->feed, wall_sec, st, BJ_CARBON_SLOTS);
    struct bj_provider_stat *v = bj_arena_alloc(&snap->arena, n * sizeof(*v));
    if (!v)
        return;
    for (size_t i = 0; i < n; i++) {
        v[i].sub.key[0] = bj_slice_str(st[i].provider);
        v[i].success = st[i].success;
        v[i].age_usec =
            st[i].age_sec == BJ_ABSENT ? BJ_ABSENT : st[i].age_sec * SECOND;
    }
    snap->providers = (struct bj_list){v, n};
    publish_errors(st, n, snap);
}

void bj_emissions_publish(const struct bj_emissions *e, struct bj_snap *snap)
{
    uint64_t wall_sec = bj_clock_wall_usec() / SECOND;
    publish_factors(e, wall_sec, snap);
    publish_providers(e, wall_sec, snap);
}

#include "core/emissions.h"

#include "base/clock.h"
#include "base/wait.h"
#include "carbon/feed.h"
#include "core/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SECOND = 1000000 };

struct bj_emissions {
    struct bj_host host;
    struct bj_carbon_feed *feed;
    pthread_t thread;
    bool threaded;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop; /* under lock */
};

static struct bj_carbon_now now(void)
{
    return (struct bj_carbon_now){.boot_usec = bj_clock_boot_usec(),
                                  .wall_sec = bj_clock_wall_usec() / SECOND};
}

static void say(struct bj_emissions *e, const struct bj_err *err)
{
    char text[400], line[480];
    snprintf(line, sizeof(line), "emissions: %s",
             bj_err_text(err, text, sizeof(text)));
    e->host.log(e->host.ctx, BJ_LOG_WARN, line);
}

static void *run(void *arg)
{
    struct bj_emissions *e = arg;
    pthread_mutex_lock(&e->lock);
    uint64_t due = 0;
    while (!e->stop) {
        if (bj_wait_until(&e->wake, &e->lock, due))
            continue;
        struct bj_err err = {0};
        pthread_mutex_unlock(&e->lock);
        due = bj_carbon_feed_step(e->feed, now(), &err);
        if (err.code)
            say(e, &err);
        pthread_mutex_lock(&e->lock);
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

int bj_emissions_new(const struct bj_conf *conf, const struct bj_host *host,
                     struct bj_emissions **ret, struct bj_err *err)
{
    struct bj_emissions *e = calloc(1, sizeof(*e));
    if (!e || bj_wait_init(&e->lock, &e->wake) < 0) {
        free(e);
        return bj_err_set(err, -ENOMEM, "emissions");
    }
    e->host = *host;
    uint64_t seed = bj_clock_wall_usec() ^ (uint64_t)getpid() << 32;
    int r = bj_carbon_feed_new(&conf->carbon, NULL, seed, &e->feed, err);
    if (r == 0) {
        r = host->thread(host->ctx, &e->thread, run, e, "bj-emissions");
        e->threaded = r == 0;
        if (r < 0)
            bj_err_set(err, r, "emissions: start their thread");
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
    pthread_mutex_lock(&e->lock);
    e->stop = true;
    pthread_cond_broadcast(&e->wake);
    pthread_mutex_unlock(&e->lock);
    if (e->feed)
        bj_carbon_feed_abort(e->feed);
    if (e->threaded)
        pthread_join(e->thread, NULL);
    bj_carbon_feed_free(e->feed);
    bj_wait_destroy(&e->lock, &e->wake);
    free(e);
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
        v[i].sub.key[2] = bj_core_clean(
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

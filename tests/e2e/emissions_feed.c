/* Runs the feed of emission factors outside the exporter: sends a number of
 * requests to each provider without waiting in between, and prints lines:
 *
 *     note MESSAGE                            what the exporter would log
 *     factor PROVIDER KIND FROM ZONE MG START ESTIMATED
 *     status PROVIDER FAULT REQUESTS SUCCESS
 *     next SECONDS                            until the next step is due
 *
 *   emissions_feed [--rounds N] [--steps N] [--abort-after SEC]
 *                  [--timeout SEC] --emissions.OPTION ... */
#include "base/clock.h"
#include "carbon/feed.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define SECOND 1000000u

struct own {
    uint64_t rounds, steps, abort_usec, timeout_usec;
    struct bj_fetch *fetch;
};

static const struct bj_opt own_opts[] = {
    {.name = "rounds",
     .kind = BJ_OPT_U64,
     .off = offsetof(struct own, rounds),
     .preset = "1",
     .help = "Requests to each provider."},
    {.name = "steps",
     .kind = BJ_OPT_U64,
     .off = offsetof(struct own, steps),
     .preset = "0",
     .help = "Minimum number of steps."},
    {.name = "abort-after",
     .kind = BJ_OPT_DURATION,
     .off = offsetof(struct own, abort_usec),
     .preset = "0",
     .help = "Abort the feed after this time."},
    {.name = "timeout",
     .kind = BJ_OPT_DURATION,
     .off = offsetof(struct own, timeout_usec),
     .preset = "20s",
     .help = "Longest time of a request."},
    {0},
};

struct alarm {
    struct bj_carbon_feed *feed;
    uint64_t usec;
};

static void *ring(void *arg)
{
    const struct alarm *a = arg;
    usleep((useconds_t)a->usec);
    bj_carbon_feed_abort(a->feed);
    return NULL;
}

static bool done(struct bj_carbon_feed *feed, uint64_t rounds)
{
    struct bj_carbon_feed_status s[BJ_CARBON_SLOTS];
    size_t n = bj_carbon_feed_status(feed, 0, s, BJ_CARBON_SLOTS);
    for (size_t i = 0; i < n; i++)
        if (s[i].remote && s[i].queries < rounds)
            return false;
    return true;
}

/* The boot time passed to the feed jumps to the time of its next step.  The
 * feed does not count aborted requests, so the number of steps is limited. */
static uint64_t run(struct bj_carbon_feed *feed, const struct own *own)
{
    uint64_t boot = bj_clock_boot_usec(), next = boot;
    for (uint64_t tries = 0;
         tries < 50 && (tries < own->steps || !done(feed, own->rounds));
         tries++) {
        struct bj_err err = {0};
        boot = next > boot && next != UINT64_MAX ? next : boot;
        next = bj_carbon_feed_step(
            feed, (struct bj_carbon_now){boot, bj_clock_wall_usec() / SECOND},
            &err);
        if (err.code)
            printf("note %s\n", err.msg);
    }
    return next == UINT64_MAX ? 0 : (next - boot) / SECOND;
}

static void show(struct bj_carbon_feed *feed)
{
    static const char *const from[] = {
        [BJ_FACTOR_LIVE] = "live",         [BJ_FACTOR_STATED] = "stated",
        [BJ_FACTOR_PROFILE] = "profile",   [BJ_FACTOR_YEAR] = "year",
        [BJ_FACTOR_CONSTANT] = "constant",
    };
    uint64_t now = bj_clock_wall_usec() / SECOND;
    struct bj_factor f[BJ_CARBON_FEED_FACTORS];
    struct bj_carbon_feed_status s[BJ_CARBON_SLOTS];
    size_t n = bj_carbon_feed_factors(feed, now, f, BJ_CARBON_FEED_FACTORS);
    for (size_t i = 0; i < n; i++)
        printf("factor %s %s %s %s %u %llu %d\n", f[i].provider,
               bj_factor_kind_name(f[i].kind), from[f[i].from], f[i].zone,
               (unsigned)f[i].mg_per_kwh, (unsigned long long)f[i].start_sec,
               f[i].estimated);
    n = bj_carbon_feed_status(feed, now, s, BJ_CARBON_SLOTS);
    for (size_t i = 0; i < n; i++)
        printf("status %s %s %llu %d\n", s[i].provider,
               bj_carbon_fault_name(s[i].fault),
               (unsigned long long)s[i].queries, s[i].success);
}

static int fetch(void *ctx, const struct bj_fetch_request *req,
                 struct bj_fetch_reply *reply, struct bj_err *err)
{
    const struct own *own = ctx;
    struct bj_fetch_request mine = *req;
    mine.total_usec = own->timeout_usec;
    return bj_fetch(own->fetch, &mine, reply, err);
}

static int run_feed(struct own *own, const struct bj_carbon_conf *conf,
                    struct bj_err *err)
{
    struct bj_carbon_feed *feed;
    const struct bj_carbon_net net = {own, fetch};
    int r = bj_carbon_feed_new(conf, &net, 1, &feed, err);
    if (r < 0)
        return r;
    struct alarm alarm = {feed, own->abort_usec};
    pthread_t thread;
    bool rings =
        own->abort_usec > 0 && pthread_create(&thread, NULL, ring, &alarm) == 0;
    uint64_t next = run(feed, own);
    if (rings)
        pthread_join(thread, NULL);
    show(feed);
    printf("next %llu\n", (unsigned long long)next);
    bj_carbon_feed_free(feed);
    return 0;
}

int main(int argc, char **argv)
{
    struct own own = {0};
    struct bj_carbon_conf conf = {0};
    struct bj_optset sets[] = {{own_opts, &own}, {bj_carbon_opts, &conf}};
    struct bj_err err = {0};
    int r = 0;
    for (int i = 0; i < 2 && r == 0; i++)
        r = bj_opt_presets(&sets[i], &err);
    if (r == 0)
        r = bj_opt_argv(sets, 2, argc, argv, &err);
    for (int i = 0; i < 2 && r == 0; i++)
        r = bj_opt_finish(&sets[i], &err);
    if (r == 0)
        r = bj_fetch_new(&own.fetch, &err);
    if (r == 0)
        r = run_feed(&own, &conf, &err);
    bj_fetch_free(own.fetch);
    if (r < 0)
        fprintf(stderr, "%s\n", err.msg);
    for (int i = 0; i < 2; i++)
        bj_opt_free(&sets[i]);
    return r < 0;
}

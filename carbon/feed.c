#include "carbon/feed.h"

#include "base/absent.h"
#include "base/file.h"
#include "carbon/factor_file.h"
#include "carbon/points.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

/* State of a slot in addition to its points. */
struct feed_slot {
    struct bj_carbon_session session;
    uint64_t due_usec;
    unsigned fails; /* in a row */
    struct bj_carbon_feed_status status;
    struct stat file; /* of the last file read; st_ino 0: none */
};

struct bj_carbon_feed {
    const struct bj_carbon_conf *conf;
    struct bj_carbon_plan plan;
    struct bj_carbon_net net;
    struct bj_fetch *fetch; /* for net; NULL: the caller's */
    atomic_bool abort;
    uint64_t random;              /* state of the generator, never 0 */
    bool started;                 /* the first requests are due */
    struct bj_carbon_reply reply; /* used by the stepping thread only */
    /* Guards the fields below.  Only the stepping thread writes them, so it
     * reads them without the lock. */
    pthread_mutex_t lock;
    struct bj_points points[BJ_CARBON_SLOTS];
    struct feed_slot slot[BJ_CARBON_SLOTS];
};

/* Whether slot i has a value of any kind that is current at a time. */
static bool carbon_feed_holds(const struct bj_carbon_feed *feed, size_t i,
                              uint64_t wall_sec);

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
           a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool is_json(const char *path)
{
    size_t n = strlen(path);
    return n >= 5 && strcmp(path + n - 5, ".json") == 0;
}

static int feed_read_file(struct bj_carbon_feed *feed, size_t i,
                          uint64_t now_sec, struct bj_points *ret,
                          struct bj_err *err)
{
    const char *path = feed->conf->file;
    size_t cap = feed->plan.v[i].provider->max_bytes;
    char *buf = malloc(cap);
    if (!buf)
        return bj_err_set(err, -ENOMEM, "%s", path);
    struct bj_slice text;
    int r = bj_file_read_trusted(AT_FDCWD, path, buf, cap, &text, err);
    struct bj_factor_rows want = {feed->plan.v[i].zone, now_sec};
    if (r == 0)
        r = (is_json(path) ? bj_factor_file_json
                           : bj_factor_file_csv)(text, path, &want, ret, err);
    free(buf);
    return r;
}

static void replace(struct bj_carbon_feed *feed, size_t i,
                    struct bj_points points)
{
    pthread_mutex_lock(&feed->lock);
    struct bj_points old = feed->points[i];
    feed->points[i] = points;
    pthread_mutex_unlock(&feed->lock);
    bj_points_free(&old);
}

/* After a malformed file the factors of the last valid one stay. */
static enum bj_carbon_fault read_again(struct bj_carbon_feed *feed, size_t i,
                                       struct bj_carbon_now now,
                                       struct bj_err *err)
{
    struct bj_points points = {0};
    struct stat *st = &feed->slot[i].file;
    int r = feed_read_file(feed, i, now.wall_sec, &points, err);
    if (r == 0) {
        replace(feed, i, points);
        return BJ_CARBON_OK;
    }
    if (r == -EINVAL || r == -EFBIG)
        return BJ_CARBON_CONTENT;
    *st = (struct stat){0}; /* the content may be good: try again */
    return BJ_CARBON_LOCAL;
}

/* The factors of a deleted file are removed. */
static enum bj_carbon_fault missing(struct bj_carbon_feed *feed, size_t i,
                                    int code, struct bj_err *err)
{
    bj_err_set(err, code, "%s", feed->conf->file);
    if (code == -ENOENT)
        replace(feed, i, (struct bj_points){0});
    feed->slot[i].file = (struct stat){0};
    return BJ_CARBON_LOCAL;
}

static enum bj_carbon_fault check_current(const struct bj_carbon_feed *feed,
                                          size_t i, uint64_t now_sec,
                                          struct bj_err *err)
{
    const char *path = feed->conf->file;
    if (carbon_feed_holds(feed, i, now_sec))
        return BJ_CARBON_OK;
    bj_err_set(err, -ESTALE, "%s: no current factor for zone %s", path,
               feed->plan.v[i].zone);
    return BJ_CARBON_EMPTY;
}

/* Check the file of slot i and read it when it has changed.  Returns the fault
 * of the slot, with a message when *ret_news: it was read, cannot be read, or
 * the fault is new. */
static enum bj_carbon_fault carbon_feed_check_file(struct bj_carbon_feed *feed,
                                                   size_t i,
                                                   struct bj_carbon_now now,
                                                   bool *ret_news,
                                                   struct bj_err *err)
{
    enum bj_carbon_fault before = feed->slot[i].status.fault, f = before;
    struct stat st;
    *ret_news = true;
    if (stat(feed->conf->file, &st) < 0)
        return missing(feed, i, -errno, err);
    bool same = same_file(&st, &feed->slot[i].file);
    if (!same) {
        feed->slot[i].file = st;
        f = read_again(feed, i, now, err);
    }
    if (f == BJ_CARBON_OK || (same && f == BJ_CARBON_EMPTY))
        f = check_current(feed, i, now.wall_sec, err);
    *ret_news = !same || f != before;
    return f;
}

#define SECOND 1000000u

static bool carbon_feed_holds(const struct bj_carbon_feed *feed, size_t i,
                              uint64_t wall_sec)
{
    enum bj_factor_from from;
    for (unsigned k = 0; k < BJ_FACTOR_KINDS; k++)
        if (bj_points_at(&feed->points[i], (enum bj_factor_kind)k, wall_sec,
                         &from))
            return true;
    return false;
}

/* --- one factor -----------------------------------------------------------*/

static struct bj_factor feed_make(const struct bj_carbon_slot *s,
                                  const struct bj_carbon_point *p,
                                  enum bj_factor_from from)
{
    struct bj_factor f = {.provider = s->provider->name,
                          .kind = (enum bj_factor_kind)p->kind,
                          .from = from,
                          .mg_per_kwh = p->mg_per_kwh,
                          .start_sec = p->start_sec,
                          .end_sec = p->start_sec + p->len_sec,
                          .estimated = p->estimated,
                          .fetched_sec = p->fetched_sec};
    memcpy(f.zone, s->zone, sizeof(f.zone));
    memcpy(f.country, s->country, sizeof(f.country));
    return f;
}

static bool from_points(const struct bj_carbon_feed *feed, size_t i,
                        enum bj_factor_kind kind, uint64_t now_sec,
                        struct bj_factor *ret)
{
    const struct bj_points *points = &feed->points[i];
    enum bj_factor_from from;
    const struct bj_carbon_point *p =
        bj_points_at(points, kind, now_sec, &from);
    struct bj_carbon_point profile;
    if (!p) {
        if (!bj_points_profile(points, kind, now_sec, &profile))
            return false;
        p = &profile;
        from = BJ_FACTOR_PROFILE;
    }
    *ret = feed_make(&feed->plan.v[i], p, from);
    return true;
}

/* The factor of a kind of slot i for a time. */
static bool factor_of(const struct bj_carbon_feed *feed, size_t i,
                      enum bj_factor_kind kind, uint64_t now_sec,
                      struct bj_factor *ret)
{
    const struct bj_carbon_plan *plan = &feed->plan;
    switch (plan->v[i].provider->source) {
    case BJ_CARBON_TABLE:
        return kind == BJ_FACTOR_LIFECYCLE &&
               bj_carbon_country_factor(plan->country, ret);
    case BJ_CARBON_CONSTANT:
        if (kind == plan->constant.kind)
            *ret = plan->constant;
        return kind == plan->constant.kind;
    default:
        return from_points(feed, i, kind, now_sec, ret);
    }
}

/* --- all factors -----------------------------------------------------------*/

size_t bj_carbon_feed_factors(struct bj_carbon_feed *feed, uint64_t wall_sec,
                              struct bj_factor *out, size_t max)
{
    size_t n = 0;
    pthread_mutex_lock(&feed->lock);
    for (size_t i = 0; i < feed->plan.n; i++)
        for (unsigned k = 0; k < BJ_FACTOR_KINDS; k++)
            if (n < max &&
                factor_of(feed, i, (enum bj_factor_kind)k, wall_sec, &out[n]))
                n++;
    pthread_mutex_unlock(&feed->lock);
    return n;
}

size_t bj_carbon_feed_history(struct bj_carbon_feed *feed, uint64_t from_sec,
                              uint64_t to_sec, struct bj_factor *out,
                              size_t max)
{
    size_t n = 0;
    pthread_mutex_lock(&feed->lock);
    for (size_t i = 0; i < feed->plan.n; i++)
        for (size_t k = 0; k < feed->points[i].n; k++) {
            const struct bj_carbon_point *p = &feed->points[i].v[k];
            if (p->start_sec < from_sec || p->start_sec >= to_sec)
                continue;
            if (n < max)
                out[n] =
                    feed_make(&feed->plan.v[i], p,
                              p->len_sec > BJ_FACTOR_LIVE_SEC ? BJ_FACTOR_STATED
                                                              : BJ_FACTOR_LIVE);
            n++;
        }
    pthread_mutex_unlock(&feed->lock);
    return n;
}

static uint64_t age(const struct bj_points *p, uint64_t now_sec)
{
    for (size_t i = p->n; i > 0; i--)
        if (p->v[i - 1].start_sec <= now_sec)
            return now_sec - p->v[i - 1].start_sec;
    return BJ_ABSENT;
}

size_t bj_carbon_feed_status(struct bj_carbon_feed *feed, uint64_t wall_sec,
                             struct bj_carbon_feed_status *out, size_t max)
{
    size_t n = 0;
    pthread_mutex_lock(&feed->lock);
    for (; n < feed->plan.n && n < max; n++) {
        out[n] = feed->slot[n].status;
        out[n].age_sec = age(&feed->points[n], wall_sec);
    }
    pthread_mutex_unlock(&feed->lock);
    return n;
}

#define SECOND 1000000u
#define CLOCK_MIN_SEC 1700000000u /* 2023: an earlier clock is not set */

enum {
    START_SEC = 5,    /* range of the first requests */
    RETRY_SEC = 60,   /* after the first failure */
    RETRY_MAX = 3600, /* after many, or the interval, if that is longer */
    DENIED_SEC = 900, /* after a rejected token */
    FAILS_MAX = 16,   /* doublings */
    CLOCK_SEC = 10,   /* interval of checks of a clock that is not set */
};

/* --- creation --------------------------------------------------------------*/

static int own_fetch(void *ctx, const struct bj_fetch_request *req,
                     struct bj_fetch_reply *reply, struct bj_err *err)
{
    return bj_fetch(ctx, req, reply, err);
}

static void fill_status(struct bj_carbon_feed *feed, size_t i)
{
    const struct bj_carbon_slot *s = &feed->plan.v[i];
    struct bj_carbon_feed_status *st = &feed->slot[i].status;
    st->provider = s->provider->name;
    memcpy(st->zone, s->zone, sizeof(st->zone));
    memcpy(st->country, s->country, sizeof(st->country));
    st->remote = s->provider->source == BJ_CARBON_HTTP;
    st->success = s->provider->source > BJ_CARBON_FILE;
}

static bool any_remote(const struct bj_carbon_plan *plan)
{
    for (size_t i = 0; i < plan->n; i++)
        if (plan->v[i].provider->source == BJ_CARBON_HTTP)
            return true;
    return false;
}

int bj_carbon_feed_new(const struct bj_carbon_conf *conf,
                       const struct bj_carbon_net *net, uint64_t seed,
                       struct bj_carbon_feed **ret, struct bj_err *err)
{
    struct bj_carbon_feed *feed = calloc(1, sizeof(*feed));
    if (!feed)
        return bj_err_set(err, -ENOMEM, "emission factors");
    feed->conf = conf;
    feed->random = seed * 2 + 1;
    pthread_mutex_init(&feed->lock, NULL);
    int r = bj_carbon_plan(conf, &feed->plan, err);
    if (r == 0 && !net && any_remote(&feed->plan))
        r = bj_fetch_new(&feed->fetch, err);
    if (r < 0) {
        bj_carbon_feed_free(feed);
        return r;
    }
    feed->net = net ? *net : (struct bj_carbon_net){feed->fetch, own_fetch};
    for (size_t i = 0; i < feed->plan.n; i++)
        fill_status(feed, i);
    *ret = feed;
    return 0;
}

void bj_carbon_feed_free(struct bj_carbon_feed *feed)
{
    if (!feed)
        return;
    for (size_t i = 0; i < BJ_CARBON_SLOTS; i++) {
        bj_points_free(&feed->points[i]);
        explicit_bzero(&feed->slot[i].session, sizeof(feed->slot[i].session));
    }
    bj_fetch_free(feed->fetch);
    pthread_mutex_destroy(&feed->lock);
    free(feed);
}

void bj_carbon_feed_abort(struct bj_carbon_feed *feed)
{
    atomic_store(&feed->abort, true);
}

/* --- intervals
 * ----------------------------------------------------------------*/

/* A number below n.  Source: G. Marsaglia, "Xorshift RNGs" (2003). */
static uint64_t random_below(struct bj_carbon_feed *feed, uint64_t n)
{
    uint64_t x = feed->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    feed->random = x;
    return n ? (x >> 11) % n : 0;
}

/* How long to wait after a failure. */
static uint64_t retry_usec(const struct bj_carbon_feed *feed, size_t i,
                           enum bj_carbon_fault f)
{
    uint64_t period = feed->plan.v[i].period_sec;
    unsigned n =
        feed->slot[i].fails < FAILS_MAX ? feed->slot[i].fails : FAILS_MAX;
    uint64_t sec = (uint64_t)RETRY_SEC << (n > 0 ? n - 1 : 0);
    uint64_t most = period > RETRY_MAX ? period : RETRY_MAX;
    uint64_t least = f == BJ_CARBON_LIMITED  ? period
                     : f == BJ_CARBON_DENIED ? DENIED_SEC
                                             : 0;
    sec = sec < most ? sec : most;
    return (sec > least ? sec : least) * SECOND;
}

/* Set the next time of slot i.  Jitter only adds. */
static void plan_next(struct bj_carbon_feed *feed, size_t i,
                      struct bj_carbon_now now, enum bj_carbon_fault f,
                      uint64_t wait_usec)
{
    uint64_t usec = feed->plan.v[i].period_sec * SECOND, part = 20;
    if (f != BJ_CARBON_OK && f != BJ_CARBON_EMPTY) {
        usec = retry_usec(feed, i, f);
        part = 4;
    }
    usec = usec > wait_usec ? usec : wait_usec;
    if (feed->plan.v[i].provider->source == BJ_CARBON_FILE) {
        usec = feed->plan.v[i].period_sec * SECOND; /* checking costs little */
        part = 0;
    }
    usec += part ? random_below(feed, usec / part) : 0;
    feed->slot[i].due_usec = now.boot_usec + usec;
}

/* --- results ------------------------------------------------------*/

/* Count the result; keep its message only when the fault is new. */
static void feed_settle(struct bj_carbon_feed *feed, size_t i,
                        enum bj_carbon_fault f, uint64_t wall_sec,
                        struct bj_err *err)
{
    struct feed_slot *s = &feed->slot[i];
    bool repeated = f == s->status.fault;
    pthread_mutex_lock(&feed->lock);
    s->status.queries++;
    s->status.fault = f;
    s->status.success = f == BJ_CARBON_OK;
    if (f == BJ_CARBON_OK)
        s->status.success_sec = wall_sec;
    else
        s->status.errors[f]++;
    pthread_mutex_unlock(&feed->lock);
    s->fails = f == BJ_CARBON_OK || f == BJ_CARBON_EMPTY ? 0 : s->fails + 1;
    if (repeated || f == BJ_CARBON_OK)
        *err = (struct bj_err){0};
    else
        bj_err_wrap(err, err->code, "%s", s->status.provider);
}

static int feed_merge(struct bj_carbon_feed *feed, size_t i, uint64_t now_sec)
{
    struct bj_points *p = &feed->points[i];
    int r = 0;
    pthread_mutex_lock(&feed->lock);
    for (size_t k = 0; k < feed->reply.n && r == 0; k++) {
        struct bj_carbon_point point = feed->reply.v[k];
        point.fetched_sec = now_sec;
        if (point.start_sec <= now_sec + BJ_POINTS_AHEAD_SEC)
            r = bj_points_add(p, point);
    }
    bj_points_trim(
        p, now_sec > BJ_POINTS_KEEP_SEC ? now_sec - BJ_POINTS_KEEP_SEC : 0,
        now_sec + BJ_POINTS_AHEAD_SEC);
    pthread_mutex_unlock(&feed->lock);
    return r;
}

/* --- steps ----------------------------------------------------------------*/

static enum bj_carbon_fault take_reply(struct bj_carbon_feed *feed, size_t i,
                                       uint64_t now_sec, struct bj_err *err)
{
    int r = feed_merge(feed, i, now_sec);
    if (r == -ENOMEM) {
        bj_err_set(err, r, "values");
        return BJ_CARBON_LOCAL;
    }
    if (r < 0) {
        bj_err_set(err, r, "more than %d values", BJ_POINTS_MAX);
        return BJ_CARBON_CONTENT;
    }
    if (carbon_feed_holds(feed, i, now_sec))
        return BJ_CARBON_OK;
    bj_err_set(err, -ENODATA, "a reply without a value of the last 2 h");
    return BJ_CARBON_EMPTY;
}

static void feed_query(struct bj_carbon_feed *feed, size_t i,
                       struct bj_carbon_now now, struct bj_err *err)
{
    struct bj_carbon_query q = {.slot = &feed->plan.v[i],
                                .conf = feed->conf,
                                .net = &feed->net,
                                .abort = &feed->abort,
                                .boot_usec = now.boot_usec,
                                .wall_sec = now.wall_sec,
                                .session = &feed->slot[i].session};
    uint64_t wait_usec;
    bool aborted;
    enum bj_carbon_fault f =
        bj_carbon_send_query(&q, &feed->reply, &wait_usec, &aborted, err);
    if (aborted) {
        *err = (struct bj_err){0};
        feed->slot[i].due_usec = now.boot_usec + SECOND;
        return;
    }
    if (f == BJ_CARBON_OK)
        f = take_reply(feed, i, now.wall_sec, err);
    feed_settle(feed, i, f, now.wall_sec, err);
    plan_next(feed, i, now, f, wait_usec);
}

static void check_file(struct bj_carbon_feed *feed, size_t i,
                       struct bj_carbon_now now, struct bj_err *err)
{
    bool news;
    enum bj_carbon_fault f = carbon_feed_check_file(feed, i, now, &news, err);
    if (news)
        feed_settle(feed, i, f, now.wall_sec, err);
    else
        *err = (struct bj_err){0};
    plan_next(feed, i, now, f, 0);
}

/* Make all slots due: files now, providers within a few seconds. */
static void feed_start(struct bj_carbon_feed *feed, struct bj_carbon_now now)
{
    for (size_t i = 0; i < feed->plan.n; i++) {
        feed->slot[i].due_usec = now.boot_usec;
        if (feed->plan.v[i].provider->source == BJ_CARBON_HTTP)
            feed->slot[i].due_usec += random_below(feed, START_SEC * SECOND);
    }
    feed->started = true;
}

/* The slot with the earliest time; plan.n: none. */
static size_t next_slot(const struct bj_carbon_feed *feed)
{
    size_t best = feed->plan.n;
    for (size_t i = 0; i < feed->plan.n; i++)
        if (feed->plan.v[i].provider->source <= BJ_CARBON_FILE &&
            (best == feed->plan.n ||
             feed->slot[i].due_usec < feed->slot[best].due_usec))
            best = i;
    return best;
}

uint64_t bj_carbon_feed_step(struct bj_carbon_feed *feed,
                             struct bj_carbon_now now, struct bj_err *err)
{
    struct bj_err mine = {0};
    size_t i = next_slot(feed);
    if (i == feed->plan.n)
        return UINT64_MAX;
    if (now.wall_sec < CLOCK_MIN_SEC)
        return now.boot_usec + CLOCK_SEC * SECOND;
    if (!feed->started)
        feed_start(feed, now);
    i = next_slot(feed);
    if (feed->slot[i].due_usec <= now.boot_usec) {
        if (feed->plan.v[i].provider->source == BJ_CARBON_HTTP)
            feed_query(feed, i, now, &mine);
        else
            check_file(feed, i, now, &mine);
    }
    if (err)
        *err = mine;
    return feed->slot[next_slot(feed)].due_usec;
}

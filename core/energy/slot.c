#include "core/energy/slot.h"

#include "base/clock.h"
#include "core/poller.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SECOND = 1000000,
    BACK_OFF_USEC = 10 * SECOND, /* after a fault at opening */
};

const char *const bj_meter_fault_names[BJ_METER_FAULTS] = {
    "timeout", "io", "denied", "protocol", "implausible"};
enum { TIMEOUT, IO, DENIED, PROTOCOL, IMPLAUSIBLE };

struct bj_slot {
    struct bj_poller poller; /* has a thread for slow meters only */
    struct bj_energy_conf conf;
    struct bj_meter_env env;
    const struct bj_meter_kind *kinds[BJ_SLOT_KINDS];
    size_t nkinds;
    bool slow; /* is served by a thread */
    /* of the thread that reads it */
    void *meter;
    const struct bj_meter_kind *kind; /* kind of meter, or the one tried last */
    unsigned in_a_row;                /* number of faults in a row */
    /* under lock */
    bool missed; /* the missing meter was logged */
    struct bj_slot_view view;
    /* Used by the thread that reads the meter.  Last, like the zones of the
     * view: most slots have no meter and never use these pages. */
    struct bj_meter_sample sample;
};

static void log_change(struct bj_slot *s, const char *name,
                       const struct bj_err *err)
{
    char text[400], line[480];
    snprintf(line, sizeof(line), "power meter %s: %s", name,
             err ? bj_err_text(err, text, sizeof(text)) : "works");
    s->poller.host.log(s->poller.host.ctx, err ? BJ_LOG_WARN : BJ_LOG_INFO,
                       line);
}

/* Most machines lack most meters, so a missing meter is logged only if the
 * configuration names it. */
static void log_missing(struct bj_slot *s)
{
    const struct bj_err err = {.code = -ENODEV,
                               .msg = "named by energy.meter, and not there"};
    if (!s->env.forced || s->missed || s->view.ran)
        return;
    s->missed = true;
    log_change(s, s->kinds[0]->name, &err);
}

static unsigned fault_kind(int code)
{
    switch (-code) {
    case ETIMEDOUT:
        return TIMEOUT;
    case EACCES:
    case EPERM:
        return DENIED;
    case EBADMSG:
    case EINVAL:
        return PROTOCOL;
    case ERANGE:
        return IMPLAUSIBLE;
    default:
        return IO;
    }
}

/* --- zones (under lock) ---------------------------------------------------*/

/* Zones may vanish and return: they keep their place. */
static struct bj_meter_zone *zone_of(struct bj_slot_view *v, const char *name)
{
    for (size_t i = 0; i < v->nzones; i++)
        if (strcmp(v->zone[i].name, name) == 0)
            return &v->zone[i];
    if (v->nzones == BJ_ZONES_MAX)
        return NULL;
    struct bj_meter_zone *z = &v->zone[v->nzones++];
    *z = (struct bj_meter_zone){.accum.power_uw = BJ_ABSENT,
                                .accum.limit_uw = BJ_ABSENT};
    snprintf(z->name, sizeof(z->name), "%s", name);
    return z;
}

/* Another kind has other start values: totals continue, counter positions do
 * not. */
static void forget_positions(struct bj_slot_view *v)
{
    for (size_t i = 0; i < v->nzones; i++)
        bj_accum_forget(&v->zone[i].accum);
}

/* Log the first implausible reading of a zone. */
static void log_held(struct bj_slot *s, const struct bj_meter_zone *z)
{
    char line[BJ_ACCUM_TEXT + 120];
    int n = snprintf(line, sizeof(line),
                     "power meter %s: zone %s: ", s->kind->name, z->name);
    bj_accum_held_text(&z->accum, line + n, sizeof(line) - (size_t)n);
    s->poller.host.log(s->poller.host.ctx, BJ_LOG_WARN, line);
}

static void take_sample(struct bj_slot *s, uint64_t now_usec)
{
    for (size_t i = 0; i < s->sample.n; i++) {
        const struct bj_zone_sample *sample = &s->sample.zone[i];
        struct bj_meter_zone *z = zone_of(&s->view, sample->name);
        if (!z)
            continue;
        uint64_t before = z->accum.implausible;
        memcpy(z->id, sample->id, sizeof(z->id));
        z->role = sample->role;
        bj_accum_take(&z->accum, sample, now_usec, s->view.period_usec);
        if (z->accum.implausible == before)
            continue;
        s->view.faults[IMPLAUSIBLE] += z->accum.implausible - before;
        if (before == 0)
            log_held(s, z);
    }
}

/* --- serving --------------------------------------------------------------*/

/* Open the first alternative that exists.  After a fault of one the next is
 * tried. */
static int open_first(struct bj_slot *s, struct bj_err *err)
{
    int worst = -ENODEV;
    const struct bj_meter_kind *failed = NULL;
    for (size_t i = 0; i < s->nkinds && !atomic_load(&s->poller.stop); i++) {
        struct bj_err why = {0};
        s->kind = s->kinds[i];
        if (s->kind->present && !s->kind->present(&s->env))
            continue;
        int r = s->kind->open(&s->env, &s->meter, &why);
        if (r == 0)
            return 0;
        if (!bj_err_gone(r) && !failed) {
            failed = s->kind;
            worst = r;
            *err = why;
        }
    }
    if (failed)
        s->kind = failed;
    return worst;
}

static void close_meter(struct bj_slot *s)
{
    if (s->meter)
        s->kind->close(s->meter);
    s->meter = NULL;
}

/* Read the meter once, and open it if needed: 0, -ENODEV (no meter), or a
 * fault. */
static int attempt(struct bj_slot *s, struct bj_err *err)
{
    s->sample.n = 0;
    int r = s->meter ? 0 : open_first(s, err);
    if (r < 0)
        return r;
    memset(&s->sample, 0, sizeof(s->sample));
    r = s->kind->read(s->meter, &s->sample, err);
    if (bj_err_gone(r))
        close_meter(s);
    return bj_err_gone(r) ? -ENODEV : r;
}

/* When the meter is due again.  A fast meter that is open is read at every
 * tick. */
static uint64_t next_due(const struct bj_slot *s, int r, uint64_t now,
                         uint64_t took)
{
    if (r == -ENODEV)
        return UINT64_MAX;
    if (!s->meter)
        return now + bj_poller_back_off(BACK_OFF_USEC, s->in_a_row);
    if (r < 0 && s->slow)
        return now + bj_poller_back_off(s->view.period_usec, s->in_a_row);
    return bj_poller_aligned(&s->poller, now, now + s->view.period_usec,
                             s->view.period_usec, took);
}

static void note(struct bj_slot *s, int r, uint64_t begun, uint64_t now,
                 const struct bj_err *err)
{
    struct bj_slot_view *v = &s->view;
    bool fails = r < 0 && r != -ENODEV;
    bool news = fails != v->failing || (r == 0 && !v->running);
    v->running = s->meter != NULL;
    if (v->kind && v->kind != s->kind && s->meter)
        forget_positions(v);
    v->kind = s->kind;
    v->failing = fails;
    s->poller.due_usec = next_due(s, r, now, now - begun);
    s->in_a_row = fails ? s->in_a_row + 1 : 0;
    if (r == -ENODEV) {
        log_missing(s);
        return;
    }
    v->ran = true;
    v->duration_usec = now - begun;
    if (fails)
        v->faults[fault_kind(r)]++;
    else
        v->good_usec = now;
    take_sample(s, now);
    if (news)
        log_change(s, s->kind->name, fails ? err : NULL);
}

/* Read a fast meter in the caller's thread. */
static void read_fast(struct bj_slot *s)
{
    struct bj_err err = {0};
    uint64_t begun = bj_clock_boot_usec();
    int r = attempt(s, &err);
    pthread_mutex_lock(s->poller.lock);
    note(s, r, begun, bj_clock_boot_usec(), &err);
    pthread_mutex_unlock(s->poller.lock);
}

static bool step(struct bj_worker *w)
{
    struct bj_slot *s = (struct bj_slot *)w->poller;
    struct bj_err err = {0};
    uint64_t begun = bj_clock_boot_usec();
    bj_worker_unlock(w);
    int r = attempt(s, &err);
    bool ours = bj_worker_lock(w);
    if (!atomic_load(&s->poller.stop))
        note(s, r, begun, bj_clock_boot_usec(), &err);
    return ours;
}

static bool finish(struct bj_worker *w)
{
    bj_worker_unlock(w);
    close_meter((struct bj_slot *)w->poller);
    return bj_worker_lock(w);
}

static void gone(struct bj_poller *poller)
{
    struct bj_slot *s = (struct bj_slot *)poller;
    close_meter(s);
    bj_energy_conf_free(&s->conf);
    free(s);
}

/* --- for the owner --------------------------------------------------------*/

int bj_slot_new(const struct bj_meter_kind *const *kinds, size_t n,
                const struct bj_meter_env *env, const struct bj_host *host,
                struct bj_slot **ret)
{
    static const struct bj_poller_work work = {
        .step = step, .finish = finish, .gone = gone};
    struct bj_slot *s = calloc(1, sizeof(*s));
    if (!s || bj_poller_init(&s->poller, &work, "bj-meter", host, NULL) < 0) {
        free(s);
        return -ENOMEM;
    }
    if (bj_energy_conf_copy(&s->conf, env->conf) < 0) {
        bj_slot_free(s);
        return -ENOMEM;
    }
    s->env = *env;
    s->env.conf = &s->conf;
    s->env.stop = &s->poller.stop;
    for (size_t i = 0; i < n && i < BJ_SLOT_KINDS; i++) {
        s->kinds[s->nkinds++] = kinds[i];
        s->slow |= kinds[i]->slow;
    }
    s->view.period_usec = s->slow ? s->conf.slow_usec : s->conf.period_usec;
    *ret = s;
    return 0;
}

void bj_slot_free(struct bj_slot *s)
{
    if (s)
        bj_poller_free(&s->poller);
}

static bool may_exist(const struct bj_slot *s)
{
    for (size_t i = 0; i < s->nkinds; i++)
        if (!s->kinds[i]->present || s->kinds[i]->present(&s->env))
            return true;
    return false;
}

/* A meter may exist: start to read it, a slow one in a thread. */
static void start(struct bj_slot *s)
{
    int r = s->slow ? bj_poller_start(&s->poller) : 0;
    if (r == 0) {
        bj_poller_wake(&s->poller);
        return;
    }
    struct bj_err err = {.code = r, .msg = "cannot start the thread"};
    log_change(s, s->kinds[0]->name, &err);
}

bool bj_slot_search(struct bj_slot *s, uint64_t now_usec)
{
    pthread_mutex_lock(s->poller.lock);
    if (bj_poller_searches(&s->poller, now_usec)) {
        if (may_exist(s))
            start(s);
        else
            log_missing(s);
    }
    bool busy = s->poller.due_usec != UINT64_MAX;
    bool first = busy && !s->slow && !s->view.ran;
    pthread_mutex_unlock(s->poller.lock);
    if (!first)
        return busy;
    read_fast(s);
    return s->poller.due_usec != UINT64_MAX;
}

void bj_slot_tick(struct bj_slot *s, uint64_t now_usec)
{
    if (!s->slow && (s->meter || now_usec >= s->poller.due_usec))
        read_fast(s);
}

/* Whether a thread reads it, and successfully. */
static bool reads(const struct bj_slot *s)
{
    return s->slow && s->view.running && !s->view.failing;
}

bool bj_slot_hurry(struct bj_slot *s, uint64_t now_usec, uint64_t gap_usec)
{
    pthread_mutex_lock(s->poller.lock);
    bool ret = reads(s) && bj_poller_hurry(&s->poller, now_usec, gap_usec,
                                           s->view.period_usec, false);
    pthread_mutex_unlock(s->poller.lock);
    return ret;
}

void bj_slot_await(struct bj_slot *s, uint64_t end_usec)
{
    pthread_mutex_lock(s->poller.lock);
    bj_poller_await(&s->poller, end_usec);
    pthread_mutex_unlock(s->poller.lock);
}

void bj_slot_page(struct bj_slot *s, uint64_t now_usec, uint64_t gap_usec)
{
    pthread_mutex_lock(s->poller.lock);
    if (reads(s))
        bj_poller_page(&s->poller, now_usec, gap_usec, s->view.period_usec);
    pthread_mutex_unlock(s->poller.lock);
}

void bj_slot_suspended(struct bj_slot *s)
{
    pthread_mutex_lock(s->poller.lock);
    for (size_t i = 0; i < s->view.nzones; i++)
        s->view.zone[i].accum.slept = true;
    pthread_mutex_unlock(s->poller.lock);
}

bool bj_slot_has_values(struct bj_slot *s)
{
    pthread_mutex_lock(s->poller.lock);
    bool any = s->view.ran || s->view.nzones > 0;
    pthread_mutex_unlock(s->poller.lock);
    return any;
}

void bj_slot_view(struct bj_slot *s, uint64_t now_usec,
                  struct bj_slot_view *ret)
{
    pthread_mutex_lock(s->poller.lock);
    memcpy(ret, &s->view,
           offsetof(struct bj_slot_view, zone) +
               s->view.nzones * sizeof(s->view.zone[0]));
    pthread_mutex_unlock(s->poller.lock);
    for (size_t i = 0; i < ret->nzones; i++)
        if (ret->zone[i].accum.stamp_usec + 3 * ret->period_usec < now_usec)
            ret->zone[i].accum.power_uw = BJ_ABSENT;
}

int bj_slot_restore(struct bj_slot *s, struct bj_slice kind,
                    const struct bj_meter_zone *zone)
{
    for (size_t i = 0; i < s->nkinds; i++)
        if (bj_slice_eq(kind, bj_slice_str(s->kinds[i]->name))) {
            struct bj_meter_zone *z = zone_of(&s->view, zone->name);
            if (z)
                *z = *zone;
            s->view.kind = s->kinds[i];
            return 0;
        }
    return -ENOENT;
}

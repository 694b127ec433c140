#include "core/energy/slot.h"

#include "base/clock.h"
#include "base/wait.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SECOND = 1000000,
    STOP_SEC = 2,
    LOOK_USEC = 60 * SECOND,    /* for a meter that is not there */
    BACK_OFF_MIN = 10 * SECOND, /* after a fault at opening */
    BACK_OFF_MAX = 600 * SECOND,
    DOUBLINGS = 5, /* of the pace of a meter that fails: 32 periods */
};

const char *const bj_meter_fault_names[BJ_METER_FAULTS] = {
    "timeout", "io", "denied", "protocol", "implausible"};
enum { TIMEOUT, IO, DENIED, PROTOCOL, IMPLAUSIBLE };

/* The owner and the thread hold a reference each, so that a thread that comes
 * back after it was given up finds everything in its place. */
struct bj_slot {
    atomic_uint refs;
    atomic_bool stop;
    struct bj_energy_conf conf;
    struct bj_meter_env env;
    struct bj_host host;
    const struct bj_meter_kind *kinds[BJ_SLOT_KINDS];
    size_t nkinds;
    bool slow; /* is served by a thread */
    /* of the thread that reads it */
    void *meter;
    const struct bj_meter_kind *kind; /* of meter, or tried last */
    unsigned in_a_row;                /* faults */
    /* under lock */
    pthread_mutex_t lock;
    pthread_cond_t change; /* stop, or ended */
    pthread_t thread;
    bool threaded, ended;
    bool missed;       /* that there is no meter was logged */
    uint64_t due_usec; /* when it is served next; UINT64_MAX: no meter */
    uint64_t look_usec;
    struct bj_slot_view view;
    /* Of the thread that reads it.  Last, like the zones of the view: most
     * slots have no meter, and never touch the pages of either. */
    struct bj_meter_sample sample;
};

static void say(struct bj_slot *s, const char *name, const struct bj_err *err)
{
    char text[400], line[480];
    snprintf(line, sizeof(line), "power meter %s: %s", name,
             err ? bj_err_text(err, text, sizeof(text)) : "works");
    s->host.log(s->host.ctx, err ? BJ_LOG_WARN : BJ_LOG_INFO, line);
}

/* Most machines lack most meters, which is no news; one that was named should
 * be there. */
static void tell_missing(struct bj_slot *s)
{
    const struct bj_err err = {.code = -ENODEV,
                               .msg = "named by energy.meter, and not there"};
    if (!s->env.forced || s->missed || s->view.ran)
        return;
    s->missed = true;
    say(s, s->kinds[0]->name, &err);
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

/* Another kind counts from elsewhere: totals go on, positions do not. */
static void forget_positions(struct bj_slot_view *v)
{
    for (size_t i = 0; i < v->nzones; i++) {
        v->zone[i].accum.counter_stamp_usec = 0;
        v->zone[i].accum.power_stamp_usec = 0;
    }
}

static void take_sample(struct bj_slot *s, uint64_t now_usec)
{
    for (size_t i = 0; i < s->sample.n; i++) {
        const struct bj_zone_sample *sample = &s->sample.zone[i];
        struct bj_meter_zone *z = zone_of(&s->view, sample->name);
        if (!z)
            continue;
        z->role = sample->role;
        bj_accum_take(&z->accum, sample, now_usec, s->view.period_usec);
    }
}

/* --- serving --------------------------------------------------------------*/

/* Open the first alternative that is there.  A fault of one does not keep the
 * next from being tried. */
static int open_first(struct bj_slot *s, struct bj_err *err)
{
    int worst = -ENODEV;
    const struct bj_meter_kind *failed = NULL;
    for (size_t i = 0; i < s->nkinds && !atomic_load(&s->stop); i++) {
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

/* One try: 0, -ENODEV (there is none), or a fault. */
static int attempt(struct bj_slot *s, struct bj_err *err)
{
    int r = s->meter ? 0 : open_first(s, err);
    if (r < 0)
        return r;
    memset(&s->sample, 0, sizeof(s->sample));
    r = s->kind->read(s->meter, &s->sample, err);
    if (bj_err_gone(r))
        close_meter(s);
    return bj_err_gone(r) ? -ENODEV : r;
}

static uint64_t back_off(const struct bj_slot *s, uint64_t first, uint64_t most)
{
    uint64_t wait =
        first << (s->in_a_row < DOUBLINGS ? s->in_a_row : DOUBLINGS);
    return wait < most ? wait : most;
}

/* When to come again.  A fast meter is asked at every tick. */
static uint64_t next_try(struct bj_slot *s, int r)
{
    if (r == -ENODEV)
        return UINT64_MAX;
    if (!s->meter)
        return back_off(s, BACK_OFF_MIN, BACK_OFF_MAX);
    if (r < 0 && s->slow)
        return back_off(s, s->view.period_usec, BACK_OFF_MAX);
    return s->view.period_usec;
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
    s->due_usec = next_try(s, r);
    if (s->due_usec != UINT64_MAX)
        s->due_usec += now;
    s->in_a_row = fails ? s->in_a_row + 1 : 0;
    if (r == -ENODEV) {
        tell_missing(s);
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
        say(s, s->kind->name, fails ? err : NULL);
}

/* Read the meter once, opening it before when it must be. */
static void serve(struct bj_slot *s)
{
    struct bj_err err = {0};
    uint64_t begun = bj_clock_boot_usec();
    s->sample.n = 0;
    int r = attempt(s, &err);
    if (atomic_load(&s->stop))
        return;
    pthread_mutex_lock(&s->lock);
    note(s, r, begun, bj_clock_boot_usec(), &err);
    pthread_mutex_unlock(&s->lock);
}

static void slot_unref(struct bj_slot *s)
{
    if (atomic_fetch_sub(&s->refs, 1) != 1)
        return;
    bj_wait_destroy(&s->lock, &s->change);
    bj_energy_conf_free(&s->conf);
    free(s);
}

static void *run(void *arg)
{
    struct bj_slot *s = arg;
    pthread_mutex_lock(&s->lock);
    while (!atomic_load(&s->stop)) {
        if (bj_wait_until(&s->change, &s->lock, s->due_usec))
            continue;
        pthread_mutex_unlock(&s->lock);
        serve(s);
        pthread_mutex_lock(&s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    close_meter(s);
    pthread_mutex_lock(&s->lock);
    s->ended = true;
    pthread_cond_broadcast(&s->change);
    pthread_mutex_unlock(&s->lock);
    slot_unref(s);
    return NULL;
}

/* --- for the owner --------------------------------------------------------*/

int bj_slot_new(const struct bj_meter_kind *const *kinds, size_t n,
                const struct bj_meter_env *env, const struct bj_host *host,
                struct bj_slot **ret)
{
    struct bj_slot *s = calloc(1, sizeof(*s));
    if (!s || bj_energy_conf_copy(&s->conf, env->conf) < 0 ||
        bj_wait_init(&s->lock, &s->change) < 0) {
        if (s)
            bj_energy_conf_free(&s->conf);
        free(s);
        return -ENOMEM;
    }
    atomic_init(&s->refs, 1);
    s->host = *host;
    s->env = *env;
    s->env.conf = &s->conf;
    s->env.stop = &s->stop;
    s->due_usec = UINT64_MAX;
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
    if (!s)
        return;
    uint64_t end = bj_clock_boot_usec() + STOP_SEC * SECOND;
    pthread_mutex_lock(&s->lock);
    atomic_store(&s->stop, true);
    pthread_cond_broadcast(&s->change);
    while (s->threaded && !s->ended && bj_wait_until(&s->change, &s->lock, end))
        ;
    bool ended = s->ended;
    pthread_mutex_unlock(&s->lock);
    if (s->threaded && ended)
        pthread_join(s->thread, NULL);
    else if (s->threaded)
        pthread_detach(s->thread);
    else
        close_meter(s);
    slot_unref(s);
}

static bool maybe_there(const struct bj_slot *s)
{
    for (size_t i = 0; i < s->nkinds; i++)
        if (!s->kinds[i]->present || s->kinds[i]->present(&s->env))
            return true;
    return false;
}

/* A slow slot gets its thread when it is needed first. */
static void start(struct bj_slot *s)
{
    if (s->threaded)
        return;
    atomic_fetch_add(&s->refs, 1);
    int r = s->host.thread(s->host.ctx, &s->thread, run, s, "bj-meter");
    if (r < 0) {
        struct bj_err err = {.code = r, .msg = "start its thread"};
        atomic_fetch_sub(&s->refs, 1);
        s->due_usec = UINT64_MAX;
        say(s, s->kinds[0]->name, &err);
    }
    s->threaded = r == 0;
}

bool bj_slot_look(struct bj_slot *s, uint64_t now_usec)
{
    pthread_mutex_lock(&s->lock);
    if (s->due_usec == UINT64_MAX && now_usec >= s->look_usec) {
        s->look_usec = now_usec + LOOK_USEC;
        if (maybe_there(s)) {
            s->due_usec = now_usec;
            pthread_cond_broadcast(&s->change);
            if (s->slow)
                start(s);
        } else {
            tell_missing(s);
        }
    }
    bool busy = s->due_usec != UINT64_MAX;
    bool first = busy && !s->slow && !s->view.ran;
    pthread_mutex_unlock(&s->lock);
    if (!first)
        return busy;
    serve(s);
    return s->due_usec != UINT64_MAX;
}

void bj_slot_tick(struct bj_slot *s, uint64_t now_usec)
{
    if (s->slow || s->due_usec == UINT64_MAX)
        return;
    if (s->meter || now_usec >= s->due_usec)
        serve(s);
}

void bj_slot_slept(struct bj_slot *s)
{
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->view.nzones; i++)
        s->view.zone[i].accum.slept = true;
    pthread_mutex_unlock(&s->lock);
}

bool bj_slot_has_values(struct bj_slot *s)
{
    pthread_mutex_lock(&s->lock);
    bool told = s->view.ran || s->view.nzones > 0;
    pthread_mutex_unlock(&s->lock);
    return told;
}

void bj_slot_view_copy(struct bj_slot_view *to, const struct bj_slot_view *from)
{
    memcpy(to, from,
           offsetof(struct bj_slot_view, zone) +
               from->nzones * sizeof(from->zone[0]));
}

void bj_slot_view(struct bj_slot *s, uint64_t now_usec,
                  struct bj_slot_view *ret)
{
    pthread_mutex_lock(&s->lock);
    bj_slot_view_copy(ret, &s->view);
    pthread_mutex_unlock(&s->lock);
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

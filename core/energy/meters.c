#include "core/energy/meters.h"

#include "base/clock.h"
#include "base/text.h"
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

static void meters_log_change(struct bj_slot *s, const char *name,
                              const struct bj_err *err)
{
    bj_host_log(&s->poller.host, err ? BJ_LOG_WARN : BJ_LOG_INFO, err,
                err ? "power meter %s" : "power meter %s: works", name);
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
    meters_log_change(s, s->kinds[0]->name, &err);
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
    char text[BJ_ACCUM_TEXT];
    bj_accum_held_text(&z->accum, text, sizeof(text));
    bj_host_log(&s->poller.host, BJ_LOG_WARN, NULL,
                "power meter %s: zone %s: %s", s->kind->name, z->name, text);
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

static void meters_note(struct bj_slot *s, int r, uint64_t begun, uint64_t now,
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
        meters_log_change(s, s->kind->name, fails ? err : NULL);
}

/* Read a fast meter in the caller's thread. */
static void read_fast(struct bj_slot *s)
{
    struct bj_err err = {0};
    uint64_t begun = bj_clock_boot_usec();
    int r = attempt(s, &err);
    pthread_mutex_lock(s->poller.lock);
    meters_note(s, r, begun, bj_clock_boot_usec(), &err);
    pthread_mutex_unlock(s->poller.lock);
}

static bool meters_step(struct bj_worker *w)
{
    struct bj_slot *s = (struct bj_slot *)w->poller;
    struct bj_err err = {0};
    uint64_t begun = bj_clock_boot_usec();
    bj_worker_unlock(w);
    int r = attempt(s, &err);
    bool ours = bj_worker_lock(w);
    if (!atomic_load(&s->poller.stop))
        meters_note(s, r, begun, bj_clock_boot_usec(), &err);
    return ours;
}

static bool meters_finish(struct bj_worker *w)
{
    bj_worker_unlock(w);
    close_meter((struct bj_slot *)w->poller);
    return bj_worker_lock(w);
}

static void meters_gone(struct bj_poller *poller)
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
        .step = meters_step, .finish = meters_finish, .gone = meters_gone};
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
static void meters_start(struct bj_slot *s)
{
    int r = s->slow ? bj_poller_start(&s->poller) : 0;
    if (r == 0) {
        bj_poller_wake(&s->poller);
        return;
    }
    struct bj_err err = {.code = r, .msg = "cannot start the thread"};
    meters_log_change(s, s->kinds[0]->name, &err);
}

bool bj_slot_search(struct bj_slot *s, uint64_t now_usec)
{
    pthread_mutex_lock(s->poller.lock);
    if (bj_poller_searches(&s->poller, now_usec)) {
        if (may_exist(s))
            meters_start(s);
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

/* --- all meters -----------------------------------------------------------*/

enum {
    FRESH_PERIODS = 3,
    SEARCH_USEC = SECOND,
    /* After how many samples a counter of the platform (psys), which is read
     * together with the parts, is compared with them; other meters lag behind
     * the parts. */
    FAST_SAMPLES = 2,
    SLOW_SAMPLES = 5,
    SLOW_SPAN = 300, /* seconds */
    LONG_SPAN = 600, /* seconds; older values then count half */
};

#define METER(name) &bj_meter_##name,
#define SLOT                                                                   \
    }                                                                          \
    ,                                                                          \
    {
static const struct bj_meter_kind *const slots[][BJ_SLOT_KINDS] = {
    {BJ_METERS(METER, SLOT)}};
enum { SLOTS = sizeof(slots) / sizeof(slots[0]) };

/* A meter of the whole node compared with its parts: processors, memory and
 * accelerators. */
struct balance {
    uint64_t node_uj, parts_uj, span_usec; /* older values count less */
    unsigned samples;
    uint64_t from_node_uj, from_parts_uj; /* at its last sample ... */
    uint64_t from_usec, from_odd;         /* ... 0: none yet */
    bool low; /* it measures less than the parts: not used */
    bool logged;
};

struct bj_meters {
    struct bj_host host;
    struct balance balance[SLOTS];
    struct bj_slot *slot[SLOTS];
    struct bj_slot_view *view[BJ_COPIES][SLOTS]; /* NULL: no values */
    uint64_t next_search_usec; /* when meters are searched for again */
    bool any;
    uint64_t role_uj[BJ_ROLES];
    size_t preferred[BJ_ROLES];        /* the slot in use; SLOTS: none yet */
    uint64_t seen_uj[SLOTS][BJ_ROLES]; /* at the last reading ... */
    bool seen_fresh[SLOTS][BJ_ROLES];  /* ... and whether it had a value */
};

const struct bj_meter_kind *bj_meters_kind(size_t i)
{
    static const struct bj_meter_kind *const kinds[] = {BJ_METERS(METER, )};
    return i < sizeof(kinds) / sizeof(kinds[0]) ? kinds[i] : NULL;
}

static bool named(const struct bj_energy_conf *conf, const char *name)
{
    for (size_t i = 0; i < conf->meters.n; i++)
        if (strcmp(conf->meters.v[i], name) == 0)
            return true;
    return false;
}

static int slot_new(const struct bj_conf *conf, const struct bj_host *host,
                    size_t i, struct bj_slot **ret)
{
    struct bj_meter_env env = {
        .conf = &conf->energy,
        .procfs = conf->procfs ? conf->procfs : "/proc",
        .sysfs = conf->sysfs ? conf->sysfs : "/sys",
        .devfs = "/dev",
        .forced = conf->energy.meters.n > 0,
    };
    const struct bj_meter_kind *kinds[BJ_SLOT_KINDS];
    size_t n = 0;
    for (size_t k = 0; k < BJ_SLOT_KINDS && slots[i][k]; k++)
        if (!env.forced || named(&conf->energy, slots[i][k]->name))
            kinds[n++] = slots[i][k];
    return n > 0 ? bj_slot_new(kinds, n, &env, host, ret) : 0;
}

int bj_meters_new(const struct bj_conf *conf, const struct bj_host *host,
                  struct bj_meters **ret, struct bj_err *err)
{
    struct bj_meters *m = calloc(1, sizeof(*m));
    if (!m)
        return bj_err_set(err, -ENOMEM, "power meters");
    m->host = *host;
    for (int r = 0; r < BJ_ROLES; r++)
        m->preferred[r] = SLOTS;
    for (size_t i = 0; i < SLOTS; i++)
        if (slot_new(conf, host, i, &m->slot[i]) < 0) {
            bj_meters_free(m);
            return bj_err_set(err, -ENOMEM, "power meters");
        }
    *ret = m;
    return 0;
}

void bj_meters_free(struct bj_meters *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < SLOTS; i++) {
        bj_slot_free(m->slot[i]);
        for (unsigned k = 0; k < BJ_COPIES; k++)
            free(m->view[k][i]);
    }
    free(m);
}

bool bj_meters_search(struct bj_meters *m, uint64_t now_usec)
{
    if (now_usec < m->next_search_usec)
        return m->any;
    m->next_search_usec = now_usec + SEARCH_USEC;
    m->any = false;
    for (size_t i = 0; i < SLOTS; i++)
        m->any |= m->slot[i] && bj_slot_search(m->slot[i], now_usec);
    return m->any;
}

bool bj_meters_hurry(struct bj_meters *m, uint64_t now_usec, uint64_t gap_usec)
{
    bool any = false;
    for (size_t i = 0; i < SLOTS; i++)
        any |= m->slot[i] && bj_slot_hurry(m->slot[i], now_usec, gap_usec);
    return any;
}

void bj_meters_await(struct bj_meters *m, uint64_t end_usec)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (m->slot[i])
            bj_slot_await(m->slot[i], end_usec);
}

void bj_meters_page(struct bj_meters *m, uint64_t now_usec, uint64_t gap_usec)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (m->slot[i])
            bj_slot_page(m->slot[i], now_usec, gap_usec);
}

bool bj_meters_names(const struct bj_meters *m, struct bj_buf *out)
{
    struct bj_slot_view *v = malloc(sizeof(*v));
    bool any = false;
    for (size_t i = 0; v && i < SLOTS; i++) {
        if (!m->slot[i])
            continue;
        bj_slot_view(m->slot[i], bj_clock_boot_usec(), v);
        if (!v->running || !v->kind)
            continue;
        bj_buf_printf(out, "%s %s", any ? "," : "", v->kind->name);
        any = true;
    }
    free(v);
    return any;
}

/* --- sums -----------------------------------------------------------------*/

/* A meter's value of a role. */
struct role_value {
    bool any, fresh, partial;
    uint64_t uj, power_uw, stamp_usec;
    uint64_t odd; /* moments at which energy was not counted */
    bool held;    /* energy is held back */
    bool level;   /* it is integrated from power */
};

static struct role_value role_sum(const struct bj_slot_view *v,
                                  enum bj_zone_role role, uint64_t now_usec)
{
    struct role_value t = {.power_uw = 0};
    for (size_t i = 0; i < v->nzones; i++) {
        const struct bj_accum *a = &v->zone[i].accum;
        bool platform = v->zone[i].role == BJ_ZONE_PLATFORM;
        if (v->zone[i].role != role && !(platform && role == BJ_ZONE_NODE))
            continue;
        t.any = true;
        t.partial |= platform;
        t.uj += a->total_uj;
        t.odd += a->resets + a->gaps + a->implausible;
        t.held |= bj_accum_waits(a, now_usec, v->period_usec);
        t.level |= a->counter_stamp_usec == 0;
        t.fresh |= v->running &&
                   a->stamp_usec + FRESH_PERIODS * v->period_usec >= now_usec;
        if (a->power_uw == BJ_ABSENT || t.power_uw == BJ_ABSENT)
            t.power_uw = BJ_ABSENT;
        else
            t.power_uw += a->power_uw;
        if (a->stamp_usec > t.stamp_usec)
            t.stamp_usec = a->stamp_usec;
    }
    return t;
}

/* A counter that returns includes all energy since its last value, which
 * another meter may have counted. So a meter without a value at the last
 * reading is used from the next reading on. */
static bool may_use(const struct bj_meters *m, size_t i, int role)
{
    return m->seen_fresh[i][role] || m->preferred[role] == i ||
           m->preferred[role] == SLOTS;
}

/* Energy that was counted while another meter was preferred must not be counted
 * again: after a change, the total continues from the last reading of the new
 * meter. */
static void add_slot(struct bj_meters *m, size_t i,
                     const struct bj_slot_view *v, uint64_t now_usec,
                     struct bj_totals *ret)
{
    for (int r = 0; r < BJ_ROLES; r++) {
        struct bj_role_total *total = &ret->role[r];
        struct role_value t = role_sum(v, (enum bj_zone_role)r, now_usec);
        uint64_t delta = t.uj - m->seen_uj[i][r];
        bool usable = t.any && t.fresh && may_use(m, i, r) &&
                      !(r == BJ_ZONE_NODE && m->balance[i].low);
        m->seen_uj[i][r] = t.uj;
        m->seen_fresh[i][r] = t.any && t.fresh;
        if (!usable || total->source)
            continue;
        m->preferred[r] = i;
        m->role_uj[r] += delta;
        total->source = v->kind->name;
        total->partial = t.partial;
        total->held = t.held;
        total->power_uw = t.power_uw;
        total->stamp_usec = t.stamp_usec;
    }
}

/* --- the node and its parts -----------------------------------------------*/

static void log_low(struct bj_meters *m, const struct balance *b,
                    const struct bj_slot_view *v)
{
    uint64_t usec = b->span_usec ? b->span_usec : 1; /* uJ / us is W */
    bj_host_log(
        &m->host, BJ_LOG_WARN, NULL,
        "power meter %s: its power of the node, %llu W, is below that of "
        "the parts, %llu W: not used as the node's",
        v->kind->name, (unsigned long long)(b->node_uj / usec),
        (unsigned long long)(b->parts_uj / usec));
}

/* Less than nine tenths of the parts is not the node; a meter that measures at
 * least the parts again is. */
static void meters_judge(struct bj_meters *m, struct balance *b,
                         const struct bj_slot_view *v, bool slow)
{
    bool enough = b->samples >= (slow ? SLOW_SAMPLES : FAST_SAMPLES) &&
                  (!slow || b->span_usec >= SLOW_SPAN * (uint64_t)SECOND);
    if (!enough)
        return;
    bool low =
        b->low ? b->node_uj < b->parts_uj : b->node_uj / 9 < b->parts_uj / 10;
    if (low && !b->low && !b->logged) {
        log_low(m, b, v);
        b->logged = true;
    }
    b->low = low;
    if (b->span_usec < LONG_SPAN * (uint64_t)SECOND)
        return;
    b->node_uj /= 2;
    b->parts_uj /= 2;
    b->span_usec /= 2;
}

/* Compare the meter of a slot with the parts since its last sample, unless one
 * of them was not counted for a time. */
static void weigh(struct bj_meters *m, size_t i, const struct bj_slot_view *v,
                  uint64_t now_usec, uint64_t gpu_uj, bool slept)
{
    struct balance *b = &m->balance[i];
    struct role_value t = role_sum(v, BJ_ZONE_NODE, now_usec);
    uint64_t parts = m->role_uj[BJ_ZONE_CPU] + m->role_uj[BJ_ZONE_DRAM];
    if (!t.partial)
        parts += gpu_uj == BJ_ABSENT ? m->role_uj[BJ_ZONE_GPU] : gpu_uj;
    if (slept)
        b->from_usec = 0;
    if (!t.any || t.stamp_usec == b->from_usec)
        return;
    if (b->from_usec != 0 && b->from_odd == t.odd && !t.held &&
        t.uj >= b->from_node_uj && parts >= b->from_parts_uj) {
        b->node_uj += t.uj - b->from_node_uj;
        b->parts_uj += parts - b->from_parts_uj;
        b->span_usec += t.stamp_usec - b->from_usec;
        b->samples++;
        meters_judge(m, b, v, v->kind->slow || t.level || !t.partial);
    }
    b->from_node_uj = t.uj;
    b->from_parts_uj = parts;
    b->from_usec = t.stamp_usec;
    b->from_odd = t.odd;
}

/* Allocate a view only for slots with values. */
static bool read_slot(struct bj_slot *s, uint64_t now_usec,
                      struct bj_slot_view **v)
{
    if (!bj_slot_has_values(s))
        return false;
    if (!*v)
        *v = calloc(1, sizeof(**v));
    if (*v)
        bj_slot_view(s, now_usec, *v);
    return *v;
}

void bj_meters_read(struct bj_meters *m, unsigned copy, uint64_t now_usec,
                    bool slept, uint64_t gpu_uj, struct bj_totals *ret)
{
    struct bj_slot_view **v = m->view[copy];

    *ret = (struct bj_totals){0};
    for (size_t i = 0; i < SLOTS; i++) {
        if (!m->slot[i])
            continue;
        if (slept)
            bj_slot_suspended(m->slot[i]);
        bj_slot_tick(m->slot[i], now_usec);
        if (read_slot(m->slot[i], now_usec, &v[i]))
            add_slot(m, i, v[i], now_usec, ret);
    }
    for (size_t i = 0; i < SLOTS; i++)
        if (m->slot[i] && v[i])
            weigh(m, i, v[i], now_usec, gpu_uj, slept);
    for (int r = 0; r < BJ_ROLES; r++) {
        ret->role[r].uj = m->role_uj[r];
        if (!ret->role[r].source)
            ret->role[r].power_uw = BJ_ABSENT;
    }
}

/* --- samples ---------------------------------------------------------------*/

static void put_zones(const struct bj_slot_view *v, struct bj_arena *a,
                      struct bj_zone_stat *out, size_t *n)
{
    for (size_t i = 0; i < v->nzones; i++) {
        const struct bj_meter_zone *z = &v->zone[i];
        struct bj_zone_stat *s = &out[(*n)++];
        s->sub.key[0] = bj_slice_str(v->kind->name);
        s->sub.key[1] = bj_arena_copy(a, bj_slice_str(z->name));
        s->sub.key[2] = bj_arena_copy(a, bj_slice_str(z->id));
        s->energy_uj = z->accum.total_uj;
        s->power_uw = z->accum.power_uw;
        s->limit_uw = z->accum.limit_uw;
        s->resets = z->accum.resets;
        s->gaps = z->accum.gaps;
        s->doubts = z->accum.doubts;
    }
}

static void put_errors(const struct bj_slot_view *v,
                       struct bj_meter_errors *out, size_t *n)
{
    for (int k = 0; k < BJ_METER_FAULTS; k++) {
        struct bj_meter_errors *e = &out[(*n)++];
        e->sub.key[0] = bj_slice_str(v->kind->name);
        e->sub.key[1] = bj_slice_str(bj_meter_fault_names[k]);
        e->errors = v->faults[k];
    }
}

void bj_meters_publish(const struct bj_meters *m, unsigned copy,
                       uint64_t now_usec, struct bj_snap *snap)
{
    struct bj_slot_view *const *views = m->view[copy];
    struct bj_arena *arena = &snap->arena;
    size_t nm = 0, nz = 0, ne = 0, nslots = 0, zones = 0;
    for (size_t i = 0; i < SLOTS; i++)
        if (views[i]) {
            nslots++;
            zones += views[i]->nzones;
        }
    if (nslots == 0)
        return;
    struct bj_meter_stat *meters =
        bj_arena_alloc(arena, nslots * sizeof(*meters));
    struct bj_meter_errors *errors =
        bj_arena_alloc(arena, nslots * BJ_METER_FAULTS * sizeof(*errors));
    struct bj_zone_stat *z = bj_arena_alloc(arena, zones * sizeof(*z));
    if (!meters || !errors || !z)
        return;
    for (size_t i = 0; i < SLOTS; i++) {
        const struct bj_slot_view *v = views[i];
        if (!v || !v->ran)
            continue;
        struct bj_meter_stat *s = &meters[nm++];
        s->sub.key[0] = bj_slice_str(v->kind->name);
        s->success = v->running && !v->failing;
        s->duration_usec = v->duration_usec;
        s->age_usec = v->good_usec && v->good_usec <= now_usec
                          ? now_usec - v->good_usec
                          : BJ_ABSENT;
        put_zones(v, arena, z, &nz);
        put_errors(v, errors, &ne);
    }
    snap->meters = (struct bj_list){meters, nm};
    snap->zones = (struct bj_list){z, nz};
    snap->meter_errors = (struct bj_list){errors, ne};
}

/* --- positions ------------------------------------------------------------
 *
 * zone KIND ROLE NAME and the numbers of bj_accum_save
 * role ROLE TOTAL */

static void save_zone(const char *kind, const struct bj_meter_zone *z,
                      struct bj_buf *out)
{
    bj_buf_printf(out, "zone %s %d %s", kind, (int)z->role, z->name);
    bj_accum_save(&z->accum, out);
    bj_buf_put(out, "\n", 1);
}

void bj_meters_save(const struct bj_meters *m, unsigned copy,
                    struct bj_buf *out)
{
    for (size_t i = 0; i < SLOTS; i++) {
        const struct bj_slot_view *v = m->view[copy][i];
        for (size_t k = 0; v && k < v->nzones; k++)
            save_zone(v->kind->name, &v->zone[k], out);
    }
    for (int r = 0; r < BJ_ROLES; r++) {
        bj_buf_printf(out, "role %d ", r);
        bj_buf_u64(out, m->role_uj[r]);
        bj_buf_put(out, "\n", 1);
    }
}

static bool next_u64(struct bj_slice *line, uint64_t *ret)
{
    struct bj_slice word;
    return bj_slice_word(line, &word) && bj_slice_u64(word, ret) == 0;
}

static void load_zone(struct bj_meters *m, struct bj_slice line)
{
    struct bj_slice kind, name;
    uint64_t role;
    struct bj_meter_zone z = {.name = ""};
    if (!bj_slice_word(&line, &kind) || !next_u64(&line, &role) ||
        role >= BJ_ZONE_ROLES || !bj_slice_word(&line, &name) ||
        name.n >= BJ_ZONE_NAME || !bj_accum_load(&z.accum, &line))
        return;
    z.role = (enum bj_zone_role)role;
    memcpy(z.name, name.p, name.n);
    if (role == BJ_ZONE_PLATFORM)
        role = BJ_ZONE_NODE;
    for (size_t i = 0; i < SLOTS; i++)
        if (m->slot[i] && bj_slot_restore(m->slot[i], kind, &z) == 0 &&
            role < BJ_ROLES)
            m->seen_uj[i][role] += z.accum.total_uj;
}

static void load_role(struct bj_meters *m, struct bj_slice line)
{
    uint64_t role, uj;
    if (next_u64(&line, &role) && role < BJ_ROLES && next_u64(&line, &uj))
        m->role_uj[role] = uj;
}

void bj_meters_load(struct bj_meters *m, struct bj_slice text)
{
    struct bj_slice line, word;
    while (bj_slice_line(&text, &line)) {
        if (!bj_slice_word(&line, &word))
            continue;
        if (bj_slice_eq(word, BJ_SLICE("zone")))
            load_zone(m, line);
        else if (bj_slice_eq(word, BJ_SLICE("role")))
            load_role(m, line);
    }
}

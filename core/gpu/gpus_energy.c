/* Attributes the energy of devices to the jobs that hold them.  The idle power
 * of a partitioned device is divided by slices, the rest by the activity of its
 * instances. */
#include "core/gpu/gpus_impl.h"
#include "core/internal.h"

/* Slices of a device, in units that any possible number of compute instances
 * divides evenly. */
enum { EVENLY = 840, SLICES = 7 * EVENLY, SECOND = 1000000 };

__extension__ typedef unsigned __int128 bj_u128;

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The time between two readings of a device. */
struct span {
    uint64_t from_usec, to_usec; /* times of the two readings */
    uint64_t end_usec;           /* end of the last previous holder; 0: none */
};

static uint64_t held_in(const struct bj_gpu_hold *h, const struct span *s)
{
    uint64_t begin = s->from_usec, end = h->track->life.end_usec;
    if (h->now && h->since_usec > begin)
        begin = later(h->since_usec, s->end_usec);
    if (h->now || end == 0 || end > s->to_usec)
        end = s->to_usec;
    return end > begin ? end - begin : 0;
}

/* Attribute energy to the jobs that hold the device, and to jobs that have
 * ended since the last reading: by their shares, and by the time of each if the
 * holder changed.  Exact; the rest is unallocated. */
static void give(struct bj_gpus *g, size_t dev, uint64_t uj)
{
    const struct bj_gpu_dev *d = &g->dev[dev];
    struct span s = {d->parent < 0 ? d->given_usec
                                   : g->dev[d->parent].given_usec,
                     d->stamp_usec, 0};
    uint64_t weight[BJ_GPU_HOLDERS_MAX] = {0}, part[BJ_GPU_HOLDERS_MAX];
    struct bj_gpu_hold *v[BJ_GPU_HOLDERS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < g->nholds && n < BJ_GPU_HOLDERS_MAX; i++) {
        struct bj_gpu_hold *h = &g->hold[i];
        if (h->dev != dev || !(h->now || h->pending) || h->track->life.recorded)
            continue;
        if (!h->now)
            s.end_usec = later(s.end_usec, h->track->life.end_usec);
        v[n++] = h;
    }
    for (size_t i = 0; i < n; i++) {
        weight[i] = v[i]->share_ppm;
        if (s.end_usec != 0 && s.from_usec != 0)
            weight[i] *= held_in(v[i], &s);
    }
    bj_gpu_divide(uj, weight, n, part);
    for (size_t i = 0; i < n; i++) {
        v[i]->sums.energy_uj += part[i];
        v[i]->pending_uj += part[i];
    }
}

/* The instances of a device, and one more receiver for the slices without an
 * instance. */
struct parts {
    size_t n, dev[BJ_GPUS_MAX];
    uint64_t slices[BJ_GPUS_MAX + 1], active[BJ_GPUS_MAX + 1];
    bool known; /* the activity of each instance is known */
};

/* The slices of an instance.  Several compute instances in one GPU instance all
 * report the slices of the GPU instance, so each gets a part of them. */
static uint64_t slices_of(const struct bj_gpus *g, const struct bj_gpu_dev *d)
{
    uint64_t slices = d->now.use.slices, n = 0;
    for (size_t i = 0; i < g->n && d->now.gi != UINT32_MAX; i++)
        n += g->dev[i].present && g->dev[i].parent == d->parent &&
             g->dev[i].now.gi == d->now.gi;
    return EVENLY * (slices == BJ_ABSENT || slices > 7 ? 1 : slices) /
           (n ? n : 1);
}

static void instances_of(const struct bj_gpus *g, size_t dev, struct parts *p)
{
    uint64_t used = 0;
    p->n = 0;
    p->known = true;
    for (size_t i = 0; i < g->n && p->n < BJ_GPUS_MAX; i++) {
        const struct bj_gpu_dev *d = &g->dev[i];
        const struct bj_gpu_use *u = &d->now.use;
        if (!d->present || d->parent != (int)dev)
            continue;
        p->slices[p->n] = slices_of(g, d);
        used += p->slices[p->n];
        bool known = u->sm_ppm != BJ_ABSENT && u->multiprocessors != BJ_ABSENT;
        p->known &= known;
        p->active[p->n] = known ? u->sm_ppm * u->multiprocessors : 0;
        p->dev[p->n++] = i;
    }
    p->slices[p->n] = used < SLICES ? SLICES - used : 0;
    p->active[p->n] = 0;
}

static void give_instances(struct bj_gpus *g, size_t dev, uint64_t uj,
                           uint64_t dt_usec)
{
    const struct bj_gpu_dev *d = &g->dev[dev];
    struct parts p;
    uint64_t still[BJ_GPUS_MAX + 1], moving[BJ_GPUS_MAX + 1], any = 0;
    instances_of(g, dev, &p);
    for (size_t i = 0; i < p.n; i++)
        any += p.active[i];
    bj_u128 idle =
        d->idle_uw == BJ_ABSENT ? 0 : (bj_u128)d->idle_uw * dt_usec / SECOND;
    uint64_t rest = idle < uj ? (uint64_t)idle : uj;
    bool by_use = p.known && any > 0;
    bj_gpu_divide(rest, p.slices, p.n + 1, still);
    bj_gpu_divide(uj - rest, by_use ? p.active : p.slices, p.n + 1, moving);
    for (size_t i = 0; i < p.n; i++)
        give(g, p.dev[i], still[i] + moving[i]);
}

/* The lowest power of a device so far approximates its idle power: of two
 * readings in a row the higher one, since a single one may be false. */
static void learn_idle(struct bj_gpu_dev *d)
{
    uint64_t before = d->level_uw, uw = d->now.use.power_uw;
    d->level_uw = uw;
    if (before == BJ_ABSENT || uw == BJ_ABSENT)
        return;
    uw = later(before, uw);
    if (uw > 0 && (d->idle_uw == BJ_ABSENT || uw < d->idle_uw))
        d->idle_uw = uw;
}

/* Whether the activity of an instance follows with the next reading, as after
 * the driver was opened. */
static bool activity_due(const struct bj_gpus *g, size_t dev)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->dev[i].present && g->dev[i].parent == (int)dev &&
            g->dev[i].now.profile_due)
            return true;
    return false;
}

/* Whether energy of a device is held back.  Its holders get it by the time
 * since the last reading that counts. */
static bool waits(const struct bj_gpus *g, size_t dev)
{
    const struct bj_gpu_dev *d = &g->dev[dev];
    return d->present && (bj_accum_waits(&d->energy, d->stamp_usec,
                                         bj_gpus_period(g->conf)) ||
                          activity_due(g, dev));
}

bool bj_gpus_held(const struct bj_gpus *g)
{
    bool any = false;
    for (size_t i = 0; i < g->n; i++)
        any |= waits(g, i);
    return any;
}

static uint64_t last_reading(const struct bj_gpus *g)
{
    uint64_t last = 0;
    for (size_t i = 0; i < g->n; i++)
        last = later(last, g->dev[i].stamp_usec);
    return last;
}

/* Whether to wait for claims: energy of a new job, which may be much after a
 * restart, must not count as unallocated only because its claim was not read
 * yet.  Three periods are enough; readings can be much more frequent. */
static bool defer(struct bj_gpus *g)
{
    enum { PATIENCE_PERIODS = 3 };
    const uint64_t last = last_reading(g);
    if (!bj_gpus_waits(g) && !bj_gpus_trace_due(g))
        g->waits_usec = 0;
    else if (g->waits_usec == 0)
        g->waits_usec = last;
    g->waits =
        g->waits_usec != 0 &&
        last < g->waits_usec + PATIENCE_PERIODS * bj_gpus_period(g->conf);
    return g->waits;
}

void bj_gpus_meter(struct bj_gpus *g, unsigned kind)
{
    if (defer(g))
        return;
    for (size_t i = 0; i < g->n; i++) {
        struct bj_gpu_dev *d = &g->dev[i];
        if (d->kind != kind || !d->present || d->parent >= 0)
            continue;
        learn_idle(d);
        if (waits(g, i))
            continue;
        uint64_t uj = 0;
        if (d->energy.total_uj > d->given_uj)
            uj = d->energy.total_uj - d->given_uj;
        uint64_t dt = d->given_usec ? d->stamp_usec - d->given_usec : 0;
        d->given_uj = d->energy.total_uj;
        g->metered |= d->energy.counter_stamp_usec != 0 ||
                      d->energy.power_stamp_usec != 0;
        g->total_uj += uj;
        if (d->now.split)
            give_instances(g, i, uj, dt);
        else
            give(g, i, uj);
        d->given_usec = d->stamp_usec;
    }
}

/* The time to wait for a driver that does not respond. */
enum { LINGER_USEC = 30 * SECOND };

bool bj_gpus_energy_due(const struct bj_gpus *g, const struct bj_track *t,
                        uint64_t now_usec)
{
    if (now_usec >= t->life.end_usec + LINGER_USEC)
        return false;
    for (size_t i = 0; i < g->nholds; i++) {
        const struct bj_gpu_hold *h = &g->hold[i];
        const struct bj_gpu_dev *d = &g->dev[h->dev];
        const struct bj_gpu_dev *whole = d->parent < 0 ? d : &g->dev[d->parent];
        if (h->track == t && (h->now || h->pending) &&
            whole->energy.stamp_usec != 0 &&
            whole->given_usec < t->life.end_usec)
            return true;
    }
    return false;
}

uint64_t bj_gpus_energy(const struct bj_gpus *g)
{
    return g->metered ? g->total_uj : BJ_ABSENT;
}

uint64_t bj_gpus_take(struct bj_gpus *g, const struct bj_track *t)
{
    uint64_t uj = 0;
    for (size_t i = 0; i < g->nholds; i++) {
        struct bj_gpu_hold *h = &g->hold[i];
        if (h->track != t)
            continue;
        uj += h->pending_uj;
        h->pending_uj = 0;
    }
    return uj;
}

void bj_gpus_discard(struct bj_gpus *g)
{
    for (size_t i = 0; i < g->nholds; i++) {
        g->hold[i].sums.energy_uj -= g->hold[i].pending_uj;
        g->hold[i].pending_uj = 0;
    }
}

#include "core/events.h"

#include "core/collect/kv.h"
#include "core/internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

/* The largest single charge, a huge page: 512 MiB on arm64 with pages of 64
 * KiB. A cgroup whose peak is further below its limit has not hit it. */
#define CHARGE_BYTES (512ull << 20)
#define MINUTE 60000000u

struct bj_job_events {
    struct bj_event_counts counts; /* of its own cgroup */
    uint64_t due_usec;             /* latest time of the next read */
    /* Peak, and OOM kills of the machine, at the last read. */
    uint64_t peak_bytes, oom_kills;
    uint64_t step_limit_bytes; /* the lowest limit of a step */
    uint64_t kills;            /* OOM kills read in the job, or BJ_ABSENT */
    /* Unexplained kills, modulo 2^64, or BJ_ABSENT: at or before the last read
     * of the job; and at the read before cgroups were lost that may have had
     * one more.  doubt BJ_ABSENT: none was missed. */
    uint64_t unexplained, doubt;
    uint64_t suspect; /* the same before the last read (is_suspect) */
    uint64_t lost;    /* the same before cgroups were lost in this pass */
    bool begun;       /* it was read before: a new cgroup began with 0 */
};

/* The events of one cgroup; BJ_ABSENT: unknown. */
struct events {
    uint64_t of[BJ_EVENTS], limit_bytes;
};

bool bj_events_summed(const struct bj_track *t)
{
    const struct bj_core *c = t->core;
    int h = t->unit.ctl[BJ_CTL_MEMORY];
    return h >= 0 && c->hiers.v[h].version == BJ_CGROUP_V1 &&
           c->conf->collect[BJ_COLLECT_MEMORY] && !c->conf->basic;
}

/* A file of the job's memory cgroup, or of one below it; false when it cannot
 * be read. */
static bool events_read_file(struct bj_track *t, const char *rel,
                             const char *name, struct bj_slice *ret)
{
    struct bj_cgroup_reader *rd = &t->core->reader;
    unsigned h = (unsigned)t->unit.ctl[BJ_CTL_MEMORY];
    char file[4096], path[4096];
    const char *from = file;
    int dir = t->unit.dir[h];
    int n = snprintf(file, sizeof(file), "%s%s%s", rel, *rel ? "/" : "", name);
    int r = n < 0 || (size_t)n >= sizeof(file) ? -ENAMETOOLONG : 0;
    if (r == 0 && dir < 0) {
        r = bj_unit_path(&t->unit, rd, h, file, path, sizeof(path));
        from = path;
        dir = AT_FDCWD;
    }
    if (r == 0)
        r = bj_file_read(dir, from, rd->buf, rd->cap, ret, NULL);
    if (r < 0 && !bj_err_gone(r)) {
        rd->faults++;
        bj_err_set(&rd->fault, r, "memory events of job %s: %s", t->id, file);
    }
    return r == 0;
}

static struct events read_events(struct bj_track *t, const char *rel)
{
    static const struct bj_kv_key kills[] = {{{"oom_kill", 8}, 0, 1}};
    struct bj_kv_order *order = &t->core->reader.order[3];
    struct events e = {{BJ_ABSENT, BJ_ABSENT, BJ_ABSENT}, BJ_ABSENT};
    struct bj_slice text;
    if (events_read_file(t, rel, "memory.failcnt", &text) &&
        !bj_slice_number(&text, &e.of[BJ_EV_HITS]))
        e.of[BJ_EV_HITS] = BJ_ABSENT;
    if (events_read_file(t, rel, "memory.memsw.failcnt",
                         &text) && /* swapaccount=1 */
        !bj_slice_number(&text, &e.of[BJ_EV_SWAP_HITS]))
        e.of[BJ_EV_SWAP_HITS] = BJ_ABSENT;
    if (events_read_file(t, rel, "memory.oom_control", &text)) /* Linux 4.13 */
        bj_kv_parse(text, kills, 1, order, &e.of[BJ_EV_KILLS]);
    if (events_read_file(t, rel, "memory.limit_in_bytes", &text) &&
        !bj_slice_number(&text, &e.limit_bytes))
        e.limit_bytes = BJ_ABSENT;
    return e;
}

/* OOM kills of the whole machine: while they do not change, those of no job do.
 * A kernel before Linux 4.13 does not count them. */
static uint64_t all_kills(struct bj_core *core)
{
    static const struct bj_kv_key key[] = {{{"oom_kill", 8}, 0, 1}};
    struct bj_kv_order again = {0};
    struct bj_slice text;
    char path[512];
    if (core->oom_read)
        return core->oom_kills;
    core->oom_read = true;
    core->oom_kills = BJ_ABSENT;
    snprintf(path, sizeof(path), "%.400s/vmstat", core->conf->procfs);
    if (bj_file_read_all(AT_FDCWD, path, core->reader.buf, core->reader.cap,
                         &text, NULL) < 0 ||
        bj_kv_parse(text, key, 1, &again, &core->oom_kills) < 0)
        core->oom_kills = BJ_ABSENT;
    return core->oom_kills;
}

/* Those that were read in no job, modulo 2^64. */
static uint64_t unexplained(struct bj_core *core)
{
    uint64_t all = all_kills(core);
    return all == BJ_ABSENT ? BJ_ABSENT : all - core->kills_read;
}

/* Is a above b?  Both may have wrapped. */
static bool is_above(uint64_t a, uint64_t b)
{
    return a != BJ_ABSENT && b != BJ_ABSENT && (int64_t)(a - b) > 0;
}

/* Is the peak at most that far below the lowest limit of the job? */
static bool is_near_limit(const struct bj_track *t, uint64_t bytes)
{
    uint64_t peak = t->unit.use.mem_peak_bytes;
    uint64_t limit = t->unit.use.mem_limit_bytes;
    if (limit > t->events->step_limit_bytes)
        limit = t->events->step_limit_bytes;
    return peak == BJ_ABSENT || limit < bytes || peak >= limit - bytes;
}

/* Without the watcher a step may come and go between two reads.  A kill for
 * want of memory in it needs a peak at the limit. */
static bool is_suspect(const struct bj_track *t)
{
    enum { BATCHES = 16 << 20 }; /* charged at once by some CPUs */
    return !t->core->watches && t->unit.use.mem_peak_bytes != BJ_ABSENT &&
           is_near_limit(t, BATCHES);
}

/* Whether the events must be read: not while the peak is constant and well
 * below every limit.  As a limit may be lowered, they are read at least once a
 * minute. */
static bool must_read(struct bj_track *t)
{
    const struct bj_job_events *e = t->events;
    if (t->unit.use.mem_peak_bytes != e->peak_bytes || e->due_usec == 0)
        return true;
    uint64_t kills = all_kills(t->core);
    return kills == BJ_ABSENT || kills != e->oom_kills ||
           is_near_limit(t, CHARGE_BYTES) || t->core->now_usec >= e->due_usec;
}

/* Set the events of a unit; those in the mask unknown become absent. */
static void set_events(struct bj_unit *u, const uint64_t sum[BJ_EVENTS],
                       unsigned unknown)
{
    uint64_t *const to[BJ_EVENTS] = {
        [BJ_EV_HITS] = &u->use.mem_limit_hits,
        [BJ_EV_KILLS] = &u->use.mem_oom_kills,
        [BJ_EV_SWAP_HITS] = &u->use.memsw_limit_hits,
    };
    for (unsigned e = 0; e < BJ_EVENTS; e++)
        *to[e] = unknown & 1u << e ? BJ_ABSENT : sum[e];
}

/* The mask of events that the kernel has never counted for the job's own
 * cgroup. */
static unsigned unknown_events(const struct bj_unit *u,
                               const struct events *own)
{
    unsigned unknown = 0;
    if (own->of[BJ_EV_KILLS] == BJ_ABSENT && u->use.mem_oom_kills == BJ_ABSENT)
        unknown |= 1u << BJ_EV_KILLS;
    if (own->of[BJ_EV_SWAP_HITS] == BJ_ABSENT &&
        u->use.memsw_limit_hits == BJ_ABSENT)
        unknown |= 1u << BJ_EV_SWAP_HITS;
    return unknown;
}

/* Sum up the events of a step itself, of its tasks, and of tasks that have
 * gone. */
static void set_step(const struct bj_track *t, const struct bj_step *s,
                     unsigned unknown)
{
    uint64_t sum[BJ_EVENTS];
    for (int e = 0; e < BJ_EVENTS; e++)
        sum[e] = s->events.own[e] + s->events.gone[e];
    for (const struct bj_step *k = t->steps.first; k && !*s->task; k = k->next)
        for (int e = 0; e < BJ_EVENTS; e++)
            if (*k->task && strcmp(k->step, s->step) == 0)
                sum[e] += k->events.own[e];
    set_events(s->unit, sum, unknown);
}

/* Values that could not be read stay unchanged.  new_cgroup: it began with 0
 * while the machine's kills were read. */
static void events_keep(struct bj_core *core, uint64_t own[BJ_EVENTS],
                        const struct events *e, bool new_cgroup)
{
    uint64_t kills = e->of[BJ_EV_KILLS];
    if (new_cgroup && kills != BJ_ABSENT && kills > own[BJ_EV_KILLS])
        core->kills_read += kills - own[BJ_EV_KILLS];
    for (int i = 0; i < BJ_EVENTS; i++)
        if (e->of[i] != BJ_ABSENT)
            own[i] = e->of[i];
}

static void read_steps(struct bj_track *t, uint64_t sum[BJ_EVENTS])
{
    t->events->step_limit_bytes = BJ_ABSENT;
    for (struct bj_step *s = t->steps.first; s; s = s->next) {
        struct events own = read_events(t, s->rel);
        if (own.limit_bytes < t->events->step_limit_bytes)
            t->events->step_limit_bytes = own.limit_bytes;
        events_keep(t->core, s->events.own, &own,
                    s->events_read || t->events->begun);
        s->events_read = true;
        for (int e = 0; e < BJ_EVENTS; e++)
            sum[e] += s->events.own[e] + s->events.gone[e];
    }
}

bool bj_events_due(const struct bj_track *t, bool slow)
{
    return bj_events_summed(t) &&
           (slow || !t->events ||
            t->unit.use.mem_peak_bytes != t->events->peak_bytes ||
            (t->core->oom_read && t->core->oom_kills != t->events->oom_kills));
}

bool bj_events_killed(const struct bj_track *t)
{
    return bj_events_summed(t) &&
           (!t->events || all_kills(t->core) != t->events->oom_kills);
}

static struct bj_job_events *get_events(struct bj_track *t)
{
    if (!t->events && (t->events = calloc(1, sizeof(*t->events)))) {
        t->events->begun = t->life.fresh;
        t->events->kills = BJ_ABSENT;
        t->events->unexplained = t->events->doubt = BJ_ABSENT;
        t->events->suspect = t->events->lost = BJ_ABSENT;
    }
    return t->events;
}

void bj_events_read(struct bj_track *t, bool slow)
{
    struct bj_job_events *e = get_events(t);
    if (!e || !must_read(t))
        return;
    e->peak_bytes = t->unit.use.mem_peak_bytes;
    e->due_usec = t->core->now_usec + MINUTE;
    if (slow || t->core->oom_read) {
        e->oom_kills = all_kills(t->core);
        e->suspect = is_suspect(t) ? e->unexplained : BJ_ABSENT;
        e->unexplained = unexplained(t->core);
    }
    uint64_t sum[BJ_EVENTS];
    struct events own = read_events(t, "");
    events_keep(t->core, e->counts.own, &own, e->begun);
    for (int i = 0; i < BJ_EVENTS; i++)
        sum[i] = e->counts.own[i] + e->counts.gone[i];
    read_steps(t, sum);
    e->begun = true;
    unsigned unknown = unknown_events(&t->unit, &own);
    for (const struct bj_step *s = t->steps.first; s; s = s->next)
        if (s->unit)
            set_step(t, s, unknown);
    set_events(&t->unit, sum, unknown);
    e->kills = t->unit.use.mem_oom_kills;
}

void bj_events_note(struct bj_track *t, bool slow)
{
    const uint64_t kills = t->unit.use.mem_oom_kills;
    struct bj_job_events *e = kills != BJ_ABSENT ? get_events(t) : t->events;
    if (!e || kills == BJ_ABSENT)
        return;
    uint64_t before = e->kills != BJ_ABSENT ? e->kills : 0;
    if (e->begun && kills > before)
        t->core->kills_read += kills - before;
    e->begun = true;
    e->kills = kills;
    if (slow)
        e->unexplained = unexplained(t->core);
}

/* A cgroup of the job has gone: it may have had a kill that was not read.  The
 * machine's kills may have been read before in this pass: bj_events_settle
 * reads them again. */
static void doubt(struct bj_track *t)
{
    struct bj_job_events *e = t->events;
    if (!e || e->unexplained == BJ_ABSENT || !bj_track_live(t))
        return; /* without processes there are no kills */
    if (e->lost == BJ_ABSENT || is_above(e->lost, e->unexplained))
        e->lost = e->unexplained;
}

void bj_events_end(struct bj_track *t)
{
    doubt(t);
}

/* All reads of the pass are known, and so is which kills they explain. */
static void events_judge(struct bj_job_events *e, uint64_t now)
{
    if (is_above(e->unexplained, now))
        e->unexplained = now;
    if (e->doubt == BJ_ABSENT && is_above(now, e->suspect))
        e->doubt = e->suspect;
    if (is_above(now, e->lost) &&
        (e->doubt == BJ_ABSENT || is_above(e->doubt, e->lost)))
        e->doubt = e->lost;
    e->suspect = e->lost = BJ_ABSENT;
    if (!is_above(now, e->doubt))
        e->doubt = BJ_ABSENT;
}

void bj_events_settle(struct bj_core *core)
{
    for (size_t k = 0; k < core->tracks.n; k++) {
        const struct bj_job_events *e = core->tracks.v[k]->events;
        if (e && e->lost != BJ_ABSENT) {
            core->oom_read = false;
            all_kills(core);
            break;
        }
    }
    for (size_t k = 0; k < core->tracks.n; k++) {
        struct bj_track *t = core->tracks.v[k];
        struct bj_job_events *e = t->events;
        bool doubted = e && e->doubt != BJ_ABSENT;
        if (e && core->oom_read)
            events_judge(e, unexplained(core));
        if (doubted || (e && e->doubt != BJ_ABSENT))
            t->unit.use.mem_oom_kills =
                e->doubt != BJ_ABSENT && e->kills == 0 ? BJ_ABSENT : e->kills;
    }
}

void bj_events_step_added(struct bj_track *t)
{
    if (t->events)
        t->events->due_usec = 0; /* its events have not been read yet */
}

void bj_events_step_lost(struct bj_track *t, const struct bj_step *s,
                         struct bj_step *parent)
{
    struct bj_event_counts *heir = parent      ? &parent->events
                                   : t->events ? &t->events->counts
                                               : NULL;
    for (int i = 0; heir && i < BJ_EVENTS; i++)
        heir->gone[i] += s->events.own[i] + s->events.gone[i];
    doubt(t);
}

void bj_events_free(struct bj_track *t)
{
    free(t->events);
    t->events = NULL;
}

/* Memory events of v1 jobs, limit hits and OOM kills: the kernel counts them in
 * the cgroup where they happen and does not add them up, so that a job has the
 * sum over its steps and tasks.  Who hits the limit of memory and swap space
 * together is near that of memory, which is never above it. */
#include "core/collect/kv.h"
#include "core/internal.h"

#include <fcntl.h>
#include <stdio.h>

/* The most that is charged at once, a huge page: 512 MiB on arm64 with pages
 * of 64 KiB.  What stays further below its limit has not hit it. */
#define CHARGE_BYTES (512ull << 20)
#define MINUTE 60000000u

/* The events of one cgroup, BJ_ABSENT where they are not known. */
struct events {
    uint64_t of[BJ_EVENTS], limit_bytes;
};

/* A file of the job's memory cgroup, or of one below it; false when it cannot
 * be read. */
static bool read_file(struct bj_track *t, const char *rel, const char *name,
                      struct bj_slice *ret)
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
    if (read_file(t, rel, "memory.failcnt", &text) &&
        !bj_slice_number(&text, &e.of[BJ_EV_HITS]))
        e.of[BJ_EV_HITS] = BJ_ABSENT;
    if (read_file(t, rel, "memory.memsw.failcnt", &text) && /* swapaccount=1 */
        !bj_slice_number(&text, &e.of[BJ_EV_SWAP_HITS]))
        e.of[BJ_EV_SWAP_HITS] = BJ_ABSENT;
    if (read_file(t, rel, "memory.oom_control", &text)) /* Linux 4.13 */
        bj_kv_parse(text, kills, 1, order, &e.of[BJ_EV_KILLS]);
    if (read_file(t, rel, "memory.limit_in_bytes", &text) &&
        !bj_slice_number(&text, &e.limit_bytes))
        e.limit_bytes = BJ_ABSENT;
    return e;
}

/* OOM kills of the whole machine: while they stand still, so do those of each
 * job.  A kernel without them (before Linux 4.13) tells none of a job. */
static uint64_t all_kills(struct bj_core *core)
{
    static const struct bj_kv_key key[] = {{{"oom_kill", 8}, 0, 1}};
    struct bj_kv_order anew = {0};
    struct bj_slice text;
    char path[512];
    if (core->oom_pass == core->passes)
        return core->oom_kills;
    core->oom_pass = core->passes;
    core->oom_kills = 0;
    snprintf(path, sizeof(path), "%.400s/vmstat", core->conf->procfs);
    if (bj_file_read_all(AT_FDCWD, path, core->reader.buf, core->reader.cap,
                         &text, NULL) < 0 ||
        bj_kv_parse(text, key, 1, &anew, &core->oom_kills) < 0)
        core->oom_kills = BJ_ABSENT;
    return core->oom_kills;
}

/* Can there be new ones?  Not while the peak stands still well below every
 * limit; but a limit may be lowered, so once a minute they are read anyway. */
static bool due(struct bj_track *t)
{
    uint64_t peak = t->unit.use.mem_peak_bytes;
    uint64_t limit = t->unit.use.mem_limit_bytes;
    if (peak != t->seen_peak_bytes || t->events_usec == 0)
        return true;
    if (limit > t->step_limit_bytes)
        limit = t->step_limit_bytes;
    uint64_t kills = all_kills(t->core);
    return peak == BJ_ABSENT || kills == BJ_ABSENT ||
           kills != t->seen_oom_kills || limit < CHARGE_BYTES ||
           peak >= limit - CHARGE_BYTES || t->core->now_usec >= t->events_usec;
}

/* Kinds of events that this kernel does not count, as a mask, are absent. */
static void tell(struct bj_unit *u, const uint64_t sum[BJ_EVENTS],
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

/* Those that the job's own cgroup does not tell, and never has. */
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

/* What a step has counted itself, what its tasks have, and what those had that
 * have gone. */
static void tell_step(const struct bj_track *t, const struct bj_step *s,
                      unsigned unknown)
{
    uint64_t sum[BJ_EVENTS];
    for (int e = 0; e < BJ_EVENTS; e++)
        sum[e] = s->local[e] + s->retired[e];
    for (const struct bj_step *k = t->steps; k && !*s->task; k = k->next)
        for (int e = 0; e < BJ_EVENTS; e++)
            if (*k->task && strcmp(k->step, s->step) == 0)
                sum[e] += k->local[e];
    tell(s->unit, sum, unknown);
}

/* What could not be read stays as it was. */
static void keep(uint64_t local[BJ_EVENTS], const struct events *e)
{
    for (int i = 0; i < BJ_EVENTS; i++)
        if (e->of[i] != BJ_ABSENT)
            local[i] = e->of[i];
}

static void read_steps(struct bj_track *t, uint64_t sum[BJ_EVENTS])
{
    t->step_limit_bytes = BJ_ABSENT;
    for (struct bj_step *s = t->steps; s; s = s->next) {
        struct events own = read_events(t, s->rel);
        if (own.limit_bytes < t->step_limit_bytes)
            t->step_limit_bytes = own.limit_bytes;
        keep(s->local, &own);
        for (int e = 0; e < BJ_EVENTS; e++)
            sum[e] += s->local[e] + s->retired[e];
    }
}

void bj_track_events(struct bj_track *t, bool slow)
{
    if (!bj_track_sums_events(t) ||
        (!slow && t->unit.use.mem_peak_bytes == t->seen_peak_bytes))
        return;
    bj_track_steps(t);
    if (!due(t))
        return;
    t->seen_peak_bytes = t->unit.use.mem_peak_bytes;
    t->events_usec = t->core->now_usec + MINUTE;
    if (slow)
        t->seen_oom_kills = all_kills(t->core);
    uint64_t sum[BJ_EVENTS];
    struct events own = read_events(t, "");
    keep(t->local, &own);
    for (int e = 0; e < BJ_EVENTS; e++)
        sum[e] = t->local[e] + t->retired[e];
    read_steps(t, sum);
    unsigned unknown = unknown_events(&t->unit, &own);
    for (const struct bj_step *s = t->steps; s; s = s->next)
        if (s->unit)
            tell_step(t, s, unknown);
    tell(&t->unit, sum, unknown);
}

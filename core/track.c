#include "core/track.h"

#include "base/array.h"
#include "core/collect/procstat.h"
#include "core/find/pids.h"
#include "core/internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *last_part(const char *rel)
{
    const char *slash = strrchr(rel, '/');
    return slash ? slash + 1 : rel;
}

/* The job id, or its substitute: the SLUID, or the directory's name. */
static struct bj_slice id_of(const struct bj_path_match *m, const char *rel)
{
    if (m->f[BJ_ID_JOBID].n > 0)
        return m->f[BJ_ID_JOBID];
    if (m->f[BJ_ID_SLUID].n > 0)
        return m->f[BJ_ID_SLUID];
    return bj_slice_str(last_part(rel));
}

const char *bj_track_key(const struct bj_path_match *m, const char *rel,
                         char *buf, size_t cap)
{
    struct bj_slice id = id_of(m, rel), node = m->f[BJ_ID_NODE],
                    sys = m->f[BJ_ID_SYSTEM];
    snprintf(buf, cap, "%.*s/%.*s/%.*s", (int)sys.n, sys.p, (int)node.n,
             node.n ? node.p : "", (int)id.n, id.p);
    return buf;
}

/* The id in a key, after the second slash; cut at a NUL in the id. */
static const char *id_in(const char *key, const struct bj_path_match *m)
{
    size_t at = m->f[BJ_ID_SYSTEM].n + 1 + m->f[BJ_ID_NODE].n + 1;
    size_t n = strlen(key);
    return key + (at < n ? at : n);
}

struct bj_track *bj_track_new(struct bj_core *core,
                              const struct bj_path_match *m, const char *rel)
{
    char key[1024];
    struct bj_track *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    bj_unit_init(&t->unit);
    t->core = core;
    t->layout = m->layout;
    t->life.first_usec = core->now_usec;
    t->life.start_usec = BJ_ABSENT;
    t->life.start_sec = t->life.end_sec = BJ_ABSENT;
    t->life.checked_cpu_usec = t->life.last_cpu_usec = BJ_ABSENT;
    t->life.fresh = core->passes > 1;
    for (unsigned i = 0; i < BJ_EXITS; i++)
        t->watched.exit[i].fd = -1;
    t->watched.changed = true;
    t->key = strdup(bj_track_key(m, rel, key, sizeof(key)));
    t->id = t->key ? id_in(t->key, m) : NULL;
    if (!t->key || bj_identity_new(t, m) < 0) {
        bj_track_free(t);
        return NULL;
    }
    return t;
}

void bj_track_free(struct bj_track *t)
{
    if (!t)
        return;
    bj_watches_forget(t->core->watches, t);
    bj_steps_free(t);
    if (t->proc)
        bj_jobproc_free(t->core->proctab, t->proc);
    bj_events_free(t);
    bj_identity_free(t);
    bj_unit_fini(&t->unit, &t->core->pool);
    free(t->key);
    free(t);
}

/* The index of the first track that is not before that id and key. */
static size_t track_place_of(const struct bj_tracks *ts, const char *id,
                             const char *key)
{
    size_t lo = 0, hi = ts->n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int d = strverscmp(ts->v[mid]->id, id);
        if (d < 0 || (d == 0 && strcmp(ts->v[mid]->key, key) < 0))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

int bj_tracks_insert(struct bj_tracks *ts, struct bj_track *t)
{
    if (!BJ_GROW(ts->v, ts->n + 1, ts->cap))
        return -ENOMEM;
    size_t at = track_place_of(ts, t->id, t->key);
    memmove(ts->v + at + 1, ts->v + at, (ts->n - at) * sizeof(*ts->v));
    ts->v[at] = t;
    ts->n++;
    return 0;
}

/* Not every path has the owner: only two different owners mean two jobs. */
static bool same_owner(const struct bj_track *t, struct bj_slice uid)
{
    struct bj_slice known = bj_identity_path_uid(t);
    return known.n == 0 || uid.n == 0 || bj_slice_eq(known, uid);
}

struct bj_track *bj_tracks_find(const struct bj_tracks *ts,
                                const struct bj_path_match *m, const char *key)
{
    for (size_t i = track_place_of(ts, id_in(key, m), key);
         i < ts->n && strcmp(ts->v[i]->key, key) == 0; i++)
        if (!ts->v[i]->life.reused && same_owner(ts->v[i], m->f[BJ_ID_UID]))
            return ts->v[i];
    return NULL;
}

void bj_tracks_replace(struct bj_tracks *ts, const struct bj_track *t)
{
    struct bj_slice uid = bj_identity_path_uid(t);
    for (size_t i = track_place_of(ts, t->id, t->key);
         i < ts->n && strcmp(ts->v[i]->key, t->key) == 0; i++)
        if (ts->v[i]->life.reused && same_owner(ts->v[i], uid))
            ts->v[i]->life.replaced = true;
}

void bj_tracks_remove(struct bj_tracks *ts, struct bj_track *t)
{
    size_t i = 0;
    while (i < ts->n && ts->v[i] != t)
        i++;
    if (i < ts->n)
        memmove(ts->v + i, ts->v + i + 1, (--ts->n - i) * sizeof(*ts->v));
}

void bj_track_end(struct bj_track *t, uint64_t boot_usec, uint64_t wall_usec)
{
    bj_track_clock(t, boot_usec, wall_usec);
    t->life.end_usec = boot_usec ? boot_usec : 1;
    t->life.end_sec = wall_usec / 1000000;
}

void bj_track_clock(struct bj_track *t, uint64_t boot_usec, uint64_t wall_usec)
{
    if (t->life.start_usec == BJ_ABSENT || t->life.start_usec > boot_usec)
        return;
    const uint64_t sec =
                       (wall_usec - (boot_usec - t->life.start_usec)) / 1000000,
                   had = t->life.start_sec;
    /* Rounding and a clock that is slewed do not change it. */
    if (had == BJ_ABSENT || sec + 1 < had || had + 1 < sec)
        t->life.start_sec = sec;
}

uint64_t bj_track_start(const struct bj_track *t)
{
    enum { SLACK_SEC = 60 };
    const uint64_t said = t->ident->n.start_sec, own = t->life.start_sec;
    return said != BJ_ABSENT && (own == BJ_ABSENT || said <= own + SLACK_SEC)
               ? said
               : own;
}

bool bj_track_over(const struct bj_track *t)
{
    const struct bj_core *core = t->core;
    return !bj_track_live(t) &&
           (!t->life.emptied || t->life.trees == 0 ||
            core->now_usec >= t->life.end_usec + core->conf->grace_usec);
}

void bj_track_place(struct bj_track *t, uint64_t now_usec)
{
    const struct bj_cgroup_reader *rd = &t->core->reader;
    for (unsigned h = 0; h < rd->hiers->n; h++) {
        const struct bj_hier *hier = &rd->hiers->v[h];
        const char *rel = t->unit.rel[hier->version - 1];
        /* Directories appear one after the other while a job starts. */
        if (rel && hier->version == BJ_CGROUP_V1 &&
            (hier->controllers & rd->needed) && !(t->unit.in_hiers & 1u << h))
            bj_unit_place(&t->unit, rd, h, rel);
    }
    static const uint64_t wait_usec[] = {200000, 1000000, 5000000, 15000000};
    t->life.place_usec =
        t->life.place_tries < sizeof(wait_usec) / sizeof(wait_usec[0])
            ? now_usec + wait_usec[t->life.place_tries++]
            : UINT64_MAX;
}

bool bj_track_procs_path(const struct bj_track *t, char *buf, size_t cap,
                         bool *ret_v2)
{
    static const enum bj_controller preferred[] = {
        BJ_CTL_CPUACCT, BJ_CTL_MEMORY,  BJ_CTL_PIDS,
        BJ_CTL_FREEZER, BJ_CTL_CPUSET,  BJ_CTL_DEVICES,
        BJ_CTL_BLKIO,   BJ_CTL_HUGETLB, BJ_CTL_NAMED};
    const struct bj_cgroup_reader *rd = &t->core->reader;
    for (size_t i = 0; i < sizeof(preferred) / sizeof(preferred[0]); i++) {
        int h = t->unit.ctl[preferred[i]];
        if (h < 0)
            continue;
        *ret_v2 = rd->hiers->v[h].version == BJ_CGROUP_V2;
        return bj_unit_path(&t->unit, rd, (unsigned)h, "", buf, cap) == 0;
    }
    return false;
}

uint64_t bj_track_oldest(const struct bj_track *t, uint64_t now_usec)
{
    enum { OLDEST_OF = 64 };
    char path[4096], buf[2048];
    pid_t pids[OLDEST_OF];
    bool v2;
    if (!bj_track_procs_path(t, path, sizeof(path), &v2))
        return BJ_ABSENT;
    int n = bj_pids_below(AT_FDCWD, path, pids, OLDEST_OF);
    uint64_t oldest = BJ_ABSENT, tick = t->core->reader.tick_usec;
    for (int i = 0; i < n && i < OLDEST_OF; i++) {
        char name[512];
        struct bj_slice line;
        struct bj_procstat stat;
        snprintf(name, sizeof(name), "%.400s/%d/stat", t->core->conf->procfs,
                 (int)pids[i]);
        if (bj_file_read(AT_FDCWD, name, buf, sizeof(buf), &line, NULL) == 0 &&
            bj_procstat_parse(line, &stat) == 0 &&
            stat.start_ticks < oldest / tick)
            oldest = stat.start_ticks * tick;
    }
    return oldest > now_usec ? BJ_ABSENT : oldest;
}

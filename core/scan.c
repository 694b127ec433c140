/* Scanning for jobs: one tree of directories for each hierarchy, merged into
 * tracks. */
#include "core/energy/energy.h"
#include "core/explain.h"
#include "core/gpu/gpus.h"
#include "core/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static unsigned classify(void *ctx, const char *rel)
{
    const struct bj_hier_scan *f = ctx;
    struct bj_path_match m;
    unsigned kind = bj_layouts_job(f->core->layouts,
                                   f->core->hiers.v[f->hier].version, rel, &m);
    bj_explain_path(f->core, f->hier, rel, kind, &m);
    return kind;
}

/* The track of that key, if it can get another directory. */
static struct bj_track *
scan_known(struct bj_core *core, const struct bj_path_match *m, const char *key)
{
    struct bj_track *t = bj_tracks_find(&core->tracks, m, key);
    return t && !t->life.lost && (bj_track_live(t) || t->life.emptied) ? t
                                                                       : NULL;
}

static void count_live(struct bj_tracks *ts)
{
    ts->live = 0;
    for (size_t i = 0; i < ts->n; i++)
        ts->live += bj_track_live(ts->v[i]);
}

static struct bj_track *scan_start(struct bj_core *core,
                                   const struct bj_path_match *m,
                                   const char *key, const char *rel, bool again)
{
    struct bj_track *old = bj_tracks_find(&core->tracks, m, key);
    if (old)
        old->life.reused = true;
    if (core->tracks.live >= core->conf->max_jobs) {
        core->jobs_refused += !again;
        return NULL;
    }
    struct bj_track *t = bj_track_new(core, m, rel);
    if (t)
        bj_explain_job(t, "its cgroup is there, shown once it has a process");
    if (t && bj_tracks_insert(&core->tracks, t) < 0) {
        bj_track_free(t);
        t = NULL;
    }
    core->tracks.live += t != NULL;
    return t;
}

/* --- jobs in other jobs, and jobs with the same id ------------------------ */

/* Is the path below that of the directory? */
static bool is_below(const char *path, const char *dir)
{
    size_t n = dir ? strlen(dir) : 0;
    return n > 0 && path && strncmp(path, dir, n) == 0 && path[n] == '/';
}

/* A unit that contains jobs of another batch system, such as the pod of a
 * slurmd, is not a job: the values of its jobs would count twice. */
static void make_outer(struct bj_core *core, struct bj_track *t)
{
    if (t->life.outer)
        return;
    bj_explain_job(t, "contains jobs of another batch system: not a job");
    t->life.outer = true;
    t->life.born = false;
    bj_energy_drop(core->energy, t);
    bj_gpus_drop(core->gpus, t);
    bj_watches_forget(core->watches, t);
    if (t->proc)
        bj_jobproc_free(core->proctab, t->proc);
    t->proc = NULL;
    core->rescan = true; /* watch its directories as those of no job */
}

static void find_outer(struct bj_core *core, struct bj_track *t,
                       unsigned version)
{
    const char *own = t->unit.rel[version - 1];
    for (size_t i = 0; i < core->tracks.n; i++) {
        struct bj_track *other = core->tracks.v[i];
        const char *rel = other->unit.rel[version - 1];
        if (!other->life.lost && is_below(own, rel))
            make_outer(core, other);
        else if (!other->life.lost && is_below(rel, own))
            make_outer(core, t);
    }
}

/* Is there another directory of the track in a hierarchy of that version? */
static bool is_elsewhere(const struct bj_track *t, unsigned hier,
                         const char *rel)
{
    const struct bj_cgroup_reader *rd = &t->core->reader;
    const char *own = t->unit.rel[rd->hiers->v[hier].version - 1];
    char path[4096];
    return own && strcmp(own, rel) != 0 &&
           bj_unit_path(&t->unit, rd, hier, "", path, sizeof(path)) == 0 &&
           access(path, F_OK) == 0;
}

/* The first part of rel that other lacks. */
static struct bj_slice first_difference(const char *rel, const char *other)
{
    size_t at = 0, n = 0;
    for (size_t i = 0; rel[i] && rel[i] == other[i]; i++)
        if (rel[i] == '/')
            at = i + 1;
    while (rel[at + n] && rel[at + n] != '/')
        n++;
    return (struct bj_slice){rel + at, n};
}

static void note_conflict(struct bj_core *core, const struct bj_track *t,
                          const char *rel, struct bj_slice node)
{
    const char *own = t->unit.rel[BJ_CGROUP_V2 - 1];
    if (!own)
        own = t->unit.rel[BJ_CGROUP_V1 - 1];
    bj_host_log(&core->host, BJ_LOG_WARN, NULL,
                "job %.100s has two cgroups, %.400s and %.400s: the second is "
                "shown with slurm_node=\"%.*s\"; add both up",
                t->id, own ? own : "", rel, (int)(node.n < 200 ? node.n : 200),
                node.p);
}

/* The track of a match that can get the directory rel; NULL: none.  Two
 * directories of one hierarchy with the same id, such as those of two slurmd in
 * containers of one host, are two tracks, the second with the name of its
 * container or slice as the node's. The key is that of the result. */
static struct bj_track *track_for(struct bj_hier_scan *f,
                                  struct bj_path_match *m, const char *rel,
                                  char *key, size_t cap, bool again)
{
    enum { TRIES = 4 };
    struct bj_core *core = f->core;
    struct bj_track *t = NULL, *first = NULL;
    const unsigned version = core->hiers.v[f->hier].version;
    for (int i = 0; i < TRIES; i++) {
        bj_track_key(m, rel, key, cap);
        t = scan_known(core, m, key);
        if (!t || m->f[BJ_ID_JOBID].n == 0 || !is_elsewhere(t, f->hier, rel))
            break;
        first = t;
        m->f[BJ_ID_NODE] = first_difference(rel, t->unit.rel[version - 1]);
    }
    if (first && !t && !again)
        note_conflict(core, first, rel, m->f[BJ_ID_NODE]);
    return t;
}

static void *appeared(void *ctx, const char *rel, bool again)
{
    struct bj_hier_scan *f = ctx;
    struct bj_core *core = f->core;
    struct bj_path_match m;
    char key[1024];
    const unsigned version = core->hiers.v[f->hier].version;
    const unsigned kind = bj_layouts_job(core->layouts, version, rel, &m);
    if (!(kind & BJ_PATH_HIT))
        return NULL;
    struct bj_track *t = track_for(f, &m, rel, key, sizeof(key), again);
    bool made = !t;
    if (made && !(t = scan_start(core, &m, key, rel, again)))
        return NULL;
    int r = bj_unit_place(&t->unit, &core->reader, f->hier, rel);
    if (made && r < 0) { /* gone already */
        bj_tracks_remove(&core->tracks, t);
        bj_track_free(t);
        core->tracks.live--;
        return NULL;
    }
    t->life.trees++;
    t->life.nests |= (kind & BJ_PATH_INNER) != 0;
    if (made)
        bj_track_place(t, core->now_usec);
    else
        bj_identity_learn(t, &m);
    find_outer(core, t, version);
    return t;
}

/* A directory without jobs is watched for new ones.  Those of jobs are watched
 * by their jobs (core/watches.c). */
static void reads(void *ctx, const char *path)
{
    const struct bj_hier_scan *f = ctx;
    const struct bj_core *core = f->core;
    const struct bj_hier *hier = &core->hiers.v[f->hier];
    const char *rel = path + strlen(hier->path);
    rel += *rel == '/';
    for (size_t i = 0; core->watches && *rel && i < core->tracks.n; i++) {
        const struct bj_track *t = core->tracks.v[i];
        const char *own = t->unit.rel[hier->version - 1];
        if (t->life.nests && !t->life.outer && own &&
            (strcmp(rel, own) == 0 || is_below(rel, own)))
            return;
    }
    bj_watches_parent(core->watches, path);
}

static void lost(void *ctx, void *cookie)
{
    struct bj_hier_scan *f = ctx;
    struct bj_track *t = cookie;
    t->life.trees--;
    t->life.lost = true;
    bj_unit_lose(&t->unit, &f->core->reader, f->hier);
}

static void add_trees(struct bj_core *core)
{
    for (unsigned h = 0; h < core->hiers.n; h++) {
        struct bj_hier_scan *f = &core->scan[h];
        if (f->tree)
            continue;
        *f = (struct bj_hier_scan){.core = core, .hier = h};
        const struct bj_tree_ops ops = {f, classify, appeared, lost, reads};
        if (bj_tree_new(core->hiers.v[h].path, &ops, &core->pool, &f->tree) < 0)
            core->scan_usec = core->now_usec; /* again with the next pass */
    }
}

/* Whether to read directories that seem unchanged: a directory has gone and may
 * exist again under its name, or the last full read was a minute ago.  The
 * kernel's directories only show the number of their entries. */
static bool force(struct bj_core *core, bool full)
{
    enum { MINUTE = 60 * 1000000 };
    uint64_t pace = core->conf->slow_usec;
    if (!full && !core->rescan && core->now_usec < core->reread_usec)
        return false;
    core->reread_usec = core->now_usec + (pace > MINUTE ? pace : MINUTE);
    return true;
}

/* Search for hierarchies.  A root that cannot be read, or has no hierarchy, is
 * a fault. */
static void find_hiers(struct bj_core *core)
{
    const char *root = core->conf->cgroupfs;
    core->scan_usec = core->now_usec + core->conf->slow_usec;
    core->hiers_err = (struct bj_err){0};
    if (bj_hiers_find(&core->hiers, root, &core->hiers_err) >= 0 &&
        core->hiers.n == 0)
        bj_err_set(&core->hiers_err, -ENOENT,
                   "path.cgroupfs: no cgroup hierarchy in %s", root);
    if (core->hiers_err.code == -ENOMEM)
        core->scan_usec = core->now_usec;
    add_trees(core);
}

void bj_core_scan(struct bj_core *core, bool full)
{
    uint64_t begun = bj_clock_boot_usec();
    bool forced = force(core, full);
    core->rescan = false;
    count_live(&core->tracks);
    if (forced || core->now_usec >= core->scan_usec || core->hiers.n == 0)
        find_hiers(core);
    struct bj_err err = core->hiers_err;
    uint64_t faults = err.code != 0;
    for (unsigned h = 0; h < core->hiers.n; h++) {
        struct bj_tree *tree = core->scan[h].tree;
        int r = tree ? bj_tree_scan(tree, forced) : -ENOMEM;
        if (r < 0) {
            faults++;
            bj_err_set(&err, r, "read %s", core->hiers.v[h].path);
        }
    }
    bj_core_run_done(core, BJ_RUN_FIND, begun, faults, &err);
}

void bj_core_mark_stale(struct bj_core *core, const char *path)
{
    for (unsigned h = 0; h < core->hiers.n; h++) {
        size_t n = strlen(core->hiers.v[h].path);
        if (core->scan[h].tree &&
            strncmp(path, core->hiers.v[h].path, n) == 0 &&
            (path[n] == '/' || path[n] == '\0'))
            bj_tree_mark_stale(core->scan[h].tree, path + n + (path[n] == '/'));
    }
}

void bj_core_scan_free(struct bj_core *core)
{
    for (unsigned h = 0; h < BJ_HIERS; h++)
        bj_tree_free(core->scan[h].tree, false);
    bj_hiers_free(&core->hiers);
}

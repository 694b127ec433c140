/* Scanning for jobs: one tree of directories for each hierarchy, merged into
 * tracks. */
#include "core/explain.h"
#include "core/internal.h"

#include <stdlib.h>

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
static struct bj_track *known(struct bj_core *core,
                              const struct bj_path_match *m, const char *key)
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

static struct bj_track *start(struct bj_core *core,
                              const struct bj_path_match *m, const char *key,
                              const char *rel, bool again)
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

static void *appeared(void *ctx, const char *rel, bool again)
{
    struct bj_hier_scan *f = ctx;
    struct bj_core *core = f->core;
    struct bj_path_match m;
    char key[1024];
    if (bj_layouts_job(core->layouts, core->hiers.v[f->hier].version, rel,
                       &m) != BJ_PATH_HIT)
        return NULL;
    bj_track_key(&m, rel, key, sizeof(key));
    struct bj_track *t = known(core, &m, key);
    bool made = !t;
    if (made && !(t = start(core, &m, key, rel, again)))
        return NULL;
    int r = bj_unit_place(&t->unit, &core->reader, f->hier, rel);
    if (made && r < 0) { /* gone already */
        bj_tracks_remove(&core->tracks, t);
        bj_track_free(t);
        core->tracks.live--;
        return NULL;
    }
    t->life.trees++;
    if (made)
        bj_track_place(t, core->now_usec);
    else
        bj_identity_learn(t, &m);
    return t;
}

static void reads(void *ctx, const char *path)
{
    const struct bj_hier_scan *f = ctx;
    bj_watches_parent(f->core->watches, path);
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
        bj_tree_new(core->hiers.v[h].path, &ops, &core->pool, &f->tree);
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

#include "core/explain.h"

#include "base/version.h"
#include "core/energy/energy.h"
#include "core/internal.h"

#include <stdio.h>
#include <stdlib.h>

enum { EXPLAINED = 8192 }; /* paths remembered; a power of two */

/* --- the start ------------------------------------------------------------ */

static void explain_put_name(struct bj_buf *out, struct bj_slice name,
                             bool *any)
{
    bj_buf_str(out, *any ? ", " : " ");
    bj_buf_slice(out, name);
    *any = true;
}

static void put_none(struct bj_buf *out, bool any)
{
    bj_buf_str(out, any ? "" : " none");
}

static void put_cgroups(const struct bj_core *core, struct bj_buf *out)
{
    bool any = false;
    bj_buf_str(out, "; cgroup:");
    for (unsigned version = BJ_CGROUP_V1; version <= BJ_CGROUP_V2; version++) {
        bool found = false;
        for (unsigned h = 0; h < core->hiers.n; h++)
            found |= core->hiers.v[h].version == version;
        if (found)
            explain_put_name(
                out, version == BJ_CGROUP_V1 ? BJ_SLICE("v1") : BJ_SLICE("v2"),
                &any);
    }
    put_none(out, any);
    bj_buf_printf(out, " at %s", core->conf->cgroupfs);
}

/* The batch systems of the known jobs. */
static void put_systems(const struct bj_core *core, struct bj_buf *out)
{
    const struct bj_tracks *ts = &core->tracks;
    bool any = false;
    bj_buf_str(out, "; jobs found:");
    for (size_t i = 0; i < ts->n; i++) {
        const struct bj_slice name = ts->v[i]->ident->f[BJ_ID_SYSTEM];
        bool first = name.n > 0;
        for (size_t k = 0; k < i && first; k++)
            first = !bj_slice_eq(name, ts->v[k]->ident->f[BJ_ID_SYSTEM]);
        if (first)
            explain_put_name(out, name, &any);
    }
    put_none(out, any);
}

static void put_collectors(const struct bj_core *core, struct bj_buf *out)
{
    bool any = false;
    bj_buf_str(out, "; collectors:");
    for (unsigned i = 0; i < BJ_COLLECTORS; i++)
        if (core->conf->collect[i])
            explain_put_name(out, bj_slice_str(bj_run_names[i]), &any);
    put_none(out, any);
}

void bj_explain_start(const struct bj_core *core)
{
    const char *spool = core->conf->energy.spool_dir;
    struct bj_buf out = {0};
    bj_buf_printf(&out, "batchjob %s (%s)", bj_version, bj_revision);
    put_cgroups(core, &out);
    put_systems(core, &out);
    put_collectors(core, &out);
    bj_buf_str(&out, "; meters:");
    put_none(&out, bj_energy_meters(core->energy, &out));
    bj_buf_printf(&out, "; final records: %s%s", core->spool ? spool : "off",
                  core->sender ? ", sent to record.url" : "");
    bj_buf_put(&out, "", 1);
    if (!out.failed)
        core->host.log(core->host.ctx, BJ_LOG_INFO, out.p);
    bj_buf_free(&out);
}

/* --- debug ---------------------------------------------------------------- */

/* FNV-1a, never 0. */
static uint64_t explain_hash(unsigned hier, const char *rel, unsigned kind)
{
    uint64_t h = 0xcbf29ce484222325u ^ hier ^ (uint64_t)kind << 8;
    for (; *rel; rel++)
        h = (h ^ (unsigned char)*rel) * 0x100000001b3u;
    return h | 1;
}

/* Remember the path; false if it is remembered already. */
static bool is_new(struct bj_core *core, uint64_t h)
{
    if (!core->explained)
        core->explained = calloc(EXPLAINED, sizeof(*core->explained));
    if (!core->explained)
        return false;
    uint64_t *slot = &core->explained[(h >> 1) & (EXPLAINED - 1)];
    bool same = *slot == h;
    *slot = h;
    return !same;
}

void bj_explain_path(struct bj_core *core, unsigned hier, const char *rel,
                     unsigned kind, const struct bj_path_match *m)
{
    char line[4600], job[300] = "";
    if (!core->host.debug || !is_new(core, explain_hash(hier, rel, kind)))
        return;
    if (kind & BJ_PATH_HIT) {
        const struct bj_slice id =
            m->f[BJ_ID_JOBID].n > 0 ? m->f[BJ_ID_JOBID] : m->f[BJ_ID_SLUID];
        snprintf(job, sizeof(job), "taken for job %.*s of %.*s",
                 (int)(id.n < 200 ? id.n : 200), id.n > 0 ? id.p : "",
                 (int)m->f[BJ_ID_SYSTEM].n, m->f[BJ_ID_SYSTEM].p);
    }
    snprintf(
        line, sizeof(line), "cgroup %s/%s: %s", core->hiers.v[hier].path, rel,
        kind & BJ_PATH_HIT     ? job
        : kind & BJ_PATH_INNER ? "no job itself, searched for jobs below"
                               : "no job and not searched, the path has no "
                                 "known layout");
    core->host.log(core->host.ctx, BJ_LOG_DEBUG, line);
}

void bj_explain_job(const struct bj_track *t, const char *what)
{
    char line[700];
    const struct bj_slice system = t->ident->f[BJ_ID_SYSTEM];
    if (!t->core->host.debug)
        return;
    snprintf(line, sizeof(line), "job %.300s%s%.*s: %s", t->id,
             system.n > 0 ? " of " : "", (int)(system.n < 64 ? system.n : 64),
             system.n > 0 ? system.p : "", what);
    t->core->host.log(t->core->host.ctx, BJ_LOG_DEBUG, line);
}

void bj_explain_free(struct bj_core *core)
{
    free(core->explained);
}

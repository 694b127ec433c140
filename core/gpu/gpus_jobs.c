/* The claims of jobs: read in a thread, several times while a job is young. */
#include "base/grow.h"
#include "base/text.h"
#include "core/gpu/gpus_impl.h"
#include "core/internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

enum { SECOND = 1000000, TRIES = 8 };

static struct bj_gpu_job *job_of(const struct bj_gpus *g,
                                 const struct bj_track *t)
{
    for (size_t i = 0; i < g->njobs; i++)
        if (g->job[i]->track == t)
            return g->job[i];
    return NULL;
}

static struct bj_gpu_job *add_job(struct bj_gpus *g, struct bj_track *t)
{
    if (g->njobs == BJ_GPU_JOBS_MAX ||
        !BJ_GROW(g->job, g->njobs + 1, g->job_cap))
        return NULL;
    struct bj_gpu_job *j = calloc(1, sizeof(*j));
    if (!j)
        return NULL;
    j->id = ++g->job_ids;
    j->track = t;
    return g->job[g->njobs++] = j;
}

static void drop_job(struct bj_gpus *g, size_t i)
{
    bj_gpu_request_drop(g->lookup, g->job[i]->request);
    bj_gpu_request_drop(g->scheduler, g->job[i]->allot_request);
    free(g->job[i]);
    g->job[i] = g->job[--g->njobs];
}

void bj_gpus_jobs_free(struct bj_gpus *g)
{
    while (g->njobs > 0)
        drop_job(g, 0);
    free(g->job);
    free(g->notes);
    free(g->notes_before);
    free(g->read);
    free(g->hold);
    bj_gpu_lookup_free(g->lookup);
    bj_gpu_lookup_free(g->scheduler);
}

void bj_gpus_drop(struct bj_gpus *g, const struct bj_track *t)
{
    if (!g)
        return;
    for (size_t i = g->njobs; i-- > 0;)
        if (g->job[i]->track == t)
            drop_job(g, i);
    for (size_t i = g->nholds; i-- > 0;)
        if (g->hold[i].track == t)
            g->hold[i] = g->hold[--g->nholds];
}

/* --- claims ---------------------------------------------------------------*/

/* The path of devices.list of v1; we may not read other files of its
 * hierarchy. */
static const char *devices_path(const struct bj_track *t, char *buf, size_t cap)
{
    const struct bj_core *core = t->core;
    const char *rel = t->unit.rel[BJ_CGROUP_V1 - 1];
    for (unsigned h = 0; rel && h < core->hiers.n; h++) {
        const struct bj_hier *hier = &core->hiers.v[h];
        if (hier->version != BJ_CGROUP_V1 ||
            !(hier->controllers & 1u << BJ_CTL_DEVICES))
            continue;
        int n = snprintf(buf, cap, "%s/%s/devices.list", hier->path, rel);
        return n > 0 && (size_t)n < cap ? buf : NULL;
    }
    return NULL;
}

size_t bj_gpus_dirs(const struct bj_track *t, char (*paths)[BJ_GPU_PATH],
                    size_t max)
{
    const struct bj_core *core = t->core;
    size_t n = 0;
    for (unsigned h = 0; h < core->hiers.n && n < max; h++)
        if ((t->unit.in_hiers & 1u << h) &&
            bj_unit_path(&t->unit, &core->reader, h, "", paths[n],
                         BJ_GPU_PATH) == 0)
            n++;
    return n;
}

static void submit(struct bj_gpus *g, struct bj_gpu_job *j)
{
    const struct bj_track *t = j->track;
    const struct bj_core *core = t->core;
    char paths[BJ_GPU_DIRS][BJ_GPU_PATH], devices[BJ_GPU_PATH];
    struct bj_gpu_query q = {.system = t->ident->f[BJ_ID_SYSTEM],
                             .jobid = t->ident->f[BJ_ID_JOBID]};
    size_t n = bj_gpus_dirs(t, paths, BJ_GPU_DIRS);
    for (size_t i = 0; i < n; i++)
        q.dirs[i] = paths[i];
    q.devices = devices_path(t, devices, sizeof(devices));
    j->request = bj_gpu_lookup_submit(g->lookup, &q);
    j->request_usec = core->now_usec + ((uint64_t)SECOND << j->requests);
    j->requests++;
}

/* A read of one of its processes may block: try once more, later. */
static void last_try(struct bj_gpu_job *j)
{
    if (j->requests < TRIES)
        j->requests = TRIES - 1;
    j->request_usec = j->track->core->now_usec + ((uint64_t)SECOND << TRIES);
}

/* Its claim has changed: what it held by an earlier one says nothing. */
static void resolve_again(struct bj_gpus *g, struct bj_gpu_job *j)
{
    j->claim_named = (struct bj_gpu_named){.kinds = 0};
    for (size_t i = 0; j->claim.environ && i < g->nholds; i++)
        if (g->hold[i].track == j->track)
            g->hold[i].saved &= ~(unsigned)BJ_GPU_ENVIRON;
}

static void read_claim(struct bj_gpus *g, struct bj_gpu_job *j)
{
    struct bj_gpu_claim claim;
    bool known = j->claim.environ && !j->claim.step;
    if (j->request && bj_gpu_request_result(g->lookup, j->request, &claim)) {
        bj_gpu_request_drop(g->lookup, j->request);
        j->request = NULL;
        /* Keep the claim of a step that has ended since. */
        if (claim.environ && strcmp(claim.text, j->claim.text) != 0)
            resolve_again(g, j);
        if (claim.environ || !j->claim.environ)
            j->claim = claim;
        if (claim.failed)
            last_try(j);
    } else if (!j->request && !known && j->requests < TRIES &&
               j->track->core->now_usec >= j->request_usec) {
        submit(g, j);
    }
}

/* Query once; again only after a failed query. */
static void query_scheduler(struct bj_gpus *g, struct bj_gpu_job *j)
{
    enum { SCHEDULER_TRIES = 3 };
    const struct bj_ident *id = j->track->ident;
    const struct bj_gpu_query q = {.system = id->f[BJ_ID_SYSTEM],
                                   .jobid = id->f[BJ_ID_JOBID],
                                   .node = id->f[BJ_ID_NODE]};
    uint64_t now = j->track->core->now_usec;
    if (!g->scheduler || !bj_gpu_allot_can(q.system, q.jobid))
        return;
    if (j->allot_request &&
        bj_gpu_request_result(g->scheduler, j->allot_request, &j->allot)) {
        bj_gpu_request_drop(g->scheduler, j->allot_request);
        j->allot_request = NULL;
    } else if (!j->allot_request && now >= j->allot_usec &&
               (j->allot_requests == 0 ||
                (j->allot.failed && j->allot_requests < SCHEDULER_TRIES))) {
        j->allot_request = bj_gpu_lookup_submit(g->scheduler, &q);
        j->allot_usec = now + 60 * (uint64_t)SECOND;
        j->allot_requests++;
    }
}

static bool same_note(const struct bj_gpu_note *a, const struct bj_gpu_note *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->jobid, b->jobid) == 0;
}

/* Notes that are still there keep their devices. */
static void take_notes(struct bj_gpus *g)
{
    static const struct bj_gpu_named none;
    if (!g->read)
        g->read = calloc(BJ_GPU_NOTES_MAX, sizeof(*g->read));
    if (!g->notes)
        g->notes = calloc(BJ_GPU_NOTES_MAX, sizeof(*g->notes));
    if (!g->notes_before)
        g->notes_before = calloc(BJ_GPU_NOTES_MAX, sizeof(*g->notes_before));
    if (!g->read || !g->notes || !g->notes_before)
        return;
    struct bj_gpu_noted *before = g->notes;
    size_t n = bj_gpu_lookup_notes(g->lookup, g->read);
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < g->nnotes && !same_note(&before[k].note, &g->read[i]))
            k++;
        g->notes_before[i].note = g->read[i];
        g->notes_before[i].named = k < g->nnotes ? before[k].named : none;
    }
    g->notes = g->notes_before;
    g->notes_before = before;
    g->nnotes = n;
}

static bool note_of(const struct bj_gpu_noted *n, const struct bj_gpu_job *j)
{
    return bj_slice_eq(bj_slice_str(n->note.jobid),
                       j->track->ident->f[BJ_ID_JOBID]);
}

/* The numbers that the prolog's file of the job has.  A list that was cut, as
 * it is longer than a label, is not used. */
static void take_file(struct bj_gpu_job *j)
{
    const struct bj_slice list = j->track->ident->f[BJ_ID_GPUS];
    if (list.n == 0 || list.n >= BJ_LABEL_MAX ||
        bj_slice_eq(list, bj_slice_str(j->file.text)))
        return;
    j->file = (struct bj_gpu_claim){.environ = true};
    memcpy(j->file.text, list.p, list.n);
    j->file_named = (struct bj_gpu_named){.kinds = 0};
}

void bj_gpus_find_claims(struct bj_gpus *g, struct bj_core *core)
{
    if (g->n == 0)
        return;
    take_notes(g);
    for (size_t k = 0; k < core->tracks.n; k++) {
        struct bj_track *t = core->tracks.v[k];
        if (!bj_track_live(t) || !t->life.born || t->life.replaced ||
            t->ident->f[BJ_ID_JOBID].n == 0)
            continue;
        struct bj_gpu_job *j = job_of(g, t);
        if (!j && !(j = add_job(g, t)))
            continue;
        read_claim(g, j);
        query_scheduler(g, j);
        take_file(j);
        j->noted = false;
        for (size_t i = 0; i < g->nnotes && !j->noted; i++)
            j->noted = note_of(&g->notes[i], j);
    }
}

bool bj_gpus_waits(const struct bj_gpus *g)
{
    for (size_t i = 0; i < g->njobs; i++)
        if (g->job[i]->request && g->job[i]->requests == 1 &&
            bj_track_live(g->job[i]->track))
            return true;
    return false;
}

/* --- evidence -------------------------------------------------------------*/

/* UUIDs are compared each time, since a beginning may name an instance that
 * comes later. */
unsigned bj_gpus_evidence(const struct bj_gpus *g, const struct bj_gpu_job *j,
                          size_t dev)
{
    const struct bj_gpu_dev *d = &g->dev[dev];
    const struct bj_gpu *whole = d->parent >= 0 ? &g->dev[d->parent].now : NULL;
    unsigned e = 0;
    if (j->claim.by_uuid
            ? bj_gpu_claim_names(&j->claim, &d->now, whole, g->order)
            : bj_gpus_names(&j->claim_named, dev))
        e |= BJ_GPU_ENVIRON;
    if (bj_gpus_names(&j->allot_named, dev))
        e |= BJ_GPU_ALLOTTED;
    if (bj_gpu_claim_opens(&j->claim, &d->now))
        e |= BJ_GPU_OPENS;
    if (bj_gpus_names(&j->file_named, dev))
        e |= BJ_GPU_NOTED;
    for (size_t i = 0; j->noted && i < g->nnotes; i++)
        if (note_of(&g->notes[i], j) && bj_gpus_names(&g->notes[i].named, dev))
            e |= BJ_GPU_NOTED;
    return e;
}

bool bj_gpus_allotted(const struct bj_gpu_job *j)
{
    return j->allot.environ && j->allot_named.usable;
}

bool bj_gpus_known(const struct bj_gpu_job *j)
{
    return j->noted || j->file_named.usable || j->claim.devices ||
           j->claim.environ || bj_gpus_allotted(j);
}

/* Is the path of a cgroup that of the job, or below it? Namespaces change the
 * beginning of the path, so it is ignored. */
static bool path_has(struct bj_slice path, const char *rel)
{
    size_t n = rel ? strlen(rel) : 0;
    for (size_t at = 0; n > 0 && at + n < path.n; at++)
        if (path.p[at] == '/' && memcmp(path.p + at + 1, rel, n) == 0 &&
            (at + 1 + n == path.n || path.p[at + 1 + n] == '/'))
            return true;
    return false;
}

struct bj_track *bj_gpus_job_of(const struct bj_gpus *g,
                                const struct bj_core *core, uint32_t pid)
{
    char name[512], buf[8192];
    struct bj_slice text, line, number, controllers;
    snprintf(name, sizeof(name), "%.400s/%u/cgroup",
             g->conf->procfs ? g->conf->procfs : "/proc", (unsigned)pid);
    if (bj_file_read(AT_FDCWD, name, buf, sizeof(buf), &text, NULL) < 0)
        return NULL;
    while (bj_slice_line(&text, &line)) {
        if (!bj_slice_field(&line, ':', &number) ||
            !bj_slice_field(&line, ':', &controllers))
            continue;
        int version =
            bj_slice_eq(number, BJ_SLICE("0")) ? BJ_CGROUP_V2 : BJ_CGROUP_V1;
        for (size_t k = 0; k < core->tracks.n; k++)
            if (bj_track_live(core->tracks.v[k]) &&
                !core->tracks.v[k]->life.outer &&
                path_has(line, core->tracks.v[k]->unit.rel[version - 1]))
                return core->tracks.v[k];
    }
    return NULL;
}

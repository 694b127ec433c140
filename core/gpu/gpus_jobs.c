/* Jobs on accelerators: their claims, which a thread reads several times while
 * a job is young; the numbers of devices; files for dcgm-exporter. */
#include "base/array.h"
#include "base/text.h"
#include "core/gpu/gpus_impl.h"
#include "core/gpu/lookup.h"
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

static struct bj_gpu_job *gpus_jobs_add_job(struct bj_gpus *g,
                                            struct bj_track *t)
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
static void gpus_jobs_take_file(struct bj_gpu_job *j)
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
        if (!j && !(j = gpus_jobs_add_job(g, t)))
            continue;
        read_claim(g, j);
        query_scheduler(g, j);
        gpus_jobs_take_file(j);
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

/* --- numbers of devices ---------------------------------------------------*/

/* Numbers of devices, and the claims that use them.
 *
 * A driver numbers the devices that it lists.  When one leaves the list, the
 * numbers of the others change, but not those that the batch system gave to
 * jobs.  So devices keep their numbers, and a claim that was resolved to
 * devices keeps these. */

static struct bj_gpu_dev *gpus_jobs_find(struct bj_gpus *g, const char *uuid)
{
    for (size_t i = 0; i < g->n; i++)
        if (strcmp(g->dev[i].now.uuid, uuid) == 0)
            return &g->dev[i];
    return NULL;
}

bool bj_gpus_lists(const struct bj_gpu_set *set, const char *uuid)
{
    for (size_t i = 0; i < set->n; i++)
        if (strcmp(set->v[i].uuid, uuid) == 0)
            return true;
    return false;
}

static void log_missing(struct bj_gpus *g, const struct bj_gpu_dev *d)
{
    bj_host_log(
        &g->host, BJ_LOG_WARN, NULL,
        "GPU %s is no longer listed by its driver; the others keep their "
        "numbers",
        d->now.uuid);
}

/* Whether the set has a device without a number, or two with the same. */
static bool has_new(struct bj_gpus *g, const struct bj_gpu_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        if (set->v[i].parent >= 0)
            continue;
        const struct bj_gpu_dev *d = gpus_jobs_find(g, set->v[i].uuid);
        if (!d || d->number == BJ_ABSENT)
            return true;
        for (size_t k = 0; k < i; k++) {
            const struct bj_gpu_dev *other = gpus_jobs_find(g, set->v[k].uuid);
            if (set->v[k].parent < 0 && other && other->number == d->number)
                return true;
        }
    }
    return false;
}

void bj_gpus_keep_numbers(struct bj_gpus *g, struct bj_gpu_set *set,
                          unsigned kind)
{
    bool missing = false, fresh = has_new(g, set);
    for (size_t i = 0; i < g->n; i++) {
        struct bj_gpu_dev *d = &g->dev[i];
        if (d->kind != kind || d->number == BJ_ABSENT ||
            bj_gpus_lists(set, d->now.uuid))
            continue;
        missing = true;
        if (d->present)
            log_missing(g, d);
        if (fresh)
            d->number = BJ_ABSENT;
    }
    for (size_t i = 0; i < set->n; i++) {
        struct bj_gpu *v = &set->v[i];
        struct bj_gpu_dev *d = gpus_jobs_find(g, v->uuid);
        if (missing && !fresh && v->parent < 0 && d)
            v->index = d->number;
        else if (v->parent >= 0)
            v->index = set->v[v->parent].index;
    }
}

void bj_gpus_renumber(struct bj_gpus *g)
{
    for (unsigned k = 0; k < BJ_GPU_OVER; k++) {
        if (!g->set[k])
            continue;
        bj_gpus_keep_numbers(g, g->set[k], k);
        for (size_t i = 0; i < g->set[k]->n; i++) {
            struct bj_gpu_dev *d = gpus_jobs_find(g, g->set[k]->v[i].uuid);
            if (!d)
                continue;
            d->now.index = g->set[k]->v[i].index;
            d->number = d->now.parent < 0 ? d->now.index : BJ_ABSENT;
        }
    }
    for (size_t i = 0; i < g->njobs; i++)
        g->job[i]->claim_named = g->job[i]->allot_named =
            g->job[i]->file_named = (struct bj_gpu_named){.kinds = 0};
}

/* --- claims ---------------------------------------------------------------*/

bool bj_gpus_names(const struct bj_gpu_named *named, size_t dev)
{
    return named->dev[dev / 64] >> dev % 64 & 1;
}

static void name(struct bj_gpu_named *named, size_t dev)
{
    named->dev[dev / 64] |= UINT64_C(1) << dev % 64;
}

/* Whether numbers can mean the device: it is there, or its number is kept.
 * Places are not kept. */
static bool has_number(const struct bj_gpus *g, size_t dev, unsigned kind)
{
    const struct bj_gpu_dev *d = &g->dev[dev];
    if (d->kind != kind)
        return false;
    return d->present ||
           (d->number != BJ_ABSENT && g->order != BJ_GPU_BY_PLACE);
}

static const struct bj_gpu *whole_of(const struct bj_gpus *g, size_t dev)
{
    int parent = g->dev[dev].parent;
    return parent >= 0 ? &g->dev[parent].now : NULL;
}

/* Whether places among devices and instances are those that the batch system
 * knows: no device is missing. */
static bool places_known(const struct bj_gpus *g, unsigned kind)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->dev[i].kind == kind && !g->dev[i].present &&
            g->dev[i].number != BJ_ABSENT)
            return false;
    return true;
}

/* Take the devices that the job held by that evidence before a restart. */
static bool take_saved(const struct bj_gpus *g, const struct bj_track *t,
                       unsigned kind, unsigned evidence,
                       struct bj_gpu_named *named)
{
    bool any = false;
    for (size_t i = 0; i < g->nholds; i++) {
        const struct bj_gpu_hold *h = &g->hold[i];
        if (h->track != t || !(h->saved & evidence) ||
            g->dev[h->dev].kind != kind)
            continue;
        name(named, h->dev);
        any = true;
    }
    return any;
}

static void resolve(const struct bj_gpus *g, const struct bj_gpu_job *j,
                    const struct bj_gpu_claim *c, unsigned kind, bool usable,
                    unsigned evidence, struct bj_gpu_named *named)
{
    if (!c->environ || named->kinds & 1u << kind)
        return;
    named->kinds |= 1u << kind;
    if (!usable)
        return;
    named->usable = true;
    if (c->by_uuid || take_saved(g, j->track, kind, evidence, named) ||
        (g->order == BJ_GPU_BY_PLACE && !places_known(g, kind)))
        return;
    for (size_t i = 0; i < g->n; i++)
        if (has_number(g, i, kind) &&
            bj_gpu_claim_names(c, &g->dev[i].now, whole_of(g, i), g->order))
            name(named, i);
}

static void resolve_note(const struct bj_gpus *g, struct bj_gpu_noted *n,
                         unsigned kind)
{
    if (n->named.kinds & 1u << kind)
        return;
    n->named.kinds |= 1u << kind;
    if (g->order == BJ_GPU_BY_PLACE && !places_known(g, kind))
        return;
    for (size_t i = 0; i < g->n; i++)
        if (has_number(g, i, kind) &&
            bj_gpu_note_is(n->note.name, &g->dev[i].now, g->order))
            name(&n->named, i);
}

/* Whether the claim names a device that its driver does not list, or names only
 * devices that are not known.  Words like "none" name nothing. */
static bool unresolved(const struct bj_gpus *g, const struct bj_gpu_claim *c,
                       const struct bj_gpu_named *named)
{
    bool any = false;
    bool number = *c->text >= '0' && *c->text <= '9';
    if (!c->environ || named->kinds == 0 || !(number || c->by_uuid) ||
        (c->cudas && c->devices))
        return false;
    for (size_t i = 0; i < g->n; i++) {
        const struct bj_gpu_dev *d = &g->dev[i];
        bool it = c->by_uuid
                      ? bj_gpu_claim_names(c, &d->now, whole_of(g, i), g->order)
                      : bj_gpus_names(named, i);
        if (it && !d->present)
            return true;
        any |= it;
    }
    return !any;
}

/* Count and log a job once if a GPU that it names cannot be found. */
static void gpus_jobs_check(struct bj_gpus *g, struct bj_gpu_job *j)
{
    if (j->unresolved || !(unresolved(g, &j->claim, &j->claim_named) ||
                           unresolved(g, &j->allot, &j->allot_named) ||
                           unresolved(g, &j->file, &j->file_named)))
        return;
    j->unresolved = true;
    g->conflicts[BJ_GPU_UNRESOLVED]++;
    struct bj_slice id = j->track->ident->f[BJ_ID_JOBID];
    bj_host_log(&g->host, BJ_LOG_WARN, NULL,
                "job %.*s has a GPU that cannot be found among those that the "
                "drivers list",
                (int)id.n, id.p);
}

/* Whether the scheduler's numbers are usable for the devices of a set: if some
 * are partitioned, its numbers are places among instances. */
static bool allots(const struct bj_gpus *g, const struct bj_gpu_set *set)
{
    bool split = false;
    for (size_t i = 0; i < set->n; i++)
        split |= set->v[i].split;
    return !split || g->order == BJ_GPU_BY_PLACE;
}

void bj_gpus_resolve(struct bj_gpus *g, unsigned kind)
{
    bool usable = allots(g, g->set[kind]);
    for (size_t i = 0; i < g->njobs; i++) {
        struct bj_gpu_job *j = g->job[i];
        if (!bj_track_live(j->track))
            continue;
        resolve(g, j, &j->claim, kind, true, BJ_GPU_ENVIRON, &j->claim_named);
        resolve(g, j, &j->allot, kind, usable, BJ_GPU_ALLOTTED,
                &j->allot_named);
        resolve(g, j, &j->file, kind, usable, BJ_GPU_NOTED, &j->file_named);
        gpus_jobs_check(g, j);
    }
    for (size_t i = 0; i < g->nnotes; i++)
        resolve_note(g, &g->notes[i], kind);
}

/* --- files with the jobs on each device, for dcgm-exporter ----------------*/

enum { NVML };

/* Whether the device has a file. Several compute instances share that of their
 * GPU instance; instances without a known number have none. */
static bool is_named(const struct bj_gpu_dev *d)
{
    return d->present && d->kind == NVML && d->now.index != BJ_ABSENT &&
           (d->now.parent < 0 || d->now.gi != UINT32_MAX);
}

static void gpus_jobs_name_of(const struct bj_gpu_dev *d, char name[32])
{
    if (d->now.parent < 0)
        snprintf(name, 32, "%llu", (unsigned long long)d->now.index);
    else
        snprintf(name, 32, "%llu.%u", (unsigned long long)d->now.index,
                 d->now.gi);
}

static void put_holders(const struct bj_gpus *g, size_t dev, const char *name,
                        struct bj_buf *map)
{
    for (size_t i = 0; i < g->nholds; i++) {
        if (!bj_gpus_holds(&g->hold[i], dev))
            continue;
        struct bj_slice id = g->hold[i].track->ident->f[BJ_ID_JOBID];
        if (bj_gpu_jobmap_fits(id))
            bj_gpu_jobmap_put(map, name, id);
    }
}

static bool has_name(const struct bj_gpu_dev *d, const char *name)
{
    char own[32];
    gpus_jobs_name_of(d, own);
    return is_named(d) && strcmp(own, name) == 0;
}

/* Whether this is the first device with that name: a name is written once, for
 * all devices with it. */
static bool is_first(const struct bj_gpus *g, size_t dev, const char *name)
{
    for (size_t i = 0; i < dev; i++)
        if (has_name(&g->dev[i], name))
            return false;
    return true;
}

static void put_device(const struct bj_gpus *g, size_t dev, struct bj_buf *map)
{
    char name[32];
    gpus_jobs_name_of(&g->dev[dev], name);
    if (!is_named(&g->dev[dev]) || !is_first(g, dev, name))
        return;
    for (size_t i = dev; i < g->n; i++)
        if (has_name(&g->dev[i], name))
            put_holders(g, i, name, map);
}

void bj_gpus_write_map(struct bj_gpus *g)
{
    struct bj_buf map = {0}, copy = {0};
    /* While claims are missing, the files of an earlier process may be more
     * complete. */
    if (bj_gpus_waits(g))
        return;
    for (size_t i = 0; i < g->n; i++)
        put_device(g, i, &map);
    bj_buf_put(&map, "", 1);
    bool same = map.len == g->map.len && memcmp(map.p, g->map.p, map.len) == 0;
    if (!same && !map.failed) {
        bj_buf_put(&copy, map.p, map.len - 1);
        if (!copy.failed) {
            bj_gpu_lookup_map(g->lookup, &copy);
            bj_buf_free(&g->map);
            g->map = map;
            map = (struct bj_buf){0};
        }
    }
    bj_buf_free(&copy);
    bj_buf_free(&map);
}

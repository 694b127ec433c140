/* Numbers of devices, and the claims that use them.
 *
 * A driver numbers the devices that it lists.  When one leaves the list, the
 * numbers of the others change, but not those that the batch system gave to
 * jobs.  So devices keep their numbers, and a claim that was resolved to
 * devices keeps these. */
#include "core/gpu/gpus_impl.h"
#include "core/internal.h"

#include <stdio.h>

static struct bj_gpu_dev *find(struct bj_gpus *g, const char *uuid)
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
    char line[BJ_GPU_TEXT + 120];
    snprintf(line, sizeof(line),
             "GPU %s is no longer listed by its driver; the others keep their "
             "numbers",
             d->now.uuid);
    g->host.log(g->host.ctx, BJ_LOG_WARN, line);
}

/* Whether the set has a device without a number, or two with the same. */
static bool has_new(struct bj_gpus *g, const struct bj_gpu_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        if (set->v[i].parent >= 0)
            continue;
        const struct bj_gpu_dev *d = find(g, set->v[i].uuid);
        if (!d || d->number == BJ_ABSENT)
            return true;
        for (size_t k = 0; k < i; k++) {
            const struct bj_gpu_dev *other = find(g, set->v[k].uuid);
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
        struct bj_gpu_dev *d = find(g, v->uuid);
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
            struct bj_gpu_dev *d = find(g, g->set[k]->v[i].uuid);
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
static void check(struct bj_gpus *g, struct bj_gpu_job *j)
{
    char line[200];
    if (j->unresolved || !(unresolved(g, &j->claim, &j->claim_named) ||
                           unresolved(g, &j->allot, &j->allot_named) ||
                           unresolved(g, &j->file, &j->file_named)))
        return;
    j->unresolved = true;
    g->conflicts[BJ_GPU_UNRESOLVED]++;
    struct bj_slice id = j->track->ident->f[BJ_ID_JOBID];
    snprintf(line, sizeof(line),
             "job %.*s has a GPU that cannot be found among those that the "
             "drivers list",
             (int)id.n, id.p);
    g->host.log(g->host.ctx, BJ_LOG_WARN, line);
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
        check(g, j);
    }
    for (size_t i = 0; i < g->nnotes; i++)
        resolve_note(g, &g->notes[i], kind);
}

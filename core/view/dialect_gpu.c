#include "core/view/dialect_walk.h"

#include "core/find/ident.h"

#include <inttypes.h>
#include <stdio.h>

static bool is(const struct bj_sub *a, const struct bj_sub *b)
{
    return bj_slice_eq(a->key[0], b->key[0]);
}

void bj_dialect_gpu(const struct bj_snap *snap, const struct bj_sub *part,
                    const struct bj_gpu_use **use, struct bj_slice *name,
                    struct bj_slice *model)
{
    const struct bj_gpu_use *gpu = snap->gpus.v;
    const struct bj_gpu_label *label = snap->gpu_models.v;
    bool instance = bj_slice_starts(part->key[0], BJ_SLICE("MIG-"));
    *use = NULL;
    *name = instance ? part->key[0] : part->key[1];
    *model = (struct bj_slice){0};
    for (size_t i = 0; i < snap->gpus.n && !*use; i++)
        if (is(&gpu[i].sub, part))
            *use = &gpu[i];
    for (size_t i = 0; i < snap->gpu_models.n && model->n == 0; i++)
        if (is(&label[i].sub, part))
            *model = label[i].sub.key[2];
}

/* How much of an accelerator a job holds; 0: nothing. */
static uint64_t share_of(const struct bj_job *job, const struct bj_sub *gpu)
{
    const struct bj_gpu_part *part = job->gpus.v;
    for (size_t i = 0; i < job->gpus.n; i++)
        if (is(&part[i].sub, gpu))
            return part[i].share_ppm == BJ_ABSENT ? 1 : part[i].share_ppm;
    return 0;
}

/* The job that holds most of an accelerator, or NULL. */
static const struct bj_job *holder(const struct bj_dialect_walk *w,
                                   const struct bj_sub *gpu)
{
    const struct bj_job *ret = NULL;
    uint64_t most = 0;
    for (size_t i = 0; i < w->room->n; i++) {
        const struct bj_job *job = w->room->v[i].job;
        uint64_t share = bj_dialect_runs(job) ? share_of(job, gpu) : 0;
        if (share <= most)
            continue;
        most = share;
        ret = job;
    }
    return ret;
}

/* A number that identifies a job or its owner; 0 without a job. */
static uint64_t number_of(const struct bj_job *job, int field)
{
    uint64_t ret = BJ_ABSENT;
    if (!job)
        return 0;
    bj_slice_u64(job->ident->f[field], &ret);
    return ret;
}

uint64_t bj_dialect_gpu_job(const struct bj_dialect_walk *w,
                            const struct bj_sub *gpu)
{
    return number_of(holder(w, gpu), BJ_ID_JOBID);
}

/* Whether an accelerator is an instance. */
static bool has_parent(const struct bj_snap *snap, const struct bj_sub *gpu)
{
    const struct bj_gpu_label *v = snap->gpu_parents.v;
    for (size_t i = 0; i < snap->gpu_parents.n; i++)
        if (is(&v[i].sub, gpu))
            return true;
    return false;
}

static bool is_divided(const struct bj_snap *snap, const struct bj_sub *gpu)
{
    const struct bj_gpu_label *v = snap->gpu_parents.v;
    for (size_t i = 0; i < snap->gpu_parents.n; i++)
        if (bj_slice_eq(v[i].sub.key[2], gpu->key[0]))
            return true;
    return false;
}

static struct bj_slice model_of(const struct bj_snap *snap,
                                const struct bj_sub *gpu)
{
    const struct bj_gpu_label *v = snap->gpu_models.v;
    for (size_t i = 0; i < snap->gpu_models.n; i++)
        if (is(&v[i].sub, gpu))
            return v[i].sub.key[2];
    return (struct bj_slice){0};
}

static struct bj_slice field_of(const struct bj_job *job, int field)
{
    return job ? job->ident->f[field] : BJ_SLICE("0");
}

static struct bj_slice number_text(uint64_t v, char to[24])
{
    int n = v == BJ_ABSENT ? 0 : snprintf(to, 24, "%" PRIu64, v);
    return (struct bj_slice){to, (size_t)n};
}

static int put_each(struct bj_dialect_walk *w, struct bj_slice labels,
                    const struct bj_gpu_use *gpu)
{
    const struct bj_dialect_row *row = w->row;
    const struct bj_job *job = holder(w, &gpu->sub);
    uint64_t v = row->of == BJ_ROW_GPU_EACH_JOB ? number_of(job, BJ_ID_JOBID)
                 : row->of == BJ_ROW_GPU_EACH_UID
                     ? number_of(job, BJ_ID_UID)
                     : bj_dialect_value(row, (const char *)gpu);
    if (v == BJ_ABSENT)
        return 0;
    char minor[24], instance[24];
    const struct bj_slice key[BJ_INFO_MAX] = {
        gpu->sub.key[1],
        number_text(gpu->minor, minor),
        gpu->sub.key[0],
        model_of(w->snap, &gpu->sub),
        field_of(job, BJ_ID_JOBID),
        field_of(job, BJ_ID_UID),
        number_text(gpu->instance, instance),
    };
    return bj_dialect_put(w, labels, key, v);
}

int bj_dialect_put_gpus(struct bj_dialect_walk *w, struct bj_slice labels)
{
    const struct bj_gpu_use *gpu = w->snap->gpus.v;
    const size_t all = w->snap->gpus.n;
    uint64_t devices = 0;
    int r = 0;
    for (size_t i = 0; i < all && r >= 0; i++) {
        devices += !has_parent(w->snap, &gpu[i].sub);
        if (w->row->of != BJ_ROW_GPU_COUNT && !is_divided(w->snap, &gpu[i].sub))
            r = put_each(w, labels, &gpu[i]);
    }
    if (w->row->of != BJ_ROW_GPU_COUNT || all == 0)
        return r;
    return bj_dialect_put(w, labels, NULL, devices);
}

#include "core/view/dialect_walk.h"

#include "core/find/ident.h"

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

uint64_t bj_dialect_gpu_job(const struct bj_dialect_walk *w,
                            const struct bj_sub *gpu)
{
    uint64_t most = 0, id = 0;
    for (size_t i = 0; i < w->room->n; i++) {
        const struct bj_job *job = w->room->v[i].job;
        uint64_t share = bj_dialect_runs(job) ? share_of(job, gpu) : 0;
        if (share <= most)
            continue;
        most = share;
        if (bj_slice_u64(job->ident->f[BJ_ID_JOBID], &id) < 0)
            id = BJ_ABSENT;
    }
    return id;
}

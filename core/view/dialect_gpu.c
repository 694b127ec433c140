#include "core/view/dialect_walk.h"

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

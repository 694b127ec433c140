#include "core/view/dialect_walk.h"

#include "core/find/ident.h"
#include "core/gpu/gpu.h"

#include <inttypes.h>
#include <stdio.h>

static bool same_key(const struct bj_sub *a, const struct bj_sub *b)
{
    return bj_slice_eq(a->key[0], b->key[0]);
}

const struct bj_gpu_use *bj_dialect_gpu(const struct bj_snap *snap,
                                        struct bj_slice uuid)
{
    const struct bj_gpu_use *gpu = snap->gpus.v;
    for (size_t i = 0; i < snap->gpus.n; i++)
        if (bj_slice_eq(gpu[i].sub.key[0], uuid))
            return &gpu[i];
    return NULL;
}

/* The job's share of a GPU; 0: none. */
static uint64_t share_of(const struct bj_job *job, const struct bj_sub *gpu)
{
    const struct bj_gpu_part *part = job->gpus.v;
    for (size_t i = 0; i < job->gpus.n; i++)
        if (same_key(&part[i].sub, gpu))
            return part[i].share_ppm == BJ_ABSENT ? 1 : part[i].share_ppm;
    return 0;
}

/* The job with the largest share of a GPU, or NULL. */
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

/* jobid or uid as a number; 0 without a job. */
static uint64_t gpu_number_of(const struct bj_job *job, int field)
{
    uint64_t ret = BJ_ABSENT;
    if (!job)
        return 0;
    bj_slice_u64(job->ident->f[field], &ret);
    return ret;
}

/* The label of a GPU in a list; empty: none. */
static struct bj_slice label_of(const struct bj_list *list,
                                const struct bj_sub *gpu)
{
    const struct bj_gpu_label *v = list->v;
    for (size_t i = 0; i < list->n; i++)
        if (same_key(&v[i].sub, gpu))
            return v[i].sub.key[2];
    return (struct bj_slice){0};
}

/* The GPU of an instance, else gpu itself; NULL: unknown. */
static const struct bj_gpu_use *card_of(const struct bj_snap *snap,
                                        const struct bj_gpu_use *gpu)
{
    struct bj_slice parent = label_of(&snap->gpu_parents, &gpu->sub);
    return parent.n > 0 ? bj_dialect_gpu(snap, parent) : gpu;
}

static bool is_instance(const struct bj_snap *snap, const struct bj_sub *gpu)
{
    return label_of(&snap->gpu_parents, gpu).n > 0;
}

static bool is_divided(const struct bj_snap *snap, const struct bj_sub *gpu)
{
    const struct bj_gpu_label *v = snap->gpu_parents.v;
    for (size_t i = 0; i < snap->gpu_parents.n; i++)
        if (bj_slice_eq(v[i].sub.key[2], gpu->key[0]))
            return true;
    return false;
}

static struct bj_slice field_of(const struct bj_job *job, int field)
{
    return job ? job->ident->f[field] : BJ_SLICE("");
}

static struct bj_slice number_text(uint64_t v, char to[24])
{
    int n = v == BJ_ABSENT ? 0 : snprintf(to, 24, "%" PRIu64, v);
    return (struct bj_slice){to, (size_t)n};
}

/* --- what jobs hold -------------------------------------------------------*/

void bj_dialect_gpu_keys(const struct bj_dialect_walk *w,
                         const struct bj_sub *part,
                         const struct bj_gpu_use *use,
                         char text[BJ_DIALECT_GPU_TEXT],
                         struct bj_slice key[BJ_INFO_MAX])
{
    const struct bj_dialect_row *row = w->row;
    const struct bj_slice *id = part->key;
    bool instance = bj_slice_starts(id[0], BJ_SLICE("MIG-"));
    enum { HOST = BJ_DIALECT_GPU_TEXT - 24 };
    size_t n = 0;
    if (row->info) {
        int host =
            snprintf(text + 24, HOST, "%.*s/gpu-%.*s", (int)w->env->host.n,
                     w->env->host.p, (int)id[1].n, id[1].p);
        key[n++] = id[1];
        key[n++] =
            (struct bj_slice){text + 24, host < HOST ? (size_t)host : HOST - 1};
        key[n++] = id[0];
        key[n++] = number_text(use ? use->instance : BJ_ABSENT, text);
        return;
    }
    if (row->key[0])
        key[n++] = instance ? id[0] : id[1];
    if (row->key[1])
        key[n++] = label_of(&w->snap->gpu_models, part);
    if (row->fixed[0])
        key[n++] = bj_slice_str(row->fixed[0]);
}

/* --- devices
 * ----------------------------------------------------------------*/

/* The labels of a GPU: those of all rows, fixed ones, and one of the row. */
struct labels {
    struct bj_slice key[BJ_INFO_MAX];
    size_t n;
    char minor[24], instance[24];
};

static void gpu_put_key(struct labels *l, struct bj_slice text)
{
    if (l->n < BJ_INFO_MAX)
        l->key[l->n++] = text;
}

static void make_labels(const struct bj_dialect_walk *w,
                        const struct bj_gpu_use *gpu, const struct bj_job *job,
                        struct labels *l)
{
    l->n = 0;
    gpu_put_key(l, gpu->sub.key[1]);
    gpu_put_key(l, number_text(gpu->minor, l->minor));
    gpu_put_key(l, gpu->sub.key[0]);
    gpu_put_key(l, label_of(&w->snap->gpu_models, &gpu->sub));
    if (w->row->of != BJ_ROW_GPU_CARDS) {
        gpu_put_key(l, field_of(job, BJ_ID_JOBID));
        gpu_put_key(l, field_of(job, BJ_ID_UID));
        gpu_put_key(l, number_text(gpu->instance, l->instance));
    }
    for (int i = 0; i < 2 && w->row->fixed[i]; i++)
        gpu_put_key(l, bj_slice_str(w->row->fixed[i]));
}

static int put_reasons(struct bj_dialect_walk *w, struct bj_slice labels,
                       const struct bj_gpu_use *card, struct labels *l)
{
    const struct bj_gpu_label *v = w->snap->gpu_reasons.v;
    char words[BJ_GPU_REASONS * 24];
    uint64_t mask = BJ_ABSENT;
    size_t n = 0;
    for (size_t i = 0; i < w->snap->gpu_reasons.n; i++) {
        if (!same_key(&v[i].sub, &card->sub))
            continue;
        mask = mask == BJ_ABSENT ? 0 : mask;
        for (unsigned bit = 0; v[i].value && bit < BJ_GPU_REASONS; bit++)
            if (bj_slice_eq(v[i].sub.key[2], bj_slice_str(bj_gpu_reasons[bit])))
                mask |= 1ull << bit;
    }
    if (mask == BJ_ABSENT)
        return 0;
    for (unsigned bit = 0; bit < BJ_GPU_REASONS; bit++) {
        const struct bj_slice key[BJ_SUB_KEYS] = {
            bj_slice_str(bj_gpu_reasons[bit])};
        const struct bj_slice word = bj_dialect_map_word(w->row, key);
        if (mask & 1ull << bit && n < sizeof(words))
            n += (size_t)snprintf(words + n, sizeof(words) - n, "%s%.*s",
                                  n > 0 ? "," : "", (int)word.n, word.p);
    }
    gpu_put_key(l, mask == 0 ? BJ_SLICE("none") : (struct bj_slice){words, n});
    return bj_dialect_put(w, labels, l->key, mask);
}

static int put_each(struct bj_dialect_walk *w, struct bj_slice labels,
                    const struct bj_gpu_use *gpu)
{
    const struct bj_dialect_row *row = w->row;
    const bool whole =
        row->of == BJ_ROW_GPU_EACH_CARD || row->of == BJ_ROW_GPU_EACH_REASON;
    const struct bj_gpu_use *from = whole ? card_of(w->snap, gpu) : gpu;
    const struct bj_job *job = holder(w, &gpu->sub);
    struct labels l;
    uint64_t v = BJ_ABSENT;
    if (!from)
        return 0;
    if (row->of == BJ_ROW_GPU_JOB) {
        v = gpu_number_of(job, BJ_ID_JOBID);
        return v == BJ_ABSENT ? 0 : bj_dialect_put(w, labels, gpu->sub.key, v);
    }
    make_labels(w, gpu, job, &l);
    if (row->of == BJ_ROW_GPU_EACH_REASON)
        return put_reasons(w, labels, from, &l);
    if (row->of == BJ_ROW_GPU_EACH_JOB)
        v = job ? gpu_number_of(job, BJ_ID_JOBID) : BJ_ABSENT;
    else if (row->of == BJ_ROW_GPU_EACH_UID)
        v = job ? gpu_number_of(job, BJ_ID_UID) : BJ_ABSENT;
    else
        v = bj_dialect_value(row, (const char *)from);
    return v == BJ_ABSENT ? 0 : bj_dialect_put(w, labels, l.key, v);
}

int bj_dialect_put_gpus(struct bj_dialect_walk *w, struct bj_slice labels)
{
    const struct bj_gpu_use *gpu = w->snap->gpus.v;
    const size_t all = w->snap->gpus.n;
    const enum bj_row_of of = w->row->of;
    uint64_t devices = 0;
    int r = 0;
    for (size_t i = 0; i < all && r >= 0; i++) {
        bool instance = is_instance(w->snap, &gpu[i].sub);
        devices += !instance;
        if (of == BJ_ROW_GPU_CARDS ? !instance
            : of == BJ_ROW_GPU_JOB ? !is_divided(w->snap, &gpu[i].sub)
                                   : of != BJ_ROW_GPU_COUNT)
            r = put_each(w, labels, &gpu[i]);
    }
    if (of != BJ_ROW_GPU_COUNT || all == 0)
        return r;
    return bj_dialect_put(w, labels, NULL, devices);
}

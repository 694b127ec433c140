/* The state that is kept over a restart:
 *
 * gpu UUID and the numbers of bj_accum_save, and the source of its counter
 * gpu-number SOURCE INDEX UUID
 * gpu-job KEY UUID EVIDENCE ESTIMATED and the numbers of sums[], then ENGINE
 * and its microseconds for each class of engines
 * gpu-fault KEY UUID STATE XID SECONDS BY_PROCESS: of the gpu-job before
 * gpu-conflict KEY UUID BITS: of the same
 * gpu-health, gpu-log: gpus_health.c
 *
 * KEY is that of the job's account. */
#include "base/array.h"
#include "core/energy/ledger_state.h"
#include "core/gpu/gpus_impl.h"
#include "core/internal.h"

#include <stdio.h>
#include <stdlib.h>

#define AT(member) offsetof(struct bj_gpu_sums, member)
static const size_t sums[] = {
    AT(held_usec),    AT(idle_usec),   AT(energy_uj),  AT(busy.sum_usec),
    AT(busy.of_usec), AT(sm.sum_usec), AT(sm.of_usec), AT(memory_peak_bytes)};
enum { SUMS = sizeof(sums) / sizeof(sums[0]), KEPT_MAX = 8192 };

static uint64_t *sum_at(struct bj_gpu_sums *s, size_t i)
{
    return (uint64_t *)(void *)((char *)s + sums[i]);
}

/* --- writing --------------------------------------------------------------*/

static bool gpus_state_is_word(const char *uuid)
{
    struct bj_slice rest = bj_slice_str(uuid), word;
    return bj_slice_word(&rest, &word) && rest.n == 0;
}

static void save_sums(const struct bj_gpus *g, struct bj_slice key, size_t dev,
                      unsigned evidence, bool estimated, struct bj_gpu_sums *s,
                      struct bj_buf *out)
{
    if (!gpus_state_is_word(g->dev[dev].now.uuid) || evidence == 0)
        return;
    bj_buf_str(out, "gpu-job ");
    bj_state_word(out, key);
    bj_buf_printf(out, " %s %u %d", g->dev[dev].now.uuid, evidence, estimated);
    for (size_t k = 0; k < SUMS; k++) {
        bj_buf_put(out, " ", 1);
        bj_buf_u64(out, *sum_at(s, k));
    }
    for (unsigned k = 0; k < s->nengines; k++)
        if (gpus_state_is_word(s->engine[k].name))
            bj_buf_printf(out, " %s %llu", s->engine[k].name,
                          (unsigned long long)s->engine[k].busy_usec);
    bj_buf_put(out, "\n", 1);
    if (s->conflicts != 0) {
        bj_buf_str(out, "gpu-conflict ");
        bj_state_word(out, key);
        bj_buf_printf(out, " %s %u\n", g->dev[dev].now.uuid, s->conflicts);
    }
    if (s->fault.state == BJ_GPU_OK)
        return;
    bj_buf_str(out, "gpu-fault ");
    bj_state_word(out, key);
    bj_buf_printf(out, " %s %u %llu %llu %d\n", g->dev[dev].now.uuid,
                  (unsigned)s->fault.state, (unsigned long long)s->fault.xid,
                  (unsigned long long)s->fault.wall_sec, s->fault.by_process);
}

static void save_jobs(struct bj_gpus *g, bj_gpus_key *key, struct bj_buf *out)
{
    for (size_t i = 0; i < g->nholds; i++) {
        struct bj_gpu_hold *h = &g->hold[i];
        struct bj_slice name = key(h->track);
        if (name.n > 0)
            save_sums(g, name, h->dev, h->evidence, h->ever_estimated, &h->sums,
                      out);
    }
    for (size_t i = 0; i < g->nkept; i++) {
        struct bj_gpu_kept *k = &g->kept[i];
        save_sums(g, bj_slice_str(k->key), k->dev, k->evidence, k->estimated,
                  &k->sums, out);
    }
}

void bj_gpus_save(struct bj_gpus *g, bj_gpus_key *key, struct bj_buf *out)
{
    for (size_t i = 0; i < g->n; i++) {
        struct bj_gpu_dev *d = &g->dev[i];
        if (d->energy.stamp_usec == 0 || !gpus_state_is_word(d->now.uuid))
            continue;
        bj_buf_printf(out, "gpu %s", d->now.uuid);
        bj_accum_save(&d->energy, out);
        bj_buf_printf(out, " %u\n", d->counter);
    }
    for (size_t i = 0; i < g->n; i++)
        if (g->dev[i].number != BJ_ABSENT &&
            gpus_state_is_word(g->dev[i].now.uuid))
            bj_buf_printf(out, "gpu-number %u %llu %s\n", g->dev[i].kind,
                          (unsigned long long)g->dev[i].number,
                          g->dev[i].now.uuid);
    save_jobs(g, key, out);
    bj_gpus_health_save(g, out);
}

/* --- reading --------------------------------------------------------------*/

static bool cut_uuid(struct bj_slice *line, char uuid[BJ_GPU_TEXT])
{
    struct bj_slice word;
    if (!bj_slice_word(line, &word) || word.n >= BJ_GPU_TEXT)
        return false;
    snprintf(uuid, BJ_GPU_TEXT, "%.*s", (int)word.n, word.p);
    return true;
}

static bool gpus_state_cut_number(struct bj_slice *line, uint64_t *ret)
{
    struct bj_slice word;
    return bj_slice_word(line, &word) && bj_slice_u64(word, ret) == 0;
}

/* Find or add a device, which may be missing. */
static struct bj_gpu_dev *dev_of(struct bj_gpus *g, const char *uuid)
{
    struct bj_gpu_dev *d = bj_gpus_dev(g, uuid);
    if (d && !*d->now.uuid) {
        snprintf(d->now.uuid, sizeof(d->now.uuid), "%s", uuid);
        d->now.parent = -1;
        d->now.index = d->now.place = d->now.render = BJ_ABSENT;
        d->now.use.minor = BJ_ABSENT;
    }
    return d;
}

static void load_line(struct bj_gpus *g, struct bj_slice line)
{
    struct bj_accum a;
    char uuid[BJ_GPU_TEXT];
    if (!cut_uuid(&line, uuid) || !bj_accum_load(&a, &line))
        return;
    struct bj_gpu_dev *d = dev_of(g, uuid);
    if (!d)
        return;
    uint64_t counter;
    if (gpus_state_cut_number(&line, &counter) && counter < BJ_GPU_KINDS)
        d->counter = (unsigned)counter;
    d->given_uj += a.total_uj;
    d->health.resets = a.resets;
    /* If it was read already, repeat that with the loaded position. */
    if (d->energy.stamp_usec != 0)
        bj_gpus_count(g, d, &a);
    d->energy = a;
}

static void load_number(struct bj_gpus *g, struct bj_slice line)
{
    uint64_t kind, number;
    char uuid[BJ_GPU_TEXT];
    if (!gpus_state_cut_number(&line, &kind) || kind >= BJ_GPU_OVER ||
        !gpus_state_cut_number(&line, &number) || !cut_uuid(&line, uuid))
        return;
    struct bj_gpu_dev *d = dev_of(g, uuid);
    if (!d || (d->present && d->kind != kind))
        return;
    d->kind = (unsigned)kind;
    d->number = number;
    if (!d->present)
        d->now.index = number;
}

/* Cut the key of an account and decode its escapes. */
static char *cut_key(struct bj_slice *line)
{
    struct bj_slice word;
    char *key = bj_slice_word(line, &word) ? strndup(word.p, word.n) : NULL;
    int n = key ? bj_state_unword(key, word.n) : -1;
    if (n < 0) {
        free(key);
        return NULL;
    }
    key[n] = '\0';
    return key;
}

static void cut_engines(struct bj_slice line, struct bj_gpu_sums *s)
{
    struct bj_slice word;
    uint64_t usec;
    char name[BJ_GPU_ENGINE];
    while (bj_slice_word(&line, &word) && word.n < sizeof(name) &&
           gpus_state_cut_number(&line, &usec)) {
        snprintf(name, sizeof(name), "%.*s", (int)word.n, word.p);
        struct bj_gpu_engine *e = bj_gpus_engine(s, name);
        if (e)
            e->busy_usec = usec;
    }
}

static bool cut_kept(struct bj_gpus *g, struct bj_slice line,
                     struct bj_gpu_kept *k)
{
    char uuid[BJ_GPU_TEXT];
    uint64_t evidence, estimated;
    if (!cut_uuid(&line, uuid) || !gpus_state_cut_number(&line, &evidence) ||
        !gpus_state_cut_number(&line, &estimated))
        return false;
    k->evidence = (unsigned)evidence;
    k->estimated = estimated != 0;
    for (size_t i = 0; i < SUMS; i++)
        if (!gpus_state_cut_number(&line, sum_at(&k->sums, i)))
            return false;
    cut_engines(line, &k->sums);
    struct bj_gpu_dev *d = dev_of(g, uuid);
    if (d)
        k->dev = (size_t)(d - g->dev);
    return d != NULL;
}

static void load_job(struct bj_gpus *g, struct bj_slice line)
{
    struct bj_gpu_kept k = {.key = cut_key(&line)};
    if (k.key && g->nkept < KEPT_MAX && cut_kept(g, line, &k) &&
        BJ_GROW(g->kept, g->nkept + 1, g->kept_cap))
        g->kept[g->nkept++] = k;
    else
        free(k.key);
}

/* The counts of KEY UUID, which the line begins with; NULL: there are none. */
static struct bj_gpu_sums *cut_sums(struct bj_gpus *g, struct bj_slice *line)
{
    char uuid[BJ_GPU_TEXT];
    struct bj_gpu_sums *found = NULL;
    char *key = cut_key(line);
    const bool good = key && cut_uuid(line, uuid);
    for (size_t i = 0; good && !found && i < g->nkept; i++)
        if (strcmp(g->kept[i].key, key) == 0 &&
            strcmp(g->dev[g->kept[i].dev].now.uuid, uuid) == 0)
            found = &g->kept[i].sums;
    free(key);
    return found;
}

static void load_fault(struct bj_gpus *g, struct bj_slice line)
{
    struct bj_gpu_sums *of = cut_sums(g, &line);
    uint64_t v[4];
    for (int i = 0; of && i < 4; i++)
        if (!gpus_state_cut_number(&line, &v[i]))
            return;
    if (of && v[0] < BJ_GPU_STATES)
        of->fault = (struct bj_gpu_fault){(enum bj_gpu_state)v[0], v[1], v[2],
                                          v[3] != 0};
}

static void load_conflict(struct bj_gpus *g, struct bj_slice line)
{
    struct bj_gpu_sums *of = cut_sums(g, &line);
    uint64_t bits;
    if (of && gpus_state_cut_number(&line, &bits) &&
        bits < 1u << BJ_GPU_CONFLICTS)
        of->conflicts = (unsigned)bits;
}

static void load_health(struct bj_gpus *g, struct bj_slice line)
{
    char uuid[BJ_GPU_TEXT];
    struct bj_gpu_dev *d = cut_uuid(&line, uuid) ? dev_of(g, uuid) : NULL;
    if (d)
        bj_gpus_health_load(g, d, line);
}

void bj_gpus_load(struct bj_gpus *g, struct bj_slice text)
{
    struct bj_slice line, word;
    while (bj_slice_line(&text, &line)) {
        if (!bj_slice_word(&line, &word))
            continue;
        if (bj_slice_eq(word, BJ_SLICE("gpu")))
            load_line(g, line);
        else if (bj_slice_eq(word, BJ_SLICE("gpu-number")))
            load_number(g, line);
        else if (bj_slice_eq(word, BJ_SLICE("gpu-job")))
            load_job(g, line);
        else if (bj_slice_eq(word, BJ_SLICE("gpu-fault")))
            load_fault(g, line);
        else if (bj_slice_eq(word, BJ_SLICE("gpu-conflict")))
            load_conflict(g, line);
        else if (bj_slice_eq(word, BJ_SLICE("gpu-health")))
            load_health(g, line);
        else if (bj_slice_eq(word, BJ_SLICE("gpu-log")))
            bj_gpus_log_load(g, line);
    }
    bj_gpus_renumber(g);
}

/* --- jobs of the state -----------------------------------------------------*/

static void gpus_state_forget(struct bj_gpus *g, size_t i)
{
    free(g->kept[i].key);
    g->kept[i] = g->kept[--g->nkept];
}

/* Add the saved counts to those since the start of this process. */
static void resume(struct bj_gpu_hold *h, struct bj_gpu_kept *k)
{
    uint64_t peak = h->sums.memory_peak_bytes;
    for (size_t i = 0; i < SUMS; i++)
        if (sums[i] != AT(memory_peak_bytes))
            *sum_at(&h->sums, i) += *sum_at(&k->sums, i);
    if (peak == BJ_ABSENT || (k->sums.memory_peak_bytes != BJ_ABSENT &&
                              k->sums.memory_peak_bytes > peak))
        h->sums.memory_peak_bytes = k->sums.memory_peak_bytes;
    for (unsigned i = 0; i < k->sums.nengines; i++) {
        const struct bj_gpu_engine *old = &k->sums.engine[i];
        struct bj_gpu_engine *e = bj_gpus_engine(&h->sums, old->name);
        if (e && old->busy_usec > e->busy_usec)
            e->busy_usec = old->busy_usec;
    }
    bj_gpus_fault(&h->sums.fault, &k->sums.fault);
    h->sums.conflicts |= k->sums.conflicts;
    h->evidence |= k->evidence;
    h->saved |= k->evidence;
    h->ever_estimated |= k->estimated;
}

void bj_gpus_resume(struct bj_gpus *g, struct bj_track *t, struct bj_slice key)
{
    for (size_t i = g->nkept; i-- > 0;) {
        struct bj_gpu_hold *h = NULL;
        if (bj_slice_eq(bj_slice_str(g->kept[i].key), key) &&
            (h = bj_gpus_hold_of(g, t, g->kept[i].dev))) {
            resume(h, &g->kept[i]);
            gpus_state_forget(g, i);
        }
    }
    for (size_t i = 0; i < g->njobs; i++)
        if (g->job[i]->track == t)
            g->job[i]->claim_named = g->job[i]->allot_named =
                g->job[i]->file_named = (struct bj_gpu_named){.kinds = 0};
}

void bj_gpus_forget(struct bj_gpus *g, struct bj_slice key)
{
    for (size_t i = g->nkept; i-- > 0;)
        if (bj_slice_eq(bj_slice_str(g->kept[i].key), key))
            gpus_state_forget(g, i);
}

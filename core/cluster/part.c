#include "core/cluster/part.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

/* Lists whose records can be summed up, and the field that ranks them. */
#define SUMS(a, z, record, field)                                              \
    {                                                                          \
        .first = a, .last = z, .size = sizeof(struct record),                  \
        .weight = offsetof(struct record, field)                               \
    }
/* A list whose records cannot be summed up. */
#define OWN(list, record)                                                      \
    {                                                                          \
        .first = list, .last = list, .size = sizeof(struct record)             \
    }

static const struct {
    enum bj_cluster_list first, last;
    size_t size;
    size_t weight, max; /* as in struct bj_group_limit; 0: none */
} sizes[] = {
    {.first = BJ_CL_JOBS,
     .last = BJ_CL_PARTITION_PENDING,
     .size = sizeof(struct bj_jobs_stat),
     .weight = offsetof(struct bj_jobs_stat, cpus),
     .max = offsetof(struct bj_jobs_stat, wait_max_sec)},
    OWN(BJ_CL_EACH_JOB, bj_jobs_stat),
    SUMS(BJ_CL_JOBS_GPUS, BJ_CL_PARTITION_JOBS_GPUS, bj_count_stat, count),
    SUMS(BJ_CL_NODES, BJ_CL_EACH_NODE, bj_nodes_stat, cpus),
    SUMS(BJ_CL_GPUS, BJ_CL_EACH_NODE_GPUS, bj_gpus_stat, gpus),
    SUMS(BJ_CL_GPU_TYPES, BJ_CL_GPU_TYPES, bj_gpu_type_stat, gpus),
    OWN(BJ_CL_NODE_STATES, bj_node_text_stat),
    OWN(BJ_CL_NODE_REASONS, bj_node_text_stat),
    OWN(BJ_CL_CONTROLLER, bj_controller_stat),
    SUMS(BJ_CL_RPC_TYPES, BJ_CL_RPC_USERS, bj_rpc_stat, total_usec),
    SUMS(BJ_CL_LICENSES, BJ_CL_LICENSES, bj_license_stat, total),
    OWN(BJ_CL_RESERVATIONS, bj_reservation_stat),
    OWN(BJ_CL_SHARES, bj_share_stat),
    OWN(BJ_CL_LIMITS, bj_limit_stat),
    OWN(BJ_CL_PARTITIONS, bj_partition_stat),
    OWN(BJ_CL_CONSTANTS, bj_constant_stat),
};

/* Maximum number of keys before the largest are chosen. */
enum { KEYS_MOST = 1 << 18, JOBS_MOST = 1000000 };

static uint64_t cap_of(const struct bj_scheduler_conf *conf, unsigned list)
{
    /* Single jobs have no series. */
    return list == BJ_CL_EACH_JOB ? JOBS_MOST : conf->max_series;
}

static uint64_t most_of(const struct bj_scheduler_conf *conf, unsigned list)
{
    const uint64_t cap = cap_of(conf, list);
    return cap > KEYS_MOST ? cap : KEYS_MOST;
}

int bj_cluster_work_begin(struct bj_cluster_work *w)
{
    struct bj_cluster_part *p = calloc(1, sizeof(*p));
    if (!p)
        return -ENOMEM;
    atomic_init(&p->refs, 1);
    w->part = p;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (unsigned k = sizes[i].first; k <= sizes[i].last; k++)
            w->group[k] =
                (struct bj_group){.arena = &p->arena,
                                  .size = sizes[i].size,
                                  .cap = sizes[i].weight ? most_of(w->conf, k)
                                                         : cap_of(w->conf, k)};
    w->seen = (struct bj_group){
        .arena = &p->arena, .size = sizeof(struct bj_sub), .cap = UINT32_MAX};
    p->held = (struct bj_group){
        .arena = &p->arena, .size = sizeof(struct bj_held), .cap = UINT32_MAX};
    return 0;
}

int bj_cluster_work_line(struct bj_cluster_work *w,
                         const struct bj_cluster_reader *r,
                         struct bj_slice line)
{
    if (line.n == 0)
        return 0;
    int e = r->line(w, line);
    if (e == -EINVAL)
        w->bad++;
    else if (e == 0)
        w->good++;
    return e == -ENOMEM ? e : 0;
}

/* Make the lists, reduced to the allowed number of series. */
static void make_lists(struct bj_cluster_work *w)
{
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (unsigned k = sizes[i].first; k <= sizes[i].last; k++) {
            const struct bj_group_limit limit = {
                .cap = cap_of(w->conf, k),
                .weight = sizes[i].weight,
                .max = sizes[i].max,
                .had = w->previous ? &w->previous->list[k] : NULL};
            if (!limit.weight || bj_group_cut(&w->group[k], &limit))
                w->part->list[k] = bj_group_list(&w->group[k]);
        }
}

int bj_cluster_work_end(struct bj_cluster_work *w,
                        const struct bj_cluster_reader *r)
{
    int e = r->end ? r->end(w) : 0;
    /* Single bad lines are free text with a newline in it. Only bad lines: the
     * output of another program. */
    if (e == 0 && w->good == 0 && w->bad > 0)
        e = -EINVAL;
    if (e == 0)
        make_lists(w);
    return w->part->arena.failed || w->text.failed ? -ENOMEM : e;
}

void bj_cluster_work_free(struct bj_cluster_work *w)
{
    for (unsigned k = 0; k < BJ_CL_LISTS; k++)
        bj_group_free(&w->group[k]);
    bj_group_free(&w->seen);
    bj_buf_free(&w->text);
    bj_cluster_part_unref(w->part);
    w->part = NULL;
}

struct bj_cluster_part *bj_cluster_part_ref(struct bj_cluster_part *p)
{
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    return p;
}

void bj_cluster_part_unref(struct bj_cluster_part *p)
{
    if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1)
        return;
    bj_group_free(&p->held);
    bj_arena_free(&p->arena);
    free(p);
}

void *bj_cluster_get(struct bj_cluster_work *w, enum bj_cluster_list list,
                     struct bj_slice k0, struct bj_slice k1, struct bj_slice k2)
{
    const struct bj_slice key[BJ_SUB_KEYS] = {k0, k1, k2};
    return bj_group_get(&w->group[list], key);
}

void *bj_cluster_single(struct bj_cluster_work *w, enum bj_cluster_list list,
                        struct bj_slice k0, struct bj_slice k1,
                        struct bj_slice k2)
{
    const struct bj_slice key[BJ_SUB_KEYS] = {k0, k1, k2};
    struct bj_group *g = &w->group[list];
    if (g->n >= g->cap && !bj_group_find(g, key)) {
        g->refused++;
        return NULL;
    }
    return bj_group_get(g, key);
}

struct bj_slice bj_cluster_label(struct bj_slice s, struct bj_label *l)
{
    return (struct bj_slice){l->text,
                             bj_text_clean(s, l->text, sizeof(l->text))};
}

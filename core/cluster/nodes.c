/* Counts of nodes: by state, flag, partition and reservation. */
#include "core/cluster/part.h"

#include <errno.h>
#include <stdio.h>

static const struct bj_slice none; /* no key */

enum { GPU_TYPES = 16 };

/* The GPUs of a node by type (key[0], raw). */
struct gpus {
    struct bj_gpus_stat v[GPU_TYPES];
    unsigned n;
};

/* A node to be counted. */
struct entry {
    const struct bj_sinfo_node *node;
    const struct gpus *gpus;
    struct bj_slice base, flags, state; /* "mixed", "drain", "mixed+drain" */
    char text[1200];                    /* of state */
    struct bj_label label;              /* the same, clean */
};

/* --- GPUs -----------------------------------------------------------------*/

/* Whether idle GPUs of the node are available to jobs, as sinfo decides for its
 * CPUs. */
static bool nodes_usable(struct bj_slurm_node_state s)
{
    const uint32_t out = 1u << BJ_NODE_DRAIN | 1u << BJ_NODE_FAIL |
                         1u << BJ_NODE_NOT_RESPONDING |
                         1u << BJ_NODE_REBOOT_ISSUED |
                         1u << BJ_NODE_INVALID_REG | 1u << BJ_NODE_BLOCKED |
                         1u << BJ_NODE_POWERING_DOWN;
    return (s.base == BJ_NODE_IDLE || s.base == BJ_NODE_MIXED ||
            s.base == BJ_NODE_ALLOCATED) &&
           !(s.flags & out);
}

static struct bj_gpus_stat *gpus_of(struct gpus *g, struct bj_slice type)
{
    for (unsigned i = 0; i < g->n; i++)
        if (bj_slice_eq(g->v[i].sub.key[0], type))
            return &g->v[i];
    if (g->n == GPU_TYPES)
        return NULL;
    g->v[g->n].sub.key[0] = type;
    return &g->v[g->n++];
}

/* Mark used GPUs as allocated. Those of a type that the node lacks, or without
 * type, are taken from the types it has. */
static void use_gpus(struct gpus *g, struct bj_slice type, uint64_t n)
{
    for (int any = 0; any < 2; any++)
        for (unsigned i = 0; i < g->n && n > 0; i++) {
            struct bj_gpus_stat *s = &g->v[i];
            uint64_t room = s->gpus - s->allocated;
            if (!any && !bj_slice_eq(s->sub.key[0], type))
                continue;
            room = room < n ? room : n;
            s->allocated += room;
            n -= room;
        }
}

/* On a node with fewer idle CPUs than idle_cpus, idle GPUs are blocked. */
static void find_gpus(const struct bj_sinfo_node *node, uint64_t idle_cpus,
                      struct gpus *ret)
{
    static const struct bj_slice gpu = {"gpu", 3};
    struct bj_slice rest = node->gres;
    struct bj_gres g;
    *ret = (struct gpus){0};
    while (bj_gres_next(&rest, &g, NULL)) {
        struct bj_gpus_stat *s =
            bj_slice_eq(g.name, gpu) ? gpus_of(ret, g.type) : NULL;
        if (s)
            bj_cluster_add(&s->gpus, g.count);
    }
    rest = node->gres_used;
    while (bj_gres_next(&rest, &g, NULL))
        if (bj_slice_eq(g.name, gpu))
            use_gpus(ret, g.type, g.count);
    for (unsigned i = 0; i < ret->n; i++) {
        struct bj_gpus_stat *s = &ret->v[i];
        const uint64_t unused = s->gpus - s->allocated;
        if (!nodes_usable(node->state))
            s->other = unused;
        else if (node->idle < idle_cpus)
            s->blocked = unused;
        else
            s->idle = unused;
    }
}

/* --- sums -----------------------------------------------------------------*/

static void add_node(struct bj_cluster_work *w, const struct entry *e,
                     enum bj_cluster_list list, struct bj_slice k0,
                     struct bj_slice k1, struct bj_slice k2)
{
    const struct bj_sinfo_node *n = e->node;
    struct bj_nodes_stat *s = bj_cluster_get(w, list, k0, k1, k2);
    if (!s)
        return; /* arena.failed is set */
    if (s->nodes++ == 0)
        s->cpus = s->cpus_allocated = s->cpus_idle = s->cpus_other =
            s->mem_bytes = s->mem_allocated_bytes = s->mem_free_bytes =
                s->load_centi = s->weight = BJ_ABSENT;
    bj_cluster_add(&s->cpus, n->cpus);
    bj_cluster_add(&s->cpus_allocated, n->allocated);
    bj_cluster_add(&s->cpus_idle, n->idle);
    bj_cluster_add(&s->cpus_other, n->other);
    bj_cluster_add(&s->mem_bytes, n->mem_bytes);
    bj_cluster_add(&s->mem_allocated_bytes, n->mem_allocated_bytes);
    bj_cluster_add(&s->mem_free_bytes, n->mem_free_bytes);
    bj_cluster_add(&s->load_centi, n->load_centi);
    bj_cluster_add(&s->weight, n->weight);
}

/* at: index of the key that holds the type. */
static void add_gpus(struct bj_cluster_work *w, const struct entry *e,
                     enum bj_cluster_list list, struct bj_slice k0,
                     struct bj_slice k1, unsigned at)
{
    for (unsigned i = 0; i < e->gpus->n; i++) {
        const struct bj_gpus_stat *g = &e->gpus->v[i];
        struct bj_slice key[BJ_SUB_KEYS] = {k0, k1};
        struct bj_label l;
        key[at] = bj_cluster_label(g->sub.key[0], &l);
        struct bj_gpus_stat *s =
            bj_cluster_get(w, list, key[0], key[1], key[2]);
        if (!s)
            return;
        bj_cluster_add(&s->gpus, g->gpus);
        bj_cluster_add(&s->allocated, g->allocated);
        bj_cluster_add(&s->idle, g->idle);
        bj_cluster_add(&s->blocked, g->blocked);
        bj_cluster_add(&s->other, g->other);
    }
}

static void add_types(struct bj_cluster_work *w, const struct entry *e)
{
    for (unsigned i = 0; i < e->gpus->n; i++) {
        struct bj_label l;
        struct bj_gpu_type_stat *s = bj_cluster_get(
            w, BJ_CL_GPU_TYPES, bj_cluster_label(e->gpus->v[i].sub.key[0], &l),
            none, none);
        if (!s)
            return;
        bj_cluster_add(&s->gpus, e->gpus->v[i].gpus);
        s->nodes++;
    }
}

/* An unknown state word, in lower case, so that states stay distinct. */
static struct bj_slice clean_word(struct bj_slice word, struct bj_label *l)
{
    const struct bj_slice s = bj_cluster_label(word, l);
    for (size_t i = 0; i < s.n; i++)
        if (l->text[i] >= 'A' && l->text[i] <= 'Z')
            l->text[i] += 'a' - 'A';
    return s;
}

static unsigned words(const struct bj_slurm_node_state *s)
{
    return s->unknown < BJ_NODE_WORDS ? s->unknown : BJ_NODE_WORDS;
}

static void add_flag(struct bj_cluster_work *w, const struct entry *e,
                     const struct bj_slice *partition, struct bj_slice flag)
{
    if (partition) {
        add_node(w, e, BJ_CL_PARTITION_FLAGS, *partition, flag, none);
        add_gpus(w, e, BJ_CL_PARTITION_FLAG_GPUS, *partition, flag, 2);
    } else {
        add_node(w, e, BJ_CL_FLAGS, flag, none, none);
        add_gpus(w, e, BJ_CL_FLAG_GPUS, flag, none, 1);
    }
}

static void add_flags(struct bj_cluster_work *w, const struct entry *e,
                      const struct bj_slice *partition)
{
    const struct bj_slurm_node_state *s = &e->node->state;
    struct bj_label l;
    for (unsigned f = 0; f < BJ_NODE_FLAGS; f++)
        if (s->flags & 1u << f)
            add_flag(w, e, partition,
                     bj_slice_str(bj_node_flag_name((enum bj_node_flag)f)));
    for (unsigned i = 0; i < words(s); i++)
        add_flag(w, e, partition, clean_word(s->word[i], &l));
}

static void make_state(struct entry *e)
{
    const struct bj_slurm_node_state *s = &e->node->state;
    struct bj_label l;
    e->base = bj_slice_str(bj_node_base_name(s->base));
    int n = snprintf(e->text, sizeof(e->text), "%s", e->base.p);
    for (unsigned f = 0; f < BJ_NODE_FLAGS; f++)
        if (s->flags & 1u << f)
            n += snprintf(e->text + n, sizeof(e->text) - (size_t)n, "+%s",
                          bj_node_flag_name((enum bj_node_flag)f));
    for (unsigned i = 0; i < words(s); i++)
        n += snprintf(e->text + n, sizeof(e->text) - (size_t)n, "+%s",
                      clean_word(s->word[i], &l).p);
    /* Cut to the length of a label, at a character boundary. */
    e->state =
        bj_cluster_label((struct bj_slice){e->text, (size_t)n}, &e->label);
    e->flags = (struct bj_slice){e->state.p + e->base.n, 0};
    if (e->state.n > e->base.n) {
        e->flags.p++;
        e->flags.n = e->state.n - e->base.n - 1;
    }
}

static void add_reservation(struct bj_cluster_work *w, const struct entry *e,
                            struct bj_slice node)
{
    const struct bj_slice key[BJ_SUB_KEYS] = {node};
    struct bj_slice by = {"", 0};
    if (!(w->by & BJ_BY_RESERVATION) || !w->reservations)
        return;
    const struct bj_held *h = bj_group_find(&w->reservations->held, key);
    if (h)
        by = h->by;
    add_node(w, e, BJ_CL_RESERVATION_NODES, by, e->base, e->flags);
    add_gpus(w, e, BJ_CL_RESERVATION_GPUS, by, e->state, 2);
}

static void add_state(struct bj_cluster_work *w, const struct entry *e,
                      struct bj_slice node)
{
    struct bj_label l;
    struct bj_node_text_stat *s =
        bj_cluster_single(w, BJ_CL_NODE_STATES, node,
                          bj_cluster_label(e->node->state_text, &l), none);
    if (s)
        s->one = 1;
}

static void add_reason(struct bj_cluster_work *w, const struct entry *e,
                       struct bj_slice node)
{
    struct bj_label by, l;
    struct bj_node_text_stat *s = bj_cluster_single(
        w, BJ_CL_NODE_REASONS, node,
        e->node->reason_by.n > 0 ? bj_cluster_label(e->node->reason_by, &by)
                                 : none,
        bj_cluster_label(e->node->reason, &l));
    if (s)
        s->one = 1;
}

/* Counts independent of partitions; once for each node. */
static void add_once(struct bj_cluster_work *w, const struct entry *e,
                     struct bj_slice node)
{
    add_node(w, e, BJ_CL_NODES, e->base, e->flags, none);
    add_gpus(w, e, BJ_CL_GPUS, e->base, e->flags, 2);
    add_types(w, e);
    add_flags(w, e, NULL);
    add_reservation(w, e, node);
    if ((w->by & BJ_BY_REASON) && e->node->reason.n > 0) {
        struct bj_label l;
        add_node(w, e, BJ_CL_REASONS, bj_cluster_label(e->node->reason, &l),
                 e->base, e->flags);
    }
    if (w->by & BJ_BY_NODE) {
        add_node(w, e, BJ_CL_EACH_NODE, node, e->base, e->flags);
        add_gpus(w, e, BJ_CL_EACH_NODE_GPUS, node, e->state, 2);
        add_state(w, e, node);
        if ((w->by & BJ_BY_REASON) && e->node->reason.n > 0)
            add_reason(w, e, node);
    }
}

int bj_cluster_add_node(struct bj_cluster_work *w,
                        const struct bj_sinfo_node *n)
{
    struct gpus gpus;
    struct bj_label name, partition;
    struct entry e = {.node = n, .gpus = &gpus};
    find_gpus(n, w->conf->gpu_idle_cpus, &gpus);
    make_state(&e);
    const struct bj_slice key[BJ_SUB_KEYS] = {bj_cluster_label(n->name, &name)};
    if (!bj_group_find(&w->seen, key)) {
        if (!bj_group_get(&w->seen, key))
            return -ENOMEM;
        add_once(w, &e, key[0]);
    }
    if ((w->by & BJ_BY_PARTITION) && !n->any_partition) {
        const struct bj_slice p = bj_cluster_label(n->partition, &partition);
        add_node(w, &e, BJ_CL_PARTITION_NODES, p, e.base, e.flags);
        add_gpus(w, &e, BJ_CL_PARTITION_GPUS, p, e.state, 2);
        add_flags(w, &e, &p);
    }
    return 0;
}

int bj_cluster_node_line(struct bj_cluster_work *w, struct bj_slice line)
{
    struct bj_sinfo_node n;
    return bj_sinfo_parse(line, &n) < 0 ? -EINVAL : bj_cluster_add_node(w, &n);
}

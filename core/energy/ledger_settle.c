/* The end of a window: its energy is attributed. */
#include "core/energy/ledger_impl.h"

/* The weight by which the dynamic part of a component is divided. */
static const enum bj_weight by_use[BJ_COMPONENTS] = {
    [BJ_ENERGY_CPU] = BJ_W_CPU,
    [BJ_ENERGY_DRAM] = BJ_W_MEM,
    [BJ_ENERGY_GPU] = BJ_W_GPU,
    [BJ_ENERGY_OTHER] = BJ_W_CPU,
};

/* The energy of a window. */
struct window {
    uint64_t uj[BJ_COMPONENTS];
    uint64_t still_uj[BJ_COMPONENTS]; /* the static part of uj */
    uint64_t host_uj, idle_uw;
    bool node; /* it has a reading of the node */
    bool agree;
};

static void add_receiver(struct bj_split *s, struct bj_account *a)
{
    struct bj_receiver *r = &s->v[s->n++];
    *r = (struct bj_receiver){.account = a};
    if (a)
        memcpy(r->raw, a->raw, sizeof(r->raw));
}

static bj_u128 above(bj_u128 all, bj_u128 part)
{
    return all > part ? all - part : 0;
}

/* The whole node for the whole window, in the units of reserved(). */
static bj_u128 whole_node(const struct bj_ledger *l)
{
    uint64_t cpus = l->conf.cpus, mem = l->conf.mem_bytes;
    return (bj_u128)(cpus ? cpus : 1) * (mem ? mem : 1) * 2 * l->span_usec;
}

/* Set the receivers: jobs in the order of opening, system, unallocated. */
static void receivers(struct bj_ledger *l, const struct window *w,
                      struct bj_split *s)
{
    bj_u128 sum[BJ_WEIGHTS] = {0};
    *s = (struct bj_split){.v = l->receivers, .order = l->order};
    for (size_t i = 0; i < l->n; i++) {
        if (!l->accounts[i]->involved)
            continue;
        add_receiver(s, l->accounts[i]);
        for (int kind = 0; kind < BJ_WEIGHTS; kind++)
            sum[kind] += l->accounts[i]->raw[kind];
    }
    add_receiver(s, NULL);
    struct bj_receiver *system = &s->v[s->n - 1];
    system->raw[BJ_W_CPU] = above(l->node_cpu, sum[BJ_W_CPU]);
    system->raw[BJ_W_MEM] = above(l->node_mem, sum[BJ_W_MEM]);
    add_receiver(s, NULL);
    struct bj_receiver *unallocated = &s->v[s->n - 1];
    unallocated->raw[BJ_W_RESERVED] = above(whole_node(l), sum[BJ_W_RESERVED]);
    unallocated->raw[BJ_W_GPU] = above(w->uj[BJ_ENERGY_GPU], sum[BJ_W_GPU]);
    bj_split_scale(s);
}

static void give(struct bj_ledger *l, const struct bj_split *s,
                 enum bj_policy p, enum bj_component c)
{
    for (size_t i = 0; i + 2 < s->n; i++)
        s->v[i].account->total_uj[p][c] += s->v[i].uj;
    l->sums.system_uj[p][c] += s->v[s->n - 2].uj;
    l->sums.unallocated_uj[p][c] += s->v[s->n - 1].uj;
}

static void split_component(struct bj_ledger *l, struct bj_split *s,
                            const struct window *w, enum bj_component c)
{
    uint64_t all = w->uj[c], still = w->still_uj[c];
    if (all == 0)
        return;
    bj_split_share(s, 0, all, by_use[c]);
    give(l, s, BJ_USAGE, c);
    if (c == BJ_ENERGY_GPU) {
        give(l, s, BJ_HYBRID, c);
        give(l, s, BJ_RESERVATION, c);
        return;
    }
    if (still > 0)
        bj_split_share(s, still, all - still, by_use[c]);
    give(l, s, BJ_HYBRID, c);
    bj_split_share(s, all, 0, by_use[c]);
    give(l, s, BJ_RESERVATION, c);
}

/* Compute the energy of the node beyond its components, or the deficit. */
static void take_other(struct bj_ledger *l, uint64_t node_uj, struct window *w)
{
    uint64_t parts =
        w->uj[BJ_ENERGY_CPU] + w->uj[BJ_ENERGY_DRAM] + w->uj[BJ_ENERGY_GPU];
    w->node = node_uj != BJ_ABSENT;
    w->agree = !w->node || node_uj >= parts;
    if (!w->node) {
        for (enum bj_component c = 0; c < BJ_COMPONENTS; c++)
            l->sums.alone_uj[c] += w->uj[c];
        return;
    }
    l->sums.node_uj += node_uj;
    if (w->agree)
        w->uj[BJ_ENERGY_OTHER] = node_uj - parts;
    else
        l->sums.deficit_uj += parts - node_uj;
    l->sums.taken_uj[BJ_ENERGY_OTHER] += w->uj[BJ_ENERGY_OTHER];
}

static void take_static(struct bj_ledger *l, struct window *w)
{
    static const enum bj_component host[] = {BJ_ENERGY_CPU, BJ_ENERGY_DRAM,
                                             BJ_ENERGY_OTHER};
    enum { N = sizeof(host) / sizeof(host[0]) };
    uint64_t v[N], still[N];
    for (int i = 0; i < N; i++)
        w->host_uj += v[i] = w->uj[host[i]];
    w->idle_uw = l->conf.idle_uw ? l->conf.idle_uw : l->idle[w->node].value_uw;
    bj_u128 idle_uj = (bj_u128)w->idle_uw * l->span_usec / 1000000;
    uint64_t part = idle_uj < w->host_uj ? (uint64_t)idle_uj : w->host_uj;
    if (part == 0)
        return;
    bj_share_few(part, w->host_uj, v, N, still);
    for (int i = 0; i < N; i++)
        w->still_uj[host[i]] = still[i];
}

static void learn_idle(struct bj_ledger *l, const struct window *w)
{
    bool busy = l->node_cpu * 50 >= (bj_u128)l->conf.cpus * l->span_usec;
    if (!l->jobs && !l->odd && !busy && w->agree)
        bj_idle_learn(&l->idle[w->node], w->host_uj, l->span_usec);
    l->sums.idle_learnt = l->conf.idle_uw == 0;
    l->sums.idle_uw =
        l->conf.idle_uw ? l->conf.idle_uw : l->idle[w->node].value_uw;
}

void bj_ledger_settle(struct bj_ledger *l, uint64_t node_uj)
{
    struct window w = {0};
    struct bj_split s;
    for (enum bj_component c = 0; c < BJ_ENERGY_OTHER; c++) {
        w.uj[c] = bj_min64(l->sums.pending_uj[c], BJ_LEDGER_ENERGY_MAX);
        l->sums.pending_uj[c] -= w.uj[c];
    }
    take_other(l, node_uj, &w);
    take_static(l, &w);
    receivers(l, &w, &s);
    for (enum bj_component c = 0; c < BJ_COMPONENTS; c++)
        split_component(l, &s, &w, c);
    learn_idle(l, &w);
    l->sums.windows++;
    bj_ledger_window(l);
}

void bj_ledger_window(struct bj_ledger *l)
{
    for (size_t i = 0; i < l->n; i++) {
        struct bj_account *a = l->accounts[i];
        if (a->involved && l->gap)
            a->flagged = true;
        if (a->ended && !a->lingers)
            a->final = true;
        a->involved = false;
        memset(a->raw, 0, sizeof(a->raw));
    }
    l->span_usec = l->waited_usec = 0;
    l->odd = l->gap = l->jobs = false;
    l->node_cpu = l->node_mem = 0;
}

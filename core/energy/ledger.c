/* The ledger: accounts, ticks, windows and exact shares. */
#include "core/energy/ledger.h"

#include "core/energy/ledger_impl.h"

#include <stdlib.h>

/* Start a new window; closed accounts become final. */
static void ledger_window(struct bj_ledger *l);

/* --- exact shares: largest remainders over products of 128 bits -----------*/

/* Sums of scaled weights stay below 2^62: the sum of two fractions over the
 * product of two sums then fits in 128 bits. */
enum { SUM_BITS = 62 };

static unsigned bits(bj_u128 v)
{
    uint64_t high = (uint64_t)(v >> 64), low = (uint64_t)v;
    if (high)
        return 128 - (unsigned)__builtin_clzll(high);
    return low ? 64 - (unsigned)__builtin_clzll(low) : 0;
}

static void scale(struct bj_split *s, enum bj_weight kind)
{
    bj_u128 total = 0;
    for (size_t i = 0; i < s->n; i++)
        total += s->v[i].raw[kind];
    unsigned width = bits(total);
    unsigned shift = width > SUM_BITS ? width - SUM_BITS : 0;
    uint64_t sum = 0;
    for (size_t i = 0; i < s->n; i++)
        sum += s->v[i].weight[kind] = (uint64_t)(s->v[i].raw[kind] >> shift);
    s->sum[kind] = sum;
}

/* Scale the raw weights.  If all weights of a kind are 0, its energy goes to
 * unallocated (reservations, gpu) or system (usage). */
static void split_scale(struct bj_split *s)
{
    for (enum bj_weight kind = 0; kind < BJ_WEIGHTS; kind++) {
        scale(s, kind);
        if (s->sum[kind] > 0)
            continue;
        /* Energy without a reservation is unallocated; energy without use by a
         * job belongs to the system. */
        bool system = kind == BJ_W_CPU || kind == BJ_W_MEM;
        s->v[s->n - (system ? 2 : 1)].weight[kind] = 1;
        s->sum[kind] = 1;
    }
}

/* a * w / sum and its remainder; values of 0 are common. */
static uint64_t quotient(uint64_t a, uint64_t w, uint64_t sum, uint64_t *left)
{
    *left = 0;
    if (a == 0 || w == 0)
        return 0;
    bj_u128 product = (bj_u128)a * w;
    uint64_t q = (uint64_t)(product / sum);
    *left = (uint64_t)(product - (bj_u128)q * sum);
    return q;
}

static bool before(const struct bj_split *s, uint32_t a, uint32_t b)
{
    bj_u128 fa = s->v[a].fraction, fb = s->v[b].fraction;
    return fa != fb ? fa > fb : a < b;
}

static void swap(uint32_t *a, uint32_t *b)
{
    uint32_t t = *a;
    *a = *b;
    *b = t;
}

/* Partition lo to hi around the median of three; returns the new index of that
 * median. */
static size_t partition(const struct bj_split *s, size_t lo, size_t hi)
{
    uint32_t *o = s->order;
    size_t mid = lo + (hi - lo) / 2;
    if (before(s, o[mid], o[lo]))
        swap(&o[mid], &o[lo]);
    if (before(s, o[hi], o[lo]))
        swap(&o[hi], &o[lo]);
    if (before(s, o[mid], o[hi]))
        swap(&o[mid], &o[hi]);
    size_t at = lo;
    for (size_t i = lo; i < hi; i++)
        if (before(s, o[i], o[hi]))
            swap(&o[i], &o[at++]);
    swap(&o[at], &o[hi]);
    return at;
}

/* Add one to each of the k receivers with the largest fractions, which are
 * selected without sorting, in linear time. */
static void give_rest(struct bj_split *s, size_t k)
{
    if (k == 0)
        return;
    for (size_t i = 0; i < s->n; i++)
        s->order[i] = (uint32_t)i;
    size_t lo = 0, hi = s->n - 1;
    while (lo < hi) {
        size_t at = partition(s, lo, hi);
        if (at == k || at + 1 == k)
            break;
        if (at < k)
            lo = at + 1;
        else
            hi = at - 1;
    }
    for (size_t i = 0; i < k; i++)
        s->v[s->order[i]].uj++;
}

/* Divide still by reservation and moving by kind, in whole microjoules.  The
 * result of each receiver differs by less than one from the exact sum of its
 * two shares, and all results add up to still + moving.  Both are at most
 * BJ_LEDGER_ENERGY_MAX. */
static void split_share(struct bj_split *s, uint64_t still, uint64_t moving,
                        enum bj_weight kind)
{
    uint64_t given = 0, rs = s->sum[BJ_W_RESERVED], us = s->sum[kind];
    bj_u128 one = (bj_u128)rs * us;
    for (size_t i = 0; i < s->n; i++) {
        struct bj_receiver *r = &s->v[i];
        uint64_t a, b;
        r->uj = quotient(still, r->weight[BJ_W_RESERVED], rs, &a);
        r->uj += quotient(moving, r->weight[kind], us, &b);
        r->fraction = (bj_u128)a * us + (bj_u128)b * rs;
        if (r->fraction >= one) {
            r->fraction -= one;
            r->uj++;
        }
        given += r->uj;
    }
    give_rest(s, (size_t)(still + moving - given));
}

/* Divide part in proportion to the n values of v.  whole is the sum of v; part
 * is at most whole. */
static void share_few(uint64_t part, uint64_t whole, const uint64_t *v,
                      size_t n, uint64_t *ret)
{
    uint64_t left[BJ_COMPONENTS], rest = part;
    for (size_t i = 0; i < n; i++) {
        ret[i] = quotient(part, v[i], whole, &left[i]);
        rest -= ret[i];
    }
    for (; rest > 0; rest--) {
        size_t best = 0;
        for (size_t i = 1; i < n; i++)
            if (left[i] > left[best])
                best = i;
        ret[best]++;
        left[best] = 0;
    }
}

/* --- idle power -----------------------------------------------------------*/

/* Power of the node without jobs, learned from windows without jobs.
 *
 * The tenth percentile of the last windows: the minimum would keep the error of
 * one bad reading forever, and the median would include the power of occasional
 * work between jobs (updates, health checks).  Old windows are dropped, so that
 * the value can fall and rise with the machine. */

enum {
    ENOUGH = 10, /* minimum number of windows, so that one may be too low */
    SHORTEST_USEC = 1000000,
    PART = 10, /* one tenth */
};

/* Add a window without jobs that used uj in usec. */
static void idle_learn(struct bj_idle *idle, uint64_t uj, uint64_t usec)
{
    if (uj == 0 || usec < SHORTEST_USEC)
        return;
    bj_u128 uw = (bj_u128)uj * 1000000 / usec;
    idle->uw[idle->next] =
        (uint64_t)(uw < BJ_LEDGER_ENERGY_MAX ? uw : BJ_LEDGER_ENERGY_MAX);
    idle->next = (idle->next + 1) % BJ_IDLE_SAMPLES;
    if (idle->n < BJ_IDLE_SAMPLES)
        idle->n++;
    bj_idle_refresh(idle);
}

static void swap_samples(uint64_t *a, uint64_t *b)
{
    uint64_t t = *a;
    *a = *b;
    *b = t;
}

/* Moves as many of the lowest values to the front as needed; qsort(3) would
 * allocate. */
void bj_idle_refresh(struct bj_idle *idle)
{
    uint64_t v[BJ_IDLE_SAMPLES];
    size_t n = idle->n, rank = n / PART;
    idle->value_uw = 0;
    if (n < ENOUGH)
        return;
    memcpy(v, idle->uw, n * sizeof(v[0]));
    for (size_t i = 0; i <= rank; i++)
        for (size_t k = i + 1; k < n; k++)
            if (v[k] < v[i])
                swap_samples(&v[k], &v[i]);
    idle->value_uw = v[rank];
}

/* --- the end of a window: its energy is attributed ------------------------*/

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
    split_scale(s);
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
    split_share(s, 0, all, by_use[c]);
    give(l, s, BJ_USAGE, c);
    if (c == BJ_ENERGY_GPU) {
        give(l, s, BJ_HYBRID, c);
        give(l, s, BJ_RESERVATION, c);
        return;
    }
    if (still > 0)
        split_share(s, still, all - still, by_use[c]);
    give(l, s, BJ_HYBRID, c);
    split_share(s, all, 0, by_use[c]);
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
    share_few(part, w->host_uj, v, N, still);
    for (int i = 0; i < N; i++)
        w->still_uj[host[i]] = still[i];
}

static void learn_idle(struct bj_ledger *l, const struct window *w)
{
    bool busy = l->node_cpu * 50 >= (bj_u128)l->conf.cpus * l->span_usec;
    if (!l->jobs && !l->odd && !busy && w->agree)
        idle_learn(&l->idle[w->node], w->host_uj, l->span_usec);
    l->sums.idle_learnt = l->conf.idle_uw == 0;
    l->sums.idle_uw =
        l->conf.idle_uw ? l->conf.idle_uw : l->idle[w->node].value_uw;
}

/* Attribute the energy of the window.  node_uj: energy of the node, or
 * BJ_ABSENT. */
static void bj_ledger_settle(struct bj_ledger *l, uint64_t node_uj)
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
    ledger_window(l);
}

static void ledger_window(struct bj_ledger *l)
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

/* --- the input of a tick: energy, the jobs' usage, and the end of a window -*/

/* The default patience. */
static const uint64_t default_patience_usec = 180000000;

/* --- energy --------------------------------------------------------------- */

/* Count energy that a meter reported and that no job gets. */
static void miss(uint64_t *missed, uint64_t uj)
{
    *missed += bj_min64(uj, BJ_ABSENT - 1 - *missed);
}

/* Add the new energy of a component. */
static void ledger_take(struct bj_ledger *l, enum bj_component c,
                        uint64_t total_uj)
{
    struct bj_intake *in = &l->intake[c];
    struct bj_ledger_sums *sums = &l->sums;
    if (total_uj == BJ_ABSENT)
        return;
    uint64_t uj = 0;
    if (in->known && total_uj > in->last_uj)
        uj = total_uj - in->last_uj;
    if (in->live) {
        uint64_t d = bj_min64(uj, BJ_LEDGER_TOTAL_MAX - sums->taken_uj[c]);
        sums->taken_uj[c] += d;
        sums->pending_uj[c] += d;
        uj -= d;
    }
    miss(&sums->missed_uj[c], uj);
    *in = (struct bj_intake){total_uj, true, true, 0};
}

/* Without a total of accelerators, use the sum over their holders. */
static void take_given(struct bj_ledger *l)
{
    struct bj_ledger_sums *sums = &l->sums;
    uint64_t d = bj_min64(l->gpu_given_uj,
                          BJ_LEDGER_TOTAL_MAX - sums->taken_uj[BJ_ENERGY_GPU]);
    sums->taken_uj[BJ_ENERGY_GPU] += d;
    sums->pending_uj[BJ_ENERGY_GPU] += d;
}

static void take_energy(struct bj_ledger *l, const struct bj_tick *t)
{
    if (l->ticked && !l->intake[BJ_ENERGY_GPU].live &&
        t->total_uj[BJ_ENERGY_GPU] == BJ_ABSENT)
        take_given(l);
    l->gpu_given_uj = 0;
    ledger_take(l, BJ_ENERGY_CPU, t->total_uj[BJ_ENERGY_CPU]);
    ledger_take(l, BJ_ENERGY_DRAM, t->total_uj[BJ_ENERGY_DRAM]);
    ledger_take(l, BJ_ENERGY_GPU, t->total_uj[BJ_ENERGY_GPU]);
}

/* --- usage ---------------------------------------------------------------- */

/* The reservation of a job, in CPUs times bytes: the larger of its shares of
 * CPUs and memory, times the whole node (cpus * mem_bytes). */
static bj_u128 reserved(const struct bj_ledger *l, const struct bj_account *a)
{
    uint64_t cpus = l->conf.cpus, mem = l->conf.mem_bytes;
    bj_u128 by_cpus = 0, by_mem = 0;
    if (a->cpus != BJ_ABSENT && cpus)
        by_cpus = (bj_u128)bj_min64(a->cpus, cpus) * (mem ? mem : 1);
    if (a->mem_limit_bytes != BJ_ABSENT && mem)
        by_mem = (bj_u128)bj_min64(a->mem_limit_bytes, mem) * (cpus ? cpus : 1);
    return by_cpus > by_mem ? by_cpus : by_mem;
}

static uint64_t memory(uint64_t bytes)
{
    return bytes == BJ_ABSENT ? 0 : bj_min64(bytes, BJ_LEDGER_MEM_MAX);
}

static void add_weight(struct bj_account *a, enum bj_weight kind, bj_u128 w)
{
    a->raw[kind] = bj_weight_add(a->raw[kind], w);
}

/* Add the weights of reservation and memory, from the values at the begin and
 * at the end of the interval. */
static void weigh_time(struct bj_ledger *l, struct bj_account *a, uint64_t dt)
{
    uint64_t now = memory(a->mem_bytes), then = a->mem_seen_bytes;
    unsigned halves = a->born || a->closed ? 1 : 2;
    if (a->born)
        then = a->closed ? now : 0;
    if (a->closed)
        now = 0;
    add_weight(a, BJ_W_RESERVED, reserved(l, a) * halves * dt);
    add_weight(a, BJ_W_MEM, ((bj_u128)then + now) * dt);
}

/* Add energy of its accelerators from before its end, which arrived late. */
static void weigh_late(struct bj_account *a)
{
    if (a->final || a->gpu_new_uj == 0)
        return;
    add_weight(a, BJ_W_GPU, a->gpu_new_uj);
    a->gpu_new_uj = 0;
    a->involved = true;
}

static void weigh(struct bj_ledger *l, struct bj_account *a, uint64_t dt)
{
    if (a->unopened)
        return;
    if (a->ended) {
        weigh_late(a);
        return;
    }
    if (a->cpu_known && a->cpu_usec != BJ_ABSENT) {
        if (a->cpu_usec > a->cpu_seen_usec)
            add_weight(a, BJ_W_CPU, a->cpu_usec - a->cpu_seen_usec);
        a->cpu_seen_usec = a->cpu_usec;
    }
    if (!a->born || a->whole)
        weigh_time(l, a, dt);
    add_weight(a, BJ_W_GPU, a->gpu_new_uj);
    a->gpu_new_uj = 0;
    a->mem_seen_bytes = memory(a->mem_bytes);
    a->born = false;
    a->ended = a->closed;
    a->involved = true;
    l->jobs = true;
}

static void weigh_node(struct bj_ledger *l, const struct bj_tick *t,
                       uint64_t dt)
{
    if (t->cpu_usec == BJ_ABSENT || l->cpu_usec == BJ_ABSENT)
        l->odd = true;
    else if (t->cpu_usec > l->cpu_usec)
        l->node_cpu = bj_weight_add(l->node_cpu, t->cpu_usec - l->cpu_usec);
    uint64_t now = t->mem_bytes == BJ_ABSENT ? l->mem_bytes : t->mem_bytes;
    uint64_t then = l->mem_bytes == BJ_ABSENT ? now : l->mem_bytes;
    l->node_mem =
        bj_weight_add(l->node_mem, ((bj_u128)memory(now) + memory(then)) * dt);
    l->mem_bytes = now;
    if (t->cpu_usec != BJ_ABSENT)
        l->cpu_usec = t->cpu_usec;
}

/* --- windows -------------------------------------------------------------- */

/* The time since the last tick during which the machine was awake.  After a
 * suspend it is unknown, and the time between the two previous ticks is
 * used. */
static uint64_t awake_usec(struct bj_ledger *l, const struct bj_tick *t)
{
    uint64_t dt = 0;
    if (t->now_usec > l->tick_usec)
        dt = bj_min64(t->now_usec - l->tick_usec, BJ_LEDGER_TIME_MAX);
    l->gap = l->gap || l->resumed;
    l->odd = l->odd || l->resumed || t->suspended;
    if (t->suspended)
        return bj_min64(dt, l->interval_usec);
    if (!l->resumed)
        l->interval_usec = dt;
    return dt;
}

static uint64_t patience(const struct bj_ledger *l)
{
    return l->conf.patience_usec ? l->conf.patience_usec
                                 : default_patience_usec;
}

/* Was the node read again? */
static bool is_fresh(const struct bj_ledger *l, const struct bj_tick *t)
{
    return t->node_uj != BJ_ABSENT &&
           (!l->intake[BJ_ENERGY_OTHER].known ||
            t->node_stamp_usec != l->node_stamp_usec);
}

/* Whether the window waits for a meter that had values before and has none at
 * this tick.  After patience_usec the window no longer waits for it. */
static bool wait_for(struct bj_ledger *l, struct bj_intake *in, bool has_value,
                     uint64_t dt)
{
    if (has_value || !in->live) {
        in->silent_usec = 0;
        return false;
    }
    in->silent_usec = bj_min64(in->silent_usec + dt, BJ_LEDGER_TIME_MAX);
    in->live = in->silent_usec < patience(l);
    return in->live;
}

static bool wait_for_any(struct bj_ledger *l, const struct bj_tick *t,
                         uint64_t dt)
{
    bool wait = false;
    for (enum bj_component c = 0; c < BJ_COMPONENTS; c++) {
        bool value =
            c == BJ_ENERGY_OTHER ? is_fresh(l, t) : t->total_uj[c] != BJ_ABSENT;
        wait |= wait_for(l, &l->intake[c], value, dt);
        wait |= t->held[c];
    }
    return wait;
}

/* Whether meters were read, but have reported no new energy yet. */
static bool nothing_to_settle(const struct bj_ledger *l)
{
    bool live = false;
    for (enum bj_component c = 0; c < BJ_ENERGY_OTHER; c++) {
        live = live || l->intake[c].live;
        if (l->sums.pending_uj[c] > 0)
            return false;
    }
    return live;
}

/* Close the window with the node's new reading, or without the node if its
 * total did not grow, which means that its meter had a gap. */
static void end_window(struct bj_ledger *l, const struct bj_tick *t, bool fresh)
{
    struct bj_intake *node = &l->intake[BJ_ENERGY_OTHER];
    uint64_t uj = 0;
    if (fresh && node->known && t->node_uj > node->last_uj)
        uj = t->node_uj - node->last_uj;
    if (!node->live) {
        miss(&l->sums.node_missed_uj, uj);
        uj = 0;
    }
    uint64_t d = bj_min64(uj, BJ_LEDGER_TOTAL_MAX - l->sums.node_uj);
    d = bj_min64(d, BJ_LEDGER_ENERGY_MAX);
    miss(&l->sums.node_missed_uj, uj - d);
    bj_ledger_settle(l, d > 0 ? d : BJ_ABSENT);
    node->live = false;
    if (!fresh)
        return;
    *node = (struct bj_intake){t->node_uj, true, true, 0};
    l->node_stamp_usec = t->node_stamp_usec;
}

static void close_window(struct bj_ledger *l, const struct bj_tick *t,
                         uint64_t waited)
{
    bool fresh = is_fresh(l, t);
    bool wait = wait_for_any(l, t, waited);
    if (!fresh && nothing_to_settle(l))
        wait = true;
    l->waited_usec = bj_min64(l->waited_usec + waited, BJ_LEDGER_TIME_MAX);
    if (wait && l->waited_usec < patience(l))
        return;
    end_window(l, t, fresh);
}

static void first_tick(struct bj_ledger *l, const struct bj_tick *t)
{
    l->ticked = true;
    weigh_node(l, t, 0);
    if (t->node_uj == BJ_ABSENT)
        return;
    l->intake[BJ_ENERGY_OTHER] = (struct bj_intake){t->node_uj, true, true, 0};
    l->node_stamp_usec = t->node_stamp_usec;
}

void bj_ledger_tick(struct bj_ledger *l, const struct bj_tick *t)
{
    bool first = !l->ticked;
    uint64_t dt = first ? 0 : awake_usec(l, t);
    /* The time during which the program did not run does not count as
     * waiting. */
    uint64_t waited = l->resumed ? 0 : dt;
    take_energy(l, t);
    for (size_t i = 0; i < l->n; i++)
        weigh(l, l->accounts[i], dt);
    l->span_usec = bj_min64(l->span_usec + dt, BJ_LEDGER_TIME_MAX);
    if (first) {
        first_tick(l, t);
        ledger_window(l);
    } else {
        weigh_node(l, t, dt);
        close_window(l, t, waited);
    }
    l->resumed = false;
    l->tick_usec = l->sums.tick_usec =
        t->now_usec > l->tick_usec ? t->now_usec : l->tick_usec;
}

/* --- the ledger: accounts and their totals --------------------------------*/

const char *const bj_component_names[BJ_COMPONENTS] = {
    [BJ_ENERGY_CPU] = "cpu",
    [BJ_ENERGY_DRAM] = "dram",
    [BJ_ENERGY_GPU] = "gpu",
    [BJ_ENERGY_OTHER] = "other",
};

const char *const bj_policy_names[BJ_POLICIES] = {
    [BJ_HYBRID] = "hybrid",
    [BJ_USAGE] = "usage",
    [BJ_RESERVATION] = "reservation",
};

static uint64_t ledger_size(uint64_t value, uint64_t max)
{
    return value == BJ_ABSENT ? 0 : bj_min64(value, max);
}

/* Make room for one more account and its receiver, so that a tick allocates
 * nothing. */
static bool ledger_grow(struct bj_ledger *l)
{
    if (l->n < l->cap)
        return true;
    size_t cap = l->cap ? 2 * l->cap : 16;
    void *v = realloc(l->accounts, cap * sizeof(*l->accounts));
    if (v)
        l->accounts = v;
    void *r = realloc(l->receivers, (cap + 2) * sizeof(*l->receivers));
    if (r)
        l->receivers = r;
    void *o = realloc(l->order, (cap + 2) * sizeof(*l->order));
    if (o)
        l->order = o;
    if (v && r && o)
        l->cap = cap;
    return v && r && o;
}

struct bj_ledger *bj_ledger_new(const struct bj_ledger_conf *conf)
{
    struct bj_ledger *l = calloc(1, sizeof(*l));
    if (!l)
        return NULL;
    l->conf = *conf;
    l->conf.cpus = ledger_size(conf->cpus, BJ_LEDGER_CPUS_MAX);
    l->conf.mem_bytes = ledger_size(conf->mem_bytes, BJ_LEDGER_MEM_MAX);
    l->cpu_usec = l->mem_bytes = BJ_ABSENT;
    /* system and unallocated need room even without a job. */
    if (!ledger_grow(l)) {
        bj_ledger_free(l);
        return NULL;
    }
    return l;
}

void bj_ledger_free(struct bj_ledger *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->n; i++)
        free(l->accounts[i]);
    free(l->accounts);
    free(l->receivers);
    free(l->order);
    free(l);
}

struct bj_account *bj_ledger_add(struct bj_ledger *l, struct bj_slice key)
{
    if (!ledger_grow(l))
        return NULL;
    struct bj_account *a = calloc(1, sizeof(*a) + key.n + 1);
    if (!a)
        return NULL;
    char *name = (char *)(a + 1);
    if (key.n > 0)
        memcpy(name, key.p, key.n);
    a->key = (struct bj_slice){name, key.n};
    a->ledger = l;
    a->cpu_usec = a->mem_bytes = BJ_ABSENT;
    a->cpus = a->mem_limit_bytes = BJ_ABSENT;
    l->accounts[l->n++] = a;
    return a;
}

/* At the first tick after the restart, use continues from the saved value.
 * Later, that would be the use of many windows in one, so it starts again. */
static void reopen(struct bj_ledger *l, struct bj_account *a)
{
    a->unopened = a->closed = a->ended = a->final = false;
    l->unopened--;
    if (l->resumed || !l->ticked)
        return;
    a->born = a->flagged = true;
    a->whole = a->cpu_known = false;
}

static struct bj_account *find_unopened(const struct bj_ledger *l,
                                        struct bj_slice key)
{
    for (size_t i = 0; l->unopened > 0 && i < l->n; i++)
        if (l->accounts[i]->unopened && bj_slice_eq(l->accounts[i]->key, key))
            return l->accounts[i];
    return NULL;
}

struct bj_account *bj_ledger_open(struct bj_ledger *l, struct bj_slice key,
                                  bool whole)
{
    struct bj_account *a = find_unopened(l, key);
    if (a) {
        reopen(l, a);
    } else if ((a = bj_ledger_add(l, key))) {
        a->born = true;
        a->whole = a->cpu_known = whole;
    }
    return a;
}

/* Keep a known value until a newer one is known. */
static void learn(uint64_t *known, uint64_t value)
{
    if (value != BJ_ABSENT)
        *known = value;
}

void bj_account_use(struct bj_account *a, const struct bj_job_use *use)
{
    if (a->ended)
        return;
    if (!a->cpu_known && use->cpu_usec != BJ_ABSENT) {
        a->cpu_known = true;
        a->cpu_seen_usec = use->cpu_usec;
    }
    learn(&a->cpu_usec, use->cpu_usec);
    learn(&a->mem_bytes, use->mem_bytes);
    a->cpus = use->cpus;
    a->mem_limit_bytes = use->mem_limit_bytes;
}

void bj_account_gpu(struct bj_account *a, uint64_t delta_uj)
{
    if (a->final || delta_uj == BJ_ABSENT)
        return;
    uint64_t d = bj_min64(delta_uj, BJ_LEDGER_ENERGY_MAX - a->gpu_new_uj);
    a->gpu_new_uj += d;
    struct bj_ledger *l = a->ledger;
    l->gpu_given_uj += bj_min64(d, BJ_LEDGER_ENERGY_MAX - l->gpu_given_uj);
}

void bj_account_close(struct bj_account *a)
{
    a->closed = true;
}

void bj_account_linger(struct bj_account *a, bool lingers)
{
    a->lingers = lingers;
}

struct bj_slice bj_account_key(const struct bj_account *a)
{
    return a->key;
}

bool bj_account_final(const struct bj_account *a)
{
    return a->final;
}

bool bj_account_flagged(const struct bj_account *a)
{
    return a->flagged;
}

uint64_t bj_account_uj(const struct bj_account *a, enum bj_policy p,
                       enum bj_component c)
{
    return a->total_uj[p][c];
}

void bj_ledger_drop(struct bj_ledger *l, struct bj_account *a)
{
    size_t i = 0;
    if (!a)
        return;
    while (l->accounts[i] != a)
        i++;
    for (enum bj_policy p = 0; p < BJ_POLICIES; p++)
        for (enum bj_component c = 0; c < BJ_COMPONENTS; c++)
            l->sums.dropped_uj[p][c] += a->total_uj[p][c];
    if (a->unopened)
        l->unopened--;
    l->n--;
    memmove(l->accounts + i, l->accounts + i + 1,
            (l->n - i) * sizeof(*l->accounts));
    free(a);
}

bool bj_ledger_is_unopened(const struct bj_ledger *l, struct bj_slice key)
{
    return find_unopened(l, key) != NULL;
}

struct bj_account *bj_ledger_unopened(const struct bj_ledger *l,
                                      struct bj_slice *ret_key)
{
    for (size_t i = 0; l->unopened > 0 && i < l->n; i++)
        if (l->accounts[i]->unopened) {
            *ret_key = l->accounts[i]->key;
            return l->accounts[i];
        }
    return NULL;
}

void bj_ledger_sums(const struct bj_ledger *l, struct bj_ledger_sums *ret)
{
    *ret = l->sums;
}

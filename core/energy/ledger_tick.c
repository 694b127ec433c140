/* The input of a tick: energy, the jobs' usage, and the end of a window. */
#include "core/energy/ledger_impl.h"

/* The default patience. */
static const uint64_t default_patience_usec = 180000000;

/* --- energy --------------------------------------------------------------- */

/* Count energy that a meter reported and that no job gets. */
static void miss(uint64_t *missed, uint64_t uj)
{
    *missed += bj_min64(uj, BJ_ABSENT - 1 - *missed);
}

/* Add the new energy of a component. */
static void take(struct bj_ledger *l, enum bj_component c, uint64_t total_uj)
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
    take(l, BJ_ENERGY_CPU, t->total_uj[BJ_ENERGY_CPU]);
    take(l, BJ_ENERGY_DRAM, t->total_uj[BJ_ENERGY_DRAM]);
    take(l, BJ_ENERGY_GPU, t->total_uj[BJ_ENERGY_GPU]);
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
        bj_ledger_window(l);
    } else {
        weigh_node(l, t, dt);
        close_window(l, t, waited);
    }
    l->resumed = false;
    l->tick_usec = l->sums.tick_usec =
        t->now_usec > l->tick_usec ? t->now_usec : l->tick_usec;
}

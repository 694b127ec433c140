/* The ledger on random nodes: no microjoule is lost, no total falls, and each
 * receiver of each window gets what an independent oracle computes, to less
 * than one microjoule.
 *
 * The seed of each node is printed; BJ_SEED=N runs only that one. */
#include "tests/unit/lib/ledger_oracle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

static uint64_t rnd(struct node *n, uint64_t below)
{
    n->random ^= n->random << 13;
    n->random ^= n->random >> 7;
    n->random ^= n->random << 17;
    return below ? (n->random >> 11) % below : 0;
}

static bool chance(struct node *n, unsigned percent)
{
    return rnd(n, 100) < percent;
}

/* --- jobs ----------------------------------------------------------------- */

static void open_job(struct node *n, struct job *j)
{
    struct bj_slice key = {j->key, strlen(j->key)};
    j->account = bj_ledger_open(n->l, key, j->whole);
    assert_non_null(j->account);
}

static void begin_job(struct node *n, struct job *j)
{
    *j = (struct job){.is_new = true, .whole = !chance(n, 20)};
    n->serial++;
    snprintf(j->key, sizeof(j->key), "slurm/%u#%u", n->serial, n->serial);
    j->cpus = chance(n, 10) ? NONE : 1 + rnd(n, chance(n, 10) ? 300 : 32);
    j->limit = chance(n, 20) ? NONE : (1 + rnd(n, 96)) * GIB / 3;
    open_job(n, j);
    if (j->whole)
        return;
    j->seen_cpu = j->cpu_usec = rnd(n, 1000 * SEC);
    bj_account_use(j->account, &(struct bj_job_use){j->cpu_usec, NONE, 1, 1});
}

static void use_job(struct node *n, struct job *j)
{
    if (chance(n, n->busy_percent)) {
        uint64_t more = rnd(n, 80 * SEC);
        j->cpu_usec += more;
        n->cpu_usec += more;
    }
    bool readable = !chance(n, 5); /* else the memory could not be read */
    if (readable)
        j->mem = chance(n, 50) ? rnd(n, 16 * GIB) : j->mem;
    struct bj_job_use use = {j->cpu_usec, readable ? j->mem : NONE, j->cpus,
                             j->limit};
    bj_account_use(j->account, &use);
    if (n->gpu != GPU_NONE && chance(n, 20)) {
        uint64_t uj = rnd(n, 900 * SEC);
        bj_account_gpu(j->account, uj);
        n->gpu_uj += uj;
        n->reported_uj += uj;
        j->w[G] += (long double)uj;
    }
    if (chance(n, 6)) {
        bj_account_close(j->account);
        j->closed = true;
    }
}

/* --- meters --------------------------------------------------------------- */

static void draw(struct node *n, struct counter *c, uint64_t uj)
{
    c->unread += uj;
    n->wraps += c->raw + uj >= c->range;
    c->raw = (c->raw + uj) % c->range;
    n->node_uj += uj * n->node_percent / 100;
    /* Only where a reset cannot be mistaken for a wrap. */
    if (chance(n, 1) && c->accum.raw_uj < c->range / 16) {
        c->raw = 0;
        c->reset = true;
        n->resets++;
    }
}

/* The accumulated total of a counter, or NONE without a sample. */
static uint64_t sample(struct node *n, struct counter *c)
{
    struct bj_zone_sample s = {.energy_uj = c->raw,
                               .range_uj = c->range,
                               .power_uw = NONE,
                               .limit_uw = NONE,
                               .max_uw = NONE,
                               .stamp_usec = NONE};
    if (n->now <= c->accum.stamp_usec || (c->lost < 3 && chance(n, 5))) {
        c->lost++;
        return NONE;
    }
    /* After a fall that is no wrap the next reading decides. */
    bool first = c->accum.stamp_usec == 0, held = c->held != NONE;
    bool fell = c->raw < c->accum.raw_uj;
    bool lost = c->reset || (fell && c->accum.slept);
    bool waits = !first && fell && !held && lost;
    if (!first && !fell)
        c->want += c->raw - c->accum.raw_uj;
    else if (!first && held && c->raw >= c->held)
        c->want += c->raw - c->held;
    else if (!first && !waits && !(held && c->reset))
        c->want += c->unread;
    if (fell && held)
        waits = c->raw == c->held || (c->reset && c->raw < c->held);
    c->held = waits ? c->raw : NONE;
    bj_accum_take(&c->accum, &s, n->now, 5 * SEC);
    assert_int_equal(c->accum.total_uj, c->want);
    c->unread = 0;
    c->reset = false;
    c->lost = 0;
    return c->accum.total_uj;
}

/* The slow meter of the node: returns the same value until it is read again;
 * sometimes fails for a time, without a value or with an old one. */
static void read_node(struct node *n, struct bj_tick *t)
{
    if (!n->has_node)
        return;
    if (n->node_dead == 0 && chance(n, 1))
        n->node_dead = 1 + (unsigned)rnd(n, 40);
    if (n->node_dead > 0 && --n->node_dead > 0) {
        t->node_uj = n->node_dead & 16 ? NONE : n->node_reported_uj;
    } else if (n->node_wait-- == 0) {
        n->node_wait = (unsigned)rnd(n, 6);
        n->node_reported_uj = chance(n, 2) ? n->node_reported_uj : n->node_uj;
        n->node_stamp = n->now;
        t->node_uj = n->node_reported_uj;
    } else {
        t->node_uj = n->node_reported_uj;
    }
    t->node_stamp_usec = n->node_stamp;
}

static void read_meters(struct node *n, struct bj_tick *t, uint64_t dt)
{
    for (unsigned i = 0; i < 2; i++) {
        draw(n, &n->counter[i], rnd(n, (i ? 60 : 400) * dt + 1));
        n->counter[i].accum.slept |= t->suspended;
        t->total_uj[i] = sample(n, &n->counter[i]);
    }
    if (n->gpu == GPU_TOTAL) {
        n->gpu_uj += chance(n, 30) ? rnd(n, 300 * SEC) : 0;
        t->total_uj[BJ_ENERGY_GPU] =
            !n->first && chance(n, 5) ? NONE : n->gpu_uj;
    }
    n->node_uj += rnd(n, 500 * SEC);
    read_node(n, t);
    for (int c = 0; c < BJ_COMPONENTS; c++) {
        uint64_t v = c == BJ_ENERGY_OTHER ? t->node_uj : t->total_uj[c];
        if (n->first_uj[c] == NONE && v != NONE)
            n->first_uj[c] = v;
        n->meter_uj[c] = v;
    }
}

/* --- a node's life -------------------------------------------------------- */

/* CPU time of the root cgroup, with the inaccuracy of the kernel's ticks;
 * memory of the node, which may be less than that of its jobs. */
static void read_root(struct node *n, struct bj_tick *t, long double dt)
{
    uint64_t system = rnd(n, 8 * SEC);
    n->root_usec += (n->cpu_usec + system) * (80 + rnd(n, 30)) / 100;
    n->cpu_usec = 0;
    n->mem = rnd(n, 256 * GIB);
    t->cpu_usec = chance(n, 5) ? NONE : n->root_usec;
    t->mem_bytes = chance(n, 5) ? NONE : n->mem;
    if (t->cpu_usec != NONE && n->seen_root != NONE)
        n->node_cpu_weight += (long double)(t->cpu_usec - n->seen_root);
    if (t->cpu_usec != NONE)
        n->seen_root = t->cpu_usec;
    uint64_t now = t->mem_bytes != NONE ? t->mem_bytes : n->seen_mem;
    uint64_t then = n->seen_mem != NONE ? n->seen_mem : now;
    if (now != NONE)
        n->node_mem_weight += ((long double)now + (long double)then) / 2 * dt;
    n->seen_mem = now;
}

/* Advance the time. Returns the length of the interval for the ledger. */
static uint64_t advance_time(struct node *n, struct bj_tick *t)
{
    t->suspended = chance(n, 2);
    if (t->suspended)
        n->now += rnd(n, 7200 * SEC);
    else if (chance(n, 2) && n->counter[0].lost + n->counter[1].lost == 0)
        /* No boot clock goes back, but test it. Not after lost samples: their
         * energy would be too much for the shorter time. */
        n->now -= rnd(n, 2 * SEC);
    else
        n->now += SEC + rnd(n, 7 * SEC);
    t->now_usec = n->now;
    uint64_t dt = n->now > n->last_now ? n->now - n->last_now : 0;
    if (n->first)
        dt = n->last_now = 0;
    n->last_now = n->now > n->last_now ? n->now : n->last_now;
    if (t->suspended)
        return dt < n->interval ? dt : n->interval;
    if (!n->resumed && !n->first)
        n->interval = dt;
    return dt;
}

static void live_jobs(struct node *n)
{
    for (unsigned i = 0; i < n->max_jobs; i++) {
        struct job *j = &n->job[i];
        if (!j->account && chance(n, n->arrival_percent))
            begin_job(n, j);
        else if (j->account && chance(n, bj_account_final(j->account) ? 30 : 0))
            bj_ledger_drop(n->l, j->account), j->account = NULL;
        if (j->account && !j->closed)
            use_job(n, j);
    }
}

/* Check the account of a job after a window, and begin the next one. */
static void new_job_window(struct node *n, struct job *j)
{
    j->flagged |= j->involved && n->gap;
    assert_int_equal(bj_account_flagged(j->account), j->flagged);
    assert_int_equal(bj_account_final(j->account), j->ended);
    j->involved = false;
    memset(j->w, 0, sizeof(j->w));
    for (int p = 0; p < BJ_POLICIES; p++)
        for (int c = 0; c < BJ_COMPONENTS; c++)
            j->before[p][c] = bj_account_uj(j->account, (enum bj_policy)p,
                                            (enum bj_component)c);
}

static void new_window(struct node *n)
{
    for (unsigned i = 0; i < n->max_jobs; i++)
        if (n->job[i].account)
            new_job_window(n, &n->job[i]);
    n->node_cpu_weight = n->node_mem_weight = n->window_usec = 0;
    n->gap = false;
}

static void step(struct node *n)
{
    struct bj_tick t = {.total_uj = {NONE, NONE, NONE, NONE}, .node_uj = NONE};
    struct bj_ledger_sums is;
    uint64_t dt = advance_time(n, &t);
    live_jobs(n);
    read_meters(n, &t, dt);
    for (unsigned i = 0; i < n->max_jobs; i++)
        if (n->job[i].account && !n->job[i].ended)
            oracle_weigh(n, &n->job[i], (long double)dt);
    n->window_usec += (long double)dt;
    read_root(n, &t, (long double)dt);
    n->gap |= n->resumed;
    n->reported_uj = n->first ? 0 : n->reported_uj;
    bj_ledger_tick(n->l, &t);
    bj_ledger_sums(n->l, &is);
    oracle_sums(n, &is);
    if (is.windows != n->sums.windows)
        oracle_window(n, &is);
    if (n->first || is.windows != n->sums.windows)
        new_window(n);
    n->first = n->resumed = false;
    n->sums = is;
}

static void make_ledger(struct node *n)
{
    n->l = bj_ledger_new(&n->conf);
    assert_non_null(n->l);
}

/* A reboot: all counters and the ledger begin again. */
static void boot(struct node *n)
{
    bj_ledger_free(n->l);
    make_ledger(n);
    memset(n->job, 0, sizeof(n->job));
    memset(&n->sums, 0, sizeof(n->sums));
    memset(n->counter, 0, sizeof(n->counter));
    n->counter[0].held = n->counter[1].held = NONE;
    n->counter[0].range = 65532610987;
    n->counter[1].range = 262143328850;
    n->counter[0].raw = rnd(n, n->counter[0].range);
    n->counter[1].raw = n->counter[1].range - rnd(n, 1000 * SEC);
    n->now = n->last_now = 60 * SEC;
    n->interval = n->gpu_uj = n->reported_uj = n->node_uj =
        n->node_reported_uj = 0;
    n->node_stamp = n->cpu_usec = n->root_usec = 0;
    n->node_wait = n->node_dead = 0;
    n->seen_root = n->seen_mem = NONE;
    for (int c = 0; c < BJ_COMPONENTS; c++)
        n->first_uj[c] = n->meter_uj[c] = NONE;
    n->first = true;
    n->resumed = n->gap = false;
    n->node_cpu_weight = n->node_mem_weight = n->window_usec = 0;
}

/* Drop the accounts of jobs that ended during the restart. */
static void drop_unopened(struct node *n)
{
    struct bj_account *a;
    struct bj_slice key;
    while ((a = bj_ledger_unopened(n->l, &key)))
        bj_ledger_drop(n->l, a);
}

static void reopen_job(struct node *n, struct job *j)
{
    if (!j->account)
        return;
    j->account = NULL;
    if (j->closed || chance(n, 10))
        return;
    open_job(n, j);
    for (int p = 0; p < BJ_POLICIES; p++)
        for (int c = 0; c < BJ_COMPONENTS; c++)
            assert_int_equal(bj_account_uj(j->account, (enum bj_policy)p,
                                           (enum bj_component)c),
                             j->before[p][c]);
}

static void restart(struct node *n)
{
    const struct bj_slice here = BJ_SLICE("a-boot");
    struct bj_buf text = {0};
    struct bj_slice extra;
    struct bj_ledger_sums is;
    struct bj_err err = {0};
    bool same = false;
    bj_ledger_save(n->l, here, BJ_SLICE("zone 1\nzone 2\n"), &text);
    bj_ledger_free(n->l);
    make_ledger(n);
    assert_int_equal(bj_ledger_load(n->l, (struct bj_slice){text.p, text.len},
                                    here, &extra, &same, &err),
                     0);
    assert_true(same && bj_slice_eq(extra, BJ_SLICE("zone 1\nzone 2\n")));
    bj_ledger_sums(n->l, &is);
    assert_memory_equal(&is, &n->sums, sizeof(is));
    bj_buf_free(&text);
    for (unsigned i = 0; i < n->max_jobs; i++)
        reopen_job(n, &n->job[i]);
    drop_unopened(n);
    bj_ledger_sums(n->l, &n->sums);
    n->now += rnd(n, 15 * SEC);
    n->resumed = !n->first;
    n->restarts++;
}

static void run_node(uint64_t seed, unsigned max_jobs, unsigned *checked)
{
    struct node *n = calloc(1, sizeof(*n));
    n->random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    n->max_jobs = max_jobs;
    for (int i = 0; i < 16; i++)
        rnd(n, 0);
    n->conf = (struct bj_ledger_conf){
        .idle_uw = chance(n, 70) ? 120 * SEC : 1,
        .cpus = NODE_CPUS,
        .mem_bytes = 256 * GIB,
        .patience_usec = 60 * SEC,
    };
    n->busy_percent = chance(n, 20) ? 0 : (unsigned)rnd(n, 100);
    n->arrival_percent = (unsigned)rnd(n, 30);
    n->gpu = (enum gpu)rnd(n, 3);
    n->has_node = chance(n, 70);
    n->node_percent = chance(n, 20) ? 85 : 100 + (unsigned)rnd(n, 100);
    boot(n);
    for (int i = 0; i < TICKS; i++) {
        step(n);
        if (chance(n, 3))
            restart(n);
        if (chance(n, 1))
            boot(n);
    }
    *checked += n->checked;
    print_message("# seed %llu: %u windows, %u restarts, %u wraps, %u resets, "
                  "%u deficits, %u shares\n",
                  (unsigned long long)seed, n->windows, n->restarts, n->wraps,
                  n->resets, n->deficits, n->checked);
    bj_ledger_free(n->l);
    free(n);
}

static void run_nodes(unsigned max_jobs, uint64_t from, uint64_t to)
{
    const char *only = getenv("BJ_SEED");
    unsigned checked = 0;
    uint64_t seed;
    if (only && bj_slice_u64(bj_slice_str(only), &seed) == 0)
        from = to = seed;
    for (seed = from; seed <= to; seed++)
        run_node(seed, max_jobs, &checked);
    assert_true(only || checked > 10000);
}

static void a_few_jobs(void **state)
{
    (void)state;
    run_nodes(6, 1, 60);
}

static void two_hundred_jobs(void **state)
{
    (void)state;
    run_nodes(MAX_JOBS, 101, 104);
}

/* New seeds at each run. */
static void seeds_of_today(void **state)
{
    (void)state;
    uint64_t seed = (uint64_t)time(NULL);
    run_nodes(20, seed, seed + 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_few_jobs),
        cmocka_unit_test(two_hundred_jobs),
        cmocka_unit_test(seeds_of_today),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

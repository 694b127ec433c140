/* The ledger: accounts and their totals. */
#include "core/energy/ledger.h"
#include "core/energy/ledger_impl.h"

#include <stdlib.h>

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

static uint64_t size(uint64_t value, uint64_t max)
{
    return value == BJ_ABSENT ? 0 : bj_min64(value, max);
}

/* Make room for one more account and its receiver, so that a tick allocates
 * nothing. */
static bool grow(struct bj_ledger *l)
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
    l->conf.cpus = size(conf->cpus, BJ_LEDGER_CPUS_MAX);
    l->conf.mem_bytes = size(conf->mem_bytes, BJ_LEDGER_MEM_MAX);
    l->cpu_usec = l->mem_bytes = BJ_ABSENT;
    /* system and unallocated need room even without a job. */
    if (!grow(l)) {
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
    if (!grow(l))
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

#include "report/period.h"

#include "report/period_day.h"

#include "base/hash.h"
#include "statsdb/best.h"

#include <stdlib.h>
#include <string.h>

enum { MICRO = 1000000, SLOTS = 1 << 16 };

void bj_period_free(struct bj_period *p)
{
    bj_arena_free(&p->arena);
    free(p->group);
    free(p->slot);
    *p = (struct bj_period){.by_user = false};
}

/* --- sums ------------------------------------------------------------------
 */

static void plus(int64_t *sum, int64_t v)
{
    int64_t s;
    if (v > 0 && !__builtin_add_overflow(*sum, v, &s))
        *sum = s;
}

static int64_t times(int64_t a, int64_t b)
{
    return bj_best_ratio(a, b, 1);
}

static void count(struct bj_period_sums *s, struct bj_slice state)
{
    const struct {
        const char *state;
        int64_t *to;
    } states[] = {{"completed", &s->completed},
                  {"failed", &s->failed},
                  {"node_fail", &s->failed},
                  {"boot_fail", &s->failed},
                  {"timeout", &s->timeout},
                  {"deadline", &s->timeout},
                  {"oom", &s->oom},
                  {"cancelled", &s->cancelled},
                  {"pending", &s->open},
                  {"running", &s->open},
                  {"suspended", &s->open}};
    s->jobs++;
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
        if (bj_slice_eq(state, bj_slice_str(states[i].state)))
            ++*states[i].to;
}

static void add(struct bj_period_sums *s, const struct bj_period_job *j)
{
    int64_t cpu = times(times(j->cpus, j->elapsed_sec), MICRO);
    int64_t gpu = times(times(j->gpus, j->elapsed_sec), MICRO);
    count(s, j->state);
    plus(&s->cpu, cpu);
    if (j->cpu_usec != BJ_SQL_NULL) {
        plus(&s->cpu_known, cpu);
        plus(&s->cpu_used, j->cpu_usec);
    }
    plus(&s->gpu, gpu);
    if (j->gpu_ppm != BJ_SQL_NULL) {
        plus(&s->gpu_known, gpu);
        plus(&s->gpu_used, bj_best_ratio(gpu, j->gpu_ppm, MICRO));
    }
    if (j->energy_uj != BJ_SQL_NULL)
        plus(&s->energy_cpu, cpu);
    plus(&s->energy_uj, j->energy_uj);
    if (j->emissions_ug != BJ_SQL_NULL)
        plus(&s->emissions_cpu, cpu);
    plus(&s->emissions_ug, j->emissions_ug);
    if (j->cost == BJ_SQL_NULL)
        return;
    s->cost_jobs++;
    plus(&s->cost, j->cost);
    if (j->cost_is_minimum == 0)
        plus(&s->cost_cpu, cpu);
}

/* Find or make the group with a name; NULL: out of memory. */
static struct bj_period_sums *group_of(struct bj_period *p,
                                       struct bj_slice name)
{
    if (!p->slot)
        p->slot = calloc(SLOTS, sizeof(*p->slot));
    if (!p->slot || p->groups >= SLOTS / 2)
        return NULL;
    uint32_t i = (uint32_t)bj_hash(BJ_HASH, name) & (SLOTS - 1);
    for (; p->slot[i] > 0; i = (i + 1) & (SLOTS - 1))
        if (bj_slice_eq(p->group[p->slot[i] - 1].name, name))
            return &p->group[p->slot[i] - 1];
    if (p->groups == p->groups_cap) {
        size_t cap = p->groups_cap ? 2 * p->groups_cap : 64;
        struct bj_period_sums *v =
            reallocarray(p->group, cap, sizeof(*p->group));
        if (!v)
            return NULL;
        p->group = v;
        p->groups_cap = cap;
    }
    struct bj_period_sums *s = &p->group[p->groups++];
    *s = (struct bj_period_sums){.name = bj_arena_copy(&p->arena, name)};
    p->slot[i] = (uint32_t)p->groups;
    return s;
}

/* --- waste -----------------------------------------------------------------
 */

/* Insert a job among those with the largest waste. */
static void waste(struct bj_period *p, enum bj_waste which, int64_t amount,
                  int64_t ppm, const struct bj_period_job *j)
{
    struct bj_waster *v = p->waster[which];
    unsigned n = p->wasters[which];
    if (amount <= 0 || (n == BJ_WASTERS && v[n - 1].amount >= amount))
        return;
    p->wasters[which] = n < BJ_WASTERS ? n + 1 : n;
    unsigned at = n < BJ_WASTERS ? n : n - 1;
    for (; at > 0 && v[at - 1].amount < amount; at--)
        v[at] = v[at - 1];
    v[at] = (struct bj_waster){bj_arena_copy(&p->arena, j->id),
                               bj_arena_copy(&p->arena, j->user),
                               bj_arena_copy(&p->arena, j->name),
                               bj_arena_copy(&p->arena, j->findings),
                               amount,
                               ppm};
}

static void add_waste(struct bj_period *p, const struct bj_period_job *j)
{
    int64_t cpu = times(times(j->cpus, j->elapsed_sec), MICRO);
    int64_t gpu = times(times(j->gpus, j->elapsed_sec), MICRO);
    int64_t ppm = bj_best_ratio(j->cpu_usec, MICRO, cpu);
    if (gpu > 0 && j->gpu_ppm != BJ_SQL_NULL && j->gpu_ppm <= MICRO)
        waste(p, BJ_WASTE_GPU, bj_best_ratio(gpu, MICRO - j->gpu_ppm, MICRO),
              j->gpu_ppm, j);
    if (!(gpu > 0) && cpu > 0 && j->cpu_usec != BJ_SQL_NULL)
        waste(p, BJ_WASTE_CPU, cpu - j->cpu_usec, ppm, j);
    /* A job that ran out of memory needed more. */
    if (j->memory_bytes > j->memory_peak_bytes && j->memory_peak_bytes >= 0 &&
        !bj_slice_eq(j->state, BJ_SLICE("oom")))
        waste(p, BJ_WASTE_MEMORY,
              times((j->memory_bytes - j->memory_peak_bytes) >> 20,
                    j->elapsed_sec),
              bj_best_ratio(j->memory_peak_bytes, MICRO, j->memory_bytes), j);
}

static void add_findings(struct bj_period *p, struct bj_slice names)
{
    struct bj_slice name;
    while (names.n > 0 && bj_slice_field(&names, ',', &name)) {
        unsigned i = 0;
        while (i < p->findings && !bj_slice_eq(p->finding[i].name, name))
            i++;
        if (i == sizeof(p->finding) / sizeof(p->finding[0]))
            continue;
        if (i == p->findings)
            p->finding[p->findings++] =
                (struct bj_period_count){bj_arena_copy(&p->arena, name), 0};
        p->finding[i].jobs++;
    }
}

void bj_period_add(struct bj_period *p, const struct bj_period_job *j)
{
    struct bj_period_sums *group =
        group_of(p, p->by_user ? j->user : j->account);
    if (!group) {
        p->arena.failed = true;
        return;
    }
    if (j->end_sec > p->last_sec)
        p->last_sec = j->end_sec;
    if (j->currency.n > 0 && p->currency.n == 0)
        p->currency = bj_arena_copy(&p->arena, j->currency);
    add(&p->all, j);
    add(group, j);
    add_waste(p, j);
    add_findings(p, j->findings);
    bj_period_add_day(p, j);
}

/* --- order -----------------------------------------------------------------
 */

static int by_cpu(const void *a, const void *b)
{
    const struct bj_period_sums *x = a, *y = b;
    if (x->cpu != y->cpu)
        return x->cpu < y->cpu ? 1 : -1;
    return x->name.n != y->name.n
               ? (x->name.n > y->name.n) - (x->name.n < y->name.n)
               : memcmp(x->name.p, y->name.p, x->name.n);
}

static int by_jobs(const void *a, const void *b)
{
    const struct bj_period_count *x = a, *y = b;
    return (x->jobs < y->jobs) - (x->jobs > y->jobs);
}

void bj_period_settle(struct bj_period *p)
{
    if (p->groups > 0)
        qsort(p->group, p->groups, sizeof(*p->group), by_cpu);
    qsort(p->finding, p->findings, sizeof(p->finding[0]), by_jobs);
    free(p->slot); /* its indexes refer to the old order */
    p->slot = NULL;
}

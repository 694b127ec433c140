#include "report/period/period.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/local.h"
#include "base/tz.h"
#include "report/chart/charts.h"
#include "sched/state.h"
#include "statsdb/tables/best.h"

#include <stdlib.h>
#include <string.h>

/* The sums of a period by day. */

enum { DAY = 86400, MICRO = 1000000 };

void bj_period_by_day(struct bj_period *p, int64_t now_sec)
{
    const struct bj_tz *tz = bj_tz_used();
    const int64_t until = p->until_sec < now_sec ? p->until_sec : now_sec + 1;
    if (p->since_sec < 0 || until <= p->since_sec ||
        until - p->since_sec > (BJ_PERIOD_DAYS + 1) * (int64_t)DAY)
        return;
    const int64_t first = bj_tz_day(tz, p->since_sec);
    const int64_t days = bj_tz_day(tz, until - 1) - first + 1;
    if (days < 2 || days > BJ_PERIOD_DAYS)
        return;
    p->first_day = first;
    p->days = (unsigned)days;
}

static void period_add_day(struct bj_period *p, const struct bj_period_job *j)
{
    const struct bj_tz *tz = bj_tz_used();
    int64_t start, stop;
    if (p->days == 0 || !bj_bill_time(&j->use, &start, &stop))
        return;
    int64_t day = bj_tz_day(tz, start > p->since_sec ? start : p->since_sec);
    for (; day <= bj_tz_day(tz, stop) && day < p->first_day + p->days; day++) {
        struct bj_bill b;
        int64_t from = bj_tz_midnight(tz, day),
                to = bj_tz_midnight(tz, day + 1);
        from = from < p->since_sec ? p->since_sec : from;
        to = to > p->until_sec ? p->until_sec : to;
        if (day < p->first_day || !bj_bill_of_job(&j->use, from, to, &b))
            continue;
        struct bj_period_day *d = &p->day[day - p->first_day];
        d->cpu += bj_best_ratio(b.cpu_sec, MICRO, 1);
        d->cpu_used += bj_best_ratio(b.cpu_used_msec, 1000, 1);
    }
}

void bj_period_charts(const struct bj_period *p, struct bj_charts *ret)
{
    double *used = bj_arena_alloc(&ret->arena, BJ_PERIOD_DAYS * sizeof(*used));
    double *all = bj_arena_alloc(&ret->arena, BJ_PERIOD_DAYS * sizeof(*all));
    struct bj_chart *k = &ret->chart[ret->charts];
    if (!used || !all || p->days == 0 || p->all.cpu <= 0 ||
        ret->charts == BJ_CHARTS)
        return;
    for (unsigned i = 0; i < p->days; i++) {
        used[i] = (double)p->day[i].cpu_used / 3.6e9;
        all[i] = (double)p->day[i].cpu / 3.6e9;
    }
    *k = (struct bj_chart){
        .kind = BJ_CHART_DAYS,
        .title = bj_local("CPU hours by day"),
        .unit = BJ_CHART_HOURS,
        .start = p->first_day * DAY,
        .from = p->first_day * DAY,
        .step = DAY,
        .points = p->days,
        .line = {{bj_local(p->all.cpu_known < p->all.cpu ? "used, where known"
                                                         : "used"),
                  used, false},
                 {bj_local("allocated"), all, true}},
        .lines = 2};
    ret->charts++;
}

enum { SLOTS = 1 << 16 };

const struct bj_period_group bj_period_groups[BJ_PERIOD_BYS] = {
    [BJ_PERIOD_BY_ACCOUNT] = {"account", "accounts", "Accounts", "(none)"},
    [BJ_PERIOD_BY_USER] = {"user", "users", "Users", "(none)"},
    [BJ_PERIOD_BY_APPLICATION] = {"application", "applications", "Applications",
                                  "not recognised"}};

void bj_period_free(struct bj_period *p)
{
    bj_arena_free(&p->arena);
    free(p->group);
    free(p->finding);
    free(p->slot);
    *p = (struct bj_period){.groups = 0};
}

/* --- sums ------------------------------------------------------------------
 */

static int64_t period_times(int64_t a, int64_t b)
{
    return bj_best_ratio(a, b, 1);
}

static void period_count(struct bj_period_sums *s, struct bj_slice state)
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

static void period_add(struct bj_period_sums *s, const struct bj_period_job *j,
                       const struct bj_bill *b)
{
    period_count(s, j->state);
    bj_bill_add(&s->bill, b);
}

/* Compute the figures of a bill. */
static void period_settle(struct bj_period_sums *s,
                          const struct bj_prices *prices)
{
    const struct bj_bill *b = &s->bill;
    s->cpu = period_times(b->cpu_sec, MICRO);
    s->cpu_known = period_times(b->cpu_known_sec, MICRO);
    s->cpu_used = period_times(b->cpu_used_msec, 1000);
    s->gpu = period_times(b->gpu_sec, MICRO);
    s->gpu_known = period_times(b->gpu_known_sec, MICRO);
    s->gpu_used = period_times(b->gpu_used_msec, 1000);
    s->energy_uj =
        b->energy_cpu_sec > 0 ? period_times(b->energy_mj, 1000) : BJ_SQL_NULL;
    s->energy_known = bj_bill_energy_known(b);
    s->emissions_ug = b->emissions_mj > 0 ? b->emissions_ug : BJ_SQL_NULL;
    s->emissions_known = bj_bill_emissions_known(b);
    s->cost = bj_bill_cost(b, prices);
    s->cost_known = bj_bill_cost_known(b, prices);
    s->not_charged = bj_bill_not_charged(b, prices);
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
    if (!BJ_GROW(p->group, p->groups + 1, p->groups_cap))
        return NULL;
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

static void add_waste(struct bj_period *p, const struct bj_period_job *j,
                      const struct bj_bill *b)
{
    const int64_t memory = j->memory_bytes, peak = j->memory_peak_bytes;
    if (j->use.hardware_failed)
        return;
    if (b->gpu_known_sec > 0)
        waste(p, BJ_WASTE_GPU,
              period_times(b->gpu_known_sec, MICRO) -
                  period_times(b->gpu_used_msec, 1000),
              bj_best_ratio(b->gpu_used_msec, 1000, b->gpu_known_sec), j);
    if (b->gpu_sec <= 0 && b->cpu_known_sec > 0)
        waste(p, BJ_WASTE_CPU,
              period_times(b->cpu_known_sec, MICRO) -
                  period_times(b->cpu_used_msec, 1000),
              bj_best_ratio(b->cpu_used_msec, 1000, b->cpu_known_sec), j);
    /* A job that ran out of memory needed more. */
    if (peak >= 0 && memory > peak && b->mem_mib_sec > 0 &&
        !bj_slice_eq(j->state, BJ_SLICE("oom")))
        waste(p, BJ_WASTE_MEMORY,
              bj_best_ratio(b->mem_mib_sec, memory - peak, memory),
              bj_best_ratio(peak, MICRO, memory), j);
}

static void add_findings(struct bj_period *p, struct bj_slice names)
{
    struct bj_slice name;
    while (names.n > 0 && bj_slice_field(&names, ',', &name)) {
        size_t i = 0;
        while (i < p->findings && !bj_slice_eq(p->finding[i].name, name))
            i++;
        if (i == p->findings) {
            if (!BJ_GROW(p->finding, i + 1, p->findings_cap)) {
                p->arena.failed = true;
                return;
            }
            p->finding[p->findings++] =
                (struct bj_period_count){bj_arena_copy(&p->arena, name), 0};
        }
        p->finding[i].jobs++;
    }
}

void bj_period_add(struct bj_period *p, const struct bj_period_job *j)
{
    struct bj_bill b;
    if (!bj_bill_of_job(&j->use, p->since_sec, p->until_sec, &b))
        return;
    struct bj_period_sums *group =
        group_of(p, p->by == BJ_PERIOD_BY_USER          ? j->user
                    : p->by == BJ_PERIOD_BY_APPLICATION ? j->application
                                                        : j->account);
    if (!group) {
        p->arena.failed = true;
        return;
    }
    if (j->use.end > p->last_sec)
        p->last_sec = j->use.end;
    period_add(&p->all, j, &b);
    period_add(group, j, &b);
    add_waste(p, j, &b);
    add_findings(p, j->findings);
    period_add_day(p, j);
}

/* --- order -----------------------------------------------------------------
 */

static int period_by_name(struct bj_slice x, struct bj_slice y)
{
    const size_t n = x.n < y.n ? x.n : y.n;
    const int r = n > 0 ? memcmp(x.p, y.p, n) : 0;
    return r != 0 ? r : (x.n > y.n) - (x.n < y.n);
}

static int by_cpu(const void *a, const void *b)
{
    const struct bj_period_sums *x = a, *y = b;
    if (x->cpu != y->cpu)
        return x->cpu < y->cpu ? 1 : -1;
    return period_by_name(x->name, y->name);
}

static int by_jobs(const void *a, const void *b)
{
    const struct bj_period_count *x = a, *y = b;
    return x->jobs != y->jobs ? (x->jobs < y->jobs) - (x->jobs > y->jobs)
                              : period_by_name(x->name, y->name);
}

void bj_period_settle(struct bj_period *p)
{
    period_settle(&p->all, &p->prices);
    for (size_t i = 0; i < p->groups; i++)
        period_settle(&p->group[i], &p->prices);
    if (p->groups > 0)
        qsort(p->group, p->groups, sizeof(*p->group), by_cpu);
    if (p->findings > 0)
        qsort(p->finding, p->findings, sizeof(*p->finding), by_jobs);
    free(p->slot); /* its indexes refer to the old order */
    p->slot = NULL;
}

/* --- jobs as columns ----------------------------------------------------
 */

enum {
    ID,
    USER,
    ACCOUNT,
    APPLICATION,
    NAME,
    STATE,
    FINDINGS,
    TEXTS,
    ELAPSED = TEXTS,
    CPU_SEC,
    CPU_USED,
    GPU_SEC,
    GPU_EFFICIENCY,
    MEMORY,
    MEMORY_TIME,
    PEAK,
    ENERGY,
    EMISSIONS,
    START,
    COVERED,
    SUSPENDED,
    HARDWARE_FAILED,
    END
};

_Static_assert((int)END + 1 == (int)BJ_PERIOD_COLUMNS, "columns");

static const char *const names[BJ_PERIOD_COLUMNS] = {
    [ID] = "display_id",
    [USER] = "user",
    [ACCOUNT] = "account",
    [APPLICATION] = "application",
    [NAME] = "name",
    [STATE] = "state",
    [FINDINGS] = "finding_names",
    [ELAPSED] = "elapsed_seconds",
    [CPU_SEC] = "cpu_allocated_seconds",
    [CPU_USED] = "cpu_used_seconds",
    [GPU_SEC] = "gpu_allocated_seconds",
    [GPU_EFFICIENCY] = "gpu_efficiency_percent",
    [MEMORY] = "memory_allocated_bytes",
    [MEMORY_TIME] = "memory_allocated_mib_seconds",
    [PEAK] = "memory_peak_bytes",
    [ENERGY] = "energy_joules",
    [EMISSIONS] = "emissions_grams",
    [START] = "start",
    [COVERED] = "emissions_covered_percent",
    [SUSPENDED] = "suspended_seconds",
    [HARDWARE_FAILED] = "hardware_failed",
    [END] = "end"};

const struct bj_column *const *bj_period_columns(void)
{
    static _Thread_local const struct bj_column *column[BJ_PERIOD_COLUMNS];
    for (unsigned i = 0; !column[END] && i < BJ_PERIOD_COLUMNS; i++)
        column[i] = bj_job_column(bj_slice_str(names[i]));
    return column;
}

typedef int value_fn(void *ctx, unsigned i, struct bj_job_value *ret,
                     struct bj_err *err);

/* Texts are valid only until the next call, so they are collected first. */
static int read_texts(struct bj_buf *texts, value_fn *value, void *ctx,
                      struct bj_slice text[TEXTS], struct bj_err *err)
{
    size_t at[TEXTS], len[TEXTS];
    struct bj_job_value v;
    texts->len = 0;
    for (unsigned i = 0; i < TEXTS; i++) {
        int r = value(ctx, i, &v, err);
        if (r < 0)
            return r;
        at[i] = texts->len;
        len[i] = v.known ? v.text.n : 0;
        if (v.known)
            bj_buf_slice(texts, v.text);
    }
    if (texts->failed)
        return bj_err_set(err, -ENOMEM, "report");
    for (unsigned i = 0; i < TEXTS; i++)
        text[i] = (struct bj_slice){texts->p ? texts->p + at[i] : "", len[i]};
    return 0;
}

int bj_period_take(struct bj_period *p, struct bj_buf *texts, value_fn *value,
                   void *ctx, struct bj_err *err)
{
    struct bj_slice text[TEXTS];
    int64_t v[BJ_PERIOD_COLUMNS];
    for (unsigned i = TEXTS; i < BJ_PERIOD_COLUMNS; i++) {
        struct bj_job_value one;
        int r = value(ctx, i, &one, err);
        if (r < 0)
            return r;
        v[i] = one.known ? one.number : BJ_SQL_NULL;
    }
    int r = read_texts(texts, value, ctx, text, err);
    if (r < 0)
        return r;
    bj_period_add(p, &(struct bj_period_job){
                         .id = text[ID],
                         .user = text[USER],
                         .account = text[ACCOUNT],
                         .application = text[APPLICATION],
                         .name = text[NAME],
                         .state = text[STATE],
                         .findings = text[FINDINGS],
                         .use = {.start = v[START],
                                 .end = v[END],
                                 .elapsed = v[ELAPSED],
                                 .suspended = v[SUSPENDED],
                                 .cpu_sec = v[CPU_SEC],
                                 .gpu_sec = v[GPU_SEC],
                                 .mem_mib_sec = v[MEMORY_TIME],
                                 .cpu_usec = v[CPU_USED],
                                 .gpu_ppm = v[GPU_EFFICIENCY],
                                 .energy_uj = v[ENERGY],
                                 .emissions_ug = v[EMISSIONS],
                                 .emissions_covered_ppm = v[COVERED],
                                 .hardware_failed = v[HARDWARE_FAILED] == 1},
                         .memory_bytes = v[MEMORY],
                         .memory_peak_bytes = v[PEAK]});
    return p->arena.failed ? bj_err_set(err, -ENOMEM, "report") : 0;
}

#include "statsdb/derive/derive_impl.h"

#include "base/json.h"

#include <stdlib.h>
#include <string.h>

/* Limit: hours of ten years. */
enum { BINS_MAX = 100000 };

static struct bj_st *bind_job(struct bj_derive *d, int which)
{
    bj_st_bind_i64(d->st[which], 1, d->job.id);
    return d->st[which];
}

/* Like bind_job(), for the records of the job. */
static struct bj_st *bound_records(struct bj_derive *d, int which)
{
    struct bj_st *st = bind_job(d, which);
    bj_st_bind_i64(st, 2, d->job.v[BJ_DJ_RECORDS_FIRST]);
    bj_st_bind_i64(st, 3, d->job.v[BJ_DJ_RECORDS_END]);
    return st;
}

static void copy_text(struct bj_st *st, int col, char *to, size_t cap)
{
    struct bj_slice s = bj_st_get_text(st, col);
    size_t n = s.n < cap ? s.n : cap - 1;
    if (n > 0)
        memcpy(to, s.p, n);
    to[n] = '\0';
}

static int read_job(struct bj_derive *d, struct bj_err *err)
{
    struct bj_st *st = bind_job(d, BJ_DE_JOB);
    struct bj_derive_job *j = &d->job;
    int r = bj_st_row(st, err);
    if (r <= 0)
        return r;
    copy_text(st, 0, j->cluster, sizeof(j->cluster));
    copy_text(st, 1, j->partition, sizeof(j->partition));
    copy_text(st, 2, j->qos, sizeof(j->qos));
    for (int i = 0; i < BJ_DJ_COUNT; i++)
        j->v[i] = bj_st_get_i64(st, i + 3);
    bj_st_reset(st);
    return 1;
}

static int read_nodes(struct bj_derive *d, struct bj_err *err)
{
    struct bj_st *st = bound_records(d, BJ_DE_NODES);
    int r = bj_st_row(st, err);
    if (r <= 0)
        return r;
    d->job.refused = bj_st_get_i64(st, 0);
    d->job.nodes.nodes = bj_st_get_i64(st, 1);
    for (int i = 0; i < BJ_USE_VALUE_COUNT; i++)
        d->job.nodes.v[i] = bj_st_get_i64(st, i + 2);
    d->job.gpu_model = bj_st_get_i64(st, BJ_USE_VALUE_COUNT + 2);
    bj_st_reset(st);
    return 0;
}

static int component(struct bj_slice name)
{
    static const char *const names[BJ_COMPONENTS] = {"cpu", "dram", "gpu",
                                                     "other"};
    int i = 0;
    while (i < BJ_COMPONENTS - 1 && !bj_slice_eq(name, bj_slice_str(names[i])))
        i++;
    return i; /* other names */
}

static void add_to(int64_t *sum, int64_t v)
{
    if (v != BJ_SQL_NULL && v >= 0)
        *sum = *sum == BJ_SQL_NULL ? v : *sum + v;
}

static void no_energy(struct bj_derive_energy *e)
{
    *e = (struct bj_derive_energy){
        .policy = BJ_SQL_NULL, .used = BJ_SQL_NULL, .reserved = BJ_SQL_NULL};
    for (int i = 0; i < BJ_COMPONENTS; i++)
        e->component[i] = BJ_SQL_NULL;
}

static int read_node_energy(struct bj_derive *d, struct bj_err *err)
{
    struct bj_st *st = bound_records(d, BJ_DE_NODE_ENERGY);
    struct bj_derive_energy *e = &d->job.node_energy;
    bool first = true;
    int r;
    while ((r = bj_st_row(st, err)) > 0) {
        struct bj_slice policy = bj_st_get_text(st, 0);
        int64_t low = bj_st_get_i64(st, 5), high = bj_st_get_i64(st, 6);
        if (bj_slice_eq(policy, BJ_SLICE("usage")))
            add_to(&e->used, bj_st_get_i64(st, 2));
        if (bj_slice_eq(policy, BJ_SLICE("reservation")))
            add_to(&e->reserved, bj_st_get_i64(st, 2));
        if (low != BJ_SQL_NULL && bj_st_get_i64(st, 3) >= 0)
            add_to(&e->component[component(bj_st_get_text(st, 1))],
                   bj_st_get_i64(st, 3));
        if (bj_st_get_i64(st, 4) > e->nodes)
            e->nodes = bj_st_get_i64(st, 4);
        int64_t one = low == high ? low : BJ_SQL_NULL;
        e->policy = first || e->policy == one ? one : BJ_SQL_NULL;
        first = false;
    }
    return r;
}

static int read_prom(struct bj_derive *d, struct bj_err *err)
{
    struct bj_st *st = bind_job(d, BJ_DE_PROM);
    struct bj_derive_job *j = &d->job;
    int r = bj_st_row(st, err);
    if (r <= 0)
        return r;
    int64_t seen = bj_st_get_i64(st, 0), final = bj_st_get_i64(st, 1);
    j->prom.nodes = seen > 0 ? seen : 0;
    j->prom_final = final > 0 ? final : 0;
    j->prom_coverage = bj_st_get_i64(st, 2);
    j->prom_energy.policy = bj_st_get_i64(st, 3);
    j->prom_energy.nodes = bj_st_get_i64(st, 4) > 0 ? bj_st_get_i64(st, 4) : 0;
    for (int i = 0; i < BJ_USE_VALUE_COUNT; i++)
        j->prom.v[i] = bj_st_get_i64(st, i + 5);
    bj_st_reset(st);
    st = bind_job(d, BJ_DE_PROM_ENERGY);
    while ((r = bj_st_row(st, err)) > 0)
        add_to(&j->prom_energy.component[component(bj_st_get_text(st, 0))],
               bj_st_get_i64(st, 1));
    return r;
}

static int read_bins(struct bj_derive *d, struct bj_err *err)
{
    struct bj_st *st = bind_job(d, BJ_DE_BINS);
    struct bj_derive_job *j = &d->job;
    int r, bad = 0;
    while ((r = bj_st_row(st, err)) > 0) {
        if (bad < 0 || j->bins == BINS_MAX)
            continue;
        if (j->bins == j->bins_cap) {
            size_t cap = j->bins_cap ? 2 * j->bins_cap : 64;
            struct bj_energy_bin *v =
                reallocarray(j->bin, cap, sizeof(*j->bin));
            bad = v ? 0 : bj_err_set(err, -ENOMEM, "derive");
            if (!v)
                continue;
            j->bin = v;
            j->bins_cap = cap;
        }
        j->bin[j->bins++] =
            (struct bj_energy_bin){bj_st_get_i64(st, 0), bj_st_get_i64(st, 1)};
    }
    return r < 0 ? r : bad;
}

/* What each node and GPU used, from the source that has more nodes. */
static int read_parts(struct bj_derive *d, struct bj_err *err)
{
    struct bj_derive_job *j = &d->job;
    const bool records = j->nodes.nodes >= j->prom.nodes;
    int r = 0;
    bj_parts_clear(&j->parts);
    if (j->v[BJ_DJ_NODES] <= 1 && j->v[BJ_DJ_GPUS] <= 0)
        return 0;
    if (j->nodes.nodes == 0 && j->prom.nodes == 0)
        return 0;
    struct bj_st *st = records ? bound_records(d, BJ_DE_RECORD_PARTS)
                               : bind_job(d, BJ_DE_PROM_PARTS);
    while ((r = bj_st_row(st, err)) > 0) {
        struct bj_part *p =
            bj_parts_at(&j->parts, bj_st_get_text(st, 0), bj_st_get_text(st, 1),
                        bj_st_get_text(st, 2));
        int64_t usec = bj_st_get_i64(st, 4);
        if (!p)
            continue;
        p->cpus = bj_st_get_i64(st, 3);
        p->cpus_milli = bj_best_ratio(usec, 1, j->v[BJ_DJ_ELAPSED] * 1000);
        p->busy_ppm = bj_st_get_i64(st, 5);
        p->unused = bj_st_get_i64(st, 6) > 0;
    }
    return r;
}

int bj_derive_read_old(struct bj_derive *d, struct bj_err *err)
{
    struct bj_derive_job *j = &d->job;
    j->n_old_grams = 0;
    struct bj_st *st = bind_job(d, BJ_DE_OLD_USE);
    int r = bj_st_row(st, err);
    j->had_use = r > 0;
    for (int i = 0; r > 0 && i < BJ_USE_COLUMNS; i++)
        j->old_use[i] = bj_st_get_i64(st, i + 1);
    bj_st_reset(st);
    st = bind_job(d, BJ_DE_OLD_GRAMS);
    while (r >= 0 && (r = bj_st_row(st, err)) > 0)
        if (j->n_old_grams < BJ_GRAMS_MAX)
            j->old_grams[j->n_old_grams++] = (struct bj_grams_row){
                bj_st_get_i64(st, 0), bj_st_get_i64(st, 1),
                bj_st_get_i64(st, 2), bj_st_get_i64(st, 3)};
    return r;
}

/* --- the application -------------------------------------------------------
 */

/* Count the executables of one record, an object of names with times. */
static int add_record(struct bj_derive *d, struct bj_slice text,
                      struct bj_application_programs *to, struct bj_err *err)
{
    static const struct bj_json_limits limits = {
        .bytes = 64 << 10, .values = 1000, .depth = 2};
    const struct bj_json *doc;
    int r = bj_json_parse(&d->arena, text, "executables", &limits, &doc, err);
    if (r < 0) /* the store was changed by others */
        return r == -ENOMEM ? r : 0;
    BJ_JSON_EACH(one, doc)
    {
        uint64_t usec = bj_json_u64_or(one, 0);
        bj_application_add(d->opt.applications, bj_json_key(one),
                           usec < INT64_MAX ? (int64_t)usec : 0, to);
    }
    return 0;
}

static int read_executables(struct bj_derive *d,
                            struct bj_application_programs *to,
                            struct bj_err *err)
{
    struct bj_st *st = bound_records(d, BJ_DE_EXECUTABLES);
    int r, bad = 0;
    while ((r = bj_st_row(st, err)) > 0) {
        bj_arena_reset(&d->arena);
        if (bad == 0)
            bad = add_record(d, bj_st_get_text(st, 0), to, err);
    }
    return r < 0 ? r : bad;
}

int bj_derive_application(struct bj_derive *d, struct bj_err *err)
{
    struct bj_application_evidence e = {0};
    struct bj_derive_job *j = &d->job;
    int r = 0;
    j->application = NULL;
    if (!d->opt.applications)
        return 0;
    if (j->nodes.nodes > 0)
        r = read_executables(d, &e.executables, err);
    struct bj_st *st = bind_job(d, BJ_DE_STEPS);
    while (r == 0 && (r = bj_st_row(st, err)) > 0) {
        bj_application_add(d->opt.applications, bj_st_get_text(st, 0),
                           bj_st_get_i64(st, 1), &e.steps);
        r = 0;
    }
    if (r < 0)
        return r;
    st = bind_job(d, BJ_DE_TEXTS);
    r = bj_st_row(st, err);
    if (r > 0) {
        e.job_name = bj_st_get_text(st, 0);
        e.submit_line = bj_st_get_text(st, 1);
        e.script = bj_st_get_text(st, 2);
        j->application =
            bj_application_of(d->opt.applications, &e, &j->application_by);
    }
    bj_st_reset(st);
    return r < 0 ? r : 0;
}

static void no_values(struct bj_derive_values *t)
{
    t->nodes = 0;
    for (int i = 0; i < BJ_USE_VALUE_COUNT; i++)
        t->v[i] = BJ_SQL_NULL;
}

int bj_derive_read(struct bj_derive *d, int64_t id, struct bj_err *err)
{
    struct bj_derive_job *j = &d->job;
    j->id = id;
    j->bins = j->n_grams = j->n_old_grams = j->n_found = 0;
    j->prom_final = 0;
    j->prom_coverage = j->gpu_model = BJ_SQL_NULL;
    no_values(&j->nodes);
    no_values(&j->prom);
    no_energy(&j->node_energy);
    no_energy(&j->prom_energy);
    int r = read_job(d, err);
    if (r <= 0)
        return r;
    r = read_nodes(d, err);
    if (r == 0 && j->nodes.nodes > 0)
        r = read_node_energy(d, err);
    if (r == 0)
        r = read_prom(d, err);
    if (r == 0)
        r = read_bins(d, err);
    if (r == 0)
        r = read_parts(d, err);
    if (r == 0)
        r = bj_derive_read_old(d, err);
    return r < 0 ? r : 1;
}

#include "snmp-agent/rows.h"

#include "core/energy/ledger.h"
#include "core/find/ident.h"

#include <stdio.h>
#include <stdlib.h>

/* Rows being built. */
struct building {
    struct bj_snmp_rows *rows;
    const struct bj_snmp_table *table;
    struct bj_snmp_row *v;
    size_t n, max;
};

int bj_snmp_index_compare(const uint32_t *a, size_t na, const uint32_t *b,
                          size_t nb)
{
    for (size_t i = 0; i < na && i < nb; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return na == nb ? 0 : na < nb ? -1 : 1;
}

static int by_index(const void *a, const void *b)
{
    const struct bj_snmp_row *x = a, *y = b;
    return bj_snmp_index_compare(x->index, x->n, y->index, y->n);
}

/* The records of a list, or the owner itself as the only one. */
static struct bj_list records_of(const struct bj_snmp_table *t,
                                 const void *owner)
{
    const char *at = (const char *)owner + t->off;
    if (t->list)
        return *(const struct bj_list *)(const void *)at;
    return (struct bj_list){(void *)(uintptr_t)owner, 1};
}

/* "4711", or "4711@node" where slurmd has a node name of its own. */
static struct bj_slice job_name(const struct bj_job *job,
                                struct bj_arena *arena)
{
    const struct bj_slice id = job->ident->f[BJ_ID_JOBID];
    const struct bj_slice node = job->ident->f[BJ_ID_NODE];
    if (node.n == 0)
        return id;
    const size_t n = id.n + 1 + node.n;
    char *p = bj_arena_alloc(arena, n + 1);
    if (!p)
        return (struct bj_slice){0};
    snprintf(p, n + 1, "%.*s@%.*s", (int)id.n, id.p, (int)node.n, node.p);
    return (struct bj_slice){p, n};
}

static void name_jobs(struct bj_snmp_rows *rows)
{
    const struct bj_list *jobs = &rows->snap->jobs;
    const struct bj_job *job = jobs->v;
    rows->job_id =
        bj_arena_alloc(&rows->arena, jobs->n * sizeof(*rows->job_id));
    for (size_t i = 0; rows->job_id && i < jobs->n; i++)
        rows->job_id[i] = job_name(&job[i], &rows->arena);
}

static struct bj_slice job_text(const struct bj_snmp_rows *rows,
                                const struct bj_job *job)
{
    return rows->job_id[job - (const struct bj_job *)rows->snap->jobs.v];
}

/* Add a row.  Left out: an index that is empty or too long. */
static void rows_add(struct building *b, const struct bj_job *job,
                     const char *record)
{
    const struct bj_sub *sub = (const void *)record;
    struct bj_slice text[BJ_SNMP_KEYS] = {{0}};
    unsigned n = 0, length = 0;
    if (job)
        text[n++] = job_text(b->rows, job);
    for (unsigned k = 0; k < b->table->keys; k++)
        text[n++] = sub->key[k];
    bool fits = b->n < b->max;
    for (unsigned k = 0; k < n; k++) {
        fits = fits && text[k].n > 0 && text[k].n <= b->table->key_max[k];
        length += 1 + (unsigned)text[k].n;
    }
    if (!fits) {
        b->rows->refused++;
        return;
    }
    length += n == 0; /* scalars: 0 */
    uint32_t *index = bj_arena_alloc(&b->rows->arena, length * sizeof(*index));
    if (!index)
        return;
    b->v[b->n++] = (struct bj_snmp_row){index, length, record, job};
    for (unsigned k = 0; k < n; k++) {
        *index++ = (uint32_t)text[k].n;
        for (size_t i = 0; i < text[k].n; i++)
            *index++ = (unsigned char)text[k].p[i];
    }
}

static void add_records(struct building *b, const struct bj_job *job,
                        const void *owner)
{
    const struct bj_list list = records_of(b->table, owner);
    const char *record = list.v;
    for (size_t i = 0; i < list.n; i++, record += b->table->size)
        rows_add(b, job, record);
}

/* Sort the rows.  Of several with one index, which differ in labels that are
 * no part of it, the first one of the snapshot stays. */
static void rows_sort(struct building *b)
{
    size_t n = 0;
    qsort(b->v, b->n, sizeof(*b->v), by_index);
    for (size_t i = 0; i < b->n; i++) {
        if (n == 0 || by_index(&b->v[n - 1], &b->v[i]) != 0) {
            b->v[n++] = b->v[i];
            continue;
        }
        if (b->v[i].record < b->v[n - 1].record)
            b->v[n - 1] = b->v[i];
        b->rows->refused++;
    }
    b->n = n;
}

static void build_table(struct bj_snmp_rows *rows, unsigned t, size_t max)
{
    struct building b = {.rows = rows, .table = &bj_snmp_tables[t], .max = max};
    const struct bj_snap *snap = rows->snap;
    const struct bj_job *job = snap->jobs.v;
    const bool of_jobs = b.table->owner == BJ_OF_JOB;
    size_t n = of_jobs ? 0 : records_of(b.table, snap).n;
    for (size_t i = 0; of_jobs && i < snap->jobs.n; i++)
        n += records_of(b.table, &job[i]).n;
    b.v = bj_arena_alloc(&rows->arena, n * sizeof(*b.v));
    if (!b.v)
        return;
    if (!of_jobs)
        add_records(&b, NULL, snap);
    for (size_t i = 0; of_jobs && i < snap->jobs.n; i++)
        add_records(&b, &job[i], &job[i]);
    rows_sort(&b);
    rows->v[t] = b.v;
    rows->n[t] = b.n;
}

struct bj_snmp_rows *bj_snmp_rows_new(struct bj_snap *snap,
                                      const struct bj_conf *conf, size_t max)
{
    struct bj_snmp_rows *rows = calloc(1, sizeof(*rows));
    if (!rows)
        return NULL;
    atomic_init(&rows->refs, 1);
    rows->snap = bj_snap_ref(snap);
    rows->users = conf->label_user;
    rows->accounts = conf->label_account;
    name_jobs(rows);
    for (unsigned t = 0; t < BJ_SNMP_TABLES && !rows->arena.failed; t++)
        build_table(rows, t, max);
    if (!rows->arena.failed)
        return rows;
    bj_snmp_rows_unref(rows);
    return NULL;
}

struct bj_snmp_rows *bj_snmp_rows_ref(struct bj_snmp_rows *rows)
{
    atomic_fetch_add_explicit(&rows->refs, 1, memory_order_relaxed);
    return rows;
}

void bj_snmp_rows_unref(struct bj_snmp_rows *rows)
{
    if (!rows ||
        atomic_fetch_sub_explicit(&rows->refs, 1, memory_order_acq_rel) != 1)
        return;
    bj_snap_unref(rows->snap);
    bj_arena_free(&rows->arena);
    free(rows);
}

size_t bj_snmp_find(const struct bj_snmp_row *v, size_t n,
                    const uint32_t *index, size_t nindex)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (bj_snmp_index_compare(v[mid].index, v[mid].n, index, nindex) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* --- values ----------------------------------------------------------------*/

/* A label of a GPU in a list of struct bj_gpu_label. */
static struct bj_slice gpu_label(const struct bj_list *list,
                                 struct bj_slice gpu)
{
    const struct bj_gpu_label *v = list->v;
    for (size_t i = 0; i < list->n; i++)
        if (bj_slice_eq(v[i].sub.key[0], gpu))
            return v[i].sub.key[2];
    return (struct bj_slice){0};
}

static struct bj_slice identity(const struct bj_snmp_rows *rows,
                                const struct bj_job *job, unsigned field)
{
    if ((field == BJ_ID_USER && !rows->users) ||
        (field == BJ_ID_ACCOUNT && !rows->accounts))
        return (struct bj_slice){0};
    return job->ident->f[field];
}

static struct bj_slice text_of(const struct bj_snmp_rows *rows,
                               const struct bj_snmp_column *c,
                               const struct bj_snmp_row *row)
{
    const struct bj_sub *sub = (const void *)row->record;
    switch (c->number->source) {
    case BJ_SNMP_JOB_ID:
        return job_text(rows, row->job);
    case BJ_SNMP_KEY:
        return sub->key[c->number->at];
    case BJ_SNMP_IDENTITY:
        return identity(rows, row->job, c->number->at);
    case BJ_SNMP_MODEL:
        return gpu_label(&rows->snap->gpu_models, sub->key[0]);
    case BJ_SNMP_ADDRESS:
        return gpu_label(&rows->snap->gpu_addresses, sub->key[0]);
    case BJ_SNMP_CLUSTER:
        return rows->snap->cluster;
    default:
        return (struct bj_slice){0};
    }
}

/* The sum of all components; false: no meter measures the whole node, so
 * that the component "other" is unknown. */
static bool node_energy(const struct bj_snap *snap, uint64_t *ret)
{
    const struct bj_slice other =
        bj_slice_str(bj_component_names[BJ_ENERGY_OTHER]);
    const struct bj_energy_split *v = snap->node.energy.v;
    bool whole = false;
    *ret = 0;
    for (size_t i = 0; i < snap->node.energy.n; i++) {
        if (v[i].energy_uj == BJ_ABSENT)
            continue;
        *ret += v[i].energy_uj;
        whole = whole || bj_slice_eq(v[i].sub.key[0], other);
    }
    return whole;
}

bool bj_snmp_rows_value(const struct bj_snmp_rows *rows,
                        const struct bj_snmp_column *c,
                        const struct bj_snmp_row *row, struct bj_value *ret)
{
    *ret = (struct bj_value){.type = c->type};
    if (c->number->source == BJ_SNMP_ENERGY)
        return node_energy(rows->snap, &ret->number);
    if (!c->metric) {
        ret->text = text_of(rows, c, row);
        return ret->text.n > 0;
    }
    if (c->metric->live && row->job && row->job->end_sec != BJ_ABSENT)
        return false;
    ret->number = *(const uint64_t *)(const void *)(row->record + c->off);
    if (ret->number == BJ_ABSENT)
        return false;
    if (c->number->source == BJ_SNMP_TRUTH)
        ret->number = ret->number ? 1 : 2;
    return true;
}

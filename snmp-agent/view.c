#include "snmp-agent/view.h"

#include "base/clock.h"
#include "base/version.h"

#include <pthread.h>
#include <stdlib.h>

/* The row of scalars while there is no snapshot. */
static const uint32_t scalar_index[1];
static const struct bj_snmp_row scalar = {scalar_index, 1, NULL, NULL};

enum { FALSE_VALUE = 2, TRUE_VALUE = 1 };

struct bj_snmp_view {
    struct bj_oid base;
    uint64_t stale_usec;
    const struct bj_snmp_column *columns;
    size_t n;
    pthread_mutex_t lock;
    struct bj_snmp_rows *rows; /* NULL: none yet */
    bool passed, failed;       /* any pass; the last one failed */
    uint64_t unsent;
    /* For the PDU being answered: */
    struct bj_snmp_rows *now; /* NULL: none, or too old */
    struct {
        bool any, passed, failed;
        uint64_t age_usec, refused, unsent;
    } state;
};

int bj_snmp_view_new(const struct bj_oid *base, uint64_t stale_usec,
                     struct bj_snmp_view **ret, struct bj_err *err)
{
    struct bj_snmp_view *v = calloc(1, sizeof(*v));
    if (!v)
        return bj_err_set(err, -ENOMEM, "view");
    v->base = *base;
    v->stale_usec = stale_usec;
    pthread_mutex_init(&v->lock, NULL);
    int r = bj_snmp_columns(&v->columns, &v->n, err);
    if (r < 0) {
        bj_snmp_view_free(v);
        return r;
    }
    *ret = v;
    return 0;
}

void bj_snmp_view_free(struct bj_snmp_view *v)
{
    if (!v)
        return;
    bj_snmp_rows_unref(v->rows);
    pthread_mutex_destroy(&v->lock);
    free(v);
}

void bj_snmp_view_set(struct bj_snmp_view *v, struct bj_snmp_rows *rows)
{
    pthread_mutex_lock(&v->lock);
    struct bj_snmp_rows *old = rows ? v->rows : NULL;
    if (rows)
        v->rows = rows;
    v->passed = true;
    v->failed = !rows;
    pthread_mutex_unlock(&v->lock);
    bj_snmp_rows_unref(old);
}

void bj_snmp_view_unsent(struct bj_snmp_view *v)
{
    pthread_mutex_lock(&v->lock);
    v->unsent++;
    pthread_mutex_unlock(&v->lock);
}

void bj_snmp_view_base(const struct bj_snmp_view *v, struct bj_oid *ret)
{
    *ret = v->base;
}

void bj_snmp_view_name(const struct bj_snmp_view *v,
                       const struct bj_snmp_column *c,
                       const struct bj_snmp_row *row, struct bj_oid *ret)
{
    ret->n = v->base.n;
    memcpy(ret->id, v->base.id, v->base.n * sizeof(*ret->id));
    bj_oid_add(ret, c->path, c->npath);
    bj_oid_add(ret, row->index, row->n);
}

/* A scalar of the program itself; false: not one, or unknown. */
static bool own_value(const struct bj_snmp_view *v,
                      const struct bj_snmp_column *c, struct bj_value *ret)
{
    *ret = (struct bj_value){.type = c->type};
    switch (c->number->source) {
    case BJ_SNMP_VERSION:
        ret->text = bj_slice_str(bj_version);
        return true;
    case BJ_SNMP_AGE:
        ret->number = v->state.age_usec / 1000;
        return v->state.any;
    case BJ_SNMP_PASSED:
        ret->number = v->state.failed ? FALSE_VALUE : TRUE_VALUE;
        return v->state.passed;
    case BJ_SNMP_REFUSED:
        ret->number = v->state.refused;
        return v->state.any;
    case BJ_SNMP_UNSENT:
        ret->number = v->state.unsent;
        return true;
    default:
        return false;
    }
}

/* The value of a column in a row; false: unknown, or not readable. */
static bool view_value(const struct bj_snmp_view *v,
                       const struct bj_snmp_column *c,
                       const struct bj_snmp_row *row, struct bj_value *ret)
{
    if (c->number->source == BJ_SNMP_INDEX ||
        c->number->source == BJ_SNMP_FAULT)
        return false;
    if (c->number->source >= BJ_SNMP_VERSION &&
        c->number->source != BJ_SNMP_CLUSTER)
        return own_value(v, c, ret);
    return v->now && bj_snmp_rows_value(v->now, c, row, ret);
}

/* The rows of a column. */
static const struct bj_snmp_row *view_rows(const struct bj_snmp_view *v,
                                           const struct bj_snmp_column *c,
                                           size_t *ret_n)
{
    const enum bj_snmp_table_id table = c->number->table;
    if (v->now) {
        *ret_n = v->now->n[table];
        return v->now->v[table];
    }
    *ret_n = table == BJ_SNMP_SCALARS;
    return &scalar;
}

/* The last column whose path is not behind a name below the root: the one that
 * may contain it.  -1: none. */
static ptrdiff_t view_column(const struct bj_snmp_view *v, const uint32_t *name,
                             size_t n)
{
    ptrdiff_t lo = 0, hi = (ptrdiff_t)v->n;
    while (lo < hi) {
        ptrdiff_t mid = lo + (hi - lo) / 2;
        const struct bj_snmp_column *c = &v->columns[mid];
        if (bj_snmp_index_compare(c->path, c->npath, name, n) <= 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo - 1;
}

static bool view_within(const struct bj_snmp_column *c, const uint32_t *name,
                        size_t n)
{
    return n >= c->npath &&
           memcmp(c->path, name, c->npath * sizeof(*name)) == 0;
}

static bool below(const struct bj_oid *base, const struct bj_oid *name)
{
    return name->n >= base->n &&
           memcmp(base->id, name->id, base->n * sizeof(*base->id)) == 0;
}

static struct bj_value view_get(void *ctx, const struct bj_oid *name)
{
    const struct bj_snmp_view *v = ctx;
    const uint32_t *rest = name->id + v->base.n;
    struct bj_value ret = {.type = BJ_VALUE_NO_OBJECT};
    if (!below(&v->base, name))
        return ret;
    size_t n = name->n - v->base.n, rows;
    ptrdiff_t at = view_column(v, rest, n);
    if (at < 0 || !view_within(&v->columns[at], rest, n))
        return ret;
    const struct bj_snmp_column *c = &v->columns[at];
    rest += c->npath;
    n -= c->npath;
    const struct bj_snmp_row *row = view_rows(v, c, &rows);
    size_t i = bj_snmp_find(row, rows, rest, n);
    if (i < rows &&
        bj_snmp_index_compare(row[i].index, row[i].n, rest, n) == 0 &&
        view_value(v, c, &row[i], &ret))
        return ret;
    return (struct bj_value){.type = BJ_VALUE_NO_INSTANCE};
}

/* The first known value of a column from row i. */
static bool column_next(const struct bj_snmp_view *v,
                        const struct bj_snmp_column *c, size_t i,
                        struct bj_oid *name, struct bj_value *ret)
{
    size_t n;
    const struct bj_snmp_row *row = view_rows(v, c, &n);
    for (; i < n; i++)
        if (view_value(v, c, &row[i], ret)) {
            bj_snmp_view_name(v, c, &row[i], name);
            return true;
        }
    return false;
}

static bool view_next(void *ctx, struct bj_oid *name, bool include,
                      struct bj_value *ret)
{
    const struct bj_snmp_view *v = ctx;
    const uint32_t *rest = name->id + v->base.n;
    ptrdiff_t at = -1;
    if (below(&v->base, name)) {
        size_t n = name->n - v->base.n, rows;
        at = view_column(v, rest, n);
        if (at >= 0 && view_within(&v->columns[at], rest, n)) {
            const struct bj_snmp_column *c = &v->columns[at];
            const struct bj_snmp_row *row = view_rows(v, c, &rows);
            rest += c->npath;
            n -= c->npath;
            size_t i = bj_snmp_find(row, rows, rest, n);
            if (i < rows && !include &&
                bj_snmp_index_compare(row[i].index, row[i].n, rest, n) == 0)
                i++;
            if (column_next(v, c, i, name, ret))
                return true;
        }
    } else if (bj_oid_compare(name, &v->base) > 0) {
        return false;
    }
    for (size_t i = (size_t)(at + 1); i < v->n; i++)
        if (column_next(v, &v->columns[i], 0, name, ret))
            return true;
    return false;
}

struct bj_objects bj_snmp_view_begin(struct bj_snmp_view *v)
{
    pthread_mutex_lock(&v->lock);
    v->now = v->rows ? bj_snmp_rows_ref(v->rows) : NULL;
    v->state.passed = v->passed;
    v->state.failed = v->failed;
    v->state.unsent = v->unsent;
    pthread_mutex_unlock(&v->lock);
    v->state.any = v->now;
    if (v->now) {
        const uint64_t now = bj_clock_boot_usec();
        const uint64_t end = v->now->snap->boot_usec;
        v->state.age_usec = now > end ? now - end : 0;
        v->state.refused = v->now->refused;
    }
    if (v->now && v->state.age_usec > v->stale_usec)
        bj_snmp_view_end(v);
    return (struct bj_objects){v, view_get, view_next};
}

void bj_snmp_view_end(struct bj_snmp_view *v)
{
    bj_snmp_rows_unref(v->now);
    v->now = NULL;
}

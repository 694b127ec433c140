#include "statsdb/job/change.h"

#include "base/array.h"
#include "store/db.h"

#include <stdlib.h>
#include <string.h>

/* The values behind those of the columns. */
static const char change_values[] =
    ", j.id AS change_job, j.at AS change_at, j.user AS change_user, j.name AS"
    " change_name, r.name AS change_rule, CASE WHEN f.value BETWEEN 0 AND 1e15"
    " THEN CAST(f.value AS INTEGER) END AS change_value, r.condition AS"
    " change_condition, r.severity AS change_severity, (SELECT name FROM user"
    " WHERE id = j.user) AS change_user_name, (SELECT text FROM jobname WHERE"
    " id = j.name) AS change_job_name FROM job AS j CROSS JOIN job_finding AS"
    " f CROSS JOIN finding_rule AS r LEFT JOIN job_more AS m ON m.job ="
    " j.id" BJ_JOB_FROM_USE " WHERE f.job = j.id AND r.id = f.rule";

void bj_changes_free(struct bj_changes *c)
{
    free(c->v);
    bj_arena_free(&c->arena);
    *c = (struct bj_changes){0};
}

int bj_changes_select(struct bj_changes *c, struct bj_db *db,
                      struct bj_buf *sql, struct bj_err *err)
{
    int r = bj_prices_read(db, &c->prices, err);
    for (unsigned i = 0; i < BJ_WASTED_COLUMNS; i++) {
        c->place[i] = c->picked.n;
        bj_picked_add(&c->picked,
                      bj_job_column(bj_slice_str(bj_wasted_columns[i])));
    }
    bj_buf_str(sql, "SELECT ");
    bj_picked_sql(&c->picked, sql);
    bj_buf_str(sql, change_values);
    return r;
}

/* Add a known amount to a sum. */
static void change_add(int64_t *sum, int64_t v)
{
    if (v != BJ_SQL_NULL && *sum == BJ_SQL_NULL)
        *sum = v;
    else if (v != BJ_SQL_NULL && __builtin_add_overflow(*sum, v, sum))
        *sum = INT64_MAX;
}

static void change_name(struct bj_changes *c, struct bj_change *ret,
                        struct bj_st *st, struct bj_slice rule)
{
    *ret = (struct bj_change){
        .user = bj_st_i64(st, "change_user"),
        .name = bj_st_i64(st, "change_name"),
        .finding = bj_arena_copy(&c->arena, rule),
        .wasted = {BJ_SQL_NULL, BJ_SQL_NULL, BJ_SQL_NULL, BJ_SQL_NULL},
        .cost = BJ_SQL_NULL,
        .at = INT64_MIN};
    ret->severity = bj_arena_copy(&c->arena, bj_st_text(st, "change_severity"));
    ret->user_name =
        bj_arena_copy(&c->arena, bj_st_text(st, "change_user_name"));
    ret->job_name = bj_arena_copy(&c->arena, bj_st_text(st, "change_job_name"));
}

/* Add the finding of a row as a change of one job. */
static int change_take(struct bj_changes *c, struct bj_st *st,
                       struct bj_err *err)
{
    const struct bj_slice rule = bj_st_text(st, "change_rule"),
                          condition = bj_st_text(st, "change_condition");
    const int64_t value = bj_st_i64(st, "change_value");
    int64_t number[BJ_ROW_KEYS], of[BJ_WASTED_COLUMNS];
    struct bj_paid wasted;
    if (!BJ_GROW(c->v, c->n + 1, c->room))
        return bj_err_set(err, -ENOMEM, "changes");
    struct bj_change *v = &c->v[c->n++];
    change_name(c, v, st, rule);
    bj_picked_numbers(&c->picked, st, 0, number);
    for (unsigned i = 0; i < BJ_WASTED_COLUMNS; i++)
        of[i] = number[c->place[i]];
    bj_wasted(of, condition, value, &wasted);
    v->wasted = (struct bj_paid){wasted.cpu_sec, wasted.gpu_sec,
                                 wasted.memory_mib_sec, BJ_SQL_NULL};
    v->cost = bj_wasted_cost(&c->prices, of, condition, value);
    v->runs = 1;
    v->at = bj_st_i64(st, "change_at");
    v->newest = bj_st_i64(st, "change_job");
    return 0;
}

/* In the order of users, names and findings, the newest job first. */
static int change_by_finding(const void *a, const void *b)
{
    const struct bj_change *x = a, *y = b;
    const size_t n = x->finding.n < y->finding.n ? x->finding.n : y->finding.n;
    const int r = x->user != y->user   ? (x->user < y->user ? -1 : 1)
                  : x->name != y->name ? (x->name < y->name ? -1 : 1)
                  : n > 0              ? memcmp(x->finding.p, y->finding.p, n)
                                       : 0;
    if (r != 0 || x->finding.n != y->finding.n)
        return r != 0 ? r : x->finding.n < y->finding.n ? -1 : 1;
    return x->at != y->at ? (x->at > y->at ? -1 : 1)
                          : (x->newest < y->newest) - (x->newest > y->newest);
}

/* Add up the jobs of each user, name and finding. */
static void change_fold(struct bj_changes *c)
{
    size_t n = 0;
    qsort(c->v, c->n, sizeof(*c->v), change_by_finding);
    for (size_t i = 0; i < c->n; i++) {
        const struct bj_change one = c->v[i];
        struct bj_change *v = n > 0 ? &c->v[n - 1] : NULL;
        if (!v || v->user != one.user || v->name != one.name ||
            !bj_slice_eq(v->finding, one.finding)) {
            c->v[n++] = one;
            continue;
        }
        change_add(&v->wasted.cpu_sec, one.wasted.cpu_sec);
        change_add(&v->wasted.gpu_sec, one.wasted.gpu_sec);
        change_add(&v->wasted.memory_mib_sec, one.wasted.memory_mib_sec);
        change_add(&v->cost, one.cost);
        v->runs++;
    }
    c->n = n;
}

static int change_rank(struct bj_slice severity)
{
    return bj_slice_eq(severity, BJ_SLICE("critical"))  ? 2
           : bj_slice_eq(severity, BJ_SLICE("warning")) ? 1
                                                        : 0;
}

/* Unknown is least. */
static int change_compare(const void *a, const void *b)
{
    const struct bj_change *x = a, *y = b;
    const int64_t order[][2] = {
        {y->cost, x->cost},
        {y->wasted.gpu_sec, x->wasted.gpu_sec},
        {y->wasted.cpu_sec, x->wasted.cpu_sec},
        {y->wasted.memory_mib_sec, x->wasted.memory_mib_sec},
        {change_rank(y->severity), change_rank(x->severity)},
        {y->runs, x->runs},
        {y->newest, x->newest}};
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        if (order[i][0] != order[i][1])
            return order[i][0] < order[i][1] ? -1 : 1;
    return 0;
}

/* In the order of users and names; of each the first in change_compare. */
static int change_by_name(const void *a, const void *b)
{
    const struct bj_change *x = a, *y = b;
    return x->user != y->user   ? (x->user < y->user ? -1 : 1)
           : x->name != y->name ? (x->name < y->name ? -1 : 1)
                                : change_compare(a, b);
}

int bj_changes_read(struct bj_changes *c, struct bj_st *st, struct bj_err *err)
{
    int r = 0;
    for (size_t rows = 0; r == 0 && (r = bj_st_row(st, err)) > 0; rows++) {
        c->cut = rows == BJ_CHANGES_MOST;
        r = c->cut ? 0 : change_take(c, st, err);
    }
    if (r != 0 || c->n == 0)
        return r;
    if (c->arena.failed)
        return bj_err_set(err, -ENOMEM, "changes");
    size_t n = 1;
    change_fold(c);
    qsort(c->v, c->n, sizeof(*c->v), change_by_name);
    for (size_t i = 1; i < c->n; i++)
        if (c->v[i].user != c->v[n - 1].user ||
            c->v[i].name != c->v[n - 1].name)
            c->v[n++] = c->v[i];
    c->n = n;
    qsort(c->v, n, sizeof(*c->v), change_compare);
    return 0;
}

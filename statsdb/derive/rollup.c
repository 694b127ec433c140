#include "statsdb/derive/rollup.h"

#include "base/array.h"
#include "base/stamp.h"
#include "statsdb/derive/bill.h"
#include "statsdb/tables/site_zone.h"
#include "store/arrays.h"

#include <stdlib.h>
#include <string.h>

/* A change of one row of rollup_usage; day 0: of the month. */
struct cell {
    int32_t month, day;
    int64_t assoc;
    bool used, negative;
    int64_t sum[BJ_SUMS];
};

/* A row that has to be written. */
struct kept {
    int64_t id;
    bool negative;
    int64_t sum[BJ_SUMS];
};

enum { SLOTS = 16384, FULL = 14000 }; /* 2.7 MiB */
enum { DAY = 86400 };

struct bj_rollup {
    struct bj_db *db;
    struct bj_tz *own_tz;
    const struct bj_tz *tz; /* its days are those of sums */
    /* The statements below are of many rows, from arrays, and rows are kept
     * until all are known (PostgreSQL). */
    bool many;
    struct bj_st *there; /* which rows exist; only many */
    struct bj_st *add;   /* many: to those that exist */
    struct bj_st *sweep;
    struct bj_arrays rows;
    struct kept *kept;
    size_t keeps, kept_cap;
    int64_t *exists;
    size_t exists_cap;
    uint32_t n;
    struct cell slot[SLOTS];
    uint32_t order[SLOTS];
};

#define ALL_SUMS(X)                                                            \
    X(jobs_started)                                                            \
    X(jobs_ended)                                                              \
    X(jobs_completed)                                                          \
    X(jobs_failed)                                                             \
    X(jobs_cancelled)                                                          \
    X(jobs_timeout)                                                            \
    X(jobs_oom)                                                                \
    X(wait_sec)                                                                \
    X(elapsed_sec)                                                             \
    X(node_sec)                                                                \
    X(cpu_sec)                                                                 \
    X(gpu_sec)                                                                 \
    X(mem_mib_sec)                                                             \
    X(cpu_used_msec)                                                           \
    X(cpu_unknown_sec)                                                         \
    X(energy_scheduler_joules)                                                 \
    X(energy_cpu_sec)

static const char *const names[BJ_SUMS] = {
#define NAME(n) #n,
    ALL_SUMS(NAME)
#undef NAME
};

/* An upsert of a row. */
static void sql_add(struct bj_buf *sql)
{
    bj_buf_str(sql, "INSERT INTO rollup_usage(id");
    for (int i = 0; i < BJ_SUMS; i++)
        bj_buf_printf(sql, ", %s", names[i]);
    bj_buf_str(sql, ") VALUES(?1");
    for (int i = 0; i < BJ_SUMS; i++)
        bj_buf_printf(sql, ", ?%d", i + 2);
    bj_buf_str(sql, ") ON CONFLICT(id) DO UPDATE SET ");
    for (int i = 0; i < BJ_SUMS; i++)
        bj_buf_printf(sql, "%s%s = rollup_usage.%s + excluded.%s",
                      i ? ", " : "", names[i], names[i], names[i]);
}

/* An update of many rows, all of which exist. */
static void sql_add_many(struct bj_buf *sql)
{
    bj_buf_str(sql, "UPDATE rollup_usage AS t SET ");
    for (int i = 0; i < BJ_SUMS; i++)
        bj_buf_printf(sql, "%s%s = t.%s + w.c%d", i ? ", " : "", names[i],
                      names[i], i + 1);
    bj_buf_str(sql, " FROM unnest(");
    for (int i = 0; i <= BJ_SUMS; i++)
        bj_buf_printf(sql, "%sCAST(?%d AS bigint[])", i ? ", " : "", i + 1);
    bj_buf_str(sql, ") AS w(");
    for (int i = 0; i <= BJ_SUMS; i++)
        bj_buf_printf(sql, "%sc%d", i ? ", " : "", i);
    bj_buf_str(sql, ") WHERE t.id = w.c0");
}

/* A DELETE of rows whose sums are all 0. */
static void sql_sweep(struct bj_buf *sql, bool many)
{
    bj_buf_str(sql, many ? "DELETE FROM rollup_usage WHERE id IN (SELECT"
                           " unnest(CAST(?1 AS bigint[])))"
                         : "DELETE FROM rollup_usage WHERE id = ?1");
    for (int i = 0; i < BJ_SUMS; i++)
        bj_buf_printf(sql, " AND %s = 0", names[i]);
}

static const char there_sql[] =
    "SELECT string_agg(CASE WHEN EXISTS (SELECT 1 FROM rollup_usage WHERE"
    " id = w.id) THEN '1' ELSE '0' END, ',' ORDER BY w.n) FROM"
    " unnest(CAST(?1 AS bigint[])) WITH ORDINALITY AS w(id, n)";

static int rollup_prepare(struct bj_rollup *u, struct bj_db *db,
                          struct bj_err *err)
{
    struct bj_buf add = {0}, sweep = {0};
    (u->many ? sql_add_many : sql_add)(&add);
    sql_sweep(&sweep, u->many);
    int r = bj_db_prepare_buf(db, &add, &u->add, err);
    if (r == 0)
        r = bj_db_prepare_buf(db, &sweep, &u->sweep, err);
    else
        bj_buf_free(&sweep);
    return r < 0 || !u->many ? r : bj_db_prepare(db, there_sql, &u->there, err);
}

int bj_rollup_new(struct bj_db *db, struct bj_rollup **ret, struct bj_err *err)
{
    struct bj_rollup *u = calloc(1, sizeof(*u));
    if (!u)
        return bj_err_set(err, -ENOMEM, "rollups");
    u->db = db;
    u->many = bj_db_dialect(db) == BJ_DIALECT_POSTGRESQL;
    int r = rollup_prepare(u, db, err);
    if (r == 0)
        r = bj_site_zone_read(db, &u->own_tz, err);
    u->tz = u->own_tz;
    if (r < 0) {
        bj_rollup_free(u);
        return r;
    }
    *ret = u;
    return 0;
}

void bj_rollup_use_zone(struct bj_rollup *u, const struct bj_tz *tz)
{
    u->tz = tz;
}

void bj_rollup_free(struct bj_rollup *u)
{
    if (!u)
        return;
    bj_st_finalize(u->add);
    bj_st_finalize(u->sweep);
    bj_st_finalize(u->there);
    bj_arrays_free(&u->rows);
    free(u->kept);
    free(u->exists);
    bj_tz_free(u->own_tz);
    free(u);
}

/* --- values of one job --------------------------------------------------
 */

/* A sum over time, which a resized job has, else amount x run time. */
static int64_t held(int64_t sum, int64_t elapsed, int64_t amount)
{
    return sum != BJ_SQL_NULL ? bj_bill_sane(sum)
                              : bj_bill_times(elapsed, amount);
}

/* Totals of a job, without the counts. */
static void totals(const int64_t *v, int64_t total[BJ_SUMS])
{
    int64_t elapsed = v[BJ_COL_ELAPSED];
    int64_t cpu = held(v[BJ_JOB_CPU_SEC], elapsed, v[BJ_COL_CPUS]);
    memset(total, 0, BJ_SUMS * sizeof(*total));
    total[BJ_SUM_ELAPSED_SEC] = bj_bill_sane(elapsed);
    total[BJ_SUM_NODE_SEC] = held(v[BJ_JOB_NODE_SEC], elapsed, v[BJ_COL_NODES]);
    total[BJ_SUM_CPU_SEC] = cpu;
    total[BJ_SUM_GPU_SEC] = held(v[BJ_JOB_GPU_SEC], elapsed, v[BJ_JOB_GPUS]);
    if (v[BJ_JOB_ALLOCATED_MEM] > 0)
        total[BJ_SUM_MEM_MIB_SEC] =
            held(v[BJ_JOB_MIB_SEC], elapsed, v[BJ_JOB_ALLOCATED_MEM] >> 20);
    if (v[BJ_COL_CPU] != BJ_SQL_NULL)
        total[BJ_SUM_CPU_USED_MSEC] = bj_bill_sane(v[BJ_COL_CPU] / 1000);
    else
        total[BJ_SUM_CPU_UNKNOWN_SEC] = cpu;
    if (v[BJ_COL_ENERGY] != BJ_SQL_NULL) {
        total[BJ_SUM_ENERGY_JOULES] = bj_bill_sane(v[BJ_COL_ENERGY]);
        total[BJ_SUM_ENERGY_CPU_SEC] = cpu;
    }
}

/* --- cells --------------------------------------------------------------
 */

static struct cell *cell_of(struct bj_rollup *u, int32_t month, int32_t day,
                            int64_t assoc)
{
    uint64_t h = (uint64_t)assoc * 0x9e3779b97f4a7c15 +
                 (uint64_t)(month * 32 + day) * 0xc2b2ae3d27d4eb4f;
    for (uint32_t i = (uint32_t)(h >> 40) & (SLOTS - 1);;
         i = (i + 1) & (SLOTS - 1)) {
        struct cell *c = &u->slot[i];
        if (!c->used) {
            *c = (struct cell){
                .month = month, .day = day, .assoc = assoc, .used = true};
            u->order[u->n++] = i;
            return c;
        }
        if (c->assoc == assoc && c->month == month && c->day == day)
            return c;
    }
}

static void cell_add(struct cell *c, const int64_t sum[BJ_SUMS], int sign)
{
    c->negative = c->negative || sign < 0;
    for (int i = 0; i < BJ_SUMS; i++)
        c->sum[i] += sign < 0 ? -sum[i] : sum[i];
}

/* Add sums to a day, counted from 1970. */
static int day_add(struct bj_rollup *u, int64_t assoc, int64_t day,
                   const int64_t sum[BJ_SUMS], int sign, struct bj_err *err)
{
    if (u->n >= FULL) {
        int r = bj_rollup_flush(u, err);
        if (r < 0)
            return r;
    }
    struct bj_civil date;
    bj_civil_from_days(day, &date);
    int32_t month = date.year * 12 + (int32_t)date.month - 1;
    cell_add(cell_of(u, month, (int32_t)date.day, assoc), sum, sign);
    return 0;
}

/* Spread totals over the days from start to stop. */
static int spread(struct bj_rollup *u, int64_t assoc, int64_t start,
                  int64_t stop, const int64_t *v, int sign, struct bj_err *err)
{
    int64_t total[BJ_SUMS];
    totals(v, total);
    const int64_t first =
        stop - start > (int64_t)BJ_BILL_DAYS * DAY || stop <= start ? stop
                                                                    : start;
    const int64_t last = bj_tz_day(u->tz, stop - (stop > first));
    int64_t day = bj_tz_day(u->tz, first);
    int64_t from = bj_tz_midnight(u->tz, day), to;
    int r = 0;
    for (; r == 0 && day <= last; day++, from = to) {
        int64_t part[BJ_SUMS] = {0};
        to = bj_tz_midnight(u->tz, day + 1);
        for (int i = BJ_SUM_ELAPSED_SEC; i < BJ_SUMS; i++)
            if (total[i] != 0)
                part[i] = bj_bill_part(total[i], start, stop, from, to);
        r = day_add(u, assoc, day, part, sign, err);
    }
    return r;
}

static enum bj_rollup_sum end_sum(int64_t state)
{
    static const unsigned char sums[BJ_STATES] = {
        [BJ_STATE_COMPLETED] = BJ_SUM_COMPLETED,
        [BJ_STATE_FAILED] = BJ_SUM_FAILED,
        [BJ_STATE_NODE_FAIL] = BJ_SUM_FAILED,
        [BJ_STATE_BOOT_FAIL] = BJ_SUM_FAILED,
        [BJ_STATE_CANCELLED] = BJ_SUM_CANCELLED,
        [BJ_STATE_TIMEOUT] = BJ_SUM_TIMEOUT,
        [BJ_STATE_DEADLINE] = BJ_SUM_TIMEOUT,
        [BJ_STATE_OOM] = BJ_SUM_OOM,
    };
    enum bj_rollup_sum sum =
        state >= 0 && state < BJ_STATES ? sums[state] : BJ_SUM_STARTED;
    return sum == BJ_SUM_STARTED ? BJ_SUM_ENDED : sum;
}

/* Count the end on its day; without a known end, on the day of the start or
 * submit. */
static int count_end(struct bj_rollup *u, int64_t assoc, const int64_t *v,
                     int sign, struct bj_err *err)
{
    int64_t sum[BJ_SUMS] = {0};
    int64_t at = bj_bill_dated(v[BJ_COL_END])     ? v[BJ_COL_END]
                 : bj_bill_dated(v[BJ_COL_START]) ? v[BJ_COL_START]
                                                  : v[BJ_JOB_SUBMIT];
    if (v[BJ_COL_STATE] < BJ_STATE_COMPLETED || !bj_bill_dated(at))
        return 0;
    sum[BJ_SUM_ENDED] = 1;
    sum[end_sum(v[BJ_COL_STATE])] = 1;
    return day_add(u, assoc, bj_tz_day(u->tz, at), sum, sign, err);
}

static int count_start(struct bj_rollup *u, int64_t assoc, const int64_t *v,
                       int sign, struct bj_err *err)
{
    int64_t sum[BJ_SUMS] = {0}, start = v[BJ_COL_START];
    int64_t since = v[BJ_JOB_ELIGIBLE];
    if (!bj_bill_dated(since))
        since = v[BJ_JOB_SUBMIT] > 0 ? v[BJ_JOB_SUBMIT] : start;
    sum[BJ_SUM_STARTED] = 1;
    sum[BJ_SUM_WAIT_SEC] = since < start ? start - since : 0;
    return day_add(u, assoc, bj_tz_day(u->tz, start), sum, sign, err);
}

int bj_rollup_add(struct bj_rollup *u, int64_t assoc, const struct bj_row *job,
                  int sign, struct bj_err *err)
{
    const int64_t *v = job->v;
    int64_t start = v[BJ_COL_START], stop = v[BJ_COL_END];
    int r = count_end(u, assoc, v, sign, err);
    if (r < 0 || !bj_bill_dated(start))
        return r;
    if (!bj_bill_dated(stop))
        stop = start + bj_bill_sane(v[BJ_COL_ELAPSED]) +
               bj_bill_sane(v[BJ_COL_SUSPENDED]);
    if (!bj_bill_dated(stop))
        stop = start;
    r = count_start(u, assoc, v, sign, err);
    return r < 0 ? r : spread(u, assoc, start, stop, v, sign, err);
}

/* --- writing ---------------------------------------------------------------
 */

static int by_key(const void *pa, const void *pb, void *ctx)
{
    const struct cell *slot = ctx;
    const struct cell *a = &slot[*(const uint32_t *)pa];
    const struct cell *b = &slot[*(const uint32_t *)pb];
    if (a->month != b->month)
        return a->month < b->month ? -1 : 1;
    if (a->assoc != b->assoc)
        return a->assoc < b->assoc ? -1 : 1;
    return (a->day > b->day) - (a->day < b->day);
}

static bool cell_empty(const struct cell *c)
{
    for (int i = 0; i < BJ_SUMS; i++)
        if (c->sum[i] != 0)
            return false;
    return true;
}

/* Drop cells whose changes cancel out. */
static uint32_t pack(struct bj_rollup *u)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < u->n; i++)
        if (cell_empty(&u->slot[u->order[i]]))
            u->slot[u->order[i]].used = false;
        else
            u->order[n++] = u->order[i];
    return n;
}

static int keep_cell(struct bj_rollup *u, const struct cell *c, int64_t id,
                     struct bj_err *err)
{
    if (!BJ_GROW(u->kept, u->keeps + 1, u->kept_cap))
        return bj_err_set(err, -ENOMEM, "rollups");
    struct kept *k = &u->kept[u->keeps++];
    k->id = id;
    k->negative = c->negative;
    memcpy(k->sum, c->sum, sizeof(k->sum));
    return 0;
}

static int find_kept(struct bj_rollup *u, struct bj_err *err)
{
    if (!BJ_GROW(u->exists, u->keeps, u->exists_cap))
        return bj_err_set(err, -ENOMEM, "rollups");
    for (size_t i = 0; i < u->keeps; i++) {
        bj_arrays_i64(&u->rows, 0, u->kept[i].id);
        u->rows.rows++;
    }
    return bj_arrays_numbers(&u->rows, 1, u->there, u->exists, err);
}

/* Add to the rows that exist. */
static int add_kept(struct bj_rollup *u, struct bj_err *err)
{
    for (size_t i = 0; i < u->keeps; i++) {
        if (!u->exists[i])
            continue;
        bj_arrays_i64(&u->rows, 0, u->kept[i].id);
        for (unsigned k = 0; k < BJ_SUMS; k++)
            bj_arrays_i64(&u->rows, k + 1, u->kept[i].sum[k]);
        u->rows.rows++;
    }
    return u->rows.rows > 0 ? bj_arrays_run(&u->rows, BJ_SUMS + 1, u->add, err)
                            : 0;
}

struct loading {
    const struct bj_rollup *u;
    size_t at;
};

static int next_new(void *ctx, struct bj_value *ret, struct bj_err *err)
{
    struct loading *l = ctx;
    (void)err;
    while (l->at < l->u->keeps && l->u->exists[l->at])
        l->at++;
    if (l->at == l->u->keeps)
        return 0;
    const struct kept *k = &l->u->kept[l->at++];
    ret[0] = (struct bj_value){BJ_TYPE_INTEGER, .i64 = k->id};
    for (int i = 0; i < BJ_SUMS; i++)
        ret[i + 1] = (struct bj_value){BJ_TYPE_INTEGER, .i64 = k->sum[i]};
    return 1;
}

static int load_kept(struct bj_rollup *u, struct bj_err *err)
{
    const char *column[BJ_SUMS + 1] = {"id"};
    struct loading l = {.u = u}, any = l;
    struct bj_value first[BJ_SUMS + 1];
    const struct bj_load load = {.table = "rollup_usage",
                                 .column = column,
                                 .columns = BJ_SUMS + 1,
                                 .next = next_new,
                                 .ctx = &l};
    memcpy(column + 1, names, sizeof(names));
    return next_new(&any, first, err) ? bj_db_load(u->db, &load, err) : 0;
}

static int sweep_kept(struct bj_rollup *u, struct bj_err *err)
{
    for (size_t i = 0; i < u->keeps; i++)
        if (u->kept[i].negative && u->exists[i]) {
            bj_arrays_i64(&u->rows, 0, u->kept[i].id);
            u->rows.rows++;
        }
    return u->rows.rows > 0 ? bj_arrays_run(&u->rows, 1, u->sweep, err) : 0;
}

/* An upsert of each row would write twice as much: PostgreSQL confirms each row
 * that it inserts so. */
static int write_kept(struct bj_rollup *u, struct bj_err *err)
{
    if (u->keeps == 0)
        return 0;
    int r = find_kept(u, err);
    if (r == 0)
        r = add_kept(u, err);
    if (r == 0)
        r = load_kept(u, err);
    return r < 0 ? r : sweep_kept(u, err);
}

/* Add a cell to its row, and remove the row when all its sums are 0. */
static int write_cell(struct bj_rollup *u, const struct cell *c,
                      struct bj_err *err)
{
    int64_t id = (int64_t)c->month << 37 | c->assoc << 5 | c->day;
    if (u->many)
        return keep_cell(u, c, id, err);
    bj_st_bind_i64(u->add, 1, id);
    for (int i = 0; i < BJ_SUMS; i++)
        bj_st_bind_i64(u->add, i + 2, c->sum[i]);
    int r = bj_st_run(u->add, err);
    if (r < 0 || !c->negative)
        return r;
    bj_st_bind_i64(u->sweep, 1, id);
    return bj_st_run(u->sweep, err);
}

/* Write the cells of a month and an assoc, from first on, and their sum: the
 * number of cells, or an error. */
static int write_month(struct bj_rollup *u, uint32_t first, struct bj_err *err)
{
    const struct cell *at = &u->slot[u->order[first]];
    struct cell month = {.month = at->month, .assoc = at->assoc};
    uint32_t n = 0;
    int r = 0;
    while (r == 0 && first + n < u->n &&
           (at = &u->slot[u->order[first + n]])->month == month.month &&
           at->assoc == month.assoc) {
        month.negative = month.negative || at->negative;
        for (int i = 0; i < BJ_SUMS; i++)
            month.sum[i] += at->sum[i];
        r = write_cell(u, at, err);
        n++;
    }
    if (r == 0 && !cell_empty(&month))
        r = write_cell(u, &month, err);
    return r < 0 ? r : (int)n;
}

int bj_rollup_flush(struct bj_rollup *u, struct bj_err *err)
{
    int r = 0;
    u->n = pack(u);
    qsort_r(u->order, u->n, sizeof(u->order[0]), by_key, u->slot);
    for (uint32_t i = 0; i < u->n && (r = write_month(u, i, err)) >= 0;)
        i += (uint32_t)r;
    r = r < 0 ? r : 0;
    if (r == 0)
        r = write_kept(u, err);
    bj_rollup_drop(u);
    return r < 0 ? bj_err_wrap(err, r, "rollups") : 0;
}

void bj_rollup_drop(struct bj_rollup *u)
{
    for (uint32_t i = 0; i < u->n; i++)
        u->slot[u->order[i]].used = false;
    u->n = 0;
    u->keeps = 0;
    bj_arrays_clear(&u->rows);
}

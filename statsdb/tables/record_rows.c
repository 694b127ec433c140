#include "statsdb/tables/record_rows.h"

#include "base/hash.h"
#include "statsdb/tables/job_number.h"
#include "store/arrays.h"

#include <stdlib.h>

enum { SEPARATOR = 256 }; /* not the value of a byte */

static uint64_t add_number(uint64_t h, int64_t v)
{
    for (int bit = 0; bit < 64; bit += 8)
        h = bj_hash_unit(h, (unsigned)((uint64_t)v >> bit) & 0xff);
    return h;
}

/* The hash is stored, so it must not change. */
int64_t bj_record_number_of(const struct bj_record_key *k)
{
    uint64_t h = add_number(add_number(BJ_HASH, k->cluster), k->host);
    h = bj_hash_unit(bj_hash(h, k->jobid), SEPARATOR);
    h = bj_hash(h, k->slurm_node);
    return bj_job_number_first(k->start_sec) |
           (int64_t)((h ^ h >> 32) & 0xffffffff);
}

/* --- rows -----------------------------------------------------------------*/

enum { COLUMNS_MAX = 16, ROWS = 5000 /* rows of a statement */ };

/* The columns of the key come first. */
static const struct {
    const char *name;
    unsigned keys;
    const char *column[COLUMNS_MAX + 1];
    unsigned texts;    /* bit mask of text columns */
    const char *where; /* condition of the key, by which a row is replaced */
} tables[BJ_RECORD_TABLES] = {
    [BJ_RECORD_ENERGY] = {"node_energy",
                          3,
                          {"record", "policy", "component", "microjoules"},
                          0,
                          " WHERE node_energy.microjoules !="
                          " excluded.microjoules"},
    [BJ_RECORD_DEVICE] = {"node_device",
                          2,
                          {"record", "device", "read_bytes", "write_bytes",
                           "read_operations", "write_operations"},
                          1 << 1,
                          ""},
    [BJ_RECORD_GPU] = {"node_gpu",
                       2,
                       {"record", "gpu", "\"index\"", "model", "source",
                        "held_usec", "idle_usec", "busy_ppm", "sm_active_ppm",
                        "memory_peak_bytes", "energy_uj", "estimated", "fault",
                        "fault_xid", "fault_sec", "fault_by_process"},
                       1 << 1 | 1 << 2,
                       ""},
};

struct bj_record_rows {
    bool many; /* gather rows */
    struct of {
        struct bj_st *put;
        struct bj_arrays rows;
        unsigned at; /* number of values in the next row */
    } of[BJ_RECORD_TABLES];
};

/* --- statements ----------------------------------------------------------- */

static unsigned columns_of(int table)
{
    unsigned n = 0;
    while (tables[table].column[n])
        n++;
    return n;
}

/* The first n columns, with commas. */
static void put_columns(struct bj_buf *sql, int table, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        bj_buf_printf(sql, "%s%s", i ? ", " : "", tables[table].column[i]);
}

static void put_values(struct bj_buf *sql, unsigned n)
{
    bj_buf_str(sql, "VALUES(");
    for (unsigned i = 0; i < n; i++)
        bj_buf_printf(sql, "%s?%u", i ? ", " : "", i + 1);
    bj_buf_str(sql, ")");
}

/* Write only the last of several rows with one key, because a statement can
 * write a row only once. */
static void put_arrays(struct bj_buf *sql, int table, unsigned n)
{
    bj_buf_str(sql, "SELECT DISTINCT ON (");
    put_columns(sql, table, tables[table].keys);
    bj_buf_str(sql, ") ");
    put_columns(sql, table, n);
    bj_buf_str(sql, " FROM unnest(");
    for (unsigned i = 0; i < n; i++)
        bj_buf_printf(sql, "%sCAST(?%u AS %s[])", i ? ", " : "", i + 1,
                      tables[table].texts >> i & 1 ? "text" : "bigint");
    bj_buf_str(sql, ") WITH ORDINALITY AS w(");
    put_columns(sql, table, n);
    bj_buf_str(sql, ", n) ORDER BY ");
    put_columns(sql, table, tables[table].keys);
    bj_buf_str(sql, ", n DESC");
}

static int record_rows_prepare(struct bj_record_rows *w, struct bj_db *db,
                               int table, struct bj_err *err)
{
    struct bj_buf sql = {0};
    unsigned n = columns_of(table);
    bj_buf_printf(&sql, "INSERT INTO %s(", tables[table].name);
    put_columns(&sql, table, n);
    bj_buf_str(&sql, ") ");
    if (w->many)
        put_arrays(&sql, table, n);
    else
        put_values(&sql, n);
    bj_buf_str(&sql, " ON CONFLICT(");
    put_columns(&sql, table, tables[table].keys);
    bj_buf_str(&sql, ") DO UPDATE SET ");
    for (unsigned i = tables[table].keys; i < n; i++)
        bj_buf_printf(&sql, "%s%s = excluded.%s",
                      i > tables[table].keys ? ", " : "",
                      tables[table].column[i], tables[table].column[i]);
    bj_buf_str(&sql, tables[table].where);
    return bj_db_prepare_buf(db, &sql, &w->of[table].put, err);
}

int bj_record_rows_new(struct bj_db *db, struct bj_record_rows **ret,
                       struct bj_err *err)
{
    struct bj_record_rows *w = calloc(1, sizeof(*w));
    if (!w)
        return bj_err_set(err, -ENOMEM, "records");
    w->many = bj_db_dialect(db) == BJ_DIALECT_POSTGRESQL;
    int r = 0;
    for (int i = 0; r == 0 && i < BJ_RECORD_TABLES; i++)
        r = record_rows_prepare(w, db, i, err);
    if (r < 0) {
        bj_record_rows_free(w);
        return r;
    }
    *ret = w;
    return 0;
}

void bj_record_rows_free(struct bj_record_rows *w)
{
    if (!w)
        return;
    for (int i = 0; i < BJ_RECORD_TABLES; i++) {
        bj_st_finalize(w->of[i].put);
        bj_arrays_free(&w->of[i].rows);
    }
    free(w);
}

/* --- rows ----------------------------------------------------------------- */

void bj_record_rows_i64(struct bj_record_rows *w, enum bj_record_table table,
                        int64_t v)
{
    struct of *of = &w->of[table];
    if (w->many)
        bj_arrays_i64(&of->rows, of->at++, v);
    else
        bj_st_bind_i64(of->put, (int)++of->at, v);
}

void bj_record_rows_text(struct bj_record_rows *w, enum bj_record_table table,
                         struct bj_slice s)
{
    struct of *of = &w->of[table];
    if (!w->many)
        bj_st_bind_filled(of->put, (int)++of->at, s);
    else
        bj_arrays_text(&of->rows, of->at++,
                       s.n > 0 ? s : (struct bj_slice){NULL, 0});
}

int bj_record_rows_put(struct bj_record_rows *w, enum bj_record_table table,
                       struct bj_err *err)
{
    struct of *of = &w->of[table];
    of->at = 0;
    if (!w->many)
        return bj_st_run(of->put, err);
    return ++of->rows.rows < ROWS
               ? 0
               : bj_arrays_run(&of->rows, columns_of((int)table), of->put, err);
}

int bj_record_rows_flush(struct bj_record_rows *w, struct bj_err *err)
{
    int r = 0;
    for (int i = 0; r == 0 && i < BJ_RECORD_TABLES; i++)
        if (w->of[i].rows.rows > 0)
            r = bj_arrays_run(&w->of[i].rows, columns_of(i), w->of[i].put, err);
    return r;
}

void bj_record_rows_forget(struct bj_record_rows *w)
{
    for (int i = 0; i < BJ_RECORD_TABLES; i++) {
        bj_arrays_free(&w->of[i].rows);
        w->of[i].at = 0;
    }
}

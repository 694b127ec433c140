/* Compares the tables of a store with those that its version says: a build that
 * changed a table without a new version may have made it, and a migration would
 * damage such a store. */
#include "statsdb/tables/schema.h"

#include "base/array.h"
#include "base/buf.h"
#include "statsdb/tables/schema_sql.h"
#include "store/db.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Columns and indexes, one a line: "job.cluster INT NOT NULL", "job_user
 * job(user,at)".  The engines' lists of the same version are equal. */
static const char *const layout_sqlite[] = {
    "SELECT m.name || '.' || c.name || ' ' || CASE c.type WHEN 'INTEGER' THEN"
    " 'INT' WHEN 'ANY' THEN 'TEXT' ELSE c.type END || CASE WHEN"
    " c.\"notnull\" OR c.pk > 0 THEN ' NOT NULL' ELSE '' END || CASE WHEN"
    " c.pk > 0 THEN ' key ' || c.pk ELSE '' END || CASE WHEN c.hidden IN (2,"
    " 3) THEN ' generated' ELSE '' END FROM sqlite_schema AS m JOIN"
    " pragma_table_xinfo(m.name) AS c WHERE m.type = 'table' AND m.name NOT"
    " LIKE 'sqlite%'",
    "SELECT i.name || CASE WHEN i.\"unique\" THEN ' unique' ELSE '' END || CASE"
    " WHEN i.partial THEN ' partial' ELSE '' END || ' ' || m.name || '(' ||"
    " (SELECT group_concat(coalesce(name, '?')) FROM"
    " pragma_index_xinfo(i.name) WHERE key) || ')' FROM sqlite_schema AS m JOIN"
    " pragma_index_list(m.name) AS i WHERE m.type = 'table' AND i.origin = 'c'",
};

/* Without the tables that only PostgreSQL has.  The unique indexes of
 * partitioned tables contain the number, too. */
static const char *const layout_postgresql[] = {
    "SELECT c.relname || '.' || a.attname || ' ' || CASE"
    " a.atttypid::regtype::text WHEN 'bigint' THEN 'INT' WHEN 'text' THEN"
    " 'TEXT' WHEN 'double precision' THEN 'REAL' ELSE a.atttypid::regtype::text"
    " END || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END || coalesce("
    "' key ' || array_position(i.indkey::int[], a.attnum::int) + 1, '') || CASE"
    " a.attgenerated WHEN '' THEN '' ELSE ' generated' END FROM"
    " pg_catalog.pg_class AS c JOIN pg_catalog.pg_attribute AS a ON a.attrelid"
    " = c.oid LEFT JOIN pg_catalog.pg_index AS i ON i.indrelid = c.oid AND"
    " i.indisprimary WHERE c.relkind IN ('r', 'p') AND c.relnamespace ="
    " current_schema()::regnamespace AND a.attnum > 0 AND NOT a.attisdropped"
    " AND NOT c.relispartition AND c.relname NOT IN ('store_meta',"
    " 'job_month')",
    "SELECT c.relname || CASE WHEN i.indisunique THEN ' unique' ELSE '' END ||"
    " CASE WHEN i.indpred IS NULL THEN '' ELSE ' partial' END || ' ' ||"
    " t.relname || '(' || (SELECT string_agg(coalesce((SELECT attname FROM"
    " pg_catalog.pg_attribute WHERE attrelid = t.oid AND attnum = k.num),"
    " '?'), ',' ORDER BY k.at) FROM unnest(i.indkey::int[]) WITH ORDINALITY AS"
    " k(num, at) WHERE c.relname NOT IN ('job_key', 'job_sluid',"
    " 'node_record_key') OR k.num <> (SELECT attnum FROM"
    " pg_catalog.pg_attribute WHERE attrelid = t.oid AND attname = 'id')) ||"
    " ')' FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS c ON c.oid"
    " = i.indexrelid JOIN pg_catalog.pg_class AS t ON t.oid = i.indrelid WHERE"
    " c.relnamespace = current_schema()::regnamespace AND NOT"
    " c.relispartition AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_constraint"
    " WHERE conindid = i.indexrelid)",
};

enum { LISTS = 2 };

struct layout {
    char **line; /* sorted */
    size_t n, cap;
};

static void schema_layout_drop(struct layout *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->line[i]);
    free(l->line);
}

static int schema_layout_add(struct layout *l, struct bj_slice text,
                             struct bj_err *err)
{
    if (!BJ_GROW(l->line, l->n + 1, l->cap))
        return bj_err_set(err, -ENOMEM, "tables");
    l->line[l->n] = strndup(text.n > 0 ? text.p : "", text.n);
    if (!l->line[l->n])
        return bj_err_set(err, -ENOMEM, "tables");
    l->n++;
    return 0;
}

static int schema_layout_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int read_layout(struct bj_db *db, struct layout *l, struct bj_err *err)
{
    const char *const *sql = bj_db_dialect(db) == BJ_DIALECT_POSTGRESQL
                                 ? layout_postgresql
                                 : layout_sqlite;
    int r = 0;
    for (int i = 0; r == 0 && i < LISTS; i++) {
        struct bj_st *st;
        r = bj_db_prepare(db, sql[i], &st, err);
        if (r < 0)
            break;
        while ((r = bj_st_row(st, err)) > 0)
            if ((r = schema_layout_add(l, bj_st_get_text(st, 0), err)) < 0)
                break;
        bj_st_finalize(st);
    }
    if (r == 0 && l->n > 0)
        qsort(l->line, l->n, sizeof(l->line[0]), schema_layout_compare);
    return r;
}

/* Has the layout a column of the same table as this line?  Other tables, and
 * indexes, may be the site's. */
static bool has_table_of(const struct layout *l, const char *line)
{
    const char *dot = strchr(line, '.'), *blank = strchr(line, ' ');
    if (!dot || (blank && blank < dot))
        return false;
    const size_t n = (size_t)(dot - line) + 1;
    for (size_t i = 0; i < l->n; i++)
        if (strncmp(l->line[i], line, n) == 0)
            return true;
    return false;
}

static int misfit(int version, const char *line, const char *how,
                  struct bj_err *err)
{
    return bj_err_set(err, -EBADMSG,
                      "the tables are not those of version %d, which the store"
                      " has: %s %s; a build between two versions may have made"
                      " them; nothing was changed",
                      version, line, how);
}

static int compare_layouts(const struct layout *want, const struct layout *got,
                           int version, struct bj_err *err)
{
    size_t i = 0, k = 0;
    while (i < want->n || k < got->n) {
        const int order = i == want->n  ? 1
                          : k == got->n ? -1
                                        : strcmp(want->line[i], got->line[k]);
        if (order < 0)
            return misfit(version, want->line[i], "is missing", err);
        if (order > 0 && has_table_of(want, got->line[k]))
            return misfit(version, got->line[k], "is too much", err);
        i += order == 0;
        k++;
    }
    return 0;
}

/* Make the layout of a version from its tables in an empty database. */
static int make_layout(int version, struct layout *ret, struct bj_err *err)
{
    const struct bj_db_options opt = {.create = true};
    struct bj_db *model = NULL;
    int r = bj_db_open(&opt, &model, err);
    if (r == 0)
        r = bj_schema_make(model, version, err);
    if (r == 0)
        r = read_layout(model, ret, err);
    bj_db_close(model);
    if (r < 0) {
        schema_layout_drop(ret);
        *ret = (struct layout){.n = 0};
    }
    return r;
}

/* The layout of the version that was compared last.  To make it takes ten times
 * as long as the rest of opening a store. */
static pthread_mutex_t wanted_lock = PTHREAD_MUTEX_INITIALIZER;
static struct layout wanted;
static int wanted_version;

int bj_schema_fits(struct bj_db *db, int version, struct bj_err *err)
{
    struct layout got = {.n = 0};
    int r = 0;
    if (version <= 0 || version > bj_schema_version())
        return 0;
    pthread_mutex_lock(&wanted_lock);
    if (version != wanted_version) {
        schema_layout_drop(&wanted);
        wanted = (struct layout){.n = 0};
        r = make_layout(version, &wanted, err);
        wanted_version = r == 0 ? version : 0;
    }
    if (r == 0)
        r = read_layout(db, &got, err);
    if (r == 0)
        r = compare_layouts(&wanted, &got, version, err);
    pthread_mutex_unlock(&wanted_lock);
    schema_layout_drop(&got);
    return r;
}

/* --- migration ------------------------------------------------------------*/

enum { PARTS = 9 };

/* The tables: step i leads from version i to i + 1.  A released step is never
 * changed.  Views are created again after the last step. */
static const char *const *const steps[][PARTS] = {
    {bj_schema_accounting, bj_schema_measured},
    {bj_schema_held},
    {bj_schema_mail},
    {bj_schema_running},
    {bj_schema_site},
    {bj_schema_access},
    {bj_schema_gpu_model},
    {bj_schema_cancelled},
    {bj_schema_evidence, bj_schema_application, bj_schema_resized,
     bj_schema_record_host, bj_schema_zone, bj_schema_failed_nodes,
     bj_schema_held_charged, bj_schema_months, bj_schema_lists},
    {bj_schema_as_reported},
    {bj_schema_named},
    {bj_schema_gpu_fault},
    {bj_schema_notify},
    {bj_schema_notify_queue},
    {bj_schema_kernel},
};

enum { STEPS = sizeof(steps) / sizeof(steps[0]), COPY = 1000000 };

int bj_schema_version(void)
{
    return STEPS;
}

static bool is_postgresql(struct bj_db *db)
{
    return bj_db_dialect(db) == BJ_DIALECT_POSTGRESQL;
}

/* --- the version -----------------------------------------------------------
 * The stored number is negative while a copy into the store has not finished;
 * COPY is added to it in a copy that only this program has written. */

static int not_a_store(struct bj_err *err)
{
    return bj_err_set(err, -EBADMSG, "not a store of batch job statistics");
}

/* In the header of the file. */
static int read_sqlite(struct bj_db *db, int64_t *ret, struct bj_err *err)
{
    int64_t id, tables;
    int r = bj_db_int(db, "PRAGMA application_id", &id, err);
    if (r == 0)
        r = bj_db_int(db, "PRAGMA user_version", ret, err);
    if (r == 0)
        r = bj_db_int(db, "SELECT count(*) FROM sqlite_schema", &tables, err);
    if (r < 0)
        return r;
    return id != BJ_SCHEMA_APPLICATION && (id || *ret || tables)
               ? not_a_store(err)
               : 0;
}

/* In a table of one row. */
static int read_postgresql(struct bj_db *db, int64_t *ret, struct bj_err *err)
{
    static const char count[] =
        "SELECT count(*) FROM pg_catalog.pg_class WHERE relnamespace ="
        " current_schema()::regnamespace AND relkind IN ('r', 'p')";
    static const char there[] =
        "SELECT count(*) FROM pg_catalog.pg_class WHERE relnamespace ="
        " current_schema()::regnamespace AND relkind = 'r' AND relname ="
        " 'store_meta'";
    int64_t n = 0;
    *ret = 0;
    int r = bj_db_int(db, there, &n, err);
    if (r == 0 && n > 0)
        return bj_db_int(db, "SELECT version FROM store_meta", ret, err);
    if (r == 0)
        r = bj_db_int(db, count, &n, err);
    return r == 0 && n > 0 ? not_a_store(err) : r;
}

static int schema_read_number(struct bj_db *db, int64_t *ret,
                              struct bj_err *err)
{
    return is_postgresql(db) ? read_postgresql(db, ret, err)
                             : read_sqlite(db, ret, err);
}

int bj_schema_read(struct bj_db *db, int *ret_version, struct bj_err *err)
{
    int64_t number = 0;
    int r = schema_read_number(db, &number, err);
    if (r < 0)
        return r;
    *ret_version = abs((int)number) % COPY;
    return number >= 0 ? 0
                       : bj_err_set(err, -EINPROGRESS,
                                    "a copy into this store has not finished;"
                                    " run batchjob_stats_db copy again");
}

int bj_schema_copy(struct bj_db *db, enum bj_schema_copy *ret,
                   struct bj_err *err)
{
    int64_t number = 0;
    int r = schema_read_number(db, &number, err);
    *ret = number < 0       ? BJ_SCHEMA_COPYING
           : number >= COPY ? BJ_SCHEMA_IS_COPY
                            : BJ_SCHEMA_OWN;
    return r;
}

static int set_version(struct bj_db *db, int version, struct bj_err *err)
{
    char sql[400];
    if (is_postgresql(db))
        snprintf(sql, sizeof(sql),
                 "CREATE TABLE IF NOT EXISTS store_meta(id BIGINT PRIMARY KEY"
                 " CHECK(id = 1), version BIGINT NOT NULL, uuid UUID NOT NULL);"
                 "INSERT INTO store_meta VALUES(1, %d, gen_random_uuid())"
                 " ON CONFLICT(id) DO UPDATE SET version = %d",
                 version, version);
    else
        snprintf(sql, sizeof(sql),
                 "PRAGMA application_id = %d; PRAGMA user_version = %d",
                 BJ_SCHEMA_APPLICATION, version);
    return bj_db_exec(db, sql, err);
}

int bj_schema_set_copy(struct bj_db *db, enum bj_schema_copy copy,
                       struct bj_err *err)
{
    static const int numbers[] = {[BJ_SCHEMA_OWN] = STEPS,
                                  [BJ_SCHEMA_COPYING] = -STEPS,
                                  [BJ_SCHEMA_IS_COPY] = COPY + STEPS};
    return set_version(db, numbers[copy], err);
}

/* --- steps ---------------------------------------------------------------- */

/* Return a statement without the mark of its engine; NULL: it is for another
 * engine. */
static const char *of_engine(struct bj_db *db, const char *sql)
{
    static const char sqlite[] = BJ_ONLY_SQLITE,
                      postgresql[] = BJ_ONLY_POSTGRESQL;
    if (strncmp(sql, sqlite, sizeof(sqlite) - 1) == 0)
        return is_postgresql(db) ? NULL : sql + sizeof(sqlite) - 1;
    if (strncmp(sql, postgresql, sizeof(postgresql) - 1) == 0)
        return is_postgresql(db) ? sql + sizeof(postgresql) - 1 : NULL;
    return sql;
}

/* Make a partitioned table in PostgreSQL; the mark before the statement names
 * the column. */
static int run_split(struct bj_db *db, const char *sql, struct bj_err *err)
{
    static const char by[] = "/*by ";
    struct bj_buf text = {0};
    const char *column = sql + sizeof(by) - 1;
    if (!is_postgresql(db) || strncmp(sql, by, sizeof(by) - 1) != 0)
        return bj_db_exec(db, sql, err);
    bj_buf_printf(&text, "%s PARTITION BY RANGE (%.*s)", sql,
                  (int)strcspn(column, "*"), column);
    bj_buf_put(&text, "", 1);
    int r = text.failed ? bj_err_set(err, -ENOMEM, "tables")
                        : bj_db_exec(db, text.p, err);
    bj_buf_free(&text);
    return r;
}

static int run_all(struct bj_db *db, const char *const *sql, struct bj_err *err)
{
    int r = 0;
    for (; r == 0 && sql && *sql; sql++) {
        const char *text = of_engine(db, *sql);
        if (text)
            r = run_split(db, text, err);
    }
    return r;
}

static int run_step(struct bj_db *db, int step, struct bj_err *err)
{
    int r = 0;
    for (int part = 0; r == 0 && part < PARTS; part++)
        r = run_all(db, steps[step][part], err);
    return r < 0 ? bj_err_wrap(err, r, "migration to version %d", step + 1) : 0;
}

/* --- views ---------------------------------------------------------------- */

static int list_sqlite(struct bj_db *db, struct bj_buf *sql, struct bj_err *err)
{
    struct bj_st *st;
    int r = bj_db_prepare(
        db, "SELECT name FROM sqlite_schema WHERE type = 'view'", &st, err);
    if (r < 0)
        return r;
    while ((r = bj_st_row(st, err)) > 0)
        bj_buf_printf(sql, "DROP VIEW \"%s\";", bj_st_get_text(st, 0).p);
    bj_st_finalize(st);
    return r;
}

/* The state of the schema people, in which this role makes views if it may. */
enum people { NO_SCHEMA, NO_VIEWS, HAS_VIEWS };

static int find_people(struct bj_db *db, enum people *ret, struct bj_err *err)
{
    static const char sql[] =
        "SELECT coalesce((SELECT CASE WHEN to_regclass('people.job_v') IS NULL"
        " THEN 1 ELSE 2 END FROM pg_catalog.pg_namespace WHERE nspname ="
        " 'people' AND has_schema_privilege(oid, 'CREATE')), 0)";
    int64_t found = NO_SCHEMA;
    int r = is_postgresql(db) ? bj_db_int(db, sql, &found, err) : 0;
    *ret = (enum people)found;
    return r;
}

int bj_schema_make_people(struct bj_db *db, bool *ret, struct bj_err *err)
{
    enum people people = NO_SCHEMA;
    int r = find_people(db, &people, err);
    *ret = r == 0 && people != NO_SCHEMA;
    if (r == 0 && people == NO_VIEWS)
        r = run_all(db, bj_schema_people, err);
    return r < 0 ? bj_err_wrap(err, r, "views of the schema people") : 0;
}

/* List the names of views that exist, from the statements that make them: a
 * former version may have had a table with the name. */
static int schema_list(struct bj_db *db, struct bj_buf *sql,
                       const char *const *views, struct bj_err *err)
{
    static const char create[] = "CREATE VIEW ";
    struct bj_st *st;
    int r = bj_db_prepare(db,
                          "SELECT 1 FROM pg_catalog.pg_class WHERE oid ="
                          " to_regclass(?1) AND relkind = 'v'",
                          &st, err);
    for (; r == 0 && *views; views++) {
        const char *name = *views + sizeof(create) - 1;
        const struct bj_slice text = {name, (size_t)(strchr(name, ' ') - name)};
        bj_st_bind_text(st, 1, text);
        r = bj_st_row(st, err);
        if (r > 0)
            bj_buf_printf(sql, "%s%.*s", sql->len > 0 ? ", " : "DROP VIEW ",
                          (int)text.n, text.p);
        r = r < 0 ? r : 0;
        bj_st_reset(st);
    }
    bj_st_finalize(st);
    return r;
}

/* List only this program's views, because the schema may contain other views.
 */
static int list_own(struct bj_db *db, struct bj_buf *sql, struct bj_err *err)
{
    enum people people = NO_SCHEMA;
    int r = find_people(db, &people, err);
    if (r == 0 && people != NO_SCHEMA)
        r = schema_list(db, sql, bj_schema_people, err);
    return r == 0 ? schema_list(db, sql, bj_schema_views, err) : r;
}

static int drop_views(struct bj_db *db, struct bj_err *err)
{
    struct bj_buf sql = {0};
    int r = is_postgresql(db) ? list_own(db, &sql, err)
                              : list_sqlite(db, &sql, err);
    bj_buf_put(&sql, "", 1);
    if (r == 0)
        r = sql.failed ? bj_err_set(err, -ENOMEM, "views")
                       : bj_db_exec(db, sql.p, err);
    bj_buf_free(&sql);
    return r < 0 ? bj_err_wrap(err, r, "views of the former version") : 0;
}

/* --- migrations ----------------------------------------------------------- */

static int make_views(struct bj_db *db, struct bj_err *err)
{
    int r = run_all(db, bj_schema_views, err);
    return r < 0 ? r : bj_schema_make_people(db, &(bool){false}, err);
}

static int migrate(struct bj_db *db, int to, bool views, struct bj_err *err)
{
    int version = 0;
    int r = bj_db_begin(db, BJ_BEGIN_WRITE, err);
    if (r == 0)
        /* now no other process can migrate */
        r = bj_schema_read(db, &version, err);
    if (r == 0 && version < to)
        r = drop_views(db, err);
    for (int i = version; r == 0 && i < to; i++)
        r = run_step(db, i, err);
    if (r == 0 && views && version < to)
        r = make_views(db, err);
    if (r == 0 && version < to)
        r = set_version(db, to, err);
    if (r == 0)
        r = bj_db_commit(db, err);
    if (r < 0)
        bj_db_rollback(db);
    return r;
}

int bj_schema_make(struct bj_db *db, int version, struct bj_err *err)
{
    return migrate(db, version, false, err);
}

int bj_schema_migrate(struct bj_db *db, struct bj_err *err)
{
    int version;
    int r = bj_schema_read(db, &version, err);
    if (r < 0)
        return r;
    if (version > STEPS)
        return bj_err_set(
            err, -ENOTSUP,
            "the store has version %d, this program supports up to %d", version,
            STEPS);
    return version == STEPS ? 0 : migrate(db, STEPS, true, err);
}

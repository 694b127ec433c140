/* Compares the tables of a store with those that its version says: a build that
 * changed a table without a new version may have made it, and a migration would
 * damage such a store. */
#include "statsdb/tables/schema_layout.h"

#include "base/array.h"
#include "statsdb/tables/schema.h"
#include "store/db.h"

#include <stdlib.h>
#include <string.h>

/* Columns and indexes, one a line: "job.cluster INT NOT NULL", "job_user
 * job(user,at)".  The engines' lists of the same version are equal. */
static const char *const sqlite[] = {
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
static const char *const postgresql[] = {
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
    const char *const *sql =
        bj_db_dialect(db) == BJ_DIALECT_POSTGRESQL ? postgresql : sqlite;
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

int bj_schema_fits(struct bj_db *db, int version, struct bj_err *err)
{
    const struct bj_db_options opt = {.create = true};
    struct bj_db *model = NULL;
    struct layout want = {.n = 0}, got = {.n = 0};
    if (version <= 0 || version > bj_schema_version())
        return 0;
    int r = bj_db_open(&opt, &model, err);
    if (r == 0)
        r = bj_schema_make(model, version, err);
    if (r == 0)
        r = read_layout(model, &want, err);
    if (r == 0)
        r = read_layout(db, &got, err);
    if (r == 0)
        r = compare_layouts(&want, &got, version, err);
    bj_db_close(model);
    schema_layout_drop(&want);
    schema_layout_drop(&got);
    return r;
}

#include "statsdb/tables/people.h"

#include "base/buf.h"
#include "store/db.h"

#include <errno.h>

/* Tables of daily and monthly sums by assoc: the key beside id (NULL: none),
 * and the sums.
 */
static const struct {
    const char *table, *key, *sum[18];
} sums[] = {
    {"rollup_usage",
     NULL,
     {"jobs_started", "jobs_ended", "jobs_completed", "jobs_failed",
      "jobs_cancelled", "jobs_timeout", "jobs_oom", "wait_sec", "elapsed_sec",
      "node_sec", "cpu_sec", "gpu_sec", "mem_mib_sec", "cpu_used_msec",
      "cpu_unknown_sec", "energy_scheduler_joules", "energy_cpu_sec"}},
    {"rollup_energy",
     NULL,
     {"jobs", "cpu_sec", "energy_mj", "energy_used_mj", "energy_reserved_mj",
      "cpu_more_msec", "cpu_known_sec", "gpu_sec", "gpu_used_msec",
      "failed_cpu_sec", "failed_gpu_sec", "failed_mem_mib_sec",
      "failed_energy_cpu_sec", "failed_energy_mj"}},
    {"rollup_grams", "source", {"micrograms", "covered_mj"}},
    {"rollup_application",
     "application",
     {"jobs", "cpu_sec", "cpu_known_sec", "cpu_used_msec", "gpu_sec",
      "gpu_known_sec", "gpu_used_msec", "energy_cpu_sec", "energy_mj"}},
};
enum { SUMS = sizeof(sums) / sizeof(sums[0]) };

/* The columns of assoc that name a person or a group. */
static const char *const columns[] = {
    [BJ_PEOPLE_USER] = "user", [BJ_PEOPLE_ACCOUNT] = "account"};

/* Run a statement with the values ?1 and ?2, as far as it has them. */
static int people_run(struct bj_db *db, struct bj_buf *sql, int64_t a,
                      int64_t b, struct bj_err *err)
{
    struct bj_st *st;
    int r = bj_db_prepare_buf(db, sql, &st, err);
    if (r < 0)
        return r;
    if (bj_st_parameters(st) > 0)
        bj_st_bind_i64(st, 1, a);
    if (bj_st_parameters(st) > 1)
        bj_st_bind_i64(st, 2, b);
    r = bj_st_run(st, err);
    bj_st_finalize(st);
    return r;
}

static int run_text(struct bj_db *db, const char *sql, int64_t a, int64_t b,
                    struct bj_err *err)
{
    struct bj_buf buf = {0};
    bj_buf_str(&buf, sql);
    return people_run(db, &buf, a, b, err);
}

/* Run a statement with the texts ?1 and ?2. */
static int run_names(struct bj_db *db, const char *sql, const char *a,
                     const char *b, struct bj_err *err)
{
    struct bj_st *st;
    int r = bj_db_prepare(db, sql, &st, err);
    if (r < 0)
        return r;
    bj_st_bind_text(st, 1, bj_slice_str(a));
    bj_st_bind_text(st, 2, bj_slice_str(b));
    r = bj_st_run(st, err);
    bj_st_finalize(st);
    return r;
}

/* The number of a name; 0: the store does not have it. */
static int people_find(struct bj_db *db, enum bj_people kind, const char *name,
                       int64_t *ret, struct bj_err *err)
{
    struct bj_st *st;
    struct bj_buf sql = {0};
    *ret = 0;
    bj_buf_printf(&sql, "SELECT id FROM %s WHERE name = ?1", columns[kind]);
    int r = bj_db_prepare_buf(db, &sql, &st, err);
    if (r < 0)
        return r;
    bj_st_bind_text(st, 1, bj_slice_str(name));
    r = bj_st_row(st, err);
    if (r > 0)
        *ret = bj_st_get_i64(st, 0);
    bj_st_finalize(st);
    return r < 0 ? r : 0;
}

/* Add the sums of temp.pair.id to those of temp.pair.other. */
static int add_sums(struct bj_db *db, unsigned t, struct bj_err *err)
{
    struct bj_buf sql = {0};
    const char *key = sums[t].key, *table = sums[t].table;
    bj_buf_printf(&sql, "INSERT INTO %s(id%s%s", table, key ? ", " : "",
                  key ? key : "");
    for (unsigned i = 0; sums[t].sum[i]; i++)
        bj_buf_printf(&sql, ", %s", sums[t].sum[i]);
    bj_buf_printf(&sql, ") SELECT o.id + (p.other - p.id) * 32%s%s",
                  key ? ", o." : "", key ? key : "");
    for (unsigned i = 0; sums[t].sum[i]; i++)
        bj_buf_printf(&sql, ", o.%s", sums[t].sum[i]);
    bj_buf_printf(&sql,
                  " FROM %s AS o JOIN temp.pair AS p ON p.id = o.assoc WHERE"
                  " true ON CONFLICT(id%s%s) DO UPDATE SET ",
                  table, key ? ", " : "", key ? key : "");
    for (unsigned i = 0; sums[t].sum[i]; i++) {
        const char *c = sums[t].sum[i]; /* NULL is unknown */
        bj_buf_printf(&sql,
                      "%s%s = coalesce(%s.%s + excluded.%s, %s.%s, "
                      "excluded.%s)",
                      i ? ", " : "", c, table, c, c, table, c, c);
    }
    int r = people_run(db, &sql, 0, 0, err);
    bj_buf_printf(&sql,
                  "DELETE FROM %s WHERE assoc IN (SELECT id FROM temp.pair)",
                  table);
    return r < 0 ? (bj_buf_free(&sql), r) : people_run(db, &sql, 0, 0, err);
}

/* Give the name number a all that has number b, and remove b's name. */
static int people_merge(struct bj_db *db, enum bj_people kind, int64_t from,
                        int64_t to, struct bj_err *err)
{
    static const char *const changed[] = {"assoc", "job", "node_record"};
    const char *column = columns[kind];
    const char *other =
        columns[kind == BJ_PEOPLE_USER ? BJ_PEOPLE_ACCOUNT : BJ_PEOPLE_USER];
    struct bj_buf sql = {0};
    int r = run_text(db,
                     "CREATE TEMP TABLE pair(id INTEGER PRIMARY KEY,"
                     " other INT NOT NULL)",
                     0, 0, err);
    bj_buf_printf(&sql,
                  "INSERT INTO temp.pair SELECT o.id, n.id FROM assoc AS o"
                  " JOIN assoc AS n ON n.cluster = o.cluster AND n.partition ="
                  " o.partition AND n.%s = o.%s WHERE o.%s = ?1 AND n.%s = ?2",
                  other, other, column, column);
    if (r == 0)
        r = people_run(db, &sql, from, to, err);
    for (unsigned t = 0; r == 0 && t < SUMS; t++)
        r = add_sums(db, t, err);
    if (r == 0)
        r = run_text(db,
                     "DELETE FROM assoc WHERE id IN (SELECT id FROM temp.pair)",
                     0, 0, err);
    if (r == 0)
        r = run_text(db, "DROP TABLE temp.pair", 0, 0, err);
    for (unsigned i = 0; r == 0 && i < 3; i++) {
        bj_buf_printf(&sql, "UPDATE %s SET %s = ?2 WHERE %s = ?1", changed[i],
                      column, column);
        r = people_run(db, &sql, from, to, err);
    }
    bj_buf_printf(&sql, "DELETE FROM %s WHERE id = ?1", column);
    if (r == 0)
        r = people_run(db, &sql, from, to, err);
    bj_buf_free(&sql);
    return r;
}

static int rename_mails(struct bj_db *db, const char *from, const char *to,
                        struct bj_err *err)
{
    int r = run_names(db,
                      "DELETE FROM mail_choice WHERE user = ?2 AND EXISTS"
                      " (SELECT 1 FROM mail_choice WHERE user = ?1)",
                      from, to, err);
    if (r == 0)
        r = run_names(db, "UPDATE mail_choice SET user = ?2 WHERE user = ?1",
                      from, to, err);
    if (r == 0)
        r = run_names(db, "UPDATE mail_sent SET user = ?2 WHERE user = ?1",
                      from, to, err);
    /* An alert that lasts is found again, with the new name. */
    if (r == 0)
        r = run_names(db, "DELETE FROM notify_alert WHERE user IN (?1, ?2)",
                      from, to, err);
    if (r == 0)
        r = run_names(db, "DELETE FROM notify_event WHERE user IN (?1, ?2)",
                      from, to, err);
    return r;
}

static int rename_in(struct bj_db *db, enum bj_people kind, const char *from,
                     const char *to, struct bj_err *err)
{
    int64_t a, b;
    int r = people_find(db, kind, from, &a, err);
    if (r == 0)
        r = people_find(db, kind, to, &b, err);
    if (r < 0)
        return r;
    if (a == 0)
        return bj_err_set(err, -ENOENT, "no job has the %s '%.60s'",
                          columns[kind], from);
    if (a == b || !*to)
        return bj_err_set(err, -EINVAL, "expected another name than '%.60s'",
                          to);
    struct bj_buf sql = {0};
    bj_buf_printf(&sql, "UPDATE %s SET name = ?2 WHERE name = ?1",
                  columns[kind]);
    bj_buf_put(&sql, "", 1);
    if (b)
        r = people_merge(db, kind, a, b, err);
    else
        r = sql.failed ? bj_err_set(err, -ENOMEM, "rename")
                       : run_names(db, sql.p, from, to, err);
    bj_buf_free(&sql);
    if (r == 0 && kind == BJ_PEOPLE_USER)
        r = rename_mails(db, from, to, err);
    return r;
}

int bj_people_rename(struct bj_store *s, enum bj_people kind, const char *from,
                     const char *to, struct bj_err *err)
{
    int r = bj_store_begin(s, err);
    if (r == 0)
        r = rename_in(bj_store_db(s), kind, from, to, err);
    if (r == 0)
        r = bj_store_commit(s, err);
    if (r < 0)
        bj_store_rollback(s);
    return r < 0 ? bj_err_wrap(err, r, "rename") : 0;
}

static int delete_in(struct bj_db *db, const char *user, struct bj_err *err)
{
    static const char *const texts[] = {
        "UPDATE job_more SET submit_line = NULL, comment = NULL,"
        " admin_comment = NULL, system_comment = NULL, container = NULL,"
        " submit_host = NULL, stdout_path = NULL, stderr_path = NULL,"
        " script_options = NULL, script_application = NULL WHERE job "
        "IN (SELECT id FROM job WHERE user = ?1)",
        "UPDATE step SET name = NULL, submit_line = NULL WHERE job IN"
        " (SELECT id FROM job WHERE user = ?1)",
        "UPDATE job SET name = NULL, owner = NULL, work_dir = NULL"
        " WHERE user = ?1",
        "UPDATE node_record SET uid = NULL, executables = NULL WHERE user = ?1",
        /* Texts that no job has any more. */
        "DELETE FROM jobname WHERE id NOT IN (SELECT name FROM job WHERE name"
        " IS NOT NULL UNION SELECT name FROM step WHERE name IS NOT NULL)",
        "DELETE FROM owner WHERE id NOT IN (SELECT owner FROM job WHERE owner"
        " IS NOT NULL)",
    };
    int64_t id;
    int r = people_find(db, BJ_PEOPLE_USER, user, &id, err);
    if (r == 0 && id == 0)
        r = bj_err_set(err, -ENOENT, "no job has the user '%.60s'", user);
    for (size_t i = 0; r == 0 && i < sizeof(texts) / sizeof(texts[0]); i++)
        r = run_text(db, texts[i], id, 0, err);
    if (r == 0)
        r = rename_in(db, BJ_PEOPLE_USER, user, BJ_PEOPLE_DELETED, err);
    if (r == 0)
        r = run_names(db, "DELETE FROM mail_choice WHERE user IN (?1, ?2)",
                      user, BJ_PEOPLE_DELETED, err);
    if (r == 0)
        r = run_names(db, "DELETE FROM mail_sent WHERE user IN (?1, ?2)", user,
                      BJ_PEOPLE_DELETED, err);
    return r;
}

int bj_people_delete(struct bj_store *s, const char *user, struct bj_err *err)
{
    int r = bj_store_begin(s, err);
    if (r == 0)
        r = delete_in(bj_store_db(s), user, err);
    if (r == 0)
        r = bj_store_commit(s, err);
    if (r < 0)
        bj_store_rollback(s);
    return r < 0 ? bj_err_wrap(err, r, "delete-user") : 0;
}

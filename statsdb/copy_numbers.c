#include "statsdb/copy_numbers.h"

#include "statsdb/job_number.h"
#include "store/db.h"

#include <stdlib.h>
#include <string.h>

struct bj_copy_numbers {
    struct bj_db *map; /* a database without a name */
    struct bj_st *add, *find;
    bool follow;  /* do the copy's numbers follow from the jobs? */
    int64_t upto; /* the largest one */
};

static const char job_upto[] = "job_upto";

/* With SQLite, jobs after the last one that was seen are in no list. */
static const struct {
    const char *table, *rows;
} unlisted[] = {
    {"derive_todo",
     "(SELECT job FROM derive_todo UNION SELECT id FROM job WHERE id >"
     " (SELECT job_upto FROM derive_state) AND \"end\" IS NOT NULL) AS t"},
    {"mail_todo",
     "(SELECT job FROM mail_todo UNION SELECT id FROM job WHERE id >"
     " (SELECT job_upto FROM mail_state) AND \"end\" >="
     " (SELECT since FROM mail_state)) AS t"},
};

/* --- the map ---------------------------------------------------------------
 */

/* 1: added; 0: the job has a number, or another one has this. */
static int add(struct bj_copy_numbers *n, int64_t was, int64_t v,
               struct bj_err *err)
{
    bj_st_bind_i64(n->add, 1, was);
    bj_st_bind_i64(n->add, 2, v);
    int r = bj_st_run(n->add, err);
    return r < 0 ? r : bj_db_changes(n->map) > 0;
}

/* The first free number from v on. */
static int add_following(struct bj_copy_numbers *n, int64_t was, int64_t v,
                         struct bj_err *err)
{
    const int64_t first = v;
    int r;
    while ((r = add(n, was, v, err)) == 0) {
        v = bj_job_number_next(v);
        if (v == first)
            return bj_err_set(err, -E2BIG, "copy: jobs of one second");
    }
    return r;
}

/* The number that it has in an earlier copy, or the next one. */
static int add_next(struct bj_copy_numbers *n, int64_t was, struct bj_err *err)
{
    int r = add(n, was, n->upto + 1, err);
    n->upto += r > 0;
    return r;
}

static int64_t number_of(struct bj_st *st)
{
    return bj_job_number_of(bj_st_get_i64(st, 1), bj_st_get_text(st, 2),
                            bj_st_get_i64(st, 3));
}

static const char jobs_sql[] =
    "SELECT id, cluster, jobid, submit FROM job ORDER BY id";

/* Of a copy that has begun. */
static int fill_earlier(struct bj_copy_numbers *n, struct bj_db *to,
                        struct bj_err *err)
{
    struct bj_st *st = NULL;
    int r = bj_db_prepare(to, jobs_sql, &st, err);
    while (r >= 0 && (r = bj_st_row(st, err)) > 0) {
        n->upto = bj_st_get_i64(st, 0);
        r = add(n, number_of(st), n->upto, err);
    }
    bj_st_finalize(st);
    return r;
}

static int fill(struct bj_copy_numbers *n, struct bj_db *from,
                struct bj_err *err)
{
    struct bj_st *st = NULL;
    int r = bj_db_prepare(from, jobs_sql, &st, err);
    while (r >= 0 && (r = bj_st_row(st, err)) > 0) {
        int64_t was = bj_st_get_i64(st, 0);
        r = n->follow ? add_following(n, was, number_of(st), err)
                      : add_next(n, was, err);
    }
    bj_st_finalize(st);
    return r;
}

static int make(struct bj_copy_numbers *n, struct bj_db *from, struct bj_db *to,
                struct bj_err *err)
{
    const struct bj_db_options none = {.create = true};
    int r = bj_db_open(&none, &n->map, err);
    if (r == 0)
        r = bj_db_exec(n->map,
                       "CREATE TABLE map(was INTEGER PRIMARY KEY, number INT"
                       " NOT NULL UNIQUE); BEGIN",
                       err);
    if (r == 0)
        r = bj_db_prepare(n->map,
                          "INSERT INTO map(was, number) VALUES(?1, ?2)"
                          " ON CONFLICT DO NOTHING",
                          &n->add, err);
    if (r == 0)
        r = bj_db_prepare(n->map, "SELECT number FROM map WHERE was = ?1",
                          &n->find, err);
    if (r == 0 && !n->follow)
        r = fill_earlier(n, to, err);
    if (r == 0)
        r = fill(n, from, err);
    if (n->follow)
        n->upto = INT64_MAX;
    return r;
}

int bj_copy_numbers_new(struct bj_db *from, struct bj_db *to,
                        struct bj_copy_numbers **ret, struct bj_err *err)
{
    *ret = NULL;
    if (bj_job_numbers_follow(from) == bj_job_numbers_follow(to))
        return 0;
    struct bj_copy_numbers *n = calloc(1, sizeof(*n));
    if (!n)
        return bj_err_set(err, -ENOMEM, "copy");
    n->follow = bj_job_numbers_follow(to);
    int r = make(n, from, to, err);
    if (r < 0) {
        bj_copy_numbers_free(n);
        return r;
    }
    *ret = n;
    return 0;
}

void bj_copy_numbers_free(struct bj_copy_numbers *n)
{
    if (!n)
        return;
    bj_st_finalize(n->add);
    bj_st_finalize(n->find);
    bj_db_close(n->map);
    free(n);
}

/* --- tables ----------------------------------------------------------------
 */

bool bj_copy_numbers_in(const char *table, const char *column)
{
    return strcmp(column, "job") == 0 || strcmp(column, job_upto) == 0 ||
           (strcmp(table, "job") == 0 && strcmp(column, "id") == 0);
}

int bj_copy_numbers_of(struct bj_copy_numbers *n, const char *column,
                       int64_t *v, struct bj_err *err)
{
    if (strcmp(column, job_upto) == 0) {
        *v = n->upto;
        return 0;
    }
    bj_st_bind_i64(n->find, 1, *v);
    int r = bj_st_int(n->find, v, err);
    return r < 0 ? r : 0;
}

const char *bj_copy_numbers_rows(const struct bj_copy_numbers *n,
                                 const char *table)
{
    for (size_t i = 0; n->follow && i < sizeof(unlisted) / sizeof(unlisted[0]);
         i++)
        if (strcmp(unlisted[i].table, table) == 0)
            return unlisted[i].rows;
    return NULL;
}

#include "statsdb/copy/copy_numbers.h"

#include "statsdb/tables/job_number.h"
#include "statsdb/tables/month.h"
#include "statsdb/tables/record_number.h"
#include "store/db.h"

#include <stdlib.h>
#include <string.h>

/* The numbers of jobs, or of records. */
struct map {
    struct bj_db *db; /* a database without a name */
    struct bj_st *add, *find;
    bool follow;  /* are the copy's numbers computed from the rows? */
    int64_t upto; /* the largest number */
};

enum { JOBS, RECORDS, MAPS };

struct bj_copy_numbers {
    struct map map[MAPS];
};

static int64_t number_of_job(struct bj_st *st)
{
    return bj_job_number_of(bj_st_get_i64(st, 1), bj_st_get_text(st, 2),
                            bj_st_get_i64(st, 3));
}

static int64_t number_of_record(struct bj_st *st)
{
    return bj_record_number_of(
        &(struct bj_record_key){.cluster = bj_st_get_i64(st, 1),
                                .jobid = bj_st_get_text(st, 2),
                                .start_sec = bj_st_get_i64(st, 3),
                                .host = bj_st_get_i64(st, 4),
                                .slurm_node = bj_st_get_text(st, 5)});
}

static const struct kind {
    const struct bj_month_group *group;
    const char *sql; /* selects all rows */
    int64_t (*number_of)(struct bj_st *st);
} kinds[MAPS] = {
    {&bj_month_jobs, "SELECT id, cluster, jobid, submit FROM job ORDER BY id",
     number_of_job},
    {&bj_month_records,
     "SELECT id, cluster, jobid, start, host, slurm_node FROM node_record ORDER"
     " BY id",
     number_of_record},
};

static const char job_upto[] = "job_upto";

/* With SQLite, jobs newer than the last processed one are in no list. */
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

/* 1: added; 0: the row has a number, or another one has this. */
static int numbers_add(struct map *m, int64_t was, int64_t v,
                       struct bj_err *err)
{
    bj_st_bind_i64(m->add, 1, was);
    bj_st_bind_i64(m->add, 2, v);
    int r = bj_st_run(m->add, err);
    return r < 0 ? r : bj_db_changes(m->db) > 0;
}

/* Add the first free number from v on. */
static int add_following(struct map *m, int64_t was, int64_t v,
                         struct bj_err *err)
{
    const int64_t first = v;
    int r;
    while ((r = numbers_add(m, was, v, err)) == 0) {
        v = bj_job_number_next(v);
        if (v == first)
            return bj_err_set(err, -E2BIG,
                              "copy: too many numbers in one second");
    }
    return r;
}

/* Add the number in an earlier copy, or the next number. */
static int add_next(struct map *m, int64_t was, struct bj_err *err)
{
    int r = numbers_add(m, was, m->upto + 1, err);
    m->upto += r > 0;
    return r;
}

/* Fill in the numbers of a copy that has begun. */
static int fill_earlier(struct map *m, const struct kind *k, struct bj_db *to,
                        struct bj_err *err)
{
    struct bj_st *st = NULL;
    int r = bj_db_prepare(to, k->sql, &st, err);
    while (r >= 0 && (r = bj_st_row(st, err)) > 0) {
        m->upto = bj_st_get_i64(st, 0);
        r = numbers_add(m, k->number_of(st), m->upto, err);
    }
    bj_st_finalize(st);
    return r;
}

static int numbers_fill(struct map *m, const struct kind *k, struct bj_db *from,
                        struct bj_err *err)
{
    struct bj_st *st = NULL;
    int r = bj_db_prepare(from, k->sql, &st, err);
    while (r >= 0 && (r = bj_st_row(st, err)) > 0) {
        int64_t was = bj_st_get_i64(st, 0);
        r = m->follow ? add_following(m, was, k->number_of(st), err)
                      : add_next(m, was, err);
    }
    bj_st_finalize(st);
    return r;
}

static int numbers_make(struct map *m, const struct kind *k, struct bj_db *from,
                        struct bj_db *to, struct bj_err *err)
{
    const struct bj_db_options none = {.create = true};
    int r = bj_db_open(&none, &m->db, err);
    m->follow = bj_job_numbers_follow(to);
    if (r == 0)
        r = bj_db_exec(m->db,
                       "CREATE TABLE map(was INTEGER PRIMARY KEY, number INT"
                       " NOT NULL UNIQUE); BEGIN",
                       err);
    if (r == 0)
        r = bj_db_prepare(m->db,
                          "INSERT INTO map(was, number) VALUES(?1, ?2)"
                          " ON CONFLICT DO NOTHING",
                          &m->add, err);
    if (r == 0)
        r = bj_db_prepare(m->db, "SELECT number FROM map WHERE was = ?1",
                          &m->find, err);
    if (r == 0 && !m->follow)
        r = fill_earlier(m, k, to, err);
    if (r == 0)
        r = numbers_fill(m, k, from, err);
    if (m->follow)
        m->upto = INT64_MAX;
    return r;
}

int bj_copy_numbers_new(struct bj_db *from, struct bj_db *to,
                        struct bj_copy_numbers **ret, struct bj_err *err)
{
    *ret = NULL;
    if (bj_job_numbers_follow(from) == bj_job_numbers_follow(to))
        return 0;
    struct bj_copy_numbers *n = calloc(1, sizeof(*n));
    int r = n ? 0 : bj_err_set(err, -ENOMEM, "copy");
    for (int i = 0; r == 0 && i < MAPS; i++)
        r = numbers_make(&n->map[i], &kinds[i], from, to, err);
    if (r < 0) {
        bj_copy_numbers_free(n);
        return r;
    }
    *ret = n;
    return 0;
}

void bj_copy_numbers_free(struct bj_copy_numbers *n)
{
    for (int i = 0; n && i < MAPS; i++) {
        bj_st_finalize(n->map[i].add);
        bj_st_finalize(n->map[i].find);
        bj_db_close(n->map[i].db);
    }
    free(n);
}

/* --- tables ----------------------------------------------------------------
 */

/* The kind of numbers in a column; MAPS: none. */
static int map_of(const char *table, const char *column)
{
    int i = 0;
    if (strcmp(column, job_upto) == 0)
        return JOBS;
    while (i < MAPS && strcmp(column, kinds[i].group->of) != 0 &&
           (strcmp(column, "id") != 0 ||
            strcmp(table, kinds[i].group->tables[0]) != 0))
        i++;
    return i;
}

bool bj_copy_numbers_in(const char *table, const char *column)
{
    return map_of(table, column) < MAPS;
}

int bj_copy_numbers_of(struct bj_copy_numbers *n, const char *table,
                       const char *column, int64_t *v, struct bj_err *err)
{
    struct map *m = &n->map[map_of(table, column)];
    if (strcmp(column, job_upto) == 0) {
        *v = m->upto;
        return 0;
    }
    bj_st_bind_i64(m->find, 1, *v);
    int r = bj_st_int(m->find, v, err);
    return r < 0 ? r : 0;
}

const char *bj_copy_numbers_rows(const struct bj_copy_numbers *n,
                                 const char *table)
{
    for (size_t i = 0;
         n->map[JOBS].follow && i < sizeof(unlisted) / sizeof(unlisted[0]); i++)
        if (strcmp(unlisted[i].table, table) == 0)
            return unlisted[i].rows;
    return NULL;
}

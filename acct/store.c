#include "acct/store.h"

#include "acct/source.h"
#include "base/array.h"
#include "statsdb/job/job_filter.h"
#include "statsdb/job/job_read.h"
#include "statsdb/tables/site_zone.h"
#include "statsdb/tables/store.h"
#include "store/db.h"

#include <stdio.h>
#include <stdlib.h>

/* The values of a list in memory that the caller frees, v NULL without values.
 * 0 or -ENOMEM. */
static int texts_of(const struct bj_strv *list, struct bj_slice **v,
                    struct bj_filter_texts *ret, struct bj_err *err)
{
    struct bj_acct_at at = {0};
    struct bj_slice one;
    size_t room = 0;
    unsigned n = 0;
    *v = NULL;
    while (bj_acct_list_next(list, &at, &one)) {
        if (!BJ_GROW(*v, n + 1, room))
            return bj_err_set(err, -ENOMEM, "jobs");
        (*v)[n++] = one;
    }
    *ret = (struct bj_filter_texts){*v, n};
    return 0;
}

bool bj_acct_only_open(const struct bj_strv *states)
{
    struct bj_slice *v;
    struct bj_filter_texts texts;
    const bool ret =
        texts_of(states, &v, &texts, NULL) == 0 && bj_filter_only_open(texts);
    free(v);
    return ret;
}

/* --- the statement ---------------------------------------------------------
 */

struct job_query {
    struct bj_db *db;
    struct bj_sql_build b;
    struct bj_job_ranges months;
    struct bj_filter_time time;
};

static int store_find_name(void *ctx, enum bj_word which, struct bj_slice name,
                           int64_t *ret, struct bj_err *err)
{
    struct bj_st *st = NULL;
    int r = bj_db_prepare(ctx, bj_word_sql[which].find, &st, err);
    if (r == 0) {
        bj_st_bind_text(st, 1, name);
        r = bj_st_int(st, ret, err);
    }
    bj_st_finalize(st);
    return r < 0 ? r : 0;
}

/* Append a filter by names. */
static int by_names(struct job_query *q, const struct bj_strv *list,
                    const char *column, enum bj_word which, struct bj_err *err)
{
    const struct bj_filter_names find = {store_find_name, q->db};
    struct bj_filter_texts texts;
    struct bj_slice *v;
    int r = texts_of(list, &v, &texts, err);
    if (r == 0 && texts.n > 0)
        r = bj_filter_names(&q->b, column, which, texts, &find, err);
    free(v);
    return r;
}

/* Texts stay valid, as the options have them. */
static int by_jobs(struct job_query *q, const struct bj_strv *list,
                   struct bj_err *err)
{
    struct bj_filter_texts texts;
    struct bj_slice *v;
    int r = texts_of(list, &v, &texts, err);
    if (r == 0 && texts.n > 0)
        bj_filter_jobs(&q->b, texts);
    free(v);
    return r;
}

static int by_states(struct job_query *q, const struct bj_strv *list,
                     struct bj_err *err)
{
    struct bj_filter_texts texts;
    struct bj_slice *v;
    int r = texts_of(list, &v, &texts, err);
    if (r == 0)
        r = bj_filter_states(&q->b, texts, err);
    free(v);
    return r < 0 ? bj_err_wrap(err, r, "state") : r;
}

static int by_nodes(struct job_query *q, const struct bj_strv *list,
                    struct bj_err *err)
{
    struct bj_filter_nodes nodes = {.n = 0};
    struct bj_filter_texts texts;
    struct bj_slice *v;
    struct bj_st *st = NULL;
    int r = texts_of(list, &v, &texts, err);
    if (r == 0 && texts.n > 0) {
        r = bj_db_prepare(q->db, BJ_FILTER_NODE_SQL, &st, err);
        if (r == 0)
            r = bj_filter_nodes_find(st, texts, &nodes, err);
        if (r == 0)
            bj_filter_nodes(&q->b, &nodes);
        if (r < 0)
            r = bj_err_wrap(err, r, "node");
    }
    bj_st_finalize(st);
    free(nodes.v);
    free(v);
    return r;
}

static int build(struct job_query *q, const struct bj_acct_filter *f,
                 struct bj_err *err)
{
    const bool ids = bj_acct_list_count(&f->job) > 0;
    const bool open = !ids && bj_acct_only_open(&f->state);
    const bool user = !ids && !open && bj_acct_list_count(&f->user) > 0;
    const bool account =
        !ids && !open && !user && bj_acct_list_count(&f->account) > 0;
    const struct {
        const struct bj_strv *list;
        const char *column;
        enum bj_word which;
    } names[] = {
        {&f->user, user ? "j.\"user\"" : "+j.\"user\"", BJ_WORD_USER},
        {&f->account, account ? "j.account" : "+j.account", BJ_WORD_ACCOUNT},
        {&f->partition, "+j.\"partition\"", BJ_WORD_PARTITION},
        {&f->cluster, open ? "j.cluster" : "+j.cluster", BJ_WORD_CLUSTER}};
    bj_sql_build_add(&q->b, "SELECT j.id FROM job AS j WHERE 1 = 1");
    int r = by_jobs(q, &f->job, err);
    for (size_t i = 0; r == 0 && i < sizeof(names) / sizeof(names[0]); i++)
        r = by_names(q, names[i].list, names[i].column, names[i].which, err);
    if (open && bj_acct_list_count(&f->cluster) == 0)
        bj_sql_build_add(&q->b, " AND j.cluster IN (SELECT id FROM cluster)");
    if (r == 0)
        r = by_states(q, &f->state, err);
    if (r == 0)
        r = by_nodes(q, &f->node, err);
    if (r < 0)
        return r;
    if (f->ran)
        bj_sql_build_add(&q->b, " AND j.start IS NOT NULL");
    bj_filter_ended(&q->b, &q->time);
    bj_filter_began(&q->b, ids || open ? "+j.at" : "j.at", &q->time,
                    &q->months);
    bj_filter_order(&q->b, false, ids,
                    f->limit ? (int64_t)f->limit : INT64_MAX);
    return bj_sql_build_end(&q->b, err);
}

static int take_ids(struct job_query *q, struct bj_acct_ids *ret,
                    struct bj_err *err)
{
    struct bj_st *st;
    int r = bj_db_prepare(q->db, q->b.sql.p, &st, err);
    if (r < 0)
        return r;
    bj_sql_build_bind(&q->b, st);
    while ((r = bj_st_row(st, err)) > 0) {
        if (!BJ_GROW(ret->v, ret->n + 1, ret->cap)) {
            r = bj_err_set(err, -ENOMEM, "jobs");
            break;
        }
        ret->v[ret->n++] = bj_st_get_i64(st, 0);
    }
    bj_st_finalize(st);
    return r;
}

int bj_acct_find(struct bj_store *s, const struct bj_acct_filter *f,
                 struct bj_acct_ids *ret, struct bj_err *err)
{
    const int64_t upto =
        f->until_sec < INT64_MAX ? f->until_sec - 1 : f->until_sec;
    struct job_query q = {
        .db = bj_store_db(s),
        .b.dialect = bj_db_dialect(bj_store_db(s)),
        .time = f->ran ? (struct bj_filter_time){INT64_MIN, upto, f->since_sec}
                       : (struct bj_filter_time){f->since_sec, upto, 0}};
    *ret = (struct bj_acct_ids){NULL, 0, 0};
    if (q.time.end_from < 0) /* all */
        q.time.end_from = 0;
    int r = bj_filter_months(q.db, &q.time, &q.months, err);
    if (r == 0)
        r = build(&q, f, err);
    if (r == 0)
        r = take_ids(&q, ret, err);
    bj_sql_build_free(&q.b);
    if (r < 0) {
        free(ret->v);
        *ret = (struct bj_acct_ids){NULL, 0, 0};
    }
    return r;
}

static int store_value(void *ctx, unsigned i, struct bj_job_value *ret,
                       struct bj_err *err)
{
    return bj_job_read_value(ctx, i, ret, err);
}

/* --- the source -------------------------------------------------------------
 */

static int site(void *source, struct bj_acct_site *ret, struct bj_err *err)
{
    struct bj_tz *tz = NULL;
    int r = bj_site_zone_read(bj_store_db(source), &tz, err);
    if (r == 0)
        snprintf(ret->time_zone, sizeof(ret->time_zone), "%s", bj_tz_name(tz));
    bj_tz_free(tz);
    return r < 0 ? r : bj_prices_read(bj_store_db(source), &ret->prices, err);
}

static int clusters(void *source, struct bj_acct_clusters *ret,
                    struct bj_err *err)
{
    struct bj_st *st = NULL;
    *ret = (struct bj_acct_clusters){NULL, 0, 0};
    int r = bj_db_prepare(bj_store_db(source),
                          "SELECT c.name, max(v.to_sec) FROM cluster AS c LEFT"
                          " JOIN covered AS v ON v.cluster = c.name GROUP BY"
                          " c.id ORDER BY 1",
                          &st, err);
    while (r == 0 && (r = bj_st_row(st, err)) > 0)
        r = bj_acct_cluster_add(ret, bj_st_get_text(st, 0),
                                bj_st_get_i64(st, 1), err);
    bj_st_finalize(st);
    if (r < 0)
        free(ret->v);
    return r;
}

static int jobs(void *source, const struct bj_acct_query *q, bj_acct_row_fn *fn,
                void *ctx, struct bj_err *err)
{
    struct bj_job_read *reader = NULL;
    struct bj_acct_ids ids;
    int r = bj_acct_find(source, &q->filter, &ids, err);
    if (r == 0)
        r = bj_job_read_new(bj_store_db(source), q->column, q->columns, &reader,
                            err);
    const struct bj_acct_row row = {store_value, reader};
    for (size_t i = 0; r >= 0 && i < ids.n; i++) {
        r = bj_job_read_row(reader, ids.v[i], err);
        if (r > 0)
            r = fn(ctx, &row, err);
    }
    bj_job_read_free(reader);
    free(ids.v);
    return r < 0 ? r : 0;
}

static void close_store(void *source)
{
    bj_store_close(source);
}

int bj_acct_store_open(const char *path, bool any_filesystem,
                       struct bj_acct_source *ret, struct bj_err *err)
{
    struct bj_store *s = NULL;
    int r = bj_store_open(
        &(struct bj_store_options){
            .path = path, .read_only = true, .any_filesystem = any_filesystem},
        &s, err);
    *ret = (struct bj_acct_source){.site = site,
                                   .clusters = clusters,
                                   .jobs = jobs,
                                   .db = s ? bj_store_db(s) : NULL,
                                   .close = close_store,
                                   .source = s};
    return r;
}

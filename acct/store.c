#include "acct/store.h"

#include "acct/list.h"
#include "acct/query.h"
#include "statsdb/job/job_read.h"
#include "statsdb/tables/site_zone.h"
#include "statsdb/tables/store.h"
#include "store/db.h"

#include <stdio.h>
#include <stdlib.h>

static int value(void *ctx, unsigned i, struct bj_job_value *ret,
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
    const struct bj_acct_row row = {value, reader};
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

#include "apiserver/job/series_work.h"

#include "apiserver/frame/state.h"
#include "base/clock.h"

#include <stdlib.h>

enum { POINTS_MAX = 2000 };

void bj_series_free(struct bj_series_work *w)
{
    if (!w)
        return;
    bj_prompool_unref(w->prom);
    bj_buf_free(&w->query);
    bj_samples_free(&w->s);
    bj_arena_free(&w->arena);
    free(w);
}

int bj_series_new(struct bj_call *c, struct bj_series_work **ret)
{
    struct bj_series_work *w = calloc(1, sizeof(*w));
    if (!w)
        return bj_err_set(&c->err, -ENOMEM, "series");
    w->server = c->worker->server;
    w->prom = bj_prompool_ref(c->worker->prom);
    w->since_usec = bj_clock_boot_usec();
    *ret = w;
    return 0;
}

/* --- the request -----------------------------------------------------------
 */

static int64_t scrape_sec(const struct bj_call *c)
{
    uint64_t usec = c->worker->conf->prom.server.scrape_usec;
    return (int64_t)((usec + 999999) / 1000000);
}

/* Read the requested part of the job's time.  It is limited to that, because at
 * other times another job may have the same jobid. */
static int read_range(struct bj_call *c, const struct bj_params *p,
                      const struct bj_visible_job *f, struct bj_series_work *w)
{
    struct bj_prompool_range *ret = &w->range;
    int64_t least = scrape_sec(c);
    if (f->start == BJ_SQL_NULL) { /* it has not started yet */
        *ret = (struct bj_prompool_range){
            .from = c->now_sec, .to = c->now_sec - 1, .step = least};
        return 0;
    }
    int64_t end = f->end == BJ_SQL_NULL ? c->now_sec : f->end + least;
    ret->from = f->start;
    ret->to = end < c->now_sec ? end : c->now_sec;
    if (p->given[BJ_PARAM_FROM] && p->number[BJ_PARAM_FROM] > ret->from)
        ret->from = p->number[BJ_PARAM_FROM];
    if (p->given[BJ_PARAM_TO] && p->number[BJ_PARAM_TO] < ret->to)
        ret->to = p->number[BJ_PARAM_TO];
    int64_t span = ret->to > ret->from ? ret->to - ret->from : 0;
    if (p->given[BJ_PARAM_STEP]) {
        ret->step = p->number[BJ_PARAM_STEP];
        if (ret->step < least)
            ret->step = least;
    } else {
        int64_t rows = w->s.by == BJ_SERIES_NODE  ? f->nodes
                       : w->s.by == BJ_SERIES_GPU ? f->gpus
                                                  : 1;
        ret->step = bj_samples_step(&w->s, rows, span, w->most_points, least);
    }
    if (w->to_end)
        ret->from += span % ret->step;
    if (span / ret->step >= POINTS_MAX)
        return bj_call_refuse(c, 400,
                              "That would be more than %d points; use a longer "
                              "step or a shorter time.",
                              POINTS_MAX);
    return 0;
}

int bj_series_prepare(struct bj_call *c, const struct bj_params *p,
                      const struct bj_visible_job *f, struct bj_series_work *w)
{
    const struct bj_prompool_conf *conf = &c->worker->conf->prom;
    struct bj_buf match = {0};
    int r = read_range(c, p, f, w);
    if (r == 0)
        r = bj_prom_matchers(&conf->server.match,
                             f->cluster.n > 0 ? f->cluster.p : "", &match,
                             &c->err);
    bj_buf_put(&match, "", 1);
    if (r != 0) {
        bj_buf_free(&match);
        return r;
    }
    struct bj_series_job job = {.id = f->id,
                                .user = f->user,
                                .cluster = f->cluster,
                                .uid = f->uid == BJ_SQL_NULL ? -1 : f->uid,
                                .match = match.p,
                                .cluster_label = conf->cluster_label};
    w->s.from = w->range.from;
    w->s.to = w->range.to;
    w->s.step = w->range.step;
    r = bj_samples_query(&w->s, &job, scrape_sec(c), &w->query, &c->err);
    bj_buf_free(&match);
    return r;
}

/* --- the result -------------------------------------------------------------
 */

int bj_series_fetch(struct bj_series_work *w, const struct bj_http_request *req,
                    struct bj_err *err)
{
    if (w->s.points == 0 || w->s.metrics == 0)
        return 0;
    /* Prometheus did not respond to the queries before it, or the client has
     * disconnected. */
    if (bj_prompool_late(w->prom, w->since_usec) || bj_http_client_gone(req))
        return bj_err_set(err, -EBUSY, "prometheus: the query waited too long");
    return bj_prompool_query(
        w->prom, w->query.p, &w->range,
        &(struct bj_prom_sink){.ctx = &w->s, .series = bj_samples_take}, err);
}

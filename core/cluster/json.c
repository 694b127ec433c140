/* Adds the records of Slurm's and PBS's JSON to the sums. */
#include "core/cluster/part.h"

#include <errno.h>

/* Count a record as good or bad; only -ENOMEM ends the reading. */
static int note(struct bj_cluster_work *w, int r)
{
    if (r == -EINVAL)
        w->bad++;
    else if (r == 0)
        w->good++;
    return r == -ENOMEM || w->part->arena.failed ? -ENOMEM : 0;
}

static int take_job(void *ctx, const struct bj_squeue_job *v)
{
    return note(ctx, bj_cluster_add_job(ctx, v));
}

static int take_node(void *ctx, const struct bj_sinfo_node *v)
{
    return note(ctx, bj_cluster_add_node(ctx, v));
}

static int take_reservation(void *ctx, const struct bj_reservation *v)
{
    return note(ctx, bj_cluster_add_reservation(ctx, v));
}

static int take_diag(void *ctx, const struct bj_sdiag *v)
{
    return note(ctx, bj_cluster_add_diag(ctx, v));
}

static int take_license(void *ctx, const struct bj_license *v)
{
    return note(ctx, bj_cluster_add_license(ctx, v));
}

static int take_share(void *ctx, const struct bj_share *v)
{
    return note(ctx, bj_cluster_add_share(ctx, v));
}

static int take_limits(void *ctx, const struct bj_limits *v)
{
    return note(ctx, bj_cluster_add_limits(ctx, v));
}

/* With several clusters in a database, ours cannot be determined. */
static int take_cluster(void *ctx, struct bj_slice name)
{
    struct bj_cluster_work *w = ctx;
    struct bj_label l;
    if (w->clusters++ > 0)
        w->part->cluster = (struct bj_slice){"", 0};
    else
        w->part->cluster =
            bj_arena_copy(&w->part->arena, bj_cluster_label(name, &l));
    return w->part->arena.failed ? -ENOMEM : 0;
}

static void take_bad(void *ctx)
{
    struct bj_cluster_work *w = ctx;
    w->bad++;
}

int bj_cluster_json_new(struct bj_cluster_work *w, enum bj_slurmjson_kind kind,
                        struct bj_slurmjson **ret, struct bj_err *err)
{
    const struct bj_slurmjson_conf conf = {.now_sec = w->wall_sec,
                                           .ctx = w,
                                           .job = take_job,
                                           .node = take_node,
                                           .reservation = take_reservation,
                                           .diag = take_diag,
                                           .rpc = bj_cluster_add_rpc,
                                           .license = take_license,
                                           .share = take_share,
                                           .limits = take_limits,
                                           .cluster = take_cluster,
                                           .bad = take_bad};
    return bj_slurmjson_new(kind, &conf, ret, err);
}

static int take_queue(void *ctx, const struct bj_pbs_queue *v)
{
    return note(ctx, bj_cluster_add_queue(ctx, v));
}

int bj_cluster_pbs_new(struct bj_cluster_work *w, enum bj_pbs_list list,
                       struct bj_pbs_live **ret, struct bj_err *err)
{
    const struct bj_pbs_live_conf conf = {.ctx = w,
                                          .job = take_job,
                                          .node = take_node,
                                          .queue = take_queue,
                                          .limits = take_limits,
                                          .bad = take_bad};
    return bj_pbs_live_new(&conf, list, ret, err);
}

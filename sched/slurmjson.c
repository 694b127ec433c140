#include "sched/slurmjson.h"

#include "sched/slurmjson_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const jobs_argv[] = {"squeue",       "--local", "--all",
                                        "--states=all", "--json",  NULL};
static const char *const nodes_argv[] = {"scontrol", "--all", "--json",
                                         "show",     "nodes", NULL};
static const char *const reservations_argv[] = {
    "scontrol", "--all", "--json", "show", "reservations", NULL};
static const char *const diag_argv[] = {"sdiag", "--json", NULL};
static const char *const licenses_argv[] = {"scontrol", "--json", "show",
                                            "licenses", NULL};
static const char *const shares_argv[] = {"sshare", "--all", "--json", NULL};
static const char *const limits_argv[] = {"sacctmgr", "--readonly",   "--json",
                                          "list",     "associations", NULL};

const char *const *const bj_slurmjson_argv[BJ_SLURMJSON_KINDS] = {
    [BJ_SLURMJSON_JOBS] = jobs_argv,
    [BJ_SLURMJSON_NODES] = nodes_argv,
    [BJ_SLURMJSON_RESERVATIONS] = reservations_argv,
    [BJ_SLURMJSON_DIAG] = diag_argv,
    [BJ_SLURMJSON_LICENSES] = licenses_argv,
    [BJ_SLURMJSON_SHARES] = shares_argv,
    [BJ_SLURMJSON_LIMITS] = limits_argv,
};
const char *const bj_slurmjson_sinfo_argv[] = {"sinfo", "--local", "--all",
                                               "--json", NULL};

/* --- elements -------------------------------------------------------------*/

static int element(void *ctx, struct bj_slice key, const struct bj_json *v,
                   struct bj_err *err)
{
    static int (*const take[BJ_SLURMJSON_KINDS])(struct bj_slurmjson *,
                                                 const struct bj_json *) = {
        [BJ_SLURMJSON_JOBS] = bj_slurmjson_take_job,
        [BJ_SLURMJSON_NODES] = bj_slurmjson_take_node,
        [BJ_SLURMJSON_RESERVATIONS] = bj_slurmjson_take_reservation,
        [BJ_SLURMJSON_LICENSES] = bj_slurmjson_take_license,
        [BJ_SLURMJSON_SHARES] = bj_slurmjson_take_share,
        [BJ_SLURMJSON_LIMITS] = bj_slurmjson_take_limits,
        [BJ_SLURMJSON_CLUSTERS] = bj_slurmjson_take_cluster,
    };
    struct bj_slurmjson *j = ctx;
    bj_arena_reset(&j->arena);
    int r = j->kind == BJ_SLURMJSON_DIAG ? bj_slurmjson_take_stat(j, key, v)
                                         : take[j->kind](j, v);
    if (r == -EINVAL) {
        if (j->conf.bad)
            j->conf.bad(j->conf.ctx);
        return 0;
    }
    return r < 0 ? bj_err_set(err, r, "a record of Slurm's JSON") : 0;
}

/* {"slurm":{"cluster":...}}; "Slurm", without the cluster, up to 22.05. */
static int take_meta(void *ctx, struct bj_slice key, const struct bj_json *v,
                     struct bj_err *err)
{
    (void)key;
    int r = bj_slurmjson_name(ctx, bj_json_text(bj_json_get(v, "cluster")));
    return r < 0 ? bj_err_set(err, r, "the cluster's name") : 0;
}

static int take_error(void *ctx, struct bj_slice key, const struct bj_json *v,
                      struct bj_err *err)
{
    struct bj_slurmjson *j = ctx;
    (void)key;
    (void)err;
    bj_rest_error(v, j->first_error);
    return 0;
}

/* sinfo from Slurm 23.02 on: nodes of one state, without single nodes. */
static int skip_group(void *ctx, struct bj_slice key, const struct bj_json *v,
                      struct bj_err *err)
{
    (void)ctx;
    (void)key;
    (void)v;
    (void)err;
    return 0;
}

/* --- documents ------------------------------------------------------------*/

enum { TARGET_LIST, TARGET_ERRORS, TARGET_META, TARGET_GROUPS, TARGETS };

#define DOCUMENT(path)                                                         \
    {                                                                          \
        {path, element}, {"errors", take_error}, {"meta", take_meta},          \
        {                                                                      \
            NULL, NULL                                                         \
        }                                                                      \
    }

static const struct bj_json_target targets[BJ_SLURMJSON_KINDS][TARGETS + 1] = {
    [BJ_SLURMJSON_JOBS] = DOCUMENT("jobs"),
    [BJ_SLURMJSON_NODES] = {{"nodes", element},
                            {"errors", take_error},
                            {"meta", take_meta},
                            {"sinfo", skip_group},
                            {0}},
    [BJ_SLURMJSON_RESERVATIONS] = DOCUMENT("reservations"),
    [BJ_SLURMJSON_DIAG] = DOCUMENT("statistics"),
    [BJ_SLURMJSON_LICENSES] = DOCUMENT("licenses"),
    [BJ_SLURMJSON_SHARES] = DOCUMENT("shares.shares"),
    [BJ_SLURMJSON_LIMITS] = DOCUMENT("associations"),
    [BJ_SLURMJSON_PING] = {{"meta", take_meta}, {"errors", take_error}, {0}},
    [BJ_SLURMJSON_CLUSTERS] = DOCUMENT("clusters"),
};

/* A job lists the state of each of its cores: more than all the rest. */
static const char *const skipped[] = {"job_resources", "gres_detail", NULL};

int bj_slurmjson_new(enum bj_slurmjson_kind kind,
                     const struct bj_slurmjson_conf *conf,
                     struct bj_slurmjson **ret, struct bj_err *err)
{
    static const struct bj_json_limits limits = {
        .bytes = 16 << 20, .values = 200000, .skip = skipped};
    struct bj_slurmjson *j = calloc(1, sizeof(*j));
    if (!j)
        return bj_err_set(err, -ENOMEM, "Slurm's JSON");
    j->conf = *conf;
    j->kind = kind;
    memset(&j->diag, 0xff, sizeof(j->diag));
    j->table_sum = j->request_sec = BJ_ABSENT;
    int r = bj_json_stream_new(targets[kind], j, "Slurm's JSON", &limits,
                               &j->stream, err);
    if (r < 0) {
        free(j);
        return r;
    }
    *ret = j;
    return 0;
}

static int feed(void *ctx, struct bj_slice piece, struct bj_err *err)
{
    struct bj_slurmjson *j = ctx;
    return bj_json_stream_feed(j->stream, piece, err);
}

int bj_slurmjson_feed(struct bj_slurmjson *j, struct bj_slice piece,
                      struct bj_err *err)
{
    int r = bj_slurmjson_fix(&j->fix, piece, feed, j, err);
    return r == -EINVAL ? bj_err_wrap(err, -EBADMSG, "read") : r;
}

int bj_slurmjson_end(struct bj_slurmjson *j, struct bj_err *err)
{
    int r = bj_json_stream_end(j->stream, err);
    if (r == -EINVAL)
        return bj_err_wrap(err, -EBADMSG, "read");
    if (r < 0)
        return r;
    if (j->first_error[0])
        return bj_err_set(err, -EREMOTEIO, "Slurm reports: %s", j->first_error);
    if (j->kind == BJ_SLURMJSON_NODES &&
        bj_json_stream_found(j->stream, TARGET_GROUPS))
        return bj_err_set(err, -EBADMSG,
                          "this is sinfo's JSON of groups of nodes (Slurm "
                          "23.02 and later); use \"scontrol --all --json show "
                          "nodes\"");
    if (!bj_json_stream_found(j->stream, TARGET_LIST))
        return bj_err_set(err, -EBADMSG, "Slurm's JSON has no %s",
                          targets[j->kind][TARGET_LIST].path);
    if (j->kind != BJ_SLURMJSON_DIAG)
        return 0;
    bj_slurmjson_settle_diag(j);
    r = j->conf.diag(j->conf.ctx, &j->diag);
    return r < 0 ? bj_err_set(err, r, "Slurm's JSON") : 0;
}

void bj_slurmjson_free(struct bj_slurmjson *j)
{
    if (!j)
        return;
    bj_json_stream_free(j->stream);
    bj_arena_free(&j->arena);
    free(j);
}

/* Adds the records of Slurm's and PBS's JSON to the sums. */
#include "core/cluster/query.h"

#include "base/command.h"
#include "base/file.h"
#include "core/cluster/command.h"
#include "core/cluster/own.h"
#include "core/cluster/part.h"
#include "sched/lines.h"
#include "sched/slurm_conf.h"
#include "sched/slurmrestd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

/* Count a record as good or bad; only -ENOMEM ends the reading. */
static int query_note(struct bj_cluster_work *w, int r)
{
    if (r == -EINVAL)
        w->bad++;
    else if (r == 0)
        w->good++;
    return r == -ENOMEM || w->part->arena.failed ? -ENOMEM : 0;
}

static int query_take_job(void *ctx, const struct bj_squeue_job *v)
{
    return query_note(ctx, bj_cluster_add_job(ctx, v));
}

static int query_take_node(void *ctx, const struct bj_sinfo_node *v)
{
    return query_note(ctx, bj_cluster_add_node(ctx, v));
}

static int take_reservation(void *ctx, const struct bj_reservation *v)
{
    return query_note(ctx, bj_cluster_add_reservation(ctx, v));
}

static int take_diag(void *ctx, const struct bj_sdiag *v)
{
    return query_note(ctx, bj_cluster_add_diag(ctx, v));
}

static int take_license(void *ctx, const struct bj_license *v)
{
    return query_note(ctx, bj_cluster_add_license(ctx, v));
}

static int take_share(void *ctx, const struct bj_share *v)
{
    return query_note(ctx, bj_cluster_add_share(ctx, v));
}

static int take_limits(void *ctx, const struct bj_limits *v)
{
    return query_note(ctx, bj_cluster_add_limits(ctx, v));
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

static void query_take_bad(void *ctx)
{
    struct bj_cluster_work *w = ctx;
    w->bad++;
}

int bj_cluster_json_new(struct bj_cluster_work *w, enum bj_slurmjson_kind kind,
                        struct bj_slurmjson **ret, struct bj_err *err)
{
    const struct bj_slurmjson_conf conf = {.now_sec = w->wall_sec,
                                           .ctx = w,
                                           .job = query_take_job,
                                           .node = query_take_node,
                                           .reservation = take_reservation,
                                           .diag = take_diag,
                                           .rpc = bj_cluster_add_rpc,
                                           .license = take_license,
                                           .share = take_share,
                                           .limits = take_limits,
                                           .cluster = take_cluster,
                                           .bad = query_take_bad};
    return bj_slurmjson_new(kind, &conf, ret, err);
}

static int take_queue(void *ctx, const struct bj_pbs_queue *v)
{
    return query_note(ctx, bj_cluster_add_queue(ctx, v));
}

/* The same for the JSON of PBS; free it with bj_pbs_live_free. */
static int cluster_pbs_new(struct bj_cluster_work *w, enum bj_pbs_list list,
                           struct bj_pbs_live **ret, struct bj_err *err)
{
    const struct bj_pbs_live_conf conf = {.ctx = w,
                                          .job = query_take_job,
                                          .node = query_take_node,
                                          .queue = take_queue,
                                          .limits = take_limits,
                                          .bad = query_take_bad};
    return bj_pbs_live_new(&conf, list, ret, err);
}

/* --- queries --------------------------------------------------------------*/

enum { LINE_MAX_BYTES = 1 << 16, CONSTANTS_BYTES = 1 << 14 };
enum way { TEXT, JSON, REST, PBS };

struct bj_cluster_client {
    const struct bj_scheduler_conf *conf;
    enum way way;
    bool no_json[BJ_CLUSTER_SOURCES]; /* its command has no --json */
    bool no_sinfo;                    /* sinfo --json has no nodes */
    struct bj_slurmrestd *rest;       /* NULL unless via slurmrestd */
    struct bj_cluster_command command;
    char env_conf[4096]; /* SLURM_CONF=... */
};

static int new_rest(struct bj_cluster_client *a, struct bj_err *err)
{
    const struct bj_scheduler_conf *c = a->conf;
    const struct bj_slurmrestd_conf conf = {.url = c->rest_url,
                                            .unix_socket = c->rest_socket,
                                            .user = c->rest_user,
                                            .token_file = c->rest_token_file,
                                            .ca_file = c->rest_ca_file,
                                            .version = c->rest_version,
                                            .deadline_usec = c->timeout_usec};
    if (!bj_is_set(c->rest_url) && !bj_is_set(c->rest_socket))
        return bj_err_set(
            err, -EINVAL,
            "cluster.via=rest needs slurmrestd.url or slurmrestd.unix-socket");
    return bj_slurmrestd_new(&conf, &a->rest, err);
}

int bj_cluster_client_new(const struct bj_scheduler_conf *conf,
                          struct bj_cluster_client **ret, struct bj_err *err)
{
    struct bj_cluster_client *a = calloc(1, sizeof(*a));
    int r = 0;
    if (!a)
        return bj_err_set(err, -ENOMEM, "cluster");
    a->conf = conf;
    if (bj_is_set(conf->via))
        a->way = *conf->via == 'j'   ? JSON
                 : *conf->via == 'r' ? REST
                 : *conf->via == 'p' ? PBS
                                     : TEXT;
    const char *slurm_conf =
        bj_is_set(conf->slurm_conf) ? conf->slurm_conf : getenv("SLURM_CONF");
    if (slurm_conf &&
        (size_t)snprintf(a->env_conf, sizeof(a->env_conf), "SLURM_CONF=%s",
                         slurm_conf) >= sizeof(a->env_conf))
        r = bj_err_set(err, -EINVAL, "cluster.slurm-conf is too long");
    if (r == 0)
        r = bj_cluster_command_init(&a->command, conf, err);
    if (r == 0 && a->way == REST)
        r = new_rest(a, err);
    if (r < 0) {
        bj_cluster_client_free(a);
        return r;
    }
    *ret = a;
    return 0;
}

void bj_cluster_client_free(struct bj_cluster_client *a)
{
    if (!a)
        return;
    bj_slurmrestd_free(a->rest);
    bj_cluster_command_free(&a->command);
    free(a);
}

/* --- commands -------------------------------------------------------------*/

struct reading {
    struct bj_cluster_client *client;
    const atomic_bool *abort;
    struct bj_cluster_work *work;
    enum bj_cluster_source id;
    const struct bj_cluster_reader *reader;
    bool text; /* output is read line by line */
    struct bj_lines lines;
    struct bj_slurmjson *json;
    struct bj_pbs_live *pbs;
};

/* A line that is too long is cut; its end is free text. */
static int query_take_line(void *ctx, struct bj_slice line, bool cut,
                           struct bj_err *err)
{
    struct reading *r = ctx;
    (void)cut;
    int e = bj_cluster_work_line(r->work, r->reader, line);
    return e < 0 ? bj_err_set(err, e, "%s", r->reader->name) : 0;
}

static int query_take_text(void *ctx, struct bj_slice piece, struct bj_err *err)
{
    struct reading *r = ctx;
    return bj_lines_feed(&r->lines, piece, query_take_line, r, err);
}

static int take_json(void *ctx, struct bj_slice piece, struct bj_err *err)
{
    struct reading *r = ctx;
    return bj_slurmjson_feed(r->json, piece, err);
}

static int read_constants(struct reading *r, struct bj_err *err)
{
    char text[CONSTANTS_BYTES];
    struct bj_slice piece;
    const char *file = r->client->conf->constants;
    int e = bj_file_read(AT_FDCWD, file, text, sizeof(text), &piece, err);
    if (e < 0)
        return e;
    e = bj_cluster_read_constants(r->work, file, piece);
    return e < 0 ? bj_err_set(err, e, "%s", r->reader->name) : 0;
}

/* *ret_no_json (may be NULL): the command rejects --json. */
static int run_command(struct reading *r, const char *const *argv,
                       int (*sink)(void *, struct bj_slice, struct bj_err *),
                       bool *ret_no_json, struct bj_err *err)
{
    static const struct bj_slice option = {"--json", 6};
    const struct bj_cluster_client *a = r->client;
    const bool own = a->command.own[r->id] != NULL;
    const bool wrapped = a->command.front.n > 0 && !own;
    struct bj_cluster_line line;
    const char *env[] = {"SLURM_TIME_FORMAT=%s", "SLURM_BITSTR_LEN=0",
                         *a->env_conf ? a->env_conf : NULL, NULL};
    struct bj_command cmd = {
        .argv = line.argv,
        .path = bj_is_set(a->conf->path) && !wrapped ? a->conf->path : NULL,
        .env = env,
        .dir = own ? "." : NULL,
        .deadline_usec = a->conf->timeout_usec,
        .sink = sink,
        .ctx = r,
        .abort = r->abort,
    };
    struct bj_command_result res = {0};
    int e = bj_cluster_command_line(&a->command, r->id, argv, env, &line, err);
    if (e < 0)
        return e;
    e = bj_command_run(&cmd, &res, err);
    if (ret_no_json)
        *ret_no_json =
            e == -EREMOTEIO && memmem(res.error_output, res.error_output_len,
                                      option.p, option.n) != NULL;
    bj_command_result_free(&res);
    return bj_slurm_conf_explain(e, a->conf->slurm_conf, "cluster.slurm-conf",
                                 err);
}

static int read_text(struct reading *r, struct bj_err *err)
{
    size_t rest;
    r->text = true;
    if (!r->reader->argv)
        return read_constants(r, err);
    r->lines =
        (struct bj_lines){.max = LINE_MAX_BYTES, .what = r->reader->name};
    int e = run_command(r, r->reader->argv, query_take_text, NULL, err);
    /* The last line may have no newline. */
    if (e == 0 && bj_lines_end(&r->lines, &rest, err) == 0 && rest > 0)
        e = query_take_text(r, BJ_SLICE("\n"), err);
    bj_lines_free(&r->lines);
    return e;
}

/* --- JSON -----------------------------------------------------------------*/

static int end_json(struct reading *r, int e, struct bj_err *err)
{
    if (e == 0)
        e = bj_slurmjson_end(r->json, err);
    bj_slurmjson_free(r->json);
    r->json = NULL;
    return e;
}

static int run_json(struct reading *r, const char *const *argv,
                    bool *ret_no_json, struct bj_err *err)
{
    int e = bj_cluster_json_new(r->work, r->reader->json, &r->json, err);
    if (e < 0)
        return e;
    e = run_command(r, argv, take_json, ret_no_json, err);
    return end_json(r, e, err);
}

/* Discard the data read so far. */
static int restart(struct bj_cluster_work *w, struct bj_err *err)
{
    bj_cluster_work_free(w);
    w->good = w->bad = w->clusters = 0;
    int e = bj_cluster_work_begin(w);
    return e < 0 ? bj_err_set(err, e, "cluster") : 0;
}

/* sinfo --json lists nodes up to Slurm 22.05, groups of nodes since. */
static int read_sinfo(struct reading *r, struct bj_err *err)
{
    if (r->client->no_sinfo)
        return read_text(r, err);
    bool refused = false;
    int e = run_json(r, bj_slurmjson_sinfo_argv, &refused, err);
    if (e != -EBADMSG && !refused)
        return e;
    e = restart(r->work, err);
    if (e == 0)
        e = read_text(r, err);
    r->client->no_sinfo = e == 0 && r->work->good > 0;
    return e;
}

/* Whether a command has --json depends on Slurm's version. From those without
 * it, text is requested from then on. */
static int read_json(struct reading *r, struct bj_err *err)
{
    const char *const *argv = r->reader->json < BJ_SLURMJSON_KINDS
                                  ? bj_slurmjson_argv[r->reader->json]
                                  : NULL;
    bool *no_json = &r->client->no_json[r->id], refused = false;
    if (argv && !*no_json) {
        int e = run_json(r, argv, &refused, err);
        if (!refused)
            return e;
        *no_json = true;
    }
    return r->id == BJ_CLUSTER_NODES ? read_sinfo(r, err) : read_text(r, err);
}

/* --- slurmrestd -----------------------------------------------------------*/

static int query_get(struct reading *r, bool db, const char *path,
                     struct bj_err *err)
{
    const enum bj_slurmrestd_family family =
        db ? BJ_SLURMRESTD_DB : BJ_SLURMRESTD_CTL;
    char full[64];
    unsigned version;
    int e =
        bj_slurmrestd_version(r->client->rest, family, r->abort, &version, err);
    if (e < 0)
        return e;
    snprintf(full, sizeof(full), "/slurm%s/v0.0.%u/%s", db ? "db" : "", version,
             path);
    return bj_slurmrestd_get(r->client->rest, full, r->abort, take_json, r,
                             err);
}

static int read_document(struct reading *r, enum bj_slurmjson_kind kind,
                         bool db, const char *path, struct bj_err *err)
{
    int e = bj_cluster_json_new(r->work, kind, &r->json, err);
    return e < 0 ? e : end_json(r, query_get(r, db, path, err), err);
}

/* Up to 22.05 only jobs name their cluster; without jobs, the database does, if
 * it has only one. */
static int read_name(struct reading *r, struct bj_err *err)
{
    struct bj_err ignored = {0};
    int e = read_document(r, BJ_SLURMJSON_PING, false, "ping", err);
    if (e == 0 && r->work->part->cluster.n == 0 && r->work->name.n == 0 &&
        read_document(r, BJ_SLURMJSON_CLUSTERS, true, "clusters", &ignored) ==
            -ECANCELED)
        return -ECANCELED;
    return e;
}

static int read_rest(struct reading *r, struct bj_err *err)
{
    if (!r->reader->argv)
        return read_text(r, err);
    if (r->id == BJ_CLUSTER_CONFIG)
        return read_name(r, err);
    return read_document(r, r->reader->json, r->reader->db, r->reader->path,
                         err);
}

/* --- commands of the site -------------------------------------------------*/

/* Licences and statistics are always Slurm's JSON, limits are always lines; the
 * others by cluster.via. */
static int read_own(struct reading *r, struct bj_cluster_reader *reader,
                    struct bj_err *err)
{
    if (r->id == BJ_CLUSTER_LICENSES || r->id == BJ_CLUSTER_DIAG ||
        (r->client->way == JSON && r->id != BJ_CLUSTER_LIMITS))
        return run_json(r, r->reader->argv, NULL, err);
    *reader = *r->reader;
    reader->line = r->id == BJ_CLUSTER_QUEUE   ? bj_cluster_own_job_line
                   : r->id == BJ_CLUSTER_NODES ? bj_cluster_own_node_line
                                               : bj_cluster_own_limit_line;
    r->reader = reader;
    return read_text(r, err);
}

/* --- PBS ------------------------------------------------------------------*/

static int take_pbs(void *ctx, struct bj_slice piece, struct bj_err *err)
{
    struct reading *r = ctx;
    return bj_pbs_live_feed(r->pbs, piece, err);
}

static int read_pbs(struct reading *r, struct bj_cluster_reader *reader,
                    struct bj_err *err)
{
    const enum bj_pbs_list list = r->id == BJ_CLUSTER_NODES ? BJ_PBS_NODES
                                  : r->id == BJ_CLUSTER_PARTITIONS
                                      ? BJ_PBS_QUEUES
                                      : BJ_PBS_JOBS;
    *reader = *r->reader;
    reader->argv = list == BJ_PBS_NODES    ? bj_pbsnodes_argv
                   : list == BJ_PBS_QUEUES ? bj_qstat_queues_argv
                                           : bj_qstat_argv;
    r->reader = reader;
    int e = cluster_pbs_new(r->work, list, &r->pbs, err);
    if (e < 0)
        return e;
    e = run_command(r, reader->argv, take_pbs, NULL, err);
    if (e == 0)
        e = bj_pbs_live_end(r->pbs, err);
    bj_pbs_live_free(r->pbs);
    return e;
}

/* --- all ------------------------------------------------------------------*/

static int end_work(struct reading *r, struct bj_err *err)
{
    struct bj_cluster_reader done = *r->reader;
    if (!r->text) /* documents are read while they arrive */
        done.end = NULL;
    int e = bj_cluster_work_end(r->work, &done);
    if (e == -EINVAL && r->work->complaint.code < 0)
        return bj_err_set(err, -EBADMSG, "%s", r->work->complaint.msg);
    if (e == -EINVAL)
        return bj_err_set(err, -EBADMSG, "cannot parse the output of %s",
                          r->client->rest ? "slurmrestd" : done.argv[0]);
    return e < 0 ? bj_err_set(err, e, "%s", done.name) : 0;
}

int bj_cluster_query(struct bj_cluster_client *a, enum bj_cluster_source id,
                     struct bj_cluster_work *w, const atomic_bool *abort,
                     struct bj_err *err)
{
    struct reading r = {.client = a,
                        .abort = abort,
                        .work = w,
                        .id = id,
                        .reader = &bj_cluster_readers[id]};
    const bool own = a->command.own[id] != NULL;
    struct bj_cluster_reader reader;
    int e = bj_cluster_work_begin(w);
    if (e < 0)
        return bj_err_set(err, e, "%s", r.reader->name);
    /* A database may serve several clusters. */
    if (r.reader->db && w->name.n == 0 && !own)
        return bj_err_set(err, -EAGAIN,
                          "%s: the cluster's name is not known yet",
                          r.reader->name);
    e = !r.reader->argv  ? read_text(&r, err)
        : a->way == PBS  ? read_pbs(&r, &reader, err)
        : own            ? read_own(&r, &reader, err)
        : a->way == TEXT ? read_text(&r, err)
        : a->way == JSON ? read_json(&r, err)
                         : read_rest(&r, err);
    return e < 0 ? e : end_work(&r, err);
}

#include "statsdb/source/source_sacct.h"

#include "base/arena.h"
#include "base/command.h"
#include "sched/sacct.h"
#include "sched/slurm_conf.h"

#include <stdio.h>
#include <stdlib.h>

struct bj_source_sacct {
    const struct bj_cluster_conf *conf;
    struct bj_arena arena; /* memory of one request */
    /* columns that this sacct supports; empty: not queried yet */
    struct bj_buf columns;
    char cluster[BJ_SOURCE_CLUSTER];
};

int bj_source_sacct_new(const struct bj_cluster_conf *conf,
                        struct bj_source_sacct **ret, struct bj_err *err)
{
    struct bj_source_sacct *s = calloc(1, sizeof(*s));
    if (!s)
        return bj_err_set(err, -ENOMEM, "source");
    s->conf = conf;
    *ret = s;
    return 0;
}

void bj_source_sacct_free(struct bj_source_sacct *s)
{
    if (!s)
        return;
    bj_arena_free(&s->arena);
    bj_buf_free(&s->columns);
    free(s);
}

/* sacct fails on an unknown column: query its columns once. */
static int query_columns(struct bj_source_sacct *s,
                         const struct bj_source_run *run, struct bj_err *err)
{
    if (s->columns.len > 0)
        return 0;
    char conf[4096 + 16];
    const char *env[2] = {NULL, NULL};
    const char *argv[] = {s->conf->sacct, "--helpformat", NULL};
    if (s->conf->slurm_conf && s->conf->slurm_conf[0]) {
        snprintf(conf, sizeof(conf), "SLURM_CONF=%s", s->conf->slurm_conf);
        env[0] = conf;
    }
    struct bj_command_result res = {0};
    struct bj_command cmd = {.argv = argv, .env = env, .abort = run->stop};
    int r = bj_command_run(&cmd, &res, err);
    if (r == 0) {
        bj_buf_free(&s->columns);
        s->columns = res.out;
        res.out = (struct bj_buf){0};
    }
    bj_command_result_free(&res);
    return bj_slurm_conf_explain(r, s->conf->slurm_conf, "sacct.slurm-conf",
                                 err);
}

static int sacct_take_text(void *ctx, struct bj_slice piece, struct bj_err *err)
{
    const struct bj_source_sink *to = ctx;
    return bj_sacct_feed(to->reader, piece, err);
}

/* Run sacct for a period, of all jobs or of those with these ids. */
static int run_sacct(struct bj_source_sacct *s, const struct bj_window *w,
                     const uint64_t *id, size_t ids, struct bj_source_sink *to,
                     struct bj_err *err)
{
    const struct bj_cluster_conf *c = s->conf;
    char delimiter[BJ_SACCT_DELIMITER + 1];
    int r = bj_sacct_delimiter(delimiter);
    if (r < 0)
        return bj_err_set(err, r, "random numbers");
    struct bj_sacct_query what = {
        .sacct = c->sacct,
        .clusters = c->clusters && c->clusters[0] ? c->clusters : NULL,
        .federation = c->federation,
        .start_sec = (uint64_t)w->start_sec,
        .end_sec = (uint64_t)w->end_sec,
        .job = id,
        .jobs = ids,
        .delimiter = delimiter,
        .slurm_conf = c->slurm_conf && c->slurm_conf[0] ? c->slurm_conf : NULL,
        .helpformat = {s->columns.p, s->columns.len}};
    struct bj_sacct_conf conf = {.delimiter = {delimiter, BJ_SACCT_DELIMITER},
                                 .cluster = to->cluster,
                                 .max_steps = BJ_SOURCE_STEPS,
                                 .ctx = to,
                                 .job = bj_source_take_job,
                                 .bad = bj_source_take_bad};
    struct bj_command cmd = {.deadline_usec = c->timeout_usec,
                             .sink = sacct_take_text,
                             .ctx = to,
                             .abort = to->run->stop};
    struct bj_command_result res = {0};
    bj_arena_reset(&s->arena);
    r = bj_sacct_command(&what, &s->arena, &cmd.argv, &cmd.env, err);
    if (r == 0)
        r = bj_sacct_new(&conf, &to->reader, err);
    if (r == 0)
        r = bj_slurm_conf_explain(bj_command_run(&cmd, &res, err),
                                  c->slurm_conf, "sacct.slurm-conf", err);
    if (r == 0)
        r = bj_sacct_end(to->reader, true, err);
    bj_command_result_free(&res);
    return r;
}

/* A request, and what it needs for further ones. */
struct request {
    struct bj_source_sacct *source;
    struct bj_source_sink to;
    struct bj_window window;
    struct bj_sacct_counts counts; /* of all of them */
};

static int sacct_ask(void *ctx, const uint64_t *id, size_t n,
                     struct bj_err *err)
{
    struct request *q = ctx;
    /* All records of these jobs, whenever they ended. */
    const struct bj_window all = {.start_sec = 1, .end_sec = q->window.end_sec};
    int r = run_sacct(q->source, n > 0 ? &all : &q->window, id, n, &q->to, err);
    if (q->to.reader)
        bj_sacct_counts_add(&q->counts, bj_sacct_counts(q->to.reader));
    bj_sacct_free(q->to.reader);
    q->to.reader = NULL;
    return r;
}

const char *bj_source_sacct_cluster(const struct bj_source_sacct *s)
{
    return s->cluster;
}

int bj_source_sacct_run(struct bj_source_sacct *s,
                        const struct bj_window *window,
                        const struct bj_source_run *run,
                        struct bj_sacct_counts *ret, struct bj_err *err)
{
    struct bj_source_chains chains = {.id = NULL};
    struct request q = {.source = s,
                        .to = {.run = run,
                               .chains = &chains,
                               .cluster = bj_slice_str(s->conf->name)},
                        .window = *window};
    int r = query_columns(s, run, err);
    if (r < 0)
        return r;
    bj_upsert_begin_later(run->upsert);
    r = sacct_ask(&q, NULL, 0, err);
    if (r == 0)
        r = bj_source_chains_run(&chains, run, q.to.cluster, sacct_ask, &q,
                                 err);
    bj_source_chains_free(&chains);
    if (q.to.name[0])
        snprintf(s->cluster, sizeof(s->cluster), "%s", q.to.name);
    *ret = q.counts;
    if (r < 0)
        bj_upsert_rollback(run->upsert);
    return r;
}

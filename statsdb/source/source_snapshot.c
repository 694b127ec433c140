#include "statsdb/source/source_snapshot.h"

#include "base/clock.h"
#include "base/command.h"
#include "sched/lsf.h"
#include "sched/pbs.h"

/* A request in progress. */
struct reply {
    const struct bj_source_run *run;
    struct bj_slice cluster;
    struct bj_pbs_json *pbs;
    struct bj_lsf_json *lsf;
    uint64_t lines; /* of the open transaction */
};

/* The commands. Times in UTC, and with years if they would be missing. */
static const struct {
    const char *args[8];
    const char *env[2];
} commands[BJ_SNAPSHOT_COMMANDS] = {
    [BJ_SNAPSHOT_QSTAT] = {{"-x", "-t", "-f", "-F", "json"}, {NULL}},
    [BJ_SNAPSHOT_BJOBS] = {{"-u", "all", "-a", "-o", BJ_LSF_FIELDS, "-json"},
                           {"LSB_DISPLAY_YEAR=y"}},
};

static int snapshot_take_job(void *ctx, const struct bj_sched_job *job,
                             struct bj_err *err)
{
    struct reply *a = ctx;
    const struct bj_source_run *run = a->run;
    int r = bj_source_room(run, &a->lines, 1, NULL, err);
    return r < 0 ? r : bj_upsert_job(run->upsert, a->cluster, job, err);
}

static void snapshot_take_bad(const struct reply *a,
                              const struct bj_sacct_bad *bad)
{
    if (a->run->bad)
        a->run->bad(a->run->ctx, bad);
}

static void pbs_bad(void *ctx, const struct bj_pbs_bad *b)
{
    snapshot_take_bad(ctx, &(struct bj_sacct_bad){b->line, b->job, b->field,
                                                  b->value, b->expected,
                                                  b->left_out, NULL});
}

static void lsf_bad(void *ctx, const struct bj_lsf_bad *b)
{
    snapshot_take_bad(ctx, &(struct bj_sacct_bad){b->line, b->job, b->field,
                                                  b->value, b->expected,
                                                  b->left_out, NULL});
}

static int open_reader(enum bj_snapshot_kind kind, struct reply *a,
                       struct bj_err *err)
{
    if (kind == BJ_SNAPSHOT_QSTAT)
        return bj_pbs_json_new(&(struct bj_pbs_conf){.cluster = a->cluster,
                                                     .ctx = a,
                                                     .job = snapshot_take_job,
                                                     .bad = pbs_bad},
                               &a->pbs, err);
    return bj_lsf_json_new(
        &(struct bj_lsf_conf){.cluster = a->cluster,
                              .now_sec = bj_clock_wall_usec() / 1000000,
                              .ctx = a,
                              .job = snapshot_take_job,
                              .bad = lsf_bad},
        &a->lsf, err);
}

static int snapshot_take_text(void *ctx, struct bj_slice piece,
                              struct bj_err *err)
{
    struct reply *a = ctx;
    return a->pbs ? bj_pbs_json_feed(a->pbs, piece, err)
                  : bj_lsf_json_feed(a->lsf, piece, err);
}

/* Return the counts of the reader, and free it. */
static void close_reader(struct reply *a, struct bj_sacct_counts *ret)
{
    *ret = (struct bj_sacct_counts){0};
    if (a->pbs) {
        const struct bj_pbs_counts *n = bj_pbs_json_counts(a->pbs);
        *ret = (struct bj_sacct_counts){n->bytes, n->jobs,     n->jobs,
                                        0,        n->bad_jobs, n->bad_fields};
    } else if (a->lsf) {
        const struct bj_lsf_counts *n = bj_lsf_json_counts(a->lsf);
        *ret = (struct bj_sacct_counts){n->bytes, n->jobs,     n->jobs,
                                        0,        n->bad_jobs, n->bad_fields};
    }
    bj_pbs_json_free(a->pbs);
    bj_lsf_json_free(a->lsf);
}

enum { TIMEOUT_USEC = 120 * 1000000 };

static int run_command(enum bj_snapshot_kind kind,
                       const struct bj_cluster_conf *conf, struct reply *a,
                       struct bj_err *err)
{
    const char *argv[10] = {conf->snapshot[kind].command};
    for (int i = 0; i < 8 && commands[kind].args[i]; i++)
        argv[i + 1] = commands[kind].args[i];
    struct bj_command cmd = {.argv = argv,
                             .env = commands[kind].env,
                             .deadline_usec = TIMEOUT_USEC,
                             .sink = snapshot_take_text,
                             .ctx = a,
                             .abort = a->run->stop};
    struct bj_command_result res = {0};
    int r = bj_command_run(&cmd, &res, err);
    if (r == 0)
        r = a->pbs ? bj_pbs_json_end(a->pbs, err)
                   : bj_lsf_json_end(a->lsf, err);
    bj_command_result_free(&res);
    return r;
}

int bj_source_snapshot_run(enum bj_snapshot_kind kind,
                           const struct bj_cluster_conf *conf,
                           const struct bj_source_run *run,
                           struct bj_sacct_counts *ret, struct bj_err *err)
{
    struct reply a = {.run = run, .cluster = bj_slice_str(conf->name)};
    int r = open_reader(kind, &a, err);
    if (r == 0) {
        bj_upsert_begin_later(run->upsert);
        r = run_command(kind, conf, &a, err);
        if (r < 0)
            bj_upsert_rollback(run->upsert);
    }
    close_reader(&a, ret);
    return r;
}

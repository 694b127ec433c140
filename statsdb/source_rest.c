#include "statsdb/source_rest.h"

#include "sched/slurmrest.h"
#include "sched/slurmrestd.h"

#include <stdlib.h>

struct bj_source_rest {
    const struct bj_cluster_conf *conf;
    struct bj_slurmrestd *client;
};

/* A request in progress. */
struct reply {
    const struct bj_source_run *run;
    struct bj_slice cluster;
    struct bj_slurmrest *reader;
    uint64_t lines; /* of the open transaction */
};

int bj_source_rest_new(const struct bj_cluster_conf *conf,
                       struct bj_source_rest **ret, struct bj_err *err)
{
    const struct bj_slurmrestd_conf client = {
        .url = conf->rest.url,
        .unix_socket = conf->rest.socket,
        .user = conf->rest.user,
        .token_file = conf->rest.token_file,
        .ca_file = conf->rest.ca_file,
        .version = conf->rest.version,
        .deadline_usec = conf->timeout_usec};
    struct bj_source_rest *s = calloc(1, sizeof(*s));
    if (!s)
        return bj_err_set(err, -ENOMEM, "source");
    s->conf = conf;
    int r = bj_slurmrestd_new(&client, &s->client, err);
    if (r < 0) {
        free(s);
        return r;
    }
    *ret = s;
    return 0;
}

void bj_source_rest_free(struct bj_source_rest *s)
{
    if (!s)
        return;
    bj_slurmrestd_free(s->client);
    free(s);
}

/* --- the reply ----------------------------------------------------------
 */

static int take_job(void *ctx, const struct bj_sched_job *job,
                    struct bj_err *err)
{
    struct reply *a = ctx;
    const struct bj_source_run *run = a->run;
    int r = bj_source_room(run, &a->lines, 1 + job->steps, NULL, err);
    return r < 0 ? r : bj_upsert_job(run->upsert, a->cluster, job, err);
}

static void take_bad(void *ctx, const struct bj_slurmrest_bad *b)
{
    const struct reply *a = ctx;
    if (a->run->bad)
        a->run->bad(a->run->ctx, &(struct bj_sacct_bad){b->record,
                                                        b->job,
                                                        bj_slice_str(b->field),
                                                        {NULL, 0},
                                                        b->expected,
                                                        b->left_out,
                                                        NULL});
}

static int take_text(void *ctx, struct bj_slice piece, struct bj_err *err)
{
    struct reply *a = ctx;
    return bj_slurmrest_feed(a->reader, piece, err);
}

static int request(struct bj_source_rest *s, const struct bj_window *w,
                   unsigned version, struct reply *a, struct bj_err *err)
{
    char path[BJ_SLURMREST_PATH_MAX];
    int r = bj_slurmrest_path(version, (uint64_t)w->start_sec,
                              (uint64_t)w->end_sec, path);
    if (r < 0)
        return bj_err_set(err, r, "slurmrestd.version: %u is not supported",
                          version);
    r = bj_slurmrestd_get(s->client, path, a->run->stop, take_text, a, err);
    return r == 0 ? bj_slurmrest_end(a->reader, err) : r;
}

int bj_source_rest_run(struct bj_source_rest *s, const struct bj_window *window,
                       const struct bj_source_run *run,
                       struct bj_sacct_counts *ret, struct bj_err *err)
{
    struct reply a = {.run = run, .cluster = bj_slice_str(s->conf->name)};
    struct bj_slurmrest_conf conf = {.cluster = a.cluster,
                                     .max_steps = BJ_SOURCE_STEPS,
                                     .ctx = &a,
                                     .job = take_job,
                                     .bad = take_bad};
    unsigned version;
    *ret = (struct bj_sacct_counts){0};
    int r = bj_slurmrestd_version(s->client, BJ_SLURMRESTD_DB, run->stop,
                                  &version, err);
    if (r == 0)
        r = bj_slurmrest_new(&conf, &a.reader, err);
    if (r < 0)
        return r;
    bj_upsert_begin_later(run->upsert);
    r = request(s, window, version, &a, err);
    if (r < 0)
        bj_upsert_rollback(run->upsert);
    const struct bj_slurmrest_counts *n = bj_slurmrest_counts(a.reader);
    *ret = (struct bj_sacct_counts){.bytes = n->bytes,
                                    .lines = n->jobs + n->steps,
                                    .jobs = n->jobs,
                                    .steps = n->steps,
                                    .bad_lines = n->bad_jobs,
                                    .bad_fields = n->bad_fields};
    bj_slurmrest_free(a.reader);
    return r;
}

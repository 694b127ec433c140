#include "statsdb/source/source_rest.h"

#include "sched/slurmrest.h"
#include "sched/slurmrestd.h"

#include <pwd.h>
#include <stdio.h>
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
    struct bj_source_chains chains;
    uint64_t lines; /* of the open transaction */
    struct bj_source_rest *source;
    struct bj_window window;
    unsigned version;
    struct bj_sacct_counts counts;
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

static int rest_take_job(void *ctx, const struct bj_sched_job *job,
                         struct bj_err *err)
{
    struct reply *a = ctx;
    const struct bj_source_run *run = a->run;
    int r = bj_source_chain_take(&a->chains, job, err);
    if (r != 0)
        return r < 0 ? r : 0;
    r = bj_source_room(run, &a->lines, 1 + job->steps, NULL, err);
    return r < 0 ? r : bj_upsert_job(run->upsert, a->cluster, job, err);
}

static void rest_take_bad(void *ctx, const struct bj_slurmrest_bad *b)
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

/* The uid of a user of this host. */
static uint64_t uid_of(void *ctx, struct bj_slice user)
{
    char name[256], buf[4096];
    struct passwd pw, *found = NULL;
    (void)ctx;
    if (user.n >= sizeof(name) || memchr(user.p, '\0', user.n))
        return BJ_ABSENT;
    snprintf(name, sizeof(name), "%.*s", (int)user.n, user.p);
    return getpwnam_r(name, &pw, buf, sizeof(buf), &found) == 0 && found
               ? found->pw_uid
               : BJ_ABSENT;
}

static int rest_take_text(void *ctx, struct bj_slice piece, struct bj_err *err)
{
    struct reply *a = ctx;
    return bj_slurmrest_feed(a->reader, piece, err);
}

static void add_counts(struct reply *a)
{
    const struct bj_slurmrest_counts *n = bj_slurmrest_counts(a->reader);
    a->counts.bytes += n->bytes;
    a->counts.lines += n->jobs + n->steps;
    a->counts.jobs += n->jobs;
    a->counts.steps += n->steps;
    a->counts.bad_lines += n->bad_jobs;
    a->counts.bad_fields += n->bad_fields;
}

/* Request the period, or jobids, whenever their jobs ended. */
static int rest_request(void *ctx, const uint64_t *id, size_t n,
                        struct bj_err *err)
{
    struct reply *a = ctx;
    const struct bj_slurmrest_conf conf = {.cluster = a->cluster,
                                           .max_steps = BJ_SOURCE_STEPS,
                                           .ctx = a,
                                           .job = rest_take_job,
                                           .bad = rest_take_bad,
                                           .uid = uid_of};
    char path[BJ_SLURMREST_PATH_MAX];
    int r =
        bj_slurmrest_path(a->version,
                          n > 0 || a->window.start_sec < BJ_SLURMREST_FIRST_SEC
                              ? BJ_SLURMREST_FIRST_SEC
                              : (uint64_t)a->window.start_sec,
                          (uint64_t)a->window.end_sec, id, n, path);
    if (r < 0)
        return bj_err_set(err, r, "slurmrestd.version: %u is not supported",
                          a->version);
    r = bj_slurmrest_new(&conf, &a->reader, err);
    if (r < 0)
        return r;
    r = bj_slurmrestd_get(a->source->client, path, a->run->stop, rest_take_text,
                          a, err);
    if (r == 0)
        r = bj_slurmrest_end(a->reader, err);
    add_counts(a);
    bj_slurmrest_free(a->reader);
    return r;
}

int bj_source_rest_run(struct bj_source_rest *s, const struct bj_window *window,
                       const struct bj_source_run *run,
                       struct bj_sacct_counts *ret, struct bj_err *err)
{
    struct reply a = {.run = run,
                      .cluster = bj_slice_str(s->conf->name),
                      .source = s,
                      .window = *window};
    *ret = (struct bj_sacct_counts){0};
    int r = bj_slurmrestd_version(s->client, BJ_SLURMRESTD_DB, run->stop,
                                  &a.version, err);
    if (r < 0)
        return r;
    bj_upsert_begin_later(run->upsert);
    r = rest_request(&a, NULL, 0, err);
    if (r == 0)
        r = bj_source_chains_run(&a.chains, run, a.cluster, rest_request, &a,
                                 err);
    bj_source_chains_free(&a.chains);
    if (r < 0)
        bj_upsert_rollback(run->upsert);
    *ret = a.counts;
    return r;
}

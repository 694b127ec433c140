#include "statsdb/source_rest.h"

#include "base/fetch.h"
#include "base/file.h"
#include "sched/slurmrest.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

enum { TOKEN_MAX = 16384, SPEC_MAX = 64 << 20 };

struct bj_source_rest {
    const struct bj_cluster_conf *conf;
    struct bj_fetch *fetch;
    unsigned version;                      /* of the plugin; 0: not asked yet */
    char token[TOKEN_MAX + 32], user[300]; /* headers */
};

/* A question on its way. */
struct answer {
    const struct bj_source_run *run;
    struct bj_slice cluster;
    struct bj_slurmrest *reader;
    uint64_t lines; /* of the open transaction */
};

static bool is_set(const char *s)
{
    return s && s[0];
}

int bj_source_rest_new(const struct bj_cluster_conf *conf,
                       struct bj_source_rest **ret, struct bj_err *err)
{
    struct bj_source_rest *s = calloc(1, sizeof(*s));
    if (!s)
        return bj_err_set(err, -ENOMEM, "source");
    s->conf = conf;
    int r = bj_fetch_new(&s->fetch, err);
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
    bj_fetch_free(s->fetch);
    explicit_bzero(s->token, sizeof(s->token));
    free(s);
}

/* --- requests --------------------------------------------------------------
 */

/* Tokens expire: whoever makes new ones writes them into the file. */
static int read_token(struct bj_source_rest *s, struct bj_err *err)
{
    char text[TOKEN_MAX];
    struct bj_slice token;
    s->token[0] = '\0';
    if (!is_set(s->conf->rest.token_file))
        return 0;
    int r = bj_file_read_trusted(AT_FDCWD, s->conf->rest.token_file, text,
                                 sizeof(text), &token, err);
    if (r < 0) /* -ENOENT is no job that has gone */
        return bj_err_wrap(err, r == -ENOENT ? -EINVAL : r,
                           "slurmrestd.token-file");
    token = bj_slice_trim(token);
    /* "scontrol token" writes SLURM_JWT=... */
    if (bj_slice_starts(token, BJ_SLICE("SLURM_JWT=")))
        token = (struct bj_slice){token.p + 10, token.n - 10};
    for (size_t i = 0; i < token.n; i++)
        if ((unsigned char)token.p[i] <= ' ' || token.p[i] == 0x7f)
            r = -EINVAL;
    if (r == 0)
        snprintf(s->token, sizeof(s->token), "X-SLURM-USER-TOKEN: %.*s",
                 (int)token.n, token.p);
    explicit_bzero(text, sizeof(text));
    return r < 0 ? bj_err_set(err, r, "slurmrestd.token-file: no token") : 0;
}

static int get(struct bj_source_rest *s, const char *path, struct answer *a,
               int (*sink)(void *, struct bj_slice, struct bj_err *),
               struct bj_fetch_reply *reply, struct bj_err *err)
{
    const struct bj_rest_conf *c = &s->conf->rest;
    const char *headers[4] = {NULL};
    unsigned n = 0;
    char url[2048];
    int len = snprintf(url, sizeof(url), "%s%s",
                       is_set(c->url) ? c->url : "http://localhost", path);
    if (len >= (int)sizeof(url))
        return bj_err_set(err, -EINVAL, "slurmrestd.url is too long");
    int r = read_token(s, err);
    if (r < 0)
        return r;
    if (s->token[0])
        headers[n++] = s->token;
    if (is_set(c->user)) {
        snprintf(s->user, sizeof(s->user), "X-SLURM-USER-NAME: %s", c->user);
        headers[n++] = s->user;
    }
    struct bj_fetch_request req = {
        .url = url,
        .headers = headers,
        .ca_file = is_set(c->ca_file) ? c->ca_file : NULL,
        .unix_socket = is_set(c->socket) ? c->socket : NULL,
        .no_proxy = is_set(c->socket),
        .total_usec = s->conf->deadline_usec,
        .max_bytes = sink ? SIZE_MAX / 4 : SPEC_MAX,
        .sink = sink,
        .ctx = a,
        .abort = a->run->stop};
    return bj_fetch(s->fetch, &req, reply, err);
}

/* Cut a text off the front, in which slashes may be escaped, as JSON may. */
static bool cut(struct bj_slice *s, const char *text)
{
    struct bj_slice rest = *s;
    for (; *text; text++) {
        if (*text == '/' && rest.n > 0 && rest.p[0] == '\\') {
            rest.p++;
            rest.n--;
        }
        if (rest.n == 0 || rest.p[0] != *text)
            return false;
        rest.p++;
        rest.n--;
    }
    *s = rest;
    return true;
}

/* The newest of "/slurmdb/v0.0.NN/jobs" in a text that we know. */
static unsigned newest(struct bj_slice text)
{
    static const char word[] = "slurmdb";
    unsigned best = 0;
    while (text.n > 0) {
        const char *p = memmem(text.p, text.n, word, sizeof(word) - 1);
        if (!p)
            break;
        p += sizeof(word) - 1;
        text = (struct bj_slice){p, text.n - (size_t)(p - text.p)};
        char path[BJ_SLURMREST_PATH_MAX];
        uint64_t v;
        if (cut(&text, "/v0.0.") && bj_slice_number(&text, &v) &&
            cut(&text, "/jobs") && v > best && v < 100 &&
            bj_slurmrest_path((unsigned)v, 1, 2, path) == 0)
            best = (unsigned)v;
    }
    return best;
}

/* Which plugins has it? */
static int ask_version(struct bj_source_rest *s, struct answer *a,
                       struct bj_err *err)
{
    s->version = (unsigned)s->conf->rest.version;
    if (s->version > 0)
        return 0;
    struct bj_fetch_reply reply = {.fault = BJ_FETCH_OK};
    int r = get(s, "/openapi/v3", a, NULL, &reply, err);
    if (r == 0) {
        s->version = newest((struct bj_slice){reply.body.p, reply.body.len});
        if (s->version == 0)
            r = bj_err_set(err, -ENOTSUP,
                           "slurmrestd offers no accounting that we know "
                           "(its openapi plugins dbv0.0.37 and later)");
    }
    bj_fetch_reply_free(&reply);
    return r;
}

/* --- the answer ------------------------------------------------------------
 */

static int take_job(void *ctx, const struct bj_sched_job *job,
                    struct bj_err *err)
{
    struct answer *a = ctx;
    const struct bj_source_run *run = a->run;
    if (run->batch_lines > 0 && a->lines >= run->batch_lines) {
        int r = bj_upsert_commit(run->upsert, err);
        if (r == 0)
            r = bj_upsert_begin(run->upsert, err);
        if (r < 0)
            return r;
        a->lines = 0;
    }
    a->lines += 1 + job->steps;
    return bj_upsert_job(run->upsert, a->cluster, job, err);
}

static void take_bad(void *ctx, const struct bj_slurmrest_bad *b)
{
    const struct answer *a = ctx;
    if (a->run->bad)
        a->run->bad(a->run->ctx, &(struct bj_sacct_bad){b->record,
                                                        b->job,
                                                        bj_slice_str(b->field),
                                                        {NULL, 0},
                                                        b->expected,
                                                        b->left_out});
}

static int take_text(void *ctx, struct bj_slice piece, struct bj_err *err)
{
    struct answer *a = ctx;
    return bj_slurmrest_feed(a->reader, piece, err);
}

static int ask(struct bj_source_rest *s, const struct bj_window *w,
               struct answer *a, struct bj_err *err)
{
    char path[BJ_SLURMREST_PATH_MAX];
    struct bj_fetch_reply reply = {.fault = BJ_FETCH_OK};
    int r = bj_slurmrest_path(s->version, (uint64_t)w->start_sec,
                              (uint64_t)w->end_sec, path);
    if (r < 0)
        return bj_err_set(err, r, "slurmrestd.version: %u is none", s->version);
    r = get(s, path, a, take_text, &reply, err);
    if (r == 0)
        r = bj_slurmrest_end(a->reader, err);
    else if (reply.status == 404)
        s->version = 0; /* it may be another slurmrestd now */
    bj_fetch_reply_free(&reply);
    return r;
}

int bj_source_rest_run(struct bj_source_rest *s, const struct bj_window *window,
                       const struct bj_source_run *run,
                       struct bj_sacct_counts *ret, struct bj_err *err)
{
    struct answer a = {.run = run, .cluster = bj_slice_str(s->conf->name)};
    struct bj_slurmrest_conf conf = {.cluster = a.cluster,
                                     .max_steps = (unsigned)s->conf->max_steps,
                                     .ctx = &a,
                                     .job = take_job,
                                     .bad = take_bad};
    *ret = (struct bj_sacct_counts){0};
    int r = s->version > 0 ? 0 : ask_version(s, &a, err);
    if (r == 0)
        r = bj_slurmrest_new(&conf, &a.reader, err);
    if (r < 0)
        return r;
    r = bj_upsert_begin(run->upsert, err);
    if (r == 0) {
        r = ask(s, window, &a, err);
        if (r < 0)
            bj_upsert_rollback(run->upsert);
    }
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

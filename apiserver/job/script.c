/* The batch script of a job, for its owner and for admins: each request runs a
 * command of Slurm, and nothing is kept. */
#include "apiserver/frame/state.h"
#include "apiserver/job/visible_job.h"
#include "base/command.h"
#include "base/log.h"
#include "base/stamp.h"
#include "base/text.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SCRIPT_ID = 24,
    SCRIPT_BYTES = 8 << 20, /* Slurm's MaxScriptSize is 4 MiB by default */
    SCRIPT_USEC = 10 * 1000000,
    SCRIPTS_AT_ONCE = 2, /* each occupies a thread while Slurm answers */
};

/* What the second part needs. */
struct script_work {
    char user[BJ_USER_BYTES], owner[BJ_USER_BYTES];
    char key[160], id[SCRIPT_ID], cluster[160];
    int64_t uid, start, end; /* BJ_SQL_NULL: unknown */
    char *sacct, *scontrol;  /* "": not used */
};

static atomic_uint scripts_running;

static void script_free(struct script_work *w)
{
    free(w->sacct);
    free(w->scontrol);
    free(w);
}

/* An id that is a number is no option of a command, and no list. */
static bool script_is_number(struct bj_slice id)
{
    uint64_t number;
    return id.n < SCRIPT_ID && bj_slice_u64(id, &number) == 0;
}

static void script_copy(char *to, size_t cap, struct bj_slice from)
{
    snprintf(to, cap, "%.*s", (int)from.n, from.p ? from.p : "");
}

static int script_find(struct bj_call *c, const struct bj_params *p,
                       struct bj_arena *arena, struct script_work *w)
{
    const struct bj_api_conf *conf = c->worker->conf;
    struct bj_visible_job job;
    int r = bj_visible_job_find(c, p, c->tail, arena, &job);
    if (r != 0)
        return r;
    const bool own = bj_slice_eq(job.user, bj_slice_str(c->identity.user));
    if (!own && !c->identity.admin)
        return bj_call_refuse(
            c, 403, "Only the owner of a job and admins may read its script.");
    if (!bj_api_conf_scripts(conf))
        return bj_call_refuse(c, 404,
                              "This server does not show batch scripts.");
    if (!script_is_number(job.id) || job.cluster.n >= sizeof(w->cluster) ||
        job.cluster.n == 0 || job.cluster.p[0] == '-')
        return bj_call_refuse(c, 404, "Only jobs of Slurm have a script here.");
    if (job.user.n == 0 || memchr(job.user.p, ',', job.user.n))
        return bj_call_refuse(c, 404, "The owner of the job is not known.");
    script_copy(w->user, sizeof(w->user), bj_slice_str(c->identity.user));
    script_copy(w->owner, sizeof(w->owner), job.user);
    script_copy(w->key, sizeof(w->key), job.key);
    script_copy(w->id, sizeof(w->id), job.id);
    script_copy(w->cluster, sizeof(w->cluster), job.cluster);
    w->uid = job.uid;
    w->start = job.start;
    w->end = job.end;
    w->sacct = strdup(conf->script_sacct ? conf->script_sacct : "");
    w->scontrol = strdup(conf->script_scontrol ? conf->script_scontrol : "");
    return w->sacct && w->scontrol ? 0 : bj_err_set(&c->err, -ENOMEM, "script");
}

static int script_prepare(struct bj_call *c)
{
    struct bj_params p;
    struct bj_arena arena = {0};
    int r = bj_params_read(c, c->endpoint->params, &p);
    if (r != 0)
        return r;
    struct script_work *w = calloc(1, sizeof(*w));
    r = w ? script_find(c, &p, &arena, w)
          : bj_err_set(&c->err, -ENOMEM, "script");
    bj_arena_free(&arena);
    if (r == 0)
        c->work = w;
    else if (w)
        script_free(w);
    return r;
}

/* The script in the reply of `sacct -B` for one job: behind a heading and a
 * line of dashes; {NULL, 0}: it has none. */
static struct bj_slice script_of_sacct(struct bj_slice text)
{
    struct bj_slice heading, rule;
    while (text.n > 0 && text.p[0] == '\n') {
        text.p++;
        text.n--;
    }
    if (!bj_slice_line(&text, &heading) ||
        !bj_slice_starts(heading, BJ_SLICE("Batch Script for ")) ||
        !bj_slice_line(&text, &rule) ||
        !bj_slice_starts(rule, BJ_SLICE("-----")) ||
        bj_slice_eq(bj_slice_trim(text), BJ_SLICE("NONE")))
        return (struct bj_slice){NULL, 0};
    return text;
}

/* Run one command; 1: *ret has the script, 0: it has none or failed, which is
 * logged. */
static int script_run(const struct script_work *w, const char *const *argv,
                      bool headed, struct bj_command_result *res,
                      struct bj_slice *ret)
{
    const struct bj_command cmd = {
        .argv = argv, .deadline_usec = SCRIPT_USEC, .max_bytes = SCRIPT_BYTES};
    struct bj_err err = {0};
    const int r = bj_command_run(&cmd, res, &err);
    if (r < 0)
        bj_log(BJ_LOG_WARN, &err, "batch script of job %s", w->key);
    const struct bj_slice text = {res->out.p, r < 0 ? 0 : res->out.len};
    *ret = headed ? script_of_sacct(text) : text;
    return ret->n > 0;
}

/* Slurm uses numbers of jobs again: a job with the number may be another one,
 * of another user. Does scontrol say that it is one of the owner? */
static bool script_is_of_owner(const struct script_work *w, const char *cluster)
{
    const char *const argv[] = {w->scontrol, cluster, "show",
                                "job",       w->id,   NULL};
    struct bj_command_result res = {0};
    struct bj_slice text, line, owner = {NULL, 0};
    unsigned owners = 0;
    if (script_run(w, argv, false, &res, &text))
        while (bj_slice_line(&text, &line)) {
            line = bj_slice_trim(line);
            if (!bj_slice_starts(line, BJ_SLICE("UserId=")))
                continue;
            line = (struct bj_slice){line.p + 7, line.n - 7};
            bj_slice_field(&line, '(', &owner);
            owners++;
        }
    const bool is = owners == 1 && bj_slice_eq(owner, bj_slice_str(w->owner));
    bj_command_result_free(&res);
    return is;
}

/* "--starttime=2026-11-30T12:00:00" */
static void script_put_time(const char *option, int64_t sec, char *ret,
                            size_t cap)
{
    char text[BJ_STAMP_MAX];
    bj_stamp_text(sec * 1000000, 0, 0, text);
    snprintf(ret, cap, "%s%.19s", option, text);
}

static int script_of_accounting(const struct script_work *w,
                                const char *cluster,
                                struct bj_command_result *res,
                                struct bj_slice *ret)
{
    char owner[BJ_USER_BYTES + 16], since[40], upto[40];
    const char *argv[] = {w->sacct, cluster, "--batch-script",
                          "--jobs", w->id,   owner,
                          NULL,     NULL,    NULL};
    unsigned n = 6;
    if (w->uid != BJ_SQL_NULL)
        snprintf(owner, sizeof(owner), "--user=%lld", (long long)w->uid);
    else
        snprintf(owner, sizeof(owner), "--user=%s", w->owner);
    if (w->start != BJ_SQL_NULL) {
        script_put_time("--starttime=", w->start, since, sizeof(since));
        argv[n++] = since;
    }
    if (w->start != BJ_SQL_NULL && w->end != BJ_SQL_NULL) {
        script_put_time("--endtime=", w->end + 1, upto, sizeof(upto));
        argv[n] = upto;
    }
    return script_run(w, argv, true, res, ret);
}

static int script_ask(struct script_work *w, struct bj_command_result *res,
                      struct bj_slice *ret, const char **ret_from)
{
    char cluster[sizeof(w->cluster) + 16];
    snprintf(cluster, sizeof(cluster), "--clusters=%s", w->cluster);
    const char *const scontrol[] = {
        w->scontrol, cluster, "write", "batch_script", w->id, "-", NULL};
    *ret_from = "sacct";
    if (w->sacct[0] && script_of_accounting(w, cluster, res, ret))
        return 1;
    *ret_from = "scontrol";
    return w->scontrol[0] && script_is_of_owner(w, cluster) &&
           script_run(w, scontrol, false, res, ret);
}

static int script_answer(struct bj_call *c, struct script_work *w)
{
    struct bj_command_result res = {0};
    struct bj_slice script;
    const char *from;
    int r = 0;
    if (!script_ask(w, &res, &script, &from)) {
        r = bj_call_refuse(c, 404,
                           "Slurm has no batch script of this job, or does not "
                           "show it to this server.");
    } else {
        bj_log(BJ_LOG_INFO, NULL,
               "user %s read the batch script of job %s of user %s (%s)",
               w->user, w->key, w->owner, from);
        bj_buf_slice(&c->reply->body, script);
        c->reply->type = "text/plain; charset=utf-8";
        bj_call_header(c, "Cache-Control", "no-store");
    }
    bj_command_result_free(&res);
    return r;
}

static int script_reply(struct bj_call *c)
{
    struct script_work *w = c->work;
    c->work = NULL;
    int r;
    if (atomic_fetch_add(&scripts_running, 1) < SCRIPTS_AT_ONCE) {
        r = script_answer(c, w);
    } else {
        bj_call_header(c, "Retry-After", "1");
        r = bj_call_refuse(c, 503,
                           "Too many scripts are being read; try again.");
    }
    atomic_fetch_sub(&scripts_running, 1);
    script_free(w);
    return r;
}

const struct bj_endpoint bj_endpoints_script[] = {
    {.path = "/api/v1/jobs/*/script",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = script_prepare,
     .after = script_reply,
     .help = "The batch script of a job, for its owner and admins, if "
             "script.sacct or script.scontrol is set.",
     .type = "text/plain",
     .params = BJ_BIT(BJ_PARAM_CLUSTER) | BJ_BIT(BJ_PARAM_MINE)},
    {.path = NULL},
};

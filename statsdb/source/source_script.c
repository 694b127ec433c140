#include "statsdb/source/source_script.h"

#include "base/array.h"
#include "base/command.h"
#include "sched/sbatch.h"
#include "sched/slurm_conf.h"
#include "store/db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    REQUEST_JOBS = 100, /* of one sacct */
    ID_MAX = 48
};

/* A job without a known script. */
struct job {
    int64_t id, array, submit;
    char shown[ID_MAX]; /* "4711", "4700_3" */
    size_t like;        /* the first job with the same script */
    unsigned seen;      /* how many headings the reply has */
    bool none;          /* there is no script */
    struct bj_script_options options;
    struct bj_application_script application;
};

struct scripts {
    const struct bj_cluster_conf *conf;
    const struct bj_applications *applications;
    const atomic_bool *stop;
    struct job *job;
    size_t jobs, cap;
    /* One request: indexes of its jobs. */
    size_t of[REQUEST_JOBS];
    const char *id[REQUEST_JOBS];
    size_t n;
    struct bj_scripts reply;
    size_t known;
};

/* --- which jobs ------------------------------------------------------------
 */

static int script_add(struct scripts *s, struct bj_st *st, struct bj_err *err)
{
    const struct bj_slice shown = bj_st_text(st, "display_id");
    if (shown.n == 0 || shown.n >= ID_MAX)
        return 0;
    if (!BJ_GROW(s->job, s->jobs + 1, s->cap))
        return bj_err_set(err, -ENOMEM, "batch scripts");
    struct job *j = &s->job[s->jobs];
    *j = (struct job){.id = bj_st_i64(st, "id"),
                      .array = bj_st_i64(st, "array"),
                      .submit = bj_st_i64(st, "submit_sec"),
                      .like = s->jobs};
    memcpy(j->shown, shown.p, shown.n);
    /* The tasks of an array follow each other. */
    const struct job *before = s->jobs > 0 ? j - 1 : NULL;
    if (before && j->array > 0 && before->array == j->array &&
        before->submit == j->submit)
        j->like = before->like;
    s->jobs++;
    return 0;
}

static int script_find(struct scripts *s, struct bj_db *db,
                       struct bj_slice cluster, struct bj_err *err)
{
    static const char sql[] =
        "SELECT v.id, v.display_id, coalesce(v.array_job_id, 0) AS array,"
        " v.submit_sec"
        " FROM job_v AS v JOIN job_more AS m ON m.job = v.id WHERE v.id IN"
        " (SELECT job FROM derive_todo UNION ALL SELECT id FROM job WHERE id >"
        " (SELECT job_upto FROM derive_state) UNION ALL SELECT j.id FROM job "
        "AS j"
        " JOIN cluster AS c ON c.id = j.cluster WHERE c.name = :cluster AND"
        " j.\"end\" IS NULL AND j.state IN (2, 3)) AND m.script_options IS NULL"
        " AND v.cluster = :cluster AND v.start_sec IS NOT NULL AND "
        "m.het_job_id IS"
        " NULL AND m.submit_line LIKE '%sbatch%' ORDER BY"
        " v.submit_sec DESC, coalesce(v.array_job_id, 0), v.id DESC LIMIT "
        ":most";
    struct bj_st *st;
    int r = bj_db_prepare(db, sql, &st, err);
    if (r < 0)
        return r;
    bj_st_set_text(st, "cluster", cluster);
    bj_st_set_i64(st, "most", BJ_SCRIPT_JOBS);
    while ((r = bj_st_row(st, err)) > 0)
        if ((r = script_add(s, st, err)) < 0)
            break;
    bj_st_finalize(st);
    return r;
}

/* --- requests --------------------------------------------------------------
 */

static void script_take_line(void *ctx, size_t which, unsigned number,
                             struct bj_slice line, bool cut)
{
    struct scripts *s = ctx;
    struct job *j = &s->job[s->of[which]];
    if (number == 1) {
        j->seen++;
        j->none = bj_slice_eq(line, BJ_SLICE("NONE"));
        memset(&j->options, 0, sizeof(j->options));
        memset(&j->application, 0, sizeof(j->application));
    }
    bj_script_options_line(&j->options, number, line, cut);
    if (s->applications)
        bj_application_script_line(s->applications, line, &j->application);
}

static int take_piece(void *ctx, struct bj_slice piece, struct bj_err *err)
{
    struct scripts *s = ctx;
    return bj_scripts_feed(&s->reply, piece)
               ? 0
               : bj_err_set(err, -ENOMEM, "batch scripts");
}

/* Request the jobs of s->of. */
static int script_request(struct scripts *s, struct bj_err *err)
{
    const struct bj_cluster_conf *c = s->conf;
    char conf[4096 + 16], list[REQUEST_JOBS * (ID_MAX + 1) + 8] = "--jobs=";
    const char *env[] = {NULL, NULL};
    const char *argv[] = {c->sacct, "--allusers", "--batch-script", list, NULL};
    struct bj_command cmd = {.argv = argv,
                             .env = env,
                             .deadline_usec = c->timeout_usec,
                             .sink = take_piece,
                             .ctx = s,
                             .abort = s->stop};
    struct bj_command_result res = {0};
    if (c->slurm_conf && c->slurm_conf[0]) {
        snprintf(conf, sizeof(conf), "SLURM_CONF=%s", c->slurm_conf);
        env[0] = conf;
    }
    for (size_t i = 0, at = strlen(list); i < s->n; i++) {
        struct job *j = &s->job[s->of[i]];
        s->id[i] = j->shown;
        j->seen = 0;
        at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s",
                               i > 0 ? "," : "", j->shown);
    }
    s->reply = (struct bj_scripts){
        .id = s->id, .ids = s->n, .ctx = s, .line = script_take_line};
    int r = bj_command_run(&cmd, &res, err);
    bj_scripts_end(&s->reply);
    bj_command_result_free(&res);
    return bj_slurm_conf_explain(r, c->slurm_conf, "sacct.slurm-conf", err);
}

/* Request the jobs again, one by one, that the reply has more than once: a
 * script contains the heading of another one. */
static int request_alone(struct scripts *s, struct bj_err *err)
{
    size_t again[REQUEST_JOBS], n = 0;
    for (size_t i = 0; s->n > 1 && i < s->n; i++)
        if (s->job[s->of[i]].seen > 1)
            again[n++] = s->of[i];
    int r = 0;
    for (size_t i = 0; r == 0 && i < n; i++) {
        s->of[0] = again[i];
        s->n = 1;
        r = script_request(s, err);
    }
    return r;
}

/* --- the store -------------------------------------------------------------
 */

static int script_put(struct scripts *s, struct bj_st *set, struct bj_st *todo,
                      const struct job *to, struct job *from,
                      struct bj_err *err)
{
    const char *name = bj_application_script_name(&from->application);
    const bool none = from->none || from->seen == 0;
    bj_st_clear(set);
    bj_st_set_i64(set, "job", to->id);
    bj_st_set_text(set, "options",
                   none ? BJ_SLICE("")
                        : bj_script_options_text(&from->options));
    if (!none && name)
        bj_st_set_text(set, "application", bj_slice_str(name));
    int r = bj_st_run(set, err);
    bj_st_clear(todo);
    bj_st_bind_i64(todo, 1, to->id);
    if (r == 0 && !none)
        r = bj_st_run(todo, err);
    s->known += !none;
    return r;
}

/* Write what the jobs of the last requests have; of jobs that are not in the
 * reply that they have no script. */
static int write_jobs(struct scripts *s, struct bj_store *store, size_t from,
                      size_t to, struct bj_err *err)
{
    struct bj_db *db = bj_store_db(store);
    struct bj_st *set = NULL, *todo = NULL;
    int r = bj_store_begin(store, err);
    if (r < 0)
        return r;
    r = bj_db_prepare(db,
                      "UPDATE job_more SET script_options = :options,"
                      " script_application = :application WHERE job = :job",
                      &set, err);
    if (r == 0)
        r = bj_db_prepare(
            db,
            "INSERT INTO derive_todo(job) SELECT id FROM job WHERE id = ?1 AND"
            " \"end\" IS NOT NULL AND NOT EXISTS (SELECT 1 FROM derive_todo"
            " WHERE job = ?1)",
            &todo, err);
    for (size_t i = from; r == 0 && i < to; i++)
        r = script_put(s, set, todo, &s->job[i], &s->job[s->job[i].like], err);
    bj_st_finalize(set);
    bj_st_finalize(todo);
    if (r == 0)
        r = bj_store_commit(store, err);
    if (r < 0)
        bj_store_rollback(store);
    return r;
}

int bj_source_scripts(const struct bj_cluster_conf *conf,
                      struct bj_slice cluster, struct bj_store *store,
                      const struct bj_applications *applications,
                      const atomic_bool *stop, size_t *ret_jobs,
                      struct bj_err *err)
{
    struct scripts s = {
        .conf = conf, .applications = applications, .stop = stop};
    int r = script_find(&s, bj_store_db(store), cluster, err);
    for (size_t at = 0, from; r == 0 && at < s.jobs;) {
        s.n = 0;
        for (from = at; at < s.jobs; at++) {
            if (s.job[at].like != at)
                continue;
            if (s.n == REQUEST_JOBS)
                break;
            s.of[s.n++] = at;
        }
        r = script_request(&s, err);
        if (r == 0)
            r = request_alone(&s, err);
        if (r == 0)
            r = write_jobs(&s, store, from, at, err);
    }
    *ret_jobs = s.known;
    free(s.job);
    return r < 0 ? bj_err_wrap(err, r, "batch scripts") : 0;
}

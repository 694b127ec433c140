#include "statsdb/running/running.h"

#include "base/clock.h"
#include "base/command.h"
#include "base/local.h"
#include "base/log.h"
#include "base/text.h"
#include "base/thread.h"
#include "base/tz.h"
#include "statsdb/running/running_impl.h"
#include "store/db.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const bj_action_states[BJ_ACTION_STATES] = {
    [BJ_ACTION_DRY] = "dry run",   [BJ_ACTION_WAITING] = "waiting",
    [BJ_ACTION_DOING] = "doing",   [BJ_ACTION_DONE] = "done",
    [BJ_ACTION_FAILED] = "failed",
};

enum bj_action_state bj_action_state(struct bj_slice name)
{
    for (int i = 0; i < BJ_ACTION_STATES; i++)
        if (bj_slice_eq(name, bj_slice_str(bj_action_states[i])))
            return (enum bj_action_state)i;
    return BJ_ACTION_FAILED;
}

/* Was the owner warned before this action, long enough ago? */
static bool was_warned(const struct bj_escalation *e, unsigned next)
{
    const struct bj_rule_action *a = e->rule->action;
    bool sent = e->last_state == BJ_ACTION_DONE ||
                (e->dry_run && e->last_state == BJ_ACTION_DRY);
    return next > 0 && sent && e->last_sec <= e->now_sec &&
           e->now_sec - e->last_sec >=
               (int64_t)a[next].after_sec - (int64_t)a[next - 1].after_sec;
}

int bj_escalation_next(const struct bj_escalation *e)
{
    unsigned next = e->actions;
    if (next >= e->rule->actions || e->since_sec > e->now_sec)
        return -1;
    const struct bj_rule_action *a = &e->rule->action[next];
    if (e->now_sec - e->since_sec < (int64_t)a->after_sec)
        return -1;
    if (next > 0 && (e->last_state == BJ_ACTION_WAITING ||
                     e->last_state == BJ_ACTION_DOING))
        return -1;
    return a->cancel && !was_warned(e, next) ? -1 : (int)next;
}

/* --- actions --------------------------------------------------------------*/

enum { WORDS = 32, WORD_MAX = 256, COMMAND_SEC = 30, DETAIL_MAX = 300 };

struct act {
    struct bj_running *r;
    struct bj_running_cluster *cluster;
    const struct bj_running_job *job;
    const struct bj_rule *rule;
    int64_t since_sec, now_sec;
    unsigned step;
};

static struct bj_st *act_prepare(struct bj_running *r, const char *sql,
                                 struct bj_err *err)
{
    struct bj_st *st = NULL;
    return bj_db_prepare(bj_store_db(r->store), sql, &st, err) < 0 ? NULL : st;
}

/* Run one statement as a transaction; returns the number of changed rows. */
static int act_change(struct bj_running *r, struct bj_st *st,
                      struct bj_err *err)
{
    if (!st)
        return err->code;
    int n = 0, e = bj_store_begin(r->store, err);
    if (e == 0) {
        e = bj_st_run(st, err);
        n = (int)bj_db_changes(bj_store_db(r->store));
        if (e == 0)
            e = bj_store_commit(r->store, err);
        if (e < 0)
            bj_store_rollback(r->store);
    }
    bj_st_finalize(st);
    return e < 0 ? e : n;
}

/* Mark commands as failed that were running when the program ended. */
static int running_act_start(struct bj_running *r, struct bj_err *err)
{
    int n = act_change(
        r,
        act_prepare(r,
                    "UPDATE running_action SET state = 'failed', detail"
                    " = 'the program ended while the command ran' WHERE"
                    " state = 'doing'",
                    err),
        err);
    return n < 0 ? n : 0;
}

/* --- due actions -----------------------------------------------------------
 */

#define DONE_SINCE                                                             \
    " FROM running_action AS a WHERE a.job = f.job AND a.rule = f.rule AND"    \
    " a.since = f.since"

/* Read the begin of the finding and the actions since then, and find the action
 * that is due: *ret is its number, or -1. */
static int next_action(struct act *a, int *ret, struct bj_err *err)
{
    struct bj_escalation e = {.rule = a->rule,
                              .now_sec = a->now_sec,
                              .dry_run = a->r->conf->running.dry_run};
    struct bj_st *st = act_prepare(
        a->r,
        "SELECT f.since AS since, (SELECT count(*)" DONE_SINCE
        ") AS actions, (SELECT a.state" DONE_SINCE
        " ORDER BY a.id DESC LIMIT 1) AS state, (SELECT a.at" DONE_SINCE
        " ORDER BY a.id DESC LIMIT 1) AS at FROM running_finding AS f WHERE"
        " f.job = :job AND f.rule = :rule AND f.seen = :now",
        err);
    if (!st)
        return err->code;
    bj_st_set_i64(st, "job", a->job->id);
    bj_st_set_filled(st, "rule", bj_slice_str(a->rule->name));
    bj_st_set_i64(st, "now", a->now_sec);
    int r = bj_st_row(st, err);
    if (r > 0) {
        e.since_sec = a->since_sec = bj_st_i64(st, "since");
        e.actions = (unsigned)bj_st_i64(st, "actions");
        e.last_state = bj_action_state(bj_st_text(st, "state"));
        e.last_sec = bj_st_i64(st, "at");
    }
    bj_st_finalize(st);
    *ret = r > 0 ? bj_escalation_next(&e) : -1;
    return r < 0 ? r : 0;
}

/* Record the action, unless it is recorded already or the job has ended;
 * returns whether it did. */
static int record(struct act *a, enum bj_action_state state, const char *detail,
                  struct bj_err *err)
{
    struct bj_st *st = act_prepare(
        a->r,
        "INSERT INTO running_action(job, rule, since, step, action, at, state,"
        " detail) SELECT :job, :rule, :since, :step, :action, :now, :state,"
        " :detail FROM job WHERE id = :job AND \"end\" IS NULL AND state = 2"
        " AND start = :start ON CONFLICT DO"
        " NOTHING",
        err);
    if (!st)
        return err->code;
    const struct bj_rule_action *what = &a->rule->action[a->step];
    bj_st_set_i64(st, "job", a->job->id);
    bj_st_set_filled(st, "rule", bj_slice_str(a->rule->name));
    bj_st_set_i64(st, "since", a->since_sec);
    bj_st_set_i64(st, "step", a->step);
    bj_st_set_filled(st, "action",
                     bj_slice_str(what->cancel ? "cancel" : "warn"));
    bj_st_set_i64(st, "now", a->now_sec);
    bj_st_set_filled(st, "state", bj_slice_str(bj_action_states[state]));
    bj_st_set_filled(st, "detail", bj_slice_str(detail));
    bj_st_set_i64(st, "start", a->job->start_sec);
    return act_change(a->r, st, err);
}

static int act_finish(struct act *a, enum bj_action_state state,
                      const char *detail, struct bj_err *err)
{
    struct bj_st *st = act_prepare(
        a->r,
        "UPDATE running_action SET state = :state, detail = :detail"
        " WHERE job = :job AND rule = :rule AND since = :since AND step ="
        " :step",
        err);
    if (!st)
        return err->code;
    bj_st_set_filled(st, "state", bj_slice_str(bj_action_states[state]));
    bj_st_set_filled(st, "detail", bj_slice_str(detail));
    bj_st_set_i64(st, "job", a->job->id);
    bj_st_set_filled(st, "rule", bj_slice_str(a->rule->name));
    bj_st_set_i64(st, "since", a->since_sec);
    bj_st_set_i64(st, "step", a->step);
    int n = act_change(a->r, st, err);
    return n < 0 ? n : 0;
}

static void log_act(const struct act *a, const char *what, const char *detail)
{
    const struct bj_log_field fields[] = {
        {"cluster", a->cluster->conf->name, 0},
        {"jobid", a->job->jobid.p, 0},
        {"rule", a->rule->name, 0},
        {"detail", detail, 0},
        {NULL, NULL, 0}};
    bj_log_event(BJ_LOG_INFO, what, fields);
}

/* --- warnings --------------------------------------------------------------
 */

/* Write the sentence of the mail about what happens next. */
static void running_put_next(const struct act *a, char ret[DETAIL_MAX])
{
    struct bj_buf text = {0};
    ret[0] = '\0';
    if (a->step + 1 >= a->rule->actions)
        return;
    const struct bj_rule_action *now = &a->rule->action[a->step];
    const struct bj_rule_action *next = now + 1;
    unsigned min = (next->after_sec - now->after_sec + 59) / 60;
    bj_local_put(&text,
                 next->cancel ? "{Unless this changes, the job will be "
                                "cancelled in %u min.}"
                              : "{Unless this changes, you get another warning "
                                "in %u min.}",
                 min);
    if (!text.failed && text.len < DETAIL_MAX)
        memcpy(mempcpy(ret, text.p, text.len), "", 1);
    bj_buf_free(&text);
}

static int warn(struct act *a, struct bj_err *err)
{
    const struct bj_statsdb_conf *conf = a->r->conf;
    char next[DETAIL_MAX];
    running_put_next(a, next);
    enum bj_action_state state = conf->running.dry_run ? BJ_ACTION_DRY
                                 : bj_mail_is_on(&conf->mail)
                                     ? BJ_ACTION_WAITING
                                     : BJ_ACTION_DONE;
    int n = record(a, state, next, err);
    if (n > 0) {
        a->cluster->actions[0] += state != BJ_ACTION_DRY;
        log_act(a,
                state == BJ_ACTION_DRY ? "dry run: would warn the owner"
                                       : "the owner is warned",
                next);
    }
    return n < 0 ? n : 0;
}

/* --- cancelling ------------------------------------------------------------
 */

static bool is_allowed(const struct act *a)
{
    const struct bj_running_conf *c = &a->r->conf->running;
    const struct bj_running_job *j = a->job;
    return bj_running_allows(c, "user", j->user) ||
           bj_running_allows(c, "account", j->account) ||
           bj_running_allows(c, "partition", j->partition) ||
           bj_running_allows(c, "qos", j->qos);
}

/* Replace {jobid} and {cluster} in a word.  -EINVAL: the result is too long, or
 * the value looks like an option or contains control characters. */
static int put_word(const struct act *a, const char *word, char ret[WORD_MAX])
{
    const struct {
        struct bj_slice name, value;
    } known[] = {{BJ_SLICE("{jobid}"), a->job->jobid},
                 {BJ_SLICE("{cluster}"), bj_slice_str(a->cluster->conf->name)}};
    size_t n = 0;
    for (struct bj_slice s = bj_slice_str(word); s.n > 0;) {
        struct bj_slice put = {s.p, 1}, took = put;
        for (size_t i = 0; i < 2; i++)
            if (bj_slice_starts(s, known[i].name)) {
                put = known[i].value;
                took = known[i].name;
                if (put.n == 0 || put.p[0] == '-')
                    return -EINVAL;
                for (size_t k = 0; k < put.n; k++)
                    if ((unsigned char)put.p[k] <= ' ')
                        return -EINVAL;
            }
        if (n + put.n >= WORD_MAX)
            return -EINVAL;
        memcpy(ret + n, put.p, put.n);
        n += put.n;
        s.p += took.n;
        s.n -= took.n;
    }
    ret[n] = '\0';
    return 0;
}

static int run_command(const struct act *a, struct bj_err *err)
{
    const struct bj_strv *words = &a->r->conf->running.cancel_command;
    char text[WORDS][WORD_MAX];
    const char *argv[WORDS + 1] = {NULL};
    struct bj_command_result res = {.exit = 0};
    if (words->n == 0 || words->n > WORDS)
        return bj_err_set(err, -EINVAL, "running.cancel-command has %zu words",
                          words->n);
    for (size_t i = 0; i < words->n; i++) {
        if (put_word(a, words->v[i], text[i]) < 0)
            return bj_err_set(err, -EINVAL,
                              "running.cancel-command: the jobid has "
                              "characters that are not allowed in a command");
        argv[i] = text[i];
    }
    const struct bj_command command = {.argv = argv,
                                       .deadline_usec =
                                           COMMAND_SEC * UINT64_C(1000000),
                                       .max_bytes = 1 << 16,
                                       .abort = a->r->stop};
    int r = bj_command_run(&command, &res, err);
    bj_command_result_free(&res);
    return r;
}

static int cancel(struct act *a, struct bj_err *err)
{
    const char *const refused = bj_local("not listed in running.cancel-allow");
    struct bj_err why = {0};
    const bool dry = a->r->conf->running.dry_run, allowed = is_allowed(a);
    int n = record(a,
                   !allowed ? BJ_ACTION_FAILED
                   : dry    ? BJ_ACTION_DRY
                            : BJ_ACTION_DOING,
                   allowed ? "" : refused, err);
    if (n <= 0)
        return n;
    if (!allowed || dry) {
        log_act(a, allowed ? "dry run: would cancel the job" : "not cancelled",
                allowed ? "" : refused);
        return 0;
    }
    int r = run_command(a, &why);
    a->cluster->actions[1] += r == 0;
    log_act(a, r == 0 ? "the job is cancelled" : "the job was not cancelled",
            r == 0 ? "" : why.msg);
    return act_finish(a, r == 0 ? BJ_ACTION_DONE : BJ_ACTION_FAILED,
                      r == 0 ? "" : why.msg, err);
}

static int act_on(struct act *a, struct bj_err *err)
{
    int next = -1;
    int r = a->rule->actions > 0 ? next_action(a, &next, err) : 0;
    if (r < 0 || next < 0)
        return r;
    a->step = (unsigned)next;
    return a->rule->action[next].cancel ? cancel(a, err) : warn(a, err);
}

int bj_running_act(struct bj_running *r, struct bj_running_cluster *c,
                   const struct bj_running_jobs *jobs, int64_t now_sec,
                   struct bj_err *err)
{
    int last = 0;
    for (size_t i = 0; i < jobs->n && !atomic_load(r->stop); i++)
        for (size_t k = 0; k < jobs->job[i].n_found; k++) {
            struct act a = {.r = r,
                            .cluster = c,
                            .job = &jobs->job[i],
                            .rule = jobs->job[i].found[k].rule,
                            .now_sec = now_sec};
            int e = act_on(&a, err);
            last = e < 0 ? e : last;
        }
    return last;
}

enum {
    SECOND = 1000000,
    PAGE_FINDINGS = 10000,
    LASTING_SEC = 90 * 60, /* longer than the windows of built-in rules */
};

struct bj_running_thread {
    struct bj_thread thread;
    /* texts and zone of the thread that starts this one */
    const struct bj_locals *texts;
    const struct bj_tz *tz;
    pthread_mutex_t lock; /* of page */
    struct bj_buf page;
};

static bool has_prom(const struct bj_cluster_conf *c)
{
    return c->prom.url && c->prom.url[0];
}

bool bj_running_is_on(const struct bj_statsdb_conf *conf)
{
    bool prom = false;
    for (size_t i = 0; i < conf->clusters; i++)
        prom = prom || has_prom(&conf->cluster[i]);
    return prom && conf->findings && conf->running.findings && !conf->dry_run;
}

/* --- checks ----------------------------------------------------------------
 */

static bool cancels(const struct bj_rule *rule)
{
    return rule->enabled && rule->actions > 0 &&
           rule->action[rule->actions - 1].cancel;
}

/* A job can be cancelled only if its owner can be warned. */
static int check_cancel(const struct bj_statsdb_conf *conf, const char *rule,
                        struct bj_err *err)
{
    const char *send = conf->mail.send ? conf->mail.send : "off";
    if (conf->running.cancel_command.n == 0)
        return bj_err_set(err, -EINVAL,
                          "running.cancel-command: required by rule '%.80s', "
                          "which cancels jobs",
                          rule);
    if (!conf->running.dry_run && strcmp(send, "sendmail") != 0 &&
        strcmp(send, "smtp") != 0)
        return bj_err_set(err, -EINVAL,
                          "mail.send: sendmail or smtp is required by rule "
                          "'%.80s', which cancels jobs after a warning",
                          rule);
    return 0;
}

static int check_rules(const struct bj_statsdb_conf *conf,
                       const struct bj_rules *rules, struct bj_err *err)
{
    const struct bj_rule *rule;
    int r = 0;
    for (size_t i = 0; r == 0 && (rule = bj_rules_at(rules, i)); i++)
        if (cancels(rule))
            r = check_cancel(conf, rule->name, err);
    return r;
}

int bj_running_check(const struct bj_statsdb_conf *conf, struct bj_err *err)
{
    struct bj_rules *rules = NULL;
    if (!bj_running_is_on(conf))
        return 0;
    int r = bj_rules_load(conf->findings_file, &rules, err);
    if (r == 0)
        r = check_rules(conf, rules, err);
    bj_rules_free(rules);
    return r;
}

/* --- one cluster -----------------------------------------------------------
 */

static void judge_job(struct bj_running *r, const struct bj_running_cluster *c,
                      struct bj_running_job *j)
{
    struct bj_rule_facts facts[BJ_RULE_WINDOWS];
    const struct bj_rule_job job = {bj_slice_str(c->conf->name), j->partition,
                                    j->qos};
    for (unsigned w = 0; w < r->windows; w++)
        facts[w] =
            (struct bj_rule_facts){r->window[w], j->fact[w], j->names[w]};
    j->n_found = bj_rules_judge(r->rules, &job, facts, r->windows, j->found,
                                BJ_RUNNING_FOUND);
}

/* If accounting is too old, the jobs that run now are unknown. */
static int check_imported(const struct bj_running *r, int64_t imported_sec,
                          int64_t now_sec, struct bj_err *err)
{
    int64_t most = (int64_t)(r->conf->running.max_age_usec / SECOND);
    return now_sec - imported_sec > most
               ? bj_err_set(err, -EAGAIN,
                            "accounting was last imported %" PRId64
                            " s ago, longer than running.max-age",
                            now_sec - imported_sec)
               : 0;
}

/* Warn once if all facts of jobs that have run long enough are unknown, because
 * otherwise it would not be noticed that the series lack labels. */
static void running_count(struct bj_running_cluster *c,
                          const struct bj_running_jobs *jobs, int64_t now_sec)
{
    size_t lasting = 0;
    c->jobs = jobs->n;
    c->known = 0;
    for (size_t i = 0; i < jobs->n; i++) {
        c->known += jobs->job[i].known;
        lasting += jobs->job[i].start_sec < now_sec - LASTING_SEC;
    }
    if (c->known == 0 && lasting > 0 && !c->warned)
        bj_log(BJ_LOG_WARN, NULL,
               "%s: Prometheus has no current values of all nodes of any of "
               "%zu running jobs; prometheus.match selects series with {%.*s}",
               c->conf->name, lasting, (int)c->match.len,
               c->match.p ? c->match.p : "");
    c->warned = c->known == 0 && (c->warned || lasting > 0);
}

static int evaluate(struct bj_running *r, struct bj_running_cluster *c,
                    int64_t now_sec, struct bj_err *err)
{
    struct bj_running_jobs jobs;
    int64_t imported_sec = 0;
    int e = bj_running_jobs(r->store, c->conf->name, &jobs, &imported_sec, err);
    if (e == 0 && jobs.n > 0)
        e = check_imported(r, imported_sec, now_sec, err);
    if (e == 0)
        e = bj_running_query(r, c, &jobs, now_sec, err);
    for (size_t i = 0; e == 0 && i < jobs.n; i++)
        judge_job(r, c, &jobs.job[i]);
    if (e == 0)
        e = bj_running_write(r, c, &jobs, true, now_sec, err);
    if (e == 0) {
        c->success_sec = now_sec;
        running_count(c, &jobs, now_sec);
        e = bj_running_act(r, c, &jobs, now_sec, err);
    }
    bj_running_jobs_free(&jobs);
    return e;
}

/* Findings that are older than running.max-age are removed. */
static int remove_old(struct bj_running *r, struct bj_running_cluster *c,
                      int64_t now_sec, struct bj_err *err)
{
    const struct bj_running_conf *conf = &r->conf->running;
    int64_t most =
        (int64_t)((conf->interval_usec + conf->max_age_usec) / SECOND);
    const struct bj_running_jobs none = {.n = 0};
    if (c->cleared || now_sec - c->success_sec <= most)
        return 0;
    int e = bj_running_write(r, c, &none, false, now_sec, err);
    c->cleared = e == 0;
    return e;
}

static int run_round(struct bj_running *r, struct bj_running_cluster *c,
                     struct bj_err *err)
{
    int64_t now = (int64_t)(bj_clock_wall_usec() / SECOND);
    struct bj_err why = {0};
    int e = evaluate(r, c, now, err);
    c->rounds++;
    if (e == 0) {
        c->cleared = false;
        return 0;
    }
    c->failures++;
    bj_err_wrap(err, e, "%s: running jobs", c->conf->name);
    if (remove_old(r, c, now, &why) < 0)
        bj_log(BJ_LOG_ERROR, &why, "%s: findings on running jobs",
               c->conf->name);
    return e;
}

/* --- metrics ---------------------------------------------------------------
 */

static void running_put_label(struct bj_buf *out, const char *name,
                              struct bj_slice s)
{
    char clean[BJ_LABEL_MAX + 1];
    size_t n = bj_text_clean(s, clean, sizeof(clean));
    bj_buf_printf(out, "%s=\"", name);
    bj_buf_label(out, (struct bj_slice){clean, n});
    bj_buf_str(out, "\"");
}

static void put_counters(const struct bj_running *r, struct bj_buf *out)
{
    static const struct {
        const char *name, *type, *help, *more;
        size_t off;
    } rows[] = {
#define OF(member) offsetof(struct bj_running_cluster, member)
        {"batchjob_stats_running_jobs", "gauge",
         "Running jobs in the last evaluation.", "", OF(jobs)},
        {"batchjob_stats_running_known_jobs", "gauge",
         "Running jobs of which current values of all nodes were known.", "",
         OF(known)},
        {"batchjob_stats_running_evaluations_total", "counter",
         "Evaluations of the running jobs.", "", OF(rounds)},
        {"batchjob_stats_running_errors_total", "counter",
         "Evaluations of the running jobs that failed.", "", OF(failures)},
        {"batchjob_stats_running_actions_total", "counter",
         "Warnings and cancelled jobs, without dry runs.", ",action=\"warn\"",
         OF(actions[0])},
        {"batchjob_stats_running_actions_total", NULL, NULL,
         ",action=\"cancel\"", OF(actions[1])},
#undef OF
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].help)
            bj_buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", rows[i].name,
                          rows[i].help, rows[i].name, rows[i].type);
        for (size_t k = 0; k < r->clusters; k++) {
            uint64_t v;
            memcpy(&v, (const char *)&r->cluster[k] + rows[i].off, sizeof(v));
            bj_buf_printf(out, "%s{", rows[i].name);
            running_put_label(out, "cluster",
                              bj_slice_str(r->cluster[k].conf->name));
            bj_buf_printf(out, "%s} %" PRIu64 "\n", rows[i].more, v);
        }
    }
}

/* Limit the number of series, because there is one for each job and rule. */
static int put_findings(struct bj_running *r, struct bj_buf *out,
                        struct bj_err *err)
{
    static const char name[] =
        "batchjob_stats_running_finding_since_timestamp_seconds";
    static const char *const labels[] = {
        "cluster", "jobid", "user", "account", "partition", "rule", "severity"};
    struct bj_st *st = NULL;
    int e = bj_db_prepare(
        bj_store_db(r->store),
        "SELECT c.name AS cluster, CAST(j.jobid AS TEXT) AS jobid, (SELECT"
        " name FROM user WHERE id = j.user) AS user, (SELECT name FROM account"
        " WHERE id = j.account) AS account, (SELECT name FROM partition WHERE"
        " id = j.partition) AS partition, f.rule AS rule, (SELECT severity"
        " FROM job_finding AS k JOIN finding_rule AS r ON r.id = k.rule WHERE"
        " k.job = f.job AND r.name = f.rule) AS severity, f.since AS since"
        " FROM running_finding AS f JOIN job AS j ON j.id = f.job JOIN cluster "
        "AS c"
        " ON c.id = j.cluster WHERE j.\"end\" IS NULL LIMIT ?1",
        &st, err);
    if (e < 0)
        return e;
    bj_st_bind_i64(st, 1, PAGE_FINDINGS);
    bj_buf_printf(out,
                  "# HELP %s Time since which a running job has had a finding; "
                  "at most %d series.\n# TYPE %s gauge\n",
                  name, PAGE_FINDINGS, name);
    while ((e = bj_st_row(st, err)) > 0) {
        bj_buf_printf(out, "%s{", name);
        for (int i = 0; i < 7; i++) {
            bj_buf_str(out, i > 0 ? "," : "");
            running_put_label(out, labels[i], bj_st_text(st, labels[i]));
        }
        bj_buf_printf(out, "} %" PRId64 "\n", bj_st_i64(st, "since"));
    }
    bj_st_finalize(st);
    return e;
}

static int make_page(struct bj_running *r, struct bj_err *err)
{
    struct bj_running_thread *t = r->thread;
    struct bj_buf page = {0};
    put_counters(r, &page);
    int e = put_findings(r, &page, err);
    pthread_mutex_lock(&t->lock);
    struct bj_buf was = t->page;
    t->page = page;
    pthread_mutex_unlock(&t->lock);
    bj_buf_free(&was);
    return e;
}

void bj_running_page(struct bj_running *r, struct bj_buf *out)
{
    struct bj_running_thread *t = r->thread;
    pthread_mutex_lock(&t->lock);
    bj_buf_put(out, t->page.p ? t->page.p : "", t->page.len);
    pthread_mutex_unlock(&t->lock);
}

/* --- rounds ----------------------------------------------------------------
 */

int bj_running_round(struct bj_running *r, struct bj_err *err)
{
    int last = 0;
    for (size_t i = 0; i < r->clusters && !atomic_load(r->stop); i++) {
        struct bj_err why = {0};
        int e = run_round(r, &r->cluster[i], &why);
        if (e < 0)
            last = bj_err_copy(err, e, &why);
        if (e < 0 && r->thread->thread.runs && !atomic_load(r->stop))
            bj_log(BJ_LOG_ERROR, &why, "running.findings");
    }
    struct bj_err why = {0};
    int e = make_page(r, &why);
    return last == 0 && e < 0 ? bj_err_copy(err, e, &why) : last;
}

static void *running_serve(void *ctx)
{
    struct bj_running *r = ctx;
    bj_locals_use(r->thread->texts);
    bj_tz_use(r->thread->tz);
    struct pollfd fd = {.fd = r->thread->thread.wake_fd, .events = POLLIN};
    int wait = (int)(r->conf->running.interval_usec / 1000);
    do {
        struct bj_err err = {0};
        bj_running_round(r, &err);
    } while (poll(&fd, 1, wait) <= 0);
    return NULL;
}

/* --- start -----------------------------------------------------------------
 */

static int add_cluster(struct bj_running *r, const struct bj_cluster_conf *conf,
                       struct bj_err *err)
{
    struct bj_running_cluster *c = &r->cluster[r->clusters++];
    c->conf = conf;
    c->success_sec = (int64_t)(bj_clock_wall_usec() / SECOND);
    int e = bj_prom_matchers(&conf->prom.match, conf->name, &c->match, err);
    return e < 0 ? e : bj_prom_new(&conf->prom, r->stop, &c->prom, err);
}

static int running_start(struct bj_running *r, struct bj_store *store,
                         bool thread, struct bj_err *err)
{
    const struct bj_statsdb_conf *conf = r->conf;
    int e = bj_rules_load(conf->findings_file, &r->rules, err);
    if (e == 0)
        e = check_rules(conf, r->rules, err);
    for (size_t i = 0; e == 0 && i < conf->clusters; i++)
        if (has_prom(&conf->cluster[i]))
            e = add_cluster(r, &conf->cluster[i], err);
    if (e == 0)
        e = bj_store_open(&(struct bj_store_options){.shared_with = store},
                          &r->store, err);
    if (e == 0)
        e = bj_finding_rules_new(r->store, r->rules, &r->finding_rules, err);
    if (e == 0)
        e = running_act_start(r, err);
    if (e == 0)
        r->windows = bj_rules_windows(r->rules, r->window);
    return e == 0 && thread
               ? bj_thread_start(&r->thread->thread, "running jobs",
                                 running_serve, r, err)
               : e;
}

int bj_running_new(const struct bj_statsdb_conf *conf, struct bj_store *store,
                   const atomic_bool *stop, bool thread,
                   struct bj_running **ret, struct bj_err *err)
{
    *ret = NULL;
    if (!bj_running_is_on(conf))
        return 0;
    struct bj_running *r = calloc(1, sizeof(*r));
    struct bj_running_thread *t = calloc(1, sizeof(*t));
    struct bj_running_cluster *c = calloc(conf->clusters, sizeof(*c));
    if (!r || !t || !c) {
        free(r);
        free(t);
        free(c);
        return bj_err_set(err, -ENOMEM, "running jobs");
    }
    t->texts = bj_locals_used();
    t->tz = bj_tz_used();
    pthread_mutex_init(&t->lock, NULL);
    r->conf = conf;
    r->stop = stop;
    r->thread = t;
    r->cluster = c;
    int e = running_start(r, store, thread, err);
    if (e < 0) {
        bj_running_free(r);
        return e;
    }
    *ret = r;
    return 0;
}

void bj_running_free(struct bj_running *r)
{
    if (!r)
        return;
    struct bj_running_thread *t = r->thread;
    bj_thread_free(&t->thread);
    pthread_mutex_destroy(&t->lock);
    bj_buf_free(&t->page);
    bj_finding_rules_free(r->finding_rules);
    for (size_t i = 0; i < r->clusters; i++) {
        bj_prom_free(r->cluster[i].prom);
        bj_buf_free(&r->cluster[i].match);
    }
    bj_store_close(r->store);
    bj_rules_free(r->rules);
    free(r->cluster);
    free(t);
    free(r);
}

#include "base/command.h"
#include "base/local.h"
#include "base/log.h"
#include "statsdb/running/running_impl.h"
#include "store/db.h"

#include <stdio.h>
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

int bj_running_act_start(struct bj_running *r, struct bj_err *err)
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
static void put_next(const struct act *a, char ret[DETAIL_MAX])
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
    put_next(a, next);
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

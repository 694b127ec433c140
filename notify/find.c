/* What is wrong now, from the store and from Prometheus. */
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "notify/notify_impl.h"
#include "statsdb/running/running.h"
#include "statsdb/tables/fragment.h"
#include "store/db.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    FINDINGS_MAX = 20000, /* that one round reads */
    GRACE_SEC = 600,      /* for the first import after a start */
    QUERY_USEC = 20 * 1000000
};

static void find_set(struct bj_alerts *a, struct bj_alert *v,
                     enum bj_alert_field field, const char *text)
{
    bj_alert_set(a, v, field, bj_slice_str(text));
}

static int find_done(const struct bj_alerts *a, struct bj_err *err)
{
    return a->arena.failed ? bj_err_set(err, -ENOMEM, "alerts") : 0;
}

/* --- findings on running jobs ----------------------------------------------
 */

/* clang-format off */
static const char findings_sql[] =
    "SELECT c.name AS cluster, r.name AS rule, r.severity AS severity,"
    " CASE WHEN j.array_job_id IS NULL THEN CAST(j.jobid AS TEXT) ELSE"
    " CAST(j.array_job_id AS TEXT) END AS jobid, "
    BJ_SQL_NAME("user", "j.user") " AS owner, "
    BJ_SQL_NAME("account", "j.account") " AS account, "
    BJ_SQL_NAME("partition", "j.partition") " AS part,"
    " (SELECT text FROM jobname WHERE id = j.name) AS jobname,"
    " CASE WHEN j.nodes = 1 THEN (SELECT min(h.name) FROM hosts_host AS o JOIN"
    " host AS h ON h.id = o.host WHERE o.hosts = j.hosts) END AS node,"
    " c.name || ':' || j.jobid || ':' || j.submit AS page, "
    BJ_SQL_FINDING " AS sentence, " BJ_SQL_ADVICE " AS advice,"
    " nullif(r.url, '') AS url, n.since AS since FROM running_finding AS n JOIN"
    " job_finding AS f ON f.job = n.job JOIN finding_rule AS r ON r.id ="
    " f.rule AND r.name = n.rule JOIN job AS j ON j.id = n.job JOIN cluster AS"
    " c ON c.id = j.cluster WHERE j.\"end\" IS NULL"
    " ORDER BY 1, 2, 3, 4, n.since, j.id LIMIT ?1";
/* clang-format on */

/* Is it of the same array and rule as the last alert? */
static bool is_task_of(const struct bj_alert *v, struct bj_st *st)
{
    return bj_slice_eq(v->field[BJ_AF_JOBID], bj_st_text(st, "jobid")) &&
           bj_slice_eq(v->field[BJ_AF_RULE], bj_st_text(st, "rule")) &&
           bj_slice_eq(v->field[BJ_AF_SEVERITY], bj_st_text(st, "severity")) &&
           bj_slice_eq(v->field[BJ_AF_CLUSTER], bj_st_text(st, "cluster"));
}

static void find_count_tasks(struct bj_alerts *a, struct bj_alert *v,
                             uint64_t tasks)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRIu64, tasks);
    find_set(a, v, BJ_AF_TASKS, text);
    v->field[BJ_AF_NODE] = (struct bj_slice){0};
}

static void find_put(struct bj_alerts *a, struct bj_st *st)
{
    static const struct {
        enum bj_alert_field field;
        const char *column;
    } columns[] = {
        {BJ_AF_CLUSTER, "cluster"},   {BJ_AF_RULE, "rule"},
        {BJ_AF_SEVERITY, "severity"}, {BJ_AF_JOBID, "jobid"},
        {BJ_AF_USER, "owner"},        {BJ_AF_ACCOUNT, "account"},
        {BJ_AF_PARTITION, "part"},    {BJ_AF_JOBNAME, "jobname"},
        {BJ_AF_NODE, "node"},         {BJ_AF_TEXT, "sentence"},
        {BJ_AF_ADVICE, "advice"},     {BJ_AF_RUNBOOK, "url"},
        {BJ_AF_PAGE, "page"},
    };
    struct bj_alert *v = bj_alerts_add(a, BJ_ALERT_FINDING, "BatchjobFinding",
                                       bj_st_i64(st, "since"));
    for (size_t i = 0; v && i < sizeof(columns) / sizeof(columns[0]); i++)
        bj_alert_set(a, v, columns[i].field, bj_st_text(st, columns[i].column));
}

/* Tasks of an array with the same finding are one alert. */
static int find_findings(struct bj_store *s, struct bj_alerts *a,
                         struct bj_err *err)
{
    struct bj_st *st = NULL;
    uint64_t tasks = 0, all = 0;
    const size_t before = a->n;
    int r = bj_db_prepare(bj_store_db(s), findings_sql, &st, err);
    if (r < 0)
        return r;
    bj_st_bind_i64(st, 1, FINDINGS_MAX);
    while ((r = bj_st_row(st, err)) > 0 && !a->arena.failed) {
        all++;
        if (a->n > before && is_task_of(&a->v[a->n - 1], st)) {
            find_count_tasks(a, &a->v[a->n - 1], ++tasks);
        } else {
            find_put(a, st);
            tasks = 1;
        }
    }
    bj_st_finalize(st);
    if (all == FINDINGS_MAX)
        bj_log(BJ_LOG_WARN, NULL,
               "notify: more than %d findings on running jobs; the others "
               "are left out",
               FINDINGS_MAX);
    return r < 0 ? r : find_done(a, err);
}

/* --- nodes and GPUs --------------------------------------------------------
 */

struct find_reply {
    struct bj_alerts *a;
    const struct bj_notify_cluster *c;
    int64_t now_sec;
    size_t series;
};

static struct bj_slice find_label(const struct bj_json *metric,
                                  const char *name)
{
    return bj_json_text(bj_json_get(metric, name));
}

/* Is one of the words, joined by '+', a state in which the node can run no job?
 * Those that administrators plan (maint, powered_down, reboot) are no alert. */
static bool is_node_out(struct bj_slice words)
{
    static const char *const states[] = {"down",     "drain",   "fail",
                                         "not_resp", "no_resp", "error"};
    struct bj_slice word;
    while (bj_slice_field(&words, '+', &word))
        for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
            if (bj_slice_starts(word, bj_slice_str(states[i])))
                return true;
    return false;
}

static int on_node(void *ctx, const struct bj_json *metric,
                   const struct bj_json *value, struct bj_err *err)
{
    struct find_reply *q = ctx;
    int64_t n = 0;
    struct bj_slice node = find_label(metric, "node"),
                    state = find_label(metric, "state"),
                    flags = find_label(metric, "flags");
    if (node.n == 0 || bj_prom_value(value, 0, &n, NULL) < 0 || n <= 0)
        return 0;
    q->series++;
    if (!is_node_out(state) && !is_node_out(flags))
        return 0;
    char text[300];
    struct bj_alert *v =
        bj_alerts_add(q->a, BJ_ALERT_NODE, "BatchjobNodeOut", q->now_sec);
    if (!v)
        return find_done(q->a, err);
    snprintf(text, sizeof(text), "The node is out of service: %.*s%s%.*s",
             (int)state.n, state.p, flags.n > 0 ? "+" : "", (int)flags.n,
             flags.n > 0 ? flags.p : "");
    find_set(q->a, v, BJ_AF_CLUSTER, q->c->conf->name);
    find_set(q->a, v, BJ_AF_SEVERITY, "warning");
    bj_alert_set(q->a, v, BJ_AF_NODE, node);
    find_set(q->a, v, BJ_AF_TEXT, text);
    return find_done(q->a, err);
}

/* Add the reason to the alert of the node. */
static int on_reason(void *ctx, const struct bj_json *metric,
                     const struct bj_json *value, struct bj_err *err)
{
    struct find_reply *q = ctx;
    struct bj_slice node = find_label(metric, "node");
    (void)value;
    for (size_t i = 0; i < q->a->n; i++) {
        struct bj_alert *v = &q->a->v[i];
        if (v->kind == BJ_ALERT_NODE &&
            bj_slice_eq(v->field[BJ_AF_NODE], node) &&
            bj_slice_eq(v->field[BJ_AF_CLUSTER],
                        bj_slice_str(q->c->conf->name)))
            bj_alert_set(q->a, v, BJ_AF_ADVICE, find_label(metric, "reason"));
    }
    return find_done(q->a, err);
}

/* Values of batchjob_gpu_health: core/gpu/health.h. */
static const struct {
    const char *severity, *text; /* severity NULL: fit for any job */
} health[] = {
    {NULL, NULL},
    {NULL, NULL},
    {"warning", "The GPU works, but needs attention."},
    {"warning", "The GPU needs a reset after the present job."},
    {"critical", "The GPU is unfit: results of the present job may be wrong."},
    {"critical", "The GPU is of no use until it is reset."},
    {"critical", "The GPU does not answer: the node must be rebooted."},
};
enum { HEALTHS = sizeof(health) / sizeof(health[0]) };

static int on_gpu(void *ctx, const struct bj_json *metric,
                  const struct bj_json *value, struct bj_err *err)
{
    struct find_reply *q = ctx;
    int64_t state = 0;
    struct bj_slice node = find_label(metric, "instance");
    if (bj_prom_value(value, 0, &state, NULL) < 0 || state < 0)
        return 0;
    state = state < HEALTHS ? state : HEALTHS - 1;
    const char *port = node.n > 0 ? memrchr(node.p, ':', node.n) : NULL;
    node.n = port ? (size_t)(port - node.p) : node.n;
    struct bj_alert *v =
        bj_alerts_add(q->a, BJ_ALERT_GPU, "BatchjobGpuUnfit", q->now_sec);
    if (!v)
        return find_done(q->a, err);
    v->good = !health[state].severity;
    find_set(q->a, v, BJ_AF_CLUSTER, q->c->conf->name);
    find_set(q->a, v, BJ_AF_SEVERITY, health[state].severity);
    bj_alert_set(q->a, v, BJ_AF_NODE, node);
    bj_alert_set(q->a, v, BJ_AF_GPU, find_label(metric, "index"));
    find_set(q->a, v, BJ_AF_TEXT, health[state].text);
    return find_done(q->a, err);
}

static void put_match(const void *ctx, char x, struct bj_buf *out)
{
    const struct bj_notify_cluster *c = ctx;
    (void)x;
    bj_buf_put(out, c->match.p ? c->match.p : "", c->match.len);
}

static const struct {
    const char *promql;
    int (*series)(void *ctx, const struct bj_json *metric,
                  const struct bj_json *value, struct bj_err *err);
} queries[] = {
    {"max by (node, state, flags) (batchjob_cluster_node_nodes{$S})", on_node},
    {"max by (node, reason) (batchjob_cluster_reason_node_info{$S})",
     on_reason},
    {"max by (instance, index) (batchjob_gpu_health{$S})", on_gpu},
};

/* A server that does not answer leaves all that it would say unknown. */
static int find_nodes(struct bj_notify_cluster *c, int64_t now_sec,
                      struct bj_alerts *a, struct bj_notify_known *known,
                      struct bj_err *err)
{
    struct find_reply q = {a, c, now_sec, 0};
    struct bj_buf text = {0};
    struct bj_err why = {0};
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof(queries) / sizeof(queries[0]);
         i++) {
        const struct bj_prom_sink sink = {&q, queries[i].series};
        bj_buf_reset(&text);
        bj_prom_expand(&text, queries[i].promql, put_match, c);
        bj_buf_put(&text, "", 1);
        bj_prom_limit(c->prom, QUERY_USEC);
        r = text.failed ? bj_err_set(&why, -ENOMEM, "alerts")
                        : bj_prom_query(c->prom, text.p, now_sec, &sink, &why);
        if (i == 0)
            known->nodes = r == 0 && q.series > 0;
    }
    bj_buf_free(&text);
    if (r == -ENOMEM)
        return bj_err_copy(err, r, &why);
    if (r < 0 && !c->failed && r != -ECANCELED)
        bj_log(BJ_LOG_WARN, &why, "%s: notify: nodes and GPUs", c->conf->name);
    c->failed = r < 0;
    return 0;
}

/* --- late imports ----------------------------------------------------------
 */

static int find_time(struct bj_store *s, const char *sql, const char *cluster,
                     int64_t *ret, struct bj_err *err)
{
    struct bj_st *st = NULL;
    int r = bj_db_prepare(bj_store_db(s), sql, &st, err);
    if (r < 0)
        return r;
    bj_st_bind_text(st, 1, bj_slice_str(cluster));
    *ret = 0;
    r = bj_st_int(st, ret, err);
    bj_st_finalize(st);
    return r < 0 ? r : 0;
}

static void find_late(struct bj_alerts *a, const char *name,
                      const char *cluster, int64_t since_sec, const char *text)
{
    struct bj_alert *v = bj_alerts_add(a, BJ_ALERT_IMPORT, name, since_sec);
    if (!v)
        return;
    find_set(a, v, BJ_AF_CLUSTER, cluster);
    find_set(a, v, BJ_AF_SEVERITY, "warning");
    find_set(a, v, BJ_AF_TEXT, text);
}

/* Does the store know when jobs of the cluster were last imported?  Not of
 * files that are followed. */
static bool has_import_time(const struct bj_cluster_conf *c)
{
    return bj_cluster_has_windows(c) ||
           c->snapshot[BJ_SNAPSHOT_QSTAT].command ||
           c->snapshot[BJ_SNAPSHOT_BJOBS].command;
}

static int find_imports(struct bj_store *s, const struct bj_statsdb_conf *conf,
                        const struct bj_notify_cluster *c, int64_t start_sec,
                        int64_t now_sec, struct bj_alerts *a,
                        struct bj_notify_known *known, struct bj_err *err)
{
    const int64_t late = (int64_t)(conf->notify.import_late_usec / 1000000);
    const int64_t old = (int64_t)((2 * conf->running.interval_usec +
                                   conf->running.max_age_usec) /
                                  1000000);
    int64_t imported = 0, evaluated = 0;
    int r = find_time(s,
                      "SELECT coalesce(max(to_sec), 0) FROM covered WHERE"
                      " cluster = ?1 AND source IN ('sacct', 'slurmrestd',"
                      " 'mariadb', 'qstat', 'bjobs')",
                      c->conf->name, &imported, err);
    if (r == 0)
        r = find_time(s,
                      "SELECT coalesce(max(at), 0) FROM running_state WHERE"
                      " cluster = ?1",
                      c->conf->name, &evaluated, err);
    if (r < 0)
        return r;
    known->findings = now_sec - evaluated <= old;
    /* A program that has just started may not have imported yet. */
    const bool begun =
        now_sec - start_sec > (late < GRACE_SEC ? late : GRACE_SEC);
    imported = imported > 0 ? imported : start_sec;
    evaluated = evaluated > 0 ? evaluated : start_sec;
    if (begun && imported > 0 && has_import_time(c->conf) &&
        now_sec - imported > late)
        find_late(a, "BatchjobImportLate", c->conf->name, imported,
                  "Accounting is late: no import has succeeded since then.");
    if (begun && evaluated > 0 && c->prom && bj_running_is_on(conf) &&
        now_sec - evaluated > late)
        find_late(a, "BatchjobJobsNotEvaluated", c->conf->name, evaluated,
                  "Running jobs have not been evaluated since then: their "
                  "findings are not known.");
    return find_done(a, err);
}

int bj_notify_find(struct bj_store *s, const struct bj_statsdb_conf *conf,
                   struct bj_notify_cluster *cluster, int64_t start_sec,
                   int64_t now_sec, struct bj_alerts *ret,
                   struct bj_notify_known *known, struct bj_err *err)
{
    int r = find_findings(s, ret, err);
    for (size_t i = 0; r == 0 && i < conf->clusters; i++) {
        known[i] = (struct bj_notify_known){.cluster = cluster[i].conf->name};
        r = find_imports(s, conf, &cluster[i], start_sec, now_sec, ret,
                         &known[i], err);
        if (r == 0 && cluster[i].prom)
            r = find_nodes(&cluster[i], now_sec, ret, &known[i], err);
    }
    return r;
}

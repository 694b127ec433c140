#include "apiserver/pages/nodes.h"

#include "apiserver/frame/query.h"
#include "apiserver/frame/state.h"
#include "base/amount.h"
#include "base/array.h"
#include "base/html.h"
#include "base/local.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WEEK = 7 * 86400,
    RECORDS = 200000, /* maximum number of final records that are read */
    LEAST_NODES = 3,  /* of a job whose nodes are compared */
    LEAST_SEC = 300,
    SLOW_PERCENT = 70
};

static bool nodes_known(double v)
{
    return v - v == 0;
}

void bj_nodes_free(void *nodes)
{
    struct bj_nodes *n = nodes;
    bj_arena_free(&n->names);
    bj_buf_free(&n->jobs);
    free(n->v);
    free(n->reason);
    free(n);
}

static int nodes_compare(struct bj_slice a, struct bj_slice b)
{
    const size_t n = a.n < b.n ? a.n : b.n;
    const int r = n > 0 ? memcmp(a.p, b.p, n) : 0;
    return r ? r : (a.n > b.n) - (a.n < b.n);
}

/* Find or add a node; NULL: no memory. */
static struct bj_node *nodes_get(struct bj_nodes *n, struct bj_slice name)
{
    size_t low = 0, high = n->n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const int r = nodes_compare(n->v[middle].name, name);
        if (r == 0)
            return &n->v[middle];
        if (r < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const struct bj_slice copy = bj_arena_copy(&n->names, name);
    if (n->names.failed || !BJ_GROW(n->v, n->n + 1, n->room))
        return NULL;
    memmove(&n->v[low + 1], &n->v[low], (n->n++ - low) * sizeof(*n->v));
    n->v[low] = (struct bj_node){.name = copy, .speed = __builtin_nan("")};
    for (int i = 0; i < BJ_NODE_VALUES; i++)
        n->v[low].value[i] = __builtin_nan("");
    return &n->v[low];
}

/* --- the last week, from jobs ----------------------------------------------
 */

/* States of jobs that failed: failed, node_fail, boot_fail.  Of a job on
 * several nodes it is not known which one failed. */
#define FAILED "j.state IN (5, 9, 13)"
#define NODE_FAILED "j.state IN (9, 13) AND j.nodes = 1"
#define COUNT(condition) "sum(CASE WHEN " condition " THEN 1 ELSE 0 END)"

static int nodes_read_jobs(struct bj_call *c, const struct bj_params *p,
                           struct bj_slice node, struct bj_nodes *n)
{
    const int64_t from = c->now_sec - WEEK;
    const struct bj_filter_time time = {
        from - (int64_t)(c->worker->conf->longest_usec / 1000000), c->now_sec,
        from};
    struct bj_query q = {.time = &time};
    struct bj_st *st = NULL;
    bj_query_sql(&q, "WITH per AS (SELECT j.hosts AS hosts, j.user AS user,"
                     " count(*) AS n, " COUNT(FAILED) " AS f, " COUNT(
                         NODE_FAILED) " AS nf FROM job AS j WHERE j.\"end\" >="
                                      " ");
    bj_query_int(&q, from);
    int r = bj_query_scope(&q, c, p, "j");
    if (r == 0)
        r = bj_query_between(&q, c, "j.at", &time);
    bj_query_sql(
        &q, " GROUP BY j.hosts, j.user) SELECT (SELECT name FROM host WHERE id"
            " = o.host) AS name, sum(n) AS jobs, sum(f) AS failed, sum(nf) AS"
            " node_failed, count(DISTINCT CASE WHEN f > 0 THEN per.user END)"
            " AS users_failed FROM per CROSS JOIN hosts_host AS o WHERE"
            " o.hosts = per.hosts");
    if (node.n > 0) {
        bj_query_sql(&q, " AND o.host = (SELECT id FROM host WHERE name = ");
        bj_query_text(&q, node);
        bj_query_sql(&q, ")");
    }
    bj_query_sql(&q, " GROUP BY o.host ORDER BY name");
    if (r == 0)
        r = bj_query_open(&q, c->reader, &st, &c->err);
    while (r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        struct bj_node *v = nodes_get(n, bj_st_text(st, "name"));
        r = v ? 0 : bj_err_set(&c->err, -ENOMEM, "nodes");
        if (!v)
            break;
        v->jobs = bj_st_i64(st, "jobs");
        v->failed = bj_st_i64(st, "failed");
        v->node_failed = bj_st_i64(st, "node_failed");
        v->users_failed = bj_st_i64(st, "users_failed");
    }
    bj_query_free(&q);
    return r;
}

/* --- slow nodes, from final records ----------------------------------------
 */

/* The record of a node of a job. */
struct on_node {
    int64_t host, user;
    double rate; /* CPU time by CPU and second */
};

/* A slow node of jobs. */
struct slow {
    int64_t host, compared, slow;
    uint64_t users; /* a bit for each, as a hash */
    double speed;
};

struct slow_nodes {
    struct on_node *record; /* of one job */
    size_t records, record_room;
    struct slow *v;
    size_t n, room;
};

static int nodes_by_rate(const void *a, const void *b)
{
    const struct on_node *x = a, *y = b;
    return (x->rate > y->rate) - (x->rate < y->rate);
}

static struct slow *nodes_slow_get(struct slow_nodes *w, int64_t host)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->v[i].host == host)
            return &w->v[i];
    if (!BJ_GROW(w->v, w->n + 1, w->room))
        return NULL;
    w->v[w->n] = (struct slow){.host = host, .speed = 100};
    return &w->v[w->n++];
}

/* Compare the nodes of a job: a node is slow if its CPUs were busy for less
 * than 70 % of the median of all, which used them for half of the time.
 * -ENOMEM. */
static int nodes_judge(struct slow_nodes *w)
{
    const size_t n = w->records;
    w->records = 0;
    if (n < LEAST_NODES)
        return 0;
    qsort(w->record, n, sizeof(*w->record), nodes_by_rate);
    const double median = w->record[n / 2].rate;
    for (size_t i = 0; median >= 0.5 && i < n; i++) {
        const double speed = 100 * w->record[i].rate / median;
        struct slow *v = nodes_slow_get(w, w->record[i].host);
        if (!v)
            return -ENOMEM;
        v->compared++;
        if (speed >= SLOW_PERCENT)
            continue;
        v->slow++;
        v->users |= UINT64_C(1) << ((uint64_t)w->record[i].user % 64);
        v->speed = speed < v->speed ? speed : v->speed;
    }
    return 0;
}

static void nodes_slow_query(struct bj_query *q, int64_t from)
{
    bj_query_sql(q, "SELECT j.id AS job, r.host AS host, j.user AS user,"
                    " r.cpu_usec AS cpu_usec, r.cpus AS cpus, r.\"end\" -"
                    " r.start AS sec FROM job AS j CROSS JOIN node_record"
                    " AS r WHERE r.cluster = j.cluster AND r.jobid = j.jobid"
                    " AND r.\"end\" BETWEEN j.\"end\" - 3600 AND j.\"end\" +"
                    " 3600 AND r.start > 0 AND r.cpu_usec IS NOT NULL AND"
                    " r.cpus > 0 AND j.nodes >= ");
    bj_query_int(q, LEAST_NODES);
    bj_query_sql(q, " AND j.\"end\" - j.start >= ");
    bj_query_int(q, LEAST_SEC);
    bj_query_sql(q, " AND j.\"end\" >= ");
    bj_query_int(q, from);
}

static int nodes_slow_rows(struct bj_call *c, struct bj_st *st,
                           struct slow_nodes *w)
{
    int64_t job = BJ_SQL_NULL;
    int r;
    while ((r = bj_st_row(st, &c->err)) > 0) {
        const int64_t sec = bj_st_i64(st, "sec"), now = bj_st_i64(st, "job");
        r = 0;
        if (now != job)
            r = nodes_judge(w);
        job = now;
        if (r == 0 && !BJ_GROW(w->record, w->records + 1, w->record_room))
            r = -ENOMEM;
        if (r != 0)
            return bj_err_set(&c->err, r, "nodes");
        if (sec > 0)
            w->record[w->records++] =
                (struct on_node){bj_st_i64(st, "host"), bj_st_i64(st, "user"),
                                 bj_st_f64(st, "cpu_usec") / 1e6 /
                                     bj_st_f64(st, "cpus") / (double)sec};
    }
    return r == 0 && nodes_judge(w) < 0 ? bj_err_set(&c->err, -ENOMEM, "nodes")
                                        : r;
}

/* Add what was found to the nodes of these names. */
static int nodes_slow_names(struct bj_call *c, struct slow_nodes *w,
                            struct bj_slice only, struct bj_nodes *n)
{
    struct bj_st *st = NULL;
    int r = 0;
    for (size_t i = 0; i < w->n && r == 0; i++) {
        const struct slow *s = &w->v[i];
        r = bj_reader_prepare(c->reader, "SELECT name FROM host WHERE id = ?1",
                              &st, &c->err);
        if (r != 0)
            break;
        bj_st_bind_i64(st, 1, s->host);
        r = bj_st_row(st, &c->err);
        if (r <= 0)
            break;
        const struct bj_slice name = bj_st_get_text(st, 0);
        r = 0;
        if (only.n > 0 && !bj_slice_eq(only, name))
            continue;
        struct bj_node *v = nodes_get(n, name);
        if (!v)
            return bj_err_set(&c->err, -ENOMEM, "nodes");
        v->compared = s->compared;
        v->slow = s->slow;
        v->users_slow = __builtin_popcountll(s->users);
        v->speed = s->slow > 0 ? s->speed : __builtin_nan("");
    }
    return r;
}

static int nodes_read_slow(struct bj_call *c, const struct bj_params *p,
                           struct bj_slice node, struct bj_nodes *n)
{
    const int64_t from = c->now_sec - WEEK;
    const struct bj_filter_time time = {
        from - (int64_t)(c->worker->conf->longest_usec / 1000000), c->now_sec,
        from};
    struct bj_query q = {.time = &time};
    struct slow_nodes w = {.n = 0};
    struct bj_st *st = NULL;
    nodes_slow_query(&q, from);
    int r = bj_query_scope(&q, c, p, "j");
    if (r == 0)
        r = bj_query_between(&q, c, "j.at", &time);
    bj_query_sql(&q, " ORDER BY j.at, j.id LIMIT ");
    bj_query_int(&q, RECORDS);
    if (r == 0)
        r = bj_query_open(&q, c->reader, &st, &c->err);
    if (r == 0)
        r = nodes_slow_rows(c, st, &w);
    bj_query_free(&q);
    if (r == 0)
        r = nodes_slow_names(c, &w, node, n);
    free(w.record);
    free(w.v);
    return r;
}

int bj_nodes_week(struct bj_call *c, const struct bj_params *p,
                  struct bj_slice node, struct bj_nodes *ret)
{
    int r = nodes_read_jobs(c, p, node, ret);
    return r == 0 ? nodes_read_slow(c, p, node, ret) : r;
}

/* --- now, from Prometheus --------------------------------------------------
 */

/* Series of the scheduler have the label node, those of exporters instance. */
static const struct {
    const char *part, *promql;
    enum bj_node_value value;
    bool first; /* of two parts with the same value, this one counts */
} nodes_parts[] = {
    {"cpus",
     "sum by(node)(max without(instance,job)("
     "batchjob_cluster_node_cpus$N))",
     BJ_NODE_CPUS, true},
    {"online", "max by(instance)(batchjob_node_cpus$I)", BJ_NODE_CPUS, false},
    {"held",
     "sum by(node)(max without(instance,job)("
     "batchjob_cluster_node_cpus_allocated$N))",
     BJ_NODE_HELD, true},
    {"busy", "sum by(instance)(rate(batchjob_job_cpu_seconds_total$I[5m]))",
     BJ_NODE_BUSY, true},
    {"memory",
     "max by(instance)(100-100*batchjob_node_memory_available_bytes$I"
     "/batchjob_node_memory_total_bytes$I)",
     BJ_NODE_MEMORY, true},
    {"watts", "max by(instance)(batchjob_node_power_watts$I)", BJ_NODE_WATTS,
     true},
    {"gpus",
     "sum by(node)(max without(instance,job)("
     "batchjob_cluster_node_gpus$N))",
     BJ_NODE_GPUS, true},
    {"gpus_here", "count by(instance)(batchjob_gpu_busy_ratio$I)", BJ_NODE_GPUS,
     false},
    {"gpus_held",
     "sum by(node)(max without(instance,job)("
     "batchjob_cluster_node_gpus_allocated$N))",
     BJ_NODE_GPUS_HELD, true},
    {"gpus_busy", "sum by(instance)(batchjob_gpu_busy_ratio$I)",
     BJ_NODE_GPUS_BUSY, true},
    {"xid", "sum by(instance)(increase(batchjob_gpu_xid_errors_total$I[7d]))",
     BJ_NODE_XID, true},
    {"gpu_health", "max by(instance)(batchjob_gpu_health$I)", BJ_NODE_HEALTH,
     true},
    {"up", "max by(instance)(up$I)", BJ_NODE_UP, true},
    {"uptime", "max by(instance)(time()-batchjob_node_boot_time_seconds$I)",
     BJ_NODE_UPTIME, true},
};
enum { PARTS = sizeof(nodes_parts) / sizeof(nodes_parts[0]) };

static const char state_part[] = "state", reason_part[] = "reason",
                  first_part[] = "first", last_part[] = "last";

/* When a reason was seen first and last in the last 30 days, looked at each ten
 * minutes; the same for all points, so it is computed once.  The names of users
 * contain no "|". */
#define HISTORY(function)                                                      \
    "label_join(" function " by(node,set_by,reason)(" function "_over_time("   \
    "timestamp(batchjob_cluster_reason_node_info$N)[30d:10m]@end())),"         \
    "\"state\",\"|\",\"set_by\",\"reason\")"

void bj_nodes_query(struct bj_grid *g, bool is_admin)
{
    g->labels[0] = "node";
    g->labels[1] = "instance";
    g->labels[2] = "state";
    bj_grid_add(g, state_part,
                "label_join(max by(node,state,flags)("
                "batchjob_cluster_node_nodes$N),\"state\",\"+\",\"state\","
                "\"flags\")");
    for (size_t i = 0; i < PARTS; i++)
        bj_grid_add(g, nodes_parts[i].part, nodes_parts[i].promql);
    if (is_admin)
        bj_grid_add(g, reason_part,
                    "label_join(max by(node,reason)("
                    "batchjob_cluster_reason_node_info$N),\"state\",\"\","
                    "\"reason\")");
}

void bj_nodes_query_history(struct bj_grid *g)
{
    bj_grid_add(g, first_part, HISTORY("min"));
    bj_grid_add(g, last_part, HISTORY("max"));
}

struct bj_slice bj_node_host_of(struct bj_slice instance)
{
    for (size_t n = instance.n; n > 1; n--)
        if (instance.p[n - 1] == ':')
            return (struct bj_slice){instance.p, n - 1};
    return instance;
}

bool bj_nodes_is_state(const struct bj_grid_row *row)
{
    return row->part == state_part;
}

bool bj_nodes_is_reason(const struct bj_grid_row *row)
{
    return row->part == reason_part;
}

/* Points since a series had a value; an age of nothing is the most. */
static unsigned nodes_age(const struct bj_grid *g,
                          const struct bj_grid_row *row)
{
    unsigned age = 0;
    while (age < g->points && !nodes_known(row->value[g->points - 1 - age]))
        age++;
    return age;
}

/* A node that changed has series of its former and its present state. */
static void nodes_take_text(struct bj_nodes *n, const struct bj_grid *g,
                            const struct bj_grid_row *row, struct bj_node *v)
{
    const bool is_state = bj_nodes_is_state(row);
    struct bj_slice *to = is_state ? &v->state : &v->reason;
    unsigned *since = is_state ? &v->state_age : &v->reason_age;
    const unsigned age = nodes_age(g, row);
    struct bj_slice text = row->label[2];
    if (to->n > 0 && age >= *since)
        return;
    text.n -= is_state && text.n > 0 && text.p[text.n - 1] == '+';
    *to = bj_arena_copy(&n->names, text);
    *since = age;
}

/* Those that there are still first, then the newest. */
static int nodes_by_time(const void *a, const void *b)
{
    const struct bj_node_reason *x = a, *y = b;
    return x->to != y->to       ? (x->to < y->to ? 1 : -1)
           : x->from != y->from ? (x->from < y->from ? 1 : -1)
                                : (x > y) - (x < y);
}

/* Add the time when a reason was seen last, from the row of the first. */
static int nodes_take_reason(struct bj_nodes *n, const struct bj_grid *g,
                             const struct bj_grid_row *row, double first)
{
    const double last = bj_grid_now(g, bj_grid_find(g, last_part, row->label));
    struct bj_slice text = row->label[2], by;
    if (!nodes_known(last))
        return 0;
    if (!BJ_GROW(n->reason, n->reasons + 1, n->reason_room))
        return -ENOMEM;
    bj_slice_field(&text, '|', &by);
    n->reason[n->reasons++] =
        (struct bj_node_reason){.node = bj_arena_copy(&n->names, row->label[0]),
                                .by = bj_arena_copy(&n->names, by),
                                .text = bj_arena_copy(&n->names, text),
                                .from = (int64_t)first,
                                .to = (int64_t)last};
    return 0;
}

int bj_nodes_take(struct bj_nodes *n, const struct bj_grid *g)
{
    for (size_t i = 0; i < g->rows; i++) {
        const struct bj_grid_row *row = &g->row[i];
        const double now = bj_grid_now(g, row);
        const struct bj_slice name =
            row->label[0].n ? row->label[0] : bj_node_host_of(row->label[1]);
        if (!nodes_known(now) || name.n == 0 || row->part == last_part)
            continue;
        if (row->part == first_part) {
            if (nodes_take_reason(n, g, row, now) < 0)
                return -ENOMEM;
            continue;
        }
        struct bj_node *v = nodes_get(n, name);
        if (!v)
            return -ENOMEM;
        if (bj_nodes_is_state(row) || bj_nodes_is_reason(row)) {
            nodes_take_text(n, g, row, v);
            continue;
        }
        for (size_t k = 0; k < PARTS; k++)
            if (row->part == nodes_parts[k].part &&
                (nodes_parts[k].first ||
                 !nodes_known(v->value[nodes_parts[k].value])))
                v->value[nodes_parts[k].value] = now;
    }
    for (size_t i = 0; i < n->n; i++)
        if (n->v[i].reason_age > n->v[i].state_age)
            n->v[i].reason = (struct bj_slice){NULL, 0};
    if (n->reasons > 1)
        qsort(n->reason, n->reasons, sizeof(*n->reason), nodes_by_time);
    return n->names.failed ? -ENOMEM : 0;
}

static bool nodes_has(struct bj_slice s, const char *text)
{
    return s.n > 0 && memmem(s.p, s.n, text, strlen(text)) != NULL;
}

enum bj_node_service bj_node_service_of(const struct bj_node *n)
{
    static const char *const out[] = {"down",     "drain",   "fail",
                                      "not_resp", "no_resp", "error",
                                      "maint",    "power",   "reboot"};
    for (size_t i = 0; i < sizeof(out) / sizeof(out[0]); i++)
        if (nodes_has(n->state, out[i]))
            return BJ_NODE_OUT;
    const double cpus = n->value[BJ_NODE_CPUS], held = n->value[BJ_NODE_HELD];
    if (nodes_known(cpus) && nodes_known(held))
        return held <= 0     ? BJ_NODE_FREE
               : held < cpus ? BJ_NODE_PARTLY
                             : BJ_NODE_FULL;
    return nodes_has(n->state, "idle")    ? BJ_NODE_FREE
           : nodes_has(n->state, "mixed") ? BJ_NODE_PARTLY
           : nodes_has(n->state, "alloc") ? BJ_NODE_FULL
                                          : BJ_NODE_UNKNOWN;
}

const char *bj_node_gpu_health(const struct bj_node *n)
{
    static const char *const words[] = {
        "All GPUs are fit",
        "All GPUs are fit",
        "A GPU needs attention",
        "A GPU needs a reset after the present job",
        "Results of jobs on a GPU may be wrong",
        "A GPU needs a reset",
        "A GPU is lost: reboot the node"};
    const double v = n->value[BJ_NODE_HEALTH];
    return v >= 0 && v < sizeof(words) / sizeof(words[0]) ? words[(size_t)v]
                                                          : NULL;
}

/* --- trouble ---------------------------------------------------------------
 */

/* Did clearly more jobs fail here than on the other nodes, of several users? */
static bool nodes_fail_here(const struct bj_nodes *all, const struct bj_node *n)
{
    int64_t jobs = -n->jobs, failed = -n->failed;
    for (size_t i = 0; i < all->n; i++) {
        jobs += all->v[i].jobs;
        failed += all->v[i].failed;
    }
    const double here = (double)n->failed / (double)(n->jobs ? n->jobs : 1);
    const double elsewhere = jobs > 0 ? (double)failed / (double)jobs : 1;
    return n->failed >= 3 && n->users_failed >= 2 && here >= 0.25 &&
           here >= 3 * elsewhere;
}

struct bj_node_trouble bj_node_trouble_of(const struct bj_nodes *all,
                                          const struct bj_node *n)
{
    if (n->slow >= 2 && n->users_slow >= 2 && 2 * n->slow >= n->compared)
        return (struct bj_node_trouble){BJ_LOOK_BAD, "Slow", 0};
    if (bj_node_service_of(n) == BJ_NODE_OUT)
        return (struct bj_node_trouble){BJ_LOOK_BAD, "Out of service", 1};
    if (n->node_failed > 0)
        return (struct bj_node_trouble){BJ_LOOK_BAD, "Node failed", 2};
    if (n->value[BJ_NODE_HEALTH] >= 3 && bj_node_gpu_health(n))
        return (struct bj_node_trouble){BJ_LOOK_BAD, "GPU unfit", 3};
    if (n->value[BJ_NODE_XID] >= 1)
        return (struct bj_node_trouble){BJ_LOOK_WARN, "GPU errors", 4};
    if (nodes_fail_here(all, n))
        return (struct bj_node_trouble){BJ_LOOK_WARN, "Jobs fail here", 5};
    if (n->value[BJ_NODE_UP] == 0)
        return (struct bj_node_trouble){BJ_LOOK_NOTE, "Not measured", 6};
    return (struct bj_node_trouble){BJ_LOOK_NONE, NULL, 0};
}

void bj_node_put_trouble(struct bj_buf *b, const struct bj_node *n,
                         const struct bj_node_trouble *t)
{
    char x[BJ_AMOUNT_COUNT], y[BJ_AMOUNT_COUNT], z[BJ_AMOUNT_COUNT];
    const char *what = t->what ? t->what : "";
    if (strcmp(what, "Slow") == 0) {
        bj_local_html(b,
                      "{%s of %s jobs on several nodes: CPUs were less "
                      "busy here than on their other nodes, at least "
                      "once only} ",
                      bj_amount_count(x, n->slow),
                      bj_amount_count(y, n->compared));
        bj_amount(b, BJ_AMOUNT_PERCENT, n->speed);
    } else if (strcmp(what, "Out of service") == 0) {
        bj_html_text(b, n->state);
        bj_node_put_reason(b, n);
    } else if (strcmp(what, "Node failed") == 0) {
        bj_local_html(
            b,
            n->node_failed == 1
                ? "{%s job on this node alone ended because it failed}"
                : "{%s jobs on this node alone ended because it failed}",
            bj_amount_count(x, n->node_failed));
    } else if (strcmp(what, "GPU unfit") == 0) {
        bj_buf_str(b, bj_local_escaped(bj_node_gpu_health(n)));
    } else if (strcmp(what, "GPU errors") == 0) {
        bj_local_html(
            b, "{%s Xid errors of its GPUs in 7 days}",
            bj_amount_count(x, (int64_t)ceil(n->value[BJ_NODE_XID] - 1e-6)));
    } else if (strcmp(what, "Jobs fail here") == 0) {
        bj_local_html(b,
                      "{%s of %s jobs failed, of %s users; elsewhere far "
                      "fewer}",
                      bj_amount_count(x, n->failed),
                      bj_amount_count(y, n->jobs),
                      bj_amount_count(z, n->users_failed));
    } else if (strcmp(what, "Not measured") == 0) {
        bj_local_html(b, "{its exporter does not answer Prometheus}");
    }
}

void bj_node_put_reason(struct bj_buf *b, const struct bj_node *n)
{
    if (n->reason.n == 0)
        return;
    bj_buf_str(b, ": <bdi>");
    bj_html_text(b, n->reason);
    bj_buf_str(b, "</bdi>");
}

void bj_node_put_of(struct bj_buf *b, double part, double all)
{
    if (!nodes_known(part) && !nodes_known(all)) {
        bj_buf_str(b, "&ndash;");
        return;
    }
    if (nodes_known(part))
        bj_amount(b, BJ_AMOUNT_PLAIN, part < 0 ? 0 : part);
    else
        bj_buf_str(b, "&ndash;");
    bj_local_html(b, " {of} ");
    if (nodes_known(all))
        bj_amount(b, BJ_AMOUNT_PLAIN, all);
    else
        bj_buf_str(b, "&ndash;");
}

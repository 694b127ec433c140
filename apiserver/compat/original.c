/* The API of the original stats server: /api/health, /api/accounts, /api/jobs.
 *
 * With original.strict it repeats the mistakes of the original: every response
 * has status 200, empty lists are null, a request without an account returns no
 * jobs, and times are local, without a zone, and compared as text.  The access
 * rules apply in any case. */
#include "apiserver/compat/original.h"

#include "apiserver/frame/params.h"
#include "apiserver/frame/query.h"
#include "apiserver/frame/state.h"
#include "base/jobuuid.h"
#include "sched/hostlist.h"
#include "statsdb/tables/fragment.h"

#include <stdlib.h>

enum { HOSTS_MAX = 4096 };

void bj_original_uuid(struct bj_slice jobid, struct bj_slice uid,
                      struct bj_slice account, struct bj_slice nodelist,
                      struct bj_buf *to)
{
    char text[BJ_JOB_UUID_BYTES];
    bj_job_uuid(jobid, uid, account, nodelist, text);
    bj_buf_str(to, text);
}

void bj_original_hosts(struct bj_slice nodelist, struct bj_buf *to)
{
    struct bj_hostlist l;
    struct bj_slice name;
    if (bj_hostlist_begin(&l, nodelist, BJ_HOSTS_SLURM) < 0)
        return;
    for (unsigned n = 0; n < HOSTS_MAX && bj_hostlist_next(&l, &name); n++) {
        bj_buf_str(to, n ? "|" : "");
        for (size_t i = 0; i < name.n; i++) {
            if (name.p[i] && strchr("\\.+*?()|[]{}^$", name.p[i]))
                bj_buf_str(to, "\\");
            bj_buf_put(to, &name.p[i], 1);
        }
    }
}

void bj_original_elapsed(uint64_t sec, struct bj_buf *to)
{
    if (sec >= 86400)
        bj_buf_printf(to, "%llu-", (unsigned long long)(sec / 86400));
    bj_buf_printf(to, "%02u:%02u:%02u", (unsigned)(sec / 3600 % 24),
                  (unsigned)(sec / 60 % 60), (unsigned)(sec % 60));
}

enum { WINDOW = 168 * 3600, ACCOUNTS = 100, TEXTS = 17 };

struct job_list {
    struct bj_call *c;
    bool strict;
    struct bj_params p; /* accounts only */
    struct bj_slice from, to;
    int64_t from_sec, to_sec;
};

static void open_envelope(struct bj_call *c, const char *warnings)
{
    c->reply->type = "application/json";
    bj_buf_printf(&c->reply->body,
                  "{\"status\":\"success\",\"errorType\":\"\",\"error\":\"\","
                  "\"warnings\":%s,\"data\":",
                  warnings);
}

static int original_refuse(struct bj_call *c, const char *type,
                           const char *text)
{
    c->reply->status = 200;
    c->reply->type = "application/json";
    bj_buf_reset(&c->reply->body);
    bj_buf_printf(&c->reply->body,
                  "{\"status\":\"error\",\"errorType\":\"%s\",\"error\":\"%s\","
                  "\"warnings\":null,\"data\":[]}\n",
                  type, text);
    return 200;
}

/* With original.strict, a request without a user gets a special document. */
static void refused(struct bj_call *c)
{
    if (c->worker->conf->original_strict && !c->identity.user[0])
        original_refuse(c, "User Error", "No user identified");
}

static int on_arg(void *ctx, struct bj_slice key, struct bj_slice value)
{
    struct job_list *a = ctx;
    struct bj_slice item;
    if (bj_slice_eq(key, BJ_SLICE("from")))
        a->from = value;
    else if (bj_slice_eq(key, BJ_SLICE("to")))
        a->to = value;
    if (!bj_slice_eq(key, BJ_SLICE("account")) &&
        !bj_slice_eq(key, BJ_SLICE("var-account")))
        return 0;
    if (a->strict && a->p.values < ACCOUNTS) {
        a->p.value[a->p.values].which = BJ_PARAM_ACCOUNT;
        a->p.value[a->p.values++].text = value;
    }
    while (!a->strict && a->p.values < ACCOUNTS &&
           bj_slice_field(&value, ',', &item)) {
        a->p.value[a->p.values].which = BJ_PARAM_ACCOUNT;
        a->p.value[a->p.values++].text = item;
    }
    return 0;
}

/* "account=*" and an empty one mean all accounts, except in the original. */
static void settle_accounts(struct job_list *a)
{
    a->p.given[BJ_PARAM_ACCOUNT] = a->strict || a->p.values > 0;
    for (unsigned i = 0; !a->strict && i < a->p.values; i++) {
        struct bj_slice s = a->p.value[i].text;
        if (s.n == 0 || bj_slice_eq(s, BJ_SLICE("*")) ||
            bj_slice_eq(s, BJ_SLICE("$__all")))
            a->p.given[BJ_PARAM_ACCOUNT] = false;
    }
}

static int read_times(struct job_list *a)
{
    struct bj_call *c = a->c;
    a->to_sec = c->now_sec;
    if (!a->strict && a->to.n > 0 &&
        bj_param_time(a->to, c->now_sec, true, &a->to_sec) < 0)
        return bj_call_refuse(c, 400, "The parameter to must be a time.");
    a->from_sec = a->to_sec - WINDOW;
    if (!a->strict && a->from.n > 0 &&
        bj_param_time(a->from, c->now_sec, false, &a->from_sec) < 0)
        return bj_call_refuse(c, 400, "The parameter from must be a time.");
    return 0;
}

/* The values of a row, in the order of its columns; UUID and the list of nodes
 * are made from them. */
enum {
    ORIGINAL_ID,
    ORIGINAL_PARTITION,
    ORIGINAL_ACCOUNT,
    ORIGINAL_GROUP,
    ORIGINAL_GID,
    ORIGINAL_USER,
    ORIGINAL_UID,
    ORIGINAL_SUBMIT,
    ORIGINAL_START,
    ORIGINAL_END,
    ORIGINAL_ELAPSED,
    ORIGINAL_EXIT,
    ORIGINAL_STATE,
    ORIGINAL_NODES,
    ORIGINAL_HOSTS,
    COLUMNS
};

static const struct {
    const char *sql;
    bool time; /* "Unknown" if it is not known */
} columns[COLUMNS] = {
    [ORIGINAL_ID] = {"j.display_id", false},
    [ORIGINAL_PARTITION] = {"(SELECT name FROM partition WHERE id ="
                            " j.partition)",
                            false},
    [ORIGINAL_ACCOUNT] = {"(SELECT name FROM account WHERE id = j.account)",
                          false},
    [ORIGINAL_GROUP] = {"o.grp", false},
    [ORIGINAL_GID] = {"o.gid", false},
    [ORIGINAL_USER] = {"(SELECT name FROM user WHERE id = j.user)", false},
    [ORIGINAL_UID] = {"o.uid", false},
    [ORIGINAL_SUBMIT] = {"nullif(" BJ_SQL_SUBMIT ", 0)", true},
    [ORIGINAL_START] = {"j.start", true},
    [ORIGINAL_END] = {"j.\"end\"", true},
    [ORIGINAL_ELAPSED] = {"j.elapsed", false},
    [ORIGINAL_EXIT] = {"j.exit_code || ':' || coalesce(j.exit_signal, 0)",
                       false},
    [ORIGINAL_STATE] = {"(SELECT text FROM word WHERE id = j.state_raw)",
                        false},
    [ORIGINAL_NODES] = {"j.nodes", false},
    [ORIGINAL_HOSTS] = {"(SELECT text FROM hosts WHERE id = j.hosts)", false},
};

/* The original writes local times without a zone. */
static void select_columns(struct bj_query *q, bool strict)
{
    for (int i = 0; i < COLUMNS; i++) {
        bj_query_sql(q, i ? ", " : "SELECT ");
        if (columns[i].time)
            bj_query_sql(q, strict ? "strftime('%Y-%m-%dT%H:%M:%S', "
                                   : "strftime('%Y-%m-%dT%H:%M:%SZ', ");
        bj_query_sql(q, columns[i].sql);
        if (columns[i].time)
            bj_query_sql(q, strict ? ", 'unixepoch', 'localtime')"
                                   : ", 'unixepoch')");
    }
}

static int add_times(struct bj_query *q, const struct job_list *a)
{
    if (!a->strict) {
        const struct bj_filter_time time = {a->from_sec, a->to_sec, 0};
        bj_query_sql(q, " AND j.start IS NOT NULL");
        return bj_query_between(q, a->c, "j.at", &time);
    }
    /* completed, failed, cancelled, timeout, node_fail, preempted */
    bj_query_sql(q, " AND +j.state IN (4, 5, 6, 7, 9, 10) AND "
                    "strftime('%Y-%m-%dT%H:%M:%S', j.start, 'unixepoch', "
                    "'localtime') BETWEEN ");
    if (a->from.n > 0)
        bj_query_text(q, a->from);
    else
        bj_query_sql(q, "strftime('%Y-%m-%dT%H:%M:%S', 'now', '-168 hours', "
                        "'localtime')");
    bj_query_sql(q, " AND ");
    if (a->to.n > 0)
        bj_query_text(q, a->to);
    else
        bj_query_sql(q, "strftime('%Y-%m-%dT%H:%M:%S', 'now', 'localtime')");
    return 0;
}

static struct bj_slice original_text_of(struct bj_st *st, int col)
{
    struct bj_slice s = bj_st_get_text(st, col);
    return s.p ? s : BJ_SLICE("");
}

/* Write a row, in the order of the keys. */
static void original_put_row(struct bj_rows *rows, struct bj_st *st)
{
    struct bj_buf uuid = {0}, elapsed = {0}, hosts = {0};
    struct bj_slice nodelist = original_text_of(st, ORIGINAL_HOSTS);
    int64_t sec = bj_st_get_i64(st, ORIGINAL_ELAPSED);
    bj_original_uuid(original_text_of(st, ORIGINAL_ID),
                     original_text_of(st, ORIGINAL_UID),
                     original_text_of(st, ORIGINAL_ACCOUNT), nodelist, &uuid);
    bj_original_elapsed(sec < 0 ? 0 : (uint64_t)sec, &elapsed);
    bj_buf_put(&hosts, "", 0);
    bj_original_hosts(nodelist, &hosts);
    bj_row_begin(rows);
    bj_put_text(rows, original_text_of(st, ORIGINAL_ID));
    bj_put_text(rows, (struct bj_slice){uuid.p ? uuid.p : "", uuid.len});
    for (int i = 1; i < COLUMNS; i++) {
        bool unknown = columns[i].time && !bj_st_get_text(st, i).p;
        if (i == ORIGINAL_ELAPSED)
            bj_put_text(rows, (struct bj_slice){elapsed.p ? elapsed.p : "",
                                                elapsed.len});
        else
            bj_put_text(rows, unknown ? BJ_SLICE("Unknown")
                                      : original_text_of(st, i));
    }
    bj_put_text(rows, (struct bj_slice){hosts.p ? hosts.p : "", hosts.len});
    bj_row_end(rows);
    if (uuid.failed || elapsed.failed || hosts.failed)
        rows->to->failed = true;
    bj_buf_free(&uuid);
    bj_buf_free(&elapsed);
    bj_buf_free(&hosts);
}

/* Write the jobs as rows; *cut: there are more than the limit. */
static int read_jobs(struct job_list *a, struct bj_rows *rows, bool *cut)
{
    struct bj_call *c = a->c;
    struct bj_query q = {0};
    struct bj_st *st = NULL;
    select_columns(&q, a->strict);
    bj_query_sql(&q, " FROM job AS j "
                     "LEFT JOIN owner AS o ON o.id = j.owner WHERE 1 = 1");
    /* The original has neither coordinators nor admins. */
    a->p.given[BJ_PARAM_MINE] = true;
    a->p.number[BJ_PARAM_MINE] = 1;
    int r = bj_query_scope(&q, c, &a->p, "j");
    if (r == 0)
        r = add_times(&q, a);
    bj_query_sql(&q, a->strict ? " ORDER BY j.at, j.id LIMIT "
                               : " ORDER BY j.at DESC, j.id DESC LIMIT ");
    bj_query_int(&q, (int64_t)c->worker->conf->max_rows + 1);
    if (r == 0)
        r = bj_query_open(&q, c->reader, &st, &c->err);
    while (r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        r = 0;
        *cut = rows->n == c->worker->conf->max_rows;
        if (*cut)
            break;
        original_put_row(rows, st);
    }
    bj_query_free(&q);
    return r;
}

static int reply_jobs(struct job_list *a)
{
    static const char *const keys[TEXTS] = {
        "jobid",    "id",    "partition", "account",  "group",      "gid",
        "user",     "uid",   "submit",    "start",    "end",        "elapsed",
        "exitcode", "state", "nnodes",    "nodelist", "nodelistexp"};
    struct bj_call *c = a->c;
    struct bj_buf found = {0};
    struct bj_rows rows;
    bool cut = false;
    int r = bj_http_each_arg(c->req, on_arg, a);
    settle_accounts(a);
    if (r == 0)
        r = read_times(a);
    if (r != 0)
        return r;
    bj_rows_begin(&rows, &(struct bj_output){.to = &found}, keys, TEXTS);
    r = read_jobs(a, &rows, &cut);
    bj_rows_end(&rows);
    if (r == 0) {
        open_envelope(c, cut ? "[\"The list was cut; request a shorter time.\"]"
                             : "null");
        if (a->strict && rows.n == 0)
            bj_buf_str(&c->reply->body, "null");
        else
            bj_buf_put(&c->reply->body, found.p, found.len);
        c->reply->body.failed = c->reply->body.failed || found.failed;
        bj_call_close(c, "");
    }
    bj_buf_free(&found);
    return r < 0 && a->strict && !bj_reader_broken(r)
               ? original_refuse(c, "Data error",
                                 "Failed to retrieve user jobs")
               : r;
}

static int on_jobs(struct bj_call *c)
{
    struct job_list *a = calloc(1, sizeof(*a));
    if (!a)
        return bj_err_set(&c->err, -ENOMEM, "jobs");
    a->c = c;
    a->strict = c->worker->conf->original_strict;
    int r = reply_jobs(a);
    free(a);
    return r;
}

static int on_accounts(struct bj_call *c)
{
    static const char *const keys[] = {"id"};
    struct bj_st *st;
    struct bj_rows rows;
    int r = bj_reader_prepare(
        c->reader,
        "SELECT DISTINCT n.name FROM user AS u JOIN assoc AS a ON a.user = "
        "u.id JOIN account AS n ON n.id = a.account WHERE u.name = ?1 AND "
        "n.name <> '' ORDER BY 1",
        &st, &c->err);
    if (r != 0)
        return r;
    bj_st_bind_text(st, 1, bj_slice_str(c->identity.user));
    open_envelope(c, "null");
    size_t start = c->reply->body.len;
    bj_rows_begin(&rows, &(struct bj_output){.to = &c->reply->body}, keys, 1);
    while ((r = bj_st_row(st, &c->err)) > 0) {
        bj_row_begin(&rows);
        bj_put_text(&rows, bj_st_get_text(st, 0));
        bj_row_end(&rows);
    }
    bj_rows_end(&rows);
    if (r < 0)
        return r;
    if (rows.n == 0 && c->worker->conf->original_strict) {
        c->reply->body.len = start;
        bj_buf_str(&c->reply->body, "null");
    }
    bj_call_close(c, "");
    return 0;
}

static int original_on_health(struct bj_call *c)
{
    bool ok = bj_reader_begin(c->worker->reader, NULL) == 0;
    if (ok)
        bj_reader_end(c->worker->reader);
    c->reply->status = ok ? 200 : 503;
    bj_buf_str(&c->reply->body, ok ? "OK" : "KO");
    return 0;
}

const struct bj_endpoint bj_endpoints_original[] = {
    {.path = "/api/health",
     .methods = BJ_HTTP_GET,
     .run = original_on_health,
     .help = "OK or KO, as in the original server.",
     .type = "text/plain"},
    {.path = "/api/accounts",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .refused = refused,
     .run = on_accounts,
     .help = "Accounts of the user, as in the original server."},
    {.path = "/api/jobs",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .refused = refused,
     .run = on_jobs,
     .help = "Jobs of the user, as in the original server.",
     .params = BJ_BIT(BJ_PARAM_ACCOUNT) | BJ_BIT(BJ_PARAM_FROM) |
               BJ_BIT(BJ_PARAM_TO)},
    {.path = NULL},
};

#include "acct/api.h"

#include "acct/source.h"
#include "base/fetch.h"
#include "base/file.h"
#include "base/html.h"
#include "base/json.h"
#include "base/secret_file.h"
#include "base/text.h"
#include "statsdb/job/job_value.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PAGE_ROWS = 2000, /* rows of one request */
    PAGE_BYTES = 256 << 20,
    TOKEN_BYTES = 4096,
    CURSOR_BYTES = 64,
};

static const char unix_prefix[] = "unix:";

struct api {
    const struct bj_acct_api_conf *conf;
    struct bj_fetch *fetch;
    struct bj_fetch_reply reply;
    char token[TOKEN_BYTES];
};

/* --- requests ---------------------------------------------------------------
 */

static const char *socket_of(const char *server)
{
    size_t n = sizeof(unix_prefix) - 1;
    return strncmp(server, unix_prefix, n) == 0 ? server + n : NULL;
}

int bj_acct_api_check(const char *server, struct bj_err *err)
{
    const char *path = socket_of(server);
    if (!path)
        return bj_fetch_check(server, err);
    return path[0] == '/' ? 0
                          : bj_err_set(err, -EINVAL,
                                       "expected an absolute path after unix:");
}

/* Append the message of the API to that of the request. */
static int api_explain(struct api *a, int code, struct bj_err *err)
{
    struct bj_arena arena = {0};
    const struct bj_json *doc = NULL;
    const struct bj_slice body = {a->reply.body.p, a->reply.body.len};
    const struct bj_err was = *err;
    const char *server = a->conf->server;
    char text[120];
    const char *path = socket_of(server);
    if (path && a->reply.fault == BJ_FETCH_CONNECT)
        return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0
                   ? bj_file_fail(err, -errno, "cannot connect to", AT_FDCWD,
                                  path, W_OK)
                   : bj_err_say(err, code,
                                "cannot connect to %s: no server listens there",
                                server);
    if (a->reply.fault == BJ_FETCH_HTTP &&
        bj_json_parse(&arena, body, "reply", NULL, &doc, NULL) == 0) {
        struct bj_slice s = bj_json_text(bj_json_get(doc, "error"));
        bj_text_clean(s, text, sizeof(text));
        if (s.n > 0)
            code = bj_err_set(err, -EREMOTEIO, "%s: %s", was.msg, text);
    }
    bj_arena_free(&arena);
    return socket_of(server) ? bj_err_wrap(err, code, "%s", server) : code;
}

static const char *api_given(const char *text)
{
    return text && text[0] ? text : NULL;
}

/* GET path, which includes its query; the reply is valid until the next
 * request. */
static int api_get(struct api *a, struct bj_slice path, struct bj_err *err)
{
    const struct bj_acct_api_conf *c = a->conf;
    const char *socket = socket_of(c->server);
    struct bj_buf url = {0};
    struct bj_slice base =
        bj_slice_str(socket ? "http://localhost" : c->server);
    while (base.n > 0 && base.p[base.n - 1] == '/')
        base.n--;
    bj_buf_slice(&url, base);
    bj_buf_slice(&url, path);
    bj_buf_put(&url, "", 1);
    const struct bj_fetch_request req = {.url = url.p,
                                         .bearer = api_given(a->token),
                                         .ca_file = api_given(c->ca_file),
                                         .cert_file = api_given(c->cert_file),
                                         .key_file = api_given(c->key_file),
                                         .unix_socket = socket,
                                         .no_proxy = socket != NULL,
                                         .total_usec = c->timeout_usec,
                                         .max_bytes = PAGE_BYTES};
    int r = url.failed ? bj_err_set(err, -ENOMEM, "request")
                       : bj_fetch(a->fetch, &req, &a->reply, err);
    bj_buf_free(&url);
    return r < 0 ? api_explain(a, r, err) : 0;
}

/* Pass the rows of the reply and the members of its meta to targets. */
static int read_reply(struct api *a, const struct bj_json_target *targets,
                      void *ctx, struct bj_err *err)
{
    struct bj_json_stream *s;
    int r = bj_json_stream_new(targets, ctx, a->conf->server, NULL, &s, err);
    if (r < 0)
        return r;
    r = bj_json_stream_feed(
        s, (struct bj_slice){a->reply.body.p, a->reply.body.len}, err);
    if (r == 0)
        r = bj_json_stream_end(s, err);
    for (unsigned i = 0; r == 0 && targets[i].path; i++)
        if (!bj_json_stream_found(s, i))
            r = bj_err_set(err, -EBADMSG,
                           "%s: the reply has no \"%s\"; is it the address of "
                           "batchjob_stats_server?",
                           a->conf->server, targets[i].path);
    bj_json_stream_free(s);
    return r;
}

/* --- values -----------------------------------------------------------------
 */

/* A row of the reply. */
struct row {
    const struct bj_json *json;
    const struct bj_acct_query *query;
};

static bool is_unlimited(const struct row *row)
{
    bool yes = false;
    return bj_json_bool(bj_json_get(row->json, "time_limit_unlimited"), &yes) ==
               0 &&
           yes;
}

static int api_value(void *ctx, unsigned i, struct bj_job_value *ret,
                     struct bj_err *err)
{
    const struct row *row = ctx;
    const struct bj_column *c = row->query->column[i];
    const struct bj_json *v = bj_json_get(row->json, c->name);
    if (c->kind == BJ_AS_LIMIT && is_unlimited(row)) {
        *ret = (struct bj_job_value){.known = true, .number = INT64_MAX};
        return 0;
    }
    int r = bj_job_value_json(c->kind, v, ret);
    return r < 0 ? bj_err_set(err, -EBADMSG,
                              "reply: %s is a %s, expected a value of type %s",
                              c->name, bj_json_kind_name(v),
                              bj_value_type(c->kind))
                 : 0;
}

/* --- lists of jobs ----------------------------------------------------------
 */

struct list {
    const struct bj_acct_query *query;
    bj_acct_row_fn *fn;
    void *ctx;
    uint64_t left; /* rows left until the limit */
    char cursor[CURSOR_BYTES];
};

static int on_row(void *ctx, struct bj_slice key, const struct bj_json *v,
                  struct bj_err *err)
{
    struct list *l = ctx;
    struct row row = {v, l->query};
    (void)key;
    if (l->left == 0)
        return 0;
    l->left--;
    return l->fn(l->ctx, &(struct bj_acct_row){api_value, &row}, err);
}

static int on_meta(void *ctx, struct bj_slice key, const struct bj_json *v,
                   struct bj_err *err)
{
    struct list *l = ctx;
    struct bj_slice s = bj_json_text(v);
    if (!bj_slice_eq(key, BJ_SLICE("next")))
        return 0;
    if (s.n >= sizeof(l->cursor))
        return bj_err_set(err, -EBADMSG, "reply: meta.next is too long");
    snprintf(l->cursor, sizeof(l->cursor), "%.*s", (int)s.n, s.n ? s.p : "");
    return 0;
}

static void add_list(struct bj_buf *to, const char *name,
                     const struct bj_strv *list)
{
    struct bj_acct_at at = {0};
    struct bj_slice v;
    while (bj_acct_list_next(list, &at, &v)) {
        bj_buf_printf(to, "&%s=", name);
        bj_url_text(to, v);
    }
}

static void add_fields(struct bj_buf *to, const struct bj_acct_query *q)
{
    for (unsigned i = 0; i < q->columns; i++) {
        bj_buf_printf(to, "%s%s", i ? "," : "&fields=", q->column[i]->name);
        if (q->column[i]->kind == BJ_AS_LIMIT)
            bj_buf_str(to, ",time_limit_unlimited");
    }
}

/* A time that the API interprets as seconds. */
static long long api_seconds(int64_t sec)
{
    const long long last = 99999999999;
    return sec < 0 ? 0 : sec > last ? last : sec;
}

/* The API includes "to"; until is excluded. */
static void add_time(struct bj_buf *to, const struct bj_acct_filter *f)
{
    bool bound = f->since_sec > INT64_MIN || f->until_sec < INT64_MAX;
    bj_buf_printf(to, "&from=%lld&to=%lld", api_seconds(f->since_sec),
                  api_seconds(f->until_sec - 1));
    if (!f->ran && (bound || f->job.n == 0))
        bj_buf_str(to, "&began=1");
}

static void add_query(struct bj_buf *to, const struct list *l)
{
    const struct bj_acct_filter *f = &l->query->filter;
    bj_buf_printf(
        to, "/api/v1/jobs?limit=%llu",
        (unsigned long long)(l->left < PAGE_ROWS ? l->left : PAGE_ROWS));
    add_list(to, "user", &f->user);
    add_list(to, "account", &f->account);
    add_list(to, "partition", &f->partition);
    add_list(to, "state", &f->state);
    add_list(to, "cluster", &f->cluster);
    add_list(to, "job", &f->job);
    add_list(to, "node", &f->node);
    add_time(to, f);
    add_fields(to, l->query);
    if (l->cursor[0])
        bj_buf_printf(to, "&cursor=%s", l->cursor);
}

static int get_page(struct api *a, struct list *l, struct bj_err *err)
{
    static const struct bj_json_target targets[] = {
        {"data", on_row}, {"meta", on_meta}, {NULL, NULL}};
    struct bj_buf path = {0};
    add_query(&path, l);
    l->cursor[0] = '\0';
    int r = path.failed ? bj_err_set(err, -ENOMEM, "request")
                        : api_get(a, (struct bj_slice){path.p, path.len}, err);
    bj_buf_free(&path);
    return r < 0 ? r : read_reply(a, targets, l, err);
}

static int jobs(void *source, const struct bj_acct_query *q, bj_acct_row_fn *fn,
                void *ctx, struct bj_err *err)
{
    struct list l = {.query = q, .fn = fn, .ctx = ctx};
    int r;
    l.left = q->filter.limit ? q->filter.limit : UINT64_MAX;
    do
        r = get_page(source, &l, err);
    while (r == 0 && l.cursor[0] && l.left > 0);
    return r;
}

/* --- the source -------------------------------------------------------------
 */

static int on_cluster(void *ctx, struct bj_slice key, const struct bj_json *v,
                      struct bj_err *err)
{
    uint64_t ms = 0;
    (void)key;
    bool known = bj_json_u64(bj_json_get(v, "last_update_ms"), &ms) == 0;
    return bj_acct_cluster_add(ctx, bj_json_text(bj_json_get(v, "cluster")),
                               known ? (int64_t)(ms / 1000) : INT64_MIN, err);
}

static int clusters(void *source, struct bj_acct_clusters *ret,
                    struct bj_err *err)
{
    static const struct bj_json_target targets[] = {{"data", on_cluster},
                                                    {NULL, NULL}};
    *ret = (struct bj_acct_clusters){NULL, 0, 0};
    int r = api_get(source, BJ_SLICE("/api/v1/clusters"), err);
    if (r == 0)
        r = read_reply(source, targets, ret, err);
    if (r < 0)
        free(ret->v);
    return r;
}

static int on_site(void *ctx, struct bj_slice key, const struct bj_json *v,
                   struct bj_err *err)
{
    struct bj_acct_site *site = ctx;
    struct bj_prices *p = &site->prices;
    const struct {
        const char *name;
        int64_t *to;
    } prices[] = {{"cpu_hour", &p->cpu_hour},
                  {"gpu_hour", &p->gpu_hour},
                  {"gib_hour", &p->gib_hour},
                  {"kwh", &p->kwh}};
    const struct bj_slice zone = bj_json_text(bj_json_get(v, "time_zone"));
    (void)key;
    if (zone.n >= sizeof(site->time_zone))
        return bj_err_set(err, -EBADMSG, "reply: time_zone is too long");
    snprintf(site->time_zone, sizeof(site->time_zone), "%.*s", (int)zone.n,
             zone.n ? zone.p : "");
    const struct bj_slice money = bj_json_text(bj_json_get(v, "currency"));
    snprintf(p->currency, sizeof(p->currency), "%.*s", (int)money.n,
             money.n ? money.p : "");
    for (size_t i = 0; i < sizeof(prices) / sizeof(prices[0]); i++) {
        struct bj_job_value one;
        if (bj_job_value_json(BJ_AS_MICRO, bj_json_get(v, prices[i].name),
                              &one) < 0)
            return bj_err_set(err, -EBADMSG, "reply: %s is no number",
                              prices[i].name);
        *prices[i].to = one.known ? one.number : BJ_SQL_NULL;
    }
    struct bj_job_value free = {.known = false};
    if (bj_job_value_json(BJ_AS_BOOL, bj_json_get(v, "failed_nodes_free"),
                          &free) < 0)
        return bj_err_set(err, -EBADMSG,
                          "reply: failed_nodes_free is not true or false");
    p->failed_nodes_free = free.known && free.number > 0;
    return 0;
}

static int site(void *source, struct bj_acct_site *ret, struct bj_err *err)
{
    static const struct bj_json_target targets[] = {{"data", on_site},
                                                    {NULL, NULL}};
    int r = api_get(source, BJ_SLICE("/api/v1/site"), err);
    return r < 0 ? r : read_reply(source, targets, ret, err);
}

static int get_body(void *source, struct bj_slice path, struct bj_slice *ret,
                    struct bj_err *err)
{
    struct api *a = source;
    int r = api_get(a, path, err);
    *ret = (struct bj_slice){a->reply.body.p, a->reply.body.len};
    return r;
}

static void close_api(void *source)
{
    struct api *a = source;
    if (!a)
        return;
    bj_fetch_free(a->fetch);
    bj_fetch_reply_free(&a->reply);
    explicit_bzero(a->token, sizeof(a->token));
    free(a);
}

static int read_token(struct api *a, struct bj_err *err)
{
    const char *name = a->conf->token_file, *home = getenv("HOME");
    char path[PATH_MAX];
    bool in_home = name && strncmp(name, "~/", 2) == 0;
    if (in_home && !api_given(home))
        return bj_err_set(err, -EINVAL, "token-file: HOME is not set");
    snprintf(path, sizeof(path), "%s%s", in_home ? home : "",
             in_home ? name + 1
             : name  ? name
                     : "");
    int r = bj_secret_read(path, a->token, sizeof(a->token), err);
    return r < 0 ? bj_err_wrap(err, r, "token-file") : 0;
}

int bj_acct_api_open(const struct bj_acct_api_conf *conf,
                     struct bj_acct_source *ret, struct bj_err *err)
{
    struct api *a = calloc(1, sizeof(*a));
    *ret = (struct bj_acct_source){.site = site,
                                   .clusters = clusters,
                                   .jobs = jobs,
                                   .get = get_body,
                                   .close = close_api,
                                   .source = a};
    if (!a)
        return bj_err_set(err, -ENOMEM, "server");
    a->conf = conf;
    int r = read_token(a, err);
    if (r == 0)
        r = bj_fetch_new(&a->fetch, err);
    if (r < 0) {
        close_api(a);
        ret->source = NULL;
    }
    return r;
}

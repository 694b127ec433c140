#include "apiserver/gate/gate_pool.h"

#include "apiserver/frame/settings.h"
#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SECOND = 1000000,
    CHECK_USEC = 15 * SECOND, /* between checks of a server that is up */
    /* maximum between checks of a server that is down */
    BACKOFF_USEC = 30 * SECOND,
    PATIENCE_USEC = 5 * SECOND, /* timeout of a check */
    REPLY_BYTES = 64 << 10,     /* of a check */
};

/* One server. */
struct member {
    /* first, so that pointers to it point to the member */
    struct bj_gate_upstream up;
    struct member *next;
    char *url;
    char name[BJ_FETCH_SHOWN]; /* the URL without a password */
    uint64_t check_usec;       /* when the next check is due */
    uint64_t wait_usec;        /* time between checks while it is down */
    struct bj_flow *flow;      /* flow of the running check */
    struct bj_prom_request request;
    uint64_t queries, failures; /* metrics */
};

struct bj_gate_pool {
    struct bj_settings *settings; /* NULL: none yet */
    uint64_t last_use;
    unsigned n;
    struct bj_gate_upstream *v[BJ_GATE_SERVERS];
    struct member *first;
};

static struct member *member_of(struct bj_gate_upstream *u)
{
    return (struct member *)(void *)u;
}

/* --- up or down ------------------------------------------------------------
 */

void bj_gate_pool_failed(struct bj_gate_upstream *u, const char *text)
{
    struct member *m = member_of(u);
    m->failures++;
    if (!m->up.up)
        return;
    bj_log(BJ_LOG_WARN, NULL, "gate: %s is down: %s", m->name, text);
    m->up.up = false;
    m->wait_usec = SECOND;
    m->check_usec = bj_clock_boot_usec() + m->wait_usec;
}

void bj_gate_pool_worked(struct bj_gate_upstream *u)
{
    struct member *m = member_of(u);
    if (!m->up.up)
        bj_log(BJ_LOG_INFO, NULL, "gate: %s is up again", m->name);
    m->up.up = true;
}

/* --- checks ----------------------------------------------------------------
 */

static void on_head(void *ctx, const struct bj_fetch_reply *reply)
{
    (void)ctx;
    (void)reply;
}

static enum bj_flow_next on_piece(void *ctx, struct bj_slice piece)
{
    (void)ctx;
    (void)piece;
    return BJ_FLOW_MORE;
}

static void check_failed(struct member *m, const char *text)
{
    uint64_t wait = 2 * m->wait_usec;
    if (m->up.up) {
        bj_gate_pool_failed(&m->up, text);
        return;
    }
    m->failures++;
    m->wait_usec = wait < BACKOFF_USEC ? wait : BACKOFF_USEC;
    m->check_usec = bj_clock_boot_usec() + m->wait_usec;
}

/* A server without this path is up, because it responded. */
static void on_end(void *ctx, const struct bj_fetch_reply *reply, int code,
                   const struct bj_err *err)
{
    struct member *m = ctx;
    unsigned s = reply->status;
    char text[320];
    m->flow = NULL;
    m->check_usec = bj_clock_boot_usec() + CHECK_USEC;
    if (code < 0)
        check_failed(m, bj_err_reason(err, text, sizeof(text)));
    else if (s >= 500 || s == 401 || s == 403 || s == 407) {
        snprintf(text, sizeof(text), "status %u", s);
        check_failed(m, text);
    } else {
        bj_gate_pool_worked(&m->up);
    }
    bj_prom_request_clear(&m->request);
}

static void begin_check(struct member *m, struct bj_fetches *fetches)
{
    static const struct bj_flow_events events = {on_head, on_piece, on_end};
    /* all servers respond to this path below the URL of the API, once they are
     * ready */
    static const char path[] = "/api/v1/status/buildinfo";
    struct bj_err err = {0};
    char text[320];
    int r = bj_prom_request_make(&m->request, &m->up.conf->client, path,
                                 BJ_SLICE(""), NULL, &err);
    m->request.fetch.method = "GET";
    m->request.fetch.total_usec = PATIENCE_USEC;
    m->request.fetch.max_bytes = REPLY_BYTES;
    if (r == 0)
        r = bj_fetches_start(fetches, &m->request.fetch, &events, m, &m->flow,
                             &err);
    if (r == 0)
        return;
    m->flow = NULL;
    check_failed(m, bj_err_reason(&err, text, sizeof(text)));
    bj_prom_request_clear(&m->request);
}

uint64_t bj_gate_pool_check(struct bj_gate_pool *p, struct bj_fetches *fetches,
                            uint64_t now_usec)
{
    uint64_t next = UINT64_MAX;
    for (unsigned i = 0; i < p->n; i++) {
        struct member *m = member_of(p->v[i]);
        if (!m->flow && m->check_usec <= now_usec)
            begin_check(m, fetches);
        if (!m->flow && m->check_usec < next)
            next = m->check_usec;
    }
    return next;
}

static void end_check(struct member *m, struct bj_fetches *fetches)
{
    if (m->flow)
        bj_fetches_cancel(fetches, m->flow);
    m->flow = NULL;
    bj_prom_request_clear(&m->request);
}

void bj_gate_pool_stop(struct bj_gate_pool *p, struct bj_fetches *fetches)
{
    for (struct member *m = p->first; m; m = m->next)
        end_check(m, fetches);
}

/* --- the list --------------------------------------------------------------
 */

int bj_gate_pool_new(struct bj_gate_pool **ret, struct bj_err *err)
{
    struct bj_gate_pool *p = calloc(1, sizeof(*p));
    if (!p)
        return bj_err_set(err, -ENOMEM, "gate");
    *ret = p;
    return 0;
}

static void member_free(struct member *m)
{
    free(m->url);
    free(m);
}

void bj_gate_pool_free(struct bj_gate_pool *p)
{
    if (!p)
        return;
    for (struct member *m = p->first, *next; m; m = next) {
        next = m->next;
        member_free(m);
    }
    bj_settings_unref(p->settings);
    free(p);
}

static struct member *pool_find(struct bj_gate_pool *p, const char *url)
{
    struct member *m = p->first;
    while (m && strcmp(m->url, url) != 0)
        m = m->next;
    return m;
}

/* A server counts as up until it fails. */
static struct member *pool_add(struct bj_gate_pool *p, const char *url)
{
    struct member *m = calloc(1, sizeof(*m));
    if (!m || !(m->url = strdup(url))) {
        free(m);
        return NULL;
    }
    bj_fetch_show(url, m->name);
    m->up.up = true;
    m->next = p->first;
    p->first = m;
    return m;
}

/* Remove the servers that the options no longer name and no query uses. */
static void remove_unused(struct bj_gate_pool *p)
{
    for (struct member **at = &p->first; *at;) {
        struct member *m = *at;
        if (m->up.conf || m->up.running > 0) {
            at = &m->next;
            continue;
        }
        *at = m->next;
        member_free(m);
    }
}

void bj_gate_pool_use(struct bj_gate_pool *p, struct bj_fetches *fetches,
                      struct bj_settings *settings)
{
    const struct bj_gate_conf *conf = &settings->conf->gate;
    const struct bj_gate_servers *all = &conf->servers;
    struct member *fresh[BJ_GATE_SERVERS] = {NULL};
    size_t n = conf->enabled ? all->n : 0;
    bool failed = false;
    for (size_t i = 0; i < n; i++) {
        const char *url = all->v[i].client.url;
        fresh[i] = pool_find(p, url);
        if (!fresh[i])
            fresh[i] = pool_add(p, url);
        failed = failed || !fresh[i];
    }
    if (failed) {
        bj_log(BJ_LOG_ERROR, NULL, "gate: no memory for new servers");
        bj_settings_unref(settings);
        remove_unused(p);
        return;
    }
    bj_gate_pool_stop(p, fetches); /* checks refer to the old settings */
    for (struct member *m = p->first; m; m = m->next)
        m->up.conf = NULL;
    for (size_t i = 0; i < n; i++) {
        fresh[i]->up.conf = &all->v[i];
        fresh[i]->check_usec = 0;
        p->v[i] = &fresh[i]->up;
    }
    p->n = (unsigned)n;
    remove_unused(p);
    bj_settings_unref(p->settings);
    p->settings = settings;
}

struct bj_settings *bj_gate_pool_settings(const struct bj_gate_pool *p)
{
    return p->settings;
}

struct bj_gate_upstream *const *bj_gate_pool_all(const struct bj_gate_pool *p,
                                                 unsigned *ret_n)
{
    *ret_n = p->n;
    return p->v;
}

void bj_gate_pool_begin(struct bj_gate_pool *p, struct bj_gate_upstream *u)
{
    u->running++;
    u->last_use = ++p->last_use;
    member_of(u)->queries++;
}

void bj_gate_pool_end(struct bj_gate_pool *p, struct bj_gate_upstream *u)
{
    u->running--;
    if (!u->conf)
        remove_unused(p);
}

/* --- metrics ---------------------------------------------------------------
 */

static uint64_t pool_value(const struct member *m, unsigned which)
{
    const uint64_t all[] = {m->up.up, m->up.running, m->queries, m->failures};
    return all[which];
}

static void pool_put_name(struct bj_buf *b, const char *name)
{
    for (; *name; name++) {
        if (*name == '"' || *name == '\\')
            bj_buf_str(b, "\\");
        bj_buf_put(b, name, 1);
    }
}

void bj_gate_pool_metrics(struct bj_gate_pool *p, struct bj_buf *b)
{
    static const char *const family[][3] = {
        {"up", "gauge", "1 if the server answered the last query or check."},
        {"running", "gauge", "Queries of the gate at the server."},
        {"queries_total", "counter", "Queries that the server got."},
        {"failures_total", "counter",
         "Queries and checks that the server did not answer."},
    };
    for (unsigned k = 0; k < sizeof(family) / sizeof(family[0]); k++) {
        const char *name = family[k][0];
        bj_buf_printf(b,
                      "# HELP batchjob_api_gate_server_%s %s\n"
                      "# TYPE batchjob_api_gate_server_%s %s\n",
                      name, family[k][2], name, family[k][1]);
        for (unsigned i = 0; i < p->n; i++) {
            const struct member *m = member_of(p->v[i]);
            bj_buf_printf(b, "batchjob_api_gate_server_%s{server=\"", name);
            pool_put_name(b, m->name);
            bj_buf_printf(b, "\"} %llu\n",
                          (unsigned long long)pool_value(m, k));
        }
    }
}

/* --- which server ----------------------------------------------------------*/

/* The servers that may be chosen. */
struct fit {
    struct bj_gate_upstream *const *v;
    unsigned n;
    bool eligible[BJ_GATE_SERVERS];
};

static uint64_t retention_of(const struct fit *f, unsigned i)
{
    return bj_gate_server_retention(f->v[i]->conf);
}

/* Select the servers that cover the time; if there are none, those with the
 * longest retention. */
static void find_covering(struct fit *f, const struct bj_gate_need *need)
{
    uint64_t longest = 0;
    bool any = false;
    for (unsigned i = 0; i < f->n; i++) {
        f->eligible[i] =
            bj_gate_server_covers(f->v[i]->conf, need->span, need->now_ms);
        any = any || f->eligible[i];
        longest = retention_of(f, i) > longest ? retention_of(f, i) : longest;
    }
    for (unsigned i = 0; !any && i < f->n; i++)
        f->eligible[i] = retention_of(f, i) == longest;
}

/* Leave out servers that are down, unless all are down. */
static void leave_out_down(struct fit *f, const struct bj_gate_need *need)
{
    bool any = need->failed != NULL;
    for (unsigned i = 0; i < f->n; i++) {
        f->eligible[i] = f->eligible[i] && f->v[i] != need->failed;
        any = any || (f->eligible[i] && f->v[i]->up);
    }
    for (unsigned i = 0; any && i < f->n; i++)
        f->eligible[i] = f->eligible[i] && f->v[i]->up;
}

static bool is_better(const struct bj_gate_upstream *a,
                      const struct bj_gate_upstream *b)
{
    return a->running < b->running ||
           (a->running == b->running && a->last_use < b->last_use);
}

int bj_gate_route(struct bj_gate_upstream *const *v, unsigned n,
                  const struct bj_gate_need *need)
{
    struct fit f = {.v = v, .n = n};
    uint64_t least = UINT64_MAX;
    int best = -ENOENT;
    find_covering(&f, need);
    leave_out_down(&f, need);
    for (unsigned i = 0; i < n; i++)
        if (f.eligible[i] && retention_of(&f, i) < least)
            least = retention_of(&f, i);
    for (unsigned i = 0; i < n; i++) {
        if (!f.eligible[i] || retention_of(&f, i) != least)
            continue;
        if (v[i]->running >= v[i]->conf->queries ||
            v[i]->user_running >= need->own_max)
            best = best == -ENOENT ? -EAGAIN : best;
        else if (best < 0 || is_better(v[i], v[best]))
            best = (int)i;
    }
    return best;
}

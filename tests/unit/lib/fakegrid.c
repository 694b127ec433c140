#include "tests/unit/lib/fakegrid.h"

#include "base/stamp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define SECOND 1000000u
enum { LATE_SEC = 3 * 3600 };

/* --- values ---------------------------------------------------------------*/

static const struct {
    const char *name, *zone, *mark; /* mark: in the URL */
    uint32_t step, base_mg;
} grids[GRIDS] = {
    [GRID_RTE] = {"rte", NULL, "/eco2mix-national-tr/", 900, 20000},
    [GRID_EMAPS] = {"electricitymaps", "DE", "/carbon-intensity/", 3600,
                    300000},
    [GRID_NESO] = {"neso", NULL, "/intensity/", 1800, 150000},
    [GRID_WATTTIME] = {"watttime", "CAISO_NORTH", "/historical", 300, 0},
};

uint32_t grid_step(enum grid_provider p)
{
    return grids[p].step;
}

/* Whole grams, so that no value is rounded; for WattTime 1000, 1001, ...
 * lb/MWh. */
static uint32_t unit(enum grid_provider p, uint64_t start_sec)
{
    return (uint32_t)(start_sec / grids[p].step * 7919 % 61);
}

uint32_t grid_mg(enum grid_provider p, uint64_t start_sec)
{
    if (p != GRID_WATTTIME)
        return grids[p].base_mg + 1000 * unit(p, start_sec);
    return (uint32_t)((1000 + unit(p, start_sec)) * 453.59237 + 0.5);
}

/* --- responses ------------------------------------------------------------*/

static void put_value(struct bj_buf *b, const struct grid *g,
                      enum grid_provider p, uint64_t start)
{
    if (g->mode[p] == GRID_NULL || start > g->wall_sec)
        bj_buf_str(b, "null");
    else if (g->mode[p] == GRID_ZERO)
        bj_buf_str(b, "0");
    else if (p == GRID_WATTTIME)
        bj_buf_u64(b, 1000 + unit(p, start));
    else
        bj_buf_u64(b, grid_mg(p, start) / 1000);
}

static void put_row(struct bj_buf *b, const struct grid *g,
                    enum grid_provider p, uint64_t start)
{
    static const char *const before[GRIDS] = {
        [GRID_RTE] = "{\"date_heure\":\"%s\",\"taux_co2\":",
        [GRID_EMAPS] = "{\"zone\":\"DE\",\"datetime\":\"%s\","
                       "\"carbonIntensity\":",
        [GRID_NESO] = "{\"from\":\"%s\",\"intensity\":{\"actual\":",
        [GRID_WATTTIME] = "{\"point_time\":\"%s\",\"value\":",
    };
    char stamp[BJ_STAMP_MAX], head[160];
    bj_stamp_text((int64_t)start * SECOND, 0, 0, stamp);
    const char *at = strstr(before[p], "%s");
    snprintf(head, sizeof(head), "%.*s%s%s", (int)(at - before[p]), before[p],
             stamp, at + 2);
    bj_buf_str(b, head);
    put_value(b, g, p, start);
    bj_buf_str(b, p == GRID_NESO ? "}}" : "}");
}

static void put_rows(struct bj_buf *b, const struct grid *g,
                     enum grid_provider p)
{
    static const char *const before[GRIDS] = {
        "{\"results\":[", "{\"history\":[", "{\"data\":[", "{\"data\":["};
    uint64_t end = g->wall_sec - g->wall_sec % grids[p].step;
    uint64_t span = p == GRID_WATTTIME ? 7200 : 86400 - 3600;
    if (g->mode[p] == GRID_LATE)
        end -= LATE_SEC;
    else
        end += 2 * grids[p].step; /* rows of the future */
    bj_buf_str(b, before[p]);
    for (uint64_t t = end - span; g->mode[p] != GRID_EMPTY && t <= end;
         t += grids[p].step) {
        if (t != end - span)
            bj_buf_str(b, ",");
        put_row(b, g, p, t);
    }
    bj_buf_str(b, "]}");
}

static void put_body(struct bj_buf *b, const struct grid *g,
                     enum grid_provider p)
{
    if (g->mode[p] == GRID_HTML)
        bj_buf_str(b, "<!DOCTYPE html><html></html>");
    else
        put_rows(b, g, p);
    if (g->mode[p] == GRID_CUT)
        b->len /= 2;
}

static int refuse(struct bj_fetch_reply *reply, enum bj_fetch_fault fault,
                  unsigned status, int code, struct bj_err *err)
{
    reply->fault = fault;
    reply->status = status;
    return bj_err_set(err, code, "GET: %s", bj_fetch_fault_name(fault));
}

static int respond(struct grid *g, enum grid_provider p,
                   struct bj_fetch_reply *reply, struct bj_err *err)
{
    switch (g->mode[p]) {
    case GRID_DOWN:
        return refuse(reply, BJ_FETCH_CONNECT, 0, -ECONNREFUSED, err);
    case GRID_TLS:
        return refuse(reply, BJ_FETCH_TLS, 0, -EKEYREJECTED, err);
    case GRID_HANG:
        return refuse(reply, BJ_FETCH_TIMEOUT, 0, -ETIMEDOUT, err);
    case GRID_BROKEN:
        return refuse(reply, BJ_FETCH_HTTP, 500, -EREMOTEIO, err);
    case GRID_BUSY:
        reply->retry_after_usec = g->retry_after_usec;
        return refuse(reply, BJ_FETCH_HTTP, 429, -EAGAIN, err);
    case GRID_DENY:
        return refuse(reply, BJ_FETCH_HTTP, 401, -EACCES, err);
    case GRID_BIG:
        return refuse(reply, BJ_FETCH_TOO_BIG, 200, -EFBIG, err);
    case GRID_ABORT:
        return refuse(reply, BJ_FETCH_ABORTED, 0, -ECANCELED, err);
    default:
        put_body(&reply->body, g, p);
        return 0;
    }
}

/* Tokens are numbered; only the last one is valid. */
static int log_in(struct grid *g, const struct bj_fetch_request *req,
                  struct bj_fetch_reply *reply, struct bj_err *err)
{
    enum grid_mode m = g->mode[GRID_WATTTIME];
    snprintf(g->user, sizeof(g->user), "%s", req->user ? req->user : "");
    snprintf(g->password, sizeof(g->password), "%s",
             req->password ? req->password : "");
    g->logins++;
    if (m >= GRID_HTML)
        return respond(g, GRID_WATTTIME, reply, err);
    snprintf(g->token, sizeof(g->token), "secret-token-%u", g->logins);
    g->tokens_expired = false;
    bj_buf_printf(&reply->body, "{\"token\":\"%s\"}", g->token);
    return 0;
}

static int fetch(void *ctx, const struct bj_fetch_request *req,
                 struct bj_fetch_reply *reply, struct bj_err *err)
{
    struct grid *g = ctx;
    reply->body.len = 0;
    reply->fault = BJ_FETCH_OK;
    reply->status = 200;
    reply->retry_after_usec = 0;
    snprintf(g->url, sizeof(g->url), "%s", req->url);
    const char *last = "";
    for (size_t i = 0; req->headers && req->headers[i]; i++)
        last = req->headers[i];
    snprintf(g->header, sizeof(g->header), "%s", last);
    size_t n = strlen(req->url);
    if (n > 6 && strcmp(req->url + n - 6, "/login") == 0)
        return log_in(g, req, reply, err);
    unsigned p = 0;
    while (p < GRIDS && !strstr(req->url, grids[p].mark))
        p++;
    assert_true(p < GRIDS);
    g->value_requests[p]++;
    if (p == GRID_WATTTIME && (g->tokens_expired || !req->bearer ||
                               strcmp(req->bearer, g->token) != 0))
        return refuse(reply, BJ_FETCH_HTTP, 401, -EACCES, err);
    return respond(g, (enum grid_provider)p, reply, err);
}

struct bj_carbon_net grid_net(struct grid *g)
{
    return (struct bj_carbon_net){g, fetch};
}

/* --- time -----------------------------------------------------------------*/

void grid_advance(struct grid *g, uint64_t sec)
{
    g->boot_usec += sec * SECOND;
    g->wall_sec += sec;
}

uint64_t grid_settle(struct grid *g, struct bj_carbon_feed *feed,
                     struct bj_err *err)
{
    uint64_t next;
    struct bj_err mine;
    if (err)
        *err = (struct bj_err){0};
    do {
        mine = (struct bj_err){0};
        next = bj_carbon_feed_step(
            feed, (struct bj_carbon_now){g->boot_usec, g->wall_sec}, &mine);
        if (err && mine.code)
            *err = mine;
    } while (next <= g->boot_usec);
    if (next == UINT64_MAX)
        return UINT64_MAX;
    return (next - g->boot_usec + SECOND - 1) / SECOND;
}

void grid_run(struct grid *g, struct bj_carbon_feed *feed, uint64_t sec)
{
    uint64_t end = g->boot_usec + sec * SECOND;
    for (;;) {
        uint64_t wait = grid_settle(g, feed, NULL);
        uint64_t left = (end - g->boot_usec) / SECOND;
        if (wait > left) {
            grid_advance(g, left);
            return;
        }
        grid_advance(g, wait);
    }
}

/* --- options --------------------------------------------------------------*/

static void set(const struct bj_optset *s, const char *name, const char *value)
{
    char full[64];
    struct bj_err err = {0};
    snprintf(full, sizeof(full), "emissions.%s", name);
    if (bj_opt_set(s, 1, bj_slice_str(full), bj_slice_str(value), &err) < 0)
        fail_msg("%s", err.msg);
}

static void add_provider(const struct bj_optset *s, const char *name,
                         const char *token)
{
    char text[512];
    for (int i = 0; i < GRIDS; i++) {
        if (strcmp(name, grids[i].name) != 0)
            continue;
        snprintf(text, sizeof(text), "%s=http://%s", name, name);
        set(s, "url", text);
        if (!grids[i].zone)
            return;
        snprintf(text, sizeof(text), "%s=%s", name, grids[i].zone);
        set(s, "zone", text);
        snprintf(text, sizeof(text), "%s=%s", name, token);
        set(s, "token-file", text);
    }
}

bool grid_first(const struct grid *g, struct bj_carbon_feed *feed,
                bool marginal, struct bj_factor *ret)
{
    struct bj_factor f[BJ_CARBON_FEED_FACTORS];
    size_t n =
        bj_carbon_feed_factors(feed, g->wall_sec, f, BJ_CARBON_FEED_FACTORS);
    for (size_t i = 0; i < n; i++)
        if ((f[i].kind == BJ_FACTOR_MARGINAL) == marginal) {
            *ret = f[i];
            return true;
        }
    return false;
}

const char *grid_from_name(enum bj_factor_from from)
{
    static const char *const names[] = {
        [BJ_FACTOR_LIVE] = "live",         [BJ_FACTOR_STATED] = "stated",
        [BJ_FACTOR_PROFILE] = "profile",   [BJ_FACTOR_YEAR] = "year",
        [BJ_FACTOR_CONSTANT] = "constant",
    };
    return names[from];
}

struct bj_carbon_conf grid_conf(const char *token, ...)
{
    struct bj_carbon_conf conf = {0};
    struct bj_optset s = {bj_carbon_opts, &conf};
    assert_int_equal(bj_opt_presets(&s, NULL), 0);
    va_list ap;
    va_start(ap, token);
    for (const char *arg; (arg = va_arg(ap, const char *)) != NULL;) {
        struct bj_slice value = bj_slice_str(arg), word;
        char name[64];
        assert_true(bj_slice_field(&value, '=', &word));
        snprintf(name, sizeof(name), "%.*s", (int)word.n, word.p);
        set(&s, name, value.p);
        if (strcmp(name, "provider") == 0)
            add_provider(&s, value.p, token);
    }
    va_end(ap);
    assert_int_equal(bj_opt_finish(&s, NULL), 0);
    return conf;
}

void grid_conf_free(struct bj_carbon_conf *conf)
{
    bj_opt_free(&(struct bj_optset){bj_carbon_opts, conf});
}

#include "base/text.h"
#include "statsdb/prom/prom.h"

#include <stdio.h>
#include <stdlib.h>

/* Sources of the format: prometheus.io, HTTP API, "Expression queries";
 * VictoriaMetrics' cluster version adds isPartial beside status. */
struct bj_prom_reply {
    struct bj_json_stream *stream;
    struct bj_prom_sink sink;
    bool range, success, type;
    char why[200];
};

enum { WARNINGS, PARTIAL, STATUS, PROBLEM, TYPE, RESULT };

static int on_warning(void *ctx, struct bj_slice key, const struct bj_json *v,
                      struct bj_err *err)
{
    (void)key;
    struct bj_prom_reply *r = ctx;
    struct bj_slice text = bj_json_text(v);
    /* Warnings and infos about a query are not errors. */
    if (bj_slice_starts(text, BJ_SLICE("PromQL info")))
        return 0;
    bj_text_clean(text, r->why, sizeof(r->why));
    return bj_err_set(err, -EAGAIN, "the reply is incomplete: %s", r->why);
}

static int on_partial(void *ctx, struct bj_slice key, const struct bj_json *v,
                      struct bj_err *err)
{
    (void)ctx;
    (void)key;
    bool partial;
    if (bj_json_bool(v, &partial) == 0 && !partial)
        return 0;
    return bj_err_set(err, -EAGAIN, "the reply is incomplete: isPartial");
}

static int on_status(void *ctx, struct bj_slice key, const struct bj_json *v,
                     struct bj_err *err)
{
    (void)key;
    (void)err;
    struct bj_prom_reply *r = ctx;
    r->success = bj_slice_eq(bj_json_text(v), BJ_SLICE("success"));
    return 0;
}

static int on_problem(void *ctx, struct bj_slice key, const struct bj_json *v,
                      struct bj_err *err)
{
    (void)key;
    (void)err;
    struct bj_prom_reply *r = ctx;
    bj_text_clean(bj_json_text(v), r->why, sizeof(r->why));
    return 0;
}

static int on_type(void *ctx, struct bj_slice key, const struct bj_json *v,
                   struct bj_err *err)
{
    (void)key;
    struct bj_prom_reply *r = ctx;
    r->type = bj_slice_eq(bj_json_text(v),
                          r->range ? BJ_SLICE("matrix") : BJ_SLICE("vector"));
    return r->type ? 0
                   : bj_err_set(err, -EPROTO, "expected a %s",
                                r->range ? "matrix" : "vector");
}

static int on_result(void *ctx, struct bj_slice key, const struct bj_json *v,
                     struct bj_err *err)
{
    (void)key;
    struct bj_prom_reply *r = ctx;
    const struct bj_json *metric = bj_json_get(v, "metric");
    const struct bj_json *value = bj_json_get(v, r->range ? "values" : "value");
    if (bj_json_kind(metric) != BJ_JSON_OBJECT ||
        bj_json_kind(value) != BJ_JSON_ARRAY)
        return bj_err_set(err, -EPROTO, "a series without metric or value");
    return r->sink.series(r->sink.ctx, metric, value, err);
}

static const struct bj_json_target targets[] = {
    [WARNINGS] = {"warnings", on_warning},
    [PARTIAL] = {"isPartial", on_partial},
    [STATUS] = {"status", on_status},
    [PROBLEM] = {"error", on_problem},
    [TYPE] = {"data.resultType", on_type},
    [RESULT] = {"data.result", on_result},
    {NULL, NULL},
};

int bj_prom_reply_new(bool range, const struct bj_prom_sink *sink,
                      struct bj_prom_reply **ret, struct bj_err *err)
{
    const struct bj_json_limits limits = {
        .bytes = 8 << 20, .values = 400000, .depth = 12};
    struct bj_prom_reply *r = calloc(1, sizeof(*r));
    if (!r)
        return bj_err_set(err, -ENOMEM, "prometheus");
    r->range = range;
    r->sink = *sink;
    int e =
        bj_json_stream_new(targets, r, "prometheus", &limits, &r->stream, err);
    if (e < 0) {
        free(r);
        return e;
    }
    *ret = r;
    return 0;
}

void bj_prom_reply_free(struct bj_prom_reply *r)
{
    if (!r)
        return;
    bj_json_stream_free(r->stream);
    free(r);
}

/* A reply that is not JSON comes from another server. */
static int of_others(int r, struct bj_err *err)
{
    if (r == -EINVAL && err)
        err->code = -EPROTO;
    return r == -EINVAL ? -EPROTO : r;
}

int bj_prom_reply_feed(struct bj_prom_reply *r, struct bj_slice piece,
                       struct bj_err *err)
{
    return of_others(bj_json_stream_feed(r->stream, piece, err), err);
}

int bj_prom_reply_end(struct bj_prom_reply *r, struct bj_err *err)
{
    int e = of_others(bj_json_stream_end(r->stream, err), err);
    if (e < 0)
        return e;
    if (r->success && r->type && bj_json_stream_found(r->stream, RESULT))
        return 0;
    return bj_err_set(err, -EPROTO, "not a reply of Prometheus%s%s",
                      r->why[0] ? ": " : "", r->why);
}

void bj_prom_reply_why(struct bj_slice body, char *ret, size_t cap)
{
    struct bj_arena a = {0};
    const struct bj_json *doc = NULL;
    const struct bj_json_limits limits = {
        .bytes = 65536, .values = 100, .depth = 4};
    ret[0] = '\0';
    if (bj_json_parse(&a, body, "error", &limits, &doc, NULL) == 0)
        bj_text_clean(bj_json_text(bj_json_get(doc, "error")), ret, cap);
    bj_arena_free(&a);
}

int bj_prom_value(const struct bj_json *pair, unsigned digits, int64_t *ret,
                  int64_t *ret_sec)
{
    int64_t sec, v;
    if (bj_json_kind(pair) != BJ_JSON_ARRAY || bj_json_len(pair) != 2 ||
        bj_json_fixed(bj_json_at(pair, 0), 0, &sec) < 0 ||
        bj_json_fixed(bj_json_at(pair, 1), digits, &v) < 0)
        return -EINVAL;
    *ret = v;
    if (ret_sec)
        *ret_sec = sec;
    return 0;
}

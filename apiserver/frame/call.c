#include "apiserver/frame/call.h"

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    unsigned status;
    const char *type;
} types[] = {
    {400, "bad_data"},          {403, "forbidden"},
    {404, "not_found"},         {405, "method_not_allowed"},
    {406, "not_acceptable"},    {409, "ambiguous"},
    {411, "bad_data"},          {413, "bad_data"},
    {429, "too_many_requests"}, {501, "unavailable"},
    {503, "unavailable"},       {500, "internal"},
};

/* The errorType of a status. */
static const char *error_type(unsigned status)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (types[i].status == status)
            return types[i].type;
    return "internal";
}

int bj_call_refuse(struct bj_call *c, unsigned status, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(c->refusal, sizeof(c->refusal), fmt, ap);
    va_end(ap);
    struct bj_buf *b = &c->reply->body;
    c->reply->status = status;
    c->reply->type = "application/json";
    bj_buf_reset(b);
    bj_buf_printf(b, "{\"status\":\"error\",\"errorType\":\"%s\",\"error\":",
                  error_type(status));
    bj_json_string(b, bj_slice_str(c->refusal));
    bj_buf_str(b, ",\"data\":[]}\n");
    return (int)status;
}

void bj_call_log(const struct bj_call *c, const char *about)
{
    char text[320];
    bj_log(BJ_LOG_ERROR, NULL, "request %s: %s: %s", c->request_id, about,
           bj_err_text(&c->err, text, sizeof(text)));
}

void bj_call_about(struct bj_call *c, struct bj_slice s)
{
    bj_text_clean(s, c->about, sizeof(c->about));
}

void bj_call_header(struct bj_call *c, const char *name, const char *value)
{
    struct bj_http_reply *r = c->reply;
    for (size_t i = 0; i < sizeof(r->header) / sizeof(r->header[0]); i++)
        if (!r->header[i].name || strcmp(r->header[i].name, name) == 0) {
            r->header[i].name = name;
            r->header[i].value = value;
            return;
        }
}

void bj_call_open(struct bj_call *c)
{
    c->reply->type = "application/json";
    bj_buf_str(&c->reply->body, "{\"status\":\"success\",\"data\":");
}

/* Does the response include the lag?  Documents of the original API stay
 * unchanged. */
static bool has_lag(const struct bj_call *c)
{
    static const char v1[] = "/api/v1/";
    return c->lag[0] && c->endpoint &&
           strncmp(c->endpoint->path, v1, sizeof(v1) - 1) == 0;
}

void bj_call_close(struct bj_call *c, const char *more)
{
    static const char meta[] = ",\"meta\":{";
    struct bj_buf *b = &c->reply->body;
    if (has_lag(c)) {
        bj_buf_printf(b, "%s\"replica_lag_seconds\":%s%s", meta, c->lag,
                      *more ? "," : "}");
        more += *more ? sizeof(meta) - 1 : 0;
    }
    bj_buf_str(b, more);
    bj_buf_str(b, "}\n");
}

static int find_format(void *ctx, struct bj_slice key, struct bj_slice value)
{
    struct bj_slice *format = ctx;
    if (bj_slice_eq(key, BJ_SLICE("format")))
        *format = value;
    return 0;
}

/* CSV must be first in the list, because browsers end their list with
 * "anything". */
enum bj_shape bj_call_shape(const struct bj_call *c)
{
    struct bj_slice format = {0};
    bj_http_each_arg(c->req, find_format, &format);
    if (bj_slice_eq(format, BJ_SLICE("csv")))
        return BJ_SHAPE_CSV;
    if (bj_slice_eq(format, BJ_SLICE("json")))
        return BJ_SHAPE_OBJECTS;
    struct bj_slice accept = bj_http_header(c->req, "Accept");
    return bj_slice_starts(bj_slice_trim(accept), BJ_SLICE("text/csv"))
               ? BJ_SHAPE_CSV
               : BJ_SHAPE_OBJECTS;
}

void bj_call_rows(struct bj_call *c, struct bj_rows *rows,
                  const char *const *key, unsigned keys)
{
    enum bj_shape shape = bj_call_shape(c);
    if (shape == BJ_SHAPE_CSV)
        c->reply->type = "text/csv; charset=utf-8";
    else
        bj_call_open(c);
    bj_rows_begin(rows,
                  &(struct bj_output){.to = &c->reply->body, .shape = shape},
                  key, keys);
}

void bj_call_rows_end(struct bj_call *c, struct bj_rows *rows, const char *more)
{
    bj_rows_end(rows);
    if (rows->shape != BJ_SHAPE_CSV)
        bj_call_close(c, more);
}

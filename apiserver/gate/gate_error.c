#include "apiserver/gate/gate_error.h"

#include "base/json.h"

#include <stdarg.h>
#include <stdio.h>

/* Source: prometheus, web/api/v1/api.go, errorType. */
static const char *type_of(unsigned status)
{
    switch (status) {
    case 400:
    case 405:
    case 413:
        return "bad_data";
    case 403:
        return "forbidden";
    case 404:
        return "not_found";
    case 422:
        return "execution";
    case 499:
        return "canceled";
    case 429:
    case 502:
    case 503:
        return "unavailable";
    default:
        return "internal";
    }
}

static void put(struct bj_call *c, const char *type)
{
    struct bj_buf *b = &c->reply->body;
    c->reply->type = "application/json";
    b->len = 0;
    bj_buf_printf(
        b, "{\"status\":\"error\",\"errorType\":\"%s\",\"error\":", type);
    bj_json_string(b, bj_slice_str(c->refusal));
    bj_buf_str(b, "}\n");
}

void bj_gate_refused(struct bj_call *c)
{
    put(c, type_of(c->reply->status));
}

int bj_gate_refuse(struct bj_call *c, unsigned status, const char *type,
                   const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(c->refusal, sizeof(c->refusal), fmt, ap);
    va_end(ap);
    c->reply->status = status;
    put(c, type);
    return (int)status;
}

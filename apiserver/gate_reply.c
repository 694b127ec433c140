#include "apiserver/gate_reply.h"

#include "apiserver/gate_error.h"
#include "apiserver/state.h"

#include <strings.h>

enum { STREAM_BYTES = 32 * 1024 };

static bool equals(struct bj_slice s, const char *word)
{
    return s.n == strlen(word) && strncasecmp(s.p, word, s.n) == 0;
}

/* Is the reply one that Prometheus itself made? */
static bool is_json(const struct bj_fetch_reply *reply)
{
    static const char json[] = "application/json";
    struct bj_slice type = bj_fetch_header(reply, "Content-Type");
    return type.n >= sizeof(json) - 1 &&
           strncasecmp(type.p, json, sizeof(json) - 1) == 0;
}

int bj_gate_reply_check(struct bj_gate_job *j,
                        const struct bj_fetch_reply *reply)
{
    unsigned s = reply->status;
    struct bj_slice coding = bj_fetch_header(reply, "Content-Encoding");
    bool plain = coding.n == 0 || equals(coding, "identity");
    if (s == 401 || s == 403 || s == 407)
        return bj_gate_refuse(j->call, 502, "unavailable",
                              "The Prometheus server refuses the credentials "
                              "of this server (status %u).",
                              s);
    if (s < 200 || s / 100 == 3 || !is_json(reply))
        return bj_gate_refuse(j->call, s == 503 ? 503 : 502, "unavailable",
                              "The reply is not one of Prometheus (status %u).",
                              s);
    if (!plain && !(j->gzip && equals(coding, "gzip")))
        return bj_gate_refuse(j->call, 502, "unavailable",
                              "The Prometheus server compressed its reply in "
                              "an unknown way.");
    return 0;
}

static int too_large(const struct bj_gate_job *j)
{
    return bj_gate_refuse(j->call, 422, "execution",
                          "The response is larger than gate.max-bytes; use a "
                          "longer step or fewer series.");
}

int bj_gate_reply_begin(struct bj_gate_job *j,
                        const struct bj_fetch_reply *reply,
                        void (*wake)(void *ctx), void *ctx)
{
    struct bj_call *c = j->call;
    uint64_t length = 0;
    if (bj_slice_u64(bj_fetch_header(reply, "Content-Length"), &length) == 0 &&
        length > j->request.fetch.max_bytes)
        return too_large(j);
    if (j->convert)
        return 0;
    j->stream = bj_stream_new(STREAM_BYTES, wake, ctx);
    if (!j->stream)
        return bj_gate_refuse(c, 500, "internal",
                              "The server is out of memory.");
    c->reply->status = reply->status;
    c->reply->type = "application/json";
    c->reply->stream = j->stream;
    c->reply->stream_bytes = length;
    if (equals(bj_fetch_header(reply, "Content-Encoding"), "gzip"))
        bj_call_header(c, "Content-Encoding", "gzip");
    bj_call_header(c, "Vary", "Accept-Encoding");
    return 0;
}

void bj_gate_reply_whole(struct bj_gate_job *j,
                         const struct bj_fetch_reply *reply)
{
    struct bj_call *c = j->call;
    struct bj_slice body = {j->whole.p, j->whole.len};
    if (j->whole.failed) {
        bj_gate_refuse(c, 500, "internal", "The server is out of memory.");
        return;
    }
    c->reply->status = reply->status;
    c->reply->type = "application/json";
    if (reply->status / 100 != 2)
        bj_buf_slice(&c->reply->body, body);
    else if (j->convert(c, body) > 0)
        bj_gate_refused(c);
}

#include "apiserver/gate/gate_reply.h"

#include "apiserver/frame/state.h"
#include "apiserver/gate/gate_error.h"

#include <strings.h>

static bool equals(struct bj_slice s, const char *word)
{
    return s.n == strlen(word) && strncasecmp(s.p, word, s.n) == 0;
}

/* Is the reply from Prometheus itself? */
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
    if (s == 204) /* no exemplars are kept; it has no body */
        return 0;
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
                        const struct bj_fetch_reply *reply)
{
    j->length = 0;
    if (bj_slice_u64(bj_fetch_header(reply, "Content-Length"), &j->length) ==
            0 &&
        j->length > j->request.fetch.max_bytes)
        return too_large(j);
    j->status = reply->status;
    j->packed = equals(bj_fetch_header(reply, "Content-Encoding"), "gzip");
    return 0;
}

static void set_head(struct bj_gate_job *j)
{
    struct bj_call *c = j->call;
    c->reply->status = j->status;
    c->reply->type = "application/json";
    if (j->packed)
        bj_call_header(c, "Content-Encoding", "gzip");
    bj_call_header(c, "Vary", "Accept-Encoding");
}

static int no_memory(struct bj_gate_job *j)
{
    return bj_gate_refuse(j->call, 500, "internal",
                          "The server is out of memory.");
}

int bj_gate_reply_stream(struct bj_gate_job *j, void (*wake)(void *ctx),
                         void *ctx)
{
    size_t cap = 2 * j->request.fetch.piece_bytes;
    struct bj_stream *s = NULL;
    if (!j->reply_body.failed)
        s = bj_stream_new(cap > j->reply_body.len ? cap : j->reply_body.len,
                          wake, ctx);
    if (!s)
        return no_memory(j);
    bj_stream_put(s, (struct bj_slice){j->reply_body.p, j->reply_body.len});
    bj_buf_free(&j->reply_body);
    set_head(j);
    j->call->reply->stream = j->stream = s;
    j->call->reply->stream_bytes = j->length;
    return 0;
}

void bj_gate_reply_body(struct bj_gate_job *j)
{
    struct bj_call *c = j->call;
    const struct bj_buf spare = c->reply->body;
    if (j->reply_body.failed) {
        no_memory(j);
        return;
    }
    set_head(j);
    if (!j->keep || j->status / 100 != 2) {
        c->reply->body = j->reply_body;
        j->reply_body = spare;
    } else if (!(c->work = bj_gate_kept_new(j))) {
        no_memory(j);
    }
}

/* Responses of a Prometheus server, in pieces of any size: a series is passed
 * on whole or not at all, and a malformed response is an error. */
#include "base/text.h"
#include "statsdb/prom/prom.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <string.h>

struct seen {
    size_t series, values;
    int64_t sum;
};

static int on_series(void *ctx, const struct bj_json *metric,
                     const struct bj_json *value, struct bj_err *err)
{
    (void)err;
    struct seen *s = ctx;
    int64_t v, at;
    MUST(bj_json_kind(metric) == BJ_JSON_OBJECT);
    MUST(bj_json_kind(value) == BJ_JSON_ARRAY);
    s->series++;
    BJ_JSON_EACH(pair, value)
    {
        if (bj_prom_value(pair, 6, &v, &at) == 0) {
            s->values++;
            s->sum = (int64_t)((uint64_t)s->sum + (uint64_t)v + (uint64_t)at);
        }
    }
    if (bj_prom_value(value, 3, &v, NULL) == 0)
        s->values++;
    return 0;
}

static int read_in(struct bj_slice in, bool range, size_t piece,
                   struct seen *seen)
{
    const struct bj_prom_sink sink = {seen, on_series};
    struct bj_prom_reply *r;
    struct bj_err err = {0};
    MUST(bj_prom_reply_new(range, &sink, &r, &err) == 0);
    int e = 0;
    while (e == 0 && in.n > 0) {
        size_t n = in.n < piece ? in.n : piece;
        e = bj_prom_reply_feed(r, (struct bj_slice){in.p, n}, &err);
        in.p += n;
        in.n -= n;
    }
    if (e == 0)
        e = bj_prom_reply_end(r, &err);
    MUST(e == 0 || (err.code == e && err.msg[0]));
    MUST(e == 0 || e == -EPROTO || e == -EAGAIN || e == -EFBIG);
    bj_prom_reply_free(r);
    return e;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    char *mem, why[100];
    struct bj_slice in = fuzz_exact(data + 1, size - 1, &mem);
    struct seen a = {0}, b = {0};
    bool range = data[0] & 1;
    int r = read_in(in, range, 1 + data[0] / 2, &a);
    MUST(read_in(in, range, SIZE_MAX, &b) == r);
    if (r == 0)
        MUST(memcmp(&a, &b, sizeof(a)) == 0);
    bj_prom_reply_why(in, why, sizeof(why));
    MUST(memchr(why, '\0', sizeof(why)));
    free(mem);
    return 0;
}

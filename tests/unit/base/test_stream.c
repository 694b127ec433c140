/* The pipe of a streamed response: bytes keep their order for all sizes of
 * writes and reads, a full pipe refuses more, and each side notices when the
 * other one ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the includes above */
#include <cmocka.h>

#include "base/stream.h"

#include <errno.h>

enum { CAP = 64, TOTAL = 20000 };

static void note(void *ctx)
{
    ++*(unsigned *)ctx;
}

/* xorshift64* with a fixed start: each run is the same. */
static size_t chance(size_t below)
{
    static uint64_t x = 88172645463325252u;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    return (size_t)((x * 2685821657736338717u >> 33) % below);
}

static char byte_at(size_t i)
{
    return (char)(i * 7 + i / 251);
}

/* Put at most n bytes, from position at on; returns how many were put. */
static size_t put_some(struct bj_stream *s, size_t at, size_t n)
{
    char piece[CAP];
    n = n < TOTAL - at ? n : TOTAL - at;
    for (size_t i = 0; i < n; i++)
        piece[i] = byte_at(at + i);
    int r = bj_stream_put(s, (struct bj_slice){piece, n});
    assert_true(r >= 0 || r == -EAGAIN);
    assert_int_equal(bj_stream_is_full(s), r < 0 || (r & BJ_STREAM_FULL));
    return r < 0 ? 0 : n;
}

static void bytes_keep_their_order(void **state)
{
    unsigned woken = 0;
    size_t in = 0, out = 0;
    struct bj_stream *s = bj_stream_new(CAP, note, &woken);
    (void)state;
    assert_non_null(s);
    while (out < TOTAL) {
        char got[CAP + 8];
        size_t had = in - out;
        size_t n = put_some(s, in, chance(CAP + 1));
        assert_true(had + n <= CAP);
        in += n;
        long k = bj_stream_take(s, got, 1 + chance(sizeof(got)));
        assert_true(k >= 0 && (size_t)k <= in - out);
        assert_true(k > 0 || in == out);
        for (long i = 0; i < k; i++)
            assert_int_equal(got[i], byte_at(out + (size_t)i));
        out += (size_t)k;
        assert_int_equal(bj_stream_is_ready(s), in > out);
    }
    assert_true(woken > 0);
    bj_stream_end(s, true);
    assert_int_equal(bj_stream_take(s, &(char){0}, 1), BJ_STREAM_END);
    bj_stream_close(s);
}

static void a_full_pipe_refuses(void **state)
{
    static const char bytes[CAP] = "x";
    unsigned woken = 0;
    char got[CAP];
    struct bj_stream *s = bj_stream_new(CAP, note, &woken);
    (void)state;
    assert_non_null(s);
    assert_int_equal(bj_stream_take(s, got, CAP), 0);
    assert_int_equal(bj_stream_put(s, (struct bj_slice){bytes, CAP / 2}),
                     BJ_STREAM_WAITED);
    assert_int_equal(bj_stream_put(s, (struct bj_slice){bytes, CAP / 2}),
                     BJ_STREAM_FULL);
    assert_int_equal(bj_stream_put(s, (struct bj_slice){bytes, 1}), -EAGAIN);
    /* a small read does not wake the writer */
    assert_int_equal(bj_stream_take(s, got, 1), 1);
    assert_int_equal(woken, 0);
    assert_int_equal(bj_stream_take(s, got, CAP - CAP / 4 - 1),
                     CAP - CAP / 4 - 1);
    assert_int_equal(woken, 1);
    assert_false(bj_stream_is_full(s));
    bj_stream_close(s);
    assert_int_equal(woken, 2);
    assert_true(bj_stream_is_closed(s));
    assert_int_equal(bj_stream_put(s, (struct bj_slice){bytes, 1}), -EPIPE);
    bj_stream_end(s, false);
}

static void the_reader_notices_the_end(void **state)
{
    char got[CAP];
    unsigned woken = 0;
    (void)state;
    for (int complete = 0; complete < 2; complete++) {
        struct bj_stream *s = bj_stream_new(CAP, note, &woken);
        assert_non_null(s);
        assert_int_equal(bj_stream_put(s, BJ_SLICE("abc")), 0);
        bj_stream_end(s, complete);
        assert_true(bj_stream_has_ended(s) && bj_stream_is_ready(s));
        assert_int_equal(bj_stream_take(s, got, CAP), 3);
        assert_memory_equal(got, "abc", 3);
        assert_int_equal(bj_stream_take(s, got, CAP),
                         complete ? BJ_STREAM_END : BJ_STREAM_BROKEN);
        bj_stream_close(s);
    }
    assert_int_equal(woken, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_keep_their_order),
        cmocka_unit_test(a_full_pipe_refuses),
        cmocka_unit_test(the_reader_notices_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

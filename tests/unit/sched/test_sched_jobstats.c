/* sched/jobstats.h: comments that Python's gzip and base64 made of the JSON
 * above each, as jobstats does; damaged ones; and a large text that is small
 * when compressed. */
#include "base/absent.h"
#include "sched/jobstats.h"
#include "tests/unit/sched/test_sched.h"

#include <errno.h>
#include <zlib.h>

#define A BJ_ABSENT

static int decode(const char *text, struct bj_jobstats *ret)
{
    struct bj_arena a = {0};
    int r = bj_jobstats_read(&a, bj_slice_str(text), ret, NULL);
    bj_arena_free(&a);
    return r;
}

static const struct {
    const char *text;
    struct bj_jobstats want;
} cases[] = {
    /* {"nodes":{"tiger-h26c1n4":{"total_memory":214748364800,"used_memory":4
     * 2949672960,"total_time":33925.4,"cpus":40},"tiger-h26c1n5":{"total_mem
     * ory":214748364800,"used_memory":1073741824,"total_time":0.4,"cpus":40}
     * },"total_time":900,"gpus":0} */
    {"JS1:H4sIAAAAAAACA5XNTQqDMBCG4bvMOpXJZMzfZUrRYIXGFI0Lkdy9VqGQZbfz"
     "Mt+zw5T6sIDfIY9DmG9P0p2c+Dyk/HjdY4hp3sCTZMNWabaIAtYl9L/E5NhpQ04f"
     "5frKYwzglXLUNiyge6+HwVhExbR/MRKNMiwtca1gJZQ6uu/McEYsH56G19HuAAAA",
     {2, 0, 0, 900, 80, 33925800000, 44023414784, 429496729600, 1, A, A}},
    /* {"nodes":{"g1":{"total_memory":1000,"used_memory":500,"total_time":10,
     * "cpus":4,"gpu_total_memory":{"0":85899345920,"1":85899345920},"gpu_use
     * d_memory":{"0":1000,"1":0},"gpu_utilization":{"0":97.5,"1":0}}},"total
     * _time":100,"gpus":2} */
    {"JS1:H4sIAAAAAAACA12O3QqEIBCF32WuZRnbpPRlIkpCyIwaL3bFd1/NCNybgTl8"
     "5yfA5mZ9ggqw8HzJ0bgOVlt3fEBxRGTgTz0/kshKochYnRkG0+5TRstg2f1QRwRA"
     "UL3opXy3QjYJ5tUfi6nquDylO8EPQmY135GM225Edi9xIzH+r8LLlWY18QcFVMvE"
     "5gAAAA==",
     {1, 2, 2, 100, 4, 10000000, 500, 1000, 0, 487500, 1000}},
    /* {"nodes":{"g1":{"total_memory":1000,"used_memory":500,"total_time":10,
     * "cpus":4,"gpu_total_memory":{"0":10},"gpu_used_memory":{"0":5}}},"tota
     * l_time":100,"gpus":1} */
    {"JS1:H4sIAAAAAAACA6tWystPSS1WsqpWSjcEkSX5JYk58bmpuflFlUpWhgYGBjpK"
     "pcWpKXAhU5AIRFVJZm4qSI2OUnJBKdAMEx2l9ILSeFQjqpUMQGpqIXIoRoGlTGtr"
     "a9ENNAArBppoWAsA2t88mqEAAAA=",
     {1, 1, 0, 100, 4, 10000000, 500, 1000, 0, A, 5}},
    /* {"nodes":{"a":{"total_memory":1000,"used_memory":500,"total_time":10,"
     * cpus":4},"b":{"cpus":4}},"total_time":100,"gpus":0} */
    {"JS1:H4sIAAAAAAACA6tWystPSS1WsqpWSgQRJfkliTnxuam5+UWVSlaGBgYGOkql"
     "xakpcCFTkAhEVUlmbipIjY5SckEp0AiTWh2lJJAhMG4tukqg0nSwnEEtABs8dfd5"
     "AAAA",
     {2, 0, 0, 100, 8, A, A, A, A, A, A}},
    /* One GPU is only in the list of used memory:
     * {"nodes":{"g1":{"total_memory":1000,"used_memory":500,"total_time":10,
     * "cpus":4,"gpu_total_memory":{"0":10},"gpu_used_memory":{"0":5,"1":6},
     * "gpu_utilization":{"0":50}}},"total_time":100,"gpus":2} */
    {"JS1:H4sIAAAAAAACA12NMQqAMBAE/7J1ilPUws+IaJCAMaKXQsP93SSioM0WO8NuwOJG"
     "vaMNmIqU7LifO6ut2w60BREp+F2Pb1Wn5rbYWJ0chWH1caNSmFbffScCKDlys89URrVC"
     "PG4ezmY2Z8/GLQ8nEfk/UrbjZSkX+94SYMIAAAA=",
     {1, 2, 1, 100, 4, 10000000, 500, 1000, 0, A, 11}},
    /* Nothing was measured on one node, and less than 0.05 s on the other:
     * {"nodes":{"a":{"total_memory":1000,"used_memory":0,"total_time":0,
     * "cpus":4},"b":{"total_memory":1000,"used_memory":7,"total_time":0.0,
     * "cpus":4}},"total_time":100,"gpus":0} */
    {"JS1:H4sIAAAAAAACA6tWystPSS1WsqpWSgQRJfkliTnxuam5+UWVSlaGBgYGOkqlxakp"
     "cCEgH6KmJDM3FcxNLigF6jep1VFKIsoEczQT9JDMqEWVMwRpTgfLGdQCAEOp2z+rAAAA",
     {2, 0, 0, 100, 8, A, A, 2000, A, A, A}},
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bj_jobstats got;
        assert_int_equal(decode(cases[i].text, &got), 0);
        assert_memory_equal(&got, &cases[i].want, sizeof(got));
    }
}

static void test_no_statistics(void **state)
{
    (void)state;
    struct bj_jobstats got;
    static const char *const texts[] = {
        "", "JS1", "a comment", "JS1:Short", "JS1:None",
        /* no node */
        "JS1:"
        "H4sIAAAAAAACA6tWystPSS1Wsqqu1VEqyS9JzIkvycxNVbLSNdRRSi8oBcoY1AIApHPI9i"
        "UAAAA="};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_int_equal(decode(texts[i], &got), -ENOENT);
}

/* Truncated and changed comments are refused: gzip has a checksum. */
static void test_damage(void **state)
{
    (void)state;
    struct bj_jobstats got;
    char text[1024];
    size_t n = strlen(cases[0].text);
    assert_true(n < sizeof(text));
    for (size_t i = 4; i < n; i++) {
        memcpy(text, cases[0].text, n + 1);
        text[i] = '\0';
        assert_int_equal(decode(text, &got), -EINVAL);
    }
    memcpy(text, cases[0].text, n + 1);
    text[n / 2] = text[n / 2] == 'A' ? 'B' : 'A';
    assert_int_equal(decode(text, &got), -EINVAL);
    text[n / 2] = '*';
    assert_int_equal(decode(text, &got), -EINVAL);
}

static void encode(const unsigned char *p, size_t n, char *to)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        unsigned v = (unsigned)p[i] << 16;
        v |= i + 1 < n ? (unsigned)p[i + 1] << 8 : 0;
        v |= i + 2 < n ? p[i + 2] : 0;
        for (int k = 0; k < 4; k++)
            *to++ = digits[v >> (18 - 6 * k) & 63];
        if (i + 1 >= n)
            to[-2] = '=';
        if (i + 2 >= n)
            to[-1] = '=';
    }
    *to = '\0';
}

/* 16 MiB of blanks that are compressed to 16 KiB. */
static void test_bomb(void **state)
{
    (void)state;
    static unsigned char zipped[65536];
    static char text[100000] = "JS1:", blanks[65536];
    struct bj_jobstats got;
    z_stream z = {.next_out = zipped, .avail_out = sizeof(zipped)};
    memset(blanks, ' ', sizeof(blanks));
    assert_int_equal(
        deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    for (int i = 0; i < 256; i++) {
        z.next_in = (Bytef *)blanks;
        z.avail_in = sizeof(blanks);
        assert_int_equal(deflate(&z, i == 255 ? Z_FINISH : Z_NO_FLUSH),
                         i == 255 ? Z_STREAM_END : Z_OK);
    }
    encode(zipped, z.total_out, text + 4);
    deflateEnd(&z);
    assert_int_equal(decode(text, &got), -EFBIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_no_statistics),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_bomb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

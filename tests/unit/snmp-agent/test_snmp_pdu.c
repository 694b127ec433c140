/* AgentX: requests as net-snmp 5.9.3 sends them (recorded between snmpd and
 * batchjob_snmp), the responses that it accepted, and bytes that no master
 * sends. */
#include "snmp-agent/pdu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { SESSION = 6, MOST = 4096 };

/* 1.3.6.1.4.1.8072.9999.9999.9010, 1.1.1.0 below it, and 4.1 */
static const struct bj_oid version = {
    14, {1, 3, 6, 1, 4, 1, 8072, 9999, 9999, 9010, 1, 1, 1, 0}};

static int hex(const char *text, unsigned char *ret)
{
    int n = 0;
    unsigned v = 0;
    for (; *text; text++) {
        const char *digits = "0123456789abcdef";
        const char *at = strchr(digits, *text);
        if (!at)
            continue;
        v = v << 4 | (unsigned)(at - digits);
        if (++n % 2 == 0)
            ret[n / 2 - 1] = (unsigned char)v;
    }
    return n / 2;
}

/* One object: version is "0.3.0". */
static struct bj_value one_get(void *ctx, const struct bj_oid *name)
{
    (void)ctx;
    if (bj_oid_compare(name, &version) == 0)
        return (struct bj_value){.type = BJ_VALUE_TEXT,
                                 .text = BJ_SLICE("0.3.0")};
    return (struct bj_value){.type = BJ_VALUE_NO_OBJECT};
}

static bool one_next(void *ctx, struct bj_oid *name, bool include,
                     struct bj_value *ret)
{
    int order = bj_oid_compare(name, &version);
    if (include ? order > 0 : order >= 0)
        return false;
    *name = version;
    *ret = one_get(ctx, name);
    return true;
}

static const struct bj_objects one = {NULL, one_get, one_next};

/* Answer the request; the response, or the result below 0. */
static int answer(const char *request, struct bj_buf *out)
{
    unsigned char bytes[MOST];
    struct bj_pdu pdu;
    struct bj_err err = {0};
    int n = hex(request, bytes);
    assert_true(n >= BJ_PDU_HEADER);
    int r = bj_pdu_read(bytes, &pdu, &err);
    if (r < 0)
        return r;
    assert_int_equal(pdu.length, n - BJ_PDU_HEADER);
    /* Exactly as long, so that sanitizers see a read past the end. */
    unsigned char *payload = malloc(pdu.length ? pdu.length : 1);
    memcpy(payload, bytes + BJ_PDU_HEADER, pdu.length);
    r = bj_pdu_answer(&pdu, payload, SESSION, &one, out, &err);
    free(payload);
    return r;
}

static void expect(const char *request, const char *response)
{
    unsigned char want[MOST];
    struct bj_buf out = {0};
    size_t n = (size_t)hex(response, want);
    assert_int_equal(answer(request, &out), 0);
    assert_int_equal(out.len, n);
    if (n > 0)
        assert_memory_equal(out.p, want, n);
    bj_buf_free(&out);
}

#define GET_HEAD "0105 1000 00000006 00000001 00000002"
#define ANSWER_HEAD "0112 1000 00000006 00000001 00000002"
#define VERSION_OID                                                            \
    "09040000 00000001 00001f88 0000270f 0000270f 00002332 00000001 00000001 " \
    "00000001 00000000"
#define NO_OID "00000000"
#define VERSION_VALUE "00040000" VERSION_OID "00000005 302e332e30 000000"

static void recorded_requests(void **state)
{
    (void)state;
    expect(GET_HEAD "0000002c" VERSION_OID NO_OID,
           ANSWER_HEAD "00000040 00000000 0000 0000" VERSION_VALUE);
    /* Two ranges: the first has the object, the second one nothing. */
    expect("0106 1000 00000006 00000003 00000004 00000068"
           "05040000 00000001 00001f88 0000270f 0000270f 00002332"
           "05040000 00000001 00001f88 0000270f 0000270f 00002333"
           "07040000 00000001 00001f88 0000270f 0000270f 00002332 00000004 "
           "00000001"
           "05040000 00000001 00001f88 0000270f 0000270f 00002333",
           "0112 1000 00000006 00000003 00000004 00000064 00000000 0000 "
           "0000" VERSION_VALUE "00820000"
           "07040000 00000001 00001f88 0000270f 0000270f 00002332 00000004 "
           "00000001");
    /* TestSet: notWritable, for the first variable; CleanupSet: nothing. */
    expect("0108 1000 00000006 00000005 00000006 00000034"
           "00040000" VERSION_OID "00000001 78000000",
           "0112 1000 00000006 00000005 00000006 00000008 00000000 0011 0001");
    expect("010b 1000 00000006 00000005 00000007 00000000", "");
}

/* The same Get with the integers of a little-endian machine (RFC 2741 6.1). */
static void byte_order(void **state)
{
    (void)state;
    expect("0105 0000 06000000 01000000 02000000 2c000000"
           "09040000 01000000 881f0000 0f270000 0f270000 32230000 01000000 "
           "01000000 01000000 00000000" NO_OID,
           ANSWER_HEAD "00000040 00000000 0000 0000" VERSION_VALUE);
}

static void refusals(void **state)
{
    (void)state;
    /* CommitSet, UndoSet, a type without meaning, another session, a context
     * of its own: commitFailed, undoFailed, processingError, notOpen,
     * unsupportedContext. */
    expect("0109 1000 00000006 00000001 00000002 00000000",
           ANSWER_HEAD "00000008 00000000 000e 0001");
    expect("010a 1000 00000006 00000001 00000002 00000000",
           ANSWER_HEAD "00000008 00000000 000f 0001");
    expect("0163 1000 00000006 00000001 00000002 00000000",
           ANSWER_HEAD "00000008 00000000 010c 0000");
    expect("0105 1000 00000007 00000001 00000002 0000002c" VERSION_OID NO_OID,
           "0112 1000 00000007 00000001 00000002 00000008 00000000 0101 0000");
    expect("0105 1800 00000006 00000001 00000002 0000002c" VERSION_OID NO_OID,
           ANSWER_HEAD "00000008 00000000 0106 0000");
}

/* GetBulk: one variable without repetition, one with two. */
static void bulk(void **state)
{
    (void)state;
    expect("0107 1000 00000006 00000001 00000002 0000001c"
           "0001 0002" NO_OID NO_OID "02000000 00000001 00000003" NO_OID,
           ANSWER_HEAD "000000a4 00000000 0000 0000" VERSION_VALUE VERSION_VALUE
                       "00820000" VERSION_OID);
}

static void malformed(void **state)
{
    (void)state;
    static const char *const cases[] = {
        /* version 2; a length that is no multiple of 4; one above 1 MiB */
        "0205 1000 00000006 00000001 00000002 00000000",
        "0105 1000 00000006 00000001 00000002 00000003",
        "0105 1000 00000006 00000001 00000002 7ffffffc",
        /* 129 sub-identifiers; 124 behind a prefix of five; a name, no end */
        GET_HEAD "00000004 81000000",
        GET_HEAD "00000004 7c040000",
        GET_HEAD "00000028" VERSION_OID,
        /* GetBulk without counts */
        "0107 1000 00000006 00000001 00000002 00000000",
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        unsigned char bytes[MOST];
        struct bj_pdu pdu;
        struct bj_buf out = {0};
        struct bj_err err = {0};
        hex(cases[i], bytes);
        int r = bj_pdu_read(bytes, &pdu, &err);
        if (r == 0)
            r = answer(cases[i], &out);
        if (r != -EPROTO || out.len != 0)
            fail_msg("case %zu: %d, %zu bytes", i, r, out.len);
        bj_buf_free(&out);
    }
}

/* Every payload that is cut is malformed, and nothing is read past its end. */
static void cut_short(void **state)
{
    (void)state;
    unsigned char bytes[MOST];
    hex(GET_HEAD "0000002c" VERSION_OID NO_OID, bytes);
    for (uint32_t n = 4; n < 44; n += 4) {
        struct bj_pdu pdu;
        struct bj_buf out = {0};
        struct bj_err err = {0};
        assert_int_equal(bj_pdu_read(bytes, &pdu, &err), 0);
        pdu.length = n;
        unsigned char *payload = malloc(n);
        memcpy(payload, bytes + BJ_PDU_HEADER, n);
        if (bj_pdu_answer(&pdu, payload, SESSION, &one, &out, &err) != -EPROTO)
            fail_msg("%u bytes", n);
        free(payload);
        bj_buf_free(&out);
    }
}

/* A prefix counts, too: 123 sub-identifiers after it are a name, 124 are not.
 */
static void longest_name(void **state)
{
    (void)state;
    for (unsigned n = 123; n <= 124; n++) {
        struct bj_pdu pdu = {.type = BJ_PDU_GET,
                             .flags = 0x10,
                             .session = SESSION,
                             .length = 4 + 4 * n + 4};
        struct bj_buf out = {0};
        struct bj_err err = {0};
        unsigned char *payload = calloc(1, pdu.length);
        payload[0] = (unsigned char)n;
        payload[1] = 4;
        assert_int_equal(
            bj_pdu_answer(&pdu, payload, SESSION, &one, &out, &err),
            n == 123 ? 0 : -EPROTO);
        free(payload);
        bj_buf_free(&out);
    }
}

/* Values on the wire (RFC 2741 5.4): 64 bits, 32 bits with their limit, texts
 * that are cut before a character that does not fit. */
static void values(void **state)
{
    (void)state;
    static const struct bj_oid name = {1, {1}};
    char text[300];
    unsigned char want[MOST];
    struct bj_buf out = {0};
    bj_pdu_put_value(&out, &name,
                     &(struct bj_value){.type = BJ_VALUE_COUNTER64,
                                        .number = 0x0102030405060708});
    bj_pdu_put_value(&out, &name,
                     &(struct bj_value){.type = BJ_VALUE_GAUGE32,
                                        .number = (uint64_t)1 << 32});
    bj_pdu_put_value(&out, &name,
                     &(struct bj_value){.type = BJ_VALUE_INTEGER, .number = 2});
    size_t n = (size_t)hex("0046 0000 01000000 00000001 01020304 05060708"
                           "0042 0000 01000000 00000001 ffffffff"
                           "0002 0000 01000000 00000001 00000002",
                           want);
    assert_int_equal(out.len, n);
    assert_memory_equal(out.p, want, n);
    out.len = 0;
    memset(text, 'a', sizeof(text));
    memcpy(text + 254, "\xc3\xa9", 2); /* the limit is in this character */
    bj_pdu_put_text(&out, (struct bj_slice){text, sizeof(text)});
    assert_int_equal(out.len, 4 + 256);
    assert_memory_equal(out.p, "\0\0\0\xfe", 4);
    assert_int_equal(out.p[4 + 253], 'a');
    assert_int_equal(out.p[4 + 254], 0);
    bj_buf_free(&out);
}

static void identifiers(void **state)
{
    (void)state;
    struct bj_oid oid;
    struct bj_err err = {0};
    assert_int_equal(
        bj_oid_parse("1.3.6.1.4.1.8072.9999.9999.9010", 10, &oid, &err), 0);
    assert_int_equal(oid.n, 10);
    assert_int_equal(oid.id[9], 9010);
    assert_int_equal(bj_oid_parse(".1.3.4294967295", 10, &oid, &err), 0);
    assert_int_equal(oid.id[2], UINT32_MAX);
    static const char *const wrong[] = {
        "",         ".",     "1",    "1.",   "1..3",
        "3.1",      "1.3.a", "-1.3", "1.3 ", "1.3.4294967296",
        "1.3.6.1.4"};
    for (size_t i = 0; i < COUNT(wrong); i++)
        if (bj_oid_parse(wrong[i], 4, &oid, &err) != -EINVAL)
            fail_msg("'%s'", wrong[i]);
    assert_non_null(strstr(err.msg, "'1.3.6.1.4' is not an object identifier "
                                    "of 2 to 4 numbers"));
    oid.n = BJ_OID_MAX - 1;
    assert_true(bj_oid_add(&oid, (const uint32_t[]){7}, 1));
    assert_false(bj_oid_add(&oid, (const uint32_t[]){7}, 1));
    assert_int_equal(oid.n, BJ_OID_MAX);
}

/* A name that is not below 1.3.6.1 is sent whole, one at 1.3.6.1 too. */
static void prefixes(void **state)
{
    (void)state;
    static const struct {
        struct bj_oid oid;
        const char *bytes;
    } cases[] = {
        {{0, {0}}, "00000000"},
        {{4, {1, 3, 6, 1}}, "04000000 00000001 00000003 00000006 00000001"},
        {{5, {1, 3, 6, 1, 2}}, "00020000"},
        {{6, {1, 3, 6, 1, 300, 1}},
         "06000000 00000001 00000003 00000006 00000001 0000012c 00000001"},
        {{6, {1, 3, 6, 1, 0, 1}},
         "06000000 00000001 00000003 00000006 00000001 00000000 00000001"},
        {{3, {2, 999, 1}}, "03000000 00000002 000003e7 00000001"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        unsigned char want[MOST];
        struct bj_buf out = {0};
        size_t n = (size_t)hex(cases[i].bytes, want);
        bj_pdu_put_oid(&out, &cases[i].oid);
        assert_int_equal(out.len, n);
        assert_memory_equal(out.p, want, n);
        bj_buf_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_requests),
        cmocka_unit_test(byte_order),
        cmocka_unit_test(refusals),
        cmocka_unit_test(bulk),
        cmocka_unit_test(malformed),
        cmocka_unit_test(cut_short),
        cmocka_unit_test(values),
        cmocka_unit_test(identifiers),
        cmocka_unit_test(prefixes),
        cmocka_unit_test(longest_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* snmp-agent/pdu.c: a PDU of any bytes is refused, or answered with one whole
 * Response with the same ids; nothing is read past the payload. */
#include "snmp-agent/pdu.h"

#include "tests/fuzz/fuzz.h"

enum { OBJECTS = 3 };

/* Objects at the beginning, the middle and the end of all names. */
static struct bj_oid objects[OBJECTS] = {
    {2, {0, 0}}, {7, {1, 3, 6, 1, 4, 1, 8072}}, {BJ_OID_MAX, {2, UINT32_MAX}}};

static struct bj_value value_get(void *ctx, const struct bj_oid *name)
{
    (void)ctx;
    for (uint64_t i = 0; i < OBJECTS; i++)
        if (bj_oid_compare(name, &objects[i]) == 0)
            return (struct bj_value){.type = BJ_VALUE_COUNTER64, .number = i};
    return (struct bj_value){.type = BJ_VALUE_NO_INSTANCE};
}

static bool value_next(void *ctx, struct bj_oid *name, bool include,
                       struct bj_value *ret)
{
    for (int i = 0; i < OBJECTS; i++) {
        int order = bj_oid_compare(&objects[i], name);
        if (order < 0 || (order == 0 && !include))
            continue;
        *name = objects[i];
        *ret = value_get(ctx, name);
        return true;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct bj_objects all = {NULL, value_get, value_next};
    struct bj_pdu pdu, response;
    struct bj_buf out = {0};
    struct bj_err err = {0};
    uint16_t error;
    char *mem;
    if (size < BJ_PDU_HEADER || bj_pdu_read(data, &pdu, &err) < 0)
        return 0;
    /* The fuzzer need not find the length. */
    pdu.length = (uint32_t)(size - BJ_PDU_HEADER) & ~3u;
    const struct bj_slice payload =
        fuzz_exact(data + BJ_PDU_HEADER, pdu.length, &mem);
    const unsigned char *bytes = (const unsigned char *)payload.p;
    int r = bj_pdu_answer(&pdu, bytes, 6, &all, &out, &err);
    MUST(r == 0 || (r == -EPROTO && out.len == 0));
    if (out.len > 0) {
        const unsigned char *head = (const unsigned char *)out.p;
        MUST(bj_pdu_read(head, &response, &err) == 0);
        MUST(response.type == BJ_PDU_RESPONSE);
        MUST(response.session == pdu.session);
        MUST(response.transaction == pdu.transaction);
        MUST(response.packet == pdu.packet);
        MUST(response.length == out.len - BJ_PDU_HEADER);
        MUST(bj_pdu_response(&response, head + BJ_PDU_HEADER, &error) == 0);
    }
    bj_pdu_response(&pdu, bytes, &error);
    bj_buf_free(&out);
    free(mem);
    return 0;
}

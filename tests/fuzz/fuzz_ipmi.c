/* Responses of a BMC: power readings, sensor data records, raw bytes of
 * sensors.  The first byte of the input chooses. */
#include "core/energy/ipmi_sdr.h"
#include "tests/fuzz/fuzz.h"

static void answers(struct bj_slice in)
{
    struct bj_ipmi_reply reply = {.n = in.n < BJ_IPMI_MAX ? in.n : BJ_IPMI_MAX};
    struct bj_err err = {0};
    uint64_t watts = 0, uj, uw;
    if (in.n > 0)
        memcpy(reply.b, in.p, reply.n);
    if (bj_dcmi_decode(&reply, false, &watts, &err) == 0)
        MUST(watts > 0 && watts <= BJ_IPMI_WATTS_MAX && (reply.b[18] & 0x40));
    else
        MUST(err.code < 0 && err.msg[0]);
    if (bj_nm_decode(&reply, &watts, &err) == 0)
        MUST(watts > 0 && watts <= BJ_IPMI_WATTS_MAX);
    int r = bj_xcc_decode(&reply, &uj, &uw, &err);
    MUST((uj != BJ_ABSENT) + (uw != BJ_ABSENT) == (r == 0));
    if (r == 0 && uw != BJ_ABSENT)
        MUST(uw > 0 && uw / 1000000 <= BJ_IPMI_WATTS_MAX);
}

static void name_is_clean(const char *name)
{
    MUST(name[0] && strlen(name) < BJ_ZONE_NAME);
    for (; *name; name++)
        MUST((*name >= 'a' && *name <= 'z') || (*name >= '0' && *name <= '9') ||
             strchr("_.-", *name));
}

static void record(struct bj_slice in)
{
    struct bj_sdr_sensor s;
    enum bj_sdr_part part;
    uint64_t uw;
    if (in.n > BJ_SDR_MAX)
        in.n = BJ_SDR_MAX;
    if (bj_sdr_decode((const uint8_t *)in.p, in.n, &s, NULL) < 0)
        return;
    MUST(bj_sdr_watts((const uint8_t *)in.p, in.n));
    name_is_clean(s.name);
    MUST(s.m >= -512 && s.m < 512 && s.b >= -512 && s.b < 512);
    MUST(s.b_exp >= -8 && s.b_exp < 8 && s.r_exp >= -8 && s.r_exp < 8);
    for (int raw = 0; raw < 256; raw++) {
        if (bj_sdr_convert(&s, (uint8_t)raw, &uw, NULL) == 0)
            MUST(uw <= BJ_IPMI_WATTS_MAX * UINT64_C(1000000));
    }
    MUST(bj_sdr_choose(&s, 1, &part) == (part != BJ_SDR_OTHER));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *mem;
    if (size == 0)
        return 0;
    struct bj_slice in = fuzz_exact(data + 1, size - 1, &mem);
    if (data[0] & 1)
        record(in);
    else
        answers(in);
    free(mem);
    return 0;
}

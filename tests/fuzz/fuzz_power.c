/* Power as text: output of commands, and Redfish's documents.  The first byte
 * of the input chooses. */
#include "core/energy/command.h"
#include "core/energy/ipmi.h"
#include "core/energy/meter.h"
#include "core/energy/redfish.h"
#include "tests/fuzz/fuzz.h"

static void is_power(uint64_t uw)
{
    MUST(uw > 0 && uw < (BJ_IPMI_WATTS_MAX + 1) * UINT64_C(1000000));
}

static void output(struct bj_slice in)
{
    struct bj_err err = {0};
    uint64_t uw;
    for (unsigned i = 0; i < 4; i++) {
        const struct bj_power_form form = {i & 1, i & 2};
        if (bj_power_output(in, &form, &uw, &err) == 0)
            is_power(uw);
        else
            MUST(err.code < 0);
    }
}

static void zone(int r, const struct bj_zone_sample *z)
{
    bool reported = z->power_uw != BJ_ABSENT || z->energy_uj != BJ_ABSENT;
    MUST(reported == (r == 0));
    if (z->power_uw != BJ_ABSENT)
        is_power(z->power_uw);
    if (z->limit_uw != BJ_ABSENT)
        is_power(z->limit_uw);
}

static void is_path(const char *uri)
{
    char again[BJ_REDFISH_URI];
    MUST(strlen(uri) < BJ_REDFISH_URI);
    MUST(!uri[0] || bj_redfish_uri(bj_slice_str(uri), again));
    MUST(bj_redfish_id(uri).n <= strlen(uri));
}

static void document(struct bj_slice in)
{
    static const struct bj_json_limits limits = {
        .bytes = 65536, .values = 4096, .depth = 16};
    struct bj_arena a = {0};
    const struct bj_json *doc;
    struct bj_zone_sample z;
    if (bj_json_parse(&a, in, "doc", &limits, &doc, NULL) == 0) {
        char uri[4][BJ_REDFISH_URI], next[BJ_REDFISH_URI];
        struct bj_redfish_chassis c;
        bj_zone_init(&z, "x", BJ_ZONE_NODE);
        zone(bj_redfish_power(doc, &z, NULL), &z);
        bj_zone_init(&z, "x", BJ_ZONE_NODE);
        zone(bj_redfish_environment(doc, &z, NULL), &z);
        size_t n = bj_redfish_members(doc, uri, 4, next);
        MUST(n <= 4);
        while (n > 0)
            is_path(uri[--n]);
        is_path(next);
        bj_redfish_links(doc, &c);
        is_path(c.within);
        is_path(c.environment);
        is_path(c.power);
    }
    bj_arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *mem;
    if (size == 0)
        return 0;
    struct bj_slice in = fuzz_exact(data + 1, size - 1, &mem);
    if (data[0] & 1)
        document(in);
    else
        output(in);
    free(mem);
    return 0;
}

/* Text that meters read: an accepted scale is the power of two that strtod()
 * computes; numbers consist of digits only; names of zones contain only allowed
 * characters. */
#include "core/energy/attr.h"
#include "core/energy/meter.h"
#include "core/energy/rapl_perf.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>

static void scale(struct bj_slice s)
{
    unsigned shift = 99;
    char text[256];
    int r = bj_rapl_scale(s, &shift);
    MUST(r == 0 ? shift <= BJ_RAPL_SHIFT_MAX : r == -EBADMSG && shift == 99);
    if (r < 0 || s.n >= sizeof(text))
        return;
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    MUST(strtod(text, NULL) == ldexp(1, -(int)shift));
}

static void number(struct bj_slice s)
{
    struct bj_err err = {0};
    uint64_t v = 7;
    int r = bj_attr_number(s, "fuzz", &v, &err);
    MUST(r == err.code);
    MUST(r == 0 ? v != BJ_ABSENT : v == 7);
    for (size_t i = 0; r == 0 && i < s.n; i++)
        MUST(s.p[i] >= '0' && s.p[i] <= '9');
}

static void name(struct bj_slice s)
{
    char text[BJ_ZONE_NAME];
    bj_zone_name(text, s);
    size_t n = strnlen(text, sizeof(text));
    MUST(n < sizeof(text));
    MUST(n == 0 || (text[0] != '_' && text[n - 1] != '_'));
    MUST(strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_.-") == n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *mem;
    struct bj_slice s = fuzz_exact(data, size, &mem);
    scale(s);
    number(s);
    name(s);
    free(mem);
    return 0;
}

/* standalone/accept.c: nothing is read past the end, and neither OpenMetrics
 * nor gzip is chosen unless the header allows it. */
#include "standalone/page.h"

#include "base/accept.h"
#include "tests/fuzz/fuzz.h"

static bool has(struct bj_slice s, const char *word)
{
    return memmem(s.p, s.n, word, strlen(word)) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *mem;
    struct bj_slice s = fuzz_exact(data, size, &mem);
    if (bj_accept_format(s) == BJ_PAGE_OPENMETRICS)
        MUST(memchr(s.p, '-', s.n) && memchr(s.p, '/', s.n));
    if (bj_accept_gzip(s))
        MUST(memchr(s.p, '*', s.n) || has(s, "ip") || has(s, "IP") ||
             has(s, "Ip") || has(s, "iP"));
    free(mem);
    return 0;
}

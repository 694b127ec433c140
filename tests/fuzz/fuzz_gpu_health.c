/* core/gpu/health.c: any record of the kernel's log and any file of rules is
 * read safely; an address is terminated and has the form of sysfs; sums of
 * errors never fall. */
#include "core/gpu/health.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct bj_gpu_xid_rules rules;
    struct bj_gpu_log_xid x;
    struct bj_err err;
    char *mem;
    struct bj_slice text = fuzz_exact(data, size, &mem);
    if (bj_gpu_log_parse(text, &x)) {
        MUST(memchr(x.pci, '\0', sizeof(x.pci)));
        MUST(strlen(x.pci) >= strlen("0:00:00"));
        MUST(strspn(x.pci, "0123456789abcdef:") == strlen(x.pci));
    }
    if (bj_gpu_xid_rules_parse(text, &rules, &err) == 0)
        for (uint64_t i = 0; i <= BJ_GPU_XID_MAX; i++)
            MUST(bj_gpu_xid_state(&rules, i) < BJ_GPU_STATES);
    uint64_t corrected = 7, uncorrected = UINT64_MAX;
    bj_gpu_ras_add(text, &corrected, &uncorrected);
    MUST(corrected >= 7 && corrected != UINT64_MAX);
    free(mem);
    return 0;
}

/* core/gpu/lookup.c: any output of scontrol is read safely, and the result is a
 * list of numbers. */
#include "core/gpu/lookup.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bj_gpu_claim c = {.environ = false};
    char *mem;
    struct bj_slice text = fuzz_exact(data, size, &mem);
    bool found = bj_gpu_allot_slurm(text, BJ_SLICE("7"), BJ_SLICE("n07"), &c);
    MUST(found == c.environ && found == (*c.text != '\0'));
    MUST(memchr(c.text, '\0', sizeof(c.text)));
    MUST(strspn(c.text, "0123456789,-") == strlen(c.text));
    free(mem);
    return 0;
}

/* core/gpu/claim.c: any environment, devices.list or name of a prolog's file is
 * read safely, and a job gets no GPU that none of them names. */
#include "core/gpu/claim.h"
#include "tests/fuzz/fuzz.h"

static const struct bj_gpu devices[] = {
    {.uuid = "GPU-6f0f0e3c-1111-2222-3333-444455556666",
     .index = 2,
     .parent = -1,
     .use.minor = 5},
    {.uuid = "MIG-11111111-2222", .index = 0, .parent = 0, .gi = 9},
    {.uuid = "GPU-x",
     .index = BJ_ABSENT,
     .parent = -1,
     .split = true,
     .use.minor = BJ_ABSENT},
};

static void check_claim(const struct bj_gpu_claim *c, struct bj_slice text)
{
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        const struct bj_gpu *g = &devices[i];
        const struct bj_gpu *whole = g->parent >= 0 ? &devices[0] : NULL;
        for (int order = BJ_GPU_BY_BUS; order <= BJ_GPU_BY_PLACE; order++)
            if (bj_gpu_claim_names(c, g, whole, (enum bj_gpu_order)order))
                MUST(c->environ && text.n > 0 && !g->split);
        MUST(!bj_gpu_claim_opens(c, g) || c->devices);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bj_gpu_claim c = {.environ = false}, list = {.environ = false};
    char *mem, name[BJ_GPU_TEXT];
    struct bj_slice text = fuzz_exact(data, size, &mem);
    bool found =
        bj_gpu_claim_environ(text, BJ_SLICE("slurm"), BJ_SLICE("7"), &c);
    MUST(found == c.environ);
    MUST(memchr(c.text, '\0', sizeof(c.text)));
    bj_gpu_claim_devices(text, "/nowhere", &list);
    check_claim(&c, text);
    check_claim(&list, text);
    size_t n = size < sizeof(name) - 1 ? size : sizeof(name) - 1;
    if (n > 0)
        memcpy(name, text.p, n);
    name[n] = '\0';
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++)
        bj_gpu_note_is(name, &devices[i], BJ_GPU_BY_BUS);
    free(mem);
    return 0;
}

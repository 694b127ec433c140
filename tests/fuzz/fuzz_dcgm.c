/* core/gpu/dcgm.c: any page is read safely; ratios are at most 1, names are
 * terminated, and an instance belongs to a GPU that precedes it. */
#include "core/gpu/dcgm.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct bj_gpu_set set;
    char *mem;
    struct bj_slice page = fuzz_exact(data, size, &mem);
    bj_gpu_set_clear(&set);
    bj_gpu_dcgm_page(page, &set);
    MUST(set.n <= BJ_GPUS_MAX);
    for (size_t i = 0; i < set.n; i++) {
        const struct bj_gpu *g = &set.v[i];
        const struct bj_gpu_use *u = &g->use;
        MUST(memchr(g->uuid, '\0', sizeof(g->uuid)));
        MUST(g->parent < 0
                 ? g->uuid[0] != '\0'
                 : (size_t)g->parent < i && set.v[g->parent].parent < 0);
        MUST(u->sm_ppm <= 1000000 || u->sm_ppm == BJ_ABSENT);
        MUST(u->tensor_ppm <= 1000000 || u->tensor_ppm == BJ_ABSENT);
        MUST(u->pcie_tx_rate < UINT64_C(1) << 47 ||
             u->pcie_tx_rate == BJ_ABSENT);
        MUST(u->energy_uj == BJ_ABSENT && u->busy_ppm == BJ_ABSENT);
    }
    free(mem);
    return 0;
}

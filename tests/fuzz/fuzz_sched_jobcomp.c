/* sched/jobcomp.h: any record is read within its limits, and what was read is
 * consistent. */
#include "sched/jobcomp.h"
#include "sched/state.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>

static void see_bad(void *ctx, const struct bj_sacct_bad *bad)
{
    MUST(bad->expected && bad->field.n > 0 && bad->value.n > 0);
    ++*(unsigned *)ctx;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bj_arena a = {0};
    struct bj_sched_job job;
    struct bj_slice script;
    unsigned bad = 0;
    char *mem;
    struct bj_slice text = fuzz_exact(data, size, &mem);
    int r = bj_jobcomp_read(&a, text, BJ_SLICE("c"), see_bad, &bad, &job,
                            &script, NULL);
    MUST(r == BJ_JOBCOMP_JOB || r == BJ_JOBCOMP_SIZE || r == -EINVAL ||
         r == -EFBIG);
    if (r >= 0) {
        MUST(job.snapshot && job.id_number != BJ_ABSENT);
        MUST(!bj_state_is_open(job.state) || job.end_sec == BJ_ABSENT);
        MUST(job.nodelist.n > 0 || job.start_sec == BJ_ABSENT);
    }
    free(mem);
    bj_arena_free(&a);
    return 0;
}

#include "sched/lsf_job.h"

#include "sched/memory.h"
#include "sched/word.h"

#include <errno.h>
#include <stdio.h>

/* In the order of lsbatch.h, TERM_UNKNOWN being 0. */
static const struct {
    struct bj_slice name;
    enum bj_job_state state;
} reasons[] = {
    {BJ_WORD("TERM_UNKNOWN"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_PREEMPT"), BJ_STATE_PREEMPTED},
    {BJ_WORD("TERM_WINDOW"),
     BJ_STATE_TIMEOUT}, /* the run window of its queue closed */
    {BJ_WORD("TERM_LOAD"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_OTHER"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_RUNLIMIT"), BJ_STATE_TIMEOUT},
    {BJ_WORD("TERM_DEADLINE"), BJ_STATE_DEADLINE},
    {BJ_WORD("TERM_PROCESSLIMIT"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_FORCE_OWNER"), BJ_STATE_CANCELLED},
    {BJ_WORD("TERM_FORCE_ADMIN"), BJ_STATE_CANCELLED},
    {BJ_WORD("TERM_REQUEUE_OWNER"), BJ_STATE_REQUEUED},
    {BJ_WORD("TERM_REQUEUE_ADMIN"), BJ_STATE_REQUEUED},
    {BJ_WORD("TERM_CPULIMIT"), BJ_STATE_TIMEOUT},
    {BJ_WORD("TERM_CHKPNT"), BJ_STATE_REQUEUED},
    {BJ_WORD("TERM_OWNER"), BJ_STATE_CANCELLED},
    {BJ_WORD("TERM_ADMIN"), BJ_STATE_CANCELLED},
    {BJ_WORD("TERM_MEMLIMIT"), BJ_STATE_OOM},
    {BJ_WORD("TERM_EXTERNAL_SIGNAL"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_RMS"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_ZOMBIE"), BJ_STATE_NODE_FAIL},
    {BJ_WORD("TERM_SWAP"), BJ_STATE_OOM},
    {BJ_WORD("TERM_THREADLIMIT"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_SLURM"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_BUCKET_KILL"), BJ_STATE_CANCELLED},
    {BJ_WORD("TERM_CTRL_PID"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_CWD_NOTEXIST"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_REMOVE_HUNG_JOB"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_ORPHAN_SYSTEM"),
     BJ_STATE_CANCELLED}, /* the job it depended on is gone */
    {BJ_WORD("TERM_PRE_EXEC_FAIL"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_DATA"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_MC_RECALL"),
     BJ_STATE_REQUEUED}, /* back to the cluster that it came from */
    {BJ_WORD("TERM_RC_RECLAIM"), BJ_STATE_REQUEUED}, /* its host is gone */
    {BJ_WORD("TERM_CSM_ALLOC"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_KUBE"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_RC"), BJ_STATE_NODE_FAIL}, /* its host is gone */
    /* another name of 31 */
    {BJ_WORD("TERM_REQUEUE_RC"), BJ_STATE_REQUEUED},
};

enum {
    REASONS = sizeof(reasons) / sizeof(reasons[0]),
    NUMBERS = REASONS - 1, /* the others are names only */
};

enum bj_job_state bj_lsf_reason(struct bj_slice text)
{
    size_t n = 0;
    while (n < text.n &&
           ((text.p[n] >= 'A' && text.p[n] <= 'Z') || text.p[n] == '_'))
        n++;
    for (unsigned i = 0; i < REASONS; i++)
        if (bj_slice_eq((struct bj_slice){text.p, n}, reasons[i].name))
            return reasons[i].state;
    return BJ_STATE_FAILED;
}

enum bj_job_state bj_lsf_reason_number(uint64_t n)
{
    return n < NUMBERS ? reasons[n].state : BJ_STATE_FAILED;
}

const char *bj_lsf_reason_name(uint64_t n)
{
    return n > 0 && n < NUMBERS ? reasons[n].name.p : NULL;
}

int bj_lsf_size(struct bj_slice s, uint64_t *ret)
{
    struct bj_slice number, unit = {NULL, 0};
    char text[32];
    if (!bj_slice_word(&s, &number) || number.n > sizeof(text) - 1)
        return -EINVAL;
    /* "2 Mbytes" is "2M" elsewhere */
    bj_slice_word(&s, &unit);
    memcpy(text, number.p, number.n);
    size_t n = number.n;
    if (unit.n > 0 && unit.p[0] != 'b')
        text[n++] = unit.p[0];
    return bj_memory_parse((struct bj_slice){text, n}, 1, ret);
}

void bj_lsf_id(struct bj_sched_job *job, uint64_t id, uint64_t index,
               char text[static 48])
{
    const int n = index > 0
                      ? snprintf(text, 48, "%llu[%llu]", (unsigned long long)id,
                                 (unsigned long long)index)
                      : snprintf(text, 48, "%llu", (unsigned long long)id);
    job->jobid = job->display_id = (struct bj_slice){text, (size_t)n};
    job->id_number = id;
    if (index > 0) {
        job->array_job = id;
        job->array_task = index;
    }
}

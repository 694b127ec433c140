#include "sched/state.h"

#include "sched/value.h"

#include <stddef.h>

static const char *const names[BJ_STATES] = {
    [BJ_STATE_UNKNOWN] = "unknown",
    [BJ_STATE_PENDING] = "pending",
    [BJ_STATE_RUNNING] = "running",
    [BJ_STATE_SUSPENDED] = "suspended",
    [BJ_STATE_COMPLETED] = "completed",
    [BJ_STATE_FAILED] = "failed",
    [BJ_STATE_CANCELLED] = "cancelled",
    [BJ_STATE_TIMEOUT] = "timeout",
    [BJ_STATE_OOM] = "oom",
    [BJ_STATE_NODE_FAIL] = "node_fail",
    [BJ_STATE_PREEMPTED] = "preempted",
    [BJ_STATE_REQUEUED] = "requeued",
    [BJ_STATE_DEADLINE] = "deadline",
    [BJ_STATE_BOOT_FAIL] = "boot_fail",
    [BJ_STATE_RESIZED] = "resized",
};

const char *bj_state_name(enum bj_job_state state)
{
    return (unsigned)state < BJ_STATES ? names[state] : names[0];
}

enum bj_job_state bj_state_from_name(struct bj_slice name)
{
    for (unsigned i = 0; i < BJ_STATES; i++)
        if (bj_slice_eq(name, bj_slice_str(names[i])))
            return (enum bj_job_state)i;
    return BJ_STATE_UNKNOWN;
}

/* Base states first, the most common ones in front; then flags.  rank decides
 * between several states of one job: a flag counts more than a base state that
 * hides its meaning, and less where it only refines it (COMPLETING of a
 * CANCELLED job). */
static const struct slurm_state {
    struct bj_slice full, compact;
    enum bj_job_state state;
    unsigned rank;
} slurm[] = {
    {BJ_WORD("COMPLETED"), BJ_WORD("CD"), BJ_STATE_COMPLETED, 2},
    {BJ_WORD("FAILED"), BJ_WORD("F"), BJ_STATE_FAILED, 2},
    {BJ_WORD("CANCELLED"), BJ_WORD("CA"), BJ_STATE_CANCELLED, 2},
    {BJ_WORD("TIMEOUT"), BJ_WORD("TO"), BJ_STATE_TIMEOUT, 2},
    {BJ_WORD("OUT_OF_MEMORY"), BJ_WORD("OOM"), BJ_STATE_OOM, 2},
    {BJ_WORD("RUNNING"), BJ_WORD("R"), BJ_STATE_RUNNING, 2},
    {BJ_WORD("PENDING"), BJ_WORD("PD"), BJ_STATE_PENDING, 2},
    {BJ_WORD("SUSPENDED"), BJ_WORD("S"), BJ_STATE_SUSPENDED, 2},
    {BJ_WORD("NODE_FAIL"), BJ_WORD("NF"), BJ_STATE_NODE_FAIL, 2},
    {BJ_WORD("PREEMPTED"), BJ_WORD("PR"), BJ_STATE_PREEMPTED, 2},
    {BJ_WORD("BOOT_FAIL"), BJ_WORD("BF"), BJ_STATE_BOOT_FAIL, 2},
    {BJ_WORD("DEADLINE"), BJ_WORD("DL"), BJ_STATE_DEADLINE, 2},
    /* this run has ended, whatever the base state is now */
    {BJ_WORD("REQUEUED"), BJ_WORD("RQ"), BJ_STATE_REQUEUED, 3},
    {BJ_WORD("RESIZING"), BJ_WORD("RS"), BJ_STATE_RESIZED, 3},
    {BJ_WORD("REVOKED"), BJ_WORD("RV"), BJ_STATE_CANCELLED, 3},
    {BJ_WORD("STOPPED"), BJ_WORD("ST"), BJ_STATE_SUSPENDED, 3},
    /* requeued, and waiting for an event or a person */
    {BJ_WORD("REQUEUE_HOLD"), BJ_WORD("RH"), BJ_STATE_PENDING, 3},
    {BJ_WORD("REQUEUE_FED"), BJ_WORD("RF"), BJ_STATE_PENDING, 3},
    {BJ_WORD("SPECIAL_EXIT"), BJ_WORD("SE"), BJ_STATE_PENDING, 3},
    {BJ_WORD("RESV_DEL_HOLD"), BJ_WORD("RD"), BJ_STATE_PENDING, 3},
    {BJ_WORD("EXPEDITING"), BJ_WORD("EX"), BJ_STATE_PENDING, 3},
    /* these refine a base state; alone they mean that nodes are held */
    {BJ_WORD("CONFIGURING"), BJ_WORD("CF"), BJ_STATE_RUNNING, 1},
    {BJ_WORD("COMPLETING"), BJ_WORD("CG"), BJ_STATE_RUNNING, 1},
    {BJ_WORD("STAGE_OUT"), BJ_WORD("SO"), BJ_STATE_RUNNING, 1},
    {BJ_WORD("SIGNALING"), BJ_WORD("SI"), BJ_STATE_RUNNING, 1},
    {BJ_WORD("POWER_UP_NODE"), BJ_WORD("PU"), BJ_STATE_RUNNING, 1},
    {BJ_WORD("LAUNCH_FAILED"), BJ_WORD("LF"), BJ_STATE_FAILED, 1},
    {BJ_WORD("RECONFIG_FAIL"), BJ_WORD("RC"), BJ_STATE_NODE_FAIL, 1},
};

enum { SLURM_STATES = sizeof(slurm) / sizeof(slurm[0]) };

/* NULL: unknown.  cut: the text was truncated, so its beginning is compared;
 * the first match of the table counts. */
static const struct slurm_state *slurm_find(struct bj_slice word, bool cut)
{
    if (word.n == 0)
        return NULL;
    for (unsigned i = 0; i < SLURM_STATES; i++)
        if (word.p[0] == slurm[i].full.p[0] && bj_slice_eq(word, slurm[i].full))
            return &slurm[i];
    for (unsigned i = 0; i < SLURM_STATES; i++)
        if (bj_slice_eq(word, slurm[i].compact) ||
            (cut && word.n > 1 && bj_slice_starts(slurm[i].full, word)))
            return &slurm[i];
    return NULL;
}

/* The next word of a list of states; *ret_cut when it was truncated. */
static struct bj_slice slurm_word(struct bj_slice *rest, bool *ret_cut)
{
    size_t n = 0;
    while (n < rest->n && rest->p[n] != '+' && rest->p[n] != ',' &&
           rest->p[n] != ' ')
        n++;
    const struct bj_slice word = {rest->p, n};
    *ret_cut = n + 1 == rest->n && rest->p[n] == '+';
    if (n < rest->n)
        n++;
    rest->p += n;
    rest->n -= n;
    return word;
}

enum bj_job_state bj_state_slurm(struct bj_slice text, uint64_t *ret_uid)
{
    enum bj_job_state state = BJ_STATE_UNKNOWN;
    unsigned rank = 0;
    if (bj_slice_eq(text, slurm[0].full))
        return slurm[0].state;
    while (text.n > 0) {
        bool cut;
        const struct bj_slice word = slurm_word(&text, &cut);
        if (bj_slice_eq(word, BJ_SLICE("by"))) {
            uint64_t uid;
            /* 2^32 - 1 and - 2 are Slurm's "no value" */
            if (ret_uid && bj_slice_number(&text, &uid) && uid < 0xfffffffe)
                *ret_uid = uid;
            break;
        }
        const struct slurm_state *s = slurm_find(word, cut);
        if (s && s->rank > rank) {
            state = s->state;
            rank = s->rank;
        }
    }
    return state;
}

enum bj_job_state bj_state_from_people(struct bj_slice text)
{
    char low[32], up[32];
    if (text.n >= sizeof(low))
        return BJ_STATES;
    for (size_t i = 0; i < text.n; i++) {
        const char c = text.p[i];
        low[i] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
        up[i] = c >= 'a' && c <= 'z' ? (char)(c & ~0x20) : c;
    }
    struct bj_slice name = {low, text.n};
    enum bj_job_state s = bj_state_from_name(name);
    if (s != BJ_STATE_UNKNOWN || bj_slice_eq(name, bj_slice_str(names[s])))
        return s;
    s = bj_state_slurm((struct bj_slice){up, text.n}, NULL);
    return s == BJ_STATE_UNKNOWN ? BJ_STATES : s;
}

/* Exit_status of a job that PBS itself ended, JOB_EXEC_... of its job.h. */
static const struct pbs_exit {
    int64_t status;
    enum bj_job_state state;
} pbs_exits[] = {
    {-3, BJ_STATE_REQUEUED}, /* JOB_EXEC_RETRY */
    {-4, BJ_STATE_REQUEUED}, /* MoM restarted: INITABT, INITRST, INITRMG */
    {-5, BJ_STATE_REQUEUED},   {-6, BJ_STATE_REQUEUED},
    {-9, BJ_STATE_REQUEUED},   /* RERUN */
    {-10, BJ_STATE_REQUEUED},  /* CHKP: checkpointed and held */
    {-12, BJ_STATE_REQUEUED},  /* RERUN_SIS_FAIL: a node failed */
    {-13, BJ_STATE_REQUEUED},  /* QUERST */
    {-14, BJ_STATE_REQUEUED},  /* a hook requeued it */
    {-15, BJ_STATE_CANCELLED}, /* a hook deleted it */
    {-16, BJ_STATE_REQUEUED},  {-17, BJ_STATE_CANCELLED},
    {-18, BJ_STATE_REQUEUED}, /* RERUN_MS_FAIL: the first node failed */
    {-26, BJ_STATE_OOM},      /* KILL_VMEM */
    {-27, BJ_STATE_OOM},      /* KILL_MEM */
    {-28, BJ_STATE_TIMEOUT},  /* KILL_CPUT */
    {-29, BJ_STATE_TIMEOUT},  /* KILL_WALLTIME */
};

/* The same of Torque, whose numbers are others from -9 on. */
static const struct pbs_exit torque_exits[] = {
    {-3, BJ_STATE_REQUEUED}, /* RETRY */
    {-4, BJ_STATE_REQUEUED}, /* MoM restarted: INITABT, INITRST, INITRMG */
    {-5, BJ_STATE_REQUEUED}, {-6, BJ_STATE_REQUEUED},
    {-10, BJ_STATE_OOM},     {-11, BJ_STATE_TIMEOUT}, /* OVERLIMIT_WT */
    {-12, BJ_STATE_TIMEOUT},                          /* OVERLIMIT_CPUT */
};

static enum bj_job_state pbs_ended(const struct pbs_exit *exits, size_t n,
                                   int64_t status)
{
    if (status == INT64_MIN)
        return BJ_STATE_UNKNOWN;
    if (status == 0)
        return BJ_STATE_COMPLETED;
    for (size_t i = 0; i < n; i++)
        if (exits[i].status == status)
            return exits[i].state;
    return BJ_STATE_FAILED;
}

enum bj_job_state bj_state_torque_exit(int64_t exit_status)
{
    return pbs_ended(torque_exits,
                     sizeof(torque_exits) / sizeof(torque_exits[0]),
                     exit_status);
}

enum bj_job_state bj_state_pbs(char letter, int64_t exit_status)
{
    switch (letter) {
    case 'Q': /* queued */
    case 'H': /* held */
    case 'W': /* waits for its start time */
    case 'T': /* in transit to another server */
        return BJ_STATE_PENDING;
    case 'R':
    case 'B': /* array with started tasks */
    case 'E': /* exiting */
        return BJ_STATE_RUNNING;
    case 'S':
    case 'U': /* the workstation's keyboard is in use */
        return BJ_STATE_SUSPENDED;
    case 'M': /* moved to another server */
        return BJ_STATE_REQUEUED;
    case 'F':
    case 'X': /* array element that has ended */
        return pbs_ended(pbs_exits, sizeof(pbs_exits) / sizeof(pbs_exits[0]),
                         exit_status);
    default:
        return BJ_STATE_UNKNOWN;
    }
}

/* Several bits may be set: 64 and 128 after a job's post-processing. */
static const struct {
    struct bj_slice name;
    uint64_t bit;
    enum bj_job_state state;
} lsf[] = {
    {BJ_WORD("DONE"), 0x40, BJ_STATE_COMPLETED},
    {BJ_WORD("EXIT"), 0x20, BJ_STATE_FAILED},
    {BJ_WORD("PEND"), 0x01, BJ_STATE_PENDING},
    {BJ_WORD("PSUSP"), 0x02, BJ_STATE_PENDING},
    {BJ_WORD("RUN"), 0x04, BJ_STATE_RUNNING},
    {BJ_WORD("SSUSP"), 0x08, BJ_STATE_SUSPENDED},
    {BJ_WORD("USUSP"), 0x10, BJ_STATE_SUSPENDED},
    {BJ_WORD("WAIT"), 0x200, BJ_STATE_PENDING},
    {BJ_WORD("UNKWN"), 0x10000, BJ_STATE_UNKNOWN},
    {BJ_WORD("ZOMBI"), 0, BJ_STATE_FAILED},
    {BJ_WORD("PROV"), 0, BJ_STATE_RUNNING}, /* its host is being started */
};

enum bj_job_state bj_state_lsf(struct bj_slice name)
{
    for (size_t i = 0; i < sizeof(lsf) / sizeof(lsf[0]); i++)
        if (bj_slice_eq(name, lsf[i].name))
            return lsf[i].state;
    return BJ_STATE_UNKNOWN;
}

enum bj_job_state bj_state_lsf_number(uint64_t jstatus)
{
    for (size_t i = 0; i < sizeof(lsf) / sizeof(lsf[0]); i++)
        if (jstatus & lsf[i].bit)
            return lsf[i].state;
    return BJ_STATE_UNKNOWN;
}

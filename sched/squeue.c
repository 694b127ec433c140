#include "sched/squeue.h"

#include "sched/value.h"

#include <errno.h>

#define F(name) name ":" BJ_SLURM_SEP ","

enum {
    ID,
    TASKS,
    STATE,
    PARTITION,
    ACCOUNT,
    USER,
    QOS,
    HOST,
    RESERVATION,
    SUBMIT,
    ELIGIBLE,
    START,
    NODES,
    TRES,
    FIELDS /* the reason follows them */
};

const char *const bj_squeue_argv[] = {
    "squeue",
    "--local",
    "--all",
    "--noheader",
    "--states=all",
    "-O",
    F("JobID") F("ArrayTaskID") F("State") F("Partition") F("Account")
        F("UserName") F("QOS") F("AllocNodes") F("Reservation") F("SubmitTime")
            F("EligibleTime") F("StartTime") F("NumNodes")
                F("tres-alloc") "Reason:",
    NULL};

/* Cut "1-5:2" or "7" off *s and count its tasks. */
static int tasks_range(struct bj_slice *s, uint64_t *ret)
{
    uint64_t first, last, step = 1;
    if (!bj_slice_number(s, &first))
        return -EINVAL;
    last = first;
    if (s->n > 0 && *s->p == '-') {
        s->p++;
        s->n--;
        if (!bj_slice_number(s, &last))
            return -EINVAL;
    }
    if (s->n > 0 && *s->p == ':') {
        s->p++;
        s->n--;
        if (!bj_slice_number(s, &step))
            return -EINVAL;
    }
    if (last < first || step == 0 || last > UINT32_MAX)
        return -EINVAL;
    *ret = (last - first) / step + 1;
    return 0;
}

int bj_squeue_tasks(struct bj_slice text, uint64_t *ret)
{
    uint64_t sum = 0;
    if (bj_word_is_none(text)) {
        *ret = 1;
        return 0;
    }
    for (;;) {
        uint64_t n;
        if (tasks_range(&text, &n) < 0 || __builtin_add_overflow(sum, n, &sum))
            return -EINVAL;
        if (text.n == 0 ||
            *text.p == '%') /* %N: the limit of simultaneous tasks */
            break;
        if (*text.p != ',')
            return -EINVAL;
        text.p++;
        text.n--;
    }
    *ret = sum;
    return 0;
}

struct bj_slice bj_squeue_reason(struct bj_slice reason)
{
    reason = bj_slice_trim(reason);
    if (reason.n >= 2 && *reason.p == '(' && reason.p[reason.n - 1] == ')') {
        reason.p++;
        reason.n -= 2;
    }
    size_t n = 0;
    while (n < reason.n && !memchr(",:(", reason.p[n], 3))
        n++;
    return bj_slice_trim((struct bj_slice){reason.p, n});
}

static int parse_times(const struct bj_slice *f, struct bj_squeue_job *ret)
{
    return bj_time_slurm(f[SUBMIT], &ret->submit_sec) < 0 ||
                   bj_time_slurm(f[ELIGIBLE], &ret->eligible_sec) < 0 ||
                   bj_time_slurm(f[START], &ret->start_sec) < 0
               ? -EINVAL
               : 0;
}

/* "4", or the minimum of "2-4" while the number is open. */
static int parse_nodes(struct bj_slice s, uint64_t *ret)
{
    return bj_slice_number(&s, ret) && (s.n == 0 || *s.p == '-') ? 0 : -EINVAL;
}

int bj_squeue_parse(struct bj_slice line, struct bj_squeue_job *ret)
{
    struct bj_slice f[FIELDS];
    uint64_t id;
    for (int i = 0; i < FIELDS; i++) {
        if (line.n == 0 || !memchr(line.p, *BJ_SLURM_SEP, line.n))
            return -EINVAL;
        bj_slice_field(&line, *BJ_SLURM_SEP, &f[i]);
    }
    *ret = (struct bj_squeue_job){
        .id = f[ID],
        .state = f[STATE],
        .partition = f[PARTITION],
        .account = bj_word_text(f[ACCOUNT]),
        .user = f[USER],
        .qos = bj_word_text(f[QOS]),
        .host = bj_word_text(f[HOST]),
        .reservation = bj_word_text(f[RESERVATION]),
        .reason = line,
        .submit_sec = BJ_ABSENT,
        .eligible_sec = BJ_ABSENT,
        .start_sec = BJ_ABSENT,
    };
    if (bj_slice_u64(f[ID], &id) < 0 || f[STATE].n == 0 ||
        bj_squeue_tasks(f[TASKS], &ret->jobs) < 0 || parse_times(f, ret) < 0 ||
        parse_nodes(f[NODES], &ret->nodes) < 0)
        return -EINVAL;
    return bj_tres_parse(bj_word_text(f[TRES]), BJ_TRES_REQUESTED,
                         &ret->tres) == 0
               ? 0
               : -EINVAL;
}

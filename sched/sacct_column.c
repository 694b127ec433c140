#include "sched/sacct_column.h"

#include "sched/jobid.h"
#include "sched/state.h"
#include "sched/tres.h"
#include "sched/value.h"

#include <errno.h>
#include <stddef.h>

/* --- one column each ------------------------------------------------------*/

static int sacct_column_text(struct bj_slice s, void *to)
{
    *(struct bj_slice *)to = s;
    return 0;
}

static int text_or_none(struct bj_slice s, void *to)
{
    *(struct bj_slice *)to = bj_word_text(s);
    return 0;
}

/* sacct sometimes prints Slurm's "no value" of 32 and 64 bits. */
static uint64_t sacct_column_known(uint64_t v)
{
    return v == 0xfffffffe || v >= UINT64_MAX - 2 ? BJ_ABSENT : v;
}

static int sacct_column_number(struct bj_slice s, void *to)
{
    uint64_t v;
    int r = bj_slice_u64(s, &v);
    if (r == 0)
        *(uint64_t *)to = sacct_column_known(v);
    else if (r == -EINVAL && bj_word_is_none(s))
        r = 0;
    return r;
}

static int sacct_column_moment(struct bj_slice s, void *to)
{
    return bj_time_slurm(s, to);
}

static int sacct_column_seconds(struct bj_slice s, void *to)
{
    uint64_t v;
    if (bj_slice_u64(s, &v) < 0) {
        int r = bj_duration_sec(s, &v);
        if (r < 0)
            return r;
    }
    *(uint64_t *)to = sacct_column_known(v);
    return 0;
}

static int duration(struct bj_slice s, void *to)
{
    return bj_elapsed_parse(s, to);
}

static int minutes(struct bj_slice s, void *to)
{
    uint64_t v;
    if (bj_slice_u64(s, &v) < 0)
        return bj_duration_sec(s, to);
    if (v == UINT32_MAX)
        v = BJ_UNLIMITED;
    else if (sacct_column_known(v) != BJ_ABSENT &&
             __builtin_mul_overflow(v, 60u, &v))
        return -ERANGE;
    *(uint64_t *)to = sacct_column_known(v);
    return 0;
}

static int sacct_column_size(struct bj_slice s, void *to)
{
    uint64_t v;
    int r = bj_memory_parse(s, 1, &v);
    if (r == 0)
        *(uint64_t *)to = sacct_column_known(v);
    return r;
}

/* Slurm reports 0 where energy is not measured. */
static int joules(struct bj_slice s, void *to)
{
    uint64_t v;
    int r = bj_memory_scaled(s, 1, 1000, &v);
    if (r == 0 && v > 0 && sacct_column_known(v) != BJ_ABSENT)
        *(uint64_t *)to = v;
    return r;
}

/* "0:15" into two adjacent members. */
static int exit_pair(struct bj_slice s, void *to)
{
    uint64_t code, sig = 0;
    if (!bj_slice_number(&s, &code))
        return bj_word_is_none(s) ? 0 : -EINVAL;
    if (s.n > 0) {
        const struct bj_slice behind = {s.p + 1, s.n - 1};
        if (s.p[0] != ':' || bj_slice_u64(behind, &sig) < 0)
            return -EINVAL;
    }
    ((uint64_t *)to)[0] = code;
    ((uint64_t *)to)[1] = sig;
    return 0;
}

static int exit_text(struct bj_slice s, void *to)
{
    struct bj_sched_job *job = to;
    job->exit_raw = s;
    return exit_pair(s, &job->exit_code);
}

static int resources(struct bj_slice s, void *to)
{
    return bj_tres_parse(s, BJ_TRES_REQUESTED, to) ? -EINVAL : 0;
}

static int requested(struct bj_slice s, void *to)
{
    struct bj_sched_job *job = to;
    job->tres_requested_raw = s;
    return resources(s, &job->tres_requested);
}

static int allocated(struct bj_slice s, void *to)
{
    struct bj_sched_job *job = to;
    job->tres_allocated_raw = s;
    if (!bj_slice_eq(s,
                     job->tres_requested_raw)) /* most often they are equal */
        return resources(s, &job->tres_allocated);
    const struct bj_tres_list *same = &job->tres_requested;
    memcpy(job->tres_allocated.v, same->v, same->n * sizeof(same->v[0]));
    job->tres_allocated.n = same->n;
    return 0;
}

/* The sums over the tasks of a step.  Slurm 25.05 prints a TotalCPU of 0 for
 * steps whose CPU time is here. */
static int usage_in(struct bj_slice s, void *to)
{
    struct bj_sched_usage *use = to;
    struct bj_tres_used used;
    bj_tres_used(s, &used);
    use->mem_peak_bytes = used.mem_bytes;
    use->read_bytes = used.disk_bytes;
    if (use->cpu_usec == BJ_ABSENT || use->cpu_usec == 0)
        use->cpu_usec = used.cpu_usec;
    return 0;
}

static int usage_out(struct bj_slice s, void *to)
{
    struct bj_sched_usage *use = to;
    struct bj_tres_used used;
    bj_tres_used(s, &used);
    use->write_bytes = used.disk_bytes;
    return 0;
}

_Static_assert(offsetof(struct bj_sched_job, exit_signal) ==
                       offsetof(struct bj_sched_job, exit_code) + 8 &&
                   offsetof(struct bj_sched_job, derived_exit_signal) ==
                       offsetof(struct bj_sched_job, derived_exit_code) + 8 &&
                   offsetof(struct bj_job_step, exit_signal) ==
                       offsetof(struct bj_job_step, exit_code) + 8,
               "a code and its signal are neighbours");

#define J(member) offsetof(struct bj_sacct_job_row, job.member)
#define JROW(member) offsetof(struct bj_sacct_job_row, member)
#define S(member) offsetof(struct bj_sacct_step_row, step.member)
#define SROW(member) offsetof(struct bj_sacct_step_row, member)
#define NO BJ_SACCT_NOWHERE
#define SPARE BJ_SACCT_SPARE

#define TEXT sacct_column_text, "text"
#define WORD text_or_none, "text"
#define NUMBER sacct_column_number, "a number"
#define MOMENT sacct_column_moment, "a time"
#define SECONDS sacct_column_seconds, "a length of time"
#define DURATION duration, "a length of time"
#define SIZE sacct_column_size, "a size"

/* In the order of reading: fallbacks come after the columns that they replace.
 */
const struct bj_sacct_column bj_sacct_columns[] = {
    {BJ_WORD("SLUID"), WORD, J(sluid), NO, 0},
    {BJ_WORD("OriginalSLUID"), WORD, J(original_sluid), NO, 0},
    {BJ_WORD("Cluster"), TEXT, J(cluster), NO, 0},
    {BJ_WORD("JobName"), TEXT, J(name), S(name), 0},
    {BJ_WORD("User"), TEXT, J(user), NO, 0},
    {BJ_WORD("UID"), NUMBER, J(uid), NO, 0},
    {BJ_WORD("Group"), TEXT, J(group), NO, 0},
    {BJ_WORD("GID"), NUMBER, J(gid), NO, 0},
    {BJ_WORD("Account"), TEXT, J(account), NO, 0},
    {BJ_WORD("WCKey"), TEXT, J(wckey), NO, 0},
    {BJ_WORD("Partition"), TEXT, J(partition), NO, 0},
    {BJ_WORD("QOS"), TEXT, J(qos), NO, 0},
    {BJ_WORD("State"), TEXT, J(state_raw), S(state_raw), 0},
    {BJ_WORD("Reason"), WORD, J(reason), NO, 0},
    {BJ_WORD("ExitCode"), exit_text, "code:signal", JROW(job), NO, 0},
    {BJ_WORD("ExitCode"), exit_pair, "code:signal", NO, S(exit_code), 0},
    {BJ_WORD("DerivedExitCode"), exit_pair, "code:signal", J(derived_exit_code),
     NO, 0},
    {BJ_WORD("Restarts"), NUMBER, J(restarts), NO, 0},
    {BJ_WORD("Submit"), MOMENT, J(submit_sec), NO, 0},
    {BJ_WORD("Eligible"), MOMENT, J(eligible_sec), NO, 0},
    {BJ_WORD("Start"), MOMENT, J(start_sec), S(start_sec), 0},
    {BJ_WORD("End"), MOMENT, J(end_sec), S(end_sec), 0},
    {BJ_WORD("ElapsedRaw"), SECONDS, J(elapsed_sec), S(elapsed_sec), 0},
    {BJ_WORD("Elapsed"), SECONDS, J(elapsed_sec), S(elapsed_sec), SPARE},
    {BJ_WORD("Suspended"), SECONDS, J(suspended_sec), S(suspended_sec), 0},
    {BJ_WORD("TimelimitRaw"), minutes, "minutes", J(time_limit_sec), NO, 0},
    {BJ_WORD("Timelimit"), SECONDS, J(time_limit_sec), NO, SPARE},
    {BJ_WORD("AllocCPUS"), NUMBER, J(cpus), S(cpus), 0},
    {BJ_WORD("NCPUS"), NUMBER, J(cpus), S(cpus), SPARE},
    {BJ_WORD("ReqCPUS"), NUMBER, J(cpus_requested), NO, 0},
    {BJ_WORD("NNodes"), NUMBER, J(nodes), S(nodes), 0},
    {BJ_WORD("AllocNodes"), NUMBER, J(nodes), S(nodes), SPARE},
    {BJ_WORD("NTasks"), NUMBER, NO, S(tasks), 0},
    {BJ_WORD("NodeList"), WORD, J(nodelist), S(nodelist), 0},
    {BJ_WORD("ReqMem"), TEXT, JROW(req_mem), NO, 0},
    {BJ_WORD("ReqTRES"), requested, "resources", JROW(job), NO, 0},
    {BJ_WORD("AllocTRES"), allocated, "resources", JROW(job), NO, 0},
    {BJ_WORD("AllocTRES"), TEXT, NO, S(tres_alloc_raw), 0},
    {BJ_WORD("TotalCPU"), DURATION, J(use.cpu_usec), S(use.cpu_usec), 0},
    {BJ_WORD("UserCPU"), DURATION, J(use.cpu_user_usec), S(use.cpu_user_usec),
     0},
    {BJ_WORD("SystemCPU"), DURATION, J(use.cpu_system_usec),
     S(use.cpu_system_usec), 0},
    {BJ_WORD("AveCPU"), DURATION, NO, S(use.cpu_task_usec), 0},
    {BJ_WORD("MaxRSS"), SIZE, NO, S(use.mem_task_peak_bytes), 0},
    {BJ_WORD("MaxRSSNode"), WORD, NO, S(mem_peak_node), 0},
    {BJ_WORD("MaxVMSize"), SIZE, NO, S(use.vmem_peak_bytes), 0},
    {BJ_WORD("TRESUsageInTot"), usage_in, "resources", NO, S(use), 0},
    {BJ_WORD("TRESUsageOutTot"), usage_out, "resources", NO, S(use), 0},
    {BJ_WORD("TRESUsageInMax"), TEXT, NO, SROW(usage_in_max),
     BJ_SACCT_NOT_REQUESTED},
    {BJ_WORD("ConsumedEnergyRaw"), joules, "joules", J(use.energy_joules),
     S(use.energy_joules), 0},
    {BJ_WORD("ConsumedEnergy"), joules, "joules", J(use.energy_joules),
     S(use.energy_joules), SPARE},
    {BJ_WORD("Priority"), NUMBER, J(priority), NO, 0},
    {BJ_WORD("Reservation"), WORD, J(reservation), NO, 0},
    {BJ_WORD("Constraints"), WORD, J(constraints), NO, 0},
    {BJ_WORD("Licenses"), WORD, J(licenses), NO, 0},
    {BJ_WORD("Flags"), TEXT, J(flags), NO, 0},
    {BJ_WORD("WorkDir"), TEXT, J(work_dir), NO, 0},
    {BJ_WORD("SubmitLine"), TEXT, J(submit_line), S(submit_line), 0},
    {BJ_WORD("Container"), TEXT, J(container), NO, 0},
    {BJ_WORD("Comment"), TEXT, J(comment), NO, 0},
    {BJ_WORD("AdminComment"), TEXT, J(admin_comment), NO, 0},
    {BJ_WORD("SystemComment"), TEXT, J(system_comment), NO, 0},
    {BJ_WORD("FailedNode"), WORD, J(failed_node), NO, 0},
    {BJ_WORD("StdOut"), TEXT, J(stdout_path), NO, 0},
    {BJ_WORD("StdErr"), TEXT, J(stderr_path), NO, 0},
};

const unsigned bj_sacct_columns_n =
    sizeof(bj_sacct_columns) / sizeof(bj_sacct_columns[0]);

/* --- several together -----------------------------------------------------*/

static uint64_t sacct_column_times(uint64_t v, uint64_t n)
{
    uint64_t ret;
    if (n == BJ_ABSENT || __builtin_mul_overflow(v, n, &ret))
        return BJ_ABSENT;
    return ret;
}

/* ReqTRES has the memory of the whole job; ReqMem only from 21.08 on. */
static uint64_t memory_requested(const struct bj_sacct_job_row *row)
{
    const struct bj_sched_job *job = &row->job;
    uint64_t bytes = bj_tres_get(&job->tres_requested, BJ_TRES_MEM);
    if (bytes != BJ_ABSENT && bytes > 0)
        return bytes;
    enum bj_memory_per per = BJ_MEMORY_JOB;
    if (row->req_mem.n == 0 ||
        bj_memory_request(row->req_mem, &bytes, &per) < 0 || bytes == 0)
        return BJ_ABSENT;
    if (per == BJ_MEMORY_CPU)
        return sacct_column_times(bytes, job->cpus_requested != BJ_ABSENT
                                             ? job->cpus_requested
                                             : job->cpus);
    return per == BJ_MEMORY_NODE ? sacct_column_times(bytes, job->nodes)
                                 : bytes;
}

/* "123_4", "123+1": array task and het offset. */
static void settle_id(struct bj_sacct_job_row *row)
{
    struct bj_sched_job *job = &row->job;
    struct bj_jobid id;
    job->display_id = row->job_id.n > 0 ? row->job_id : job->jobid;
    if (bj_slice_eq(job->display_id, job->jobid) &&
        job->jobid.n <= 18) { /* digits only: the common case */
        struct bj_slice rest = job->jobid;
        if (bj_slice_number(&rest, &job->id_number) && rest.n == 0)
            return;
    }
    if (bj_jobid_slurm(job->jobid, &id) == 0)
        job->id_number = id.number;
    if (bj_jobid_slurm(job->display_id, &id) < 0)
        return;
    if (id.array) {
        job->array_job = id.number;
        job->array_task = id.task;
        job->array_tasks = id.tasks;
    }
    if (id.offset != BJ_ABSENT) {
        job->het_job = id.number;
        job->het_offset = id.offset;
    }
}

void bj_sacct_settle_job(struct bj_sacct_job_row *row)
{
    struct bj_sched_job *job = &row->job;
    settle_id(row);
    job->state = bj_state_slurm(job->state_raw, &job->cancelled_by);
    job->mem_requested_bytes = memory_requested(row);
    if (job->tres_allocated.n > 0) {
        const struct bj_tres_list *list = &job->tres_allocated;
        job->mem_allocated_bytes = bj_tres_get(list, BJ_TRES_MEM);
        job->gpus =
            bj_tres_sum(list, BJ_TRES_GRES, BJ_SLICE("gpu"), &job->gpu_model);
        const uint64_t joules = bj_tres_get(list, BJ_TRES_ENERGY);
        if (job->use.energy_joules == BJ_ABSENT && joules > 0)
            job->use.energy_joules = joules;
    }
}

void bj_sacct_settle_step(struct bj_sacct_step_row *row)
{
    struct bj_job_step *step = &row->step;
    step->state = bj_state_slurm(step->state_raw, NULL);
    if (step->use.mem_task_peak_bytes == BJ_ABSENT) {
        struct bj_tres_used used;
        bj_tres_used(row->usage_in_max, &used);
        step->use.mem_task_peak_bytes = used.mem_bytes;
    }
}

#include "sched/job.h"

#include "sched/state.h"

#include <stddef.h>
#include <string.h>

static const struct bj_sched_usage no_use = {
    .cpu_usec = BJ_ABSENT,
    .cpu_user_usec = BJ_ABSENT,
    .cpu_system_usec = BJ_ABSENT,
    .cpu_task_usec = BJ_ABSENT,
    .mem_task_peak_bytes = BJ_ABSENT,
    .mem_peak_bytes = BJ_ABSENT,
    .vmem_peak_bytes = BJ_ABSENT,
    .energy_joules = BJ_ABSENT,
    .read_bytes = BJ_ABSENT,
    .write_bytes = BJ_ABSENT,
};

void bj_sched_usage_init(struct bj_sched_usage *use)
{
    *use = no_use;
}

void bj_job_step_init(struct bj_job_step *step)
{
    memset(step, 0, sizeof(*step));
    step->start_sec = step->end_sec = BJ_ABSENT;
    step->elapsed_sec = step->suspended_sec = BJ_ABSENT;
    step->exit_code = step->exit_signal = BJ_ABSENT;
    step->cpus = step->nodes = step->tasks = BJ_ABSENT;
    step->use = no_use;
}

/* Most of a record are lists of resources: only their length is set. */
void bj_sched_job_init(struct bj_sched_job *job)
{
    const size_t lists = offsetof(struct bj_sched_job, tres_requested);
    const size_t behind = offsetof(struct bj_sched_job, cpu_sec);
    memset(job, 0, lists);
    memset((char *)job + behind, 0, sizeof(*job) - behind);
    job->tres_requested.n = job->tres_allocated.n = 0;
    job->id_number = job->array_job = job->array_task = BJ_ABSENT;
    job->het_job = job->het_offset = BJ_ABSENT;
    job->uid = job->gid = job->cancelled_by = BJ_ABSENT;
    job->exit_code = job->exit_signal = BJ_ABSENT;
    job->derived_exit_code = job->derived_exit_signal = BJ_ABSENT;
    job->restarts = job->priority = BJ_ABSENT;
    job->submit_sec = job->eligible_sec = BJ_ABSENT;
    job->start_sec = job->end_sec = BJ_ABSENT;
    job->elapsed_sec = job->suspended_sec = BJ_ABSENT;
    job->time_limit_sec = BJ_ABSENT;
    job->cpus = job->cpus_requested = BJ_ABSENT;
    job->nodes = job->tasks = BJ_ABSENT;
    job->mem_requested_bytes = job->mem_allocated_bytes = BJ_ABSENT;
    job->gpus = BJ_ABSENT;
    job->cpu_sec = job->node_sec = job->gpu_sec = BJ_ABSENT;
    job->memory_mib_sec = BJ_ABSENT;
    job->use = no_use;
}

/* --- sums of steps --------------------------------------------------------*/

static void job_add(uint64_t *sum, uint64_t v)
{
    if (v == BJ_ABSENT)
        return;
    if (*sum == BJ_ABSENT)
        *sum = v;
    else if (__builtin_add_overflow(*sum, v, sum) || *sum == BJ_ABSENT)
        *sum = BJ_ABSENT - 1;
}

static void largest(uint64_t *max, uint64_t v)
{
    if (v != BJ_ABSENT && (*max == BJ_ABSENT || v > *max))
        *max = v;
}

/* Until a step has ended, its row has a CPU time of 0, and the totals of a job
 * lack those of its steps that have not ended. */
static void drop_totals(struct bj_sched_usage *use)
{
    use->cpu_usec = use->cpu_user_usec = use->cpu_system_usec = BJ_ABSENT;
    use->cpu_task_usec = use->energy_joules = BJ_ABSENT;
    use->read_bytes = use->write_bytes = BJ_ABSENT;
}

void bj_step_sum_begin(struct bj_step_sum *f)
{
    bj_sched_usage_init(&f->sum);
    f->steps = 0;
    f->energy[0] = f->energy[1] = f->energy[2] = BJ_ABSENT;
}

void bj_step_sum_add(struct bj_step_sum *f, struct bj_job_step *step)
{
    struct bj_sched_usage *use = &step->use;
    if (bj_state_is_open(step->state))
        drop_totals(use);
    f->steps++;
    job_add(&f->sum.cpu_usec, use->cpu_usec);
    job_add(&f->sum.cpu_user_usec, use->cpu_user_usec);
    job_add(&f->sum.cpu_system_usec, use->cpu_system_usec);
    largest(&f->sum.mem_task_peak_bytes, use->mem_task_peak_bytes);
    largest(&f->sum.mem_peak_bytes, use->mem_peak_bytes);
    largest(&f->sum.vmem_peak_bytes, use->vmem_peak_bytes);
    job_add(&f->sum.read_bytes, use->read_bytes);
    job_add(&f->sum.write_bytes, use->write_bytes);
    const unsigned kind = bj_slice_eq(step->step_id, BJ_SLICE("extern"))  ? 0
                          : bj_slice_eq(step->step_id, BJ_SLICE("batch")) ? 1
                                                                          : 2;
    job_add(&f->energy[kind], use->energy_joules);
}

/* Slurm's total of a job is that of the steps in the answer, each time cut to
 * milliseconds or seconds.  The sum of the steps counts, because it is the same
 * however many answers the steps came in, unless the total is larger than that
 * explains.  0 without any step is not a measurement. */
static void set_cpu(const struct bj_step_sum *f, struct bj_sched_usage *use)
{
    const uint64_t sum = f->sum.cpu_usec, cut = f->steps * 1000000ull;
    const bool timed = use->cpu_usec != BJ_ABSENT && use->cpu_usec > 0;
    if (sum != BJ_ABSENT &&
        (!timed ||
         (sum > 0 && (use->cpu_usec <= sum || use->cpu_usec - sum <= cut)))) {
        use->cpu_usec = sum;
        use->cpu_user_usec = f->sum.cpu_user_usec;
        use->cpu_system_usec = f->sum.cpu_system_usec;
    } else if (!timed) {
        use->cpu_usec = use->cpu_user_usec = use->cpu_system_usec = BJ_ABSENT;
    }
}

/* Slurm measures the energy of a step on whole nodes, so simultaneous steps all
 * count the same energy: the extern step that of the whole job, the batch step
 * that of its first node, and sruns that of their nodes for a while.  Take the
 * largest of the extern step, the batch step and the sum of the sruns instead
 * of adding them up. */
static void largest_energy(const struct bj_step_sum *f, uint64_t *to)
{
    for (unsigned i = 0; i < 3; i++)
        largest(to, f->energy[i]);
}

void bj_step_sum_end(const struct bj_step_sum *f, struct bj_sched_job *job)
{
    struct bj_sched_usage *use = &job->use;
    set_cpu(f, use);
    use->mem_task_peak_bytes = f->sum.mem_task_peak_bytes;
    use->mem_peak_bytes = f->sum.mem_peak_bytes;
    use->vmem_peak_bytes = f->sum.vmem_peak_bytes;
    use->read_bytes = f->sum.read_bytes;
    use->write_bytes = f->sum.write_bytes;
    job->energy_of_steps = use->energy_joules == BJ_ABSENT;
    if (job->energy_of_steps)
        largest_energy(f, &use->energy_joules);
    if (bj_state_is_open(job->state))
        drop_totals(use);
}

void bj_step_sum_complete(const struct bj_step_sum *f, struct bj_sched_job *job)
{
    struct bj_sched_usage *use = &job->use;
    const struct bj_sched_usage *sum = &f->sum;
    largest(&use->mem_task_peak_bytes, sum->mem_task_peak_bytes);
    largest(&use->mem_peak_bytes, sum->mem_peak_bytes);
    largest(&use->vmem_peak_bytes, sum->vmem_peak_bytes);
    if (bj_state_is_open(job->state))
        return;
    if (sum->cpu_usec != BJ_ABSENT &&
        (use->cpu_usec == BJ_ABSENT || sum->cpu_usec > use->cpu_usec)) {
        use->cpu_usec = sum->cpu_usec;
        use->cpu_user_usec = sum->cpu_user_usec;
        use->cpu_system_usec = sum->cpu_system_usec;
    }
    largest(&use->read_bytes, sum->read_bytes);
    largest(&use->write_bytes, sum->write_bytes);
    if (job->energy_of_steps)
        largest_energy(f, &use->energy_joules);
}

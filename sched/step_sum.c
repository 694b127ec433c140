#include "sched/step_sum.h"

#include "sched/state.h"

static void add(uint64_t *sum, uint64_t v)
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
    add(&f->sum.cpu_usec, use->cpu_usec);
    add(&f->sum.cpu_user_usec, use->cpu_user_usec);
    add(&f->sum.cpu_system_usec, use->cpu_system_usec);
    largest(&f->sum.mem_task_peak_bytes, use->mem_task_peak_bytes);
    largest(&f->sum.mem_peak_bytes, use->mem_peak_bytes);
    largest(&f->sum.vmem_peak_bytes, use->vmem_peak_bytes);
    add(&f->sum.read_bytes, use->read_bytes);
    add(&f->sum.write_bytes, use->write_bytes);
    const unsigned kind = bj_slice_eq(step->step_id, BJ_SLICE("extern"))  ? 0
                          : bj_slice_eq(step->step_id, BJ_SLICE("batch")) ? 1
                                                                          : 2;
    add(&f->energy[kind], use->energy_joules);
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

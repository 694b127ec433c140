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
    f->energy[0] = f->energy[1] = f->energy[2] = BJ_ABSENT;
}

void bj_step_sum_add(struct bj_step_sum *f, struct bj_job_step *step)
{
    struct bj_sched_usage *use = &step->use;
    if (bj_state_is_open(step->state))
        drop_totals(use);
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

/* The job's own row counts, except where it has no value.  Slurm measures the
 * energy of a step on whole nodes, so simultaneous steps all count the same
 * energy: the extern step that of the whole job, the batch step that of its
 * first node, and sruns that of their nodes for a while.  Take the largest of
 * the extern step, the batch step and the sum of the sruns instead of adding
 * them up. */
void bj_step_sum_end(const struct bj_step_sum *f, struct bj_sched_job *job)
{
    struct bj_sched_usage *use = &job->use;
    const bool timed = use->cpu_usec != BJ_ABSENT && use->cpu_usec > 0;
    if (!timed && f->sum.cpu_usec != BJ_ABSENT) {
        use->cpu_usec = f->sum.cpu_usec;
        use->cpu_user_usec = f->sum.cpu_user_usec;
        use->cpu_system_usec = f->sum.cpu_system_usec;
    }
    use->mem_task_peak_bytes = f->sum.mem_task_peak_bytes;
    use->mem_peak_bytes = f->sum.mem_peak_bytes;
    use->vmem_peak_bytes = f->sum.vmem_peak_bytes;
    use->read_bytes = f->sum.read_bytes;
    use->write_bytes = f->sum.write_bytes;
    if (use->energy_joules == BJ_ABSENT)
        for (unsigned i = 0; i < 3; i++)
            largest(&use->energy_joules, f->energy[i]);
    if (bj_state_is_open(job->state))
        drop_totals(use);
}

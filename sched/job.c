#include "sched/job.h"

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

/* The dialects, by name. */
#include "core/view/dialect_tables.h"

const struct bj_dialect *const bj_dialects[] = {
    &bj_dialect_batchjob_monitoring,
    &bj_dialect_ceems,
    &bj_dialect_cgroup_exporter,
    &bj_dialect_jobs_exporter,
    &bj_dialect_jobstats,
    &bj_dialect_mila,
    &bj_dialect_nvidia_gpu,
    &bj_dialect_nvidia_smi,
    &bj_dialect_prometheus_slurm_exporter,
    &bj_dialect_prometheus_slurm_exporter_1_8,
    &bj_dialect_slurm_job_exporter,
    &bj_dialect_vpenso,
    NULL,
};

const struct bj_dialect *bj_dialect_find(struct bj_slice name)
{
    for (size_t i = 0; bj_dialects[i]; i++)
        if (bj_slice_eq(name, bj_slice_str(bj_dialects[i]->name)))
            return bj_dialects[i];
    return NULL;
}

void bj_dialect_names(struct bj_buf *out)
{
    bj_buf_str(out, "native");
    for (size_t i = 0; bj_dialects[i]; i++)
        bj_buf_printf(out, ", %s", bj_dialects[i]->name);
}

/* cgroup v1: the device cgroup, not the environment, determines which GPUs a
 * job has. */
#include "tests/unit/core/test_gpu.h"

#include "tests/unit/lib/await.h"

#include <time.h>

#define JOB "slurm/uid_0/job_21"

#define NODE GPU_A GPU_B "gpu 0 busy 0\ngpu 0 memory_busy 0\n"

static const char *dir;
static struct rig rig;

static void make_node(const char *list)
{
    char path[256];
    static const char env[] = "SLURM_JOB_ID=21\0SLURM_JOB_GPUS=1\0";
    tmp_dir("sys");
    tmp_dir("cg/cpuacct/" JOB);
    tmp_dir("cg/devices/" JOB);
    tmp_file("cg/cpuacct/" JOB "/cpuacct.usage", "1000000\n");
    tmp_file("cg/cpuacct/" JOB "/cgroup.procs", "2100\n");
    tmp_file("cg/devices/" JOB "/cgroup.procs", "2100\n");
    tmp_file("cg/devices/" JOB "/devices.list", list);
    tmp_dir("proc/2100");
    tmp_dir("proc/driver/nvidia/capabilities/gpu2/mig/gi1/ci0");
    tmp_file("proc/driver/nvidia/capabilities/gpu2/mig/gi1/access",
             "DeviceFileMinor: 21\n");
    tmp_file("proc/driver/nvidia/capabilities/gpu2/mig/gi1/ci0/access",
             "DeviceFileMinor: 22\n");
    tmp_file("proc/devices", "Character devices:\n234 nvidia-caps\n");
    tmp_file("proc/2100/cgroup", "11:devices:/" JOB "\n5:cpuacct:/" JOB "\n");
    snprintf(path, sizeof(path), "%s/proc/2100/environ", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fwrite(env, 1, sizeof(env) - 1, f);
    fclose(f);
}

static void run(const char *list, const char *script)
{
    char proc[128], cgroup[128], sys[128], nvml[4300];
    dir = tmp_make();
    make_node(list);
    fake_script(dir, script);
    snprintf(proc, sizeof(proc), "path.procfs=%s/proc", dir);
    snprintf(sys, sizeof(sys), "path.sysfs=%s/sys", dir);
    snprintf(cgroup, sizeof(cgroup), "path.cgroupfs=%s/cg", dir);
    snprintf(nvml, sizeof(nvml), "gpu.nvml=%s", fake_nvml());
    rig_start(&rig, proc, sys, cgroup, nvml, "collector.node=false",
              "job.file-dir=", "gpu.interval=1s", NULL);
}

static void end(void)
{
    rig_stop(&rig);
    tmp_gone();
    unsetenv("FAKE_NVML");
}

static bool has(const struct bj_job *job, const char *gpu, const char *source)
{
    if (!job || job->gpus.n != 1 || job->gpu_claims.n != 1)
        return false;
    const struct bj_gpu_label *l = job->gpu_claims.v;
    return bj_slice_eq(l->sub.key[0], bj_slice_str(gpu)) &&
           bj_slice_eq(l->sub.key[1], bj_slice_str(source));
}

static uint64_t check_held(const char *gpu, const char *source)
{
    rig_pass(&rig);
    assert_true(has(rig_job(&rig, "21"), gpu, source));
    const struct bj_gpu_part *p = rig_job(&rig, "21")->gpus.v;
    return p->held_usec == BJ_ABSENT ? 0 : p->held_usec;
}

/* Check that the job has only this GPU, known from this source, also after more
 * readings of the driver. */
static void check_gpu(const char *gpu, const char *source)
{
    AWAIT_STEP(rig_pass(&rig), has(rig_job(&rig, "21"), gpu, source));
    AWAIT(check_held(gpu, source) >= 2000000);
}

static void test_list(void **state)
{
    (void)state;
    run("c 1:3 rwm\nc 195:2 rwm\nc 195:255 rw\n", NODE);
    check_gpu("GPU-6f0f0e3c-1111-2222-3333-444455556666", "devices");
    assert_non_null(strstr(rig.log, "job 21 claims it"));
    end();
}

/* A list that allows everything is not used; the environment is. */
static void test_everything(void **state)
{
    (void)state;
    run("a *:* rwm\n", NODE);
    check_gpu("GPU-7f0f0e3c-1111-2222-3333-444455556666", "environ");
    end();
}

/* A job with an instance may open its device, too, but does not hold it. */
static void test_instance(void **state)
{
    (void)state;
    run("c 195:2 rw\nc 195:255 rw\nc 234:21 r\nc 234:22 r\n",
        GPU_A GPU_B "gpu 0 mig_mode 1\nmig 0 0 uuid MIG-x\nmig 0 0 gi 1\n"
                    "mig 0 0 ci 0\nproc 0 compute 2100 7 -1 -1\n");
    check_gpu("MIG-x", "devices");
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_list),
                                       cmocka_unit_test(test_everything),
                                       cmocka_unit_test(test_instance)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* MIG instances that are created and destroyed for months, more than the tables
 * hold. Processes and library are simulated, the core is real. */
#include "tests/unit/core/test_gpu.h"

#include "base/buf.h"
#include "tests/unit/lib/await.h"

#include <time.h>

enum { GPUS = 16, INSTANCES = 7, ROUNDS = 7 };

static struct rig rig;
static const char *dir;

/* Write a script: in round 0 all devices are whole, in later rounds all but the
 * last have new instances. */
static void write_script(unsigned round)
{
    struct bj_buf text = {0};
    for (unsigned i = 0; i < GPUS; i++) {
        bj_buf_printf(&text, "gpu %u uuid GPU-%u\n", i, i);
        if (i == GPUS - 1 || round == 0)
            continue;
        bj_buf_printf(&text, "gpu %u mig_mode 1\n", i);
        for (unsigned k = 0; k < INSTANCES; k++)
            bj_buf_printf(&text, "mig %u %u uuid MIG-%u-%u-%u\n", i, k, round,
                          i, k);
    }
    bj_buf_printf(&text, "gpu %u energy %u000\n", GPUS - 1, 10 + round);
    bj_buf_put(&text, "", 1);
    fake_script(dir, text.p);
    bj_buf_free(&text);
}

static const struct bj_gpu_use *find_gpu(const char *uuid)
{
    const struct bj_gpu_use *u = rig.snap->gpus.v;
    for (size_t i = 0; i < rig.snap->gpus.n; i++)
        if (bj_slice_eq(u[i].sub.key[0], bj_slice_str(uuid)))
            return &u[i];
    return NULL;
}

/* Run passes until the last instance of the round is reported. */
static void wait_round(unsigned round)
{
    char last[32];
    snprintf(last, sizeof(last), "MIG-%u-%u-%u", round, GPUS - 2,
             INSTANCES - 1);
    AWAIT_STEP(rig_pass(&rig), find_gpu(round == 0 ? "GPU-0" : last));
}

static void test_churn(void **state)
{
    char proc[128], sys[128], cgroup[128], nvml[4300], name[32];
    (void)state;
    dir = tmp_make();
    tmp_dir("cg");
    tmp_dir("sys");
    tmp_dir("proc");
    snprintf(proc, sizeof(proc), "path.procfs=%s/proc", dir);
    snprintf(sys, sizeof(sys), "path.sysfs=%s/sys", dir);
    snprintf(cgroup, sizeof(cgroup), "path.cgroupfs=%s/cg", dir);
    snprintf(nvml, sizeof(nvml), "gpu.nvml=%s", fake_nvml());
    snprintf(name, sizeof(name), "GPU-%u", GPUS - 1);
    write_script(0);
    rig_start(&rig, proc, sys, cgroup, nvml, "collector.node=false",
              "job.file-dir=", "gpu.interval=1s", "collector.energy=false",
              NULL);
    for (unsigned round = 0; round < ROUNDS; round++) {
        write_script(round);
        wait_round(round);
        const struct bj_gpu_use *u = find_gpu(name);
        assert_non_null(u);
        assert_int_equal(u->energy_uj, round * 1000000);
    }
    rig_stop(&rig);
    tmp_gone();
    unsetenv("FAKE_NVML");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_churn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

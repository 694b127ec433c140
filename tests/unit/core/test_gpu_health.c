/* Health of GPUs: rules for Xid errors, lines of the kernel's log, and states
 * of simulated GPUs with jobs. */
#include "core/gpu/health.h"

#include "core/internal.h"
#include "tests/unit/core/test_gpu.h"
#include "tests/unit/lib/await.h"
#include "tests/unit/lib/testclock.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>

enum { SECOND = 1000000 };
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void rules(void **state)
{
    (void)state;
    static struct bj_gpu_xid_rules r;
    struct bj_err err = {0};
    assert_int_equal(bj_gpu_xid_rules_parse(BJ_SLICE(""), &r, &err), 0);
    assert_int_equal(bj_gpu_xid_state(&r, 31), BJ_GPU_APPLICATION);
    assert_int_equal(bj_gpu_xid_state(&r, 79), BJ_GPU_LOST);
    assert_int_equal(bj_gpu_xid_state(&r, 154), BJ_GPU_OK);
    /* No rule: neither good nor the worst. */
    assert_int_equal(bj_gpu_xid_state(&r, 511), BJ_GPU_DEGRADED);
    assert_int_equal(bj_gpu_xid_state(&r, UINT64_MAX), BJ_GPU_DEGRADED);
    assert_int_equal(
        bj_gpu_xid_rules_parse(BJ_SLICE("# of the site\n\n 31 drain_now # us\n"
                                        "500\tok\n#79 ok"),
                               &r, &err),
        0);
    assert_int_equal(bj_gpu_xid_state(&r, 31), BJ_GPU_DRAIN_NOW);
    assert_int_equal(bj_gpu_xid_state(&r, 500), BJ_GPU_OK);
    assert_int_equal(bj_gpu_xid_state(&r, 79), BJ_GPU_LOST);
    static const char *const wrong[] = {"31 ok\n79",     "31 ok\n79 fine",
                                        "31 ok\n512 ok", "31 ok\n-1 ok",
                                        "31 ok\nok 79",  "31 ok\n79 ok ok"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        assert_int_equal(
            bj_gpu_xid_rules_parse(bj_slice_str(wrong[i]), &r, &err), -EINVAL);
        assert_non_null(strstr(err.msg, "line 2"));
    }
}

/* Lines as drivers 450 to 580 write them, from public reports. */
static void lines(void **state)
{
    (void)state;
    static const struct {
        const char *record, *pci; /* NULL: no Xid error */
        uint32_t xid, pid;
    } cases[] = {
        {"3,1200,5500,-;NVRM: Xid (PCI:0009:01:00): 43, pid=3188489, "
         "name=python, Ch 00000008\n SUBSYSTEM=pci\n",
         "0009:01:00", 43, 3188489},
        {"4,1,5500,-,caller=T7;NVRM: Xid (PCI:0000:C1:00): 79, "
         "pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n",
         "0000:c1:00", 79, 0},
        {"3,1,5500,-;NVRM: Xid (PCI:0000:07:00): 31, Ch 00000010, intr",
         "0000:07:00", 31, 0},
        {"3,1,5500,-;NVRM: Xid (PCI:00000001:07:00): 154", "0001:07:00", 154,
         0},
        {"3,1,5500,-;NVRM: Xid (PCI:0000:07:00 GPU-I:05): 94, pid=7, name=a",
         "0000:07:00", 94, 7},
        /* A program that calls itself so. */
        {"3,1,5500,-;NVRM: Xid (PCI:0000:07:00): 13, pid=7, name=x): 79, "
         "pid=1, name=y",
         "0000:07:00", 13, 7},
        {"3,1,5500,-;NVRM: Xid (PCI:0000:07:00): 13, name=x, pid=9",
         "0000:07:00", 13, 0},
        /* Written by a program: facility 1. */
        {"11,1,5500,-;NVRM: Xid (PCI:0000:07:00): 79, pid=7, name=x", NULL, 0,
         0},
        {"3,1,5500,-;a job says NVRM: Xid (PCI:0000:07:00): 79", NULL, 0, 0},
        {"3,1,5500,-;NVRM: Xid (PCI:0000:07:00): x", NULL, 0, 0},
        {"3,1,5500,-;NVRM: Xid (PCI:0000:07:00): 99999999999", NULL, 0, 0},
        {"3,1,5500,-;NVRM: Xid (PCI:0000:07:0): 79", NULL, 0, 0},
        {"3,1,5500,-;NVRM: Xid (PCI:0000:07:00.0): 79", NULL, 0, 0},
        {"3,1,5500,-;NVRM: Xid (PCI:000000000:07:00): 79", NULL, 0, 0},
        {"3,1,5500,-;NVRM: Xid (PCI:0000:07:00): 79.5", NULL, 0, 0},
        {"3,1,x,-;NVRM: Xid (PCI:0000:07:00): 79", NULL, 0, 0},
        {"NVRM: Xid (PCI:0000:07:00): 79", NULL, 0, 0},
        {"", NULL, 0, 0},
        {"3,1,5500,-;", NULL, 0, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bj_gpu_log_xid x = {{0}, 0, 0, 0};
        bool found = bj_gpu_log_parse(bj_slice_str(cases[i].record), &x);
        if (found != (cases[i].pci != NULL))
            fail_msg("%s", cases[i].record);
        uint64_t number;
        if (found)
            assert_true(
                bj_gpu_log_sequence(bj_slice_str(cases[i].record), &number) &&
                number > 0);
        if (!found)
            continue;
        assert_string_equal(x.pci, cases[i].pci);
        assert_int_equal(x.xid, cases[i].xid);
        assert_int_equal(x.pid, cases[i].pid);
        assert_int_equal(x.boot_usec, 5500);
    }
}

static void actions(void **state)
{
    (void)state;
    static const enum bj_gpu_state want[] = {
        BJ_GPU_OK,          BJ_GPU_RESET,    BJ_GPU_LOST,    BJ_GPU_DRAIN_LATER,
        BJ_GPU_DRAIN_LATER, BJ_GPU_DEGRADED, BJ_GPU_DEGRADED};
    for (size_t i = 0; i < COUNT(want); i++)
        assert_int_equal(bj_gpu_recovery_state(i), want[i]);
    assert_int_equal(bj_gpu_recovery_state(UINT64_MAX), BJ_GPU_DEGRADED);
}

/* --- simulated GPUs --------------------------------------------------------*/

#define SCOPE "system.slice/slurmstepd.scope/"
/* 230: the recovery action, 1: a number of 32 bits. */
#define NO_ACTION "field 0 230 1 0\nfield 1 230 1 0\n"
#define DEVICES NO_ACTION SILENT
#define SILENT                                                                 \
    "driver 550.54.15\n"                                                       \
    "gpu 0 uuid GPU-a\ngpu 0 pci 00000000:07:00.0\ngpu 0 events 8\n"           \
    "gpu 1 uuid GPU-b\ngpu 1 pci 00000000:0F:00.0\ngpu 1 events 8\n"           \
    "proc 0 compute 1100 50 -1 -1\nproc 1 compute 1200 50 -1 -1\n"

static struct rig rig;
static const char *dir;
static char log_path[160], health_path[160];
static int log_fd = -1;
static char proc[128], sys[128], cgroup[128], nvml[4300], log_opt[180],
    health_opt[180], saved[180], spool[180];

static void process(unsigned pid, const char *job)
{
    char path[256], text[256];
    snprintf(path, sizeof(path), "proc/%u", pid);
    tmp_dir(path);
    snprintf(path, sizeof(path), "proc/%u/environ", pid);
    tmp_file(path, "");
    snprintf(path, sizeof(path), "proc/%u/cgroup", pid);
    snprintf(text, sizeof(text), "0::/" SCOPE "%s/step_0/user/task_0\n", job);
    tmp_file(path, text);
    snprintf(path, sizeof(path), "cg/" SCOPE "%s", job);
    snprintf(text, sizeof(text), "%u\n", pid);
    tmp_v2_job(path, 1000, 4096, text);
}

static void start(void)
{
    rig_start(&rig, proc, sys, cgroup, nvml, log_opt, health_opt, saved, spool,
              "collector.node=false", "gpu.interval=1s",
              "gpu.map-dir=", "collector.energy=true", "energy.interval=1s",
              "energy.slow-interval=1s", NULL);
    log_fd = open(log_path, O_WRONLY | O_NONBLOCK);
    assert_true(log_fd >= 0);
}

static void stop(void)
{
    close(log_fd);
    rig_stop(&rig);
}

static int setup(void **state)
{
    (void)state;
    dir = tmp_make();
    tmp_dir("cg");
    tmp_dir("sys");
    tmp_dir("spool");
    tmp_file("cg/cgroup.controllers", "cpu memory\n");
    process(1100, "job_11");
    process(1200, "job_12");
    process(1201, "job_13");
    snprintf(log_path, sizeof(log_path), "%s/kmsg", dir);
    snprintf(health_path, sizeof(health_path), "%s/health", dir);
    assert_int_equal(mkfifo(log_path, 0600), 0);
    snprintf(proc, sizeof(proc), "path.procfs=%s/proc", dir);
    snprintf(sys, sizeof(sys), "path.sysfs=%s/sys", dir);
    snprintf(cgroup, sizeof(cgroup), "path.cgroupfs=%s/cg", dir);
    snprintf(nvml, sizeof(nvml), "gpu.nvml=%s", fake_nvml());
    snprintf(log_opt, sizeof(log_opt), "gpu.kernel-log=%s", log_path);
    snprintf(saved, sizeof(saved), "energy.state-file=%s/state", dir);
    snprintf(spool, sizeof(spool), "record.dir=%s/spool", dir);
    snprintf(health_opt, sizeof(health_opt), "gpu.health-file=%s", health_path);
    fake_script(dir, DEVICES);
    start();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    stop();
    tmp_gone();
    unsetenv("FAKE_NVML");
    return 0;
}

/* A device of the snapshot, or NULL. */
static const struct bj_gpu_use *device(const char *uuid)
{
    const struct bj_gpu_use *u = rig.snap->gpus.v;
    for (size_t i = 0; i < rig.snap->gpus.n; i++)
        if (bj_slice_eq(u[i].sub.key[0], bj_slice_str(uuid)))
            return &u[i];
    return NULL;
}

static bool is(const char *uuid, uint64_t health, uint64_t incidents)
{
    const struct bj_gpu_use *u = device(uuid);
    return u && u->health == health && u->incidents == incidents;
}

#define AWAIT_PASSES(condition) AWAIT_STEP(rig_pass(&rig), condition)

/* A pass reads it: a pipe does not keep two records apart. */
static void kernel_says(const char *record)
{
    assert_int_equal(write(log_fd, record, strlen(record)), strlen(record));
    rig_pass(&rig);
}

/* The line of a device in the file starts with this text. */
static void expect_line(const char *start)
{
    char text[2000] = "";
    int fd = open(health_path, O_RDONLY);
    assert_true(fd >= 0);
    assert_true(read(fd, text, sizeof(text) - 1) > 0);
    close(fd);
    if (!strstr(text, start))
        fail_msg("no \"%s\" in: %s", start, text);
}

static void held(void)
{
    AWAIT_PASSES(is("GPU-a", 0, 0) && is("GPU-b", 0, 0) &&
                 rig_job(&rig, "11") && rig_job(&rig, "11")->gpus.n == 1 &&
                 rig_job(&rig, "12") && rig_job(&rig, "12")->gpus.n == 1);
    expect_line("GPU-a ok - - - -\n");
}

/* Events of the driver: the job is the one that holds the GPU. */
static void events(void **state)
{
    (void)state;
    held();
    fake_script(dir, DEVICES "xid 0 31\n");
    AWAIT_PASSES(is("GPU-a", BJ_GPU_APPLICATION, 0));
    expect_line("GPU-a application 31 11 holder ");
    /* Several errors of one fault: one incident, the first of the worst. */
    fake_script(dir, DEVICES "xid 0 31\nxid 0 48\nxid 0 94\nxid 0 63\n");
    AWAIT_PASSES(is("GPU-a", BJ_GPU_DRAIN_LATER, 1));
    expect_line("GPU-a drain_later 48 11 holder ");
    fake_script(dir, DEVICES "xid 0 31\nxid 0 48\nxid 0 94\nxid 0 63\nxid 0 79"
                             "\nxid 0 43\n");
    AWAIT_PASSES(is("GPU-a", BJ_GPU_LOST, 1));
    expect_line("GPU-a lost 79 11 holder ");
    assert_true(is("GPU-b", 0, 0));
    expect_line("GPU-b ok - - - -\n");
    /* It stays, and a later error of a program does not hide it. */
    testclock_advance(700ull * SECOND);
    fake_script(dir, DEVICES "xid 0 31\nxid 0 48\nxid 0 94\nxid 0 63\nxid 0 79"
                             "\nxid 0 43\nxid 0 13\n");
    AWAIT_PASSES(device("GPU-a") && device("GPU-a")->last_xid == 13);
    assert_true(is("GPU-a", BJ_GPU_LOST, 1));
    testclock_run();
}

/* The kernel names the process. */
static void kernel_log(void **state)
{
    (void)state;
    held();
    kernel_says("11,1,1,-;NVRM: Xid (PCI:0000:0f:00): 79, pid=1201, name=x\n");
    rig_pass(&rig);
    rig_pass(&rig);
    assert_true(is("GPU-b", 0, 0));
    kernel_says("3,2,1,-;NVRM: Xid (PCI:0000:0f:00): 13, pid=1201, name=x\n");
    AWAIT_PASSES(is("GPU-b", BJ_GPU_APPLICATION, 0));
    expect_line("GPU-b application 13 13 process ");
    /* The process has gone: the job that held the GPU. */
    kernel_says("3,3,1,-;NVRM: Xid (PCI:0000:07:00): 95, pid=99999, name=x\n");
    AWAIT_PASSES(is("GPU-a", BJ_GPU_DRAIN_NOW, 1));
    expect_line("GPU-a drain_now 95 11 holder ");
    /* An error of a program is over after ten minutes. */
    testclock_advance(600ull * SECOND);
    AWAIT_PASSES(is("GPU-b", BJ_GPU_OK, 0));
    assert_true(is("GPU-a", BJ_GPU_DRAIN_NOW, 1));
    testclock_run();
}

/* What the driver says of memory, without Xid errors. */
static void memory(void **state)
{
    (void)state;
    held();
    fake_script(dir, DEVICES "gpu 0 rows_corrected 0\ngpu 0 rows_uncorrected 1"
                             "\ngpu 0 rows_pending 1\ngpu 0 rows_failed 0\n"
                             "gpu 1 rows_corrected 0\ngpu 1 rows_uncorrected 1"
                             "\ngpu 1 rows_pending 1\ngpu 1 rows_failed 1\n");
    AWAIT_PASSES(is("GPU-a", BJ_GPU_DRAIN_LATER, 0) &&
                 is("GPU-b", BJ_GPU_DRAIN_NOW, 0));
    expect_line("GPU-a drain_later - - - -\n");
}

static uint64_t log_losses(void)
{
    const struct bj_gpu_source *s = rig.snap->gpu_sources.v;
    for (size_t i = 0; i < rig.snap->gpu_sources.n; i++)
        if (bj_slice_eq(s[i].sub.key[0], BJ_SLICE("kernel_log")))
            return s[i].errors;
    return BJ_ABSENT;
}

/* The driver says what to do; where it does not, no error since the start does
 * not mean that there was none before. */
static void recovery(void **state)
{
    (void)state;
    held();
    fake_script(dir, "field 0 230 1 4\nfield 1 230 1 9\nfield 0 269 3 7000999\n"
                     "field 0 271 3 0\n" SILENT);
    AWAIT_PASSES(is("GPU-a", BJ_GPU_DRAIN_LATER, 0) &&
                 is("GPU-b", BJ_GPU_DEGRADED, 0));
    assert_int_equal(device("GPU-a")->recovery, 4);
    assert_int_equal(device("GPU-a")->throttled_sw_usec, 7000);
    assert_int_equal(device("GPU-a")->throttled_hw_usec, BJ_ABSENT);
    assert_int_equal(device("GPU-a")->throttled_brake_usec, 0);
    fake_script(dir, SILENT "gpu 1 ecc_10 0\n");
    AWAIT_PASSES(is("GPU-a", BJ_ABSENT, 0) && is("GPU-b", BJ_ABSENT, 0));
    expect_line("GPU-a unknown - - - -\n");
}

/* States are kept over a restart, until a reset. */
static void restart(void **state)
{
    (void)state;
    held();
    kernel_says("3,5,1,-;NVRM: Xid (PCI:0000:07:00): 95, pid=1100, name=x\n");
    kernel_says("3,6,1,-;NVRM: Xid (PCI:0000:0f:00): 13, pid=1200, name=x\n");
    AWAIT_PASSES(is("GPU-a", BJ_GPU_DRAIN_NOW, 1) &&
                 is("GPU-b", BJ_GPU_APPLICATION, 0));
    assert_int_equal(log_losses(), 0);
    stop();
    fake_script(dir, DEVICES "gpu 0 energy 9000\n");
    start();
    AWAIT_PASSES(is("GPU-a", BJ_GPU_DRAIN_NOW, 1));
    /* Read before: no incident.  Then three were overwritten. */
    kernel_says("3,5,1,-;NVRM: Xid (PCI:0000:0f:00): 79, pid=1200, name=x\n");
    AWAIT_PASSES(is("GPU-a", BJ_GPU_DRAIN_NOW, 1) &&
                 is("GPU-b", BJ_GPU_APPLICATION, 0) &&
                 device("GPU-a")->energy_uj == 0);
    expect_line("GPU-a drain_now 95 11 process ");
    kernel_says("3,10,1,-;NVRM: Xid (PCI:0000:0f:00): 13, pid=1, name=x\n");
    AWAIT_PASSES(log_losses() == 3);
    assert_non_null(strstr(rig.log, "3 records were overwritten"));
    /* Its energy counter begins again: a reset while no program ran. */
    stop();
    fake_script(dir, SILENT "gpu 0 energy 10\n");
    start();
    /* A counter that fell counts when it rises from there. */
    AWAIT_PASSES(is("GPU-a", BJ_GPU_DRAIN_NOW, 1));
    fake_script(dir, SILENT "gpu 0 energy 20\n");
    AWAIT_PASSES(is("GPU-a", BJ_GPU_OK, 1));
    expect_line("GPU-a ok - - - -\n");
}

/* What a record says of the job's GPU; it ends with the error. */
static void in_record(const char *jobid, const char *want)
{
    static char text[4096];
    char pattern[256];
    glob_t g;
    snprintf(pattern, sizeof(pattern), "%s/spool/*.%s.*.json", dir, jobid);
    AWAIT_PASSES(glob(pattern, 0, NULL, &g) == 0);
    FILE *f = fopen(g.gl_pathv[0], "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
    fclose(f);
    globfree(&g);
    const char *at = strstr(text, "\"fault\":");
    if (want ? !at || strncmp(at, want, strlen(want)) != 0 : at != NULL)
        fail_msg("%s in %s", want ? want : "no fault", text);
}

static void records(void **state)
{
    (void)state;
    held();
    /* Named by the process, and an error of its own before; also over a
     * restart. */
    kernel_says("3,5,1,-;NVRM: Xid (PCI:0000:07:00): 31, pid=1100, name=x\n");
    kernel_says("3,6,1,-;NVRM: Xid (PCI:0000:07:00): 95, pid=1100, name=x\n");
    AWAIT_PASSES(is("GPU-a", BJ_GPU_DRAIN_NOW, 1));
    stop();
    start();
    AWAIT_PASSES(is("GPU-a", BJ_GPU_DRAIN_NOW, 1) && rig_job(&rig, "11") &&
                 rig_job(&rig, "11")->gpus.n == 1 && rig_job(&rig, "12") &&
                 rig_job(&rig, "12")->gpus.n == 1);
    tmp_remove("cg/" SCOPE "job_11");
    in_record("11", "\"fault\":\"drain_now\",\"fault_xid\":95,"
                    "\"fault_time\":");
    in_record("11", "\"fault\":\"drain_now\"");
    tmp_remove("cg/" SCOPE "job_12");
    in_record("12", NULL);
}

int main(void)
{
#define HEALTH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules),
        cmocka_unit_test(lines),
        HEALTH(events),
        HEALTH(kernel_log),
        HEALTH(memory),
        HEALTH(recovery),
        HEALTH(restart),
        HEALTH(records),
        cmocka_unit_test(actions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

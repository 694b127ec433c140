/* A node with GPUs and jobs: which job holds which GPU, for how long, and with
 * how much energy. Processes and library are simulated, the core is real. */
#include "tests/unit/core/test_gpu.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "core/internal.h"
#include "tests/unit/lib/await.h"
#include "tests/unit/lib/testclock.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <time.h>

#define SCOPE "system.slice/slurmstepd.scope/"
#define DEVICES                                                                \
    "gpu 0 uuid GPU-a\ngpu 1 uuid GPU-b\ngpu 2 uuid GPU-c\ngpu 3 uuid GPU-d\n" \
    "gpu 0 busy 80\ngpu 1 busy 0\ngpu 2 mig_mode 1\ngpu 3 busy 10\n"           \
    "gpu 0 memory_busy 5\ngpu 1 memory_busy 0\ngpu 3 memory_busy 0\n"          \
    "gpu 0 memory_total 100\ngpu 0 memory_used 60\n"                           \
    "gpu 0 minor 3\ngpu 1 minor 2\ngpu 2 minor 1\ngpu 3 minor 0\n"             \
    "mig 2 0 uuid MIG-x\nmig 2 0 gi 1\nmig 2 0 ci 0\nmig 2 0 slices 3\n"       \
    "mig 2 0 sms 42\nmig 2 1 sms 42\n"                                         \
    "mig 2 1 uuid MIG-11111111-y\nmig 2 1 gi 2\nmig 2 1 ci 0\n"                \
    "mig 2 1 slices 3\n"                                                       \
    "proc 0 compute 1100 50 -1 -1\nproc 2 compute 1300 7 1 0\n"                \
    "proc 3 compute 1500 9 -1 -1\n"

enum { SECOND = 1000000 };

static struct rig rig;
static const char *dir;
static char proc_opt[128], cgroup_opt[128], sys_opt[128], nvml_opt[4300],
    map_opt[128], state_opt[128], spool_opt[128];
static const char *order_opt = "gpu.order=bus", *file_opt = "job.file-dir=";

static void process(unsigned pid, const char *job, const char *env, size_t n)
{
    char rel[128], path[256], text[256];
    snprintf(rel, sizeof(rel), "proc/%u", pid);
    tmp_dir(rel);
    snprintf(path, sizeof(path), "%s/%s/environ", dir, rel);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fwrite(env, 1, n, f);
    fclose(f);
    snprintf(path, sizeof(path), "%s/cgroup", rel);
    snprintf(text, sizeof(text), "0::/" SCOPE "%s/step_0/user/task_0\n", job);
    tmp_file(path, text);
    snprintf(path, sizeof(path), "cg/" SCOPE "%s", job);
    snprintf(text, sizeof(text), "%u\n", pid);
    tmp_v2_job(path, 1000, 4096, text);
}
#define PROCESS(pid, job, env) process(pid, job, env, sizeof(env) - 1)

/* Write a script: the devices' energy in joules, and more lines. */
static void set_energy_and(unsigned a, unsigned b, unsigned c, unsigned d,
                           const char *more)
{
    struct bj_buf text = {0};
    bj_buf_printf(&text,
                  DEVICES "gpu 0 energy %u000\ngpu 1 energy %u000\n"
                          "gpu 2 energy %u000\ngpu 3 energy %u000\n%s",
                  a, b, c, d, more);
    bj_buf_put(&text, "", 1);
    fake_script(dir, text.p);
    bj_buf_free(&text);
}

static void set_energy(unsigned a, unsigned b, unsigned c, unsigned d)
{
    set_energy_and(a, b, c, d, "");
}

static void start(void)
{
    rig_start(&rig, proc_opt, sys_opt, cgroup_opt, nvml_opt, map_opt, state_opt,
              spool_opt, order_opt, "collector.node=false", file_opt,
              "gpu.interval=1s", "collector.energy=true", "energy.interval=1s",
              "energy.slow-interval=1s", NULL);
}

static int setup(void **state)
{
    (void)state;
    dir = tmp_make();
    tmp_dir("cg");
    tmp_dir("sys");
    tmp_dir("gpustat");
    tmp_file("cg/cgroup.controllers", "cpu memory\n");
    snprintf(proc_opt, sizeof(proc_opt), "path.procfs=%s/proc", dir);
    snprintf(sys_opt, sizeof(sys_opt), "path.sysfs=%s/sys", dir);
    snprintf(cgroup_opt, sizeof(cgroup_opt), "path.cgroupfs=%s/cg", dir);
    snprintf(nvml_opt, sizeof(nvml_opt), "gpu.nvml=%s", fake_nvml());
    snprintf(map_opt, sizeof(map_opt), "gpu.map-dir=%s/gpustat", dir);
    PROCESS(1100, "job_11", "SLURM_JOB_ID=11\0SLURM_JOB_GPUS=0\0");
    PROCESS(1200, "job_12", "SLURM_JOB_ID=12\0SLURM_JOB_GPUS=1\0");
    PROCESS(1300, "job_13", "SLURM_JOB_ID=13\0");
    PROCESS(1400, "job_14",
            "SLURM_JOB_ID=14\0CUDA_VISIBLE_DEVICES=MIG-11111111-y\0");
    PROCESS(1500, "job_15", "SLURM_JOB_ID=15\0SLURM_JOB_GPUS=0\0");
    snprintf(state_opt, sizeof(state_opt), "energy.state-file=%s/state", dir);
    snprintf(spool_opt, sizeof(spool_opt), "record.dir=%s/spool", dir);
    tmp_dir("spool");
    set_energy(10, 10, 10, 10);
    start();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rig_stop(&rig);
    tmp_gone();
    unsetenv("FAKE_NVML");
    return 0;
}

static const struct bj_gpu_part *part(const char *jobid, const char *gpu)
{
    const struct bj_job *job = rig_job(&rig, jobid);
    const struct bj_gpu_part *p = job ? job->gpus.v : NULL;
    for (size_t i = 0; job && i < job->gpus.n; i++)
        if (bj_slice_eq(p[i].sub.key[0], bj_slice_str(gpu)))
            return &p[i];
    return NULL;
}

static const char *source(const char *jobid)
{
    static char text[32];
    const struct bj_job *job = rig_job(&rig, jobid);
    const struct bj_gpu_label *l = job->gpu_claims.v;
    if (job->gpu_claims.n != 1)
        return "not one";
    snprintf(text, sizeof(text), "%.*s", (int)l->sub.key[1].n, l->sub.key[1].p);
    return text;
}

static uint64_t conflicts(const char *kind)
{
    const struct bj_gpu_label *l = rig.snap->gpu_conflicts.v;
    for (size_t i = 0; i < rig.snap->gpu_conflicts.n; i++)
        if (bj_slice_eq(l[i].sub.key[0], bj_slice_str(kind)))
            return l[i].value;
    return BJ_ABSENT;
}

/* Run passes until the condition holds. */
#define AWAIT_PASSES(condition) AWAIT_STEP(rig_pass(&rig), condition)

/* Run passes until device 0 reports this energy (J). */
static void wait_energy(uint64_t joules)
{
    const struct bj_gpu_use *u;
    AWAIT_PASSES((u = rig.snap->gpus.v, rig.snap->gpus.n == 6) &&
                 u->energy_uj == joules * 1000000 &&
                 part("14", "MIG-11111111-y"));
}

static bool held_by(const char *jobid, const char *gpu)
{
    const struct bj_gpu_part *p = part(jobid, gpu);
    return p && p->share_ppm == 1000000;
}

/* The holders at first. */
static const struct {
    const char *job, *gpu;
} holders[] = {{"11", "GPU-a"},
               {"12", "GPU-b"},
               {"13", "MIG-x"},
               {"14", "MIG-11111111-y"},
               {"15", "GPU-d"}};

static bool all_hold(void)
{
    for (size_t i = 0; i < 5; i++) {
        const struct bj_gpu_part *p = part(holders[i].job, holders[i].gpu);
        if (!p || p->energy_uj != 0 || p->held_usec == BJ_ABSENT ||
            p->held_usec < 900000)
            return false;
    }
    return true;
}

/* Wait until all jobs have held their devices for a second: later energy is
 * theirs. */
static void wait_ready(void)
{
    wait_energy(0);
    AWAIT_PASSES(all_hold());
}

/* Five jobs: one computes, one is idle, two have an instance each, and the
 * environment of the last names the wrong GPU. */
static void test_owners(void **state)
{
    (void)state;
    wait_ready();
    assert_true(held_by("11", "GPU-a"));
    assert_true(held_by("12", "GPU-b"));
    assert_true(held_by("13", "MIG-x"));
    assert_true(held_by("14", "MIG-11111111-y"));
    assert_true(held_by("15", "GPU-d"));
    assert_null(part("15", "GPU-a"));
    for (int i = 11; i <= 15; i++) {
        char id[8];
        snprintf(id, sizeof(id), "%d", i);
        assert_int_equal(rig_job(&rig, id)->gpus.n, 1);
    }
    assert_string_equal(source("11"), "process");
    assert_string_equal(source("12"), "environ");
    assert_string_equal(source("13"), "process");
    assert_string_equal(source("14"), "environ");
    assert_string_equal(source("15"), "process");
    assert_int_equal(conflicts("denied"), 1);
    assert_int_equal(conflicts("stray"), 1);
    assert_int_equal(conflicts("double"), 0);
    /* the job has what is in doubt about it, the others have nothing */
    const struct bj_list *doubts = &rig_job(&rig, "15")->gpu_conflicts;
    const struct bj_gpu_label *doubt = doubts->v;
    assert_int_equal(doubts->n, 2);
    assert_true(bj_slice_eq(doubt[0].sub.key[0], BJ_SLICE("denied")));
    assert_true(bj_slice_eq(doubt[1].sub.key[0], BJ_SLICE("stray")));
    assert_int_equal(doubt[0].value, 1);
    for (int i = 11; i <= 14; i++) {
        char id[8];
        snprintf(id, sizeof(id), "%d", i);
        assert_int_equal(rig_job(&rig, id)->gpu_conflicts.n, 0);
    }
    assert_non_null(strstr(rig.log, "GPU GPU-a: job 15 claims it"));
    assert_non_null(strstr(rig.log, "GPU GPU-d: job 15 uses it"));
    const struct bj_gpu_part *p = part("11", "GPU-a");
    assert_int_equal(p->busy_ppm, 800000);
    assert_int_equal(p->memory_used_bytes, 60);
    assert_int_equal(p->processes, 1);
    assert_int_equal(p->estimated, 0);
    assert_int_equal(part("13", "MIG-x")->estimated, 1);
    /* Time held and idle. */
    assert_true(p->held_usec > 900000);
    assert_int_equal(p->idle_usec, 0);
    p = part("12", "GPU-b");
    assert_true(p->held_usec > 900000);
    assert_int_equal(p->idle_usec, p->held_usec);
    p = part("14", "MIG-11111111-y");
    assert_int_equal(p->idle_usec, p->held_usec);
    assert_int_equal(part("13", "MIG-x")->idle_usec, 0);
}

static uint64_t ledger_gpu(const struct bj_job *job)
{
    const struct bj_energy_use *e = job->energy.v;
    for (size_t i = 0; i < job->energy.n; i++)
        if (bj_slice_eq(e[i].sub.key[0], BJ_SLICE("gpu")))
            return e[i].energy_uj;
    return BJ_ABSENT;
}

/* The energy of a device belongs to its holder. Of the partitioned device, each
 * instance gets 3/7, and 1/7 is unallocated. The ledger agrees. */
static void test_energy(void **state)
{
    static const struct {
        const char *job, *gpu;
        uint64_t uj;
    } want[] = {{"11", "GPU-a", 100000000},
                {"12", "GPU-b", 20000000},
                {"13", "MIG-x", 30000000},
                {"14", "MIG-11111111-y", 30000000},
                {"15", "GPU-d", 5000000}};
    (void)state;
    wait_ready();
    set_energy(110, 30, 80, 15);
    wait_energy(100);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(part(want[i].job, want[i].gpu)->energy_uj, want[i].uj);
    /* The ledger shows energy once it is settled. */
    AWAIT_PASSES(ledger_gpu(rig_job(&rig, "11")) == 100000000);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(ledger_gpu(rig_job(&rig, want[i].job)), want[i].uj);
    const struct bj_energy_split *s = rig.snap->node.energy.v;
    assert_int_equal(rig.snap->node.energy.n, 1);
    assert_int_equal(s->energy_uj, 195000000);
    assert_int_equal(s->unallocated_uj, 10000000);
    /* A counter that falls adds nothing.  The next reading shows that it was
     * reset, which is counted, and shown once it is saved. */
    set_energy(1, 31, 80, 15);
    AWAIT_PASSES(part("12", "GPU-b")->energy_uj == 21000000);
    const struct bj_gpu_use *u = rig.snap->gpus.v;
    assert_int_equal(u->energy_uj, 100000000);
    set_energy(3, 31, 80, 15);
    AWAIT_STEP((rig_pass(&rig), u = rig.snap->gpus.v), u->energy_resets == 1);
    assert_int_equal(u->energy_uj, 102000000);
    /* A false reading adds nothing. */
    set_energy(3000000, 32, 80, 15);
    AWAIT_PASSES(part("12", "GPU-b")->energy_uj == 22000000);
    set_energy(5, 33, 80, 15);
    AWAIT_PASSES(part("12", "GPU-b")->energy_uj == 23000000);
    AWAIT_STEP((rig_pass(&rig), u = rig.snap->gpus.v),
               u->energy_uj == 104000000);
    assert_int_equal(u->errors, 2);
}

/* Energy used while no exporter ran belongs to the jobs that ran before and
 * after, also in the ledger. */
static void test_restart(void **state)
{
    (void)state;
    wait_ready();
    set_energy(20, 30, 10, 10);
    wait_energy(10);
    AWAIT_PASSES(ledger_gpu(rig_job(&rig, "12")) == 20000000);
    uint64_t held = part("12", "GPU-b")->held_usec;
    rig_stop(&rig);
    set_energy(120, 130, 10, 10);
    start();
    /* No counter is shown before its saved value is loaded, so that none
     * decreases. */
    rig_pass(&rig);
    const struct bj_gpu_part *p = part("12", "GPU-b");
    assert_true(!p || p->held_usec == BJ_ABSENT || p->held_usec >= held);
    wait_energy(110);
    AWAIT_PASSES(ledger_gpu(rig_job(&rig, "12")) == 120000000);
    assert_int_equal(ledger_gpu(rig_job(&rig, "11")), 110000000);
    const struct bj_energy_split *s = rig.snap->node.energy.v;
    assert_int_equal(s->energy_uj, 230000000);
    assert_int_equal(s->unallocated_uj, 0);
    /* The counters of the job itself continue, too. */
    assert_int_equal(part("11", "GPU-a")->energy_uj, 110000000);
    assert_int_equal(part("12", "GPU-b")->energy_uj, 120000000);
    AWAIT_PASSES(part("12", "GPU-b")->held_usec > held &&
                 part("12", "GPU-b")->idle_usec > held);
}

/* Wait for the final record of an ended job, and return its text. */
static const char *record(const char *jobid)
{
    static char text[4096];
    char pattern[256];
    glob_t g;
    snprintf(pattern, sizeof(pattern), "%s/spool/*.%s.*.json", dir, jobid);
    AWAIT_PASSES(glob(pattern, 0, NULL, &g) == 0);
    FILE *f = fopen(g.gl_pathv[0], "r");
    assert_int_equal(g.gl_pathc, 1);
    assert_non_null(f);
    text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
    fclose(f);
    globfree(&g);
    struct bj_arena arena = {0};
    struct bj_err err = {0};
    const struct bj_json *doc;
    if (rig_record(&arena, bj_slice_str(text), &doc, &err) < 0)
        fail_msg("%s", err.msg);
    bj_arena_free(&arena);
    return text;
}

/* A record contains the device's energy until the end of the job, though it is
 * read later; also in the ledger's part. */
static void test_record(void **state)
{
    (void)state;
    wait_ready();
    set_energy(20, 30, 10, 10);
    wait_energy(10);
    set_energy(20, 35, 10, 10);
    tmp_remove("cg/" SCOPE "job_12");
    const char *text = record("12");
    assert_non_null(strstr(text, "\"hybrid\":{\"gpu\":25000000}"));
    const char *gpu = strstr(text, "\"gpus\":{\"GPU-b\":{\"index\":1,"
                                   "\"source\":\"environ\",\"held_usec\":");
    assert_non_null(gpu);
    assert_non_null(strstr(gpu, "\"busy_ppm\":0,"));
    assert_non_null(strstr(gpu, "\"energy_uj\":25000000,\"estimated\":false"));
    tmp_remove("cg/" SCOPE "job_11");
    text = record("11");
    gpu = strstr(text, "\"gpus\":{\"GPU-a\":{");
    assert_non_null(gpu);
    assert_non_null(strstr(gpu, "\"idle_usec\":0,\"busy_ppm\":800000,"
                                "\"memory_peak_bytes\":60,"));
    tmp_remove("cg/" SCOPE "job_13");
    assert_non_null(strstr(record("13"), "\"MIG-x\":{\"index\":2"));
    assert_non_null(strstr(record("13"), "\"estimated\":true"));
    /* A restart writes no second record of a job. */
    uint64_t held = part("14", "MIG-11111111-y")->held_usec;
    rig_stop(&rig);
    start();
    AWAIT_PASSES(part("14", "MIG-11111111-y") &&
                 part("14", "MIG-11111111-y")->held_usec != BJ_ABSENT &&
                 part("14", "MIG-11111111-y")->held_usec > held + 2000000);
    assert_int_equal(rig.snap->self.records, 0);
}

/* A reading in progress when a job ends may have read its device before: the
 * record waits for the next reading. */
static void test_record_late(void **state)
{
    /* The driver hangs after devices 0 and 1 have been read. */
    static const char hang[] = "hang nvmlDeviceGetMigDeviceHandleByIndex 60000";
    (void)state;
    wait_ready();
    set_energy(20, 30, 10, 10);
    wait_energy(10);
    set_energy_and(20, 30, 10, 10, hang);
    AWAIT_STEP(rig_pass(&rig), fake_hangs(dir));
    set_energy_and(20, 35, 10, 10, hang);
    tmp_remove("cg/" SCOPE "job_12");
    AWAIT_PASSES(rig_job(&rig, "12")->end_sec != BJ_ABSENT);
    set_energy(20, 35, 10, 10);
    const char *text = record("12");
    assert_non_null(strstr(text, "\"hybrid\":{\"gpu\":25000000}"));
    assert_non_null(strstr(text, "\"energy_uj\":25000000,"));
}

/* A job that ended while no exporter ran gets a record, whose end is when the
 * state was saved last: then the job still existed. */
static void test_orphan(void **state)
{
    (void)state;
    wait_ready();
    set_energy(20, 30, 10, 10);
    wait_energy(10);
    AWAIT_PASSES(part("12", "GPU-b")->energy_uj == 20000000);
    rig_stop(&rig);
    tmp_remove("cg/" SCOPE "job_12");
    const struct timespec saved[2] = {{.tv_sec = 1700000000},
                                      {.tv_sec = 1700000000}};
    assert_int_equal(utimensat(AT_FDCWD, strchr(state_opt, '=') + 1, saved, 0),
                     0);
    start();
    const char *text = record("unseen");
    assert_non_null(strstr(text, "\"end\":1700000000,"));
    assert_non_null(strstr(text, "\"jobid\":\"12\""));
    assert_non_null(strstr(text, "\"GPU-b\":{\"index\":1,"));
    assert_non_null(strstr(text, "\"energy_uj\":20000000,"));
}

/* Run a pass, which must not wait for the driver. */
static void short_pass(void)
{
    uint64_t before = bj_clock_boot_usec();
    rig_pass(&rig);
    assert_true(bj_clock_boot_usec() - before < 10000000);
}

/* While the driver hangs, current values are absent, and counters and jobs
 * stay; afterwards all are read again. */
static void test_hang(void **state)
{
    (void)state;
    wait_energy(0);
    const struct bj_gpu_use *u = rig.snap->gpus.v;
    assert_int_equal(u->busy_ppm, 800000);
    fake_script(dir, DEVICES "hang nvmlDeviceGetCount_v2 15000\n");
    AWAIT_STEP(short_pass(), (u = rig.snap->gpus.v)->success != 1);
    assert_int_equal(rig.snap->gpus.n, 6);
    assert_int_equal(u->success, 0);
    assert_int_equal(u->busy_ppm, BJ_ABSENT);
    assert_int_equal(u->energy_uj, 0);
    const struct bj_gpu_part *p = part("11", "GPU-a");
    assert_non_null(p);
    assert_int_equal(p->busy_ppm, BJ_ABSENT);
    assert_int_not_equal(p->held_usec, BJ_ABSENT);
    set_energy(17, 10, 10, 10);
    wait_energy(7);
    u = rig.snap->gpus.v;
    assert_int_equal(u->success, 1);
    assert_int_equal(part("11", "GPU-a")->energy_uj, 7000000);
}

/* After the last device is removed there are no series, and no job holds a
 * GPU. */
static void test_gone(void **state)
{
    (void)state;
    wait_energy(0);
    fake_script(dir, "");
    AWAIT_PASSES(rig.snap->gpus.n == 0);
    const struct bj_gpu_part *p = part("11", "GPU-a");
    assert_non_null(p);
    assert_int_equal(p->share_ppm, BJ_ABSENT);
    assert_int_equal(rig_job(&rig, "11")->gpu_claims.n, 0);
}

/* A prolog's file overrides an environment; a stale file does not. */
static void test_prolog(void **state)
{
    (void)state;
    tmp_file("gpustat/1", "15 1000\n");
    tmp_file("gpustat/0", "4711 1000\n");
    wait_energy(0);
    AWAIT_PASSES(held_by("15", "GPU-b") && !held_by("12", "GPU-b"));
    AWAIT_PASSES(part("15", "GPU-b")->held_usec >= 2000000);
    assert_true(held_by("15", "GPU-b"));
    assert_false(held_by("12", "GPU-b"));
    assert_true(held_by("11", "GPU-a"));
}

/* Slurm's prolog says which GPUs jobs have, before they have processes of their
 * own: 16 and 17 have those of Slurm only.  17 shares its GPU with 11. */
static void test_job_file(void **state)
{
    char opt[128];
    (void)state;
    rig_stop(&rig);
    tmp_dir("jobs");
    tmp_file("jobs/11", "jobid=11\ngpus=0\n");
    tmp_file("jobs/16", "jobid=16\ngpus=1\nlatest_end=1795839196\n"
                        "restarts=2\n");
    tmp_file("jobs/17", "jobid=17\ngpus=0\n");
    tmp_file("jobs/13", "jobid=99\ngpus=1\n"); /* left over */
    PROCESS(1600, "job_16", "PATH=/bin\0");
    PROCESS(1700, "job_17", "PATH=/bin\0");
    snprintf(opt, sizeof(opt), "job.file-dir=%s/jobs", dir);
    file_opt = opt;
    order_opt = "gpu.order=mig"; /* one of the GPUs has instances */
    start();
    wait_energy(0);
    AWAIT_PASSES(held_by("16", "GPU-b") && part("17", "GPU-a") &&
                 part("11", "GPU-a"));
    assert_string_equal(source("16"), "prolog");
    assert_string_equal(source("17"), "prolog");
    assert_null(part("12", "GPU-b")); /* its environment names it, too */
    assert_int_equal(conflicts("denied"), 2);
    assert_int_equal(conflicts("double"), 0);
    assert_int_equal(conflicts("unresolved"), 0);
    assert_int_equal(rig_job(&rig, "16")->latest_sec, 1795839196);
    assert_int_equal(rig_job(&rig, "16")->restarts, 2);
    assert_int_equal(rig_job(&rig, "12")->latest_sec, BJ_ABSENT);
    assert_int_equal(rig_job(&rig, "12")->restarts, BJ_ABSENT);
    file_opt = "job.file-dir=";
    order_opt = "gpu.order=bus";
}

/* The first GPU leaves the driver's list, whose numbers move: jobs keep the
 * GPUs that they had, also over a restart; the one that lost its GPU has none,
 * until it returns. */
static void test_leaves(void **state)
{
    static const char rest[] =
        "gpu 0 uuid GPU-b\ngpu 1 uuid GPU-c\ngpu 2 uuid GPU-d\n"
        "gpu 0 busy 0\ngpu 1 busy 0\ngpu 2 busy 0\n"
        "gpu 0 energy 10000\ngpu 1 energy 10000\ngpu 2 energy 10000\n";
    (void)state;
    tmp_file("gpustat/3", "14 1000\n");
    wait_ready();
    AWAIT_PASSES(part("14", "GPU-d") && part("14", "GPU-d")->share_ppm > 0);
    assert_int_equal(conflicts("unresolved"), 0);
    for (int i = 0; i < 2; i++) {
        fake_script(dir, rest);
        AWAIT_PASSES(rig.snap->gpus.n == 3 && held_by("12", "GPU-b") &&
                     held_by("14", "GPU-d"));
        assert_int_equal(rig_job(&rig, "11")->gpu_claims.n, 0);
        assert_int_equal(rig_job(&rig, "12")->gpu_claims.n, 1);
        assert_int_equal(rig_job(&rig, "15")->gpu_claims.n, 0);
        const struct bj_gpu_use *u = rig.snap->gpus.v;
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(*u[k].sub.key[1].p, '1' + (char)k);
        /* The jobs 11 and 15 name GPU 0, job 14 an instance. */
        assert_int_equal(conflicts("unresolved"), 3);
        assert_non_null(strstr(rig.log, "job 11 has a GPU that cannot be"));
        assert_int_equal(rig_job(&rig, "11")->gpu_conflicts.n, 1);
        assert_int_equal(rig_job(&rig, "12")->gpu_conflicts.n, 0);
        rig_stop(&rig);
        start();
    }
    set_energy(10, 10, 10, 10);
    AWAIT_PASSES(held_by("11", "GPU-a") && held_by("12", "GPU-b"));
}

/* With --gpu.order=mig the number 4 is the fourth GPU, behind two instances.
 * When these are removed, its place becomes 3: the job keeps it, and a job with
 * the number 3, an instance then, gets nothing. */
static void test_places(void **state)
{
    static const char whole[] =
        "gpu 0 uuid GPU-a\ngpu 1 uuid GPU-b\ngpu 2 uuid GPU-c\n"
        "gpu 3 uuid GPU-d\ngpu 0 busy 0\ngpu 1 busy 0\ngpu 2 busy 0\n"
        "gpu 3 busy 0\n";
    static const char split[] =
        "gpu 2 mig_mode 1\nmig 2 0 uuid MIG-x\nmig 2 0 gi 1\nmig 2 0 ci 0\n"
        "mig 2 1 uuid MIG-y\nmig 2 1 gi 2\nmig 2 1 ci 0\n";
    char text[1024];
    (void)state;
    rig_stop(&rig);
    PROCESS(1200, "job_12", "SLURM_JOB_ID=12\0SLURM_JOB_GPUS=4\0");
    PROCESS(1400, "job_14", "SLURM_JOB_ID=14\0SLURM_JOB_GPUS=3\0");
    snprintf(text, sizeof(text), "%s%s", whole, split);
    fake_script(dir, text);
    order_opt = "gpu.order=mig";
    start();
    AWAIT_PASSES(held_by("12", "GPU-d") && held_by("14", "MIG-y"));
    fake_script(dir, whole);
    AWAIT_PASSES(rig.snap->gpus.n == 4 && held_by("12", "GPU-d") &&
                 part("14", "MIG-y")->share_ppm == BJ_ABSENT);
    for (int i = 0; i < 3; i++) {
        rig_pass(&rig);
        assert_true(held_by("12", "GPU-d"));
        assert_int_equal(rig_job(&rig, "14")->gpu_claims.n, 0);
    }
    order_opt = "gpu.order=bus";
}

/* The driver reports the use of an MPS server's clients as the server's, as
 * seen on a real H200: the clients share equally and are not idle. */
static void test_mps(void **state)
{
    (void)state;
    /* A real cgroup appears with all its files, so this one is complete before
     * the core starts. */
    rig_stop(&rig);
    PROCESS(1600, "job_16",
            "SLURM_JOB_ID=16\0SLURM_JOB_GPUS=0\0"
            "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50\0");
    set_energy_and(10, 10, 10, 10,
                   "proc 0 mps 1100 50 -1 -1\nproc 0 mps 1600 30 -1 -1\n"
                   "proc 0 compute 9 5 -1 -1\nuse 0 9 now 99\n");
    start();
    const struct bj_gpu_part *p;
    AWAIT_PASSES((p = part("16", "GPU-a")) && p->held_usec != BJ_ABSENT &&
                 p->held_usec >= 2000000);
    assert_int_equal(p->idle_usec, 0);
    assert_int_equal(p->share_ppm, 500000);
    assert_int_equal(p->estimated, 1);
    assert_int_equal(p->busy_ppm, BJ_ABSENT);
    assert_int_equal(p->memory_used_bytes, 30);
    assert_int_equal(part("11", "GPU-a")->share_ppm, 500000);
    assert_int_equal(part("11", "GPU-a")->idle_usec, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* A page shows what the GPUs have counted until now, although their interval
 * has not passed. */
static void test_page(void **state)
{
    (void)state;
    rig_stop(&rig);
    rig_start(&rig, proc_opt, sys_opt, cgroup_opt, nvml_opt,
              "collector.node=false", "job.file-dir=", "gpu.interval=30s",
              NULL);
    AWAIT_PASSES(rig.snap->gpus.n == 6);
    rig_pass(&rig);
    const struct bj_gpu_use *u = rig.snap->gpus.v;
    assert_int_equal(u->energy_uj, 0);
    set_energy(110, 10, 10, 10);
    testclock_advance(25 * SECOND); /* faster than the interval */
    rig_pass(&rig);
    u = rig.snap->gpus.v;
    assert_int_equal(u->energy_uj, 0);
    testclock_advance(4 * SECOND);      /* the interval has not passed */
    rig.core->page_usec -= 25 * SECOND; /* as if that page had not been */
    rig_pass(&rig);
    u = rig.snap->gpus.v;
    assert_int_equal(u->energy_uj, 100 * SECOND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_owners),   TEST(test_energy), TEST(test_prolog),
        TEST(test_restart),  TEST(test_record), TEST(test_record_late),
        TEST(test_orphan),   TEST(test_hang),   TEST(test_gone),
        TEST(test_leaves),   TEST(test_places), TEST(test_mps),
        TEST(test_job_file), TEST(test_page)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

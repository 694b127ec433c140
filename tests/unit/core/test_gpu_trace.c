/* A node with AMD and Intel GPUs and jobs: open files of processes show
 * which job uses which GPU. /sys, /proc and cgroups are simulated, the core
 * is real. */
#include "core/gpu/gpus_impl.h"
#include "tests/unit/core/test_gpu.h"

#include "tests/unit/lib/await.h"

#include <sys/stat.h>
#include <time.h>

#define SCOPE "system.slice/slurmstepd.scope/"
#define AMD "devices/pci0000:00/0000:c1:00.0"
#define INTEL "devices/pci0000:00/0000:29:00.0"

static struct rig rig;
static const char *dir;
static char proc_opt[256], cgroup_opt[256], sys_opt[256];

static void link_to(const char *rel, const char *target)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", dir, rel);
    assert_int_equal(symlink(target, path), 0);
}

static void make_cards(void)
{
    tmp_dir("sys/" AMD);
    tmp_dir("sys/" INTEL);
    tmp_dir("sys/class/drm/card0");
    tmp_dir("sys/class/drm/card1");
    tmp_file("sys/" AMD "/vendor", "0x1002\n");
    tmp_file("sys/" AMD "/unique_id", "f45b8f2f3c7d6a11\n");
    tmp_file("sys/" AMD "/mem_info_vram_total", "68702699520\n");
    tmp_file("sys/" AMD "/mem_info_vram_used", "10737418240\n");
    tmp_file("sys/" AMD "/gpu_busy_percent", "50\n");
    tmp_file("sys/" INTEL "/vendor", "0x8086\n");
    link_to("sys/class/drm/card0/device", "../../../" INTEL);
    link_to("sys/class/drm/card1/device", "../../../" AMD);
}

static void make_process(unsigned pid, const char *job, const char *pids)
{
    char path[512], text[512];
    snprintf(path, sizeof(path), "proc/%u/fd", pid);
    tmp_dir(path);
    snprintf(path, sizeof(path), "proc/%u/fdinfo", pid);
    tmp_dir(path);
    snprintf(path, sizeof(path), "proc/%u/cgroup", pid);
    snprintf(text, sizeof(text), "0::/" SCOPE "%s/step_0/user/task_0\n", job);
    tmp_file(path, text);
    snprintf(path, sizeof(path), "proc/%u/environ", pid);
    tmp_file(path, "A=B");
    snprintf(path, sizeof(path), "cg/" SCOPE "%s", job);
    tmp_v2_job(path, 1000, 4096, pids);
}

static void open_file(unsigned pid, unsigned fd, const char *to)
{
    char path[512];
    snprintf(path, sizeof(path), "proc/%u/fd/%u", pid, fd);
    link_to(path, to);
    snprintf(path, sizeof(path), "proc/%u/fdinfo/%u", pid, fd);
    tmp_file(path, "pos:\t0\nflags:\t0100000\n");
}

static void use_amd(unsigned pid, unsigned fd, unsigned client,
                    unsigned long long busy_ns, unsigned mib)
{
    char path[512], path2[640], text[512];
    snprintf(path, sizeof(path), "%s/fdinfo.new", dir);
    snprintf(path2, sizeof(path2), "%s/proc/%u/fdinfo/%u", dir, pid, fd);
    snprintf(text, sizeof(text),
             "drm-driver:\tamdgpu\ndrm-client-id:\t%u\n"
             "drm-pdev:\t0000:c1:00.0\ndrm-memory-vram:\t%u MiB\n"
             "drm-engine-compute:\t%llu ns\n",
             client, mib, busy_ns);
    tmp_file("fdinfo.new", text);
    assert_int_equal(rename(path, path2), 0);
}

static void use_intel(unsigned pid, unsigned fd, unsigned long long busy_ns)
{
    char path[512], path2[640], text[512];
    snprintf(path, sizeof(path), "%s/fdinfo.new", dir);
    snprintf(path2, sizeof(path2), "%s/proc/%u/fdinfo/%u", dir, pid, fd);
    snprintf(text, sizeof(text),
             "drm-driver:\ti915\ndrm-client-id:\t7\n"
             "drm-pdev:\t0000:29:00.0\ndrm-resident-local0:\t4 MiB\n"
             "drm-engine-compute:\t%llu ns\n",
             busy_ns);
    tmp_file("fdinfo.new", text);
    assert_int_equal(rename(path, path2), 0);
}

static int setup(void **state)
{
    (void)state;
    dir = tmp_make();
    tmp_dir("cg");
    tmp_file("cg/cgroup.controllers", "cpu memory\n");
    make_cards();
    snprintf(proc_opt, sizeof(proc_opt), "path.procfs=%s/proc", dir);
    snprintf(sys_opt, sizeof(sys_opt), "path.sysfs=%s/sys", dir);
    snprintf(cgroup_opt, sizeof(cgroup_opt), "path.cgroupfs=%s/cg", dir);
    make_process(1100, "job_11", "1100\n1101\n");
    make_process(1101, "job_11", "1100\n1101\n");
    make_process(1200, "job_12", "1200\n");
    make_process(1300, "job_13", "1300\n");
    open_file(1100, 0, "/dev/null");
    open_file(1100, 5, "/dev/dri/renderD128");
    open_file(1101, 5, "/dev/dri/renderD128"); /* inherited */
    open_file(1101, 6, "/dev/dri/renderD128");
    open_file(1200, 3, "/dev/dri/renderD128");
    open_file(1300, 3, "/dev/dri/renderD129");
    open_file(1300, 4, "socket:[4711]");
    return 0;
}

static void start(void)
{
    rig_start(&rig, proc_opt, sys_opt, cgroup_opt, "collector.node=false",
              "job.file-dir=", "gpu.map-dir=/nonexistent", "gpu.rocm=none",
              "gpu.level-zero=none", "gpu.interval=1s",
              "collector.energy=false", NULL);
}

static int teardown(void **state)
{
    (void)state;
    rig_stop(&rig);
    tmp_gone();
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

/* A job's milliseconds on compute engines of all GPUs. */
static uint64_t engine(const char *jobid)
{
    const struct bj_job *job = rig_job(&rig, jobid);
    const struct bj_gpu_engine_use *e = job ? job->gpu_engines.v : NULL;
    if (!job || job->gpu_engines.n != 1)
        return BJ_ABSENT;
    assert_true(bj_slice_eq(e->sub.key[1], BJ_SLICE("compute")));
    return e->busy_usec / 1000;
}

/* Run passes until a job's counter has this value. */
static void wait_engine(const char *jobid, uint64_t msec)
{
    AWAIT_STEP(rig_pass(&rig), engine(jobid) == msec);
}

/* Run passes until the condition holds. */
#define SOON(condition) AWAIT_STEP(rig_pass(&rig), condition)

#define GPU_AMD "f45b8f2f3c7d6a11"
#define GPU_INTEL "0000:29:00.0"

static void test_shares(void **state)
{
    (void)state;
    use_amd(1100, 5, 1, 1000000000, 100);
    use_amd(1101, 5, 1, 1000000000, 100);
    use_amd(1101, 6, 2, 2000000000, 50);
    use_amd(1200, 3, 3, 1000000, 30);
    start();
    wait_engine("11", 3000);
    wait_engine("12", 1);
    const struct bj_gpu_part *a = NULL, *b = NULL;
    SOON((a = part("11", GPU_AMD)) && (b = part("12", GPU_AMD)) &&
         a->busy_ppm == 0 && b->busy_ppm == 0);
    assert_null(part("13", GPU_AMD));
    assert_int_equal(a->processes, 2);
    assert_int_equal(b->processes, 1);
    assert_int_equal(a->memory_used_bytes, 150 * 1048576);
    assert_int_equal(b->memory_used_bytes, 30 * 1048576);
    assert_int_equal(a->estimated, 1);
    /* no job used the GPU */
    assert_int_equal(a->share_ppm + b->share_ppm, 1000000);
    assert_int_equal(a->share_ppm, 500000);
    assert_int_equal(a->busy_ppm, 0);
    /* A process ends. The job keeps its 3 s, and the use of both jobs is
     * known. */
    tmp_remove("proc/1101");
    use_amd(1100, 5, 1, 1300000000, 100);
    use_amd(1200, 3, 3, 101000000, 30);
    wait_engine("11", 3300);
    wait_engine("12", 101);
    SOON((a = part("11", GPU_AMD))->processes == 1);
    assert_int_equal(a->memory_used_bytes, 100 * 1048576);
    const struct bj_gpu_use *u = rig.snap->gpus.v;
    assert_int_equal(rig.snap->gpus.n, 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(u[i].processes, BJ_ABSENT); /* others are unknown */
    const struct bj_gpu_source *s = rig.snap->gpu_sources.v;
    assert_int_equal(rig.snap->gpu_sources.n, 3);
    assert_true(bj_slice_eq(s[2].sub.key[0], BJ_SLICE("fdinfo")));
    assert_int_equal(s[2].success, 1);
}

/* The kernel reports no time of ROCm's queues: the time is absent, not 0. */
static void test_rocm(void **state)
{
    (void)state;
    open_file(1200, 9, "/dev/kfd");
    use_amd(1100, 5, 1, 1000000000, 100);
    use_amd(1101, 6, 2, 0, 1);
    use_amd(1200, 3, 3, 1000000, 30);
    start();
    wait_engine("11", 1000);
    const struct bj_gpu_part *p = NULL;
    SOON((p = part("12", GPU_AMD)) && p->share_ppm == 500000 &&
         p->held_usec > 2000000);
    assert_int_equal(engine("12"), BJ_ABSENT);
    assert_int_equal(p->busy_ppm, BJ_ABSENT);
    assert_int_equal(p->idle_usec, 0);
    assert_int_equal(p->memory_used_bytes, 30 * 1048576);
}

/* A card that reports no utilisation: that of its only job is known. */
static void test_intel(void **state)
{
    (void)state;
    use_intel(1300, 3, 5000000000);
    start();
    wait_engine("13", 5000);
    const struct bj_gpu_part *p = NULL;
    SOON((p = part("13", GPU_INTEL)) && p->idle_usec > 0 && p->busy_ppm == 0);
    assert_int_equal(p->share_ppm, 1000000);
    assert_int_equal(p->memory_used_bytes, 4 * 1048576);
    assert_int_equal(p->busy_ppm, 0);
    uint64_t idle = p->idle_usec;
    assert_true(idle > 0 && idle <= p->held_usec);
    use_intel(1300, 3, 5000000000 + 3600000000000);
    wait_engine("13", 3605000);
    p = part("13", GPU_INTEL);
    assert_int_equal(p->busy_ppm, 1000000);
    /* The hour stays in the counter after the files are closed. */
    tmp_remove("proc/1300/fd");
    SOON(part("13", GPU_INTEL)->processes != 1);
    assert_int_equal(engine("13"), 3605000);
}

/* A process whose files cannot be read is logged once. It counts neither as
 * using the GPU nor as not using it. */
static void test_denied(void **state)
{
    (void)state;
    char path[512];
    if (geteuid() == 0) { /* root reads all: use a file, not a link */
        snprintf(path, sizeof(path), "%s/proc/1300/fd/3", dir);
        unlink(path);
        tmp_file("proc/1300/fd/3", "");
    } else {
        snprintf(path, sizeof(path), "%s/proc/1300/fd", dir);
        assert_int_equal(chmod(path, 0), 0);
    }
    use_amd(1100, 5, 1, 1000000000, 100);
    use_amd(1101, 6, 2, 0, 1);
    start();
    wait_engine("11", 1000);
    SOON(strstr(rig.log, "open files of process 1300 of a job") &&
         part("11", GPU_AMD) && part("11", GPU_AMD)->processes == 2);
    assert_null(part("13", GPU_INTEL));
    assert_int_equal(engine("13"), BJ_ABSENT);
    assert_int_equal(part("11", GPU_AMD)->processes, 2);
    const struct bj_gpu_source *s = rig.snap->gpu_sources.v;
    assert_int_equal(rig.snap->gpu_sources.n, 3);
    assert_int_equal(s[2].success, 0);
    const char *logged = strstr(rig.log, "open files of process 1300 of a job");
    assert_non_null(logged);
    assert_null(strstr(logged + 1, "open files of process 1300"));
    if (geteuid() != 0)
        chmod(path, 0755);
}

/* --- use computed from times ---------------------------------------------- */

static struct bj_gpu_set reading;

static void report(uint64_t sec, uint64_t compute_msec, uint64_t copy_msec)
{
    bj_gpu_set_clear(&reading);
    bj_gpu_get(&reading, "0000:c1:00.0");
    reading.traced_usec = sec * 1000000;
    reading.traced[reading.ntraced++] = 7;
    reading.time[reading.ntimes++] =
        (struct bj_gpu_time){.job = 7,
                             .busy_usec = compute_msec * 1000,
                             .capacity = 4,
                             .engine = "ccs"};
    reading.time[reading.ntimes++] =
        (struct bj_gpu_time){.job = 7,
                             .busy_usec = copy_msec * 1000,
                             .capacity = 1,
                             .engine = "bcs"};
    /* of another job */
    reading.time[reading.ntimes] = reading.time[0];
    reading.time[reading.ntimes++].job = 8;
}

/* The use of a job is that of its busiest engine class, divided by the number
 * of engines: 4 of 10 s on four engines are a tenth. */
static void test_use(void **state)
{
    (void)state;
    struct bj_gpu_hold h = {.sm_ppm = 0};
    const struct bj_gpu_job j = {.id = 7}, other = {.id = 9};
    report(100, 5000, 0);
    bj_gpus_engines(&h, &reading, &j, 0);
    assert_int_equal(h.sm_ppm, BJ_ABSENT); /* no earlier reading */
    assert_int_equal(h.sums.nengines, 2);
    report(110, 9000, 500);
    h.sm_ppm = 0;
    bj_gpus_engines(&h, &reading, &j, 0);
    assert_int_equal(h.sm_ppm, 100000);
    /* The same reading again. */
    h.sm_ppm = 0;
    bj_gpus_engines(&h, &reading, &j, 0);
    assert_int_equal(h.sm_ppm, 100000);
    report(120, 9000, 3500);
    h.sm_ppm = 0;
    bj_gpus_engines(&h, &reading, &j, 0);
    assert_int_equal(h.sm_ppm, 300000);
    /* Limited to 100 %: the time includes use before the first reading. */
    report(130, 999000, 3500);
    h.sm_ppm = 0;
    bj_gpus_engines(&h, &reading, &j, 0);
    assert_int_equal(h.sm_ppm, 1000000);
    assert_int_equal(h.sums.engine[0].busy_usec, 999000000);
    /* A process without times; a job that could not be read; a source that has
     * gone. */
    report(140, 999000, 3500);
    h.sm_ppm = BJ_ABSENT;
    bj_gpus_engines(&h, &reading, &j, 0);
    assert_int_equal(h.sm_ppm, BJ_ABSENT);
    h.sm_ppm = 0;
    bj_gpus_engines(&h, &reading, &other, 0);
    assert_int_equal(h.sm_ppm, BJ_ABSENT);
    reading.traced_usec = 0;
    h.sm_ppm = 5;
    bj_gpus_engines(&h, &reading, &j, 0);
    assert_int_equal(h.sm_ppm, 5);
    assert_false(h.engines_known);
    assert_int_equal(h.sums.engine[0].busy_usec, 999000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_use),
        cmocka_unit_test_setup_teardown(test_shares, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rocm, setup, teardown),
        cmocka_unit_test_setup_teardown(test_denied, setup, teardown),
        cmocka_unit_test_setup_teardown(test_intel, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

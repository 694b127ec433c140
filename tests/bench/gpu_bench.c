/* gpu_bench: what GPUs add to a pass, on a simulated node with eight of them,
 * two of which have seven instances, and five jobs.  The driver is simulated
 * (tests/gpu/fake_nvml.c).
 *
 * gpu_bench LIBRARY SECONDS
 *
 * Runs a pass every 20 ms, with GPUs and without, and prints the CPU time of
 * the thread that runs them.  The driver's time is not included: it is spent in
 * another thread, and a simulated driver takes none. */
#include "tests/unit/lib/core.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { GPUS = 8, CUT = 2, PARTS = 7, JOBS = 5, PAUSE_NS = 20000000 };
#define SCOPE "system.slice/slurmstepd.scope/"

static void make_job(const char *dir, int i)
{
    char rel[128], path[256], text[256];
    snprintf(rel, sizeof(rel), "proc/%d", 1000 + i);
    tmp_dir(rel);
    snprintf(path, sizeof(path), "%s/%s/environ", dir, rel);
    FILE *f = fopen(path, "w");
    if (!f)
        exit(1);
    fprintf(f, "SLURM_JOB_ID=%d%cSLURM_JOB_GPUS=%d%c", 10 + i, 0, i, 0);
    fclose(f);
    snprintf(path, sizeof(path), "%s/cgroup", rel);
    snprintf(text, sizeof(text), "0::/" SCOPE "job_%d/step_0\n", 10 + i);
    tmp_file(path, text);
    snprintf(path, sizeof(path), "cg/" SCOPE "job_%d", 10 + i);
    snprintf(text, sizeof(text), "%d\n", 1000 + i);
    tmp_v2_job(path, 1000, 4096, text);
}

static void make_script(const char *dir)
{
    char path[256], *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    for (int i = 0; f && i < GPUS; i++) {
        fprintf(f,
                "gpu %d uuid GPU-%d\ngpu %d name A\ngpu %d minor %d\n"
                "gpu %d power 1000\ngpu %d energy 1000\ngpu %d throttle 4\n"
                "gpu %d busy 5\ngpu %d memory_busy 1\ngpu %d temperature 40\n",
                i, i, i, i, i, i, i, i, i, i, i);
        fprintf(f, "proc %d compute %d 4096 %d 0\n", i, 1000 + i % JOBS,
                i < CUT ? i + 1 : -1);
        for (int k = 0; i < CUT && k < PARTS; k++)
            fprintf(f,
                    "gpu %d mig_mode 1\nmig %d %d uuid MIG-%d-%d\n"
                    "mig %d %d gi %d\nmig %d %d ci 0\nmig %d %d slices 1\n"
                    "mig %d %d sms 14\n",
                    i, i, k, i, k, i, k, k + 1, i, k, i, k, i, k);
    }
    if (f)
        fclose(f);
    tmp_file("script", text ? text : "");
    free(text);
    snprintf(path, sizeof(path), "%s/script", dir);
    setenv("FAKE_NVML", path, 1);
}

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void measure(const char *dir, const char *library, const char *on,
                    unsigned seconds)
{
    static struct rig rig;
    char proc[128], cgroup[128], sys[128], nvml[4300];
    uint64_t passes = 0, spent = 0, most = 0;
    snprintf(proc, sizeof(proc), "path.procfs=%s/proc", dir);
    snprintf(sys, sizeof(sys), "path.sysfs=%s/sys", dir);
    snprintf(cgroup, sizeof(cgroup), "path.cgroupfs=%s/cg", dir);
    snprintf(nvml, sizeof(nvml), "gpu.nvml=%s", library);
    rig_start(&rig, proc, sys, cgroup, nvml, on, "collector.node=false",
              "job.file-dir=", "gpu.interval=1s", NULL);
    for (int i = 0; i < 100; i++) { /* warm up */
        rig_pass(&rig);
        nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
    }
    for (time_t end = time(NULL) + seconds; time(NULL) < end; passes++) {
        uint64_t before = cpu_ns();
        rig_pass(&rig);
        uint64_t took = cpu_ns() - before;
        spent += took;
        most = took > most ? took : most;
        nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
    }
    printf("%s: %zu jobs, %zu GPUs and instances, %" PRIu64 " passes, %" PRIu64
           " us each, %" PRIu64 " us at most\n",
           on, rig.snap->jobs.n, rig.snap->gpus.n, passes,
           spent / (passes ? passes : 1) / 1000, most / 1000);
    rig_stop(&rig);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "gpu_bench LIBRARY SECONDS\n");
        return 2;
    }
    const char *dir = tmp_make();
    unsigned seconds = (unsigned)strtoul(argv[2], NULL, 10);
    tmp_dir("cg");
    tmp_dir("sys");
    tmp_file("cg/cgroup.controllers", "cpu memory\n");
    for (int i = 0; i < JOBS; i++)
        make_job(dir, i);
    make_script(dir);
    measure(dir, argv[1], "collector.gpu=false", seconds);
    measure(dir, argv[1], "collector.gpu=true", seconds);
    tmp_gone();
    return 0;
}

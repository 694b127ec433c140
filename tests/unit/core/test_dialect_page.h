/* A snapshot with all values that dialects show, and pages of it.
 * tests/fixtures/dialects/README.md lists the values. */
#ifndef BJ_TESTS_UNIT_CORE_TEST_DIALECT_PAGE_H
#define BJ_TESTS_UNIT_CORE_TEST_DIALECT_PAGE_H

#include "standalone/dialect.h"

#include "core/find/ident.h"
#include "tests/unit/lib/fail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define LIST(a)                                                                \
    {                                                                          \
        (a), sizeof(a) / sizeof((a)[0])                                        \
    }
/* BJ_SLICE for places where the compiler requires a constant. */
#define SLICE(lit)                                                             \
    {                                                                          \
        lit, sizeof(lit) - 1                                                   \
    }
#define KEY1(a)                                                                \
    {                                                                          \
        {                                                                      \
            SLICE(a)                                                           \
        }                                                                      \
    }
#define KEY2(a, b)                                                             \
    {                                                                          \
        {                                                                      \
            SLICE(a), SLICE(b)                                                 \
        }                                                                      \
    }
#define NONE BJ_ABSENT
#define SEC 1000000ull

/* A running job with all values; tests/fixtures/dialects/README.md lists the
 * same values. */
static struct bj_core_use cores[] = {{KEY1("0"), 2 * SEC, NONE},
                                     {KEY1("9"), 1, NONE}};
static struct bj_state_use states[] = {{KEY1("disk_sleep"), 1},
                                       {KEY1("running"), 2}};
static struct bj_state_use user_states[] = {{KEY1("tracing_stop"), 5}};
static struct bj_exe_use exes[] = {{KEY1("(other)"), 99 * SEC},
                                   {KEY1("/bin/bash"), 90 * SEC},
                                   {KEY1("/home/a/x\"\\y"), 61 * SEC + 500000},
                                   {KEY1("/opt/app"), 60 * SEC},
                                   {KEY1("/opt/short"), 60 * SEC - 1},
                                   {KEY1("bash"), 90 * SEC}};
static struct bj_exe_count exe_counts[] = {
    {KEY1("/bin/bash"), 2, 120 * SEC}, {KEY1("/opt/app"), 31, 70 * SEC + 1}};
static struct bj_name_use names[] = {
    {KEY1("(other)"), 4}, {KEY1("app"), 62}, {KEY1("python3 \"x\""), 1}};
static struct bj_extra_use extras[] = {{
    .sub = KEY2("0,2,3,9", ""),
    .cpus = {4, 0},
    .listed = {1, 1},
    .cpu_ppm = 3500000,
    .cpu_each_ppm = 875000,
    .alive_rss_bytes = 6442450944,
    .alive_read_ops = 5,
    .alive_write_ops = 6,
    .alive_storage_read_bytes = 524288,
    .alive_storage_write_bytes = 512,
    .user_processes = 2,
}};
static struct bj_core_use even_cores[] = {{KEY1("0"), 900 * SEC + 2, NONE},
                                          {KEY1("2"), 900 * SEC + 2, NONE},
                                          {KEY1("3"), 900 * SEC + 2, NONE},
                                          {KEY1("9"), 900 * SEC + 2, NONE}};
static struct bj_place_use places[] = {
    {KEY1("files"), 17}, {KEY1("home"), 5}, {KEY1("scratch"), 2}};
static struct bj_step_use steps[1], tasks[1];

/* An ended job of cgroup v2. */
static struct bj_core_use cores2[] = {{KEY1("3"), NONE, 4 * SEC}};

static struct bj_mode_use modes[] = {{KEY1("idle"), 100 * SEC},
                                     {KEY1("user"), 1500000}};
static struct bj_zone_stat zones[] = {
    {KEY2("cray", "node"), 7 * SEC, 300 * SEC, 900 * SEC, 0, 0, 0},
    {KEY2("ipmi_dcmi", "node"), NONE, 415 * SEC, NONE, 0, 0, 0},
    {KEY2("perf", "package-0"), 1, 1, 1, 0, 0, 0},
    {KEY2("rapl", "package-1"), 12500000, 80 * SEC, 250 * SEC, 0, 0, 0},
    {KEY2("rapl", "package-1.dram"), 3 * SEC, 5 * SEC, 30 * SEC, 0, 0, 0},
    {KEY2("rapl", "strange"), 4 * SEC, 5 * SEC, NONE, 0, 0, 0},
    {{{SLICE("redfish"), SLICE("node"), SLICE("Chassis.0")}},
     NONE,
     400500000,
     NONE,
     0,
     0,
     0},
};
static struct bj_factor_stat factors[] = {
    {{{SLICE("other"), SLICE("marginal"), SLICE("FR")}}, 90 * SEC, 0, NONE},
    {{{SLICE("rte"), SLICE("average_lifecycle"), SLICE("FR")}},
     56250000,
     0,
     NONE},
    {{{SLICE("table"), SLICE("average_lifecycle"), SLICE("FR")}},
     60 * SEC,
     0,
     NONE},
};
static struct bj_collector_stat collectors[] = {{KEY1("cpu"), 1, 1500, 0, 0}};

static struct bj_gpu_use gpus[4];
static struct bj_gpu_label models[] = {
    {{{SLICE("GPU-aa"), SLICE("3"), SLICE("NVIDIA H100")}}, 1},
    {{{SLICE("MIG-bb"), SLICE("0"), SLICE("1g.10gb")}}, 1},
};
static struct bj_gpu_label parents[] = {
    {{{SLICE("MIG-bb"), SLICE("0"), SLICE("GPU-dd")}}, 1},
};
static struct bj_gpu_label reasons[] = {
    {{{SLICE("GPU-aa"), SLICE("3"), SLICE("idle")}}, 0},
    {{{SLICE("GPU-aa"), SLICE("3"), SLICE("power_cap")}}, 1},
    {{{SLICE("GPU-dd"), SLICE("0"), SLICE("hw_slowdown")}}, 1},
};
static struct bj_gpu_part parts[2];

static inline const struct bj_ident *
make_ident(const char *id, const char *user, const char *account,
           const char *uid, const char *system, const char *node)
{
    struct bj_slice f[BJ_ID_FIELDS] = {{0}};
    struct bj_conf conf = {.label_user = true, .label_account = true};
    f[BJ_ID_JOBID] = bj_slice_str(id);
    f[BJ_ID_USER] = bj_slice_str(user);
    f[BJ_ID_ACCOUNT] = bj_slice_str(account);
    f[BJ_ID_UID] = bj_slice_str(uid);
    f[BJ_ID_SYSTEM] = bj_slice_str(system);
    f[BJ_ID_NODE] = bj_slice_str(node);
    if (strcmp(id, "4711") == 0)
        f[BJ_ID_UUID] = BJ_SLICE("ac28caf5-ce6c-35f6-73fb-47d9d43f7780");
    const struct bj_ident *ident = bj_ident_new(f, &conf);
    assert_non_null(ident);
    return ident;
}

static inline void empty_job(struct bj_job *job, const struct bj_ident *ident)
{
    bj_job_clear(job);
    job->ident = ident;
}

static inline void make_gpus(void)
{
    memset(gpus, 0xff, sizeof(gpus));
    memset(parts, 0xff, sizeof(parts));
    for (int i = 0; i < 2; i++) {
        gpus[i].sub = parts[i].sub = models[i].sub;
        gpus[i].sub.key[2] = parts[i].sub.key[2] = (struct bj_slice){0};
    }
    gpus[2].sub.key[0] = BJ_SLICE("GPU-cc");
    gpus[2].sub.key[1] = BJ_SLICE("4");
    gpus[2].sub.key[2] = (struct bj_slice){0};
    gpus[3].sub.key[0] = BJ_SLICE("GPU-dd");
    gpus[3].sub.key[1] = BJ_SLICE("0");
    gpus[3].sub.key[2] = (struct bj_slice){0};
    gpus[0].minor = 5;
    gpus[0].fan_ppm = 1050000;
    gpus[0].graphics_clock_hz = 1410000000;
    gpus[0].sm_clock_hz = 1395000000;
    gpus[0].memory_clock_hz = 1593000000;
    gpus[0].video_clock_hz = 1275500000;
    gpus[0].ecc_corrected = 2;
    gpus[0].ecc_uncorrected = 0;
    gpus[0].ecc_corrected_ever = 105;
    gpus[0].ecc_uncorrected_ever = 11;
    gpus[0].last_xid = 79;
    gpus[0].last_error = 15; /* NVML_ERROR_GPU_IS_LOST */
    gpus[0].integer_ppm = 200000;
    gpus[0].multiprocessors = 132;
    gpus[0].memory_free_bytes = 1048576 * UINT64_C(3) / 2;
    gpus[1].multiprocessors = 14;
    gpus[3].power_uw = 200 * SEC;
    gpus[3].temperature_uc = 55 * SEC;
    gpus[3].graphics_clock_hz = 1980000000;
    gpus[3].ecc_corrected = 1;
    gpus[3].last_xid = 0;
    gpus[1].instance = 9;
    gpus[0].power_uw = 300 * SEC;
    gpus[0].temperature_uc = 41500000;
    gpus[0].memory_total_bytes = 85899345920;
    gpus[0].memory_used_bytes = 1;
    gpus[0].sm_ppm = 123400;
    gpus[0].busy_ppm = 500000;
    gpus[0].dram_ppm = 250000;
    gpus[0].memory_busy_ppm = 1;
    gpus[0].occupancy_ppm = 100;
    gpus[0].tensor_ppm = 1000000;
    gpus[0].fp64_ppm = 0;
    gpus[0].pcie_tx_rate = 1000;
    gpus[0].pcie_rx_rate = 2000;
    gpus[0].nvlink_rx_rate = 7;
    gpus[1].memory_total_bytes = 10;
    gpus[1].busy_ppm = 400000;
    gpus[1].memory_busy_ppm = 30000;
    parts[0].share_ppm = 1000000;
    parts[0].memory_used_bytes = 4096;
    parts[0].power_uw = 250500000;
    parts[1].share_ppm = 142857;
    parts[1].memory_used_bytes = 5;
    parts[1].power_uw = 1500000;
}

static inline void first_job(struct bj_job *job)
{
    struct bj_usage *u = &job->use;
    empty_job(job,
              make_ident("4711", "anna", "physics", "1001", "slurm", NULL));
    u->cpu_usec = 3600 * SEC + 10;
    u->cpu_user_usec = 3500 * SEC + 9;
    u->cpu_system_usec = 100 * SEC + 19999;
    u->cpus = 4;
    u->mem_used_bytes = 8589934592;
    u->mem_rss_bytes = 4294967296;
    u->mem_cache_bytes = 1073741824;
    u->mem_mapped_bytes = 104857600 + 524288;
    u->mem_shmem_bytes = 52428800;
    u->mem_active_file_bytes = 300;
    u->mem_inactive_file_bytes = 400;
    u->mem_unevictable_bytes = 500;
    u->mem_huge_bytes = 2097152;
    u->mem_peak_bytes = 9000000000;
    u->mem_limit_bytes = 17179869184;
    u->mem_swap_bytes = 1024;
    u->mem_limit_hits = 3;
    u->mem_ooms = 2;
    u->mem_swap_limit_bytes = 4096;
    u->unread_files = 2;
    u->psi_cpu_full_usec = 1500000;
    u->psi_mem_full_usec = 250000;
    job->proc.processes = 3;
    job->proc.threads = 67;
    job->proc.io_read_ops = 11;
    job->proc.io_write_ops = 12;
    job->proc.io_storage_read_bytes = 1572864;
    job->proc.io_storage_write_bytes = 1024;
    job->cores = (struct bj_list)LIST(cores);
    job->states = (struct bj_list)LIST(states);
    job->exes = (struct bj_list)LIST(exes);
    job->places = (struct bj_list)LIST(places);
    job->exe_counts = (struct bj_list)LIST(exe_counts);
    job->names = (struct bj_list)LIST(names);
    job->extras = (struct bj_list)LIST(extras);
    job->even_cores = (struct bj_list)LIST(even_cores);
    job->user_states = (struct bj_list)LIST(user_states);
    memset(&steps[0].use, 0xff, sizeof(steps[0].use));
    memset(&tasks[0].use, 0xff, sizeof(tasks[0].use));
    make_gpus();
    job->gpus = (struct bj_list)LIST(parts);
    steps[0].sub.key[0] = tasks[0].sub.key[0] = BJ_SLICE("batch");
    tasks[0].sub.key[1] = BJ_SLICE("0");
    steps[0].use.cpu_usec = 7 * SEC;
    tasks[0].use.cpu_usec = 5 * SEC;
    tasks[0].use.mem_used_bytes = 1000;
    tasks[0].use.mem_swap_bytes = 24;
    job->steps = (struct bj_list)LIST(steps);
    job->tasks = (struct bj_list)LIST(tasks);
}

static inline void second_job(struct bj_job *job)
{
    empty_job(job, make_ident("4712", "bob", NULL, "1002", "slurm", NULL));
    job->end_sec = 1700000000;
    job->use.cpu_usec = 5 * SEC;
    job->use.mem_used_bytes = 77;
    job->use.mem_rss_bytes = 77;
    job->use.mem_peak_bytes = 42;
    job->use.memsw_limit_bytes = 8192;
    job->use.memsw_limit_hits = 9;
    job->proc.processes = 1;
    job->cores = (struct bj_list)LIST(cores2);
    job->gpus = (struct bj_list){parts, 1};
}

enum { JOBS = 3 };

static inline void make_snap(struct bj_snap *snap, struct bj_job job[JOBS])
{
    memset(snap, 0, sizeof(*snap));
    empty_job(&job[0], make_ident("9", "carl", "x", "1003", "pbs", NULL));
    job[0].use.cpu_usec = 1;
    first_job(&job[1]);
    second_job(&job[2]);
    snap->jobs = (struct bj_list){job, JOBS};
    bj_node_clear(&snap->node);
    snap->node.modes = (struct bj_list)LIST(modes);
    snap->node.cpus = 64;
    snap->node.cores = 32;
    snap->node.mem_free_bytes = 34359738368;
    snap->node.mem_total_bytes = 274877906944;
    snap->node.mem_available_bytes = 137438953472;
    snap->zones = (struct bj_list)LIST(zones);
    snap->gpus = (struct bj_list)LIST(gpus);
    snap->gpu_models = (struct bj_list)LIST(models);
    snap->gpu_parents = (struct bj_list)LIST(parents);
    snap->gpu_reasons = (struct bj_list)LIST(reasons);
    snap->factors = (struct bj_list)LIST(factors);
    snap->self.collectors = (struct bj_list)LIST(collectors);
    snap->self.build_info =
        (struct bj_info){1, {BJ_SLICE("1"), BJ_SLICE("2"), BJ_SLICE("gcc")}};
}

static inline void free_jobs(struct bj_job job[JOBS])
{
    for (int i = 0; i < JOBS; i++)
        bj_ident_unref(job[i].ident);
}

static const struct bj_dialect_env env = {.host = SLICE("node7.site")};

/* A page without HELP lines, NUL-terminated; the caller frees it. */
static inline char *write_page(const char *name, enum bj_page_format format,
                               const struct bj_snap *snap,
                               const struct bj_dialect_env *e)
{
    const struct bj_dialect *d = bj_dialect_find(bj_slice_str(name));
    struct bj_buf all = {0}, out = {0};
    struct bj_dialect_room room = {0};
    assert_non_null(d);
    const struct bj_dialect_options options = {.env = *e};
    assert_int_equal(bj_dialect_page(d, snap, &options, format, &room, &all),
                     0);
    struct bj_slice rest = {all.p, all.len}, line;
    while (bj_slice_line(&rest, &line))
        if (!bj_slice_starts(line, BJ_SLICE("# HELP "))) {
            bj_buf_slice(&out, line);
            bj_buf_put(&out, "\n", 1);
        }
    bj_buf_put(&out, "", 1);
    bj_buf_free(&all);
    bj_dialect_room_free(&room);
    assert_false(out.failed);
    return out.p;
}

#endif

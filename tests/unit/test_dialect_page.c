/* Whole pages of the dialects.  What they must say is in
 * tests/fixtures/dialects, worked out from the definitions of the exporters
 * that they stand in for (its README has them); lines of HELP are left out
 * there. */
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
/* BJ_SLICE, where the compiler wants a constant. */
#define WORD(lit)                                                              \
    {                                                                          \
        lit, sizeof(lit) - 1                                                   \
    }
#define KEY1(a)                                                                \
    {                                                                          \
        {                                                                      \
            WORD(a)                                                            \
        }                                                                      \
    }
#define KEY2(a, b)                                                             \
    {                                                                          \
        {                                                                      \
            WORD(a), WORD(b)                                                   \
        }                                                                      \
    }
#define NO BJ_ABSENT
#define SEC 1000000ull

/* A job that runs, with everything; tests/fixtures/dialects/README.md lists
 * the same figures. */
static struct bj_core_use cores[] = {{KEY1("0"), 2 * SEC, NO},
                                     {KEY1("9"), 1, NO}};
static struct bj_state_use states[] = {{KEY1("disk_sleep"), 1},
                                       {KEY1("running"), 2}};
static struct bj_exe_use exes[] = {{KEY1("(other)"), 99 * SEC},
                                   {KEY1("/bin/bash"), 90 * SEC},
                                   {KEY1("/home/a/x\"\\y"), 61 * SEC + 500000},
                                   {KEY1("/opt/app"), 60 * SEC},
                                   {KEY1("/opt/short"), 60 * SEC - 1},
                                   {KEY1("bash"), 90 * SEC}};
static struct bj_place_use places[] = {
    {KEY1("files"), 17}, {KEY1("home"), 5}, {KEY1("scratch"), 2}};
static struct bj_step_use steps[1], tasks[1];

/* One that has ended, of cgroup v2. */
static struct bj_core_use cores2[] = {{KEY1("3"), NO, 4 * SEC}};

static struct bj_mode_use modes[] = {{KEY1("idle"), 100 * SEC},
                                     {KEY1("user"), 1500000}};
static struct bj_zone_stat zones[] = {
    {KEY2("cray", "node"), 7 * SEC, 300 * SEC, 900 * SEC, 0, 0, 0},
    {KEY2("ipmi_dcmi", "node"), NO, 415 * SEC, NO, 0, 0, 0},
    {KEY2("perf", "package-0"), 1, 1, 1, 0, 0, 0},
    {KEY2("rapl", "package-1"), 12500000, 80 * SEC, 250 * SEC, 0, 0, 0},
    {KEY2("rapl", "package-1.dram"), 3 * SEC, 5 * SEC, NO, 0, 0, 0},
    {KEY2("rapl", "strange"), 4 * SEC, 5 * SEC, NO, 0, 0, 0},
    {KEY2("redfish", "node"), NO, 400500000, NO, 0, 0, 0},
};
static struct bj_factor_stat factors[] = {
    {{{WORD("other"), WORD("marginal"), WORD("FR")}}, 90 * SEC, 0, NO},
    {{{WORD("rte"), WORD("average_lifecycle"), WORD("FR")}}, 56250000, 0, NO},
    {{{WORD("table"), WORD("average_lifecycle"), WORD("FR")}}, 60 * SEC, 0, NO},
};
static struct bj_collector_stat collectors[] = {{KEY1("cpu"), 1, 1500, 0, 0}};

static struct bj_gpu_use gpus[3];
static struct bj_gpu_label models[] = {
    {{{WORD("GPU-aa"), WORD("3"), WORD("NVIDIA H100")}}, 1},
    {{{WORD("MIG-bb"), WORD("0"), WORD("1g.10gb")}}, 1},
};
static struct bj_gpu_label parents[] = {
    {{{WORD("MIG-bb"), WORD("0"), WORD("GPU-dd")}}, 1},
};
static struct bj_gpu_part parts[2];

static const struct bj_ident *make_ident(const char *id, const char *user,
                                         const char *account, const char *uid,
                                         const char *system, const char *node)
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

static void empty_job(struct bj_job *job, const struct bj_ident *ident)
{
    memset(job, 0xff, sizeof(*job));
    job->cores = job->devices = job->states = job->exes = job->places =
        job->steps = job->tasks = job->energy = job->gpus = job->gpu_claims =
            (struct bj_list){0};
    job->ident = ident;
}

static void make_gpus(void)
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
    gpus[0].minor = 5;
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

static void first_job(struct bj_job *job)
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
    u->psi_cpu_full_usec = 1500000;
    u->psi_mem_full_usec = 250000;
    job->proc.processes = 3;
    job->proc.io_read_ops = 11;
    job->proc.io_write_ops = 12;
    job->proc.io_storage_read_bytes = 1572864;
    job->proc.io_storage_write_bytes = 1024;
    job->cores = (struct bj_list)LIST(cores);
    job->states = (struct bj_list)LIST(states);
    job->exes = (struct bj_list)LIST(exes);
    job->places = (struct bj_list)LIST(places);
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

static void second_job(struct bj_job *job)
{
    empty_job(job, make_ident("4712", "bob", NULL, "1002", "slurm", NULL));
    job->end_sec = 1700000000;
    job->use.cpu_usec = 5 * SEC;
    job->use.mem_used_bytes = 77;
    job->use.mem_rss_bytes = 77;
    job->use.mem_peak_bytes = 42;
    job->proc.processes = 1;
    job->cores = (struct bj_list)LIST(cores2);
    job->gpus = (struct bj_list){parts, 1};
}

enum { JOBS = 3 };

static void make_snap(struct bj_snap *snap, struct bj_job job[JOBS])
{
    memset(snap, 0, sizeof(*snap));
    empty_job(&job[0], make_ident("9", "carl", "x", "1003", "pbs", NULL));
    job[0].use.cpu_usec = 1;
    first_job(&job[1]);
    second_job(&job[2]);
    snap->jobs = (struct bj_list){job, JOBS};
    memset(&snap->node, 0xff, sizeof(snap->node));
    snap->node.modes = (struct bj_list)LIST(modes);
    snap->node.energy = (struct bj_list){0};
    snap->node.cpus = 64;
    snap->node.mem_total_bytes = 274877906944;
    snap->node.mem_available_bytes = 137438953472;
    snap->zones = (struct bj_list)LIST(zones);
    snap->gpus = (struct bj_list)LIST(gpus);
    snap->gpu_models = (struct bj_list)LIST(models);
    snap->gpu_parents = (struct bj_list)LIST(parents);
    snap->factors = (struct bj_list)LIST(factors);
    snap->self.collectors = (struct bj_list)LIST(collectors);
    snap->self.build_info =
        (struct bj_info){1, {BJ_SLICE("1"), BJ_SLICE("2"), BJ_SLICE("gcc")}};
}

static void free_jobs(struct bj_job job[JOBS])
{
    for (int i = 0; i < JOBS; i++)
        bj_ident_unref(job[i].ident);
}

static const struct bj_dialect_env env = {.host = WORD("node7.site")};

/* A page without its HELP, terminated; freed by the caller. */
static char *write_page(const char *name, enum bj_page_format format,
                        const struct bj_snap *snap,
                        const struct bj_dialect_env *e)
{
    const struct bj_dialect *d = bj_dialect_find(bj_slice_str(name));
    struct bj_buf all = {0}, out = {0};
    struct bj_dialect_room room = {0};
    assert_non_null(d);
    const struct bj_style style = {.env = *e};
    assert_int_equal(bj_dialect_page(d, snap, &style, format, &room, &all), 0);
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

static const struct {
    const char *dialect, *file;
    enum bj_page_format format;
    bool unified;
} pages[] = {
    {"slurm-job-exporter", "slurm-job-exporter.txt", BJ_PAGE_TEXT, true},
    {"slurm-job-exporter", "slurm-job-exporter.om.txt", BJ_PAGE_OPENMETRICS,
     true},
    {"jobs_exporter", "jobs_exporter.txt", BJ_PAGE_TEXT, true},
    {"jobstats", "jobstats.txt", BJ_PAGE_TEXT, true},
    {"batchjob_monitoring", "batchjob_monitoring.txt", BJ_PAGE_TEXT, true},
    {"ceems", "ceems.txt", BJ_PAGE_TEXT, true},
    {"nvidia_gpu_prometheus_exporter", "nvidia_gpu_prometheus_exporter.txt",
     BJ_PAGE_TEXT, true},
    {"cgroup_exporter", "cgroup_exporter.txt", BJ_PAGE_TEXT, false},
    {"cgroup_exporter", "cgroup_exporter.v2.txt", BJ_PAGE_TEXT, true},
};

static void golden(void **state)
{
    (void)state;
    static struct bj_snap snap;
    static char want[65536];
    struct bj_job job[JOBS];
    make_snap(&snap, job);
    for (size_t i = 0; i < COUNT(pages); i++) {
        char path[128];
        snprintf(path, sizeof(path), "tests/fixtures/dialects/%s",
                 pages[i].file);
        FILE *f = fopen(path, "r");
        if (!f)
            fail_msg("%s: run from the root of the source", path);
        want[fread(want, 1, sizeof(want) - 1, f)] = '\0';
        fclose(f);
        struct bj_dialect_env e = env;
        e.unified = pages[i].unified;
        char *got = write_page(pages[i].dialect, pages[i].format, &snap, &e);
        if (strcmp(got, want) != 0)
            print_message("# %s\n%s", path, got);
        assert_string_equal(got, want);
        free(got);
    }
    free_jobs(job);
}

/* A small page of jobs with a peak. */
static char *peaks(struct bj_job *job, size_t n, const char *cluster,
                   const struct bj_dialect_env *e)
{
    struct bj_snap snap = {.cluster = bj_slice_str(cluster), .jobs = {job, n}};
    char *page = write_page("slurm-job-exporter", BJ_PAGE_TEXT, &snap, e);
    char *from = strstr(page, "slurm_job_memory_max{");
    assert_non_null(from);
    char *to = strstr(from, "# TYPE");
    assert_non_null(to);
    *to = '\0';
    memmove(page, from, strlen(from) + 1);
    return page;
}

static void check_peaks(struct bj_job *job, size_t n, const char *cluster,
                        const struct bj_dialect_env *e, const char *want)
{
    char *page = peaks(job, n, cluster, e);
    assert_string_equal(page, want);
    free(page);
}

/* Labels of the host's options, and of nodes that a peer does not know. */
static void labels(void **state)
{
    (void)state;
    const struct bj_dialect_env hidden = {.hide_user = true,
                                          .hide_account = true};
    struct bj_job job[2];
    empty_job(&job[0], make_ident("1", "a\"b", "c", "1", "slurm", NULL));
    empty_job(&job[1], make_ident("1", "d", "e", "2", "slurm", "n2"));
    job[0].use.mem_peak_bytes = 5;
    job[1].use.mem_peak_bytes = 6;
#define MAX "slurm_job_memory_max"
    check_peaks(job, 2, "alpha", &env,
                MAX "{cluster=\"alpha\",user=\"a\\\"b\",account=\"c\","
                    "slurmjobid=\"1\"} 5\n" MAX
                    "{cluster=\"alpha\",slurm_node=\"n2\",user=\"d\","
                    "account=\"e\",slurmjobid=\"1\"} 6\n");
    check_peaks(job, 1, NULL, &hidden,
                MAX "{user=\"\",account=\"\",slurmjobid=\"1\"} 5\n");
    bj_ident_unref(job[0].ident);
    bj_ident_unref(job[1].ident);
}

/* The path of a job's cgroup, where Slurm's defaults are not all there is. */
static void cgroup_label(void **state)
{
    (void)state;
    struct bj_slice f[BJ_ID_FIELDS] = {[BJ_ID_JOBID] = BJ_SLICE("17"),
                                       [BJ_ID_UID] = BJ_SLICE("5"),
                                       [BJ_ID_NODE] = BJ_SLICE("n\"2"),
                                       [BJ_ID_SYSTEM] = BJ_SLICE("slurm"),
                                       [BJ_ID_SLUID] = BJ_SLICE("sABC")};
    struct bj_conf conf = {0};
    struct bj_job job;
    struct bj_snap snap = {.jobs = {&job, 1}};
    empty_job(&job, bj_ident_new(f, &conf));
    job.use.cpus = 2;
    for (int v2 = 0; v2 < 2; v2++) {
        const struct bj_dialect_env e = {.unified = v2};
        char *page = write_page("cgroup_exporter", BJ_PAGE_TEXT, &snap, &e);
        const char *want =
            v2 ? "{cgroup=\"/system.slice/n\\\"2_slurmstepd.scope/sABC\"} 2\n"
               : "{cgroup=\"/slurm_n\\\"2/uid_5/job_17\"} 2\n";
        assert_non_null(strstr(page, want));
        free(page);
    }
    bj_ident_unref(job.ident);
}

/* The errors of the originals. */
static const struct {
    const char *dialect, *want, *v1;
} strict[] = {
    /* file_mapped + shmem, on v2 only */
    {"slurm-job-exporter",
     "_mapped_file{user=\"anna\",account=\"physics\","
     "slurmjobid=\"4711\"} 157810688\n",
     "_mapped_file{user=\"anna\",account=\"physics\",slurmjobid=\"4711\"} "
     "105381888\n"},
    /* anon + file */
    {"cgroup_exporter",
     "rss_bytes{cgroup=\"/system.slice/slurmstepd.scope/"
     "job_4711\"} 5368709120\n",
     "rss_bytes{cgroup=\"/slurm/uid_1001/job_4711\"} 4294967296\n"},
    {"slurm-job-exporter",
     "slurm_job_power_gpu{user=\"anna\",account=\"physics\",slurmjobid="
     "\"4711\",gpu=\"3\",gpu_type=\"NVIDIA H100\"} 300000\n",
     NULL},
    {"batchjob_monitoring", "# TYPE batchjob_ipmi_dcmi_watts_total counter\n",
     NULL},
};

static void errors_of_the_originals(void **state)
{
    static struct bj_snap snap;
    struct bj_job job[JOBS];
    (void)state;
    make_snap(&snap, job);
    snap.cluster = BJ_SLICE("alpha");
    for (size_t i = 0; i < 2 * COUNT(strict); i++) {
        const bool v2 = i % 2 == 0;
        struct bj_dialect_env e = env;
        const char *want =
            v2 || !strict[i / 2].v1 ? strict[i / 2].want : strict[i / 2].v1;
        e.strict = true;
        e.unified = v2;
        char *page = write_page(strict[i / 2].dialect, BJ_PAGE_TEXT, &snap, &e);
        if (!strstr(page, want))
            fail_msg("no %s in\n%s", want, page);
        assert_null(strstr(page, "4712")); /* it has ended */
        assert_null(strstr(page, "alpha"));
        free(page);
    }
    job[1].use.mem_limit_bytes = NO;
    struct bj_dialect_env e = {.strict = true};
    char *page = write_page("cgroup_exporter", BJ_PAGE_TEXT, &snap, &e);
    char *at = strstr(page, "total_bytes{");
    assert_non_null(at);
    assert_true(strtod(strchr(at, ' '), NULL) == 18446744073709551615.0);
    free(page);
    free_jobs(job);
}

/* What the options add. */
static void styles(void **state)
{
    static struct bj_snap snap;
    struct bj_job job[JOBS];
    struct bj_buf out = {0};
    struct bj_dialect_room room = {0};
    char file[] = "/tmp/test_dialect_page.XXXXXX",
         exclude[] = "^x_jobs_.*_time$";
    char prefix[] = "x_", uids[] = "1002\n 1003 \n\n1001\n";
    struct bj_style_conf conf = {
        .exclude = exclude, .prefix = prefix, .skip_uids = file};
    struct bj_conf core = {.label_user = true, .label_account = true};
    struct bj_style style = {0};
    struct bj_err err = {0};
    (void)state;
    int fd = mkstemp(file);
    assert_true(fd >= 0);
    const struct bj_dialect *d = bj_dialect_find(BJ_SLICE("jobs_exporter"));
    make_snap(&snap, job);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(bj_style_init(&conf, &core, &style, &err), 0);
        assert_int_equal(
            bj_dialect_page(d, &snap, &style, BJ_PAGE_TEXT, &room, &out), 0);
        bj_buf_put(&out, "", 1);
        assert_int_equal(strstr(out.p, "\nx_jobs_rss{") != NULL, i == 0);
        assert_null(strstr(out.p, "jobs_user_time"));
        assert_null(strstr(out.p, "\njobs_"));
        bj_style_free(&style);
        out.len = 0;
        assert_int_equal(write(fd, uids, strlen(uids)), strlen(uids));
    }
    assert_int_equal(write(fd, "anna\n", 5), 5);
    assert_true(bj_style_init(&conf, &core, &style, &err) < 0);
    assert_non_null(strstr(err.msg, "'anna' is no number"));
    bj_style_free(&style);
    bj_buf_free(&out);
    bj_dialect_room_free(&room);
    free_jobs(job);
    close(fd);
    unlink(file);
}

/* Jobs that would have the same labels: one is told, rather one that runs. */
static void no_series_twice(void **state)
{
    (void)state;
    const struct bj_dialect_env hidden = {.hide_user = true,
                                          .hide_account = true};
    static const uint64_t ends[][3] = {
        {NO, NO, NO}, {1, NO, NO}, {1, 1, NO}, {1, 1, 1}};
    static const char told[] = {'1', '2', '3', '1'};
    for (size_t k = 0; k < COUNT(ends); k++) {
        struct bj_job job[3];
        char want[] = MAX "{user=\"\",account=\"\",slurmjobid=\"1\"} x\n";
        for (unsigned i = 0; i < 3; i++) {
            const char *const users[] = {"u", "v", "w"};
            empty_job(&job[i],
                      make_ident("1", users[i], "c", "1", "slurm", NULL));
            job[i].use.mem_peak_bytes = i + 1;
            job[i].end_sec = ends[k][i];
        }
        want[sizeof(want) - 3] = told[k];
        check_peaks(job, 3, NULL, &hidden, want);
        for (int i = 0; i < 3; i++)
            bj_ident_unref(job[i].ident);
    }
}

/* Without jobs: families without samples, where the peer has them. */
static void without_jobs(void **state)
{
    (void)state;
    static struct bj_snap snap;
    char *page = write_page("slurm-job-exporter", BJ_PAGE_TEXT, &snap, &env);
    assert_non_null(strstr(page, "# TYPE slurm_job_memory_usage gauge\n"));
    assert_null(strchr(page, '{'));
    free(page);
    page = write_page("jobs_exporter", BJ_PAGE_TEXT, &snap, &env);
    assert_string_equal(page, "");
    free(page);
}

/* A page from a room that has written others says what one from a new room
 * does: labels that are kept are those of the jobs, the dialect, the cluster
 * and the options that are asked for. */
static void rooms_forget(void **state)
{
    (void)state;
    struct bj_dialect_room old = {0};
    struct bj_job job[2];
    const struct bj_ident *ident[3] = {
        make_ident("1", "a", "x", "1", "slurm", NULL),
        make_ident("2", "b", "y", "2", "slurm", NULL),
        make_ident("2", "c", "z", "3", "slurm", NULL)};
    static const uint64_t uids[] = {2};
    for (unsigned i = 0; i < 192; i++) {
        const struct bj_dialect *d = bj_dialect_find(
            i & 1 ? BJ_SLICE("cgroup_exporter") : BJ_SLICE("jobstats"));
        struct bj_snap snap = {.cluster = bj_slice_str(i & 2 ? "alpha" : ""),
                               .jobs = {job, i & 4 ? 1 : 2}};
        struct bj_style style = {.env = {.strict = i & 8,
                                         .skip_uids = uids,
                                         .nskip_uids = i & 16 ? 1 : 0}};
        struct bj_buf kept = {0}, fresh = {0};
        struct bj_dialect_room new = {0};
        empty_job(&job[0], ident[0]);
        empty_job(&job[1], ident[i % 3 ? 1 : 2]);
        job[0].use.cpus = i;
        job[1].use.cpus = i + 1;
        job[1].use.cpu_usec = 5;
        job[1].end_sec = i & 32 ? 1 : NO;
        /* Twice: once it is written, once it was kept. */
        for (int k = 0; k < 2; k++) {
            kept.len = 0;
            assert_int_equal(
                bj_dialect_page(d, &snap, &style, BJ_PAGE_TEXT, &old, &kept),
                0);
        }
        assert_int_equal(
            bj_dialect_page(d, &snap, &style, BJ_PAGE_TEXT, &new, &fresh), 0);
        assert_int_equal(kept.len, fresh.len);
        assert_memory_equal(kept.p, fresh.p, fresh.len);
        bj_buf_free(&kept);
        bj_buf_free(&fresh);
        bj_dialect_room_free(&new);
    }
    for (int i = 0; i < 3; i++)
        bj_ident_unref(ident[i]);
    bj_dialect_room_free(&old);
}

static int write_once(void *arg)
{
    const struct bj_style style = {.env = env};
    struct bj_buf out = {0};
    struct bj_dialect_room room = {0};
    int r = 0;
    for (size_t i = 0; bj_dialects[i] && r == 0; i++)
        r = bj_dialect_page(bj_dialects[i], arg, &style, BJ_PAGE_TEXT, &room,
                            &out);
    bj_buf_free(&out);
    bj_dialect_room_free(&room);
    return r;
}

static void want_of_memory(void **state)
{
    (void)state;
    static struct bj_snap snap;
    struct bj_job job[JOBS];
    if (!bj_fail_works())
        skip();
    make_snap(&snap, job);
    assert_true(bj_fail_each(write_once, &snap) > 2);
    free_jobs(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden),
        cmocka_unit_test(labels),
        cmocka_unit_test(cgroup_label),
        cmocka_unit_test(no_series_twice),
        cmocka_unit_test(errors_of_the_originals),
        cmocka_unit_test(styles),
        cmocka_unit_test(rooms_forget),
        cmocka_unit_test(without_jobs),
        cmocka_unit_test(want_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

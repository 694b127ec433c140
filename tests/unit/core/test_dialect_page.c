/* Whole pages of the dialects, compared with tests/fixtures/dialects. Those
 * were computed from the definitions of the original exporters (see the README
 * there) and lack HELP lines. */
#include "tests/unit/core/test_dialect_page.h"

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
    {"nvidia_smi_exporter", "nvidia_smi_exporter.txt", BJ_PAGE_TEXT, true},
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

/* The samples of slurm_job_memory_max on a page. */
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

/* Labels: cluster and slurm_node, which the original lacks, and user and
 * account, which options hide. */
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

/* The real-time factor is a direct average. Of a provider with several kinds of
 * factors, the first one is shown. */
static void emission_factors(void **state)
{
    (void)state;
    struct bj_factor_stat v[] = {
        {{{SLICE("x"), SLICE("marginal"), SLICE("FR")}}, 9 * SEC, 0, NONE},
        {{{SLICE("rte"), SLICE("average_direct"), SLICE("FR")}},
         31 * SEC,
         0,
         NONE},
        {{{SLICE("f"), SLICE("average_lifecycle"), SLICE("FR")}}, 1, 0, NONE},
        {{{SLICE("f"), SLICE("average_direct"), SLICE("FR")}}, 2, 0, NONE},
        {{{SLICE("f"), SLICE("average_direct"), SLICE("DE")}}, 3, 0, NONE},
        {{{SLICE("electricitymaps"), SLICE("average_lifecycle"), SLICE("FR")}},
         21 * SEC,
         0,
         NONE},
        {{{SLICE("watttime"), SLICE("average_lifecycle"),
           SLICE("CAISO_NORTH")}},
         22 * SEC,
         0,
         NONE},
    };
    struct bj_snap snap = {.factors = LIST(v)};
    char *page = write_page("batchjob_monitoring", BJ_PAGE_TEXT, &snap, &env);
    assert_non_null(strstr(page, "\nbatchjob_emissions_gCo2_kWh 31\n"));
    free(page);
    page = write_page("ceems", BJ_PAGE_TEXT, &snap, &env);
#define CEEMS "ceems_emissions_gCo2_kWh{provider=\""
    assert_non_null(strstr(
        page, "\n" CEEMS "rte\",country_code=\"FR\",provider_name=\"RTE eCO2 "
              "Mix\",country=\"France\"} 31\n" CEEMS
              "f\",country_code=\"FR\",provider_name=\"f\",country=\"France\"} "
              "0.000001\n" CEEMS "f\",country_code=\"DE\",provider_name=\"f\","
              "country=\"Germany\"} 0.000003\n"));
    assert_non_null(
        strstr(page, "\n" CEEMS "emaps\",country_code=\"FR\",provider_name="
                     "\"Electricity Maps\",country=\"France\"} 21\n"));
    assert_non_null(strstr(
        page, "\n" CEEMS "wt\",country_code=\"CAISO_NORTH\",provider_name"
              "=\"Watt Time\",country=\"CAISO_NORTH\"} 22\n"));
    assert_null(strstr(page, CEEMS "x\""));
    free(page);
}

/* A command that asks the BMC replaces our own IPMI; ids of chassis. */
static void meters_of_ceems(void **state)
{
    (void)state;
    struct bj_zone_stat v[] = {
        {KEY2("command", "node"), NONE, 332 * SEC, NONE, 0, 0, 0},
        {KEY2("redfish", "chassis-a"), NONE, SEC, NONE, 0, 0, 0},
        {{{SLICE("redfish"), SLICE("chassis-b"), SLICE("__x.-_y_")}},
         NONE,
         2 * SEC,
         NONE,
         0,
         0,
         0},
    };
    struct bj_snap snap = {.zones = LIST(v)};
    char *page = write_page("ceems", BJ_PAGE_TEXT, &snap, &env);
    assert_non_null(strstr(page, "\nceems_ipmi_dcmi_current_watts{"
                                 "hostname=\"node7.site\"} 332\n"));
    assert_non_null(strstr(page, "chassis=\"chassis_a\"} 1\n"));
    assert_non_null(strstr(page, "chassis=\"__x_y_\"} 2\n"));
    free(page);
}

/* The path of a job's cgroup with Slurm's other layouts: a node name and a
 * SLUID. */
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

/* Of several jobs with the same labels one is shown, preferably a running
 * one. */
static void no_series_twice(void **state)
{
    (void)state;
    const struct bj_dialect_env hidden = {.hide_user = true,
                                          .hide_account = true};
    static const uint64_t ends[][3] = {
        {NONE, NONE, NONE}, {1, NONE, NONE}, {1, 1, NONE}, {1, 1, 1}};
    static const char shown[] = {'1', '2', '3', '1'};
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
        want[sizeof(want) - 3] = shown[k];
        check_peaks(job, 3, NULL, &hidden, want);
        for (int i = 0; i < 3; i++)
            bj_ident_unref(job[i].ident);
    }
}

/* Without jobs, a dialect shows families without samples if the original
 * does. */
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

static int write_once(void *arg)
{
    const struct bj_dialect_options options = {.env = env};
    struct bj_buf out = {0};
    struct bj_dialect_room room = {0};
    int r = 0;
    for (size_t i = 0; bj_dialects[i] && r == 0; i++)
        r = bj_dialect_page(bj_dialects[i], arg, &options, BJ_PAGE_TEXT, &room,
                            &out);
    bj_buf_free(&out);
    bj_dialect_room_free(&room);
    return r;
}

static void out_of_memory(void **state)
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
        cmocka_unit_test(golden),           cmocka_unit_test(labels),
        cmocka_unit_test(emission_factors), cmocka_unit_test(meters_of_ceems),
        cmocka_unit_test(cgroup_label),     cmocka_unit_test(no_series_twice),
        cmocka_unit_test(without_jobs),     cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

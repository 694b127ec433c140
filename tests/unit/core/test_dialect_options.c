/* Pages of dialects with options, and with a used room. */
#include "tests/unit/core/test_dialect_page.h"

#include <unistd.h>

#define SJE "{user=\"anna\",account=\"physics\",slurmjobid=\"4711\""
#define JOBS_LABELS "{instance=\"node7\",slurm_job=\"4711\""
#define V1_GROUP "{cgroup=\"/slurm/uid_1001/job_4711\""
#define V2_GROUP "{cgroup=\"/system.slice/slurmstepd.scope/job_4711\""
#define WHOLE "{jobid=\"4711\",step=\"\",task=\"\"} "
#define OLD_LABELS                                                             \
    "{batch=\"slurm\",jobid=\"4711\",jobaccount=\"physics\",jobuuid="          \
    "\"ac28caf5-ce6c-35f6-73fb-47d9d43f7780\",step=\"\",task=\"\"} "
#define UNIT                                                                   \
    "{manager=\"slurm\",hostname=\"node7.site\",cgrouphostname=\"\",uuid="     \
    "\"4711\"} "

/* Errors of the original exporters, which dialect.strict reproduces: the line
 * on cgroup v2, and the one on v1 where it differs. The values follow from the
 * snapshot and from the sources of the originals. */
static const struct {
    const char *dialect, *want, *v1;
} strict[] = {
    /* file_mapped + shmem, on v2 only */
    {"slurm-job-exporter", "_mapped_file" SJE "} 157810688\n",
     "_mapped_file" SJE "} 105381888\n"},
    /* usage_usec * 1000 / 4, on each of the four */
    {"slurm-job-exporter",
     "_core_usage_total" SJE ",core=\"2\"} 900000002000\n",
     "_core_usage_total" SJE ",core=\"9\"} 1000\n"},
    /* without processes of root and the shell of the batch script */
    {"slurm-job-exporter", "_process_count" SJE "} 2\n", NULL},
    {"slurm-job-exporter", "_threads_count" SJE ",state=\"tracing-stop\"} 5\n",
     NULL},
    /* of living processes */
    {"slurm-job-exporter",
     "_process_usage_total" SJE ",exe=\"/opt/app\"} 70.000001\n", NULL},
    {"slurm-job-exporter",
     "_power_gpu" SJE ",gpu=\"3\",gpu_type=\"NVIDIA H100\"} 300000\n", NULL},
    {"jobs_exporter", "jobs_spawned_processes" JOBS_LABELS "} 67\n", NULL},
    {"jobs_exporter", "jobs_read_mb" JOBS_LABELS "} 0.5\n", NULL},
    {"jobs_exporter", "jobs_write_mb" JOBS_LABELS "} 0.000488\n", NULL},
    {"jobs_exporter", "jobs_read_count" JOBS_LABELS "} 5\n", NULL},
    {"jobs_exporter", "jobs_write_count" JOBS_LABELS "} 6\n", NULL},
    {"jobs_exporter", "jobs_rss" JOBS_LABELS "} 6144\n", NULL},
    /* anon + file */
    {"cgroup_exporter", "_rss_bytes" V2_GROUP "} 5368709120\n",
     "_rss_bytes" V1_GROUP "} 4294967296\n"},
    /* cpuset.cpus, which is empty */
    {"cgroup_exporter", "_cpus" V2_GROUP "} 0\n", "_cpus" V1_GROUP "} 4\n"},
    {"cgroup_exporter", "_cpu_info" V2_GROUP ",cpus=\"\"} 1\n",
     "_cpu_info" V1_GROUP ",cpus=\"0,2,3,9\"} 1\n"},
    /* swap.current, swap.max, the event oom */
    {"cgroup_exporter", "_memsw_used_bytes" V2_GROUP "} 1024\n",
     "_memsw_used_bytes" V1_GROUP "} 8589935616\n"},
    {"cgroup_exporter", "_memsw_total_bytes" V2_GROUP "} 4096\n", NULL},
    {"cgroup_exporter", "_memory_fail_count" V2_GROUP "} 2\n",
     "_memory_fail_count" V1_GROUP "} 3\n"},
    {"jobstats", "_memory_fail_count" WHOLE "2\n",
     "_memory_fail_count" WHOLE "3\n"},
    {"jobstats", "_memsw_used_bytes" WHOLE "0\n",
     "_memsw_used_bytes" WHOLE "8589935616\n"},
    {"jobstats", "_memsw_total_bytes" WHOLE "0\n", NULL},
    {"jobstats", "_memsw_fail_count" WHOLE "0\n", NULL},
    {"jobstats", "cgroup_uid{jobid=\"4711\"} 1001\n", NULL},
    {"nvidia_gpu_prometheus_exporter",
     "name=\"1g.10gb\",jobid=\"4711\",userid=\"1001\",GPU_I_ID=\"9\"} "
     "200000\n",
     NULL},
    {"batchjob_monitoring", "# TYPE batchjob_ipmi_dcmi_watts_total counter\n",
     NULL},
    {"batchjob_monitoring", "_memory_fail_count" OLD_LABELS "2\n",
     "_memory_fail_count" OLD_LABELS "3\n"},
    {"batchjob_monitoring", "_memsw_used_bytes" OLD_LABELS "0\n",
     "_memsw_used_bytes" OLD_LABELS "8589935616\n"},
    {"batchjob_monitoring", "_memsw_total_bytes" OLD_LABELS "0\n", NULL},
    {"batchjob_monitoring", "_memsw_fail_count" OLD_LABELS "0\n", NULL},
    {"ceems", "_memory_fail_count" UNIT "2\n", "_memory_fail_count" UNIT "3\n"},
    {"ceems", "_memsw_used_bytes" UNIT "1024\n",
     "_memsw_used_bytes" UNIT "8589935616\n"},
    {"ceems", "_memsw_total_bytes" UNIT "4096\n", NULL},
};

/* The error is on v2 only: the snapshot's job lacks the value of v1. */
static bool only_on_v2(const char *want)
{
    return strstr(want, "_memsw_total") || strstr(want, "_memsw_fail");
}

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
        if (!v2 && only_on_v2(want))
            continue;
        e.strict = true;
        e.unified = v2;
        char *page = write_page(strict[i / 2].dialect, BJ_PAGE_TEXT, &snap, &e);
        if (!strstr(page, want))
            fail_msg("no %s in\n%s", want, page);
        assert_null(strstr(page, "4712")); /* job 4712 has ended */
        assert_null(strstr(page, "alpha"));
        free(page);
    }
    free_jobs(job);
}

/* Placeholders that the originals show for a job without a limit, and for a
 * hidden user. */
static const struct {
    const char *dialect;
    bool v2, hidden;
    const char *want;
} placeholders[] = {
    {"cgroup_exporter", false, false,
     "_memory_total_bytes" V1_GROUP "} 9223372036854771712\n"},
    {"cgroup_exporter", true, false,
     "_memory_total_bytes" V2_GROUP "} 18446744073709551614\n"},
    {"cgroup_exporter", true, false,
     "_memsw_total_bytes" V2_GROUP "} 18446744073709551614\n"},
    {"cgroup_exporter", false, false,
     "_memsw_total_bytes" V1_GROUP "} 9223372036854771712\n"},
    {"jobstats", false, false,
     "_memory_total_bytes" WHOLE "9223372036854771712\n"},
    {"jobstats", false, false,
     "_memsw_total_bytes" WHOLE "9223372036854771712\n"},
    {"jobstats", true, true, "cgroup_uid{jobid=\"4711\"} -1\n"},
    {"jobstats", false, true, "cgroup_uid{jobid=\"4711\"} 1001\n"},
    {"batchjob_monitoring", false, false,
     "_memory_total_bytes" OLD_LABELS "9223372036854771712\n"},
    {"batchjob_monitoring", false, false,
     "_memsw_total_bytes" OLD_LABELS "9223372036854771712\n"},
    {"batchjob_monitoring", true, false,
     "_memory_total_bytes" OLD_LABELS "-1\n"},
    {"ceems", false, false, "_memory_total_bytes" UNIT "9223372036854771712\n"},
    {"ceems", false, false, "_memsw_total_bytes" UNIT "9223372036854771712\n"},
    {"ceems", true, false, "_memory_total_bytes" UNIT "274877906944\n"},
    {"ceems", true, false, "_memsw_total_bytes" UNIT "274877906944\n"},
};

static void placeholder_values(void **state)
{
    static struct bj_snap snap;
    struct bj_job job[JOBS];
    (void)state;
    make_snap(&snap, job);
    job[1].use.mem_limit_bytes = job[1].use.mem_swap_limit_bytes =
        job[1].use.memsw_limit_bytes = NONE;
    for (size_t i = 0; i < COUNT(placeholders); i++) {
        struct bj_dialect_env e = env;
        e.strict = true;
        e.unified = placeholders[i].v2;
        e.hide_user = placeholders[i].hidden;
        char *page =
            write_page(placeholders[i].dialect, BJ_PAGE_TEXT, &snap, &e);
        if (!strstr(page, placeholders[i].want))
            fail_msg("no %s in\n%s", placeholders[i].want, page);
        e.strict = false;
        char *right =
            write_page(placeholders[i].dialect, BJ_PAGE_TEXT, &snap, &e);
        if (!strstr(placeholders[i].want, "uid{"))
            assert_null(strstr(right, placeholders[i].want));
        free(page);
        free(right);
    }
    free_jobs(job);
}

/* Options: metrics are excluded, names get a prefix, jobs of skipped uids are
 * hidden, and an invalid uid is an error. */
static void options(void **state)
{
    static struct bj_snap snap;
    struct bj_job job[JOBS];
    struct bj_buf out = {0};
    struct bj_dialect_room room = {0};
    char file[] = "/tmp/test_dialect_page.XXXXXX",
         exclude[] = "^x_jobs_.*_time$";
    char prefix[] = "x_", uids[] = "1002\n 1003 \n\n1001\n";
    struct bj_dialect_conf conf = {
        .exclude = exclude, .prefix = prefix, .skip_uids = file};
    struct bj_conf core = {.label_user = true, .label_account = true};
    struct bj_dialect_options options = {0};
    struct bj_err err = {0};
    (void)state;
    int fd = mkstemp(file);
    assert_true(fd >= 0);
    const struct bj_dialect *d = bj_dialect_find(BJ_SLICE("jobs_exporter"));
    make_snap(&snap, job);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(bj_dialect_options_init(&conf, &core, &options, &err),
                         0);
        assert_int_equal(
            bj_dialect_page(d, &snap, &options, BJ_PAGE_TEXT, &room, &out), 0);
        bj_buf_put(&out, "", 1);
        assert_int_equal(strstr(out.p, "\nx_jobs_rss{") != NULL, i == 0);
        assert_null(strstr(out.p, "jobs_user_time"));
        assert_null(strstr(out.p, "\njobs_"));
        bj_dialect_options_free(&options);
        out.len = 0;
        assert_int_equal(write(fd, uids, strlen(uids)), strlen(uids));
    }
    assert_int_equal(write(fd, "anna\n", 5), 5);
    assert_true(bj_dialect_options_init(&conf, &core, &options, &err) < 0);
    assert_non_null(strstr(err.msg, "'anna' is not a number"));
    bj_dialect_options_free(&options);
    bj_buf_free(&out);
    bj_dialect_room_free(&room);
    free_jobs(job);
    close(fd);
    unlink(file);
}

/* A page from a used room is the same as one from a new room. */
static void used_room(void **state)
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
        struct bj_dialect_options options = {
            .env = {.strict = i & 8,
                    .skip_uids = uids,
                    .nskip_uids = i & 16 ? 1 : 0}};
        struct bj_buf used = {0}, fresh = {0};
        struct bj_dialect_room new = {0};
        empty_job(&job[0], ident[0]);
        empty_job(&job[1], ident[i % 3 ? 1 : 2]);
        job[0].use.cpus = i;
        job[1].use.cpus = i + 1;
        job[1].use.cpu_usec = 5;
        job[1].end_sec = i & 32 ? 1 : NONE;
        assert_int_equal(
            bj_dialect_page(d, &snap, &options, BJ_PAGE_TEXT, &old, &used), 0);
        assert_int_equal(
            bj_dialect_page(d, &snap, &options, BJ_PAGE_TEXT, &new, &fresh), 0);
        assert_int_equal(used.len, fresh.len);
        assert_memory_equal(used.p, fresh.p, fresh.len);
        bj_buf_free(&used);
        bj_buf_free(&fresh);
        bj_dialect_room_free(&new);
    }
    for (int i = 0; i < 3; i++)
        bj_ident_unref(ident[i]);
    bj_dialect_room_free(&old);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_of_the_originals),
        cmocka_unit_test(placeholder_values),
        cmocka_unit_test(options),
        cmocka_unit_test(used_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

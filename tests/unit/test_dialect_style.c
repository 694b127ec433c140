/* What options and rooms make of pages of dialects. */
#include "tests/unit/test_dialect_page.h"

#include <unistd.h>

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
    {"nvidia_gpu_prometheus_exporter",
     "name=\"1g.10gb\",jobid=\"4711\",userid=\"1001\",GPU_I_ID=\"9\"} "
     "200000\n",
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_of_the_originals),
        cmocka_unit_test(styles),
        cmocka_unit_test(rooms_forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Pages of metrics. Every expected line was written by hand from the rules of
 * the formats (prometheus.io "Exposition formats", OpenMetrics 1.0.0). */
#include "standalone/page.h"

#include "base/digits.h"
#include "core/find/ident.h"
#include "tests/unit/lib/fail.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Metrics with all properties that matter to a writer. */
static const char *const info_keys[] = {"colour", "shape", "note", NULL};
static const struct bj_metric rows[] = {
    {.name = "cpu",
     .kind = BJ_COUNTER,
     .unit = BJ_USEC,
     .help = "Time \"used\", C:\\x\nand more."},
    {.name = "size", .kind = BJ_GAUGE, .unit = BJ_BYTES, .help = "Size."},
    {.name = "hits", .kind = BJ_COUNTER, .unit = BJ_NUMBER, .help = "Hits."},
    {.name = "start_time", .kind = BJ_GAUGE, .unit = BJ_SEC, .help = "Start."},
    {.name = "info", .kind = BJ_GAUGE, .unit = BJ_NUMBER, .help = "Says 1."},
};
static const struct bj_metric_table plain = {.name = "job", .owner = BJ_OF_JOB};
static const struct bj_metric_table listed = {
    .name = "job_disk", .list = true, .label = {"disk", NULL}};
static const struct bj_metric_table twice = {
    .name = "task", .list = true, .label = {"step", "task"}};
static const struct bj_metric_table info = {.name = "thing", .info = info_keys};
static const struct bj_metric_table bare = {.name = "process", .bare = true};

enum { CPU, SIZE, HITS, START, INFO };

static struct bj_job *make_job(const char *id, const char *user)
{
    struct bj_slice f[BJ_ID_FIELDS] = {{0}};
    struct bj_conf conf = {.label_user = true, .label_account = true};
    struct bj_job *job = malloc(sizeof(*job));
    assert_non_null(job);
    bj_job_clear(job);
    f[BJ_ID_JOBID] = bj_slice_str(id);
    f[BJ_ID_USER] = bj_slice_str(user);
    f[BJ_ID_PARTITION] = BJ_SLICE("long");
    f[BJ_ID_NAME] = BJ_SLICE("a \"b\" \\ c");
    job->ident = bj_ident_new(f, &conf);
    assert_non_null(job->ident);
    return job;
}

static void free_job(struct bj_job *job)
{
    bj_ident_unref(job->ident);
    free(job);
}

/* One sample of each kind. */
static void write_all(struct bj_sink *k, const struct bj_job *job)
{
    const struct bj_sub disk = {{BJ_SLICE("sd\"a\\\n")}};
    const struct bj_sub task = {{BJ_SLICE("batch"), BJ_SLICE("3")}};
    const struct bj_slice values[] = {
        BJ_SLICE("red"), {NULL, 0}, BJ_SLICE("\"\\\n")};
    const struct bj_sample samples[] = {
        {.job = job, .value = 1500000},
        {.job = job, .sub = &disk, .value = 4096},
        {.job = job, .sub = &task, .value = UINT64_MAX - 1},
        {.info = values, .value = 1},
        {.value = 1700000000},
    };
    assert_int_equal(k->family(k->ctx, &plain, &rows[CPU]), 0);
    assert_int_equal(k->sample(k->ctx, &samples[0]), 0);
    assert_int_equal(k->sample(k->ctx, &samples[0]), 0);
    assert_int_equal(k->family(k->ctx, &listed, &rows[SIZE]), 0);
    assert_int_equal(k->sample(k->ctx, &samples[1]), 0);
    assert_int_equal(k->family(k->ctx, &twice, &rows[HITS]), 0);
    assert_int_equal(k->sample(k->ctx, &samples[2]), 0);
    assert_int_equal(k->family(k->ctx, &info, &rows[INFO]), 0);
    assert_int_equal(k->sample(k->ctx, &samples[3]), 0);
    assert_int_equal(k->family(k->ctx, &bare, &rows[START]), 0);
    assert_int_equal(k->sample(k->ctx, &samples[4]), 0);
}

#define LABELS "jobid=\"7\",user=\"x\\\"y\""

static const char text_page[] =
    "# HELP batchjob_job_cpu_seconds_total Time \"used\", C:\\\\x\\nand more.\n"
    "# TYPE batchjob_job_cpu_seconds_total counter\n"
    "batchjob_job_cpu_seconds_total{" LABELS "} 1.5\n"
    "batchjob_job_cpu_seconds_total{" LABELS "} 1.5\n"
    "# HELP batchjob_job_disk_size_bytes Size.\n"
    "# TYPE batchjob_job_disk_size_bytes gauge\n"
    "batchjob_job_disk_size_bytes{" LABELS ",disk=\"sd\\\"a\\\\\\n\"} 4096\n"
    "# HELP batchjob_task_hits_total Hits.\n"
    "# TYPE batchjob_task_hits_total counter\n"
    "batchjob_task_hits_total{" LABELS ",step=\"batch\",task=\"3\"} "
    "18446744073709551614\n"
    "# HELP batchjob_thing_info Says 1.\n"
    "# TYPE batchjob_thing_info gauge\n"
    "batchjob_thing_info{colour=\"red\",note=\"\\\"\\\\\\n\"} 1\n"
    "# HELP process_start_time_seconds Start.\n"
    "# TYPE process_start_time_seconds gauge\n"
    "process_start_time_seconds 1700000000\n";

#define CLUSTER "cluster=\"c\\\"1\\\"\""

static const char openmetrics_page[] =
    "# HELP batchjob_job_cpu_seconds Time \\\"used\\\", C:\\\\x\\nand more.\n"
    "# TYPE batchjob_job_cpu_seconds counter\n"
    "# UNIT batchjob_job_cpu_seconds seconds\n"
    "batchjob_job_cpu_seconds_total{" CLUSTER "," LABELS "} 1.5\n"
    "batchjob_job_cpu_seconds_total{" CLUSTER "," LABELS "} 1.5\n"
    "# HELP batchjob_job_disk_size_bytes Size.\n"
    "# TYPE batchjob_job_disk_size_bytes gauge\n"
    "# UNIT batchjob_job_disk_size_bytes bytes\n"
    "batchjob_job_disk_size_bytes{" CLUSTER "," LABELS
    ",disk=\"sd\\\"a\\\\\\n\"} 4096\n"
    "# HELP batchjob_task_hits Hits.\n"
    "# TYPE batchjob_task_hits counter\n"
    "batchjob_task_hits_total{" CLUSTER "," LABELS
    ",step=\"batch\",task=\"3\"} 18446744073709551614\n"
    "# HELP batchjob_thing Says 1.\n"
    "# TYPE batchjob_thing info\n"
    "batchjob_thing_info{" CLUSTER ",colour=\"red\",note=\"\\\"\\\\\\n\"} 1\n"
    "# HELP process_start_time_seconds Start.\n"
    "# TYPE process_start_time_seconds gauge\n"
    "# UNIT process_start_time_seconds seconds\n"
    "process_start_time_seconds{" CLUSTER "} 1700000000\n"
    "# EOF\n";

static void check_page(enum bj_page_format format, struct bj_slice cluster,
                       const char *want)
{
    struct bj_buf out = {0};
    struct bj_page p;
    struct bj_job *job = make_job("7", "x\"y");
    struct bj_sink sink = bj_page_begin(&p, format, cluster, NULL, &out);
    write_all(&sink, job);
    assert_int_equal(bj_page_end(&p), 0);
    bj_buf_put(&out, "", 1);
    assert_string_equal(out.p, want);
    bj_buf_free(&out);
    free_job(job);
}

static void text_format(void **state)
{
    (void)state;
    check_page(BJ_PAGE_TEXT, (struct bj_slice){0}, text_page);
}

static void openmetrics_format(void **state)
{
    (void)state;
    check_page(BJ_PAGE_OPENMETRICS, BJ_SLICE("c\"1\""), openmetrics_page);
}

/* A snapshot through the native view. HELP texts are not compared. */
static void native_view(void **state)
{
    (void)state;
    static struct bj_snap snap;
    struct bj_buf out = {0};
    struct bj_job *job = make_job("4711", "anna");
    struct bj_core_use cores[] = {{{{BJ_SLICE("0")}}, 2000000, BJ_ABSENT},
                                  {{{BJ_SLICE("9")}}, 1, BJ_ABSENT}};
    bj_node_clear(&snap.node);
    bj_self_clear(&snap.self);
    snap.jobs = (struct bj_list){job, 1};
    snap.node.cpus = 64;
    job->ident_info = 1;
    job->use.cpu_usec = 3600 * (uint64_t)1000000 + 10;
    job->use.mem_used_bytes = 12345;
    job->cores = (struct bj_list){cores, 2};
    assert_int_equal(bj_page_write(&snap, BJ_PAGE_TEXT, NULL, &out), 0);

    static const char *const want[] = {
        "batchjob_job_info{jobid=\"4711\",user=\"anna\",partition=\"long\","
        "name=\"a \\\"b\\\" \\\\ c\"} 1",
        "batchjob_job_cpu_seconds_total{jobid=\"4711\",user=\"anna\"} "
        "3600.00001",
        "batchjob_job_memory_used_bytes{jobid=\"4711\",user=\"anna\"} 12345",
        "batchjob_job_core_cpu_seconds_total{jobid=\"4711\",user=\"anna\","
        "cpu=\"0\"} 2",
        "batchjob_job_core_cpu_seconds_total{jobid=\"4711\",user=\"anna\","
        "cpu=\"9\"} 0.000001",
        "batchjob_node_cpus 64",
    };
    size_t n = 0;
    struct bj_slice rest = {out.p, out.len}, line;
    while (bj_slice_line(&rest, &line)) {
        if (line.p[0] == '#')
            continue;
        assert_true(n < COUNT(want));
        assert_int_equal(line.n, strlen(want[n]));
        assert_memory_equal(line.p, want[n], line.n);
        n++;
    }
    assert_int_equal(n, COUNT(want));
    bj_buf_free(&out);
    free_job(job);
}

static int write_once(void *arg)
{
    struct bj_buf out = {0};
    struct bj_page p;
    struct bj_sink k =
        bj_page_begin(&p, BJ_PAGE_OPENMETRICS, BJ_SLICE("c"), NULL, &out);
    const struct bj_sub disk = {{BJ_SLICE("sda")}};
    const struct bj_sample s = {.job = arg, .sub = &disk, .value = 1};
    int r = k.family(k.ctx, &listed, &rows[SIZE]);
    for (int i = 0; i < 100 && r == 0; i++)
        r = k.sample(k.ctx, &s);
    if (r < 0)
        out.failed = true;
    r = bj_page_end(&p);
    bj_buf_free(&out);
    return r;
}

/* Headers that are kept for one cluster are not used for another. */
static void another_cluster(void **state)
{
    (void)state;
    static struct bj_snap snap;
    struct bj_page_heads heads = {0};
    static const char *const names[] = {"", "alpha", "alpha", "beta", ""};
    for (size_t i = 0; i < COUNT(names); i++) {
        struct bj_buf kept = {0}, fresh = {0};
        snap.cluster = bj_slice_str(names[i]);
        assert_int_equal(bj_page_write(&snap, BJ_PAGE_TEXT, &heads, &kept), 0);
        assert_int_equal(bj_page_write(&snap, BJ_PAGE_TEXT, NULL, &fresh), 0);
        assert_int_equal(kept.len, fresh.len);
        assert_memory_equal(kept.p, fresh.p, fresh.len);
        assert_true(!*names[i] ||
                    memmem(kept.p, kept.len, names[i], strlen(names[i])));
        bj_buf_free(&kept);
        bj_buf_free(&fresh);
    }
    bj_page_heads_free(&heads);
}

static void no_memory(void **state)
{
    (void)state;
    if (!bj_fail_works())
        skip();
    struct bj_job *job = make_job("7", "x");
    assert_true(bj_fail_each(write_once, job) > 3);
    free_job(job);
}

/* The digits are the same as those of printf(). */
static void check_digits(uint64_t v)
{
    char got[BJ_DIGITS_ROOM + 1], want[BJ_DIGITS_ROOM];
    *bj_digits_u64(got, v) = '\0';
    snprintf(want, sizeof(want), "%" PRIu64, v);
    assert_string_equal(got, want);
    *bj_digits_micro(got, v) = '\0';
    int n = snprintf(want, sizeof(want), "%" PRIu64 ".%06u", v / 1000000,
                     (unsigned)(v % 1000000));
    while (want[n - 1] == '0')
        want[--n] = '\0';
    if (want[n - 1] == '.')
        want[--n] = '\0';
    assert_string_equal(got, want);
}

static void digits(void **state)
{
    (void)state;
    uint64_t v = 1;
    for (uint64_t i = 0; i < 20000; i++) {
        check_digits(i);
        check_digits(UINT64_MAX - i);
        v = v * 6364136223846793005u + 1442695040888963407u;
        check_digits(v >> v % 64);
    }
    for (uint64_t ten = 1; ten <= UINT64_MAX / 10; ten *= 10)
        for (uint64_t i = 1; i < 10; i++) {
            check_digits(ten * i);
            check_digits(ten * i - 1);
            check_digits(ten * i + 1);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_format),     cmocka_unit_test(openmetrics_format),
        cmocka_unit_test(native_view),     cmocka_unit_test(no_memory),
        cmocka_unit_test(another_cluster), cmocka_unit_test(digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tracing: what wrappers may post, and the resulting metrics. Bodies follow the
 * protocol of prometheus-slurm-exporter 1.7; the expected pages were written by
 * hand. */
#include "standalone/trace.h"

#include "core/model/cluster.h"

#include "tests/unit/lib/fail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SEC 1000000ull

static const struct bj_trace_conf plain = {
    .enabled = true, .keep_usec = 10 * SEC, .entries = 3, .rate = 1000};

static struct bj_trace *make(const struct bj_trace_conf *conf)
{
    struct bj_trace *t = NULL;
    struct bj_err err = {0};
    if (bj_trace_new(conf, &t, &err) < 0)
        fail_msg("%s", err.msg);
    return t;
}

/* Post a body and return the status; the response must contain why. */
static unsigned post_as(struct bj_trace *t, const char *body, const char *auth,
                        uint64_t now_usec, const char *why)
{
    struct bj_buf out = {0};
    unsigned status = bj_trace_post(t, bj_slice_str(body), bj_slice_str(auth),
                                    now_usec, &out);
    bj_buf_put(&out, "", 1);
    if (why && !strstr(out.p, why))
        fail_msg("'%s' is not in '%s'", why, out.p);
    assert_int_equal(status == 200, out.len == 1);
    bj_buf_free(&out);
    return status;
}

static unsigned post(struct bj_trace *t, const char *body, uint64_t now_usec)
{
    return post_as(t, body, NULL, now_usec, NULL);
}

static char *metrics(struct bj_trace *t, enum bj_page_format format,
                     const char *cluster, const char *before, uint64_t now_usec)
{
    struct bj_buf out = {0};
    bj_buf_str(&out, before);
    bj_trace_metrics(t, now_usec,
                     &(struct bj_trace_page){.format = format,
                                             .cluster = bj_slice_str(cluster)},
                     &out);
    bj_buf_put(&out, "", 1);
    assert_false(out.failed);
    return out.p;
}

/* The number of samples of a metric. */
static size_t samples(struct bj_trace *t, const char *family, uint64_t now_usec)
{
    char *page = metrics(t, BJ_PAGE_TEXT, NULL, "", now_usec);
    size_t n = 0, len = strlen(family);
    for (char *at = page; (at = strstr(at, family)); at += len)
        n += (at == page || at[-1] == '\n') && at[len] == '{';
    free(page);
    return n;
}

static const char whole[] =
    "{\"pid\":4711,\"cpus\":199.75,\"write_bytes\":1e3,\"read_bytes\":0,"
    "\"threads\":4,\"mem\":1048576.0,\"job_id\":17,\"username\":\"an\\\"na\","
    "\"hostname\":\"n1\",\"io_wait\":{\"x\":[1]}}";

static const char whole_page[] =
    "# HELP slurm_proc_pid Process id of the process started by the wrapper.\n"
    "# TYPE slurm_proc_pid gauge\n"
    "slurm_proc_pid{jobid=\"17\",hostname=\"n1\"} 4711\n"
    "# HELP slurm_proc_cpu_usage CPU use measured by the wrapper, in "
    "percent of one CPU.\n"
    "# TYPE slurm_proc_cpu_usage gauge\n"
    "slurm_proc_cpu_usage{jobid=\"17\",hostname=\"n1\",username=\"an\\\"na\"} "
    "199.75\n"
    "# HELP slurm_proc_threadcount Threads reported by the wrapper.\n"
    "# TYPE slurm_proc_threadcount gauge\n"
    "slurm_proc_threadcount{jobid=\"17\",hostname=\"n1\","
    "username=\"an\\\"na\"} 4\n"
    "# HELP slurm_proc_mem_usage Resident memory reported by the wrapper, in "
    "bytes.\n"
    "# TYPE slurm_proc_mem_usage gauge\n"
    "slurm_proc_mem_usage{jobid=\"17\",hostname=\"n1\",username=\"an\\\"na\"} "
    "1048576\n"
    "# HELP slurm_proc_read_bytes Bytes read, reported by the wrapper.\n"
    "# TYPE slurm_proc_read_bytes gauge\n"
    "slurm_proc_read_bytes{jobid=\"17\",hostname=\"n1\",username=\"an\\\"na\"} "
    "0\n"
    "# HELP slurm_proc_write_bytes Bytes written, reported by the wrapper.\n"
    "# TYPE slurm_proc_write_bytes gauge\n"
    "slurm_proc_write_bytes{jobid=\"17\",hostname=\"n1\","
    "username=\"an\\\"na\"} 1000\n";

static void expected_pages(void **state)
{
    (void)state;
    struct bj_trace *t = make(&plain);
    char *page = metrics(t, BJ_PAGE_OPENMETRICS, NULL, "x 1\n# EOF\n", SEC);
    assert_string_equal(page, "x 1\n# EOF\n");
    free(page);
    assert_int_equal(post(t, whole, SEC), 200);
    page = metrics(t, BJ_PAGE_TEXT, NULL, "", SEC);
    assert_string_equal(page, whole_page);
    free(page);
    page = metrics(t, BJ_PAGE_OPENMETRICS, NULL, "x 1\n# EOF\n", SEC);
    assert_memory_equal(page, "x 1\n", 4);
    assert_memory_equal(page + 4, whole_page, strlen(whole_page));
    assert_string_equal(page + 4 + strlen(whole_page), "# EOF\n");
    free(page);
    page = metrics(t, BJ_PAGE_TEXT, "a\"b", "", SEC);
    assert_non_null(strstr(page, "\nslurm_proc_pid{cluster=\"a\\\"b\","
                                 "jobid=\"17\",hostname=\"n1\"} 4711\n"));
    free(page);
    bj_trace_free(t);
}

/* CPUs and memory that the queue allocated to the traced jobs, once for each;
 * none for jobs that are not in the queue. 1500 MiB are 1572864000 bytes, but
 * 1500000000 in the original exporter. */
static void allocations(void **state)
{
    struct bj_jobs_stat v[] = {
        {.sub = {.key = {BJ_SLICE("9")}}, .cpus = 1, .mem_bytes = 1},
        {.sub = {.key = {BJ_SLICE("17")}}, .cpus = 6, .mem_bytes = 1572864000},
        {.sub = {.key = {BJ_SLICE("100")}}, .cpus = 3, .mem_bytes = 1048576}};
    const struct bj_list jobs = {v, COUNT(v)};
    static const char *const want[] = {
        "# HELP slurm_job_mem_alloc Memory allocated to the traced job, in "
        "bytes.\n"
        "# TYPE slurm_job_mem_alloc gauge\n"
        "slurm_job_mem_alloc{cluster=\"a\",jobid=\"17\"} 1572864000\n"
        "# HELP slurm_job_cpu_alloc CPUs allocated to the traced job.\n"
        "# TYPE slurm_job_cpu_alloc gauge\n"
        "slurm_job_cpu_alloc{cluster=\"a\",jobid=\"17\"} 6\n",
        "slurm_job_mem_alloc{cluster=\"a\",jobid=\"17\"} 1500000000\n"};
    (void)state;
    struct bj_trace *t = make(&plain);
    assert_int_equal(post(t, whole, SEC), 200);
    assert_int_equal(post(t, "{\"job_id\":17,\"hostname\":\"n2\"}", SEC), 200);
    assert_int_equal(post(t, "{\"job_id\":18}", SEC), 200);
    for (int strict = 0; strict < 2; strict++) {
        const struct bj_trace_page page = {
            .cluster = BJ_SLICE("a"), .jobs = &jobs, .strict = strict};
        struct bj_buf out = {0};
        bj_trace_metrics(t, SEC, &page, &out);
        bj_buf_put(&out, "", 1);
        assert_non_null(strstr(out.p, want[strict]));
        assert_null(strstr(out.p, "alloc{cluster=\"a\",jobid=\"18\"}"));
        assert_null(strstr(out.p, "alloc{cluster=\"a\",jobid=\"9\"}"));
        bj_buf_free(&out);
    }
    bj_trace_free(t);
}

/* Valid bodies, and the errors of invalid ones. */
static const struct {
    const char *body;
    unsigned status;
    const char *why;
} bodies[] = {
    {"{\"job_id\":1}", 200, NULL},
    {"{\"job_id\":\"1\",\"pid\":\"7\"}", 200, NULL},
    {"{\"job_id\":18446744073709551615}", 200, NULL},
    {"{\"job_id\":1,\"username\":null,\"cpus\":null}", 200, NULL},
    {"", 400, NULL},
    {"job_id=1", 400, NULL},
    {"{\"job_id\":1", 400, NULL},
    {"{\"job_id\":1}{}", 400, NULL},
    {"[1]", 400, "a JSON object"},
    {"{}", 400, "job_id"},
    {"{\"job_id\":0}", 400, "job_id"},
    {"{\"job_id\":-1}", 400, "job_id"},
    {"{\"job_id\":18446744073709551616}", 400, "job_id"},
    {"{\"job_id\":\"x\"}", 400, "job_id"},
    {"{\"job_id\":[1]}", 400, "job_id"},
    {"{\"job_id\":1,\"pid\":-1}", 400, "pid"},
    {"{\"job_id\":1,\"mem\":\"big\"}", 400, "mem"},
    {"{\"job_id\":1,\"cpus\":1e300}", 400, "cpus"},
    {"{\"job_id\":1,\"hostname\":7}", 400, "hostname"},
    {"{\"job_id\":1,\"username\":{}}", 400, "username"},
    {"{\"job_id\":1,\"x\":[[[[[[[[[[1]]]]]]]]]]}", 400, NULL},
};

static void valid_and_invalid_bodies(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bodies); i++) {
        struct bj_trace *t = make(&plain);
        print_message("# %s\n", bodies[i].body);
        assert_int_equal(post_as(t, bodies[i].body, NULL, SEC, bodies[i].why),
                         bodies[i].status);
        struct bj_buf html = {0};
        bj_trace_html(t, SEC, &html);
        bj_buf_put(&html, "", 1);
        assert_int_equal(strstr(html.p, "<tr><td>") != NULL,
                         bodies[i].status == 200);
        bj_buf_free(&html);
        bj_trace_free(t);
    }
}

#define ON(job, host, pid)                                                     \
    "{\"job_id\":" #job ",\"hostname\":\"" host "\",\"pid\":" #pid "}"

/* Each job and host has one entry, the newest; entries expire. */
static void entries(void **state)
{
    (void)state;
    struct bj_trace *t = make(&plain);
    assert_int_equal(post(t, ON(5, "b", 1), SEC), 200);
    assert_int_equal(post(t, ON(5, "a", 2), 2 * SEC), 200);
    assert_int_equal(post(t, ON(4, "z", 3), 3 * SEC), 200);
    assert_int_equal(post_as(t, ON(6, "a", 1), NULL, 4 * SEC, "trace.entries"),
                     429);
    assert_int_equal(post(t, ON(5, "a", 9), 5 * SEC), 200);
    char *page = metrics(t, BJ_PAGE_TEXT, NULL, "", 5 * SEC);
    const char *line = strstr(page, "slurm_proc_pid{");
    assert_string_equal(line, "slurm_proc_pid{jobid=\"4\",hostname=\"z\"} 3\n"
                              "slurm_proc_pid{jobid=\"5\",hostname=\"a\"} 9\n"
                              "slurm_proc_pid{jobid=\"5\",hostname=\"b\"} 1\n");
    free(page);
    assert_int_equal(samples(t, "slurm_proc_pid", 11 * SEC), 3);
    assert_int_equal(samples(t, "slurm_proc_pid", 11 * SEC + 1), 2);
    assert_int_equal(post(t, ON(6, "a", 1), 12 * SEC), 200);
    assert_int_equal(samples(t, "slurm_proc_pid", 12 * SEC), 3);
    assert_int_equal(samples(t, "slurm_proc_pid", 60 * SEC), 0);
    bj_trace_free(t);
}

static void rate(void **state)
{
    (void)state;
    const struct bj_trace_conf conf = {
        .keep_usec = 10 * SEC, .entries = 3, .rate = 5};
    struct bj_trace *t = make(&conf);
    uint64_t now = 100 * SEC;
    for (int i = 0; i < 10; i++) /* the posts of two seconds at once */
        assert_int_equal(post(t, ON(1, "a", 1), now), 200);
    assert_int_equal(post_as(t, ON(1, "a", 1), NULL, now, "trace.max-rate"),
                     429);
    assert_int_equal(post(t, ON(1, "a", 1), now + SEC / 5 - 1), 429);
    assert_int_equal(post(t, ON(1, "a", 1), now + SEC / 5), 200);
    assert_int_equal(post(t, ON(1, "a", 1), now + SEC / 5), 429);
    now += 3600 * SEC;
    unsigned taken = 0;
    for (int i = 0; i < 100; i++)
        taken += post(t, ON(1, "a", 1), now) == 200;
    assert_int_equal(taken, 10);
    bj_trace_free(t);
}

static void token(void **state)
{
    (void)state;
    char path[] = "/tmp/bj-token-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    struct bj_trace_conf conf = plain;
    struct bj_trace *t = NULL;
    struct bj_err err = {0};
    conf.token_file = path;
    conf.rate = 1; /* two at once; posts without the token do not count */
    assert_int_equal(bj_trace_new(&conf, &t, &err), -EACCES);
    assert_int_equal(write(fd, " s3cret\n", 8), 8);
    assert_int_equal(fchmod(fd, 0604), 0);
    assert_int_equal(bj_trace_new(&conf, &t, &err), -EACCES);
    assert_int_equal(fchmod(fd, 0600), 0);
    close(fd);
    t = make(&conf);
    unlink(path);
    static const char *const wrong[] = {NULL,
                                        "",
                                        "Bearer",
                                        "Bearer ",
                                        "s3cret",
                                        "Basic s3cret",
                                        "Bearer s3cre",
                                        "Bearer s3crex",
                                        "Bearer s3crett"};
    for (size_t i = 0; i < COUNT(wrong); i++)
        assert_int_equal(post_as(t, ON(1, "a", 1), wrong[i], SEC, "token"),
                         401);
    assert_int_equal(samples(t, "slurm_proc_pid", SEC), 0);
    assert_int_equal(post_as(t, ON(1, "a", 1), "Bearer s3cret", SEC, NULL),
                     200);
    bj_trace_free(t);
    assert_int_equal(bj_trace_new(&conf, &t, &err), -EACCES);
}

/* Text of users is escaped in HTML. */
static void hostile_text(void **state)
{
    (void)state;
    struct bj_trace *t = make(&plain);
    struct bj_buf html = {0};
    assert_int_equal(
        post(t,
             "{\"job_id\":1,\"hostname\":\"<b>&\\\"\\u0007\",\"username\":"
             "\"\\ud83d\\n\"}",
             SEC),
        200);
    bj_trace_html(t, 3 * SEC, &html);
    bj_buf_put(&html, "", 1);
    assert_non_null(strstr(html.p, "<td>&lt;b&gt;&amp;&quot;?</td>"));
    assert_non_null(strstr(html.p, "<td>2 s</td>"));
    assert_null(strstr(html.p, "<b>"));
    bj_buf_free(&html);
    bj_trace_free(t);
}

static int trace_once(void *arg)
{
    (void)arg;
    struct bj_trace *t = NULL;
    struct bj_err err = {0};
    struct bj_buf out = {0};
    int r = bj_trace_new(&plain, &t, &err);
    if (r < 0)
        return r;
    unsigned status =
        bj_trace_post(t, bj_slice_str(whole), (struct bj_slice){0}, SEC, &out);
    if (status == 200)
        bj_trace_metrics(t, SEC,
                         &(struct bj_trace_page){.format = BJ_PAGE_TEXT}, &out);
    r = status == 500 || out.failed ? -ENOMEM : status == 200 ? 0 : -EINVAL;
    bj_buf_free(&out);
    bj_trace_free(t);
    return r;
}

static void out_of_memory(void **state)
{
    (void)state;
    if (!bj_fail_works())
        skip();
    assert_true(bj_fail_each(trace_once, NULL) > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expected_pages),
        cmocka_unit_test(valid_and_invalid_bodies),
        cmocka_unit_test(entries),
        cmocka_unit_test(rate),
        cmocka_unit_test(token),
        cmocka_unit_test(hostile_text),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

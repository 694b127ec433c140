/* The JSON of slurmrestd: a recording of Slurm 22.05, compared with sacct's
 * output for the same jobs, and the formats that are documented for later
 * versions. */
#include "sched/slurmrest.h"

#include "tests/unit/sched/test_sched.h"

#include <errno.h>

static void put_bad(void *ctx, const struct bj_slurmrest_bad *bad)
{
    struct log *log = ctx;
    bj_buf_printf(&log->bad, "%d %.*s %s: %s%s\n", (int)bad->record,
                  (int)bad->job.n, bad->job.n ? bad->job.p : "", bad->field,
                  bad->expected, bad->left_out ? "!" : "");
}

static int feed(struct bj_slurmrest *r, struct bj_slice text, size_t n,
                struct bj_err *err)
{
    int e = 0;
    while (text.n > 0 && e == 0) {
        const size_t k = text.n < n ? text.n : n;
        char *piece = malloc(k);
        memcpy(piece, text.p, k);
        e = bj_slurmrest_feed(r, (struct bj_slice){piece, k}, err);
        free(piece);
        text.p += k;
        text.n -= k;
    }
    return e == 0 ? bj_slurmrest_end(r, err) : e;
}

static int read_text(struct log *log, struct bj_slice text, size_t n)
{
    const struct bj_slurmrest_conf conf = {.cluster = BJ_SLICE("here"),
                                           .ctx = log,
                                           .job = put_job,
                                           .bad = put_bad};
    struct bj_slurmrest *r;
    struct bj_err err = {0};
    assert_int_equal(bj_slurmrest_new(&conf, &r, &err), 0);
    const int e = feed(r, text, n, &err);
    if (e < 0)
        bj_buf_printf(&log->bad, "%s\n", err.msg);
    bj_slurmrest_free(r);
    return e;
}

static void test_recording(void **state)
{
    (void)state;
    static const size_t pieces[] = {1 << 20, 1000, 7};
    const struct bj_slice text = load(FIXTURES "slurmdb-v0.0.38.json");
    const struct bj_slice want = load(FIXTURES "sacct-hostile.want");
    for (size_t i = 0; i < COUNT(pieces); i++) {
        struct log log = {.stop = 0};
        assert_int_equal(read_text(&log, text, pieces[i]), 0);
        same_text(&log.bad, BJ_SLICE(""));
        same_text(&log.jobs, want);
        bj_buf_free(&log.jobs);
    }
    free((void *)text.p);
    free((void *)want.p);
}

/* --- later versions -------------------------------------------------------*/

#define SET(n) "{\"set\":true,\"infinite\":false,\"number\":" #n "}"
#define UNSET "{\"set\":false,\"infinite\":false,\"number\":0}"
#define INFINITE "{\"set\":true,\"infinite\":true,\"number\":0}"

/* The format of data_parser v0.0.40 and later. */
static const char later[] =
    "{\"jobs\":[{\"account\":\"phys\",\"association\":{\"account\":\"other\","
    "\"user\":\"anna\"},\"user\":\"\",\"comment\":{\"administrator\":\"adm\","
    "\"job\":\"mine\",\"system\":\"\"},\"allocation_nodes\":2,\"array\":{"
    "\"job_id\":40,\"task_id\":" SET(
        3) ",\"task\":\"\"},\"cluster\":\"big\","
           "\"derived_exit_code\":{\"status\":[\"ERROR\"],\"return_code\":" SET(
               7) ",\"signal\":{\"id\":" UNSET
                  ",\"name\":\"\"}},\"time\":{\"elapsed\":100,"
                  "\"eligible\":1795170001,\"end\":1795170200,\"start\":"
                  "1795170100,"
                  "\"submission\":1795170000,\"suspended\":5,\"limit\":" SET(
                      60) ",\"total\":{\"seconds\":9,\"microseconds\":500000},"
                          "\"user\":{\"seconds\":"
                          "8,\"microseconds\":0},\"system\":{\"seconds\":1,"
                          "\"microseconds\":500000}"
                          "},\"exit_code\":{\"status\":[\"SIGNALED\"],\"return_"
                          "code\":" SET(0) ",\"signal\":{\"id\":" SET(
                              9) ",\"name\":\"KILL\"}},\"group\":\"g\","
                                 "\"het\":{\"job_id\":0,\"job_offset\":" UNSET
                                 "},\"job_id\":45,\"name\":"
                                 "\"run\",\"licenses\":\"m:1\",\"nodes\":\"n[1-"
                                 "2]\",\"partition\":\"p\","
                                 "\"priority\":" SET(
                                     17) ",\"qos\":\"q\",\"required\":{"
                                         "\"CPUs\":8},"
                                         "\"restart_cnt\":2,\"state\":{"
                                         "\"current\":[\"CANCELLED\","
                                         "\"COMPLETING\"],"
                                         "\"reason\":\"None\"},\"submit_line\":"
                                         "\"sbatch x\",\"sluid\":"
                                         "\"sEKNKTV3WPV500\",\"tres\":{"
                                         "\"allocated\":[{\"type\":\"cpu\","
                                         "\"name\":"
                                         "\"\",\"id\":1,\"count\":8},{\"type\":"
                                         "\"mem\",\"name\":\"\",\"id\":2,"
                                         "\"count\":4000},{\"type\":\"energy\","
                                         "\"name\":\"\",\"id\":3,\"count\":"
                                         "18446744073709551614},{\"type\":"
                                         "\"gres\",\"name\":\"gpu\",\"id\":"
                                         "1001,"
                                         "\"count\":2},{\"type\":\"gres\","
                                         "\"name\":\"gpu:a100\",\"id\":1002,"
                                         "\"count\":2}],\"requested\":[{"
                                         "\"type\":\"mem\",\"name\":\"\","
                                         "\"id\":2,"
                                         "\"count\":8000}]},\"working_"
                                         "directory\":\"/"
                                         "w\",\"steps\":[{\"state\":["
                                         "\"COMPLETED\"],\"step\":{\"id\":\"45."
                                         "batch\",\"name\":\"batch\"},"
                                         "\"time\":{\"elapsed\":90,"
                                         "\"start\":" SET(
                                             1795170100) ",\"end\":" UNSET
                                                         ",\"total\":{"
                                                         "\"seconds\":3,"
                                                         "\"microseconds\":1}},"
                                                         "\"statistics\":{"
                                                         "\"energy\":{"
                                                         "\"consumed\":" SET(
                                                             700) "}},"
                                                                  "\"tasks\":{"
                                                                  "\"count\":1}"
                                                                  ","
                                                                  "\"nodes\":{"
                                                                  "\"count\":1,"
                                                                  "\"range\":"
                                                                  "\"n1\"},"
                                                                  "\"tres\":{"
                                                                  "\"requested"
                                                                  "\":{"
                                                                  "\"total\":[{"
                                                                  "\"type\":"
                                                                  "\"mem\","
                                                                  "\"name\":"
                                                                  "\"\","
                                                                  "\"count\":"
                                                                  "5000},{"
                                                                  "\"type\":"
                                                                  "\"fs\","
                                                                  "\"name\":"
                                                                  "\"disk\","
                                                                  "\"count\":"
                                                                  "77}],"
                                                                  "\"max\":[{"
                                                                  "\"type\":"
                                                                  "\"mem\","
                                                                  "\"name\":"
                                                                  "\"\","
                                                                  "\"count\":"
                                                                  "3000,"
                                                                  "\"node\":"
                                                                  "\"n1\"}]},"
                                                                  "\"consumed\""
                                                                  ":{\"total\":"
                                                                  "[{\"type\":"
                                                                  "\"fs\","
                                                                  "\"name\":"
                                                                  "\"disk\","
                                                                  "\"count\":"
                                                                  "88}]},"
                                                                  "\"allocated"
                                                                  "\":[{"
                                                                  "\"type\":"
                                                                  "\"cpu\","
                                                                  "\"name\":"
                                                                  "\"\","
                                                                  "\"count\":4}"
                                                                  "]}},"
                                                                  "{\"state\":"
                                                                  "\"FAILED\","
                                                                  "\"step\":{"
                                                                  "\"id\":{"
                                                                  "\"job_id\":"
                                                                  "45,\"step_"
                                                                  "id\":" SET(
                                                                      0) "},"
                                                                         "\"nam"
                                                                         "e\":"
                                                                         "\"sru"
                                                                         "n\"},"
                                                                         "\"exi"
                                                                         "t_"
                                                                         "code"
                                                                         "\":{"
                                                                         "\"sta"
                                                                         "tus\""
                                                                         ":\"SU"
                                                                         "CCESS"
                                                                         "\","
                                                                         "\"ret"
                                                                         "urn_"
                                                                         "code"
                                                                         "\":0}"
                                                                         ",\"st"
                                                                         "atist"
                                                                         "ics\""
                                                                         ":{"
                                                                         "\"ene"
                                                                         "rgy\""
                                                                         ":{"
                                                                         "\"con"
                                                                         "sumed"
                                                                         "\":"
                                                                         "900}}"
                                                                         "}]},"
                                                                         "{\"jo"
                                                                         "b_"
                                                                         "id\":"
                                                                         "46,"
                                                                         "\"sta"
                                                                         "te\":"
                                                                         "{\"cu"
                                                                         "rrent"
                                                                         "\":"
                                                                         "\"PEN"
                                                                         "DING"
                                                                         "\"},"
                                                                         "\"tim"
                                                                         "e\":{"
                                                                         "\"sta"
                                                                         "rt\":"
                                                                         "0,"
                                                                         "\"end"
                                                                         "\":0,"
                                                                         "\"lim"
                                                                         "it\""
                                                                         ":" INFINITE
                                                                         "},"
                                                                         "\"arr"
                                                                         "ay\":"
                                                                         "{\"jo"
                                                                         "b_"
                                                                         "id\":"
                                                                         "46,"
                                                                         "\"tas"
                                                                         "k_"
                                                                         "id\":"
                                                                         "null,"
                                                                         "\"tas"
                                                                         "k\":"
                                                                         "\"1-"
                                                                         "10%"
                                                                         "2\"},"
                                                                         "\"nod"
                                                                         "es\":"
                                                                         "\"Non"
                                                                         "e "
                                                                         "assig"
                                                                         "ned\""
                                                                         ",\"us"
                                                                         "er\":"
                                                                         "\"bob"
                                                                         "\","
                                                                         "\"res"
                                                                         "ervat"
                                                                         "ion\""
                                                                         ":{"
                                                                         "\"id"
                                                                         "\":0,"
                                                                         "\"nam"
                                                                         "e\":"
                                                                         "0}}],"
                                                                         "\"err"
                                                                         "ors\""
                                                                         ":[],"
                                                                         "\"war"
                                                                         "nings"
                                                                         "\":[]"
                                                                         "}";

static int check_later(struct log *log, const struct bj_sched_job *j)
{
    assert_true(bj_slice_eq(j->batch_system, BJ_SLICE("slurm")));
    if (j->id_number == 46) {
        assert_int_equal(j->state, BJ_STATE_PENDING);
        assert_true(j->time_limit_sec == BJ_UNLIMITED);
        assert_true(j->start_sec == BJ_ABSENT && j->end_sec == BJ_ABSENT);
        assert_true(j->array_task == BJ_ABSENT && j->het_job == BJ_ABSENT);
        assert_int_equal(j->array_job, 46);
        assert_true(bj_slice_eq(j->array_tasks, BJ_SLICE("1-10%2")));
        assert_int_equal(j->nodelist.n + j->reservation.n, 0);
        assert_true(j->gpus == BJ_ABSENT);
        assert_true(bj_slice_eq(j->cluster, BJ_SLICE("here")));
        return 0;
    }
    log->stop++;
    assert_true(bj_slice_eq(j->display_id, BJ_SLICE("40_3")));
    assert_true(bj_slice_eq(j->account, BJ_SLICE("phys")));
    assert_true(bj_slice_eq(j->user, BJ_SLICE("anna")));
    assert_true(bj_slice_eq(j->sluid, BJ_SLICE("sEKNKTV3WPV500")));
    assert_true(bj_slice_eq(j->state_raw, BJ_SLICE("CANCELLED")));
    assert_int_equal(j->state, BJ_STATE_CANCELLED);
    assert_int_equal(j->exit_signal, 9);
    assert_int_equal(j->derived_exit_code, 7);
    assert_int_equal(j->restarts, 2);
    assert_int_equal(j->time_limit_sec, 3600);
    assert_int_equal(j->suspended_sec, 5);
    assert_int_equal(j->use.cpu_usec, 9500000);
    assert_int_equal(j->use.energy_joules, 900);
    assert_int_equal(j->use.mem_task_peak_bytes, 3000);
    assert_int_equal(j->mem_allocated_bytes, 4000ull << 20);
    assert_int_equal(j->mem_requested_bytes, 8000ull << 20);
    assert_int_equal(j->gpus, 2);
    assert_true(bj_slice_eq(j->gpu_model, BJ_SLICE("a100")));
    assert_int_equal(j->steps, 2);
    assert_true(bj_slice_eq(j->step[0].step_id, BJ_SLICE("batch")));
    assert_true(bj_slice_eq(j->step[0].mem_peak_node, BJ_SLICE("n1")));
    assert_int_equal(j->step[0].use.write_bytes, 88);
    assert_int_equal(j->step[0].cpus, 4);
    assert_true(j->step[0].end_sec == BJ_ABSENT);
    assert_true(bj_slice_eq(j->step[1].step_id, BJ_SLICE("0")));
    assert_true(j->step[1].exit_code ==
                BJ_ABSENT); /* SUCCESS of a failed step */
    return 0;
}

static void test_later(void **state)
{
    (void)state;
    struct log log = {.on_job = check_later};
    assert_int_equal(read_text(&log, bj_slice_str(later), 50), 0);
    same_text(&log.bad, BJ_SLICE(""));
    assert_int_equal(log.stop, 1);
    bj_buf_free(&log.jobs);
}

/* Energy that was not measured, as recorded with Slurm 24.11 and 26.05. */
static int check_unmeasured(struct log *log, const struct bj_sched_job *j)
{
    log->stop++;
    assert_int_equal(j->tres_allocated.n, 4);
    assert_int_equal(j->cpus, 4);
    assert_int_equal(j->mem_allocated_bytes, 40 << 20);
    assert_int_equal(j->gpus, 1);
    assert_true(bj_slice_eq(j->tres_allocated_raw,
                            BJ_SLICE("cpu=4,gres/gpu=1,mem=40M,node=1")));
    assert_true(j->use.energy_joules == BJ_ABSENT);
    return 0;
}

static void test_unmeasured(void **state)
{
    (void)state;
    struct log log = {.on_job = check_unmeasured};
    assert_int_equal(
        read_text(
            &log,
            BJ_SLICE("{\"jobs\":[{\"job_id\":5,\"tres\":{\"allocated\":["
                     "{\"type\":\"cpu\",\"name\":\"\",\"id\":1,\"count\":4},"
                     "{\"type\":\"mem\",\"name\":\"\",\"id\":2,\"count\":40},"
                     "{\"type\":\"energy\",\"name\":\"\",\"id\":3,\"count\":-2}"
                     ",{\"type\":\"node\",\"name\":\"\",\"id\":4,\"count\":1},"
                     "{\"type\":\"gres\",\"name\":\"gpu\",\"id\":1001,"
                     "\"count\":1}]}}]}"),
            50),
        0);
    same_text(&log.bad, BJ_SLICE(""));
    assert_int_equal(log.stop, 1);
    bj_buf_free(&log.jobs);
}

/* Waiting tasks, as recorded with Slurm 26.05 and as sacct printed them at that
 * time: the digits are tasks 108 to 120, or 1, 3, 5, 7 and 100 to 120. */
static int check_waiting(struct log *log, const struct bj_sched_job *j)
{
    static const struct {
        const char *id, *tasks;
    } want[] = {
        {"45_[108-120%3]", "108-120%3"},
        {"45_[1,3,5,7,100-120%3]", "1,3,5,7,100-120%3"},
        {"46_[0,127]", "0,127"},
        {"47", "0x"},
    };
    const int i = log->stop++;
    assert_in_range(i, 0, 3);
    assert_true(bj_slice_eq(j->display_id, bj_slice_str(want[i].id)));
    if (i < 3)
        assert_true(bj_slice_eq(j->array_tasks, bj_slice_str(want[i].tasks)));
    else
        assert_int_equal(j->array_tasks.n, 0);
    return 0;
}

static void test_waiting(void **state)
{
    static const struct {
        int id, most;
        const char *tasks;
    } in[] = {{45, 3, "0x1FFF000000000000000000000000000"},
              {45, 3, "0x1fffff00000000000000000000000AA"},
              {46, 0, "0x80000000000000000000000000000001"},
              {47, 0, "0x"}};
    struct log log = {.on_job = check_waiting};
    struct bj_buf text = {0};
    (void)state;
    for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++)
        bj_buf_printf(
            &text,
            "%s{\"job_id\":%d,\"array\":{\"job_id\":%d,\"limits\":{\"max\":{"
            "\"running\":{\"tasks\":%d}}},\"task_id\":{\"set\":false,"
            "\"infinite\":false,\"number\":0},\"task\":\"%s\"}}",
            i > 0 ? "," : "{\"jobs\":[", in[i].id, in[i].id, in[i].most,
            in[i].tasks);
    bj_buf_str(&text, "]}");
    assert_int_equal(read_text(&log, (struct bj_slice){text.p, text.len}, 50),
                     0);
    same_text(&log.bad, BJ_SLICE(""));
    assert_int_equal(log.stop, 4);
    bj_buf_free(&log.jobs);
    bj_buf_free(&text);
}

static int check_cpu(struct log *log, const struct bj_sched_job *j)
{
    log->stop++;
    assert_int_equal(j->step[0].use.cpu_usec, 14100002000);
    assert_int_equal(j->use.cpu_usec, 14100002000);
    return 0;
}

/* Slurm 25.05 has the CPU time of steps only in the list of used resources, in
 * milliseconds. */
static void test_cpu_in_list(void **state)
{
    (void)state;
    struct log log = {.on_job = check_cpu};
    assert_int_equal(
        read_text(
            &log,
            BJ_SLICE("{\"jobs\":[{\"job_id\":5,\"state\":{\"current\":["
                     "\"COMPLETED\"]},\"time\":{\"total\":{\"seconds\":0,"
                     "\"microseconds\":0}},\"steps\":[{\"step\":{\"id\":"
                     "\"5.batch\"},\"state\":[\"COMPLETED\"],\"time\":{"
                     "\"total\":{\"seconds\":0,\"microseconds\":0}},\"tres\":{"
                     "\"requested\":{\"total\":[{\"type\":\"cpu\",\"name\":"
                     "\"\",\"id\":1,\"count\":14100002}]}}}]}]}"),
            50),
        0);
    same_text(&log.bad, BJ_SLICE(""));
    assert_int_equal(log.stop, 1);
    bj_buf_free(&log.jobs);
}

static const struct {
    const char *text;
    int status;
    unsigned jobs;
    const char *bad;
} docs[] = {
    {"{\"jobs\":[]}", 0, 0, ""},
    {"{\"errors\":[{\"error_number\":9003,\"error\":\"Nothing found with "
     "query\"}],\"jobs\":[]}",
     0, 0, ""},
    {"{\"errors\":[{\"error_number\":5005,\"error\":\"Zero bytes were "
     "transmitted\"},{\"error\":\"x\"}],\"jobs\":[]}",
     -EREMOTEIO, 0, "slurmrestd: Zero bytes were transmitted\n"},
    {"{\"errors\":[{}],\"jobs\":[]}", -EREMOTEIO, 0,
     "slurmrestd: an error without a text\n"},
    {"{\"meta\":{}}", -EINVAL, 0, "slurmrestd: no jobs in the reply\n"},
    {"{\"jobs\":[{\"job_id\":\"x\"},{},7,null,[],{\"job_id\":8}]}", 0, 1,
     "1 x job_id: a job id!\n2  job_id: a job id!\n3  job_id: a job id!\n"
     "4  job_id: a job id!\n5  job_id: a job id!\n"},
    {"{\"jobs\":[{\"job_id\":8,\"time\":{\"start\":\"soon\",\"limit\":-1,"
     "\"total\":{\"seconds\":99999999999999999999}},\"exit_code\":{"
     "\"return_code\":\"x\"},\"tres\":{\"allocated\":[{\"count\":\"y\"}]}}]}",
     0, 1,
     "1 8 exit_code: an exit code\n1 8 time.start: a time\n"
     "1 8 time.limit: minutes\n1 8 time.total: seconds and microseconds\n"
     "1 8 tres.allocated: a list of resources\n"},
    {"{\"jobs\":[{\"job_id\":8,\"steps\":[{},7,{\"step\":{\"id\":[]}}],"
     "\"state\":[],\"tres\":17}]}",
     0, 1, ""},
};

static void test_docs(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(docs); i++) {
        struct log log = {.stop = 0};
        const int e = read_text(&log, bj_slice_str(docs[i].text), 9999);
        same_text(&log.bad, bj_slice_str(docs[i].bad));
        assert_int_equal(e, docs[i].status);
        assert_int_equal(log.jobs.len > 0, docs[i].jobs);
        bj_buf_free(&log.jobs);
        bj_buf_free(&log.bad);
    }
    struct log log = {.stop = 0};
    assert_int_equal(read_text(&log, BJ_SLICE("{\"jobs\":[{\"job_id\":1"), 9),
                     -EINVAL);
    assert_int_equal(read_text(&log, BJ_SLICE("Authentication failure"), 9),
                     -EINVAL);
    log.stop = -ECANCELED;
    assert_int_equal(
        read_text(&log, BJ_SLICE("{\"jobs\":[{\"job_id\":1},{\"job_id\":2}]}"),
                  99),
        -ECANCELED);
    const struct bj_slurmrest_conf no_callback = {.ctx = NULL};
    struct bj_slurmrest *r;
    assert_int_equal(bj_slurmrest_new(&no_callback, &r, NULL), -EINVAL);
    bj_slurmrest_free(NULL);
    bj_buf_free(&log.jobs);
    bj_buf_free(&log.bad);
}

static void test_path(void **state)
{
    (void)state;
    char buf[BJ_SLURMREST_PATH_MAX];
    assert_int_equal(
        bj_slurmrest_path(38, 1795171872, 1795175472, NULL, 0, buf), 0);
    assert_string_equal(buf, "/slurmdb/v0.0.38/jobs?start_time=uts1795171872"
                             "&end_time=uts1795175472");
    assert_int_equal(bj_slurmrest_path(41, 1000000, INT64_MAX, NULL, 0, buf),
                     0);
    assert_string_equal(buf, "/slurmdb/v0.0.41/jobs?start_time=uts1000000"
                             "&end_time=uts9223372036854775807"
                             "&show_duplicates=true"
                             "&disable_truncate_usage_time=true");
    const uint64_t at = 1795171872, ids[BJ_SLURMREST_JOBS + 1] = {30, 42};
    assert_int_equal(bj_slurmrest_path(36, at, at, NULL, 0, buf), -EINVAL);
    assert_int_equal(bj_slurmrest_path(38, 999999, at, NULL, 0, buf), -EINVAL);
    assert_int_equal(bj_slurmrest_path(38, at, at - 1, NULL, 0, buf), -EINVAL);
    /* Slurm 26.05.3 took this, and neither "30,42" nor "uts1". */
    assert_int_equal(bj_slurmrest_path(45, 1000000, at, ids, 2, buf), 0);
    assert_string_equal(buf, "/slurmdb/v0.0.45/jobs?start_time=uts1000000"
                             "&end_time=uts1795171872&show_duplicates=true"
                             "&disable_truncate_usage_time=true"
                             "&step=30&step=42");
    uint64_t longest[BJ_SLURMREST_JOBS];
    for (size_t i = 0; i < BJ_SLURMREST_JOBS; i++)
        longest[i] = UINT32_MAX;
    assert_int_equal(bj_slurmrest_path(45, INT64_MAX, INT64_MAX, longest,
                                       BJ_SLURMREST_JOBS, buf),
                     0);
    assert_string_equal(buf + strlen(buf) - 16, "&step=4294967295");
    assert_int_equal(
        bj_slurmrest_path(45, at, at, ids, BJ_SLURMREST_JOBS + 1, buf),
        -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recording),   cmocka_unit_test(test_later),
        cmocka_unit_test(test_unmeasured),  cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_cpu_in_list), cmocka_unit_test(test_docs),
        cmocka_unit_test(test_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

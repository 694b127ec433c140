/* Jobs whose GPU failed, from the final records of their nodes. */
#include "tests/unit/statsdb/report_jobs.h"

#include "report/form/text.h"
#include "report/job/job.h"
#include "statsdb/tables/store.h"

#include <string.h>

/* A job with two GPUs, of which the second had a fault; NULL: none. */
static void put_faulty(struct derive_rig *w, enum bj_job_state state,
                       const char *fault)
{
    struct bj_sched_job j;
    char text[400] = "", more[600];
    make_job(&j, "4711", 3600, 3600);
    j.state = state;
    j.gpus = 2;
    put_job(w, &j);
    put_record(w, "4711", "n1", T0 + 7200,
               ",\"gpus\":{\"GPU-a\":{\"index\":0,\"held_usec\":3600000000,"
               "\"idle_usec\":0}}");
    if (fault)
        snprintf(text, sizeof(text),
                 ",\"fault\":\"%s\",\"fault_xid\":95,\"fault_time\":%d,"
                 "\"fault_evidence\":\"process\"",
                 fault, T0 + 7000);
    snprintf(more, sizeof(more),
             ",\"gpus\":{\"GPU-b\":{\"index\":1,\"held_usec\":3600000000,"
             "\"idle_usec\":0%s}}",
             text);
    put_record(w, "4711", "n2", T0 + 7200, more);
}

/* What a job held that ended early and whose GPU had failed is counted as
 * failed; of one that completed, the results are in doubt. */
static void test_failed_gpus(void **state)
{
    (void)state;
    static const struct {
        const char *fault;
        enum bj_job_state state;
        const char *found, *sums, *column;
    } cases[] = {
        {"drain_now", BJ_STATE_FAILED,
         "gpu_hardware|The hardware of a GPU failed while the job used it (n2: "
         "GPU 1). This is not the fault of the job: submit it again.\n",
         "14400|7200\n", "4|1\n"},
        {"drain_later", BJ_STATE_TIMEOUT,
         "gpu_hardware|The hardware of a GPU failed while the job used it (n2: "
         "GPU 1). This is not the fault of the job: submit it again.\n",
         "14400|7200\n", "3|1\n"},
        {"drain_now", BJ_STATE_COMPLETED,
         "gpu_suspect|The hardware of a GPU failed while the job used it (n2: "
         "GPU 1). Check the results.\n",
         "0|0\n", "4|1\n"},
        {"drain_later", BJ_STATE_COMPLETED, "", "0|0\n", "3|1\n"},
        {"application", BJ_STATE_FAILED, "", "0|0\n", "1|1\n"},
        {"broken", BJ_STATE_FAILED, "", "0|0\n", "|1\n"},
        {NULL, BJ_STATE_FAILED, "", "0|0\n", "|\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct derive_rig w;
        derive_rig_open(&w);
        put_faulty(&w, cases[i].state, cases[i].fault);
        derive_all(&w);
        expect(w.s,
               "SELECT name, text FROM job_finding_v WHERE name IN"
               " ('gpu_hardware', 'gpu_suspect', 'timeout')",
               cases[i].found);
        expect(w.s,
               "SELECT failed_cpu_sec, failed_gpu_sec FROM rollup_energy_day",
               cases[i].sums);
        expect(w.s,
               "SELECT u.gpu_fault, g.fault_by_process FROM job_use AS u,"
               " node_gpu AS g WHERE g.gpu = 'GPU-b'",
               cases[i].column);
        expect(w.s,
               "SELECT fault_xid, fault_sec - 1763596800 FROM node_gpu"
               " WHERE gpu = 'GPU-b'",
               cases[i].fault ? "95|7000\n" : "|\n");
        derive_rig_close(&w);
    }
}

/* Tasks of which a GPU failed count apart, whatever their state: of three that
 * did not complete, one whose GPU had an error of the program only. */
static void test_array_hardware(void **state)
{
    struct derive_rig rig, *w = &rig;
    struct bj_report r;
    struct bj_doc d = {.created_sec = 0};
    struct bj_buf text = {0};
    (void)state;
    derive_rig_open(w);
    put_array(w);
    derive_all(w);
    OK(bj_db_exec(
        bj_store_db(w->s),
        "UPDATE job SET state = CASE array_task WHEN 3 THEN 5 WHEN 4 THEN 5"
        " WHEN 5 THEN 6 ELSE 4 END WHERE array_job_id = 2000;"
        "UPDATE job_use SET gpu_fault = (SELECT CASE array_task WHEN 3 THEN 4"
        " WHEN 4 THEN 1 WHEN 5 THEN 4 WHEN 6 THEN 4 END FROM job WHERE"
        " id = job_use.job) WHERE job IN"
        " (SELECT id FROM job WHERE array_job_id = 2000)",
        &err));
    assert_int_equal(
        bj_report_read(bj_store_db(w->s),
                       number(w->s, "SELECT id FROM job WHERE jobid = 2001"),
                       &r, &err),
        1);
    assert_int_equal(r.array.failed + r.array.timeout + r.array.cancelled, 3);
    assert_int_equal(r.array.hardware_failed, 2);
    assert_int_equal(r.array.node_failed, 0);
    bj_report_document(&r, &d);
    bj_doc_print(&d, &(struct bj_report_style){.ascii = true}, &text);
    bj_buf_put(&text, "", 1);
    if (!strstr(text.p, "; 2 of them ended by hardware"))
        fail_msg("%s", text.p);
    bj_buf_free(&text);
    bj_doc_free(&d);
    bj_report_free(&r);
    derive_rig_close(w);
}

/* What is in doubt about GPUs is that of all nodes; unknown words do not count;
 * the report says each in a sentence. */
static void test_doubts(void **state)
{
    static const struct {
        const char *n1, *n2, *column, *sentence;
    } cases[] = {
        {"", "", NULL, NULL},
        {",\"gpu_conflicts\":[]", ",\"gpu_conflicts\":[\"odd\",7]", NULL, NULL},
        {",\"gpu_conflicts\":[\"double\"]", "", "double",
         "Another job had a GPU of the job at the same time"},
        {",\"gpu_conflicts\":[\"double\",\"denied\"]",
         ",\"gpu_conflicts\":[\"denied\",\"unresolved\"]",
         "denied, double, unresolved", "cannot be distinguished"},
        {"", ",\"gpu_conflicts\":[\"stray\"]", "stray",
         "used a GPU that it was not given"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct derive_rig w;
        struct bj_sched_job j;
        struct bj_report r;
        struct bj_doc d = {.created_sec = 0};
        struct bj_buf text = {0};
        derive_rig_open(&w);
        make_job(&j, "4711", 3600, 3600);
        j.gpus = 2;
        put_job(&w, &j);
        put_record(&w, "4711", "n1", T0 + 7200, cases[i].n1);
        put_record(&w, "4711", "n2", T0 + 7200, cases[i].n2);
        derive_all(&w);
        assert_int_equal(bj_report_read(bj_store_db(w.s),
                                        number(w.s, "SELECT id FROM job"), &r,
                                        &err),
                         1);
        const struct bj_slice column =
            bj_report_text(&r, BJ_REPORT_GPU_CONFLICTS);
        assert_true(bj_slice_eq(column, bj_slice_str(cases[i].column)));
        bj_report_document(&r, &d);
        assert_int_equal(d.section[BJ_DOC_SAMPLED].rows,
                         cases[i].sentence != NULL);
        bj_doc_print(&d, &(struct bj_report_style){.ascii = true}, &text);
        for (size_t k = 0; k < text.len; k++) /* lines end anywhere */
            text.p[k] = text.p[k] == '\n' ? ' ' : text.p[k];
        bj_buf_put(&text, "", 1);
        if (cases[i].sentence && !strstr(text.p, cases[i].sentence))
            fail_msg("%s", text.p);
        bj_buf_free(&text);
        bj_doc_free(&d);
        bj_report_free(&r);
        derive_rig_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_failed_gpus),
                                       cmocka_unit_test(test_array_hardware),
                                       cmocka_unit_test(test_doubts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

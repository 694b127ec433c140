/* Other programs' forms of reports, seff and JS1: what is not known is no 0;
 * and energy of parts. */
#include "report/form/js1.h"
#include "report/form/seff.h"
#include "tests/unit/statsdb/report_jobs.h"

#include "base/secret.h"
#include "report/job/read.h"

#include <string.h>
#include <zlib.h>

enum { JSON = 1024 };

/* Jobs of which one GPU of two, no memory, one node of two, and the energy of
 * the processors are known. */
static void put_unknown(struct derive_rig *w)
{
    struct bj_sched_job j;
    plain_job(&j, "1", 0);
    j.gpus = 2;
    put_job(w, &j);
    put_measured(
        w, &j, "n1", 13700, 7,
        ",\"gpus\":{\"GPU-a\":{\"index\":\"0\",\"held_usec\":3600000000,"
        "\"idle_usec\":0,\"busy_ppm\":900000},\"GPU-b\":{\"index\":"
        "\"1\",\"held_usec\":3600000000}}");
    plain_job(&j, "2", 60);
    j.use.cpu_usec = UINT64_C(13700) * 1000000;
    j.use.mem_task_peak_bytes = 0;
    put_job(w, &j);
    plain_job(&j, "3", 120);
    j.nodes = 2;
    put_job(w, &j);
    put_measured(w, &j, "n1", 6800, 3.5, "");
    plain_job(&j, "4", 180);
    put_job(w, &j);
    put_measured(w, &j, "n1", 13700, 7, ENERGY);
    derive_all(w);
}

static void read_report(struct derive_rig *w, const char *id,
                        struct bj_report *r)
{
    char sql[80];
    snprintf(sql, sizeof(sql), "SELECT id FROM job WHERE jobid = %s", id);
    assert_int_equal(
        bj_report_read(bj_store_db(w->s), number(w->s, sql), r, &err), 1);
}

static void unpack(const struct bj_buf *text, char json[JSON])
{
    char zipped[JSON];
    z_stream z = {.next_in = (Bytef *)zipped,
                  .next_out = (Bytef *)json,
                  .avail_out = JSON - 1};
    memset(json, 0, JSON);
    assert_memory_equal(text->p, "JS1:", 4);
    const int n = bj_base64((struct bj_slice){text->p + 4, text->len - 4},
                            zipped, sizeof(zipped));
    assert_true(n > 0);
    z.avail_in = (uInt)n;
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    inflateEnd(&z);
}

/* What is not known is left out, and the GPUs that were measured are named. */
static void test_js1(void **state)
{
    static const struct {
        const char *id, *want;
    } summaries[] = {
        {"1", "{\"nodes\":{\"n1\":{\"total_memory\":8589934592,\"used_memory\":"
              "7516192768,\"total_time\":13700.0,\"cpus\":4,"
              "\"gpu_total_memory\":{},\"gpu_used_memory\":{},"
              "\"gpu_utilization\":{\"0\":90.0}}},\"total_time\":3600,\"gpus\":"
              "2}"},
        {"2", "{\"nodes\":{\"n1\":{\"total_memory\":8589934592,\"total_time\":"
              "13700.0,\"cpus\":4}},\"total_time\":3600}"},
    };
    struct derive_rig *w = *state;
    for (size_t i = 0; i < sizeof(summaries) / sizeof(summaries[0]); i++) {
        struct bj_report r;
        struct bj_buf text = {0};
        char json[JSON];
        read_report(w, summaries[i].id, &r);
        OK(bj_report_js1(&r, &text, &err));
        unpack(&text, json);
        assert_string_equal(json, summaries[i].want);
        bj_buf_free(&text);
        bj_report_free(&r);
    }
}

static void test_seff(void **state)
{
    static const char *const wanted[] = {
        "CPU Utilized: unknown\n", "CPU Efficiency: unknown of ",
        "Memory Utilized: unknown\n", "Memory Efficiency: unknown of "};
    struct derive_rig *w = *state;
    struct bj_report r;
    struct bj_buf text = {0};
    read_report(w, "3", &r);
    bj_report_seff(&r, &text);
    bj_buf_put(&text, "", 1);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        if (!strstr(text.p, wanted[i]))
            fail_msg("%s", text.p);
    bj_buf_free(&text);
    bj_report_free(&r);
}

/* Of components alone, energy is at least that. */
static void test_energy(void **state)
{
    static const struct {
        const char *other, *quality, *sentence;
    } cases_of[] = {{"0", "measured", "Energy: 200 Wh."},
                    {"NULL", "at least", "Energy: at least 200 Wh."}};
    struct derive_rig *w = *state;
    for (int i = 0; i < 2; i++) {
        struct bj_report r;
        char sql[128];
        snprintf(sql, sizeof(sql),
                 "UPDATE job_use SET energy_other_uj = %s WHERE job ="
                 " (SELECT id FROM job WHERE jobid = 4)",
                 cases_of[i].other);
        OK(bj_db_exec(bj_store_db(w->s), sql, &err));
        read_report(w, "4", &r);
        assert_int_equal(r.figure[BJ_FIGURE_ENERGY].used, 720000000000);
        assert_true(
            bj_slice_eq(r.figure[BJ_FIGURE_ENERGY].source, BJ_SLICE("nodes")));
        assert_true(bj_slice_eq(r.figure[BJ_FIGURE_ENERGY].quality,
                                bj_slice_str(cases_of[i].quality)));
        struct bj_slice cost = r.verdict.cost;
        if (!memmem(cost.p, cost.n, cases_of[i].sentence,
                    strlen(cases_of[i].sentence)))
            fail_msg("%.*s", (int)cost.n, cost.p);
        bj_report_free(&r);
    }
}

static int open_jobs(void **state)
{
    static struct derive_rig w;
    derive_rig_open(&w);
    put_unknown(&w);
    *state = &w;
    return 0;
}

static int close_jobs(void **state)
{
    derive_rig_close(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_js1),
                                       cmocka_unit_test(test_seff),
                                       cmocka_unit_test(test_energy)};
    return cmocka_run_group_tests_name("forms", tests, open_jobs, close_jobs);
}

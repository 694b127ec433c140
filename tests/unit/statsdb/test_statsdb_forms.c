/* Forms of reports: text, HTML, and those of other programs, seff and JS1: what
 * is not known is no 0; and energy of parts. */
#include "report/form/html.h"
#include "report/form/programs.h"
#include "tests/unit/statsdb/report_jobs.h"

#include "base/secret.h"
#include "report/form/text.h"
#include "report/job/job.h"

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

static void put_meter(struct bj_buf *b, enum bj_doc_judge judge, int64_t ppm)
{
    bj_buf_printf(b, "(%d: %lld)", (int)judge, (long long)ppm);
}

static void put_mark(struct bj_buf *b, struct bj_slice severity)
{
    bj_buf_printf(b, "[%.*s]", (int)severity.n, severity.p);
}

static void has(struct bj_buf *text, const char *want)
{
    bj_buf_put(text, "", 1);
    assert_false(text->failed);
    if (!strstr(text->p, want))
        fail_msg("%s is not in %s", want, text->p);
    bj_buf_free(text);
}

/* Each form shows the same rows, and a use that is not known as a dash. */
static void test_document(void **state)
{
    struct derive_rig *w = *state;
    struct bj_report r;
    struct bj_doc d = {.created_sec = 0};
    struct bj_buf text = {0}, mail = {0}, gpus = {0}, held = {0}, asked = {0},
                  verdict = {0};
    const struct bj_html_page page = {"jobs?job=", "nodes/", put_meter,
                                      put_mark};
    read_report(w, "1", &r);
    bj_report_document(&r, &d);
    bj_doc_print(&d, &(struct bj_report_style){.ascii = true}, &text);
    has(&text, "\n  n1: GPU 0   [######################..]    90 %  -  no "
               "error known\n  n1: GPU 1                                    "
               "-  -  no error known\n");
    bj_doc_html(&d, &mail);
    has(&mail, "<tr><td>n1: GPU 1</td><td class=\"n\">-</td>"
               "<td class=\"phone\"></td><td class=\"n\">-</td>"
               "<td>no error known</td></tr>\n");
    bj_doc_html_section(&d, BJ_DOC_GPUS, &page, &gpus);
    has(&gpus,
        "<tr><td>n1: GPU 0</td><td>(0: 900000)</td><td class=\"n\">-"
        "</td><td>no error known</td></tr>\n<tr><td>n1: GPU 1</td><td>-</td>");
    bj_doc_html_section(&d, BJ_DOC_HELD, &page, &held);
    has(&held, "<tr><th scope=\"row\">Memory</th><td class=\"n\">8 GiB</td>"
               "<td class=\"n\">7 GiB</td><td>(2: 875000)</td>"
               "<td class=\"note\">nodes, measured</td></tr>\n");
    bj_doc_html_section(&d, BJ_DOC_REQUEST, &page, &asked);
    has(&asked, "<tr><th scope=\"row\">Memory</th><td class=\"n\" "
                "data-l=\"requested\">8 GiB</td><td class=\"n\" "
                "data-l=\"used\">7 GiB <small>at most</small></td>"
                "<td>(2: 875000)</td>");
    bj_doc_html_section(&d, BJ_DOC_VERDICT, &page, &verdict);
    has(&verdict, "<section class=\"card verdict ");
    bj_doc_free(&d);
    bj_report_free(&r);
}

/* A mail has the table of the request where there is a next one. */
static void test_asked(void **state)
{
    static const char *const options[] = {"--mem=8G", ""};
    struct derive_rig *w = *state;
    for (size_t i = 0; i < 2; i++) {
        struct bj_report r;
        struct bj_doc d = {.created_sec = 0};
        struct bj_buf mail = {0};
        read_report(w, "1", &r);
        r.next.options = bj_slice_str(options[i]);
        bj_report_document(&r, &d);
        bj_doc_html(&d, &mail);
        bj_buf_put(&mail, "", 1);
        assert_int_equal(strstr(mail.p, "Requested and used") != NULL, i == 0);
        has(&mail, i == 0 ? "<th scope=\"row\">Memory</th><td class=\"n\">8 GiB"
                            "</td><td class=\"n\">7 GiB<br><small>at most"
                            "</small></td><td class=\"n\">87.5 %</td>"
                          : "<h2>Resources used</h2>");
        bj_doc_free(&d);
        bj_report_free(&r);
    }
}

/* Of many nodes the least used are shown, and how many there are. */
static void test_least(void **state)
{
    struct bj_doc d = {.created_sec = 0};
    struct bj_report r = {.nodes = 12};
    struct bj_report_node node[12];
    struct bj_buf text = {0}, mail = {0}, part = {0};
    const struct bj_html_page page = {"jobs?job=", "../nodes/", put_meter,
                                      put_mark};
    char names[12][8];
    (void)state;
    for (unsigned i = 0; i < 12; i++) {
        snprintf(names[i], sizeof(names[i]), "n%02u", i);
        node[i] = (struct bj_report_node){.node = bj_slice_str(names[i]),
                                          .cpu_ppm = 900000 - 10000 * i,
                                          .memory_peak = BJ_SQL_NULL,
                                          .memory_limit = BJ_SQL_NULL,
                                          .at = BJ_SQL_NULL,
                                          .idle_since = BJ_SQL_NULL};
    }
    node[11].cpu_ppm = BJ_SQL_NULL; /* unknown is not the least */
    node[10].memory_peak = 1 << 30;
    node[9].memory_peak = 1 << 30;
    node[9].memory_limit = 2LL << 30;
    r.node = node;
    bj_report_document(&r, &d);
    assert_int_equal(d.section[BJ_DOC_NODES].rows, 12);
    assert_memory_equal(
        bj_doc_cell(&d.section[BJ_DOC_NODES], 0, BJ_DOC_PART)->text.p, "n10",
        3);
    assert_memory_equal(
        bj_doc_cell(&d.section[BJ_DOC_NODES], 11, BJ_DOC_PART)->text.p, "n11",
        3);
    bj_doc_print(&d, &(struct bj_report_style){.ascii = true}, &text);
    has(&text, "CPUs and memory of nodes: the 10 least busy of 12\n  n10 ");
    bj_doc_html(&d, &mail);
    has(&mail, "<h2>CPUs and memory of nodes: the 10 least busy of 12</h2>");
    bj_doc_html_section(&d, BJ_DOC_NODES, &page, &part);
    has(&part, "<td><a href=\"../nodes/n10\">n10</a></td><td>(0: 800000)</td>"
               "<td class=\"n\">1 GiB</td></tr>\n<tr><td><a "
               "href=\"../nodes/n09\">n09</a></td><td>(0: 810000)</td><td "
               "class=\"n\">1 GiB of 2 GiB</td>");
    bj_doc_free(&d);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_js1),    cmocka_unit_test(test_seff),
        cmocka_unit_test(test_energy), cmocka_unit_test(test_document),
        cmocka_unit_test(test_least),  cmocka_unit_test(test_asked)};
    return cmocka_run_group_tests_name("forms", tests, open_jobs, close_jobs);
}

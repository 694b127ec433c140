/* Sums over what commands of the site print (cluster.command). */
#include "core/cluster/own.h"
#include "tests/unit/core/test_cluster_parts.h"

static struct bj_cluster_work own(enum bj_cluster_source id, const char *text,
                                  int (*line)(struct bj_cluster_work *,
                                              struct bj_slice))
{
    struct bj_cluster_work w = {
        .conf = &conf, .by = ALL, .wall_sec = NOW, .name = S("alpha")};
    struct bj_cluster_reader reader = bj_cluster_readers[id];
    struct bj_slice rest = S(text), one;
    reader.line = line;
    assert_int_equal(bj_cluster_work_begin(&w), 0);
    while (bj_slice_line(&rest, &one))
        assert_int_equal(bj_cluster_work_line(&w, &reader, one), 0);
    assert_int_equal(bj_cluster_work_end(&w, &reader), 0);
    return w;
}

/* Lines as prometheus-slurm-exporter's commands print them. */
static void test_own(void **state)
{
    static const char jobs[] =
        "{\"a\": \"physics\", \"id\": 26515966, \"end_time\": "
        "\"2023-09-21T00:21:42\", \"u\": \"anna\", \"state\": \"RUNNING\", "
        "\"p\": \"hw\", \"cpu\": 6, \"mem\": \"118G\", \"array_id\": "
        "\"N/A\", \"r\": \"node[1-2]\"}\n"
        "{\"a\": \"physics\", \"id\": 7, \"u\": \"bo\", \"state\": "
        "\"PENDING\", \"p\": \"hw\", \"cpu\": 1, \"mem\": \"50M\", "
        "\"array_id\": \"3\", \"r\": \"(Resources)\"}\n"
        "{\"a\": \"physics\", \"id\": 8, \"u\": \"bo\"\n[1]\n"
        "{\"id\": \"x\", \"state\": \"RUNNING\"}\n";
    static const char nodes[] =
        "{\"s\": \"mixed\", \"mem\": 1000, \"n\": \"cs1\", \"l\": \"1.50\", "
        "\"p\": \"hw\", \"fmem\": \"400\", \"cstate\": \"4/16/0/20\", "
        "\"w\": 5}\n"
        "{\"s\": \"down*\", \"mem\": 500, \"n\": \"cs2\", \"l\": \"N/A\", "
        "\"p\": \"hw\", \"fmem\": \"N/A\", \"cstate\": \"0/0/8/8\", "
        "\"w\": 5}\n{}\n";
    static const char limits[] =
        "|physics|8|2G|3|9\nanna|physics||||\nnonsense\n";
    (void)state;
    struct bj_cluster_work w =
        own(BJ_CLUSTER_QUEUE, jobs, bj_cluster_own_job_line);
    check_jobs(&w, BJ_CL_USER_JOBS, "anna", "RUNNING", 1, 6, 118 << 10);
    check_jobs(&w, BJ_CL_ACCOUNT_JOBS, "physics", "PENDING", 1, 1, 50);
    check_jobs(&w, BJ_CL_PARTITION_PENDING, "hw", "Resources", 1, 1, 50);
    assert_int_equal(w.bad, 3);
    bj_cluster_work_free(&w);
    w = own(BJ_CLUSTER_NODES, nodes, bj_cluster_own_node_line);
    const struct bj_nodes_stat *n =
        find(&w, BJ_CL_EACH_NODE, "cs1", "mixed", NULL);
    assert_non_null(n);
    assert_int_equal(n->cpus, 20);
    assert_int_equal(n->cpus_idle, 16);
    assert_int_equal(n->mem_bytes, 1000u << 20);
    assert_int_equal(n->mem_allocated_bytes, 600u << 20);
    assert_int_equal(n->load_centi, 150);
    assert_int_equal(n->weight, 5);
    n = find(&w, BJ_CL_EACH_NODE, "cs2", "down", NULL);
    assert_non_null(n);
    assert_int_equal(n->cpus_other, 8);
    assert_true(n->mem_free_bytes == BJ_ABSENT);
    assert_int_equal(w.bad, 1);
    bj_cluster_work_free(&w);
    w = own(BJ_CLUSTER_LIMITS, limits, bj_cluster_own_limit_line);
    const struct bj_limit_stat *l = find(&w, BJ_CL_LIMITS, "physics", "", NULL);
    assert_non_null(l);
    assert_int_equal(l->cpus, 8);
    assert_int_equal(l->mem_bytes, UINT64_C(2) << 30);
    assert_int_equal(l->jobs, 3);
    assert_int_equal(l->submit, 9);
    assert_int_equal(w.bad, 1);
    bj_cluster_work_free(&w);
}

/* What a command of the site does not print is unknown: neither 0 nor 1. */
static void test_own_unknown(void **state)
{
    static const char jobs[] =
        "{\"a\": \"phys\", \"id\": 1, \"end_time\": N/A, \"u\": \"anna\", "
        "\"state\": \"RUNNING\", \"p\": \"hw\", \"cpu\": 256, \"mem\": "
        "\"62.50G\", \"r\": \"N/A in \\\" N/A\"}\n"
        "{\"id\": 2, \"u\": \"anna\", \"state\": \"PENDING\", \"p\": \"hw\", "
        "\"cpu\": N/A, \"r\": \"Resources\"}\n";
    static const char nodes[] =
        "{\"s\": \"completing\", \"mem\": 1000, \"n\": \"a\", \"l\": N/A, "
        "\"p\": \"hw\", \"fmem\": N/A, \"cstate\": \"5/3/0/8\", \"w\": 1}\n"
        "{\"s\": \"idle*\", \"mem\": N/A, \"n\": \"b\", \"l\":N/A,"
        "\"p\": \"hw\", \"fmem\": \"N/A\", \"cstate\": N/A, \"w\":N/A}\n";
    (void)state;
    struct bj_cluster_work w =
        own(BJ_CLUSTER_QUEUE, jobs, bj_cluster_own_job_line);
    const struct bj_jobs_stat *j = find(&w, BJ_CL_JOBS, "RUNNING", NULL, NULL);
    assert_int_equal(w.bad, 0);
    assert_int_equal(j->jobs, 1);
    assert_int_equal(j->cpus, 256);
    assert_int_equal(j->mem_bytes, 64000ull << 20);
    assert_true(j->nodes == BJ_ABSENT && j->gpus == BJ_ABSENT);
    assert_true(j->wait_sec == BJ_ABSENT && j->wait_max_sec == BJ_ABSENT);
    j = find(&w, BJ_CL_JOBS, "PENDING", NULL, NULL);
    assert_true(j->wait_sec == BJ_ABSENT && j->wait_max_sec == BJ_ABSENT);
    assert_true(j->cpus == BJ_ABSENT && j->mem_bytes == BJ_ABSENT);
    static const enum bj_cluster_list unknown[] = {
        BJ_CL_QOS_JOBS, BJ_CL_HOST_JOBS, BJ_CL_RESERVATION_JOBS,
        BJ_CL_FEATURE_JOBS, BJ_CL_JOBS_GPUS};
    for (size_t i = 0; i < COUNT(unknown); i++)
        assert_int_equal(w.part->list[unknown[i]].n, 0);
    bj_cluster_work_free(&w);
    w = own(BJ_CLUSTER_NODES, nodes, bj_cluster_own_node_line);
    assert_int_equal(w.bad, 0);
    const struct bj_nodes_stat *n =
        find(&w, BJ_CL_FLAGS, "completing", NULL, NULL);
    assert_int_equal(n->nodes, 1);
    assert_int_equal(n->cpus_allocated, 5);
    assert_int_equal(n->mem_bytes, 1000u << 20);
    assert_true(n->mem_allocated_bytes == BJ_ABSENT);
    assert_true(n->mem_free_bytes == BJ_ABSENT && n->load_centi == BJ_ABSENT);
    n = find(&w, BJ_CL_FLAGS, "not_responding", NULL, NULL);
    assert_int_equal(n->nodes, 1);
    assert_true(n->cpus == BJ_ABSENT && n->cpus_idle == BJ_ABSENT);
    assert_true(n->mem_bytes == BJ_ABSENT && n->weight == BJ_ABSENT);
    bj_cluster_work_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own),
        cmocka_unit_test(test_own_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

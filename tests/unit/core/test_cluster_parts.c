/* Sums over queue and nodes, from recordings of Slurm 22.05 and from simulated
 * text for states that were not recorded. */
#include "tests/unit/core/test_cluster_parts.h"

#include "tests/unit/lib/fail.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* The expected values were counted by hand in the recording, whose array 1-40:3
 * has 14 tasks. */
static void test_queue(void **state)
{
    (void)state;
    struct bj_cluster_work w =
        make_work(BJ_CLUSTER_QUEUE, load(FIXTURES "squeue.txt"), NULL);
    check_jobs(&w, BJ_CL_JOBS, "PENDING", NULL, 18, 67, 17 * 50 + 150);
    check_jobs(&w, BJ_CL_JOBS, "RUNNING", NULL, 2, 2, 100);
    check_jobs(&w, BJ_CL_JOBS, "COMPLETED", NULL, 4, 4, 200);
    check_jobs(&w, BJ_CL_JOBS, "CANCELLED", NULL, 1, 1, 50);
    check_jobs(&w, BJ_CL_PARTITION_JOBS, "test", "PENDING", 14, 14, 700);
    check_jobs(&w, BJ_CL_PARTITION_JOBS, "test,batch", "PENDING", 2, 51, 100);
    check_jobs(&w, BJ_CL_USER_JOBS, "clboris", "PENDING", 4, 53, 300);
    check_jobs(&w, BJ_CL_ACCOUNT_JOBS, "chemistry", "PENDING", 1, 1, 150);
    check_jobs(&w, BJ_CL_PENDING, "JobHeldUser", NULL, 14, 14, 700);
    check_jobs(&w, BJ_CL_PENDING, "ReqNodeNotAvail", NULL, 1, 50, 50);
    check_jobs(&w, BJ_CL_PARTITION_PENDING, "big",
               "Nodes required for job are DOWN", 1, 1, 50);
    const struct bj_jobs_stat *s = find(&w, BJ_CL_JOBS, "PENDING", NULL, NULL);
    assert_int_equal(s->wait_max_sec, NOW - 1795194467);
    assert_int_equal(s->wait_sec, 3 * (NOW - 1795194467) + 15 * 4);
    s = find(&w, BJ_CL_JOBS, "RUNNING", NULL, NULL);
    assert_true(s->wait_sec == BJ_ABSENT);
    assert_int_equal(w.bad, 0);
    bj_cluster_work_free(&w);
}

/* With each_job set, the jobs that are not pending are listed by their ids:
 * seven in the recording. */
static void test_each_job(void **state)
{
    static const char *const ids[] = {"3991300", "3991301", "3991302",
                                      "3991303", "3991304", "3991309",
                                      "3991311"};
    const char *text = load(FIXTURES "squeue.txt");
    struct bj_scheduler_conf each = conf;
    struct bj_cluster_work w = make_work(BJ_CLUSTER_QUEUE, text, NULL);
    (void)state;
    assert_int_equal(w.part->list[BJ_CL_EACH_JOB].n, 0);
    bj_cluster_work_free(&w);
    each.each_job = true;
    w = (struct bj_cluster_work){.conf = &each, .wall_sec = NOW};
    assert_int_equal(read_text(&w, BJ_CLUSTER_QUEUE, text), 0);
    const struct bj_list *l = &w.part->list[BJ_CL_EACH_JOB];
    const struct bj_jobs_stat *v = l->v;
    assert_int_equal(l->n, COUNT(ids));
    for (size_t i = 0; i < l->n; i++) {
        assert_true(bj_slice_eq(v[i].sub.key[0], S(ids[i])));
        check_jobs(&w, BJ_CL_EACH_JOB, ids[i], NULL, 1, 1, 50);
    }
    bj_cluster_work_free(&w);
}

/* JSON names the features that jobs request; text does not. */
static void test_features(void **state)
{
    static const char text[] =
        "{\"jobs\":[{\"job_id\":1,\"job_state\":\"RUNNING\",\"partition\":"
        "\"p\","
        "\"features\":\"a100&ib\",\"node_count\":1,\"tres_alloc_str\":"
        "\"cpu=4,mem=1G\"},{\"job_id\":2,\"job_state\":\"PENDING\","
        "\"partition\":\"p\",\"features\":\"ib\",\"node_count\":1,"
        "\"tres_req_str\":\"cpu=2,mem=2G\"},{\"job_id\":3,\"job_state\":"
        "\"RUNNING\",\"partition\":\"p\",\"features\":\"\",\"node_count\":1,"
        "\"tres_alloc_str\":\"cpu=1,mem=1G\"}]}";
    struct bj_cluster_work w = {.conf = &conf, .by = ALL, .wall_sec = NOW};
    struct bj_cluster_reader reader = bj_cluster_readers[BJ_CLUSTER_QUEUE];
    struct bj_slurmjson *json;
    struct bj_err err = {0};
    (void)state;
    assert_int_equal(bj_cluster_work_begin(&w), 0);
    assert_int_equal(bj_cluster_json_new(&w, BJ_SLURMJSON_JOBS, &json, &err),
                     0);
    assert_int_equal(bj_slurmjson_feed(json, S(text), &err), 0);
    assert_int_equal(bj_slurmjson_end(json, &err), 0);
    bj_slurmjson_free(json);
    reader.end = NULL;
    assert_int_equal(bj_cluster_work_end(&w, &reader), 0);
    check_jobs(&w, BJ_CL_FEATURE_JOBS, "a100", "RUNNING", 1, 4, 1024);
    check_jobs(&w, BJ_CL_FEATURE_JOBS, "ib", "RUNNING", 1, 4, 1024);
    check_jobs(&w, BJ_CL_FEATURE_JOBS, "ib", "PENDING", 1, 2, 2048);
    check_jobs(&w, BJ_CL_FEATURE_JOBS, "", "RUNNING", 1, 1, 1024);
    assert_int_equal(w.part->list[BJ_CL_FEATURE_JOBS].n, 4);
    bj_cluster_work_free(&w);
    w = make_work(BJ_CLUSTER_QUEUE, load(FIXTURES "squeue.txt"), NULL);
    check_jobs(&w, BJ_CL_FEATURE_JOBS, "", "RUNNING", 2, 2, 100);
    bj_cluster_work_free(&w);
}

/* A user with one association for each partition has a line for each. */
static void test_shares_of_partitions(void **state)
{
    (void)state;
    struct bj_cluster_work w =
        make_work(BJ_CLUSTER_SHARES,
                  " physics|anna|1|100|0.25|0.125|0.5|2.0\n"
                  " physics|anna|3|20|0.5|0.25|0.25|2.0\n"
                  " physics|bo|1|0|0.25|0|1.0|inf\n",
                  NULL);
    const struct bj_share_stat *s =
        find(&w, BJ_CL_SHARES, "physics", "anna", NULL);
    assert_int_equal(s->shares, 4);
    assert_int_equal(s->usage, 120);
    assert_int_equal(s->norm_ppm, 750000);
    assert_int_equal(s->used_ppm, 375000);
    assert_true(s->fairshare_ppm == BJ_ABSENT);
    assert_int_equal(s->level_ppm, 2000000);
    s = find(&w, BJ_CL_SHARES, "physics", "bo", NULL);
    assert_int_equal(s->fairshare_ppm, 1000000);
    assert_true(s->level_ppm == BJ_ABSENT);
    bj_cluster_work_free(&w);
}

/* Every grouping of the jobs has the same totals. */
static void test_queue_sums(void **state)
{
    (void)state;
    struct bj_cluster_work w =
        make_work(BJ_CLUSTER_QUEUE, load(FIXTURES "squeue.txt"), NULL);
    for (unsigned k = BJ_CL_JOBS; k <= BJ_CL_RESERVATION_JOBS; k++) {
        const struct bj_jobs_stat *v = w.part->list[k].v;
        uint64_t jobs = 0, cpus = 0;
        for (size_t i = 0; i < w.part->list[k].n; i++) {
            jobs += v[i].jobs;
            cpus += v[i].cpus;
        }
        assert_int_equal(jobs, 25);
        assert_int_equal(cpus, 74);
    }
    bj_cluster_work_free(&w);
}

static void test_queue_gpus(void **state)
{
    (void)state;
#define JOB(id, state, tres)                                                   \
    id SEP "N/A" SEP state SEP "gpu" SEP "a" SEP "u" SEP "q" SEP "h" SEP       \
           "(null)" SEP "1" SEP "1" SEP "1" SEP "1" SEP tres SEP "None\n"
    static const char text[] =
        JOB("1", "RUNNING", "cpu=1,gres/gpu=2,gres/gpu:a100=2")
            JOB("2", "RUNNING", "cpu=1,gres/gpu:a100=1,gres/gpu=3")
                JOB("3", "RUNNING", "cpu=1,gres/gpu:v100=4")
                    JOB("4", "PENDING", "cpu=1,gres/gpu=5")
                        JOB("5", "RUNNING", "cpu=1,gres/tpu=5");
    struct bj_cluster_work w = make_work(BJ_CLUSTER_QUEUE, text, NULL);
    static const struct {
        const char *state, *type;
        uint64_t n;
    } want[] = {{"RUNNING", "a100", 3},
                {"RUNNING", "v100", 4},
                {"RUNNING", "", 2},
                {"PENDING", "", 5}};
    assert_int_equal(w.part->list[BJ_CL_JOBS_GPUS].n, COUNT(want));
    for (size_t i = 0; i < COUNT(want); i++) {
        const struct bj_count_stat *s =
            find(&w, BJ_CL_JOBS_GPUS, want[i].state, want[i].type, NULL);
        assert_non_null(s);
        assert_int_equal(s->count, want[i].n);
    }
    const struct bj_jobs_stat *j = find(&w, BJ_CL_JOBS, "RUNNING", NULL, NULL);
    assert_int_equal(j->gpus, 9);
    bj_cluster_work_free(&w);
}

/* --- nodes ----------------------------------------------------------------*/

static void check_nodes(const struct bj_cluster_work *w,
                        enum bj_cluster_list list, const char *k0,
                        const char *k1, const char *k2, uint64_t nodes,
                        uint64_t allocated, uint64_t idle, uint64_t other)
{
    const struct bj_nodes_stat *s = find(w, list, k0, k1, k2);
    if (!s)
        fail_msg("list %d has no %s, %s, %s", (int)list, k0, k1 ? k1 : "-",
                 k2 ? k2 : "-");
    assert_int_equal(s->nodes, nodes);
    assert_int_equal(s->cpus_allocated, allocated);
    assert_int_equal(s->cpus_idle, idle);
    assert_int_equal(s->cpus_other, other);
    assert_int_equal(s->cpus, allocated + idle + other);
}

/* A node in three or four partitions is counted once. */
static void test_nodes(void **state)
{
    (void)state;
    struct bj_cluster_work r = make_work(
        BJ_CLUSTER_RESERVATIONS, load(FIXTURES "reservations.txt"), NULL);
    struct bj_cluster_work w =
        make_work(BJ_CLUSTER_NODES, load(FIXTURES "sinfo.txt"), r.part);
    assert_int_equal(w.good, 18);
    assert_int_equal(w.bad, 4);
    assert_int_equal(w.part->list[BJ_CL_NODES].n, 5);
    check_nodes(&w, BJ_CL_NODES, "allocated", "", NULL, 1, 2, 0, 0);
    check_nodes(&w, BJ_CL_NODES, "idle", "drain", NULL, 1, 0, 0, 2);
    check_nodes(&w, BJ_CL_NODES, "unknown", "drain+not_responding", NULL, 1, 0,
                0, 80);
    check_nodes(&w, BJ_CL_NODES, "down", "not_responding", NULL, 1, 0, 0, 80);
    check_nodes(&w, BJ_CL_FLAGS, "drain", NULL, NULL, 2, 0, 0, 82);
    check_nodes(&w, BJ_CL_FLAGS, "not_responding", NULL, NULL, 3, 0, 80, 160);
    check_nodes(&w, BJ_CL_PARTITION_NODES, "batch", "allocated", "", 1, 2, 0,
                0);
    check_nodes(&w, BJ_CL_PARTITION_FLAGS, "big", "drain", NULL, 1, 0, 0, 80);
    check_nodes(&w, BJ_CL_REASONS, "kernel \"5|6", "idle", "drain", 1, 0, 0, 2);
    check_nodes(&w, BJ_CL_REASONS, "fan", "down", "not_responding", 1, 0, 0,
                80);
    assert_non_null(find(&w, BJ_CL_NODE_REASONS, "clx3", "", "fan"));
    /* clx2 is in two active reservations, clx3 in one that is not active */
    check_nodes(&w, BJ_CL_RESERVATION_NODES, "maint1,maint2", "unknown",
                "maintenance+not_responding+reserved", 1, 0, 80, 0);
    check_nodes(&w, BJ_CL_RESERVATION_NODES, "maint2", "unknown",
                "drain+not_responding", 1, 0, 0, 80);
    check_nodes(&w, BJ_CL_RESERVATION_NODES, "", "down", "not_responding", 1, 0,
                0, 80);
    check_nodes(&w, BJ_CL_EACH_NODE, "cln02", "idle", "drain", 1, 0, 0, 2);
    bj_cluster_work_free(&w);
    bj_cluster_work_free(&r);
}

#define NODE(name, state, cpus, gres, used)                                    \
    name SEP "p" SEP state SEP cpus SEP "1000" SEP "10" SEP                    \
             "900" SEP gres SEP used SEP "none\n"

static void check_gpus(const struct bj_cluster_work *w, const char *node,
                       const char *type, uint64_t allocated, uint64_t idle,
                       uint64_t blocked, uint64_t other)
{
    const struct bj_gpus_stat *s = NULL;
    const struct bj_list *l = &w->part->list[BJ_CL_EACH_NODE_GPUS];
    const struct bj_gpus_stat *v = l->v;
    for (size_t i = 0; i < l->n; i++)
        if (bj_slice_eq(v[i].sub.key[0], S(node)) &&
            bj_slice_eq(v[i].sub.key[2], S(type)))
            s = &v[i];
    if (!s)
        fail_msg("%s has no GPU of type '%s'", node, type);
    assert_int_equal(s->allocated, allocated);
    assert_int_equal(s->idle, idle);
    assert_int_equal(s->blocked, blocked);
    assert_int_equal(s->other, other);
    assert_int_equal(s->gpus, allocated + idle + blocked + other);
}

/* A value that a node does not report is absent, not 0. */
static void test_absent_values(void **state)
{
    (void)state;
    struct bj_cluster_work w =
        make_work(BJ_CLUSTER_NODES,
                  "a" SEP "p" SEP "idle" SEP "0/8/0/8" SEP "10" SEP "0" SEP
                  "N/A" SEP "(null)" SEP "gpu:0" SEP "N/A" SEP "1" SEP "none\n"
                  "b" SEP "p" SEP "idle" SEP "0/8/0/8" SEP "10" SEP "0" SEP
                  "3" SEP "(null)" SEP "gpu:0" SEP "0.50" SEP "1" SEP "none\n"
                  "c" SEP "q" SEP "down" SEP "0/0/8/8" SEP "10" SEP "0" SEP
                  "N/A" SEP "(null)" SEP "gpu:0" SEP "N/A" SEP "1" SEP "none\n",
                  NULL);
    const struct bj_nodes_stat *n = find(&w, BJ_CL_EACH_NODE, "a", NULL, NULL);
    assert_int_equal(n->mem_free_bytes, BJ_ABSENT);
    assert_int_equal(n->load_centi, BJ_ABSENT);
    n = find(&w, BJ_CL_NODES, "idle", "", NULL);
    assert_int_equal(n->mem_free_bytes, 3 << 20);
    assert_int_equal(n->load_centi, 50);
    assert_int_equal(n->weight, 2);
    n = find(&w, BJ_CL_PARTITION_NODES, "q", "down", "");
    assert_int_equal(n->mem_free_bytes, BJ_ABSENT);
    assert_int_equal(n->cpus_other, 8);
    bj_cluster_work_free(&w);
}

/* An active reservation with an invalid list of nodes is counted as bad. */
static void test_bad_nodes(void **state)
{
    (void)state;
    struct bj_cluster_work w =
        make_work(BJ_CLUSTER_RESERVATIONS,
                  "ReservationName=a StartTime=1 EndTime=2 Duration=1 "
                  "Nodes=n[1-3 NodeCnt=3 CoreCnt=3 State=ACTIVE\n"
                  "ReservationName=b StartTime=1 EndTime=2 Duration=1 "
                  "Nodes=(null) NodeCnt=0 CoreCnt=3 State=ACTIVE\n",
                  NULL);
    assert_int_equal(w.bad, 1);
    assert_int_equal(w.good, 1);
    bj_cluster_work_free(&w);
}

/* An unknown flag, as of a future Slurm, is reported under its own name. */
static void test_unknown_flags(void **state)
{
    (void)state;
#define STRANGE(name, state)                                                   \
    name SEP "p" SEP state SEP "2/6/0/8" SEP "10" SEP "5" SEP "1" SEP          \
             "gpu:2" SEP "gpu:0" SEP "none\n"
    struct bj_cluster_work w = make_work(
        BJ_CLUSTER_NODES,
        STRANGE("a", "mixed+Quarantined+drain*") STRANGE("b", "mixed+drain*")
            STRANGE("c", "asleep") STRANGE("d", "idle+x+X\xff+x+y+z+zz"),
        NULL);
    check_nodes(&w, BJ_CL_NODES, "mixed", "drain+not_responding+quarantined",
                NULL, 1, 2, 6, 0);
    check_nodes(&w, BJ_CL_NODES, "mixed", "drain+not_responding", NULL, 1, 2, 6,
                0);
    check_nodes(&w, BJ_CL_NODES, "unknown", "asleep", NULL, 1, 2, 6, 0);
    check_nodes(&w, BJ_CL_FLAGS, "quarantined", NULL, NULL, 1, 2, 6, 0);
    check_nodes(&w, BJ_CL_FLAGS, "asleep", NULL, NULL, 1, 2, 6, 0);
    check_nodes(&w, BJ_CL_FLAGS, "x", NULL, NULL, 1, 2, 6, 0);
    check_nodes(&w, BJ_CL_PARTITION_FLAGS, "p", "y", NULL, 1, 2, 6, 0);
    assert_int_equal(w.part->list[BJ_CL_NODES].n, 4);
    bj_cluster_work_free(&w);
}

static void test_gpus(void **state)
{
    (void)state;
    static const char text[] =
        /* all GPUs of a mixed node are used, 48 CPUs are idle */
        NODE("a", "mixed", "32/48/0/80", "gpu:rtx8000:8(S:0-1)",
             "gpu:rtx8000:8(IDX:0-7)")
        /* without an idle CPU, free GPUs are blocked; with one, they are
         * idle */
        NODE("b", "allocated", "80/0/0/80", "gpu:a100:4", "gpu:a100:1(IDX:0)")
            NODE("c", "mixed", "79/1/0/80", "gpu:a100:4", "gpu:a100:1(IDX:3)")
        /* drained, but a job still has one GPU */
        NODE("d", "mixed+drain", "1/0/79/80", "gpu:4", "gpu:(null):1(IDX:0)")
            NODE("e", "down*", "0/0/80/80", "gpu:4,tpu:2", "gpu:0,tpu:0") NODE(
                "f", "idle+planned", "0/80/0/80", "gpu:a100:2,gpu:v100:2",
                "gpu:a100:0(IDX:N/A),gpu:v100:1(IDX:2)")
                NODE("g", "reboot^", "0/0/80/80", "gpu:a100:2", "gpu:a100:0")
                    NODE("h", "idle", "0/80/0/80", "(null)", "gpu:0")
        /* more GPUs used than exist, and one of a type that the node lacks */
        NODE("i", "mixed", "1/79/0/80", "gpu:a100:2", "gpu:h100:1,gpu:a100:2");
    struct bj_cluster_work w = make_work(BJ_CLUSTER_NODES, text, NULL);
    check_gpus(&w, "a", "rtx8000", 8, 0, 0, 0);
    check_gpus(&w, "b", "a100", 1, 0, 3, 0);
    check_gpus(&w, "c", "a100", 1, 3, 0, 0);
    check_gpus(&w, "d", "", 1, 0, 0, 3);
    check_gpus(&w, "e", "", 0, 0, 0, 4);
    check_gpus(&w, "f", "a100", 0, 2, 0, 0);
    check_gpus(&w, "f", "v100", 1, 1, 0, 0);
    check_gpus(&w, "g", "a100", 0, 0, 0, 2);
    check_gpus(&w, "i", "a100", 2, 0, 0, 0);
    assert_int_equal(w.part->list[BJ_CL_EACH_NODE_GPUS].n, 9);
    static const struct {
        const char *type;
        unsigned gpus, nodes;
    } types[] = {
        {"", 8, 2}, {"a100", 14, 5}, {"rtx8000", 8, 1}, {"v100", 2, 1}};
    assert_int_equal(w.part->list[BJ_CL_GPU_TYPES].n, COUNT(types));
    for (size_t i = 0; i < COUNT(types); i++) {
        const struct bj_gpu_type_stat *t =
            find(&w, BJ_CL_GPU_TYPES, types[i].type, NULL, NULL);
        assert_non_null(t);
        assert_int_equal(t->gpus, types[i].gpus);
        assert_int_equal(t->nodes, types[i].nodes);
    }
    /* states as Slurm prints them */
    assert_non_null(find(&w, BJ_CL_NODE_STATES, "d", "mixed+drain", NULL));
    assert_non_null(find(&w, BJ_CL_NODE_STATES, "g", "reboot^", NULL));
    assert_int_equal(w.part->list[BJ_CL_NODE_STATES].n, 9);
    /* a rebooting node is not in drain; a planned one is idle */
    check_nodes(&w, BJ_CL_FLAGS, "drain", NULL, NULL, 1, 1, 0, 79);
    check_nodes(&w, BJ_CL_FLAGS, "reboot_issued", NULL, NULL, 1, 0, 0, 80);
    check_nodes(&w, BJ_CL_NODES, "idle", "planned", NULL, 1, 0, 80, 0);
    check_nodes(&w, BJ_CL_NODES, "mixed", "", NULL, 3, 112, 128, 0);
    check_nodes(&w, BJ_CL_NODES, "mixed", "drain", NULL, 1, 1, 0, 79);
    bj_cluster_work_free(&w);
}

static void test_garbage(void **state)
{
    (void)state;
    static const char *const texts[] = {"Segmentation fault\n",
                                        "{\"jobs\": []}\n", "\x1f\x1f\n"};
    for (size_t i = 0; i < COUNT(texts); i++)
        for (int k = 0; k < BJ_CLUSTER_SOURCES; k++) {
            struct bj_cluster_work w = {.conf = &conf, .by = ALL};
            assert_int_equal(read_text(&w, (enum bj_cluster_source)k, texts[i]),
                             -EINVAL);
            bj_cluster_work_free(&w);
        }
    /* empty output is an empty queue */
    struct bj_cluster_work w = make_work(BJ_CLUSTER_QUEUE, "", NULL);
    assert_int_equal(w.part->list[BJ_CL_JOBS].n, 0);
    bj_cluster_work_free(&w);
    w = make_work(BJ_CLUSTER_LICENSES, "No licenses configured in Slurm.\n",
                  NULL);
    bj_cluster_work_free(&w);
}

/* --- the rest -------------------------------------------------------------*/

static void test_accounting(void **state)
{
    (void)state;
    struct bj_cluster_work w = {
        .conf = &conf, .by = ALL, .name = {"sandbox", 7}};
    assert_int_equal(
        read_text(&w, BJ_CLUSTER_LIMITS, load(FIXTURES "limits.txt")), 0);
    const struct bj_limit_stat *l = find(&w, BJ_CL_LIMITS, "chemistry", "", "");
    assert_non_null(l);
    assert_int_equal(l->jobs, 3);
    assert_int_equal(l->cpus, 8);
    assert_int_equal(l->mem_bytes, 2ull << 30);
    assert_true(l->gpus == BJ_ABSENT && l->submit == BJ_ABSENT);
    l = find(&w, BJ_CL_LIMITS, "physics", "clboris", "");
    assert_int_equal(l->max_jobs, 7);
    assert_int_equal(l->max_nodes, 2);
    bj_cluster_work_free(&w);
    w = make_work(BJ_CLUSTER_SHARES, load(FIXTURES "shares.txt"), NULL);
    const struct bj_share_stat *s =
        find(&w, BJ_CL_SHARES, "physics", "clanna", NULL);
    assert_int_equal(s->shares, 1);
    assert_int_equal(w.part->list[BJ_CL_SHARES].n, 7);
    bj_cluster_work_free(&w);
    w = make_work(BJ_CLUSTER_DIAG, load(FIXTURES "sdiag.txt"), NULL);
    assert_int_equal(w.part->list[BJ_CL_RPC_TYPES].n, 19);
    assert_int_equal(w.part->list[BJ_CL_RPC_USERS].n, 4);
    const struct bj_controller_stat *c = w.part->list[BJ_CL_CONTROLLER].v;
    assert_int_equal(c->diag.bf_max_usec, 831);
    bj_cluster_work_free(&w);
    w = make_work(BJ_CLUSTER_CONFIG, load(FIXTURES "config.txt"), NULL);
    assert_true(bj_slice_eq(w.part->cluster, S("sandbox")));
    bj_cluster_work_free(&w);
}

static void check_constant(const struct bj_cluster_work *w, const char *name,
                           uint64_t micro, uint64_t period_sec)
{
    const struct bj_constant_stat *s =
        find(w, BJ_CL_CONSTANTS, name, NULL, NULL);
    if (!s)
        fail_msg("no %s", name);
    assert_int_equal(s->micro, micro);
    assert_int_equal(s->period_sec, period_sec);
}

static void test_constants(void **state)
{
    static const char text[] =
        "# numbers of ours\n\ngpu_years 40\nstudents = 1234 # at least\n"
        "factor: 0.25\nbroken\nnegative -1\nyearly 40 year\n"
        "odd 1 fortnight\nrolling=7.5 90d\r\n"
        "[other]\nfactor 1 day\nelsewhere 2\n"
        "[sandbox]\nfactor 0.5 quarter\nlast=7\n[  ]\nnobody 1";
    (void)state;
    struct bj_cluster_work w = make_work(BJ_CLUSTER_CONSTANTS, text, NULL);
    assert_int_equal(w.bad, 3);
    assert_string_equal(w.complaint.msg,
                        "numbers:6: 'broken' is not NAME NUMBER [PERIOD] or "
                        "[CLUSTER]");
    assert_int_equal(w.part->list[BJ_CL_CONSTANTS].n, 5);
    check_constant(&w, "factor", 250000, BJ_ABSENT);
    check_constant(&w, "gpu_years", 40000000, BJ_ABSENT);
    check_constant(&w, "students", 1234000000, BJ_ABSENT);
    check_constant(&w, "yearly", 40000000, 365 * 86400);
    check_constant(&w, "rolling", 7500000, 90 * 86400);
    bj_cluster_work_free(&w);
    /* The section of this cluster takes precedence once its name is known. */
    w = (struct bj_cluster_work){
        .conf = &conf, .by = ALL, .name = {"sandbox", 7}};
    assert_int_equal(read_text(&w, BJ_CLUSTER_CONSTANTS, text), 0);
    assert_int_equal(w.bad, 3);
    assert_int_equal(w.part->list[BJ_CL_CONSTANTS].n, 6);
    check_constant(&w, "factor", 500000, 365 * 86400 / 4);
    check_constant(&w, "last", 7000000, BJ_ABSENT);
    bj_cluster_work_free(&w);
}

static int read_all(void *arg)
{
    char *const *texts = arg;
    int r = 0;
    for (size_t i = 0; i <= BJ_CLUSTER_LIMITS && r == 0; i++) {
        struct bj_cluster_work w = {.conf = &conf, .by = ALL};
        r = read_text(&w, (enum bj_cluster_source)i, texts[i]);
        bj_cluster_work_free(&w);
    }
    return r;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    static const char *const files[] = {
        "config.txt", "reservations.txt", "squeue.txt", "sinfo.txt",
        "sdiag.txt",  "licenses.txt",     "shares.txt", "limits.txt"};
    char *texts[COUNT(files)];
    if (!bj_fail_works())
        skip();
    for (size_t i = 0; i < COUNT(files); i++) {
        char name[100];
        snprintf(name, sizeof(name), FIXTURES "%s", files[i]);
        texts[i] = strdup(load(name));
    }
    assert_true(bj_fail_each(read_all, texts) > 20);
    for (size_t i = 0; i < COUNT(files); i++)
        free(texts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queue),
        cmocka_unit_test(test_each_job),
        cmocka_unit_test(test_features),
        cmocka_unit_test(test_shares_of_partitions),
        cmocka_unit_test(test_queue_sums),
        cmocka_unit_test(test_queue_gpus),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_absent_values),
        cmocka_unit_test(test_bad_nodes),
        cmocka_unit_test(test_unknown_flags),
        cmocka_unit_test(test_gpus),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_accounting),
        cmocka_unit_test(test_constants),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

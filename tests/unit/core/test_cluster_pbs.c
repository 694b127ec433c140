/* The cluster collector with cluster.via=pbs: output of OpenPBS 23.06.06,
 * recorded with jobs in all states, arrays, two nodes and six queues.  The
 * expected numbers were counted in `qstat -f` and `pbsnodes -a`. */
#include "tests/unit/core/test_cluster.h"

#include "core/cluster/part.h"

#include <stdlib.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define UNKNOWN BJ_ABSENT

static void recorded(const char *name, const char *file)
{
    char cwd[1024], body[1200];
    assert_non_null(getcwd(cwd, sizeof(cwd)));
    snprintf(body, sizeof(body),
             "exec /bin/cat %s/tests/fixtures/sched/openpbs-23.06/%s", cwd,
             file);
    command(name, body);
}

/* qstat prints queues or jobs. */
static void recorded_qstat(const char *queues, const char *jobs)
{
    char cwd[1024], body[2600];
    assert_non_null(getcwd(cwd, sizeof(cwd)));
    snprintf(body, sizeof(body),
             "case $1 in -Q) f=%s ;; *) f=%s ;; esac\n"
             "exec /bin/cat %s/tests/fixtures/sched/openpbs-23.06/$f",
             queues, jobs, cwd);
    command("qstat", body);
}

static bool has_keys(const struct bj_sub *s, const char *a, const char *b)
{
    return bj_slice_eq(s->key[0], bj_slice_str(a)) &&
           (!b || bj_slice_eq(s->key[1], bj_slice_str(b)));
}

static const struct bj_jobs_stat *
jobs(const struct rig *r, enum bj_cluster_list k, const char *a, const char *b)
{
    const struct bj_list *l = list(r, k);
    const struct bj_jobs_stat *v = l->v;
    for (size_t i = 0; i < l->n; i++)
        if (has_keys(&v[i].sub, a, b))
            return &v[i];
    fail_msg("no %s", a);
    return NULL;
}

static const struct bj_nodes_stat *
nodes(const struct rig *r, enum bj_cluster_list k, const char *a, const char *b)
{
    const struct bj_list *l = list(r, k);
    const struct bj_nodes_stat *v = l->v;
    for (size_t i = 0; i < l->n; i++)
        if (has_keys(&v[i].sub, a, b))
            return &v[i];
    fail_msg("no %s", a);
    return NULL;
}

static void test_queue(void **state)
{
    static const struct {
        const char *state;
        uint64_t jobs, cpus, gpus, nodes, mib;
    } want[] = {
        {"RUNNING", 6, 16, 2, 7, 3 * 1024 + 200},
        /* three of them tasks, whose nodes qstat does not print without -t */
        {"COMPLETING", 7, 11, 2, 5, 900},
        {"SUSPENDED", 1, 1, 0, 1, UNKNOWN},
        /* two waiting arrays of five tasks */
        {"PENDING", 12, 87, 0, UNKNOWN, 100},
    };
    static const struct {
        const char *reason;
        uint64_t jobs;
    } reasons[] = {{"Insufficient amount of resource ncpus", 5},
                   {"Insufficient amount of resource host", 1},
                   {"held by its user", 6}};
    struct rig r;
    (void)state;
    recorded_qstat("queues.json", "queue.json");
    recorded("pbsnodes", "nodes.json");
    START(r, "cluster.via=pbs", "cluster.by=partition,user,reason,qos,feature");
    wait_runs(&r, "queue", 1);
    wait_runs(&r, "nodes", 1);
    wait_runs(&r, "partitions", 1);
    assert_int_equal(list(&r, BJ_CL_JOBS)->n, COUNT(want));
    for (size_t i = 0; i < COUNT(want); i++) {
        const struct bj_jobs_stat *one =
            jobs(&r, BJ_CL_JOBS, want[i].state, NULL);
        const struct bj_jobs_stat *same[] = {
            one, jobs(&r, BJ_CL_PARTITION_JOBS, "workq", want[i].state),
            jobs(&r, BJ_CL_USER_JOBS, "alice", want[i].state)};
        for (size_t k = 0; k < COUNT(same); k++) {
            assert_int_equal(same[k]->jobs, want[i].jobs);
            assert_int_equal(same[k]->cpus, want[i].cpus);
            assert_int_equal(same[k]->gpus, want[i].gpus);
            assert_int_equal(same[k]->nodes, want[i].nodes);
            assert_int_equal(same[k]->mem_bytes, want[i].mib == UNKNOWN
                                                     ? UNKNOWN
                                                     : want[i].mib << 20);
        }
    }
    assert_int_equal(list(&r, BJ_CL_PENDING)->n, COUNT(reasons));
    for (size_t i = 0; i < COUNT(reasons); i++)
        assert_int_equal(jobs(&r, BJ_CL_PENDING, reasons[i].reason, NULL)->jobs,
                         reasons[i].jobs);
    /* PBS has neither QOS nor features; nothing else is queried. */
    assert_int_equal(list(&r, BJ_CL_QOS_JOBS)->n, 0);
    assert_int_equal(list(&r, BJ_CL_FEATURE_JOBS)->n, 0);
    assert_int_equal(list(&r, BJ_CL_SOURCES)->n, 3);
    assert_int_equal(source(&r, "queue")->bad_lines, 0);
    assert_int_equal(source(&r, "nodes")->bad_lines, 0);
    assert_int_equal(r.snap->cluster.n, 0);
    rig_stop(&r);
}

static void test_nodes(void **state)
{
    struct rig r;
    const struct bj_nodes_stat *n;
    const struct bj_gpus_stat *g;
    (void)state;
    recorded_qstat("queues.json", "queue.json");
    recorded("pbsnodes", "nodes.json");
    START(r, "cluster.via=pbs", "cluster.by=node,reason");
    wait_runs(&r, "nodes", 1);
    n = nodes(&r, BJ_CL_EACH_NODE, "n2", "mixed");
    assert_int_equal(n->cpus, 16);
    assert_int_equal(n->cpus_allocated, 11);
    assert_int_equal(n->cpus_idle, 5);
    assert_int_equal(n->cpus_other, 0);
    assert_int_equal(n->mem_bytes, (uint64_t)16 << 30);
    assert_int_equal(n->mem_allocated_bytes, (uint64_t)900 << 20);
    assert_int_equal(n->mem_free_bytes, UNKNOWN);
    assert_int_equal(n->load_centi, UNKNOWN);
    n = nodes(&r, BJ_CL_EACH_NODE, "pbshost", "allocated");
    assert_int_equal(n->cpus_allocated, 16);
    assert_int_equal(n->cpus_idle, 0);
    g = list(&r, BJ_CL_GPU_TYPES)->v;
    assert_int_equal(list(&r, BJ_CL_GPU_TYPES)->n, 1);
    assert_int_equal(((const struct bj_gpu_type_stat *)(const void *)g)->gpus,
                     8);
    /* Comments of nodes that work are about the past. */
    assert_int_equal(list(&r, BJ_CL_REASONS)->n, 0);
    assert_int_equal(list(&r, BJ_CL_PARTITION_NODES)->n, 0);
    rig_stop(&r);

    /* n2 was taken offline while a job runs there. */
    recorded("pbsnodes", "nodes-offline.json");
    START(r, "cluster.via=pbs", "cluster.by=node,reason");
    wait_runs(&r, "nodes", 1);
    n = nodes(&r, BJ_CL_EACH_NODE, "n2", "allocated");
    assert_true(bj_slice_eq(n->sub.key[2], BJ_SLICE("drain")));
    assert_int_equal(n->cpus_allocated, 16);
    assert_int_equal(nodes(&r, BJ_CL_REASONS, "disk full", NULL)->nodes, 1);
    nodes(&r, BJ_CL_EACH_NODE, "pbshost", "mixed");
    rig_stop(&r);
}

/* Limits in the order of struct bj_limit_stat. */
struct want_limits {
    const char *user, *partition;
    uint64_t v[12];
};

static void check_limits(const struct rig *r, const struct want_limits *want,
                         size_t n)
{
    const struct bj_list *l = list(r, BJ_CL_LIMITS);
    const struct bj_limit_stat *all = l->v;
    assert_int_equal(l->n, n);
    for (size_t i = 0; i < n; i++) {
        const struct bj_limit_stat *v = all;
        while (v < all + n &&
               !(v->sub.key[0].n == 0 &&
                 bj_slice_eq(v->sub.key[1], bj_slice_str(want[i].user)) &&
                 bj_slice_eq(v->sub.key[2], bj_slice_str(want[i].partition))))
            v++;
        if (v == all + n) {
            fail_msg("no limits of '%s' in %s", want[i].user,
                     want[i].partition);
            return;
        }
        const uint64_t got[] = {v->jobs,      v->submit,        v->cpus,
                                v->nodes,     v->mem_bytes,     v->gpus,
                                v->max_jobs,  v->max_submit,    v->max_cpus,
                                v->max_nodes, v->max_mem_bytes, v->max_gpus};
        for (size_t k = 0; k < COUNT(got); k++)
            if (got[k] != want[i].v[k])
                fail_msg("'%s' in %s: limit %zu is %lld, not %lld",
                         want[i].user, want[i].partition, k, (long long)got[k],
                         (long long)want[i].v[k]);
    }
}

/* The states are those of `qstat -Q`, which prints yes and no; the limits were
 * set by qmgr. */
static void test_queues(void **state)
{
    const uint64_t no = UNKNOWN, gib = (uint64_t)1 << 30;
    static const struct {
        const char *queue;
        uint64_t enabled, started;
    } want[] = {{"workq", 1, 1},  {"small", 1, 1},  {"stopped", 1, 0},
                {"closed", 0, 1}, {"router", 1, 1}, {"fresh", 0, 0}};
    const struct want_limits limits[] = {
        {"", "small", {6, 100, 12, no, 4 * gib, 2, 3, 20, 4, 1, 2 * gib, no}},
        {"alice", "small", {4, no, no, no, no, no, no, no, no, no, no, no}},
        {"bob", "small", {no, no, 6, no, no, no, no, no, no, no, no, no}}};
    /* the older attributes, which PBS does not mix with the others */
    const struct want_limits old[] = {
        {"", "small", {no, no, no, no, no, no, no, no, 4, 1, 2 * gib, no}},
        {"", "stopped", {7, 50, no, no, no, no, 2, no, no, no, no, no}}};
    struct rig r;
    (void)state;
    recorded_qstat("queues.json", "queue.json");
    recorded("pbsnodes", "nodes.json");
    START(r, "cluster.via=pbs");
    wait_runs(&r, "partitions", 1);
    const struct bj_list *l = list(&r, BJ_CL_PARTITIONS);
    const struct bj_partition_stat *v = l->v;
    assert_int_equal(l->n, COUNT(want));
    for (size_t i = 0; i < COUNT(want); i++) {
        size_t k = 0;
        while (k < l->n && !has_keys(&v[k].sub, want[i].queue, NULL))
            k++;
        assert_true(k < l->n);
        assert_int_equal(v[k].enabled, want[i].enabled);
        assert_int_equal(v[k].started, want[i].started);
    }
    check_limits(&r, limits, COUNT(limits));
    assert_int_equal(source(&r, "partitions")->bad_lines, 0);
    rig_stop(&r);

    recorded_qstat("queues-old-limits.json", "queue.json");
    START(r, "cluster.via=pbs");
    wait_runs(&r, "partitions", 1);
    check_limits(&r, old, COUNT(old));
    rig_stop(&r);

    /* Without the label user only the limits of queues. */
    recorded_qstat("queues.json", "queue.json");
    START(r, "cluster.via=pbs", "cluster.by=partition");
    wait_runs(&r, "partitions", 1);
    check_limits(&r, limits, 1);
    rig_stop(&r);
}

struct queues {
    unsigned queues, limits, bad;
    struct bj_pbs_queue queue; /* the last one, without its name */
    uint64_t jobs;             /* limits of the queue */
};

static int take_queue(void *ctx, const struct bj_pbs_queue *q)
{
    struct queues *got = ctx;
    got->queues++;
    got->queue = *q;
    return 0;
}

static int take_limits(void *ctx, const struct bj_limits *v)
{
    struct queues *got = ctx;
    got->limits++;
    if (v->user.n == 0)
        got->jobs = v->jobs;
    return 0;
}

static void count_bad(void *ctx)
{
    ((struct queues *)ctx)->bad++;
}

static struct queues read_queue(const char *attributes)
{
    struct queues got = {.jobs = UNKNOWN};
    const struct bj_pbs_live_conf conf = {.ctx = &got,
                                          .queue = take_queue,
                                          .limits = take_limits,
                                          .bad = count_bad};
    struct bj_pbs_live *p;
    assert_int_equal(bj_pbs_live_new(&conf, BJ_PBS_QUEUES, &p, NULL), 0);
    assert_int_equal(bj_pbs_live_feed(p, BJ_SLICE("{\"Queue\":{\"q\":{"), NULL),
                     0);
    assert_int_equal(bj_pbs_live_feed(p, bj_slice_str(attributes), NULL), 0);
    assert_int_equal(bj_pbs_live_feed(p, BJ_SLICE("}}}"), NULL), 0);
    assert_int_equal(bj_pbs_live_end(p, NULL), 0);
    bj_pbs_live_free(p);
    assert_int_equal(got.queues, 1);
    return got;
}

/* What was not recorded: wrong values, lists in one text as qmgr prints them,
 * and more users than are kept. */
static void test_bad_queues(void **state)
{
    static const struct {
        const char *text;
        unsigned limits, bad;
        uint64_t jobs;
    } cases[] = {
        {"\"max_run\":\"[o:PBS_ALL=8],[u:a=1], [u:b=2]\"", 3, 0, 8},
        {"\"max_run\":\"[o:PBS_ALL=x]\"", 0, 1, UNKNOWN},
        {"\"max_run\":\"[o:PBS_ALL=8\"", 0, 1, UNKNOWN},
        {"\"max_run\":\"8\"", 0, 1, UNKNOWN},
        {"\"max_run\":\"[]\"", 0, 1, UNKNOWN},
        {"\"max_run\":\"[g:g1=8],[p:PBS_GENERIC=1]\"", 0, 0, UNKNOWN},
        {"\"max_run_res\":{\"mem\":\"[o:PBS_ALL=1zb]\"}", 0, 1, UNKNOWN},
        {"\"max_running\":-1", 0, 1, UNKNOWN},
        {"\"max_running\":5,\"max_run_res\":{\"color\":\"[o:PBS_ALL=1]\"}", 1,
         0, 5},
        {"\"resources_max\":{\"ncpus\":\"many\"}", 0, 1, UNKNOWN},
    };
    char text[20000] = "\"max_run\":\"[u:u0=1]";
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct queues got = read_queue(cases[i].text);
        if (got.limits != cases[i].limits || got.bad != cases[i].bad ||
            got.jobs != cases[i].jobs)
            fail_msg("%s: %u limits, %u bad, %lld", cases[i].text, got.limits,
                     got.bad, (long long)got.jobs);
    }
    for (int i = 1; i < 300; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), ",[u:u%d=1]",
                 i);
    snprintf(text + strlen(text), sizeof(text) - strlen(text), "\"");
    assert_int_equal(read_queue(text).limits, 256);
    assert_int_equal(read_queue(text).bad, 1);
    assert_true(read_queue("\"enabled\":\"maybe\"").queue.enabled == UNKNOWN);
    assert_int_equal(read_queue("\"enabled\":\"True\"").queue.enabled, 1);
}

static int take_waiting(void *ctx, const struct bj_squeue_job *v)
{
    if (bj_slice_eq(v->state, BJ_SLICE("PENDING")))
        *(uint64_t *)ctx += v->jobs;
    return 0;
}

static void ignore_bad(void *ctx)
{
    (void)ctx;
}

/* The tasks of an array that wait.  The first is recorded: the start of its
 * tasks failed once, and all have ended. */
static void test_arrays(void **state)
{
    static const struct {
        const char *count, *remaining;
        uint64_t waiting;
    } cases[] = {
        {"Queued:3 Running:0 Exiting:0 Expired:1", "\"-\"", 0},
        {"Queued:1 Running:3 Exiting:0 Expired:0", "7", 1},
        {"Queued:5 Running:0 Exiting:0 Expired:1", "\"1-4,6\"", 5},
        {"Queued:5 Running:0 Exiting:0 Expired:0", "\"1-9:2\"", 5},
        {"Queued:2 Running:0 Exiting:0 Expired:0", "\"x\"", 2},
        {"Queued:2 Running:0 Exiting:0 Expired:0", "\"3-1\"", 2},
        {"Queued:2 Running:0 Exiting:0 Expired:0", "\"1-3:0\"", 2},
        {"Queued:2 Running:0 Exiting:0 Expired:0", "\"\"", 2},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t waiting = 0;
        const struct bj_pbs_live_conf conf = {
            .ctx = &waiting, .job = take_waiting, .bad = ignore_bad};
        struct bj_pbs_live *p;
        char text[300];
        snprintf(text, sizeof(text),
                 "{\"Jobs\":{\"2[].pbs\":{\"job_state\":\"B\",\"array\":"
                 "\"True\",\"array_state_count\":\"%s\","
                 "\"array_indices_remaining\":%s}}}",
                 cases[i].count, cases[i].remaining);
        assert_int_equal(bj_pbs_live_new(&conf, BJ_PBS_JOBS, &p, NULL), 0);
        assert_int_equal(bj_pbs_live_feed(p, bj_slice_str(text), NULL), 0);
        assert_int_equal(bj_pbs_live_end(p, NULL), 0);
        bj_pbs_live_free(p);
        if (waiting != cases[i].waiting)
            fail_msg("%s: %llu", cases[i].remaining,
                     (unsigned long long)waiting);
    }
}

/* States that were not recorded: from pbs_node_attributes(7B). */
static int take(void *ctx, const struct bj_sinfo_node *n)
{
    *(struct bj_sinfo_node *)ctx = *n;
    return 0;
}

static void ignore(void *ctx)
{
    (void)ctx;
}

static void test_states(void **state)
{
    static const struct {
        const char *state, *used;
        enum bj_node_base base;
        uint32_t flags;
        uint64_t idle, other;
        unsigned unknown;
    } cases[] = {
        {"free", "", BJ_NODE_IDLE, 0, 8, 0, 0},
        {"free", "\"ncpus\":3", BJ_NODE_MIXED, 0, 5, 0, 0},
        {"job-exclusive", "\"ncpus\":3", BJ_NODE_ALLOCATED, 0, 0, 5, 0},
        {"busy", "\"ncpus\":3", BJ_NODE_ALLOCATED, 0, 0, 5, 0},
        {"offline", "", BJ_NODE_IDLE, 1u << BJ_NODE_DRAIN, 0, 8, 0},
        {"state-unknown,down", "", BJ_NODE_DOWN, 0, 0, 8, 0},
        {"down,offline", "", BJ_NODE_DOWN, 1u << BJ_NODE_DRAIN, 0, 8, 0},
        {"stale", "", BJ_NODE_UNKNOWN, 0, 0, 8, 0},
        {"sleep", "", BJ_NODE_IDLE, 1u << BJ_NODE_POWERED_DOWN, 8, 0, 0},
        {"free,melting", "", BJ_NODE_IDLE, 0, 8, 0, 1},
        {"free", "\"ncpus\":\"x\"", BJ_NODE_UNKNOWN, 0, UNKNOWN, UNKNOWN, 0},
        {"", "", BJ_NODE_UNKNOWN, 0, 0, 8, 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bj_sinfo_node n = {.any_partition = false};
        const struct bj_pbs_live_conf conf = {
            .ctx = &n, .node = take, .bad = ignore};
        struct bj_pbs_live *p;
        char text[400];
        snprintf(text, sizeof(text),
                 "{\"nodes\":{\"n1\":{\"state\":\"%s\","
                 "\"resources_available\":{\"ncpus\":8},"
                 "\"resources_assigned\":{%s}}}}",
                 cases[i].state, cases[i].used);
        assert_int_equal(bj_pbs_live_new(&conf, BJ_PBS_NODES, &p, NULL), 0);
        assert_int_equal(bj_pbs_live_feed(p, bj_slice_str(text), NULL), 0);
        assert_int_equal(bj_pbs_live_end(p, NULL), 0);
        bj_pbs_live_free(p);
        if (n.state.base != cases[i].base || n.state.flags != cases[i].flags ||
            n.idle != cases[i].idle || n.other != cases[i].other ||
            n.state.unknown != cases[i].unknown)
            fail_msg("%s: base %d, flags %x, idle %lld, other %lld",
                     cases[i].state, n.state.base, n.state.flags,
                     (long long)n.idle, (long long)n.other);
        assert_int_equal(n.mem_bytes, UNKNOWN);
    }
}

/* No jobs, a command that fails, and output of another program. */
static void test_faults(void **state)
{
    struct rig r;
    (void)state;
    command("qstat", "echo '{\"timestamp\":1,\"pbs_server\":\"a\"}'");
    command("pbsnodes", "echo 'pbsnodes: cannot connect' >&2; exit 1");
    START(r, "cluster.via=pbs");
    wait_runs(&r, "nodes", 1);
    wait_runs(&r, "queue", 1);
    assert_int_equal(source(&r, "queue")->success, 1);
    assert_int_equal(list(&r, BJ_CL_JOBS)->n, 0);
    assert_int_equal(error_count(&r, "nodes", "exit"), 1);
    wait_runs(&r, "partitions", 1);
    assert_int_equal(source(&r, "partitions")->success, 1);
    assert_int_equal(list(&r, BJ_CL_PARTITIONS)->n, 0);
    rig_stop(&r);
    command("qstat", "echo '{\"Jobs\":{\"1.a\":{\"job_state\":'");
    command("pbsnodes", "echo nodes");
    START(r, "cluster.via=pbs");
    wait_runs(&r, "nodes", 1);
    wait_runs(&r, "queue", 1);
    assert_int_equal(error_count(&r, "queue", "output"), 1);
    assert_int_equal(error_count(&r, "nodes", "output"), 1);
    rig_stop(&r);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)
    const struct CMUnitTest tests[] = {TEST(test_queue),  TEST(test_nodes),
                                       TEST(test_queues), TEST(test_states),
                                       TEST(test_arrays), TEST(test_bad_queues),
                                       TEST(test_faults)};
    return cmocka_run_group_tests_name("cluster_pbs", tests, NULL, NULL);
}

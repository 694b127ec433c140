/* Parsers of the output of Slurm's commands about the whole cluster, with
 * recordings of Slurm 22.05 (tests/fixtures/cluster). */
#include "base/err.h"
#include "sched/sdiag.h"
#include "sched/sinfo.h"
#include "sched/slurmlist.h"
#include "sched/squeue.h"
#include "sched/tres.h"
#include "tests/unit/sched/test_sched.h"

#include <errno.h>

#undef FIXTURES
#define FIXTURES "tests/fixtures/cluster/"
#define S(text) bj_slice_str(text)

static void is_text(struct bj_slice s, const char *want)
{
    if (!bj_slice_eq(s, S(want)))
        fail_msg("'%.*s' is not '%s'", (int)s.n, s.p, want);
}

static void test_tasks(void **state)
{
    static const struct {
        const char *text;
        uint64_t n; /* 0: refused */
    } cases[] = {
        {"N/A", 1},
        {"", 1},
        {"7", 1},
        {"1-500%2", 500},
        {"1-40:3%2", 14},
        {"0-9:3", 4},
        {"0,2,5-7", 5},
        {"0-0", 1},
        {"4294967290-4294967295", 6},
        {"5-1", 0},
        {"1-9:0", 0},
        {"a", 0},
        {"1-", 0},
        {"1;2", 0},
        {"1,", 0},
        {"1-99999999999", 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t n = 0;
        int r = bj_squeue_tasks(S(cases[i].text), &n);
        if ((r < 0) != (cases[i].n == 0) || n != cases[i].n)
            fail_msg("%s: %llu", cases[i].text, (unsigned long long)n);
    }
}

static void test_reasons(void **state)
{
    static const char *const cases[][2] = {
        {"(ReqNodeNotAvail, UnavailableNodes:n[1-9])", "ReqNodeNotAvail"},
        {"ReqNodeNotAvail, UnavailableNodes:n[1-9]", "ReqNodeNotAvail"},
        {"Resources", "Resources"},
        {"(launch failed requeued held)", "launch failed requeued held"},
        {"Nodes required for job are DOWN, DRAINED or reserved",
         "Nodes required for job are DOWN"},
        {"", ""},
        {"()", ""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        is_text(bj_squeue_reason(S(cases[i][0])), cases[i][1]);
}

static void test_squeue(void **state)
{
    struct bj_slice all = load(FIXTURES "squeue.txt"), rest = all, line;
    struct bj_squeue_job j;
    uint64_t jobs = 0, lines = 0;
    (void)state;
    while (bj_slice_line(&rest, &line)) {
        assert_int_equal(bj_squeue_parse(line, &j), 0);
        jobs += j.jobs;
        if (lines++ == 11) {
            is_text(j.id, "3991306");
            is_text(j.state, "PENDING");
            is_text(j.partition, "test,batch");
            is_text(j.account, "physics");
            is_text(j.user, "clboris");
            is_text(j.qos, "normal");
            is_text(j.host, "localhost");
            is_text(j.reservation, "");
            is_text(j.reason,
                    "ReqNodeNotAvail, UnavailableNodes:cln02,clx[1-3]");
            assert_int_equal(j.submit_sec, 1795194467);
            assert_true(j.start_sec == BJ_ABSENT);
            assert_int_equal(j.nodes, 1);
            assert_int_equal(bj_tres_get(&j.tres, BJ_TRES_CPU), 50);
            assert_int_equal(bj_tres_get(&j.tres, BJ_TRES_MEM), 50 << 20);
        }
    }
    assert_int_equal(lines, 12);
    /* squeue -r at the same moment had 24 lines, but leaves out the last
     * task of a list with steps, which scontrol shows. */
    assert_int_equal(jobs, 25);
    free((void *)(uintptr_t)all.p);
}

/* The last field is free text: separators in it do not end it. */
static void test_squeue_lines(void **state)
{
    const char *good = "7\x1fN/A\x1fPENDING\x1fp\x1f"
                       "a\x1fu\x1fq\x1fh\x1f(null)"
                       "\x1f"
                       "1\x1fN/A\x1fN/A\x1f"
                       "2-4\x1f"
                       "cpu=1\x1fx\x1fy|\"{";
    const char *const bad[] = {
        "",
        "7",
        "x|y",
        "squeue: error: no",
        "worse",
        "x\x1fN/A\x1fPENDING\x1fp\x1f"
        "a\x1fu\x1fq\x1fh\x1f\x1f"
        "1\x1f\x1f\x1f"
        "2\x1f\x1f",
        "7\x1fN/A\x1fPENDING\x1fp\x1f"
        "a\x1fu\x1fq\x1fh\x1f\x1f"
        "1\x1f\x1f\x1f"
        "2\x1f",
        "7\x1fN/A\x1fPENDING\x1fp\x1f"
        "a\x1fu\x1fq\x1fh\x1f\x1fwhen\x1f\x1f\x1f"
        "2\x1f\x1f",
    };
    struct bj_squeue_job j;
    (void)state;
    assert_int_equal(bj_squeue_parse(S(good), &j), 0);
    is_text(j.reason, "x\x1fy|\"{");
    assert_int_equal(j.nodes, 2);
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(bj_squeue_parse(S(bad[i]), &j), -EINVAL);
}

static void test_gres(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"gpu:rtx8000:8(S:0-1)", "gpu rtx8000 8;"},
        {"gpu:4", "gpu - 4;"},
        {"tpu:0", "tpu - 0;"},
        {"gpu:(null):3(IDX:0-7)", "gpu - 3;"},
        {"gpu:tesla:2(IDX:0,2-3),gpu:a100:1(IDX:4)", "gpu tesla 2;gpu a100 1;"},
        {"(null)", ""},
        {"N/A", ""},
        {"", ""},
        {"gpu:1g.5gb:7", "gpu 1g.5gb 7;"},
        {"gpu:a100:no_consume:2", "gpu a100:no_consume 2;"},
        {"gpu:no_consume:2", "gpu - 2;"},
        {"bandwidth:lustre:4K", "bandwidth lustre 4096;"},
        {"gpu:x,gpu:2,(),:3", "gpu - 2;"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bj_slice rest = S(cases[i].text);
        struct bj_gres g;
        struct bj_buf b = {0};
        while (bj_gres_next(&rest, &g, NULL))
            bj_buf_printf(&b, "%.*s %.*s %llu;", (int)g.name.n, g.name.p,
                          g.type.n ? (int)g.type.n : 1,
                          g.type.n ? g.type.p : "-",
                          (unsigned long long)g.count);
        is_text((struct bj_slice){b.p, b.len}, cases[i].want);
        bj_buf_free(&b);
    }
}

static void test_node_states(void **state)
{
    static const struct {
        const char *text;
        uint64_t allocated, cpus;
        const char *want;
    } cases[] = {
        {"MIXED", 32, 80, "mixed"},
        {"mixed+drain", 32, 80, "mixed drain"},
        {"MIXED+DRAIN", 32, 80, "mixed drain"},
        {"down*", 0, 2, "down not_responding"},
        {"DOWN*+DRAIN", 0, 2, "down drain not_responding"},
        {"idle+planned", 0, 2, "idle planned"},
        {"idle-", 0, 2, "idle planned"},
        {"planned", 0, 2, "idle planned"},
        {"reboot^", 0, 2, "idle reboot_issued reboot_requested"},
        {"idle+reboot_issued", 0, 2, "idle reboot_issued"},
        {"idle@", 0, 2, "idle reboot_requested"},
        {"idle~", 0, 2, "idle powered_down"},
        {"idle#", 0, 2, "idle powering_up"},
        {"idle%", 0, 2, "idle powering_down"},
        {"idle!", 0, 2, "idle power_down"},
        {"maint*", 0, 80, "idle maintenance not_responding"},
        {"unknown+maintenance+reserved+not_responding", 0, 80,
         "unknown maintenance not_responding reserved"},
        {"drained", 0, 2, "idle drain"},
        {"draining", 1, 2, "mixed drain"},
        {"draining*", 2, 2, "allocated drain not_responding"},
        {"alloc", 2, 2, "allocated"},
        {"allocated+", 2, 2, "allocated completing"},
        {"completing", 0, 2, "idle completing"},
        {"IDLE+CLOUD+POWERED_DOWN", 0, 2, "idle cloud powered_down"},
        {"future", 0, 2, "future"},
        {"", 0, 2, "unknown"},
        {"purple", 0, 2, "unknown ?"},
        {"idle+purple+drain", 0, 2, "idle drain ?"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct bj_slurm_node_state s = bj_node_state_parse(
            S(cases[i].text), cases[i].allocated, cases[i].cpus);
        struct bj_buf b = {0};
        bj_buf_str(&b, bj_node_base_name(s.base));
        for (unsigned f = 0; f < BJ_NODE_FLAGS; f++)
            if (s.flags & 1u << f)
                bj_buf_printf(&b, " %s",
                              bj_node_flag_name((enum bj_node_flag)f));
        bj_buf_str(&b, s.unknown ? " ?" : "");
        is_text((struct bj_slice){b.p, b.len}, cases[i].want);
        bj_buf_free(&b);
    }
}

static void test_sinfo(void **state)
{
    struct bj_slice all = load(FIXTURES "sinfo.txt"), rest = all, line;
    struct bj_sinfo_node n;
    unsigned good = 0, bad = 0;
    (void)state;
    while (bj_slice_line(&rest, &line))
        if (bj_sinfo_parse(line, &n) < 0) {
            is_text(line, "worse"); /* a newline in a reason */
            bad++;
        } else if (good++ == 6) {
            is_text(n.name, "clx1");
            is_text(n.partition, "batch");
            is_text(n.reason, "bad\x1f"
                              "disk, \"x\" | State=IDLE");
            is_text(n.gres, "gpu:rtx8000:8");
            assert_int_equal(n.state.base, BJ_NODE_UNKNOWN);
            assert_int_equal(n.cpus, 80);
            assert_int_equal(n.other, 80);
            assert_int_equal(n.mem_bytes, 1000ull << 20);
            assert_true(n.mem_free_bytes == BJ_ABSENT);
        }
    assert_int_equal(good, 18); /* 2 nodes in 3 partitions, 3 in 4 */
    assert_int_equal(bad, 4);
    free((void *)(uintptr_t)all.p);
}

/* Who set the reason, load and weight come before the free text; older
 * recordings lack them. */
static const struct {
    const char *tail, *reason;
    uint64_t load, weight;
    const char *by; /* NULL: not known */
} tails[] = {
    {"root\x1f"
     "0.55\x1f"
     "10\x1f"
     "disk",
     "disk", 55, 10, "root"},
    {"Unknown\x1f"
     "N/A\x1f"
     "10\x1f"
     "none",
     "", BJ_ABSENT, 10, NULL},
    {"7\x1f"
     "8\x1f"
     "9\x1f"
     "fan",
     "9\x1f"
     "fan",
     700, 8, NULL},
    {"0.55\x1f"
     "10\x1f"
     "none",
     "", 55, 10, NULL},
    {"N/A\x1f"
     "1\x1f"
     "disk",
     "disk", BJ_ABSENT, 1, NULL},
    {"12\x1f"
     "4294967295\x1f"
     "0.5\x1f"
     "7\x1f"
     "fan",
     "0.5\x1f"
     "7\x1f"
     "fan",
     1200, 4294967295, NULL},
    {"none", "", BJ_ABSENT, BJ_ABSENT, NULL}, /* recorded without them */
    {"0.55", "0.55", BJ_ABSENT, BJ_ABSENT, NULL},
    {"0.55\x1f"
     "x\x1f"
     "y",
     "0.55\x1f"
     "x\x1f"
     "y",
     BJ_ABSENT, BJ_ABSENT, NULL},
};

static void test_sinfo_load(void **state)
{
    struct bj_sinfo_node n;
    (void)state;
    for (size_t i = 0; i < COUNT(tails); i++) {
        char text[200];
        snprintf(text, sizeof(text),
                 "n\x1fp\x1fidle\x1f"
                 "0/1/0/1\x1f"
                 "1\x1f"
                 "0\x1f"
                 "1\x1fg\x1fu\x1f%s",
                 tails[i].tail);
        assert_int_equal(bj_sinfo_parse(S(text), &n), 0);
        is_text(n.reason, tails[i].reason);
        is_text(n.reason_by, tails[i].by ? tails[i].by : "");
        assert_true(n.load_centi == tails[i].load);
        assert_true(n.weight == tails[i].weight);
    }
}

static uint64_t calls[2], spent[2];
static unsigned kinds[2];

static void count_rpc(void *ctx, const struct bj_sdiag_rpc *r)
{
    (void)ctx;
    kinds[r->user]++;
    calls[r->user] += r->count;
    spent[r->user] += r->total_usec;
}

static void test_sdiag(void **state)
{
    struct bj_slice all = load(FIXTURES "sdiag.txt");
    struct bj_sdiag d;
    (void)state;
    assert_int_equal(bj_sdiag_parse(all, &d, count_rpc, NULL), 0);
    assert_int_equal(d.since_sec, 1795171867);
    assert_int_equal(d.server_threads, 3);
    assert_int_equal(d.dbd_queue, 0);
    assert_int_equal(d.jobs_submitted, 10);
    assert_int_equal(d.jobs_started, 5);
    assert_int_equal(d.cycle_last_usec, 165);
    assert_int_equal(d.cycle_mean_usec, 98);
    assert_int_equal(d.cycles, 3);
    assert_int_equal(d.bf_jobs, 4);
    assert_int_equal(d.bf_last_sec, 1795171876);
    assert_int_equal(d.bf_last_usec, 220);
    assert_int_equal(d.bf_max_usec, 831);
    assert_int_equal(d.bf_depth_try, 2);
    assert_int_equal(d.bf_table, 3);
    assert_int_equal(d.bf_table_mean, 2);
    /* awk over the file: 19 kinds, 131 calls; 4 users, 131 calls */
    assert_int_equal(kinds[0], 19);
    assert_int_equal(kinds[1], 4);
    assert_int_equal(calls[0], 131);
    assert_int_equal(calls[1], 131);
    assert_int_equal(spent[1], 261234 + 34504 + 5421 + 1725);
    assert_int_equal(bj_sdiag_parse(S("what\nis this"), &d, NULL, NULL),
                     -EINVAL);
    free((void *)(uintptr_t)all.p);
}

static void test_licenses(void **state)
{
    struct bj_license l;
    (void)state;
    assert_int_equal(
        bj_license_parse(S("LicenseName=abaqus@srv Total=20 Used=3 Free=17 "
                           "Reserved=1 Remote=no"),
                         &l),
        0);
    is_text(l.name, "abaqus@srv");
    assert_int_equal(l.used, 3);
    assert_int_equal(l.reserved, 1);
    assert_true(l.last_consumed == BJ_ABSENT && l.last_deficit == BJ_ABSENT);
    /* A remote license, as newer versions of scontrol print it. */
    assert_int_equal(
        bj_license_parse(S("LicenseName=ansys@db Total=50 Used=4 Free=46 "
                           "Reserved=0 Remote=yes LastConsumed=31 "
                           "LastDeficit=7 LastUpdate=2026-11-20T10:00:00"),
                         &l),
        0);
    assert_int_equal(l.last_consumed, 31);
    assert_int_equal(l.last_deficit, 7);
    assert_int_equal(
        bj_license_parse(S("No licenses configured in Slurm."), &l), -ENOENT);
    assert_int_equal(bj_license_parse(S("<html>"), &l), -EINVAL);
}

static void test_lists(void **state)
{
    struct bj_reservation v;
    struct bj_share s;
    struct bj_limits m;
    (void)state;
    struct bj_slice all = load(FIXTURES "reservations.txt"), rest = all, line;
    const char *const names[] = {"maint1", "weird-1", "maint2"};
    for (int i = 0; i < 3; i++) {
        assert_true(bj_slice_line(&rest, &line));
        assert_int_equal(bj_reservation_parse(line, &v), 0);
        is_text(v.name, names[i]);
        is_text(v.state, i == 1 ? "INACTIVE" : "ACTIVE");
    }
    is_text(v.nodes, "clx[1-2]");
    assert_int_equal(v.start_sec, 1795195561);
    assert_int_equal(v.end_sec, 1795199161);
    assert_int_equal(v.node_count, 2);
    assert_int_equal(v.core_count, 160);
    assert_int_equal(
        bj_reservation_parse(S("No reservations in the system"), &v), -ENOENT);
    free((void *)(uintptr_t)all.p);
    assert_int_equal(
        bj_share_parse(S("  physics|alice|1|120|0.031250|0.500000|1.000000"),
                       &s),
        0);
    is_text(s.account, "physics");
    is_text(s.user, "alice");
    assert_int_equal(s.norm_ppm, 31250);
    assert_int_equal(s.used_ppm, 500000);
    assert_int_equal(s.fairshare_ppm, 1000000);
    assert_int_equal(bj_share_parse(S("x||parent|0||0.0|inf"), &s), 0);
    assert_true(s.shares == BJ_ABSENT && s.fairshare_ppm == BJ_ABSENT);
    assert_int_equal(bj_share_parse(S("x||1|0||0.0||1.25"), &s), 0);
    assert_int_equal(s.level_ppm, 1250000);
    assert_int_equal(bj_share_parse(S("x||1|0||0.0||inf"), &s), 0);
    assert_true(s.level_ppm == BJ_ABSENT);
    assert_int_equal(bj_share_parse(S("a|b|c"), &s), -EINVAL);
    assert_int_equal(
        bj_limits_parse(S("c|chem|||3||||cpu=8,mem=2G,gres/gpu=2|"), &m), 0);
    assert_int_equal(m.jobs, 3);
    assert_true(m.submit == BJ_ABSENT);
    assert_int_equal(bj_tres_get(&m.group, BJ_TRES_MEM), 2ull << 30);
    all = load(FIXTURES "config.txt");
    is_text(bj_slurm_cluster(all), "sandbox");
    is_text(bj_slurm_cluster(S("ClusterName = \nx")), "");
    free((void *)(uintptr_t)all.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tasks),  cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_squeue), cmocka_unit_test(test_squeue_lines),
        cmocka_unit_test(test_gres),   cmocka_unit_test(test_node_states),
        cmocka_unit_test(test_sinfo),  cmocka_unit_test(test_sinfo_load),
        cmocka_unit_test(test_sdiag),  cmocka_unit_test(test_licenses),
        cmocka_unit_test(test_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Rules: conditions, overrides, errors, and the built-in rules compared with
 * the tables of the sites from which they come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the includes above */
#include <cmocka.h>

#include "sched/job.h"
#include "statsdb/derive/rule_impl.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void unknown(double *fact)
{
    for (int i = 0; i < BJ_FACT_COUNT; i++)
        fact[i] = (double)NAN;
}

static const struct {
    const char *row;
    int holds; /* -1: refused */
} row_cases[] = {
    {"cpus > 3", 1},
    {"cpus > 4", 0},
    {"cpus >= 4", 1},
    {"cpus=4", 1},
    {"cpus != 4", 0},
    {" cpus<=4 ", 1},
    {"cpus < 4.5", 1},
    {"mem_peak < 2G", 1},
    {"mem_peak = 1G", 1},
    {"mem_peak = 1024M", 1},
    {"runtime = 1h", 1},
    {"runtime = 60m", 1},
    {"cpu_efficiency < 50%", 1},
    {"cpu_efficiency > -1", 1},
    {"cpus > $limit", 1},
    {"threads > 2 * cpus", 1},
    {"threads > 3 * cpus", 0},
    {"threads > $limit * cpus", 1},
    {"threads > cpus", 1},
    {"cpus / nodes = 2", 1},
    {"mem_peak / cpus = 256M", 1},
    {"cpus > threads / nodes", 0},
    {"state = completed", 1},
    {"state != completed", 0},
    {"state = oom", 0},
    /* a condition with an unknown value or a division by 0 does not hold */
    {"gpu_efficiency < 50", 0},
    {"gpu_efficiency != 50", 0},
    {"cpus / gpus < 1000", 0},
    {"cpus > 0 * gpu_efficiency", 0},
    /* not a condition */
    {"", -1},
    {"cpus", -1},
    {"cpus >", -1},
    {"> 4", -1},
    {"cpus => 4", -1},
    {"cpus == 4", -1},
    {"cpus > 4 5", -1},
    {"cpus > 4 and nodes > 1", -1},
    {"cpus > nosuch", -1},
    {"nosuch > 1", -1},
    {"cpus > $nosuch", -1},
    {"cpus > 4x", -1},
    {"cpus > 1 * 2", -1},
    {"cpus > 1 / 2", -1},
    {"cpus * 2 > 1", -1},
    {"cpus > (1)", -1},
    {"cpus > 1e999", -1},
    {"state < oom", -1},
    {"state = nosuch", -1},
    {"state = 4", -1},
    {"state / cpus = oom", -1},
    {"cpus > system('x')", -1},
};

static void test_rows(void **state)
{
    (void)state;
    double fact[BJ_FACT_COUNT], a, b;
    unknown(fact);
    fact[BJ_FACT_CPUS] = 4;
    fact[BJ_FACT_NODES] = 2;
    fact[BJ_FACT_GPUS] = 0;
    fact[BJ_FACT_THREADS] = 9;
    fact[BJ_FACT_MEM_PEAK] = 1 << 30;
    fact[BJ_FACT_RUNTIME] = 3600;
    fact[BJ_FACT_CPU_EFFICIENCY] = 49;
    fact[BJ_FACT_STATE] = BJ_STATE_COMPLETED;
    const struct bj_threshold set[] = {{BJ_SLICE("limit"), 2}};
    for (size_t i = 0; i < sizeof(row_cases) / sizeof(row_cases[0]); i++) {
        struct bj_rule_row row;
        struct bj_err err = {0};
        int r = bj_rule_row(bj_slice_str(row_cases[i].row), set, 1, &row, &err);
        int got = r < 0 ? -1 : bj_rule_row_holds(&row, fact, &a, &b);
        if (got != row_cases[i].holds)
            fail_msg("%s: %d, %s", row_cases[i].row, got, err.msg);
        assert_true(r == 0 || (r == -EINVAL && err.msg[0]));
    }
}

static size_t judged(const struct bj_rules *r, const char *cluster,
                     const char *partition, const double *fact,
                     struct bj_rule_match *found, size_t max)
{
    const struct bj_rule_job job = {bj_slice_str(cluster),
                                    bj_slice_str(partition), BJ_SLICE("q")};
    return bj_rules_judge(r, &job, &(struct bj_rule_facts){0, fact, NULL}, 1,
                          found, max);
}

/* Check the names of the findings, separated by blanks. */
static void judge(const struct bj_rules *r, const char *cluster,
                  const char *partition, const double *fact, const char *want)
{
    struct bj_rule_match found[BJ_RULES_MAX];
    char got[1000] = "";
    size_t n = judged(r, cluster, partition, fact, found, BJ_RULES_MAX);
    for (size_t i = 0, len = 0; i < n; i++)
        len += (size_t)snprintf(got + len, sizeof(got) - len, "%s%s",
                                i ? " " : "", found[i].rule->name);
    assert_string_equal(got, want);
}

static const char site[] = "rules:\n"
                           "- name: cpu_low\n"
                           "  partition: [debug, short]\n"
                           "  enabled: false\n"
                           "- name: cpu_low\n"
                           "  cluster: beta\n"
                           "  set: {percent: 90}\n"
                           "  severity: critical\n"
                           "- name: own\n"
                           "  severity: warning\n"
                           "  when:\n"
                           "  - wait > $hours\n"
                           "  - restarts >= 1\n"
                           "  set: {hours: 2h}\n"
                           "  text: \"waited {value} s\"\n";

static void test_overrides(void **state)
{
    (void)state;
    struct bj_rules *plain, *r;
    struct bj_err err = {0};
    double fact[BJ_FACT_COUNT];
    assert_int_equal(bj_rules_text("", BJ_SLICE(""), &plain, &err), 0);
    if (bj_rules_text("site.yml", bj_slice_str(site), &r, &err) < 0)
        fail_msg("%s", err.msg);
    assert_string_not_equal(bj_rules_sign(plain), bj_rules_sign(r));
    unknown(fact);
    fact[BJ_FACT_RUNTIME] = 1000;
    fact[BJ_FACT_GPUS] = 0;
    fact[BJ_FACT_CPU_EFFICIENCY] = 70;
    judge(plain, "alpha", "debug", fact, "cpu_low");
    judge(r, "alpha", "long", fact, "cpu_low");
    judge(r, "alpha", "debug", fact, "");
    /* the last override that matches counts */
    judge(r, "beta", "debug", fact, "cpu_low");
    fact[BJ_FACT_CPU_EFFICIENCY] = 85;
    judge(r, "alpha", "long", fact, "");
    judge(r, "beta", "long", fact, "cpu_low");
    fact[BJ_FACT_WAIT] = 7201;
    fact[BJ_FACT_RESTARTS] = 1;
    struct bj_rule_match found[4];
    assert_int_equal(judged(r, "beta", "long", fact, found, 4), 2);
    assert_string_equal(found[0].rule->severity, "critical");
    assert_true(found[0].threshold > 89.9 && found[0].threshold < 90.1);
    assert_string_equal(found[0].rule->condition,
                        "runtime > 300 and gpus = 0 and cpu_efficiency >= 65"
                        " and cpu_efficiency <= 90");
    assert_string_equal(found[1].rule->name, "own");
    assert_string_equal(found[1].rule->condition,
                        "wait > 7200 and restarts >= 1");
    assert_int_equal(judged(r, "beta", "long", fact, found, 1), 1);
    bj_rules_free(plain);
    bj_rules_free(r);
}

static void test_refused(void **state)
{
    static const struct {
        const char *yaml, *msg;
    } cases[] = {
        {"rules: 1\n", "f:1:8: a list"},
        {"x: 1\n", "f:1:1: rules: is expected"},
        {"- a\n", "f:1:1: rules: is expected"},
        {"rules:\n- 7\n", "f:2:3: a rule"},
        {"rules:\n- severity: info\n", "f:2:3: a rule needs a name"},
        {"rules:\n- name: n\n  when: [cpus > 1]\n", "needs a text"},
        {"rules:\n- name: n\n  text: t\n", "needs rows"},
        {"rules:\n- name: n\n  text: t\n  when: [cpus > ]\n", "f:2:3: "},
        {"rules:\n- name: n\n  text: t\n  eval: x\n",
         "f:4:3: 'eval' is unknown; expected name, severity, "},
        {"rules:\n- name: n\n  text: t\n  severty: x\n",
         "f:4:3: 'severty' is unknown; did you mean 'severity'?"},
        {"rules:\n- name: n\n  text: t\n  when: [cpuss > 1]\n",
         "there is no fact 'cpuss'; did you mean 'cpus'?"},
        {"rules:\n- name: cpu_lo\n  enabled: false\n",
         "f:2:3: there is no rule 'cpu_lo'; did you mean 'cpu_low'?"},
        {"rules:\n- name: n\n  text: t\n  severity: x\n",
         "f:4:13: 'x' is unknown; expected info, "},
        {"rules:\n- name: n\n  set: {a: b}\n", "f:3:12: a number"},
        {"rules:\n- name: n\n  enabled: 7\n", "f:3:12: true or false"},
        {"rules:\n- name: n\n  text: [t]\n", "f:3:9: a text"},
        {"rules:\n- name: n\n  url: javascript:x\n", "f:3:8: a URL with"},
        {"rules:\n- name: cpu_low\n  when: [a,b,c,d,e,f,g,h,i]\n",
         "f:3:26: the list is too long"},
        {"rules:\n- name: [\n", "f:3:1: "},
        {"rules: []\n---\nrules: []\n", "f:2:1: a second document"},
        {"rules:\n- &a [*a]\n", "f:2:3: a rule"},
        {"\xff", "f:"},
        {"rules: [[[[[[[[[[[[", "f:1:11: nested too deep"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bj_rules *r;
        struct bj_err err = {0};
        assert_int_equal(
            bj_rules_text("f", bj_slice_str(cases[i].yaml), &r, &err), -EINVAL);
        if (!strstr(err.msg, cases[i].msg))
            fail_msg("%s: %s", cases[i].yaml, err.msg);
    }
    /* files */
    char path[] = "/tmp/bj-rules-XXXXXX";
    struct bj_rules *r;
    struct bj_err err = {0};
    int fd = mkstemp(path);
    assert_int_equal(write(fd, site, strlen(site)), strlen(site));
    assert_int_equal(fchmod(fd, 0600), 0);
    close(fd);
    assert_int_equal(bj_rules_load(path, &r, &err), 0);
    bj_rules_free(r);
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(bj_rules_load(path, &r, &err), -EPERM);
    unlink(path);
    assert_int_equal(bj_rules_load(path, &r, &err), -EINVAL);
}

/* Facts of an efficient job with 64 CPUs on two nodes. */
static void good(double *fact)
{
    unknown(fact);
    fact[BJ_FACT_STATE] = BJ_STATE_COMPLETED;
    fact[BJ_FACT_RUNTIME] = 10000;
    fact[BJ_FACT_TIME_EFFICIENCY] = 80;
    fact[BJ_FACT_NODES] = 2;
    fact[BJ_FACT_CPUS] = 64;
    fact[BJ_FACT_GPUS] = 0;
    fact[BJ_FACT_INTERACTIVE] = 0;
    fact[BJ_FACT_CPU_EFFICIENCY] = 95;
    fact[BJ_FACT_CPUS_BUSY] = 60;
    fact[BJ_FACT_CPU_EVENNESS] = 90;
    fact[BJ_FACT_MEM_ALLOCATED] = 512.0 * (1 << 30);
    fact[BJ_FACT_MEM_PEAK] = 450.0 * (1 << 30);
    fact[BJ_FACT_MEM_EFFICIENCY] = 88;
    fact[BJ_FACT_NODES_UNUSED] = 0;
    fact[BJ_FACT_THREADS] = 70;
    fact[BJ_FACT_OPEN_FILES] = 100;
    fact[BJ_FACT_IO_BYTES] = 1e9;
    fact[BJ_FACT_SCRATCH_FILES] = 3;
    fact[BJ_FACT_CORE_MIN] = 95;
    fact[BJ_FACT_OOM_KILLS] = 0;
}

/* Changes of the good job, and the resulting findings. */
static const struct {
    const char *change, *found;
} site_cases[] = {
    {"", ""},
    /* petricore: scratch, small I/O, CPU, evenness, memory, cores, threads
     */
    {"hardware_failed=1 gpu_fault=3", "gpu_hardware"},
    {"hardware_failed=1 gpu_fault=2", ""},
    {"hardware_failed=0 gpu_fault=4", "gpu_suspect"},
    {"hardware_failed=0 gpu_fault=3", ""},
    {"mem_remote=30.1", "memory_remote"},
    {"mem_remote=30", ""},
    {"mem_remote=90 runtime=600", ""},
    {"scratch_files=0", "scratch_unused"},
    {"scratch_files=0 runtime=100", ""},
    {"open_files=1000 io_bytes=4999999999", "small_io"},
    {"open_files=999 io_bytes=1", ""},
    {"open_files=1000 io_bytes=5000000000", ""},
    {"cpu_efficiency=79.9", "cpu_low"},
    {"cpu_efficiency=80.1", ""},
    {"cpu_evenness=74.9", "cpu_uneven"},
    {"core_min=89.9", "core_imbalance"},
    {"core_min=90", ""},
    {"threads=129", "threads"},
    {"threads=128", ""},
    /* jobstats */
    {"cpu_efficiency=64.9", "cpu_very_low"},
    {"cpu_efficiency=65", "cpu_low"},
    {"cpu_efficiency=10 runtime=300", ""},
    {"nodes_unused=1 cpu_efficiency=40", "nodes_unused"},
    {"gpus=4 gpus_unused=1 gpu_efficiency=0 nodes=1",
     "gpus_unused cpus_per_gpu"},
    {"gpus=4 gpu_efficiency=90 nodes=1 mem_efficiency=80 cpus=40",
     "memory_per_gpu"},
    {"gpus=8 gpu_efficiency=90 nodes=1 mem_efficiency=60", "memory_low_gpu"},
    {"gpus=8 gpu_efficiency=15 cpu_efficiency=5", "gpu_very_low"},
    {"gpus=8 gpu_efficiency=15.1", "gpu_low"},
    {"gpus=8 gpu_efficiency=25", ""},
    {"gpus=8 gpu_efficiency=10 interactive=1 runtime=28801",
     "gpu_low_interactive"},
    {"gpus=8 gpu_efficiency=10 interactive=1", ""},
    {"state=8 out_of_memory=1", "oom"},
    {"state=5 out_of_memory=1 oom_steps=1 oom_kills=1", "oom"},
    {"out_of_memory=0 oom_kills=2", "oom_kills"},
    {"out_of_memory=0 oom_kills=2 oom_steps=1", "oom_kills"},
    {"out_of_memory=0 oom_steps=1", "oom_steps"},
    {"state=7", "timeout"},
    {"state=7 nodes_unused=1", "nodes_unused"},
    {"time_efficiency=59.9", "time_limit_too_long"},
    {"time_efficiency=10", "time_limit_far_too_long"},
    {"time_efficiency=10 runtime=900", ""},
    {"cpus=8 mem_peak=1000000000 threads=8 mem_allocated=32000000000",
     "too_many_nodes"},
    {"gpus=2 gpu_efficiency=90 cpus=16 threads=16 "
     "mem_allocated=32000000000",
     "gpu_spread"},
    {"mem_efficiency=69", "memory_low"},
    {"mem_efficiency=69 mem_allocated=100000000000", ""},
    {"nodes=1 cpus_busy=0.99 cpu_efficiency=2", "serial_many_cpus"},
    {"cpu_efficiency=130", "cpu_over_100"},
    {"mem_efficiency=130", "memory_over_100"},
    {"energy=2000000 energy_used=100000 energy_reserved=310000",
     "energy_reserved"},
    /* uneven work */
    {"nodes_uneven=1 node_deviation=20.1", "nodes_uneven"},
    {"nodes_uneven=1 node_deviation=20", ""},
    {"nodes_uneven=1 node_deviation=90 runtime=600", ""},
    {"nodes_uneven=0 node_deviation=0", ""},
    {"nodes_uneven=1 node_deviation=99 nodes_unused=1", "nodes_unused"},
    {"gpus=8 gpu_efficiency=80 gpus_uneven=1 gpu_deviation=20.1",
     "gpus_uneven"},
    {"gpus=8 gpu_efficiency=80 gpus_uneven=1 gpu_deviation=20", ""},
    {"gpus=8 gpu_efficiency=15 gpus_uneven=1 gpu_deviation=90", "gpu_very_low"},
    /* leaks */
    {"out_of_memory=0 mem_steady=80.1 mem_growth=10.1 mem_forecast=100.1 "
     "mem_rise=1",
     "leak"},
    {"out_of_memory=0 mem_steady=80 mem_growth=90 mem_forecast=900 mem_rise=1",
     ""},
    {"out_of_memory=0 mem_steady=99 mem_growth=10 mem_forecast=900 mem_rise=1",
     ""},
    {"out_of_memory=0 mem_steady=99 mem_growth=90 mem_forecast=100 mem_rise=1",
     ""},
    {"state=8 out_of_memory=1 mem_steady=80.1 mem_growth=30.1 mem_rise=1",
     "oom oom_leak"},
    {"state=8 out_of_memory=1 mem_steady=80 mem_growth=90 mem_rise=1", "oom"},
    /* times without use */
    {"state=5 out_of_memory=0 idle_end=1001", "hang"},
    {"state=5 out_of_memory=0 idle_end=1000", ""},
    {"state=5 out_of_memory=0 idle_end=600 runtime=2000", ""},
    {"state=5 out_of_memory=0 idle_end=601 runtime=2000", "hang"},
    {"state=7 out_of_memory=0 idle_end=5000", "hang timeout"},
    {"state=7 out_of_memory=0 idle_end=5000 interactive=1", "timeout"},
    {"idle_end=1001", "idle_end"},
    {"idle_end=1000", ""},
    {"idle_start=1001", "idle_start"},
    {"idle_start=1000", ""},
};

/* The good job, changed by "fact=value ...". */
static void change_job(const char *change, double *fact)
{
    struct bj_slice rest = bj_slice_str(change), w, name;
    good(fact);
    while (bj_slice_word(&rest, &w) && bj_slice_field(&w, '=', &name)) {
        int f = bj_fact_find(name);
        assert_true(f >= 0);
        assert_int_equal(bj_rule_number(w, &fact[f]), 0);
    }
    print_message("# %s\n", change);
}

/* With examples/findings-petricore.yml only its seven checks apply. */
static void test_petricore(void **state)
{
    static const struct {
        const char *change, *found;
    } cases[] = {
        {"", ""},
        {"scratch_files=0 runtime=1", "petricore_scratch"},
        {"open_files=1000 io_bytes=5242879999", "petricore_small_io"},
        {"open_files=1000 io_bytes=5242880000", ""},
        {"open_files=999 io_bytes=1", ""},
        {"cpu_efficiency=79.9", "petricore_cpu"},
        {"cpu_efficiency=80", ""},
        {"cpu_evenness=74.9", "petricore_cpu_uneven"},
        {"cpu_evenness=75", ""},
        {"mem_efficiency=0.94", "petricore_memory"},
        {"mem_efficiency=0.95", ""},
        {"core_min=89.9", "petricore_cores"},
        {"core_min=90", ""},
        {"threads=129", "petricore_threads"},
        {"threads=128", ""},
        {"state=8 out_of_memory=1 gpus=8 gpus_unused=8 gpu_efficiency=0", ""},
    };
    struct bj_rules *r;
    struct bj_err err = {0};
    (void)state;
    if (bj_rules_load("examples/findings-petricore.yml", &r, &err) < 0)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        double fact[BJ_FACT_COUNT];
        change_job(cases[i].change, fact);
        judge(r, "c", "p", fact, cases[i].found);
    }
    /* Every built-in rule is off. */
    for (size_t i = 0; i < sizeof(site_cases) / sizeof(site_cases[0]); i++) {
        double fact[BJ_FACT_COUNT];
        struct bj_rule_match found[BJ_RULES_MAX];
        change_job(site_cases[i].change, fact);
        size_t n = judged(r, "c", "p", fact, found, BJ_RULES_MAX);
        for (size_t k = 0; k < n; k++)
            assert_memory_equal(found[k].rule->name, "petricore_", 10);
    }
    uint32_t window[BJ_RULE_WINDOWS];
    assert_int_equal(bj_rules_windows(r, window), 0);
    bj_rules_free(r);
}

static void test_builtin(void **state)
{
    (void)state;
    struct bj_rules *r;
    struct bj_err err = {0};
    if (bj_rules_text("", BJ_SLICE(""), &r, &err) < 0)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < sizeof(site_cases) / sizeof(site_cases[0]); i++) {
        double fact[BJ_FACT_COUNT];
        change_job(site_cases[i].change, fact);
        judge(r, "c", "p", fact, site_cases[i].found);
    }
    /* a job without known facts has no findings */
    double fact[BJ_FACT_COUNT];
    unknown(fact);
    judge(r, "c", "p", fact, "");
    bj_rules_free(r);
}

/* For all jobs above, the trace of a rule agrees with the findings and with its
 * conditions. */
static void test_trace(void **state)
{
    (void)state;
    struct bj_rules *r;
    struct bj_err err = {0};
    assert_int_equal(bj_rules_text("site", bj_slice_str(site), &r, &err), 0);
    for (size_t i = 0; i < sizeof(site_cases) / sizeof(site_cases[0]); i++) {
        const struct bj_rule_job job = {BJ_SLICE("c"), BJ_SLICE("p"),
                                        BJ_SLICE("")};
        double fact[BJ_FACT_COUNT];
        change_job(site_cases[i].change, fact);
        const struct bj_rule_facts facts = {0, fact, NULL};
        struct bj_rule_match found[BJ_RULES_MAX];
        struct bj_rule_trace t;
        size_t n = bj_rules_judge(r, &job, &facts, 1, found, BJ_RULES_MAX);
        size_t at = 0, applied = 0, seen = 0;
        for (; bj_rules_trace(r, &at, &job, fact, found, n, &t); seen++) {
            bool all = t.rule->enabled;
            for (unsigned k = 0; k < t.rule->rows; k++)
                all = all && t.row[k].holds;
            assert_int_equal(t.applies, all && !t.unless);
            applied += t.applies;
        }
        assert_int_equal(applied, n);
        assert_true(seen > 25);
    }
    bj_rules_free(r);
}

static void test_trace_values(void **state)
{
    static const char *const texts[] = {"wait > 7200", "restarts >= 1"};
    const struct bj_rule_job job = {BJ_SLICE("beta"), BJ_SLICE("short"),
                                    BJ_SLICE("")};
    (void)state;
    struct bj_rules *r;
    struct bj_err err = {0};
    struct bj_rule_trace t;
    double fact[BJ_FACT_COUNT];
    size_t at = 0;
    assert_int_equal(bj_rules_text("site", bj_slice_str(site), &r, &err), 0);
    good(fact);
    fact[BJ_FACT_WAIT] = 7201;
    while (bj_rules_trace(r, &at, &job, fact, NULL, 0, &t) &&
           strcmp(t.rule->name, "own") != 0)
        /* The rule of the cluster replaces that of the partition. */
        if (strcmp(t.rule->name, "cpu_low") == 0)
            assert_string_equal(t.rule->severity, "critical");
    assert_string_equal(t.rule->name, "own");
    assert_int_equal(t.rule->rows, 2);
    for (unsigned i = 0; i < 2; i++)
        assert_true(bj_slice_eq(t.row[i].text, bj_slice_str(texts[i])));
    assert_true(t.row[0].holds);
    assert_int_equal(t.row[0].left, 7201);
    assert_int_equal(t.row[0].right, 7200);
    assert_false(t.row[1].holds);
    assert_true(isnan(t.row[1].left));
    assert_false(bj_rules_trace(r, &at, &job, fact, NULL, 0, &t));
    bj_rules_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),         cmocka_unit_test(test_overrides),
        cmocka_unit_test(test_refused),      cmocka_unit_test(test_builtin),
        cmocka_unit_test(test_petricore),    cmocka_unit_test(test_trace),
        cmocka_unit_test(test_trace_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

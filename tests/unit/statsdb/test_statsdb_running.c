/* Findings on running jobs: without current data of all nodes there are none,
 * and no job is cancelled unless a warning was sent long enough before. */
#include "base/log.h"
#include "statsdb/derive/rule.h"
#include "statsdb/running/running_impl.h"
#include "store/db.h"
#include "tests/unit/lib/rounds.h"
#include "tests/unit/statsdb/test_statsdb.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NOW = 1000000, HOUR = 3600, GRACE = 300, TRIES = 20000 };

static unsigned seed = 12345;

static unsigned rnd(unsigned n)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 16) % n;
}

/* A job that holds two GPUs and four CPUs and does nothing. */
static struct bj_running_job idle(void)
{
    struct bj_running_job j = {.jobid = BJ_SLICE("1"),
                               .partition = BJ_SLICE("gpu"),
                               .start_sec = NOW - 2 * HOUR,
                               .nodes = 2,
                               .cpus = 4,
                               .gpus = 2,
                               .memory = 1 << 30,
                               .limit_sec = 86400};
    for (int i = 0; i < BJ_RUNNING_VALUES; i++)
        j.v[i] = 0;
    j.v[BJ_RV_NODES] = j.v[BJ_RV_COVERED] = j.v[BJ_RV_FRESH] = 2;
    j.v[BJ_RV_IO_NODES] = j.v[BJ_RV_GPUS] = j.v[BJ_RV_GPU_COVERED] = 2;
    j.v[BJ_RV_GPUS_UNUSED] = j.v[BJ_RV_NODES_UNUSED] = 2;
    return j;
}

/* The findings of a job, with its facts in each window of the rules. */
static size_t judged(const struct bj_rules *rules,
                     const struct bj_running_job *j,
                     struct bj_rule_match found[BJ_RUNNING_FOUND])
{
    double fact[BJ_RULE_WINDOWS][BJ_FACT_COUNT];
    struct bj_rule_facts facts[BJ_RULE_WINDOWS];
    uint32_t window[BJ_RULE_WINDOWS];
    const struct bj_rule_job job = {BJ_SLICE("c"), j->partition, BJ_SLICE("q")};
    unsigned n = bj_rules_windows(rules, window);
    for (unsigned i = 0; i < n; i++) {
        bj_running_facts(j, window[i], GRACE, NOW, fact[i]);
        facts[i] = (struct bj_rule_facts){window[i], fact[i], NULL};
    }
    return bj_rules_judge(rules, &job, facts, n, found, BJ_RUNNING_FOUND);
}

static struct bj_rules *builtin(void)
{
    struct bj_rules *rules;
    assert_int_equal(bj_rules_text("", BJ_SLICE(""), &rules, NULL), 0);
    return rules;
}

static void test_idle(void **state)
{
    (void)state;
    struct bj_rules *rules = builtin();
    struct bj_rule_match found[BJ_RUNNING_FOUND];
    struct bj_running_job j = idle();
    assert_int_equal(judged(rules, &j, found), 2);
    assert_string_equal(found[0].rule->name, "running_no_progress");
    assert_string_equal(found[1].rule->name, "running_gpus_unused");
    assert_true(found[1].value > 1.9 && found[1].value < 2.1);
    assert_string_equal(
        found[1].rule->text,
        "The job has not used {value} of its GPUs for 1 h{names}.");
    bj_rules_free(rules);
}

/* If one required value is missing or wrong, there is no finding, whatever the
 * other values are. */
static void test_missing_values(void **state)
{
    (void)state;
    struct bj_rules *rules = builtin();
    struct bj_rule_match found[BJ_RUNNING_FOUND];
    for (unsigned i = 0; i < TRIES; i++) {
        struct bj_running_job j = idle();
        for (int k = BJ_RV_CPU; k < BJ_RUNNING_VALUES; k++)
            j.v[k] = rnd(3) == 0   ? BJ_SQL_NULL
                     : rnd(2) == 0 ? (int64_t)rnd(3)
                                   : (int64_t)rnd(1000000) * rnd(1000000);
        static const int counts[] = {BJ_RV_NODES, BJ_RV_COVERED, BJ_RV_FRESH};
        int64_t *count = &j.v[counts[rnd(3)]];
        switch (rnd(6)) {
        case 0: /* missing, or too many */
            *count = rnd(2) == 0 ? BJ_SQL_NULL : *count + 1 + rnd(3);
            break;
        case 1:
            *count -= 1 + rnd(2);
            break;
        case 2: /* another run may have left samples */
            j.start_sec = NOW - rnd(60);
            break;
        case 3:
            j.suspended_sec = 1 + rnd(100);
            break;
        case 4: /* two jobs, or two responses */
            j.ambiguous = true;
            break;
        default: /* accounting does not report how many nodes */
            j.nodes = rnd(2) == 0 ? BJ_SQL_NULL : 0;
            break;
        }
        assert_int_equal(judged(rules, &j, found), 0);
    }
    bj_rules_free(rules);
}

/* With any samples, even impossible ones, each finding agrees with them: a job
 * that does work is never reported as idle. */
static void test_random_samples(void **state)
{
    (void)state;
    struct bj_rules *rules = builtin();
    struct bj_rule_match found[BJ_RUNNING_FOUND];
    unsigned seen = 0;
    for (unsigned i = 0; i < TRIES; i++) {
        struct bj_running_job j = idle();
        for (int k = BJ_RV_IO_NODES; k < BJ_RUNNING_VALUES; k++)
            j.v[k] = rnd(4) == 0   ? BJ_SQL_NULL
                     : rnd(3) == 0 ? (int64_t)rnd(3)
                     : rnd(8) == 0 ? -(int64_t)rnd(1000)
                                   : (int64_t)rnd(30000) * rnd(30000);
        size_t n = judged(rules, &j, found);
        for (size_t f = 0; f < n; f++) {
            const char *name = found[f].rule->name;
            bool no_progress = strcmp(name, "running_no_progress") == 0;
            seen++;
            if (no_progress || strcmp(name, "running_gpus_unused") == 0)
                assert_true(j.v[BJ_RV_GPUS_UNUSED] >= (no_progress ? 2 : 1) &&
                            j.v[BJ_RV_GPUS] == 2 &&
                            j.v[BJ_RV_GPU_COVERED] == 2);
            if (no_progress) /* a thousandth of a CPU for half an hour */
                assert_true(j.v[BJ_RV_CPU] >= 0 &&
                            j.v[BJ_RV_CPU] < 1800 * 1000 &&
                            j.v[BJ_RV_IO] >= 0 && j.v[BJ_RV_IO] < 1000000 &&
                            j.v[BJ_RV_IO_NODES] == 2);
            if (strcmp(name, "running_nodes_unused") == 0)
                assert_true(j.v[BJ_RV_NODES_UNUSED] >= 1);
            if (strcmp(name, "running_memory_limit") == 0)
                assert_true(j.v[BJ_RV_MEM_SHARE] > 950000);
        }
    }
    assert_true(seen > 1000);
    bj_rules_free(rules);
}

/* If accounting and exporters disagree on the GPUs, there is no finding on
 * GPUs. */
static void test_gpus(void **state)
{
    (void)state;
    struct bj_rules *rules = builtin();
    struct bj_rule_match found[BJ_RUNNING_FOUND];
    for (int gpus = 0; gpus < 4; gpus++)
        for (int seen = 0; seen < 4; seen++)
            for (int covered = 0; covered <= seen; covered++) {
                struct bj_running_job j = idle();
                j.gpus = gpus;
                j.v[BJ_RV_GPUS] = seen > 0 ? seen : BJ_SQL_NULL;
                j.v[BJ_RV_GPU_COVERED] = covered > 0 ? covered : BJ_SQL_NULL;
                j.v[BJ_RV_GPUS_UNUSED] = gpus;
                size_t n = judged(rules, &j, found);
                bool agree = seen == gpus && covered == gpus;
                for (size_t i = 0; i < n; i++)
                    assert_true(agree || strcmp(found[i].rule->name,
                                                "running_nodes_unused") == 0);
                assert_true(n > 0 || !agree);
            }
    bj_rules_free(rules);
}

/* --- escalation ------------------------------------------------------------
 */

static const struct bj_rule rule = {
    .name = "r",
    .action = {{0, false}, {45 * 60, false}, {60 * 60, true}},
    .actions = 3};

static void test_steps(void **state)
{
    (void)state;
    struct bj_escalation e = {.rule = &rule, .since_sec = NOW, .now_sec = NOW};
    assert_int_equal(bj_escalation_next(&e), 0);
    e.actions = 1;
    e.last_sec = NOW;
    e.last_state = BJ_ACTION_DONE;
    assert_int_equal(bj_escalation_next(&e), -1);
    e.now_sec = NOW + 45 * 60;
    assert_int_equal(bj_escalation_next(&e), 1);
    e.actions = 2;
    e.last_sec = NOW + 50 * 60; /* the second warning was late */
    e.now_sec = NOW + 60 * 60;
    assert_int_equal(bj_escalation_next(&e), -1);
    e.now_sec = NOW + 65 * 60;
    assert_int_equal(bj_escalation_next(&e), 2);
    e.actions = 3;
    assert_int_equal(bj_escalation_next(&e), -1);
}

/* In any order of events a job is only cancelled if the previous action was a
 * warning that was sent, at least as long before as the rule requires. */
static void test_never_unwarned(void **state)
{
    (void)state;
    unsigned cancelled = 0;
    for (unsigned i = 0; i < TRIES; i++) {
        struct bj_escalation e = {.rule = &rule,
                                  .since_sec = NOW,
                                  .now_sec = NOW,
                                  .dry_run = rnd(4) == 0};
        for (int k = 0; k < 40; k++) {
            e.now_sec += rnd(1200);
            int next = bj_escalation_next(&e);
            if (next < 0) {
                if (e.last_state == BJ_ACTION_WAITING && rnd(2) == 0) {
                    e.last_state =
                        rnd(3) > 0 ? BJ_ACTION_DONE : BJ_ACTION_FAILED;
                    e.last_sec = e.now_sec;
                }
                continue;
            }
            assert_int_equal(next, (int)e.actions);
            assert_true(e.now_sec - e.since_sec >=
                        (int64_t)rule.action[next].after_sec);
            if (rule.action[next].cancel) {
                assert_true(e.last_state == BJ_ACTION_DONE ||
                            (e.dry_run && e.last_state == BJ_ACTION_DRY));
                assert_true(e.now_sec - e.last_sec >= 15 * 60);
                cancelled++;
            }
            e.actions++;
            e.last_state = (enum bj_action_state)rnd(BJ_ACTION_STATES);
            e.last_sec = e.now_sec;
        }
    }
    assert_true(cancelled > 100);
}

/* --- evaluations in random order ------------------------------------------ */

enum { INTERVAL = 300, MAX_AGE = 600, ROUNDS = 60 };

static const char escalate[] =
    "rules:\n"
    "- name: running_gpus_unused\n"
    "  partition: gpu\n"
    "  escalate: [warn after 0m, warn after 45m, cancel after 1h]\n";

/* What happened to the job, recorded independently of the store. */
struct history {
    int64_t since, last; /* begin and end of uninterrupted findings */
    unsigned sent;       /* warnings sent in that time */
    int64_t sent_sec;    /* the last of them */
};

struct world {
    struct bj_running r;
    struct bj_running_cluster cluster;
    struct bj_db *db;
    unsigned cancelled;
};

static int64_t count(struct world *w, const char *sql)
{
    int64_t n = -1;
    assert_int_equal(bj_db_int(w->db, sql, &n, NULL), 0);
    return n;
}

/* One evaluation; clear: the job is idle, and all its values are known. */
static void evaluate(struct world *w, struct history *l, int64_t now,
                     bool clear)
{
    struct bj_running_job j = idle();
    struct bj_running_jobs jobs = {.job = &j, .n = 1};
    struct bj_err err = {0};
    int64_t before = count(w, "SELECT count(*) FROM running_action WHERE action"
                              " = 'cancel'");
    j.id = 1;
    if (!clear && rnd(2) == 0)
        j.v[BJ_RV_FRESH] = 1;
    else if (!clear)
        j.v[BJ_RV_GPUS] = rnd(2) == 0 ? 3 : BJ_SQL_NULL;
    j.n_found = judged(w->r.rules, &j, j.found);
    assert_true(clear ? j.n_found > 0 : true);
    assert_int_equal(
        bj_running_write(&w->r, &w->cluster, &jobs, true, now, &err), 0);
    if (!clear)
        *l = (struct history){.since = 0};
    else if (l->since == 0 || now - l->last > 2 * INTERVAL + MAX_AGE)
        *l = (struct history){.since = now};
    l->last = now;
    assert_int_equal(bj_running_act(&w->r, &w->cluster, &jobs, now, &err), 0);
    if (count(w, "SELECT count(*) FROM running_action WHERE action ="
                 " 'cancel'") == before)
        return;
    w->cancelled++;
    assert_true(clear && l->since > 0 && now - l->since >= HOUR);
    assert_true(l->sent >= 1 && now - l->sent_sec >= HOUR / 4);
}

/* Simulate the mail service: it sends, fails, or is late. */
static void post(struct world *w, struct history *l, int64_t now)
{
    char sql[120];
    if (count(w, "SELECT count(*) FROM running_action WHERE state ="
                 " 'waiting'") == 0 ||
        rnd(4) == 0)
        return;
    const bool sent = rnd(6) > 0;
    snprintf(sql, sizeof(sql),
             "UPDATE running_action SET state = '%s', at = %lld WHERE state ="
             " 'waiting'",
             sent ? "done" : "failed", (long long)now);
    db_exec(w->db, sql);
    l->sent = sent ? l->sent + 1 : 0;
    l->sent_sec = now;
}

/* A job is idle, with missing values, pauses of the program, and late or failed
 * mails in between: it is only cancelled after an hour of uninterrupted
 * findings, and a quarter of an hour after a warning was sent. */
static void test_histories(void **state)
{
    const unsigned histories = bj_rounds(60, 20);
    (void)state;
    struct fixture f;
    bj_log_setup(BJ_LOG_ERROR, BJ_LOG_LOGFMT);
    fixture_open(&f);
    struct bj_store *s = store_open(&f);
    char program[] = "true", item[] = "partition:gpu", name[] = "c",
         how[] = "sendmail";
    char *command[] = {program}, *allow[] = {item};
    struct bj_statsdb_conf conf = {
        .running = {.interval_usec = INTERVAL * 1000000ull,
                    .max_age_usec = MAX_AGE * 1000000ull,
                    .cancel_command = {command, 1},
                    .cancel_allow = {allow, 1}},
        .mail = {.send = how}};
    const struct bj_cluster_conf cluster = {.name = name};
    atomic_bool stop = false;
    struct world w = {.r = {.conf = &conf, .store = s, .stop = &stop},
                      .cluster = {.conf = &cluster},
                      .db = bj_store_db(s)};
    assert_int_equal(
        bj_rules_text("", bj_slice_str(escalate), &w.r.rules, NULL), 0);
    assert_int_equal(
        bj_finding_rules_new(s, w.r.rules, &w.r.finding_rules, NULL), 0);
    db_exec(w.db,
            "INSERT INTO cluster(id, name, system) VALUES(1, 'c', 'slurm')");
    db_exec(w.db, "INSERT INTO job(id, cluster, jobid, submit, start, state)"
                  " VALUES(1, 1, 1, 1, 992800, 2)");
    for (unsigned i = 0; i < histories; i++) {
        struct history l = {.since = 0};
        int64_t now = NOW;
        db_exec(w.db, "DELETE FROM running_action");
        db_exec(w.db, "DELETE FROM running_finding");
        for (int k = 0; k < ROUNDS; k++) {
            now += rnd(20) == 0 ? 2 * INTERVAL + MAX_AGE + 1 + rnd(600)
                                : INTERVAL + rnd(300);
            evaluate(&w, &l, now, rnd(25) > 0);
            post(&w, &l, now + rnd(60));
        }
    }
    assert_in_range(w.cancelled, 10, histories * ROUNDS);
    bj_finding_rules_free(w.r.finding_rules);
    bj_rules_free(w.r.rules);
    bj_store_close(s);
    fixture_close(&f);
}

/* The peak of memory in the window needs the values of all nodes. */
static void test_recent_peak(void **state)
{
    static const struct {
        int64_t nodes, bytes, remote;
        bool found, far;
    } cases[] = {{2, INT64_C(6000000001), 300001, true, true},
                 {2, INT64_C(6000000000), 300000, false, false},
                 {1, INT64_C(6000000001), BJ_SQL_NULL, false, false},
                 {BJ_SQL_NULL, BJ_SQL_NULL, BJ_SQL_NULL, false, false}};
    static const char text[] =
        "rules:\n- {name: recent, running: 30m, severity: info, when: "
        "mem_recent_peak > 6000000000, text: x}\n"
        "- {name: far, running: 30m, severity: info, when: mem_remote > 30, "
        "text: x}\n";
    (void)state;
    struct bj_rules *rules;
    assert_int_equal(bj_rules_text("", bj_slice_str(text), &rules, NULL), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bj_rule_match found[BJ_RUNNING_FOUND];
        struct bj_running_job j = idle();
        bool recent = false, far = false;
        j.v[BJ_RV_MEM_RECENT_NODES] = cases[i].nodes;
        j.v[BJ_RV_MEM_RECENT] = cases[i].bytes;
        j.v[BJ_RV_MEM_REMOTE] = cases[i].remote;
        const size_t n = judged(rules, &j, found);
        for (size_t k = 0; k < n; k++) {
            recent |= strcmp(found[k].rule->name, "recent") == 0;
            far |= strcmp(found[k].rule->name, "far") == 0;
        }
        assert_int_equal(recent, cases[i].found);
        assert_int_equal(far, cases[i].far);
    }
    bj_rules_free(rules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recent_peak),
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_missing_values),
        cmocka_unit_test(test_gpus),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_histories),
        cmocka_unit_test(test_never_unwarned),
        cmocka_unit_test(test_random_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

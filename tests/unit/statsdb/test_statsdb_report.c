/* Reports: verdicts, figures and advice of 15 jobs, JSON, texts of the
 * catalogue. With a path: writes these jobs into a store there. */
#include "tests/unit/statsdb/print_report.h"
#include "tests/unit/statsdb/report_jobs.h"

#include "base/json.h"
#include "report/form/json.h"
#include "report/job/job.h"
#include "report/model/catalogue.h"
#include "report/model/show.h"
#include "statsdb/derive/rule.h"

#include <string.h>

static const struct {
    const char *id;
    const char *level, *wrong, *todo;
} cases[] = {
    {"1000", "good",
     "The job used what it requested; there is nothing to change.", NULL},
    {"1001", "critical", "The job never used 1 of its GPUs (n1: GPU 1).",
     "Next time request --gres=gpu:h100:1."},
    {"1002", "warning", "The job used 7.19 % of its memory.",
     "Next time request --mem=6G."},
    {"1003", "critical",
     "The job ran out of memory; it had 8 GiB on each node.",
     "Next time request --mem-per-cpu=3G."},
    {"1004", "warning", "The job reached its time limit of 01:00:00.",
     "Let the program write checkpoints and continue from the last one, or "
     "request more time."},
    {"1005", "critical",
     "The job used no CPU time on 2 of its nodes (n2 and n3).",
     "Next time request -N 1."},
    {"2000", "warning",
     "20 of 20 tasks of the array completed. 19 of 20 tasks, such as 2000_20: "
     "The "
     "job used 6.56 % of its memory.",
     "The tasks used 2.1 GiB of memory typically, 2000_7 used 30 GiB of 32 "
     "GiB. Submit those that need more separately, and request less for the "
     "others."},
    {"3001", "good",
     "The job used what it requested; there is nothing to change.", NULL},
    {"3100", "warning", "CPU efficiency was 37.5 %.",
     "1.5 of 4 CPUs were busy on average. Try fewer, with as much memory as "
     "now: it may be requested for each CPU. Compare the run times."},
    {"3200", "unknown",
     "The job ran for only 00:00:12, which is too short to judge what it used.",
     NULL},
    {"3300", "unknown",
     "It is not known what the job used: neither its nodes nor the scheduler "
     "measured it.",
     NULL},
    {"3400", "warning",
     "The job failed with exit code 3 after 01:00:00. CPU efficiency was "
     "37.5 %.",
     NULL},
    {"3500", "unknown",
     "The job waits to start. Jobs with a higher priority are ahead of it.",
     NULL},
    {"3600", "warning", "Only 0.986 of the CPUs was busy.",
     "Next time request -c 1 --mem=8G."},
    {"3700", "warning", "CPU efficiency was 9.55 %.",
     "Next time request -c 4 --mem=8G -t 01:30:00."},
};

static void read_report(struct derive_rig *w, const char *id,
                        struct bj_report *r)
{
    char sql[200];
    snprintf(sql, sizeof(sql),
             "SELECT id FROM job WHERE jobid = %s ORDER BY at DESC LIMIT 1",
             id);
    int code = bj_report_read(bj_store_db(w->s), number(w->s, sql), r, &err);
    OK(code);
    assert_int_equal(code, 1);
}

static void same(const char *id, struct bj_slice got, const char *want)
{
    if (got.n != (want ? strlen(want) : 0) ||
        (want && memcmp(got.p, want, got.n) != 0))
        fail_msg("job %s:\n  %.*s\ninstead of\n  %s", id, (int)got.n,
                 got.p ? got.p : "", want ? want : "nothing");
}

static void test_verdicts(void **state)
{
    struct derive_rig *w = *state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bj_report r;
        read_report(w, cases[i].id, &r);
        same(cases[i].id, r.verdict.wrong, cases[i].wrong);
        same(cases[i].id, r.verdict.level, cases[i].level);
        same(cases[i].id, r.verdict.todo, cases[i].todo);
        bj_report_free(&r);
    }
}

/* No line ends within an option. */
static void test_options_in_html(void **state)
{
    struct bj_buf b = {0};
    (void)state;
    bj_show_advice_html(&b, BJ_SLICE("Request --mem=3G instead of "
                                     "--mem-per-cpu=2G: 8 < 9 - or -N 1, -"));
    bj_buf_put(&b, "", 1);
    assert_string_equal(b.p,
                        "Request <span class=\"option\">--mem=3G</span> "
                        "instead of <span class=\"option\">--mem-per-cpu=2G"
                        "</span>: 8 &lt; 9 - or <span class=\"option\">-N"
                        "</span> 1, -");
    bj_buf_free(&b);
}

/* A GPU has the same name in all forms, and an id is never cut. */
static void test_gpu_names(void **state)
{
    static const struct {
        const char *node, *index, *gpu, *want;
    } gpus[] = {{"g002", "3", "GPU-5e1b7c1a-0001-0002-0003-000000000004",
                 "g002: GPU 3"},
                {"g002", "", "3", "g002: GPU 3"},
                {"", "3", "", "GPU 3"},
                {"g002", "", "GPU-5e1b7c1a-0001-0002-0003-000000000004",
                 "g002: GPU-5e1b7c1a-0001-0002-0003-000000000004"}};
    (void)state;
    for (size_t i = 0; i < sizeof(gpus) / sizeof(gpus[0]); i++) {
        struct bj_buf b = {0};
        bj_show_gpu(&b, bj_slice_str(gpus[i].node), bj_slice_str(gpus[i].index),
                    bj_slice_str(gpus[i].gpu));
        same("name", (struct bj_slice){b.p, b.len}, gpus[i].want);
        bj_buf_free(&b);
    }
}

static void add_finding(struct derive_rig *w, const char *job, const char *rule,
                        const char *severity, const char *condition, int value)
{
    char sql[700];
    snprintf(sql, sizeof(sql),
             "INSERT INTO finding_rule(name, severity, condition, text, advice,"
             " url) VALUES('%s', '%s', '%s', 'Text of %s.', '', '');"
             "INSERT INTO job_finding(job, rule, value, threshold) SELECT j.id,"
             " r.id, %d, 0 FROM job AS j, finding_rule AS r WHERE j.jobid = %s"
             " AND r.name = '%s' AND r.condition = '%s'",
             rule, severity, condition, rule, value, job, rule, condition);
    OK(bj_db_exec(bj_store_db(w->s), sql, &err));
}

/* A job that waits has requested CPUs; none are allocated. */
static void test_waiting(void **state)
{
    struct bj_report r;
    struct bj_buf out = {0};
    read_report(*state, "3500", &r);
    print(&r, &out);
    bj_buf_put(&out, "", 1);
    if (!strstr(out.p, "  Requested   1 node, 4 CPUs\n") ||
        strstr(out.p, "Allocated"))
        fail_msg("%s", out.p);
    bj_buf_free(&out);
    bj_report_free(&r);
}

/* With a leak the report says leak, and advises no more memory. */
static void test_leak(void **state)
{
    struct derive_rig *w = *state;
    struct bj_report r;
    OK(bj_store_begin(w->s, &err));
    add_finding(w, "1003", "oom_leak", "critical",
                "out_of_memory = 1 and mem_rise > 0", 1);
    read_report(w, "1003", &r);
    same("wrong", r.verdict.wrong,
         "The job ran out of memory; it had 8 GiB on each node. Text of "
         "oom_leak.");
    same("todo", r.verdict.todo,
         "Find out why the memory of the program grows. If it is a leak, more "
         "memory only delays the end.");
    same("next", r.next.options, NULL);
    bj_report_free(&r);
    bj_store_rollback(w->s);
}

/* Findings of one severity: the most expensive first, at the prices of the
 * bill.  Job 3100 left 2.5 of 4 CPUs unused, and of 8 GiB what the test says.
 */
static void test_order(void **state)
{
    static const char *const want[] = {"zz_all", "zz_cpu", "zz_idle",
                                       "aa_none"};
    struct derive_rig *w = *state;
    struct bj_report r;
    OK(bj_store_begin(w->s, &err));
    OK(bj_db_exec(bj_store_db(w->s), "DELETE FROM job_finding", &err));
    add_finding(w, "3100", "aa_none", "warning", "time_efficiency < 10", 1);
    add_finding(w, "3100", "zz_idle", "warning", "runtime > 1 and idle_end > 1",
                360);
    add_finding(w, "3100", "zz_cpu", "warning",
                "runtime > 1 and cpu_efficiency < 65", 37);
    add_finding(w, "3100", "zz_all", "warning", "state = timeout", 1);
    add_finding(w, "3100", "a_info", "info", "state = timeout", 1);
    read_report(w, "3100", &r);
    assert_int_equal(r.findings, 5);
    for (size_t i = 0; i < 4; i++)
        same("order", r.finding[i].finding, want[i]);
    same("order", r.finding[4].finding, "a_info");
    bj_report_free(&r);
    /* Without prices in the order of the rules. */
    OK(bj_db_exec(bj_store_db(w->s), "DELETE FROM price", &err));
    read_report(w, "3100", &r);
    same("order", r.finding[0].finding, "aa_none");
    same("order", r.finding[3].finding, "zz_all");
    bj_report_free(&r);
    bj_store_rollback(w->s);
}

/* Each change says what it replaces, and the request what it includes. */
static void test_next(void **state)
{
    struct derive_rig *w = *state;
    struct bj_report r;
    read_report(w, "1001", &r);
    same("text", r.advice[0].text,
         "Request --gres=gpu:h100:1 instead of --gres=gpu:h100:2: 1 of 2 GPUs "
         "were never used.");
    same("replaces", r.advice[0].replaces, "--gres=gpu:h100:2");
    same("basis", r.next.basis, "submit_line");
    same("note", r.next.note, NULL);
    bj_report_free(&r);
    read_report(w, "3700", &r);
    same("options", r.next.options, "-c 4 --mem=8G -t 01:30:00");
    same("note", r.next.note,
         "What a script requests is not recorded: if it has an option for the "
         "same amount, replace that one. --mem also replaces --mem-per-cpu and "
         "--mem-per-gpu. The margin of time is 50 %.");
    assert_int_equal(r.advices, 3);
    same("text", r.advice[2].text,
         "Request --mem=8G, or the job has less memory with the other change.");
    same("line", r.advice[2].line, "#SBATCH --mem=8G");
    bj_report_free(&r);
    read_report(w, "1000", &r);
    same("options", r.next.options, NULL);
    bj_report_free(&r);
    /* Where the script is known, the request replaces what it says, and says
       where. */
    OK(bj_db_exec(bj_store_db(w->s),
                  "UPDATE job_more SET submit_line = 'sbatch job.sh',"
                  " script_options = '3 -c 4; 5 --mem=64G' WHERE job ="
                  " (SELECT id FROM job WHERE jobid = 1002)",
                  &err));
    read_report(w, "1002", &r);
    same("basis", r.next.basis, "script");
    same("options", r.next.options, "--mem=6G");
    same(
        "text", r.advice[0].text,
        "Request --mem=6G instead of --mem=64G (line 5 of the script): the job "
        "used at most 4.6 GiB of 64 GiB on each node.");
    same("line", r.advice[0].line, "#SBATCH --mem=6G");
    same("lines", r.advice[0].script_lines, "5");
    same("note", r.next.note, "The margin of memory is 20 %.");
    bj_report_free(&r);
    OK(bj_db_exec(bj_store_db(w->s),
                  "UPDATE job_more SET submit_line = 'sbatch -c 4 --mem=64G"
                  " job.sh', script_options = NULL WHERE job ="
                  " (SELECT id FROM job WHERE jobid = 1002)",
                  &err));
    /* The site's margin: twice 4.6 GiB. */
    struct bj_catalogue c = {.memory_margin = 100, .time_margin = 50};
    OK(bj_catalogue_write(w->s, &c, &err));
    assert_int_equal(number(w->s, "SELECT count(*) FROM sentence"), 1);
    read_report(w, "1002", &r);
    same("options", r.next.options, "--mem=10G");
    same("note", r.next.note, "The margin of memory is 100 %.");
    bj_report_free(&r);
    c.memory_margin = 0;
    OK(bj_catalogue_write(w->s, &c, &err));
    read_report(w, "1002", &r);
    same("options", r.next.options, "--mem=6G");
    bj_report_free(&r);
}

static void test_figures(void **state)
{
    struct derive_rig *w = *state;
    struct bj_report r;
    read_report(w, "1001", &r);
    const struct bj_report_figure *f = r.figure;
    assert_int_equal(f[BJ_FIGURE_CPU].allocated, 14400000000);
    assert_int_equal(f[BJ_FIGURE_CPU].used, 13700000000);
    same("cpu", f[BJ_FIGURE_CPU].source, "nodes");
    same("cpu", f[BJ_FIGURE_CPU].quality, "measured");
    assert_int_equal(f[BJ_FIGURE_GPU].allocated, 7200000000);
    assert_int_equal(f[BJ_FIGURE_GPU].ppm, 450000);
    assert_int_equal(f[BJ_FIGURE_GPU].used, 3240000000);
    assert_int_equal(f[BJ_FIGURE_GPU_MEMORY].used, GIB(8));
    assert_int_equal(f[BJ_FIGURE_TIME].ppm, 750000);
    assert_int_equal(f[BJ_FIGURE_READ].used, GIB(1));
    assert_int_equal(f[BJ_FIGURE_ENERGY].used, BJ_SQL_NULL);
    assert_int_equal(r.gpus, 2);
    same("gpu", r.gpu[1].gpu, "GPU-b");
    assert_int_equal(r.gpu[1].busy_ppm, 0);
    same("cost", r.verdict.cost,
         "It held 4 CPU hours and used 3.81 of them (95.1 %). Of 2 GPU "
         "hours 1.1 were not used; GPUs were idle (no program used them) for "
         "1.1 "
         "hours. Cost: at least 1.06 EUR.");
    /* 4 CPU hours, 2 GPU hours, 8 GiB hours; its energy is not known */
    assert_int_equal(f[BJ_FIGURE_COST].used, 40000 + 1000000 + 16000);
    same("cost", f[BJ_FIGURE_COST].quality, "at least");
    bj_report_free(&r);
    read_report(w, "1000", &r);
    /* 0.2 kWh */
    assert_int_equal(r.figure[BJ_FIGURE_COST].used, 40000 + 16000 + 50000);
    same("cost", r.figure[BJ_FIGURE_COST].unit, "EUR");
    same("cost", r.figure[BJ_FIGURE_COST].source, "prices");
    same("cost", r.figure[BJ_FIGURE_COST].quality, "calculated");
    bj_report_free(&r);
    read_report(w, "1003", &r);
    same("oom", r.figure[BJ_FIGURE_MEMORY].quality, "at least");
    bj_report_free(&r);
    /* It was allocated less than it used, as its memory was not limited. */
    struct bj_err e = {0};
    OK(bj_db_exec(bj_store_db(w->s),
                  "UPDATE job SET memory_task_peak_bytes = 40 << 30 WHERE"
                  " jobid = 1003",
                  &e));
    read_report(w, "1003", &r);
    same("more", r.verdict.todo, "Next time request --mem-per-cpu=15G.");
    bj_report_free(&r);
    read_report(w, "3600", &r);
    same("recorded", r.figure[BJ_FIGURE_CPU].quality, "recorded");
    bj_report_free(&r);
}

/* The report of an array names the straggler, which does not decide the advice
 * for the other tasks. */
static void test_array(void **state)
{
    struct derive_rig *w = *state;
    struct bj_report r;
    read_report(w, "2003", &r);
    assert_int_equal(r.array.tasks, 20);
    assert_int_equal(r.array.judged, 20);
    const struct bj_report_spread *s = r.array.spread;
    assert_int_equal(s[BJ_SPREAD_ELAPSED].max, 4000);
    same("straggler", s[BJ_SPREAD_ELAPSED].largest, "2000_7");
    same("straggler", s[BJ_SPREAD_MEMORY].largest, "2000_7");
    assert_int_equal(s[BJ_SPREAD_MEMORY].max, GIB(30));
    same("text", r.advice[0].text,
         "The tasks used 2.1 GiB of memory typically, 2000_7 used 30 GiB of "
         "32 GiB. Submit those that need more separately, and request less "
         "for the others.");
    assert_int_equal(r.advice[0].runs, 20);
    /* 20 tasks of 1800 s and more, the straggler of 4000 s, on 4 CPUs */
    same("cost", r.verdict.cost,
         "It held 42.7 CPU hours and used 40.3 of them (94.5 %). "
         /* 10.67 h of 4 CPUs and 32 GiB */
         "Cost: at least 1.11 EUR.");
    bj_report_free(&r);
}

static void put_unstarted(struct derive_rig *w)
{
    struct bj_sched_job j;
    plain_job(&j, "4030", 600);
    j.state = BJ_STATE_CANCELLED;
    j.start_sec = BJ_ABSENT;
    j.elapsed_sec = 0;
    put_job(w, &j);
    plain_job(&j, "4031", 600); /* of PBS; 4032: at a limit of CPU time */
    j.state = BJ_STATE_CANCELLED;
    j.start_sec = j.elapsed_sec = BJ_ABSENT;
    j.nodelist = (struct bj_slice){NULL, 0};
    put_job(w, &j);
    plain_job(&j, "4032", 600);
    j.state = BJ_STATE_TIMEOUT;
    j.time_limit_sec = j.elapsed_sec + 1;
    put_job(w, &j);
}

/* Jobs whose node failed. */
static void put_node_fails(struct derive_rig *w)
{
    struct bj_sched_job j;
    plain_job(&j, "4004", 240);
    j.state = BJ_STATE_NODE_FAIL;
    put_job(w, &j);
    put_measured(w, &j, "n1", 10, 0.1, "");
    plain_job(&j, "4040", 250); /* accounting knows the node, or not */
    j.state = BJ_STATE_NODE_FAIL;
    j.nodes = 2;
    j.nodelist = BJ_SLICE("n[1-2]");
    put_job(w, &j);
    plain_job(&j, "4041", 250);
    j.state = BJ_STATE_NODE_FAIL;
    j.nodes = 2;
    j.nodelist = BJ_SLICE("n[1-2]");
    j.failed_node = BJ_SLICE("n2");
    put_job(w, &j);
}

static void put_partly_arrays(struct derive_rig *w)
{
    struct bj_sched_job j;
    for (unsigned i = 1; i <= 2; i++) { /* all tasks failed */
        plain_job(&j, i == 1 ? "4011" : "4010", 600);
        j.array_job = 4010;
        j.array_task = i;
        j.state = BJ_STATE_FAILED;
        put_job(w, &j);
        put_measured(w, &j, "n1", 13700, 7, "");
    }
    for (unsigned i = 1; i <= 2; i++) { /* one task was measured */
        plain_job(&j, i == 1 ? "4021" : "4020", 660);
        j.array_job = 4020;
        j.array_task = i;
        put_job(w, &j);
        if (i == 1)
            put_measured(w, &j, "n1", 13700, 7, "");
    }
    for (unsigned i = 1; i <= 2; i++) { /* the GPU of one task was measured */
        plain_job(&j, i == 1 ? "4051" : "4050", 720);
        j.array_job = 4050;
        j.array_task = i;
        j.gpus = 1;
        put_job(w, &j);
        put_measured(w, &j, "n1", 13700, 7,
                     i == 1 ? ",\"gpus\":{\"GPU-a\":{\"held_usec\":3600000000,"
                              "\"idle_usec\":0,\"busy_ppm\":900000}}"
                            : "");
    }
}

/* Jobs of which a part is unknown, and jobs that did not complete. */
static void put_partly(struct derive_rig *w)
{
    static const char gpu[] =
        ",\"gpus\":{\"GPU-a\":{\"index\":\"0\",\"held_usec\":3600000000,"
        "\"idle_usec\":0,\"busy_ppm\":900000},\"GPU-b\":{\"index\":\"1\","
        "\"held_usec\":3600000000}}";
    static const struct {
        const char *id;
        enum bj_job_state state;
        unsigned code, signal;
        const char *more;
    } ends[] = {{"4005", BJ_STATE_FAILED, 137, 0, ""},
                {"4006", BJ_STATE_FAILED, 137, 0, ",\"oom_kills\":1"},
                {"4007", BJ_STATE_FAILED, 127, 0, ""},
                {"4008", BJ_STATE_FAILED, 0, 11, ""},
                {"4009", BJ_STATE_CANCELLED, 0, 0, ""}};
    struct bj_sched_job j;
    plain_job(&j, "4000", 0); /* GPUs that no node measured */
    j.gpus = 2;
    put_job(w, &j);
    put_measured(w, &j, "n1", 13700, 7, "");
    plain_job(&j, "4001", 60); /* one GPU of two */
    j.gpus = 2;
    put_job(w, &j);
    put_measured(w, &j, "n1", 13700, 7, gpu);
    plain_job(&j, "4002", 120); /* no memory */
    j.use.cpu_usec = UINT64_C(13700) * 1000000;
    j.use.mem_task_peak_bytes = 0;
    put_job(w, &j);
    plain_job(&j, "4003", 180); /* one node of two */
    j.nodes = 2;
    put_job(w, &j);
    put_measured(w, &j, "n1", 6800, 3.5, "");
    put_node_fails(w);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        plain_job(&j, ends[i].id, 300 + 60 * (int64_t)i);
        j.state = ends[i].state;
        j.exit_code = ends[i].code;
        j.exit_signal = ends[i].signal;
        put_job(w, &j);
        put_measured(w, &j, "n1", 13700, 7, ends[i].more);
    }
    put_unstarted(w);
    put_partly_arrays(w);
}

static const struct {
    const char *id, *level, *wrong, *todo;
} partly[] = {
    {"4000", "unknown", "Its known use needs no change. Not known: GPU time.",
     NULL},
    {"4001", "unknown",
     "Its known use needs no change. Not known: GPU time. 1 of "
     "2 GPUs were measured.",
     NULL},
    {"4002", "unknown", "Its known use needs no change. Not known: Memory.",
     NULL},
    {"4003", "unknown",
     "It is not known what the job used: neither its nodes nor the "
     "scheduler measured it. 1 of 2 nodes were measured.",
     NULL},
    {"4004", "warning",
     "The node of the job failed: n1. This is not the fault of the job.",
     "Submit the job again, unless the scheduler has started it again."},
    {"4040", "warning",
     "One of the nodes of the job failed: n[1-2]. This is not the fault of the "
     "job.",
     "Submit the job again, unless the scheduler has started it again."},
    {"4041", "warning",
     "A node of the job failed: n2. This is not the fault of the job.",
     "Submit the job again, unless the scheduler has started it again."},
    {"4005", "warning",
     "The job failed with exit code 137 after 01:00:00. Exit code 137 "
     "means that a process was ended by signal 9 (SIGKILL).",
     NULL},
    {"4006", "critical",
     "The job ran out of memory; it had 8 GiB on each node. Exit code "
     "137 means that a process was ended by signal 9 (SIGKILL).",
     "Next time request --mem=12G."},
    {"4007", "warning",
     "The job failed with exit code 127 after 01:00:00. Exit code 127 "
     "means that a command was not found.",
     NULL},
    {"4008", "warning",
     "The job was ended by signal 11 (SIGSEGV) after 01:00:00.", NULL},
    {"4009", "info", "The job was cancelled after 01:00:00.", NULL},
    {"4030", "info", "The job was cancelled before it started.", NULL},
    {"4031", "info", "The job was cancelled before it started.", NULL},
    {"4032", "warning", "The job reached a limit of its run time or CPU time.",
     "Let the program write checkpoints and continue from the last one, or "
     "request more time."},
    {"4010", "warning",
     "0 of 2 tasks of the array completed; 2 failed, timed out or ran out of "
     "memory. Not completed: 4010_1, 4010_2.",
     NULL},
    {"4020", "unknown",
     "2 of 2 tasks of the array completed. Its known use needs no change. Not "
     "known: "
     "CPU time, Memory.",
     NULL},
    {"4050", "unknown",
     "2 of 2 tasks of the array completed. Its known use needs no change. Not "
     "known: GPU time.",
     NULL},
};

static void test_partly(void **state)
{
    struct derive_rig w;
    (void)state;
    derive_rig_open(&w);
    put_partly(&w);
    derive_all(&w);
    for (size_t i = 0; i < sizeof(partly) / sizeof(partly[0]); i++) {
        struct bj_report r;
        read_report(&w, partly[i].id, &r);
        same(partly[i].id, r.verdict.wrong, partly[i].wrong);
        same(partly[i].id, r.verdict.level, partly[i].level);
        same(partly[i].id, r.verdict.todo, partly[i].todo);
        /* Page cache is no efficiency. */
        assert_int_equal(r.figure[BJ_FIGURE_CHARGED].ppm, BJ_SQL_NULL);
        bj_report_free(&r);
    }
    expect(w.s,
           "SELECT count(*) FROM job_finding_v AS f JOIN job AS j ON j.id ="
           " f.job WHERE j.jobid = 4004 AND f.severity <> 'info'",
           "0\n");
    derive_rig_close(&w);
}

/* Of a job without final records, forms show what Prometheus has of its nodes
 * and GPUs, of its run only, and how much that is. */
static void test_sampled(void **state)
{
    static const char note[] =
        "Measured by Prometheus: 2 of 3 nodes, 95.5 % of "
        "the samples of the run.";
    struct derive_rig w;
    struct bj_report r;
    struct bj_buf out = {0};
    struct bj_sched_job j;
    (void)state;
    derive_rig_open(&w);
    plain_job(&j, "4100", 0);
    j.nodes = 3;
    j.gpus = 1;
    put_job(&w, &j);
    OK(bj_db_exec(
        bj_store_db(w.s),
        "INSERT INTO job_prom(job, queried_sec, outcome, nodes_seen,"
        " nodes_final, coverage_ppm) SELECT id, 1, 0, 2, 2, 955000 FROM job;"
        "INSERT INTO job_part(job, node, gpu, since, upto, cpus, cpus_milli,"
        " memory_bytes, busy_ppm) SELECT id, p.a, p.b, start, \"end\", p.c,"
        " p.d, p.e, p.f FROM job, (SELECT 'n1' AS a, '' AS b, 4 AS c, NULL AS "
        "d,"
        " 1073741824 AS e, NULL AS f UNION ALL SELECT 'n2', '', 4, 1000,"
        " 2147483648, NULL UNION ALL SELECT 'n2', 'GPU-a', NULL, NULL, NULL,"
        " 250000) AS p",
        &err));
    derive_all(&w);
    read_report(&w, "4100", &r);
    assert_int_equal(r.nodes, 2);
    assert_int_equal(r.gpus, 1);
    assert_false(bj_report_has_records(&r));
    assert_int_equal(r.node[0].cpu_ppm, BJ_SQL_NULL);
    assert_int_equal(r.node[1].cpu_ppm, 250000);
    assert_int_equal(r.node[1].cpu_usec, INT64_C(3600) * 1000000);
    assert_int_equal(r.gpu[0].busy_ppm, 250000);
    print(&r, &out);
    bj_buf_put(&out, "", 1);
    const char *known = strstr(out.p, "\n  n2 "), *rest = strstr(out.p, "n1 ");
    if (!strstr(out.p, note) || !known || !rest || rest < known)
        fail_msg("%s", out.p);
    bj_report_free(&r);
    /* values of another time than the run are not its own */
    OK(bj_db_exec(bj_store_db(w.s), "UPDATE job_part SET upto = upto - 1",
                  &err));
    read_report(&w, "4100", &r);
    assert_int_equal(r.nodes + r.gpus, 0);
    bj_report_free(&r);
    bj_buf_free(&out);
    derive_rig_close(&w);
}

/* What a job held whose node failed is not charged where the site says so. */
static void test_not_charged(void **state)
{
    static const struct {
        const char *id;
        bool free;
        const char *cost;
    } charges[] = {
        {"4004", false, "Cost: 0.06 EUR."},
        {"4004", true,
         "Cost: 0.00 EUR. It is not charged (0.06 EUR), since its node "
         "or a GPU failed."},
        {"4005", true, "Cost: 0.06 EUR."}};
    char text[3][8] = {"EUR", "0.01", "0.002"};
    struct derive_rig w;
    (void)state;
    derive_rig_open(&w);
    put_partly(&w);
    derive_all(&w);
    for (size_t i = 0; i < sizeof(charges) / sizeof(charges[0]); i++) {
        struct bj_report r;
        OK(bj_prices_write(
            w.s,
            &(struct bj_report_conf){.currency = text[0],
                                     .cpu_hour = text[1],
                                     .gib_hour = text[2],
                                     .failed_nodes_free = charges[i].free},
            &err));
        read_report(&w, charges[i].id, &r);
        if (!strstr(r.verdict.cost.p, charges[i].cost))
            fail_msg("%.*s", (int)r.verdict.cost.n, r.verdict.cost.p);
        bj_report_free(&r);
    }
    derive_rig_close(&w);
}

/* Failed tasks are named, a few of them.  This test is one of the last, because
 * it changes the jobs. */
static void test_failed_tasks(void **state)
{
    static const struct {
        int last;
        const char *names;
    } cases_of[] = {
        {4, "18 of 20 tasks of the array completed; 2 failed, timed out or ran "
            "out "
            "of memory. Not completed: 2000_3, 2000_4."},
        {9, "13 of 20 tasks of the array completed; 7 failed, timed out or ran "
            "out "
            "of memory. Not completed: 2000_3, 2000_4, 2000_5, 2000_6, 2000_7 "
            "and 2 more."}};
    struct derive_rig *w = *state;
    for (int i = 0; i < 2; i++) {
        struct bj_report r;
        char sql[200];
        snprintf(sql, sizeof(sql),
                 "UPDATE job SET state = %d WHERE array_job_id = 2000 AND"
                 " array_task BETWEEN 3 AND %d",
                 BJ_STATE_FAILED, cases_of[i].last);
        OK(bj_db_exec(bj_store_db(w->s), sql, &err));
        read_report(w, "2001", &r);
        r.verdict.wrong.n = strlen(cases_of[i].names) < r.verdict.wrong.n
                                ? strlen(cases_of[i].names)
                                : r.verdict.wrong.n;
        same("failed", r.verdict.wrong, cases_of[i].names);
        bj_report_free(&r);
    }
}

/* Sums over an array say of how many tasks they are known; an array whose tasks
 * failed with their nodes used nothing well. */
static void test_array_sums(void **state)
{
    struct derive_rig *w = *state;
    struct bj_report r;
    OK(bj_db_exec(
        bj_store_db(w->s),
        "DELETE FROM job_finding WHERE job IN"
        " (SELECT id FROM job WHERE array_job_id = 2000);"
        "DELETE FROM job_grams WHERE job IN"
        " (SELECT id FROM job WHERE array_job_id = 2000);"
        "DELETE FROM job_use WHERE job IN"
        " (SELECT id FROM job WHERE array_job_id = 2000);"
        "UPDATE job SET state = 9, energy_scheduler_joules = CASE WHEN"
        " array_task <= 18 THEN 3600000 END WHERE array_job_id = 2000;"
        "UPDATE job SET state = 6, start = NULL, elapsed = 0 WHERE"
        " array_job_id = 2000 AND array_task = 20",
        &err));
    read_report(w, "2001", &r);
    assert_int_equal(r.array.ran, 19);
    assert_int_equal(r.array.node_failed, 19);
    assert_int_equal(r.array.hardware_failed, 19);
    assert_int_equal(r.array.energy_tasks, 18);
    assert_int_equal(r.array.energy_uj, INT64_C(18) * 3600000000000);
    assert_int_equal(r.array.emissions_ug, BJ_SQL_NULL);
    same("nodes", r.verdict.level, "warning");
    same("nodes", r.verdict.todo,
         "Tasks whose node or GPU failed: 19. Submit them again, unless the "
         "scheduler has started them again.");
    assert_non_null(strstr(r.verdict.cost.p,
                           "Energy: 18 kWh, known of 18 of 19 tasks that "
                           "ran."));
    bj_report_free(&r);
    OK(bj_db_exec(bj_store_db(w->s),
                  "UPDATE job SET state = 4, energy_scheduler_joules = 3600000"
                  " WHERE array_job_id = 2000 AND state = 9",
                  &err));
    read_report(w, "2001", &r);
    assert_non_null(strstr(r.verdict.cost.p, "Energy: 19 kWh."));
    assert_int_equal(r.array.node_failed, 0);
    assert_int_equal(r.array.hardware_failed, 0);
    bj_report_free(&r);
}

/* The verdict of an array whose tasks all run says that they run.  This test
 * and the next are the last, because they change the jobs. */
static void test_running_array(void **state)
{
    struct derive_rig *w = *state;
    struct bj_report r;
    OK(bj_db_exec(
        bj_store_db(w->s),
        "DELETE FROM job_finding WHERE job IN"
        " (SELECT id FROM job WHERE array_job_id = 2000);"
        "DELETE FROM job_use WHERE job IN"
        " (SELECT id FROM job WHERE array_job_id = 2000);"
        "UPDATE job SET state = 2, \"end\" = NULL, cpu_usec = NULL,"
        " memory_task_peak_bytes = NULL, memory_scheduler_peak_bytes = NULL"
        " WHERE array_job_id = 2000",
        &err));
    read_report(w, "2003", &r);
    assert_int_equal(r.array.open, 20);
    same("running", r.verdict.wrong,
         "0 of 20 tasks of the array completed. The job is running; what it "
         "uses is "
         "not known.");
    same("running", r.verdict.level, "unknown");
    bj_report_free(&r);
}

static void set(struct bj_report *r, enum bj_report_column c, int64_t number)
{
    r->job[c] = (struct bj_job_value){.known = true, .number = number};
}

static void has(const struct bj_buf *b, const char *text)
{
    if (!strstr(b->p, text))
        fail_msg("no '%s' in\n%s", text, b->p);
}

/* The report of a running job shows for how long it runs, and what it uses now,
 * as far as that is known. */
static void test_present(void **state)
{
    struct derive_rig *w = *state;
    struct bj_report r;
    struct bj_buf out = {0};
    read_report(w, "1000", &r);
    print(&r, &out);
    bj_buf_put(&out, "", 1);
    assert_null(strstr(out.p, "In use now"));
    assert_null(strstr(out.p, "has been running"));
    out.len = 0;
    r.job[BJ_REPORT_STATE] =
        (struct bj_job_value){.known = true, .text = BJ_SLICE("running")};
    r.job[BJ_REPORT_END].known = false;
    set(&r, BJ_REPORT_ELAPSED, 7200);
    set(&r, BJ_REPORT_LIMIT, 14400);
    set(&r, BJ_REPORT_CPUS, 4);
    set(&r, BJ_REPORT_MEMORY_ALLOCATED, 4ll << 30);
    set(&r, BJ_REPORT_GPUS, 2);
    set(&r, BJ_REPORT_NOW_CPUS, 1500); /* thousandths */
    set(&r, BJ_REPORT_NOW_GPU, 250000);
    r.job[BJ_REPORT_NOW_MEMORY].known = false;
    print(&r, &out);
    bj_buf_put(&out, "", 1);
    has(&out, "It has been running for 02:00:00 of 04:00:00.\n");
    has(&out, "In use now\n");
    has(&out, "37.5 %  1.5 of 4\n");
    has(&out, "25 %  0.5 of 2\n");
    assert_null(strstr(out.p, "of 4 GiB"));
    out.len = 0;
    set(&r, BJ_REPORT_NOW_MEMORY, 1ll << 30);
    print(&r, &out);
    bj_buf_put(&out, "", 1);
    has(&out, "25 %  1 GiB of 4 GiB\n");
    bj_buf_free(&out);
    bj_report_free(&r);
}

/* A report that is written as JSON, read and written again is the same. */
static void test_json(void **state)
{
    struct derive_rig *w = *state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bj_report r, back;
        struct bj_buf one = {0}, two = {0};
        struct bj_arena arena = {0};
        const struct bj_json *doc;
        read_report(w, cases[i].id, &r);
        bj_report_write(&r, &one);
        OK(bj_json_parse(&arena, (struct bj_slice){one.p, one.len}, "report",
                         NULL, &doc, &err));
        OK(bj_report_parse(doc, &back, &err));
        bj_report_write(&back, &two);
        assert_int_equal(one.len, two.len);
        assert_memory_equal(one.p, two.p, one.len);
        bj_report_free(&r);
        bj_report_free(&back);
        bj_arena_free(&arena);
        bj_buf_free(&one);
        bj_buf_free(&two);
    }
}

/* JSON that is not a report is refused. */
static void test_bad_json(void **state)
{
    static const char *const bad[] = {
        "{}", "{\"job\":7}", "[]",
        "{\"job\":{\"cpus\":\"many\"},\"verdict\":{}}",
        "{\"job\":{},\"verdict\":{},\"figures\":[],\"nodes\":[{\"cpus\":[]}]}"};
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct bj_arena arena = {0};
        struct bj_report r;
        const struct bj_json *doc;
        OK(bj_json_parse(&arena, bj_slice_str(bad[i]), "x", NULL, &doc, &err));
        assert_int_equal(bj_report_parse(doc, &r, &err), -EBADMSG);
        bj_report_free(&r);
        bj_arena_free(&arena);
    }
}

/* --- the catalogue ---------------------------------------------------------
 */

static void test_catalogue(void **state)
{
    struct derive_rig *w = *state;
    struct bj_report r;
    struct bj_catalogue c = {.arena = {0}};
    OK(bj_catalogue_parse(
        BJ_SLICE("timeout = Zeitgrenze von {1} erreicht \xff <b>.\n"
                 "cost_cpu = {3}: {2} von {1} CPU-Stunden.\n"
                 "label_cpu = CPU-Zeit\n"),
        "f", &c, &err));
    OK(bj_catalogue_write(w->s, &c, &err));
    read_report(w, "1004", &r);
    same("1004", r.verdict.wrong,
         "Zeitgrenze von 01:00:00 erreicht \xef\xbf\xbd <b>.");
    const char *cost = "95.1 %: 3.81 von 4 CPU-Stunden.";
    assert_memory_equal(r.verdict.cost.p, cost, strlen(cost));
    same("label", r.figure[BJ_FIGURE_CPU].label, "CPU-Zeit");
    same("label", r.figure[BJ_FIGURE_READ].label, "Read");
    bj_report_free(&r);
    /* A text of another release, with other values, is not used. */
    OK(bj_db_exec(bj_store_db(w->s),
                  "UPDATE sentence SET text = 'x' WHERE name = 'timeout';"
                  "INSERT INTO sentence VALUES('unknown', 'y')",
                  &err));
    read_report(w, "1004", &r);
    same("1004", r.verdict.wrong,
         "The job reached its time limit of 01:00:00.");
    bj_report_free(&r);
    bj_catalogue_free(&c);
    c = (struct bj_catalogue){.arena = {0}};
    OK(bj_catalogue_write(w->s, &c, &err));
    assert_int_equal(number(w->s, "SELECT count(*) FROM sentence"), 0);
}

static void check_levels(struct derive_rig *w, const char *rules,
                         const unsigned want[BJ_LEVELS_COUNT][3])
{
    struct bj_levels l[BJ_LEVELS_COUNT];
    struct bj_catalogue c = {.arena = {0}};
    struct bj_rules *of = NULL;
    OK(bj_rules_text("f", bj_slice_str(rules), &of, &err));
    c.rules = of;
    OK(bj_catalogue_write(w->s, &c, &err));
    OK(bj_catalogue_levels(bj_store_db(w->s), l, &err));
    for (unsigned i = 0; i < BJ_LEVELS_COUNT; i++) {
        assert_int_equal(l[i].poor, want[i][0] * UINT64_C(1000000));
        assert_int_equal(l[i].fair, want[i][1] * UINT64_C(1000000));
        assert_int_equal(l[i].full, want[i][2] * UINT64_C(1000000));
    }
    bj_rules_free(of);
}

/* The levels of pages are the thresholds of the rules: poor, fair, full. */
static void test_levels(void **state)
{
    struct derive_rig *w = *state;
    static const unsigned plain[BJ_LEVELS_COUNT][3] = {
        {65, 80, 105}, {35, 70, 95}, {25, 60, 105}, {10, 60, 95}};
    static const unsigned moved[BJ_LEVELS_COUNT][3] = {
        {40, 80, 105}, {25, 50, 90}, {70, 70, 105}, {0, 20, 95}};
    check_levels(w, "", plain);
    assert_int_equal(number(w->s, "SELECT count(*) FROM sentence"), 0);
    /* A site moves thresholds, or writes conditions again; a rule for some
     * partitions moves nothing, nor does a condition on two facts. */
    check_levels(w,
                 "rules:\n"
                 "- name: cpu_very_low\n"
                 "  set: {percent: 40}\n"
                 "- name: cpu_low\n"
                 "  partition: debug\n"
                 "  set: {percent: 50}\n"
                 "- name: memory_low\n"
                 "  when: [mem_efficiency < 50, mem_peak / cpus > 1G]\n"
                 "- name: running_memory_limit\n"
                 "  set: {percent: 90}\n"
                 "- name: gpu_low\n"
                 "  set: {percent: 70}\n"
                 "- name: time_limit_far_too_long\n"
                 "  set: {percent: 0}\n"
                 "- name: time_limit_too_long\n"
                 "  when: [time_efficiency <= 20%]\n",
                 moved);
    check_levels(w, "", plain);
}

static int open_jobs(void **state)
{
    struct derive_rig *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    derive_rig_open(w);
    put_report_jobs(w);
    *state = w;
    return 0;
}

static int close_jobs(void **state)
{
    derive_rig_close(*state);
    free(*state);
    return 0;
}

/* For end-to-end tests. */
static int write_store(const char *path)
{
    struct derive_rig w;
    struct bj_err e = {0};
    char sql[200];
    derive_rig_open(&w);
    put_report_jobs(&w);
    snprintf(sql, sizeof(sql), "VACUUM INTO '%.150s'", path);
    int r = bj_db_exec(bj_store_db(w.s), sql, &e);
    derive_rig_close(&w);
    return r < 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_verdicts),
                                       cmocka_unit_test(test_options_in_html),
                                       cmocka_unit_test(test_present),
                                       cmocka_unit_test(test_gpu_names),
                                       cmocka_unit_test(test_waiting),
                                       cmocka_unit_test(test_leak),
                                       cmocka_unit_test(test_order),
                                       cmocka_unit_test(test_next),
                                       cmocka_unit_test(test_figures),
                                       cmocka_unit_test(test_array),
                                       cmocka_unit_test(test_json),
                                       cmocka_unit_test(test_bad_json),
                                       cmocka_unit_test(test_catalogue),
                                       cmocka_unit_test(test_levels),
                                       cmocka_unit_test(test_not_charged),
                                       cmocka_unit_test(test_sampled),
                                       cmocka_unit_test(test_partly),
                                       cmocka_unit_test(test_failed_tasks),
                                       cmocka_unit_test(test_array_sums),
                                       cmocka_unit_test(test_running_array)};
    if (argc > 1)
        return write_store(argv[1]);
    return cmocka_run_group_tests_name("report", tests, open_jobs, close_jobs);
}

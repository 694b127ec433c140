/* Jobs that LSF reports: lsb.acct and bjobs -json as IBM documents them (LSF
 * 10.1, lsb.acct(5), bjobs(1)), older, newer and damaged ones. */
#include "sched/lsf.h"

#include "base/buf.h"
#include "sched/state.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct log {
    struct bj_buf text;
    unsigned jobs;
    int stop;
};

static void put(struct bj_buf *b, const char *name, struct bj_slice s)
{
    if (s.n > 0)
        bj_buf_printf(b, " %s=%.*s", name, (int)s.n, s.p);
}

static void num(struct bj_buf *b, const char *name, uint64_t v)
{
    if (v != BJ_ABSENT)
        bj_buf_printf(b, " %s=%llu", name, (unsigned long long)v);
}

/* Write all values that are not absent. */
static int put_job(void *ctx, const struct bj_sched_job *j, struct bj_err *err)
{
    struct log *log = ctx;
    struct bj_buf *b = &log->text;
    (void)err;
    log->jobs++;
    assert_true(bj_slice_eq(j->batch_system, BJ_SLICE("lsf")));
    bj_buf_printf(b, "%.*s %s", (int)j->jobid.n, j->jobid.p,
                  bj_state_name(j->state));
    num(b, "array", j->array_job);
    num(b, "task", j->array_task);
    put(b, "name", j->name);
    put(b, "user", j->user);
    num(b, "uid", j->uid);
    put(b, "queue", j->partition);
    put(b, "project", j->project);
    put(b, "why", j->reason);
    num(b, "code", j->exit_code);
    num(b, "signal", j->exit_signal);
    num(b, "submit", j->submit_sec);
    num(b, "eligible", j->eligible_sec);
    num(b, "start", j->start_sec);
    num(b, "end", j->end_sec);
    num(b, "elapsed", j->elapsed_sec);
    num(b, "limit", j->time_limit_sec);
    num(b, "cpus", j->cpus);
    num(b, "nodes", j->nodes);
    num(b, "gpus", j->gpus);
    num(b, "asked", j->mem_requested_bytes);
    num(b, "peak", j->use.mem_peak_bytes);
    num(b, "cpu_usec", j->use.cpu_usec);
    put(b, "on", j->nodelist);
    put(b, "from", j->submit_host);
    put(b, "dir", j->work_dir);
    put(b, "command", j->submit_line);
    bj_buf_str(b, "\n");
    return log->stop;
}

static void put_bad(void *ctx, const struct bj_lsf_bad *bad)
{
    struct log *log = ctx;
    bj_buf_printf(&log->text, "%d: %.*s %.*s: %s%s\n", (int)bad->line,
                  (int)bad->job.n, bad->job.n ? bad->job.p : "",
                  (int)bad->field.n, bad->field.n ? bad->field.p : "",
                  bad->expected, bad->left_out ? "!" : "");
}

static void same(const struct log *log, const char *want, const char *what)
{
    const struct bj_slice have = {log->text.p, log->text.len};
    if (!bj_slice_eq(have, bj_slice_str(want)))
        fail_msg("%s: have:\n%.*s\nwant:\n%s", what, (int)have.n,
                 have.n ? have.p : "", want);
}

/* --- lsb.acct -------------------------------------------------------------*/

/* The fields up to the execution hosts; from status to project; from the exit
 * status to the end. */
#define HEAD(id)                                                               \
    "\"JOB_FINISH\" \"10.1\" 1795173700 " id                                   \
    " 1001 33816579 4 1795170000 0 0 1795170100 \"anna\" \"normal\" "          \
    "\"span[hosts=1]\" \"\" \"\" \"login1\" \"proj/w\" \"\" \"out.%J\" \"\" "  \
    "\"1795170000.123\" "
#define HOSTS "0 4 \"hostA\" \"hostA\" \"hostA\" \"hostB\" "
#define MID(status)                                                            \
    status " 60.0 \"my \"\"run\"\"\" \"sleep 10; echo \"\"x y\"\"\" "          \
           "143.250000 0.750001 0 0 -1 0 0 7 0 0 0 0 -1 0 0 0 1 2 -1 \"\" "    \
           "\"default\" "
#define TAIL(exit, idx, info)                                                  \
    exit " 4 \"\" \"\" " idx                                                   \
         " 1048576 2097152 \"\" \"\" \"\" \"\" 0 \"\" " info                   \
         " \"\" -1 \"\" \"\" \"\" \"\" -1 \"/anna\" \"\" \"\" \"\" -1 "        \
         "\"\" \"\" 1024 \"\"\n"
#define WANT(id, state)                                                        \
    id " " state " name=my \"run\" user=anna uid=1001 queue=normal "           \
       "project=default"
#define TIMES                                                                  \
    " submit=1795170000 start=1795170100 end=1795173700 elapsed=3600 cpus=4 "  \
    "nodes=2"
#define REST                                                                   \
    " cpu_usec=144000001 on=hostA,hostB from=login1 dir=proj/w "               \
    "command=sleep 10; echo \"x y\"\n"

static const struct {
    const char *what, *text, *want;
} accounts
    [] =
        {
            {"nothing", "", ""},
            {"a job that was done",
             HEAD("123") HOSTS MID("64") TAIL("0", "0", "0"),
             WANT("123", "completed") " code=0 signal=0" TIMES
                                      " peak=1073741824" REST},
            {"a task of an array that failed",
             HEAD("123") HOSTS MID("32") TAIL("768", "7", "0"),
             "123[7] failed array=123 task=7 name=my \"run\" user=anna "
             "uid=1001 "
             "queue=normal project=default code=3 "
             "signal=0" TIMES " peak=1073741824" REST},
            {"killed by its owner",
             HEAD("123") HOSTS MID("32") TAIL("15", "0", "14"),
             WANT("123", "cancelled") " why=TERM_OWNER code=0 signal=15" TIMES
                                      " peak=1073741824" REST},
            {"too much memory",
             HEAD("123") HOSTS MID("32") TAIL("137", "0", "16"),
             WANT("123", "oom") " why=TERM_MEMLIMIT code=0 signal=9" TIMES
                                " peak=1073741824" REST},
            {"too long", HEAD("123") HOSTS MID("32") TAIL("12", "0", "5"),
             WANT("123", "timeout") " why=TERM_RUNLIMIT code=0 signal=12" TIMES
                                    " peak=1073741824" REST},
            {"an orphan", HEAD("123") HOSTS MID("32") TAIL("15", "0", "27"),
             WANT("123",
                  "cancelled") " why=TERM_ORPHAN_SYSTEM code=0 signal=15" TIMES
                               " peak=1073741824" REST},
            {"its host was taken back",
             HEAD("123") HOSTS MID("32") TAIL("15", "0", "31"),
             WANT("123",
                  "requeued") " why=TERM_RC_RECLAIM code=0 signal=15" TIMES
                              " peak=1073741824" REST},
            {"its host was taken back permanently",
             HEAD("123") HOSTS MID("32") TAIL("15", "0", "34"),
             WANT("123", "node_fail") " why=TERM_RC code=0 signal=15" TIMES
                                      " peak=1073741824" REST},
            {"a reason that is not known",
             HEAD("123") HOSTS MID("32") TAIL("15", "0", "35"),
             WANT("123", "failed") " code=0 signal=15" TIMES
                                   " peak=1073741824" REST},
            {"an old version, which ends behind the project",
             HEAD("123") HOSTS MID("64") "\n",
             WANT("123", "completed") TIMES REST},
            {"requested hosts",
             HEAD("123") "2 \"a b\" \"c\"\"d\" 1 \"hostA\" " MID("192")
                 TAIL("0", "0", "0"),
             WANT("123",
                  "completed") " code=0 signal=0 submit=1795170000 "
                               "start=1795170100 end=1795173700 elapsed=3600 "
                               "cpus=1 nodes=1 peak=1073741824 "
                               "cpu_usec=144000001 on=hostA from=login1 "
                               "dir=proj/w command=sleep 10; echo \"x y\"\n"},
            {"other events",
             "\"JOB_NEW\" \"10.1\" 1795173700 5\n# "
             "comment\n\n\"EVENT_ADRSV_FINISH\" "
             "x\n",
             ""},
            {"damage",
             "JOB_FINISH \"10.1\" x 5\n"
             "\"JOB_FINISH\" \"10.1\" 1795173700\n"
             "\"JOB_FINISH\n" HEAD("123") "0 99999999 \"hostA\"\n" HEAD("123") "0 2 \"hostA\"\n" HEAD(
                 "123") "5\n" HEAD("123") "-1\n" HEAD("x") "\n"
                                                           "\"JOB_FINISH\" "
                                                           "\"10.1\" 1 -1 0 0 "
                                                           "0 0 0 0 0 \"\" "
                                                           "\"\" \"\" \"\" "
                                                           "\"\" "
                                                           "\"\" \"\" \"\" "
                                                           "\"\" \"\" \"\" 0 0 "
                                                           "64 0 \"\" \"\" 0 0 "
                                                           "0 0 0 0 0 0 0 0 0 "
                                                           "0 0 0 0 0 0 0 0 "
                                                           "\"\" \"\"\n" HEAD(
                                                               "124")
                                                               HOSTS MID(
                                                                   "64") "\nres"
                                                                         "t",
             "1:  : eventTime!\n2:  : jobId!\n3:  : an event type!\n"
             "4:  : execHosts!\n5:  : execHosts!\n6:  : askedHosts!\n"
             "7:  : askedHosts!\n8:  : jobId!\n9:  : jobId!\n" WANT(
                 "124", "completed") TIMES REST},
};

static int feed_acct(struct bj_lsf_acct *r, struct bj_slice text, size_t n)
{
    struct bj_err err = {0};
    int e = 0;
    while (text.n > 0 && e == 0) {
        const size_t k = text.n < n ? text.n : n;
        char *piece = malloc(k);
        memcpy(piece, text.p, k);
        e = bj_lsf_acct_feed(r, (struct bj_slice){piece, k}, &err);
        free(piece);
        text.p += k;
        text.n -= k;
    }
    return e;
}

static void test_accounts(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(accounts); i++) {
        for (size_t n = 1; n < 9000; n += 7999) {
            struct log log = {.stop = 0};
            const struct bj_lsf_conf conf = {
                .ctx = &log, .job = put_job, .bad = put_bad};
            const struct bj_slice text = bj_slice_str(accounts[i].text);
            struct bj_lsf_acct *r;
            assert_int_equal(bj_lsf_acct_new(&conf, &r, NULL), 0);
            assert_int_equal(feed_acct(r, text, n), 0);
            same(&log, accounts[i].want, accounts[i].what);
            bj_lsf_acct_free(r);
            bj_buf_free(&log.text);
        }
    }
}

/* --- bjobs ----------------------------------------------------------------*/

#define DOC(records)                                                           \
    "{\"COMMAND\":\"bjobs\",\"JOBS\":1,\"RECORDS\":[" records "]}"

static const struct {
    const char *what, *text;
    int status;
    const char *want;
} docs[] = {
    {"no jobs", DOC(""), 0, ""},
    {"a job that was done",
     DOC("{\"JOBID\":\"123\",\"JOBINDEX\":\"0\",\"STAT\":\"DONE\",\"USER\":"
         "\"anna\",\"QUEUE\":\"normal\",\"JOB_NAME\":\"my \\\"run\\\"\","
         "\"PROJ_NAME\":\"default\",\"FROM_HOST\":\"login1\",\"EXEC_HOST\":"
         "\"3*hostA:hostB\",\"NEXEC_HOST\":\"2\",\"SLOTS\":\"4\","
         "\"SUBMIT_TIME\":\"Nov 20 10:20\",\"START_TIME\":\"Nov 20 10:21:40 "
         "2026\",\"FINISH_TIME\":\"Nov 20 11:21:40 2026\",\"CPU_USED\":"
         "\"144.000001 second(s)\",\"RUN_TIME\":\"3600 second(s)\","
         "\"MAX_MEM\":\"1.5 Gbytes\",\"MEMLIMIT\":\"2 G\",\"RUNTIMELIMIT\":"
         "\"90.5/hostA\",\"EXIT_CODE\":\"-\",\"EXIT_REASON\":\"-\","
         "\"GPU_NUM\":\"2\",\"EXEC_CWD\":\"/w\",\"SUB_CWD\":\"$HOME/w\","
         "\"COMMAND\":\"./run\"}"),
     0,
     "123 completed name=my \"run\" user=anna queue=normal project=default "
     "code=0 submit=1795170000 start=1795170100 end=1795173700 elapsed=3600 "
     "limit=5430 cpus=4 nodes=2 gpus=2 asked=2147483648 peak=1610612736 "
     "cpu_usec=144000001 on=hostA,hostB from=login1 dir=/w command=./run\n"},
    {"reasons",
     DOC("{\"JOBID\":\"1\",\"STAT\":\"EXIT\",\"EXIT_CODE\":\"130\",\"EXIT_"
         "REASON\":\"TERM_OWNER: job killed by owner\"},{\"JOBID\":\"2\","
         "\"STAT\":\"EXIT\",\"EXIT_REASON\":\"TERM_MEMLIMIT: job killed after "
         "reaching LSF memory usage limit\"},{\"JOBID\":\"3\",\"STAT\":"
         "\"EXIT\",\"EXIT_CODE\":\"1\"}"),
     0,
     "1 cancelled why=TERM_OWNER: job killed by owner code=130\n"
     "2 oom why=TERM_MEMLIMIT: job killed after reaching LSF memory usage "
     "limit\n3 failed code=1\n"},
    {"a running and a pending job",
     DOC("{\"JOBID\":\"1\",\"JOBINDEX\":\"4\",\"STAT\":\"RUN\",\"FINISH_"
         "TIME\":\"Nov 20 12:00 L\",\"EXEC_HOST\":\"hostA\"},{\"JOBID\":\"2\","
         "\"STAT\":\"PEND\",\"NREQ_SLOT\":\"8\",\"START_TIME\":\"-\",\"EXEC_"
         "HOST\":\"-\",\"PEND_REASON\":\"New job is waiting\"}"),
     0,
     "1[4] running array=1 task=4 cpus=1 nodes=1 on=hostA\n"
     "2 pending why=New job is waiting cpus=8\n"},
    {"damage",
     DOC("{\"JOBID\":\"9\",\"ERROR\":\"Job <9> is not found\"},{\"STAT\":"
         "\"RUN\"},{\"JOBID\":\"x\"},17,{\"JOBID\":\"10\",\"STAT\":\"DONE\","
         "\"SUBMIT_TIME\":\"today\",\"MAX_MEM\":\"much\",\"RUN_TIME\":\"\","
         "\"RUNTIMELIMIT\":\"/\"}"),
     0,
     "1: 9 JOBID: a job!\n2:  JOBID: a job!\n3: x JOBID: a job!\n"
     "4:  JOBID: a job!\n5: 10 SUBMIT_TIME: a time\n5: 10 MAX_MEM: a size\n"
     "5: 10 RUNTIMELIMIT: minutes\n10 completed code=0\n"},
    {"cut short", "{\"RECORDS\":[{\"JOBID\":\"1\",\"STAT\":\"RUN\"},{\"JO",
     -EINVAL, "1 running\n"},
    {"not JSON", "No job found\n", -EINVAL, ""},
};

static int feed_json(struct bj_lsf_json *r, struct bj_slice text, size_t n)
{
    struct bj_err err = {0};
    int e = 0;
    while (text.n > 0 && e == 0) {
        const size_t k = text.n < n ? text.n : n;
        char *piece = malloc(k);
        memcpy(piece, text.p, k);
        e = bj_lsf_json_feed(r, (struct bj_slice){piece, k}, &err);
        free(piece);
        text.p += k;
        text.n -= k;
    }
    return e == 0 ? bj_lsf_json_end(r, &err) : e;
}

static void test_docs(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(docs); i++) {
        for (size_t n = 1; n < 9000; n += 7999) {
            struct log log = {.stop = 0};
            const struct bj_lsf_conf conf = {.now_sec = 1795174000,
                                             .ctx = &log,
                                             .job = put_job,
                                             .bad = put_bad};
            struct bj_lsf_json *r;
            assert_int_equal(bj_lsf_json_new(&conf, &r, NULL), 0);
            const int e = feed_json(r, bj_slice_str(docs[i].text), n);
            same(&log, docs[i].want, docs[i].what);
            assert_int_equal(e, docs[i].status);
            bj_lsf_json_free(r);
            bj_buf_free(&log.text);
        }
    }
}

static void test_stop(void **state)
{
    (void)state;
    struct log log = {.stop = -ECANCELED};
    const struct bj_lsf_conf conf = {.ctx = &log, .job = put_job};
    const struct bj_lsf_conf no_callback = {.ctx = &log};
    struct bj_lsf_json *j;
    struct bj_lsf_acct *a;
    assert_int_equal(bj_lsf_json_new(&no_callback, &j, NULL), -EINVAL);
    assert_int_equal(bj_lsf_acct_new(&no_callback, &a, NULL), -EINVAL);
    assert_int_equal(bj_lsf_json_new(&conf, &j, NULL), 0);
    assert_int_equal(
        feed_json(j, BJ_SLICE(DOC("{\"JOBID\":\"1\"},{\"JOBID\":\"2\"}")), 99),
        -ECANCELED);
    assert_int_equal(bj_lsf_json_counts(j)->jobs, 1);
    bj_lsf_json_free(j);
    bj_lsf_json_free(NULL);
    assert_int_equal(bj_lsf_acct_new(&conf, &a, NULL), 0);
    const struct bj_slice two =
        BJ_SLICE(HEAD("1") HOSTS MID("64") "\n" HEAD("2") HOSTS MID("64") "\n");
    assert_int_equal(feed_acct(a, two, 9999), -ECANCELED);
    assert_int_equal(feed_acct(a, BJ_SLICE("x"), 1), -ECANCELED);
    assert_int_equal(log.jobs, 2); /* one by each reader */
    bj_lsf_acct_free(a);
    bj_lsf_acct_free(NULL);
    bj_buf_free(&log.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accounts),
        cmocka_unit_test(test_docs),
        cmocka_unit_test(test_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Jobs that PBS reports: accounting lines and the JSON of qstat as documented
 * (PBS Professional Administrator's Guide; pbs_job_attributes(7)), and as users
 * and older versions of PBS damage them. */
#include "sched/pbs.h"

#include "base/buf.h"
#include "sched/state.h"
#include "tests/unit/sched/pbs_accounts.h"

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
    assert_true(bj_slice_eq(j->batch_system, BJ_SLICE("pbs")));
    bj_buf_printf(b, "%.*s %s", (int)j->jobid.n, j->jobid.p,
                  bj_state_name(j->state));
    num(b, "array", j->array_job);
    num(b, "task", j->array_task);
    const struct {
        const char *name;
        struct bj_slice s;
    } texts[] = {
        {"tasks", j->array_tasks}, {"name", j->name},
        {"user", j->user},         {"group", j->group},
        {"account", j->account},   {"project", j->project},
        {"queue", j->partition},   {"exit", j->exit_raw},
    };
    for (size_t i = 0; i < COUNT(texts); i++)
        put(b, texts[i].name, texts[i].s);
    num(b, "code", j->exit_code);
    num(b, "signal", j->exit_signal);
    num(b, "submit", j->submit_sec);
    num(b, "eligible", j->eligible_sec);
    num(b, "start", j->start_sec);
    num(b, "end", j->end_sec);
    num(b, "elapsed", j->elapsed_sec);
    num(b, "suspended", j->suspended_sec);
    num(b, "limit", j->time_limit_sec);
    num(b, "cpus", j->cpus);
    num(b, "nodes", j->nodes);
    num(b, "gpus", j->gpus);
    num(b, "asked", j->mem_requested_bytes);
    num(b, "peak", j->use.mem_peak_bytes);
    num(b, "cpu_usec", j->use.cpu_usec);
    num(b, "restarts", j->restarts);
    put(b, "on", j->nodelist);
    put(b, "from", j->submit_host);
    put(b, "dir", j->work_dir);
    put(b, "comment", j->comment);
    put(b, "reason", j->reason);
    bj_buf_str(b, "\n");
    return log->stop;
}

static void put_bad(void *ctx, const struct bj_pbs_bad *bad)
{
    struct log *log = ctx;
    bj_buf_printf(&log->text, "line %d: %.*s %.*s: %s%s\n", (int)bad->line,
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

/* --- accounting -----------------------------------------------------------*/

/* Read text in pieces of at most n bytes, each in memory of its own. */
static int feed_acct(struct bj_pbs_acct *r, struct bj_slice text, size_t n)
{
    struct bj_err err = {0};
    int e = 0;
    while (text.n > 0 && e == 0) {
        const size_t k = text.n < n ? text.n : n;
        char *piece = malloc(k);
        memcpy(piece, text.p, k);
        e = bj_pbs_acct_feed(r, (struct bj_slice){piece, k}, &err);
        free(piece);
        text.p += k;
        text.n -= k;
    }
    size_t rest;
    return e < 0 ? e : bj_pbs_acct_end(r, &rest, &err);
}

/* One hour ahead of UTC, and two hours from noon of 2026-11-22 on. */
static int utc_offset(void *ctx, uint64_t local_sec)
{
    (void)ctx;
    return local_sec < 1795348800 ? 60 : 120;
}

static void test_accounts(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(accounts); i++) {
        for (size_t n = 1; n < 2000; n += 1998) {
            struct log log = {.stop = 0};
            const struct bj_pbs_conf conf = {.offset_min = utc_offset,
                                             .ctx = &log,
                                             .job = put_job,
                                             .bad = put_bad};
            const struct bj_slice text = bj_slice_str(accounts[i].text);
            struct bj_pbs_acct *r;
            assert_int_equal(bj_pbs_acct_new(&conf, &r, NULL), 0);
            assert_int_equal(feed_acct(r, text, n), 0);
            same(&log, accounts[i].want, accounts[i].what);
            bj_pbs_acct_free(r);
            bj_buf_free(&log.text);
        }
    }
}

static void test_long_line(void **state)
{
    (void)state;
    struct log log = {.stop = 0};
    const struct bj_pbs_conf conf = {
        .max_job = 300, .ctx = &log, .job = put_job, .bad = put_bad};
    struct bj_pbs_acct *r;
    struct bj_buf b = {0};
    for (int i = 0; i < 50000; i++)
        bj_buf_str(&b, "abc");
    bj_buf_str(&b, "\n11/20/2026 11:00:00;E;8.pbs;Exit_status=0\n");
    assert_int_equal(bj_pbs_acct_new(&conf, &r, NULL), 0);
    assert_int_equal(feed_acct(r, (struct bj_slice){b.p, b.len}, 5000), 0);
    same(&log,
         "line 1:  : a line of fewer bytes!\n"
         "8.pbs completed exit=0 code=0 signal=0 end=1795172400\n",
         "long line");
    bj_pbs_acct_free(r);
    bj_buf_free(&b);
    bj_buf_free(&log.text);
}

/* --- qstat ----------------------------------------------------------------*/

#define HEAD                                                                   \
    "{\n    \"timestamp\":1795173800,\n    \"pbs_version\":\"20.0.1\",\n"      \
    "    \"pbs_server\":\"pbs\",\n    \"Jobs\":{\n"
#define TAIL "    }\n}\n"
#define JOB(id, text)                                                          \
    "        \"" id "\":{\n            \"job_state\":\"F\",\n" text            \
    "            \"Exit_status\":0\n        }"

static const struct {
    const char *what, *text;
    int status;
    const char *want;
} docs[] = {
    {"nothing", "", 0, ""},
    {"no jobs", "{\"timestamp\":1,\"Jobs\":{}}", 0, ""},
    {"no member Jobs", "{\"timestamp\":1,\"pbs_version\":\"22\"}\n", 0, ""},
    {"a job that ended",
     HEAD "        \"123.pbs\":{\n"
          "            \"Job_Name\":\"run\",\n"
          "            \"Job_Owner\":\"anna@login1.example.org\",\n"
          "            \"resources_used\":{\n"
          "                \"cpupercent\":390,\n"
          "                \"cput\":\"03:59:00\",\n"
          "                \"mem\":\"1048576kb\",\n"
          "                \"walltime\":\"01:00:00\"\n"
          "            },\n"
          "            \"job_state\":\"F\",\n"
          "            \"queue\":\"workq\",\n"
          "            \"ctime\":\"Fri Nov 20 10:20:00 2026\",\n"
          "            \"exec_host\":\"n1/0*4+n2/0*4\",\n"
          "            \"exec_vnode\":\"(n1:ncpus=4:ngpus=1)+(n2:ncpus=4)\",\n"
          "            \"mtime\":\"Fri Nov 20 11:21:40 2026\",\n"
          "            \"etime\":\"Fri Nov 20 10:20:02 2026\",\n"
          "            \"Resource_List\":{\n"
          "                \"mem\":\"8gb\",\n"
          "                \"ncpus\":8,\n"
          "                \"nodect\":2,\n"
          "                \"walltime\":\"10:00:00\"\n"
          "            },\n"
          "            \"stime\":\"Fri Nov 20 10:21:40 2026\",\n"
          "            \"substate\":92,\n"
          "            \"Variable_List\":{\n"
          "                \"PBS_O_HOME\":\"/home/anna\",\n"
          "                \"PBS_O_WORKDIR\":\"/home/anna/w\",\n"
          "                \"PBS_O_QUEUE\":\"other\"\n"
          "            },\n"
          "            \"euser\":\"anna\",\n"
          "            \"comment\":\"Job run at Fri Nov 20 at 10:21 and "
          "finished\",\n"
          "            \"run_count\":2,\n"
          "            \"Exit_status\":1,\n"
          "            \"project\":\"_pbs_project_default\"\n"
          "        }\n" TAIL,
     0,
     "123.pbs failed name=run user=anna queue=workq exit=1 code=1 signal=0 "
     "submit=1795170000 eligible=1795170002 start=1795170100 end=1795173700 "
     "elapsed=3600 limit=36000 cpus=8 nodes=2 gpus=1 asked=8589934592 "
     "peak=1073741824 cpu_usec=14340000000 restarts=1 on=n[1-2] "
     "from=login1.example.org dir=/home/anna/w comment=Job run at Fri Nov 20 "
     "at 10:21 and finished\n"},
    {"on one line",
     "{\"Jobs\":{\"7[2].pbs\":{\"job_state\":\"X\",\"Exit_status\":0,\"Job_"
     "Name\":\"a\\\"b\\\\c\\u00e9\\ud83d\\ude00\\n\"},\"8.pbs\":{\"job_"
     "state\":\"R\",\"Job_Owner\":\"x\"}}}",
     0,
     "7[2].pbs unknown array=7 task=2 name=a\"b\\c\xc3\xa9\xf0\x9f\x98\x80\n"
     "\n"
     "8.pbs running user=x\n"},
    {"tasks of an array: the array is no job, and a task that ended long ago "
     "has its values",
     "{\"Jobs\":{\"7[].pbs\":{\"job_state\":\"B\"},"
     "\"7[1].pbs\":{\"job_state\":\"Q\",\"euser\":\"x\"},"
     "\"7[2].pbs\":{\"job_state\":\"F\",\"stime\":1795170100,"
     "\"obittime\":1795173700,\"comment\":\"Subjob finished\","
     "\"Exit_status\":1},"
     "\"7[3].pbs\":{\"job_state\":\"X\",\"stime\":1795170100,"
     "\"run_count\":1,\"Exit_status\":1}}}",
     0,
     "7[1].pbs pending array=7 task=1 user=x\n"
     "7[2].pbs unknown array=7 task=2 end=1795173700 comment=Subjob finished\n"
     "7[3].pbs failed array=7 task=3 exit=1 code=1 signal=0 start=1795170100 "
     "restarts=0\n"},
    {"a job that ran and waits again has no nodes",
     "{\"Jobs\":{\"7.pbs\":{\"job_state\":\"H\",\"exec_host\":\"n1/0*2\","
     "\"exec_vnode\":\"(n1:ncpus=2)\",\"Resource_List\":{\"ncpus\":2,"
     "\"nodect\":3}},"
     "\"8.pbs\":{\"job_state\":\"S\",\"exec_host\":\"n1/0*2\","
     "\"exec_vnode\":\"(n1[0]:ncpus=1+n1[1]:ncpus=1)\"},"
     "\"9.pbs\":{\"job_state\":\"R\",\"exec_host\":\"n1/0*x\"}}}",
     0,
     "7.pbs pending cpus=2\n"
     "8.pbs suspended cpus=2 nodes=1 gpus=0 on=n1\n"
     "line 1: 9.pbs exec_host: a list of hosts\n"
     "9.pbs running\n"},
    {"recorded: two nodes, of which the other one reported last; its run time "
     "was 17 s, its CPU time 5 s",
     "{\"Jobs\":{\"36.pbs\":{\"resources_used\":{\"cput\":\"00:00:02\","
     "\"mem\":\"33952kb\",\"vmem\":\"44684kb\",\"walltime\":\"00:00:00\"},"
     "\"job_state\":\"F\",\"exec_host\":\"pbs/1*2+n2/0*2\",\"exec_vnode\":"
     "\"(pbs:ncpus=2)+(n2:ncpus=2)\",\"stime\":1795935083,\"obittime\":"
     "1795935103,\"Exit_status\":0},"
     "\"37.pbs\":{\"resources_used\":{\"walltime\":\"00:00:00\"},"
     "\"job_state\":\"F\",\"exec_host\":\"pbs/1+n2/0\",\"exec_vnode\":"
     "\"(pbs:ncpus=1)+(n2:ncpus=1)\",\"stime\":1795935083,\"obittime\":"
     "1795935084,\"Exit_status\":0}}}",
     0,
     "36.pbs completed exit=0 code=0 signal=0 start=1795935083 end=1795935103 "
     "cpus=4 nodes=2 gpus=0 on=n2,pbs\n"
     "37.pbs completed exit=0 code=0 signal=0 start=1795935083 end=1795935084 "
     "elapsed=0 cpus=2 nodes=2 gpus=0 on=n2,pbs\n"},
    {"recorded: deleted while it waited to run again; PBS prints times and "
     "exit "
     "status of the run before",
     "{\"Jobs\":{\"2.pbs\":{\"job_state\":\"F\",\"substate\":91,"
     "\"ctime\":1795839004,\"mtime\":1795839717,\"stime\":1795839132,"
     "\"obittime\":1795839160,\"run_count\":22,\"Exit_status\":-18,"
     "\"Resource_List\":{\"ncpus\":2}}}}",
     0,
     "2.pbs cancelled submit=1795839004 end=1795839717 cpus=2 restarts=22\n"},
    {"deleted by a user, and never run",
     HEAD JOB("7.pbs",
              "\"substate\":91,\n\"Exit_status\":271,\n") ",\n"
                                                          "\"8.pbs\":{\"job_"
                                                          "state\":\"F\"},"
                                                          "\n\"9.pbs\":{\"job_"
                                                          "state\":\"H\"}" TAIL,
     0,
     "7.pbs cancelled exit=0 code=0 signal=0\n8.pbs cancelled\n"
     "9.pbs pending\n"},
    {"text that looks like a number",
     HEAD JOB("7.pbs", "\"Job_Name\":0123,\n\"Account_Name\":inf,\n"
                       "\"project\":0x1f,\n\"queue\":.5,\n\"euser\":1e5,\n"
                       "\"egroup\":-nan,\n\"comment\":null,\n") TAIL,
     0,
     "7.pbs completed name=0123 user=1e5 group=-nan account=inf project=0x1f "
     "queue=.5 exit=0 code=0 signal=0\n"},
    {"unescaped quotes",
     HEAD JOB("7.pbs", "\"Job_Name\":\"a\"b\",\n\"comment\":\"he said \"x\", "
                       "and \"y\"\",\n") TAIL,
     0,
     "7.pbs completed name=a\"b exit=0 code=0 signal=0 comment=he said \"x\", "
     "and \"y\"\n"},
    {"unescaped quotes and commas: not guessed",
     HEAD JOB("7.pbs", "\"euser\":\"an\",\"na\",\n") ",\n" JOB("8.pbs", "")
         TAIL,
     0,
     "line 10: 7.pbs : a colon behind a key!\n"
     "8.pbs completed exit=0 code=0 signal=0\n"},
    {"unescaped newlines, and a missing quote",
     HEAD JOB("7.pbs", "\"comment\":\"one\ntwo \" x\n{ three\",\n"
                       "\"Job_Name\":\"no end\n\"euser\":\"anna\",\n") TAIL,
     0,
     "7.pbs completed name=no end user=anna exit=0 code=0 signal=0 "
     "comment=one\ntwo \" x\n{ three\n"},
    {"backslashes that escape nothing",
     HEAD JOB("7.pbs", "\"Job_Name\":\"C:\\dir\\q\",\n"
                       "\"comment\":\"ends in \\\",\n\"euser\":\"\\ud800x\","
                       "\n") TAIL,
     0,
     "7.pbs completed name=C:\\dir\\q user=\\ud800x exit=0 code=0 signal=0 "
     "comment=ends in \\\n"},
    {"the same key twice: the last one counts",
     HEAD JOB("7.pbs", "\"project\":\"a\",\n\"project\":\"b\",\n") TAIL, 0,
     "7.pbs completed project=b exit=0 code=0 signal=0\n"},
    {"text that imitates the owner: the first owner counts, and of several "
     "users none",
     HEAD JOB("7.pbs", "\"Job_Owner\":\"bob@n1\",\n\"Account_Name\":\"x\",\n"
                       "\"euser\":\"root\",\n\"Job_Owner\":\"root@n1\",\n"
                       "\"z\":\"y\",\n\"euser\":\"bob\",\n") TAIL,
     0,
     "line 15: 7.pbs euser: one value\n"
     "7.pbs completed user=bob account=x exit=0 code=0 signal=0 from=n1\n"},
    {"bytes that are not UTF-8",
     HEAD JOB("7.pbs", "\"Job_Name\":\"\xff\xfe\",\n") TAIL, 0,
     "7.pbs completed name=\xff\xfe exit=0 code=0 signal=0\n"},
    {"a comma too many, and an array",
     HEAD JOB("7.pbs",
              "\"a\":[1,{\"euser\":\"x\"},\"y]\"],\n\"b\":{},\n") ",\n" TAIL,
     0, "7.pbs completed exit=0 code=0 signal=0\n"},
    {"attributes of other objects",
     "{\"Job_Name\":\"x\",\"Queue\":{\"q\":{\"job_state\":\"F\"}},\"Jobs\":{"
     "\"7.pbs\":{\"job_state\":\"Q\",\"deep\":{\"er\":{\"euser\":\"root\"}}}"
     "}}",
     0, "7.pbs pending\n"},
    {"fields that are not numbers",
     HEAD JOB("7.pbs", "\"ctime\":\"soon\",\n\"Resource_List\":{\"mem\":"
                       "\"lots\"},\n") TAIL,
     0,
     "line 11: 7.pbs ctime: a time\n"
     "line 11: 7.pbs Resource_List.mem: a size\n"
     "7.pbs completed exit=0 code=0 signal=0\n"},
    {"an id that is not a job id",
     HEAD JOB("R7.pbs", "") ",\n" JOB("8.pbs", "") TAIL, 0,
     "line 9: R7.pbs : a job id!\n8.pbs completed exit=0 code=0 signal=0\n"},
    {"a value without a key",
     HEAD JOB("7.pbs", "5,\n") ",\n" JOB("8.pbs", "") TAIL, 0,
     "line 10: 7.pbs job_state: a letter\n"
     "7.pbs unknown exit=0 code=0 signal=0\n"
     "8.pbs completed exit=0 code=0 signal=0\n"},
    {"cut short", HEAD JOB("7.pbs", "") ",\n\"8.pbs\":{\"job_state\":\"F",
     -EINVAL, "7.pbs completed exit=0 code=0 signal=0\n"},
    {"not JSON", "qstat: cannot connect to server\n", -EINVAL, ""},
};

static int feed_json(struct bj_pbs_json *r, struct bj_slice text, size_t n)
{
    struct bj_err err = {0};
    int e = 0;
    while (text.n > 0 && e == 0) {
        const size_t k = text.n < n ? text.n : n;
        char *piece = malloc(k);
        memcpy(piece, text.p, k);
        e = bj_pbs_json_feed(r, (struct bj_slice){piece, k}, &err);
        free(piece);
        text.p += k;
        text.n -= k;
    }
    if (e == 0)
        e = bj_pbs_json_end(r, &err);
    assert_int_equal(e < 0, err.code < 0);
    return e;
}

static void test_docs(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(docs); i++) {
        for (size_t n = 1; n < 5000; n = n * 5 + 2) {
            struct log log = {.stop = 0};
            const struct bj_pbs_conf conf = {
                .ctx = &log, .job = put_job, .bad = put_bad};
            struct bj_pbs_json *r;
            assert_int_equal(bj_pbs_json_new(&conf, &r, NULL), 0);
            const int e = feed_json(r, bj_slice_str(docs[i].text), n);
            same(&log, docs[i].want, docs[i].what);
            assert_int_equal(e, docs[i].status);
            bj_pbs_json_free(r);
            bj_buf_free(&log.text);
        }
    }
}

/* Jobs and values of any size use bounded memory; the next job is still
 * read. */
static void test_huge(void **state)
{
    (void)state;
    struct log log = {.stop = 0};
    const struct bj_pbs_conf conf = {
        .max_job = 5000, .ctx = &log, .job = put_job, .bad = put_bad};
    struct bj_pbs_json *r;
    struct bj_buf b = {0};
    bj_buf_str(&b, HEAD "\"7.pbs\":{\"job_state\":\"F\"");
    for (int i = 0; i < 50000; i++)
        bj_buf_printf(&b, ",\"key%d\":\"value\"", i);
    bj_buf_str(&b, "},\n" JOB("8.pbs", "") TAIL);
    assert_int_equal(bj_pbs_json_new(&conf, &r, NULL), 0);
    assert_int_equal(feed_json(r, (struct bj_slice){b.p, b.len}, 4096), 0);
    same(&log,
         "line 6: 7.pbs : a job of fewer bytes!\n"
         "8.pbs completed exit=0 code=0 signal=0\n",
         "huge");
    bj_pbs_json_free(r);
    bj_buf_free(&log.text);
    bj_buf_free(&b);
}

static void test_stop(void **state)
{
    (void)state;
    struct log log = {.stop = -ECANCELED};
    const struct bj_pbs_conf conf = {.ctx = &log, .job = put_job};
    const struct bj_pbs_conf no_callback = {.ctx = &log};
    struct bj_pbs_json *j;
    struct bj_pbs_acct *a;
    struct bj_err err = {0};
    assert_int_equal(bj_pbs_json_new(&no_callback, &j, &err), -EINVAL);
    assert_int_equal(bj_pbs_acct_new(&no_callback, &a, &err), -EINVAL);
    assert_int_equal(bj_pbs_json_new(&conf, &j, NULL), 0);
    assert_int_equal(
        feed_json(j, BJ_SLICE(HEAD JOB("7.pbs", "") "," JOB("8.pbs", "") TAIL),
                  9999),
        -ECANCELED);
    assert_int_equal(bj_pbs_json_end(j, NULL), -ECANCELED);
    assert_int_equal(bj_pbs_json_counts(j)->jobs, 1);
    bj_pbs_json_free(j);
    bj_pbs_json_free(NULL);
    assert_int_equal(bj_pbs_acct_new(&conf, &a, NULL), 0);
    assert_int_equal(feed_acct(a, BJ_SLICE(E_RECORD E_RECORD), 9999),
                     -ECANCELED);
    assert_int_equal(log.jobs, 2); /* one by each reader */
    bj_pbs_acct_free(a);
    bj_pbs_acct_free(NULL);
    bj_buf_free(&log.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accounts), cmocka_unit_test(test_long_line),
        cmocka_unit_test(test_docs),     cmocka_unit_test(test_huge),
        cmocka_unit_test(test_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

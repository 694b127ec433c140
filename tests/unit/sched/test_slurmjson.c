/* Slurm's JSON documents, parsed in pieces: numbers that JSON does not allow
 * (Infinity, NaN), states, the formats of Slurm 21.08 and 23.02 (simulated
 * after Slurm's sources), and documents that are cut off, wrong or empty. */
#include "base/arena.h"
#include "base/buf.h"
#include "sched/slurmjson.h"
#include "sched/slurmrestd.h"
#include "tests/unit/lib/fail.h"
#include "tests/unit/lib/httpstub.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define S(text) bj_slice_str(text)

/* --- invalid numbers, states, versions ------------------------------------ */

static int append(void *ctx, struct bj_slice piece, struct bj_err *err)
{
    (void)err;
    bj_buf_slice(ctx, piece);
    return 0;
}

static void test_fix(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"{\"a\": Infinity, \"b\": -Infinity, \"c\":NaN}",
         "{\"a\": null, \"b\": null, \"c\":null}"},
        {"[-5, 1e-9, \"Infinity\", \"-NaN \\\" Infinity\", true, null]",
         "[-5, 1e-9, \"Infinity\", \"-NaN \\\" Infinity\", true, null]"},
        {"[\"\\\\\",Infinity,\"\\\\\\\"NaN\"]",
         "[\"\\\\\",null,\"\\\\\\\"NaN\"]"},
        {"[-Infinity,-NaN,--5,-]", "[null,null,--5,-]"},
        {"[Infinite, Nan, InfinityInfinity]",
         "[Infinite, Nan, InfinityInfinity]"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        for (size_t step = 1; step < 40; step++) {
            struct bj_slurmjson_fix f = {0};
            struct bj_buf got = {0};
            const struct bj_slice text = S(cases[i].text);
            for (size_t at = 0; at < text.n; at += step) {
                const size_t n = text.n - at < step ? text.n - at : step;
                assert_int_equal(
                    bj_slurmjson_fix(&f, (struct bj_slice){text.p + at, n},
                                     append, &got, NULL),
                    0);
            }
            bj_buf_put(&got, "", 1);
            assert_string_equal(got.p, cases[i].want);
            bj_buf_free(&got);
        }
}

static void test_job_state(void **state)
{
    static const struct {
        const char *name[4], *want;
    } cases[] = {
        {{"RUNNING"}, "RUNNING"},
        {{"COMPLETED", "COMPLETING"}, "COMPLETING"},
        {{"RUNNING", "RESIZING", "CONFIGURING"}, "CONFIGURING"},
        {{"PENDING", "LAUNCH_FAILED", "REQUEUE_HOLD"}, "REQUEUE_HOLD"},
        {{"RUNNING", "POWER_UP_NODE"}, "RUNNING"},
        {{"LAUNCH_FAILED", "FAILED"}, "FAILED"},
        {{"SOMETHING_NEW"}, "SOMETHING_NEW"},
        {{NULL}, ""},
        {{"LAUNCH_FAILED"}, ""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bj_slice name[4];
        size_t n = 0;
        for (; n < 4 && cases[i].name[n]; n++)
            name[n] = S(cases[i].name[n]);
        assert_true(
            bj_slice_eq(bj_slurmjson_job_state(name, n), S(cases[i].want)));
    }
}

static void test_newest(void **state)
{
    static const struct {
        const char *text;
        unsigned ctl, db;
    } cases[] = {
        {"\"\\/slurm\\/v0.0.37\\/jobs\\/\":{},\"/slurm/v0.0.38/jobs\":{},"
         "\"/slurmdb/v0.0.38/jobs\":1",
         38, 38},
        {"/slurm/v0.0.44/jobs/ /slurm/v0.0.45/node /slurmdb/v0.0.43/jobs/", 44,
         43},
        {"/slurm/v0.0.36/jobs /slurm/v0.0.100/jobs /slurm/v1.0/jobs", 0, 0},
        {"", 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct bj_slice text = S(cases[i].text);
        assert_int_equal(bj_slurmrestd_newest(text, BJ_SLURMRESTD_CTL),
                         cases[i].ctl);
        assert_int_equal(bj_slurmrestd_newest(text, BJ_SLURMRESTD_DB),
                         cases[i].db);
    }
}

/* --- documents ------------------------------------------------------------*/

struct seen {
    struct bj_buf got;
    unsigned bad;
    int stop; /* result of the callbacks */
};

static void put(struct bj_buf *b, struct bj_slice s)
{
    bj_buf_slice(b, s);
    bj_buf_str(b, "|");
}

static void put_number(struct bj_buf *b, uint64_t v)
{
    if (v == BJ_ABSENT)
        bj_buf_str(b, "-|");
    else
        bj_buf_printf(b, "%llu|", (unsigned long long)v);
}

static int see_job(void *ctx, const struct bj_squeue_job *j)
{
    struct seen *s = ctx;
    struct bj_buf *b = &s->got;
    const struct bj_slice texts[] = {j->id,      j->state, j->partition,
                                     j->account, j->user,  j->qos,
                                     j->host,    j->reason};
    const uint64_t numbers[] = {j->jobs,
                                j->nodes,
                                j->submit_sec,
                                j->start_sec,
                                bj_tres_get(&j->tres, BJ_TRES_CPU),
                                bj_tres_get(&j->tres, BJ_TRES_MEM)};
    for (size_t i = 0; i < COUNT(texts); i++)
        put(b, texts[i]);
    for (size_t i = 0; i < COUNT(numbers); i++)
        put_number(b, numbers[i]);
    bj_buf_str(b, j->host_unknown ? "no host\n" : "\n");
    return s->stop;
}

static int see_node(void *ctx, const struct bj_sinfo_node *n)
{
    struct seen *s = ctx;
    struct bj_buf *b = &s->got;
    const uint64_t numbers[] = {n->cpus,  n->allocated, n->idle,
                                n->other, n->mem_bytes, n->mem_free_bytes};
    put(b, n->name);
    put(b, n->partition);
    put(b, n->state_text);
    for (size_t i = 0; i < COUNT(numbers); i++)
        put_number(b, numbers[i]);
    bj_buf_str(b, "\n");
    return s->stop;
}

static int see_reservation(void *ctx, const struct bj_reservation *r)
{
    struct seen *s = ctx;
    put(&s->got, r->name);
    put(&s->got, r->state);
    put(&s->got, r->nodes);
    return s->stop;
}

static int see_license(void *ctx, const struct bj_license *l)
{
    struct seen *s = ctx;
    put(&s->got, l->name);
    put_number(&s->got, l->total);
    put_number(&s->got, l->reserved);
    return s->stop;
}

static int see_share(void *ctx, const struct bj_share *v)
{
    struct seen *s = ctx;
    put(&s->got, v->account);
    put(&s->got, v->user);
    put_number(&s->got, v->shares);
    put_number(&s->got, v->norm_ppm);
    put_number(&s->got, v->used_ppm);
    put_number(&s->got, v->fairshare_ppm);
    bj_buf_str(&s->got, "\n");
    return s->stop;
}

static int see_limits(void *ctx, const struct bj_limits *l)
{
    struct seen *s = ctx;
    put(&s->got, l->account);
    put_number(&s->got, l->jobs);
    put_number(&s->got, bj_tres_get(&l->group, BJ_TRES_MEM));
    return s->stop;
}

static int see_diag(void *ctx, const struct bj_sdiag *d)
{
    struct seen *s = ctx;
    put_number(&s->got, d->jobs_started);
    put_number(&s->got, d->bf_table_mean);
    put_number(&s->got, d->cycle_mean_usec);
    put_number(&s->got, d->cycles_per_min);
    put_number(&s->got, d->bf_last_sec);
    return s->stop;
}

static void see_rpc(void *ctx, const struct bj_sdiag_rpc *r)
{
    struct seen *s = ctx;
    put(&s->got, r->name);
    put_number(&s->got, r->total_usec);
}

static int see_cluster(void *ctx, struct bj_slice name)
{
    struct seen *s = ctx;
    bj_buf_printf(&s->got, "<%.*s>", (int)name.n, name.p);
    return s->stop;
}

static void see_bad(void *ctx)
{
    struct seen *s = ctx;
    s->bad++;
}

static int read_doc(struct seen *s, enum bj_slurmjson_kind kind,
                    const char *text, size_t step, struct bj_err *err)
{
    const struct bj_slurmjson_conf conf = {.now_sec = 1000,
                                           .ctx = s,
                                           .job = see_job,
                                           .node = see_node,
                                           .reservation = see_reservation,
                                           .diag = see_diag,
                                           .rpc = see_rpc,
                                           .license = see_license,
                                           .share = see_share,
                                           .limits = see_limits,
                                           .cluster = see_cluster,
                                           .bad = see_bad};
    struct bj_slurmjson *j;
    const size_t n = strlen(text);
    int r = bj_slurmjson_new(kind, &conf, &j, err);
    if (r < 0)
        return r;
    for (size_t at = 0; r == 0 && at < n; at += step)
        r = bj_slurmjson_feed(
            j, (struct bj_slice){text + at, n - at < step ? n - at : step},
            err);
    if (r == 0)
        r = bj_slurmjson_end(j, err);
    bj_slurmjson_free(j);
    return r;
}

static const struct {
    enum bj_slurmjson_kind kind;
    const char *text, *want;
    unsigned bad;
} docs[] = {
    /* 21.08, simulated: plain numbers, state texts, no submit host */
    {BJ_SLURMJSON_JOBS,
     "{\"meta\":{\"plugin\":{\"type\":\"openapi/v0.0.37\"},\"Slurm\":{"
     "\"version\":{\"major\":21}}},\"errors\":[],\"jobs\":[{\"account\":\"a\","
     "\"array_job_id\":0,\"array_task_id\":null,\"array_task_string\":\"\","
     "\"job_id\":7,\"job_state\":\"RUNNING\",\"node_count\":2,\"partition\":"
     "\"p\",\"qos\":\"q\",\"start_time\":1700000000,\"submit_time\":"
     "1699999999,\"state_reason\":\"None\",\"state_description\":\"\","
     "\"tres_alloc_str\":\"cpu=4,mem=2G,node=2\",\"tres_req_str\":\"cpu=1\","
     "\"user_name\":\"u\",\"user_id\":5,\"job_resources\":{\"x\":[1]}}]}",
     "7|RUNNING|p|a|u|q||None|1|2|1699999999|1700000000|4|2147483648|no host\n",
     0},
    {BJ_SLURMJSON_NODES,
     "{\"nodes\":[{\"name\":\"n1\",\"state\":\"mixed\",\"cpus\":8,"
     "\"alloc_cpus\":3,\"idle_cpus\":5,\"real_memory\":100,\"alloc_memory\":"
     "10,\"free_memory\":-2,\"partitions\":[\"a\",\"b\"]},{\"name\":\"n2\","
     "\"state\":\"idle\",\"state_flags\":[\"DRAIN\"],\"cpus\":8,"
     "\"alloc_cpus\":0,\"real_memory\":100,\"alloc_memory\":0,"
     "\"free_memory\":7,\"partitions\":\"a,b\"}]}",
     "n1|a|mixed|8|3|5|0|104857600|-|\nn1|b|mixed|8|3|5|0|104857600|-|\n"
     "n2|a|idle+DRAIN|8|0|0|8|104857600|7340032|\n"
     "n2|b|idle+DRAIN|8|0|0|8|104857600|7340032|\n",
     0},
    /* 23.02, simulated: numbers that may be unset, infinite or not a number */
    {BJ_SLURMJSON_JOBS,
     "{\"meta\":{\"Slurm\":{\"release\":\"23.02.7\"}},\"jobs\":[{\"job_id\":8,"
     "\"account\":\"a\",\"allocating_node\":\"login\",\"billable_tres\":{"
     "\"set\":false,\"infinite\":true,\"number\":Infinity},\"job_state\":"
     "\"PENDING\",\"array_task_string\":\"1-10:3%2\",\"node_count\":{\"set\":"
     "true,\"infinite\":false,\"number\":1},\"start_time\":{\"set\":true,"
     "\"infinite\":false,\"number\":0},\"submit_time\":{\"set\":true,"
     "\"infinite\":false,\"number\":5},\"tres_req_str\":\"cpu=2,mem=1M\","
     "\"tres_alloc_str\":\"\",\"state_reason\":\"Resources\","
     "\"state_description\":\"ReqNodeNotAvail, x\",\"cluster\":\"c\","
     "\"user_name\":\"\",\"user_id\":42,\"partition\":\"p,q\"}]}",
     "<c>8|PENDING|p,q|a|42||login|ReqNodeNotAvail, x|4|1|5|-|2|1048576|\n", 0},
    {BJ_SLURMJSON_NODES,
     "{\"nodes\":[{\"name\":\"n\",\"state\":[\"DOWN\",\"NOT_RESPONDING\"],"
     "\"cpus\":{\"set\":true,\"infinite\":false,\"number\":4},\"alloc_cpus\":"
     "0,\"real_memory\":1,\"alloc_memory\":0,\"free_mem\":{\"set\":false,"
     "\"infinite\":false,\"number\":0},\"partitions\":[\"p\"]}]}",
     "n|p|DOWN+NOT_RESPONDING|4|0|0|4|1048576|-|\n", 0},
    /* invalid or incomplete entries are left out and counted */
    {BJ_SLURMJSON_JOBS,
     "{\"jobs\":[7,{},{\"job_id\":1},{\"job_id\":\"x\",\"job_state\":\"R\"},"
     "{\"job_id\":2,\"job_state\":[]},{\"job_id\":3,\"job_state\":[\"RUNNING\"]"
     ",\"array_task_string\":\"1,3,5,...\"},{\"job_id\":4,\"job_state\":"
     "[\"RUNNING\"],\"node_count\":\"many\"}]}",
     "", 7},
    {BJ_SLURMJSON_NODES,
     "{\"nodes\":[{\"name\":\"n\",\"state\":\"idle\"},{\"name\":\"m\","
     "\"state\":\"idle\",\"cpus\":1,\"alloc_cpus\":9,\"real_memory\":"
     "18446744073709551615,\"alloc_memory\":0,\"partitions\":[\"p\"]},"
     "{\"name\":\"o\",\"state\":\"idle\",\"cpus\":1,\"alloc_cpus\":9,"
     "\"real_memory\":1,\"alloc_memory\":0,\"partitions\":[\"p\"]}]}",
     "o|p|idle|1|1|0|0|1048576|-|\n", 2},
    /* a node without a partition is left out, as by sinfo */
    {BJ_SLURMJSON_NODES,
     "{\"nodes\":[{\"name\":\"n\",\"state\":\"idle\",\"cpus\":1,\"alloc_cpus\":"
     "0,\"real_memory\":1,\"alloc_memory\":0,\"partitions\":[]}]}",
     "", 0},
    {BJ_SLURMJSON_RESERVATIONS,
     "{\"reservations\":[{\"name\":\"r\",\"start_time\":1000,\"end_time\":"
     "1001,\"node_list\":\"n[1-2]\"},{\"name\":\"s\",\"start_time\":1001,"
     "\"end_time\":2000,\"node_list\":\"\"},{\"start_time\":1}]}",
     "r|ACTIVE|n[1-2]|s|INACTIVE||", 1},
    {BJ_SLURMJSON_LICENSES,
     "{\"licenses\":[{\"LicenseName\":\"m\",\"Total\":5,\"Used\":{\"set\":true,"
     "\"infinite\":false,\"number\":1}},{\"Total\":1}]}",
     "m|5|-|", 1},
    {BJ_SLURMJSON_SHARES,
     "{\"meta\":{\"slurm\":{\"cluster\":\"k\"}},\"shares\":{\"shares\":[{"
     "\"name\":\"root\",\"parent\":\"\",\"type\":[\"ASSOCIATION\"],\"shares\":{"
     "\"set\":false,\"infinite\":false,\"number\":0},\"effective_usage\":{"
     "\"set\":true,\"infinite\":false,\"number\":0.25},\"fairshare\":{"
     "\"factor\":{\"set\":true,\"infinite\":false,\"number\":1.0},\"level\":{"
     "\"set\":false,\"infinite\":true,\"number\":Infinity}}},{\"name\":\"u\","
     "\"parent\":\"a\",\"type\":[\"USER\"],\"shares\":2147483647,"
     "\"shares_normalized\":NaN,\"effective_usage\":0.1234567,\"fairshare\":{"
     "\"factor\":0.5}}]}}",
     "<k>root||-|-|250000|-|\na|u|-|-|123457|500000|\n", 0},
    {BJ_SLURMJSON_LIMITS,
     "{\"associations\":[{\"account\":\"a\",\"user\":\"\",\"max\":{\"jobs\":{"
     "\"per\":{\"count\":{\"set\":true,\"infinite\":false,\"number\":3}}},"
     "\"tres\":{\"total\":[{\"type\":\"mem\",\"name\":\"\",\"count\":2048}]}}},"
     "{\"user\":\"x\"}]}",
     "a|3|2147483648|", 1},
    {BJ_SLURMJSON_DIAG,
     "{\"statistics\":{\"req_time\":1000,\"req_time_start\":940,"
     "\"jobs_started\":4,\"bf_cycle_counter\":3,\"bf_table_size_sum\":10,"
     "\"bf_table_size_mean\":7,\"schedule_cycle_total\":0,"
     "\"schedule_cycle_mean\":9,\"schedule_cycle_per_minute\":0,"
     "\"bf_when_last_cycle\":{\"set\":true,\"infinite\":false,\"number\":0},"
     "\"rpcs_by_message_type\":[{\"message_type\":\"R\",\"count\":1,"
     "\"total_time\":9},{\"count\":1}],\"rpcs_by_user\":[{\"user\":\"u\","
     "\"count\":2,\"total_time\":8}]}}",
     "R|9|u|8|4|3|-|-|-|", 0},
    {BJ_SLURMJSON_PING,
     "{\"meta\":{\"slurm\":{\"version\":{\"major\":\"26\"},\"cluster\":\"x\"}},"
     "\"pings\":[{\"hostname\":\"h\"}]}",
     "<x>", 0},
    {BJ_SLURMJSON_CLUSTERS,
     "{\"clusters\":[{\"name\":\"a\"},{\"name\":\"b\"},{}]}", "<a><b>", 1},
    /* an empty list is not an error */
    {BJ_SLURMJSON_RESERVATIONS,
     "{\"errors\":[{\"error_number\":9003,\"error\":\"Nothing found\"}],"
     "\"reservations\":[]}",
     "", 0},
    {BJ_SLURMJSON_LICENSES, "{\"licenses\":[],\"errors\":[]}", "", 0},
};

static void test_docs(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(docs); i++)
        for (size_t step = 1; step < 2000; step = step * 5 + 2) {
            struct seen s = {0};
            struct bj_err err = {0};
            int r = read_doc(&s, docs[i].kind, docs[i].text, step, &err);
            bj_buf_put(&s.got, "", 1);
            if (r != 0 || s.bad != docs[i].bad)
                fail_msg("document %zu by %zu: %d %s, %u bad: %s", i, step, r,
                         err.msg, s.bad, s.got.p);
            assert_string_equal(s.got.p, docs[i].want);
            bj_buf_free(&s.got);
        }
}

static void test_broken(void **state)
{
    static const struct {
        enum bj_slurmjson_kind kind;
        const char *text;
        int want;
        const char *message;
    } cases[] = {
        {BJ_SLURMJSON_JOBS, "", -EBADMSG, NULL},
        {BJ_SLURMJSON_JOBS, "slurm_load_jobs error", -EBADMSG, NULL},
        {BJ_SLURMJSON_JOBS, "{\"jobs\":[", -EBADMSG, NULL},
        {BJ_SLURMJSON_JOBS, "{\"jobs\":[{\"job_id\":1}]", -EBADMSG, NULL},
        {BJ_SLURMJSON_JOBS, "{\"nodes\":[]}", -EBADMSG, "has no jobs"},
        {BJ_SLURMJSON_NODES,
         "{\"sinfo\":[{\"node\":{\"state\":[\"IDLE\"]},\"nodes\":{\"total\":2}}"
         "]}",
         -EBADMSG, "scontrol --all --json show nodes"},
        {BJ_SLURMJSON_JOBS, "{\"jobs\":[Infinite]}", -EBADMSG, NULL},
        {BJ_SLURMJSON_DIAG, "{\"diag\":1}", -EBADMSG, "has no statistics"},
        {BJ_SLURMJSON_PING, "[]", -EBADMSG, NULL},
        {BJ_SLURMJSON_JOBS,
         "{\"jobs\":[],\"errors\":[{\"error_number\":1,\"error\":\"no way\"},"
         "{\"error\":\"second\"}]}",
         -EREMOTEIO, "no way"},
        {BJ_SLURMJSON_JOBS, "{\"jobs\":[],\"errors\":[{}]}", -EREMOTEIO,
         "without a text"},
        {BJ_SLURMJSON_JOBS,
         "{\"jobs\":[],\"errors\":[{\"description\":\"why\"}]}", -EREMOTEIO,
         "why"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct seen s = {0};
        struct bj_err err = {0};
        assert_int_equal(read_doc(&s, cases[i].kind, cases[i].text, 7, &err),
                         cases[i].want);
        if (cases[i].message && !strstr(err.msg, cases[i].message))
            fail_msg("'%s' has no '%s'", err.msg, cases[i].message);
        bj_buf_free(&s.got);
    }
    bj_slurmjson_free(NULL);
}

/* An error of a callback ends parsing. */
static void test_stop(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(docs); i++) {
        struct seen s = {.stop = -ENOMEM};
        struct bj_err err = {0};
        int r = read_doc(&s, docs[i].kind, docs[i].text, 100, &err);
        assert_int_equal(r, *docs[i].want ? -ENOMEM : 0);
        bj_buf_free(&s.got);
    }
}

static int read_one(void *arg)
{
    const size_t i = *(const size_t *)arg;
    struct seen s = {0};
    int r = read_doc(&s, docs[i].kind, docs[i].text, 50, NULL);
    if (s.got.failed)
        r = -ENOMEM;
    bj_buf_free(&s.got);
    return r;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    if (!bj_fail_works())
        skip();
    for (size_t i = 0; i < COUNT(docs); i++)
        bj_fail_each(read_one, &i);
}

/* --- errors ---------------------------------------------------------------
 */

/* A refusal, with the words of slurmrestd 26.05.3. */
static void test_refused(void **state)
{
    static const char body[] =
        "{\"errors\": [{\"description\": \"Failure to query nodes\","
        " \"error_number\": 2002, \"error\": \"Access\\/permission denied\","
        " \"source\": \"_dump_nodes\"}], \"warnings\": []}";
    char text[512];
    struct bj_stub stub = {0};
    struct bj_err err = {0};
    struct bj_slurmrestd *s;
    struct bj_buf got = {0};
    (void)state;
    snprintf(text, sizeof(text),
             "HTTP/1.1 422 Unprocessable Content\r\nContent-Length: %zu\r\n"
             "\r\n%s",
             sizeof(body) - 1, body);
    const struct bj_stub_response responses[] = {
        {.text = text},
        {.text = "HTTP/1.1 500 Internal Server Error\r\n"
                 "Content-Length: 12\r\n\r\n{\"errors\": ["},
        /* its HTTP server, for a URL that it does not parse */
        {.text = "HTTP/1.1 500 INTERNAL ERROR\r\nConnection: Close\r\n"
                 "Content-Length: 17\r\nContent-Type: text/plain\r\n\r\n"
                 "Unspecified error"},
        {.text = "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\n\r\n"
                 "<html>"},
    };
    bj_stub_begin(&stub, NULL, responses, COUNT(responses));
    struct bj_slurmrestd_conf conf = {
        .url = stub.url, .version = 45, .deadline_usec = 20000000};
    assert_int_equal(bj_slurmrestd_new(&conf, &s, &err), 0);
    assert_true(bj_slurmrestd_get(s, "/slurm/v0.0.45/nodes", NULL, append, &got,
                                  &err) < 0);
    assert_string_equal(bj_err_text(&err, text, sizeof(text)),
                        "slurmrestd: status 422: Failure to query nodes: "
                        "Access/permission denied");
    /* a document that is cut off has no words */
    assert_true(bj_slurmrestd_get(s, "/slurm/v0.0.45/nodes", NULL, append, &got,
                                  &err) < 0);
    assert_non_null(strstr(err.msg, "http: status 500"));
    assert_true(bj_slurmrestd_get(s, "/slurm/v0.0.45/nodes", NULL, append, &got,
                                  &err) < 0);
    assert_string_equal(bj_err_text(&err, text, sizeof(text)),
                        "slurmrestd: status 500: Unspecified error");
    assert_true(bj_slurmrestd_get(s, "/slurm/v0.0.45/nodes", NULL, append, &got,
                                  &err) < 0);
    assert_non_null(strstr(err.msg, "http: status 502"));
    assert_int_equal(got.len, 0);
    bj_slurmrestd_free(s);
    bj_buf_free(&got);
    bj_stub_end(&stub);
    bj_stub_free(&stub);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fix),           cmocka_unit_test(test_job_state),
        cmocka_unit_test(test_newest),        cmocka_unit_test(test_docs),
        cmocka_unit_test(test_broken),        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

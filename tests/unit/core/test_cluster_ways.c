/* The cluster collector in a core with JSON and slurmrestd: recordings of Slurm
 * 22.05 and 26.05, commands without --json, invalid responses, no server, and
 * responses that never come. */
#include "tests/unit/core/test_cluster.h"
#include "tests/unit/lib/httpstub.h"

#include "base/buf.h"
#include "core/cluster/query.h"

#include <stdlib.h>
#include <sys/stat.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define OLD "22.05/"
#define NEW "26.05/"

/* Jobs in state RUNNING in the recordings. */
enum { OLD_RUNNING = 6, NEW_RUNNING = 13 };

/* --- JSON -----------------------------------------------------------------*/

/* A command that prints one recording with --json, another one without. */
static void json_or_text(const char *name, const char *json, const char *text)
{
    char cwd[1024], body[3000];
    assert_non_null(getcwd(cwd, sizeof(cwd)));
    snprintf(body, sizeof(body),
             "case \"$*\" in *--json*) f=%s ;; *) f=%s ;; esac\n"
             "exec /bin/cat %s/tests/fixtures/cluster/$f",
             json, text, cwd);
    command(name, body);
}

/* A command of a version without --json. */
static void text_only(const char *name, const char *text)
{
    char cwd[1024], body[3000];
    assert_non_null(getcwd(cwd, sizeof(cwd)));
    snprintf(body, sizeof(body),
             "case \"$*\" in *--json*) echo \"%s: unrecognized option "
             "'--json'\" >&2; exit 1 ;; esac\n"
             "case $* in *config) f=config ;; *licenses) f=licenses ;; "
             "*reservation*) f=reservations ;; *) f=%s ;; esac\n"
             "exec /bin/cat %s/tests/fixtures/cluster/$f.txt",
             name, text, cwd);
    command(name, body);
}

static unsigned run_count(const char *name)
{
    char path[256], c;
    unsigned n = 0;
    snprintf(path, sizeof(path), "%s/runs.%s", dir, name);
    FILE *f = fopen(path, "r");
    while (f && fread(&c, 1, 1, f) == 1)
        n += c == '\n';
    if (f)
        fclose(f);
    return n;
}

/* Slurm 22.05: squeue and sinfo print JSON. The other commands refuse --json,
 * which is tried only once. */
static void test_old(void **state)
{
    (void)state;
    struct rig r;
    json_or_text("squeue", OLD "queue.38.json", "squeue.txt");
    json_or_text("sinfo", OLD "nodes.38.json", "sinfo.txt");
    text_only("scontrol", "config");
    text_only("sdiag", "sdiag");
    START(r, "cluster.via=json", "cluster.interval=1s");
    wait_runs(&r, "licenses", 4);
    assert_true(bj_slice_eq(r.snap->cluster, bj_slice_str("sandbox")));
    assert_int_equal(jobs_of(&r, "RUNNING"), OLD_RUNNING);
    assert_int_equal(list(&r, BJ_CL_LICENSES)->n, 2);
    assert_int_equal(list(&r, BJ_CL_RESERVATIONS)->n, 3);
    assert_int_equal(list(&r, BJ_CL_CONTROLLER)->n, 1);
    assert_true(list(&r, BJ_CL_NODES)->n > 3);
    assert_int_equal(source(&r, "queue")->bad_lines, 0);
    assert_int_equal(error_count(&r, "diag", "exit"), 0);
    const uint64_t runs = source(&r, "diag")->runs;
    rig_stop(&r);
    /* a refused run is not counted, and --json is not tried each time */
    assert_true(run_count("sdiag") >= runs + 1 &&
                run_count("sdiag") < 2 * runs);
}

/* Slurm 26.05: everything is JSON except the cluster's name. */
static void test_new(void **state)
{
    (void)state;
    struct rig r;
    char cwd[1024], body[3000];
    assert_non_null(getcwd(cwd, sizeof(cwd)));
    json_or_text("squeue", NEW "queue.45.json", "nothing");
    json_or_text("sdiag", NEW "diag.45.json", "nothing");
    json_or_text("sshare", NEW "shares.45.json", "nothing");
    json_or_text("sacctmgr", NEW "limits.45.json", "nothing");
    command("sinfo", "exit 1");
    snprintf(body, sizeof(body),
             "case $* in *config) f=config.txt ;; *licenses) "
             "f=" NEW "licenses.45.json ;; *nodes) f=" NEW "nodes.45.json ;; "
             "*) f=" NEW "reservations.45.json ;; esac\n"
             "exec /bin/cat %s/tests/fixtures/cluster/$f",
             cwd);
    command("scontrol", body);
    START(r, "cluster.via=json", "cluster.interval=1h", "cluster.source=diag",
          "cluster.source=licenses", "cluster.source=reservations",
          "cluster.source=shares", "cluster.source=limits");
    wait_runs(&r, "limits", 1);
    assert_int_equal(jobs_of(&r, "RUNNING"), NEW_RUNNING);
    assert_int_equal(list(&r, BJ_CL_LICENSES)->n, 2);
    assert_int_equal(list(&r, BJ_CL_RESERVATIONS)->n, 2);
    assert_int_equal(list(&r, BJ_CL_CONTROLLER)->n, 1);
    assert_true(list(&r, BJ_CL_SHARES)->n > 5);
    /* The recorded associations belong to a cluster with another name. */
    assert_int_equal(list(&r, BJ_CL_LIMITS)->n, 0);
    for (int i = 0; i < 50; i++)
        rig_pass(&r);
    rig_stop(&r);
    assert_int_equal(run_count("squeue"), 1);
    assert_int_equal(run_count("sinfo"), 0);
}

/* A version between: sinfo's JSON has groups of nodes, and scontrol has no JSON
 * yet. */
static void test_intermediate_version(void **state)
{
    (void)state;
    struct rig r;
    char cwd[1024], body[3000];
    assert_non_null(getcwd(cwd, sizeof(cwd)));
    json_or_text("squeue", OLD "queue.38.json", "squeue.txt");
    text_only("scontrol", "config");
    snprintf(body, sizeof(body),
             "case \"$*\" in *--json*) echo '{\"sinfo\": [{}]}' ;; "
             "*) exec /bin/cat %s/tests/fixtures/cluster/sinfo.txt ;; esac",
             cwd);
    command("sinfo", body);
    START(r, "cluster.via=json", "cluster.interval=1s", "cluster.source=none");
    wait_runs(&r, "nodes", 4);
    assert_int_equal(list(&r, BJ_CL_NODES)->n, 5);
    assert_int_equal(error_count(&r, "nodes", "output"), 0);
    assert_int_equal(source(&r, "nodes")->success, 1);
    const uint64_t runs = source(&r, "nodes")->runs;
    rig_stop(&r);
    /* JSON was requested once */
    assert_true(run_count("sinfo") >= runs + 1 &&
                run_count("sinfo") < 2 * runs);
}

static void test_json_faults(void **state)
{
    (void)state;
    struct rig r;
    json_or_text("squeue", OLD "queue.38.json", "squeue.txt");
    json_or_text("sinfo", OLD "nodes.38.json", "sinfo.txt");
    json_or_text("sdiag", NEW "diag.45.json", "nothing");
    text_only("scontrol", "config");
    START(r, "cluster.via=json", "cluster.interval=1s", "cluster.timeout=2s");
    wait_runs(&r, "licenses", 1);
    assert_int_equal(jobs_of(&r, "RUNNING"), OLD_RUNNING);
    command("squeue", "echo '{\"jobs\": [{\"job_id\": 1'; exec /bin/sleep 60");
    command("sinfo", "echo '{\"jobs\": []}'");
    command("sdiag",
            "echo '{\"statistics\": {}, \"errors\": [{\"error\": \"no\"}]}'");
    AWAIT_PASSES(&r, error_count(&r, "queue", "timeout") > 0 &&
                         error_count(&r, "nodes", "output") > 0 &&
                         error_count(&r, "diag", "exit") > 0);
    assert_int_equal(source(&r, "licenses")->success, 1);
    command("squeue", "echo '{\"jobs\": [{\"job_id\": 1}, '");
    AWAIT_PASSES(&r, error_count(&r, "queue", "output") > 0 &&
                         list(&r, BJ_CL_JOBS)->n == 0 &&
                         list(&r, BJ_CL_NODES)->n == 0);
    assert_int_equal(list(&r, BJ_CL_LICENSES)->n, 2);
    rig_stop(&r);
}

/* --- slurmrestd -----------------------------------------------------------*/

static struct bj_stub stub;
static char url_opt[128], token_opt[256];
static struct bj_buf pages[8];

static const char *page(size_t i, const char *file, const char *text)
{
    struct bj_buf *b = &pages[i];
    char path[256];
    static char body[1 << 20];
    size_t n = 0;
    if (file) {
        snprintf(path, sizeof(path), "tests/fixtures/cluster/%s", file);
        FILE *f = fopen(path, "rb");
        assert_non_null(f);
        n = fread(body, 1, sizeof(body), f);
        fclose(f);
    } else {
        n = strlen(text);
        memcpy(body, text, n);
    }
    b->len = 0;
    bj_buf_printf(b, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", n);
    bj_buf_put(b, body, n);
    bj_buf_put(b, "", 1);
    return b->p;
}

static void serve(const struct bj_stub_response *responses, size_t n)
{
    bj_stub_begin(&stub, NULL, responses, n);
    snprintf(url_opt, sizeof(url_opt), "slurmrestd.url=%s", stub.url);
}

static void free_stub(void)
{
    bj_stub_free(&stub);
    memset(&stub, 0, sizeof(stub));
    for (size_t i = 0; i < COUNT(pages); i++)
        bj_buf_free(&pages[i]);
}

static void stop_serving(void)
{
    bj_stub_end(&stub);
    free_stub();
}

#define PATHS                                                                  \
    "{\"/slurm/v0.0.44/jobs/\":1,\"/slurm/v0.0.45/jobs/\":1,"                  \
    "\"/slurmdb/v0.0.45/jobs/\":1}"
#define PING "{\"meta\":{\"slurm\":{\"cluster\":\"rec\"}},\"pings\":[]}"

/* The API versions are requested once; a pass sends no request. */
static void test_rest(void **state)
{
    (void)state;
    struct rig r;
    const struct bj_stub_response responses[] = {
        {.text = page(0, NULL, PATHS)},
        {.text = page(1, NULL, PING)},
        {.text = page(2, NEW "reservations.45.json", NULL)},
        {.text = page(3, NEW "queue.45.json", NULL)},
        {.text = page(4, NEW "nodes.45.json", NULL)},
        {.text = page(5, NEW "diag.45.json", NULL)},
        {.text = page(6, NEW "licenses.45.json", NULL)},
        {.text = page(7, NEW "limits.45.json", NULL)},
    };
    serve(responses, COUNT(responses));
    mode_t old_mask = umask(077);
    tmp_file("token", "SLURM_JWT=abc.def\n");
    umask(old_mask);
    snprintf(token_opt, sizeof(token_opt), "slurmrestd.token-file=%s/token",
             dir);
    START(r, "cluster.via=rest", url_opt, token_opt, "slurmrestd.user=root",
          "cluster.interval=1h", "cluster.slow-interval=1h",
          "cluster.source=diag", "cluster.source=licenses",
          "cluster.source=reservations", "cluster.source=limits");
    wait_runs(&r, "limits", 1);
    assert_true(bj_slice_eq(r.snap->cluster, bj_slice_str("rec")));
    assert_int_equal(jobs_of(&r, "RUNNING"), NEW_RUNNING);
    assert_int_equal(list(&r, BJ_CL_RESERVATIONS)->n, 2);
    assert_int_equal(list(&r, BJ_CL_LICENSES)->n, 2);
    assert_true(list(&r, BJ_CL_LIMITS)->n > 3);
    for (int i = 0; i < 50; i++)
        rig_pass(&r);
    rig_stop(&r);
    bj_stub_end(&stub);
    assert_int_equal(stub.served, COUNT(responses));
    assert_non_null(strstr(stub.received.p, "GET /openapi/v3 "));
    assert_non_null(strstr(stub.received.p, "GET /slurm/v0.0.45/ping "));
    assert_non_null(
        strstr(stub.received.p, "GET /slurmdb/v0.0.45/associations "));
    assert_non_null(strstr(stub.received.p, "X-SLURM-USER-TOKEN: abc.def\r\n"));
    assert_non_null(strstr(stub.received.p, "X-SLURM-USER-NAME: root\r\n"));
    free_stub();
}

/* slurmrestd of Slurm 22.05 does not report the cluster's name. It comes from
 * the database if that has only one cluster, else from the jobs; until then no
 * limits are reported. */
static void test_rest_name(void **state)
{
    (void)state;
    struct rig r;
    const struct bj_stub_response responses[] = {
        {.text = page(0, NULL, "{\"meta\":{\"Slurm\":{}},\"pings\":[]}")},
        {.text = page(1, NULL,
                      "{\"clusters\":[{\"name\":\"a\"},{\"name\":\"b\"}]}")},
        {.text = page(2, OLD "queue.38.json", NULL)},
        {.text = page(3, OLD "nodes.38.json", NULL)},
        {.text = page(4, OLD "limits.38.json", NULL)},
    };
    serve(responses, COUNT(responses));
    START(r, "cluster.via=rest", url_opt, "slurmrestd.version=38",
          "cluster.interval=1h", "cluster.source=limits");
    wait_runs(&r, "limits", 1);
    assert_true(bj_slice_eq(r.snap->cluster, bj_slice_str("sandbox")));
    assert_int_equal(jobs_of(&r, "RUNNING"), OLD_RUNNING);
    assert_int_equal(list(&r, BJ_CL_HOST_JOBS)->n, 0);
    assert_true(list(&r, BJ_CL_LIMITS)->n > 3);
    rig_stop(&r);
    stop_serving();
}

static void test_rest_faults(void **state)
{
    (void)state;
    struct rig r;
    const struct bj_stub_response responses[] = {
        {.text = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"},
        {.text = page(0, NULL, "{\"jobs\": [{\"job_id\": 1}, ")},
        {.text = page(1, NULL, "{}"), .wait_ms = 60000},
    };
    serve(responses, COUNT(responses));
    START(r, "cluster.via=rest", url_opt, "slurmrestd.version=45",
          "cluster.interval=1h", "cluster.source=none", "cluster.timeout=3s");
    wait_runs(&r, "nodes", 1);
    assert_int_equal(error_count(&r, "config", "exit"), 1);
    assert_int_equal(error_count(&r, "queue", "output"), 1);
    assert_int_equal(error_count(&r, "nodes", "timeout"), 1);
    assert_int_equal(list(&r, BJ_CL_JOBS)->n, 0);
    rig_stop(&r);
    stop_serving();
    /* no server */
    START(r, "cluster.via=rest", url_opt, "cluster.interval=1h",
          "cluster.source=none");
    wait_runs(&r, "nodes", 1);
    assert_int_equal(error_count(&r, "queue", "missing"), 1);
    rig_stop(&r);
}

static void test_options(void **state)
{
    (void)state;
    static const struct {
        const char *url, *conf;
        const char *want;
    } cases[] = {
        {"", "", "slurmrestd.unix-socket"},
        {"http://x", "", NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bj_scheduler_conf conf = {.via = (char[]){"rest"},
                                         .rest_url = strdup(cases[i].url)};
        struct bj_cluster_client *a = NULL;
        struct bj_err err = {0};
        int r = bj_cluster_client_new(&conf, &a, &err);
        assert_int_equal(r, cases[i].want ? -EINVAL : 0);
        if (cases[i].want)
            assert_non_null(strstr(err.msg, cases[i].want));
        bj_cluster_client_free(a);
        free(conf.rest_url);
    }
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_old),
        TEST(test_new),
        TEST(test_intermediate_version),
        TEST(test_json_faults),
        TEST(test_rest),
        TEST(test_rest_name),
        TEST(test_rest_faults),
        TEST(test_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

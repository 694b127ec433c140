/* Command lines of the scheduler's commands, and a real command that runs
 * through a wrapper. */
#include "core/cluster/command.h"

#include "tests/unit/core/test_cluster.h"
#include "tests/unit/lib/fail.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *const argv[] = {"squeue", "--all", "-O", "a b", NULL};
static const char *const env[] = {"A=1", "B=2", NULL};

static struct bj_scheduler_conf conf_of(const char *prefix, const char *path,
                                        const char *via)
{
    return (struct bj_scheduler_conf){.prefix = (char *)(uintptr_t)prefix,
                                      .path = (char *)(uintptr_t)path,
                                      .via = (char *)(uintptr_t)via};
}

static void check_line(const struct bj_scheduler_conf *conf,
                       enum bj_cluster_source id, const char *want)
{
    struct bj_cluster_command c;
    struct bj_cluster_line line;
    char got[512] = "";
    assert_int_equal(bj_cluster_command_init(&c, conf, NULL), 0);
    assert_int_equal(bj_cluster_command_line(&c, id, argv, env, &line, NULL),
                     0);
    for (size_t i = 0; line.argv[i]; i++)
        snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s",
                 i ? "|" : "", line.argv[i]);
    assert_string_equal(got, want);
    bj_cluster_command_free(&c);
}

static void test_line(void **state)
{
    (void)state;
    char *jobs[] = {(char[]){"partition=a,b"}, (char[]){"user=anna"}};
    char *nodes[] = {(char[]){"node=n[1-3]"}};
    struct bj_scheduler_conf c = conf_of("", "/x:/y", NULL);
    check_line(&c, BJ_CLUSTER_QUEUE, "squeue|--all|-O|a b");
    c.jobs = (struct bj_strv){jobs, 2};
    c.nodes = (struct bj_strv){nodes, 1};
    check_line(&c, BJ_CLUSTER_QUEUE,
               "squeue|--all|-O|a b|--partition=a,b|--user=anna");
    check_line(&c, BJ_CLUSTER_NODES, "squeue|--all|-O|a b|--nodes=n[1-3]");
    check_line(&c, BJ_CLUSTER_DIAG, "squeue|--all|-O|a b");
    nodes[0] = (char[]){"partition=a"};
    check_line(&c, BJ_CLUSTER_NODES, "squeue|-O|a b|--partition=a");
    char *own[] = {(char[]){"queue=cat  /x/queue.json"}};
    c.commands = (struct bj_strv){own, 1};
    check_line(&c, BJ_CLUSTER_QUEUE, "cat|/x/queue.json");
    check_line(&c, BJ_CLUSTER_DIAG, "squeue|--all|-O|a b");
    c = conf_of(" sudo  -u slurm ", "", "json");
    check_line(&c, BJ_CLUSTER_QUEUE,
               "sudo|-u|slurm|env|A=1|B=2|squeue|--all|-O|a b");
    c.path = (char[]){"/opt/slurm/bin"};
    check_line(&c, BJ_CLUSTER_QUEUE,
               "sudo|-u|slurm|env|A=1|B=2|/opt/slurm/bin/squeue|--all|-O|a b");
}

static void test_options(void **state)
{
    (void)state;
    static const struct {
        const char *prefix, *path, *via, *jobs, *jobs2, *nodes, *why;
    } cases[] = {
        {"", "", "json", "user=a", NULL, NULL, "need cluster.via=text"},
        {"", "", "rest", NULL, NULL, "node=a", "need cluster.via=text"},
        {"sudo", "", "rest", NULL, NULL, NULL, "rest runs no commands"},
        {"sudo", "/a:/b", "", NULL, NULL, NULL, "cluster.path"},
        {"", "", "", "user", NULL, NULL, "cluster.jobs: 'user' is not"},
        {"", "", "", "user=", NULL, NULL, "cluster.jobs: 'user=' is not"},
        {"", "", "", "users=a", NULL, NULL, "account, user, qos"},
        {"", "", "", "user=a", "user=b", NULL, "user is given twice"},
        {"", "", "", NULL, NULL, "user=a", "cluster.nodes: 'user=a' is not"},
        {"a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a",
         "", "", NULL, NULL, NULL, "too many words"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *jobs[] = {(char *)(uintptr_t)cases[i].jobs,
                        (char *)(uintptr_t)cases[i].jobs2};
        char *nodes[] = {(char *)(uintptr_t)cases[i].nodes};
        struct bj_scheduler_conf c =
            conf_of(cases[i].prefix, cases[i].path, cases[i].via);
        struct bj_cluster_command command;
        struct bj_err err = {0};
        c.jobs = (struct bj_strv){jobs,
                                  (size_t)(!!cases[i].jobs + !!cases[i].jobs2)};
        c.nodes = (struct bj_strv){nodes, cases[i].nodes ? 1 : 0};
        assert_int_equal(bj_cluster_command_init(&command, &c, &err), -EINVAL);
        if (!strstr(err.msg, cases[i].why))
            fail_msg("%s", err.msg);
    }
}

static int make(void *arg)
{
    struct bj_cluster_command c;
    int r = bj_cluster_command_init(&c, arg, NULL);
    if (r == 0)
        bj_cluster_command_free(&c);
    return r;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    char *jobs[] = {(char[]){"user=a"}};
    struct bj_scheduler_conf c = conf_of("sudo -u slurm", "", "");
    c.jobs = (struct bj_strv){jobs, 1};
    if (!bj_fail_works())
        skip();
    assert_true(bj_fail_each(make, &c) >= 8);
}

/* A command runs through a wrapper that drops its environment, as sudo and ssh
 * do. */
static void test_wrapped(void **state)
{
    (void)state;
    struct rig r;
    char cwd[1024], body[2000], prefix[300];
    assert_non_null(getcwd(cwd, sizeof(cwd)));
    snprintf(body, sizeof(body),
             "[ \"$SLURM_TIME_FORMAT$SLURM_BITSTR_LEN\" = %%s0 ] || exit 3\n"
             "for last; do :; done\n"
             "[ \"$last\" = --partition=test,batch ] || exit 4\n"
             "exec /bin/cat %s/tests/fixtures/cluster/squeue.txt",
             cwd);
    command("squeue", body);
    command("wrap", "[ \"$1\" = 'for' ] || exit 5\nshift\n"
                    "PATH=/usr/bin:/bin exec env -i \"$@\"");
    snprintf(prefix, sizeof(prefix), "cluster.command-prefix=%s/bin/wrap for",
             dir);
    START(r, prefix, "cluster.jobs=partition=test,batch",
          "cluster.interval=1h");
    wait_runs(&r, "licenses", 1);
    assert_int_equal(source(&r, "queue")->success, 1);
    assert_int_equal(jobs_of(&r, "RUNNING"), 2);
    assert_int_equal(list(&r, BJ_CL_NODES)->n, 5);
    rig_stop(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test_setup_teardown(test_wrapped, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The servers of the PromQL gate: entries of gate.servers, and the choice of a
 * server for a query. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the headers above */
#include <cmocka.h>

#include "apiserver/conf/gate_conf.h"
#include "apiserver/gate/gate_pool.h"

#include <errno.h>
#include <string.h>

#define DAY ((uint64_t)86400 * 1000000)

static const int64_t now = 1800000000000;

static void read_list(const char *const *text, size_t n,
                      const struct bj_prom_conf *prom,
                      struct bj_gate_servers *ret)
{
    struct bj_err err = {0};
    static const struct bj_opt opts[] = {
        {.name = "servers", .kind = BJ_OPT_LIST, .check = bj_gate_server_check},
        {.name = NULL}};
    struct bj_strv list = {0};
    const struct bj_optset set = {opts, &list};
    for (size_t i = 0; i < n; i++)
        if (bj_opt_set(&set, 1, BJ_SLICE("servers"), bj_slice_str(text[i]),
                       &err) < 0)
            fail_msg("%s: %s", text[i], err.msg);
    if (bj_gate_servers_read(&list, prom, 16, ret, &err) < 0)
        fail_msg("%s", err.msg);
    bj_opt_free(&set);
}

static void entries_are_parsed(void **state)
{
    (void)state;
    static const char *const text[] = {
        "http://a:9090 retention=15d",
        "  https://b/base  delay=3h\tmax-queries=4 user=u password-file=/p "
        "ca-file=/ca cert-file=/c key-file=/k header=X-Scope-OrgID:site "
        "header=A:b",
        "http://c token-file=/t",
        "http://prom:9090/ retention=90d",
    };
    static char url[] = "http://prom:9090/", token[] = "/of-prometheus";
    const struct bj_prom_conf prom = {.url = url, .token_file = token};
    struct bj_gate_servers s = {0};
    read_list(text, 4, &prom, &s);
    assert_int_equal(s.n, 4);
    assert_string_equal(s.v[0].client.url, "http://a:9090");
    assert_int_equal(s.v[0].retention_usec, 15 * DAY);
    assert_int_equal(s.v[0].queries, 16);
    assert_null(s.v[0].client.token_file);
    assert_int_equal(s.v[1].retention_usec, 0);
    assert_int_equal(s.v[1].delay_usec, DAY / 8);
    assert_int_equal(s.v[1].queries, 4);
    assert_string_equal(s.v[1].client.password_file, "/p");
    assert_int_equal(s.v[1].client.headers.n, 2);
    assert_string_equal(s.v[1].client.headers.v[0], "X-Scope-OrgID:site");
    assert_string_equal(s.v[2].client.token_file, "/t");
    assert_string_equal(s.v[3].client.token_file, "/of-prometheus");
    assert_int_equal(s.v[3].retention_usec, 90 * DAY);
    bj_gate_servers_free(&s);
    read_list(NULL, 0, &prom, &s);
    assert_int_equal(s.n, 1);
    assert_ptr_equal(s.v[0].client.url, prom.url);
    bj_gate_servers_free(&s);
}

static void wrong_entries_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"", "expected a URL"},
        {"prometheus:9090", "expected http://"},
        {"http://a 15d", "'15d': expected retention="},
        {"http://a retention=", "'retention=': expected a duration"},
        {"http://a retention=0", "expected a duration"},
        {"http://a retention=1d retention=2d", "'retention=2d'"},
        {"http://a max-queries=0", "expected a number"},
        {"http://a max-queries=1001", "expected a number"},
        {"http://a header=X", "expected NAME:VALUE"},
        {"http://a header=:X", "expected NAME:VALUE"},
        {"http://a user=u", "must be given together"},
        {"http://a user=u password-file=/p token-file=/t", "only one of"},
        {"http://a key-file=/k", "requires cert-file"},
        {"http://a retention=1d delay=1d", "shorter than the retention"},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct bj_err err = {0};
        assert_int_equal(bj_gate_server_check(wrong[i][0], &err), -EINVAL);
        if (!strstr(err.msg, wrong[i][1]))
            fail_msg("%s: %s", wrong[i][0], err.msg);
    }
    static char a[] = "http://a", b[] = "http://b", c[] = "http://a delay=1h";
    char *twice[] = {a, b, c};
    const struct bj_strv list = {twice, 3};
    const struct bj_prom_conf none = {0};
    struct bj_gate_servers s = {0};
    struct bj_err err = {0};
    assert_int_equal(bj_gate_servers_read(&list, &none, 1, &s, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "1 and 3 have the same URL"));
    bj_gate_servers_free(&s);
}

/* --- choice of a server ---------------------------------------------------
 */

static const struct bj_gate_server recent = {.retention_usec = 15 * DAY,
                                             .queries = 4},
                                   year = {.retention_usec = 365 * DAY,
                                           .queries = 4},
                                   all = {.delay_usec = DAY / 8, .queries = 4};

static struct bj_gate_upstream server[4]; /* two recent, year, all */
static struct bj_gate_upstream *const servers[4] = {&server[0], &server[1],
                                                    &server[2], &server[3]};

static int reset_servers(void **state)
{
    const struct bj_gate_server *const conf[] = {&recent, &recent, &year, &all};
    (void)state;
    for (unsigned i = 0; i < 4; i++)
        server[i] = (struct bj_gate_upstream){
            .conf = conf[i], .up = true, .last_use = i};
    return 0;
}

/* Choose a server for a query of the time from..to, in days before now. */
static int route(int64_t from, int64_t to,
                 const struct bj_gate_upstream *failed)
{
    const struct bj_gate_need need = {
        .span = {now - from * 86400000, now - to * 86400000},
        .now_ms = now,
        .own_max = 3,
        .failed = failed};
    return bj_gate_route(servers, 4, &need);
}

static void shortest_retention_that_covers_the_time_wins(void **state)
{
    (void)state;
    assert_int_equal(route(1, 0, NULL), 0);
    assert_int_equal(route(15, 0, NULL), 0);
    assert_int_equal(route(16, 0, NULL), 2);
    assert_int_equal(route(400, 1, NULL), 3);
    /* no server covers the whole time */
    assert_int_equal(route(400, 0, NULL), 3);
    const struct bj_gate_need none = {
        .span = BJ_PROMQL_NO_SPAN, .now_ms = now, .own_max = 1};
    assert_int_equal(bj_gate_route(servers, 4, &none), 0);
    assert_int_equal(bj_gate_route(servers, 0, &none), -ENOENT);
}

static void server_with_fewest_queries_wins(void **state)
{
    (void)state;
    server[0].running = 2;
    assert_int_equal(route(1, 0, NULL), 1);
    server[1].running = 2;
    assert_int_equal(route(1, 0, NULL), 0);
    server[0].last_use = 9;
    assert_int_equal(route(1, 0, NULL), 1);
    server[1].user_running = 3;
    assert_int_equal(route(1, 0, NULL), 0);
    server[0].running = 4;
    assert_int_equal(route(1, 0, NULL), -EAGAIN);
    assert_int_equal(route(20, 0, NULL), 2);
}

static void servers_that_are_down_are_the_last_choice(void **state)
{
    (void)state;
    server[0].up = false;
    assert_int_equal(route(1, 0, NULL), 1);
    assert_int_equal(route(1, 0, &server[1]), 2);
    server[1].up = false;
    assert_int_equal(route(1, 0, NULL), 2);
    assert_int_equal(route(1, 0, &server[2]), -ENOENT);
    server[2].up = false;
    /* "all" lacks the newest series */
    assert_int_equal(route(1, 0, NULL), 0);
    assert_int_equal(route(2, 1, NULL), 3);
    server[3].up = false;
    assert_int_equal(route(400, 0, NULL), 3);
    assert_int_equal(route(400, 0, &server[3]), -ENOENT);
}

/* Names of other exporters of clusters: public unless they say something of a
 * person. */
static const struct {
    const char *name;
    bool public;
} names[] = {
    /* vpenso */
    {"slurm_queue_pending", true},
    {"slurm_queue_node_fail", true},
    {"slurm_cpus_alloc", true},
    {"slurm_nodes_mix", true},
    {"slurm_node_state_info", true},
    {"slurm_partition_jobs_pending", true},
    {"slurm_scheduler_threads", true},
    {"slurm_rpc_stats_avg_time", true},
    {"slurm_user_rpc_stats", false},
    {"slurm_account_fairshare", false},
    {"slurm_account_levelfs", false},
    {"slurm_user_jobs_running", false},
    /* prometheus-slurm-exporter */
    {"slurm_jobs_state_count", true},
    {"slurm_job_count_per_state", true},
    {"slurm_pending_reason_total", true},
    {"slurm_job_scrape_duration", true},
    {"slurm_job_scrape_error", true},
    {"job_scrape_errors", true},
    {"slurm_cpu_load", true},
    {"slurm_mem_real", true},
    {"slurm_node_scrape_error", true},
    {"slurm_diag_scrape_duration", true},
    {"slurm_limit_scrape_duration", true},
    {"slurm_fairshare_scrape_duration", true},
    {"slurm_account_collect_error", true},
    {"slurm_lic_used", true},
    {"slurm_rpc_msg_type_count", true},
    {"slurm_daemon_thread_count", true},
    {"slurm_dbd_agent_queue_size", true},
    {"slurm_backfill_job_count", true},
    {"slurm_rpc_user_count", false},
    {"slurm_user_state_total", false},
    {"slurm_account_job_state_total", false},
    {"slurm_account_cpu_limit", false},
    {"slurm_job_mem_alloc", false},
    {"slurm_job_cpu_alloc", false},
    {"slurm_feature_total", false},
    /* mila */
    {"slurm_job_states", true},
    {"slurm_node_states", true},
    {"slurm_login_nodes", true},
    {"slurm_partitions", true},
    /* slurm-job-exporter */
    {"slurm_job_memory_max", false},
    {"slurm_job_core_usage_total", false},
};

static void presets_of_other_exporters(void **state)
{
    (void)state;
    static char url[] = "http://a:9090";
    const struct bj_prom_conf prom = {.url = url};
    struct bj_gate_conf conf = {.enabled = true, .queries = 16};
    struct bj_err err = {0};
    assert_int_equal(bj_gate_conf_check(&conf, &prom, &err), 0);
    const struct bj_promql_rules rules = {conf.rule, conf.rules};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct bj_arena arena = {0};
        const struct bj_promql_node *tree = NULL;
        assert_int_equal(bj_promql_parse(bj_slice_str(names[i].name), NULL,
                                         &arena, &tree, NULL),
                         0);
        if (bj_promql_is_public(tree, &rules) != names[i].public)
            fail_msg("%s", names[i].name);
        bj_arena_free(&arena);
    }
    bj_gate_conf_free(&conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_of_other_exporters),
        cmocka_unit_test(entries_are_parsed),
        cmocka_unit_test(wrong_entries_are_refused),
        cmocka_unit_test_setup(shortest_retention_that_covers_the_time_wins,
                               reset_servers),
        cmocka_unit_test_setup(server_with_fewest_queries_wins, reset_servers),
        cmocka_unit_test_setup(servers_that_are_down_are_the_last_choice,
                               reset_servers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

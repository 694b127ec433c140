#include "apiserver/conf/gate_conf.h"

#include <stdlib.h>

#define AT(member) offsetof(struct bj_gate_conf, member)
#define SEC(n) ((uint64_t)(n)*1000000)

static int check_rule(const char *text, struct bj_err *err);

const struct bj_opt bj_gate_opts[] = {
    {.name = "gate.enabled",
     .kind = BJ_OPT_BOOL,
     .off = AT(enabled),
     .preset = "false",
     .help = "Serve the HTTP API of Prometheus below /prometheus, where users "
             "see public series and those of their own jobs.",
     .more = "Enable it to give users a Prometheus data source in Grafana. It "
             "queries the server of prometheus.url, or those of "
             "gate.servers."},
    {.name = "gate.servers",
     .kind = BJ_OPT_LIST,
     .off = AT(entries),
     .check = bj_gate_server_check,
     .arg = "SERVER",
     .help =
         "Server that the gate queries: \"URL retention=15d\". A query goes "
         "to the server with the shortest retention that covers its time. "
         "Default: prometheus.url.",
     .more =
         "Set it when you have several servers: replicas, or one for recent "
         "and another for old series. More words: delay=DURATION (it has "
         "no newer series), max-queries=NUMBER, user=NAME, "
         "password-file=FILE, token-file=FILE, ca-file=FILE, "
         "cert-file=FILE, key-file=FILE, header=NAME:VALUE. Without "
         "these, the server of prometheus.url uses the options "
         "prometheus.*."},
    {.name = "gate.metrics",
     .kind = BJ_OPT_LIST,
     .off = AT(metrics),
     .check = check_rule,
     .arg = "RULE",
     .help = "Who sees a metric: \"NAME public\", or \"NAME user=LABEL "
             "account=LABEL\" with the labels that hold owner and account. A "
             "NAME may end with '*'.",
     .more = "Set it for metrics of other programs. The longest NAME counts; "
             "these rules replace presets of the same NAME. Metrics without a "
             "rule are personal, with the labels user and account."},
    {.name = "gate.timeout",
     .kind = BJ_OPT_DURATION,
     .off = AT(timeout_usec),
     .lo = SEC(1),
     .hi = SEC(600),
     .preset = "30s",
     .help = "Longest time for a query of the gate, from its arrival to the "
             "last byte of the response.",
     .more = "Raise it when queries of admins over long ranges fail."},
    {.name = "gate.max-range",
     .kind = BJ_OPT_DURATION,
     .off = AT(range_usec),
     .hi = SEC(366 * 86400) * 100,
     .preset = "400d",
     .help = "Longest time that a query of the gate may span, with the ranges "
             "and offsets in it; also of requests for series and names. 0: "
             "unlimited.",
     .more = "Lower it to protect the Prometheus server.",
     .rare = true},
    {.name = "gate.max-steps",
     .kind = BJ_OPT_U64,
     .off = AT(steps),
     .lo = 1,
     .hi = 1000000,
     .preset = "11000",
     .help = "Maximum number of steps of a range query, and of a subquery.",
     .more = "Prometheus itself refuses range queries with more than 11000.",
     .rare = true},
    {.name = "gate.max-bytes",
     .kind = BJ_OPT_SIZE,
     .off = AT(bytes),
     .lo = 64 << 10,
     .hi = (uint64_t)1 << 40,
     .preset = "64M",
     .help = "Maximum size of a response of the gate, as sent.",
     .more = "Raise it when large queries end early.",
     .rare = true},
    {.name = "gate.max-queries",
     .kind = BJ_OPT_U64,
     .off = AT(queries),
     .lo = 1,
     .hi = 1000,
     .preset = "16",
     .help = "Maximum number of concurrent queries at each server; further "
             "ones wait.",
     .more = "Keep it below --query.max-concurrency of Prometheus (20).",
     .rare = true},
    {.name = "gate.max-user-queries",
     .kind = BJ_OPT_U64,
     .off = AT(user_queries),
     .lo = 1,
     .hi = 1000,
     .preset = "4",
     .help = "Maximum number of concurrent queries of one user at each "
             "server; further ones wait.",
     .more = "Raise it when dashboards with many panels load slowly.",
     .rare = true},
    {.name = NULL},
};

/* Built-in rules in the form of gate.metrics.  Figures of small groups of
 * people (QOS, reservations, reasons, submit hosts) are public only if the site
 * has a rule for that. */
static const char *const presets[] = {
    "up public",
    "scrape_duration_seconds public",
    "scrape_samples_scraped public",
    "scrape_samples_post_metric_relabeling public",
    "scrape_series_added public",
    "batchjob_build_info public",
    "batchjob_node_* public",
    "batchjob_gpu_* public",
    "batchjob_collector_* public",
    "batchjob_sampler_* public",
    "batchjob_meter_* public",
    "batchjob_emission_* public",
    "batchjob_partition_* public",
    "batchjob_cluster_nodes public",
    "batchjob_cluster_cpus* public",
    "batchjob_cluster_memory_* public",
    "batchjob_cluster_gpu* public",
    "batchjob_cluster_flag_* public",
    "batchjob_cluster_jobs* public",
    "batchjob_cluster_pending* public",
    "batchjob_cluster_node_* public",
    "batchjob_cluster_licenses* public",
    "batchjob_cluster_controller_* public",
    "batchjob_cluster_constant* public",
    "batchjob_cluster_source_* public",
    "batchjob_job_* user=user account=account",
    "batchjob_step_* user=user account=account",
    "batchjob_task_* user=user account=account",
    "batchjob_cluster_user_* user=user account=account",
    "batchjob_cluster_account_* user=user account=account",
    "batchjob_cluster_shares* user=user account=account",
    "batchjob_cluster_limit_* user=user account=account",
    /* dialects (docs/dialects.md) */
    "ceems_cpu_* public",
    "ceems_meminfo_* public",
    "ceems_rapl_* public",
    "ceems_ipmi_* public",
    "ceems_redfish_* public",
    "ceems_cray_* public",
    "ceems_emissions_* public",
    "ceems_scrape_* public",
    "ceems_exporter_build_info public",
    "slurm_cpus_* public",
    "slurm_gpus_* public",
    "slurm_nodes_* public",
    "slurm_node_* public",
    "slurm_partition_* public",
    "slurm_scheduler_* public",
    "slurm_lic_* public",
    "slurm_mem_* public",
    "slurm_cpu_load public",
    "slurm_queue_* public",
    "slurm_jobs_* public",
    "slurm_job_count_per_state public",
    "slurm_job_states public",
    "slurm_pending_* public",
    "slurm_rpc_stats* public",
    "slurm_rpc_msg_type_* public",
    "slurm_daemon_* public",
    "slurm_dbd_* public",
    "slurm_backfill_* public",
    "slurm_login_nodes public",
    "slurm_partitions public",
    "slurm_job_scrape_* public",
    "job_scrape_errors public",
    "slurm_diag_scrape_* public",
    "slurm_limit_scrape_* public",
    "slurm_account_collect_error public",
    "slurm_fairshare_scrape_* public",
    "slurm_job_* user=user account=account",
    "slurm_account_* user=user account=account",
    "slurm_user_* user=user account=account",
    "slurm_user_cpu_* user=username",
    "slurm_user_mem_* user=username",
    "slurm_user_state_* user=username",
    "cgroup_info user=username",
    "batchjob_cpu_* user=user account=jobaccount",
    "batchjob_cpus user=user account=jobaccount",
    "batchjob_memory_* user=user account=jobaccount",
    "batchjob_memsw_* user=user account=jobaccount",
};

enum { PRESETS = sizeof(presets) / sizeof(presets[0]) };

static bool gate_conf_is_word(struct bj_slice s, bool colon)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool digit = c >= '0' && c <= '9';
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && c != '_' &&
            !(digit && i > 0) && !(c == ':' && colon))
            return false;
    }
    return true;
}

static bool take_label(struct bj_slice word, const char *name,
                       struct bj_slice *ret)
{
    struct bj_slice want = bj_slice_str(name);
    if (ret->n > 0 || !bj_slice_starts(word, want))
        return false;
    *ret = (struct bj_slice){word.p + want.n, word.n - want.n};
    return ret->n > 0 && gate_conf_is_word(*ret, false);
}

/* The slices of *ret point into text. */
static bool read_rule(const char *text, struct bj_promql_rule *ret)
{
    struct bj_slice rest = bj_slice_str(text), word;
    *ret = (struct bj_promql_rule){0};
    if (!bj_slice_word(&rest, &ret->prefix))
        return false;
    ret->exact = ret->prefix.p[ret->prefix.n - 1] != '*';
    ret->prefix.n -= !ret->exact;
    if (!gate_conf_is_word(ret->prefix, true))
        return false;
    for (unsigned n = 0; bj_slice_word(&rest, &word); n++) {
        if (ret->public)
            return false;
        if (n == 0 && bj_slice_eq(word, BJ_SLICE("public")))
            ret->public = true;
        else if (!take_label(word, "user=", &ret->user) &&
                 !take_label(word, "account=", &ret->account))
            return false;
    }
    return ret->public || ret->user.n > 0;
}

static int check_rule(const char *text, struct bj_err *err)
{
    struct bj_promql_rule r;
    return read_rule(text, &r)
               ? 0
               : bj_err_set(err, -EINVAL,
                            "expected: NAME public, or NAME user=LABEL "
                            "account=LABEL; NAME of letters, digits, '_' and "
                            "':', with '*' at the end for all names that begin "
                            "with it");
}

static bool has_name(const struct bj_promql_rule *v, size_t n,
                     const struct bj_promql_rule *one)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].exact == one->exact && bj_slice_eq(v[i].prefix, one->prefix))
            return true;
    return false;
}

static int read_rules(struct bj_gate_conf *c, struct bj_err *err)
{
    c->rule = calloc(c->metrics.n + PRESETS, sizeof(*c->rule));
    if (!c->rule)
        return bj_err_set(err, -ENOMEM, "gate.metrics");
    for (size_t i = 0; i < c->metrics.n; i++) {
        struct bj_promql_rule r;
        read_rule(c->metrics.v[i], &r);
        if (has_name(c->rule, c->rules, &r))
            return bj_err_set(err, -EINVAL,
                              "gate.metrics: '%.*s%s' has two rules",
                              r.prefix.n < 100 ? (int)r.prefix.n : 100,
                              r.prefix.p, r.exact ? "" : "*");
        c->rule[c->rules++] = r;
    }
    for (size_t i = 0, site = c->rules; i < PRESETS; i++) {
        struct bj_promql_rule r;
        if (read_rule(presets[i], &r) && !has_name(c->rule, site, &r))
            c->rule[c->rules++] = r;
    }
    return 0;
}

int bj_gate_conf_check(struct bj_gate_conf *c, const struct bj_prom_conf *prom,
                       struct bj_err *err)
{
    int r =
        bj_gate_servers_read(&c->entries, prom, c->queries, &c->servers, err);
    if (r == 0 && c->enabled && c->servers.n == 0)
        r = bj_err_set(err, -EINVAL,
                       "gate.enabled requires prometheus.url or gate.servers");
    return r < 0 ? r : read_rules(c, err);
}

void bj_gate_conf_free(struct bj_gate_conf *c)
{
    bj_gate_servers_free(&c->servers);
    free(c->rule);
    c->rule = NULL;
    c->rules = 0;
}

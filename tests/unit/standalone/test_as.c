/* Command lines of the exporters that --as replaces: their translation, which
 * batchjob_exporter must accept, and errors.  The flags are those of the
 * original programs. */
#include "standalone/as.h"
#include "standalone/conf.h"
#include "tests/unit/lib/fail.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
enum { ARGS = 8 };

#define RIVOS                                                                  \
    "--web.dialect=prometheus-slurm-exporter --cluster.interval=10 "           \
    "--cluster.source=none"
#define PETRICORE                                                              \
    "--web.dialect=jobs_exporter --push.interval=15 "                          \
    "--push.url=http://localhost:9091 "                                        \
    "--collector.process.place=files=/ "                                       \
    "--collector.process.place=scratch=/scratch"
#define SJE "--web.dialect=slurm-job-exporter --gpu.interval=10"
#define BATCHJOB "--web.dialect=batchjob_monitoring --emissions.country=FRA"
#define BATCHJOB_ON                                                            \
    " --collector.cpu --collector.memory --collector.energy "                  \
    "--no-collector.emissions --no-collector.gpu --energy.meter=rapl "         \
    "--energy.meter=ipmi_dcmi --energy.meter=command"

static const struct {
    const char *as;
    const char *args[ARGS];
    const char *want; /* our arguments; NULL: refused ... */
    const char *why;  /* ... with this in the message */
    const char *env[2];
} cases[] = {
    {"prometheus-slurm-exporter", {NULL}, RIVOS, 0, {0}},
    {"prometheus-slurm-exporter",
     {"-web.listen-address", ":9092", "--web.telemetry-path=/m",
      "-web.log-level=warning", "-slurm.poll-limit", "12.5"},
     RIVOS " --web.listen-address=:9092 --web.telemetry-path=/m "
           "--log.level=warn --cluster.interval=12.5",
     0,
     {0}},
    {"prometheus-slurm-exporter",
     {"-slurm.collect-licenses", "--slurm.collect-diags=true",
      "-slurm.collect-limits=F", "-trace.enabled", "-trace.path", "/t",
      "-trace.rate=20"},
     RIVOS " --cluster.source=licenses --cluster.source=diag --trace.enabled "
           "--trace.path=/t --trace.rate=20",
     0,
     {0}},
    {"prometheus-slurm-exporter",
     {"-metrics.exclude", "^slurm_(a|b) c"},
     RIVOS " --dialect.exclude=^slurm_(a|b) c",
     0,
     {0}},
    /* Flags override environment variables. */
    {"prometheus-slurm-exporter",
     {"-slurm.poll-limit=20"},
     RIVOS " --cluster.interval=5 --cluster.interval=20",
     0,
     {"POLL_LIMIT", "5"}},
    {"prometheus-slurm-exporter",
     {NULL},
     RIVOS " --cluster.timeout=3",
     0,
     {"CLI_TIMEOUT", "3"}},
    {"prometheus-slurm-exporter",
     {NULL},
     RIVOS " --log.level=debug",
     0,
     {"LOGLEVEL", "debug"}},
    {"prometheus-slurm-exporter",
     {"-CLI_TIMEOUT=3"},
     NULL,
     "unknown flag '-CLI_TIMEOUT=3'",
     {0}},
    {"prometheus-slurm-exporter",
     {"-slurm.squeue-cli=/opt/slurm/bin/squeue --json",
      "-slurm.diag-cli=sdiag --json", "-slurm.sinfo-cli", "/bin/sinfo"},
     RIVOS " --cluster.path=/opt/slurm/bin --cluster.path=/bin",
     0,
     {0}},
    /* A prefix of one command applies to all. */
    {"prometheus-slurm-exporter",
     {"-slurm.squeue-cli=ssh -l slurm head squeue"},
     RIVOS " --cluster.command-prefix=ssh -l slurm head",
     0,
     {0}},
    {"prometheus-slurm-exporter",
     {"-slurm.squeue-cli=sudo -u slurm /opt/slurm/bin/squeue --states=all -h "
      "-r -o {\"a\": \"%a\", \"id\": %A} -p batch,long --account=physics "
      "-uanna",
      "-slurm.sinfo-cli",
      " sudo -u slurm  /opt/slurm/bin/sinfo -h "
      "--format={\"s\": \"%T\", \"w\": %w} -n n[1-3] --json -t idle",
      "-slurm.lic-cli=sudo -u slurm scontrol show lic --json",
      "-slurm.sacctmgr-cli=sudo -u slurm sacctmgr show assoc "
      "format=User,Account --noheader --parsable2"},
     RIVOS " --cluster.command-prefix=sudo -u slurm "
           "--cluster.path=/opt/slurm/bin --cluster.jobs=partition=batch,long "
           "--cluster.jobs=account=physics --cluster.jobs=user=anna "
           "--cluster.path=/opt/slurm/bin --cluster.nodes=node=n[1-3] "
           "--cluster.nodes=state=idle",
     0,
     {0}},
    {"prometheus-slurm-exporter",
     {"-slurm.squeue-cli=/squeue -t RUNNING,PENDING -o {\"a\":\"%a\"}"},
     RIVOS " --cluster.path=/ --cluster.jobs=state=RUNNING,PENDING",
     0,
     {0}},
    {"prometheus-slurm-exporter",
     {"-slurm.squeue-cli=ssh a squeue", "-slurm.sinfo-cli=ssh b sinfo"},
     NULL,
     "slurm.sinfo-cli: the words before the command must be the same",
     {0}},
    {"prometheus-slurm-exporter",
     {"-slurm.squeue-cli=ssh a squeue", "-slurm.sinfo-cli=sinfo"},
     NULL,
     "slurm.sinfo-cli: the words before the command must be the same",
     {0}},
    {"prometheus-slurm-exporter",
     {"-slurm.squeue-cli=squeue", "-slurm.diag-cli=ssh a sdiag"},
     NULL,
     "slurm.diag-cli: the words before the command must be the same",
     {0}},
    {"prometheus-slurm-exporter",
     {"-slurm.squeue-cli=ssh head qstat", "-slurm.sinfo-cli", "cat /x/nodes",
      "-slurm.lic-cli=cat lic", "-slurm.diag-cli=cat diag",
      "-slurm.sacctmgr-cli=cat limits"},
     RIVOS " --cluster.command=queue=ssh head qstat "
           "--cluster.command=nodes=cat /x/nodes "
           "--cluster.command=licenses=cat lic --cluster.command=diag=cat diag "
           "--cluster.command=limits=cat limits",
     0,
     {0}},
    {"prometheus-slurm-exporter",
     {"-slurm.squeue-cli="},
     NULL,
     "slurm.squeue-cli: expected a command",
     {0}},
    {"prometheus-slurm-exporter",
     {"-slurm.squeue-cli=squeue -M other"},
     NULL,
     "slurm.squeue-cli: '-M' is not supported: only arguments",
     {0}},
    {"prometheus-slurm-exporter",
     {"-slurm.sinfo-cli=sinfo -h -p"},
     NULL,
     "slurm.sinfo-cli: '-p' needs a value",
     {0}},
    {"prometheus-slurm-exporter",
     {"-slurm.sinfo-cli=sinfo --partitions=x"},
     NULL,
     "slurm.sinfo-cli: '--partitions=x' is not supported",
     {0}},
    {"prometheus-slurm-exporter",
     {"-slurm.cli-fallback"},
     RIVOS " --cluster.via=text",
     0,
     {0}},
    {"prometheus-slurm-exporter",
     {"-slurm.cli-fallback=false"},
     RIVOS " --cluster.via=json",
     0,
     {0}},
    {"prometheus-slurm-exporter",
     {"-no-trace.enabled"},
     NULL,
     "unknown flag '-no-trace.enabled'",
     {0}},
    {"prometheus-slurm-exporter",
     {"-trace.enabled=maybe"},
     NULL,
     "trace.enabled: 'maybe' is not true or false",
     {0}},
    {"prometheus-slurm-exporter",
     {"-web.listen-address"},
     NULL,
     "web.listen-address needs a value",
     {0}},
    {"prometheus-slurm-exporter", {"x"}, NULL, "unknown flag 'x'", {0}},
    {"prometheus-slurm-exporter",
     {"-trace.enabled", "--", "--cluster.slurm-conf=/x"},
     RIVOS " --trace.enabled --cluster.slurm-conf=/x",
     0,
     {0}},
    {"vpenso",
     {NULL},
     "--web.dialect=vpenso --dialect.exclude=^slurm_gpus_",
     0,
     {0}},
    {"vpenso",
     {"-gpus-acct", "--listen-address", ":8081"},
     "--web.dialect=vpenso --web.listen-address=:8081",
     0,
     {0}},
    {"vpenso",
     {"-gpus-acct=false"},
     "--web.dialect=vpenso --dialect.exclude=^slurm_gpus_",
     0,
     {0}},
    {"slurm-job-exporter",
     {"--port", "9799", "--monitor=nvml", "--dcgm", "5"},
     SJE " --web.listen-address=:9799 --gpu.interval=5",
     0,
     {0}},
    {"slurm-job-exporter",
     {"--monitor", "smi"},
     NULL,
     "monitor: 'smi' is not dcgm or nvml",
     {0}},
    {"slurm-job-exporter", {"-port=1"}, NULL, "unknown flag", {0}},
    {"jobs_exporter",
     {"-t", "30", "-b/etc/black"},
     PETRICORE " --push.interval=30 --dialect.skip-uids=/etc/black",
     0,
     {0}},
    {"jobs_exporter",
     {"--timer=5", "--black", "f"},
     PETRICORE " --push.interval=5 --dialect.skip-uids=f",
     0,
     {0}},
    {"jobs_exporter", {"-x"}, NULL, "unknown flag", {0}},
    {"cgroup_exporter",
     {"--config.paths=/slurm", "--path.cgroup.root", "/cg",
      "--path.proc.root=/p", "--log.level=warn", "--log.format=json",
      "--web.disable-exporter-metrics"},
     "--web.dialect=cgroup_exporter --path.cgroupfs=/cg --path.procfs=/p "
     "--log.level=warn --log.format=json",
     0,
     {0}},
    {"cgroup_exporter", {NULL}, NULL, "config.paths is required", {0}},
    {"cgroup_exporter",
     {"--config.paths=/slurm,/user.slice"},
     NULL,
     "config.paths: '/user.slice': only /slurm",
     {0}},
    {"cgroup_exporter",
     {"--config.paths=/slurm", "--no-collect.proc", "--web.config.file="},
     "--web.dialect=cgroup_exporter",
     0,
     {0}},
    {"cgroup_exporter",
     {"--config.paths=/slurm", "--collect.proc", "--collect.proc.max-exec=100"},
     "--web.dialect=cgroup_exporter --collector.process "
     "--dialect.exe-count",
     0,
     {0}},
    {"cgroup_exporter",
     {"--config.paths=/slurm", "--collect.proc.max-exec=60"},
     NULL,
     "collect.proc.max-exec: '60': paths are cut at 128",
     {0}},
    {"cgroup_exporter",
     {"--config.paths=/slurm", "--web.config.file=tls.yml"},
     "--web.dialect=cgroup_exporter --web.config.file=tls.yml",
     0,
     {0}},
    {"cgroup_exporter",
     {"-config.paths=/slurm"},
     NULL,
     "unknown flag '-config.paths=/slurm'",
     {0}},
    {"jobstats",
     {"--collect.fullslurm", "--path.slurmstepd.scope",
      "/system.slice/slurmstepd.scope"},
     "--web.dialect=jobstats --no-label.user --dialect.exclude=^cgroup_info$ "
     "--collector.steps=tasks",
     0,
     {0}},
    {"jobstats", {"--collect.username"}, "--web.dialect=jobstats", 0, {0}},
    {"jobstats",
     {"--path.slurmstepd.scope=/x"},
     NULL,
     "'/x' is not a slurmstepd.scope",
     {0}},
    {"nvidia_gpu_prometheus_exporter",
     {"-disable.gpm", "--web.listen-address=:9446"},
     "--web.dialect=nvidia_gpu_prometheus_exporter "
     "--dialect.exclude=_util_percent$|_occupancy_percent$|_per_sec$ "
     "--web.listen-address=:9446",
     0,
     {0}},
    {"batchjob_monitoring", {NULL}, BATCHJOB BATCHJOB_ON, 0, {0}},
    {"batchjob_monitoring",
     {"--collector.disable-defaults", "--collector.rapl",
      "--collector.nvidia_gpu"},
     BATCHJOB " --no-collector.cpu --no-collector.memory --collector.energy "
              "--no-collector.emissions --collector.gpu --energy.meter=rapl",
     0,
     {0}},
    {"batchjob_monitoring",
     {"--no-collector.rapl", "--no-collector.ipmi_dcmi",
      "--collector.emissions", "--collector.emissions.country.code=DEU"},
     BATCHJOB " --collector.cpu --collector.memory --no-collector.energy "
              "--collector.emissions --no-collector.gpu "
              "--emissions.country=DEU",
     0,
     {0}},
    {"batchjob_monitoring",
     {"--web.max-requests=0", "--collector.slurm.jobsteps.metrics",
      "--collector.slurm.job.stat.path=/s",
      "--collector.ipmi.dcmi.exec.path=/w",
      "--collector.nvidia.gpu.stat.path=/g"},
     BATCHJOB BATCHJOB_ON
     " --web.max-requests=5000 "
     "--collector.steps=tasks --job.file-dir=/s "
     "--energy.command=/w --get-system-power-statistics --gpu.map-dir=/g",
     0,
     {0}},
    {"batchjob_monitoring",
     {"--collector.rapl.enable-zone-label"},
     NULL,
     "collector.rapl.enable-zone-label: 'true': each zone has its own metric",
     {0}},
    {"batchjob_monitoring",
     {"--runtime.gomaxprocs=4"},
     NULL,
     "runtime.gomaxprocs: '4': not a Go program",
     {0}},
    {"batchjob_monitoring",
     {"--collector.cpu"},
     NULL,
     "unknown flag '--collector.cpu'",
     {0}},
    {"ceems",
     {NULL},
     "--web.dialect=ceems --no-collector.cpu --no-collector.memory "
     "--no-collector.pressure --no-collector.gpu --collector.node "
     "--collector.energy --energy.meter=rapl --no-collector.emissions "
     "--dialect.exclude=^ceems_compute_unit|_memsw_",
     0,
     {0}},
    {"ceems",
     {"--collector.slurm", "--collector.slurm.psi-metrics",
      "--collector.slurm.swap-memory-metrics", "--collector.ipmi_dcmi",
      "--collector.ipmi_dcmi.cmd=/sbin/ipmi-dcmi --get", "--no-collector.rapl",
      "--collector.emissions", "--collector.emissions.provider=owid"},
     "--web.dialect=ceems --collector.cpu --collector.memory "
     "--collector.pressure --collector.gpu --collector.node "
     "--collector.energy --energy.meter=ipmi_dcmi --energy.meter=command "
     "--collector.emissions --energy.command=/sbin/ipmi-dcmi --get "
     "--emissions.provider=table",
     0,
     {0}},
    {"ceems",
     {"--collector.disable-defaults", "--collector.meminfo",
      "--collector.slurm", "--collector.gpu.type=nogpu",
      "--collector.cray_pm_counters", "--web.listen-address=:9011"},
     "--web.dialect=ceems --collector.cpu --collector.memory "
     "--no-collector.pressure --no-collector.gpu --collector.node "
     "--collector.energy --energy.meter=cray --no-collector.emissions "
     "--dialect.exclude=^ceems_cpu_|_memsw_ --web.listen-address=:9011",
     0,
     {0}},
    {"ceems",
     {"--collector.perf.hardware-events"},
     NULL,
     "collector.perf.hardware-events: 'true': not exported",
     {0}},
    {"ceems",
     {"--collector.gpu.type=intel"},
     NULL,
     "collector.gpu.type: 'intel' is not nvidia, amd or nogpu",
     {0}},
    {"ceems",
     {"--collector.emissions.provider=x"},
     NULL,
     "collector.emissions.provider: 'x' is not owid",
     {0}},
    {"ceems",
     {"--collector.redfish"},
     NULL,
     "collector.redfish.config.file: '/r.yml': use energy.redfish-url",
     {"CEEMS_EXPORTER_REDFISH_COLL_CONFIG_FILE", "/r.yml"}},
    {"mila",
     {"--port=1", "--cluster_name", "mila", "--endpoint_prefix=mila_",
      "--refresh_interval=300"},
     "--web.dialect=mila --web.listen-address=:1 --cluster=mila "
     "--dialect.prefix=mila_ --cluster.interval=300",
     0,
     {0}},
    {"mila",
     {"--mock_data_dir=/m"},
     NULL,
     "mock_data_dir: '/m': mock data are not supported",
     {0}},
};

static char *joined(const struct bj_strv *v)
{
    struct bj_buf b = {0};
    for (size_t i = 1; i < v->n; i++)
        bj_buf_printf(&b, "%s%s", i > 1 ? " " : "", v->v[i]);
    bj_buf_put(&b, "", 1);
    assert_false(b.failed);
    return b.p;
}

static void check_case(size_t i)
{
    const struct bj_as_program *p;
    char *argv[ARGS + 4] = {(char *)(uintptr_t) "batchjob_exporter",
                            (char *)(uintptr_t) "--as",
                            (char *)(uintptr_t)cases[i].as};
    int argc = 3, skip;
    bool help;
    struct bj_as as;
    struct bj_err err = {0};
    for (int k = 0; k < ARGS && cases[i].args[k]; k++)
        argv[argc++] = (char *)(uintptr_t)cases[i].args[k];
    if (cases[i].env[0])
        setenv(cases[i].env[0], cases[i].env[1], 1);
    assert_int_equal(bj_as_find(argc, argv, &p, &skip, NULL), 0);
    assert_non_null(p);
    assert_int_equal(skip, 2);
    int r = bj_as_translate(p, argc - skip, argv + skip, &as, &help, &err);
    if (cases[i].env[0])
        unsetenv(cases[i].env[0]);
    print_message("# %zu %s: %s\n", i, cases[i].as, r < 0 ? err.msg : "");
    assert_int_equal(r < 0, !cases[i].want);
    if (r < 0) {
        assert_int_equal(r, -EINVAL);
        assert_non_null(strstr(err.msg, cases[i].why));
        assert_true(strncmp(err.msg, cases[i].as, strlen(cases[i].as)) == 0);
    } else {
        struct bj_exporter_conf c = {0};
        char *got = joined(&as.argv);
        assert_string_equal(got, cases[i].want);
        free(got);
        if (bj_exporter_conf_load(&c, (int)as.argv.n, as.argv.v, &err) < 0)
            fail_msg("%s", err.msg);
        assert_string_equal(c.dialect, cases[i].as);
        bj_exporter_conf_free(&c);
    }
    bj_as_free(&as);
}

static void flags(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        check_case(i);
}

/* Each program has a dialect, unique names, and not more flags than a
 * translation supports. */
static void programs(void **state)
{
    (void)state;
    for (size_t i = 0; bj_as_programs[i]; i++) {
        const struct bj_as_program *p = bj_as_programs[i];
        size_t n = 0;
        assert_non_null(bj_dialect_find(bj_slice_str(p->names[0])));
        while (p->flags[n].name)
            n++;
        assert_in_range(n, 1, 64);
        for (size_t k = 0; k < i; k++)
            for (size_t a = 0; p->names[a]; a++)
                for (size_t b = 0; bj_as_programs[k]->names[b]; b++)
                    assert_string_not_equal(p->names[a],
                                            bj_as_programs[k]->names[b]);
        struct bj_buf out = {0};
        bj_as_help(p, &out);
        bj_buf_put(&out, "", 1);
        for (size_t f = 0; f < n; f++)
            assert_non_null(strstr(out.p, p->flags[f].name));
        bj_buf_free(&out);
    }
}

static const struct {
    const char *argv[3], *want; /* NULL: batchjob_exporter */
    int skip;
} names[] = {
    {{"/usr/bin/batchjob_exporter"}, NULL, 0},
    {{"/usr/bin/batchjob_exporter", "--as"}, "?", 0},
    {{"/usr/bin/batchjob_exporter", "--as=nobody"}, "?", 0},
    {{"/usr/bin/batchjob_exporter", "--as", "mila"}, "mila", 2},
    {{"/usr/bin/batchjob_exporter", "--as=mila"}, "mila", 1},
    {{"/usr/bin/batchjob_exporter", "--web.gzip", "--as=mila"}, NULL, 0},
    {{"/opt/jobs_exporter.py"}, "jobs_exporter", 0},
    {{"prometheus-slurm-exporter", "-h"}, "prometheus-slurm-exporter", 0},
    {{"./slurm-job-exporter.py"}, "slurm-job-exporter", 0},
    {{"cgroup_exporter"}, "cgroup_exporter", 0},
    {{"mini_sinfo_01.py"}, "mila", 0},
    {{"/usr/local/bin/ceems_exporter"}, "ceems", 0},
    {{".py"}, NULL, 0},
    {{""}, NULL, 0},
};

static void names_of_programs(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        const struct bj_as_program *p;
        char *argv[4] = {0};
        int argc = 0, skip;
        struct bj_err err = {0};
        for (; argc < 3 && names[i].argv[argc]; argc++)
            argv[argc] = (char *)(uintptr_t)names[i].argv[argc];
        int r = bj_as_find(argc, argv, &p, &skip, &err);
        if (names[i].want && *names[i].want == '?') {
            assert_int_equal(r, -EINVAL);
            assert_non_null(strstr(err.msg, "jobs_exporter"));
            continue;
        }
        assert_int_equal(r, 0);
        assert_int_equal(skip, names[i].skip);
        assert_int_equal(p != NULL, names[i].want != NULL);
        if (p)
            assert_string_equal(p->names[0], names[i].want);
    }
}

static void help_flags(void **state)
{
    static const char *const words[][2] = {
        {"vpenso", "-help"}, {"vpenso", "-h"}, {"cgroup_exporter", "--help"}};
    (void)state;
    for (size_t i = 0; i < COUNT(words); i++) {
        char *argv[] = {(char *)(uintptr_t)words[i][0],
                        (char *)(uintptr_t)words[i][1], NULL};
        const struct bj_as_program *p;
        struct bj_as as;
        bool help;
        int skip;
        assert_int_equal(bj_as_find(2, argv, &p, &skip, NULL), 0);
        assert_int_equal(bj_as_translate(p, 2, argv, &as, &help, NULL), 0);
        assert_true(help);
        bj_as_free(&as);
    }
}

static int translate_all(void *arg)
{
    const struct bj_as_program *p = arg;
    char *argv[] = {(char *)(uintptr_t) "x", (char *)(uintptr_t) "--",
                    (char *)(uintptr_t) "--web.gzip", NULL};
    struct bj_as as;
    bool help;
    int r = bj_as_translate(p, 3, argv, &as, &help, NULL);
    bj_as_free(&as);
    return r;
}

static void out_of_memory(void **state)
{
    (void)state;
    const struct bj_as_program *p;
    char *argv[] = {(char *)(uintptr_t) "batchjob_monitoring", NULL};
    int skip;
    assert_int_equal(bj_as_find(1, argv, &p, &skip, NULL), 0);
    if (!bj_fail_works())
        skip();
    assert_true(bj_fail_each(translate_all, (void *)(uintptr_t)p) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flags),
        cmocka_unit_test(programs),
        cmocka_unit_test(names_of_programs),
        cmocka_unit_test(help_flags),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

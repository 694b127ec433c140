/* The identifier, kind and value of everything that the plugin dispatches to a
 * simulated collectd, for snapshots made by hand. */
#include "collectd-plugin/dataset.h"
#include "collectd-plugin/dispatch.h"
#include "core/find/ident.h"
#include "tests/unit/lib/fakecollectd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define LIST(a)                                                                \
    {                                                                          \
        (a), COUNT(a)                                                          \
    }

/* All bytes 0xff: every field of a record absent. */
static void absent(void *record, size_t size)
{
    memset(record, 0xff, size);
}

struct world {
    struct bj_conf conf;
    struct bj_dispatch *dispatch;
};

static int setup(void **state)
{
    static struct world w;
    struct bj_dataset_count types;
    struct bj_err err = {0};

    bj_double_reset();
    w = (struct world){.conf = {.label_user = true, .label_account = true}};
    assert_int_equal(bj_dataset_ensure(&types, &err), 0);
    assert_true(types.registered > 100);
    w.dispatch = bj_dispatch_new(&w.conf);
    assert_non_null(w.dispatch);
    *state = &w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    bj_dispatch_free(w->dispatch);
    assert_int_equal(bj_double.metas, 0);
    assert_int_equal(bj_double.unknown, 0);
    assert_int_equal(bj_double.duplicates, 0);
    bj_double_reset();
    return 0;
}

static struct bj_ident *ident(const struct world *w, const char *jobid,
                              const char *user, const char *account)
{
    struct bj_slice f[BJ_ID_FIELDS] = {
        [BJ_ID_JOBID] = bj_slice_str(jobid),
        [BJ_ID_USER] = bj_slice_str(user),
        [BJ_ID_ACCOUNT] = bj_slice_str(account),
    };
    struct bj_ident *id = bj_ident_new(f, &w->conf);
    assert_non_null(id);
    return id;
}

static struct bj_job job_of(const struct bj_ident *id)
{
    struct bj_job job;
    bj_job_clear(&job);
    job.ident = id;
    return job;
}

static struct bj_snap snap_of(struct bj_job *jobs, size_t n)
{
    struct bj_snap s = {.refs = 1, .jobs = {jobs, n}};
    bj_node_clear(&s.node);
    bj_self_clear(&s.self);
    return s;
}

static void dispatch(struct world *w, const struct bj_snap *snap)
{
    struct bj_err err = {0};
    bj_double.now += TIME_T_TO_CDTIME_T(10);
    assert_int_equal(bj_dispatch_snap(w->dispatch, snap, bj_double.now, &err),
                     0);
    for (size_t i = 0; i < bj_double.nlines; i++)
        assert_true(bj_double.times[i] <= bj_double.now);
}

/* Exactly these lines were dispatched, in any order. */
static void expect(const char *const *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bj_double_count(want[i]) != 1)
            fail_msg("%zu times: %s", bj_double_count(want[i]), want[i]);
    for (size_t i = 0; i < bj_double.nlines; i++) {
        size_t k = 0;
        while (k < n && strcmp(want[k], bj_double.lines[i]) != 0)
            k++;
        if (k == n)
            fail_msg("not expected: %s", bj_double.lines[i]);
    }
}

#define EXPECT(...)                                                            \
    do {                                                                       \
        const char *const want_[] = {__VA_ARGS__};                             \
        expect(want_, COUNT(want_));                                           \
    } while (0)

#define META " jobid=4711 user=anna account=physics"

static void test_job_values(void **state)
{
    struct world *w = *state;
    struct bj_ident *id = ident(w, "4711", "anna", "physics");
    struct bj_job job = job_of(id);
    job.use.cpu_usec = 1500000;
    job.use.mem_used_bytes = 1073741824;
    job.use.mem_oom_kills = 0;
    job.proc.io_read_bytes = INT64_MAX;
    job.proc.io_write_bytes = (uint64_t)INT64_MAX + 1; /* no derive_t */
    job.start_sec = 1795171010;
    struct bj_snap snap = snap_of(&job, 1);
    dispatch(w, &snap);
    EXPECT("batchjob-4711/job_cpu_usec derive 1500000" META,
           "batchjob-4711/job_memory_used_bytes gauge 1073741824" META,
           "batchjob-4711/job_oom_kills derive 0" META,
           "batchjob-4711/job_io_read_bytes derive 9223372036854775807" META,
           "batchjob-4711/job_start_time_seconds gauge 1795171010" META);
    bj_ident_unref(id);
}

static void test_subs(void **state)
{
    struct world *w = *state;
    struct bj_ident *id = ident(w, "4711", "anna", "physics");
    struct bj_core_use cores[] = {
        {{{BJ_SLICE("0")}}, 10, BJ_ABSENT},
        {{{BJ_SLICE("12")}}, BJ_ABSENT, 20},
    };
    struct bj_device_use devices[] = {
        {{{BJ_SLICE("8:0")}}, 1, 2, 3, BJ_ABSENT},
    };
    struct bj_state_use states[] = {{{{BJ_SLICE("running")}}, 3}};
    struct bj_exe_use exes[] = {
        {{{BJ_SLICE("/usr/bin/python3.11")}}, 7},
        {{{BJ_SLICE("(other)")}}, 8},
    };
    struct bj_place_use places[] = {{{{BJ_SLICE("scratch")}}, 2}};
    struct bj_gpu_part gpus[1];
    absent(gpus, sizeof(gpus));
    gpus[0].sub =
        (struct bj_sub){{BJ_SLICE("GPU-6f0f0e3c-1111"), BJ_SLICE("3")}};
    gpus[0].held_usec = 5;
    struct bj_job job = job_of(id);
    job.gpus = (struct bj_list)LIST(gpus);
    job.cores = (struct bj_list)LIST(cores);
    job.devices = (struct bj_list)LIST(devices);
    job.states = (struct bj_list)LIST(states);
    job.exes = (struct bj_list)LIST(exes);
    job.places = (struct bj_list)LIST(places);
    struct bj_snap snap = snap_of(&job, 1);
    dispatch(w, &snap);
    EXPECT("batchjob-4711/job_core_cpu_usec-0 derive 10" META,
           "batchjob-4711/job_core_cpu_estimated_usec-12 derive 20" META,
           "batchjob-4711/job_device_read_bytes-8:0 derive 1" META,
           "batchjob-4711/job_device_write_bytes-8:0 derive 2" META,
           "batchjob-4711/job_device_read_operations-8:0 derive 3" META,
           "batchjob-4711/job_state_threads-running gauge 3" META,
           "batchjob-4711/job_exe_cpu_usec-:usr:bin:python3.11 derive 7" META,
           "batchjob-4711/job_exe_cpu_usec-[other] derive 8" META,
           "batchjob-4711/job_place_open_files-scratch gauge 2" META,
           "batchjob-4711/job_gpu_held_usec-GPU-6f0f0e3c-1111:3 derive 5" META);
    bj_ident_unref(id);
}

static void test_steps(void **state)
{
    struct world *w = *state;
    struct bj_ident *id = ident(w, "4711", "anna", "physics");
    struct bj_step_use steps[2], tasks[2];
    absent(steps, sizeof(steps));
    absent(tasks, sizeof(tasks));
    steps[0].sub = (struct bj_sub){{BJ_SLICE("0")}};
    steps[0].use.cpu_usec = 1;
    steps[1].sub = (struct bj_sub){{BJ_SLICE("batch")}};
    steps[1].use.cpu_usec = 2;
    tasks[0].sub = (struct bj_sub){{BJ_SLICE("0"), BJ_SLICE("0")}};
    tasks[0].use.pids = 3;
    tasks[1].sub = (struct bj_sub){{BJ_SLICE("0"), BJ_SLICE("1")}};
    tasks[1].use.pids = 4;
    struct bj_job job = job_of(id);
    job.use.cpu_usec = 5;
    job.steps = (struct bj_list)LIST(steps);
    job.tasks = (struct bj_list)LIST(tasks);
    struct bj_snap snap = snap_of(&job, 1);
    dispatch(w, &snap);
    EXPECT("batchjob-4711/job_cpu_usec derive 5" META,
           "batchjob-4711.0/step_cpu_usec derive 1" META,
           "batchjob-4711.batch/step_cpu_usec derive 2" META,
           "batchjob-4711.0/task_pids-0 gauge 3" META,
           "batchjob-4711.0/task_pids-1 gauge 4" META);
    bj_ident_unref(id);
}

static void test_node_and_self(void **state)
{
    struct world *w = *state;
    struct bj_mode_use modes[] = {
        {{{BJ_SLICE("user")}}, 5},
        {{{BJ_SLICE("idle")}}, 6},
    };
    struct bj_collector_stat collectors[] = {
        {{{BJ_SLICE("cpu")}}, 1, 2, 0, BJ_ABSENT},
    };
    struct bj_snap snap = snap_of(NULL, 0);
    snap.cluster = BJ_SLICE("alpha");
    snap.node.cpus = 128;
    snap.node.modes = (struct bj_list)LIST(modes);
    snap.self.collectors = (struct bj_list)LIST(collectors);
    snap.self.passes = 9;
    snap.self.max_fds = 1024;
    dispatch(w, &snap);
    EXPECT("batchjob/node_cpus gauge 128",
           "batchjob/node_cpu_usec-user derive 5",
           "batchjob/node_cpu_usec-idle derive 6",
           "batchjob/collector_success-cpu gauge 1",
           "batchjob/collector_duration_usec-cpu gauge 2",
           "batchjob/collector_errors-cpu derive 0",
           "batchjob/sampler_passes derive 9",
           "batchjob/process_max_fds gauge 1024");
}

static void test_build_info(void **state)
{
    struct world *w = *state;
    struct bj_snap snap = snap_of(NULL, 0);
    snap.self.build_info = (struct bj_info){
        .one = 1, .v = {BJ_SLICE("0.1.0"), BJ_SLICE("abc"), BJ_SLICE("12")}};
    dispatch(w, &snap);
    assert_non_null(bj_double_find("batchjob/build_version-"));
    assert_non_null(bj_double_find("batchjob/build_compiler-"));
    for (size_t i = 0; i < bj_double.nlines; i++)
        assert_string_equal(strchr(bj_double.lines[i], ' '), " gauge 1");
}

static void test_meters(void **state)
{
    struct world *w = *state;
    struct bj_snap snap = snap_of(NULL, 0);
    struct bj_zone_stat zone = {
        .sub.key = {BJ_SLICE("rapl"), BJ_SLICE("package-0")},
        .energy_uj = 1234567,
        .power_uw = 50000000,
        .limit_uw = BJ_ABSENT,
        .resets = 0,
        .gaps = BJ_ABSENT,
        .doubts = BJ_ABSENT};
    struct bj_energy_split split = {.sub.key = {BJ_SLICE("cpu")},
                                    .energy_uj = 7,
                                    .system_uj = 3,
                                    .unallocated_uj = 4,
                                    .missed_uj = BJ_ABSENT,
                                    .deficit_uj = BJ_ABSENT};
    snap.zones = (struct bj_list){&zone, 1};
    snap.node.energy = (struct bj_list){&split, 1};
    dispatch(w, &snap);
    EXPECT("batchjob-rapl/meter_zone_energy_uj-package-0 derive 1234567",
           "batchjob-rapl/meter_zone_power_uw-package-0 gauge 50000000",
           "batchjob-rapl/meter_zone_resets-package-0 derive 0",
           "batchjob/node_energy_uj-cpu derive 7",
           "batchjob/node_energy_system_uj-cpu derive 3",
           "batchjob/node_energy_unallocated_uj-cpu derive 4");
}

#define META3 META " cluster=alpha"

static void test_attributes(void **state)
{
    struct world *w = *state;
    const struct bj_slice f[BJ_ID_FIELDS] = {
        [BJ_ID_JOBID] = BJ_SLICE("4711"),
        [BJ_ID_USER] = BJ_SLICE("anna"),
        [BJ_ID_ACCOUNT] = BJ_SLICE("physics"),
        [BJ_ID_UID] = BJ_SLICE("1001"),
        [BJ_ID_PARTITION] = BJ_SLICE("long run"),
        [BJ_ID_NAME] = BJ_SLICE("never shown"),
        [BJ_ID_ARRAY_JOB] = BJ_SLICE("4700"),
        [BJ_ID_ARRAY_TASK] = BJ_SLICE("11"),
        [BJ_ID_SYSTEM] = BJ_SLICE("slurm"),
    };
    struct bj_ident *id = bj_ident_new(f, &w->conf);
    struct bj_job job = job_of(id);
    job.ident_info = 1;
    struct bj_snap snap = snap_of(&job, 1);
    snap.cluster = BJ_SLICE("alpha");
    dispatch(w, &snap);
    EXPECT("batchjob-4711/job_user-anna gauge 1" META3,
           "batchjob-4711/job_account-physics gauge 1" META3,
           "batchjob-4711/job_cluster-alpha gauge 1" META3,
           "batchjob-4711/job_uid-1001 gauge 1" META3,
           /* hash: computed as described in test_plugin_name.c */
           "batchjob-4711/job_partition-long_run--3d657454d4ed gauge 1" META3,
           "batchjob-4711/job_array_job_id-4700 gauge 1" META3,
           "batchjob-4711/job_array_task-11 gauge 1" META3,
           "batchjob-4711/job_batch_system-slurm gauge 1" META3);
    bj_ident_unref(id);
}

/* Labels that the options hide appear nowhere. */
static void test_hidden_user(void **state)
{
    struct world *w = *state;
    w->conf.label_user = w->conf.label_account = false;
    struct bj_ident *id = ident(w, "4711", "anna", "physics");
    struct bj_job job = job_of(id);
    job.ident_info = 1;
    job.use.pids = 1;
    struct bj_snap snap = snap_of(&job, 1);
    dispatch(w, &snap);
    EXPECT("batchjob-4711/job_pids gauge 1 jobid=4711");
    bj_ident_unref(id);
}

/* Meta data that is empty, too long or not ASCII is left out, as it would break
 * collectd's JSON. */
static void test_meta(void **state)
{
    struct world *w = *state;
    char id129[130];
    memset(id129, '7', sizeof(id129) - 1);
    id129[129] = '\0';
    struct bj_ident *ids[] = {
        ident(w, "\xc3\xa9", "", ""),
        ident(w, "5", "m\xc3\xbcller", "a\"b"),
        ident(w, "6", "", "physics"),
    };
    struct bj_job jobs[COUNT(ids)];
    for (size_t i = 0; i < COUNT(ids); i++) {
        jobs[i] = job_of(ids[i]);
        jobs[i].use.pids = i;
    }
    struct bj_snap snap = snap_of(jobs, COUNT(jobs));
    dispatch(w, &snap);
    EXPECT("batchjob-_--231c1dfaa458/job_pids gauge 0",
           "batchjob-5/job_pids gauge 1 jobid=5 account=a\"b",
           "batchjob-6/job_pids gauge 2 jobid=6 account=physics");
    assert_int_equal(bj_double.metas, 2);
    for (size_t i = 0; i < COUNT(ids); i++)
        bj_ident_unref(ids[i]);
}

/* Meta data is made once for a job, not once for a pass. It is freed when the
 * job ends, and replaced when the identity or the cluster's name becomes
 * known. */
static void test_passes(void **state)
{
    struct world *w = *state;
    struct bj_ident *a = ident(w, "1", "", ""), *b = ident(w, "2", "bert", ""),
                    *a2 = ident(w, "1", "anna", "");
    struct bj_job jobs[] = {job_of(a), job_of(b)};
    jobs[0].use.pids = jobs[1].use.pids = 1;
    struct bj_snap snap = snap_of(jobs, 2);
    dispatch(w, &snap);
    bj_double_clear();
    dispatch(w, &snap);
    EXPECT("batchjob-1/job_pids gauge 1 jobid=1",
           "batchjob-2/job_pids gauge 1 jobid=2 user=bert");
    assert_int_equal(bj_double.metas, 2);

    bj_double_clear();
    jobs[0].ident = a2;
    dispatch(w, &snap);
    EXPECT("batchjob-1/job_pids gauge 1 jobid=1 user=anna",
           "batchjob-2/job_pids gauge 1 jobid=2 user=bert");
    assert_int_equal(bj_double.metas, 2);

    bj_double_clear();
    jobs[0] = jobs[1];
    snap.jobs.n = 1;
    dispatch(w, &snap);
    EXPECT("batchjob-2/job_pids gauge 1 jobid=2 user=bert");
    assert_int_equal(bj_double.metas, 1);

    bj_double_clear();
    snap.cluster = BJ_SLICE("alpha"); /* the scheduler has reported its name */
    dispatch(w, &snap);
    EXPECT("batchjob-2/job_pids gauge 1 jobid=2 user=bert "
           "cluster=alpha");
    assert_int_equal(bj_double.metas, 1);
    snap.jobs.n = 0;
    dispatch(w, &snap);
    assert_int_equal(bj_double.metas, 0);
    bj_ident_unref(a);
    bj_ident_unref(a2);
    bj_ident_unref(b);
}

/* A second job of the same name would mix the values of both, and a job without
 * a name would look like the node: both are left out. */
static void test_hostile_ids(void **state)
{
    struct world *w = *state;
    static const char *const names[] = {
        "",     "4711", "4711",      "a/b",  "a_b",
        "a b",  "a;b",  "\xff\xfe",  "..",   "../../etc/passwd",
        "\x01", "-",    "$(reboot)", "\"}1", "a\nb",
    };
    struct bj_ident *ids[COUNT(names)];
    struct bj_job jobs[COUNT(names)];
    for (size_t i = 0; i < COUNT(names); i++) {
        ids[i] = ident(w, names[i], "", "");
        jobs[i] = job_of(ids[i]);
        jobs[i].use.pids = 1;
    }
    struct bj_snap snap = snap_of(jobs, COUNT(jobs));
    dispatch(w, &snap);
    assert_int_equal(bj_double.nlines, COUNT(names) - 2);
    assert_int_equal(bj_double.duplicates, 0);
    assert_int_equal(
        bj_double_count("batchjob-4711/job_pids gauge 1 jobid=4711"), 1);
    for (size_t i = 0; i < bj_double.nlines; i++) {
        size_t n = strcspn(bj_double.lines[i], " ");
        char identifier[512];
        snprintf(identifier, sizeof(identifier), "%.*s", (int)n,
                 bj_double.lines[i]);
        assert_int_equal(strspn(identifier, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefgh"
                                            "ijklmnopqrstuvwxyz0123456789_.:@+-"
                                            "[]/"),
                         n);
        assert_ptr_equal(strchr(identifier, '/'), strrchr(identifier, '/'));
    }
    for (size_t i = 0; i < COUNT(names); i++)
        bj_ident_unref(ids[i]);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_job_values),    T(test_subs),        T(test_steps),
        T(test_node_and_self), T(test_build_info),  T(test_meters),
        T(test_attributes),    T(test_hidden_user), T(test_meta),
        T(test_passes),        T(test_hostile_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Derived values of jobs: choice of the source, efficiency, energy, emissions,
 * findings and their daily sums. Expected values were computed by hand. */
#include "tests/unit/statsdb/test_statsdb_derive.h"

#include "statsdb/derive/derive.h"
#include "statsdb/tables/retention.h"
#include "statsdb/tables/site_zone.h"

static void factor(struct derive_rig *w, const char *provider,
                   enum bj_factor_kind kind, int64_t start, int64_t end,
                   uint32_t mg, bool estimated, int rank)
{
    struct bj_factor f = {.provider = provider,
                          .kind = kind,
                          .from = end ? BJ_FACTOR_LIVE : BJ_FACTOR_CONSTANT,
                          .zone = "FR",
                          .country = "FR",
                          .mg_per_kwh = mg,
                          .start_sec = (uint64_t)start,
                          .end_sec = (uint64_t)end,
                          .estimated = estimated,
                          .fetched_sec = T0};
    OK(bj_store_begin(w->s, &err));
    OK(bj_factors_put(w->h, BJ_SQL_NULL, rank, &f, &err));
    OK((int)bj_factors_flush(w->h, &err));
    OK(bj_store_commit(w->s, &err));
    bj_derive_forget(w->d);
}

/* The daily sums equal the sums of the jobs, and those of months the sums of
 * their days. */
static void expect_sums(struct derive_rig *w)
{
    expect_months(w->s);
    expect(w->s,
           "SELECT (SELECT ifnull(sum(energy_uj / 1000), 0) FROM job_use WHERE"
           " counted_assoc IS NOT NULL) = (SELECT ifnull(sum(energy_mj), 0)"
           " FROM rollup_energy_day),"
           " (SELECT count(*) FROM job_use WHERE counted_assoc IS NOT NULL AND"
           " energy_uj IS NOT NULL) ="
           " (SELECT ifnull(sum(jobs), 0) FROM rollup_energy_day),"
           " (SELECT ifnull(sum(counted_cpu_sec), 0) FROM job_use WHERE"
           " counted_assoc IS NOT NULL) = (SELECT ifnull(sum(cpu_sec), 0) FROM"
           " rollup_energy_day),"
           " (SELECT ifnull(sum(energy_reserved_uj / 1000), 0) FROM job_use"
           " WHERE counted_assoc IS NOT NULL) = (SELECT"
           " ifnull(sum(energy_reserved_mj), 0) FROM rollup_energy_day)",
           "1|1|1|1\n");
    /* CPU time of accounting, and what was measured beyond it */
    expect(w->s,
           "SELECT (SELECT ifnull(sum(max(ifnull(iif(u.cpu_efficiency_source <"
           " 3, u.cpu_usec, 0), 0), ifnull(j.cpu_usec, 0)) / 1000), 0) FROM"
           " job AS j LEFT JOIN job_use AS u ON u.job = j.id) = (SELECT"
           " ifnull(sum(cpu_used_msec), 0) FROM rollup_day) + (SELECT"
           " ifnull(sum(cpu_more_msec), 0) FROM rollup_energy_day)",
           "1\n");
    /* GPU time of jobs whose GPU use was measured, and that use */
    expect(w->s,
           "WITH g(held, used) AS (SELECT j.gpus * j.elapsed, j.gpus *"
           " j.elapsed * u.gpu_efficiency_ppm / 1000 FROM job AS j JOIN job_use"
           " AS u ON u.job = j.id WHERE u.counted_assoc IS NOT NULL AND"
           " j.gpus > 0 AND u.gpu_efficiency_ppm IS NOT NULL)"
           " SELECT ifnull(sum(held), 0) = (SELECT ifnull(sum(gpu_sec), 0) FROM"
           " rollup_energy_day), ifnull(sum(used), 0) = (SELECT"
           " ifnull(sum(gpu_used_msec), 0) FROM rollup_energy_day) FROM g",
           "1|1\n");
    /* what jobs held whose node failed, and their energy */
    expect(w->s,
           "WITH f AS (SELECT * FROM job AS j JOIN job_use AS u ON u.job = j.id"
           " WHERE j.state IN (9, 13)), d AS (SELECT ifnull(sum("
           "failed_cpu_sec), 0) AS c, ifnull(sum(failed_gpu_sec), 0) AS g,"
           " ifnull(sum(failed_mem_mib_sec), 0) AS m, ifnull(sum("
           "failed_energy_cpu_sec), 0) AS e, ifnull(sum(failed_energy_mj), 0)"
           " AS mj FROM rollup_energy_day) SELECT d.c = (SELECT"
           " ifnull(sum(cpus * elapsed), 0) FROM f), d.g = (SELECT"
           " ifnull(sum(gpus * elapsed), 0) FROM f), d.m = (SELECT"
           " ifnull(sum(memory_allocated_bytes / 1048576 * elapsed), 0) FROM"
           " f), d.e = (SELECT ifnull(sum(cpus * elapsed), 0) FROM f WHERE"
           " energy_uj IS NOT NULL), d.mj = (SELECT ifnull(sum(energy_uj /"
           " 1000), 0) FROM f) FROM d",
           "1|1|1|1|1\n");
    expect(w->s,
           "SELECT s.id FROM factor_source AS s WHERE (SELECT"
           " ifnull(sum(micrograms), 0) FROM job_grams WHERE source = s.id) !="
           " (SELECT ifnull(sum(micrograms), 0) FROM rollup_grams_day WHERE"
           " source = s.id) OR (SELECT ifnull(sum(covered_uj / 1000), 0) FROM"
           " job_grams WHERE source = s.id) != (SELECT ifnull(sum(covered_mj),"
           " 0) FROM rollup_grams_day WHERE source = s.id)",
           "");
}

/* What each application held and used is the sum of its jobs, as accounting and
 * the measured values have them. */
static void expect_applications(struct derive_rig *w)
{
    static const char jobs[] =
        "SELECT u.application, a.id, count(*), sum(j.cpus * j.elapsed),"
        " sum(iif(j.cpu_usec IS NULL AND (u.cpu_usec IS NULL OR"
        " u.cpu_efficiency_source >= 3), 0, j.cpus * j.elapsed)),"
        " sum(max(ifnull(iif(u.cpu_efficiency_source < 3, u.cpu_usec, 0), 0),"
        " ifnull(j.cpu_usec, 0)) / 1000), sum(ifnull(j.gpus, 0) * j.elapsed),"
        " sum(iif(u.gpu_efficiency_ppm IS NULL, 0, j.gpus * j.elapsed)),"
        " sum(iif(u.energy_uj IS NULL, 0, j.cpus * j.elapsed)),"
        " sum(ifnull(u.energy_uj / 1000, 0)) FROM job AS j JOIN job_use AS u ON"
        " u.job = j.id JOIN assoc AS a ON a.cluster = j.cluster AND a.user ="
        " j.user AND a.partition = j.partition AND a.account ="
        " ifnull(j.account, (SELECT id FROM account WHERE name = '')) WHERE"
        " u.application IS NOT NULL GROUP BY 1, 2",
                      sums[] =
                          "SELECT application, assoc, sum(jobs), sum(cpu_sec),"
                          " sum(cpu_known_sec), sum(cpu_used_msec),"
                          " sum(gpu_sec), sum(gpu_known_sec),"
                          " sum(energy_cpu_sec), sum(energy_mj) FROM"
                          " rollup_application WHERE day > 0 GROUP BY 1, 2";
    char *want = query(w->s, jobs);
    expect(w->s, sums, want);
    free(want);
    expect(w->s,
           "SELECT id >> 5 FROM rollup_application GROUP BY id >> 5,"
           " application HAVING sum(iif(day > 0, jobs, -jobs)) <> 0 OR"
           " sum(iif(day > 0, cpu_sec, -cpu_sec)) <> 0 OR sum(iif(day > 0,"
           " cpu_known_sec, -cpu_known_sec)) <> 0 OR sum(iif(day > 0,"
           " cpu_used_msec, -cpu_used_msec)) <> 0 OR sum(iif(day > 0, gpu_sec,"
           " -gpu_sec)) <> 0 OR sum(iif(day > 0, gpu_known_sec,"
           " -gpu_known_sec)) <> 0 OR sum(iif(day > 0, gpu_used_msec,"
           " -gpu_used_msec)) <> 0 OR sum(iif(day > 0, energy_cpu_sec,"
           " -energy_cpu_sec)) <> 0 OR sum(iif(day > 0, energy_mj,"
           " -energy_mj)) <> 0",
           "");
    /* at most those of all jobs, where two parts of the CPU time are rounded
     * for each job and day */
    expect(
        w->s,
        "SELECT n.id FROM (SELECT id, sum(cpu_sec) AS cpu, sum(gpu_sec) AS"
        " gpu, sum(cpu_known_sec) AS known, sum(cpu_used_msec) AS used,"
        " sum(energy_mj) AS mj, sum(gpu_used_msec) AS busy FROM"
        " rollup_application GROUP BY id) AS n LEFT JOIN rollup_usage AS r"
        " ON r.id = n.id LEFT JOIN rollup_energy AS e ON e.id = n.id WHERE"
        " r.id IS NULL OR n.cpu > r.cpu_sec OR n.gpu > r.gpu_sec OR n.known"
        " > r.cpu_sec - r.cpu_unknown_sec + ifnull(e.cpu_known_sec, 0) OR"
        " n.used > r.cpu_used_msec + ifnull(e.cpu_more_msec, 0) + 9 OR n.mj >"
        " ifnull(e.energy_mj, 0) OR n.busy > ifnull(e.gpu_used_msec, 0)",
        "");
}

/* Derive with the built-in table of applications. */
static void name_applications(struct derive_rig *w)
{
    bj_derive_free(w->d);
    OK(bj_applications_load(NULL, &w->applications, &err));
    derive_open(w);
}

/* --- sources ---------------------------------------------------------------
 */

/* If nothing changes, nothing is written. */
static void unchanged(struct derive_rig *w)
{
    int64_t before = number(w->s, "SELECT total_changes()");
    assert_int_equal(derive_all(w), 0);
    assert_int_equal(number(w->s, "SELECT total_changes()"), before);
    put_record(w, "4711", "n2", T0 + 7205, node2);
    const struct bj_derive_counts *n = bj_derive_counts(w->d);
    uint64_t changed = n->changed;
    assert_int_equal(derive_all(w), 1);
    assert_int_equal(n->changed, changed);
}

/* A record of a program that did not store whether its peak is a charged one.
 */
static void unmarked(struct derive_rig *w)
{
    OK(bj_db_exec(bj_store_db(w->s),
                  "UPDATE node_record SET memory_held_peak_charged = NULL"
                  " WHERE memory_held_peak_charged = 0",
                  &err));
    derive_all(w);
    expect(w->s,
           "SELECT memory_held_peak_bytes, memory_held_peak_charged FROM"
           " job_use_v",
           "4294967296|\n");
}

static void test_sources(void **state)
{
    (void)state;
    struct derive_rig w;
    struct bj_sched_job j;
    derive_rig_open(&w);
    make_job(&j, "4711", 3600, 3600);
    put_job(&w, &j);
    assert_int_equal(derive_all(&w), 1);
    /* nothing was measured: efficiency and its finding come from the
     * scheduler's CPU time: 1000 s on 4 CPUs in an hour */
    assert_int_equal(number(w.s, "SELECT count(*) FROM job_use"), 0);
    expect(w.s,
           "SELECT name, severity, text, value, threshold FROM job_finding_v"
           " ORDER BY name",
           "cpu_very_low|warning|CPU efficiency was 6.94 %.|"
           "6.9444|65.0\n"
           "time_limit_too_long|info|The job used 50 % of its time "
           "limit.|50.0|60.0\n");
    /* a record of one of its two nodes */
    put_record(&w, "4711", "n1", T0 + 7201, node1);
    assert_int_equal(derive_all(&w), 1);
    expect(w.s,
           "SELECT measured_nodes, cpu_usec, cpu_usec_source, energy_uj,"
           " cpu_efficiency_ppm, cpu_efficiency_source FROM job_use_v",
           "1|5000000000|nodes||69444|scheduler\n");
    assert_int_equal(number(w.s, "SELECT count(*) FROM rollup_energy_day"), 0);
    /* and of the other: 12960 s of 14400 are 90 %, 4 of 8 GiB */
    put_record(&w, "4711", "n2", T0 + 7205, node2);
    assert_int_equal(derive_all(&w), 1);
    expect(w.s,
           "SELECT measured_nodes, cpu_usec, cpu_efficiency_ppm,"
           " cpu_efficiency_source, memory_held_peak_bytes,"
           " memory_held_peak_charged, memory_held_peak_charged_source,"
           " memory_charged_peak_bytes, memory_efficiency_ppm, io_read_bytes,"
           " io_write_bytes, device_read_bytes FROM job_use_v",
           "2|12960000000|900000|nodes|4294967296|1|nodes|8589934592|500000|"
           "1024||\n");
    expect(w.s,
           "SELECT energy_uj, energy_cpu_uj, energy_dram_uj, energy_gpu_uj,"
           " energy_other_uj, energy_used_uj, energy_reserved_uj,"
           " energy_source, energy_policy FROM job_use_v",
           "3600000000|3400000000|100000000|100000000||3000000000|5000000000|"
           "nodes|hybrid\n");
    expect(w.s, "SELECT name FROM job_finding_v ORDER BY 1",
           "time_limit_too_long\ntoo_many_nodes\n");
    expect_sums(&w);
    unchanged(&w);
    unmarked(&w);
    /* the job moves to another account, and its sums with it */
    make_job(&j, "4711", 3600, 3600);
    j.account = BJ_SLICE("chem");
    put_job(&w, &j);
    derive_all(&w);
    expect(w.s,
           "SELECT c.name, energy_mj, cpu_sec FROM rollup_energy_day AS r JOIN"
           " assoc AS a ON a.id = r.assoc JOIN account AS c ON c.id ="
           " a.account",
           "chem|3600000|14400\n");
    expect_sums(&w);
    derive_rig_close(&w);
}

/* Sentences have energy in its unit, as all other forms. */
static void test_energy_text(void **state)
{
    (void)state;
    static const char text[] = "SELECT substr(text, 24, instr(text, ',') - 24),"
                               " text LIKE '%,890 kWh, several%' FROM"
                               " job_finding_v WHERE name = 'energy_reserved'";
    static const struct {
        const char *joules, *want;
    } cases[] = {{"1800", "cost 0.5 Wh|0\n"},
                 {"3596400", "cost 999 Wh|0\n"},
                 {"46404000000", "cost 12|1\n"}};
    struct derive_rig w;
    struct bj_sched_job j;
    char sql[100];
    derive_rig_open(&w);
    make_job(&j, "4711", 3600, 3600);
    put_job(&w, &j);
    put_record(&w, "4711", "n1", T0 + 7201,
               ",\"energy_policy\":\"hybrid\",\"energy_uj\":{\"hybrid\":"
               "{\"cpu\":2000000000000},\"usage\":{\"cpu\":500000000000},"
               "\"reservation\":{\"cpu\":5400000000000}}");
    put_record(&w, "4711", "n2", T0 + 7201,
               ",\"energy_policy\":\"hybrid\",\"energy_uj\":{\"hybrid\":"
               "{\"cpu\":0},\"usage\":{\"cpu\":0},\"reservation\":{\"cpu\":"
               "0}}");
    derive_all(&w);
    expect(w.s, text, "cost 1.5 kWh|0\n");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(sql, sizeof(sql), "UPDATE job_finding SET value = %s",
                 cases[i].joules);
        OK(bj_db_exec(bj_store_db(w.s), sql, &err));
        expect(w.s, text, cases[i].want);
    }
    derive_rig_close(&w);
}

static void prom(struct derive_rig *w, const char *values)
{
    char sql[600];
    snprintf(sql, sizeof(sql),
             "INSERT INTO job_prom(job, queried_sec, outcome, nodes_seen,"
             " nodes_final, coverage_ppm, energy_nodes, cpu_usec,"
             " memory_mean_bytes, gpu_busy_ppm) SELECT id, 1, %s FROM job;"
             "INSERT INTO word(text) VALUES('dram'), ('psu');"
             "INSERT INTO job_prom_energy SELECT j.id, w.id, 500000000 FROM"
             " job AS j, word AS w WHERE w.text IN ('dram', 'psu');"
             "INSERT INTO derive_todo SELECT id FROM job",
             values);
    OK(bj_db_exec(bj_store_db(w->s), sql, &err));
}

static void test_prometheus(void **state)
{
    static const struct {
        const char *values, *want;
    } cases[] = {
        /* complete; energy of an unknown component is "other" */
        {"0, 2, 2, 990000, 2, 7200000000, 5000, 250000",
         "2|7200000000|prometheus|5000|prometheus|500000|250000|1000000000|"
         "500000000|500000000|prometheus|990000\n"},
        /* samples end before the job: no energy, and the other values are lower
         * bounds */
        {"0, 2, 1, 500000, 2, 7200000000, 5000, NULL",
         "2|7200000000|prometheus|5000|prometheus|500000||7000000||||500000"
         "\n"},
        /* one node of two: no values of the whole job */
        {"0, 1, 1, 990000, 1, 7200000000, 5000, 250000",
         "1|7200000000|prometheus|5000|prometheus|69444||7000000||||990000"
         "\n"},
        /* 0 of what no process can do without */
        {"0, 2, 2, 990000, 2, 0, 5000, NULL",
         "2|||5000|prometheus|69444||1000000000|500000000|500000000|prometheus|"
         "990000\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct derive_rig w;
        struct bj_sched_job j;
        derive_rig_open(&w);
        make_job(&j, "4711", 3600, 3600);
        j.use.energy_joules = 7;
        put_job(&w, &j);
        derive_all(&w);
        expect(w.s, "SELECT \"end\" FROM prom_todo", "1763604000\n");
        prom(&w, cases[i].values);
        derive_all(&w);
        expect(
            w.s,
            "SELECT measured_nodes, cpu_usec, cpu_usec_source,"
            " memory_mean_bytes, memory_mean_bytes_source, cpu_efficiency_ppm,"
            " gpu_efficiency_ppm, energy_uj, energy_dram_uj,"
            " energy_other_uj, iif(energy_source = 'prometheus',"
            " energy_source, NULL), coverage_ppm FROM job_use_v",
            cases[i].want);
        /* values of nodes are preferred, one by one */
        put_record(&w, "4711", "n1", T0 + 7201, node1);
        put_record(&w, "4711", "n2", T0 + 7205, node2);
        derive_all(&w);
        expect(w.s,
               "SELECT cpu_usec, cpu_usec_source, memory_mean_bytes,"
               " memory_mean_bytes_source, energy_uj, energy_source FROM"
               " job_use_v",
               "12960000000|nodes|5000|prometheus|3600000000|nodes\n");
        expect_sums(&w);
        derive_rig_close(&w);
    }
}

/* GPUs in final records: a node with two, of which one was never used, and a
 * node with one. */
static void test_gpus(void **state)
{
    (void)state;
    struct derive_rig w;
    struct bj_sched_job j;
    derive_rig_open(&w);
    make_job(&j, "7", 3600, 3600);
    j.gpus = 3;
    put_job(&w, &j);
    put_record(&w, "7", "n1", T0 + 7200,
               ",\"gpus\":{\"GPU-a\":{\"index\":\"0\",\"model\":\"H100\","
               "\"source\":\"devices\",\"held_usec\":3600000000,\"idle_usec\":"
               "600000000,\"busy_ppm\":800000,\"memory_peak_bytes\":1000,"
               "\"energy_uj\":5,\"estimated\":true},\"GPU-b\":{\"held_usec\":"
               "1800000000,\"idle_usec\":1800000000,\"busy_ppm\":0}}");
    put_record(
        &w, "7", "n2", T0 + 7200,
        ",\"gpus\":{\"GPU-c\":{\"held_usec\":3600000000,\"idle_usec\":0,"
        "\"busy_ppm\":500000,\"memory_peak_bytes\":24},\"\":{},\"x\":1}");
    derive_all(&w);
    /* (0.8 * 3600 + 0 * 1800 + 0.5 * 3600) / 9000; the memory of one GPU is
     * unknown, and so is the sum. */
    expect(w.s,
           "SELECT gpus_seen, gpus_unused, gpu_busy_ppm, gpu_held_usec,"
           " gpu_idle_usec, gpu_memory_peak_bytes, gpu_efficiency_ppm,"
           " gpu_busy_ppm_source FROM job_use_v",
           "3|1|520000|9000000000|2400000000||520000|nodes\n");
    expect(w.s, "SELECT sum(gpu_sec) > 0 FROM rollup_energy_day", "1\n");
    expect_sums(&w);
    expect(w.s, "SELECT text FROM job_finding_v WHERE name = 'gpus_unused'",
           "The job never used 1 of its GPUs (n1: GPU-b).\n");
    expect(w.s,
           "SELECT gpu, \"index\", w.text, estimated FROM node_gpu LEFT JOIN"
           " word AS w ON w.id = model ORDER BY 1",
           "GPU-a|0|H100|1\nGPU-b|||\nGPU-c|||\n");
    derive_rig_close(&w);
}

/* A 0 of what a process cannot live without is unknown, and so are values of
 * some of the GPUs or nodes. */
static void test_not_measured(void **state)
{
    (void)state;
    struct derive_rig w;
    struct bj_sched_job j;
    derive_rig_open(&w);
    /* Nothing was gathered by the scheduler. */
    make_job(&j, "1", 3600, 3600);
    j.use.cpu_usec = j.use.cpu_user_usec = j.use.cpu_system_usec = 0;
    j.use.mem_peak_bytes = j.use.mem_task_peak_bytes = 0;
    j.use.read_bytes = j.use.write_bytes = 0;
    put_job(&w, &j);
    /* The node had the cgroup of the job and no controllers. */
    make_job(&j, "2", 3600, 3600);
    j.nodes = 1;
    j.use.cpu_usec = BJ_ABSENT;
    put_job(&w, &j);
    put_record(&w, "2", "n1", T0 + 7200,
               ",\"cpu_usec\":0,\"memory_held_peak_bytes\":0");
    /* One of two nodes did nothing; one GPU of two was measured. */
    make_job(&j, "3", 3600, 3600);
    j.use.cpu_usec = BJ_ABSENT;
    j.gpus = 2;
    put_job(&w, &j);
    put_record(&w, "3", "n1", T0 + 7200,
               ",\"cpu_usec\":5000000000,\"memory_held_peak_bytes\":1000,"
               "\"gpus\":{\"GPU-a\":{\"held_usec\":3600000000,\"idle_usec\":"
               "600000000,\"busy_ppm\":40000},\"GPU-b\":{\"held_usec\":"
               "3600000000}}");
    put_record(&w, "3", "n2", T0 + 7200,
               ",\"cpu_usec\":0,\"memory_held_peak_bytes\":1000");
    /* The other GPU is not in the record. */
    make_job(&j, "4", 3600, 3600);
    j.nodes = 1;
    j.gpus = 2;
    put_job(&w, &j);
    put_record(&w, "4", "n1", T0 + 7200,
               ",\"cpu_usec\":5000000000,\"memory_held_peak_bytes\":1000,"
               "\"gpus\":{\"GPU-a\":{\"held_usec\":3600000000,"
               "\"busy_ppm\":0}}");
    derive_all(&w);
    expect(w.s,
           "SELECT j.jobid, j.cpu_usec, j.memory_scheduler_peak_bytes,"
           " j.read_bytes, u.cpu_efficiency_ppm, u.memory_efficiency_ppm,"
           " u.gpus_seen, u.gpu_efficiency_ppm FROM job_v AS j LEFT JOIN"
           " job_use AS u ON u.job = j.id ORDER BY 1",
           "1|||||||\n2|||||||\n3||||347222|0|1|\n4|1000000000|||"
           "347222|0|1|\n");
    expect(w.s,
           "SELECT j.jobid, f.name FROM job_finding_v AS f JOIN job AS j ON"
           " j.id = f.job WHERE f.name IN ('nodes_unused', 'gpus_unused',"
           " 'cpu_low', 'cpu_very_low', 'gpu_low', 'gpu_very_low',"
           " 'serial_many_cpus') ORDER BY 1, 2",
           "3|nodes_unused\n4|gpus_unused\n");
    expect(w.s, "SELECT sum(cpu_unknown_sec) FROM rollup_day", "43200\n");
    expect_sums(&w);
    derive_rig_close(&w);
}

/* A record belongs to one of two runs with the same job id. */
static void test_runs(void **state)
{
    (void)state;
    struct derive_rig w;
    struct bj_sched_job j;
    derive_rig_open(&w);
    for (int i = 0; i < 2; i++) { /* the second follows a minute later */
        make_job(&j, "9", 3600 + i * 660, 600);
        j.nodes = 1;
        put_job(&w, &j);
    }
    put_record(&w, "9", "n1", T0 + 3600 + 601, node1);
    put_record(&w, "9", "n2", T0 + 3600 + 1261, node2);
    derive_all(&w);
    expect(w.s,
           "SELECT j.start - 1763596800, u.cpu_usec FROM job_use AS u JOIN job"
           " AS j ON j.id = u.job ORDER BY 1",
           "3600|5000000000\n4260|7960000000\n");
    derive_rig_close(&w);
}

/* The first run of a requeued job is imported after the second, which had both
 * final records until then, as history is imported newest first. */
static void test_earlier_run_later(void **state)
{
    (void)state;
    struct derive_rig w;
    struct bj_sched_job j;
    derive_rig_open(&w);
    put_record(&w, "9", "n1", T0 + 3600 + 31, node1);
    put_record(&w, "9", "n2", T0 + 3600 + 77, node2);
    make_job(&j, "9", 3600 + 63, 14);
    j.nodes = 1;
    put_job(&w, &j);
    derive_all(&w);
    make_job(&j, "9", 3600, 30);
    j.nodes = 1;
    j.state = BJ_STATE_REQUEUED;
    put_job(&w, &j);
    derive_all(&w);
    expect(w.s,
           "SELECT j.start - 1763596800, u.cpu_usec, u.measured_nodes FROM"
           " job_use AS u JOIN job AS j ON j.id = u.job ORDER BY 1",
           "3600|5000000000|1\n3663|7960000000|1\n");
    expect_sums(&w);
    derive_rig_close(&w);
}

/* --- emissions ------------------------------------------------------------ */

static void pue_and_bins(struct derive_rig *w)
{
    /* PUE 1.5, and 2 for the last quarter: (20 + 40 + 40) / 4 * 1.5 + 60 / 4 *
     * 2, in thousandths */
    char *v[] = {(char *)"1.5", (char *)"2025-11-20T01:45:00Z=2"};
    const struct bj_strv pue = {v, 2}, none = {v, 0};
    for (int i = 0; i < 2; i++) {
        OK(bj_store_begin(w->s, &err));
        OK(bj_factors_pue(w->h,
                          number(w->s, "SELECT id FROM cluster WHERE name ="
                                       " 'alpha'"),
                          i ? &none : &pue, &err));
        OK((int)bj_factors_flush(w->h, &err));
        OK(bj_store_commit(w->s, &err));
        bj_derive_forget(w->d);
        derive_all(w);
        expect(w->s, "SELECT grams FROM job_grams_v WHERE provider = 'rte'",
               i ? "0.04\n" : "0.0675\n");
    }
    expect_sums(w);
    /* energy by quarter of an hour: 90 % in the first (factor 20), 10 % in the
     * last (60) */
    OK(bj_db_exec(bj_store_db(w->s),
                  "INSERT INTO job_bin SELECT id, 1763600400, 90 FROM job;"
                  "INSERT INTO job_bin SELECT id, 1763601300, 0 FROM job;"
                  "INSERT INTO job_bin SELECT id, 1763603100, 10 FROM job;"
                  "INSERT INTO derive_todo SELECT id FROM job",
                  &err));
    derive_all(w);
    /* 20 * 0.9 + 60 * 0.1 */
    expect(w->s, "SELECT grams FROM job_grams_v WHERE provider = 'rte'",
           "0.024\n");
    expect_sums(w);
}

/* 3.6 kJ are a watt-hour, spread evenly over an hour that begins at T0 + 3600:
 * a factor of m mg/kWh for a quarter of an hour gives m/4 micrograms. */
static void test_grams(void **state)
{
    (void)state;
    struct derive_rig w;
    struct bj_sched_job j;
    derive_rig_open(&w);
    make_job(&j, "1", 3600, 3600);
    put_job(&w, &j);
    put_record(&w, "1", "n1", T0 + 7200, node1);
    put_record(&w, "1", "n2", T0 + 7200, node2);
    derive_all(&w);
    assert_int_equal(number(w.s, "SELECT count(*) FROM job_grams"), 0);
    /* a constant factor; later an hour of rte without the third quarter, in
     * which the factor of the second continues; and a marginal factor */
    factor(&w, "constant", BJ_FACTOR_LIFECYCLE, 0, 0, 100000, false, 1);
    derive_all(&w);
    expect(w.s,
           "SELECT provider, kind, grams, covered_uj, estimated FROM"
           " job_grams_v ORDER BY 1, 2",
           "best|average|0.1|3600000000|0\n"
           "constant|average_lifecycle|0.1|3600000000|0\n");
    factor(&w, "rte", BJ_FACTOR_DIRECT, T0 + 3600, T0 + 4500, 20000, false, 0);
    factor(&w, "rte", BJ_FACTOR_DIRECT, T0 + 4500, T0 + 5400, 40000, false, 0);
    factor(&w, "rte", BJ_FACTOR_DIRECT, T0 + 6300, T0 + 7200, 80000, true, 0);
    factor(&w, "watttime", BJ_FACTOR_MARGINAL, T0 + 7000, T0 + 7100, 500000,
           false, 2);
    derive_all(&w);
    /* rte: (20 + 40 + 40 + 80) / 4; watttime: the last 200 s of the hour */
    expect(w.s,
           "SELECT provider, kind, grams, covered_uj, estimated FROM"
           " job_grams_v ORDER BY 1, 2",
           "best|average|0.045|3600000000|1\n"
           "best|marginal|0.027778|200000000|0\n"
           "constant|average_lifecycle|0.1|3600000000|0\n"
           "rte|average_direct|0.045|3600000000|1\n"
           "watttime|marginal|0.027778|200000000|0\n");
    expect_sums(&w);
    /* a measured value replaces the estimate, not the reverse */
    factor(&w, "rte", BJ_FACTOR_DIRECT, T0 + 6300, T0 + 7200, 60000, false, 0);
    factor(&w, "rte", BJ_FACTOR_DIRECT, T0 + 6300, T0 + 7200, 90000, true, 0);
    derive_all(&w);
    expect(w.s,
           "SELECT grams, estimated FROM job_grams_v WHERE provider = 'rte'",
           "0.04|0\n");
    /* factors of other times affect no job */
    uint64_t jobs = bj_derive_counts(w.d)->jobs;
    factor(&w, "rte", BJ_FACTOR_DIRECT, T0 + 86400, T0 + 87300, 1, false, 0);
    derive_all(&w);
    assert_int_equal(bj_derive_counts(w.d)->jobs, jobs);
    pue_and_bins(&w);
    derive_rig_close(&w);
}

/* --- daily sums ----------------------------------------------------------- */

static uint32_t rnd(uint32_t *seed, uint32_t n)
{
    *seed = *seed * 1103515245 + 12345;
    return (*seed >> 12) % n;
}

/* The sums of a store whose version had none by application are made once, and
 * nothing else of its jobs changes. */
static void recount(struct derive_rig *w)
{
    static const char sums[] = "SELECT * FROM rollup_application ORDER BY 1, 2",
                      uses[] = "SELECT * FROM job_use ORDER BY job",
                      found[] = "SELECT * FROM job_finding ORDER BY 1, 2";
    char *rows = query(w->s, sums), *findings = query(w->s, found),
         *use = query(w->s, uses),
         *energy = query(w->s, "SELECT * FROM rollup_energy");
    assert_true(strlen(rows) > 1000);
    OK(bj_db_exec(bj_store_db(w->s),
                  "DELETE FROM rollup_application; UPDATE job_use SET"
                  " counted_held_cpu_sec = NULL, counted_held_known_sec = NULL,"
                  " counted_held_used_msec = NULL, counted_held_gpu_sec = NULL,"
                  " counted_assoc = iif(energy_uj IS NULL AND"
                  " counted_cpu_more_msec = 0 AND counted_cpu_known_sec = 0 AND"
                  " counted_gpu_sec = 0 AND counted_failed_cpu_sec IS NULL,"
                  " NULL, counted_assoc); UPDATE"
                  " derive_state SET recount = 1",
                  &err));
    bj_derive_free(w->d);
    derive_open(w);
    assert_true(derive_all(w) > 0);
    expect(w->s, sums, rows);
    expect(w->s, uses, use);
    expect(w->s, "SELECT * FROM rollup_energy", energy);
    expect(w->s,
           "SELECT (SELECT count(*) > 10 FROM job_finding), (SELECT"
           " count(recount) FROM derive_state)",
           "1|0\n");
    expect(w->s, found, findings);
    free(findings);
    free(rows);
    free(use);
    free(energy);
}

static void derive_again_and_remove(struct derive_rig *w)
{
    /* derived again from the beginning, all values are the same */
    char *use = query(w->s, "SELECT * FROM job_use ORDER BY job"),
         *grams = query(w->s, "SELECT * FROM job_grams ORDER BY job, source"),
         *days = query(w->s, "SELECT * FROM rollup_grams_day ORDER BY 1, 2"),
         *names = query(w->s, "SELECT * FROM rollup_application ORDER BY 1, 2");
    OK(bj_db_exec(bj_store_db(w->s),
                  "DELETE FROM job_use; DELETE FROM job_grams; DELETE FROM"
                  " job_finding; DELETE FROM rollup_energy; DELETE FROM"
                  " rollup_application; DELETE FROM rollup_grams; UPDATE "
                  "derive_state SET job_upto = 0",
                  &err));
    derive_all(w);
    expect(w->s, "SELECT * FROM job_use ORDER BY job", use);
    expect(w->s, "SELECT * FROM job_grams ORDER BY job, source", grams);
    expect(w->s, "SELECT * FROM rollup_grams_day ORDER BY 1, 2", days);
    free(use);
    free(grams);
    /* retention removes the jobs and keeps the sums */
    bool more = true;
    while (more)
        assert_true(
            bj_retention_step(w->s, T0 + 1000 * 86400, 100, &more, &err) >= 0);
    assert_int_equal(number(w->s, "SELECT count(*) FROM job_use"), 0);
    assert_int_equal(number(w->s, "SELECT count(*) FROM job_grams"), 0);
    expect(w->s, "SELECT * FROM rollup_grams_day ORDER BY 1, 2", days);
    expect(w->s, "SELECT * FROM rollup_application ORDER BY 1, 2", names);
    free(days);
    free(names);
}

/* Sums are right while jobs are added, changed and measured in any order. */
static void test_random(void **state)
{
    (void)state;
    struct derive_rig w;
    static const char *const accounts[] = {"phys", "chem", "", "bio"};
    uint32_t seed = 12345;
    static const char *const lines[] = {"", "sbatch --wrap='srun vasp_std'",
                                        "sbatch --wrap='srun gmx_mpi'"};
    derive_rig_open(&w);
    name_applications(&w);
    factor(&w, "constant", BJ_FACTOR_LIFECYCLE, 0, 0, 56039, false, 1);
    for (int i = 0; i < 400; i++) {
        struct bj_sched_job j;
        char id[16], rest[300];
        unsigned n = rnd(&seed, 60);
        snprintf(id, sizeof(id), "%u", n);
        make_job(&j, id, n * 5000, 1 + n * n * 50);
        j.nodes = 1;
        j.account = bj_slice_str(accounts[rnd(&seed, 4)]);
        j.submit_line = bj_slice_str(lines[rnd(&seed, 3)]);
        j.gpus = rnd(&seed, 2);
        if (rnd(&seed, 3) == 0)
            j.use.cpu_usec = BJ_ABSENT;
        if (rnd(&seed, 3) == 0)
            j.use.energy_joules = rnd(&seed, 100000);
        snprintf(rest, sizeof(rest),
                 ",\"energy_policy\":\"usage\",\"energy_uj\":{\"usage\":"
                 "{\"cpu\":%u%06u},\"reservation\":{\"cpu\":%u}}",
                 rnd(&seed, 9999), rnd(&seed, 1000000), rnd(&seed, 60000));
        if (rnd(&seed, 4))
            put_job(&w, &j);
        else
            put_record(&w, id, rnd(&seed, 9) ? "n1" : "n2", (int64_t)j.end_sec,
                       rest);
        if (rnd(&seed, 5) == 0)
            factor(&w, "rte", BJ_FACTOR_DIRECT, T0 + rnd(&seed, 300) * 900,
                   T0 + 400 * 900, 1 + rnd(&seed, 90000), rnd(&seed, 2), 0);
        if (rnd(&seed, 3) == 0)
            derive_all(&w);
        if (i % 50 == 0)
            expect_sums(&w);
    }
    derive_all(&w);
    expect_sums(&w);
    expect_applications(&w);
    assert_true(number(w.s, "SELECT count(*) FROM job_grams") > 50);
    assert_true(number(w.s, "SELECT count(DISTINCT assoc) FROM"
                            " rollup_energy_day") >= 3);
    recount(&w);
    derive_again_and_remove(&w);
    derive_rig_close(&w);
}

/* If the rules change, jobs are judged again. */
static void test_rules_change(void **state)
{
    (void)state;
    struct derive_rig w;
    struct bj_sched_job j;
    derive_rig_open(&w);
    make_job(&j, "1", 0, 3600);
    put_job(&w, &j);
    derive_all(&w);
    assert_int_equal(number(w.s, "SELECT count(*) FROM job_finding"), 2);
    bj_derive_free(w.d);
    bj_rules_free(w.rules);
    OK(bj_rules_text("f",
                     bj_slice_str("rules:\n- name: cpu_very_low\n"
                                  "  partition: long\n"
                                  "  set: {percent: 5}\n"
                                  "- name: time_limit_too_long\n"
                                  "  advice: 'Less than {value} %.'\n"
                                  "  url: https://x/y\n"),
                     &w.rules, &err));
    derive_open(&w);
    assert_int_equal(derive_all(&w), 1);
    expect(w.s, "SELECT name, advice, url FROM job_finding_v",
           "time_limit_too_long|Less than 50 %.|https://x/y\n");
    bj_derive_free(w.d);
    derive_open(&w);
    assert_int_equal(derive_all(&w), 0);
    /* without rules, findings do not change */
    bj_derive_free(w.d);
    struct bj_rules *rules = w.rules;
    w.rules = NULL;
    derive_open(&w);
    w.rules = rules;
    assert_int_equal(derive_all(&w), 0);
    assert_int_equal(number(w.s, "SELECT count(*) FROM job_finding"), 1);
    derive_rig_close(&w);
}

/* --- failed nodes ----------------------------------------------------------
 */

/* What a job held whose node failed is counted as such, also if only accounting
 * knows it, and not any more when accounting corrects its end. */
static void test_failed_nodes(void **state)
{
    (void)state;
    static const char day[] =
        "SELECT failed_cpu_sec, failed_gpu_sec, failed_mem_mib_sec,"
        " failed_energy_cpu_sec, failed_energy_mj FROM rollup_energy_day";
    struct derive_rig w;
    struct bj_sched_job j;
    derive_rig_open(&w);
    make_job(&j, "4711", 3600, 3600);
    j.state = BJ_STATE_NODE_FAIL;
    j.gpus = 2;
    j.mem_allocated_bytes = UINT64_C(4) << 30;
    put_job(&w, &j);
    assert_int_equal(derive_all(&w), 1);
    expect(w.s, day, "14400|7200|14745600|0|0\n");
    expect_sums(&w);
    j.use.energy_joules = 1000;
    put_job(&w, &j);
    derive_all(&w);
    expect(w.s, day, "14400|7200|14745600|14400|1000000\n");
    expect_sums(&w);
    /* what it used is no reason for a finding */
    OK(bj_db_exec(bj_store_db(w.s),
                  "INSERT INTO job_prom(job, queried_sec, outcome, nodes_seen,"
                  " nodes_final, coverage_ppm, threads_peak,"
                  " scratch_files_peak, cpu_usec) SELECT id, 1, 0, 2, 2,"
                  " 1000000, 999, 0, 1000000 FROM job; INSERT INTO derive_todo"
                  " SELECT id FROM job WHERE 1 = 1 ON CONFLICT DO NOTHING",
                  &err));
    derive_all(&w);
    expect(w.s, "SELECT name FROM job_finding_v WHERE name != 'gpu_spread'",
           "");
    j.state = BJ_STATE_FAILED;
    put_job(&w, &j);
    derive_all(&w);
    expect(w.s,
           "SELECT name FROM job_finding_v WHERE name IN ('threads',"
           " 'scratch_unused') ORDER BY name",
           "scratch_unused\nthreads\n");
    expect(w.s, day, "0|0|0|0|0\n");
    expect_sums(&w);
    derive_rig_close(&w);
}

/* --- days of the site's zone -----------------------------------------------
 */

static const char *const day_sums[] = {
    ("SELECT d.*, a.account FROM rollup_usage AS d JOIN assoc AS a ON a.id ="
     " d.assoc ORDER BY d.id"),
    "SELECT * FROM rollup_energy ORDER BY id",
    "SELECT * FROM rollup_grams ORDER BY id, source",
    "SELECT * FROM rollup_application ORDER BY id, application"};
enum { DAY_SUMS = sizeof(day_sums) / sizeof(day_sums[0]) };

static void set_zone(struct derive_rig *w, const char *name)
{
    bool changed;
    bj_upsert_free(w->u);
    bj_derive_free(w->d);
    OK(bj_site_zone_set(w->s, name, &changed, &err));
    assert_true(changed);
    OK(bj_site_zone_set(w->s, name, &changed, &err));
    assert_false(changed);
    w->u = upsert_open(w->s);
    derive_open(w);
}

/* Jobs of some hours and days around the days on which clocks change, with
 * energy and emissions, and one that runs. */
static void put_zone_jobs(struct derive_rig *w)
{
    static const struct {
        int64_t day; /* days since T0 */
        int64_t at, seconds;
    } jobs[] = {{0, 300, 600},         {0, 79200, 7200},
                {-26, 0, 3 * 86400},   {128, 80000, 200000},
                {11, -3600, 86400},    {12, 3600, 90 * 86400},
                {-25, 3600, 2 * 3600}, {40, 86399, 1}};
    struct bj_sched_job j;
    char id[16];
    factor(w, "constant", BJ_FACTOR_LIFECYCLE, T0 - 100 * 86400, 0, 100000,
           false, 1);
    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
        const int64_t at = jobs[i].day * 86400 + jobs[i].at;
        snprintf(id, sizeof(id), "%d", 5000 + (int)i);
        make_job(&j, id, at, (uint64_t)jobs[i].seconds);
        j.gpus = i % 3;
        j.submit_line = BJ_SLICE("sbatch --wrap='srun vasp_std'");
        j.use.energy_joules = i % 2 ? BJ_ABSENT : 1000000 + i;
        j.state = i % 3 == 1 ? BJ_STATE_NODE_FAIL : BJ_STATE_COMPLETED;
        put_job(w, &j);
        put_record(w, id, "n1", T0 + at + jobs[i].seconds, node1);
        put_record(w, id, "n2", T0 + at + jobs[i].seconds, node2);
    }
    make_job(&j, "6000", 12345, 400000);
    j.state = BJ_STATE_RUNNING;
    j.end_sec = BJ_ABSENT;
    put_job(w, &j);
    while (bj_derive_step(w->d, T0 + 300 * 86400, 100, &err) > 0) {
    }
}

/* The sums of a store that had the zone from the beginning, and of one that got
 * it later, are equal. */
static void test_zones(void **state)
{
    (void)state;
    static const char *const zones[] = {"Europe/Berlin", "America/New_York",
                                        "Pacific/Auckland", "Asia/Kolkata"};
    struct derive_rig late;
    derive_rig_open(&late);
    name_applications(&late);
    put_zone_jobs(&late);
    char *utc[DAY_SUMS], *before[DAY_SUMS];
    for (int k = 0; k < DAY_SUMS; k++) {
        utc[k] = query(late.s, day_sums[k]);
        assert_true(strlen(utc[k]) > 0);
    }
    for (size_t i = 0; i < sizeof(zones) / sizeof(zones[0]); i++) {
        struct derive_rig early;
        derive_rig_open(&early);
        name_applications(&early);
        set_zone(&early, zones[i]);
        put_zone_jobs(&early);
        set_zone(&late, zones[i]);
        for (int k = 0; k < DAY_SUMS; k++) {
            before[k] = query(early.s, day_sums[k]);
            expect(late.s, day_sums[k], before[k]);
            assert_string_not_equal(before[k], utc[k]);
            free(before[k]);
        }
        expect_sums(&late);
        expect_applications(&late);
        derive_rig_close(&early);
    }
    /* By hand: 7200 s from 22:00 UTC are 23:00 to 01:00 in Berlin. */
    set_zone(&late, "Europe/Berlin");
    expect(late.s,
           "SELECT sum(cpu_sec) FROM rollup_day WHERE month = 2025 * 12 + 10"
           " AND day = 20",
           /* 4 CPUs: 600 s, 3600 s, and 70455 s from 03:25:45 UTC */
           "298620\n");
    set_zone(&late, "UTC");
    for (int k = 0; k < DAY_SUMS; k++) {
        expect(late.s, day_sums[k], utc[k]);
        free(utc[k]);
    }
    bool changed = true;
    OK(bj_site_zone_set(late.s, "", &changed, &err));
    assert_false(changed);
    assert_true(bj_site_zone_set(late.s, "Europe/Atlantis", &changed, &err) <
                0);
    derive_rig_close(&late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sources),
        cmocka_unit_test(test_energy_text),
        cmocka_unit_test(test_failed_nodes),
        cmocka_unit_test(test_zones),
        cmocka_unit_test(test_prometheus),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_earlier_run_later),
        cmocka_unit_test(test_gpus),
        cmocka_unit_test(test_not_measured),
        cmocka_unit_test(test_grams),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_rules_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

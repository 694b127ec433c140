/* Findings from what nodes, GPUs and curves of a job show. */
#include "tests/unit/statsdb/test_statsdb_derive.h"

/* One slow node of 16 is named, and so are the GPUs that did less. */
static void test_uneven(void **state)
{
    (void)state;
    struct derive_rig w;
    struct bj_sched_job j;
    derive_rig_open(&w);
    make_job(&j, "8", 3600, 3600);
    j.nodes = 16;
    j.cpus = 16 * 64;
    put_job(&w, &j);
    for (int i = 0; i < 16; i++) {
        char more[300], node[8];
        snprintf(node, sizeof(node), "n%d", 101 + i);
        snprintf(more, sizeof(more),
                 ",\"cpus\":64,\"memory_held_peak_bytes\":1,\"cpu_usec\":%lld",
                 (i == 5 ? 20LL : 60 + i % 4) * 3600 * 1000000);
        put_record(&w, "8", node, T0 + 7200, more);
    }
    make_job(&j, "9", 3600, 3600);
    j.nodes = 1;
    j.gpus = 4;
    put_job(&w, &j);
    put_record(
        &w, "9", "g2", T0 + 7200,
        ",\"gpus\":{\"GPU-a\":{\"index\":\"0\",\"held_usec\":3600000000,"
        "\"busy_ppm\":900000},\"GPU-b\":{\"index\":\"1\",\"held_usec\":"
        "3600000000,\"busy_ppm\":910000},\"GPU-c\":{\"index\":\"2\","
        "\"held_usec\":3600000000,\"busy_ppm\":300000},\"GPU-d\":{"
        "\"index\":\"3\",\"held_usec\":3600000000,\"busy_ppm\":400000}}");
    derive_all(&w);
    expect(w.s,
           "SELECT text, names FROM job_finding_v WHERE name IN"
           " ('nodes_uneven', 'gpus_uneven') ORDER BY text",
           "The work was uneven: CPU use of some nodes differed from the others"
           " by up to 67.5 % (n106).|n106\n"
           "The work was uneven: use of some GPUs differed from the others by"
           " up to 67 % (g2: GPU 2 and 3).|g2: GPU 2 and 3\n");
    /* the CPUs of one node are not known any more: nothing is compared */
    OK(bj_db_exec(bj_store_db(w.s),
                  "UPDATE node_record SET cpus = NULL WHERE host = (SELECT id"
                  " FROM host WHERE name = 'n101')",
                  &err));
    derive_all(&w);
    expect(w.s, "SELECT name FROM job_finding_v WHERE name = 'nodes_uneven'",
           "");
    derive_rig_close(&w);
}

/* Nodes and curves from Prometheus. */
static void test_curves(void **state)
{
    (void)state;
    struct derive_rig w;
    struct bj_sched_job j;
    derive_rig_open(&w);
    make_job(&j, "10", 3600, 3600);
    j.state = BJ_STATE_OOM;
    put_job(&w, &j);
    OK(bj_db_exec(
        bj_store_db(w.s),
        "INSERT INTO job_prom(job, queried_sec, outcome, nodes_seen,"
        " nodes_final, coverage_ppm, cpu_usec, memory_held_peak_bytes,"
        " idle_start_sec, idle_end_sec, memory_rise_bytes, memory_steady_ppm)"
        " SELECT id, 1, 0, 2, 2, 1000000, 7200000000, 8589934592, 900, 1200,"
        " 4294967296, 990000 FROM job;"
        "INSERT INTO job_part(job, node, gpu, since, upto, cpus, cpus_milli)"
        " SELECT id, 'n1', '', start, \"end\", 2, 1900 FROM job;"
        "INSERT INTO job_part(job, node, gpu, since, upto, cpus, cpus_milli)"
        " SELECT id, 'n2', '', start, \"end\", 2, 100 FROM job;"
        "INSERT INTO derive_todo SELECT id FROM job WHERE 1 = 1 ON CONFLICT DO "
        "NOTHING",
        &err));
    derive_all(&w);
    expect(w.s,
           "SELECT name, text FROM job_finding_v WHERE name IN"
           " ('nodes_uneven', 'oom_leak', 'idle_start', 'hang', 'leak')"
           " ORDER BY name",
           "idle_start|The job used no CPU, GPU or I/O in its first 15 min.\n"
           "nodes_uneven|The work was uneven: CPU use of some nodes differed"
           " from the others by up to 94.7 % (n2).\n"
           "oom_leak|Memory rose steadily, by 4 GiB an hour, until it reached"
           " the limit: this may be a memory leak.\n");
    /* cancelled, it may have hung */
    OK(bj_db_exec(
        bj_store_db(w.s),
        "UPDATE job SET state = 6; UPDATE job_part SET upto = upto - 1", &err));
    derive_all(&w);
    expect(w.s,
           "SELECT text FROM job_finding_v WHERE name IN ('hang', 'oom_leak',"
           " 'nodes_uneven')",
           "The job used no CPU, GPU or I/O in its last 20 min: it may have"
           " hung.\n");
    derive_rig_close(&w);
}

/* Time for which the freezer suspended a job is out of its CPU efficiency,
 * once: a scheduler that knows of it has a shorter run time.  6480 s were used
 * of the 14400 s of 4 CPUs in an hour. */
static void test_suspended(void **state)
{
    static const struct {
        uint64_t elapsed;
        const char *n1, *n2;
        int64_t ppm;
        const char *found; /* without sources of energy and time limits */
    } cases[] = {
        {3600, "", "", 450000, "cpu_very_low\n"},
        {3600, ",\"suspended_usec\":0", ",\"suspended_usec\":0", 450000,
         "cpu_very_low\n"},
        {3600, ",\"suspended_usec\":1800000000", "", 900000, ""},
        {3600, ",\"suspended_usec\":60000000", ",\"suspended_usec\":1800000000",
         900000, ""},
        {1800, ",\"suspended_usec\":1800000000", "", 900000, ""},
        {1800, "", "", 900000, ""},
        /* more than the whole run: a reboot, or another job */
        {3600, ",\"suspended_usec\":9900000000", "", 450000, "cpu_very_low\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct derive_rig w;
        struct bj_sched_job j;
        char text[200];
        derive_rig_open(&w);
        make_job(&j, "10", 3600, 3600);
        j.elapsed_sec = cases[i].elapsed;
        j.use.cpu_usec = BJ_ABSENT;
        put_job(&w, &j);
        snprintf(text, sizeof(text), ",\"cpu_usec\":3000000000%s", cases[i].n1);
        put_record(&w, "10", "n1", T0 + 7200, text);
        snprintf(text, sizeof(text), ",\"cpu_usec\":3480000000%s", cases[i].n2);
        put_record(&w, "10", "n2", T0 + 7200, text);
        derive_all(&w);
        assert_int_equal(number(w.s, "SELECT cpu_efficiency_ppm FROM job_use"),
                         cases[i].ppm);
        expect(w.s,
               "SELECT name FROM job_finding_v WHERE name LIKE 'cpu%' OR"
               " name = 'memory_remote'",
               cases[i].found);
        derive_rig_close(&w);
    }
}

/* Memory on other NUMA nodes: that of the worst node counts; unknown while a
 * node has not reported. */
static void test_memory_remote(void **state)
{
    static const struct {
        const char *n1, *n2, *found;
    } cases[] = {
        {",\"memory_remote_ppm\":450000", ",\"memory_remote_ppm\":0",
         "45 % of the memory was on other NUMA nodes than the CPUs of the job, "
         "where access is slower.\n"},
        {",\"memory_remote_ppm\":300000", ",\"memory_remote_ppm\":0", ""},
        {",\"memory_remote_ppm\":450000", NULL, ""},
        {"", "", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct derive_rig w;
        struct bj_sched_job j;
        derive_rig_open(&w);
        make_job(&j, "10", 3600, 3600);
        put_job(&w, &j);
        put_record(&w, "10", "n1", T0 + 7200, cases[i].n1);
        if (cases[i].n2)
            put_record(&w, "10", "n2", T0 + 7200, cases[i].n2);
        derive_all(&w);
        expect(w.s,
               "SELECT text FROM job_finding_v WHERE name = 'memory_remote'",
               cases[i].found);
        derive_rig_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uneven),
        cmocka_unit_test(test_curves),
        cmocka_unit_test(test_suspended),
        cmocka_unit_test(test_memory_remote),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

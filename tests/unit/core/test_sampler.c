/* The sampler of a core: final records and energy, independent of scrapes. */
#include "tests/unit/core/test_sampler.h"

/* A final record needs neither a meter nor a scrape. */
static void test_record_of_a_job(void **state)
{
    (void)state;
    struct rig r;
    struct bj_arena a = {0};
    uint64_t before = bj_clock_wall_usec() / 1000000;
    tmp_v2_job(SCOPE "job_17", 1234567, 4096, "1\n");
    tmp_file(SCOPE "job_17/memory.swap.peak", "8192\n");
    START(r, spool_opt, "cluster=alpha", "collector.energy=true");
    ticks(1);
    tmp_remove(SCOPE "job_17");
    const struct bj_json *doc = await_record(&a);
    assert_int_equal(number(doc, "format"), 1);
    assert_int_equal(number(doc, "cpu_usec"), 1234567);
    assert_int_equal(number(doc, "memory_swap_peak_bytes"), 8192);
    assert_true(number(doc, "end") >= before);
    assert_true(
        bj_slice_eq(bj_json_text(bj_json_get(doc, "jobid")), BJ_SLICE("17")));
    assert_true(bj_slice_eq(bj_json_text(bj_json_get(doc, "cluster")),
                            BJ_SLICE("alpha")));
    assert_true(bj_slice_eq(bj_json_text(bj_json_get(doc, "batch_system")),
                            BJ_SLICE("slurm")));
    assert_null(bj_json_get(doc, "energy_uj"));
    rig_pass(&r);
    assert_int_equal(r.snap->self.records, 1);
    assert_int_equal(r.snap->self.records_lost, 0);
    rig_stop(&r);
    bj_arena_free(&a);
}

/* When process 1 started, boot clock in microseconds. */
static uint64_t start_of_one(void)
{
    char text[1024] = "";
    unsigned long long ticks = 0;
    FILE *f = fopen("/proc/1/stat", "r");
    assert_non_null(f);
    assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
    fclose(f);
    char *at = strrchr(text, ')');
    assert_non_null(at);
    for (int field = 2; field < 22 && at; field++)
        at = strchr(at + 1, ' ');
    assert_non_null(at);
    ticks = strtoull(at, NULL, 10);
    assert_true(ticks > 0 || strncmp(at, " 0 ", 3) == 0);
    return ticks * (SECOND / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* A clock was ahead when a job began, and was set back later: its record has
 * the start in the time of its end, not the one that the scheduler wrote with
 * that clock. */
static void test_record_and_early_clock(void **state)
{
    (void)state;
    for (int with_file = 0; with_file < 2; with_file++) {
        struct rig r;
        struct bj_arena a = {0};
        char text[80], files_opt[160];
        const uint64_t ahead = UINT64_C(30) * 86400 * SECOND;
        testclock_set_wall(bj_clock_wall_usec() + ahead);
        snprintf(text, sizeof(text), "jobid=18\nstart=%llu\n",
                 (unsigned long long)(bj_clock_wall_usec() / SECOND));
        tmp_dir("files");
        tmp_file("files/18", text);
        snprintf(files_opt, sizeof(files_opt), "job.file-dir=%s/%s", top,
                 with_file ? "files" : "none");
        tmp_v2_job(SCOPE "job_18", 1234567, 4096, "1\n");
        START(r, spool_opt, files_opt, "collector.energy=true");
        ticks(2);
        testclock_set_wall(bj_clock_wall_usec() - ahead);
        tmp_remove(SCOPE "job_18");
        const uint64_t from = bj_clock_wall_usec() / SECOND,
                       boot = bj_clock_boot_usec();
        ticks(1);
        const struct bj_json *doc = await_record(&a);
        const uint64_t age = (boot - start_of_one()) / SECOND;
        assert_in_range(number(doc, "end"), from, from + 60);
        assert_in_range(number(doc, "start"), from - age - 2, from - age + 2);
        rig_stop(&r);
        bj_arena_free(&a);
    }
}

/* The wall clock jumps forwards by days and back while a job runs, and again
 * after its end: there is one record, with the wall clock of the end. */
static void test_record_and_clock_jumps(void **state)
{
    (void)state;
    struct rig r;
    struct bj_arena a = {0};
    const uint64_t days = UINT64_C(30) * 86400 * SECOND;
    tmp_v2_job(SCOPE "job_17", 1234567, 4096, "1\n");
    START(r, spool_opt, "collector.energy=true");
    ticks(2);
    testclock_set_wall(bj_clock_wall_usec() + days);
    ticks(2);
    testclock_set_wall(bj_clock_wall_usec() - 2 * days);
    ticks(2);
    const uint64_t before = bj_clock_wall_usec() / SECOND;
    tmp_remove(SCOPE "job_17");
    ticks(1); /* the end is seen */
    const uint64_t after = bj_clock_wall_usec() / SECOND;
    testclock_set_wall(bj_clock_wall_usec() + days);
    const struct bj_json *doc = await_record(&a);
    assert_int_equal(number(doc, "cpu_usec"), 1234567);
    assert_in_range(number(doc, "end"), before, after);
    rig_pass(&r);
    assert_int_equal(r.snap->self.records, 1);
    assert_int_equal(r.snap->self.records_lost, 0);
    rig_stop(&r);
    bj_arena_free(&a);
}

/* The job ends while its record cannot be written to the spool. */
static void end_without_spool(struct rig *r)
{
    tmp_remove("spool");
    tmp_file("spool", "not a directory");
    tmp_remove(SCOPE "job_17");
    ticks(3);
    rig_pass(r);
    assert_int_equal(r->snap->self.records_lost, 0);
    assert_non_null(strstr(r->log, "final records wait to be written: "));
    assert_int_equal(r->snap->self.records_write_success, 0);
    assert_int_equal(r->snap->self.records_waiting, 1);
    assert_in_range(r->snap->self.records_age_usec, 1, 3600000000);
}

/* A record that could not be written is written later. */
static void test_spool_works_again(void **state)
{
    (void)state;
    struct rig r;
    struct bj_arena a = {0};
    char path[200];
    snprintf(path, sizeof(path), "%s/spool", top);
    tmp_v2_job(SCOPE "job_17", 1234567, 4096, "1\n");
    START(r, spool_opt, "collector.energy=false");
    ticks(1);
    rig_pass(&r);
    assert_int_equal(r.snap->self.records_write_success, 1);
    assert_int_equal(r.snap->self.records_waiting, BJ_ABSENT);
    assert_int_equal(r.snap->self.records_age_usec, BJ_ABSENT);
    end_without_spool(&r);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(number(await_record(&a), "cpu_usec"), 1234567);
    ticks(2);
    rig_pass(&r);
    assert_int_equal(r.snap->self.records, 1);
    assert_int_equal(r.snap->self.records_lost, 0);
    assert_int_equal(r.snap->self.records_write_success, 1);
    assert_int_equal(r.snap->self.records_waiting, BJ_ABSENT);
    assert_non_null(strstr(r.log, "writing final records works again"));
    rig_stop(&r);
    assert_null(strstr(r.log, "lost"));
    bj_arena_free(&a);
}

/* A directory that cannot be written is reported before the first job ends, and
 * that it can be written again also without a job. */
static void test_unwritable_spool_is_known_at_the_start(void **state)
{
    (void)state;
    struct rig r;
    char path[200];
    snprintf(path, sizeof(path), "%s/spool", top);
    tmp_remove("spool");
    assert_int_equal(symlink("/proc/self", path), 0); /* no file can be made */
    START(r, spool_opt, "collector.energy=false");
    ticks(1);
    rig_pass(&r);
    assert_int_equal(r.snap->self.records_write_success, 0);
    assert_int_equal(r.snap->self.records, 0);
    assert_non_null(strstr(r.log, "final records cannot be written: "
                                  "record.dir: write into "));
    assert_int_equal(unlink(path), 0);
    rig_stop(&r);
}

/* The program ends even if a record could not be written. */
static void test_spool_fails_until_the_end(void **state)
{
    (void)state;
    struct rig r;
    tmp_v2_job(SCOPE "job_17", 1234567, 4096, "1\n");
    START(r, spool_opt, "collector.energy=false");
    ticks(1);
    end_without_spool(&r);
    rig_stop(&r);
    assert_non_null(strstr(r.log, "final records lost at the end: 1"));
}

static void set_energy(uint64_t uj)
{
    char text[32];
    snprintf(text, sizeof(text), "%llu\n", (unsigned long long)uj);
    tmp_file(ZONE "energy_uj", text);
}

static void make_rapl(void)
{
    char from[300], to[300];
    tmp_dir(ZONE);
    tmp_dir("sys/devices/system/cpu");
    tmp_file(ZONE "name", "package-0\n");
    tmp_file(ZONE "enabled", "1\n");
    tmp_file(ZONE "max_energy_range_uj", "262143328850\n");
    set_energy(5000000);
    tmp_dir("sys/class/powercap");
    static const char *const names[] = {"intel-rapl", "intel-rapl:0"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(from, sizeof(from),
                 "%s/sys/devices/virtual/powercap/intel-rapl%s", top,
                 i ? "/intel-rapl:0" : "");
        snprintf(to, sizeof(to), "%s/sys/class/powercap/%s", top, names[i]);
        assert_int_equal(symlink(from, to), 0);
    }
    tmp_file("sys/devices/system/cpu/online", "0-3\n");
}

/* The energy of the only job, of which one component is metered. */
static uint64_t job_energy(const struct rig *r)
{
    const struct bj_job *job = rig_job(r, "17");
    const struct bj_energy_use *e = job ? job->energy.v : NULL;
    return job && job->energy.n == 1 ? e->energy_uj : BJ_ABSENT;
}

static void await_energy(struct rig *r, uint64_t least)
{
    for (int i = 0; i < 60; i++) {
        ticks(1);
        rig_pass(r);
        uint64_t uj = job_energy(r);
        if (uj != BJ_ABSENT && uj >= least)
            return;
    }
    fail_msg("no energy for the job after 60 s\n%s", r->log);
}

static char *topology(unsigned cpu, const char *file)
{
    static char name[128];
    snprintf(name, sizeof(name), "sys/devices/system/cpu/cpu%u/topology%s%s",
             cpu, *file ? "/" : "", file);
    return name;
}

static void set_topology(unsigned cpu, const char *file, unsigned id)
{
    char text[16];
    snprintf(text, sizeof(text), "%u\n", id);
    tmp_file(topology(cpu, file), text);
}

/* Two dies repeat the numbers of their two cores, with two threads each; before
 * Linux 5.2 there is no die_id. */
static void test_cores_of_dies(void **state)
{
    (void)state;
    for (unsigned cpu = 0; cpu < 8; cpu++) {
        tmp_dir(topology(cpu, ""));
        set_topology(cpu, "physical_package_id", 0);
        set_topology(cpu, "core_id", cpu / 2 % 2);
        set_topology(cpu, "die_id", cpu / 4);
    }
    tmp_file("sys/devices/system/cpu/online", "0-7\n");
    for (unsigned cores = 4; cores >= 2; cores -= 2) {
        struct rig r;
        START(r, "collector.node=true");
        rig_pass(&r);
        assert_int_equal(r.snap->node.cores, cores);
        assert_int_equal(r.snap->node.sockets, 1);
        rig_stop(&r);
        for (unsigned cpu = 0; cpu < 8; cpu++)
            tmp_remove(topology(cpu, "die_id"));
    }
}

/* All energy is attributed to the only job that uses CPU time, and only once,
 * also after a restart. */
static void test_energy_and_restart(void **state)
{
    (void)state;
    struct rig r;
    struct bj_arena a = {0};
    make_rapl();
    /* The node has used as much as the job: there is no system energy. */
    tmp_file("cgroup/cpu.stat", "usage_usec 1000000\n");
    tmp_v2_job(SCOPE "job_17", 1000000, 4096, "1\n");
    START(r, spool_opt, state_opt, "collector.energy=true");
    rig_pass(&r);
    /* No energy is known yet. */
    assert_true(job_energy(&r) == BJ_ABSENT || job_energy(&r) == 0);
    ticks(1);
    tmp_file("cgroup/cpu.stat", "usage_usec 3000000\n");
    tmp_v2_job(SCOPE "job_17", 3000000, 4096, "1\n");
    set_energy(5000000 + 700001);
    await_energy(&r, 1);
    assert_int_equal(job_energy(&r), 700001);
    assert_int_equal(r.snap->meters.n, 1);
    assert_int_equal(r.snap->zones.n, 1);
    rig_stop(&r);
    /* Meanwhile the meter counts. */
    tmp_file("cgroup/cpu.stat", "usage_usec 4000000\n");
    tmp_v2_job(SCOPE "job_17", 4000000, 4096, "1\n");
    set_energy(5000000 + 700001 + 300002);
    START(r, spool_opt, state_opt, "collector.energy=true");
    await_energy(&r, 700002);
    assert_int_equal(job_energy(&r), 1000003);
    tmp_remove(SCOPE "job_17");
    ticks(1);
    set_energy(5000000 + 700001 + 300002 + 10); /* ends the window of the job */
    const struct bj_json *doc = await_record(&a);
    assert_int_equal(number(doc, "energy_uj.hybrid.cpu"), 1000003);
    assert_int_equal(number(doc, "energy_uj.usage.cpu"), 1000003);
    assert_true(bj_slice_eq(bj_json_text(bj_json_get(doc, "energy_source")),
                            BJ_SLICE("rapl")));
    bool gap = false;
    assert_int_equal(bj_json_bool(bj_json_get(doc, "energy_gap"), &gap), 0);
    assert_true(gap);
    rig_stop(&r);
    bj_arena_free(&a);
}

/* --- energy on pages -------------------------------------------------------
 */

/* Advance the clock in pieces; the meter counts the microseconds since zero. */
static void count_time(uint64_t usec, uint64_t zero)
{
    enum { PIECE = SECOND / 10 };
    settle();
    for (uint64_t n; usec > 0; usec -= n) {
        n = usec < PIECE ? usec : PIECE;
        set_energy(5000000 + bj_clock_boot_usec() + n - zero);
        testclock_advance(n);
        settle();
    }
}

static uint64_t zone_energy(const struct rig *r)
{
    const struct bj_zone_stat *z = r->snap->zones.v;
    assert_int_equal(r->snap->zones.n, 1);
    return z->energy_uj;
}

/* Counters of energy are never older than a tenth of the time since the page
 * before, whether pages come early or late, and although the sampler has its
 * own interval.  Ticks are not much more frequent. */
static void test_energy_of_pages(void **state)
{
    (void)state;
    static const unsigned gaps[] = {100, 100, 97,  103, 100, 120, 100, 150,
                                    150, 152, 600, 600, 598, 100, 100, 60,
                                    60,  55,  100, 110, 90,  100, 101};
    struct rig r;
    make_rapl();
    START(r, "collector.energy=true", "energy.interval=5s");
    ticks(1);
    const uint64_t zero = bj_clock_boot_usec();
    count_time(7 * SECOND, zero);
    rig_pass(&r);
    /* What the meter had counted at the first reading is not on the page. */
    count_time(10 * SECOND, zero);
    rig_pass(&r);
    const uint64_t first = bj_clock_boot_usec() - zero - zone_energy(&r);
    const uint64_t begun = bj_clock_boot_usec(), passes = r.core->passes;
    size_t n = 0;
    for (; n < 4 * (sizeof(gaps) / sizeof(gaps[0])); n++) {
        const uint64_t gap =
            gaps[n % (sizeof(gaps) / sizeof(gaps[0]))] * (SECOND / 10ull);
        count_time(gap, zero);
        rig_pass(&r);
        const uint64_t age =
            bj_clock_boot_usec() - zero - first - zone_energy(&r);
        assert_in_range(age, 0, gap / 10);
    }
    const uint64_t took = bj_clock_boot_usec() - begun;
    assert_in_range(r.core->passes - passes - n, took / (5 * SECOND),
                    took / (5 * SECOND) * 3 / 2);
    rig_stop(&r);
}

/* Pages that come faster than the sampler's interval cause no tick. */
static void test_energy_of_fast_pages(void **state)
{
    (void)state;
    struct rig r;
    make_rapl();
    START(r, "collector.energy=true", "energy.interval=5s");
    ticks(5);
    rig_pass(&r);
    const uint64_t passes = r.core->passes;
    for (int i = 0; i < 100; i++) {
        ticks(1);
        rig_pass(&r);
    }
    assert_int_equal(r.core->passes - passes, 100 + 20);
    rig_stop(&r);
}

static void set_memory(const char *used, const char *peak, const char *stat)
{
    tmp_v2_job(SCOPE "job_17", 1000000, 4096, "1\n");
    tmp_file(SCOPE "job_17/memory.current", used);
    if (peak)
        tmp_file(SCOPE "job_17/memory.peak", peak);
    tmp_file(SCOPE "job_17/memory.stat", stat);
}

static uint64_t held_peak(struct rig *r)
{
    rig_pass(r);
    return rig_job(r, "17")->use.mem_held_peak_bytes;
}

/* The peak of held memory continues after a restart: page cache before it does
 * not become held memory, what rose meanwhile counts, and nothing falls. */
static void test_held_and_restart(void **state)
{
    (void)state;
    struct rig r;
    struct bj_arena a = {0};
    make_rapl();
    set_memory("2000\n", "2000\n", "anon 2000\nfile 0\nshmem 0\n");
    START(r, spool_opt, state_opt, "collector.energy=true");
    ticks(1);
    set_memory("9000\n", "9000\n", "anon 100\nfile 8900\nshmem 0\n");
    ticks(1);
    /* None of it was page cache at both samples. */
    assert_int_equal(held_peak(&r), 9000);
    set_memory("8950\n", "9000\n", "anon 50\nfile 8900\nshmem 0\n");
    ticks(1);
    rig_stop(&r);
    set_memory("9100\n", "9500\n", "anon 200\nfile 8900\nshmem 0\n");
    START(r, spool_opt, state_opt, "collector.energy=true");
    ticks(1);
    assert_int_equal(held_peak(&r), 9000); /* 9500 less 8900 of page cache */
    rig_stop(&r);
    set_memory("9100\n", "19500\n", "anon 200\nfile 8900\nshmem 0\n");
    START(r, spool_opt, state_opt, "collector.energy=true");
    ticks(1);
    assert_int_equal(held_peak(&r), 10600);
    tmp_remove(SCOPE "job_17");
    const struct bj_json *doc = await_record(&a);
    assert_int_equal(number(doc, "memory_held_peak_bytes"), 10600);
    rig_stop(&r);
    bj_arena_free(&a);
}

/* The same where the kernel keeps no peak: the largest sample of both. */
static void test_sampled_and_restart(void **state)
{
    (void)state;
    struct rig r;
    make_rapl();
    set_memory("2000\n", NULL, "anon 2000\nfile 0\nshmem 0\n");
    START(r, spool_opt, state_opt, "collector.energy=true");
    ticks(1);
    assert_int_equal(held_peak(&r), 2000);
    rig_stop(&r);
    set_memory("300\n", NULL, "anon 300\nfile 0\nshmem 0\n");
    START(r, spool_opt, state_opt, "collector.energy=true");
    ticks(1);
    assert_int_equal(held_peak(&r), 2000);
    assert_int_equal(rig_job(&r, "17")->use.mem_held_sampled, 1);
    rig_stop(&r);
}

/* Only the job uses the node: ten microseconds of CPU time for each
 * microjoule. */
static void use_energy(uint64_t uj)
{
    char text[40];
    unsigned long cpu_usec = (unsigned long)uj * 10;
    snprintf(text, sizeof(text), "usage_usec %lu\n", cpu_usec);
    tmp_file("cgroup/cpu.stat", text);
    tmp_v2_job(SCOPE "job_17", cpu_usec, 4096, "1\n");
    set_energy(5000000 + uj);
}

static bool energy_fails(const struct rig *r)
{
    const struct bj_collector_stat *v = r->snap->self.collectors.v;
    for (size_t i = 0; i < r->snap->self.collectors.n; i++)
        if (bj_slice_eq(v[i].sub.key[0], BJ_SLICE("energy")))
            return v[i].success == 0;
    return false;
}

/* While the state cannot be saved, the values that were saved last are
 * published: a restart would begin with them. */
static void test_state_not_saved(void **state)
{
    (void)state;
    struct rig r;
    make_rapl();
    use_energy(100000);
    START(r, state_opt, "collector.energy=true");
    rig_pass(&r);
    ticks(1);
    use_energy(300000);
    await_energy(&r, 200000);
    tmp_remove("state");
    tmp_dir("state/in/the/way");
    use_energy(500000);
    ticks(2);
    rig_pass(&r);
    const struct bj_energy_split *node = r.snap->node.energy.v;
    const struct bj_zone_stat *zone = r.snap->zones.v;
    assert_int_equal(job_energy(&r), 200000);
    assert_int_equal(node->energy_uj, 200000);
    assert_int_equal(zone->energy_uj, 200000);
    assert_true(energy_fails(&r));
    assert_non_null(strstr(r.log, "collector energy: totals not saved: "));
    tmp_remove("state");
    ticks(1);
    rig_pass(&r);
    assert_int_equal(job_energy(&r), 400000);
    assert_false(energy_fails(&r));
    rig_stop(&r);
}

/* A batch system may make the directory long before the first process starts:
 * all usage since then counts for the job. */
static void test_late_first_process(void **state)
{
    (void)state;
    struct rig r;
    make_rapl();
    tmp_file("cgroup/cpu.stat", "usage_usec 1000000\n");
    tmp_v2_job(SCOPE "job_17", 0, 4096, "");
    START(r, state_opt, "collector.energy=true", "path.procfs=/nowhere");
    rig_pass(&r);
    ticks(2);
    tmp_file("cgroup/cpu.stat", "usage_usec 3000000\n");
    tmp_v2_job(SCOPE "job_17", 2000000, 4096, "1\n");
    set_energy(5000000 + 700001);
    ticks(2);
    rig_pass(&r);
    assert_int_equal(job_energy(&r), 700001);
    rig_stop(&r);
}

/* The account of a job is found again at the next start, whichever of its
 * directories exist then and are kept open. */
static void test_same_job_again(void **state)
{
    static const char *const later[] = {"memory", "cpuset", "pids", "devices",
                                        "freezer"};
    (void)state;
    struct rig r;
    char name[128];
    make_rapl();
    tmp_remove("cgroup");
    tmp_dir("cgroup/cpuacct/slurm/uid_7/job_17");
    tmp_file("cgroup/cpuacct/slurm/uid_7/job_17/cgroup.procs", "1\n");
    tmp_file("cgroup/cpuacct/slurm/uid_7/job_17/cpuacct.usage", "1000000000\n");
    tmp_file("cgroup/cpuacct/cpuacct.usage", "1000000000\n");
    START(r, spool_opt, state_opt, "collector.energy=true", "limit.files=1");
    ticks(1);
    tmp_file("cgroup/cpuacct/slurm/uid_7/job_17/cpuacct.usage", "2000000000\n");
    tmp_file("cgroup/cpuacct/cpuacct.usage", "2000000000\n");
    set_energy(5000000 + 42);
    await_energy(&r, 42);
    rig_stop(&r);
    for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++) {
        snprintf(name, sizeof(name), "cgroup/%s/slurm/uid_7/job_17", later[i]);
        tmp_dir(name);
        snprintf(name, sizeof(name),
                 "cgroup/%s/slurm/uid_7/job_17/cgroup.procs", later[i]);
        tmp_file(name, "1\n");
    }
    tmp_file("cgroup/cpuacct/slurm/uid_7/job_17/cpuacct.usage", "3000000000\n");
    tmp_file("cgroup/cpuacct/cpuacct.usage", "3000000000\n");
    set_energy(5000000 + 42 + 10);
    START(r, spool_opt, state_opt, "collector.energy=true");
    await_energy(&r, 52);
    ticks(2);
    rig_pass(&r);
    assert_int_equal(job_energy(&r), 52);
    assert_int_equal(r.snap->self.records, 0); /* the job has not ended */
    rig_stop(&r);
}

/* The record of a job that ended while the program did not run has the values
 * that were saved. */
static void test_end_between_two_runs(void **state)
{
    (void)state;
    struct rig r;
    struct bj_arena a = {0};
    make_rapl();
    tmp_file("cgroup/cpu.stat", "usage_usec 1000000\n");
    tmp_v2_job(SCOPE "job_17", 1000000, 4096, "1\n");
    START(r, spool_opt, state_opt, "collector.energy=true");
    ticks(1);
    tmp_file("cgroup/cpu.stat", "usage_usec 2000000\n");
    tmp_v2_job(SCOPE "job_17", 2000000, 4096, "1\n");
    set_energy(5000000 + 42);
    await_energy(&r, 42);
    rig_stop(&r);
    tmp_remove(SCOPE "job_17");
    START(r, spool_opt, state_opt, "collector.energy=true");
    const struct bj_json *doc = await_record(&a);
    bool complete = true;
    assert_int_equal(bj_json_bool(bj_json_get(doc, "complete"), &complete), 0);
    assert_false(complete);
    assert_true(
        bj_slice_eq(bj_json_text(bj_json_get(doc, "jobid")), BJ_SLICE("17")));
    assert_int_equal(number(doc, "energy_uj.hybrid.cpu"), 42);
    rig_stop(&r);
    bj_arena_free(&a);
}

/* If there is nothing to sample, the only threads are the resolver's and the
 * one that saves peaks. */
static void test_nothing_to_do(void **state)
{
    (void)state;
    struct rig r;
    START(r, state_opt, "collector.energy=true");
    rig_pass(&r);
    assert_int_equal(r.threads, 2);
    rig_stop(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_record_of_a_job),
        T(test_record_and_early_clock),
        T(test_record_and_clock_jumps),
        T(test_energy_and_restart),
        T(test_energy_of_pages),
        T(test_energy_of_fast_pages),
        T(test_held_and_restart),
        T(test_sampled_and_restart),
        T(test_state_not_saved),
        T(test_spool_works_again),
        T(test_unwritable_spool_is_known_at_the_start),
        T(test_spool_fails_until_the_end),
        T(test_late_first_process),
        T(test_same_job_again),
        T(test_end_between_two_runs),
        T(test_nothing_to_do),
        T(test_cores_of_dies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

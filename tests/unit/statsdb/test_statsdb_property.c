/* Random imports, with jobs in any order, repeated, in batches and aborted
 * batches: the store depends only on the reported values, and the daily sums
 * are those of the jobs. */
#include "tests/unit/statsdb/test_statsdb.h"

#include "tests/unit/lib/rounds.h"

enum { JOBS = 60, STAGES = 5, STEPS = 3, DAY = 86400 };

static uint64_t seed;
static uint64_t rnd(uint64_t n)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (seed >> 33) % n;
}

/* One run, from which the records of its stages are made. */
struct run {
    char raw[24], step_id[STEPS][8], user[12], account[12];
    uint64_t submit, start, end, cpus, nodes, gpus, mem, cpu_usec, joules;
    enum bj_job_state final;
    unsigned steps;
};

static void make_run(struct run *l, unsigned i)
{
    static const enum bj_job_state ends[] = {
        BJ_STATE_COMPLETED, BJ_STATE_FAILED, BJ_STATE_CANCELLED,
        BJ_STATE_TIMEOUT,   BJ_STATE_OOM,    BJ_STATE_NODE_FAIL,
        BJ_STATE_PREEMPTED};
    memset(l, 0, sizeof(*l));
    /* Some are runs of one requeued job. */
    snprintf(l->raw, sizeof(l->raw), rnd(5) ? "%u" : "%u[7].srv",
             100 + i / (1 + i % 2));
    snprintf(l->user, sizeof(l->user), "u%u", (unsigned)rnd(5));
    snprintf(l->account, sizeof(l->account), "a%u", (unsigned)rnd(3));
    l->submit = 1709164800 + i * 977 + rnd(40) * DAY / 7;
    l->start = l->submit + rnd(3 * DAY);
    l->end = l->start + (rnd(3) ? rnd(4000) : rnd(12 * DAY));
    l->cpus = 1 + rnd(64);
    l->nodes = 1 + rnd(4);
    l->gpus = rnd(3);
    l->mem = rnd(9) * 1000000007;
    l->cpu_usec = rnd(1000000) * 977;
    l->joules = rnd(2) ? BJ_ABSENT : rnd(100000);
    l->final = ends[rnd(sizeof(ends) / sizeof(ends[0]))];
    l->steps = (unsigned)rnd(STEPS + 1);
    for (unsigned k = 0; k < l->steps; k++)
        snprintf(l->step_id[k], sizeof(l->step_id[k]), "%s",
                 k == 0   ? "batch"
                 : k == 1 ? "extern"
                          : "0+1");
}

/* The scheduler's record of a run at a stage; sparse: only id, submit time and
 * state. */
static void record(const struct run *l, unsigned stage, bool sparse,
                   struct bj_sched_job *j, struct bj_job_step step[STEPS])
{
    bj_sched_job_init(j);
    j->batch_system = BJ_SLICE("slurm");
    j->jobid = bj_slice_str(l->raw);
    j->submit_sec = l->submit;
    j->state = stage == 0           ? BJ_STATE_PENDING
               : stage < STAGES - 1 ? BJ_STATE_RUNNING
                                    : l->final;
    if (sparse)
        return;
    j->user = bj_slice_str(l->user);
    j->account = bj_slice_str(l->account);
    j->cpus = l->cpus;
    if (stage == 0)
        return;
    j->nodes = l->nodes;
    j->gpus = l->gpus;
    j->mem_allocated_bytes = l->mem;
    j->start_sec = l->start;
    j->elapsed_sec = (l->end - l->start) * stage / (STAGES - 1);
    if (stage < STAGES - 1)
        return;
    j->end_sec = l->end;
    j->use.cpu_usec = l->cpu_usec;
    j->use.energy_joules = l->joules;
    j->step = step;
    j->steps = l->steps;
    for (unsigned k = 0; k < l->steps; k++) {
        bj_job_step_init(&step[k]);
        step[k].step_id = bj_slice_str(l->step_id[k]);
        step[k].state = l->final;
        step[k].start_sec = l->start;
        step[k].end_sec = l->end;
        step[k].elapsed_sec = l->end - l->start;
        step[k].use.mem_peak_bytes = l->mem + k;
    }
}

/* Report all jobs in random batches: every stage up to the given one comes at
 * least once, in any order, some again, and some batches are aborted and sent
 * again. */
static void report(struct bj_upsert *u, const struct run *l, unsigned upto)
{
    struct bj_err err = {0};
    unsigned todo[JOBS * (STAGES + 2)], n = 0;
    for (unsigned i = 0; i < JOBS; i++)
        for (unsigned s = 0; s <= upto; s++)
            todo[n++] = i * STAGES + s;
    for (unsigned i = 0; i < JOBS; i++)
        todo[n++] = (unsigned)rnd(JOBS) * STAGES + (unsigned)rnd(upto + 1);
    for (unsigned i = n - 1; i > 0; i--) {
        unsigned k = (unsigned)rnd(i + 1), t = todo[i];
        todo[i] = todo[k];
        todo[k] = t;
    }
    for (unsigned at = 0; at < n;) {
        unsigned size = 1 + (unsigned)rnd(40);
        bool abort = rnd(4) == 0;
        assert_int_equal(bj_upsert_bulk(u, rnd(2) == 0, &err), 0);
        assert_int_equal(bj_upsert_begin(u, &err), 0);
        for (unsigned i = at; i < n && i < at + size; i++) {
            struct bj_sched_job j;
            struct bj_job_step step[STEPS];
            record(&l[todo[i] / STAGES], todo[i] % STAGES, rnd(3) == 0, &j,
                   step);
            if (bj_upsert_job(u, BJ_SLICE("c"), &j, &err) < 0)
                fail_msg("%s", err.msg);
            record(&l[todo[i] / STAGES], todo[i] % STAGES, false, &j, step);
            if (bj_upsert_job(u, BJ_SLICE("c"), &j, &err) < 0)
                fail_msg("%s", err.msg);
        }
        if (abort) {
            bj_upsert_rollback(u);
            continue;
        }
        if (bj_upsert_commit(u, &err) < 0)
            fail_msg("%s", err.msg);
        at += size;
    }
}

/* All stored jobs, steps and sums, in an order that does not depend on the
 * import. */
static char *dump(struct bj_store *s)
{
    struct bj_buf out = {0};
    static const char *const sql[] = {
        "SELECT cluster, jobid, submit_sec, state, user, account, cpus, nodes,"
        " gpus, memory_allocated_bytes, start_sec, end_sec, elapsed_seconds, "
        "cpu_usec,"
        " energy_scheduler_joules FROM job_v ORDER BY jobid, submit_sec",
        "SELECT j.jobid, j.submit_sec, s.step_id, s.state, s.start_sec,"
        " s.end_sec, s.elapsed_seconds, s.memory_scheduler_peak_bytes FROM "
        "step_v s"
        " JOIN job_v j ON j.id = s.job ORDER BY 1, 2, 3",
        "SELECT month, day, a.name, u.name, jobs_started, jobs_ended,"
        " jobs_completed, jobs_failed, jobs_cancelled, jobs_timeout, jobs_oom,"
        " wait_sec, elapsed_sec, node_sec, cpu_sec, gpu_sec, mem_mib_sec,"
        " cpu_used_msec, cpu_unknown_sec, energy_scheduler_joules, "
        "energy_cpu_sec"
        " FROM rollup_day JOIN assoc s ON s.id = assoc"
        " JOIN account a ON a.id = s.account JOIN user u ON u.id = s.user"
        " ORDER BY 1, 2, 3, 4"};
    for (size_t i = 0; i < sizeof(sql) / sizeof(sql[0]); i++) {
        char *rows = query(s, sql[i]);
        bj_buf_str(&out, rows);
        free(rows);
    }
    bj_buf_put(&out, "", 1);
    return out.p;
}

/* CPU seconds that the runs of a user had allocated on a day. */
static uint64_t cpu_sec(const struct run *l, const char *user, uint64_t day)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < JOBS; i++) {
        uint64_t from = day * DAY, to = from + DAY;
        from = l[i].start > from ? l[i].start : from;
        to = l[i].end < to ? l[i].end : to;
        if (strcmp(l[i].user, user) == 0 && from < to)
            sum += (to - from) * l[i].cpus;
    }
    return sum;
}

static void check_sums(struct bj_store *s, const struct run *l)
{
    char sql[400];
    for (unsigned n = 0; n < 5; n++)
        for (uint64_t day = 19782; day < 19782 + 70; day++) {
            char user[12];
            snprintf(user, sizeof(user), "u%u", n);
            snprintf(sql, sizeof(sql),
                     "SELECT ifnull(sum(cpu_sec), 0) FROM rollup_day"
                     " JOIN assoc a ON a.id = assoc JOIN user u ON u.id ="
                     " a.user WHERE u.name = '%s' AND month ="
                     " strftime('%%Y', %llu, 'unixepoch') * 12 +"
                     " strftime('%%m', %llu, 'unixepoch') - 1 AND day ="
                     " strftime('%%d', %llu, 'unixepoch') + 0",
                     user, (unsigned long long)day * DAY,
                     (unsigned long long)day * DAY,
                     (unsigned long long)day * DAY);
            assert_int_equal(number(s, sql), cpu_sec(l, user, day));
        }
    expect_months(s);
    uint64_t joules = 0, msec = 0, wait = 0;
    for (unsigned i = 0; i < JOBS; i++) {
        joules += l[i].joules == BJ_ABSENT ? 0 : l[i].joules;
        msec += l[i].cpu_usec / 1000;
        wait += l[i].start - l[i].submit;
    }
    assert_int_equal(
        number(s, "SELECT sum(energy_scheduler_joules) FROM rollup_day"),
        joules);
    assert_int_equal(number(s, "SELECT sum(cpu_used_msec) FROM rollup_month"),
                     msec);
    assert_int_equal(number(s, "SELECT sum(wait_sec) FROM rollup_day"), wait);
    assert_int_equal(number(s, "SELECT sum(jobs_ended) FROM rollup_day"), JOBS);
    assert_int_equal(number(s, "SELECT sum(jobs_started) FROM rollup_month"),
                     JOBS);
}

static void round_of(unsigned n)
{
    struct fixture f[2];
    struct run l[JOBS];
    char *first = NULL;
    seed = n;
    for (unsigned i = 0; i < JOBS; i++)
        make_run(&l[i], i);
    for (int k = 0; k < 2; k++) {
        fixture_open(&f[k]);
        struct bj_store *s = store_open(&f[k]);
        struct bj_upsert *u = upsert_open(s);
        seed = n * 1000 + (unsigned)k;
        for (unsigned stage = 0; stage < STAGES; stage++)
            report(u, l, stage);
        char *once = dump(s);
        int64_t writes = number(s, "SELECT total_changes()");
        struct bj_upsert_counts c = *bj_upsert_counts(u);
        report(u, l, STAGES - 1);
        char *twice = dump(s);
        assert_string_equal(once, twice);
        assert_int_equal(number(s, "SELECT total_changes()"), writes);
        assert_int_equal(bj_upsert_counts(u)->jobs_new, c.jobs_new);
        assert_int_equal(bj_upsert_counts(u)->jobs_changed, c.jobs_changed);
        if (first)
            assert_string_equal(first, once);
        else
            first = strdup(once);
        check_sums(s, l);
        assert_int_equal(bj_db_check(bj_store_db(s), NULL), 0);
        free(once);
        free(twice);
        bj_upsert_free(u);
        bj_store_close(s);
        fixture_close(&f[k]);
    }
    free(first);
}

static void test_random(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= bj_rounds(20, 4); n++)
        round_of(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return cmocka_run_group_tests_name("statsdb_property", tests, NULL, NULL);
}

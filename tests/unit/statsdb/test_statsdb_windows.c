/* Accounting of a year that is queried in windows: an answer for a window has
 * only the steps that overlap it, and sums of these steps alone.  However the
 * year is cut, in any order, with any overlap, the store is the same as after
 * one query, for each source with windows and for each engine. */
#include "sched/sacct.h"
#include "sched/slurmrest.h"
#include "tests/unit/lib/rounds.h"
#include "tests/unit/statsdb/test_statsdb_stores.h"

#include <stdint.h>

enum { EPOCH = 1700000000, YEAR = 365 * 86400, JOBS = 40, STEPS = 12 };

/* --- the year ------------------------------------------------------------- */

struct span {
    int64_t start, end;
};

struct step {
    struct span span;
    char id[12];
    uint64_t user_usec, system_usec; /* as Slurm stores them */
    uint64_t rss, memory, read, write, joules;
};

struct job {
    unsigned id;
    int64_t submit;
    struct span span; /* start 0: cancelled before it started */
    const char *state;
    uint64_t joules; /* of the job itself; 0: not known */
    unsigned steps;
    struct step step[STEPS];
};

static int64_t between(int64_t from, int64_t upto)
{
    return from + (int64_t)rnd((uint64_t)(upto - from) + 1);
}

/* Most last some hours, some months. */
static int64_t length(void)
{
    const int64_t most[] = {100, 20000, 400000, YEAR / 4};
    return 1 + (int64_t)rnd((uint64_t)most[rnd(4)]);
}

static void make_step(const struct job *j, unsigned n, struct step *s)
{
    *s = (struct step){.span = j->span};
    if (n == 0)
        snprintf(s->id, sizeof(s->id), "batch");
    else if (n == 1)
        snprintf(s->id, sizeof(s->id), "extern");
    else
        snprintf(s->id, sizeof(s->id), "%u%s", n - 2, rnd(20) == 0 ? "+1" : "");
    if (n > 1) {
        s->span.start = between(j->span.start, j->span.end);
        s->span.end = between(s->span.start, j->span.end);
    }
    if (rnd(8) == 0)
        return; /* nothing was measured */
    s->user_usec = rnd(rnd(2) ? 9000000 : 90000000000);
    s->system_usec = rnd(s->user_usec + 1);
    s->rss = 1 + rnd(1000000000);
    s->memory = s->rss + rnd(1000);
    s->read = rnd(100000);
    s->write = rnd(100000);
    s->joules = rnd(2) * rnd(100000);
}

static void make_job(unsigned n, struct job *j)
{
    static const char *const states[] = {"COMPLETED", "FAILED", "TIMEOUT"};
    *j = (struct job){.id = 100 + n, .state = states[rnd(3)]};
    j->submit = EPOCH + (int64_t)rnd(YEAR);
    j->span.start = j->submit + length();
    j->span.end = j->span.start + length();
    j->joules = rnd(2) * rnd(100000);
    if (rnd(6) == 0) {
        j->state = "CANCELLED by 1000";
        j->span = (struct span){0, j->span.start};
        j->joules = 0;
    } else if (rnd(8)) {
        j->steps = 1 + (unsigned)rnd(STEPS);
    }
    for (unsigned i = 0; i < j->steps; i++)
        make_step(j, i, &j->step[i]);
}

/* --- answers -------------------------------------------------------------- */

static bool overlaps(int64_t start, int64_t end, const struct span *window)
{
    return start < window->end && end >= window->start;
}

/* The step sums of slurmdbd over the steps in the answer. */
static uint64_t total(const struct job *j, const struct span *w, bool user)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < j->steps; i++)
        if (overlaps(j->step[i].span.start, j->step[i].span.end, w))
            sum += user ? j->step[i].user_usec : j->step[i].system_usec;
    return sum;
}

/* As sacct prints it: milliseconds only below an hour. */
static void put_time(struct bj_buf *b, uint64_t usec)
{
    const uint64_t sec = usec / 1000000;
    const unsigned long long days = sec / 86400, hours = sec / 3600 % 24;
    const unsigned minutes = (unsigned)(sec / 60 % 60),
                   seconds = (unsigned)(sec % 60);
    if (days)
        bj_buf_printf(b, "%llu-%02llu:%02u:%02u", days, hours, minutes,
                      seconds);
    else if (hours)
        bj_buf_printf(b, "%02llu:%02u:%02u", hours, minutes, seconds);
    else
        bj_buf_printf(b, "%02u:%02u.%03u", minutes, seconds,
                      (unsigned)(usec / 1000 % 1000));
    bj_buf_str(b, "|");
}

static void put_stamp(struct bj_buf *b, int64_t sec)
{
    if (sec == 0)
        bj_buf_str(b, "Unknown|");
    else
        bj_buf_printf(b, "%lld|", (long long)sec);
}

static void put_span(struct bj_buf *b, const struct span *s)
{
    put_stamp(b, s->start);
    put_stamp(b, s->end);
    bj_buf_printf(b, "%lld|", s->start ? (long long)(s->end - s->start) : 0ll);
}

static void put_sacct_step(struct bj_buf *b, const struct job *j,
                           const struct step *s)
{
    bj_buf_printf(b, "%u.%s|%lld|", j->id, s->id, (long long)j->submit);
    put_span(b, &s->span);
    bj_buf_printf(b, "COMPLETED||||4|1||");
    put_time(b, s->user_usec + s->system_usec);
    put_time(b, s->user_usec);
    put_time(b, s->system_usec);
    bj_buf_printf(b, "%llu|", (unsigned long long)s->joules);
    if (s->memory)
        bj_buf_printf(b, "%llu|mem=%llu,fs/disk=%llu|fs/disk=%llu\n",
                      (unsigned long long)s->rss, (unsigned long long)s->memory,
                      (unsigned long long)s->read,
                      (unsigned long long)s->write);
    else
        bj_buf_str(b, "||\n");
}

static void put_sacct_job(struct bj_buf *b, const struct job *j,
                          const struct span *w)
{
    const uint64_t user = total(j, w, true), system = total(j, w, false);
    bj_buf_printf(b, "%u|%lld|", j->id, (long long)j->submit);
    put_span(b, &j->span);
    bj_buf_printf(b, "%s|anna|phys|p|4|1|cpu=4,mem=8G|", j->state);
    put_time(b, user + system);
    put_time(b, user);
    put_time(b, system);
    bj_buf_printf(b, "%llu|||\n", (unsigned long long)j->joules);
    for (unsigned i = 0; i < j->steps; i++)
        if (overlaps(j->step[i].span.start, j->step[i].span.end, w))
            put_sacct_step(b, j, &j->step[i]);
}

static void put_json_time(struct bj_buf *b, const struct span *s, uint64_t user,
                          uint64_t system)
{
    const uint64_t all = user + system;
    bj_buf_printf(
        b,
        "\"start\":%lld,\"end\":%lld,\"elapsed\":%lld,\"total\":{\"seconds\":"
        "%llu,\"microseconds\":%llu},\"user\":{\"seconds\":%llu,"
        "\"microseconds\":%llu},\"system\":{\"seconds\":%llu,"
        "\"microseconds\":%llu}}",
        (long long)s->start, (long long)s->end,
        s->start ? (long long)(s->end - s->start) : 0ll,
        (unsigned long long)(all / 1000000),
        (unsigned long long)(all % 1000000),
        (unsigned long long)(user / 1000000),
        (unsigned long long)(user % 1000000),
        (unsigned long long)(system / 1000000),
        (unsigned long long)(system % 1000000));
}

static void put_json_step(struct bj_buf *b, const struct job *j,
                          const struct step *s)
{
    bj_buf_printf(b,
                  "{\"step\":{\"id\":\"%u.%s\",\"name\":\"x\"},\"state\":"
                  "\"COMPLETED\",\"nodes\":{\"count\":1},\"time\":{",
                  j->id, s->id);
    put_json_time(b, &s->span, s->user_usec, s->system_usec);
    bj_buf_printf(b, ",\"statistics\":{\"energy\":{\"consumed\":%llu}}",
                  (unsigned long long)s->joules);
    if (s->memory)
        bj_buf_printf(
            b,
            ",\"tres\":{\"requested\":{\"max\":[{\"type\":\"mem\",\"name\":"
            "null,\"count\":%llu,\"node\":\"n1\"}],\"total\":[{\"type\":"
            "\"mem\",\"name\":null,\"count\":%llu},{\"type\":\"fs\",\"name\":"
            "\"disk\",\"count\":%llu}]},\"consumed\":{\"total\":[{\"type\":"
            "\"fs\",\"name\":\"disk\",\"count\":%llu}]}}",
            (unsigned long long)s->rss, (unsigned long long)s->memory,
            (unsigned long long)s->read, (unsigned long long)s->write);
    bj_buf_str(b, "}");
}

static void put_json_job(struct bj_buf *b, const struct job *j,
                         const struct span *w)
{
    const char *comma = "";
    bj_buf_printf(b,
                  "{\"job_id\":%u,\"user\":\"anna\",\"account\":\"phys\","
                  "\"partition\":\"p\",\"state\":{\"current\":\"%s\"},"
                  "\"required\":{\"CPUs\":4},\"allocation_nodes\":1,"
                  "\"tres\":{\"allocated\":[{\"type\":\"cpu\",\"name\":null,"
                  "\"count\":4}%s",
                  j->id, j->span.start ? j->state : "CANCELLED",
                  j->joules ? "" : "]}");
    if (j->joules)
        bj_buf_printf(b,
                      ",{\"type\":\"energy\",\"name\":null,\"count\":%llu}]}",
                      (unsigned long long)j->joules);
    bj_buf_printf(b, ",\"time\":{\"submission\":%lld,", (long long)j->submit);
    put_json_time(b, &j->span, total(j, w, true), total(j, w, false));
    bj_buf_str(b, ",\"steps\":[");
    for (unsigned i = 0; i < j->steps; i++) {
        if (!overlaps(j->step[i].span.start, j->step[i].span.end, w))
            continue;
        bj_buf_str(b, comma);
        put_json_step(b, j, &j->step[i]);
        comma = ",";
    }
    bj_buf_str(b, "]}");
}

/* --- imports -------------------------------------------------------------- */

enum source { SACCT, SLURMRESTD, SOURCES };

static int put_job(void *ctx, const struct bj_sched_job *job,
                   struct bj_err *err)
{
    return bj_upsert_job(ctx, BJ_SLICE("c"), job, err);
}

static void no_bad_field(void *ctx, const struct bj_sacct_bad *bad)
{
    (void)ctx;
    fail_msg("%.*s: %.*s", (int)bad->field.n, bad->field.p, (int)bad->value.n,
             bad->value.p);
}

static void no_bad_value(void *ctx, const struct bj_slurmrest_bad *bad)
{
    (void)ctx;
    fail_msg("%s: expected %s", bad->field, bad->expected);
}

static void read_sacct(struct bj_upsert *u, struct bj_slice text)
{
    struct bj_err err = {0};
    struct bj_sacct *r;
    const struct bj_sacct_conf conf = {
        .ctx = u, .job = put_job, .bad = no_bad_field};
    if (bj_sacct_new(&conf, &r, &err) < 0 || bj_sacct_feed(r, text, &err) < 0 ||
        bj_sacct_end(r, true, &err) < 0)
        fail_msg("%s", err.msg);
    bj_sacct_free(r);
}

static void read_json(struct bj_upsert *u, struct bj_slice text)
{
    struct bj_err err = {0};
    struct bj_slurmrest *r;
    const struct bj_slurmrest_conf conf = {
        .ctx = u, .job = put_job, .bad = no_bad_value};
    if (bj_slurmrest_new(&conf, &r, &err) < 0 ||
        bj_slurmrest_feed(r, text, &err) < 0 || bj_slurmrest_end(r, &err) < 0)
        fail_msg("%s", err.msg);
    bj_slurmrest_free(r);
}

static void import(struct bj_upsert *u, enum source source,
                   const struct job *jobs, const struct span *w)
{
    struct bj_buf b = {0};
    const char *comma = "";
    bj_buf_str(&b, source == SACCT
                       ? "JobIDRaw|Submit|Start|End|ElapsedRaw|State|User|"
                         "Account|Partition|AllocCPUS|NNodes|AllocTRES|"
                         "TotalCPU|UserCPU|SystemCPU|ConsumedEnergyRaw|MaxRSS|"
                         "TRESUsageInTot|TRESUsageOutTot\n"
                       : "{\"errors\":[],\"jobs\":[");
    for (const struct job *j = jobs; j < jobs + JOBS; j++) {
        if (!overlaps(j->submit, j->span.end, w))
            continue;
        if (source == SACCT) {
            put_sacct_job(&b, j, w);
        } else {
            bj_buf_str(&b, comma);
            put_json_job(&b, j, w);
            comma = ",";
        }
    }
    bj_buf_str(&b, source == SACCT ? "" : "]}");
    assert_false(b.failed);
    (source == SACCT ? read_sacct : read_json)(u,
                                               (struct bj_slice){b.p, b.len});
    bj_buf_free(&b);
}

/* --- windows -------------------------------------------------------------- */

enum { WINDOWS = 60 };

static const struct span all = {EPOCH, EPOCH + 3 * YEAR};

static int by_time(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Cut the time of all jobs into windows, most of them while a job runs, add
 * some that overlap them, and shuffle them. */
static unsigned cut(const struct job *jobs, struct span *w)
{
    const unsigned cuts = (unsigned)rnd(WINDOWS);
    int64_t at[WINDOWS + 2] = {all.start, all.end};
    unsigned n = 0;
    for (unsigned i = 0; i < cuts; i++) {
        const struct job *j = &jobs[rnd(JOBS)];
        at[i + 2] = rnd(5) && j->span.start
                        ? between(j->span.start, j->span.end)
                        : between(all.start, all.end);
    }
    qsort(at, cuts + 2, sizeof(at[0]), by_time);
    for (unsigned i = 0; i <= cuts; i++)
        w[n++] = (struct span){at[i] - (int64_t)rnd(2) * 7200, at[i + 1]};
    for (unsigned more = (unsigned)rnd(WINDOWS / 2); more > 0; more--) {
        const int64_t start = between(all.start, all.end - 1);
        w[n++] = (struct span){
            start, between(start + 1, start + 1 + (all.end - start) / 20)};
    }
    for (unsigned i = n - 1; i > 0; i--) {
        const unsigned k = (unsigned)rnd(i + 1);
        const struct span t = w[i];
        w[i] = w[k];
        w[k] = t;
    }
    return n;
}

static int stores(void)
{
    return server_available ? STORES : SQLITE + 1;
}

static void open_stores(struct stores *w)
{
    static const char *const names[] = {
        [ONE_BY_ONE] = "one_by_one", [GATHERED] = "gathered"};
    fixture_open(&w->f);
    w->store[SQLITE] = store_open(&w->f);
    for (int i = SQLITE + 1; i < stores(); i++)
        w->store[i] = open_postgres(names[i]);
    for (int i = 0; i < stores(); i++)
        w->upsert[i] = upsert_open(w->store[i]);
    if (server_available)
        bj_upsert_gather(w->upsert[ONE_BY_ONE], false);
}

static void close_stores(struct stores *w)
{
    for (int i = 0; i < stores(); i++) {
        bj_upsert_free(w->upsert[i]);
        bj_store_close(w->store[i]);
    }
    fixture_close(&w->f);
}

/* The rows after the windows, several of them in a transaction. */
static char *rows_after(struct stores *s, int store, enum source source,
                        const struct job *jobs, const struct span *w,
                        unsigned n)
{
    struct bj_err err = {0};
    struct bj_upsert *u = s->upsert[store];
    bool open = false;
    for (unsigned i = 0; i < n; i++) {
        if (!open && bj_upsert_begin(u, &err) < 0)
            fail_msg("%s", err.msg);
        import(u, source, jobs, &w[i]);
        open = rnd(3) == 0 && i + 1 < n;
        if (!open && bj_upsert_commit(u, &err) < 0)
            fail_msg("%s", err.msg);
    }
    return dump(s->store[store], false);
}

/* The sums of one query, worked out from the jobs, in microseconds: sacct cuts
 * each step's time. */
static void check_cpu(struct bj_store *s, const struct job *jobs)
{
    char sql[200];
    for (const struct job *j = jobs; j < jobs + JOBS; j++) {
        const uint64_t usec = total(j, &all, true) + total(j, &all, false);
        snprintf(sql, sizeof(sql),
                 "SELECT coalesce(max(cpu_usec), -1) FROM job_v WHERE"
                 " CAST(jobid AS TEXT) = '%u'",
                 j->id);
        const int64_t got = number(s, sql);
        if (usec == 0)
            assert_int_equal(got, -1);
        else if (got > (int64_t)usec ||
                 got < (int64_t)usec - (int64_t)j->steps * 1000000)
            fail_msg("job %u: %lld usec for %llu", j->id, (long long)got,
                     (unsigned long long)usec);
    }
}

static void round_of(unsigned n, enum source source)
{
    struct job jobs[JOBS];
    struct stores one, cuts;
    struct span w[2 * WINDOWS];
    char *want = NULL;
    seed = n * 7919;
    for (unsigned i = 0; i < JOBS; i++)
        make_job(i, &jobs[i]);
    open_stores(&one);
    for (int i = 0; i < stores(); i++) {
        char *rows = rows_after(&one, i, source, jobs, &all, 1);
        if (want)
            assert_same_text(want, rows);
        check_cpu(one.store[i], jobs);
        free(want);
        want = rows;
    }
    assert_true(strlen(want) > 1000);
    close_stores(&one);
    open_stores(&cuts);
    for (int i = 0; i < stores(); i++) {
        seed = n * 104729;
        const unsigned windows = cut(jobs, w);
        char *rows = rows_after(&cuts, i, source, jobs, w, windows);
        assert_same_text(want, rows);
        free(rows);
    }
    close_stores(&cuts);
    free(want);
}

static void test_windows(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= bj_rounds(30, 2); n++)
        for (int source = 0; source < SOURCES; source++)
            round_of(n, (enum source)source);
}

/* --- one job of real Slurm ------------------------------------------------ */

#define HEAD                                                                   \
    "JobIDRaw|Submit|Start|End|ElapsedRaw|State|AllocCPUS|TotalCPU|MaxRSS\n"

static void read_batch(struct bj_upsert *u, const char *text)
{
    struct bj_err err = {0};
    assert_int_equal(bj_upsert_begin(u, &err), 0);
    read_sacct(u, bj_slice_str(text));
    if (bj_upsert_commit(u, &err) < 0)
        fail_msg("%s", err.msg);
}

/* An answer in which the job waited, one with a few steps, and one without any
 * time do not replace what is known. */
static void test_partial(void **state)
{
    static const char whole[] =
        HEAD "7|1000|2000|2164|164|COMPLETED|1|01:20.200|\n"
             "7.batch|1000|2000|2164|164|COMPLETED|1|00:00.200|3900K\n"
             "7.0|1000|2000|2080|80|COMPLETED|1|00:40.000|150M\n"
             "7.1|1000|2080|2164|84|COMPLETED|1|00:40.000|100M\n";
    static const char first[] =
        HEAD "7|1000|2000|2164|164|COMPLETED|1|00:40.200|\n"
             "7.batch|1000|2000|2164|164|COMPLETED|1|00:00.200|3900K\n"
             "7.0|1000|2000|2080|80|COMPLETED|1|00:40.000|150M\n";
    static const char last[] =
        HEAD "7|1000|2000|2164|164|COMPLETED|1|00:40.200|\n"
             "7.batch|1000|2000|2164|164|COMPLETED|1|00:00.200|3900K\n"
             "7.1|1000|2080|2164|84|COMPLETED|1|00:40.000|100M\n";
    static const char waited[] =
        HEAD "7|1000|2000|2164|164|COMPLETED|1|00:00:00|\n";
    static const char sql[] =
        "SELECT cpu_usec, memory_task_peak_bytes FROM job_v";
    static const char known[] = "80200000|157286400\n";
    struct stores s;
    (void)state;
    open_stores(&s);
    for (int i = 0; i < stores(); i++) {
        read_batch(s.upsert[i], waited);
        expect(s.store[i], sql, "|\n");
        expect(s.store[i],
               "SELECT sum(cpu_unknown_sec), sum(cpu_used_msec) FROM"
               " rollup_day",
               "164|0\n");
        read_batch(s.upsert[i], last);
        expect(s.store[i], sql, "40200000|104857600\n");
        read_batch(s.upsert[i], first);
        expect(s.store[i], sql, known);
        read_batch(s.upsert[i], whole);
        expect(s.store[i], sql, known);
        read_batch(s.upsert[i], last);
        expect(s.store[i], sql, known);
        read_batch(s.upsert[i], waited);
        expect(s.store[i], sql, known);
        expect(s.store[i],
               "SELECT sum(cpu_unknown_sec), sum(cpu_used_msec) FROM"
               " rollup_day",
               "0|80200\n");
    }
    close_stores(&s);
}

/* A store that an earlier program filled with the sums of some steps is right
 * after the next answer with any of them. */
static void test_repair(void **state)
{
    static const char text[] =
        HEAD "7|1000|2000|2164|164|COMPLETED|1|00:40.000|\n"
             "7.0|1000|2000|2080|80|COMPLETED|1|00:40.000|150M\n";
    struct stores s;
    (void)state;
    open_stores(&s);
    for (int i = 0; i < stores(); i++) {
        read_batch(s.upsert[i], text);
        assert_int_equal(bj_store_begin(s.store[i], NULL), 0);
        db_exec(bj_store_db(s.store[i]),
                "UPDATE job SET cpu_usec = 0, memory_task_peak_bytes = 1");
        db_exec(bj_store_db(s.store[i]),
                "UPDATE rollup_usage SET cpu_used_msec "
                "= 0");
        assert_int_equal(bj_store_commit(s.store[i], NULL), 0);
        read_batch(s.upsert[i],
                   HEAD "7|1000|2000|2164|164|COMPLETED|1|00:00:00|\n");
        expect(s.store[i], "SELECT cpu_usec, memory_task_peak_bytes FROM job_v",
               "40000000|157286400\n");
        expect(s.store[i], "SELECT sum(cpu_used_msec) FROM rollup_day",
               "40000\n");
    }
    close_stores(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_windows),
                                       cmocka_unit_test(test_partial),
                                       cmocka_unit_test(test_repair)};
    return cmocka_run_group_tests_name("statsdb_windows", tests, start, stop);
}

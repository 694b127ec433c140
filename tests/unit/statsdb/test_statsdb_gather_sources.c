/* Imports that gather jobs give the same rows, sums and counts as imports that
 * store jobs one by one, in PostgreSQL and in SQLite: growing accounting files
 * of PBS and LSF, with records of a job in any order, and batchjob_stats_db
 * import. */
#include "statsdb/import/import.h"
#include "statsdb/source/source_follow.h"
#include "tests/unit/lib/rounds.h"
#include "tests/unit/statsdb/test_statsdb_stores.h"

#include <sys/stat.h>
#include <time.h>

/* --- files of PBS and LSF ------------------------------------------------- */

enum { EPOCH = 1795000000 };

struct files {
    struct stores w;
    struct bj_source_follow *follow[STORES];
    uint64_t jobs[STORES];
    unsigned bad[STORES];
    char dir[80], file[96];
};

static void files_open(struct files *f, enum bj_follow_kind kind)
{
    struct bj_err err = {0};
    *f = (struct files){.dir = ""};
    setenv("TZ", "UTC", 1);
    tzset();
    open_all(&f->w);
    snprintf(f->dir, sizeof(f->dir), "%s/acct", f->w.f.dir);
    snprintf(f->file, sizeof(f->file), "%s/%s", f->dir,
             kind == BJ_FOLLOW_PBS ? "20261120" : "lsb.acct");
    assert_int_equal(mkdir(f->dir, 0700), 0);
    for (int i = 0; i < STORES; i++)
        if (bj_source_follow_new(kind, "c",
                                 kind == BJ_FOLLOW_PBS ? f->dir : f->file,
                                 f->w.store[i], &f->follow[i], &err) < 0)
            fail_msg("%s", err.msg);
}

static void files_close(struct files *f)
{
    for (int i = 0; i < STORES; i++)
        bj_source_follow_free(f->follow[i]);
    unlink(f->file);
    assert_int_equal(rmdir(f->dir), 0);
    close_all(&f->w);
}

static void on_bad_line(void *ctx, const struct bj_sacct_bad *bad)
{
    (void)bad;
    ++*(unsigned *)ctx;
}

/* Import new lines into all stores; a dry run only counts them. */
static void take(struct files *f, bool dry)
{
    struct bj_err err = {0};
    struct bj_sacct_counts n;
    for (int i = 0; i < STORES; i++) {
        struct bj_source_run run = {.upsert = f->w.upsert[i],
                                    .batch_lines = bj_rounds(700, 300),
                                    .ctx = &f->bad[i],
                                    .bad = on_bad_line};
        if (bj_source_follow_run(f->follow[i], &run, dry, &n, &err) < 0)
            fail_msg("%s", err.msg);
        f->jobs[i] += n.jobs;
    }
    for (int i = 1; i < STORES; i++) {
        assert_int_equal(f->jobs[i], f->jobs[0]);
        assert_int_equal(f->bad[i], f->bad[0]);
    }
    same_counts(&f->w, SQLITE);
}

static void forget(struct files *f)
{
    for (int i = 0; i < STORES; i++)
        db_exec(bj_store_db(f->w.store[i]), "DELETE FROM covered");
    /* Otherwise a file that has not changed is not read. */
    FILE *to = fopen(f->file, "a");
    assert_non_null(to);
    fputs("\n", to);
    assert_int_equal(fclose(to), 0);
}

static void same_files(struct files *f)
{
    same_stores(&f->w, SQLITE);
    same_stores(&f->w, ONE_BY_ONE); /* with derive_todo */
    expect(f->w.store[GATHERED], "SELECT count(*) FROM covered", "1\n");
}

/* Write the id of a job, in one of several forms. */
static void put_id(FILE *to, unsigned job)
{
    if (job % 7 == 3)
        fprintf(to, "%u[%u].s;", 100 + job % 3, job);
    else if (job % 7 == 4)
        fprintf(to, "%u[].s;", 100 + job % 3);
    else
        fprintf(to, job % 5 ? "%u.s;" : "%u;", job);
}

static void put_start(FILE *to, unsigned job)
{
    fprintf(to, " start=%u", EPOCH + job * 10 + (unsigned)rnd(3) * 100);
}

static void put_end(FILE *to, unsigned job)
{
    put_start(to, job);
    fprintf(to, " end=%u resources_used.cput=00:00:%02u",
            EPOCH + job * 10 + 50 + (unsigned)rnd(3) * 100, (unsigned)rnd(60));
    if (rnd(3))
        fprintf(to, " run_count=%u", 1 + (unsigned)rnd(4));
}

static void put_record(FILE *to, unsigned jobs)
{
    static const char *const types = "QSSEERDA";
    const unsigned job = 1 + (unsigned)rnd(jobs);
    const char type = types[rnd(8)];
    fprintf(to, "11/20/2026 12:%02u:00;%c;", (unsigned)rnd(3), type);
    put_id(to, job);
    if (type == 'D' || type == 'A') {
        fprintf(to, "requestor=anna@login1\n");
        return;
    }
    fprintf(to, "user=u%u queue=q%u ctime=%u", (unsigned)rnd(3),
            (unsigned)rnd(2), EPOCH + job);
    if (rnd(3) == 0)
        fprintf(to, " project=p%u", (unsigned)rnd(3));
    if (type == 'S')
        put_start(to, job);
    if (type == 'E' || type == 'R')
        put_end(to, job);
    if (type == 'E' && rnd(4))
        fprintf(to, " Exit_status=%d", (int)rnd(3));
    if (type == 'R')
        fprintf(to, " Exit_status=-11");
    fputs("\n", to);
}

static void put_finish(FILE *to, unsigned jobs)
{
    const unsigned job = 1 + (unsigned)rnd(jobs), submit = (unsigned)rnd(2);
    fprintf(to,
            "\"JOB_FINISH\" \"10.1\" %u %u 1001 33816579 %u %u 0 0 %u \"u%u\" "
            "\"normal\" \"span[hosts=1]\" \"\" \"\" \"login1\" \"proj/w\" \"\" "
            "\"out\" \"\" \"1795170000.123\" 0 1 \"host%u\" 64 60.0 \"run\" "
            "\"sleep 10\" 143.25 0.75 0 0 -1 0 0 7 0 0 0 0 -1 0 0 0 1 2 -1 "
            "\"\" \"default\" 0 4 \"\" \"\" 0 1048576 2097152\n",
            EPOCH + job * 5 + 700 + (unsigned)rnd(2), job, 4 + (unsigned)rnd(2),
            EPOCH + job * 3 + submit, EPOCH + job * 4 + 100, (unsigned)rnd(3),
            (unsigned)rnd(4));
}

static void write_lines(const struct files *f, unsigned lines, unsigned jobs,
                        void (*put_line)(FILE *, unsigned))
{
    FILE *to = fopen(f->file, "a");
    assert_non_null(to);
    for (unsigned i = 0; i < lines; i++) {
        if (rnd(200) == 0)
            fputs("rubbish\n", to);
        put_line(to, jobs);
    }
    assert_int_equal(fclose(to), 0);
}

/* The file grows several times, then all of it is read again. */
static void compare(uint64_t n, enum bj_follow_kind kind, unsigned jobs,
                    unsigned lines)
{
    static void (*const put[BJ_FOLLOWS])(FILE *, unsigned) = {
        [BJ_FOLLOW_PBS] = put_record, [BJ_FOLLOW_LSF] = put_finish};
    struct files f;
    seed = n;
    files_open(&f, kind);
    for (unsigned i = 0; i < 6; i++) {
        write_lines(&f, 1 + (unsigned)rnd(lines), jobs, put[kind]);
        if (i == 2)
            take(&f, true);
        take(&f, false);
    }
    same_files(&f);
    forget(&f);
    take(&f, false);
    same_files(&f);
    files_close(&f);
}

static void test_pbs(void **state)
{
    (void)state;
    NEED_SERVER;
    for (unsigned n = 1; n <= bj_rounds(20, 1); n++) {
        compare(n, BJ_FOLLOW_PBS, 40, 150);
        compare(n, BJ_FOLLOW_PBS, 500, bj_rounds(900, 400));
    }
}

static void test_lsf(void **state)
{
    (void)state;
    if (!server_available)
        skip();
    for (unsigned n = 1; n <= bj_rounds(20, 1); n++)
        compare(n, BJ_FOLLOW_LSF, 900, bj_rounds(1500, 600));
}

/* A record that the store refuses rolls back its transaction; after the
 * constraint is dropped, all records are imported. */
static void test_error(void **state)
{
    struct files f;
    struct bj_sacct_counts n;
    struct bj_err err = {0};
    (void)state;
    if (!server_available)
        skip();
    files_open(&f, BJ_FOLLOW_LSF);
    seed = 1;
    write_lines(&f, 20, 900, put_finish);
    struct bj_store *s = f.w.store[GATHERED];
    struct bj_source_run run = {.upsert = f.w.upsert[GATHERED]};
    db_exec(bj_store_db(s), "ALTER TABLE job ADD CONSTRAINT bad CHECK"
                            " (submit % 7 <> 0)");
    assert_int_equal(
        bj_source_follow_run(f.follow[GATHERED], &run, false, &n, &err),
        -EEXIST);
    assert_non_null(strstr(err.msg, "lsb.acct: jobs "));
    expect(s, "SELECT count(*) FROM job", "0\n");
    expect(s, "SELECT count(*) FROM covered", "0\n");
    assert_int_equal(
        bj_source_follow_run(f.follow[GATHERED], &run, true, &n, &err),
        -EEXIST);
    db_exec(bj_store_db(s), "ALTER TABLE job DROP CONSTRAINT bad");
    for (int i = 0; i < STORES; i++) {
        run.upsert = f.w.upsert[i];
        if (bj_source_follow_run(f.follow[i], &run, false, &n, &err) < 0)
            fail_msg("%s", err.msg);
        assert_int_equal(n.jobs, 20);
    }
    same_files(&f);
    files_close(&f);
}

/* --- import --------------------------------------------------------------- */

static void put_original(struct bj_db *db)
{
    char sql[600];
    const unsigned job = 1 + (unsigned)rnd(900), at = (unsigned)rnd(4);
    char id[24], start[24];
    snprintf(id, sizeof(id), rnd(5) ? "%u" : "%u_7", job);
    snprintf(start, sizeof(start), "2023-07-01T10:%02u:%02u",
             (unsigned)(rnd(3) ? job % 60 : rnd(60)), (unsigned)rnd(2));
    snprintf(sql, sizeof(sql),
             "INSERT INTO jobs VALUES(NULL, '%s', 'long', 'a%u', 'users',"
             " '100', 'u%u', '1000', '0:0', '%s', '2', 'n[1-2]', '01:00:00',"
             " '2023-07-01T09:0%u:%02u', '%s', '2023-07-0%uT12:00:%02u')",
             rnd(50) ? id : "no id", (unsigned)rnd(3), (unsigned)rnd(5),
             rnd(2) ? "COMPLETED" : "FAILED", at, job % 60,
             rnd(4) ? start : "Unknown", 2 + (unsigned)rnd(3), job % 60);
    db_exec(db, sql);
}

static void make_original(const char *path, unsigned rows)
{
    struct bj_db *db = db_open(path);
    db_exec(db, "CREATE TABLE jobs(id INTEGER PRIMARY KEY, Jobid TEXT,"
                " Partition TEXT, Account TEXT, Grp TEXT, Gid TEXT, Usr TEXT,"
                " Uid TEXT, Exitcode TEXT, State TEXT, Nnodes TEXT,"
                " Nodelist TEXT, Elapsed TEXT, Submit TEXT, \"Start\" TEXT,"
                " \"End\" TEXT)");
    db_exec(db, "BEGIN");
    for (unsigned i = 0; i < rows; i++)
        put_original(db);
    db_exec(db, "COMMIT");
    bj_db_close(db);
}

static void free_upserts(struct stores *w)
{
    for (int i = 0; i < STORES; i++) {
        bj_upsert_free(w->upsert[i]);
        w->upsert[i] = NULL;
    }
}

/* Imports create their own upsert, so none of them stores jobs one by one. The
 * second import finds all jobs known. */
static void test_original(void **state)
{
    struct stores w;
    char path[128];
    struct bj_err err = {0};
    (void)state;
    if (!server_available)
        skip();
    seed = 7;
    open_all(&w);
    free_upserts(&w);
    snprintf(path, sizeof(path), "%s/original.db", w.f.dir);
    make_original(path, 4000);
    for (int round = 0; round < 2; round++) {
        struct bj_import_counts n[STORES];
        for (int i = 0; i < STORES; i++) {
            struct bj_import im = {.store = w.store[i]};
            if (bj_import_original(&im, path, "c", &n[i], &err) < 0)
                fail_msg("%s", err.msg);
            assert_memory_equal(&n[i], &n[SQLITE], sizeof(n[i]));
        }
        assert_int_equal(n[SQLITE].rows, 4000);
        assert_true(round ? n[SQLITE].taken == 0 : n[SQLITE].taken > 1000);
        assert_true(n[SQLITE].known > 1000 && n[SQLITE].bad > 10);
        same_stores(&w, SQLITE);
    }
    for (int i = 0; i < 3; i++) {
        static const char *const tails[] = {"", "-wal", "-shm"};
        snprintf(path, sizeof(path), "%s/original.db%s", w.f.dir, tails[i]);
        unlink(path);
    }
    close_all(&w);
}

static const char *const comments[] = {
    /* {"nodes":{"g1":{"total_memory":1000,"used_memory":500,"total_time":10,
     * "cpus":4,"gpu_total_memory":{"0":10},"gpu_used_memory":{"0":5}}},"tota
     * l_time":100,"gpus":1} */
    "JS1:H4sIAAAAAAACA6tWystPSS1WsqpWSjcEkSX5JYk58bmpuflFlUpWhgYGBjpK"
    "pcWpKXAhU5AIRFVJZm4qSI2OUnJBKdAMEx2l9ILSeFQjqpUMQGpqIXIoRoGlTGtr"
    "a9ENNAArBppoWAsA2t88mqEAAAA=",
    /* {"nodes":{"a":{"total_memory":1000,"used_memory":500,"total_time":10,"
     * cpus":4},"b":{"cpus":4}},"total_time":100,"gpus":0} */
    "JS1:H4sIAAAAAAACA6tWystPSS1WsqpWSgQRJfkliTnxuam5+UWVSlaGBgYGOkql"
    "xakpcCFTkAhEVUlmbipIjY5SckEp0AiTWh2lJJAhMG4tukqg0nSwnEEtABs8dfd5"
    "AAAA",
    "JS1:H4sIdamaged", "JS1:Short", "by hand"};

/* Store jobs with comments. The numbers of jobs, and so the order of rows,
 * differ between the stores. */
static void put_comments(struct bj_upsert *u)
{
    struct bj_err err = {0};
    assert_int_equal(bj_upsert_begin(u, &err), 0);
    for (unsigned i = 1; i <= 1700; i++) {
        char id[16];
        struct bj_sched_job job;
        snprintf(id, sizeof(id), "%u", i);
        bj_sched_job_init(&job);
        job.jobid = bj_slice_str(id);
        job.submit_sec = EPOCH + i;
        job.start_sec = EPOCH + i * 2;
        job.end_sec = i % 9 ? EPOCH + i * 4 : BJ_ABSENT;
        job.admin_comment = bj_slice_str(comments[i % 5]);
        if (bj_upsert_job(u, BJ_SLICE("c"), &job, &err) < 0)
            fail_msg("%s", err.msg);
    }
    if (bj_upsert_commit(u, &err) < 0)
        fail_msg("%s", err.msg);
}

static void test_jobstats(void **state)
{
    struct stores w;
    char *text[STORES];
    struct bj_err err = {0};
    (void)state;
    if (!server_available)
        skip();
    open_all(&w);
    for (int i = 0; i < STORES; i++) {
        struct bj_db *db = bj_store_db(w.store[i]);
        struct bj_import im = {.store = w.store[i]};
        struct bj_import_counts n;
        struct bj_buf out = {0};
        put_comments(w.upsert[i]);
        /* Values of three jobs exist: one query failed, two did not. */
        db_exec(db, "INSERT INTO job_prom(job, queried_sec, outcome, cpu_usec)"
                    " SELECT id, 5, submit % 2, 42 FROM job WHERE submit IN"
                    " (1795000005, 1795000006, 1795000010)");
        db_exec(db, "DELETE FROM derive_todo");
        if (bj_import_jobstats(&im, &n, &err) < 0)
            fail_msg("%s", err.msg);
        /* Each of the five comments occurs 340 times. */
        assert_int_equal(n.rows, 4 * 340);
        assert_int_equal(n.known, 2);
        assert_int_equal(n.taken, 2 * 340 - 2);
        assert_int_equal(n.bad, 340);
        dump_rows(w.store[i],
                  "SELECT 0, j.jobid, p.queried_sec, p.outcome, p.nodes_seen,"
                  " p.cpu_usec, p.memory_held_peak_bytes, p.nodes_unused,"
                  " p.gpus_seen, p.gpu_busy_ppm, p.gpu_memory_peak_bytes,"
                  " p.start, p.\"end\" FROM job_prom AS p JOIN job AS j ON"
                  " j.id = p.job ORDER BY j.submit",
                  &out);
        dump_rows(w.store[i],
                  "SELECT 0, j.jobid FROM derive_todo AS t JOIN job AS j ON"
                  " j.id = t.job ORDER BY j.submit",
                  &out);
        bj_buf_put(&out, "", 1);
        text[i] = out.p;
    }
    assert_same_text(text[SQLITE], text[ONE_BY_ONE]);
    assert_same_text(text[SQLITE], text[GATHERED]);
    assert_true(strlen(text[SQLITE]) > 10000);
    for (int i = 0; i < STORES; i++)
        free(text[i]);
    close_all(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pbs), cmocka_unit_test(test_lsf),
        cmocka_unit_test(test_error), cmocka_unit_test(test_original),
        cmocka_unit_test(test_jobstats)};
    return cmocka_run_group_tests_name("statsdb_gather_sources", tests, start,
                                       stop);
}

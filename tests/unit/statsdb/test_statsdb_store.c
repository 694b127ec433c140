/* The store's file: application id, version, locks, full disk, killed writer.
 */
#include "tests/unit/statsdb/test_statsdb.h"

#include "tests/unit/lib/await.h"
#include "tests/unit/lib/rounds.h"

#include "statsdb/tables/export.h"
#include "statsdb/tables/schema.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static int try_open(const struct bj_store_options *opt, struct bj_err *err)
{
    struct bj_store *s;
    int r = bj_store_open(opt, &s, err);
    if (r == 0)
        bj_store_close(s);
    return r;
}

static void exec_file(const struct fixture *f, const char *sql)
{
    struct bj_db *db = db_open(f->path);
    db_exec(db, sql);
    bj_db_close(db);
}

static unsigned descriptors(void)
{
    unsigned n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* A store without a path uses no file until it exceeds its cache, and then a
 * file without a name. */
static void test_without_path(void **state)
{
    (void)state;
    struct fixture f;
    struct bj_err err = {0};
    struct bj_store *s;
    fixture_open(&f);
    char *was = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;
    assert_int_equal(setenv("TMPDIR", f.dir, 1), 0);
    unsigned before = descriptors();
    struct bj_store_options opt = {.cache_bytes = 1 << 20};
    if (bj_store_open(&opt, &s, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(descriptors(), before);
    assert_int_equal(bj_store_begin(s, NULL), 0);
    db_exec(bj_store_db(s),
            "CREATE TABLE t (b); WITH RECURSIVE n(i) AS (SELECT 1"
            " UNION ALL SELECT i + 1 FROM n WHERE i < 64)"
            " INSERT INTO t SELECT zeroblob(65536) FROM n");
    assert_true(descriptors() > before);
    expect(s, "SELECT count(*), sum(length(b)) FROM t", "64|4194304\n");
    assert_int_equal(rmdir(f.dir), 0); /* the directory is empty */
    assert_int_equal(mkdir(f.dir, 0700), 0);
    bj_store_rollback(s);
    expect(s, "SELECT count(*) FROM sqlite_schema WHERE name = 't'", "0\n");
    assert_int_equal(bj_db_log_bytes(bj_store_db(s)), 0);
    assert_int_equal(bj_db_bytes(bj_store_db(s)), 0);
    bj_store_close(s);
    assert_int_equal(descriptors(), before);
    assert_int_equal(was ? setenv("TMPDIR", was, 1) : unsetenv("TMPDIR"), 0);
    free(was);
    fixture_close(&f);
}

static void test_versions(void **state)
{
    (void)state;
    struct fixture f;
    struct bj_err err = {0};
    fixture_open(&f);
    struct bj_store_options rw = {.path = f.path};
    struct bj_store_options ro = {.path = f.path, .read_only = true};
    assert_int_equal(try_open(&ro, &err), -ENOENT);
    struct bj_store *s = store_open(&f);
    expect(s, "PRAGMA journal_mode", "wal\n");
    expect(s, "PRAGMA application_id", "1112175476\n"); /* "BJst" */
    expect(s, "PRAGMA foreign_keys", "1\n");
    assert_int_equal(number(s, "PRAGMA user_version"), bj_schema_version());
    bj_store_close(s);
    assert_int_equal(try_open(&ro, &err), 0);
    exec_file(&f, "PRAGMA user_version = 1000");
    assert_int_equal(try_open(&rw, &err), -ENOTSUP);
    assert_int_equal(try_open(&ro, &err), -ENOTSUP);
    exec_file(&f, "PRAGMA user_version = 0");
    assert_int_equal(try_open(&ro, &err), -EAGAIN);
    /* the tables exist already: a migration that fails changes nothing */
    assert_true(try_open(&rw, &err) < 0);
    exec_file(&f, "PRAGMA application_id = 1");
    assert_int_equal(try_open(&rw, &err), -EBADMSG);
    fixture_close(&f);
}

/* Version 1 had one peak of memory, that of charged memory. */
static void test_migration(void **state)
{
    struct fixture f;
    struct bj_err err = {0};
    struct bj_db *db;
    (void)state;
    fixture_open(&f);
    db = db_open(f.path);
    assert_int_equal(bj_schema_make(db, 1, &err), 0);
    assert_int_equal(
        bj_db_exec(db,
                   "CREATE VIEW job_use_v AS SELECT memory_peak_bytes"
                   " FROM job_use; INSERT INTO cluster(id, name, system)"
                   " VALUES(1, 'alpha', 'slurm'); INSERT INTO host(id, name)"
                   " VALUES(1, 'n1'); INSERT INTO node_record(cluster, jobid,"
                   " host, slurm_node, start, \"end\", memory_peak_bytes)"
                   " VALUES(1, 7, 1, '', 0, 9, 77)",
                   &err),
        0);
    bj_db_close(db);
    struct bj_store *s = store_open(&f);
    assert_int_equal(number(s, "PRAGMA user_version"), bj_schema_version());
    expect(s,
           "SELECT memory_charged_peak_bytes, memory_held_peak_bytes,"
           " memory_held_peak_charged FROM node_record",
           "77||\n");
    expect(s, "SELECT count(memory_held_peak_bytes_source) FROM job_use_v",
           "0\n");
    bj_store_close(s);
    fixture_close(&f);
}

/* The bytes of a file, terminated. */
static struct bj_buf contents(const char *path)
{
    struct bj_buf b = {0};
    char piece[4096];
    size_t n;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    while ((n = fread(piece, 1, sizeof(piece), file)) > 0)
        bj_buf_put(&b, piece, n);
    fclose(file);
    assert_false(b.failed);
    return b;
}

static bool same_bytes(const struct bj_buf *a, const struct bj_buf *b)
{
    return a->len == b->len && memcmp(a->p, b->p, a->len) == 0;
}

static void make_version(const struct fixture *f, int version, const char *sql)
{
    struct bj_err err = {0};
    struct bj_db *db = db_open(f->path);
    if (bj_schema_make(db, version, &err) < 0)
        fail_msg("%s", err.msg);
    db_exec(db, "INSERT INTO cluster VALUES(1, 'c', '');"
                "INSERT INTO job(cluster, jobid, submit, state) VALUES(1, 5, 1,"
                " 6)");
    db_exec(db, sql);
    bj_db_close(db);
}

/* A store of each version is upgraded, after a backup of it was made, which has
 * the mode of the store. */
static void test_upgrades(void **state)
{
    (void)state;
    for (int version = 1; version < bj_schema_version(); version++) {
        struct fixture f;
        char name[128];
        struct stat st;
        fixture_open(&f);
        make_version(&f, version, "SELECT 1");
        assert_int_equal(chmod(f.path, 0600), 0);
        struct bj_store *s = store_open(&f);
        assert_int_equal(number(s, "PRAGMA user_version"), bj_schema_version());
        expect(s, "SELECT jobid, state FROM job_v", "5|cancelled\n");
        bj_store_close(s);
        snprintf(name, sizeof(name), "%s.version-%d", f.path, version);
        assert_int_equal(stat(name, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
        struct bj_db *db = db_open(name);
        int found = 0;
        assert_int_equal(bj_schema_read(db, &found, NULL), 0);
        assert_int_equal(found, version);
        assert_int_equal(bj_schema_fits(db, version, NULL), 0);
        int64_t id = 0;
        assert_int_equal(bj_db_int(db, "SELECT jobid FROM job", &id, NULL), 0);
        assert_int_equal(id, 5);
        bj_db_close(db);
        fixture_close(&f);
    }
}

/* A store whose tables are not those of its version is refused, and not
 * changed; tables and indexes of others do not matter. */
static void test_misfits(void **state)
{
    static const struct {
        int version;
        const char *sql, *error; /* NULL: it fits */
    } cases[] = {
        {6, "ALTER TABLE job_prom RENAME COLUMN outcome TO result",
         "version 6, which the store has: job_prom.outcome INT NOT NULL is"
         " missing"},
        {7, "ALTER TABLE job ADD COLUMN more INT", "job.more INT is too much"},
        {7, "DROP INDEX job_user", "job_user job(user,at) is missing"},
        {8, "ALTER TABLE step DROP COLUMN submit_line",
         "step.submit_line TEXT is missing"},
        {3, "DROP TABLE covered",
         "covered.cluster TEXT NOT NULL key 1 is"
         " missing"},
        {7,
         "CREATE TABLE theirs(a TEXT PRIMARY KEY); CREATE INDEX theirs_2 ON"
         " job(nodes)",
         NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        struct bj_err err = {0};
        fixture_open(&f);
        const struct bj_store_options rw = {.path = f.path};
        make_version(&f, cases[i].version, cases[i].sql);
        /* as after a restore of a backup: opening it for writing would change
           its header */
        exec_file(&f, "PRAGMA journal_mode = DELETE");
        struct bj_buf before = contents(f.path);
        int r = try_open(&rw, &err);
        struct bj_buf after = contents(f.path);
        if (r != (cases[i].error ? -EBADMSG : 0))
            fail_msg("case %zu: %d %s", i, r, err.msg);
        if (cases[i].error && !strstr(err.msg, cases[i].error))
            fail_msg("case %zu: %s", i, err.msg);
        assert_true(same_bytes(&before, &after) == (cases[i].error != NULL));
        char name[128];
        snprintf(name, sizeof(name), "%s.version-%d", f.path, cases[i].version);
        assert_int_equal(access(name, F_OK), cases[i].error ? -1 : 0);
        bj_buf_free(&before);
        bj_buf_free(&after);
        fixture_close(&f);
    }
}

/* Without a backup there is no upgrade. */
static void test_no_backup(void **state)
{
    (void)state;
    struct fixture f;
    struct bj_err err = {0};
    char name[128];
    fixture_open(&f);
    const struct bj_store_options rw = {.path = f.path};
    make_version(&f, 7, "SELECT 1");
    snprintf(name, sizeof(name), "%s.version-7", f.path);
    assert_int_equal(mkdir(name, 0700), 0);
    assert_true(try_open(&rw, &err) < 0);
    assert_non_null(strstr(err.msg, "no backup before the upgrade from version "
                                    "7, so the store was not changed"));
    assert_int_equal(rmdir(name), 0);
    struct bj_db *db = db_open(f.path);
    int found = 0;
    assert_int_equal(bj_schema_read(db, &found, NULL), 0);
    assert_int_equal(found, 7);
    bj_db_close(db);
    assert_int_equal(try_open(&rw, &err), 0);
    fixture_close(&f);
}

/* Errors of other files are not reported as errors of the store. */
static void test_errors_of_other_files(void **state)
{
    static const int codes[] = {-EIO, -ENOSPC, -EROFS, -EBADMSG};
    struct bj_err err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        bj_err_set(&err, codes[i], "spool");
        assert_int_equal(bj_store_other_error(&err, codes[i]), -EREMOTEIO);
        assert_int_equal(err.code, -EREMOTEIO);
        assert_int_equal(strncmp(err.msg, "spool: ", 7), 0);
        assert_true(strlen(err.msg) > 15);
    }
    assert_int_equal(bj_store_other_error(&err, -EACCES), -EACCES);
    assert_int_equal(bj_store_other_error(NULL, 0), 0);
}

/* A store of another version can be opened to be copied; with as_it_is, opening
 * neither creates nor migrates a store. */
static void test_any_version(void **state)
{
    (void)state;
    struct fixture f;
    struct bj_err err = {0};
    struct bj_store *s;
    fixture_open(&f);
    const struct bj_store_options copy = {
        .path = f.path, .read_only = true, .any_version = true};
    const struct bj_store_options try = {.path = f.path, .as_it_is = true};
    assert_int_equal(try_open(&try, &err), -ENOENT);
    assert_int_equal(access(f.path, F_OK), -1);
    bj_store_close(store_open(&f));
    assert_int_equal(try_open(&try, &err), 0);
    exec_file(&f, "PRAGMA user_version = 0");
    assert_int_equal(try_open(&try, &err), -EAGAIN);
    assert_int_equal(bj_store_open(&copy, &s, &err), 0);
    assert_int_equal(number(s, "PRAGMA user_version"), 0);
    bj_store_close(s);
    exec_file(&f, "PRAGMA application_id = 1");
    assert_int_equal(try_open(&copy, &err), -EBADMSG);
    fixture_close(&f);
}

/* The entry of a job in prom_todo is removed when the job's end changes. */
static void test_end_changes(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    bj_store_close(store_open(&f));
    exec_file(&f, "INSERT INTO cluster VALUES(1, 'c', '');"
                  "INSERT INTO job(cluster, jobid, submit, state, start,"
                  " \"end\") VALUES(1, 8, 1, 4, 30, 40);"
                  "INSERT INTO prom_todo VALUES(1, 40, 1);"
                  "UPDATE job SET \"end\" = 41");
    struct bj_store *s = store_open(&f);
    assert_int_equal(number(s, "SELECT count(*) FROM prom_todo"), 0);
    bj_store_close(s);
    fixture_close(&f);
}

static void check_file(const char *name, mode_t mode, uid_t owner)
{
    struct stat st;
    if (stat(name, &st) < 0)
        fail_msg("%s: error %d", name, errno);
    if ((st.st_mode & 0777) != mode || st.st_uid != owner)
        fail_msg("%s: mode %03o, owner %u", name, st.st_mode & 0777,
                 (unsigned)st.st_uid);
}

/* No other user reads jobs, whatever the umask; what root makes belongs to the
 * owner of the store's directory, who runs the daemon. */
static void test_private(void **state)
{
    (void)state;
    struct fixture f;
    struct bj_err err = {0};
    struct bj_export what = {.format = BJ_EXPORT_CSV, .until_sec = INT64_MAX};
    char name[128];
    fixture_open(&f);
    const uid_t owner = geteuid() == 0 ? 65534 : geteuid();
    assert_int_equal(chown(f.dir, owner, (gid_t)-1), 0);
    const mode_t mask = umask(0);
    struct bj_store *s = store_open_at(f.path);
    static const char *const tails[] = {"", "-wal", "-shm", ".lock"};
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        snprintf(name, sizeof(name), "%s%s", f.path, tails[i]);
        check_file(name, 0640, owner);
    }
    snprintf(name, sizeof(name), "%.80s.copy", f.path);
    assert_int_equal(bj_db_copy(bj_store_db(s), name, NULL, NULL, &err), 0);
    check_file(name, 0640, owner);
    unlink(name);
    FILE *to = fopen(name, "we"); /* as a shell */
    assert_non_null(to);
    check_file(name, 0666, geteuid());
    assert_int_equal(bj_export_jobs(s, &what, to, &err), 0);
    fclose(to);
    check_file(name, 0640, geteuid());
    bj_store_close(s);
    umask(mask);
    fixture_close(&f);
}

static void test_not_a_store(void **state)
{
    (void)state;
    struct fixture f;
    struct bj_err err = {0};
    fixture_open(&f);
    struct bj_store_options rw = {.path = f.path};
    FILE *file = fopen(f.path, "w");
    for (int i = 0; i < 1000; i++)
        fputs("this is not a database\n", file);
    fclose(file);
    assert_int_equal(try_open(&rw, &err), -EBADMSG);
    unlink(f.path);
    exec_file(&f, "CREATE TABLE mine(x)");
    assert_int_equal(try_open(&rw, &err), -EBADMSG);
    assert_non_null(strstr(err.msg, "not a store"));
    rw.path = "/nonexistent/dir/x";
    assert_int_equal(try_open(&rw, &err), -ENOENT);
    /* a symbolic link is not followed */
    char name[128];
    snprintf(name, sizeof(name), "%.60s/link", f.dir);
    assert_int_equal(symlink(f.path, name), 0);
    rw.path = name;
    assert_true(try_open(&rw, &err) < 0);
    unlink(name);
    snprintf(name, sizeof(name), "%.60s/link.lock", f.dir);
    unlink(name);
    fixture_close(&f);
}

static void put_one(struct bj_upsert *u, unsigned id, struct bj_err *err)
{
    char raw[24], dir[64];
    struct bj_sched_job j;
    bj_sched_job_init(&j);
    snprintf(raw, sizeof(raw), "%u", id);
    snprintf(dir, sizeof(dir), "/scratch/%u/work", id);
    j.jobid = bj_slice_str(raw);
    j.work_dir = bj_slice_str(dir);
    j.user = BJ_SLICE("u");
    j.submit_sec = 1700000000 + id;
    j.start_sec = j.submit_sec + 10;
    j.end_sec = j.start_sec + 100;
    j.elapsed_sec = 100;
    j.cpus = 1;
    j.state = BJ_STATE_COMPLETED;
    bj_upsert_job(u, BJ_SLICE("c"), &j, err);
}

static void test_locks(void **state)
{
    (void)state;
    struct fixture f;
    struct bj_err err = {0};
    fixture_open(&f);
    struct bj_store *s = store_open(&f), *reader;
    struct bj_store_options rw = {.path = f.path, .busy_usec = 50000};
    assert_int_equal(try_open(&rw, &err), -EBUSY);
    /* A reader sees the data committed when it starts, and does not block the
     * writer. */
    struct bj_upsert *u = upsert_open(s);
    struct bj_store_options ro = {.path = f.path, .read_only = true};
    assert_int_equal(bj_store_open(&ro, &reader, &err), 0);
    assert_int_equal(bj_upsert_begin(u, &err), 0);
    put_one(u, 1, &err);
    assert_int_equal(number(reader, "SELECT count(*) FROM job"), 0);
    assert_int_equal(bj_upsert_commit(u, &err), 0);
    assert_int_equal(number(reader, "SELECT count(*) FROM job"), 1);
    assert_int_equal(bj_db_exec(bj_store_db(reader), "DELETE FROM job", &err),
                     -EROFS);
    bj_store_close(reader);
    bj_upsert_free(u);
    bj_store_close(s);

    /* While another program has a transaction, the store waits and then reports
     * -EBUSY; later it can write again. */
    struct bj_db *other;
    assert_int_equal(bj_store_open(&rw, &s, &err), 0);
    u = upsert_open(s);
    other = db_open(f.path);
    assert_int_equal(bj_db_begin(other, BJ_BEGIN_WRITE, &err), 0);
    assert_int_equal(bj_upsert_begin(u, &err), -EBUSY);
    bj_upsert_rollback(u);
    bj_db_rollback(other);
    bj_db_close(other);
    assert_int_equal(bj_upsert_begin(u, &err), 0);
    put_one(u, 2, &err);
    assert_int_equal(bj_upsert_commit(u, &err), 0);
    assert_int_equal(number(s, "SELECT count(*) FROM job"), 2);
    bj_upsert_free(u);
    bj_store_close(s);
    fixture_close(&f);
}

/* Store batches until one fails; all committed jobs are in the store. */
static void fill_up(const struct bj_store_options *opt, bool unlimit)
{
    struct bj_store *s;
    struct bj_err err = {0};
    unsigned done = 0, id = 0;
    if (bj_store_open(opt, &s, &err) < 0)
        fail_msg("%s", err.msg);
    struct bj_upsert *u = upsert_open(s);
    for (;;) {
        err.code = 0;
        int r = bj_upsert_begin(u, &err);
        for (unsigned i = 0; r == 0 && err.code == 0 && i < 100; i++)
            put_one(u, id + i, &err);
        if (r == 0 && err.code == 0)
            r = bj_upsert_commit(u, &err);
        if (r < 0 || err.code < 0)
            break;
        id += 100;
        done = id;
        assert_true(done < 100000);
    }
    print_message("# %u jobs, then: %s\n", done, err.msg);
    assert_true(err.code == -ENOSPC || err.code == -EIO);
    bj_upsert_rollback(u);
    assert_int_equal(number(s, "SELECT count(*) FROM job"), done);
    assert_int_equal(number(s, "SELECT ifnull(sum(jobs_ended), 0)"
                               " FROM rollup_day"),
                     done);
    if (unlimit) { /* there is room again: it continues */
        struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
        err.code = 0;
        assert_int_equal(bj_upsert_begin(u, &err), 0);
        for (unsigned i = 0; i < 1000; i++)
            put_one(u, id + i, &err);
        assert_int_equal(bj_upsert_commit(u, &err), 0);
        assert_int_equal(number(s, "SELECT count(*) FROM job"), done + 1000);
    }
    assert_int_equal(bj_db_check(bj_store_db(s), &err), 0);
    bj_upsert_free(u);
    bj_store_close(s);
}

static void test_full(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    struct bj_store_options opt = {.path = f.path, .max_bytes = 1 << 20};
    fill_up(&opt, false);
    fixture_close(&f);

    /* Writes that the kernel refuses half-way, as on a full disk. */
    fixture_open(&f);
    struct rlimit few = {1200 << 10, RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
    opt = (struct bj_store_options){.path = f.path};
    fill_up(&opt, true);
    fixture_close(&f);
}

enum { BATCHES = 60, BATCH = 50 };

/* Write all batches in order, and a byte to the pipe before each. */
static void writer(const struct fixture *f, int progress_pipe)
{
    struct bj_err err = {0};
    struct bj_store *s = store_open(f);
    struct bj_upsert *u = upsert_open(s);
    for (unsigned k = 0; k < BATCHES && err.code == 0; k++) {
        assert_int_equal(write(progress_pipe, "", 1), 1);
        bj_upsert_begin(u, &err);
        for (unsigned id = k * BATCH; id < (k + 1) * BATCH; id++)
            put_one(u, id, &err);
        bj_upsert_commit(u, &err);
    }
    _exit(err.code != 0);
}

/* Kill a writer during that batch; with BATCHES let it finish. */
static void write_until(const struct fixture *f, unsigned batch)
{
    int progress_pipe[2], status;
    char c;
    assert_int_equal(pipe(progress_pipe), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        writer(f, progress_pipe[1]);
    close(progress_pipe[1]);
    for (unsigned k = 0; k <= batch && read(progress_pipe[0], &c, 1) == 1; k++)
        ;
    if (batch < BATCHES) {
        await_random((unsigned)rand() % 2000);
        kill(pid, SIGKILL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(batch < BATCHES ||
                (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    close(progress_pipe[0]);
}

static void test_killed(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    int64_t before = 0;
    for (unsigned batch = 0; batch <= BATCHES; batch += bj_rounds(1, 6)) {
        write_until(&f, batch);
        struct bj_store *s = store_open(&f);
        int64_t n = number(s, "SELECT count(*) FROM job");
        assert_true(n >= before && n % BATCH == 0);
        assert_int_equal(number(s, "SELECT ifnull(sum(jobs_ended), 0)"
                                   " FROM rollup_day"),
                         n);
        assert_int_equal(bj_db_check(bj_store_db(s), NULL), 0);
        before = n;
        bj_store_close(s);
    }
    assert_int_equal(before, BATCHES * BATCH);
    fixture_close(&f);
}

/* As C and PostgreSQL (test_functions of test_statsdb_postgres.c). */
static void test_rounding(void **state)
{
    struct fixture f;
    (void)state;
    fixture_open(&f);
    struct bj_store *s = store_open(&f);
    expect(s, "SELECT bj_printf('%.3g', 11.25)", "11.2\n");
    expect(s, "SELECT bj_printf('%.3g', 11.75)", "11.8\n");
    bj_store_close(s);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_path),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_migration),
        cmocka_unit_test(test_upgrades),
        cmocka_unit_test(test_misfits),
        cmocka_unit_test(test_no_backup),
        cmocka_unit_test(test_any_version),
        cmocka_unit_test(test_end_changes),
        cmocka_unit_test(test_private),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_not_a_store),
        cmocka_unit_test(test_errors_of_other_files),
        cmocka_unit_test(test_locks),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_killed),
    };
    return cmocka_run_group_tests_name("statsdb_store", tests, NULL, NULL);
}

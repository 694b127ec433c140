/* Files of prologs: formats, damage, ownership and permissions; and reading
 * what our prolog writes. */
#include "core/find/jobfile.h"

#include "base/file.h"
#include "core/model/record.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define S(lit)                                                                 \
    {                                                                          \
        "" lit, sizeof(lit) - 1                                                \
    }

enum { MAX_FIELDS = 12 };

struct want {
    int field;
    const char *value;
};

/* Fields that are not listed must be absent. */
static void check(const struct bj_jobfile *file, const struct want *want)
{
    for (int f = 0; f < BJ_ID_FIELDS; f++) {
        struct bj_slice s = {0};
        for (int i = 0; i < MAX_FIELDS && want[i].value; i++)
            if (want[i].field == f)
                s = bj_slice_str(want[i].value);
        assert_int_equal(file->f[f].n, s.n);
        assert_memory_equal(file->f[f].p ? file->f[f].p : "", s.p ? s.p : "",
                            s.n);
    }
}

static const struct {
    struct bj_slice text;
    uint64_t start;
    struct want want[MAX_FIELDS];
} good[] = {
    {S("jobid=7\nuid=1000\nuser=anna\naccount=physics\n"),
     BJ_ABSENT,
     {{BJ_ID_JOBID, "7"},
      {BJ_ID_UID, "1000"},
      {BJ_ID_USER, "anna"},
      {BJ_ID_ACCOUNT, "physics"}}},
    {S("sluid=sEKNKTV3WPV500\npartition=batch\nqos=high\nname=a b=c\n"
       "array_job_id=5\narray_task=3\nhet_job_id=8\nhet_offset=1\n"
       "gpus=0,2-3\nstart=1700000000\n"),
     1700000000,
     {{BJ_ID_SLUID, "sEKNKTV3WPV500"},
      {BJ_ID_PARTITION, "batch"},
      {BJ_ID_QOS, "high"},
      {BJ_ID_NAME, "a b=c"},
      {BJ_ID_ARRAY_JOB, "5"},
      {BJ_ID_ARRAY_TASK, "3"},
      {BJ_ID_HET_JOB, "8"},
      {BJ_ID_HET_OFFSET, "1"},
      {BJ_ID_GPUS, "0,2-3"}}},
    /* no last newline, comments, empty lines and values, unknown keys */
    {S("# left by a prolog\n\ncluster=c1\njobid=1\nuser=\nuid=0"),
     BJ_ABSENT,
     {{BJ_ID_JOBID, "1"}, {BJ_ID_UID, "0"}}},
    {S("name=a\\nb\\\\c\\d\\\n"), BJ_ABSENT, {{BJ_ID_NAME, "a\nb\\c\\d\\"}}},
    {S("name=\\\\n\n"), BJ_ABSENT, {{BJ_ID_NAME, "\\n"}}},
    {S("name= x \n"), BJ_ABSENT, {{BJ_ID_NAME, " x "}}},
    {S("account=a\naccount=b\n"), BJ_ABSENT, {{BJ_ID_ACCOUNT, "b"}}},
    {S("uid=4294967294\n"), BJ_ABSENT, {{BJ_ID_UID, "4294967294"}}},
    /* the older formats */
    {S("1000 testacc compute-[0-2]\n"),
     BJ_ABSENT,
     {{BJ_ID_UID, "1000"}, {BJ_ID_ACCOUNT, "testacc"}}},
    {S("1000 testacc compute-[0-2]"),
     BJ_ABSENT,
     {{BJ_ID_UID, "1000"}, {BJ_ID_ACCOUNT, "testacc"}}},
    {S("1000 testacc compute-[0-2] /home/user/slurm\n"), /* and more words */
     BJ_ABSENT,
     {{BJ_ID_UID, "1000"}, {BJ_ID_ACCOUNT, "testacc"}}},
    {S("anna testacc compute-[0-2]\n\n"),
     BJ_ABSENT,
     {{BJ_ID_USER, "anna"}, {BJ_ID_ACCOUNT, "testacc"}}},
    {S(" 0\ttestacc  n1 \n"),
     BJ_ABSENT,
     {{BJ_ID_UID, "0"}, {BJ_ID_ACCOUNT, "testacc"}}},
};

static void test_good(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        char *text = malloc(good[i].text.n); /* sanitizers check the bounds */
        memcpy(text, good[i].text.p, good[i].text.n);
        struct bj_jobfile file;
        struct bj_err err = {0};
        int r = bj_jobfile_parse(text, good[i].text.n, &file, &err);
        assert_string_equal(err.msg, "");
        assert_int_equal(r, 0);
        check(&file, good[i].want);
        assert_true(file.number.start_sec == good[i].start);
        assert_true(file.number.latest_sec == BJ_ABSENT &&
                    file.number.restarts == BJ_ABSENT);
        free(text);
    }
}

static const struct {
    struct bj_slice text;
    const char *message; /* part of it */
} bad[] = {
    {S(""), "key=value"},
    {S("\n\n"), "key=value"},
    {S("# nothing\n"), "key=value"},
    {S("4711 1000\n"), "uid account nodelist"}, /* what GPU prologs write */
    {S("1000\n"), "uid account nodelist"},
    {S("1000 acc nodes\n1001 acc nodes\n"), "uid account nodelist"},
    {S("1000x acc nodes\n"), "line 1"},
    {S("4294967296 acc nodes\n"), "line 1"},
    {S("4294967295 acc nodes\n"), "line 1"}, /* (uid_t)-1 is not a user */
    {S("jobid=1\nnonsense\n"), "line 2"},
    {S("jobid=1\n=x\n"), "line 2"},
    {S("uid=anna\n"), "line 1: uid: expected a number"},
    {S("uid=-1\n"), "line 1: uid: expected a number"},
    {S("uid=18446744073709551616\n"), "line 1: uid: expected a number"},
    {S("start=now\n"), "line 1: start: expected a number"},
    {S("latest_end=1h\n"), "line 1: latest_end: expected a number"},
    {S("restarts=-1\n"), "line 1: restarts: expected a number"},
    {S("\x7f"
       "ELF\0\0\0"),
     "key=value"},
    {S("{\"job\": 1}\n"), "uid account nodelist"},
};

static void test_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        char *text = malloc(bad[i].text.n + 1);
        memcpy(text, bad[i].text.p, bad[i].text.n);
        struct bj_jobfile file = {.number = {.start_sec = 42}};
        struct bj_err err = {0};
        assert_int_equal(bj_jobfile_parse(text, bad[i].text.n, &file, &err),
                         -EINVAL);
        assert_non_null(strstr(err.msg, bad[i].message));
        assert_true(file.number.start_sec == 42);
        free(text);
    }
}

/* A temporary directory for the following tests. */
static char dir[64];

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/bj-jobfile-XXXXXX");
    return mkdtemp(dir) && chmod(dir, 0755) == 0 ? 0 : -1;
}

static void path_of(const char *name, char path[256])
{
    snprintf(path, 256, "%s/%s", dir, name);
}

static void put(const char *name, const char *text, size_t n)
{
    char path[256];
    path_of(name, path);
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, n), n);
    assert_int_equal(fchmod(fd, 0644), 0);
    close(fd);
}

static void drop(const char *name)
{
    char path[256];
    path_of(name, path);
    assert_int_equal(unlink(path), 0);
}

static int teardown(void **state)
{
    (void)state;
    return rmdir(dir);
}

static char buf[BJ_JOBFILE_CAP];

static int read_one(const char *name, const char *jobid, const char *uid,
                    struct bj_jobfile *file, struct bj_err *err)
{
    struct bj_slice f[BJ_ID_FIELDS] = {
        [BJ_ID_JOBID] = bj_slice_str(jobid), [BJ_ID_UID] = bj_slice_str(uid)};
    *err = (struct bj_err){0};
    return bj_jobfile_read(dir, bj_slice_str(name), f, buf, file, err);
}

/* Files that our prolog wrote in Slurm 22.05, in a job array and in a
 * heterogeneous job. */
static void test_recorded(void **state)
{
    (void)state;
    static const struct {
        const char *file, *id;
        uint64_t start;
        struct want want[MAX_FIELDS];
    } recorded[] = {
        {"slurm-22.05-array",
         "17",
         1795180220,
         {{BJ_ID_JOBID, "17"},
          {BJ_ID_UID, "2001"},
          {BJ_ID_USER, "alice"},
          {BJ_ID_ACCOUNT, "physics"},
          {BJ_ID_PARTITION, "batch"}}},
        {"slurm-22.05-het",
         "15",
         1795180230,
         {{BJ_ID_JOBID, "15"},
          {BJ_ID_UID, "2001"},
          {BJ_ID_USER, "alice"},
          {BJ_ID_ACCOUNT, "physics"},
          {BJ_ID_PARTITION, "batch"},
          {BJ_ID_HET_JOB, "15"}}},
    };
    for (size_t i = 0; i < COUNT(recorded); i++) {
        char path[128];
        struct bj_slice text;
        struct bj_jobfile file;
        struct bj_err err;
        snprintf(path, sizeof(path), "tests/fixtures/jobfiles/%s",
                 recorded[i].file);
        assert_int_equal(
            bj_file_read(AT_FDCWD, path, buf, sizeof(buf), &text, NULL), 0);
        put(recorded[i].id, text.p, text.n);
        assert_int_equal(
            read_one(recorded[i].id, recorded[i].id, "2001", &file, &err), 0);
        check(&file, recorded[i].want);
        assert_true(file.number.start_sec == recorded[i].start);
        drop(recorded[i].id);
    }
}

static void test_wrong_job(void **state)
{
    (void)state;
    static const char text[] = "jobid=8\nuid=1000\nsluid=sABC\n";
    struct bj_jobfile file;
    struct bj_err err;
    put("7", text, sizeof(text) - 1);
    assert_int_equal(read_one("7", "7", NULL, &file, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "/7: belongs to job 8"));
    assert_int_equal(read_one("7", "8", "1001", &file, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "belongs to uid 1000"));
    assert_int_equal(read_one("7", "8", "1000", &file, &err), 0);
    assert_int_equal(read_one("7", NULL, NULL, &file, &err), 0);
    drop("7");
    struct bj_slice f[BJ_ID_FIELDS] = {[BJ_ID_SLUID] = bj_slice_str("sABD")};
    assert_int_equal(bj_jobfile_check(&file, f, &err), -EINVAL);
    /* the older formats name no job */
    put("9", "1000 acc n\n", 11);
    assert_int_equal(read_one("9", "9", "1000", &file, &err), 0);
    assert_int_equal(read_one("9", "9", "2000", &file, &err), -EINVAL);
    drop("9");
}

static void test_none(void **state)
{
    (void)state;
    struct bj_jobfile file;
    struct bj_err err;
    char text[512];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    const char *names[] = {"12",  "",        ".",           "..", ".hidden",
                           "a/b", "../x/12", "/etc/passwd", text};
    for (size_t i = 0; i < COUNT(names); i++)
        assert_int_equal(read_one(names[i], "12", NULL, &file, &err), -ENOENT);
    struct bj_slice f[BJ_ID_FIELDS] = {{0}};
    assert_int_equal(
        bj_jobfile_read(dir, (struct bj_slice)S("1\0002"), f, buf, &file, &err),
        -ENOENT);
    assert_int_equal(bj_jobfile_read("/nonexistent/dir",
                                     (struct bj_slice)S("1"), f, buf, &file,
                                     &err),
                     -ENOENT);
}

static void test_not_trusted(void **state)
{
    (void)state;
    struct bj_jobfile file;
    struct bj_err err;
    char path[256], other[256];
    path_of("5", path);
    path_of("other", other);
    put("other", "jobid=5\n", 8);
    assert_int_equal(symlink(other, path), 0);
    assert_int_equal(read_one("5", "5", NULL, &file, &err), -EPERM);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0644), 0); /* must not block */
    assert_int_equal(read_one("5", "5", NULL, &file, &err), -EPERM);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(read_one("5", "5", NULL, &file, &err), -EPERM);
    assert_int_equal(rmdir(path), 0);
    put("5", "jobid=5\n", 8);
    assert_int_equal(chmod(path, 0664), 0);
    assert_int_equal(read_one("5", "5", NULL, &file, &err), -EPERM);
    assert_int_equal(chmod(path, 0646), 0);
    assert_int_equal(read_one("5", "5", NULL, &file, &err), -EPERM);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(chmod(dir, 0777), 0);
    assert_int_equal(read_one("5", "5", NULL, &file, &err), -EPERM);
    assert_non_null(strstr(err.msg, "directory"));
    assert_int_equal(chmod(dir, 0755), 0);
    assert_int_equal(read_one("5", "5", NULL, &file, &err), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 12345, 12345), 0);
        assert_int_equal(read_one("5", "5", NULL, &file, &err), -EPERM);
        assert_non_null(strstr(err.msg, "owner"));
    }
    drop("5");
    drop("other");
}

static void test_large(void **state)
{
    (void)state;
    struct bj_jobfile file;
    struct bj_err err;
    char *text = malloc(BJ_JOBFILE_CAP + 1);
    memset(text, '#', BJ_JOBFILE_CAP + 1);
    memcpy(text, "jobid=5\n", 8);
    put("5", text, BJ_JOBFILE_CAP - 1);
    assert_int_equal(read_one("5", "5", NULL, &file, &err), 0);
    put("5", text, BJ_JOBFILE_CAP + 1);
    assert_int_equal(read_one("5", "5", NULL, &file, &err), -EFBIG);
    drop("5");
    free(text);
}

/* Run a script with only the environment ENV. */
static void run(const char *script, const char *const env[])
{
    const char *const argv[] = {"sh", script, dir, NULL};
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        execve("/bin/sh", (char *const *)argv, (char *const *)env);
        _exit(127);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void test_prolog(void **state)
{
    (void)state;
    const char *const env[] = {
        "SLURM_JOB_ID=99",
        "SLURM_JOB_SLUID=sEKNKTV3WPV500",
        "SLURM_JOB_UID=2001",
        "SLURM_JOB_USER=alice",
        "SLURM_JOB_ACCOUNT=physics",
        "SLURM_JOB_PARTITION=batch",
        "SLURM_JOB_NAME=-n a\\nb\nuid=0\n\\\\ \"x\" $(id) `id`",
        "SLURM_ARRAY_JOB_ID=98",
        "SLURM_ARRAY_TASK_ID=4",
        "SLURM_JOB_START_TIME=1700000000",
        NULL};
    static const struct want want[MAX_FIELDS] = {
        {BJ_ID_JOBID, "99"},
        {BJ_ID_SLUID, "sEKNKTV3WPV500"},
        {BJ_ID_UID, "2001"},
        {BJ_ID_USER, "alice"},
        {BJ_ID_ACCOUNT, "physics"},
        {BJ_ID_PARTITION, "batch"},
        {BJ_ID_NAME, "-n a\\nb\nuid=0\n\\\\ \"x\" $(id) `id`"},
        {BJ_ID_ARRAY_JOB, "98"},
        {BJ_ID_ARRAY_TASK, "4"},
    };
    struct bj_jobfile file;
    struct bj_err err;
    run("examples/slurm-prolog.sh", env);
    assert_int_equal(read_one("99", "99", "2001", &file, &err), 0);
    check(&file, want);
    assert_true(file.number.start_sec == 1700000000);
    assert_int_equal(read_one("sEKNKTV3WPV500", NULL, NULL, &file, &err), 0);
    check(&file, want);
    run("examples/slurm-epilog.sh", env);
    assert_int_equal(read_one("99", "99", NULL, &file, &err), -ENOENT);
    assert_int_equal(read_one("sEKNKTV3WPV500", "99", NULL, &file, &err),
                     -ENOENT);
    /* invalid ids create and remove no file: teardown checks it */
    put("1", "jobid=1\n", 8);
    const char *const odd[] = {"SLURM_JOB_ID=../1", "SLURM_JOB_SLUID=../1",
                               NULL};
    const char *const odd2[] = {"SLURM_JOB_ID=2", "SLURM_JOB_SLUID=s/../1",
                                NULL};
    run("examples/slurm-prolog.sh", odd);
    run("examples/slurm-epilog.sh", odd);
    run("examples/slurm-prolog.sh", odd2);
    run("examples/slurm-epilog.sh", odd2);
    drop("1");
}

/* Environments that slurmd 26.05.3 gave its prolog. */
static void test_prolog_recorded(void **state)
{
    static const struct {
        const char *file, *id;
        struct want want[MAX_FIELDS];
        uint64_t start, latest;
    } recorded[] = {
        {"slurm-26.05-gpu.environ",
         "12",
         {{BJ_ID_JOBID, "12"},
          {BJ_ID_SLUID, "sER9M8G5DTH100"},
          {BJ_ID_UID, "2001"},
          {BJ_ID_USER, "alice"},
          {BJ_ID_ACCOUNT, "physics"},
          {BJ_ID_PARTITION, "gpu"},
          {BJ_ID_QOS, "normal"},
          {BJ_ID_GPUS, "0"}},
         1795838896,
         1795839196},
        {"slurm-26.05.environ",
         "22",
         {{BJ_ID_JOBID, "22"},
          {BJ_ID_SLUID, "sER9M8G5E8KV00"},
          {BJ_ID_UID, "2001"},
          {BJ_ID_USER, "alice"},
          {BJ_ID_ACCOUNT, "physics"},
          {BJ_ID_PARTITION, "batch"},
          {BJ_ID_QOS, "normal"}},
         1795838911,
         1795839031},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(recorded); i++) {
        char path[256], all[8192];
        const char *env[64] = {NULL};
        struct bj_slice text;
        struct bj_jobfile file;
        struct bj_err err;
        snprintf(path, sizeof(path), "tests/fixtures/jobfiles/%s",
                 recorded[i].file);
        assert_int_equal(
            bj_file_read(AT_FDCWD, path, all, sizeof(all) - 1, &text, NULL), 0);
        all[text.n] = '\0';
        size_t n = 0;
        struct bj_slice line;
        while (n + 1 < COUNT(env) && bj_slice_line(&text, &line)) {
            env[n++] = line.p;
            *(char *)(line.p + line.n) = '\0';
        }
        run("examples/slurm-prolog.sh", env);
        assert_int_equal(
            read_one(recorded[i].id, recorded[i].id, "2001", &file, &err), 0);
        check(&file, recorded[i].want);
        assert_true(file.number.start_sec == recorded[i].start);
        assert_true(file.number.latest_sec == recorded[i].latest);
        assert_true(file.number.restarts == 0);
        run("examples/slurm-epilog.sh", env);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_wrong_job),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_not_trusted),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_prolog),
        cmocka_unit_test(test_prolog_recorded),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

/* Identities from environments: recorded with Slurm 22.05 and 26.05, Grid
 * Engine 8.1.9 and OAR 2.5.9, simulated for systems that could not be recorded,
 * hostile ones, and that of a real process. */
#include "core/find/environ.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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

static void check(const struct bj_environ *e, const struct want *want)
{
    for (int f = 0; f < BJ_ID_FIELDS; f++) {
        struct bj_slice s = {0};
        for (int i = 0; i < MAX_FIELDS && want[i].value; i++)
            if (want[i].field == f)
                s = bj_slice_str(want[i].value);
        assert_int_equal(e->f[f].n, s.n);
        assert_memory_equal(e->f[f].p ? e->f[f].p : "", s.p ? s.p : "", s.n);
    }
}

static const struct {
    const char *file, *system, *jobid;
    bool step;
    struct want want[MAX_FIELDS];
} recorded[] = {
    /* task 3 of array 10 has jobid 13 */
    {"slurm-22.05-array-batch",
     "slurm",
     "13",
     false,
     {{BJ_ID_JOBID, "13"},
      {BJ_ID_SYSTEM, "slurm"},
      {BJ_ID_ACCOUNT, "physics"},
      {BJ_ID_PARTITION, "batch"},
      {BJ_ID_QOS, "normal"},
      {BJ_ID_NAME, "arr"},
      {BJ_ID_ARRAY_JOB, "10"},
      {BJ_ID_ARRAY_TASK, "3"}}},
    {"slurm-22.05-batch",
     "slurm",
     "2",
     false,
     {{BJ_ID_JOBID, "2"},
      {BJ_ID_SYSTEM, "slurm"},
      {BJ_ID_ACCOUNT, "physics"},
      {BJ_ID_PARTITION, "batch"},
      {BJ_ID_QOS, "normal"},
      {BJ_ID_NAME, "steps"}}},
    {"slurm-22.05-het-batch",
     "slurm",
     "11",
     false,
     {{BJ_ID_JOBID, "11"},
      {BJ_ID_SYSTEM, "slurm"},
      {BJ_ID_ACCOUNT, "physics"},
      {BJ_ID_PARTITION, "batch"},
      {BJ_ID_QOS, "normal"},
      {BJ_ID_NAME, "hetty"},
      {BJ_ID_HET_JOB, "11"},
      {BJ_ID_HET_OFFSET, "0"}}},
    /* in the cgroup of job 12, with SLURM_JOB_ID=11, started by
     * "srun -J other" */
    {"slurm-22.05-het-step",
     "slurm",
     "12",
     true,
     {{BJ_ID_JOBID, "12"},
      {BJ_ID_SYSTEM, "slurm"},
      {BJ_ID_ACCOUNT, "physics"},
      {BJ_ID_PARTITION, "batch"},
      {BJ_ID_QOS, "normal"},
      {BJ_ID_NAME, "hetty"},
      {BJ_ID_HET_JOB, "11"},
      {BJ_ID_HET_OFFSET, "1"}}},
    {"slurm-22.05-v2-step",
     "slurm",
     "3",
     true,
     {{BJ_ID_JOBID, "3"},
      {BJ_ID_SYSTEM, "slurm"},
      {BJ_ID_ACCOUNT, "chemistry"},
      {BJ_ID_PARTITION, "batch"},
      {BJ_ID_QOS, "normal"},
      {BJ_ID_NAME, "mpi"}}},
    /* SLURM_STEP_ID=-5 is no step: the name is that of the job */
    {"slurm-26.05-batch",
     "slurm",
     "72",
     false,
     {{BJ_ID_JOBID, "72"},
      {BJ_ID_SYSTEM, "slurm"},
      {BJ_ID_ACCOUNT, "physics"},
      {BJ_ID_PARTITION, "short"},
      {BJ_ID_QOS, "normal"},
      {BJ_ID_NAME, "batch"},
      {BJ_ID_SLUID, "sER9M8G6Z2YP00"}}},
    {"slurm-26.05-array-batch",
     "slurm",
     "73",
     false,
     {{BJ_ID_JOBID, "73"},
      {BJ_ID_SYSTEM, "slurm"},
      {BJ_ID_ACCOUNT, "physics"},
      {BJ_ID_PARTITION, "short"},
      {BJ_ID_QOS, "normal"},
      {BJ_ID_NAME, "arr"},
      {BJ_ID_SLUID, "sER9M8G6Z2Z600"},
      {BJ_ID_ARRAY_JOB, "73"},
      {BJ_ID_ARRAY_TASK, "3"}}},
    {"gridengine-8.1.9-batch",
     "gridengine",
     "1",
     false,
     {{BJ_ID_JOBID, "1"},
      {BJ_ID_SYSTEM, "gridengine"},
      {BJ_ID_ACCOUNT, "sge"},
      {BJ_ID_PARTITION, "main.q"},
      {BJ_ID_NAME, "first"}}},
    {"oar-2.5.9",
     "oar",
     "5",
     false,
     {{BJ_ID_JOBID, "5"},
      {BJ_ID_SYSTEM, "oar"},
      {BJ_ID_ACCOUNT, "default"},
      {BJ_ID_NAME, "first"}}},
    /* with a layout that an operator configured, any batch system is
     * accepted */
    {"gridengine-8.1.9-batch",
     "mine",
     "1",
     false,
     {{BJ_ID_JOBID, "1"},
      {BJ_ID_SYSTEM, "gridengine"},
      {BJ_ID_ACCOUNT, "sge"},
      {BJ_ID_PARTITION, "main.q"},
      {BJ_ID_NAME, "first"}}},
};

static struct bj_slice load(const char *name, char *buf, size_t cap)
{
    char path[128];
    struct bj_slice text = {0};
    snprintf(path, sizeof(path), "tests/fixtures/environ/%s", name);
    assert_int_equal(bj_file_read(AT_FDCWD, path, buf, cap, &text, NULL), 0);
    return text;
}

static void test_recorded(void **state)
{
    (void)state;
    char buf[8192];
    for (size_t i = 0; i < COUNT(recorded); i++) {
        struct bj_environ e;
        struct bj_slice env = load(recorded[i].file, buf, sizeof(buf));
        assert_true(bj_environ_job(env, bj_slice_str(recorded[i].system),
                                   bj_slice_str(recorded[i].jobid), &e));
        check(&e, recorded[i].want);
        assert_int_equal(e.step, recorded[i].step);
        /* the cgroup of another job, and of another batch system */
        struct bj_environ untouched = e;
        assert_false(bj_environ_job(env, bj_slice_str(recorded[i].system),
                                    (struct bj_slice)S("4711"), &e));
        assert_false(bj_environ_job(env, (struct bj_slice)S("pbs"),
                                    bj_slice_str(recorded[i].jobid), &e));
        assert_memory_equal(&untouched, &e, sizeof(e));
    }
}

/* The environment of an extern step (slurmstepd and its "sleep 100000000")
 * names no job. */
static void test_extern(void **state)
{
    (void)state;
    char buf[8192];
    struct bj_environ e;
    struct bj_slice env = load("slurm-22.05-extern", buf, sizeof(buf));
    assert_false(bj_environ_job(env, (struct bj_slice)S("slurm"),
                                (struct bj_slice)S("10"), &e));
    assert_false(bj_environ_job(env, (struct bj_slice)S("slurm"),
                                (struct bj_slice)S(""), &e));
}

static const struct {
    struct bj_slice env;
    const char *system, *jobid;
    bool found;
    struct want want[MAX_FIELDS];
} simulated[] = {
    {S("PBS_JOBID=12.srv\0PBS_ACCOUNT=phys\0PBS_QUEUE=workq\0"
       "PBS_JOBNAME=run\0PBS_USER=x\0"),
     "pbs",
     "12.srv",
     true,
     {{BJ_ID_JOBID, "12.srv"},
      {BJ_ID_SYSTEM, "pbs"},
      {BJ_ID_ACCOUNT, "phys"},
      {BJ_ID_PARTITION, "workq"},
      {BJ_ID_NAME, "run"}}},
    {S("PBS_JOBID=12[3].srv\0PBS_ARRAY_ID=12[].srv\0PBS_ARRAY_INDEX=3\0"),
     "pbs",
     "12[3].srv",
     true,
     {{BJ_ID_JOBID, "12[3].srv"},
      {BJ_ID_SYSTEM, "pbs"},
      {BJ_ID_ARRAY_JOB, "12"},
      {BJ_ID_ARRAY_TASK, "3"}}},
    {S("LSB_JOBID=17\0LSB_PROJECT_NAME=p\0LSB_QUEUE=q\0LSB_JOBNAME=n\0"
       "LSB_JOBINDEX=0\0"),
     "lsf",
     "17",
     true,
     {{BJ_ID_JOBID, "17"},
      {BJ_ID_SYSTEM, "lsf"},
      {BJ_ID_ACCOUNT, "p"},
      {BJ_ID_PARTITION, "q"},
      {BJ_ID_NAME, "n"}}},
    {S("LSB_JOBID=17\0LSB_JOBINDEX=4\0"),
     "lsf",
     "17[4]",
     true,
     {{BJ_ID_JOBID, "17[4]"},
      {BJ_ID_SYSTEM, "lsf"},
      {BJ_ID_ARRAY_JOB, "17"},
      {BJ_ID_ARRAY_TASK, "4"}}},
    {S("LSB_JOBID=1\0"), "lsf", "17[4]", false, {{0}}},
    {S("LSB_JOBID=17\0"), "lsf", "171", false, {{0}}},
    /* the last NUL may be missing, an entry may be cut */
    {S("SLURM_JOB_ID=9\0SLURM_JOB_ACCOUNT=ph"),
     "slurm",
     "9",
     true,
     {{BJ_ID_JOBID, "9"}, {BJ_ID_SYSTEM, "slurm"}, {BJ_ID_ACCOUNT, "ph"}}},
    {S("SLURM_JOB_ID=9"),
     "slurm",
     "9",
     true,
     {{BJ_ID_JOBID, "9"}, {BJ_ID_SYSTEM, "slurm"}}},
    {S("SLURM_JOB_ID"), "slurm", "9", false, {{0}}},
    {S(""), "slurm", "9", false, {{0}}},
    {S("\0\0\0=\0==\0=9\0"), "slurm", "9", false, {{0}}},
    /* the first variable of a name counts, even if it is empty */
    {S("SLURM_JOB_ID=8\0SLURM_JOB_ID=9\0"), "slurm", "9", false, {{0}}},
    {S("SLURM_JOB_ID=9\0SLURM_JOB_QOS=\0SLURM_JOB_QOS=x\0"
       "SLURM_JOB_ACCOUNT=(null)\0"),
     "slurm",
     "9",
     true,
     {{BJ_ID_JOBID, "9"}, {BJ_ID_SYSTEM, "slurm"}}},
    {S("SLURM_JOBID=9\0"),
     "slurm",
     "9",
     true,
     {{BJ_ID_JOBID, "9"}, {BJ_ID_SYSTEM, "slurm"}}},
    {S("XSLURM_JOB_ID=9\0SLURM_JOB_IDX=9\0slurm_job_id=9\0"),
     "slurm",
     "9",
     false,
     {{0}}},
    {S("SLURM_JOB_ID=9\n\0"), "slurm", "9", false, {{0}}},
    /* an index without its array */
    {S("SLURM_JOB_ID=9\0SLURM_ARRAY_TASK_ID=1\0"),
     "slurm",
     "9",
     true,
     {{BJ_ID_JOBID, "9"}, {BJ_ID_SYSTEM, "slurm"}}},
    /* a job submitted from a heterogeneous job inherits its groups */
    {S("SLURM_JOB_ID=9\0SLURM_JOB_ID_HET_GROUP_0=7\0"
       "SLURM_JOB_ID_HET_GROUP_1=8\0SLURM_JOB_ACCOUNT_HET_GROUP_0=a\0"),
     "slurm",
     "9",
     true,
     {{BJ_ID_JOBID, "9"}, {BJ_ID_SYSTEM, "slurm"}}},
    /* Slurm before 20.11 */
    {S("SLURM_JOB_ID=7\0SLURM_JOB_ID_PACK_GROUP_0=7\0"
       "SLURM_JOB_ID_PACK_GROUP_1=8\0SLURM_JOB_ACCOUNT_PACK_GROUP_1=a\0"
       "SLURM_JOB_ACCOUNT=b\0"),
     "slurm",
     "8",
     true,
     {{BJ_ID_JOBID, "8"},
      {BJ_ID_SYSTEM, "slurm"},
      {BJ_ID_ACCOUNT, "a"},
      {BJ_ID_HET_JOB, "7"},
      {BJ_ID_HET_OFFSET, "1"}}},
    {S("SLURM_JOB_ID=7\0SLURM_JOB_ID_HET_GROUP_=8\0"
       "SLURM_JOB_ID_HET_GROUP_x=8\0SLURM_JOB_ID_HET_GROUP_99999=8\0"),
     "slurm",
     "8",
     false,
     {{0}}},
    /* the name of a step is not that of the job */
    {S("ENVIRONMENT=BATCH\0SLURM_STEP_ID=0\0SLURM_JOB_ID=9\0"
       "SLURM_JOB_NAME=step\0"),
     "slurm",
     "9",
     true,
     {{BJ_ID_JOBID, "9"}, {BJ_ID_SYSTEM, "slurm"}}},
    /* the job's id is not known */
    {S("SLURM_JOB_ID=9\0"),
     "slurm",
     "",
     true,
     {{BJ_ID_JOBID, "9"}, {BJ_ID_SYSTEM, "slurm"}}},
    {S("SLURM_JOB_ID=9x\0"), "slurm", "", false, {{0}}},
};

static void test_simulated(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(simulated); i++) {
        char *text = malloc(simulated[i].env.n + 1);
        char *env = text + 1; /* sanitizers check the bounds at both ends */
        if (simulated[i].env.n > 0)
            memcpy(env, simulated[i].env.p, simulated[i].env.n);
        struct bj_environ e;
        bool found = bj_environ_job((struct bj_slice){env, simulated[i].env.n},
                                    bj_slice_str(simulated[i].system),
                                    bj_slice_str(simulated[i].jobid), &e);
        assert_int_equal(found, simulated[i].found);
        if (found)
            check(&e, simulated[i].want);
        free(text);
    }
}

static void test_get(void **state)
{
    (void)state;
    struct bj_slice env = S("A=1\0B=\0A=2\0CC=x=y\0D"), v = {0};
    assert_true(bj_environ_get(env, (struct bj_slice)S("A"), &v));
    assert_true(bj_slice_eq(v, (struct bj_slice)S("1")));
    assert_true(bj_environ_get(env, (struct bj_slice)S("B"), &v));
    assert_int_equal(v.n, 0);
    assert_true(bj_environ_get(env, (struct bj_slice)S("CC"), &v));
    assert_true(bj_slice_eq(v, (struct bj_slice)S("x=y")));
    assert_false(bj_environ_get(env, (struct bj_slice)S("C"), &v));
    assert_false(bj_environ_get(env, (struct bj_slice)S("D"), &v));
    assert_false(
        bj_environ_get((struct bj_slice){0}, (struct bj_slice)S("A"), &v));
}

static void test_known_systems(void **state)
{
    (void)state;
    static const char *const yes[] = {"slurm", "pbs",        "lsf",
                                      "oar",   "gridengine", "flux"};
    static const char *const no[] = {"", "kubernetes", "libvirt", "slurmx"};
    for (size_t i = 0; i < COUNT(yes); i++)
        assert_true(bj_environ_knows(bj_slice_str(yes[i])));
    for (size_t i = 0; i < COUNT(no); i++)
        assert_false(bj_environ_knows(bj_slice_str(no[i])));
}

/* A real process with an environment larger than the part that is read. */
static void test_process(void **state)
{
    (void)state;
    enum { FILLERS = 100, FILLER = 4000 };
    const char *env[FILLERS + 3];
    static char text[FILLERS][FILLER];
    env[0] = "SLURM_JOB_ID=31337";
    for (int i = 0; i < FILLERS; i++) {
        memset(text[i], 'x', FILLER - 1);
        memcpy(text[i], "F=", 2);
        env[i + 1] = text[i];
    }
    env[FILLERS + 1] = "LAST=1";
    env[FILLERS + 2] = NULL;
    const char *const argv[] = {"sleep", "60", NULL};
    int ready[2];
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        execve("/bin/sleep", (char *const *)argv, (char *const *)env);
        _exit(127);
    }
    close(ready[1]);
    char c; /* the write end closes when exec has happened */
    assert_int_equal(read(ready[0], &c, 1), 0);
    close(ready[0]);

    char path[64];
    char *buf = malloc(BJ_ENVIRON_CAP);
    struct bj_slice got = {0}, v;
    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    int dir = bj_dir_open(AT_FDCWD, path);
    assert_true(dir >= 0);
    assert_int_equal(
        bj_file_read_head(dir, "environ", buf, BJ_ENVIRON_CAP, &got), 0);
    assert_int_equal(got.n, BJ_ENVIRON_CAP);
    assert_false(bj_environ_get(got, (struct bj_slice)S("LAST"), &v));
    struct bj_environ e;
    assert_true(bj_environ_job(got, (struct bj_slice)S("slurm"),
                               (struct bj_slice)S("31337"), &e));
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(bj_err_gone(bj_file_read_head(dir, "environ", buf, 64, &got)));
    close(dir);
    free(buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded),      cmocka_unit_test(test_extern),
        cmocka_unit_test(test_simulated),     cmocka_unit_test(test_get),
        cmocka_unit_test(test_known_systems), cmocka_unit_test(test_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The identity of a job, from real processes and files: its owner, when it is
 * complete, and forged data. */
#include "tests/unit/lib/fail.h"
#include "tests/unit/lib/fakejob.h"

#include "base/jobuuid.h"
#include "core/find/ident_find.h"
#include "core/model/record.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void test_path_only(void **state)
{
    (void)state;
    struct ident_query q = {.system = "slurm", .jobid = "7", .uid = "4242"};
    struct bj_ident *id = fake_resolve(q, 0);
    assert_string_equal(id->labels.p, "jobid=\"7\",user=\"u4242\"");
    fake_check_field(id, BJ_ID_UID, "4242");
    fake_check_field(id, BJ_ID_SOURCE, "cgroup");
    assert_false(id->complete);
    bj_ident_unref(id);
}

static void test_environ(void **state)
{
    (void)state;
    fake_join("cg/job_7/step_batch/task_0",
              fake_start("/bin/sleep", "sleep", fake_uid, fake_env_7));
    struct ident_query q = {.system = "slurm", .jobid = "7", .dir = "cg/job_7"};
    struct bj_ident *id = fake_resolve(q, 0);
    char want[96];
    snprintf(want, sizeof(want), "jobid=\"7\",user=\"%s\",account=\"physics\"",
             fake_user);
    assert_string_equal(id->labels.p, want);
    fake_check_field(id, BJ_ID_UID,
                     fake_uid_text); /* not the one in the environment */
    fake_check_field(id, BJ_ID_PARTITION, "p");
    fake_check_field(id, BJ_ID_QOS, "q");
    fake_check_field(id, BJ_ID_NAME, "sim");
    fake_check_field(id, BJ_ID_SOURCE, "environ");
    assert_true(id->n.start_sec == BJ_ABSENT);
    assert_true(id->complete);
    bj_ident_unref(id);
}

/* A job that has just started has only processes of the batch system. */
static void test_too_early(void **state)
{
    (void)state;
    fake_join("cg/job_7/step_extern", fake_stepd("slurmstepd: [7.extern]"));
    fake_join("cg/job_7/step_extern/task_0",
              fake_start("/bin/sleep", "sleep", geteuid(), NULL));
    struct ident_query q = {.system = "slurm", .jobid = "7", .dir = "cg/job_7"};
    struct bj_ident *id = fake_resolve(q, 0);
    assert_false(id->complete);
    fake_check_field(id, BJ_ID_ACCOUNT, "");
    if (geteuid() == 0) { /* else the sleep belongs to the job's owner */
        fake_check_field(id, BJ_ID_UID, "");
        assert_string_equal(id->labels.p, "jobid=\"7\"");
    }
    bj_ident_unref(id);
    /* a while later */
    fake_join("cg/job_7/step_batch/task_0",
              fake_start("/bin/sleep", "sleep", fake_uid, fake_env_7));
    id = fake_resolve(q, 0);
    assert_true(id->complete);
    fake_check_field(id, BJ_ID_ACCOUNT, "physics");
    fake_check_field(id, BJ_ID_UID, fake_uid_text);
    bj_ident_unref(id);
}

/* The processes of root's job look like the batch system's, but their
 * environment names the job. */
static void test_own_job(void **state)
{
    (void)state;
    char uid[16];
    snprintf(uid, sizeof(uid), "%u", (unsigned)geteuid());
    fake_join("cg/job_7/step_0",
              fake_start("/bin/sleep", "sleep", geteuid(), fake_env_7));
    struct ident_query q = {.system = "slurm", .jobid = "7", .dir = "cg/job_7"};
    struct bj_ident *id = fake_resolve(q, 0);
    fake_check_field(id, BJ_ID_UID, uid);
    fake_check_field(id, BJ_ID_ACCOUNT, "physics");
    assert_true(id->complete);
    bj_ident_unref(id);
}

/* Processes of another user in the job's cgroup, and environments that name
 * another job, are not used. */
static void test_misleading_processes(void **state)
{
    (void)state;
    static const char *const env_8[] = {"SLURM_JOB_ID=8",
                                        "SLURM_JOB_ACCOUNT=other", NULL};
    fake_join("cg/job_7/step_0",
              fake_start("/bin/sleep", "sleep", fake_uid, env_8));
    struct ident_query q = {.system = "slurm", .jobid = "7", .dir = "cg/job_7"};
    struct bj_ident *id = fake_resolve(q, 0);
    fake_check_field(id, BJ_ID_UID, fake_uid_text);
    fake_check_field(id, BJ_ID_ACCOUNT, "");
    fake_check_field(id, BJ_ID_SOURCE, "process");
    assert_false(id->complete);
    bj_ident_unref(id);

    fake_join("cg/job_7/step_0",
              fake_start("/bin/sleep", "sleep", fake_uid, fake_env_7));
    q.uid = "777";
    id = fake_resolve(q, 0);
    fake_check_field(id, BJ_ID_UID, "777");
    fake_check_field(id, BJ_ID_ACCOUNT, "");
    fake_check_field(id, BJ_ID_USER, "u777");
    bj_ident_unref(id);
}

/* OAR's path names the owner.  The first process of a job is OAR's own, with
 * the job's environment. */
static void test_owner_named(void **state)
{
    (void)state;
    static const char *const env[] = {"OAR_JOB_ID=7", "OAR_PROJECT_NAME=p",
                                      "OAR_ARRAY_ID=7", "OAR_ARRAY_INDEX=1",
                                      NULL};
    struct ident_query q = {
        .system = "oar", .jobid = "7", .dir = "cg/oar_7", .user = fake_user};
    if (geteuid() != 0)
        skip();
    fake_join("cg/oar_7", fake_start("/bin/sleep", "sleep", 100, env));
    struct bj_ident *id = fake_resolve(q, 0);
    fake_check_field(id, BJ_ID_UID, "");
    fake_check_field(id, BJ_ID_ACCOUNT, "");
    bj_ident_unref(id);
    fake_join("cg/oar_7", fake_start("/bin/sleep", "sleep", fake_uid, env));
    id = fake_resolve(q, 0);
    fake_check_field(id, BJ_ID_UID, fake_uid_text);
    fake_check_field(id, BJ_ID_USER, fake_user);
    fake_check_field(id, BJ_ID_ACCOUNT, "p");
    fake_check_field(id, BJ_ID_ARRAY_JOB, "");
    bj_ident_unref(id);
}

/* The batch script is preferred to a step, in any order. */
static void test_step_and_batch(void **state)
{
    (void)state;
    static const char *const step[] = {"ENVIRONMENT=BATCH",
                                       "SLURM_JOB_ID=7",
                                       "SLURM_STEP_ID=0",
                                       "SLURM_JOB_NAME=inner",
                                       "SLURM_JOB_ACCOUNT=physics",
                                       "SLURM_JOB_PARTITION=step",
                                       NULL};
    fake_join("cg/job_7/step_0/task_0",
              fake_start("/bin/sleep", "sleep", fake_uid, step));
    struct ident_query q = {.system = "slurm", .jobid = "7", .dir = "cg/job_7"};
    struct bj_ident *id = fake_resolve(q, 0);
    fake_check_field(id, BJ_ID_ACCOUNT, "physics");
    fake_check_field(id, BJ_ID_NAME, "");
    fake_check_field(id, BJ_ID_PARTITION, "step");
    assert_true(id->complete);
    bj_ident_unref(id);
    fake_join("cg/job_7/step_batch/task_0",
              fake_start("/bin/sleep", "sleep", fake_uid, fake_env_7));
    id = fake_resolve(q, 0);
    fake_check_field(id, BJ_ID_NAME, "sim");
    fake_check_field(id, BJ_ID_PARTITION, "p");
    bj_ident_unref(id);
}

static void test_prolog(void **state)
{
    (void)state;
    fake_dir("jobs");
    char text[256];
    snprintf(text, sizeof(text),
             "jobid=7\nuid=%u\nuser=anna\naccount=chemistry\npartition=long\n"
             "start=1700000000\n",
             (unsigned)fake_uid);
    fake_append("jobs/7", text);
    struct ident_query q = {.system = "slurm", .jobid = "7", .dir = "cg/job_7"};
    struct bj_ident *id = fake_resolve(q, 0);
    assert_string_equal(id->labels.p,
                        "jobid=\"7\",user=\"anna\",account=\"chemistry\"");
    fake_check_field(id, BJ_ID_SOURCE, "prolog");
    assert_true(id->n.start_sec == 1700000000);
    assert_false(id->complete); /* the name of the job is still unknown */
    bj_ident_unref(id);
    /* an environment adds to it but changes nothing */
    fake_join("cg/job_7/step_batch/task_0",
              fake_start("/bin/sleep", "sleep", fake_uid, fake_env_7));
    id = fake_resolve(q, 0);
    fake_check_field(id, BJ_ID_ACCOUNT, "chemistry");
    fake_check_field(id, BJ_ID_PARTITION, "long");
    fake_check_field(id, BJ_ID_NAME, "sim");
    fake_check_field(id, BJ_ID_SOURCE, "prolog+environ");
    assert_true(id->complete);
    bj_ident_unref(id);
}

/* A prolog that writes account and name leaves QOS and array task to the
 * environment. */
static void test_prolog_in_part(void **state)
{
    static const char *const env[] = {
        "SLURM_JOB_ID=7",        "SLURM_JOB_ACCOUNT=physics",
        "SLURM_JOB_QOS=short",   "SLURM_ARRAY_JOB_ID=5",
        "SLURM_ARRAY_TASK_ID=2", NULL};
    struct ident_query q = {.system = "slurm", .jobid = "7", .dir = "cg/job_7"};
    char text[256];
    (void)state;
    fake_dir("jobs");
    snprintf(text, sizeof(text),
             "jobid=7\nuid=%u\nuser=anna\naccount=chemistry\n"
             "partition=long\nname=relax\n",
             (unsigned)fake_uid);
    fake_append("jobs/7", text);
    struct bj_ident *id = fake_resolve(q, 0);
    assert_false(id->complete);
    bj_ident_unref(id);
    fake_join("cg/job_7/step_batch/task_0",
              fake_start("/bin/sleep", "sleep", fake_uid, env));
    id = fake_resolve(q, 0);
    fake_check_field(id, BJ_ID_ACCOUNT, "chemistry");
    fake_check_field(id, BJ_ID_NAME, "relax");
    fake_check_field(id, BJ_ID_QOS, "short");
    fake_check_field(id, BJ_ID_ARRAY_JOB, "5");
    fake_check_field(id, BJ_ID_ARRAY_TASK, "2");
    assert_true(id->complete);
    bj_ident_unref(id);
}

/* The UUID of a job in the older software stack; the vector is from its
 * tests. */
static void test_uuid(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "1000 testacc compute-[0-2]\n",
        "jobid=1009248\nuid=1000\naccount=TestAcc\nnodelist=compute-[0-2]\n",
        "jobid=1009248\nuid=1000\naccount=testacc\n"};
    static const char *const env[] = {"SLURM_JOB_ID=7",
                                      "SLURM_JOB_ACCOUNT=physics",
                                      "SLURM_JOB_NODELIST=n[1-4],Gpu7", NULL};
    char path[PATH_CAP];
    const char *vector = "ac28caf5-ce6c-35f6-73fb-47d9d43f7780";
    for (size_t i = 0; i < COUNT(texts); i++) {
        fake_dir("jobs");
        fake_append("jobs/1009248", texts[i]);
        struct ident_query q = {"slurm", "1009248",        NULL,
                                "1000",  "cg/job_1009248", NULL};
        struct bj_ident *id = fake_resolve(q, 0);
        fake_check_field(id, BJ_ID_UUID, i < 2 ? vector : "");
        bj_ident_unref(id);
        assert_int_equal(unlink(fake_path("jobs/1009248", path)), 0);
    }
    char want[BJ_JOB_UUID_BYTES];
    fake_join("cg/job_7/step_batch/task_0",
              fake_start("/bin/sleep", "sleep", fake_uid, env));
    struct ident_query q = {.system = "slurm", .jobid = "7", .dir = "cg/job_7"};
    struct bj_ident *id = fake_resolve(q, 0);
    assert_true(bj_job_uuid(BJ_SLICE("7"), bj_slice_str(fake_uid_text),
                            BJ_SLICE("physics"), BJ_SLICE("n[1-4],gpu7"),
                            want));
    fake_check_field(id, BJ_ID_UUID, want);
    bj_ident_unref(id);
}

/* A file that is damaged or of another job is reported and ignored. */
static void test_bad_prolog(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "4711 1000\n",                 /* not one of the formats */
        "jobid=8\naccount=wrong\n",    /* another job */
        "uid=424242\naccount=wrong\n", /* another user: a stale file */
    };
    char path[PATH_CAP];
    fake_join("cg/job_7/step_batch/task_0",
              fake_start("/bin/sleep", "sleep", fake_uid, fake_env_7));
    for (size_t i = 0; i < COUNT(texts); i++) {
        fake_dir("jobs");
        fake_append("jobs/7", texts[i]);
        struct ident_query q = {"slurm",       "7",        NULL,
                                fake_uid_text, "cg/job_7", NULL};
        struct bj_ident *id = fake_resolve(q, 1);
        fake_check_field(id, BJ_ID_ACCOUNT, "physics");
        fake_check_field(id, BJ_ID_SOURCE, "environ");
        bj_ident_unref(id);
        assert_int_equal(unlink(fake_path("jobs/7", path)), 0);
    }
    assert_int_equal(mkfifo(fake_path("jobs/7", path), 0644), 0);
    struct ident_query q = {"slurm",       "7",        NULL,
                            fake_uid_text, "cg/job_7", NULL};
    struct bj_ident *id = fake_resolve(q, 1);
    fake_check_field(id, BJ_ID_ACCOUNT, "physics");
    bj_ident_unref(id);
}

#define SLUID "sEKNKTV3WPV500"

static void test_sluid_title(void **state)
{
    (void)state;
    char line[96];
    fake_join("cg/" SLUID "/step_0/slurm", fake_stepd("slurmstepd: [3385.0]"));
    struct ident_query q = {
        .system = "slurm", .sluid = SLUID, .dir = "cg/" SLUID};
    struct bj_ident *id = fake_resolve(q, 0);
    fake_check_field(id, BJ_ID_JOBID, "3385");
    fake_check_field(id, BJ_ID_SLUID, SLUID);
    bj_ident_unref(id);
    /* with the id the file of the job is found too */
    snprintf(line, sizeof(line), "%u acc nodes\n", (unsigned)fake_uid);
    fake_append("jobs/3385", line);
    id = fake_resolve(q, 0);
    fake_check_field(id, BJ_ID_ACCOUNT, "acc");
    fake_check_field(id, BJ_ID_SOURCE, "prolog");
    bj_ident_unref(id);
}

static void test_sluid_file(void **state)
{
    (void)state;
    fake_dir("jobs");
    fake_append("jobs/" SLUID, "jobid=12\nsluid=" SLUID "\nuid=4\naccount=a\n");
    struct ident_query q = {.system = "slurm", .sluid = SLUID};
    struct bj_ident *id = fake_resolve(q, 0);
    assert_string_equal(id->labels.p, "jobid=\"12\",user=\"u4\",account=\"a\"");
    bj_ident_unref(id);
}

static void test_sluid_environ(void **state)
{
    (void)state;
    fake_join("cg/" SLUID "/step_0/user/task_0",
              fake_start("/bin/sleep", "sleep", fake_uid, fake_env_7));
    struct ident_query q = {
        .system = "slurm", .sluid = SLUID, .dir = "cg/" SLUID};
    struct bj_ident *id = fake_resolve(q, 0);
    fake_check_field(id, BJ_ID_JOBID, "7");
    fake_check_field(id, BJ_ID_SOURCE, "environ");
    bj_ident_unref(id);
}

/* Invalid process titles, and processes that imitate slurmstepd. */
static void test_sluid_forged(void **state)
{
    (void)state;
    char path[PATH_CAP];
    static const char *const titles[] = {
        "slurmstepd: [x.0]", "slurmstepd: []", "slurmstepd: [12",
        "slurmstepd",        "sleep",          "slurmstepd: [12x]"};
    for (size_t i = 0; i < COUNT(titles); i++)
        fake_join("cg/" SLUID "/step_0/slurm", fake_stepd(titles[i]));
    fake_dir("forged");
    fake_path("forged/slurmstepd", path);
    assert_int_equal(symlink("/bin/sleep", path), 0);
    /* root's process with the right name, but another program: what a user gets
     * by starting a set-user-id program through a link */
    fake_join("cg/" SLUID "/step_0/user/task_0",
              fake_start(path, "slurmstepd: [666.0]", geteuid(), NULL));
    if (geteuid() == 0) /* the right program, but the user's process */
        fake_join("cg/" SLUID "/step_0/user/task_0",
                  fake_start(fake_path("bin/slurmstepd", path),
                             "slurmstepd: [667.0]", fake_uid, NULL));
    struct ident_query q = {
        .system = "slurm", .sluid = SLUID, .dir = "cg/" SLUID};
    struct bj_ident *id = fake_resolve(q, 0);
    fake_check_field(id, BJ_ID_JOBID, "");
    assert_false(id->complete);
    bj_ident_unref(id);
}

/* The kind of file that takes the place of the job ad. */
enum ad_kind { AD_FILE, AD_FIFO, AD_LINK, AD_FOREIGN, AD_NONE };

static void put_ad(enum ad_kind kind, const char *ad)
{
    char path[PATH_CAP], real[PATH_CAP];
    fake_path("scratch/.job.ad", path);
    fake_append(kind == AD_LINK ? "scratch/real" : "scratch/.job.ad", ad);
    if (kind == AD_LINK)
        assert_int_equal(symlink(fake_path("scratch/real", real), path), 0);
    if (kind == AD_FOREIGN)
        assert_int_equal(chown(path, fake_uid + 1, 0), 0);
    if (kind == AD_NONE || kind == AD_FIFO)
        assert_int_equal(unlink(path), 0);
    if (kind == AD_FIFO)
        assert_int_equal(mkfifo(path, 0666), 0);
}

static void condor(const char *variable, const char *ad, enum ad_kind kind,
                   const char *want_id, const char *want_account)
{
    char text[2 * PATH_CAP], path[PATH_CAP];
    const char *const env[] = {text, NULL};
    fake_dir("scratch");
    snprintf(text, sizeof(text), "%s%s%s", variable, fake_path("scratch", path),
             strstr(variable, "JOB_AD") ? "/.job.ad" : "");
    put_ad(kind, ad);
    fake_join("cg/slot1", fake_start("/bin/sleep", "sleep", fake_uid, env));
    struct ident_query q = {.system = "htcondor", .dir = "cg/slot1"};
    struct bj_ident *id = fake_resolve(q, 0);
    fake_check_field(id, BJ_ID_JOBID, want_id);
    fake_check_field(id, BJ_ID_ACCOUNT, want_account);
    fake_check_field(id, BJ_ID_USER, fake_user);
    assert_int_equal(id->complete, want_id[0] != '\0');
    bj_ident_unref(id);
    fake_teardown(NULL);
    fake_setup(NULL);
}

static void test_condor(void **state)
{
    (void)state;
    static const char ad[] = "MyType = \"Job\"\nClusterId = 3141\nProcId = 5\n"
                             "Owner = \"mallory\"\nAcctGroup = \"phys.a\"\n";
    condor("_CONDOR_JOB_AD=", ad, AD_FILE, "3141.5", "phys.a");
    condor("_CONDOR_SCRATCH_DIR=", ad, AD_FILE, "3141.5", "phys.a");
    condor("_CONDOR_SCRATCH_DIR=", "clusterid=1\nPROCID = 0\nX", AD_FILE, "1.0",
           "");
    condor("_CONDOR_SCRATCH_DIR=", "ClusterId = 1\n", AD_FILE, "", "");
    condor("_CONDOR_SCRATCH_DIR=", ad, AD_FIFO, "", "");
    condor("_CONDOR_SCRATCH_DIR=", ad, AD_LINK, "", "");
    condor("_CONDOR_SCRATCH_DIR=", ad, AD_NONE, "", "");
    if (geteuid() == 0)
        condor("_CONDOR_SCRATCH_DIR=", ad, AD_FOREIGN, "", "");
    condor("_CONDOR_JOB_AD=/etc/passwd#", ad, AD_FILE, "", "");
}

/* The user of a container's processes is not the owner of the job. */
static void test_no_owner(void **state)
{
    (void)state;
    fake_join("cg/pod",
              fake_start("/bin/sleep", "sleep", fake_uid, fake_env_7));
    struct ident_query q = {
        .system = "kubernetes", .jobid = "7", .dir = "cg/pod"};
    struct bj_ident *id = fake_resolve(q, 0);
    assert_string_equal(id->labels.p, "jobid=\"7\"");
    assert_true(id->complete);
    bj_ident_unref(id);
    /* with an operator's own layout, only the owner can be found */
    q.system = "service";
    q.jobid = "web";
    id = fake_resolve(q, 0);
    fake_check_field(id, BJ_ID_UID, fake_uid_text);
    fake_check_field(id, BJ_ID_ACCOUNT, "");
    assert_true(id->complete);
    bj_ident_unref(id);
}

/* Process ids that do not exist or are invalid. */
static void test_odd_pids(void **state)
{
    (void)state;
    fake_dir("cg/job_7/a");
    fake_append("cg/job_7/cgroup.procs",
                "0\n99999999999999999999\n-5\n4194304\nx\n");
    fake_append("cg/job_7/a/cgroup.procs", "2147483647\n2147483648\n");
    struct ident_query q = {.system = "slurm", .jobid = "7", .dir = "cg/job_7"};
    struct bj_ident *id = fake_resolve(q, 0);
    fake_check_field(id, BJ_ID_UID, "");
    assert_false(id->complete);
    bj_ident_unref(id);
}

static void no_fault(void *ctx, const struct bj_err *err)
{
    (void)ctx;
    (void)err;
}

/* Find an identity while one allocation fails: there is none, an incomplete
 * one, or the complete one. */
static bool find_with_failure(const struct bj_ident_query *q, unsigned long n)
{
    struct bj_users *users = bj_users_new(&fake_users);
    struct bj_ident_sources src = {&fake_conf, users, no_fault, NULL};
    bj_fail_after(n);
    struct bj_ident *id = bj_ident_find(&src, q);
    bool failed = bj_fail_stop();
    if (id && id->complete) {
        fake_check_field(id, BJ_ID_ACCOUNT, "chemistry");
        fake_check_field(id, BJ_ID_NAME, "sim");
        fake_check_field(id, BJ_ID_UID, fake_uid_text);
    }
    assert_true(failed || (id && id->complete));
    bj_ident_unref(id);
    bj_users_free(users);
    return failed;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    char path[PATH_CAP];
    struct bj_resolver *r = fake_resolver(&fake_users); /* sets the options */
    bj_resolver_free(r);
    if (!bj_fail_works())
        skip();
    fake_append("jobs/7", "jobid=7\naccount=chemistry\n");
    fake_join("cg/job_7/step_batch/task_0",
              fake_start("/bin/sleep", "sleep", fake_uid, fake_env_7));
    struct bj_ident_query q = {.f = {[BJ_ID_SYSTEM] = bj_slice_str("slurm"),
                                     [BJ_ID_JOBID] = bj_slice_str("7")}};
    q.dirs[0] = bj_slice_str(fake_path("cg/job_7", path));
    unsigned long n = 0;
    while (find_with_failure(&q, n))
        n++;
    assert_true(n >= 8);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fake_setup, fake_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_path_only),
        TEST(test_environ),
        TEST(test_too_early),
        TEST(test_own_job),
        TEST(test_misleading_processes),
        TEST(test_owner_named),
        TEST(test_step_and_batch),
        TEST(test_prolog),
        TEST(test_prolog_in_part),
        TEST(test_bad_prolog),
        TEST(test_uuid),
        TEST(test_sluid_title),
        TEST(test_sluid_file),
        TEST(test_sluid_environ),
        TEST(test_sluid_forged),
        TEST(test_condor),
        TEST(test_no_owner),
        TEST(test_odd_pids),
        TEST(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

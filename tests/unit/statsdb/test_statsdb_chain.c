/* Runs that Slurm 26.05.3 resized: what it recorded of job 30, which released
 * one of two nodes, and of job 42, whose memory was lowered from 400 to 100
 * MiB.  The answer for a period has their last records only; the source
 * requests the rest. */
#include "tests/unit/statsdb/test_statsdb.h"

#include "sched/chain.h"
#include "sched/slurmrest.h"
#include "statsdb/job/job_name.h"
#include "statsdb/source/source_sacct.h"

#include <sys/stat.h>

#define RECORDED "tests/fixtures/sched/"

/* A sacct that knows the recorded jobs: for a period their last records, for
 * jobids all. */
static const char sacct[] =
    "#!/bin/sh\n"
    "f=%s/" RECORDED "sacct-26.05-resized.txt all=%s\n"
    "for a; do case $a in --delimiter=*) d=${a#*=};; --jobs=*) all=${a#*=};;"
    " esac; done\n"
    "case $1 in --helpformat) head -n 1 $f | tr '|' ' '; exit;; esac\n"
    "[ -z \"$all\" ] || [ \"$all\" = 30,42 ] || exit 1\n"
    "awk -F'|' -v all=\"$all\" 'NR == 1 || ($1 ~ /^(30|42)/ && (all || $2 !="
    " $3))' $f | sed \"%s; s/|/$d/g\"\n";

/* Write that program; an earlier build does not know OriginalSLUID. */
static void write_sacct(const struct fixture *f, bool earlier, char *command,
                        size_t cap)
{
    char *dir = getcwd(NULL, 0); /* commands run elsewhere */
    assert_non_null(dir);
    snprintf(command, cap, "%s/sacct", f->dir);
    FILE *file = fopen(command, "w");
    assert_non_null(file);
    fprintf(file, sacct, dir, earlier ? "30,42" : "",
            earlier ? "s/OriginalSLUID/Unknown/" : "");
    fclose(file);
    assert_int_equal(chmod(command, 0700), 0);
    free(dir);
}

/* Import a period that begins then, and commit. */
static void import_from(struct bj_store *s, int64_t start_sec, char *command,
                        struct bj_upsert_counts *ret)
{
    struct bj_err err = {0};
    static char name[] = "new26";
    struct bj_cluster_conf c = {
        .name = name, .sacct = command, .timeout_usec = 60000000};
    const struct bj_window w = {.start_sec = start_sec,
                                .end_sec = start_sec + 120};
    struct bj_source_sacct *source;
    struct bj_upsert *u;
    struct bj_sacct_counts counts;
    assert_int_equal(bj_source_sacct_new(&c, &source, &err), 0);
    assert_int_equal(bj_upsert_new(s, &u, &err), 0);
    const struct bj_source_run run = {.upsert = u};
    if (bj_source_sacct_run(source, &w, &run, &counts, &err) < 0 ||
        bj_upsert_commit(u, &err) < 0)
        fail_msg("%s", err.msg);
    *ret = *bj_upsert_counts(u);
    bj_upsert_free(u);
    bj_source_sacct_free(source);
}

static void import(struct bj_store *s, char *command,
                   struct bj_upsert_counts *ret)
{
    import_from(s, 1795839080, command, ret);
}

static void check_store(struct bj_store *s)
{
    expect(
        s,
        "SELECT jobid, sluid, state, submit_sec, start_sec, end_sec,"
        " elapsed_seconds, cpus, nodes, nodelist, memory_allocated_bytes >>"
        " 20, memory_requested_bytes >> 20, cpu_usec, cpu_sec, node_sec,"
        " gpu_sec, memory_mib_sec, tres_allocated, stdout_path FROM job_v"
        " ORDER BY jobid",
        "30|sER9M8G5JWZ800|completed|1795839063|1795839076|1795839082|6|2|2|"
        "sl[01-02]|100|100|46000|9|9|0|450|billing=2,cpu=2,mem=100M,node=2|"
        "/home/work/out-%j\n"
        "42|sER9M8G5MPM500|completed|1795839122|1795839122|1795839136|14|1|1|"
        "sl01|400|400|14000|14|14|0|2300|billing=1,cpu=1,mem=400M,node=1|"
        "/home/work/o\n");
    expect(s,
           "SELECT j.jobid, z.number, z.sluid, z.start_sec, z.end_sec,"
           " elapsed_seconds, z.cpus, z.nodes, z.nodelist,"
           " z.memory_allocated_bytes >> 20 FROM job_size_v AS z JOIN job AS j"
           " ON j.id = z.job ORDER BY j.jobid, z.number",
           "30|0|sER9M8G5JWZ800|1795839076|1795839079|3|2|2|sl[01-02]|100\n"
           "30|1|sER9M8G5KD4M00|1795839079|1795839082|3|1|1|sl01|50\n"
           "42|0|sER9M8G5MPM500|1795839122|1795839125|3|1|1|sl01|400\n"
           "42|1|sER9M8G5MSJE00|1795839125|1795839136|11|1|1|sl01|100\n");
    /* Each run counts once, and so does what it had and used. */
    expect(s,
           "SELECT sum(jobs_started), sum(jobs_ended), sum(jobs_completed),"
           " sum(wait_sec), sum(elapsed_sec), sum(node_sec), sum(cpu_sec),"
           " sum(gpu_sec), sum(mem_mib_sec), sum(cpu_used_msec),"
           " sum(cpu_unknown_sec) FROM rollup_day",
           "2|2|2|13|20|23|23|0|2750|60|0\n");
    expect(s, "SELECT count(*) FROM step", "7\n");
}

/* Each SLUID of a run finds it, in any case. */
static void check_names(struct bj_store *s)
{
    static const struct {
        const char *name;
        int64_t jobid;
    } names[] = {{"sER9M8G5JWZ800", 30},     {"sER9M8G5KD4M00", 30},
                 {"ser9m8g5kd4m00", 30},     {"SER9M8G5KD4M00", 30},
                 {"sER9M8G5MSJE00", 42},     {"30", 30},
                 {"new26:30:1795839063", 30}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct bj_err err = {0};
        char sql[64];
        int64_t id = 0;
        if (bj_job_name_find(bj_store_db(s), names[i].name, &id, &err) < 0)
            fail_msg("%s: %s", names[i].name, err.msg);
        snprintf(sql, sizeof(sql), "SELECT jobid FROM job WHERE id = %lld",
                 (long long)id);
        assert_int_equal(number(s, sql), names[i].jobid);
    }
}

static void test_import(void **state)
{
    struct fixture f;
    struct bj_upsert_counts counts;
    char command[128];
    (void)state;
    fixture_open(&f);
    write_sacct(&f, false, command, sizeof(command));
    struct bj_store *s = store_open(&f);
    import(s, command, &counts);
    assert_int_equal(counts.jobs_new, 2);
    check_store(s);
    check_names(s);
    import(s, command, &counts);
    assert_int_equal(counts.jobs_new, 0);
    assert_int_equal(counts.jobs_changed, 0);
    check_store(s);
    bj_store_close(s);
    unlink(command);
    fixture_close(&f);
}

/* The query of docs/upgrade.md: parts that an earlier build stored. */
static const char parts[] =
    "SELECT b.jobid, b.sluid, b.start_sec FROM job_v AS a JOIN job_v AS b ON"
    " b.cluster = a.cluster AND b.jobid = a.jobid AND b.submit_sec >"
    " a.submit_sec JOIN job_size_v AS z ON z.job = a.id AND z.sluid = b.sluid"
    " ORDER BY 1";

/* A store of an earlier build, which did not know OriginalSLUID, has each
 * record as a run.  Imported again, the first becomes the whole run; the others
 * stay, as docs/upgrade.md says. */
static void test_earlier(void **state)
{
    struct fixture f;
    struct bj_upsert_counts counts;
    char command[128];
    (void)state;
    fixture_open(&f);
    write_sacct(&f, true, command, sizeof(command));
    struct bj_store *s = store_open(&f);
    import(s, command, &counts);
    expect(s, "SELECT count(*) FROM job", "4\n");
    write_sacct(&f, false, command, sizeof(command));
    import(s, command, &counts);
    assert_int_equal(counts.jobs_new, 0);
    assert_int_equal(counts.jobs_changed, 2);
    expect(s, parts,
           "30|sER9M8G5KD4M00|1795839079\n42|sER9M8G5MSJE00|1795839125\n");
    expect(s,
           "SELECT jobid, state, cpus, nodes, cpu_sec, cpu_usec FROM job_v"
           " WHERE sluid IN ('sER9M8G5JWZ800', 'sER9M8G5MPM500') ORDER BY 1",
           "30|completed|2|2|9|46000\n42|completed|1|1|14|14000\n");
    bj_store_close(s);
    unlink(command);
    fixture_close(&f);
}

/* --- slurmrestd ----------------------------------------------------------- */

struct rest {
    struct bj_chain *chain;
    struct bj_buf text;
};

static void put(struct bj_buf *b, const struct bj_sched_job *j)
{
    bj_buf_printf(b, "%.*s %.*s %d %.*s %lld", (int)j->jobid.n, j->jobid.p,
                  (int)j->sluid.n, j->sluid.p, (int)j->state,
                  (int)j->state_raw.n, j->state_raw.p,
                  (long long)j->cancelled_by);
    bj_buf_printf(b, " %lld %.*s %.*s", (long long)j->restarts,
                  (int)j->failed_node.n,
                  j->failed_node.p ? j->failed_node.p : "",
                  (int)j->stdout_path.n, j->stdout_path.p);
    if (j->sizes > 0)
        bj_buf_printf(b, " %lld %lld %lld", (long long)j->cpu_sec,
                      (long long)j->node_sec, (long long)j->memory_mib_sec);
    bj_buf_str(b, "\n");
}

static int put_run(void *ctx, const struct bj_sched_job *job,
                   struct bj_err *err)
{
    (void)err;
    put(ctx, job);
    return 0;
}

static int take(void *ctx, const struct bj_sched_job *job, struct bj_err *err)
{
    struct rest *r = ctx;
    if (bj_chain_is_part(job))
        return bj_chain_add(r->chain, job, err);
    put(&r->text, job);
    return 0;
}

static uint64_t uid(void *ctx, struct bj_slice user)
{
    (void)ctx;
    return bj_slice_eq(user, BJ_SLICE("carol")) ? 2003 : BJ_ABSENT;
}

/* The same states as sacct's, and who cancelled a job, restarts, the node that
 * failed, and paths of output. */
static void test_rest(void **state)
{
    struct rest r = {.chain = bj_chain_new()};
    struct bj_err err = {0};
    struct bj_slurmrest *reader;
    char text[60000];
    (void)state;
    FILE *f = fopen(RECORDED "slurmrestd-26.05-resized.json", "r");
    assert_non_null(f);
    const size_t n = fread(text, 1, sizeof(text), f);
    fclose(f);
    const struct bj_slurmrest_conf conf = {
        .cluster = BJ_SLICE("new26"), .ctx = &r, .job = take, .uid = uid};
    assert_int_equal(bj_slurmrest_new(&conf, &reader, &err), 0);
    if (bj_slurmrest_feed(reader, (struct bj_slice){text, n}, &err) < 0 ||
        bj_slurmrest_end(reader, &err) < 0 ||
        bj_chain_take(r.chain, put_run, &r.text, &err) < 0)
        fail_msg("%s", err.msg);
    bj_buf_put(&r.text, "", 1);
    assert_string_equal(
        r.text.p,
        "17 sER9M8G5DTKW00 11 REQUEUED -1 0  /home/work/out-%j\n"
        "9 sER9M8G5DTFK00 6 CANCELLED by 2003 2003 0  /home/work/out-%j\n"
        "36 sER9M8G5JX3H00 9 NODE_FAIL -1 0 sl02 /home/work/out-%j\n"
        "30 sER9M8G5JWZ800 4 COMPLETED -1 0  /home/work/out-%j 9 9 450\n"
        "42 sER9M8G5MPM500 4 COMPLETED -1 0  /home/work/o 14 14 2300\n");
    bj_slurmrest_free(reader);
    bj_chain_free(r.chain);
    bj_buf_free(&r.text);
}

/* Import the runs that were resized twice, changed by a command of sed. */
static struct bj_store *import_twice(const struct fixture *f,
                                     const char *change, char command[128])
{
    struct bj_upsert_counts counts;
    char *dir = getcwd(NULL, 0);
    assert_non_null(dir);
    snprintf(command, 128, "%s/sacct", f->dir);
    FILE *file = fopen(command, "w");
    assert_non_null(file);
    fprintf(file,
            "#!/bin/sh\nf=%s/" RECORDED "sacct-26.05-resized-twice.txt\n"
            "for a; do case $a in --delimiter=*) d=${a#*=};; esac; done\n"
            "case $1 in --helpformat) head -n 1 $f | tr '|' ' '; exit;; esac\n"
            "sed \"%s; s/|/$d/g\" $f\n",
            dir, change);
    fclose(file);
    free(dir);
    assert_int_equal(chmod(command, 0700), 0);
    struct bj_store *s = store_open(f);
    import_from(s, 1795934600, command, &counts);
    assert_int_equal(counts.jobs_new, 5);
    return s;
}

/* Where Slurm does not allocate memory, what runs had of it is not known. */
static void test_no_memory(void **state)
{
    struct fixture f;
    char command[128];
    (void)state;
    fixture_open(&f);
    struct bj_store *s = import_twice(&f, "s/mem=[0-9]*M/mem=0/g", command);
    expect(s,
           "SELECT count(*), count(memory_allocated_bytes),"
           " count(memory_mib_sec), count(cpu_sec) FROM job_v",
           "5|0|0|4\n");
    expect(s, "SELECT count(*), count(memory_allocated_bytes) FROM job_size_v",
           "10|0\n");
    bj_store_close(s);
    assert_int_equal(remove(command), 0);
    fixture_close(&f);
}

/* Runs that were resized twice, cancelled, and requeued.  Slurm keeps what the
 * last change left in the first record, and in the others what they had.  What
 * the jobs had is what they requested and was changed by scontrol.  The last
 * run was not resized: it has no sums over its sizes. */
static void test_twice(void **state)
{
    struct fixture f;
    char command[128];
    (void)state;
    fixture_open(&f);
    struct bj_store *s = import_twice(&f, "", command);
    expect(s,
           "SELECT jobid, sluid, state, start_sec - 1795934600, end_sec -"
           " 1795934600, elapsed_seconds, cpus, nodes, memory_allocated_bytes"
           " >> 20, cpu_usec / 1000, cpu_sec, node_sec, memory_mib_sec,"
           " restarts, cancelled_by FROM job_v ORDER BY jobid, start_sec",
           "1530501|s5YDM8K0Q4YX00|completed|22|48|26|1|1|200|3089|26|26|3550|"
           "0|\n"
           "1530502|s5YDM8K0Q4ZD00|completed|23|40|17|3|3|180|4142|34|34|2040|"
           "0|\n"
           "1530503|s5YDM8K0Q4ZX00|cancelled|22|37|15|1|1|200|1001|15|15|2360|"
           "0|0\n"
           "1530504|s5YDM8K0Q50900|requeued|22|31|9|1|1|200|1001|9|9|1640|0|\n"
           "1530504|s5YDM8K0QGKA00|completed|66|78|12|1|1|120|2041||||"
           "1|\n");
    expect(s,
           "SELECT j.jobid, z.number, z.sluid, z.elapsed_seconds, z.cpus,"
           " z.nodes, z.memory_allocated_bytes >> 20 FROM job_size_v AS z JOIN"
           " job AS j ON j.id = z.job ORDER BY j.jobid, z.number",
           "1530501|0|s5YDM8K0Q4YX00|7|1|1|200\n"
           "1530501|1|s5YDM8K0QBXP00|5|1|1|150\n"
           "1530501|2|s5YDM8K0QGX500|14|1|1|100\n"
           "1530502|0|s5YDM8K0Q4ZD00|6|3|3|180\n"
           "1530502|1|s5YDM8K0QBZS00|5|2|2|120\n"
           "1530502|2|s5YDM8K0QGXE00|6|1|1|60\n"
           "1530503|0|s5YDM8K0Q4ZX00|7|1|1|200\n"
           "1530503|1|s5YDM8K0QBY100|8|1|1|120\n"
           "1530504|0|s5YDM8K0Q50900|7|1|1|200\n"
           "1530504|1|s5YDM8K0QBYP00|2|1|1|120\n");
    bj_store_close(s);
    assert_int_equal(remove(command), 0);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_import),    cmocka_unit_test(test_twice),
        cmocka_unit_test(test_no_memory), cmocka_unit_test(test_earlier),
        cmocka_unit_test(test_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

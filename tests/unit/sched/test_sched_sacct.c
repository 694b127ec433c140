/* The output of sacct: what a real Slurm printed for jobs with hostile names,
 * in pieces of any size; damaged output; and the command. */
#include "sched/sacct.h"

#include "tests/unit/sched/test_sched.h"

#include <errno.h>

/* The delimiter of the recording, made by bj_sacct_delimiter. */
#define RECORDED "\x1fq7Rz_w0K"

static void put_bad(void *ctx, const struct bj_sacct_bad *bad)
{
    struct log *log = ctx;
    bj_buf_printf(&log->bad, "%llu", (unsigned long long)bad->line);
    bj_buf_printf(&log->bad, " %.*s %.*s: %s%s\n", (int)bad->job.n,
                  bad->job.n ? bad->job.p : "", (int)bad->field.n,
                  bad->field.n ? bad->field.p : "", bad->expected,
                  bad->line_left_out ? "!" : "");
}

static void log_free(struct log *log)
{
    bj_buf_free(&log->jobs);
    bj_buf_free(&log->bad);
}

static struct bj_sacct *reader(struct log *log, const char *delimiter)
{
    const struct bj_sacct_conf conf = {.delimiter = bj_slice_str(delimiter),
                                       .cluster = BJ_SLICE("here"),
                                       .ctx = log,
                                       .job = put_job,
                                       .bad = put_bad};
    struct bj_sacct *r = NULL;
    struct bj_err err = {0};
    assert_int_equal(bj_sacct_new(&conf, &r, &err), 0);
    return r;
}

/* Read all of text in pieces of at most n bytes, each in memory of its own. */
static int feed(struct bj_sacct *r, struct bj_slice text, size_t n)
{
    struct bj_err err = {0};
    int e = 0;
    while (text.n > 0 && e == 0) {
        const size_t k = text.n < n ? text.n : n;
        char *piece = malloc(k);
        memcpy(piece, text.p, k);
        e = bj_sacct_feed(r, (struct bj_slice){piece, k}, &err);
        free(piece);
        text.p += k;
        text.n -= k;
    }
    if (e == 0)
        e = bj_sacct_end(r, true, &err);
    assert_int_equal(e < 0, err.code < 0);
    return e;
}

/* --- real recordings ------------------------------------------------------*/

/* Names with newlines, bars, a control character and forged records, arrays, a
 * heterogeneous job, a suspended one: all values equal those of Slurm's
 * JSON. */
static void test_hostile(void **state)
{
    (void)state;
    static const size_t pieces[] = {1 << 20, 4096, 1000, 97, 7, 1};
    const struct bj_slice text = load(FIXTURES "sacct-hostile.txt");
    const struct bj_slice want = load(FIXTURES "sacct-hostile.want");
    for (size_t i = 0; i < COUNT(pieces); i++) {
        struct log log = {.stop = 0};
        struct bj_sacct *r = reader(&log, RECORDED);
        assert_int_equal(feed(r, text, pieces[i]), 0);
        same_text(&log.jobs, want);
        assert_int_equal(log.bad.len, 0);
        const struct bj_sacct_counts *c = bj_sacct_counts(r);
        assert_int_equal(c->jobs, 17);
        assert_int_equal(c->steps, 35);
        assert_int_equal(c->lines, 56);
        assert_int_equal(c->bytes, text.n);
        assert_int_equal(c->bad_lines + c->bad_fields, 0);
        bj_sacct_free(r);
        log_free(&log);
    }
    free((void *)text.p);
    free((void *)want.p);
}

static int check_exit(struct log *log, const struct bj_sched_job *j)
{
    bj_buf_printf(&log->bad, "%.*s %.*s %d:%d", (int)j->jobid.n, j->jobid.p,
                  (int)j->exit_raw.n, j->exit_raw.p, (int)j->exit_code,
                  (int)j->exit_signal);
    if (j->derived_exit_code != BJ_ABSENT && j->derived_exit_code > 0)
        bj_buf_printf(&log->bad, " derived %d", (int)j->derived_exit_code);
    if (j->cancelled_by != BJ_ABSENT)
        bj_buf_printf(&log->bad, " by %d", (int)j->cancelled_by);
    if (j->gpus > 0)
        bj_buf_printf(&log->bad, " gpus %llu %.*s", (unsigned long long)j->gpus,
                      (int)j->gpu_model.n,
                      j->gpu_model.n ? j->gpu_model.p : "");
    if (j->use.mem_task_peak_bytes != BJ_ABSENT)
        bj_buf_printf(&log->bad, " rss %llu",
                      (unsigned long long)j->use.mem_task_peak_bytes);
    if (j->use.read_bytes != BJ_ABSENT)
        bj_buf_printf(&log->bad, " read %llu",
                      (unsigned long long)j->use.read_bytes);
    if (j->use.write_bytes != BJ_ABSENT)
        bj_buf_printf(&log->bad, " write %llu",
                      (unsigned long long)j->use.write_bytes);
    assert_true(j->use.energy_joules == BJ_ABSENT); /* no energy was measured */
    bj_buf_str(&log->bad, "\n");
    return 0;
}

/* Computed with awk from the recording: the largest MaxRSS, and the sum of
 * fs/disk over the steps. */
static const char usage_want[] =
    "1 0:0 0:0 by 0 gpus 1 tesla rss 106680320 read 31890 write 4006\n"
    "2 0:0 0:0 rss 161243136 read 33751711 write 33581378\n"
    "3 0:0 0:0 rss 32727040 read 33645290 write 33568478\n"
    "4 0:0 0:0 rss 53108736 read 31729 write 3799\n";

static void test_usage(void **state)
{
    (void)state;
    const struct bj_slice text = load(FIXTURES "sacct-usage.txt");
    struct log log = {.on_job = check_exit};
    struct bj_sacct *r = reader(&log, "|");
    assert_int_equal(feed(r, text, 4096), 0);
    assert_int_equal(bj_sacct_counts(r)->bad_lines, 0);
    assert_int_equal(bj_sacct_counts(r)->jobs, 28);
    log.bad.len = sizeof(usage_want) - 1;
    same_text(&log.bad, bj_slice_str(usage_want));
    bj_sacct_free(r);
    log_free(&log);
    free((void *)text.p);
}

/* Some lines contain the delimiter or a newline: they are reported if they
 * cannot be parsed, and the others are read. */
static void test_bars(void **state)
{
    (void)state;
    const struct bj_slice text = load(FIXTURES "sacct-pipe.txt");
    struct log log = {.stop = 0};
    struct bj_sacct *r = reader(&log, "|");
    assert_int_equal(feed(r, text, 11), 0);
    same_text(&log.bad,
              BJ_SLICE("2  : as many fields as there are columns!\n"
                       "12  : as many fields as there are columns!\n"));
    assert_int_equal(bj_sacct_counts(r)->jobs, 8);
    assert_non_null(memmem(log.jobs.p, log.jobs.len, "\n9|", 3));
    assert_non_null(memmem(log.jobs.p, log.jobs.len, "new\\x0aline", 11));
    bj_sacct_free(r);
    log_free(&log);
    free((void *)text.p);
}

/* --- invented texts, one property each ------------------------------------ */

static const struct {
    const char *what, *text;
    int status;
    const char *jobs; /* "" leaves them unchecked */
    unsigned n;
    const char *bad;
} texts[] = {
    {"nothing", "", 0, "", 0, ""},
    {"a header only", "JobIDRaw|State\n", 0, "", 0, ""},
    {"an empty first line", "\nJobIDRaw\n", -EINVAL, "", 0, ""},
    {"no header", "1|COMPLETED\n2|FAILED\n", -EINVAL, "", 0, ""},
    {"unknown columns", "Foo|JobID|Bar\nx|7|y\n", 0,
     "7|-|-|-|-||||||||unknown|-|-|-|-|-|-|-||-|-|-|-|-|"
     "|here\n",
     1, ""},
    {"the delimiter of -p, also at the end of lines",
     "JobIDRaw|State|\n7|FAILED|\n", 0, "", 1, ""},
    {"a field that is not a number",
     "JobIDRaw|Submit|NCPUS|State\n7|tomorrow|x|FAILED\n8|5|1|FAILED\n", 0, "",
     2, "2 7 Submit: a time\n2 7 NCPUS: a number\n"},
    {"no job id", "JobIDRaw|State\nx|FAILED\n|FAILED\n8|FAILED\n", 0, "", 1,
     "2  JobIDRaw: a job id!\n3  JobIDRaw: a job id!\n"},
    {"too few fields, then a good line",
     "JobIDRaw|State|User\n7|FAILED\n8|FAILED|anna\n", 0, "", 1,
     "2  : as many fields as there are columns!\n"},
    {"too many fields", "JobIDRaw|State|User\n7|FAILED|anna|x\n8|FAILED|anna\n",
     0, "", 1, "2  : as many fields as there are columns!\n"},
    {"a step without its job",
     "JobIDRaw|State\n7.batch|FAILED\n8|FAILED\n7.0|FAILED\n8.0|FAILED\n", 0,
     "", 1,
     "2  : a step after the line of its job!\n"
     "4  : a step after the line of its job!\n"},
    {"a truncated last line", "JobIDRaw|State\n7|FAILED\n8|FAIL", 0, "", 0,
     "3  : a newline at the end!\n"},
    {"alternatives: the better column counts",
     "Timelimit|ElapsedRaw|Elapsed|TimelimitRaw|JobID\n"
     "1-00:00:00|5|00:00:06|1|7\n2-00:00:00||00:00:06||8\n",
     0,
     "7|-|-|-|-||||||||unknown|-|-|-|-|5|-|60||-|-|-|-|-||here\n"
     "8|-|-|-|-||||||||unknown|-|-|-|-|6|-|172800||-|-|-|-|-|"
     "|here\n",
     2, ""},
    {"limits in words",
     "JobIDRaw|TimelimitRaw\n1|UNLIMITED\n2|Partition_Limit\n3|4294967295\n"
     "4|4294967294\n5|INVALID\n",
     0, "", 5, ""},
    {"array and het ids",
     "JobIDRaw|JobID\n20|20_[1-5%2]\n21|20_3\n22|22+0\n23|22+1\n", 0,
     "20|20|-|-|-||||||||unknown|-|-|-|-|-|-|-||-|-|-|-|-||"
     "here\n"
     "21|20|3|-|-||||||||unknown|-|-|-|-|-|-|-||-|-|-|-|-||"
     "here\n"
     "22|-|-|22|0||||||||unknown|-|-|-|-|-|-|-||-|-|-|-|-||"
     "here\n"
     "23|-|-|22|1||||||||unknown|-|-|-|-|-|-|-||-|-|-|-|-||here"
     "\n",
     4, ""},
};

static void test_texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        for (size_t n = 1; n < 100; n += 98) {
            struct log log = {.stop = 0};
            struct bj_sacct *r = reader(&log, "|");
            const int e = feed(r, bj_slice_str(texts[i].text), n);
            if (e != texts[i].status || bj_sacct_counts(r)->jobs != texts[i].n)
                print_message("%s: %d, %d jobs\n", texts[i].what, e,
                              (int)bj_sacct_counts(r)->jobs);
            assert_int_equal(e, texts[i].status);
            assert_int_equal(bj_sacct_counts(r)->jobs, texts[i].n);
            same_text(&log.bad, bj_slice_str(texts[i].bad));
            if (texts[i].jobs[0])
                same_text(&log.jobs, bj_slice_str(texts[i].jobs));
            bj_sacct_free(r);
            log_free(&log);
        }
    }
}

static int sum_energy(struct log *log, const struct bj_sched_job *j)
{
    bj_buf_printf(&log->bad, "%.*s ", (int)j->jobid.n, j->jobid.p);
    put_num(&log->bad, j->use.energy_joules);
    put_num(&log->bad, j->use.cpu_usec);
    put_num(&log->bad, j->mem_requested_bytes);
    bj_buf_printf(&log->bad, "%u+%u\n", j->steps, j->steps_left_out);
    return 0;
}

/* Values that several lines report count once. */
static void test_fold(void **state)
{
    (void)state;
    static const char text[] =
        "JobIDRaw|ConsumedEnergyRaw|TotalCPU|AllocTRES|ReqMem|NNodes|ReqCPUS\n"
        /* extern includes what the other steps measured */
        "1||00:00:00|cpu=1|4Gn|3|2\n1.batch|100|00:01.000||||\n"
        "1.extern|450|00:00.500||||\n1.0|150|00:02.000||||\n"
        "1.1|200|00:03.000||||\n"
        /* the steps of srun together used more than the batch step */
        "2||00:10.000|cpu=1|2Gc|3|2\n2.batch|100|00:01.000||||\n"
        "2.0|90|00:01.000||||\n2.1|80|00:01.000||||\n"
        /* the line of the job counts */
        "3|77||cpu=1|500M|3|2\n3.0|90|||||\n"
        "4|0||cpu=1,energy=88|0n|3|2\n4.0|90|||||\n"
        /* nothing was measured */
        "5|0||cpu=1|?|3|2\n5.0|0|||||\n"
        "6|18446744073709551614|||||\n";
    static const char want[] = "1 450|6500000|12884901888|4+0\n"
                               "2 170|10000000|4294967296|3+0\n"
                               "3 77|-|524288000|1+0\n"
                               "4 88|-|-|1+0\n"
                               "5 -|-|-|1+0\n"
                               "6 -|-|-|0+0\n";
    struct log log = {.on_job = sum_energy};
    struct bj_sacct *r = reader(&log, "|");
    assert_int_equal(feed(r, bj_slice_str(text), 50), 0);
    same_text(&log.bad, bj_slice_str(want));
    bj_sacct_free(r);
    log_free(&log);
}

static int put_cpu(struct log *log, const struct bj_sched_job *j)
{
    bj_buf_printf(&log->bad, "%.*s ", (int)j->jobid.n, j->jobid.p);
    put_num(&log->bad, j->use.cpu_usec);
    for (unsigned i = 0; i < j->steps; i++)
        put_num(&log->bad, j->step[i].use.cpu_usec);
    bj_buf_str(&log->bad, "\n");
    return 0;
}

/* Slurm 25.05 has the CPU time of steps only in the list of used resources. */
static void test_cpu_in_list(void **state)
{
    (void)state;
    static const char text[] =
        "JobIDRaw|State|TotalCPU|TRESUsageInTot\n"
        "1|COMPLETED|00:00:00|\n1.batch|COMPLETED|00:00:00|cpu=03:55:00,mem=9"
        "\n"
        /* the job's own time counts */
        "2|COMPLETED|00:10.000|\n2.batch|COMPLETED|00:01.000|cpu=00:00:00\n"
        "2.0|COMPLETED|00:00:00|cpu=00:00:09\n"
        /* from the database: seconds and milliseconds */
        "3|COMPLETED|00:00:00|\n3.0|COMPLETED||cpu=14100.002\n"
        "4|COMPLETED|00:00:00|\n4.0|COMPLETED|00:00:00|mem=9\n";
    static const char want[] = "1 14100000000|14100000000|\n"
                               "2 10000000|1000000|9000000|\n"
                               "3 14100002000|14100002000|\n"
                               "4 -|-|\n";
    struct log log = {.on_job = put_cpu};
    struct bj_sacct *r = reader(&log, "|");
    assert_int_equal(feed(r, bj_slice_str(text), 50), 0);
    same_text(&log.bad, bj_slice_str(want));
    bj_sacct_free(r);
    log_free(&log);
}

static int put_use(struct log *log, const struct bj_sched_job *j)
{
    put_num(&log->bad, j->use.cpu_usec);
    put_num(&log->bad, j->use.energy_joules);
    put_num(&log->bad, j->use.mem_task_peak_bytes);
    for (unsigned i = 0; i < j->steps; i++)
        put_num(&log->bad, j->step[i].use.cpu_usec);
    bj_buf_str(&log->bad, "\n");
    return 0;
}

/* Slurm reports a CPU time of 0 for a step that runs, and for a job that runs
 * the time of the steps that have ended: the use of neither is known. */
static void test_running(void **state)
{
    (void)state;
    static const char text[] =
        "JobIDRaw|State|TotalCPU|UserCPU|ConsumedEnergyRaw|MaxRSS\n"
        "1|RUNNING|00:07.000|00:07.000|30|\n1.batch|RUNNING|00:00:00|00:00:00|"
        "0|\n"
        "1.0|COMPLETED|00:07.000|00:07.000|30|2K\n"
        "2|SUSPENDED|00:00:00|00:00:00|0|\n2.batch|SUSPENDED|00:00:00|||\n"
        "3|COMPLETED|00:00:00|00:00:00|0|\n3.batch|COMPLETED|00:00:00|||\n";
    struct log log = {.on_job = put_use};
    struct bj_sacct *r = reader(&log, "|");
    assert_int_equal(feed(r, bj_slice_str(text), 50), 0);
    same_text(&log.bad, BJ_SLICE("-|-|2048|-|7000000|\n"
                                 "-|-|-|-|\n"
                                 "0|-|-|0|\n"));
    bj_sacct_free(r);
    log_free(&log);
}

/* A job with very many steps: those that are not kept count as well. */
static void test_many_steps(void **state)
{
    (void)state;
    struct log log = {.on_job = sum_energy};
    const struct bj_sacct_conf conf = {
        .max_steps = 3, .ctx = &log, .job = put_job, .bad = put_bad};
    struct bj_sacct *r;
    assert_int_equal(bj_sacct_new(&conf, &r, NULL), 0);
    struct bj_buf b = {0};
    bj_buf_str(&b, "JobIDRaw|TotalCPU\n7|\n");
    for (int i = 0; i < 50000; i++)
        bj_buf_printf(&b, "7.%d|00:00:02\n", i);
    assert_int_equal(feed(r, (struct bj_slice){b.p, b.len}, 60000), 0);
    same_text(&log.bad, BJ_SLICE("7 -|100000000000|-|3+49997\n"));
    bj_buf_free(&b);
    bj_sacct_free(r);
    log_free(&log);
}

/* A line of any length uses bounded memory; the other lines are still read. */
static void test_long_line(void **state)
{
    (void)state;
    struct log log = {.stop = 0};
    const struct bj_sacct_conf conf = {
        .max_record = 1000, .ctx = &log, .job = put_job, .bad = put_bad};
    struct bj_sacct *r;
    assert_int_equal(bj_sacct_new(&conf, &r, NULL), 0);
    struct bj_buf b = {0};
    bj_buf_str(&b, "JobIDRaw|JobName|State\n7|a|FAILED\n8|");
    for (int i = 0; i < 100000; i++)
        bj_buf_str(&b, "xy");
    bj_buf_str(&b, "|FAILED\n9|\n\n\n");
    for (int i = 0; i < 500; i++)
        bj_buf_str(&b, "x\n");
    bj_buf_str(&b, "10|c|FAILED\n11|d|FAILED\n");
    assert_int_equal(feed(r, (struct bj_slice){b.p, b.len}, 3000), 0);
    assert_int_equal(bj_sacct_counts(r)->jobs, 3);
    assert_int_equal(bj_sacct_counts(r)->bad_lines, 2 + 1);
    bj_buf_free(&b);
    bj_sacct_free(r);
    log_free(&log);
}

static void test_stop(void **state)
{
    (void)state;
    struct log log = {.stop = -ECANCELED};
    struct bj_sacct *r = reader(&log, "|");
    const struct bj_slice text = BJ_SLICE("JobIDRaw\n1\n2\n3\n");
    struct bj_err err = {0};
    assert_int_equal(bj_sacct_feed(r, text, &err), -ECANCELED);
    assert_int_equal(bj_sacct_feed(r, text, &err), -ECANCELED);
    assert_int_equal(bj_sacct_end(r, true, &err), -ECANCELED);
    assert_int_equal(bj_sacct_counts(r)->jobs, 1);
    bj_sacct_free(r);
    /* a command that failed: its last job is left out, as steps may be
     * missing */
    log.stop = 0;
    r = reader(&log, "|");
    assert_int_equal(bj_sacct_feed(r, text, &err), 0);
    assert_int_equal(bj_sacct_end(r, false, &err), 0);
    assert_int_equal(bj_sacct_counts(r)->jobs, 2);
    bj_sacct_free(r);
    bj_sacct_free(NULL);
    log_free(&log);
    const struct bj_sacct_conf bad = {.delimiter = BJ_SLICE("\n"),
                                      .job = put_job};
    assert_int_equal(bj_sacct_new(&bad, &r, &err), -EINVAL);
    const struct bj_sacct_conf no_callback = {.delimiter = BJ_SLICE("|")};
    assert_int_equal(bj_sacct_new(&no_callback, &r, &err), -EINVAL);
}

static void test_columns_cap(void **state)
{
    (void)state;
    struct log log = {.stop = 0};
    struct bj_buf b = {0};
    bj_buf_str(&b, "JobIDRaw");
    for (int i = 0; i < 300; i++)
        bj_buf_str(&b, "|X");
    bj_buf_str(&b, "\n");
    struct bj_sacct *r = reader(&log, "|");
    assert_int_equal(feed(r, (struct bj_slice){b.p, b.len}, 50), -E2BIG);
    bj_sacct_free(r);
    bj_buf_free(&b);
    log_free(&log);
}

/* --- the command ---------------------------------------------------------- */

static const struct bj_sacct_query good_query = {.start_sec = 1795171872,
                                                 .end_sec = 1795258272,
                                                 .delimiter = "\x1fxxxxxxxx",
                                                 .clusters = "a,b-1.x",
                                                 .slurm_conf = "/etc/x.conf"};

static void test_command(void **state)
{
    (void)state;
    const struct bj_slice help = load(FIXTURES "sacct-helpformat.txt");
    struct bj_arena a = {0};
    struct bj_err err = {0};
    const char *const *argv, *const *env;
    struct bj_sacct_query query = good_query;
    static const char *const want[] = {"sacct",
                                       "--allusers",
                                       "--duplicates",
                                       "--noconvert",
                                       "--parsable2",
                                       "--delimiter=\x1fxxxxxxxx",
                                       "--clusters=a,b-1.x",
                                       "--starttime=2026-11-20T10:51:12",
                                       "--endtime=2026-11-21T10:51:12"};
    assert_int_equal(bj_sacct_command(&query, &a, &argv, &env, &err), 0);
    for (size_t i = 0; i < COUNT(want); i++)
        assert_string_equal(argv[i], want[i]);
    assert_memory_equal(argv[9], "--format=JobIDRaw,", 18);
    assert_string_equal(argv[9] + strlen(argv[9]) - 6, ",JobID");
    assert_null(strstr(argv[9], "SubmitLine"));
    assert_null(argv[10]);
    assert_string_equal(env[0], "SLURM_TIME_FORMAT=%s");
    assert_string_equal(env[2], "SLURM_CONF=/etc/x.conf");
    query.helpformat = help;
    assert_int_equal(bj_sacct_command(&query, &a, &argv, &env, &err), 0);
    assert_non_null(strstr(argv[9], ",SubmitLine,"));
    assert_null(strstr(argv[9], "SLUID"));
    assert_null(strstr(argv[9], "Restarts"));
    query.jobs_only = true;
    assert_int_equal(bj_sacct_command(&query, &a, &argv, &env, &err), 0);
    assert_string_equal(argv[6], "--allocations");
    assert_null(strstr(argv[10], "MaxRSS"));
    query.clusters = "a;b";
    assert_int_equal(bj_sacct_command(&query, &a, &argv, &env, &err), -EINVAL);
    query = good_query;
    query.end_sec = query.start_sec - 1;
    assert_int_equal(bj_sacct_command(&query, &a, &argv, &env, &err), -EINVAL);
    query = good_query;
    query.delimiter = NULL;
    assert_int_equal(bj_sacct_command(&query, &a, &argv, &env, &err), -EINVAL);
    bj_arena_free(&a);
    free((void *)help.p);
}

static void test_random_delimiter(void **state)
{
    (void)state;
    char a[BJ_SACCT_DELIMITER + 1], b[BJ_SACCT_DELIMITER + 1];
    assert_int_equal(bj_sacct_delimiter(a), 0);
    assert_int_equal(bj_sacct_delimiter(b), 0);
    assert_int_equal(strlen(a), BJ_SACCT_DELIMITER);
    assert_int_equal(a[0], '\x1f');
    assert_string_not_equal(a, b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_usage),
        cmocka_unit_test(test_bars),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_cpu_in_list),
        cmocka_unit_test(test_fold),
        cmocka_unit_test(test_running),
        cmocka_unit_test(test_many_steps),
        cmocka_unit_test(test_long_line),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_columns_cap),
        cmocka_unit_test(test_command),
        cmocka_unit_test(test_random_delimiter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Sizes, durations, times, states and ids as schedulers write them. */
#include "sched/jobid.h"
#include "sched/state.h"
#include "sched/value.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* A copy in memory of exactly its size, so that the address sanitizer detects
 * reads past its end. The next call frees it. */
static struct bj_slice exact(const char *text)
{
    static char *copy;
    const size_t n = strlen(text);
    free(copy);
    copy = malloc(n ? n : 1);
    memcpy(copy, text, n);
    return (struct bj_slice){copy, n};
}

/* --- sizes ----------------------------------------------------------------*/

static const struct {
    const char *text;
    uint64_t unit;
    int status;
    uint64_t want;
} sizes[] = {
    {"0", 1, 0, 0},
    {"1024", 1, 0, 1024},
    {"106680320", 1, 0, 106680320},       /* sacct --noconvert, MaxRSS */
    {"104180K", 1, 0, 106680320},         /* the same without */
    {"256M", 1 << 20, 0, 268435456},      /* ReqMem */
    {"256", 1 << 20, 0, 268435456},       /* of versions without letters */
    {"250.5G", 1 << 20, 0, 268972326912}, /* 250.5 * 2^30 */
    {"0.03M", 1, 0, 31457},               /* 0.03 * 2^20 = 31457.28 */
    {"1.5T", 1, 0, 1649267441664},
    {"2P", 1, 0, 2251799813685248},
    {"2?", 1, 0, 2305843009213693952}, /* Slurm's letter after P */
    {"15E", 1, 0, 17293822569102704640u},
    {"123456kb", 1, 0, 126418944}, /* PBS */
    {"4gb", 1, 0, 4294967296},
    {"2mw", 1, 0, 16777216}, /* words of eight bytes */
    {"100b", 1 << 20, 0, 100},
    {"3w", 1, 0, 24},
    {"18446744073709551615", 1, 0, UINT64_MAX},
    {"16E", 1, -ERANGE, 0},
    {"18446744073709551616", 1, -ERANGE, 0},
    {"99999999999999999999999", 1, -ERANGE, 0},
    {"17592186044416M", 1, -ERANGE, 0}, /* 2^64 */
    {"", 1, -EINVAL, 0},
    {"M", 1, -EINVAL, 0},
    {".5G", 1, -EINVAL, 0},
    {"5.", 1, -EINVAL, 0},
    {"5.G", 1, -EINVAL, 0},
    {"-5", 1, -EINVAL, 0},
    {" 5", 1, -EINVAL, 0},
    {"5 M", 1, -EINVAL, 0},
    {"5MB2", 1, -EINVAL, 0},
    {"5|", 1, -EINVAL, 0}, /* a character class [K|M|G] would accept it */
    {"5x", 1, -EINVAL, 0},
    {"5Mi", 1, -EINVAL, 0},
    {"1e5", 1, -EINVAL, 0},
};

static void test_sizes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        uint64_t v = 77;
        const int r = bj_memory_parse(exact(sizes[i].text), sizes[i].unit, &v);
        if (r != sizes[i].status)
            print_message("'%s': %d\n", sizes[i].text, r);
        assert_int_equal(r, sizes[i].status);
        assert_int_equal(v, r < 0 ? 77 : sizes[i].want);
    }
    uint64_t joules = 0;
    assert_int_equal(bj_memory_scaled(exact("1.25K"), 1, 1000, &joules), 0);
    assert_int_equal(joules, 1250);
}

static const struct {
    const char *text;
    int status;
    uint64_t want;
    enum bj_memory_per per;
} requests[] = {
    {"4Gn", 0, 4294967296, BJ_MEMORY_NODE},
    {"4Gc", 0, 4294967296, BJ_MEMORY_CPU},
    {"2000Mc", 0, 2097152000, BJ_MEMORY_CPU},
    {"0n", 0, 0, BJ_MEMORY_NODE},
    {"900M", 0, 943718400, BJ_MEMORY_JOB},
    {"0", 0, 0, BJ_MEMORY_JOB},
    {"n", -EINVAL, 0, BJ_MEMORY_JOB},
    {"Gc", -EINVAL, 0, BJ_MEMORY_JOB},
    {"?", -EINVAL, 0, BJ_MEMORY_JOB},
    {"4Gx", -EINVAL, 0, BJ_MEMORY_JOB},
};

static void test_requests(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(requests); i++) {
        uint64_t v = 77;
        enum bj_memory_per per = BJ_MEMORY_JOB;
        const int r = bj_memory_request(exact(requests[i].text), &v, &per);
        assert_int_equal(r, requests[i].status);
        assert_int_equal(v, r < 0 ? 77 : requests[i].want);
        assert_int_equal(per, requests[i].per);
    }
}

/* --- durations ------------------------------------------------------------ */

#define SEC(n) ((n) * (uint64_t)1000000)

static const struct {
    const char *text;
    int status;
    uint64_t want;
} durations[] = {
    {"00:00:43", 0, SEC(43)},
    {"00:06.012", 0, 6012000},
    {"00:00:00", 0, 0},
    {"02:03", 0, SEC(123)},
    {"59:59", 0, SEC(3599)},
    {"1-02:03:04", 0, SEC(93784)},
    {"1-02:03:04.567", 0, 93784567000},
    {"1-00:00:00", 0, SEC(86400)},
    {"365-23:59:59", 0, SEC(31622399)},
    {"2-12", 0, SEC(216000)}, /* two days and a half */
    {"0-00:30", 0, SEC(1800)},
    {"100:00:00", 0, SEC(360000)}, /* PBS: any number of hours */
    {"1000:30:15", 0, SEC(3601815)},
    {"3600", 0, SEC(3600)},
    {"00:00:00.5", 0, 500000},
    {"00:01.1234567", 0, 1123456},
    {"", 0, BJ_ABSENT},
    {"UNLIMITED", 0, BJ_UNLIMITED},
    {"INFINITE", 0, BJ_UNLIMITED},
    {"Partition_Limit", 0, BJ_ABSENT},
    {"INVALID", 0, BJ_ABSENT},
    {"Unknown", 0, BJ_ABSENT},
    {"None", 0, BJ_ABSENT},
    {"N/A", 0, BJ_ABSENT},
    {"unlimited", -EINVAL, 0},
    {"-5", -EINVAL, 0},
    {"1:2:3:4", -EINVAL, 0},
    {"1-2:3:4:5", -EINVAL, 0},
    {"1-2-3", -EINVAL, 0},
    {"1:", -EINVAL, 0},
    {":1", -EINVAL, 0},
    {"1-", -EINVAL, 0},
    {"00:00:0", 0, 0},
    {"00:00:0x", -EINVAL, 0},
    {"0x:00:00", -EINVAL, 0},
    {"00:0:.5", -EINVAL, 0},
    {"00:01.", -EINVAL, 0},
    {"00:01.5s", -EINVAL, 0},
    {"00.00.00", -EINVAL, 0},
    {"99999999999999999-00:00:00", -ERANGE, 0},
    {"999999999999999999999", -ERANGE, 0},
    {"9223372036854", 0, 9223372036854000000},
    {"9223372036855", -ERANGE, 0}, /* would be BJ_UNLIMITED or more */
};

static void test_durations(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(durations); i++) {
        uint64_t v = 77, sec = 78;
        const int r = bj_elapsed_parse(exact(durations[i].text), &v);
        if (r != durations[i].status || v != (r < 0 ? 77 : durations[i].want))
            print_message("'%s': %d %llu\n", durations[i].text, r,
                          (unsigned long long)v);
        assert_int_equal(r, durations[i].status);
        assert_true(v == (r < 0 ? 77 : durations[i].want));
        assert_int_equal(bj_duration_sec(exact(durations[i].text), &sec), r);
        const uint64_t want = durations[i].want;
        assert_true(sec == (r < 0                  ? 78
                            : want >= BJ_UNLIMITED ? want
                                                   : want / 1000000));
    }
}

/* --- times ---------------------------------------------------------------- */

/* Seconds as printed by `date -u -d TEXT +%s`. */
static const struct {
    const char *text;
    int status;
    uint64_t want;
} time_cases[] = {
    {"1795171872", 0, 1795171872},
    {"2026-11-20T10:51:12", 0, 1795171872},
    {"2026-11-20T10:51:12Z", 0, 1795171872},
    {"2026-11-20T11:51:12+01:00", 0, 1795171872},
    {"2026-11-20", 0, 1795132800},
    {"1970-01-01T00:00:01", 0, 1},
    {"2000-02-29T12:00:00", 0, 951825600},
    {"2024-02-29T23:59:59", 0, 1709251199},
    {"2016-12-31T23:59:60", 0, 1483228799}, /* leap second */
    {"2100-03-01T00:00:00", 0, 4107542400},
    {"9999-12-31T23:59:59", 0, 253402300799},
    {"", 0, BJ_ABSENT},
    {"0", 0, BJ_ABSENT},
    {"Unknown", 0, BJ_ABSENT},
    {"None", 0, BJ_ABSENT},
    {"N/A", 0, BJ_ABSENT},
    {"2100-02-29T00:00:00", -ERANGE, 0},
    {"2026-13-20T10:51:12", -ERANGE, 0},
    {"2026-11-31T10:51:12", -ERANGE, 0},
    {"2026-11-00T10:51:12", -ERANGE, 0},
    {"2026-11-20T24:00:00", -ERANGE, 0},
    {"2026-11-20T10:60:00", -ERANGE, 0},
    {"1969-12-31T23:59:59", -ERANGE, 0},
    {"99999999999999999999", -ERANGE, 0},
    {"18446744073709551614", -ERANGE, 0},
    {"yesterday", -EINVAL, 0},
    {"2026-11-20T10:51:1x", -ERANGE, 0},
    {"1795171872.5", -EINVAL, 0},
    {"-1795171872", -EINVAL, 0},
};

static void test_times(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(time_cases); i++) {
        uint64_t v = 77;
        const int r = bj_time_slurm(exact(time_cases[i].text), &v);
        if (r != time_cases[i].status || v != (r < 0 ? 77 : time_cases[i].want))
            print_message("'%s': %d\n", time_cases[i].text, r);
        assert_int_equal(r, time_cases[i].status);
        assert_true(v == (r < 0 ? 77 : time_cases[i].want));
    }
}

static void test_pbs_times(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int status;
        uint64_t want;
    } t[] = {
        {"Fri Nov 20 10:51:12 2026", 0, 1795171872},
        {"Sun Nov  1 00:00:00 2026", 0, 1793491200},
        {" Fri Nov 20 10:51:12 2026\n", 0, 1795171872},
        {"1795171872", 0, 1795171872},
        {"", 0, BJ_ABSENT},
        {"Fri Nov 20 10:51:12", -EINVAL, 0}, /* no year */
        {"Fri Nov 31 10:51:12 2026", -ERANGE, 0},
        {"Fri Nov 20 10:51:12 2026 CET", -EINVAL, 0},
        {"Foo Bar 20 10:51:12 2026", -EINVAL, 0},
        {"Nov", -EINVAL, 0},
    };
    for (size_t i = 0; i < COUNT(t); i++) {
        uint64_t v = 77;
        const int r = bj_time_pbs(exact(t[i].text), &v);
        if (r != t[i].status)
            print_message("'%s': %d\n", t[i].text, r);
        assert_int_equal(r, t[i].status);
        assert_true(v == (r < 0 ? 77 : t[i].want));
    }
    uint64_t v = 77;
    assert_int_equal(bj_time_pbs_stamp(exact("11/20/2026 11:51:12"), 60, &v),
                     0);
    assert_int_equal(v, 1795171872);
    assert_int_equal(bj_time_pbs_stamp(exact("11/20/2026 05:51:12"), -300, &v),
                     0);
    assert_int_equal(v, 1795171872);
    assert_int_equal(bj_time_pbs_stamp(exact("20/11/2026 10:51:12"), 0, &v),
                     -ERANGE);
    assert_int_equal(bj_time_pbs_stamp(exact("01/01/1970 00:00:00"), 60, &v),
                     -ERANGE);
    assert_int_equal(bj_time_pbs_stamp(exact("11/20/2026"), 0, &v), -EINVAL);
    assert_int_equal(v, 1795171872);
}

static void test_lsf_times(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int status;
        uint64_t want;
    } t[] = {
        /* as of 20 November 2026, 10:51:12 */
        {"Nov 20 10:51", 0, 1795171860},
        {"Nov 20 10:51:12", 0, 1795171872},
        {"Nov 21 10:51:12", 0, 1795258272}, /* up to a day ahead */
        {"Nov 21 10:52:00", 0, 1763722320}, /* 2025 */
        {"Dec 31 23:59", 0, 1767225540},    /* 2025 */
        {"Jan  1 00:00", 0, 1767225600},    /* 2026 */
        {"Feb 29 12:00", 0, 1709208000},    /* 2024 */
        {"Nov 20 10:51:12 2024", 0, 1732099872},
        {"Fri Nov 20 10:51:12 2026", 0, 1795171872},
        {"Nov 20 10:51 L", 0, 1795171860},
        {"Nov 20 10:51:12 2024 X", 0, 1732099872},
        {"-", 0, BJ_ABSENT},
        {"", 0, BJ_ABSENT},
        {"1795171872", 0, 1795171872},
        {"Feb 30 12:00", -ERANGE, 0},
        {"Nov 20", -EINVAL, 0},
        {"Nov 20 10", -EINVAL, 0},
        {"Nov 20 10:51 LL", -EINVAL, 0},
        {"Nov 20 10:51 L E", -EINVAL, 0},
    };
    for (size_t i = 0; i < COUNT(t); i++) {
        uint64_t v = 77;
        const int r = bj_time_lsf(exact(t[i].text), 1795171872, &v);
        if (r != t[i].status || v != (r < 0 ? 77 : t[i].want))
            print_message("'%s': %d %llu\n", t[i].text, r,
                          (unsigned long long)v);
        assert_int_equal(r, t[i].status);
        assert_true(v == (r < 0 ? 77 : t[i].want));
    }
    uint64_t v = 77;
    assert_int_equal(bj_time_lsf(exact("Nov 20 10:51"), UINT64_MAX, &v),
                     -ERANGE);
}

/* --- states ---------------------------------------------------------------*/

static const struct {
    const char *text;
    enum bj_job_state want;
    uint64_t uid;
} states[] = {
    /* the base states */
    {"PENDING", BJ_STATE_PENDING, 0},
    {"RUNNING", BJ_STATE_RUNNING, 0},
    {"SUSPENDED", BJ_STATE_SUSPENDED, 0},
    {"COMPLETED", BJ_STATE_COMPLETED, 0},
    {"CANCELLED", BJ_STATE_CANCELLED, 0},
    {"CANCELLED by 1000", BJ_STATE_CANCELLED, 1000},
    {"CANCELLED by 4294967294", BJ_STATE_CANCELLED, 0}, /* no value */
    {"CANCELLED by 4294967295", BJ_STATE_CANCELLED, 0},
    {"CANCELLED by nobody", BJ_STATE_CANCELLED, 0},
    {"FAILED", BJ_STATE_FAILED, 0},
    {"TIMEOUT", BJ_STATE_TIMEOUT, 0},
    {"NODE_FAIL", BJ_STATE_NODE_FAIL, 0},
    {"PREEMPTED", BJ_STATE_PREEMPTED, 0},
    {"BOOT_FAIL", BJ_STATE_BOOT_FAIL, 0},
    {"DEADLINE", BJ_STATE_DEADLINE, 0},
    {"OUT_OF_MEMORY", BJ_STATE_OOM, 0},
    /* flags */
    {"LAUNCH_FAILED", BJ_STATE_FAILED, 0},
    {"REQUEUED", BJ_STATE_REQUEUED, 0},
    {"REQUEUE_HOLD", BJ_STATE_PENDING, 0},
    {"SPECIAL_EXIT", BJ_STATE_PENDING, 0},
    {"RESIZING", BJ_STATE_RESIZED, 0},
    {"CONFIGURING", BJ_STATE_RUNNING, 0},
    {"COMPLETING", BJ_STATE_RUNNING, 0},
    {"STOPPED", BJ_STATE_SUSPENDED, 0},
    {"RECONFIG_FAIL", BJ_STATE_NODE_FAIL, 0},
    {"POWER_UP_NODE", BJ_STATE_RUNNING, 0},
    {"REVOKED", BJ_STATE_CANCELLED, 0},
    {"REQUEUE_FED", BJ_STATE_PENDING, 0},
    {"RESV_DEL_HOLD", BJ_STATE_PENDING, 0},
    {"SIGNALING", BJ_STATE_RUNNING, 0},
    {"STAGE_OUT", BJ_STATE_RUNNING, 0},
    {"EXPEDITING", BJ_STATE_PENDING, 0},
    /* short or truncated */
    {"CD", BJ_STATE_COMPLETED, 0},
    {"OOM", BJ_STATE_OOM, 0},
    {"CA", BJ_STATE_CANCELLED, 0},
    {"R", BJ_STATE_RUNNING, 0},
    {"CANCELLED+", BJ_STATE_CANCELLED, 0},
    {"OUT_OF_ME+", BJ_STATE_OOM, 0},
    {"COMPLETI+", BJ_STATE_RUNNING, 0},
    /* several states, as JSON lists them */
    {"PENDING+REQUEUED", BJ_STATE_REQUEUED, 0},
    {"CANCELLED,COMPLETING", BJ_STATE_CANCELLED, 0},
    {"RUNNING+CONFIGURING", BJ_STATE_RUNNING, 0},
    {"COMPLETING+TIMEOUT", BJ_STATE_TIMEOUT, 0},
    {"FAILED+LAUNCH_FAILED", BJ_STATE_FAILED, 0},
    /* unknown states */
    {"", BJ_STATE_UNKNOWN, 0},
    {"+", BJ_STATE_UNKNOWN, 0},
    {"BRAND_NEW", BJ_STATE_UNKNOWN, 0},
    {"completed", BJ_STATE_UNKNOWN, 0},
    {"COMPLETEDX", BJ_STATE_UNKNOWN, 0},
    {"COMPLETE", BJ_STATE_UNKNOWN, 0},
    {"BRAND_NEW+RUNNING", BJ_STATE_RUNNING, 0},
};

static void test_states(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(states); i++) {
        uint64_t uid = 0;
        const enum bj_job_state s = bj_state_slurm(exact(states[i].text), &uid);
        if (s != states[i].want)
            print_message("'%s': %s\n", states[i].text, bj_state_name(s));
        assert_int_equal(s, states[i].want);
        assert_int_equal(uid, states[i].uid);
        assert_int_equal(bj_state_slurm(exact(states[i].text), NULL), s);
    }
    for (int i = 0; i < BJ_STATES; i++) {
        const char *name = bj_state_name((enum bj_job_state)i);
        assert_int_equal(bj_state_from_name(bj_slice_str(name)), i);
        assert_int_equal(bj_state_ended((enum bj_job_state)i), i >= 4);
    }
    assert_string_equal(bj_state_name((enum bj_job_state)99), "unknown");
    assert_int_equal(bj_state_from_name(BJ_SLICE("")), BJ_STATE_UNKNOWN);
}

static void test_other_states(void **state)
{
    (void)state;
    static const struct {
        char letter;
        int64_t status;
        enum bj_job_state want;
    } pbs[] = {
        {'Q', INT64_MIN, BJ_STATE_PENDING},
        {'H', INT64_MIN, BJ_STATE_PENDING},
        {'W', INT64_MIN, BJ_STATE_PENDING},
        {'R', INT64_MIN, BJ_STATE_RUNNING},
        {'E', 0, BJ_STATE_RUNNING},
        {'B', INT64_MIN, BJ_STATE_RUNNING},
        {'S', INT64_MIN, BJ_STATE_SUSPENDED},
        {'U', INT64_MIN, BJ_STATE_SUSPENDED},
        {'M', INT64_MIN, BJ_STATE_REQUEUED},
        {'F', INT64_MIN, BJ_STATE_UNKNOWN},
        {'F', 0, BJ_STATE_COMPLETED},
        {'X', 0, BJ_STATE_COMPLETED},
        {'F', 1, BJ_STATE_FAILED},
        {'F', 271, BJ_STATE_FAILED},
        {'F', -1, BJ_STATE_FAILED},
        {'F', -29, BJ_STATE_TIMEOUT},
        {'F', -27, BJ_STATE_OOM},
        {'F', -9, BJ_STATE_REQUEUED},
        {'?', 0, BJ_STATE_UNKNOWN},
    };
    for (size_t i = 0; i < COUNT(pbs); i++)
        assert_int_equal(bj_state_pbs(pbs[i].letter, pbs[i].status),
                         pbs[i].want);
    static const struct {
        const char *name;
        uint64_t number;
        enum bj_job_state want;
    } lsf[] = {
        {"PEND", 1, BJ_STATE_PENDING},      {"PSUSP", 2, BJ_STATE_PENDING},
        {"RUN", 4, BJ_STATE_RUNNING},       {"SSUSP", 8, BJ_STATE_SUSPENDED},
        {"USUSP", 16, BJ_STATE_SUSPENDED},  {"EXIT", 32, BJ_STATE_FAILED},
        {"DONE", 64, BJ_STATE_COMPLETED},   {"DONE", 192, BJ_STATE_COMPLETED},
        {"DONE", 320, BJ_STATE_COMPLETED},  {"WAIT", 512, BJ_STATE_PENDING},
        {"UNKWN", 65536, BJ_STATE_UNKNOWN}, {"", 0, BJ_STATE_UNKNOWN},
    };
    for (size_t i = 0; i < COUNT(lsf); i++) {
        assert_int_equal(bj_state_lsf(exact(lsf[i].name)), lsf[i].want);
        assert_int_equal(bj_state_lsf_number(lsf[i].number), lsf[i].want);
    }
}

/* --- ids ------------------------------------------------------------------*/

typedef int id_parser(struct bj_slice s, struct bj_jobid *ret);

#define NONE BJ_ABSENT

static const struct {
    id_parser *parse;
    const char *text;
    int status;
    uint64_t number, task, offset;
    const char *tasks, *step, *server, *without_step;
    bool array;
} ids[] = {
    {bj_jobid_slurm, "123", 0, 123, NONE, NONE, "", "", "", "123", false},
    {bj_jobid_slurm, "123_4", 0, 123, 4, NONE, "", "", "", "123_4", true},
    {bj_jobid_slurm, "123_[1-10%2]", 0, 123, NONE, NONE, "1-10%2", "", "",
     "123_[1-10%2]", true},
    {bj_jobid_slurm, "123_[7]", 0, 123, NONE, NONE, "7", "", "", "123_[7]",
     true},
    {bj_jobid_slurm, "123_[1-5,9,...]", 0, 123, NONE, NONE, "1-5,9,...", "", "",
     "123_[1-5,9,...]", true},
    {bj_jobid_slurm, "123+1", 0, 123, NONE, 1, "", "", "", "123+1", false},
    {bj_jobid_slurm, "123.batch", 0, 123, NONE, NONE, "", "batch", "", "123",
     false},
    {bj_jobid_slurm, "123.extern", 0, 123, NONE, NONE, "", "extern", "", "123",
     false},
    {bj_jobid_slurm, "123.interactive", 0, 123, NONE, NONE, "", "interactive",
     "", "123", false},
    {bj_jobid_slurm, "123_4.0", 0, 123, 4, NONE, "", "0", "", "123_4", true},
    {bj_jobid_slurm, "123+1.0", 0, 123, NONE, 1, "", "0", "", "123+1", false},
    {bj_jobid_slurm, "123.0+1", 0, 123, NONE, NONE, "", "0", "", "123", false},
    {bj_jobid_slurm, "9223372036854775807", 0, INT64_MAX, NONE, NONE, "", "",
     "", "9223372036854775807", false},
    {bj_jobid_slurm, "9223372036854775808", -EINVAL, 0, 0, 0, "", "", "", "",
     false},
    {bj_jobid_slurm, "", -EINVAL, 0, 0, 0, "", "", "", "", false},
    {bj_jobid_slurm, "abc", -EINVAL, 0, 0, 0, "", "", "", "", false},
    {bj_jobid_slurm, "123_", -EINVAL, 0, 0, 0, "", "", "", "", false},
    {bj_jobid_slurm, "123+", -EINVAL, 0, 0, 0, "", "", "", "", false},
    {bj_jobid_slurm, "123.", -EINVAL, 0, 0, 0, "", "", "", "", false},
    {bj_jobid_slurm, "123 ", -EINVAL, 0, 0, 0, "", "", "", "", false},
    {bj_jobid_slurm, "123_[1-10", -EINVAL, 0, 0, 0, "", "", "", "", false},
    {bj_jobid_slurm, "123_[a]", -EINVAL, 0, 0, 0, "", "", "", "", false},
    {bj_jobid_slurm, "123_4x", -EINVAL, 0, 0, 0, "", "", "", "", false},
    {bj_jobid_slurm, "123.a b", -EINVAL, 0, 0, 0, "", "", "", "", false},
    {bj_jobid_slurm, "123.0+x", -EINVAL, 0, 0, 0, "", "", "", "", false},
    {bj_jobid_slurm, "-1", -EINVAL, 0, 0, 0, "", "", "", "", false},
    {bj_jobid_pbs, "123.server", 0, 123, NONE, NONE, "", "", "server",
     "123.server", false},
    {bj_jobid_pbs, "123[4].pbs-1.example.org", 0, 123, 4, NONE, "", "",
     "pbs-1.example.org", "123[4].pbs-1.example.org", true},
    {bj_jobid_pbs, "123[].server", 0, 123, NONE, NONE, "", "", "server",
     "123[].server", true},
    {bj_jobid_pbs, "123[1-5:2].server", 0, 123, NONE, NONE, "1-5:2", "",
     "server", "123[1-5:2].server", true},
    {bj_jobid_pbs, "123", 0, 123, NONE, NONE, "", "", "", "123", false},
    {bj_jobid_pbs, "R123.server", -EINVAL, 0, 0, 0, "", "", "", "", false},
    {bj_jobid_pbs, "123[4", -EINVAL, 0, 0, 0, "", "", "", "", false},
    {bj_jobid_pbs, "123].s", -EINVAL, 0, 0, 0, "", "", "", "", false},
    {bj_jobid_pbs, "123[4]s", -EINVAL, 0, 0, 0, "", "", "", "", false},
    {bj_jobid_pbs, "123.ser ver", -EINVAL, 0, 0, 0, "", "", "", "", false},
    {bj_jobid_pbs, "123[4]", 0, 123, 4, NONE, "", "", "", "123[4]", true},
    {bj_jobid_pbs, "123[1-10]", 0, 123, NONE, NONE, "1-10", "", "", "123[1-10]",
     true},
    {bj_jobid_pbs, "123[4]@hpc", -EINVAL, 0, 0, 0, "", "", "", "", false},
};

static void same(struct bj_slice have, const char *want)
{
    assert_int_equal(have.n, strlen(want));
    if (have.n > 0)
        assert_memory_equal(have.p, want, have.n);
}

static void test_ids(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(ids); i++) {
        struct bj_jobid id = {.number = 77};
        const int r = ids[i].parse(exact(ids[i].text), &id);
        if (r != ids[i].status)
            print_message("'%s': %d\n", ids[i].text, r);
        assert_int_equal(r, ids[i].status);
        if (r < 0) {
            assert_int_equal(id.number, 77);
            continue;
        }
        assert_int_equal(id.number, ids[i].number);
        assert_true(id.task == ids[i].task && id.offset == ids[i].offset);
        assert_int_equal(id.array, ids[i].array);
        same(id.tasks, ids[i].tasks);
        same(id.step, ids[i].step);
        same(id.server, ids[i].server);
        same(id.without_step, ids[i].without_step);
    }
}

static void test_words_for_nothing(void **state)
{
    (void)state;
    static const char *const none[] = {
        "", "None", "None assigned", "N/A", "(null)", "Unknown", "-"};
    static const char *const some[] = {"none", "Nones", "n1", "--", "null"};
    for (size_t i = 0; i < COUNT(none); i++)
        assert_true(bj_word_is_none(exact(none[i])));
    for (size_t i = 0; i < COUNT(some); i++)
        assert_false(bj_word_is_none(exact(some[i])));
}

static int free_copy(void **state)
{
    (void)state;
    exact("");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_pbs_times),
        cmocka_unit_test(test_lsf_times),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_other_states),
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_words_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, free_copy);
}

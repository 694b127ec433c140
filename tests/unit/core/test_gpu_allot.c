/* The GPUs that Slurm allocated to a job, in recorded, simulated and forged
 * output of scontrol. */
#include "core/gpu/lookup.h"

#include "base/file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define NODE "n07"
#define JOB(lines)                                                             \
    "JobId=7 JobName=x\n   UserId=a(1) GroupId=a(1)\n   NodeList=n[07-08]\n"   \
    "   Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*\n" lines              \
    "   MinCPUsNode=1 MinMemoryCPU=256M MinTmpDiskNode=0\n\n"
#define LINE(node, gres) "     Nodes=" node " CPU_IDs=0-3 Mem=9 GRES=" gres "\n"

static const struct {
    const char *text, *gpus; /* NULL: unknown */
    bool shared;
} texts[] = {
    {JOB(LINE("n07", "gpu:tesla:1(IDX:0)")), "0", false},
    {JOB(LINE("n07", "gpu:4(IDX:0-1,6-7)")), "0-1,6-7", false},
    {JOB(LINE("n07", "gpu:a:2(IDX:0,2),gpu:b:1(IDX:5)")), "0,2,5", false},
    {JOB(LINE("n07", "gpu:a:1(IDX:3),shard:a:2(2/4)")), "3", true},
    {JOB(LINE("n07", "tpu:2(IDX:0-1),gpu:a:1(IDX:3)")), "3", false},
    /* equal nodes share a line, others have one each */
    {JOB(LINE("n[06-08]", "gpu:1(IDX:2)")), "2", false},
    {JOB(LINE("n08", "gpu:1(IDX:1)") LINE("n07", "gpu:1(IDX:2)")), "2", false},
    {JOB(LINE("n08", "gpu:1(IDX:1)") LINE("n09", "gpu:1(IDX:2)")), NULL, false},
    /* a single node is this one, under any name */
    {JOB(LINE("other", "gpu:1(IDX:4)")), "4", false},
    {JOB(LINE("other[1-2]", "gpu:1(IDX:4)")), NULL, false},
    /* no GPU */
    {JOB(LINE("n07", "")), NULL, false},
    {JOB(LINE("n07", "gpu:tesla:0(IDX:N/A)")), NULL, false},
    {JOB(LINE("n07", "gpu:tesla:1")), NULL, false},
    {JOB(""), NULL, false},
    {"", NULL, false},
    {"slurm_load_jobs error: Invalid job id specified\n", NULL, false},
    /* of another job */
    {"JobId=8 JobName=y\n" LINE("n07", "gpu:1(IDX:1)"), NULL, false},
    {"JobId=8 JobName=y\n" LINE("n07", "gpu:1(IDX:1)")
         JOB(LINE("n07", "gpu:1(IDX:2)")),
     "2", false},
    /* Forged in a name or comment: the forged line is ignored, or the whole
     * text is not used. */
    {"JobId=7 JobName=x\n" LINE("n07", "gpu:8(IDX:0-7)")
         LINE("n07", "gpu:1(IDX:2)"),
     NULL, false},
    {"JobId=7 JobName=x JobId=7 Nodes=n07 CPU_IDs=0 Mem=1 "
     "GRES=gpu:1(IDX:1)\n" LINE("n07", "gpu:1(IDX:2)"),
     "2", false},
    {JOB(LINE("n07", "gpu:1(IDX:2)")) "   Comment=Nodes=n07 CPU_IDs=0 Mem=1 "
                                      "GRES=gpu:8(IDX:0-7)\n",
     "2", false},
    /* invalid */
    {JOB(LINE("n07", "gpu:1(IDX:2")), NULL, false},
    {JOB(LINE("n07", "gpu:1(IDX:2;3)")), NULL, false},
    {JOB(LINE("n[07", "gpu:1(IDX:2)")), NULL, false},
    {JOB("     Nodes=n07 CPU_IDs=0-3 GRES=gpu:1(IDX:2)\n"), NULL, false},
};

static void test_texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct bj_gpu_claim c = {.environ = false};
        bool known = bj_gpu_allot_slurm(bj_slice_str(texts[i].text),
                                        BJ_SLICE("7"), BJ_SLICE(NODE), &c);
        if (known != (texts[i].gpus != NULL) || c.environ != known ||
            c.shared != texts[i].shared ||
            strcmp(c.text, texts[i].gpus ? texts[i].gpus : "") != 0)
            fail_msg("text %zu: %d '%s'", i, known, c.text);
    }
}

/* Recorded from Slurm 22.05: job 1 has one of node01's two GPUs, the others
 * have none. */
static void test_recorded(void **state)
{
    static char buf[65536];
    struct bj_slice text;
    char id[8];
    (void)state;
    assert_int_equal(bj_file_read(AT_FDCWD,
                                  "tests/fixtures/gpu/scontrol-show-job.txt",
                                  buf, sizeof(buf), &text, NULL),
                     0);
    for (int job = 1; job <= 10; job++) {
        struct bj_gpu_claim c = {.environ = false};
        snprintf(id, sizeof(id), "%d", job);
        assert_int_equal(
            bj_gpu_allot_slurm(text, bj_slice_str(id), BJ_SLICE("node01"), &c),
            job == 1);
        assert_string_equal(c.text, job == 1 ? "0" : "");
    }
}

static void test_supported_jobs(void **state)
{
    (void)state;
    assert_true(bj_gpu_allot_can(BJ_SLICE("slurm"), BJ_SLICE("4711")));
    assert_false(bj_gpu_allot_can(BJ_SLICE("pbs"), BJ_SLICE("4711")));
    assert_false(bj_gpu_allot_can(BJ_SLICE("slurm"), BJ_SLICE("")));
    assert_false(bj_gpu_allot_can(BJ_SLICE("slurm"), BJ_SLICE("-1")));
    assert_false(bj_gpu_allot_can(BJ_SLICE("slurm"), BJ_SLICE("1,2")));
    assert_false(bj_gpu_allot_can(BJ_SLICE("slurm"), BJ_SLICE("1 2")));
    assert_false(
        bj_gpu_allot_can(BJ_SLICE("slurm"), BJ_SLICE("11111111111111111111")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_texts),
                                       cmocka_unit_test(test_recorded),
                                       cmocka_unit_test(test_supported_jobs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

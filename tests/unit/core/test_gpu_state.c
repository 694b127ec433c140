/* The counters of GPUs that survive a restart, as lines of the state file. */
#include "base/buf.h"
#include "core/gpu/gpus_impl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void drop(struct bj_gpus *g)
{
    while (g->nkept > 0)
        free(g->kept[--g->nkept].key);
    free(g->kept);
    free(g->dev);
}

/* No job runs: only loaded counters are saved. */
static struct bj_slice no_key(const struct bj_track *t)
{
    (void)t;
    return (struct bj_slice){NULL, 0};
}

/* Load lines, save them again, and return the result. */
static const char *kept(const char *lines)
{
    static char text[4096];
    struct bj_gpus g = {0};
    struct bj_buf out = {0};
    bj_gpus_load(&g, bj_slice_str(lines));
    bj_gpus_save(&g, no_key, &out);
    assert_false(out.failed);
    snprintf(text, sizeof(text), "%.*s", (int)out.len, out.p ? out.p : "");
    bj_buf_free(&out);
    drop(&g);
    return text;
}

#define GPU "gpu GPU-a 1 2 3 4 5 6 7 8 9 10 11 12 13 6\n"
#define JOB "gpu-job slurm//11%2322 GPU-a 8 1 1 2 3 4 5 6 7 8"
#define ABSENT "18446744073709551615"

static void test_round_trip(void **state)
{
    static const char *const same[] = {
        "",
        GPU,
        JOB "\n",
        GPU "gpu-number 0 3 GPU-a\n",
        GPU JOB " compute 9 copy 10\n",
        GPU "gpu GPU-b 0 0 0 0 0 9 0 0 0 0 0 0 0 0\n" JOB "\n"
            "gpu-job slurm//12%2322 GPU-b 1 0 0 0 0 0 0 0 0 " ABSENT "\n",
        JOB "\ngpu-fault slurm//11%2322 GPU-a 4 95 1000 1\n",
        JOB "\ngpu-conflict slurm//11%2322 GPU-a 12\n"
            "gpu-fault slurm//11%2322 GPU-a 4 95 1000 1\n",
        "gpu-job a%20b%0a%231 GPU-a 16 0 1 2 3 4 5 6 7 8\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
        assert_string_equal(kept(same[i]), same[i]);
}

/* An invalid line or field is left out, and the rest is loaded. */
static void test_bad(void **state)
{
    static const char *const bad[] = {
        "gpu-job\n",
        "gpu-job slurm//11%2322\n",
        "gpu-job slurm//11%2322 GPU-a 8 1 1 2 3 4 5 6 7\n",
        "gpu-job slurm//11%2322 GPU-a x 1 1 2 3 4 5 6 7 8\n",
        "gpu-job slurm%2 GPU-a 8 1 1 2 3 4 5 6 7 8\n",
        "gpu-job slurm//11%2322 GPU-a 0 1 1 2 3 4 5 6 7 8\n", /* no evidence */
        "gpu-jobs slurm//11%2322 GPU-a 8 1 1 2 3 4 5 6 7 8\n",
        "gpu GPU-a 1 2 3\n",
        "gpu-fault slurm//11%2322 GPU-a 4 95 1000 1\n",   /* no such job */
        "gpu-health GPU-a boot 1 1 4 95 1 1000 1 1 11\n", /* another boot */
        "gpu-conflict slurm//11%2322 GPU-a 12\n",         /* no such job */
        "gpu-log boot 7\n",
        "zone rapl 1 2 3\n",
    };
    char text[512];
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(text, sizeof(text), "%s%s", bad[i], JOB "\n");
        assert_string_equal(kept(text), JOB "\n");
    }
    assert_string_equal(kept(JOB "\ngpu-conflict slurm//11%2322 GPU-a 32\n"),
                        JOB "\n");
    assert_string_equal(kept(JOB " compute x\n"), JOB "\n");
    assert_string_equal(kept(JOB " compute\n"), JOB "\n");
}

/* The counters of a job that ended while no exporter ran are removed. */
static void test_forget(void **state)
{
    struct bj_gpus g = {0};
    (void)state;
    bj_gpus_load(&g, BJ_SLICE(JOB "\n"
                                  "gpu-job b#1 GPU-a 8 0 1 2 3 4 5 6 7 8\n"
                                  "gpu-job b#1 GPU-b 8 0 1 2 3 4 5 6 7 8\n"));
    assert_int_equal(g.nkept, 3);
    bj_gpus_forget(&g, BJ_SLICE("b#1"));
    assert_int_equal(g.nkept, 1);
    assert_string_equal(g.kept[0].key, "slurm//11#22");
    assert_int_equal(g.kept[0].sums.memory_peak_bytes, 8);
    drop(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip),
                                       cmocka_unit_test(test_bad),
                                       cmocka_unit_test(test_forget)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

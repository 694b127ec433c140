/* The next request of single jobs: options and what they replace, for Slurm and
 * LSF; for PBS: test_statsdb_request_pbs.c. */
#include "base/buf.h"
#include "report/request/request.h"
#include "store/db.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MIB(n) ((int64_t)(n) << 20)

#define GIB(n) (MIB(n) << 10)
#define NO BJ_SQL_NULL

/* Single requests: those that contradicted themselves when each option was
 * computed alone, and LSF. */
static const struct {
    const char *system, *line;
    int64_t nodes, cpus, gpus, memory; /* GiB */
    struct bj_request_need need;
    const char *options, *replaces;
} requests[] = {
    /* serial, needs 20 GiB; its memory depended on the CPUs */
    {"slurm",
     "sbatch -c 8 --mem-per-cpu=4G job.sh",
     1,
     8,
     0,
     32,
     {NO, GIB(20), NO, NO, 1, NO, NO, 1, true, false},
     "-c 1 --mem=20G",
     "-c 8|--mem-per-cpu=4G"},
    {"slurm",
     "sbatch -c 8 --mem-per-cpu=4G job.sh",
     1,
     8,
     0,
     32,
     {NO, NO, NO, NO, 1, NO, NO, 1, true, false},
     "-c 1 --mem=32G",
     "-c 8|--mem-per-cpu=4G"},
    /* tasks, not CPUs of a task */
    {"slurm",
     "sbatch --ntasks=8 --mem=32G job.sh",
     1,
     8,
     0,
     32,
     {NO, NO, NO, NO, 3, NO, NO, 3, false, false},
     "--ntasks=3",
     "--ntasks=8"},
    /* memory for each GPU, with fewer GPUs */
    {"slurm",
     "sbatch --gres=gpu:a100:4 -c 8 --mem-per-gpu=16G job.sh",
     1,
     8,
     4,
     64,
     {NO, NO, NO, NO, NO, 1, NO, NO, false, false},
     "--gres=gpu:a100:1 --mem-per-gpu=64G",
     "--gres=gpu:a100:4|--mem-per-gpu=16G"},
    {"slurm",
     "sbatch -G 4 --cpus-per-gpu=8 --mem=64G job.sh",
     1,
     32,
     4,
     64,
     {NO, NO, NO, NO, NO, 2, NO, NO, false, false},
     NULL,
     NULL},
    {"slurm",
     "salloc -G 4 --cpus-per-gpu=8 --mem=64G",
     1,
     32,
     4,
     64,
     {NO, NO, NO, NO, NO, 2, NO, NO, false, false},
     "--cpus-per-gpu=16 -G 2",
     "--cpus-per-gpu=8|-G 4"},
    /* GPUs of a script that may have CPUs or memory for each of them */
    {"slurm",
     "sbatch job.sh",
     1,
     8,
     4,
     64,
     {7200, GIB(6), NO, NO, NO, 1, NO, NO, false, false},
     "--mem=6G --time=02:00:00",
     ""},
    {"slurm",
     "",
     2,
     8,
     0,
     64,
     {7200, GIB(6), NO, NO, NO, NO, NO, NO, false, false},
     "--time=02:00:00",
     ""},
    /* not what accounting has, an abbreviation, two parts */
    {"slurm",
     "sbatch --mem=16G job.sh",
     1,
     8,
     0,
     64,
     {NO, GIB(6), NO, NO, NO, NO, NO, NO, false, false},
     NULL,
     NULL},
    {"slurm",
     "sbatch --mem-per-c=8G job.sh",
     1,
     8,
     0,
     64,
     {7200, GIB(6), NO, NO, NO, NO, NO, NO, false, false},
     NULL,
     NULL},
    {"slurm",
     "sbatch -n 4 : -n 4 job.sh",
     1,
     8,
     0,
     64,
     {NO, GIB(6), NO, NO, NO, NO, NO, NO, false, false},
     NULL,
     NULL},
    {"slurm",
     "sbatch --exclusive --mem=64G job.sh",
     1,
     8,
     0,
     64,
     {NO, GIB(6), NO, NO, 2, NO, NO, NO, false, false},
     NULL,
     NULL},
    {"slurm",
     "sbatch --time-min=10 job.sh",
     1,
     8,
     0,
     64,
     {7200, NO, NO, NO, NO, NO, NO, NO, false, false},
     NULL,
     NULL},
    /* ran out of memory */
    {"slurm",
     "sbatch -n 16 --mem-per-cpu=2G job.sh",
     3,
     16,
     0,
     32,
     {NO, NO, NO, GIB(16), NO, NO, NO, NO, false, false},
     "--mem-per-cpu=3G",
     "--mem-per-cpu=2G"},
    /* the words of the shell that the line has lost */
    {"slurm",
     "sbatch --wrap=python x.py --mem=9G",
     1,
     1,
     0,
     64,
     {NO, GIB(6), NO, NO, NO, NO, NO, NO, false, false},
     "--mem=6G",
     ""},
    {"lsf",
     "./prog -n 8",
     1,
     8,
     0,
     64,
     {7200, GIB(6), NO, NO, 1, NO, NO, NO, true, false},
     "-W 2:00",
     ""},
    {"",
     "sbatch job.sh",
     1,
     8,
     0,
     64,
     {7200, GIB(6), NO, NO, NO, NO, NO, NO, false, false},
     NULL,
     NULL},
};

static void test_requests(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        struct bj_arena arena = {0};
        struct bj_request got;
        struct bj_buf replaces = {0};
        const struct bj_request_job job = {bj_slice_str(requests[i].system),
                                           bj_slice_str(requests[i].line),
                                           {NULL, 0},
                                           requests[i].nodes,
                                           requests[i].cpus,
                                           requests[i].cpus,
                                           requests[i].gpus,
                                           GIB(requests[i].memory),
                                           0,
                                           {NULL, 0},
                                           {NULL, 0}};
        bj_request_next(&job, &requests[i].need, &arena, &got);
        const char *want = requests[i].options;
        if (!bj_slice_eq(got.all, bj_slice_str(want)))
            fail_msg("%s:\n  %.*s\ninstead of\n  %s", requests[i].line,
                     (int)got.all.n, got.all.p ? got.all.p : "",
                     want ? want : "nothing");
        for (unsigned k = 0; want && k < BJ_REQUEST_PARTS; k++) {
            const struct bj_slice r = got.of[k].replaces;
            bj_buf_str(&replaces, r.n > 0 && replaces.len > 0 ? "|" : "");
            bj_buf_slice(&replaces, r);
        }
        if (want && !bj_slice_eq((struct bj_slice){replaces.p, replaces.len},
                                 bj_slice_str(requests[i].replaces)))
            fail_msg("%s replaces %.*s", requests[i].line, (int)replaces.len,
                     replaces.p ? replaces.p : "nothing");
        bj_buf_free(&replaces);
        bj_arena_free(&arena);
    }
}

/* Requests of jobs whose script is known: what the script says is replaced
 * where it is written, unless the submit line says otherwise. */
static const struct {
    const char *line, *script;
    int64_t nodes, cpus, gpus, memory; /* GiB */
    struct bj_request_need need;
    const char *options, *replaces, *places, *lines;
} scripts[] = {
    {"sbatch job.sh",
     "2 --mem=64G; 3 -c 4",
     1,
     4,
     0,
     64,
     {NO, GIB(3), NO, NO, NO, NO, NO, NO, false, false},
     "--mem=3G",
     "--mem=64G",
     "2",
     "#SBATCH --mem=3G"},
    /* fewer CPUs, with memory that depends on them */
    {"sbatch job.sh",
     "4 -c 8; 9 --mem-per-cpu=4G",
     1,
     8,
     0,
     32,
     {NO, GIB(20), NO, NO, 1, NO, NO, 1, true, false},
     "-c 1 --mem=20G",
     "-c 8|--mem-per-cpu=4G",
     "4|9",
     "#SBATCH -c 1|#SBATCH --mem=20G"},
    /* the submit line overrides the script: so does the change */
    {"sbatch --mem=64G job.sh",
     "2 --mem=1G; 3 -t 60",
     1,
     1,
     0,
     64,
     {7200, GIB(3), NO, NO, NO, NO, NO, NO, false, false},
     "--mem=3G -t 02:00:00",
     "--mem=64G|-t 60",
     "|3",
     "--mem=3G|#SBATCH -t 02:00:00"},
    /* an option that the script does not have */
    {"sbatch job.sh",
     "none",
     1,
     1,
     0,
     64,
     {NO, GIB(3), NO, NO, NO, NO, NO, NO, false, false},
     "--mem=3G",
     "",
     "",
     "#SBATCH --mem=3G"},
    /* several nodes: nothing could be said without the script */
    {"sbatch job.sh",
     "2 -N 2; 3 --ntasks-per-node=4; 4 --mem=64G",
     2,
     8,
     0,
     128,
     {NO, GIB(3), GIB(5), NO, NO, NO, NO, NO, false, false},
     "--mem=3G",
     "--mem=64G",
     "4",
     "#SBATCH --mem=3G"},
    {"sbatch job.sh",
     "2 -n 8; 3 --gres=gpu:a100:4; 4 --mem=64G",
     1,
     8,
     4,
     64,
     {NO, NO, NO, NO, NO, 1, NO, 8, false, false},
     "--gres=gpu:a100:1",
     "--gres=gpu:a100:4",
     "3",
     "#SBATCH --gres=gpu:a100:1"},
    /* what cannot be read is not advised */
    {"sbatch job.sh",
     "2 --mem=64G; 0 ?",
     1,
     4,
     0,
     64,
     {NO, GIB(3), NO, NO, NO, NO, NO, NO, false, false},
     "",
     "",
     "",
     ""},
    {"sbatch --mem-per-cpu=4G job.sh",
     "2 --mem=64G",
     1,
     16,
     0,
     64,
     {NO, GIB(3), NO, NO, NO, NO, NO, NO, false, false},
     "",
     "",
     "",
     ""},
    /* quotes on the submit line: its options are not known */
    {"sbatch --comment='a b' job.sh",
     "2 --mem=64G",
     1,
     1,
     0,
     64,
     {NO, GIB(3), NO, NO, NO, NO, NO, NO, false, false},
     "--mem=3G",
     "",
     "",
     "#SBATCH --mem=3G"},
};

static void test_scripts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        struct bj_arena arena = {0};
        struct bj_request got;
        struct bj_buf text[3] = {{0}, {0}, {0}};
        const struct bj_request_job job = {
            .system = BJ_SLICE("slurm"),
            .submit_line = bj_slice_str(scripts[i].line),
            .script = bj_slice_str(scripts[i].script),
            .nodes = scripts[i].nodes,
            .cpus = scripts[i].cpus,
            .cpus_requested = scripts[i].cpus,
            .gpus = scripts[i].gpus,
            .memory = GIB(scripts[i].memory)};
        bj_request_next(&job, &scripts[i].need, &arena, &got);
        unsigned n = 0;
        for (unsigned k = 0; k < BJ_REQUEST_PARTS; k++) {
            const struct bj_request_change *c = &got.of[k];
            const struct bj_slice of[] = {c->replaces, c->places, c->line};
            for (unsigned m = 0; c->option.n > 0 && m < 3; m++) {
                bj_buf_str(&text[m], n > 0 ? "|" : "");
                bj_buf_slice(&text[m], of[m]);
            }
            n += c->option.n > 0;
        }
        const char *want[] = {scripts[i].replaces, scripts[i].places,
                              scripts[i].lines};
        if (!bj_slice_eq(got.all, bj_slice_str(scripts[i].options)))
            fail_msg("%s with %s:\n  %.*s\ninstead of\n  %s", scripts[i].line,
                     scripts[i].script, (int)got.all.n,
                     got.all.p ? got.all.p : "", scripts[i].options);
        for (unsigned m = 0; m < 3; m++) {
            if (!bj_slice_eq((struct bj_slice){text[m].p, text[m].len},
                             bj_slice_str(want[m])))
                fail_msg("%s with %s: %.*s instead of %s", scripts[i].line,
                         scripts[i].script, (int)text[m].len,
                         text[m].p ? text[m].p : "", want[m]);
            bj_buf_free(&text[m]);
        }
        bj_arena_free(&arena);
    }
}

static void test_rounding(void **state)
{
    static const struct {
        double peak, want; /* GiB */
    } memory[] = {{0.001, 0.25}, {0.3, 0.5}, {0.8, 1},  {0.9, 2},   {4.6, 6},
                  {25, 30},      {26, 35},   {85, 110}, {900, 1100}};
    static const struct {
        int64_t sec, want;
    } time[] = {{1, 600},
                {700, 900},
                {3599, 3600},
                {3601, 4500},
                {7 * 3600, 7 * 3600},
                {7 * 3600 + 1, 8 * 3600},
                {50 * 3600, 54 * 3600}};
    (void)state;
    for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++) {
        int64_t got =
            bj_request_memory((int64_t)(memory[i].peak * (double)GIB(1)), 20);
        if ((double)got != memory[i].want * (double)GIB(1))
            fail_msg("%g GiB: %g", memory[i].peak,
                     (double)got / (double)GIB(1));
    }
    assert_int_equal(bj_request_memory(GIB(10), 100), GIB(20));
    for (size_t i = 0; i < sizeof(time) / sizeof(time[0]); i++)
        assert_int_equal(bj_request_round_time(time[i].sec), time[i].want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_requests),
                                       cmocka_unit_test(test_scripts),
                                       cmocka_unit_test(test_rounding)};
    return cmocka_run_group_tests_name("request", tests, NULL, NULL);
}

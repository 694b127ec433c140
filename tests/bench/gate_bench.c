/* What restricting a query costs: parses, restricts and prints typical queries
 * of panels, and prints microseconds of CPU and allocations for each.
 *
 * gate_bench [ROUNDS] */
#include "apiserver/conf/gate_conf.h"
#include "promql/restrict.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* The linker replaces malloc() by these (gate_bench.mk). */
void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static unsigned long allocations;

void *__wrap_malloc(size_t n)
{
    allocations++;
    return __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    allocations++;
    return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    allocations++;
    return __real_realloc(p, n);
}

/* From examples/grafana. */
static const char *const queries[] = {
    "1+1",
    "batchjob_job_cpus{cluster=~\"$cluster\",jobid=\"4711\"}",
    "sum by (instance) (rate(batchjob_job_cpu_seconds_total{cluster=~\".*\","
    "jobid=\"4711\"}[5m]))",
    "max((batchjob_job_memory_rss_bytes{jobid=\"4711\"} + "
    "batchjob_job_memory_shmem_bytes{jobid=\"4711\"}) / "
    "batchjob_job_memory_limit_bytes{jobid=\"4711\"})",
    "max(rate(batchjob_job_core_cpu_seconds_total{cluster=~\".*\",jobid=\"1\"}"
    "[5m]) or rate(batchjob_job_core_cpu_estimated_seconds_total{cluster=~"
    "\".*\",jobid=\"1\"}[5m]))",
    "topk(20, sum by (jobid, user, account) (batchjob_job_energy_joules_total{"
    "instance=~\"node.*\"}))",
    "sum(rate(batchjob_job_energy_joules_total{instance=~\".*\"}[5m])) / "
    "sum(rate(batchjob_node_energy_joules_total{instance=~\".*\"}[5m]))",
};

static int once(const struct bj_promql_viewer *viewer, const char *text,
                struct bj_buf *out)
{
    struct bj_arena arena = {0};
    const struct bj_promql_node *tree = NULL;
    struct bj_err err;
    int r = bj_promql_parse(bj_slice_str(text), NULL, &arena, &tree, &err);
    if (r == 0)
        r = bj_promql_restrict(tree, viewer, &arena, &tree, &err);
    if (r == 0)
        bj_promql_print(tree, out);
    bj_arena_free(&arena);
    return r;
}

static double now_usec(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static bool measure(const struct bj_promql_viewer *viewer, const char *who,
                    const char *query, unsigned rounds)
{
    double began = now_usec();
    allocations = 0;
    for (unsigned i = 0; i < rounds; i++) {
        struct bj_buf out = {0};
        if (once(viewer, query, &out) < 0)
            return false;
        bj_buf_free(&out);
    }
    double usec = (now_usec() - began) / rounds;
    printf("%-12s %6.1f us %5.1f allocations  %.60s\n", who, usec,
           (double)allocations / rounds, query);
    return true;
}

int main(int argc, char **argv)
{
    static const struct bj_slice accounts[] = {{"physics", 7}, {"bio.x", 5}};
    unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 20000;
    const struct bj_prom_conf prom = {0};
    struct bj_gate_conf conf = {0};
    struct bj_err err;
    if (rounds == 0 || bj_gate_conf_check(&conf, &prom, &err) < 0)
        return 1;
    struct bj_promql_viewer viewer = {
        {"anna", 4}, accounts, 0, {conf.rule, conf.rules}};
    bool good = true;
    for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
        viewer.account_count = 0;
        good = good && measure(&viewer, "user", queries[i], rounds);
        viewer.account_count = 2;
        good = good && measure(&viewer, "coordinator", queries[i], rounds);
    }
    bj_gate_conf_free(&conf);
    return good ? 0 : 1;
}

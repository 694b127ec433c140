/* Values of a job that are computed from several columns of the store, and the
 * OpenAPI document. */
#include "apiserver/frame/state.h"
#include "apiserver/v1/jobs.h"
#include "base/json.h"
#include "statsdb/tables/best.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka.h needs the headers above */
#include <cmocka.h>

#define NONE BJ_SQL_NULL

static const struct {
    const char *key;
    int64_t value[BJ_JOB_VALUES], want;
} cases[] = {
    {"exit_code", {0, NONE}, NONE},
    {"exit_code", {0, 100}, 0},
    {"exit_signal", {9, 100}, 9},
    {"submit", {0}, NONE},
    {"submit", {5}, 5},
    /* start, eligible, submit */
    {"wait_seconds", {100, 90, 50}, 10},
    {"wait_seconds", {100, NONE, 50}, 50},
    {"wait_seconds", {100, NONE, 0}, NONE},
    {"wait_seconds", {100, 120, 50}, 0},
    {"wait_seconds", {NONE, 90, 50}, NONE},
    {"wait_seconds", {INT64_MAX, -5, 50}, NONE},
    {"cpu_allocated_seconds", {4, 100}, 400},
    {"cpu_allocated_seconds", {4, NONE}, NONE},
    {"cpu_allocated_seconds", {INT64_MAX, 2}, NONE},
    /* measured, its source, the scheduler's */
    {"cpu_used_seconds", {7, BJ_FROM_NODES, 6}, 7},
    {"cpu_used_seconds", {7, BJ_FROM_PROM, NONE}, 7},
    {"cpu_used_seconds", {7, BJ_FROM_NODES, 9}, 9}, /* the larger one */
    {"cpu_used_seconds", {7, BJ_FROM_SCHEDULER, 9}, 9},
    {"cpu_used_seconds", {7, NONE, 9}, 9},
    {"cpu_used_seconds", {NONE, NONE, NONE}, NONE},
    /* measured, its source, end, CPU time, CPUs, seconds */
    {"cpu_efficiency_percent",
     {900001, BJ_FROM_PROM, 9, 360000000, 4, 100},
     900001},
    {"cpu_efficiency_percent", {5, BJ_FROM_PROM, 9, 360000000, 4, 100}, 900000},
    {"cpu_efficiency_percent", {NONE, NONE, 9, 360000000, 4, 100}, 900000},
    {"cpu_efficiency_percent",
     {1, BJ_FROM_SCHEDULER, 9, 360000000, 4, 100},
     900000},
    {"cpu_efficiency_percent", {NONE, NONE, 9, NONE, 4, 100}, NONE},
    {"cpu_efficiency_percent", {NONE, NONE, 9, 360000000, 4, 0}, NONE},
    {"cpu_efficiency_percent", {NONE, NONE, 9, 360000000, NONE, 9}, NONE},
    {"cpu_efficiency_percent", {NONE, NONE, NONE, 360000000, 4, 9}, NONE},
    {"cpu_efficiency_percent", {NONE, NONE, 9, 1, INT64_MAX, 2}, NONE},
    {"cpu_efficiency_source",
     {900001, BJ_FROM_PROM, 9, 360000000, 4, 100},
     BJ_FROM_PROM},
    {"cpu_efficiency_source",
     {5, BJ_FROM_PROM, 9, 360000000, 4, 100},
     BJ_FROM_SCHEDULER},
    {"cpu_efficiency_source",
     {NONE, NONE, 9, 360000000, 4, 100},
     BJ_FROM_SCHEDULER},
    {"cpu_efficiency_source", {NONE, NONE, 9, NONE, 4, 100}, NONE},
    /* held, charged, their source, the scheduler's peaks of the job and a
     * task */
    {"memory_peak_bytes", {5, 9, BJ_FROM_NODES, 2, 1}, 5},
    {"memory_peak_bytes", {5, 9, BJ_FROM_SCHEDULER, 2, 1}, 2},
    {"memory_peak_bytes", {NONE, 9, BJ_FROM_SCHEDULER, 2, 1}, 2},
    {"memory_peak_bytes", {NONE, 9, BJ_FROM_NODES, NONE, NONE}, 9},
    {"memory_peak_bytes", {NONE, NONE, NONE, 1, 2}, 2},
    {"memory_peak_bytes", {NONE, NONE, NONE, NONE, 2}, 2},
    {"memory_peak_bytes", {NONE, NONE, NONE, NONE, NONE}, NONE},
    /* a sample: the scheduler's if that is larger */
    {"memory_peak_bytes", {5, NONE, BJ_FROM_NODES, 2, 1}, 5},
    {"memory_peak_bytes", {5, NONE, BJ_FROM_NODES, 7, 1}, 7},
    {"memory_peak_sampled", {5, NONE, BJ_FROM_NODES, 2, 1}, true},
    {"memory_peak_sampled", {5, 9, BJ_FROM_PROM, 2, 1}, false},
    {"memory_peak_sampled", {5, NONE, BJ_FROM_SCHEDULER, 7, 1}, NONE},
    {"memory_peak_sampled", {NONE, NONE, NONE, 7, 1}, NONE},
    /* the same, and whether held is a charged peak */
    {"memory_peak_charged", {5, 9, BJ_FROM_NODES, 2, 1, 1}, true},
    {"memory_peak_charged", {5, 9, BJ_FROM_PROM, 2, 1, 0}, false},
    {"memory_peak_charged", {5, 9, BJ_FROM_NODES, 2, 1, NONE}, NONE},
    {"memory_peak_charged", {NONE, 9, BJ_FROM_NODES, NONE, NONE, NONE}, true},
    {"memory_peak_charged", {5, NONE, BJ_FROM_SCHEDULER, 7, 1, 0}, NONE},
    {"memory_peak_charged", {NONE, NONE, NONE, 7, 1, NONE}, NONE},
    /* measured, its source, end, peak, of a task, allocated, requested */
    {"memory_efficiency_percent", {42, BJ_FROM_NODES, 9, 5, 1, 10, 40}, 42},
    {"memory_efficiency_percent", {NONE, NONE, 9, 5, 1, 10, 40}, 500000},
    {"memory_efficiency_percent", {NONE, NONE, 9, NONE, 5, 20, 40}, 250000},
    {"memory_efficiency_percent", {NONE, NONE, 9, 5, 1, NONE, 40}, 125000},
    {"memory_efficiency_percent", {NONE, NONE, 9, 5, 1, NONE, NONE}, NONE},
    {"memory_efficiency_percent", {NONE, NONE, 9, NONE, NONE, 10, 40}, NONE},
    {"memory_efficiency_percent", {NONE, NONE, 9, 5, 1, 0, 40}, NONE},
    {"memory_efficiency_percent", {NONE, NONE, NONE, 5, 1, 10, 40}, NONE},
    {"memory_efficiency_source",
     {NONE, NONE, 9, 5, 1, 10, 40},
     BJ_FROM_SCHEDULER},
    /* measured, its source, the scheduler's joules, beyond components */
    {"energy_partial", {5, BJ_FROM_NODES, 9, NONE}, true},
    {"energy_partial", {5, BJ_FROM_PROM, NONE, 0}, false},
    {"energy_partial", {NONE, NONE, 9, NONE}, NONE},
    {"energy_partial", {9, BJ_FROM_SCHEDULER, 9, NONE}, NONE},
    /* limit, seconds, end */
    {"time_efficiency_percent", {60, 30, 9}, 500000},
    {"time_efficiency_percent", {INT64_MAX, 30, 9}, NONE},
    {"time_efficiency_percent", {0, 30, 9}, NONE},
    {"time_efficiency_percent", {60, NONE, 9}, NONE},
    {"time_efficiency_percent", {60, 30, NONE}, NONE},
    /* measured, its source, the scheduler's (0: no meter) */
    {"energy_joules", {7, BJ_FROM_NODES, 9}, 7},
    {"energy_joules", {NONE, NONE, 9}, 9000000},
    {"energy_joules", {NONE, NONE, 0}, NONE},
    {"energy_source", {NONE, NONE, 9}, BJ_FROM_SCHEDULER},
    {"energy_source", {NONE, NONE, NONE}, NONE},
    /* CPUs, seconds, GPUs, bytes, end, energy, its source, the scheduler's,
     * then prices of a CPU hour, a GPU hour, a GiB hour, a kWh */
    {"cost",
     {2, 1800, NONE, 1 << 30, 9, NONE, NONE, NONE, 10000, NONE, NONE, NONE},
     10000},
    {"cost",
     {2, 1800, 4, 1 << 30, 9, 3600000000, BJ_FROM_NODES, NONE, 10000, 500000,
      2000, 250000},
     1011250 /* 0.01 + 1 + 0.001 + 0.00025 */},
    {"cpu_allocated_seconds", {4, 10, 25}, 25},
    {"cpu_efficiency_percent", {NONE, NONE, 9, 20000000, 4, 10, 25}, 800000},
    {"cost", {2, 1800, 4, 1 << 30, 9}, 0},
    /* 900 s of CPU, 1800 s of GPU, 3600 s of a MiB, each 2 an hour. */
    {"cost",
     {2, 1800, 4, 1 << 30, 9, NONE, NONE, NONE, 7200, NONE, NONE, NONE, 900, 5,
      5},
     1800},
    /* Two halves of a millionth are one: the sum is rounded, not its terms. */
    {"cost", {1, 1800, 1, NONE, 9, NONE, NONE, NONE, 1, 1, NONE, NONE}, 1},
    {"cost", {1, 1799, 0, NONE, 9, NONE, NONE, NONE, 1, 1, NONE, NONE}, 0},
    {"cost", {1, 1800, 0, NONE, 9, NONE, NONE, NONE, 1, 1, NONE, NONE}, 1},
    {"cost",
     {2, 1800, 4, 1 << 30, NONE, NONE, NONE, NONE, 10000, 1, 1, 1},
     NONE},
    {"cost",
     {NONE, 1800, 4, 1, 9, NONE, NONE, NONE, 10000, NONE, NONE, NONE},
     NONE},
    {"cost",
     {INT64_MAX, 2, NONE, NONE, 9, NONE, NONE, NONE, 1, NONE, NONE, NONE},
     NONE},
    /* its node failed (state 9), and such jobs are free, or not */
    {"cost",
     {2, 1800, 0, NONE, 9, NONE, NONE, NONE, 10000, NONE, NONE, 1, NONE, NONE,
      NONE, 9, 1},
     0},
    {"cost",
     {2, 1800, 0, NONE, 9, NONE, NONE, NONE, 10000, NONE, NONE, 1, NONE, NONE,
      NONE, 9, 0},
     10000},
    /* it failed, and its GPU had an error: of hardware, or of a program */
    {"cost",
     {2, 1800, 0, NONE, 9, NONE, NONE, NONE, 10000, NONE, NONE, 1, NONE, NONE,
      NONE, 5, 1, 3},
     0},
    {"cost",
     {2, 1800, 0, NONE, 9, NONE, NONE, NONE, 10000, NONE, NONE, 1, NONE, NONE,
      NONE, 5, 1, 2},
     10000},
    {"cost_not_charged",
     {2, 1800, 0, NONE, 9, NONE, NONE, NONE, 10000, NONE, NONE, 1, NONE, NONE,
      NONE, 9, 1},
     10000},
    {"cost_not_charged",
     {2, 1800, 0, NONE, 9, NONE, NONE, NONE, 10000, NONE, NONE, 1, NONE, NONE,
      NONE, 4, 1},
     0},
    {"cost_not_charged",
     {2, 1800, 0, NONE, 9, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
      NONE, 9, NONE},
     NONE},
    {"cost_is_minimum",
     {2, 1800, 0, NONE, 9, NONE, NONE, NONE, 10000, NONE, NONE, 1, NONE, NONE,
      NONE, 13, 1},
     false},
    {"cost_is_minimum",
     {2, 1800, NONE, NONE, 9, NONE, NONE, NONE, 10000, 1, NONE, NONE},
     false},
    {"cost_is_minimum",
     {2, 1800, NONE, NONE, 9, NONE, NONE, NONE, 10000, NONE, 1, NONE},
     true},
    {"cost_is_minimum",
     {2, 1800, NONE, NONE, 9, NONE, NONE, NONE, 10000, NONE, NONE, 1},
     true},
    {"cost_is_minimum",
     {2, 1800, NONE, NONE, 9, NONE, NONE, NONE, NONE, NONE, NONE, NONE},
     NONE},
    {"emissions_covered_percent", {1, 4}, 250000},
    {"emissions_covered_percent", {1, NONE}, NONE},
};

/* Only resized jobs have sums; in the cases above 0 is none. */
static bool is_sum(const char *sql)
{
    return strcmp(sql, "j.cpu_sec") == 0 || strcmp(sql, "j.gpu_sec") == 0 ||
           strcmp(sql, "j.memory_mib_sec") == 0;
}

static void test_computed_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct bj_column *k = bj_job_column(bj_slice_str(cases[i].key));
        assert_non_null(k);
        assert_non_null(k->make);
        int64_t v[BJ_JOB_VALUES];
        memcpy(v, cases[i].value, sizeof(v));
        for (unsigned n = 0; n < BJ_JOB_VALUES && k->sql[n]; n++)
            if (v[n] == 0 && is_sum(k->sql[n]))
                v[n] = NONE;
        int64_t got = k->make(v);
        if (got != cases[i].want)
            print_error("%s, case %zu\n", cases[i].key, i);
        assert_true(got == cases[i].want);
    }
}

/* The limits for rows and picked values suffice for all columns. */
static void test_bounds(void **state)
{
    (void)state;
    unsigned n = 0, values = 0;
    for (const struct bj_column *k = bj_job_columns; k->name; k++, n++) {
        assert_true(strlen(k->name) <= BJ_COLUMN_NAME);
        assert_non_null(k->sql[0]);
        for (unsigned i = 0; i < BJ_JOB_VALUES && k->sql[i]; i++)
            values++;
    }
    assert_true(n <= BJ_JOB_COLUMNS && n <= BJ_ROW_KEYS);
    assert_true(values <= BJ_PICKED_VALUES);
}

/* --- OpenAPI ---------------------------------------------------------------
 */

/* The path as the document writes it: "/jobs/{job}". */
static struct bj_slice documented(const char *path, struct bj_buf *b)
{
    const char *what = strstr(path, "/users/")      ? "{user}"
                       : strstr(path, "/accounts/") ? "{account}"
                       : strstr(path, "/nodes/")    ? "{node}"
                       : strstr(path, "/label/")    ? "{name}"
                                                    : "{job}";
    b->len = 0;
    for (; *path; path++)
        if (*path != '*')
            bj_buf_put(b, path, 1);
        else
            bj_buf_str(b, path[-1] == '*' ? "/{metric}" : what);
    bj_buf_put(b, "", 1);
    return (struct bj_slice){b->p, b->len - 1};
}

static const struct bj_json *document(struct bj_call *c, struct bj_arena *a)
{
    const struct bj_endpoint *doc = bj_endpoints_openapi;
    const struct bj_json *root = NULL;
    assert_int_equal(doc->run(c), 0);
    assert_false(c->reply->body.failed);
    assert_int_equal(
        bj_json_parse(a,
                      (struct bj_slice){c->reply->body.p, c->reply->body.len},
                      "openapi", NULL, &root, NULL),
        0);
    return bj_json_get(root, "paths");
}

/* The document has each path of the server with each of its methods. */
static void test_openapi(void **state)
{
    (void)state;
    const struct bj_endpoint *all[BJ_API_ENDPOINTS] = {NULL};
    struct bj_api_worker worker = {.endpoint = all};
    struct bj_http_reply reply = {.status = 200};
    struct bj_call call = {.worker = &worker, .reply = &reply};
    struct bj_arena arena = {0};
    unsigned n = 0;
    for (const struct bj_endpoint *const *t = bj_endpoint_tables; *t; t++)
        for (const struct bj_endpoint *e = *t; e->path; e++)
            all[n++] = e;
    assert_in_range(n, 60, BJ_API_ENDPOINTS - 1);
    struct bj_buf path = {0};
    const struct bj_json *paths = document(&call, &arena);
    for (unsigned i = 0; i < n; i++) {
        /* Not documented: it rejects unknown Prometheus paths. */
        if (strcmp(all[i]->path, "/prometheus/**") == 0)
            continue;
        const struct bj_json *of =
            bj_json_get(paths, documented(all[i]->path, &path).p);
        if (!of)
            fail_msg("%s is not in the OpenAPI document", path.p);
        assert_int_equal(bj_json_get(of, "get") != NULL,
                         (all[i]->methods & BJ_HTTP_GET) != 0);
        assert_int_equal(bj_json_get(of, "post") != NULL,
                         (all[i]->methods & BJ_HTTP_POST) != 0);
    }
    bj_arena_free(&arena);
    bj_buf_free(&path);
    bj_buf_free(&reply.body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_computed_values),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_openapi),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

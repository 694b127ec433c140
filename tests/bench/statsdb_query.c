/* What a query of the store costs: statsdb_query STORE ROUNDS SQL
 *
 * Prints rows, the minimum and median time of a round, and the numbers of steps
 * of SQLite's virtual machine and of full scans, which are the same each
 * time. */
#include "base/clock.h"
#include "base/slice.h"
#include "statsdb/tables/store.h"
#include "store/sqlite_probe.h"

#include <stdio.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int measure(struct bj_st *st, uint64_t rounds, uint64_t *took,
                   struct bj_err *err)
{
    uint64_t rows = 0, bytes = 0;
    int r = 0;
    for (uint64_t i = 0; r == 0 && i < rounds; i++) {
        uint64_t begin = bj_clock_boot_usec();
        rows = 0;
        while ((r = bj_st_row(st, err)) > 0) {
            rows++;
            for (int c = 0; c < bj_st_columns(st); c++)
                bytes += bj_st_get_text(st, c).n;
        }
        took[i] = bj_clock_boot_usec() - begin;
    }
    if (r < 0)
        return r;
    qsort(took, rounds, sizeof(*took), ascending);
    struct bj_probe_cost cost;
    bj_probe_cost(st, &cost);
    int n = (int)rounds;
    printf("rows=%llu bytes=%llu best_us=%llu median_us=%llu steps=%d "
           "scan_steps=%d sorts=%d\n",
           (unsigned long long)rows, (unsigned long long)(bytes / rounds),
           (unsigned long long)took[0], (unsigned long long)took[rounds / 2],
           cost.steps / n, cost.scans / n, cost.sorts / n);
    return 0;
}

int main(int argc, char **argv)
{
    struct bj_store *store;
    struct bj_st *st = NULL;
    struct bj_err err = {0};
    uint64_t rounds = 0;
    if (argc < 4 || bj_slice_u64(bj_slice_str(argv[2]), &rounds) < 0 ||
        rounds == 0 || rounds > 1000000) {
        fprintf(stderr, "usage: statsdb_query STORE ROUNDS SQL\n");
        return 2;
    }
    bj_db_single_thread();
    struct bj_store_options opt = {.path = argv[1], .read_only = true};
    uint64_t *took = calloc(rounds, sizeof(*took));
    int r = took ? bj_store_open(&opt, &store, &err) : -ENOMEM;
    if (r == 0) {
        r = bj_db_prepare(bj_store_db(store), argv[3], &st, &err);
        if (r == 0)
            r = measure(st, rounds, took, &err);
        bj_st_finalize(st);
        bj_store_close(store);
    }
    if (r < 0)
        fprintf(stderr, "%s\n", err.msg);
    free(took);
    return r < 0;
}

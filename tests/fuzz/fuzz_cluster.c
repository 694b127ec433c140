/* The output of Slurm's commands about a cluster: nothing is read past the end,
 * parts add up to the whole, no two series have the same labels.  The first
 * byte chooses the command, from 128 on one of the site's. */
#include "tests/fuzz/fuzz_cluster.h"
#include "core/cluster/own.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct bj_scheduler_conf conf = {.max_series = 16,
                                                  .gpu_idle_cpus = 1};
    if (size == 0)
        return 0;
    const struct bj_cluster_reader *reader =
        &bj_cluster_readers[*data % BJ_CLUSTER_SOURCES];
    struct bj_cluster_reader own = *reader;
    if (*data >= 128)
        own.line = *data & 1   ? bj_cluster_own_job_line
                   : *data & 2 ? bj_cluster_own_node_line
                               : bj_cluster_own_limit_line;
    if (*data >= 128) {
        own.end = NULL;
        reader = &own;
    }
    struct bj_cluster_work w = {.conf = &conf,
                                .by = 511,
                                .wall_sec = 1795195564,
                                .name = {"sandbox", 7}};
    struct bj_slice rest = {(const char *)data + 1, size - 1}, line;
    char *all = NULL;
    MUST(bj_cluster_work_begin(&w) == 0);
    if (!reader->line)
        MUST(bj_cluster_read_constants(&w, "file",
                                       fuzz_exact(rest.p, rest.n, &all)) == 0);
    free(all);
    while (reader->line && bj_slice_line(&rest, &line)) {
        char *mem;
        MUST(bj_cluster_work_line(&w, reader,
                                  fuzz_exact(line.p, line.n, &mem)) == 0);
        free(mem);
    }
    if (bj_cluster_work_end(&w, reader) == 0) {
        check_jobs(w.part, true, *data >= 128);
        check_nodes(w.part);
        check_keys(&w);
    }
    bj_cluster_work_free(&w);
    return 0;
}

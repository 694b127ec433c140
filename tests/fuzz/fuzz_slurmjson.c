/* Slurm's JSON about a cluster: nothing is read past the end, the result does
 * not depend on where the document was cut, and parts add up to the whole.  The
 * first byte chooses the kind of document, the second the size of the
 * pieces. */
#include "sched/slurmrestd.h"
#include "tests/fuzz/fuzz_cluster.h"

static const struct bj_scheduler_conf conf = {.max_series = 16,
                                              .gpu_idle_cpus = 1};

static int read_doc(struct bj_cluster_work *w, enum bj_slurmjson_kind kind,
                    struct bj_slice text, size_t step)
{
    struct bj_slurmjson *j;
    *w = (struct bj_cluster_work){.conf = &conf,
                                  .by = 255,
                                  .wall_sec = 1795195564,
                                  .name = {"sandbox", 7}};
    MUST(bj_cluster_work_begin(w) == 0);
    MUST(bj_cluster_json_new(w, kind, &j, NULL) == 0);
    int r = 0;
    while (r == 0 && text.n > 0) {
        const size_t n = text.n < step ? text.n : step;
        char *mem;
        r = bj_slurmjson_feed(j, fuzz_exact(text.p, n, &mem), NULL);
        free(mem);
        text = (struct bj_slice){text.p + n, text.n - n};
    }
    if (r == 0)
        r = bj_slurmjson_end(j, NULL);
    bj_slurmjson_free(j);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    const struct bj_slice text = {(const char *)data + 2, size - 2};
    const enum bj_slurmjson_kind kind =
        (enum bj_slurmjson_kind)(*data % BJ_SLURMJSON_KINDS);
    static const struct bj_cluster_reader reader = {.name = "json"};
    struct bj_cluster_work a, b;
    for (int f = 0; f < BJ_SLURMRESTD_FAMILIES; f++) {
        const unsigned v =
            bj_slurmrestd_newest(text, (enum bj_slurmrestd_family)f);
        MUST(v == 0 || (v >= 37 && v <= 99));
    }
    const int r = read_doc(&a, kind, text, size);
    MUST(read_doc(&b, kind, text, 1 + data[1] % 50) == r);
    if (r == 0) {
        MUST(a.good == b.good && a.bad == b.bad);
        if (bj_cluster_work_end(&a, &reader) == 0) {
            check_jobs(a.part, false, false);
            check_nodes(a.part);
            check_keys(&a);
        }
    }
    bj_cluster_work_free(&a);
    bj_cluster_work_free(&b);
    return 0;
}

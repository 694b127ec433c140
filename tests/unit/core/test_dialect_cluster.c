/* The cluster in the formats of other exporters: a recording of Slurm 22.05 and
 * a few simulated nodes and jobs, compared with what
 * tests/fixtures/cluster/peers.py computes from the same texts by the
 * definitions of those exporters. */
#include "core/cluster/part.h"
#include "standalone/dialect.h"
#include "tests/unit/lib/fail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define FIXTURES "tests/fixtures/"
#define S(text) bj_slice_str(text)

enum { ALL = 511, NOW = 1795195564, LINES = 2000 };

static struct bj_scheduler_conf conf = {.max_series = 1000, .gpu_idle_cpus = 1};

static struct bj_slice load(const char *name)
{
    char path[200];
    snprintf(path, sizeof(path), FIXTURES "%s", name);
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("%s: run from the root of the source", path);
    char *text = malloc(1 << 17);
    assert_non_null(text);
    const size_t n = fread(text, 1, 1 << 17, f);
    fclose(f);
    return (struct bj_slice){text, n};
}

static const struct {
    enum bj_cluster_source id;
    const char *file[2];
} sources[] = {
    {BJ_CLUSTER_RESERVATIONS, {"cluster/reservations.txt"}},
    {BJ_CLUSTER_QUEUE, {"cluster/squeue.txt", "cluster/sim.squeue.txt"}},
    {BJ_CLUSTER_NODES, {"cluster/sinfo.txt", "cluster/sim.sinfo.txt"}},
    {BJ_CLUSTER_DIAG, {"cluster/sdiag.txt"}},
    {BJ_CLUSTER_LICENSES, {"cluster/licenses.txt", "cluster/sim.licenses.txt"}},
    {BJ_CLUSTER_SHARES, {"cluster/shares.txt"}},
    {BJ_CLUSTER_LIMITS, {"cluster/limits.txt"}},
};

static void read_file(struct bj_cluster_work *w, enum bj_cluster_source id,
                      const char *name)
{
    struct bj_slice all = load(name), rest = all, line;
    while (bj_slice_line(&rest, &line))
        assert_int_equal(bj_cluster_work_line(w, &bj_cluster_readers[id], line),
                         0);
    free((void *)(uintptr_t)all.p);
}

/* Read a source's files into the snapshot. */
static void read_source(struct bj_snap *snap, size_t i)
{
    enum bj_cluster_source id = sources[i].id;
    struct bj_cluster_work w = {
        .conf = &conf,
        .by = ALL,
        .wall_sec = NOW,
        .name = {"sandbox", 7},
        .reservations = snap->cluster_lists.part[BJ_CLUSTER_RESERVATIONS]};
    assert_int_equal(bj_cluster_work_begin(&w), 0);
    for (int f = 0; f < 2 && sources[i].file[f]; f++)
        read_file(&w, id, sources[i].file[f]);
    assert_int_equal(bj_cluster_work_end(&w, &bj_cluster_readers[id]), 0);
    for (unsigned k = 0; k < BJ_CL_LISTS; k++)
        if (w.part->list[k].n > 0)
            snap->cluster_lists.list[k] = w.part->list[k];
    snap->cluster_lists.part[id] = w.part;
    w.part = NULL;
    bj_cluster_work_free(&w);
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Returns the samples of a page, sorted as peers.py writes them; the caller
 * frees them. */
static char *sorted(const struct bj_buf *page)
{
    static char *lines[LINES];
    struct bj_slice rest = {page->p, page->len}, line;
    struct bj_buf out = {0};
    size_t n = 0;
    while (bj_slice_line(&rest, &line))
        if (line.n > 0 && *line.p != '#' &&
            !bj_slice_starts(line, S("process_"))) {
            assert_true(n < LINES);
            lines[n++] = strndup(line.p, line.n);
        }
    qsort(lines, n, sizeof(*lines), by_bytes);
    for (size_t i = 0; i < n; i++) {
        bj_buf_str(&out, lines[i]);
        bj_buf_str(&out, "\n");
        free(lines[i]);
    }
    bj_buf_put(&out, "", 1);
    assert_false(out.failed);
    return out.p;
}

static struct bj_snap snap;

static int setup(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(sources); i++)
        read_source(&snap, i);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (unsigned i = 0; i < BJ_CLUSTER_SOURCES; i++)
        bj_cluster_part_unref(snap.cluster_lists.part[i]);
    return 0;
}

static char *write_page(const char *dialect, bool strict)
{
    const struct bj_dialect_options options = {.env = {.strict = strict}};
    struct bj_dialect_room room = {0};
    struct bj_buf page = {0};
    assert_int_equal(bj_dialect_page(bj_dialect_find(S(dialect)), &snap,
                                     &options, BJ_PAGE_TEXT, &room, &page),
                     0);
    char *ret = sorted(&page);
    bj_buf_free(&page);
    bj_dialect_room_free(&room);
    return ret;
}

/* Fail with the first line in which two texts differ. */
static void same(const char *name, const char *got, struct bj_slice want)
{
    struct bj_slice g = S(got), a = {0}, b = {0};
    bool more = true;
    while (more && bj_slice_eq(a, b)) {
        a = b = (struct bj_slice){0};
        more = bj_slice_line(&g, &a);
        more |= bj_slice_line(&want, &b);
    }
    if (more)
        fail_msg("%s: got '%.*s', wanted '%.*s'", name, (int)a.n, a.p, (int)b.n,
                 b.p);
}

static void same_as_peers_py(void **state)
{
    static const char *const names[] = {"vpenso",
                                        "prometheus-slurm-exporter",
                                        "prometheus-slurm-exporter-1.8",
                                        "mila",
                                        "slurmctld",
                                        "slinky"};
    (void)state;
    for (size_t i = 0; i < 2 * COUNT(names); i++) {
        char file[100];
        snprintf(file, sizeof(file), "dialects/%s%s.samples", names[i / 2],
                 i % 2 ? ".strict" : "");
        struct bj_slice want = load(file);
        char *got = write_page(names[i / 2], i % 2);
        assert_true(want.n > 500);
        same(file, got, want);
        free((void *)(uintptr_t)want.p);
        free(got);
    }
}

/* Values of the exporter's process, and one that only JSON has: the sum of
 * backfill cycles. */
static void process_values(void **state)
{
    static const char *const want[] = {
        "\nprocess_cpu_seconds_total 1.5\n",
        "\nprocess_max_fds 1024\n",
        "\nprocess_open_fds 9\n",
        "\nprocess_resident_memory_bytes 4096\n",
        "\nprocess_start_time_seconds 1700000000\n",
        "\nprocess_virtual_memory_bytes 8192\n",
        "\nprocess_virtual_memory_max_bytes 18446744073709551614\n",
        "\nslurm_backfill_cycle_count 171543834\n",
    };
    const struct bj_dialect_options options = {0};
    struct bj_dialect_room room = {0};
    struct bj_buf page = {0};
    struct bj_controller_stat *c = snap.cluster_lists.list[BJ_CL_CONTROLLER].v;
    const uint64_t was = c->diag.bf_sum_usec;
    (void)state;
    c->diag.bf_sum_usec = 171543834;
    snap.self.cpu_usec = 1500000;
    snap.self.max_fds = 1024;
    snap.self.open_fds = 9;
    snap.self.rss_bytes = 4096;
    snap.self.start_sec = 1700000000;
    snap.self.vm_bytes = 8192;
    snap.self.vm_max_bytes = BJ_ABSENT;
    assert_int_equal(
        bj_dialect_page(bj_dialect_find(S("prometheus-slurm-exporter")), &snap,
                        &options, BJ_PAGE_TEXT, &room, &page),
        0);
    bj_buf_put(&page, "", 1);
    for (size_t i = 0; i < COUNT(want); i++)
        if (!strstr(page.p, want[i]))
            fail_msg("no %s in\n%s", want[i], page.p);
    char *controller = write_page("slurmctld", false),
         *slinky = write_page("slinky", false);
    assert_non_null(strstr(controller, "\nslurm_bf_cycle_tot 171543834\n"));
    assert_non_null(
        strstr(slinky, "\nslurm_bfscheduler_cycle_sum_seconds 171.543834\n"));
    free(controller);
    free(slinky);
    c->diag.bf_sum_usec = was;
    bj_buf_free(&page);
    bj_dialect_room_free(&room);
}

/* slurmctld serves all these families, with this type: tests/fixtures/dialects/
 * slurmctld.types is what 26.05 answered. */
static void names_of_slurmctld(void **state)
{
    const struct bj_dialect *d = bj_dialect_find(S("slurmctld"));
    struct bj_slice types = load("dialects/slurmctld.types");
    (void)state;
    for (size_t i = 0; i < d->nrows; i++) {
        struct bj_slice rest = types, line;
        char want[120];
        bool found = false;
        snprintf(want, sizeof(want), "# TYPE %s gauge", d->rows[i].name);
        assert_int_equal(d->rows[i].kind, BJ_GAUGE);
        while (!found && bj_slice_line(&rest, &line))
            found = bj_slice_eq(line, S(want));
        if (!found)
            fail_msg("slurmctld has no %s", d->rows[i].name);
    }
    free((void *)(uintptr_t)types.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_peers_py),
        cmocka_unit_test(process_values),
        cmocka_unit_test(names_of_slurmctld),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

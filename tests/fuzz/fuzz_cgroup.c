/* core/collect: whatever a cgroup file holds, its parser stays inside it and
 * fails with one of the two codes for bad text.  The first byte picks the
 * file.  And core/find/layout.c: whatever a path is, a hit has its fields. */
#include "core/collect/unit.h"
#include "core/find/layout.h"
#include "tests/fuzz/fuzz.h"

static const struct bj_cgfile *pick(unsigned n)
{
    for (;;)
        for (size_t c = 0; c < BJ_CGROUP_COLLECTORS; c++)
            for (unsigned i = 0; i < bj_cgroup_collectors[c]->nfiles; i++)
                if (n-- == 0)
                    return &bj_cgroup_collectors[c]->files[i];
}

static void check_file(const struct bj_cgfile *f, struct bj_slice text)
{
    static char none[] = "/nonexistent";
    struct bj_conf conf = {.sysfs = none};
    struct bj_hiers hiers = {0};
    struct bj_fdpool pool = {0};
    struct bj_cgroup_reader rd;
    struct bj_unit u;
    if (bj_cgroup_reader_init(&rd, &conf, &hiers, &pool) < 0)
        return;
    bj_unit_init(&u);
    hiers.v[0].path = none;
    hiers.v[0].version = BJ_CGROUP_V2;
    hiers.n = 1;
    u.ctl[BJ_CTL_MEMORY] = 0;
    for (int again = 0; again < 2; again++) { /* learnt order, then by it */
        int r = f->parse(&rd, &u, f, text);
        MUST(r == 0 || r == -EINVAL || r == -ERANGE || r == -ENOMEM);
    }
    MUST(u.ncores <= BJ_CPUS_MAX && u.ndevices <= 256);
    bj_unit_fini(&u, &pool);
    bj_cgroup_reader_fini(&rd);
}

static void check_path(const char *path, size_t n)
{
    static struct bj_layouts *layouts;
    struct bj_conf conf = {0};
    struct bj_path_match m;
    if (!layouts && bj_layouts_new(&conf, &layouts, NULL) < 0)
        return;
    for (unsigned version = BJ_CGROUP_V1; version <= BJ_CGROUP_V2; version++) {
        unsigned kind = bj_layouts_job(layouts, version, path, &m);
        MUST(!(kind & BJ_PATH_HIT) || m.f[BJ_ID_SYSTEM].n > 0);
        MUST(!(kind & BJ_PATH_HIT) || m.f[BJ_ID_JOBID].n <= n);
        if (kind & BJ_PATH_HIT)
            bj_layout_step(m.layout, path, &m);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *mem;
    struct bj_slice text = fuzz_exact(data + 1, size - 1, &mem);
    char *path = strndup(text.n ? text.p : "", text.n);
    check_file(pick(data[0]), text);
    if (path)
        check_path(path, text.n);
    free(path);
    free(mem);
    return 0;
}

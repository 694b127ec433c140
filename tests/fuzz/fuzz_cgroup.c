/* core/collect: the parser of a cgroup file reads nothing outside its text and
 * fails only with the documented codes.  The first line names the file
 * ("2memory.stat" is that of v2); any other line selects one by its bytes.
 *
 * core/find/layout.c: a path that matches has a batch system and a job id. */
#include "core/collect/unit.h"
#include "core/find/layout.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>

static bool is(const struct bj_cgfile *f, struct bj_slice name)
{
    char text[128];
    int n = snprintf(text, sizeof(text), "%u%s", f->version, f->name);
    return bj_slice_eq(name, (struct bj_slice){text, (size_t)n});
}

static const struct bj_cgfile *pick(struct bj_slice name)
{
    const struct bj_cgfile *all[BJ_CGROUP_COLLECTORS * BJ_CGFILES_MAX];
    unsigned n = 0, sum = 0;
    for (unsigned c = 0; c < BJ_CGROUP_COLLECTORS; c++)
        for (unsigned i = 0; i < bj_cgroup_collectors[c]->nfiles; i++)
            all[n++] = &bj_cgroup_collectors[c]->files[i];
    for (unsigned i = 0; i < n; i++)
        if (is(all[i], name))
            return all[i];
    for (size_t i = 0; i < name.n; i++)
        sum += (unsigned char)name.p[i];
    return all[sum % n];
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
    rd.numa.nodes = 2;
    rd.numa.number[1] = 1;
    u.numa_local = 1;
    for (int again = 0; again < 2; again++) { /* learn order, then use it */
        int r = f->parse(&rd, &u, f, text);
        MUST(r == 0 || r == -EINVAL || r == -ERANGE || r == -ENOMEM);
    }
    MUST(u.ncores <= BJ_CPUS_MAX && u.ndevices <= 256 && u.nregions <= 64);
    MUST(u.use.mem_remote_ppm <= 1000000 || u.use.mem_remote_ppm == BJ_ABSENT);
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
    struct bj_slice text = fuzz_exact(data, size, &mem), name = {0};
    bj_slice_line(&text, &name);
    char *path = strndup(text.n ? text.p : "", text.n);
    check_file(pick(name), text);
    if (path)
        check_path(path, text.n);
    free(path);
    free(mem);
    return 0;
}

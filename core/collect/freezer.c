/* Time for which a cgroup of v2 was suspended (cgroup.stat.local, about Linux
 * 6.17).
 *
 * The kernel counts it in the frozen cgroup and in those below.  Slurm freezes
 * "step_N/user" of each step, all at the same time, so the time of a job is the
 * longest of its own and its steps'.  What is frozen uses no CPU time:
 * while a job uses some, its steps are not asked.  The counter does not forget,
 * so a later look finds what an earlier one left out; a job that always worked
 * between two looks has at least the time that is shown. */
#include "core/collect/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { BUSY_USEC = 1000000 };

static void take_more(uint64_t *to, uint64_t v)
{
    if (v != BJ_ABSENT && (*to == BJ_ABSENT || v > *to))
        *to = v;
}

static int frozen_parse(struct bj_slice text, uint64_t *ret)
{
    static const struct bj_kv_key keys[] = {{{"frozen_usec", 11}, 0, 1}};
    struct bj_kv_order order = {0};
    return bj_kv_parse(text, keys, 1, &order, ret);
}

/* Of the directory that Slurm freezes; most cgroups have none. */
static void freezer_look(int dir, const char *below, uint64_t *ret)
{
    char name[320], text[64];
    struct bj_slice s;
    uint64_t v = BJ_ABSENT;
    int n = snprintf(name, sizeof(name), "%s%suser/cgroup.stat.local", below,
                     *below ? "/" : "");
    if (n > 0 && (size_t)n < sizeof(name) &&
        bj_file_read(dir, name, text, sizeof(text), &s, NULL) == 0 &&
        frozen_parse(s, &v) == 0)
        take_more(ret, v);
}

static void freezer_steps(int dir, uint64_t *ret)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d && fd >= 0)
        close(fd);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strncmp(e->d_name, "step_", 5) == 0)
            freezer_look(dir, e->d_name, ret);
    if (d)
        closedir(d);
}

int bj_parse_frozen(struct bj_cgroup_reader *rd, struct bj_unit *u,
                    const struct bj_cgfile *f, struct bj_slice text)
{
    const int h = u->ctl[f->ctl], dir = h < 0 ? -1 : u->dir[h];
    const uint64_t cpu = u->use.cpu_usec, before = u->frozen_cpu_usec;
    uint64_t v = BJ_ABSENT;
    (void)rd;
    int r = frozen_parse(text, &v);
    if (r < 0)
        return r;
    take_more(&u->use.frozen_usec, v);
    u->frozen_cpu_usec = cpu;
    if (dir >= 0 && (before == BJ_ABSENT || cpu - before <= BUSY_USEC)) {
        freezer_look(dir, "", &u->use.frozen_usec);
        freezer_steps(dir, &u->use.frozen_usec);
    }
    return 0;
}

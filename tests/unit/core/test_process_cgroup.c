/* The process collector on real cgroups, if this machine allows to create them:
 * hierarchies of version 1 and version 2. */
#include "tests/unit/core/test_process.h"

#include "tests/unit/lib/await.h"

#include <linux/magic.h>
#include <sys/vfs.h>

static const struct root {
    const char *path;
    bool v2;
} roots[] = {
    {"/sys/fs/cgroup", true},
    {"/sys/fs/cgroup/unified", true},
    {"/sys/fs/cgroup/cpuacct", false},
    {"/sys/fs/cgroup/memory", false},
};

/* Directories of a test below one root. */
struct place {
    char top[96];
    bool v2;
};

static bool place_make(struct place *pl, const struct root *root)
{
    struct statfs fs;
    if (statfs(root->path, &fs) < 0 ||
        (root->v2 ? fs.f_type != CGROUP2_SUPER_MAGIC
                  : fs.f_type != CGROUP_SUPER_MAGIC))
        return false;
    pl->v2 = root->v2;
    snprintf(pl->top, sizeof(pl->top), "%s/bjtest.%d", root->path,
             (int)getpid());
    return mkdir(pl->top, 0755) == 0;
}

static const char *below(const struct place *pl, const char *rel,
                         char path[160])
{
    snprintf(path, 160, "%s%s", pl->top, rel);
    return path;
}

static void make(const struct place *pl, const char *rel)
{
    char path[160];
    assert_int_equal(mkdir(below(pl, rel, path), 0755), 0);
}

/* The kernel needs a moment to see that a cgroup is empty. */
static void unmake(const struct place *pl, const char *rel)
{
    char path[160];
    below(pl, rel, path);
    AWAIT(rmdir(path) == 0);
}

static void join(const struct place *pl, const char *rel, pid_t pid)
{
    char path[200];
    snprintf(path, sizeof(path), "%s%s/cgroup.procs", pl->top, rel);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "%d\n", (int)pid);
    assert_int_equal(fclose(f), 0);
}

static void check(struct rig *r, uint64_t seconds, uint64_t processes,
                  uint64_t alive)
{
    assert_int_equal(rig_pass(r, seconds), 0);
    assert_int_equal(r->job.proc.processes, processes);
    assert_int_equal(r->p->alive, alive);
}

/* Open a list once: v1 updates a list that is already open only when it is
 * opened again, or when it was not read for a second. */
static void refresh_list(const struct place *pl, const char *rel)
{
    char path[200], buf[64];
    snprintf(path, sizeof(path), "%s%s/cgroup.procs", pl->top, rel);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fread(buf, 1, sizeof(buf), f) > 0)
        ;
    fclose(f);
}

static void one_place(const struct place *pl, unsigned max_fds)
{
    struct rig r;
    pid_t pid[3] = {rig_spawn(NULL, NULL), rig_spawn(NULL, NULL),
                    rig_spawn(NULL, NULL)};
    rig_init(&r);
    r.pool.max = max_fds;
    make(pl, "/step_extern");
    make(pl, "/step_extern/task_0");
    join(pl, "/step_extern/task_0", pid[0]);
    rig_start(&r, pl->top, pl->v2);
    check(&r, 2, 1, 1);
    assert_true(r.p->exact);
    for (int i = 0; i < 5; i++)
        check(&r, 5, 1, 1);
    /* One more process in a list that is kept open. */
    join(pl, "/step_extern/task_0", pid[1]);
    refresh_list(pl, "/step_extern/task_0");
    check(&r, 5, 2, 2);
    /* One more step; then the first step ends and another one of its name
     * begins. */
    make(pl, "/step_0");
    join(pl, "/step_0", pid[2]);
    check(&r, 2, 3, 3);
    make(pl, "/step_0/task_0");
    join(pl, "/step_0/task_0", pid[2]);
    check(&r, 2, 3, 3);
    rig_kill(pid[0]);
    rig_kill(pid[1]);
    unmake(pl, "/step_extern/task_0");
    unmake(pl, "/step_extern");
    make(pl, "/step_extern");
    make(pl, "/step_extern/task_0");
    check(&r, 2, 1, 1);
    join(pl, "/step_extern/task_0", pid[2]);
    refresh_list(pl, "/step_extern/task_0");
    check(&r, 5, 1, 1);
    assert_int_equal(r.job.proc.processes_seen, 3);
    /* A zombie is not in the list, but is a process of the job. */
    kill(pid[2], SIGKILL);
    rig_await(pid[2], STATE, 'Z');
    check(&r, 2, 1, 0);
    assert_int_equal(rig_state(&r, "zombie"), 1);
    assert_int_equal(waitpid(pid[2], NULL, 0), pid[2]);
    check(&r, 2, 0, 0);
    unmake(pl, "/step_extern/task_0");
    unmake(pl, "/step_extern");
    unmake(pl, "/step_0/task_0");
    unmake(pl, "/step_0");
    unmake(pl, "");
    assert_true(bj_err_gone(rig_pass(&r, 2)));
    assert_int_equal(r.pool.used, 0);
    assert_int_equal(bj_proctab_faults(r.t), 0);
    /* A new directory of the same name is another job. */
    make(pl, "");
    assert_true(bj_err_gone(rig_pass(&r, 2)));
    rig_stop(&r);
}

static void cgroups(void **state)
{
    int done = 0;
    (void)state;
    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
        struct place pl;
        if (!place_make(&pl, &roots[i])) {
            print_message("[  SKIPPED ] no cgroups in %s\n", roots[i].path);
            continue;
        }
        one_place(&pl, 4096);
        one_place(&pl, 2);
        unmake(&pl, "");
        done++;
    }
    if (done == 0)
        skip();
}

/* A process of a threaded cgroup is in the list of the parent directory. */
static void threaded(void **state)
{
    struct rig r;
    struct place pl;
    char path[200];
    (void)state;
    if (!place_make(&pl, &roots[0]) && !place_make(&pl, &roots[1])) {
        print_message("[  SKIPPED ] no cgroup v2\n");
        skip();
    }
    make(&pl, "/a");
    snprintf(path, sizeof(path), "%s/a/cgroup.type", pl.top);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("threaded\n", f);
    if (fclose(f) != 0) {
        unmake(&pl, "/a");
        unmake(&pl, "");
        print_message("[  SKIPPED ] no threaded cgroups\n");
        skip();
    }
    rig_init(&r);
    pid_t pid = rig_spawn(NULL, NULL);
    join(&pl, "", pid);
    snprintf(path, sizeof(path), "%s/a/cgroup.threads", pl.top);
    f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "%d\n", (int)pid);
    assert_int_equal(fclose(f), 0);
    rig_start(&r, pl.top, true);
    for (int i = 0; i < 4; i++)
        check(&r, 5, 1, 1);
    assert_int_equal(bj_proctab_faults(r.t), 0);
    rig_kill(pid);
    check(&r, 5, 0, 0);
    unmake(&pl, "/a");
    unmake(&pl, "");
    rig_stop(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cgroups),
        cmocka_unit_test(threaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

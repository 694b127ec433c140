/* Shared by the tests of the cluster collector in a core: scripts that replace
 * Slurm's commands, and access to the core's values. */
#ifndef BJ_TESTS_UNIT_CORE_TEST_CLUSTER_H
#define BJ_TESTS_UNIT_CORE_TEST_CLUSTER_H

#include "base/clock.h"
#include "tests/unit/lib/await.h"
#include "tests/unit/lib/core.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { SECOND = 1000000 };

static const char *dir;
static char path_opt[128], cgroup_opt[128];

/* Write a script that replaces a command, in the directory of cluster.path. */
static inline void command(const char *name, const char *body)
{
    char rel[64], path[256], text[4200], tmp[64], from[256];
    snprintf(rel, sizeof(rel), "bin/%s", name);
    snprintf(tmp, sizeof(tmp), "bin/%s.new", name);
    snprintf(path, sizeof(path), "%s/%s", dir, rel);
    snprintf(from, sizeof(from), "%s/%s", dir, tmp);
    snprintf(text, sizeof(text), "#!/bin/sh\necho x >>%s/runs.%s\n%s\n", dir,
             name, body);
    tmp_file(tmp, text);
    assert_int_equal(chmod(from, 0755), 0);
    assert_int_equal(rename(from, path), 0);
}

static inline void recorded_command(const char *name, const char *file)
{
    char cwd[1024], body[1200];
    assert_non_null(getcwd(cwd, sizeof(cwd)));
    snprintf(body, sizeof(body), "exec /bin/cat %s/tests/fixtures/cluster/%s",
             cwd, file);
    command(name, body);
}

static inline void recorded_scontrol_command(void)
{
    char cwd[1024], body[4000];
    assert_non_null(getcwd(cwd, sizeof(cwd)));
    snprintf(body, sizeof(body),
             "case $* in *config) f=config ;; *licenses) f=licenses ;; "
             "*) f=reservations ;; esac\n"
             "exec /bin/cat %s/tests/fixtures/cluster/$f.txt",
             cwd);
    command("scontrol", body);
}

static inline int set_up(void **state)
{
    (void)state;
    dir = tmp_make();
    tmp_dir("bin");
    tmp_dir("cgroup");
    snprintf(path_opt, sizeof(path_opt), "cluster.path=%s/bin", dir);
    snprintf(cgroup_opt, sizeof(cgroup_opt), "path.cgroupfs=%s/cgroup", dir);
    recorded_command("squeue", "squeue.txt");
    recorded_command("sinfo", "sinfo.txt");
    recorded_command("sdiag", "sdiag.txt");
    recorded_scontrol_command();
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    tmp_gone();
    return 0;
}

#define START(r, ...)                                                          \
    rig_start(&(r), cgroup_opt, path_opt, "collector.cluster=true",            \
              "collector.node=false", "collector.gpu=false",                   \
              "job.file-dir=", __VA_ARGS__, NULL)

static inline const struct bj_list *list(const struct rig *r,
                                         enum bj_cluster_list k)
{
    return &r->snap->cluster_lists.list[k];
}

static inline const struct bj_source_stat *source(const struct rig *r,
                                                  const char *name)
{
    const struct bj_list *l = list(r, BJ_CL_SOURCES);
    const struct bj_source_stat *v = l->v;
    for (size_t i = 0; i < l->n; i++)
        if (bj_slice_eq(v[i].sub.key[0], bj_slice_str(name)))
            return &v[i];
    return NULL;
}

static inline uint64_t error_count(const struct rig *r, const char *name,
                                   const char *kind)
{
    const struct bj_list *l = list(r, BJ_CL_SOURCE_ERRORS);
    const struct bj_count_stat *v = l->v;
    for (size_t i = 0; i < l->n; i++)
        if (bj_slice_eq(v[i].sub.key[0], bj_slice_str(name)) &&
            bj_slice_eq(v[i].sub.key[1], bj_slice_str(kind)))
            return v[i].count;
    return 0;
}

/* Run passes until the condition holds, for a minute at most. */
#define AWAIT_PASSES(r, condition) AWAIT_STEP(rig_pass(r), condition)

/* Run passes until a source has run this many times, for a minute at most; no
 * pass may wait for a command. */
static inline void wait_runs(struct rig *r, const char *name, uint64_t runs)
{
    const struct bj_source_stat *s;
    AWAIT_STEP((rig_pass(r), s = source(r, name)), s && s->runs >= runs);
}

static inline uint64_t jobs_of(const struct rig *r, const char *state)
{
    const struct bj_list *l = list(r, BJ_CL_JOBS);
    const struct bj_jobs_stat *v = l->v;
    for (size_t i = 0; i < l->n; i++)
        if (bj_slice_eq(v[i].sub.key[0], bj_slice_str(state)))
            return v[i].jobs;
    return 0;
}

#endif

/* Helpers of the sampler's tests: a core with cgroups, sysfs, spool and state
 * in a temporary directory, with a clock that only the test advances. */
#ifndef BJ_TESTS_UNIT_CORE_TEST_SAMPLER_H
#define BJ_TESTS_UNIT_CORE_TEST_SAMPLER_H

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "core/find/ident.h"
#include "core/internal.h"
#include "tests/unit/lib/await.h"
#include "tests/unit/lib/core.h"
#include "tests/unit/lib/testclock.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SCOPE "cgroup/system.slice/slurmstepd.scope/"
#define ZONE "sys/devices/virtual/powercap/intel-rapl/intel-rapl:0/"

enum { SECOND = 1000000 };

static unsigned waiting; /* threads that wait when nothing is to be done */
static char top[100], cgroup_opt[160], sys_opt[160], spool_opt[160],
    state_opt[160];

static inline int setup(void **state)
{
    (void)state;
    snprintf(top, sizeof(top), "%s", tmp_make());
    snprintf(cgroup_opt, sizeof(cgroup_opt), "path.cgroupfs=%s/cgroup", top);
    snprintf(sys_opt, sizeof(sys_opt), "path.sysfs=%s/sys", top);
    snprintf(spool_opt, sizeof(spool_opt), "record.dir=%s/spool", top);
    snprintf(state_opt, sizeof(state_opt), "energy.state-file=%s/state", top);
    tmp_dir("cgroup");
    tmp_file("cgroup/cgroup.controllers", "cpu memory\n");
    tmp_dir(SCOPE);
    testclock_stop();
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    testclock_run();
    tmp_gone();
    return 0;
}

#define START(r, ...)                                                          \
    do {                                                                       \
        rig_start(&(r), cgroup_opt, sys_opt, "collector.node=false",           \
                  "collector.process=false",                                   \
                  "job.file-dir=", "energy.interval=1s", __VA_ARGS__, NULL);   \
        waiting = (r).core->peaks ? 3 : 2;                                     \
    } while (0)

/* Wait until the resolver, the sampler, and the thread that saves peaks have
 * nothing to do before the clock is advanced.  The meter has no thread: its
 * files never block.  Processes are not read: their thread would wait, too, and
 * the sampler for it. */
static inline void settle(void)
{
    testclock_await(waiting);
}

/* Advance the clock by n ticks of the sampler. */
static inline void ticks(unsigned n)
{
    settle();
    while (n-- > 0) {
        testclock_advance(SECOND);
        settle();
    }
}

/* The record in the spool. Waits for at most a minute of ticks. */
static inline const struct bj_json *await_record(struct bj_arena *a)
{
    char path[300], name[600] = "", buf[4096];
    struct bj_slice text;
    const struct bj_json *doc;
    snprintf(path, sizeof(path), "%s/spool", top);
    for (int i = 0; i < 60 && !*name; i++) {
        ticks(1);
        DIR *d = opendir(path);
        const struct dirent *e;
        while (d && (e = readdir(d)))
            if (e->d_name[0] != '.')
                snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
        if (d)
            closedir(d);
    }
    if (!*name)
        fail_msg("no record");
    assert_int_equal(
        bj_file_read(AT_FDCWD, name, buf, sizeof(buf), &text, NULL), 0);
    assert_int_equal(text.p[text.n - 1], '\n');
    assert_int_equal(rig_record(a, text, &doc, NULL), 0);
    assert_int_equal(unlink(name), 0);
    return doc;
}

static inline uint64_t number(const struct bj_json *doc, const char *path)
{
    return bj_json_u64_or(bj_json_path(doc, path), UINT64_MAX);
}

/* Whether a job has this CPU time: as its value without processes (last), or as
 * its current one. */
static inline bool sampled(struct rig *r, uint64_t cpu_usec, bool last)
{
    bool ret = false;
    pthread_mutex_lock(&r->core->lock);
    for (size_t k = 0; k < r->core->tracks.n; k++) {
        const struct bj_track *t = r->core->tracks.v[k];
        ret |= t->life.born && cpu_usec == (last ? t->life.last_cpu_usec
                                                 : t->unit.use.cpu_usec);
    }
    pthread_mutex_unlock(&r->core->lock);
    return ret;
}

/* The watcher is a real thread, which the kernel wakes. */
static inline void await_sample(struct rig *r, uint64_t cpu_usec, bool last)
{
    AWAIT(sampled(r, cpu_usec, last));
}

/* Make a job with all its files at once, as the kernel does. */
static inline void make_whole_job(unsigned long cpu_usec)
{
    char from[300], to[300];
    tmp_v2_job("stage/job_17", cpu_usec, 4096, "1\n");
    tmp_file("stage/job_17/cgroup.events", "populated 1\n");
    snprintf(from, sizeof(from), "%s/stage/job_17", top);
    snprintf(to, sizeof(to), "%s/" SCOPE "job_17", top);
    assert_int_equal(rename(from, to), 0);
}

/* One change of the file without truncation, as the kernel makes it. */
static inline void empty_job(void)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/" SCOPE "job_17/cgroup.events", top);
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "populated 0\n", 12, 0), 12);
    close(fd);
}

static inline bool complete(const struct bj_json *doc)
{
    bool ret = false;
    assert_int_equal(bj_json_bool(bj_json_get(doc, "cpu_complete"), &ret), 0);
    return ret;
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif

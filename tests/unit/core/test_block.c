/* Block I/O: devices, and the slow interval at which it is read. */
#include "core/internal.h"
#include "tests/unit/lib/core.h"
#include "tests/unit/lib/testclock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#define IO_JOB "system.slice/slurmstepd.scope/job_1"

/* A device that was removed and inserted again keeps its name but has a new
 * number, while the kernel still reports the old number. */
static void test_same_name(void **state)
{
    (void)state;
    struct rig r;
    char root[128], sysfs[128], link[128];
    const char *tmp = tmp_make();
    snprintf(root, sizeof(root), "path.cgroupfs=%s/cgroup", tmp);
    snprintf(sysfs, sizeof(sysfs), "path.sysfs=%s/sys", tmp);
    tmp_dir("sys/dev/block");
    for (int minor = 3; minor < 5; minor++) {
        snprintf(link, sizeof(link), "%s/sys/dev/block/259:%d", tmp, minor);
        assert_int_equal(symlink("../../devices/nvme0n1", link), 0);
    }
    tmp_dir("cgroup");
    tmp_file("cgroup/cgroup.controllers", "io\n");
    tmp_v2_job("cgroup/a.slice/slurmstepd.scope/job_1", 1, 1, "1\n");
    tmp_file("cgroup/a.slice/slurmstepd.scope/job_1/io.stat",
             "259:3 rbytes=1 wbytes=2 rios=3 wios=4\n"
             "259:4 rbytes=5 wbytes=6 rios=7 wios=8\n");
    rig_start(&r, root, sysfs, NULL);
    rig_pass(&r);
    const struct bj_job *job = rig_job(&r, "1");
    const struct bj_device_use *d = job->devices.v;
    assert_int_equal(job->devices.n, 2);
    assert_true(bj_slice_eq(d[0].sub.key[0], BJ_SLICE("nvme0n1")));
    assert_int_equal(d[0].read_bytes, 1);
    assert_true(bj_slice_eq(d[1].sub.key[0], BJ_SLICE("259:4")));
    assert_int_equal(d[1].read_bytes, 5);
    rig_stop(&r);
    tmp_gone();
}

/* Linux 5.15 to 5.18: the numbers of the devices in front have no values. */
static void test_shared_line(void **state)
{
    (void)state;
    struct rig r;
    char root[128];
    snprintf(root, sizeof(root), "path.cgroupfs=%s", tmp_make());
    tmp_file("cgroup.controllers", "io\n");
    tmp_v2_job(IO_JOB, 1000, 4096, "1\n");
    tmp_file(IO_JOB "/io.stat",
             "8:0 rbytes=1000 wbytes=2000 rios=10 wios=20 dbytes=0 dios=0\n"
             "7:7 7:6 7:5 7:4 rbytes=28672 wbytes=4096 rios=22 wios=3\n");
    rig_start(&r, root, "path.sysfs=/nonexistent", NULL);
    rig_pass(&r);
    const struct bj_list *l = &rig_job(&r, "1")->devices;
    const struct bj_device_use *v = l->v;
    assert_int_equal(l->n, 2);
    assert_true(bj_slice_eq(v[0].sub.key[0], BJ_SLICE("8:0")));
    assert_int_equal(v[0].read_bytes, 1000);
    assert_true(bj_slice_eq(v[1].sub.key[0], BJ_SLICE("7:4")));
    assert_int_equal(v[1].read_bytes, 28672);
    assert_int_equal(v[1].write_ops, 3);
    rig_stop(&r);
    tmp_gone();
}

static void set_read_bytes(unsigned n)
{
    char text[80];
    snprintf(text, sizeof(text), "8:0 rbytes=%u wbytes=0 rios=1 wios=0\n", n);
    tmp_file(IO_JOB "/io.stat", text);
}

/* After that time: the bytes read as a page shows them. */
static uint64_t page_after(struct rig *r, uint64_t usec)
{
    testclock_advance(usec);
    rig_pass(r);
    const struct bj_device_use *v = rig_job(r, "1")->devices.v;
    return v->read_bytes;
}

static uint64_t age_of_block(const struct rig *r)
{
    const struct bj_collector_stat *c = r->snap->self.collectors.v;
    while (!bj_slice_eq(c->sub.key[0], BJ_SLICE("block")))
        c++;
    return c->age_usec;
}

/* Pages at the slow interval, a little early or late, never repeat values of
 * the slow interval, also if the sampler has read them in between.  Pages that
 * come faster do, and the collector's age says so. */
static void test_pages_at_slow_interval(void **state)
{
    enum { SECOND = 1000000 };
    (void)state;
    struct rig r;
    char root[128];
    snprintf(root, sizeof(root), "path.cgroupfs=%s", tmp_make());
    testclock_stop();
    tmp_file("cgroup.controllers", "io\n");
    tmp_v2_job(IO_JOB, 1000, 4096, "1\n");
    set_read_bytes(1);
    rig_start(&r, root, "sample.slow=10s", "collector.node=false", NULL);
    assert_int_equal(page_after(&r, 0), 1);
    set_read_bytes(2);
    assert_int_equal(page_after(&r, 10 * SECOND - 30000), 2); /* early */
    testclock_advance(10 * SECOND);
    set_read_bytes(3);
    bj_core_read(r.core, false); /* the sampler */
    set_read_bytes(4);
    assert_int_equal(page_after(&r, SECOND), 3); /* newer than a tenth */
    testclock_advance(10 * SECOND);
    bj_core_read(r.core, false);
    set_read_bytes(4);
    assert_int_equal(page_after(&r, 2 * SECOND), 4); /* late */
    assert_int_equal(age_of_block(&r), 0);
    set_read_bytes(5);
    assert_int_equal(page_after(&r, 5 * SECOND), 4); /* by design */
    assert_int_equal(age_of_block(&r), 5 * SECOND);
    assert_int_equal(page_after(&r, 5 * SECOND), 5);
    rig_stop(&r);
    tmp_gone();
    testclock_run();
}

static void set_rchar(unsigned n)
{
    char text[160];
    snprintf(text, sizeof(text),
             "rchar: %u\nwchar: 1\nsyscr: 1\nsyscw: 1\nread_bytes: 1\n"
             "write_bytes: 1\ncancelled_write_bytes: 0\n",
             n);
    tmp_file("proc/1/io", text);
}

/* The same for I/O by system calls of a process that uses too little CPU time
 * for a change of its stat line, which is otherwise read after 30 s. */
static void test_system_calls_of_pages(void **state)
{
    enum { SECOND = 1000000 };
    (void)state;
    struct rig r;
    char root[128], proc[128];
    const char *top = tmp_make();
    snprintf(root, sizeof(root), "path.cgroupfs=%s", top);
    snprintf(proc, sizeof(proc), "path.procfs=%s/proc", top);
    testclock_stop();
    tmp_file("cgroup.controllers", "io\n");
    tmp_dir("proc/1");
    tmp_file("proc/1/stat",
             "1 (a) R 0 1 1 0 -1 0 0 0 0 0 5 5 0 0 20 0 1 0 7 0 0 0 1 1 70 0 "
             "0 0 0 0 0 0 0 0 17 0 0 0 0 0 0\n");
    tmp_v2_job(IO_JOB, 1000, 4096, "1\n");
    set_rchar(1000);
    rig_start(&r, root, proc, "sample.slow=10s", "collector.node=false",
              "collector.process=true", NULL);
    rig_pass(&r);
    assert_int_equal(rig_job(&r, "1")->proc.io_read_bytes, 1000);
    set_rchar(2000);
    testclock_advance(5 * SECOND);
    rig_pass(&r);
    assert_int_equal(rig_job(&r, "1")->proc.io_read_bytes, 1000); /* too fast */
    for (unsigned n = 3000; n < 9000; n += 1000) {
        testclock_advance(10 * SECOND - SECOND / 2);
        set_rchar(n);
        rig_pass(&r);
        assert_int_equal(rig_job(&r, "1")->proc.io_read_bytes, n);
    }
    rig_stop(&r);
    tmp_gone();
    testclock_run();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_name),
        cmocka_unit_test(test_shared_line),
        cmocka_unit_test(test_pages_at_slow_interval),
        cmocka_unit_test(test_system_calls_of_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

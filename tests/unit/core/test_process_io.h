/* I/O that processes record themselves, for comparison with what is counted. */
#ifndef BJ_TESTS_UNIT_CORE_TEST_PROCESS_IO_H
#define BJ_TESTS_UNIT_CORE_TEST_PROCESS_IO_H

#include "tests/unit/core/test_process.h"

#include <stdatomic.h>
#include <sys/mman.h>

enum { IO_MAX = 65536 };

/* rchar, wchar, syscr, syscw of all processes of a test, in shared memory. */
struct recorded_io {
    atomic_ullong n[4];
};

static inline void *shared_memory(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                   -1, 0);
    assert_true(p != MAP_FAILED);
    return p;
}

/* Read n bytes and write half as many. They are recorded first, so that never
 * more is counted than recorded. */
static inline void do_io(struct recorded_io *recorded_io, unsigned n)
{
    static char buf[IO_MAX];
    atomic_fetch_add(&recorded_io->n[0], n);
    atomic_fetch_add(&recorded_io->n[1], n / 2);
    atomic_fetch_add(&recorded_io->n[2], 1);
    atomic_fetch_add(&recorded_io->n[3], 1);
    int in = open("/dev/zero", O_RDONLY), out = open("/dev/null", O_WRONLY);
    if (read(in, buf, n) != (ssize_t)n ||
        write(out, buf, n / 2) != (ssize_t)(n / 2))
        _exit(1);
    close(in);
    close(out);
}

/* A pass. The counted I/O must neither fall nor exceed the recorded I/O. */
static inline void check_pass(struct rig *r, struct recorded_io *recorded_io,
                              uint64_t seconds, uint64_t last[4])
{
    assert_int_equal(rig_pass(r, seconds), 0);
    const struct bj_procsum *s = &r->job.proc;
    const uint64_t v[4] = {s->io_read_bytes, s->io_write_bytes, s->io_read_ops,
                           s->io_write_ops};
    for (int f = 0; f < 4; f++) {
        assert_true(v[f] >= last[f]);
        assert_true(v[f] <= atomic_load(&recorded_io->n[f]));
        last[f] = v[f];
    }
}

/* All recorded I/O is counted. Two passes of half a minute: by then processes
 * were read even if their stat has not changed. */
static inline void check_all_counted(struct rig *r,
                                     struct recorded_io *recorded_io,
                                     uint64_t last[4])
{
    check_pass(r, recorded_io, 31, last);
    check_pass(r, recorded_io, 31, last);
    for (int f = 0; f < 4; f++)
        assert_int_equal(last[f], atomic_load(&recorded_io->n[f]));
}

#endif

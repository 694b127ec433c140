/* I/O that is noted by who does it, to be compared with what is counted. */
#ifndef BJ_TESTS_UNIT_TEST_PROCESS_IO_H
#define BJ_TESTS_UNIT_TEST_PROCESS_IO_H

#include "tests/unit/test_process.h"

#include <stdatomic.h>
#include <sys/mman.h>

enum { IO_MOST = 65536 };

/* rchar, wchar, syscr, syscw of all processes of a test, which share it. */
struct done {
    atomic_ullong n[4];
};

static inline void *shared_memory(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                   -1, 0);
    assert_true(p != MAP_FAILED);
    return p;
}

/* Read n bytes and write half as many.  Noted before it is done, so that what
 * is counted can never be more than what is noted. */
static inline void do_io(struct done *done, unsigned n)
{
    static char buf[IO_MOST];
    atomic_fetch_add(&done->n[0], n);
    atomic_fetch_add(&done->n[1], n / 2);
    atomic_fetch_add(&done->n[2], 1);
    atomic_fetch_add(&done->n[3], 1);
    int in = open("/dev/zero", O_RDONLY), out = open("/dev/null", O_WRONLY);
    if (read(in, buf, n) != (ssize_t)n ||
        write(out, buf, n / 2) != (ssize_t)(n / 2))
        _exit(1);
    close(in);
    close(out);
}

/* A pass; what is counted may neither fall nor be more than what was done. */
static inline void pass(struct rig *r, struct done *done, uint64_t seconds,
                        uint64_t last[4])
{
    assert_int_equal(rig_pass(r, seconds), 0);
    const struct bj_procsum *s = &r->job.proc;
    const uint64_t v[4] = {s->io_read_bytes, s->io_write_bytes, s->io_read_ops,
                           s->io_write_ops};
    for (int f = 0; f < 4; f++) {
        assert_true(v[f] >= last[f]);
        assert_true(v[f] <= atomic_load(&done->n[f]));
        last[f] = v[f];
    }
}

/* All that was done is counted.  Twice half a minute: even what does not show
 * in stat has been read by then. */
static inline void exact(struct rig *r, struct done *done, uint64_t last[4])
{
    pass(r, done, 31, last);
    pass(r, done, 31, last);
    for (int f = 0; f < 4; f++)
        assert_int_equal(last[f], atomic_load(&done->n[f]));
}

#endif

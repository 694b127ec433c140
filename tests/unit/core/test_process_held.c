/* Processes that hang in a file system that does not respond do not block a
 * pass. */
#include "tests/unit/core/test_process.h"
#include "tests/unit/lib/hungfs.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum { HUNG = 2, LAST_SEC = 120 };

static atomic_uint threads;

static int start_thread(void *ctx, pthread_t *ret, void *(*fn)(void *),
                        void *arg, const char *name)
{
    (void)ctx;
    (void)name;
    threads++;
    return -pthread_create(ret, NULL, fn, arg);
}

/* A child that executes a program, for which the kernel must first write back a
 * mapped file. Until then the kernel blocks reads of /proc/PID/io and other
 * files. */
static pid_t hang(const struct hungfs *fs, int file)
{
    char path[96], c;
    snprintf(path, sizeof(path), "%s/%d", fs->dir, file);
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open(path, O_RDWR);
        char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (p == MAP_FAILED)
            _exit(1);
        p[0] = 1;
        execl("/bin/true", "true", NULL);
        _exit(1);
    }
    assert_int_equal(read(fs->blocked_fd, &c, 1), 1);
    return pid;
}

static void read_zeros(size_t n)
{
    char buf[4096];
    int fd = open("/dev/zero", O_RDONLY);
    if (read(fd, buf, n) != (ssize_t)n)
        _exit(1);
    close(fd);
    raise(SIGSTOP);
}

/* A child that reads, stops, and reads again when it is continued. */
static pid_t reader(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        read_zeros(1000);
        read_zeros(2000);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
    return pid;
}

static uint64_t has_read(const struct rig *r, pid_t pid)
{
    const struct bj_proc *e = bj_proc_find(r->p, pid);
    assert_non_null(e);
    return e->io[BJ_PROCIO_RCHAR];
}

static unsigned held(const struct rig *r)
{
    unsigned n = 0;
    for (size_t i = 0; i < r->p->n; i++)
        n += r->p->v[i].held && !bj_procguard_over(r->p->v[i].held);
    return n;
}

static void start(struct rig *r, struct hungfs *fs)
{
    static const struct bj_host host = {.thread = start_thread};
    need_root("a hung process");
    int e = hungfs_start(fs);
    if (e < 0) {
        print_message("[  SKIPPED ] a hung process: FUSE: error %d\n", -e);
        skip();
    }
    alarm(LAST_SEC);
    atomic_store(&threads, 0);
    rig_init(r);
    r->host = &host;
}

static void hung_processes_block_nothing(void **state)
{
    (void)state;
    struct hungfs fs;
    struct rig r;
    start(&r, &fs);
    const pid_t pid[HUNG + 1] = {hang(&fs, 0), hang(&fs, 1), reader()};
    rig_procs(&r, "", pid, HUNG + 1);
    rig_start(&r, r.dir, false);
    for (int i = 0; i < 3; i++) {
        rig_pass(&r, 40);
        assert_int_equal(has_read(&r, pid[HUNG]), 1000);
        assert_int_equal(held(&r), HUNG);
        assert_int_equal(bj_proctab_faults(r.t), HUNG);
    }
    assert_int_equal(atomic_load(&threads), HUNG + 1);

    hungfs_stop(&fs); /* the blocked reads continue */
    for (int i = 0; i < HUNG; i++)
        assert_int_equal(waitpid(pid[i], NULL, 0), pid[i]);
    while (held(&r) > 0)
        sched_yield();
    kill(pid[HUNG], SIGCONT);
    assert_int_equal(waitpid(pid[HUNG], NULL, WUNTRACED), pid[HUNG]);
    assert_int_equal(rig_pass(&r, 40), 0);
    assert_int_equal(has_read(&r, pid[HUNG]), 3000);
    assert_int_equal(r.job.proc.processes, 1);
    assert_int_equal(atomic_load(&threads), HUNG + 1);
    rig_kill(pid[HUNG]);
    rig_stop(&r);
    alarm(0);
}

/* The collector can be freed while the file system hangs. */
static void held_reads_do_not_block_the_end(void **state)
{
    (void)state;
    struct hungfs fs;
    struct rig r;
    start(&r, &fs);
    const pid_t pid = hang(&fs, 0);
    rig_procs(&r, "", &pid, 1);
    rig_start(&r, r.dir, false);
    rig_pass(&r, 2);
    assert_int_equal(held(&r), 1);
    rig_stop(&r);
    hungfs_stop(&fs);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    alarm(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hung_processes_block_nothing),
        cmocka_unit_test(held_reads_do_not_block_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

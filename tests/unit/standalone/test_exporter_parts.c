/* Small parts of the exporter: listening sockets, missing privileges,
 * notifications to systemd, compression, threads and log lines. */
#include "base/gzip.h"
#include "base/listen.h"
#include "base/program.h"
#include "core/host.h"
#include "core/privileges.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Addresses */

static void addresses(void **state)
{
    (void)state;
    static const struct {
        const char *address;
        int want;
    } cases[] = {
        {":9010", 0},       {"127.0.0.1:0", 0},    {"[::1]:80", 0},
        {"host:65535", 0},  {"[fe80::1%lo]:1", 0}, {"", -EINVAL},
        {"9010", -EINVAL},  {":", -EINVAL},        {":65536", -EINVAL},
        {":-1", -EINVAL},   {":80 ", -EINVAL},     {"::1:80", -EINVAL},
        {"[]:80", -EINVAL}, {"[::1]", -EINVAL},    {"a:b:80", -EINVAL},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        if (bj_listen_check(cases[i].address, NULL) != cases[i].want)
            fail_msg("'%s'", cases[i].address);
}

static void listening(void **state)
{
    (void)state;
    char name[BJ_ADDRESS_MAX];
    struct bj_err err = {0};
    int fd = bj_listen_open("127.0.0.1:0", 1, &err);
    assert_true(fd >= 0);
    bj_listen_name(fd, name);
    assert_int_equal(strncmp(name, "127.0.0.1:", 10), 0);
    assert_int_not_equal(name[10], '0');
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    assert_int_equal(bj_listen_open(name, 1, &err), -EADDRINUSE);
    assert_non_null(strstr(err.msg, name));
    close(fd);
    assert_int_equal(bj_listen_open("no.such.host.invalid:1", 1, &err),
                     -EINVAL);
    assert_int_equal(bj_listen_open("x", 1, &err), -EINVAL);
    assert_string_equal(bj_listen_name(-1, name), "?");
}

/* Missing privileges */

static const char *const mounts[] = {
    "22 28 0:21 / /proc rw,nosuid shared:5 - proc proc rw\n",
    "22 28 0:21 / /proc rw,nosuid - proc proc rw,hidepid=0\n",
    "22 28 0:21 / /proc rw,nosuid shared:5 - proc proc rw,hidepid=2,gid=4\n",
    "22 28 0:21 / /proc rw - proc proc rw,hidepid=invisible\n",
    ("22 28 0:21 / /proc rw - proc proc rw,hidepid=2\n"
     "30 28 0:22 / /proc rw - proc proc rw\n"),
    "22 28 0:21 / /mnt/proc rw shared:5 - proc proc rw,hidepid=2\n",
    "22 28 0:21 / /proc rw - tmpfs none rw,hidepid=2\n",
    "short\n\n-\n",
};
static const bool hidden[COUNT(mounts)] = {[2] = true, [3] = true};

static unsigned count_missing(const char *caps, const char *mountinfo,
                              bool files)
{
    struct bj_unreadable list[BJ_UNREADABLE_MAX];
    struct bj_conf conf = {.procfs = (char *)(uintptr_t) "/proc",
                           .job_files.n = files,
                           .collect[BJ_COLLECT_CPU] = true};
    return bj_privileges_missing(&conf, bj_slice_str(caps),
                                 bj_slice_str(mountinfo), list);
}

static void privileges(void **state)
{
    (void)state;
    static const char none[] = "Name:\tx\nCapPrm:\t000001ffffffffff\n"
                               "CapEff:\t0000000000000000\n";
    /* Bits 2 and 19 of linux/capability.h: DAC_READ_SEARCH, SYS_PTRACE. */
    static const char search[] = "CapEff:\t0000000000000004\n";
    static const char ptrace[] = "CapEff:\t0000000000080000\n";
    static const char both[] = "CapEff:\t0000000000080004\n";
    static const char all[] = "CapEff:\t000001ffffffffff\n";
    for (size_t i = 0; i < COUNT(mounts); i++) {
        assert_int_equal(count_missing(none, mounts[i], true), 3u + hidden[i]);
        assert_int_equal(count_missing(none, mounts[i], false), 2u + hidden[i]);
        assert_int_equal(count_missing(search, mounts[i], true),
                         2u + hidden[i]);
        assert_int_equal(count_missing(ptrace, mounts[i], true), 2);
        assert_int_equal(count_missing(ptrace, mounts[i], false), 1);
        assert_int_equal(count_missing(both, mounts[i], true), 0);
        assert_int_equal(count_missing(all, mounts[i], true), 0);
        assert_int_equal(count_missing("", mounts[i], true), 0);
    }
    struct bj_unreadable list[BJ_UNREADABLE_MAX];
    struct bj_conf conf = {.procfs = (char *)(uintptr_t) "/proc",
                           .job_files.n = 1,
                           .disable_defaults = true,
                           .collect[BJ_COLLECT_CPU] = true, /* by default */
                           .collect[BJ_COLLECT_CLUSTER] = true,
                           .collect_set[BJ_COLLECT_CLUSTER] = true};
    /* The exporter of the cluster reads nothing of jobs. */
    assert_int_equal(bj_privileges_missing(&conf, bj_slice_str(none),
                                           (struct bj_slice){0}, list),
                     0);
    conf.collect[BJ_COLLECT_PROCESS] = conf.collect_set[BJ_COLLECT_PROCESS] =
        true;
    bj_privileges_missing(&conf, bj_slice_str(ptrace), (struct bj_slice){0},
                          list);
    assert_string_equal(list[0].cure, "CAP_DAC_READ_SEARCH");
    bj_privileges_missing(&conf, bj_slice_str(search), (struct bj_slice){0},
                          list);
    assert_string_equal(list[0].cure, "CAP_SYS_PTRACE");
}

/* systemd */

static void check_notify(struct sockaddr_un *a, socklen_t len, const char *name)
{
    char got[32] = "";
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)a, len), 0);
    setenv("NOTIFY_SOCKET", name, 1);
    assert_int_equal(bj_notify("READY=1", NULL), 0);
    assert_int_equal(recv(fd, got, sizeof(got), 0), 7);
    assert_string_equal(got, "READY=1");
    close(fd);
}

static void notifying(void **state)
{
    (void)state;
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct bj_err err = {0};
    char path[64], abstract[64];
    int n = snprintf(path, sizeof(path), "/tmp/bj-notify.%d", (int)getpid());
    size_t off = offsetof(struct sockaddr_un, sun_path);
    unsetenv("NOTIFY_SOCKET");
    assert_int_equal(bj_notify("READY=1", &err), 0);

    memcpy(a.sun_path, path, (size_t)n);
    check_notify(&a, (socklen_t)(off + (size_t)n + 1), path);
    unlink(path);
    assert_int_equal(bj_notify("READY=1", &err), -ENOENT);

    a.sun_path[0] = '\0';
    snprintf(abstract, sizeof(abstract), "@%s", path + 1);
    check_notify(&a, (socklen_t)(off + (size_t)n), abstract);

    setenv("NOTIFY_SOCKET", "vsock:2:1", 1);
    assert_int_equal(bj_notify("READY=1", &err), -EINVAL);
    unsetenv("NOTIFY_SOCKET");
}

static void watchdog_interval(void **state)
{
    (void)state;
    char pid[16];
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    unsetenv("WATCHDOG_PID");
    unsetenv("WATCHDOG_USEC");
    assert_int_equal(bj_notify_interval(), 0);
    setenv("WATCHDOG_USEC", "30000000", 1);
    assert_int_equal(bj_notify_interval(), 15000000);
    setenv("WATCHDOG_PID", pid, 1);
    assert_int_equal(bj_notify_interval(), 15000000);
    setenv("WATCHDOG_PID", "1", 1);
    assert_int_equal(bj_notify_interval(), 0);
    setenv("WATCHDOG_PID", "x", 1);
    assert_int_equal(bj_notify_interval(), 0);
    unsetenv("WATCHDOG_PID");
    setenv("WATCHDOG_USEC", "soon", 1);
    assert_int_equal(bj_notify_interval(), 0);
    unsetenv("WATCHDOG_USEC");
}

/* Compression */

static void unpack(const struct bj_buf *in, const struct bj_buf *want)
{
    z_stream z = {0};
    unsigned char *got = malloc(want->len + 1);
    assert_non_null(got);
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    z.next_in = (Bytef *)in->p;
    z.avail_in = (uInt)in->len;
    z.next_out = got;
    z.avail_out = (uInt)want->len + 1;
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(z.total_out, want->len);
    assert_int_equal(z.avail_in, 0);
    assert_true(want->len == 0 || memcmp(got, want->p, want->len) == 0);
    inflateEnd(&z);
    free(got);
}

static void packing(void **state)
{
    (void)state;
    struct bj_gzip *g = NULL;
    struct bj_buf page = {0}, packed = {0};
    uint64_t noise = 1;
    for (int round = 0; round < 30; round++) {
        struct bj_slice in = {page.p, page.len};
        packed.len = 0;
        assert_int_equal(bj_gzip_pack(&g, in, &packed), 0);
        unpack(&packed, &page);
        /* Text that compresses well, later also text that does not. */
        for (int i = 0; i < round * 300; i++) {
            noise = noise * 6364136223846793005u + 1442695040888963407u;
            bj_buf_printf(&page, "name{a=\"%d\"} ", i);
            bj_buf_put(&page, &noise, round > 20 ? sizeof(noise) : 1);
        }
    }
    assert_false(page.failed);
    bj_buf_free(&page);
    bj_buf_free(&packed);
    bj_gzip_free(g);
    bj_gzip_free(NULL);
}

/* The host: threads and log */

static void *check_thread(void *arg)
{
    sigset_t set;
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    pthread_getname_np(pthread_self(), arg, 16);
    return sigismember(&set, SIGTERM) && sigismember(&set, SIGUSR1) ? arg
                                                                    : NULL;
}

static void threads(void **state)
{
    (void)state;
    struct bj_log_repeats repeats = BJ_LOG_REPEATS_INIT;
    struct bj_host host = bj_host_make(&repeats);
    pthread_t t;
    char name[16] = "";
    void *ret = NULL;
    sigset_t before, after;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    assert_int_equal(host.thread(host.ctx, &t, check_thread, name,
                                 "a name that is too long"),
                     0);
    assert_int_equal(pthread_join(t, &ret), 0);
    assert_ptr_equal(ret, name);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    assert_int_equal(sigismember(&before, SIGTERM),
                     sigismember(&after, SIGTERM));
}

static void repeats_are_counted(void **state)
{
    (void)state;
    struct bj_log_repeats repeats = BJ_LOG_REPEATS_INIT;
    struct bj_host host = bj_host_make(&repeats);
    char got[4096] = "";
    int ends[2], old = dup(STDERR_FILENO);
    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    for (int i = 0; i < 5; i++)
        host.log(host.ctx, BJ_LOG_WARN, "the same");
    host.log(host.ctx, BJ_LOG_ERROR, "another");
    host.log(host.ctx, BJ_LOG_WARN, "the same");
    dup2(old, STDERR_FILENO);
    close(ends[1]);
    assert_true(read(ends[0], got, sizeof(got) - 1) > 0);
    close(ends[0]);
    close(old);
    static const char *const want[] = {
        "level=warn msg=\"the same\"",
        "level=warn msg=\"the same (repeated 4 times)\"",
        "level=error msg=\"another\"",
        "level=warn msg=\"the same\"",
    };
    struct bj_slice rest = bj_slice_str(got), line;
    for (size_t i = 0; i < COUNT(want); i++) {
        assert_true(bj_slice_line(&rest, &line));
        size_t n = strlen(want[i]);
        assert_true(line.n > n);
        assert_memory_equal(line.p + line.n - n, want[i], n);
    }
    assert_false(bj_slice_line(&rest, &line));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses),
        cmocka_unit_test(listening),
        cmocka_unit_test(privileges),
        cmocka_unit_test(notifying),
        cmocka_unit_test(watchdog_interval),
        cmocka_unit_test(packing),
        cmocka_unit_test(threads),
        cmocka_unit_test(repeats_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

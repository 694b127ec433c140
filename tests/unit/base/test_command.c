/* bj_command_run() with real processes. */
#include "base/command.h"
#include "tests/unit/lib/await.h"
#include "tests/unit/lib/fail.h"
#include "tests/unit/lib/testclock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SH(script) ((const char *const[]){"sh", "-c", script, NULL})

enum { MS = 1000, SECOND = 1000000 };

static struct bj_command_result res;
static struct bj_err err;

static int clean_up(void **state)
{
    (void)state;
    bj_command_result_free(&res);
    res = (struct bj_command_result){0};
    err = (struct bj_err){0};
    return 0;
}

static int run(const struct bj_command *cmd)
{
    err = (struct bj_err){0};
    int r = bj_command_run(cmd, &res, &err);
    assert_int_equal(err.code, r);
    bj_buf_put(&res.out, "", 1); /* for comparing */
    res.out.len--;
    return r;
}

static int sh(const char *script)
{
    return run(&(struct bj_command){.argv = SH(script)});
}

/* Wait for the end of a process, 20 s at most. */
static bool wait_gone(pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return errno == ESRCH;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int n = poll(&p, 1, 20000);
    close(fd);
    return n == 1;
}

static pid_t number_in(const struct bj_buf *b)
{
    uint64_t v = 0;
    struct bj_slice s = {b->p, b->len};
    assert_true(bj_slice_number(&s, &v));
    return (pid_t)v;
}

/* --- tests ---------------------------------------------------------------- */

static void output(void **state)
{
    (void)state;
    assert_int_equal(sh("echo one; echo two >&2; printf three"), 0);
    assert_string_equal(res.out.p, "one\nthree");
    assert_string_equal(res.error_output, "two\n");
    assert_int_equal(res.error_output_len, 4);
    assert_int_equal(res.exit, 0);
    assert_int_equal(res.signal, 0);
    assert_true(res.took_usec > 0 && res.took_usec < 20 * SECOND);
    assert_int_equal(sh("cat"), 0); /* standard input is empty */
    assert_string_equal(res.out.p, "");
    assert_string_equal(res.error_output, "");
    const char *const argv[] = {"printf", "%s.", "a b", "$(id)", "'", "", NULL};
    assert_int_equal(run(&(struct bj_command){.argv = argv}), 0);
    assert_string_equal(res.out.p, "a b.$(id).'..");
}

static void ways_to_end(void **state)
{
    static const struct {
        const char *script;
        int want, exit, signal;
        const char *msg;
    } cases[] = {
        {"exit 0", 0, 0, 0, ""},
        {"exit 1", -EREMOTEIO, 1, 0, "sh: exit code 1"},
        {"exit 127", -EREMOTEIO, 127, 0, "sh: exit code 127"},
        {"exit 255", -EREMOTEIO, 255, 0, "sh: exit code 255"},
        {"kill -9 $$", -EREMOTEIO, -1, 9, "sh: killed by signal 9"},
        {"kill -15 $$", -EREMOTEIO, -1, 15, "sh: killed by signal 15"},
        {"kill -PIPE $$", -EREMOTEIO, -1, 13, "sh: killed by signal 13"},
        {"echo out; echo >&2; printf ' slurm_load_jobs error: \\033[1mx\\n"
         "more\\n' >&2; exit 3",
         -EREMOTEIO, 3, 0, "sh: exit code 3: slurm_load_jobs error: ?[1mx"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(sh(cases[i].script), cases[i].want);
        assert_int_equal(res.exit, cases[i].exit);
        assert_int_equal(res.signal, cases[i].signal);
        assert_string_equal(err.msg, cases[i].msg);
    }
    assert_string_equal(res.out.p, "out\n"); /* kept despite exit code 3 */
}

static void commands_that_cannot_run(void **state)
{
    char dir[] = "/tmp/bj-command-XXXXXX", plain[64], text[64], want[200];
    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(plain, sizeof(plain), "%s/plain", dir);
    snprintf(text, sizeof(text), "%s/text", dir);
    int fd = open(plain, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    close(fd);
    fd = open(text, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "no magic\n", 9), 9);
    close(fd);

    const char *argv[] = {"bj-none", NULL};
    struct bj_command cmd = {.argv = argv, .path = "/bin:/none"};
    assert_int_equal(run(&cmd), -ENOENT);
    assert_string_equal(err.msg, "bj-none not found in /bin:/none");
    assert_int_equal(res.exit, -1);
    argv[0] = "/bin/bj-none";
    assert_int_equal(run(&cmd), -ENOENT);
    assert_string_equal(err.msg, "/bin/bj-none not found");
    argv[0] = plain;
    assert_int_equal(run(&cmd), -EACCES);
    snprintf(want, sizeof(want), "%s cannot be executed", plain);
    assert_string_equal(err.msg, want);
    argv[0] = "plain";
    cmd.path = dir;
    assert_int_equal(run(&cmd), -EACCES);
    snprintf(want, sizeof(want),
             "plain in %s: user id %u must be able to execute it", dir,
             (unsigned)geteuid());
    assert_string_equal(err.msg, want);
    argv[0] = dir;
    assert_int_equal(run(&cmd), -EACCES);
    argv[0] = text;
    assert_int_equal(run(&cmd), -ENOEXEC);
    snprintf(want, sizeof(want), "execute %s", text);
    assert_string_equal(err.msg, want);
    cmd = (struct bj_command){.argv = SH("true"), .dir = "/none"};
    assert_int_equal(run(&cmd), -ENOENT);
    assert_string_equal(err.msg, "sh: change directory to /none");
    argv[0] = NULL;
    cmd = (struct bj_command){.argv = argv};
    assert_int_equal(run(&cmd), -EINVAL);
    cmd.argv = NULL;
    assert_int_equal(run(&cmd), -EINVAL);
    argv[0] = "";
    cmd.argv = argv;
    assert_int_equal(run(&cmd), -EINVAL);
    unlink(plain);
    unlink(text);
    rmdir(dir);
}

static void search_path(void **state)
{
    char buf[256], small[5];
    (void)state;
    assert_int_equal(
        bj_command_find("sh", "/none::/bin", buf, sizeof(buf), NULL), 0);
    assert_string_equal(buf, "/bin/sh");
    /* The current directory is not searched. */
    assert_int_equal(chdir("/bin"), 0);
    assert_int_equal(bj_command_find("sh", ":.:", buf, sizeof(buf), NULL),
                     -ENOENT);
    assert_int_equal(bj_command_find("./sh", "", buf, sizeof(buf), NULL), 0);
    assert_true(strlen(buf) > 5 && strcmp(buf + strlen(buf) - 5, "/./sh") == 0);
    assert_int_equal(bj_command_find("./sh", "", small, sizeof(small), NULL),
                     -ENAMETOOLONG);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(bj_command_find("/bin/sh", "", small, sizeof(small), NULL),
                     -ENAMETOOLONG);
}

static void clean_environment(void **state)
{
    (void)state;
    setenv("BJ_SECRET", "1", 1);
    setenv("SLURM_TIME_FORMAT", "%s", 1);
    const char *const env[] = {"env", NULL};
    struct bj_command cmd = {.argv = env};
    assert_int_equal(run(&cmd), 0);
    assert_string_equal(res.out.p,
                        "PATH=" BJ_COMMAND_PATH "\nLC_ALL=C\nTZ=UTC0\n");
    setenv("SLURM_CONF", "/etc/y", 1);
    setenv("SLURM_CLUSTERS", "one", 1);
    assert_int_equal(run(&cmd), 0);
    assert_string_equal(res.out.p,
                        "PATH=" BJ_COMMAND_PATH "\nLC_ALL=C\nTZ=UTC0\n"
                        "SLURM_CONF=/etc/y\nSLURM_CLUSTERS=one\n");
    unsetenv("SLURM_CLUSTERS");
    const char *const more[] = {"SLURM_CONF=/etc/x", "LC_ALL=de_DE", NULL};
    cmd.env = more;
    cmd.tz = "Europe/Berlin";
    cmd.path = "/usr/bin:/bin";
    assert_int_equal(run(&cmd), 0);
    assert_string_equal(res.out.p, "PATH=/usr/bin:/bin\nTZ=Europe/Berlin\n"
                                   "SLURM_CONF=/etc/x\nLC_ALL=de_DE\n");
    unsetenv("BJ_SECRET");
    unsetenv("SLURM_TIME_FORMAT");
    unsetenv("SLURM_CONF");
    assert_int_equal(sh("pwd"), 0);
    assert_string_equal(res.out.p, "/\n");
    cmd = (struct bj_command){.argv = SH("pwd"), .dir = "/usr"};
    assert_int_equal(run(&cmd), 0);
    assert_string_equal(res.out.p, "/usr\n");
}

/* A command inherits no descriptors, no signal mask and no ignored signals. */
static void nothing_inherited(void **state)
{
    sigset_t some, old;
    (void)state;
    int fd = open("/dev/null", O_RDONLY); /* not closed on exec */
    int high = fcntl(fd, F_DUPFD, 200);
    assert_true(fd >= 0 && high >= 200);
    signal(SIGHUP, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    sigemptyset(&some);
    sigaddset(&some, SIGUSR1);
    sigaddset(&some, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &some, &old);
    assert_int_equal(sh("echo /proc/$$/fd/*; "
                        "grep -E '^Sig(Blk|Ign)' /proc/self/status; "
                        "readlink /proc/$$/fd/0"),
                     0);
    /* The shell has descriptors 0 to 2, and one to list them. */
    assert_non_null(strstr(res.out.p, "/fd/0"));
    assert_non_null(strstr(res.out.p, "/fd/2"));
    assert_null(strstr(res.out.p, "/fd/4"));
    assert_null(strstr(res.out.p, "/fd/200"));
    assert_non_null(strstr(res.out.p, "SigBlk:\t0000000000000000\n"));
    /* Signals 32 and 33 belong to the C library, which leaves them
     * unchanged. */
    const char *ign = strstr(res.out.p, "SigIgn:\t");
    assert_non_null(ign);
    assert_memory_equal(ign + 8, "0000000", 7);
    assert_memory_equal(ign + 17, "0000000\n", 8);
    assert_non_null(strstr(res.out.p, "\n/dev/null\n"));
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, &old, &now);
    assert_true(sigismember(&now, SIGUSR1) && !sigismember(&now, SIGINT));
    signal(SIGHUP, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    close(fd);
    close(high);
}

static volatile sig_atomic_t handled;

static void handler(int s)
{
    (void)s;
    handled++;
}

/* A command's end is reported however the host program handles SIGCHLD. */
static void child_signals(void **state)
{
    void (*const ways[])(int) = {SIG_IGN, handler, SIG_DFL};
    (void)state;
    for (size_t i = 0; i < COUNT(ways); i++) {
        signal(SIGCHLD, ways[i]);
        assert_int_equal(sh("echo x; exit 0"), 0);
        assert_string_equal(res.out.p, "x\n");
        assert_int_equal(sh("exit 7"), -EREMOTEIO);
        assert_int_equal(res.exit, 7);
        assert_int_equal(sh("kill -9 $$"), -EREMOTEIO);
        assert_int_equal(res.signal, 9);
    }
    /* Nothing is left to wait for. */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

/* Sink: the deadline passes when the command has written its first line. */
static int pass_deadline(void *ctx, struct bj_slice piece, struct bj_err *e)
{
    struct bj_buf *out = ctx;
    (void)e;
    bj_buf_slice(out, piece);
    if (out->len > 0 && out->p[out->len - 1] == '\n')
        testclock_advance(30 * SECOND);
    return 0;
}

static void run_late(const char *script, uint64_t grace_usec)
{
    struct bj_buf out = {0};
    const struct bj_command cmd = {.argv = SH(script),
                                   .grace_usec = grace_usec,
                                   .sink = pass_deadline,
                                   .ctx = &out};
    assert_int_equal(run(&cmd), -ETIMEDOUT);
    assert_string_equal(err.msg, "sh: killed after 30000 ms");
    bj_buf_free(&res.out);
    res.out = out;
}

static void deadline(void **state)
{
    (void)state;
    run_late("echo begun; exec sleep 120", 0);
    assert_int_equal(res.exit, -1);
    assert_int_equal(res.signal, SIGTERM);
    /* A command that exits in its SIGTERM handler is still late. */
    run_late("trap 'exit 0' TERM; echo begun; while :; do sleep 0.05; done",
             20 * SECOND);
    assert_int_equal(res.exit, 0);
    /* A command that ignores SIGTERM is killed. */
    run_late("trap '' TERM; echo $$; while :; do sleep 0.1; done", 200 * MS);
    assert_int_equal(res.signal, SIGKILL);
    assert_true(wait_gone(number_in(&res.out)));
    testclock_run();
    for (uint64_t us = 1; us < 3000; us += 300) {
        const struct bj_command cmd = {.argv = SH("trap '' TERM; sleep 60"),
                                       .deadline_usec = us,
                                       .grace_usec = us};
        assert_int_equal(run(&cmd), -ETIMEDOUT);
    }
}

struct sum {
    uint64_t bytes, pieces, stop_at;
};

static int add(void *ctx, struct bj_slice piece, struct bj_err *e)
{
    struct sum *s = ctx;
    s->bytes += piece.n;
    if (++s->pieces == s->stop_at)
        return bj_err_set(e, -ELOOP, "enough");
    return 0;
}

static void grandchildren(void **state)
{
    (void)state;
    /* A child that keeps the pipes open does not delay the end. */
    assert_int_equal(sh("sleep 1000 & echo $!"), 0);
    assert_true(wait_gone(number_in(&res.out)));
    /* Children are killed with a late command. */
    run_late("sh -c 'trap \"\" TERM; sleep 1000' & echo $!; wait", 100 * MS);
    testclock_run();
    assert_true(wait_gone(number_in(&res.out)));
    /* A child may write without end. */
    struct sum s = {0};
    const struct bj_command cmd = {
        .argv = SH("exec 3>&1; { { echo y >&3; echo; exec yes >&3; } & } | "
                   "head -n 1; sleep 0.2"),
        .sink = add,
        .ctx = &s};
    assert_int_equal(run(&cmd), 0);
    assert_true(s.bytes > 0);
}

/* With leave_children, a background child continues after the command. */
static void left_children(void **state)
{
    char fifo[64], script[192];
    int fd = -1;
    (void)state;
    snprintf(fifo, sizeof(fifo), "/tmp/bj-command-%d", (int)getpid());
    snprintf(script, sizeof(script),
             "F=%s; mkfifo $F; { read x <$F; rm $F; } &", fifo);
    const struct bj_command cmd = {.argv = SH(script), .leave_children = true};
    assert_int_equal(run(&cmd), 0);
    AWAIT((fd = open(fifo, O_WRONLY | O_NONBLOCK)) >= 0);
    close(fd);
    AWAIT(access(fifo, F_OK) < 0);
}

static void large_outputs(void **state)
{
    struct sum s = {0};
    struct bj_command cmd = {.argv = SH("head -c 1073741824 /dev/zero"),
                             .sink = add,
                             .ctx = &s,
                             .deadline_usec = 120 * (uint64_t)SECOND};
    (void)state;
    assert_int_equal(run(&cmd), 0);
    assert_true(s.bytes == 1 << 30);
    assert_int_equal(res.out.len, 0);
    cmd = (struct bj_command){.argv = SH("yes"), .max_bytes = 1000001};
    assert_int_equal(run(&cmd), -EFBIG);
    assert_string_equal(err.msg, "sh: more than 1000001 bytes of output");
    assert_int_equal(res.out.len, 1000001);
    cmd = (struct bj_command){.argv = SH("printf 12345"), .max_bytes = 5};
    assert_int_equal(run(&cmd), 0);
    assert_string_equal(res.out.p, "12345");
    cmd.max_bytes = 4;
    assert_int_equal(run(&cmd), -EFBIG);
    assert_string_equal(res.out.p, "1234");
    /* A sink can stop the command. */
    s = (struct sum){.stop_at = 2};
    cmd = (struct bj_command){.argv = SH("yes"), .sink = add, .ctx = &s};
    assert_int_equal(run(&cmd), -ELOOP);
    assert_string_equal(err.msg, "enough");
    assert_int_equal(s.pieces, 2);
    /* Error output beyond the buffer is read and discarded. */
    assert_int_equal(sh("head -c 3000000 /dev/zero | tr '\\0' x >&2"), 0);
    assert_int_equal(res.error_output_len, sizeof(res.error_output) - 1);
    assert_int_equal(strlen(res.error_output), sizeof(res.error_output) - 1);
    /* Output written just before the exit is complete. */
    for (int i = 0; i < 20; i++) {
        assert_int_equal(sh("head -c 60000 /dev/zero"), 0);
        assert_int_equal(res.out.len, 60000);
    }
}

static int set_flag(void *flag, struct bj_slice piece, struct bj_err *e)
{
    (void)piece;
    (void)e;
    atomic_store((atomic_bool *)flag, true);
    return 0;
}

static void aborted(void **state)
{
    atomic_bool stop = false;
    struct bj_command cmd = {.argv = SH("echo begun; exec sleep 1000"),
                             .deadline_usec = 900 * (uint64_t)SECOND,
                             .sink = set_flag,
                             .ctx = &stop,
                             .abort = &stop};
    (void)state;
    assert_int_equal(run(&cmd), -ECANCELED);
    assert_string_equal(err.msg, "sh: aborted");
}

static void *run_repeatedly(void *arg)
{
    struct bj_command_result own = {0};
    struct bj_err e = {0};
    const char *text = arg;
    const char *const argv[] = {"echo", text, NULL};
    struct bj_command cmd = {.argv = argv};
    void *bad = NULL;
    for (int i = 0; i < 30 && !bad; i++) {
        int r = bj_command_run(&cmd, &own, &e);
        if (r != 0 || own.out.len != strlen(text) + 1 ||
            memcmp(own.out.p, text, strlen(text)) != 0)
            bad = arg;
    }
    bj_command_result_free(&own);
    return bad;
}

static void many_threads(void **state)
{
    static char names[][8] = {"one", "two", "three", "four"};
    pthread_t t[COUNT(names)];
    (void)state;
    signal(SIGCHLD, SIG_IGN);
    for (size_t i = 0; i < COUNT(names); i++)
        assert_int_equal(pthread_create(&t[i], NULL, run_repeatedly, names[i]),
                         0);
    for (size_t i = 0; i < COUNT(names); i++) {
        void *bad;
        pthread_join(t[i], &bad);
        assert_null(bad);
    }
    signal(SIGCHLD, SIG_DFL);
}

/* When the host program is killed, its command is killed, too. */
static void host_dies(void **state)
{
    int fd[2];
    char buf[32] = "";
    (void)state;
    assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
    pid_t host = fork();
    if (host == 0) {
        char script[64];
        /* Named by its path, since descriptors are not inherited. */
        snprintf(script, sizeof(script),
                 "sleep 60 & echo $! >/proc/%d/fd/%d; wait", (int)getpid(),
                 fd[1]);
        bj_command_run(&(struct bj_command){.argv = SH(script)}, &res, NULL);
        _exit(0);
    }
    assert_true(host > 0);
    ssize_t n = read(fd[0], buf, sizeof(buf) - 1);
    assert_true(n > 1);
    kill(host, SIGKILL);
    waitpid(host, NULL, 0);
    struct bj_buf b = {.p = buf, .len = (size_t)n};
    assert_true(wait_gone(number_in(&b)));
    close(fd[0]);
    close(fd[1]);
}

/* A command runs although the caller has closed descriptors 0 to 2, as a daemon
 * may. */
static void no_standard_descriptors(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 3; i++)
            close(i);
        struct bj_command_result own = {0};
        int r = bj_command_run(
            &(struct bj_command){.argv = SH("echo a; echo b >&2; cat")}, &own,
            NULL);
        bool good = r == 0 && own.out.len == 2 && own.error_output_len == 2;
        bj_command_result_free(&own);
        _exit(good ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static unsigned open_fds(void)
{
    unsigned n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static int run_once(void *arg)
{
    struct bj_command_result own = {0};
    struct bj_err e = {0};
    (void)arg;
    struct bj_command cmd = {.argv = SH("echo x")};
    int r = bj_command_run(&cmd, &own, &e);
    assert_int_equal(e.code, r);
    bj_command_result_free(&own);
    return r;
}

static void no_leaks(void **state)
{
    unsigned before = open_fds();
    (void)state;
    assert_true(bj_fail_each(run_once, NULL) > 1);
    for (int i = 0; i < 20; i++) {
        sh("exit 1");
        const char *const none[] = {"bj-none", NULL};
        run(&(struct bj_command){.argv = none});
    }
    assert_int_equal(open_fds(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(output, clean_up),
        cmocka_unit_test_teardown(ways_to_end, clean_up),
        cmocka_unit_test_teardown(commands_that_cannot_run, clean_up),
        cmocka_unit_test_teardown(search_path, clean_up),
        cmocka_unit_test_teardown(clean_environment, clean_up),
        cmocka_unit_test_teardown(nothing_inherited, clean_up),
        cmocka_unit_test_teardown(child_signals, clean_up),
        cmocka_unit_test_teardown(deadline, clean_up),
        cmocka_unit_test_teardown(grandchildren, clean_up),
        cmocka_unit_test_teardown(left_children, clean_up),
        cmocka_unit_test_teardown(large_outputs, clean_up),
        cmocka_unit_test_teardown(aborted, clean_up),
        cmocka_unit_test_teardown(many_threads, clean_up),
        cmocka_unit_test_teardown(host_dies, clean_up),
        cmocka_unit_test_teardown(no_standard_descriptors, clean_up),
        cmocka_unit_test_teardown(no_leaks, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

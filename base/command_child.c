#include "base/command_child.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Two processes are started: a runner, a copy of this process that waits for
 * the command, and the command.  Only a parent learns the exit status, and a
 * host that ignores SIGCHLD (collectd) or waits for any child cannot be that
 * parent.  The runner also leads the group, so that the group's id stays in use
 * as long as it lives.
 *
 * All code below in_runner() runs in a copy of a process that may have many
 * threads: it may only call async-signal-safe functions. */

/* Descriptors of the runner; the command has the first three too. */
enum { INPUT_FD, OUT_FD, ERROR_OUTPUT_FD, REPORT_FD, HOLD_FD, FDS };

/* Both ends of the pipes. */
struct pipes {
    int ours[FDS], theirs[FDS];
};

static void pipes_close(int fd[FDS])
{
    for (int i = 0; i < FDS; i++)
        if (fd[i] >= 0)
            close(fd[i]);
}

/* A file in memory, so that no process has to write while the command runs. */
static int open_input(struct bj_slice input)
{
    if (!input.p)
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    int fd = memfd_create("input", MFD_CLOEXEC);
    size_t done = 0;
    while (fd >= 0 && done < input.n) {
        ssize_t n = write(fd, input.p + done, input.n - done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            break;
    }
    if (fd < 0 || (done == input.n && lseek(fd, 0, SEEK_SET) == 0))
        return fd;
    bj_close_fd(&fd);
    return -1;
}

static int pipes_open(struct pipes *p, struct bj_slice input)
{
    memset(p, 0xff, sizeof(*p));
    p->theirs[INPUT_FD] = open_input(input);
    if (p->theirs[INPUT_FD] < 0)
        return -errno;
    for (int i = OUT_FD; i < FDS; i++) {
        int fd[2];
        if (pipe2(fd, O_CLOEXEC) < 0)
            return -errno;
        bool to_us = i != HOLD_FD;
        p->ours[i] = fd[to_us ? 0 : 1];
        p->theirs[i] = fd[to_us ? 1 : 0];
        if (to_us && fcntl(p->ours[i], F_SETFL, O_NONBLOCK) < 0)
            return -errno;
    }
    return 0;
}

/* --- in the new processes -------------------------------------------------*/

static void default_signals(void)
{
    struct sigaction dfl = {.sa_handler = SIG_DFL};
    sigset_t none;
    for (int s = 1; s < NSIG; s++)
        sigaction(s, &dfl, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void close_from(unsigned first)
{
    struct rlimit lim;
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, ~0u, 0) == 0)
        return;
#endif
    unsigned end = 65536; /* kernels before 5.9: one by one, up to a limit */
    if (getrlimit(RLIMIT_NOFILE, &lim) == 0 && lim.rlim_cur < end)
        end = (unsigned)lim.rlim_cur;
    for (unsigned fd = first; fd < end; fd++)
        close((int)fd);
}

/* Move fds to the numbers 0 to FDS-1, which some may have already, and close
 * all other descriptors. */
static bool place_fds(int fd[FDS])
{
    for (int i = 0; i < FDS; i++) {
        fd[i] = fcntl(fd[i], F_DUPFD, FDS);
        if (fd[i] < 0)
            return false;
    }
    for (int i = 0; i < FDS; i++)
        if (dup2(fd[i], i) < 0)
            return false;
    close_from(FDS);
    return true;
}

static void send_report(const struct bj_command_report *r)
{
    while (write(REPORT_FD, r, sizeof(*r)) < 0 && errno == EINTR)
        ;
}

/* Request a signal for the end of the parent, which may have ended already. */
static void die_with(pid_t parent, int how)
{
    prctl(PR_SET_PDEATHSIG, how);
    if (getppid() != parent)
        _exit(127);
}

static void in_command(const struct bj_command_child *plan, pid_t runner)
{
    struct bj_command_report r = {0};
    die_with(runner, SIGKILL);
    default_signals();
    close(HOLD_FD);
    fcntl(REPORT_FD, F_SETFD, FD_CLOEXEC);
    if (chdir(plan->dir) < 0) {
        r.dir_errno = errno;
    } else {
        /* POSIX requires this type; execve() does not change the strings. */
        execve(plan->program, (char *const *)(uintptr_t)plan->argv, plan->env);
        r.exec_errno = errno;
    }
    send_report(&r);
    _exit(127);
}

/* SIGTERM to the group is meant for the command; SIGPIPE would end the runner
 * when the host no longer reads its report; the end of the command and of the
 * host arrive as SIGCHLD and SIGHUP. */
static void runner_signals(sigset_t *ret_awaited)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    default_signals();
    sigaction(SIGTERM, &ignore, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
    sigemptyset(ret_awaited);
    sigaddset(ret_awaited, SIGCHLD);
    sigaddset(ret_awaited, SIGHUP);
    sigprocmask(SIG_BLOCK, ret_awaited, NULL);
}

/* Wait for the end of the command; when the host ends, kill the group. */
static int await(pid_t pid, const sigset_t *awaited)
{
    int status = 0;
    for (;;) {
        pid_t r = waitpid(pid, &status, WNOHANG);
        if (r == pid || (r < 0 && errno != EINTR))
            return status;
        if (sigwaitinfo(awaited, NULL) == SIGHUP)
            kill(0, SIGKILL);
    }
}

static void in_runner(const struct bj_command_child *plan, int fd[FDS],
                      pid_t host)
{
    struct bj_command_report r = {0};
    sigset_t awaited;
    char c;
    runner_signals(&awaited);
    setsid();
    die_with(host, SIGHUP);
    pid_t self = getpid();
    if (!place_fds(fd))
        _exit(127);
    pid_t pid = fork();
    if (pid == 0)
        in_command(plan, self);
    for (int i = INPUT_FD; i <= ERROR_OUTPUT_FD; i++)
        close(i);
    if (pid < 0)
        r.exec_errno = errno;
    else
        r.status = await(pid, &awaited);
    send_report(&r);
    close(REPORT_FD);
    ssize_t n;
    while ((n = read(HOLD_FD, &c, 1)) < 0 && errno == EINTR)
        ;
    if (n != 1) /* a byte: leave the command's children */
        kill(0, SIGKILL);
    _exit(0);
}

/* --- in the host ----------------------------------------------------------*/

/* Signals are blocked meanwhile: the host's handlers must not run in its copy.
 */
static pid_t fork_quietly(const struct bj_command_child *plan, int theirs[FDS])
{
    sigset_t all, old;
    pid_t host = getpid();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pid_t pid = fork();
    int saved = errno;
    if (pid == 0)
        in_runner(plan, theirs, host);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    errno = saved;
    return pid;
}

int bj_command_start(const struct bj_command_child *plan,
                     struct bj_command_ends *ret)
{
    struct pipes p;
    pid_t pid = -1;
    int r = pipes_open(&p, plan->input);
    if (r == 0) {
        pid = fork_quietly(plan, p.theirs);
        r = pid < 0 ? -errno : 0;
    }
    pipes_close(p.theirs);
    if (r < 0) {
        pipes_close(p.ours);
        return r;
    }
    *ret = (struct bj_command_ends){
        .runner = pid,
        .out = p.ours[OUT_FD],
        .error_output = p.ours[ERROR_OUTPUT_FD],
        .report = p.ours[REPORT_FD],
        .hold = p.ours[HOLD_FD],
    };
    return 0;
}

#include "base/command.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/slice.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* The command to start, prepared before the fork. */
struct bj_command_child {
    const char *program; /* absolute */
    const char *const *argv;
    char **env;
    const char *dir;
    struct bj_slice input; /* p NULL: /dev/null */
};

/* The result, written in one piece; the first one that arrives counts. */
struct bj_command_report {
    int dir_errno;  /* of chdir(2); 0: done */
    int exec_errno; /* of execve(2); 0: started */
    int status;     /* of waitpid(2) */
};

/* The host's side of the processes.  The caller closes all, kills the group and
 * waits for runner in the end. */
struct bj_command_ends {
    pid_t runner; /* leads the group; lives until it is killed or hold is closed
                   */
    int out, error_output; /* standard output and error, non-blocking */
    int report;            /* a struct bj_command_report, then the end */
    int hold;
};

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

/* Start it.  -errno of pipe2(2), open(2) or fork(2); nothing is left to close
 * or wait for then. */
static int command_start(const struct bj_command_child *plan,
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

/* --- the environment -------------------------------------------------------*/

/* Variables of this program that its commands get, too: which configuration,
 * server and cluster the schedulers' commands use.  docs/schedulers.md lists
 * them. */
static const char *const passed[] = {
    "SLURM_CONF",    "SLURM_CONF_SERVER", "SLURM_CLUSTERS", "SLURM_JWT",
    "PBS_CONF_FILE", "PBS_SERVER",        "PBS_DEFAULT",    "LSF_ENVDIR",
    "LSF_SERVERDIR", "LSF_BINDIR",        "LSF_LIBDIR",
};

enum { OWN = 3, PASSED = sizeof(passed) / sizeof(passed[0]) };

struct setting {
    const char *name, *value;
};

static bool sets(const char *const *env, const char *name)
{
    size_t n = strlen(name);
    for (; env && *env; env++)
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
            return true;
    return false;
}

/* Write "name=value" at *at and advance it. */
static char *put_setting(char **at, const char *name, const char *value)
{
    char *start = *at;
    size_t n = strlen(name), m = strlen(value);
    memcpy(start, name, n);
    start[n] = '=';
    memcpy(start + n + 1, value, m + 1);
    *at = start + n + m + 2;
    return start;
}

/* All settings that more does not have; returns how many. */
static size_t command_collect(const char *path, const char *tz,
                              const char *const *more,
                              struct setting ret[OWN + PASSED])
{
    struct setting all[OWN + PASSED] = {
        {"PATH", path}, {"LC_ALL", "C"}, {"TZ", tz ? tz : "UTC0"}};
    size_t n = 0;
    for (size_t i = 0; i < PASSED; i++)
        all[OWN + i] = (struct setting){passed[i], getenv(passed[i])};
    for (size_t i = 0; i < OWN + PASSED; i++)
        if (all[i].value && !sets(more, all[i].name))
            ret[n++] = all[i];
    return n;
}

/* An environment of PATH, LC_ALL=C, TZ (NULL: UTC) and the variables of the
 * schedulers that this program has (SLURM_CONF, ...), unless more sets them,
 * and more (may be NULL).  One block for free(3); NULL: no memory. */
static char **command_env(const char *path, const char *tz,
                          const char *const *more)
{
    struct setting own[OWN + PASSED];
    const size_t owned = command_collect(path, tz, more, own);
    size_t n = 0, bytes = 0;
    for (; more && more[n]; n++)
        ;
    for (size_t i = 0; i < owned; i++)
        bytes += strlen(own[i].name) + strlen(own[i].value) + 2;
    char **env = malloc((n + owned + 1) * sizeof(*env) + bytes);
    if (!env)
        return NULL;
    char *at = (char *)(env + n + owned + 1);
    for (size_t i = 0; i < owned; i++)
        env[i] = put_setting(&at, own[i].name, own[i].value);
    for (size_t i = 0; i < n; i++)
        env[owned + i] = (char *)(uintptr_t)more[i];
    env[owned + n] = NULL;
    return env;
}

/* --- the file of a program -------------------------------------------------*/

/* 0, -ENOENT, or -EACCES for a file that is not executable. */
static int try_program(const char *file)
{
    struct stat st;
    if (stat(file, &st) < 0)
        return errno == EACCES ? -EACCES : -ENOENT;
    if (!S_ISREG(st.st_mode) || faccessat(AT_FDCWD, file, X_OK, AT_EACCESS) < 0)
        return -EACCES;
    return 0;
}

/* "dir/name" in buf; -ENAMETOOLONG. */
static int command_join(struct bj_slice dir, const char *name, char *buf,
                        size_t cap)
{
    int n = snprintf(buf, cap, "%.*s/%s", (int)dir.n, dir.p, name);
    return n < 0 || (size_t)n >= cap ? -ENAMETOOLONG : 0;
}

/* A name with a slash; relative to the current directory, not to the command's.
 */
static int find_file(const char *name, char *buf, size_t cap,
                     struct bj_err *err)
{
    int r = 0;
    if (name[0] == '/')
        r = command_join(BJ_SLICE(""), name + 1, buf, cap);
    else if (!getcwd(buf, cap))
        r = errno == ERANGE ? -ENAMETOOLONG : -errno;
    else if (strlen(buf) + strlen(name) + 2 > cap)
        r = -ENAMETOOLONG;
    else {
        size_t n = strlen(buf);
        buf[n] = '/';
        memcpy(buf + n + 1, name, strlen(name) + 1);
    }
    if (r == 0)
        r = try_program(buf);
    if (r == -EACCES)
        return bj_err_set(err, r, "%s cannot be executed", name);
    return r == 0 ? 0 : bj_err_set(err, r, "%s not found", name);
}

int bj_command_find(const char *name, const char *path, char *buf, size_t cap,
                    struct bj_err *err)
{
    struct bj_slice rest = bj_slice_str(path), dir;
    bool found = false;
    if (strchr(name, '/'))
        return find_file(name, buf, cap, err);
    while (bj_slice_field(&rest, ':', &dir)) {
        int r = dir.n > 0 && dir.p[0] == '/' ? command_join(dir, name, buf, cap)
                                             : -ENOENT;
        if (r == 0)
            r = try_program(buf);
        if (r == 0)
            return 0;
        found = found || r == -EACCES;
    }
    if (found)
        return bj_err_set(err, -EACCES,
                          "%s in %s: user id %u must be able to execute it",
                          name, path, (unsigned)geteuid());
    return bj_err_set(err, -ENOENT, "%s not found in %s", name, path);
}

/* --- a command -------------------------------------------------------------*/

enum {
    READ_BYTES = 65536,
    ABORT_POLL_MS = 200, /* interval at which the abort flag is read */
    SECOND = 1000000,
};

/* One run. */
struct run {
    const struct bj_command *cmd;
    struct bj_command_result *res;
    struct bj_err *err;
    const char *name; /* for messages */
    pid_t runner;
    int out, error_output, report; /* read ends; -1: closed */
    int hold;                      /* write end; closing it ends the runner */
    size_t max, got;               /* bytes of output */
    uint64_t start, kill_at;
    int verdict; /* why it is killed; 0: not killed */
    bool termed, killed;
    struct bj_command_report how;
    bool reported;
    char buf[READ_BYTES];
};

void bj_command_result_free(struct bj_command_result *res)
{
    bj_buf_free(&res->out);
}

/* --- killing --------------------------------------------------------------*/

/* The runner leads the group.  No other process can get its id before
 * end_group() waits for it. */
static void kill_group(struct run *r, int verdict)
{
    if (r->verdict == 0)
        r->verdict = verdict;
    if (r->termed)
        return;
    uint64_t grace = r->cmd->grace_usec ? r->cmd->grace_usec : 2 * SECOND;
    r->termed = true;
    r->kill_at = bj_clock_boot_usec() + grace;
    kill(-r->runner, SIGTERM);
}

static void check_deadline(struct run *r)
{
    uint64_t limit =
        r->cmd->deadline_usec ? r->cmd->deadline_usec : 30 * SECOND;
    uint64_t now = bj_clock_boot_usec();
    if (r->cmd->abort && atomic_load(r->cmd->abort))
        kill_group(r, bj_err_set(r->err, -ECANCELED, "%s: aborted", r->name));
    if (!r->termed && now - r->start >= limit)
        kill_group(r, bj_err_set(r->err, -ETIMEDOUT, "%s: killed after %llu ms",
                                 r->name, (unsigned long long)(limit / 1000)));
    /* Repeat until it works: a runner that has just started does not lead its
     * group yet. */
    if (r->termed && now >= r->kill_at) {
        r->killed = true;
        kill(-r->runner, SIGKILL);
    }
}

/* The timeout of poll(). */
static int timeout_ms(const struct run *r)
{
    uint64_t limit =
        r->cmd->deadline_usec ? r->cmd->deadline_usec : 30 * SECOND;
    uint64_t until = r->termed ? r->kill_at : r->start + limit;
    uint64_t now = bj_clock_boot_usec();
    uint64_t ms = until > now ? (until - now) / 1000 + 1 : 0;
    if (r->killed)
        ms = ABORT_POLL_MS;
    if (r->cmd->abort && ms > ABORT_POLL_MS)
        ms = ABORT_POLL_MS;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

/* --- output ----------------------------------------------------------------*/

static void deliver(struct run *r, struct bj_slice s)
{
    size_t room = r->max - r->got;
    bool over = s.n > room;
    if (r->verdict != 0)
        return;
    s.n = over ? room : s.n;
    r->got += s.n;
    int x = 0;
    if (r->cmd->sink && s.n > 0)
        x = r->cmd->sink(r->cmd->ctx, s, r->err);
    else if (!r->cmd->sink)
        bj_buf_slice(&r->res->out, s);
    if (x < 0)
        kill_group(r, x);
    else if (r->res->out.failed)
        kill_group(r, bj_err_set(r->err, -ENOMEM,
                                 "%s: no memory for its output", r->name));
    else if (over)
        kill_group(r, bj_err_set(r->err, -EFBIG,
                                 "%s: more than %zu bytes of output", r->name,
                                 r->max));
}

static void take_errors(struct run *r, struct bj_slice s)
{
    struct bj_command_result *res = r->res;
    size_t room = sizeof(res->error_output) - 1 - res->error_output_len;
    size_t n = s.n < room ? s.n : room;
    memcpy(res->error_output + res->error_output_len, s.p, n);
    res->error_output_len += n;
    res->error_output[res->error_output_len] = '\0';
}

static void close_end(int *fd)
{
    bj_close_fd(fd);
    *fd = -1;
}

/* Read once; false when nothing is there now or the pipe has ended. */
static bool drain(struct run *r, int *fd,
                  void (*take)(struct run *, struct bj_slice))
{
    if (*fd < 0)
        return false;
    ssize_t n;
    do
        n = read(*fd, r->buf, sizeof(r->buf));
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN)
        return false;
    if (n <= 0) {
        close_end(fd);
        return false;
    }
    take(r, (struct bj_slice){r->buf, (size_t)n});
    return true;
}

/* A pipe that ends without a report: the runner was killed. */
static void take_report(struct run *r)
{
    ssize_t n;
    do
        n = read(r->report, &r->how, sizeof(r->how));
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)sizeof(r->how))
        r->reported = true;
    close_end(&r->report);
}

/* --- the run --------------------------------------------------------------*/

/* Read until the report arrives.  The output of the command itself is in the
 * pipes by then; that of its children may be lost. */
static void read_pipes(struct run *r)
{
    while (r->report >= 0) {
        struct pollfd p[] = {
            {.fd = r->report, .events = POLLIN},
            {.fd = r->out, .events = POLLIN},
            {.fd = r->error_output, .events = POLLIN},
        };
        poll(p, 3, timeout_ms(r));
        if (p[1].revents)
            drain(r, &r->out, deliver);
        if (p[2].revents)
            drain(r, &r->error_output, take_errors);
        if (p[0].revents)
            take_report(r);
        check_deadline(r);
    }
    size_t most =
        2 * (1 << 20) / READ_BYTES; /* a child may write without end */
    while (most-- > 0 && drain(r, &r->out, deliver))
        ;
    while (drain(r, &r->error_output, take_errors) &&
           r->res->error_output_len < sizeof(r->res->error_output) - 1)
        ;
}

/* Kill the rest of the group and the runner, or let the runner alone end.
 * Where SIGCHLD is ignored, waitpid() finds nothing. */
static void end_group(struct run *r)
{
    const bool leave = r->cmd->leave_children && r->reported && r->verdict == 0;
    if (!leave || write(r->hold, "", 1) != 1)
        kill(-r->runner, SIGKILL);
    close_end(&r->hold);
    while (waitpid(r->runner, NULL, 0) < 0 && errno == EINTR)
        ;
}

static void first_line(const struct bj_command_result *res, char *buf,
                       size_t cap)
{
    struct bj_slice rest = {res->error_output, res->error_output_len}, line;
    buf[0] = '\0';
    while (bj_slice_line(&rest, &line)) {
        line = bj_slice_trim(line);
        if (line.n == 0)
            continue;
        bj_text_clean(line, buf, cap);
        return;
    }
}

static int result_of(struct run *r)
{
    struct bj_command_result *res = r->res;
    char why[160];
    if (r->how.dir_errno != 0)
        return bj_err_set(r->err, -r->how.dir_errno,
                          "%s: change directory to %s", r->name, r->cmd->dir);
    if (r->how.exec_errno != 0)
        return bj_err_set(r->err, -r->how.exec_errno, "execute %s",
                          r->cmd->argv[0]);
    if (r->reported && WIFEXITED(r->how.status))
        res->exit = WEXITSTATUS(r->how.status);
    else if (r->reported)
        res->signal = WTERMSIG(r->how.status);
    else
        res->signal = SIGKILL;
    if (r->verdict != 0)
        return r->verdict;
    if (res->exit == 0)
        return 0;
    first_line(res, why, sizeof(why));
    if (res->exit > 0)
        return bj_err_set(r->err, -EREMOTEIO, "%s: exit code %d%s%s", r->name,
                          res->exit, why[0] ? ": " : "", why);
    return bj_err_set(r->err, -EREMOTEIO, "%s: killed by signal %d%s%s",
                      r->name, res->signal, why[0] ? ": " : "", why);
}

static int own_command_start(struct run *r, const struct bj_command_child *plan)
{
    struct bj_command_ends ends;
    int x = command_start(plan, &ends);
    if (x < 0)
        return bj_err_set(r->err, x, "%s: cannot start", r->name);
    r->runner = ends.runner;
    r->out = ends.out;
    r->error_output = ends.error_output;
    r->report = ends.report;
    r->hold = ends.hold;
    return 0;
}

static int command_run(struct run *r)
{
    char program[PATH_MAX];
    const struct bj_command *cmd = r->cmd;
    const char *path = cmd->path ? cmd->path : BJ_COMMAND_PATH;
    int x =
        bj_command_find(cmd->argv[0], path, program, sizeof(program), r->err);
    if (x < 0)
        return x;
    struct bj_command_child plan = {
        .program = program,
        .argv = cmd->argv,
        .env = command_env(path, cmd->tz, cmd->env),
        .dir = cmd->dir ? cmd->dir : "/",
        .input = cmd->input,
    };
    if (!plan.env)
        return bj_err_set(r->err, -ENOMEM, "%s: no memory", r->name);
    r->start = bj_clock_boot_usec();
    x = own_command_start(r, &plan);
    free(plan.env);
    if (x < 0)
        return x;
    read_pipes(r);
    end_group(r);
    r->res->took_usec = bj_clock_boot_usec() - r->start;
    close_end(&r->out);
    close_end(&r->error_output);
    return result_of(r);
}

int bj_command_run(const struct bj_command *cmd, struct bj_command_result *res,
                   struct bj_err *err)
{
    struct bj_err own = {0};
    res->exit = -1;
    res->signal = 0;
    bj_buf_reset(&res->out);
    res->error_output[0] = '\0';
    res->error_output_len = 0;
    res->took_usec = 0;
    err = err ? err : &own;
    if (!cmd->argv || !cmd->argv[0] || !cmd->argv[0][0])
        return bj_err_set(err, -EINVAL, "no command");
    struct run *r = calloc(1, sizeof(*r));
    if (!r)
        return bj_err_set(err, -ENOMEM, "%s: no memory", cmd->argv[0]);
    const char *slash = strrchr(cmd->argv[0], '/');
    r->cmd = cmd;
    r->res = res;
    r->err = err;
    r->name = slash && slash[1] ? slash + 1 : cmd->argv[0];
    r->max = cmd->max_bytes ? cmd->max_bytes
             : cmd->sink    ? SIZE_MAX
                            : (size_t)64 << 20;
    int x = command_run(r);
    free(r);
    return x;
}

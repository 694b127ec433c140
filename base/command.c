#include "base/command.h"
#include "base/clock.h"
#include "base/command_child.h"
#include "base/file.h"
#include "base/text.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

static int start(struct run *r, const struct bj_command_child *plan)
{
    struct bj_command_ends ends;
    int x = bj_command_start(plan, &ends);
    if (x < 0)
        return bj_err_set(r->err, x, "%s: cannot start", r->name);
    r->runner = ends.runner;
    r->out = ends.out;
    r->error_output = ends.error_output;
    r->report = ends.report;
    r->hold = ends.hold;
    return 0;
}

static int run(struct run *r)
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
        .env = bj_command_env(path, cmd->tz, cmd->env),
        .dir = cmd->dir ? cmd->dir : "/",
        .input = cmd->input,
    };
    if (!plan.env)
        return bj_err_set(r->err, -ENOMEM, "%s: no memory", r->name);
    r->start = bj_clock_boot_usec();
    x = start(r, &plan);
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
    res->out.len = 0;
    res->out.failed = false;
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
    int x = run(r);
    free(r);
    return x;
}

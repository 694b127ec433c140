#include "tests/unit/lib/pgserver.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Read a line from the script, without its newline. */
static void get_line(struct pgserver *s, char *line, size_t size)
{
    size_t n = 0;
    char c;
    while (read(s->from, &c, 1) == 1 && c != '\n')
        if (n + 1 < size)
            line[n++] = c;
    line[n] = '\0';
}

static void put_line(struct pgserver *s, const char *line)
{
    assert_int_equal(write(s->to, line, strlen(line)), (ssize_t)strlen(line));
    assert_int_equal(write(s->to, "\n", 1), 1);
}

/* "URL PID BIN" */
static void take_state(struct pgserver *s, char *line)
{
    char *pid = strchr(line, ' ');
    assert_non_null(pid);
    *pid++ = '\0';
    snprintf(s->url, sizeof(s->url), "%.250s", line);
    s->pid = (pid_t)strtol(pid, NULL, 10);
    assert_true(s->pid > 0);
}

bool pgserver_start(struct pgserver *ret)
{
    int in[2], out[2];
    char line[512];
    *ret = (struct pgserver){.to = -1, .from = -1};
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    ret->script = fork();
    assert_true(ret->script >= 0);
    if (ret->script == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        execl("tests/postgres.py", "postgres.py", (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    ret->to = in[1];
    ret->from = out[0];
    get_line(ret, line, sizeof(line));
    if (strncmp(line, "none: ", 6) == 0) {
        snprintf(ret->reason, sizeof(ret->reason), "%.150s", line + 6);
        pgserver_stop(ret);
        return false;
    }
    if (strncmp(line, "postgresql://", 13) != 0)
        fail_msg("tests/postgres.py: %s", line);
    take_state(ret, line);
    return true;
}

void pgserver_stop(struct pgserver *s)
{
    if (s->script <= 0)
        return;
    close(s->to);
    waitpid(s->script, NULL, 0);
    close(s->from);
    s->script = 0;
}

void pgserver_kill(struct pgserver *s)
{
    char line[64];
    put_line(s, "kill");
    get_line(s, line, sizeof(line));
    assert_string_equal(line, "killed");
}

void pgserver_restart(struct pgserver *s)
{
    char line[512];
    put_line(s, "start");
    get_line(s, line, sizeof(line));
    take_state(s, line);
}

void pgserver_sql(struct pgserver *s, const char *sql)
{
    char line[512];
    snprintf(line, sizeof(line), "sql %s", sql);
    put_line(s, line);
    get_line(s, line, sizeof(line));
    assert_string_equal(line, "ok");
}

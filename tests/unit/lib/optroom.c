#include "tests/unit/lib/optroom.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static int no_dash(const char *text, struct bj_err *err)
{
    assert_int_not_equal(text[0], '\0');
    return text[0] != '-'
               ? 0
               : bj_err_set(err, -EINVAL, "'%s' begins with a dash", text);
}

const struct bj_opt conf_opts[] = {
    {.name = "collector.cpu",
     MEMBER(BOOL, flag),
     .preset = "true",
     .help = "Read CPU time.",
     .set_off = offsetof(struct conf, flag_set)},
    {.name = "collector.cpu.rest", MEMBER(U64, rest), .help = "More of it."},
    {.name = "open-fds", MEMBER(BOOL, off), .help = "Count descriptors."},
    {.name = "max-jobs",
     MEMBER(U64, jobs),
     .lo = 1,
     .hi = 65536,
     .preset = "1024",
     .help = "Jobs followed at a time."},
    {.name = "free", MEMBER(U64, free), .help = "Any number."},
    {.name = "web.timeout",
     MEMBER(DURATION, timeout),
     .lo = 1000,
     .hi = 3600000000,
     .preset = "15s",
     .help = "Time that a request may take from its first byte to the last "
             "one of the answer, whatever the client does."},
    {.name = "web.max-size",
     MEMBER(SIZE, size),
     .lo = 1024,
     .hi = 1 << 30,
     .preset = "64K",
     .help = "Longest request."},
    {.name = "path.procfs",
     MEMBER(STR, proc),
     .preset = "/proc",
     .arg = "PATH",
     .help = "Where procfs is mounted."},
    {.name = "log.level",
     MEMBER(STR, level),
     .preset = "info",
     .help = "What is logged.",
     .choices = "error|warn|info|debug"},
    {.name = "cluster",
     MEMBER(STR, none),
     .arg = "NAME",
     .check = no_dash,
     .help = "Name of the cluster."},
    {.name = "job-files",
     MEMBER(LIST, files),
     .arg = "DIR",
     .check = no_dash,
     .help = "Directories with files of the prolog."},
    {.name = "web.listen-address",
     MEMBER(LIST, listen),
     .preset = ":9010,[::1]:9011",
     .help = "Where to listen."},
    {0},
};

const struct bj_opt other_opts[] = {
    {.name = "web.fast",
     .kind = BJ_OPT_BOOL,
     .off = offsetof(struct other, fast),
     .help = "Be fast."},
    {.name = "web.name",
     .kind = BJ_OPT_STR,
     .off = offsetof(struct other, name),
     .preset = "n",
     .help = "Name."},
    {0},
};

void init(struct opt_rig *r)
{
    *r = (struct opt_rig){0};
    r->sets[0] = (struct bj_optset){conf_opts, &r->c};
    r->sets[1] = (struct bj_optset){other_opts, &r->o};
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(bj_opt_presets(&r->sets[i], &r->err), 0);
}

void fini(struct opt_rig *r)
{
    for (size_t i = 0; i < 2; i++)
        bj_opt_free(&r->sets[i]);
    assert_true(!r->c.proc && !r->c.level && !r->c.none);
    assert_true(!r->c.files.v && r->c.files.n == 0);
    assert_true(!r->c.listen.v && r->c.listen.n == 0);
}

void show(const struct opt_rig *r, char *out, size_t cap)
{
    size_t n = 0;
    out[0] = '\0';
#define SHOW(...) n += (size_t)snprintf(out + n, cap - n, __VA_ARGS__)
    if (!r->c.flag)
        SHOW("cpu=0 ");
    if (r->c.off)
        SHOW("fds=1 ");
    if (r->c.jobs != 1024)
        SHOW("jobs=%llu ", (unsigned long long)r->c.jobs);
    if (r->c.free)
        SHOW("free=%llu ", (unsigned long long)r->c.free);
    if (r->c.rest)
        SHOW("rest=%llu ", (unsigned long long)r->c.rest);
    if (r->c.timeout != 15000000)
        SHOW("timeout=%llu ", (unsigned long long)r->c.timeout);
    if (r->c.size != 65536)
        SHOW("size=%llu ", (unsigned long long)r->c.size);
    if (strcmp(r->c.proc, "/proc") != 0)
        SHOW("proc=%s ", r->c.proc);
    if (strcmp(r->c.level, "info") != 0)
        SHOW("level=%s ", r->c.level);
    if (r->c.none)
        SHOW("cluster=%s ", r->c.none);
    for (size_t i = 0; i < r->c.files.n; i++)
        SHOW("file=%s ", r->c.files.v[i]);
    for (size_t i = 0; i < r->c.listen.n; i++)
        SHOW("listen=%s ", r->c.listen.v[i]);
    if (r->o.fast)
        SHOW("fast=1 ");
    if (strcmp(r->o.name, "n") != 0)
        SHOW("name=%s ", r->o.name);
    if (n > 0)
        out[n - 1] = '\0';
}

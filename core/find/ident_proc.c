/* The identity of a job, from its processes. */
#include "core/find/environ.h"
#include "core/find/ident_find.h"
#include "core/find/pids.h"

#include "base/clock.h"
#include "base/file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PIDS_MAX = 16384, STEPS_MAX = 8, SMALL_CAP = 4096 };

static int by_pid(const void *a, const void *b)
{
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
    return (x > y) - (x < y);
}

static int by_start(const void *a, const void *b)
{
    const struct bj_ident_proc *x = a, *y = b;
    if (x->start_ticks != y->start_ticks)
        return x->start_ticks > y->start_ticks ? 1 : -1;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

static int open_proc(const struct bj_ident_search *s, pid_t pid)
{
    char path[PATH_MAX];
    int n =
        snprintf(path, sizeof(path), "%s/%d", s->src->conf->procfs, (int)pid);
    if (n < 0 || (size_t)n >= sizeof(path))
        return -ENAMETOOLONG;
    return bj_dir_open(AT_FDCWD, path);
}

/* Name and real uid from /proc/PID/status.  The owner of the directory is not
 * sufficient: it is root if the process may not be dumped (proc(5)). */
static bool read_status(int dir, struct bj_ident_proc *p)
{
    char buf[SMALL_CAP];
    struct bj_slice text, line, word;
    bool stepd = false, found = false;
    if (bj_file_read_head(dir, "status", buf, sizeof(buf), &text) < 0)
        return false;
    while (!found && bj_slice_line(&text, &line)) {
        uint64_t uid;
        if (!bj_slice_word(&line, &word))
            continue;
        if (bj_slice_eq(word, BJ_SLICE("Name:")))
            stepd = bj_slice_eq(bj_slice_trim(line), BJ_SLICE("slurmstepd"));
        found = bj_slice_eq(word, BJ_SLICE("Uid:")) &&
                bj_slice_word(&line, &word) && bj_slice_u64(word, &uid) == 0 &&
                uid <= UINT32_MAX;
        if (found)
            p->uid = (uid_t)uid;
    }
    /* Any process may have that name: it counts only if it is root's or runs as
     * the same user as this program, so that a job cannot pose as the batch
     * system. */
    p->batch = stepd && (p->uid == 0 || p->uid == geteuid());
    return found;
}

/* When it started: field 22 of /proc/PID/stat, the 20th after the name. */
static bool read_start(int dir, struct bj_ident_proc *p)
{
    char buf[SMALL_CAP];
    struct bj_slice text, word = {0};
    if (bj_file_read(dir, "stat", buf, sizeof(buf), &text, NULL) < 0)
        return false;
    const char *end = text.n > 0 ? memrchr(text.p, ')', text.n) : NULL;
    if (!end)
        return false;
    text.n -= (size_t)(end + 1 - text.p);
    text.p = end + 1;
    for (int i = 0; i < 20; i++)
        if (!bj_slice_word(&text, &word))
            return false;
    return bj_slice_u64(word, &p->start_ticks) == 0;
}

/* The process ids of the job, from the first of its cgroups that has any: in
 * cgroup v1 some controllers have the job's directory but not its steps'. */
static int list_pids(const struct bj_ident_search *s, pid_t *pids)
{
    int n = 0;
    for (int i = 0; i < 4 && n <= 0; i++)
        if (s->q->dirs[i].n > 0)
            n = bj_pids_below(AT_FDCWD, s->q->dirs[i].p, pids, PIDS_MAX);
    return n;
}

void bj_search_procs(struct bj_ident_search *s)
{
    pid_t *pids = malloc(PIDS_MAX * sizeof(*pids));
    int n = pids ? list_pids(s, pids) : -ENOMEM;
    if (n > 0)
        s->procs = calloc(BJ_PROCS_MAX, sizeof(*s->procs));
    s->missed |= n == -ENOMEM || (n > 0 && !s->procs);
    if (s->procs)
        qsort(pids, (size_t)n, sizeof(*pids), by_pid);
    for (int i = 0; s->procs && i < n && s->nprocs < BJ_PROCS_MAX; i++) {
        struct bj_ident_proc *p = &s->procs[s->nprocs];
        *p = (struct bj_ident_proc){.pid = pids[i]};
        bj_autoclose int dir = open_proc(s, pids[i]);
        if (dir >= 0 && read_status(dir, p) && read_start(dir, p))
            s->nprocs++;
    }
    free(pids);
    if (s->nprocs > 1)
        qsort(s->procs, s->nprocs, sizeof(*s->procs), by_start);
}

/* The id may have been reused since the list was read.  If it is still listed
 * while the opened directory is alive, the files read are those of the listed
 * process. */
static bool still_exists(const struct bj_ident_search *s, int dir, pid_t pid)
{
    bool listed = false;
    for (int i = 0; i < 4 && !listed; i++)
        if (s->q->dirs[i].n > 0)
            listed = bj_pids_has(s->q->dirs[i].p, pid);
    char buf[SMALL_CAP];
    struct bj_slice text;
    return listed &&
           bj_file_read(dir, "stat", buf, sizeof(buf), &text, NULL) == 0 &&
           text.n > 0;
}

/* Is it really slurmstepd?  A set-user-id program can be started under any name
 * and with any arguments.  If the link may not be read (we are not root), name
 * and owner must suffice. */
static bool is_stepd(int dir)
{
    char exe[PATH_MAX];
    ssize_t n = readlinkat(dir, "exe", exe, sizeof(exe));
    if (n < 0)
        return true;
    struct bj_slice rest = {exe, (size_t)n}, part, last = {0};
    while (bj_slice_field(&rest, '/', &part))
        last = part;
    return bj_slice_starts(last, BJ_SLICE("slurmstepd"));
}

/* "slurmstepd: [3385.0]" or "slurmstepd: [3385.batch]". */
static bool title_id(struct bj_slice title, struct bj_slice *ret)
{
    static const struct bj_slice head = {"slurmstepd: [", 13};
    if (!bj_slice_starts(title, head))
        return false;
    struct bj_slice rest = {title.p + head.n, title.n - head.n};
    const char *from = rest.p;
    uint64_t id;
    if (!bj_slice_number(&rest, &id) || rest.n == 0 ||
        (rest.p[0] != '.' && rest.p[0] != ']' && rest.p[0] != '+'))
        return false;
    *ret = (struct bj_slice){from, (size_t)(rest.p - from)};
    return true;
}

void bj_search_title(struct bj_ident_search *s)
{
    for (size_t i = 0; i < s->nprocs && s->unknown_job; i++) {
        const struct bj_ident_proc *p = &s->procs[i];
        if (!p->batch)
            continue;
        char buf[SMALL_CAP];
        struct bj_slice title, id;
        bj_autoclose int dir = open_proc(s, p->pid);
        if (dir < 0 ||
            bj_file_read_head(dir, "cmdline", buf, sizeof(buf), &title) < 0 ||
            !title_id(title, &id) || !is_stepd(dir) ||
            !still_exists(s, dir, p->pid))
            continue;
        bj_search_take(s, BJ_ID_JOBID, id);
        s->unknown_job = false;
    }
}

/* Where the name of the owner is known (OAR), processes of other users, such as
 * the batch system's own, say nothing about the owner. */
static bool may_own(const struct bj_ident_search *s, uid_t uid)
{
    char name[BJ_USER_NAME_CAP];
    return s->f[BJ_ID_USER].n == 0 ||
           (bj_users_name(s->src->users, uid, bj_clock_boot_usec(), name) ==
                0 &&
            bj_slice_eq(s->f[BJ_ID_USER], bj_slice_str(name)));
}

/* Take the owner of the oldest process that does not belong to root: processes
 * in a container of the user may have other owners. */
void bj_search_owner(struct bj_ident_search *s)
{
    for (size_t i = 0; i < s->nprocs && s->f[BJ_ID_UID].n == 0; i++) {
        const struct bj_ident_proc *p = &s->procs[i];
        if (p->batch || p->uid == 0 || !may_own(s, p->uid))
            continue;
        bj_autoclose int dir = open_proc(s, p->pid);
        if (dir >= 0 && still_exists(s, dir, p->pid))
            bj_search_take_uid(s, p->uid, BJ_IDENT_PROCESS);
    }
}

/* Whether an environment counts.  A job of root has only processes of root, as
 * the batch system has: only an environment that names the job belongs to
 * it. */
static bool env_counts(const struct bj_ident_search *s,
                       const struct bj_ident_proc *p)
{
    uint64_t uid;
    if (p->batch)
        return false;
    return bj_slice_u64(s->f[BJ_ID_UID], &uid) < 0 ? may_own(s, p->uid)
                                                   : uid == p->uid;
}

static void take_environ(struct bj_ident_search *s, const struct bj_environ *e,
                         uid_t uid)
{
    if (s->unknown_job)
        s->f[BJ_ID_JOBID] = (struct bj_slice){0};
    s->unknown_job = false;
    s->environ = true;
    for (int i = 0; i < BJ_ID_FIELDS; i++)
        if (i != BJ_ID_UID && i != BJ_ID_USER && i != BJ_ID_SYSTEM)
            bj_search_take(s, (enum bj_ident_field)i, e->f[i]);
    bj_search_take_nodes(s, e->nodelist);
    bj_search_take_uid(s, uid, BJ_IDENT_PROCESS);
}

enum content { NOTHING, STEP, JOB };

/* Read the environment of one process and use its attributes; that of a step
 * only if steps is set. */
static enum content read_environ(struct bj_ident_search *s,
                                 const struct bj_ident_proc *p, char *buf,
                                 bool steps)
{
    bj_autoclose int dir = open_proc(s, p->pid);
    struct bj_slice env;
    int r = dir < 0
                ? dir
                : bj_file_read_head(dir, "environ", buf, BJ_ENVIRON_CAP, &env);
    if (r == -EACCES || r == -EPERM)
        s->denied = true;
    if (r < 0 || env.n == 0)
        return NOTHING;
    struct bj_slice system = s->f[BJ_ID_SYSTEM];
    if (bj_slice_eq(system, BJ_SLICE("htcondor")))
        return still_exists(s, dir, p->pid) && bj_condor_take(s, env, p->uid)
                   ? JOB
                   : NOTHING;
    struct bj_environ e;
    struct bj_slice id = s->f[BJ_ID_JOBID];
    if ((id.n == 0 && !s->unknown_job) ||
        !bj_environ_job(env, system, id, &e) || !still_exists(s, dir, p->pid))
        return NOTHING;
    if (!e.step || steps)
        take_environ(s, &e, p->uid);
    return e.step ? STEP : JOB;
}

/* Use the environment of the job itself if there is one on this node, else that
 * of a step. */
void bj_search_environ(struct bj_ident_search *s)
{
    char *buf = malloc(BJ_ENVIRON_CAP);
    s->missed |= !buf;
    const struct bj_ident_proc *step = NULL;
    int reads = 0, steps = 0;
    enum content kind = NOTHING;
    for (size_t i = 0; buf && i < s->nprocs && kind != JOB; i++) {
        const struct bj_ident_proc *p = &s->procs[i];
        if (!env_counts(s, p))
            continue;
        if (reads++ >= BJ_READS_MAX || steps >= STEPS_MAX)
            break;
        kind = read_environ(s, p, buf, false);
        steps += kind == STEP;
        if (kind == STEP && !step)
            step = p;
    }
    if (kind != JOB && step)
        read_environ(s, step, buf, true);
    free(buf);
}

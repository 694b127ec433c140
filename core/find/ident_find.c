/* Identity of a job: from its processes, its files and its cgroup. */
#include "core/find/ident_find.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/jobuuid.h"
#include "core/find/environ.h"
#include "core/find/jobfile.h"
#include "core/find/pids.h"
#include "core/model/record.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- adds the fields of a source to the identity --------------------------*/

/* Set a field unless it has a value already. */
static void search_take(struct bj_ident_search *s, enum bj_ident_field field,
                        struct bj_slice value)
{
    if (s->f[field].n > 0 || value.n == 0)
        return;
    size_t n = value.n < BJ_RAW_CAP ? value.n : BJ_RAW_CAP;
    memcpy(s->raw[field], value.p, n);
    s->f[field] = (struct bj_slice){s->raw[field], n};
}

/* Set the list of nodes in the same way; not if there is no room for it. */
static void search_take_nodes(struct bj_ident_search *s,
                              struct bj_slice nodelist)
{
    if (s->nodelist.n > 0 || nodelist.n == 0 || nodelist.n > BJ_NODES_CAP)
        return;
    memcpy(s->nodes, nodelist.p, nodelist.n);
    s->nodelist = (struct bj_slice){s->nodes, nodelist.n};
}

static void search_take_uid(struct bj_ident_search *s, uid_t uid,
                            enum bj_ident_source source)
{
    char text[16];
    int n = snprintf(text, sizeof(text), "%u", (unsigned)uid);
    if (s->f[BJ_ID_UID].n == 0 && n > 0)
        s->uid_source = source;
    search_take(s, BJ_ID_UID, (struct bj_slice){text, (size_t)n});
}

/* --- HTCondor -------------------------------------------------------------*/

/* The identity of an HTCondor job: its cgroup is named after the slot, so the
 * id comes from the job ad that the starter writes to the scratch directory.
 *
 * Source: HTCondor manual, "Services for Running Jobs" (_CONDOR_JOB_AD,
 * _CONDOR_SCRATCH_DIR) and "ClassAd Attributes" (ClusterId, ProcId). */

enum { AD_CAP = 64 * 1024, CLUSTER, PROC, ACCOUNT, NAME, ATTRIBUTES };

static const struct {
    const char *name;
    int what;
} attributes[] = {
    {"clusterid", CLUSTER},
    {"procid", PROC},
    {"acctgroup", ACCOUNT},
    {"jobbatchname", NAME},
};

/* The case of attribute names does not matter. */
static bool ident_find_is_name(struct bj_slice s, const char *lower)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!lower[i] || lower[i] != (c >= 'A' && c <= 'Z' ? c + 32 : c))
            return false;
    }
    return lower[s.n] == '\0';
}

/* "text" without its quotes; escapes stay as they are. */
static struct bj_slice unquote(struct bj_slice s)
{
    if (s.n >= 2 && s.p[0] == '"' && s.p[s.n - 1] == '"')
        return (struct bj_slice){s.p + 1, s.n - 2};
    return s;
}

int bj_condor_parse(struct bj_slice ad, char *id, size_t cap,
                    struct bj_slice f[BJ_ID_FIELDS])
{
    struct bj_slice v[ATTRIBUTES] = {{0}}, line;
    while (bj_slice_line(&ad, &line)) {
        const char *eq = line.n > 0 ? memchr(line.p, '=', line.n) : NULL;
        if (!eq)
            continue;
        struct bj_slice name =
            bj_slice_trim((struct bj_slice){line.p, (size_t)(eq - line.p)});
        size_t used = (size_t)(eq + 1 - line.p);
        struct bj_slice value =
            bj_slice_trim((struct bj_slice){eq + 1, line.n - used});
        for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
            if (ident_find_is_name(name, attributes[i].name))
                v[attributes[i].what] = unquote(value);
    }
    uint64_t cluster, proc;
    if (bj_slice_u64(v[CLUSTER], &cluster) < 0 ||
        bj_slice_u64(v[PROC], &proc) < 0)
        return -EINVAL;
    int n = snprintf(id, cap, "%llu.%llu", (unsigned long long)cluster,
                     (unsigned long long)proc);
    if (n < 0 || (size_t)n >= cap)
        return -EINVAL;
    f[BJ_ID_JOBID] = (struct bj_slice){id, (size_t)n};
    f[BJ_ID_ACCOUNT] = v[ACCOUNT];
    f[BJ_ID_NAME] = v[NAME];
    return 0;
}

/* The path of the ad.  The user of the job may have set any path, so its last
 * part must be the usual name. */
static bool ad_path(struct bj_slice env, char *path, size_t cap)
{
    static const struct bj_slice leaf = {"/.job.ad", 8};
    struct bj_slice dir;
    if (bj_environ_get(env, BJ_SLICE("_CONDOR_JOB_AD"), &dir)) {
        if (dir.n < leaf.n ||
            memcmp(dir.p + dir.n - leaf.n, leaf.p, leaf.n) != 0)
            return false;
        dir.n -= leaf.n;
    } else if (!bj_environ_get(env, BJ_SLICE("_CONDOR_SCRATCH_DIR"), &dir)) {
        return false;
    }
    if (dir.n == 0 || dir.p[0] != '/' || dir.n + leaf.n >= cap)
        return false;
    memcpy(path, dir.p, dir.n);
    memcpy(path + dir.n, leaf.p, leaf.n + 1);
    return true;
}

/* Read the ad as an untrusted file: not a link or FIFO, and owned by root or by
 * the owner of the job. */
static int read_ad(const char *path, uid_t uid, char *buf, struct bj_slice *ret)
{
    bj_autoclose int fd =
        open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || (st.st_uid != 0 && st.st_uid != uid))
        return -EPERM;
    return bj_file_pread(fd, buf, AD_CAP, ret);
}

/* Set the attributes in HTCondor's job ad, found by the environment env of a
 * process of the job; uid is the owner of the process.  False: there is no
 * trusted ad. */
static bool condor_take(struct bj_ident_search *s, struct bj_slice env,
                        uid_t uid)
{
    char path[PATH_MAX], id[48];
    if (!ad_path(env, path, sizeof(path)))
        return false;
    char *buf = malloc(AD_CAP);
    struct bj_slice ad, f[BJ_ID_FIELDS] = {{0}};
    bool good = buf && read_ad(path, uid, buf, &ad) == 0 &&
                bj_condor_parse(ad, id, sizeof(id), f) == 0;
    if (good) {
        s->f[BJ_ID_JOBID] = (struct bj_slice){0};
        s->unknown_job = false;
        s->environ = true;
        for (int i = 0; i < BJ_ID_FIELDS; i++)
            search_take(s, (enum bj_ident_field)i, f[i]);
        search_take_uid(s, uid, BJ_IDENT_PROCESS);
    }
    free(buf);
    return good;
}

/* --- processes ------------------------------------------------------------*/

/* The identity of a job, from its processes. */

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

/* Read the processes of the job: fills procs. */
static void search_procs(struct bj_ident_search *s)
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

/* The job id of a SLUID, from the title of a slurmstepd. */
static void search_title(struct bj_ident_search *s)
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
        search_take(s, BJ_ID_JOBID, id);
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
static void search_owner(struct bj_ident_search *s)
{
    for (size_t i = 0; i < s->nprocs && s->f[BJ_ID_UID].n == 0; i++) {
        const struct bj_ident_proc *p = &s->procs[i];
        if (p->batch || p->uid == 0 || !may_own(s, p->uid))
            continue;
        bj_autoclose int dir = open_proc(s, p->pid);
        if (dir >= 0 && still_exists(s, dir, p->pid))
            search_take_uid(s, p->uid, BJ_IDENT_PROCESS);
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
            search_take(s, (enum bj_ident_field)i, e->f[i]);
    search_take_nodes(s, e->nodelist);
    search_take_uid(s, uid, BJ_IDENT_PROCESS);
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
        return still_exists(s, dir, p->pid) && condor_take(s, env, p->uid)
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
static void search_environ(struct bj_ident_search *s)
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

/* --- all sources ----------------------------------------------------------*/

static bool is_system(const struct bj_ident_search *s, struct bj_slice name)
{
    return bj_slice_eq(s->f[BJ_ID_SYSTEM], name);
}

/* HTCondor's paths have a slot where others have a job id. */
static void from_query(struct bj_ident_search *s)
{
    for (int i = 0; i < BJ_ID_FIELDS; i++)
        if (i != BJ_ID_SOURCE)
            search_take(s, (enum bj_ident_field)i, s->q->f[i]);
    if (s->f[BJ_ID_UID].n > 0 || s->f[BJ_ID_USER].n > 0)
        s->uid_source = BJ_IDENT_CGROUP;
    s->unknown_job = is_system(s, BJ_SLICE("htcondor")) ||
                     (s->f[BJ_ID_JOBID].n == 0 && s->f[BJ_ID_SLUID].n > 0);
}

static void ident_find_take_file(struct bj_ident_search *s,
                                 const struct bj_jobfile *file)
{
    s->file = true;
    s->n = file->number;
    if (s->unknown_job && file->f[BJ_ID_JOBID].n > 0) {
        s->f[BJ_ID_JOBID] = (struct bj_slice){0};
        s->unknown_job = false;
    }
    if (s->f[BJ_ID_UID].n == 0 && file->f[BJ_ID_UID].n > 0)
        s->uid_source = BJ_IDENT_FILE;
    for (int i = 0; i < BJ_ID_FIELDS; i++)
        search_take(s, (enum bj_ident_field)i, file->f[i]);
    search_take_nodes(s, file->nodelist);
}

/* Search all directories for a file of that name; the first one counts. */
static void file_named(struct bj_ident_search *s, struct bj_slice name,
                       char *buf)
{
    const struct bj_strv *dirs = &s->src->conf->job_files;
    struct bj_slice known[BJ_ID_FIELDS] = {{0}};
    known[BJ_ID_SLUID] = s->f[BJ_ID_SLUID];
    known[BJ_ID_UID] = s->f[BJ_ID_UID];
    if (!s->unknown_job)
        known[BJ_ID_JOBID] = s->f[BJ_ID_JOBID];
    for (size_t i = 0; i < dirs->n && !s->file; i++) {
        struct bj_jobfile file;
        struct bj_err err = {0};
        int r = bj_jobfile_read(dirs->v[i], name, known, buf, &file, &err);
        if (r == 0)
            ident_find_take_file(s, &file);
        if (r == 0 || bj_err_gone(r))
            continue;
        s->src->fault(s->src->ctx, &err);
        /* errors in the file itself are permanent */
        s->missed |= r != -EINVAL && r != -EPERM && r != -EFBIG;
    }
}

static void from_files(struct bj_ident_search *s)
{
    if (s->src->conf->job_files.n == 0)
        return;
    char *buf = malloc(BJ_JOBFILE_CAP);
    if (!buf) {
        s->missed = true;
        return;
    }
    if (!s->unknown_job)
        file_named(s, s->f[BJ_ID_JOBID], buf);
    if (!s->file && s->f[BJ_ID_SLUID].n > 0)
        file_named(s, s->f[BJ_ID_SLUID], buf);
    free(buf);
}

/* The name of the owner; absent, without a fault, if there is none. */
static void user_name(struct bj_ident_search *s)
{
    char name[BJ_USER_NAME_CAP];
    uint64_t uid;
    if (s->f[BJ_ID_USER].n > 0 || bj_slice_u64(s->f[BJ_ID_UID], &uid) < 0)
        return;
    int r =
        bj_users_name(s->src->users, (uid_t)uid, bj_clock_boot_usec(), name);
    if (r == 0)
        search_take(s, BJ_ID_USER, bj_slice_str(name));
    if (r == 0 || r == -ENOENT)
        return;
    struct bj_err err = {0};
    bj_err_set(&err, r, "look up the name of uid %u", (unsigned)uid);
    s->src->fault(s->src->ctx, &err);
    s->missed = true;
}

static const char *source_text(const struct bj_ident_search *s)
{
    if (s->file)
        return s->environ ? "prolog+environ" : "prolog";
    if (s->environ)
        return "environ";
    return s->uid_source == BJ_IDENT_CGROUP    ? "cgroup"
           : s->uid_source == BJ_IDENT_PROCESS ? "process"
                                               : "";
}

/* Whether an environment may add fields: a prolog's file has what the site
 * writes there, and Slurm passes to a prolog neither the name of the job nor,
 * before 24.05, its array task.  Most jobs are in no array: then the
 * environment says so. */
static bool wants_environ(const struct bj_ident_search *s)
{
    static const enum bj_ident_field fields[] = {BJ_ID_ACCOUNT, BJ_ID_PARTITION,
                                                 BJ_ID_QOS, BJ_ID_NAME,
                                                 BJ_ID_ARRAY_TASK};
    bool wants = s->unknown_job;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]) && !wants; i++)
        wants = s->f[fields[i]].n == 0 &&
                (fields[i] == BJ_ID_ACCOUNT || fields[i] == BJ_ID_NAME ||
                 bj_environ_gives(s->f[BJ_ID_SYSTEM], fields[i]));
    return wants;
}

/* The user that runs the processes of a container or a virtual machine is not
 * its owner. */
static bool has_owner(const struct bj_ident_search *s)
{
    return !is_system(s, BJ_SLICE("kubernetes")) &&
           !is_system(s, BJ_SLICE("libvirt"));
}

static bool is_complete(const struct bj_ident_search *s)
{
    if (!has_owner(s))
        return true;
    if (s->unknown_job || s->missed ||
        (s->f[BJ_ID_UID].n == 0 && s->f[BJ_ID_USER].n == 0))
        return false;
    bool tried = bj_environ_knows(s->f[BJ_ID_SYSTEM]) ? s->environ || s->denied
                                                      : s->nprocs > 0;
    return tried || !wants_environ(s);
}

static void from_procs(struct bj_ident_search *s)
{
    if (s->f[BJ_ID_UID].n > 0 && !wants_environ(s))
        return;
    search_procs(s);
    if (s->unknown_job && s->f[BJ_ID_SLUID].n > 0) {
        search_title(s);
        if (!s->unknown_job && !s->file)
            from_files(s);
    }
    search_owner(s);
    if (wants_environ(s))
        search_environ(s);
}

/* Set the older stack's id of a job, if all its parts are known. */
static void uuid(struct bj_ident_search *s)
{
    char text[BJ_JOB_UUID_BYTES];
    if (!is_system(s, BJ_SLICE("slurm")) || s->unknown_job ||
        s->nodelist.n == 0 || s->f[BJ_ID_UID].n == 0 ||
        s->f[BJ_ID_ACCOUNT].n == 0)
        return;
    if (bj_job_uuid(s->f[BJ_ID_JOBID], s->f[BJ_ID_UID], s->f[BJ_ID_ACCOUNT],
                    s->nodelist, text))
        search_take(s, BJ_ID_UUID, bj_slice_str(text));
}

static void ident_find_search(struct bj_ident_search *s)
{
    from_query(s);
    from_files(s);
    if (has_owner(s))
        from_procs(s);
    user_name(s);
    uuid(s);
    search_take(s, BJ_ID_SOURCE, bj_slice_str(source_text(s)));
}

struct bj_ident *bj_ident_find(const struct bj_ident_sources *src,
                               const struct bj_ident_query *q)
{
    struct bj_ident_search *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->src = src;
    s->q = q;
    s->n = bj_ident_no_numbers;
    ident_find_search(s);
    struct bj_ident *id = bj_ident_new(s->f, src->conf);
    if (id) {
        id->n = s->n;
        id->complete = is_complete(s);
    }
    free(s->procs);
    free(s);
    return id;
}

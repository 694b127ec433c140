#include "core/gpu/fdinfo.h"

#include "base/clock.h"
#include "base/file.h"
#include "core/find/pids.h"
#include "core/gpu/clients.h"
#include "core/gpu/gpu.h"
#include "core/gpu/places.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Kinds of lines about engines, by prefix; if two prefixes match, the longer
 * one is first. */
static const struct {
    struct bj_slice prefix;
    size_t off;
    struct bj_slice unit;
} engine_lines[] = {
#define AT(member) offsetof(struct bj_fdinfo_engine, member)
    {{"drm-engine-capacity-", 20}, AT(capacity), {"", 0}},
    {{"drm-engine-", 11}, AT(busy_ns), {"ns", 2}},
    {{"drm-cycles-", 11}, AT(cycles), {"", 0}},
    {{"drm-total-cycles-", 17}, AT(total_cycles), {"", 0}},
};
enum { LINES = sizeof(engine_lines) / sizeof(engine_lines[0]) };

static bool fdinfo_copy(struct bj_slice from, char to[BJ_FDINFO_TEXT])
{
    if (from.n == 0 || from.n >= BJ_FDINFO_TEXT)
        return false;
    memcpy(to, from.p, from.n);
    to[from.n] = '\0';
    return true;
}

/* The engine of that name, added if missing; NULL: too many, or the name cannot
 * be a label. */
static struct bj_fdinfo_engine *engine_of(struct bj_fdinfo *f,
                                          struct bj_slice name)
{
    for (unsigned i = 0; i < f->n; i++)
        if (bj_slice_eq(bj_slice_str(f->engine[i].name), name))
            return &f->engine[i];
    struct bj_fdinfo_engine *e = &f->engine[f->n];
    if (f->n == BJ_FDINFO_ENGINES || !fdinfo_copy(name, e->name))
        return NULL;
    e->busy_ns = e->cycles = e->total_cycles = BJ_ABSENT;
    e->capacity = 1;
    f->n++;
    return e;
}

static void engine_line(struct bj_fdinfo *f, struct bj_slice key,
                        struct bj_slice value)
{
    uint64_t v;
    struct bj_slice number = {"", 0}, unit = {"", 0};
    for (size_t i = 0; i < LINES; i++) {
        struct bj_slice prefix = engine_lines[i].prefix;
        if (!bj_slice_starts(key, prefix))
            continue;
        if (bj_slice_word(&value, &number))
            bj_slice_word(&value, &unit);
        struct bj_slice name = {key.p + prefix.n, key.n - prefix.n};
        bool good = bj_slice_u64(number, &v) == 0 && v != BJ_ABSENT &&
                    bj_slice_eq(unit, engine_lines[i].unit);
        bool none = engine_lines[i].off == AT(capacity) && v == 0;
        struct bj_fdinfo_engine *e = good && !none ? engine_of(f, name) : NULL;
        if (e)
            *(uint64_t *)(void *)((char *)e + engine_lines[i].off) = v;
        return;
    }
}

/* Memory on the card: "vram" of amdgpu, "vram0" of xe, "local0" of i915. */
static bool on_card(struct bj_slice region)
{
    static const struct bj_slice names[] = {{"vram", 4}, {"local", 5}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t at = names[i].n;
        if (!bj_slice_starts(region, names[i]))
            continue;
        while (at < region.n && region.p[at] >= '0' && region.p[at] <= '9')
            at++;
        return at == region.n;
    }
    return false;
}

static bool bytes(struct bj_slice text, uint64_t *ret)
{
    struct bj_slice number, unit = {"", 0};
    uint64_t v;
    if (!bj_slice_word(&text, &number) || bj_slice_u64(number, &v) < 0)
        return false;
    bj_slice_word(&text, &unit);
    uint64_t mul = unit.n == 0                          ? 1
                   : bj_slice_eq(unit, BJ_SLICE("KiB")) ? 1024
                   : bj_slice_eq(unit, BJ_SLICE("MiB")) ? 1048576
                                                        : 0;
    if (mul == 0 || v > (BJ_ABSENT - 1) / mul)
        return false;
    *ret = v * mul;
    return true;
}

/* Sums over the memory regions of the card: resident memory, by its current and
 * by its older name. "total" includes memory outside the card. */
struct memory {
    uint64_t resident, memory;
};

static void memory_line(struct memory *m, struct bj_slice key,
                        struct bj_slice value)
{
    static const struct bj_slice now = {"drm-resident-", 13},
                                 before = {"drm-memory-", 11};
    bool is_now = bj_slice_starts(key, now);
    struct bj_slice prefix = is_now ? now : before;
    uint64_t v, *sum = is_now ? &m->resident : &m->memory;
    if (!bj_slice_starts(key, prefix) ||
        !on_card((struct bj_slice){key.p + prefix.n, key.n - prefix.n}) ||
        !bytes(value, &v))
        return;
    if (*sum == BJ_ABSENT)
        *sum = v;
    else
        *sum = v < BJ_ABSENT - 1 - *sum ? *sum + v : BJ_ABSENT - 1;
}

bool bj_fdinfo_parse(struct bj_slice text, struct bj_fdinfo *ret)
{
    struct bj_slice line, key;
    struct memory m = {BJ_ABSENT, BJ_ABSENT};
    char address[BJ_FDINFO_TEXT] = "";
    bool drm = false;
    ret->n = 0;
    ret->pdev[0] = ret->client[0] = '\0';
    while (bj_slice_line(&text, &line)) {
        if (!bj_slice_starts(line, BJ_SLICE("drm-")) ||
            !bj_slice_field(&line, ':', &key))
            continue;
        line = bj_slice_trim(line);
        drm |= bj_slice_eq(key, BJ_SLICE("drm-driver"));
        if (bj_slice_eq(key, BJ_SLICE("drm-pdev")))
            fdinfo_copy(line, address);
        else if (bj_slice_eq(key, BJ_SLICE("drm-client-id")))
            fdinfo_copy(line, ret->client);
        engine_line(ret, key, line);
        memory_line(&m, key, line);
    }
    bj_gpu_pci_text(address, ret->pdev);
    ret->memory_bytes = m.resident != BJ_ABSENT ? m.resident : m.memory;
    return drm && ret->pdev[0] != '\0';
}

/* --- seen -----------------------------------------------------------------*/

enum { BUCKETS = 1024, SPREAD = 6 };

struct bj_gpu_seens {
    uint64_t now_usec, reading;
    struct bj_gpu_seen *bucket[BUCKETS];
};

int bj_gpu_seens_new(struct bj_gpu_seens **ret)
{
    *ret = calloc(1, sizeof(**ret));
    return *ret ? 0 : -ENOMEM;
}

static void fdinfo_drop(struct bj_gpu_seens *s, bool all)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct bj_gpu_seen **at = &s->bucket[i]; *at;) {
            struct bj_gpu_seen *p = *at;
            if (!all && p->reading == s->reading) {
                at = &p->next;
                continue;
            }
            *at = p->next;
            free(p);
        }
}

void bj_gpu_seens_free(struct bj_gpu_seens *s)
{
    if (!s)
        return;
    fdinfo_drop(s, true);
    free(s);
}

void bj_gpu_seens_begin(struct bj_gpu_seens *s, uint64_t now_usec)
{
    s->now_usec = now_usec;
    s->reading++;
}

void bj_gpu_seens_end(struct bj_gpu_seens *s)
{
    fdinfo_drop(s, false);
}

struct bj_gpu_seen *bj_gpu_seens_of(struct bj_gpu_seens *s, pid_t pid,
                                    ino_t inode)
{
    struct bj_gpu_seen **at = &s->bucket[(size_t)pid % BUCKETS];
    while (*at && ((*at)->pid != pid || (*at)->inode != inode))
        at = &(*at)->next;
    if (!*at) {
        *at = calloc(1, sizeof(**at));
        if (!*at)
            return NULL;
        (*at)->pid = pid;
        (*at)->inode = inode;
        (*at)->first_usec = s->now_usec;
    }
    (*at)->reading = s->reading;
    return *at;
}

/* After its first minute, the first check of each process is at a different
 * time, so that not all are due together. */
bool bj_gpu_seens_due(const struct bj_gpu_seens *s, struct bj_gpu_seen *p)
{
    bool young = s->now_usec < p->first_usec + BJ_GPU_SEEN_YOUNG_USEC;
    if (s->now_usec < p->due_usec)
        return false;
    if (young)
        p->due_usec = 0;
    else if (p->due_usec == 0)
        p->due_usec = s->now_usec + ((uint64_t)p->pid % SPREAD + 1) *
                                        (BJ_GPU_SEEN_INTERVAL_USEC / SPREAD);
    else
        p->due_usec = s->now_usec + BJ_GPU_SEEN_INTERVAL_USEC;
    return true;
}

/* --- the walk through processes -------------------------------------------*/

/* Processes of jobs on DRM devices (AMD, Intel), with their memory and time on
 * the engines, for all vendors, without their libraries.
 *
 * Only processes of jobs are read, and of their open files only those of DRM
 * devices.  Reading processes of other users needs CAP_DAC_READ_SEARCH and
 * CAP_SYS_PTRACE; jobs that cannot be read are left out. */

enum { DIRS = 4, PIDS = 8192, FILES_MAX = 65536, PATH = 512, TEXT = 8192 };

struct tracer {
    char procfs[PATH];
    struct bj_gpu_places *places;
    struct bj_gpu_clients *clients;
    struct bj_gpu_seens *seens;
    struct bj_buf list;
    struct bj_err *err; /* of a reading */
    int worst;
    pid_t pids[PIDS];
};

/* The process being read. */
struct process {
    struct tracer *t;
    struct bj_gpu_set *set;
    uint64_t job;
    const char *cgroup;
    pid_t pid;
    int dir; /* /proc/PID of this process, even if its pid is reused */
    struct bj_gpu_seen *seen; /* with kfd it uses queues of ROCm, whose time is
                                 unknown */
    bool ours, checked;       /* it is still in the job; was this checked */
};

/* --- an open file ---------------------------------------------------------*/

enum kind { OTHER, DRM, KFD };

/* The kind of an open file, or -errno, also if it was closed or replaced
 * meanwhile. */
static int fdinfo_kind_of(int fds, const char *name)
{
    char link[64];
    ssize_t n = readlinkat(fds, name, link, sizeof(link));
    if (n < 0)
        return bj_err_gone(-errno) ? OTHER : -errno;
    struct bj_slice to = {link, (size_t)n};
    if (bj_slice_starts(to, BJ_SLICE("/dev/dri/")))
        return DRM;
    return bj_slice_eq(to, BJ_SLICE("/dev/kfd")) ? KFD : OTHER;
}

static bool still_ours(struct process *p)
{
    if (!p->checked)
        p->ours = bj_pids_has(p->cgroup, p->pid);
    p->checked = true;
    return p->ours;
}

/* The entry of the process for the device, of which it may have several files
 * open. */
static struct bj_gpu_proc *proc_of(struct process *p, const char *pdev)
{
    struct bj_gpu *g = bj_gpu_get(p->set, pdev);
    if (!g)
        return NULL;
    uint32_t at = (uint32_t)(g - p->set->v);
    for (size_t i = p->set->nprocs;
         i-- > 0 && p->set->proc[i].pid == (uint32_t)p->pid;)
        if (p->set->proc[i].gpu == at)
            return &p->set->proc[i];
    struct bj_gpu_proc *new = bj_gpu_add_proc(p->set, at, (uint32_t)p->pid);
    if (new)
        new->memory_bytes = new->sm_ppm = 0;
    return new;
}

/* A file shared with another process is counted there.  The use of the device
 * is the time of the job if all its processes are known. */
static void take_values(const struct process *p, struct bj_gpu_proc *proc,
                        const struct bj_fdinfo *f, int r)
{
    if (r > 0 && f->memory_bytes != BJ_ABSENT &&
        proc->memory_bytes != BJ_ABSENT)
        proc->memory_bytes += f->memory_bytes;
    else if (r != 0)
        proc->memory_bytes = BJ_ABSENT;
    if (p->seen->kfd || r < 0 || r == 2)
        proc->sm_ppm = BJ_ABSENT;
}

static int fdinfo_take_file(struct process *p, unsigned fd)
{
    char path[64], buf[TEXT];
    struct bj_slice text;
    struct bj_fdinfo f;
    snprintf(path, sizeof(path), "fdinfo/%u", fd);
    int r = bj_file_read_all(p->dir, path, buf, sizeof(buf), &text, NULL);
    if (r < 0 || !bj_fdinfo_parse(text, &f)) {
        p->seen->due_usec = 0; /* the file was replaced: read all again */
        return bj_err_gone(r) ? 0 : r;
    }
    if (!still_ours(p))
        return 0;
    struct bj_gpu_proc *proc = proc_of(p, f.pdev);
    r = bj_gpu_clients_take(p->t->clients, p->job, &f, !p->seen->kfd);
    if (!proc || r == -ENOMEM || r == -E2BIG)
        return -E2BIG;
    take_values(p, proc, &f, r);
    return 0;
}

/* --- a process ------------------------------------------------------------*/

/* Find the files of devices among all. */
static int find_files(struct process *p)
{
    int fds = bj_dir_open(p->dir, "fd"), r = 0, n = 0;
    DIR *d = fds < 0 ? NULL : fdopendir(fds);
    const struct dirent *e;
    if (fds >= 0 && !d)
        close(fds);
    if (!d)
        return fds < 0 ? fds : -ENOMEM;
    p->seen->n = 0;
    p->seen->kfd = false;
    while (r == 0 && (e = readdir(d))) {
        uint64_t fd;
        if (bj_slice_u64(bj_slice_str(e->d_name), &fd) < 0 || fd > INT_MAX)
            continue;
        int k = fdinfo_kind_of(dirfd(d), e->d_name);
        p->seen->kfd |= k == KFD;
        if (n++ == FILES_MAX || (k == DRM && p->seen->n == BJ_GPU_SEEN_FILES))
            r = -E2BIG;
        else if (k < 0)
            r = k;
        else if (k == DRM)
            p->seen->fd[p->seen->n++] = (unsigned)fd;
    }
    closedir(d);
    return r;
}

static int walk_process(struct process *p)
{
    char path[PATH + 32];
    struct stat st;
    int r = 0;
    snprintf(path, sizeof(path), "%s/%d", p->t->procfs, (int)p->pid);
    p->dir = bj_dir_open(AT_FDCWD, path);
    if (p->dir < 0)
        return p->dir;
    if (fstat(p->dir, &st) < 0)
        return -errno;
    p->seen = bj_gpu_seens_of(p->t->seens, p->pid, st.st_ino);
    if (!p->seen)
        return -ENOMEM;
    if (bj_gpu_seens_due(p->t->seens, p->seen))
        r = find_files(p);
    if (r < 0) {
        p->seen->due_usec = 0;
        return r;
    }
    for (unsigned i = 0; r == 0 && i < p->seen->n; i++)
        r = fdinfo_take_file(p, p->seen->fd[i]);
    return r;
}

/* Read a process.  False if a part could not be read; missing permissions are a
 * fault. */
static bool look_at(const struct process *like, pid_t pid)
{
    struct process p = *like;
    p.pid = pid;
    p.dir = -1;
    int r = walk_process(&p);
    bj_close_fd(&p.dir);
    if (r < 0 && !bj_err_gone(r))
        p.t->worst = bj_err_set(p.t->err, r,
                                "open files of process %d of a job", (int)pid);
    return r == 0 || bj_err_gone(r);
}

/* --- a job ----------------------------------------------------------------*/

static int fdinfo_by_number(const void *a, const void *b)
{
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
    return (x > y) - (x < y);
}

/* A file shared by processes counts for the first one, usually the oldest. */
static void look_at_job(struct tracer *t, struct bj_gpu_set *out, uint64_t job,
                        const char *const dirs[DIRS])
{
    struct process p = {.t = t, .set = out, .job = job};
    int n = 0;
    for (int i = 0; i < DIRS && n <= 0 && dirs[i]; i++) {
        p.cgroup = dirs[i];
        n = bj_pids_below(AT_FDCWD, dirs[i], t->pids, PIDS);
    }
    bool complete = bj_gpu_clients_job(t->clients, job) && n < PIDS &&
                    (n >= 0 || bj_err_gone(n)) &&
                    out->ntraced < BJ_GPU_TRACED_MAX;
    if (n > 0)
        qsort(t->pids, (size_t)n, sizeof(t->pids[0]), fdinfo_by_number);
    for (int i = 0; i < n; i++)
        if (i == 0 || t->pids[i] != t->pids[i - 1])
            complete &= look_at(&p, t->pids[i]);
    if (complete)
        out->traced[out->ntraced++] = job;
}

/* --- the source -----------------------------------------------------------*/

static bool fdinfo_present(const struct bj_gpu_env *env)
{
    return env->places != NULL;
}

static void close_tracer(void *m)
{
    struct tracer *t = m;
    bj_gpu_clients_free(t->clients);
    bj_gpu_seens_free(t->seens);
    bj_gpu_places_unref(t->places);
    bj_buf_free(&t->list);
    free(t);
}

static int open_tracer(const struct bj_gpu_env *env, void **ret,
                       struct bj_err *err)
{
    struct tracer *t = calloc(1, sizeof(*t));
    if (!t || bj_gpu_clients_new(&t->clients) < 0 ||
        bj_gpu_seens_new(&t->seens) < 0) {
        if (t)
            close_tracer(t);
        return bj_err_set(err, -ENOMEM, "processes on GPUs");
    }
    snprintf(t->procfs, sizeof(t->procfs), "%s", env->procfs);
    t->places = bj_gpu_places_ref(env->places);
    *ret = t;
    return 0;
}

static int read_tracer(void *m, struct bj_gpu_set *out, struct bj_err *err)
{
    struct tracer *t = m;
    const char *dirs[DIRS];
    uint64_t job;
    t->list.len = 0;
    if (!bj_gpu_places_get(t->places, &t->list, &out->traced_list)) {
        bj_buf_free(&t->list);
        return bj_err_set(err, -ENOMEM, "processes on GPUs");
    }
    struct bj_slice list = {t->list.p, t->list.len};
    uint64_t now = bj_clock_boot_usec();
    t->err = err;
    t->worst = 0;
    bj_gpu_clients_begin(t->clients, now);
    bj_gpu_seens_begin(t->seens, now);
    while (bj_gpu_places_next(&list, &job, dirs, DIRS))
        look_at_job(t, out, job, dirs);
    bj_gpu_clients_end(t->clients);
    bj_gpu_seens_end(t->seens);
    bj_gpu_clients_publish(t->clients, out);
    out->traced_usec = now;
    return t->worst;
}

const struct bj_gpu_kind bj_gpu_fdinfo = {"fdinfo", fdinfo_present, open_tracer,
                                          read_tracer, close_tracer};

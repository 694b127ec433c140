#include "core/gpu/lookup.h"

#include "base/command.h"
#include "base/file.h"
#include "base/save.h"
#include "core/find/environ.h"
#include "core/find/pids.h"
#include "core/poller.h"
#include "sched/hostlist.h"
#include "sched/slurm_conf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECOND = 1000000, HOSTS = 65536, OUTPUT = 4 << 20, ID = 20 };

/* --- parser ---------------------------------------------------------------*/

/* Cut the next word of a line, "Key=value"; *ret is the value. */
static bool lookup_cut(struct bj_slice *line, const char *key,
                       struct bj_slice *ret)
{
    struct bj_slice word, want = bj_slice_str(key);
    if (!bj_slice_word(line, &word) || !bj_slice_starts(word, want))
        return false;
    *ret = (struct bj_slice){word.p + want.n, word.n - want.n};
    return true;
}

/* Cut the next entry of "gpu:tesla:2(IDX:0,2),shard:4": brackets contain
 * commas. */
static bool next_entry(struct bj_slice *rest, struct bj_slice *ret)
{
    size_t n = 0;
    int depth = 0;
    if (rest->n == 0)
        return false;
    for (; n < rest->n && (depth > 0 || rest->p[n] != ','); n++)
        depth += rest->p[n] == '(' ? 1 : rest->p[n] == ')' ? -1 : 0;
    *ret = (struct bj_slice){rest->p, n};
    n += n < rest->n;
    rest->p += n;
    rest->n -= n;
    return true;
}

static bool is_list(struct bj_slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((s.p[i] < '0' || s.p[i] > '9') && s.p[i] != ',' && s.p[i] != '-')
            return false;
    return s.n > 0;
}

/* Add the numbers of "gpu:tesla:2(IDX:0-1)". */
static void take_entry(struct bj_slice entry, struct bj_gpu_claim *ret)
{
    struct bj_slice name, list, part;
    size_t used = strlen(ret->text);
    if (!bj_slice_field(&entry, ':', &name))
        return;
    if (bj_slice_eq(name, BJ_SLICE("shard")) ||
        bj_slice_eq(name, BJ_SLICE("mps")))
        ret->shared = true;
    if (!bj_slice_eq(name, BJ_SLICE("gpu")) ||
        !bj_slice_field(&entry, '(', &part) || entry.n == 0 ||
        entry.p[entry.n - 1] != ')' || !bj_slice_field(&entry, ')', &list) ||
        !bj_slice_starts(list, BJ_SLICE("IDX:")))
        return;
    list.p += 4;
    list.n -= 4;
    if (!is_list(list) || used + list.n + 2 > sizeof(ret->text))
        return;
    snprintf(ret->text + used, sizeof(ret->text) - used, "%s%.*s",
             used > 0 ? "," : "", (int)list.n, list.p);
}

/* Is the node in the list? *only: the list has only one node. */
static bool has_node(struct bj_slice hosts, struct bj_slice node, bool *only)
{
    struct bj_hostlist l;
    struct bj_slice name;
    int n = 0;
    bool found = false;
    if (bj_hostlist_begin(&l, hosts, BJ_HOSTS_SLURM) < 0)
        return false;
    while (n < HOSTS && bj_hostlist_next(&l, &name)) {
        found |= bj_slice_eq(name, node);
        n++;
    }
    *only = n == 1;
    return found;
}

/* The lines of a job with its nodes. */
struct lines {
    unsigned all, ours;
    bool only; /* the last line is about a single node */
    struct bj_slice gres;
};

static void lookup_take_line(struct bj_slice line, struct bj_slice node,
                             struct lines *l)
{
    struct bj_slice hosts, skip, gres;
    bool only = false;
    if (!lookup_cut(&line, "Nodes=", &hosts) ||
        !lookup_cut(&line, "CPU_IDs=", &skip) ||
        !lookup_cut(&line, "Mem=", &skip) || !lookup_cut(&line, "GRES=", &gres))
        return;
    bool ours = has_node(hosts, node, &only);
    if (ours || l->ours == 0)
        l->gres = gres;
    l->only = only;
    l->ours += ours;
    l->all++;
}

bool bj_gpu_allot_slurm(struct bj_slice text, struct bj_slice jobid,
                        struct bj_slice node, struct bj_gpu_claim *ret)
{
    struct bj_slice line, rest, id, entry;
    struct lines l = {0};
    struct bj_gpu_claim c = {.environ = true};
    bool inside = false;
    while (bj_slice_line(&text, &line)) {
        rest = line;
        if (lookup_cut(&rest, "JobId=", &id))
            inside = bj_slice_eq(id, jobid);
        else if (inside)
            lookup_take_line(line, node, &l);
    }
    if (l.ours != 1 && !(l.ours == 0 && l.all == 1 && l.only))
        return false;
    while (next_entry(&l.gres, &entry))
        take_entry(entry, &c);
    if (!*c.text)
        return false;
    *ret = c;
    return true;
}

/* --- query ----------------------------------------------------------------*/

bool bj_gpu_allot_can(struct bj_slice system, struct bj_slice jobid)
{
    return bj_slice_eq(system, BJ_SLICE("slurm")) && jobid.n > 0 &&
           jobid.n < ID && is_list(jobid) && !memchr(jobid.p, '-', jobid.n) &&
           !memchr(jobid.p, ',', jobid.n);
}

/* The part of the host name that Slurm uses as the node name. */
static struct bj_slice own_name(char *buf, size_t cap)
{
    if (gethostname(buf, cap - 1) < 0)
        buf[0] = '\0';
    buf[cap - 1] = '\0';
    buf[strcspn(buf, ".")] = '\0';
    return bj_slice_str(buf);
}

int bj_gpu_allot_read(const struct bj_gpu_allot_conf *conf,
                      struct bj_slice jobid, struct bj_slice node,
                      const atomic_bool *abort, struct bj_gpu_claim *ret,
                      struct bj_err *err)
{
    char id[ID], slurm_conf[4096], host[256];
    bool any = conf->slurm_conf && *conf->slurm_conf;
    snprintf(id, sizeof(id), "%.*s", (int)jobid.n, jobid.p);
    if (any && (size_t)snprintf(slurm_conf, sizeof(slurm_conf), "SLURM_CONF=%s",
                                conf->slurm_conf) >= sizeof(slurm_conf))
        return bj_err_set(err, -ENAMETOOLONG, "cluster.slurm-conf");
    const char *const argv[] = {"scontrol", "-d", "show", "job", id, NULL};
    const char *const env[] = {any ? slurm_conf : NULL, NULL};
    const struct bj_command cmd = {
        .argv = argv,
        .path = conf->path && *conf->path ? conf->path : NULL,
        .env = env,
        .deadline_usec = 10 * SECOND,
        .max_bytes = OUTPUT,
        .abort = abort};
    struct bj_command_result res = {0};
    int r = bj_slurm_conf_explain(bj_command_run(&cmd, &res, err),
                                  conf->slurm_conf, "cluster.slurm-conf", err);
    *ret = (struct bj_gpu_claim){.environ = false};
    if (r == 0)
        bj_gpu_allot_slurm((struct bj_slice){res.out.p, res.out.len}, jobid,
                           node.n > 0 ? node : own_name(host, sizeof(host)),
                           ret);
    bj_command_result_free(&res);
    return r;
}

/* --- files of DCGM's job mapping ------------------------------------------*/

enum { CONTENT = 8192 };

bool bj_gpu_jobmap_fits(struct bj_slice jobid)
{
    for (size_t i = 0; i < jobid.n; i++)
        if ((unsigned char)jobid.p[i] <= ' ' || jobid.p[i] == 0x7f)
            return false;
    return jobid.n > 0;
}

/* Cut the next entry of a map. */
static bool lookup_next(struct bj_slice *map, const char **name,
                        struct bj_slice *content)
{
    size_t n = strnlen(map->p ? map->p : "", map->n);
    if (n == map->n)
        return false;
    *name = map->p;
    map->p += n + 1;
    map->n -= n + 1;
    n = strnlen(map->p, map->n);
    if (n == map->n)
        return false;
    *content = (struct bj_slice){map->p, n};
    map->p += n + 1;
    map->n -= n + 1;
    return true;
}

/* Adds a line to the last entry, or the first line of a new one.  Lines of an
 * entry must be added one after the other. */
void bj_gpu_jobmap_put(struct bj_buf *map, const char *name,
                       struct bj_slice jobid)
{
    struct bj_slice rest = {map->p, map->len}, content = {0}, line;
    const char *last = NULL;
    while (lookup_next(&rest, &last, &content))
        ;
    if (last && strcmp(last, name) == 0) {
        while (bj_slice_line(&content, &line))
            if (bj_slice_eq(line, jobid))
                return;
        map->len--;
    } else {
        bj_buf_put(map, name, strlen(name) + 1);
    }
    bj_buf_slice(map, jobid);
    bj_buf_put(map, "\n", 2);
}

/* ^\d+(\.\d+)?$ */
static bool is_ours(const char *name)
{
    static const char digits[] = "0123456789";
    size_t n = strspn(name, digits);
    if (n == 0 || (name[n] != '.' && name[n] != '\0'))
        return false;
    if (name[n] == '\0')
        return true;
    size_t more = strspn(name + n + 1, digits);
    return more > 0 && name[n + 1 + more] == '\0';
}

static bool lookup_wanted(struct bj_slice map, const char *file)
{
    const char *name;
    struct bj_slice content;
    while (lookup_next(&map, &name, &content))
        if (strcmp(name, file) == 0)
            return true;
    return false;
}

static int keep_first(int r, int now)
{
    return r < 0 ? r : now;
}

static int remove_others(int fd, struct bj_slice map, struct bj_err *err)
{
    int copy = dup(fd), r = 0;
    DIR *d = copy < 0 ? NULL : fdopendir(copy);
    if (!d) {
        r = bj_err_set(err, -errno, "job mapping files");
        if (copy >= 0)
            close(copy);
        return r;
    }
    struct dirent *e;
    rewinddir(d);
    while ((e = readdir(d)))
        if (is_ours(e->d_name) && !lookup_wanted(map, e->d_name) &&
            unlinkat(fd, e->d_name, 0) < 0 && errno != ENOENT)
            r = keep_first(r, bj_err_set(err, -errno, "remove %s", e->d_name));
    closedir(d);
    return r;
}

static int put_file(int fd, const char *name, struct bj_slice content,
                    struct bj_err *err)
{
    char buf[CONTENT];
    struct bj_slice old;
    if (bj_file_read(fd, name, buf, sizeof(buf), &old, NULL) == 0 &&
        bj_slice_eq(old, content))
        return 0;
    return bj_save_at(fd, name, content, 0644, 0, err);
}

int bj_gpu_jobmap_sync(const char *dir, struct bj_slice map, struct bj_err *err)
{
    const char *name;
    struct bj_slice content;
    bj_autoclose int fd = bj_dir_open(AT_FDCWD, dir);
    if (fd == -ENOENT && map.n == 0)
        return 0;
    if (fd == -ENOENT && mkdir(dir, 0755) == 0)
        fd = bj_dir_open(AT_FDCWD, dir);
    if (fd < 0)
        return bj_file_fail(err, fd, "job mapping files:", AT_FDCWD, dir,
                            R_OK | W_OK | X_OK);
    int r = remove_others(fd, map, err);
    while (lookup_next(&map, &name, &content))
        r = keep_first(r, put_file(fd, name, content, r < 0 ? NULL : err));
    return r < 0 ? bj_err_wrap(err, r, "job mapping files: %s", dir) : 0;
}

/* --- the thread -----------------------------------------------------------*/

enum { PIDS = 512, READS = 64, DIRS = 4 };

/* A request: referenced by the caller until dropped, and by the thread until it
 * has a result. */
struct bj_gpu_request {
    struct bj_gpu_request *next;
    unsigned refs; /* under lock */
    bool has_result;
    char *dirs[DIRS], *devices, *system, *jobid, *node;
    struct bj_gpu_claim claim;
};

struct bj_gpu_lookup {
    struct bj_poller poller;
    char *procfs, *map_dir;
    bool allots; /* the thread queries the scheduler, not processes */
    char *scheduler_path, *slurm_conf;
    struct bj_strv note_dirs;
    /* under lock */
    bool notes_wanted, map_wanted;
    struct bj_gpu_request *now; /* the thread works on it; NULL: none */
    struct bj_buf map;          /* the map to write */
    struct bj_gpu_request *first, **last;
    struct bj_gpu_note *notes;
    size_t nnotes;
    bool mapped, map_fails, allot_fails;
};

struct worker {
    struct bj_worker worker;
    struct bj_gpu_lookup *a;
    char *environ;
    struct bj_gpu_note *read;
    struct bj_gpu_claim claim; /* the claim that it determines */
};

static void request_unref(struct bj_gpu_request *request)
{
    if (--request->refs > 0)
        return;
    for (int i = 0; i < DIRS; i++)
        free(request->dirs[i]);
    free(request->devices);
    free(request->system);
    free(request->jobid);
    free(request->node);
    free(request);
}

static void lookup_gone(struct bj_poller *poller)
{
    struct bj_gpu_lookup *a = (struct bj_gpu_lookup *)poller;
    while (a->first) {
        struct bj_gpu_request *request = a->first;
        a->first = request->next;
        request_unref(request);
    }
    for (size_t i = 0; i < a->note_dirs.n; i++)
        free(a->note_dirs.v[i]);
    free(a->note_dirs.v);
    free(a->procfs);
    free(a->map_dir);
    free(a->scheduler_path);
    free(a->slurm_conf);
    bj_buf_free(&a->map);
    free(a->notes);
    free(a);
}

static bool copy_conf(struct bj_gpu_lookup *a,
                      const struct bj_gpu_lookup_conf *conf)
{
    const struct bj_strv *dirs = conf->note_dirs;
    a->procfs = strdup(conf->procfs);
    a->map_dir = strdup(conf->map_dir ? conf->map_dir : "");
    a->note_dirs.v = calloc(dirs->n + 1, sizeof(char *));
    const struct bj_gpu_allot_conf none = {0},
                                   *allot = conf->allot ? conf->allot : &none;
    a->allots = conf->allot != NULL;
    a->scheduler_path = strdup(allot->path ? allot->path : "");
    a->slurm_conf = strdup(allot->slurm_conf ? allot->slurm_conf : "");
    bool complete = a->procfs && a->map_dir && a->note_dirs.v &&
                    a->scheduler_path && a->slurm_conf;
    for (size_t i = 0; complete && i < dirs->n; i++) {
        a->note_dirs.v[i] = strdup(dirs->v[i]);
        complete = a->note_dirs.v[i] != NULL;
        a->note_dirs.n += complete;
    }
    return complete;
}

/* --- the thread -----------------------------------------------------------*/

/* Read the claim of one process; that of the environment of the job itself ends
 * the search. */
static bool read_process(struct worker *w, const struct bj_gpu_request *request,
                         const char *dir, pid_t pid)
{
    char path[512];
    struct bj_slice env;
    struct bj_gpu_claim c = {.environ = false};
    snprintf(path, sizeof(path), "%.400s/%d", w->a->procfs, (int)pid);
    bj_autoclose int fd = bj_dir_open(AT_FDCWD, path);
    if (fd < 0 ||
        bj_file_read_head(fd, "environ", w->environ, BJ_ENVIRON_CAP, &env) <
            0 ||
        !bj_gpu_claim_environ(env, bj_slice_str(request->system),
                              bj_slice_str(request->jobid), &c) ||
        !bj_pids_has(dir, pid)) /* the pid may have been reused */
        return false;
    if (!w->claim.environ || !c.step)
        w->claim = c;
    return !c.step;
}

static int lookup_by_number(const void *a, const void *b)
{
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
    return (x > y) - (x < y);
}

static void find_claim(struct worker *w, const struct bj_gpu_request *request)
{
    pid_t pids[PIDS];
    int n = 0;
    const char *dir = NULL;
    for (int i = 0; i < DIRS && n <= 0 && request->dirs[i]; i++) {
        dir = request->dirs[i];
        n = bj_pids_below(AT_FDCWD, dir, pids, PIDS);
    }
    if (n > 0)
        qsort(pids, (size_t)n, sizeof(pids[0]), lookup_by_number);
    for (int i = 0; i < n && i < READS; i++)
        if (read_process(w, request, dir, pids[i]))
            break;
    char buf[8192];
    struct bj_slice text;
    if (request->devices && bj_file_read(AT_FDCWD, request->devices, buf,
                                         sizeof(buf), &text, NULL) == 0)
        bj_gpu_claim_devices(text, w->a->procfs, &w->claim);
}

static int query_scheduler(struct worker *w,
                           const struct bj_gpu_request *request,
                           struct bj_err *err)
{
    const struct bj_gpu_allot_conf conf = {w->a->scheduler_path,
                                           w->a->slurm_conf};
    int r = bj_gpu_allot_read(&conf, bj_slice_str(request->jobid),
                              bj_slice_str(request->node), &w->a->poller.stop,
                              &w->claim, err);
    w->claim.failed = r < 0;
    return r;
}

static size_t read_notes(struct worker *w)
{
    const struct bj_strv *dirs = &w->a->note_dirs;
    size_t n = 0;
    for (size_t i = 0; i < dirs->n; i++) {
        int r =
            bj_gpu_notes_read(dirs->v[i], w->read + n, BJ_GPU_NOTES_MAX - n);
        n += r > 0 ? (size_t)r : 0;
    }
    return n;
}

/* False if the thread was replaced. */
static bool lock_again(struct worker *w)
{
    bool ours = bj_worker_lock(&w->worker);
    if (ours)
        w->a->now = NULL;
    return ours;
}

/* Under lock, which is released meanwhile: log an error once, until the next
 * success. */
static void log_once(struct bj_gpu_lookup *a, bool fails, bool *logged,
                     const struct bj_err *err)
{
    char text[400];
    bool news = fails && !*logged;
    *logged = fails;
    if (!news)
        return;
    pthread_mutex_unlock(a->poller.lock);
    bj_host_log(&a->poller.host, BJ_LOG_WARN, NULL, "%s",
                bj_err_text(err, text, sizeof(text)));
    pthread_mutex_lock(a->poller.lock);
}

static bool run_request(struct worker *w)
{
    struct bj_gpu_lookup *a = w->a;
    struct bj_gpu_request *request = a->first;
    struct bj_err err = {0};
    int r = 0;
    a->first = request->next;
    if (!a->first)
        a->last = &a->first;
    a->now = request;
    w->claim = (struct bj_gpu_claim){.environ = false};
    bj_worker_unlock(&w->worker);
    if (a->allots)
        r = query_scheduler(w, request, &err);
    else
        find_claim(w, request);
    bool ours = lock_again(w);
    if (ours) {
        request->claim = w->claim;
        request->has_result = true;
    }
    request_unref(request);
    if (ours && a->allots && r != -ECANCELED)
        log_once(a, r < 0, &a->allot_fails, &err);
    return ours;
}

static bool write_map(struct worker *w)
{
    struct bj_gpu_lookup *a = w->a;
    struct bj_buf map = a->map;
    struct bj_err err = {0};
    a->map = (struct bj_buf){0};
    a->map_wanted = false;
    a->mapped = true;
    bj_worker_unlock(&w->worker);
    bool fails = bj_gpu_jobmap_sync(
                     a->map_dir, (struct bj_slice){map.p, map.len}, &err) < 0;
    bj_buf_free(&map);
    if (!lock_again(w))
        return false;
    log_once(a, fails, &a->map_fails, &err);
    return true;
}

static bool take_notes(struct worker *w)
{
    struct bj_gpu_lookup *a = w->a;
    a->notes_wanted = false;
    bj_worker_unlock(&w->worker);
    size_t n = read_notes(w);
    if (!lock_again(w))
        return false;
    struct bj_gpu_note *swap = a->notes;
    a->notes = w->read;
    w->read = swap;
    a->nnotes = n;
    return true;
}

/* Under lock.  False if the thread was replaced. */
static bool lookup_step(struct bj_worker *worker)
{
    struct worker *w = (struct worker *)worker;
    struct bj_gpu_lookup *a = w->a;
    if (a->first)
        return run_request(w);
    if (a->map_wanted)
        return write_map(w);
    if (a->notes_wanted)
        return take_notes(w);
    a->poller.due_usec = UINT64_MAX;
    return true;
}

/* Remove the files, which would become outdated. */
static bool lookup_finish(struct bj_worker *worker)
{
    struct worker *w = (struct worker *)worker;
    if (!w->a->mapped)
        return true;
    bj_buf_free(&w->a->map);
    return write_map(w);
}

static bool worker_init(struct bj_worker *worker)
{
    struct worker *w = (struct worker *)worker;
    w->a = (struct bj_gpu_lookup *)worker->poller;
    if (!w->a->notes)
        w->a->notes = calloc(BJ_GPU_NOTES_MAX, sizeof(*w->a->notes));
    w->environ = malloc(BJ_ENVIRON_CAP);
    w->read = calloc(BJ_GPU_NOTES_MAX, sizeof(*w->read));
    return w->a->notes && w->environ && w->read;
}

static void worker_fini(struct bj_worker *worker)
{
    struct worker *w = (struct worker *)worker;
    free(w->environ);
    free(w->read);
}

/* --- for the owner --------------------------------------------------------*/

int bj_gpu_lookup_new(const struct bj_gpu_lookup_conf *conf,
                      const struct bj_host *host, struct bj_gpu_lookup **ret)
{
    static const struct bj_poller_work work = {
        .worker_size = sizeof(struct worker),
        .worker_init = worker_init,
        .worker_fini = worker_fini,
        .step = lookup_step,
        .finish = lookup_finish,
        .gone = lookup_gone,
    };
    const char *name = conf->allot ? "bj-gpu-sched" : "bj-gpu-jobs";
    struct bj_gpu_lookup *a = calloc(1, sizeof(*a));
    if (!a || bj_poller_init(&a->poller, &work, name, host, NULL) < 0) {
        free(a);
        return -ENOMEM;
    }
    if (conf->stuck_usec)
        a->poller.stuck_usec = conf->stuck_usec;
    a->last = &a->first;
    if (!copy_conf(a, conf)) {
        bj_gpu_lookup_free(a);
        return -ENOMEM;
    }
    *ret = a;
    return 0;
}

void bj_gpu_lookup_free(struct bj_gpu_lookup *a)
{
    if (a)
        bj_poller_free(&a->poller);
}

/* Under lock, which is released meanwhile.  Reading a process that hangs in the
 * kernel may block.  To not delay the other jobs, the lookup fails, and another
 * thread continues. */
static void replace_stuck(struct bj_gpu_lookup *a)
{
    if (!bj_poller_replace(&a->poller))
        return;
    char job[104];
    snprintf(job, sizeof(job), "%s", a->now ? a->now->jobid : "none");
    if (a->now) {
        a->now->claim.failed = true;
        a->now->has_result = true;
    }
    a->now = NULL;
    pthread_mutex_unlock(a->poller.lock);
    bj_host_log(&a->poller.host, BJ_LOG_WARN, NULL,
                "GPUs of jobs: no answer about job %s, continuing without it",
                job);
    pthread_mutex_lock(a->poller.lock);
}

static bool lookup_copy(struct bj_gpu_request *request,
                        const struct bj_gpu_query *q)
{
    request->refs = 2;
    request->system = strndup(q->system.p ? q->system.p : "", q->system.n);
    request->jobid = strndup(q->jobid.p ? q->jobid.p : "", q->jobid.n);
    request->node = strndup(q->node.p ? q->node.p : "", q->node.n);
    bool complete = request->system && request->jobid && request->node;
    for (int i = 0; complete && i < DIRS && q->dirs[i]; i++)
        complete = (request->dirs[i] = strdup(q->dirs[i])) != NULL;
    if (complete && q->devices)
        complete = (request->devices = strdup(q->devices)) != NULL;
    return complete;
}

struct bj_gpu_request *bj_gpu_lookup_submit(struct bj_gpu_lookup *a,
                                            const struct bj_gpu_query *q)
{
    struct bj_gpu_request *request = calloc(1, sizeof(*request));
    if (!request)
        return NULL;
    bool complete = lookup_copy(request, q);
    pthread_mutex_lock(a->poller.lock);
    if (!complete || bj_poller_start(&a->poller) < 0) {
        request->refs = 1;
        request_unref(request);
        request = NULL;
    } else {
        *a->last = request;
        a->last = &request->next;
        bj_poller_wake(&a->poller);
    }
    pthread_mutex_unlock(a->poller.lock);
    return request;
}

bool bj_gpu_request_result(struct bj_gpu_lookup *a,
                           struct bj_gpu_request *request,
                           struct bj_gpu_claim *ret)
{
    pthread_mutex_lock(a->poller.lock);
    bool has_result = request->has_result;
    if (has_result)
        *ret = request->claim;
    pthread_mutex_unlock(a->poller.lock);
    return has_result;
}

void bj_gpu_request_drop(struct bj_gpu_lookup *a,
                         struct bj_gpu_request *request)
{
    if (!request)
        return;
    pthread_mutex_lock(a->poller.lock);
    request_unref(request);
    pthread_mutex_unlock(a->poller.lock);
}

size_t bj_gpu_lookup_notes(struct bj_gpu_lookup *a, struct bj_gpu_note *notes)
{
    pthread_mutex_lock(a->poller.lock);
    replace_stuck(a);
    size_t n = a->nnotes;
    if (n > 0)
        memcpy(notes, a->notes, n * sizeof(*notes));
    a->notes_wanted = a->note_dirs.n > 0;
    bj_poller_wake(&a->poller);
    pthread_mutex_unlock(a->poller.lock);
    return n;
}

void bj_gpu_lookup_map(struct bj_gpu_lookup *a, struct bj_buf *map)
{
    pthread_mutex_lock(a->poller.lock);
    if (*a->map_dir && bj_poller_start(&a->poller) == 0) {
        bj_buf_free(&a->map);
        a->map = *map;
        *map = (struct bj_buf){0};
        a->map_wanted = true;
        bj_poller_wake(&a->poller);
    }
    pthread_mutex_unlock(a->poller.lock);
}

#include "core/gpu/lookup.h"

#include "base/file.h"
#include "core/find/environ.h"
#include "core/find/pids.h"
#include "core/gpu/jobmap.h"
#include "core/poller.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void gone(struct bj_poller *poller)
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

static int by_number(const void *a, const void *b)
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
        qsort(pids, (size_t)n, sizeof(pids[0]), by_number);
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
    a->poller.host.log(a->poller.host.ctx, BJ_LOG_WARN,
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
static bool step(struct bj_worker *worker)
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
static bool finish(struct bj_worker *worker)
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
        .step = step,
        .finish = finish,
        .gone = gone,
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
    char line[200];
    if (!bj_poller_replace(&a->poller))
        return;
    const char *job = a->now ? a->now->jobid : "none";
    snprintf(line, sizeof(line),
             "GPUs of jobs: no answer about job %.100s, continuing without it",
             job);
    if (a->now) {
        a->now->claim.failed = true;
        a->now->has_result = true;
    }
    a->now = NULL;
    pthread_mutex_unlock(a->poller.lock);
    a->poller.host.log(a->poller.host.ctx, BJ_LOG_WARN, line);
    pthread_mutex_lock(a->poller.lock);
}

static bool copy(struct bj_gpu_request *request, const struct bj_gpu_query *q)
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
    bool complete = copy(request, q);
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

#include "core/gpu/asker.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/wait.h"
#include "core/find/environ.h"
#include "core/find/pids.h"
#include "core/gpu/jobmap.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECOND = 1000000, STOP_SEC = 2, PIDS = 512, READS = 64, DIRS = 4 };

/* A question: of its asker until it is dropped, and of the thread until it is
 * answered. */
struct bj_gpu_ask {
    struct bj_gpu_ask *next;
    unsigned refs; /* under lock */
    bool answered;
    char *dirs[DIRS], *devices, *system, *jobid, *node;
    struct bj_gpu_claim claim;
};

struct bj_gpu_asker {
    unsigned refs; /* under lock: owner and thread */
    char *procfs, *map_dir;
    bool allots; /* it is the scheduler that is asked */
    char *scheduler_path, *slurm_conf;
    atomic_bool abort;
    struct bj_strv note_dirs;
    struct bj_host host;
    pthread_mutex_t lock;
    pthread_cond_t change;
    pthread_t thread;
    bool threaded, ended, stop, notes_wanted, map_wanted;
    struct bj_buf map; /* while it is wanted */
    struct bj_gpu_ask *first, **last;
    struct bj_gpu_note *notes;
    size_t nnotes;
    /* of the thread */
    char *environ;
    struct bj_gpu_note *read;
    bool mapped, map_fails, allot_fails;
};

static void ask_unref(struct bj_gpu_ask *ask)
{
    if (--ask->refs > 0)
        return;
    for (int i = 0; i < DIRS; i++)
        free(ask->dirs[i]);
    free(ask->devices);
    free(ask->system);
    free(ask->jobid);
    free(ask->node);
    free(ask);
}

/* With the lock, which is gone afterwards. */
static void asker_unref(struct bj_gpu_asker *a)
{
    bool last = --a->refs == 0;
    pthread_mutex_unlock(&a->lock);
    if (!last)
        return;
    while (a->first) {
        struct bj_gpu_ask *ask = a->first;
        a->first = ask->next;
        ask_unref(ask);
    }
    bj_wait_destroy(&a->lock, &a->change);
    for (size_t i = 0; i < a->note_dirs.n; i++)
        free(a->note_dirs.v[i]);
    free(a->note_dirs.v);
    free(a->procfs);
    free(a->map_dir);
    free(a->scheduler_path);
    free(a->slurm_conf);
    bj_buf_free(&a->map);
    free(a->notes);
    free(a->read);
    free(a->environ);
    free(a);
}

static bool copy_conf(struct bj_gpu_asker *a,
                      const struct bj_gpu_asker_conf *conf)
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
    bool whole = a->procfs && a->map_dir && a->note_dirs.v &&
                 a->scheduler_path && a->slurm_conf;
    for (size_t i = 0; whole && i < dirs->n; i++) {
        a->note_dirs.v[i] = strdup(dirs->v[i]);
        whole = a->note_dirs.v[i] != NULL;
        a->note_dirs.n += whole;
    }
    return whole;
}

int bj_gpu_asker_new(const struct bj_gpu_asker_conf *conf,
                     const struct bj_host *host, struct bj_gpu_asker **ret)
{
    struct bj_gpu_asker *a = calloc(1, sizeof(*a));
    if (!a || bj_wait_init(&a->lock, &a->change) < 0) {
        free(a);
        return -ENOMEM;
    }
    a->refs = 1;
    a->host = *host;
    a->last = &a->first;
    if (!copy_conf(a, conf)) {
        bj_gpu_asker_free(a);
        return -ENOMEM;
    }
    *ret = a;
    return 0;
}

/* --- the thread -----------------------------------------------------------*/

/* What one process says; the environment of the job itself ends the search. */
static bool ask_process(struct bj_gpu_asker *a, struct bj_gpu_ask *ask,
                        const char *dir, pid_t pid)
{
    char path[512];
    struct bj_slice env;
    struct bj_gpu_claim c = {.environ = false};
    snprintf(path, sizeof(path), "%.400s/%d", a->procfs, (int)pid);
    bj_autoclose int fd = bj_dir_open(AT_FDCWD, path);
    if (fd < 0 ||
        bj_file_read_head(fd, "environ", a->environ, BJ_ENVIRON_CAP, &env) <
            0 ||
        !bj_gpu_claim_environ(env, bj_slice_str(ask->system),
                              bj_slice_str(ask->jobid), &c) ||
        !bj_pids_has(dir, pid)) /* the number may be another's by now */
        return false;
    if (!ask->claim.environ || !c.step)
        ask->claim = c;
    return !c.step;
}

static int by_number(const void *a, const void *b)
{
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
    return (x > y) - (x < y);
}

/* Tell a fault once, until it is over. */
static void tell(struct bj_gpu_asker *a, bool fails, bool *told,
                 const struct bj_err *err)
{
    char text[400];
    if (fails && !*told)
        a->host.log(a->host.ctx, BJ_LOG_WARN,
                    bj_err_text(err, text, sizeof(text)));
    *told = fails;
}

static void ask_scheduler(struct bj_gpu_asker *a, struct bj_gpu_ask *ask)
{
    const struct bj_gpu_allot_conf conf = {a->scheduler_path, a->slurm_conf};
    struct bj_err err = {0};
    int r =
        bj_gpu_allot_ask(&conf, bj_slice_str(ask->jobid),
                         bj_slice_str(ask->node), &a->abort, &ask->claim, &err);
    ask->claim.failed = r < 0;
    if (r != -ECANCELED)
        tell(a, r < 0, &a->allot_fails, &err);
}

static void find_claim(struct bj_gpu_asker *a, struct bj_gpu_ask *ask)
{
    pid_t pids[PIDS];
    int n = 0;
    const char *dir = NULL;
    for (int i = 0; i < DIRS && n <= 0 && ask->dirs[i]; i++) {
        dir = ask->dirs[i];
        n = bj_pids_below(AT_FDCWD, dir, pids, PIDS);
    }
    if (n > 0)
        qsort(pids, (size_t)n, sizeof(pids[0]), by_number);
    for (int i = 0; i < n && i < READS; i++)
        if (ask_process(a, ask, dir, pids[i]))
            break;
    char buf[8192];
    struct bj_slice text;
    if (ask->devices && bj_file_read(AT_FDCWD, ask->devices, buf, sizeof(buf),
                                     &text, NULL) == 0)
        bj_gpu_claim_devices(text, a->procfs, &ask->claim);
}

static size_t read_notes(struct bj_gpu_asker *a)
{
    size_t n = 0;
    for (size_t i = 0; i < a->note_dirs.n; i++) {
        int r = bj_gpu_notes_read(a->note_dirs.v[i], a->read + n,
                                  BJ_GPU_NOTES_MAX - n);
        n += r > 0 ? (size_t)r : 0;
    }
    return n;
}

static void sync_map(struct bj_gpu_asker *a, struct bj_slice map)
{
    struct bj_err err = {0};
    bool fails = bj_gpu_jobmap_sync(a->map_dir, map, &err) < 0;
    a->mapped = true;
    tell(a, fails, &a->map_fails, &err);
}

/* Under lock, which is left meanwhile. */
static void write_map(struct bj_gpu_asker *a)
{
    struct bj_buf map = a->map;
    a->map = (struct bj_buf){0};
    a->map_wanted = false;
    pthread_mutex_unlock(&a->lock);
    sync_map(a, (struct bj_slice){map.p, map.len});
    bj_buf_free(&map);
    pthread_mutex_lock(&a->lock);
}

static void serve(struct bj_gpu_asker *a)
{
    struct bj_gpu_ask *ask = a->first;
    if (ask) {
        a->first = ask->next;
        if (!a->first)
            a->last = &a->first;
        pthread_mutex_unlock(&a->lock);
        if (a->allots)
            ask_scheduler(a, ask);
        else
            find_claim(a, ask);
        pthread_mutex_lock(&a->lock);
        ask->answered = true;
        ask_unref(ask);
        return;
    }
    if (a->map_wanted) {
        write_map(a);
        return;
    }
    a->notes_wanted = false;
    pthread_mutex_unlock(&a->lock);
    size_t n = read_notes(a);
    pthread_mutex_lock(&a->lock);
    struct bj_gpu_note *swap = a->notes;
    a->notes = a->read;
    a->read = swap;
    a->nnotes = n;
}

static void *run(void *arg)
{
    struct bj_gpu_asker *a = arg;
    pthread_mutex_lock(&a->lock);
    while (!a->stop)
        if (a->first || a->notes_wanted || a->map_wanted)
            serve(a);
        else
            bj_wait_until(&a->change, &a->lock, UINT64_MAX);
    /* Nobody looks any more: what the files say may soon be wrong. */
    if (a->mapped) {
        pthread_mutex_unlock(&a->lock);
        sync_map(a, (struct bj_slice){0});
        pthread_mutex_lock(&a->lock);
    }
    a->ended = true;
    pthread_cond_broadcast(&a->change);
    asker_unref(a);
    return NULL;
}

/* --- for the owner --------------------------------------------------------*/

void bj_gpu_asker_free(struct bj_gpu_asker *a)
{
    if (!a)
        return;
    uint64_t end = bj_clock_boot_usec() + STOP_SEC * SECOND;
    pthread_mutex_lock(&a->lock);
    a->stop = true;
    atomic_store(&a->abort, true);
    pthread_cond_broadcast(&a->change);
    while (a->threaded && !a->ended && bj_wait_until(&a->change, &a->lock, end))
        ;
    bool threaded = a->threaded, ended = a->ended;
    pthread_t thread = a->thread;
    pthread_mutex_unlock(&a->lock);
    if (threaded && ended)
        pthread_join(thread, NULL);
    else if (threaded)
        pthread_detach(thread);
    pthread_mutex_lock(&a->lock);
    asker_unref(a);
}

/* Under lock. */
static bool start(struct bj_gpu_asker *a)
{
    if (a->threaded)
        return true;
    if (!a->environ)
        a->environ = malloc(BJ_ENVIRON_CAP);
    if (!a->notes)
        a->notes = calloc(BJ_GPU_NOTES_MAX, sizeof(*a->notes));
    if (!a->read)
        a->read = calloc(BJ_GPU_NOTES_MAX, sizeof(*a->read));
    if (!a->environ || !a->notes || !a->read)
        return false;
    a->refs++;
    a->threaded =
        a->host.thread(a->host.ctx, &a->thread, run, a,
                       a->allots ? "bj-gpu-sched" : "bj-gpu-jobs") == 0;
    a->refs -= !a->threaded;
    return a->threaded;
}

static bool copy(struct bj_gpu_ask *ask, const struct bj_gpu_question *q)
{
    ask->refs = 2;
    ask->system = strndup(q->system.p ? q->system.p : "", q->system.n);
    ask->jobid = strndup(q->jobid.p ? q->jobid.p : "", q->jobid.n);
    ask->node = strndup(q->node.p ? q->node.p : "", q->node.n);
    bool whole = ask->system && ask->jobid && ask->node;
    for (int i = 0; whole && i < DIRS && q->dirs[i]; i++)
        whole = (ask->dirs[i] = strdup(q->dirs[i])) != NULL;
    if (whole && q->devices)
        whole = (ask->devices = strdup(q->devices)) != NULL;
    return whole;
}

struct bj_gpu_ask *bj_gpu_asker_ask(struct bj_gpu_asker *a,
                                    const struct bj_gpu_question *q)
{
    struct bj_gpu_ask *ask = calloc(1, sizeof(*ask));
    if (!ask)
        return NULL;
    bool whole = copy(ask, q);
    pthread_mutex_lock(&a->lock);
    if (!whole || !start(a)) {
        ask->refs = 1;
        ask_unref(ask);
        ask = NULL;
    } else {
        *a->last = ask;
        a->last = &ask->next;
        pthread_cond_broadcast(&a->change);
    }
    pthread_mutex_unlock(&a->lock);
    return ask;
}

bool bj_gpu_ask_answer(struct bj_gpu_asker *a, struct bj_gpu_ask *ask,
                       struct bj_gpu_claim *ret)
{
    pthread_mutex_lock(&a->lock);
    bool answered = ask->answered;
    if (answered)
        *ret = ask->claim;
    pthread_mutex_unlock(&a->lock);
    return answered;
}

void bj_gpu_ask_drop(struct bj_gpu_asker *a, struct bj_gpu_ask *ask)
{
    if (!ask)
        return;
    pthread_mutex_lock(&a->lock);
    ask_unref(ask);
    pthread_mutex_unlock(&a->lock);
}

size_t bj_gpu_asker_notes(struct bj_gpu_asker *a, struct bj_gpu_note *notes)
{
    pthread_mutex_lock(&a->lock);
    size_t n = a->threaded ? a->nnotes : 0;
    if (n > 0)
        memcpy(notes, a->notes, n * sizeof(*notes));
    a->notes_wanted = a->note_dirs.n > 0;
    pthread_cond_broadcast(&a->change);
    pthread_mutex_unlock(&a->lock);
    return n;
}

void bj_gpu_asker_map(struct bj_gpu_asker *a, struct bj_buf *map)
{
    pthread_mutex_lock(&a->lock);
    if (*a->map_dir && start(a)) {
        bj_buf_free(&a->map);
        a->map = *map;
        *map = (struct bj_buf){0};
        a->map_wanted = true;
        pthread_cond_broadcast(&a->change);
    }
    pthread_mutex_unlock(&a->lock);
}

#include "core/watcher.h"

#include "base/file.h"

#include "core/find/pids.h"
#include "core/internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SECOND = 1000000,
    EXITS_MAX = 16, /* processes of a job watched for their end, per interval */
    AGAIN_MSEC = 100
};

struct bj_watcher {
    struct bj_core *core;
    pthread_t thread;
    uint64_t begun_usec; /* start of the interval for EXITS_MAX */
    bool stop;           /* under the core's lock */
    bool full;           /* the kernel has no watch left: logged */
    bool again;          /* look at jobs again although nothing changed */
    int requests;        /* the directory of requests; -1 */
};

/* --- one job --------------------------------------------------------------*/

static void note_full(struct bj_core *core)
{
    if (!core->watcher->full)
        bj_host_log(&core->host, BJ_LOG_WARN, NULL,
                    "the kernel has no inotify watch left "
                    "(fs.inotify.max_user_watches): the ends of some jobs "
                    "are sampled at the interval");
    core->watcher->full = true;
}

/* v1 does not report empty cgroups; v2 does, through a work queue, which is
 * late on a busy machine. So wait for the end of one process, most likely the
 * oldest, and then of another one.  Where the OOM kills of a job are in its
 * steps, which are removed a moment after the kill, wait for the youngest, too:
 * batch script and daemons are older. */
static void wait_for_exit(struct bj_core *core, struct bj_track *t,
                          const char *path)
{
    enum { SOME = 64 };
    pid_t pids[SOME];
    const unsigned want = bj_events_summed(t) ? BJ_EXITS : 1;
    unsigned watched = bj_watches_exits(t);
    int n = 0;
    if (watched >= want)
        return;
    if (t->watched.exits < EXITS_MAX)
        n = bj_pids_below(AT_FDCWD, path, pids, SOME);
    n = n < SOME ? n : SOME;
    for (int i = 0; i < n && watched < want; i++) {
        bj_watches_exit(core->watches, t, pids[i > 0 ? n - i : 0]);
        watched = bj_watches_exits(t);
    }
    if (watched > 0)
        return;
    t->watched.changed = true; /* try again */
    core->watcher->again = true;
}

/* Sample a job whose processes have changed, or for which it is requested. */
static void sample(struct bj_core *core, struct bj_track *t, bool requested)
{
    char path[4096];
    bool v2;
    t->watched.changed = false;
    if (!bj_track_live(t) || t->life.outer || t->unit.in_hiers == 0 ||
        !bj_track_procs_path(t, path, sizeof(path), &v2))
        return;
    if (!bj_watches_job(core->watches, t, path, v2))
        note_full(core);
    t->watched.changed = false;
    bool empty = !bj_life_has_processes(t);
    bj_core_read_job(t, empty);
    bj_life_begin(t);
    if (t->unit.in_hiers != 0) /* else it has gone: the last sample is final */
        t->life.last_cpu_usec =
            empty || requested ? t->unit.use.cpu_usec : BJ_ABSENT;
    if (!empty)
        wait_for_exit(core, t, path);
    bj_identity_changed(t);
}

/* --- requests -------------------------------------------------------------*/

static void open_requests(struct bj_watcher *w)
{
    struct bj_core *core = w->core;
    const char *dir = core->conf->request_dir;
    char line[480], parent[480];
    struct bj_err err;
    if (!dir || !*dir)
        return;
    snprintf(parent, sizeof(parent), "%s", dir);
    char *slash = strrchr(parent, '/');
    if (slash && slash > parent) {
        *slash = '\0';
        mkdir(parent, 0755);
    }
    mkdir(dir, 0755);
    w->requests = bj_dir_open(AT_FDCWD, dir);
    if (w->requests >= 0 && bj_watches_requests(core->watches, dir))
        return;
    bj_file_fail(&err, w->requests < 0 ? w->requests : -errno,
                 "sample.request-dir: epilogs cannot request a sample:",
                 AT_FDCWD, dir, R_OK | W_OK | X_OK);
    bj_host_log(&core->host, BJ_LOG_INFO, NULL, "%s",
                bj_err_text(&err, line, sizeof(line)));
}

static void watcher_serve(struct bj_core *core, const char *jobid)
{
    for (size_t k = 0; k < core->tracks.n; k++) {
        struct bj_track *t = core->tracks.v[k];
        if (strcmp(t->id, jobid) == 0 ||
            bj_slice_eq(t->ident->f[BJ_ID_JOBID], bj_slice_str(jobid)))
            sample(core, t, true);
    }
}

/* Each file is a request, named after the job; it is removed when it is
 * served. */
static void serve_requests(struct bj_watcher *w)
{
    int fd = w->requests < 0
                 ? -1
                 : openat(w->requests, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d && fd >= 0)
        close(fd);
    for (const struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.') {
            watcher_serve(w->core, e->d_name);
            unlinkat(w->requests, e->d_name, 0);
        }
    if (d)
        closedir(d);
}

/* --- the thread -----------------------------------------------------------*/

/* Do the work of a pass for the jobs that have changed. */
static void react(struct bj_watcher *w, struct bj_changes c)
{
    struct bj_core *core = w->core;
    core->now_usec = bj_clock_boot_usec();
    core->wall_usec = bj_clock_wall_usec();
    core->oom_read = false;
    bool interval = core->now_usec >= w->begun_usec + SECOND;
    if (interval)
        w->begun_usec = core->now_usec;
    if (c.scan || c.lost || c.requests)
        bj_core_scan(core, c.lost);
    for (size_t k = 0; k < core->tracks.n; k++) {
        struct bj_track *t = core->tracks.v[k];
        if (interval)
            t->watched.exits = 0;
        if (t->watched.changed || c.lost)
            sample(core, t, false);
        w->again |= bj_identity_hurry(t);
    }
    if (c.requests)
        serve_requests(w);
    bj_core_end_jobs(core);
    bj_events_settle(core);
}

static void *watcher_run(void *arg)
{
    struct bj_watcher *w = arg;
    struct bj_core *core = w->core;
    pthread_mutex_lock(&core->lock);
    open_requests(w);
    react(w, (struct bj_changes){.requests = true, .lost = true});
    while (!w->stop) {
        int msec = w->again ? AGAIN_MSEC : -1;
        w->again = false;
        pthread_mutex_unlock(&core->lock);
        bj_watches_wait(core->watches, msec);
        pthread_mutex_lock(&core->lock);
        if (!w->stop)
            react(w, bj_watches_read(core->watches, core, bj_core_mark_stale));
    }
    pthread_mutex_unlock(&core->lock);
    return NULL;
}

void bj_watcher_ensure(struct bj_core *core)
{
    if (core->watcher || !core->sampler || !core->conf->watch)
        return;
    struct bj_watcher *w = calloc(1, sizeof(*w));
    int r = w ? bj_watches_new(&core->pool, &core->watches) : -ENOMEM;
    if (r == 0) {
        w->core = core;
        w->requests = -1;
        core->watcher = w;
        r = core->host.thread(core->host.ctx, &w->thread, watcher_run, w,
                              "bj-watcher");
    }
    if (r == 0)
        return;
    free(w);
    core->watcher = NULL;
    bj_watches_free(core->watches);
    core->watches = NULL;
    core->own_conf.watch = false;
    bj_host_log(&core->host, BJ_LOG_WARN, NULL,
                "sample.watch: cannot watch the directories of jobs: their "
                "ends are sampled at the interval");
}

void bj_watcher_free(struct bj_core *core)
{
    struct bj_watcher *w = core->watcher;
    if (!w)
        return;
    pthread_mutex_lock(&core->lock);
    w->stop = true;
    bj_watches_wake(core->watches);
    pthread_mutex_unlock(&core->lock);
    pthread_join(w->thread, NULL);
    for (size_t k = 0; k < core->tracks.n; k++)
        bj_watches_forget(core->watches, core->tracks.v[k]);
    bj_watches_free(core->watches);
    core->watches = NULL;
    bj_close_fd(&w->requests);
    free(w);
    core->watcher = NULL;
}

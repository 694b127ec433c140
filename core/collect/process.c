#include "core/collect/process.h"

#include "base/buf.h"
#include "core/collect/process_impl.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* --- the record of a job, from its kept state -----------------------------*/

void bj_jobproc_sums(const struct bj_proctab *t, const struct bj_jobproc *p,
                     struct bj_procsum *s)
{
    s->processes = p->processes;
    s->threads = p->threads;
    s->processes_seen = p->seen;
    s->open_fds = t->conf->open_fds && p->fds_known ? p->open_fds : BJ_ABSENT;
    uint64_t *const to[BJ_PROCIO_FIELDS] = {
        &s->io_read_bytes,
        &s->io_write_bytes,
        &s->io_read_ops,
        &s->io_write_ops,
        &s->io_storage_read_bytes,
        &s->io_storage_write_bytes,
        &s->io_cancelled_write_bytes,
    };
    for (unsigned f = 0; f < BJ_PROCIO_FIELDS; f++)
        *to[f] = p->io_known && !p->io_denied ? p->io[f] : BJ_ABSENT;
}

static void publish_states(const struct bj_jobproc *p, struct bj_arena *arena,
                           struct bj_list *list)
{
    size_t n = (size_t)__builtin_popcount(p->states_seen);
    struct bj_state_use *v = bj_arena_alloc(arena, n * sizeof(*v));
    if (!v || n == 0)
        return;
    *list = (struct bj_list){v, n};
    for (unsigned s = 0; s < BJ_PROC_STATES; s++)
        if (p->states_seen & (1u << s)) {
            v->sub.key[0] = bj_proc_state_name[s];
            v->threads = p->states[s];
            v++;
        }
}

/* Labels begin with "/", "[" or "(u" ("(unreachable)"), so "(other)" sorts
 * first. */
void bj_jobproc_exes(const struct bj_proctab *t, const struct bj_jobproc *p,
                     struct bj_arena *arena, struct bj_list *list)
{
    size_t n = p->norder + 1u;
    struct bj_exe_use *v = bj_arena_alloc(arena, n * sizeof(*v));
    if (!v || t->conf->exe_top == 0)
        return;
    *list = (struct bj_list){v, n};
    v->sub.key[0] = BJ_SLICE("(other)");
    v->cpu_usec = p->other_usec;
    for (uint16_t i = 0; i < p->norder; i++) {
        const struct bj_exe *x = &p->exes[p->order[i]];
        v++;
        v->sub.key[0] = bj_arena_copy(arena, bj_slice_str(x->label));
        v->cpu_usec = x->ticks * (1000000 / t->hz);
    }
}

static int process_by_name(const void *a, const void *b)
{
    const struct bj_place_use *x = a, *y = b;
    return strcmp(x->sub.key[0].p, y->sub.key[0].p);
}

static void publish_places(const struct bj_proctab *t,
                           const struct bj_jobproc *p, struct bj_arena *arena,
                           struct bj_list *list)
{
    if (!p->places || !p->places_known)
        return;
    struct bj_place_use *v = bj_arena_alloc(arena, t->nplaces * sizeof(*v));
    size_t n = 0;
    for (size_t i = 0; v && i < t->nplaces; i++)
        if (t->places[i].label == i) {
            v[n].sub.key[0] =
                bj_arena_copy(arena, bj_slice_str(t->places[i].name));
            v[n].files = p->places[i];
            n++;
        }
    if (n == 0)
        return;
    qsort(v, n, sizeof(*v), process_by_name);
    *list = (struct bj_list){v, n};
}

static void publish_cores(const struct bj_proctab *t,
                          const struct bj_jobproc *p, struct bj_arena *arena,
                          struct bj_list *list)
{
    size_t n = 0;
    for (uint32_t c = 0; c < p->ncores; c++)
        n += p->cores[c] > 0;
    struct bj_core_use *v = bj_arena_alloc(arena, n * sizeof(*v));
    if (!v || n == 0)
        return;
    *list = (struct bj_list){v, n};
    for (uint32_t c = 0; c < p->ncores; c++) {
        if (p->cores[c] == 0)
            continue;
        char text[20];
        const char *s = bj_u64_backwards(text + sizeof(text), c);
        v->sub.key[0] = bj_arena_copy(
            arena, (struct bj_slice){s, (size_t)(text + sizeof(text) - s)});
        v->cpu_usec = BJ_ABSENT;
        v->cpu_estimated_usec = p->cores[c] * (1000000 / t->hz);
        v++;
    }
}

void bj_jobproc_publish(const struct bj_proctab *t, const struct bj_jobproc *p,
                        struct bj_arena *arena, struct bj_job *job)
{
    if (p->percore && p->has_values)
        publish_cores(t, p, arena, &job->cores);
    if (p->start_sec && job->start_sec == BJ_ABSENT)
        job->start_sec = p->start_sec;
    if (!t->detail || !p->has_values) {
        for (size_t i = 0; i < sizeof(job->proc) / sizeof(uint64_t); i++)
            ((uint64_t *)(void *)&job->proc)[i] = BJ_ABSENT;
        return;
    }
    bj_jobproc_sums(t, p, &job->proc);
    publish_states(p, arena, &job->states);
    bj_jobproc_exes(t, p, arena, &job->exes);
    if (t->conf->extras)
        bj_proc_extra_publish(t, p, arena, job);
    publish_places(t, p, arena, &job->places);
}

enum {
    IO_USEC = 30 * 1000 * 1000,
    LINKS_A_PASS = 100000,
    THREADS_A_PROCESS = 8, /* on average, that max-processes allows for */
    BUF_KEEP = 1024 * 1024,
    HELD_A_JOB = 4, /* threads that one job may cost */
    HELD_A_PASS =
        3, /* and one pass; each costs the time to notice a blocked read */
};

/* --- shared by all jobs --- */

int bj_proctab_new(const struct bj_conf *conf, const struct bj_host *host,
                   struct bj_fdpool *pool, struct bj_proctab **ret,
                   struct bj_err *err)
{
    struct stat st;
    struct statfs fs;
    struct bj_proctab *t = calloc(1, sizeof(*t));
    if (!t)
        return bj_err_set(err, -ENOMEM, "table of processes");
    t->conf = conf;
    t->pool = pool;
    t->tmp_dir = -1;
    t->detail = conf->collect[BJ_COLLECT_PROCESS];
    t->percore = conf->collect[BJ_COLLECT_PERCORE];
    long hz = sysconf(_SC_CLK_TCK);
    t->hz = hz > 0 && hz <= 1000000 ? (uint64_t)hz : 100;
    t->proc = open(conf->procfs, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r = t->proc < 0 ? bj_err_set(err, -errno, "open %s", conf->procfs) : 0;
    if (host) {
        t->thread = bj_procthread_new(host);
        if (!t->thread)
            r = bj_err_set(err, -ENOMEM, "table of processes");
    }
    if (r == 0)
        r = bj_places_parse(t, err);
    if (r < 0) {
        bj_proctab_free(t);
        return r;
    }
    t->fd_size = bj_proc_fd_probe(t->proc);
    t->schedstat = fstatfs(t->proc, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
    t->hidden = fstatat(t->proc, "1", &st, 0) < 0;
    *ret = t;
    return 0;
}

void bj_proctab_free(struct bj_proctab *t)
{
    if (!t)
        return;
    bj_procthread_free(t->thread);
    bj_proc_dir_done(t);
    bj_close_fd(&t->proc);
    bj_places_free(t);
    free(t->buf);
    free(t->debts);
    free(t->links);
    free(t);
}

void bj_proctab_begin(struct bj_proctab *t, uint64_t now_usec, uint64_t io_usec)
{
    t->now_usec = now_usec;
    t->io_usec = io_usec < IO_USEC ? io_usec : IO_USEC;
    t->left = t->conf->max_processes;
    t->threads_left = t->left * THREADS_A_PROCESS;
    t->links_left = LINKS_A_PASS;
    if (t->cap > BUF_KEEP) {
        free(t->buf);
        t->buf = NULL;
        t->cap = 0;
    }
}

uint64_t bj_proctab_refused(const struct bj_proctab *t)
{
    return t->refused;
}

uint64_t bj_proctab_faults(const struct bj_proctab *t)
{
    return t->faults;
}

/* --- one job --- */

struct bj_jobproc *bj_jobproc_new(struct bj_proctab *t, const char *path,
                                  bool v2)
{
    struct bj_jobproc *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->path = strdup(path);
    p->v2 = v2;
    p->percore = v2 && t->percore;
    if (!p->path) {
        free(p);
        return NULL;
    }
    return p;
}

void bj_jobproc_free(struct bj_proctab *t, struct bj_jobproc *p)
{
    if (!p)
        return;
    bj_proc_clear(t, p);
    bj_proc_list_free(t, p);
    bj_proc_exe_free(p);
    free(p->ended);
    free(p->cores);
    free(p->places);
    free(p->path);
    free(p);
}

/* The result for a process that ended before it was read. */
static void end_process(struct bj_proctab *t, struct bj_jobproc *p,
                        struct bj_proc *e)
{
    /* It is probably hidden (hidepid), not ended. */
    if (e->start_ticks == 0 && t->hidden)
        p->unread++;
    bj_proc_remove(t, p, e);
}

/* Read entry e. fresh: the list was read in this pass, so a process that is not
 * on it has ended or moved. */
static void read_one(struct bj_proctab *t, struct bj_jobproc *p,
                     struct bj_proc *e, bool fresh)
{
    bool listed = e->list_no == p->list_no;
    if (listed && t->left == 0) {
        t->refused++;
        e->changed = false;
        return;
    }
    if (listed) {
        t->left--;
        e->missed = 0;
    } else if (fresh && p->complete && e->missed < UINT8_MAX) {
        e->missed++;
    }
    if (bj_err_gone(bj_proc_read(t, p, e)))
        end_process(t, p, e);
}

/* Read the entries from that index on.  True if a listed process has ended. */
static bool process_read_all(struct bj_proctab *t, struct bj_jobproc *p,
                             size_t from, bool fresh)
{
    bool died = false;
    for (size_t i = from; i < p->n; i++) {
        struct bj_proc *e = &p->v[i];
        if (e->pid == 0)
            continue;
        bool listed = e->list_no == p->list_no;
        read_one(t, p, e, fresh);
        died = died || (listed && e->pid == 0);
    }
    return died;
}

static void process_collect(struct bj_proctab *t, struct bj_jobproc *p,
                            bool fresh)
{
    if (process_read_all(t, p, 0, fresh) && !fresh) {
        /* The list was an old one: new processes may have taken the place
         * of ended ones. */
        size_t known = p->n;
        p->room = known - p->removed + t->left;
        if (bj_proc_list(t, p, true) == 1)
            process_read_all(t, p, known, true);
    }
    if (t->detail) {
        bj_proc_io(t, p);
        if (t->nplaces > 0)
            bj_proc_places(t, p);
    }
    bj_proc_dir_done(t);
}

static int update(struct bj_proctab *t, struct bj_jobproc *p, uint64_t cpu_usec)
{
    t->fault = 0;
    p->room = t->left;
    int r = bj_proc_list(t, p, false);
    if (r < 0) {
        bj_proc_clear(t, p);
        bj_proc_list_free(t, p);
        p->alive = p->unread = 0;
    } else {
        process_collect(t, p, r == 1);
        bj_proc_sweep(p);
        p->has_values = true;
        r = t->fault;
    }
    p->nended = p->ended_sorted = 0;
    if (t->detail && t->conf->exe_top > 0)
        bj_proc_exe_settle(t, p, cpu_usec);
    bj_proc_tally(p);
    return r;
}

/* --- all jobs --- */

struct round {
    struct bj_proctab *t;
    const struct bj_procjob *v;
    size_t n, k; /* k: the job being read */
    int result;
};

/* In the thread: read the jobs from k on. */
static void process_run(void *ctx, struct bj_procguard *g)
{
    struct round *r = ctx;
    r->t->guard = g;
    for (; r->k < r->n; r->k++) {
        const struct bj_procjob *j = &r->v[r->k];
        if (j->p->held < HELD_A_JOB)
            r->result = update(r->t, j->p, j->cpu_usec);
    }
}

/* The kernel blocks a read of e; its job, the current one, is read again. */
static void take_held(struct round *r, struct bj_proc *e,
                      struct bj_procguard *held)
{
    struct bj_jobproc *p = r->v[r->k].p;
    r->t->fault = 0;
    bj_proc_fault_once(r->t, e, -ETIMEDOUT, "the kernel holds a read");
    bj_proc_dir_done(r->t);
    if (held) {
        bj_proc_released(p, e);
        e->held = held;
        p->held++;
    }
}

int bj_proctab_update(struct bj_proctab *t, const struct bj_procjob *v,
                      size_t n, struct bj_err *err)
{
    struct round r = {.t = t, .v = v, .n = n};
    struct bj_procguard *held;
    void *e;
    t->err = err;
    if (!t->thread)
        process_run(&r, NULL);
    for (unsigned i = 0; r.k < n && i < HELD_A_PASS; i++) {
        int s = bj_procthread_call(t->thread, process_run, &r, &e, &held);
        if (s == -ETIMEDOUT)
            take_held(&r, e, held);
        else if (s < 0)
            r.k = n; /* no job can be read */
        if (s < 0)
            r.result = s;
        if (s < 0 && s != -ETIMEDOUT) {
            t->fault = 0;
            bj_proc_fault(t, s, "thread that reads processes");
        }
    }
    t->err = NULL;
    return r.result;
}

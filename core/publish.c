#include "base/text.h"
#include "base/version.h"
#include "core/cluster/cluster.h"
#include "core/emissions.h"
#include "core/energy/energy.h"
#include "core/gpu/gpus.h"
#include "core/internal.h"
#include "core/sender.h"

#include <stdio.h>
#include <stdlib.h>

/* --- extra values of jobs -------------------------------------------------*/

/* Extra values of jobs that only dialects report (enum bj_extra). */

/* The job's CPU time, divided evenly among the CPUs that it may use. */
static struct bj_list split_evenly(const struct bj_track *t, struct bj_arena *a,
                                   struct bj_slice cpus)
{
    const uint64_t n = t->unit.use.cpus, usec = t->unit.use.cpu_usec;
    struct bj_core_use *v = NULL;
    size_t i = 0;
    if (cpus.n > 0 && n != BJ_ABSENT && usec != BJ_ABSENT)
        v = bj_arena_alloc(a, n * sizeof(*v));
    for (; v && i < n && bj_slice_field(&cpus, ',', &v[i].sub.key[0]); i++) {
        v[i].cpu_usec = usec / n;
        v[i].cpu_estimated_usec = BJ_ABSENT;
    }
    return (struct bj_list){v, i};
}

/* Put extra values into the snapshot, after the job's processes. */
static void extras_publish(const struct bj_core *core, const struct bj_track *t,
                           struct bj_arena *a, struct bj_job *job)
{
    const unsigned extras = core->conf->extras;
    const char *const *list = (const char *const *)t->unit.cpu_list;
    struct bj_extra_use *v = bj_arena_alloc(a, sizeof(*v));
    if (!v)
        return;
    memset(v, 0xff, sizeof(*v));
    v->sub = (struct bj_sub){{{0}}};
    for (int i = 0; i < BJ_CPU_LISTS; i++)
        if (list[i]) {
            v->sub.key[i] = bj_arena_copy(a, bj_slice_str(list[i]));
            v->cpus[i] = t->unit.cpus_listed[i];
            v->listed[i] = 1;
        }
    v->cpu_ppm = bj_rate_ppm(&t->rate);
    if (v->cpu_ppm != BJ_ABSENT && job->use.cpus != BJ_ABSENT)
        v->cpu_each_ppm = v->cpu_ppm / job->use.cpus;
    if (t->proc && extras & BJ_EXTRA_ALIVE)
        bj_jobproc_living(t->proc, v);
    if (extras & BJ_EXTRA_EVEN)
        job->even_cores = split_evenly(t, a, v->sub.key[BJ_CPUS_EFFECTIVE]);
    job->extras = (struct bj_list){v, 1};
}

/* --- the snapshot ---------------------------------------------------------*/

/* Makes an immutable snapshot from the tracks. */

struct bj_snap *bj_snap_ref(struct bj_snap *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

/* Release all data outside the arena. */
static void release(struct bj_snap *s)
{
    const struct bj_job *jobs = s->jobs.v;
    for (size_t i = 0; i < s->jobs.n; i++)
        bj_ident_unref(jobs[i].ident);
    s->jobs.n = 0;
    bj_cluster_release(s);
}

void bj_snap_unref(struct bj_snap *s)
{
    if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
        return;
    release(s);
    bj_arena_free(&s->arena);
    free(s);
}

static struct bj_slice number_text(struct bj_arena *a, uint64_t v)
{
    char text[24];
    int n = snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
    return bj_arena_copy(a, (struct bj_slice){text, (size_t)n});
}

/* CPU time by CPU, from v1: the CPUs of the job's cpuset, and others that it
 * has used. */
static void publish_cores(const struct bj_unit *u, struct bj_arena *a,
                          struct bj_job *job)
{
    if (u->ncores == 0)
        return;
    struct bj_core_use *v = bj_arena_alloc(a, u->ncores * sizeof(*v));
    size_t n = 0;
    for (uint32_t c = 0; v && c < u->ncores; c++) {
        bool allowed = u->cpuset[c / 8] & 1u << c % 8;
        if (u->core_usec[c] == BJ_ABSENT || (!allowed && u->core_usec[c] == 0))
            continue;
        v[n].sub.key[0] = number_text(a, c);
        v[n].cpu_usec = u->core_usec[c];
        v[n++].cpu_estimated_usec = BJ_ABSENT;
    }
    job->cores = (struct bj_list){v, n};
}

/* Estimates of v2 contain only used CPUs: add the others of the cpuset, with 0.
 * Both lists are sorted by number. */
static void add_unused_cores(const struct bj_unit *u, struct bj_arena *a,
                             struct bj_job *job)
{
    const struct bj_core_use *used = job->cores.v;
    struct bj_slice rest = bj_slice_str(u->cpu_list[BJ_CPUS_EFFECTIVE]), name;
    size_t i = 0, n = 0, nused = job->cores.n;
    struct bj_core_use *v = bj_arena_alloc(
        a, (nused + u->cpus_listed[BJ_CPUS_EFFECTIVE]) * sizeof(*v));
    while (v && bj_slice_field(&rest, ',', &name)) {
        uint64_t cpu = 0, next = 0;
        bj_slice_u64(name, &cpu);
        while (i < nused && bj_slice_u64(used[i].sub.key[0], &next) == 0 &&
               next < cpu)
            v[n++] = used[i++];
        if (i < nused && next == cpu) {
            v[n++] = used[i++];
            continue;
        }
        v[n].sub.key[0] = bj_arena_copy(a, name);
        v[n].cpu_usec = BJ_ABSENT;
        v[n++].cpu_estimated_usec = 0;
    }
    while (v && i < nused)
        v[n++] = used[i++];
    job->cores = (struct bj_list){v, n};
}

static void publish_devices(const struct bj_unit *u, struct bj_arena *a,
                            struct bj_job *job)
{
    if (u->ndevices == 0)
        return;
    struct bj_device_use *v = bj_arena_alloc(a, u->ndevices * sizeof(*v));
    for (uint32_t i = 0; v && i < u->ndevices; i++) {
        const struct bj_unit_device *d = &u->devices[i];
        v[i].sub.key[0] = bj_arena_copy(a, bj_slice_str(d->name));
        v[i].read_bytes = d->read_bytes;
        v[i].write_bytes = d->write_bytes;
        v[i].read_ops = d->read_ops;
        v[i].write_ops = d->write_ops;
    }
    job->devices = (struct bj_list){v, v ? u->ndevices : 0};
}

static bool no_hugetlb(const struct bj_unit_hugetlb *h)
{
    return h->used_bytes == BJ_ABSENT && h->peak_bytes == BJ_ABSENT &&
           h->limit_bytes == BJ_ABSENT && h->limit_hits == BJ_ABSENT;
}

static void publish_hugetlb(const struct bj_unit *u, struct bj_arena *a,
                            struct bj_job *job)
{
    if (!u->hugetlb)
        return;
    struct bj_hugetlb_use *v = bj_arena_alloc(a, BJ_PAGE_SIZES * sizeof(*v));
    size_t n = 0;
    for (unsigned i = 0; v && i < BJ_PAGE_SIZES; i++) {
        const struct bj_unit_hugetlb *h = &u->hugetlb[i];
        if (no_hugetlb(h))
            continue;
        v[n].sub.key[0] = bj_slice_str(bj_page_sizes[i]);
        v[n].used_bytes = h->used_bytes;
        v[n].peak_bytes = h->peak_bytes;
        v[n].limit_bytes = h->limit_bytes;
        v[n++].limit_hits = h->limit_hits;
    }
    job->hugetlb = (struct bj_list){v, n};
}

static void publish_dmem(const struct bj_unit *u, struct bj_arena *a,
                         struct bj_job *job)
{
    if (u->nregions == 0)
        return;
    struct bj_dmem_use *v = bj_arena_alloc(a, u->nregions * sizeof(*v));
    for (uint32_t i = 0; v && i < u->nregions; i++) {
        v[i].sub.key[0] = bj_core_label(a, u->regions[i].name);
        v[i].used_bytes = u->regions[i].used_bytes;
        v[i].limit_bytes = u->regions[i].limit_bytes;
    }
    job->dmem = (struct bj_list){v, v ? u->nregions : 0};
}

static int by_step(const void *a, const void *b)
{
    const struct bj_step_use *x = a, *y = b;
    int d = strverscmp(x->sub.key[0].p, y->sub.key[0].p);
    return d || !x->sub.key[1].p || !y->sub.key[1].p
               ? d
               : strverscmp(x->sub.key[1].p, y->sub.key[1].p);
}

static struct bj_list publish_steps(const struct bj_track *t,
                                    struct bj_arena *a, bool tasks)
{
    size_t n = 0;
    for (const struct bj_step *s = t->steps.first; s; s = s->next)
        n += tasks == (*s->task != '\0');
    struct bj_step_use *v = n ? bj_arena_alloc(a, n * sizeof(*v)) : NULL;
    if (!v)
        return (struct bj_list){0};
    n = 0;
    for (const struct bj_step *s = t->steps.first; s; s = s->next) {
        if (tasks != (*s->task != '\0'))
            continue;
        v[n].sub.key[0] = bj_core_label(a, s->step);
        if (tasks)
            v[n].sub.key[1] = bj_core_label(a, s->task);
        v[n++].use = s->unit->use;
    }
    qsort(v, n, sizeof(*v), by_step);
    return (struct bj_list){v, n};
}

static void publish_job(struct bj_core *core, const struct bj_track *t,
                        struct bj_arena *a, struct bj_job *job)
{
    bj_job_clear(job);
    job->ident = bj_ident_ref(t->ident);
    job->use = t->unit.use;
    const struct bj_ident_numbers *n = &t->ident->n;
    job->start_sec = bj_track_start(t);
    job->latest_sec = n->latest_sec;
    job->restarts = n->restarts;
    job->end_sec = t->life.end_sec;
    job->ident_info = 1;
    publish_cores(&t->unit, a, job);
    publish_devices(&t->unit, a, job);
    publish_hugetlb(&t->unit, a, job);
    publish_dmem(&t->unit, a, job);
    if (t->proc) {
        bj_jobproc_publish(core->proctab, t->proc, a, job);
        if (core->conf->collect[BJ_COLLECT_PERCORE] && t->unit.ncores == 0 &&
            t->unit.cpu_list[BJ_CPUS_EFFECTIVE])
            add_unused_cores(&t->unit, a, job);
    }
    if (core->conf->extras)
        extras_publish(core, t, a, job);
    if (core->energy)
        bj_energy_publish_job(core->energy, t, a, job);
    if (core->gpus) {
        bj_gpus_publish_job(core->gpus, t, a, job);
        bj_gpus_publish_engines(core->gpus, t, a, job);
    }
    const char *steps = core->conf->steps;
    if (bj_track_live(t) && steps && strcmp(steps, "off") != 0) {
        job->steps = publish_steps(t, a, false);
        if (strcmp(steps, "tasks") == 0)
            job->tasks = publish_steps(t, a, true);
    }
}

/* Jobs are published once they have had processes and their id is known. */
static bool publishable(const struct bj_track *t)
{
    return t->life.born && !t->life.replaced && !t->life.hidden &&
           t->ident->f[BJ_ID_JOBID].n > 0;
}

/* Order jobs by id; of those with the same labels, the running one or the
 * newest one comes first. */
static int by_labels(const void *a, const void *b)
{
    const struct bj_track *x = *(const struct bj_track *const *)a;
    const struct bj_track *y = *(const struct bj_track *const *)b;
    int d = strverscmp(x->ident->f[BJ_ID_JOBID].p, y->ident->f[BJ_ID_JOBID].p);
    if (d == 0)
        d = strcmp(x->ident->labels.p, y->ident->labels.p);
    if (d == 0)
        d = (int)bj_track_live(y) - (int)bj_track_live(x);
    if (d == 0 && x->life.first_usec != y->life.first_usec)
        d = x->life.first_usec > y->life.first_usec ? -1 : 1;
    return d;
}

/* Tracks are sorted by the id of their directory.  That is the required order,
 * unless the id of a job differs from that of its directory, or two jobs have
 * the same id. */
static void sort_tracks(const struct bj_track **v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(v[i]->id, v[i]->ident->f[BJ_ID_JOBID].p) != 0 ||
            (i > 0 && strcmp(v[i - 1]->id, v[i]->id) == 0)) {
            qsort(v, n, sizeof(const void *), by_labels);
            return;
        }
}

/* Publish no two jobs with the same labels: Prometheus rejects a scrape with a
 * duplicate series.  Ids repeat when a job is requeued or a directory is left
 * behind. */
static int publish_jobs(struct bj_core *core, struct bj_snap *s)
{
    size_t n = 0;
    const struct bj_track **v =
        bj_arena_alloc(&s->arena, core->tracks.n * sizeof(const void *));
    struct bj_job *jobs =
        bj_arena_alloc(&s->arena, core->tracks.n * sizeof(*jobs));
    if (!jobs || !v)
        return -ENOMEM;
    for (size_t i = 0; i < core->tracks.n; i++)
        if (publishable(core->tracks.v[i]))
            v[n++] = core->tracks.v[i];
    sort_tracks(v, n);
    s->jobs.v = jobs;
    for (size_t i = 0; i < n; i++)
        if (i == 0 ||
            !bj_slice_eq(v[i]->ident->labels, v[i - 1]->ident->labels))
            publish_job(core, v[i], &s->arena, &jobs[s->jobs.n++]);
    return 0;
}

static bool is_slow(const struct bj_cgroup_collector *c)
{
    unsigned n = 0;
    for (unsigned i = 0; i < c->nfiles; i++)
        n += c->files[i].slow;
    return n == c->nfiles;
}

/* When the oldest values that are read at the slow interval were read. */
static uint64_t slow_read_usec(const struct bj_core *core)
{
    uint64_t oldest = UINT64_MAX;
    for (size_t k = 0; k < core->tracks.n; k++) {
        const struct bj_track *t = core->tracks.v[k];
        if (bj_track_live(t) && t->life.born && !t->life.outer &&
            t->unit.slow_due_usec > core->conf->slow_usec &&
            t->unit.slow_due_usec - core->conf->slow_usec < oldest)
            oldest = t->unit.slow_due_usec - core->conf->slow_usec;
    }
    return oldest;
}

static void publish_runs(struct bj_core *core, struct bj_snap *s)
{
    const uint64_t slow_read = slow_read_usec(core);
    struct bj_collector_stat *v =
        bj_arena_alloc(&s->arena, BJ_RUNS * sizeof(*v));
    size_t n = 0;
    for (unsigned i = 0; v && i < BJ_RUNS; i++) {
        const struct bj_run *r = &core->run[i];
        if (!r->ran)
            continue;
        v[n].sub.key[0] = bj_slice_str(bj_run_names[i]);
        v[n].success = !r->failing;
        v[n].duration_usec = r->duration_usec;
        v[n].errors = r->errors;
        uint64_t good = r->good_usec;
        if (i < BJ_CGROUP_COLLECTORS && is_slow(bj_cgroup_collectors[i]) &&
            slow_read < good)
            good = slow_read;
        v[n++].age_usec = good ? s->boot_usec - good : BJ_ABSENT;
    }
    s->self.collectors = (struct bj_list){v, n};
}

static void publish_records(struct bj_core *core, struct bj_self *self)
{
    struct bj_sender_stat n = {BJ_ABSENT, BJ_ABSENT, BJ_ABSENT,
                               BJ_ABSENT, 0,         BJ_ABSENT};
    uint64_t age, in_memory = bj_core_sampler_waiting(core, &age);
    if (core->sender)
        bj_sender_stat(core->sender, &n);
    self->records = core->spool ? core->records : BJ_ABSENT;
    self->records_lost = core->spool ? core->records_lost : BJ_ABSENT;
    self->records_write_success = core->records_write_success;
    self->records_sent = n.sent;
    self->records_refused = n.refused;
    self->records_send_errors = n.errors;
    self->records_send_success = n.success;
    self->records_waiting = core->sender || in_memory > 0
                                ? in_memory + (core->sender ? n.waiting : 0)
                                : BJ_ABSENT;
    if (in_memory > 0 && age > n.age_usec)
        n.age_usec = age;
    self->records_age_usec = n.age_usec > 0 ? n.age_usec : BJ_ABSENT;
}

/* Log once that files are no longer kept open. */
static void warn_files(struct bj_core *core)
{
    if (core->pool.refused == 0 || core->pool.max == 0 || core->files_warned)
        return;
    bj_host_log(
        &core->host, BJ_LOG_WARN, NULL,
        "%u files are open, the limit (limit.files, LimitNOFILE=): others"
        " are opened in each pass, which takes longer",
        core->pool.max);
    core->files_warned = true;
}

static void publish_self(struct bj_core *core, struct bj_snap *s)
{
    struct bj_self *self = &s->self;
    self->jobs = 0;
    for (size_t i = 0; i < core->tracks.n; i++)
        self->jobs +=
            bj_track_live(core->tracks.v[i]) && core->tracks.v[i]->life.born;
    self->jobs_refused = core->jobs_refused;
    self->steps_refused = core->steps_refused;
    self->processes_refused =
        core->proctab ? bj_proctab_refused(core->proctab) : BJ_ABSENT;
    self->passes = core->passes;
    self->pass_usec = s->boot_usec - core->now_usec;
    self->fds_kept = core->pool.used;
    self->fds_refused = core->pool.refused;
    warn_files(core);
    self->start_sec = core->self_start_sec;
    publish_records(core, self);
    self->build_info =
        (struct bj_info){1,
                         {bj_slice_str(bj_version), bj_slice_str(bj_revision),
                          BJ_SLICE(__VERSION__)}};
    bool count = core->now_usec >= core->own_fds_usec;
    if (count)
        core->own_fds_usec = core->now_usec + core->conf->slow_usec;
    bj_self_read(self, count, &core->own_fds);
    publish_runs(core, s);
}

/* The last snapshot, if there is no other reference to it, else a new one. */
static struct bj_snap *publish_take(struct bj_core *core)
{
    struct bj_snap *s = core->last;
    core->last = NULL;
    if (s && atomic_load_explicit(&s->refs, memory_order_acquire) == 1) {
        release(s);
        bj_arena_reset(&s->arena);
    } else {
        bj_snap_unref(s);
        s = calloc(1, sizeof(*s));
        if (s)
            atomic_init(&s->refs, 1);
    }
    return s;
}

/* The lists of a reused snapshot point into the memory of its earlier arena. */
static void clear_lists(struct bj_snap *s)
{
    const size_t first = offsetof(struct bj_snap, jobs);
    memset((char *)s + first, 0,
           offsetof(struct bj_snap, cluster_lists) - first);
}

int bj_core_publish(struct bj_core *core, struct bj_snap **ret,
                    struct bj_err *err)
{
    struct bj_snap *s = publish_take(core);
    if (!s)
        return bj_err_set(err, -ENOMEM, "snapshot");
    clear_lists(s);
    s->cluster = bj_core_cluster(core, &s->arena);
    bj_node_clear(&s->node);
    if (core->node)
        bj_node_publish(core->node, &s->arena, &s->node);
    if (core->energy)
        bj_energy_publish(core->energy, s);
    if (core->emissions)
        bj_emissions_publish(core->emissions, s);
    if (core->gpus)
        bj_gpus_publish(core->gpus, s);
    if (core->scheduler)
        bj_cluster_publish(core->scheduler, core->now_usec, s);
    int r = publish_jobs(core, s);
    s->boot_usec = bj_clock_boot_usec();
    s->wall_usec = bj_clock_wall_usec();
    publish_self(core, s);
    if (r < 0 || s->arena.failed) {
        bj_snap_unref(s);
        return bj_err_set(err, -ENOMEM, "snapshot");
    }
    core->last = s;
    *ret = bj_snap_ref(s);
    return 0;
}

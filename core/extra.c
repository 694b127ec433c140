/* Extra values of jobs that only dialects report (enum bj_extra). */
#include "core/internal.h"

void bj_core_rates(struct bj_core *core)
{
    for (size_t k = 0; k < core->tracks.n; k++) {
        struct bj_track *t = core->tracks.v[k];
        if (t->life.read_pass == core->passes)
            bj_rate_note(&t->rate, core->now_usec,
                         t->unit.use.unread_files != BJ_ABSENT
                             ? BJ_ABSENT
                             : t->unit.use.cpu_usec);
    }
}

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

void bj_extras_publish(const struct bj_core *core, const struct bj_track *t,
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

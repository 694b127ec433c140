/* Fills the record of a job from its kept state. */
#include "core/collect/process_impl.h"

#include "base/buf.h"

#include <stdlib.h>

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

static int by_name(const void *a, const void *b)
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
    qsort(v, n, sizeof(*v), by_name);
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

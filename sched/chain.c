#include "sched/chain.h"

#include "base/arena.h"
#include "base/array.h"
#include "sched/state.h"
#include "sched/tres.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

struct bj_chain {
    struct bj_arena arena; /* texts and steps */
    struct bj_sched_job *part;
    size_t parts, parts_cap;
    /* of the run that is joined */
    struct bj_job_size *size;
    size_t sizes_cap;
    struct bj_job_step *step;
    size_t steps_cap;
};

bool bj_chain_is_part(const struct bj_sched_job *job)
{
    return job->original_sluid.n > 0 &&
           (job->state == BJ_STATE_RESIZED ||
            !bj_slice_eq(job->original_sluid, job->sluid));
}

struct bj_chain *bj_chain_new(void)
{
    return calloc(1, sizeof(struct bj_chain));
}

void bj_chain_free(struct bj_chain *c)
{
    if (!c)
        return;
    bj_arena_free(&c->arena);
    free(c->part);
    free(c->size);
    free(c->step);
    free(c);
}

/* --- copies ---------------------------------------------------------------*/

#define J(member) offsetof(struct bj_sched_job, member)
#define S(member) offsetof(struct bj_job_step, member)

/* gpu_model, and the lists of resources that contain it, are derived again. */
static const size_t job_texts[] = {
    J(cluster),       J(batch_system),
    J(jobid),         J(display_id),
    J(sluid),         J(original_sluid),
    J(array_tasks),   J(user),
    J(group),         J(account),
    J(project),       J(wckey),
    J(partition),     J(qos),
    J(name),          J(state_raw),
    J(reason),        J(exit_raw),
    J(nodelist),      J(gpu_model),
    J(reservation),   J(tres_requested_raw),
    J(constraints),   J(tres_allocated_raw),
    J(licenses),      J(flags),
    J(batch_host),    J(submit_host),
    J(work_dir),      J(submit_line),
    J(container),     J(comment),
    J(admin_comment), J(system_comment),
    J(failed_node),   J(stdout_path),
    J(stderr_path),
};

static const size_t step_texts[] = {
    S(step_id),       S(name),        S(state_raw),      S(nodelist),
    S(mem_peak_node), S(submit_line), S(tres_alloc_raw),
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void copy_texts(struct bj_arena *a, const size_t *at, size_t n,
                       void *record)
{
    for (size_t i = 0; i < n; i++) {
        struct bj_slice *s = (void *)((char *)record + at[i]);
        if (s->n > 0)
            *s = bj_arena_copy(a, *s);
    }
}

int bj_chain_add(struct bj_chain *c, const struct bj_sched_job *job,
                 struct bj_err *err)
{
    if (!BJ_GROW(c->part, c->parts + 1, c->parts_cap))
        return bj_err_set(err, -ENOMEM, "records of a run");
    struct bj_sched_job *to = &c->part[c->parts];
    *to = *job;
    to->tres_requested.n = to->tres_allocated.n = 0;
    copy_texts(&c->arena, job_texts, COUNT(job_texts), to);
    struct bj_job_step *step = NULL;
    if (job->steps > 0)
        step = bj_arena_alloc(&c->arena, job->steps * sizeof(*step));
    if (c->arena.failed)
        return bj_err_set(err, -ENOMEM, "records of a run");
    for (unsigned i = 0; i < job->steps; i++) {
        step[i] = job->step[i];
        copy_texts(&c->arena, step_texts, COUNT(step_texts), &step[i]);
    }
    to->step = step;
    if (c->arena.failed)
        return bj_err_set(err, -ENOMEM, "records of a run");
    c->parts++;
    return 0;
}

/* --- sums -----------------------------------------------------------------*/

static void largest(uint64_t *to, uint64_t v)
{
    if (v != BJ_ABSENT && (*to == BJ_ABSENT || v > *to))
        *to = v;
}

/* Absent values add nothing. */
static void chain_add(uint64_t *to, uint64_t v)
{
    if (v == BJ_ABSENT)
        return;
    if (*to == BJ_ABSENT)
        *to = v;
    else if (__builtin_add_overflow(*to, v, to))
        *to = BJ_ABSENT;
}

/* An absent factor makes the sum absent; the sum begins with 0. */
static void add_product(uint64_t *to, uint64_t a, uint64_t b)
{
    uint64_t v;
    if (*to == BJ_ABSENT || a == BJ_ABSENT || b == BJ_ABSENT ||
        __builtin_mul_overflow(a, b, &v) || __builtin_add_overflow(*to, v, to))
        *to = BJ_ABSENT;
}

static void add_use(struct bj_sched_usage *to, const struct bj_sched_usage *of)
{
    chain_add(&to->cpu_usec, of->cpu_usec);
    chain_add(&to->cpu_user_usec, of->cpu_user_usec);
    chain_add(&to->cpu_system_usec, of->cpu_system_usec);
    chain_add(&to->energy_joules, of->energy_joules);
    chain_add(&to->read_bytes, of->read_bytes);
    chain_add(&to->write_bytes, of->write_bytes);
    largest(&to->mem_task_peak_bytes, of->mem_task_peak_bytes);
    largest(&to->mem_peak_bytes, of->mem_peak_bytes);
    largest(&to->vmem_peak_bytes, of->vmem_peak_bytes);
}

/* --- sizes ----------------------------------------------------------------*/

/* Did the step start while the run had this size? */
static bool starts_within(const struct bj_job_step *step,
                          const struct bj_job_size *size)
{
    return step->start_sec != BJ_ABSENT && size->start_sec != BJ_ABSENT &&
           step->start_sec >= size->start_sec &&
           (size->end_sec == BJ_ABSENT || step->start_sec < size->end_sec);
}

/* No job runs without memory: a 0 says that Slurm does not allocate it. */
static uint64_t chain_known(uint64_t bytes)
{
    return bytes == 0 ? BJ_ABSENT : bytes;
}

/* The run had at least what a step got. */
static void raise(struct bj_job_size *size, const struct bj_job_step *step)
{
    struct bj_tres_list list;
    bj_tres_parse(step->tres_alloc_raw, BJ_TRES_REQUESTED, &list);
    const uint64_t memory = chain_known(bj_tres_get(&list, BJ_TRES_MEM));
    const uint64_t gpus =
        bj_tres_sum(&list, BJ_TRES_GRES, BJ_SLICE("gpu"), NULL);
    const bool whole = bj_slice_eq(step->step_id, BJ_SLICE("extern"));
    if (whole && step->nodelist.n > 0 && step->nodes != BJ_ABSENT &&
        (size->nodes == BJ_ABSENT || step->nodes > size->nodes))
        size->nodelist = step->nodelist;
    if (whole && step->tres_alloc_raw.n > 0)
        size->tres_allocated_raw = step->tres_alloc_raw;
    largest(&size->cpus, bj_tres_get(&list, BJ_TRES_CPU));
    largest(&size->nodes, bj_tres_get(&list, BJ_TRES_NODE));
    largest(&size->mem_allocated_bytes, memory);
    if (list.n > 0)
        largest(&size->gpus, gpus);
}

static struct bj_job_size size_of(const struct bj_sched_job *part,
                                  const struct bj_sched_job *run)
{
    struct bj_job_size size = {.sluid = part->sluid,
                               .start_sec = part->start_sec,
                               .end_sec = part->end_sec,
                               .elapsed_sec = part->elapsed_sec,
                               .cpus = part->cpus,
                               .nodes = part->nodes,
                               .gpus = part->gpus,
                               .mem_allocated_bytes =
                                   chain_known(part->mem_allocated_bytes),
                               .nodelist = part->nodelist,
                               .tres_allocated_raw = part->tres_allocated_raw};
    for (unsigned i = 0; i < run->steps; i++)
        if (starts_within(&run->step[i], &size))
            raise(&size, &run->step[i]);
    return size;
}

static uint64_t mib_of(uint64_t bytes)
{
    return bytes == BJ_ABSENT ? BJ_ABSENT : bytes >> 20;
}

/* Set the amounts of a run from its sizes. */
static void put_sizes(struct bj_sched_job *run, const struct bj_job_size *size,
                      unsigned n)
{
    run->size = size;
    run->sizes = n;
    run->cpu_sec = run->node_sec = run->gpu_sec = run->memory_mib_sec = 0;
    for (const struct bj_job_size *s = size; s < size + n; s++) {
        if (s->nodes != BJ_ABSENT &&
            (run->nodes == BJ_ABSENT || s->nodes > run->nodes))
            run->nodelist = s->nodelist;
        if (s->cpus != BJ_ABSENT &&
            (run->cpus == BJ_ABSENT || s->cpus > run->cpus ||
             (s == size && s->tres_allocated_raw.n > 0)))
            run->tres_allocated_raw = s->tres_allocated_raw;
        largest(&run->cpus, s->cpus);
        largest(&run->nodes, s->nodes);
        largest(&run->gpus, s->gpus);
        largest(&run->mem_allocated_bytes, s->mem_allocated_bytes);
        add_product(&run->cpu_sec, s->cpus, s->elapsed_sec);
        add_product(&run->node_sec, s->nodes, s->elapsed_sec);
        add_product(&run->gpu_sec, s->gpus, s->elapsed_sec);
        add_product(&run->memory_mib_sec, mib_of(s->mem_allocated_bytes),
                    s->elapsed_sec);
    }
    /* The change of the allocation has also overwritten the request. */
    if (run->mem_requested_bytes != BJ_ABSENT)
        largest(&run->mem_requested_bytes, run->mem_allocated_bytes);
    if (run->cpus_requested != BJ_ABSENT)
        largest(&run->cpus_requested, run->cpus);
}

/* --- runs -----------------------------------------------------------------*/

static int compare_text(struct bj_slice a, struct bj_slice b)
{
    const size_t n = a.n < b.n ? a.n : b.n;
    const int c = n > 0 ? memcmp(a.p, b.p, n) : 0;
    return c ? c : (a.n > b.n) - (a.n < b.n);
}

/* By run, then by time; BJ_ABSENT is the last. */
static int by_run(const void *pa, const void *pb)
{
    const struct bj_sched_job *a = pa, *b = pb;
    int c = compare_text(a->cluster, b->cluster);
    if (c == 0)
        c = compare_text(a->original_sluid, b->original_sluid);
    if (c == 0)
        c = (a->start_sec > b->start_sec) - (a->start_sec < b->start_sec);
    if (c == 0) /* two changes in one second: SLUIDs grow with time */
        c = compare_text(a->sluid, b->sluid);
    return c;
}

static bool same_run(const struct bj_sched_job *a, const struct bj_sched_job *b)
{
    return bj_slice_eq(a->cluster, b->cluster) &&
           bj_slice_eq(a->original_sluid, b->original_sluid);
}

static void chain_take_text(struct bj_slice *to, struct bj_slice last)
{
    if (last.n > 0)
        *to = last;
}

/* How the run ended is what its last record says. */
static void chain_put_end(struct bj_sched_job *run,
                          const struct bj_sched_job *last)
{
    run->state = last->state;
    run->state_raw = last->state_raw;
    run->cancelled_by = last->cancelled_by;
    run->reason = last->reason;
    run->exit_raw = last->exit_raw;
    run->exit_code = last->exit_code;
    run->exit_signal = last->exit_signal;
    run->end_sec = last->end_sec;
    largest(&run->derived_exit_code, last->derived_exit_code);
    largest(&run->derived_exit_signal, last->derived_exit_signal);
    largest(&run->restarts, last->restarts);
    if (last->time_limit_sec != BJ_ABSENT)
        run->time_limit_sec = last->time_limit_sec;
    chain_take_text(&run->comment, last->comment);
    chain_take_text(&run->admin_comment, last->admin_comment);
    chain_take_text(&run->system_comment, last->system_comment);
    chain_take_text(&run->failed_node, last->failed_node);
}

/* The steps of all records; *run gets their array. */
static int put_steps(struct bj_chain *c, struct bj_sched_job *run,
                     const struct bj_sched_job *part, size_t n,
                     struct bj_err *err)
{
    unsigned steps = 0;
    for (size_t i = 0; i < n; i++)
        steps += part[i].steps;
    if (!BJ_GROW(c->step, steps, c->steps_cap))
        return bj_err_set(err, -ENOMEM, "records of a run");
    run->steps = 0;
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k < part[i].steps; k++)
            c->step[run->steps++] = part[i].step[k];
    run->step = run->steps > 0 ? c->step : NULL;
    return 0;
}

/* Until the run has ended, the records have the use of its ended steps only. */
static void drop_open_use(struct bj_sched_job *run)
{
    struct bj_sched_usage *use = &run->use;
    if (!bj_state_is_open(run->state))
        return;
    use->cpu_usec = use->cpu_user_usec = use->cpu_system_usec = BJ_ABSENT;
    use->energy_joules = use->read_bytes = use->write_bytes = BJ_ABSENT;
}

static int chain_join(struct bj_chain *c, const struct bj_sched_job *part,
                      size_t n, struct bj_sched_job *run, struct bj_err *err)
{
    *run = part[0];
    run->sluid = run->original_sluid;
    if (n < 2)
        return 0;
    chain_put_end(run, &part[n - 1]);
    for (size_t i = 1; i < n; i++) {
        chain_add(&run->elapsed_sec, part[i].elapsed_sec);
        chain_add(&run->suspended_sec, part[i].suspended_sec);
        add_use(&run->use, &part[i].use);
        run->steps_left_out += part[i].steps_left_out;
        largest(&run->mem_requested_bytes, part[i].mem_requested_bytes);
        largest(&run->cpus_requested, part[i].cpus_requested);
    }
    drop_open_use(run);
    int r = put_steps(c, run, part, n, err);
    if (r < 0)
        return r;
    if (!BJ_GROW(c->size, n, c->sizes_cap))
        return bj_err_set(err, -ENOMEM, "records of a run");
    for (size_t i = 0; i < n; i++)
        c->size[i] = size_of(&part[i], run);
    put_sizes(run, c->size, (unsigned)n);
    return 0;
}

static void chain_forget(struct bj_chain *c)
{
    c->parts = 0;
    bj_arena_reset(&c->arena);
}

int bj_chain_take(struct bj_chain *c,
                  int (*take)(void *ctx, const struct bj_sched_job *job,
                              struct bj_err *err),
                  void *ctx, struct bj_err *err)
{
    struct bj_sched_job run;
    int r = 0;
    if (c->parts > 0)
        qsort(c->part, c->parts, sizeof(*c->part), by_run);
    for (size_t from = 0, n; r >= 0 && from < c->parts; from += n) {
        for (n = 1; from + n < c->parts &&
                    same_run(&c->part[from], &c->part[from + n]);
             n++)
            ;
        r = chain_join(c, &c->part[from], n, &run, err);
        if (r == 0)
            r = take(ctx, &run, err);
    }
    chain_forget(c);
    return r < 0 ? r : 0;
}

/* Shared by the fuzzers of schedulers' texts: combines every byte of a reader's
 * results into one number, which must not depend on where the text was cut. */
#ifndef BJ_TESTS_FUZZ_FUZZ_SCHED_H
#define BJ_TESTS_FUZZ_FUZZ_SCHED_H

#include "base/err.h"
#include "sched/job.h"
#include "tests/fuzz/fuzz.h"

struct seen {
    uint64_t hash;
    uint64_t jobs, bad;
};

static inline void hash_num(struct seen *s, uint64_t v)
{
    s->hash = (s->hash ^ v) * 0x9e3779b97f4a7c15 + 1;
    s->hash ^= s->hash >> 29;
}

static inline void hash_text(struct seen *s, struct bj_slice t)
{
    hash_num(s, t.n);
    for (size_t i = 0; i < t.n; i++)
        hash_num(s, (unsigned char)t.p[i]);
}

static inline void hash_tres(struct seen *s, const struct bj_tres_list *list)
{
    MUST(list->n <= BJ_TRES_MAX);
    for (unsigned i = 0; i < list->n; i++) {
        const struct bj_tres *t = &list->v[i];
        MUST((unsigned)t->type < BJ_TRES_TYPES);
        hash_text(s, t->name);
        hash_text(s, t->model);
        hash_num(s, t->count);
    }
}

static inline void hash_usage(struct seen *s, const struct bj_sched_usage *u)
{
    const uint64_t v[] = {u->cpu_usec,        u->cpu_user_usec,
                          u->cpu_system_usec, u->cpu_task_usec,
                          u->mem_peak_bytes,  u->mem_task_peak_bytes,
                          u->vmem_peak_bytes, u->energy_joules,
                          u->read_bytes,      u->write_bytes};
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
        hash_num(s, v[i]);
}

static inline void hash_step(struct seen *s, const struct bj_job_step *t)
{
    MUST((unsigned)t->state < BJ_STATES);
    const struct bj_slice text[] = {
        t->step_id,       t->name,        t->state_raw,     t->nodelist,
        t->mem_peak_node, t->submit_line, t->tres_alloc_raw};
    for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++)
        hash_text(s, text[i]);
    const uint64_t v[] = {t->start_sec,     t->end_sec,   t->elapsed_sec,
                          t->suspended_sec, t->exit_code, t->exit_signal,
                          t->cpus,          t->nodes,     t->tasks};
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
        hash_num(s, v[i]);
    hash_usage(s, &t->use);
}

static inline void hash_size(struct seen *s, const struct bj_job_size *z)
{
    const uint64_t v[] = {
        z->start_sec, z->end_sec, z->elapsed_sec,        z->cpus,
        z->nodes,     z->gpus,    z->mem_allocated_bytes};
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
        hash_num(s, v[i]);
    hash_text(s, z->nodelist);
    hash_text(s, z->tres_allocated_raw);
}

static inline int hash_job(void *ctx, const struct bj_sched_job *j,
                           struct bj_err *err)
{
    struct seen *s = ctx;
    (void)err;
    s->jobs++;
    hash_num(s, j->sizes_kind);
    for (unsigned i = 0; i < j->sizes; i++)
        hash_size(s, &j->size[i]);
    MUST((unsigned)j->state < BJ_STATES);
    MUST(j->jobid.n > 0 && j->batch_system.n > 0);
    MUST(j->steps == 0 || j->step);
    const struct bj_slice text[] = {j->cluster,
                                    j->jobid,
                                    j->display_id,
                                    j->sluid,
                                    j->array_tasks,
                                    j->user,
                                    j->group,
                                    j->account,
                                    j->project,
                                    j->wckey,
                                    j->partition,
                                    j->qos,
                                    j->name,
                                    j->state_raw,
                                    j->reason,
                                    j->exit_raw,
                                    j->nodelist,
                                    j->gpu_model,
                                    j->reservation,
                                    j->constraints,
                                    j->licenses,
                                    j->flags,
                                    j->batch_host,
                                    j->submit_host,
                                    j->work_dir,
                                    j->submit_line,
                                    j->container,
                                    j->comment,
                                    j->admin_comment,
                                    j->system_comment,
                                    j->tres_requested_raw,
                                    j->tres_allocated_raw};
    for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++)
        hash_text(s, text[i]);
    const uint64_t v[] = {j->id_number,
                          j->array_job,
                          j->array_task,
                          j->het_job,
                          j->het_offset,
                          j->uid,
                          j->gid,
                          j->cancelled_by,
                          j->exit_code,
                          j->exit_signal,
                          j->restarts,
                          j->submit_sec,
                          j->eligible_sec,
                          j->start_sec,
                          j->end_sec,
                          j->elapsed_sec,
                          j->suspended_sec,
                          j->time_limit_sec,
                          j->cpus,
                          j->nodes,
                          j->tasks,
                          j->cpus_requested,
                          j->mem_requested_bytes,
                          j->mem_allocated_bytes,
                          j->gpus,
                          j->priority};
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
        hash_num(s, v[i]);
    hash_tres(s, &j->tres_requested);
    hash_tres(s, &j->tres_allocated);
    hash_usage(s, &j->use);
    for (unsigned i = 0; i < j->steps; i++)
        hash_step(s, &j->step[i]);
    return 0;
}

/* Feed text in pieces of at most n bytes, each in memory of exactly its size.
 * Sets ret to what the last call returned.  A macro, since readers differ. */
#define FEED(ret, call, reader, text, n)                                       \
    do {                                                                       \
        struct bj_slice rest_ = (text);                                        \
        struct bj_err err_ = {0};                                              \
        ret = 0;                                                               \
        while (rest_.n > 0 && ret == 0) {                                      \
            const size_t k_ = rest_.n < (n) ? rest_.n : (n);                   \
            char *mem_;                                                        \
            const struct bj_slice piece_ = fuzz_exact(rest_.p, k_, &mem_);     \
            ret = call(reader, piece_, &err_);                                 \
            free(mem_);                                                        \
            rest_.p += k_;                                                     \
            rest_.n -= k_;                                                     \
        }                                                                      \
        MUST((ret < 0) == (err_.code < 0));                                    \
    } while (0)

#endif

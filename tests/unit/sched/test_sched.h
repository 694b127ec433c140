/* Helpers of the schedulers' tests: recordings, and jobs as lines of text. */
#ifndef BJ_TESTS_UNIT_SCHED_TEST_SCHED_H
#define BJ_TESTS_UNIT_SCHED_TEST_SCHED_H

#include "base/buf.h"
#include "sched/job.h"
#include "sched/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define FIXTURES "tests/fixtures/sched/"

static inline struct bj_slice load(const char *name)
{
    FILE *f = fopen(name, "rb");
    if (!f)
        fail_msg("%s is missing", name);
    char *p = malloc(1 << 20);
    const size_t n = fread(p, 1, 1 << 20, f);
    fclose(f);
    return (struct bj_slice){p, n};
}

struct log {
    struct bj_buf jobs, bad;
    int (*on_job)(struct log *log, const struct bj_sched_job *job);
    int stop; /* result of the callback, if not 0 */
};

static inline void put_num(struct bj_buf *b, uint64_t v)
{
    if (v == BJ_ABSENT)
        bj_buf_str(b, "-|");
    else
        bj_buf_printf(b, "%llu|", (unsigned long long)v);
}

static inline void put_text(struct bj_buf *b, struct bj_slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 32)
            bj_buf_printf(b, "\\x%02x", (unsigned char)s.p[i]);
        else
            bj_buf_put(b, s.p + i, 1);
    bj_buf_str(b, "|");
}

static inline void put_nums(struct bj_buf *b, const uint64_t *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put_num(b, v[i]);
}

static inline uint64_t in_ms(uint64_t usec)
{
    return usec == BJ_ABSENT ? usec : usec / 1000;
}

/* The CPU time of a job in milliseconds, as the sum of its steps, which sacct
 * cuts to milliseconds. */
static inline uint64_t cpu_ms(const struct bj_sched_job *j)
{
    uint64_t usec = 0, ms = 0;
    if (j->use.cpu_usec == BJ_ABSENT || j->steps == 0)
        return in_ms(j->use.cpu_usec);
    for (unsigned i = 0; i < j->steps; i++) {
        usec += j->step[i].use.cpu_usec;
        ms += in_ms(j->step[i].use.cpu_usec);
    }
    return usec == j->use.cpu_usec ? ms : in_ms(j->use.cpu_usec);
}

static inline void put_step(struct bj_buf *b, const struct bj_job_step *s)
{
    bj_buf_str(b, "|");
    put_text(b, s->step_id);
    put_text(b, s->name);
    put_text(b, bj_slice_str(bj_state_name(s->state)));
    const uint64_t v[] = {s->start_sec,     s->end_sec, s->elapsed_sec,
                          s->suspended_sec, s->tasks,   s->nodes};
    put_nums(b, v, COUNT(v));
    put_text(b, s->nodelist);
    const uint64_t u[] = {in_ms(s->use.cpu_usec), s->use.mem_peak_bytes,
                          s->use.read_bytes};
    put_nums(b, u, COUNT(u));
    b->p[b->len - 1] = '\n';
}

/* Writes the lines that tests/fixtures/sched/golden.py makes of Slurm's
 * JSON. */
static inline int put_job(void *ctx, const struct bj_sched_job *j,
                          struct bj_err *err)
{
    struct log *log = ctx;
    struct bj_buf *b = &log->jobs;
    (void)err;
    put_text(b, j->jobid);
    const uint64_t ids[] = {j->array_job, j->array_task, j->het_job,
                            j->het_offset};
    put_nums(b, ids, COUNT(ids));
    const struct bj_slice texts[] = {
        j->name,    j->comment,
        j->user,    j->group,
        j->account, j->partition,
        j->qos,     bj_slice_str(bj_state_name(j->state))};
    for (size_t i = 0; i < COUNT(texts); i++)
        put_text(b, texts[i]);
    const uint64_t times[] = {
        j->submit_sec,  j->eligible_sec,  j->start_sec,     j->end_sec,
        j->elapsed_sec, j->suspended_sec, j->time_limit_sec};
    put_nums(b, times, COUNT(times));
    put_text(b, j->nodelist);
    const bool some = j->tres_allocated.n > 0;
    const uint64_t with[] = {some ? j->cpus : BJ_ABSENT,
                             some ? j->nodes : BJ_ABSENT,
                             some ? j->mem_allocated_bytes >> 20 : BJ_ABSENT,
                             j->priority, cpu_ms(j)};
    put_nums(b, with, COUNT(with));
    put_text(b, j->work_dir);
    put_text(b, j->cluster);
    b->p[b->len - 1] = '\n';
    for (unsigned i = 0; i < j->steps; i++)
        put_step(b, &j->step[i]);
    return log->on_job ? log->on_job(log, j) : log->stop;
}

static inline void same_text(const struct bj_buf *have, struct bj_slice want)
{
    const struct bj_slice got = {have->len ? have->p : NULL, have->len};
    if (bj_slice_eq(got, want))
        return;
    size_t i = 0;
    while (i < got.n && i < want.n && got.p[i] == want.p[i])
        i++;
    const size_t g = got.n - i, w = want.n - i;
    fail_msg("at byte %zu:\n%.*s\nwanted:\n%.*s", i, (int)(g < 300 ? g : 300),
             g ? got.p + i : "", (int)(w < 300 ? w : 300), w ? want.p + i : "");
}

#endif

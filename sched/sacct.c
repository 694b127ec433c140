#include "sched/sacct.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/grow.h"
#include "sched/sacct_column.h"
#include "sched/sacct_cut.h"
#include "sched/step_sum.h"

#include <errno.h>
#include <stdlib.h>

enum {
    PIECE = 64 << 10, /* bytes copied from the caller at a time */
    STEPS_MAX = 1000, /* defaults */
    RECORD_MAX = 1 << 20,
    NO_COLUMN = 0xffff,
};

_Static_assert((int)BJ_SACCT_DELIMITER_MAX <= (int)BJ_CUT_DELIMITER_MAX,
               "a piece fits");

/* A known column of the text. */
struct planned {
    const struct bj_sacct_column *column;
    uint16_t at; /* index of its field in a line */
    uint16_t to; /* offset in the row */
};

struct bj_sacct {
    struct bj_sacct_conf conf;
    struct bj_cut cut;
    struct bj_sacct_counts counts;
    struct bj_err failed; /* code 0: none */

    struct bj_buf header;
    struct bj_cut_field name[BJ_CUT_COLUMNS_MAX]; /* in header */
    uint16_t raw_at, id_at;                       /* NO_COLUMN */
    struct planned *job_plan, *step_plan;
    unsigned job_plan_n, step_plan_n;

    bool have_job;
    struct bj_sacct_job_row job; /* its text is in job_text */
    struct bj_buf job_text;
    struct bj_step_sum step_sum; /* over its steps */
    struct bj_job_step *step;
    unsigned steps;
    size_t steps_cap;
    struct bj_arena step_text;
};

/* --- reports --------------------------------------------------------------*/

static void report(struct bj_sacct *r, struct bj_sacct_bad bad)
{
    if (bad.line_left_out)
        r->counts.bad_lines++;
    else
        r->counts.bad_fields++;
    bad.line = r->cut.line;
    if (r->conf.bad)
        r->conf.bad(r->conf.ctx, &bad);
}

static void bad_line(struct bj_sacct *r, struct bj_slice value,
                     const char *expected)
{
    report(r, (struct bj_sacct_bad){
                  .value = value, .expected = expected, .line_left_out = true});
}

/* --- jobs -----------------------------------------------------------------*/

static int hand_over(struct bj_sacct *r, struct bj_err *err)
{
    if (!r->have_job)
        return 0;
    r->have_job = false;
    bj_step_sum_end(&r->step_sum, &r->job.job);
    r->job.job.step = r->steps ? r->step : NULL;
    r->job.job.steps = r->steps;
    r->counts.jobs++;
    return r->conf.job(r->conf.ctx, &r->job.job, err);
}

/* --- rows -----------------------------------------------------------------*/

/* Read the known columns of a record into a row. */
static void read_row(struct bj_sacct *r, const char *record, void *row,
                     const struct planned *plan, unsigned n)
{
    for (const struct planned *p = plan; p < plan + n; p++) {
        const struct bj_cut_field *f = &r->cut.field[p->at];
        if (f->n == 0)
            continue;
        void *to = (char *)row + p->to;
        if ((p->column->flags & BJ_SACCT_SPARE) &&
            *(const uint64_t *)to != BJ_ABSENT)
            continue;
        const struct bj_slice s = {record + f->at, f->n};
        if (p->column->parse(s, to) < 0)
            report(r, (struct bj_sacct_bad){.job = r->job.job.jobid,
                                            .field = p->column->name,
                                            .value = s,
                                            .expected = p->column->expected});
    }
}

static int read_job(struct bj_sacct *r, const char *record, size_t len,
                    struct bj_err *err)
{
    struct bj_sched_job *job = &r->job.job;
    r->job_text.len = 0;
    bj_buf_put(&r->job_text, record, len);
    if (r->job_text.failed)
        return bj_err_set(err, -ENOMEM, "sacct: no memory for a job");
    const char *text = r->job_text.p;
    bj_sched_job_init(job);
    r->job.req_mem = r->job.job_id = (struct bj_slice){NULL, 0};
    job->batch_system = BJ_SLICE("slurm");
    job->cluster = r->conf.cluster;
    job->jobid = bj_cut_field(&r->cut, text, r->raw_at);
    if (r->id_at != NO_COLUMN)
        r->job.job_id = bj_cut_field(&r->cut, text, r->id_at);
    read_row(r, text, &r->job, r->job_plan, r->job_plan_n);
    bj_sacct_settle_job(&r->job);
    bj_step_sum_begin(&r->step_sum);
    r->steps = 0;
    bj_arena_reset(&r->step_text);
    r->have_job = true;
    return 0;
}

static int read_step(struct bj_sacct *r, const char *record, size_t len,
                     size_t dot, struct bj_err *err)
{
    struct bj_sacct_step_row row = {.usage_in_max = {NULL, 0}};
    const bool kept = r->steps < r->conf.max_steps;
    if (kept) {
        const struct bj_slice all = {record, len};
        record = bj_arena_copy(&r->step_text, all).p;
        if (r->step_text.failed ||
            !BJ_GROW(r->step, r->steps + 1u, r->steps_cap))
            return bj_err_set(err, -ENOMEM, "sacct: no memory for a step");
    }
    bj_job_step_init(&row.step);
    const struct bj_slice id = bj_cut_field(&r->cut, record, r->raw_at);
    row.step.step_id = (struct bj_slice){id.p + dot + 1, id.n - dot - 1};
    read_row(r, record, &row, r->step_plan, r->step_plan_n);
    bj_sacct_settle_step(&row);
    bj_step_sum_add(&r->step_sum, &row.step);
    if (kept)
        r->step[r->steps++] = row.step;
    else
        r->job.job.steps_left_out++;
    r->counts.steps++;
    return 0;
}

/* --- the header -----------------------------------------------------------*/

static struct bj_slice name_of(const struct bj_sacct *r, unsigned i)
{
    const struct bj_cut_field *f = &r->name[i];
    return (struct bj_slice){f->n > 0 ? r->header.p + f->at : NULL, f->n};
}

/* The index of the field of that name; NO_COLUMN: none. */
static uint16_t column_at(const struct bj_sacct *r, struct bj_slice name)
{
    for (unsigned i = 0; i < r->cut.columns; i++)
        if (bj_slice_eq(name_of(r, i), name))
            return (uint16_t)i;
    return NO_COLUMN;
}

static void plan(struct bj_sacct *r, const struct bj_sacct_column *c)
{
    const uint16_t at = column_at(r, c->name);
    if (at == NO_COLUMN)
        return;
    if (c->job != BJ_SACCT_NOWHERE)
        r->job_plan[r->job_plan_n++] = (struct planned){c, at, c->job};
    if (c->step != BJ_SACCT_NOWHERE)
        r->step_plan[r->step_plan_n++] = (struct planned){c, at, c->step};
}

static int read_header(struct bj_sacct *r, struct bj_err *err)
{
    const unsigned n = r->cut.fields;
    if (n > BJ_CUT_COLUMNS_MAX)
        return bj_err_set(err, -E2BIG, "sacct: more than %d columns",
                          BJ_CUT_COLUMNS_MAX);
    bj_buf_slice(&r->header, r->cut.record);
    r->job_plan = calloc(bj_sacct_columns_n, sizeof(*r->job_plan));
    r->step_plan = calloc(bj_sacct_columns_n, sizeof(*r->step_plan));
    if (r->header.failed || !r->job_plan || !r->step_plan)
        return bj_err_set(err, -ENOMEM, "sacct: no memory");
    memcpy(r->name, r->cut.field, n * sizeof(*r->name));
    r->cut.columns = n;
    r->id_at = column_at(r, BJ_SLICE("JobID"));
    r->raw_at = column_at(r, BJ_SLICE("JobIDRaw"));
    if (r->raw_at == NO_COLUMN)
        r->raw_at = r->id_at;
    if (r->raw_at == NO_COLUMN)
        return bj_err_set(err, -EINVAL,
                          "sacct: line 1 is not a header with JobIDRaw");
    r->cut.id_first = r->raw_at == 0 || r->id_at == 0;
    for (unsigned i = 0; i < bj_sacct_columns_n; i++)
        plan(r, &bj_sacct_columns[i]);
    return 0;
}

/* A record with the right number of fields. */
static int read_record(struct bj_sacct *r, const char *record, size_t len,
                       struct bj_err *err)
{
    const struct bj_slice id = bj_cut_field(&r->cut, record, r->raw_at);
    const char *dot = id.n > 0 ? memchr(id.p, '.', id.n) : NULL;
    if (id.n == 0 || (unsigned char)(id.p[0] - '0') > 9) {
        report(r, (struct bj_sacct_bad){.field = name_of(r, r->raw_at),
                                        .value = id,
                                        .expected = "a job id",
                                        .line_left_out = true});
        return 0;
    }
    if (!dot) {
        int e = hand_over(r, err);
        return e < 0 ? e : read_job(r, record, len, err);
    }
    const struct bj_slice job = {id.p, (size_t)(dot - id.p)};
    if (!r->have_job || !bj_slice_eq(job, r->job.job.jobid)) {
        bad_line(r, id, "a step after the line of its job");
        return 0;
    }
    return read_step(r, record, len, job.n, err);
}

static int take(struct bj_sacct *r, struct bj_err *err)
{
    for (;;) {
        int e = 0;
        const enum bj_cut_found found = bj_cut_next(&r->cut);
        if (found == BJ_CUT_MORE)
            return 0;
        if (found == BJ_CUT_BAD)
            bad_line(r, r->cut.record, r->cut.expected);
        else if (r->cut.columns == 0)
            e = read_header(r, err);
        else
            e = read_record(r, r->cut.record.p, r->cut.record.n, err);
        if (e < 0)
            return e;
    }
}

/* --- calls ----------------------------------------------------------------*/

/* Return why the reading ended, if it did. */
static int fail(const struct bj_sacct *r, struct bj_err *err)
{
    if (err && r->failed.code < 0)
        *err = r->failed;
    return r->failed.code < 0 ? r->failed.code : 0;
}

int bj_sacct_new(const struct bj_sacct_conf *conf, struct bj_sacct **ret,
                 struct bj_err *err)
{
    const struct bj_slice d =
        conf->delimiter.n > 0 ? conf->delimiter : BJ_SLICE("|");
    if (!conf->job || d.n > BJ_SACCT_DELIMITER_MAX || memchr(d.p, '\n', d.n))
        return bj_err_set(err, -EINVAL, "sacct: bad delimiter");
    struct bj_sacct *r = calloc(1, sizeof(*r));
    if (!r)
        return bj_err_set(err, -ENOMEM, "sacct: no memory");
    r->conf = *conf;
    memcpy(r->cut.delimiter, d.p, d.n);
    r->cut.delimiter_n = d.n;
    r->cut.max_record = conf->max_record;
    if (r->cut.max_record == 0 || r->cut.max_record > INT32_MAX)
        r->cut.max_record = RECORD_MAX;
    if (r->conf.max_steps == 0)
        r->conf.max_steps = STEPS_MAX;
    r->raw_at = r->id_at = NO_COLUMN;
    *ret = r;
    return 0;
}

int bj_sacct_feed(struct bj_sacct *r, struct bj_slice piece, struct bj_err *err)
{
    struct bj_err own = {0};
    int e = 0;
    if (r->failed.code < 0)
        return fail(r, err);
    while (piece.n > 0 && e == 0) {
        const size_t n = piece.n < PIECE ? piece.n : PIECE;
        r->counts.bytes += n;
        if (bj_cut_put(&r->cut, (struct bj_slice){piece.p, n}))
            e = take(r, &own);
        else
            e = bj_err_set(&own, -ENOMEM, "sacct: no memory");
        piece.p += n;
        piece.n -= n;
    }
    r->counts.lines = r->cut.lines;
    if (e < 0) {
        own.code = e;
        r->failed = own;
    }
    return fail(r, err);
}

int bj_sacct_end(struct bj_sacct *r, bool complete, struct bj_err *err)
{
    if (r->failed.code < 0)
        return fail(r, err);
    const struct bj_slice rest = bj_cut_rest(&r->cut);
    if (rest.n > 0 || r->cut.skipping) {
        bad_line(r, rest, "a newline at the end");
        complete = false;
    }
    if (complete) {
        struct bj_err own = {0};
        own.code = hand_over(r, &own);
        r->failed = own;
    }
    return fail(r, err);
}

const struct bj_sacct_counts *bj_sacct_counts(const struct bj_sacct *r)
{
    return &r->counts;
}

void bj_sacct_counts_add(struct bj_sacct_counts *to,
                         const struct bj_sacct_counts *more)
{
    to->bytes += more->bytes;
    to->lines += more->lines;
    to->jobs += more->jobs;
    to->steps += more->steps;
    to->bad_lines += more->bad_lines;
    to->bad_fields += more->bad_fields;
}

void bj_sacct_free(struct bj_sacct *r)
{
    if (!r)
        return;
    bj_cut_free(&r->cut);
    bj_buf_free(&r->header);
    bj_buf_free(&r->job_text);
    bj_arena_free(&r->step_text);
    free(r->job_plan);
    free(r->step_plan);
    free(r->step);
    free(r);
}

#include "sched/sacct.h"

#include "base/arena.h"
#include "base/buf.h"
#include "sched/sacct_column.h"

#include <errno.h>
#include <stdlib.h>

enum {
    PIECE = 64 << 10, /* bytes taken from the caller at a time */
    STEPS_MAX = 1000, /* defaults */
    RECORD_MAX = 1 << 20,
    COLUMN_ID = 0xfffe, /* no such column in the text */
};

/* A column of the text that we know. */
struct planned {
    const struct bj_sacct_column *column;
    uint16_t at; /* which field of a line */
    uint16_t to; /* offset in the row */
};

struct field {
    uint32_t at, n; /* bytes in the record */
};

/* The record being cut into fields; offsets, since the buffer moves. */
struct cut {
    size_t searched;   /* no newline before this */
    size_t done;       /* cut up to here: where the line at hand begins */
    size_t open;       /* where the field at hand begins */
    unsigned n;        /* fields cut so far */
    uint64_t newlines; /* within the record */
};

struct bj_sacct {
    struct bj_sacct_conf conf;
    char delimiter[BJ_SACCT_DELIMITER_MAX];
    struct bj_sacct_counts counts;
    struct bj_err failed; /* code 0: none */

    struct bj_buf buf; /* what is not understood yet */
    uint64_t line;     /* of what the buffer begins with, from 1 */
    struct cut cut;
    bool skipping; /* the rest of a line that is too long */

    unsigned columns; /* 0: no header yet */
    uint16_t raw_at, id_at;
    struct bj_buf header;
    struct field name[BJ_SACCT_COLUMNS_MAX];  /* in header */
    struct field field[BJ_SACCT_COLUMNS_MAX]; /* of the record at hand */
    struct planned *job_plan, *step_plan;
    unsigned job_plan_n, step_plan_n;

    bool have_job;
    struct bj_sacct_job_row job; /* its text lies in job_text */
    struct bj_buf job_text;
    struct bj_job_use sum; /* over the steps of the job */
    uint64_t energy[3];    /* extern, batch, numbered steps */
    struct bj_job_step *step;
    unsigned steps, steps_cap;
    struct bj_arena step_text;
};

/* --- reports --------------------------------------------------------------*/

static struct bj_slice field_of(const struct bj_sacct *r, const char *record,
                                unsigned i)
{
    return (struct bj_slice){record + r->field[i].at, r->field[i].n};
}

static void report(struct bj_sacct *r, struct bj_sacct_bad bad)
{
    if (bad.line_left_out)
        r->counts.bad_lines++;
    else
        r->counts.bad_fields++;
    bad.line = r->line;
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

static void add(uint64_t *sum, uint64_t v)
{
    if (v == BJ_ABSENT)
        return;
    if (*sum == BJ_ABSENT)
        *sum = v;
    else if (__builtin_add_overflow(*sum, v, sum) || *sum == BJ_ABSENT)
        *sum = BJ_ABSENT - 1;
}

static void largest(uint64_t *max, uint64_t v)
{
    if (v != BJ_ABSENT && (*max == BJ_ABSENT || v > *max))
        *max = v;
}

static void fold_step(struct bj_sacct *r, const struct bj_job_step *step)
{
    const struct bj_job_use *use = &step->use;
    add(&r->sum.cpu_usec, use->cpu_usec);
    add(&r->sum.cpu_user_usec, use->cpu_user_usec);
    add(&r->sum.cpu_system_usec, use->cpu_system_usec);
    largest(&r->sum.mem_task_peak_bytes, use->mem_task_peak_bytes);
    largest(&r->sum.mem_peak_bytes, use->mem_peak_bytes);
    largest(&r->sum.vmem_peak_bytes, use->vmem_peak_bytes);
    add(&r->sum.read_bytes, use->read_bytes);
    add(&r->sum.write_bytes, use->write_bytes);
    const unsigned kind = bj_slice_eq(step->step_id, BJ_SLICE("extern"))  ? 0
                          : bj_slice_eq(step->step_id, BJ_SLICE("batch")) ? 1
                                                                          : 2;
    add(&r->energy[kind], use->energy_joules);
}

/* What the job's own row says counts, except where it says nothing.  Slurm
 * measures the energy of a step on whole nodes, so steps that run at the same
 * time all count it: the extern step has the whole job, the batch step its
 * first node, and sruns all nodes for a while.  Added up they would count twice
 * what each of them, or the sruns together, count once at most. */
static void fold_job(struct bj_sacct *r)
{
    struct bj_job_use *use = &r->job.job.use;
    const bool timed = use->cpu_usec != BJ_ABSENT && use->cpu_usec > 0;
    if (!timed && r->sum.cpu_usec != BJ_ABSENT) {
        use->cpu_usec = r->sum.cpu_usec;
        use->cpu_user_usec = r->sum.cpu_user_usec;
        use->cpu_system_usec = r->sum.cpu_system_usec;
    }
    use->mem_task_peak_bytes = r->sum.mem_task_peak_bytes;
    use->mem_peak_bytes = r->sum.mem_peak_bytes;
    use->vmem_peak_bytes = r->sum.vmem_peak_bytes;
    use->read_bytes = r->sum.read_bytes;
    use->write_bytes = r->sum.write_bytes;
    if (use->energy_joules == BJ_ABSENT)
        for (unsigned i = 0; i < 3; i++)
            largest(&use->energy_joules, r->energy[i]);
}

static int hand_over(struct bj_sacct *r, struct bj_err *err)
{
    if (!r->have_job)
        return 0;
    r->have_job = false;
    fold_job(r);
    r->job.job.step = r->steps ? r->step : NULL;
    r->job.job.steps = r->steps;
    r->counts.jobs++;
    return r->conf.job(r->conf.ctx, &r->job.job, err);
}

/* --- rows -----------------------------------------------------------------*/

/* Read the planned columns of a record into a row. */
static void read_row(struct bj_sacct *r, const char *record, void *row,
                     const struct planned *plan, unsigned n)
{
    for (const struct planned *p = plan; p < plan + n; p++) {
        const struct field *f = &r->field[p->at];
        if (f->n == 0)
            continue;
        void *to = (char *)row + p->to;
        if (p->column->spare && *(const uint64_t *)to != BJ_ABSENT)
            continue;
        const struct bj_slice s = {record + f->at, f->n};
        if (p->column->parse(s, to) < 0)
            report(r, (struct bj_sacct_bad){.job = r->job.job.raw_id,
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
    job->raw_id = field_of(r, text, r->raw_at);
    if (r->id_at != COLUMN_ID)
        r->job.job_id = field_of(r, text, r->id_at);
    read_row(r, text, &r->job, r->job_plan, r->job_plan_n);
    bj_sacct_settle_job(&r->job);
    bj_job_use_init(&r->sum);
    r->energy[0] = r->energy[1] = r->energy[2] = BJ_ABSENT;
    r->steps = 0;
    bj_arena_reset(&r->step_text);
    r->have_job = true;
    return 0;
}

static bool room_for_step(struct bj_sacct *r)
{
    if (r->steps < r->steps_cap)
        return true;
    const unsigned cap = r->steps_cap ? 2 * r->steps_cap : 16;
    struct bj_job_step *step = realloc(r->step, cap * sizeof(*step));
    if (!step)
        return false;
    r->step = step;
    r->steps_cap = cap;
    return true;
}

static int read_step(struct bj_sacct *r, const char *record, size_t len,
                     size_t dot, struct bj_err *err)
{
    struct bj_sacct_step_row row = {.usage_in_max = {NULL, 0}};
    const bool kept = r->steps < r->conf.max_steps;
    if (kept) {
        const struct bj_slice all = {record, len};
        record = bj_arena_copy(&r->step_text, all).p;
        if (r->step_text.failed || !room_for_step(r))
            return bj_err_set(err, -ENOMEM, "sacct: no memory for a step");
    }
    bj_job_step_init(&row.step);
    const struct bj_slice id = field_of(r, record, r->raw_at);
    row.step.step_id = (struct bj_slice){id.p + dot + 1, id.n - dot - 1};
    read_row(r, record, &row, r->step_plan, r->step_plan_n);
    bj_sacct_settle_step(&row);
    fold_step(r, &row.step);
    if (kept)
        r->step[r->steps++] = row.step;
    else
        r->job.job.steps_left_out++;
    r->counts.steps++;
    return 0;
}

/* A record of the right number of fields. */
static int read_record(struct bj_sacct *r, const char *record, size_t len,
                       struct bj_err *err)
{
    const struct bj_slice id = field_of(r, record, r->raw_at);
    const char *dot = id.n > 0 ? memchr(id.p, '.', id.n) : NULL;
    if (id.n == 0 || (unsigned char)(id.p[0] - '0') > 9) {
        report(r, (struct bj_sacct_bad){.field = field_of(r, r->header.p, 0),
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
    if (!r->have_job || !bj_slice_eq(job, r->job.job.raw_id)) {
        bad_line(r, id, "a step behind the line of its job");
        return 0;
    }
    return read_step(r, record, len, job.n, err);
}

/* --- the header -----------------------------------------------------------*/

/* The field of that name; COLUMN_ID when there is none. */
static uint16_t column_at(const struct bj_sacct *r, struct bj_slice name)
{
    for (unsigned i = 0; i < r->columns; i++) {
        const struct bj_slice have = {r->header.p + r->name[i].at,
                                      r->name[i].n};
        if (bj_slice_eq(have, name))
            return (uint16_t)i;
    }
    return COLUMN_ID;
}

static void plan(struct bj_sacct *r, const struct bj_sacct_column *c)
{
    const uint16_t at = column_at(r, c->name);
    if (at == COLUMN_ID)
        return;
    if (c->job != BJ_SACCT_NOWHERE)
        r->job_plan[r->job_plan_n++] = (struct planned){c, at, c->job};
    if (c->step != BJ_SACCT_NOWHERE)
        r->step_plan[r->step_plan_n++] = (struct planned){c, at, c->step};
}

static int read_header(struct bj_sacct *r, const char *line, size_t len,
                       struct bj_err *err)
{
    bj_buf_put(&r->header, line, len);
    r->job_plan = calloc(bj_sacct_columns_n, sizeof(*r->job_plan));
    r->step_plan = calloc(bj_sacct_columns_n, sizeof(*r->step_plan));
    if (r->header.failed || !r->job_plan || !r->step_plan)
        return bj_err_set(err, -ENOMEM, "sacct: no memory");
    r->columns = r->cut.n;
    memcpy(r->name, r->field, r->columns * sizeof(*r->name));
    r->id_at = column_at(r, BJ_SACCT_JOBID);
    r->raw_at = column_at(r, BJ_SACCT_JOBIDRAW);
    if (r->raw_at == COLUMN_ID)
        r->raw_at = r->id_at;
    if (r->raw_at == COLUMN_ID)
        return bj_err_set(err, -EINVAL,
                          "sacct: line 1 is no header with JobIDRaw in it");
    for (unsigned i = 0; i < bj_sacct_columns_n; i++)
        plan(r, &bj_sacct_columns[i]);
    return 0;
}

/* --- records --------------------------------------------------------------*/

/* The next delimiter in p to end; end when there is none. */
static inline const char *find_delimiter(const struct bj_sacct *r,
                                         const char *p, const char *end)
{
    const size_t n = r->conf.delimiter.n;
    while ((p = memchr(p, r->delimiter[0], (size_t)(end - p)))) {
        if (n == 1 || ((size_t)(end - p) >= n &&
                       memcmp(p + 1, r->delimiter + 1, n - 1) == 0))
            return p;
        p++;
    }
    return end;
}

static void close_field(struct bj_sacct *r, size_t end)
{
    struct cut *c = &r->cut;
    if (c->n < BJ_SACCT_COLUMNS_MAX)
        r->field[c->n] =
            (struct field){(uint32_t)c->open, (uint32_t)(end - c->open)};
    c->n++;
}

/* Cut the line up to newline into fields, behind those of the lines before. */
static void cut_line(struct bj_sacct *r, const char *record, size_t newline)
{
    const char *p = record + r->cut.done;
    const char *const end = record + newline;
    while ((p = find_delimiter(r, p, end)) < end) {
        close_field(r, (size_t)(p - record));
        p += r->conf.delimiter.n;
        r->cut.open = (size_t)(p - record);
    }
}

/* How many fields a line has on its own, if it begins like a record. */
static unsigned fields_alone(const struct bj_sacct *r, struct bj_slice line)
{
    const struct bj_slice d = r->conf.delimiter;
    struct bj_slice rest = line;
    uint64_t id;
    if ((r->raw_at != 0 && r->id_at != 0) || !bj_slice_number(&rest, &id))
        return 0;
    const char *end = line.p + line.n;
    unsigned n = 1;
    for (const char *p = line.p; (p = find_delimiter(r, p, end)) < end; n++) {
        /* the first field holds an id and nothing else */
        if (n == 1 && (memchr(line.p, ' ', (size_t)(p - line.p))))
            return 0;
        p += d.n;
    }
    return n;
}

/* Drop n bytes, which hold so many newlines, off the front of the buffer at
 * *at. */
static void next_record(struct bj_sacct *r, size_t *at, size_t n)
{
    r->line += r->cut.newlines;
    r->counts.lines += r->cut.newlines;
    *at += n;
    r->cut = (struct cut){.searched = 0};
}

/* The record has no end that fits: leave it out up to the line that begins at
 * record + line_at, or with that line where it cannot be one of its own. */
static void leave_out(struct bj_sacct *r, size_t *at, const char *record,
                      size_t line_at, size_t newline)
{
    bad_line(r, (struct bj_slice){record, newline},
             "as many fields as columns");
    const struct bj_slice last = {record + line_at, newline - line_at};
    if (line_at > 0 && fields_alone(r, last) == r->columns) {
        next_record(r, at, line_at);
        return;
    }
    r->cut.newlines++;
    next_record(r, at, newline + 1);
}

/* The line from cut.done to newline is complete: go on with its record. */
static int take_line(struct bj_sacct *r, size_t *at, const char *record,
                     size_t newline, struct bj_err *err)
{
    const size_t line_at = r->cut.done;
    const unsigned before = r->cut.n;
    if (r->columns && line_at > 0 && before > 0) {
        const struct bj_slice line = {record + line_at, newline - line_at};
        if (fields_alone(r, line) == r->columns) {
            leave_out(r, at, record, line_at, newline);
            return 0;
        }
    }
    cut_line(r, record, newline);
    if (r->columns && r->cut.n + 1 < r->columns) { /* it goes on */
        r->cut.done = newline + 1;
        r->cut.newlines++;
        return 0;
    }
    close_field(r, newline);
    if (r->cut.n > BJ_SACCT_COLUMNS_MAX && !r->columns)
        return bj_err_set(err, -E2BIG, "sacct: more than %d columns",
                          BJ_SACCT_COLUMNS_MAX);
    if (r->columns && r->cut.n != r->columns) {
        leave_out(r, at, record, line_at, newline);
        return 0;
    }
    int e = r->columns ? read_record(r, record, newline, err)
                       : read_header(r, record, newline, err);
    r->cut.newlines++;
    next_record(r, at, newline + 1);
    return e;
}

/* Pass over the rest of a record that was too long. */
static bool skip_line(struct bj_sacct *r, size_t *at)
{
    const char *p = r->buf.p + *at;
    const char *nl = memchr(p, '\n', r->buf.len - *at);
    if (!nl) {
        *at = r->buf.len;
        return false;
    }
    r->skipping = false;
    r->cut.newlines = 1;
    next_record(r, at, (size_t)(nl - p) + 1);
    return true;
}

static int take_buffer(struct bj_sacct *r, struct bj_err *err)
{
    size_t at = 0;
    int e = 0;
    while (e == 0 && at < r->buf.len) {
        if (r->skipping && !skip_line(r, &at))
            break;
        const char *record = r->buf.p + at;
        const size_t n = r->buf.len - at;
        const char *nl = n > r->cut.searched ? memchr(record + r->cut.searched,
                                                      '\n', n - r->cut.searched)
                                             : NULL;
        const size_t newline = nl ? (size_t)(nl - record) : n;
        if (newline > r->conf.max_record) {
            bad_line(r, (struct bj_slice){record, r->conf.max_record},
                     "a line of fewer bytes");
            next_record(r, &at, r->cut.done);
            r->skipping = true;
            continue;
        }
        if (!nl) {
            r->cut.searched = n;
            break;
        }
        r->cut.searched = newline + 1;
        e = take_line(r, &at, record, newline, err);
    }
    r->buf.len -= at;
    memmove(r->buf.p, r->buf.p + at, r->buf.len);
    return e;
}

/* --- calls ----------------------------------------------------------------*/

static int fail(struct bj_sacct *r, int code, struct bj_err *err)
{
    if (r->failed.code == 0 && code < 0) {
        if (err)
            r->failed = *err;
        r->failed.code = code;
    } else if (err && r->failed.code < 0) {
        *err = r->failed;
    }
    return r->failed.code;
}

int bj_sacct_new(const struct bj_sacct_conf *conf, struct bj_sacct **ret,
                 struct bj_err *err)
{
    const struct bj_slice d =
        conf->delimiter.n > 0 ? conf->delimiter : BJ_SLICE("|");
    if (!conf->job || d.n > BJ_SACCT_DELIMITER_MAX || memchr(d.p, '\n', d.n))
        return bj_err_set(err, -EINVAL, "sacct: no such delimiter");
    struct bj_sacct *r = calloc(1, sizeof(*r));
    if (!r)
        return bj_err_set(err, -ENOMEM, "sacct: no memory");
    r->conf = *conf;
    memcpy(r->delimiter, d.p, d.n);
    r->conf.delimiter = (struct bj_slice){r->delimiter, d.n};
    if (r->conf.max_steps == 0)
        r->conf.max_steps = STEPS_MAX;
    if (r->conf.max_record == 0 || r->conf.max_record > INT32_MAX)
        r->conf.max_record = RECORD_MAX;
    r->line = 1;
    *ret = r;
    return 0;
}

int bj_sacct_feed(struct bj_sacct *r, struct bj_slice piece, struct bj_err *err)
{
    struct bj_err own = {0};
    if (r->failed.code < 0)
        return fail(r, 0, err);
    r->counts.bytes += piece.n;
    while (piece.n > 0) {
        const size_t n = piece.n < PIECE ? piece.n : PIECE;
        bj_buf_put(&r->buf, piece.p, n);
        piece.p += n;
        piece.n -= n;
        int e = r->buf.failed ? bj_err_set(&own, -ENOMEM, "sacct: no memory")
                              : take_buffer(r, &own);
        if (e < 0) {
            if (err)
                *err = own;
            return fail(r, e, &own);
        }
    }
    return 0;
}

int bj_sacct_end(struct bj_sacct *r, bool complete, struct bj_err *err)
{
    struct bj_err own = {0};
    if (r->failed.code < 0)
        return fail(r, 0, err);
    if (r->buf.len > 0 || r->skipping) {
        bad_line(r, (struct bj_slice){r->buf.p, r->buf.len},
                 "a newline at the end");
        complete = false;
    }
    r->buf.len = 0;
    int e = complete ? hand_over(r, &own) : 0;
    if (e < 0 && err)
        *err = own;
    return e < 0 ? fail(r, e, &own) : 0;
}

const struct bj_sacct_counts *bj_sacct_counts(const struct bj_sacct *r)
{
    return &r->counts;
}

bool bj_sacct_has(const struct bj_sacct *r, struct bj_slice column)
{
    return column_at(r, column) != COLUMN_ID;
}

void bj_sacct_free(struct bj_sacct *r)
{
    if (!r)
        return;
    bj_buf_free(&r->buf);
    bj_buf_free(&r->header);
    bj_buf_free(&r->job_text);
    bj_arena_free(&r->step_text);
    free(r->job_plan);
    free(r->step_plan);
    free(r->step);
    free(r);
}

#include "sched/sacct.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/slice.h"
#include "base/stamp.h"
#include "sched/job.h"
#include "sched/sacct_column.h"
#include "sched/value.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

int bj_sacct_delimiter(char buf[static BJ_SACCT_DELIMITER + 1])
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz0123456789+-";
    unsigned char chance[BJ_SACCT_DELIMITER - 1];
    ssize_t n;
    do
        n = getrandom(chance, sizeof(chance), 0);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof(chance))
        return n < 0 ? -errno : -EAGAIN;
    buf[0] = '\x1f';
    for (unsigned i = 0; i < sizeof(chance); i++)
        buf[i + 1] = letters[chance[i] % 64];
    buf[BJ_SACCT_DELIMITER] = '\0';
    return 0;
}

/* Columns added after Slurm 20.11. */
static const struct bj_slice later[] = {
    BJ_WORD("SLUID"),         BJ_WORD("Restarts"),   BJ_WORD("SubmitLine"),
    BJ_WORD("SystemComment"), BJ_WORD("Container"),  BJ_WORD("Licenses"),
    BJ_WORD("OriginalSLUID"), BJ_WORD("FailedNode"), BJ_WORD("StdOut"),
    BJ_WORD("StdErr"),
};

static bool is_later(struct bj_slice name)
{
    for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++)
        if (bj_slice_eq(name, later[i]))
            return true;
    return false;
}

/* helpformat lists the names in columns, separated by blanks. */
static bool is_offered(struct bj_slice helpformat, struct bj_slice name)
{
    struct bj_slice word;
    if (helpformat.n == 0)
        return !is_later(name);
    while (bj_slice_word(&helpformat, &word))
        if (bj_slice_eq(word, name))
            return true;
    return false;
}

/* JobIDRaw first and JobID last: neither contains free text, so both ends of a
 * record are certain. */
static void put_format(struct bj_buf *b, const struct bj_sacct_query *query)
{
    bj_buf_str(b, "--format=JobIDRaw");
    for (unsigned i = 0; i < bj_sacct_columns_n; i++) {
        const struct bj_sacct_column *c = &bj_sacct_columns[i];
        const bool again =
            i > 0 && bj_slice_eq(c->name, bj_sacct_columns[i - 1].name);
        const bool step_only = c->job == BJ_SACCT_NOWHERE;
        if (c->flags || again || (query->jobs_only && step_only) ||
            !is_offered(query->helpformat, c->name))
            continue;
        bj_buf_str(b, ",");
        bj_buf_slice(b, c->name);
    }
    bj_buf_str(b, ",JobID");
}

/* The option and the time without its "Z": sacct takes local time, and TZ makes
 * that UTC. */
static void sacct_put_time(struct bj_buf *b, const char *option, uint64_t sec)
{
    char text[BJ_STAMP_MAX];
    bj_stamp_text((int64_t)sec * 1000000, 0, 0, text);
    bj_buf_str(b, option);
    bj_buf_put(b, text, sizeof("2026-11-20T15:04:05") - 1);
}

static bool is_cluster_list(const char *s)
{
    for (; *s; s++)
        if (!((*s | 32) >= 'a' && (*s | 32) <= 'z') &&
            !(*s >= '0' && *s <= '9') && !strchr("_-.,", *s))
            return false;
    return true;
}

static int sacct_check(const struct bj_sacct_query *query, struct bj_err *err)
{
    if (query->start_sec == 0 || query->end_sec < query->start_sec ||
        query->end_sec > INT64_MAX / 1000000)
        return bj_err_set(
            err, -EINVAL,
            "sacct: start and end of the window: expected start before end");
    if (!query->delimiter || !query->delimiter[0])
        return bj_err_set(err, -EINVAL, "sacct: no delimiter");
    if (query->clusters && !is_cluster_list(query->clusters))
        return bj_err_set(err, -EINVAL, "sacct: bad cluster name '%s'",
                          query->clusters);
    return 0;
}

enum { ARGS = 16 };

/* A list of texts in an arena. */
struct list {
    struct bj_arena *arena;
    struct bj_buf text; /* being written */
    const char **v;
    unsigned n;
};

static void sacct_put(struct list *l)
{
    l->v[l->n++] =
        bj_arena_copy(l->arena, (struct bj_slice){l->text.p, l->text.len}).p;
    l->text.len = 0;
}

static void put_str(struct list *l, const char *a, const char *b)
{
    bj_buf_str(&l->text, a);
    bj_buf_str(&l->text, b);
    sacct_put(l);
}

static void put_args(struct list *l, const struct bj_sacct_query *query)
{
    put_str(l, query->sacct ? query->sacct : "sacct", "");
    put_str(l, "--allusers", "");
    put_str(l, "--duplicates", "");
    put_str(l, "--noconvert", "");
    put_str(l, "--parsable2", "");
    put_str(l, "--delimiter=", query->delimiter);
    if (query->jobs_only)
        put_str(l, "--allocations", "");
    if (query->federation)
        put_str(l, "--federation", "");
    if (query->clusters)
        put_str(l, "--clusters=", query->clusters);
    for (size_t i = 0; i < query->jobs; i++)
        bj_buf_printf(&l->text, "%s%llu",
                      i ? "," : "--jobs=", (unsigned long long)query->job[i]);
    if (query->jobs > 0)
        sacct_put(l);
    sacct_put_time(&l->text, "--starttime=", query->start_sec);
    sacct_put(l);
    sacct_put_time(&l->text, "--endtime=", query->end_sec);
    sacct_put(l);
    put_format(&l->text, query);
    sacct_put(l);
}

static void put_env(struct list *l, const struct bj_sacct_query *query)
{
    put_str(l, "SLURM_TIME_FORMAT=%s", "");
    put_str(l, "SLURM_BITSTR_LEN=0",
            ""); /* print lists of array tasks in full */
    if (query->slurm_conf)
        put_str(l, "SLURM_CONF=", query->slurm_conf);
}

int bj_sacct_command(const struct bj_sacct_query *query, struct bj_arena *a,
                     const char *const **ret_argv, const char *const **ret_env,
                     struct bj_err *err)
{
    int r = sacct_check(query, err);
    if (r < 0)
        return r;
    struct list args = {.arena = a}, env = {.arena = a};
    args.v = bj_arena_alloc(a, ARGS * sizeof(*args.v));
    env.v = bj_arena_alloc(a, ARGS * sizeof(*env.v));
    if (args.v && env.v) {
        put_args(&args, query);
        put_env(&env, query);
    }
    const bool failed = a->failed || args.text.failed || env.text.failed;
    bj_buf_free(&args.text);
    bj_buf_free(&env.text);
    if (failed)
        return bj_err_set(err, -ENOMEM, "sacct: no memory");
    *ret_argv = args.v;
    *ret_env = env.v;
    return 0;
}

/* --- its output -----------------------------------------------------------*/

/* Splitting delimited text into records and fields.  Private to sched/sacct.
 *
 * A record ends at the newline after its last column; newlines before that are
 * part of their field.  Text without such an end is reported as bad and
 * skipped, up to a line that is a record of its own. */

enum {
    BJ_CUT_COLUMNS_MAX = 256,
    BJ_CUT_DELIMITER_MAX = 32,
};

struct cut_field {
    uint32_t at, n; /* bytes in the record */
};

/* Zero-initialise, set the first part; free with cut_free. */
struct bj_cut {
    char delimiter[BJ_CUT_DELIMITER_MAX];
    size_t delimiter_n; /* at least 1 */
    size_t max_record;  /* bytes; below 2^31 */
    unsigned columns; /* of each record; 0: the next line is the header and sets
                         the number */
    bool id_first;    /* the first column is an id: it begins with a number and
                         has no blanks; it identifies lines */

    /* The last record or bad text; valid until the next call. */
    struct bj_slice record; /* without its newline */
    const char *expected;   /* instead of bad text */
    unsigned fields;        /* of a header also beyond the maximum */
    struct cut_field field[BJ_CUT_COLUMNS_MAX];
    uint64_t line;  /* number of the first line of record, from 1 */
    uint64_t lines; /* returned so far */

    /* private */
    struct bj_buf buf;
    size_t at;         /* start of the current record in buf */
    size_t searched;   /* offsets from at: no newline before this; */
    size_t done;       /* split up to here, where a line begins; */
    size_t open;       /* start of the current field */
    size_t next;       /* start of the next record */
    uint64_t newlines; /* between at and next */
    bool skipping;     /* in the rest of a line that was too long */
};

/* The result of cut_next. */
enum bj_cut_found {
    BJ_CUT_MORE,   /* no complete record: put more */
    BJ_CUT_RECORD, /* see record, field */
    BJ_CUT_BAD,    /* see record (its start), expected */
};

static struct bj_slice cut_field(const struct bj_cut *c, const char *record,
                                 unsigned i)
{
    return (struct bj_slice){record + c->field[i].at, c->field[i].n};
}

/* Append a piece of the text.  False: no memory. */
static bool cut_put(struct bj_cut *c, struct bj_slice piece)
{
    if (c->at > 0) { /* drop the records before at */
        c->buf.len -= c->at;
        memmove(c->buf.p, c->buf.p + c->at, c->buf.len);
        c->next -= c->at;
        c->at = 0;
    }
    bj_buf_slice(&c->buf, piece);
    return !c->buf.failed;
}

/* A delimiter of n bytes begins at p. */
static bool is_delimiter(const struct bj_cut *c, const char *p, const char *end)
{
    const size_t n = c->delimiter_n;
    return n == 1 || ((size_t)(end - p) >= n &&
                      memcmp(p + 1, c->delimiter + 1, n - 1) == 0);
}

/* Split the bytes from from to to at delimiters, into as many fields as there
 * are slots.  Returns the number of fields so far; the one after the last
 * delimiter is not complete. */
static unsigned cut_fields(struct bj_cut *c, const char *record, size_t from,
                           size_t to)
{
    const char *const end = record + to;
    const char *open = record + c->open, *p = record + from;
    unsigned fields = c->fields;
    while (p < end && (p = memchr(p, c->delimiter[0], (size_t)(end - p)))) {
        if (p < open || !is_delimiter(c, p, end)) {
            p++;
            continue;
        }
        if (fields < BJ_CUT_COLUMNS_MAX)
            c->field[fields] = (struct cut_field){(uint32_t)(open - record),
                                                  (uint32_t)(p - open)};
        fields++;
        p += c->delimiter_n;
        open = p;
    }
    c->open = (size_t)(open - record);
    return fields;
}

/* The line begins like a record, and has the same number of fields. */
static bool is_record(const struct bj_cut *c, struct bj_slice line)
{
    struct bj_slice rest = line;
    const char *const end = line.p + line.n;
    uint64_t id;
    if (!c->id_first || !bj_slice_number(&rest, &id))
        return false;
    unsigned n = 1;
    for (const char *p = line.p; p < end;) {
        const char *hit = memchr(p, c->delimiter[0], (size_t)(end - p));
        if (!hit)
            break;
        const bool is = is_delimiter(c, hit, end);
        if (is && n++ == 1 && memchr(line.p, ' ', (size_t)(hit - line.p)))
            return false;
        p = hit + (is ? c->delimiter_n : 1);
    }
    return n == c->columns;
}

/* The record ends before the line at at + n. */
static void end_before(struct bj_cut *c, size_t n)
{
    c->next = c->at + n;
}

static enum bj_cut_found sacct_bad(struct bj_cut *c, size_t n,
                                   const char *expected)
{
    c->record = (struct bj_slice){c->buf.p + c->at, n};
    c->expected = expected;
    return BJ_CUT_BAD;
}

/* The line from done to newline.  BJ_CUT_MORE: the record continues. */
static enum bj_cut_found sacct_take_line(struct bj_cut *c, size_t newline)
{
    static const char expected[] = "as many fields as there are columns";
    const char *record = c->buf.p + c->at;
    const size_t line_at = c->done;
    const struct bj_slice line = {record + line_at, newline - line_at};
    if (line_at > 0 && is_record(c, line)) {
        /* the record before it was cut short */
        end_before(c, line_at);
        return sacct_bad(c, line_at - 1, expected);
    }
    c->newlines++;
    c->fields = cut_fields(c, record, line_at, newline);
    if (c->columns && c->fields + 1 < c->columns) {
        c->done = newline + 1;
        return BJ_CUT_MORE;
    }
    if (c->fields < BJ_CUT_COLUMNS_MAX)
        c->field[c->fields] = (struct cut_field){(uint32_t)c->open,
                                                 (uint32_t)(newline - c->open)};
    c->fields++;
    end_before(c, newline + 1);
    if (c->columns && c->fields != c->columns)
        return sacct_bad(c, newline, expected);
    c->record = (struct bj_slice){record, newline};
    return BJ_CUT_RECORD;
}

/* Continue after the last record. */
static void sacct_advance(struct bj_cut *c)
{
    if (c->next == c->at)
        return;
    c->line += c->newlines;
    c->lines += c->newlines;
    c->newlines = 0;
    c->at = c->next;
    c->fields = 0;
    c->searched = c->done = c->open = 0;
}

/* Skip the rest of a line; false when its end has not arrived. */
static bool skip_line(struct bj_cut *c)
{
    const size_t n = c->buf.len - c->at;
    if (n == 0)
        return false;
    const char *p = c->buf.p + c->at;
    const char *nl = memchr(p, '\n', n);
    end_before(c, nl ? (size_t)(nl - p) + 1 : n);
    c->newlines = nl ? 1 : 0;
    sacct_advance(c);
    c->skipping = !nl;
    return nl != NULL;
}

static enum bj_cut_found cut_next(struct bj_cut *c)
{
    if (c->line == 0)
        c->line = 1;
    sacct_advance(c);
    if (c->skipping && !skip_line(c))
        return BJ_CUT_MORE;
    enum bj_cut_found found = BJ_CUT_MORE;
    while (found == BJ_CUT_MORE && c->at < c->buf.len) {
        const char *record = c->buf.p + c->at;
        const size_t n = c->buf.len - c->at;
        const char *nl = n > c->searched ? memchr(record + c->searched, '\n',
                                                  n - c->searched)
                                         : NULL;
        const size_t newline = nl ? (size_t)(nl - record) : n;
        if (newline > c->max_record) {
            c->skipping = true;
            end_before(c, c->done);
            return sacct_bad(c, c->max_record, "a line of fewer bytes");
        }
        c->searched = nl ? newline + 1 : n;
        if (!nl)
            break;
        found = sacct_take_line(c, newline);
    }
    return found;
}

/* The rest at the end of the text: a line without its newline; empty when the
 * text ended with one. */
static struct bj_slice cut_rest(const struct bj_cut *c)
{
    if (c->buf.len == c->next)
        return (struct bj_slice){NULL, 0};
    return (struct bj_slice){c->buf.p + c->next, c->buf.len - c->next};
}

static void cut_free(struct bj_cut *c)
{
    bj_buf_free(&c->buf);
}

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
    struct cut_field name[BJ_CUT_COLUMNS_MAX]; /* in header */
    uint16_t raw_at, id_at;                    /* NO_COLUMN */
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

static void sacct_report(struct bj_sacct *r, struct bj_sacct_bad bad)
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
    sacct_report(r, (struct bj_sacct_bad){.value = value,
                                          .expected = expected,
                                          .line_left_out = true});
}

/* --- jobs -----------------------------------------------------------------*/

static int sacct_hand_over(struct bj_sacct *r, struct bj_err *err)
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
static void sacct_read_row(struct bj_sacct *r, const char *record, void *row,
                           const struct planned *plan, unsigned n)
{
    for (const struct planned *p = plan; p < plan + n; p++) {
        const struct cut_field *f = &r->cut.field[p->at];
        if (f->n == 0)
            continue;
        void *to = (char *)row + p->to;
        if ((p->column->flags & BJ_SACCT_SPARE) &&
            *(const uint64_t *)to != BJ_ABSENT)
            continue;
        const struct bj_slice s = {record + f->at, f->n};
        if (p->column->parse(s, to) < 0)
            sacct_report(
                r, (struct bj_sacct_bad){.job = r->job.job.jobid,
                                         .field = p->column->name,
                                         .value = s,
                                         .expected = p->column->expected});
    }
}

static int sacct_read_job(struct bj_sacct *r, const char *record, size_t len,
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
    job->jobid = cut_field(&r->cut, text, r->raw_at);
    if (r->id_at != NO_COLUMN)
        r->job.job_id = cut_field(&r->cut, text, r->id_at);
    sacct_read_row(r, text, &r->job, r->job_plan, r->job_plan_n);
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
    const struct bj_slice id = cut_field(&r->cut, record, r->raw_at);
    row.step.step_id = (struct bj_slice){id.p + dot + 1, id.n - dot - 1};
    sacct_read_row(r, record, &row, r->step_plan, r->step_plan_n);
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

static struct bj_slice sacct_name_of(const struct bj_sacct *r, unsigned i)
{
    const struct cut_field *f = &r->name[i];
    return (struct bj_slice){f->n > 0 ? r->header.p + f->at : NULL, f->n};
}

/* The index of the field of that name; NO_COLUMN: none. */
static uint16_t column_at(const struct bj_sacct *r, struct bj_slice name)
{
    for (unsigned i = 0; i < r->cut.columns; i++)
        if (bj_slice_eq(sacct_name_of(r, i), name))
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
    const struct bj_slice id = cut_field(&r->cut, record, r->raw_at);
    const char *dot = id.n > 0 ? memchr(id.p, '.', id.n) : NULL;
    if (id.n == 0 || (unsigned char)(id.p[0] - '0') > 9) {
        sacct_report(r,
                     (struct bj_sacct_bad){.field = sacct_name_of(r, r->raw_at),
                                           .value = id,
                                           .expected = "a job id",
                                           .line_left_out = true});
        return 0;
    }
    if (!dot) {
        int e = sacct_hand_over(r, err);
        return e < 0 ? e : sacct_read_job(r, record, len, err);
    }
    const struct bj_slice job = {id.p, (size_t)(dot - id.p)};
    if (!r->have_job || !bj_slice_eq(job, r->job.job.jobid)) {
        bad_line(r, id, "a step after the line of its job");
        return 0;
    }
    return read_step(r, record, len, job.n, err);
}

static int sacct_take(struct bj_sacct *r, struct bj_err *err)
{
    for (;;) {
        int e = 0;
        const enum bj_cut_found found = cut_next(&r->cut);
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
static int sacct_fail(const struct bj_sacct *r, struct bj_err *err)
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
        return sacct_fail(r, err);
    while (piece.n > 0 && e == 0) {
        const size_t n = piece.n < PIECE ? piece.n : PIECE;
        r->counts.bytes += n;
        if (cut_put(&r->cut, (struct bj_slice){piece.p, n}))
            e = sacct_take(r, &own);
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
    return sacct_fail(r, err);
}

int bj_sacct_end(struct bj_sacct *r, bool complete, struct bj_err *err)
{
    if (r->failed.code < 0)
        return sacct_fail(r, err);
    const struct bj_slice rest = cut_rest(&r->cut);
    if (rest.n > 0 || r->cut.skipping) {
        bad_line(r, rest, "a newline at the end");
        complete = false;
    }
    if (complete) {
        struct bj_err own = {0};
        own.code = sacct_hand_over(r, &own);
        r->failed = own;
    }
    return sacct_fail(r, err);
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
    cut_free(&r->cut);
    bj_buf_free(&r->header);
    bj_buf_free(&r->job_text);
    bj_arena_free(&r->step_text);
    free(r->job_plan);
    free(r->step_plan);
    free(r->step);
    free(r);
}

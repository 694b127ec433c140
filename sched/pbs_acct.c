#include "sched/pbs.h"

#include "base/buf.h"
#include "base/hash.h"
#include "sched/lines.h"
#include "sched/pbs_attr.h"
#include "sched/state.h"
#include "sched/value.h"

#include <errno.h>
#include <stdlib.h>

enum {
    LINE_MAX_BYTES = 1 << 20,
    SEEN = 1 << 16, /* jobs kept; a power of two */
};

/* Values that later records of a job do not repeat. */
struct seen {
    uint64_t id; /* its hash; 0: none */
    uint64_t queued_sec, start_sec;
    uint64_t stopped_sec;   /* suspended since then */
    uint64_t suspended_sec; /* earlier, in this run; BJ_ABSENT: unknown */
    bool deleted;
    bool resized; /* this run released nodes */
};

struct bj_pbs_acct {
    struct bj_pbs_conf conf;
    struct bj_lines lines;
    struct bj_buf text; /* the last record, with newlines: more lines of it may
                           follow */
    uint64_t line;      /* its first line; 0: none */
    bool open;          /* its account has not ended: text from account_at on
                           has no end of it */
    struct bj_buf reason;    /* of the current job */
    struct bj_hostfold fold; /* its nodes */
    bool lost;               /* it is too long, and left out */
    size_t account_at;
    struct seen *seen; /* SEEN of them, indexed by hash; the later of two jobs
                          with the same index replaces the earlier */
    struct bj_job_size size; /* of the current record */
    uint64_t quarter; /* quarter of an hour for which offset_min is valid */
    int offset_min;
};

/* A line, split. */
struct record {
    struct bj_slice stamp, type, id, rest;
    uint64_t stamp_sec;
};

static void pbs_acct_report(struct bj_pbs_acct *r, struct bj_pbs_bad bad)
{
    bad.line = r->line ? r->line : r->lines.line;
    if (r->conf.bad)
        r->conf.bad(r->conf.ctx, &bad);
}

static void bad_line(struct bj_pbs_acct *r, struct bj_slice value,
                     const char *expected)
{
    pbs_acct_report(r, (struct bj_pbs_bad){.value = value,
                                           .expected = expected,
                                           .left_out = true});
}

/* --- jobs that were seen --------------------------------------------------*/

/* Never 0. */
static uint64_t pbs_acct_hash(struct bj_slice s)
{
    uint64_t h = bj_hash(BJ_HASH, s);
    return h ? h : 1;
}

static struct seen *find_seen(const struct bj_pbs_acct *r, struct bj_slice id)
{
    const uint64_t h = pbs_acct_hash(id);
    struct seen *s = &r->seen[(h ^ h >> 32) % SEEN];
    return s->id == h ? s : NULL;
}

static struct seen *remember(struct bj_pbs_acct *r, struct bj_slice id)
{
    const uint64_t h = pbs_acct_hash(id);
    struct seen *s = &r->seen[(h ^ h >> 32) % SEEN];
    if (s->id != h)
        *s = (struct seen){
            .id = h,
            .queued_sec = BJ_ABSENT,
            .start_sec = BJ_ABSENT,
            .stopped_sec = BJ_ABSENT,
        };
    return s;
}

static void pbs_acct_forget(struct seen *s)
{
    if (s)
        s->id = 0;
}

/* --- attributes -----------------------------------------------------------*/

/* The end of a quoted value that begins at p: a quote before a blank or the
 * end; n: none. */
static size_t closing(const char *p, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (p[i] == p[0] && (i + 1 == n || p[i + 1] == ' '))
            return i;
    return n;
}

/* The end of an account in quotes that begins at p; n: none.  It is any text of
 * the user, so it may contain quotes, newlines and other attributes; after it
 * PBS writes the project, and versions without projects the name of the job. */
static size_t account_end(const char *p, size_t n)
{
    static const struct bj_slice next[] = {BJ_WORD("\" project="),
                                           BJ_WORD("\" jobname=")};
    for (size_t i = 0; i < sizeof(next) / sizeof(next[0]); i++) {
        const char *at = memmem(p + 1, n - 1, next[i].p, next[i].n);
        if (at)
            return (size_t)(at - p);
    }
    return n;
}

/* Cut "key=value" off *rest: false at the end.  Values with blanks are in
 * quotes of either kind, without escapes. */
static bool cut_attr(struct bj_slice *rest, struct bj_slice *key,
                     struct bj_slice *value)
{
    struct bj_slice s = bj_slice_trim(*rest);
    if (s.n == 0)
        return false;
    size_t n = 0;
    while (n < s.n && s.p[n] != '=' && s.p[n] != ' ')
        n++;
    *key = (struct bj_slice){s.p, n};
    n += n < s.n && s.p[n] == '=';
    const char *v = s.p + n;
    size_t left = s.n - n;
    const bool quoted = left > 0 && (*v == '"' || *v == '\'');
    const char *blank = left > 0 ? memchr(v, ' ', left) : NULL;
    const size_t plain = blank ? (size_t)(blank - v) : left;
    const bool account =
        quoted && *v == '"' && bj_slice_eq(*key, BJ_SLICE("account"));
    size_t end = account ? account_end(v, left) : left;
    if (quoted && end == left)
        end = closing(v, left);
    size_t behind = n + plain;
    *value = (struct bj_slice){v, plain};
    if (quoted && end < left) {
        *value = (struct bj_slice){v + 1, end - 1};
        behind = n + end + 1;
    }
    *rest = (struct bj_slice){s.p + behind, s.n - behind};
    return true;
}

/* The account in quotes of a record, up to the end of the record; empty: none.
 */
static struct bj_slice account_of(struct bj_slice rest)
{
    const char *const end = rest.p + rest.n;
    struct bj_slice key, value;
    while (cut_attr(&rest, &key, &value) &&
           !bj_slice_eq(key, BJ_SLICE("jobname"))) {
        const char *v = key.p + key.n + 1;
        if (bj_slice_eq(key, BJ_SLICE("account")))
            return v < end && *v == '"'
                       ? (struct bj_slice){v, (size_t)(end - v)}
                       : (struct bj_slice){NULL, 0};
    }
    return (struct bj_slice){NULL, 0};
}

static int read_attrs(struct bj_pbs_acct *r, const struct record *rec,
                      struct bj_pbs_row *row)
{
    struct bj_slice rest = rec->rest, key, value;
    bj_pbs_row_init(row);
    row->job.cluster = r->conf.cluster;
    while (cut_attr(&rest, &key, &value)) {
        const char *expected = bj_pbs_attr(row, key, value);
        if (expected)
            pbs_acct_report(r, (struct bj_pbs_bad){.job = rec->id,
                                                   .field = key,
                                                   .value = value,
                                                   .expected = expected});
    }
    row->job.state_raw = rec->type;
    return bj_pbs_settle(row, rec->id, &r->fold);
}

/* The state of a job that has ended, from its Exit_status.  Torque writes
 * owner, and no exec_vnode. */
static enum bj_job_state exit_state(const struct bj_pbs_row *row)
{
    return bj_pbs_killed(row, row->owner.n > 0 && row->exec_vnode.n == 0
                                  ? bj_state_torque_exit(row->exit_status)
                                  : bj_state_pbs('F', row->exit_status));
}

/* --- types of records -----------------------------------------------------*/

static void pbs_acct_fill(uint64_t *to, uint64_t v)
{
    if (*to == BJ_ABSENT)
        *to = v;
}

static void recall(struct bj_sched_job *job, const struct seen *s)
{
    if (!s)
        return;
    pbs_acct_fill(&job->submit_sec, s->queued_sec);
    pbs_acct_fill(&job->start_sec, s->start_sec);
}

/* The time that a run was suspended, until its end. */
static void take_suspended(struct bj_sched_job *job, const struct seen *s)
{
    if (!s || s->suspended_sec == BJ_ABSENT ||
        (s->suspended_sec == 0 && s->stopped_sec == BJ_ABSENT))
        return;
    job->suspended_sec = s->suspended_sec;
    if (s->stopped_sec != BJ_ABSENT && job->end_sec > s->stopped_sec)
        job->suspended_sec += job->end_sec - s->stopped_sec;
}

static bool queued(struct bj_pbs_acct *r, const struct record *rec,
                   struct bj_sched_job *job)
{
    struct seen *s = remember(r, rec->id);
    pbs_acct_fill(&job->submit_sec, rec->stamp_sec);
    s->queued_sec = job->submit_sec;
    job->state = BJ_STATE_PENDING;
    return true;
}

static bool started(struct bj_pbs_acct *r, const struct record *rec,
                    struct bj_sched_job *job)
{
    struct seen *s = remember(r, rec->id);
    pbs_acct_fill(&job->submit_sec, s->queued_sec);
    pbs_acct_fill(&job->start_sec, rec->stamp_sec);
    s->start_sec = job->start_sec;
    s->queued_sec = job->submit_sec;
    s->stopped_sec = BJ_ABSENT;
    s->suspended_sec = 0;
    s->resized = false;
    job->state = BJ_STATE_RUNNING;
    return true;
}

/* A job that was deleted while it ran ends with the signal of PBS. */
static bool ended(struct bj_pbs_acct *r, const struct record *rec,
                  struct bj_sched_job *job)
{
    struct seen *s = find_seen(r, rec->id);
    recall(job, s);
    pbs_acct_fill(&job->end_sec, rec->stamp_sec);
    take_suspended(job, s);
    if (s && s->deleted && job->state == BJ_STATE_FAILED &&
        job->exit_signal != BJ_ABSENT && job->exit_signal > 0)
        job->state = BJ_STATE_CANCELLED;
    pbs_acct_forget(s);
    return true;
}

static bool rerun(struct bj_pbs_acct *r, const struct record *rec,
                  struct bj_sched_job *job)
{
    struct seen *s = find_seen(r, rec->id);
    recall(job, s);
    pbs_acct_fill(&job->end_sec, rec->stamp_sec);
    take_suspended(job, s);
    job->state = BJ_STATE_REQUEUED;
    if (s) {
        s->start_sec = s->stopped_sec = BJ_ABSENT;
        s->suspended_sec = 0;
    }
    return true;
}

static bool suspended(struct bj_pbs_acct *r, const struct record *rec,
                      struct bj_sched_job *job)
{
    struct seen *s = find_seen(r, rec->id);
    if (!s || s->start_sec == BJ_ABSENT)
        return false;
    recall(job, s);
    pbs_acct_fill(&s->stopped_sec, rec->stamp_sec);
    job->state = BJ_STATE_SUSPENDED;
    return true;
}

static bool resumed(struct bj_pbs_acct *r, const struct record *rec,
                    struct bj_sched_job *job)
{
    struct seen *s = find_seen(r, rec->id);
    if (!s || s->start_sec == BJ_ABSENT || s->stopped_sec == BJ_ABSENT)
        return false;
    recall(job, s);
    job->end_sec = rec->stamp_sec;
    take_suspended(job, s);
    job->end_sec = BJ_ABSENT;
    s->stopped_sec = BJ_ABSENT;
    s->suspended_sec = job->suspended_sec;
    job->state = BJ_STATE_RUNNING;
    return true;
}

/* A waiting or running job was changed: the record has the new values only. */
static bool altered(struct bj_pbs_acct *r, const struct record *rec,
                    struct bj_sched_job *job)
{
    const struct seen *s = find_seen(r, rec->id);
    if (!s || s->queued_sec == BJ_ABSENT)
        return false;
    recall(job, s);
    job->state = s->start_sec == BJ_ABSENT     ? BJ_STATE_PENDING
                 : s->stopped_sec == BJ_ABSENT ? BJ_STATE_RUNNING
                                               : BJ_STATE_SUSPENDED;
    return true;
}

/* The job released nodes: only what it had before, or has from now on, is of
 * interest.  The record has the limits of this part of the run. */
static bool put_size(struct bj_pbs_acct *r, const struct record *rec,
                     struct bj_sched_job *job, enum bj_sizes_kind kind)
{
    const struct bj_sched_job of = *job;
    struct seen *s = find_seen(r, rec->id);
    const bool begins = kind == BJ_SIZE_BEGINS;
    bj_sched_job_init(job);
    job->batch_system = of.batch_system;
    job->cluster = of.cluster;
    job->jobid = of.jobid;
    job->display_id = of.display_id;
    job->id_number = of.id_number;
    job->array_job = of.array_job;
    job->array_task = of.array_task;
    job->user = of.user;
    job->group = of.group;
    job->account = of.account;
    job->project = of.project;
    job->partition = of.partition;
    job->name = of.name;
    job->submit_sec = of.submit_sec;
    job->start_sec = of.start_sec;
    recall(job, s);
    job->state = s && s->stopped_sec != BJ_ABSENT ? BJ_STATE_SUSPENDED
                                                  : BJ_STATE_RUNNING;
    job->end_sec = rec->stamp_sec;
    take_suspended(job, s);
    job->end_sec = BJ_ABSENT;
    r->size =
        (struct bj_job_size){.start_sec = begins ? rec->stamp_sec : BJ_ABSENT,
                             .end_sec = begins ? BJ_ABSENT : rec->stamp_sec,
                             .elapsed_sec = BJ_ABSENT,
                             .cpus = of.cpus,
                             .nodes = of.nodes,
                             .gpus = of.gpus,
                             .mem_allocated_bytes = of.mem_allocated_bytes,
                             .nodelist = of.nodelist,
                             .tres_allocated_raw = of.tres_allocated_raw};
    if (kind == BJ_SIZE_LAST)
        r->size.elapsed_sec = of.elapsed_sec;
    job->size = &r->size;
    job->sizes = 1;
    job->sizes_kind = kind;
    if (s)
        s->resized = begins;
    return job->start_sec != BJ_ABSENT;
}

static bool size_begins(struct bj_pbs_acct *r, const struct record *rec,
                        struct bj_sched_job *job)
{
    return put_size(r, rec, job, BJ_SIZE_BEGINS);
}

static bool size_ends(struct bj_pbs_acct *r, const struct record *rec,
                      struct bj_sched_job *job)
{
    return put_size(r, rec, job, BJ_SIZE_ENDS);
}

static bool last_size_ends(struct bj_pbs_acct *r, const struct record *rec,
                           struct bj_sched_job *job)
{
    return put_size(r, rec, job, BJ_SIZE_LAST);
}

/* PBS reports neither the last size of a run that it requeues nor, in its R
 * record, what the run had at first. */
static int end_resized(struct bj_pbs_acct *r, const struct record *rec,
                       struct bj_sched_job *job, struct bj_err *err)
{
    const struct seen *s = find_seen(r, rec->id);
    struct bj_sched_job last = *job;
    if (!s || !s->resized || !last_size_ends(r, rec, &last))
        return 0;
    job->cpus = job->nodes = job->gpus = BJ_ABSENT;
    job->cpus_requested = BJ_ABSENT;
    job->mem_requested_bytes = job->mem_allocated_bytes = BJ_ABSENT;
    job->nodelist = job->tres_allocated_raw = (struct bj_slice){NULL, 0};
    job->tres_requested_raw = (struct bj_slice){NULL, 0};
    return r->conf.job(r->conf.ctx, &last, err);
}

/* The server gave the job up; the record has its reason as text. */
static bool aborted(struct bj_pbs_acct *r, const struct record *rec,
                    struct bj_sched_job *job)
{
    struct seen *s = find_seen(r, rec->id);
    recall(job, s);
    pbs_acct_fill(&job->end_sec, rec->stamp_sec);
    job->reason = bj_slice_trim(rec->rest);
    job->state =
        job->start_sec == BJ_ABSENT ? BJ_STATE_CANCELLED : BJ_STATE_FAILED;
    pbs_acct_forget(s);
    return true;
}

/* Of a job that runs, an E record with its end follows. */
static bool deleted(struct bj_pbs_acct *r, const struct record *rec,
                    struct bj_sched_job *job)
{
    struct seen *s = find_seen(r, rec->id);
    recall(job, s);
    if (!s)
        s = remember(r, rec->id);
    s->deleted = true;
    pbs_acct_fill(&job->end_sec, rec->stamp_sec);
    job->state = BJ_STATE_CANCELLED;
    return true;
}

static const struct type {
    char letter;
    bool (*take)(struct bj_pbs_acct *, const struct record *,
                 struct bj_sched_job *); /* false: no job to report */
} types[] = {
    {'E', ended},   {'S', started},   {'Q', queued},      {'R', rerun},
    {'A', aborted}, {'D', deleted},   {'z', suspended},   {'r', resumed},
    {'a', altered}, {'u', size_ends}, {'c', size_begins}, {'e', last_size_ends},
};

/* --- lines ----------------------------------------------------------------*/

/* Offsets from UTC change at full quarters of an hour. */
static int offset_at(struct bj_pbs_acct *r, uint64_t local_sec)
{
    enum { QUARTER = 900 };
    if (r->conf.offset_min && r->quarter != local_sec / QUARTER) {
        r->quarter = local_sec / QUARTER;
        r->offset_min = r->conf.offset_min(r->conf.ctx, local_sec);
    }
    return r->offset_min;
}

/* Whether a line begins a record: "MM/DD/YYYY HH:MM:SS;T;". */
static bool begins(struct bj_slice line, struct record *rec)
{
    const char *const end = line.p + line.n;
    return bj_slice_field(&line, ';', &rec->stamp) &&
           bj_slice_field(&line, ';', &rec->type) && rec->type.n == 1 &&
           rec->type.p + 1 < end &&
           bj_time_pbs_stamp(rec->stamp, 0, &rec->stamp_sec) == 0;
}

/* It looks like the beginning of a record that is damaged. */
static bool is_damaged(struct bj_slice line)
{
    return line.n > 5 && line.p[2] == '/' && line.p[5] == '/';
}

static bool cut_record(struct bj_pbs_acct *r, struct bj_slice text,
                       struct record *rec)
{
    if (!begins(text, rec))
        return false;
    const size_t head = (size_t)(rec->type.p + rec->type.n + 1 - text.p);
    text.p += head;
    text.n -= head;
    const char *semi = text.n > 0 ? memchr(text.p, ';', text.n) : NULL;
    if (!semi)
        return false;
    rec->id = (struct bj_slice){text.p, (size_t)(semi - text.p)};
    rec->rest = (struct bj_slice){semi + 1, text.n - rec->id.n - 1};
    return bj_time_pbs_stamp(rec->stamp, offset_at(r, rec->stamp_sec),
                             &rec->stamp_sec) == 0;
}

static int take_record(struct bj_pbs_acct *r, struct bj_slice text,
                       struct bj_err *err)
{
    struct record rec;
    struct bj_pbs_row row;
    const struct type *t = types;
    if (!cut_record(r, text, &rec)) {
        bad_line(r, text, "MM/DD/YYYY HH:MM:SS;T;ID;...");
        return 0;
    }
    const struct type *const end = types + sizeof(types) / sizeof(types[0]);
    while (t < end && t->letter != rec.type.p[0])
        t++;
    if (t == end)
        return 0;
    if (read_attrs(r, &rec, &row) < 0)
        return bj_err_set(err, -ENOMEM, "pbs: no memory");
    if (row.job.id_number == BJ_ABSENT) {
        bad_line(r, rec.id, "a job id");
        return 0;
    }
    if (bj_pbs_is_array(&row))
        return 0;
    row.job.state = exit_state(&row);
    if (row.requestor.n > 0) {
        r->reason.len = 0;
        bj_buf_str(&r->reason, "deleted by ");
        bj_buf_slice(&r->reason, row.requestor);
        if (r->reason.failed)
            return bj_err_set(err, -ENOMEM, "pbs: no memory");
        row.job.reason = (struct bj_slice){r->reason.p, r->reason.len};
    }
    if (t->take == rerun) {
        const int e = end_resized(r, &rec, &row.job, err);
        if (e < 0)
            return e;
    }
    if (!t->take(r, &rec, &row.job))
        return 0;
    return r->conf.job(r->conf.ctx, &row.job, err);
}

static void pbs_acct_drop(struct bj_pbs_acct *r)
{
    r->text.len = 0;
    r->line = 0;
    r->open = r->lost = false;
}

/* No line of the record follows. */
static int pbs_acct_finish(struct bj_pbs_acct *r, struct bj_err *err)
{
    const struct bj_slice text = {r->text.p, r->text.len};
    const int e = r->line && !r->lost ? take_record(r, text, err) : 0;
    pbs_acct_drop(r);
    return e;
}

/* Append a line to the record. */
static int add_line(struct bj_pbs_acct *r, struct bj_slice line,
                    struct bj_err *err)
{
    enum { BACK = 16 }; /* more than what ends an account */
    const size_t before = r->text.len;
    struct record rec;
    if (before > 0)
        bj_buf_put(&r->text, "\n", 1);
    bj_buf_slice(&r->text, line);
    if (r->text.failed)
        return bj_err_set(err, -ENOMEM, "pbs: no memory");
    const struct bj_slice text = {r->text.p, r->text.len};
    if (r->open) {
        const size_t at =
            before > r->account_at + BACK ? before - BACK : r->account_at;
        r->open = account_end(text.p + at, text.n - at) == text.n - at;
    } else if (before == 0 && cut_record(r, text, &rec)) {
        const struct bj_slice account = account_of(rec.rest);
        r->open =
            account.n > 0 && account_end(account.p, account.n) == account.n;
        r->account_at = r->open ? (size_t)(account.p - text.p) : 0;
    }
    if (!r->lost && text.n > r->lines.max)
        bad_line(r, line, "a record of fewer bytes");
    r->lost = r->lost || text.n > r->lines.max;
    if (r->lost && r->open) { /* only its end is of interest */
        const size_t keep = text.n < BACK ? text.n : BACK;
        memmove(r->text.p, r->text.p + text.n - keep, keep);
        r->text.len = keep;
        r->account_at = 0;
    }
    return 0;
}

static int pbs_acct_take_line(void *ctx, struct bj_slice line, bool cut,
                              struct bj_err *err)
{
    struct bj_pbs_acct *r = ctx;
    struct record rec;
    int e = 0;
    if (!r->open && !cut && begins(line, &rec)) {
        e = pbs_acct_finish(r, err);
        r->line = r->lines.line;
    } else if (!r->open && (cut || !r->line || is_damaged(line))) {
        e = pbs_acct_finish(r, err);
        if (cut)
            bad_line(r, line, "a line of fewer bytes");
        else if (bj_slice_trim(line).n > 0)
            bad_line(r, line, "MM/DD/YYYY HH:MM:SS;T;ID;...");
        return e;
    }
    return e < 0 ? e : add_line(r, line, err);
}

/* --- calls ----------------------------------------------------------------*/

int bj_pbs_acct_new(const struct bj_pbs_conf *conf, struct bj_pbs_acct **ret,
                    struct bj_err *err)
{
    if (!conf->job)
        return bj_err_set(err, -EINVAL, "pbs: no callback for jobs");
    struct bj_pbs_acct *r = calloc(1, sizeof(*r));
    if (r)
        r->seen = calloc(SEEN, sizeof(*r->seen));
    if (!r || !r->seen) {
        free(r);
        return bj_err_set(err, -ENOMEM, "pbs: no memory");
    }
    r->conf = *conf;
    r->lines.what = "pbs";
    r->lines.max = conf->max_job ? conf->max_job : LINE_MAX_BYTES;
    *ret = r;
    return 0;
}

void bj_pbs_acct_recall(struct bj_pbs_acct *r, const struct bj_pbs_open *open)
{
    struct seen *s = remember(r, open->id);
    s->queued_sec = open->submit_sec;
    s->start_sec = open->start_sec;
    s->suspended_sec =
        open->suspended_sec == BJ_ABSENT ? 0 : open->suspended_sec;
    if (open->suspended) {
        s->stopped_sec = 0;
        s->suspended_sec = BJ_ABSENT;
    }
    s->resized = open->resized;
}

int bj_pbs_acct_feed(struct bj_pbs_acct *r, struct bj_slice piece,
                     struct bj_err *err)
{
    return bj_lines_feed(&r->lines, piece, pbs_acct_take_line, r, err);
}

size_t bj_pbs_acct_pending(const struct bj_pbs_acct *r)
{
    return r->line && !r->lost ? r->text.len + 1 : 0;
}

int bj_pbs_acct_end(struct bj_pbs_acct *r, size_t *ret_rest, struct bj_err *err)
{
    int e = bj_lines_end(&r->lines, NULL, err);
    *ret_rest = r->open ? bj_pbs_acct_pending(r) : 0;
    if (e == 0 && !r->open)
        e = r->lines.failed.code = pbs_acct_finish(r, err);
    pbs_acct_drop(r);
    return e;
}

void bj_pbs_acct_free(struct bj_pbs_acct *r)
{
    if (!r)
        return;
    bj_buf_free(&r->text);
    bj_buf_free(&r->reason);
    bj_hostfold_free(&r->fold);
    bj_lines_free(&r->lines);
    free(r->seen);
    free(r);
}

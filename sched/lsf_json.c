#include "sched/lsf.h"

#include "base/json.h"
#include "sched/hostfold.h"
#include "sched/lsf_job.h"
#include "sched/state.h"
#include "sched/time.h"
#include "sched/word.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

struct row {
    struct bj_sched_job job;
    uint64_t now_sec, id, index;
    uint64_t exec_hosts, slots, requested_slots;
    struct bj_slice exit_reason, exec_cwd;
    char text[48]; /* of the id */
};

struct bj_lsf_json {
    struct bj_lsf_conf conf;
    struct bj_lsf_counts counts;
    struct bj_json_stream *stream;
    struct bj_hostfold fold; /* nodes of the current job */
};

static int text(struct bj_slice s, void *to, const struct row *row)
{
    (void)row;
    *(struct bj_slice *)to = s;
    return 0;
}

static int number(struct bj_slice s, void *to, const struct row *row)
{
    (void)row;
    return bj_slice_u64(s, to);
}

static int moment(struct bj_slice s, void *to, const struct row *row)
{
    return bj_time_lsf(s, row->now_sec, to);
}

/* "35 second(s)", "1.5 second(s)", "35": microseconds. */
static int usec(struct bj_slice s, void *to, const struct row *row)
{
    struct bj_slice word;
    (void)row;
    return bj_slice_word(&s, &word) ? bj_decimal_u64(word, 6, to) : -EINVAL;
}

static int seconds(struct bj_slice s, void *to, const struct row *row)
{
    uint64_t v = 0;
    int r = usec(s, &v, row);
    if (r == 0)
        *(uint64_t *)to = v / 1000000;
    return r;
}

/* "60.0", "60.0/hostA": minutes. */
static int minutes(struct bj_slice s, void *to, const struct row *row)
{
    struct bj_slice number_of;
    (void)row;
    if (!bj_slice_field(&s, '/', &number_of))
        return -EINVAL;
    uint64_t tenths, sec;
    int r = bj_decimal_u64(bj_slice_trim(number_of), 1, &tenths);
    if (r == 0 && __builtin_mul_overflow(tenths, 6u, &sec))
        r = -ERANGE;
    if (r == 0)
        *(uint64_t *)to = sec;
    return r;
}

static int hosts(struct bj_slice s, void *to, const struct row *row)
{
    uint64_t n;
    const int r = bj_hostlist_count(s, BJ_HOSTS_LSF, &n);
    return r < 0 ? r : text(s, to, row);
}

static int size(struct bj_slice s, void *to, const struct row *row)
{
    (void)row;
    return bj_lsf_size(s, to);
}

#define J(member) offsetof(struct row, job.member)
#define ROW(member) offsetof(struct row, member)

#define TEXT text, "text"
#define NUMBER number, "a number"
#define MOMENT moment, "a time"
#define SIZE size, "a size"

/* Source: LSF 10.1, bjobs(1), -o. */
static const struct field {
    struct bj_slice key;
    int (*parse)(struct bj_slice s, void *to, const struct row *row);
    const char *expected;
    size_t at;
} fields[] = {
    {BJ_WORD("JOBID"), NUMBER, ROW(id)},
    {BJ_WORD("JOBINDEX"), NUMBER, ROW(index)},
    {BJ_WORD("STAT"), TEXT, J(state_raw)},
    {BJ_WORD("USER"), TEXT, J(user)},
    {BJ_WORD("UGROUP"), TEXT, J(group)},
    {BJ_WORD("QUEUE"), TEXT, J(partition)},
    {BJ_WORD("JOB_NAME"), TEXT, J(name)},
    {BJ_WORD("PROJ_NAME"), TEXT, J(project)},
    {BJ_WORD("FROM_HOST"), TEXT, J(submit_host)},
    {BJ_WORD("EXEC_HOST"), hosts, "a list of hosts", J(nodelist)},
    {BJ_WORD("NEXEC_HOST"), NUMBER, ROW(exec_hosts)},
    {BJ_WORD("SLOTS"), NUMBER, ROW(slots)},
    {BJ_WORD("NREQ_SLOT"), NUMBER, ROW(requested_slots)},
    {BJ_WORD("SUBMIT_TIME"), MOMENT, J(submit_sec)},
    {BJ_WORD("START_TIME"), MOMENT, J(start_sec)},
    {BJ_WORD("FINISH_TIME"), MOMENT, J(end_sec)},
    {BJ_WORD("CPU_USED"), usec, "seconds", J(use.cpu_usec)},
    {BJ_WORD("RUN_TIME"), seconds, "seconds", J(elapsed_sec)},
    {BJ_WORD("MAX_MEM"), SIZE, J(use.mem_peak_bytes)},
    {BJ_WORD("MEMLIMIT"), SIZE, J(mem_requested_bytes)},
    {BJ_WORD("RUNTIMELIMIT"), minutes, "minutes", J(time_limit_sec)},
    {BJ_WORD("EXIT_CODE"), NUMBER, J(exit_code)},
    {BJ_WORD("EXIT_REASON"), TEXT, ROW(exit_reason)},
    {BJ_WORD("PEND_REASON"), TEXT, J(reason)},
    {BJ_WORD("GPU_NUM"), NUMBER, J(gpus)},
    {BJ_WORD("EXEC_CWD"), TEXT, ROW(exec_cwd)},
    {BJ_WORD("SUB_CWD"), TEXT, J(work_dir)},
    {BJ_WORD("COMMAND"), TEXT, J(submit_line)},
    {BJ_WORD("JOB_DESCRIPTION"), TEXT, J(comment)},
    {BJ_WORD("PRIORITY"), NUMBER, J(priority)},
};

static void report(struct bj_lsf_json *r, struct bj_lsf_bad bad)
{
    if (bad.left_out)
        r->counts.bad_jobs++;
    else
        r->counts.bad_fields++;
    bad.line = r->counts.jobs + r->counts.bad_jobs + !bad.left_out;
    if (r->conf.bad)
        r->conf.bad(r->conf.ctx, &bad);
}

static void read_fields(struct bj_lsf_json *r, const struct bj_json *record,
                        struct row *row)
{
    const struct bj_slice id = bj_json_text(bj_json_get(record, "JOBID"));
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        const struct bj_slice s =
            bj_json_text(bj_json_find(record, fields[i].key));
        void *to = (char *)row + fields[i].at;
        if (bj_word_is_none(s) || fields[i].parse(s, to, row) == 0)
            continue;
        report(r, (struct bj_lsf_bad){.job = id,
                                      .field = fields[i].key,
                                      .value = s,
                                      .expected = fields[i].expected});
    }
}

static int settle(struct row *row, struct bj_hostfold *fold)
{
    struct bj_sched_job *job = &row->job;
    struct bj_hosts on = {.hosts = 0};
    bj_lsf_id(job, row->id, row->index == BJ_ABSENT ? 0 : row->index,
              row->text);
    job->state = bj_state_lsf(job->state_raw);
    if (job->state == BJ_STATE_FAILED && row->exit_reason.n > 0) {
        job->state = bj_lsf_reason(row->exit_reason);
        job->reason = row->exit_reason;
    }
    if (!bj_state_ended(job->state))
        job->end_sec = BJ_ABSENT; /* only an estimate */
    job->nodes = row->exec_hosts;
    job->cpus = row->slots;
    if (bj_hostfold(fold, job->nodelist, BJ_HOSTS_LSF, &on) == -ENOMEM)
        return -ENOMEM;
    job->nodelist = on.text;
    if (on.hosts > 0) {
        job->nodes = on.hosts;
        job->cpus = row->slots != BJ_ABSENT ? row->slots : on.slots;
    }
    job->cpus_requested = row->requested_slots;
    if (job->cpus == BJ_ABSENT)
        job->cpus = row->requested_slots;
    if (job->state == BJ_STATE_COMPLETED && job->exit_code == BJ_ABSENT)
        job->exit_code = 0;
    if (row->exec_cwd.n > 0)
        job->work_dir = row->exec_cwd;
    return 0;
}

static int record(void *ctx, struct bj_slice key, const struct bj_json *v,
                  struct bj_err *err)
{
    struct bj_lsf_json *r = ctx;
    struct row row = {.now_sec = r->conf.now_sec};
    (void)key;
    bj_sched_job_init(&row.job);
    row.job.batch_system = BJ_SLICE("lsf");
    row.job.snapshot = true;
    row.job.cluster = r->conf.cluster;
    row.id = row.index = BJ_ABSENT;
    row.exec_hosts = row.slots = row.requested_slots = BJ_ABSENT;
    const struct bj_slice error = bj_json_text(bj_json_get(v, "ERROR"));
    const struct bj_slice id = bj_json_text(bj_json_get(v, "JOBID"));
    if (bj_json_u64(bj_json_get(v, "JOBID"), &row.id) < 0 || error.n > 0) {
        report(r, (struct bj_lsf_bad){.job = id,
                                      .field = BJ_SLICE("JOBID"),
                                      .value = error.n > 0 ? error : id,
                                      .expected = "a job",
                                      .left_out = true});
        return 0;
    }
    read_fields(r, v, &row);
    if (settle(&row, &r->fold) < 0)
        return bj_err_set(err, -ENOMEM, "bjobs: no memory");
    r->counts.jobs++;
    int e = r->conf.job(r->conf.ctx, &row.job, err);
    if (e < 0 && err && err->code == 0) /* the stream returns its code */
        bj_err_set(err, e, "bjobs: the callback ended the reading");
    return e;
}

static const struct bj_json_target targets[] = {
    {"RECORDS", record},
    {NULL, NULL},
};

int bj_lsf_json_new(const struct bj_lsf_conf *conf, struct bj_lsf_json **ret,
                    struct bj_err *err)
{
    if (!conf->job)
        return bj_err_set(err, -EINVAL, "bjobs: no callback for jobs");
    struct bj_lsf_json *r = calloc(1, sizeof(*r));
    if (!r)
        return bj_err_set(err, -ENOMEM, "bjobs: no memory");
    r->conf = *conf;
    int e = bj_json_stream_new(targets, r, "bjobs", NULL, &r->stream, err);
    if (e < 0) {
        free(r);
        return e;
    }
    *ret = r;
    return 0;
}

int bj_lsf_json_feed(struct bj_lsf_json *r, struct bj_slice piece,
                     struct bj_err *err)
{
    r->counts.bytes += piece.n;
    return bj_json_stream_feed(r->stream, piece, err);
}

int bj_lsf_json_end(struct bj_lsf_json *r, struct bj_err *err)
{
    return bj_json_stream_end(r->stream, err);
}

const struct bj_lsf_counts *bj_lsf_json_counts(const struct bj_lsf_json *r)
{
    return &r->counts;
}

void bj_lsf_json_free(struct bj_lsf_json *r)
{
    if (!r)
        return;
    bj_json_stream_free(r->stream);
    bj_hostfold_free(&r->fold);
    free(r);
}

#include "sched/lsf.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/slice.h"
#include "sched/hostlist.h"
#include "sched/job.h"
#include "sched/lines.h"
#include "sched/state.h"
#include "sched/value.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Shared by the two sources of LSF.  Private to sched/lsf. */
/* The state of a job that LSF calls EXIT, from the reason: the name in the
 * output of bjobs ("TERM_OWNER: job killed by owner"), or the number in
 * lsb.acct.  Failed for all other reasons. */
enum bj_job_state bj_lsf_reason(struct bj_slice text);
enum bj_job_state bj_lsf_reason_number(uint64_t n);
const char *bj_lsf_reason_name(uint64_t n); /* "TERM_OWNER"; NULL: none */

/* In the order of lsbatch.h, TERM_UNKNOWN being 0. */
static const struct {
    struct bj_slice name;
    enum bj_job_state state;
} reasons[] = {
    {BJ_WORD("TERM_UNKNOWN"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_PREEMPT"), BJ_STATE_PREEMPTED},
    {BJ_WORD("TERM_WINDOW"),
     BJ_STATE_TIMEOUT}, /* the run window of its queue closed */
    {BJ_WORD("TERM_LOAD"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_OTHER"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_RUNLIMIT"), BJ_STATE_TIMEOUT},
    {BJ_WORD("TERM_DEADLINE"), BJ_STATE_DEADLINE},
    {BJ_WORD("TERM_PROCESSLIMIT"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_FORCE_OWNER"), BJ_STATE_CANCELLED},
    {BJ_WORD("TERM_FORCE_ADMIN"), BJ_STATE_CANCELLED},
    {BJ_WORD("TERM_REQUEUE_OWNER"), BJ_STATE_REQUEUED},
    {BJ_WORD("TERM_REQUEUE_ADMIN"), BJ_STATE_REQUEUED},
    {BJ_WORD("TERM_CPULIMIT"), BJ_STATE_TIMEOUT},
    {BJ_WORD("TERM_CHKPNT"), BJ_STATE_REQUEUED},
    {BJ_WORD("TERM_OWNER"), BJ_STATE_CANCELLED},
    {BJ_WORD("TERM_ADMIN"), BJ_STATE_CANCELLED},
    {BJ_WORD("TERM_MEMLIMIT"), BJ_STATE_OOM},
    {BJ_WORD("TERM_EXTERNAL_SIGNAL"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_RMS"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_ZOMBIE"), BJ_STATE_NODE_FAIL},
    {BJ_WORD("TERM_SWAP"), BJ_STATE_OOM},
    {BJ_WORD("TERM_THREADLIMIT"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_SLURM"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_BUCKET_KILL"), BJ_STATE_CANCELLED},
    {BJ_WORD("TERM_CTRL_PID"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_CWD_NOTEXIST"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_REMOVE_HUNG_JOB"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_ORPHAN_SYSTEM"),
     BJ_STATE_CANCELLED}, /* the job it depended on is gone */
    {BJ_WORD("TERM_PRE_EXEC_FAIL"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_DATA"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_MC_RECALL"),
     BJ_STATE_REQUEUED}, /* back to the cluster that it came from */
    {BJ_WORD("TERM_RC_RECLAIM"), BJ_STATE_REQUEUED}, /* its host is gone */
    {BJ_WORD("TERM_CSM_ALLOC"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_KUBE"), BJ_STATE_FAILED},
    {BJ_WORD("TERM_RC"), BJ_STATE_NODE_FAIL}, /* its host is gone */
    /* another name of 31 */
    {BJ_WORD("TERM_REQUEUE_RC"), BJ_STATE_REQUEUED},
};

enum {
    REASONS = sizeof(reasons) / sizeof(reasons[0]),
    NUMBERS = REASONS - 1, /* the others are names only */
};

enum bj_job_state bj_lsf_reason(struct bj_slice text)
{
    size_t n = 0;
    while (n < text.n &&
           ((text.p[n] >= 'A' && text.p[n] <= 'Z') || text.p[n] == '_'))
        n++;
    for (unsigned i = 0; i < REASONS; i++)
        if (bj_slice_eq((struct bj_slice){text.p, n}, reasons[i].name))
            return reasons[i].state;
    return BJ_STATE_FAILED;
}

enum bj_job_state bj_lsf_reason_number(uint64_t n)
{
    return n < NUMBERS ? reasons[n].state : BJ_STATE_FAILED;
}

const char *bj_lsf_reason_name(uint64_t n)
{
    return n > 0 && n < NUMBERS ? reasons[n].name.p : NULL;
}

/* "2 Mbytes", "1.2 Gbytes", "512 M" as bytes; 0 or -errno. */
static int lsf_size(struct bj_slice s, uint64_t *ret)
{
    struct bj_slice number, unit = {NULL, 0};
    char text[32];
    if (!bj_slice_word(&s, &number) || number.n > sizeof(text) - 1)
        return -EINVAL;
    /* "2 Mbytes" is "2M" elsewhere */
    bj_slice_word(&s, &unit);
    memcpy(text, number.p, number.n);
    size_t n = number.n;
    if (unit.n > 0 && unit.p[0] != 'b')
        text[n++] = unit.p[0];
    return bj_memory_parse((struct bj_slice){text, n}, 1, ret);
}

/* Set jobid and array of a job: "123[4]" for task 4, "123" for 0.  The text
 * goes into text, which must not move while the job is in use. */
static void lsf_id(struct bj_sched_job *job, uint64_t id, uint64_t index,
                   char text[static 48])
{
    const int n = index > 0
                      ? snprintf(text, 48, "%llu[%llu]", (unsigned long long)id,
                                 (unsigned long long)index)
                      : snprintf(text, 48, "%llu", (unsigned long long)id);
    job->jobid = job->display_id = (struct bj_slice){text, (size_t)n};
    job->id_number = id;
    if (index > 0) {
        job->array_job = id;
        job->array_task = index;
    }
}

/* --- lsb.acct -------------------------------------------------------------*/

enum {
    LINE_MAX_BYTES = 1 << 20,
    HOSTS_MAX = 1 << 20, /* in one list */
};

struct bj_lsf_acct {
    struct bj_lsf_conf conf;
    struct bj_lines lines;
    struct bj_buf text;  /* of the current job, without doubled quotes */
    struct bj_buf hosts; /* "4*hostA hostB" */
    struct bj_hostfold fold;
};

/* A field: its place in text. */
struct field {
    size_t at, n;
};

/* The values of a line. */
struct row {
    uint64_t time, id, uid, slots, submit, begin, start;
    uint64_t status, utime, stime, exit, index, rmem, rswap, reason;
    struct field user, queue, res_req, from, cwd, name, command, project;
};

/* --- fields ---------------------------------------------------------------*/

static bool at_end(struct bj_slice *line)
{
    while (line->n > 0 && (line->p[0] == ' ' || line->p[0] == '\r')) {
        line->p++;
        line->n--;
    }
    return line->n == 0;
}

/* Cut a field off the line into text: a word, or quoted text with doubled
 * quotes made single.  False at the end, or where a quote is missing. */
static bool cut_field(struct bj_lsf_acct *r, struct bj_slice *line,
                      struct field *ret)
{
    if (at_end(line))
        return false;
    ret->at = r->text.len;
    if (line->p[0] != '"') {
        struct bj_slice word;
        if (!bj_slice_field(line, ' ', &word))
            return false;
        bj_buf_slice(&r->text, word);
        ret->n = r->text.len - ret->at;
        return true;
    }
    size_t i = 1;
    for (; i < line->n; i++) {
        const bool quote = line->p[i] == '"';
        if (quote && (i + 1 == line->n || line->p[i + 1] != '"'))
            break;
        i += quote;
        bj_buf_put(&r->text, line->p + i, 1);
    }
    if (i >= line->n)
        return false;
    ret->n = r->text.len - ret->at;
    line->p += i + 1;
    line->n -= i + 1;
    return true;
}

static struct bj_slice lsf_text_of(const struct bj_lsf_acct *r, struct field f)
{
    return (struct bj_slice){f.n ? r->text.p + f.at : NULL, f.n};
}

/* How to read a field. */
enum kind {
    SKIP,   /* skipped */
    TEXT,   /* into a struct field */
    NUMBER, /* into a uint64_t; -1 is absent */
    USEC,   /* seconds with a fraction, into microseconds; -1 is absent */
    REQUESTED_HOSTS, /* a count, and as many requested hosts */
    HOSTS,           /* a count, and as many hosts of the job */
};

#define AT(member) offsetof(struct row, member)

/* In the order of the line.  Not every version has the fields after the
 * project, so a line may end there. */
static const struct column {
    const char *name;
    enum kind kind;
    size_t at;
    unsigned times; /* number of such fields in a row */
} columns[] = {
    {"version", SKIP, 0, 1},
    {"eventTime", NUMBER, AT(time), 1},
    {"jobId", NUMBER, AT(id), 1},
    {"userId", NUMBER, AT(uid), 1},
    {"options", SKIP, 0, 1},
    {"numProcessors", NUMBER, AT(slots), 1},
    {"submitTime", NUMBER, AT(submit), 1},
    {"beginTime", NUMBER, AT(begin), 1},
    {"termTime", SKIP, 0, 1},
    {"startTime", NUMBER, AT(start), 1},
    {"userName", TEXT, AT(user), 1},
    {"queue", TEXT, AT(queue), 1},
    {"resReq", TEXT, AT(res_req), 1},
    {"dependCond, preExecCmd", SKIP, 0, 2},
    {"fromHost", TEXT, AT(from), 1},
    {"cwd", TEXT, AT(cwd), 1},
    {"inFile, outFile, errFile, jobFile", SKIP, 0, 4},
    {"askedHosts", REQUESTED_HOSTS, 0, 1},
    {"execHosts", HOSTS, 0, 1},
    {"jStatus", NUMBER, AT(status), 1},
    {"hostFactor", SKIP, 0, 1},
    {"jobName", TEXT, AT(name), 1},
    {"command", TEXT, AT(command), 1},
    {"ru_utime", USEC, AT(utime), 1},
    {"ru_stime", USEC, AT(stime), 1},
    {"ru_maxrss and the others", SKIP, 0, 17},
    {"mailUser", SKIP, 0, 1},
    {"projectName", TEXT, AT(project), 1},
    {"exitStatus", NUMBER, AT(exit), 1},
    {"maxNumProcessors, loginShell, timeEvent", SKIP, 0, 3},
    {"idx", NUMBER, AT(index), 1},
    {"maxRMem", NUMBER, AT(rmem), 1},
    {"maxRSwap", NUMBER, AT(rswap), 1},
    {"inFileSpool to additionalInfo", SKIP, 0, 6},
    {"exitInfo", NUMBER, AT(reason), 1},
};

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]), NEEDED = 28 };

static int lsf_read_number(struct bj_slice s, enum kind kind, uint64_t *to)
{
    if (bj_slice_starts(s, BJ_SLICE("-1"))) {
        *to = BJ_ABSENT;
        return 0;
    }
    return kind == USEC ? bj_decimal_u64(s, 6, to) : bj_slice_u64(s, to);
}

/* Append one host to the list; LSF repeats it for each slot. */
static void put_hosts(struct bj_lsf_acct *r, struct field host, uint64_t times)
{
    if (r->hosts.len > 0)
        bj_buf_put(&r->hosts, " ", 1);
    if (times > 1)
        bj_buf_printf(&r->hosts, "%llu*", (unsigned long long)times);
    bj_buf_slice(&r->hosts, lsf_text_of(r, host));
}

/* A count and as many hosts. */
static bool read_hosts(struct bj_lsf_acct *r, struct bj_slice *line, bool keep)
{
    struct field f, last = {0, 0};
    uint64_t n, times = 0;
    if (!cut_field(r, line, &f) || bj_slice_u64(lsf_text_of(r, f), &n) < 0 ||
        n > HOSTS_MAX)
        return false;
    for (uint64_t i = 0; i < n; i++) {
        if (!cut_field(r, line, &f))
            return false;
        if (!keep)
            continue;
        if (times > 0 &&
            !bj_slice_eq(lsf_text_of(r, f), lsf_text_of(r, last))) {
            put_hosts(r, last, times);
            times = 0;
        }
        last = f;
        times++;
    }
    if (times > 0)
        put_hosts(r, last, times);
    return true;
}

/* Read one column; false where the line does not have it, or in another form.
 */
static bool read_column(struct bj_lsf_acct *r, struct bj_slice *line,
                        const struct column *c, struct row *row)
{
    if (c->kind == REQUESTED_HOSTS || c->kind == HOSTS)
        return read_hosts(r, line, c->kind == HOSTS);
    void *to = (char *)row + c->at;
    for (unsigned i = 0; i < c->times; i++) {
        struct field f;
        const size_t before = r->text.len;
        if (!cut_field(r, line, &f))
            return false;
        if (c->kind == SKIP)
            r->text.len = before;
        else if (c->kind == TEXT)
            *(struct field *)to = f;
        else if (lsf_read_number(lsf_text_of(r, f), c->kind, to) < 0)
            return false;
    }
    return true;
}

/* --- jobs -----------------------------------------------------------------*/

static void lsf_report(struct bj_lsf_acct *r, struct bj_slice value,
                       const char *expected)
{
    const struct bj_lsf_bad bad = {.line = r->lines.line,
                                   .value = value,
                                   .expected = expected,
                                   .left_out = true};
    if (r->conf.bad)
        r->conf.bad(r->conf.ctx, &bad);
}

static uint64_t lsf_moment(uint64_t v)
{
    return v == 0 || v > INT64_MAX ? BJ_ABSENT : v;
}

static void settle_state(struct bj_sched_job *job, const struct row *row)
{
    job->state = bj_state_lsf_number(row->status);
    if (job->state == BJ_STATE_FAILED && row->reason != BJ_ABSENT) {
        const char *name = bj_lsf_reason_name(row->reason);
        job->state = bj_lsf_reason_number(row->reason);
        if (name)
            job->reason = bj_slice_str(name);
    }
    if (row->exit == BJ_ABSENT)
        return;
    /* as from wait(2): the code in the upper byte, the signal in the lower */
    job->exit_code = row->exit >> 8 & 0xff;
    job->exit_signal = row->exit & 0x7f;
}

static int lsf_settle(struct bj_lsf_acct *r, const struct row *row,
                      struct bj_sched_job *job)
{
    job->user = lsf_text_of(r, row->user);
    job->partition = lsf_text_of(r, row->queue);
    job->constraints = lsf_text_of(r, row->res_req);
    job->submit_host = lsf_text_of(r, row->from);
    job->work_dir = lsf_text_of(r, row->cwd);
    job->name = lsf_text_of(r, row->name);
    job->submit_line = lsf_text_of(r, row->command);
    job->project = lsf_text_of(r, row->project);
    job->uid = row->uid;
    job->submit_sec = lsf_moment(row->submit);
    job->eligible_sec = lsf_moment(row->begin);
    job->start_sec = lsf_moment(row->start);
    job->end_sec = lsf_moment(row->time);
    if (job->start_sec != BJ_ABSENT && job->end_sec != BJ_ABSENT &&
        job->end_sec >= job->start_sec)
        job->elapsed_sec = job->end_sec - job->start_sec;
    job->cpus = job->cpus_requested = row->slots;
    const struct bj_slice list = {r->hosts.p, r->hosts.len};
    struct bj_hosts on = {.hosts = 0};
    if (bj_hostfold(&r->fold, list, BJ_HOSTS_LSF, &on) == -ENOMEM)
        return -ENOMEM;
    job->nodelist = on.text;
    if (on.hosts > 0) {
        job->nodes = on.hosts;
        job->cpus = on.slots;
    }
    job->use.cpu_user_usec = row->utime;
    job->use.cpu_system_usec = row->stime;
    if (row->utime != BJ_ABSENT && row->stime != BJ_ABSENT &&
        row->utime <= BJ_UNLIMITED && row->stime <= BJ_UNLIMITED)
        job->use.cpu_usec = row->utime + row->stime;
    if (row->rmem < UINT64_MAX >> 10)
        job->use.mem_peak_bytes = row->rmem << 10;
    settle_state(job, row);
    return 0;
}

static int lsf_take_job(struct bj_lsf_acct *r, struct bj_slice line,
                        struct bj_err *err)
{
    struct row row;
    struct bj_sched_job job;
    char id[48];
    const struct bj_slice full_line = line;
    r->hosts.len = 0;
    memset(&row, 0xff, sizeof(row)); /* numbers absent */
    row.user = row.queue = row.res_req = row.from = (struct field){0, 0};
    row.cwd = row.name = row.command = row.project = (struct field){0, 0};
    for (unsigned i = 0; i < COLUMNS; i++) {
        if (i >= NEEDED && at_end(&line))
            break;
        const bool good = read_column(r, &line, &columns[i], &row);
        if (r->text.failed || r->hosts.failed)
            return bj_err_set(err, -ENOMEM, "lsb.acct: no memory");
        if (!good) {
            lsf_report(r, full_line, columns[i].name);
            return 0;
        }
    }
    if (row.id == BJ_ABSENT) {
        lsf_report(r, full_line, "jobId");
        return 0;
    }
    bj_sched_job_init(&job);
    job.batch_system = BJ_SLICE("lsf");
    job.cluster = r->conf.cluster;
    lsf_id(&job, row.id, row.index == BJ_ABSENT ? 0 : row.index, id);
    if (lsf_settle(r, &row, &job) < 0)
        return bj_err_set(err, -ENOMEM, "lsb.acct: no memory");
    return r->conf.job(r->conf.ctx, &job, err);
}

static int lsf_take_line(void *ctx, struct bj_slice line, bool cut,
                         struct bj_err *err)
{
    struct bj_lsf_acct *r = ctx;
    struct field type;
    const struct bj_slice full_line = line;
    r->text.len = 0;
    if (cut) {
        lsf_report(r, line, "a line of fewer bytes");
        return 0;
    }
    if (at_end(&line) || line.p[0] == '#')
        return 0;
    const bool good = cut_field(r, &line, &type);
    if (r->text.failed)
        return bj_err_set(err, -ENOMEM, "lsb.acct: no memory");
    if (!good) {
        lsf_report(r, full_line, "an event type");
        return 0;
    }
    if (!bj_slice_eq(lsf_text_of(r, type), BJ_SLICE("JOB_FINISH")))
        return 0;
    return lsf_take_job(r, line, err);
}

/* --- calls ----------------------------------------------------------------*/

int bj_lsf_acct_new(const struct bj_lsf_conf *conf, struct bj_lsf_acct **ret,
                    struct bj_err *err)
{
    if (!conf->job)
        return bj_err_set(err, -EINVAL, "lsb.acct: no callback for jobs");
    struct bj_lsf_acct *r = calloc(1, sizeof(*r));
    if (!r)
        return bj_err_set(err, -ENOMEM, "lsb.acct: no memory");
    r->conf = *conf;
    r->lines.what = "lsb.acct";
    r->lines.max = conf->max_line ? conf->max_line : LINE_MAX_BYTES;
    *ret = r;
    return 0;
}

int bj_lsf_acct_feed(struct bj_lsf_acct *r, struct bj_slice piece,
                     struct bj_err *err)
{
    return bj_lines_feed(&r->lines, piece, lsf_take_line, r, err);
}

void bj_lsf_acct_free(struct bj_lsf_acct *r)
{
    if (!r)
        return;
    bj_lines_free(&r->lines);
    bj_buf_free(&r->text);
    bj_buf_free(&r->hosts);
    bj_hostfold_free(&r->fold);
    free(r);
}

/* --- bjobs -json ----------------------------------------------------------*/

struct json_row {
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

static int lsf_text(struct bj_slice s, void *to, const struct json_row *row)
{
    (void)row;
    *(struct bj_slice *)to = s;
    return 0;
}

static int lsf_number(struct bj_slice s, void *to, const struct json_row *row)
{
    (void)row;
    return bj_slice_u64(s, to);
}

static int json_moment(struct bj_slice s, void *to, const struct json_row *row)
{
    return bj_time_lsf(s, row->now_sec, to);
}

/* "35 second(s)", "1.5 second(s)", "35": microseconds. */
static int lsf_usec(struct bj_slice s, void *to, const struct json_row *row)
{
    struct bj_slice word;
    (void)row;
    return bj_slice_word(&s, &word) ? bj_decimal_u64(word, 6, to) : -EINVAL;
}

static int lsf_seconds(struct bj_slice s, void *to, const struct json_row *row)
{
    uint64_t v = 0;
    int r = lsf_usec(s, &v, row);
    if (r == 0)
        *(uint64_t *)to = v / 1000000;
    return r;
}

/* "60.0", "60.0/hostA": minutes. */
static int minutes(struct bj_slice s, void *to, const struct json_row *row)
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

static int hosts(struct bj_slice s, void *to, const struct json_row *row)
{
    uint64_t n;
    const int r = bj_hostlist_count(s, BJ_HOSTS_LSF, &n);
    return r < 0 ? r : lsf_text(s, to, row);
}

static int json_size(struct bj_slice s, void *to, const struct json_row *row)
{
    (void)row;
    return lsf_size(s, to);
}

#define J(member) offsetof(struct json_row, job.member)
#define ROW(member) offsetof(struct json_row, member)

#define TEXT lsf_text, "text"
#define NUMBER lsf_number, "a number"
#define MOMENT json_moment, "a time"
#define SIZE json_size, "a size"

/* Source: LSF 10.1, bjobs(1), -o. */
static const struct json_field {
    struct bj_slice key;
    int (*parse)(struct bj_slice s, void *to, const struct json_row *row);
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
    {BJ_WORD("CPU_USED"), lsf_usec, "seconds", J(use.cpu_usec)},
    {BJ_WORD("RUN_TIME"), lsf_seconds, "seconds", J(elapsed_sec)},
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

static void json_report(struct bj_lsf_json *r, struct bj_lsf_bad bad)
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
                        struct json_row *row)
{
    const struct bj_slice id = bj_json_text(bj_json_get(record, "JOBID"));
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        const struct bj_slice s =
            bj_json_text(bj_json_find(record, fields[i].key));
        void *to = (char *)row + fields[i].at;
        if (bj_word_is_none(s) || fields[i].parse(s, to, row) == 0)
            continue;
        json_report(r, (struct bj_lsf_bad){.job = id,
                                           .field = fields[i].key,
                                           .value = s,
                                           .expected = fields[i].expected});
    }
}

static int json_settle(struct json_row *row, struct bj_hostfold *fold)
{
    struct bj_sched_job *job = &row->job;
    struct bj_hosts on = {.hosts = 0};
    lsf_id(job, row->id, row->index == BJ_ABSENT ? 0 : row->index, row->text);
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
    struct json_row row = {.now_sec = r->conf.now_sec};
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
        json_report(r, (struct bj_lsf_bad){.job = id,
                                           .field = BJ_SLICE("JOBID"),
                                           .value = error.n > 0 ? error : id,
                                           .expected = "a job",
                                           .left_out = true});
        return 0;
    }
    read_fields(r, v, &row);
    if (json_settle(&row, &r->fold) < 0)
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

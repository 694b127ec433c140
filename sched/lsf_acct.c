#include "sched/lsf.h"

#include "base/buf.h"
#include "base/json.h"
#include "sched/hostfold.h"
#include "sched/lines.h"
#include "sched/lsf_job.h"
#include "sched/state.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

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

static struct bj_slice text_of(const struct bj_lsf_acct *r, struct field f)
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

static int read_number(struct bj_slice s, enum kind kind, uint64_t *to)
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
    bj_buf_slice(&r->hosts, text_of(r, host));
}

/* A count and as many hosts. */
static bool read_hosts(struct bj_lsf_acct *r, struct bj_slice *line, bool keep)
{
    struct field f, last = {0, 0};
    uint64_t n, times = 0;
    if (!cut_field(r, line, &f) || bj_slice_u64(text_of(r, f), &n) < 0 ||
        n > HOSTS_MAX)
        return false;
    for (uint64_t i = 0; i < n; i++) {
        if (!cut_field(r, line, &f))
            return false;
        if (!keep)
            continue;
        if (times > 0 && !bj_slice_eq(text_of(r, f), text_of(r, last))) {
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
        else if (read_number(text_of(r, f), c->kind, to) < 0)
            return false;
    }
    return true;
}

/* --- jobs -----------------------------------------------------------------*/

static void report(struct bj_lsf_acct *r, struct bj_slice value,
                   const char *expected)
{
    const struct bj_lsf_bad bad = {.line = r->lines.line,
                                   .value = value,
                                   .expected = expected,
                                   .left_out = true};
    if (r->conf.bad)
        r->conf.bad(r->conf.ctx, &bad);
}

static uint64_t moment(uint64_t v)
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

static int settle(struct bj_lsf_acct *r, const struct row *row,
                  struct bj_sched_job *job)
{
    job->user = text_of(r, row->user);
    job->partition = text_of(r, row->queue);
    job->constraints = text_of(r, row->res_req);
    job->submit_host = text_of(r, row->from);
    job->work_dir = text_of(r, row->cwd);
    job->name = text_of(r, row->name);
    job->submit_line = text_of(r, row->command);
    job->project = text_of(r, row->project);
    job->uid = row->uid;
    job->submit_sec = moment(row->submit);
    job->eligible_sec = moment(row->begin);
    job->start_sec = moment(row->start);
    job->end_sec = moment(row->time);
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

static int take_job(struct bj_lsf_acct *r, struct bj_slice line,
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
            report(r, full_line, columns[i].name);
            return 0;
        }
    }
    if (row.id == BJ_ABSENT) {
        report(r, full_line, "jobId");
        return 0;
    }
    bj_sched_job_init(&job);
    job.batch_system = BJ_SLICE("lsf");
    job.cluster = r->conf.cluster;
    bj_lsf_id(&job, row.id, row.index == BJ_ABSENT ? 0 : row.index, id);
    if (settle(r, &row, &job) < 0)
        return bj_err_set(err, -ENOMEM, "lsb.acct: no memory");
    return r->conf.job(r->conf.ctx, &job, err);
}

static int take_line(void *ctx, struct bj_slice line, bool cut,
                     struct bj_err *err)
{
    struct bj_lsf_acct *r = ctx;
    struct field type;
    const struct bj_slice full_line = line;
    r->text.len = 0;
    if (cut) {
        report(r, line, "a line of fewer bytes");
        return 0;
    }
    if (at_end(&line) || line.p[0] == '#')
        return 0;
    const bool good = cut_field(r, &line, &type);
    if (r->text.failed)
        return bj_err_set(err, -ENOMEM, "lsb.acct: no memory");
    if (!good) {
        report(r, full_line, "an event type");
        return 0;
    }
    if (!bj_slice_eq(text_of(r, type), BJ_SLICE("JOB_FINISH")))
        return 0;
    return take_job(r, line, err);
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
    return bj_lines_feed(&r->lines, piece, take_line, r, err);
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

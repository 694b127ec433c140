#include "standalone/trace.h"

#include "base/absent.h"
#include "base/array.h"
#include "base/html.h"
#include "base/json.h"
#include "base/secret_file.h"
#include "base/text.h"
#include "core/model/cluster.h"
#include "standalone/html.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define AT(member) offsetof(struct bj_trace_conf, member)

enum {
    TEXT_BYTES = BJ_LABEL_MAX + 1,
    TOKEN_BYTES = 512,
    BURST = 2, /* posts of that many seconds may arrive at once */
    SECOND = 1000000
};

const struct bj_opt bj_trace_opts[] = {
    {.name = "trace.enabled",
     .kind = BJ_OPT_BOOL,
     .off = AT(enabled),
     .preset = "false",
     .help = "Accept reports (POST) of wrappers around the processes of jobs.",
     .more = "Enable it for the wrappers of prometheus-slurm-exporter. They "
             "appear as metrics slurm_proc_* and on a page. Without "
             "trace.token-file any client can report any values for any job."},
    {.name = "trace.path",
     .kind = BJ_OPT_STR,
     .off = AT(path),
     .preset = "/trace",
     .help = "Path that wrappers post to; a GET shows what was posted.",
     .more = "Change it when the wrappers post to another path.",
     .rare = true},
    {.name = "trace.rate",
     .kind = BJ_OPT_DURATION,
     .off = AT(keep_usec),
     .lo = SECOND,
     .hi = (uint64_t)86400 * SECOND,
     .preset = "10s",
     .help = "How long to show a report, unless the wrapper posts again.",
     .more = "Set it to somewhat more than the interval of the wrappers.",
     .rare = true},
    {.name = "trace.entries",
     .kind = BJ_OPT_U64,
     .off = AT(entries),
     .lo = 1,
     .hi = 1000000,
     .preset = "10000",
     .help = "Maximum number of reports kept, one for each job and host. "
             "Further ones are refused with status 429.",
     .more = "Raise it when more processes are traced at a time.",
     .rare = true},
    {.name = "trace.max-rate",
     .kind = BJ_OPT_U64,
     .off = AT(rate),
     .lo = 1,
     .hi = 1000000,
     .preset = "200",
     .help = "Maximum number of reports a second. Further ones are refused "
             "with status 429.",
     .more = "Two seconds' worth may arrive at once. Raise it when more "
             "processes are traced at a time.",
     .rare = true},
    {.name = "trace.token-file",
     .kind = BJ_OPT_STR,
     .off = AT(token_file),
     .arg = "FILE",
     .help = "File with a secret that each report must have in its header "
             "Authorization, after the word Bearer.",
     .more =
         "Posts without it are refused with status 401. Read at the start."},
    {.name = NULL},
};

/* A report: a job on a host. */
struct entry {
    uint64_t job, stamp_usec;
    char host[TEXT_BYTES], user[TEXT_BYTES];
    uint64_t pid, threads, mem_bytes, read_bytes, write_bytes;
    uint64_t cpu_micro; /* percent */
};

/* The numbers of a report: JSON key, family, heading. */
static const struct number {
    const char *key, *family, *help, *heading;
    size_t off;
    unsigned digits;
    bool user; /* with label username */
} numbers[] = {
    {"pid", "slurm_proc_pid",
     "Process id of the process started by the wrapper.", "process",
     offsetof(struct entry, pid), 0, false},
    {"cpus", "slurm_proc_cpu_usage",
     "CPU use measured by the wrapper, in percent of one CPU.", "CPU %",
     offsetof(struct entry, cpu_micro), 6, true},
    {"threads", "slurm_proc_threadcount", "Threads reported by the wrapper.",
     "threads", offsetof(struct entry, threads), 0, true},
    {"mem", "slurm_proc_mem_usage",
     "Resident memory reported by the wrapper, in bytes.", "memory",
     offsetof(struct entry, mem_bytes), 0, true},
    {"read_bytes", "slurm_proc_read_bytes",
     "Bytes read, reported by the wrapper.", "read",
     offsetof(struct entry, read_bytes), 0, true},
    {"write_bytes", "slurm_proc_write_bytes",
     "Bytes written, reported by the wrapper.", "written",
     offsetof(struct entry, write_bytes), 0, true},
};
enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };

struct bj_trace {
    const struct bj_trace_conf *conf;
    struct entry **v; /* sorted by job and host */
    size_t n, cap;
    uint64_t credit;      /* posts allowed now, in millionths, */
    uint64_t credit_usec; /* as of this time */
    char token[TOKEN_BYTES];
    struct bj_arena arena;
};

static uint64_t *number_at(struct entry *e, const struct number *n)
{
    return (uint64_t *)(void *)((char *)e + n->off);
}

static uint64_t trace_number_of(const struct entry *e, const struct number *n)
{
    return *(const uint64_t *)(const void *)((const char *)e + n->off);
}

int bj_trace_new(const struct bj_trace_conf *conf, struct bj_trace **ret,
                 struct bj_err *err)
{
    struct bj_trace *t = calloc(1, sizeof(*t));
    if (!t)
        return bj_err_set(err, -ENOMEM, "trace");
    t->conf = conf;
    t->credit = BURST * SECOND * conf->rate;
    int r = bj_secret_read(conf->token_file, t->token, sizeof(t->token), err);
    if (r < 0) {
        bj_trace_free(t);
        return bj_err_wrap(err, r, "trace.token-file");
    }
    *ret = t;
    return 0;
}

void bj_trace_free(struct bj_trace *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n; i++)
        free(t->v[i]);
    free(t->v);
    bj_arena_free(&t->arena);
    free(t);
}

/* Drop expired reports. */
static void expire(struct bj_trace *t, uint64_t now_usec)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->n; i++)
        if (now_usec - t->v[i]->stamp_usec <= t->conf->keep_usec)
            t->v[kept++] = t->v[i];
        else
            free(t->v[i]);
    t->n = kept;
}

/* Compares in constant time for tokens of that length. */
static bool authorized(const struct bj_trace *t, struct bj_slice header)
{
    size_t n = strlen(t->token);
    if (n == 0)
        return true;
    if (!bj_slice_starts(header, BJ_SLICE("Bearer ")))
        return false;
    header = bj_slice_trim((struct bj_slice){header.p + 7, header.n - 7});
    unsigned char differs = header.n != n;
    for (size_t i = 0; i < n && i < header.n; i++)
        differs |= (unsigned char)(header.p[i] ^ t->token[i]);
    return !differs;
}

/* Whether the rate allows another post now. */
static bool paid(struct bj_trace *t, uint64_t now_usec)
{
    uint64_t most = (uint64_t)BURST * SECOND * t->conf->rate, more;
    if (__builtin_mul_overflow(now_usec - t->credit_usec, t->conf->rate,
                               &more) ||
        more > most - t->credit)
        t->credit = most;
    else
        t->credit += more;
    t->credit_usec = now_usec;
    if (t->credit < SECOND)
        return false;
    t->credit -= SECOND;
    return true;
}

/* A string; empty for other types. */
static int trace_take_text(const struct bj_json *v, const char *key,
                           char to[TEXT_BYTES], struct bj_err *err)
{
    v = bj_json_get(v, key);
    if (v && !bj_json_is_null(v) && bj_json_kind(v) != BJ_JSON_STRING)
        return bj_err_set(err, -EINVAL, "%s is not a string", key);
    bj_text_clean(bj_json_text(v), to, TEXT_BYTES);
    return 0;
}

static int take_number(const struct bj_json *v, const struct number *n,
                       struct entry *e, struct bj_err *err)
{
    int64_t value = 0;
    int r = bj_json_fixed(bj_json_get(v, n->key), n->digits, &value);
    *number_at(e, n) = r < 0 ? BJ_ABSENT : (uint64_t)value;
    if ((r < 0 && r != -ENOENT) || value < 0)
        return bj_err_set(err, -EINVAL, "%s is not a number of at least 0",
                          n->key);
    return 0;
}

static int take_entry(struct bj_trace *t, struct bj_slice body, struct entry *e,
                      struct bj_err *err)
{
    static const struct bj_json_limits limits = {.values = 200, .depth = 8};
    const struct bj_json *v;
    bj_arena_reset(&t->arena);
    int r = bj_json_parse(&t->arena, body, "trace", &limits, &v, err);
    if (r < 0)
        return r;
    if (bj_json_kind(v) != BJ_JSON_OBJECT)
        return bj_err_set(err, -EINVAL, "trace: expected a JSON object");
    if (bj_json_u64(bj_json_get(v, "job_id"), &e->job) < 0 || e->job == 0)
        return bj_err_set(err, -EINVAL,
                          "job_id must be a whole number above 0");
    r = trace_take_text(v, "hostname", e->host, err);
    if (r == 0)
        r = trace_take_text(v, "username", e->user, err);
    for (int i = 0; i < NUMBERS && r == 0; i++)
        r = take_number(v, &numbers[i], e, err);
    return r;
}

/* The index of a report, or the place to insert it. */
static size_t trace_place_of(const struct bj_trace *t, const struct entry *e,
                             bool *found)
{
    size_t from = 0, to = t->n;
    *found = false;
    while (from < to && !*found) {
        size_t mid = from + (to - from) / 2;
        const struct entry *at = t->v[mid];
        int d = (at->job > e->job) - (at->job < e->job);
        d = d ? d : strcmp(at->host, e->host);
        if (d < 0)
            from = mid + 1;
        else
            to = mid;
        *found = d == 0;
    }
    return to;
}

/* 0, -ENOSPC or -ENOMEM. */
static int trace_keep(struct bj_trace *t, const struct entry *e)
{
    bool found;
    size_t at = trace_place_of(t, e, &found);
    if (found) {
        *t->v[at] = *e;
        return 0;
    }
    if (t->n >= t->conf->entries)
        return -ENOSPC;
    struct entry *copy = malloc(sizeof(*copy));
    if (!copy || !BJ_GROW(t->v, t->n + 1, t->cap)) {
        free(copy);
        return -ENOMEM;
    }
    *copy = *e;
    memmove(&t->v[at + 1], &t->v[at], (t->n - at) * sizeof(*t->v));
    t->v[at] = copy;
    t->n++;
    return 0;
}

static unsigned trace_refuse(struct bj_buf *why, unsigned status,
                             const char *text)
{
    bj_buf_str(why, text);
    bj_buf_str(why, "\n");
    return status;
}

unsigned bj_trace_post(struct bj_trace *t, struct bj_slice body,
                       struct bj_slice authorization, uint64_t now_usec,
                       struct bj_buf *why)
{
    struct entry e = {.stamp_usec = now_usec};
    struct bj_err err = {0};
    /* Check the token first: refused posts must not use up the rate. */
    if (!authorized(t, authorization))
        return trace_refuse(why, 401,
                            "The token does not match trace.token-file.");
    if (!paid(t, now_usec))
        return trace_refuse(why, 429,
                            "Too many posts; trace.max-rate is reached.");
    int r = take_entry(t, body, &e, &err);
    if (r == 0) {
        expire(t, now_usec);
        r = trace_keep(t, &e);
    }
    if (r == -ENOSPC)
        return trace_refuse(why, 429,
                            "Too many jobs; trace.entries is reached.");
    if (r == -ENOMEM)
        return trace_refuse(why, 500, "Out of memory.");
    return r < 0 ? trace_refuse(why, 400, err.msg) : 200;
}

static void trace_put_value(struct bj_buf *b, const struct entry *e,
                            const struct number *n)
{
    uint64_t v = trace_number_of(e, n);
    if (v != BJ_ABSENT)
        bj_buf_fixed(b, v, n->digits);
}

static void html_row(const struct entry *e, uint64_t now_usec,
                     struct bj_buf *out)
{
    bj_buf_printf(out, "<tr><td>%" PRIu64 "</td><td>", e->job);
    bj_html_text(out, bj_slice_str(e->host));
    bj_buf_str(out, "</td><td>");
    bj_html_text(out, bj_slice_str(e->user));
    for (int i = 0; i < NUMBERS; i++) {
        bj_buf_str(out, "</td><td>");
        trace_put_value(out, e, &numbers[i]);
    }
    bj_buf_printf(out, "</td><td>%" PRIu64 " s</td></tr>\n",
                  (now_usec - e->stamp_usec) / SECOND);
}

void bj_trace_html(struct bj_trace *t, uint64_t now_usec, struct bj_buf *out)
{
    expire(t, now_usec);
    bj_buf_str(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><title>Traced "
                    "jobs</title></head>\n<body><h1>Traced jobs</h1>\n"
                    "<table border=\"1\">\n<tr><th>job</th><th>host</th>"
                    "<th>user</th>");
    for (int i = 0; i < NUMBERS; i++)
        bj_buf_printf(out, "<th>%s</th>", numbers[i].heading);
    bj_buf_str(out, "<th>age</th></tr>\n");
    for (size_t i = 0; i < t->n; i++)
        html_row(t->v[i], now_usec, out);
    bj_buf_str(out, "</table>\n</body></html>\n");
}

static void trace_put_label(struct bj_buf *b, const char *name,
                            struct bj_slice value)
{
    bj_buf_str(b, name);
    bj_buf_str(b, "=\"");
    bj_buf_label(b, value);
    bj_buf_str(b, "\"");
}

/* Name and labels up to those of the job. */
static void put_start(const char *family, const struct entry *e,
                      struct bj_slice cluster, struct bj_buf *out)
{
    bj_buf_str(out, family);
    bj_buf_str(out, "{");
    if (cluster.n > 0) {
        trace_put_label(out, "cluster", cluster);
        bj_buf_str(out, ",");
    }
    bj_buf_printf(out, "jobid=\"%" PRIu64 "\"", e->job);
}

static void trace_put_head(const char *family, const char *help,
                           struct bj_buf *out)
{
    bj_buf_printf(out, "# HELP %s %s\n# TYPE %s gauge\n", family, help, family);
}

static void put_sample(const struct number *n, const struct entry *e,
                       struct bj_slice cluster, struct bj_buf *out)
{
    put_start(n->family, e, cluster, out);
    bj_buf_str(out, ",");
    trace_put_label(out, "hostname", bj_slice_str(e->host));
    if (n->user) {
        bj_buf_str(out, ",");
        trace_put_label(out, "username", bj_slice_str(e->user));
    }
    bj_buf_str(out, "} ");
    trace_put_value(out, e, n);
    bj_buf_str(out, "\n");
}

static void put_family(const struct bj_trace *t, const struct number *n,
                       struct bj_slice cluster, struct bj_buf *out)
{
    bool begun = false;
    for (size_t i = 0; i < t->n; i++) {
        if (trace_number_of(t->v[i], n) == BJ_ABSENT)
            continue;
        if (!begun)
            trace_put_head(n->family, n->help, out);
        begun = true;
        put_sample(n, t->v[i], cluster, out);
    }
}

/* Allocations from the queue; equal on all hosts of a job. */
static const struct given {
    const char *family, *help;
    size_t off;
    bool bytes;
} givens[] = {
    {"slurm_job_mem_alloc", "Memory allocated to the traced job, in bytes.",
     offsetof(struct bj_jobs_stat, mem_bytes), true},
    {"slurm_job_cpu_alloc", "CPUs allocated to the traced job.",
     offsetof(struct bj_jobs_stat, cpus), false},
};

/* The record of a job in a list sorted by id, or NULL. */
static const struct bj_jobs_stat *find_job(const struct bj_list *jobs,
                                           uint64_t id)
{
    const struct bj_jobs_stat *v = jobs->v;
    size_t from = 0, to = jobs->n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        uint64_t at = BJ_ABSENT;
        bj_slice_u64(v[mid].sub.key[0], &at);
        if (at == id)
            return &v[mid];
        if (at < id)
            from = mid + 1;
        else
            to = mid;
    }
    return NULL;
}

static void put_given(const struct bj_trace *t, const struct given *g,
                      const struct bj_trace_page *page, struct bj_buf *out)
{
    bool begun = false;
    for (size_t i = 0; i < t->n; i++) {
        const struct entry *e = t->v[i];
        if (i > 0 && t->v[i - 1]->job == e->job)
            continue;
        const struct bj_jobs_stat *job = find_job(page->jobs, e->job);
        if (!job)
            continue;
        uint64_t v =
            *(const uint64_t *)(const void *)((const char *)job + g->off);
        if (v == BJ_ABSENT)
            continue;
        if (g->bytes && page->strict)
            v = (v >> 20) * 1000000; /* less than v */
        if (!begun)
            trace_put_head(g->family, g->help, out);
        begun = true;
        put_start(g->family, e, page->cluster, out);
        bj_buf_printf(out, "} %" PRIu64 "\n", v);
    }
}

void bj_trace_metrics(struct bj_trace *t, uint64_t now_usec,
                      const struct bj_trace_page *page, struct bj_buf *out)
{
    bool marked = bj_page_reopen(page->format, out);
    expire(t, now_usec);
    for (int i = 0; i < NUMBERS; i++)
        put_family(t, &numbers[i], page->cluster, out);
    for (size_t i = 0; page->jobs && i < sizeof(givens) / sizeof(*givens); i++)
        put_given(t, &givens[i], page, out);
    bj_page_close(marked, out);
}

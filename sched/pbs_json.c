#include "base/buf.h"
#include "base/slice.h"
#include "sched/pbs.h"
#include "sched/pbs_attr.h"
#include "sched/state.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* Strings of PBS's JSON output.  Private to sched/pbs. */

/* The position of the reader. */
struct bj_pbs_scan {
    struct bj_slice text;
    bool over;  /* the text ends here */
    bool key;   /* a key is expected */
    bool array; /* within an array */
};

static bool pbs_json_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Skip blanks; *lines counts the newlines. */
static size_t skip_blanks(const struct bj_pbs_scan *s, size_t i,
                          unsigned *lines)
{
    for (; i < s->text.n && pbs_json_is_blank(s->text.p[i]); i++)
        *lines += s->text.p[i] == '\n';
    return i;
}

enum ends { ENDS, GOES_ON, UNSURE };

/* Whether a quote can end a string, from the text after it at i.  A key ends
 * before a colon, a value before a closing brace or a comma and a key. */
static enum ends ends_here(const struct bj_pbs_scan *s, size_t i, bool escaped)
{
    const enum ends never = s->over ? ENDS : UNSURE;
    unsigned lines = 0;
    i = skip_blanks(s, i, &lines);
    if (i == s->text.n)
        return never;
    const char c = s->text.p[i];
    if (s->key)
        return c == ':' && !escaped ? ENDS : GOES_ON;
    if (s->array)
        return memchr(",]}:", c, 4) && !escaped ? ENDS : GOES_ON;
    if (c != ',' && c != '}')
        return GOES_ON;
    const size_t behind = skip_blanks(s, i + 1, &lines);
    if (escaped && lines == 0)
        return behind == s->text.n && !s->over ? UNSURE : GOES_ON;
    if (behind == s->text.n)
        return never;
    const char d = s->text.p[behind];
    return d == '}' || (c == ',' ? d == '"' : d == ',') ? ENDS : GOES_ON;
}

/* A newline within a string at i: PBS has left out the rest when a key or the
 * end of the object follows. */
static enum ends broken_off(const struct bj_pbs_scan *s, size_t i)
{
    unsigned lines = 0;
    i = skip_blanks(s, i, &lines);
    if (i == s->text.n)
        return s->over ? ENDS : UNSURE;
    if (s->text.p[i] == '}')
        return ENDS;
    if (s->text.p[i] != '"')
        return GOES_ON;
    for (i++; i < s->text.n; i++) {
        const char c = s->text.p[i];
        const bool letter = ((c | 32) >= 'a' && (c | 32) <= 'z') ||
                            (c >= '0' && c <= '9') || memchr("_.-[]", c, 5);
        if (!letter)
            break;
    }
    if (i + 1 >= s->text.n)
        return s->over ? GOES_ON : UNSURE;
    return s->text.p[i] == '"' && s->text.p[i + 1] == ':' ? ENDS : GOES_ON;
}

static void put_utf8(struct bj_buf *b, uint32_t c)
{
    char out[4];
    size_t n = 0;
    if (c < 0x80) {
        out[n++] = (char)c;
    } else if (c < 0x800) {
        out[n++] = (char)(0xc0 | c >> 6);
        out[n++] = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        out[n++] = (char)(0xe0 | c >> 12);
        out[n++] = (char)(0x80 | (c >> 6 & 0x3f));
        out[n++] = (char)(0x80 | (c & 0x3f));
    } else {
        out[n++] = (char)(0xf0 | c >> 18);
        out[n++] = (char)(0x80 | (c >> 12 & 0x3f));
        out[n++] = (char)(0x80 | (c >> 6 & 0x3f));
        out[n++] = (char)(0x80 | (c & 0x3f));
    }
    bj_buf_put(b, out, n);
}

/* "u00e9" at p as a number; above 0xffff when it is not one. */
static uint32_t hex4(const char *p, size_t n)
{
    uint32_t v = 0;
    if (n < 5 || p[0] != 'u')
        return UINT32_MAX;
    for (int i = 1; i < 5; i++) {
        const char c = p[i];
        const char lower = (char)(c | 32);
        if (c >= '0' && c <= '9')
            v = v << 4 | (uint32_t)(c - '0');
        else if (lower >= 'a' && lower <= 'f')
            v = v << 4 | (uint32_t)(lower - 'a' + 10);
        else
            return UINT32_MAX;
    }
    return v;
}

/* The escaped character at p, after the backslash, and the length of the
 * escape; 0 when it is not an escape. */
static size_t unicode(const char *p, size_t n, uint32_t *ret)
{
    const uint32_t v = hex4(p, n);
    *ret = v;
    if (v < 0xd800 || (v > 0xdfff && v <= 0xffff))
        return 5;
    if (v > 0xdbff || n < 11 || p[5] != '\\')
        return 0;
    const uint32_t low = hex4(p + 6, n - 6);
    *ret = 0x10000 + ((v - 0xd800) << 10) + (low - 0xdc00);
    return low >= 0xdc00 && low <= 0xdfff ? 11 : 0;
}

/* Decode the text between quotes; a backslash without an escape stays. */
static void unescape(const char *p, size_t n, struct bj_buf *to)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    for (size_t i = 0; i < n; i++) {
        const char *escape =
            p[i] == '\\' && i + 1 < n ? memchr(from, p[i + 1], 8) : NULL;
        uint32_t c;
        size_t len = 0;
        if (escape) {
            bj_buf_put(to, &into[escape - from], 1);
            i++;
        } else if (p[i] == '\\' &&
                   (len = unicode(p + i + 1, n - i - 1, &c)) > 0) {
            put_utf8(to, c);
            i += len;
        } else {
            bj_buf_put(to, p + i, 1);
        }
    }
}

/* Append the string whose first quote is at at to to, without quotes and
 * escapes. A quote ends it where the text after it can follow a string; so
 * does a newline before a key or the end of the object.  Returns the end, or 0
 * when more text is needed. */
static size_t pbs_string(const struct bj_pbs_scan *s, size_t at,
                         struct bj_buf *to)
{
    const size_t from = at + 1;
    for (size_t i = from; i < s->text.n; i++) {
        const char *p = s->text.p + i;
        const char next = i + 1 < s->text.n ? p[1] : 0;
        const bool escape = *p == '\\' && (next == '"' || next == '\\');
        enum ends e = GOES_ON;
        size_t behind = i + 1;
        if (escape && next == '"') {
            behind = i + 2;
            e = ends_here(s, behind, true);
        } else if (*p == '"') {
            e = ends_here(s, behind, false);
        } else if (*p == '\n') {
            e = s->key ? ENDS : broken_off(s, i);
            behind = i;
        }
        if (e == UNSURE)
            return 0;
        if (e == ENDS) {
            unescape(s->text.p + from, i - from + escape, to);
            return behind;
        }
        i += escape;
    }
    if (!s->over)
        return 0;
    unescape(s->text.p + from, s->text.n - from, to);
    return s->text.n;
}

/* The same for a value without quotes, up to a comma, a closing bracket or a
 * newline; null is empty.  Returns at when there is none. */
static size_t pbs_bare(const struct bj_pbs_scan *s, size_t at,
                       struct bj_buf *to)
{
    size_t i = at;
    while (i < s->text.n && !memchr(",}]\n", s->text.p[i], 4))
        i++;
    if (i == s->text.n && !s->over)
        return 0;
    const struct bj_slice word =
        bj_slice_trim((struct bj_slice){s->text.p + at, i - at});
    if (!bj_slice_eq(word, BJ_SLICE("null")))
        bj_buf_slice(to, word);
    return i;
}

enum {
    PIECE = 64 << 10,
    JOB_MAX = 1 << 20,
    MEMBERS_MAX = 4096, /* most attributes of a job */
    DEPTH_JOBS = 1,     /* depth of the key "Jobs", ... */
    DEPTH_JOB = 2,      /* ... of the ids, and ... */
    DEPTH_ATTR = 3,     /* ... of the attributes */
};

struct text {
    size_t at, n; /* in bj_pbs_json.text */
};

struct member {
    struct text key, value;
};

struct bj_pbs_json {
    struct bj_pbs_conf conf;
    struct bj_pbs_counts counts;
    struct bj_err failed;
    uint64_t line;

    struct bj_buf buf; /* not parsed yet, from at on */
    size_t at;
    bool over; /* buf has the end of the text */

    unsigned depth;     /* of objects */
    unsigned arrays;    /* of arrays; their content is skipped */
    bool begun;         /* the outermost object has begun */
    bool have_key;      /* a key has been read, ... */
    bool have_colon;    /* ... and its colon */
    bool in_jobs;       /* below "Jobs" */
    struct bj_buf text; /* of the current job, unescaped */
    struct text key, id, group;
    struct member member[MEMBERS_MAX];
    unsigned members;
    const char *damage;      /* what was expected; NULL: none */
    struct bj_hostfold fold; /* nodes of the current job */
};

static struct bj_slice pbs_json_text_of(const struct bj_pbs_json *r,
                                        struct text t)
{
    return (struct bj_slice){t.n ? r->text.p + t.at : NULL, t.n};
}

static void pbs_json_report(struct bj_pbs_json *r, struct bj_pbs_bad bad)
{
    if (bad.left_out)
        r->counts.bad_jobs++;
    else
        r->counts.bad_fields++;
    bad.line = r->line;
    if (r->conf.bad)
        r->conf.bad(r->conf.ctx, &bad);
}

/* --- jobs -----------------------------------------------------------------*/

/* Of a task of an array that ended some time ago, PBS knows only that: what it
 * prints is the array's. */
static bool lacks_values(const struct bj_pbs_row *row)
{
    return row->job.array_task != BJ_ABSENT && row->exec_host.n == 0 &&
           row->exec_vnode.n == 0 && row->run_count == BJ_ABSENT;
}

/* The end stays: the task has ended by then. */
static void forget_values(struct bj_pbs_row *row)
{
    struct bj_sched_job *job = &row->job;
    job->state = BJ_STATE_UNKNOWN;
    job->start_sec = BJ_ABSENT;
    job->exit_raw = (struct bj_slice){NULL, 0};
    job->exit_code = job->exit_signal = BJ_ABSENT;
    if (job->end_sec == BJ_ABSENT)
        job->end_sec = row->modified_sec;
}

/* A job of several nodes has lost what it used when it ended: PBS 23.06 prints
 * what one of the other nodes reported last, with a run time of 0. */
static void check_usage(struct bj_sched_job *job)
{
    if (job->nodes == BJ_ABSENT || job->nodes < 2 || job->elapsed_sec != 0 ||
        job->start_sec == BJ_ABSENT || job->end_sec == BJ_ABSENT ||
        job->end_sec <= job->start_sec + 1)
        return;
    job->elapsed_sec = job->use.cpu_usec = BJ_ABSENT;
    job->use.mem_peak_bytes = job->use.vmem_peak_bytes = BJ_ABSENT;
}

bool bj_pbs_json_attr(const struct bj_pbs_json *r, unsigned i,
                      struct bj_slice *ret_key, struct bj_slice *ret_value)
{
    if (i >= r->members)
        return false;
    *ret_key = pbs_json_text_of(r, r->member[i].key);
    *ret_value = pbs_json_text_of(r, r->member[i].value);
    return true;
}

enum { KILLED_BY_USER = 91 }; /* JOB_SUBSTATE_TERMINATED */

/* A job that was deleted while it waited to run again: start, end and exit
 * status are those of the run before, which was requeued.  The run that was
 * deleted never began. */
static bool never_ran_again(const struct bj_pbs_row *row)
{
    return row->job.state == BJ_STATE_REQUEUED &&
           row->substate == KILLED_BY_USER && row->exec_host.n == 0 &&
           row->exec_vnode.n == 0 && row->run_count != BJ_ABSENT;
}

static void forget_run(struct bj_pbs_row *row)
{
    struct bj_sched_job *job = &row->job;
    job->start_sec = job->elapsed_sec = BJ_ABSENT;
    bj_sched_usage_init(&job->use);
    job->exit_raw = (struct bj_slice){NULL, 0};
    job->exit_code = job->exit_signal = BJ_ABSENT;
    job->end_sec = row->modified_sec;
    job->restarts = row->run_count;
}

static int pbs_json_hand_over(struct bj_pbs_json *r, struct bj_err *err)
{
    struct bj_pbs_row row;
    const struct bj_slice id = pbs_json_text_of(r, r->id);
    if (r->conf.object) {
        r->counts.jobs++;
        return r->conf.object(r->conf.ctx, id, r, err);
    }
    bj_pbs_row_init(&row);
    row.job.cluster = r->conf.cluster;
    for (unsigned i = 0; i < r->members; i++) {
        const struct bj_slice key = pbs_json_text_of(r, r->member[i].key);
        const struct bj_slice value = pbs_json_text_of(r, r->member[i].value);
        const char *expected = bj_pbs_attr(&row, key, value);
        if (expected)
            pbs_json_report(r, (struct bj_pbs_bad){.job = id,
                                                   .field = key,
                                                   .value = value,
                                                   .expected = expected});
    }
    if (bj_pbs_settle(&row, id, &r->fold) < 0)
        return bj_err_set(err, -ENOMEM, "qstat: no memory");
    if (row.job.id_number == BJ_ABSENT) {
        pbs_json_report(r, (struct bj_pbs_bad){.job = id,
                                               .expected = "a job id",
                                               .left_out = true});
        return 0;
    }
    if (bj_pbs_is_array(&row))
        return 0;
    row.job.snapshot = true;
    row.job.state_raw = row.state;
    row.job.state =
        bj_state_pbs(row.state.n == 1 ? row.state.p[0] : 0, row.exit_status);
    if (row.state.n == 1 && memchr("FX", row.state.p[0], 2) &&
        row.exit_status == INT64_MIN && row.job.start_sec == BJ_ABSENT)
        row.job.state = BJ_STATE_CANCELLED; /* it never ran */
    if (bj_state_ended(row.job.state) && lacks_values(&row))
        forget_values(&row);
    else if (bj_state_ended(row.job.state)) {
        if (never_ran_again(&row))
            forget_run(&row);
        row.job.state = bj_pbs_killed(&row, row.job.state);
        if (row.substate == KILLED_BY_USER)
            row.job.state = BJ_STATE_CANCELLED;
        if (row.job.end_sec == BJ_ABSENT)
            row.job.end_sec = row.modified_sec;
        check_usage(&row.job);
    }
    r->counts.jobs++;
    return r->conf.job(r->conf.ctx, &row.job, err);
}

static int end_job(struct bj_pbs_json *r, struct bj_err *err)
{
    int e = 0;
    if (r->damage)
        pbs_json_report(r,
                        (struct bj_pbs_bad){.job = pbs_json_text_of(r, r->id),
                                            .expected = r->damage,
                                            .left_out = true});
    else
        e = pbs_json_hand_over(r, err);
    r->text.len = 0;
    r->members = 0;
    r->damage = NULL;
    return e;
}

static void add_member(struct bj_pbs_json *r, struct text value)
{
    struct text key = r->key;
    if (r->depth == DEPTH_ATTR + 1) { /* "Resource_List.ncpus" */
        const size_t at = r->text.len;
        if (!bj_buf_room(&r->text, r->group.n + r->key.n + 1))
            return;
        bj_buf_slice(&r->text, pbs_json_text_of(r, r->group));
        bj_buf_put(&r->text, ".", 1);
        bj_buf_slice(&r->text, pbs_json_text_of(r, r->key));
        key = (struct text){at, r->text.len - at};
    }
    if (r->members < MEMBERS_MAX)
        r->member[r->members++] = (struct member){key, value};
}

/* --- the outline ----------------------------------------------------------*/

static void damaged(struct bj_pbs_json *r, const char *expected)
{
    if (!r->damage)
        r->damage = expected;
}

/* A value that is not an object. */
static void scalar(struct bj_pbs_json *r, struct text value)
{
    if (r->arrays > 0)
        return;
    if (!r->have_key)
        damaged(r, "a key before a value");
    else if (!r->have_colon)
        damaged(r, "a colon behind a key");
    else if (r->in_jobs && r->depth >= DEPTH_ATTR && r->depth <= DEPTH_ATTR + 1)
        add_member(r, value);
    r->have_key = false;
}

static void open_object(struct bj_pbs_json *r)
{
    if (r->begun && !(r->have_key && r->have_colon))
        damaged(r, "a key before an object");
    if (r->depth == DEPTH_JOBS)
        r->in_jobs = bj_slice_eq(
            pbs_json_text_of(r, r->key),
            bj_slice_str(r->conf.objects ? r->conf.objects : "Jobs"));
    if (r->depth == DEPTH_JOB)
        r->id = r->key;
    if (r->depth == DEPTH_ATTR)
        r->group = r->key;
    r->depth++;
    r->begun = true;
    r->have_key = false;
}

static int close_object(struct bj_pbs_json *r, struct bj_err *err)
{
    r->have_key = false;
    if (r->depth == 0)
        return 0;
    r->depth--;
    if (r->depth == DEPTH_JOB && r->in_jobs)
        return end_job(r, err);
    if (r->depth <= DEPTH_JOB)
        r->text.len = 0;
    return 0;
}

static size_t skip_read_blanks(struct bj_pbs_json *r)
{
    size_t i = r->at;
    while (i < r->buf.len && memchr(" \t\r\n", r->buf.p[i], 4))
        i++;
    return i;
}

/* A string or a value without quotes; false when it is not complete. */
static bool pbs_json_take_text(struct bj_pbs_json *r)
{
    const struct bj_pbs_scan scan = {
        .text = {r->buf.p, r->buf.len},
        .over = r->over,
        .key = !r->have_key && r->arrays == 0,
        .array = r->arrays > 0,
    };
    const bool quoted = r->buf.p[r->at] == '"';
    const size_t at = r->text.len;
    const size_t behind = quoted ? pbs_string(&scan, r->at, &r->text)
                                 : pbs_bare(&scan, r->at, &r->text);
    if (behind == 0)
        return false;
    /* unknown characters are skipped */
    r->at = behind > r->at ? behind : r->at + 1;
    const struct text t = {at, r->text.len - at};
    if (quoted && scan.key) {
        r->key = t;
        r->have_key = true;
        r->have_colon = false;
    } else if (r->begun) {
        scalar(r, t);
    }
    return true;
}

static void count_lines(struct bj_pbs_json *r, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        r->line += r->buf.p[i] == '\n';
}

/* Read one token.  1: done; 0: it is not complete; or an error. */
static int take_token(struct bj_pbs_json *r, struct bj_err *err)
{
    const char c = r->buf.p[r->at];
    int e = 0;
    if (!memchr("{}[],:", c, 6))
        return pbs_json_take_text(r);
    r->at++;
    if (c == '[' || (c == '{' && r->arrays > 0))
        r->arrays++;
    else if (c == '{')
        open_object(r);
    else if ((c == ']' || c == '}') && r->arrays > 0)
        r->have_key = --r->arrays > 0 && r->have_key;
    else if (c == ':')
        r->have_colon = true;
    else if (c == '}')
        e = close_object(r, err);
    return e < 0 ? e : 1;
}

/* Of a job with too many bytes only the id is kept. */
static void limit_job(struct bj_pbs_json *r)
{
    if (r->depth <= DEPTH_JOB && !r->have_key)
        r->text.len = 0;
    if (r->text.len <= r->conf.max_job)
        return;
    damaged(r, "a job of fewer bytes");
    r->text.len = r->depth > DEPTH_JOB ? r->id.at + r->id.n : 0;
    r->members = 0;
    r->have_key = false;
    r->key = r->group = (struct text){0, 0};
}

/* Read all complete tokens. */
static int take_tokens(struct bj_pbs_json *r, struct bj_err *err)
{
    int more = 1;
    while (more > 0) {
        const size_t blanks = r->at;
        const size_t token = skip_read_blanks(r);
        count_lines(r, blanks, token);
        r->at = token;
        more = token < r->buf.len ? take_token(r, err) : 0;
        count_lines(r, token, r->at);
        if (r->text.failed)
            return bj_err_set(err, -ENOMEM, "qstat: no memory");
        limit_job(r);
    }
    r->buf.len -= r->at;
    memmove(r->buf.p, r->buf.p + r->at, r->buf.len);
    r->at = 0;
    if (r->buf.len > r->conf.max_job) { /* a value without end */
        damaged(r, "a value of fewer bytes");
        r->buf.len = 0;
        r->have_key = false;
    }
    return more;
}

/* --- calls ----------------------------------------------------------------*/

int bj_pbs_json_new(const struct bj_pbs_conf *conf, struct bj_pbs_json **ret,
                    struct bj_err *err)
{
    if (!conf->job && !conf->object)
        return bj_err_set(err, -EINVAL, "qstat: no callback for jobs");
    struct bj_pbs_json *r = calloc(1, sizeof(*r));
    if (!r)
        return bj_err_set(err, -ENOMEM, "qstat: no memory");
    r->conf = *conf;
    if (r->conf.max_job == 0 || r->conf.max_job > INT32_MAX)
        r->conf.max_job = JOB_MAX;
    r->line = 1;
    *ret = r;
    return 0;
}

/* Return why the reading ended, if it did. */
static int pbs_json_fail(const struct bj_pbs_json *r, struct bj_err *err)
{
    if (err && r->failed.code < 0)
        *err = r->failed;
    return r->failed.code < 0 ? r->failed.code : 0;
}

int bj_pbs_json_feed(struct bj_pbs_json *r, struct bj_slice piece,
                     struct bj_err *err)
{
    int e = pbs_json_fail(r, err);
    struct bj_err own = {0};
    while (piece.n > 0 && e == 0) {
        const size_t n = piece.n < PIECE ? piece.n : PIECE;
        r->counts.bytes += n;
        bj_buf_put(&r->buf, piece.p, n);
        e = r->buf.failed ? bj_err_set(&own, -ENOMEM, "qstat: no memory")
                          : take_tokens(r, &own);
        piece.p += n;
        piece.n -= n;
        own.code = e;
        r->failed = own;
    }
    return pbs_json_fail(r, err);
}

int bj_pbs_json_end(struct bj_pbs_json *r, struct bj_err *err)
{
    struct bj_err own = {0};
    if (r->failed.code < 0)
        return pbs_json_fail(r, err);
    r->over = true;
    own.code = r->buf.len > 0 ? take_tokens(r, &own) : 0;
    if (own.code == 0 && (r->depth > 0 || (r->counts.bytes > 0 && !r->begun)))
        bj_err_set(&own, -EINVAL, "qstat: line %llu: the text ends too early",
                   (unsigned long long)r->line);
    r->failed = own;
    return pbs_json_fail(r, err);
}

const struct bj_pbs_counts *bj_pbs_json_counts(const struct bj_pbs_json *r)
{
    return &r->counts;
}

void bj_pbs_json_free(struct bj_pbs_json *r)
{
    if (!r)
        return;
    bj_buf_free(&r->buf);
    bj_buf_free(&r->text);
    bj_hostfold_free(&r->fold);
    free(r);
}

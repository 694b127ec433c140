#include "statsdb/import/import.h"

#include "base/buf.h"
#include "base/stamp.h"
#include "sched/sacct.h"
#include "sched/value.h"
#include "statsdb/import/upsert.h"
#include "store/db.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* The columns of the table, and sacct's names for them. A row is converted to a
 * line of sacct's text, so that one reader handles ids, states and all else. */
static const struct {
    const char *column, *field;
} columns[] = {
    {"Jobid", "JobID"},       {"Partition", "Partition"},
    {"Account", "Account"},   {"Grp", "Group"},
    {"Gid", "GID"},           {"Usr", "User"},
    {"Uid", "UID"},           {"Exitcode", "ExitCode"},
    {"State", "State"},       {"Nnodes", "NNodes"},
    {"Nodelist", "NodeList"}, {"Elapsed", "Elapsed"},
    {"Submit", "Submit"},     {"Start", "Start"},
    {"End", "End"},
};

enum {
    COLUMNS = sizeof(columns) / sizeof(columns[0]),
    ELAPSED = COLUMNS - 4, /* times follow */
    SUBMIT,
    START,
    END,
    BATCH = 20000,
    TEXT_MAX = 1 << 20
};

#define SEPARATOR "\x1f"

struct original {
    const struct bj_import *im;
    struct bj_import_counts *count;
    struct bj_slice cluster;
    struct bj_upsert *upsert;
    struct bj_sacct *reader;
    struct bj_db *from;
    struct bj_st *rows;
    struct bj_buf line;
    int64_t row;
    bool open; /* a transaction is open */
    unsigned batch;
};

/* --- jobs ------------------------------------------------------------------*/

static int original_commit(struct original *o, struct bj_err *err)
{
    int r = o->open ? bj_upsert_commit(o->upsert, err) : 0;
    o->open = o->open && r < 0;
    o->batch = 0;
    return r;
}

static int original_take_job(void *ctx, const struct bj_sched_job *job,
                             struct bj_err *err)
{
    struct original *o = ctx;
    int r = 0;
    if (!o->open) {
        r = bj_upsert_begin(o->upsert, err);
        o->open = r == 0;
    }
    if (r == 0)
        r = bj_upsert_job(o->upsert, o->cluster, job, err);
    return r == 0 && ++o->batch >= BATCH ? original_commit(o, err) : r;
}

static void left_out(struct original *o, const char *why)
{
    o->count->bad++;
    if (o->im->bad)
        o->im->bad(o->im->ctx, o->row, why);
}

static void original_take_bad(void *ctx, const struct bj_sacct_bad *bad)
{
    struct original *o = ctx;
    char why[128];
    snprintf(why, sizeof(why), "%.*s%sis not %s", (int)bad->field.n,
             bad->field.n ? bad->field.p : "", bad->field.n ? " " : "",
             bad->expected);
    if (bad->line_left_out)
        left_out(o, why);
    else if (o->im->bad)
        o->im->bad(o->im->ctx, o->row, why);
}

/* --- times -----------------------------------------------------------------*/

static bool local_to_utc(const struct bj_civil *c, int dst, int64_t *ret)
{
    struct tm tm = {.tm_year = c->year - 1900,
                    .tm_mon = (int)c->month - 1,
                    .tm_mday = (int)c->day,
                    .tm_hour = (int)c->hour,
                    .tm_min = (int)c->minute,
                    .tm_sec = (int)c->second,
                    .tm_isdst = dst};
    time_t t = mktime(&tm);
    *ret = t;
    return t != (time_t)-1 && (dst < 0 || tm.tm_isdst == dst) &&
           tm.tm_hour == (int)c->hour && tm.tm_min == (int)c->minute;
}

/* Return the UTC times of a local time: one; in autumn two, the later one
 * second; or none. Returns their number; 0 also if the text is not a time. */
static unsigned utc_times(struct bj_slice text, int64_t ret[2])
{
    struct bj_civil c;
    unsigned n = 0;
    if (bj_civil_parse(text, &c) < 0)
        return 0;
    if (c.zoned) {
        ret[0] = bj_civil_usec(&c) / 1000000;
        return 1;
    }
    for (int dst = 1; dst >= 0; dst--)
        if (local_to_utc(&c, dst, &ret[n]))
            n++;
    if (n == 2 && ret[0] == ret[1])
        n = 1;
    if (n == 0) /* the missing hour in spring */
        n = local_to_utc(&c, -1, &ret[0]) || ret[0] != -1;
    return n;
}

struct times {
    int64_t v[COLUMNS - SUBMIT][2];
    unsigned n[COLUMNS - SUBMIT];
};

/* Choose start and end so that their distance is the elapsed time, and the last
 * submit time before the start. */
static void decide(const struct times *t, uint64_t elapsed, int64_t ret[3])
{
    for (int i = 0; i < 3; i++)
        ret[i] = t->n[i] ? t->v[i][0] : BJ_SQL_NULL;
    for (unsigned s = 0; s < t->n[1]; s++)
        for (unsigned e = 0; e < t->n[2]; e++)
            if (t->v[2][e] - t->v[1][s] == (int64_t)elapsed) {
                ret[1] = t->v[1][s];
                ret[2] = t->v[2][e];
            }
    if (t->n[0] == 2 && (ret[1] == BJ_SQL_NULL || t->v[0][1] <= ret[1]))
        ret[0] = t->v[0][1];
}

/* --- rows ------------------------------------------------------------------*/

static void put_times(struct original *o)
{
    struct times t;
    int64_t sec[3];
    uint64_t elapsed = BJ_ABSENT;
    if (bj_duration_sec(bj_st_get_text(o->rows, ELAPSED), &elapsed) < 0)
        elapsed = BJ_ABSENT;
    for (int i = 0; i < 3; i++)
        t.n[i] = utc_times(bj_st_get_text(o->rows, SUBMIT + i), t.v[i]);
    decide(&t, elapsed, sec);
    for (int i = 0; i < 3; i++)
        if (sec[i] > 0)
            bj_buf_printf(&o->line, "%s%lld", SEPARATOR, (long long)sec[i]);
        else
            bj_buf_str(&o->line, SEPARATOR);
    bj_buf_str(&o->line, "\n");
}

static int take_row(struct original *o, struct bj_err *err)
{
    o->line.len = 0;
    o->row = bj_st_get_i64(o->rows, COLUMNS);
    o->count->rows++;
    for (int i = 0; i < SUBMIT; i++) {
        struct bj_slice s = bj_st_get_text(o->rows, i);
        if (s.n > 0 &&
            (memchr(s.p, '\n', s.n) || memchr(s.p, *SEPARATOR, s.n) ||
             memchr(s.p, '\0', s.n))) {
            left_out(o, "a control character");
            return 0;
        }
        if (i > 0)
            bj_buf_str(&o->line, SEPARATOR);
        bj_buf_slice(&o->line, s);
    }
    put_times(o);
    if (o->line.failed)
        return bj_err_set(err, -ENOMEM, "import");
    return bj_sacct_feed(o->reader, (struct bj_slice){o->line.p, o->line.len},
                         err);
}

static int take_rows(struct original *o, struct bj_err *err)
{
    int r;
    while ((r = bj_st_row(o->rows, err)) > 0) {
        r = take_row(o, err);
        if (r == 0 && o->im->stop && atomic_load(o->im->stop))
            r = bj_err_set(err, -EINTR, "import: stopped");
        if (r < 0)
            break;
    }
    int e = r == 0 || r == -EINTR ? bj_sacct_end(o->reader, true, err) : r;
    if (e == 0)
        e = original_commit(o, err);
    return r < 0 ? r : e;
}

/* --- files ----------------------------------------------------------------*/

static int open_from(struct original *o, const char *path, struct bj_err *err)
{
    struct bj_buf sql = {0};
    const struct bj_db_options opt = {.url = path,
                                      .read_only = true,
                                      .foreign = true,
                                      .any_filesystem = true,
                                      .value_bytes = TEXT_MAX};
    int r = bj_db_open(&opt, &o->from, err);
    if (r < 0)
        return r;
    bj_buf_str(&sql, "SELECT ");
    /* without "j.", an unknown name would be a text */
    for (int i = 0; i < COLUMNS; i++)
        bj_buf_printf(&sql, "j.\"%s\", ", columns[i].column);
    bj_buf_str(&sql, "j.id FROM jobs AS j ORDER BY j.id");
    bj_buf_put(&sql, "", 1);
    r = sql.failed ? bj_err_set(err, -ENOMEM, "import")
                   : bj_db_prepare(o->from, sql.p, &o->rows, err);
    bj_buf_free(&sql);
    return r < 0 ? bj_err_wrap(err, r == -EPROTO ? -EINVAL : r, "%s", path) : 0;
}

static int open_to(struct original *o, struct bj_err *err)
{
    const struct bj_sacct_conf conf = {.delimiter = BJ_SLICE(SEPARATOR),
                                       .cluster = o->cluster,
                                       .max_record = 2 * TEXT_MAX,
                                       .ctx = o,
                                       .job = original_take_job,
                                       .bad = original_take_bad};
    int r = bj_upsert_new(o->im->store, &o->upsert, err);
    if (r == 0) {
        bj_upsert_only_new(o->upsert);
        r = bj_upsert_bulk(o->upsert, true, err);
    }
    if (r == 0)
        r = bj_sacct_new(&conf, &o->reader, err);
    for (int i = 0; i < COLUMNS; i++) {
        if (i > 0)
            bj_buf_str(&o->line, SEPARATOR);
        bj_buf_str(&o->line, columns[i].field);
    }
    bj_buf_str(&o->line, "\n");
    if (r == 0)
        r = bj_sacct_feed(o->reader, (struct bj_slice){o->line.p, o->line.len},
                          err);
    return r;
}

int bj_import_original(const struct bj_import *im, const char *path,
                       const char *cluster, struct bj_import_counts *ret,
                       struct bj_err *err)
{
    struct original o = {
        .im = im, .count = ret, .cluster = bj_slice_str(cluster)};
    *ret = (struct bj_import_counts){0};
    if (o.cluster.n == 0)
        return bj_err_set(
            err, -EINVAL,
            "import.cluster: required, because the file does not name the "
            "cluster of its jobs");
    int r = open_from(&o, path, err);
    if (r == 0)
        r = open_to(&o, err);
    if (r == 0)
        r = take_rows(&o, err);
    if (o.upsert) {
        ret->taken = bj_upsert_counts(o.upsert)->jobs_new;
        ret->known = bj_upsert_counts(o.upsert)->jobs_known;
    }
    bj_sacct_free(o.reader);
    bj_st_finalize(o.rows);
    bj_upsert_free(o.upsert);
    bj_db_close(o.from);
    bj_buf_free(&o.line);
    return r;
}

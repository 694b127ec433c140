/* The minimum that can fill the same columns, to compare imports into
 * PostgreSQL with.
 *
 * statsdb_floor URL FILE
 *
 * Reads the text of statsdb_gen, splits each line, converts times, durations,
 * sizes and counts to numbers, adds up the usage of a job's steps, and writes
 * one row for each job and step by COPY, the rows of 1,000 jobs at a time.
 * Columns that are ids of dictionaries in the store are texts here; columns
 * that the text lacks are NULL.  There are no dictionaries, daily sums,
 * searches for existing rows, indexes, or checks of the text. */
#include "base/buf.h"
#include "base/stamp.h"
#include "store/libpq.h"

#include <stdio.h>
#include <stdlib.h>

enum { FIELDS = 30, JOBS = 1000 };

/* Columns of the text. */
enum {
    SHOWN,
    ID,
    NAME,
    USER,
    UID,
    GROUP,
    ACCOUNT,
    PARTITION,
    QOS,
    STATE,
    EXIT,
    SUBMIT,
    ELIGIBLE,
    START,
    END,
    ELAPSED,
    LIMIT,
    NODES,
    CPUS,
    REQ_MEM,
    REQ_TRES,
    TRES,
    HOSTS,
    DIR,
    CPU,
    CPU_USER,
    CPU_SYSTEM,
    RSS,
    CPU_TASK,
    USED
};

#define BOTH                                                                   \
    "name text, state int, state_raw text, exit_code bigint, exit_signal "     \
    "bigint, start bigint, \"end\" bigint, elapsed bigint, suspended bigint, " \
    "cpus bigint, nodes bigint, hosts text, tres_allocated text, cpu_usec "    \
    "bigint, cpu_system_usec bigint, cpu_user_usec bigint, "                   \
    "memory_task_peak_bytes bigint, memory_scheduler_peak_bytes bigint, "      \
    "energy_scheduler_joules bigint, read_bytes bigint, write_bytes bigint, "

static const char tables[] =
    "CREATE TABLE job(id bigint, " BOTH
    "cluster text, jobid text, submit bigint, \"user\" text, account text, "
    "partition text, qos text, owner text, eligible bigint, time_limit bigint, "
    "gpus bigint, memory_requested_bytes bigint, memory_allocated_bytes "
    "bigint, tres_requested text, work_dir text, array_job_id bigint, "
    "array_task bigint, derived_exit_code bigint, derived_exit_signal bigint, "
    "restarts bigint, priority bigint, tasks bigint, cpu_task_usec bigint, "
    "vmemory_peak_bytes bigint, reason text, flags text, sluid text, "
    "display_id text, exit_raw text, cpus_requested bigint, gpu_model text);"
    "CREATE TABLE step(job bigint, " BOTH
    "slot int, other text, tasks bigint, peak_node text, cpu_task_usec bigint, "
    "vmemory_peak_bytes bigint, submit_line text)";

static const char *const tres_keys[] = {"mem=", "fs/disk=", "gres/gpu="};
enum { MEM, DISK, GPU };

struct loader {
    const struct bj_libpq *pg;
    struct bj_pg_conn *conn;
    struct bj_buf job, step; /* rows to send */
    unsigned jobs;
    int64_t id;
    /* The last job, whose steps may follow. */
    char *line;
    size_t room;
    struct bj_slice f[FIELDS];
    int64_t task_peak, peak, read;
};

static void fail(const struct loader *l, const char *what)
{
    fprintf(stderr, "%s: %s\n", what, l->pg ? l->pg->error(l->conn) : "");
    exit(1);
}

/* --- values; -1 is NULL --------------------------------------------------- */

static int64_t number(struct bj_slice s)
{
    uint64_t v;
    return bj_slice_number(&s, &v) ? (int64_t)v : -1;
}

static int64_t two(const char *p)
{
    return (p[0] - '0') * 10 + p[1] - '0';
}

/* "2026-11-20T15:04:05" */
static int64_t moment(struct bj_slice s)
{
    if (s.n != 19)
        return -1;
    int64_t days =
        bj_days_from_civil((int)(two(s.p) * 100 + two(s.p + 2)),
                           (unsigned)two(s.p + 5), (unsigned)two(s.p + 8));
    return days * 86400 + two(s.p + 11) * 3600 + two(s.p + 14) * 60 +
           two(s.p + 17);
}

/* "1-02:03:04", in microseconds. */
static int64_t span(struct bj_slice s)
{
    const char *dash = s.n > 0 ? memchr(s.p, '-', s.n) : NULL;
    if (s.n < 8)
        return -1;
    int64_t days = dash ? number(s) : 0;
    const char *p = s.p + s.n - 8;
    return (days * 86400 + two(p) * 3600 + two(p + 3) * 60 + two(p + 6)) *
           1000000;
}

/* "12659555K" */
static int64_t size(struct bj_slice s)
{
    uint64_t v;
    if (!bj_slice_number(&s, &v))
        return -1;
    int shift = s.n == 0        ? 0
                : s.p[0] == 'K' ? 10
                : s.p[0] == 'M' ? 20
                : s.p[0] == 'G' ? 30
                                : 0;
    return (int64_t)v << shift;
}

/* The value of a key in "cpu=1,mem=4000M". */
static int64_t tres(struct bj_slice s, int which)
{
    struct bj_slice item, key = bj_slice_str(tres_keys[which]);
    while (bj_slice_field(&s, ',', &item))
        if (bj_slice_starts(item, key))
            return size((struct bj_slice){item.p + key.n, item.n - key.n});
    return -1;
}

/* The store's numbers. */
static int64_t state(struct bj_slice s)
{
    static const struct {
        const char *word;
        int number;
    } states[] = {{"COMP", 4}, {"FAIL", 5}, {"CANC", 6}, {"TIME", 7},
                  {"OUT_", 8}, {"PEND", 1}, {"RUNN", 2}};
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
        if (bj_slice_starts(s, bj_slice_str(states[i].word)))
            return states[i].number;
    return 0;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* --- rows ----------------------------------------------------------------- */

static void put_number(struct bj_buf *b, int64_t v)
{
    if (v < 0)
        bj_buf_put(b, "\\N", 2);
    else
        bj_buf_u64(b, (uint64_t)v);
    bj_buf_put(b, "\t", 1);
}

static void put_text(struct bj_buf *b, struct bj_slice s)
{
    if (s.n == 0)
        bj_buf_put(b, "\\N", 2);
    for (const char *p = s.p; p < s.p + s.n; p++) {
        if (*p == '\\' || *p == '\t' || *p == '\n' || *p == '\r')
            bj_buf_put(b, "\\", 1);
        bj_buf_put(b, p, 1);
    }
    bj_buf_put(b, "\t", 1);
}

static void put_nulls(struct bj_buf *b, int n)
{
    while (n-- > 0)
        bj_buf_put(b, "\\N\t", 3);
}

static void end_row(struct bj_buf *b)
{
    if (b->failed)
        exit(1);
    b->p[b->len - 1] = '\n';
}

/* The columns that jobs and steps share. */
static void put_both(struct bj_buf *b, const struct bj_slice *f,
                     int64_t task_peak, int64_t peak, int64_t read)
{
    struct bj_slice signal = f[EXIT];
    uint64_t code = 0;
    put_text(b, f[NAME]);
    put_number(b, state(f[STATE]));
    put_text(b, f[STATE]);
    bj_slice_number(&signal, &code);
    put_number(b, (int64_t)code);
    put_number(b,
               signal.n > 1 ? *signal.p == ':' ? signal.p[1] - '0' : -1 : -1);
    put_number(b, moment(f[START]));
    put_number(b, moment(f[END]));
    put_number(b, number(f[ELAPSED]));
    put_nulls(b, 1);
    put_number(b, number(f[CPUS]));
    put_number(b, number(f[NODES]));
    put_text(b, f[HOSTS]);
    put_text(b, f[TRES]);
    put_number(b, span(f[CPU]));
    put_number(b, span(f[CPU_SYSTEM]));
    put_number(b, span(f[CPU_USER]));
    put_number(b, task_peak);
    put_number(b, peak);
    put_nulls(b, 1);
    put_number(b, read);
    put_nulls(b, 1);
}

static void put_array(struct bj_buf *b, struct bj_slice shown)
{
    uint64_t job = 0;
    bool is = bj_slice_number(&shown, &job) && shown.n > 1 && *shown.p == '_';
    put_number(b, is ? (int64_t)job : -1);
    put_number(b,
               is ? number((struct bj_slice){shown.p + 1, shown.n - 1}) : -1);
}

static void put_job(struct loader *l)
{
    struct bj_buf *b = &l->job;
    const struct bj_slice *f = l->f;
    int64_t limit = number(f[LIMIT]);
    put_number(b, l->id);
    put_both(b, f, l->task_peak, l->peak, l->read);
    put_text(b, BJ_SLICE("bench"));
    put_text(b, f[ID]);
    put_number(b, moment(f[SUBMIT]));
    for (int i = 0; i < 4; i++)
        put_text(b, f[(int[]){USER, ACCOUNT, PARTITION, QOS}[i]]);
    bj_buf_slice(b, f[UID]);
    bj_buf_put(b, ":", 1);
    put_text(b, f[GROUP]);
    put_number(b, moment(f[ELIGIBLE]));
    put_number(b, limit < 0 ? -1 : limit * 60);
    put_number(b, larger(tres(f[TRES], GPU), 0));
    put_number(b, tres(f[REQ_TRES], MEM));
    put_number(b, tres(f[TRES], MEM));
    put_text(b, f[REQ_TRES]);
    put_text(b, f[DIR]);
    put_array(b, f[SHOWN]);
    put_nulls(b, 10);
    put_text(b, f[SHOWN]);
    put_text(b, f[EXIT]);
    put_nulls(b, 2);
    end_row(b);
    l->f[ID].n = 0;
    l->jobs++;
}

static void put_step(struct loader *l, const struct bj_slice *f,
                     struct bj_slice name)
{
    struct bj_buf *b = &l->step;
    int64_t task_peak = size(f[RSS]), peak = tres(f[USED], MEM),
            read = tres(f[USED], DISK);
    l->task_peak = larger(l->task_peak, task_peak);
    l->peak = larger(l->peak, peak);
    l->read = l->read < 0 ? read : l->read + larger(read, 0);
    put_number(b, l->id);
    put_both(b, f, task_peak, peak, read);
    put_number(b, name.p[0] == 'b'   ? 1
                  : name.p[0] == 'e' ? 2
                                     : 16 + number(name));
    put_nulls(b, 3);
    put_number(b, span(f[CPU_TASK]));
    put_nulls(b, 2);
    end_row(b);
}

/* --- sending -------------------------------------------------------------- */

static void finish(const struct loader *l, const char *what)
{
    struct bj_pg_result *res;
    while ((res = l->pg->get_result(l->conn)) != NULL) {
        int status = l->pg->result_status(res);
        l->pg->clear(res);
        if (status == BJ_PG_COPY_IN)
            return;
        if (status != BJ_PG_COMMAND_OK)
            fail(l, what);
    }
}

static void run(const struct loader *l, const char *sql)
{
    if (!l->pg->send_query(l->conn, sql))
        fail(l, sql);
    finish(l, sql);
}

static void send(const struct loader *l, const char *copy, struct bj_buf *b)
{
    run(l, copy);
    if (l->pg->put_copy(l->conn, b->p, (int)b->len) != 1 ||
        l->pg->end_copy(l->conn, NULL) != 1)
        fail(l, copy);
    finish(l, copy);
    b->len = 0;
}

static void flush(struct loader *l)
{
    send(l, "COPY job FROM STDIN", &l->job);
    send(l, "COPY step FROM STDIN", &l->step);
    l->jobs = 0;
}

/* --- reading -------------------------------------------------------------- */

static void split(char *line, ssize_t n, struct bj_slice *f)
{
    struct bj_slice rest = {line, (size_t)n - 1};
    for (int i = 0; i < FIELDS; i++) {
        const char *bar = rest.n > 0 ? memchr(rest.p, '|', rest.n) : NULL;
        f[i] = (struct bj_slice){rest.p, bar ? (size_t)(bar - rest.p) : rest.n};
        rest.n -= bar ? f[i].n + 1 : rest.n;
        rest.p = bar ? bar + 1 : rest.p;
    }
}

static void take(struct loader *l, char **line, size_t *room, ssize_t n)
{
    struct bj_slice f[FIELDS];
    split(*line, n, f);
    const char *dot = memchr(f[ID].p, '.', f[ID].n);
    if (dot) {
        put_step(
            l, f,
            (struct bj_slice){dot + 1, f[ID].n - (size_t)(dot + 1 - f[ID].p)});
        return;
    }
    if (l->f[ID].n > 0)
        put_job(l);
    if (l->jobs >= JOBS)
        flush(l);
    l->id++;
    l->task_peak = l->peak = l->read = -1;
    char *was = l->line;
    size_t had = l->room;
    l->line = *line; /* the fields point into it */
    l->room = *room;
    *line = was;
    *room = had;
    memcpy(l->f, f, sizeof(f));
}

int main(int argc, char **argv)
{
    struct loader l = {0};
    struct bj_err err = {0};
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    FILE *file = argc == 3 ? fopen(argv[2], "r") : NULL;
    if (!file || getline(&line, &room, file) < 0) {
        fprintf(stderr, "usage: statsdb_floor URL FILE\n");
        return 2;
    }
    if (bj_libpq_load(&l.pg, &err) < 0)
        fail(&l, err.msg);
    l.conn = l.pg->connect((const char *const[]){"dbname", NULL},
                           (const char *const[]){argv[1], NULL}, 1);
    run(&l, tables);
    run(&l, "BEGIN");
    while ((n = getline(&line, &room, file)) > 0)
        take(&l, &line, &room, n);
    if (l.f[ID].n > 0)
        put_job(&l);
    flush(&l);
    run(&l, "COMMIT");
    l.pg->finish(l.conn);
    bj_buf_free(&l.job);
    bj_buf_free(&l.step);
    free(l.line);
    free(line);
    fclose(file);
    return 0;
}

/* Paths of petricore's web application: plots, a pie, a PDF and the text of its
 * mail, and two paths with JSON, from the reports of this server
 * (docs/dialects.md). */

#include "apiserver/compat/original.h"
#include "apiserver/frame/query.h"
#include "apiserver/frame/state.h"
#include "apiserver/job/drawing.h"
#include "apiserver/job/visible_job.h"
#include "apiserver/v1/storage.h"
#include "base/html.h"
#include "base/json.h"
#include "base/local.h"
#include "report/form/text.h"
#include "report/job/job.h"
#include "report/pdf/draw.h"
#include "statsdb/tables/fragment.h"

#include <stdlib.h>

#define MIB 1048576.0

/* --- values not in the report -----------------------------------------------
 */

/* The sum of all nodes, which is unknown if the value of one node is unknown.
 */
#define SUM(column)                                                            \
    "(SELECT CASE WHEN count(" column ") = j.nodes THEN sum(" column           \
    ") END FROM node_record AS n WHERE " BJ_SQL_RECORD_OF("n", "j") ")"

/* Values for petricore that are not in the report; BJ_SQL_NULL: unknown. */
enum bj_petricore_number {
    BJ_PETRICORE_THREADS, /* maximum number of threads */
    BJ_PETRICORE_OPEN,    /* files, most */
    BJ_PETRICORE_SCRATCH, /* files, most */
    BJ_PETRICORE_SYSTEM_USEC,
    BJ_PETRICORE_READS, /* system calls */
    BJ_PETRICORE_WRITES,
    BJ_PETRICORE_NUMBERS
};

struct bj_petricore {
    int64_t number[BJ_PETRICORE_NUMBERS];
    struct bj_slice tres; /* allocated, as the scheduler writes it */
};

static const char *const numbers_sql[BJ_PETRICORE_NUMBERS] = {
    [BJ_PETRICORE_THREADS] = "u.threads_peak",
    [BJ_PETRICORE_OPEN] = "u.open_fds_peak",
    [BJ_PETRICORE_SCRATCH] = "u.scratch_files_peak",
    [BJ_PETRICORE_SYSTEM_USEC] =
        "coalesce(" SUM("n.cpu_system_usec") ", j.cpu_system_usec)",
    [BJ_PETRICORE_READS] = SUM("n.io_read_operations"),
    [BJ_PETRICORE_WRITES] = SUM("n.io_write_operations"),
};

static int read_numbers(struct bj_call *c, int64_t job, struct bj_arena *arena,
                        struct bj_petricore *ret)
{
    struct bj_query q = {0};
    struct bj_st *st = NULL;
    for (int i = 0; i < BJ_PETRICORE_NUMBERS; i++) {
        bj_query_sql(&q, i == 0 ? "SELECT " : ", ");
        bj_query_sql(&q, numbers_sql[i]);
    }
    bj_query_sql(&q, ", (SELECT text FROM tres WHERE id = j.tres_allocated) AS"
                     " tres FROM job AS j LEFT JOIN job_use AS u ON u.job ="
                     " j.id WHERE j.id = ");
    bj_query_int(&q, job);
    int r = bj_query_open(&q, c->reader, &st, &c->err);
    if (r == 0)
        r = bj_st_row(st, &c->err);
    for (int i = 0; r > 0 && i < BJ_PETRICORE_NUMBERS; i++)
        ret->number[i] = bj_st_get_i64(st, i);
    if (r > 0)
        ret->tres = bj_arena_copy(arena, bj_st_text(st, "tres"));
    bj_query_free(&q);
    return r < 0 ? r : 0;
}

static int petricore_read(struct bj_call *c, const struct bj_params *p,
                          struct bj_visible_job *f, struct bj_arena *arena,
                          struct bj_report *report, struct bj_petricore *ret)
{
    int r = bj_visible_job_find(c, p, c->tail, arena, f);
    if (r == 0 && f->end == BJ_SQL_NULL)
        r = bj_call_refuse(c, 404, "The job is not finished.");
    if (r == 0)
        r = bj_job_report(c, f->job, report);
    return r == 0 ? read_numbers(c, f->job, arena, ret) : r;
}

/* --- the usage of a job ----------------------------------------------------
 */

static void put_int(struct bj_buf *b, const char *key, int64_t v)
{
    bj_buf_printf(b, "\"%s\":", key);
    if (v == BJ_SQL_NULL)
        bj_buf_str(b, "null");
    else
        bj_buf_printf(b, "%lld", (long long)v);
}

/* v / by, with three digits. */
static void petricore_put_number(struct bj_buf *b, int64_t v, double by)
{
    if (v == BJ_SQL_NULL || !(by > 0))
        bj_buf_str(b, "null");
    else
        bj_buf_printf(b, "%.3f", (double)v / by);
}

static void put_ratio(struct bj_buf *b, const char *key, int64_t v, double by)
{
    bj_buf_printf(b, "\"%s\":", key);
    petricore_put_number(b, v, by);
}

static void petricore_put_text(struct bj_buf *b, const char *key,
                               struct bj_slice s)
{
    bj_buf_printf(b, "\"%s\":", key);
    if (s.p)
        bj_json_string(b, s);
    else
        bj_buf_str(b, "null");
}

static int64_t petricore_number(const struct bj_report *r,
                                enum bj_report_column c)
{
    return bj_report_number(r, c);
}

/* The value of a name in "billing=4,cpu=4,mem=8000M,node=1". */
static struct bj_slice tres_of(struct bj_slice tres, const char *name)
{
    struct bj_slice one, key;
    while (tres.n > 0 && bj_slice_field(&tres, ',', &one))
        if (bj_slice_field(&one, '=', &key) &&
            bj_slice_eq(key, bj_slice_str(name)))
            return one;
    return (struct bj_slice){0};
}

static void put_tres(struct bj_buf *b, const struct bj_report *r,
                     const struct bj_petricore *x)
{
    uint64_t billing;
    int64_t n = bj_slice_u64(tres_of(x->tres, "billing"), &billing) == 0 &&
                        billing <= INT64_MAX
                    ? (int64_t)billing
                    : BJ_SQL_NULL;
    put_int(b, "alloc_tres\":{\"billing", n);
    bj_buf_str(b, ",");
    put_int(b, "alloc_cpu", petricore_number(r, BJ_REPORT_CPUS));
    bj_buf_str(b, ",");
    petricore_put_text(b, "alloc_mem", tres_of(x->tres, "mem"));
    bj_buf_str(b, ",");
    put_int(b, "alloc_nodes", petricore_number(r, BJ_REPORT_NODES));
    bj_buf_str(b, "}");
}

static void put_cpu(struct bj_buf *b, const struct bj_report *r)
{
    const struct bj_report_figure *f = &r->figure[BJ_FIGURE_CPU];
    const int64_t cpus = petricore_number(r, BJ_REPORT_CPUS);
    const int64_t elapsed = petricore_number(r, BJ_REPORT_ELAPSED);
    put_int(b, "cpu\":{\"available\":{\"amount", cpus);
    bj_buf_str(b, ",\"unit\":\"cores\"},");
    put_ratio(b, "used\":{\"amount", f->used, 1e6 * (double)elapsed);
    bj_buf_str(b, ",\"unit\":\"cores\"},\"time_core\":[],");
    put_ratio(b, "time_total\":{\"time", f->used, 1e6);
    bj_buf_str(b, ",\"unit\":\"s\"},");
    put_ratio(b, "avg_usage_job\":{\"usage", f->used, 1e4 * (double)elapsed);
    bj_buf_str(b, ",");
    put_int(b, "lowest_expected_usage",
            cpus > 0 && cpus < INT64_MAX / 80 ? 80 * cpus : BJ_SQL_NULL);
    bj_buf_str(b, ",\"unit\":\"%\"},\"max_usage_job\":{\"usage\":null,"
                  "\"unit\":\"%\"}}");
}

static void put_memory(struct bj_buf *b, const struct bj_report *r)
{
    const struct bj_report_figure *f = &r->figure[BJ_FIGURE_MEMORY];
    put_ratio(b, "ram\":{\"used\":{\"amount", f->used, MIB);
    bj_buf_str(b, ",\"unit\":\"MB\",");
    put_ratio(b, "usage", f->ppm, 1e6);
    bj_buf_str(b, "},");
    put_ratio(b, "available\":{\"amount", f->allocated, MIB);
    bj_buf_str(b, ",\"unit\":\"MB\"}}");
}

/* Append two values of each GPU, as in the original, in the order of alloc_gpu.
 */
static void put_gpu_values(struct bj_buf *b, const struct bj_report *r)
{
    bj_buf_str(b, "\"metrics\":{\"avg_utilization_gpu\":[");
    for (size_t i = 0; i < r->gpus; i++) {
        bj_buf_str(b, i > 0 ? "," : "");
        petricore_put_number(b, r->gpu[i].busy_ppm, 1e4);
    }
    bj_buf_str(b, "],\"max_memory_used\":[");
    for (size_t i = 0; i < r->gpus; i++) {
        bj_buf_str(b, i > 0 ? "," : "");
        petricore_put_number(b, r->gpu[i].memory_peak, MIB);
    }
    bj_buf_str(b, "]}}");
}

/* Append GPUs by node: {"n1":["0","1"]}.  The report has them in that order. */
static void petricore_put_gpus(struct bj_buf *b, const struct bj_report *r)
{
    bj_buf_str(b, "\"gpu\":{\"alloc_gpu\":{");
    for (size_t i = 0; i < r->gpus; i++) {
        const struct bj_report_gpu *g = &r->gpu[i];
        if (i == 0 || !bj_slice_eq(g->node, r->gpu[i - 1].node)) {
            bj_buf_str(b, i > 0 ? "]," : "");
            bj_json_string(b, g->node.p ? g->node : BJ_SLICE(""));
            bj_buf_str(b, ":[");
        } else {
            bj_buf_str(b, ",");
        }
        bj_json_string(b, g->index.n > 0 ? g->index : g->gpu);
    }
    bj_buf_str(b, r->gpus > 0 ? "]}," : "},");
    if (r->gpus > 0)
        put_gpu_values(b, r);
    else
        bj_buf_str(b, "\"metrics\":{}}");
}

static void put_io(struct bj_buf *b, const struct bj_report *r,
                   const struct bj_petricore *x)
{
    put_int(b, "io\":{\"opened_files", x->number[BJ_PETRICORE_OPEN]);
    bj_buf_str(b, ",");
    put_ratio(b, "read\":{\"amount", r->figure[BJ_FIGURE_READ].used, MIB);
    bj_buf_str(b, ",\"unit\":\"MB\",");
    put_int(b, "count", x->number[BJ_PETRICORE_READS]);
    bj_buf_str(b, "},");
    put_ratio(b, "write\":{\"amount", r->figure[BJ_FIGURE_WRITE].used, MIB);
    bj_buf_str(b, ",\"unit\":\"MB\",");
    put_int(b, "count", x->number[BJ_PETRICORE_WRITES]);
    bj_buf_str(b, "}}");
}

static void put_usage(struct bj_buf *b, const struct bj_report *r,
                      const struct bj_petricore *x)
{
    struct bj_slice id = bj_report_text(r, BJ_REPORT_JOBID);
    const int64_t scratch = x->number[BJ_PETRICORE_SCRATCH];
    const int64_t elapsed = petricore_number(r, BJ_REPORT_ELAPSED);
    uint64_t n;
    bj_buf_str(b, "{");
    if (bj_slice_u64(id, &n) == 0 && n <= INT64_MAX)
        put_int(b, "jobid", (int64_t)n);
    else
        petricore_put_text(b, "jobid", id);
    bj_buf_str(b, ",");
    petricore_put_text(b, "sponsor", bj_report_text(r, BJ_REPORT_ACCOUNT));
    bj_buf_str(b, ",");
    petricore_put_text(b, "username", bj_report_text(r, BJ_REPORT_USER));
    bj_buf_str(b, ",\"runtime\":\"");
    bj_original_elapsed(elapsed > 0 ? (uint64_t)elapsed : 0, b);
    bj_buf_printf(b, "\",\"uses_scratch\":%s,",
                  scratch == BJ_SQL_NULL ? "null"
                  : scratch > 0          ? "\"True\""
                                         : "\"False\"");
    put_tres(b, r, x);
    bj_buf_str(b, ",");
    put_int(b, "threads\":{\"all", x->number[BJ_PETRICORE_THREADS]);
    bj_buf_str(b, "},");
    put_cpu(b, r);
    bj_buf_str(b, ",");
    put_memory(b, r);
    bj_buf_str(b, ",");
    petricore_put_gpus(b, r);
    bj_buf_str(b, ",");
    put_io(b, r, x);
    bj_buf_str(b, "}\n");
}

static int petricore_usage(struct bj_call *c)
{
    struct bj_arena arena = {0};
    struct bj_visible_job f;
    struct bj_report report = {.interactive = false};
    struct bj_petricore x;
    struct bj_params p;
    int r = bj_params_read(c, c->endpoint->params, &p);
    if (r == 0)
        r = petricore_read(c, &p, &f, &arena, &report, &x);
    if (r == 0) {
        c->reply->type = "application/json";
        put_usage(&c->reply->body, &report, &x);
    }
    bj_report_free(&report);
    bj_arena_free(&arena);
    return r;
}

/* --- a user ----------------------------------------------------------------
 */

struct person {
    struct bj_slice name;
    int64_t uid;
    bool found; /* there are jobs of this user */
};

/* Append the newest jobs that the caller may see, and get the user's uid from
 * one of them. */
static int petricore_put_jobs(struct bj_call *c, struct bj_params *p,
                              struct person *person, struct bj_buf *b)
{
    struct bj_query q = {0};
    struct bj_st *st = NULL;
    const int64_t most = (int64_t)c->worker->conf->max_rows;
    const int64_t limit = p->number[BJ_PARAM_LIMIT];
    int r = bj_params_put(c, p, BJ_BIT(BJ_PARAM_USER), BJ_SLICE("user"),
                          person->name);
    bj_query_sql(&q, "SELECT j.jobid, o.uid FROM job AS j LEFT JOIN owner AS o "
                     "ON o.id = j.owner WHERE 1 = 1");
    if (r == 0)
        r = bj_query_scope(&q, c, p, "j");
    bj_query_sql(&q, " ORDER BY j.at DESC, j.id DESC LIMIT ");
    bj_query_int(&q, p->given[BJ_PARAM_LIMIT] && limit < most ? limit : most);
    if (r == 0)
        r = bj_query_open(&q, c->reader, &st, &c->err);
    while (r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        struct bj_slice id = bj_st_get_text(st, 0);
        uint64_t n;
        bj_buf_str(b, person->found ? "," : "");
        if (bj_slice_u64(id, &n) == 0)
            bj_buf_slice(b, id);
        else
            bj_json_string(b, id);
        if (person->uid == BJ_SQL_NULL)
            person->uid = bj_st_get_i64(st, 1);
        person->found = true;
        r = 0;
    }
    bj_query_free(&q);
    return r;
}

/* Append the lines of the user in storage.file of one kind, as members of an
 * object; any: the object has members before them. */
static void put_storage(struct bj_buf *b, struct bj_slice all,
                        struct bj_slice user, const char *kind, bool any,
                        void (*put)(struct bj_buf *b,
                                    const struct bj_storage *s))
{
    struct bj_storage s;
    struct bj_err err;
    uint64_t line = 0;
    for (int r; (r = bj_storage_next(&all, &line, &s, &err)) != 0;) {
        if (r < 0 || !bj_slice_eq(s.user, user) ||
            !bj_slice_eq(s.kind, bj_slice_str(kind)))
            continue;
        bj_buf_str(b, any ? "," : "");
        any = true;
        bj_json_string(b, s.name);
        put(b, &s);
    }
}

static void put_path(struct bj_buf *b, const struct bj_storage *s)
{
    bj_buf_str(b, ":");
    bj_json_string(b, s->path.p ? s->path : BJ_SLICE(""));
}

static void put_bytes(struct bj_buf *b, const struct bj_storage *s)
{
    const int64_t n = s->used[BJ_STORAGE_BYTES];
    bj_buf_str(b, ":");
    if (n == BJ_SQL_NULL)
        bj_buf_str(b, "null");
    else
        bj_buf_printf(b, "%lld", (long long)n);
}

/* percentage is a fraction, as in petricore. */
static void put_files(struct bj_buf *b, const struct bj_storage *s)
{
    bj_buf_str(b, ":{");
    put_int(b, "file_count", s->used[BJ_STORAGE_FILES]);
    bj_buf_str(b, ",");
    put_ratio(b, "percentage", s->used[BJ_STORAGE_FILES],
              (double)s->limit[BJ_STORAGE_FILES]);
    bj_buf_str(b, "}");
}

/* Append projects and quotas, which only the user and admins see. */
static int put_projects(struct bj_call *c, const struct person *person,
                        struct bj_buf *b)
{
    const char *path = c->worker->conf->storage;
    struct bj_slice all = {0};
    char *text = NULL;
    int r = 0;
    if ((c->identity.admin ||
         bj_slice_eq(person->name, bj_slice_str(c->identity.user))) &&
        path && *path &&
        (r = bj_storage_read(path, &text, &all, &c->err)) < 0) {
        bj_call_log(c, "storage.file");
        r = bj_call_refuse(c, 503,
                           "Projects and quotas cannot be read at the moment.");
    }
    bj_buf_str(b, "],\"projects\":{");
    put_storage(b, all, person->name, "project", false, put_path);
    bj_buf_str(b, "},\"project_usages\":{\"unit\":\"B\"");
    put_storage(b, all, person->name, "project", true, put_bytes);
    bj_buf_str(b, "},\"file_usages\":{");
    put_storage(b, all, person->name, "quota", false, put_files);
    bj_buf_str(b, "}}\n");
    free(text);
    return r;
}

static int petricore_user(struct bj_call *c)
{
    struct person person = {.name = c->tail, .uid = BJ_SQL_NULL};
    struct bj_buf jobs = {0};
    struct bj_params p;
    int r = bj_params_read(c, c->endpoint->params, &p);
    if (r == 0)
        r = petricore_put_jobs(c, &p, &person, &jobs);
    if (r == 0 && !person.found &&
        !bj_slice_eq(person.name, bj_slice_str(c->identity.user)))
        r = bj_call_refuse(c, 404,
                           "The user does not exist, or you may not see it.");
    if (r == 0) {
        struct bj_buf *b = &c->reply->body;
        c->reply->type = "application/json";
        bj_buf_str(b, "{\"user\":{");
        petricore_put_text(b, "username", person.name);
        bj_buf_str(b, ",");
        put_int(b, "uid", person.uid);
        bj_buf_str(b, "},\"jobs\":[");
        bj_buf_slice(b, (struct bj_slice){jobs.p, jobs.len});
        b->failed |= jobs.failed;
        r = put_projects(c, &person, b);
    }
    bj_call_about(c, c->tail);
    bj_buf_free(&jobs);
    return r;
}

enum { JOB = BJ_BIT(BJ_PARAM_CLUSTER) | BJ_BIT(BJ_PARAM_MINE) };

/* --- /plot/JOB/METRIC ------------------------------------------------------
 */

static struct bj_slice metric_of(struct bj_slice name)
{
    static const struct {
        const char *theirs, *ours;
    } names[] = {
        {"cpu_percent", "cpus_used"},       {"cpu_time_total", "cpus_used"},
        {"system_time", "cpus_system"},     {"rss", "memory_rss_bytes"},
        {"read_mb", "read_bytes_per_sec"},  {"write_mb", "write_bytes_per_sec"},
        {"spawned_processes", "processes"}, {"thread_count", "threads"}};
    if (bj_slice_starts(name, BJ_SLICE("jobs_"))) {
        name.p += 5;
        name.n -= 5;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (bj_slice_eq(name, bj_slice_str(names[i].theirs)))
            return bj_slice_str(names[i].ours);
    return name;
}

/* The chart of a job on several nodes has a row for each node. */
static int prepare_metric(struct bj_call *c, struct bj_slice job,
                          struct bj_slice metric, struct bj_params *p,
                          struct bj_drawing *d)
{
    const int own = BJ_BIT(BJ_PARAM_METRIC) | BJ_BIT(BJ_PARAM_BY);
    struct bj_visible_job f;
    int r = bj_visible_job_find(c, p, job, &d->arena, &f);
    if (r == 0 && bj_series_find(metric) < 0)
        r = bj_call_refuse(c, 404, "There is no plot of this metric.");
    if (r == 0)
        r = bj_params_put(c, p, own, BJ_SLICE("metric"), metric);
    if (r == 0)
        r = bj_params_put(c, p, own, BJ_SLICE("by"),
                          f.nodes != BJ_SQL_NULL && f.nodes > 1
                              ? BJ_SLICE("node")
                              : BJ_SLICE("job"));
    return r == 0 ? bj_plot_prepare(c, p, job, d) : r;
}

static int prepare_plot(struct bj_call *c, struct bj_params *p,
                        struct bj_drawing *d)
{
    struct bj_slice rest = c->req->tail, job = {0}, word;
    bj_slice_field(&rest, '/', &word); /* "plot" */
    if (!bj_slice_field(&rest, '/', &job) || job.n == 0 || rest.n == 0 ||
        memchr(rest.p, '/', rest.n))
        return bj_call_refuse(c, 404, "This path does not exist.");
    return prepare_metric(c, job, metric_of(rest), p, d);
}

static int on_plot(struct bj_call *c)
{
    return bj_drawing_begin(c, prepare_plot);
}

/* --- /pie/JOB/ -------------------------------------------------------------
 */

static bool add_part(struct bj_charts *c, const char *name, int64_t usec,
                     bool rest)
{
    struct bj_chart *k = &c->chart[0];
    double *value = bj_arena_alloc(&c->arena, sizeof(*value));
    if (!value)
        return false;
    *value = (double)usec / 3.6e9;
    k->line[k->lines++] = (struct bj_chart_line){bj_local(name), value, rest};
    return true;
}

/* The allocated CPU time of the job: user, system, and unused. */
static bool make_pie(const struct bj_report *r, const struct bj_petricore *x,
                     struct bj_charts *c)
{
    const struct bj_report_figure *f = &r->figure[BJ_FIGURE_CPU];
    const int64_t system = x->number[BJ_PETRICORE_SYSTEM_USEC];
    bool good = true;
    if (f->used == BJ_SQL_NULL)
        return true;
    c->chart[0] =
        (struct bj_chart){.kind = BJ_CHART_PIE,
                          .title = bj_local("CPU time that the job had"),
                          .unit = BJ_CHART_HOURS,
                          .step = 1,
                          .points = 1};
    c->charts = 1;
    if (system >= 0 && system <= f->used)
        good = add_part(c, "user", f->used - system, false) &&
               add_part(c, "system", system, false);
    else
        good = add_part(c, "used", f->used, false);
    if (f->allocated != BJ_SQL_NULL && f->allocated > f->used)
        good = good && add_part(c, "not used", f->allocated - f->used, true);
    return good;
}

static int prepare_pie(struct bj_call *c, struct bj_params *p,
                       struct bj_drawing *d)
{
    struct bj_petricore x;
    int r = petricore_read(c, p, &d->f, &d->arena, &d->report, &x);
    if (r == 0 && !make_pie(&d->report, &x, &d->charts))
        r = bj_err_set(&c->err, -ENOMEM, "pie");
    if (r == 0 && d->charts.charts == 0)
        r = bj_call_refuse(c, 404, "The CPU time of this job is not known.");
    return r;
}

static int on_pie(struct bj_call *c)
{
    return bj_drawing_begin(c, prepare_pie);
}

static int after_pie(struct bj_call *c)
{
    struct bj_drawing *d = c->work;
    c->work = NULL;
    d->width = BJ_DRAW_WIDTH;
    int r = bj_drawing_image(c, d);
    bj_drawing_free(d);
    return r;
}

/* --- /mail/JOB -------------------------------------------------------------
 */

static int on_mail(struct bj_call *c)
{
    const struct bj_report_style style = {.ascii = true};
    struct bj_doc d = {.created_sec = 0};
    struct bj_buf *b = &c->reply->body;
    struct bj_arena arena = {0};
    struct bj_visible_job f;
    struct bj_report r = {.interactive = false};
    struct bj_petricore x;
    struct bj_params p;
    int e = bj_params_read(c, c->endpoint->params, &p);
    if (e == 0)
        e = petricore_read(c, &p, &f, &arena, &r, &x);
    if (e == 0) {
        c->reply->type = "text/plain; charset=utf-8";
        bj_report_document(&r, &d);
        bj_doc_print(&d, &style, b);
        bj_doc_free(&d);
        bj_buf_str(b, "\nPlots: /pdf/");
        bj_url_text(b, f.key);
        bj_buf_printf(b, "\n\nWARNING=%s\n",
                      bj_slice_eq(r.verdict.level, BJ_SLICE("warning")) ||
                              bj_slice_eq(r.verdict.level, BJ_SLICE("critical"))
                          ? "true"
                          : "false");
    }
    bj_report_free(&r);
    bj_arena_free(&arena);
    return e;
}

const struct bj_endpoint bj_endpoints_petricore[] = {
    {.path = "/plot/**",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_plot,
     .after = bj_plot_reply,
     .help =
         "A plot of one metric of a job, as in petricore: cpu_percent, rss, "
         "read_mb, and others.",
     .type = "image/png",
     .params = JOB | BJ_BIT(BJ_PARAM_WIDTH)},
    {.path = "/pie/*/",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_pie,
     .after = after_pie,
     .help = "CPU time of a job as a pie: user, system, not used; as in "
             "petricore.",
     .type = "image/png",
     .params = JOB},
    {.path = "/pdf/*",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = bj_pdf_prepare,
     .after = bj_pdf_reply,
     .help = "The same as report.pdf of the job, as in petricore.",
     .type = "application/pdf",
     .params = JOB | BJ_BIT(BJ_PARAM_PAPER)},
    {.path = "/mail/*",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_mail,
     .help = "The report of a job as text, and WARNING=true or false, as in "
             "petricore.",
     .type = "text/plain",
     .params = JOB},
    {.path = "/api/v1/jobs/*/usage",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = petricore_usage,
     .help = "What a job used, with the keys of petricore.",
     .params = JOB},
    {.path = "/api/v1/users/*",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = petricore_user,
     .help = "Jobs, projects and quotas of a user, with the keys of "
             "petricore.",
     .params = BJ_BIT(BJ_PARAM_CLUSTER) | BJ_BIT(BJ_PARAM_LIMIT)},
    {.path = NULL},
};

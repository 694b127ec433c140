#include "acct/report.h"

#include "base/html.h"
#include "base/json.h"
#include "base/local.h"
#include "report/chart/charts.h"
#include "report/form/json.h"
#include "report/form/programs.h"
#include "report/form/text.h"
#include "report/job/job.h"
#include "report/pdf/pdf.h"
#include "statsdb/job/job_name.h"

#include <string.h>

enum { KEY, CLUSTER, JOBID, ARRAY, COLUMNS };

/* The jobs to report on: the key of one run each. */
struct chosen {
    struct bj_slice key, id; /* id of a report: "alpha/a2000" */
    struct chosen *next;
};

struct choice {
    struct bj_arena arena;
    struct chosen *first, **last;
    struct bj_buf id;
};

/* --- selected jobs ---------------------------------------------------------
 */

static int on_job(void *ctx, const struct bj_acct_row *row, struct bj_err *err)
{
    struct choice *c = ctx;
    struct bj_job_value v[COLUMNS];
    struct bj_slice key = {0};
    int r = 0;
    c->id.len = 0;
    for (unsigned i = 0; r == 0 && i < COLUMNS; i++) {
        r = row->value(row->ctx, i, &v[i], err);
        if (i == KEY)
            key = bj_arena_copy(&c->arena, v[i].text);
        if (i == CLUSTER || i == JOBID) {
            bj_buf_slice(&c->id, v[i].text);
            bj_buf_str(&c->id, "/");
        }
    }
    if (r == 0 && c->id.failed)
        r = bj_err_set(err, -ENOMEM, "report");
    if (r == 0 && v[ARRAY].known) {
        c->id.len = v[CLUSTER].text.n;
        bj_buf_printf(&c->id, "/a%lld", (long long)v[ARRAY].number);
    }
    struct bj_slice id = {c->id.p, c->id.len};
    for (struct chosen *have = c->first; have; have = have->next)
        if (bj_slice_eq(have->id, id))
            return r; /* a newer run, or the same array */
    struct chosen *one = bj_arena_alloc(&c->arena, sizeof(*one));
    if (r < 0 || !one)
        return r < 0 ? r : bj_err_set(err, -ENOMEM, "report");
    *one = (struct chosen){key, bj_arena_copy(&c->arena, id), NULL};
    *c->last = one;
    c->last = &one->next;
    return c->arena.failed || c->id.failed ? bj_err_set(err, -ENOMEM, "report")
                                           : 0;
}

static int report_choose(const struct bj_acct_source *from,
                         const struct bj_acct_filter *filter, struct choice *c,
                         struct bj_err *err)
{
    static const char *const names[COLUMNS] = {[KEY] = "key",
                                               [CLUSTER] = "cluster",
                                               [JOBID] = "jobid",
                                               [ARRAY] = "array_job_id"};
    const struct bj_column *column[COLUMNS];
    for (unsigned i = 0; i < COLUMNS; i++)
        column[i] = bj_job_column(bj_slice_str(names[i]));
    c->last = &c->first;
    return from->jobs(from->source,
                      &(struct bj_acct_query){*filter, column, COLUMNS}, on_job,
                      c, err);
}

/* --- one report ------------------------------------------------------------
 */

/* Read a report from the store: 1, or 0 if the job has been removed. */
static int read_stored(struct bj_db *db, struct bj_slice key,
                       struct bj_report *ret, struct bj_err *err)
{
    int64_t job = BJ_SQL_NULL;
    int r = bj_job_name_newest(db, key, BJ_NAME_EXACT, &job, err);
    return r <= 0 ? r : bj_report_read(db, job, ret, err);
}

/* GET a part of a job from the server. */
static int get_part(const struct bj_acct_source *from, struct bj_slice key,
                    const char *part, struct bj_arena *arena,
                    const struct bj_json **ret, struct bj_err *err)
{
    struct bj_buf path = {0};
    struct bj_slice body = {0};
    const struct bj_json *doc = NULL;
    bj_buf_str(&path, "/api/v1/jobs/");
    bj_url_text(&path, key);
    bj_buf_str(&path, part);
    int r = path.failed
                ? bj_err_set(err, -ENOMEM, "request")
                : from->get(from->source, (struct bj_slice){path.p, path.len},
                            &body, err);
    if (r == 0)
        r = bj_json_parse(arena, body, "reply", NULL, &doc, err);
    *ret = bj_json_get(doc, "data");
    bj_buf_free(&path);
    return r;
}

static int read_remote(const struct bj_acct_source *from, struct bj_slice key,
                       struct bj_report *ret, struct bj_err *err)
{
    struct bj_arena arena = {0};
    const struct bj_json *data;
    int r = get_part(from, key, "/report", &arena, &data, err);
    if (r == 0)
        r = bj_report_parse(data, ret, err);
    bj_arena_free(&arena);
    return r < 0 ? r : 1;
}

/* The charts for a PDF, which only the server has.  If they fail, the report is
 * printed without them. */
static int read_charts(const struct bj_acct_source *from, struct bj_slice key,
                       struct bj_charts *ret, struct bj_err *err)
{
    struct bj_arena arena = {0};
    const struct bj_json *data;
    struct bj_err ignored = {0};
    if (!from->get)
        return 0;
    int r = get_part(from, key, "/charts", &arena, &data, &ignored);
    if (r == 0)
        r = bj_charts_parse(data, ret, &ignored);
    if (r < 0) {
        ret->charts = 0;
        ret->why = "The server did not answer with the curves.";
    }
    bj_arena_free(&arena);
    return r == -ENOMEM ? bj_err_set(err, r, "charts") : 0;
}

/* State of printing reports. */
struct printer {
    const struct bj_acct_report_look *look;
    const struct bj_acct_source *from;
    struct bj_slice key; /* key of the job */
    struct bj_buf out;
    uint64_t reports;
    struct bj_sheet *sheet; /* the pages of a PDF */
    struct bj_buf title;    /* title of the first report */
    int64_t created_sec;
};

static int print_pdf(struct printer *p, const struct bj_doc *d,
                     struct bj_err *err)
{
    struct bj_charts charts = {.charts = 0};
    int code = read_charts(p->from, p->key, &charts, err);
    if (p->reports == 0)
        bj_buf_slice(&p->title, d->whole_title);
    if (d->created_sec > p->created_sec)
        p->created_sec = d->created_sec;
    if (code == 0)
        code = bj_pdf_document(p->sheet, d, &charts, err);
    bj_charts_free(&charts);
    return code;
}

/* The forms for people are made from one document. */
static int print_document(struct printer *p, const struct bj_report *r,
                          struct bj_err *err)
{
    const struct bj_report_style style = {p->look->colour, p->look->ascii};
    struct bj_doc d = {.created_sec = 0};
    int code = 0;
    bj_report_document(r, &d);
    if (p->look->form == BJ_ACCT_PDF) {
        code = print_pdf(p, &d, err);
    } else {
        bj_buf_str(&p->out, p->reports > 0 ? "\n\n" : "");
        bj_doc_print(&d, &style, &p->out);
    }
    bj_doc_free(&d);
    return code;
}

static int print(struct printer *p, const struct bj_report *r,
                 struct bj_err *err)
{
    const struct bj_acct_report_look *look = p->look;
    struct bj_buf *out = &p->out;
    const bool first = p->reports == 0;
    switch (look->form) {
    case BJ_ACCT_SEFF:
        bj_buf_str(out, first ? "" : "\n");
        bj_report_seff(r, out);
        return 0;
    case BJ_ACCT_JOBSTATS:
        bj_report_jobstats(r, look->colour, out);
        return 0;
    case BJ_ACCT_JS1: {
        int code = bj_report_js1(r, out, err);
        bj_buf_str(out, "\n");
        return code;
    }
    case BJ_ACCT_REPORT_JSON:
        bj_buf_str(out, first ? "[\n" : ",\n");
        bj_report_write(r, out);
        return 0;
    default:
        return print_document(p, r, err);
    }
}

static int write_out(struct bj_buf *out, FILE *to, struct bj_err *err)
{
    if (out->failed)
        return bj_err_set(err, -ENOMEM, "output");
    if (fwrite(out->p, 1, out->len, to) != out->len || fflush(to) != 0)
        return bj_err_set(err, errno ? -errno : -EIO, "output");
    out->len = 0;
    return 0;
}

static int put_report(const struct bj_acct_source *from, struct bj_slice key,
                      struct printer *p, struct bj_err *err)
{
    struct bj_report report = {.interactive = false};
    int r = from->db ? read_stored(from->db, key, &report, err)
                     : read_remote(from, key, &report, err);
    if (r > 0) {
        p->key = key;
        r = print(p, &report, err);
        p->reports++;
    }
    bj_report_free(&report);
    return r < 0 ? r : write_out(&p->out, p->look->to, err);
}

/* Print the end of the output, after the last report. */
static int report_put_end(struct printer *p, struct bj_err *err)
{
    int r = 0;
    if (p->look->form == BJ_ACCT_REPORT_JSON) {
        bj_buf_str(&p->out, p->reports > 0 ? "\n]\n" : "[]\n");
    } else if (p->sheet && p->reports > 0) {
        if (p->reports > 1)
            bj_local_put(&p->title, " {and %llu more}",
                         (unsigned long long)p->reports - 1);
        bj_buf_put(&p->title, "", 1);
        r = p->title.failed
                ? bj_err_set(err, -ENOMEM, "output")
                : bj_sheet_write(p->sheet,
                                 &(struct bj_sheet_about){p->title.p,
                                                          BJ_PDF_JOB_SUBJECT,
                                                          p->created_sec},
                                 &p->out, err);
    }
    return r < 0 ? r : write_out(&p->out, p->look->to, err);
}

int bj_acct_report(const struct bj_acct_source *from,
                   const struct bj_acct_filter *filter,
                   const struct bj_acct_report_look *look,
                   uint64_t *ret_reports, struct bj_err *err)
{
    struct choice c = {.first = NULL};
    struct printer p = {.look = look, .from = from};
    int r = look->form == BJ_ACCT_PDF
                ? bj_sheet_new(look->letter, &p.sheet, err)
                : 0;
    if (r == 0)
        r = report_choose(from, filter, &c, err);
    for (const struct chosen *one = c.first; r == 0 && one; one = one->next)
        r = put_report(from, one->key, &p, err);
    if (r == 0)
        r = report_put_end(&p, err);
    *ret_reports = p.reports;
    bj_sheet_free(p.sheet);
    bj_buf_free(&p.out);
    bj_buf_free(&p.title);
    bj_buf_free(&c.id);
    bj_arena_free(&c.arena);
    return r;
}

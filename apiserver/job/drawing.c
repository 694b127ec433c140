#include "apiserver/job/drawing.h"

#include "apiserver/frame/room.h"
#include "apiserver/frame/state.h"
#include "apiserver/job/visible_job.h"
#include "report/pdf/draw.h"

#include <stdlib.h>

int bj_drawing_begin(struct bj_call *c, bj_drawing_step *prepare)
{
    struct bj_params p;
    int r = bj_params_read(c, c->endpoint->params, &p);
    if (r != 0)
        return r;
    struct bj_drawing *d = calloc(1, sizeof(*d));
    if (!d)
        return bj_err_set(&c->err, -ENOMEM, "drawing");
    d->server = c->worker->server;
    r = prepare(c, &p, d);
    if (r == 0)
        c->work = d;
    else
        bj_drawing_free(d);
    return r;
}

void bj_drawing_free(struct bj_drawing *d)
{
    if (!d)
        return;
    bj_series_free(d->one);
    bj_curves_free(&d->curves);
    bj_charts_free(&d->charts);
    bj_report_free(&d->report);
    bj_doc_free(&d->doc);
    bj_arena_free(&d->arena);
    free(d);
}

int bj_drawing_prepare(struct bj_call *c, struct bj_params *p,
                       struct bj_drawing *d)
{
    int r = bj_visible_job_find(c, p, c->tail, &d->arena, &d->f);
    if (r == 0)
        r = bj_job_report(c, d->f.job, &d->report);
    if (r != 0)
        return r;
    d->none = c->worker->prom ? bj_curves_none(c, &d->f) : "";
    d->curves.running = d->f.end == BJ_SQL_NULL;
    return d->none ? 0 : bj_curves_prepare(c, &d->f, &d->curves);
}

int bj_drawing_query(struct bj_call *c, struct bj_drawing *d)
{
    if (d->none) {
        d->charts.why = d->none[0] ? d->none : NULL;
        return 0;
    }
    bj_curves_query(c, &d->curves);
    return bj_curves_charts(&d->curves, &d->charts, &c->err);
}

int bj_drawing_reply(struct bj_call *c, const struct bj_drawing *d,
                     const struct bj_buf *bytes, const char *type)
{
    if (!bj_room_take_later(d->server)) {
        bj_call_header(c, "Retry-After", "1");
        return bj_call_refuse(c, 503,
                              "Too many responses are being sent; try again.");
    }
    bj_buf_put(&c->reply->body, bytes->p, bytes->len);
    c->reply->body.failed |= bytes->failed;
    c->reply->type = type;
    bj_room_give_later(d->server);
    return 0;
}

int bj_drawing_failed(struct bj_call *c, int code, const char *what)
{
    if (code == -ENOMEM)
        return code;
    bj_call_log(c, what);
    if (code == -ENOSYS)
        return bj_call_refuse(c, 501,
                              "This server cannot draw %s; its log names the "
                              "missing library.",
                              what);
    if (code == -EBUSY) {
        bj_call_header(c, "Retry-After", "1");
        return bj_call_refuse(c, 503,
                              "Too many drawings are in progress; try again.");
    }
    return bj_call_refuse(c, 503, "The %s could not be drawn.", what);
}

int bj_drawing_image(struct bj_call *c, struct bj_drawing *d)
{
    struct bj_buf png[BJ_CHARTS] = {{0}};
    int r =
        bj_draw_png(d->server->program, &d->charts, d->width, 2, png, &c->err);
    r = r == 0 ? bj_drawing_reply(c, d, &png[0], "image/png")
               : bj_drawing_failed(c, r, "PNG");
    for (unsigned i = 0; i < BJ_CHARTS; i++)
        bj_buf_free(&png[i]);
    return r;
}

/* --- PDF ----------------------------------------------------------------
 */

enum {
    JOB = BJ_BIT(BJ_PARAM_CLUSTER) | BJ_BIT(BJ_PARAM_MINE) |
          BJ_BIT(BJ_PARAM_PAPER)
};

int bj_drawing_paper(struct bj_call *c, const struct bj_params *p,
                     struct bj_drawing *d)
{
    struct bj_slice paper = bj_params_text(p, BJ_PARAM_PAPER);
    d->letter = bj_slice_eq(paper, BJ_SLICE("letter"));
    return paper.n == 0 || d->letter || bj_slice_eq(paper, BJ_SLICE("a4"))
               ? 0
               : bj_call_refuse(c, 400,
                                "The parameter paper must be a4 or letter.");
}

static int drawing_prepare(struct bj_call *c, struct bj_params *p,
                           struct bj_drawing *d)
{
    int r = bj_drawing_paper(c, p, d);
    return r == 0 ? bj_drawing_prepare(c, p, d) : r;
}

int bj_pdf_prepare(struct bj_call *c)
{
    return bj_drawing_begin(c, drawing_prepare);
}

int bj_pdf_reply(struct bj_call *c)
{
    struct bj_drawing *d = c->work;
    struct bj_buf pdf = {0};
    c->work = NULL;
    int r = bj_drawing_query(c, d);
    if (r == 0) {
        r = bj_draw_pdf(d->server->program, &d->report, &d->charts, d->letter,
                        &pdf, &c->err);
        r = r == 0 ? bj_drawing_reply(c, d, &pdf, "application/pdf")
                   : bj_drawing_failed(c, r, "PDF");
    }
    bj_buf_free(&pdf);
    bj_drawing_free(d);
    return r;
}

int bj_drawing_document(struct bj_call *c)
{
    struct bj_drawing *d = c->work;
    struct bj_buf pdf = {0};
    c->work = NULL;
    int r = bj_draw_document(d->server->program, &d->doc, &d->charts, d->letter,
                             &pdf, &c->err);
    r = r == 0 ? bj_drawing_reply(c, d, &pdf, "application/pdf")
               : bj_drawing_failed(c, r, "PDF");
    bj_buf_free(&pdf);
    bj_drawing_free(d);
    return r;
}

const struct bj_endpoint bj_endpoints_pdf[] = {
    {.path = "/api/v1/jobs/*/report.pdf",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = bj_pdf_prepare,
     .after = bj_pdf_reply,
     .help = "The report of a job as PDF, with its charts.",
     .type = "application/pdf",
     .params = JOB},
    {.path = NULL},
};

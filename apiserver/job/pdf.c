/* The report of a job as PDF, with its charts. */
#include "apiserver/frame/state.h"
#include "apiserver/job/drawing.h"
#include "report/pdf/draw.h"

enum {
    JOB = BJ_BIT(BJ_PARAM_CLUSTER) | BJ_BIT(BJ_PARAM_MINE) |
          BJ_BIT(BJ_PARAM_PAPER)
};

static int read_paper(struct bj_call *c, const struct bj_params *p,
                      struct bj_drawing *d)
{
    struct bj_slice paper = bj_params_text(p, BJ_PARAM_PAPER);
    d->letter = bj_slice_eq(paper, BJ_SLICE("letter"));
    return paper.n == 0 || d->letter || bj_slice_eq(paper, BJ_SLICE("a4"))
               ? 0
               : bj_call_refuse(c, 400,
                                "The parameter paper must be a4 or letter.");
}

static int prepare(struct bj_call *c, struct bj_params *p, struct bj_drawing *d)
{
    int r = read_paper(c, p, d);
    return r == 0 ? bj_drawing_prepare(c, p, d) : r;
}

int bj_pdf_prepare(struct bj_call *c)
{
    return bj_drawing_begin(c, prepare);
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

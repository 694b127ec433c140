/* The report of a job as PDF. */
#include "apiserver/report.h"

#include "apiserver/state.h"
#include "report/pdf.h"

enum {
    JOB = BJ_BIT(BJ_PARAM_CLUSTER) | BJ_BIT(BJ_PARAM_MINE) |
          BJ_BIT(BJ_PARAM_PAPER)
};

static int read_paper(struct bj_call *c, const struct bj_params *p, bool *ret)
{
    struct bj_slice paper = bj_params_text(p, BJ_PARAM_PAPER);
    *ret = bj_slice_eq(paper, BJ_SLICE("letter"));
    if (paper.n == 0 || *ret || bj_slice_eq(paper, BJ_SLICE("a4")))
        return 0;
    return bj_call_refuse(c, 400, "The parameter paper must be a4 or letter.");
}

static int draw(const struct bj_report *report, bool letter, struct bj_buf *out,
                struct bj_err *err)
{
    struct bj_sheet *s;
    struct bj_buf title = {0};
    int r = bj_sheet_new(letter, &s, err);
    if (r == 0)
        r = bj_pdf_job(s, report, true, err);
    if (r == 0) {
        bj_pdf_job_title(report, &title);
        bj_buf_put(&title, "", 1);
        r = title.failed ? bj_err_set(err, -ENOMEM, "PDF")
                         : bj_sheet_write(s,
                                          &(struct bj_sheet_about){
                                              title.p, BJ_PDF_JOB_SUBJECT,
                                              bj_pdf_job_time(report)},
                                          out, err);
    }
    bj_buf_free(&title);
    bj_sheet_free(s);
    return r;
}

static int on_pdf(struct bj_call *c)
{
    struct bj_params p;
    struct bj_report report = {.interactive = false};
    bool letter = false;
    int r = bj_params_read(c, JOB, &p);
    if (r == 0)
        r = read_paper(c, &p, &letter);
    if (r == 0)
        r = bj_report_find(c, &p, &report);
    if (r == 0) {
        c->reply->type = "application/pdf";
        r = draw(&report, letter, &c->reply->body, &c->err);
    }
    bj_report_free(&report);
    if (r != -ENOSYS)
        return r;
    bj_call_log(c, "PDF");
    return bj_call_refuse(
        c, 501,
        "This server cannot draw PDF; its log names the missing library.");
}

const struct bj_endpoint bj_endpoints_pdf[] = {
    {.path = "/api/v1/jobs/*/report.pdf",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_pdf,
     .help = "The report of a job as PDF.",
     .type = "application/pdf",
     .params = JOB},
    {.path = NULL},
};

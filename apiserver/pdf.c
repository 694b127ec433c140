#include "apiserver/pdf.h"

#include "apiserver/report.h"
#include "apiserver/state.h"
#include "base/command.h"
#include "base/json.h"
#include "report/json.h"
#include "report/pdf.h"

#include <stdio.h>
#include <string.h>

enum {
    JOB = BJ_BIT(BJ_PARAM_CLUSTER) | BJ_BIT(BJ_PARAM_MINE) |
          BJ_BIT(BJ_PARAM_PAPER),
    INPUT_BYTES = 16 << 20,
    OUTPUT_BYTES = 8 << 20,
    DEADLINE_USEC = 10000000
};

/* --- the process that draws ------------------------------------------------
 */

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

static int read_all(FILE *f, struct bj_buf *ret, struct bj_err *err)
{
    char piece[65536];
    size_t n;
    while ((n = fread(piece, 1, sizeof(piece), f)) > 0 && !ret->failed &&
           ret->len < INPUT_BYTES)
        bj_buf_put(ret, piece, n);
    return ret->failed             ? bj_err_set(err, -ENOMEM, "input")
           : ferror(f) || !feof(f) ? bj_err_set(err, -EIO, "input")
                                   : 0;
}

static int convert(bool letter, struct bj_buf *in, struct bj_buf *out,
                   struct bj_err *err)
{
    struct bj_arena arena = {0};
    struct bj_report report = {.interactive = false};
    const struct bj_json *doc = NULL;
    int r = read_all(stdin, in, err);
    if (r == 0)
        r = bj_json_parse(&arena, (struct bj_slice){in->p, in->len}, "report",
                          NULL, &doc, err);
    if (r == 0)
        r = bj_report_parse(doc, &report, err);
    if (r == 0)
        r = draw(&report, letter, out, err);
    if (r == 0 && (fwrite(out->p, 1, out->len, stdout) != out->len ||
                   fflush(stdout) != 0))
        r = bj_err_set(err, -EIO, "output");
    bj_report_free(&report);
    bj_arena_free(&arena);
    return r;
}

int bj_pdf_process(const char *paper)
{
    struct bj_buf in = {0}, out = {0};
    struct bj_err err = {0};
    char text[320];
    int r = convert(strcmp(paper, "letter") == 0, &in, &out, &err);
    bj_buf_free(&in);
    bj_buf_free(&out);
    if (r == 0)
        return 0;
    fprintf(stderr, "%s\n", bj_err_reason(&err, text, sizeof(text)));
    return r == -ENOSYS ? BJ_PDF_NO_LIBRARY : 1;
}

/* --- the endpoint ----------------------------------------------------------
 */

static int run_process(struct bj_call *c, struct bj_slice report,
                       const char *paper)
{
    const char *program = c->worker->server->program;
    const char *const argv[] = {program, BJ_PDF_COMMAND, paper, NULL};
    struct bj_command_result res = {.exit = -1};
    int r = !program ? bj_err_set(&c->err, -ENOSYS, "PDF")
                     : bj_command_run(
                           &(struct bj_command){.argv = argv,
                                                .input = report,
                                                .deadline_usec = DEADLINE_USEC,
                                                .max_bytes = OUTPUT_BYTES},
                           &res, &c->err);
    if (r == 0)
        bj_buf_put(&c->reply->body, res.out.p, res.out.len);
    bool missing = !program || res.exit == BJ_PDF_NO_LIBRARY;
    bj_command_result_free(&res);
    if (r == 0 || r == -ENOMEM)
        return r;
    bj_call_log(c, "PDF");
    return missing ? bj_call_refuse(c, 501,
                                    "This server cannot draw PDF; its log "
                                    "names the missing library.")
                   : bj_call_refuse(c, 503, "The PDF could not be drawn.");
}

static int write_pdf(struct bj_call *c, const struct bj_report *report,
                     const char *paper)
{
    struct bj_buf json = {0};
    bj_report_write(report, &json);
    int r = json.failed
                ? bj_err_set(&c->err, -ENOMEM, "PDF")
                : run_process(c, (struct bj_slice){json.p, json.len}, paper);
    bj_buf_free(&json);
    if (r == 0)
        c->reply->type = "application/pdf";
    return r;
}

static int on_pdf(struct bj_call *c)
{
    struct bj_params p;
    struct bj_report report = {.interactive = false};
    int r = bj_params_read(c, JOB, &p);
    struct bj_slice paper = bj_params_text(&p, BJ_PARAM_PAPER);
    const bool letter = bj_slice_eq(paper, BJ_SLICE("letter"));
    if (r == 0 && paper.n > 0 && !letter && !bj_slice_eq(paper, BJ_SLICE("a4")))
        r = bj_call_refuse(c, 400, "The parameter paper must be a4 or letter.");
    if (r == 0)
        r = bj_report_find(c, &p, &report);
    if (r == 0)
        r = write_pdf(c, &report, letter ? "letter" : "a4");
    bj_report_free(&report);
    return r;
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

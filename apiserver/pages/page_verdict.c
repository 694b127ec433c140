#include "apiserver/job/report.h"
#include "apiserver/pages/page_job.h"
#include "base/html.h"
#include "base/local.h"
#include "report/model/show.h"

static void put_text(struct bj_buf *b, const char *before, struct bj_slice s,
                     const char *behind)
{
    if (s.n == 0)
        return;
    bj_buf_str(b, before);
    bj_html_text(b, s);
    bj_buf_str(b, behind);
}

static void put_sentence(struct bj_buf *b, const char *before,
                         struct bj_slice s, const char *behind)
{
    if (s.n == 0)
        return;
    bj_buf_str(b, before);
    bj_show_advice_html(b, s);
    bj_buf_str(b, behind);
}

/* Append a URL of the site if it is a link to a page. */
static void put_url(struct bj_buf *b, struct bj_slice url)
{
    if (bj_slice_starts(url, BJ_SLICE("https://")) ||
        bj_slice_starts(url, BJ_SLICE("http://")) ||
        bj_slice_starts(url, BJ_SLICE("/"))) {
        put_text(b, " <a href=\"", url, "\">");
        bj_local_html(b, "{More about this}</a>");
    }
}

/* --- findings and advice ---------------------------------------------------
 */

static void put_advice(struct bj_buf *b, const struct bj_report *r)
{
    for (size_t i = 0; i < r->advices; i++) {
        const struct bj_report_advice *a = &r->advice[i];
        if (i == 0)
            bj_local_html(b, "<h3>{What to change}</h3>\n<ul>");
        put_sentence(b, "<li>", a->text, "");
        put_text(b, "<br><code>", a->line, "</code>");
        put_url(b, a->url);
        bj_buf_str(b, "</li>\n");
    }
    bj_buf_str(b, r->advices > 0 ? "</ul>\n" : "");
    put_text(b, "<p class=\"sub\">", r->next.note, "</p>\n");
}

static void put_findings(struct bj_buf *b, const struct bj_report *r)
{
    if (r->findings > 0)
        bj_local_html(b,
                      r->findings == 1 ? "<h3>{%zu finding}</h3>\n<ul>"
                                       : "<h3>{%zu findings}</h3>\n<ul>",
                      r->findings);
    for (size_t i = 0; i < r->findings; i++) {
        const struct bj_report_finding *f = &r->finding[i];
        put_text(b, "<li><b class=\"", f->severity, "\">");
        put_text(b, "", f->severity, "</b> ");
        put_text(b, "<bdi>", f->text, "</bdi>");
        put_url(b, f->url);
        bj_buf_str(b, "</li>\n");
    }
    bj_buf_str(b, r->findings > 0 ? "</ul>\n" : "");
}

static void put_warnings(struct bj_buf *b, const struct bj_report *r)
{
    for (size_t i = 0; i < r->warnings; i++) {
        if (i == 0)
            bj_local_html(b, "<h3>{Warnings}</h3>\n<ul>");
        bj_buf_str(b, "<li>");
        bj_page_time(b, r->warning[i].at);
        put_text(b, ": <bdi>", r->warning[i].text, "</bdi></li>\n");
    }
    bj_buf_str(b, r->warnings > 0 ? "</ul>\n" : "");
}

/* --- the verdict -----------------------------------------------------------
 */

static void put_running(struct bj_buf *b, const struct bj_job_page *g)
{
    double v = g->fact[BJ_JOB_ELAPSED], limit = g->fact[BJ_JOB_LIMIT];
    if (strcmp(g->state, "running") != 0 || v - v != 0)
        return;
    bj_local_html(b, "<p>{It has been running for} ");
    bj_page_amount(b, BJ_SHOW_SECONDS, v);
    if (limit - limit == 0) {
        bj_local_html(b, " {of} ");
        bj_page_amount(b, BJ_SHOW_SECONDS, limit);
    }
    bj_buf_str(b, ".</p>\n");
}

/* Which nodes and GPUs of a running job are idle. */
static void put_idle(struct bj_buf *b, const struct bj_report *r)
{
    struct bj_buf idle = {0};
    bj_report_idle(r, &idle);
    if (idle.len > 0)
        put_text(b, "<p>", (struct bj_slice){idle.p, idle.len}, "</p>\n");
    b->failed |= idle.failed;
    bj_buf_free(&idle);
}

static void put_report(struct bj_buf *b, const struct bj_job_page *g,
                       const struct bj_report *r)
{
    const struct bj_report_verdict *v = &r->verdict;
    put_text(b, "<section class=\"verdict ", v->level, "\">");
    put_text(b, "<h2><bdi>", v->wrong, "</bdi></h2>\n");
    put_running(b, g);
    put_idle(b, r);
    put_text(b, "<p>", v->cost, "</p>\n");
    /* Unless it is the first of the list below. */
    if (r->advices == 0 || !bj_slice_eq(v->todo, r->advice[0].text))
        put_sentence(b, "<p><b>", v->todo, "</b></p>\n");
    put_advice(b, r);
    put_findings(b, r);
    put_warnings(b, r);
    bj_buf_str(b, "<p class=\"sub screen\"><a href=\"../api/v1/jobs/");
    bj_url_text(b, bj_report_text(r, BJ_REPORT_KEY));
    bj_local_html(b, "/report.pdf\">{Report as PDF}</a></p>\n</section>\n");
}

int bj_job_verdict(struct bj_call *c, struct bj_job_page *g)
{
    struct bj_report report = {.interactive = false};
    int r = bj_job_report(c, g->f.job, &report);
    if (r == 0)
        put_report(&c->reply->body, g, &report);
    if (r == 0)
        r = bj_job_array(c, &report);
    g->is_array_task = report.array.tasks > 1;
    if (r == 0)
        bj_job_parts(&g->parts, &report);
    if (r == 0 && bj_job_has_ended(g))
        bj_job_figures(&g->figures, &report);
    bj_report_free(&report);
    return r;
}

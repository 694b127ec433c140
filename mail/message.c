#include "mail/message.h"

#include "base/hash.h"
#include "base/html.h"
#include "base/local.h"
#include "mail/mime.h"
#include "mail/plots.h"
#include "report/form/html.h"
#include "report/form/text.h"
#include "report/job/job.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SUBJECT_MAX = 120 };

/* The pieces of a message; freed together. */
struct parts {
    /* values for both forms, except: */
    struct bj_slice value[BJ_MAIL_WORD_COUNT];
    struct bj_buf title, about, text_report, html_report;
    struct bj_buf text_link, html_link, text_stop, html_stop;
    struct bj_buf subject, text, html;
    struct bj_mail_plots plots;
};

static void free_parts(struct parts *p)
{
    struct bj_buf *const all[] = {
        &p->title,     &p->text_report, &p->html_report, &p->text_link,
        &p->html_link, &p->text_stop,   &p->html_stop,   &p->subject,
        &p->text,      &p->html,        &p->about};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        bj_buf_free(all[i]);
    bj_mail_plots_free(&p->plots);
}

static bool has_failed(const struct parts *p)
{
    return p->title.failed || p->text_report.failed || p->html_report.failed ||
           p->text_link.failed || p->html_link.failed || p->text_stop.failed ||
           p->html_stop.failed || p->subject.failed || p->text.failed ||
           p->html.failed || p->about.failed;
}

static struct bj_slice slice(const struct bj_buf *b)
{
    return (struct bj_slice){b->p, b->len};
}

void bj_mail_name(struct bj_slice key, char ret[static BJ_MAIL_NAME_MAX])
{
    uint64_t a = bj_hash(BJ_HASH, key), b = bj_hash(bj_hash_unit(a, 256), key);
    snprintf(ret, BJ_MAIL_NAME_MAX, "%016" PRIx64 "%016" PRIx64, a, b);
}

/* --- links -----------------------------------------------------------------
 */

static void put_url(const struct bj_mail_conf *c, const char *path,
                    struct bj_buf *out)
{
    size_t n = strlen(c->url);
    bj_buf_put(out, c->url, n > 0 && c->url[n - 1] == '/' ? n - 1 : n);
    bj_buf_str(out, path);
}

/* Append a page below mail.url, as text and as a link. */
static void message_put_page(const struct bj_mail_conf *c, const char *words,
                             const char *path, struct bj_slice last,
                             struct parts *p)
{
    struct bj_buf url = {0};
    if (!bj_is_set(c->url))
        return;
    put_url(c, path, &url);
    bj_url_text(&url, last);
    bj_buf_printf(&p->text_link, "%s:\n", bj_local(words));
    bj_buf_slice(&p->text_link, slice(&url));
    bj_buf_str(&p->text_link, "\n");
    bj_buf_str(&p->html_link, "<a href=\"");
    bj_html_text(&p->html_link, slice(&url));
    bj_buf_printf(&p->html_link, "\">%s</a>", bj_local_escaped(words));
    p->html_link.failed |= url.failed;
    bj_buf_free(&url);
}

static void put_both(struct parts *p, const char *text)
{
    bj_buf_printf(&p->text_stop, "%s ", bj_local(text));
    bj_html_text(&p->html_stop, bj_slice_str(bj_local(text)));
    bj_buf_str(&p->html_stop, " ");
}

static void put_choice(const struct bj_mail_conf *c, struct parts *p)
{
    struct bj_buf url = {0};
    put_url(c, "/mail", &url);
    bj_local_str(&p->text_stop, "{Change that}:\n");
    bj_buf_slice(&p->text_stop, slice(&url));
    bj_buf_str(&p->text_stop, "\n");
    bj_buf_str(&p->html_stop, "<a href=\"");
    bj_html_text(&p->html_stop, slice(&url));
    bj_local_html_str(&p->html_stop, "\">{Change that}</a>. ");
    p->html_stop.failed |= url.failed;
    bj_buf_free(&url);
}

/* A warning cannot be turned off: the job may be cancelled. */
static void put_stop(const struct bj_mail_conf *c, enum bj_mail_kind kind,
                     struct parts *p)
{
    struct bj_slice to = bj_slice_str(c->reply_to);
    bool own = kind != BJ_MAIL_WARNING, page = bj_is_set(c->url);
    put_both(p, own ? "You get this mail because you, or your site, chose "
                      "mails about your jobs."
                    : "You get this warning because the job holds resources "
                      "that other jobs wait for.");
    if (own && page)
        put_choice(c, p);
    put_both(p, own && !page ? "To change that, write to" : "Questions:");
    bj_buf_slice(&p->text_stop, to);
    bj_buf_str(&p->text_stop, ".");
    bj_buf_str(&p->html_stop, "<a href=\"mailto:");
    bj_html_text(&p->html_stop, to);
    bj_buf_str(&p->html_stop, "\">");
    bj_html_text(&p->html_stop, to);
    bj_buf_str(&p->html_stop, "</a>.");
}

/* --- the message -----------------------------------------------------------
 */

static int message_finish(const struct bj_mail_writer *w,
                          const struct bj_mail_for *to, enum bj_mail_kind kind,
                          struct parts *p, struct bj_buf *out,
                          struct bj_err *err)
{
    char name[BJ_MAIL_NAME_MAX];
    const struct bj_mail_conf *c = w->conf;
    struct bj_slice *v = p->value;
    put_stop(c, kind, p);
    v[BJ_MAIL_TITLE] = slice(&p->title);
    v[BJ_MAIL_USER] = to->user;
    v[BJ_MAIL_REPORT] = slice(&p->text_report);
    v[BJ_MAIL_LINK] = slice(&p->text_link);
    v[BJ_MAIL_STOP] = slice(&p->text_stop);
    bj_mail_fill(w->templates, kind, BJ_MAIL_SUBJECT, v, &p->subject);
    bj_mail_fill(w->templates, kind, BJ_MAIL_TEXT, v, &p->text);
    v[BJ_MAIL_REPORT] = slice(&p->html_report);
    v[BJ_MAIL_LINK] = slice(&p->html_link);
    v[BJ_MAIL_STOP] = slice(&p->html_stop);
    bj_mail_fill(w->templates, kind, BJ_MAIL_HTML, v, &p->html);
    if (has_failed(p))
        return bj_err_set(err, -ENOMEM, "mail");
    bj_mail_name(to->key, name);
    struct bj_slice subject = slice(&p->subject);
    bool cut = subject.n > SUBJECT_MAX;
    while (cut && subject.n > 0 &&
           (subject.n > SUBJECT_MAX ||
            ((unsigned char)subject.p[subject.n] & 0xc0) == 0x80))
        subject.n--;
    const struct bj_mail m = {.from_name = bj_slice_str(c->from_name),
                              .from = bj_slice_str(c->from),
                              .to = bj_slice_str(to->to),
                              .reply_to = bj_slice_str(c->reply_to),
                              .subject = subject,
                              .message_id = bj_slice_str(name),
                              .date_sec = to->date_sec,
                              .unsubscribe_mail = bj_slice_str(
                                  kind == BJ_MAIL_WARNING ? "" : c->reply_to),
                              .text = slice(&p->text),
                              .html = slice(&p->html),
                              .image = p->plots.image,
                              .images = p->plots.images};
    bj_mail_write(&m, out);
    return out->failed ? bj_err_set(err, -ENOMEM, "mail") : 0;
}

/* "relax (completed), account phys, partition long, cluster alpha" */
static void put_about(const struct bj_report *r, struct parts *p)
{
    static const struct {
        enum bj_report_column column;
        const char *before;
    } words[] = {{BJ_REPORT_ACCOUNT, ", {account} "},
                 {BJ_REPORT_PARTITION, ", {partition} "},
                 {BJ_REPORT_CLUSTER, ", {cluster} "}};
    bj_buf_clean(&p->about, bj_report_text(r, BJ_REPORT_NAME));
    bj_buf_str(&p->about, " (");
    bj_buf_clean(&p->about, p->value[BJ_MAIL_STATE]);
    bj_buf_str(&p->about, ")");
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        struct bj_slice s = bj_report_text(r, words[i].column);
        bj_local_str(&p->about, s.n > 0 ? words[i].before : "");
        bj_buf_clean(&p->about, s);
    }
    p->value[BJ_MAIL_ABOUT] = slice(&p->about);
}

static void set_job_values(const struct bj_report *r, struct parts *p)
{
    static const struct {
        enum bj_mail_word word;
        enum bj_report_column column;
    } columns[] = {{BJ_MAIL_JOB, BJ_REPORT_DISPLAY_ID},
                   {BJ_MAIL_NAME, BJ_REPORT_NAME},
                   {BJ_MAIL_ACCOUNT, BJ_REPORT_ACCOUNT},
                   {BJ_MAIL_PARTITION, BJ_REPORT_PARTITION},
                   {BJ_MAIL_CLUSTER, BJ_REPORT_CLUSTER}};
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        p->value[columns[i].word] = bj_report_text(r, columns[i].column);
    p->value[BJ_MAIL_STATE] = bj_report_state(r);
    p->value[BJ_MAIL_LEVEL] = r->verdict.level;
    p->value[BJ_MAIL_VERDICT] = r->verdict.wrong;
    p->value[BJ_MAIL_COST] = r->verdict.cost;
    p->value[BJ_MAIL_TODO] = r->verdict.todo;
    if (r->array.tasks > 1) {
        bj_local_put(&p->title, "{Array} %lld",
                     (long long)bj_report_number(r, BJ_REPORT_ARRAY));
    } else {
        bj_local_str(&p->title, "{Job} ");
        bj_buf_clean(&p->title, bj_report_text(r, BJ_REPORT_DISPLAY_ID));
    }
    put_about(r, p);
}

/* Append the plots to both forms of the report. */
static void put_plots(struct parts *p)
{
    bj_mail_plots_text(&p->plots, &p->text_report);
    bj_mail_plots_html(&p->plots, &p->html_report);
}

static int write_job(const struct bj_mail_writer *w,
                     const struct bj_mail_for *to, const struct bj_report *r,
                     enum bj_mail_kind kind, struct bj_slice next,
                     struct bj_buf *out, struct bj_err *err)
{
    struct parts p = {.title = {0}};
    struct bj_doc d = {.created_sec = 0};
    const struct bj_report_style style = {.ascii = true};
    char name[BJ_MAIL_NAME_MAX];
    int e = 0;
    bj_mail_name(to->key, name);
    set_job_values(r, &p);
    p.value[BJ_MAIL_NEXT] = next;
    if (kind == BJ_MAIL_OF_JOB)
        e = bj_mail_plots_of_job(w->plots, r, name, to->date_sec, &p.plots,
                                 err);
    bj_report_document(r, &d);
    bj_doc_print(&d, &style, &p.text_report);
    bj_doc_html(&d, &p.html_report);
    bj_doc_free(&d);
    put_plots(&p);
    message_put_page(w->conf, "More about this job", "/jobs/",
                     bj_report_text(r, BJ_REPORT_KEY), &p);
    if (e == 0)
        e = message_finish(w, to, kind, &p, out, err);
    free_parts(&p);
    return e;
}

int bj_mail_of_job(const struct bj_mail_writer *w, const struct bj_mail_for *to,
                   const struct bj_report *r, struct bj_buf *out,
                   struct bj_err *err)
{
    return write_job(w, to, r, BJ_MAIL_OF_JOB, BJ_SLICE(""), out, err);
}

int bj_mail_of_warning(const struct bj_mail_writer *w,
                       const struct bj_mail_for *to, const struct bj_report *r,
                       struct bj_slice next, struct bj_buf *out,
                       struct bj_err *err)
{
    return write_job(w, to, r, BJ_MAIL_WARNING, next, out, err);
}

int bj_mail_of_period(const struct bj_mail_writer *w,
                      const struct bj_mail_for *to, const struct bj_period *p,
                      const char *title, struct bj_buf *out, struct bj_err *err)
{
    struct parts parts = {.title = {0}};
    struct bj_doc d = {.created_sec = 0};
    const struct bj_report_style style = {.ascii = true};
    char name[BJ_MAIL_NAME_MAX];
    bj_mail_name(to->key, name);
    bj_buf_str(&parts.title, title);
    int e = bj_mail_plots_of_period(w->plots, p, name, &parts.plots, err);
    bj_period_document(p, title, &d);
    bj_doc_print(&d, &style, &parts.text_report);
    bj_doc_html(&d, &parts.html_report);
    bj_doc_free(&d);
    put_plots(&parts);
    message_put_page(w->conf, "All your jobs", "/jobs?user=", to->user, &parts);
    if (e == 0)
        e = message_finish(w, to, BJ_MAIL_DIGEST, &parts, out, err);
    free_parts(&parts);
    return e;
}

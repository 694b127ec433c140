#include "report/form/html.h"

#include "base/html.h"
#include "base/local.h"
#include "report/model/show.h"
#include "store/db.h"

#include <inttypes.h>

enum { PERCENT = 10000 /* millionths */ };

static void html_put(struct bj_buf *b, const char *before, struct bj_slice s,
                     const char *behind)
{
    if (s.n == 0)
        return;
    bj_buf_str(b, before);
    bj_html_text(b, s);
    bj_buf_str(b, behind);
}

static void html_put_advice(struct bj_buf *b, const char *before,
                            struct bj_slice s, const char *behind)
{
    if (s.n == 0)
        return;
    bj_buf_str(b, before);
    bj_show_advice_html(b, s);
    bj_buf_str(b, behind);
}

static void html_title(struct bj_buf *b, struct bj_slice title)
{
    html_put(b, "<h2>", title, "</h2>\n");
}

/* A section of sentences; before: the tag of each. */
static void html_sentences(struct bj_buf *b, const char *before,
                           const struct bj_doc_section *s)
{
    for (size_t i = 0; i < s->rows; i++)
        html_put(b, before, bj_doc_cell(s, i, BJ_DOC_SENTENCE)->text, "</p>\n");
}

/* --- the verdict, advice and findings --------------------------------------
 */

/* A link to a page of the site, on a page also one below its server; others are
 * left out. */
static void html_url(struct bj_buf *b, const struct bj_html_page *page,
                     struct bj_slice url)
{
    if (!bj_slice_starts(url, BJ_SLICE("https://")) &&
        !bj_slice_starts(url, BJ_SLICE("http://")) &&
        !(page && bj_slice_starts(url, BJ_SLICE("/"))))
        return;
    html_put(b, " <a href=\"", url, "\">");
    bj_local_html_str(b, "{More about this}</a>");
}

static void html_item(struct bj_buf *b, const struct bj_html_page *page,
                      const struct bj_doc_section *s, enum bj_doc_name name,
                      size_t i)
{
    const struct bj_slice mark = bj_doc_cell(s, i, BJ_DOC_MARK)->text,
                          text = bj_doc_cell(s, i, BJ_DOC_ITEM)->text;
    if (name == BJ_DOC_ADVICE) {
        html_put_advice(b, "<li>", text, "");
    } else if (name == BJ_DOC_FINDINGS && page) {
        bj_buf_str(b, "<li>");
        page->mark(b, mark);
        bj_buf_str(b, " ");
    } else if (name == BJ_DOC_FINDINGS) {
        html_put(b, "<li><b class=\"", mark, "\">");
        html_put(b, "", mark, "</b> ");
    } else {
        html_put(b, "<li>", mark, ": ");
    }
    if (name != BJ_DOC_ADVICE)
        html_put(b, "<bdi>", text, "</bdi>");
    if (!page)
        html_put(b, "<br><code>", bj_doc_cell(s, i, BJ_DOC_LINE)->text,
                 "</code>");
    html_url(b, page, bj_doc_cell(s, i, BJ_DOC_URL)->text);
    bj_buf_str(b, "</li>\n");
}

/* The lines of the next request in one piece, to copy. */
static void html_lines(struct bj_buf *b, const struct bj_doc_section *s)
{
    bool any = false;
    for (size_t i = 0; i < s->rows; i++) {
        const struct bj_slice line = bj_doc_cell(s, i, BJ_DOC_LINE)->text;
        html_put(b, any ? "\n" : "<pre class=\"lines\" data-copy><code>", line,
                 "");
        any |= line.n > 0;
    }
    bj_buf_str(b, any ? "</code></pre>\n" : "");
}

static void html_list(struct bj_buf *b, const struct bj_html_page *page,
                      const struct bj_doc *d, enum bj_doc_name name)
{
    const struct bj_doc_section *s = &d->section[name];
    if (s->rows > 0) {
        html_put(b, page ? "<h3>" : "<h2>", bj_slice_str(s->title),
                 page ? "</h3>\n" : "</h2>\n");
        if (page && name == BJ_DOC_ADVICE)
            html_lines(b, s);
        bj_buf_str(b, page ? "<ul class=\"why\">\n" : "<ul>\n");
    }
    for (size_t i = 0; i < s->rows; i++)
        html_item(b, page, s, name, i);
    bj_buf_str(b, s->rows > 0 ? "</ul>\n" : "");
    html_put(b, page ? "<p class=\"sub\">" : "<p>", s->note, "</p>\n");
}

static bool html_is_list(enum bj_doc_name name)
{
    return name == BJ_DOC_ADVICE || name == BJ_DOC_FINDINGS ||
           name == BJ_DOC_WARNINGS;
}

/* What was wrong, for how long a job runs, what that cost, what to do.  The box
 * of a page has the idle nodes and GPUs, and the lists, which begin with what
 * to do. */
static void html_verdict(struct bj_buf *b, const struct bj_html_page *page,
                         const struct bj_doc *d)
{
    const struct bj_doc_section *s = &d->section[BJ_DOC_VERDICT],
                                *advice = &d->section[BJ_DOC_ADVICE];
    const struct bj_slice level = bj_doc_cell(s, 0, BJ_DOC_LEVEL)->text,
                          todo = bj_doc_cell(s, 0, BJ_DOC_TODO)->text;
    html_put(b,
             page ? "<section class=\"card verdict " : "<div class=\"verdict ",
             level, "\">\n");
    if (page)
        page->mark(b, level);
    html_put(b, "<h2 class=\"", level, "\">");
    html_put(b, "<bdi>", bj_doc_cell(s, 0, BJ_DOC_WRONG)->text,
             "</bdi></h2>\n");
    html_sentences(b, "<p>", &d->section[BJ_DOC_RUNNING]);
    if (page)
        html_sentences(b, "<p>", &d->section[BJ_DOC_IDLE]);
    html_put(b, "<p>", bj_doc_cell(s, 0, BJ_DOC_COST)->text, "</p>\n");
    if (!page || advice->rows == 0 ||
        !bj_slice_eq(todo, bj_doc_cell(advice, 0, BJ_DOC_ITEM)->text))
        html_put_advice(b, "<p><b>", todo, "</b></p>\n");
    for (enum bj_doc_name i = 0; page && i < BJ_DOC_SECTIONS; i++)
        if (html_is_list(i))
            html_list(b, page, d, i);
    bj_buf_str(b, page ? "</section>\n" : "</div>\n");
}

/* --- rows with columns -----------------------------------------------------
 */

enum html_kind {
    HTML_TEXT,
    HTML_LABEL,  /* the heading of its row */
    HTML_NUMBER, /* aligned to the right */
    HTML_BAR,    /* a mail: a number with a bar, which narrow screens leave out;
                    a page: a meter */
    HTML_NAME,   /* free text; narrow screens leave it out */
    HTML_NOTE,   /* on pages: where the value is from, and what was requested */
    HTML_NODE,   /* on pages: a link */
    HTML_JOB     /* on pages: the id of a job, as a link */
};

struct html_column {
    unsigned char column;
    enum html_kind kind;
    unsigned char small; /* a smaller text after it; 0: none */
};

struct html_table {
    enum bj_doc_name name;
    bool has_head; /* it has no units then */
    bool is_least; /* the title says that there are more rows */
    size_t rows;   /* of a mail, at most; 0: all */
    unsigned columns;
    struct html_column column[BJ_DOC_COLUMNS];
};

static void html_bar(struct bj_buf *b, const struct bj_doc_cell *cell)
{
    const int64_t percent = cell->ppm < 0               ? 0
                            : cell->ppm / PERCENT > 100 ? 100
                                                        : cell->ppm / PERCENT;
    bj_buf_str(b, "<td class=\"phone\">");
    if (cell->ppm != BJ_SQL_NULL)
        bj_buf_printf(b,
                      "<div class=\"bar\"><div style=\"width:%" PRId64
                      "%%\"></div></div>",
                      percent);
    bj_buf_str(b, "</td>");
}

static void html_link(struct bj_buf *b, const char *path, struct bj_slice name)
{
    if (name.n == 0)
        return;
    bj_buf_printf(b, "<a href=\"%s", path);
    bj_url_text(b, name);
    html_put(b, "\">", name, "</a>");
}

/* "nodes, measured; requested 8 GiB" */
static void html_note(struct bj_buf *b, const struct bj_doc_section *s,
                      size_t row)
{
    const struct bj_slice source = bj_doc_cell(s, row, BJ_DOC_SOURCE)->text,
                          asked = bj_doc_cell(s, row, BJ_DOC_REQUESTED)->text;
    bj_html_text(b, source);
    if (asked.n == 0 ||
        bj_slice_eq(asked, bj_doc_cell(s, row, BJ_DOC_ALLOCATED)->text))
        return;
    bj_local_html_str(b, source.n > 0 ? "; {requested} " : "{requested} ");
    bj_html_text(b, asked);
}

static void html_cell(struct bj_buf *b, const struct bj_html_page *page,
                      const struct bj_doc_section *s, size_t row,
                      const struct html_table *t, const struct html_column *c)
{
    static const char *const open[] = {[HTML_TEXT] = "<td>",
                                       [HTML_LABEL] = "<th scope=\"row\">",
                                       [HTML_NUMBER] = "<td class=\"n\">",
                                       [HTML_BAR] = "<td class=\"n\">",
                                       [HTML_NAME] =
                                           "<td class=\"phone\"><bdi>",
                                       [HTML_NOTE] = "<td class=\"note\">",
                                       [HTML_NODE] = "<td>",
                                       [HTML_JOB] = "<td>"};
    const struct bj_doc_cell *cell = bj_doc_cell(s, row, c->column);
    const bool bar = c->kind == HTML_BAR;
    bj_buf_str(b, bar && page ? "<td>" : open[c->kind]);
    if (bar && page && cell->ppm != BJ_SQL_NULL)
        page->meter(b, cell->judge, cell->ppm);
    else if (c->kind == HTML_NOTE)
        html_note(b, s, row);
    else if (c->kind == HTML_JOB || (c->kind == HTML_NODE && page))
        html_link(b, c->kind == HTML_JOB ? page->job_path : page->node_path,
                  cell->text);
    else
        bj_html_text(b, cell->text);
    if (cell->unit && !t->has_head) {
        bj_buf_str(b, " ");
        bj_html_text(b, bj_slice_str(cell->unit));
    }
    if (c->small)
        html_put(b, c->kind == HTML_NUMBER ? "<br><small>" : " <small>",
                 bj_doc_cell(s, row, c->small)->text, "</small>");
    bj_buf_str(b, c->kind == HTML_LABEL  ? "</th>"
                  : c->kind == HTML_NAME ? "</bdi></td>"
                                         : "</td>");
    if (bar && !page)
        html_bar(b, cell);
}

/* A mail has no links to jobs. */
static bool html_has(const struct bj_html_page *page,
                     const struct html_column *c)
{
    return page || c->kind != HTML_JOB;
}

static void html_head(struct bj_buf *b, const struct bj_html_page *page,
                      const struct bj_doc_section *s,
                      const struct html_table *t)
{
    bj_buf_str(b, page ? "<thead><tr>" : "<tr>");
    for (unsigned i = 0; i < t->columns; i++) {
        const struct html_column *c = &t->column[i];
        const char *head = s->head[c->column];
        const bool right =
            c->kind == HTML_NUMBER || (c->kind == HTML_BAR && !page);
        if (!html_has(page, c))
            continue;
        bj_buf_str(b, page ? "<th scope=\"col\"" : "<th");
        bj_buf_str(b, right ? " class=\"n\">" : ">");
        bj_html_text(b, bj_slice_str(head ? head : ""));
        bj_buf_str(b, c->kind == HTML_BAR && !page
                          ? "</th><th class=\"n\"></th>"
                          : "</th>");
    }
    bj_buf_str(b, page ? "</tr></thead><tbody>\n" : "</tr>\n");
}

static void html_rows(struct bj_buf *b, const struct bj_html_page *page,
                      const struct bj_doc_section *s,
                      const struct html_table *t, size_t rows)
{
    for (size_t row = 0; row < rows; row++) {
        bj_buf_str(b, "<tr>");
        for (unsigned i = 0; i < t->columns; i++)
            if (html_has(page, &t->column[i]))
                html_cell(b, page, s, row, t, &t->column[i]);
        bj_buf_str(b, "</tr>\n");
    }
}

static void html_table(struct bj_buf *b, const struct bj_html_page *page,
                       const struct bj_doc_section *s,
                       const struct html_table *t)
{
    enum { ROWS = 40 }; /* of a page, at most */
    const size_t most = t->rows == 0 ? s->rows
                        : page       ? ROWS
                                     : t->rows,
                 shown = s->rows < most ? s->rows : most;
    struct bj_buf title = {0};
    if (shown == 0 && s->note.n == 0)
        return;
    bj_doc_least(&title, s, t->is_least ? shown : s->rows);
    html_title(b, (struct bj_slice){title.p, title.len});
    b->failed |= title.failed;
    bj_buf_free(&title);
    if (t->name == BJ_DOC_ARRAY)
        html_put(b, "<p>", s->note, "</p>\n");
    if (shown == 0)
        return;
    bj_buf_str(b, page ? "<div class=\"wide\"><table data-sort>" : "<table>\n");
    if (t->has_head)
        html_head(b, page, s, t);
    html_rows(b, page, s, t, shown);
    bj_buf_str(b, page ? "</tbody></table></div>\n" : "</table>\n");
}

/* --- the request -----------------------------------------------------------
 */

static void html_ask(struct bj_buf *b, const struct bj_html_page *page,
                     const struct bj_doc_section *s, size_t row)
{
    const struct bj_doc_cell *of = bj_doc_cell(s, row, BJ_DOC_OF_ASKED);
    html_put(b, "<tr><th scope=\"row\">",
             bj_doc_cell(s, row, BJ_DOC_RESOURCE)->text, "</th>");
    for (unsigned i = BJ_DOC_ASKED; i <= BJ_DOC_TAKEN; i++) {
        if (!s->head[i])
            continue;
        const struct bj_slice text = bj_doc_cell(s, row, i)->text;
        html_put(b, "<td class=\"n\" data-l=\"", bj_slice_str(s->head[i]),
                 "\">");
        bj_html_text(b, text.n > 0 ? text : BJ_SLICE("–"));
        if (i == BJ_DOC_TAKEN)
            html_put(b, " <small>", bj_doc_cell(s, row, BJ_DOC_HOW)->text,
                     "</small>");
        bj_buf_str(b, "</td>");
    }
    if (s->head[BJ_DOC_TAKEN])
        bj_buf_str(b, "<td>");
    if (of->has_meter && of->ppm != BJ_SQL_NULL)
        page->meter(b, of->judge, of->ppm);
    if (s->head[BJ_DOC_TAKEN])
        bj_buf_str(b, "</td>");
    if (s->head[BJ_DOC_NEXT]) {
        html_put(b, "<td data-l=\"", bj_slice_str(s->head[BJ_DOC_NEXT]), "\">");
        html_put(b, "<code>", bj_doc_cell(s, row, BJ_DOC_NEXT)->text,
                 "</code>");
        bj_buf_str(b, "</td>");
    }
    bj_buf_str(b, "</tr>\n");
}

/* The table of a request: its resources with what was requested and used, and
 * the next request. */
static void html_request(struct bj_buf *b, const struct bj_html_page *page,
                         const struct bj_doc_section *s)
{
    html_put(b,
             "<table class=\"stack dense\"><thead><tr><td></td><th "
             "scope=\"col\" class=\"n\">",
             bj_slice_str(s->head[BJ_DOC_ASKED]), "</th>");
    if (s->head[BJ_DOC_TAKEN])
        html_put(b, "<th scope=\"col\" class=\"n\">",
                 bj_slice_str(s->head[BJ_DOC_TAKEN]), "</th><td></td>");
    if (s->head[BJ_DOC_NEXT])
        html_put(b, "<th scope=\"col\">", bj_slice_str(s->head[BJ_DOC_NEXT]),
                 "</th>");
    bj_buf_str(b, "</tr></thead><tbody>\n");
    for (size_t i = 0; i < s->rows; i++)
        html_ask(b, page, s, i);
    bj_buf_str(b, "</tbody></table>\n");
}

/* --- the document ----------------------------------------------------------
 */

#define WASTE                                                                  \
    .rows = 3, .columns = 4,                                                   \
    .column = {                                                                \
        {BJ_DOC_JOB, HTML_TEXT, 0},                                            \
        {BJ_DOC_JOB_NAME, HTML_NAME, 0},                                       \
        {BJ_DOC_UNUSED, HTML_NUMBER, 0},                                       \
        {BJ_DOC_USED, HTML_NUMBER, 0},                                         \
    }

/* In the order of a mail. */
static const struct html_table html_tables[] = {
    {.name = BJ_DOC_NODES,
     .has_head = true,
     .is_least = true,
     .rows = 10,
     .columns = 3,
     .column = {{BJ_DOC_PART, HTML_NODE, 0},
                {BJ_DOC_BUSY, HTML_BAR, 0},
                {BJ_DOC_PEAK_OF, HTML_NUMBER, 0}}},
    {.name = BJ_DOC_GPUS,
     .has_head = true,
     .is_least = true,
     .rows = 10,
     .columns = 4,
     .column = {{BJ_DOC_PART, HTML_TEXT, BJ_DOC_MODEL},
                {BJ_DOC_BUSY, HTML_BAR, 0},
                {BJ_DOC_PEAK, HTML_NUMBER, 0},
                {BJ_DOC_FAULT, HTML_TEXT, 0}}},
    {.name = BJ_DOC_ARRAY,
     .has_head = true,
     .columns = 6,
     .column = {{BJ_DOC_VALUE, HTML_LABEL, 0},
                {BJ_DOC_LEAST, HTML_NUMBER, 0},
                {BJ_DOC_MEDIAN, HTML_NUMBER, 0},
                {BJ_DOC_P95, HTML_NUMBER, 0},
                {BJ_DOC_MOST, HTML_NUMBER, 0},
                {BJ_DOC_TASK, HTML_JOB, 0}}},
    {.name = BJ_DOC_WASTE_GPU, WASTE},
    {.name = BJ_DOC_WASTE_CPU, WASTE},
    {.name = BJ_DOC_WASTE_MEMORY, WASTE},
    {.name = BJ_DOC_COUNTS,
     .columns = 2,
     .column = {{BJ_DOC_FINDING, HTML_TEXT, 0}, {BJ_DOC_JOBS, HTML_NUMBER, 0}}},
};

static const struct html_table html_totals = {
    .columns = 3,
    .column = {{BJ_DOC_LABEL, HTML_LABEL, 0},
               {BJ_DOC_PERCENT, HTML_NUMBER, 0},
               {BJ_DOC_AMOUNT, HTML_NUMBER, BJ_DOC_QUALITY}}};

static const struct html_table html_figures = {
    .columns = 3,
    .column = {{BJ_DOC_LABEL, HTML_LABEL, 0},
               {BJ_DOC_PERCENT, HTML_BAR, 0},
               {BJ_DOC_AMOUNT, HTML_NUMBER, BJ_DOC_QUALITY}}};

static const struct html_table html_held = {
    .columns = 5,
    .column = {{BJ_DOC_LABEL, HTML_LABEL, 0},
               {BJ_DOC_ALLOCATED, HTML_NUMBER, 0},
               {BJ_DOC_AMOUNT_USED, HTML_NUMBER, 0},
               {BJ_DOC_PERCENT, HTML_BAR, 0},
               {BJ_DOC_SOURCE, HTML_NOTE, 0}}};

/* Of a mail. */
static const struct html_table html_asked = {
    .has_head = true,
    .columns = 5,
    .column = {{BJ_DOC_RESOURCE, HTML_LABEL, 0},
               {BJ_DOC_ASKED, HTML_NUMBER, 0},
               {BJ_DOC_TAKEN, HTML_NUMBER, BJ_DOC_HOW},
               {BJ_DOC_OF_ASKED, HTML_BAR, 0},
               {BJ_DOC_NEXT, HTML_TEXT, 0}}};

static const struct html_table html_facts = {
    .columns = 2,
    .column = {{BJ_DOC_FACT, HTML_LABEL, 0}, {BJ_DOC_FACT_TEXT, HTML_TEXT, 0}}};

static void html_tables_of(struct bj_buf *b, const struct bj_doc *d,
                           enum bj_doc_name from, enum bj_doc_name upto)
{
    for (size_t i = 0; i < sizeof(html_tables) / sizeof(html_tables[0]); i++)
        if (html_tables[i].name >= from && html_tables[i].name <= upto)
            html_table(b, NULL, &d->section[html_tables[i].name],
                       &html_tables[i]);
}

static void html_job(struct bj_buf *b, const struct bj_doc *d)
{
    const struct bj_doc_section *s = d->section;
    html_verdict(b, NULL, d);
    html_list(b, NULL, d, BJ_DOC_ADVICE);
    if (bj_doc_has_next(d))
        html_table(b, NULL, &s[BJ_DOC_REQUEST], &html_asked);
    html_table(b, NULL, &s[BJ_DOC_NOW], &html_figures);
    html_table(b, NULL, &s[BJ_DOC_FIGURES], &html_figures);
    html_list(b, NULL, d, BJ_DOC_FINDINGS);
    html_list(b, NULL, d, BJ_DOC_WARNINGS);
    html_tables_of(b, d, BJ_DOC_NODES, BJ_DOC_GPUS);
    html_sentences(b, "<p>", &s[BJ_DOC_IDLE]);
    html_sentences(b, "<p>", &s[BJ_DOC_SAMPLED]);
    html_tables_of(b, d, BJ_DOC_ARRAY, BJ_DOC_ARRAY);
    html_table(b, NULL, &s[BJ_DOC_FACTS], &html_facts);
    html_put(b, "<p><small>", s[BJ_DOC_FACTS].note, "</small></p>\n");
}

void bj_doc_html(const struct bj_doc *d, struct bj_buf *out)
{
    out->failed |= d->arena.failed;
    if (out->failed)
        return;
    if (d->section[BJ_DOC_VERDICT].is_there) {
        html_job(out, d);
    } else {
        html_sentences(out, "<p>", &d->section[BJ_DOC_ABOUT]);
        html_list(out, NULL, d, BJ_DOC_ADVICE);
        html_table(out, NULL, &d->section[BJ_DOC_FIGURES], &html_totals);
        html_tables_of(out, d, BJ_DOC_WASTE_GPU, BJ_DOC_SECTIONS);
    }
}

void bj_doc_html_section(const struct bj_doc *d, enum bj_doc_name name,
                         const struct bj_html_page *page, struct bj_buf *out)
{
    const struct bj_doc_section *s = &d->section[name];
    out->failed |= d->arena.failed;
    if (out->failed || !s->is_there)
        return;
    if (name == BJ_DOC_VERDICT)
        html_verdict(out, page, d);
    if (html_is_list(name))
        html_list(out, page, d, name);
    if (name == BJ_DOC_IDLE || name == BJ_DOC_SAMPLED)
        html_sentences(out, name == BJ_DOC_IDLE ? "<p>" : "<p class=\"sub\">",
                       s);
    if (name == BJ_DOC_HELD)
        html_rows(out, page, s, &html_held, s->rows);
    if (name == BJ_DOC_REQUEST && s->rows > 0)
        html_request(out, page, s);
    for (size_t i = 0; i < sizeof(html_tables) / sizeof(html_tables[0]); i++)
        if (html_tables[i].name == name)
            html_table(out, page, s, &html_tables[i]);
}

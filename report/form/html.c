#include "report/form/html.h"

#include "base/html.h"

/* --- rows with columns -----------------------------------------------------
 */

struct html_column {
    unsigned char column;
    bool number; /* aligned to the right */
    bool name;   /* free text; narrow screens leave it out */
};

struct html_table {
    enum bj_doc_name name;
    size_t rows; /* at most; 0: all */
    unsigned columns;
    struct html_column column[BJ_DOC_COLUMNS];
};

static void html_title(struct bj_buf *b, const char *title)
{
    bj_buf_str(b, "<h2>");
    bj_html_text(b, bj_slice_str(title));
    bj_buf_str(b, "</h2>\n<table>\n");
}

static void html_cell(struct bj_buf *b, const struct html_column *c,
                      const struct bj_doc_cell *cell)
{
    bj_buf_str(b, c->number ? "<td class=\"n\">"
                  : c->name ? "<td class=\"phone\"><bdi>"
                            : "<td>");
    bj_html_text(b, cell->text);
    if (cell->unit) {
        bj_buf_str(b, " ");
        bj_html_text(b, bj_slice_str(cell->unit));
    }
    bj_buf_str(b, c->name ? "</bdi></td>" : "</td>");
}

static void html_table(struct bj_buf *b, const struct bj_doc_section *s,
                       const struct html_table *t)
{
    html_title(b, s->title);
    for (size_t row = 0; row < s->rows && (t->rows == 0 || row < t->rows);
         row++) {
        bj_buf_str(b, "<tr>");
        for (unsigned i = 0; i < t->columns; i++)
            html_cell(b, &t->column[i],
                      bj_doc_cell(s, row, t->column[i].column));
        bj_buf_str(b, "</tr>\n");
    }
    bj_buf_str(b, "</table>\n");
}

/* --- figures ---------------------------------------------------------------
 */

static void html_figures(struct bj_buf *b, const struct bj_doc_section *s)
{
    if (s->rows == 0)
        return;
    html_title(b, s->title);
    for (size_t row = 0; row < s->rows; row++) {
        const struct bj_doc_cell *quality = bj_doc_cell(s, row, BJ_DOC_QUALITY);
        bj_buf_str(b, "<tr><th scope=\"row\">");
        bj_html_text(b, bj_doc_cell(s, row, BJ_DOC_LABEL)->text);
        bj_buf_str(b, "</th><td class=\"n\">");
        bj_html_text(b, bj_doc_cell(s, row, BJ_DOC_PERCENT)->text);
        bj_buf_str(b, "</td><td class=\"n\">");
        bj_html_text(b, bj_doc_cell(s, row, BJ_DOC_AMOUNT)->text);
        bj_buf_str(b, quality->text.n > 0 ? "<br><small>" : "");
        bj_html_text(b, quality->text);
        bj_buf_str(b, quality->text.n > 0 ? "</small></td></tr>\n"
                                          : "</td></tr>\n");
    }
    bj_buf_str(b, "</table>\n");
}

/* --- the document ----------------------------------------------------------
 */

#define WASTE(name)                                                            \
    {                                                                          \
        name, 3, 4,                                                            \
        {                                                                      \
            {BJ_DOC_JOB, false, false}, {BJ_DOC_JOB_NAME, false, true},        \
                {BJ_DOC_UNUSED, true, false},                                  \
            {                                                                  \
                BJ_DOC_USED, true, false                                       \
            }                                                                  \
        }                                                                      \
    }

static const struct html_table html_tables[] = {
    WASTE(BJ_DOC_WASTE_GPU),
    WASTE(BJ_DOC_WASTE_CPU),
    WASTE(BJ_DOC_WASTE_MEMORY),
    {BJ_DOC_COUNTS,
     0,
     2,
     {{BJ_DOC_FINDING, false, false}, {BJ_DOC_JOBS, true, false}}},
};

void bj_doc_html(const struct bj_doc *d, struct bj_buf *out)
{
    const struct bj_doc_section *about = &d->section[BJ_DOC_ABOUT];
    for (size_t i = 0; i < about->rows; i++) {
        bj_buf_str(out, "<p>");
        bj_html_text(out, bj_doc_cell(about, i, BJ_DOC_SENTENCE)->text);
        bj_buf_str(out, "</p>\n");
    }
    html_figures(out, &d->section[BJ_DOC_FIGURES]);
    for (size_t i = 0; i < sizeof(html_tables) / sizeof(html_tables[0]); i++)
        if (d->section[html_tables[i].name].is_there)
            html_table(out, &d->section[html_tables[i].name], &html_tables[i]);
    out->failed |= d->arena.failed;
}

/* A document as pages of a sheet. */
#include "report/pdf/pdf.h"

#include "base/amount.h"
#include "base/local.h"
#include "report/pdf/pdf_parts.h"
#include "store/db.h"

/* A column of a table: its place, and the cell of the section in it. */
struct pdf_column {
    double x, width;
    bool right;
    unsigned char cell;
    bool meter;       /* the meter of the cell instead of its text */
    bool untitled;    /* the heading is above the column before it */
    signed char with; /* a cell behind the text, after a comma; 0: none */
};

struct pdf_table {
    enum bj_doc_name name;
    bool has_head;
    size_t rows; /* at most; 0: all */
    unsigned columns;
    struct pdf_column column[BJ_DOC_COLUMNS];
};

static void pdf_cell(struct bj_pdf_page *p, const struct bj_doc_section *s,
                     size_t row, const struct pdf_column *c)
{
    const struct bj_pdf_column at = {c->x, c->width, c->right, NULL};
    const struct bj_doc_cell *cell = bj_doc_cell(s, row, c->cell);
    if (c->meter) {
        bj_pdf_meter(p, &at, cell->has_meter ? cell->ppm : BJ_SQL_NULL);
        return;
    }
    const struct bj_slice with =
        c->with ? bj_doc_cell(s, row, (unsigned)c->with)->text
                : (struct bj_slice){0};
    if (with.n == 0) {
        bj_pdf_text(p, &at, cell->text);
        return;
    }
    bj_buf_clean(&p->cell, cell->text);
    bj_buf_str(&p->cell, cell->text.n > 0 ? ", " : "");
    bj_buf_clean(&p->cell, with);
    bj_pdf_cell(p, &at);
}

static void pdf_table(struct bj_pdf_page *p, const struct bj_doc_section *s,
                      const struct pdf_table *t)
{
    struct bj_pdf_column head[BJ_DOC_COLUMNS];
    const size_t shown = t->rows > 0 && s->rows > t->rows ? t->rows : s->rows;
    char more[BJ_AMOUNT_COUNT];
    if (shown == 0)
        return;
    bj_pdf_title(p, s->title);
    for (unsigned i = 0; i < t->columns; i++) {
        const struct pdf_column *c = &t->column[i];
        head[i] = (struct bj_pdf_column){c->x, c->width, c->right,
                                         c->untitled ? NULL : s->head[c->cell]};
    }
    if (t->has_head)
        bj_pdf_head(p, head, t->columns);
    for (size_t row = 0; row < shown; row++) {
        bj_pdf_row(p, row, shown);
        for (unsigned i = 0; i < t->columns; i++)
            pdf_cell(p, s, row, &t->column[i]);
    }
    if (s->rows > shown) {
        bj_local_put(&p->cell, "{and %s more}",
                     bj_amount_count(more, (int64_t)(s->rows - shown)));
        bj_pdf_paragraph(p, 2, BJ_PDF_MUTED);
    }
}

#define WASTE(name)                                                            \
    {                                                                          \
        name, true, 0, 6,                                                      \
        {                                                                      \
            {.width = 88, .cell = BJ_DOC_JOB},                                 \
                {.x = 92, .width = 80, .cell = BJ_DOC_USER},                   \
                {.x = 176, .width = 120, .cell = BJ_DOC_JOB_NAME},             \
                {.x = 300, .width = 64, .right = true, .cell = BJ_DOC_UNUSED}, \
                {.x = 374, .width = 72, .cell = BJ_DOC_USED, .meter = true},   \
            {                                                                  \
                .x = 448, .width = 46, .right = true, .cell = BJ_DOC_USED,     \
                .untitled = true                                               \
            }                                                                  \
        }                                                                      \
    }

static const struct pdf_table pdf_totals = {
    BJ_DOC_FIGURES,
    false,
    0,
    4,
    {{.width = 72, .cell = BJ_DOC_LABEL},
     {.x = 74, .width = 110, .cell = BJ_DOC_PERCENT, .meter = true},
     {.x = 188, .width = 44, .right = true, .cell = BJ_DOC_PERCENT},
     {.x = 240, .width = 250, .cell = BJ_DOC_AMOUNT, .with = BJ_DOC_QUALITY}}};

static const struct pdf_table pdf_tables[] = {
    WASTE(BJ_DOC_WASTE_GPU),
    WASTE(BJ_DOC_WASTE_CPU),
    WASTE(BJ_DOC_WASTE_MEMORY),
    {BJ_DOC_COUNTS,
     true,
     0,
     2,
     {{.width = 200, .cell = BJ_DOC_FINDING},
      {.x = 204, .width = 50, .right = true, .cell = BJ_DOC_JOBS}}},
    {BJ_DOC_GROUPS,
     true,
     60,
     8,
     {{.width = 98, .cell = BJ_DOC_GROUP},
      {.x = 102, .width = 46, .right = true, .cell = BJ_DOC_GROUP_JOBS},
      {.x = 152, .width = 62, .right = true, .cell = BJ_DOC_CPU_HOURS},
      {.x = 222, .width = 48, .cell = BJ_DOC_CPU_USED, .meter = true},
      {.x = 272,
       .width = 42,
       .right = true,
       .cell = BJ_DOC_CPU_USED,
       .untitled = true},
      {.x = 318, .width = 42, .right = true, .cell = BJ_DOC_CPU_KNOWN},
      {.x = 364, .width = 60, .right = true, .cell = BJ_DOC_GPU_HOURS},
      {.x = 428, .width = 66, .right = true, .cell = BJ_DOC_ENERGY}}},
};

int bj_pdf_document(struct bj_sheet *s, const struct bj_doc *d,
                    const struct bj_charts *charts, struct bj_err *err)
{
    struct bj_pdf_page p = {.sheet = s, .width = bj_sheet_width(s)};
    const struct bj_doc_section *about = &d->section[BJ_DOC_ABOUT];
    bj_sheet_row(s, 0, BJ_ROW_PAGE | BJ_ROW_KEEP);
    bj_sheet_text(s, &(struct bj_sheet_text){.text = d->title,
                                             .width = p.width,
                                             .size = 15,
                                             .lines = 4,
                                             .font = BJ_FONT_BOLD,
                                             .colour = BJ_PDF_TEXT});
    for (size_t i = 0; i < about->rows; i++) {
        bj_buf_slice(&p.cell, bj_doc_cell(about, i, BJ_DOC_SENTENCE)->text);
        bj_pdf_paragraph(&p, 8, i == 0 ? BJ_PDF_MUTED : BJ_PDF_TEXT);
    }
    pdf_table(&p, &d->section[BJ_DOC_FIGURES], &pdf_totals);
    bj_pdf_charts(&p, charts, (struct bj_slice){0});
    for (size_t i = 0; i < sizeof(pdf_tables) / sizeof(pdf_tables[0]); i++)
        pdf_table(&p, &d->section[pdf_tables[i].name], &pdf_tables[i]);
    const bool failed = p.cell.failed || d->arena.failed;
    bj_buf_free(&p.cell);
    return failed ? bj_err_set(err, -ENOMEM, "PDF") : 0;
}

/* A document as text for a terminal. */
#include "base/amount.h"
#include "base/local.h"
#include "report/form/meter.h"
#include "report/form/text.h"
#include "report/form/text_parts.h"

#include "store/db.h"

enum { LABEL = 12, PERCENT = 7 /* columns */ };

struct text_page {
    const struct bj_report_style *style;
    struct bj_buf *out;
};

static void text_colour(struct text_page *p, const char *code)
{
    bj_buf_str(p->out, p->style->colour ? code : "");
}

static void text_title(struct text_page *p, const char *title)
{
    bj_buf_str(p->out, "\n");
    text_colour(p, "\033[1m");
    bj_buf_str(p->out, title);
    text_colour(p, "\033[0m");
    bj_buf_str(p->out, "\n");
}

/* --- rows with columns -----------------------------------------------------
 */

struct text_column {
    unsigned char column, width;
    bool right;  /* aligned to the right */
    bool behind; /* a blank behind it */
    bool cut;    /* a longer text is truncated */
};

/* A table of a section: the columns that it shows, and how many rows. */
struct text_table {
    enum bj_doc_name name;
    bool has_head; /* it has no units then */
    size_t rows;   /* at most; 0: all */
    unsigned columns;
    struct text_column column[BJ_DOC_COLUMNS];
};

static void text_cell(struct text_page *p, const struct text_column *c,
                      struct bj_slice s)
{
    struct bj_buf clean = {0};
    unsigned n = 0;
    size_t at = 0;
    bj_buf_clean(&clean, s);
    for (; at < clean.len; at++)
        if (((unsigned char)clean.p[at] & 0xc0) != 0x80 && ++n > c->width &&
            c->cut)
            break;
    const int pad = n < c->width ? (int)(c->width - n) : 0;
    bj_buf_printf(p->out, "%*s", c->right ? pad : 0, "");
    bj_buf_put(p->out, clean.p, at);
    bj_buf_printf(p->out, "%*s", (c->right ? 0 : pad) + c->behind, "");
    p->out->failed |= clean.failed;
    bj_buf_free(&clean);
}

static void text_table(struct text_page *p, const struct bj_doc_section *s,
                       const struct text_table *t)
{
    char n[BJ_AMOUNT_COUNT];
    text_title(p, s->title);
    bj_buf_str(p->out, t->has_head ? "  " : "");
    for (unsigned i = 0; t->has_head && i < t->columns; i++) {
        const char *head = s->head[t->column[i].column];
        text_cell(p, &t->column[i], bj_slice_str(head ? head : ""));
    }
    bj_buf_str(p->out, t->has_head ? "\n" : "");
    for (size_t row = 0; row < s->rows && (t->rows == 0 || row < t->rows);
         row++) {
        bj_buf_str(p->out, "  ");
        for (unsigned i = 0; i < t->columns; i++) {
            const struct bj_doc_cell *c =
                bj_doc_cell(s, row, t->column[i].column);
            text_cell(p, &t->column[i], c->text);
            if (c->unit && !t->has_head)
                bj_buf_printf(p->out, " %s", c->unit);
        }
        bj_buf_str(p->out, "\n");
    }
    if (t->rows > 0 && s->rows > t->rows)
        bj_local_put(p->out, "  {and %s more}\n",
                     bj_amount_count(n, (int64_t)(s->rows - t->rows)));
}

/* --- figures ---------------------------------------------------------------
 */

static void text_figure(struct text_page *p, const struct bj_doc_section *s,
                        size_t row)
{
    const struct text_column label = {.width = LABEL},
                             percent = {.width = PERCENT, .right = true};
    const struct bj_doc_cell *used = bj_doc_cell(s, row, BJ_DOC_PERCENT),
                             *amount = bj_doc_cell(s, row, BJ_DOC_AMOUNT),
                             *quality = bj_doc_cell(s, row, BJ_DOC_QUALITY);
    const bool shown = used->has_meter || used->ppm != BJ_SQL_NULL;
    bj_buf_str(p->out, "  ");
    text_cell(p, &label, bj_doc_cell(s, row, BJ_DOC_LABEL)->text);
    if (used->has_meter) {
        bj_meter(p->out, used->ppm, p->style->ascii);
        text_cell(p, &percent, used->text);
    } else if (shown) {
        bj_buf_clean(p->out, used->text);
    }
    if (amount->is_long)
        bj_buf_printf(p->out, "\n  %*s", LABEL, "");
    else
        bj_buf_str(p->out, shown ? "  " : "");
    bj_buf_clean(p->out, amount->text);
    bj_buf_str(p->out, quality->text.n > 0 ? ", " : "");
    bj_buf_clean(p->out, quality->text);
    bj_buf_str(p->out, "\n");
}

/* --- the document ----------------------------------------------------------
 */

#define WASTE(name)                                                            \
    {                                                                          \
        name, false, 0, 5,                                                     \
        {                                                                      \
            {BJ_DOC_JOB, 14, false, true, true},                               \
                {BJ_DOC_USER, 12, false, true, true},                          \
                {BJ_DOC_JOB_NAME, 14, false, false, true},                     \
                {BJ_DOC_UNUSED, 11, true, false, false},                       \
            {                                                                  \
                BJ_DOC_USED, 9, true, false, false                             \
            }                                                                  \
        }                                                                      \
    }

static const struct text_table text_tables[] = {
    WASTE(BJ_DOC_WASTE_GPU),
    WASTE(BJ_DOC_WASTE_CPU),
    WASTE(BJ_DOC_WASTE_MEMORY),
    {BJ_DOC_COUNTS,
     false,
     0,
     2,
     {{BJ_DOC_FINDING, 32, false, false, true},
      {BJ_DOC_JOBS, 8, true, false, false}}},
    {BJ_DOC_GROUPS,
     true,
     20,
     7,
     {{BJ_DOC_GROUP, 22, false, false, true},
      {BJ_DOC_GROUP_JOBS, 7, true, false, false},
      {BJ_DOC_CPU_HOURS, 11, true, false, false},
      {BJ_DOC_CPU_USED, 8, true, false, false},
      {BJ_DOC_CPU_KNOWN, 8, true, false, false},
      {BJ_DOC_GPU_HOURS, 10, true, false, false},
      {BJ_DOC_ENERGY, 12, true, false, false}}},
};

void bj_doc_print(const struct bj_doc *d, const struct bj_report_style *style,
                  struct bj_buf *out)
{
    struct text_page p = {style, out};
    const struct bj_doc_section *about = &d->section[BJ_DOC_ABOUT],
                                *figures = &d->section[BJ_DOC_FIGURES];
    text_colour(&p, "\033[1m");
    bj_text_wrap(out, d->title, 2, 0);
    text_colour(&p, "\033[0m");
    for (size_t i = 0; i < about->rows; i++)
        bj_text_wrap(out, bj_doc_cell(about, i, BJ_DOC_SENTENCE)->text, 2, 0);
    if (figures->rows > 0)
        text_title(&p, figures->title);
    for (size_t i = 0; i < figures->rows; i++)
        text_figure(&p, figures, i);
    for (size_t i = 0; i < sizeof(text_tables) / sizeof(text_tables[0]); i++)
        if (d->section[text_tables[i].name].is_there)
            text_table(&p, &d->section[text_tables[i].name], &text_tables[i]);
    out->failed |= d->arena.failed;
}

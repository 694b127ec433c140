#include "report/form/text.h"

#include "base/amount.h"
#include "base/local.h"
#include "store/db.h"

#include <ctype.h>

enum { WIDTH = 78 };

/* Number of columns of clean UTF-8 text. */
static unsigned text_columns(struct bj_slice s)
{
    unsigned n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

void bj_text_wrap(struct bj_buf *out, struct bj_slice text, unsigned indent,
                  unsigned at)
{
    struct bj_slice word;
    bool first = true;
    while (bj_slice_word(&text, &word)) {
        unsigned n = text_columns(word);
        if (!first && at + 1 + n > WIDTH) {
            bj_buf_printf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!first) {
            bj_buf_str(out, " ");
            at++;
        }
        bj_buf_clean(out, word);
        at += n;
        first = false;
    }
    bj_buf_str(out, "\n");
}

void bj_text_state(struct bj_buf *out, struct bj_slice state)
{
    if (bj_slice_eq(state, BJ_SLICE("oom")))
        state = BJ_SLICE("out_of_memory");
    for (size_t i = 0; i < state.n; i++) {
        char c = (char)toupper((unsigned char)state.p[i]);
        bj_buf_put(out, &c, 1);
    }
}

/* --- the forms ------------------------------------------------------------*/

enum { LABEL = 12, PERCENT = 7 /* columns */ };

struct text_page {
    const struct bj_report_style *style;
    struct bj_buf *out;
};

static void text_colour(struct text_page *p, const char *code)
{
    bj_buf_str(p->out, p->style->colour ? code : "");
}

static void text_title(struct text_page *p, struct bj_slice title)
{
    bj_buf_str(p->out, "\n");
    text_colour(p, "\033[1m");
    bj_buf_slice(p->out, title);
    text_colour(p, "\033[0m");
    bj_buf_str(p->out, "\n");
}

enum { CELLS = 24, MICRO = 1000000 };

/* Append a bar of 24 cells and a blank; for BJ_SQL_NULL as many blanks. */
static void text_meter(struct bj_buf *out, int64_t ppm, bool ascii)
{
    if (ppm == BJ_SQL_NULL) {
        bj_buf_printf(out, "%*s", CELLS + (ascii ? 3 : 1), "");
        return;
    }
    const int64_t full =
        ppm > MICRO ? CELLS : (ppm * CELLS + MICRO / 2) / MICRO;
    const char *on = ascii ? "#" : "\xe2\x96\x88";
    const char *off = ascii ? "." : "\xe2\x96\x91";
    bj_buf_str(out, ascii ? "[" : "");
    for (int64_t i = 0; i < CELLS; i++)
        bj_buf_str(out, i < full ? on : off);
    bj_buf_str(out, ascii ? "] " : " ");
}

/* --- rows with columns -----------------------------------------------------
 */

struct text_column {
    unsigned char column, width;
    bool right;           /* aligned to the right */
    bool cut;             /* a longer text is truncated */
    bool meter;           /* a meter before it */
    unsigned char behind; /* blanks after it */
    unsigned char before; /* blanks before it, if there is a text */
};

/* A table of a section: the columns that it shows, and how many rows. */
struct text_table {
    enum bj_doc_name name;
    bool has_head; /* it has no units then */
    bool is_least; /* the title says that there are more rows */
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
    bj_buf_printf(p->out, "%*s", (n > 0 ? c->before : 0) + (c->right ? pad : 0),
                  "");
    bj_buf_put(p->out, clean.p, at);
    bj_buf_printf(p->out, "%*s", (c->right ? 0 : pad) + c->behind, "");
    p->out->failed |= clean.failed;
    bj_buf_free(&clean);
}

static void text_row(struct text_page *p, const struct bj_doc_section *s,
                     const struct text_table *t, size_t row)
{
    bj_buf_str(p->out, "  ");
    for (unsigned i = 0; i < t->columns; i++) {
        const struct text_column *c = &t->column[i];
        const struct bj_doc_cell *cell = bj_doc_cell(s, row, c->column);
        if (c->meter)
            text_meter(p->out, cell->ppm, p->style->ascii);
        text_cell(p, c, cell->text);
        if (cell->unit && !t->has_head)
            bj_buf_printf(p->out, " %s", cell->unit);
    }
    bj_buf_str(p->out, "\n");
}

static void text_table(struct text_page *p, const struct bj_doc_section *s,
                       const struct text_table *t)
{
    const size_t shown = t->rows > 0 && s->rows > t->rows ? t->rows : s->rows;
    char n[BJ_AMOUNT_COUNT];
    struct bj_buf title = {0};
    bj_doc_least(&title, s, t->is_least ? shown : s->rows);
    text_title(p, (struct bj_slice){title.p, title.len});
    p->out->failed |= title.failed;
    bj_buf_free(&title);
    if (s->note.n > 0) {
        bj_buf_str(p->out, "  ");
        bj_text_wrap(p->out, s->note, 2, 2);
    }
    bj_buf_str(p->out, t->has_head && shown > 0 ? "  " : "");
    for (unsigned i = 0; t->has_head && shown > 0 && i < t->columns; i++) {
        const char *head = s->head[t->column[i].column];
        text_cell(p, &t->column[i], bj_slice_str(head ? head : ""));
    }
    bj_buf_str(p->out, t->has_head && shown > 0 ? "\n" : "");
    for (size_t row = 0; row < shown; row++)
        text_row(p, s, t, row);
    if (s->rows > shown && !t->is_least)
        bj_local_put(p->out, "  {and %s more}\n",
                     bj_amount_count(n, (int64_t)(s->rows - shown)));
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
        text_meter(p->out, used->ppm, p->style->ascii);
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

static void text_figures(struct text_page *p, const struct bj_doc_section *s)
{
    if (s->rows > 0)
        text_title(p, bj_slice_str(s->title));
    for (size_t i = 0; i < s->rows; i++)
        text_figure(p, s, i);
}

/* --- sentences and lists ---------------------------------------------------
 */

static const char *text_colour_of(struct bj_slice level)
{
    static const struct {
        const char *level, *colour;
    } colours[] = {{"critical", "\033[1;31m"},
                   {"warning", "\033[1;33m"},
                   {"info", "\033[36m"},
                   {"good", "\033[32m"}};
    for (size_t i = 0; i < sizeof(colours) / sizeof(colours[0]); i++)
        if (bj_slice_eq(level, bj_slice_str(colours[i].level)))
            return colours[i].colour;
    return "\033[1m";
}

/* A word in the colour of a level. */
static void text_level(struct text_page *p, struct bj_slice level,
                       unsigned width)
{
    text_colour(p, text_colour_of(level));
    text_cell(p, &(struct text_column){.width = (unsigned char)width}, level);
    text_colour(p, "\033[0m");
}

/* The title, and sentences below it; a job has a name. */
static void text_head(struct text_page *p, const struct bj_doc *d)
{
    const struct bj_doc_section *about = &d->section[BJ_DOC_ABOUT];
    const bool of_job = d->section[BJ_DOC_VERDICT].is_there;
    text_colour(p, "\033[1m");
    if (of_job)
        bj_buf_clean(p->out, d->title);
    else
        bj_text_wrap(p->out, d->title, 2, 0);
    text_colour(p, "\033[0m");
    if (of_job) {
        bj_buf_str(p->out, d->name.n > 0 ? "  " : "");
        bj_buf_clean(p->out, d->name);
        bj_buf_str(p->out, "\n");
    }
    for (size_t i = 0; i < about->rows; i++)
        if (of_job) {
            bj_buf_clean(p->out, bj_doc_cell(about, i, BJ_DOC_SENTENCE)->text);
            bj_buf_str(p->out, "\n\n");
        } else {
            bj_text_wrap(p->out, bj_doc_cell(about, i, BJ_DOC_SENTENCE)->text,
                         2, 0);
        }
}

static void text_verdict(struct text_page *p, const struct bj_doc *d)
{
    enum { INDENT = 2 };
    const struct bj_doc_section *s = &d->section[BJ_DOC_VERDICT],
                                *running = &d->section[BJ_DOC_RUNNING];
    if (!s->is_there)
        return;
    const struct bj_slice level = bj_doc_cell(s, 0, BJ_DOC_LEVEL)->text,
                          cost = bj_doc_cell(s, 0, BJ_DOC_COST)->text,
                          todo = bj_doc_cell(s, 0, BJ_DOC_TODO)->text;
    text_level(p, level, 0);
    bj_buf_str(p->out, ": ");
    bj_text_wrap(p->out, bj_doc_cell(s, 0, BJ_DOC_WRONG)->text, INDENT,
                 text_columns(level) + 2);
    if (running->rows > 0)
        bj_text_wrap(p->out, bj_doc_cell(running, 0, BJ_DOC_SENTENCE)->text,
                     INDENT, 0);
    if (cost.n > 0)
        bj_text_wrap(p->out, cost, INDENT, 0);
    if (todo.n == 0)
        return;
    text_colour(p, "\033[1m");
    bj_text_wrap(p->out, todo, INDENT, 0);
    text_colour(p, "\033[0m");
}

static void text_line(struct text_page *p, struct bj_slice s)
{
    if (s.n == 0)
        return;
    bj_buf_str(p->out, "      ");
    bj_buf_clean(p->out, s);
    bj_buf_str(p->out, "\n");
}

/* Items with a mark in a column (findings), above them (warnings) or none. */
static void text_list(struct text_page *p, const struct bj_doc_section *s,
                      enum bj_doc_name name)
{
    const unsigned indent = name == BJ_DOC_FINDINGS ? LABEL : 4;
    if (s->rows > 0)
        text_title(p, bj_slice_str(s->title));
    for (size_t i = 0; i < s->rows; i++) {
        const struct bj_slice mark = bj_doc_cell(s, i, BJ_DOC_MARK)->text;
        bj_buf_str(p->out, "  ");
        if (name == BJ_DOC_FINDINGS) {
            text_level(p, mark, LABEL - 2);
        } else if (name == BJ_DOC_WARNINGS) {
            bj_buf_clean(p->out, mark);
            bj_buf_str(p->out, "\n    ");
        } else {
            bj_buf_str(p->out, "* ");
        }
        bj_text_wrap(p->out, bj_doc_cell(s, i, BJ_DOC_ITEM)->text, indent,
                     indent);
        text_line(p, bj_doc_cell(s, i, BJ_DOC_LINE)->text);
        if (name == BJ_DOC_ADVICE)
            text_line(p, bj_doc_cell(s, i, BJ_DOC_URL)->text);
    }
    if (s->note.n > 0) {
        bj_buf_str(p->out, "    ");
        bj_text_wrap(p->out, s->note, 4, 4);
    }
}

static void text_facts(struct text_page *p, const struct bj_doc_section *s)
{
    const struct text_column label = {.width = LABEL};
    if (!s->is_there)
        return;
    text_title(p, bj_slice_str(s->title));
    for (size_t i = 0; i < s->rows; i++) {
        bj_buf_str(p->out, "  ");
        text_cell(p, &label, bj_doc_cell(s, i, BJ_DOC_FACT)->text);
        bj_text_wrap(p->out, bj_doc_cell(s, i, BJ_DOC_FACT_TEXT)->text,
                     LABEL + 2, LABEL + 2);
    }
    bj_buf_str(p->out, "  ");
    bj_text_wrap(p->out, s->note, 2, 2);
}

/* --- the document ----------------------------------------------------------
 */

#define WASTE                                                                  \
    .columns = 5,                                                              \
    .column = {                                                                \
        {.column = BJ_DOC_JOB, .width = 14, .cut = true, .behind = 1},         \
        {.column = BJ_DOC_USER, .width = 12, .cut = true, .behind = 1},        \
        {.column = BJ_DOC_JOB_NAME, .width = 14, .cut = true},                 \
        {.column = BJ_DOC_UNUSED, .width = 11, .right = true},                 \
        {.column = BJ_DOC_USED, .width = 9, .right = true},                    \
    }

/* A part of a job has no room for all of its name only if that is short. */
#define PART                                                                   \
    {.column = BJ_DOC_PART, .width = LABEL - 1, .behind = 1},                  \
    {                                                                          \
        .column = BJ_DOC_BUSY, .width = PERCENT, .right = true, .meter = true  \
    }

static const struct text_table text_tables[] = {
    {.name = BJ_DOC_NODES,
     .is_least = true,
     .rows = 10,
     .columns = 4,
     .column = {PART,
                {.column = BJ_DOC_PEAK_OF, .before = 2},
                {.column = BJ_DOC_IDLE_SINCE, .before = 2}}},
    {.name = BJ_DOC_GPUS,
     .is_least = true,
     .rows = 10,
     .columns = 6,
     .column = {PART,
                {.column = BJ_DOC_PEAK, .before = 2},
                {.column = BJ_DOC_MODEL, .before = 2},
                {.column = BJ_DOC_FAULT, .before = 2},
                {.column = BJ_DOC_IDLE_SINCE, .before = 2}}},
    {.name = BJ_DOC_ARRAY,
     .has_head = true,
     .columns = 6,
     .column = {{.column = BJ_DOC_VALUE, .width = LABEL},
                {.column = BJ_DOC_LEAST, .width = 12, .right = true},
                {.column = BJ_DOC_MEDIAN, .width = 12, .right = true},
                {.column = BJ_DOC_P95, .width = 12, .right = true},
                {.column = BJ_DOC_MOST, .width = 12, .right = true},
                {.column = BJ_DOC_TASK, .before = 2}}},
    {.name = BJ_DOC_WASTE_GPU, WASTE},
    {.name = BJ_DOC_WASTE_CPU, WASTE},
    {.name = BJ_DOC_WASTE_MEMORY, WASTE},
    {.name = BJ_DOC_COUNTS,
     .columns = 2,
     .column = {{.column = BJ_DOC_FINDING, .width = 32, .cut = true},
                {.column = BJ_DOC_JOBS, .width = 8, .right = true}}},
    {.name = BJ_DOC_GROUPS,
     .has_head = true,
     .rows = 20,
     .columns = 7,
     .column = {{.column = BJ_DOC_GROUP, .width = 22, .cut = true},
                {.column = BJ_DOC_GROUP_JOBS, .width = 7, .right = true},
                {.column = BJ_DOC_CPU_HOURS, .width = 11, .right = true},
                {.column = BJ_DOC_CPU_USED, .width = 8, .right = true},
                {.column = BJ_DOC_CPU_KNOWN, .width = 8, .right = true},
                {.column = BJ_DOC_GPU_HOURS, .width = 10, .right = true},
                {.column = BJ_DOC_ENERGY, .width = 12, .right = true}}},
};

static void text_tables_of(struct text_page *p, const struct bj_doc *d,
                           enum bj_doc_name from, enum bj_doc_name upto)
{
    for (size_t i = 0; i < sizeof(text_tables) / sizeof(text_tables[0]); i++) {
        const struct text_table *t = &text_tables[i];
        if (t->name >= from && t->name <= upto && d->section[t->name].is_there)
            text_table(p, &d->section[t->name], t);
    }
}

void bj_doc_print(const struct bj_doc *d, const struct bj_report_style *style,
                  struct bj_buf *out)
{
    struct text_page p = {style, out};
    const struct bj_doc_section *sampled = &d->section[BJ_DOC_SAMPLED];
    out->failed |= d->arena.failed;
    if (out->failed)
        return;
    text_head(&p, d);
    text_verdict(&p, d);
    text_list(&p, &d->section[BJ_DOC_ADVICE], BJ_DOC_ADVICE);
    text_figures(&p, &d->section[BJ_DOC_NOW]);
    text_figures(&p, &d->section[BJ_DOC_FIGURES]);
    text_list(&p, &d->section[BJ_DOC_FINDINGS], BJ_DOC_FINDINGS);
    text_list(&p, &d->section[BJ_DOC_WARNINGS], BJ_DOC_WARNINGS);
    text_tables_of(&p, d, BJ_DOC_NODES, BJ_DOC_GPUS);
    if (sampled->is_there)
        bj_text_wrap(out, bj_doc_cell(sampled, 0, BJ_DOC_SENTENCE)->text, 2, 0);
    text_tables_of(&p, d, BJ_DOC_ARRAY, BJ_DOC_SECTIONS);
    text_facts(&p, &d->section[BJ_DOC_FACTS]);
    out->failed |= d->arena.failed;
}

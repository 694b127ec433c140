#include "report/pdf/pdf.h"

#include "base/amount.h"
#include "base/local.h"
#include "report/pdf/chart_draw.h"
#include "store/db.h"

enum { /* colours */
       COLOUR_TEXT = 0x1A1A1A,
       COLOUR_MUTED = 0x595959,
       COLOUR_LINE = 0xD9D9D9,
       COLOUR_TINT = 0xF3F5F7,
       COLOUR_TRACK = 0xD5DDE5,
       COLOUR_METER = 0x005A9C
};

enum { SIZE = 9, SMALL = 8, TITLE = 12, ROW = 15, METER = 8 };

#define GAP 16.0
#define HALF_SIZE 7.0 /* size of text in two charts side by side */
#define FULL_SIZE 7.4

struct pdf_page {
    struct bj_sheet *sheet;
    double width;
    bool failed;
};

static uint32_t pdf_colour(struct bj_slice level)
{
    static const struct {
        const char *level;
        uint32_t colour;
    } colours[] = {{"critical", 0x9A3324},
                   {"warning", 0x7A4B00},
                   {"info", 0x005A9C},
                   {"good", 0x006E51}};
    for (size_t i = 0; i < sizeof(colours) / sizeof(colours[0]); i++)
        if (bj_slice_eq(level, bj_slice_str(colours[i].level)))
            return colours[i].colour;
    return COLOUR_MUTED;
}

static void pdf_title(struct pdf_page *p, struct bj_slice title)
{
    bj_sheet_row(p->sheet, 14, BJ_ROW_KEEP | BJ_ROW_SECTION);
    bj_sheet_text(p->sheet, &(struct bj_sheet_text){.text = title,
                                                    .width = p->width,
                                                    .size = TITLE,
                                                    .font = BJ_FONT_BOLD,
                                                    .colour = COLOUR_TEXT});
    bj_sheet_row(p->sheet, 2, BJ_ROW_KEEP);
    bj_sheet_box(p->sheet, 0, 0, p->width, 0.75, COLOUR_LINE);
    bj_sheet_grow(p->sheet, 4);
}

static void pdf_paragraph(struct pdf_page *p, double before, uint32_t colour,
                          struct bj_slice text)
{
    bj_sheet_row(p->sheet, before, 0);
    bj_sheet_text(p->sheet, &(struct bj_sheet_text){.text = text,
                                                    .width = p->width,
                                                    .size = SIZE,
                                                    .lines = 8,
                                                    .colour = colour});
}

/* A section of one sentence. */
static void pdf_sentence(struct pdf_page *p, const struct bj_doc_section *s)
{
    if (s->is_there)
        pdf_paragraph(p, 4, COLOUR_MUTED,
                      bj_doc_cell(s, 0, BJ_DOC_SENTENCE)->text);
}

/* --- rows with columns -----------------------------------------------------
 */

/* A column of a table: its place, and the cell of the section in it. */
struct pdf_column {
    double x, width;
    unsigned char cell;
    bool right;
    bool meter;         /* the meter of the cell instead of its text */
    bool untitled;      /* the heading is above the column before it */
    bool spread;        /* a drawing of the parts of the row */
    unsigned char with; /* another cell after a comma; 0: none */
};

struct pdf_table {
    enum bj_doc_name name;
    bool has_head;
    bool is_least; /* the title says that there are more rows */
    size_t rows;   /* at most; 0: all */
    unsigned columns;
    struct pdf_column column[BJ_DOC_COLUMNS];
};

static void pdf_head(struct pdf_page *p, const struct bj_doc_section *s,
                     const struct pdf_table *t)
{
    bj_sheet_row(p->sheet, 3, BJ_ROW_HEAD);
    for (unsigned i = 0; i < t->columns; i++) {
        const struct pdf_column *c = &t->column[i];
        const char *head = s->head[c->cell];
        if (!c->untitled && (head || !(c->meter || c->spread)))
            bj_sheet_text(p->sheet, &(struct bj_sheet_text){
                                        .text = bj_slice_str(head ? head : ""),
                                        .x = c->x,
                                        .width = c->width,
                                        .size = SMALL,
                                        .colour = COLOUR_MUTED,
                                        .right = c->right});
    }
    bj_sheet_grow(p->sheet, ROW - 2);
}

static void pdf_meter(struct pdf_page *p, const struct pdf_column *c,
                      const struct bj_doc_cell *cell)
{
    if (!cell->has_meter || cell->ppm == BJ_SQL_NULL)
        return;
    const double used = (double)cell->ppm / 1e6;
    bj_sheet_box(p->sheet, c->x, 3, c->width, METER, COLOUR_TRACK);
    if (used > 0)
        bj_sheet_box(p->sheet, c->x, 3, c->width * (used > 1 ? 1 : used), METER,
                     COLOUR_METER);
}

/* Draw a line from the minimum to the maximum, with marks at the median and at
 * 95 %. */
static void pdf_spread(struct pdf_page *p, const struct pdf_column *c,
                       const struct bj_doc_section *s, size_t row)
{
    const double width = c->width - 2,
                 least = width * bj_doc_cell(s, row, BJ_DOC_LEAST)->part,
                 median = width * bj_doc_cell(s, row, BJ_DOC_MEDIAN)->part,
                 p95 = width * bj_doc_cell(s, row, BJ_DOC_P95)->part,
                 most = width * bj_doc_cell(s, row, BJ_DOC_MOST)->part;
    if (most <= 0 || least < 0)
        return;
    bj_sheet_box(p->sheet, c->x, 6.5, c->width, 1, COLOUR_LINE);
    bj_sheet_box(p->sheet, c->x + least, 5, most - least + 1, 4, COLOUR_TRACK);
    bj_sheet_box(p->sheet, c->x + median, 2.5, 2, 9, COLOUR_METER);
    bj_sheet_box(p->sheet, c->x + p95, 4, 1, 6, COLOUR_TEXT);
}

static void pdf_cell(struct pdf_page *p, const struct bj_doc_section *s,
                     size_t row, const struct pdf_column *c)
{
    const struct bj_doc_cell *cell = bj_doc_cell(s, row, c->cell);
    struct bj_slice text = cell->text;
    struct bj_buf both = {0};
    if (c->meter) {
        pdf_meter(p, c, cell);
        return;
    }
    if (c->spread) {
        pdf_spread(p, c, s, row);
        return;
    }
    if (c->with && bj_doc_cell(s, row, c->with)->text.n > 0) {
        bj_buf_clean(&both, text);
        bj_buf_str(&both, ", ");
        bj_buf_clean(&both, bj_doc_cell(s, row, c->with)->text);
        text = (struct bj_slice){both.p, both.len};
    }
    bj_sheet_text(p->sheet, &(struct bj_sheet_text){.text = text,
                                                    .x = c->x,
                                                    .y = 1,
                                                    .width = c->width,
                                                    .size = SIZE,
                                                    .lines = c->with ? 2 : 1,
                                                    .colour = COLOUR_TEXT,
                                                    .right = c->right});
    p->failed |= both.failed;
    bj_buf_free(&both);
}

static void pdf_table(struct pdf_page *p, const struct bj_doc_section *s,
                      const struct pdf_table *t)
{
    const size_t shown = t->rows > 0 && s->rows > t->rows ? t->rows : s->rows;
    char n[BJ_AMOUNT_COUNT];
    struct bj_buf text = {0};
    if (shown == 0 && s->note.n == 0)
        return;
    bj_doc_least(&text, s, t->is_least ? shown : s->rows);
    pdf_title(p, (struct bj_slice){text.p, text.len});
    if (s->note.n > 0)
        pdf_paragraph(p, 0, COLOUR_TEXT, s->note);
    if (t->has_head && shown > 0)
        pdf_head(p, s, t);
    for (size_t row = 0; row < shown; row++) {
        /* The first row is on the same page as the second. */
        const bool kept = row + 1 < shown && (row == 0 || row + 2 == shown);
        bj_sheet_row(p->sheet, 0,
                     (t->has_head ? BJ_ROW_BODY : BJ_ROW_CELLS) |
                         (kept ? BJ_ROW_KEEP : 0));
        bj_sheet_grow(p->sheet, ROW);
        for (unsigned i = 0; i < t->columns; i++)
            pdf_cell(p, s, row, &t->column[i]);
    }
    if (s->rows > shown && !t->is_least) {
        text.len = 0;
        bj_local_put(&text, "{and %s more}",
                     bj_amount_count(n, (int64_t)(s->rows - shown)));
        pdf_paragraph(p, 2, COLOUR_MUTED, (struct bj_slice){text.p, text.len});
    }
    p->failed |= text.failed;
    bj_buf_free(&text);
}

/* --- charts ----------------------------------------------------------------
 */

static bool pdf_is_wide(const struct bj_chart *k)
{
    return k->kind != BJ_CHART_CURVES;
}

static void pdf_chart(struct pdf_page *p, const struct bj_chart *k,
                      unsigned column)
{
    const double half = (p->width - GAP) / 2;
    const bool wide = pdf_is_wide(k);
    struct bj_buf text = {0};
    if (column == 0)
        bj_sheet_row(p->sheet, 10, BJ_ROW_FIGURE);
    bj_chart_summary(&text, k);
    bj_sheet_figure_text(p->sheet, (struct bj_slice){text.p, text.len});
    p->failed |= text.failed;
    bj_buf_free(&text);
    bj_chart_draw(
        p->sheet,
        &(struct bj_chart_place){.x = column * (half + GAP),
                                 .width = wide ? p->width : half,
                                 .size = wide ? FULL_SIZE : HALF_SIZE},
        k);
}

/* A section of charts, or the reason why there are none; nothing if there is
 * neither.  Two charts side by side; those of rows and days have the whole
 * width. */
static void pdf_charts(struct pdf_page *p, const struct bj_charts *c,
                       struct bj_slice task)
{
    struct bj_buf title = {0};
    unsigned column = 0;
    if (!c || (c->charts == 0 && !c->why))
        return;
    if (task.n > 0)
        bj_local_put(&title, "{Task %s over time}", task.p);
    else
        bj_local_str(&title, "{Over time}");
    pdf_title(p, (struct bj_slice){title.p, title.len});
    for (unsigned i = 0; i < c->charts; i++) {
        const bool wide = pdf_is_wide(&c->chart[i]);
        pdf_chart(p, &c->chart[i], wide ? 0 : column);
        column = wide ? 0 : 1 - column;
    }
    if (c->charts == 0)
        pdf_paragraph(p, 3, COLOUR_MUTED, bj_slice_str(bj_local(c->why)));
    p->failed |= title.failed;
    bj_buf_free(&title);
}

/* --- the first lines -------------------------------------------------------
 */

static void pdf_top_of_period(struct pdf_page *p, const struct bj_doc *d)
{
    const struct bj_doc_section *about = &d->section[BJ_DOC_ABOUT];
    bj_sheet_row(p->sheet, 0, BJ_ROW_PAGE | BJ_ROW_KEEP | BJ_ROW_TITLE);
    bj_sheet_text(p->sheet, &(struct bj_sheet_text){.text = d->title,
                                                    .width = p->width,
                                                    .size = 15,
                                                    .lines = 4,
                                                    .font = BJ_FONT_BOLD,
                                                    .colour = COLOUR_TEXT});
    for (size_t i = 0; i < about->rows; i++)
        pdf_paragraph(p, 8, i == 0 ? COLOUR_MUTED : COLOUR_TEXT,
                      bj_doc_cell(about, i, BJ_DOC_SENTENCE)->text);
}

/* The id at the left, the name at the right. */
static void pdf_top_of_job(struct pdf_page *p, const struct bj_doc *d)
{
    const double left = 170;
    const struct bj_doc_section *about = &d->section[BJ_DOC_ABOUT];
    bj_sheet_row(p->sheet, 0, BJ_ROW_PAGE | BJ_ROW_KEEP | BJ_ROW_TITLE);
    bj_sheet_text(p->sheet, &(struct bj_sheet_text){.text = d->title,
                                                    .width = left,
                                                    .size = 18,
                                                    .font = BJ_FONT_BOLD,
                                                    .colour = COLOUR_TEXT});
    bj_sheet_text(p->sheet,
                  &(struct bj_sheet_text){.text = d->name,
                                          .x = left + 10,
                                          .y = 5,
                                          .width = p->width - left - 10,
                                          .size = 13,
                                          .colour = COLOUR_MUTED,
                                          .right = true});
    for (size_t i = 0; i < about->rows; i++)
        pdf_paragraph(p, 3, COLOUR_MUTED,
                      bj_doc_cell(about, i, BJ_DOC_SENTENCE)->text);
}

static double pdf_boxed(struct pdf_page *p, double y, struct bj_slice s,
                        double size, enum bj_font font)
{
    if (s.n == 0)
        return y;
    return y + 3 +
           bj_sheet_text(p->sheet,
                         &(struct bj_sheet_text){.text = s,
                                                 .x = 12,
                                                 .y = y,
                                                 .width = p->width - 22,
                                                 .size = size,
                                                 .lines = 8,
                                                 .font = font,
                                                 .colour = COLOUR_TEXT});
}

static void pdf_verdict(struct pdf_page *p, const struct bj_doc *d)
{
    const struct bj_doc_section *s = &d->section[BJ_DOC_VERDICT],
                                *running = &d->section[BJ_DOC_RUNNING];
    const struct bj_slice level = bj_doc_cell(s, 0, BJ_DOC_LEVEL)->text;
    const uint32_t colour = pdf_colour(level);
    double y = 7;
    bj_sheet_row(p->sheet, 10, 0);
    bj_sheet_box(p->sheet, 0, 0, p->width, 0, COLOUR_TINT);
    bj_sheet_box(p->sheet, 0, 0, 4, 0, colour);
    y += bj_sheet_text(p->sheet, &(struct bj_sheet_text){.text = level,
                                                         .x = 12,
                                                         .y = y,
                                                         .width = 100,
                                                         .size = 9,
                                                         .font = BJ_FONT_BOLD,
                                                         .colour = colour});
    y = pdf_boxed(p, y + 2, bj_doc_cell(s, 0, BJ_DOC_WRONG)->text, 12,
                  BJ_FONT_BOLD);
    if (running->rows > 0)
        y = pdf_boxed(p, y, bj_doc_cell(running, 0, BJ_DOC_SENTENCE)->text, 10,
                      BJ_FONT_SANS);
    y = pdf_boxed(p, y, bj_doc_cell(s, 0, BJ_DOC_COST)->text, 10, BJ_FONT_SANS);
    y = pdf_boxed(p, y, bj_doc_cell(s, 0, BJ_DOC_TODO)->text, 10, BJ_FONT_BOLD);
    bj_sheet_grow(p->sheet, y + 5);
}

/* --- lists and facts -------------------------------------------------------
 */

/* A line to copy, on a tinted background. */
static void pdf_line(struct pdf_page *p, struct bj_slice line)
{
    if (line.n == 0)
        return;
    bj_sheet_row(p->sheet, 3, BJ_ROW_ITEM);
    bj_sheet_box(p->sheet, 12, 0, p->width - 12, 0, COLOUR_TINT);
    double h =
        bj_sheet_text(p->sheet, &(struct bj_sheet_text){.text = line,
                                                        .x = 20,
                                                        .y = 4,
                                                        .width = p->width - 28,
                                                        .size = SIZE,
                                                        .lines = 3,
                                                        .font = BJ_FONT_MONO,
                                                        .colour = COLOUR_TEXT});
    bj_sheet_grow(p->sheet, h + 8);
}

/* A mark at the left, and a text at x. */
static void pdf_item(struct pdf_page *p, struct bj_slice mark, uint32_t colour,
                     double x, struct bj_slice s, bool keep)
{
    bj_sheet_row(p->sheet, 3, BJ_ROW_ITEM | (keep ? BJ_ROW_KEEP : 0));
    bj_sheet_text(p->sheet, &(struct bj_sheet_text){.text = mark,
                                                    .width = x,
                                                    .size = SIZE,
                                                    .font = BJ_FONT_BOLD,
                                                    .colour = colour});
    bj_sheet_text(p->sheet, &(struct bj_sheet_text){.text = s,
                                                    .x = x,
                                                    .width = p->width - x,
                                                    .size = SIZE,
                                                    .lines = 8,
                                                    .colour = COLOUR_TEXT});
}

/* Items with their level (findings), or with a bullet and perhaps a time. */
static void pdf_list(struct pdf_page *p, const struct bj_doc_section *s,
                     enum bj_doc_name name)
{
    struct bj_buf text = {0};
    if (s->rows > 0)
        pdf_title(p, bj_slice_str(s->title));
    for (size_t i = 0; i < s->rows; i++) {
        const struct bj_slice mark = bj_doc_cell(s, i, BJ_DOC_MARK)->text,
                              line = bj_doc_cell(s, i, BJ_DOC_LINE)->text,
                              url = name == BJ_DOC_ADVICE
                                        ? bj_doc_cell(s, i, BJ_DOC_URL)->text
                                        : (struct bj_slice){0};
        const bool level = name == BJ_DOC_FINDINGS;
        text.len = 0;
        bj_buf_clean(&text, level ? (struct bj_slice){0} : mark);
        bj_buf_str(&text, text.len > 0 ? ": " : "");
        bj_buf_clean(&text, bj_doc_cell(s, i, BJ_DOC_ITEM)->text);
        pdf_item(p, level ? mark : BJ_SLICE("\xe2\x80\xa2"),
                 level ? pdf_colour(mark) : COLOUR_TEXT, level ? 62 : 12,
                 (struct bj_slice){text.p, text.len}, line.n > 0 || url.n > 0);
        pdf_line(p, line);
        if (url.n > 0)
            pdf_item(p, BJ_SLICE(""), COLOUR_METER, 12, url, false);
    }
    if (s->note.n > 0)
        pdf_item(p, BJ_SLICE(""), COLOUR_TEXT, 12, s->note, false);
    p->failed |= text.failed;
    bj_buf_free(&text);
}

static void pdf_facts(struct pdf_page *p, const struct bj_doc_section *s)
{
    const double at = 76;
    if (!s->is_there)
        return;
    pdf_title(p, bj_slice_str(s->title));
    for (size_t i = 0; i < s->rows; i++) {
        bj_sheet_row(p->sheet, 2, BJ_ROW_KEEP | BJ_ROW_CELLS);
        bj_sheet_text(p->sheet,
                      &(struct bj_sheet_text){
                          .text = bj_doc_cell(s, i, BJ_DOC_FACT)->text,
                          .width = at,
                          .size = SIZE,
                          .colour = COLOUR_MUTED});
        bj_sheet_text(p->sheet,
                      &(struct bj_sheet_text){
                          .text = bj_doc_cell(s, i, BJ_DOC_FACT_TEXT)->text,
                          .x = at,
                          .width = p->width - at,
                          .size = SIZE,
                          .lines = 4,
                          .colour = COLOUR_TEXT});
    }
    pdf_paragraph(p, 4, COLOUR_MUTED, s->note);
}

/* --- the document ----------------------------------------------------------
 */

#define WASTE                                                                  \
    .has_head = true, .columns = 6,                                            \
    .column = {                                                                \
        {.width = 88, .cell = BJ_DOC_JOB},                                     \
        {.x = 92, .width = 80, .cell = BJ_DOC_USER},                           \
        {.x = 176, .width = 120, .cell = BJ_DOC_JOB_NAME},                     \
        {.x = 300, .width = 64, .right = true, .cell = BJ_DOC_UNUSED},         \
        {.x = 374, .width = 72, .cell = BJ_DOC_USED, .meter = true},           \
        {.x = 448,                                                             \
         .width = 46,                                                          \
         .right = true,                                                        \
         .cell = BJ_DOC_USED,                                                  \
         .untitled = true},                                                    \
    }

#define PART                                                                   \
    {.width = 110, .cell = BJ_DOC_PART},                                       \
        {.x = 114, .width = 64, .cell = BJ_DOC_BUSY, .meter = true},           \
    {                                                                          \
        .x = 180, .width = 52, .right = true, .cell = BJ_DOC_BUSY,             \
        .untitled = true                                                       \
    }

static const struct pdf_table pdf_totals = {
    .columns = 4,
    .column = {{.width = 72, .cell = BJ_DOC_LABEL},
               {.x = 74, .width = 102, .cell = BJ_DOC_PERCENT, .meter = true},
               {.x = 180, .width = 52, .right = true, .cell = BJ_DOC_PERCENT},
               {.x = 240,
                .width = 250,
                .cell = BJ_DOC_AMOUNT,
                .with = BJ_DOC_QUALITY}}};

static const struct pdf_table pdf_asked = {
    .has_head = true,
    .columns = 6,
    .column = {{.width = 70, .cell = BJ_DOC_RESOURCE},
               {.x = 72, .width = 50, .cell = BJ_DOC_OF_ASKED, .meter = true},
               {.x = 124,
                .width = 52,
                .right = true,
                .cell = BJ_DOC_OF_ASKED,
                .untitled = true},
               {.x = 178,
                .width = 110,
                .right = true,
                .cell = BJ_DOC_TAKEN,
                .with = BJ_DOC_HOW},
               {.x = 292, .width = 88, .right = true, .cell = BJ_DOC_ASKED},
               {.x = 390, .width = 105, .cell = BJ_DOC_NEXT}}};

static const struct pdf_table pdf_figures = {
    .has_head = true,
    .columns = 7,
    .column = {
        {.width = 70, .cell = BJ_DOC_LABEL},
        {.x = 72, .width = 50, .cell = BJ_DOC_PERCENT, .meter = true},
        {.x = 124, .width = 52, .right = true, .cell = BJ_DOC_PERCENT},
        {.x = 178, .width = 74, .right = true, .cell = BJ_DOC_AMOUNT_USED},
        {.x = 254, .width = 62, .right = true, .cell = BJ_DOC_ALLOCATED},
        {.x = 318, .width = 62, .right = true, .cell = BJ_DOC_REQUESTED},
        {.x = 390, .width = 105, .cell = BJ_DOC_SOURCE}}};

static const struct pdf_table pdf_tables[] = {
    {.name = BJ_DOC_NODES,
     .has_head = true,
     .is_least = true,
     .rows = 40,
     .columns = 7,
     .column = {PART,
                {.x = 246, .width = 64, .cell = BJ_DOC_MEMORY, .meter = true},
                {.x = 312,
                 .width = 52,
                 .right = true,
                 .cell = BJ_DOC_MEMORY,
                 .untitled = true},
                {.x = 366, .width = 64, .right = true, .cell = BJ_DOC_PEAK},
                {.x = 440, .width = 55, .cell = BJ_DOC_LIMIT}}},
    {.name = BJ_DOC_GPUS,
     .has_head = true,
     .is_least = true,
     .rows = 40,
     .columns = 6,
     .column = {PART,
                {.x = 240, .width = 68, .cell = BJ_DOC_MODEL},
                {.x = 308, .width = 50, .right = true, .cell = BJ_DOC_PEAK},
                {.x = 366, .width = 129, .cell = BJ_DOC_FAULT}}},
    {.name = BJ_DOC_ARRAY,
     .has_head = true,
     .columns = 7,
     .column =
         {{.width = 72, .cell = BJ_DOC_VALUE},
          {.x = 74, .width = 66, .right = true, .cell = BJ_DOC_LEAST},
          {.x = 142, .width = 66, .right = true, .cell = BJ_DOC_MEDIAN},
          {.x = 210, .width = 66, .right = true, .cell = BJ_DOC_P95},
          {.x = 278, .width = 66, .right = true, .cell = BJ_DOC_MOST},
          {.x = 350, .width = 60, .cell = BJ_DOC_TASK},
          {.x = 414, .width = 81, .cell = BJ_DOC_SPREAD, .spread = true}}},
    {.name = BJ_DOC_WASTE_GPU, WASTE},
    {.name = BJ_DOC_WASTE_CPU, WASTE},
    {.name = BJ_DOC_WASTE_MEMORY, WASTE},
    {.name = BJ_DOC_COUNTS,
     .has_head = true,
     .columns = 2,
     .column = {{.width = 200, .cell = BJ_DOC_FINDING},
                {.x = 204, .width = 50, .right = true, .cell = BJ_DOC_JOBS}}},
    {.name = BJ_DOC_GROUPS,
     .has_head = true,
     .rows = 60,
     .columns = 8,
     .column =
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

/* The bill: with prices, and without. */
static const struct pdf_table pdf_bill = {
    .has_head = true,
    .columns = 5,
    .column = {
        {.width = 190, .cell = BJ_DOC_BILL_ITEM},
        {.x = 192, .width = 80, .right = true, .cell = BJ_DOC_BILL_AMOUNT},
        {.x = 276, .width = 60, .right = true, .cell = BJ_DOC_BILL_EACH},
        {.x = 340, .width = 74, .right = true, .cell = BJ_DOC_BILL_BEFORE},
        {.x = 420, .width = 75, .right = true, .cell = BJ_DOC_BILL_COST}}};

static const struct pdf_table pdf_members = {
    .has_head = true,
    .columns = 6,
    .column = {
        {.width = 118, .cell = BJ_DOC_BILL_ITEM},
        {.x = 122, .width = 60, .right = true, .cell = BJ_DOC_BILL_JOBS},
        {.x = 186, .width = 74, .right = true, .cell = BJ_DOC_BILL_CPU},
        {.x = 264, .width = 72, .right = true, .cell = BJ_DOC_BILL_GPU},
        {.x = 340, .width = 74, .right = true, .cell = BJ_DOC_BILL_BEFORE},
        {.x = 420, .width = 75, .right = true, .cell = BJ_DOC_BILL_COST}}};

static void pdf_tables_of(struct pdf_page *p, const struct bj_doc *d,
                          enum bj_doc_name from, enum bj_doc_name upto)
{
    for (size_t i = 0; i < sizeof(pdf_tables) / sizeof(pdf_tables[0]); i++)
        if (pdf_tables[i].name >= from && pdf_tables[i].name <= upto)
            pdf_table(p, &d->section[pdf_tables[i].name], &pdf_tables[i]);
}

static void pdf_job(struct pdf_page *p, const struct bj_doc *d,
                    const struct bj_charts *charts)
{
    const struct bj_doc_section *s = d->section;
    pdf_top_of_job(p, d);
    pdf_verdict(p, d);
    pdf_list(p, &s[BJ_DOC_ADVICE], BJ_DOC_ADVICE);
    if (bj_doc_has_next(d))
        pdf_table(p, &s[BJ_DOC_REQUEST], &pdf_asked);
    pdf_table(p, &s[BJ_DOC_NOW], &pdf_totals);
    pdf_table(p, &s[BJ_DOC_FIGURES], &pdf_figures);
    pdf_list(p, &s[BJ_DOC_FINDINGS], BJ_DOC_FINDINGS);
    pdf_list(p, &s[BJ_DOC_WARNINGS], BJ_DOC_WARNINGS);
    pdf_tables_of(p, d, BJ_DOC_ARRAY, BJ_DOC_ARRAY);
    pdf_facts(p, &s[BJ_DOC_FACTS]);
    pdf_charts(p, charts, d->task);
    pdf_tables_of(p, d, BJ_DOC_NODES, BJ_DOC_GPUS);
    pdf_sentence(p, &s[BJ_DOC_IDLE]);
    pdf_sentence(p, &s[BJ_DOC_SAMPLED]);
}

int bj_pdf_document(struct bj_sheet *s, const struct bj_doc *d,
                    const struct bj_charts *charts, struct bj_err *err)
{
    struct pdf_page p = {.sheet = s, .width = bj_sheet_width(s)};
    if (d->arena.failed)
        return bj_err_set(err, -ENOMEM, "PDF");
    if (d->section[BJ_DOC_VERDICT].is_there) {
        pdf_job(&p, d, charts);
    } else {
        pdf_top_of_period(&p, d);
        pdf_list(&p, &d->section[BJ_DOC_ADVICE], BJ_DOC_ADVICE);
        pdf_table(&p, &d->section[BJ_DOC_FIGURES], &pdf_totals);
        pdf_table(&p, &d->section[BJ_DOC_BILL], &pdf_bill);
        pdf_charts(&p, charts, d->task);
        pdf_tables_of(&p, d, BJ_DOC_WASTE_GPU, BJ_DOC_SECTIONS);
        pdf_table(&p, &d->section[BJ_DOC_MEMBERS], &pdf_members);
        pdf_sentence(&p, &d->section[BJ_DOC_SAMPLED]);
    }
    return p.failed ? bj_err_set(err, -ENOMEM, "PDF") : 0;
}

/* What the PDF of a job and that of a period have in common: titles, tables,
 * meters. */
#ifndef BJ_REPORT_PDF_PARTS_H
#define BJ_REPORT_PDF_PARTS_H

#include "report/charts.h"
#include "report/sheet.h"

enum { /* colours */
       BJ_PDF_TEXT = 0x1A1A1A,
       BJ_PDF_MUTED = 0x595959,
       BJ_PDF_LINE = 0xD9D9D9,
       BJ_PDF_TINT = 0xF3F5F7,
       BJ_PDF_TRACK = 0xD5DDE5,
       BJ_PDF_METER = 0x005A9C
};

struct bj_pdf_page {
    struct bj_sheet *sheet;
    double width;
    struct bj_buf cell;
    bool utc; /* else local time */
};

/* A column of a table. */
struct bj_pdf_column {
    double x, width;
    bool right;
    const char *title;
};

uint32_t bj_pdf_colour(struct bj_slice level);

/* The name of a section, which stays with what follows. */
void bj_pdf_title(struct bj_pdf_page *p, const char *text);

/* The names of the columns. */
void bj_pdf_head(struct bj_pdf_page *p, const struct bj_pdf_column *c,
                 size_t columns);

/* A row of the table; the first stays with the second. */
void bj_pdf_row(struct bj_pdf_page *p, size_t i, size_t rows);

/* Text in a column.  The second clears the cell. */
void bj_pdf_text(struct bj_pdf_page *p, const struct bj_pdf_column *c,
                 struct bj_slice text);
void bj_pdf_cell(struct bj_pdf_page *p, const struct bj_pdf_column *c);

/* The meter fills a column; unknown: it is empty. */
void bj_pdf_meter(struct bj_pdf_page *p, const struct bj_pdf_column *c,
                  int64_t ppm);

/* A line of a label and the cell, which is cleared; none if it is empty. */
void bj_pdf_fact(struct bj_pdf_page *p, const char *label);

/* A section of charts, or why there are none; none of both: nothing.  task: of
 * an array, of which they are. */
void bj_pdf_charts(struct bj_pdf_page *p, const struct bj_charts *c,
                   struct bj_slice task);

/* A paragraph: the cell, which is cleared. */
void bj_pdf_paragraph(struct bj_pdf_page *p, double before, uint32_t colour);

#endif

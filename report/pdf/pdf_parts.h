/* Parts for the PDFs of jobs and of periods: titles, tables, meters. */
#ifndef BJ_REPORT_PDF_PDF_PARTS_H
#define BJ_REPORT_PDF_PDF_PARTS_H

#include "report/chart/charts.h"
#include "report/pdf/sheet.h"

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
};

/* A column of a table. */
struct bj_pdf_column {
    double x, width;
    bool right;
    const char *title;
};

uint32_t bj_pdf_colour(struct bj_slice level);

/* Add the title of a section, on the same page as the next row. */
void bj_pdf_title(struct bj_pdf_page *p, const char *text);

/* Add the heading row of a table. */
void bj_pdf_head(struct bj_pdf_page *p, const struct bj_pdf_column *c,
                 size_t columns);

/* Begin row i of a table; the first row is on the same page as the second. */
void bj_pdf_row(struct bj_pdf_page *p, size_t i, size_t rows);

/* Put a text, or the text of the cell, into a column.  bj_pdf_cell clears the
 * cell. */
void bj_pdf_text(struct bj_pdf_page *p, const struct bj_pdf_column *c,
                 struct bj_slice text);
void bj_pdf_cell(struct bj_pdf_page *p, const struct bj_pdf_column *c);

/* Put a meter into a column; it is empty for BJ_SQL_NULL. */
void bj_pdf_meter(struct bj_pdf_page *p, const struct bj_pdf_column *c,
                  int64_t ppm);

/* Add a line with a label and the text of the cell, and clear the cell; no line
 * if the cell is empty. */
void bj_pdf_fact(struct bj_pdf_page *p, const char *label);

/* Add a section of charts, or the reason why there are none; nothing if there
 * is neither.  task: the array's task of the charts, or empty. */
void bj_pdf_charts(struct bj_pdf_page *p, const struct bj_charts *c,
                   struct bj_slice task);

/* Add a paragraph with the text of the cell, and clear the cell. */
void bj_pdf_paragraph(struct bj_pdf_page *p, double before, uint32_t colour);

#endif

/* Pages of rows, drawn as PDF, or one page as PNG.  Lengths are in points (1/72
 * inch), for PNG in pixels before scaling; colours are 0xRRGGBB. */
#ifndef BJ_REPORT_PDF_SHEET_H
#define BJ_REPORT_PDF_SHEET_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bj_sheet;

enum bj_font { BJ_FONT_SANS, BJ_FONT_BOLD, BJ_FONT_MONO, BJ_FONTS };

struct bj_sheet_text {
    struct bj_slice text; /* any bytes */
    double x, y;          /* of its upper left corner, within the row */
    double width;
    double size;
    unsigned lines; /* maximum number; the rest is cut, with an ellipsis; 0
                       means 1 */
    enum bj_font font;
    uint32_t colour;
    bool right;  /* aligned to the right; one line only */
    bool centre; /* centred; one line only */
};

/* A line through points, or an area within them. */
struct bj_sheet_path {
    const double *xy; /* x and y of each point, within the row; NaN: a gap */
    size_t points;
    double width; /* width of the line; 0: an area */
    double dash;  /* length of its dashes; 0: none */
    uint32_t colour;
};

enum {                  /* flags of rows */
       BJ_ROW_KEEP = 1, /* stays with the next row */
       BJ_ROW_PAGE = 2, /* begins a page */
       BJ_ROW_HEAD = 4, /* heading of a table; repeated at the top of pages */
       BJ_ROW_BODY = 8, /* row below that heading */
       /* What it is, for readers of tagged PDFs; else it is a paragraph. */
       BJ_ROW_TITLE = 16,   /* heading of the document */
       BJ_ROW_SECTION = 32, /* heading of a section */
       BJ_ROW_CELLS = 64,   /* row of a table, as those of HEAD and BODY: each
                               text is a cell */
       BJ_ROW_ITEM = 128,   /* of a list: its mark, then its text */
       BJ_ROW_FIGURE = 256
};

/* Make a sheet of pages.  -ENOSYS: cairo, Pango or fonts are missing. */
int bj_sheet_new(bool letter, struct bj_sheet **ret, struct bj_err *err);

/* Make a sheet for one image, with scale pixels for each unit of length. */
int bj_sheet_new_image(double width, double height, double scale,
                       struct bj_sheet **ret, struct bj_err *err);
void bj_sheet_free(struct bj_sheet *s);

double bj_sheet_width(const struct bj_sheet *s);

/* Begin a row; the following functions draw into it. */
void bj_sheet_row(struct bj_sheet *s, double before, unsigned flags);

/* Draw text; the row grows to its height, which is returned. */
double bj_sheet_text(struct bj_sheet *s, const struct bj_sheet_text *t);

/* Append to the text that readers get instead of the figure of this row. */
void bj_sheet_figure_text(struct bj_sheet *s, struct bj_slice text);

/* Draw a filled rectangle; height 0: the height of the row. */
void bj_sheet_box(struct bj_sheet *s, double x, double y, double width,
                  double height, uint32_t colour);

/* Draw a path; the points are copied. */
void bj_sheet_path(struct bj_sheet *s, const struct bj_sheet_path *p);

/* The caller lacked memory: nothing is drawn, with -ENOMEM. */
void bj_sheet_fail(struct bj_sheet *s);

/* Make the row at least this high. */
void bj_sheet_grow(struct bj_sheet *s, double height);

struct bj_sheet_about {
    const char *title, *subject; /* document properties; clean UTF-8 */
    int64_t created_sec; /* creation time; the same input should have the same
                            time */
};

/* Append the image as PNG. */
int bj_sheet_write_png(struct bj_sheet *s, struct bj_buf *out,
                       struct bj_err *err);

/* Append the document as PDF. */
int bj_sheet_write(struct bj_sheet *s, const struct bj_sheet_about *about,
                   struct bj_buf *out, struct bj_err *err);

/* --- flow ---*/

/* Divides rows into pages.  A row is never split. */

struct bj_flow_row {
    double before; /* space above the row, but not at the top of a page */
    double height;
    bool keep;   /* stays with the next row */
    bool begins; /* begins a page */
    size_t head; /* number + 1 of the row that is repeated above this one if it
                    is the first of a page; 0: none */
    unsigned flags; /* of bj_sheet_row */
    /* Result: */
    unsigned page; /* from 0 */
    double y;      /* position of its upper edge on the page */
};

/* Place rows on pages of that height; returns the number of pages.  If the last
 * rows before a forced page, or before the end, are less than least high in
 * total, rows before them are moved to their page. */
unsigned bj_flow(struct bj_flow_row *row, size_t n, double height,
                 double least);

#endif

/* Pages of rows, drawn as PDF, or one as PNG.  Lengths are in points of 1/72
 * inch, of PNG in pixels before it is scaled; colours are 0xRRGGBB. */
#ifndef BJ_REPORT_SHEET_H
#define BJ_REPORT_SHEET_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct bj_sheet;

enum bj_font { BJ_FONT_SANS, BJ_FONT_BOLD, BJ_FONT_MONO, BJ_FONTS };

struct bj_sheet_text {
    struct bj_slice text; /* any bytes */
    double x, y;          /* of its upper left corner, within the row */
    double width;
    double size;
    unsigned lines; /* the rest is cut, with an ellipsis; 0 means 1 */
    enum bj_font font;
    uint32_t colour;
    bool right;  /* aligned; of one line */
    bool centre; /* likewise */
};

/* A line through points, or an area within them. */
struct bj_sheet_path {
    const double *xy; /* of each point, within the row; NaN: a gap */
    size_t points;
    double width; /* of the line; 0: an area */
    double dash;  /* length of its dashes; 0: none */
    uint32_t colour;
};

enum {                  /* of rows */
       BJ_ROW_KEEP = 1, /* stays with the next row */
       BJ_ROW_PAGE = 2, /* begins a page */
       BJ_ROW_HEAD = 4, /* of a table; repeated at the top of pages */
       BJ_ROW_BODY = 8  /* below that head */
};

/* -ENOSYS: cairo, Pango or fonts are missing. */
int bj_sheet_new(bool letter, struct bj_sheet **ret, struct bj_err *err);

/* A sheet for one image, with scale pixels for each length. */
int bj_sheet_new_image(double width, double height, double scale,
                       struct bj_sheet **ret, struct bj_err *err);
void bj_sheet_free(struct bj_sheet *s);

double bj_sheet_width(const struct bj_sheet *s);

/* Begin a row; what follows belongs to it. */
void bj_sheet_row(struct bj_sheet *s, double before, unsigned flags);

/* Returns the height of the text, to which the row grows. */
double bj_sheet_text(struct bj_sheet *s, const struct bj_sheet_text *t);

/* A filled rectangle; height 0: that of the row. */
void bj_sheet_box(struct bj_sheet *s, double x, double y, double width,
                  double height, uint32_t colour);

/* The points are copied. */
void bj_sheet_path(struct bj_sheet *s, const struct bj_sheet_path *p);

/* Make the row at least that high. */
void bj_sheet_grow(struct bj_sheet *s, double height);

struct bj_sheet_about {
    const char *title, *subject; /* document properties; clean UTF-8 */
    int64_t created_sec;         /* the same for the same input */
};

/* Append the image. */
int bj_sheet_write_png(struct bj_sheet *s, struct bj_buf *out,
                       struct bj_err *err);

/* Append the document. */
int bj_sheet_write(struct bj_sheet *s, const struct bj_sheet_about *about,
                   struct bj_buf *out, struct bj_err *err);

#endif

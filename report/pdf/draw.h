/* Draws PDF and PNG in a separate process, because Pango and GLib end the
 * process when memory is exhausted, and keep memory for fonts. */
#ifndef BJ_REPORT_PDF_DRAW_H
#define BJ_REPORT_PDF_DRAW_H

#include "report/chart/charts.h"
#include "report/model/document.h"
#include "report/model/report.h"

/* The argument that runs a program as such a process.  It is not for users. */
#define BJ_DRAW_COMMAND "draw-report"

/* The path of the running program, for programs that call bj_draw_process(). */
#define BJ_DRAW_SELF "/proc/self/exe"

enum {
    /* maximum number of concurrent processes of a program */
    BJ_DRAW_PROCESSES = 2,
    BJ_DRAW_WIDTH_MIN = 240,
    BJ_DRAW_WIDTH_MAX = 2000,
    BJ_DRAW_WIDTH = 600 /* as in mails */
};

/* Run as that process: reads the input from standard input and writes the
 * drawing to standard output.  Returns the exit status. */
int bj_draw_process(void);

/* The next three run such a process of program, the path of a program that
 * calls bj_draw_process(), and append its output. -ENOSYS  the libraries or
 * fonts are missing: the message names them -EBUSY   BJ_DRAW_PROCESSES
 * processes are drawing already -ENOMEM, and others if it failed, or took
 * longer than 10 s */

/* Draw the report of a job as PDF; charts may be NULL. */
int bj_draw_pdf(const char *program, const struct bj_report *r,
                const struct bj_charts *charts, bool letter, struct bj_buf *out,
                struct bj_err *err);

/* Draw a document as PDF. */
int bj_draw_document(const char *program, const struct bj_doc *d,
                     const struct bj_charts *charts, bool letter,
                     struct bj_buf *out, struct bj_err *err);

/* Draw each chart as an image, width * scale pixels wide; ret[i] is the image
 * of chart i, owned by the caller, also after an error. */
int bj_draw_png(const char *program, const struct bj_charts *charts,
                unsigned width, unsigned scale, struct bj_buf ret[BJ_CHARTS],
                struct bj_err *err);

#endif

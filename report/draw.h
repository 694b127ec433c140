/* Drawing PDF and PNG in a process of its own: Pango and GLib end the process
 * when memory is short, and keep memory for fonts. */
#ifndef BJ_REPORT_DRAW_H
#define BJ_REPORT_DRAW_H

#include "report/charts.h"
#include "report/report.h"

/* The argument that makes a program such a process.  It is not for users. */
#define BJ_DRAW_COMMAND "draw-report"

/* The path of the program that runs, for those that call bj_draw_process(). */
#define BJ_DRAW_SELF "/proc/self/exe"

enum {
    BJ_DRAW_PROCESSES = 2, /* of a program at a time, at most */
    BJ_DRAW_WIDTH_MIN = 240,
    BJ_DRAW_WIDTH_MAX = 2000,
    BJ_DRAW_WIDTH = 600 /* as a mail shows it */
};

/* What that process does: reads what to draw from standard input and writes it
 * to standard output.  Returns the exit status. */
int bj_draw_process(void);

/* The next two run such a process of program, the path of a program that calls
 * bj_draw_process(), and append its output.
 *   -ENOSYS  the libraries or fonts are missing: the message names them
 *   -EBUSY   so many processes are drawing
 *   -ENOMEM, and others if it failed, or took longer than 10 s */

/* The report of a job; charts may be NULL. */
int bj_draw_pdf(const char *program, const struct bj_report *r,
                const struct bj_charts *charts, bool letter, struct bj_buf *out,
                struct bj_err *err);

/* Each chart as an image of width times scale pixels; ret[i] is that of chart i
 * and owned by the caller, also after an error. */
int bj_draw_png(const char *program, const struct bj_charts *charts,
                unsigned width, unsigned scale, struct bj_buf ret[BJ_CHARTS],
                struct bj_err *err);

#endif

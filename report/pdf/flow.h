/* Divides rows into pages.  A row is never split. */
#ifndef BJ_REPORT_PDF_FLOW_H
#define BJ_REPORT_PDF_FLOW_H

#include <stdbool.h>
#include <stddef.h>

struct bj_flow_row {
    double before; /* space above the row, but not at the top of a page */
    double height;
    bool keep;   /* stays with the next row */
    bool begins; /* begins a page */
    size_t head; /* number + 1 of the row that is repeated above this one if it
                    is the first of a page; 0: none */
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

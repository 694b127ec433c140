/* Divides rows into pages.  A row is never split. */
#ifndef BJ_REPORT_FLOW_H
#define BJ_REPORT_FLOW_H

#include <stdbool.h>
#include <stddef.h>

struct bj_flow_row {
    double before; /* space above it, but not at the top of a page */
    double height;
    bool keep;   /* stays with the next row */
    bool begins; /* a page */
    size_t head; /* number + 1 of the row that is repeated above it at the top
                    of a page; 0: none */
    /* Result: */
    unsigned page; /* from 0 */
    double y;      /* of its upper edge */
};

/* Place rows on pages of that height; returns the number of pages.  The last
 * rows before a page that must begin, or before the end, do not stand alone:
 * they are at least least high, or rows before them move there, too. */
unsigned bj_flow(struct bj_flow_row *row, size_t n, double height,
                 double least);

#endif

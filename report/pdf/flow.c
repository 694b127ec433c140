#include "report/pdf/flow.h"

/* Height of rows from first to end (excluded) on one page. */
static double height_of(const struct bj_flow_row *row, size_t first, size_t end)
{
    size_t head = row[first].head;
    double h = head > 0 && head <= first ? row[head - 1].height : 0;
    for (size_t i = first; i < end; i++)
        h += row[i].height + (i > first ? row[i].before : 0);
    return h;
}

/* The nearest place at or before at where a page may end. */
static size_t allowed(const struct bj_flow_row *row, size_t first, size_t at)
{
    size_t i = at;
    while (i > first && row[i - 1].keep)
        i--;
    return i > first ? i : at; /* all rows must stay together: break where the
                                  page is full */
}

/* The end of the page that begins at first, of rows up to end. */
static size_t page_end(const struct bj_flow_row *row, size_t first, size_t end,
                       double height, double least)
{
    size_t full = first + 1;
    while (full < end && height_of(row, first, full + 1) <= height)
        full++;
    if (full == end)
        return end;
    size_t at = allowed(row, first, full), alone = at;
    while (at > first + 1 && height_of(row, at, end) < least)
        at = allowed(row, first, at - 1);
    return height_of(row, first, at) >= least ? at : alone;
}

static void place(struct bj_flow_row *row, size_t first, size_t end,
                  unsigned page)
{
    for (size_t i = first; i < end; i++) {
        row[i].page = page;
        row[i].y = height_of(row, first, i + 1) - row[i].height;
    }
}

unsigned bj_flow(struct bj_flow_row *row, size_t n, double height, double least)
{
    unsigned pages = 0;
    for (size_t first = 0; first < n;) {
        size_t end = first + 1;
        while (end < n && !row[end].begins)
            end++;
        end = page_end(row, first, end, height, least);
        place(row, first, end, pages++);
        first = end;
    }
    return pages;
}

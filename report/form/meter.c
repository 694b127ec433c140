#include "report/form/meter.h"

#include "store/db.h"

enum { CELLS = 24, MICRO = 1000000 };

void bj_meter(struct bj_buf *out, int64_t ppm, bool ascii)
{
    if (ppm == BJ_SQL_NULL) {
        bj_buf_printf(out, "%*s", CELLS + (ascii ? 3 : 1), "");
        return;
    }
    const int64_t full =
        ppm > MICRO ? CELLS : (ppm * CELLS + MICRO / 2) / MICRO;
    const char *on = ascii ? "#" : "\xe2\x96\x88";
    const char *off = ascii ? "." : "\xe2\x96\x91";
    bj_buf_str(out, ascii ? "[" : "");
    for (int64_t i = 0; i < CELLS; i++)
        bj_buf_str(out, i < full ? on : off);
    bj_buf_str(out, ascii ? "] " : " ");
}

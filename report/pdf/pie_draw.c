#include "report/pdf/pie_draw.h"

#include "report/model/show.h"

#include <math.h>

enum { STEPS = 180, TEXT = 0x1A1A1A };

static const uint32_t colours[] = {0x0072B2, 0xD55E00, 0x00734F, 0xAA3377};

/* The rest of the whole has a pale colour. */
static uint32_t colour_of(const struct bj_chart *k, unsigned i)
{
    return k->line[i].limit ? 0xD5DDE5 : colours[i];
}

#define RADIUS 5.6 /* in multiples of the text size */
#define HEAD 2.6

double bj_pie_height(double size)
{
    return size * (HEAD + 2 * RADIUS + 0.6);
}

static double value_of(const struct bj_chart *k, unsigned i)
{
    const double v = k->points > 0 ? k->line[i].value[0] : 0;
    return bj_chart_known(v) && v > 0 ? v : 0;
}

/* Draw a wedge between two angles, in parts of a turn clockwise from the top.
 */
static void put_wedge(struct bj_sheet *s, double x, double y, double radius,
                      double from, double to, uint32_t colour)
{
    double xy[2 * (STEPS + 2)];
    const unsigned n = (unsigned)((to - from) * (double)STEPS) + 1;
    xy[0] = x;
    xy[1] = y;
    for (unsigned i = 0; i <= n; i++) {
        const double turn = 2 * M_PI * (from + (to - from) * i / n);
        xy[2 * i + 2] = x + radius * sin(turn);
        xy[2 * i + 3] = y - radius * cos(turn);
    }
    bj_sheet_path(s, &(struct bj_sheet_path){
                         .xy = xy, .points = n + 2, .colour = colour});
}

static void put_text(struct bj_sheet *s, struct bj_slice text, double x,
                     double y, double width, double size, enum bj_font font)
{
    bj_sheet_text(s, &(struct bj_sheet_text){.text = text,
                                             .x = x,
                                             .y = y,
                                             .width = width,
                                             .size = size,
                                             .font = font,
                                             .colour = TEXT});
}

/* "user: 3.2 h, 80.0 %" */
static void put_entry(struct bj_sheet *s, const struct bj_chart_place *p,
                      const struct bj_chart *k, unsigned i, double all)
{
    const double x = p->x + (2 * RADIUS + 2) * p->size;
    const double y = p->y + (HEAD + 1 + 1.9 * i) * p->size;
    struct bj_buf b = {0};
    bj_buf_str(&b, k->line[i].name);
    bj_buf_str(&b, ": ");
    bj_chart_amount(&b, k->unit, value_of(k, i));
    bj_buf_str(&b, ", ");
    bj_show_percent(&b, (int64_t)(value_of(k, i) / all * 1e6 + 0.5));
    bj_sheet_box(s, x, y + 0.15 * p->size, p->size, p->size, colour_of(k, i));
    put_text(s, (struct bj_slice){b.p ? b.p : "", b.len}, x + 1.6 * p->size, y,
             p->x + p->width - x - 1.6 * p->size, p->size, BJ_FONT_SANS);
    bj_buf_free(&b);
}

void bj_pie_draw(struct bj_sheet *s, const struct bj_chart_place *p,
                 const struct bj_chart *k)
{
    const unsigned most = sizeof(colours) / sizeof(colours[0]);
    const unsigned n = k->lines < most ? k->lines : most;
    const double radius = RADIUS * p->size;
    double all = 0, at = 0;
    put_text(s, bj_slice_str(k->title), p->x, p->y, p->width, p->size * 1.25,
             BJ_FONT_BOLD);
    for (unsigned i = 0; i < n; i++)
        all += value_of(k, i);
    for (unsigned i = 0; i < n && all > 0; i++) {
        const double part = value_of(k, i) / all;
        if (part > 0)
            put_wedge(s, p->x + radius, p->y + HEAD * p->size + radius, radius,
                      at, at + part, colour_of(k, i));
        at += part;
        put_entry(s, p, k, i, all);
    }
}

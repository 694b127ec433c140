#include "apiserver/series_work.h"

#include "base/json.h"
#include "base/stamp.h"

enum {
    WIDTH = 800,
    HEIGHT = 180,
    LEFT = 80,
    RIGHT = 10,
    TOP = 24,
    BOTTOM = 20,
    COLOURS = 5
};

static const char *const colours[COLOURS] = {"#2563eb", "#d97706", "#059669",
                                             "#dc2626", "#7c3aed"};

/* In millionths; -1: none.  Negative values are drawn as 0. */
static int64_t value(const struct bj_series_work *w, unsigned point,
                     unsigned metric)
{
    int64_t v;
    const char *text =
        w->groups ? bj_series_value(w, &w->group[0], point, metric) : NULL;
    if (!text || bj_decimal_i64(bj_slice_str(text), 6, &v) < 0)
        return -1;
    return v < 0 ? 0 : v;
}

static int64_t highest(const struct bj_series_work *w)
{
    int64_t top = 0;
    for (unsigned i = 0; i < w->points; i++)
        for (unsigned m = 0; m < w->metrics; m++)
            if (value(w, i, m) > top)
                top = value(w, i, m);
    return top;
}

static unsigned at_x(const struct bj_series_work *w, unsigned point)
{
    unsigned room = WIDTH - LEFT - RIGHT;
    return LEFT + (w->points > 1 ? point * room / (w->points - 1) : room / 2);
}

static unsigned at_y(int64_t v, int64_t top)
{
    unsigned room = HEIGHT - TOP - BOTTOM;
    unsigned up =
        top > 0 ? (unsigned)((double)v / (double)top * (double)room) : 0;
    return HEIGHT - BOTTOM - up;
}

/* A gap ends a line; a single point is a short one. */
static void put_line(struct bj_buf *b, const struct bj_series_work *w,
                     unsigned m, int64_t top)
{
    bool open = false;
    for (unsigned i = 0; i < w->points; i++) {
        int64_t v = value(w, i, m);
        if (v < 0) {
            bj_buf_str(b, open ? "\"/>\n" : "");
            open = false;
            continue;
        }
        if (!open)
            bj_buf_printf(b,
                          "<polyline fill=\"none\" stroke=\"%s\" "
                          "stroke-width=\"1.5\" points=\"%u,%u ",
                          colours[m % COLOURS], at_x(w, i), at_y(v, top));
        bj_buf_printf(b, "%u,%u ", at_x(w, i) + !open, at_y(v, top));
        open = true;
    }
    bj_buf_str(b, open ? "\"/>\n" : "");
}

/* The highest value, in a unit that people can read. */
static void put_top(struct bj_buf *b, int64_t micro, bool bytes)
{
    static const char *const binary[] = {"", " Ki", " Mi", " Gi", " Ti", " Pi"};
    static const char *const decimal[] = {"", " k", " M", " G", " T", " P"};
    int64_t by = bytes ? 1024 : 1000;
    unsigned u = 0;
    for (; u < 5 && micro / 1000000 >= by; u++)
        micro /= by;
    bj_buf_fixed(b, (uint64_t)(micro / 10000), 2);
    bj_buf_str(b, bytes ? binary[u] : decimal[u]);
}

static void put_time(struct bj_buf *b, int64_t sec, const char *where)
{
    struct bj_civil day = {0};
    bj_civil_from_days(sec >= 0 ? sec / 86400 : 0, &day);
    bj_buf_printf(b, "<text %s y=\"%d\">%04d-%02u-%02u %02u:%02u</text>\n",
                  where, HEIGHT - 5, day.year, day.month, day.day,
                  (unsigned)(sec % 86400 / 3600), (unsigned)(sec % 3600 / 60));
}

static void put_legend(struct bj_buf *b, const struct bj_series_work *w)
{
    unsigned x = LEFT;
    for (unsigned m = 0; m < w->metrics; m++) {
        const char *name = bj_series_metrics[w->metric[m]].name;
        bj_buf_printf(b, "<text x=\"%u\" y=\"15\" fill=\"%s\">%s</text>\n", x,
                      colours[m % COLOURS], name);
        x += 20 + 8 * (unsigned)strlen(name);
    }
}

void bj_series_draw(struct bj_buf *b, const struct bj_series_work *w)
{
    int64_t top = highest(w);
    bool bytes =
        w->metrics > 0 && strstr(bj_series_metrics[w->metric[0]].unit, "bytes");
    bj_buf_printf(b,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
                  "height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\""
                  "sans-serif\" font-size=\"12\">\n"
                  "<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"#999\"/>\n",
                  WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT, TOP, HEIGHT - BOTTOM,
                  WIDTH - RIGHT);
    put_legend(b, w);
    if (w->groups == 0 || top < 0) {
        bj_buf_printf(b, "<text x=\"%d\" y=\"%d\">no data</text>\n</svg>\n",
                      LEFT + 20, HEIGHT / 2);
        return;
    }
    bj_buf_printf(b, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT - 6,
                  TOP + 8);
    put_top(b, top, bytes);
    bj_buf_printf(b,
                  "</text>\n<text x=\"%d\" y=\"%d\" text-anchor=\"end\">0"
                  "</text>\n",
                  LEFT - 6, HEIGHT - BOTTOM);
    put_time(b, w->range.from, "x=\"80\"");
    put_time(b, w->range.to, "x=\"790\" text-anchor=\"end\"");
    for (unsigned m = 0; m < w->metrics; m++)
        put_line(b, w, m, top);
    bj_buf_str(b, "</svg>\n");
}

#include "apiserver/job/chart.h"

#include "base/html.h"
#include "base/local.h"
#include "base/stamp.h"
#include "base/tz.h"

enum {
    WIDTH = 440,
    TALL = 200,
    SMALL = 140,
    LEFT = 70,
    RIGHT = 12,
    TOP = 28,
    BOTTOM = 38,
    HOVERS = 40, /* maximum number of points with values on hover */
    ROWS = 20,   /* maximum number of rows of the table */
    DAY = 86400
};

/* Colours of Okabe and Ito that have contrast 3:1 on white, and brighter ones
 * for dark pages. */
const char bj_chart_style[] =
    ":root{--c0:#0072b2;--c1:#d55e00;--c2:#00734f;--c3:#aa3377;--lim:#595959;"
    "--grid:#d0d0d0}\n"
    "@media(prefers-color-scheme:dark){:root{--c0:#56b4e9;--c1:#f0a030;--c2:"
    "#4fd0a5;--c3:#e59ac0;--lim:#b8b8b8;--grid:#444}}\n"
    ".chart{display:block;width:100%;height:auto;font:12px system-ui,"
    "sans-serif}\n"
    ".chart text{fill:currentColor}\n"
    ".chart .g{stroke:var(--grid)}\n"
    ".chart .l{fill:none;stroke-width:1.8}\n"
    ".chart .c0{stroke:var(--c0)}.chart .c1{stroke:var(--c1)}\n"
    ".chart .c2{stroke:var(--c2)}.chart .c3{stroke:var(--c3)}\n"
    ".chart .c1,.chart .c3{stroke-dasharray:7 2}\n"
    ".chart .lim{stroke:var(--lim);stroke-dasharray:3 3}\n"
    ".chart .h{fill:transparent}.chart .h:hover{fill:#8883}\n";

/* --- times -----------------------------------------------------------------
 */

/* "2:05 h", "45 min", "12 s" */
static void put_span(struct bj_buf *b, int64_t sec)
{
    if (sec >= DAY)
        bj_buf_printf(b, "%lld d ", (long long)(sec / DAY));
    if (sec >= 3600)
        bj_buf_printf(b, "%lld:%02u h", (long long)(sec % DAY / 3600),
                      (unsigned)(sec / 60 % 60));
    else if (sec >= 60)
        bj_buf_printf(b, "%lld:%02u min", (long long)(sec / 60),
                      (unsigned)(sec % 60));
    else
        bj_buf_printf(b, "%lld s", (long long)sec);
}

static void put_clock(struct bj_buf *b, int64_t sec)
{
    char stamp[BJ_STAMP_MAX];
    bj_stamp_text(sec * 1000000, 0, bj_tz_offset(bj_tz_used(), sec) / 60,
                  stamp);
    bj_buf_printf(b, "%.10s %.5s", stamp, stamp + 11);
}

/* --- the frame -------------------------------------------------------------
 */

struct frame {
    struct bj_buf *b;
    const struct bj_chart *k;
    int height;
    struct bj_chart_axis axis;
    int64_t span;
};

static void make_frame(struct frame *f, struct bj_buf *b,
                       const struct bj_chart *k)
{
    f->b = b;
    f->k = k;
    f->height = k->small ? SMALL : TALL;
    f->span = bj_chart_span(k);
    f->axis = bj_chart_axis(k, k->small ? 2 : 4);
}

static int at_x(const struct frame *f, int64_t after_from)
{
    const int room = WIDTH - LEFT - RIGHT;
    return LEFT + (int)((double)after_from / (double)f->span * room);
}

/* The vertical position of a value, in tenths. */
static int at_y(const struct frame *f, double v)
{
    const int room = 10 * (f->height - TOP - BOTTOM);
    v = v < 0 ? 0 : v > f->axis.top ? f->axis.top : v;
    return 10 * (f->height - BOTTOM) - (int)(v / f->axis.top * room + 0.5);
}

static void put_y_axis(const struct frame *f)
{
    const int n = (int)(f->axis.top / f->axis.tick + 0.001);
    for (int i = 0; i <= n; i++) {
        int y = at_y(f, i * f->axis.tick);
        bj_buf_printf(f->b,
                      "<path class=\"g\" d=\"M%d %d.%dH%d\"/><text x=\"%d\" "
                      "y=\"%d\" text-anchor=\"end\">",
                      LEFT, y / 10, y % 10, WIDTH - RIGHT, LEFT - 5,
                      y / 10 + 4);
        bj_chart_amount(f->b, f->k->unit, i * f->axis.tick);
        bj_buf_str(f->b, "</text>\n");
    }
}

/* Times since the start of the job. */
static void put_x_axis(const struct frame *f)
{
    const int64_t since = f->k->from - f->k->start;
    const int64_t tick = bj_chart_time_tick(f->span, 5), to = since + f->span;
    for (int64_t t = (since + tick - 1) / tick * tick; t <= to; t += tick) {
        int x = at_x(f, t - since);
        const bool last = x > WIDTH - RIGHT - 12;
        bj_buf_printf(f->b,
                      "<path class=\"g\" d=\"M%d %dV%d\"/><text x=\"%d\" "
                      "y=\"%d\" text-anchor=\"%s\">",
                      x, TOP, f->height - BOTTOM, last ? WIDTH : x,
                      f->height - BOTTOM + 15, last ? "end" : "middle");
        bj_chart_put_time_tick(f->b, t, tick);
        bj_buf_str(f->b, "</text>\n");
    }
    if (f->k->small)
        return;
    bj_local_html(
        f->b,
        "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">{time since %s}</text>\n",
        WIDTH - RIGHT, f->height - 5,
        f->k->since ? f->k->since : bj_local_escaped("start"));
}

/* --- lines -----------------------------------------------------------------
 */

static void put_class(const struct bj_chart *k, unsigned line, struct bj_buf *b)
{
    unsigned colour = 0;
    for (unsigned i = 0; i < line; i++)
        colour += !k->line[i].limit;
    if (k->line[line].limit)
        bj_buf_str(b, "class=\"l lim\"");
    else
        bj_buf_printf(b, "class=\"l c%u\"", colour % 4);
}

static void put_legend(const struct frame *f)
{
    int x = LEFT, gap = 42;
    int all = 0;
    for (unsigned i = 0; i < f->k->lines; i++)
        all += gap + 7 * (int)strlen(f->k->line[i].name);
    if (all > WIDTH - LEFT) {
        x = 4;
        gap = 30;
    }
    for (unsigned i = 0; i < f->k->lines; i++) {
        const char *name = f->k->line[i].name;
        bj_buf_str(f->b, "<path ");
        put_class(f->k, i, f->b);
        bj_buf_printf(f->b, " d=\"M%d 13h20\"/><text x=\"%d\" y=\"17\">", x,
                      x + 24);
        bj_html_text(f->b, bj_slice_str(name));
        bj_buf_str(f->b, "</text>\n");
        x += gap + 7 * (int)strlen(name);
    }
}

/* Draw a line, with a gap where values are unknown; a single value is a short
 * line. */
static void chart_put_line(const struct frame *f, unsigned line)
{
    const double *value = f->k->line[line].value;
    bool open = false, alone = false;
    bj_buf_str(f->b, "<path ");
    put_class(f->k, line, f->b);
    bj_buf_str(f->b, " d=\"");
    for (unsigned i = 0; i < f->k->points; i++) {
        if (!bj_chart_known(value[i])) {
            bj_buf_str(f->b, alone ? "h2" : "");
            open = alone = false;
            continue;
        }
        int y = at_y(f, value[i]);
        bj_buf_printf(f->b, "%s%d %d.%d", open ? "L" : "M",
                      at_x(f, (int64_t)i * f->k->step), y / 10, y % 10);
        alone = !open;
        open = true;
    }
    bj_buf_str(f->b, alone ? "h2\"/>\n" : "\"/>\n");
}

/* The mean of the known values of points [first, end); NaN: no value is known.
 */
static double mean_of(const double *value, unsigned first, unsigned end)
{
    double sum = 0;
    unsigned n = 0;
    for (unsigned i = first; i < end; i++)
        if (bj_chart_known(value[i])) {
            sum += value[i];
            n++;
        }
    return n > 0 ? sum / n : __builtin_nan("");
}

/* "2026-11-23 10:05, 1:05 h after start: CPUs used 3.2, allocated 8" */
static void put_values(struct bj_buf *b, const struct bj_chart *k,
                       unsigned first, unsigned end)
{
    int64_t at = k->from + (int64_t)first * k->step;
    put_clock(b, at);
    bj_buf_str(b, ", ");
    put_span(b, at - k->start);
    bj_local_html(b, " {after start}");
    for (unsigned i = 0; i < k->lines; i++) {
        double v = mean_of(k->line[i].value, first, end);
        bj_buf_str(b, i ? ", " : ": ");
        bj_html_text(b, bj_slice_str(k->line[i].name));
        bj_buf_str(b, " ");
        if (bj_chart_known(v))
            bj_chart_amount(b, k->unit, v);
        else
            bj_local_html(b, "{unknown}");
    }
}

/* The first point of part i, if the points are divided into equal parts. */
static unsigned part_of(const struct bj_chart *k, unsigned i, unsigned parts)
{
    return (unsigned)((uint64_t)k->points * i / parts);
}

static void put_hovers(const struct frame *f)
{
    const struct bj_chart *k = f->k;
    unsigned most = k->small ? HOVERS / 2 : HOVERS;
    unsigned parts = k->points < most ? k->points : most;
    for (unsigned i = 0; i < parts; i++) {
        unsigned first = part_of(k, i, parts), end = part_of(k, i + 1, parts);
        int x = at_x(f, (int64_t)first * k->step);
        int to =
            end < k->points ? at_x(f, (int64_t)end * k->step) : WIDTH - RIGHT;
        bj_buf_printf(f->b,
                      "<rect class=\"h\" x=\"%d\" y=\"%d\" width=\"%d\" "
                      "height=\"%d\"><title>",
                      x, TOP, to > x ? to - x : 1, f->height - TOP - BOTTOM);
        put_values(f->b, k, first, end);
        bj_buf_str(f->b, "</title></rect>\n");
    }
}

/* --- the chart -------------------------------------------------------------
 */

static void chart_put_title(struct bj_buf *b, const struct bj_chart *k)
{
    bj_html_text(b, bj_slice_str(k->title));
    bj_buf_str(b, k->of.n > 0 ? ", " : "");
    bj_html_text(b, k->of);
}

/* The summary as HTML. */
static void put_summary(struct bj_buf *b, const struct bj_chart *k)
{
    struct bj_buf text = {0};
    bj_chart_summary(&text, k);
    bj_html_text(b, (struct bj_slice){text.p, text.len});
    b->failed |= text.failed;
    bj_buf_free(&text);
}

void bj_chart_svg(struct bj_buf *b, const struct bj_chart *k, bool alone)
{
    struct frame f;
    make_frame(&f, b, k);
    bj_buf_printf(b, "<svg class=\"chart\" viewBox=\"0 0 %d %d\" role=\"img\"",
                  WIDTH, f.height);
    if (alone)
        bj_buf_printf(
            b,
            " xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\"",
            2 * WIDTH, 2 * f.height);
    bj_buf_str(b, " aria-label=\"");
    chart_put_title(b, k);
    bj_buf_str(b, ". ");
    put_summary(b, k);
    bj_buf_str(b, "\">");
    if (alone) {
        bj_buf_str(b, "<title>");
        chart_put_title(b, k);
        bj_buf_str(b, "</title><style>");
        bj_buf_str(b, bj_chart_style);
        bj_buf_str(b, "svg{color:#1a1a1a}@media(prefers-color-scheme:dark){svg{"
                      "color:#e8e8e8}}</style>");
    }
    bj_buf_str(b, "\n");
    if (bj_chart_has_values(k)) {
        put_y_axis(&f);
        put_x_axis(&f);
        put_legend(&f);
        for (unsigned i = k->lines; i-- > 0;)
            chart_put_line(&f, i);
        put_hovers(&f);
    } else {
        bj_local_html(
            b, "<text x=\"%d\" y=\"%d\">{No values in this time.}</text>\n",
            LEFT, f.height / 2);
    }
    bj_buf_str(b, "</svg>\n");
}

static void chart_put_table(struct bj_buf *b, const struct bj_chart *k)
{
    unsigned parts = k->points < ROWS ? k->points : ROWS;
    bj_local_html(
        b, "<details><summary>{Values as a table}</summary><div "
           "class=\"wide\"><table><thead><tr><th scope=\"col\">{Time}</th>");
    for (unsigned i = 0; i < k->lines; i++) {
        bj_buf_str(b, "<th scope=\"col\" class=\"n\">");
        bj_html_text(b, bj_slice_str(k->line[i].name));
        bj_buf_str(b, "</th>");
    }
    bj_buf_str(b, "</tr></thead><tbody>\n");
    for (unsigned i = 0; i < parts; i++) {
        unsigned first = part_of(k, i, parts), end = part_of(k, i + 1, parts);
        bj_buf_str(b, "<tr><td>");
        put_clock(b, k->from + (int64_t)first * k->step);
        bj_buf_str(b, "</td>");
        for (unsigned n = 0; n < k->lines; n++) {
            double v = mean_of(k->line[n].value, first, end);
            bj_buf_str(b, "<td class=\"n\">");
            if (bj_chart_known(v))
                bj_chart_amount(b, k->unit, v);
            else
                bj_buf_str(b, "-");
            bj_buf_str(b, "</td>");
        }
        bj_buf_str(b, "</tr>\n");
    }
    bj_buf_str(b, "</tbody></table></div></details>");
}

void bj_chart_figure(struct bj_buf *b, const struct bj_chart *k)
{
    bj_buf_printf(b, "<figure%s><figcaption><b>",
                  k->small ? " class=\"small\"" : "");
    chart_put_title(b, k);
    bj_buf_str(b, "</b> <span>");
    put_summary(b, k);
    bj_buf_str(b, "</span></figcaption>\n");
    bj_chart_svg(b, k, false);
    if (!k->small)
        chart_put_table(b, k);
    bj_buf_str(b, "</figure>\n");
}

#include "apiserver/job/chart.h"

#include "base/html.h"
#include "base/local.h"
#include "base/stamp.h"
#include "base/tz.h"
#include "report/model/show.h"

#include <stdlib.h>

enum {
    TALL = 94, /* pixels of the lines */
    SMALL = 54,
    TOP = 16,
    BOTTOM = 18,
    WIDE = 1000, /* units of the lines, which stretch to any width */
    HIGH = 100,
    ROWS = 20, /* maximum number of rows of the table */
    TICKS = 5
};

/* For charts as separate documents; pages have apiserver/pages/static. */
static const char chart_style[] =
    "svg{--c0:#1a6db5;--c1:#c1550a;--c2:#0f7a55;--c3:#8a4a9f;--lim:#535d69;"
    "--line:#dce1e7;color:#14191f}"
    "@media(prefers-color-scheme:dark){svg{--c0:#5aaef2;--c1:#f19a4a;--c2:"
    "#5fd0a3;--c3:#d09be3;--lim:#a3aebb;--line:#2c343f;color:#e6eaef}}"
    "text{font:12px system-ui,sans-serif;fill:currentColor}.g{stroke:"
    "var(--line)}.l,.lim{fill:none;stroke:var(--k);stroke-width:1.75;"
    "vector-effect:non-scaling-stroke}.c0{--k:var(--c0)}.c1{--k:var(--c1)}"
    ".c2{--k:var(--c2)}.c3{--k:var(--c3)}.lim{--k:var(--lim);"
    "stroke-dasharray:4 3}text.l,text.lim{fill:var(--k);stroke:none}"
    "path.m{fill:none;stroke:var(--lim);vector-effect:non-scaling-stroke}"
    "path.bad{stroke:#c00}";

/* Append a time; in a chart of several jobs, which begins at 0, the time since
 * each start. */
static void put_clock(struct bj_buf *b, const struct bj_chart *k, int64_t sec)
{
    if (k->start == 0) {
        bj_show_seconds(b, sec);
        return;
    }
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
    int height; /* of the lines, in pixels */
    struct bj_chart_axes axes;
};

static void make_frame(struct frame *f, struct bj_buf *b,
                       const struct bj_chart *k)
{
    f->b = b;
    f->k = k;
    f->height = k->small ? SMALL : TALL;
    f->axes = bj_chart_axes(k, k->small ? 2 : TICKS);
}

/* The height of an amount of the axis of values, in pixels. */
static int axis_y(const struct frame *f, double part)
{
    return TOP + (int)(f->height * (1 - part) + 0.5);
}

/* The axis of values: lines at its top, its middle and 0, the amounts above.
 * The inner element ends the lines at the width of the chart. */
static void put_y_axis(const struct frame *f)
{
    const struct bj_chart_tick *tick = f->axes.value;
    const int n = (int)f->axes.values - 1;
    const int by = n > 1 && n % 2 == 0 ? n / 2 : n > 0 ? n : 1;
    bj_buf_str(f->b, "<svg><path class=\"g\" d=\"");
    for (int i = n; i >= 0; i -= by)
        bj_buf_printf(f->b, "M0 %dh3000", axis_y(f, tick[i].at));
    bj_buf_str(f->b, "\"/></svg>\n");
    for (int i = n; i > 0; i -= by)
        bj_buf_printf(f->b, "<text y=\"%d\">%s</text>\n",
                      axis_y(f, tick[i].at) - 3, tick[i].label);
}

/* A text at a place of the axis of time, inside the chart. */
static void put_x_text(const struct frame *f, const char *class, double at,
                       int y)
{
    const double x = 100 * at;
    bj_buf_printf(f->b,
                  "<text class=\"%s\" x=\"%.3g%%\" y=\"%d\" "
                  "text-anchor=\"%s\">",
                  class, x, y,
                  x < 4    ? "start"
                  : x > 95 ? "end"
                           : "middle");
}

/* Times since the start of the job. */
static void put_x_axis(const struct frame *f)
{
    for (unsigned i = 0; i < f->axes.times; i++) {
        put_x_text(f, "x", f->axes.time[i].at, TOP + f->height + 15);
        bj_buf_printf(f->b, "%s</text>\n", f->axes.time[i].label);
    }
}

/* --- marks -----------------------------------------------------------------
 */

static const char *mark_class(const struct frame *f, unsigned mark)
{
    return f->k->mark[mark].bad ? "m bad" : "m";
}

static void put_mark_lines(const struct frame *f)
{
    for (unsigned i = 0; i < f->k->marks; i++) {
        const double at = bj_chart_mark_x(f->k, &f->axes, i);
        if (bj_chart_known(at))
            bj_buf_printf(f->b, "<path class=\"%s\" d=\"M%.4g 0V%d\"/>\n",
                          mark_class(f, i), at * WIDE, HIGH);
    }
}

static void put_mark_texts(const struct frame *f)
{
    for (unsigned i = 0; i < f->k->marks; i++) {
        const double at = bj_chart_mark_x(f->k, &f->axes, i);
        if (!bj_chart_known(at))
            continue;
        put_x_text(f, mark_class(f, i), at, TOP - 3);
        bj_html_text(f->b, bj_slice_str(f->k->mark[i].text));
        bj_buf_str(f->b, "</text>\n");
    }
}

/* The highest value of the axis, for the script: "3" and "GiB". */
static void put_scale(const struct frame *f)
{
    struct bj_buf text = {0};
    bj_chart_amount(&text, f->k->unit, f->axes.axis.top);
    struct bj_slice unit = {text.p, text.len}, number = {0};
    bj_slice_field(&unit, ' ', &number);
    bj_buf_str(f->b, " data-top=\"");
    for (size_t i = 0; i < number.n; i++)
        if (number.p[i] != ',')
            bj_buf_put(f->b, number.p + i, 1);
    bj_buf_str(f->b, "\" data-unit=\"");
    bj_html_text(f->b, unit);
    bj_buf_printf(f->b, "\" data-dur=\"%lld\" data-start=\"%lld\"",
                  (long long)f->axes.span, (long long)f->k->from);
    f->b->failed |= text.failed;
    bj_buf_free(&text);
}

/* --- lines -----------------------------------------------------------------
 */

static void put_class(const struct bj_chart *k, unsigned line, struct bj_buf *b)
{
    if (k->line[line].limit)
        bj_buf_str(b, "lim");
    else
        bj_buf_printf(b, "l c%u", bj_chart_colour(k, line) % 4);
}

/* The position of a value, in tenths of the units. */
static int at_y(const struct frame *f, unsigned line, unsigned point)
{
    return 10 * HIGH -
           (int)(bj_chart_y(f->k, &f->axes, line, point) * 10 * HIGH + 0.5);
}

static int at_x(const struct frame *f, unsigned point)
{
    return (int)(bj_chart_x(f->k, &f->axes, point) * 10 * WIDE + 0.5);
}

/* Append a number of tenths. */
static void put_tenths(struct bj_buf *b, int v)
{
    bj_buf_printf(b, v % 10 ? "%d.%d" : "%d", v / 10, v % 10);
}

static void put_point(const struct frame *f, char command, unsigned point,
                      int y)
{
    bj_buf_put(f->b, &command, 1);
    put_tenths(f->b, at_x(f, point));
    bj_buf_str(f->b, " ");
    put_tenths(f->b, y);
}

/* Draw a line, with a gap where values are unknown; a single value is a short
 * line.  Points inside a level line are left out. */
static void chart_put_line(const struct frame *f, unsigned line)
{
    bj_buf_str(f->b, "<path class=\"");
    put_class(f->k, line, f->b);
    bj_buf_str(f->b, "\" data-n=\"");
    bj_html_text(f->b, bj_slice_str(f->k->line[line].name));
    bj_buf_str(f->b, "\" d=\"");
    for (unsigned first, end = 0; bj_chart_run(f->k, line, &first, &end);)
        for (unsigned i = first; i < end; i++) {
            const int y = at_y(f, line, i);
            if (i > first && i + 1 < end && at_y(f, line, i - 1) == y &&
                at_y(f, line, i + 1) == y)
                continue;
            put_point(f, i > first ? 'L' : 'M', i, y);
            if (end - first == 1)
                bj_buf_printf(f->b, "H%d", (at_x(f, i) + 9) / 10 + 3);
        }
    bj_buf_str(f->b, "\"/>\n");
}

/* The names of the lines of a separate document, below its axis. */
static void put_names(const struct frame *f)
{
    for (unsigned i = 0; i < f->k->lines; i++) {
        bj_buf_str(f->b, "<text class=\"");
        put_class(f->k, i, f->b);
        bj_buf_printf(f->b, "\" x=\"%u%%\" y=\"%d\">", 25 * (i % 4),
                      TOP + f->height + BOTTOM + 16 * (1 + (int)i / 4));
        bj_html_text(f->b, bj_slice_str(f->k->line[i].name));
        bj_buf_str(f->b, "</text>\n");
    }
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

/* The first point of part i, if the points are divided into equal parts. */
static unsigned part_of(const struct bj_chart *k, unsigned i, unsigned parts)
{
    return (unsigned)((uint64_t)k->points * i / parts);
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

/* The elements below the outer one. */
static void put_inner(const struct frame *f, bool alone)
{
    if (!bj_chart_has_values(f->k)) {
        bj_local_html(f->b, "<text y=\"%d\">{No values in this time.}</text>\n",
                      TOP + f->height / 2);
        return;
    }
    put_y_axis(f);
    bj_buf_printf(f->b,
                  "<svg class=\"pl\" y=\"%d\" height=\"%d\" viewBox=\"0 0 "
                  "%d %d\" preserveAspectRatio=\"none\">\n",
                  TOP, f->height, WIDE, HIGH);
    for (unsigned i = f->k->lines; i-- > 0;)
        chart_put_line(f, i);
    put_mark_lines(f);
    bj_buf_str(f->b, "</svg>\n");
    put_x_axis(f);
    put_mark_texts(f);
    if (alone)
        put_names(f);
}

void bj_chart_svg(struct bj_buf *b, const struct bj_chart *k, bool alone)
{
    struct frame f;
    make_frame(&f, b, k);
    const int height = TOP + f.height + BOTTOM;
    if (alone)
        bj_buf_printf(
            b,
            "<svg class=\"chart\" xmlns=\"http://www.w3.org/2000/svg\""
            " width=\"880\" height=\"%d\"",
            height + 16 * (1 + (int)k->lines / 4) + 6);
    else
        bj_buf_printf(b, "<svg class=\"chart\" height=\"%d\"", height);
    put_scale(&f);
    bj_buf_str(b, " role=\"img\" aria-label=\"");
    chart_put_title(b, k);
    bj_buf_str(b, ". ");
    put_summary(b, k);
    bj_buf_str(b, "\">\n");
    if (alone) {
        bj_buf_str(b, "<title>");
        chart_put_title(b, k);
        bj_buf_printf(b, "</title><style>%s</style>\n", chart_style);
    }
    put_inner(&f, alone);
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
        put_clock(b, k, k->from + (int64_t)first * k->step);
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

/* The names of the lines, with their colours. */
static void chart_put_key(struct bj_buf *b, const struct bj_chart *k)
{
    if (k->small || !bj_chart_has_values(k))
        return;
    bj_buf_str(b, "<br>");
    for (unsigned i = 0; i < k->lines; i++) {
        bj_buf_str(b, "<span class=\"k ");
        put_class(k, i, b);
        bj_buf_str(b, "\">");
        bj_html_text(b, bj_slice_str(k->line[i].name));
        bj_buf_str(b, "</span>");
    }
    if (k->since)
        bj_local_html(b, " <small>{time since %s}</small>", k->since);
}

void bj_chart_figure(struct bj_buf *b, const struct bj_chart *k)
{
    bj_buf_str(b, "<figure><figcaption><b>");
    chart_put_title(b, k);
    bj_buf_str(b, "</b> <span>");
    put_summary(b, k);
    bj_buf_str(b, "</span>");
    chart_put_key(b, k);
    bj_buf_str(b, "</figcaption>\n");
    bj_chart_svg(b, k, false);
    if (!k->small)
        chart_put_table(b, k);
    bj_buf_str(b, "</figure>\n");
}

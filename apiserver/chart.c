#include "apiserver/chart.h"

#include "base/html.h"
#include "base/stamp.h"

enum {
    WIDTH = 440,
    TALL = 200,
    SMALL = 140,
    LEFT = 62,
    RIGHT = 12,
    TOP = 28,
    BOTTOM = 38,
    HOVERS = 40, /* places with values on hover, at most */
    ROWS = 20,   /* of the table, at most */
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

static bool known(double v)
{
    return v - v == 0; /* not NaN, not infinite */
}

/* --- numbers ---------------------------------------------------------------
 */

/* digits after the point; exact: with zeros at the end. */
static void put_fixed(struct bj_buf *b, double v, unsigned digits, bool exact)
{
    const double by[] = {1, 10, 100};
    if (v > 1e15) {
        bj_buf_printf(b, "%.3g", v);
        return;
    }
    uint64_t n = (uint64_t)(v * by[digits] + 0.5);
    if (exact && digits == 1)
        bj_buf_printf(b, "%llu.%u", (unsigned long long)(n / 10),
                      (unsigned)(n % 10));
    else
        bj_buf_fixed(b, n, digits);
}

/* The unit in which a value reads best. */
static double scale_of(enum bj_chart_unit unit, double v, const char **name)
{
    static const char *const binary[] = {" B",   " KiB", " MiB",
                                         " GiB", " TiB", " PiB"};
    static const char *const rate[] = {" B/s",   " KiB/s", " MiB/s",
                                       " GiB/s", " TiB/s", " PiB/s"};
    static const char *const plain[] = {"", "k", "M", "G"};
    static const char *const watts[] = {" W", " kW", " MW"};
    static const char *const per_sec[] = {"/s", "k/s", "M/s"};
    static const struct {
        const char *const *name;
        unsigned names;
        double by;
    } units[] = {[BJ_CHART_PLAIN] = {plain, 4, 1000},
                 [BJ_CHART_BYTES] = {binary, 6, 1024},
                 [BJ_CHART_BYTES_PER_SEC] = {rate, 6, 1024},
                 [BJ_CHART_PERCENT] = {NULL, 1, 1},
                 [BJ_CHART_WATTS] = {watts, 3, 1000},
                 [BJ_CHART_PER_SEC] = {per_sec, 3, 1000}};
    double scale = 1;
    unsigned i = 0;
    for (; i + 1 < units[unit].names && v / scale >= units[unit].by; i++)
        scale *= units[unit].by;
    *name = units[unit].name ? units[unit].name[i] : " %";
    return scale;
}

void bj_chart_amount(struct bj_buf *b, enum bj_chart_unit unit, double v)
{
    const char *name;
    v = v < 0 ? 0 : v;
    double scale = scale_of(unit, v, &name);
    put_fixed(b, v / scale, unit == BJ_CHART_PLAIN && v < 0.95 ? 2 : 1,
              unit != BJ_CHART_PLAIN);
    bj_buf_str(b, name);
}

/* A value at an axis: without zeros at the end. */
static void put_tick_amount(struct bj_buf *b, enum bj_chart_unit unit, double v)
{
    const char *name;
    double scale = scale_of(unit, v, &name);
    put_fixed(b, v / scale, 2, false);
    bj_buf_str(b, name);
}

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
    bj_stamp_text(sec * 1000000, 0, 0, stamp);
    bj_buf_printf(b, "%.10s %.5s", stamp, stamp + 11);
}

/* --- values ----------------------------------------------------------------
 */

bool bj_chart_mean(const struct bj_chart *k, unsigned line, double *mean,
                   double *highest)
{
    unsigned n = 0;
    double sum = 0;
    *highest = 0;
    for (unsigned i = 0; i < k->points; i++) {
        double v = k->line[line].value[i];
        if (!known(v))
            continue;
        sum += v;
        n++;
        *highest = v > *highest ? v : *highest;
    }
    *mean = n > 0 ? sum / n : 0;
    return n > 0;
}

bool bj_chart_has_values(const struct bj_chart *k)
{
    double mean, highest;
    for (unsigned i = 0; i < k->lines; i++)
        if (!k->line[i].limit && bj_chart_mean(k, i, &mean, &highest))
            return true;
    return false;
}

static double top_of(const struct bj_chart *k)
{
    double top = 0, mean, highest;
    for (unsigned i = 0; i < k->lines; i++)
        if (bj_chart_mean(k, i, &mean, &highest) && highest > top)
            top = highest;
    return top;
}

/* The smallest round number that is not below v: 1, 2 or 5 times a power. */
static double round_up(double v)
{
    double power = 1;
    while (power < v)
        power *= 10;
    while (power / 10 >= v)
        power /= 10;
    return v <= power / 5 ? power / 5 : v <= power / 2 ? power / 2 : power;
}

/* --- the frame -------------------------------------------------------------
 */

struct frame {
    struct bj_buf *b;
    const struct bj_chart *k;
    int height;
    double top, tick; /* of the axis of values */
    int64_t span;
};

static void make_frame(struct frame *f, struct bj_buf *b,
                       const struct bj_chart *k)
{
    const char *name;
    double top = top_of(k), scale = scale_of(k->unit, top, &name);
    const int parts = k->small ? 2 : 4;
    f->b = b;
    f->k = k;
    f->height = k->small ? SMALL : TALL;
    f->span = k->points > 1 ? (int64_t)(k->points - 1) * k->step : 1;
    if (k->unit == BJ_CHART_PERCENT) {
        f->tick = k->small ? 50 : 25;
        f->top = top > 100 ? top : 100;
        return;
    }
    f->tick = top > 0 ? round_up(top / scale / parts) * scale : 1;
    f->top = f->tick;
    while (f->top < top * 0.9999)
        f->top += f->tick;
}

static int at_x(const struct frame *f, int64_t after_from)
{
    const int room = WIDTH - LEFT - RIGHT;
    return LEFT + (int)((double)after_from / (double)f->span * room);
}

/* In tenths. */
static int at_y(const struct frame *f, double v)
{
    const int room = 10 * (f->height - TOP - BOTTOM);
    v = v < 0 ? 0 : v > f->top ? f->top : v;
    return 10 * (f->height - BOTTOM) - (int)(v / f->top * room + 0.5);
}

static void put_y_axis(const struct frame *f)
{
    const int n = (int)(f->top / f->tick + 0.001);
    for (int i = 0; i <= n; i++) {
        int y = at_y(f, i * f->tick);
        bj_buf_printf(f->b,
                      "<path class=\"g\" d=\"M%d %d.%dH%d\"/><text x=\"%d\" "
                      "y=\"%d\" text-anchor=\"end\">",
                      LEFT, y / 10, y % 10, WIDTH - RIGHT, LEFT - 5,
                      y / 10 + 4);
        put_tick_amount(f->b, f->k->unit, i * f->tick);
        bj_buf_str(f->b, "</text>\n");
    }
}

static void put_tick(struct bj_buf *b, int64_t sec, int64_t tick)
{
    if (tick >= DAY)
        bj_buf_printf(b, "%lld d", (long long)(sec / DAY));
    else if (tick >= 3600)
        bj_buf_printf(b, "%lld h", (long long)(sec / 3600));
    else if (tick >= 60)
        bj_buf_printf(b, "%lld min", (long long)(sec / 60));
    else
        bj_buf_printf(b, "%lld s", (long long)sec);
}

static int64_t tick_of(int64_t span)
{
    static const int64_t ticks[] = {
        1,       2,        5,        10,       15,        30,       60,
        120,     300,      600,      900,      1200,      1800,     3600,
        7200,    10800,    21600,    43200,    DAY,       2 * DAY,  5 * DAY,
        7 * DAY, 14 * DAY, 30 * DAY, 90 * DAY, 180 * DAY, 360 * DAY};
    unsigned i = 0;
    while (i + 1 < sizeof(ticks) / sizeof(ticks[0]) && span / ticks[i] > 5)
        i++;
    return ticks[i];
}

/* Times since the start of the job. */
static void put_x_axis(const struct frame *f)
{
    const int64_t since = f->k->from - f->k->start;
    const int64_t tick = tick_of(f->span), to = since + f->span;
    for (int64_t t = (since + tick - 1) / tick * tick; t <= to; t += tick) {
        int x = at_x(f, t - since);
        bj_buf_printf(f->b,
                      "<path class=\"g\" d=\"M%d %dV%d\"/><text x=\"%d\" "
                      "y=\"%d\" text-anchor=\"middle\">",
                      x, TOP, f->height - BOTTOM, x, f->height - BOTTOM + 15);
        put_tick(f->b, t, tick);
        bj_buf_str(f->b, "</text>\n");
    }
    if (f->k->small)
        return;
    bj_buf_printf(f->b,
                  "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">time since "
                  "start</text>\n",
                  WIDTH - RIGHT, f->height - 5);
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
    int x = LEFT;
    for (unsigned i = 0; i < f->k->lines; i++) {
        const char *name = f->k->line[i].name;
        bj_buf_str(f->b, "<path ");
        put_class(f->k, i, f->b);
        bj_buf_printf(f->b, " d=\"M%d 13h20\"/><text x=\"%d\" y=\"17\">", x,
                      x + 24);
        bj_html_text(f->b, bj_slice_str(name));
        bj_buf_str(f->b, "</text>\n");
        x += 42 + 7 * (int)strlen(name);
    }
}

/* A gap in the values is a gap in the line; a single value is a short line. */
static void put_line(const struct frame *f, unsigned line)
{
    const double *value = f->k->line[line].value;
    bool open = false, alone = false;
    bj_buf_str(f->b, "<path ");
    put_class(f->k, line, f->b);
    bj_buf_str(f->b, " d=\"");
    for (unsigned i = 0; i < f->k->points; i++) {
        if (!known(value[i])) {
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

/* The mean of known values of points [first, end); NaN: none is known. */
static double mean_of(const double *value, unsigned first, unsigned end)
{
    double sum = 0;
    unsigned n = 0;
    for (unsigned i = first; i < end; i++)
        if (known(value[i])) {
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
    bj_buf_str(b, " after start");
    for (unsigned i = 0; i < k->lines; i++) {
        double v = mean_of(k->line[i].value, first, end);
        bj_buf_str(b, i ? ", " : ": ");
        bj_html_text(b, bj_slice_str(k->line[i].name));
        bj_buf_str(b, " ");
        if (known(v))
            bj_chart_amount(b, k->unit, v);
        else
            bj_buf_str(b, "unknown");
    }
}

/* Part i of so many equal parts of the points. */
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

static void put_title(struct bj_buf *b, const struct bj_chart *k)
{
    bj_html_text(b, bj_slice_str(k->title));
    bj_buf_str(b, k->of.n > 0 ? ", " : "");
    bj_html_text(b, k->of);
}

/* "CPUs used: 3.2 on average, at most 7.9. CPUs allocated: 8." */
static void put_summary(struct bj_buf *b, const struct bj_chart *k)
{
    double mean, highest;
    bool any = false;
    for (unsigned i = 0; i < k->lines; i++) {
        if (!bj_chart_mean(k, i, &mean, &highest))
            continue;
        bj_buf_str(b, any ? " " : "");
        any = true;
        bj_html_text(b, bj_slice_str(k->line[i].name));
        bj_buf_str(b, ": ");
        if (k->line[i].limit) {
            bj_chart_amount(b, k->unit, highest);
        } else if (highest <= 0) {
            bj_buf_str(b, "always 0");
        } else {
            bj_chart_amount(b, k->unit, mean);
            bj_buf_str(b, " on average, at most ");
            bj_chart_amount(b, k->unit, highest);
        }
        bj_buf_str(b, ".");
    }
}

void bj_chart_svg(struct bj_buf *b, const struct bj_chart *k, bool alone)
{
    struct frame f;
    make_frame(&f, b, k);
    bj_buf_printf(b, "<svg class=\"chart\" viewBox=\"0 0 %d %d\" role=\"img\"",
                  WIDTH, f.height);
    if (alone)
        bj_buf_printf(b,
                      " xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
                      "height=\"%d\"",
                      2 * WIDTH, 2 * f.height);
    bj_buf_str(b, " aria-label=\"");
    put_title(b, k);
    bj_buf_str(b, ". ");
    put_summary(b, k);
    bj_buf_str(b, "\">");
    if (alone) {
        bj_buf_str(b, "<title>");
        put_title(b, k);
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
            put_line(&f, i);
        put_hovers(&f);
    } else {
        bj_buf_printf(b,
                      "<text x=\"%d\" y=\"%d\">No values in this time."
                      "</text>\n",
                      LEFT, f.height / 2);
    }
    bj_buf_str(b, "</svg>\n");
}

static void put_table(struct bj_buf *b, const struct bj_chart *k)
{
    unsigned parts = k->points < ROWS ? k->points : ROWS;
    bj_buf_str(b, "<details><summary>Values as a table</summary><div "
                  "class=\"wide\"><table><thead><tr><th scope=\"col\">Time"
                  "</th>");
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
            if (known(v))
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
    put_title(b, k);
    bj_buf_str(b, "</b> <span>");
    put_summary(b, k);
    bj_buf_str(b, "</span></figcaption>\n");
    bj_chart_svg(b, k, false);
    if (!k->small)
        put_table(b, k);
    bj_buf_str(b, "</figure>\n");
}

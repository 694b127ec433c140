#include "report/pdf/chart_draw.h"

#include "base/local.h"
#include "base/stamp.h"
#include "report/model/show.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { /* colours; curves: Okabe and Ito, those with contrast 3:1 on white */
       TEXT = 0x1A1A1A,
       MUTED = 0x595959,
       GRID = 0xDCDCDC,
       AXIS = 0x8C8C8C,
       LIMIT = 0x404040,
       BAD = 0x9A3324,
       AREA = 0xD9E9F4,
       ROW_AREA = 0x8FC1E0,
       ROW_GROUND = 0xF3F5F7,
       BAR = 0x0072B2,
       BAR_GROUND = 0xD5DDE5,
       DAY = 86400
};

static const uint32_t colours[] = {0x0072B2, 0xD55E00, 0x00734F, 0xAA3377};

/* A chart while it is drawn; lengths in units of the sheet. */
struct drawing {
    struct bj_sheet *s;
    const struct bj_chart *k;
    double size;        /* size of axis labels */
    double x, y, width; /* place of the whole chart */
    double left, right; /* edges of the area of values */
    double top, bottom;
    struct bj_chart_axes axes;
    double *xy; /* room for the points of a line, twice */
};

/* --- measures --------------------------------------------------------------
 */

/* Estimate the width of an ASCII text before it is drawn. */
static double width_of_text(const char *text, double size)
{
    return (double)strlen(text) * 0.61 * size;
}

static unsigned lines_of_summary(const struct bj_chart *k, double width,
                                 double size)
{
    struct bj_buf b = {0};
    bj_chart_summary(&b, k);
    double n = (double)b.len * 0.56 * size / width;
    bj_buf_free(&b);
    return k->kind == BJ_CHART_ROWS || n < 0.98 ? 1 : n < 1.9 ? 2 : 3;
}

#define SWATCH 2.5 /* in the legend, with the space after it */

/* Compute the position of the next entry of the legend: *x, in line *line. */
static void place_entry(const char *name, double width, double size, double *x,
                        unsigned *line)
{
    const double need = SWATCH * size + width_of_text(name, size);
    if (*x > 0 && *x + need > width) {
        *x = 0;
        ++*line;
    }
}

static unsigned lines_of_legend(const struct bj_chart *k, double width,
                                double size)
{
    unsigned line = 0;
    double x = 0;
    if (k->kind == BJ_CHART_ROWS)
        return 0;
    for (unsigned i = 0; i < k->lines; i++) {
        place_entry(k->line[i].name, width, size, &x, &line);
        x += (SWATCH + 1.5) * size + width_of_text(k->line[i].name, size);
    }
    return line + 1;
}

#define TITLE 1.9 /* heights of lines */
#define LINE 1.4
#define ENTRY 1.6

static double head_height(const struct bj_chart *k, double width, double size)
{
    return size * (TITLE + LINE * lines_of_summary(k, width, size) +
                   ENTRY * lines_of_legend(k, width, size) + 0.6);
}

static double area_height(const struct bj_chart *k, double size)
{
    return k->kind == BJ_CHART_ROWS ? 2.2 * size * k->lines : 10.5 * size;
}

double bj_chart_height(const struct bj_chart *k, double width, double size)
{
    return head_height(k, width, size) + area_height(k, size) +
           (k->kind == BJ_CHART_DAYS ? 2 : 3.1) * size;
}

/* --- texts -----------------------------------------------------------------
 */

enum align { LEFT, CENTRE, RIGHT };

struct label {
    struct bj_slice text;
    double x, y, width, size;
    unsigned lines;
    enum align align;
    enum bj_font font;
    uint32_t colour;
};

static void chart_draw_put_label(struct drawing *d, const struct label *l)
{
    bj_sheet_text(
        d->s, &(struct bj_sheet_text){.text = l->text,
                                      .x = l->x,
                                      .y = l->y,
                                      .width = l->width,
                                      .size = l->size > 0 ? l->size : d->size,
                                      .lines = l->lines,
                                      .font = l->font,
                                      .colour = l->colour,
                                      .right = l->align == RIGHT,
                                      .centre = l->align == CENTRE});
}

/* A text that lacked memory fails the drawing. */
static struct bj_slice written(struct drawing *d, const struct bj_buf *b)
{
    if (b->failed)
        bj_sheet_fail(d->s);
    return b->p ? (struct bj_slice){b->p, b->len} : BJ_SLICE("");
}

static void chart_draw_put_title(struct drawing *d)
{
    const struct bj_chart *k = d->k;
    struct bj_buf b = {0};
    bj_buf_str(&b, k->title);
    bj_buf_str(&b, k->of.n > 0 ? ", " : "");
    bj_buf_clean(&b, k->of);
    if (k->all > 0)
        bj_local_put(&b, " ({%u of %u, those that differ most})", k->lines,
                     k->all);
    chart_draw_put_label(d, &(struct label){.text = written(d, &b),
                                            .x = d->x,
                                            .y = d->y,
                                            .width = d->width,
                                            .size = d->size * 1.25,
                                            .font = BJ_FONT_BOLD,
                                            .colour = TEXT});
    b.len = 0;
    if (k->kind == BJ_CHART_ROWS) {
        struct bj_buf top = {0};
        bj_chart_amount(&top, k->unit, d->axes.axis.top);
        bj_buf_put(&top, "", 1);
        bj_local_put(&b, "{each row from 0 to %s; at the right the mean}",
                     top.failed ? "" : top.p);
        b.failed |= top.failed;
        bj_buf_free(&top);
    } else {
        bj_chart_summary(&b, k);
    }
    chart_draw_put_label(
        d, &(struct label){.text = written(d, &b),
                           .x = d->x,
                           .y = d->y + TITLE * d->size,
                           .width = d->width,
                           .lines = lines_of_summary(k, d->width, d->size),
                           .colour = MUTED});
    bj_buf_free(&b);
}

static uint32_t colour_of(const struct bj_chart *k, unsigned line)
{
    const unsigned n = sizeof(colours) / sizeof(colours[0]);
    return k->line[line].limit ? LIMIT : colours[bj_chart_colour(k, line) % n];
}

/* Lines differ by dashes as well as colours: limits have short dashes, every
 * second line long ones. */
static double dash_of(const struct drawing *d, unsigned line)
{
    if (d->k->line[line].limit)
        return d->size * 0.35;
    return colour_of(d->k, line) == colours[1] ||
                   colour_of(d->k, line) == colours[3]
               ? d->size
               : 0;
}

static double width_of(const struct drawing *d, unsigned line)
{
    return d->size * (d->k->line[line].limit ? 0.12 : 0.15);
}

static void put_entry(struct drawing *d, unsigned i, double x, double y)
{
    const double mark[] = {x, y + 0.65 * d->size, x + 2 * d->size,
                           y + 0.65 * d->size};
    if (d->k->kind == BJ_CHART_DAYS)
        bj_sheet_box(d->s, x, y + 0.2 * d->size, 2 * d->size, 0.9 * d->size,
                     d->k->line[i].limit ? BAR_GROUND : BAR);
    else
        bj_sheet_path(d->s, &(struct bj_sheet_path){mark, 2, width_of(d, i),
                                                    dash_of(d, i),
                                                    colour_of(d->k, i)});
    chart_draw_put_label(
        d, &(struct label){.text = bj_slice_str(d->k->line[i].name),
                           .x = x + SWATCH * d->size,
                           .y = y,
                           .width = d->x + d->width - x - SWATCH * d->size,
                           .colour = TEXT});
}

static void put_legend(struct drawing *d)
{
    const double first =
        TITLE + LINE * lines_of_summary(d->k, d->width, d->size);
    unsigned line = 0;
    double x = 0;
    for (unsigned i = 0; i < d->k->lines; i++) {
        const char *name = d->k->line[i].name;
        place_entry(name, d->width, d->size, &x, &line);
        put_entry(d, i, d->x + x, d->y + (first + ENTRY * line) * d->size);
        x += (SWATCH + 1.5) * d->size + width_of_text(name, d->size);
    }
}

/* --- axes ------------------------------------------------------------------
 */

static double at_x(const struct drawing *d, double part)
{
    return d->left + part * (d->right - d->left);
}

static double at_y(const struct drawing *d, double part)
{
    return d->bottom - part * (d->bottom - d->top);
}

static void chart_draw_put_line(struct drawing *d, double x0, double y0,
                                double x1, double y1, uint32_t colour)
{
    const double xy[] = {x0, y0, x1, y1};
    bj_sheet_path(d->s, &(struct bj_sheet_path){.xy = xy,
                                                .points = 2,
                                                .width = d->size * 0.06,
                                                .colour = colour});
}

static void put_y_axis(struct drawing *d)
{
    for (unsigned i = 0; i < d->axes.values; i++) {
        const struct bj_chart_tick *t = &d->axes.value[i];
        const double y = at_y(d, t->at);
        chart_draw_put_line(d, d->left, y, d->right, y, i == 0 ? AXIS : GRID);
        chart_draw_put_label(
            d, &(struct label){.text = bj_slice_str(t->label),
                               .x = d->x,
                               .y = y - 0.62 * d->size,
                               .width = d->left - d->x - 0.5 * d->size,
                               .align = RIGHT,
                               .colour = MUTED});
    }
}

static void put_x_label(struct drawing *d, double x, struct bj_slice text)
{
    const double half = 3 * d->size;
    chart_draw_put_line(d, x, d->bottom, x, d->bottom + 0.35 * d->size, AXIS);
    chart_draw_put_label(d, &(struct label){.text = text,
                                            .x = x - half,
                                            .y = d->bottom + 0.45 * d->size,
                                            .width = 2 * half,
                                            .align = CENTRE,
                                            .colour = MUTED});
}

/* Times since the start of the job. */
static void put_time_axis(struct drawing *d)
{
    for (unsigned i = 0; i < d->axes.times; i++) {
        const double x = at_x(d, d->axes.time[i].at);
        chart_draw_put_line(d, x, d->top, x, d->bottom, GRID);
        put_x_label(d, x, bj_slice_str(d->axes.time[i].label));
    }
    chart_draw_put_label(
        d, &(struct label){.text = bj_slice_str(bj_local("time since start")),
                           .x = d->left,
                           .y = d->bottom + 1.75 * d->size,
                           .width = d->right - d->left,
                           .align = RIGHT,
                           .colour = MUTED});
}

/* --- lines in one diagram --------------------------------------------------
 */

/* Collect the points of a line; gaps stay gaps. */
static void trace(struct drawing *d, unsigned line)
{
    for (unsigned i = 0; i < d->k->points; i++) {
        d->xy[2 * i] = at_x(d, bj_chart_x(d->k, &d->axes, i));
        d->xy[2 * i + 1] = at_y(d, bj_chart_y(d->k, &d->axes, line, i));
    }
}

static void put_curve(struct drawing *d, unsigned line)
{
    trace(d, line);
    bj_sheet_path(
        d->s, &(struct bj_sheet_path){d->xy, d->k->points, width_of(d, line),
                                      dash_of(d, line), colour_of(d->k, line)});
}

/* Draw the area below a line, one for each part between gaps. */
static void put_area(struct drawing *d, unsigned line, uint32_t colour)
{
    for (unsigned first, end = 0; bj_chart_run(d->k, line, &first, &end);) {
        double *p = d->xy + 2 * first;
        const unsigned m = end - first;
        if (m == 1)
            continue;
        trace(d, line);
        p[2 * m] = p[2 * m - 2];
        p[2 * m + 1] = d->bottom;
        p[2 * m + 2] = p[0];
        p[2 * m + 3] = d->bottom;
        bj_sheet_path(d->s, &(struct bj_sheet_path){
                                .xy = p, .points = m + 2, .colour = colour});
    }
}

/* Lines across all values, with their texts above. */
static void put_marks(struct drawing *d)
{
    for (unsigned i = 0; i < d->k->marks; i++) {
        const double part = bj_chart_mark_x(d->k, &d->axes, i);
        const uint32_t colour = d->k->mark[i].bad ? BAD : MUTED;
        const double half = 4 * d->size;
        if (!bj_chart_known(part))
            continue;
        const double x = at_x(d, part);
        const double left = x - half < d->left ? d->left
                            : x + half > d->x + d->width
                                ? d->x + d->width - 2 * half
                                : x - half;
        chart_draw_put_line(d, x, d->top, x, d->bottom, colour);
        chart_draw_put_label(
            d, &(struct label){.text = bj_slice_str(d->k->mark[i].text),
                               .x = left,
                               .y = d->top,
                               .width = 2 * half,
                               .size = 0.85 * d->size,
                               .align = CENTRE,
                               .colour = colour});
    }
}

static void put_curves(struct drawing *d)
{
    if (d->k->lines > 0 && !d->k->line[0].limit)
        put_area(d, 0, AREA);
    put_y_axis(d);
    put_time_axis(d);
    put_legend(d);
    for (unsigned i = d->k->lines; i-- > 0;)
        put_curve(d, i);
    put_marks(d);
}

/* --- a row for each line ---------------------------------------------------
 */

/* Draw "93.1 %", or that the row was idle all the time. */
static void put_mean(struct drawing *d, unsigned line, double y)
{
    double mean, highest;
    const bool any = bj_chart_mean(d->k, line, &mean, &highest);
    const bool counts =
        d->k->unit == BJ_CHART_PERCENT || d->k->unit == BJ_CHART_PLAIN;
    const bool idle = any && highest <= 0 && counts;
    struct bj_buf b = {0};
    if (idle)
        bj_buf_str(&b, bj_local("idle"));
    else if (any)
        bj_chart_amount(&b, d->k->unit, mean);
    else
        bj_buf_str(&b, bj_local("unknown"));
    chart_draw_put_label(
        d, &(struct label){.text = written(d, &b),
                           .x = d->right + 0.5 * d->size,
                           .y = y,
                           .width = d->x + d->width - d->right - 0.5 * d->size,
                           .align = RIGHT,
                           .font = idle ? BJ_FONT_BOLD : BJ_FONT_SANS,
                           .colour = idle ? BAD : TEXT});
    bj_buf_free(&b);
}

static void chart_draw_put_rows(struct drawing *d)
{
    const double top = d->top, bottom = d->bottom;
    const double height = (bottom - top) / d->k->lines;
    for (unsigned i = 0; i < d->k->lines; i++) {
        const double y = top + height * i;
        d->top = y + 0.2 * d->size;
        d->bottom = y + height;
        bj_sheet_box(d->s, d->left, d->top, d->right - d->left,
                     d->bottom - d->top, ROW_GROUND);
        put_area(d, i, ROW_AREA);
        trace(d, i);
        bj_sheet_path(d->s, &(struct bj_sheet_path){.xy = d->xy,
                                                    .points = d->k->points,
                                                    .width = d->size * 0.12,
                                                    .colour = colours[0]});
        chart_draw_put_line(d, d->left, d->bottom, d->right, d->bottom, AXIS);
        chart_draw_put_label(
            d, &(struct label){.text = bj_slice_str(d->k->line[i].name),
                               .x = d->x,
                               .y = d->bottom - 1.5 * d->size,
                               .width = d->left - d->x - 0.5 * d->size,
                               .colour = TEXT});
        put_mean(d, i, d->bottom - 1.5 * d->size);
    }
    d->top = d->bottom = bottom; /* no grid through the rows */
    put_time_axis(d);
}

/* --- a bar for each day ----------------------------------------------------
 */

static void chart_draw_put_day(struct drawing *d, int64_t sec, double x)
{
    static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    char text[40];
    struct bj_civil c = {0};
    bj_civil_from_days(sec / DAY, &c);
    int n = snprintf(text, sizeof(text), "%u %.30s", c.day,
                     bj_local(months[c.month - 1]));
    put_x_label(d, x, (struct bj_slice){text, (size_t)n});
}

static void put_days(struct drawing *d)
{
    const struct bj_chart *k = d->k;
    const double room = (d->right - d->left) / k->points;
    const unsigned every = (unsigned)(5 * d->size / room) + 1;
    put_y_axis(d);
    put_legend(d);
    for (unsigned i = 0; i < k->points; i++) {
        const double x = d->left + room * i;
        for (unsigned l = k->lines; l-- > 0;) {
            const double part = bj_chart_y(k, &d->axes, l, i),
                         y = at_y(d, part);
            if (bj_chart_known(part) && part > 0)
                bj_sheet_box(d->s, x + room * 0.12, y, room * 0.76,
                             d->bottom - y,
                             k->line[l].limit ? BAR_GROUND : BAR);
        }
        if (i % every == 0)
            chart_draw_put_day(d, k->from + (int64_t)i * DAY, x + room / 2);
    }
}

/* --- the chart -------------------------------------------------------------
 */

static bool chart_draw_begin(struct drawing *d, struct bj_sheet *s,
                             const struct bj_chart_place *p,
                             const struct bj_chart *k)
{
    *d = (struct drawing){.s = s,
                          .k = k,
                          .size = p->size,
                          .x = p->x,
                          .y = p->y,
                          .width = p->width};
    const bool rows = k->kind == BJ_CHART_ROWS;
    d->left = p->x + (rows ? 8.5 : 6.2) * p->size;
    d->right = p->x + p->width - (rows ? 5.5 : 1.5) * p->size;
    d->top = p->y + head_height(k, p->width, p->size);
    d->bottom = d->top + area_height(k, p->size);
    const double room = (d->right - d->left) / (6 * p->size);
    d->axes = bj_chart_axes(k, room < 2 ? 2 : room > 8 ? 8 : (unsigned)room);
    d->xy = malloc((2 * (size_t)k->points + 4) * sizeof(*d->xy));
    return d->xy != NULL;
}

void bj_chart_draw(struct bj_sheet *s, const struct bj_chart_place *p,
                   const struct bj_chart *k)
{
    struct drawing d;
    bj_sheet_grow(s, p->y + bj_chart_height(k, p->width, p->size));
    if (!chart_draw_begin(&d, s, p, k))
        return;
    chart_draw_put_title(&d);
    if (!bj_chart_has_values(k))
        chart_draw_put_label(
            &d, &(struct label){.text = bj_slice_str(bj_local("no values")),
                                .x = d.left,
                                .y = d.top,
                                .width = d.right - d.left,
                                .colour = MUTED});
    else if (k->kind == BJ_CHART_ROWS)
        chart_draw_put_rows(&d);
    else if (k->kind == BJ_CHART_DAYS)
        put_days(&d);
    else
        put_curves(&d);
    free(d.xy);
}

/* --- pies ---------------------------------------------------------------
 */

enum { PIE_STEPS = 180 };

/* The rest of the whole has a pale colour. */
static uint32_t pie_colour(const struct bj_chart *k, unsigned i)
{
    return k->line[i].limit ? 0xD5DDE5 : colours[i];
}

#define PIE_RADIUS 5.6 /* in multiples of the text size */
#define PIE_HEAD 2.6

double bj_pie_height(double size)
{
    return size * (PIE_HEAD + 2 * PIE_RADIUS + 0.6);
}

static double pie_value_of(const struct bj_chart *k, unsigned i)
{
    const double v = k->points > 0 ? k->line[i].value[0] : 0;
    return bj_chart_known(v) && v > 0 ? v : 0;
}

/* Draw a wedge between two angles, in parts of a turn clockwise from the top.
 */
static void pie_put_wedge(struct bj_sheet *s, double x, double y, double radius,
                          double from, double to, uint32_t colour)
{
    double xy[2 * (PIE_STEPS + 2)];
    const unsigned n = (unsigned)((to - from) * (double)PIE_STEPS) + 1;
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

static void pie_put_text(struct bj_sheet *s, struct bj_slice text, double x,
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
static void pie_put_entry(struct bj_sheet *s, const struct bj_chart_place *p,
                          const struct bj_chart *k, unsigned i, double all)
{
    const double x = p->x + (2 * PIE_RADIUS + 2) * p->size;
    const double y = p->y + (PIE_HEAD + 1 + 1.9 * i) * p->size;
    struct bj_buf b = {0};
    bj_buf_str(&b, k->line[i].name);
    bj_buf_str(&b, ": ");
    bj_chart_amount(&b, k->unit, pie_value_of(k, i));
    bj_buf_str(&b, ", ");
    bj_show_percent(&b, (int64_t)(pie_value_of(k, i) / all * 1e6 + 0.5));
    bj_sheet_box(s, x, y + 0.15 * p->size, p->size, p->size, pie_colour(k, i));
    pie_put_text(s, (struct bj_slice){b.p ? b.p : "", b.len}, x + 1.6 * p->size,
                 y, p->x + p->width - x - 1.6 * p->size, p->size, BJ_FONT_SANS);
    bj_buf_free(&b);
}

void bj_pie_draw(struct bj_sheet *s, const struct bj_chart_place *p,
                 const struct bj_chart *k)
{
    const unsigned most = sizeof(colours) / sizeof(colours[0]);
    const unsigned n = k->lines < most ? k->lines : most;
    const double radius = PIE_RADIUS * p->size;
    double all = 0, at = 0;
    pie_put_text(s, bj_slice_str(k->title), p->x, p->y, p->width,
                 p->size * 1.25, BJ_FONT_BOLD);
    for (unsigned i = 0; i < n; i++)
        all += pie_value_of(k, i);
    for (unsigned i = 0; i < n && all > 0; i++) {
        const double part = pie_value_of(k, i) / all;
        if (part > 0)
            pie_put_wedge(s, p->x + radius, p->y + PIE_HEAD * p->size + radius,
                          radius, at, at + part, pie_colour(k, i));
        at += part;
        pie_put_entry(s, p, k, i, all);
    }
}

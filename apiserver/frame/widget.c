#include "apiserver/frame/widget.h"

#include "base/amount.h"
#include "base/html.h"
#include "base/local.h"
#include "base/stamp.h"

#include <stdio.h>
#include <string.h>

static bool widget_known(double v)
{
    return v - v == 0;
}

/* --- looks -----------------------------------------------------------------*/

const char *bj_look_class(enum bj_look look)
{
    static const char *const classes[] = {
        [BJ_LOOK_NONE] = "none", [BJ_LOOK_NOTE] = "note",
        [BJ_LOOK_WARN] = "warn", [BJ_LOOK_BAD] = "bad",
        [BJ_LOOK_OK] = "ok",     [BJ_LOOK_RUN] = "run",
        [BJ_LOOK_WAIT] = "wait"};
    return classes[look];
}

static const struct widget_state {
    const char *state, *words;
    enum bj_look look;
} widget_states[] = {
    {"completed", "Completed", BJ_LOOK_OK},
    {"running", "Running", BJ_LOOK_RUN},
    {"pending", "Waiting", BJ_LOOK_WAIT},
    {"failed", "Failed", BJ_LOOK_BAD},
    {"oom", "Out of memory", BJ_LOOK_BAD},
    {"timeout", "Time limit", BJ_LOOK_WARN},
    {"deadline", "Deadline", BJ_LOOK_WARN},
    {"cancelled", "Cancelled", BJ_LOOK_NONE},
    {"preempted", "Preempted", BJ_LOOK_NONE},
    {"node_fail", "Node failed", BJ_LOOK_BAD},
    {"boot_fail", "Node failed", BJ_LOOK_BAD},
};

static const struct widget_state *widget_find_state(struct bj_slice state)
{
    for (size_t i = 0; i < sizeof(widget_states) / sizeof(widget_states[0]);
         i++)
        if (bj_slice_eq(state, bj_slice_str(widget_states[i].state)))
            return &widget_states[i];
    return NULL;
}

enum bj_look bj_look_of_state(struct bj_slice state)
{
    const struct widget_state *s = widget_find_state(state);
    return s ? s->look : BJ_LOOK_NONE;
}

enum bj_look bj_look_of_severity(struct bj_slice severity)
{
    return bj_slice_eq(severity, BJ_SLICE("critical"))  ? BJ_LOOK_BAD
           : bj_slice_eq(severity, BJ_SLICE("warning")) ? BJ_LOOK_WARN
           : bj_slice_eq(severity, BJ_SLICE("info"))    ? BJ_LOOK_NOTE
           : bj_slice_eq(severity, BJ_SLICE("good"))    ? BJ_LOOK_OK
                                                        : BJ_LOOK_NONE;
}

void bj_widget_mark(struct bj_buf *b, enum bj_look look, struct bj_slice text)
{
    bj_buf_printf(b, "<span class=\"s %s\">", bj_look_class(look));
    bj_html_text(b, text);
    bj_buf_str(b, "</span>");
}

void bj_widget_state(struct bj_buf *b, struct bj_slice state)
{
    const struct widget_state *s = widget_find_state(state);
    bj_widget_mark(b, s ? s->look : BJ_LOOK_NONE,
                   s ? bj_slice_str(bj_local(s->words)) : state);
}

void bj_widget_severity(struct bj_buf *b, enum bj_look look)
{
    const char *words = look == BJ_LOOK_BAD    ? "Serious"
                        : look == BJ_LOOK_WARN ? "Worth changing"
                        : look == BJ_LOOK_NOTE ? "Hint"
                                               : "Fine";
    bj_widget_mark(b, look, bj_slice_str(bj_local(words)));
}

/* --- cards and tables ------------------------------------------------------*/

void bj_widget_card(struct bj_buf *b, const char *title, const char *href,
                    const char *more)
{
    bj_buf_printf(b,
                  "<section class=\"card\"><div class=\"bar-head\"><h2>%s</h2>",
                  bj_local_escaped(title));
    if (href)
        bj_buf_printf(b, "<a class=\"small\" href=\"%s\">%s</a>", href,
                      bj_local_escaped(more));
    bj_buf_str(b, "</div>\n");
}

void bj_widget_card_end(struct bj_buf *b)
{
    bj_buf_str(b, "</section>\n");
}

void bj_widget_table(struct bj_buf *b, const char *label, const char *classes,
                     bool is_list)
{
    bj_buf_printf(b,
                  "<div class=\"wide\" tabindex=\"0\" role=\"group\" "
                  "aria-label=\"%s\"><table class=\"%s\"%s>",
                  label, classes, is_list ? " data-sort" : "");
}

void bj_widget_table_part(struct bj_buf *b, size_t at)
{
    static const char sorts[] = " data-sort>";
    const size_t n = sizeof(sorts) - 1;
    if (!b->failed && at >= n && at <= b->len &&
        memcmp(b->p + at - n, sorts, n) == 0)
        memset(b->p + at - n, ' ', n - 1);
}

void bj_widget_table_end(struct bj_buf *b)
{
    bj_buf_str(b, "</tbody></table></div>\n");
}

/* --- bars ------------------------------------------------------------------*/

static const char bar_frame[] =
    "viewBox=\"0 0 100 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\">";

void bj_widget_bar(struct bj_buf *b, enum bj_look look, bool is_partial,
                   double percent)
{
    if (!widget_known(percent)) {
        bj_buf_str(b, "<span class=\"none\">–</span>");
        return;
    }
    const double width = percent < 0 ? 0 : percent > 100 ? 100 : percent;
    bj_buf_printf(b,
                  "<svg class=\"bar%s\" %s<rect width=\"%.3g\" "
                  "height=\"1\"/></svg><span class=\"pct\">",
                  is_partial             ? " gray"
                  : look == BJ_LOOK_WARN ? " warn"
                  : look == BJ_LOOK_BAD  ? " bad"
                                         : "",
                  bar_frame, width);
    bj_amount(b, BJ_AMOUNT_PERCENT, percent);
    bj_buf_str(b, "</span>");
}

/* --- strips ----------------------------------------------------------------*/

/* The levels of use: idle while held, then four steps. */
enum { STRIP_LEVELS = 5 };

static unsigned strip_level(double percent)
{
    return percent < 1    ? 0
           : percent < 25 ? 1
           : percent < 50 ? 2
           : percent < 75 ? 3
                          : 4;
}

static void strip_put_values(struct bj_buf *b, const double *percent,
                             unsigned n)
{
    for (unsigned i = 0, end; i < n; i = end) {
        const bool known = widget_known(percent[i]);
        const int v = known ? (int)(percent[i] + 0.5) : -1;
        for (end = i + 1; end < n && widget_known(percent[end]) == known &&
                          (!known || (int)(percent[end] + 0.5) == v);
             end++)
            ;
        bj_buf_str(b, i > 0 ? " " : "");
        if (known)
            bj_buf_printf(b, "%d", v);
        if (end - i > 1)
            bj_buf_printf(b, "*%u", end - i);
    }
}

static void strip_put_level(struct bj_buf *b, const double *percent, unsigned n,
                            unsigned level)
{
    static const char *const classes[STRIP_LEVELS] = {"ui", "u1", "u2", "u3",
                                                      "u4"};
    bool any = false;
    for (unsigned i = 0, end; i < n; i = end) {
        end = i + 1;
        if (!widget_known(percent[i]) || strip_level(percent[i]) != level)
            continue;
        while (end < n && widget_known(percent[end]) &&
               strip_level(percent[end]) == level)
            end++;
        if (!any)
            bj_buf_printf(b, "<path class=\"%s\" d=\"", classes[level]);
        any = true;
        if (level == 0)
            bj_buf_printf(b, "M%u .34h%uv.32h-%uz", i, end - i, end - i);
        else
            bj_buf_printf(b, "M%u 0h%uv1h-%uz", i, end - i, end - i);
    }
    bj_buf_str(b, any ? "\"/>" : "");
}

void bj_widget_strip(struct bj_buf *b, const double *percent, unsigned n)
{
    bj_buf_printf(b,
                  "<svg class=\"strip\" viewBox=\"0 0 %u 1\" "
                  "preserveAspectRatio=\"none\" aria-hidden=\"true\" "
                  "data-v=\"",
                  n);
    strip_put_values(b, percent, n);
    bj_buf_str(b, "\">");
    for (unsigned i = 0; i < STRIP_LEVELS; i++)
        strip_put_level(b, percent, n, i);
    bj_buf_str(b, "</svg>");
}

/* --- days ------------------------------------------------------------------*/

void bj_widget_days(struct bj_buf *b, const struct bj_widget_days *d)
{
    double top = 0;
    for (unsigned i = 0; i < d->days; i++)
        if (widget_known(d->value[i]) && d->value[i] > top)
            top = d->value[i];
    bj_buf_printf(b,
                  "<figure><svg class=\"chart\" height=\"80\" role=\"img\" "
                  "aria-label=\"%s\"><svg y=\"16\" height=\"46\" viewBox=\"0 0 "
                  "1000 100\" preserveAspectRatio=\"none\"><path class=\"d "
                  "c0\" d=\"",
                  d->label);
    const double step = 1000.0 / (d->days ? d->days : 1);
    for (unsigned i = 0; i < d->days; i++)
        if (top > 0 && widget_known(d->value[i]) && d->value[i] > 0)
            bj_buf_printf(b, "M%.4g %.3gh%.3gV100h-%.3gz", i * step,
                          100 - 100 * d->value[i] / top, step * .8, step * .8);
    bj_buf_str(b, "\"/></svg><text y=\"12\">");
    bj_amount(b, BJ_AMOUNT_PLAIN, top);
    bj_buf_str(b, "</text>");
    for (unsigned i = 0; i < d->days; i += 7) {
        struct bj_civil day;
        bj_civil_from_days(d->first + i, &day);
        bj_buf_printf(b, "<text class=\"x\" x=\"%.3g%%\" y=\"77\">%u</text>",
                      i * step / 10, day.day);
    }
    bj_buf_str(b, "</svg></figure>\n");
}

/* --- links -----------------------------------------------------------------*/

void bj_widget_tab(struct bj_buf *b, const char *href, const char *title,
                   int64_t count, bool is_current)
{
    char n[BJ_AMOUNT_COUNT];
    bj_buf_printf(b, "<li><a href=\"%s\"%s>%s", href,
                  is_current ? " aria-current=\"true\"" : "",
                  bj_local_escaped(title));
    if (count >= 0)
        bj_buf_printf(b, " <b>%s</b>", bj_amount_count(n, count));
    bj_buf_str(b, "</a></li>");
}

void bj_widget_chip(struct bj_buf *b, const char *href, const char *title,
                    struct bj_slice value)
{
    bj_buf_printf(b, "<li><a href=\"%s\">%s: <b><bdi>", href,
                  bj_local_escaped(title));
    bj_html_text(b, value);
    bj_local_html_str(b, "</bdi></b> <span aria-hidden=\"true\">×</span><span "
                         "class=\"vh\"> {remove}</span></a></li>");
}

/* Parts of web pages whose form depends on data: marks of states and findings,
 * bars, strips, tabs.  Layouts without data are HTML with the classes of
 * apiserver/pages/static/style.css.
 *
 * A title is an English literal, which the site may replace; a slice is data,
 * which is escaped.  A href is a part of HTML: escaped by the caller. */
#ifndef BJ_APISERVER_FRAME_WIDGET_H
#define BJ_APISERVER_FRAME_WIDGET_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* How a mark or bar looks: each has a colour and a shape. */
enum bj_look {
    BJ_LOOK_NONE,
    BJ_LOOK_NOTE,
    BJ_LOOK_WARN,
    BJ_LOOK_BAD,
    BJ_LOOK_OK,
    BJ_LOOK_RUN,
    BJ_LOOK_WAIT
};

/* The class of the style sheet. */
const char *bj_look_class(enum bj_look look);

/* The look of a state of a job ("completed"), and of a severity ("critical",
 * "warning", "info", "good"). */
enum bj_look bj_look_of_state(struct bj_slice state);
enum bj_look bj_look_of_severity(struct bj_slice severity);

/* Append a mark with data as its text. */
void bj_widget_mark(struct bj_buf *b, enum bj_look look, struct bj_slice text);

/* Append the mark of a state in words ("Out of memory"), and of a severity
 * ("Serious"). */
void bj_widget_state(struct bj_buf *b, struct bj_slice state);
void bj_widget_severity(struct bj_buf *b, enum bj_look look);

/* Begin a card with a title, and a link to more (href NULL: none); end it. */
void bj_widget_card(struct bj_buf *b, const char *title, const char *href,
                    const char *more);
void bj_widget_card_end(struct bj_buf *b);

/* Begin a table that scrolls on its own; label: what it shows, in HTML;
 * is_list: the script may sort its rows, as none are on another page.  The
 * caller appends its head and <tbody>. */
void bj_widget_table(struct bj_buf *b, const char *label, const char *classes,
                     bool is_list);
void bj_widget_table_end(struct bj_buf *b); /* also ends <tbody> */

/* Make a list that began before the position at in b a table that the script
 * does not sort: some of its rows are on another page. */
void bj_widget_table_part(struct bj_buf *b, size_t at);

/* Append a bar and its number: "34 %"; NaN is a dash.  BJ_LOOK_WARN and
 * BJ_LOOK_BAD: a finding names the value; is_partial: it is known for less than
 * half of the time. */
void bj_widget_bar(struct bj_buf *b, enum bj_look look, bool is_partial,
                   double percent);

/* Append the strip of a map: the use in percent at n times; NaN: nothing was
 * held, or it is not known. */
void bj_widget_strip(struct bj_buf *b, const double *percent, unsigned n);

/* Append a chart of bars, one a day, with the amount of the highest; label:
 * what it shows, in HTML; first: the first day since 1970. */
struct bj_widget_days {
    const char *label;
    const double *value; /* NaN: not known */
    unsigned days;
    int64_t first;
};
void bj_widget_days(struct bj_buf *b, const struct bj_widget_days *d);

/* Append a tab to <ul class="tabs">; count below 0: not known. */
void bj_widget_tab(struct bj_buf *b, const char *href, const char *title,
                   int64_t count, bool is_current);

/* Append a chip to <ul class="chips">: a filter that the link removes. */
void bj_widget_chip(struct bj_buf *b, const char *href, const char *title,
                    struct bj_slice value);

#endif

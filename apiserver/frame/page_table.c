#include "apiserver/frame/page.h"
#include "base/local.h"

/* The CSS class of a cell. */
static const char *class_of(enum bj_page_form form)
{
    switch (form) {
    case BJ_SHOW_SENTENCE:
    case BJ_SHOW_FACULTY:
    case BJ_SHOW_APPLICATION:
    case BJ_SHOW_FINDINGS:
    case BJ_SHOW_REASON:
        return " class=\"s\"";
    case BJ_SHOW_TEXT:
    case BJ_SHOW_GROUP:
    case BJ_SHOW_TIME:
    case BJ_SHOW_STATE:
    case BJ_SHOW_JOB:
    case BJ_SHOW_USER:
    case BJ_SHOW_ACCOUNT:
    case BJ_SHOW_PARTITION:
    case BJ_SHOW_CLUSTER:
    case BJ_SHOW_NODE:
        return "";
    default:
        return " class=\"n\"";
    }
}

static void put_none(struct bj_buf *b, const char *text)
{
    bj_buf_printf(b, "<p class=\"none\">%s</p>\n", bj_local_escaped(text));
}

/* Append the title of a column as a link that sorts by it, or in the other
 * direction if the table is sorted by it already. */
static void put_sort(const struct bj_page_table *t,
                     const struct bj_page_column *k)
{
    const bool now = bj_slice_eq(t->sorted, bj_slice_str(k->key));
    bj_buf_printf(t->b,
                  "<th scope=\"col\"%s%s><a href=\"%ssort=%s%s\">%s</a>%s",
                  class_of(k->form),
                  !now           ? ""
                  : t->ascending ? " aria-sort=\"ascending\""
                                 : " aria-sort=\"descending\"",
                  t->link, k->key, now && !t->ascending ? "&amp;order=asc" : "",
                  bj_local_escaped(k->title),
                  !now           ? ""
                  : t->ascending ? " &#9650;"
                                 : " &#9660;");
    bj_buf_str(t->b, "</th>");
}

static void put_head(const struct bj_page_table *t)
{
    bj_buf_str(t->b, "<div class=\"wide\"><table class=\"cards\"><thead><tr>");
    for (const struct bj_page_column *k = t->columns; k->key; k++)
        if (k->sorts && t->link)
            put_sort(t, k);
        else
            bj_buf_printf(t->b, "<th scope=\"col\"%s>%s</th>",
                          class_of(k->form), bj_local_escaped(k->title));
    bj_buf_str(t->b, "</tr></thead><tbody>\n");
}

static void put_row(void *ctx, const struct bj_cells *row)
{
    struct bj_page_table *t = ctx;
    if (t->needs && bj_cell_is_empty(bj_cells_get(row, t->needs)))
        return;
    if (t->rows++ == 0)
        put_head(t);
    if (t->most > 0 && t->rows > t->most)
        return;
    bj_buf_str(t->b, "<tr>");
    for (const struct bj_page_column *k = t->columns; k->key; k++) {
        const struct bj_cell *v = bj_cells_get(row, k->key);
        bool number = strstr(class_of(k->form), "n\"") != NULL;
        bj_buf_printf(t->b, "<td%s data-l=\"%s\">",
                      !bj_cell_is_empty(v) || k->form == BJ_SHOW_FACULTY ||
                              k->form == BJ_SHOW_APPLICATION
                          ? class_of(k->form)
                      : number ? " class=\"n e\""
                               : " class=\"e\"",
                      bj_local_escaped(k->title));
        bj_page_value(t->b, k, row, &t->at);
        bj_buf_str(t->b, "</td>");
    }
    bj_buf_str(t->b, "</tr>\n");
}

void bj_page_table_begin(struct bj_page_table *t, struct bj_buf *b,
                         const struct bj_page_column *columns,
                         const char *to_root)
{
    t->b = b;
    t->columns = columns;
    t->at = (struct bj_page_place){.to_root = to_root};
    t->rows = t->most = 0;
    t->needs = t->link = NULL;
    t->sorted = (struct bj_slice){0};
    t->ascending = false;
    t->cells.row = put_row;
    t->cells.ctx = t;
    t->cells.text = (struct bj_buf){0};
}

/* The row of totals. */
static void put_total(void *ctx, const struct bj_cells *row)
{
    struct bj_page_table *t = ctx;
    bj_buf_str(t->b, "</tbody><tfoot><tr>");
    for (const struct bj_page_column *k = t->columns; k->key; k++) {
        bj_buf_printf(t->b, "<td%s data-l=\"%s\">", class_of(k->form),
                      bj_local_escaped(k->title));
        if (k == t->columns)
            bj_local_html(t->b, "{Total}");
        else if (k->form != BJ_SHOW_GROUP)
            bj_page_value(t->b, k, row, &t->at);
        bj_buf_str(t->b, "</td>");
    }
    bj_buf_str(t->b, "</tr></tfoot><tbody>\n");
}

void bj_page_table_total(struct bj_page_table *t)
{
    t->cells.row = put_total;
}

void bj_page_table_end(struct bj_page_table *t, const char *none_text)
{
    if (t->rows > 0)
        bj_buf_str(t->b, "</tbody></table></div>\n");
    else
        put_none(t->b, none_text);
    t->b->failed |= t->cells.text.failed;
    bj_cells_free(&t->cells);
}

void bj_page_list(struct bj_buf *b, const struct bj_page_column *columns,
                  const struct bj_cells *row, const char *none_text)
{
    bool any = false;
    for (const struct bj_page_column *k = columns; k->key; k++) {
        const struct bj_cell *v = bj_cells_get(row, k->key);
        if (bj_cell_is_empty(v))
            continue;
        bj_buf_printf(b, "%s<div><dt>%s</dt><dd>", any ? "" : "<dl>",
                      bj_local_escaped(k->title));
        bj_page_value(b, k, row, &(struct bj_page_place){.to_root = "../"});
        bj_buf_str(b, "</dd></div>\n");
        any = true;
    }
    if (any)
        bj_buf_str(b, "</dl>\n");
    else
        put_none(b, none_text);
}

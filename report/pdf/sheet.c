#include "report/pdf/sheet.h"

#include "base/array.h"
#include "base/local.h"
#include "base/stamp.h"
#include "report/pdf/libpango.h"
#include "report/pdf/tagged.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Height of rows from first to end (excluded) on one page. */
static double height_of(const struct bj_flow_row *row, size_t first, size_t end)
{
    size_t head = row[first].head;
    double h = head > 0 && head <= first ? row[head - 1].height : 0;
    for (size_t i = first; i < end; i++)
        h += row[i].height + (i > first ? row[i].before : 0);
    return h;
}

/* The nearest place at or before at where a page may end. */
static size_t allowed(const struct bj_flow_row *row, size_t first, size_t at)
{
    size_t i = at;
    while (i > first && row[i - 1].keep)
        i--;
    return i > first ? i : at; /* all rows must stay together: break where the
                                  page is full */
}

/* The end of the page that begins at first, of rows up to end. */
static size_t page_end(const struct bj_flow_row *row, size_t first, size_t end,
                       double height, double least)
{
    size_t full = first + 1;
    while (full < end && height_of(row, first, full + 1) <= height)
        full++;
    if (full == end)
        return end;
    size_t at = allowed(row, first, full), alone = at;
    while (at > first + 1 && height_of(row, at, end) < least)
        at = allowed(row, first, at - 1);
    return height_of(row, first, at) >= least ? at : alone;
}

static void sheet_place(struct bj_flow_row *row, size_t first, size_t end,
                        unsigned page)
{
    for (size_t i = first; i < end; i++) {
        row[i].page = page;
        row[i].y = height_of(row, first, i + 1) - row[i].height;
    }
}

unsigned bj_flow(struct bj_flow_row *row, size_t n, double height, double least)
{
    unsigned pages = 0;
    for (size_t first = 0; first < n;) {
        size_t end = first + 1;
        while (end < n && !row[end].begins)
            end++;
        end = page_end(row, first, end, height, least);
        sheet_place(row, first, end, pages++);
        first = end;
    }
    return pages;
}

/* --- the sheet ------------------------------------------------------------*/

/* Points.  MARGIN leaves room for the footer. */
#define MARGIN 50.0
#define FOOTER 8.0
#define LEAST 42.0 /* three lines */

enum { TEXT_MAX = 4000 }; /* maximum bytes of a text, more than fit on a page */

/* A text, a path, or a box. */
struct mark {
    struct bj_pango_layout *layout;
    double *xy; /* points of a path, whose line has this width and dashes of
                   this height */
    size_t points;
    double x, y, width, height;
    uint32_t colour;
    size_t row;
};

struct bj_sheet {
    struct bj_libpango lib;
    struct bj_pango_font *font[BJ_FONTS];
    struct bj_pango_attrs *attrs;
    struct bj_cairo_surface *surface;
    struct bj_cairo *cairo;
    double width, height, margin; /* size of the page */
    struct bj_flow_row *row;
    struct mark *mark;
    size_t rows, rows_cap, marks, marks_cap, head;
    struct bj_buf bytes, scratch; /* bytes: the document, or the image */
    struct bj_buf figures; /* their texts, each terminated, in their order */
    const char *container; /* the open table or list */
    bool failed;
};

static int on_write(void *ctx, const unsigned char *p, unsigned n)
{
    struct bj_sheet *s = ctx;
    bj_buf_put(&s->bytes, p, n);
    return s->bytes.failed ? BJ_CAIRO_WRITE_ERROR : 0;
}

static void open_fonts(struct bj_sheet *s)
{
    static const char *const names[BJ_FONTS] = {
        [BJ_FONT_SANS] = "DejaVu Sans, Liberation Sans, sans-serif",
        [BJ_FONT_BOLD] = "DejaVu Sans, Liberation Sans, sans-serif",
        [BJ_FONT_MONO] = "DejaVu Sans Mono, Liberation Mono, monospace"};
    for (unsigned i = 0; i < BJ_FONTS; i++) {
        s->font[i] = s->lib.font_new();
        s->lib.font_family(s->font[i], names[i]);
    }
    s->lib.font_weight(s->font[BJ_FONT_BOLD], BJ_PANGO_BOLD);
    /* no ligatures, which readers would get instead of their letters */
    s->attrs = s->lib.attrs_new();
    s->lib.attrs_insert(s->attrs, s->lib.attr_features("liga=0,clig=0"));
}

static int sheet_begin(struct bj_sheet **ret, struct bj_err *err)
{
    struct bj_sheet *s = calloc(1, sizeof(*s));
    *ret = NULL;
    if (!s)
        return bj_err_set(err, -ENOMEM, "PDF");
    int r = bj_libpango_load(&s->lib, err);
    if (r < 0) {
        free(s);
        return r;
    }
    *ret = s;
    return 0;
}

int bj_sheet_new(bool letter, struct bj_sheet **ret, struct bj_err *err)
{
    int r = sheet_begin(ret, err);
    struct bj_sheet *s = *ret;
    if (r < 0)
        return r;
    s->margin = MARGIN;
    s->width = letter ? 612 : 595.28;
    s->height = letter ? 792 : 841.89;
    s->surface = s->lib.pdf(on_write, s, s->width, s->height);
    /* without streams of objects, which bj_tagged_amend does not read */
    s->lib.pdf_version(s->surface, BJ_CAIRO_PDF_1_4);
    s->cairo = s->lib.create(s->surface);
    open_fonts(s);
    return 0;
}

int bj_sheet_new_image(double width, double height, double scale,
                       struct bj_sheet **ret, struct bj_err *err)
{
    int r = sheet_begin(ret, err);
    struct bj_sheet *s = *ret;
    if (r < 0)
        return r;
    s->width = width;
    s->height = height;
    s->surface = s->lib.image(BJ_CAIRO_RGB24, (int)(width * scale),
                              (int)(height * scale));
    s->cairo = s->lib.create(s->surface);
    s->lib.colour(s->cairo, 1, 1, 1);
    s->lib.paint(s->cairo);
    s->lib.scale(s->cairo, scale, scale);
    open_fonts(s);
    return 0;
}

void bj_sheet_free(struct bj_sheet *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->marks; i++) {
        if (s->mark[i].layout)
            s->lib.unref(s->mark[i].layout);
        free(s->mark[i].xy);
    }
    for (unsigned i = 0; i < BJ_FONTS; i++)
        s->lib.font_free(s->font[i]);
    s->lib.attrs_free(s->attrs);
    s->lib.destroy(s->cairo);
    s->lib.surface_destroy(s->surface); /* may write the end of the file */
    free(s->row);
    free(s->mark);
    bj_buf_free(&s->bytes);
    bj_buf_free(&s->scratch);
    bj_buf_free(&s->figures);
    free(s);
}

double bj_sheet_width(const struct bj_sheet *s)
{
    return s->width - 2 * s->margin;
}

/* --- rows ------------------------------------------------------------------
 */

void bj_sheet_row(struct bj_sheet *s, double before, unsigned flags)
{
    if (!BJ_GROW(s->row, s->rows + 1, s->rows_cap)) {
        s->failed = true;
        return;
    }
    if (flags & BJ_ROW_HEAD)
        s->head = s->rows + 1;
    if (flags & BJ_ROW_FIGURE)
        bj_buf_put(&s->figures, "", 1);
    s->row[s->rows++] =
        (struct bj_flow_row){.before = before,
                             .keep = flags & (BJ_ROW_KEEP | BJ_ROW_HEAD),
                             .begins = flags & BJ_ROW_PAGE,
                             .flags = flags,
                             .head = flags & BJ_ROW_BODY ? s->head : 0};
}

void bj_sheet_figure_text(struct bj_sheet *s, struct bj_slice text)
{
    if (s->figures.len == 0)
        return;
    s->figures.len--;
    bj_buf_str(&s->figures,
               s->figures.len > 0 && s->figures.p[s->figures.len - 1] ? " "
                                                                      : "");
    bj_buf_clean(&s->figures, text);
    bj_buf_put(&s->figures, "", 1);
}

void bj_sheet_grow(struct bj_sheet *s, double height)
{
    if (s->rows > 0 && s->row[s->rows - 1].height < height)
        s->row[s->rows - 1].height = height;
}

static struct mark *sheet_add(struct bj_sheet *s)
{
    const bool room = BJ_GROW(s->mark, s->marks + 1, s->marks_cap);
    s->failed = s->failed || !room;
    if (!room || s->rows == 0)
        return NULL;
    struct mark *m = &s->mark[s->marks++];
    *m = (struct mark){.row = s->rows - 1};
    return m;
}

void bj_sheet_box(struct bj_sheet *s, double x, double y, double width,
                  double height, uint32_t colour)
{
    struct mark *m = sheet_add(s);
    if (!m)
        return;
    *m = (struct mark){
        .x = x, .y = y, .width = width, .colour = colour, .row = m->row};
    m->height = height;
    bj_sheet_grow(s, y + height);
}

void bj_sheet_path(struct bj_sheet *s, const struct bj_sheet_path *p)
{
    struct mark *m = p->points > 0 ? sheet_add(s) : NULL;
    if (!m)
        return;
    m->xy = malloc(2 * p->points * sizeof(*m->xy));
    s->failed |= !m->xy;
    m->points = m->xy ? p->points : 0;
    m->width = p->width;
    m->height = p->dash;
    m->colour = p->colour;
    if (m->xy)
        memcpy(m->xy, p->xy, 2 * p->points * sizeof(*m->xy));
    for (size_t i = 0; i < m->points; i++)
        if (m->xy[2 * i + 1] > 0) /* and not a gap */
            bj_sheet_grow(s, m->xy[2 * i + 1]);
}

void bj_sheet_fail(struct bj_sheet *s)
{
    s->failed = true;
}

/* The size of a layout, in points. */
static void measure(const struct bj_sheet *s, struct bj_pango_layout *l,
                    double *ret_width, double *ret_height)
{
    int width = 0, height = 0;
    s->lib.layout_size(l, &width, &height);
    *ret_width = (double)width / (double)BJ_PANGO_SCALE;
    *ret_height = (double)height / (double)BJ_PANGO_SCALE;
}

/* Length of a character that changes the direction of the text after it, which
 * is U+200E, U+200F, U+202A to U+202E, or U+2066 to U+2069; else 0. */
static size_t direction(const char *p, size_t n)
{
    const unsigned char *u = (const unsigned char *)p;
    if (n < 3 || u[0] != 0xe2)
        return 0;
    if (u[1] == 0x80)
        return u[2] == 0x8e || u[2] == 0x8f || (u[2] >= 0xaa && u[2] <= 0xae)
                   ? 3
                   : 0;
    return u[1] == 0x81 && u[2] >= 0xa6 && u[2] <= 0xa9 ? 3 : 0;
}

/* The text as it is drawn: clean, in one direction, "5 %" on one line. */
static struct bj_slice clean_text(struct bj_sheet *s, struct bj_slice text)
{
    struct bj_buf clean = {0};
    s->scratch.len = 0;
    text.n = text.n < TEXT_MAX ? text.n : TEXT_MAX;
    bj_buf_clean(&clean, text);
    for (size_t i = 0; i < clean.len;) {
        size_t skip = direction(clean.p + i, clean.len - i);
        if (skip == 0 && i + 1 < clean.len && memcmp(clean.p + i, " %", 2) == 0)
            bj_buf_str(&s->scratch, "\xc2\xa0");
        else if (skip == 0)
            bj_buf_put(&s->scratch, clean.p + i, 1);
        i += skip > 0 ? skip : 1;
    }
    s->failed |= clean.failed || s->scratch.failed;
    bj_buf_free(&clean);
    return s->failed || !s->scratch.p
               ? BJ_SLICE("")
               : (struct bj_slice){s->scratch.p, s->scratch.len};
}

static struct bj_pango_layout *layout(struct bj_sheet *s,
                                      const struct bj_sheet_text *t)
{
    const struct bj_libpango *lib = &s->lib;
    struct bj_pango_layout *l = lib->layout_new(s->cairo);
    struct bj_pango_font *font = s->font[t->font];
    const struct bj_slice text = clean_text(s, t->text);
    if (lib->round_positions) /* else letters are spaced unevenly */
        lib->round_positions(lib->layout_context(l), 0);
    lib->font_size(font, t->size * (double)BJ_PANGO_SCALE);
    lib->layout_font(l, font);
    lib->layout_auto_dir(l, 0); /* names do not change the alignment */
    lib->layout_one_paragraph(l, 1);
    lib->layout_width(l, (int)(t->width * (double)BJ_PANGO_SCALE));
    lib->layout_wrap(l, BJ_PANGO_WRAP_WORD_CHAR);
    lib->layout_ellipsize(l, BJ_PANGO_ELLIPSIZE_END);
    lib->layout_height(l, -(int)(t->lines > 0 ? t->lines : 1));
    lib->layout_attrs(l, s->attrs);
    lib->layout_text(l, text.p, (int)text.n);
    return l;
}

double bj_sheet_text(struct bj_sheet *s, const struct bj_sheet_text *t)
{
    struct mark *m = sheet_add(s);
    double width = 0;
    if (!m)
        return 0;
    m->layout = layout(s, t);
    measure(s, m->layout, &width, &m->height);
    m->x = t->x;
    if ((t->right || t->centre) && width < t->width)
        m->x += (t->width - width) / (t->centre ? 2 : 1);
    m->y = t->y;
    m->width = t->width;
    m->colour = t->colour;
    bj_sheet_grow(s, t->y + m->height);
    return m->height;
}

/* --- drawing ---------------------------------------------------------------
 */

static void set_colour(struct bj_sheet *s, uint32_t c)
{
    s->lib.colour(s->cairo, (double)(c >> 16 & 255) / 255,
                  (double)(c >> 8 & 255) / 255, (double)(c & 255) / 255);
}

static bool is_gap(const double *xy)
{
    return xy[0] != xy[0] || xy[1] != xy[1];
}

/* A line with only one point is drawn as a short line. */
static void draw_path(struct bj_sheet *s, const struct mark *m, double x,
                      double y)
{
    const struct bj_libpango *lib = &s->lib;
    const double dash[] = {m->height, m->height / 2};
    bool open = false;
    for (size_t i = 0; i < m->points; i++) {
        const double *at = m->xy + 2 * i;
        const bool last = i + 1 == m->points || is_gap(at + 2);
        if (is_gap(at)) {
            open = false;
            continue;
        }
        (open ? lib->line_to : lib->move_to)(s->cairo, x + at[0], y + at[1]);
        if (!open && last)
            lib->line_to(s->cairo, x + at[0] + 1, y + at[1]);
        open = true;
    }
    if (m->width <= 0) {
        lib->fill(s->cairo);
        return;
    }
    lib->line_width(s->cairo, m->width);
    lib->line_join(s->cairo, BJ_CAIRO_JOIN_ROUND);
    lib->dash(s->cairo, dash, m->height > 0 ? 2 : 0, 0);
    lib->stroke(s->cairo);
}

static void draw_mark(struct bj_sheet *s, const struct mark *m, double y)
{
    const struct bj_libpango *lib = &s->lib;
    const double x = s->margin + m->x;
    const double height = m->height > 0 ? m->height : s->row[m->row].height;
    y += s->margin + m->y;
    set_colour(s, m->colour);
    lib->save(s->cairo);
    if (m->xy) {
        draw_path(s, m, x, y);
    } else if (m->layout) { /* clip stacked accents to their line */
        lib->rectangle(s->cairo, x - 1, y - 1, m->width + 2, height + 2);
        lib->clip(s->cairo);
        lib->move_to(s->cairo, x, y);
        lib->layout_show(s->cairo, m->layout);
    } else {
        lib->rectangle(s->cairo, x, y, m->width, height);
        lib->fill(s->cairo);
    }
    lib->restore(s->cairo);
}

/* Marks are in the order of rows: those of one row follow each other. */
static size_t draw_row(struct bj_sheet *s, size_t row, size_t mark, double y)
{
    for (; mark < s->marks && s->mark[mark].row == row; mark++)
        draw_mark(s, &s->mark[mark], y);
    return mark;
}

/* --- tags ------------------------------------------------------------------
 */

/* Begin or end a table or list; NULL: none. */
static void draw_container(struct bj_sheet *s, const char *name)
{
    if (s->container == name)
        return;
    if (s->container)
        s->lib.tag_end(s->cairo, s->container);
    if (name)
        s->lib.tag_begin(s->cairo, name, NULL);
    s->container = name;
}

static void draw_element(struct bj_sheet *s, const struct mark *m, double y,
                         const char *name)
{
    s->lib.tag_begin(s->cairo, name, NULL);
    draw_mark(s, m, y);
    s->lib.tag_end(s->cairo, name);
}

/* Draw the texts of the marks first to end; around: the element of all, or
 * NULL; part: the elements of the first text and of the others. */
static void draw_texts(struct bj_sheet *s, size_t first, size_t end, double y,
                       const char *around, const char *const part[2])
{
    bool more = false;
    if (around)
        s->lib.tag_begin(s->cairo, around, NULL);
    for (size_t i = first; i < end; i++) {
        if (!s->mark[i].layout)
            continue;
        draw_element(s, &s->mark[i], y, part[more]);
        more = true;
    }
    if (around)
        s->lib.tag_end(s->cairo, around);
}

/* Draw a row as what it is.  Boxes and lines are decoration, except in
 * figures. */
static size_t draw_tagged(struct bj_sheet *s, size_t row, size_t mark, double y)
{
    static const char table[] = "Table", list[] = "L";
    const unsigned flags = s->row[row].flags;
    const bool cells = flags & (BJ_ROW_CELLS | BJ_ROW_HEAD | BJ_ROW_BODY);
    const char *cell = flags & BJ_ROW_HEAD ? "TH" : "TD";
    size_t end = mark, texts = 0;
    for (; end < s->marks && s->mark[end].row == row; end++)
        texts += s->mark[end].layout != NULL;
    if (flags & BJ_ROW_FIGURE) {
        draw_container(s, NULL);
        s->lib.tag_begin(s->cairo, "Figure", NULL);
        draw_row(s, row, mark, y);
        s->lib.tag_end(s->cairo, "Figure");
        return end;
    }
    for (size_t i = mark; i < end; i++)
        if (!s->mark[i].layout)
            draw_mark(s, &s->mark[i], y);
    if (texts == 0)
        return end;
    draw_container(s, cells ? table : flags & BJ_ROW_ITEM ? list : NULL);
    if (cells)
        draw_texts(s, mark, end, y, "TR", (const char *const[]){cell, cell});
    else if (flags & BJ_ROW_ITEM)
        draw_texts(s, mark, end, y, "LI",
                   (const char *const[]){texts > 1 ? "Lbl" : "LBody", "LBody"});
    else
        draw_texts(s, mark, end, y, NULL,
                   (const char *const[]){flags & BJ_ROW_TITLE     ? "H1"
                                         : flags & BJ_ROW_SECTION ? "H2"
                                                                  : "P",
                                         "P"});
    return end;
}

static void draw_head(struct bj_sheet *s, size_t row)
{
    size_t mark = 0;
    while (mark < s->marks && s->mark[mark].row < row)
        mark++;
    draw_row(s, row, mark, 0);
}

static void draw_line(struct bj_sheet *s, struct bj_slice text, bool right)
{
    struct bj_sheet_text t = {.text = text,
                              .width = bj_sheet_width(s),
                              .size = FOOTER,
                              .colour = 0x595959};
    struct mark m = {.layout = layout(s, &t), .colour = t.colour};
    measure(s, m.layout, &m.width, &m.height);
    m.x = right ? t.width - m.width : 0;
    m.y = s->height - 2 * MARGIN + 12;
    draw_mark(s, &m, 0);
    s->lib.unref(m.layout);
}

static void draw_footer(struct bj_sheet *s, const char *title, unsigned page,
                        unsigned pages)
{
    struct bj_buf text = {0};
    bj_local_put(&text, "{page %u of %u}", page + 1, pages);
    s->failed |= text.failed;
    draw_line(s, bj_slice_str(title), false);
    draw_line(s, (struct bj_slice){text.p ? text.p : "", text.len}, true);
    bj_buf_free(&text);
    s->lib.show_page(s->cairo);
}

static void draw(struct bj_sheet *s, const char *title)
{
    const unsigned pages =
        bj_flow(s->row, s->rows, s->height - 2 * MARGIN, LEAST);
    size_t mark = 0;
    s->lib.tag_begin(s->cairo, "Document", NULL);
    for (size_t i = 0; i < s->rows; i++) {
        const struct bj_flow_row *row = &s->row[i];
        const bool top = i == 0 || row->page != row[-1].page;
        if (i > 0 && top)
            draw_footer(s, title, row[-1].page, pages);
        if (top && row->head > 0)
            draw_head(s, row->head - 1);
        mark = draw_tagged(s, i, mark, row->y);
    }
    draw_container(s, NULL);
    s->lib.tag_end(s->cairo, "Document");
    draw_footer(s, title, pages > 0 ? pages - 1 : 0, pages > 0 ? pages : 1);
}

static void describe(struct bj_sheet *s, const struct bj_sheet_about *about)
{
    char date[BJ_STAMP_MAX];
    bj_stamp_text(about->created_sec * 1000000, 0, 0, date);
    const char *const text[] = {
        [BJ_CAIRO_TITLE] = about->title,     [BJ_CAIRO_AUTHOR] = "batchjob",
        [BJ_CAIRO_SUBJECT] = about->subject, [BJ_CAIRO_CREATOR] = "batchjob",
        [BJ_CAIRO_CREATE_DATE] = date,       [BJ_CAIRO_MOD_DATE] = date};
    for (int i = 0; i <= BJ_CAIRO_MOD_DATE; i++)
        if (text[i])
            s->lib.pdf_metadata(s->surface, i, text[i]);
}

static int sheet_finish(struct bj_sheet *s, int status, struct bj_buf *out,
                        struct bj_err *err)
{
    bj_buf_put(out, s->bytes.p, s->bytes.len);
    if (s->failed || s->bytes.failed || out->failed)
        return bj_err_set(err, -ENOMEM, "drawing");
    return status == 0 ? 0
                       : bj_err_set(err, -EIO, "drawing: %s",
                                    s->lib.status_text(status));
}

int bj_sheet_write_png(struct bj_sheet *s, struct bj_buf *out,
                       struct bj_err *err)
{
    size_t mark = 0;
    if (s->failed)
        return bj_err_set(err, -ENOMEM, "drawing");
    bj_flow(s->row, s->rows, 1e9, 0);
    for (size_t i = 0; i < s->rows; i++)
        mark = draw_row(s, i, mark, s->row[i].y);
    int status = s->lib.status(s->cairo);
    if (status == 0)
        status = s->lib.png(s->surface, on_write, s);
    return sheet_finish(s, status, out, err);
}

int bj_sheet_write(struct bj_sheet *s, const struct bj_sheet_about *about,
                   struct bj_buf *out, struct bj_err *err)
{
    if (s->failed)
        return bj_err_set(err, -ENOMEM, "PDF");
    describe(s, about);
    draw(s, about->title);
    int status = s->lib.status(s->cairo);
    s->lib.surface_finish(s->surface);
    if (status == 0)
        status = s->lib.surface_status(s->surface);
    if (status == 0 && !s->failed)
        bj_tagged_amend(&s->bytes, bj_local("en"),
                        (struct bj_slice){s->figures.p, s->figures.len});
    s->failed |= s->figures.failed;
    return sheet_finish(s, status, out, err);
}

#include "acct/out.h"

#include "base/tz.h"
#include "report/model/show.h"
#include "statsdb/job/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "JobName%30": remove sacct's width, because the table chooses widths itself.
 */
static struct bj_slice without_width(struct bj_slice name)
{
    const char *percent = name.n > 0 ? memchr(name.p, '%', name.n) : NULL;
    return percent ? (struct bj_slice){name.p, (size_t)(percent - name.p)}
                   : name;
}

struct format {
    const struct bj_column **column;
    unsigned n;
};

static int out_add(struct format *f, const struct bj_column *c,
                   struct bj_err *err)
{
    if (f->n == BJ_ACCT_COLUMNS_MAX)
        return bj_err_set(err, -EINVAL, "format: more than %d columns",
                          BJ_ACCT_COLUMNS_MAX);
    f->column[f->n++] = c;
    return 0;
}

static int add_all(struct format *f, struct bj_err *err)
{
    int r = 0;
    for (const struct bj_column *c = bj_job_columns; r == 0 && c->name; c++)
        if (c->title)
            r = out_add(f, c, err);
    return r;
}

static int add_name(struct format *f, struct bj_slice name, struct bj_err *err)
{
    if (bj_slice_eq(name, BJ_SLICE("all")))
        return add_all(f, err);
    const struct bj_column *c = bj_job_column_of_people(without_width(name));
    return c ? out_add(f, c, err)
             : bj_err_set(err, -EINVAL,
                          "format: unknown column '%.*s'; see --help",
                          (int)(name.n < 40 ? name.n : 40), name.p);
}

int bj_acct_format(const struct bj_strv *names,
                   const struct bj_column *ret[BJ_ACCT_COLUMNS_MAX],
                   unsigned *ret_n, struct bj_err *err)
{
    struct format f = {ret, 0};
    int r = 0;
    for (size_t i = 0; i < names->n; i++) {
        struct bj_slice rest = bj_slice_str(names->v[i]), name;
        while (r == 0 && bj_slice_field(&rest, ',', &name))
            r = add_name(&f, bj_slice_trim(name), err);
    }
    if (r == 0 && f.n == 0)
        r = bj_err_set(err, -EINVAL, "format: no column");
    *ret_n = f.n;
    return r;
}

void bj_acct_title(struct bj_buf *out, const struct bj_column *c)
{
    bj_buf_str(out, c->title ? c->title : c->name);
    if (c->kind == BJ_AS_TIME)
        bj_buf_printf(out, " (%s)", bj_tz_name(bj_tz_used()));
}

void bj_acct_columns_help(struct bj_buf *out)
{
    for (const struct bj_column *c = bj_job_columns; c->name; c++)
        bj_buf_printf(out, "  %-16s %-26s %s\n", c->title ? c->title : "",
                      c->name, c->help);
}

enum {
    WAIT_ROWS = 1000, /* rows that determine the widths of columns */
    FLUSH_BYTES = 1 << 16,
    LEAST = 6, /* minimum width of truncated columns */
    GAP = 2,   /* between columns */
};

struct bj_acct_out {
    const struct bj_acct_look *look;
    struct bj_buf text;  /* text to write */
    struct bj_rows out;  /* rows for programs, in text */
    struct bj_buf cells; /* texts of waiting rows, each with a NUL */
    unsigned rows;       /* waiting rows */
    uint64_t done;       /* rows in all */
    bool settled;        /* the widths are known */
    struct bj_buf titles;
    struct bj_slice title[BJ_ACCT_COLUMNS_MAX]; /* in titles */
    unsigned width[BJ_ACCT_COLUMNS_MAX];
};

static int flush(struct bj_acct_out *o, size_t least, struct bj_err *err)
{
    if (o->text.failed || o->cells.failed)
        return bj_err_set(err, -ENOMEM, "output");
    if (o->text.len < least || o->text.len == 0)
        return 0;
    if (fwrite(o->text.p, 1, o->text.len, o->look->to) != o->text.len)
        return bj_err_set(err, errno ? -errno : -EIO, "output");
    o->text.len = 0;
    return 0;
}

/* --- tables ----------------------------------------------------------------
 */

static bool flexible(const struct bj_column *c)
{
    return c->unit == BJ_UNIT_FREE;
}

static bool is_left(const struct bj_column *c)
{
    return (bj_job_is_text(c->kind) && c->kind != BJ_AS_WORD_INT) ||
           c->kind == BJ_AS_TIME;
}

static bool is_state(const struct bj_column *c)
{
    return c->kind == BJ_AS_WORD && c->word == BJ_WORD_STATE;
}

/* Characters of clean UTF-8. */
static unsigned characters(struct bj_slice s)
{
    unsigned n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

static struct bj_slice first_characters(struct bj_slice s, unsigned n)
{
    size_t at = 0;
    while (at < s.n && (n > 0 || ((unsigned char)s.p[at] & 0xc0) == 0x80)) {
        n -= ((unsigned char)s.p[at] & 0xc0) != 0x80;
        at++;
    }
    return (struct bj_slice){s.p, at};
}

static const char *colour_of(struct bj_slice state)
{
    static const struct {
        const char *state, *colour;
    } colours[] = {
        {"completed", "\033[32m"}, {"running", "\033[36m"},
        {"pending", "\033[33m"},   {"suspended", "\033[33m"},
        {"cancelled", "\033[35m"}, {"requeued", "\033[33m"},
        {"resized", "\033[33m"},   {"preempted", "\033[33m"},
    };
    for (size_t i = 0; i < sizeof(colours) / sizeof(colours[0]); i++)
        if (bj_slice_eq(state, bj_slice_str(colours[i].state)))
            return colours[i].colour;
    return state.n > 0 ? "\033[31m" : "";
}

static void out_put_cell(struct bj_acct_out *o, unsigned i, struct bj_slice s,
                         bool head)
{
    const struct bj_column *c = o->look->column[i];
    const unsigned width = o->width[i];
    const bool last = i + 1 == o->look->columns;
    const bool state = is_state(c) && o->look->colour && !head;
    unsigned n = characters(s);
    bool cut = n > width && flexible(c) && o->look->width > 0;
    const unsigned pad = n < width ? width - n : 0;
    if (cut)
        s = first_characters(s, width - 1);
    if (!is_left(c))
        bj_buf_printf(&o->text, "%*s", (int)pad, "");
    bj_buf_str(&o->text, state ? colour_of(s) : "");
    bj_buf_slice(&o->text, s);
    bj_buf_str(&o->text, cut ? "+" : "");
    bj_buf_str(&o->text, state ? "\033[0m" : "");
    if (is_left(c) && !last)
        bj_buf_printf(&o->text, "%*s", (int)pad, "");
    bj_buf_str(&o->text, last ? "\n" : "  ");
}

/* Narrow the widest column that may be truncated, until a line fits. */
static void fit(struct bj_acct_out *o)
{
    const struct bj_acct_look *look = o->look;
    unsigned all = 0;
    for (unsigned i = 0; i < look->columns; i++)
        all += o->width[i] + (i > 0 ? GAP : 0);
    while (look->width > 0 && all > look->width) {
        unsigned *widest = NULL;
        for (unsigned i = 0; i < look->columns; i++)
            if (flexible(look->column[i]) && o->width[i] > LEAST &&
                (!widest || o->width[i] > *widest))
                widest = &o->width[i];
        if (!widest)
            return;
        (*widest)--;
        all--;
    }
}

static void put_cells(struct bj_acct_out *o)
{
    const char *p = o->cells.p;
    for (unsigned row = 0; row < o->rows; row++)
        for (unsigned i = 0; i < o->look->columns; i++) {
            struct bj_slice s = bj_slice_str(p);
            out_put_cell(o, i, s, false);
            p += s.n + 1;
        }
    o->rows = 0;
    o->cells.len = 0;
}

static void out_settle(struct bj_acct_out *o)
{
    const struct bj_acct_look *look = o->look;
    const char *p = o->cells.p;
    if (o->cells.failed)
        return;
    for (unsigned i = 0; i < look->columns; i++)
        o->width[i] = look->header ? characters(o->title[i]) : 0;
    for (unsigned row = 0; row < o->rows; row++)
        for (unsigned i = 0; i < look->columns; i++) {
            struct bj_slice s = bj_slice_str(p);
            unsigned n = characters(s);
            if (n > o->width[i])
                o->width[i] = n;
            p += s.n + 1;
        }
    fit(o);
    for (unsigned i = 0; look->header && i < look->columns; i++)
        out_put_cell(o, i, o->title[i], true);
    o->settled = true;
}

static int table_row(struct bj_acct_out *o, const struct bj_acct_row *row,
                     struct bj_err *err)
{
    struct bj_job_value v;
    int r = 0;
    for (unsigned i = 0; r == 0 && i < o->look->columns; i++) {
        r = row->value(row->ctx, i, &v, err);
        bj_show_column(&o->cells, o->look->column[i], &v);
        bj_buf_put(&o->cells, "", 1);
    }
    o->rows++;
    if (!o->settled && o->rows == WAIT_ROWS)
        out_settle(o);
    if (o->settled && !o->cells.failed)
        put_cells(o);
    return r;
}

/* --- lists -----------------------------------------------------------------
 */

static void list_value(struct bj_acct_out *o, unsigned i, struct bj_slice s)
{
    const struct bj_column *c = o->look->column[i];
    const bool state = is_state(c) && o->look->colour;
    if (s.n == 0)
        return;
    bj_buf_slice(&o->text, o->title[i]);
    bj_buf_printf(&o->text, "%*s  %s",
                  (int)(o->width[0] - characters(o->title[i])), "",
                  state ? colour_of(s) : "");
    bj_buf_slice(&o->text, s);
    bj_buf_str(&o->text, state ? "\033[0m\n" : "\n");
}

static int list_row(struct bj_acct_out *o, const struct bj_acct_row *row,
                    struct bj_err *err)
{
    struct bj_job_value v;
    int r = 0;
    for (unsigned i = 0; o->done == 0 && i < o->look->columns; i++) {
        unsigned n = characters(o->title[i]);
        o->width[0] = n > o->width[0] ? n : o->width[0];
    }
    bj_buf_str(&o->text, o->done ? "\n" : "");
    for (unsigned i = 0; r == 0 && i < o->look->columns; i++) {
        r = row->value(row->ctx, i, &v, err);
        o->cells.len = 0;
        bj_show_column(&o->cells, o->look->column[i], &v);
        list_value(o, i, (struct bj_slice){o->cells.p, o->cells.len});
    }
    return r;
}

/* --- for programs ----------------------------------------------------------
 */

static int program_row(struct bj_acct_out *o, const struct bj_acct_row *row,
                       struct bj_err *err)
{
    struct bj_job_value v = {.known = false};
    int r = 0;
    bj_row_begin(&o->out);
    for (unsigned i = 0; r == 0 && i < o->look->columns; i++) {
        r = row->value(row->ctx, i, &v, err);
        bj_put_value(&o->out, o->look->column[i]->kind, &v);
    }
    bj_row_end(&o->out);
    return r;
}

/* Begin the rows of CSV or JSON. */
static void program_begin(struct bj_acct_out *o)
{
    const struct bj_acct_look *look = o->look;
    const struct bj_output out = {
        .to = &o->text,
        .shape = look->form == BJ_ACCT_CSV ? BJ_SHAPE_CSV : BJ_SHAPE_OBJECTS,
        .no_names = !look->header,
        .lines = look->form == BJ_ACCT_JSON};
    const char *name[BJ_ACCT_COLUMNS_MAX];
    for (unsigned i = 0; i < look->columns; i++)
        name[i] = look->column[i]->name;
    bj_rows_begin(&o->out, &out, name, look->columns);
}

/* --- calls -----------------------------------------------------------------
 */

static bool set_titles(struct bj_acct_out *o)
{
    size_t end[BJ_ACCT_COLUMNS_MAX], at = 0;
    for (unsigned i = 0; i < o->look->columns; i++) {
        bj_acct_title(&o->titles, o->look->column[i]);
        end[i] = o->titles.len;
    }
    if (o->titles.failed)
        return false;
    for (unsigned i = 0; i < o->look->columns; at = end[i++])
        o->title[i] = (struct bj_slice){o->titles.p + at, end[i] - at};
    return true;
}

int bj_acct_out_new(const struct bj_acct_look *look, struct bj_acct_out **ret,
                    struct bj_err *err)
{
    struct bj_acct_out *o = calloc(1, sizeof(*o));
    if (!o)
        return bj_err_set(err, -ENOMEM, "output");
    o->look = look;
    if (look->form == BJ_ACCT_CSV || look->form == BJ_ACCT_JSON)
        program_begin(o);
    if (!set_titles(o)) {
        bj_acct_out_free(o);
        return bj_err_set(err, -ENOMEM, "output");
    }
    *ret = o;
    return 0;
}

int bj_acct_out_row(struct bj_acct_out *o, const struct bj_acct_row *row,
                    struct bj_err *err)
{
    static int (*const forms[])(struct bj_acct_out *,
                                const struct bj_acct_row *, struct bj_err *) = {
        [BJ_ACCT_TABLE] = table_row,
        [BJ_ACCT_LIST] = list_row,
        [BJ_ACCT_CSV] = program_row,
        [BJ_ACCT_JSON] = program_row};
    int r = forms[o->look->form](o, row, err);
    o->done++;
    return r < 0 ? r : flush(o, FLUSH_BYTES, err);
}

int bj_acct_out_end(struct bj_acct_out *o, struct bj_err *err)
{
    if (o->look->form == BJ_ACCT_TABLE && !o->settled)
        out_settle(o);
    if (o->look->form == BJ_ACCT_TABLE && !o->cells.failed)
        put_cells(o);
    if (o->look->form == BJ_ACCT_JSON) {
        bj_rows_end(&o->out);
        bj_buf_str(&o->text, "\n");
    }
    int r = flush(o, 1, err);
    if (r == 0 && fflush(o->look->to) != 0)
        r = bj_err_set(err, -errno, "output");
    return r;
}

void bj_acct_out_free(struct bj_acct_out *o)
{
    if (!o)
        return;
    bj_buf_free(&o->text);
    bj_buf_free(&o->cells);
    bj_buf_free(&o->titles);
    free(o);
}

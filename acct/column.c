#include "acct/column.h"

#include "base/tz.h"

#include <errno.h>

/* "JobName%30": remove sacct's width, because the table chooses widths itself.
 */
static struct bj_slice without_width(struct bj_slice name)
{
    const char *percent = name.n > 0 ? memchr(name.p, '%', name.n) : NULL;
    return percent ? (struct bj_slice){name.p, (size_t)(percent - name.p)}
                   : name;
}

struct format {
    const struct bj_job_column **column;
    unsigned n;
};

static int add(struct format *f, const struct bj_job_column *c,
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
    for (const struct bj_job_column *c = bj_job_columns; r == 0 && c->name; c++)
        if (c->title)
            r = add(f, c, err);
    return r;
}

static int add_name(struct format *f, struct bj_slice name, struct bj_err *err)
{
    if (bj_slice_eq(name, BJ_SLICE("all")))
        return add_all(f, err);
    const struct bj_job_column *c =
        bj_job_column_of_people(without_width(name));
    return c ? add(f, c, err)
             : bj_err_set(err, -EINVAL,
                          "format: unknown column '%.*s'; see --help",
                          (int)(name.n < 40 ? name.n : 40), name.p);
}

int bj_acct_format(const struct bj_strv *names,
                   const struct bj_job_column *ret[BJ_ACCT_COLUMNS_MAX],
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

void bj_acct_title(struct bj_buf *out, const struct bj_job_column *c)
{
    bj_buf_str(out, c->title ? c->title : c->name);
    if (c->kind == BJ_AS_TIME)
        bj_buf_printf(out, " (%s)", bj_tz_name(bj_tz_used()));
}

void bj_acct_columns_help(struct bj_buf *out)
{
    for (const struct bj_job_column *c = bj_job_columns; c->name; c++)
        bj_buf_printf(out, "  %-16s %-26s %s\n", c->title ? c->title : "",
                      c->name, c->help);
}

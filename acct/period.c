#include "acct/period.h"

#include "acct/source.h"
#include "base/clock.h"
#include "base/local.h"
#include "report/form/text.h"
#include "report/form/when.h"
#include "report/model/show.h"
#include "report/pdf/pdf.h"
#include "report/period/period.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int bj_acct_month(const char *text, int64_t *ret_since, int64_t *ret_until)
{
    struct bj_slice rest = bj_slice_str(text), year;
    char first[32];
    uint64_t y, m;
    if (!bj_slice_field(&rest, '-', &year) || year.n != 4 || rest.n != 2 ||
        bj_slice_u64(year, &y) < 0 || bj_slice_u64(rest, &m) < 0 || m < 1 ||
        m > 12)
        return -EINVAL;
    snprintf(first, sizeof(first), "%04u-%02u-01", (unsigned)y, (unsigned)m);
    if (bj_when_parse(first, 0, ret_since) < 0)
        return -EINVAL;
    snprintf(first, sizeof(first), "%04u-%02u-01",
             (unsigned)(m == 12 ? y + 1 : y), (unsigned)(m % 12 + 1));
    return bj_when_parse(first, 0, ret_until);
}

/* --- jobs ------------------------------------------------------------------
 */

struct adding {
    struct bj_period *period;
    struct bj_buf texts;
};

static int on_job(void *ctx, const struct bj_acct_row *row, struct bj_err *err)
{
    struct adding *a = ctx;
    return bj_period_take(a->period, &a->texts, row->value, row->ctx, err);
}

/* --- text ------------------------------------------------------------------
 */

/* one and many: the kind of the names in singular and plural, as texts of the
 * catalogue. */
static void period_put_names(struct bj_buf *out, bool *any, const char *one,
                             const char *many, const struct bj_strv *list)
{
    struct bj_acct_at at = {0};
    struct bj_slice name;
    unsigned n = bj_acct_list_count(list);
    if (n == 0)
        return;
    bj_buf_printf(out, "%s %s", *any ? "," : "", bj_local(n > 1 ? many : one));
    *any = true;
    while (bj_acct_list_next(list, &at, &name)) {
        bj_buf_str(out, " ");
        bj_buf_clean(out, name);
    }
}

static void period_put_day(struct bj_buf *out, int64_t sec)
{
    struct bj_buf day = {0};
    bj_show_time(&day, sec);
    bj_buf_put(out, day.p, day.len < 10 ? day.len : 10);
    bj_buf_free(&day);
}

/* "Report of account phys: jobs that began from 2026-11-01 to 2026-11-30". */
static void period_put_title(struct bj_buf *out, const struct bj_acct_filter *f)
{
    bool any = false;
    bj_local_str(out, "{Report of}");
    period_put_names(out, &any, "user", "users", &f->user);
    period_put_names(out, &any, "account", "accounts", &f->account);
    period_put_names(out, &any, "partition", "partitions", &f->partition);
    period_put_names(out, &any, "cluster", "clusters", &f->cluster);
    period_put_names(out, &any, "node", "nodes", &f->node);
    bj_local_str(out, any ? ": {what jobs used}" : " {what jobs used}");
    if (f->since_sec != INT64_MIN) {
        bj_local_str(out, " {from} ");
        period_put_day(out, f->since_sec);
    }
    if (f->until_sec != INT64_MAX) {
        bj_local_str(out, " {to} ");
        period_put_day(out, f->until_sec - 1);
    }
    bj_buf_put(out, "", 1);
}

static int print_pdf(const struct bj_period *p, const struct bj_doc *d,
                     bool letter, struct bj_buf *out, struct bj_err *err)
{
    struct bj_sheet *s = NULL;
    struct bj_charts charts = {.charts = 0};
    bj_period_charts(p, &charts);
    int r = charts.arena.failed ? bj_err_set(err, -ENOMEM, "charts")
                                : bj_sheet_new(letter, &s, err);
    if (r == 0)
        r = bj_pdf_document(s, d, &charts, err);
    if (r == 0)
        r = bj_sheet_write(
            s,
            &(struct bj_sheet_about){d->title.p,
                                     "What batch jobs used of what they had",
                                     d->created_sec},
            out, err);
    bj_sheet_free(s);
    bj_charts_free(&charts);
    return r;
}

/* The forms for people are made from one document. */
static int print_document(const struct bj_period *p, const char *title,
                          const struct bj_acct_report_look *look,
                          struct bj_buf *out, struct bj_err *err)
{
    const struct bj_report_style style = {look->colour, look->ascii};
    struct bj_doc d = {.created_sec = 0};
    int r = 0;
    bj_period_document(p, title, &d);
    if (look->form == BJ_ACCT_PDF)
        r = print_pdf(p, &d, look->letter, out, err);
    else
        bj_doc_print(&d, &style, out);
    bj_doc_free(&d);
    return r;
}

static int print(const struct bj_period *p, const struct bj_acct_filter *filter,
                 const struct bj_acct_report_look *look, struct bj_err *err)
{
    struct bj_buf out = {0}, first = {0};
    int r = 0;
    period_put_title(&first, filter);
    if (look->form == BJ_ACCT_REPORT_JSON)
        bj_period_json(p, &out);
    else if (look->form == BJ_ACCT_REPORT_CSV)
        bj_period_csv(p, &out);
    else if (!first.failed)
        r = print_document(p, first.p, look, &out, err);
    if (r < 0)
        ;
    else if (out.failed || first.failed)
        r = bj_err_set(err, -ENOMEM, "output");
    else if (fwrite(out.p, 1, out.len, look->to) != out.len ||
             fflush(look->to) != 0)
        r = bj_err_set(err, errno ? -errno : -EIO, "output");
    bj_buf_free(&out);
    bj_buf_free(&first);
    return r;
}

/* by: the value of the option; NULL or empty: by accounts, of selected ones by
 * users. */
static enum bj_period_by group_by(const char *by,
                                  const struct bj_acct_filter *f)
{
    for (int i = 0; by && by[0] && i < BJ_PERIOD_BYS; i++)
        if (strcmp(by, bj_period_groups[i].one) == 0)
            return (enum bj_period_by)i;
    return bj_acct_list_count(&f->account) > 0 ? BJ_PERIOD_BY_USER
                                               : BJ_PERIOD_BY_ACCOUNT;
}

int bj_acct_period(const struct bj_acct_source *from,
                   const struct bj_acct_filter *filter, const char *by,
                   const struct bj_acct_report_look *look, struct bj_err *err)
{
    struct bj_acct_site site = {.time_zone = ""};
    struct bj_acct_filter ran = *filter;
    ran.ran = true;
    int r = from->site(from->source, &site, err);
    struct bj_period period = {.by = group_by(by, filter),
                               .since_sec = filter->since_sec,
                               .until_sec = filter->until_sec,
                               .prices = site.prices};
    struct adding adding = {.period = &period};
    const int64_t now = (int64_t)(bj_clock_wall_usec() / 1000000);
    bj_period_by_day(&period, now);
    if (r == 0)
        r = from->jobs(from->source,
                       &(struct bj_acct_query){ran, bj_period_columns(),
                                               BJ_PERIOD_COLUMNS},
                       on_job, &adding, err);
    bj_period_settle(&period);
    if (r == 0)
        r = print(&period, filter, look, err);
    bj_buf_free(&adding.texts);
    bj_period_free(&period);
    return r;
}

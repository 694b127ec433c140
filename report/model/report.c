#include "report/model/report.h"

#include "base/amount.h"
#include "base/html.h"
#include "base/local.h"
#include "report/model/show.h"
#include "statsdb/job/job_column.h"

const struct bj_column *const *bj_report_columns(void)
{
    static const char *const names[] = {
#define NAME(upper, lower) #lower,
        BJ_REPORT_COLUMNS(NAME)
#undef NAME
    };
    static _Thread_local const struct bj_column
        *columns[BJ_REPORT_COLUMN_COUNT + 1];
    for (unsigned i = 0;
         !columns[BJ_REPORT_COLUMN_COUNT - 1] && i < BJ_REPORT_COLUMN_COUNT;
         i++)
        columns[i] = bj_job_column(bj_slice_str(names[i]));
    return columns;
}

int64_t bj_report_number(const struct bj_report *r, enum bj_report_column c)
{
    return r->job[c].known ? r->job[c].number : BJ_SQL_NULL;
}

struct bj_slice bj_report_text(const struct bj_report *r,
                               enum bj_report_column c)
{
    return r->job[c].known ? r->job[c].text : (struct bj_slice){0};
}

bool bj_report_is(const struct bj_report *r, enum bj_report_column c,
                  const char *text)
{
    return bj_slice_eq(bj_report_text(r, c), bj_slice_str(text));
}

const struct bj_report_finding *bj_report_found(const struct bj_report *r,
                                                const char *name)
{
    for (size_t i = 0; i < r->findings; i++)
        if (bj_slice_eq(r->finding[i].finding, bj_slice_str(name)))
            return &r->finding[i];
    return NULL;
}

static void put_idle(struct bj_buf *out, struct bj_slice node,
                     const struct bj_report_gpu *gpu, int64_t since,
                     unsigned *n)
{
    enum { SHOWN = 10 };
    if (since == BJ_SQL_NULL || (*n)++ >= SHOWN)
        return;
    bj_buf_str(out, *n > 1 ? "; " : "");
    if (gpu)
        bj_show_gpu(out, node, gpu->index, gpu->gpu);
    else
        bj_buf_clean(out, node);
    bj_local_put(out, " {idle since} ");
    bj_show_time(out, since);
}

void bj_report_idle(const struct bj_report *r, struct bj_buf *out)
{
    unsigned n = 0;
    for (size_t i = 0; i < r->nodes; i++)
        put_idle(out, r->node[i].node, NULL, r->node[i].idle_since, &n);
    for (size_t i = 0; i < r->gpus; i++)
        put_idle(out, r->gpu[i].node, &r->gpu[i], r->gpu[i].idle_since, &n);
}

void bj_report_free(struct bj_report *r)
{
    bj_arena_free(&r->arena);
    *r = (struct bj_report){.interactive = false};
}

bool bj_report_has_records(const struct bj_report *r)
{
    return r->nodes > 0 &&
           !bj_slice_eq(r->node[0].source, BJ_SLICE("prometheus"));
}

void bj_report_amount(struct bj_buf *out, const struct bj_report *r,
                      const struct bj_report_figure *f, int64_t v)
{
    if (f != &r->figure[BJ_FIGURE_CPU] && f != &r->figure[BJ_FIGURE_GPU]) {
        bj_show_unit(out, f->unit, v);
        return;
    }
    bj_show_hours(out, v);
    bj_buf_str(out, v != BJ_SQL_NULL ? " h" : "");
}

void bj_report_amount_html(struct bj_buf *out, const struct bj_report *r,
                           const struct bj_report_figure *f, int64_t v)
{
    struct bj_buf text = {0};
    bj_report_amount(&text, r, f, v);
    bj_html_text(out, (struct bj_slice){text.p, text.len});
    out->failed |= text.failed;
    bj_buf_free(&text);
}

struct bj_slice bj_report_state(const struct bj_report *r)
{
    return r->array.tasks <= 1 ? bj_report_text(r, BJ_REPORT_STATE)
           : r->array.open > 0 ? bj_slice_str(bj_local("not ended"))
                               : bj_slice_str(bj_local("ended"));
}

void bj_report_sampled(const struct bj_report *r, struct bj_buf *out)
{
    char n[BJ_AMOUNT_COUNT];
    const int64_t coverage = bj_report_number(r, BJ_REPORT_COVERAGE),
                  nodes = bj_report_number(r, BJ_REPORT_NODES);
    if (r->nodes == 0 || bj_report_has_records(r) ||
        r->node[0].at != BJ_SQL_NULL)
        return;
    bj_local_put(out, "{Measured by Prometheus}: %s ",
                 bj_amount_count(n, (int64_t)r->nodes));
    if (nodes >= (int64_t)r->nodes)
        bj_local_put(out, "{of} %s ", bj_amount_count(n, nodes));
    bj_local_str(out, "{nodes}");
    if (coverage != BJ_SQL_NULL) {
        bj_buf_str(out, ", ");
        bj_show_percent(out, coverage);
        bj_local_str(out, " {of the samples of the run}");
    }
    bj_buf_str(out, ".");
}

const struct bj_report_advice *bj_report_advice_of(const struct bj_report *r,
                                                   struct bj_slice finding)
{
    for (size_t i = 0; i < r->advices; i++)
        if (bj_slice_eq(r->advice[i].finding, finding))
            return &r->advice[i];
    return r->advices > 0 ? &r->advice[0] : NULL;
}

#include "report/report.h"

#include "statsdb/job_column.h"

const struct bj_job_column *const *bj_report_columns(void)
{
    static const char *const names[] = {
#define NAME(upper, lower) #lower,
        BJ_REPORT_COLUMNS(NAME)
#undef NAME
    };
    static _Thread_local const struct bj_job_column
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

void bj_report_free(struct bj_report *r)
{
    bj_arena_free(&r->arena);
    *r = (struct bj_report){.interactive = false};
}

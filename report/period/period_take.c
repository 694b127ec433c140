#include "report/period/period_take.h"

#include "sched/state.h"

enum {
    ID,
    USER,
    ACCOUNT,
    APPLICATION,
    NAME,
    STATE,
    FINDINGS,
    TEXTS,
    ELAPSED = TEXTS,
    CPU_SEC,
    CPU_USED,
    GPU_SEC,
    GPU_EFFICIENCY,
    MEMORY,
    MEMORY_TIME,
    PEAK,
    ENERGY,
    EMISSIONS,
    START,
    COVERED,
    SUSPENDED,
    END
};

_Static_assert((int)END + 1 == (int)BJ_PERIOD_COLUMNS, "columns");

static const char *const names[BJ_PERIOD_COLUMNS] = {
    [ID] = "display_id",
    [USER] = "user",
    [ACCOUNT] = "account",
    [APPLICATION] = "application",
    [NAME] = "name",
    [STATE] = "state",
    [FINDINGS] = "finding_names",
    [ELAPSED] = "elapsed_seconds",
    [CPU_SEC] = "cpu_allocated_seconds",
    [CPU_USED] = "cpu_used_seconds",
    [GPU_SEC] = "gpu_allocated_seconds",
    [GPU_EFFICIENCY] = "gpu_efficiency_percent",
    [MEMORY] = "memory_allocated_bytes",
    [MEMORY_TIME] = "memory_allocated_mib_seconds",
    [PEAK] = "memory_peak_bytes",
    [ENERGY] = "energy_joules",
    [EMISSIONS] = "emissions_grams",
    [START] = "start",
    [COVERED] = "emissions_covered_percent",
    [SUSPENDED] = "suspended_seconds",
    [END] = "end"};

const struct bj_column *const *bj_period_columns(void)
{
    static _Thread_local const struct bj_column *column[BJ_PERIOD_COLUMNS];
    for (unsigned i = 0; !column[END] && i < BJ_PERIOD_COLUMNS; i++)
        column[i] = bj_job_column(bj_slice_str(names[i]));
    return column;
}

typedef int value_fn(void *ctx, unsigned i, struct bj_job_value *ret,
                     struct bj_err *err);

/* Texts are valid only until the next call, so they are collected first. */
static int read_texts(struct bj_buf *texts, value_fn *value, void *ctx,
                      struct bj_slice text[TEXTS], struct bj_err *err)
{
    size_t at[TEXTS], len[TEXTS];
    struct bj_job_value v;
    texts->len = 0;
    for (unsigned i = 0; i < TEXTS; i++) {
        int r = value(ctx, i, &v, err);
        if (r < 0)
            return r;
        at[i] = texts->len;
        len[i] = v.known ? v.text.n : 0;
        if (v.known)
            bj_buf_slice(texts, v.text);
    }
    if (texts->failed)
        return bj_err_set(err, -ENOMEM, "report");
    for (unsigned i = 0; i < TEXTS; i++)
        text[i] = (struct bj_slice){texts->p ? texts->p + at[i] : "", len[i]};
    return 0;
}

int bj_period_take(struct bj_period *p, struct bj_buf *texts, value_fn *value,
                   void *ctx, struct bj_err *err)
{
    struct bj_slice text[TEXTS];
    int64_t v[BJ_PERIOD_COLUMNS];
    for (unsigned i = TEXTS; i < BJ_PERIOD_COLUMNS; i++) {
        struct bj_job_value one;
        int r = value(ctx, i, &one, err);
        if (r < 0)
            return r;
        v[i] = one.known ? one.number : BJ_SQL_NULL;
    }
    int r = read_texts(texts, value, ctx, text, err);
    if (r < 0)
        return r;
    bj_period_add(p, &(struct bj_period_job){
                         .id = text[ID],
                         .user = text[USER],
                         .account = text[ACCOUNT],
                         .application = text[APPLICATION],
                         .name = text[NAME],
                         .state = text[STATE],
                         .findings = text[FINDINGS],
                         .use = {.start = v[START],
                                 .end = v[END],
                                 .elapsed = v[ELAPSED],
                                 .suspended = v[SUSPENDED],
                                 .cpu_sec = v[CPU_SEC],
                                 .gpu_sec = v[GPU_SEC],
                                 .mem_mib_sec = v[MEMORY_TIME],
                                 .cpu_usec = v[CPU_USED],
                                 .gpu_ppm = v[GPU_EFFICIENCY],
                                 .energy_uj = v[ENERGY],
                                 .emissions_ug = v[EMISSIONS],
                                 .emissions_covered_ppm = v[COVERED],
                                 .node_failed = bj_bill_node_failed(
                                     bj_state_from_name(text[STATE]))},
                         .memory_bytes = v[MEMORY],
                         .memory_peak_bytes = v[PEAK]});
    return p->arena.failed ? bj_err_set(err, -ENOMEM, "report") : 0;
}

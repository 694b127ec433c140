#include "apiserver/page_job.h"

static bool known(double v)
{
    return v - v == 0;
}

/* One row; NaN leaves a cell empty. */
struct use {
    const char *title;
    enum bj_page_form form;
    double requested, used;
    const char *used_unit; /* after it */
    double percent;
    enum bj_page_form percent_form;
    const char *note;
};

static void put_use(struct bj_buf *b, const struct use *u)
{
    if (!known(u->used) && !known(u->percent) &&
        (!known(u->requested) || u->requested <= 0))
        return;
    bj_buf_printf(b, "<tr><th scope=\"row\">%s</th><td class=\"n\">", u->title);
    if (known(u->requested))
        bj_page_amount(b, u->form == BJ_SHOW_ROUND ? BJ_SHOW_NUMBER : u->form,
                       u->requested);
    bj_buf_str(b, "</td><td class=\"n\">");
    if (known(u->used)) {
        bj_page_amount(b, u->form, u->used);
        bj_buf_str(b, u->used_unit);
    }
    bj_buf_str(b, "</td><td>");
    if (known(u->percent))
        bj_page_amount(b, u->percent_form, u->percent);
    bj_buf_printf(b, "</td><td class=\"note\">%s</td></tr>\n", u->note);
}

/* A use of the whole run, or of this moment while the job runs. */
static double used(const struct bj_job_page *g, const char *metric,
                   double ended, const char **unit)
{
    double now;
    bool has_now =
        !bj_job_has_ended(g) && bj_curves_now(&g->curves, metric, &now);
    *unit = has_now ? " now" : "";
    return has_now ? now : bj_job_has_ended(g) ? ended : __builtin_nan("");
}

static double ratio(double a, double b)
{
    return known(a) && known(b) && b > 0 ? a / b : __builtin_nan("");
}

static double percent_of(const struct bj_job_page *g, double ended, double use,
                         double of)
{
    return bj_job_has_ended(g) ? ended : 100 * ratio(use, of);
}

static double first_known(double a, double b)
{
    return known(a) ? a : b;
}

static void put_cpu_and_memory(struct bj_buf *b, const struct bj_job_page *g)
{
    const double *v = g->fact;
    const char *unit;
    double cpus = used(g, "cpus_used",
                       ratio(v[BJ_JOB_CPU_USED], v[BJ_JOB_ELAPSED]), &unit);
    put_use(b, &(struct use){"CPUs", BJ_SHOW_ROUND, v[BJ_JOB_CPUS], cpus,
                             *unit ? unit : " on average",
                             percent_of(g, v[BJ_JOB_CPU_EFFICIENCY], cpus,
                                        v[BJ_JOB_CPUS]),
                             BJ_SHOW_PERCENT, g->source[BJ_JOB_FROM_CPU]});
    double of =
        first_known(v[BJ_JOB_MEMORY_ALLOCATED], v[BJ_JOB_MEMORY_REQUESTED]);
    double bytes = used(g, "memory_held_bytes", v[BJ_JOB_MEMORY_PEAK], &unit);
    put_use(b,
            &(struct use){"Memory", BJ_SHOW_BYTES, of, bytes,
                          *unit ? unit : " at most",
                          percent_of(g, v[BJ_JOB_MEMORY_EFFICIENCY], bytes, of),
                          BJ_SHOW_MEMORY, g->source[BJ_JOB_FROM_MEMORY]});
}

static void put_gpus(struct bj_buf *b, const struct bj_job_page *g)
{
    const double none = __builtin_nan("");
    const double *v = g->fact;
    const char *unit;
    struct bj_buf note = {0};
    if (!known(v[BJ_JOB_GPUS]) || v[BJ_JOB_GPUS] <= 0)
        return;
    double percent = used(g, "gpu_busy_ratio", v[BJ_JOB_GPU_EFFICIENCY], &unit);
    if (known(v[BJ_JOB_GPUS_UNUSED]) && v[BJ_JOB_GPUS_UNUSED] > 0)
        bj_buf_printf(&note, "%.0f never used", v[BJ_JOB_GPUS_UNUSED]);
    bj_buf_put(&note, "", 1);
    put_use(b, &(struct use){"GPUs", BJ_SHOW_ROUND, v[BJ_JOB_GPUS],
                             ratio(percent * v[BJ_JOB_GPUS], 100),
                             *unit ? unit : " on average", percent, BJ_SHOW_GPU,
                             note.failed ? "" : note.p});
    double bytes =
        used(g, "gpu_memory_bytes", v[BJ_JOB_GPU_MEMORY_PEAK], &unit);
    put_use(b, &(struct use){"GPU memory", BJ_SHOW_BYTES, none, bytes,
                             *unit ? unit : " at most", none, 0, ""});
    b->failed |= note.failed;
    bj_buf_free(&note);
}

static void put_rest(struct bj_buf *b, const struct bj_job_page *g)
{
    const double none = __builtin_nan("");
    const double *v = g->fact;
    const char *unit;
    put_use(b, &(struct use){"Time", BJ_SHOW_SECONDS, v[BJ_JOB_LIMIT],
                             v[BJ_JOB_ELAPSED], "",
                             percent_of(g, v[BJ_JOB_TIME_EFFICIENCY],
                                        v[BJ_JOB_ELAPSED], v[BJ_JOB_LIMIT]),
                             BJ_SHOW_TIME_USED,
                             known(v[BJ_JOB_LIMIT]) ? "" : "no time limit"});
    double watts = used(g, "power_watts", none, &unit);
    if (known(watts))
        put_use(b, &(struct use){"Power", BJ_SHOW_ROUND, none, watts, " W now",
                                 none, 0, ""});
    if (bj_job_has_ended(g))
        put_use(b,
                &(struct use){"Energy", BJ_SHOW_JOULES, none, v[BJ_JOB_ENERGY],
                              "", none, 0, g->source[BJ_JOB_FROM_ENERGY]});
    put_use(b, &(struct use){"Emissions", BJ_SHOW_GRAMS, none, v[BJ_JOB_GRAMS],
                             " CO2e", none, 0, "estimated"});
    put_use(b, &(struct use){
                   "Data read", BJ_SHOW_BYTES, none,
                   first_known(v[BJ_JOB_IO_READ], v[BJ_JOB_READ]), "", none, 0,
                   known(v[BJ_JOB_IO_READ]) ? "" : "from accounting"});
    put_use(b, &(struct use){
                   "Data written", BJ_SHOW_BYTES, none,
                   first_known(v[BJ_JOB_IO_WRITE], v[BJ_JOB_WRITE]), "", none,
                   0, known(v[BJ_JOB_IO_WRITE]) ? "" : "from accounting"});
}

void bj_job_uses(struct bj_buf *b, const struct bj_job_page *g)
{
    bj_buf_str(b, "<h2>Requested and used</h2>\n<div class=\"wide\"><table "
                  "class=\"uses\"><thead><tr><th></th><th scope=\"col\" "
                  "class=\"n\">Requested"
                  "</th><th scope=\"col\" class=\"n\">Used</th><th "
                  "scope=\"col\">Efficiency</th><th></th></tr></thead><tbody>"
                  "\n");
    put_cpu_and_memory(b, g);
    put_gpus(b, g);
    put_rest(b, g);
    bj_buf_str(b, "</tbody></table></div>\n");
}
